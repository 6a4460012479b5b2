"""Going through the sets of columns, leaving out those that need not be grouped.

Z's algorithms 2 and 3 go level by level: a set is grouped only if all its subsets with one column
less are *alive*, which means that they do not settle the answer for everything above them. Here
sets come in the order of their bit masks instead, in which every subset of a set still comes before
the set. The sets that get grouped are the same, one by one; but each set's groups are at hand when
its supersets split them, and only one partition per column is in memory instead of a whole level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import comb

from moanon.diagnosis.curves import Curve
from moanon.diagnosis.sheet import Refiner
from moanon.errors import QuestionError

__all__ = ["MAX_GROUPED", "Effort", "Judge", "Progress", "count_sets", "walk"]

#: A walk that groups more sets than this would not end, nor would anybody read its answer.
MAX_GROUPED = 1 << 22

#: Takes a set of columns and its curve; says whether the set is alive.
Judge = Callable[[int, Curve], bool]
#: Takes the number of sets that are settled so far, and of all sets.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Effort:
    """What a search cost.

    Attributes
    ----------
    sets : int
        Sets of columns the question is about.
    grouped : int
        Sets whose groups were counted.
    """

    sets: int
    grouped: int

    @property
    def avoided(self) -> int:
        """Sets whose answer followed from that of others."""
        return self.sets - self.grouped


@cache
def count_sets(columns: int, largest: int) -> int:
    """Count the sets of one up to `largest` of some columns.

    >>> count_sets(5, 5), count_sets(5, 2)
    (31, 15)
    """
    return sum(comb(columns, size) for size in range(1, min(columns, largest) + 1))


def walk(
    refiner: Refiner,
    columns: int,
    largest: int,
    judge: Judge,
    progress: Progress | None = None,
) -> Effort:
    """Group every set of at most `largest` columns whose smaller subsets are all alive.

    Parameters
    ----------
    refiner : Refiner
        Makes the groups.
    columns : int
        How many there are; sets are masks of so many bits.
    largest : int
        Largest size of a set.
    judge : callable
        Called once for each set that is grouped, with its curve. Where it says False, no superset
        is grouped.
    progress : callable, optional
        Told about every set.

    Raises
    ------
    QuestionError
        If more than `MAX_GROUPED` sets are alive.
    """
    sets = count_sets(columns, largest)
    alive = {0}
    grouped = settled = 0

    def visit(mask: int, level: int, highest: int) -> None:
        nonlocal grouped, settled
        for bit in range(highest):
            new = mask | 1 << bit
            # The sets below `new` in the order of visits: it, and it with lower bits.
            below = 1 + count_sets(bit, largest - level - 1)
            if not _all_smaller_in(new, alive):
                settled += below
                continue
            last = bit == 0 or level + 1 == largest
            curve = refiner.add(level, bit, highest, last=last)
            grouped += 1
            if grouped > MAX_GROUPED:
                raise QuestionError(
                    f"more than {MAX_GROUPED:,} sets of the {columns} columns would have to be "
                    "grouped; name fewer columns, or ask about smaller sets"
                )
            is_alive = judge(new, curve)
            settled += 1 if is_alive else below
            if progress is not None:
                progress(settled, sets)
            if is_alive:
                alive.add(new)
                if not last:
                    visit(new, level + 1, bit)

    visit(0, 0, columns)
    if progress is not None:
        progress(sets, sets)  # what came last may have been settled without a look
    return Effort(sets, grouped)


def _all_smaller_in(mask: int, alive: set[int]) -> bool:
    rest = mask
    while rest:
        bit = rest & -rest
        if mask ^ bit not in alive:
            return False
        rest ^= bit
    return True
