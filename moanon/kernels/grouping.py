"""Merging the cells of a table under a genome: the hot loop.

A *form* of a table is its join tree under some genome: each column's entries are blocks, each pair
node's entries are the distinct pairs, the root's entries are the groups with their row counts. The
table itself is the finest form. `coarsen` makes a coarser form from a finer one; that is all there
is to evaluating a genome (the root of the coarse form holds its groups), and all there is to
rolling up (evaluate from the form of a finer genome instead of from the table).

Entries of a pair node are stored by left entry, so `coarsen` can take all left entries that fall
into one left group together, and number the right groups that occur there in a table as long as
there are right groups: the full key is (left group, right group), compared by position.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.kernels.jit import compiled
from moanon.kernels.join import JoinTree, LossScale, Shape

__all__ = [
    "Forms",
    "Sensitive",
    "Workspace",
    "coarsen",
    "make_forms",
    "make_workspace",
    "merge_lists",
    "merge_values",
    "with_values",
]

Bits = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]

# Unsigned index arithmetic: numba need not ask whether an index counts from the end.
_ONE = np.uint32(1)

#: Histograms are dense up to this many values, and this many places (16 MiB a level).
_DENSE_VALUES = 64
_DENSE_PLACES = 1 << 22


class Forms(NamedTuple):
    """A stack of forms of one table; the first axis is the level, level 0 the table itself.

    Attributes
    ----------
    entries : array (levels, nodes)
        Number of entries of each node.
    boundary, width : arrays (levels, places of columns)
        For each block of a column: the genome's bit behind it, and its number of base values.
    row_starts, right_of : arrays
        See `JoinTree`.
    counts : array (levels, cells)
        Rows of each root entry.
    value_starts, values, value_counts : arrays
        Sensitive values of each root entry (compressed rows) and how many rows have them; of level
        0 alone where histograms are dense.
    histograms : array (levels, cells * values)
        Rows of entry ``e`` with value ``v`` at ``e * values + v``, from level 1 on; empty where
        that would take too much room.
    """

    entries: Ints
    boundary: Ints
    width: Ints
    row_starts: Words
    right_of: Words
    counts: Words
    value_starts: Words
    values: Words
    value_counts: Words
    histograms: Words


class Workspace(NamedTuple):
    """Scratch of one thread, shared by all levels."""

    group_of: Words  # per place: group of the fine entry
    loss: Ints  # per place: integer row loss of each group of the node
    first: Words  # buckets of left groups
    order: Words  # left entries in bucket order
    slot: Words  # per right group (or value): 0 where not seen in this bucket
    changed: npt.NDArray[np.bool_]  # per node: must be made anew
    loss_start: Ints
    loss_table: Ints


class Sensitive(NamedTuple):
    """All sensitive columns in one: values numbered through, `column` says whose a value is.

    `starts`, `values` and `counts` are compressed rows over the cells.
    """

    column: Ints
    starts: Ints
    values: Ints
    counts: Ints


def make_forms(tree: JoinTree, offsets: Ints, counts: Ints, levels: int) -> Forms:
    """Allocate `levels` forms of a table, without sensitive values, and fill level 0.

    Parameters
    ----------
    tree : JoinTree
    offsets : array
        First genome bit of each column.
    counts : array
        Rows of each cell.
    levels : int
        The table, the forms to roll up through, and one for the groups of a genome.
    """
    shape = tree.shape
    leaves = int(shape.place[shape.columns])
    nothing = np.zeros((levels, 0), dtype=np.uint32)
    forms = Forms(
        np.zeros((levels, len(shape.place) - 1), dtype=np.int64),
        np.zeros((levels, leaves), dtype=np.int64),
        np.ones((levels, leaves), dtype=np.int64),
        np.zeros((levels, len(tree.row_starts)), dtype=np.uint32),
        np.zeros((levels, len(tree.right_of)), dtype=np.uint32),
        np.zeros((levels, len(counts)), dtype=np.uint32),
        nothing,
        nothing,
        nothing,
        nothing,
    )
    forms.entries[0] = np.diff(shape.place)
    for column in range(len(offsets) - 1):
        size = int(tree.sizes[column])
        first = int(shape.place[column])
        forms.boundary[0, first : first + size] = offsets[column] + np.arange(size)
    forms.row_starts[0] = tree.row_starts
    forms.right_of[0] = tree.right_of
    forms.counts[0] = counts[tree.cell_of_entry]
    return forms


def with_values(forms: Forms, tree: JoinTree, sensitive: Sensitive) -> Forms:
    """Return forms that share all arrays with `forms` and have sensitive values as well."""
    levels, cells = forms.counts.shape
    pairs, values = len(sensitive.values), len(sensitive.column)
    dense = values <= _DENSE_VALUES and cells * values <= _DENSE_PLACES
    listed = 1 if dense else levels
    filled = forms._replace(
        value_starts=np.zeros((listed, cells + 1), dtype=np.uint32),
        values=np.zeros((listed, pairs), dtype=np.uint32),
        value_counts=np.zeros((listed, pairs), dtype=np.uint32),
        histograms=np.zeros((levels, cells * values if dense else 0), dtype=np.uint32),
    )
    lengths = np.diff(sensitive.starts)[tree.cell_of_entry]
    filled.value_starts[0, 1:] = np.cumsum(lengths)
    picked = _ranges(sensitive.starts[tree.cell_of_entry], lengths)
    filled.values[0] = sensitive.values[picked]
    filled.value_counts[0] = sensitive.counts[picked]
    return filled


def make_workspace(tree: JoinTree, losses: LossScale, values: int) -> Workspace:
    """Allocate the scratch of one thread; `values` is the number of sensitive values."""
    places = int(tree.shape.place[-1])
    widest = max(places, values)
    return Workspace(
        np.zeros(places, dtype=np.uint32),
        np.zeros(places, dtype=np.int64),
        np.zeros(places + 2, dtype=np.uint32),
        np.zeros(places, dtype=np.uint32),
        np.zeros(widest + 1, dtype=np.uint32),
        np.ones(len(tree.shape.place) - 1, dtype=np.bool_),
        losses.start,
        losses.table,
    )


def _ranges(starts: Ints, lengths: Ints) -> Ints:
    """Concatenate ``starts[i] .. starts[i] + lengths[i] - 1`` for all i."""
    ends = np.cumsum(lengths)
    shifts = np.repeat(starts - (ends - lengths), lengths)
    places: Ints = np.arange(int(ends[-1]) if len(ends) else 0) + shifts
    return places


@compiled
def _merge_column(
    shape: Shape, forms: Forms, fine: int, coarse: int, genome: Bits, work: Workspace, column: int
) -> None:
    """Merge a column's blocks where the genome has a 0 between them."""
    first = shape.place[column]
    last = first + forms.entries[fine, column] - 1
    block = first
    width = 0
    for entry in range(first, last + 1):
        width += forms.width[fine, entry]
        work.group_of[entry] = block - first
        if entry == last or genome[forms.boundary[fine, entry]]:
            forms.width[coarse, block] = width
            forms.boundary[coarse, block] = forms.boundary[fine, entry]
            work.loss[block] = work.loss_table[work.loss_start[column] + width]
            block += 1
            width = 0
    forms.entries[coarse, column] = block - first


@compiled
def _bucket(group_of: Words, groups: int, first: Words, order: Words) -> None:
    """List entries by group: those of group ``g`` at ``order[first[g] .. first[g+1] - 1]``."""
    for group in range(groups + 1):
        first[group] = 0
    for entry in range(len(group_of)):
        first[group_of[entry] + _ONE] += _ONE
    for group in range(groups):
        first[group + 1] += first[group]
    for entry in range(len(group_of)):
        group_ = group_of[entry]
        order[first[group_]] = entry
        first[group_] += _ONE
    for group in range(groups, 0, -1):
        first[group] = first[group - 1]
    first[0] = 0


@compiled
def _merge_pairs(
    fine_starts: Words,
    fine_right: Words,
    right_group: Words,
    left_groups: int,
    first: Words,
    order: Words,
    slot: Words,
    group_of: Words,
    coarse_starts: Words,
    coarse_right: Words,
) -> int:
    """Number the distinct (left group, right group) pairs of a node; return how many."""
    found = np.uint32(0)
    for left in range(left_groups):
        begin = found
        coarse_starts[left] = found
        for i in range(first[left], first[left + 1]):
            entry = order[i]
            for pair in range(fine_starts[entry], fine_starts[entry + _ONE]):
                right = right_group[fine_right[pair]]
                number = slot[right]
                is_new = number == 0
                # Written in any case, counted only when new: no branch to mispredict.
                coarse_right[found] = right
                found += np.uint32(is_new)
                number = found if is_new else number
                slot[right] = number
                group_of[pair] = number - _ONE
        for pair in range(begin, found):
            slot[coarse_right[pair]] = 0
    coarse_starts[left_groups] = found
    return int(found)


@compiled
def _merge_root(
    fine_starts: Words,
    fine_right: Words,
    fine_counts: Words,
    right_group: Words,
    left_groups: int,
    first: Words,
    order: Words,
    slot: Words,
    coarse_starts: Words,
    coarse_right: Words,
    coarse_counts: Words,
) -> int:
    """Like `_merge_pairs` at the root, where rows are counted and numbers are not needed."""
    found = np.uint32(0)
    for left in range(left_groups):
        begin = found
        coarse_starts[left] = found
        for i in range(first[left], first[left + 1]):
            entry = order[i]
            for pair in range(fine_starts[entry], fine_starts[entry + _ONE]):
                right = right_group[fine_right[pair]]
                rows = slot[right]
                slot[right] = rows + fine_counts[pair]
                coarse_right[found] = right
                found += np.uint32(rows == 0)
        for pair in range(begin, found):
            right = coarse_right[pair]
            coarse_counts[pair] = slot[right]
            slot[right] = 0
    coarse_starts[left_groups] = found
    return int(found)


@compiled
def merge_lists(
    first: Words,
    order: Words,
    groups: int,
    starts: Words,
    values: Words,
    counts: Words,
    slot: Words,
    merged_starts: Words,
    merged: Words,
    merged_counts: Words,
) -> None:
    """Add up the listed values of the entries of each group.

    Parameters
    ----------
    first, order : arrays
        Group ``g`` has the entries ``order[first[g]]`` up to ``order[first[g + 1] - 1]``.
    groups : int
    starts, values, counts : arrays
        Values of each entry (compressed rows) and how many rows have them.
    slot : array (values,)
        Scratch; zero between calls.
    merged_starts, merged, merged_counts : arrays
        Results: values of each group, in no particular order.
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


@compiled
def _merge_histograms(
    forms: Forms, fine: int, coarse: int, root_groups: Words, values: np.uint32
) -> None:
    """Add up the histograms of the root entries that were merged."""
    merged = forms.histograms[coarse]
    merged[: forms.entries[coarse, -1] * values] = 0
    if fine == 0:
        starts, listed, rows = forms.value_starts[0], forms.values[0], forms.value_counts[0]
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


@compiled
def merge_values(shape: Shape, forms: Forms, fine: int, coarse: int, work: Workspace) -> None:
    """Add up the sensitive values of groups that `coarsen` has just numbered."""
    root = shape.place[-2]
    root_groups = work.group_of[root : root + forms.entries[fine, -1]]
    values = np.uint32(forms.histograms.shape[1] // forms.counts.shape[1])
    if values:
        _merge_histograms(forms, fine, coarse, root_groups, values)
        return
    groups = forms.entries[coarse, -1]
    _bucket(root_groups, groups, work.first, work.order)
    merge_lists(
        work.first,
        work.order,
        groups,
        forms.value_starts[fine],
        forms.values[fine],
        forms.value_counts[fine],
        work.slot,
        forms.value_starts[coarse],
        forms.values[coarse],
        forms.value_counts[coarse],
    )


@compiled
def coarsen(
    shape: Shape,
    forms: Forms,
    fine: int,
    coarse: int,
    genome: Bits,
    previous: Bits,
    fresh: bool,
    numbered: bool,
    work: Workspace,
) -> bool:
    """Make level `coarse` the form of `genome`, from level `fine`; tell whether groups changed.

    The form at `fine` must belong to a genome that has all the ones of `genome`. Where the form at
    `coarse` was made from the same `fine` for the genome `previous` and `fresh` is false, columns
    whose bits did not change and pairs of such columns are left as they are.

    Where groups are to be `numbered`, `work` says afterwards which one each root entry belongs to;
    their rows are not counted then.
    """
    for column in range(shape.columns):
        changed = fresh
        if not fresh:
            first = shape.place[column]
            for entry in range(first, first + forms.entries[fine, column] - 1):
                bit = forms.boundary[fine, entry]
                if genome[bit] != previous[bit]:
                    changed = True
                    break
        work.changed[column] = changed
        if changed:
            _merge_column(shape, forms, fine, coarse, genome, work, column)
    pairs = len(shape.left)
    for i in range(pairs):
        node = shape.columns + i
        left = shape.left[i]
        right = shape.right[i]
        work.changed[node] = work.changed[left] or work.changed[right]
        if work.changed[node]:
            _merge_node(shape, forms, fine, coarse, i, i == pairs - 1 and not numbered, work)
    return bool(work.changed[shape.columns + pairs - 1])


@compiled
def _merge_node(
    shape: Shape, forms: Forms, fine: int, coarse: int, i: int, count_only: bool, work: Workspace
) -> None:
    """Make one pair node of the coarse form; its children are made already."""
    node = shape.columns + i
    left = shape.left[i]
    right = shape.right[i]
    here = shape.place[node]
    left_groups = forms.entries[coarse, left]
    left_place = shape.place[left]
    right_place = shape.place[right]
    _bucket(
        work.group_of[left_place : left_place + forms.entries[fine, left]],
        left_groups,
        work.first,
        work.order,
    )
    fine_starts = forms.row_starts[fine, shape.row_place[i] :]
    fine_right = forms.right_of[fine, here:]
    right_group = work.group_of[right_place : right_place + forms.entries[fine, right]]
    starts = forms.row_starts[coarse, shape.row_place[i] :]
    rights = forms.right_of[coarse, here:]
    if count_only:
        found = _merge_root(
            fine_starts,
            fine_right,
            forms.counts[fine],
            right_group,
            left_groups,
            work.first,
            work.order,
            work.slot,
            starts,
            rights,
            forms.counts[coarse],
        )
    else:
        found = _merge_pairs(
            fine_starts,
            fine_right,
            right_group,
            left_groups,
            work.first,
            work.order,
            work.slot,
            work.group_of[here:],
            starts,
            rights,
        )
    forms.entries[coarse, node] = found
    for group in range(left_groups):
        left_loss = work.loss[left_place + group]
        for pair in range(starts[group], starts[group + 1]):
            work.loss[here + pair] = left_loss + work.loss[right_place + rights[pair]]
