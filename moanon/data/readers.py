"""Table files, read strictly: CSV, Parquet and, in ``spreadsheets``, Excel.

A reader takes one file after the other. All must have the header of the first; of the wanted
columns only the distinct values stay in memory, with one code per row.

CSV is parsed by the standard library in strict mode, block by block. DuckDB's parser is faster but
cannot be made strict: it trims blanks around quoted fields, drops the empty lines of one-column
files and refuses mixed line ends. Parquet is read by DuckDB, whose columns go by position here and
never by name: it takes ``Age`` and ``age`` for the same one.
"""

from __future__ import annotations

import csv
import io
import re
import threading
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from moanon.data.column import (
    KINDS_READ,
    TEXT,
    ZONED_TIME,
    Column,
    chosen_positions,
    refuse_bad_names,
    sorted_column,
    typed_column,
)
from moanon.data.decoding import text_blocks, unreadable
from moanon.data.file_form import BLANKS, NUMBERED, FileForm
from moanon.errors import DataError

if TYPE_CHECKING:
    import duckdb

#: Rows handled at a time. Small enough for their texts to stay in the processor's cache, which
#: halves the time of a block of 20,000.
BLOCK_ROWS = 500


def read_files(
    files: Sequence[Path], columns: Sequence[str] | None, form: FileForm
) -> tuple[list[Column], int, tuple[str, ...]]:
    """Read files of one kind as one table: all columns or those named, in file order.

    Returns them with the number of rows and the names of all other columns.
    """
    reader: FileReader
    ending = files[0].suffix.lower()
    if form.sheet is not None and ending != ".xlsx":
        raise DataError(f"a sheet is named for .xlsx files only. Got {files[0]}")
    if ending == ".xlsx":
        from moanon.data.spreadsheets import SheetReader  # here, because few tables are such

        reader = SheetReader(columns, form)
    elif ending == ".parquet":
        form.refuse_names(str(files[0]))
        reader = _ParquetReader(columns)
    else:
        reader = CsvReader(columns, form)
    for file in files:
        reader.read(file)
    unread = tuple(name for i, name in enumerate(reader.header) if i not in reader.wanted)
    return [reader.column(position) for position in reader.wanted], reader.rows, unread


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
    """What all kinds share: one header for all files, and a factorizer per wanted column."""

    mend = ""  # what helps where the names of columns are refused

    def __init__(self, columns: Sequence[str] | None) -> None:
        self.rows = 0
        self.header: tuple[str, ...] = ()
        self.wanted: dict[int, _Factorizer] = {}
        self._columns = columns
        self._first: Path | None = None

    @abstractmethod
    def read(self, file: Path) -> None:
        """Add the rows of one more file."""

    @abstractmethod
    def column(self, position: int) -> Column:
        """Give one wanted column of all files read."""

    def add_rows(self, rows: Sequence[Sequence[Any]], positions: Iterable[int]) -> None:
        """Add rows, of which the wanted columns stand at these positions."""
        if not rows:  # a block of blank lines
            return
        self.rows += len(rows)
        cells = list(zip(*rows, strict=True))
        for position, factorizer in zip(positions, self.wanted.values(), strict=True):
            factorizer.add(cells[position])

    def check_header(self, file: Path, header: tuple[str, ...]) -> None:
        """Take the names of the columns; those of a further file must be the same."""
        refuse_bad_names(str(file), header, self.mend)
        if self._first is None:
            self._first, self.header = file, header
            chosen = chosen_positions(str(file), header, self._columns)
            self.wanted = {position: _Factorizer() for position in chosen}
        elif header != self.header:
            raise DataError(
                f"{file} has the columns {', '.join(header)}, but {self._first} has "
                f"{', '.join(self.header)}: files read together must have the same columns in "
                "the same order"
            )


# -- CSV -------------------------------------------------------------------------------------------

_DELIMITERS = ",;\t|"
_FIELD_LIMIT = threading.Lock()


class CsvReader(FileReader):
    """Strict CSV: a line that does not fit is an error with its number, never mended.

    A quote opens a field only at its start; elsewhere it is a character. Lines end with LF,
    which carriage returns may precede; one elsewhere outside quotes is refused. A blank line is
    skipped, except in a file of one column, where it is an empty cell.
    """

    mend = NUMBERED

    def __init__(self, columns: Sequence[str] | None, form: FileForm) -> None:
        super().__init__(columns)
        self._form = form

    def column(self, position: int) -> Column:
        texts, codes = self.wanted[position].result()
        if self._form.trim:
            texts = _trimmed(texts)
        return sorted_column(self.header[position], texts, None, codes)

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
                    self.add_rows([line], self.wanted)
                while block := list(islice(rows, BLOCK_ROWS)):
                    self.add_rows(_even(block, len(header)), self.wanted)
            except (csv.Error, _RaggedError):
                _refuse_line(file, form)


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


# -- Parquet ---------------------------------------------------------------------------------------

_INTEGERS = {f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG")}
_INTEGERS |= {"INTEGER", "UINTEGER"}
_LOCAL = ("DATE", "TIMESTAMP", "TIMESTAMP_NS")
ZONED = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")
#: SQL type → how to fetch it. Dates and times are fetched as text, because Python's have no
#: nanoseconds and no infinity, and DuckDB would round to what Python has.
FETCH = {
    **dict.fromkeys((*_INTEGERS, "BOOLEAN", "DECIMAL", "UUID", "VARCHAR"), "{0}"),
    **dict.fromkeys(("DOUBLE", "FLOAT"), "CASE WHEN isnan({0}) THEN NULL ELSE {0} END"),
    **dict.fromkeys((*_LOCAL, "TIME", "TIME_NS"), "{0}::VARCHAR"),
    **dict.fromkeys(ZONED, "({0} AT TIME ZONE 'UTC')::VARCHAR"),
}
#: SQL type → from what was fetched to the native value, where the two differ.
NATIVE: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys((*_LOCAL, *ZONED), np.datetime64),
    "FLOAT": np.float32,
}
#: SQL type → type in a release; all others are text there.
_RELEASED = {
    **dict.fromkeys(_INTEGERS, "BIGINT"),
    **{kind: kind for kind in ("UBIGINT", "BOOLEAN", "DOUBLE", "FLOAT", *_LOCAL)},
    **dict.fromkeys(ZONED, ZONED_TIME),
}


def released_type(sql_type: str) -> str:
    """Type in a release of a column whose source has a schema: whatever its rows hold."""
    return _RELEASED.get(sql_type, TEXT)


class _ParquetReader(FileReader):
    """Parquet through DuckDB, one file at a time, in row order."""

    def __init__(self, columns: Sequence[str] | None) -> None:
        super().__init__(columns)
        self._types: dict[int, str] = {}
        self._released: defaultdict[int, set[str]] = defaultdict(set)

    def column(self, position: int) -> Column:
        name = self.header[position]
        values, codes = self.wanted[position].result()
        sql_type = self._types.get(position, "")
        native = NATIVE.get(sql_type)
        try:
            values = [native(value) for value in values] if native else values
        except ValueError as error:
            raise DataError(f"{self._first}: column {name!r} cannot be read: {error}") from None
        released = self._released[position]  # two where files hold numbers with and without a sign
        return typed_column(
            *(str(self._first), name, values, codes),
            utc=sql_type in ZONED,
            sql_type=next(iter(released)) if len(released) == 1 else TEXT,
        )

    def read(self, file: Path) -> None:
        import duckdb  # here, because a CSV must not wait for it

        try:
            with duckdb.connect(":memory:") as database:
                self._fetch(file, database)
        except duckdb.Error as error:
            raise unreadable(file, error) from None

    def _fetch(self, file: Path, database: duckdb.DuckDBPyConnection) -> None:
        # A path is a glob to DuckDB: brackets make its special characters plain.
        path = re.sub(r"([*?[])", r"[\1]", str(file.absolute())).replace("'", "''")
        schema = database.execute(f"SELECT name, num_children FROM parquet_schema('{path}')")
        self.check_header(file, top_level(schema.fetchall()))
        aliases = ", ".join(f"c{position}" for position in range(len(self.header)))
        table = f"read_parquet('{path}', hive_partitioning = false) AS t({aliases})"
        types = database.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()
        expressions = [self._expression(file, i, str(types[i][1])) for i in self.wanted]
        rows = database.execute(f"SELECT {', '.join(expressions) or 'NULL'} FROM {table}")
        while block := rows.fetchmany(BLOCK_ROWS):
            self.add_rows(block, range(len(self.wanted)))

    def _expression(self, file: Path, position: int, sql_type: str) -> str:
        """Say how to fetch a column, once its type is known to be readable and that of before."""
        name = self.header[position]
        if sql_type == '"NULL"':  # a column without any value has no type
            return "NULL"
        # DECIMAL(10,2) is a DECIMAL; DECIMAL(10,2)[] is not.
        fetch = FETCH.get(re.sub(r"\(\d+,\s*\d+\)$", "", sql_type))
        if fetch is None:
            raise DataError(f"{file}: column {name!r} holds {sql_type} values; {KINDS_READ}")
        known = self._types.setdefault(position, sql_type)
        if known != sql_type and not {known, sql_type} <= _INTEGERS:
            raise DataError(
                f"column {name!r} is {known} in {self._first} and {sql_type} in {file}; "
                "one column holds one type"
            )
        self._released[position].add(released_type(sql_type))
        return fetch.format(f"c{position}")


def top_level(schema: Iterable[tuple[str, int | None]]) -> tuple[str, ...]:
    """Pick the columns out of a Parquet schema: its root, then every node before its children."""
    names, below = [], 0
    for name, children in islice(schema, 1, None):
        if below:
            below -= 1
        else:
            names.append(name)
        below += children or 0
    return tuple(names)
