"""Cells: the distinct base-value tuples of the quasi-identifiers, with their row counts.

Two rows in one cell are alike under every generalization, so the search never looks at rows again:
the cost of a generalization follows the number of cells, not of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from moanon.arrays import Ints, Outlined
from moanon.data.column import Column
from moanon.data.domain import MISSING, Domain
from moanon.data.table import Table
from moanon.errors import DataError

#: Keys stay below this, so that one more column can be multiplied in without overflow.
_KEY_LIMIT = 2**62


@dataclass(frozen=True, repr=False)
class SensitiveCounts(Outlined):
    """How often each value of one sensitive column occurs in each cell (compressed rows).

    Cell ``c`` holds ``counts[i]`` rows of value ``values[i]`` for ``i`` in
    ``starts[c] .. starts[c + 1] - 1``, values ascending.
    """

    name: str
    labels: tuple[str, ...]
    starts: Ints
    values: npt.NDArray[np.int32]
    counts: Ints


@dataclass(frozen=True, repr=False)
class Cells(Outlined):
    """The table as the search sees it.

    Attributes
    ----------
    columns : tuple of str
        The quasi-identifiers.
    codes : array (columns, cells) of uint16
        Base value of each column in each cell; cells in lexicographic order.
    counts : array (cells,) of int64
        Rows in each cell.
    sensitive : tuple of SensitiveCounts
        One for each sensitive column.
    row_cell : array (rows,) of int32
        The cell of each row of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> from moanon.data.domain import OrderedDomain
    >>> from moanon.data.table import read_table
    >>> table = read_table(pd.DataFrame({"sex": ["m", "f", "m"]}), {"sex": "quasi"})
    >>> cells = Cells.build(table, {"sex": OrderedDomain(("f", "m"))})
    >>> cells.codes.tolist(), cells.counts.tolist(), cells.row_cell.tolist()
    ([[0, 1]], [1, 2], [1, 0, 1])
    """

    columns: tuple[str, ...]
    codes: npt.NDArray[np.uint16]
    counts: Ints
    sensitive: tuple[SensitiveCounts, ...]
    row_cell: npt.NDArray[np.int32]

    @property
    def rows(self) -> int:
        """Number of rows ``n`` of the table."""
        return len(self.row_cell)

    def __len__(self) -> int:
        return len(self.counts)

    @classmethod
    def build(cls, table: Table, domains: Mapping[str, Domain]) -> Cells:
        """Count the distinct base tuples of the table's quasi-identifiers."""
        coded = [domain.encode(table.columns[name]) for name, domain in domains.items()]
        keys = row_keys(coded, [domain.size for domain in domains.values()])
        _, first, row_cell, counts = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        codes = np.stack([code[first] for code in coded])
        sensitive = tuple(
            count_values(table.columns[name], row_cell, len(counts)) for name in table.sensitive
        )
        return cls(
            tuple(domains), codes, counts.astype(np.int64), sensitive, row_cell.astype(np.int32)
        )


def raw_group_sizes(table: Table) -> Ints:
    """Count the rows that share all quasi-identifying values as they were read.

    Before any domain rounds a value: how exposed people are if the table is published as it is. A
    missing value is a value of its own.
    """
    columns = [table.columns[name] for name in table.quasi]
    sizes = [len(column.values) + 1 for column in columns]
    _, counts = np.unique(
        row_keys([column.codes.astype(np.int64) + 1 for column in columns], sizes),
        return_counts=True,
    )
    return counts.astype(np.int64)


def row_keys(coded: Sequence[npt.NDArray[np.integer[Any]]], sizes: Sequence[int]) -> Ints:
    """Give each row a number that orders and tells apart rows as the tuples of their codes do.

    Mixed-radix keys are re-ranked before they would exceed 62 bits: their range is then at most the
    number of rows. Ranks keep the order, so the result is lexicographic all the same.
    """
    key = coded[0].astype(np.int64)
    span = sizes[0]
    for code, size in zip(coded[1:], sizes[1:], strict=True):
        if span * size > _KEY_LIMIT:
            seen, key = np.unique(key, return_inverse=True)
            span = len(seen)
        key = key * size + code
        span *= size
    return key


def count_values(column: Column, row_cell: Ints, cells: int) -> SensitiveCounts:
    """Count a column's values cell by cell; a missing value is a value of its own."""
    labels = column.values
    codes = column.codes.astype(np.int64)
    if (codes < 0).any():
        if MISSING in labels:
            raise DataError(
                f"column {column.name!r}: the value {MISSING!r} occurs beside missing cells, "
                "which carry that label; rename it"
            )
        codes = np.where(codes < 0, len(labels), codes)
        labels = (*labels, MISSING)
    pairs, counts = np.unique(row_cell * len(labels) + codes, return_counts=True)
    starts = np.searchsorted(pairs, np.arange(cells + 1) * len(labels))
    return SensitiveCounts(
        column.name,
        labels,
        starts.astype(np.int64),
        (pairs % len(labels)).astype(np.int32),
        counts.astype(np.int64),
    )
