"""The table as proofs take it: integer losses, bounds of partly decided genomes.

Kernels add up integers of 64 bits, which a common denominator of many columns can be too large for.
So there are two kinds of losses: *exact* ones, whole numbers of any size, for whole genomes; and
those of bounds, multiples of a unit and rounded down. Elsewhere the losses of such tables are
rounded to the nearest number, which no proof may rest on.

*Polishing* gives each column its best cut, the others being as they are, until none can gain. A
search moves one boundary at a time and needs luck where several of a column must move together; a
shortest path finds them all at once. It takes as long as evaluating some ten genomes.

Shortest paths and bounds go by the sizes of groups and by losses that add up over columns. So they
are for the objectives k and loss, where groups are suppressed by their size and nothing else is
demanded of them (`why_not`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import lcm
from typing import NamedTuple

import numpy as np

from moanon.arrays import Bits, Ints, Outlined
from moanon.data.domain import Domain
from moanon.errors import ConfigError
from moanon.front import Front
from moanon.genome import Instance
from moanon.kernels.cuts import FREE, CutColumn, CutTable, add_shown, best_cut, measure_cut
from moanon.kernels.join import block_keys
from moanon.kernels.lower_bounds import NEVER, bound_below
from moanon.measures.suppression import Suppression
from moanon.recoding import GlobalRecodings

#: Sums of losses stay below this, so that fines and prices on top of them do not overflow.
_LARGEST_SUM = 2**54
#: How often prices are set for one bound.
_ROUNDS = 4
#: Columns of more base values keep their cuts, and the end of a search proves nothing of them:
#: pairs of edges would take longer than the cells.
_MOST_VALUES = 400
#: Columns with more base values have more pairs of edges than are listed at every step of a proof.
MOST_VALUES = 1_500
#: The largest fine of a suppressed row, in losses of a whole row.
_MOST_FINE = 8
#: Cells that are read at once, for all genomes together: all of them for each column, and
#: about as often as there are columns.
_AT_ONCE = 2_000_000_000
#: Why nothing is proven of boxes.
LOCAL = (
    "only fronts of global recodings can be proven. Got local ones: their boxes are not made of "
    "bits that could be decided one after the other"
)


# -- what can be polished and proven -------------------------------------------------------------


def why_not(objectives: Sequence[str], rule: Suppression, bounds: Sequence[str]) -> str | None:
    """Why nothing can be proven about a front, as a sentence; None if it can."""
    if sorted(objectives) != ["k", "loss"]:
        others = [name for name in objectives if name not in ("k", "loss")]
        verb = "is" if len(others) == 1 else "are"
        about = f"{', '.join(others)} {verb} none of them" if others else "both are needed"
        return (
            "only fronts with the objectives k and loss can be proven, since bounds go by the "
            f"sizes of groups alone; {about}. Got the objectives {', '.join(objectives)}"
        )
    if rule.kind not in ("limit", "none") or (rule.kind == "limit" and rule.by != "k"):
        way = f"by {rule.by}" if rule.kind == "limit" else f"by the rule {rule.kind}"
        return (
            "only fronts whose groups are suppressed by their size can be proven, since a smaller "
            f"group is then suppressed in every finer generalization, too. Got suppression {way}"
        )
    names = [*(name for name, _ in rule.constraints), *bounds]
    if names:
        return (
            "fronts under constraints cannot be proven, since bounds take all generalizations for "
            f"possible. Got constraints on {', '.join(dict.fromkeys(names))}"
        )
    return None


def why_unprovable(front: Front) -> str | None:
    """Why nothing can be proven about a front, as a sentence; None if it can."""
    if not isinstance(front.recodings, GlobalRecodings):
        return LOCAL
    reason = why_not(front.objectives, front.suppression, [*front.bounds])
    if reason is None and front.instance is not None:
        for name, domain in front.instance.layout.domains.items():
            if domain.size > MOST_VALUES:
                return (
                    f"fronts are proven for columns of at most {MOST_VALUES:,} base values. Got "
                    f"{domain.size:,} in {name!r}; a coarser granularity has fewer"
                )
    return reason


def check_provable(front: Front) -> None:
    """Refuse a front about which nothing can be proven, with the reason."""
    if (reason := why_unprovable(front)) is not None:
        raise ConfigError(reason)


def can_settle(instance: Instance) -> bool:
    """Whether bounds of a table are quick enough for the end of a search."""
    return int(instance.layout.sizes.max()) <= _MOST_VALUES


# -- polishing -------------------------------------------------------------------------------------


def _shown(column: CutColumn, bits: Bits) -> Ints:
    """The mark and the loss of the block of each base value under a cut, a row of each."""
    edges = np.concatenate(([0], np.flatnonzero(bits) + 1, [len(column.marks)]))
    blocks = np.stack([column.marks[edges[:-1]], column.loss[np.diff(column.keys[edges])]])
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
        self.columns: list[CutColumn] = []
        self.places = [place for _, _, place in layout.slices()]
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
                CutColumn(
                    np.ascontiguousarray(cells.codes[c]),
                    np.ascontiguousarray(blocks[:, 1]),
                    np.ascontiguousarray(blocks[:, 0]),
                    keys,
                    table // unit,
                    rng.integers(-(2**62), 2**62, size=size),
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
        shown = [
            _shown(column, genome[place])
            for column, place in zip(self.columns, self.places, strict=True)
        ]
        cells = np.zeros((2, len(self.counts)), dtype=np.int64)
        for column, each in zip(self.columns, shown, strict=True):
            add_shown(column.codes, each, cells)
        most_fine, since, c = _MOST_FINE * self.full, 0, 0
        while since < len(self.columns):
            column, place = self.columns[c], self.places[c]
            bits = genome[place].copy()
            if len(column.starts) > 1:
                best_cut(column, self.counts, shown[c], cells, self.full, k, limit, most_fine, bits)
            since += 1
            if (bits != genome[place]).any():
                genome[place] = bits
                before, shown[c] = shown[c], _shown(column, bits)
                add_shown(column.codes, shown[c] - before, cells)
                since = 1
            c = (c + 1) % len(self.columns)
        return genome


# -- bounding --------------------------------------------------------------------------------------


class Bound(NamedTuple):
    """What is known of all completions of a partly decided genome."""

    lower: int  # a loss that none of them goes below, in units of `ProofTable.unit`
    fine: int  # what was charged for a suppressed row
    zero: Ints  # (bits,): the bound where a free bit is 0 …
    one: Ints  # … and 1
    genome: Bits  # one that is worth a try


@dataclass(frozen=True, repr=False)
class ProofTable(Outlined):
    """A table in which losses are counted exactly, and bounded in perhaps larger units.

    `bounding` has losses in multiples of `unit`, rounded down: what is below a sum of these is
    below the exact sum.
    """

    bounding: CutTable
    losses: tuple[int, ...]  # exact ones, at the places of those
    full: int  # exact loss of a row in one column that is wholly generalized, or suppressed
    unit: int  # 1 wherever sums are small enough
    whole: int  # exact loss of the table with everything suppressed
    polisher: Polisher

    @classmethod
    def of(cls, instance: Instance) -> ProofTable:
        """Lay a table out."""
        layout, keyed = instance.layout, instance.losses
        columns = len(layout.columns)
        first, starts, stops = [0], [], []
        for name in layout.columns:
            tree = layout.trees.get(name)
            nodes = sorted(zip(tree.stops, tree.starts, strict=True)) if tree else []
            starts += [start for _, start in nodes]
            stops += [stop for stop, _ in nodes]
            first.append(len(starts))
        losses, full = _exact_losses(layout.domains.values())
        whole = instance.cells.rows * columns * full
        unit = -(-whole // _LARGEST_SUM)
        bounding = CutTable(
            np.ascontiguousarray(instance.cells.codes),
            instance.cells.counts.astype(np.int64, copy=False),
            layout.sizes,
            layout.offsets,
            np.array([name in layout.trees for name in layout.columns], dtype=np.bool_),
            np.array(first, dtype=np.int64),
            np.array(starts, dtype=np.int64),
            np.array(stops, dtype=np.int64),
            keyed.key_start,
            keyed.keys,
            keyed.start,
            np.array([loss // unit for loss in losses], dtype=np.int64),
            full // unit,
        )
        return cls(bounding, losses, full, unit, whole, Polisher(instance))

    @property
    def bits(self) -> int:
        """Length of a genome."""
        return int(self.bounding.offsets[-1])

    def warm_up(self) -> None:
        """Have everything compiled or loaded that proves, which should not count as its time."""
        self.bound(np.full(self.bits, FREE, dtype=np.uint8), 1, 0, 1, 0, rounds=1)

    def loss(self, genome: Bits, k: int, limit: int) -> int | None:
        """Exact loss of a genome without its groups of less than k; None if these are too many."""
        kept, suppressed, _ = self._measure(genome, k)
        if suppressed > limit:
            return None
        lost: int = suppressed * len(self.bounding.sizes) * self.full
        for place in np.flatnonzero(kept).tolist():
            lost += int(kept[place]) * self.losses[place]
        return lost

    def attained(self, genome: Bits, k: int) -> int:
        """Rows of the smallest group of a genome without its groups of less than k."""
        return self._measure(genome, k)[2]

    def _measure(self, genome: Bits, k: int) -> tuple[Ints, int, int]:
        kept = np.zeros(len(self.losses), dtype=np.int64)
        suppressed, smallest = measure_cut(self.bounding, genome, k, kept)
        return kept, int(suppressed), int(smallest)

    def bound(
        self, state: Bits, k: int, limit: int, upper: int, fine: int, rounds: int = _ROUNDS
    ) -> Bound | None:
        """Bound all completions of a state, in which bits may be decided on the way.

        None where none of them loses less than `upper`, an exact loss.
        """
        bounds = np.zeros((2, self.bits), dtype=np.int64)
        cuts = np.zeros(self.bits, dtype=np.uint8)
        in_units = -(-upper // self.unit)  # a bound of so many units is no less than `upper`
        lower, fine = bound_below(
            self.bounding, state, k, limit, in_units, fine, rounds, bounds, cuts
        )
        if lower >= NEVER:
            return None
        return Bound(max(int(lower), 0), int(fine), bounds[0], bounds[1], cuts)

    def polish(self, genome: Bits, k: int, limit: int) -> tuple[Bits, int | None]:
        """Give each column its best cut, the others being as they are; see `Polisher`.

        The same genome where nothing is better; its loss is exact, None as of `loss`.
        """
        before, polished = self.loss(genome, k, limit), self.polisher.polish(genome, k, limit)
        after = self.loss(polished, k, limit)
        if after is None or (before is not None and before <= after):
            return genome, before
        return polished, after


def _exact_losses(domains: Iterable[Domain]) -> tuple[tuple[int, ...], int]:
    """D's loss of a row by the key of its block, column after column, and that of a whole column.

    All over one common denominator, however large.
    """
    all_spans = [domain.spans for domain in domains]
    ends = [max(1, int(spans.sum()) - 1) for spans in all_spans]
    full = lcm(*ends)
    losses = (
        max(0, number - 1) * (full // end)
        for spans, end in zip(all_spans, ends, strict=True)
        for number in block_keys(spans)[1].tolist()
    )
    return tuple(losses), full
