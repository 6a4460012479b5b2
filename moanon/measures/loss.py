"""What a release loses: cells that say less, rows that are not there, groups that are too large.

Short names: D, L and M as in the package; n rows, q quasi-identifiers, N the size of a group. What
suppression does is said for each: some measures count the kept rows only and so reward it, the
others count a suppressed row as fully generalized. Last comes how far a loss can be above the
optimum, where that was proven.

*Utility loss* is what a release no longer says about large subpopulations (L §4.2). Privacy is
about individuals, and is judged by the one who is worst off; utility is about what can be learnt of
many, and adds up. So L looks at all of them (`moanon.data.populations`): how far is what a release
says about their sensitive values from the truth?

What it says is estimated as L does: every base value in the block of a group is equally likely,
and so is every sensitive value of the group to any of its rows. Where a release shows
quasi-identifiers as they are and permutes sensitive values in buckets (*bucketization*), it is
known who is in a population, and each row has the distribution of its bucket. Of a population that
has no row in the release, the distribution of all released rows is taken.
"""

from __future__ import annotations

from functools import partial
from math import ceil, inf, isinf, log
from typing import TYPE_CHECKING

import numpy as np

from moanon.arrays import Floats, Ints, Values
from moanon.measures.measure import between, counts, measure

if TYPE_CHECKING:  # what is true of a measure is known without the compiler
    from moanon.data.populations import ShownParts
    from moanon.genome import Instance
    from moanon.grouping import Grouping
    from moanon.measures.evaluate import Scores

#: Columns of a front's table: a loss that nothing goes below, and how far the solution is above it.
BOUND, GAP = "bound", "gap"


def _tree_heights(instance: Instance) -> Ints:
    """Heights of the trees of quasi-identifiers."""
    trees = instance.layout.trees.values()
    return np.array([int(tree.heights[0]) for tree in trees], dtype=np.int64)


#: A measure that follows from what labels stand for, ...
_of_labels = partial(measure, reads_labels=True)
#: ... with weighted columns.
_weighted = partial(_of_labels, requires="weights", costs=("weighted",))


# -- cells -----------------------------------------------------------------------------------------


@_of_labels(
    "min",
    between(0, 1),
    "share of n·q",
    "generalization loss of the kept rows; suppressing rows lowers it",
    "D eq. 3-4",
    certified="whole",
    on_pairs=True,
    label="generalization loss",
    short="GL",
)
def gl(scores: Scores) -> Values:
    """``Σ (w - 1) / (m - 1) / (n q)`` over the cells of kept rows, w of m base values (D eq. 3)."""
    return scores.share(scores.field("kept_loss"))


@measure(
    "min",
    between(0, 1, without="high"),
    "share of n·q",
    "suppression loss: every cell of a suppressed row counts as lost",
    "D eq. 5",
    precision="exact",
    certified="whole",
    on_pairs=True,
    label="suppression loss",
    short="SL",
)
def sl(scores: Scores) -> Values:
    """Suppressed rows over n (D eq. 5)."""
    return scores.field("suppressed") / scores.rows


@_of_labels(
    "min",
    between(0, 1),
    "share of n·q",
    "generalization and suppression loss together",
    "D §7: GL + SL",
    certified="whole",
    on_pairs=True,
)
def loss(scores: Scores) -> Values:
    """``gl + sl``, added up before the division."""
    return scores.total_share(scores.field("kept_loss"), scores.field("suppressed"))


@_weighted(
    "min",
    between(0, 1),
    "share",
    "generalization loss of the kept rows with weighted columns; suppressing rows lowers it",
    "D eq. 3-4 and §2, weights as in Xu et al.",
)
def gl_weighted(scores: Scores) -> Values:
    """``Σ_j w_j Σ_i loss_ij / (n Σ_j w_j)`` over kept rows; equal weights give `gl`."""
    return scores.cost_share("weighted", scores.cost("weighted"))


@_weighted(
    "min",
    between(0, 1),
    "share",
    "generalization and suppression loss together, with weighted columns",
    "D §7: GL + SL, weights as in Xu et al.",
)
def loss_weighted(scores: Scores) -> Values:
    """`gl_weighted`, and every suppressed row counts as fully generalized; see `loss`."""
    return scores.cost_share("weighted", scores.cost_with_suppressed("weighted"))


@_of_labels(
    "min",
    between(0, 1),
    "share",
    "normalized certainty penalty with weighted columns; a suppressed row counts in full",
    "M eq. 5-7; Xu et al.",
    costs=("certainty",),
)
def ncp(scores: Scores) -> Values:
    """``Σ_e |e| Σ_j w_j NCP_j(e) / (n Σ_j w_j)`` (M eq. 5-7; Xu et al., KDD 2006).

    ``NCP_j(e)`` of a tree or an order is 0 for a single value, else ``w / m`` for a block of w of
    the m base values (eq. 5); of an interval it is the range of the block over that of the domain,
    ``(w - 1) / (m - 1)`` in steps (eq. 6). M's eq. 7 prints no ``|e|`` and divides by n q; to be 1
    where all is generalized, as M says it is, the sum must go over rows, and by the sum of the
    weights. A suppressed row counts 1 in every column.
    """
    return scores.cost_share("certainty", scores.cost_with_suppressed("certainty"))


@_of_labels(
    "max",
    between(0, 1),
    "share",
    "precision: how little cells climb in their trees; a suppressed row climbs to the root",
    "M eq. 3; Sweeney",
    requires="tree",
    costs=("height",),
)
def prec(scores: Scores) -> Values:
    """``1 - Σ_ij h_ij / |DGH_j| / (n · trees)`` (M eq. 3; Sweeney 2002), tree columns only.

    ``h_ij`` is the level of the node that the cell shows, ``|DGH_j|`` the height of its tree. Of a
    node that several levels have, the lowest counts.
    """
    return 1.0 - scores.cost_share("height", scores.cost_with_suppressed("height"))


@_of_labels(
    "min",
    between(0, "sum of the trees' heights"),
    "levels",
    "levels that tree columns were generalized by, summed; suppression does nothing to it",
    "M eq. 1; Samarati and Sweeney",
    requires="tree",
    most=lambda instance: float(max(1, _tree_heights(instance).sum())),
    precision="exact",
)
def absdist(scores: Scores) -> Values:
    """``Σ_j d_j`` over tree columns (M eq. 1), the levels each was generalized by.

    M has whole levels only. A cut that mixes levels counts as the lowest level that is at least as
    general, the highest of its nodes. Of a file alone, the nodes that only suppressed rows had are
    not known, and do not count.
    """
    return np.asarray(scores.levels().sum(axis=1))


@_of_labels(
    "min",
    between(0, "number of trees"),
    "levels",
    "the same with each column's levels as a share of its tree's height",
    "M eq. 2; Samarati and Sweeney",
    requires="tree",
    most=lambda instance: float(max(1, len(_tree_heights(instance)))),
)
def reldist(scores: Scores) -> Values:
    """``Σ_j d_j / |DGH_j|`` over tree columns (M eq. 2); see `absdist`."""
    shares = scores.levels() / np.maximum(1, _tree_heights(scores.instance))
    return np.asarray(shares.sum(axis=1))


@_of_labels(
    "min",
    between(0, "n · sum of ln m"),
    "nats",
    "information needed to restore the cells; a suppressed row counts as fully generalized",
    "M eq. 9-11; Gionis and Tassa; natural logarithm",
    costs=("entropy",),
    most=lambda instance: float(
        max(1.0, instance.cells.rows * sum(log(size) for size in instance.layout.sizes))
    ),
)
def conditional_entropy(scores: Scores) -> Values:
    """``Π_e = Σ_ij H(V_j | a_ij)`` (M eq. 9-11; Gionis and Tassa), in nats.

    The entropy of a cell's base value given its block, with the frequencies of the whole table,
    suppressed rows included (eq. 10).
    """
    return scores.cost_with_suppressed("entropy") / scores.instance.prices.entropy_unit


@_of_labels(
    "min",
    between(0, 1),
    "share",
    "information about the rows' values that is lost, by how many rows share a block; a suppressed "
    "row loses all of its own",
    "non-uniform entropy: Gionis and Tassa",
    costs=("block_rows",),
    label="entropy loss",
)
def entropy_loss(scores: Scores) -> Values:
    """``Σ log(R_ij / r_ij) / Σ log(n / r_ij)``, the first sum with R = n in suppressed rows.

    ``r_ij`` are the rows of the whole table that have the value of row i in column j, ``R_ij``
    those that have any value of the block that the row shows (Gionis and Tassa's non-uniform
    entropy, over what suppressing everything would lose; the base does not matter). Declared values
    that no row has count nothing, as does a column with one value; a table of such columns has
    nothing to lose, and the loss is 0. A row outside the domains (of `apply`) counts as if it
    shared its values with nobody.
    """
    return scores.cost_share("block_rows", scores.cost_with_suppressed("block_rows"))


# -- rows and groups -------------------------------------------------------------------------------


@measure(
    "min",
    counts(0, "n-1"),
    "rows",
    "rows left out of the release",
    "D §5.2",
    certified="whole",
    on_pairs=True,
)
def suppressed(scores: Scores) -> Values:
    """Rows of the groups that are suppressed."""
    return scores.field("suppressed")


@measure("max", counts(1, "n"), "groups", "number of kept groups", "D §4.1", certified="whole")
def groups(scores: Scores) -> Values:
    """Number of kept groups."""
    return scores.field("kept_groups")


@measure(
    "min",
    between(1, "n"),
    "rows",
    "kept rows per kept group",
    "LeFevre et al.; C_avg of M before its division by k",
    precision="exact",
    certified="whole",
    label="rows in a mean group",
)
def average_class_size(scores: Scores) -> Values:
    """Kept rows over kept groups."""
    return scores.kept_rows / np.maximum(1, scores.field("kept_groups"))


@measure(
    "min",
    between(1, "n"),
    "ratio",
    "kept rows per kept group, as a multiple of k; 1 where all kept groups are of size k",
    "M: C_avg; LeFevre et al.",
    most=lambda instance: float(instance.cells.rows),
    certified="whole",
)
def c_avg(scores: Scores) -> Values:
    """``(rows kept / groups kept) / k`` (LeFevre et al., ICDE 2006).

    k is that of the release, the size of its smallest group; LeFevre et al. take the one that was
    asked for, which is never larger.
    """
    return average_class_size(scores) / np.maximum(1, scores.field("k"))


@measure(
    "min",
    counts("n", "n²"),
    "rows²",
    "discernibility: rows that each row looks like; a suppressed row looks like all n",
    "M eq. 4; Bayardo and Agrawal",
    certified="whole",
)
def dm(scores: Scores) -> Values:
    """``Σ N²`` over kept groups, and n for each suppressed row (Bayardo and Agrawal, ICDE 2005).

    M eq. 4 knows no suppression.
    """
    return scores.field("kept_squares") + scores.rows * scores.field("suppressed")


@measure(
    "min",
    counts(0, "n"),
    "rows",
    "rows that are suppressed or not of their group's majority class",
    "M eq. 8; Iyengar",
    requires="label",
)
def cm(scores: Scores) -> Values:
    """``Σ penalty(row)`` (M eq. 8; Iyengar, KDD 2002), in rows.

    A row is penalized if it is suppressed or its class is not that of its group's majority; where
    classes tie for the majority, exactly one of them is it.
    """
    return scores.mistakes() + scores.field("suppressed")


# -- large populations -----------------------------------------------------------------------------


@measure(
    "min",
    between(0, "ln 2"),
    "nats",
    "mean Jensen-Shannon divergence between what the release says of large subpopulations and the "
    "truth",
    "L §4.2 (U_loss); natural logarithm",
    most=lambda instance: log(2),
    precision="logarithm",
    requires="populations",
    reads_labels=True,
    reads_groups=True,
)
def u_loss(scores: Scores) -> Values:
    """``1/|Y| Σ_y JS(P_y, R_y)`` over all large populations y (L §4.2), of the worst column.

    P_y is the distribution of a sensitive column in y, R_y the one that the kept groups give: the
    sum over groups of their sensitive values times, over the quasi-identifiers, the share of the
    group's block that lies in y. 0 where nothing was generalized.
    """
    return np.array([max(utility_losses(each).values()) for each in scores.each_grouping()])


def utility_losses(grouping: Grouping, *, bucketized: bool = False) -> dict[str, float]:
    """Utility loss of a grouping for each sensitive column.

    The `subpopulation_spec` of its table says which populations count. Where it is `bucketized`,
    quasi-identifiers are released as they are, and groups are buckets; else groups show their
    blocks.
    """
    from moanon.kernels.large_populations import population_divergences

    found = {}
    populations, released = grouping.instance.populations, grouping.released()
    for column in grouping.instance.table.sensitive:
        truth = populations.truth[column]
        if not len(released):
            found[column] = log(2)
            continue
        parts = shown_parts(released, column, bucketized=bucketized)
        divergences = np.empty(len(populations))
        estimate = populations.estimate(parts)
        population_divergences(truth, estimate, parts.total(), divergences)
        found[column] = float(divergences.mean())
    return found


def shown_parts(released: Grouping, column: str, *, bucketized: bool) -> ShownParts:
    """A release as parts in boxes; its groups own them, with their values of a sensitive column.

    Generalized, every group is a part, in its box; bucketized, every cell of a bucket, which brings
    its share of the bucket's values.
    """
    from moanon.data.populations import ShownParts, count_histograms

    instance, groups = released.instance, len(released)
    place = instance.table.sensitive.index(column)
    counts = instance.cells.sensitive[place]
    owner, value, times = released.values_of(counts)
    number = len(counts.labels)
    histograms = count_histograms(
        owner.astype(np.int64), value.astype(np.int64), times, groups, number
    )
    if bucketized:
        group, cell, rows = _members(released)
        codes = instance.cells.codes[:, cell].astype(np.int64)
        weight = rows / released.sizes[group]
        return ShownParts(codes, codes + 1, weight, group, histograms, number, cell)
    assert released.starts is not None
    assert released.stops is not None
    everything = np.arange(groups)
    starts, stops = released.starts.astype(np.int64), released.stops.astype(np.int64)
    return ShownParts(starts, stops, np.ones(groups), everything, histograms, number)


def _members(released: Grouping) -> tuple[Ints, Ints, Floats]:
    """Group, cell and rows of all cells that are released, wholly or in part."""
    cells = len(released.instance.cells)
    group, cell, times = released.members_held()
    if released.cell_group is not None:
        return group, cell, times.astype(np.float64)
    pairs, place = np.unique(group * cells + cell, return_inverse=True)
    rows = np.zeros(len(pairs))
    np.add.at(rows, place, times)
    return pairs // cells, pairs % cells, rows


# -- above the optimum -----------------------------------------------------------------------------


def gap_above(loss: float, bound: float) -> float:
    """By how much of the optimum a loss can be above it, as a share; infinite if nothing is known.

    >>> gap_above(0.21, 0.2), gap_above(0.2, 0.2), gap_above(0.2, 0.0)
    (0.04999999999999982, 0.0, inf)
    """
    if loss <= bound:
        return 0.0
    return loss / bound - 1 if bound > 0 else inf


def optimality(loss: float, bound: float) -> str:
    """Say how far a solution can be from the optimum; empty where nothing is known.

    Gaps are rounded up: nothing is promised that was not proven.

    >>> optimality(0.2, 0.2), optimality(0.2025, 0.2), optimality(0.2 + 1e-15, 0.2)
    ('proven optimal', 'at most 1.3% above the optimum', 'at most 0.1% above the optimum')
    """
    gap = gap_above(loss, bound)
    if gap == 0:
        return "proven optimal"
    if isinf(gap):
        return ""
    tenths = max(ceil(gap * 1000 - 1e-9), 1)
    return f"at most {tenths / 10:,.1f}% above the optimum"
