"""Rows of files, labelled and written by DuckDB: nothing of them is held.

A row finds its labels through two kinds of joins: the values of its quasi-identifiers become codes,
and the tuple of codes says whether the row is shown. Where a code has but one label, as under a
genome, the label comes with the code, from a small table; else tuples have labels of their own.
Every other released column shows its own value as the strict reader would write it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from moanon.arrays import Ints
from moanon.data.column import TEXT
from moanon.data.file_form import is_formula
from moanon.data.readers import released_type
from moanon.data.rows import Labelling
from moanon.engines.cell_texts import direct_text, is_respelled, text_table
from moanon.engines.duck import (
    RANDOM_KEY,
    TupleKeys,
    csv_line,
    in_bytes,
    in_quotes,
    is_formula_sql,
    literal,
    quoted,
    shuffled,
)

if TYPE_CHECKING:
    from moanon.engines.files import RowsInFiles

_STAR = "*"


class LabelledRows:
    """The released rows of files as SQL, for one statement after the other.

    Parameters
    ----------
    store : RowsInFiles
    labelling : Labelling
        What rows show.
    spell : function or None
        How a text is written into a line; None where cells stay apart, in their own types.
    """

    def __init__(
        self, store: RowsInFiles, labelling: Labelling, spell: Callable[[str], str] | None
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
        keys = TupleKeys([int(code.max(initial=0)) + 1 for code in labelling.codes.values()])
        self._join_labels(keys, rows.outside, [rows.code(name) for name in labelling.codes])
        self.cells = [self._cell(name) for name in labelling.columns]
        self._from = f"FROM {{rows}} AS r {rows.joins} {' '.join(self._joins)} {rows.where}"

    @property
    def is_large(self) -> bool:
        """Whether the labels may not fit beside a join; then rows lose their order on the way."""
        bytes_each = 16 + 16 * (len(self._labelling.codes) - len(self._by_code))
        needed = int(self._labelling.tuples.shape[1]) * bytes_each
        return needed * 4 > in_bytes(self._session.memory)

    def query(self) -> str:
        """All rows, their cells in columns, in order."""
        names = self._labelling.columns.values()
        typed = zip(names, self.cells, self._types, strict=True)
        columns = {name: f"CAST({cell} AS {kind})" for name, cell, kind in typed}
        if (seed := self._seed) is not None:
            line = csv_line([in_quotes(cell) for cell in self.cells])
            return shuffled(line, self._all_rows, seed, "", columns)
        return self._in_order(", ".join(f"{c} AS {quoted(name)}" for name, c in columns.items()))

    def lines(self) -> str:
        """All rows, each as one text, under the text of the header."""
        assert self._spell is not None
        header = ",".join(map(self._spell, self._labelling.columns.values()))
        line = csv_line(self.cells)
        if (seed := self._seed) is not None:
            return shuffled(line, self._all_rows, seed, header, {})
        return self._in_order(f"{line} AS {quoted(header)}")

    @property
    def _seed(self) -> int | None:
        shuffle = self._labelling.shuffle
        return None if shuffle is None else shuffle.seed

    @property
    def _all_rows(self) -> str:
        return self._from.format(rows=self._store.relation.rows)

    def _in_order(self, selected: str) -> str:
        """Rows in the order of the source, or of the source shuffled: as such they are narrow."""
        rows, order = self._store.relation.rows, ""
        if self._labelling.shuffle is not None:
            rows = f"(SELECT * FROM {rows} ORDER BY {RANDOM_KEY})"
        if self.is_large:
            rows = f"(SELECT *, row_number() OVER () AS place FROM {rows})"
            order = "ORDER BY place"
        return f"SELECT {selected} {self._from.format(rows=rows)} {order}"

    def formula_cells(self) -> int:
        """Cells of columns without a label that hold texts which a spreadsheet would run."""
        found = 0
        for runs in self._formulas:
            rows = self._store.relation.rows
            if self._session.value(f"SELECT count(*) FROM {rows} AS r WHERE {runs}"):
                joined = self._from.format(rows=rows)
                shown = "labels.shown" if self._labelling.stars else "true"
                found += self._session.value(
                    f"SELECT count(*) FILTER (WHERE {shown} AND {runs}) {joined}"
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
        return f"CASE WHEN labels.shown THEN {shown} ELSE {literal(_STAR)} END"

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
        kind = TEXT if has_gaps else released_type(store.relation.type_of(name))
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
