"""Questions about all sets of columns: the border, one number each, or the whole curve of each.

Sets that need not be grouped are left out. Z's algorithms 2 and 3 go level by level: a set is
grouped only if all its subsets with one column less are *alive*, which means that they do not
decide the answer for everything above them. Here sets come in the order of their bit masks instead,
in which every subset of a set still comes before the set. The sets that get grouped are the same,
one by one; but each set's groups are at hand when its supersets split them, and only one partition
per column is in memory instead of a whole level.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from math import comb

import numpy as np

from moanon.arrays import Bools, Ints
from moanon.diagnosis.column_groups import DistinctRows
from moanon.diagnosis.diagnosis_answers import (
    BorderAnswer,
    Curve,
    CurvesAnswer,
    Levels,
    RatedSet,
    SetsAnswer,
)
from moanon.diagnosis.questions import DiagnosisQuestion
from moanon.errors import ConfigError

#: Answers that hold something for every set have room for so many: all sets of 20 columns.
MAX_LISTED = (1 << 20) - 1
#: A walk that groups more sets than this would not end, nor would anybody read its answer.
MAX_GROUPED = 1 << 22

#: Takes a set of columns and its curve; says whether the set is alive.
_Judge = Callable[[int, Curve], bool]
#: Takes the number of sets that are decided so far, and of all sets.
SetsProgress = Callable[[int, int], None]


def find_border(
    table: DistinctRows, asked: DiagnosisQuestion, progress: SetsProgress | None = None
) -> BorderAnswer:
    """Find the largest safe and the smallest unsafe sets (questions 3 and 7; Z algorithm 2).

    A set is grouped only if all sets within it are safe. What is grouped and unsafe is then a
    smallest unsafe set; what is safe and within no other safe set is a largest one. Where a model
    is not monotone, every set is grouped.
    """
    level = asked.level
    assert level is not None
    monotone = asked.model.is_monotone(suppressing=asked.limit > 0)
    columns, largest, limit = len(table.names), asked.largest, asked.limit
    refiner = table.refine(asked.model, largest)

    def is_safe(curve: Curve) -> bool:
        if asked.is_protective:
            return curve.reaches(level, limit)
        return curve.exceeds(level, limit)

    everything = refiner.finest()
    if monotone and largest == columns and is_safe(everything):
        whole = RatedSet(table.names, *everything.within(limit))
        sizes = {size: (comb(columns, size), 0) for size in range(1, columns + 1)}
        return BorderAnswer(asked, (whole,), (), sizes, 0, True)
    if not monotone:
        _refuse_too_many(columns, largest)
    safe: dict[int, tuple[float, int]] = {}
    unsafe: dict[int, tuple[float, int]] = {}

    def judge(mask: int, curve: Curve) -> bool:
        good = is_safe(curve)
        (safe if good else unsafe)[mask] = curve.within(limit)
        return good or not monotone

    _walk(refiner.add, columns, largest, judge, progress)
    grouped = (*safe, *unsafe)
    # Where the model is monotone, whatever lies between two safe sets is safe.
    tops = _tops(safe, safe if monotone else grouped)
    bottoms = list(unsafe) if monotone else _bottoms(unsafe, grouped, columns)
    return BorderAnswer(
        asked=asked,
        safe=_rated(table, tops, safe),
        unsafe=_rated(table, bottoms, unsafe),
        sizes=_count_by_size(safe, columns, largest),
        grouped=len(grouped),
        is_monotone=monotone,
    )


def rate_sets(
    table: DistinctRows, asked: DiagnosisQuestion, progress: SetsProgress | None = None
) -> SetsAnswer:
    """Find the level of every set, or what a level costs on it (questions 4, 8, 10; Z algorithm 3).

    No set is less safe than all columns together, which are the distinct rows themselves. So a set
    that is no safer than them decides all its supersets (Z uses this for k = 1 only).
    """
    columns, largest = len(table.names), asked.largest
    _refuse_too_many(columns, largest)
    refiner = table.refine(asked.model, largest)
    asks_cost = asked.asks_delta
    monotone = asked.model.is_monotone(suppressing=asks_cost or asked.limit > 0)
    everything = refiner.finest()
    worst = _cost(everything, asked) if asks_cost else everything.within(asked.limit)[0]
    found: dict[int, tuple[float, int]] = {}

    def judge(mask: int, curve: Curve) -> bool:
        if asks_cost:
            cost = _cost(curve, asked)
            found[mask] = 0, cost
            return not monotone or cost != worst
        found[mask] = curve.within(asked.limit)
        return not monotone or found[mask][0] != worst

    _walk(refiner.add, columns, largest, judge, progress)
    masks, grouped = _all_sets(table, largest, found)
    # Where all columns together reach their level without suppression, so do all other sets.
    unknown = (0, worst) if asks_cost else (worst, 0 if everything.cost(worst) == 0 else -1)
    levels, suppressed = zip(*(found.get(m, unknown) for m in masks.tolist()), strict=True)
    return SetsAnswer(
        asked=asked,
        masks=masks,
        grouped=grouped,
        columns_of=table.columns_of,
        levels=None if asks_cost else _as_array(levels, whole=asked.model.is_whole),
        suppressed=np.array(suppressed, dtype=np.int64),
    )


def draw_curves(
    table: DistinctRows, asked: DiagnosisQuestion, progress: SetsProgress | None = None
) -> CurvesAnswer:
    """Find the curve of every set (question 12).

    Rows are never safer on a set than on its subsets (k, distinct values). So where a set has the
    same curve as all columns together, every set in between has it too.
    """
    columns, largest = len(table.names), asked.largest
    _refuse_too_many(columns, largest)
    refiner = table.refine(asked.model, largest)
    monotone = asked.model.is_monotone(suppressing=True)
    everything = refiner.finest()
    found: dict[int, Curve] = {}

    def judge(mask: int, curve: Curve) -> bool:
        found[mask] = curve
        return not (
            monotone
            and np.array_equal(curve.strengths, everything.strengths)
            and np.array_equal(curve.rows, everything.rows)
        )

    _walk(refiner.add, columns, largest, judge, progress)
    masks, grouped = _all_sets(table, largest, found)
    curves = tuple(found.get(mask, everything) for mask in masks.tolist())
    return CurvesAnswer(asked, masks, grouped, table.columns_of, curves)


def _cost(curve: Curve, asked: DiagnosisQuestion) -> int:
    """Rows that must go, or can go, for the level asked for; -1 where there is no such number."""
    assert asked.level is not None
    cost = curve.cost(asked.level) if asked.is_protective else curve.slack(asked.level)
    return -1 if cost is None else cost


def _as_array(levels: Sequence[float], *, whole: bool) -> Levels:
    return np.array(levels, dtype=np.int64) if whole else np.array(levels, dtype=np.float64)


def _refuse_too_many(columns: int, largest: int) -> None:
    sets = _count_sets(columns, largest)
    if sets > MAX_LISTED:
        raise ConfigError(
            f"{columns} columns have {sets:,} sets, and at most {MAX_LISTED:,} can be gone "
            "through; name fewer columns, or ask about smaller sets"
        )


# -- going through the sets ------------------------------------------------------------------------


@cache
def _count_sets(columns: int, largest: int) -> int:
    """Count the sets of one up to `largest` of some columns.

    >>> _count_sets(5, 5), _count_sets(5, 2)
    (31, 15)
    """
    return sum(comb(columns, size) for size in range(1, min(columns, largest) + 1))


def _walk(
    add: Callable[..., Curve],
    columns: int,
    largest: int,
    judge: _Judge,
    progress: SetsProgress | None = None,
) -> None:
    """Group every set of at most `largest` columns whose smaller subsets are all alive.

    `add` is that of the refined table. `judge` is called once for each set that is grouped, with
    its curve; where it says False, no superset is grouped. More than `MAX_GROUPED` sets are
    refused.
    """
    sets = _count_sets(columns, largest)
    alive = {0}
    grouped = decided = 0

    def visit(mask: int, level: int, highest: int) -> None:
        nonlocal grouped, decided
        for bit in range(highest):
            new = mask | 1 << bit
            # The sets below `new` in the order of visits: it, and it with lower bits.
            below = 1 + _count_sets(bit, largest - level - 1)
            if not _all_smaller_in(new, alive):
                decided += below
                continue
            last = bit == 0 or level + 1 == largest
            curve = add(level, bit, highest, last=last)
            grouped += 1
            if grouped > MAX_GROUPED:
                raise ConfigError(
                    f"more than {MAX_GROUPED:,} sets of the {columns} columns would have to be "
                    "grouped; name fewer columns, or ask about smaller sets"
                )
            is_alive = judge(new, curve)
            decided += 1 if is_alive else below
            if progress is not None:
                progress(decided, sets)
            if is_alive:
                alive.add(new)
                if not last:
                    visit(new, level + 1, bit)

    visit(0, 0, columns)
    if progress is not None:
        progress(sets, sets)  # what came last may have been decided without a look


def _all_smaller_in(mask: int, alive: set[int]) -> bool:
    rest = mask  # not by `_bits`: this is asked of every set
    while rest:
        bit = rest & -rest
        if mask ^ bit not in alive:
            return False
        rest ^= bit
    return True


def _bits(mask: int) -> Iterator[int]:
    while mask:
        bit = mask & -mask
        yield bit
        mask ^= bit


# -- sets in order ---------------------------------------------------------------------------------


def _all_sets(table: DistinctRows, largest: int, found: Collection[int]) -> tuple[Ints, Bools]:
    """List all sets by size, then in the order of the owner's columns, and whether it was found."""
    columns = len(table.names)
    if largest == columns:
        masks = np.arange(1, 1 << columns, dtype=np.int64)
    else:
        layer, layers = [0], []
        for _ in range(largest):
            # Each set once: with its highest bit added last.
            layer = [mask | 1 << bit for mask in layer for bit in range(mask.bit_length(), columns)]
            layers += layer
        masks = np.array(layers, dtype=np.int64)
    place: Ints = np.zeros_like(masks)
    for position, bit in enumerate(table.bits):
        place |= (masks >> bit & 1) << (columns - 1 - position)
    masks = masks[np.lexsort((-place, np.bitwise_count(masks)))]
    return masks, np.array([mask in found for mask in masks.tolist()])


def _rated(
    table: DistinctRows, masks: Iterable[int], levels: dict[int, tuple[float, int]]
) -> tuple[RatedSet, ...]:
    sets = [RatedSet(table.columns_of(mask), *levels[mask]) for mask in masks]
    return tuple(
        sorted(
            sets, key=lambda each: (len(each.columns), [table.names.index(n) for n in each.columns])
        )
    )


def _count_by_size(safe: Iterable[int], columns: int, largest: int) -> dict[int, tuple[int, int]]:
    counts = [0] * (columns + 1)
    for mask in safe:
        counts[mask.bit_count()] += 1
    return {
        size: (counts[size], comb(columns, size) - counts[size]) for size in range(1, largest + 1)
    }


def _tops(chosen: Collection[int], between: Iterable[int]) -> list[int]:
    """Chosen sets that no other chosen set contains; `between` are all that may lie between two."""
    covered: set[int] = set()
    tops = []
    for mask in sorted(between, key=int.bit_count, reverse=True):
        if mask in chosen and mask not in covered:
            tops.append(mask)
        if mask in chosen or mask in covered:
            covered.update(mask ^ bit for bit in _bits(mask))
    return tops


def _bottoms(chosen: Collection[int], between: Iterable[int], columns: int) -> list[int]:
    """Chosen sets that contain no other chosen set."""
    # What is left out of a set contains what is left out of a larger one.
    everything = (1 << columns) - 1
    tops = _tops({everything ^ mask for mask in chosen}, [everything ^ mask for mask in between])
    return [everything ^ mask for mask in tops]
