"""How files are written, and how the texts of their cells become values.

A `FileForm` is what is known of files before they are read. A `CellReading` says which texts mean
that there is no value, and which are the same one because they look alike. It is applied to the
distinct values of a column, wherever its rows are, so that a table reads the same in memory, in
DuckDB and in a database.

Where a file does not write 1234.5 and 2020-01-31, a `Notation` turns a written text into the plain
one that everything else reckons with: ``1.234,50 €`` into ``1234.50``, ``31.01.2020`` into
``2020-01-31``. It is applied only where a domain asks for numbers or dates; what is released as it
is keeps its own spelling. `recognize` finds the notation of a column from its values.
"""

from __future__ import annotations

import codecs
import datetime
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import product
from typing import Literal, TypedDict

import numpy as np

from moanon.data.column import Column, Profile, holds_texts, sorted_column, without_tokens
from moanon.errors import DataError

DEFAULT_ENCODING = "utf-8"
#: Whether the first line names the columns, ``numbered`` where names need numbers to differ;
#: or the names, where no line has them.
Header = bool | Literal["numbered"] | tuple[str, ...]


class FormKeys(TypedDict, total=False):
    """The attributes of a `FileForm` as keywords, of which any may be left out."""

    delimiter: str | None
    encoding: str
    sheet: str | None
    header: Header
    trim: bool
    normalize: bool
    spellings: Mapping[str, Sequence[str] | None]


@dataclass(frozen=True)
class FileForm:
    """What is known of files before they are read."""

    #: Of CSV files: one character. By default the one of ``, ; tab |`` that splits the first line
    #: most.
    delimiter: str | None = None
    encoding: str = DEFAULT_ENCODING  # of CSV files
    sheet: str | None = None  # of Excel files; by default their only one
    #: Of CSV and Excel files: whether the first line names the columns. If it does not, they are
    #: called c1, c2, … or as is said here. ``numbered``: it does, but a name that was there before
    #: gets a number (``age``, ``age.2``), and a column without one is called by its place.
    header: Header = True
    trim: bool = False  # of CSV files: whether blanks around cells are no part of them
    #: Of any source: whether texts are one value that differ only in white space, invisible
    #: characters, Unicode form or case; see `moanon.data.cell_reading.CellReading`.
    normalize: bool = False
    #: How such values are written, column by column; None for columns of numbers and dates. Where
    #: nothing is said they are written without upper case.
    spellings: Mapping[str, Sequence[str] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what no file has."""
        delimiter = self.delimiter
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise DataError(
                f"delimiter must be one character, no quote and no line end. Got {delimiter!r}"
            )
        checked_encoding(self.encoding)

    @property
    def first_line_names(self) -> bool:
        """Whether the first line is one of names and not of cells."""
        return self.header is True or self.header == "numbered"

    def names_of(self, source: str, first: Sequence[str]) -> tuple[str, ...]:
        """Name the columns of a file, given its first line.

        Examples
        --------
        >>> FileForm(header="numbered").names_of("a.csv", ["age", "", "age", "age.2"])
        ('age', 'c2', 'age.3', 'age.2')
        >>> FileForm(header=False).names_of("a.csv", ["39", "f"])
        ('c1', 'c2')
        """
        if self.header is True:
            return tuple(first)
        if self.header == "numbered":
            return _numbered(first)
        if self.header is False:
            return tuple(f"c{place}" for place in range(1, len(first) + 1))
        if len(self.header) != len(first):
            raise DataError(
                f"{source} has {len(first)} columns, but header names {len(self.header)}"
            )
        return self.header

    def refuse_names(self, file: str) -> None:
        """Refuse to say how columns are called that have their names in the file."""
        if self.header is not True:
            raise DataError(f"header is for text files and sheets; {file} names its columns itself")


def _numbered(names: Sequence[str]) -> tuple[str, ...]:
    taken, given = set(names), list[str]()
    for place, name in enumerate(names, 1):
        free, number = name or f"c{place}", 1
        while free in given or (free in taken and (number > 1 or not name)):
            number += 1
            free = f"{name or f'c{place}'}.{number}"
        given.append(free)
    return tuple(given)


def checked_encoding(name: str) -> str:
    """Give the common name of an encoding of texts; others are refused."""
    try:
        codec = codecs.lookup(name)
        "".encode(name)  # hex and its like are no encodings of texts
    except (LookupError, ValueError, UnicodeError):
        raise DataError(
            f"encoding must be the name of one, such as utf-8, latin-1 or cp1252. Got {name!r}"
        ) from None
    return codec.name


@dataclass(frozen=True, eq=False)
class CellReading:
    """How the cells of a source become values; made by `of`."""

    tokens: frozenset[str]  # texts that mean "no value"
    #: Whether texts that look the same are one value. What that is called depends on the text alone
    #: and never on the rows that have it, or a release would say something of rows that are not in
    #: it: the spelling that was declared for the column, or else `folded`.
    normalize: bool
    #: Declared spellings by what `folded` makes of them, column by column; None for columns of
    #: numbers and dates, whose texts stay as they are but for what is invisible around them.
    spellings: Mapping[str, Mapping[str, str] | None]

    @classmethod
    def of(cls, tokens: Sequence[str], form: FileForm) -> CellReading:
        """Check what is said of a source: tokens must be texts, and spellings look different."""
        declared = form.spellings if form.normalize else {}
        spellings = {name: _by_look(name, texts) for name, texts in declared.items()}
        return cls(checked_tokens(tokens), form.normalize, spellings)

    def read(self, column: Column) -> Column:
        """Read the values of a column."""
        if not (self.normalize and holds_texts(column)):
            return without_tokens(column, self.tokens)
        spell, gone = self._spelling(column.name), set(map(folded, self.tokens))
        texts = [None if folded(text) in gone else spell(text) for text in column.values]
        if texts == list(column.values):
            return column
        united = sorted_column(column.name, texts, None, column.codes)
        if column.native is None:
            return united
        native = np.array(united.values, dtype=object)
        return Column(united.name, united.codes, united.values, native, column.sql_type)

    def _spelling(self, name: str) -> Callable[[str], str]:
        known = self.spellings.get(name, {})
        if known is None:
            return bare

        def spelled(text: str) -> str:
            look = folded(text)
            return known.get(look, look)

        return spelled


def _by_look(name: str, texts: Sequence[str] | None) -> Mapping[str, str] | None:
    """The declared spellings of a column by what they look like."""
    if texts is None:
        return None
    found: dict[str, str] = {}
    for text in texts:
        other = found.setdefault(folded(text), text)
        if other != text:
            raise DataError(
                f"column {name!r}: {other!r} and {text!r} are declared as two values and differ "
                f"only in {DIFFERENCES}, which normalize makes one; leave one of them out"
            )
    return found


def checked_tokens(tokens: Sequence[str]) -> frozenset[str]:
    """Refuse what could never match: cells are compared as texts, and -9 is none."""
    if isinstance(tokens, str):
        raise DataError(f"missing_tokens must be a list of texts. Got the text {tokens!r}")
    if not isinstance(tokens, Iterable):
        raise DataError(f"missing_tokens must be a list of texts. Got {tokens!r}")
    known = list(tokens)
    for token in known:
        if not isinstance(token, str):
            raise DataError(
                f"missing_tokens must be texts, as they stand in the table. Got {token!r}; "
                f"write {str(token)!r}"
            )
    return frozenset(known)


# -- texts that look the same ----------------------------------------------------------------------


#: Characters that nobody sees: controls, format characters but those that leave a mark (Arabic
#: number signs), and what else Unicode ignores by default where text is shown (joiners, fillers,
#: variation selectors, tags).
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
#: Braille without dots: no white space to Unicode, but to whoever looks at it.
_BLANK = "\u2800"
_WHITE = re.compile(rf"[\s{_BLANK}]+")
#: What texts that look the same differ in.
DIFFERENCES = "white space, invisible characters, Unicode form or case"


def folded(text: str) -> str:
    """Give what a text has in common with all that look the same.

    White space is one blank between words, invisible characters are left out, characters have their
    compatible form (NFKC) and letters no case.

    Examples
    --------
    >>> folded("HIV\N{NO-BREAK SPACE}\N{ZERO WIDTH SPACE} ") == folded("hiv")
    True
    >>> folded("\N{ROMAN NUMERAL TWO}  b") == folded("Ii B")
    True
    """
    while (once := _folded_once(text)) != text:  # what is left out may let others combine
        text = once
    return text


def _folded_once(text: str) -> str:
    seen = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    return _WHITE.sub(" ", seen).strip(" ").casefold()


def bare(text: str) -> str:
    """Give a text without invisible characters and white space around it, for numbers and dates.

    All else stays: a superscript is no digit, and the notation knows what blanks between digits
    are.
    """
    return _UNSEEN.sub("", text).replace(_BLANK, " ").strip()


def alike_values(values: Iterable[str]) -> list[tuple[str, ...]]:
    """Give the groups of different values that look the same, in the order in which they come."""
    groups = defaultdict(list)
    for value in dict.fromkeys(values):
        groups[folded(value)].append(value)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def alike_note(column: str, values: Iterable[str]) -> str | None:
    """Say how many values of a column look like another one, without naming them; None if none.

    Examples
    --------
    >>> print(alike_note("ill", ["HIV", "HIV ", "hiv", "flu"]))
    column 'ill': 3 of its 4 values differ from another one only in white space, invisible \
characters, Unicode form or case: whoever looks at them sees 2 values
    """
    different = list(dict.fromkeys(values))
    groups = alike_values(different)
    if not groups:
        return None
    number = sum(map(len, groups))
    seen = len(different) - number + len(groups)
    return (
        f"column {column!r}: {number:,} of its {len(different):,} values differ from another one "
        f"only in {DIFFERENCES}: whoever looks at them sees {seen:,} value{'s' * (seen > 1)}"
    )


# -- cells that a spreadsheet would run as formulas ------------------------------------------------

#: First characters (also in full width) that make a spreadsheet take a cell for a formula.
FORMULA = re.compile("[=+\\-@\t\r\n＝＋－＠]")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def is_formula(text: str | None) -> bool:
    """Whether a spreadsheet would run a cell; plain numbers such as -3 or +1.5e3 are just shown."""
    return text is not None and bool(FORMULA.match(text)) and not NUMBER.fullmatch(text)


def defuse(text: str) -> str:
    """Put an apostrophe before a cell that a spreadsheet would run as a formula.

    A cell that already begins with apostrophes and then such a character gets one more, so that no
    two cells become the same and a reader can undo it.

    Examples
    --------
    >>> [defuse(text) for text in ("=1+1", "-3", "'=1+1", "it's")]
    ["'=1+1", '-3', "''=1+1", "it's"]
    """
    bare = text.lstrip("'")
    if is_formula(bare) or (bare != text and FORMULA.match(bare)):
        return "'" + text
    return text


# -- how numbers and dates are written -------------------------------------------------------------

#: Blanks that typesetters put between thousands: a plain one stands for all of them.
_THIN_BLANKS = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
#: What a format must ask for, or every date would be in the year 1900.
_YEARS = re.compile("%([Yy]|G|c|x|D)")


@dataclass(frozen=True)
class Notation:
    """How the numbers and dates of a column are written.

    Examples
    --------
    >>> Notation(decimal=",", thousands=".", unit="€").plain_number("-1.234,50 €")
    '-1234.50'
    >>> Notation(format="%d.%m.%Y").plain_date("31.01.2020")
    '2020-01-31'
    """

    decimal: str = "."  # what stands before the fraction of a number
    thousands: str = ""  # what stands between groups of three digits; nothing if empty
    unit: str = ""  # what may stand before or after a number, such as € or kg
    format: str | None = None  # of dates, in the letters of strptime; None: as ISO 8601 has it

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
        thousands = f"[{_THIN_BLANKS}]" if self.thousands == " " else re.escape(self.thousands)
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


def recognize(values: Sequence[str]) -> tuple[Literal["number", "date"], list[Notation]] | None:
    """Find the notation of values that are not plain, and what these are; None if there is none.

    It is one that fits every value. Where another fits as well and reads the values as others, as
    for dates whose day and month could be either, the likelier comes first, and then the other.

    Examples
    --------
    >>> recognize(["1.234,50", "7,00"])
    ('number', [Notation(decimal=',', thousands='.', unit='', format=None)])
    >>> [notation.format for notation in recognize(["03/04/2020", "05/06/2021"])[1]]
    ['%d/%m/%Y', '%m/%d/%Y']
    """
    if not values or not all(map(_DIGITS.search, values)):
        return None
    kind: Literal["number", "date"] = "date"
    fitting = _fitting(_date_notations(values), values, Notation.plain_date)
    if not fitting:
        fitting = _fitting(_number_notations(values), values, Notation.plain_number)
        kind = "number"
    return None if not fitting or fitting[0] == PLAIN else (kind, fitting)


def _fitting(
    notations: Iterable[Notation],
    values: Sequence[str],
    read: Callable[[Notation, str], str | None],
) -> list[Notation]:
    """The first notation that fits all values, and the next that also does and reads others."""
    found: list[Notation] = []
    first: list[str | None] = []
    for notation in notations:
        if any(read(notation, value) is None for value in values[:_FEW]):
            continue
        plain = [read(notation, value) for value in values]
        if None not in plain and plain != first:
            found.append(notation)
            if found[1:]:
                break
            first = plain
    return found


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
