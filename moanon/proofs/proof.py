"""Proofs: branch and bound over the bits of a genome, for one k.

Of all generalizations whose groups have at least k rows after at most so many were suppressed, the
best one loses no less than the *bound*. A proof begins with a genome of which nothing is decided.
Again and again the open one with the least bound is taken, and one of its bits decided both ways;
what cannot be better than the best known solution is dropped. The least bound of those still open
holds for everything; when none is open, the best known solution is the optimum. For a fixed k the
best threshold is k itself: to suppress larger groups only costs more.

Which bit is taken: the one that promises the largest gains of the bound, judged by what deciding it
has brought so far, here and for other k (`no_experience`); bits without experience are tried. All
of it depends on the work done so far alone, counted in bounds, and never on the clock.

`settle_large` is the end of a long search. Where groups must be large, few cuts are left, and a
search may sit in a valley of its own: between it and something better lie several columns at once.
Branch and bound decides such a k within some hundred bounds. So the largest k comes first, and it
goes downwards until proofs get too long.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from moanon.arrays import Bits, Floats, State
from moanon.genome import Instance
from moanon.kernels.cuts import FREE
from moanon.proofs.cut_table import Bound, ProofTable

#: Bits without experience that are tried at a time.
_TRIED = 8
#: The smaller gain of the two counts so much more than the larger.
_SMALLER = 5
#: Gains of free bits are kept in so many steps of the gap.
_GAIN_STEPS = 255
#: At the end of a search: most bounds for one k and for all, and most cells that are read for them.
_FOR_ONE, _FOR_ALL, _MOST_CELLS = 1_500, 8_000, 160_000_000
#: Proofs that may remain open before it ends.
_MOST_OPEN = 2


class _OpenNode(NamedTuple):
    """A partly decided genome that may still hold something better."""

    lower: int  # in units of the table
    number: int  # in order of appearance
    state: Bits
    zero: Bits  # gains of deciding a bit, at least so many `_GAIN_STEPS` of the gap
    one: Bits
    fine: int


def no_experience(bits: int) -> Floats:
    """What deciding each bit has brought, before anything was decided: (2, 2, bits).

    Summed gains of the bound as shares of the whole loss, and how many there were; each of a bit
    that became 0, and 1.
    """
    return np.zeros((2, 2, bits))


@dataclass
class Proof:
    """A proof on its way."""

    table: ProofTable
    k: int  # rows of the smallest group
    limit: int  # rows that may be suppressed
    best: int  # exact loss of the best known solution
    experience: Floats  # as of `no_experience`; proofs of several k share it
    genome: Bits | None = None  # a better one than was known at the beginning
    work: int = 0  # bounds that were computed
    _open: list[_OpenNode] = field(default_factory=list)
    _numbers: int = 0

    @property
    def bound(self) -> int:
        """An exact loss that no generalization goes below."""
        if not self.work:
            return 0
        return min(self.best, self._open[0].lower * self.table.unit) if self._open else self.best

    @property
    def is_closed(self) -> bool:
        """Whether the best known solution is proven to be the optimum."""
        return self.work > 0 and self.bound >= self.best

    @property
    def opened(self) -> int:
        """How many partly decided genomes are open."""
        return len(self._open)

    def take_in(self, loss: int) -> None:
        """Learn of a solution that was found elsewhere."""
        if loss < self.best:
            self.best, self.genome = loss, None

    def advance(self) -> None:
        """Decide one more bit both ways, or begin."""
        if not self.work:
            root = np.full(self.table.bits, FREE, dtype=np.uint8)
            self._keep(root, self._bound(root, 0), 0)
            return
        node = heapq.heappop(self._open)
        for state, found in self._branch(node):
            self._keep(state, found, node.lower)
        if self._open and self._open[0].lower * self.table.unit >= self.best:
            self._open.clear()

    # -- branching ---------------------------------------------------------------------------------

    def _branch(self, node: _OpenNode) -> list[tuple[Bits, Bound | None]]:
        """Decide the most promising bit of a node."""
        best_score = -1.0
        chosen: list[tuple[Bits, Bound | None]] = []
        for bit in self._candidates(node):
            children, gains = [], []
            for value in (0, 1):
                state = node.state.copy()
                state[bit] = value
                found = self._bound(state, node.fine)
                gain = self._gain(node.lower, found)
                self.experience[:, value, bit] += gain, 1
                children.append((state, found))
                gains.append(gain)
            score = _SMALLER * min(gains) + max(gains)
            if score > best_score:
                best_score, chosen = score, children
            if all(found is None for _, found in children):
                break  # nothing better is left in the node
        return chosen

    def _candidates(self, node: _OpenNode) -> list[int]:
        """Bits to try, the most promising first: those not tried yet, and the best one known."""
        free = np.flatnonzero(node.state == FREE)
        gap = max(self.best - node.lower * self.table.unit, 0) / self.table.whole
        seen = np.stack([node.zero, node.one])[:, free] * (gap / _GAIN_STEPS)
        summed, tried = self.experience
        gains = np.maximum(seen, (summed / np.maximum(tried, 1))[:, free])
        score = _SMALLER * gains.min(axis=0) + gains.max(axis=0)
        order = free[np.argsort(-score, kind="stable")]
        unknown = tried.min(axis=0)[order] == 0  # not decided both ways
        chosen: list[int] = [*order[unknown][:_TRIED].tolist(), *order[~unknown][:1].tolist()]
        return chosen

    def _gain(self, lower: int, found: Bound | None) -> float:
        """By how much a bound has grown, as a share of the whole loss; at most the gap."""
        before = lower * self.table.unit
        after = self.best if found is None else min(found.lower * self.table.unit, self.best)
        return max(after - before, 0) / self.table.whole

    def _bound(self, state: Bits, fine: int) -> Bound | None:
        """Bound a state, again as long as bits of it get decided by that."""
        while True:
            free = int((state == FREE).sum())
            found = self.table.bound(state, self.k, self.limit, self.best, fine)
            self.work += 1
            if found is None or int((state == FREE).sum()) == free:
                return found
            fine = found.fine

    def _keep(self, state: Bits, found: Bound | None, least: int) -> None:
        """Put a bounded state among the open ones, unless it is decided by that."""
        if found is None:
            return
        lower = max(found.lower, least)  # what holds for all of a node holds for its halves
        if not (state == FREE).any():
            self._measure(state)
            return
        gap = max(self.best - lower * self.table.unit, 1) / self.table.unit
        zero, one = (
            np.clip((bits - lower) / gap * _GAIN_STEPS, 0, _GAIN_STEPS).astype(np.uint8)
            for bits in (found.zero, found.one)
        )
        node = _OpenNode(lower, self._numbers, state, zero, one, found.fine)
        self._numbers += 1
        heapq.heappush(self._open, node)
        self._measure(found.genome)

    def _measure(self, genome: Bits) -> None:
        """See whether a genome is better than what is known; if so, make it better still."""
        loss = self.table.loss(genome, self.k, self.limit)
        if loss is not None and loss < self.best:
            self.genome, better = self.table.polish(genome, self.k, self.limit)
            self.best = loss if better is None else better

    # -- what is saved -----------------------------------------------------------------------------

    def state(self) -> State:
        """Everything that the next step depends on, but for experience."""
        nodes, bits = sorted(self._open), self.table.bits
        stacked = {
            name: np.array([getattr(node, name) for node in nodes], dtype=np.uint8)
            for name in ("state", "zero", "one")
        }
        return {name: rows.reshape(len(nodes), bits) for name, rows in stacked.items()} | {
            "lower": np.array([node.lower for node in nodes], dtype=np.int64),
            "number": np.array([node.number for node in nodes], dtype=np.int64),
            "fine": np.array([node.fine for node in nodes], dtype=np.int64),
            "genome": np.zeros(0, dtype=np.uint8) if self.genome is None else self.genome,
            "best": np.array(str(self.best)),  # may be larger than an integer of 64 bits
            "counts": np.array([self.work, self._numbers], dtype=np.int64),
        }

    def restore(self, state: State) -> None:
        """Go on from a saved state."""
        self.best = int(state["best"].item())
        self.work, self._numbers = state["counts"].tolist()
        self.genome = state["genome"] if len(state["genome"]) else None
        numbers = (state[name].tolist() for name in ("lower", "number", "fine"))
        rows = (state[name] for name in ("state", "zero", "one"))
        # Sorted, which is one way to be a heap.
        self._open = [
            _OpenNode(lower, number, bits, zero, one, fine)
            for lower, number, fine, bits, zero, one in zip(*numbers, *rows, strict=True)
        ]


# -- the end of a long search ----------------------------------------------------------------------


def settle_large(
    instance: Instance, limit: int, steps: Iterable[tuple[int, int, Bits]]
) -> list[Bits]:
    """Find genomes that are better than the solutions of the largest k.

    `steps` are solutions of falling k (start, k, genome), each the best that is known from the k
    `start` on. Each genome that is found is better than all of them for some k.
    """
    table = ProofTable.of(instance)
    experience = no_experience(table.bits)
    left = min(_FOR_ALL, _MOST_CELLS // max(len(instance.cells), 1))
    least, still_open = table.whole, 0
    better: list[Bits] = []
    for start, k, genome in steps:
        loss = table.loss(genome, k, limit)
        least = least if loss is None else min(least, loss)
        proof = Proof(table, start, limit, least, experience)
        while not proof.is_closed and proof.work < min(_FOR_ONE, left):
            proof.advance()
        left -= proof.work
        still_open += not proof.is_closed
        if proof.genome is not None:
            better.append(proof.genome)
            least = proof.best
        if left <= 0 or still_open >= _MOST_OPEN:
            break
    return better
