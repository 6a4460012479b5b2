"""The archive: the undominated solutions that a search has come across, as far as there is room.

`front_of` makes a front of it, which `thin` cuts down evenly. `SharedLimits` keeps one for each of
several limits of suppression: what a search for one evaluates, all of them learn. Room is a matter
of time, not of memory: at 8,000 solutions the even choice among more of them begins to cost as much
as evaluating.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import moocore
import numpy as np

from moanon.arrays import Bits, Bools, Floats, Ints, Outlined
from moanon.errors import InfeasibleError
from moanon.front import Front
from moanon.genome import Layout
from moanon.measures.solutions import OnPart
from moanon.measures.suppression import row_limit
from moanon.search.algorithms import Search, SearchSettings, make_search
from moanon.search.checkpoint import State, part_of, prefixed
from moanon.search.operators import KnownGenomes
from moanon.search.problem import INFEASIBLE, Points, SearchProblem

#: How far an archive outgrows its room before it is thinned: doing so takes seconds.
_SLACK = 1.5

#: So many solutions are kept to breed from while none is feasible.
_NEAREST = 200

#: Genomes measured at a time when those of earlier runs are learned.
_BATCH = 1_000


def undominated(values: Floats) -> Bools:
    """Tell which rows are undominated (smaller is better); of equal rows the first one is kept."""
    if values.shape[1] != 2:
        answer: Bools = moocore.is_nondominated(values, keep_weakly=False)
        return answer
    order = np.lexsort((values[:, 1], values[:, 0]))
    second = values[order, 1]
    before = np.minimum.accumulate(np.concatenate(([np.inf], second[:-1])))
    kept = np.zeros(len(values), dtype=bool)
    kept[order[second < before]] = True
    return kept


@dataclass(repr=False)
class Archive(Outlined):
    """Undominated solutions: a genome and its thresholds each, one row in each array."""

    layout: Layout
    values: Floats  # smaller is better
    packed: Bits  # genomes, as `Layout.pack` makes them
    thresholds: Ints
    room: int  # solutions that `thin` leaves when there are half as many again
    thinned: bool = False  # then a later solution may be here that one of those left out beats

    @classmethod
    def empty(cls, objectives: int, layout: Layout, room: int) -> Archive:
        """Start with nothing."""
        return cls(
            layout,
            np.zeros((0, objectives)),
            np.zeros((0, layout.packed_bytes), dtype=np.uint8),
            np.zeros((0, 2), dtype=np.int64),
            room,
        )

    @property
    def genomes(self) -> Bits:
        """Genomes of all solutions."""
        return self.layout.unpack(self.packed)

    def genomes_at(self, rows: Ints) -> Bits:
        """Genomes of some solutions."""
        return self.layout.unpack(self.packed[rows])

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_feasible(self) -> bool:
        """Whether the solutions meet all constraints; as long as none does, the nearest are here.

        These are no front, but something to breed from.
        """
        return bool((self.thresholds[:1, 0] != INFEASIBLE).all())

    def add(self, points: Points, genomes: Bits) -> int:
        """Take in the points of a population; return how many of them are undominated now."""
        feasible = points.thresholds[:, 0] != INFEASIBLE
        if not feasible.all():
            if not feasible.any():
                return self._add_infeasible(points, genomes)
            points = points.only(feasible)
        if not self.is_feasible:
            self.keep(np.zeros(0, dtype=np.int64))
        own = undominated(points.values)
        values = np.concatenate([self.values, points.values[own]])
        kept = undominated(values)
        before = len(self)
        old = np.flatnonzero(kept[:before])
        new = np.flatnonzero(own)[kept[before:]]
        self.values = values[kept]
        self._replace_genomes(old, points.genome[new], genomes)
        self.thresholds = np.concatenate([self.thresholds[old], points.thresholds[new]])
        if len(self) > _SLACK * self.room:
            self.thinned = True
            self.keep(thin(self.values, self.room))
        return len(new)

    def _add_infeasible(self, points: Points, genomes: Bits) -> int:
        """Where nothing feasible is known, keep the solutions with the least violation."""
        if len(self) and self.is_feasible:
            return 0
        self.values = np.concatenate([self.values, points.values])
        self._replace_genomes(np.arange(len(self.packed)), points.genome, genomes)
        self.thresholds = np.concatenate([self.thresholds, points.thresholds])
        self.keep(np.argsort(self.thresholds[:, 1], kind="stable")[:_NEAREST])
        return 0

    def _replace_genomes(self, old: Ints, new: Ints, genomes: Bits) -> None:
        """Hold some of the old genomes, and new ones: rows of a population, any number of times."""
        used, place = np.unique(new, return_inverse=True)
        packed = self.layout.pack(genomes[used])
        self.packed = np.concatenate([self.packed[old], packed[place]])

    def keep(self, chosen: Ints) -> None:
        """Drop all but the chosen solutions."""
        self.values = self.values[chosen]
        self.packed = self.packed[chosen]
        self.thresholds = self.thresholds[chosen]

    def sort(self) -> None:
        """Put solutions in order of their objectives; undominated ones have no ties."""
        self.keep(np.lexsort(self.values.T[::-1]))

    def state(self) -> State:
        """The solutions, as arrays."""
        return {
            "values": self.values,
            "genomes": self.packed,
            "thresholds": self.thresholds,
            "thinned": np.array(self.thinned),
        }

    def restore(self, state: State) -> None:
        """Hold saved solutions instead of those that are here."""
        self.values = state["values"]
        self.packed = state["genomes"]
        self.thresholds = state["thresholds"]
        self.thinned = bool(state["thinned"])


def front_of(
    problem: SearchProblem, archive: Archive, cap: int, on_part: OnPart | None = None
) -> Front:
    """Make the front of what a search has found: at most `cap` solutions, measured once more.

    `on_part` is told how many of them are measured.

    Raises
    ------
    InfeasibleError
        If nothing meets the constraints.
    SearchError
        If a solution does not measure as the search saw it.
    """
    if not archive.is_feasible:
        raise InfeasibleError(
            "no solution that was evaluated meets the constraints: the nearest one "
            f"{problem.wanting(archive.genomes, archive.thresholds)}"
        )
    chosen = thin(archive.values, cap)
    return Front.of(
        problem.evaluator,
        problem.suppression,
        problem.objectives,
        archive.genomes_at(chosen),
        archive.thresholds[chosen],
        values=archive.values[chosen],
        found=len(archive),
        bounds={measure.name: bound for measure, bound in problem.bounds.items()},
        on_part=on_part,
    )


def thin(values: Floats, cap: int) -> Ints:
    """Choose `cap` solutions of a front, evenly, without losing what people look for.

    Always kept, even if there are more of them than `cap`: the best in each objective, the best in
    every other objective at each whole percent of an objective that is a share (in [0, 1]), and the
    knees. The rest is filled by taking, again and again, the solution farthest from all chosen ones
    in normalized objectives (logarithmic where they span decades).
    """
    if len(values) <= cap:
        return np.arange(len(values))
    places = normalized(values)
    must = np.unique(np.concatenate([_ends(values), _percents(values), _knees(places)]))
    chosen = list(must)
    distance = np.full(len(values), np.inf)
    for i in chosen:
        distance = np.minimum(distance, np.abs(places - places[i]).max(axis=1))
    while len(chosen) < cap:
        farthest = int(distance.argmax())
        if distance[farthest] <= 0:
            break
        chosen.append(farthest)
        distance = np.minimum(distance, np.abs(places - places[farthest]).max(axis=1))
    return np.sort(np.array(chosen, dtype=np.int64))


def normalized(values: Floats) -> Floats:
    """Objectives on [0, 1]; logarithmic where a maximized one spans more than a decade."""
    places = np.empty_like(values)
    for column in range(values.shape[1]):
        axis = values[:, column]
        if (axis < 0).all() and axis.min() < 10 * axis.max():
            axis = -np.log(-axis)
        span = axis.max() - axis.min()
        places[:, column] = (axis - axis.min()) / span if span > 0 else 0.0
    return places


def _ends(values: Floats) -> Ints:
    ends: Ints = values.argmin(axis=0).astype(np.int64)
    return ends


def _percents(values: Floats) -> Ints:
    """Best of every other objective under each whole percent of a share."""
    found: list[int] = []
    for share in range(values.shape[1]):
        axis = values[:, share]
        if axis.min() < 0 or axis.max() > 1:
            continue
        for percent in range(101):
            within = np.flatnonzero(axis <= percent / 100)
            for other in range(values.shape[1]):
                if other != share and len(within):
                    found.append(int(within[values[within, other].argmin()]))
    return np.array(found, dtype=np.int64)


def _knees(places: Floats) -> Ints:
    """Of two objectives, the solutions that bulge most towards the ideal between neighbours."""
    if places.shape[1] != 2 or len(places) < 3:
        return np.zeros(0, dtype=np.int64)
    order = np.lexsort((places[:, 1], places[:, 0]))
    line = places[order]
    before, here, after = line[:-2], line[1:-1], line[2:]
    run, rise = (after - before).T
    bulge = run * (here - before)[:, 1] - rise * (here - before)[:, 0]
    return order[1:-1][np.argsort(bulge)[:20]].astype(np.int64)


# -- several limits of suppression, searched together --------------------------------------------


class SharedLimits:
    """Problems that differ in η alone, an archive for each, and all that was evaluated for any.

    How much may be suppressed (η) decides which steps of a genome's staircase count, not what they
    are. So one evaluation under the widest limit, which comes first here, holds the solutions for
    all narrower ones, and every limit has an archive of its own that takes them in. Hence a front
    never gets worse by a search for another limit, and that of a larger η is never worse than that
    of a smaller one (before a cap thins them).

    Under constraints, and where groups are not given up by their size alone, a genome is evaluated
    once for each limit, and the second half of that does not hold: D's ordered (k,ℓ)-safety always
    gives up as much as it may.
    """

    def __init__(self, problem: SearchProblem, etas: Sequence[float], room: int) -> None:
        self.etas = tuple(sorted(etas, reverse=True))
        twins = [problem.with_eta(eta) for eta in self.etas]
        layout, objectives = problem.layout, len(problem.objectives)
        self.problems = tuple(_Member(twin, self, place) for place, twin in enumerate(twins))
        self.archives = [Archive.empty(objectives, layout, room) for _ in self.etas]
        self._layout = layout
        self._widest = twins[0]
        self._limits = [row_limit(eta, problem.instance.table.rows) for eta in self.etas]
        self._twins = twins
        self._evaluated = [np.zeros((0, layout.packed_bytes), dtype=np.uint8)]
        self._known = KnownGenomes(layout)

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
        search = make_search(self.problems[place], settings)
        if len(self.archives[place]):
            search.inherit(self.archives[place], self.evaluated)
        else:
            self.archives[place] = search.archive
        return search

    def front(self, place: int, cap: int, on_part: OnPart | None = None) -> Front:
        """The front of what was found for the limit at `place`; see `front_of`."""
        return front_of(self.problems[place], self.archives[place], cap, on_part)

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
        if len(self.etas) == 1 or not self._widest.goes_by_size:
            return [twin.both(genomes) for twin in self._twins]
        points, suppressed = self._widest.steps(genomes)
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
