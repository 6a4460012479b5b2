"""From the whole table down: boxes are split as long as all parts may stay groups.

The greedy way takes the split with the largest gain (``node_splits``) and goes on with the parts.
It is short-sighted (a handful of foreigners left in every box makes the country of everybody
unknown), so `split_cells` looks ahead: each split is tried, its parts are split greedily down to a
horizon, and the split with the least loss *there* is taken. What is suppressed depends on all nodes
together; a price makes them independent of each other.
"""

from __future__ import annotations

from math import inf

from moanon.arrays import Codes, Ints
from moanon.kernels.boxes import BoxColumns, GroupCheck, box_loss
from moanon.kernels.jit import bool_, compiled, inner, int64
from moanon.kernels.node_splits import (
    SplitBuffers,
    copy_cells,
    count_rows,
    find_box,
    list_splits,
    part_node,
)


@inner
def _split_greedily(
    columns: BoxColumns,
    begin: int,
    end: int,
    check: GroupCheck | None,
    least: int,
    left: int,
    price: float,
    most: float,
    buffers: SplitBuffers,
) -> float:
    """Split the cells ``order[begin:end]`` to the end; return the loss, or infinity beyond `most`.

    A row that is trimmed loses the price.
    """
    total, stack, height = 0.0, buffers.stack, int64(1)
    stack[0, 0], stack[0, 1] = begin, end
    while height > 0:
        height -= 1
        first, last = stack[height, 0], stack[height, 1]
        rows, number = find_box(first, last, buffers)
        loss, slot = box_loss(columns.blocks, buffers.lows, buffers.highs), int64(-1)
        if loss > 0 and rows >= 2 * least:
            slot = list_splits(
                columns, first, last, rows, loss, buffers.active[:number],
                check, least, left, price, bool_(True), buffers,
            )  # fmt: skip
        if slot < 0:
            total += float(rows) * loss
            if total > most:
                return inf
            continue
        part_node(columns, slot, buffers.active[:number], first, last, buffers)
        parts = buffers.parts[slot]
        trimmed = count_rows(buffers.edges[parts], last, buffers)
        left -= trimmed
        total += trimmed * price
        for part in range(parts):
            stack[height, 0], stack[height, 1] = buffers.edges[part], buffers.edges[part + 1]
            height += 1
    return total


@inner
def _look_ahead(
    columns: BoxColumns,
    begin: int,
    end: int,
    rows: int,
    number: int,
    check: GroupCheck | None,
    least: int,
    left: int,
    price: float,
    tries: int,
    horizon: int,
    buffers: SplitBuffers,
    ahead: SplitBuffers,
) -> int:
    """Try the splits with the largest gains to the end; return the slot of the best."""
    best, best_total = int64(-1), inf
    coarse = max(least, rows // horizon)
    for _ in range(tries):
        slot, gain = int64(-1), 0.0
        for other in range(len(buffers.gains)):
            if buffers.gains[other] > gain:
                slot, gain = other, buffers.gains[other]
        if slot < 0:
            break
        buffers.gains[slot] = 0.0
        part_node(columns, slot, buffers.active[:number], begin, end, buffers)
        parts = buffers.parts[slot]
        trimmed = count_rows(buffers.edges[parts], end, buffers)
        total = trimmed * price
        copy_cells(begin, end, buffers, ahead)
        for part in range(parts):
            total += _split_greedily(
                columns, buffers.edges[part], buffers.edges[part + 1], check, coarse,
                left - trimmed, price, best_total - total, ahead,
            )  # fmt: skip
            if total >= best_total:
                break
        if total < best_total:
            best, best_total = slot, total
    return best


@inner
def _begin(codes: Codes, counts: Ints, starts: int, group: Ints, buffers: SplitBuffers) -> int:
    """Sort cells by the groups to begin with, which are put on the stack; return their number.

    The last group is on top of the stack: it is split first.
    """
    place, stack = buffers.side_of, buffers.stack
    for at in range(starts):
        stack[at, 1] = 0
    for cell in range(len(counts)):
        if group[cell] >= 0:
            stack[group[cell], 1] += 1
    end = int64(0)
    for at in range(starts):
        stack[at, 0] = end
        end += stack[at, 1]
        stack[at, 1] = stack[at, 0]
    for cell in range(len(counts)):
        if group[cell] >= 0:
            i = stack[group[cell], 1]
            stack[group[cell], 1] += 1
            buffers.order[i], buffers.counts[i] = cell, counts[cell]
            place[cell] = i
    for column in range(len(codes)):
        for cell in range(len(counts)):
            if group[cell] >= 0:
                buffers.codes[column, place[cell]] = codes[column, cell]
    return starts


@compiled
def split_cells(
    columns: BoxColumns,
    codes: Codes,
    counts: Ints,
    least: int,
    limit: int,
    check: GroupCheck | None,
    price: float,
    tries: int,
    horizon: int,
    starts: int,
    buffers: SplitBuffers,
    ahead: SplitBuffers,
    group: Ints,
) -> tuple[int, int]:
    """Split groups; return the number of groups, and the rows that are suppressed.

    Parameters
    ----------
    columns : BoxColumns
    codes, counts : arrays (columns, cells) and (cells,)
        The table.
    least : int
        Rows that a group must have.
    limit : int
        Rows that may be suppressed.
    check : GroupCheck or None
        What else a group must have.
    price : float
        What suppressing a row costs.
    tries : int
        How many splits of a node are followed; 1: the greedy way.
    horizon : int
        How far: until groups have the rows of the node over this, if not to the end.
    starts : int
        Groups to begin with, each of which may be a group.
    buffers, ahead : SplitBuffers
        Two, because looking ahead must not disturb what is looked at.
    group : array (cells,)
        The group of each cell, -1 where it is suppressed; changed.
    """
    stack = buffers.stack
    groups, suppressed = int64(0), int64(0)
    height = _begin(codes, counts, starts, group, buffers)
    for cell in range(len(counts)):
        suppressed += counts[cell] if group[cell] < 0 else 0
    while height > 0:
        height -= 1
        begin, end = stack[height, 0], stack[height, 1]
        rows, number = find_box(begin, end, buffers)
        loss, slot = box_loss(columns.blocks, buffers.lows, buffers.highs), int64(-1)
        left = limit - suppressed
        # Trimming takes a row at least; its price must be less than all that the node can gain.
        can_trim = left > 0 and rows > least and float(rows) * loss > price
        if loss > 0 and (rows >= 2 * least or can_trim):
            slot = list_splits(
                columns, begin, end, rows, loss, buffers.active[:number],
                check, least, left, price, bool_(False), buffers,
            )  # fmt: skip
        if slot >= 0 and tries > 1 and rows >= 2 * least:
            slot = _look_ahead(
                columns, begin, end, rows, number, check, least, left, price, tries, horizon,
                buffers, ahead,
            )  # fmt: skip
        if slot < 0:
            for i in range(begin, end):
                group[buffers.order[i]] = groups
            groups += 1
            continue
        part_node(columns, slot, buffers.active[:number], begin, end, buffers)
        parts = buffers.parts[slot]
        suppressed += count_rows(buffers.edges[parts], end, buffers)
        for i in range(buffers.edges[parts], end):
            group[buffers.order[i]] = -1
        for part in range(parts):
            stack[height, 0], stack[height, 1] = buffers.edges[part], buffers.edges[part + 1]
            height += 1
    return groups, suppressed
