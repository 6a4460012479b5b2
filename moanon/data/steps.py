"""Steps of equal width over numbers and dates: the base values of an interval column.

Step ``i`` covers ``origin + (first + i) * width`` up to the next step. For integers and dates a
step is closed on both sides (``[20-24]``); for decimals it is half open (``[1.5-2)``), because
there is no last decimal below 2 to show. All arithmetic is exact (whole numbers, and decimals with
all their written digits), so that 0.3 lies in the step that begins at 0.3 for a width of 0.1.
"""

from __future__ import annotations

import calendar
import datetime
import decimal
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from moanon.arrays import Ints, Outlined
from moanon.errors import DataError

Number = int | float | str
Kind = Literal["integer", "decimal", "date"]
DateUnit = Literal["day", "week", "month", "quarter", "year", "decade"]
#: An exact place on the number line: whole for integers and dates, a decimal for decimals.
Place = int | Decimal

#: Named widths of date steps: (unit in months?, number of units).
DATE_UNITS: dict[str, tuple[bool, int]] = {
    "day": (False, 1),
    "week": (False, 7),
    "month": (True, 1),
    "quarter": (True, 3),
    "year": (True, 12),
    "decade": (True, 120),
}

# No measured number has more than 100 digits; without a limit a single cell could stall a run.
_INTEGER = re.compile(r"[+-]?[0-9]{1,100}")
_DECIMAL = re.compile(r"[+-]?([0-9]{1,100}(\.[0-9]{0,100})?|\.[0-9]{1,100})([eE][+-]?[0-9]{1,3})?")
# The shape of a time of day is fixed here, its numbers are checked by Python's parser. 24:00 is
# left out, since only some versions of the parser take it, and for the next day.
_TIME = (
    r"(?!24)[0-9]{2}(:?[0-9]{2}(:?[0-9]{2}([.,][0-9]{1,9})?)?)?(Z|[+-][0-9]{2}(:?[0-9]{2}){0,2})?"
)
_DATE = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})([T ]{_TIME})?")

#: First and last month and day of the calendar; a step may reach beyond, a label may not.
_MONTHS = (12, 9999 * 12 + 11)
_DAYS = (1, datetime.date.max.toordinal())

#: Wide enough for the difference of any two numbers that `_DECIMAL` lets in. A result that would
#: have to be rounded all the same is an error, not a neighbour's step.
_EXACT = decimal.Context(prec=10_000, traps=[decimal.Inexact, decimal.InvalidOperation])

#: What an origin and the ends of a range must be.
_WANTED = {"integer": "a whole number", "decimal": "a number", "date": "a date (YYYY-MM-DD)"}


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
        if declared is not None and declared not in get_args(Kind):
            raise DataError(
                f"column {column!r}: type must be one of {', '.join(get_args(Kind))}. "
                f"Got {declared!r}"
            )
        scales = _candidates(column, declared, granularity)
        ends = [_written(end) for end in bounds]
        unfit: dict[Scale, list[str]] = {}
        for scale in scales:
            unfit[scale] = scale.misfits(values)
            if not unfit[scale] and not scale.misfits(ends):
                return scale
        closest, fewest = min(unfit.items(), key=lambda item: len(item[1]))
        if not fewest:  # the range is wrong, not the values; that is said where it is used
            return closest
        wanted = " or ".join(f"{scale.type}s" for scale in scales)
        shown = ", ".join(map(repr, fewest[:3]))
        raise DataError(
            f"column {column!r}: an interval column here holds {wanted} (dates as YYYY-MM-DD). "
            f"Got {shown}" + (f" and {len(fewest) - 3} more" if len(fewest) > 3 else "")
        )

    def misfits(self, texts: Sequence[str]) -> list[str]:
        """Return the texts that are not of this type."""
        places = zip(texts, self.places(texts), strict=True)
        return [text for text, place in places if place is None]

    def places(self, texts: Iterable[str]) -> list[Place | None]:
        """Exact place of each text on the number line; None where it is not of this type.

        Made for columns of a million values: plain numbers, not fractions.
        """
        if self.type == "integer":
            return [int(text) if _INTEGER.fullmatch(text) else None for text in texts]
        if self.type == "decimal":
            return [Decimal(text) if _DECIMAL.fullmatch(text) else None for text in texts]
        return [self._date(text) for text in texts]

    def position(self, text: str) -> Fraction | None:
        """Exact place of one text as a fraction, to reckon with; None as for `places`."""
        (place,) = self.places([text])
        return None if place is None else Fraction(place)

    def _date(self, text: str) -> int | None:
        match = _DATE.fullmatch(text)
        if not match:
            return None
        try:
            day = datetime.date.fromisoformat(match[1])
            if match[2]:  # the day is the one written, whatever the offset
                datetime.datetime.fromisoformat(text)
        except ValueError:
            return None
        return day.year * 12 + day.month - 1 if self.months else day.toordinal()

    def text(self, position: Fraction, *, last: bool = False) -> str:
        """Write a place as a value; for a month, its first day, or its `last`.

        Places beyond the calendar are written as its first or last day.
        """
        if self.type == "integer":
            return str(int(position))
        if self.type == "decimal":
            return f"{_decimal(position):f}"
        lowest, highest = _MONTHS if self.months else _DAYS
        number = min(max(int(position), lowest), highest)
        if not self.months:
            return datetime.date.fromordinal(number).isoformat()
        year, month = divmod(number, 12)
        day = calendar.monthrange(year, month + 1)[1] if last else 1
        return datetime.date(year, month + 1, day).isoformat()

    def place(self, position: Fraction) -> Place:
        """Turn a fraction that lies on this scale back into a plain number."""
        return _decimal(position) if self.type == "decimal" else int(position)


@dataclass(frozen=True, repr=False)
class Steps(Outlined):
    """A run of `count` equal steps.

    Attributes
    ----------
    scale : Scale
        How texts become numbers.
    origin, width : Fraction
        A place where a step begins, and the width of all steps.
    first, count : int
        Number of the first step, counted from the origin, and how many there are.
    low, high : Fraction or None
        Ends of a declared range; they clip the outer steps' labels and what is let in.

    Examples
    --------
    >>> steps = Steps.build(Scale("integer"), ["17", "90"], "age", 5, None, None)
    >>> steps.count, steps.label(0, 1), steps.label(0, 3)
    (16, '[15-19]', '[15-29]')
    >>> steps.find(["17", "90", "95"]).tolist()
    [0, 15, -1]
    """

    scale: Scale
    origin: Fraction
    width: Fraction
    first: int = field(repr=False)  # which may be the least value of a table
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
            low, high = _range(scale, column, bounds)
            bottom, top = low, high
        else:
            places = [place for place in scale.places(values) if place is not None]
            if not places:
                raise DataError(f"column {column!r}: no values to take an interval's range from")
            bottom, top = Fraction(min(places)), Fraction(max(places))
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

    def find(self, values: Sequence[str]) -> Ints:
        """Step of each text; -1 outside the range or where the text is of another type."""
        with decimal.localcontext(_EXACT):
            return np.fromiter(self._find(values), dtype=np.int64, count=len(values))

    def _find(self, values: Sequence[str]) -> Iterable[int]:
        begin = self.origin + self.first * self.width
        end = begin + self.count * self.width
        bottom = self.scale.place(begin if self.low is None else self.low)
        top = self.scale.place(end if self.high is None else self.high)
        # The end of a declared range belongs to it; the end of the last step otherwise does not.
        at_end = -1 if self.high is None else self.count - 1
        start, width = self.scale.place(begin), self.scale.place(self.width)
        for place in self.scale.places(values):
            if place is None or not bottom <= place <= top:
                yield -1
                continue
            step = int((place - start) // width)
            yield step if step < self.count else at_end

    def label(self, start: int, stop: int) -> str:
        """Name the block of steps ``start .. stop - 1``: one value, or ``[from-to]``."""
        begin = self.origin + (self.first + start) * self.width
        end = self.origin + (self.first + stop) * self.width
        if self.low is not None:
            begin = max(begin, self.low)
        if self.scale.type == "decimal":
            bracket = ")" if self.high is None or end < self.high else "]"
        else:
            bracket = "]"
            end -= 1
        if self.high is not None:
            end = min(end, self.high)
        first, last = self.scale.text(begin), self.scale.text(end, last=True)
        if first == last and self.scale.type != "decimal":
            return first
        # A dash between negative numbers or dates would be hard to read, and to parse.
        mark = "-" if "-" not in first + last else ".."
        return f"[{first}{mark}{last}{bracket}"

    def describe(self) -> str:
        """Say which values the steps cover."""
        if self.count == 1:
            return self.label(0, 1)
        return f"{self.label(0, 1)} … {self.label(self.count - 1, self.count)}"


def _written(number: Number) -> str:
    """Write a configured number as a cell would; 17.0 is the integer 17."""
    whole = isinstance(number, float) and number.is_integer() and abs(number) < 2**53
    return str(int(number)) if whole else str(number)


def _decimal(position: Fraction) -> Decimal:
    """Give all digits; so many are enough, since what is added and multiplied are decimals."""
    return _EXACT.divide(Decimal(position.numerator), Decimal(position.denominator))


def _candidates(column: str, declared: Kind | None, granularity: Number | None) -> list[Scale]:
    """Scales to try, the narrowest first."""
    text = "1" if granularity is None else _written(granularity)
    months = DATE_UNITS.get(text, (False, 1))[0]
    scales = [Scale("integer"), Scale("decimal"), Scale("date", months)]
    if declared is not None:
        return [scale for scale in scales if scale.type == declared]
    if text in DATE_UNITS:
        return scales[2:]
    if not _DECIMAL.fullmatch(text):
        raise DataError(
            f"column {column!r}: granularity must be a number > 0 or, for dates, one of "
            f"{', '.join(DATE_UNITS)}. Got {granularity!r}"
        )
    # A width of 0.5 makes any column of numbers one of decimals.
    return scales if Fraction(Decimal(text)).denominator == 1 else scales[1:]


def _width(scale: Scale, column: str, granularity: Number | None) -> Fraction:
    """Width of a step in the scale's own unit."""
    if granularity is None:
        if scale.type == "decimal":
            raise DataError(
                f"column {column!r}: a column of decimals needs a granularity (the width of a "
                "step), e.g. granularity: 0.5"
            )
        return Fraction(1)
    text = _written(granularity)
    if scale.type == "date" and text in DATE_UNITS:
        return Fraction(DATE_UNITS[text][1])
    width = Fraction(Decimal(text)) if _DECIMAL.fullmatch(text) else None
    if width is None or width <= 0 or (scale.type != "decimal" and width.denominator != 1):
        wanted = {
            "integer": "a whole number > 0",
            "decimal": "a number > 0",
            "date": f"a whole number of days > 0 or one of {', '.join(DATE_UNITS)}",
        }[scale.type]
        raise DataError(f"column {column!r}: granularity must be {wanted}. Got {granularity}")
    return width


def _range(scale: Scale, column: str, bounds: tuple[Number, Number]) -> tuple[Fraction, Fraction]:
    """Ends of a declared range, compared by the day even where steps are months."""
    days = Scale(scale.type)
    if len(bounds) != 2:
        raise DataError(f"column {column!r}: range must hold two values. Got {list(bounds)}")
    first, last = (_place(days, column, "each end of range", end) for end in bounds)
    if first > last:
        raise DataError(f"column {column!r}: range must go upwards. Got [{bounds[0]}, {bounds[1]}]")
    return _place(scale, column, "range", bounds[0]), _place(scale, column, "range", bounds[1])


def _place(scale: Scale, column: str, key: str, value: Number) -> Fraction:
    place = scale.position(_written(value))
    if place is None:
        raise DataError(f"column {column!r}: {key} must be {_WANTED[scale.type]}. Got {value!r}")
    return place
