"""What a grouping does to each column: its labels with their rows, and what is left of it.

D's loss counts declared base values, so a cut in the empty tail of a domain looks like information
kept. Beside each label therefore stand the rows that show it, and beside each column's own loss its
own part of ``entropy_loss``, which counts people. Averaged over the columns, the losses are the
``loss`` of the whole; the entropies add up to its ``entropy_loss``, each weighing as much as the
column had to tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from moanon.arrays import Floats, Ints, Outlined
from moanon.genome import Instance
from moanon.grouping import Grouping


@dataclass(frozen=True, eq=False, repr=False)
class ColumnEffect(Outlined):
    """What becomes of one quasi-identifier.

    Attributes
    ----------
    name : str
    labels : tuple of str
        What released cells can show; of a global recoding also labels that no released row has.
    starts, stops : arrays (labels,)
        The base values of each label: ``start .. stop - 1``.
    rows : array (labels,)
        Released rows that show it.
    before : array (base values,)
        Rows of the table that have each base value, suppressed ones included.
    """

    name: str
    labels: tuple[str, ...]
    starts: Ints
    stops: Ints
    rows: Ints
    before: Ints

    @property
    def base_values(self) -> int:
        """Base values of the column, declared ones that no row has included."""
        return len(self.before)

    @property
    def shown(self) -> int:
        """Labels that a released row has."""
        return int(np.count_nonzero(self.rows))

    @property
    def is_whole(self) -> bool:
        """Whether every released row shows the same, so that the column tells nothing."""
        return self.shown == 1 and self.base_values > 1

    @property
    def is_kept(self) -> bool:
        """Whether every label is one base value, so that released rows have lost nothing."""
        return bool((self.stops - self.starts == 1).all())

    @property
    def loss(self) -> float:
        """The column's own loss (D eq. 3), mean over all rows; a suppressed row lost everything."""
        lost = (self.stops - self.starts - 1) / max(1, self.base_values - 1)
        every = int(self.before.sum())
        return float(self.rows @ lost + every - self.rows.sum()) / every

    @property
    def entropy(self) -> float:
        """What the column told of a row in the table, on average: its entropy in bits."""
        every = int(self.before.sum())
        return float(np.log2(every) - self.before @ _logs(self.before) / every)

    @property
    def entropy_kept(self) -> float:
        """Share of that which the release still tells; 1 where there was nothing to tell."""
        every = int(self.before.sum())
        below = np.concatenate(([0], np.cumsum(self.before)))
        alike = below[self.stops] - below[self.starts]  # rows of the table with a value in a block
        untold = float(self.rows @ _logs(alike)) + (every - self.rows.sum()) * np.log2(every)
        told = float(np.log2(every) - untold / every)
        if self.before.max() == every:
            return 1.0
        return min(1.0, max(0.0, told / self.entropy))  # rounding may go beyond


def entropy_loss(effects: Sequence[ColumnEffect]) -> float:
    """What all columns together no longer tell of people; the measure of that name."""
    told = sum(effect.entropy for effect in effects)
    kept = sum(effect.entropy * effect.entropy_kept for effect in effects)
    return 1 - kept / told if told > 0 else 0.0


def _logs(counts: Ints) -> Floats:
    """Logarithms of counts; 0 where nothing was counted, since nothing is multiplied by it."""
    return np.log2(np.maximum(counts, 1))


def value_counts(instance: Instance) -> tuple[Ints, ...]:
    """Rows of a table by the base value they have, column by column."""
    cells = instance.cells
    return tuple(
        np.bincount(codes, weights=cells.counts, minlength=domain.size).astype(np.int64)
        for codes, domain in zip(cells.codes, instance.layout.domains.values(), strict=True)
    )


def column_effects(grouping: Grouping) -> tuple[ColumnEffect, ...]:
    """Tell for each quasi-identifier what a grouping does to it.

    Nothing where nobody knows what labels mean.
    """
    if not grouping.has_meaning:
        return ()
    domains = grouping.instance.layout.domains
    counts = value_counts(grouping.instance)
    return tuple(
        ColumnEffect(
            name,
            tuple(domain.label(start, stop) for start, stop in zip(starts, stops, strict=True)),
            np.array(starts),
            np.array(stops),
            rows,
            before,
        )
        for (name, domain), before, (starts, stops, rows) in zip(
            domains.items(), counts, shown_blocks(grouping), strict=True
        )
    )


def shown_blocks(grouping: Grouping) -> Iterator[tuple[list[int], list[int], Ints]]:
    """For each quasi-identifier the blocks that can be shown, and the released rows of each.

    Of a genome all its blocks, of anything else those that a released group has; in order.
    """
    assert grouping.starts is not None
    assert grouping.stops is not None
    sizes = np.where(grouping.kept, grouping.sizes, 0)
    declared = None
    if grouping.genome is not None:
        declared = grouping.instance.layout.decode(grouping.genome).values()
    if declared is not None:
        for blocks, first in zip(declared, grouping.starts, strict=True):
            starts, stops = ([block[side] for block in blocks] for side in (0, 1))
            place = np.searchsorted(starts, first)
            yield starts, stops, _added(place, sizes, len(starts))
        return
    for first, last in zip(grouping.starts, grouping.stops, strict=True):
        pairs = np.stack([first, last])[:, grouping.kept]
        found, place = np.unique(pairs, axis=1, return_inverse=True)
        rows = _added(place.reshape(-1), sizes[grouping.kept], found.shape[1])
        yield found[0].tolist(), found[1].tolist(), rows


def _added(place: Ints, sizes: Ints, number: int) -> Ints:
    """Rows at each place; whole numbers, however many."""
    rows = np.zeros(number, dtype=np.int64)
    np.add.at(rows, place, sizes)
    return rows
