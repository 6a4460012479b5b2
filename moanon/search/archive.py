"""The archive: the undominated solutions that a search has come across, as far as there is room.

A solution is a genome with its thresholds, or the group of each cell. `front_of` makes a front of
genomes, which `thin` cuts down evenly. Room is a matter of time, not of memory: at 8,000 solutions
the even choice among more of them begins to cost as much as evaluating.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import moocore
import numpy as np

from moanon.arrays import Bits, Bools, Floats, Ints, Outlined, State, Values
from moanon.errors import InfeasibleError
from moanon.front import Front
from moanon.measures.evaluate import OnPart
from moanon.search.problem import INFEASIBLE, AnonymizationProblem, Points

#: How far an archive outgrows its room before it is thinned: doing so takes seconds.
_SLACK = 1.5

#: So many solutions are kept to breed from while none is feasible.
_NEAREST = 200


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


class _Packing(Protocol):
    """How solutions are held in little memory: genomes by their `Layout`, groups of cells packed.

    Packed solutions are rows of a matrix of bytes, or objects of bytes where their lengths differ;
    `packed_bytes` is None then. What is saved of them is for a file, which may hold no row of the
    table.
    """

    def pack(self, solutions: Any, /) -> Values: ...
    def unpack(self, packed: Any, /) -> Values: ...
    def saved(self, packed: Any, /) -> State: ...
    def loaded(self, state: State, /) -> Values: ...
    @property
    def packed_bytes(self) -> int | None: ...


@dataclass(repr=False)
class Archive(Outlined):
    """Undominated solutions: a packed one and its thresholds each, one row in each array."""

    packing: _Packing
    values: Floats  # smaller is better
    packed: Values  # as `packing` makes them
    thresholds: Ints  # zeros of groups of cells
    room: int  # solutions that `thin` leaves when there are half as many again
    thinned: bool = False  # then a later solution may be here that one of those left out beats

    @classmethod
    def empty(cls, objectives: int, packing: _Packing, room: int) -> Archive:
        """Start with nothing."""
        width = packing.packed_bytes
        packed = np.zeros(0, dtype=object) if width is None else np.zeros((0, width), np.uint8)
        thresholds = np.zeros((0, 2), dtype=np.int64)
        return cls(packing, np.zeros((0, objectives)), packed, thresholds, room)

    @property
    def genomes(self) -> Bits:
        """Genomes of all solutions."""
        return self.packing.unpack(self.packed)

    def genomes_at(self, rows: Ints) -> Bits:
        """Genomes of some solutions."""
        return self.packing.unpack(self.packed[rows])

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_feasible(self) -> bool:
        """Whether the solutions meet all constraints; as long as none does, the nearest are here.

        These are no front, but something to breed from.
        """
        return bool((self.thresholds[:1, 0] != INFEASIBLE).all())

    def add(self, points: Points, solutions: Values) -> int:
        """Take in the points of a population; return how many of them are undominated now."""
        feasible = points.thresholds[:, 0] != INFEASIBLE
        if not feasible.all():
            if not feasible.any():
                return self._take_infeasible(points, solutions)
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
        self._replace(old, points.genome[new], solutions)
        self.thresholds = np.concatenate([self.thresholds[old], points.thresholds[new]])
        if len(self) > _SLACK * self.room:
            self.thinned = True
            self.keep(thin(self.values, self.room))
        return len(new)

    def _take_infeasible(self, points: Points, solutions: Values) -> int:
        """Where nothing feasible is known, keep the solutions with the least violation."""
        if len(self) and self.is_feasible:
            return 0
        self.values = np.concatenate([self.values, points.values])
        self._replace(np.arange(len(self.packed)), points.genome, solutions)
        self.thresholds = np.concatenate([self.thresholds, points.thresholds])
        self.keep(np.argsort(self.thresholds[:, 1], kind="stable")[:_NEAREST])
        return 0

    def _replace(self, old: Ints, new: Ints, solutions: Values) -> None:
        """Hold some of the old solutions, and new ones: rows of a population, often several."""
        used, place = np.unique(new, return_inverse=True)
        self.packed = np.concatenate([self.packed[old], self.packing.pack(solutions[used])[place]])

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
        return self.packing.saved(self.packed) | {
            "values": self.values,
            "thresholds": self.thresholds,
            "thinned": np.array(self.thinned),
        }

    def restore(self, state: State) -> None:
        """Hold saved solutions instead of those that are here."""
        self.values = state["values"]
        self.packed = self.packing.loaded(state)
        self.thresholds = state["thresholds"]
        self.thinned = bool(state["thinned"])


def front_of(
    problem: AnonymizationProblem, archive: Archive, cap: int, on_part: OnPart | None = None
) -> Front:
    """Make the front of what a search has found: at most `cap` solutions, measured once more.

    `on_part` is called with how many of them are measured. A solution that does not measure as the
    search saw it is an error.
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
        bounds={measure.name: bound for measure, bound in problem.table_bounds.items()},
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
