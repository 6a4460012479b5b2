"""Running a search: until when, what it came to, and how much of the ideal it reaches.

A generation is `population` genomes whatever the algorithm, so ``generations: 250`` with
``population: 200`` is 50,000 evaluations. Nothing that decides about the next generation depends on
the clock, except a limit in seconds; whatever it does depend on is part of the saved state. So a
run that is interrupted and resumed goes the same way as one that is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Literal

import moocore
import numpy as np

from moanon.arrays import Floats
from moanon.errors import SearchError
from moanon.genome import Instance
from moanon.measures import Measure
from moanon.search.algorithms import (
    ALL_GENOMES,
    DEFAULT_EVALUATIONS,
    MOST_GENOMES,
    STALL_FROM,
    STALLED,
    Found,
    Search,
    SearchSettings,
    default_limit,
)
from moanon.search.archive_search import LONG
from moanon.search.checkpoint import State, part_of, prefixed
from moanon.search.convergence import Convergence
from moanon.search.cut_table import ProofTable
from moanon.search.large_groups import can_settle
from moanon.search.operators import Moves
from moanon.search.polishing import polisher_for
from moanon.search.problem import SearchProblem

#: The hypervolume is taken every so many generations; after each one where it is a limit.
_HYPERVOLUME_EVERY = 5
#: With more objectives a hypervolume takes longer than the search itself.
_MOST_OBJECTIVES = 3
#: A smaller relative gain of hypervolume counts as none.
_GAIN = 1e-6
#: Generations in a row without a new genome after which there is nothing more to be hoped for.
_MOST_IDLE = 100
#: Seconds between checkpoints; more where saving takes longer than this share of the time.
_PACE, _SHARE = 2.0, 0.03

Reason = Literal[
    "generations", "evaluations", "seconds", "stall", "stalled", "exhausted", "idle", "interrupted"
]


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
    stalled : int, optional
        From so many evaluations on, stop when the second half of all evaluations has gained less
        than `STALLED` of the hypervolume.
    """

    generations: int | None = None
    evaluations: int | None = None
    seconds: float | None = None
    stall: int | None = None
    stalled: int | None = None

    def part(self, share: float) -> Stop:
        """Limits for a search that needs only a share of the effort; a stall remains one."""
        return Stop(
            None if self.generations is None else ceil(self.generations * share),
            None if self.evaluations is None else ceil(self.evaluations * share),
            None if self.seconds is None else self.seconds * share,
            self.stall,
            None if self.stalled is None else ceil(self.stalled * share),
        )


def stop_of(settings: SearchSettings, algorithm: str, problem: SearchProblem) -> Stop:
    """Read the limits off settings, for the algorithm that was chosen.

    An enumeration never stalls: what it has yet to see does not follow from what it has seen. A
    search for boxes ends by itself; other limits than seconds are about genomes. Without any limit
    the default search goes on until it has stalled, as far as `default_limit`; where it cannot
    tell, it has the budget of other searches.
    """
    if algorithm == "local":
        return Stop(seconds=settings.seconds)
    stall = None if algorithm == "exhaustive" else settings.stall
    given = (settings.generations, settings.evaluations, settings.seconds, stall)
    if algorithm == "exhaustive" or any(limit is not None for limit in given):
        return Stop(*given)
    if algorithm == "archive" and _Hypervolume(problem).why_not is None:
        return Stop(evaluations=default_limit(problem.layout.bits), stalled=STALL_FROM)
    return Stop(evaluations=DEFAULT_EVALUATIONS)


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


#: Whoever wants to be told about each generation.
OnGeneration = Callable[[Progress], None]


@dataclass(frozen=True)
class Outcome:
    """What a run came to, in the numbers of its last `Progress`, and why it ended.

    The reason is the limit that was reached, ``exhausted`` where every genome has been evaluated,
    or ``interrupted`` where the run can be resumed. `polished` are genomes that were evaluated at
    the very end, on top of `evaluations`.
    """

    archive: Found
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


# -- running -------------------------------------------------------------------------------------


def warm_up(problem: SearchProblem, algorithm: str) -> float:
    """Have everything compiled or loaded that evaluates and moves genomes of a problem.

    Kernels are compiled when they are first called, which takes longer than many a search; later
    processes load them from a cache in a moment. A search whose time is limited or told should not
    count either. Two genomes are evaluated each way; nothing of them is kept, and the search goes
    as without. Returns the seconds that it took.
    """
    started = time.monotonic()
    genomes = problem.layout.sample(2, np.random.default_rng(0))
    ways: tuple[Literal["flat", "rollup"], ...] = ("flat", "rollup")
    rule, names, steps = problem.suppression, problem.names, problem.has_steps
    for way in ways:
        problem.evaluator.evaluate(genomes, rule, measures=names, steps=steps, mode=way)
    if algorithm != "exhaustive":
        Moves(problem.layout).warm_up(genomes)
    if algorithm == "archive" and (polisher := polisher_for(problem)) is not None:
        polisher.polish(np.zeros_like(genomes[0]), problem.instance.cells.rows, 0)
        if default_limit(problem.layout.bits) >= LONG and can_settle(problem.instance):
            ProofTable.of(problem.instance).warm_up()
    return time.monotonic() - started


def run_search(
    search: Search,
    stop: Stop,
    *,
    on_generation: OnGeneration | None = None,
    save: Callable[[State], None] | None = None,
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
    save : callable, optional
        Given the state after the first generation, every few seconds, and when the run is
        interrupted.
    interrupted : callable, optional
        Asked after each generation whether to end the run here.
    state : State, optional
        Where to go on, as `save` was given it.

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


def _front(archive: Found) -> Floats:
    """Objectives of the solutions found so far; none as long as all are infeasible."""
    return archive.values if archive.is_feasible else archive.values[:0]


class _Run:
    """A search on its way: what decides when it stops."""

    def __init__(self, search: Search, stop: Stop) -> None:
        self.search = search
        self.stop = stop
        space = search.space
        self.space = space if space <= MOST_GENOMES else None  # no end in sight of a larger one
        self.hypervolume = _Hypervolume(search.problem)
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
        targets = self.search.complete != ALL_GENOMES
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


class PacedSaving:
    """Saves now and then, so that saving takes a small share of the time."""

    def __init__(self, save: Callable[[State], None]) -> None:
        self._save = save
        self._next = time.monotonic()  # at once: a place that cannot be written to shows early

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def save(self, state: State) -> None:
        before = time.monotonic()
        self._save(state)
        after = time.monotonic()
        self._next = after + max(_PACE, (after - before) / _SHARE)


# -- the hypervolume -----------------------------------------------------------------------------

_Scale = Callable[[Floats], Floats]


class _Hypervolume:
    """One number for a whole front: how much of the ideal it reaches.

    Each objective is put on [0, 1], 0 being the best there could be on the table at hand: losses
    and distances as they are (fractions), sizes of groups by their logarithm (from k = 2 to 4 is as
    much a gain as from 200 to 400), diversities by the number of sensitive values, others by the
    largest value that the table allows. The scales depend on the table alone and never on what was
    found, so the numbers of two generations, or of two runs on one table, can be compared. With
    ``[k, loss]`` it is the area under the front in (ln k, 1 - loss) over ln n. Where objectives
    have none, `why_not` says why.
    """

    def __init__(self, problem: SearchProblem) -> None:
        self.why_not: str | None = None
        self._scales: list[_Scale] = []
        if len(problem.measures) > _MOST_OBJECTIVES:
            self.why_not = (
                f"the hypervolume is taken of at most {_MOST_OBJECTIVES} objectives. "
                f"Got {len(problem.measures)}"
            )
            return
        for measure in problem.measures:
            scale = _scale(measure, problem.instance)
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
        places = np.clip(np.stack(costs, axis=1), 0.0, 1.0)
        return float(moocore.hypervolume(places, ref=np.ones(len(costs))))


def _scale(measure: Measure, instance: Instance) -> _Scale | None:
    """How a column of points (negated where more is better) becomes a cost in [0, 1]."""
    found = _share(measure, instance)
    if found is None:
        return None
    if measure.direction == "max":
        return lambda points: 1.0 - found(-points)
    return found


def _share(measure: Measure, instance: Instance) -> _Scale | None:
    rows = instance.cells.rows
    values = max((len(column.labels) for column in instance.cells.sensitive), default=1)
    if measure.unit.startswith("share") or measure.unit == "distance":
        return lambda numbers: numbers
    if measure.unit == "values":
        return lambda numbers: numbers / values
    if measure.unit in ("rows", "groups", "rows²"):
        add = 1 if measure.range.low == 0 else 0  # counts that can be 0 have no logarithm
        most = np.log(max(rows + add, 2)) * (2 if measure.unit == "rows²" else 1)
        return lambda numbers: np.log(numbers + add) / most
    if measure.most is not None:
        largest = measure.most(instance)
        return lambda numbers: numbers / largest
    return None
