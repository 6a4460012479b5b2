"""CSV files that every parser reads alike, and others, written again so that they are such.

DuckDB parses CSV fast and out of core, but is laxer than `moanon.data.readers`: it trims blanks
around quoted fields, takes one delimiter too many at the end of a line, and skips blank lines. So a
file is looked at first, at the speed of the disk. It is *plain* if its bytes are UTF-8 without NUL,
its lines all end alike and none is blank, a quote stands nowhere but around a field or doubled
inside one, and there are as many delimiters as its rows have columns. Of such a file there is but
one reading.

Any other is left to the strict reader, which says what is wrong or writes the file again, block by
block: every cell of the wanted columns goes in quotes into a temporary file, of which there is but
one reading. Columns that point to a person are not copied, since that file may outlive its process.
"""

from __future__ import annotations

import csv
import errno
import gzip
import io
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from moanon.data.column import refuse_bad_names
from moanon.data.file_form import BLANKS, FileForm
from moanon.data.readers import CsvReader, detect_delimiter, long_fields
from moanon.errors import DataError

_BLOCK_BYTES = 1 << 22
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'


@dataclass(frozen=True)
class PlainCsv:
    """What is known of plain files that are read together.

    Attributes
    ----------
    header : tuple of str
        Their columns.
    delimiter : str
    rows : int
        Rows of all files, without headers.
    longest : int
        At least so many characters are in the longest line, as far as that is known.
    """

    header: tuple[str, ...]
    delimiter: str
    rows: int
    longest: int = 0


def look_at(files: Sequence[Path], form: FileForm) -> PlainCsv | None:
    """Look at text files that are read together; None unless all are plain and of one form."""
    found: list[PlainCsv] = []
    for file in files:
        try:
            each = _look_at(file, form)
        except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error, DataError):
            return None  # the strict reader says it better
        if each is None:
            return None
        found.append(each)
    first = found[0]
    if any((each.header, each.delimiter) != (first.header, first.delimiter) for each in found):
        return None
    return PlainCsv(first.header, first.delimiter, sum(each.rows for each in found))


def _look_at(file: Path, form: FileForm) -> PlainCsv | None:
    tally: _Tally | None = None
    header: tuple[str, ...] = ()
    delimiter = ""
    with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            block += stream.readline()
            text = block.decode("utf-8")
            if tally is None:
                text = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
                delimiter = form.delimiter or detect_delimiter(file, text)
                if not delimiter.isascii():
                    return None
                with long_fields():
                    lines = io.StringIO(text, newline="\n")
                    first = next(csv.reader(lines, delimiter=delimiter, strict=True))
                if form.trim:
                    first = [cell.strip(BLANKS) for cell in first]
                header = form.names_of(str(file), first)
                refuse_bad_names(str(file), header)
                if not header or any("\n" in name for name in header):
                    return None
                tally = _Tally(ord(delimiter))
            if not tally.add(block):
                return None
    if tally is None or not tally.is_even(len(header)) or (form.trim and tally.quoted):
        return None
    return PlainCsv(header, delimiter, tally.lines - form.first_line_names)


class _Tally:
    """Counts lines and delimiters outside quotes, as long as there is but one reading."""

    def __init__(self, delimiter: int) -> None:
        self._delimiter = delimiter
        self._quotes = 0  # so many before this block: an odd number means inside a field
        self._delimiters = 0
        self._ends = 0
        self._returns = 0
        self._open = False  # whether the last line has no end yet

    @property
    def lines(self) -> int:
        """Lines that begin outside quotes."""
        return self._ends + self._open

    @property
    def quoted(self) -> bool:
        """Whether there is any quote: blanks beside one can be taken in two ways."""
        return self._quotes > 0

    def is_even(self, width: int) -> bool:
        """Whether the whole file has but one reading, as rows of so many fields."""
        return (
            self._quotes % 2 == 0
            and self._delimiters == self.lines * (width - 1)
            and self._returns in (0, self._ends)
        )

    def add(self, block: bytes) -> bool:
        """Take a block of whole lines; says whether it has but one reading."""
        if b"\n\n" in block or b"\0" in block or block.startswith((b"\n", b"\r\n")):
            return False
        returns = 0
        if b"\r" in block:
            returns = block.count(b"\r")
            if returns != block.count(b"\r\n") or b"\n\r\n" in block:
                return False
        self._open = not block.endswith(b"\n")
        if b'"' in block:
            return self._add_quoted(block)
        if self._quotes % 2:  # all of it lies inside one field
            return not returns
        self._delimiters += block.count(self._delimiter)
        self._ends += block.count(b"\n")
        self._returns += returns
        return True

    def _add_quoted(self, block: bytes) -> bool:
        signs = np.frombuffer(block, dtype=np.uint8)
        quotes = np.flatnonzero(signs == _QUOTE)
        opens = (np.arange(len(quotes)) + self._quotes) % 2 == 0
        around = np.concatenate(([_NEWLINE], signs, [_NEWLINE]))
        before, after = around[quotes], around[quotes + 2]
        # A pair of quotes inside a field closes it and opens it again.
        fits = np.where(
            opens,
            np.isin(before, (self._delimiter, _NEWLINE, _QUOTE)),
            np.isin(after, (self._delimiter, _NEWLINE, _RETURN, _QUOTE)),
        )
        if not fits.all():
            return False
        outside = [self._count_outside(signs, quotes, s) for s in (self._delimiter, _NEWLINE)]
        returns = np.count_nonzero(signs == _RETURN)
        if returns != self._count_outside(signs, quotes, _RETURN):
            return False
        self._delimiters += outside[0]
        self._ends += outside[1]
        self._returns += int(returns)
        self._quotes += len(quotes)
        return True

    def _count_outside(
        self, signs: npt.NDArray[np.uint8], quotes: npt.NDArray[np.intp], sign: int
    ) -> int:
        places = np.flatnonzero(signs == sign)
        inside = (np.searchsorted(quotes, places) + self._quotes) % 2
        return int(np.count_nonzero(inside == 0))


# -- files that are written again ------------------------------------------------------------------


def rewrite(
    files: Sequence[Path],
    names: Sequence[str] | None,
    form: FileForm,
    place: Path,
    uncopied: Collection[str] = (),
) -> tuple[PlainCsv, tuple[str, ...]]:
    """Write the wanted columns of text files into one plain file, but for some that must be there.

    Returned are what is known of that file, and the names of all columns there were.

    Raises
    ------
    DataError
        What the strict reader finds wrong, or if there is no room for the file.
    """
    try:
        with place.open("w", encoding="utf-8", newline="") as stream:
            reader = _Rewriter(names, form, stream, uncopied)
            for file in files:
                reader.read(file)
    except OSError as error:
        what = "is full" if error.errno == errno.ENOSPC else f"fails: {error.strerror}"
        raise DataError(
            f"{files[0]} cannot be read: the disk for its temporary copy {what}; set TMPDIR to "
            "another one"
        ) from None
    copied = tuple(reader.header[position] for position in reader.copied)
    return PlainCsv(copied, ",", reader.rows, reader.longest), reader.header


class _Rewriter(CsvReader):
    """Passes rows on instead of keeping their values."""

    def __init__(
        self,
        names: Sequence[str] | None,
        form: FileForm,
        stream: IO[str],
        uncopied: Collection[str],
    ) -> None:
        super().__init__(names, form)
        self._stream, self._uncopied = stream, frozenset(uncopied)
        self.longest = 0  # characters of a line

    @property
    def copied(self) -> list[int]:
        """Positions of the columns that are written."""
        return [place for place in self.wanted if self.header[place] not in self._uncopied]

    def add_rows(self, rows: Sequence[Sequence[Any]]) -> None:
        copied = self.copied
        if not self.rows:
            self._write([self.header[position] for position in copied])
        self.rows += len(rows)
        for row in rows:
            self._write([row[position] for position in copied])

    def _write(self, cells: list[str]) -> None:
        line = '"' + '","'.join(cell.replace('"', '""') for cell in cells) + '"\n'
        self.longest = max(self.longest, len(line))
        self._stream.write(line)
