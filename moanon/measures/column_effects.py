"""What a grouping does to each column: its labels with their rows, and what is left of it.

D's loss counts declared base values, so a cut in the empty tail of a domain looks like information
kept. Beside each label therefore stand the rows that show it, and beside each column's own loss its
own part of ``entropy_loss``, which counts people. Averaged over the columns, the losses are the
``loss`` of the whole; the entropies add up to its ``entropy_loss``, each weighing as much as the
column had to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
class _Blocks(Outlined):
    """Blocks of a quasi-identifier that can be shown, and what is lost of a row that shows each."""

    starts: Ints  # of base values ``start .. stop - 1``
    stops: Ints
    lost: Floats  # loss of a cell (D eq. 3)
    missing_bits: Floats  # that a cell does not give: rows of the table that could be meant


class _Column:
    """One quasi-identifier as it is in the table, for all groupings of it.

    `counts` are the rows of the table that have each base value, suppressed ones included.
    """

    def __init__(self, name: str, domain: Domain, counts: Ints) -> None:
        self.name, self.domain, self.counts = name, domain, counts
        self.rows = int(counts.sum())
        #: What the column says about a row, on average, in bits; 0 of a constant one.
        self.entropy = 0.0
        if counts.max() < self.rows:
            self.entropy = float(np.log2(self.rows) - counts @ _logs(counts) / self.rows)
        self._rows_below = np.concatenate(([0], np.cumsum(counts)))
        self._values_below = np.concatenate(([0], np.cumsum(domain.spans)))
        #: Gives the blocks of the column's part of a genome; neighbours on a front share many.
        self.cut = lru_cache(_REMEMBERED)(self._cut)

    def _cut(self, bits: bytes) -> _Blocks:
        cuts = np.flatnonzero(np.frombuffer(bits, dtype=np.uint8)) + 1
        return self.blocks(np.append(0, cuts), np.append(cuts, self.domain.size))

    def blocks(self, starts: Ints, stops: Ints) -> _Blocks:
        """Say what is lost by some blocks."""
        values = self._values_below[stops] - self._values_below[starts]
        lost = np.asarray((values - 1) / max(1, self.domain.values - 1))
        return _Blocks(
            starts, stops, lost, _logs(self._rows_below[stops] - self._rows_below[starts])
        )


@dataclass(frozen=True, eq=False, repr=False)
class ColumnEffect(Outlined):
    """What becomes of one quasi-identifier.

    Labels are blocks of base values ``start .. stop - 1``; of a global recoding there are also some
    that no released row has.
    """

    name: str
    domain: Domain
    starts: Ints  # (labels,)
    stops: Ints
    rows: Ints  # (labels,): released rows that show each
    loss: float  # its own (D eq. 3), mean over all rows; a suppressed row lost everything
    entropy: float  # what the column says about a row of the table, on average, in bits …
    entropy_kept: float  # … and the share of it that the release has; 1 where there was none

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What released cells can show."""
        blocks = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return tuple(self.domain.label(start, stop) for start, stop in blocks)

    @property
    def base_values(self) -> int:
        """Base values of the column, declared ones that no row has included."""
        return self.domain.size

    @property
    def shown(self) -> int:
        """Labels that a released row has."""
        return int(np.count_nonzero(self.rows))

    @property
    def is_kept(self) -> bool:
        """Whether every label is one base value, so that released rows have lost nothing."""
        return bool((self.stops - self.starts == 1).all())


def _effect(column: _Column, blocks: _Blocks, which: Ints, sizes: Ints) -> ColumnEffect:
    """Sum up what groups of these sizes show of a column, each one of the blocks."""
    rows = np.zeros(len(blocks.starts), dtype=np.int64)
    np.add.at(rows, which, sizes)
    every, gone, kept = column.rows, column.rows - rows.sum(), 1.0
    if column.entropy > 0:
        missing = float(rows @ blocks.missing_bits) + gone * np.log2(every)
        left = float(np.log2(every) - missing / every)
        kept = min(1.0, max(0.0, left / column.entropy))  # rounding may go beyond
    loss = float(rows @ blocks.lost + every - rows.sum()) / every
    return ColumnEffect(
        column.name, column.domain, blocks.starts, blocks.stops, rows, loss, column.entropy, kept
    )


def _logs(counts: Ints) -> Floats:
    """Logarithms of counts; 0 where nothing was counted, since nothing is multiplied by it."""
    return np.log2(np.maximum(counts, 1))


def columns_before(instance: Instance) -> tuple[_Column, ...]:
    """Count the base values of a table's quasi-identifiers before anything is generalized."""
    cells = instance.cells
    return tuple(
        _Column(
            name,
            domain,
            np.bincount(codes, weights=cells.counts, minlength=domain.size).astype(np.int64),
        )
        for codes, (name, domain) in zip(cells.codes, instance.layout.domains.items(), strict=True)
    )


def column_effects(
    grouping: Grouping, before: Sequence[_Column] | None = None
) -> tuple[ColumnEffect, ...]:
    """Find for each quasi-identifier what a grouping does to it.

    Nothing where nobody knows what labels mean. Of many groupings of one table, `before` is what
    `columns_before` says of it. The blocks of a column are those of the genome, where there is one,
    else those that a released group has; in order.
    """
    if not grouping.has_meaning:
        return ()
    assert grouping.starts is not None
    assert grouping.stops is not None
    columns = columns_before(grouping.instance) if before is None else before
    kept, slices = np.flatnonzero(grouping.kept), grouping.instance.layout.slices()
    sizes, starts, stops = grouping.sizes[kept], grouping.starts[:, kept], grouping.stops[:, kept]
    found = []
    for column, (_, _, place), first, last in zip(columns, slices, starts, stops, strict=True):
        if grouping.genome is not None:
            blocks = column.cut(grouping.genome[place].tobytes())
            which = np.searchsorted(blocks.starts, first)
        else:
            span = column.domain.size + 1
            keys, which = np.unique(first.astype(np.int64) * span + last, return_inverse=True)
            blocks, which = column.blocks(*np.divmod(keys, span)), which.reshape(-1)
        found.append(_effect(column, blocks, which, sizes))
    return tuple(found)


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
