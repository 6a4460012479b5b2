"""The groups that sets of columns make of the rows of a table, and the levels of these groups.

The table is seen as its distinct rows, the cells, with their counts. A set of columns is a bit
mask. Bit 0 is the column with the fewest values; columns are added from high bits to low ones, so
that what can still tell rows apart becomes little early on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import NamedTuple

import numpy as np

from moanon.arrays import Floats, Ints, Outlined, UInts, Values
from moanon.data.cells import SensitiveCounts, count_values
from moanon.data.column import Profile
from moanon.data.hierarchy import Hierarchy
from moanon.data.rows import RowStore, own_codes, row_keys
from moanon.data.steps import Scale
from moanon.diagnosis.diagnosis_answers import Curve, Levels
from moanon.diagnosis.questions import PrivacyModel
from moanon.errors import ConfigError, DataError
from moanon.kernels import refinement
from moanon.kernels.histograms import (
    EQUAL,
    ORDERED,
    TREE,
    HistogramColumn,
    Lists,
    Plan,
    make_lists,
    make_plan,
    merge_lists,
    sort_values,
)
from moanon.kernels.models import MODELS, measure_models_alone

_NONE = np.zeros(0, dtype=np.uint32)
_NO_RUNS = np.zeros((0, 2), dtype=np.uint64)
#: Cells are merged where they make at most this share of runs.
_FEW_RUNS = 0.9
_NO_MISTAKES = np.zeros(0, dtype=np.int64)  # there are no class labels


@dataclass(frozen=True, eq=False, repr=False)
class DistinctRows(Outlined):
    """Distinct rows of some columns.

    Attributes
    ----------
    names, bits
        The columns as their owner orders them, and the bit of each.
    codes, values
        Value of each column in each cell, and its number of values; columns by their bits, a
        missing value as one of its own; cells in lexicographic order, bit 0 first. In types as
        narrow as values allow: there may be as many cells as rows.
    counts : array (cells,)
        Rows of each cell.
    store, sensitive
        The rows, and their sensitive columns.
    """

    names: tuple[str, ...]
    bits: tuple[int, ...]
    codes: tuple[Values, ...]
    values: tuple[int, ...]
    counts: UInts
    store: RowStore
    sensitive: tuple[str, ...]

    @classmethod
    def count(
        cls, store: RowStore, columns: Sequence[str], sensitive: Sequence[str]
    ) -> DistinctRows:
        """Count the distinct rows of some columns."""
        profiles = [store.columns[name] for name in columns]
        sizes = [len(profile.values) + (profile.missing > 0) for profile in profiles]
        order = sorted(range(len(columns)), key=sizes.__getitem__)
        codes, counts = store.count({columns[i]: own_codes(profiles[i]) for i in order})
        narrow = [np.uint16 if len(profiles[i].values) < 1 << 16 else np.uint32 for i in order]
        return cls(
            tuple(columns),
            tuple(order.index(i) for i in range(len(columns))),
            tuple(c.astype(kind, copy=False) for c, kind in zip(codes, narrow, strict=True)),
            tuple(sizes[i] for i in order),
            counts.astype(np.uint32),
            store,
            tuple(sensitive),
        )

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.store.rows

    @property
    def own_codes(self) -> dict[str, Ints]:
        """Codes of the columns by their bits, as cells have them."""
        by_bit = sorted(zip(self.bits, self.names, strict=True))
        return {name: own_codes(self.store.columns[name]) for _, name in by_bit}

    def mask(self, names: Iterable[str]) -> int:
        """Return the bit mask of a set of columns."""
        return sum(1 << self.bits[self.names.index(name)] for name in names)

    def columns_of(self, mask: int) -> tuple[str, ...]:
        """Return the columns of a bit mask, in their owner's order."""
        named = zip(self.names, self.bits, strict=True)
        return tuple(name for name, bit in named if mask >> bit & 1)

    @cached_property
    def runs(self) -> tuple[refinement.Runs, ...]:
        """For each bit: runs of cells that agree on that column and all lower ones.

        None are given where nearly every cell is a run: merging them would cost more than it saves.
        """
        begins = np.zeros(len(self.counts), dtype=np.bool_)
        begins[:1] = True
        found = []
        for code in self.codes:
            begins[1:] |= code[1:] != code[:-1]
            are_few = np.count_nonzero(begins) <= _FEW_RUNS * len(begins)
            found.append(refinement.make_runs(begins) if are_few else _NO_RUNS)
        return tuple(found)

    def refine(self, model: PrivacyModel, levels: int) -> _Refiner:
        """Prepare to group sets of up to `levels` columns."""
        return _Refiner(self, model, levels)

    def cell_strengths(self, mask: int, model: PrivacyModel) -> Levels:
        """Level of the group that each cell is in, turned so that higher is safer.

        Grouped here by keys, because refinement keeps no account of which cell is in which group.
        """
        chosen = [bit for bit in range(len(self.names)) if mask >> bit & 1]
        keys = row_keys([self.codes[bit] for bit in chosen], [self.values[bit] for bit in chosen])
        _, group = np.unique(keys, return_inverse=True)
        sizes = _sum_by(group, self.counts)
        if model.measure == "k":
            return sizes[group]
        order = np.argsort(group, kind="stable")
        listed = (each.astype(np.uint32) for each in (order, group[order], sizes))
        return _Rater(self, model).rate(*listed)[group]

    def rows_of(self, cells: Ints) -> tuple[Ints, Ints]:
        """Rows of some cells, ascending, and the cell of each; only here rows are looked at."""
        wanted = np.stack([code[cells].astype(np.int64) for code in self.codes])
        rows, which = self.store.find(self.own_codes, wanted)
        return rows, cells[which]


def _sum_by(keys: Values, rows: Ints | UInts) -> Ints:
    """Add up rows by their keys, numbered from 0."""
    total = np.zeros(int(keys.max()) + 1, dtype=np.int64)
    np.add.at(total, keys, rows)
    return total


class _Refiner:
    """Groups of growing sets of columns: each set is made from the one below it on a stack."""

    def __init__(self, table: DistinctRows, model: PrivacyModel, levels: int) -> None:
        self._table = table
        self._model = model
        self._rater = None if model.measure == "k" else _Rater(table, model)
        cells = len(table.counts)
        if self._rater is None:
            self._class_of = _NONE
            # Different sizes add up to at most all rows: 1 + 2 + … + m <= rows.
            keys, largest = isqrt(2 * table.rows) + 2, table.rows
        else:
            every = np.arange(cells, dtype=np.uint32)
            alone = self._rater.rate(every, every, table.counts)
            self._strengths, classes = np.unique(alone, return_inverse=True)
            self._class_of = classes.astype(np.uint32)
            keys = largest = len(self._strengths)
        self._out = np.zeros((keys, 2), dtype=np.int64)
        self._partitions = refinement.make_partitions(
            table.counts, self._class_of, levels + 1, keys, max(table.values), largest
        )

    def add(self, level: int, bit: int, highest: int, *, last: bool) -> Curve:
        """Add a column to the set at `level`; the new set is at ``level + 1``.

        Level 0 is the empty set. Bits below `highest` could have been added at `level`, `bit` is
        one of them; only bits below `bit` can be added on top, and where nothing will be (`last`),
        that is cheaper.
        """
        codes, partitions = self._table.codes[bit], self._partitions
        if self._rater is None and last:
            found = refinement.count_split(partitions, level, codes, self._out)
            return self._sizes_curve(found)
        # Where no bit was skipped, no two entries can have become alike. Histograms are kept by
        # cell, so with a sensitive column cells are never merged.
        merges = self._rater is None and bit < highest - 1
        runs = self._table.runs[bit] if merges else _NO_RUNS
        refinement.split(partitions, level, codes, runs, self._class_of)
        if self._rater is None:
            found = refinement.count_sizes(partitions, level + 1, self._out)
            return self._sizes_curve(found)
        return self._rated_curve(self._rater, level + 1)

    def curve(self, mask: int) -> Curve:
        """Return the curve of one set of columns; what was on the stack is lost."""
        highest = len(self._table.names)
        if mask == (1 << highest) - 1:
            return self.finest()
        chosen = [bit for bit in reversed(range(highest)) if mask >> bit & 1]
        for level, bit in enumerate(chosen):
            curve = self.add(level, bit, highest, last=level == len(chosen) - 1)
            highest = bit
        return curve

    def finest(self) -> Curve:
        """Return the curve of all columns together: each cell is a group of its own."""
        counts = self._table.counts
        if self._rater is None:
            sizes, cells = np.unique(counts, return_counts=True)
            return Curve(self._model, sizes.astype(np.int64), sizes * cells)
        return Curve(self._model, self._strengths, _sum_by(self._class_of, counts))

    def _sizes_curve(self, found: int) -> Curve:
        tally = self._out[:found]
        order = np.argsort(tally[:, 0])
        return Curve(self._model, tally[order, 0], tally[order, 1])

    def _rated_curve(self, rater: _Rater, level: int) -> Curve:
        partitions = self._partitions
        entries = int(partitions.entries[level])
        sizes = partitions.rows[level, : int(partitions.groups[level])]
        rated = rater.rate(
            partitions.cell[level, :entries], partitions.group[level, :entries], sizes
        )
        settled = partitions.settled_rows[level, : int(partitions.settled[level])]
        strengths = np.concatenate([rated, self._strengths[settled[:, 0]]])
        rows = np.concatenate([sizes.astype(np.int64), settled[:, 1]])
        levels, at = np.unique(strengths, return_inverse=True)
        return Curve(self._model, levels, _sum_by(at, rows))


# -- what groups reveal about their sensitive values -----------------------------------------------


class _Listed(NamedTuple):
    """The values of one sensitive column in each cell (compressed rows), and what is known of them.

    Values are numbered by their places.
    """

    plan: Plan
    starts: UInts
    values: UInts
    counts: UInts
    slot: UInts  # scratch: per value
    lists: Lists  # of groups


class _Rater:
    """Measures groups of cells under any model but k-anonymity; the worst sensitive column counts.

    The loops are those that measure groups everywhere else (`moanon.kernels.models`); here the
    groups are lists of cells, and one model is looked at.
    """

    def __init__(self, table: DistinctRows, model: PrivacyModel) -> None:
        if not table.sensitive:
            raise ConfigError(f"{model.symbol} needs a sensitive column: name one, or ask about k")
        self._model, self._c = model, model.c_fraction
        self._need = np.array([name == model.registered.models[0] for name in MODELS])
        self._columns = [_list_values(column, table, model) for column in table.sensitive]
        self._goodness = np.zeros((len(MODELS), len(table.counts)))

    def rate(self, cells: UInts, group_of: UInts, sizes: UInts) -> Floats:
        """Strength of groups: cells listed group by group, their groups, and the rows of each."""
        groups = len(sizes)
        first = np.zeros(groups + 1, dtype=np.uint32)
        first[1:groups] = np.flatnonzero(group_of[1:] != group_of[:-1]) + 1
        first[groups] = len(cells)
        worst = np.full(groups, np.inf)
        for column in self._columns:
            lists = column.lists
            merge_lists(
                first,
                cells,
                groups,
                column.starts,
                column.values,
                column.counts,
                column.slot,
                lists.starts,
                lists.value,
                lists.rows,
            )
            if column.plan.distance[0] != EQUAL:
                sort_values(lists.starts, lists.value, lists.rows, groups)
            measure_models_alone(
                self._need,
                self._c.numerator,
                self._c.denominator,
                sizes,
                column.plan,
                lists,
                self._goodness,
                _NO_MISTAKES,
            )
            np.minimum(worst, self._goodness[self._need.argmax(), :groups], out=worst)
        return self._model.strengths(worst)


def _list_values(name: str, table: DistinctRows, model: PrivacyModel) -> _Listed:
    cells = len(table.counts)
    _, _, counts = count_values(table.store, table.own_codes, name)
    laid_out, number = _lay_out(table.store.columns[name], counts, model)
    plan = make_plan([laid_out], 1, -1, table.rows)
    return _Listed(
        plan,
        counts.starts.astype(np.uint32),
        number[counts.values].astype(np.uint32),
        counts.counts.astype(np.uint32),
        np.zeros(len(number), dtype=np.uint32),
        make_lists(plan, cells, len(counts.values)),
    )


def _lay_out(
    column: Profile, counts: SensitiveCounts, model: PrivacyModel
) -> tuple[HistogramColumn, Ints]:
    """Give the values of a column their places by the model's distance; see `HistogramColumn`."""
    if model.rule in ("ordered", "tree") and column.missing:
        raise ConfigError(
            f"the {model.rule} distance has no place for the {column.missing} missing values of "
            f"column {column.name!r}; complete them, or take the rule equal"
        )
    total = counts.total()
    if model.rule == "ordered":
        places = _ranks(column)
        return HistogramColumn.arrange(total, ORDERED, places, int(places.max()) + 1)
    if model.hierarchy is not None:
        tree = model.hierarchy
        places, size = _leaves(column, tree), len(tree.leaves)
        return HistogramColumn.arrange(total, TREE, places, size, tree.node_starts[:-1])
    return HistogramColumn.arrange(total, EQUAL, np.arange(len(total)), len(total))


def _ranks(column: Profile) -> Ints:
    """Rank the values of a column of numbers or dates; 1 and 1.0 share a place."""
    try:
        scale = Scale.choose(column.values, column.name, None, None, ())
    except DataError:
        raise ConfigError(
            f"the ordered distance needs numbers or dates (YYYY-MM-DD), and column {column.name!r} "
            "holds other texts; take the rule equal, or tree with a hierarchy"
        ) from None
    found = scale.places(column.values)
    ranks = {place: rank for rank, place in enumerate(sorted({p for p in found if p is not None}))}
    return np.array([ranks[place] for place in found if place is not None], dtype=np.int64)


def _leaves(column: Profile, tree: Hierarchy) -> Ints:
    """Leaf of each value."""
    for value in column.values:
        if value not in tree.leaf_index:
            raise ConfigError(
                f"the hierarchy has no leaf for the value {value!r} of column {column.name!r}"
            )
    return np.array([tree.leaf_index[value] for value in column.values], dtype=np.int64)
