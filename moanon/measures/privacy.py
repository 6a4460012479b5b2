"""How well the people in a release are hidden: sizes of groups, and what groups give away.

A group is what shares all generalized quasi-identifiers. With several sensitive columns a group is
as good as in its worst one, and a release is as good as its worst *kept* group (L §3.2.2: privacy
is an individual matter): suppressing groups can only improve these measures, except `weighted_k`,
which is taken before, and `weighted_k_kept`, a mean. Whole-table shares ``q`` are those of all n
rows, suppressed ones included, so that what a group is worth does not depend on which others are
released.

Short names: D, L, M as in the package; N is a group's size, ``c_s`` the number of its rows with the
sensitive value s, ``p_s = c_s / N`` its share there, ``q_s`` its share in the table, m the number
of values.

Last come risks: what an attacker gains who looks for a person in the release. Who knows somebody's
quasi-identifiers finds the group, and guesses one of its N rows: the chance to be right is 1 / N
(the prosecutor's risk of statistical disclosure control). Suppressed rows are not in the release
and cannot be found.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import log
from typing import TYPE_CHECKING

import numpy as np

from moanon.arrays import Values
from moanon.measures.measure import (
    GroupScale,
    between,
    counts,
    privacy_measure,
    sensitive_measure,
)

if TYPE_CHECKING:
    from moanon.measures.evaluate import Scores


def _distances(model: str) -> GroupScale:
    """Scale of a model between 0 and 1 that is better when lower."""
    return GroupScale(model, lambda value: -value, 0.005, lambda rows: -1.0)


#: Classes of ln ℓ: thresholds are 2 % apart. ℓ is at least 1, so a value below says nothing.
_ENTROPIES = GroupScale("entropy", lambda value: log(max(value, 0.5)), 0.02, lambda rows: 0.0)
_DIVERGENCES = GroupScale("js", lambda value: -value, 0.005, lambda rows: -log(2))
#: ln(p / q) is within ± ln n where it is finite; the class below is for groups where it is not.
_RATIOS = GroupScale("delta", lambda value: -value, 0.05, lambda rows: -log(rows) - 0.05)
_PRESENT_RATIOS = replace(_RATIOS, model="delta_present")
#: A value that is more than 51 times as frequent as in the table is as bad as it gets: a thousand
#: classes are enough for the β that anybody promises.
_GAINS = GroupScale("beta", lambda value: -value, 0.05, lambda rows: -min(rows - 1, 50))
#: Finite ones are at most -ln q, so within ln n as ratios are.
_LIMITED_GAINS = replace(_RATIOS, model="beta_enhanced")


# -- sizes -----------------------------------------------------------------------------------------


@privacy_measure(
    "max",
    between(1, "n"),
    "rows",
    "mean size of the group a row sits in, over all rows, before any suppression",
    "D eq. 6: sum of size² / n",
    precision="quotient",
    certified="whole",
    on_pairs=True,
    label="weighted-k (mean group size of a row)",
    short="weighted-k",
)
def weighted_k(scores: Scores) -> Values:
    """``Σ N² / n`` over all groups, before any suppression (D eq. 6)."""
    return scores.field("squares") / scores.rows


@privacy_measure(
    "max",
    between(1, "n"),
    "rows",
    "mean size of the group a row sits in, over the kept rows alone",
    "D eq. 6 on the released rows",
    precision="quotient",
    certified="whole",
)
def weighted_k_kept(scores: Scores) -> Values:
    """``Σ N² / (rows kept)`` over the kept groups (D eq. 6); suppression raises it, mostly."""
    return scores.field("kept_squares") / scores.kept_rows


@privacy_measure(
    "max",
    counts(1, "n"),
    "rows",
    "size of the smallest kept group",
    "D def. 3; d + 1 of eq. 7 where the smallest groups are suppressed",
    group=GroupScale(""),
    certified="whole",
    on_pairs=True,
    label="k (rows in the smallest group)",
)
def k(scores: Scores) -> Values:
    """``min N`` over the kept groups (D def. 3)."""
    return scores.field("k")


@privacy_measure(
    "max",
    counts(0, "n-1"),
    "rows",
    "groups up to this size are suppressed; 0 where groups are suppressed by something else",
    "D eq. 7",
    attained=("k", -1),
    on_pairs=True,
)
def d(scores: Scores) -> Values:
    """Size up to which the rule suppresses groups (D eq. 7); 0 where it goes by something else."""
    return scores.field("d1") - 1


@privacy_measure(
    "max",
    counts(1, "n"),
    "rows",
    "size threshold the suppression rule arrived at; what is attained is k",
    "D eq. 8-9",
    attained=("k", 0),
    on_pairs=True,
    label="k that the rule aims at",
)
def d1(scores: Scores) -> Values:
    """Size threshold of the rule (D eq. 8-9)."""
    return scores.field("d1")


@sensitive_measure(
    "max",
    counts(0, "values"),
    "values",
    "diversity threshold the suppression rule arrived at; what is attained is l",
    "D eq. 8-9",
    attained=("l", 0),
    on_pairs=True,
    label="ℓ that the rule aims at",
)
def d2(scores: Scores) -> Values:
    """Diversity threshold of the rule (D eq. 8-9); 0 where it has none."""
    if scores.suppression.kind != "kl-safety":
        return np.zeros(len(scores), dtype=np.int64)
    return scores.field("d2")


@sensitive_measure(
    "max",
    between(0, "values"),
    "values",
    "mean diversity of the group a row sits in, over all rows, before any suppression; 0 where "
    "groups are not suppressed by l",
    "D §5.3 (P1 and P3 for ℓ), as eq. 6",
    precision="quotient",
    attained=("l", 0),
    label="weighted-ℓ (mean diversity of a row's group)",
    short="weighted-ℓ",
)
def weighted_l(scores: Scores) -> Values:
    """``Σ N ℓ / n`` over all groups, where the rule goes by ℓ; else 0."""
    if scores.suppression.by != "l":
        return np.zeros(len(scores))
    return scores.field("ranked") / scores.rows


# -- diversity -------------------------------------------------------------------------------------


@sensitive_measure(
    "max",
    counts(1, "values"),
    "values",
    "least diversity of a kept group, by the configured rule, over the sensitive columns",
    "D §4.2",
    models=("distinct", "frequency"),
    group=GroupScale("distinct"),  # or by frequency: the problem says which
    on_pairs=True,
    label="ℓ (least diversity of a group)",
    short="ℓ",
)
def l(scores: Scores) -> Values:  # noqa: E743 - the papers' name
    """`l_distinct` or `l_frequency`, as the problem says (``diversity``)."""
    return scores.diversity(scores.suppression.diversity)


@sensitive_measure(
    "max",
    counts(1, "values"),
    "values",
    "least number of distinct sensitive values in a kept group",
    "D §4.3; Machanavajjhala et al.",
    group=GroupScale("distinct"),
    certified="l",
    label="ℓ (fewest sensitive values in a group)",
)
def l_distinct(scores: Scores) -> Values:
    """``min |{s : c_s > 0}|``, distinct ℓ-diversity (Machanavajjhala et al., TKDD 2007)."""
    return scores.diversity("distinct")


@sensitive_measure(
    "max",
    counts(1, "values"),
    "values",
    "least floor(size / count of the most frequent sensitive value) of a kept group",
    "D def. 4, eq. 1",
    group=GroupScale("frequency"),
    certified="l",
    label="ℓ (by the most frequent sensitive value)",
)
def l_frequency(scores: Scores) -> Values:
    """``min floor(N / max c_s)`` (D def. 4): every value has a share of at most 1/ℓ."""
    return scores.diversity("frequency")


@sensitive_measure(
    "max",
    between(1, "values"),
    "values",
    "least exp(entropy of the sensitive values) of a kept group",
    "D §4.2; Machanavajjhala et al.",
    precision="logarithm",
    group=_ENTROPIES,
    certified="l",
)
def l_entropy(scores: Scores) -> Values:
    """``min exp(-Σ p_s ln p_s)``, entropy ℓ-diversity (Machanavajjhala et al.; D §4.2).

    The entropy is at least ln ℓ in every kept group. ℓ equally frequent values give ℓ, a single
    value 1.
    """
    return np.exp(scores.goodness("entropy"))


@sensitive_measure(
    "max",
    counts(0, "values"),
    "values",
    "largest l for which every kept group is recursive (c,l)-diverse, for the configured c",
    "D §4.2; Machanavajjhala et al.",
    group=GroupScale("recursive", lowest=lambda rows: 0.0),
    certified="l",
)
def l_recursive(scores: Scores) -> Values:
    """Largest ℓ with ``r_1 < c (r_ℓ + r_{ℓ+1} + … + r_m)`` in every kept group.

    ``r_i`` are the counts of a group in descending order. D prints commas in the place of the plus
    signs; it is a sum (Machanavajjhala et al.). For c > 1 it is at least 1; for c <= 1 a group may
    have none, which counts as 0. c is compared exactly as it is written.
    """
    return scores.diversity("recursive")


@sensitive_measure(
    "min",
    between(0, 1, without="low"),
    "share",
    "largest share of one sensitive value in a kept group",
    "D §2: (alpha,k)-anonymity; Wong et al.",
    precision="exact",
    group=_distances("alpha"),
    certified="alpha",
)
def alpha(scores: Scores) -> Values:
    """``max p_s`` over values and kept groups: the α of (α,k)-anonymity (Wong et al., KDD 2006).

    A release is (α,k)-anonymous for this α, or any larger one, and its `k`.
    """
    return -scores.goodness("alpha")


@sensitive_measure(
    "max",
    counts(1, "values"),
    "values",
    "least number of distinct sensitive values in a kept group, as p of p-sensitive k-anonymity",
    "D §2: p-sensitive k-anonymity; Truta and Vinay",
    group=GroupScale("distinct"),
    certified="p_sensitive",
)
def p_sensitive(scores: Scores) -> Values:
    """``min |{s : c_s > 0}|`` over groups *and* sensitive columns (Truta and Vinay, 2006).

    The same number as `l_distinct`, under the name of another model: with its `k` a release is
    p-sensitive k-anonymous.
    """
    return scores.diversity("distinct")


# -- closeness to the whole table ------------------------------------------------------------------

_closeness_measure = partial(sensitive_measure, certified="closeness", beside_table=True)


@_closeness_measure(
    "min",
    between(0, 1),
    "distance",
    "largest earth mover's distance of a kept group from the table, by each column's own distance",
    "Li et al. §5 (t-closeness); L §2.2",
    precision="quotient",
    group=_distances("closeness"),
)
def t_closeness(scores: Scores) -> Values:
    """``max EMD(P, Q)`` over the kept groups (Li, Li and Venkatasubramanian, ICDE 2007).

    With the ground distance of each sensitive column: *equal*, ``½ Σ |p_s - q_s|``; *ordered*,
    ``Σ_i |Σ_{j <= i} (p_j - q_j)| / (m - 1)`` along the declared order; *tree*, the sum over nodes
    of ``height(node) / H · min(pos, neg)``, where pos and neg are what the node's children have too
    much and too little. m and H are of the declared domain. Numerators are integers; the value is
    one correctly rounded division.
    """
    return -scores.goodness("closeness")


@_closeness_measure(
    "min",
    between(0, 1, without="high"),
    "distance",
    "the same with all sensitive values equally far apart",
    "Li et al. §5.1, equal distance",
    precision="quotient",
    group=_distances("equal"),
)
def t_equal(scores: Scores) -> Values:
    """``max ½ Σ |p_s - q_s|`` over the kept groups: t-closeness with the equal distance."""
    return -scores.goodness("equal")


@_closeness_measure(
    "min",
    between(0, "ln 2"),
    "nats",
    "largest Jensen-Shannon divergence of a kept group from the table",
    "L §4.1 (P_loss) and §5.1; natural logarithm",
    most=lambda instance: log(2),
    precision="logarithm",
    group=_DIVERGENCES,
)
def t_js(scores: Scores) -> Values:
    """``max ½ [KL(Q, M) + KL(P, M)]``, M = ½ (P + Q), over the kept groups (L §4.1).

    L uses it as its privacy loss and as the distance of t-closeness. Natural logarithm. A value
    that a group lacks contributes ``½ q_s ln 2``.
    """
    return -scores.goodness("js")


@_closeness_measure(
    "min",
    between(0, "inf"),
    "nats",
    "largest |ln(share in the group / share in the table)| in a kept group; infinite where a "
    "value is missing",
    "L §2.2: semantic privacy; Brickell and Shmatikov",
    most=lambda instance: log(max(2, instance.cells.rows)),
    precision="logarithm",
    group=_RATIOS,
)
def delta(scores: Scores) -> Values:
    """``max |ln(p_s / q_s)|`` over values and kept groups (semantic privacy, L §2.2).

    Infinite where a group lacks a value. Finite values are below ln n.
    """
    return -scores.goodness("delta")


@_closeness_measure(
    "min",
    between(0, "inf", without="high"),
    "nats",
    "largest |ln(share in the group / share in the table)| in a kept group, over the values that "
    "it has",
    "L §2.2, as its figures suggest: values that are missing from a group are passed over",
    most=lambda instance: log(max(2, instance.cells.rows)),
    precision="logarithm",
    group=_PRESENT_RATIOS,
)
def delta_present(scores: Scores) -> Values:
    """``max |ln(p_s / q_s)|`` over the values that occur in a kept group.

    Another reading of semantic privacy than `delta`, and a weaker promise: who sees that a value is
    missing from a group learns that nobody in it has it.
    """
    return -scores.goodness("delta_present")


@_closeness_measure(
    "min",
    between(0, "n-1"),
    "ratio",
    "largest (share in the group - share in the table) / share in the table of a value in a kept "
    "group",
    "Cao and Karras: basic β-likeness",
    most=lambda instance: float(max(1, instance.cells.rows - 1)),
    precision="quotient",
    group=_GAINS,
)
def beta(scores: Scores) -> Values:
    """``max (p_s - q_s) / q_s`` over values and kept groups (Cao and Karras, PVLDB 2012).

    The smallest β for which every kept group is basic β-likeness private: no value is more than
    1 + β times as frequent as in the table. Values that are rarer than there, or missing, do not
    count, so it is at least 0; `delta` counts them. At most n - 1, for a value of one row alone in
    its group. Cao and Karras write p for the table and q for the group, take β as given and above
    0, and know one sensitive column and no suppression.
    """
    return -scores.goodness("beta")


@_closeness_measure(
    "min",
    between(0, "inf"),
    "ratio",
    "beta; infinite where a value gains more than -ln(its share in the table)",
    "Cao and Karras: enhanced β-likeness",
    most=lambda instance: log(max(2, instance.cells.rows)),
    precision="quotient",
    group=_LIMITED_GAINS,
)
def beta_enhanced(scores: Scores) -> Values:
    """Smallest β with ``(p_s - q_s) / q_s <= min(β, -ln q_s)`` for all values that gain.

    Over the kept groups (Cao and Karras, PVLDB 2012). It is `beta`, or infinite where no β will do:
    some value gains more than ``-ln q_s``. Frequent values are thus held closer to their share than
    rare ones, and a group of a single value never passes where the table has others. Finite values
    are at most ln n. A bound of any size asks for the second limit too.
    """
    return -scores.goodness("beta_enhanced")


# -- risks -----------------------------------------------------------------------------------------


@privacy_measure(
    "min",
    between(0, 1, without="low"),
    "share",
    "chance of finding a released row's person, mean over the released rows",
    "prosecutor risk, mean of 1 / N",
    precision="exact",
)
def risk_mean(scores: Scores) -> Values:
    """``groups / rows kept``: the mean of 1 / N over the kept rows, since a group sums to 1."""
    return scores.field("kept_groups") / scores.kept_rows


@privacy_measure(
    "min",
    between(0, 1, without="low"),
    "share",
    "chance of finding the person of a row in the smallest group",
    "prosecutor risk, largest 1 / N",
    precision="exact",
)
def risk_max(scores: Scores) -> Values:
    """``1 / k``; 1 where nothing is kept."""
    return 1 / np.maximum(1, scores.field("k"))


@privacy_measure(
    "min",
    between(0, 1),
    "share",
    "share of the released rows whose group has fewer than 5 rows",
    "records at risk, with the threshold 5",
    precision="exact",
    tallies=("small",),
    of_kept=True,
)
def risk_share(scores: Scores) -> Values:
    """Kept rows in groups smaller than 5, over all kept rows."""
    kept, _ = scores.tally("small")
    return kept[:, 0] / scores.kept_rows
