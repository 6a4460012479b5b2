"""Answers: what was asked and what was found, as frames and as plain values.

- `Curve`: how many rows stand in the way of each level on one set of columns. Everything one can
  ask about the set follows from it. With k it says how many rows sit in groups of each size:
  suppressing all groups smaller than k leaves exactly k, and one over the size of a row's group is
  its risk of being recognized, the prosecutor's risk (`ReidentificationRisk`).
- `SubsetAnswer`: about one set of columns (questions 1, 2, 5, 6, 9, 11).
- `BorderAnswer`: the border between safe and unsafe sets (3, 7).
- `SetsAnswer`: one number for every set (4, 8, 10).
- `CurvesAnswer`: the curve of every set (12).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from moanon.arrays import Bools, Floats, Ints, Outlined
from moanon.diagnosis.questions import DiagnosisQuestion, PrivacyModel

if TYPE_CHECKING:
    import pandas as pd


#: Whole numbers for k and most rules of ℓ, others for the rest.
Levels = Ints | Floats
#: Groups smaller than this are commonly held to be too small to publish.
_SMALL = 5
#: A set by which so many are alone needs no further column to find nearly everybody.
_SUFFICES = 0.9


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Outlined):
    """Rows at each level that occurs among the groups of a set of columns.

    `strengths` are the different levels, from the least safe to the safest, turned so that higher
    is safer: k and ℓ as they are, t with a minus sign. `rows` are those in groups of each.

    Groups of 1, 1, 2 and 6 rows: two rows are in the way of k = 2, four in the way of k = 6.

    >>> from moanon.diagnosis.questions import ANONYMITY
    >>> curve = Curve(ANONYMITY, np.array([1, 2, 6]), np.array([2, 2, 6]))
    >>> curve.within(0), curve.within(1), curve.within(2), curve.within(9)
    ((1, 0), (1, 0), (2, 2), (6, 4))
    >>> curve.cost(2), curve.cost(3), curve.cost(7)
    (2, 4, None)
    >>> curve.slack(1), curve.slack(0)
    (1, None)
    """

    model: PrivacyModel
    strengths: Levels
    rows: Ints

    @cached_property
    def _running(self) -> Ints:
        return np.cumsum(self.rows)

    @property
    def table_rows(self) -> int:
        """Rows of the table."""
        return int(self._running[-1])

    @property
    def level(self) -> float:
        """Level of the table as it is, nothing suppressed."""
        return self._level(0)

    def _level(self, at: int) -> float:
        level = self.strengths[at].item() * self.model.sign
        return int(level) if self.model.is_whole else abs(level)  # abs: no minus before a zero

    def within(self, limit: int) -> tuple[float, int]:
        """Best level when at most `limit` rows are suppressed, and the rows that takes.

        Whole groups, least safe first, while their total stays within the limit (Z lemma 2; for k
        the rule of D eq. 7). Z's algorithm 4 tests the total after adding and overshoots.
        """
        at = int(np.searchsorted(self._running, limit, side="right"))
        return self._level(at), int(self._running[at - 1]) if at else 0

    def cost(self, level: float) -> int | None:
        """Fewest rows to suppress for a level; None where nothing would be left."""
        below = int(np.searchsorted(self.strengths, self._strength(level), side="left"))
        if below == len(self.strengths):
            return None
        return int(self._running[below - 1]) if below else 0

    def slack(self, level: float) -> int | None:
        """Most rows that can be suppressed with the table no safer than a level; None if it is."""
        up_to = int(np.searchsorted(self.strengths, self._strength(level), side="right"))
        return int(self._running[up_to - 1]) - 1 if up_to else None

    def reaches(self, level: float, limit: int) -> bool:
        """Whether the table is at least as safe as a level, at most `limit` rows suppressed."""
        cost = self.cost(level)
        return cost is not None and cost <= limit

    def exceeds(self, level: float, limit: int) -> bool:
        """Whether it is safer than a level, at most `limit` rows suppressed."""
        slack = self.slack(level)
        return slack is None or slack < limit

    def _strength(self, level: float) -> float:
        # Levels beyond all rows are the same to every table, and fit into a machine word.
        return min(level, self.table_rows + 1) * self.model.sign

    def to_frame(self) -> pd.DataFrame:
        """One row per level that can be reached: rows to suppress, δ, rows left."""
        import pandas as pd

        suppressed = self._running - self.rows
        levels = [self._level(at) for at in range(len(self.strengths))]
        return pd.DataFrame(
            {
                self.model.measure: levels,
                "suppressed": suppressed,
                "delta": suppressed / self.table_rows,
                "rows_left": self.table_rows - suppressed,
            }
        )


@dataclass(frozen=True)
class ReidentificationRisk:
    """How easily people are recognized by a set of columns.

    Of all `rows` of the table, `unique` are alone in their group: whoever knows the columns knows
    the person. `small` are in groups of less than five. `mean` is that of one over the size of a
    row's group: the share of people that would be recognized by guessing within each group;
    `highest` is one over k.

    Groups of 1, 1, 2 and 6 rows: 4 groups of 10 rows.

    >>> from moanon.diagnosis.questions import ANONYMITY
    >>> curve = Curve(ANONYMITY, np.array([1, 2, 6]), np.array([2, 2, 6]))
    >>> risk = ReidentificationRisk.of(("age",), curve)
    >>> risk
    ReidentificationRisk(columns=('age',), rows=10, unique=2, small=4, mean=0.4, highest=1.0)
    >>> risk.groups, risk.k
    (4, 1)
    """

    columns: tuple[str, ...]
    rows: int
    unique: int
    small: int
    mean: float
    highest: float

    @classmethod
    def of(cls, columns: tuple[str, ...], curve: Curve) -> ReidentificationRisk:
        """Read the risk off the curve of k of some columns."""
        sizes, rows = curve.strengths.astype(np.int64), curve.rows
        total = int(rows.sum())
        groups = int((rows // sizes).sum())
        return cls(
            columns,
            rows=total,
            unique=int(rows[sizes == 1].sum()),
            small=int(rows[sizes < _SMALL].sum()),
            mean=groups / total,
            highest=1 / int(sizes[0]),
        )

    @property
    def groups(self) -> int:
        """Different combinations of values."""
        return round(self.mean * self.rows)

    @property
    def k(self) -> int:
        """Rows in the smallest group."""
        return round(1 / self.highest)

    @property
    def suffices(self) -> bool:
        """Whether nearly everybody is alone by these columns."""
        return self.unique >= _SUFFICES * self.rows

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "unique_rows": self.unique,
            "unique_share": self.unique / self.rows,
            "rows_below_5": self.small,
            "share_below_5": self.small / self.rows,
            "mean_risk": self.mean,
            "highest_risk": self.highest,
        }


# -- answers ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Effort:
    """What a search cost: sets the question is about, and those whose groups were counted."""

    sets: int
    grouped: int

    @property
    def avoided(self) -> int:
        """Sets whose answer followed from that of others."""
        return self.sets - self.grouped


@dataclass(frozen=True, eq=False, repr=False)
class SubsetAnswer(Outlined):
    """About one set of columns; everything follows from its curve."""

    asked: DiagnosisQuestion
    curve: Curve

    effort = _Effort(1, 1)

    @cached_property
    def level(self) -> float:
        """Best level within the rows that may be suppressed."""
        return self.curve.within(self.asked.limit)[0]

    @cached_property
    def suppressed(self) -> int | None:
        """Rows that are suppressed: for the level found, or, where δ is asked for, for it.

        Where δ is asked for and there is none below 1, None. With the form of question that asks
        for a level not to be exceeded: the most rows that can go.
        """
        asked = self.asked
        if not asked.asks_delta:
            return self.curve.within(asked.limit)[1]
        if asked.level is None:
            return None
        find = self.curve.cost if asked.is_protective else self.curve.slack
        return find(asked.level)

    @property
    def needed(self) -> int | None:
        """Rows that must go for a level that was asked for; None where that is all of them."""
        assert self.asked.level is not None
        return self.curve.cost(self.asked.level)

    @property
    def listed_level(self) -> float:
        """The level that the rows it counts stand in the way of.

        Where a level is to be reached, that one; else what the rows that may go give.
        """
        asked = self.asked
        return asked.level if asked.is_protective and asked.level is not None else self.level

    @cached_property
    def yes(self) -> bool:
        """Whether there is an answer other than no."""
        asked = self.asked
        if asked.level is None:
            return True
        if asked.asks_delta:
            return self.suppressed is not None
        if asked.is_protective:
            return self.curve.reaches(asked.level, asked.limit)
        return not self.curve.exceeds(asked.level, asked.limit)

    def to_frame(self) -> pd.DataFrame:
        """The curve where it is asked for; else one row."""
        import pandas as pd

        if self.asked.number == 11:
            return self.curve.to_frame()
        return pd.DataFrame([self.to_dict()])

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        asked = self.asked
        if asked.number == 11:
            return {"curve": self.curve.to_frame().to_dict(orient="records")}
        found: dict[str, Any] = {}
        if asked.level is not None:
            found["yes"] = self.yes
        if not asked.asks_delta:
            found |= {asked.model.measure: self.level, "suppressed": self.suppressed}
            tells = asked.level is not None and asked.is_protective
            return found | ({"needed": self.needed} if tells else {})
        share = None if self.suppressed is None else self.suppressed / asked.rows
        return {**found, "suppressed": self.suppressed, "delta": share}


@dataclass(frozen=True)
class RatedSet:
    """A set of columns with its level within the limit."""

    columns: tuple[str, ...]
    level: float
    suppressed: int


@dataclass(frozen=True)
class BorderAnswer:
    """The border between safe and unsafe sets of columns.

    Attributes
    ----------
    asked : DiagnosisQuestion
    safe, unsafe : tuple of RatedSet
        Safe sets that no other safe set contains, and unsafe sets that contain no other unsafe
        set: the minimal dangerous quasi-identifiers.
    sizes : mapping of int to (int, int)
        For each size of sets, how many are safe and how many are not.
    grouped : int
        Sets whose groups were counted.
    is_monotone : bool
        Whether every set within a safe one is safe, and every set around an unsafe one unsafe.
        Not so for some models once rows may be suppressed (see `PrivacyModel`); then all sets were
        grouped, and `safe` and `unsafe` are still the largest and the smallest.
    """

    asked: DiagnosisQuestion
    safe: tuple[RatedSet, ...]
    unsafe: tuple[RatedSet, ...]
    sizes: Mapping[int, tuple[int, int]]
    grouped: int
    is_monotone: bool

    @property
    def effort(self) -> _Effort:
        """Sets grouped and avoided."""
        return _Effort(sum(map(sum, self.sizes.values())), self.grouped)

    @property
    def found(self) -> tuple[RatedSet, ...]:
        """The sets that were asked for: the largest safe ones, or the smallest unsafe ones."""
        return self.safe if self.asked.is_protective else self.unsafe

    @property
    def yes(self) -> bool:
        """Whether there is any."""
        return bool(self.found)

    def threats(self) -> tuple[tuple[str, int, int], ...]:
        """For each column, most dangerous first: smallest size and number of unsafe sets with it.

        Counted are the smallest unsafe sets; a column in none of them has size 0.
        """
        number = Counter(name for each in self.unsafe for name in each.columns)
        least = {
            name: min(len(each.columns) for each in self.unsafe if name in each.columns)
            for name in number
        }
        order = sorted(
            self.asked.columns, key=lambda name: (least.get(name, np.inf), -number[name])
        )
        return tuple((name, least.get(name, 0), number[name]) for name in order)

    def to_frame(self) -> pd.DataFrame:
        """One row per set of the border."""
        import pandas as pd

        rows = [
            (side, each.columns, len(each.columns), each.level, each.suppressed)
            for side, sets in (("safe", self.safe), ("unsafe", self.unsafe))
            for each in sets
        ]
        measure = self.asked.model.measure
        return pd.DataFrame(rows, columns=["side", "columns", "size", measure, "suppressed"])

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        measure = self.asked.model.measure
        safe, unsafe = (
            [
                {"columns": list(s.columns), measure: s.level, "suppressed": s.suppressed}
                for s in each
            ]
            for each in (self.safe, self.unsafe)
        )
        return {"yes": self.yes, "monotone": self.is_monotone, "safe": safe, "unsafe": unsafe}


@dataclass(frozen=True)
class AddedColumn:
    """What adding a column to a set does: to its level, and to the rows alone in their group.

    The latter are counted with nothing suppressed, where they are counted at all.
    """

    column: str
    to: tuple[str, ...]
    before: float
    after: float
    alone: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class _EverySet(Outlined):
    """About every set of columns.

    `masks` are the sets as bit masks, ordered by size and then as the columns are; `columns_of`
    turns one into names. A set is `grouped`, or its answer follows from that of a subset.
    """

    asked: DiagnosisQuestion
    masks: Ints
    grouped: Bools
    columns_of: Callable[[int], tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.masks)

    @property
    def effort(self) -> _Effort:
        """Sets grouped and avoided."""
        return _Effort(len(self), int(self.grouped.sum()))


@dataclass(frozen=True, eq=False, repr=False)
class SetsAnswer(_EverySet):
    """One number for every set of columns.

    `levels` are those of each set within the limit (questions 4 and 8); `suppressed` are the rows
    that it takes, -1 where the set was not grouped and they are not known. Where δ is asked for
    (question 10) there are no levels, and these are the rows that must go, or can; -1 where there
    is no such number below all rows.
    """

    levels: Levels | None
    suppressed: Ints

    @property
    def yes(self) -> bool:
        """Whether there is an answer other than no: where δ is asked for, on any set."""
        return self.levels is not None or bool((self.suppressed >= 0).any())

    @cached_property
    def sizes(self) -> Ints:
        """Number of columns of each set."""
        return np.bitwise_count(self.masks).astype(np.int64)

    def records(self) -> Iterator[tuple[tuple[str, ...], float | None, int | None]]:
        """Yield each set with its level and its suppressed rows; None where there is none."""
        levels = [None] * len(self) if self.levels is None else self.levels.tolist()
        for mask, level, rows in zip(
            self.masks.tolist(), levels, self.suppressed.tolist(), strict=True
        ):
            yield self.columns_of(mask), level, None if rows < 0 else rows

    def worst_additions(self) -> tuple[AddedColumn, ...]:
        """For each column the worst that adding it to a set does, most dangerous column first.

        The worst is the largest factor by which k or ℓ falls, or the largest rise of t. Of equal
        ones the smallest set is taken.
        """
        if self.levels is None:
            return ()
        by_mask = np.argsort(self.masks)
        masks = self.masks[by_mask]
        found: list[tuple[float, AddedColumn]] = []
        for single in self.masks[self.sizes == 1].tolist():
            # Sets without the column, in the answer's order, so that of equals the first is least.
            without = np.flatnonzero(self.masks & single == 0)
            larger = self.masks[without] | single
            at = np.minimum(np.searchsorted(masks, larger), len(masks) - 1)
            is_known = masks[at] == larger  # sets beyond the largest size are not
            if not is_known.any():
                continue
            without, at = without[is_known], by_mask[at[is_known]]
            before, after = self.levels[without], self.levels[at]
            rises = self.asked.model.sign < 0
            harm = after - before if rises else before / np.maximum(after, 1e-9)
            worst = int(np.argmax(harm))
            added = AddedColumn(
                self.columns_of(single)[0],
                self.columns_of(int(self.masks[without[worst]])),
                before[worst].item(),
                after[worst].item(),
            )
            found.append((float(harm[worst]), added))
        found.sort(key=lambda pair: -pair[0])
        return tuple(added for _, added in found)

    def to_frame(self) -> pd.DataFrame:
        """One row per set."""
        import pandas as pd

        frame = pd.DataFrame(
            {"columns": [self.columns_of(m) for m in self.masks.tolist()], "size": self.sizes}
        )
        if self.levels is not None:
            frame[self.asked.model.measure] = self.levels
        known = pd.Series(self.suppressed, dtype="Int64").mask(self.suppressed < 0)
        frame["suppressed"] = known
        if self.levels is None:
            frame["delta"] = known / self.asked.rows
        frame["grouped"] = self.grouped
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        asked = self.asked
        sets = []
        for (columns, level, rows), grouped in zip(
            self.records(), self.grouped.tolist(), strict=True
        ):
            found = {asked.model.measure: level, "suppressed": rows}
            if self.levels is None:
                share = None if rows is None else rows / asked.rows
                found = {"suppressed": rows, "delta": share}
            sets.append({"columns": list(columns), **found, "grouped": grouped})
        return {"sets": sets} if self.levels is not None else {"yes": self.yes, "sets": sets}


@dataclass(frozen=True, eq=False, repr=False)
class CurvesAnswer(_EverySet):
    """The curve of every set of columns.

    That of a set that was not grouped is that of all columns together, because it is already that
    of a subset.
    """

    curves: tuple[Curve, ...]

    yes = True

    def to_frame(self) -> pd.DataFrame:
        """One row per set and level."""
        import pandas as pd

        frames = []
        for mask, curve in zip(self.masks.tolist(), self.curves, strict=True):
            frame = curve.to_frame()
            frame.insert(0, "columns", [self.columns_of(mask)] * len(frame))
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        return {
            "sets": [
                {
                    "columns": list(self.columns_of(mask)),
                    "grouped": grouped,
                    "curve": curve.to_frame().to_dict(orient="records"),
                }
                for mask, curve, grouped in zip(
                    self.masks.tolist(), self.curves, self.grouped.tolist(), strict=True
                )
            ]
        }


DiagnosisAnswer = SubsetAnswer | BorderAnswer | SetsAnswer | CurvesAnswer
