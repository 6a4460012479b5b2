"""Running a search: stepping it until its limit is reached, and what it came to.

Whatever the next generation depends on is part of the saved state. So a run that is interrupted and
resumed goes the same way as one that is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from moanon.arrays import Floats, State
from moanon.errors import SearchError
from moanon.progress import OnGeneration, Progress
from moanon.search.algorithms import MOST_GENOMES, STALLED
from moanon.search.archive import Archive
from moanon.search.checkpoint import PacedSaving, part_of, prefixed
from moanon.search.convergence import Convergence
from moanon.search.search import Hypervolume, Search, Stop

#: The hypervolume is taken every so many generations; after each one where it is a limit.
_HYPERVOLUME_EVERY = 5
#: A smaller relative gain of hypervolume counts as none.
_GAIN = 1e-6
#: Generations in a row without a new genome after which there is nothing more to be hoped for.
_MOST_IDLE = 100

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
    """Step a search until it is to stop.

    Parameters
    ----------
    search : Search
        Before its first generation.
    stop : Stop
    on_generation : callable, optional
        Called with the progress after each generation.
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
