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

from moanon.data.cells import SensitiveCounts, count_values, row_keys
from moanon.data.column import Column
from moanon.data.steps import Scale
from moanon.diagnosis.curves import Curve, Levels
from moanon.diagnosis.models import RULES, Model
from moanon.errors import DataError, QuestionError
from moanon.kernels import refinement
from moanon.kernels.sensitive import (
    Reference,
    ValueCounts,
    make_rate_scratch,
    rate_groups,
)

__all__ = ["Refiner", "Sheet"]

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]


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
        strengths = Raters(self, model).rate(np.argsort(group, kind="stable"), np.sort(group))
        return strengths[group][self.row_cell]


def _own_code_for_missing(column: Column) -> Ints:
    codes = column.codes.astype(np.int64)
    return np.where(codes < 0, len(column.values), codes)


class Raters:
    """The sensitive columns of a sheet under one model: groups of cells in, strengths out."""

    def __init__(self, sheet: Sheet, model: Model) -> None:
        self._rule = RULES[model.rule][1]
        self._rows = sheet.rows
        if not sheet.sensitive:
            raise QuestionError(
                f"{model.symbol} needs a sensitive column: name one, or ask about k"
            )
        self._columns = []
        for column in sheet.sensitive:
            counted = count_values(column, sheet.row_cell, len(sheet.counts))
            reference = _reference(counted, column, model)
            counts = ValueCounts(counted.starts, counted.values, counted.counts)
            self._columns.append((counts, reference, make_rate_scratch(reference)))

    def rate(self, cells: npt.NDArray[np.integer], groups: npt.NDArray[np.integer]) -> Floats:
        """Strength of each group; cells are listed group by group, groups numbered from 0."""
        number = int(groups[-1]) + 1 if len(groups) else 0
        out = np.full(number, np.inf)
        listed, numbered = cells.astype(np.uint32), groups.astype(np.uint32)
        for counts, reference, scratch in self._columns:
            rate_groups(
                self._rule,
                listed,
                numbered,
                len(listed),
                self._rows,
                counts,
                reference,
                scratch,
                out,
            )
        return out


def _reference(counted: SensitiveCounts, column: Column, model: Model) -> Reference:
    totals = np.zeros(len(counted.labels), dtype=np.int64)
    np.add.at(totals, counted.values, counted.counts)
    place, places = np.zeros(0, dtype=np.int64), 0
    parent = height = np.zeros(0, dtype=np.int64)
    if model.rule in ("ordered", "tree") and column.missing:
        raise QuestionError(
            f"the {model.rule} distance has no place for the {column.missing} missing values of "
            f"column {column.name!r}; complete them, or take the rule equal"
        )
    if model.rule == "ordered":
        place = _places(column)
        places = int(place.max()) + 1
    if model.hierarchy is not None:
        place, parent, height = _tree(column, model)
        places = len(parent)
    place_totals = np.zeros(places, dtype=np.int64)
    if places:
        np.add.at(place_totals, place, totals)
    c = model.c_fraction
    exact = np.array([c.numerator, c.denominator], dtype=np.int64)
    running = np.cumsum(place_totals)
    area = np.concatenate([[0], np.cumsum(running)]).astype(np.int64)
    return Reference(totals, place, place_totals, running, area, parent, height, exact)


def _places(column: Column) -> Ints:
    """Rank the values of a column of numbers or dates; 1 and 1.0 share a place."""
    try:
        scale = Scale.choose(column.values, column.name, None, None, ())
    except DataError:
        raise QuestionError(
            f"the ordered distance needs numbers or dates (YYYY-MM-DD), and column {column.name!r} "
            "holds other texts; take the rule equal, or tree with a hierarchy"
        ) from None
    found = scale.places(column.values)
    ranks = {place: rank for rank, place in enumerate(sorted({p for p in found if p is not None}))}
    return np.array([ranks[place] for place in found if place is not None], dtype=np.int64)


def _tree(column: Column, model: Model) -> tuple[Ints, Ints, Ints]:
    """Leaf of each value, parent and height of each node."""
    tree = model.hierarchy
    assert tree is not None
    leaves = [tree.node_of[(at, at + 1)] for at in range(len(tree.leaves))]
    for value in column.values:
        if value not in tree.leaf_index:
            raise QuestionError(
                f"the hierarchy has no leaf for the value {value!r} of column {column.name!r}"
            )
    place = np.array([leaves[tree.leaf_index[value]] for value in column.values], dtype=np.int64)
    height = np.zeros(len(tree.names), dtype=np.int64)
    for node in range(len(tree.names) - 1, 0, -1):
        height[tree.parents[node]] = max(height[tree.parents[node]], height[node] + 1)
    return place, np.array(tree.parents, dtype=np.int64), height


class Refiner:
    """Groups of growing sets of columns: each set is made from the one below it on a stack."""

    _NONE = np.zeros(0, dtype=np.uint32)

    def __init__(self, sheet: Sheet, model: Model, levels: int) -> None:
        self._sheet = sheet
        self._model = model
        self._raters = None if model.measure == "k" else Raters(sheet, model)
        cells = len(sheet.counts)
        if self._raters is None:
            self._class_of = self._NONE
            # Different sizes add up to at most all rows: 1 + 2 + … + m <= rows.
            keys, largest = isqrt(2 * sheet.rows) + 2, sheet.rows
        else:
            every = np.arange(cells, dtype=np.uint32)
            alone = self._raters.rate(every, every)
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
        if self._raters is None and last:
            found = refinement.count_split(partitions, level, codes, scratch, self._out)
            return self._sizes_curve(found)
        # Where no bit was skipped, no two entries can have become alike. Histograms are kept by
        # cell, so with a sensitive column cells are never merged.
        merges = self._raters is None and bit < highest - 1
        alike = self._sheet.alike[bit] if merges else self._NONE
        refinement.split(partitions, level, codes, alike, self._class_of, scratch)
        if self._raters is None:
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
        if self._raters is None:
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
        assert self._raters is not None
        partitions = self._partitions
        entries, groups = int(partitions.entries[level]), int(partitions.groups[level])
        rated = self._raters.rate(
            partitions.cell[level, :entries], partitions.group[level, :entries]
        )
        settled = partitions.settled_rows[level, : int(partitions.settled[level])]
        strengths = np.concatenate([rated, self._strengths[settled[:, 0]]])
        rows = np.concatenate([partitions.rows[level, :groups].astype(np.int64), settled[:, 1]])
        levels, at = np.unique(strengths, return_inverse=True)
        total = np.zeros(len(levels), dtype=np.int64)
        np.add.at(total, at, rows)
        return Curve(self._model, levels, total)
