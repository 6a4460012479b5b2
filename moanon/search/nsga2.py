"""NSGA-II, the search of the multi-objective paper (D), on whole arrays.

A generation of NSGA-II needs three properties of each individual: its genome, its objectives and
how crowded it is. pymoo keeps them in one object per individual and goes through these one by one,
which takes longer than evaluating the genomes. Here each is an array. Sorting and crowding are
pymoo's, and a run goes the same way as one of its ``NSGA2`` with the same operators, down to the
draws from the random generator.
"""

from __future__ import annotations

import json
from math import ceil
from typing import Literal

import numpy as np
from pymoo.operators.survival.rank_and_crowding.metrics import get_crowding_function
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

from moanon.arrays import Bits, Floats, Ints, State
from moanon.errors import SearchError
from moanon.search.algorithms import SearchSettings
from moanon.search.checkpoint import generator_state, restore_generator
from moanon.search.operators import (
    ATTEMPTS,
    SEED_SHARE,
    Moves,
    Unseen,
    cross_columns,
    first_genomes,
    flip_bits,
)
from moanon.search.problem import Points, SearchProblem
from moanon.search.search import Search


class NSGA2Search(Search):
    """A search by NSGA-II, one generation at a time; no genome is evaluated twice.

    Parameters
    ----------
    problem : SearchProblem
    population : int
        Genomes kept, and evaluated in each generation.
    seed : int
    crossover, mutation : float
        Rates; see `cross_columns`, `flip_bits` and `Moves.mutate`.
    moves : bool
        Whether mutation moves trees and shifts boundaries instead of D's flips of bits.
    tree_crossover : {"common", "ends"}
        Where tree columns are crossed; see `cross_columns`.
    front_of : {"archive", "population"}
        Whether the front is made of all that was evaluated, or, as D has it, of the last
        population alone. The latter wants a problem without steps: D's rule arrives at one solution
        of each genome.
    room : int
        Most solutions the archive holds.
    """

    def __init__(
        self,
        problem: SearchProblem,
        population: int = 200,
        seed: int = 1,
        crossover: float = 0.9,
        mutation: float = 0.1,
        moves: bool = False,
        tree_crossover: Literal["common", "ends"] = "common",
        front_of: Literal["archive", "population"] = "archive",
        room: int = 8_000,
    ) -> None:
        if population < 2:
            raise SearchError(f"population must be at least 2. Got {population}")
        for name, rate in (("crossover", crossover), ("mutation", mutation)):
            if not 0 <= rate <= 1:
                raise SearchError(f"{name} must be in [0, 1]. Got {rate}")
        if front_of == "population" and problem.has_steps:
            raise SearchError("a front of the last population is of a problem without steps")
        layout = problem.layout
        self.problem = problem
        self.population = population
        self.rng = np.random.default_rng(seed)
        self.unseen = Unseen(layout)
        self.archive = self.empty_archive(problem, room)
        self.generation = 0
        # The genomes that survived the last generation, best ranks first.
        self.kept = np.zeros((0, layout.bits), dtype=np.uint8)
        self._values = np.zeros((0, len(problem.objectives)))
        self._crowding = np.zeros(0)
        self._thresholds = np.zeros((0, 2), dtype=np.int64)
        self._start = self.kept
        if moves:  # D's own settings start from samples alone
            number = int(population * SEED_SHARE)
            seeds = first_genomes(layout, number, np.random.default_rng(seed))
            self._start = np.unique(seeds, axis=0)
        self._moves = Moves(layout) if moves else None
        self._rates = crossover, mutation
        self._at_ends = tree_crossover == "ends"
        self._is_plain = front_of == "population"
        chosen = [tree_crossover, front_of]
        self._settings = json.dumps(
            ["nsga2", population, seed, crossover, mutation, moves, *chosen]
        )

    @classmethod
    def wants_steps(cls, settings: SearchSettings) -> bool:
        """D's own front is of the last population, with one solution of each genome."""
        return bool(getattr(settings, "front_of", "archive") != "population")

    @property
    def evaluations(self) -> int:
        return self.unseen.removed

    @property
    def exhausted(self) -> bool:
        return self.unseen.left == 0

    def step(self, most: int | None = None) -> int:
        self.generation += 1
        if self.exhausted or most == 0:
            return 0
        found = self._children() if len(self.kept) else self._start[: self.population]
        genomes = self.unseen.fill(found, self.population, self.rng)[:most]
        values, points = self.problem.both(genomes)
        self.unseen.remove(genomes)
        rows = self._survive(
            np.concatenate([self.kept, genomes]), np.concatenate([self._values, values])
        )
        if self._is_plain:  # the front is that of the survivors
            self._thresholds = np.concatenate([self._thresholds, points.thresholds])[rows]
            self.archive.keep(rows[:0])
            points = Points(self._values, np.arange(len(rows)), self._thresholds)
            genomes = self.kept
        self.archive.add(points, genomes)
        return len(values)

    # -- one generation --------------------------------------------------------------------------

    def _children(self) -> Bits:
        """Children never evaluated before; fewer than asked for where matings bring nothing new."""
        found = self.kept[:0]
        for _ in range(ATTEMPTS):
            missing = self.population - len(found)
            if missing <= 0:
                break
            parents = self._tournaments(2 * ceil(missing / 2)).reshape(-1, 2)
            children = self.mate(self.kept[parents.T], self.rng)
            found = self.unseen.among(np.concatenate([found, children]))[: self.population]
        return found

    def mate(self, parents: Bits, rng: np.random.Generator) -> Bits:
        """Children of pairs of parents (2, matings, bits), crossed and mutated."""
        layout, (crossover, mutation) = self.problem.layout, self._rates
        pairs = cross_columns(layout, parents, crossover, rng, ends=self._at_ends)
        children = np.concatenate(pairs)
        if self._moves is None:
            return flip_bits(layout, children, mutation, rng)
        return self._moves.mutate(children, mutation, rng)

    def _tournaments(self, number: int) -> Ints:
        """Winners of so many pairs, for which everybody is drawn equally often."""
        rounds = ceil(2 * number / len(self.kept))
        drawn = np.concatenate([self.rng.permutation(len(self.kept)) for _ in range(rounds)])
        return crowded_tournament(
            self._values, self._crowding, drawn[: 2 * number].reshape(-1, 2), self.rng
        )

    def _survive(self, genomes: Bits, values: Floats) -> Ints:
        """Keep the best of some individuals; return their rows."""
        rows, self._crowding = rank_and_crowding(values, self.population, self.rng)
        self.kept, self._values = genomes[rows], values[rows]
        return rows

    # -- what is saved ---------------------------------------------------------------------------

    def state(self) -> State:
        return self.archive.state() | {
            "generation": np.array(self.generation),
            "start": self._start,
            "kept": self.kept,
            "objectives": self._values,
            "crowding": self._crowding,
            "kept_thresholds": self._thresholds,
            "seen": self.unseen.state(),
            "generator": generator_state(self.rng),
            "settings": np.frombuffer(self._settings.encode(), dtype=np.uint8),
        }

    def restore(self, state: State) -> None:
        own = self.state()
        same = state.keys() == own.keys() and all(
            state[name].shape[1:] == own[name].shape[1:] for name in own
        )
        if not same or state["settings"].tobytes() != self._settings.encode():
            raise SearchError(
                "the saved state belongs to another search: another algorithm, other settings or "
                "another table"
            )
        self.archive.restore(state)
        self.generation = int(state["generation"])
        self._start, self.kept = state["start"], state["kept"]
        self._values, self._crowding = state["objectives"], state["crowding"]
        self._thresholds = state["kept_thresholds"]
        self.unseen.restore(state["seen"])
        restore_generator(self.rng, state["generator"])


def crowded_tournament(
    values: Floats, crowding: Floats, pairs: Ints, rng: np.random.Generator
) -> Ints:
    """Winners of some pairs: who dominates, else who is less crowded, else by chance."""
    one, other = pairs.T
    better = (values[one] < values[other]).any(axis=1)
    worse = (values[one] > values[other]).any(axis=1)
    level = better == worse  # neither dominates
    first = np.where(level, crowding[one] > crowding[other], better)
    tied = level & (crowding[one] == crowding[other])
    first[tied] = rng.integers(0, 2, size=np.count_nonzero(tied)) == 0
    winners: Ints = np.where(first, one, other)
    return winners


def rank_and_crowding(values: Floats, number: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Survivors by rank, those of the last rank by crowding; and how crowded each of them is.

    Equally crowded individuals survive by chance, here and in pymoo; but pymoo then sorts with a
    method whose order of equals depends on the processor. Here the sort is stable.
    """
    room = min(number, len(values))
    measure = get_crowding_function("cd")
    rows, crowdings = [], []
    for front in NonDominatedSorting().do(values, n_stop_if_ranked=room):
        with np.errstate(all="ignore"):  # pymoo divides by zero where a front is a point
            crowding = measure.do(values[front])
        if len(front) > room:
            shuffled = rng.permutation(len(front))
            order = shuffled[np.argsort(crowding[shuffled], kind="stable")][::-1][:room]
            front, crowding = front[order], crowding[order]
        rows.append(front)
        crowdings.append(crowding)
        room -= len(front)
    return np.concatenate(rows), np.concatenate(crowdings)
