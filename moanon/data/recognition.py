"""Finding out how a column writes its numbers or dates, from the values alone.

A notation is recognized where it fits every value and a plain reading does not. Where two fit, as
for dates whose day and month could be either, the likelier is taken and the other is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from moanon.data.notation import PLAIN, Notation

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
