"""What matters first about a table: who is alone, and by which columns.

Nobody reads a thousand sets of columns. The overview tells of all columns together, of each one,
and of the pairs that leave most people alone or among few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

from moanon.diagnosis.centre import Diagnosis
from moanon.diagnosis.privacy_model import ANONYMITY
from moanon.diagnosis.suppression_curve import ReidentificationRisk

#: Columns whose pairs are looked at: those by which most people are alone.
_PAIRED = 16
#: A column by which so many are alone needs no second one, and would be in all of the worst pairs.
_SUFFICES = 0.9
#: Sets of columns that are gone through where nobody says how large they may be.
_MOST_SETS = 20_000


@dataclass(frozen=True)
class ExposedSet:
    """How easily people are recognized by some columns.

    Attributes
    ----------
    columns : tuple of str
    groups : int
        Different combinations of their values.
    k : int
        Rows in the smallest group.
    risk : ReidentificationRisk
    """

    columns: tuple[str, ...]
    groups: int
    k: int
    risk: ReidentificationRisk

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"columns": list(self.columns), "values": self.groups, "k": self.k} | (
            self.risk.to_dict()
        )

    @property
    def suffices(self) -> bool:
        """Whether nearly everybody is alone by these columns."""
        return self.risk.unique >= _SUFFICES * self.risk.rows

    @property
    def _order(self) -> tuple[float, ...]:
        return (-self.risk.unique, -self.risk.small, -self.risk.mean)


@dataclass(frozen=True)
class Overview:
    """A table at a glance.

    Attributes
    ----------
    whole : ExposedSet
        All columns together.
    columns, pairs : tuple of ExposedSet
        Single columns, and pairs of the riskiest of them; the riskiest first. Columns by which
        nine in ten rows are alone are in no pair.
    """

    whole: ExposedSet
    columns: tuple[ExposedSet, ...]
    pairs: tuple[ExposedSet, ...]

    @property
    def sufficient(self) -> tuple[str, ...]:
        """Columns that are in no pair, because each is enough to find nearly everybody."""
        return tuple(each.columns[0] for each in self.columns if each.suffices)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "all": self.whole.to_dict(),
            "columns": [each.to_dict() for each in self.columns],
            "pairs": [each.to_dict() for each in self.pairs],
        }


def look_over(diagnosis: Diagnosis) -> Overview:
    """Find who is alone by all columns, by each, and by pairs of the riskiest."""
    single = sorted(_exposed(diagnosis, 1, diagnosis.columns), key=lambda each: each._order)
    paired = [each for each in single if not each.suffices]
    risky = [each.columns[0] for each in paired[:_PAIRED]]
    chosen = tuple(name for name in diagnosis.columns if name in risky)
    pairs = sorted(_exposed(diagnosis, 2, chosen), key=lambda each: each._order)
    (whole,) = _exposed(diagnosis, len(diagnosis.columns), diagnosis.columns)
    return Overview(whole, tuple(single), tuple(pairs))


def _exposed(diagnosis: Diagnosis, size: int, columns: tuple[str, ...]) -> Iterator[ExposedSet]:
    refiner = diagnosis.table.refine(ANONYMITY, size)
    for chosen in combinations(columns, size):
        curve = refiner.curve(diagnosis.table.mask(chosen))
        risk = ReidentificationRisk.of(curve)
        yield ExposedSet(chosen, round(risk.mean * risk.rows), int(curve.level), risk)


def usual_size(columns: int) -> int:
    """How large sets of columns can be without being too many to go through."""
    sets, size = 0, 0
    while size < columns and sets + comb(columns, size + 1) <= _MOST_SETS:
        size += 1
        sets += comb(columns, size)
    return max(size, 1)
