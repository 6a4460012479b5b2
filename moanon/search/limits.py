"""Several limits of suppression: problems that differ in η alone, searched one after the other.

How much may be suppressed (η) decides which steps of a genome's staircase count, not what they are.
So one evaluation under the widest limit, which comes first here, holds the solutions for all
narrower ones, and every limit has an archive of its own that takes them in. Hence a front never
gets worse by a search for another limit, and that of a larger η is never worse than that of a
smaller one (before a cap thins them).

Under constraints, and where groups are not given up by their size alone, a genome is evaluated once
for each limit, and the second half of that does not hold: D's ordered (k,ℓ)-safety always gives up
as much as it may. Boxes are searched for under each limit by itself; what was found within a
narrower one counts within a wider one, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from moanon.arrays import Bits, Floats, State, part_of, prefixed
from moanon.front import Front
from moanon.measures.evaluate import OnPart
from moanon.measures.suppression import row_limit
from moanon.search.algorithms import ALGORITHMS, SearchSettings, make_search
from moanon.search.operators import KnownGenomes
from moanon.search.problem import Points, SearchProblem
from moanon.search.search import Search

#: Genomes measured at a time when those of earlier runs are learned.
_BATCH = 1_000


class Limits:
    """Problems that differ in η alone, an archive for each, and all that was evaluated for any.

    Parameters
    ----------
    problem : SearchProblem
    etas : sequence of float
    algorithm : str
        Name of the search.
    room : int
        Most solutions that each archive holds while searching.
    """

    def __init__(
        self,
        problem: SearchProblem,
        etas: Sequence[float],
        algorithm: str,
        room: int,
    ) -> None:
        self.etas = tuple(sorted(etas, reverse=True))
        self.algorithm = algorithm
        self.kind = ALGORITHMS[algorithm].load()
        twins = [problem.with_eta(eta) for eta in self.etas]
        self.problems: tuple[SearchProblem, ...] = tuple(twins)
        if self.kind.of_genomes:
            self.problems = tuple(_Member(twin, self, place) for place, twin in enumerate(twins))
        self.archives = [self.kind.empty_archive(problem, room) for _ in self.etas]
        self._fronts: dict[float, Front] = {}
        self._layout = problem.layout
        self._limits = [row_limit(eta, problem.instance.table.rows) for eta in self.etas]
        self._twins = twins
        self._evaluated = [np.zeros((0, self._layout.packed_bytes), dtype=np.uint8)]
        self._known = KnownGenomes(self._layout)

    @property
    def evaluated(self) -> Bits:
        """Every genome evaluated so far, once, in order of appearance; packed."""
        self._evaluated = [np.concatenate(self._evaluated)]
        return self._evaluated[0]

    @property
    def evaluations(self) -> int:
        """Different genomes evaluated so far."""
        return len(self._known)

    def _take_note(self, packed: Bits) -> None:
        fresh = self._known.new_among(packed)
        self._known.add(packed[fresh])
        self._evaluated.append(packed[fresh])

    def search_for(self, place: int, settings: SearchSettings) -> Search:
        """Build the search for the limit at `place`, with what was found for the others."""
        search = make_search(self.problems[place], settings, self.algorithm)
        if len(self.archives[place]):
            search.inherit(self.archives[place], self.evaluated)
        else:
            self.archives[place] = search.archive
        return search

    def front(self, place: int, cap: int, on_part: OnPart | None = None) -> Front:
        """The front of what was found for the limit at `place`; see `Search.front_of`."""
        if self.etas[place] in self._fronts:
            return self._fronts[self.etas[place]]
        archive = self.archives[place]
        if not self.kind.of_genomes:
            for narrower in range(place + 1, len(self.etas)):
                archive.add_all(self.archives[narrower])
        return self.kind.front_of(self.problems[place], archive, cap, on_part)

    def keep(self, fronts: Mapping[float, Front]) -> None:
        """Take in fronts of boxes that an earlier run has found; they stay as they are."""
        for eta, front in fronts.items():
            self._fronts[eta] = front
            self.archives[self.etas.index(eta)].add_boxes(front, self.problems[0].instance)

    def learn(self, packed: Bits) -> None:
        """Take in the solutions of packed genomes that an earlier run has evaluated."""
        for start in range(0, len(packed), _BATCH):
            batch = self._layout.unpack(packed[start : start + _BATCH])
            for archive, (_, points) in zip(self.archives, self._found(batch), strict=True):
                archive.add(points, batch)
            self._take_note(packed[start : start + _BATCH])

    def both(self, genomes: Bits, place: int) -> tuple[Floats | None, Points]:
        """Evaluate genomes for the limit at `place`; the others' archives take in theirs.

        Also returns the objectives under the rule, where they came along.
        """
        found = self._found(genomes)
        for other, (archive, (_, points)) in enumerate(zip(self.archives, found, strict=True)):
            if other != place:
                archive.add(points, genomes)
        self._take_note(self._layout.pack(genomes))
        return found[place]

    def _found(self, genomes: Bits) -> list[tuple[Floats | None, Points]]:
        if len(self.etas) == 1 or not self._twins[0].goes_by_size:
            return [twin.both(genomes) for twin in self._twins]
        points, suppressed = self._twins[0].steps(genomes)
        return [(None, points.only(suppressed <= limit)) for limit in self._limits]

    # -- what is saved ---------------------------------------------------------------------------

    def state(self) -> State:
        """The archives and all that was evaluated, as arrays."""
        found: State = {"evaluated": self.evaluated}
        for place, archive in enumerate(self.archives):
            found |= prefixed(f"{place}.", archive.state())
        return found

    def restore(self, state: State) -> None:
        """Go on from a saved state; it must be of the same limits."""
        self._evaluated, self._known = [state["evaluated"]], KnownGenomes(self._layout)
        self._known.add(state["evaluated"])
        for place, archive in enumerate(self.archives):
            archive.restore(part_of(state, f"{place}."))


class _Member(SearchProblem):
    """One of the problems, for a search that does not know of the others."""

    def __init__(self, problem: SearchProblem, shared: Limits, place: int) -> None:
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
