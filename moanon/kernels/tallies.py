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

from moanon.arrays import Ints, UInts
from moanon.kernels.histograms import Lists, Plan
from moanon.kernels.jit import inner, int64

#: What is added up over rows, or the largest of it. N is the size of a row's group, n that of the
#: table, c the rows of the group with the row's own sensitive value.
TALLIES = (
    "size_gap",  # (n - N)²
    "loss_gap",  # (row loss / loss of a suppressed row)²
    "loss_most",  # largest row loss
    "small",  # 1 where N is below `SMALL`
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
_SIZE_GAP, _LOSS_GAP, _LOSS_MOST, _SMALL = range(4)
_SAME, _SAME_GAP, _SAME_MOST, _SHARE, _SHARE_GAP = range(4, 9)
_VALUES, _VALUES_GAP, _LACKING_MOST = range(9, 12)
#: Groups of fewer rows are small; five is the least cell that statistical offices mostly publish.
SMALL = 5
#: Tallies from this one on are those of a sensitive column.
OF_COLUMNS = _SAME


class TallyBuffers(NamedTuple):
    """Where one thread keeps tallies, and what they are counted in."""

    of_groups: Ints  # (tallies, groups)
    left: UInts  # (values,): suppressed rows with each sensitive value
    rows: int  # of the table
    full_loss: int  # integer loss of a row of which nothing is left
    unit: float  # see `tally_unit`
    square_unit: float


def tally_unit(rows: int) -> float:
    """Integer that stands for 1 in sums over so many rows."""
    return float(2.0 ** (61 - ceil(log2(max(rows, 2)))))


def square_unit(rows: int) -> float:
    """Integer that stands for 1 in sums of squared numbers of rows, over all rows of a table."""
    if float(rows) ** 3 < 2.0**62:
        return 1.0
    return float(2.0 ** floor(62 - 3 * log2(rows)))


def make_tally_buffers(
    groups: int, tallies: int, values: int, rows: int, full_loss: int
) -> TallyBuffers:
    """Allocate room for so many tallies of at most so many groups."""
    return TallyBuffers(
        np.zeros((tallies, groups), dtype=np.int64),
        np.zeros(values, dtype=np.uint32),
        rows,
        full_loss,
        tally_unit(rows),
        square_unit(rows),
    )


@inner
def _rounded(total: float, unit: float) -> int:
    return int64(floor(total * unit + 0.5))


@inner
def _square(times: int, number: int, unit: float) -> int:
    """Give ``times · number²`` in units of `square_unit`."""
    if unit == 1.0:
        return int64(times * number * number)
    return _rounded(float(times) * number * number, unit)


@inner
def _of_group(
    tally: int, size: int, loss: int, rows: int, full_loss: int, unit: float, squares: float
) -> int:
    """Tally over the rows of one group that follows from its size and loss."""
    if tally == _SIZE_GAP:
        return _square(size, rows - size, squares)
    if tally == _LOSS_GAP:
        return _rounded(size * (loss / full_loss) ** 2, unit)
    if tally == _SMALL:
        return int64(size) if size < SMALL else int64(0)
    return int64(loss)


@inner
def _of_values(
    tally: int,
    size: int,
    counts: UInts,
    begin: int,
    end: int,
    known: int,
    unit: float,
    squares: float,
) -> int:
    """Tally over the rows of one group that follows from its values, ``counts[begin:end]``."""
    lacking = known
    for at in range(begin, end):
        lacking -= int64(counts[at] > 0)
    if tally == _VALUES:
        return int64(size * (known - lacking))
    if tally == _VALUES_GAP:
        return int64(size * lacking * lacking)
    if tally == _LACKING_MOST:
        return int64(lacking)
    if tally in (_SAME, _SAME_GAP, _SAME_MOST):
        whole = int64(0)
        for at in range(begin, end):
            count = int64(counts[at])
            if tally == _SAME_MOST:
                whole = max(whole, count)
            elif tally == _SAME:
                whole += count * count
            elif count > 0:
                whole += _square(count, count - 1, squares)
        return whole
    total = 0.0  # values ascend: always added up in the same order
    for at in range(begin, end):
        count = int64(counts[at])
        share = count / size
        total += count * share if tally == _SHARE else count * share**2
    return _rounded(total, unit)


@inner
def measure_tallies(
    wanted: Ints,
    groups: int,
    sizes: UInts,
    losses: Ints,
    plan: Plan | None,
    lists: Lists | None,
    buffers: TallyBuffers,
) -> None:
    """Take the tallies of all groups; `wanted` holds pairs of tally and sensitive column."""
    rows, full_loss = buffers.rows, buffers.full_loss
    unit, squares = buffers.unit, buffers.square_unit
    for at in range(len(wanted)):
        tally, column = wanted[at, 0], wanted[at, 1]
        out = buffers.of_groups[at]
        if tally < OF_COLUMNS:
            for group in range(groups):
                size, loss = int64(sizes[group]), losses[group]
                out[group] = _of_group(tally, size, loss, rows, full_loss, unit, squares)
        elif plan is not None and lists is not None:
            columns, known = len(plan.first) - 1, plan.first[column + 1] - plan.first[column]
            starts, counts = lists.starts, lists.rows
            for group in range(groups):
                size, first = int64(sizes[group]), group * columns + column
                begin, end = int64(starts[first]), int64(starts[first + 1])
                out[group] = _of_values(tally, size, counts, begin, end, known, unit, squares)


@inner
def add_tallies(
    wanted: Ints,
    members: UInts,
    groups: UInts,
    plan: Plan | None,
    lists: Lists | None,
    buffers: TallyBuffers,
    suppressed: int,
    out: Ints,
) -> None:
    """Let more groups stay: ``groups[i]`` for all `i` in `members`.

    Parameters
    ----------
    wanted : array (tallies, 2)
    members, groups : arrays
    plan, lists, buffers
        The values of the groups are taken out of ``buffers.left``, which must hold them.
    suppressed : int
        Rows that are not kept then.
    out : array (2 * tallies,)
        For each tally, that of the kept rows, which the groups are added to, and that of the
        suppressed ones, which is taken anew.
    """
    of_columns = False
    for at in range(len(wanted)):
        tally, total = wanted[at, 0], out[2 * at]
        most = tally in (_LOSS_MOST, _SAME_MOST, _LACKING_MOST)
        for i in members:
            here = buffers.of_groups[at, groups[i]]
            total = max(total, here) if most else total + here
        out[2 * at] = total
        of_columns = of_columns or tally >= OF_COLUMNS
    if plan is not None and lists is not None and of_columns:
        columns = len(plan.first) - 1
        for i in members:
            group = int64(groups[i])
            for at in range(lists.starts[group * columns], lists.starts[(group + 1) * columns]):
                buffers.left[lists.value[at]] -= lists.rows[at]
    for at in range(len(wanted)):
        tally, column = wanted[at, 0], wanted[at, 1]
        out[2 * at + 1] = 0
        if suppressed > 0:
            rows, full_loss = buffers.rows, buffers.full_loss
            unit, squares = buffers.unit, buffers.square_unit
            if tally < OF_COLUMNS:
                out[2 * at + 1] = _of_group(
                    tally, suppressed, full_loss, rows, full_loss, unit, squares
                )
            elif plan is not None:
                begin, end = plan.first[column], plan.first[column + 1]
                out[2 * at + 1] = _of_values(
                    tally, suppressed, buffers.left, begin, end, end - begin, unit, squares
                )
