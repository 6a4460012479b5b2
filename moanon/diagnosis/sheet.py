"""The table as the diagnosis sees it: distinct rows with their counts, columns as bits.

A set of columns is a bit mask. Bit 0 is the column with the fewest values; the walk adds columns
from high bits to low ones, so that what can still tell rows apart becomes little early on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt

import numpy as np
import numpy.typing as npt

from moanon.data.cells import row_keys
from moanon.data.column import Column
from moanon.diagnosis.curves import Curve, Levels
from moanon.diagnosis.models import Model
from moanon.diagnosis.rater import Rater
from moanon.kernels import refinement

__all__ = ["Refiner", "Sheet"]

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Sheet:
    """Distinct rows of some columns.

    Attributes
    ----------
    names : tuple of str
        The columns, as their owner orders them.
    bits : tuple of int
        The bit of each.
    codes : array (bits, cells)
        Value of each column in each cell, columns by their bits, a missing value as one of its
        own; cells in lexicographic order, bit 0 first.
    values : tuple of int
        Number of values of each column, by its bit.
    counts : array (cells,)
        Rows of each cell.
    row_cell : array (rows,)
        The cell of each row.
    sensitive : tuple of Column
        The sensitive columns, row by row.
    """

    names: tuple[str, ...]
    bits: tuple[int, ...]
    codes: Words
    values: tuple[int, ...]
    counts: Ints
    row_cell: Ints
    sensitive: tuple[Column, ...]

    @classmethod
    def build(cls, columns: Sequence[Column], sensitive: Sequence[Column]) -> Sheet:
        """Count the distinct rows of some columns."""
        coded = [_own_code_for_missing(column) for column in columns]
        sizes = [int(code.max()) + 1 for code in coded]
        order = sorted(range(len(columns)), key=sizes.__getitem__)
        keys = row_keys([coded[i] for i in order], [sizes[i] for i in order])
        _, first, row_cell, counts = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        return cls(
            tuple(column.name for column in columns),
            tuple(order.index(i) for i in range(len(columns))),
            np.stack([coded[i][first] for i in order]).astype(np.uint32),
            tuple(sizes[i] for i in order),
            counts.astype(np.int64),
            row_cell.astype(np.int64),
            tuple(sensitive),
        )

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return len(self.row_cell)

    def mask(self, names: Iterable[str]) -> int:
        """Return the bit mask of a set of columns."""
        return sum(1 << self.bits[self.names.index(name)] for name in names)

    def columns_of(self, mask: int) -> tuple[str, ...]:
        """Return the columns of a bit mask, in their owner's order."""
        named = zip(self.names, self.bits, strict=True)
        return tuple(name for name, bit in named if mask >> bit & 1)

    @cached_property
    def alike(self) -> Words:
        """For each bit: cells with equal numbers agree on that column and all lower ones."""
        changes = np.zeros(self.codes.shape, dtype=np.bool_)
        changes[:, 1:] = self.codes[:, 1:] != self.codes[:, :-1]
        np.logical_or.accumulate(changes, axis=0, out=changes)
        return np.cumsum(changes, axis=1, dtype=np.uint32)

    def group_cells(self, mask: int) -> tuple[Ints, Ints]:
        """Number the groups of a set of columns: each cell's group, and the rows of each group."""
        chosen = [bit for bit in range(len(self.names)) if mask >> bit & 1]
        keys = row_keys([self.codes[bit] for bit in chosen], [self.values[bit] for bit in chosen])
        _, group = np.unique(keys, return_inverse=True)
        sizes = np.zeros(int(group.max()) + 1, dtype=np.int64)
        np.add.at(sizes, group, self.counts)
        return group.astype(np.int64), sizes

    def row_strengths(self, mask: int, model: Model) -> Levels:
        """Level of each row's group, turned so that higher is safer."""
        group, sizes = self.group_cells(mask)
        if model.measure == "k":
            return sizes[group][self.row_cell]
        order = np.argsort(group, kind="stable")
        listed = (each.astype(np.uint32) for each in (order, group[order], sizes))
        return self.rater(model).rate(*listed)[group][self.row_cell]

    def rater(self, model: Model) -> Rater:
        """Return what rates groups of cells by their sensitive values."""
        return Rater(self.sensitive, self.row_cell, len(self.counts), model)


def _own_code_for_missing(column: Column) -> Ints:
    codes = column.codes.astype(np.int64)
    return np.where(codes < 0, len(column.values), codes)


class Refiner:
    """Groups of growing sets of columns: each set is made from the one below it on a stack."""

    _NONE = np.zeros(0, dtype=np.uint32)

    def __init__(self, sheet: Sheet, model: Model, levels: int) -> None:
        self._sheet = sheet
        self._model = model
        self._rater = None if model.measure == "k" else sheet.rater(model)
        cells = len(sheet.counts)
        if self._rater is None:
            self._class_of = self._NONE
            # Different sizes add up to at most all rows: 1 + 2 + … + m <= rows.
            keys, largest = isqrt(2 * sheet.rows) + 2, sheet.rows
        else:
            every = np.arange(cells, dtype=np.uint32)
            alone = self._rater.rate(every, every, sheet.counts.astype(np.uint32))
            self._strengths, classes = np.unique(alone, return_inverse=True)
            self._class_of = classes.astype(np.uint32)
            keys = largest = len(self._strengths)
        self._out = np.zeros((keys, 2), dtype=np.int64)
        self._partitions = refinement.make_partitions(
            sheet.counts, self._class_of, levels + 1, keys
        )
        self._scratch = refinement.make_scratch(cells, max(sheet.values), largest, keys)

    def add(self, level: int, bit: int, highest: int, *, last: bool) -> Curve:
        """Add a column to the set at `level`; the new set is at ``level + 1``.

        Parameters
        ----------
        level : int
            Where the set without the column is; level 0 is the empty set.
        bit : int
            The column.
        highest : int
            Bits below this one could have been added at `level`, and `bit` is one of them. Only
            bits below `bit` can be added at ``level + 1``.
        last : bool
            Whether nothing will be added on top; that is cheaper.
        """
        codes, scratch, partitions = self._sheet.codes[bit], self._scratch, self._partitions
        if self._rater is None and last:
            found = refinement.count_split(partitions, level, codes, scratch, self._out)
            return self._sizes_curve(found)
        # Where no bit was skipped, no two entries can have become alike. Histograms are kept by
        # cell, so with a sensitive column cells are never merged.
        merges = self._rater is None and bit < highest - 1
        alike = self._sheet.alike[bit] if merges else self._NONE
        refinement.split(partitions, level, codes, alike, self._class_of, scratch)
        if self._rater is None:
            found = refinement.tally_sizes(partitions, level + 1, scratch, self._out)
            return self._sizes_curve(found)
        return self._rated_curve(level + 1)

    def curve(self, mask: int) -> Curve:
        """Return the curve of one set of columns; what was on the stack is lost."""
        chosen = [bit for bit in reversed(range(len(self._sheet.names))) if mask >> bit & 1]
        highest = len(self._sheet.names)
        for level, bit in enumerate(chosen):
            curve = self.add(level, bit, highest, last=level == len(chosen) - 1)
            highest = bit
        return curve

    def finest(self) -> Curve:
        """Return the curve of all columns together: each cell is a group of its own."""
        counts = self._sheet.counts
        if self._rater is None:
            sizes, cells = np.unique(counts, return_counts=True)
            return Curve(self._model, sizes, sizes * cells)
        rows = np.zeros(len(self._strengths), dtype=np.int64)
        np.add.at(rows, self._class_of, counts)
        return Curve(self._model, self._strengths, rows)

    def _sizes_curve(self, found: int) -> Curve:
        tally = self._out[:found]
        order = np.argsort(tally[:, 0])
        return Curve(self._model, tally[order, 0], tally[order, 1])

    def _rated_curve(self, level: int) -> Curve:
        assert self._rater is not None
        partitions = self._partitions
        entries = int(partitions.entries[level])
        sizes = partitions.rows[level, : int(partitions.groups[level])]
        rated = self._rater.rate(
            partitions.cell[level, :entries], partitions.group[level, :entries], sizes
        )
        settled = partitions.settled_rows[level, : int(partitions.settled[level])]
        strengths = np.concatenate([rated, self._strengths[settled[:, 0]]])
        rows = np.concatenate([sizes.astype(np.int64), settled[:, 1]])
        levels, at = np.unique(strengths, return_inverse=True)
        total = np.zeros(len(levels), dtype=np.int64)
        np.add.at(total, at, rows)
        return Curve(self._model, levels, total)
