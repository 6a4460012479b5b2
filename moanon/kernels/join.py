"""The cells of a table as a tree of pairs of columns, made once per table.

To group cells under a genome one would look up the block of every column of every cell. But columns
repeat: Adult's 13,334 cells of nine columns hold only some 1,300 distinct tuples in one half of the
columns and some 1,500 in the other. So a cell is stored as a *pair* of those, each of them is a
pair of smaller tuples again, and so on down to single columns: a binary tree of which the cells are
the root. A genome is applied at the leaves; going up, each node numbers the distinct pairs of its
children's groups. Almost all work is done at the root, two small look-ups per cell, and no key is
ever larger than a pair of group numbers: there is nothing to overflow and nothing to hash.

With many columns that repeat little, the halves are as large as the table itself. Then the root is
*wide*: a cell is a tuple of many small parts, each a tree of a few columns (see
`moanon.kernels.forms`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bits, Bools, Codes, Ints, Outlined, UInts

#: Distinct tuples are counted on about this many cells while the tree is laid out …
_PROBE = 8_000
#: … and for at most this many sets of columns; then halves of like size will do.
_MOST_SETS = 1_000
#: With more columns than this, exchanging pairs of columns is not tried.
_EXCHANGE_COLUMNS = 16
#: With fewer columns than this, no wide root is tried.
_WIDE_COLUMNS = 12
#: Tuples that a part of a wide root could have: one for so many cells, within these bounds.
_CELLS_PER_TUPLE, _FEWEST_TUPLES, _MOST_TUPLES = 64, 256, 4096
#: Nanoseconds, as measured on random tables: to merge an entry of a pair node, one of a root that
#: is a pair, one of a wide root, and what each part adds to the last.
_PAIR_TIME, _ROOT_TIME, _WIDE_TIME, _PART_TIME = 10, 4, 16, 2

#: Up to so many pairs of groups at the root have a place each: a table that stays near.
DENSE = 32_768

Root = Literal["auto", "pair", "wide"]
Keys = npt.NDArray[np.uint64]


class Shape(NamedTuple):
    """Where everything of a join tree lies; the same for a table and all its coarser forms.

    Nodes ``0 .. q-1`` are the columns, ``q ..`` the pairs in an order in which children come before
    their parents, the root last; it is a pair, too, unless it is wide. Node ``t`` owns the places
    ``place[t] .. place[t+1] - 1``.
    """

    columns: int  # at least 2: a table of one column gets a constant one beside it
    left: Ints  # children of pair node ``columns + i``
    right: Ints
    place: Ints  # first place of each node
    row_place: Ints  # first place of each pair node in `Forms.row_starts`
    parts: Ints  # children of a wide root; none if it is a pair


def block_keys(spans: Ints) -> tuple[Ints, Ints]:
    """Number the blocks of a column so that the number gives how many values a block holds.

    A base value stands for one value, but for the ends of a clamped range, which stand for all that
    lie beyond. The key of a block is the sum of the keys of its base values: 1 each, so that mostly
    it is the width of the block, but more than all of these for a base value that stands for
    several.

    Base values stand for so many values as `spans` says. Returns keys, of which the block from
    `start` to `stop` has ``keys[stop] - keys[start]``, and the values of a block with each key.

    >>> keys, values = block_keys(np.array([1, 1, 1, 20]))
    >>> int(values[keys[2] - keys[0]]), int(values[keys[4] - keys[2]])
    (2, 21)
    """
    several = np.flatnonzero(spans != 1)
    own = np.ones(len(spans), dtype=np.int64)
    own[several] = (len(spans) + 1) << np.arange(len(several))
    values = np.arange(len(spans) + 1)
    for span in spans[several]:
        values = np.concatenate([values, values + span])
    return np.concatenate(([0], np.cumsum(own))), values


@dataclass(frozen=True, repr=False)
class LossScale(Outlined):
    """Cell losses as integers.

    D eq. 3 gives ``(w - 1) / (m - 1)`` for a block of w of the column's m values. All columns are
    brought to a common denominator `scale`, so that sums are exact. Where the least common multiple
    of the ``m - 1`` would let the sum over a table overflow, losses are rounded to multiples of
    ``1 / scale`` with the largest scale that fits: a total, as a fraction of ``n * q``, is then off
    by at most ``0.5 / scale``, which is below 1e-12 up to nine million cells (``n * q``).

    """

    scale: int  # integer loss of a fully generalized cell
    exact: bool
    start: Ints  # first place of each column in `table`
    table: Ints  # ``table[start[j] + key]``: loss of a cell in a block of that key of column ``j``
    key_start: Ints  # first place of each column in …
    keys: Ints  # … those of `block_keys`

    @classmethod
    def build(cls, spans: Sequence[Ints], rows: int) -> LossScale:
        """Choose a scale for a table of so many rows.

        The columns are given by the values that each base value stands for, mostly one.
        """
        most = 2**62 // max(1, rows * len(spans))
        ends = [max(1, int(span.sum()) - 1) for span in spans]
        common = lcm(*ends)
        exact = common <= most
        scale = common if exact else most
        keys, values = zip(*map(block_keys, spans), strict=True)
        tables = [
            # round half up, in integers
            [(2 * max(0, number - 1) * scale + end) // (2 * end) for number in column.tolist()]
            for column, end in zip(values, ends, strict=True)
        ]
        return cls(
            scale,
            exact,
            starts_of(tables),
            np.concatenate(tables).astype(np.int64),
            starts_of(keys),
            np.concatenate(keys),
        )

    def of_blocks(self, column: int, starts: Ints, stops: Ints) -> Ints:
        """Integer loss of a cell in each of some blocks of a column."""
        first = self.key_start[column]
        keys = self.keys[first + stops] - self.keys[first + starts]
        return np.asarray(self.table[self.start[column] + keys])

    def of_column(self, column: int) -> tuple[Ints, Ints]:
        """Keys of the edges of a column's base values, and the losses of its blocks by key."""
        keys = slice(*self.key_start[column : column + 2].tolist())
        return self.keys[keys], self.table[slice(*self.start[column : column + 2].tolist())]


def starts_of(parts: Sequence[Sequence[int] | Ints]) -> Ints:
    """Where each of some parts begins that are put behind one another, and where the last ends."""
    return np.concatenate(([0], np.cumsum([len(part) for part in parts]))).astype(np.int64)


@dataclass(frozen=True, repr=False)
class JoinTree(Outlined):
    """The finest form of a table: every cell its own root entry.

    Entries of a pair node are stored in order of their left child's entry (compressed rows).
    """

    shape: Shape
    sizes: Ints  # base values of each column
    row_starts: UInts  # of each pair node: where the entries of each left entry begin
    right_of: UInts  # right child's entry of each pair entry, at the node's places
    cell_of_entry: UInts  # cell at each root entry; pairs are in another order than the cells
    members: Codes  # (parts, cells): of a wide root, the entry of each part that a root entry has

    @classmethod
    def build(
        cls, codes: npt.NDArray[np.uint16], sizes: Sequence[int], root: Root = "auto"
    ) -> JoinTree:
        """Lay out the cells whose base values are ``codes[column, cell]``.

        By default the root is wide where that should be faster.
        """
        columns: list[Codes | UInts] = list(codes)
        spans = [int(size) for size in sizes]
        if len(columns) == 1:
            columns.append(np.zeros(len(columns[0]), dtype=np.uint16))
            spans.append(1)
        if root == "wide":
            return _Builder(columns, spans).with_wide_root()
        paired = _Builder(columns, spans).with_pairs()
        if root == "pair" or len(columns) < _WIDE_COLUMNS:
            return paired
        return min(paired, _Builder(columns, spans).with_wide_root(), key=lambda tree: tree.time)

    @property
    def time(self) -> int:
        """About how many nanoseconds it takes to merge all entries."""
        entries, columns = np.diff(self.shape.place), self.shape.columns
        root = _WIDE_TIME + _PART_TIME * len(self.shape.parts) if len(self.shape.parts) else 0
        return int(_PAIR_TIME * entries[columns:-1].sum() + (root or _ROOT_TIME) * entries[-1])


class _Builder:
    """Collects pair nodes from the leaves to the root."""

    def __init__(self, columns: list[Codes | UInts], spans: list[int]) -> None:
        self.columns = columns
        self.spans = spans
        self.pairs: list[tuple[int, int, UInts, UInts, int]] = []
        step = max(1, len(columns[0]) // _PROBE)
        self.probe = [column[::step] for column in columns]
        self.known: dict[frozenset[int], int] = {}

    def join(self, members: list[int]) -> tuple[int, Codes | UInts, int]:
        """Make the node over these columns; return it, its entry in each cell, its size."""
        if len(members) == 1:
            (column,) = members
            return column, self.columns[column], self.spans[column]
        # The side with fewer entries goes left: entries are stored by left entry, in long runs.
        halves = sorted(
            (self.join(half) for half in self._split(members)), key=lambda half: half[2]
        )
        (left, left_entry, left_size), (right, right_entry, right_size) = halves
        key = left_entry.astype(np.int64)  # narrow numbers would wrap around
        key *= right_size
        key += right_entry
        pairs, entry = np.unique(key, return_inverse=True)
        lefts, rights = (half.astype(np.uint32) for half in np.divmod(pairs, right_size))
        self.pairs.append((left, right, lefts, rights, left_size))
        return len(self.columns) + len(self.pairs) - 1, entry.astype(np.uint32), len(pairs)

    def with_pairs(self) -> JoinTree:
        """Make the tree whose root is a pair, too."""
        entry_of_cell = self.join(list(range(len(self.columns))))[1]
        cell_of_entry = np.empty(len(entry_of_cell), dtype=np.uint32)
        cell_of_entry[entry_of_cell] = np.arange(len(entry_of_cell))
        return self._finish(cell_of_entry, [], np.zeros((0, 0), dtype=np.uint16))

    def with_wide_root(self) -> JoinTree:
        """Make the tree whose root is wide: as few parts as have few tuples each."""
        cells = len(self.columns[0])
        most = min(max(cells // _CELLS_PER_TUPLE, _FEWEST_TUPLES), _MOST_TUPLES)
        parts: list[list[int]] = []
        tuples: list[int] = []
        for column in sorted(range(len(self.spans)), key=lambda column: -self.spans[column]):
            for i, number in enumerate(tuples):
                if number * self.spans[column] <= most:
                    parts[i].append(column)
                    tuples[i] *= self.spans[column]
                    break
            else:
                parts.append([column])
                tuples.append(self.spans[column])
        nodes = [self.join(part) for part in parts]
        members = np.stack([entry.astype(np.uint16) for _, entry, _ in nodes])
        return self._finish(
            np.arange(cells, dtype=np.uint32), [node for node, _, _ in nodes], members
        )

    def _finish(self, cell_of_entry: UInts, parts: list[int], members: Codes) -> JoinTree:
        """Put all nodes into flat arrays."""
        sizes = self.spans + [len(lefts) for _, _, lefts, _, _ in self.pairs]
        sizes += [len(cell_of_entry)] if parts else []
        place = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        row_place = np.concatenate(([0], np.cumsum([size + 1 for *_, size in self.pairs])))
        right_of = np.zeros(int(place[-1]), dtype=np.uint32)
        row_starts = np.zeros(int(row_place[-1]), dtype=np.uint32)
        for i, (_, _, lefts, rights, left_size) in enumerate(self.pairs):
            node = len(self.spans) + i
            right_of[place[node] : place[node + 1]] = rights
            starts = np.searchsorted(lefts, np.arange(left_size + 1))
            row_starts[row_place[i] : row_place[i + 1]] = starts
        shape = Shape(
            len(self.spans),
            np.array([pair[0] for pair in self.pairs], dtype=np.int64),
            np.array([pair[1] for pair in self.pairs], dtype=np.int64),
            place,
            row_place.astype(np.int64),
            np.array(parts, dtype=np.int64),
        )
        spans = np.array(self.spans, dtype=np.int64)
        return JoinTree(shape, spans, row_starts, right_of, cell_of_entry, members)

    def _split(self, members: list[int]) -> tuple[list[int], list[int]]:
        """Part columns in two so that the tree below holds few distinct tuples.

        Starts from halves of like size and moves or exchanges columns while that helps.
        """
        left, right = self._halves(members)
        best = self._cost(left) + self._cost(right)
        while len(self.known) < _MOST_SETS:
            options = _neighbours(left, right)
            costs = [self._cost(one) + self._cost(other) for one, other in options]
            if not costs or min(costs) >= best:
                break
            best = min(costs)
            left, right = options[costs.index(best)]
        return left, right

    def _halves(self, members: list[int]) -> tuple[list[int], list[int]]:
        """Part columns so that both sides could hold about as many tuples."""
        halves: tuple[list[int], list[int]] = ([], [])
        spans = [1, 1]
        for column in sorted(members, key=lambda column: (-self.spans[column], column)):
            side = 0 if not halves[0] or (halves[1] and spans[0] <= spans[1]) else 1
            halves[side].append(column)
            spans[side] *= self.spans[column]
        return halves

    def _cost(self, members: list[int]) -> int:
        """Distinct tuples of these columns, and of the halves they will be made from.

        Looking one level down keeps the search from peeling off one column at a time, which makes
        the two sides' tuples few but the tree deep.
        """
        cost = self._distinct(frozenset(members))
        if len(members) > 2:
            cost += sum(self._distinct(frozenset(half)) for half in self._halves(members))
        return cost

    def _distinct(self, members: frozenset[int]) -> int:
        if members not in self.known:
            key = np.zeros(len(self.probe[0]), dtype=np.int64)
            span = 1
            for column in sorted(members):
                if span * self.spans[column] > 2**62:
                    seen, key = np.unique(key, return_inverse=True)
                    span = len(seen)
                key = key * self.spans[column] + self.probe[column]
                span *= self.spans[column]
            self.known[members] = len(np.unique(key))
        return self.known[members]


def _neighbours(left: list[int], right: list[int]) -> list[tuple[list[int], list[int]]]:
    """Partitions that differ in one moved column or one exchanged pair."""
    found = []
    for column in left if len(left) > 1 else ():
        found.append(([c for c in left if c != column], [*right, column]))
    for column in right if len(right) > 1 else ():
        found.append(([*left, column], [c for c in right if c != column]))
    if len(left) + len(right) <= _EXCHANGE_COLUMNS:
        for one in left:
            for other in right:
                found.append(
                    (
                        [*(c for c in left if c != one), other],
                        [*(c for c in right if c != other), one],
                    )
                )
    return found


# -- forms of a table ------------------------------------------------------------------------------


class Forms(NamedTuple):
    """A stack of forms of one table, and what one thread needs to make them.

    The first axis of a form's arrays is the level, level 0 the table itself.
    """

    entries: Ints  # (levels, nodes): number of entries of each node
    boundary: Ints  # (levels, places of columns): the genome's bit behind each block …
    key: Ints  # … and its key (`block_keys`)
    row_starts: UInts  # see `JoinTree`
    right_of: UInts  # likewise, with one more place at its end …
    counts: UInts  # (levels, cells + 1): rows of each root entry, … for what is not counted
    members: Codes  # (levels, parts, cells): see `JoinTree`
    # Scratch, shared by all levels:
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
    # … and of a wide root, else empty:
    keys: Keys | None  # per entry of the root; None where it is a pair
    table: UInts  # by key or hash: one more than a number, 0 where there is none
    digit: Keys  # per place of the parts: what its entry adds to a key
    part_loss: Ints  # per place of the parts: loss of its entry's group
    digits: Ints  # parts that are digits, most groups first


def make_forms(
    tree: JoinTree, losses: LossScale, offsets: Ints, counts: Ints, levels: int, values: int
) -> Forms:
    """Allocate `levels` forms of a table and fill level 0.

    There must be one for the table, those to roll up through, and one for the groups of a genome.
    `offsets` are the first genome bits of the columns and the number of bits, `values` how many
    sensitive values there are.
    """
    shape, places = tree.shape, int(tree.shape.place[-1])
    leaves = int(shape.place[shape.columns])
    in_root, in_parts = (len(counts), int(shape.place[-2])) if len(shape.parts) else (0, 0)
    forms = Forms(
        entries=np.zeros((levels, len(shape.place) - 1), dtype=np.int64),
        boundary=np.zeros((levels, leaves), dtype=np.int64),
        key=np.ones((levels, leaves), dtype=np.int64),
        row_starts=np.zeros((levels, len(tree.row_starts)), dtype=np.uint32),
        right_of=np.zeros((levels, len(tree.right_of) + 1), dtype=np.uint32),
        counts=np.zeros((levels, len(counts) + 1), dtype=np.uint32),
        members=np.zeros((levels, *tree.members.shape), dtype=np.uint16),
        group_of=np.zeros(places, dtype=np.uint32),
        loss=np.zeros(places, dtype=np.int64),
        first=np.zeros(places + 2, dtype=np.uint32),
        order=np.zeros(places, dtype=np.uint32),
        slot=np.zeros(max(places, values) + 1, dtype=np.uint32),
        changed=np.ones(len(shape.place) - 1, dtype=np.bool_),
        loss_start=losses.start,
        loss_table=losses.table,
        union=np.zeros(int(offsets[-1]), dtype=np.uint8),
        dense=np.zeros(DENSE, dtype=np.uint32),
        keys=np.zeros(len(counts), dtype=np.uint64) if len(shape.parts) else None,
        table=np.zeros(1 << (2 * in_root - 1).bit_length() if in_root else 0, dtype=np.uint32),
        digit=np.zeros(in_parts, dtype=np.uint64),
        part_loss=np.zeros(in_parts, dtype=np.int64),
        digits=np.zeros(len(shape.parts), dtype=np.int64),
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
