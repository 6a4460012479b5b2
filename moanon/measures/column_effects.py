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
from functools import cached_property

import numpy as np

from moanon.arrays import Floats, Ints, Outlined
from moanon.data.domain import Domain
from moanon.genome import Instance
from moanon.grouping import Grouping


@dataclass(frozen=True, eq=False, repr=False)
class ColumnEffect(Outlined):
    """What becomes of one quasi-identifier.

    Attributes
    ----------
    name : str
    domain : Domain
    starts, stops : arrays (labels,)
        The base values of each label: ``start .. stop - 1``; of a global recoding also those of
        labels that no released row has.
    rows : array (labels,)
        Released rows that show it.
    before : array (base values,)
        Rows of the table that have each base value, suppressed ones included.
    """

    name: str
    domain: Domain
    starts: Ints
    stops: Ints
    rows: Ints
    before: Ints

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What released cells can show."""
        blocks = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return tuple(self.domain.label(start, stop) for start, stop in blocks)

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
        edges = np.concatenate(([0], np.cumsum(self.domain.spans)))
        lost = (edges[self.stops] - edges[self.starts] - 1) / max(1, self.domain.values - 1)
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


def column_effects(
    grouping: Grouping, before: Sequence[Ints] | None = None
) -> tuple[ColumnEffect, ...]:
    """Tell for each quasi-identifier what a grouping does to it.

    Nothing where nobody knows what labels mean. Of many groupings of one table, `before` is what
    `value_counts` says of it.
    """
    if not grouping.has_meaning:
        return ()
    counts = value_counts(grouping.instance) if before is None else before
    domains = grouping.instance.layout.domains.items()
    return tuple(
        ColumnEffect(name, domain, starts, stops, rows, own)
        for (name, domain), own, (starts, stops, rows) in zip(
            domains, counts, _shown_blocks(grouping), strict=True
        )
    )


def _shown_blocks(grouping: Grouping) -> Iterator[tuple[Ints, Ints, Ints]]:
    """For each quasi-identifier the blocks that can be shown, and the released rows of each.

    Of a genome all its blocks, of anything else those that a released group has; in order.
    """
    assert grouping.starts is not None
    assert grouping.stops is not None
    sizes, kept = grouping.sizes[grouping.kept], grouping.kept
    if grouping.genome is None:
        for first, last in zip(grouping.starts, grouping.stops, strict=True):
            pairs = np.stack([first, last])[:, kept]
            found, place = np.unique(pairs, axis=1, return_inverse=True)
            yield found[0], found[1], _added(place.reshape(-1), sizes, found.shape[1])
        return
    for column, (_, domain, bits) in enumerate(grouping.instance.layout.slices()):
        cuts = np.flatnonzero(grouping.genome[bits]) + 1
        starts, stops = np.append(0, cuts), np.append(cuts, domain.size)
        place = np.searchsorted(starts, grouping.starts[column, kept])
        yield starts, stops, _added(place, sizes, len(starts))


def _added(place: Ints, sizes: Ints, number: int) -> Ints:
    """Rows at each place; whole numbers, however many."""
    rows = np.zeros(number, dtype=np.int64)
    np.add.at(rows, place, sizes)
    return rows
