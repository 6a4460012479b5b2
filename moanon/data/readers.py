"""Text files, read strictly; ``spreadsheets`` reads sheets in the same frame.

A reader takes one file after the other. All must have the header of the first; of the wanted
columns only the distinct values stay in memory, with one code per row.

CSV is parsed by the standard library in strict mode, block by block. DuckDB's parser is faster but
cannot be made strict: it trims blanks around quoted fields, drops the empty lines of one-column
files and refuses mixed line ends. `moanon.engines.plain_csv` finds the files that both read alike.
"""

from __future__ import annotations

import csv
import io
import threading
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from moanon.data.column import Column, chosen_positions, refuse_bad_names, sorted_column
from moanon.data.file_form import BLANKS, NUMBERED, FileForm, text_blocks
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


class CsvReader(FileReader):
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


class _SmallCsvReader(CsvReader):
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
