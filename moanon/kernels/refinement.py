"""Groups of a set of columns, made from the groups of the same set without one of its columns.

A set of columns is a genome with ones in these columns and zeros elsewhere. Going through many
such sets, a set's groups are those of a smaller set, each split by one more column. What matters
for speed is what need not be looked at again. Columns are added in descending order, so below a
column only lower ones can still tell two cells apart: cells of one group that agree on all of
these are merged into one *entry*, and a group that is down to one entry leaves the list for good
and is only counted from then on (a *stripped* partition). The finer the groups and the fewer the
columns still to come, the less there is to do.

Partitions stand on a stack, one level for each column added, so that a walk through all sets of
sixteen columns holds sixteen partitions and not thousands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bools, Ints, UInts, Values
from moanon.kernels.jit import compiled, inner, int64

# Unsigned index arithmetic: numba need not ask whether an index counts from the end.
_NONE, _ONE, _ALL = np.uint32(0), np.uint32(1), np.uint32(2**32 - 1)
#: A word of 64 cells.
_WORD_BITS, _LAST_BIT = np.uint64(6), np.uint64(63)

#: Runs of neighbouring cells, as `make_runs` makes them.
Runs = npt.NDArray[np.uint64]


class Partitions(NamedTuple):
    """A stack of stripped partitions; the first axis is the level.

    Entries are those of groups that have at least two, group by group and in the order of the
    cells. Groups of one entry are *settled*: they cannot split any more. Of them are kept a key,
    which is a size, or a class of cells that the caller has numbered, and the rows that have it.
    """

    cell: UInts  # (levels, cells): of each entry one of its cells …
    group: UInts  # … the number of its group …
    weight: UInts  # … and its rows
    rows: UInts  # (levels, groups): of each group
    entries: Ints  # (levels,): how many there are of each
    groups: Ints
    settled: Ints
    settled_rows: Ints  # (levels, keys, 2): key and rows
    # Scratch of one walk:
    slot: UInts  # per value of the column: the last new group it led to, counted from 1
    merged_cell: UInts  # entries after merging
    merged_parent: UInts
    merged_weight: UInts
    new_group: UInts  # per entry: its new group
    new_rows: UInts  # per new group: rows, entries, place of the next entry
    new_entries: UInts
    place: UInts
    by_key: Ints  # per key: rows; zero between calls
    keys: Ints  # the keys that occur, and one place behind them


def make_partitions(
    counts: UInts, class_of: UInts, levels: int, keys: int, values: int, largest_key: int
) -> Partitions:
    """Allocate a stack and fill level 0: one group of all cells, which have `counts` rows.

    There is a level for each column that can be added on top of others, and one; columns have at
    most so many `values`, settled groups so many different `keys`. `class_of` is as for `split`.
    """
    cells = len(counts)
    whole = np.int64

    def unsigned(*shape: int) -> UInts:
        return np.zeros(shape, dtype=np.uint32)

    partitions = Partitions(
        cell=unsigned(levels, cells),
        group=unsigned(levels, cells),
        weight=unsigned(levels, cells),
        rows=unsigned(levels, cells),
        entries=np.zeros(levels, dtype=whole),
        groups=np.zeros(levels, dtype=whole),
        settled=np.zeros(levels, dtype=whole),
        settled_rows=np.zeros((levels, keys, 2), dtype=whole),
        slot=unsigned(values),
        merged_cell=unsigned(cells),
        merged_parent=unsigned(cells),
        merged_weight=unsigned(cells),
        new_group=unsigned(cells),
        new_rows=unsigned(cells),
        new_entries=unsigned(cells),
        place=unsigned(cells),
        by_key=np.zeros(largest_key + 1, dtype=whole),
        keys=np.zeros(keys + 1, dtype=whole),
    )
    if cells == 1:
        key = class_of[0] if len(class_of) else counts[0]
        partitions.settled_rows[0, 0] = key, counts[0]
        partitions.settled[0] = 1
        return partitions
    partitions.cell[0] = np.arange(cells)
    partitions.weight[0] = counts
    partitions.rows[0, 0] = counts.sum()
    partitions.entries[0] = cells
    partitions.groups[0] = 1
    return partitions


def make_runs(begins: Bools) -> Runs:
    """Note which cells begin a run: of 64 cells a word of bits, and the runs before them.

    That is a hundredth of the memory that a number for each cell would take, and so little that it
    stays near the processor.
    """
    words = -(-len(begins) // 64)
    packed = np.zeros(words * 8, dtype=np.uint8)
    bits = np.packbits(begins, bitorder="little")
    packed[: len(bits)] = bits
    runs = np.zeros((words, 2), dtype=np.uint64)
    runs[:, 1] = packed.view("<u8")
    counts = np.add.reduceat(begins, np.arange(0, len(begins), 64), dtype=np.uint64)
    runs[1:, 0] = np.cumsum(counts)[:-1]
    return runs


# Several short loops instead of one: each keeps its few numbers in registers, and none has a
# branch inside, because which way it would go is anybody's guess. Together they take half the time.


@inner
def _clear(numbers: UInts, length: int) -> None:
    """Set to zero; a slice would say the same, but takes numba longer to compile."""
    for i in range(length):
        numbers[i] = 0


@inner
def _run_of(runs: Runs, cell: np.uint64) -> np.uint64:
    """Count the runs that begin at a cell or before it."""
    word = runs[cell >> _WORD_BITS]
    # What begins after the cell is shifted out; then bits are added up by pairs, fours, eights, …
    bits: np.uint64 = word[1] << (_LAST_BIT - (cell & _LAST_BIT))
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    bits = (bits & pairs) + ((bits >> np.uint64(2)) & pairs)
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    bits += bits >> np.uint64(8)
    bits += bits >> np.uint64(16)
    bits += bits >> np.uint64(32)
    before: np.uint64 = word[0]
    return before + (bits & np.uint64(0x7F))


@inner
def _count_merged(partitions: Partitions, level: int, runs: Runs) -> int:
    """Count what `_merge_alike` would leave: to write it down pays only where that is less."""
    cells = partitions.cell[level]
    parents = partitions.group[level]
    found = int64(0)
    last_parent = _ALL
    last_run = np.uint64(0)
    for i in range(partitions.entries[level]):
        parent = parents[i]
        run = _run_of(runs, np.uint64(cells[i]))
        found += (run != last_run) | (parent != last_parent)
        last_parent = parent
        last_run = run
    return found


@inner
def _merge_alike(partitions: Partitions, level: int, runs: Runs) -> int:
    """Merge neighbours of one group that nothing to come can tell apart; return what is left."""
    number = partitions.entries[level]
    cells = partitions.cell[level]
    parents = partitions.group[level]
    weights, merged_weights = partitions.weight[level], partitions.merged_weight
    found = _NONE
    last_parent = _ALL
    last_run = np.uint64(0)  # runs are counted from 1
    for i in range(number):
        cell = cells[i]
        parent = parents[i]
        run = _run_of(runs, np.uint64(cell))
        is_new = (run != last_run) | (parent != last_parent)
        found += np.uint32(is_new)
        last_parent = parent
        last_run = run
        entry = found - _ONE
        partitions.merged_cell[entry] = cell
        partitions.merged_parent[entry] = parent
        merged_weights[entry] = weights[i] + (_NONE if is_new else merged_weights[entry])
    return int64(found)


@inner
def _number_groups(
    partitions: Partitions, cells: UInts, parents: UInts, entries: int, codes: Values
) -> int:
    """Number the new groups: entries of one parent with one value; return how many there are."""
    _clear(partitions.slot, len(partitions.slot))
    groups = _NONE
    before = _NONE  # groups found in earlier parents
    last_parent = _ALL
    for entry in range(entries):
        parent = parents[entry]
        value = codes[cells[entry]]
        before = groups if parent != last_parent else before
        last_parent = parent
        slot = partitions.slot[value]
        is_new = slot <= before
        groups += np.uint32(is_new)
        slot = groups if is_new else slot
        partitions.slot[value] = slot
        partitions.new_group[entry] = slot - _ONE
    return int64(groups)


@inner
def _count_entries(partitions: Partitions, weights: UInts, entries: int, groups: int) -> None:
    """Count the rows and entries of the new groups."""
    _clear(partitions.new_rows, groups)
    _clear(partitions.new_entries, groups)
    for entry in range(entries):
        group = partitions.new_group[entry]
        partitions.new_rows[group] += weights[entry]
        partitions.new_entries[group] += _ONE


@inner
def _add(partitions: Partitions, key: int, rows: int, found: int) -> int:
    """Add rows to a key; return the number of keys that occur."""
    partitions.keys[found] = key  # written in any case, counted only when new
    is_new = partitions.by_key[key] == 0
    partitions.by_key[key] += rows
    return int64(found + is_new)


@inner
def _load_settled(partitions: Partitions, level: int) -> int:
    found = int64(0)
    for i in range(partitions.settled[level]):
        key = partitions.settled_rows[level, i, 0]
        found = _add(partitions, key, partitions.settled_rows[level, i, 1], found)
    return found


@inner
def _unload(partitions: Partitions, found: int, out: Ints) -> int:
    """Write (key, rows) of all keys that occur, in no particular order, and forget them."""
    for i in range(found):
        key = partitions.keys[i]
        out[i, 0] = key
        out[i, 1] = partitions.by_key[key]
        partitions.by_key[key] = 0
    return found


@compiled
def split(
    partitions: Partitions,
    level: int,
    codes: Values,
    runs: Runs,
    class_of: UInts,
) -> None:
    """Split the groups at `level` by a column; the result is at ``level + 1``.

    Cells of one run (see `make_runs`) agree on this column and on every column that can still be
    added; they become one entry, if that makes a quarter less of them. `class_of` is the key of a
    settled group by its cell; where it is empty, the key is its size.
    """
    cells = partitions.cell[level]
    parents = partitions.group[level]
    weights = partitions.weight[level]
    entries = partitions.entries[level]
    if len(runs) and _count_merged(partitions, level, runs) * 4 <= entries * 3:
        entries = _merge_alike(partitions, level, runs)
        cells, weights = partitions.merged_cell, partitions.merged_weight
        parents = partitions.merged_parent
    groups = _number_groups(partitions, cells, parents, entries, codes)
    _count_entries(partitions, weights, entries, groups)
    _place_groups(partitions, level, cells, entries, groups, class_of)
    above = level + 1
    new_cells = partitions.cell[above]
    new_parents = partitions.group[above]
    new_weights = partitions.weight[above]
    for entry in range(entries):
        group = partitions.new_group[entry]
        place = partitions.place[group]
        partitions.place[group] = place + _ONE
        new_cells[place] = cells[entry]
        new_parents[place] = partitions.new_entries[group]
        new_weights[place] = weights[entry]


@inner
def _place_groups(
    partitions: Partitions,
    level: int,
    cells: UInts,
    entries: int,
    groups: int,
    class_of: UInts,
) -> None:
    """Give each new group its number and its place in the list, or add it to the settled ones."""
    if len(class_of):
        for entry in range(entries):  # of a group of one entry: which
            partitions.place[partitions.new_group[entry]] = entry
    found = _load_settled(partitions, level)
    rows = partitions.rows[level + 1]
    kept = _NONE
    end = _NONE
    for group in range(groups):
        number = partitions.new_entries[group]
        if number == 1:
            key = new_rows = partitions.new_rows[group]
            if len(class_of):
                key = class_of[cells[partitions.place[group]]]
            found = _add(partitions, int64(key), int64(new_rows), found)
            # Its entry is written to the last place, which is free because of it.
            partitions.place[group] = entries - 1
        else:
            rows[kept] = partitions.new_rows[group]
            partitions.place[group] = end
            partitions.new_entries[group] = kept  # its number from now on
            kept += _ONE
            end += number
    partitions.entries[level + 1] = end
    partitions.groups[level + 1] = kept
    partitions.settled[level + 1] = _unload(partitions, found, partitions.settled_rows[level + 1])


@compiled
def count_sizes(partitions: Partitions, level: int, out: Ints) -> int:
    """Count the rows in groups of each size; return how many different sizes there are.

    Row ``i`` of `out` becomes (size, rows in groups of that size), in no particular order. The
    keys of settled groups must be their sizes.
    """
    found = _load_settled(partitions, level)
    for group in range(partitions.groups[level]):
        rows = int64(partitions.rows[level, group])
        found = _add(partitions, rows, rows, found)
    return _unload(partitions, found, out)


@compiled
def count_split(partitions: Partitions, level: int, codes: Values, out: Ints) -> int:
    """Do what `split` and `count_sizes` do, where nothing is split further and no list is left."""
    entries = partitions.entries[level]
    cells = partitions.cell[level]
    groups = _number_groups(partitions, cells, partitions.group[level], entries, codes)
    _count_entries(partitions, partitions.weight[level], entries, groups)
    found = _load_settled(partitions, level)
    for group in range(groups):
        rows = int64(partitions.new_rows[group])
        found = _add(partitions, rows, rows, found)
    return _unload(partitions, found, out)
