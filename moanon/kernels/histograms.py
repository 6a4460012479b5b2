"""The sensitive values of groups: how many rows of each group have which value.

`Plan` holds what is known about the values of the whole table: how often each occurs, how far apart
they are, and logarithms of counts. `Lists` holds the values of some groups; `ValueForms` those of
the forms of a table (`moanon.kernels.forms`), which `merge_values` adds up where groups were
merged: as histograms, a place for every value, where these are small, else as lists.

t-closeness needs to know what it costs to turn one value into another (Li, Li and
Venkatasubramanian, *t-Closeness*, ICDE 2007, §5). A column that says nothing about its values has
the *equal* distance: 1 between any two. One with an order, or numbers in steps, has the *ordered*
distance: the number of places between two values over the largest possible one. One with a
hierarchy has the distance of the *tree*: the height of the lowest node that holds both, over the
height of the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor, log
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bools, Floats, Ints, Outlined, UInts, Values
from moanon.kernels.forms import bucket
from moanon.kernels.jit import compiled, inner, int64
from moanon.kernels.join import Forms, JoinTree, Shape

#: How far apart the values of a sensitive column are.
Distance = Literal["equal", "ordered", "tree"]
EQUAL, ORDERED, TREE = range(3)

#: Logarithms of counts in groups whose size has at most so many bits are looked up.
_LOG_BITS = 16
#: Groups have fewer than 2^32 rows.
_MOST_BITS = 32
#: Histograms are dense up to this many values, and this many places (16 MiB a level).
_DENSE_VALUES = 64
_DENSE_PLACES = 1 << 22
#: So many cells at a time have their values put in the order of a form.
_AT_ONCE = 1 << 18
#: So many pairs of group and value are sorted at a time.
_PAIRS = 1 << 19
# Unsigned index arithmetic: numba need not ask whether an index counts from the end.
_ONE = np.uint32(1)


# -- of a table ------------------------------------------------------------------------------------


class Sensitive(NamedTuple):
    """All sensitive columns in one: values numbered through, `column` says whose a value is.

    `starts`, `values` and `counts` are compressed rows over the cells.
    """

    column: Ints
    starts: Ints
    values: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32] | Ints


def no_values(cells: int) -> Sensitive:
    """Say that a table has no sensitive values."""
    nothing = np.zeros(0, dtype=np.int32)
    starts = np.zeros(cells + 1, dtype=np.int64)
    return Sensitive(nothing.astype(np.int64), starts, nothing, nothing)


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
    whole: Bools  # (columns,): see `HistogramColumn.is_whole`; of such columns …
    leaf_levels: Ints  # (values,): … levels of the tree on which a leaf is a node of its own
    inner: Ints  # (columns + 1,): where the column's larger nodes begin in the next array
    nodes: UInts  # (nodes, 3): first place and the one after the last, levels it is on
    logs: Ints  # count · ln(count), in units, at 2^bits + count for a size of so many bits
    units: Floats  # (bits + 1,): the integer that stands for 1 there


@dataclass(frozen=True, repr=False)
class HistogramColumn(Outlined):
    """A column whose values are counted group by group; values ascend with their places."""

    total: Ints  # (values,): rows of the table with each
    distance: int  # EQUAL, ORDERED or TREE
    place: Ints  # (values,): in the domain
    size: int  # number of places
    #: Of a tree, for each level below the root, from the leaves on: first place of the node that
    #: each place is in.
    levels: Ints = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))

    @classmethod
    def arrange(
        cls, total: Ints, distance: int, places: Ints, size: int, *levels: Ints
    ) -> tuple[HistogramColumn, Ints]:
        """Lay a column out whose labels may be in another order than their places among `size`.

        Also returns the number that each label has in the column.
        """
        order = np.argsort(places, kind="stable")
        number = np.empty(len(total), dtype=np.int64)
        number[order] = np.arange(len(total))
        return cls(total[order], distance, places[order], size, *levels), number

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
    def nodes(self) -> tuple[Ints, UInts]:
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


@inner
def count_log(count: int, unit: float) -> int:
    """``count · ln(count)`` in units."""
    return int64(floor(count * log(count) * unit + 0.5))


def count_logs(counts: Ints, unit: float) -> Ints:
    """`count_log` of many counts, 0 for no rows; logarithms are Python's own, as in kernels."""
    logs = np.array([log(count) if count else 0.0 for count in counts.tolist()])
    found: Ints = np.floor(counts * logs * unit + 0.5).astype(np.int64)
    return found


def _log_tables(units: Floats, bits: int) -> Ints:
    """Tables of ``count · ln(count)``, 0 for no rows, one behind the other.

    The smaller a group, the finer the units that its sums have room for, so there is a table for
    each number of bits that a size can have: ``2^bits`` counts, and as many places before them.
    """
    counts = np.arange(2**bits)
    nats = counts * np.array([0.0, *map(log, range(1, 2**bits))])
    tables = [np.floor(nats[: 2**i] * units[i] + 0.5) for i in range(bits + 1)]
    return np.concatenate([[0.0], *tables]).astype(np.int64)


def make_plan(columns: Sequence[HistogramColumn], sensitive: int, label: int, rows: int) -> Plan:
    """Put what is known about the columns into flat arrays.

    The first so many columns are `sensitive`; the one of class labels is `label`, -1 for none.
    """

    def joined(parts: list[Ints]) -> Ints:
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts]).astype(np.int64)

    belows = [column.below for column in columns]
    sums = [np.concatenate(([0.0], np.cumsum(below[:-1], dtype=np.float64))) for below in belows]
    places = [column.levels.size for column in columns]
    nodes = [column.nodes for column in columns]
    units = np.array([log_unit(2**bits) for bits in range(_MOST_BITS + 1)])
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
        logs=_log_tables(units, min(rows.bit_length(), _LOG_BITS)),
        units=units,
    )


def plain_plan(sensitive: Sensitive, rows: int) -> Plan:
    """All columns sensitive, and their values equally far apart."""
    totals = np.bincount(
        sensitive.values, weights=sensitive.counts, minlength=len(sensitive.column)
    ).astype(np.int64)
    columns = []
    for column in range(int(sensitive.column.max(initial=-1)) + 1):
        total = totals[sensitive.column == column]
        columns.append(HistogramColumn(total, EQUAL, np.arange(len(total)), len(total)))
    return make_plan(columns, len(columns), -1, rows)


# -- of groups -------------------------------------------------------------------------------------


class Lists(NamedTuple):
    """The values of groups, and scratch for sorting those of one.

    Of groups that have a histogram, a place for every value, all values are listed: `starts` and
    `value` are the same for all forms of a table, and the histograms are the `rows`. Of others, a
    form's own arrays are the `value` and the `rows`.
    """

    starts: UInts  # per group and column
    value: UInts
    rows: UInts
    sorted: Ints
    complete: bool  # whether all values are listed


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


def list_pairs(plan: Plan, groups: int, owner: Values, value: Values, counts: Values) -> Lists:
    """List the values of groups, ascending: of pairs of group and value, in so many rows each.

    There may be as many pairs as rows: some groups after the others, so that sorting them takes
    little beside them. Pairs of a group below 0 are left out.
    """
    columns, values = len(plan.first) - 1, max(1, int(plan.first[-1]))
    turns = -(-len(owner) // _PAIRS)
    lists, end = make_lists(plan, groups, len(owner)), 0
    lengths = np.zeros(groups * columns, dtype=np.int64)
    for turn in range(turns):
        low, high = turn * groups // turns, (turn + 1) * groups // turns
        here = slice(None) if turns == 1 else np.flatnonzero((owner >= low) & (owner < high))
        keys, rows = _sum_pairs(values, owner[here], value[here], counts[here])
        group, each = np.divmod(keys, values)
        places = group * columns + np.searchsorted(plan.first, each, side="right") - 1
        np.add.at(lengths, places, 1)
        begin, end = end, end + len(rows)
        lists.value[begin:end], lists.rows[begin:end] = each, rows
    lists.starts[1:] = np.cumsum(lengths)
    return lists._replace(value=lists.value[:end], rows=lists.rows[:end])


def _sum_pairs(values: int, owner: Values, value: Values, counts: Values) -> tuple[Ints, Values]:
    """Add up the rows of pairs that occur more than once: keys of group and value, ascending."""
    if (without := owner < 0).any():
        owner, value, counts = owner[~without], value[~without], counts[~without]
    keys = owner.astype(np.int64) * values + value
    order = np.argsort(keys)
    keys = keys[order]
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    rows = np.add.reduceat(counts[order], begins) if len(begins) else counts[:0]
    return keys[begins], rows


@inner
def sort_by(keys: Ints | UInts, items: Ints | UInts, number: int) -> None:
    """Sort `items`, and `keys` with them, by ascending key (Shell's sort).

    numba's own sort would be several times as much machine code to compile and to load as all of
    this module; the runs sorted here are short.
    """
    gap = 1
    while gap < number // 3:
        gap = 3 * gap + 1
    while gap:
        for i in range(gap, number):
            key = keys[i]
            item = items[i]
            at = i
            while at >= gap and keys[at - gap] > key:
                keys[at] = keys[at - gap]
                items[at] = items[at - gap]
                at -= gap
            keys[at] = key
            items[at] = item
        gap //= 3


@compiled
def sort_values(starts: UInts, value: UInts, rows: UInts, groups: int) -> None:
    """Sort the values of each group (compressed rows), and the rows that have them with them."""
    for group in range(groups):
        begin, end = int64(starts[group]), int64(starts[group + 1])
        sort_by(value[begin:end], rows[begin:end], end - begin)


# -- of the forms of a table -----------------------------------------------------------------------


class ValueForms(NamedTuple):
    """The sensitive values of a stack of forms; the first axis is the level."""

    starts: UInts  # values of each root entry (compressed rows) …
    values: UInts  # … of level 0 alone where histograms are dense …
    counts: UInts  # … and how many rows have them
    histograms: UInts  # (levels, cells * values): from level 1 on; empty if that takes too much


def make_value_forms(tree: JoinTree, sensitive: Sensitive, levels: int) -> ValueForms:
    """Allocate the values of `levels` forms and fill level 0."""
    cells, pairs, values = len(tree.cell_of_entry), len(sensitive.values), len(sensitive.column)
    dense = values <= _DENSE_VALUES and cells * values <= _DENSE_PLACES
    listed = 1 if dense else levels
    forms = ValueForms(
        np.zeros((listed, cells + 1), dtype=np.uint32),
        np.zeros((listed, pairs), dtype=np.uint32),
        np.zeros((listed, pairs), dtype=np.uint32),
        np.zeros((levels, cells * values if dense else 0), dtype=np.uint32),
    )
    end = 0
    for first in range(0, cells, _AT_ONCE):  # there may be as many pairs as rows
        entries = slice(first, min(first + _AT_ONCE, cells))
        begins = sensitive.starts[tree.cell_of_entry[entries]]
        lengths = sensitive.starts[1:][tree.cell_of_entry[entries]] - begins
        ends = np.cumsum(lengths)
        picked = np.arange(ends[-1]) + np.repeat(begins - (ends - lengths), lengths)
        here = slice(end, end + len(picked))
        forms.starts[0, 1:][entries] = end + ends
        forms.values[0, here] = sensitive.values[picked]
        forms.counts[0, here] = sensitive.counts[picked]
        end = here.stop
    return forms


@compiled
def merge_lists(
    first: UInts,
    order: UInts,
    groups: int,
    starts: UInts,
    values: UInts,
    counts: UInts,
    slot: UInts,
    merged_starts: UInts,
    merged: UInts,
    merged_counts: UInts,
) -> None:
    """Add up the listed values of the entries of each group.

    Group ``g`` has the entries ``order[first[g]]`` up to ``order[first[g + 1] - 1]``, whose
    `values` and their `counts` begin at `starts` (compressed rows). Those of the groups are
    `merged`, in no particular order. `slot` is zero between calls.
    """
    found = np.uint32(0)
    for group in range(groups):
        begin = found
        merged_starts[group] = found
        for i in range(first[group], first[group + 1]):
            entry = order[i]
            for at in range(starts[entry], starts[entry + _ONE]):
                value = values[at]
                rows = slot[value]
                slot[value] = rows + counts[at]
                merged[found] = value
                found += np.uint32(rows == 0)
        for at in range(begin, found):
            merged_counts[at] = slot[merged[at]]
            slot[merged[at]] = 0
    merged_starts[groups] = found


@inner
def _merge_histograms(
    forms: ValueForms,
    fine: int,
    coarse: int,
    root_groups: UInts,
    groups: int,
    values: np.uint32,
) -> None:
    """Add up the histograms of the root entries that were merged."""
    merged = forms.histograms[coarse]
    merged[: groups * values] = 0
    if fine == 0:
        starts, listed, rows = forms.starts[0], forms.values[0], forms.counts[0]
        for entry in range(len(root_groups)):
            place = root_groups[entry] * values
            for at in range(starts[entry], starts[entry + 1]):
                merged[place + listed[at]] += rows[at]
        return
    counts = forms.histograms[fine]
    for entry in range(len(root_groups)):
        place = root_groups[entry] * values
        begin = np.uint32(entry) * values
        for value in range(values):
            merged[place + value] += counts[begin + value]


@inner
def merge_values(shape: Shape, forms: Forms, of_forms: ValueForms, fine: int, coarse: int) -> None:
    """Add up the sensitive values of groups that `moanon.kernels.forms.coarsen` has numbered."""
    root = shape.place[-2]
    root_groups = forms.group_of[root : root + forms.entries[fine, -1]]
    groups = forms.entries[coarse, -1]
    values = np.uint32(of_forms.histograms.shape[1] // (forms.counts.shape[1] - 1))
    if values:
        _merge_histograms(of_forms, fine, coarse, root_groups, groups, values)
        return
    bucket(root_groups, groups, forms.first, forms.order)
    merge_lists(
        forms.first,
        forms.order,
        groups,
        of_forms.starts[fine],
        of_forms.values[fine],
        of_forms.counts[fine],
        forms.slot,
        of_forms.starts[coarse],
        of_forms.values[coarse],
        of_forms.counts[coarse],
    )


def lists_at(level: int, forms: ValueForms, lists: Lists) -> Lists:
    """Lists of the groups at one level, with the level's own arrays; `list_values` fills them."""
    if lists.complete:
        return lists._replace(rows=forms.histograms[level])
    return lists._replace(value=forms.values[level], rows=forms.counts[level])


@inner
def _count_rows(histograms: UInts, groups: int, first: Ints, sizes: UInts) -> None:
    """Count the rows of groups whose histograms stand side by side; any one column will do."""
    width = np.uint32(first[-1])
    begin, end = np.uint32(first[-2]), width
    for group in range(groups):
        here = np.uint32(group) * width
        size = np.uint32(0)
        for at in range(here + begin, here + end):
            size += histograms[at]
        sizes[group] = size


@inner
def _list_sparse(
    merged_starts: UInts,
    merged: UInts,
    counts: UInts,
    groups: int,
    first: Ints,
    starts: UInts,
    sizes: UInts,
) -> None:
    """List groups whose values are listed in any order (compressed rows), and count their rows.

    What is `merged` and its `counts` are sorted in place. Afterwards group ``g`` has in column
    ``c`` the values at ``starts[g * columns + c]`` up to the next start.
    """
    columns = len(first) - 1
    sort_values(merged_starts, merged, counts, groups)
    for group in range(groups):
        end = int64(merged_starts[group + 1])
        size = int64(0)
        at = int64(merged_starts[group])
        for column in range(columns):
            starts[group * columns + column] = at
            size = int64(0)
            while at < end and merged[at] < first[column + 1]:
                size += counts[at]
                at += 1
        sizes[group] = size
    starts[groups * columns] = int64(merged_starts[groups])


@inner
def list_values(
    of_forms: ValueForms, level: int, plan: Plan, lists: Lists, sizes: UInts, groups: int
) -> None:
    """List the values that `merge_values` has added up, column by column, and count the rows."""
    if lists.complete:
        _count_rows(lists.rows, groups, plan.first, sizes)
    else:
        _list_sparse(
            of_forms.starts[level], lists.value, lists.rows, groups, plan.first, lists.starts, sizes
        )
