"""Running a search: which one, until when, and what it came to.

A generation is `population` genomes whatever the algorithm, so ``generations: 250`` with
``population: 200`` is 50,000 evaluations. Nothing that decides about the next generation depends on
the clock, except a limit in seconds; whatever it does depend on is part of the saved state. So a
run that is interrupted and resumed goes the same way as one that is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from moanon.errors import SearchError
from moanon.search.archive import Archive
from moanon.search.archive_search import ArchiveSearch
from moanon.search.exhaustive import MOST_GENOMES, Exhaustive
from moanon.search.hypervolume import Hypervolume
from moanon.search.problem import SearchProblem
from moanon.search.state import Search, State

__all__ = [
    "AUTO_EXHAUSTIVE",
    "DEFAULT_EVALUATIONS",
    "Keeper",
    "Outcome",
    "ProblemSearch",
    "Progress",
    "Settings",
    "Stop",
    "choose_algorithm",
    "make_search",
    "room_of",
    "run_search",
    "stop_of",
]

#: `auto` enumerates spaces up to this size; larger ones are bred from the archive.
AUTO_EXHAUSTIVE = 20_000
#: Evaluations per second that even a slow machine manages.
_SLOWEST = 1_000
#: Where no limit is given: the budget of D's runs, 250 generations of 200.
DEFAULT_EVALUATIONS = 50_000

#: The hypervolume is taken every so many generations; after each one where it is a limit.
_HYPERVOLUME_EVERY = 5
#: A smaller relative gain of hypervolume counts as none.
_GAIN = 1e-6
#: Generations in a row without a new genome after which there is nothing more to be hoped for.
_MOST_IDLE = 100
#: Seconds between checkpoints; more where saving takes longer than this share of the time.
_PACE, _SHARE = 2.0, 0.03
#: Most solutions an archive holds while searching, unless more are asked for in the end.
_ROOM = 8_000
#: The same for an enumeration, which is there to be exact.
_ROOM_OF_ALL = 100_000

Reason = Literal[
    "generations", "evaluations", "seconds", "stall", "exhausted", "idle", "interrupted"
]


class Settings(Protocol):
    """What `make_search` wants to know; the search section of a configuration has all of it."""

    @property
    def algorithm(self) -> str: ...
    @property
    def population(self) -> int: ...
    @property
    def generations(self) -> int | None: ...
    @property
    def evaluations(self) -> int | None: ...
    @property
    def seconds(self) -> float | None: ...
    @property
    def stall(self) -> int | None: ...
    @property
    def seed(self) -> int: ...
    @property
    def crossover(self) -> float: ...
    @property
    def mutation(self) -> float: ...
    @property
    def moves(self) -> bool: ...
    @property
    def cap(self) -> int: ...


class ProblemSearch(Search, Protocol):
    """A search that says what it searches."""

    problem: SearchProblem


class Keeper(Protocol):
    """Keeps states; see `moanon.search.checkpoint.Checkpoints`."""

    def save(self, state: State) -> None:
        """Keep a state, replacing the one before."""
        ...


@dataclass(frozen=True)
class Stop:
    """When to stop: at the first of the limits that are set.

    Attributes
    ----------
    generations, evaluations : int, optional
        Limits that a repeated run reaches at the same point.
    seconds : float, optional
        Time on the clock, over all resumptions.
    stall : int, optional
        Generations in which the hypervolume has not grown by more than a millionth.
    """

    generations: int | None = None
    evaluations: int | None = None
    seconds: float | None = None
    stall: int | None = None

    def part(self, share: float) -> Stop:
        """Limits for a search that needs only a share of the effort; a stall remains one."""
        return Stop(
            None if self.generations is None else ceil(self.generations * share),
            None if self.evaluations is None else ceil(self.evaluations * share),
            None if self.seconds is None else self.seconds * share,
            self.stall,
        )


@dataclass(frozen=True)
class Progress:
    """How far a run is, after a generation.

    Attributes
    ----------
    generation, evaluations : int
    seconds : float
        Time on the clock, over all resumptions.
    solutions : int
        Undominated ones found so far.
    hypervolume : float or None
        As last taken; None where there is none for these objectives.
    done : float or None
        Share of the nearest limit; None where only a stall will tell.
    eta : float or None
        Limit of suppression that is searched for; None where there is only one.
    """

    generation: int
    evaluations: int
    seconds: float
    solutions: int
    hypervolume: float | None
    done: float | None
    eta: float | None = None

    @property
    def seconds_left(self) -> float | None:
        """Estimate of the time to the end."""
        if not self.done:
            return None
        return self.seconds * (1 - self.done) / self.done


@dataclass(frozen=True)
class Outcome:
    """What a run came to, and why it ended.

    Attributes
    ----------
    archive : Archive
        The undominated solutions that were found, as far as it had room.
    reason : str
        Which limit was reached; ``exhausted`` where every genome has been evaluated,
        ``interrupted`` where the run can be resumed.
    generation, evaluations, seconds, hypervolume
        As in `Progress`, at the end.
    stop : Stop
        The limits.
    """

    archive: Archive
    reason: Reason
    generation: int
    evaluations: int
    seconds: float
    hypervolume: float | None
    stop: Stop

    @property
    def why(self) -> str:
        """The reason as part of a sentence."""
        return {
            "generations": f"{self.stop.generations} generations were reached",
            "evaluations": f"{self.stop.evaluations} evaluations were reached",
            "seconds": f"{self.stop.seconds} seconds were over",
            "stall": f"the hypervolume did not grow for {self.stop.stall} generations",
            "exhausted": "every valid genome was evaluated",
            "idle": f"no new genome was found for {_MOST_IDLE} generations",
            "interrupted": "it was interrupted",
        }[self.reason]


# -- which search --------------------------------------------------------------------------------


def choose_algorithm(space: int, settings: Settings) -> str:
    """Settle what ``auto`` means for a space of so many genomes.

    Enumeration where the space has at most `AUTO_EXHAUSTIVE` genomes and the limits leave room for
    all of them; half an enumeration would be worse than any search.
    """
    if settings.algorithm != "auto":
        return settings.algorithm
    budgets = [AUTO_EXHAUSTIVE]
    if settings.evaluations is not None:
        budgets.append(settings.evaluations)
    if settings.generations is not None:
        budgets.append(settings.generations * settings.population)
    if settings.seconds is not None:
        budgets.append(int(settings.seconds * _SLOWEST))
    return "exhaustive" if space <= min(budgets) else "archive"


def make_search(problem: SearchProblem, settings: Settings) -> ProblemSearch:
    """Build the search that settings ask for, before its first generation.

    Raises
    ------
    SearchError
        If there is no such algorithm, or it cannot search this space.
    """
    algorithm = choose_algorithm(problem.layout.count(), settings)
    room = room_of(settings, algorithm)
    if algorithm == "archive":
        return ArchiveSearch(problem, settings.population, settings.seed, room)
    if algorithm == "exhaustive":
        return Exhaustive(problem, settings.population, room)
    from moanon.search.evolution import ALGORITHMS, Evolution  # here: pymoo is slow to import

    if algorithm not in ALGORITHMS:
        known = ", ".join(("auto", "archive", "exhaustive", *ALGORITHMS))
        raise SearchError(f"algorithm must be one of {known}. Got {algorithm}")
    return Evolution(
        problem,
        algorithm=algorithm,
        population=settings.population,
        seed=settings.seed,
        crossover=settings.crossover,
        mutation=settings.mutation,
        moves=settings.moves,
        room=room,
    )


def room_of(settings: Settings, algorithm: str) -> int:
    """Most solutions that an archive holds while searching."""
    return max(_ROOM_OF_ALL if algorithm == "exhaustive" else _ROOM, settings.cap)


def stop_of(settings: Settings, algorithm: str) -> Stop:
    """Read the limits off settings, for the algorithm that was chosen.

    Where there are none, a search ends after `DEFAULT_EVALUATIONS` and an enumeration at its end.
    An enumeration never stalls: what it has yet to see does not follow from what it has seen.
    """
    limits = Stop(settings.generations, settings.evaluations, settings.seconds, settings.stall)
    if algorithm == "exhaustive":
        return replace(limits, stall=None)
    return Stop(evaluations=DEFAULT_EVALUATIONS) if limits == Stop() else limits


# -- running -------------------------------------------------------------------------------------


def run_search(
    search: ProblemSearch,
    stop: Stop,
    *,
    on_generation: Callable[[Progress], None] | None = None,
    checkpoint: Keeper | None = None,
    interrupted: Callable[[], bool] | None = None,
    state: State | None = None,
) -> Outcome:
    """Step a search until it is to stop.

    Parameters
    ----------
    search : Search
        Before its first generation.
    stop : Stop
    on_generation : callable, optional
        Told about each generation.
    checkpoint : Keeper, optional
        Given the state after the first generation, every few seconds, and when the run is
        interrupted.
    interrupted : callable, optional
        Asked after each generation whether to end the run here.
    state : State, optional
        Where to go on, as a keeper was given it.

    Raises
    ------
    SearchError
        If the limit is a stall and the objectives have no hypervolume, or an objective is not a
        finite number.
    """
    run = _Run(search, stop)
    if state is not None:
        run.restore(state)
    pace = _Pace(checkpoint)
    reason = run.reason()
    while reason is None:
        run.step()
        if on_generation is not None:
            on_generation(run.progress())
        reason = run.reason()
        stopped = reason is None and interrupted is not None and interrupted()
        if stopped or pace.due:
            pace.save(run)
        if stopped:
            reason = "interrupted"
    return Outcome(
        archive=search.archive,
        reason=reason,
        generation=search.generation,
        evaluations=search.evaluations,
        seconds=run.seconds,
        hypervolume=run.hypervolume.of(_front(search.archive)),
        stop=stop,
    )


def _front(archive: Archive) -> npt.NDArray[np.float64]:
    """Objectives of the solutions found so far; none as long as all are infeasible."""
    return archive.values if archive.is_feasible else archive.values[:0]


class _Run:
    """A search on its way: what decides when it stops."""

    def __init__(self, search: ProblemSearch, stop: Stop) -> None:
        self.search = search
        self.stop = stop
        space = search.problem.layout.count()
        self.space = space if space <= MOST_GENOMES else None  # no end in sight of a larger one
        self.hypervolume = Hypervolume(search.problem)
        if stop.stall is not None and self.hypervolume.why_not is not None:
            raise SearchError(f"stall cannot be a limit: {self.hypervolume.why_not} (search.stall)")
        self.volume = self.hypervolume.of(_front(search.archive))
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
        if self.idle >= _MOST_IDLE:
            return "idle"
        # The first generation is always made: a front without solutions is no answer.
        if stop.seconds is not None and search.generation and self.seconds >= stop.seconds:
            return "seconds"
        return None

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

    # -- what is saved ---------------------------------------------------------------------------

    def state(self) -> State:
        own = {
            "run.best": np.array(self.best),
            "run.best_at": np.array(self.best_at),
            "run.idle": np.array(self.idle),
            "run.seconds": np.array(self.seconds),
        }
        return own | {f"search.{name}": array for name, array in self.search.state().items()}

    def restore(self, state: State) -> None:
        own = {name: array for name, array in state.items() if name.startswith("run.")}
        self.search.restore(
            {
                name.removeprefix("search."): array
                for name, array in state.items()
                if name.startswith("search.")
            }
        )
        self.best = float(own["run.best"])
        self.best_at = int(own["run.best_at"])
        self.idle = int(own["run.idle"])
        self.before = float(own["run.seconds"])
        self.volume = self.hypervolume.of(_front(self.search.archive))


class _Pace:
    """Says when the next checkpoint is due, so that saving takes a small share of the time."""

    def __init__(self, keeper: Keeper | None) -> None:
        self._keeper = keeper
        self._next = time.monotonic()  # at once: a place that cannot be written to shows early

    @property
    def due(self) -> bool:
        return self._keeper is not None and time.monotonic() >= self._next

    def save(self, run: _Run) -> None:
        if self._keeper is None:
            return
        before = time.monotonic()
        self._keeper.save(run.state())
        after = time.monotonic()
        self._next = after + max(_PACE, (after - before) / _SHARE)
