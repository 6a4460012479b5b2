"""What a grouping does to each column: its labels with their rows, and what is left of it.

D's loss counts declared base values, so a cut in the empty tail of a domain looks like information
kept. Beside each label therefore stand the rows that show it, and beside each column's own loss its
own part of ``entropy_loss``, which counts people. Averaged over the columns, the losses are the
``loss`` of the whole; the entropies add up to its ``entropy_loss``, each weighing as much as the
column had to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from moanon.arrays import Floats, Ints, Outlined
from moanon.data.domain import Domain
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.wording import Grid

#: So many generalizations of a column are kept at hand.
_REMEMBERED = 16
#: Labels of a column that are listed before the rest is counted.
_LISTED = 8
#: Longest label that is shown whole.
_LONGEST = 28


@dataclass(frozen=True, eq=False, repr=False)
class ColumnBefore(Outlined):
    """One quasi-identifier as it is in the table, for all groupings of it.

    Attributes
    ----------
    name : str
    domain : Domain
    counts : array (base values,)
        Rows of the table that have each base value, suppressed ones included.
    """

    name: str
    domain: Domain
    counts: Ints

    @cached_property
    def rows(self) -> int:
        """Rows of the table."""
        return int(self.counts.sum())

    @cached_property
    def entropy(self) -> float:
        """What the column says about a row, on average: its entropy in bits."""
        return float(np.log2(self.rows) - self.counts @ _logs(self.counts) / self.rows)

    @cached_property
    def is_constant(self) -> bool:
        """Whether all rows have the same base value, so that it says nothing."""
        return bool(self.counts.max() == self.rows)

    @cached_property
    def rows_below(self) -> Ints:
        """Rows with a base value below each edge of base values."""
        return np.concatenate(([0], np.cumsum(self.counts)))

    @cached_property
    def lost_below(self) -> Ints:
        """Values that the base values below each edge stand for."""
        return np.concatenate(([0], np.cumsum(self.domain.spans)))

    @cached_property
    def most_lost(self) -> int:
        """Values that a value can be taken for beside itself; 1 where there are none."""
        return max(1, self.domain.values - 1)

    @cached_property
    def cut(self) -> Callable[[bytes], ColumnBlocks]:
        """Give the blocks of the column's part of a genome; neighbours on a front share many."""
        return lru_cache(_REMEMBERED)(self._cut)

    def _cut(self, bits: bytes) -> ColumnBlocks:
        cuts = np.flatnonzero(np.frombuffer(bits, dtype=np.uint8)) + 1
        return ColumnBlocks(self, np.append(0, cuts), np.append(cuts, self.domain.size))


@dataclass(frozen=True, eq=False, repr=False)
class ColumnBlocks(Outlined):
    """Blocks of a quasi-identifier that can be shown, and what is lost of a row that shows each.

    Attributes
    ----------
    column : ColumnBefore
    starts, stops : arrays (blocks,)
        Their base values: ``start .. stop - 1``.
    """

    column: ColumnBefore
    starts: Ints
    stops: Ints

    @cached_property
    def lost(self) -> Floats:
        """Loss of a cell (D eq. 3)."""
        values = self.column.lost_below[self.stops] - self.column.lost_below[self.starts]
        return np.asarray((values - 1) / self.column.most_lost)

    @cached_property
    def missing_bits(self) -> Floats:
        """Bits that a cell does not give: how many rows of the table could be meant, in powers."""
        below = self.column.rows_below
        return _logs(below[self.stops] - below[self.starts])


@dataclass(frozen=True, eq=False, repr=False)
class ColumnEffect(Outlined):
    """What becomes of one quasi-identifier.

    Attributes
    ----------
    blocks : ColumnBlocks
        Those of its labels; of a global recoding also of labels that no released row has.
    rows : array (labels,)
        Released rows that show each.
    """

    blocks: ColumnBlocks
    rows: Ints

    @property
    def column(self) -> ColumnBefore:
        """As it was."""
        return self.blocks.column

    @property
    def starts(self) -> Ints:
        """First base value of each label."""
        return self.blocks.starts

    @property
    def stops(self) -> Ints:
        """The base value behind each label."""
        return self.blocks.stops

    @property
    def name(self) -> str:
        """Of the column."""
        return self.column.name

    @property
    def domain(self) -> Domain:
        """Of the column."""
        return self.column.domain

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What released cells can show."""
        blocks = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return tuple(self.domain.label(start, stop) for start, stop in blocks)

    @property
    def base_values(self) -> int:
        """Base values of the column, declared ones that no row has included."""
        return len(self.column.counts)

    @property
    def shown(self) -> int:
        """Labels that a released row has."""
        return int(np.count_nonzero(self.rows))

    @property
    def is_whole(self) -> bool:
        """Whether every released row shows the same, so that the column says nothing."""
        return self.shown == 1 and self.base_values > 1

    @property
    def is_kept(self) -> bool:
        """Whether every label is one base value, so that released rows have lost nothing."""
        return bool((self.stops - self.starts == 1).all())

    @property
    def loss(self) -> float:
        """The column's own loss (D eq. 3), mean over all rows; a suppressed row lost everything."""
        every = self.column.rows
        return float(self.rows @ self.blocks.lost + every - self.rows.sum()) / every

    @property
    def entropy_kept(self) -> float:
        """Share of its entropy that the release still has; 1 where there was none."""
        if self.column.is_constant:
            return 1.0
        every = self.column.rows
        missing = float(self.rows @ self.blocks.missing_bits)
        missing += (every - self.rows.sum()) * np.log2(every)
        left = float(np.log2(every) - missing / every)
        return min(1.0, max(0.0, left / self.column.entropy))  # rounding may go beyond


def entropy_loss(effects: Sequence[ColumnEffect]) -> float:
    """What all columns together no longer say about people; the measure of that name."""
    before = sum(effect.column.entropy for effect in effects)
    kept = sum(effect.column.entropy * effect.entropy_kept for effect in effects)
    return 1 - kept / before if before > 0 else 0.0


def _logs(counts: Ints) -> Floats:
    """Logarithms of counts; 0 where nothing was counted, since nothing is multiplied by it."""
    return np.log2(np.maximum(counts, 1))


def columns_before(instance: Instance) -> tuple[ColumnBefore, ...]:
    """Count the base values of a table's quasi-identifiers before anything is generalized."""
    cells = instance.cells
    return tuple(
        ColumnBefore(
            name,
            domain,
            np.bincount(codes, weights=cells.counts, minlength=domain.size).astype(np.int64),
        )
        for codes, (name, domain) in zip(cells.codes, instance.layout.domains.items(), strict=True)
    )


def column_effects(
    grouping: Grouping, before: Sequence[ColumnBefore] | None = None
) -> tuple[ColumnEffect, ...]:
    """Find for each quasi-identifier what a grouping does to it.

    Nothing where nobody knows what labels mean. Of many groupings of one table, `before` is what
    `columns_before` says of it.
    """
    if not grouping.has_meaning:
        return ()
    columns = columns_before(grouping.instance) if before is None else before
    return tuple(_effects(grouping, columns))


def _effects(grouping: Grouping, columns: Sequence[ColumnBefore]) -> Iterator[ColumnEffect]:
    """Find the blocks that can be shown, and the released rows of each.

    Of a genome all its blocks, of anything else those that a released group has; in order.
    """
    assert grouping.starts is not None
    assert grouping.stops is not None
    kept = np.flatnonzero(grouping.kept)
    sizes, starts = grouping.sizes[kept], grouping.starts[:, kept]
    if grouping.genome is not None:
        for column, first, (_, _, place) in zip(
            columns, starts, grouping.instance.layout.slices(), strict=True
        ):
            blocks = column.cut(grouping.genome[place].tobytes())
            which = np.searchsorted(blocks.starts, first)
            yield ColumnEffect(blocks, _added(which, sizes, len(blocks.starts)))
        return
    for column, first, last in zip(columns, starts, grouping.stops[:, kept], strict=True):
        span = column.domain.size + 1
        found, which = np.unique(first.astype(np.int64) * span + last, return_inverse=True)
        blocks = ColumnBlocks(column, *np.divmod(found, span))
        yield ColumnEffect(blocks, _added(which.reshape(-1), sizes, len(found)))


def _added(place: Ints, sizes: Ints, number: int) -> Ints:
    """Rows at each place; whole numbers, however many."""
    rows = np.zeros(number, dtype=np.int64)
    np.add.at(rows, place, sizes)
    return rows


# -- in words --------------------------------------------------------------------------------------


def effects_grid(effects: Sequence[ColumnEffect]) -> Grid:
    """Show each column: how many labels of how many values, what is left, and the labels' rows."""
    rows = []
    for effect in effects:
        labels = f"{effect.shown:,} ({effect.base_values:,})"
        shares = (f"{effect.loss:.1%}", f"{effect.entropy_kept:.1%}")
        rows.append((effect.name, labels, *shares, _labels_of(effect)))
    headers = ("column", "labels (values)", "own loss", "entropy kept", "rows of each label")
    return Grid(headers, rows, right=(1, 2, 3))


def _labels_of(effect: ColumnEffect) -> str:
    """The labels with most rows first, then how many more there are, and how many are empty."""
    filled = [place for place in np.argsort(-effect.rows, kind="stable") if effect.rows[place]]
    texts = [f"{_cut(effect.labels[p])} {int(effect.rows[p]):,}" for p in filled[:_LISTED]]
    if len(filled) > _LISTED:
        texts.append(f"and {len(filled) - _LISTED:,} more")
    if empty := len(effect.labels) - len(filled):
        texts.append(f"({empty:,} without rows)")
    return ", ".join(texts)


def labels_grid(blocks: Mapping[str, Sequence[str]]) -> Grid:
    """Show what each column can show, where the rows are not known."""
    rows = []
    for name, labels in blocks.items():
        texts = [_cut(label) for label in labels[:_LISTED]]
        if len(labels) > _LISTED:
            texts.append(f"and {len(labels) - _LISTED:,} more")
        rows.append((name, f"{len(labels):,}", ", ".join(texts)))
    return Grid(("column", "labels", ""), rows, right=(1,))


def _cut(label: str) -> str:
    """A label as it fits a line."""
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"
