"""A released file beside its original, rows found by a key: DuckDB joins the two out of core.

Of each side the keys, and the codes of each row as few numbers, are put into a temporary table, so
that files are read once; what does not fit into memory is spilled there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from moanon.arrays import Ints
from moanon.engines.duck import TupleKeys, undefused_sql
from moanon.engines.files import WHOLE, RowsInFiles, direct_text, text_table
from moanon.engines.paired import CountedRows, PairedFiles


class KeyUse(NamedTuple):
    """How a key column is filled: rows without a value, and rows with the one that most have."""

    missing: int
    most: int


class KeyedFiles:
    """The rows of a released file and of its original, by a key, until it is closed.

    Parameters
    ----------
    files : PairedFiles
    keys : (str, str)
        What the original and the file call the key column.
    values : mapping of str to array
        Codes of the original's values, as of `RowStore`.
    names : sequence of str
        Columns of the file to be looked at.
    signs : sequence of str
        Rows of the file that show the sign in all these columns are left out; where there are no
        such columns, none is.
    """

    def __init__(
        self,
        files: PairedFiles,
        keys: tuple[str, str],
        values: Mapping[str, Ints],
        names: Sequence[str],
        signs: Sequence[str],
    ) -> None:
        self._files, self._session = files, files.released.session
        self._tables: list[str] = []
        self._columns = tuple(values), tuple(names)
        original = files.original({**values, keys[0]: None})
        both = zip((original, files.released), keys, strict=True)
        # Whole numbers are the same where their texts are, and are compared at half the cost.
        self._are_whole = all(store.relation.type_of(key) in WHOLE for store, key in both)
        self._here = TupleKeys([int(code.max(initial=0)) + 1 for code in values.values()])
        self._original = self._keep_original(original, keys[0], values)
        self._released = self._keep_released(keys[1], names, signs)

    def close(self) -> None:
        """Forget the rows."""
        self._session.drop(self._tables)

    def uses(self) -> tuple[KeyUse, KeyUse]:
        """How the original and the rows of the file that are not left out use the key."""
        return self._use(self._original), self._use(self._released)

    def settle_spellings(self, *, undefused_first: bool) -> int | None:
        """Settle which key a cell stands for, that may have been kept from running or may not.

        Of both spellings the likelier is taken, if the original has it. Two rows of the file may
        come to have one key by that; returned is the place of the first one that comes too late.
        """
        bare = undefused_sql("k")
        if self._are_whole or not self._session.value(
            f"SELECT count(*) FROM {self._released} WHERE {bare} <> k"
        ):
            return None
        likely, other = (bare, "k") if undefused_first else ("k", bare)
        known = f"({likely}) IN (SELECT k FROM {self._original})"
        settled = f"CASE WHEN {known} THEN {likely} ELSE {other} END AS k"
        self._released = self._kept(f"SELECT * REPLACE ({settled}) FROM {self._released}")
        first = "row_number() OVER (PARTITION BY k ORDER BY place)"
        late = f"SELECT place FROM {self._released} QUALIFY {first} > 1"
        found: int | None = self._session.value(f"SELECT min(place) FROM ({late})")
        return found

    def first_unknown(self) -> int | None:
        """Place of the first row of the file whose key the original has not."""
        known = f"SELECT k FROM {self._original}"
        query = f"SELECT min(place) FROM {self._released} ANTI JOIN ({known}) USING (k)"
        found: int | None = self._session.value(query)
        return found

    def count_pairs(self) -> CountedRows:
        """Count pairs of rows by their codes; see `PairedFiles.count_pairs`.

        Rows of the original that the file has not are those that are starred.
        """
        there = [*(len(self._files.released.columns[name].values) for name in self._columns[1]), 1]
        gone = self._there.of(np.array(there)[:, None])  # gaps in all columns
        here = [f"a{i} AS k{i}" for i in range(self._here.parts)]
        there_of = [
            f"coalesce(b{i}, {int(code[0])}) AS k{len(here) + i}" for i, code in enumerate(gone)
        ]
        counts = "1 AS rows, coalesce(place, 0) AS first, origin"
        if not self._files.single:
            counts = "count(*) AS rows, coalesce(min(place), 0) AS first, 0 AS origin"
        query = (
            f"SELECT {', '.join([*here, *there_of])}, {counts} "
            f"FROM {self._original} LEFT JOIN {self._released} USING (k)"
            f"{'' if self._files.single else ' GROUP BY ALL'}"
        )
        return self._files.counted(query, (self._here, self._there), *self._columns)

    # -- tables ------------------------------------------------------------------------------------

    def _keep_original(self, store: RowsInFiles, key: str, values: Mapping[str, Ints]) -> str:
        joined = store.joined(values, {})
        shown, join = self._key(store, key)
        codes = self._here.expressions([joined.code(name) for name in values])
        columns = ", ".join(f"{code} AS a{i}" for i, code in enumerate(codes))
        rows = f"{store.relation.rows} AS r {joined.joins} {join} {joined.where}"
        single = self._files.single
        origin = "row_number() OVER () - 1" if single else "0"
        with self._session.in_order() if single else nullcontext():
            table = self._kept(f"SELECT {shown} AS k, {columns}, {origin} AS origin FROM {rows}")
        self._session.drop(joined.tables)
        return table

    def _keep_released(self, key: str, names: Sequence[str], signs: Sequence[str]) -> str:
        store = self._files.released
        joined, codes, sizes = self._files.joined_labels(names)
        shown, join = self._key(store, key)
        self._there = TupleKeys(sizes)
        parts = self._there.expressions([*codes[:-1], "0"])
        columns = ", ".join(f"{code} AS b{i}" for i, code in enumerate(parts))
        kept = f"WHERE NOT {self._files.shows_sign(signs)}" if signs else ""
        rows = f"SELECT *, row_number() OVER () - 1 AS place FROM {store.relation.rows}"
        with self._session.in_order():
            table = self._kept(
                f"SELECT {shown} AS k, {columns}, place "
                f"FROM ({rows}) AS r {joined.joins} {join} {kept}"
            )
        self._session.drop(joined.tables)
        return table

    def _key(self, store: RowsInFiles, name: str) -> tuple[str, str]:
        """SQL of a row's key, NULL where it is missing, and a join that it takes."""
        column, direct = f"r.{store.relation.place(name)}", direct_text(store, name)
        if direct is None:
            table = text_table(store, name, store.columns[name].values)
            self._tables.append(table)
            return "o.text", f"LEFT JOIN {table} AS o ON {column} = o.v"
        if not self._are_whole:
            return direct[0], ""
        if store.reading.tokens <= {""}:  # which is no number
            return f"{column}::BIGINT", ""
        return f"CASE WHEN {direct[0]} IS NULL THEN NULL ELSE {column}::BIGINT END", ""

    def _kept(self, query: str) -> str:
        """Put rows into a temporary table that goes in the end."""
        table = self._session.new_name("keyed")
        self._tables.append(table)
        self._session.execute(f"CREATE TEMP TABLE {table} AS {query}")
        return table

    def _use(self, table: str) -> KeyUse:
        missing = self._session.value(f"SELECT count(*) FROM {table} WHERE k IS NULL")
        if missing:  # which is refused, so that nobody asks for more
            return KeyUse(missing, 0)
        rows = f"SELECT count(*) AS n FROM {table} GROUP BY k"
        return KeyUse(0, self._session.value(f"SELECT coalesce(max(n), 0) FROM ({rows})"))
