"""What can be asked about: k-anonymity, ℓ-diversity by each rule, t-closeness by each distance.

All have in common that a group of rows has a *level*, that a table is as good as its worst group,
and that giving up the worst groups makes it better. So every question about k can be asked about
the others once a sensitive column is named.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from moanon.data.hierarchy import Hierarchy
from moanon.errors import QuestionError

__all__ = ["ANONYMITY", "RULES", "Form", "Measure", "Model"]

Measure = Literal["k", "l", "t"]
Form = Literal["at least", "at most"]
Floats = npt.NDArray[np.float64]

#: Rule or distance → measure it belongs to, model of a group in the kernels, and how it is said.
RULES: dict[str, tuple[Measure, str, str]] = {
    "distinct": ("l", "distinct", "distinct values"),
    "frequency": ("l", "frequency", "size over the most frequent value"),
    "entropy": ("l", "entropy", "exp of the entropy"),
    "recursive": ("l", "recursive", "recursive (c,ℓ)"),
    "equal": ("t", "equal", "all values equally far apart"),
    "ordered": ("t", "closeness", "values in their order"),
    "tree": ("t", "closeness", "values in their hierarchy"),
    "js": ("t", "js", "Jensen-Shannon divergence"),
}

#: Constants of recursive diversity are kept small enough for exact products of integers.
_C_DIGITS = 10**6
#: Levels that come from logarithms are rounded to so many decimals.
_DECIMALS = 12


@dataclass(frozen=True)
class Model:
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

    measure: Measure = "k"
    rule: str = ""
    c: float = 3.0
    hierarchy: Hierarchy | None = None

    def __post_init__(self) -> None:
        """Refuse what means nothing, before it is taken for something else."""
        if self.measure == "k":
            if self.rule:
                raise QuestionError(f"k has no rules. Got {self.rule!r}")
            return
        known = [name for name, (measure, _, _) in RULES.items() if measure == self.measure]
        if not known:
            raise QuestionError(f"measure must be one of k, l, t. Got {self.measure!r}")
        if self.rule not in known:
            raise QuestionError(
                f"the rule of {self.measure} must be one of {', '.join(known)}. Got {self.rule!r}"
            )
        if (self.rule == "tree") != (self.hierarchy is not None):
            raise QuestionError("the rule tree, and no other, needs a hierarchy")
        self.c_fraction  # noqa: B018 (checked here)

    @property
    def symbol(self) -> str:
        """The letter of the papers."""
        return {"k": "k", "l": "ℓ", "t": "t"}[self.measure]

    @property
    def sign(self) -> int:
        """1 where a higher level is safer, -1 where a lower one is."""
        return -1 if self.measure == "t" else 1

    @property
    def is_whole(self) -> bool:
        """Whether levels are whole numbers."""
        return self.measure == "k" or self.rule in ("distinct", "frequency", "recursive")

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
        is_number = isinstance(level, (int, float)) and not isinstance(level, bool)
        if not is_number or (isinstance(level, float) and not math.isfinite(level)):
            raise QuestionError(f"{name} must be a number. Got {level}")
        if self.measure == "t":
            if not 0 <= level <= 1:
                raise QuestionError(f"t must be in [0, 1]. Got {level}")
            return float(level)
        if level < 1:
            raise QuestionError(f"{name} must be at least 1. Got {level}")
        if self.is_whole:
            if level != int(level):
                raise QuestionError(f"{name} must be a whole number here. Got {level}")
            return int(level)
        return float(level)

    def show(self, level: float) -> str:
        """Write a level for people; rounded to the unsafe side."""
        if self.is_whole:
            return f"{int(level):,}"
        # Rounded so that nobody takes the table for safer than it is.
        thousandths = level * 1000
        rounded = math.ceil(thousandths - 1e-9) if self.sign < 0 else math.floor(thousandths + 1e-9)
        return f"{rounded / 1000:.3f}"

    def phrase(self, level: float | None, form: Form) -> str:
        """Say what a table is asked to be: at least 3-anonymous, 0.2-close."""
        word = {"k": "anonymous", "l": "diverse", "t": "close"}[self.measure]
        if level is None:
            return f"{self.symbol}-{word}"
        shown = f"{level:,}" if self.is_whole else f"{level:.10g}"
        if self.measure != "t":
            return f"{form} {shown}-{word}"
        return f"{shown}-close" if form == self.protective else f"no closer than {shown}"


#: k-anonymity, which all questions are about unless another model is named.
ANONYMITY = Model()
