"""Rows that stay in their files, read by DuckDB out of core.

Of the rows only distinct values and counts of tuples come back; see ``relations`` for how files
become relations of DuckDB.

Released rows are labelled and written there as well (`_LabelledRows`). A row finds its labels
through two kinds of joins: the values of its quasi-identifiers become codes, and the tuple of codes
says whether the row is shown. Where a code has but one label, as under a genome, the label comes
with the code, from a small table; otherwise tuples have labels of their own. Every other released
column shows its own value, as a text that is the same wherever rows are. Most types have texts that
DuckDB writes in the same way. Others go through a table of their distinct values, whose texts are
made here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Self

import numpy as np

from moanon.arrays import Bools, Ints, Values
from moanon.data.cell_reading import CellReading, FileForm, is_formula
from moanon.data.column import TEXT, Column
from moanon.data.hierarchy import SUPPRESSED
from moanon.data.rows import Labelling, RowOrder
from moanon.engines.duck import (
    DuckSession,
    TupleKeys,
    copy_rows,
    in_bytes,
    in_quotes,
    is_formula_sql,
    key_order,
    literal,
)
from moanon.engines.relations import Relation, relate
from moanon.engines.stores import RowsElsewhere


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
        rows = _LabelledRows(self, labelling, spell)
        try:
            with self.session.in_order():
                self.session.write(rows.copied_to(path), path)
            return rows.formula_cells(), labelling.row_order
        finally:
            rows.drop()

    def look_up(self, name: str) -> tuple[Column, Ints]:
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
        return self.reading.read(texts), counts

    def tally(
        self, codes: Mapping[str, Ints], left_out: Mapping[str, Bools]
    ) -> tuple[Values, Ints]:
        names = [*codes, *(name for name in left_out if name not in codes)]
        keys, (rows, number) = TupleKeys.of_codes(codes), self.relation.of(names)
        with JoinedCodes(self, codes, left_out, {}) as joined:
            found = self.session.fetch(
                f"SELECT {keys.columns([joined.code(name) for name in codes])}, {number} AS rows "
                f"FROM {rows} AS r {joined.joins} {joined.where} GROUP BY ALL"
            )
        parts = [np.asarray(found.pop(f"k{i}"), np.int64) for i in range(keys.parts)]
        self.session.give_back()
        order = key_order(parts)
        return keys.tuples(parts, order), np.asarray(found.pop("rows"), np.int64)[order]

    def find(self, codes: Mapping[str, Ints], tuples: Values) -> tuple[Ints, Ints]:
        by_number = {name: code[self.value_of(name)] for name, code in codes.items()}
        keys = TupleKeys.of_codes(codes)
        wanted = {f"k{i}": key for i, key in enumerate(keys.of(tuples))}
        with JoinedCodes(self, by_number, self._left_out, {}) as joined, self.session.in_order():
            marked = self.session.store({**wanted, "which": np.arange(tuples.shape[1])})
            joined.tables.append(marked)
            columns = keys.columns([joined.code(name) for name in codes])
            found = self.session.fetch(
                f"SELECT place, which FROM (SELECT {columns}, row_number() OVER () - 1 AS place "
                f"FROM {self.relation.rows} AS r {joined.joins} {joined.where}) "
                f"JOIN {marked} USING ({', '.join(wanted)})"
            )
        rows, which = (np.asarray(found[key], np.int64) for key in ("place", "which"))
        order = np.argsort(rows)
        return rows[order], which[order]

    def column(self, name: str) -> Column:
        """Fetch a column row by row, in the order of the files."""
        profile, value_of = self._columns.numbered(name)
        numbers = {name: value_of}
        with JoinedCodes(self, numbers, self._left_out, {}) as joined, self.session.in_order():
            found = self.session.fetch(
                f"SELECT {joined.code(name)}::INTEGER AS code FROM {self.relation.rows} AS r "
                f"{joined.joins} {joined.where}"
            )
        codes = np.asarray(found["code"]).astype(np.int32)
        sql_type = self.relation.released_type(name) if self.relation.is_typed else None
        return Column(name, codes, profile.values, profile.native, sql_type)


class JoinedCodes:
    """Joins that bring the codes of values to rows, and know rows that are left out.

    In SQL: `joins`, with `tables` that are dropped in the end; `where`, which rows there are;
    `outside`, which of them hold values that have no place.
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
            numbers = len(store.distinct(name)[1])
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._session.drop(self.tables)

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


# -- labelled rows ---------------------------------------------------------------------------------


#: Whole numbers of at most 64 bits, with a sign.
WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
#: SQL type → how its values are written as the strict reader writes them.
_DIRECT = {
    **dict.fromkeys((*WHOLE, "DECIMAL", "UUID"), "{0}::VARCHAR"),
    "BOOLEAN": "CASE WHEN {0} THEN 'True' WHEN NOT {0} THEN 'False' END",
    "VARCHAR": "{0}",
}


class _LabelledRows:
    """The released rows of files as SQL, for one statement after the other."""

    def __init__(
        self, store: RowsInFiles, labelling: Labelling, spell: Callable[[str | None], str] | None
    ) -> None:
        self._store, self._labelling, self._spell = store, labelling, spell
        self._session = store.session
        self._tables: list[str] = []
        self._types: list[str] = []
        self._joins: list[str] = []
        self._formulas: list[str] = []  # SQL: whether a row has such a cell
        self._by_code = self._label_codes()
        self._rows = rows = store.joined(labelling.codes, self._by_code)
        self._tables += rows.tables
        keys = TupleKeys.of_codes(labelling.codes)
        self._join_labels(keys, rows.outside, [rows.code(name) for name in labelling.codes])
        self.cells = [self._cell(name) for name in labelling.columns]
        self._joined = f"{rows.joins} {' '.join(self._joins)} {rows.where}"

    @property
    def is_large(self) -> bool:
        """Whether the labels may not fit beside a join; then rows lose their order on the way."""
        bytes_each = 16 + 16 * (len(self._labelling.labels) - len(self._by_code))
        needed = int(self._labelling.tuples.shape[1]) * bytes_each
        return needed * 4 > in_bytes(self._session.memory)

    def copied_to(self, path: Path) -> str:
        """SQL that writes the rows."""
        return copy_rows(
            self._store.relation.rows,
            self.cells,
            self._types,
            self._labelling,
            path,
            self._spell,
            joins=self._joined,
            is_large=self.is_large,
        )

    def formula_cells(self) -> int:
        """Cells of columns without a label that hold texts which a spreadsheet would run."""
        found = 0
        for runs in self._formulas:
            rows = self._store.relation.rows
            if self._session.value(f"SELECT count(*) FROM {rows} AS r WHERE {runs}"):
                shown = "labels.shown" if self._labelling.stars else "true"
                found += self._session.value(
                    f"SELECT count(*) FILTER (WHERE {shown} AND {runs}) "
                    f"FROM {rows} AS r {self._joined}"
                )
        return found

    def drop(self) -> None:
        """Forget the tables that were joined."""
        self._session.drop(self._tables)

    # -- labels ----------------------------------------------------------------------------------

    def _label_codes(self) -> dict[str, list[str]]:
        """Label of each code, for quasi-identifiers whose codes have one each."""
        found = {}
        labelling = self._labelling
        for name, codes in zip(labelling.codes, labelling.tuples, strict=True):
            if name not in labelling.labels:
                continue
            texts, numbers = labelling.labels[name]
            number = np.zeros(int(labelling.codes[name].max(initial=0)) + 1, dtype=np.int32)
            number[codes] = numbers
            if np.array_equal(number[codes], numbers):
                written = [self._written(text) for text in texts]
                found[name] = [written[each] for each in number]  # codes that nobody shows: any
        return found

    def _join_labels(self, keys: TupleKeys, outside: str, codes: Sequence[str]) -> None:
        labelling = self._labelling
        found = {f"k{i}": key for i, key in enumerate(keys.of(labelling.tuples))}
        columns, joins = [*found], []
        for place, (name, (texts, numbers)) in enumerate(labelling.labels.items()):
            if name in self._by_code:
                continue
            found[f"n{place}"] = numbers.astype(np.int32)
            written = [self._written(text) for text in texts]
            table = self._texts(np.arange(len(texts), dtype=np.int32), written)
            columns.append(f"t{place}.text::VARCHAR AS l{place}")
            joins.append(f"JOIN {table} AS t{place} ON t{place}.number = g.n{place}")
        given = self._session.store(found)
        labels = self._session.new_name("labels")
        self._session.execute(
            f"CREATE TEMP TABLE {labels} AS SELECT {', '.join(columns)}, true AS shown "
            f"FROM {given} AS g {' '.join(joins)}"
        )
        self._session.drop([given])
        self._tables.append(labels)
        pairs = [f"labels.k{i} = {key}" for i, key in enumerate(keys.expressions(codes))]
        condition = " AND ".join([*pairs, *([f"NOT ({outside})"] if outside else [])])
        kind = "LEFT JOIN" if labelling.stars else "JOIN"
        self._joins.append(f"{kind} {labels} AS labels ON {condition}")

    def _texts(self, numbers: Ints, texts: Sequence[str]) -> str:
        """A table of numbered texts, as a type of its own, which holds each text once."""
        table = self._session.store({"number": numbers, "text": np.array(texts, dtype=object)})
        self._tables.append(table)
        return table

    def _written(self, text: str) -> str:
        text = text if self._labelling.rewrite is None else self._labelling.rewrite(text)
        return text if self._spell is None else self._spell(text)

    # -- columns -----------------------------------------------------------------------------------

    def _cell(self, name: str) -> str:
        """SQL of what a column shows."""
        labelling = self._labelling
        if name in labelling.labels:
            place = list(labelling.labels).index(name)
            shown = self._rows.text(name) if name in self._by_code else f"labels.l{place}"
            self._types.append("VARCHAR")
        else:
            shown = self._own_value(name)
        if not labelling.stars:
            return shown
        self._types[-1] = "VARCHAR"
        return f"CASE WHEN labels.shown THEN {shown} ELSE {literal(SUPPRESSED)} END"

    def _own_value(self, name: str) -> str:
        labelling = self._labelling
        direct = None if name in labelling.gaps else direct_text(self._store, name)
        if direct is None:
            if name not in labelling.gaps and is_respelled(self._store, name):
                self._find_formulas(name)
            return self._by_distinct_value(name)
        shown, typed = direct
        if typed == "VARCHAR":
            self._formulas.append(is_formula_sql(shown))
            if labelling.rewrite is not None:
                return self._by_distinct_value(name)
            if self._spell is not None:
                shown = in_quotes(shown)
        self._types.append(typed)
        return shown

    def _find_formulas(self, name: str) -> None:
        """Look for formulas among the distinct values of a column, as they are shown."""
        store = self._store
        if any(map(is_formula, store.columns[name].values)):
            table = text_table(store, name, store.columns[name].values)
            self._tables.append(table)
            runs = f"SELECT v FROM {table} WHERE {is_formula_sql('text')}"
            self._formulas.append(f"r.{store.relation.place(name)} IN ({runs})")

    def _by_distinct_value(self, name: str) -> str:
        """Show a column through a table of what each of its distinct values looks like."""
        store, gap = self._store, self._labelling.gaps.get(name)
        has_gaps = name in self._labelling.with_gaps
        kind = TEXT if has_gaps else store.relation.released_type(name)
        values = store.columns[name].values
        texts = [self._written(text) if kind == TEXT else text for text in values]
        table, alias = text_table(store, name, texts), f"o{len(self._joins)}"
        self._tables.append(table)
        self._joins.append(
            f"LEFT JOIN {table} AS {alias} ON r.{store.relation.place(name)} = {alias}.v"
        )
        self._types.append(kind)
        if gap is None:
            return f"{alias}.text"
        return f"coalesce({alias}.text, {literal(self._written(gap))})"


# -- cells as texts --------------------------------------------------------------------------------


def direct_text(store: RowsInFiles, name: str) -> tuple[str, str] | None:
    """SQL of the text of a cell of row ``r``, NULL where it is missing, and its type in a release.

    None where only a table of distinct values has the texts.
    """
    kind = store.relation.type_of(name)
    if kind not in _DIRECT or is_respelled(store, name):
        return None
    shown = _DIRECT[kind].format(f"r.{store.relation.place(name)}")
    if store.reading.tokens:
        tokens = ", ".join(map(literal, sorted(store.reading.tokens)))
        shown = f"CASE WHEN {shown} IN ({tokens}) THEN NULL ELSE {shown} END"
    return shown, store.relation.released_type(name)


def is_respelled(store: RowsInFiles, name: str) -> bool:
    """Whether the texts of a column are other ones in its profile than in its files."""
    return store.reading.normalize and store.relation.type_of(name) == "VARCHAR"


def text_table(store: RowsInFiles, name: str, texts: Sequence[str]) -> str:
    """Put the distinct values of a column (v) beside texts, one for each value of its profile."""
    value_of, session = store.value_of(name), store.session
    there = np.flatnonzero(value_of[:-1] >= 0)
    chosen = np.array([texts[value_of[i]] for i in there], dtype=object)
    # As a type of its own, which holds each text once.
    numbered = session.store({"number": there.astype(np.int32), "text": chosen})
    table = session.new_name("shown")
    session.execute(
        f"CREATE TEMP TABLE {table} AS SELECT v, text::VARCHAR AS text "
        f"FROM {store.distinct_table(name)} JOIN {numbered} USING (number)"
    )
    session.drop([numbered])
    return table
