"""Cells: the distinct base-value tuples of the quasi-identifiers, with their row counts.

Two rows in one cell are alike under every generalization, so the search never looks at rows again:
the cost of a generalization follows the number of cells, not of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from moanon.arrays import Ints, Outlined, Values
from moanon.data.column import Profile
from moanon.data.domain import MISSING, Domain
from moanon.data.rows import RowStore, own_codes
from moanon.data.table import Table
from moanon.errors import DataError

#: Rows are counted in 32 bits where there are many counts.
_MOST_ROWS = 2**31 - 1


def check_rows(source: str, rows: int) -> None:
    """Refuse a table with more rows than can be counted."""
    if rows > _MOST_ROWS:
        raise DataError(
            f"{source} has {rows:,} rows; tables of at most {_MOST_ROWS:,} rows are taken, so "
            "divide it, by region or by year"
        )


@dataclass(frozen=True, repr=False)
class SensitiveCounts(Outlined):
    """How often each value of one sensitive column occurs in each cell (compressed rows).

    Cell ``c`` holds ``counts[i]`` rows of value ``values[i]`` for ``i`` in
    ``starts[c] .. starts[c + 1] - 1``, values ascending. There may be as many counts as rows: they
    are of 32 bits, unless the table has so many rows that a sum of them would not be.
    """

    name: str
    labels: tuple[str, ...]
    starts: Ints
    values: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32] | Ints

    def total(self) -> Ints:
        """Rows of the table that have each value."""
        total = np.zeros(len(self.labels), dtype=np.int64)
        np.add.at(total, self.values, self.counts)
        return total


@dataclass(frozen=True, repr=False)
class Cells(Outlined):
    """The table as the search sees it.

    Examples
    --------
    >>> import pandas as pd
    >>> from moanon.data.domain import OrderedDomain
    >>> from moanon.engines import read_table
    >>> table = read_table(pd.DataFrame({"sex": ["m", "f", "m"]}), {"sex": "quasi"})
    >>> cells = Cells.build(table, {"sex": OrderedDomain(("f", "m"))})
    >>> cells.codes.tolist(), cells.counts.tolist()
    ([[0, 1]], [1, 2])
    """

    columns: tuple[str, ...]  # the quasi-identifiers
    #: Base value of each column in each cell (columns, cells); cells in lexicographic order.
    codes: npt.NDArray[np.uint16]
    counts: Ints  # rows in each cell
    sensitive: tuple[SensitiveCounts, ...]  # one for each sensitive column

    @cached_property
    def rows(self) -> int:
        """Number of rows ``n`` of the table."""
        return int(self.counts.sum())

    def __len__(self) -> int:
        return len(self.counts)

    @classmethod
    def build(cls, table: Table, domains: Mapping[str, Domain]) -> Cells:
        """Count the distinct base tuples of the table's quasi-identifiers."""
        codes = {name: domain.codes(table.columns[name]) for name, domain in domains.items()}
        tuples: Values = np.zeros((0, 0), dtype=np.int64)
        counts = np.zeros(0, dtype=np.int64)
        sensitive = []
        for name in table.sensitive:
            tuples, counts, listed = count_values(table.store, codes, name)
            sensitive.append(listed)
        if not sensitive:
            tuples, counts = table.store.count(codes)
        # Column by column in memory, whoever counted them: kernels are compiled for one layout.
        codes_of_cells = np.ascontiguousarray(tuples, dtype=np.uint16)
        return cls(tuple(domains), codes_of_cells, counts, tuple(sensitive))


def raw_group_sizes(table: Table) -> Ints:
    """Count the rows that share all quasi-identifying values as they were read.

    Before any domain rounds a value: how exposed people are if the table is published as it is. A
    missing value is a value of its own.
    """
    return table.store.count({name: own_codes(table.columns[name]) for name in table.quasi})[1]


def merged_values(column: Profile, domain: Domain) -> str:
    """Say what base values take away from a column before anything is searched.

    Losses are reckoned from base values. Where those are coarser than the values that were read
    (steps of several years, clamped ends), a loss of 0 % does not show what is lost already. Empty
    where no two values have the same base value.

    Examples
    --------
    >>> from moanon.data.column import ColumnProfile
    >>> from moanon.data.domain import IntervalSpec
    >>> ages = ColumnProfile("age", ("20", "21", "22", "35"), None, np.ones(4, dtype=int), 0)
    >>> merged_values(ages, IntervalSpec(granularity=2).build(ages))
    '4 → 3 values, 25.0% of the entropy'
    """
    counts = np.append(column.counts, column.missing)
    base = np.bincount(domain.codes(column), weights=counts)
    values, places = np.count_nonzero(counts), np.count_nonzero(base)
    if places == values:
        return ""
    lost = max(0.0, 1 - _entropy(base) / _entropy(counts))
    return f"{values:,} → {places:,} values, {lost:.1%} of the entropy"


def _entropy(counts: npt.NDArray[Any]) -> float:
    """Entropy in bits of values that occur so often."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def count_values(
    store: RowStore, codes: Mapping[str, Ints], name: str
) -> tuple[Values, Ints, SensitiveCounts]:
    """Count the cells of some columns, and a column's values cell by cell.

    A missing value is a value of its own. Returned are the codes of the cells (columns, cells), the
    rows of each, and the counts of values.
    """
    column = store.columns[name]
    labels = column.values
    if column.missing:
        if MISSING in labels:
            raise DataError(
                f"column {name!r}: the value {MISSING!r} occurs beside missing cells, "
                "which carry that label; rename it"
            )
        labels = (*labels, MISSING)
    tuples, counts = store.count({**codes, name: own_codes(column)})
    cells = tuples[:-1]
    begins = np.zeros(len(counts), dtype=bool)
    begins[:1] = True
    for codes_of in cells:  # one by one: there may be as many tuples as rows
        begins[1:] |= codes_of[1:] != codes_of[:-1]
    starts = np.flatnonzero(begins)
    listed = SensitiveCounts(
        name,
        labels,
        np.append(starts, len(counts)),
        tuples[-1].astype(np.int32),
        counts.astype(np.int32) if counts.sum() < 2**31 else counts,
    )
    # Taken, not indexed, so that the codes of a column lie side by side.
    return cells.take(starts, axis=1), np.add.reduceat(counts, starts), listed
