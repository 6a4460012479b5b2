"""Polishing: each column gets its best cut, the others being as they are, until none can gain.

A search moves one boundary at a time and needs luck where several of a column must move together;
a shortest path finds them all at once. It takes as long as evaluating some ten genomes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moanon.arrays import Bits, Codes, Ints, Outlined
from moanon.genome import Instance
from moanon.kernels.best_cuts import add_shown, best_cut

#: Columns of more base values keep their cuts: pairs of edges would take longer than the cells.
_MOST_VALUES = 400
#: Sums of losses stay below this, so that fines on top of them do not overflow.
_LARGEST_SUM = 2**54
#: The largest fine of a suppressed row, in losses of a whole row.
_MOST_FINE = 8
#: Cells that are read at once, for all genomes together: all of them for each column, and
#: about as often as there are columns.
_AT_ONCE = 2_000_000_000


@dataclass(frozen=True, repr=False)
class _Column(Outlined):
    """What polishing needs to know of a column.

    Attributes
    ----------
    codes : array (cells,)
        Base values of the cells.
    starts, stops : arrays (blocks,)
        Blocks that it may have, by where they stop; none if it keeps its cut.
    keys, loss : arrays (values + 1,), (keys,)
        Keys of the edges of base values, and the loss of a row by the key of its block.
    marks : array (values,)
        Random numbers: the sum of those of its blocks identifies a group.
    place : slice
        Its bits.
    """

    codes: Codes
    starts: Ints
    stops: Ints
    keys: Ints
    loss: Ints
    marks: Ints
    place: slice

    def shown(self, bits: Bits) -> Ints:
        """The mark and the loss of the block of each base value under a cut, a row of each."""
        edges = np.concatenate(([0], np.flatnonzero(bits) + 1, [len(self.marks)]))
        blocks = np.stack([self.marks[edges[:-1]], self.loss[np.diff(self.keys[edges])]])
        return np.repeat(blocks, np.diff(edges), axis=1)


class Polisher:
    """Polishes genomes of one table, for the loss without groups of less than k rows.

    Groups are identified by sums of 64-bit random numbers, and losses may be rounded: what is found
    is a proposal, to be measured by the caller.
    """

    def __init__(self, instance: Instance) -> None:
        layout, losses, cells = instance.layout, instance.losses, instance.cells
        counts = cells.counts.astype(np.int64, copy=False)
        unit = -(-cells.rows * len(layout.columns) * losses.scale // _LARGEST_SUM)
        rng = np.random.default_rng(0)
        self.counts = counts
        self.full = len(layout.columns) * (losses.scale // unit)
        self.columns = []
        for c, name in enumerate(layout.columns):
            size = int(layout.sizes[c])
            tree = layout.trees.get(name)
            if size > _MOST_VALUES:
                nodes = []
            elif tree is not None:
                nodes = sorted(zip(tree.stops, tree.starts, strict=True))
            else:
                nodes = [(stop, start) for stop in range(1, size + 1) for start in range(stop)]
            blocks = np.array(nodes, dtype=np.int64).reshape(-1, 2)
            keys, table = losses.of_column(c)
            self.columns.append(
                _Column(
                    np.ascontiguousarray(cells.codes[c]),
                    np.ascontiguousarray(blocks[:, 1]),
                    np.ascontiguousarray(blocks[:, 0]),
                    keys,
                    table // unit,
                    rng.integers(-(2**62), 2**62, size=size),
                    slice(*layout.offsets[c : c + 2].tolist()),
                )
            )

    @property
    def at_once(self) -> int:
        """Genomes that may be polished in a row: few of a large table, or nothing could stop it."""
        return max(1, _AT_ONCE // (len(self.counts) * len(self.columns) ** 2))

    def polish(self, genome: Bits, k: int, limit: int) -> Bits:
        """A genome that loses less with at most `limit` rows in groups of less than k, or itself.

        Where it has more of these, one that does not, if the cut of one column can do that.
        """
        genome = genome.copy()
        shown = [column.shown(genome[column.place]) for column in self.columns]
        cells = np.zeros((2, len(self.counts)), dtype=np.int64)
        for column, each in zip(self.columns, shown, strict=True):
            add_shown(column.codes, each, cells)
        since, c = 0, 0
        while since < len(self.columns):
            column = self.columns[c]
            bits = genome[column.place].copy()
            if len(column.starts) > 1:
                best_cut(
                    column.codes,
                    self.counts,
                    shown[c],
                    cells,
                    self.full,
                    column.starts,
                    column.stops,
                    column.keys,
                    column.loss,
                    k,
                    limit,
                    _MOST_FINE * self.full,
                    bits,
                )
            since += 1
            if (bits != genome[column.place]).any():
                genome[column.place] = bits
                before, shown[c] = shown[c], column.shown(bits)
                add_shown(column.codes, shown[c] - before, cells)
                since = 1
            c = (c + 1) % len(self.columns)
        return genome
