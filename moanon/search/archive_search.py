"""Breeding from the archive: the default search.

NSGA-II keeps one population and forgets what does not fit into it. This search breeds straight from
the archive of undominated solutions, staircase steps included: every evaluation improves the front
at all thresholds it touches. Parents are drawn so that each region of the front gets the same
attention; a child is a parent with columns of a near neighbour on the front and a few small moves.
No genome is evaluated twice.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import numpy.typing as npt

from moanon.genome import Layout
from moanon.search.archive import Archive, normalized
from moanon.search.moves import Moves
from moanon.search.problem import SearchProblem

__all__ = ["ArchiveSearch"]

Genomes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

#: Of the first population, at most this share are full-domain genomes.
_SEED_SHARE = 0.25
#: Chance that a child takes columns of a second parent, and of each column to be taken.
_MATE, _TAKE = 0.5, 0.3
#: Most moves of a child; fewer are likelier.
_MOST_MOVES = 2
#: Chance that a mate comes from anywhere on the front instead of from nearby.
_FAR = 0.3
#: Attempts to fill a generation with genomes not seen before.
_ATTEMPTS = 8


class ArchiveSearch:
    """State of a search, one generation at a time.

    Parameters
    ----------
    problem : SearchProblem
    population : int
        Genomes evaluated per generation.
    seed : int
    room : int
        Most solutions the archive holds while searching.
    """

    def __init__(
        self, problem: SearchProblem, population: int, seed: int, room: int = 8_000
    ) -> None:
        self.problem = problem
        self.population = population
        self.rng = np.random.default_rng(seed)
        self.moves = Moves(problem.layout)
        self.archive = Archive.empty(len(problem.objectives), problem.layout.bits, room)
        self.seen: set[bytes] = set()
        self.generation = 0
        self.space = problem.layout.count()

    @property
    def evaluations(self) -> int:
        """Genomes evaluated so far, all of them different."""
        return len(self.seen)

    @property
    def exhausted(self) -> bool:
        """Whether every valid genome has been evaluated."""
        return len(self.seen) >= self.space

    def step(self, most: int | None = None) -> int:
        """Evaluate one more generation (at most `most` genomes); return how many it was."""
        wanted = self.population if most is None else min(self.population, most)
        genomes = self._first(wanted) if self.generation == 0 else self._children(wanted)
        if len(genomes):
            self.archive.add(self.problem.points(genomes), genomes)
        self.generation += 1
        return len(genomes)

    def _first(self, number: int) -> Genomes:
        """The ends, some full-domain genomes, and samples of every density."""
        layout = self.problem.layout
        ends = np.array([[0] * layout.bits, [1] * layout.bits], dtype=np.uint8)
        ends = ends.reshape(2, layout.bits)
        seeds = _full_domain_sample(layout, int(number * _SEED_SHARE), self.rng)
        fine = layout.sample(number, self.rng)
        # The AND and the OR of two samples are valid too, and coarser or finer than either.
        other = layout.sample(number, self.rng)
        density = self.rng.integers(0, 3, size=(number, 1))
        mixed = np.where(density == 0, fine & other, np.where(density == 1, fine, fine | other))
        return self._unseen(np.concatenate([ends, seeds, mixed]).astype(np.uint8), number)

    def _children(self, number: int) -> Genomes:
        """Unseen offspring; where moves find none, fresh samples, and at last any unseen genome."""
        found = [self._unseen(self._offspring(number), number)]
        missing = number - len(found[0])
        for attempt in range(_ATTEMPTS):
            if missing <= 0 or self.exhausted:
                break
            if attempt < _ATTEMPTS // 2:
                more = self._offspring(2 * number)
            else:
                more = self.problem.layout.sample(2 * number, self.rng)
            found.append(self._unseen(more, missing))
            missing -= len(found[-1])
        if missing > 0 and not self.exhausted and self.space <= 1_000_000:
            fresh = (g for g in self.problem.layout.enumerate() if g.tobytes() not in self.seen)
            rest = list(islice(fresh, missing))
            if rest:
                found.append(self._unseen(np.stack(rest), missing))
        return np.concatenate(found)

    def _offspring(self, number: int) -> Genomes:
        parents, mates = self._pairs(number)
        children = self.archive.genomes[parents]
        mating = self.rng.random(number) < _MATE
        children[mating] = self.moves.exchange(
            children[mating], self.archive.genomes[mates[mating]], _TAKE, self.rng
        )
        steps = np.minimum(self.rng.geometric(0.5, size=number), _MOST_MOVES)
        steps[mating] -= self.rng.random(int(mating.sum())) < 0.3
        for step in range(_MOST_MOVES):
            rows = np.flatnonzero(steps > step)
            children[rows] = self.moves.step(children[rows], self.rng)
        return children

    def _pairs(self, number: int) -> tuple[Ints, Ints]:
        """Draw parents evenly over the front, and for each a mate from nearby."""
        places = normalized(self.archive.values)
        bins = {2: 128, 3: 16}.get(places.shape[1], 6)
        cell = np.zeros(len(places), dtype=np.int64)
        for column in places.T:
            cell = cell * bins + np.minimum((column * bins).astype(np.int64), bins - 1)
        _, inverse, counts = np.unique(cell, return_inverse=True, return_counts=True)
        weights = 1.0 / counts[inverse]
        parents = self.rng.choice(len(places), size=number, p=weights / weights.sum())
        order = np.argsort(places[:, 0], kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        reach = max(2, len(order) // 20)
        offset = self.rng.integers(-reach, reach + 1, size=number)
        near = order[np.clip(rank[parents] + offset, 0, len(order) - 1)]
        far = self.rng.choice(len(places), size=number, p=weights / weights.sum())
        return parents, np.where(self.rng.random(number) < _FAR, far, near)

    def _unseen(self, genomes: Genomes, most: int) -> Genomes:
        """The first `most` genomes that were never evaluated; they are marked as seen."""
        fresh = []
        for i, genome in enumerate(genomes):
            if len(fresh) == most:
                break
            key = genome.tobytes()
            if key not in self.seen:
                self.seen.add(key)
                fresh.append(i)
        return genomes[fresh]


def _full_domain_sample(layout: Layout, number: int, rng: np.random.Generator) -> Genomes:
    """Genomes that take one whole level of every column."""
    parts = []
    for domain in layout.domains.values():
        levels = np.stack(domain.full_domain())
        parts.append(levels[rng.integers(len(levels), size=number)])
    return np.concatenate(parts, axis=1)
