"""Merging the cells of a table under a genome: the hot loop.

A *form* of a table is its join tree under some genome: each column's entries are blocks, each pair
node's entries are the distinct pairs, the root's entries are the groups with their row counts. The
table itself is the finest form. `coarsen` makes a coarser form from a finer one; that is all there
is to evaluating a genome (the root of the coarse form holds its groups), and all there is to
rolling up (evaluate from the form of a finer genome instead of from the table).

Entries of a pair node are stored by left entry, so `coarsen` can take all left entries that fall
into one left group together, and number the right groups that occur there in a table as long as
there are right groups: the full key is (left group, right group), compared by position.

With many columns hardly any two cells agree on half of them, so a tree of pairs has a node as large
as the table for every few columns. There the root is *wide*: cells are not stored as pairs but as
tuples. Each *part*, a node over a few columns, has few entries, and of every cell stands here which
one it has. The groups of the parts are the digits of a cell's key, in mixed radix, numbered anew
where a key would overflow. Parts that a genome leaves whole, often most of them, are no digits;
those with most groups come first, and as soon as no two cells have the same key, the others need
not be looked at. Keys are compared whole, never by their hashes alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from moanon.arrays import Bits, Codes, Ints, UInts
from moanon.kernels.jit import inner, int64
from moanon.kernels.join import DENSE, Forms, Keys, Shape

#: Pairs of groups at the root have a place each, but no more than this for each entry, because all
#: places are gone through.
_PLACES_PER_ENTRY = 1
#: Keys stay below this.
_MOST = np.uint64(2**62)
#: Entries gone through at a time, so that their keys and losses stay near.
_NEAR = 2048
#: Knuth's multiplier; the upper bits of the product depend on all of a key.
_MIX, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)

# Unsigned index arithmetic: numba need not ask whether an index counts from the end.
_ZERO, _ONE, _STEP = np.uint32(0), np.uint32(1), np.uint64(1)


@inner
def _merge_column(
    shape: Shape, forms: Forms, fine: int, coarse: int, genome: Bits, column: int
) -> None:
    """Merge a column's blocks where the genome has a 0 between them."""
    first = shape.place[column]
    last = first + forms.entries[fine, column] - 1
    block = first
    key = 0
    for entry in range(first, last + 1):
        key += forms.key[fine, entry]
        forms.group_of[entry] = block - first
        if entry == last or genome[forms.boundary[fine, entry]]:
            forms.key[coarse, block] = key
            forms.boundary[coarse, block] = forms.boundary[fine, entry]
            forms.loss[block] = forms.loss_table[forms.loss_start[column] + key]
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


class _Pairs(NamedTuple):
    """A pair node of the fine form, as its children fall into groups, and where the coarse goes."""

    starts: UInts  # of the fine form (compressed rows) …
    right: UInts
    left_group: UInts  # group of each left and right entry
    right_group: UInts
    left_groups: int  # how many there are
    right_groups: int
    coarse_starts: UInts  # … and of the coarse form
    coarse_right: UInts


@inner
def _merge_pairs(node: _Pairs, first: UInts, order: UInts, slot: UInts, group_of: UInts) -> int:
    """Number the distinct (left group, right group) pairs of a node; return how many."""
    starts, fine_right, _, right_group, left_groups, _, coarse_starts, coarse_right = node
    found = np.uint32(0)
    for left in range(left_groups):
        begin = found
        coarse_starts[left] = found
        for i in range(first[left], first[left + 1]):
            entry = order[i]
            for pair in range(starts[entry], starts[entry + _ONE]):
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
    node: _Pairs, first: UInts, order: UInts, slot: UInts, counts: UInts, coarse_counts: UInts
) -> int:
    """Like `_merge_pairs` at the root, where rows are counted and numbers are not needed."""
    starts, fine_right, _, right_group, left_groups, _, coarse_starts, coarse_right = node
    found = np.uint32(0)
    for left in range(left_groups):
        begin = found
        coarse_starts[left] = found
        for i in range(first[left], first[left + 1]):
            entry = order[i]
            for pair in range(starts[entry], starts[entry + _ONE]):
                right = right_group[fine_right[pair]]
                rows = slot[right]
                slot[right] = rows + counts[pair]
                coarse_right[found] = right
                found += np.uint32(rows == 0)
        for pair in range(begin, found):
            right = coarse_right[pair]
            coarse_counts[pair] = slot[right]
            slot[right] = 0
    coarse_starts[left_groups] = found
    return int(found)


@inner
def _merge_densely(node: _Pairs, dense: UInts, counts: UInts, coarse_counts: UInts) -> int:
    """Like `_merge_root`, where every pair of groups has a place: entries are taken as they lie."""
    starts, fine_right, left_group, right_group, left_groups, right_groups, _, _ = node
    coarse_starts, coarse_right = node.coarse_starts, node.coarse_right
    width = np.uint32(right_groups)
    for entry in range(len(left_group)):
        here = left_group[entry] * width
        for pair in range(starts[entry], starts[entry + 1]):
            dense[here + right_group[fine_right[pair]]] += counts[pair]
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
    shape: Shape, forms: Forms, fine: int, coarse: int, i: int, count_only: bool
) -> None:
    """Make one pair node of the coarse form; its children are made already."""
    left, right, here = shape.left[i], shape.right[i], shape.place[shape.columns + i]
    left_place, right_place = shape.place[left], shape.place[right]
    left_groups, right_groups = forms.entries[coarse, left], forms.entries[coarse, right]
    starts = forms.row_starts[coarse, shape.row_place[i] :]
    rights = forms.right_of[coarse, here:]
    node = _Pairs(
        forms.row_starts[fine, shape.row_place[i] :],
        forms.right_of[fine, here:],
        forms.group_of[left_place : left_place + forms.entries[fine, left]],
        forms.group_of[right_place : right_place + forms.entries[fine, right]],
        left_groups,
        right_groups,
        starts,
        rights,
    )
    first, order, slot = forms.first, forms.order, forms.slot
    places = min(DENSE, _PLACES_PER_ENTRY * forms.entries[fine, shape.columns + i])
    if count_only and left_groups * right_groups <= places:
        found = _merge_densely(node, forms.dense, forms.counts[fine], forms.counts[coarse])
    else:
        bucket(node.left_group, left_groups, first, order)
        if count_only:
            counts, coarse_counts = forms.counts[fine], forms.counts[coarse]
            found = _merge_root(node, first, order, slot, counts, coarse_counts)
        else:
            found = _merge_pairs(node, first, order, slot, forms.group_of[here:])
    forms.entries[coarse, shape.columns + i] = found
    for group in range(left_groups):
        left_loss = forms.loss[left_place + group]
        for pair in range(starts[group], starts[group + 1]):
            forms.loss[here + pair] = left_loss + forms.loss[right_place + rights[pair]]


# -- a wide root -----------------------------------------------------------------------------------


@inner
def _list_digits(shape: Shape, groups: Ints, order: Ints) -> int:
    """List the parts that are not one group, most groups first; return how many there are."""
    digits = int64(0)
    for part in range(len(shape.parts)):
        mine = groups[shape.parts[part]]
        if mine > 1:
            at = digits
            while at > 0 and groups[shape.parts[order[at - 1]]] < mine:
                order[at] = order[at - 1]
                at -= 1
            order[at] = part
            digits += 1
    return digits


@inner
def _number_densely(keys: Keys, entries: int, table: UInts, group_of: UInts, first: UInts) -> int:
    """Like `_number_hashed`, where there is a place in the table for every key."""
    found = _ZERO
    for entry in range(entries):
        key = keys[entry]
        number = table[key]
        is_new = number == 0
        first[found] = entry  # written in any case, counted only when new
        found += np.uint32(is_new)
        number = found if is_new else number
        table[key] = number
        group_of[entry] = number - _ONE
    return int64(found)


@inner
def _number_hashed(
    keys: Keys, entries: int, bits: int, table: UInts, group_of: UInts, first: UInts
) -> int:
    """Number different keys as they come; the table holds where each was seen first."""
    found = _ZERO
    shift, mask = np.uint64(64 - bits), np.uint64((1 << bits) - 1)
    for entry in range(entries):
        key = keys[entry]
        slot = ((key ^ (key >> _HALF)) * _MIX) >> shift
        seen = table[slot]
        while seen != 0 and keys[seen - _ONE] != key:
            slot = (slot + _STEP) & mask
            seen = table[slot]
        if seen == 0:
            table[slot] = entry + 1
            first[found] = entry
            group_of[entry] = found
            found += _ONE
        else:
            group_of[entry] = group_of[seen - _ONE]
    return int64(found)


@inner
def _number(
    span: int, entries: int, keys: Keys, table: UInts, group_of: UInts, first: UInts
) -> int:
    """Number the keys, which are below `span`; return how many different ones there are."""
    bits = int64(1)
    while (int64(1) << bits) < 2 * entries:
        bits += 1
    dense = span <= (int64(1) << bits)
    for slot in range(span if dense else int64(1) << bits):
        table[slot] = 0
    if dense:
        return _number_densely(keys, entries, table, group_of, first)
    return _number_hashed(keys, entries, bits, table, group_of, first)


@inner
def _add_digits(
    shape: Shape, forms: Forms, members: Codes, entries: int, begin: int, end: int, keys: Keys
) -> None:
    """Make keys of the groups so far and of the digits ``digits[begin:end]``."""
    group_of = forms.group_of[shape.place[-2] :]
    for near in range(0, entries, _NEAR):
        far = min(near + _NEAR, entries)
        for entry in range(near, far):
            keys[entry] = np.uint64(group_of[entry])
        for i in range(begin, end):
            part = forms.digits[i]
            digit = forms.digit[shape.place[shape.parts[part]] :]
            member = members[part]
            for entry in range(near, far):
                keys[entry] += digit[member[entry]]


@inner
def _number_tuples(
    shape: Shape, forms: Forms, fine: int, coarse: int, digits: int, keys: Keys
) -> int:
    """Number the different tuples of groups that the root's entries have; return how many.

    Filled are the group of each entry of the root, and the first entry of each group (`order`).
    """
    entries = forms.entries[fine, -1]
    group_of, first = forms.group_of[shape.place[-2] :], forms.order
    for entry in range(entries):
        group_of[entry] = 0
    first[0] = 0
    found, begin = int64(1), int64(0)
    while begin < digits and found < entries:
        span, end = np.uint64(found), begin
        while end < digits:
            node = shape.parts[forms.digits[end]]
            choices = np.uint64(forms.entries[coarse, node])
            if span > _MOST // choices:
                break
            here = shape.place[node]
            for entry in range(here, here + forms.entries[fine, node]):
                forms.digit[entry] = np.uint64(forms.group_of[entry]) * span
            span *= choices
            end += 1
        _add_digits(shape, forms, forms.members[fine], entries, begin, end, keys)
        found = _number(int64(span), entries, keys, forms.table, group_of, first)
        begin = end
    return found


@inner
def _add_losses(
    shape: Shape, forms: Forms, fine: int, coarse: int, digits: int, found: int
) -> None:
    """Add up the losses of groups that `_number_tuples` has found."""
    first, loss, whole = forms.order, forms.loss[shape.place[-2] :], int64(0)
    for node in shape.parts:
        here = shape.place[node]
        if forms.entries[coarse, node] == 1:
            whole += forms.loss[here]
        else:
            for entry in range(here, here + forms.entries[fine, node]):
                forms.part_loss[entry] = forms.loss[here + forms.group_of[entry]]
    for near in range(0, found, _NEAR):
        far = min(near + _NEAR, found)
        for group in range(near, far):
            loss[group] = whole
        for i in range(digits):
            part = forms.digits[i]
            of_entry = forms.part_loss[shape.place[shape.parts[part]] :]
            member = forms.members[fine, part]
            for group in range(near, far):
                loss[group] += of_entry[member[first[group]]]


@inner
def add_up_parts(shape: Shape, members: Codes, groups: int, values: Ints) -> None:
    """Let the value of each group be the sum of those of its parts, which are there already."""
    root = shape.place[-2]
    for group in range(groups):
        values[root + group] = 0
    for part in range(len(shape.parts)):
        here = shape.place[shape.parts[part]]
        for group in range(groups):
            values[root + group] += values[here + members[part, group]]


@inner
def _merge_wide(
    shape: Shape,
    forms: Forms,
    fine: int,
    coarse: int,
    numbered: bool,
    whole: bool,
    keys: Keys | None,
) -> None:
    """Make a wide root of the coarse form, where there is one; its parts are made already."""
    if keys is None:  # then nothing of what follows is compiled
        return
    digits = _list_digits(shape, forms.entries[coarse], forms.digits)
    found = _number_tuples(shape, forms, fine, coarse, digits, keys)
    _add_losses(shape, forms, fine, coarse, digits, found)
    if whole:  # which groups of the parts each of the groups has
        for part in range(len(shape.parts)):
            part_group = forms.group_of[shape.place[shape.parts[part]] :]
            member, taken = forms.members[fine, part], forms.members[coarse, part]
            for group in range(found):
                taken[group] = part_group[member[forms.order[group]]]
    if not numbered:
        rows, fine_rows = forms.counts[coarse], forms.counts[fine]
        group_of = forms.group_of[shape.place[-2] :]
        for group in range(found):
            rows[group] = 0
        for entry in range(forms.entries[fine, -1]):
            rows[group_of[entry]] += fine_rows[entry]
    forms.entries[coarse, -1] = found


# -- the whole tree --------------------------------------------------------------------------------


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
) -> bool:
    """Make level `coarse` the form of `genome`, from level `fine`; return whether groups changed.

    The form at `fine` must belong to a genome that has all the ones of `genome`. Where the form at
    `coarse` was made from the same `fine` for the genome `previous` and `fresh` is false, columns
    whose bits did not change and pairs of such columns are left as they are.

    Where groups are to be `numbered`, `forms` says afterwards which one each root entry belongs to;
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
        forms.changed[column] = changed
        if changed:
            _merge_column(shape, forms, fine, coarse, genome, column)
    pairs = len(shape.left)
    for i in range(pairs):
        node = shape.columns + i
        left = shape.left[i]
        right = shape.right[i]
        forms.changed[node] = forms.changed[left] or forms.changed[right]
        if forms.changed[node]:
            root = i == pairs - 1 and len(shape.parts) == 0
            _merge_node(shape, forms, fine, coarse, i, root and not numbered)
    if len(shape.parts):
        changed = False
        for part in shape.parts:
            changed = changed or forms.changed[part]
        forms.changed[-1] = changed
        if changed:
            _merge_wide(shape, forms, fine, coarse, numbered, whole, forms.keys)
    return bool(forms.changed[-1])
