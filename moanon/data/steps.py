"""Steps of equal width over numbers and dates: the base values of an interval column.

Step ``i`` covers ``origin + (first + i) * width`` up to the next step. For integers and dates a
step is closed on both sides (``[20-24]``); for decimals it is half open (``[1.5-2)``), because
there is no last decimal below 2 to show. All arithmetic is exact (whole numbers, and decimals with
all their written digits), so that 0.3 lies in the step that begins at 0.3 for a width of 0.1.

Where values outside a range are *clamped*, two more base values stand around the steps: all that is
below the range (``<20``) and all from its end on (``>=90``).

One column has one notation. A dash stands between two ends, or two dots where dashes would be read
as part of a value: in columns of dates, and of numbers that begin below 0.
"""

from __future__ import annotations

import calendar
import datetime
import decimal
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from moanon.arrays import Ints, Outlined
from moanon.data.cell_reading import PLAIN, Notation, recognize
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

#: Most steps beyond an end of a range: what lies farther away changes no loss that is shown.
_FARTHEST = 2**40
#: What a block of all values is called that has no end on either side.
NOT_MISSING = "(not missing)"

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
    is dropped, since no step is finer than a day. Cells are written in the notation of their
    column; what a configuration says, and what is released, is plain.
    """

    type: Kind
    months: bool = False
    notation: Notation = PLAIN

    @classmethod
    def choose(
        cls,
        values: Sequence[str],
        column: str,
        declared: Kind | None,
        granularity: Number | None,
        bounds: Sequence[Number],
        notation: Notation = PLAIN,
    ) -> Scale:
        """Take the declared type, or the narrowest that fits every value and bound."""
        notation.check(column)
        if declared is not None and declared not in get_args(Kind):
            raise DataError(
                f"column {column!r}: type must be one of {', '.join(get_args(Kind))}. "
                f"Got {declared!r}"
            )
        if notation.format is not None:
            if declared not in (None, "date"):
                raise DataError(
                    f"column {column!r}: format is for dates. Got type {declared} beside it"
                )
            declared = "date"
        scales = [
            replace(scale, notation=notation)
            for scale in _candidates(column, declared, granularity)
        ]
        ends = [_written(end) for end in bounds]
        unfit: dict[Scale, list[str]] = {}
        for scale in scales:
            unfit[scale] = scale.misfits(values)
            if not unfit[scale] and not replace(scale, notation=PLAIN).misfits(ends):
                return scale
        closest, fewest = min(unfit.items(), key=lambda item: len(item[1]))
        if not fewest:  # the range is wrong, not the values; that is said where it is used
            return closest
        raise _unreadable(column, closest, scales, fewest, len(values))

    def misfits(self, texts: Sequence[str]) -> list[str]:
        """Return the texts that are not of this type."""
        places = zip(texts, self.places(texts), strict=True)
        return [text for text, place in places if place is None]

    def places(self, texts: Iterable[str]) -> list[Place | None]:
        """Exact place of each text on the number line; None where it is not of this type.

        Made for columns of a million values: plain numbers, not fractions.
        """
        if self.type == "date":
            dates = self.notation.plain_dates(texts)
            return [None if date is None else self._date(date) for date in dates]
        numbers = self.notation.plain_numbers(texts)
        if self.type == "integer":
            return [int(n) if n is not None and _INTEGER.fullmatch(n) else None for n in numbers]
        return [Decimal(n) if n is not None and _DECIMAL.fullmatch(n) else None for n in numbers]

    def position(self, text: str) -> Fraction | None:
        """Exact place of a plainly written value as a fraction; None as for `places`."""
        (place,) = replace(self, notation=PLAIN).places([text])
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
    """A run of `count` equal steps, perhaps with one base value below and one above them.

    Examples
    --------
    >>> steps = Steps.build(Scale("integer"), ["17", "90"], "age", 5, None, None)
    >>> steps.size, steps.label(0, 1), steps.label(0, 3)
    (16, '[15-19]', '[15-29]')
    >>> steps.find(["17", "90", "95"]).tolist()
    [0, 15, -1]
    >>> steps = Steps.build(Scale("integer"), ["17"], "age", 5, (20, 90), None, clamped=True)
    >>> steps.label(0, 1), steps.label(0, 2), steps.label(14, 15), steps.label(15, 16)
    ('<20', '<25', '[85-89]', '>=90')
    """

    scale: Scale  # how texts become numbers
    origin: Fraction  # a place where a step begins
    width: Fraction
    #: Number of the first step, counted from the origin, which may be the least value of a table.
    first: int = field(repr=False)
    count: int
    low: Fraction | None = None  # ends of a declared range, which clip labels of outer steps ...
    high: Fraction | None = None  # ... and what is let in
    #: Whether values outside the range are let in, below as the first base value and from `high` on
    #: as the last.
    clamped: bool = False
    #: So many steps stand behind these two: as far as the values of the table reach.
    below: int = field(default=1, repr=False)
    above: int = field(default=1, repr=False)

    @classmethod
    def build(
        cls,
        scale: Scale,
        values: Sequence[str],
        column: str,
        granularity: Number | None,
        bounds: tuple[Number, Number] | None,
        origin: Number | None,
        *,
        clamped: bool = False,
    ) -> Steps:
        """Lay steps over the declared range, or over the values."""
        width = _width(scale, column, granularity)
        low = high = None
        if bounds is not None:
            low, high = _range(scale, column, bounds)
            bottom, top = low, high
        elif clamped:
            raise DataError(
                f"column {column!r}: values outside are clamped to a range, so it needs one, e.g. "
                "range: [20, 90]"
            )
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
        if clamped:  # the end itself is above the steps
            count = -((start - top) // width) - first if bottom < top else 0
            clamp = cls(scale, start, width, first, count, low, high, True)
            below, above = clamp._beyond(values)
            return replace(clamp, below=below, above=above)
        last = (top - start) // width
        if scale.type == "decimal" and high is not None and last > first:
            # A declared range includes its end: it belongs to the last whole step.
            last -= (top - start) % width == 0
        return cls(scale, start, width, first, last - first + 1, low, high)

    @property
    def size(self) -> int:
        """Number of base values."""
        return self.count + 2 * self.clamped

    @property
    def is_declared(self) -> bool:
        """Whether the steps are those of a declared range, and do not depend on any values."""
        return self.low is not None and not self.clamped

    @property
    def clamped_at(self) -> tuple[Fraction, Fraction] | None:
        """Below and from where values are clamped; None where they are not."""
        if not self.clamped or self.low is None or self.high is None:
            return None
        return self.low, self.high

    @property
    def several(self) -> dict[int, int]:
        """Base values that stand for more than one step, each with how many."""
        ends = {0: self.below, self.size - 1: self.above} if self.clamped else {}
        return {place: steps for place, steps in ends.items() if steps > 1}

    def _beyond(self, values: Sequence[str]) -> tuple[int, int]:
        """How many steps the values of a table reach beyond both ends; 1 if none does."""
        places = [place for place in self.scale.places(values) if place is not None]
        if not places:
            return 1, 1
        lowest, highest = (
            (Fraction(end(places)) - self.origin) // self.width for end in (min, max)
        )
        below, above = self.first - lowest, highest - (self.first + self.count) + 1
        return min(max(1, below), _FARTHEST), min(max(1, above), _FARTHEST)

    def find(self, values: Sequence[str]) -> Ints:
        """Base value of each text; -1 outside the range or where the text is of another type."""
        with decimal.localcontext(_EXACT):
            found = self._find_clamped(values) if self.clamped else self._find(values)
            return np.fromiter(found, dtype=np.int64, count=len(values))

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

    def _find_clamped(self, values: Sequence[str]) -> Iterable[int]:
        assert self.clamped_at is not None
        bottom, top = map(self.scale.place, self.clamped_at)
        start = self.scale.place(self.origin + self.first * self.width)
        width = self.scale.place(self.width)
        for place in self.scale.places(values):
            if place is None:
                yield -1
            elif place < bottom:
                yield 0
            elif place >= top:
                yield self.size - 1
            else:
                yield 1 + int((place - start) // width)

    @cached_property
    def _mark(self) -> str:
        """What stands between two ends: a dash, unless values themselves have one."""
        lowest = self.origin + self.first * self.width if self.low is None else self.low
        return ".." if self.scale.type == "date" or lowest < 0 else "-"

    def label(self, start: int, stop: int) -> str:
        """Name a block of base values: one value, ``[from-to]``, or what lies beyond one end."""
        if self.clamped:
            if stop - start == self.size:
                return NOT_MISSING
            start, stop = start - 1, stop - 1
            if start < 0:
                return f"<{self.scale.text(self._edge(stop))}"
            if stop > self.count:
                return f">={self.scale.text(self._edge(start))}"
        begin, end = self._edge(start), self._edge(stop, last=True)
        if self.scale.type == "decimal":
            bracket = ")" if self.clamped or self.high is None or end < self.high else "]"
        else:
            bracket = "]"
        first, last = self.scale.text(begin), self.scale.text(end, last=True)
        if first == last and self.scale.type != "decimal":
            return first
        return f"[{first}{self._mark}{last}{bracket}"

    def _edge(self, step: int, *, last: bool = False) -> Fraction:
        """Where a step begins; as the end of the one before, its last value if values are whole."""
        edge = self.origin + (self.first + step) * self.width
        whole = last and self.scale.type != "decimal"
        if self.low is not None:
            edge = max(edge, self.low)
        if self.high is not None and self.clamped:
            edge = min(edge, self.high)
        edge -= whole
        return edge if self.high is None else min(edge, self.high)

    def describe(self) -> str:
        """Say which values the steps cover."""
        if self.size == 1:
            return self.label(0, 1)
        return f"{self.label(0, 1)} … {self.label(self.size - 1, self.size)}"

    def record(self) -> dict[str, Any]:
        """The steps as JSON can hold them; see `of_record`."""
        places = {key: getattr(self, key) for key in ("origin", "width", "low", "high")}
        return {
            "type": self.scale.type,
            "months": self.scale.months,
            "notation": asdict(self.scale.notation),
            **{key: None if place is None else str(place) for key, place in places.items()},
            **{key: getattr(self, key) for key in ("first", "count", "clamped", "below", "above")},
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Steps:
        """Read what `record` gave; earlier versions did not store how far a table reaches."""
        ends = (record["low"], record["high"])
        low, high = (None if end is None else Fraction(end) for end in ends)
        return cls(
            Scale(record["type"], record["months"], Notation(**record["notation"])),
            Fraction(record["origin"]),
            Fraction(record["width"]),
            record["first"],
            record["count"],
            low,
            high,
            record["clamped"],
            record.get("below", 1),
            record.get("above", 1),
        )


def _unreadable(
    column: str, closest: Scale, scales: Sequence[Scale], misfits: Sequence[str], values: int
) -> DataError:
    """Say which values are no numbers or dates in the notation of their column."""
    shown = ", ".join(map(repr, misfits[:3]))
    shown += f" and {len(misfits) - 3:,} more" if len(misfits) > 3 else ""
    if (format_ := closest.notation.format) is not None:
        fits = "none" if len(misfits) == values else f"only {values - len(misfits):,}"
        return DataError(
            f"column {column!r}: the format {format_!r} fits {fits} of its {values:,} values. Got "
            f"{shown}"
        )
    wanted = " or ".join(f"{scale.type}s" for scale in scales)
    found = recognize(misfits)
    hint = f"; they fit {found[1][0].declared}" if found else ""
    return DataError(
        f"column {column!r}: an interval column here holds {wanted} (dates as YYYY-MM-DD). Got "
        f"{shown}{hint}"
    )


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
