"""How far solutions can be above the optimum, where it was proven, in numbers and in words."""

from __future__ import annotations

import math

#: Columns of a front's table: a loss that nothing goes below, and how far the solution is above it.
BOUND, GAP = "bound", "gap"


def gap_above(loss: float, bound: float) -> float:
    """By how much of the optimum a loss can be above it, as a share; infinite if nothing is known.

    >>> gap_above(0.21, 0.2), gap_above(0.2, 0.2), gap_above(0.2, 0.0)
    (0.04999999999999982, 0.0, inf)
    """
    if loss <= bound:
        return 0.0
    return loss / bound - 1 if bound > 0 else math.inf


def optimality(loss: float, bound: float) -> str:
    """Say how far a solution can be from the optimum; empty where nothing is known.

    Gaps are rounded up: nothing is promised that was not proven.

    >>> optimality(0.2, 0.2), optimality(0.2025, 0.2), optimality(0.2 + 1e-15, 0.2)
    ('proven optimal', 'at most 1.3% above the optimum', 'at most 0.1% above the optimum')
    """
    gap = gap_above(loss, bound)
    if gap == 0:
        return "proven optimal"
    if math.isinf(gap):
        return ""
    tenths = max(math.ceil(gap * 1000 - 1e-9), 1)
    return f"at most {tenths / 10:,.1f}% above the optimum"
