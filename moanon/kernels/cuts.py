"""Cuts of columns, as genomes hold them: small moves, the best one of a column, and partial ones.

**Moves.** What chance decides is drawn before and comes as arrays, so that a search draws the same
numbers whether it is compiled or not. Each genome changes in place, within the bits of one column
that begin at `start`; `rows` says which genomes move, each once.

**The best cut of one column**, those of all others being as they are. Every block of the column
then costs the same whatever the rest of its cut: rows in groups of at least k pay the block's loss,
those of smaller groups are suppressed. So the best cut is a shortest path over blocks. What a block
suppresses is found for all blocks at once: the occupied values of a group have few runs of less
than k rows, and all blocks that cut out the same run form a rectangle of starts and stops.

**Partial genomes.** A bit is 0, 1 or `FREE`. Whoever completes such a genome cuts each column at
all the ones, and nowhere at the zeros. So there are two views of a column: its *coarse* blocks lie
between the ones, and every completion is finer; its *fine* values lie between all that is not zero,
and every completion is coarser. In a tree some bits follow from others: a block must be a node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from moanon.arrays import Bits, Bools, Codes, Floats, Ints, UInts
from moanon.kernels.jit import compiled, inner, int64

#: A bit that may still become either.
FREE = 2
#: Keys of groups stay below this.
_MOST_KEYS = 2**62
#: Of multiplicative hashing: keys are folded to 31 bits, so that no product overflows.
_FOLD, _FACTOR = 2**31 - 1, 1_540_483_477
#: No cut costs as much: of what cannot be.
_NEVER = 2**60
#: Fines differ by no less than this part of the largest one.
_FINENESS = 4096


# -- moves -----------------------------------------------------------------------------------------


@compiled
def keep_movable(genomes: Bits, start: int, places: int, rows: Ints, far: Bools) -> int:
    """Leave `far` true where a row has a boundary that can go elsewhere; return how many there are.

    A column without boundaries has none to move, one with all of them has no place for it.
    """
    found = 0
    for i in range(len(rows)):
        if far[i]:
            first, other = genomes[rows[i], start], 1
            while other < places and genomes[rows[i], start + other] == first:
                other += 1
            far[i] = other < places
            if other < places:
                found += 1
    return found


@compiled
def move_boundaries(
    genomes: Bits,
    start: int,
    rows: Ints,
    at: Ints,
    forward: Ints,
    shifts: Floats,
    far: Bools,
    lots: Floats,
) -> None:
    """Move a boundary of each row far, shift it by one place, or flip the one at its place.

    The place is ``at[i]``. It is exchanged with the one after it (where `forward` is 1) or before
    it, if its number in `shifts` is below one half, there is one and it differs: else nothing would
    change. `far` is as `keep_movable` has left it. Of the boundaries that move far the one with the
    highest of its `lots` (far moves, places) is cleared, of the other places that with the highest
    is set.
    """
    places, moved = lots.shape[1], 0
    for i in range(len(rows)):
        row = rows[i]
        if far[i]:
            to, away = -1, -1
            for place in range(places):
                lot = lots[moved, place]
                if genomes[row, start + place] == 0:
                    if to < 0 or lot > lots[moved, to]:
                        to = place
                elif away < 0 or lot > lots[moved, away]:
                    away = place
            genomes[row, start + away] = 0
            genomes[row, start + to] = 1
            moved += 1
            continue
        beside = at[i] + 2 * forward[i] - 1
        here = start + at[i]
        if (
            shifts[i] < 0.5
            and 0 <= beside < places
            and genomes[row, here] != genomes[row, start + beside]
        ):
            genomes[row, start + beside] ^= 1
        genomes[row, here] ^= 1


#: The inner nodes of a tree, those above before those below: where the boundaries within a node,
#: its own and those below, begin and end; its parent, -1 for the root; where the boundaries of its
#: own begin (nodes + 1), and these, of which the first one says whether the node is expanded.
TreeNodes = tuple[Ints, Ints, Ints, Ints, Ints]


@compiled
def move_cuts(genomes: Bits, start: int, rows: Ints, nodes: Ints, tree: TreeNodes) -> None:
    """Collapse the node of each row with all below it, or expand it with all above it."""
    first, stop, parent, own_start, own = tree
    for i in range(len(rows)):
        row, node = rows[i], nodes[i]
        if genomes[row, start + own[own_start[node]]] == 1:
            for place in range(first[node], stop[node]):
                genomes[row, start + place] = 0
            continue
        while node >= 0 and genomes[row, start + own[own_start[node]]] == 0:
            for j in range(own_start[node], own_start[node + 1]):
                genomes[row, start + own[j]] = 1
            node = parent[node]


# -- the best cut of one column --------------------------------------------------------------------


@compiled
def add_shown(codes: Codes, shown: Ints, cells: Ints) -> None:
    """Add what base values show, a mark and a loss each, to the two numbers of every cell."""
    for i in range(len(codes)):
        cells[0, i] += shown[0, codes[i]]
        cells[1, i] += shown[1, codes[i]]


class CutColumn(NamedTuple):
    """A column that may get another cut."""

    codes: Codes  # (cells,): base values of the cells
    starts: Ints  # (blocks,): blocks that it may have, by where they stop …
    stops: Ints  # … none if it keeps its cut
    keys: Ints  # (values + 1,): those of the edges of base values (`join.block_keys`)
    loss: Ints  # of a row, by the key of its block
    marks: Ints  # (values,): random numbers; the sum of those of its blocks identifies a group


@inner
def add_rectangle(grid: Ints, low: int, high: int, near: int, far: int, amount: int) -> None:
    """Add to all places from `low` to `high` and `near` to `far`, ends left out, once summed up."""
    grid[low, near] += amount
    grid[low, far] -= amount
    grid[high, near] -= amount
    grid[high, far] += amount


@inner
def sum_up(grid: Ints) -> None:
    """Sum up what `add_rectangle` has noted, along both edges."""
    rows, columns = grid.shape
    for i in range(rows):
        for j in range(1, columns):
            grid[i, j] += grid[i, j - 1]
    for i in range(1, rows):
        for j in range(columns):
            grid[i, j] += grid[i - 1, j]


@inner
def _group_elsewhere(others: Ints, members: UInts, first: UInts, begin: Ints) -> int:
    """List cells by groups, those with the same of `others`, and otherwise as they are.

    Returns how many groups there are; `first` is a cell of each, `begin` where its members begin.
    """
    number, mask, groups = len(others), 15, 0
    while mask < 2 * number:
        mask = 2 * mask + 1
    table = np.zeros(mask + 1, dtype=np.uint32)  # number of the group, from 1
    group = np.zeros(number, dtype=np.uint32)
    for i in range(number):
        place = (others[i] ^ (others[i] >> 29)) & mask
        while table[place] > 0 and others[first[table[place] - 1]] != others[i]:
            place = (place + 1) & mask
        if table[place] == 0:
            first[groups] = i
            groups += 1
            table[place] = groups
        group[i] = table[place] - 1
        begin[group[i]] += 1
    for g in range(1, groups):
        begin[g] += begin[g - 1]
    for i in range(number - 1, -1, -1):
        begin[group[i]] -= 1
        members[begin[group[i]]] = i
    begin[groups] = number
    return groups


@inner
def _note_small(
    values: UInts, rows: Ints, begin: int, end: int, members: UInts, beyond: int, k: int,
    gone: Ints, dear: Ints,
) -> None:  # fmt: skip
    """Note what each block suppresses of the group ``members[begin:end]``: rows, and their cost."""
    low, one = 0, begin
    while one < end:
        here, other, after, small = values[members[one]], one, one, 0
        while other < end:
            last = values[members[other]]
            while other < end and values[members[other]] == last:
                small += rows[members[other]]
                other += 1
            if last == here:
                after = other
            if small >= k:
                break
            far = len(gone) - 1
            if other < end:
                far = values[members[other]] + 1
            add_rectangle(gone, low, here + 1, last + 1, far, small)
            add_rectangle(dear, low, here + 1, last + 1, far, small * beyond)
        low, one = here + 1, after


@inner
def _cheapest_cut(
    column: CutColumn, upto: Ints, gone: Ints, dear: Ints, limit: int, most_fine: int, bits: Bits
) -> None:
    """Find the shortest path over blocks, with one fine after the other."""
    size, loss, keys = len(bits) + 1, column.loss, column.keys
    best, start, small, cost = _NEVER, 0, 0, 0
    for stop in range(1, size + 1):
        if stop == size or bits[stop - 1] == 1:
            small += gone[start, stop]
            kept = upto[stop] - upto[start] - gone[start, stop]
            cost += dear[start, stop] + kept * loss[keys[stop] - keys[start]]
            start = stop
    if small <= limit:
        best = cost
    fine, too_low, enough = 0, 0, 2 * most_fine
    ahead = np.zeros((3, size + 1), dtype=np.int64)  # cost with fines, without, rows suppressed
    via = np.zeros(size + 1, dtype=np.int64)
    while enough - too_low > 1 + most_fine // _FINENESS:
        for edge in range(1, size + 1):
            ahead[0, edge] = _NEVER
        for block in range(len(column.starts)):
            start, stop = column.starts[block], column.stops[block]
            small = gone[start, stop]
            if ahead[0, start] == _NEVER or small > limit:
                continue
            kept = upto[stop] - upto[start] - small
            cost = dear[start, stop] + kept * loss[keys[stop] - keys[start]]
            if ahead[0, start] + cost + fine * small < ahead[0, stop]:
                ahead[0, stop] = ahead[0, start] + cost + fine * small
                ahead[1, stop] = ahead[1, start] + cost
                ahead[2, stop] = ahead[2, start] + small
                via[stop] = start
        if ahead[0, size] == _NEVER:
            break
        if ahead[2, size] > limit:
            too_low = fine
        else:
            enough = fine
            if ahead[1, size] < best:
                best = ahead[1, size]
                for place in range(size - 1):
                    bits[place] = 0
                edge = via[size]
                while edge > 0:
                    bits[edge - 1] = 1
                    edge = via[edge]
        if enough == 0:
            break
        fine = (too_low + enough) // 2


@compiled
def best_cut(
    column: CutColumn,
    counts: Ints,
    shown: Ints,
    cells: Ints,
    full: int,
    k: int,
    limit: int,
    most_fine: int,
    bits: Bits,
) -> None:
    """Find a cheaper cut of a column, of which at most `limit` rows are suppressed.

    Where the cheapest one of all suppresses more, suppressed rows are fined, by as much as it takes
    (found by halving); then a cut between two fines may be missed.

    `shown` (2, values) is the mark of the block that a base value is in and what a row loses by it;
    `cells` (2, cells) the sums of the marks and losses that each cell shows in all columns. What is
    left of the marks without those of this column is the same number for cells with the same blocks
    elsewhere. A suppressed row loses `full`; `most_fine` is the largest fine that is tried. `bits`
    is a cut, replaced by the cheapest one unless it is that itself.
    """
    codes, number, size = column.codes, len(counts), len(bits) + 1
    # The cells by their base values: sorted anew each time, since that takes little beside the
    # rest, and one order for each column would take more memory than all else of a large table.
    upto = np.zeros(size + 1, dtype=np.int64)  # first cells, then rows, of lower values
    for i in range(number):
        upto[codes[i] + 1] += 1
    for value in range(size):
        upto[value + 1] += upto[value]
    order = np.zeros(number, dtype=np.uint32)
    values = np.zeros(number, dtype=np.uint32)
    rows = np.zeros(number, dtype=np.int64)
    others = np.zeros(number, dtype=np.int64)
    for cell in range(number):
        i = upto[codes[cell]]
        upto[codes[cell]] += 1
        order[i], values[i], rows[i] = cell, codes[cell], counts[cell]
        others[i] = cells[0, cell] - shown[0, codes[cell]]
    members, first = np.zeros(number, dtype=np.uint32), np.zeros(number, dtype=np.uint32)
    begin = np.zeros(number + 1, dtype=np.int64)
    groups = _group_elsewhere(others, members, first, begin)
    gone = np.zeros((size + 2, size + 2), dtype=np.int64)
    dear = np.zeros((size + 2, size + 2), dtype=np.int64)
    for g in range(groups):
        one = first[g]  # what a suppressed row costs beyond the losses of the other columns
        beyond = full - cells[1, order[one]] + shown[1, values[one]]
        _note_small(values, rows, begin[g], begin[g + 1], members, beyond, k, gone, dear)
    sum_up(gone)
    sum_up(dear)
    for value in range(size + 1):
        upto[value] = 0
    for i in range(number):
        upto[values[i] + 1] += rows[i]
    for value in range(size):
        upto[value + 1] += upto[value]
    _cheapest_cut(column, upto, gone, dear, limit, most_fine, bits)


# -- genomes of which some bits are decided --------------------------------------------------------


class CutTable(NamedTuple):
    """Cells, and what blocks of their columns cost a row."""

    codes: Codes  # (columns, cells)
    counts: Ints  # (cells,): rows of each
    sizes: Ints  # (columns,): base values …
    offsets: Ints  # … and first bit of each
    is_tree: Bools  # (columns,)
    node_first: Ints  # nodes of the trees of all columns, those of a column …
    node_start: Ints  # … in order of where they stop
    node_stop: Ints
    key_first: Ints  # (columns,): where those of each column begin in the next
    keys: Ints  # of the edges of base values (`join.block_keys`)
    loss_first: Ints  # ``loss[loss_first[c] + key]`` of a row in a block of that key
    loss: Ints
    full: int  # loss of a row in one column that is wholly generalized, or suppressed


class View(NamedTuple):
    """The coarse blocks and the fine values of each column; see the module.

    By the coarse blocks of all columns, cells are in groups. Those of enough rows are listed.
    """

    edges: Ints  # (columns, values + 1): base value at which each fine value begins, and the end
    fine: Ints  # (columns, values): fine value …
    coarse: Ints  # … and coarse block of each base value
    coarse_start: Ints  # (columns, values + 1): first fine value of each coarse block, and the end
    fines: Ints  # (columns,): how many there are of each …
    coarses: Ints
    free: Ints  # … and how many bits are free
    cells: Ints  # those of each group together
    first: Ints  # (groups + 1,): where those of each group begin
    rows: Ints  # (groups,)
    suppressed: int  # rows in groups that are too small


@inner
def largest(numbers: Ints) -> int:
    """Largest of some numbers that are not negative; numba's own takes longer to compile."""
    most = int64(0)
    for number in numbers:
        most = max(most, number)
    return most


@inner
def _allowed(state: Bits, first: int, size: int, start: int, stop: int, ones: Ints) -> bool:
    """Whether a block agrees with the bits that are decided; `ones` counts those up to a place."""
    if ones[stop - 1] > ones[start]:
        return False
    if start > 0 and state[first + start - 1] == 0:
        return False
    return not (stop < size and state[first + stop - 1] == 0)


@inner
def _decide_tree(table: CutTable, state: Bits, column: int) -> bool:
    """Decide the bits of a tree that follow from others; False if no cut is left."""
    size, first = table.sizes[column], table.offsets[column]
    a, b = table.node_first[column], table.node_first[column + 1]
    ones = np.zeros(size + 1, dtype=np.int64)
    for place in range(1, size):
        ones[place] = ones[place - 1] + (state[first + place - 1] == 1)
    ones[size] = ones[size - 1] if size > 1 else 0
    usable = np.zeros(b - a, dtype=np.int64)  # 0 or 1, and so are the next two
    ahead, behind = np.zeros(size + 1, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    ahead[0] = behind[size] = 1
    for node in range(a, b):
        start, stop = table.node_start[node], table.node_stop[node]
        usable[node - a] = _allowed(state, first, size, start, stop, ones)
        if usable[node - a] and ahead[start]:
            ahead[stop] = 1
    for node in range(b - 1, a - 1, -1):
        if usable[node - a] and behind[table.node_stop[node]]:
            behind[table.node_start[node]] = 1
    spans = np.zeros(size + 1, dtype=np.int64)
    for node in range(a, b):
        start, stop = table.node_start[node], table.node_stop[node]
        if usable[node - a] and ahead[start] and behind[stop]:
            spans[start + 1] += 1
            spans[stop] -= 1
    merged = 0
    for place in range(1, size):
        merged += spans[place]
        cut = ahead[place] > 0 and behind[place] > 0
        if merged == 0:
            if not cut or state[first + place - 1] == 0:
                return False
            state[first + place - 1] = 1
        elif not cut:
            if state[first + place - 1] == 1:
                return False
            state[first + place - 1] = 0
    return True


@inner
def decide_trees(table: CutTable, state: Bits) -> bool:
    """Decide all bits that follow from others; False if nothing valid is left."""
    for column in range(len(table.sizes)):
        if table.is_tree[column] and not _decide_tree(table, state, column):
            return False
    return True


@inner
def view_of(table: CutTable, state: Bits, k: int) -> View:
    """Lay out the coarse blocks and fine values of a state, and its groups of `k` rows or more."""
    columns, most = len(table.sizes), largest(table.sizes)
    edges = np.zeros((columns, most + 1), dtype=np.int64)
    fine = np.zeros((columns, most), dtype=np.int64)
    coarse = np.zeros((columns, most), dtype=np.int64)
    coarse_start = np.zeros((columns, most + 1), dtype=np.int64)
    fines = np.zeros(columns, dtype=np.int64)
    coarses = np.zeros(columns, dtype=np.int64)
    free = np.zeros(columns, dtype=np.int64)
    for c in range(columns):
        value, block = 0, 0
        for place in range(1, table.sizes[c]):
            bit = state[table.offsets[c] + place - 1]
            if bit != 0:
                value += 1
                edges[c, value] = place
            if bit == 1:
                block += 1
                coarse_start[c, block] = value
            free[c] += bit == FREE
            fine[c, place] = value
            coarse[c, place] = block
        edges[c, value + 1] = table.sizes[c]
        coarse_start[c, block + 1] = value + 1
        fines[c], coarses[c] = value + 1, block + 1
    cells, first, rows, suppressed = _group_coarsely(table, coarse, coarses, k)
    return View(
        edges, fine, coarse, coarse_start, fines, coarses, free, cells, first, rows, suppressed
    )


@inner
def _number(keys: Ints) -> int:
    """Replace keys by numbers from 0 in order of appearance; return how many there are."""
    bits = 4
    while 1 << bits < 2 * len(keys):
        bits += 1
    mask = (int64(1) << bits) - 1
    known = np.zeros(mask + 1, dtype=np.int64)  # one more than the key
    number = np.empty(mask + 1, dtype=np.int64)
    found = 0
    for i in range(len(keys)):
        key = keys[i]
        place = ((((key ^ (key >> 31)) & _FOLD) * _FACTOR) >> 20) & mask
        while known[place] != key + 1 and known[place] != 0:
            place = (place + 1) & mask
        if known[place] == 0:
            known[place] = key + 1
            number[place] = found
            found += 1
        keys[i] = number[place]
    return found


@inner
def _group_coarsely(
    table: CutTable, coarse: Ints, coarses: Ints, k: int
) -> tuple[Ints, Ints, Ints, int]:
    """Group the cells by the coarse blocks of all columns; see `View`."""
    codes, counts = table.codes, table.counts
    cells = len(counts)
    key = np.zeros(cells, dtype=np.int64)
    keys = int64(1)
    for c in range(len(table.sizes)):
        blocks = coarses[c]
        if blocks == 1:
            continue
        if keys > _MOST_KEYS // blocks:  # numbers of groups are smaller than keys
            keys = int64(_number(key))
        for i in range(cells):
            key[i] = key[i] * blocks + coarse[c, codes[c, i]]
        keys *= blocks
    number = _number(key)
    rows = np.zeros(number, dtype=np.int64)
    members = np.zeros(number, dtype=np.int64)
    for i in range(cells):
        rows[key[i]] += counts[i]
        members[key[i]] += 1
    kept, suppressed, at = 0, 0, 0
    place = np.empty(number, dtype=np.int64)
    first = np.zeros(number + 1, dtype=np.int64)
    for group in range(number):
        place[group] = -1
        if rows[group] < k:
            suppressed += rows[group]
            continue
        place[group] = at
        rows[kept] = rows[group]
        at += members[group]
        kept += 1
        first[kept] = at
    order = np.empty(at, dtype=np.int64)
    for i in range(cells):
        if place[key[i]] >= 0:
            order[place[key[i]]] = i
            place[key[i]] += 1
    return order, first[: kept + 1], rows[:kept], suppressed


@inner
def key_between(table: CutTable, c: int, begin: int, end: int) -> int:
    """Key of a block of a column, from one base value up to another."""
    first = table.key_first[c]
    return int64(table.keys[first + end] - table.keys[first + begin])


@inner
def loss_between(table: CutTable, c: int, begin: int, end: int) -> int:
    """Loss of a row in such a block."""
    return int64(table.loss[table.loss_first[c] + key_between(table, c, begin, end)])


@compiled
def measure_cut(table: CutTable, genome: Bits, k: int, kept: Ints) -> tuple[int, int]:
    """Count the rows of a genome whose groups of less than `k` rows are suppressed.

    To ``kept[loss_first[c] + key]`` are added the rows that are kept in blocks of that key of a
    column. Returns the rows that are suppressed, and those of the smallest group that is not; 0 if
    there is none.
    """
    view = view_of(table, genome, k)
    for group in range(len(view.rows)):
        cell = view.cells[view.first[group]]
        for c in range(len(table.sizes)):
            block = view.coarse[c, table.codes[c, cell]]
            begin = view.edges[c, view.coarse_start[c, block]]
            end = view.edges[c, view.coarse_start[c, block + 1]]
            kept[table.loss_first[c] + key_between(table, c, begin, end)] += view.rows[group]
    smallest = view.rows.min() if len(view.rows) else int64(0)
    return view.suppressed, smallest
