"""What is known about the sensitive values of a table, laid out for kernels.

How often each value occurs in the whole table, how far apart values are (all equally, by their
places in an order, or by the height of the lowest tree node above both), and logarithms of counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor, log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.kernels.jit import compiled, int64

__all__ = [
    "EQUAL",
    "ORDERED",
    "TREE",
    "HistogramColumn",
    "Lists",
    "Plan",
    "count_log",
    "fill_logs",
    "list_histograms",
    "log_unit",
    "make_lists",
    "make_plan",
]

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]

#: How far apart the values of a sensitive column are.
EQUAL, ORDERED, TREE = range(3)

#: Logarithms of counts in groups whose size has at most so many bits are looked up.
_LOG_BITS = 16
#: Groups have fewer than 2^32 rows.
_MOST_BITS = 32


class Plan(NamedTuple):
    """What is known about the columns of histograms, the same for all groups of a table.

    Values of all columns are numbered through, within a column by their place in its domain.
    """

    rows: int
    sensitive: int  # the first so many columns are sensitive
    label: int  # the column of class labels; -1 where there is none
    first: Ints  # (columns + 1,): first value of each column
    total: Ints  # (values,): rows of the table
    place: Ints  # (values,): place in the column's domain
    distance: Ints  # (columns,): EQUAL, ORDERED or TREE
    size: Ints  # (columns,): places of the domain
    height: Ints  # (columns,): height of the tree
    domain: Ints  # (columns,): where the column begins in the next two …
    below: Ints  # rows of the table at earlier places
    below_sum: Floats  # sum of `below` over earlier places
    tree: Ints  # (columns,): … and in the next two, level by level from the leaves on
    node: Ints  # first place of the node that a place is in
    node_rows: Ints  # rows of the table in that node
    whole: npt.NDArray[np.bool_]  # (columns,): see `HistogramColumn.is_whole`; of such columns …
    leaf_levels: Ints  # (values,): … levels of the tree on which a leaf is a node of its own
    inner: Ints  # (columns + 1,): where the column's larger nodes begin in the next array
    nodes: Words  # (nodes, 3): first place and the one after the last, levels it is on
    logs: Ints  # count · ln(count), in units, at 2^bits + count for a size of so many bits
    units: Floats  # (bits + 1,): the integer that stands for 1 there


class Lists(NamedTuple):
    """The values of groups, and scratch for sorting those of one.

    Of groups that have a histogram, a place for every value, all values are listed: `starts` and
    `value` are the same for all forms of a table, and the histograms are the `rows`. Of others, a
    form's own arrays are the `value` and the `rows`.
    """

    starts: Words  # per group and column
    value: Words
    rows: Words
    sorted: Ints
    complete: bool  # whether all values are listed


@dataclass(frozen=True)
class HistogramColumn:
    """A column whose values are counted group by group.

    Attributes
    ----------
    total : array (values,)
        Rows of the table with each value; values ascend with their places.
    distance : int
        `EQUAL`, `ORDERED` or `TREE`.
    place : array (values,)
        Place of each value in the domain.
    size : int
        Number of places.
    levels : array (height, places)
        Of a tree, for each level below the root, from the leaves on: the first place of the node
        that each place is in.
    """

    total: Ints
    distance: int
    place: Ints
    size: int
    levels: Ints = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))

    @property
    def below(self) -> Ints:
        """Rows of the table before each place, and in all."""
        at_place = np.bincount(self.place, weights=self.total, minlength=self.size)
        return np.concatenate(([0], np.cumsum(at_place))).astype(np.int64)

    def is_whole(self, rows: int) -> bool:
        """Whether every place has one value, and distances can be added up as 64-bit integers."""
        in_place = np.array_equal(self.place, np.arange(self.size))
        return in_place and max(self.size, len(self.levels)) * rows**2 < 2**62

    @property
    def nodes(self) -> tuple[Ints, Words]:
        """Levels on which each leaf is a node of its own, and the larger nodes below the root."""
        leaf_levels = np.zeros(len(self.total), dtype=np.int64)
        levels: dict[tuple[int, int], int] = {}
        for first in self.levels:
            starts, widths = np.unique(first, return_counts=True)
            for start, width in zip(starts.tolist(), widths.tolist(), strict=True):
                if width == 1 and start < len(leaf_levels):
                    leaf_levels[start] += 1
                elif width > 1:
                    node = (start, start + width)
                    levels[node] = levels.get(node, 0) + 1
        nodes = [(*node, number) for node, number in levels.items()]
        return leaf_levels, np.array(nodes, dtype=np.uint32).reshape(-1, 3)

    @property
    def level_rows(self) -> Ints:
        """Rows of the table in the node that each place is in, level by level."""
        at_place = np.diff(self.below)
        rows = np.zeros_like(self.levels)
        for level, first in enumerate(self.levels):
            rows[level] = np.bincount(first, weights=at_place, minlength=self.size)[first]
        return rows


def log_unit(rows: int) -> float:
    """Largest power of two in which ``rows · ln(rows)`` still fits into 62 bits."""
    most = max(2.0, rows * log(max(rows, 2)))
    return float(2.0 ** (61 - int(np.ceil(np.log2(most)))))


@compiled
def count_log(count: int, unit: float) -> int:
    """``count · ln(count)`` in units."""
    return int64(floor(count * log(count) * unit + 0.5))


@compiled
def fill_logs(units: Floats, out: Ints) -> None:
    """Fill tables of ``count · ln(count)``, 0 for no rows, one behind the other.

    The smaller a group, the finer the units that its sums have room for, so there is a table for
    each number of bits that a size can have: ``2^bits`` counts, and as many places before them.
    """
    bits, begin = 0, int64(1)
    while 2 * begin <= len(out):
        for count in range(1, begin):
            out[begin + count] = count_log(count, units[bits])
        bits += 1
        begin *= 2


def make_plan(columns: Sequence[HistogramColumn], sensitive: int, label: int, rows: int) -> Plan:
    """Put what is known about the columns into flat arrays.

    Parameters
    ----------
    columns : sequence of HistogramColumn
        The sensitive ones first.
    sensitive : int
        How many are sensitive.
    label : int
        Which one holds class labels; -1 for none.
    rows : int
        Rows of the table.
    """

    def joined(parts: list[Ints]) -> Ints:
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts]).astype(np.int64)

    belows = [column.below for column in columns]
    sums = [np.concatenate(([0.0], np.cumsum(below[:-1], dtype=np.float64))) for below in belows]
    places = [column.levels.size for column in columns]
    nodes = [column.nodes for column in columns]
    units = np.array([log_unit(2**bits) for bits in range(_MOST_BITS + 1)])
    logs = np.zeros(2 ** (min(rows.bit_length(), _LOG_BITS) + 1), dtype=np.int64)
    fill_logs(units, logs)
    sizes = [len(column.total) for column in columns]
    return Plan(
        rows=rows,
        sensitive=sensitive,
        label=label,
        first=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        total=joined([column.total for column in columns]),
        place=joined([column.place for column in columns]),
        distance=np.array([column.distance for column in columns], dtype=np.int64),
        size=np.array([column.size for column in columns], dtype=np.int64),
        height=np.array([len(column.levels) for column in columns], dtype=np.int64),
        domain=np.cumsum([0, *(len(below) for below in belows)])[:-1].astype(np.int64),
        below=joined(belows),
        below_sum=np.concatenate([np.zeros(0), *sums]),
        tree=np.cumsum([0, *places])[:-1].astype(np.int64),
        node=joined([column.levels.ravel() for column in columns]),
        node_rows=joined([column.level_rows.ravel() for column in columns]),
        whole=np.array([column.is_whole(rows) for column in columns], dtype=np.bool_),
        leaf_levels=joined([leaves for leaves, _ in nodes]),
        inner=np.cumsum([0, *(len(larger) for _, larger in nodes)]).astype(np.int64),
        nodes=np.concatenate([np.zeros((0, 3), np.uint32), *(larger for _, larger in nodes)]),
        logs=logs,
        units=units,
    )


def list_histograms(plan: Plan, groups: int) -> Lists:
    """List every value of so many groups; `rows` are to be replaced by their histograms."""
    values = int(plan.first[-1])
    first = np.arange(groups)[:, None] * values + plan.first[:-1]
    return Lists(
        np.append(first.ravel(), groups * values).astype(np.uint32),
        np.tile(np.arange(values, dtype=np.uint32), groups),
        np.zeros(0, dtype=np.uint32),
        np.zeros(values + 1, dtype=np.int64),
        True,
    )


def make_lists(plan: Plan, groups: int, pairs: int) -> Lists:
    """Allocate lists of at most so many groups, and so many pairs of group and value."""
    columns, values = len(plan.first) - 1, int(plan.first[-1])
    return Lists(
        np.zeros(groups * columns + 1, dtype=np.uint32),
        np.zeros(pairs, dtype=np.uint32),
        np.zeros(pairs, dtype=np.uint32),
        np.zeros(values + 1, dtype=np.int64),  # one more: written before it is counted
        False,
    )
