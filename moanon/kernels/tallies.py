"""Sums and worst cases over the people of a table: what indices of property vectors are made of.

A property vector has a number for every row of the original (C §3), and rows that share a group, or
a group and a sensitive value, share the number. So its mean and its distance from an ideal vector
are sums over groups, its minimum is a worst case over them: *tallies*. Suppressed rows are in the
vector, too, as one more group whose cells are lost and whose sensitive values are those that no
kept group holds.

Sums over groups are integers. A number that is no whole one is between 0 and 1 for each row; its
sum over a group is rounded to units so small that the sum over all rows just fits. So a tally does
not depend on the order of groups, and is off by half a unit a group and the rounding of floats.
Squares of whole numbers are added up as they are, unless the table is so large that they might not
fit (`square_unit`).
"""

from __future__ import annotations

from math import ceil, floor, log2
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.kernels.jit import compiled, int64
from moanon.kernels.plan import Lists, Plan, list_histograms

__all__ = [
    "OF_COLUMNS",
    "TALLIES",
    "TallyDesk",
    "add_tallies",
    "make_tally_desk",
    "measure_tallies",
    "square_unit",
    "tally_unit",
]

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]

#: What is added up over rows, or the largest of it. N is the size of a row's group, n that of the
#: table, c the rows of the group with the row's own sensitive value.
TALLIES = (
    "size_gap",  # (n - N)²
    "loss_gap",  # (row loss / loss of a suppressed row)²
    "loss_most",  # largest row loss
    # of each sensitive column
    "same",  # c
    "same_gap",  # (c - 1)²
    "same_most",  # largest c
    "share",  # c / N
    "share_gap",  # (c / N)²
    "values",  # different values in the group
    "values_gap",  # (number of the column's values that the group lacks)²
    "lacking_most",  # largest number of values that a group lacks
)
_SIZE_GAP, _LOSS_GAP, _LOSS_MOST = range(3)
_SAME, _SAME_GAP, _SAME_MOST, _SHARE, _SHARE_GAP = range(3, 8)
_VALUES, _VALUES_GAP, _LACKING_MOST = range(8, 11)
#: Tallies from this one on are those of a sensitive column.
OF_COLUMNS = _SAME


class TallyDesk(NamedTuple):
    """Where one thread keeps tallies, and the suppressed rows as a group of their own."""

    of_groups: Ints  # (tallies, groups)
    left: Words  # (values,): suppressed rows with each value, the `rows` of …
    lists: Lists  # … their list
    unit: float
    size: Words  # (1,): their number
    loss: Ints  # (1,): the loss of each
    tally: Ints  # (1,)


def tally_unit(rows: int) -> float:
    """Integer that stands for 1 in sums over so many rows."""
    return float(2.0 ** (61 - ceil(log2(max(rows, 2)))))


def make_tally_desk(plan: Plan, groups: int, tallies: int, full_loss: int) -> TallyDesk:
    """Allocate room for so many tallies of at most so many groups.

    `full_loss` is the integer loss of a row of which nothing is left.
    """
    left = np.zeros(int(plan.first[-1]), dtype=np.uint32)
    return TallyDesk(
        np.zeros((tallies, groups), dtype=np.int64),
        left,
        list_histograms(plan, 1)._replace(rows=left),
        tally_unit(plan.rows),
        np.zeros(1, dtype=np.uint32),
        np.full(1, full_loss, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@compiled
def square_unit(rows: int) -> float:
    """Integer that stands for 1 in sums of squared numbers of rows, over all rows of a table."""
    if float(rows) ** 3 < 2.0**62:
        return 1.0
    return float(2.0 ** floor(62 - 3 * log2(rows)))


@compiled
def _rounded(total: float, unit: float) -> int:
    return int64(floor(total * unit + 0.5))


@compiled
def _square(times: int, number: int, table: int) -> int:
    """Give ``times · number²`` in units of `square_unit`."""
    unit = square_unit(table)
    if unit == 1.0:
        return int64(times * number * number)
    return _rounded(float(times) * number * number, unit)


@compiled
def _of_size_and_loss(
    tally: int,
    groups: int,
    sizes: Words,
    losses: Ints,
    full_loss: int,
    table: int,
    unit: float,
    out: Ints,
) -> None:
    for group in range(groups):
        size = int64(sizes[group])
        if tally == _SIZE_GAP:
            out[group] = _square(size, table - size, table)
        elif tally == _LOSS_GAP:
            out[group] = _rounded(size * (losses[group] / full_loss) ** 2, unit)
        else:
            out[group] = losses[group]


@compiled
def _of_values(
    tally: int,
    column: int,
    groups: int,
    sizes: Words,
    table: int,
    known: int,
    unit: float,
    columns: int,
    starts: Words,
    rows: Words,
    out: Ints,
) -> None:
    for group in range(groups):
        size = int64(sizes[group])
        begin, end = starts[group * columns + column], starts[group * columns + column + 1]
        lacking = known
        for at in range(begin, end):
            lacking -= int64(rows[at] > 0)
        if tally == _VALUES:
            out[group] = size * (known - lacking)
        elif tally == _VALUES_GAP:
            out[group] = size * lacking * lacking
        elif tally == _LACKING_MOST:
            out[group] = lacking
        elif tally in (_SAME, _SAME_GAP, _SAME_MOST):
            whole = int64(0)
            for at in range(begin, end):
                count = int64(rows[at])
                if tally == _SAME_MOST:
                    whole = max(whole, count)
                elif tally == _SAME:
                    whole += count * count
                elif count > 0:
                    whole += _square(count, count - 1, table)
            out[group] = whole
        else:
            total = 0.0  # values ascend: always added up in the same order
            for at in range(begin, end):
                count = int64(rows[at])
                if tally == _SHARE:
                    total += count * (count / size)
                else:
                    total += count * (count / size) ** 2
            out[group] = _rounded(total, unit)


@compiled
def _measure(
    tally: int,
    column: int,
    groups: int,
    sizes: Words,
    losses: Ints,
    full_loss: int,
    plan: Plan,
    lists: Lists,
    unit: float,
    out: Ints,
) -> None:
    """Fill ``out[group]`` with one tally over the rows of each group."""
    if tally < OF_COLUMNS:
        _of_size_and_loss(tally, groups, sizes, losses, full_loss, plan.rows, unit, out)
        return
    known = plan.first[column + 1] - plan.first[column]
    columns = len(plan.first) - 1
    starts, rows = lists.starts, lists.rows
    _of_values(tally, column, groups, sizes, plan.rows, known, unit, columns, starts, rows, out)


@compiled
def measure_tallies(
    wanted: Ints,
    groups: int,
    sizes: Words,
    losses: Ints,
    plan: Plan,
    lists: Lists,
    desk: TallyDesk,
) -> None:
    """Take the tallies of all groups; `wanted` holds pairs of tally and sensitive column."""
    for at in range(len(wanted)):
        tally, column = wanted[at]
        out = desk.of_groups[at]
        _measure(tally, column, groups, sizes, losses, desk.loss[0], plan, lists, desk.unit, out)


@compiled
def add_tallies(
    wanted: Ints,
    members: Words,
    alive_group: Words,
    plan: Plan,
    lists: Lists,
    desk: TallyDesk,
    suppressed: int,
    out: Ints,
) -> None:
    """Let more groups stay, those listed in `members`, by their places among all alive.

    Parameters
    ----------
    wanted : array (tallies, 2)
    members, alive_group : arrays
    plan, lists, desk
        The values of `members` are taken out of ``desk.left``, which must hold them.
    suppressed : int
        Rows that are not kept then.
    out : array (2 * tallies,)
        For each tally, that of the kept rows, which `members` are added to, and that of the
        suppressed ones, which is taken anew.
    """
    columns = len(plan.first) - 1
    for at in range(len(wanted)):
        total = out[2 * at]
        tally = wanted[at, 0]
        most = tally in (_LOSS_MOST, _SAME_MOST, _LACKING_MOST)
        for i in members:
            here = desk.of_groups[at, alive_group[i]]
            total = max(total, here) if most else total + here
        out[2 * at] = total
        out[2 * at + 1] = 0
    if wanted[:, 0].max() >= OF_COLUMNS:
        for i in members:
            group = int64(alive_group[i])
            for at in range(lists.starts[group * columns], lists.starts[(group + 1) * columns]):
                desk.left[lists.value[at]] -= lists.rows[at]
    if suppressed == 0:
        return
    desk.size[0] = suppressed
    for at in range(len(wanted)):
        tally, column = wanted[at]
        _measure(
            tally,
            column,
            1,
            desk.size,
            desk.loss,
            desk.loss[0],
            plan,
            desk.lists,
            desk.unit,
            desk.tally,
        )
        out[2 * at + 1] = desk.tally[0]
