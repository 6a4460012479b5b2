"""Searches by algorithms of pymoo, with the operators of this package.

pymoo is asked for genomes and told their objectives, one generation at a time. It sees one point
of each genome, at which the suppression rule arrives; the archive takes in every step of its
staircase. No genome is evaluated twice: matings that bring one back are tried again, and where an
algorithm insists on it, what is known of it is told again.

A pymoo algorithm follows from its seed and from what it is told. So what is saved is that alone,
and not what each algorithm keeps for itself: a search that goes on has its algorithm asked and told
once more from the beginning, without evaluating anything, and then stands where it stood.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from math import comb
from typing import Any, Literal

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.core.population import Population

from moanon.arrays import Bits, Floats, Ints, State, Values
from moanon.errors import SearchError
from moanon.front import Front
from moanon.search.algorithms import SearchSettings, check_fit, largest_partitions
from moanon.search.archive import Archive, front_of
from moanon.search.checkpoint import part_of, prefixed
from moanon.search.operators import (
    ATTEMPTS,
    SEED_SHARE,
    BitDuplicates,
    LunacekCrossover,
    Unseen,
    ValidMutation,
    ValidSampling,
)
from moanon.search.problem import AnonymizationProblem, Points
from moanon.search.running import GenomeSearch, genomes_of, population_of, set_measured

#: Module of pymoo and class of each algorithm. That of MOEA/D evaluates a whole generation at once.
_CLASSES = {
    "nsga2": ("nsga2", "NSGA2"),
    "nsga3": ("nsga3", "NSGA3"),
    "unsga3": ("unsga3", "UNSGA3"),
    "smsemoa": ("sms", "SMSEMOA"),
    "agemoea": ("age", "AGEMOEA"),
    "moead": ("moead", "ParallelMOEAD"),
}
#: Those that spread a population along reference directions.
_DIRECTED = frozenset({"nsga3", "unsga3", "moead"})
#: Why a state is refused.
_FOREIGN = (
    "the saved state belongs to another search: another algorithm, other settings or another table"
)
#: What is saved of each genome.
_PARTS = ("values", "missed", "thresholds")
#: How many weight vectors are neighbours of each in MOEA/D, as pymoo has it.
_NEIGHBOURS = 20


class PymooSearch(GenomeSearch):
    """A search by an algorithm of pymoo itself, with settings as a configuration names them.

    Parameters
    ----------
    population : int
        Genomes kept, and evaluated in each generation. MOEA/D has one for each reference direction,
        perhaps some fewer.
    crossover, mutation, tree_crossover
        As of `LunacekCrossover` and `ValidMutation`.
    moves : bool
        Whether mutation moves trees and shifts boundaries instead of D's flips of bits. The first
        population then has full-domain genomes, too.
    front_of : {"archive", "population"}
        Whether the front is made of all that was evaluated, or, as D has it, of the last
        population alone. The latter wants a problem without steps: D's rule arrives at one solution
        of each genome.
    partitions : int, optional
        Into how many parts reference directions divide each objective; by default into as many as
        the population allows.
    """

    def __init__(
        self,
        problem: AnonymizationProblem,
        algorithm: str = "nsga2",
        population: int = 200,
        seed: int = 1,
        crossover: float = 0.9,
        mutation: float = 0.1,
        moves: bool = False,
        tree_crossover: Literal["common", "ends"] = "common",
        front_of: Literal["archive", "population"] = "archive",
        partitions: int | None = None,
        room: int = 8_000,
    ) -> None:
        check_fit(algorithm, problem.n_obj, population, partitions, problem.is_constrained)
        if front_of == "population" and problem.has_steps:
            raise SearchError("a front of the last population is of a problem without steps")
        self.population = population
        self.unseen = Unseen(problem.layout)
        self.archive = self.empty_archive(problem, room)
        self._repeats = algorithm == "moead"  # it mates by place, and takes what comes
        self._is_plain = front_of == "population"
        # D's crowding is that of plain objectives; the others weigh sizes by their logarithm.
        self._sight = problem if algorithm == "nsga2" else problem.scaled()
        self._sizes: list[int] = []  # genomes that were told, generation by generation
        #: Packed genomes with their objectives, constraints and thresholds.
        self._told: dict[bytes, tuple[Floats, Floats, Ints]] = {}
        chosen = [moves, tree_crossover, front_of, partitions]
        self._settings = json.dumps([algorithm, population, seed, crossover, mutation, *chosen])
        operators: dict[str, Any] = {
            "sampling": ValidSampling(SEED_SHARE if moves else 0.0),
            "crossover": LunacekCrossover(
                crossover, tree_crossover, n_offsprings=1 if self._repeats else 2
            ),
            "mutation": ValidMutation(mutation, moves=moves),
        }
        super().__init__(
            problem, self._build(algorithm, operators, problem.n_obj, partitions), seed
        )
        self.algorithm.mating.n_max_iterations = ATTEMPTS

    def _build(
        self, name: str, options: dict[str, Any], objectives: int, partitions: int | None
    ) -> Algorithm:
        """An algorithm of pymoo with some operators."""
        module, kind = _CLASSES[name]
        home = import_module(f"pymoo.algorithms.moo.{module}")
        if name in _DIRECTED:
            options["ref_dirs"] = _directions(objectives, self.population, partitions)
        if name == "moead":
            options["n_neighbors"] = min(_NEIGHBOURS, len(options["ref_dirs"]))
        else:
            options["pop_size"] = self.population
            options["eliminate_duplicates"] = BitDuplicates(self.unseen)
        if name == "nsga3":
            options["selection"] = _tournament(home.comp_by_cv_then_random)
        elif name == "unsga3":
            options["selection"] = _tournament(home.comp_by_rank_and_ref_line_dist)
        return getattr(home, kind)(**options)

    @classmethod
    def wants_steps(cls, settings: SearchSettings) -> bool:
        """D's own front is of the last population, with one solution of each genome."""
        return bool(getattr(settings, "front_of", "archive") != "population")

    @property
    def kept(self) -> Bits:
        """Genomes of the population that survived the last generation."""
        return genomes_of(self.algorithm.pop, self.problem)

    # -- one generation --------------------------------------------------------------------------

    def _ask(self, most: int | None) -> Population | None:
        """Genomes of the next generation; as many as wanted, if there are that many unseen ones."""
        if self.exhausted or most == 0:
            self._sizes.append(0)
            return None
        algorithm = self.algorithm
        is_first = not algorithm.is_initialized
        with _peace():
            asked = algorithm.ask()
        algorithm.termination.force_termination = False  # which pymoo wants where matings fail
        if self._repeats:
            if is_first:
                asked = asked[np.resize(np.arange(len(asked)), algorithm.pop_size)]
            elif most is not None:
                algorithm.indices = algorithm.indices[:most]
        elif asked is None or len(asked) < self.population:
            found = genomes_of([] if asked is None else asked, self.problem)
            filled = self.unseen.fill(found, self.population, algorithm.random_state)
            asked = population_of(filled)
        return asked[:most]

    def _measure(self, asked: Population) -> None:
        genomes = genomes_of(asked, self.problem)
        new = genomes[self.unseen.new_among(genomes)]
        if not len(new):
            return
        values, missed, points = self.problem.measured(new)
        thresholds = points.thresholds if self._is_plain else np.zeros((len(new), 0), np.int64)
        self._remember(self.problem.layout.pack(new), values, missed, thresholds)
        if not self._is_plain:
            self.archive.add(points, new)

    def _tell(self, asked: Population) -> None:
        """Tell pymoo what is known of genomes, each of which was evaluated."""
        genomes = genomes_of(asked, self.problem)
        values, missed, _ = self._known(genomes)
        set_measured(asked, self._sight.seen(values), missed)
        self.unseen.remove(genomes)
        self._sizes.append(len(asked))
        with _peace():
            super()._tell(asked)
        if self._is_plain:
            self._take_population()

    def _remember(self, packed: Bits, *parts: Values) -> None:
        for genome, *row in zip(packed, *parts, strict=True):
            self._told[genome.tobytes()] = (row[0], row[1], row[2])

    def _known(self, genomes: Bits) -> tuple[Floats, Floats, Ints]:
        """Objectives, constraints and thresholds of genomes that were evaluated."""
        try:
            rows = [self._told[each.tobytes()] for each in self.problem.layout.pack(genomes)]
        except KeyError:
            raise SearchError(_FOREIGN) from None
        values, missed, thresholds = (np.array(part) for part in zip(*rows, strict=True))
        return values, missed, thresholds

    def _take_population(self) -> None:
        """Hold the solutions of the population, and no other ones."""
        genomes = self.kept
        values, _, thresholds = self._known(genomes)
        self.archive.keep(np.zeros(0, dtype=np.int64))
        self.archive.add(Points(values, np.arange(len(genomes)), thresholds), genomes)

    # -- what is saved ---------------------------------------------------------------------------

    def state(self) -> State:
        packed = np.frombuffer(b"".join(self._told), dtype=np.uint8)
        shape = len(self._told), self.problem.layout.packed_bytes
        told: State = {"genomes": packed.reshape(shape)}
        widths = (self.problem.n_obj, self.problem.n_ieq_constr, 2 if self._is_plain else 0)
        for part, name in enumerate(_PARTS):
            kind = np.int64 if name == "thresholds" else np.float64
            rows = np.array([row[part] for row in self._told.values()], dtype=kind)
            told[name] = rows.reshape(len(rows), widths[part])
        return (
            self.archive.state()
            | prefixed("told.", told)
            | {
                "sizes": np.array(self._sizes, dtype=np.int64),
                "settings": np.frombuffer(self._settings.encode(), dtype=np.uint8),
            }
        )

    def restore(self, state: State) -> None:
        own = self.state()
        same = state.keys() == own.keys() and all(
            state[name].shape[1:] == own[name].shape[1:] for name in own
        )
        if not same or state["settings"].tobytes() != self._settings.encode():
            raise SearchError(_FOREIGN)
        self.archive.restore(state)
        told = part_of(state, "told.")
        self._remember(told["genomes"], *(told[name] for name in _PARTS))
        for size in state["sizes"].tolist():
            self.generation += 1
            asked = self._ask(size)
            if asked is not None:
                self._tell(asked)


def front_from_result(result: Any, cap: int = 2_000) -> Front:
    """Make the front of what pymoo's ``minimize`` has returned for an `AnonymizationProblem`.

    Every genome of the last population is measured once more, at every step of its staircase, and
    so is every one of pymoo's archive, where the algorithm was given one. The front has at most
    `cap` solutions.

    Raises
    ------
    InfeasibleError
        If nothing meets the constraints.
    SearchError
        If the result is of another problem.
    """
    problem = result.problem
    if not isinstance(problem, AnonymizationProblem):
        raise SearchError(
            f"the result must be of an AnonymizationProblem. Got {type(problem).__name__}"
        )
    kept = [each for each in (result.pop, result.archive) if each is not None and len(each)]
    genomes = np.unique(np.concatenate([genomes_of(each, problem) for each in kept]), axis=0)
    archive = Archive.empty(problem.n_obj, problem.layout, max(cap, 8_000))
    archive.add(problem.points(genomes), genomes)
    archive.sort()
    return front_of(problem, archive, cap)


def _directions(objectives: int, population: int, partitions: int | None) -> Floats:
    """Reference directions, spread evenly (Das and Dennis)."""
    from pymoo.util.reference_direction import UniformReferenceDirectionFactory

    parts = partitions or largest_partitions(objectives, population)
    found: Floats = UniformReferenceDirectionFactory(objectives, n_partitions=parts).do()
    assert len(found) == comb(parts + objectives - 1, objectives - 1)
    return found


def _tournament(compare: Callable[..., Ints]) -> Any:
    """A tournament in which feasible genomes win, and less infeasible ones.

    pymoo's own draws lots between equally infeasible ones from a generator without a seed.
    """
    from pymoo.operators.selection.tournament import TournamentSelection

    def winners(population: Population, pairs: Ints, random_state: Any, **more: Any) -> Ints:
        violation = population.get("CV")[:, 0][pairs]
        ahead = np.sign(violation[:, 1] - violation[:, 0])
        lots = random_state.random(len(pairs)) < 0.5
        found: Ints = np.where(np.where(ahead == 0, lots, ahead > 0), pairs[:, 0], pairs[:, 1])
        feasible = (violation <= 0).all(axis=1)
        if feasible.any():
            chosen = compare(population, pairs[feasible], random_state=random_state, **more)
            found[feasible] = chosen[:, 0]
        return found[:, None]

    return TournamentSelection(func_comp=winners)


@contextmanager
def _peace() -> Iterator[None]:
    """Keep warnings of pymoo back, and the filter that NSGA-III would leave behind."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
