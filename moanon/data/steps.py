"""Steps of equal width over numbers and dates: the base values of an interval column.

Step ``i`` covers ``origin + (first + i) * width`` up to the next step. For integers and dates a step
is closed on both sides (``[20-24]``); for decimals it is half open (``[1.5-2)``), because D's
``(15,20]`` has no last value below 15 to show. All arithmetic is exact (integers and fractions of
the written digits), so that 0.3 lies in the step that begins at 0.3 for a width of 0.1.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from moanon.errors import DataError

__all__ = ["DATE_UNITS", "Scale", "Steps"]

Number = int | float | str
Kind = Literal["integer", "decimal", "date"]

#: Named widths of date steps: (unit in months?, number of units).
DATE_UNITS: dict[str, tuple[bool, int]] = {
    "day": (False, 1),
    "week": (False, 7),
    "month": (True, 1),
    "quarter": (True, 3),
    "year": (True, 12),
    "decade": (True, 120),
}

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})([T ][0-9:.,+Z-]*)?")


@dataclass(frozen=True)
class Scale:
    """How the texts of a column become exact numbers.

    Dates become day numbers, or month numbers when a step is made of whole months; a time of day
    is dropped, since no step is finer than a day.
    """

    type: Kind
    months: bool = False

    @classmethod
    def choose(
        cls,
        values: Sequence[str],
        column: str,
        declared: Kind | None,
        granularity: Number | None,
        bounds: Sequence[Number],
    ) -> Scale:
        """Take the declared type, or the narrowest that fits every value and bound."""
        months = DATE_UNITS.get(str(granularity), (False, 1))[0]
        texts = [*values, *map(str, bounds)]
        wide = granularity is not None and not _is_whole(granularity)
        scales = [cls("integer"), cls("decimal"), cls("date", months)]
        if declared is None and wide and str(granularity) not in DATE_UNITS:
            scales = scales[1:2]  # a width of 0.5 makes any column of numbers one of decimals
        elif declared is None and str(granularity) in DATE_UNITS:
            scales = scales[2:]
        elif declared is not None:
            scales = [scale for scale in scales if scale.type == declared]
        unfit: list[str] = []
        for scale in scales:
            misfits = [text for text in texts if scale.position(text) is None]
            if not misfits:
                return scale
            if not unfit or len(misfits) < len(unfit):
                unfit = misfits
        wanted = " or ".join(f"{scale.type}s" for scale in scales)
        shown = ", ".join(map(repr, unfit[:3]))
        raise DataError(
            f"column {column!r}: an interval column here holds {wanted} (dates as YYYY-MM-DD). "
            f"Got {shown}" + (f" and {len(unfit) - 3} more" if len(unfit) > 3 else "")
        )

    def position(self, text: str) -> Fraction | None:
        """Exact place of a text on the number line; None where it is not of this type."""
        if self.type == "integer":
            return Fraction(int(text)) if _INTEGER.fullmatch(text) else None
        if self.type == "decimal":
            return Fraction(Decimal(text)) if _DECIMAL.fullmatch(text) else None
        match = _DATE.fullmatch(text)
        if not match:
            return None
        try:
            day = datetime.date.fromisoformat(match[1])
        except ValueError:
            return None
        return Fraction(day.year * 12 + day.month - 1 if self.months else day.toordinal())

    def text(self, position: Fraction, *, last: bool = False) -> str:
        """Write a place as a value; for a month, its first day, or its `last`."""
        if self.type == "integer":
            return str(int(position))
        if self.type == "decimal":
            number = Decimal(position.numerator) / Decimal(position.denominator)
            return f"{number.normalize():f}"
        if not self.months:
            return datetime.date.fromordinal(int(position)).isoformat()
        year, month = divmod(int(position), 12)
        day = calendar.monthrange(year, month + 1)[1] if last else 1
        return datetime.date(year, month + 1, day).isoformat()


@dataclass(frozen=True)
class Steps:
    """A run of `count` equal steps.

    Attributes
    ----------
    low, high : Fraction or None
        Ends of a declared range; they clip the outer steps' labels and what is let in.
    """

    scale: Scale
    origin: Fraction
    width: Fraction
    first: int
    count: int
    low: Fraction | None = None
    high: Fraction | None = None

    @classmethod
    def build(
        cls,
        scale: Scale,
        values: Sequence[str],
        column: str,
        granularity: Number | None,
        bounds: tuple[Number, Number] | None,
        origin: Number | None,
    ) -> Steps:
        """Lay steps over the declared range, or over the values."""
        width = _width(scale, column, granularity)
        low = high = None
        if bounds is not None:
            low, high = (_place(scale, column, "range", end) for end in bounds)
            if low > high:
                raise DataError(
                    f"column {column!r}: range must go upwards. Got [{bounds[0]}, {bounds[1]}]"
                )
        places = [place for value in values if (place := scale.position(value)) is not None]
        if low is None and not places:
            raise DataError(f"column {column!r}: no values to take an interval's range from")
        bottom = min(places) if low is None else low
        top = max(places) if high is None else high
        if origin is not None:
            start = _place(scale, column, "origin", origin)
        elif low is not None:
            start = low
        else:  # weeks begin on Mondays, day number 1 being one; all else at multiples of the width
            start = Fraction(1 if scale.type == "date" and not scale.months else 0)
        first = (bottom - start) // width
        last = (top - start) // width
        if scale.type == "decimal" and high is not None and last > first:
            # A declared range includes its end: it belongs to the last whole step.
            last -= (top - start) % width == 0
        return cls(scale, start, width, first, last - first + 1, low, high)

    def find(self, values: Sequence[str]) -> npt.NDArray[np.int64]:
        """Step of each text; -1 outside the range or where the text is of another type."""
        return np.array([self._find_one(value) for value in values], dtype=np.int64)

    def _find_one(self, value: str) -> int:
        place = self.scale.position(value)
        if place is None:
            return -1
        if self.low is not None and self.high is not None and not self.low <= place <= self.high:
            return -1
        step = (place - self.origin) // self.width - self.first
        if step == self.count and place == self.high:
            step -= 1
        return int(step) if 0 <= step < self.count else -1

    def label(self, start: int, stop: int) -> str:
        """Name the block of steps ``start .. stop - 1``: one value, or ``[from-to]``."""
        begin = self.origin + (self.first + start) * self.width
        end = self.origin + (self.first + stop) * self.width
        if self.low is not None:
            begin = max(begin, self.low)
        if self.scale.type == "decimal":
            clipped = self.high is not None and end >= self.high
            end = self.high if clipped and self.high is not None else end
            first, last = self.scale.text(begin), self.scale.text(end)
            bracket = "]" if clipped else ")"
        else:
            end -= 1
            if self.high is not None:
                end = min(end, self.high)
            first, last = self.scale.text(begin), self.scale.text(end, last=True)
            bracket = "]"
            if first == last:
                return first
        # A dash between negative numbers or dates would be hard to read, and to parse.
        mark = "-" if "-" not in first + last else ".."
        return f"[{first}{mark}{last}{bracket}"

    def describe(self) -> str:
        """Say which values the steps cover."""
        if self.count == 1:
            return self.label(0, 1)
        return f"{self.label(0, 1)} … {self.label(self.count - 1, self.count)}"


def _is_whole(number: Number) -> bool:
    try:
        return Decimal(str(number)) % 1 == 0
    except InvalidOperation:
        return False


def _width(scale: Scale, column: str, granularity: Number | None) -> Fraction:
    """Width of a step in the scale's own unit."""
    if granularity is None:
        if scale.type == "decimal":
            raise DataError(
                f"column {column!r}: a column of decimals needs a granularity (the width of a "
                "step), e.g. granularity: 0.5"
            )
        return Fraction(1)
    if scale.type == "date" and granularity in DATE_UNITS:
        return Fraction(DATE_UNITS[str(granularity)][1])
    place = None
    if _DECIMAL.fullmatch(str(granularity)):
        place = Fraction(Decimal(str(granularity)))
    if place is None or place <= 0 or (scale.type != "decimal" and place.denominator != 1):
        wanted = {
            "integer": "a whole number > 0",
            "decimal": "a number > 0",
            "date": f"a whole number of days > 0 or one of {', '.join(DATE_UNITS)}",
        }[scale.type]
        raise DataError(f"column {column!r}: granularity must be {wanted}. Got {granularity}")
    return place


def _place(scale: Scale, column: str, key: str, value: Number) -> Fraction:
    place = scale.position(str(value))
    if place is None:
        raise DataError(f"column {column!r}: {key} must hold {scale.type}s. Got {value}")
    return place
