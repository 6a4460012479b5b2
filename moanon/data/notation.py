"""How a file writes numbers and dates, where it does not write 1234.5 and 2020-01-31.

A notation turns a written text into the plain one that everything else reckons with: ``1.234,50 €``
into ``1234.50``, ``31.01.2020`` into ``2020-01-31``. It is applied to the distinct values of a
column, never row by row, and only where a domain asks for numbers or dates; what is released as it
is keeps its own spelling.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property

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
        """Refuse signs that cannot be told apart, and a format without a year."""
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
