"""Which groups a suppression rule suppresses: thresholds of size and rank.

All sums are of integers and every comparison with the suppression limit is one of integers
(`limit` is the number of rows that may be suppressed). Groups come as parallel arrays: `sizes`
(rows), and `ranks` by what the rule goes by besides the size, such as their diversity; None where
no group has sensitive values. `class_rows`, `by_rank`, `picked` and `keys` are those of
`moanon.kernels.costs.GroupBuffers`.
"""

from __future__ import annotations

from moanon.arrays import Ints, UInts
from moanon.kernels.histograms import sort_by
from moanon.kernels.jit import inner, int64

# Suppression rules (D §5): what stays in the table.
KEEP_ALL = 0  # P1
WITHIN_LIMIT = 1  # P2, eq. 7
ABOVE_MEAN = 2  # P3: at least the mean over rows of their groups' size, or rank
KL_ORDERED_K = 3  # P4, eq. 9: k preferred, so the classes are ordered by l, then k
KL_ORDERED_L = 4  # P4, eq. 8: l preferred, so the classes are ordered by k, then l
KL_STRICT_K = 5
KL_STRICT_L = 6
GIVEN = 7  # thresholds (d1, d2) chosen by the caller, genome by genome

# Group sizes are counted in classes of their leading bits, _CLASS_BITS at a time. Up to a limit of
# 4,095 rows a class is one size; beyond, the class in which a running total crosses the limit is
# counted again by its next bits.
_CLASS_BITS = 12
#: Sizes below this are classes of their own.
CLASSES = 1 << _CLASS_BITS

_EVERYTHING = 2**62


@inner
def size_threshold(
    sizes: UInts,
    ranks: UInts | None,
    low: int,
    high: int,
    groups: int,
    limit: int,
    class_rows: Ints,
) -> int:
    """Smallest size that must stay when sizes are suppressed from below within `limit` rows.

    Looks at groups with ``low <= rank <= high`` only; where none is left, or all of them fit into
    the limit, returns 0.
    """
    shift = int64(0)  # bits to drop so that sizes up to the limit fall into the classes
    while limit >> shift >= CLASSES:
        shift += _CLASS_BITS
    total = int64(0)
    above = int64(0)  # leading bits of the sizes looked at, once the first class is known
    known = False
    while True:
        larger = int64(0)  # smallest size beyond the limit
        last = int64(0)
        for group in range(groups):
            if ranks is not None and not low <= ranks[group] <= high:
                continue
            size = int64(sizes[group])
            if size > limit:
                larger = size if larger == 0 else min(larger, size)
            elif not known or size >> (shift + _CLASS_BITS) == above:
                place = (size >> shift) & (CLASSES - 1)
                class_rows[place] += size
                last = max(last, place)
        crossing = int64(-1)
        for place in range(last + 1):
            if crossing < 0:
                if total + class_rows[place] > limit:
                    crossing = int64(place)
                else:
                    total += class_rows[place]
            class_rows[place] = 0
        if crossing < 0:
            return larger
        above = above << _CLASS_BITS | crossing
        known = True
        if shift == 0:
            return above
        shift -= _CLASS_BITS


@inner
def rank_threshold(
    sizes: UInts, ranks: UInts, least: int, most: int, groups: int, limit: int, by_rank: Ints
) -> int:
    """Like `size_threshold` for the rank of groups with ``least <= size <= most``."""
    last = int64(0)
    for group in range(groups):
        if least <= sizes[group] <= most:
            by_rank[ranks[group]] += sizes[group]
            last = max(last, int64(ranks[group]))
    total = int64(0)
    answer = int64(0)
    for rank in range(last + 1):
        total += by_rank[rank]
        if answer == 0 and total > limit:
            answer = int64(rank)
        by_rank[rank] = 0
    return answer


@inner
def _rows_below(sizes: UInts, ranks: UInts, d1: int, d2: int, groups: int) -> int:
    """Rows in groups that are smaller than `d1` or rank lower than `d2`."""
    rows = int64(0)
    for group in range(groups):
        if sizes[group] < d1 or ranks[group] < d2:
            rows += sizes[group]
    return rows


@inner
def thresholds(
    rule: int,
    sizes: UInts,
    ranks: UInts | None,
    groups: int,
    rows: int,
    squares: int,
    limit: int,
    class_rows: Ints,
    by_rank: Ints,
) -> tuple[int, int]:
    """Thresholds (d1, d2) that `rule` arrives at; see `list_kept` for what they mean."""
    # Typed numbers: a literal 0 would make numba compile another version of what is called with it.
    nothing, everything = int64(0), int64(_EVERYTHING)
    if rule == KEEP_ALL:
        return int64(1), nothing
    if rule == ABOVE_MEAN:  # smallest whole number that is not below squares / rows
        return (squares + rows - 1) // rows, nothing
    if rule == WITHIN_LIMIT or ranks is None:
        return size_threshold(sizes, ranks, nothing, everything, groups, limit, class_rows), nothing
    if rule in (KL_ORDERED_L, KL_STRICT_K):  # sizes first, then ranks of what is left
        d1 = size_threshold(sizes, ranks, nothing, everything, groups, limit, class_rows)
        left = limit - _rows_below(sizes, ranks, d1, nothing, groups)
        most = d1 if rule == KL_ORDERED_L else everything
        return d1, rank_threshold(sizes, ranks, d1, most, groups, left, by_rank)
    d2 = rank_threshold(sizes, ranks, nothing, everything, groups, limit, by_rank)
    left = limit - _rows_below(sizes, ranks, nothing, d2, groups)
    most = d2 if rule == KL_ORDERED_K else everything
    return size_threshold(sizes, ranks, d2, most, groups, left, class_rows), d2


@inner
def list_kept(
    rule: int, sizes: UInts, ranks: UInts | None, groups: int, d1: int, d2: int, out: UInts
) -> int:
    """List the groups that stay under a rule with thresholds (d1, d2); return how many."""
    kept = int64(0)
    for group in range(groups):
        size, rank = int64(sizes[group]), int64(1)
        if ranks is not None:
            rank = int64(ranks[group])
        stays = size >= d1 and rank >= d2
        if rule == KL_ORDERED_K:
            stays = rank > d2 or (rank == d2 and size >= d1)
        elif rule == KL_ORDERED_L:
            stays = size > d1 or (size == d1 and rank >= d2)
        out[kept] = group
        kept += int64(stays)
    return kept


@inner
def list_worst(
    keys: UInts, groups: int, top: int, class_rows: Ints, picked: Ints, sorting: Ints, out: UInts
) -> int:
    """List the groups whose key (size or rank) is below `top`, by descending key; return how many.

    Keys below 4,096 are counted, which leaves few to be sorted, in `picked` by `sorting`.
    """
    few = int64(0)
    for group in range(groups):  # written in any case, counted where below: nothing to mispredict
        picked[few] = group
        sorting[few] = keys[group]
        few += int64(keys[group] < top)
    counted = min(top, CLASSES)
    before = int64(0)
    for i in range(few):
        key = sorting[i]
        if key < counted:
            class_rows[counted - 1 - key] += 1
        else:
            before += 1
    for place in range(counted):
        here = class_rows[place]
        class_rows[place] = before
        before += here
    many = int64(0)
    for i in range(few):
        key, group = sorting[i], picked[i]
        if key < counted:
            place = counted - 1 - key
            out[class_rows[place]] = group
            class_rows[place] += 1
        else:
            picked[many] = group
            sorting[many] = -key
            many += 1
    sort_by(sorting, picked, many)
    for i in range(many):
        out[i] = picked[i]
    for place in range(counted):
        class_rows[place] = 0
    return few
