"""A released file beside its original, both read by DuckDB: nothing of their rows is held.

Counted are the rows of the file that show the same, and pairs of rows that are alike on both sides:
row 17 of the file and row 17 of the original, or rows that have the same key. Frames, sheets and
small files, whose rows are in memory, are fed into DuckDB.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from moanon.arrays import Bools, Ints, Outlined, Values
from moanon.data.cell_reading import CellReading, FileForm, is_formula
from moanon.data.file_form import unreadable
from moanon.data.rows import RowStore, own_codes
from moanon.data.table import find_files
from moanon.engines.duck import (
    DuckSession,
    TupleKeys,
    is_formula_sql,
    key_order,
    literal,
    undefused_sql,
)
from moanon.engines.files import (
    WHOLE,
    JoinedCodes,
    RowsInFiles,
    direct_text,
    open_files,
    text_table,
)
from moanon.engines.opening import open_source
from moanon.engines.relations import Relation
from moanon.errors import DataError

#: Types whose texts no spreadsheet runs.
_HARMLESS = ("BOOLEAN", "DATE", "TINYINT", "SMALLINT", "INTEGER", "BIGINT")


@dataclass(frozen=True, eq=False, repr=False)
class CountedRows(Outlined):
    """Rows that are alike, counted together."""

    original: Mapping[str, Values]  # codes of some columns of the original
    released: Mapping[str, Values]  # of the file the places of values in profiles, -1 being none
    starred: Bools  # whether every cell of the file's row is the sign for suppressed ones
    rows: Ints  # how many there are
    first: Ints  # the first of them in the file, where rows stand in an order
    places: Ints  # where single rows are asked for, the place of each in the original; else 0


class PairedFiles:
    """A released file at `path` and its original in one database.

    Every cell of a suppressed row shows the `sign`. With `single`, pairs of rows are looked at one
    by one, rather than counted.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        original: RowStore,
        form: FileForm,
        sign: str,
        *,
        single: bool,
    ) -> None:
        self._store, self._sign, self.single = original, sign, single
        name = os.fspath(path)
        if isinstance(original, RowsInFiles):
            session = original.session.beside(name)
        else:
            session = DuckSession(name)
        try:
            files = find_files(name)
        except OSError as error:
            raise unreadable(name, error) from None
        if files[0].suffix.lower() == ".xlsx":
            read = open_source(path, missing_tokens=())
            self.released = _fed(session, read.store, list(read.store.columns))
        else:
            reading = CellReading.of((), form)  # an empty text is a label like any other
            self.released, _ = open_files(
                files, None, None, session=session, reading=reading, form=form
            )
        if not self.released.rows:
            raise DataError(f"{name} has no rows")

    def original(self, names: Collection[str]) -> RowsInFiles:
        """The original's rows with some of its columns."""
        if isinstance(self._store, RowsInFiles):
            return self._store
        return _fed(self.released.session, self._store, list(names))

    def shows_sign(self, names: Sequence[str]) -> str:
        """SQL: whether a row of the file shows the sign in each of some columns."""
        relation = self.released.relation
        if any(relation.type_of(name) != "VARCHAR" for name in names):
            return "false"
        cells = [
            f"coalesce(r.{relation.place(name)} = {literal(self._sign)}, false)" for name in names
        ]
        return f"({' AND '.join(cells)})"

    def count_released(self, names: Sequence[str]) -> CountedRows:
        """Count the rows of the file that show the same in some columns."""
        joined, codes, sizes = self.joined_labels(names)
        rows, number = self.released.relation.of(self.released.relation.header)
        keys = TupleKeys(sizes)
        query = (
            f"SELECT {keys.columns(codes)}, {number} AS rows, 0 AS first, 0 AS origin "
            f"FROM {rows} AS r {joined.joins} GROUP BY ALL"
        )
        with joined:
            return self.counted(query, [keys], (), names)

    def count_pairs(self, values: Mapping[str, Ints], names: Sequence[str]) -> CountedRows:
        """Count pairs of rows by position: by codes of the original's values, and by the file's.

        Codes as of `RowStore`. Both must have as many rows.
        """
        original = self.original(values)
        left = original.joined(values, {})
        right, codes, sizes = self.joined_labels(names)
        here = [f"{left.code(name)} AS a{i}" for i, name in enumerate(values)]
        there = [f"{code} AS b{i}" for i, code in enumerate(codes)]
        places = [f"a{i}" for i in range(len(here))] + [f"b{i}" for i in range(len(there))]
        keys = TupleKeys([*(int(code.max(initial=0)) + 1 for code in values.values()), *sizes])
        columns = keys.columns(places)
        counts = "1 AS rows, place AS first, place AS origin"
        if not self.single:
            counts = "count(*) AS rows, min(place) AS first, 0 AS origin"
        query = (
            f"SELECT {columns}, {counts} FROM "
            f"(SELECT {', '.join(here)} FROM {original.relation.rows} AS r {left.joins} "
            f"{left.where}) POSITIONAL JOIN "
            f"(SELECT {', '.join(there)}, row_number() OVER () - 1 AS place "
            f"FROM {self.released.relation.rows} AS r {right.joins})"
            f"{'' if self.single else ' GROUP BY ALL'}"
        )
        with left, right, self.released.session.in_order():
            return self.counted(query, [keys], tuple(values), names)

    def by_key(
        self,
        keys: tuple[str, str],
        values: Mapping[str, Ints],
        names: Sequence[str],
        signs: Sequence[str],
    ) -> _KeyedRows:
        """Bring together the rows that have the same key, until it is closed.

        `keys` are what the original and the file call the key column, `values` and `names` as for
        `count_pairs`. Rows of the file that show the sign in all of `signs` are left out; where
        there are no such columns, none is.
        """
        return _KeyedRows(self, keys, values, names, signs)

    def varies(self, name: str) -> bool:
        """Whether a column of the file has different cells."""
        relation = self.released.relation
        rows, _ = relation.of([name])
        query = f"SELECT DISTINCT {relation.place(name)} FROM {rows} LIMIT 2"
        return len(self.released.session.execute(query).fetchall()) > 1

    def runs(self, name: str) -> bool:
        """Whether a spreadsheet would run a cell of a column of the file."""
        relation = self.released.relation
        kind = relation.type_of(name)
        if kind in _HARMLESS:
            return False
        if kind != "VARCHAR":
            return any(map(is_formula, self.released.columns[name].values))
        rows, _ = relation.of([name])
        found = f"SELECT 1 FROM {rows} WHERE {is_formula_sql(relation.place(name))} LIMIT 1"
        return bool(self.released.session.execute(found).fetchall())

    def joined_labels(self, names: Sequence[str]) -> tuple[JoinedCodes, list[str], list[int]]:
        """Codes of columns of the file and, last, whether a row shows nothing but the sign."""
        codes = {name: own_codes(self.released.columns[name]) for name in names}
        joined = self.released.joined(codes, {})
        starred = f"{self.shows_sign(self.released.relation.header)}::INTEGER"
        expressions = [*(joined.code(name) for name in names), starred]
        return joined, expressions, [*(len(code) for code in codes.values()), 2]

    def counted(
        self,
        query: str,
        keys: Sequence[TupleKeys],
        original: Sequence[str],
        released: Sequence[str],
    ) -> CountedRows:
        """Run a query of keys of tuples (k0, k1, …), rows, first ones and places of the original.

        The tuples have the codes of columns of the original, then those of `joined_labels`.
        """
        found = self.released.session.fetch(query)
        parts = [np.asarray(found.pop(f"k{i}"), np.int64) for i in range(len(found) - 3)]
        order, tuples = key_order(parts), list[Values]()
        for kind in reversed(keys):
            tuples = [*kind.tuples(parts, order), *tuples]
        rows, first, places = (
            np.asarray(found.pop(key), np.int64)[order] for key in ("rows", "first", "origin")
        )
        labels = {}
        for name, code in zip(released, tuples[len(original) :], strict=False):
            gap = len(self.released.columns[name].values)
            labels[name] = np.where(code == gap, -1, code.astype(np.int32))
        return CountedRows(
            dict(zip(original, tuples, strict=False)),
            labels,
            tuples[-1].astype(bool),
            rows,
            first,
            places,
        )


class _KeyedRows:
    """The rows of a released file and of its original, by a key; see `PairedFiles.by_key`.

    Of each side the keys, and the codes of each row as few numbers, are put into a temporary table,
    so that files are read once; what does not fit into memory is spilled there.
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
        self._here = TupleKeys.of_codes(values)
        self._original = self._keep_original(original, keys[0], values)
        self._released = self._keep_released(keys[1], names, signs)

    def close(self) -> None:
        """Forget the rows."""
        self._session.drop(self._tables)

    def uses(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """How the original, and the rows of the file that are not left out, fill the key.

        Of each side the rows without a value, and the rows with the one that most have.
        """
        return self._use(self._original), self._use(self._released)

    def resolve_spellings(self, *, undefused_first: bool) -> int | None:
        """Decide which key a cell stands for, which may have been kept from running or may not.

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
        chosen = f"CASE WHEN {known} THEN {likely} ELSE {other} END AS k"
        self._released = self._kept(f"SELECT * REPLACE ({chosen}) FROM {self._released}")
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

    def _use(self, table: str) -> tuple[int, int]:
        missing = self._session.value(f"SELECT count(*) FROM {table} WHERE k IS NULL")
        if missing:  # which is refused, so that nobody asks for more
            return missing, 0
        rows = f"SELECT count(*) AS n FROM {table} GROUP BY k"
        return 0, self._session.value(f"SELECT coalesce(max(n), 0) FROM ({rows})")


def _fed(session: DuckSession, store: RowStore, names: Sequence[str]) -> RowsInFiles:
    """Put columns of rows into a table of the database, as the texts that they show."""
    held, cells, texts = store.held(names), {}, []
    for i, name in enumerate(names):
        column = held.columns[name]
        cells[f"c{i}"] = np.array([*column.values, None], dtype=object)[column.codes]
        texts.append(f"c{i}::VARCHAR AS c{i}")
    rows = f"(SELECT {', '.join(texts)} FROM {session.store(cells)})"
    types = ("VARCHAR",) * len(texts)
    relation = Relation(session, session.source, tuple(names), types, rows, is_typed=False)
    return RowsInFiles(relation, names, CellReading.of((), FileForm()))
