"""A loss that no completion of a partly decided genome can go below.

Every row costs the sum of its columns' losses if it is kept, and all columns in full if its group
has less than k rows. Which groups are too small depends on all columns together; but some are
already too small under the *coarse* blocks of the other columns, whatever becomes of these. So each
undecided column gets prices of its own, column by column:

- Rows are grouped by the coarse blocks of all columns. A block of column c takes a part of such a
  group G. If the part has k rows or more, each of them costs the block's loss.
- If it has less, they are suppressed for certain. Each then costs column c what it could cost at
  most, ``most(c, G)``, the loss of its coarse block, and ``price(c, G)`` beyond it.

A kept row is charged its losses exactly. A suppressed one is charged at most ``most`` by every
column, and the prices of those that see it; as long as the prices of G sum to no more than what its
rows cost beyond that, ``sum over c (full - most(c, G))``, it is never charged more than its cost.
Hence the cheapest cut of each column, a shortest path over its blocks, summed over the columns is a
lower bound. With at most `room` rows that may still be suppressed, every suppressed row may be
charged `fine` more, if ``fine * room`` is taken off in the end.

All of this is true for any prices and any fine; some bounds are better. A few rounds move the
prices of a group to the columns whose cheapest cut suppresses rows of it. The shares that they are
moved by are floats; prices and everything that is added up are integers, so no bound rests on
rounding.

The same sums give for every free bit what the bound would be if it were 0 or 1. Where that is not
below the loss of a known solution, the bit is decided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from moanon.arrays import Bits, Floats, Ints
from moanon.kernels.cuts import (
    FREE,
    CutTable,
    View,
    add_rectangle,
    decide_trees,
    largest,
    loss_between,
    sum_up,
    view_of,
)
from moanon.kernels.jit import compiled, inner, int64

#: No bound is as large: of what cannot be.
NEVER = 2**60
#: How far shares of prices move in a round.
_STEP = 0.7


class _Blocks(NamedTuple):
    """Blocks that columns may still have, over fine values; of a column by where they stop."""

    first: Ints  # (columns + 1,): where those of each column begin; none of a decided one
    of_coarse: Ints  # (columns, coarse blocks + 1): where those in each coarse block begin
    start: Ints
    stop: Ints
    loss: Ints  # of a row
    small: Ints  # rows of groups that it takes in parts of less than k
    known: Ints  # cost without prices


class _Parts(NamedTuple):
    """Parts of groups that are too small, column by column.

    Each is cut out by the blocks that start in ``low .. high`` and stop in ``near .. far``; in a
    tree by the one block `low`.
    """

    first: Ints
    group: Ints
    low: Ints
    high: Ints
    near: Ints
    far: Ints
    rows: Ints


# -- which blocks there are ------------------------------------------------------------------------


@inner
def _count_blocks(table: CutTable, view: View) -> int:
    most = 0
    for c in range(len(table.sizes)):
        if view.free[c] == 0:
            continue
        if table.is_tree[c]:
            most += table.node_first[c + 1] - table.node_first[c]
            continue
        for block in range(view.coarses[c]):
            width = view.coarse_start[c, block + 1] - view.coarse_start[c, block]
            most += width * (width + 1) // 2
    return most


@inner
def _list_blocks(table: CutTable, view: View) -> _Blocks:
    """List the blocks of undecided columns that agree with what is decided."""
    columns = len(table.sizes)
    most = _count_blocks(table, view)
    start, stop = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    first = np.zeros(columns + 1, dtype=np.int64)
    of_coarse = np.zeros((columns, largest(view.coarses) + 1), dtype=np.int64)
    at = int64(0)
    for c in range(columns):
        first[c] = of_coarse[c, 0] = at
        if view.free[c] == 0:
            continue
        if table.is_tree[c]:
            at = _list_nodes(table, view, c, start, stop, at, of_coarse)
            continue
        for block in range(view.coarses[c]):
            low, high = view.coarse_start[c, block], view.coarse_start[c, block + 1]
            for end in range(low + 1, high + 1):
                for begin in range(low, end):
                    start[at], stop[at] = begin, end
                    at += 1
            of_coarse[c, block + 1] = at
    first[columns] = at
    loss = np.empty(at, dtype=np.int64)
    for c in range(columns):
        for b in range(first[c], first[c + 1]):
            loss[b] = loss_between(table, c, view.edges[c, start[b]], view.edges[c, stop[b]])
    small, known = np.zeros(at, dtype=np.int64), np.zeros(at, dtype=np.int64)
    return _Blocks(first, of_coarse, start[:at], stop[:at], loss, small, known)


@inner
def _list_nodes(
    table: CutTable, view: View, c: int, start: Ints, stop: Ints, at: int, of_coarse: Ints
) -> int:
    """List the nodes of a tree whose edges are edges of fine values, within coarse blocks."""
    size = table.sizes[c]
    block = 0
    for node in range(table.node_first[c], table.node_first[c + 1]):
        begin, end = table.node_start[node], table.node_stop[node]
        low = view.fine[c, begin]
        high = view.fines[c] if end == size else view.fine[c, end]
        if view.edges[c, low] != begin or view.edges[c, high] != end:
            continue
        if view.coarse[c, begin] != view.coarse[c, end - 1]:
            continue
        while block < view.coarse[c, begin]:
            block += 1
            of_coarse[c, block] = at
        start[at], stop[at] = low, high
        at += 1
    for rest in range(block + 1, view.coarses[c] + 1):
        of_coarse[c, rest] = at
    return at


# -- parts that are too small ----------------------------------------------------------------------


@inner
def _find_parts(
    table: CutTable, view: View, blocks: _Blocks, k: int, rows: Ints, sees: Ints
) -> _Parts:
    """Find the small parts of all groups.

    `rows` gets how many rows lie before each fine value and `sees` which columns have small
    parts of which groups.
    """
    columns = len(table.sizes)
    room = 1024
    first = np.zeros(columns + 1, dtype=np.int64)
    found = np.empty((6, room), dtype=np.int64)
    held = np.zeros(largest(table.sizes) + 1, dtype=np.int64)
    occupied = np.zeros(largest(table.sizes) + 1, dtype=np.int64)
    at = int64(0)
    for c in range(columns):
        first[c] = at
        if view.free[c] == 0:
            continue
        for group in range(len(view.rows)):
            begin, end = view.first[group], view.first[group + 1]
            block = view.coarse[c, table.codes[c, view.cells[begin]]]
            low, high = view.coarse_start[c, block], view.coarse_start[c, block + 1]
            if high - low == 1:
                rows[c, high] += view.rows[group]
                continue
            for place in range(begin, end):
                cell = view.cells[place]
                held[view.fine[c, table.codes[c, cell]]] += table.counts[cell]
            # A group has at most as many small parts as its column has blocks there.
            width = high - low
            if at + width * (width + 1) // 2 > found.shape[1]:
                wider = np.empty((6, 2 * found.shape[1] + width * width), dtype=np.int64)
                for i in range(6):
                    for part in range(at):
                        wider[i, part] = found[i, part]
                found = wider
            before = at
            if table.is_tree[c]:
                a, b = blocks.of_coarse[c, block], blocks.of_coarse[c, block + 1]
                at = _small_nodes(blocks, a, b, held, low, high, k, group, found, at)
            else:
                at = _small_runs(held, low, high, k, group, occupied, found, at)
            sees[c, group] = int64(at > before)
            for value in range(low, high):
                rows[c, value + 1] += held[value]
                held[value] = 0
        for value in range(view.fines[c]):
            rows[c, value + 1] += rows[c, value]
    first[columns] = at
    return _Parts(
        first, found[0, :at], found[1, :at], found[2, :at], found[3, :at], found[4, :at],
        found[5, :at],
    )  # fmt: skip


@inner
def _small_runs(
    held: Ints, low: int, high: int, k: int, group: int, occupied: Ints, found: Ints, at: int
) -> int:
    """Runs of occupied values of less than k rows, with all blocks that cut exactly these out."""
    number = 0
    for value in range(low, high):
        if held[value] > 0:
            occupied[number] = value
            number += 1
    for one in range(number):
        rows = int64(0)
        for other in range(one, number):
            rows += held[occupied[other]]
            if rows >= k:
                break
            found[0, at] = group
            found[1, at] = low if one == 0 else occupied[one - 1] + 1
            found[2, at] = occupied[one]
            found[3, at] = occupied[other] + 1
            found[4, at] = high if other == number - 1 else occupied[other + 1]
            found[5, at] = rows
            at += 1
    return at


@inner
def _small_nodes(
    blocks: _Blocks,
    a: int,
    b: int,
    held: Ints,
    low: int,
    high: int,
    k: int,
    group: int,
    found: Ints,
    at: int,
) -> int:
    """Nodes that take a part of less than k rows."""
    sums = np.zeros(high - low + 1, dtype=np.int64)
    for value in range(low, high):
        sums[value - low + 1] = sums[value - low] + held[value]
    for node in range(a, b):
        rows = sums[blocks.stop[node] - low] - sums[blocks.start[node] - low]
        if 0 < rows < k:
            found[0, at], found[1, at], found[5, at] = group, node, rows
            # For the check whether a path takes this block, as of runs.
            found[2, at], found[3, at], found[4, at] = blocks.start[node], blocks.stop[node], node
            at += 1
    return at


@inner
def _spread(
    is_tree: bool, width: int, parts: _Parts, amounts: Ints, blocks: _Blocks, c: int, out: Ints
) -> None:
    """Add an amount for each part of column c to all of its blocks that cut the part out."""
    a, b = parts.first[c], parts.first[c + 1]
    if is_tree:
        for part in range(a, b):
            out[parts.low[part]] += amounts[part]
        return
    grid = np.zeros((width + 2, width + 2), dtype=np.int64)
    for part in range(a, b):
        high, far = parts.high[part] + 1, parts.far[part] + 1
        add_rectangle(grid, parts.low[part], high, parts.near[part], far, amounts[part])
    sum_up(grid)
    for block in range(blocks.first[c], blocks.first[c + 1]):
        out[block] += grid[blocks.start[block], blocks.stop[block]]


@inner
def _price_known(
    table: CutTable, view: View, blocks: _Blocks, parts: _Parts, rows: Ints, most: Ints
) -> None:
    """Sum up the small rows and the cost without prices of every block."""
    amounts = np.empty(len(parts.rows), dtype=np.int64)
    for c in range(len(table.sizes)):
        if view.free[c] == 0:
            continue
        width, tree = view.fines[c], table.is_tree[c]
        _spread(tree, width, parts, parts.rows, blocks, c, blocks.small)
        for part in range(parts.first[c], parts.first[c + 1]):
            amounts[part] = parts.rows[part] * most[c, parts.group[part]]
        _spread(tree, width, parts, amounts, blocks, c, blocks.known)
        for block in range(blocks.first[c], blocks.first[c + 1]):
            taken = rows[c, blocks.stop[block]] - rows[c, blocks.start[block]]
            blocks.known[block] += (taken - blocks.small[block]) * blocks.loss[block]


# -- shortest paths --------------------------------------------------------------------------------


# Blocks of one column, by where they stop; what costs `NEVER` is not taken.


@inner
def _shortest(starts: Ints, stops: Ints, cost: Ints, ahead: Ints, behind: Ints) -> None:
    """Least cost from the first value up to each edge, and from there to the last one."""
    for edge in range(len(ahead)):
        ahead[edge] = behind[edge] = NEVER
    ahead[0] = behind[len(behind) - 1] = 0
    for block in range(len(starts)):
        here = ahead[starts[block]] + cost[block]
        if here < ahead[stops[block]]:
            ahead[stops[block]] = here
    for block in range(len(starts) - 1, -1, -1):
        here = behind[stops[block]] + cost[block]
        if here < behind[starts[block]]:
            behind[starts[block]] = here


@inner
def _forbid(
    starts: Ints, stops: Ints, small: Ints, room: int, cost: Ints, ahead: Ints, behind: Ints
) -> bool:
    """Forbid blocks with which a column alone suppresses more than `room`; False if it must."""
    _shortest(starts, stops, small, ahead, behind)
    if ahead[len(ahead) - 1] > room:
        return False
    for block in range(len(starts)):
        if ahead[starts[block]] + small[block] + behind[stops[block]] > room:
            cost[block] = NEVER
    return True


@inner
def _follow(starts: Ints, stops: Ints, cost: Ints, behind: Ints, begin: Ints, end: Ints) -> None:
    """Find for each fine value where its block on a shortest path begins and ends."""
    beyond = np.zeros(len(behind), dtype=np.int64)
    for block in range(len(starts) - 1, -1, -1):
        start, stop = starts[block], stops[block]
        if cost[block] < NEVER and cost[block] + behind[stop] == behind[start]:
            beyond[start] = stop
    at = 0
    while at < len(begin):
        for value in range(at, beyond[at]):
            begin[value], end[value] = at, beyond[at]
        at = beyond[at]


@inner
def _bound_bits(
    starts: Ints, stops: Ints, cost: Ints, ahead: Ints, behind: Ints, places: Ints, found: Ints
) -> None:
    """For each bit of a column, at its place, the least cost of a path that has it 0, and 1."""
    width = len(ahead) - 1
    least = np.empty((width + 1, width + 1), dtype=np.int64)
    for i in range(width + 1):
        for j in range(width + 1):
            least[i, j] = NEVER
    for block in range(len(starts)):
        start, stop = starts[block], stops[block]
        least[start, stop] = min(ahead[start] + cost[block] + behind[stop], NEVER)
    # The best block that starts there or before, and stops there or beyond.
    for i in range(width + 1):
        for j in range(width - 1, -1, -1):
            least[i, j] = min(least[i, j], least[i, j + 1])
    for i in range(1, width + 1):
        for j in range(width + 1):
            least[i, j] = min(least[i, j], least[i - 1, j])
    for value in range(1, width):
        found[0, places[value] - 1] = least[value - 1, value + 1]
        found[1, places[value] - 1] = min(ahead[value] + behind[value], NEVER)


# -- prices ----------------------------------------------------------------------------------------


@inner
def _set_prices(share: Floats, beyond: Ints, fine: int, prices: Ints) -> None:
    """Turn shares of each group into whole prices that sum to no more than there is to charge."""
    columns, groups = share.shape
    for group in range(groups):
        left = beyond[group] + fine
        for c in range(columns):
            price = min(int64(share[c, group] * (beyond[group] + fine)), left)
            prices[c, group] = price
            left -= price


@inner
def _move_shares(share: Floats, seen: Ints) -> float:
    """Move shares to the columns whose path suppresses; return the rows charged for it so far."""
    columns, groups = share.shape
    charged = 0.0
    for group in range(groups):
        total = 0
        for c in range(columns):
            total += seen[c, group]
            charged += share[c, group] * seen[c, group]
        if total > 0:
            for c in range(columns):
                share[c, group] += _STEP * (seen[c, group] / total - share[c, group])
    return charged


@inner
def _first_shares(sees: Ints) -> Floats:
    """Equal shares for all columns that see small parts of a group, where `sees` is 1."""
    columns, groups = sees.shape
    share = np.zeros((columns, groups), dtype=np.float64)
    for group in range(groups):
        total = 0
        for c in range(columns):
            total += sees[c, group]
        for c in range(columns):
            if sees[c, group]:
                share[c, group] = 1.0 / total
    return share


# -- the bound -------------------------------------------------------------------------------------


@inner
def _most_losses(table: CutTable, view: View) -> Ints:
    """Loss of the coarse block of each column and group."""
    columns = len(table.sizes)
    most = np.empty((columns, len(view.rows)), dtype=np.int64)
    for c in range(columns):
        for group in range(len(view.rows)):
            block = view.coarse[c, table.codes[c, view.cells[view.first[group]]]]
            begin = view.edges[c, view.coarse_start[c, block]]
            end = view.edges[c, view.coarse_start[c, block + 1]]
            most[c, group] = loss_between(table, c, begin, end)
    return most


@inner
def _left_to_lose(full: int, most: Ints) -> Ints:
    """What a row of each group would lose beyond its coarse blocks if it were suppressed."""
    columns, groups = most.shape
    beyond = np.empty(groups, dtype=np.int64)
    for group in range(groups):
        left = columns * int64(full)
        for c in range(columns):
            left -= most[c, group]
        beyond[group] = left
    return beyond


@inner
def _cut_column(
    table: CutTable,
    view: View,
    c: int,
    blocks: _Blocks,
    parts: _Parts,
    prices: Ints,
    room: int,
    seen: Ints,
    found: Ints,
    genome: Bits,
) -> int:
    """Cost of the cheapest cut of a column at some prices; `NEVER` if it has none.

    Also gives what its bits would cost as 0 and 1, and which rows of groups it suppresses.
    """
    a, b, width, shift = blocks.first[c], blocks.first[c + 1], view.fines[c], table.offsets[c]
    starts, stops = blocks.start[a:b], blocks.stop[a:b]
    amounts = np.empty(len(parts.rows), dtype=np.int64)
    for part in range(parts.first[c], parts.first[c + 1]):
        amounts[part] = parts.rows[part] * prices[c, parts.group[part]]
    charged = np.zeros(len(blocks.start), dtype=np.int64)
    _spread(table.is_tree[c], width, parts, amounts, blocks, c, charged)
    cost = np.empty(b - a, dtype=np.int64)
    for block in range(a, b):
        cost[block - a] = blocks.known[block] + charged[block]
    ahead, behind = np.empty(width + 1, dtype=np.int64), np.empty(width + 1, dtype=np.int64)
    if not _forbid(starts, stops, blocks.small[a:b], room, cost, ahead, behind):
        return int64(NEVER)
    _shortest(starts, stops, cost, ahead, behind)
    if ahead[width] >= NEVER:
        return int64(NEVER)
    _bound_bits(starts, stops, cost, ahead, behind, view.edges[c], found[:, shift:])
    begin, end = np.empty(width, dtype=np.int64), np.empty(width, dtype=np.int64)
    _follow(starts, stops, cost, behind, begin, end)
    for value in range(1, width):
        genome[shift + view.edges[c, value] - 1] = begin[value] == value
    for part in range(parts.first[c], parts.first[c + 1]):
        value = parts.high[part]
        low = value if table.is_tree[c] else parts.low[part]
        far = parts.near[part] if table.is_tree[c] else parts.far[part]
        if begin[value] >= low and parts.near[part] <= end[value] <= far:
            seen[c, parts.group[part]] += parts.rows[part]
    return int64(ahead[width])


@inner
def _decide(state: Bits, upper: int, bounds: Ints) -> bool:
    """Decide the bits of which one value cannot be better than `upper`; False if neither can."""
    for bit in range(len(state)):
        if state[bit] != FREE:
            continue
        if bounds[0, bit] >= upper:
            if bounds[1, bit] >= upper:
                return False
            state[bit] = 1
        elif bounds[1, bit] >= upper:
            state[bit] = 0
    return True


@inner
def _decided_cost(view: View, most: Ints) -> int:
    """What kept groups cost in columns that are decided."""
    total = int64(0)
    for c in range(len(view.free)):
        if view.free[c] == 0:
            for group in range(len(view.rows)):
                total += view.rows[group] * most[c, group]
    return total


@compiled
def bound_below(
    table: CutTable,
    state: Bits,
    k: int,
    limit: int,
    upper: int,
    fine: int,
    rounds: int,
    bounds: Ints,
    genome: Bits,
) -> tuple[int, int]:
    """Bound the loss of all completions of `state` with groups of k rows or more.

    Bits of `state` of which one value cannot be better than `upper`, the loss of a known solution,
    are decided in place. At most `limit` rows may be suppressed; prices are set in so many
    `rounds`, and a suppressed row is charged `fine` at first.

    Filled are the bounds if a free bit were 0 and 1 (2, bits), and the `genome` with the cheapest
    cuts of all columns. Returns the best bound, `NEVER` where no completion is better than `upper`,
    and the fine it had.
    """
    columns = len(table.sizes)
    for bit in range(len(state)):
        bounds[0, bit] = bounds[1, bit] = 0
    if not decide_trees(table, state):
        return int64(NEVER), fine
    view = view_of(table, state, k)
    room = limit - view.suppressed
    if room < 0:
        return int64(NEVER), fine
    most = _most_losses(table, view)
    beyond = _left_to_lose(table.full, most)
    blocks = _list_blocks(table, view)
    sees = np.zeros(most.shape, dtype=np.int64)
    rows = np.zeros((columns, largest(table.sizes) + 1), dtype=np.int64)
    parts = _find_parts(table, view, blocks, k, rows, sees)
    _price_known(table, view, blocks, parts, rows, most)
    base = view.suppressed * columns * int64(table.full) + _decided_cost(view, most)
    share = _first_shares(sees)
    prices = np.zeros(most.shape, dtype=np.int64)
    best, best_fine = int64(-1), fine
    found = np.zeros((2, len(state)), dtype=np.int64)  # what bits would cost as 0 and 1
    for bit in range(len(state)):
        genome[bit] = state[bit] == 1
    for turn in range(rounds):
        _set_prices(share, beyond, fine, prices)
        seen = np.zeros(most.shape, dtype=np.int64)
        lower = base - fine * room
        paths = np.zeros(columns, dtype=np.int64)
        for c in range(columns):
            if view.free[c] > 0:
                paths[c] = _cut_column(
                    table, view, c, blocks, parts, prices, room, seen, found, genome
                )
                if paths[c] >= NEVER:
                    return int64(NEVER), fine
                lower += paths[c]
        if lower > best:
            best, best_fine = lower, fine
        if lower >= upper:
            return int64(NEVER), fine
        _note_bits(table, state, lower, paths, found, bounds)
        if turn + 1 < rounds:
            over = _move_shares(share, seen) > room
            more = min(fine + fine // 4 + table.full // 16 + 1, 8 * columns * table.full)
            fine = more if over else fine * 2 // 3
    if not _decide(state, upper, bounds):
        return int64(NEVER), best_fine
    return best, best_fine


@inner
def _note_bits(
    table: CutTable, state: Bits, lower: int, paths: Ints, found: Ints, bounds: Ints
) -> None:
    """Keep the best bound of all rounds for each free bit as 0 and as 1."""
    for c in range(len(paths)):
        rest = lower - paths[c]
        for bit in range(table.offsets[c], table.offsets[c + 1]):
            if state[bit] == FREE:
                bounds[0, bit] = max(bounds[0, bit], rest + found[0, bit])
                bounds[1, bit] = max(bounds[1, bit], rest + found[1, bit])
