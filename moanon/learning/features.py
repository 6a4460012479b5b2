"""Features: rows as numbers, whether they are raw or released.

Both meet in the same columns, so that a model trained on a release can be asked about people as
they are:

- a number or a date is its least and its largest possible value: a raw age of 22 is (22, 22), a
  released ``[20-29]`` is (20, 29) (M §5.1);
- a category of an order is the places of its first and of its last possible value;
- a category of a tree is its ancestors, itself included: one column for each depth of the tree
  holds the node there, or `HIDDEN` below what a label shows. One-hot encoded, these columns are the
  indicators of the ancestors. A set of leaves that is no node (``{Oslo, Rome}``) is the lowest node
  that holds them all: so far its ancestors are known;
- a column of the first two kinds with missing values has a third column: whether the value may be
  missing;
- sensitive and insensitive columns are released as they are: numbers, or categories.

Suppressed rows are in no release and have no features. Identifying and undeclared columns, which
no release has, and the target are left out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, nan

import numpy as np

from moanon.arrays import Bools, Floats, Ints, Outlined
from moanon.data.column import Column
from moanon.data.domain import Domain, IntervalDomain, TreeDomain
from moanon.data.hierarchy import Hierarchy
from moanon.data.steps import Steps
from moanon.genome import Instance
from moanon.grouping import Grouping

#: Stands for the node at a depth that a label does not show, and for a missing category.
HIDDEN = -1.0
#: Numbers beyond this are cut off: models square them, and some hold them in 32 bits.
_LARGEST = 1e15


@dataclass(frozen=True, repr=False)
class FeatureSpace(Outlined):
    """The columns that the rows of a table and of its releases have.

    `others` are released as they are, without the target. Which of them hold numbers, the rows
    decide that models learn from (`taught`).
    """

    instance: Instance
    others: tuple[str, ...]
    taught: Bools

    @classmethod
    def of(
        cls,
        instance: Instance,
        target: str,
        taught: Bools,
        released: Collection[str] | None = None,
    ) -> FeatureSpace:
        """Take all columns that releases have, or those that a released file has."""
        table = instance.table
        others = [name for name in table.roles if name in (*table.sensitive, *table.insensitive)]
        kept = (name for name in others if name != target)
        shown = tuple(n for n in kept if released is None or n in released)
        return cls(instance, shown, taught)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all columns: those of quasi-identifiers first."""
        quasi = [name for each in self._quasi for name in each.names]
        return (*quasi, *self.others)

    @cached_property
    def is_category(self) -> Bools:
        """Which columns hold numbers of categories, not quantities."""
        quasi = [each.are_categories for each in self._quasi for _ in each.names]
        others = [values is None for values in self._quantities]
        return np.array([*quasi, *others], dtype=np.bool_)

    def raw(self, rows: Bools) -> Floats:
        """Some rows as they are."""
        table, parts = self.instance.table, []
        for name, each in zip(self.instance.layout.columns, self._quasi, strict=True):
            column = table.column(name)
            codes = self.instance.layout.domains[name].codes(column)
            parts.append(each.of_values(column, codes)[column.codes[rows]])
        return np.column_stack([*parts, self._as_they_are(rows)])

    def released(self, grouping: Grouping, row_group: Ints, rows: Bools) -> Floats:
        """Some rows as the groups that they are in show them.

        `row_group` names the group of each row of the table; all of `rows` must have one.
        """
        assert grouping.starts is not None  # labels without meaning are refused before
        assert grouping.stops is not None
        group = row_group[rows]
        parts = []
        for each, start, stop in zip(self._quasi, grouping.starts, grouping.stops, strict=True):
            blocks, place = np.unique(np.stack([start, stop]), axis=1, return_inverse=True)
            parts.append(each.of_blocks(*blocks)[place.reshape(-1)[group]])
        return np.column_stack([*parts, self._as_they_are(rows)])

    def _as_they_are(self, rows: Bools) -> Floats:
        found = np.empty((int(np.count_nonzero(rows)), len(self.others)))
        for place, (name, values) in enumerate(zip(self.others, self._quantities, strict=True)):
            codes = self.instance.table.column(name).codes[rows]
            found[:, place] = codes if values is None else values[codes]
        return found

    @cached_property
    def _quantities(self) -> list[Floats | None]:
        """Values of the columns that are released as they are, where they are numbers."""
        columns = (self.instance.table.column(name) for name in self.others)
        return [_numbers(column, self.taught) for column in columns]

    @cached_property
    def _quasi(self) -> tuple[_Ends | _Ancestors, ...]:
        return tuple(
            _Ancestors(name, domain.hierarchy)
            if isinstance(domain, TreeDomain)
            else _Ends(name, domain)
            for name, domain in self.instance.layout.domains.items()
        )


# How a quasi-identifier becomes some columns. `of_blocks` takes blocks ``start .. stop - 1``;
# `of_values` takes a column with the base values of its texts and, last, of a missing one.


class _Ends:
    """A number or a place in an order: its least and its largest possible value."""

    are_categories = False

    def __init__(self, name: str, domain: Domain) -> None:
        self.domain = domain
        ends = ("least", "largest") if isinstance(domain, IntervalDomain) else ("first", "last")
        self.names = tuple(f"{name} ({end})" for end in ends)
        if domain.has_missing:
            self.names += (f"{name} (may be missing)",)
        if isinstance(domain, IntervalDomain):
            self.least, self.largest = _step_ends(domain.steps)
        else:
            self.least = self.largest = np.arange(domain.size - domain.has_missing, dtype=float)

    def of_blocks(self, starts: Ints, stops: Ints) -> Floats:
        values = len(self.least)  # a missing one has no place among them and comes last
        least = np.append(self.least, np.nan)[starts]
        largest = np.where(starts < values, self.largest[np.minimum(stops, values) - 1], np.nan)
        return self._columns(least, largest, stops > values)

    def of_values(self, column: Column, codes: Ints) -> Floats:
        known = codes[:-1].astype(np.float64)
        if isinstance(self.domain, IntervalDomain):
            places = self.domain.steps.scale.places(column.values)
            known = np.array([np.nan if place is None else float(place) for place in places])
            if len(self.least):  # no farther than labels reach
                known = np.clip(known, self.least[0], self.largest[-1])
        values = np.append(known, np.nan)
        return self._columns(values, values, np.arange(len(values)) == len(known))

    def _columns(self, least: Floats, largest: Floats, missing: Bools) -> Floats:
        columns = [least, largest, *([missing.astype(float)] if self.domain.has_missing else [])]
        return np.column_stack(columns)


def _step_ends(steps: Steps) -> tuple[Floats, Floats]:
    """Least and largest value of each step; of decimals, the largest is where the next begins.

    What lies beyond a range to which values are clamped reaches as far as the table does, in whole
    steps, as in losses.
    """
    width, whole = float(steps.width), steps.scale.type != "decimal"
    edges = float(steps.origin + steps.first * steps.width) + width * np.arange(steps.count + 1)
    low = -_LARGEST if steps.low is None else float(steps.low)
    high = _LARGEST if steps.high is None else float(steps.high)
    least, largest = np.clip(edges[:-1], low, high), np.clip(edges[1:] - whole, low, high)
    if steps.clamped:
        largest = np.minimum(largest, high - whole)  # the end itself is beyond
        lowest, highest = edges[0] - steps.below * width, edges[-1] + steps.above * width
        least = np.concatenate([[lowest], least, [high]])
        largest = np.concatenate([[low - whole], largest, [highest - whole]])
    return least, largest


class _Ancestors:
    """A node of a tree: for each depth the node there that holds it."""

    are_categories = True

    def __init__(self, name: str, tree: Hierarchy) -> None:
        self.tree = tree
        depth = np.zeros(len(tree.names), dtype=np.int64)
        for node, parent in enumerate(tree.parents):  # in pre-order, parents first
            depth[node] = 0 if parent < 0 else depth[parent] + 1
        deepest = max(int(depth.max()), 1)
        self.names = tuple(f"{name} (depth {level})" for level in range(1, deepest + 1))
        self.path = np.full((len(tree.names), deepest), HIDDEN)
        for node, parent in enumerate(tree.parents):
            if parent >= 0:  # the root tells nothing
                self.path[node] = self.path[parent]
                self.path[node, depth[node] - 1] = node

    def of_blocks(self, starts: Ints, stops: Ints) -> Floats:
        exact = self.tree.node_of
        blocks = zip(starts.tolist(), stops.tolist(), strict=True)
        nodes = [exact[block] if block in exact else self.tree.lowest(*block) for block in blocks]
        return np.asarray(self.path[nodes])

    def of_values(self, column: Column, codes: Ints) -> Floats:
        return self.of_blocks(codes, codes + 1)


def _numbers(column: Column, rows: Bools) -> Floats | None:
    """Values of a column as quantities; None where one of some rows has no finite number.

    What other rows have instead is a gap (NaN), and so is the last one, a missing value.
    """
    values = np.array([*map(_number, column.values), np.nan])
    shown = np.unique(column.codes[rows])
    known = np.isfinite(values[shown[shown >= 0]])
    if not (len(known) and known.all()):
        return None
    return np.asarray(np.clip(values, -_LARGEST, _LARGEST))


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return nan
    return value if isfinite(value) else nan
