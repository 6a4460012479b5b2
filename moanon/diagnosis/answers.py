"""Answers: what was asked and what was found, as frames and as plain values.

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
import numpy.typing as npt

from moanon.diagnosis.asked import Asked
from moanon.diagnosis.curves import Curve, Levels
from moanon.diagnosis.walk import Effort

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Answer",
    "BorderAnswer",
    "CurvesAnswer",
    "RatedSet",
    "SetsAnswer",
    "Step",
    "SubsetAnswer",
]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SubsetAnswer:
    """About one set of columns.

    Attributes
    ----------
    asked : Asked
        The question.
    curve : Curve
        The whole curve of the set; everything else follows from it.
    """

    asked: Asked
    curve: Curve

    @property
    def effort(self) -> Effort:
        """One set was grouped."""
        return Effort(1, 1)

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
        if asked.question.suppressing != "asked":
            return self.curve.within(asked.limit)[1]
        if asked.level is None:
            return None
        find = self.curve.cost if asked.is_protective else self.curve.slack
        return find(asked.level)

    @cached_property
    def yes(self) -> bool:
        """Whether there is an answer other than no."""
        asked = self.asked
        if asked.level is None:
            return True
        if asked.question.suppressing == "asked":
            return self.suppressed is not None
        if asked.is_protective:
            return self.curve.reaches(asked.level, asked.limit)
        return not self.curve.exceeds(asked.level, asked.limit)

    def to_frame(self) -> pd.DataFrame:
        """The curve where it is asked for; else one row."""
        import pandas as pd

        if self.asked.question.number == 11:
            return self.curve.to_frame()
        found = self._found()
        return pd.DataFrame([found])

    def _found(self) -> dict[str, Any]:
        asked, rows = self.asked, self.asked.rows
        found: dict[str, Any] = {}
        if asked.level is not None:
            found["yes"] = self.yes
        if asked.question.suppressing == "asked":
            found["suppressed"] = self.suppressed
            found["delta"] = None if self.suppressed is None else self.suppressed / rows
        else:
            found[asked.model.measure] = self.level
            found["suppressed"] = self.suppressed
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        if self.asked.question.number == 11:
            return {"curve": self.to_frame().to_dict(orient="records")}
        return self._found()


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
    asked : Asked
        The question.
    safe : tuple of RatedSet
        Safe sets that no other safe set contains.
    unsafe : tuple of RatedSet
        Unsafe sets that contain no other unsafe set: the minimal dangerous quasi-identifiers.
    sizes : mapping of int to (int, int)
        For each size of sets, how many are safe and how many are not.
    effort : Effort
        Sets grouped and avoided.
    is_monotone : bool
        Whether every set within a safe one is safe, and every set around an unsafe one unsafe.
        Not so for some models once rows may be suppressed (see `Model`); then all sets were
        grouped, and `safe` and `unsafe` are still the largest and the smallest.
    """

    asked: Asked
    safe: tuple[RatedSet, ...]
    unsafe: tuple[RatedSet, ...]
    sizes: Mapping[int, tuple[int, int]]
    effort: Effort
    is_monotone: bool

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
        sides = {
            side: [
                {
                    "columns": list(each.columns),
                    measure: each.level,
                    "suppressed": each.suppressed,
                }
                for each in sets
            ]
            for side, sets in (("safe", self.safe), ("unsafe", self.unsafe))
        }
        return {"yes": self.yes, "monotone": self.is_monotone, **sides}


@dataclass(frozen=True)
class Step:
    """What adding a column to a set does.

    Attributes
    ----------
    column : str
        The column.
    to : tuple of str
        The set without it.
    before, after : float
        Level of the set without and with it.
    alone : (int, int) or None
        Rows that are alone in their group without and with it, nothing suppressed; where counted.
    """

    column: str
    to: tuple[str, ...]
    before: float
    after: float
    alone: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class SetsAnswer:
    """One number for every set of columns.

    Attributes
    ----------
    asked : Asked
        The question.
    masks : array
        The sets as bit masks, ordered by size and then as the columns are.
    levels : array or None
        Level of each set within the limit (questions 4 and 8).
    suppressed : array
        Rows that are suppressed for it; -1 where the set was not grouped and they are not known.
        Where δ is asked for (question 10): the rows that must go, or can; -1 where there is no
        such number below all rows.
    grouped : array of bool
        Whether the set was grouped; else its number follows from that of a subset.
    effort : Effort
        The same, counted.
    columns_of : callable
        Turns a mask into names.
    """

    asked: Asked
    masks: npt.NDArray[np.int64]
    levels: Levels | None
    suppressed: Ints
    grouped: npt.NDArray[np.bool_]
    effort: Effort
    columns_of: Callable[[int], tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.masks)

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

    def worst_steps(self) -> tuple[Step, ...]:
        """For each column the worst that adding it to a set does, most dangerous column first.

        The worst is the largest factor by which k or ℓ falls, or the largest rise of t. Of equal
        ones the smallest set is taken.
        """
        if self.levels is None:
            return ()
        model = self.asked.model
        by_mask = np.argsort(self.masks)
        masks = self.masks[by_mask]
        found: list[tuple[float, Step]] = []
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
            fall = after - before if model.sign < 0 else before / np.maximum(after, 1e-9)
            worst = int(np.argmax(fall))
            step = Step(
                self.columns_of(single)[0],
                self.columns_of(int(self.masks[without[worst]])),
                before[worst].item(),
                after[worst].item(),
            )
            found.append((float(fall[worst]), step))
        found.sort(key=lambda pair: -pair[0])
        return tuple(step for _, step in found)

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
            each: dict[str, Any] = {"columns": list(columns)}
            if self.levels is not None:
                each[asked.model.measure] = level
            each["suppressed"] = rows
            if self.levels is None:
                each["delta"] = None if rows is None else rows / asked.rows
            sets.append({**each, "grouped": grouped})
        return {"sets": sets} if self.levels is not None else {"yes": self.yes, "sets": sets}


@dataclass(frozen=True, eq=False)
class CurvesAnswer:
    """The curve of every set of columns.

    Attributes
    ----------
    asked : Asked
        The question.
    masks : array
        The sets as bit masks, ordered by size and then as the columns are.
    curves : tuple of Curve
        Theirs.
    grouped : array of bool
        Whether the set was grouped; else its curve is that of all columns together, because it is
        already that of a subset.
    effort : Effort
        The same, counted.
    columns_of : callable
        Turns a mask into names.
    """

    asked: Asked
    masks: npt.NDArray[np.int64]
    curves: tuple[Curve, ...]
    grouped: npt.NDArray[np.bool_]
    effort: Effort
    columns_of: Callable[[int], tuple[str, ...]]

    yes = True

    def __len__(self) -> int:
        return len(self.masks)

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


Answer = SubsetAnswer | BorderAnswer | SetsAnswer | CurvesAnswer
