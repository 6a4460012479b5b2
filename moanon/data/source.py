"""Reading a file or a frame into columns of text.

Whatever the source, a column comes out the same way: the distinct texts that occur in it, sorted,
and one code per row. Text stays text: ``NA``, ``nan`` or ``01234`` are values like any other,
because a reader that guesses types invents missing values and merges people that differ.

CSV is read by the standard library's parser in strict mode, block by block, so that memory follows
the distinct values and not the cells. DuckDB's parser is faster but cannot be made strict: it trims
blanks around quoted fields, drops the empty lines of one-column files and refuses mixed line ends.
Parquet is read by DuckDB, by position and never by name: DuckDB takes ``Age`` and ``age`` for the
same column.
"""

from __future__ import annotations

import csv
import difflib
import glob
import gzip
import hashlib
import io
import json
import os
import re
import threading
import zlib
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from moanon.errors import DataError

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

__all__ = ["Column", "Source", "absent_column", "did_you_mean", "read_source"]

_TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz")
_FILES_READ = "read are .csv, .tsv, .txt, .csv.gz and .parquet"
_KINDS_READ = "read are text, numbers, booleans, dates and times"
_DELIMITERS = ",;\t|"
_BLOCK_BYTES = 1 << 20
#: Rows handled at a time. Small enough for their texts to stay in the processor's cache, which
#: halves the time of a block of 20,000.
_BLOCK_ROWS = 500


@dataclass(frozen=True, eq=False)
class Column:
    """One column, factorized.

    Attributes
    ----------
    name : str
        Name in the source, literally.
    codes : array (rows,) of int32
        Per row the index into `values`; -1 where the value is missing.
    values : tuple of str
        The distinct texts that occur, sorted. Every one of them is used by some row.
    native : array (values,) or None
        The same values in their own type where the source is typed; None for text sources.
    """

    name: str
    codes: NDArray[np.int32]
    values: tuple[str, ...]
    native: NDArray[Any] | None

    @property
    def missing(self) -> int:
        """Number of rows without a value."""
        return int(np.count_nonzero(self.codes < 0))


@dataclass(frozen=True, eq=False)
class Source:
    """What was read.

    Attributes
    ----------
    name : str
        Path, glob, ``DataFrame`` or the name the caller gave.
    columns : tuple of Column
        The columns read, in file order.
    rows : int
        Rows in the source.
    digest : str
        SHA-256 in hex. One file: of its bytes. Several: of the lines ``<sha256>  <relative name>``
        in reading order. A frame: of the names, texts and missing marks of the columns read,
        whatever its index, its memory layout and the missing tokens.
    unread : tuple of str
        Columns of the source that were not asked for, in file order.
    """

    name: str
    columns: tuple[Column, ...]
    rows: int
    digest: str
    unread: tuple[str, ...] = ()


def read_source(
    source: str | os.PathLike[str] | pd.DataFrame,
    *,
    missing_tokens: Sequence[str] = ("",),
    delimiter: str | None = None,
    name: str | None = None,
    columns: Sequence[str] | None = None,
) -> Source:
    """Read a CSV or Parquet file, a folder or glob of them, or a DataFrame.

    Parameters
    ----------
    source
        A path, a folder, a glob or a frame. Several files are read in sorted order and must have
        the same columns.
    missing_tokens
        Texts that mean "no value", beside the nulls of typed sources. By default only the empty
        text. In a float column a token matches both ways to write a whole number, -9 and -9.0.
    delimiter
        One character. By default the one of ``, ; tab |`` that splits the header most.
    name
        What to call the source; by default its path.
    columns
        The columns to read; by default all.

    Raises
    ------
    DataError
        If the source cannot be read exactly as it stands.
    """
    if isinstance(missing_tokens, str):
        raise DataError(f"missing_tokens must be a list of texts. Got the text {missing_tokens!r}.")
    tokens = frozenset(missing_tokens)
    if not isinstance(source, (str, os.PathLike)):
        return _read_frame(source, name or "DataFrame", tokens, columns)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise DataError(
            f"delimiter must be one character, no quote and no line end. Got {delimiter!r}."
        )
    path = os.fspath(source)
    try:
        files = _find_files(path)
        digest = _digest_files(files)
    except OSError as error:
        raise _unreadable(path, error) from None
    typed = files[0].suffix.lower() == ".parquet"
    reader = _ParquetReader(columns) if typed else _CsvReader(columns, delimiter)
    for file in files:
        reader.read(file)
    if not reader.rows:
        raise DataError(f"{path} has no rows.")
    read = tuple(_without_tokens(reader.column(position), tokens) for position in reader.wanted)
    unread = tuple(n for i, n in enumerate(reader.header) if i not in reader.wanted)
    return Source(name or path, read, reader.rows, digest, unread)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Give the end of an error sentence: the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""


def absent_column(source: str, name: str, names: Iterable[str]) -> DataError:
    """Say that a source lacks a column that was asked for."""
    return DataError(f"{source} has no column {name!r}{did_you_mean(name, names)}.")


# --- Files -------------------------------------------------------------------------------------


def _find_files(source: str) -> tuple[Path, ...]:
    """Find the files behind a path, a folder or a glob: at least one, all of one kind, sorted."""
    path = Path(source)
    if path.is_dir():
        seen = [p for p in path.iterdir() if p.is_file() and not p.name.startswith(".")]
        files = [p for p in seen if p.name.lower().endswith((".csv", ".csv.gz", ".parquet"))]
        if not files:
            raise DataError(f"The folder {source} holds no .csv and no .parquet file.")
    elif path.exists():
        files = [path]
    elif glob.has_magic(source):
        files = [p for p in map(Path, glob.glob(source, recursive=True)) if p.is_file()]  # noqa: PTH207 (absolute globs)
        if not files:
            raise DataError(f"No file matches {source}.")
    else:
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        hint = did_you_mean(path.name, sorted(p.name for p in beside))
        raise DataError(f"{source} does not exist{hint}.")
    files.sort(key=lambda p: p.as_posix())
    for file in files:
        if not file.name.lower().endswith((*_TEXT_ENDINGS, ".parquet")):
            raise DataError(f"{file} has an ending that is not read: {_FILES_READ}.")
    kinds = {file.suffix.lower() == ".parquet" for file in files}
    if len(kinds) > 1:
        raise DataError(f"{source} mixes .parquet with text files: give one kind.")
    return tuple(files)


def _digest_files(files: Sequence[Path]) -> str:
    digests = []
    for file in files:
        with file.open("rb") as stream:
            digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
    if len(files) == 1:
        return digests[0]
    root = os.path.commonpath([file.absolute().parent for file in files])
    names = (file.absolute().relative_to(root).as_posix() for file in files)
    lines = "".join(f"{digest}  {name}\n" for digest, name in zip(digests, names, strict=True))
    return hashlib.sha256(os.fsencode(lines)).hexdigest()


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


class _FileReader(ABC):
    """What CSV and Parquet share: one header for all files, and a factorizer per wanted column."""

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

    def _add(self, rows: Sequence[Sequence[Any]], positions: Iterable[int]) -> None:
        if not rows:  # a block of blank lines
            return
        self.rows += len(rows)
        cells = list(zip(*rows, strict=True))
        for position, factorizer in zip(positions, self.wanted.values(), strict=True):
            factorizer.add(cells[position])

    def _check_header(self, file: Path, header: tuple[str, ...]) -> None:
        _refuse_bad_names(str(file), header)
        if self._first is None:
            self._first, self.header = file, header
            chosen = _chosen(str(file), header, self._columns)
            self.wanted = {position: _Factorizer() for position in chosen}
        elif header != self.header:
            raise DataError(
                f"{file} has the columns {', '.join(header)}, but {self._first} has "
                f"{', '.join(self.header)}: files read together must have the same columns in "
                "the same order."
            )


def _refuse_bad_names(source: str, names: Sequence[str]) -> None:
    for position, name in enumerate(names):
        if not name:
            raise DataError(f"{source}: column {position + 1} has an empty name.")
        if name in names[:position]:
            raise DataError(f"{source} has two columns named {name!r}.")


def _chosen(source: str, header: Sequence[str], columns: Sequence[str] | None) -> list[int]:
    """Positions of the wanted columns, in file order."""
    if columns is None:
        return list(range(len(header)))
    for name in columns:
        if name not in header:
            raise absent_column(source, name, header)
    return [position for position, name in enumerate(header) if name in set(columns)]


# --- CSV ---------------------------------------------------------------------------------------


class _CsvReader(_FileReader):
    """Strict CSV: a line that does not fit is an error with its number, never mended.

    A quote opens a field only at its start; elsewhere it is a character. Lines end with LF,
    which carriage returns may precede; one elsewhere outside quotes is refused. A blank line is
    skipped, except in a file of one column, where it is an empty cell.
    """

    def __init__(self, columns: Sequence[str] | None, delimiter: str | None) -> None:
        super().__init__(columns)
        self._delimiter = delimiter

    def column(self, position: int) -> Column:
        texts, codes = self.wanted[position].result()
        return _build(self.header[position], texts, None, codes)

    def read(self, file: Path) -> None:
        blocks = _text_blocks(file)
        if not (first := next(blocks, "")):
            raise DataError(f"{file} is empty: it has no rows.")
        delimiter = self._delimiter or _detect_delimiter(file, first)
        with _long_fields():
            rows = csv.reader(_lines(chain([first], blocks)), delimiter=delimiter, strict=True)
            try:
                if not (header := tuple(next(rows))):
                    raise DataError(f"{file}: line 1 is blank; it must name the columns.")
                self._check_header(file, header)
                while block := list(islice(rows, _BLOCK_ROWS)):
                    self._add(_even(block, len(header)), self.wanted)
            except (csv.Error, _RaggedError):
                _refuse_line(file, delimiter)


class _RaggedError(Exception):
    """Some row of a block has too few or too many fields."""


def _even(rows: list[list[str]], width: int) -> list[list[str]]:
    if set(map(len, rows)) == {width}:
        return rows
    rows = [row or [""] for row in rows] if width == 1 else [row for row in rows if row]
    if any(len(row) != width for row in rows):
        raise _RaggedError
    return rows


def _refuse_line(file: Path, delimiter: str) -> NoReturn:
    """Read again, row by row, to name the line on which the first unreadable row starts."""
    rows = csv.reader(_lines(_text_blocks(file)), delimiter=delimiter, strict=True)
    line, width = 1, 0
    try:
        for row in rows:
            width = width or len(row)
            if row and len(row) != width:
                raise DataError(
                    f"{file}, line {line} has {len(row)} field{'s' * (len(row) > 1)} where the "
                    f"header has {width} (delimiter {delimiter!r})."
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
        raise DataError(f"{file}, line {line}: {reason}.") from None
    raise DataError(f"{file} changed while it was read.")


def _detect_delimiter(file: Path, text: str) -> str:
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
            f"{file}: its header can be split at {' or '.join(map(repr, best))}; "
            "name the delimiter."
        )
    return best[0]


def _lines(blocks: Iterable[str]) -> Iterator[str]:
    # newline="\n": a lone carriage return does not end a line, so the parser sees and refuses it.
    return chain.from_iterable(io.StringIO(block, newline="\n") for block in blocks)


def _text_blocks(file: Path) -> Iterator[str]:
    """Yield the decoded text in blocks of whole lines, without a byte order mark."""
    offset = 0
    try:
        with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                block += stream.readline()
                text = block.decode("utf-8")
                if (nul := block.find(b"\0")) >= 0:
                    raise DataError(f"{file} is not text: NUL byte at offset {offset + nul}.")
                yield text if offset else text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
                offset += len(block)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{file} is not UTF-8 (byte 0x{error.object[error.start]:02X} at offset "
            f"{offset + error.start}): save it as UTF-8."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(file, error) from None


def _unreadable(file: Path | str, error: Exception) -> DataError:
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
    return DataError(f"{file} cannot be read: {reason.removesuffix('.')}.")


_FIELD_LIMIT = threading.Lock()


@contextmanager
def _long_fields() -> Iterator[None]:
    """Lift the parser's limit on a field's length: it is one number for the whole process."""
    with _FIELD_LIMIT:
        before = csv.field_size_limit(2**31 - 1)
        try:
            yield
        finally:
            csv.field_size_limit(before)


# --- Parquet -----------------------------------------------------------------------------------

_INTEGERS = {f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG")}
_INTEGERS |= {"INTEGER", "UINTEGER"}
_LOCAL = ("DATE", "TIMESTAMP", "TIMESTAMP_NS")
_ZONED = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")
#: SQL type → how to fetch it. Dates and times are fetched as text, because Python's have no
#: nanoseconds and no infinity, and DuckDB would round to what Python has.
_FETCH = {
    **dict.fromkeys((*_INTEGERS, "BOOLEAN", "DECIMAL", "UUID", "VARCHAR"), "{0}"),
    **dict.fromkeys(("DOUBLE", "FLOAT"), "CASE WHEN isnan({0}) THEN NULL ELSE {0} END"),
    **dict.fromkeys((*_LOCAL, "TIME", "TIME_NS"), "{0}::VARCHAR"),
    **dict.fromkeys(_ZONED, "({0} AT TIME ZONE 'UTC')::VARCHAR"),
}
#: SQL type → from what was fetched to the native value, where the two differ.
_NATIVE: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys((*_LOCAL, *_ZONED), np.datetime64),
    "FLOAT": np.float32,
}


class _ParquetReader(_FileReader):
    """Parquet through DuckDB, one file at a time, in row order."""

    def __init__(self, columns: Sequence[str] | None) -> None:
        super().__init__(columns)
        self._types: dict[int, str] = {}

    def column(self, position: int) -> Column:
        name = self.header[position]
        values, codes = self.wanted[position].result()
        sql_type = self._types.get(position, "")
        native = _NATIVE.get(sql_type)
        try:
            values = [native(value) for value in values] if native else values
        except ValueError as error:
            raise DataError(f"{self._first}: column {name!r} cannot be read: {error}.") from None
        return _typed_column(str(self._first), name, values, codes, utc=sql_type in _ZONED)

    def read(self, file: Path) -> None:
        import duckdb  # here, because a CSV must not wait for it

        try:
            with duckdb.connect(":memory:") as database:
                self._fetch(file, database)
        except duckdb.Error as error:
            raise _unreadable(file, error) from None

    def _fetch(self, file: Path, database: duckdb.DuckDBPyConnection) -> None:
        # A path is a glob to DuckDB: brackets make its special characters plain.
        path = re.sub(r"([*?[])", r"[\1]", str(file.absolute())).replace("'", "''")
        schema = database.execute(f"SELECT name, num_children FROM parquet_schema('{path}')")
        self._check_header(file, _top_level(schema.fetchall()))
        aliases = ", ".join(f"c{position}" for position in range(len(self.header)))
        table = f"read_parquet('{path}', hive_partitioning = false) AS t({aliases})"
        types = database.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()
        expressions = [self._expression(file, i, str(types[i][1])) for i in self.wanted]
        rows = database.execute(f"SELECT {', '.join(expressions) or 'NULL'} FROM {table}")
        while block := rows.fetchmany(_BLOCK_ROWS):
            self._add(block, range(len(self.wanted)))

    def _expression(self, file: Path, position: int, sql_type: str) -> str:
        """Say how to fetch a column, once its type is known to be readable and that of before."""
        name = self.header[position]
        if sql_type == '"NULL"':  # a column without any value has no type
            return "NULL"
        # DECIMAL(10,2) is a DECIMAL; DECIMAL(10,2)[] is not.
        fetch = _FETCH.get(re.sub(r"\(\d+,\s*\d+\)$", "", sql_type))
        if fetch is None:
            raise DataError(f"{file}: column {name!r} holds {sql_type} values; {_KINDS_READ}.")
        known = self._types.setdefault(position, sql_type)
        if known != sql_type and not {known, sql_type} <= _INTEGERS:
            raise DataError(
                f"Column {name!r} is {known} in {self._first} and {sql_type} in {file}; "
                "one column holds one type."
            )
        return fetch.format(f"c{position}")


def _top_level(schema: Iterable[tuple[str, int | None]]) -> tuple[str, ...]:
    """Pick the columns out of a Parquet schema: its root, then every node before its children."""
    names, below = [], 0
    for name, children in islice(schema, 1, None):
        if below:
            below -= 1
        else:
            names.append(name)
        below += children or 0
    return tuple(names)


# --- Frames ------------------------------------------------------------------------------------


def _read_frame(
    frame: pd.DataFrame, name: str, tokens: frozenset[str], columns: Sequence[str] | None
) -> Source:
    import pandas as pd  # here, because a file must not wait for pandas

    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"source must be a path or a DataFrame. Got {type(frame).__name__}.")
    header = tuple(frame.columns)
    for label in header:
        if not isinstance(label, str):
            raise DataError(f"{name}: column labels must be text. Got {label!r}.")
    _refuse_bad_names(name, header)
    chosen = _chosen(name, header, columns)
    if not len(frame):
        raise DataError(f"{name} has no rows.")
    plain = []
    for position in chosen:
        series = frame.iloc[:, position]
        if series.dtype == object:
            # Before factorize takes 1, 1.0 and True for the same value.
            _one_kind(name, header[position], map(type, series[series.notna()]))
        codes, distinct = pd.factorize(series, use_na_sentinel=True)
        # tolist() widens single floats, and lengthens their shortest text.
        values = list(a) if (a := np.asarray(distinct)).dtype.kind == "f" else distinct.tolist()
        plain.append(_typed_column(name, header[position], values, codes.astype(np.int32)))
    digest = hashlib.sha256()
    for column in plain:
        digest.update(json.dumps([column.name, column.values]).encode())
        digest.update(column.codes.astype("<i4").tobytes())
    read = tuple(_without_tokens(column, tokens) for column in plain)
    unread = tuple(n for i, n in enumerate(header) if i not in chosen)
    return Source(name, read, len(frame), digest.hexdigest(), unread)


# --- Canonical text ----------------------------------------------------------------------------

#: NUL and halves of characters: a release with them could not be written and read again.
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
#: What a column may hold. The order matters: a bool is an int to Python, a datetime a date.
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool, np.bool_),
    "int": (int, np.integer),
    "float": (float, np.floating),
    "Decimal": (Decimal,),
    "datetime": (datetime, np.datetime64),
    "date": (date,),
    "time": (time,),
    "UUID": (UUID,),
}


def _one_kind(source: str, name: str, types: Iterable[type]) -> str:
    """Name the one kind of value that a column holds; a mixture or a stranger is refused."""
    kinds = set()
    for cls in set(types):
        kind = next((kind for kind, known in _KINDS.items() if issubclass(cls, known)), None)
        if kind is None:
            raise DataError(
                f"{source}: column {name!r} holds {cls.__name__} values; {_KINDS_READ}."
            )
        kinds.add(kind)
    if len(kinds) > 1:
        raise DataError(
            f"{source}: column {name!r} mixes {' and '.join(sorted(kinds))} values; "
            "one column holds one type."
        )
    return kinds.pop() if kinds else "str"


def _typed_column(
    source: str,
    name: str,
    values: Sequence[Any],
    codes: NDArray[np.int32],
    utc: bool = False,
) -> Column:
    """Write distinct native values as text, so that different values get different texts."""
    kind = _one_kind(source, name, map(type, values))
    native: NDArray[Any]
    texts: Sequence[str | None]
    if kind == "float":
        native = np.array(values) + 0.0  # -0.0 becomes 0.0, its equal
        texts = _float_texts(native, frozenset())
    elif kind in ("date", "datetime"):
        native, texts = _date_texts(source, name, values, utc)
    elif kind in ("bool", "int"):
        values = [bool(v) if kind == "bool" else int(v) for v in values]
        small = min(values) >= -(2**63) and max(values) < 2**63
        native = np.array(values, dtype=bool if kind == "bool" else np.int64 if small else object)
        texts = [str(v) for v in values]
    else:
        native = np.array(values, dtype=object)
        write = {"str": str.__str__, "Decimal": "{:f}".format, "time": _short_time}.get(kind, str)
        texts = [write(value) for value in values]
        if broken := next((text for text in texts if _NOT_TEXT.search(str(text))), None):
            raise DataError(f"{source}: column {name!r} holds {broken!a}, which no file can hold.")
    return _build(name, texts, native, codes)


def _float_texts(native: NDArray[Any], tokens: frozenset[str]) -> list[str | None]:
    """Write floats; as integers if all that are not missing are whole.

    Frames turn integers with gaps into floats, and 39 must not become 39.0 because another row
    misses its age.
    """
    whole = [str(int(v)) if v.is_integer() else None for v in native.tolist()]
    short = [str(v) for v in native]
    gone = [
        v != v or s in tokens or w in tokens for v, s, w in zip(native, short, whole, strict=True)
    ]
    texts = short if any(w is None for w, g in zip(whole, gone, strict=True) if not g) else whole
    return [None if g else text for text, g in zip(texts, gone, strict=True)]


def _date_texts(
    source: str, name: str, values: Sequence[Any], utc: bool
) -> tuple[NDArray[Any], list[str | None]]:
    """Write dates, and times of day only where they are not midnight; zoned ones in UTC."""
    zoned = {getattr(value, "tzinfo", None) is not None for value in values}
    if len(zoned) > 1:
        raise DataError(
            f"{source}: column {name!r} mixes times with and without a time zone; "
            "one column holds one type."
        )
    if zoned == {True}:
        utc = True
        values = [value.astimezone(UTC).replace(tzinfo=None) for value in values]
    native = np.array([np.datetime64(getattr(v, "isoformat", v.__str__)()) for v in values])
    times = map(_short_time, np.datetime_as_string(native).tolist())
    return native, [f"{t}+00:00" if utc else t.removesuffix("T00:00:00") for t in times]


def _short_time(value: object) -> str:
    """Write a time without the zeros that end its fraction of a second."""
    seconds, _, fraction = str(value).partition(".")
    return f"{seconds}.{fraction.rstrip('0')}".rstrip(".")


def _build(
    name: str,
    texts: Sequence[str | None],
    native: NDArray[Any] | None,
    codes: NDArray[np.int32],
) -> Column:
    """Sort the texts that codes point to; None means missing, equal texts become one value."""
    present = {i: text for i, text in enumerate(texts) if text is not None}
    recode = np.full(len(texts) + 1, -1, dtype=np.int32)  # the code -1 points to the last
    values: list[str] = []
    first: list[int] = []
    for i in sorted(present, key=lambda i: present[i]):
        if not values or values[-1] != present[i]:
            values.append(present[i])
            first.append(i)
        recode[i] = len(first) - 1
    return Column(name, recode[codes], tuple(values), None if native is None else native[first])


def _without_tokens(column: Column, tokens: frozenset[str]) -> Column:
    """Mark the values that a publisher declared to mean "no value"."""
    texts: list[str | None]
    if column.native is not None and column.native.dtype.kind == "f":
        texts = _float_texts(column.native, tokens)
    else:
        texts = [None if text in tokens else text for text in column.values]
    if texts == list(column.values):
        return column
    return _build(column.name, texts, column.native, column.codes)
