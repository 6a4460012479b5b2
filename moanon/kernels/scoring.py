"""From the groups of a genome to integers: thresholds, what is suppressed, staircases.

All sums are of integers and every comparison with the suppression limit is one of integers
(`limit` is the number of rows that may be suppressed). Groups come as parallel arrays: `sizes`
(rows), `losses` (integer loss of each of their rows) and, where there is a sensitive column,
`ell` (their diversity by the chosen rule).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.kernels.jit import compiled, int64

__all__ = [
    "ABOVE_WEIGHTED_K",
    "EXACT_LIMIT",
    "FIELDS",
    "GIVEN",
    "KEEP_ALL",
    "KL_ORDERED_K",
    "KL_ORDERED_L",
    "KL_STRICT_K",
    "KL_STRICT_L",
    "WITHIN_LIMIT",
    "Scratch",
    "make_scratch",
    "measure_groups",
    "measure_within_limit",
    "safety_steps",
    "size_steps",
    "sort_by",
    "thresholds",
]

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]

# Suppression rules (D §5): what stays in the table.
KEEP_ALL = 0  # P1
WITHIN_LIMIT = 1  # P2, eq. 7
ABOVE_WEIGHTED_K = 2  # P3
KL_ORDERED_K = 3  # P4, eq. 9: k preferred, so the classes are ordered by l, then k
KL_ORDERED_L = 4  # P4, eq. 8: l preferred, so the classes are ordered by k, then l
KL_STRICT_K = 5
KL_STRICT_L = 6
GIVEN = 7  # thresholds (d1, d2) chosen by the caller, genome by genome

#: Columns of the integer results of one genome.
FIELDS = (
    "groups",  # all groups
    "squares",  # sum of size² over all groups: n times weighted-k
    "loss_all",  # integer loss of all rows
    "d1",  # size threshold the rule arrived at
    "d2",  # diversity threshold
    "suppressed",  # rows
    "kept_groups",
    "kept_squares",
    "kept_loss",
    "k",  # smallest kept group
    "largest",  # largest kept group
)

# Group sizes are counted in classes of their leading bits, _CLASS_BITS at a time. Up to a limit of
# 4,095 rows a class is one size; beyond, the class in which a running total crosses the limit is
# counted again by its next bits.
_CLASS_BITS = 12
_CLASSES = 1 << _CLASS_BITS
#: Limits below this are settled by `measure_within_limit`.
EXACT_LIMIT = _CLASSES


class Scratch(NamedTuple):
    """Scratch of one thread for scoring."""

    rows: Ints  # per size class
    loss: Ints  # per size class
    picked: Ints  # groups to be sorted
    keys: Ints  # their sizes
    by_ell: Ints  # rows per diversity
    tallest: Ints  # largest group per diversity
    no_ell: Words  # zeros: the diversity of groups of which none is known


def make_scratch(cells: int, values: int) -> Scratch:
    """Allocate scratch for at most `cells` groups and diversities up to `values`."""
    return Scratch(
        np.zeros(_CLASSES, dtype=np.int64),
        np.zeros(_CLASSES, dtype=np.int64),
        np.zeros(cells, dtype=np.int64),
        np.zeros(cells, dtype=np.int64),
        np.zeros(values + 2, dtype=np.int64),
        np.zeros(values + 2, dtype=np.int64),
        np.zeros(cells, dtype=np.uint32),
    )


@compiled
def _class_shift(limit: int) -> int:
    """Bits to drop so that sizes up to `limit` fall into the classes."""
    shift = int64(0)
    while limit >> shift >= _CLASSES:
        shift += _CLASS_BITS
    return shift


@compiled
def sort_by(keys: Ints | Words, items: Ints | Words, number: int) -> None:
    """Sort `items`, and `keys` with them, by ascending key (Shell's sort).

    numba's own sort would be several times as much machine code to compile and to load as all of
    this module; the runs sorted here are short.
    """
    gap = 1
    while gap < number // 3:
        gap = 3 * gap + 1
    while gap:
        for i in range(gap, number):
            key = keys[i]
            item = items[i]
            at = i
            while at >= gap and keys[at - gap] > key:
                keys[at] = keys[at - gap]
                items[at] = items[at - gap]
                at -= gap
            keys[at] = key
            items[at] = item
        gap //= 3


@compiled
def size_threshold(
    sizes: Words, ell: Words, low: int, high: int, groups: int, limit: int, scratch: Scratch
) -> int:
    """Smallest size that must stay when sizes are given up from below within `limit` rows.

    Looks at groups with ``low <= ell <= high`` only; where none is left, or all of them fit into
    the limit, returns 0.
    """
    shift = _class_shift(limit)
    total = int64(0)
    above = int64(0)  # leading bits of the sizes looked at, once the first class is settled
    known = False
    while True:
        larger = int64(0)  # smallest size beyond the limit
        last = int64(0)
        for group in range(groups):
            if low <= ell[group] <= high:
                size = int64(sizes[group])
                if size > limit:
                    larger = size if larger == 0 else min(larger, size)
                elif not known or size >> (shift + _CLASS_BITS) == above:
                    place = (size >> shift) & (_CLASSES - 1)
                    scratch.rows[place] += size
                    last = max(last, place)
        crossing = int64(-1)
        for place in range(last + 1):
            if crossing < 0:
                if total + scratch.rows[place] > limit:
                    crossing = int64(place)
                else:
                    total += scratch.rows[place]
            scratch.rows[place] = 0
        if crossing < 0:
            return larger
        above = above << _CLASS_BITS | crossing
        known = True
        if shift == 0:
            return above
        shift -= _CLASS_BITS


@compiled
def ell_threshold(
    sizes: Words, ell: Words, least: int, most: int, groups: int, limit: int, scratch: Scratch
) -> int:
    """Like `size_threshold` for the diversity of groups with ``least <= size <= most``."""
    last = 0
    for group in range(groups):
        if least <= sizes[group] <= most:
            scratch.by_ell[ell[group]] += sizes[group]
            last = max(last, int64(ell[group]))
    total = int64(0)
    answer = 0
    for value in range(last + 1):
        total += scratch.by_ell[value]
        if answer == 0 and total > limit:
            answer = value
        scratch.by_ell[value] = 0
    return answer


@compiled
def _rows_below(sizes: Words, ell: Words, d1: int, d2: int, groups: int) -> int:
    """Rows in groups that are smaller than `d1` or less diverse than `d2`."""
    rows = int64(0)
    for group in range(groups):
        if sizes[group] < d1 or ell[group] < d2:
            rows += sizes[group]
    return rows


@compiled
def thresholds(
    rule: int,
    sizes: Words,
    ell: Words,
    groups: int,
    rows: int,
    squares: int,
    limit: int,
    scratch: Scratch,
) -> tuple[int, int]:
    """Thresholds (d1, d2) that `rule` arrives at; see `is_kept` for what they mean."""
    # Typed zeros: a literal 0 would make numba compile another version of what is called with it.
    nothing = int64(0)
    everything = int64(2**62)
    if rule == KEEP_ALL:
        return int64(1), nothing
    if rule == ABOVE_WEIGHTED_K:  # smallest whole number that is not below squares / rows
        return (squares + rows - 1) // rows, nothing
    if rule == WITHIN_LIMIT:
        return size_threshold(sizes, ell, nothing, everything, groups, limit, scratch), nothing
    if rule == KL_ORDERED_K:
        d2 = ell_threshold(sizes, ell, nothing, everything, groups, limit, scratch)
        left = limit - _rows_below(sizes, ell, nothing, d2, groups)
        return size_threshold(sizes, ell, d2, d2, groups, left, scratch), int64(d2)
    if rule == KL_ORDERED_L:
        d1 = size_threshold(sizes, ell, nothing, everything, groups, limit, scratch)
        left = limit - _rows_below(sizes, ell, d1, nothing, groups)
        return int64(d1), ell_threshold(sizes, ell, d1, d1, groups, left, scratch)
    if rule == KL_STRICT_K:
        d1 = size_threshold(sizes, ell, nothing, everything, groups, limit, scratch)
        left = limit - _rows_below(sizes, ell, d1, nothing, groups)
        return int64(d1), ell_threshold(sizes, ell, d1, everything, groups, left, scratch)
    d2 = ell_threshold(sizes, ell, nothing, everything, groups, limit, scratch)
    left = limit - _rows_below(sizes, ell, nothing, d2, groups)
    return size_threshold(sizes, ell, d2, everything, groups, left, scratch), int64(d2)


@compiled
def is_kept(rule: int, size: int, ell: int, d1: int, d2: int) -> bool:
    """Whether a group stays under a rule with thresholds (d1, d2)."""
    if rule == KL_ORDERED_K:
        return ell > d2 or (ell == d2 and size >= d1)
    if rule == KL_ORDERED_L:
        return size > d1 or (size == d1 and ell >= d2)
    return size >= d1 and ell >= d2


@compiled
def measure_groups(
    rule: int,
    sizes: Words,
    losses: Ints,
    ell: Words,
    groups: int,
    rows: int,
    limit: int,
    given: Ints,
    scratch: Scratch,
    out: Ints,
) -> None:
    """Fill one row of integer results (`FIELDS`) for the groups of a genome.

    `given` holds (d1, d2) for the rule GIVEN and is not looked at otherwise.
    """
    squares = int64(0)
    loss_all = int64(0)
    for group in range(groups):
        size = int64(sizes[group])
        squares += size * size
        loss_all += size * losses[group]
    if rule == GIVEN:
        d1, d2 = int64(given[0]), int64(given[1])
    else:
        d1, d2 = thresholds(rule, sizes, ell, groups, rows, squares, limit, scratch)
    kept = 0
    kept_rows = int64(0)
    kept_squares = int64(0)
    kept_loss = int64(0)
    smallest = int64(2**62)
    largest = int64(0)
    for group in range(groups):
        size = int64(sizes[group])
        if is_kept(rule, size, int64(ell[group]), d1, d2):
            kept += 1
            kept_rows += size
            kept_squares += size * size
            kept_loss += size * losses[group]
            smallest = min(smallest, size)
            largest = max(largest, size)
    out[0] = groups
    out[1] = squares
    out[2] = loss_all
    out[3] = d1
    out[4] = d2
    out[5] = rows - kept_rows
    out[6] = kept
    out[7] = kept_squares
    out[8] = kept_loss
    out[9] = smallest if kept else 0
    out[10] = largest


@compiled
def measure_within_limit(
    sizes: Words, losses: Ints, groups: int, limit: int, scratch: Scratch, out: Ints
) -> None:
    """Do what `measure_groups` does for the rule WITHIN_LIMIT, in one pass over the groups.

    For limits below 4,096 rows, where a class is one size. What is given up is added up from the
    classes, and what is kept is the rest.
    """
    squares = int64(0)
    loss_all = int64(0)
    largest = int64(0)
    larger = int64(2**62)  # smallest size beyond the limit
    last = int64(0)
    for group in range(groups):
        size = int64(sizes[group])
        loss = size * losses[group]
        squares += size * size
        loss_all += loss
        largest = max(largest, size)
        if size <= limit:
            scratch.rows[size] += size
            scratch.loss[size] += loss
            last = max(last, size)
        else:
            larger = min(larger, size)
    threshold = larger
    gone_rows = int64(0)
    gone_squares = int64(0)
    gone_loss = int64(0)
    gone = int64(0)
    for size in range(1, last + 1):
        class_rows = scratch.rows[size]
        if threshold == larger and class_rows:
            if gone_rows + class_rows > limit:
                threshold = int64(size)
            else:
                gone_rows += class_rows
                gone_squares += class_rows * size
                gone_loss += scratch.loss[size]
                gone += class_rows // size
        scratch.rows[size] = 0
        scratch.loss[size] = 0
    out[0] = groups
    out[1] = squares
    out[2] = loss_all
    out[3] = threshold
    out[4] = 0
    out[5] = gone_rows
    out[6] = groups - gone
    out[7] = squares - gone_squares
    out[8] = loss_all - gone_loss
    out[9] = threshold
    out[10] = largest


@compiled
def size_steps(
    sizes: Words, losses: Ints, groups: int, top: int, loss_all: int, scratch: Scratch, out: Ints
) -> int:
    """Staircase of one genome: one row (k, suppressed rows, loss of kept rows) for each k.

    Listed are the group sizes that occur up to `top`; giving up all groups smaller than one of them
    leaves exactly that k. A threshold between two sizes suppresses the same rows as the larger one.
    Returns the number of rows written.
    """
    last = min(top, _CLASSES - 1)
    beyond = int64(0)
    for group in range(groups):
        size = int64(sizes[group])
        if size <= last:
            scratch.rows[size] += size
            scratch.loss[size] += size * losses[group]
        elif size <= top:
            scratch.picked[beyond] = group
            scratch.keys[beyond] = size
            beyond += 1
    steps = 0
    suppressed = int64(0)
    lost = int64(0)
    for size in range(1, last + 1):
        if scratch.rows[size]:
            out[steps, 0] = size
            out[steps, 1] = suppressed
            out[steps, 2] = loss_all - lost
            steps += 1
            suppressed += scratch.rows[size]
            lost += scratch.loss[size]
            scratch.rows[size] = 0
            scratch.loss[size] = 0
    sort_by(scratch.keys, scratch.picked, beyond)
    before = int64(-1)
    for i in range(beyond):
        size = scratch.keys[i]
        if size != before:
            out[steps, 0] = size
            out[steps, 1] = suppressed
            out[steps, 2] = loss_all - lost
            steps += 1
            before = size
        suppressed += size
        lost += size * losses[scratch.picked[i]]
    return steps


@compiled
def safety_steps(
    sizes: Words,
    losses: Ints,
    ell: Words,
    groups: int,
    limit: int,
    loss_all: int,
    scratch: Scratch,
    out: Ints,
) -> int:
    """Staircase in two dimensions: all (k, l) that a genome can be made safe for within `limit`.

    A row (k, l, suppressed rows, loss of kept rows) stands for giving up every group smaller than k
    or less diverse than l. Listed are the pairs that the kept groups attain exactly; any other pair
    of thresholds within the limit keeps the same groups as one of these. Of two listed pairs, the
    one with both thresholds at least as high keeps fewer rows: in (k, l, suppressed) none dominates
    another. Returns the number of rows written.
    """
    highest = int64(0)
    for group in range(groups):
        value = ell[group]
        scratch.tallest[value] = max(scratch.tallest[value], int64(sizes[group]))
        highest = max(highest, int64(value))
    top = size_threshold(sizes, ell, int64(0), highest, groups, limit, scratch)
    small = int64(0)  # groups that some threshold within the limit can give up, or stop at
    for group in range(groups):
        if sizes[group] <= top:
            scratch.picked[small] = group
            scratch.keys[small] = sizes[group]
            small += 1
    sort_by(scratch.keys, scratch.picked, small)
    steps = 0
    for least in range(highest + 1):
        tallest = scratch.tallest[least]
        if tallest == 0:
            continue
        suppressed = int64(0)
        lost = int64(0)
        for group in range(groups):
            if ell[group] < least:
                suppressed += sizes[group]
                lost += sizes[group] * losses[group]
        if suppressed > limit:
            break
        before = int64(-1)
        for i in range(small):
            group = scratch.picked[i]
            size = scratch.keys[i]
            if ell[group] < least:
                continue
            if size > tallest or suppressed > limit:
                break
            if size != before:
                out[steps, 0] = size
                out[steps, 1] = least
                out[steps, 2] = suppressed
                out[steps, 3] = loss_all - lost
                steps += 1
                before = size
            suppressed += size
            lost += size * losses[group]
    for value in range(highest + 1):
        scratch.tallest[value] = 0
    return steps
