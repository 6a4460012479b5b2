"""`Search`, what every algorithm is, and running one: stepping it until its limit is reached.

A search goes one generation at a time. Between any two it can be saved, and another one of the same
settings goes on from there. It says itself when it ends, what has to be compiled before, what is
worth doing once at the end, and how what it found becomes a front. So the code that runs a search
never asks which one it is. A generation is `population` genomes whatever the algorithm, so
``generations: 250`` with ``population: 200`` is 50,000 evaluations. Nothing that decides about the
next generation depends on the clock, except a limit in seconds.

Whatever the next generation depends on is part of the saved state. So a run that is interrupted and
resumed goes the same way as one that is not.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import moocore
import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.core.individual import Individual
from pymoo.core.population import Population
from pymoo.core.termination import NoTermination

from moanon.arrays import Bits, Floats, State
from moanon.errors import SearchError
from moanon.front import Front
from moanon.measures.evaluate import OnPart
from moanon.progress import OnGeneration, Progress
from moanon.search.algorithms import (
    ALL_GENOMES,
    DEFAULT_EVALUATIONS,
    MOST_GENOMES,
    STALLED,
    Convergence,
    SearchSettings,
    Stop,
)
from moanon.search.archive import Archive, front_of
from moanon.search.checkpoint import PacedSaving, part_of, prefixed
from moanon.search.operators import Unseen
from moanon.search.problem import AnonymizationProblem, Scale, scale_of

#: The hypervolume is taken every so many generations; after each one where it is a limit.
_HYPERVOLUME_EVERY = 5
#: A smaller relative gain of hypervolume counts as none.
_GAIN = 1e-6
#: Generations in a row without a new genome after which there is nothing more to be hoped for.
_MOST_IDLE = 100
#: With more objectives a hypervolume takes longer than the search itself.
_MOST_OBJECTIVES = 3

# -- the hypervolume -----------------------------------------------------------------------------


class Hypervolume:
    """One number for a whole front: how much of the ideal it reaches.

    Each objective is put on [0, 1], 0 being the best there could be on the table at hand: losses
    and distances as they are (fractions), sizes of groups by their logarithm (from k = 2 to 4 is as
    much a gain as from 200 to 400), diversities by the number of sensitive values, others by the
    largest value that the table allows. The scales depend on the table alone and never on what was
    found, so the numbers of two generations, or of two runs on one table, can be compared. With
    ``[k, loss]`` it is the area under the front in (ln k, 1 - loss) over ln n. Where objectives
    have none, `why_not` says why.
    """

    def __init__(self, problem: AnonymizationProblem) -> None:
        self.why_not: str | None = None
        self._scales: list[Scale] = []
        if len(problem.measures) > _MOST_OBJECTIVES:
            self.why_not = (
                f"the hypervolume is taken of at most {_MOST_OBJECTIVES} objectives. "
                f"Got {len(problem.measures)}"
            )
            return
        for measure in problem.measures:
            scale = scale_of(measure, problem.instance)
            if scale is None:
                self.why_not = f"the range of the objective {measure.name!r} is not known"
                return
            self._scales.append(scale)

    def of(self, values: Floats) -> float | None:
        """Hypervolume of points (rows; smaller is better), in [0, 1]; None where there is none."""
        if self.why_not is not None:
            return None
        if not len(values):
            return 0.0
        costs = [scale(values[:, i]) for i, scale in enumerate(self._scales)]
        places = np.stack(costs, axis=1)
        return float(moocore.hypervolume(places, ref=np.ones(len(costs))))


# -- what every algorithm is -----------------------------------------------------------------------


class Search(ABC):
    """An algorithm; among genomes, unless a subclass says otherwise."""

    #: Why it ends when it is exhausted, as part of a sentence.
    complete: ClassVar[str] = ALL_GENOMES
    #: Whether it draws random numbers: then other seeds find other solutions.
    is_random: ClassVar[bool] = True
    #: Whether its solutions are genomes: then one that has seen all of them has found the best.
    of_genomes: ClassVar[bool] = True
    #: Whether it offers every threshold of every genome that it evaluates to its archive.
    keeps_all: ClassVar[bool] = False

    problem: AnonymizationProblem
    archive: Archive  # what it has found so far
    generation: int  # steps made so far

    # -- before it begins --------------------------------------------------------------------------

    @classmethod
    def stop_rule(cls, settings: SearchSettings, problem: AnonymizationProblem) -> Stop:
        """When it ends: at the limits that settings name, or by default."""
        given = Stop.of(settings)
        return given if given.is_set else cls.default_stop(problem)

    @classmethod
    def default_stop(cls, problem: AnonymizationProblem) -> Stop:
        """When it ends where no limit is named: after the budget of D's runs."""
        return Stop(evaluations=DEFAULT_EVALUATIONS)

    @classmethod
    def warm_up(cls, problem: AnonymizationProblem) -> None:
        """Have everything compiled or loaded that the search needs.

        Kernels are compiled when they are first called, which takes longer than many a search;
        later processes load them from a cache in a moment. The time of a search should not count
        either. Two genomes are evaluated each way; nothing of them is kept, and the search goes as
        without.
        """
        genomes = problem.layout.sample(2, np.random.default_rng(0))
        ways: tuple[Literal["flat", "rollup"], ...] = ("flat", "rollup")
        rule, names, steps = problem.suppression, problem.names, problem.has_steps
        for way in ways:
            problem.evaluator.evaluate(genomes, rule, measures=names, steps=steps, mode=way)
        if cls.is_random:
            problem.moves.warm_up(genomes)

    @classmethod
    def wants_steps(cls, settings: SearchSettings) -> bool:
        """Whether every step of a genome's staircase is a solution to it, where there are any."""
        return True

    @classmethod
    def empty_archive(cls, problem: AnonymizationProblem, room: int) -> Archive:
        """An archive for what it finds."""
        return Archive.empty(len(problem.objectives), problem.layout, room)

    # -- on its way --------------------------------------------------------------------------------

    @property
    @abstractmethod
    def evaluations(self) -> int:
        """Genomes (or targets) evaluated so far."""

    @property
    def space(self) -> int:
        """Evaluations after which it is exhausted."""
        return self.problem.layout.count()

    @property
    @abstractmethod
    def exhausted(self) -> bool:
        """Whether there is nothing left to evaluate."""

    @abstractmethod
    def step(self, most: int | None = None) -> int:
        """Evaluate one more generation, at most `most` genomes; return how many it was."""

    def refresh(self) -> bool:
        """Go on in another way now that the front has stalled; False where there is none."""
        return False

    def finish(self) -> int:
        """Do what is worth doing once, at the end; return how many genomes were evaluated more."""
        return 0

    @abstractmethod
    def state(self) -> State:
        """Everything the next step depends on."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Go on from a saved state."""

    # -- what it has found -------------------------------------------------------------------------

    front_of = staticmethod(front_of)

    def front(self, cap: int, on_part: OnPart | None = None) -> Front:
        """Make the front of what it has found so far."""
        return self.front_of(self.problem, self.archive, cap, on_part)


class GenomeSearch(Search):
    """A search by an algorithm of pymoo: asked for genomes, and told what they measure.

    No genome is evaluated twice. Subclasses say how genomes are asked for and measured, and what
    has to be saved.
    """

    unseen: Unseen

    def __init__(self, problem: AnonymizationProblem, algorithm: Algorithm, seed: int) -> None:
        self.problem = problem
        self.generation = 0
        self.algorithm = algorithm
        algorithm.setup(problem, termination=NoTermination(), seed=seed)
        algorithm._set_optimum = _nothing  # the archive knows it; pymoo's takes a tenth of the time

    @property
    def evaluations(self) -> int:
        return self.unseen.removed

    @property
    def exhausted(self) -> bool:
        return self.unseen.left == 0

    def step(self, most: int | None = None) -> int:
        before = self.evaluations
        asked = self._ask(most)
        if asked is not None:
            self._measure(asked)
            self._tell(asked)
        self.generation += 1
        return self.evaluations - before

    @abstractmethod
    def _ask(self, most: int | None) -> Population | None:
        """Genomes of the next generation, at most so many; None where there are no more."""

    @abstractmethod
    def _measure(self, asked: Population) -> None:
        """Take what is new into the archive, and set the objectives of all."""

    def _tell(self, asked: Population) -> None:
        self.algorithm.advance(infills=asked)


def _nothing() -> None:
    pass


def genomes_of(population: Population, problem: AnonymizationProblem) -> Bits:
    """The genomes of a population."""
    rows = [each.X for each in population]  # faster than to have pymoo get them
    return np.array(rows, dtype=np.uint8).reshape(len(rows), problem.n_var)


def population_of(genomes: Bits) -> Population:
    """Genomes as a population of pymoo.

    Made with care, as there is one for each generation: ``Population.new`` has every individual
    make objects that the garbage collector follows, which takes four times as long.
    """
    config, rows = Individual.default_config(), []
    for genome in genomes.astype(bool):
        rows.append(Individual(config))
        rows[-1].X = genome
    return Population(rows)


def set_measured(population: Population, values: Floats, missed: Floats) -> None:
    """Set the objectives of a population, and its constraints where there are any."""
    for each, value in zip(population, values, strict=True):
        each.F = value
    if missed.shape[1]:
        for each, value in zip(population, missed, strict=True):
            each.G = value


# -- running one ---------------------------------------------------------------------------------

Reason = Literal[
    "generations", "evaluations", "seconds", "stall", "stalled", "exhausted", "idle", "interrupted"
]


@dataclass(frozen=True)
class Outcome:
    """What a run came to, in the numbers of its last `Progress`, and why it ended.

    The reason is the limit that was reached, ``exhausted`` where every genome has been evaluated,
    or ``interrupted`` where the run can be resumed. `polished` are genomes that were evaluated at
    the very end, on top of `evaluations`.
    """

    archive: Archive
    reason: Reason
    generation: int
    evaluations: int
    seconds: float
    hypervolume: float | None
    stop: Stop
    complete: str
    convergence: Convergence | None = None
    polished: int = 0

    @property
    def why(self) -> str:
        """The reason as part of a sentence."""
        return {
            "generations": f"{self.stop.generations} generations were reached",
            "evaluations": f"{self.stop.evaluations or 0:,} evaluations were reached",
            "seconds": f"{self.stop.seconds} seconds were over",
            "stall": f"the hypervolume did not grow for {self.stop.stall} generations",
            "stalled": f"the front stalled after {self.evaluations:,} evaluations: their second "
            f"half gained less than {STALLED:.2%} of hypervolume",
            "exhausted": self.complete,
            "idle": f"no new genome was found for {_MOST_IDLE} generations",
            "interrupted": "it was interrupted",
        }[self.reason]


def run_search(
    search: Search,
    stop: Stop,
    *,
    on_generation: OnGeneration | None = None,
    save: Callable[[State], None] | None = None,
    interrupted: Callable[[], bool] | None = None,
    state: State | None = None,
) -> Outcome:
    """Step a search from its first generation until it is to stop, or on from a saved state.

    After each generation `on_generation` is called with the progress, and `interrupted` asked
    whether to end the run here. `save` is given the state after the first generation, every few
    seconds, and when the run is interrupted.

    Raises
    ------
    SearchError
        If the limit is a stall and the objectives have no hypervolume, or an objective is not a
        finite number.
    """
    run = _Run(search, stop)
    if state is not None:
        run.restore(state)
    saving = None if save is None else PacedSaving(save)
    reason = run.reason()
    while reason is None:
        run.step()
        if on_generation is not None:
            on_generation(run.progress())
        reason = run.reason()
        stopped = reason is None and interrupted is not None and interrupted()
        if saving is not None and (stopped or saving.is_due):
            saving.save(run.state())
        if stopped:
            reason = "interrupted"
    evaluations = search.evaluations
    polished = 0 if reason == "interrupted" else search.finish()
    return Outcome(
        archive=search.archive,
        reason=reason,
        generation=search.generation,
        evaluations=evaluations,
        polished=polished,
        seconds=run.seconds,
        hypervolume=run.hypervolume.of(_front(search.archive)),
        stop=stop,
        complete=search.complete,
        convergence=run.convergence(complete=reason == "exhausted"),
    )


def _front(archive: Archive) -> Floats:
    """Objectives of the solutions found so far; none as long as all are infeasible."""
    return archive.values if archive.is_feasible else archive.values[:0]


class _Run:
    """A search on its way: what decides when it stops."""

    def __init__(self, search: Search, stop: Stop) -> None:
        self.search = search
        self.stop = stop
        space = search.space
        self.space = space if space <= MOST_GENOMES else None  # no end in sight of a larger one
        self.hypervolume = Hypervolume(search.problem)
        if stop.stall is not None and self.hypervolume.why_not is not None:
            raise SearchError(f"stall cannot be a limit: {self.hypervolume.why_not} (search.stall)")
        self.volume = self.hypervolume.of(_front(search.archive))
        self.curve: list[tuple[float, float]] = []  # evaluations, and the hypervolume after them
        self.best = 0.0  # hypervolume that the next gain is measured against
        self.best_at = 0  # its generation
        self.idle = 0  # generations in a row without a new genome
        self.started = time.monotonic()
        self.before = 0.0  # seconds spent before this process

    @property
    def seconds(self) -> float:
        return self.before + time.monotonic() - self.started

    def step(self) -> None:
        search, stop = self.search, self.stop
        most = None if stop.evaluations is None else stop.evaluations - search.evaluations
        found = search.step(most)
        self.idle = 0 if found else self.idle + 1
        if stop.stall is not None or search.generation % _HYPERVOLUME_EVERY == 1:
            self._take_hypervolume()

    def _take_hypervolume(self) -> None:
        self.volume = self.hypervolume.of(_front(self.search.archive))
        if self.volume is not None:
            self.curve.append((self.search.evaluations, self.volume))
        if self.volume is not None and self.volume > self.best * (1 + _GAIN):
            self.best, self.best_at = self.volume, self.search.generation

    def reason(self) -> Reason | None:
        """Why to stop now, if at all."""
        search, stop = self.search, self.stop
        if search.exhausted:
            return "exhausted"
        if stop.generations is not None and search.generation >= stop.generations:
            return "generations"
        if stop.evaluations is not None and search.evaluations >= stop.evaluations:
            return "evaluations"
        if stop.stall is not None and search.generation - self.best_at >= stop.stall:
            return "stall"
        if stop.stalled is not None and self._has_stalled(stop.stalled) and not search.refresh():
            return "stalled"
        if self.idle >= _MOST_IDLE:
            return "idle"
        # The first generation is always made: a front without solutions is no answer.
        if stop.seconds is not None and search.generation and self.seconds >= stop.seconds:
            return "seconds"
        return None

    def _has_stalled(self, least: int) -> bool:
        """Whether the second half of the evaluations has gained next to nothing."""
        if not self.curve or self.search.evaluations < least:
            return False
        (first, before), (last, volume) = self.curve[0], self.curve[-1]
        for at, reached in self.curve:
            if at <= max(first, last / 2):
                before = reached
        return volume - before < STALLED * volume

    def progress(self) -> Progress:
        search, stop = self.search, self.stop
        shares = [
            reached / limit
            for reached, limit in (
                (search.generation, stop.generations),
                (search.evaluations, stop.evaluations),
                (self.seconds, stop.seconds),
                (search.evaluations, self.space),
            )
            if limit is not None
        ]
        return Progress(
            search.generation,
            search.evaluations,
            self.seconds,
            len(_front(search.archive)),
            self.volume,
            min(max(shares), 1.0) if shares else None,
        )

    def convergence(self, *, complete: bool) -> Convergence | None:
        """How the hypervolume grew up to here."""
        if self.hypervolume.why_not is None:
            self._take_hypervolume()
        targets = not self.search.of_genomes
        return Convergence.of(self.curve, complete=complete, targets=targets)

    # -- what is saved ---------------------------------------------------------------------------

    def state(self) -> State:
        own = {
            "run.best": np.array(self.best),
            "run.best_at": np.array(self.best_at),
            "run.idle": np.array(self.idle),
            "run.seconds": np.array(self.seconds),
            "run.curve": np.array(self.curve, dtype=np.float64).reshape(-1, 2),
        }
        return own | prefixed("search.", self.search.state())

    def restore(self, state: State) -> None:
        self.search.restore(part_of(state, "search."))
        self.best = float(state["run.best"])
        self.best_at = int(state["run.best_at"])
        self.idle = int(state["run.idle"])
        self.before = float(state["run.seconds"])
        if "run.curve" in state:  # not of a run that an earlier version began
            self.curve = [(at, volume) for at, volume in state["run.curve"].tolist()]
        self.volume = self.hypervolume.of(_front(self.search.archive))
