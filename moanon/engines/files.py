"""Rows that stay in their files, read by DuckDB out of core.

Of the rows only distinct values and counts of tuples come back; see ``relations`` for how files
become relations of DuckDB, and ``labelled`` for how their rows are written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from moanon.arrays import Bools, Ints, Values
from moanon.data.cell_reading import CellReading
from moanon.data.column import Column
from moanon.data.file_form import FileForm
from moanon.data.rows import Labelling, RowOrder
from moanon.engines.duck import DuckSession, TupleKeys, key_order, literal
from moanon.engines.labelled import LabelledRows
from moanon.engines.relations import Relation, relate
from moanon.engines.stores import DistinctValues, RowsElsewhere


def open_files(
    files: Sequence[Path],
    names: Sequence[str] | None,
    asked: Sequence[str] | None,
    *,
    session: DuckSession,
    reading: CellReading,
    form: FileForm,
    uncopied: Collection[str] = (),
) -> tuple[RowsInFiles, tuple[str, ...]]:
    """Open files of one kind as one table; see `moanon.engines.relations.relate`.

    Returned are the rows, and the names of all columns of the files.
    """
    relation, header = relate(files, names, asked, session=session, form=form, uncopied=uncopied)
    ordered = [name for name in header if names is None or name in set(names)]
    return RowsInFiles(relation, ordered, reading), header


class RowsInFiles(RowsElsewhere):
    """Rows of Parquet and CSV files."""

    def __init__(self, relation: Relation, names: Sequence[str], reading: CellReading) -> None:
        super().__init__(names)
        self.relation = relation
        self.reading = reading
        self._tables: dict[str, str] = {}  # of the distinct values of a column: v, number

    @property
    def session(self) -> DuckSession:
        """The database that reads the files."""
        return self.relation.session

    def count_all(self) -> int:
        """Count all rows, whatever is left out."""
        rows, number = self.relation.staged or (self.relation.rows, "count(*)")
        return int(self.session.value(f"SELECT {number} FROM {rows}") or 0)

    def distinct_table(self, name: str) -> str:
        """The table of a column's distinct values (v) and their numbers."""
        self.distinct(name)
        return self._tables[name]

    def joined(self, codes: Mapping[str, Ints], texts: Mapping[str, Sequence[str]]) -> JoinedCodes:
        """Bring codes of the values in profiles to rows, those outside among them.

        Of some columns also a text for each code.
        """
        by_number = {name: code[self.value_of(name)] for name, code in codes.items()}
        return JoinedCodes(self, by_number, self._incomplete, self._outside, texts)

    def write(
        self, labelling: Labelling, path: Path, spell: Callable[[str | None], str] | None
    ) -> tuple[int, RowOrder]:
        rows = LabelledRows(self, labelling, spell)
        try:
            with self.session.in_order():
                self.session.write(rows.copied_to(path), path)
            return rows.formula_cells(), labelling.row_order
        finally:
            rows.drop()

    def look_up(self, name: str) -> DistinctValues:
        session, column = self.session, self.relation.place(name)
        rows, number = self.relation.of([name])
        found, table = session.new_name("found"), session.new_name("distinct")
        session.execute(
            f"CREATE TEMP TABLE {found} AS "
            f"SELECT {column} AS v, {number} AS n FROM {rows} GROUP BY 1"
        )
        session.execute(
            f"CREATE TEMP TABLE {table} AS SELECT v, n, "
            f"(row_number() OVER () - 1)::INTEGER AS number FROM {found} WHERE v IS NOT NULL"
        )
        nothing = session.value(f"SELECT sum(n)::BIGINT FROM {found} WHERE v IS NULL") or 0
        session.drop([found])
        self._tables[name] = table
        fetch = self.relation.fetched(name, "v")
        pairs = session.execute(f"SELECT {fetch}, n FROM {table} ORDER BY number").fetchall()
        counts = np.array([count for _, count in pairs] + [nothing], dtype=np.int64)
        texts = self.relation.column_of(name, [value for value, _ in pairs])
        return DistinctValues(self.reading.settle(texts), counts)

    def tally(
        self, codes: Mapping[str, Ints], left_out: Mapping[str, Bools]
    ) -> tuple[Values, Ints]:
        names = [*codes, *(name for name in left_out if name not in codes)]
        joined = JoinedCodes(self, codes, left_out, {})
        keys = TupleKeys([int(code.max(initial=0)) + 1 for code in codes.values()])
        expressions = keys.expressions([joined.code(name) for name in codes])
        columns = ", ".join(f"{each} AS k{i}" for i, each in enumerate(expressions))
        rows, number = self.relation.of(names)
        try:
            found = self.session.fetch(
                f"SELECT {columns}, {number} AS rows FROM {rows} AS r {joined.joins} "
                f"{joined.where} GROUP BY ALL"
            )
        finally:
            self.session.drop(joined.tables)
        parts = [np.asarray(found.pop(f"k{i}"), np.int64) for i in range(len(expressions))]
        self.session.give_back()
        order = key_order(parts)
        return keys.tuples(parts, order), np.asarray(found.pop("rows"), np.int64)[order]

    def find(self, codes: Mapping[str, Ints], tuples: Values) -> tuple[Ints, Ints]:
        by_number = {name: code[self.value_of(name)] for name, code in codes.items()}
        joined = JoinedCodes(self, by_number, self._left_out, {})
        keys = TupleKeys([int(code.max(initial=0)) + 1 for code in codes.values()])
        wanted = {f"k{i}": key for i, key in enumerate(keys.of(tuples))}
        marked = self.session.store({**wanted, "which": np.arange(tuples.shape[1])})
        expressions = keys.expressions([joined.code(name) for name in codes])
        columns = ", ".join(f"{each} AS k{i}" for i, each in enumerate(expressions))
        query = (
            f"SELECT place, which FROM (SELECT {columns}, row_number() OVER () - 1 AS place "
            f"FROM {self.relation.rows} AS r {joined.joins} {joined.where}) "
            f"JOIN {marked} USING ({', '.join(wanted)})"
        )
        try:
            with self.session.in_order():
                found = self.session.fetch(query)
        finally:
            self.session.drop([*joined.tables, marked])
        rows, which = (np.asarray(found[key], np.int64) for key in ("place", "which"))
        order = np.argsort(rows)
        return rows[order], which[order]

    def column(self, name: str) -> Column:
        """Fetch a column row by row, in the order of the files."""
        profile, value_of = self._columns.numbered(name)
        joined = JoinedCodes(self, {name: value_of}, self._left_out, {})
        rows = self.relation.rows
        try:
            with self.session.in_order():
                found = self.session.fetch(
                    f"SELECT {joined.code(name)}::INTEGER AS code FROM {rows} AS r {joined.joins} "
                    f"{joined.where}"
                )
        finally:
            self.session.drop(joined.tables)
        codes = np.asarray(found["code"]).astype(np.int32)
        sql_type = self.relation.released_type(name) if self.relation.is_typed else None
        return Column(name, codes, profile.values, profile.native, sql_type)


class JoinedCodes:
    """Joins that bring the codes of values to rows, and tell rows that are left out.

    Attributes
    ----------
    tables : list of str
        What is joined, to be dropped afterwards.
    joins, where, outside : str
        SQL: the joins; which rows there are; which of them hold values that have no place.
    """

    def __init__(
        self,
        store: RowsInFiles,
        codes: Mapping[str, Ints],
        left_out: Mapping[str, Bools],
        outside: Mapping[str, Bools],
        texts: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        self._session = store.session
        self._texts = texts
        self._aliases: dict[str, str] = {}
        self._nothing: dict[str, int] = {}
        self.tables: list[str] = []
        joins: list[str] = []
        conditions: dict[str, list[str]] = {"left_out": [], "outside": []}
        for name in dict.fromkeys([*codes, *left_out, *outside]):
            numbers = len(store.distinct(name).counts)
            code = codes.get(name, np.zeros(numbers, dtype=np.int64))
            nothing = np.zeros(numbers, dtype=bool)
            marks = {"left_out": left_out.get(name, nothing), "outside": outside.get(name, nothing)}
            table, alias = self._store(store, name, code, marks), f"j{len(joins)}"
            self._aliases[name] = alias
            self._nothing[name] = int(code[-1])
            joins.append(
                f"LEFT JOIN {table} AS {alias} ON r.{store.relation.place(name)} = {alias}.v"
            )
            for kind, marked in marks.items():
                if marked.any():
                    gap = str(bool(marked[-1])).lower()
                    conditions[kind].append(f"coalesce({alias}.{kind}, {gap})")
        self.joins = " ".join(joins)
        wanted = " AND ".join(f"NOT {each}" for each in conditions["left_out"])
        self.where = f"WHERE {wanted}" if wanted else ""
        self.outside = " OR ".join(conditions["outside"])

    def _store(self, store: RowsInFiles, name: str, code: Ints, marks: Mapping[str, Bools]) -> str:
        columns: dict[str, Values] = {
            "number": np.arange(len(code) - 1, dtype=np.int32),
            "code": code[:-1].astype(np.int64),
            **{kind: marked[:-1] for kind, marked in marks.items()},
        }
        if name in self._texts:
            columns["text"] = np.array(self._texts[name], dtype=object)[code[:-1]]
        given = self._session.store(columns)
        table = self._session.new_name("codes")
        found = ", ".join(
            f"{each}::VARCHAR AS text" if each == "text" else each for each in columns
        )
        self._session.execute(
            f"CREATE TEMP TABLE {table} AS SELECT v, {found} "
            f"FROM {store.distinct_table(name)} JOIN {given} USING (number)"
        )
        self._session.drop([given])
        self.tables.append(table)
        return table

    def code(self, name: str) -> str:
        """SQL of the code of a row in a column."""
        return f"coalesce({self._aliases[name]}.code, {self._nothing[name]})"

    def text(self, name: str) -> str:
        """SQL of the text that goes with it."""
        nothing = literal(self._texts[name][self._nothing[name]])
        return f"coalesce({self._aliases[name]}.text, {nothing})"
