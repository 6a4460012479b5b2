"""What a group must have besides its rows: bounds on its sensitive values.

For whoever makes groups inside kernels, and must know before they are groups.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from moanon.arrays import Floats, Ints, UInts
from moanon.kernels.diversity import MODELS, measure_models
from moanon.kernels.histograms import Lists, Plan, Sensitive, list_histograms
from moanon.kernels.jit import compiled, inner, int64
from moanon.kernels.selection import GroupRule


class GroupCheck(NamedTuple):
    """What a group must have besides its size, and scratch to find out whether it has.

    Kernels take None where the size is all: they are then compiled in half the time.
    """

    rule: GroupRule
    plan: Plan
    values: Sensitive
    histogram: Lists  # of one group
    size: UInts  # (1,)
    goodness: Floats  # (models, 1)
    mistakes: Ints  # (1,)


def make_group_check(rule: GroupRule, plan: Plan, values: Sensitive) -> GroupCheck | None:
    """Ask of every group what a rule asks: bounds on models."""
    if not len(rule.bounded):
        return None
    rows = np.zeros(max(1, int(plan.first[-1])), dtype=np.uint32)
    return GroupCheck(
        rule,
        plan,
        values,
        list_histograms(plan, 1)._replace(rows=rows),
        np.zeros(1, dtype=np.uint32),
        np.zeros((len(MODELS), 1)),
        np.zeros(1, dtype=np.int64),
    )


@inner
def meets_bounds(check: GroupCheck | None, rows: int, cells: Ints, number: int) -> bool:
    """Whether so many cells, with so many rows, have the sensitive values of a group."""
    if check is None:
        return True
    histogram = check.histogram.rows
    for value in range(len(histogram)):
        histogram[value] = 0
    for i in range(number):
        for at in range(check.values.starts[cells[i]], check.values.starts[cells[i] + 1]):
            histogram[check.values.values[at]] += np.uint32(check.values.counts[at])
    check.size[0] = rows
    measure_models(
        int64(0),
        check.plan.sensitive,
        int64(1),
        check.size,
        check.rule.need,
        check.rule.above,
        check.rule.below,
        check.plan,
        check.histogram,
        check.goodness,
        check.mistakes,
    )
    meets = True
    for model in check.rule.bounded:
        meets = meets and check.goodness[model, 0] >= check.rule.bounds[model]
    return meets


@compiled
def parts_may_be_groups(
    check: GroupCheck | None, least: int, counts: Ints, cells: Ints, part: Ints, parts: int
) -> bool:
    """Whether all parts of some cells have enough rows, and the sensitive values of a group.

    Parameters
    ----------
    check : GroupCheck or None
    least : int
        Rows that a group must have.
    counts : array (all cells,)
        Rows of each cell of the table.
    cells, part : arrays
        The cells, and the part that each is in; below 0, in none.
    parts : int
    """
    chosen = np.empty(len(cells), dtype=np.int64)
    for which in range(parts):
        rows, number = int64(0), int64(0)
        for i in range(len(cells)):
            if part[i] == which:
                chosen[number] = cells[i]
                number += 1
                rows += counts[cells[i]]
        if rows < least or not meets_bounds(check, rows, chosen, number):
            return False
    return True
