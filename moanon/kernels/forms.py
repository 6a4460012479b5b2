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

from moanon.arrays import Bits, Bools, Codes, Ints, UInts
from moanon.kernels.jit import as_kernel, inner
from moanon.kernels.join import JoinTree, LossScale, Shape
from moanon.kernels.wide import (
    WideBuffers,
    add_losses,
    make_wide_buffers,
    number_tuples,
    take_members,
)

#: Up to so many pairs of groups at the root have a place each: a table that stays near.
DENSE = 32_768
#: … but no more than this for each entry, because all places are gone through.
_PLACES_PER_ENTRY = 1

# Unsigned index arithmetic: numba need not ask whether an index counts from the end.
_ONE = np.uint32(1)


class Forms(NamedTuple):
    """A stack of forms of one table; the first axis is the level, level 0 the table itself.

    Attributes
    ----------
    entries : array (levels, nodes)
        Number of entries of each node.
    boundary, key : arrays (levels, places of columns)
        For each block of a column: the genome's bit behind it, and its key (`join.block_keys`).
    row_starts, right_of : arrays
        See `JoinTree`; `right_of` has one more place at its end …
    counts : array (levels, cells + 1)
        Rows of each root entry; … and so have these, for what is written but not counted.
    members : array (levels, parts, cells)
        See `JoinTree`.
    """

    entries: Ints
    boundary: Ints
    key: Ints
    row_starts: UInts
    right_of: UInts
    counts: UInts
    members: Codes


class Workspace(NamedTuple):
    """Scratch of one thread, shared by all levels."""

    group_of: UInts  # per place: group of the fine entry
    loss: Ints  # per place: integer row loss of each group of the node
    first: UInts  # buckets of left groups
    order: UInts  # left entries in bucket order
    slot: UInts  # per right group (or sensitive value): 0 where not seen in this bucket
    changed: Bools  # per node: must be made anew
    loss_start: Ints  # see `LossScale`
    loss_table: Ints
    union: Bits  # the OR of some genomes
    dense: UInts  # rows of pairs of groups at the root; zero between calls
    wide: WideBuffers | None  # None where the root is a pair


def make_forms(
    tree: JoinTree, losses: LossScale, offsets: Ints, counts: Ints, levels: int
) -> Forms:
    """Allocate `levels` forms of a table and fill level 0.

    Parameters
    ----------
    tree : JoinTree
    losses : LossScale
        It knows the keys of base values.
    offsets : array
        First genome bit of each column.
    counts : array
        Rows of each cell.
    levels : int
        The table, the forms to roll up through, and one for the groups of a genome.
    """
    shape = tree.shape
    leaves = int(shape.place[shape.columns])
    forms = Forms(
        np.zeros((levels, len(shape.place) - 1), dtype=np.int64),
        np.zeros((levels, leaves), dtype=np.int64),
        np.ones((levels, leaves), dtype=np.int64),
        np.zeros((levels, len(tree.row_starts)), dtype=np.uint32),
        np.zeros((levels, len(tree.right_of) + 1), dtype=np.uint32),
        np.zeros((levels, len(counts) + 1), dtype=np.uint32),
        np.zeros((levels, *tree.members.shape), dtype=np.uint16),
    )
    forms.members[0] = tree.members
    forms.entries[0] = np.diff(shape.place)
    for column in range(len(offsets) - 1):
        size = int(tree.sizes[column])
        first = int(shape.place[column])
        forms.boundary[0, first : first + size] = offsets[column] + np.arange(size)
        forms.key[0, first : first + size] = np.diff(losses.of_column(column)[0])
    forms.row_starts[0] = tree.row_starts
    forms.right_of[0, :-1] = tree.right_of
    forms.counts[0, :-1] = counts[tree.cell_of_entry]
    return forms


def make_workspace(tree: JoinTree, losses: LossScale, bits: int, values: int) -> Workspace:
    """Allocate the scratch of one thread, for genomes of `bits` and so many sensitive values."""
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
        np.zeros(bits, dtype=np.uint8),
        np.zeros(DENSE, dtype=np.uint32),
        make_wide_buffers(tree.shape),
    )


@inner
def _merge_column(
    shape: Shape, forms: Forms, fine: int, coarse: int, genome: Bits, work: Workspace, column: int
) -> None:
    """Merge a column's blocks where the genome has a 0 between them."""
    first = shape.place[column]
    last = first + forms.entries[fine, column] - 1
    block = first
    key = 0
    for entry in range(first, last + 1):
        key += forms.key[fine, entry]
        work.group_of[entry] = block - first
        if entry == last or genome[forms.boundary[fine, entry]]:
            forms.key[coarse, block] = key
            forms.boundary[coarse, block] = forms.boundary[fine, entry]
            work.loss[block] = work.loss_table[work.loss_start[column] + key]
            block += 1
            key = 0
    forms.entries[coarse, column] = block - first


@inner
def bucket(group_of: UInts, groups: int, first: UInts, order: UInts) -> None:
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


@inner
def _merge_pairs(
    fine_starts: UInts,
    fine_right: UInts,
    right_group: UInts,
    left_groups: int,
    first: UInts,
    order: UInts,
    slot: UInts,
    group_of: UInts,
    coarse_starts: UInts,
    coarse_right: UInts,
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


@inner
def _merge_root(
    fine_starts: UInts,
    fine_right: UInts,
    fine_counts: UInts,
    right_group: UInts,
    left_groups: int,
    first: UInts,
    order: UInts,
    slot: UInts,
    coarse_starts: UInts,
    coarse_right: UInts,
    coarse_counts: UInts,
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


@inner
def _merge_densely(
    fine_starts: UInts,
    fine_right: UInts,
    fine_counts: UInts,
    left_group: UInts,
    right_group: UInts,
    left_groups: int,
    right_groups: int,
    dense: UInts,
    coarse_starts: UInts,
    coarse_right: UInts,
    coarse_counts: UInts,
) -> int:
    """Like `_merge_root`, where every pair of groups has a place: entries are taken as they lie."""
    width = np.uint32(right_groups)
    for entry in range(len(left_group)):
        here = left_group[entry] * width
        for pair in range(fine_starts[entry], fine_starts[entry + 1]):
            dense[here + right_group[fine_right[pair]]] += fine_counts[pair]
    found, place = np.uint32(0), np.uint32(0)
    for left in range(left_groups):
        coarse_starts[left] = found
        for right in range(right_groups):
            rows = dense[place]
            dense[place] = 0
            place += _ONE
            # Written in any case, counted only when there are rows.
            coarse_right[found] = right
            coarse_counts[found] = rows
            found += np.uint32(rows != 0)
    coarse_starts[left_groups] = found
    return int(found)


@inner
def _merge_node(
    shape: Shape, forms: Forms, fine: int, coarse: int, i: int, count_only: bool, work: Workspace
) -> None:
    """Make one pair node of the coarse form; its children are made already."""
    node = shape.columns + i
    left = shape.left[i]
    right = shape.right[i]
    here = shape.place[node]
    left_groups = forms.entries[coarse, left]
    right_groups = forms.entries[coarse, right]
    left_place = shape.place[left]
    right_place = shape.place[right]
    left_group = work.group_of[left_place : left_place + forms.entries[fine, left]]
    pairs = left_groups * right_groups
    dense = count_only and pairs <= min(DENSE, _PLACES_PER_ENTRY * forms.entries[fine, node])
    if not dense:
        bucket(left_group, left_groups, work.first, work.order)
    fine_starts = forms.row_starts[fine, shape.row_place[i] :]
    fine_right = forms.right_of[fine, here:]
    right_group = work.group_of[right_place : right_place + forms.entries[fine, right]]
    starts = forms.row_starts[coarse, shape.row_place[i] :]
    rights = forms.right_of[coarse, here:]
    if dense:
        found = _merge_densely(
            fine_starts,
            fine_right,
            forms.counts[fine],
            left_group,
            right_group,
            left_groups,
            right_groups,
            work.dense,
            starts,
            rights,
            forms.counts[coarse],
        )
    elif count_only:
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


@inner
def _merge_wide(
    shape: Shape,
    forms: Forms,
    fine: int,
    coarse: int,
    numbered: bool,
    whole: bool,
    work: Workspace,
    wide: WideBuffers | None,
) -> None:
    """Make a wide root of the coarse form, where there is one; its parts are made already."""
    if wide is None:  # then nothing of what follows is compiled
        return
    here, entries, groups = shape.place[-2], forms.entries[fine], forms.entries[coarse]
    members, group_of, first = forms.members[fine], work.group_of[here:], work.order
    found = number_tuples(shape, members, entries, groups, work.group_of, group_of, first, wide)
    add_losses(
        shape,
        members,
        entries,
        groups,
        work.group_of,
        first,
        found,
        work.loss,
        work.loss[here:],
        wide,
    )
    if whole:
        take_members(shape, members, work.group_of, first, found, forms.members[coarse])
    if not numbered:
        rows, fine_rows = forms.counts[coarse], forms.counts[fine]
        for group in range(found):
            rows[group] = 0
        for entry in range(entries[-1]):
            rows[group_of[entry]] += fine_rows[entry]
    forms.entries[coarse, -1] = found


@inner
def coarsen(
    shape: Shape,
    forms: Forms,
    fine: int,
    coarse: int,
    genome: Bits,
    previous: Bits,
    fresh: bool,
    numbered: bool,
    whole: bool,
    work: Workspace,
) -> bool:
    """Make level `coarse` the form of `genome`, from level `fine`; tell whether groups changed.

    The form at `fine` must belong to a genome that has all the ones of `genome`. Where the form at
    `coarse` was made from the same `fine` for the genome `previous` and `fresh` is false, columns
    whose bits did not change and pairs of such columns are left as they are.

    Where groups are to be `numbered`, `work` says afterwards which one each root entry belongs to;
    their rows are not counted then. Where the form is not `whole`, what parts the groups of a wide
    root have is left out: coarser forms are made from it, and costs added up.
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
            root = i == pairs - 1 and len(shape.parts) == 0
            _merge_node(shape, forms, fine, coarse, i, root and not numbered, work)
    if len(shape.parts):
        changed = False
        for part in shape.parts:
            changed = changed or work.changed[part]
        work.changed[-1] = changed
        if changed:
            _merge_wide(shape, forms, fine, coarse, numbered, whole, work, work.wide)
    return bool(work.changed[-1])


#: `coarsen` for Python to call.
coarsen_alone = as_kernel(coarsen)
