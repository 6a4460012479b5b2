"""Merging cells at a root of many parts: mixed radix, numbered anew where a key would overflow.

With many columns hardly any two cells agree on half of them, so a tree of pairs has a node as large
as the table for every few columns. There the cells are not stored as pairs but as tuples: each
*part*, a node over a few columns, has few entries, and of every cell stands here which one it has.
The groups of the parts are the digits of a cell's key. Parts that a genome leaves whole, often most
of them, are no digits; those with most groups come first, and as soon as no two cells have the same
key, the others need not be looked at. Keys are compared whole, never by their hashes alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.arrays import Codes, Ints, UInts
from moanon.kernels.jit import inner, int64
from moanon.kernels.join import Shape

Keys = npt.NDArray[np.uint64]

#: Keys stay below this.
_MOST = np.uint64(2**62)
#: Entries gone through at a time, so that their keys and losses stay near.
_NEAR = 2048
#: Knuth's multiplier; the upper bits of the product depend on all of a key.
_MIX, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
_ZERO, _ONE, _STEP = np.uint32(0), np.uint32(1), np.uint64(1)


class WideBuffers(NamedTuple):
    """Scratch of one thread."""

    keys: Keys  # per entry of the root
    table: UInts  # by key or hash: one more than a number, 0 where there is none
    digit: Keys  # per place of the parts: what its entry adds to a key
    loss: Ints  # per place of the parts: loss of its entry's group
    order: Ints  # parts that are digits, most groups first


def make_wide_buffers(shape: Shape) -> WideBuffers | None:
    """Allocate scratch for a table of this shape; none where its root is a pair."""
    if not len(shape.parts):
        return None
    below = int(shape.place[-2])
    cells = int(shape.place[-1]) - below
    return WideBuffers(
        np.zeros(cells, dtype=np.uint64),
        np.zeros(1 << (2 * cells - 1).bit_length(), dtype=np.uint32),
        np.zeros(below, dtype=np.uint64),
        np.zeros(below, dtype=np.int64),
        np.zeros(len(shape.parts), dtype=np.int64),
    )


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
def _number(span: int, entries: int, buffers: WideBuffers, group_of: UInts, first: UInts) -> int:
    """Number the keys, which are below `span`; return how many different ones there are."""
    bits = int64(1)
    while (int64(1) << bits) < 2 * entries:
        bits += 1
    dense = span <= (int64(1) << bits)
    for slot in range(span if dense else int64(1) << bits):
        buffers.table[slot] = 0
    if dense:
        return _number_densely(buffers.keys, entries, buffers.table, group_of, first)
    return _number_hashed(buffers.keys, entries, bits, buffers.table, group_of, first)


@inner
def _add_digits(
    shape: Shape,
    members: Codes,
    entries: int,
    begin: int,
    end: int,
    group_of: UInts,
    buffers: WideBuffers,
) -> None:
    """Make keys of the groups so far (`group_of`) and of the digits ``order[begin:end]``."""
    for near in range(0, entries, _NEAR):
        far = min(near + _NEAR, entries)
        for entry in range(near, far):
            buffers.keys[entry] = np.uint64(group_of[entry])
        for i in range(begin, end):
            part = buffers.order[i]
            digit = buffers.digit[shape.place[shape.parts[part]] :]
            member = members[part]
            for entry in range(near, far):
                buffers.keys[entry] += digit[member[entry]]


@inner
def number_tuples(
    shape: Shape,
    members: Codes,
    fine: Ints,
    groups: Ints,
    node_group: UInts,
    group_of: UInts,
    first: UInts,
    buffers: WideBuffers,
) -> int:
    """Number the different tuples of groups that a root's entries have; return how many.

    Parameters
    ----------
    members : array (parts, entries)
        Entry of each part that an entry of the root has.
    fine, groups : arrays (nodes,)
        Entries of each node, and groups that they fall into.
    node_group : array
        Group of each entry below the root, by its place.
    group_of, first : arrays
        Filled with the group of each entry of the root, and with the first entry of each group.
    """
    digits, entries = _list_digits(shape, groups, buffers.order), fine[-1]
    for entry in range(entries):
        group_of[entry] = 0
    first[0] = 0
    found, begin = int64(1), int64(0)
    while begin < digits and found < entries:
        span, end = np.uint64(found), begin
        while end < digits:
            node = shape.parts[buffers.order[end]]
            choices = np.uint64(groups[node])
            if span > _MOST // choices:
                break
            for entry in range(shape.place[node], shape.place[node] + fine[node]):
                buffers.digit[entry] = np.uint64(node_group[entry]) * span
            span *= choices
            end += 1
        _add_digits(shape, members, entries, begin, end, group_of, buffers)
        found = _number(int64(span), entries, buffers, group_of, first)
        begin = end
    return found


@inner
def add_losses(
    shape: Shape,
    members: Codes,
    fine: Ints,
    groups: Ints,
    node_group: UInts,
    first: UInts,
    found: int,
    node_loss: Ints,
    loss: Ints,
    buffers: WideBuffers,
) -> None:
    """Add up the losses of groups that `number_tuples` has found."""
    digits, whole = _list_digits(shape, groups, buffers.order), int64(0)
    for node in shape.parts:
        here = shape.place[node]
        if groups[node] == 1:
            whole += node_loss[here]
        else:
            for entry in range(here, here + fine[node]):
                buffers.loss[entry] = node_loss[here + node_group[entry]]
    for near in range(0, found, _NEAR):
        far = min(near + _NEAR, found)
        for group in range(near, far):
            loss[group] = whole
        for i in range(digits):
            part = buffers.order[i]
            of_entry = buffers.loss[shape.place[shape.parts[part]] :]
            member = members[part]
            for group in range(near, far):
                loss[group] += of_entry[member[first[group]]]


@inner
def take_members(
    shape: Shape, members: Codes, node_group: UInts, first: UInts, found: int, out: Codes
) -> None:
    """Say which groups of the parts each of the groups has."""
    for part in range(len(shape.parts)):
        here = node_group[shape.place[shape.parts[part]] :]
        member, taken = members[part], out[part]
        for group in range(found):
            taken[group] = here[member[first[group]]]


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
