"""Measures that every group has a value of, and a release that of its worst group.

These are the privacy models. A bound on one of them is a demand on every group: a group that fails
is suppressed, as one smaller than k is. And a suppression rule can go by any of them instead of by
size: groups are given up from the worst on. Sizes and diversities are whole numbers, and whole
classes of equal groups go at once (D eq. 7). The others are no whole numbers, and groups of exactly
equal value would be classes of one; so their ranges are cut into narrow classes, `GroupWise.width`
wide, and those go at once. What a release attains is measured afterwards, not rounded to a class.

Kernels know these models as *goodness*, more being better (see `moanon.kernels.diversity`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log

__all__ = ["GROUP_WISE", "TOLERANCE", "GroupWise"]

#: Logarithms are rounded, and three equally frequent values have an entropy ℓ of 3 give or take a
#: rounding. A bound on such a measure is met by what falls short of it by no more than this share.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class GroupWise:
    """How kernels see a measure of groups.

    Attributes
    ----------
    model : str
        Name in `moanon.kernels.diversity.MODELS`.
    goodness : callable
        Least goodness that meets a bound on the measure.
    width : float
        Width of the classes that are given up together, in goodness.
    lowest : callable
        Goodness at which classes begin, for a table of so many rows.
    """

    model: str
    goodness: Callable[[float], float]
    width: float
    lowest: Callable[[int], float]

    def classes(self, rows: int) -> tuple[float, float]:
        """Shift and factor with which a goodness becomes the number of its class, from 1 on."""
        return self.width - self.lowest(rows), 1 / self.width


def _counted(model: str, lowest: int = 1) -> GroupWise:
    return GroupWise(model, float, 1.0, lambda rows: float(lowest))


def _distance(model: str) -> GroupWise:
    return GroupWise(model, lambda bound: -bound, 0.005, lambda rows: -1.0)


#: By the names of measures; ``k`` is the size itself, and ``l`` stands for one of two.
GROUP_WISE = {
    "l_distinct": _counted("distinct"),
    "p_sensitive": _counted("distinct"),
    "l_frequency": _counted("frequency"),
    "l_recursive": _counted("recursive", 0),
    # classes of ln ℓ: thresholds are 2 % apart
    "l_entropy": GroupWise("entropy", lambda bound: log(bound) - TOLERANCE, 0.02, lambda rows: 0.0),
    "alpha": _distance("alpha"),
    "t_closeness": _distance("closeness"),
    "t_equal": _distance("equal"),
    "t_js": GroupWise("js", lambda bound: -bound * (1 + TOLERANCE), 0.005, lambda rows: -log(2)),
    # ln(p / q) is within ± ln n where it is finite; the class below is for groups where it is not
    "delta": GroupWise(
        "delta", lambda bound: -bound * (1 + TOLERANCE), 0.05, lambda rows: -log(rows) - 0.05
    ),
}
