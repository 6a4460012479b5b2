"""What a level is: k-anonymity, ℓ-diversity by each rule, t-closeness by each distance.

All have in common that a group of rows has a *level*, that a table is as good as its worst group,
and that giving up the worst groups makes it better. So every question about k can be asked about
the others once a sensitive column is named. What is true of them as measures stands at their
definitions in `moanon.measures`, and is looked up there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from moanon.arrays import Floats
from moanon.data.column import did_you_mean
from moanon.data.hierarchy import Hierarchy
from moanon.errors import QuestionError, got
from moanon.kernels.histograms import Distance
from moanon.measures import MEASURES, Measure
from moanon.measures.measure import is_number

Letter = Literal["k", "l", "t"]
Form = Literal["at least", "at most"]

#: How a letter is written, what a table is called by it, and the rule that goes without saying.
_SYMBOL: dict[Letter, str] = {"k": "k", "l": "ℓ", "t": "t"}
_WORD: dict[Letter, str] = {"k": "anonymous", "l": "diverse", "t": "close"}
_USUAL_RULE: dict[Letter, str] = {"k": "", "l": "distinct", "t": "equal"}

#: Constants of recursive diversity are kept small enough for exact products of integers.
_C_DIGITS = 10**6
#: Levels that come from logarithms are rounded to so many decimals.
_DECIMALS = 12
#: Larger levels cannot be drawn; to most that are smaller, too, the answer is no.
_MOST = 1e100


def rule_measures() -> dict[str, Measure]:
    """Return each rule of ℓ and each distance of t, with the measure that it stands for.

    They are the measures that every group has a value of, named ``l_rule`` and ``t_rule``; each
    ground distance of `t_closeness` is a rule of its own.
    """
    rules: dict[str, Measure] = {}
    for name, measure in MEASURES.items():
        letter, _, rule = name.partition("_")
        if letter in ("l", "t") and rule and measure.group:
            rules |= dict.fromkeys(get_args(Distance) if rule == "closeness" else [rule], measure)
    return rules


def choose_rule(letter: Letter | None, rule: str | None) -> tuple[Letter, str]:
    """Fill in what was left out: a rule belongs to one letter, and a letter has a usual rule.

    >>> choose_rule(None, None), choose_rule("l", None), choose_rule(None, "js")
    (('k', ''), ('l', 'distinct'), ('t', 'js'))
    """
    if rule is None:
        letter = letter or "k"
        return letter, _USUAL_RULE[letter]
    rules = rule_measures()
    if rule not in rules:
        hint = did_you_mean(rule, rules)
        raise QuestionError(f"rule must be one of {', '.join(rules)}. Got {rule!r}{hint}")
    owner: Letter = "l" if rules[rule].name.startswith("l") else "t"
    if letter not in (None, owner):
        raise QuestionError(
            f"the rule {rule} is one of {owner}, and the question is about {letter}"
        )
    return owner, rule


@dataclass(frozen=True)
class PrivacyModel:
    """A privacy model: which number of a group is meant.

    Parameters
    ----------
    measure : {"k", "l", "t"}
        ``k``: rows in the group (D def. 3). ``l``: diversity of its sensitive values (D §4.2).
        ``t``: distance of its sensitive values from those of the whole table (t-closeness). With
        several sensitive columns the worst counts.
    rule : str
        ``l``: ``distinct`` (number of values), ``frequency`` (floor of size over the largest count,
        D def. 4), ``entropy`` (exp of the entropy) or ``recursive`` (largest ℓ with
        ``r1 < c (r_ℓ + … + r_m)``, a sum). ``t``: earth mover's distance with ``equal``,
        ``ordered`` or ``tree`` ground distance, or ``js`` (Jensen-Shannon, natural logarithm).
    c : float
        Constant of the rule ``recursive``.
    hierarchy : Hierarchy, optional
        Tree of the rule ``tree``.

    Notes
    -----
    With t the table's own distribution is that of all rows, before any suppression: what a group
    reveals then does not depend on which other groups are given up.

    A set of columns never has a better level than its subsets. For k and distinct values this holds
    row by row, so it holds with suppression too. For all other rules it holds for the worst group
    only: splitting a bad group can leave a good part that need not be given up, and a *larger* set
    can then do with less suppression. So `is_monotone` depends on whether rows may be suppressed.
    """

    measure: Letter = "k"
    rule: str = ""
    c: float = 3.0
    hierarchy: Hierarchy | None = None

    def __post_init__(self) -> None:
        """Refuse what means nothing, before it is taken for something else."""
        if self.measure == "k":
            if self.rule:
                raise QuestionError(f"k has no rules. Got {self.rule!r}")
            return
        known = [rule for rule, m in rule_measures().items() if m.name[0] == self.measure]
        if not known:
            raise QuestionError(f"measure must be one of k, l, t. Got {self.measure!r}")
        if self.rule not in known:
            raise QuestionError(
                f"the rule of {self.measure} must be one of {', '.join(known)}. Got {self.rule!r}"
            )
        if (self.rule == "tree") != (self.hierarchy is not None):
            raise QuestionError("the rule tree, and no other, needs a hierarchy")
        self.c_fraction  # noqa: B018 (checked here)

    @cached_property
    def registered(self) -> Measure:
        """The measure of the package that the level of a table is."""
        return rule_measures()[self.rule] if self.rule else MEASURES["k"]

    @cached_property
    def sign(self) -> int:
        """1 where a higher level is safer, -1 where a lower one is."""
        return 1 if self.registered.higher_is_better else -1

    @cached_property
    def is_whole(self) -> bool:
        """Whether levels are whole numbers."""
        return self.registered.range.whole

    @property
    def kernel_model(self) -> str:
        """Name in `moanon.kernels.models.MODELS`; k has none, it is the size."""
        return self.registered.models[0]

    @property
    def symbol(self) -> str:
        """The letter of the papers."""
        return _SYMBOL[self.measure]

    @property
    def protective(self) -> Form:
        """The form of a question whose answer yes means safety."""
        return "at least" if self.sign == 1 else "at most"

    @property
    def c_fraction(self) -> Fraction:
        """The constant of recursive diversity, exactly as written."""
        try:
            exact = Fraction(repr(float(self.c)))
        except (ValueError, OverflowError):  # not a number, infinite
            exact = Fraction(0)
        if not (0 < exact <= 1000 and _C_DIGITS % exact.denominator == 0):
            raise QuestionError(
                f"c must be a number above 0 and up to 1000, with at most six decimals. "
                f"Got {self.c}"
            )
        return exact

    def strengths(self, goodness: Floats) -> Floats:
        """Turn what kernels measure of groups into levels, with a minus sign where lower is safer.

        The two rules with logarithms are rounded: two values of equal share must have an entropy
        diversity of 2, not of 1.9999999999999998, and groups of equal shares the same distance.
        """
        if self.rule not in ("entropy", "js"):
            return goodness
        strengths: Floats = np.exp(goodness) if self.rule == "entropy" else goodness
        return strengths.round(_DECIMALS)

    def is_monotone(self, *, suppressing: bool) -> bool:
        """Whether a set of columns can never be better than its subsets."""
        return not suppressing or self.measure == "k" or self.rule == "distinct"

    def check_level(self, level: float) -> float:
        """Return a level that can be asked for, or say what is wrong with it."""
        name = self.measure
        if not is_number(level, _MOST):
            raise QuestionError(f"{name} must be a number, at most {_MOST:g}. Got {got(level)}")
        if name == "t" and not 0 <= level <= 1:
            raise QuestionError(f"t must be in [0, 1]. Got {level}")
        if name != "t" and level < 1:
            raise QuestionError(f"{name} must be at least 1. Got {level}")
        if self.is_whole and level != int(level):
            raise QuestionError(f"{name} must be a whole number here. Got {level}")
        return int(level) if self.is_whole else float(level)

    def show(self, level: float) -> str:
        """Write a level for people; rounded so that nobody takes the table for safer than it is."""
        if self.is_whole:
            return f"{int(level):,}"
        thousandths = level * 1000
        rounded = math.ceil(thousandths - 1e-9) if self.sign < 0 else math.floor(thousandths + 1e-9)
        return f"{rounded / 1000:.3f}"

    def phrase(self, level: float | None, form: Form) -> str:
        """Say what a table is asked to be: at least 3-anonymous, 0.2-close."""
        word = _WORD[self.measure]
        if level is None:
            return f"{self.symbol}-{word}"
        shown = f"{level:,}" if self.is_whole else f"{level:.10g}"
        if self.measure != "t":
            return f"{form} {shown}-{word}"
        return f"{shown}-{word}" if form == self.protective else f"no closer than {shown}"


#: k-anonymity, which all questions are about unless another model is named.
ANONYMITY = PrivacyModel()
