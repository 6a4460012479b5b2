"""How a file writes numbers and dates, where it does not write 1234.5 and 2020-01-31.

A notation turns a written text into the plain one that everything else reckons with: ``1.234,50 €``
into ``1234.50``, ``31.01.2020`` into ``2020-01-31``. It is applied to the distinct values of a
column, never row by row, and only where a domain asks for numbers or dates; what is released as it
is keeps its own spelling.

`recognize` finds the notation of a column from its values: one that fits every value where a plain
reading does not. Where two fit, as for dates whose day and month could be either, the likelier is
taken and the other is named.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import product
from typing import Literal

from moanon.data.column import Profile, holds_texts
from moanon.errors import DataError

#: Blanks that typesetters put between thousands: a plain one stands for all of them.
_BLANKS = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
#: What a format must ask for, or every date would be in the year 1900.
_YEARS = re.compile("%([Yy]|G|c|x|D)")


@dataclass(frozen=True)
class Notation:
    """How the numbers and dates of a column are written.

    Attributes
    ----------
    decimal : str
        What stands before the fraction of a number.
    thousands : str
        What stands between groups of three digits; nothing if empty.
    unit : str
        What may stand before or after a number, such as ``€`` or ``kg``.
    format : str or None
        How a date is written, in the letters of ``strptime``; by default as ISO 8601 has it.

    Examples
    --------
    >>> Notation(decimal=",", thousands=".", unit="€").plain_number("-1.234,50 €")
    '-1234.50'
    >>> Notation(format="%d.%m.%Y").plain_date("31.01.2020")
    '2020-01-31'
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    format: str | None = None

    def check(self, column: str) -> None:
        """Refuse signs that are the same, and a format without a year."""
        for key, sign in (("decimal", self.decimal), ("thousands", self.thousands)):
            if len(sign) > 1 or (sign and (sign.isalnum() or sign in "+-")):
                raise DataError(
                    f"column {column!r}: {key} must be one sign that is no letter, digit, + or -. "
                    f"Got {sign!r}"
                )
        if not self.decimal or self.decimal == self.thousands:
            raise DataError(
                f"column {column!r}: decimal and thousands must be two different signs. Got "
                f"{self.decimal!r} and {self.thousands!r}"
            )
        if self.format is not None and not _YEARS.search(self.format):
            raise DataError(
                f"column {column!r}: format must say where the year stands (%Y), e.g. %d.%m.%Y. "
                f"Got {self.format!r}"
            )

    @property
    def declared(self) -> str:
        """The notation as keys of a configuration."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        return ", ".join(
            f"{key}: {value!r}" for key, value in given.items() if value != getattr(PLAIN, key)
        )

    def of(self, column: Profile) -> Notation:
        """The notation of a column: values that are no texts in their source are plain already."""
        return self if holds_texts(column) else PLAIN

    def plain_numbers(self, texts: Iterable[str]) -> Iterable[str | None]:
        """Each text as a plain number; None where it is none in this notation."""
        if (self.decimal, self.thousands, self.unit) == (".", "", ""):
            return texts
        return map(self.plain_number, texts)

    def plain_number(self, text: str) -> str | None:
        """Write one number plainly."""
        match = self._pattern.fullmatch(text)
        if match is None or (match["sign"] and match["inner"]):
            return None
        whole = "".join(filter(str.isdigit, match["whole"] or ""))
        fraction = match["fraction"]
        if not whole and not fraction:
            return None
        plain = f"{match['sign']}{match['inner']}{whole}"
        return plain + (f".{fraction}" if fraction else "") + (match["power"] or "")

    def plain_dates(self, texts: Iterable[str]) -> Iterable[str | None]:
        """Each text as a plain date; None where the format does not fit."""
        return texts if self.format is None else map(self.plain_date, texts)

    def plain_date(self, text: str) -> str | None:
        """Write one date plainly; a time of day is dropped, since no step is finer than a day."""
        assert self.format is not None
        try:
            return datetime.datetime.strptime(text, self.format).date().isoformat()
        except ValueError:
            return None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        thousands = f"[{_BLANKS}]" if self.thousands == " " else re.escape(self.thousands)
        grouped = f"|[0-9]{{1,3}}(?:{thousands}[0-9]{{3}}){{1,30}}" if thousands else ""
        unit = re.escape(self.unit.strip())
        before, after = (f"(?:{unit}\\s*)?", f"(?:\\s*{unit})?") if unit else ("", "")
        return re.compile(
            f"(?P<sign>[+-]?){before}(?P<inner>[+-]?)(?P<whole>[0-9]{{1,100}}{grouped})?"
            f"(?:{re.escape(self.decimal)}(?P<fraction>[0-9]{{0,100}}))?"
            f"(?P<power>[eE][+-]?[0-9]{{1,3}})?{after}"
        )


#: Numbers and dates as everything here writes them.
PLAIN = Notation()


# -- which notation a column has -------------------------------------------------------------------

#: Days, months and years in the orders and with the signs that are in use, the likelier first.
_DATES = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d"),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d. %B %Y", "%d%b%Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%d-%b-%y"),
    *("%Y-%m", "%Y/%m", "%m/%Y", "%b %Y", "%B %Y"),
)
_TIMES = (" %H:%M:%S", " %H:%M", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
#: Signs before fractions and between thousands. Where 1,234 could be either, it is the latter.
_SIGNS = (
    *((".", ""), (".", ","), (".", " "), (".", "'")),
    *((",", ""), (",", "."), (",", " "), (",", "'")),
)
#: What stands beside a number without changing what it is.
_UNIT = re.compile(
    r"\s*([$€£¥₹%]|EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|kr|zł|Fr\.|kg|g|cm|mm|km|m|h|min)\s*"
)
_DIGITS = re.compile("[0-9]")
#: All digits, and yet a date: years before and after these are numbers.
_COMPACT = re.compile("(18|19|20)[0-9]{6}")
#: A format that fits none of so many values is not tried on the others.
_FEW = 50


@dataclass(frozen=True)
class Recognized:
    """What the values of a column are, and how they are written.

    Attributes
    ----------
    kind : {"number", "date"}
    notation : Notation
    instead : Notation or None
        Another notation that fits every value as well.
    """

    kind: Literal["number", "date"]
    notation: Notation
    instead: Notation | None = None


def recognize(values: Sequence[str]) -> Recognized | None:
    """Find the notation of values that are not plain; None where there is none.

    Examples
    --------
    >>> recognize(["1.234,50", "7,00"]).notation
    Notation(decimal=',', thousands='.', unit='', format=None)
    >>> recognize(["03/04/2020", "05/06/2021"]).instead.format
    '%m/%d/%Y'
    """
    if not values or not all(map(_DIGITS.search, values)):
        return None
    fitting = _fitting(_date_notations(values), values, "date")
    kind: Literal["number", "date"] = "date"
    if not fitting:
        fitting, kind = _fitting(_number_notations(values), values, "number"), "number"
    if not fitting or fitting[0] == PLAIN:
        return None
    # A second one counts where it reads the values as others.
    first, *others = fitting
    instead = next((n for n in others if _reads_otherwise(first, n, values, kind)), None)
    return Recognized(kind, first, instead)


def _fitting(notations: Iterator[Notation], values: Sequence[str], kind: str) -> list[Notation]:
    found = []
    for notation in notations:
        if _fits(notation, values[:_FEW], kind) and _fits(notation, values, kind):
            found.append(notation)
    return found


def _fits(notation: Notation, values: Sequence[str], kind: str) -> bool:
    read = notation.plain_date if kind == "date" else notation.plain_number
    return all(read(value) is not None for value in values)


def _reads_otherwise(one: Notation, other: Notation, values: Sequence[str], kind: str) -> bool:
    if kind == "date":
        return any(one.plain_date(value) != other.plain_date(value) for value in values)
    return any(one.plain_number(value) != other.plain_number(value) for value in values)


def _date_notations(values: Sequence[str]) -> Iterator[Notation]:
    timed = ":" in values[0]
    for date, time in product(_DATES, _TIMES if timed else ("",)):
        if date == "%Y%m%d" and not all(map(_COMPACT.match, values)):
            continue
        yield Notation(format=date + time)


def _number_notations(values: Sequence[str]) -> Iterator[Notation]:
    unit = _UNIT.search(values[0])
    for decimal, thousands in _SIGNS:
        yield Notation(decimal, thousands, unit[1] if unit else "")
