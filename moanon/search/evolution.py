"""Evolutionary algorithms of pymoo, by name, with operators that know genomes.

NSGA-II with D's operators is the reference: the search of the paper. The others differ in whom they
keep and whom they mate. All of them share the operators, the archive of every undominated solution
that was evaluated, and the rule that no genome is evaluated twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
from pymoo.core.termination import NoTermination

from moanon.errors import SearchError
from moanon.search.archive import Archive, thin
from moanon.search.nsga2 import ArrayNSGA2
from moanon.search.operators import (
    ColumnCrossover,
    FlipMutation,
    GenomeDuplicates,
    GenomeMating,
    GenomeProblem,
    GenomeSampling,
    MoveMutation,
    Unseen,
)
from moanon.search.problem import SearchProblem
from moanon.search.seeds import SEED_SHARE, first_genomes
from moanon.search.state import State, generator_state

__all__ = ["ALGORITHMS", "Evolution"]

Genomes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]


# -- algorithms by name ----------------------------------------------------------------------------
# Each takes the number of objectives and pymoo's settings. pymoo's modules are imported on use:
# some compile code when they are. Survivals that remember things must be new for each run; as
# default arguments of pymoo's classes they are shared by all runs of a process.


def _nsga2(objectives: int, **settings: Any) -> Any:
    return ArrayNSGA2(**settings)


def _nsga3(objectives: int, **settings: Any) -> Any:
    from pymoo.algorithms.moo.nsga3 import NSGA3

    return NSGA3(_directions(objectives, settings["pop_size"]), **settings)


def _unsga3(objectives: int, **settings: Any) -> Any:
    from pymoo.algorithms.moo.unsga3 import UNSGA3

    return UNSGA3(_directions(objectives, settings["pop_size"]), **settings)


def _spea2(objectives: int, **settings: Any) -> Any:
    from pymoo.algorithms.moo.spea2 import SPEA2, SPEA2Survival

    return SPEA2(survival=SPEA2Survival(normalize=True), **settings)


def _sms_emoa(objectives: int, **settings: Any) -> Any:
    from pymoo.algorithms.moo.sms import SMSEMOA, LeastHypervolumeContributionSurvival

    if objectives < 2:
        raise SearchError(f"algorithm 'sms-emoa' needs at least 2 objectives. Got {objectives}")
    return SMSEMOA(survival=LeastHypervolumeContributionSurvival(), **settings)


def _age_moea(objectives: int, **settings: Any) -> Any:
    from pymoo.algorithms.moo.age import AGEMOEA

    return _bear_one_point(AGEMOEA(**settings))


def _age_moea2(objectives: int, **settings: Any) -> Any:
    from pymoo.algorithms.moo.age2 import AGEMOEA2

    return _bear_one_point(AGEMOEA2(**settings))


#: Algorithms by the names that configurations use.
ALGORITHMS: dict[str, Callable[..., Any]] = {
    "nsga2": _nsga2,
    "nsga3": _nsga3,
    "unsga3": _unsga3,
    "spea2": _spea2,
    "sms-emoa": _sms_emoa,
    "age-moea": _age_moea,
    "age-moea2": _age_moea2,
}


def _bear_one_point(algorithm: Any) -> Any:
    """Give AGE-MOEA an answer for a front that is one point; its geometry divides by its extent."""
    score = algorithm.survival.survival_score

    def spread(front: Floats, ideal: Floats) -> Any:
        if (front == ideal).all():
            return np.zeros(len(front)), 1.0, np.ones(front.shape[1])
        return score(front, ideal)

    algorithm.survival.survival_score = spread
    return algorithm


def _directions(objectives: int, population: int) -> Floats:
    """Evenly spread reference directions (Das and Dennis): as many as the population has room for.

    With ``p`` parts to an axis there are ``comb(p + objectives - 1, p)`` of them.
    """
    from pymoo.util.ref_dirs import get_reference_directions

    parts = 0
    while objectives > 1 and comb(parts + objectives, parts + 1) <= population:
        parts += 1
    directions: Floats = get_reference_directions("das-dennis", objectives, n_partitions=parts)
    return directions


# -- the search ------------------------------------------------------------------------------------


class _Line:
    """A pymoo algorithm between its questions, and a record of the answers it was given.

    pymoo's algorithms keep their state in many places, none of it made to be saved. But they are
    deterministic: the same seed and the same answers lead to the same state.
    """

    def __init__(self, algorithm: Any, unseen: Unseen, bits: int, objectives: int) -> None:
        self.algorithm = algorithm
        self.unseen = unseen
        self._sizes: list[int] = []
        self._genomes = [np.zeros((0, -(-bits // 8)), dtype=np.uint8)]
        self._values = [np.zeros((0, objectives))]
        self._asked: Any = None

    def ask(self, most: int | None) -> Genomes:
        """Return the genomes of the next generation, or the first of them."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            self._asked = self.algorithm.ask()[:most]
        genomes: Genomes = self._asked.get("X").astype(np.uint8, copy=False)
        return genomes

    def tell(self, genomes: Genomes, values: Floats) -> None:
        """Answer with the objectives of the genomes asked for."""
        self._asked.set("F", values)
        # pymoo divides by zero where a front is a point, and turns warnings off for good.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            self.algorithm.tell(infills=self._asked)
        self.unseen.remove(genomes)
        self._sizes.append(len(genomes))
        self._genomes.append(np.packbits(genomes, axis=1))
        self._values.append(values)

    def record(self) -> State:
        """All that was answered, and where the random generator stands."""
        self._genomes = [np.concatenate(self._genomes)]
        self._values = [np.concatenate(self._values)]
        return {
            "asked": self._genomes[0],
            "answers": self._values[0],
            "sizes": np.array(self._sizes, dtype=np.int64),
            "generator": generator_state(self.algorithm.random_state),
        }

    def replay(self, record: State) -> bool:
        """Give the recorded answers; tell whether the questions were the recorded ones."""
        if any(
            name not in record or record[name].shape[1:] != array.shape[1:]
            for name, array in self.record().items()
        ):
            return False
        begin = 0
        for size in record["sizes"].tolist():
            end = begin + size
            if not self.unseen.left:
                return False
            genomes = self.ask(size)
            if not np.array_equal(np.packbits(genomes, axis=1), record["asked"][begin:end]):
                return False
            self.tell(genomes, record["answers"][begin:end])
            begin = end
        generator = generator_state(self.algorithm.random_state)
        return begin == len(record["asked"]) and np.array_equal(generator, record["generator"])


class Evolution:
    """A search by one of pymoo's algorithms, one generation at a time.

    Parameters
    ----------
    problem : SearchProblem
    algorithm : str
        One of `ALGORITHMS`.
    population : int
        Genomes kept, and evaluated in each generation.
    seed : int
    crossover : float
        Chance of a mating to be a crossover; see `ColumnCrossover`.
    mutation : float
        Rate of mutation; see `FlipMutation` and `MoveMutation`.
    moves : bool
        Whether mutation moves trees and shifts boundaries instead of D's flips of bits.
    room : int
        Most solutions the archive holds.

    Notes
    -----
    A saved state holds every genome evaluated and its objectives. Restoring it lets the algorithm
    breed all generations again, without evaluating any: it takes as long as pymoo alone does.
    """

    def __init__(
        self,
        problem: SearchProblem,
        algorithm: str = "nsga2",
        population: int = 200,
        seed: int = 1,
        crossover: float = 0.9,
        mutation: float = 0.1,
        moves: bool = False,
        room: int = 8_000,
    ) -> None:
        _check(algorithm, population, crossover=crossover, mutation=mutation)
        self.problem = problem
        self.name = algorithm
        self.population = population
        self.seed = seed
        self.crossover = crossover
        self.mutation = mutation
        self.moves = moves
        self.archive = Archive.empty(len(problem.objectives), problem.layout.bits, room)
        self.generation = 0
        self._start = np.zeros((0, problem.layout.bits), dtype=np.uint8)
        if moves:  # D's own settings start from samples alone
            number = int(population * SEED_SHARE)
            seeds = first_genomes(problem.layout, number, np.random.default_rng(seed))
            self._start = np.unique(seeds, axis=0)
        self._line = self._begin()

    def _begin(self) -> _Line:
        layout, objectives = self.problem.layout, len(self.problem.objectives)
        unseen = Unseen(layout)
        mutate = MoveMutation if self.moves else FlipMutation
        algorithm = ALGORITHMS[self.name](
            objectives,
            pop_size=self.population,
            sampling=GenomeSampling(layout, self._start),
            crossover=ColumnCrossover(layout, self.crossover),
            mutation=mutate(layout, self.mutation),
            eliminate_duplicates=GenomeDuplicates(),
        )
        mating = algorithm.mating
        algorithm.mating = GenomeMating(mating.selection, mating.crossover, mating.mutation, unseen)
        # Whoever calls `step` decides when to stop; pymoo's own criteria would after a while.
        algorithm.setup(GenomeProblem(self.problem), termination=NoTermination(), seed=self.seed)
        return _Line(algorithm, unseen, layout.bits, objectives)

    @property
    def evaluations(self) -> int:
        """Genomes evaluated so far, all of them different."""
        return self._line.unseen.removed

    @property
    def exhausted(self) -> bool:
        """Whether every valid genome has been evaluated."""
        return self._line.unseen.left == 0

    @property
    def kept(self) -> Genomes:
        """The algorithm's population after the last step."""
        genomes: Genomes = self._line.algorithm.pop.get("X")
        return genomes

    def inherit(self, archive: Archive, evaluated: Genomes) -> None:
        """Begin with solutions that other searches have found as the first population."""
        self.archive = archive
        self._start = np.unique(archive.genomes[thin(archive.values, self.population)], axis=0)
        self._line = self._begin()

    def step(self, most: int | None = None) -> int:
        """Evaluate one more generation (at most `most` genomes); return how many it was."""
        self.generation += 1
        if self.exhausted or most == 0:
            return 0
        genomes = self._line.ask(most)
        values, points = self.problem.both(genomes)
        self._line.tell(genomes, values)
        self.archive.add(points, genomes)
        return len(genomes)

    # -- what is saved ---------------------------------------------------------------------------

    def state(self) -> State:
        """The archive, and all that the algorithm was told, as arrays."""
        return {
            "values": self.archive.values,
            "genomes": self.archive.genomes,
            "thresholds": self.archive.thresholds,
            "generation": np.array(self.generation),
            "start": self._start,
            **self._line.record(),
        }

    def restore(self, state: State) -> None:
        """Go on from a saved state.

        Raises
        ------
        SearchError
            If the algorithm would have asked for other genomes than the saved ones.
        """
        start = state.get("start", self._start)
        if start.shape[1:] == self._start.shape[1:]:  # else the replay will not agree either
            self._start = start
        line = self._begin()
        if not line.replay(state):
            raise SearchError(
                f"the saved state belongs to another search: algorithm {self.name!r} with seed "
                f"{self.seed} and these settings, on this table and with these versions of pymoo "
                "and numpy, does not breed the genomes that were saved"
            )
        self._line = line
        self.archive.values = state["values"]
        self.archive.genomes = state["genomes"]
        self.archive.thresholds = state["thresholds"]
        self.generation = int(state["generation"])


def _check(algorithm: str, population: int, **rates: float) -> None:
    if algorithm not in ALGORITHMS:
        known = ", ".join(ALGORITHMS)
        raise SearchError(f"there is no algorithm called {algorithm!r}. Known: {known}")
    if population < 2:
        raise SearchError(f"population must be at least 2. Got {population}")
    for name, rate in rates.items():
        if not 0 <= rate <= 1:
            raise SearchError(f"{name} must be in [0, 1]. Got {rate}")
