"""Genomes of which some bits are decided: what all of their completions have in common.

A bit is 0, 1 or `FREE`. Whoever completes such a genome cuts each column at all the ones, and
nowhere at the zeros. So there are two views of a column: its *coarse* blocks lie between the ones,
and every completion is finer; its *fine* values lie between all that is not zero, and every
completion is coarser. In a tree some bits follow from others: a block must be a node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from moanon.arrays import Bits, Bools, Codes, Ints
from moanon.kernels.jit import compiled, inner, int64

#: A bit that may still become either.
FREE = 2
#: Keys of groups stay below this.
_MOST_KEYS = 2**62
#: Of multiplicative hashing: keys are folded to 31 bits, so that no product overflows.
_FOLD, _FACTOR = 2**31 - 1, 1_540_483_477


class CutTable(NamedTuple):
    """Cells, and what blocks of their columns cost a row.

    Attributes
    ----------
    codes : array (columns, cells)
    counts : array (cells,)
        Rows of each.
    sizes, offsets : arrays
        Base values of each column, and its first bit.
    is_tree : array (columns,)
    node_first, node_start, node_stop : arrays
        Nodes of the trees of all columns, those of a column in order of where they stop.
    key_first, keys : arrays
        Keys of the edges of each column's base values (`join.block_keys`).
    loss_first, loss : arrays
        ``loss[loss_first[c] + key]`` of a row in a block of that key.
    full : int
        Loss of a row in one column that is wholly generalized, or suppressed.
    """

    codes: Codes
    counts: Ints
    sizes: Ints
    offsets: Ints
    is_tree: Bools
    node_first: Ints
    node_start: Ints
    node_stop: Ints
    key_first: Ints
    keys: Ints
    loss_first: Ints
    loss: Ints
    full: int


class View(NamedTuple):
    """The coarse blocks and the fine values of each column; see the module.

    Attributes
    ----------
    edges : array (columns, values + 1)
        Base value at which each fine value begins, and the end.
    fine, coarse : arrays (columns, values)
        Fine value and coarse block of each base value.
    coarse_start : array (columns, values + 1)
        First fine value of each coarse block, and the end.
    fines, coarses, free : arrays (columns,)
        How many there are, and how many bits are free.
    """

    edges: Ints
    fine: Ints
    coarse: Ints
    coarse_start: Ints
    fines: Ints
    coarses: Ints
    free: Ints


class Groups(NamedTuple):
    """Cells in groups of enough rows, group by group.

    Attributes
    ----------
    cells : array
        Those of each group together.
    first : array (groups + 1,)
        Where those of each group begin.
    rows : array (groups,)
    suppressed : int
        Rows in groups that are too small, which are not listed.
    """

    cells: Ints
    first: Ints
    rows: Ints
    suppressed: int


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
def _settle_tree(table: CutTable, state: Bits, column: int) -> bool:
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
def settle_trees(table: CutTable, state: Bits) -> bool:
    """Decide all bits that follow from others; False if nothing valid is left."""
    for column in range(len(table.sizes)):
        if table.is_tree[column] and not _settle_tree(table, state, column):
            return False
    return True


@inner
def view_of(table: CutTable, state: Bits) -> View:
    """Lay out the coarse blocks and fine values of a state."""
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
    return View(edges, fine, coarse, coarse_start, fines, coarses, free)


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
def group_coarsely(table: CutTable, view: View, k: int) -> Groups:
    """Group the cells by the coarse blocks of all columns."""
    codes, counts = table.codes, table.counts
    cells = len(counts)
    key = np.zeros(cells, dtype=np.int64)
    keys = int64(1)
    for c in range(len(table.sizes)):
        blocks = view.coarses[c]
        if blocks == 1:
            continue
        if keys > _MOST_KEYS // blocks:  # numbers of groups are smaller than keys
            keys = int64(_number(key))
        for i in range(cells):
            key[i] = key[i] * blocks + view.coarse[c, codes[c, i]]
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
    return Groups(order, first[: kept + 1], rows[:kept], suppressed)


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
    view = view_of(table, genome)
    groups = group_coarsely(table, view, k)
    for group in range(len(groups.rows)):
        cell = groups.cells[groups.first[group]]
        for c in range(len(table.sizes)):
            block = view.coarse[c, table.codes[c, cell]]
            begin = view.edges[c, view.coarse_start[c, block]]
            end = view.edges[c, view.coarse_start[c, block + 1]]
            kept[table.loss_first[c] + key_between(table, c, begin, end)] += groups.rows[group]
    smallest = groups.rows.min() if len(groups.rows) else int64(0)
    return groups.suppressed, smallest
