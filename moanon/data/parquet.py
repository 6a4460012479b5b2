"""Parquet files, read by DuckDB.

Columns go by position and never by name: DuckDB takes ``Age`` and ``age`` for the same one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from moanon.data.column import Column
from moanon.data.reader import BLOCK_ROWS, FileReader, unreadable
from moanon.data.text import KINDS_READ, typed_column
from moanon.errors import DataError

if TYPE_CHECKING:
    import duckdb

__all__ = ["ParquetReader"]

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


class ParquetReader(FileReader):
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
            raise DataError(f"{self._first}: column {name!r} cannot be read: {error}") from None
        return typed_column(str(self._first), name, values, codes, utc=sql_type in _ZONED)

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
        self._check_header(file, _top_level(schema.fetchall()))
        aliases = ", ".join(f"c{position}" for position in range(len(self.header)))
        table = f"read_parquet('{path}', hive_partitioning = false) AS t({aliases})"
        types = database.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()
        expressions = [self._expression(file, i, str(types[i][1])) for i in self.wanted]
        rows = database.execute(f"SELECT {', '.join(expressions) or 'NULL'} FROM {table}")
        while block := rows.fetchmany(BLOCK_ROWS):
            self._add(block, range(len(self.wanted)))

    def _expression(self, file: Path, position: int, sql_type: str) -> str:
        """Say how to fetch a column, once its type is known to be readable and that of before."""
        name = self.header[position]
        if sql_type == '"NULL"':  # a column without any value has no type
            return "NULL"
        # DECIMAL(10,2) is a DECIMAL; DECIMAL(10,2)[] is not.
        fetch = _FETCH.get(re.sub(r"\(\d+,\s*\d+\)$", "", sql_type))
        if fetch is None:
            raise DataError(f"{file}: column {name!r} holds {sql_type} values; {KINDS_READ}")
        known = self._types.setdefault(position, sql_type)
        if known != sql_type and not {known, sql_type} <= _INTEGERS:
            raise DataError(
                f"column {name!r} is {known} in {self._first} and {sql_type} in {file}; "
                "one column holds one type"
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
