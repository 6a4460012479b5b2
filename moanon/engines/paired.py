"""A released file beside its original, both read by DuckDB: nothing of their rows is held.

Counted are the rows of the file that show the same, and, where row 17 of the file is row 17 of the
original, pairs of rows that are alike on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from moanon.arrays import Bools, Ints, Outlined, Values
from moanon.data.file_form import is_formula
from moanon.data.rows import own_codes
from moanon.engines.duck import TupleKeys, is_formula_sql, key_order, literal
from moanon.engines.files import JoinedCodes, RowsInFiles

#: Types whose texts no spreadsheet runs.
_HARMLESS = ("BOOLEAN", "DATE", "TINYINT", "SMALLINT", "INTEGER", "BIGINT")


@dataclass(frozen=True, eq=False, repr=False)
class CountedRows(Outlined):
    """Rows that are alike, counted together.

    Attributes
    ----------
    original, released : mapping of str to array
        Codes of some columns of the original, and of the file: there the places of values in
        profiles, -1 being none.
    starred : array of bool
        Whether every cell of the file's row is the sign for suppressed ones.
    rows : array
        How many there are.
    first : array
        The first of them in the file, where rows stand in an order.
    """

    original: Mapping[str, Values]
    released: Mapping[str, Values]
    starred: Bools
    rows: Ints
    first: Ints


class PairedFiles:
    """A released file and its original in one database.

    Parameters
    ----------
    original, released : RowsInFiles
        Of the same session.
    sign : str
        What every cell of a suppressed row shows.
    """

    def __init__(self, original: RowsInFiles, released: RowsInFiles, sign: str) -> None:
        self.original, self.released = original, released
        self._sign = sign

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
        columns = ", ".join(f"{e} AS k{i}" for i, e in enumerate(keys.expressions(codes)))
        query = (
            f"SELECT {columns}, {number} AS rows, 0::BIGINT AS first "
            f"FROM {rows} AS r {joined.joins} GROUP BY ALL"
        )
        try:
            return self.counted(query, [keys], (), names)
        finally:
            self.released.session.drop(joined.tables)

    def count_pairs(self, values: Mapping[str, Ints], names: Sequence[str]) -> CountedRows:
        """Count pairs of rows by position: by codes of the original's values, and by the file's.

        Codes as of `RowStore`. Both must have as many rows.
        """
        left = self.original.joined(values, {})
        right, codes, sizes = self.joined_labels(names)
        here = [f"{left.code(name)} AS a{i}" for i, name in enumerate(values)]
        there = [f"{code} AS b{i}" for i, code in enumerate(codes)]
        places = [f"a{i}" for i in range(len(here))] + [f"b{i}" for i in range(len(there))]
        keys = TupleKeys([*(int(code.max(initial=0)) + 1 for code in values.values()), *sizes])
        columns = ", ".join(f"{e} AS k{i}" for i, e in enumerate(keys.expressions(places)))
        query = (
            f"SELECT {columns}, count(*) AS rows, min(place) AS first FROM "
            f"(SELECT {', '.join(here)} FROM {self.original.relation.rows} AS r {left.joins} "
            f"{left.where}) POSITIONAL JOIN "
            f"(SELECT {', '.join(there)}, row_number() OVER () - 1 AS place "
            f"FROM {self.released.relation.rows} AS r {right.joins}) GROUP BY ALL"
        )
        try:
            with self.released.session.in_order():
                return self.counted(query, [keys], tuple(values), names)
        finally:
            self.released.session.drop([*left.tables, *right.tables])

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
        """Run a query of keys of tuples (k0, k1, …), rows and first ones.

        The tuples have the codes of columns of the original, then those of `joined_labels`.
        """
        found = self.released.session.fetch(query)
        parts = [np.asarray(found.pop(f"k{i}"), np.int64) for i in range(len(found) - 2)]
        order, tuples = key_order(parts), list[Values]()
        for kind in reversed(keys):
            tuples = [*kind.tuples(parts, order), *tuples]
        rows, first = (np.asarray(found.pop(key), np.int64)[order] for key in ("rows", "first"))
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
        )
