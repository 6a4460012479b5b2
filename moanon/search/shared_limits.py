"""Several limits of suppression, searched together: what one search evaluates, all of them learn.

How much may be suppressed (η) decides which steps of a genome's staircase count, not what they
are. So one evaluation under the widest limit holds the solutions for all narrower ones, and every
limit has an archive of its own that takes them in. Hence a front never gets worse by a search for
another limit, and that of a larger η is never worse than that of a smaller one (before a cap thins
them).

Under constraints, and where groups are not given up by their size alone, a genome is evaluated once
for each limit, and the second half of that does not hold: D's ordered (k,ℓ)-safety always gives up
as much as it may.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moanon.arrays import Bits, Floats
from moanon.measures.suppression import row_limit
from moanon.search.archive import Archive
from moanon.search.checkpoint import State, part_of, prefixed
from moanon.search.problem import Points, SearchProblem

#: Bits measured at a time when those of earlier runs are learned.
_BATCH = 1_000


class SharedLimits:
    """Problems that differ in η alone, an archive for each, and all that was evaluated for any.

    Parameters
    ----------
    problem : SearchProblem
    etas : sequence of float
        All different; the widest comes first from here on.
    room : int
        Most solutions that an archive holds.
    """

    def __init__(self, problem: SearchProblem, etas: Sequence[float], room: int) -> None:
        self.etas = tuple(sorted(etas, reverse=True))
        twins = [problem.with_eta(eta) for eta in self.etas]
        bits, objectives = problem.layout.bits, len(problem.objectives)
        self.problems = tuple(_Member(twin, self, place) for place, twin in enumerate(twins))
        self.archives = [Archive.empty(objectives, bits, room) for _ in self.etas]
        self._bits = bits
        self._widest = twins[0]
        self._limits = [row_limit(eta, problem.instance.table.rows) for eta in self.etas]
        self._twins = twins
        self._evaluated = [np.zeros((0, -(-bits // 8)), dtype=np.uint8)]

    @property
    def evaluated(self) -> Bits:
        """Every genome evaluated so far, once, in order of appearance."""
        packed = np.concatenate(self._evaluated)
        self._evaluated = [packed]
        if self._bits == 0:
            return np.zeros((min(len(packed), 1), 0), dtype=np.uint8)
        _, first = np.unique(packed, axis=0, return_index=True)
        return np.unpackbits(packed[np.sort(first)], axis=1, count=self._bits)

    def learn(self, genomes: Bits) -> None:
        """Take in the solutions of genomes that an earlier run has evaluated."""
        for start in range(0, len(genomes), _BATCH):
            batch = genomes[start : start + _BATCH]
            for archive, (_, points) in zip(self.archives, self._found(batch), strict=True):
                archive.add(points, batch)
            self._evaluated.append(np.packbits(batch, axis=1))

    def both(self, genomes: Bits, place: int) -> tuple[Floats | None, Points]:
        """Evaluate genomes for the limit at `place`; the others' archives take in theirs.

        Also returns the objectives under the rule, where they came along.
        """
        found = self._found(genomes)
        for other, (archive, (_, points)) in enumerate(zip(self.archives, found, strict=True)):
            if other != place:
                archive.add(points, genomes)
        self._evaluated.append(np.packbits(genomes, axis=1))
        return found[place]

    def _found(self, genomes: Bits) -> list[tuple[Floats | None, Points]]:
        if len(self.etas) == 1 or not self._widest.goes_by_size:
            return [twin.both(genomes) for twin in self._twins]
        points, suppressed = self._widest.steps(genomes)
        return [(None, points.only(suppressed <= limit)) for limit in self._limits]

    # -- what is saved ---------------------------------------------------------------------------

    def state(self) -> State:
        """The archives and all that was evaluated, as arrays."""
        found: State = {"evaluated": np.packbits(self.evaluated, axis=1)}
        for place, archive in enumerate(self.archives):
            found |= prefixed(f"{place}.", archive.state())
        return found

    def restore(self, state: State) -> None:
        """Go on from a saved state; it must be of the same limits."""
        self._evaluated = [state["evaluated"]]
        for place, archive in enumerate(self.archives):
            archive.restore(part_of(state, f"{place}."))


class _Member(SearchProblem):
    """One of the problems, for a search that does not know of the others."""

    def __init__(self, problem: SearchProblem, shared: SharedLimits, place: int) -> None:
        vars(self).update(vars(problem))  # a twin of a problem that has been checked already
        self._shared = shared
        self._place = place

    def points(self, genomes: Bits) -> Points:
        return self._shared.both(genomes, self._place)[1]

    def both(self, genomes: Bits) -> tuple[Floats, Points]:
        values, points = self._shared.both(genomes, self._place)
        if values is not None:
            return values, points
        if self.suppression.kind == "limit":
            # The rule takes the highest threshold that fits; measured steps go down, others up.
            order = np.lexsort((points.thresholds[:, 0], points.genome))
            place = np.searchsorted(points.genome[order], np.arange(len(genomes)), side="right")
            return points.values[order[place - 1]], points
        return self.values(genomes), points
