"""Files as relations of DuckDB, whose columns go by their places in the header.

Parquet is read column by column whenever something is asked. CSV is parsed once: of the columns
that are asked about, the distinct rows with their counts stay in a temporary table; or, where
nearly all rows differ, all rows in a temporary Parquet file. CSV files are read as they are if they
are plain, and otherwise as the strict reader writes them (`moanon.data.readers`).

Columns go by position and never by name: DuckDB takes ``Age`` and ``age`` for the same one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from moanon.data.cell_reading import DEFAULT_ENCODING, FileForm
from moanon.data.column import (
    KINDS_READ,
    TEXT,
    ZONED_TIME,
    Column,
    chosen_positions,
    refuse_bad_names,
    typed_column,
)
from moanon.data.file_form import BLANKS, unreadable
from moanon.data.readers import look_at, refuse_other_header, rewrite
from moanon.engines.duck import DuckSession, literal
from moanon.errors import DataError

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
#: SQL type → type in a release; all others are text there.
_RELEASED = {
    **dict.fromkeys(_INTEGERS, "BIGINT"),
    **{kind: kind for kind in ("UBIGINT", "BOOLEAN", "DOUBLE", "FLOAT", *_LOCAL)},
    **dict.fromkeys(_ZONED, ZONED_TIME),
}
_FLOATS = ("DOUBLE", "FLOAT")
#: So many rows show whether nearly all differ.
_SAMPLE = 200_000
_MOSTLY = 0.3
#: Bytes of a line that DuckDB takes unless it is asked to take more.
_LONGEST = 2_000_000


@dataclass
class Relation:
    """Rows as SQL."""

    session: DuckSession
    source: str  # what messages call the rows: the first file
    header: tuple[str, ...]
    types: tuple[str, ...]  # of SQL
    rows: str  # SQL of all rows in their order; the columns are called c0, c1, … there
    is_typed: bool  # whether the source says what its values are; those of text files are texts
    staged: tuple[str, str] | None = None  # where some columns are, and how to count rows there
    staged_columns: frozenset[str] = frozenset()

    def of(self, names: Sequence[str]) -> tuple[str, str]:
        """Where to read columns, and how rows are counted there."""
        if self.staged and self.staged_columns.issuperset(names):
            return self.staged
        return self.rows, "count(*)"

    def place(self, name: str) -> str:
        """What SQL calls a column."""
        if name not in self.header:
            raise DataError(
                f"{self.source}: no copy is made of the identifying column {name!r}; read it in "
                "another role"
            )
        return f"c{self.header.index(name)}"

    def type_of(self, name: str) -> str:
        """Its SQL type, without a precision."""
        return _plain_type(self.types[self.header.index(name)])

    def released_type(self, name: str) -> str:
        """Type of a column in a release, which the schema says, whatever its rows hold."""
        return _RELEASED.get(self.type_of(name), TEXT)

    def fetched(self, name: str, value: str) -> str:
        """SQL that fetches a value of a column."""
        return _FETCH[self.type_of(name)].format(value)

    def column_of(self, name: str, values: list[Any]) -> Column:
        """Write the distinct values of a column, as they were fetched, as texts."""
        kind = self.type_of(name)
        native = _NATIVE.get(kind)
        try:
            values = [native(value) for value in values] if native else values
        except ValueError as error:
            raise DataError(f"{self.source}: column {name!r} cannot be read: {error}") from None
        numbers = np.arange(len(values), dtype=np.int32)
        column = typed_column(self.source, name, values, numbers, utc=kind in _ZONED)
        if self.is_typed:
            return column
        return Column(column.name, column.codes, column.values, None)


def relate(
    files: Sequence[Path],
    names: Sequence[str] | None,
    asked: Sequence[str] | None,
    *,
    session: DuckSession,
    form: FileForm,
    uncopied: Collection[str] = (),
) -> tuple[Relation, tuple[str, ...]]:
    """Open files of one kind as one relation; given with the names of all columns of the files.

    `names` are the columns that are read at all, `asked` those of them that tuples will be counted
    of; None stands for all. `uncopied` columns are in no temporary file: where files are not read
    as they are, nobody can ask for such a column. Files that cannot be read exactly as they stand
    are refused.
    """
    if files[0].suffix.lower() == ".parquet":
        form.refuse_names(str(files[0]))
        relation = _of_parquet(session, files, names)
        return relation, relation.header
    return _open_csv(files, names, asked, form, session, uncopied)


# -- Parquet ---------------------------------------------------------------------------------------


def _of_parquet(
    session: DuckSession, files: Sequence[Path], names: Sequence[str] | None
) -> Relation:
    """Parquet files of the same columns; one column holds one type."""
    described = [_described(session, file) for file in files]
    header = described[0][0]
    for file, (columns, _) in zip(files, described, strict=True):
        refuse_bad_names(str(file), columns)
        refuse_other_header(file, columns, files[0], header)
    wanted = chosen_positions(str(files[0]), header, names)
    types = ["VARCHAR"] * len(header)
    for place in wanted:
        types[place] = _one_type(files, header[place], [found[place] for _, found in described])
    given = ", ".join(f"a{i}" for i in range(len(header)))
    shown = ", ".join(f"{_cleaned(f'a{i}', types[i])} AS c{i}" for i in wanted) or "NULL AS c"
    # Several files go by names, of which DuckDB sees no case, and by the types of the first.
    is_uniform = len(set(described)) == 1 and len({n.lower() for n in header}) == len(header)
    parts = [files] if is_uniform else [[file] for file in files]
    selected = [
        f"SELECT {shown} FROM read_parquet({_paths(part)}, hive_partitioning = false) AS t({given})"
        for part in parts
    ]
    rows = f"({' UNION ALL '.join(selected)})"
    return Relation(session, str(files[0]), header, tuple(types), rows, is_typed=True)


def _described(session: DuckSession, file: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names and types of the columns of a file."""
    import duckdb

    try:
        schema = session.database.execute(
            f"SELECT name, num_children FROM parquet_schema({_paths([file])})"
        ).fetchall()
        types = session.database.execute(
            f"DESCRIBE FROM read_parquet({_paths([file])}, hive_partitioning = false)"
        ).fetchall()
    except duckdb.Error as error:
        raise unreadable(file, error) from None
    return _top_level(schema), tuple(str(row[1]) for row in types)


def _one_type(files: Sequence[Path], name: str, types: Sequence[str]) -> str:
    """The type of a column in all files: only whole numbers may have several."""
    first: tuple[Path, str] | None = None
    for file, sql_type in zip(files, types, strict=True):
        if sql_type == '"NULL"':  # a column without any value has no type
            continue
        if _plain_type(sql_type) not in _FETCH:
            raise DataError(f"{file}: column {name!r} holds {sql_type} values; {KINDS_READ}")
        first = first or (file, sql_type)
        if first[1] != sql_type and not {first[1], sql_type} <= _INTEGERS:
            raise DataError(
                f"column {name!r} is {first[1]} in {first[0]} and {sql_type} in {file}; "
                "one column holds one type"
            )
    found = {sql_type for sql_type in types if sql_type != '"NULL"'}
    if len(found) < 2:
        return found.pop() if found else "VARCHAR"
    # Numbers with and without a sign have no type in common that a release could have.
    return "BIGINT" if {_RELEASED[each] for each in found} == {"BIGINT"} else "DECIMAL(20,0)"


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


def _paths(files: Sequence[Path]) -> str:
    """A list of files in SQL, where a path is a glob: brackets make its signs plain."""
    plain = [re.sub(r"([*?[])", r"[\1]", str(file.absolute())) for file in files]
    return f"[{', '.join(map(literal, plain))}]"


def _plain_type(sql_type: str) -> str:
    """DECIMAL(10,2) is a DECIMAL; DECIMAL(10,2)[] is not."""
    return re.sub(r"\(\d+,\s*\d+\)$", "", sql_type)


def _cleaned(column: str, sql_type: str) -> str:
    """A number that is none is no value, and there is but one zero.

    Some versions of DuckDB take it from the least and the greatest number of a file, which are
    numbers, that none of them is none.
    """
    if sql_type in _FLOATS:
        return f"CASE WHEN isfinite({column}) OR isinf({column}) THEN {column} + 0 END"
    return f"{column}::{sql_type}"


# -- CSV -------------------------------------------------------------------------------------------


def _open_csv(
    files: Sequence[Path],
    names: Sequence[str] | None,
    asked: Sequence[str] | None,
    form: FileForm,
    session: DuckSession,
    uncopied: Collection[str],
) -> tuple[Relation, tuple[str, ...]]:
    """Open CSV files as they are or, unless they are plain, as the strict reader writes them."""

    def is_staged(relation: Relation, rows: int) -> bool:
        wanted = [name for name in relation.header if asked is None or name in set(asked)]
        return _stage(relation, wanted, rows)

    is_readable = form.encoding == DEFAULT_ENCODING and files[0].suffix.lower() != ".zst"
    plain = look_at(files, form) if is_readable else None
    if plain is not None:
        header, delimiter, rows = plain
        if rows and set(names or ()) <= set(header):
            relation = _of_csv(session, files, header, replace(form, delimiter=delimiter))
            if is_staged(relation, rows):
                return relation, header
    place = session.folder / f"{session.new_name('rewritten')}.csv"
    copied, header, rows, longest = rewrite(files, names, form, place, uncopied)
    if not rows:
        raise DataError(f"{session.source} has no rows")
    form = FileForm(delimiter=",", trim=form.trim)
    relation = _of_csv(session, [place], copied, form, longest)
    relation.source = str(files[0])
    if not is_staged(relation, rows):
        raise DataError(f"{files[0]} changed while it was read")
    return relation, header


def _of_csv(
    session: DuckSession,
    files: Sequence[Path],
    header: tuple[str, ...],
    form: FileForm,
    longest: int = 0,
) -> Relation:
    """Plain CSV files; the longest line has so many characters, where that is known."""
    width = len(header)
    columns = ", ".join(f"c{i}: 'VARCHAR'" for i in range(width))
    names = ", ".join(f"'c{i}'" for i in range(width))
    options = (
        f"auto_detect = false, header = {str(form.first_line_names).lower()}, "
        f"delim = {literal(form.delimiter or ',')}, "
        f"quote = '\"', escape = '\"', strict_mode = true, null_padding = false, "
        f"columns = {{{columns}}}, force_not_null = [{names}]"
    )
    if longest > _LONGEST // 4:  # a character takes up to four bytes
        options += f", max_line_size = {longest * 4}, buffer_size = {longest * 16}"
    cells = "*"
    if form.trim:
        cells = ", ".join(f"trim(c{i}, {literal(BLANKS)}) AS c{i}" for i in range(width))
    rows = f"(SELECT {cells} FROM read_csv({_paths(files)}, {options}))"
    types = ("VARCHAR",) * width
    return Relation(session, str(files[0]), header, types, rows, is_typed=False)


def _stage(relation: Relation, asked: Sequence[str], rows: int) -> bool:
    """Parse CSV files once; False if DuckDB does not read as many rows as are there.

    A file that looks plain and is not to DuckDB (a line longer than it takes) is left alone.
    """
    import duckdb

    session = relation.session
    columns = ", ".join(map(relation.place, asked))
    first = f"SELECT {columns} FROM {relation.rows} LIMIT {_SAMPLE}"
    differ = f"SELECT count(*) FROM (SELECT DISTINCT * FROM ({first}))"
    try:
        if rows >= _SAMPLE and session.one(differ) > _SAMPLE * _MOSTLY:
            file = literal(str(session.folder / f"{session.new_name('staged')}.parquet"))
            session.database.execute(
                f"COPY (SELECT {columns} FROM {relation.rows}) TO {file} (FORMAT PARQUET)"
            )
            relation.staged = f"read_parquet({file})", "count(*)"
        else:
            table = session.new_name("counted")
            session.database.execute(
                f"CREATE TEMP TABLE {table} AS SELECT {columns}, count(*) AS n "
                f"FROM {relation.rows} GROUP BY ALL"
            )
            relation.staged = table, "sum(n)::BIGINT"
    except duckdb.InvalidInputException:
        return False
    except duckdb.Error as error:
        raise session.failure(error) from None
    relation.staged_columns = frozenset(asked)
    table, number = relation.staged
    return int(session.value(f"SELECT {number} FROM {table}") or 0) == rows
