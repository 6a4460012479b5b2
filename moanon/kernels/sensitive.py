"""What a group reveals about a sensitive value: one number per group, by each rule.

Numbers are turned so that higher is safer: diversities as they are, distances from the table with
a minus sign. Counts and sums are integers; a distance is one division of two of them, so equal
shares give equal numbers and a comparison with a written limit such as 0.2 is the one meant. The
two rules with logarithms are rounded to twelve decimals for the same reason: two values of equal
share must have an entropy diversity of 2, not of 1.9999999999999998.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.kernels.jit import compiled, int64

__all__ = [
    "DISTINCT",
    "ENTROPY",
    "EQUAL",
    "FREQUENCY",
    "JENSEN_SHANNON",
    "ORDERED",
    "RECURSIVE",
    "TREE",
    "RateScratch",
    "Reference",
    "ValueCounts",
    "make_rate_scratch",
    "rate_groups",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]

DISTINCT = 0  # number of values
FREQUENCY = 1  # floor(size / largest count), D def. 4
ENTROPY = 2  # exp of the entropy
RECURSIVE = 3  # largest ℓ with r1 < c (r_ℓ + … + r_m)
EQUAL = 4  # earth mover's distance where any two values are equally far apart
ORDERED = 5  # ... where they stand in a line
TREE = 6  # ... where they are leaves of a tree
JENSEN_SHANNON = 7  # divergence with natural logarithms, L §5.1

_DECIMALS = 1e12


class ValueCounts(NamedTuple):
    """Values of one sensitive column in each cell (compressed rows)."""

    starts: Ints
    values: npt.NDArray[np.int32]
    counts: Ints


class Reference(NamedTuple):
    """What the values of a group are measured against.

    Attributes
    ----------
    totals : array (values,)
        Rows of each value in the whole table.
    place : array (values,)
        ORDERED: place in the line, from 0. TREE: the leaf's node.
    place_totals : array (places,)
        Rows of each place in the whole table.
    running, area : arrays (places,), (places + 1,)
        ORDERED: rows at each place and before it; and the sums of these over all earlier places.
    parent, height : arrays (nodes,)
        TREE: nodes in pre-order, and the number of steps down to the deepest leaf below.
    c : array (2,)
        RECURSIVE: numerator and denominator of c.
    """

    totals: Ints
    place: Ints
    place_totals: Ints
    running: Ints
    area: Ints
    parent: Ints
    height: Ints
    c: Ints


class RateScratch(NamedTuple):
    """Scratch of one thread; zero between calls."""

    rows: Ints  # per value
    seen: Ints  # values of the group at hand
    sorted: Ints  # their counts or places
    extra: Ints  # per place: rows of the group, or what they are beyond their share
    surplus: Ints  # per node: sum over children that have more
    deficit: Ints  # per node: sum over children that have less


def make_rate_scratch(reference: Reference) -> RateScratch:
    """Allocate scratch for groups of one sensitive column."""
    values, places = len(reference.totals), len(reference.place_totals)
    return RateScratch(
        *(np.zeros(values, dtype=np.int64) for _ in range(3)),
        *(np.zeros(places, dtype=np.int64) for _ in range(3)),
    )


@compiled
def _sort_descending(counts: Ints, number: int) -> None:
    """Sort the first `number` counts (Shell's sort: little code, and the runs are short)."""
    gap = 1
    while gap < number // 3:
        gap = 3 * gap + 1
    while gap:
        for i in range(gap, number):
            count = counts[i]
            at = i
            while at >= gap and counts[at - gap] < count:
                counts[at] = counts[at - gap]
                at -= gap
            counts[at] = count
        gap //= 3


@compiled
def _entropy(size: int, seen: int, scratch: RateScratch) -> float:
    _sort_descending(scratch.sorted, seen)  # a sum of floats depends on their order
    total = 0.0
    for i in range(seen):
        share = scratch.sorted[i] / size
        total -= share * np.log(share)
    return float(np.rint(np.exp(total) * _DECIMALS) / _DECIMALS)


@compiled
def _recursive(size: int, seen: int, c: Ints, scratch: RateScratch) -> float:
    _sort_descending(scratch.sorted, seen)
    tail = size  # ℓ = 1 leaves out no value, ℓ = 2 the most frequent one, ...
    ell = 0
    while ell < seen and scratch.sorted[0] * c[1] < c[0] * tail:
        tail -= scratch.sorted[ell]
        ell += 1
    return float(ell)


@compiled
def _equal(size: int, rows: int, seen: int, totals: Ints, scratch: RateScratch) -> float:
    """½ Σ |p - q| over all values; of those that do not occur, q alone is left."""
    twice = size * rows
    for i in range(seen):
        value = scratch.seen[i]
        expected = size * totals[value]
        twice += abs(rows * scratch.rows[value] - expected) - expected
    return -(float(twice) / float(2 * size * rows))


@compiled
def _carried(low: int, end: int, have: int, size: int, reference: Reference) -> float:
    """Sum of |have - size * running| over the gaps ``low .. end - 1``.

    `running` rises, so the sign changes once; what lies on either side of that place comes from
    the sums in `area`. Floats are exact here as long as the result is below 2^53.
    """
    first, last = low, end  # the change is at one of first .. last
    while first < last:
        middle = (first + last) // 2
        if size * reference.running[middle] > have:
            last = middle
        else:
            first = middle + 1
    before = float(reference.area[first] - reference.area[low])
    after = float(reference.area[end] - reference.area[first])
    return float(have) * (first - low) - size * before + size * after - float(have) * (end - first)


@compiled
def _ordered(size: int, rows: int, seen: int, reference: Reference, scratch: RateScratch) -> float:
    """1/(m-1) Σ |running sum of p - q|: what must be carried over each gap of the line.

    Only the places where the group has rows are looked at: of a salary there may be thousands of
    others.
    """
    gaps = len(reference.running) - 1
    found = 0
    for i in range(seen):
        value = scratch.seen[i]
        place = reference.place[value]
        if scratch.extra[place] == 0:
            scratch.sorted[found] = place
            found += 1
        scratch.extra[place] += scratch.rows[value]
    _sort_descending(scratch.sorted, found)
    work = 0.0
    low = int64(0)
    have = int64(0)
    for i in range(found - 1, -1, -1):
        place = scratch.sorted[i]
        work += _carried(low, place, rows * have, size, reference)
        have += scratch.extra[place]
        scratch.extra[place] = 0
        low = place
    if low < gaps:
        work += _carried(low, int64(gaps), rows * have, size, reference)
    return -(work / (float(size * rows) * max(1, gaps)))


@compiled
def _tree(size: int, rows: int, seen: int, reference: Reference, scratch: RateScratch) -> float:
    """Sum over inner nodes of height/H times what must be carried from child to child.

    (Li, Li & Venkatasubramanian, t-closeness, §5.2.)
    """
    for place in range(len(scratch.extra)):
        scratch.extra[place] = -size * reference.place_totals[place]
    for i in range(seen):
        value = scratch.seen[i]
        scratch.extra[reference.place[value]] += rows * scratch.rows[value]
    work = 0.0
    for node in range(len(scratch.extra) - 1, -1, -1):
        work += float(reference.height[node]) * float(
            min(scratch.surplus[node], scratch.deficit[node])
        )
        scratch.surplus[node] = 0
        scratch.deficit[node] = 0
        if node:
            extra = scratch.extra[node]
            above = reference.parent[node]
            scratch.extra[above] += extra
            if extra > 0:
                scratch.surplus[above] += extra
            else:
                scratch.deficit[above] -= extra
    return -float(work / (float(size * rows) * max(1, reference.height[0])))


@compiled
def _jensen_shannon(size: int, rows: int, seen: int, totals: Ints, scratch: RateScratch) -> float:
    divergence = 0.0
    missed = 1.0  # share of the values that do not occur in the group
    for i in range(seen):
        value = scratch.seen[i]
        p = scratch.rows[value] / size
        q = totals[value] / rows
        middle = (p + q) / 2
        divergence += p * np.log(p / middle) + q * np.log(q / middle)
        missed -= q
    divergence = (divergence + missed * np.log(2.0)) / 2
    return -float(max(0.0, np.rint(divergence * _DECIMALS) / _DECIMALS))


@compiled
def _rate(
    rule: int, size: int, rows: int, seen: int, reference: Reference, scratch: RateScratch
) -> float:
    if rule == DISTINCT:
        return float(seen)
    if rule == EQUAL:
        return _equal(size, rows, seen, reference.totals, scratch)
    if rule == JENSEN_SHANNON:
        return _jensen_shannon(size, rows, seen, reference.totals, scratch)
    if rule == ORDERED:
        return _ordered(size, rows, seen, reference, scratch)
    if rule == TREE:
        return _tree(size, rows, seen, reference, scratch)
    most = int64(0)
    for i in range(seen):
        scratch.sorted[i] = scratch.rows[scratch.seen[i]]
        most = max(most, scratch.sorted[i])
    if rule == FREQUENCY:
        return float(size // most)
    if rule == ENTROPY:
        return _entropy(size, seen, scratch)
    return _recursive(size, seen, reference.c, scratch)


@compiled
def rate_groups(
    rule: int,
    cells: Words,
    group_of: Words,
    entries: int,
    rows: int,
    counts: ValueCounts,
    reference: Reference,
    scratch: RateScratch,
    out: Floats,
) -> None:
    """Rate each group of cells; where `out` holds a lower number already, that one stays.

    Parameters
    ----------
    cells, group_of : arrays
        Cells listed group by group, and the number of each one's group.
    entries : int
        How many of them to look at.
    rows : int
        Rows of the whole table.
    """
    i = 0
    while i < entries:
        group = group_of[i]
        size = int64(0)
        seen = 0
        while i < entries and group_of[i] == group:
            cell = cells[i]
            for at in range(counts.starts[cell], counts.starts[cell + np.uint32(1)]):
                value = counts.values[at]
                if scratch.rows[value] == 0:
                    scratch.seen[seen] = value
                    seen += 1
                scratch.rows[value] += counts.counts[at]
                size += counts.counts[at]
            i += 1
        out[group] = min(out[group], _rate(rule, size, rows, seen, reference, scratch))
        for j in range(seen):
            scratch.rows[scratch.seen[j]] = 0
