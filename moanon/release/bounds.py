"""Bounds that a release must meet: what a run demanded of its solutions.

A search looks at its own table and at its own thresholds. A release of a solution with another k,
or of other rows under the same generalization, is another table, and must meet the same demands.
It is measured here by the same loops as in the search, so that a bound means the same in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from moanon.errors import OutputError
from moanon.kernels.selection import FIELDS
from moanon.measures.evaluate import Evaluator
from moanon.measures.groupwise import TOLERANCE
from moanon.measures.registry import find_measure
from moanon.measures.scores import Scores
from moanon.measures.suppression import Suppression
from moanon.release.applied import Release

__all__ = ["check_bounds"]

#: Thresholds of a suppression rule, and what stands for them where another one was applied: what
#: the release attains.
_ATTAINED = {"d": "k", "d1": "k", "d2": "l"}
#: Measures that are logarithms or go back to some; see `moanon.measures.groupwise`.
_ROUNDED = frozenset({"l_entropy", "t_js", "delta"})


def check_bounds(
    release: Release, rule: Suppression, k: int, bounds: Mapping[str, float], *, name: str
) -> None:
    """Refuse a release that breaks a bound.

    Parameters
    ----------
    release : Release
    rule : Suppression
        By which it was made: its groups are those that meet the constraints of this rule …
    k : int
        … and have so many rows.
    bounds : mapping of str to float
        On any measures, each in its better direction.
    name : str
        What the error calls the release.

    Raises
    ------
    OutputError
        Names every measure that breaks its bound, its value and the bound.
    """
    broken = []
    for measure, value in _measure(release, rule, k, bounds, name).items():
        bound, is_least = bounds[measure], find_measure(measure).direction == "max"
        slack = TOLERANCE * abs(bound) if measure in _ROUNDED else 0.0
        short = bound - value if is_least else value - bound
        if short > slack:
            side = "at least" if is_least else "at most"
            broken.append(f"{measure} is {_shown(value, bound)} ({side} {bound:.12g})")
    if broken:
        raise OutputError(
            f"{name} does not meet the constraints of the run: {' and '.join(broken)}"
        )


def _measure(
    release: Release, rule: Suppression, k: int, bounds: Mapping[str, float], name: str
) -> dict[str, float]:
    if not bounds:
        return {}
    names = [_ATTAINED.get(name, name) for name in bounds]
    scores = Evaluator(release.instance).evaluate_at(
        release.groups.genome, [(k, 0)], rule, measures=names
    )
    outside = release.rows - release.instance.table.rows
    for measure in names:
        if outside and find_measure(measure).tallies:
            raise OutputError(
                f"{name} leaves {outside} rows outside the domains, and whether it meets the "
                f"constraint {measure} cannot be told then; leave these rows out of the table"
            )
    scores = _with_rows_outside(scores, outside)
    found = {}
    for bounded, taken in zip(bounds, names, strict=True):
        value = find_measure(taken).of(scores)[0].item()
        found[bounded] = value - 1 if bounded == "d" else value
    return found


def _with_rows_outside(scores: Scores, number: int) -> Scores:
    """Count rows outside the domains, which no kernel has seen, as suppressed rows of the table."""
    if not number:
        return scores
    instance = scores.instance
    nowhere = np.zeros(number, dtype=instance.cells.row_cell.dtype)
    cells = replace(instance.cells, row_cell=np.append(instance.cells.row_cell, nowhere))
    larger = replace(instance, cells=cells)
    # What a cell costs stays as it is: costs were added up in units of these prices.
    vars(larger)["prices"] = replace(instance.prices, rows=instance.prices.rows + number)
    fields = scores.raw.fields.copy()
    fields[:, FIELDS.index("suppressed")] += number
    return replace(scores, instance=larger, raw=replace(scores.raw, fields=fields))


def _shown(value: float, bound: float) -> str:
    """Write a value shortly, with all its digits where it would seem to meet the bound."""
    short = f"{value:.6g}"
    is_clear = float(short) != bound and (float(short) > bound) == (value > bound)
    return short if is_clear else repr(value)
