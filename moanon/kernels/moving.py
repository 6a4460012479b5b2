"""Cells move between groups where the summed loss falls.

Splits leave boxes that do not overlap, and every cell in the one box that its path led to. Boxes
may overlap, though: a cell that alone keeps its box wide may fit into another one that is hardly
widened. Sweep after sweep every cell is offered to other groups, to suppression (within the limit)
and, if it is suppressed, to all groups; it goes where the sum falls most, as long as what it leaves
and what it joins still are groups.

Groups are numbered along the tree of splits, so neighbours have near numbers: a cell is offered to
the groups within a window, which keeps the time for a sweep linear in the number of cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from moanon.arrays import Codes, Ints
from moanon.kernels.boxes import BoxColumns, GroupCheck, block_loss, box_loss, meets_bounds
from moanon.kernels.jit import compiled, inner, int64

#: Where there are more groups than this, a cell is offered only to those that hold its values in
#: the first columns, which have at most so many combinations: few values, so costly to leave out.
_FEW, _KEYS = 64, 1024
_NOWHERE, _SUPPRESSED = -2, -1


class MoveBuffers(NamedTuple):
    """Groups while cells move: their boxes, sizes and members."""

    codes: Codes  # (cells, columns): a cell's values together
    lows: Codes  # (groups, columns)
    highs: Codes
    rows: Ints  # (groups,)
    losses: Ints  # (groups,): of a row
    first: Ints  # (groups,): a member, or -1
    after: Ints  # (cells,): the next member, or -1
    before: Ints  # (cells,)
    members: Ints  # (cells,)
    others: Ints  # (cells,)
    edges: Ints  # (columns, 6): of one group; see `_find_edges`


def make_move_buffers(codes: Codes) -> MoveBuffers:
    """Allocate for a table; there may be as many groups as cells."""
    columns, cells = codes.shape
    whole = np.int64
    return MoveBuffers(
        np.ascontiguousarray(codes.T),
        np.zeros((cells, columns), dtype=np.uint16),
        np.zeros((cells, columns), dtype=np.uint16),
        np.zeros(cells, dtype=whole),
        np.zeros(cells, dtype=whole),
        np.zeros(cells, dtype=whole),
        np.zeros(cells, dtype=whole),
        np.zeros(cells, dtype=whole),
        np.zeros(cells + 1, dtype=whole),
        np.zeros(cells + 1, dtype=whole),
        np.zeros((columns, 6), dtype=whole),
    )


@inner
def _fill(columns: BoxColumns, counts: Ints, group: Ints, groups: int, buffers: MoveBuffers) -> int:
    """Find boxes, sizes and members of all groups; return the rows that are suppressed."""
    codes, lows, highs = buffers.codes, buffers.lows, buffers.highs
    suppressed = int64(0)
    for at in range(groups):
        buffers.rows[at], buffers.first[at] = 0, -1
        for column in range(codes.shape[1]):
            lows[at, column], highs[at, column] = 2**16 - 1, 0
    for cell in range(len(counts)):
        at = group[cell]
        if at < 0:
            suppressed += counts[cell]
            continue
        _link(cell, at, buffers)
        buffers.rows[at] += counts[cell]
        for column in range(codes.shape[1]):
            value = codes[cell, column]
            lows[at, column] = min(lows[at, column], value)
            highs[at, column] = max(highs[at, column], value)
    for at in range(groups):
        buffers.losses[at] = box_loss(columns.blocks, lows[at], highs[at])
    return suppressed


@inner
def _link(cell: int, at: int, buffers: MoveBuffers) -> None:
    """Make a cell a member of a group."""
    head = buffers.first[at]
    buffers.after[cell], buffers.before[cell] = head, -1
    if head >= 0:
        buffers.before[head] = cell
    buffers.first[at] = cell


@inner
def _unlink(cell: int, at: int, buffers: MoveBuffers) -> None:
    """Take a cell out of its group."""
    before, after = buffers.before[cell], buffers.after[cell]
    if before >= 0:
        buffers.after[before] = after
    else:
        buffers.first[at] = after
    if after >= 0:
        buffers.before[after] = before


@inner
def _list_members(at: int, buffers: MoveBuffers) -> int:
    number, cell = int64(0), buffers.first[at]
    while cell >= 0:
        buffers.members[number] = cell
        number += 1
        cell = buffers.after[cell]
    return number


@inner
def _find_edges(at: int, buffers: MoveBuffers) -> None:
    """Find the lowest value of a group in each column, how many cells have it, and the next one.

    Behind them the same for the highest. So it is known what the box is without any one cell.
    """
    codes, edges = buffers.codes, buffers.edges
    for column in range(codes.shape[1]):
        edges[column, 0] = edges[column, 2] = 2**40
        edges[column, 3] = edges[column, 5] = -1
    cell = buffers.first[at]
    while cell >= 0:
        for column in range(codes.shape[1]):
            value = int64(codes[cell, column])
            if value < edges[column, 0]:
                edges[column, 2] = edges[column, 0]
                edges[column, 0], edges[column, 1] = value, 1
            elif value == edges[column, 0]:
                edges[column, 1] += 1
            elif value < edges[column, 2]:
                edges[column, 2] = value
            if value > edges[column, 3]:
                edges[column, 5] = edges[column, 3]
                edges[column, 3], edges[column, 4] = value, 1
            elif value == edges[column, 3]:
                edges[column, 4] += 1
            elif value > edges[column, 5]:
                edges[column, 5] = value
        cell = buffers.after[cell]


@inner
def _edge(value: int, column: int, side: int, edges: Ints) -> int:
    """Lowest (side 0) or highest (3) value of a group without one cell that has `value`."""
    alone = value == edges[column, side] and edges[column, side + 1] == 1
    return int64(edges[column, side + 2 if alone else side])


@inner
def _loss_without(blocks: Ints, cell: int, loss: int, codes: Codes, edges: Ints) -> int:
    """Loss of a row of the group that `edges` are of, `loss`, without one of its cells."""
    for column in range(codes.shape[1]):
        value = int64(codes[cell, column])
        low, high = _edge(value, column, 0, edges), _edge(value, column, 3, edges)
        if low != edges[column, 0] or high != edges[column, 3]:
            loss -= block_loss(blocks, column, edges[column, 0], edges[column, 3])
            loss += block_loss(blocks, column, low, high)
    return loss


@inner
def _key(cell: int, codes: Codes, sizes: Ints, indexed: int) -> int:
    """Number the combination of a cell's values in the first columns."""
    key = int64(0)
    for column in range(indexed):
        key = key * sizes[column] + int64(codes[cell, column])
    return key


@inner
def _index_groups(
    sizes: Ints, indexed: int, keys: int, groups: int, buffers: MoveBuffers
) -> tuple[Ints, Ints]:
    """List the groups whose boxes hold each combination of values in the first columns.

    Returns where the groups of each combination begin, and the groups.
    """
    lows, highs = buffers.lows, buffers.highs
    starts, value = np.zeros(keys + 1, dtype=np.int64), np.zeros(indexed, dtype=np.int64)
    found = np.zeros(0, dtype=np.int64)
    for filling in (False, True):
        for at in range(groups):
            for column in range(indexed):
                value[column] = lows[at, column]
            column = indexed
            while column >= 0:
                key = int64(0)
                for i in range(indexed):
                    key = key * sizes[i] + value[i]
                if filling:
                    found[starts[key]] = at
                starts[key + (0 if filling else 1)] += 1
                column = indexed - 1
                while column >= 0 and value[column] == int64(highs[at, column]):
                    value[column] = lows[at, column]
                    column -= 1
                if column >= 0:
                    value[column] += 1
        if not filling:
            for key in range(keys):
                starts[key + 1] += starts[key]
            found = np.zeros(starts[keys], dtype=np.int64)
    for key in range(keys, 0, -1):  # each has moved to the next one
        starts[key] = starts[key - 1]
    starts[0] = 0
    return starts, found


@inner
def _cheapest(
    blocks: Ints,
    cell: int,
    rows: int,
    own: int,
    near: int,
    window: int,
    begin: int,
    end: int,
    offered: Ints,
    most: int,
    codes: Codes,
    lows: Codes,
    highs: Codes,
    sizes: Ints,
    losses: Ints,
) -> tuple[int, int]:
    """Find the group that a cell joins at the least cost below `most`; return it and the cost.

    The cost is the group's loss with the cell minus that without it. Of many groups that are
    offered, ``offered[begin:end]``, those are looked at whose numbers are next to `near`.
    """
    best, cost = int64(_NOWHERE), most
    if end - begin > 2 * window:
        middle = begin + int64(np.searchsorted(offered[begin:end], near))
        begin, end = max(middle - window, begin), min(middle + window, end)
    for i in range(begin, end):
        at = offered[i]
        lost = rows * losses[at]
        if lost >= cost or at == own:
            continue
        together = sizes[at] + rows
        for column in range(codes.shape[1]):
            value, low, high = codes[cell, column], lows[at, column], highs[at, column]
            if low <= value <= high:
                continue
            first, last = min(int64(low), int64(value)), max(int64(high), int64(value))
            wider = block_loss(blocks, column, first, last)
            lost += together * (wider - block_loss(blocks, column, int64(low), int64(high)))
            if lost >= cost:
                break
        if lost < cost:
            best, cost = int64(at), lost
    return best, cost


@inner
def _join(columns: BoxColumns, cell: int, rows: int, at: int, buffers: MoveBuffers) -> None:
    """Put a cell into a group."""
    _link(cell, at, buffers)
    lows, highs = buffers.lows[at], buffers.highs[at]
    for column in range(buffers.codes.shape[1]):
        value = buffers.codes[cell, column]
        lows[column] = min(lows[column], value)
        highs[column] = max(highs[column], value)
    buffers.rows[at] += rows
    buffers.losses[at] = box_loss(columns.blocks, lows, highs)


@inner
def _leave(cell: int, rows: int, loss: int, at: int, buffers: MoveBuffers) -> bool:
    """Take a cell out of the group that `edges` are of; its rows then lose `loss`.

    Returns whether the edges are still known: not where the cell alone had a value at one.
    """
    _unlink(cell, at, buffers)
    edges, known = buffers.edges, True
    for column in range(buffers.codes.shape[1]):
        value = int64(buffers.codes[cell, column])
        buffers.lows[at, column] = _edge(value, column, 0, edges)
        buffers.highs[at, column] = _edge(value, column, 3, edges)
        for side in (0, 3):
            if value == edges[column, side]:
                edges[column, side + 1] -= 1
                known = known and edges[column, side + 1] > 0
            # The next value may have been this cell's alone, too.
            known = known and value != edges[column, side + 2]
    buffers.rows[at] -= rows
    buffers.losses[at] = loss
    return known


@inner
def _still_meets(
    check: GroupCheck | None, cell: int, at: int, rows: int, buffers: MoveBuffers
) -> bool:
    """Whether a group of so many rows meets the bounds with another cell, or without its own."""
    if check is None:
        return True
    number, found, scratch = int64(0), False, buffers.others
    other = buffers.first[at]
    while other >= 0:
        if other == cell:
            found = True
        else:
            scratch[number] = other
            number += 1
        other = buffers.after[other]
    if not found:
        scratch[number] = cell
        number += 1
    return meets_bounds(check, rows, scratch, number)


@inner
def _take_back(
    columns: BoxColumns,
    counts: Ints,
    check: GroupCheck | None,
    group: Ints,
    suppressed: int,
    window: int,
    indexed: int,
    starts: Ints,
    offered: Ints,
    buffers: MoveBuffers,
) -> int:
    """Put suppressed cells into groups that lose less by it; return the rows still suppressed.

    Neighbouring cells have much in common: the group of the one before is where to look.
    """
    near = int64(0)
    for cell in range(len(counts)):
        if group[cell] >= 0:
            near = group[cell]
            continue
        rows, key = counts[cell], _key(cell, buffers.codes, columns.sizes, indexed)
        at, _ = _cheapest(
            columns.blocks, cell, rows, int64(-1), near, window, starts[key], starts[key + 1],
            offered, rows * columns.full, buffers.codes, buffers.lows, buffers.highs,
            buffers.rows, buffers.losses,
        )  # fmt: skip
        if at >= 0 and _still_meets(check, cell, at, buffers.rows[at] + rows, buffers):
            _join(columns, cell, rows, at, buffers)
            group[cell] = at
            suppressed -= rows
    return suppressed


@compiled
def move_cells(
    columns: BoxColumns,
    counts: Ints,
    least: int,
    limit: int,
    check: GroupCheck | None,
    groups: int,
    sweeps: int,
    gain: float,
    window: int,
    buffers: MoveBuffers,
    group: Ints,
) -> int:
    """Let cells move; return the rows that are suppressed in the end.

    `least`, `limit` and `check` are as for `moanon.kernels.splitting.split_cells`. Every one of
    the `groups` has what it must have, and does so at the end; none is emptied. Every cell is
    offered at most `sweeps` times, to `window` groups before and after its own; no more after a
    sweep that gained a smaller share of the loss than `gain`. `group` is the group of each cell,
    or -1, and is changed.
    """
    suppressed = _fill(columns, counts, group, groups, buffers)
    indexed, keys = int64(0), int64(1)
    while groups > _FEW and indexed < len(columns.sizes):
        if keys * columns.sizes[indexed] > _KEYS:
            break
        keys *= columns.sizes[indexed]
        indexed += 1
    for _ in range(sweeps):
        gained, whole = int64(0), int64(0)
        starts, offered = _index_groups(columns.sizes, indexed, keys, groups, buffers)
        for at in range(groups):
            whole += buffers.rows[at] * buffers.losses[at]
            number, known = _list_members(at, buffers), False
            for i in range(number):
                cell = buffers.members[i]
                rows, size = counts[cell], buffers.rows[at]
                if size - rows < least or size == rows or buffers.losses[at] == 0:
                    continue
                if not known:
                    _find_edges(at, buffers)
                    known = True
                loss = _loss_without(
                    columns.blocks, cell, buffers.losses[at], buffers.codes, buffers.edges
                )
                # What the sum falls by when the cell is gone; where it goes must cost less.
                worth = buffers.losses[at] * size - loss * (size - rows)
                to, cost = int64(_NOWHERE), worth
                if suppressed + rows <= limit and rows * columns.full < cost:
                    to, cost = int64(_SUPPRESSED), rows * columns.full
                key = _key(cell, buffers.codes, columns.sizes, indexed)
                other, other_cost = _cheapest(
                    columns.blocks, cell, rows, at, at, window, starts[key], starts[key + 1],
                    offered, cost, buffers.codes, buffers.lows, buffers.highs, buffers.rows,
                    buffers.losses,
                )  # fmt: skip
                if other >= 0:
                    to, cost = other, other_cost
                if to == _NOWHERE or not _still_meets(check, cell, at, size - rows, buffers):
                    continue
                if to >= 0 and not _still_meets(check, cell, to, buffers.rows[to] + rows, buffers):
                    continue
                known = _leave(cell, rows, loss, at, buffers)
                if to >= 0:
                    _join(columns, cell, rows, to, buffers)
                else:
                    suppressed += rows
                group[cell] = to
                gained += worth - cost
        suppressed = _take_back(
            columns, counts, check, group, suppressed, window, indexed, starts, offered, buffers
        )
        if gained <= gain * whole:
            break
    return suppressed
