"""Text files, read strictly; ``spreadsheets`` reads sheets in the same frame.

A reader takes one file after the other. All must have the header of the first; of the wanted
columns only the distinct values stay in memory, with one code per row.

CSV is parsed by the standard library in strict mode, block by block. DuckDB's parser is faster but
cannot be made strict: it trims blanks around quoted fields, drops the empty lines of one-column
files and refuses mixed line ends. `moanon.data.readers` finds the files that both read alike.
"""

from __future__ import annotations

import csv
import errno
import gzip
import io
import threading
import zlib
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from moanon.data.cell_reading import FileForm
from moanon.data.column import Column, chosen_positions, refuse_bad_names, sorted_column
from moanon.data.file_form import BLANKS, NUMBERED, text_blocks
from moanon.errors import DataError

#: Rows handled at a time. Small enough for their texts to stay in the processor's cache, which
#: halves the time of a block of 20,000.
BLOCK_ROWS = 500


class _Factorizer:
    """Collect the cells of one column block by block; only distinct values stay alive."""

    def __init__(self) -> None:
        self._codes: list[NDArray[np.int32]] = []
        # A value not seen before gets the next code at its first lookup.
        self._seen: defaultdict[Any, int] = defaultdict()
        self._seen.default_factory = self._seen.__len__

    def add(self, cells: Sequence[Any]) -> None:
        codes = map(self._seen.__getitem__, cells)
        self._codes.append(np.fromiter(codes, dtype=np.int32, count=len(cells)))

    def result(self) -> tuple[list[Any], NDArray[np.int32]]:
        """Give the distinct values in order of appearance, and the codes; None is -1."""
        codes = np.concatenate(self._codes) if self._codes else np.zeros(0, dtype=np.int32)
        values = list(self._seen)
        if None in self._seen:
            null = self._seen[None]
            del values[null]
            codes = np.where(codes == null, -1, codes - (codes > null)).astype(np.int32)
        return values, codes


class FileReader(ABC):
    """What readers share: one header for all files, and the codes of each wanted column."""

    def __init__(self, columns: Sequence[str] | None) -> None:
        self.rows = 0
        self.header: tuple[str, ...] = ()
        self.wanted: dict[int, _Factorizer] = {}  # by the positions of the wanted columns
        self._columns = columns
        self.first: Path | None = None

    @abstractmethod
    def read(self, file: Path) -> None:
        """Add the rows of one more file."""

    def add_rows(self, rows: Sequence[Sequence[Any]]) -> None:
        """Take rows."""
        if not rows:  # a block of blank lines
            return
        self.rows += len(rows)
        cells = list(zip(*rows, strict=True))
        for position, factorizer in self.wanted.items():
            factorizer.add(cells[position])

    def check_header(self, file: Path, header: tuple[str, ...]) -> None:
        """Take the names of the columns; those of a further file must be the same."""
        refuse_bad_names(str(file), header, NUMBERED)
        if self.first is None:
            self.first, self.header = file, header
            chosen = chosen_positions(str(file), header, self._columns)
            self.wanted = {position: _Factorizer() for position in chosen}
        else:
            refuse_other_header(file, header, self.first, self.header)


def refuse_other_header(
    file: Path, header: Sequence[str], first: Path, known: Sequence[str]
) -> None:
    """Refuse a file that is read together with another one and has other columns."""
    if tuple(header) != tuple(known):
        raise DataError(
            f"{file} has the columns {', '.join(header)}, but {first} has "
            f"{', '.join(known)}: files read together must have the same columns in "
            "the same order"
        )


_DELIMITERS = ",;\t|"
_FIELD_LIMIT = threading.Lock()


class _CsvReader(FileReader):
    """Strict CSV: a line that does not fit is an error with its number, never mended.

    A quote opens a field only at its start; elsewhere it is a character. Lines end with LF,
    which carriage returns may precede; one elsewhere outside quotes is refused. A blank line is
    skipped, except in a file of one column, where it is an empty cell.
    """

    def __init__(self, columns: Sequence[str] | None, form: FileForm) -> None:
        super().__init__(columns)
        self._form = form

    def read(self, file: Path) -> None:
        blocks = text_blocks(file, self._form.encoding)
        if not (first := next(blocks, "")):
            raise DataError(f"{file} is empty: it has no rows")
        delimiter = self._form.delimiter or detect_delimiter(file, first)
        with long_fields():
            form = replace(self._form, delimiter=delimiter)
            rows = _rows(chain([first], blocks), form)
            try:
                if not (line := next(rows)):
                    raise DataError(f"{file}: line 1 is blank; it must name the columns")
                header = form.names_of(str(file), _trimmed(line) if form.trim else line)
                self.check_header(file, header)
                if not form.first_line_names:
                    self.add_rows([line])
                while block := list(islice(rows, BLOCK_ROWS)):
                    self.add_rows(_even(block, len(header)))
            except (csv.Error, _RaggedError):
                _refuse_line(file, form)


def read_few_cells(
    files: Sequence[Path], columns: Sequence[str] | None, form: FileForm, most_cells: int
) -> tuple[list[Column], tuple[str, ...]] | None:
    """Read columns of text files into memory, with the names of all; None where cells are more."""
    reader = _SmallCsvReader(columns, form, most_cells)
    try:
        for file in files:
            reader.read(file)
    except _TooManyCellsError:
        return None
    return [reader.column(position) for position in reader.wanted], reader.header


class _TooManyCellsError(Exception):
    """There are more cells than are read into memory."""


class _SmallCsvReader(_CsvReader):
    """Text files that are read into memory, unless they have more cells than that is meant for."""

    def __init__(self, columns: Sequence[str] | None, form: FileForm, most_cells: int) -> None:
        super().__init__(columns, form)
        self._most_cells = most_cells

    def add_rows(self, rows: Sequence[Sequence[Any]]) -> None:
        super().add_rows(rows)
        if self.rows * len(self.header) > self._most_cells:
            raise _TooManyCellsError

    def column(self, position: int) -> Column:
        """Give one wanted column of all files read."""
        texts, codes = self.wanted[position].result()
        shown = _trimmed(texts) if self._form.trim else texts
        return sorted_column(self.header[position], shown, None, codes)


class _RaggedError(Exception):
    """Some row of a block has too few or too many fields."""


def _even(rows: list[list[str]], width: int) -> list[list[str]]:
    if set(map(len, rows)) == {width}:
        return rows
    rows = [row or [""] for row in rows] if width == 1 else [row for row in rows if row]
    if any(len(row) != width for row in rows):
        raise _RaggedError
    return rows


def _refuse_line(file: Path, form: FileForm) -> NoReturn:
    """Read again, row by row, to name the line on which the first unreadable row starts."""
    rows = _rows(text_blocks(file, form.encoding), form)
    line, width = 1, 0
    try:
        for row in rows:
            width = width or len(row)
            if row and len(row) != width:
                before = "header" if form.first_line_names else "first line"
                raise DataError(
                    f"{file}, line {line} has {len(row)} field{'s' * (len(row) > 1)} where the "
                    f"{before} has {width} (delimiter {form.delimiter!r})"
                )
            line = rows.line_num + 1
    except csv.Error as error:
        reason = str(error)
        if "unexpected end" in reason:
            reason = "a quoted field is never closed"
        elif "expected after" in reason:
            reason = "text follows a closing quote; a quote inside a quoted field must be doubled"
        elif "new-line" in reason:
            reason = "a carriage return stands outside quotes; lines must end with LF or CRLF"
        raise DataError(f"{file}, line {line}: {reason}") from None
    raise DataError(f"{file} changed while it was read")


def detect_delimiter(file: Path, text: str) -> str:
    """Find the delimiter that splits the header into most fields; a tie is refused."""
    widths = {}
    for delimiter in _DELIMITERS:
        try:
            widths[delimiter] = len(
                next(csv.reader(_lines([text]), delimiter=delimiter, strict=True))
            )
        except csv.Error:
            widths[delimiter] = 0
    most = max(widths.values())
    best = [delimiter for delimiter, width in widths.items() if width == most]
    if most < 2:
        return "\t" if file.name.lower().endswith(".tsv") else ","
    if len(best) > 1:
        raise DataError(
            f"{file}: its header can be split at {' or '.join(map(repr, best))}; name the delimiter"
        )
    return best[0]


def _rows(blocks: Iterable[str], form: FileForm) -> Any:
    """Parse blocks of lines; the parser also knows the number of its line."""
    delimiter = form.delimiter or ","
    return csv.reader(_lines(blocks), delimiter=delimiter, skipinitialspace=form.trim, strict=True)


def _trimmed(cells: Sequence[str]) -> list[str]:
    return [cell.strip(BLANKS) for cell in cells]


def first_rows(file: Path, form: FileForm, number: int) -> list[list[str]]:
    """The first rows of a text file as they are written; fewer where one cannot be parsed."""
    found: list[list[str]] = []
    first = next(text_blocks(file, form.encoding), "")
    if not first:
        return found
    form = replace(form, delimiter=form.delimiter or detect_delimiter(file, first))
    rows = _rows([first], form)
    with long_fields(), suppress(csv.Error):
        found.extend(row for row in islice(rows, number) if row)
    return found


def _lines(blocks: Iterable[str]) -> Iterator[str]:
    # newline="\n": a lone carriage return does not end a line, so the parser sees and refuses it.
    return chain.from_iterable(io.StringIO(block, newline="\n") for block in blocks)


@contextmanager
def long_fields() -> Iterator[None]:
    """Lift the parser's limit on a field's length.

    It is one number for the whole process, hence one lock: of two that overlap, the one that ends
    first would bring the limit back for the other.
    """
    with _FIELD_LIMIT:
        before = csv.field_size_limit(2**31 - 1)
        try:
            yield
        finally:
            csv.field_size_limit(before)


# -- files that every parser reads alike -----------------------------------------------------------


_BLOCK_BYTES = 1 << 22
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'


def look_at(files: Sequence[Path], form: FileForm) -> tuple[tuple[str, ...], str, int] | None:
    """Look at text files that are read together; None unless all are plain and of one form.

    Given are their columns, their delimiter, and the rows of all of them, without headers.
    """
    found: list[tuple[tuple[str, ...], str, int]] = []
    for file in files:
        try:
            each = _look_at(file, form)
        except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error, DataError):
            return None  # the strict reader says it better
        if each is None:
            return None
        found.append(each)
    header, delimiter, _ = found[0]
    if any(each[:2] != (header, delimiter) for each in found):
        return None
    return header, delimiter, sum(rows for _, _, rows in found)


def _look_at(file: Path, form: FileForm) -> tuple[tuple[str, ...], str, int] | None:
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
    return header, delimiter, tally.lines - form.first_line_names


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


def rewrite(
    files: Sequence[Path],
    names: Sequence[str] | None,
    form: FileForm,
    place: Path,
    uncopied: Collection[str] = (),
) -> tuple[tuple[str, ...], tuple[str, ...], int, int]:
    """Write the wanted columns of text files into one plain file, but for some that must be there.

    Given are its columns, the names of all that there were, its rows without the header, and the
    characters of its longest line.
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
    return copied, reader.header, reader.rows, reader.longest


class _Rewriter(_CsvReader):
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
