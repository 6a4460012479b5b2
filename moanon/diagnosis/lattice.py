"""Questions about all sets of columns: the border, one number each, or the whole curve of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from math import comb

import numpy as np
import numpy.typing as npt

from moanon.diagnosis.answers import BorderAnswer, CurvesAnswer, RatedSet, SetsAnswer
from moanon.diagnosis.asked import Asked
from moanon.diagnosis.curves import Curve, Levels
from moanon.diagnosis.models import Model
from moanon.diagnosis.sheet import Refiner, Sheet
from moanon.diagnosis.walk import Effort, Progress, count_sets, walk
from moanon.errors import QuestionError

__all__ = ["MAX_LISTED", "draw_curves", "find_border", "rate_sets"]

#: Answers that hold something for every set have room for so many: all sets of 20 columns.
MAX_LISTED = (1 << 20) - 1

Masks = npt.NDArray[np.int64]


def find_border(sheet: Sheet, asked: Asked, progress: Progress | None = None) -> BorderAnswer:
    """Find the largest safe and the smallest unsafe sets (questions 3 and 7; Z algorithm 2).

    A set is grouped only if all sets within it are safe. What is grouped and unsafe is then a
    smallest unsafe set; what is safe and within no other safe set is a largest one. Where a model
    is not monotone, every set is grouped.
    """
    level = asked.level
    assert level is not None
    monotone = asked.model.is_monotone(suppressing=asked.limit > 0)
    columns, largest, limit = len(sheet.names), asked.largest, asked.limit
    refiner = Refiner(sheet, asked.model, largest)

    def is_safe(curve: Curve) -> bool:
        if asked.is_protective:
            return curve.reaches(level, limit)
        return curve.exceeds(level, limit)

    everything = refiner.finest()
    if monotone and largest == columns and is_safe(everything):
        whole = RatedSet(sheet.names, *everything.within(limit))
        sizes = {size: (comb(columns, size), 0) for size in range(1, columns + 1)}
        return BorderAnswer(
            asked, (whole,), (), sizes, Effort(count_sets(columns, largest), 0), True
        )
    if not monotone:
        _refuse_too_many(columns, largest)
    safe: dict[int, tuple[float, int]] = {}
    unsafe: dict[int, tuple[float, int]] = {}

    def judge(mask: int, curve: Curve) -> bool:
        good = is_safe(curve)
        (safe if good else unsafe)[mask] = curve.within(limit)
        return good or not monotone

    effort = walk(refiner, columns, largest, judge, progress)
    grouped = (*safe, *unsafe)
    # Where the model is monotone, whatever lies between two safe sets is safe.
    tops = _tops(safe, safe if monotone else grouped)
    bottoms = list(unsafe) if monotone else _bottoms(unsafe, grouped, columns)
    return BorderAnswer(
        asked=asked,
        safe=_rated(sheet, tops, safe),
        unsafe=_rated(sheet, bottoms, unsafe),
        sizes=_count_by_size(safe, columns, largest),
        effort=effort,
        is_monotone=monotone,
    )


def rate_sets(sheet: Sheet, asked: Asked, progress: Progress | None = None) -> SetsAnswer:
    """Find the level of every set, or what a level costs on it (questions 4, 8, 10; Z algorithm 3).

    No set is less safe than all columns together, which are the distinct rows themselves. So a set
    that is no safer than them settles all its supersets (Z uses this for k = 1 only).
    """
    columns, largest = len(sheet.names), asked.largest
    _refuse_too_many(columns, largest)
    refiner = Refiner(sheet, asked.model, largest)
    asks_cost = asked.question.suppressing == "asked"
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

    effort = walk(refiner, columns, largest, judge, progress)
    masks = _all_masks(sheet, largest)
    # Where all columns together reach their level without suppression, so do all other sets.
    unknown = (0, worst) if asks_cost else (worst, 0 if everything.cost(worst) == 0 else -1)
    levels, suppressed = zip(*(found.get(m, unknown) for m in masks.tolist()), strict=True)
    return SetsAnswer(
        asked=asked,
        masks=masks,
        levels=None if asks_cost else _as_array(levels, asked.model),
        suppressed=np.array(suppressed, dtype=np.int64),
        grouped=np.array([mask in found for mask in masks.tolist()]),
        effort=effort,
        columns_of=sheet.columns_of,
    )


def draw_curves(sheet: Sheet, asked: Asked, progress: Progress | None = None) -> CurvesAnswer:
    """Find the curve of every set (question 12).

    Rows are never safer on a set than on its subsets (k, distinct values). So where a set has the
    same curve as all columns together, every set in between has it too.
    """
    columns, largest = len(sheet.names), asked.largest
    _refuse_too_many(columns, largest)
    refiner = Refiner(sheet, asked.model, largest)
    monotone = asked.model.is_monotone(suppressing=True)
    everything = refiner.finest()
    found: dict[int, Curve] = {}

    def judge(mask: int, curve: Curve) -> bool:
        found[mask] = curve
        return not (monotone and _is_same(curve, everything))

    effort = walk(refiner, columns, largest, judge, progress)
    masks = _all_masks(sheet, largest)
    return CurvesAnswer(
        asked=asked,
        masks=masks,
        curves=tuple(found.get(mask, everything) for mask in masks.tolist()),
        grouped=np.array([mask in found for mask in masks.tolist()]),
        effort=effort,
        columns_of=sheet.columns_of,
    )


def _cost(curve: Curve, asked: Asked) -> int:
    """Rows that must go, or can go, for the level asked for; -1 where there is no such number."""
    assert asked.level is not None
    cost = curve.cost(asked.level) if asked.is_protective else curve.slack(asked.level)
    return -1 if cost is None else cost


def _as_array(levels: Sequence[float], model: Model) -> Levels:
    if model.is_whole:
        return np.array(levels, dtype=np.int64)
    return np.array(levels, dtype=np.float64)


def _is_same(one: Curve, other: Curve) -> bool:
    return np.array_equal(one.strengths, other.strengths) and np.array_equal(one.rows, other.rows)


def _refuse_too_many(columns: int, largest: int) -> None:
    sets = count_sets(columns, largest)
    if sets > MAX_LISTED:
        raise QuestionError(
            f"{columns} columns have {sets:,} sets, and at most {MAX_LISTED:,} can be gone "
            "through; name fewer columns, or ask about smaller sets"
        )


def _all_masks(sheet: Sheet, largest: int) -> Masks:
    """List all sets by size, then in the order of the owner's columns."""
    columns = len(sheet.names)
    if largest == columns:
        masks = np.arange(1, 1 << columns, dtype=np.int64)
    else:
        layer, layers = [0], []
        for _ in range(largest):
            # Each set once: with its highest bit added last.
            layer = [mask | 1 << bit for mask in layer for bit in range(mask.bit_length(), columns)]
            layers += layer
        masks = np.array(layers, dtype=np.int64)
    place = np.zeros_like(masks)
    for position, bit in enumerate(sheet.bits):
        place |= (masks >> bit & 1) << (columns - 1 - position)
    return masks[np.lexsort((-place, np.bitwise_count(masks)))]


def _rated(
    sheet: Sheet, masks: Iterable[int], levels: dict[int, tuple[float, int]]
) -> tuple[RatedSet, ...]:
    sets = [RatedSet(sheet.columns_of(mask), *levels[mask]) for mask in masks]
    return tuple(
        sorted(
            sets,
            key=lambda each: (len(each.columns), [sheet.names.index(n) for n in each.columns]),
        )
    )


def _count_by_size(safe: Iterable[int], columns: int, largest: int) -> dict[int, tuple[int, int]]:
    counts = [0] * (columns + 1)
    for mask in safe:
        counts[mask.bit_count()] += 1
    return {
        size: (counts[size], comb(columns, size) - counts[size]) for size in range(1, largest + 1)
    }


def _bits(mask: int) -> Iterator[int]:
    while mask:
        bit = mask & -mask
        yield bit
        mask ^= bit


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
    covered: set[int] = set()
    bottoms = []
    everything = (1 << columns) - 1
    for mask in sorted(between, key=int.bit_count):
        if mask in chosen and mask not in covered:
            bottoms.append(mask)
        if mask in chosen or mask in covered:
            covered.update(mask | bit for bit in _bits(everything ^ mask))
    return bottoms
