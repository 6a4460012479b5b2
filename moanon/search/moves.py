"""Small changes that keep a genome valid, for many genomes at once.

D mutates unconstrained columns only, so a cut of a tree that is lost from the population never
comes back. Here trees move too: a node is expanded (with all nodes above it, or the cut would not
reach it) or collapsed (with all nodes below it).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from moanon.data.domain import Domain, TreeDomain
from moanon.data.hierarchy import Hierarchy
from moanon.genome import Layout

__all__ = ["Moves"]

Genomes = npt.NDArray[np.uint8]

#: Chance that a boundary moves to any other place of its column.
_FAR = 0.4


class Moves:
    """Moves over one layout.

    Parameters
    ----------
    layout : Layout
    """

    def __init__(self, layout: Layout) -> None:
        self._columns = [
            (place, _mover(domain)) for _, domain, place in layout.slices() if domain.size > 1
        ]
        # A column with many places to move needs more moves, but not in proportion: small ones
        # decide as much about the groups.
        weights = np.sqrt([mover.places for _, mover in self._columns])
        self._share = weights / weights.sum() if len(weights) else weights

    def step(self, genomes: Genomes, rng: np.random.Generator) -> Genomes:
        """Change one column of each genome: flip or shift a boundary, or move a tree's cut."""
        moved = genomes.copy()
        if not self._columns:
            return moved
        chosen = rng.choice(len(self._columns), size=len(genomes), p=self._share)
        for column, (place, mover) in enumerate(self._columns):
            rows = np.flatnonzero(chosen == column)
            moved[rows, place] = mover(moved[rows, place], rng)
        return moved

    def exchange(
        self, genomes: Genomes, others: Genomes, share: float, rng: np.random.Generator
    ) -> Genomes:
        """Take each column from `others` with probability `share`.

        Columns are independent, so the result is as valid as its parents.
        """
        mixed = genomes.copy()
        for place, _ in self._columns:
            rows = np.flatnonzero(rng.random(len(genomes)) < share)
            mixed[rows, place] = others[rows, place]
        return mixed


class _MoveBoundary:
    """Flip a boundary of an interval or ordered column, shift it by one place, or move it far.

    A coarse column has few boundaries, and a better place for one of them may be many shifts away,
    each of them worse than where it is: hence the far moves.
    """

    def __init__(self, places: int) -> None:
        self.places = places

    def __call__(self, bits: Genomes, rng: np.random.Generator) -> Genomes:
        moved = bits.copy()
        rows = np.arange(len(bits))
        at = rng.integers(bits.shape[1], size=len(bits))
        beside = at + rng.choice((-1, 1), size=len(bits))
        shift = rng.random(len(bits)) < 0.5
        shift &= (beside >= 0) & (beside < bits.shape[1])
        beside = np.where(shift, beside, at)
        # A shift exchanges two unlike neighbours; between like ones it would change nothing.
        shift &= bits[rows, at] != bits[rows, beside]
        moved[rows, at] ^= 1
        moved[rows[shift], beside[shift]] ^= 1
        far = rng.random(len(bits)) < _FAR
        far &= bits.any(axis=1) & (bits == 0).any(axis=1)
        moved[far] = _relocated(bits[far], rng)
        return moved


def _relocated(bits: Genomes, rng: np.random.Generator) -> Genomes:
    """Clear one boundary of each row and set another; every row must have one of both."""
    moved, rows = bits.copy(), np.arange(len(bits))
    lot = rng.random(bits.shape)
    moved[rows, np.where(bits == 1, lot, -1.0).argmax(axis=1)] = 0
    moved[rows, np.where(bits == 0, lot, -1.0).argmax(axis=1)] = 1
    return moved


class _MoveCut:
    """Expand or collapse one inner node of a tree."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        self.places = len(hierarchy.inner)
        self.above = np.eye(self.places, dtype=np.uint8)  # above[v, u]: u is v or an ancestor of v
        for node, parent in enumerate(hierarchy.inner_parent):
            if parent >= 0:
                self.above[node] |= self.above[parent]

    def __call__(self, bits: Genomes, rng: np.random.Generator) -> Genomes:
        expanded = bits[:, self.hierarchy.first_boundary]
        rows = np.arange(len(bits))
        node = rng.integers(expanded.shape[1], size=len(bits))
        was_expanded = expanded[rows, node].astype(bool)[:, None]
        below = self.above.T[node]  # descendants of the node, and itself
        moved = np.where(was_expanded, expanded & (1 - below), expanded | self.above[node])
        return self.hierarchy.bits_of(moved.astype(np.uint8))


def _mover(domain: Domain) -> _MoveBoundary | _MoveCut:
    if isinstance(domain, TreeDomain):
        return _MoveCut(domain.hierarchy)
    return _MoveBoundary(domain.size - 1)
