"""The best cut of one column when those of all others are given.

With the other columns as they are, every block of a column costs the same whatever the rest of its
cut: rows in groups of at least k pay the block's loss, those of smaller groups are suppressed. So
the best cut is a shortest path over blocks. What a block suppresses is told for all blocks at once:
the occupied values of a group have few runs of less than k rows, and all blocks that cut out the
same run form a rectangle of starts and stops.

It stands in one function, without slices and views: it is compiled before a first search, and must
not make that much longer.
"""

from __future__ import annotations

import numpy as np

from moanon.arrays import Bits, Codes, Ints
from moanon.kernels.jit import compiled

#: No cut costs as much: of what cannot be.
_NEVER = 2**60
#: Fines are told apart down to this part of the largest one.
_FINENESS = 4096


@compiled
def add_shown(codes: Codes, shown: Ints, cells: Ints) -> None:
    """Add what base values show, a mark and a loss each, to the two numbers of every cell."""
    for i in range(len(codes)):
        cells[0, i] += shown[0, codes[i]]
        cells[1, i] += shown[1, codes[i]]


@compiled
def best_cut(
    codes: Codes,
    counts: Ints,
    shown: Ints,
    cells: Ints,
    full: int,
    starts: Ints,
    stops: Ints,
    keys: Ints,
    loss: Ints,
    k: int,
    limit: int,
    most_fine: int,
    bits: Bits,
) -> None:
    """Find a cheaper cut of a column, of which at most `limit` rows are suppressed.

    Where the cheapest one of all suppresses more, suppressed rows are fined, by as much as it takes
    (found by halving); then a cut between two fines may be missed.

    Parameters
    ----------
    codes, counts : arrays (cells,)
        Base value of each cell in the column, and how many rows it is.
    shown : array (2, values)
        The mark of the block that a base value is in, and what a row loses by it.
    cells : array (2, cells)
        Sums of the marks and losses that each cell shows in all columns. What is left of the marks
        without those of this column is the same number for cells with the same blocks elsewhere.
    full : int
        What a suppressed row loses.
    starts, stops : arrays (blocks,)
        The blocks that the column may have, by where they stop.
    keys : array (values + 1,)
        Those of the edges of base values (`join.block_keys`).
    loss : array
        Of a row, by the key of its block.
    k, limit : int
    most_fine : int
        The largest fine that is tried.
    bits : array (values - 1,)
        A cut; replaced by the cheapest one unless it is that itself.
    """
    number, size = len(codes), len(bits) + 1
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
    for cell in range(number):
        i = upto[codes[cell]]
        upto[codes[cell]] += 1
        order[i], values[i], rows[i] = cell, codes[cell], counts[cell]
    # Cells in groups, those of a group together and in order of their values.
    mask = 15
    while mask < 2 * number:
        mask = 2 * mask + 1
    others = np.zeros(number, dtype=np.int64)
    for i in range(number):
        others[i] = cells[0, order[i]] - shown[0, values[i]]
    table = np.zeros(mask + 1, dtype=np.uint32)  # number of the group, from 1
    group = np.zeros(number, dtype=np.uint32)
    first = np.zeros(number, dtype=np.uint32)  # cell of each group
    begin = np.zeros(number + 1, dtype=np.int64)
    members = np.zeros(number, dtype=np.uint32)
    groups = 0
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
    # What each block suppresses: rows, and what these cost; first as differences along both edges.
    gone = np.zeros((size + 2, size + 2), dtype=np.int64)
    dear = np.zeros((size + 2, size + 2), dtype=np.int64)
    for g in range(groups):
        one = first[g]  # what a suppressed row costs beyond the losses of the other columns
        beyond = full - cells[1, order[one]] + shown[1, values[one]]
        low, one = 0, begin[g]
        while one < begin[g + 1]:
            here, other, after, small = values[members[one]], one, one, 0
            while other < begin[g + 1]:
                last = values[members[other]]
                while other < begin[g + 1] and values[members[other]] == last:
                    small += rows[members[other]]
                    other += 1
                if last == here:
                    after = other
                if small >= k:
                    break
                far = size + 1
                if other < begin[g + 1]:
                    far = values[members[other]] + 1
                cost = small * beyond
                gone[low, last + 1] += small
                gone[low, far] -= small
                gone[here + 1, last + 1] -= small
                gone[here + 1, far] += small
                dear[low, last + 1] += cost
                dear[low, far] -= cost
                dear[here + 1, last + 1] -= cost
                dear[here + 1, far] += cost
            low, one = here + 1, after
    for i in range(size + 1):
        for j in range(1, size + 1):
            gone[i, j] += gone[i, j - 1]
            dear[i, j] += dear[i, j - 1]
    for i in range(1, size + 1):
        for j in range(size + 1):
            gone[i, j] += gone[i - 1, j]
            dear[i, j] += dear[i - 1, j]
    for value in range(size + 1):
        upto[value] = 0
    for i in range(number):
        upto[values[i] + 1] += rows[i]
    for value in range(size):
        upto[value + 1] += upto[value]
    # Shortest paths, with one fine after the other.
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
        for block in range(len(starts)):
            start, stop = starts[block], stops[block]
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
