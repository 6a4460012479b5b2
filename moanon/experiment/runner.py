"""The runner: from a configuration and its table to a front for each limit of suppression.

It searches for one limit after the other, makes the fronts, and proves of them what comes unasked.
It knows neither files nor folders: `moanon.optimize` runs it in memory, `Experiment` around a
results folder, where what has to be saved goes to checkpoints. What differs between algorithms is
theirs (`moanon.search.search.Search`).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from moanon.arrays import Outlined, State, part_of, prefixed
from moanon.config import Config
from moanon.errors import ConfigError, got
from moanon.experiment.planning import algorithm_for, etas_of, make_problem
from moanon.front import Front
from moanon.genome import Instance
from moanon.progress import OnStep, on_part
from moanon.proofs.front_proof import FrontProof, ProofRecord, bounds_of_all, prove_within_budget
from moanon.proofs.provable import LOCAL, why_unprovable
from moanon.search.algorithms import foreign_settings, room_of
from moanon.search.limits import Limits
from moanon.search.problem import SearchProblem
from moanon.search.running import OnGeneration, Outcome, Progress, run_search
from moanon.search.stopping import Stop

#: Machines have fewer processors than this.
_MOST_THREADS = 1024
#: Share of the effort for a further limit, which starts from what was found for the others.
_FURTHER = 0.25

#: How the search for a limit went: a part of ``run.json``.
Course = dict[str, Any]


def checked_threads(threads: int | None) -> int:
    """Give a number of threads, by default one for each processor.

    Each has working memory of its own; more than there are processors make nothing faster.
    """
    if threads is None:
        return min(os.cpu_count() or 1, _MOST_THREADS)
    is_whole = isinstance(threads, int) and not isinstance(threads, bool)
    if not is_whole or not 1 <= threads <= _MOST_THREADS:
        raise ConfigError(
            f"threads must be a whole number of at least 1 and at most {_MOST_THREADS:,}. "
            f"Got {got(threads)}"
        )
    return threads


def _check_proof(config: Config, problem: SearchProblem) -> None:
    """Refuse to prove what cannot be proven, before anything is searched."""
    reason = LOCAL if config.problem.has_boxes else problem.why_unprovable
    if config.search.prove is not None and reason is not None:
        raise ConfigError(f"{reason} (search.prove)")


@dataclass(frozen=True)
class Watch:
    """Who follows a run, and may end it.

    Attributes
    ----------
    on_generation : callable, optional
        Called with the progress after each generation.
    on_step : callable, optional
        Called with what is done after the search, and how far that is.
    interrupted : callable, optional
        Asked after each generation and each bound of a proof whether to end here.
    save : callable, optional
        Given the state of the run now and then, and when it is interrupted.
    """

    on_generation: OnGeneration | None = None
    on_step: OnStep | None = None
    interrupted: Callable[[], bool] | None = None
    save: Callable[[State], None] | None = None


@dataclass(frozen=True, repr=False)
class Found(Outlined):
    """What a run has found.

    Attributes
    ----------
    outcome : Outcome
        How the search ended; of several, the last one.
    fronts : dict of float to Front
        For each limit, the widest first; none where the run was interrupted.
    proofs : dict of float to FrontProof
        Proofs of some of them.
    """

    outcome: Outcome
    fronts: Mapping[float, Front] = field(default_factory=dict)
    proofs: Mapping[float, FrontProof] = field(default_factory=dict)


class Runner:
    """Searches for what a configuration asks for.

    Parameters
    ----------
    config : Config
    instance : Instance
        Its table.
    threads : int
        Results do not depend on it.
    etas : sequence of float, optional
        Limits of suppression, by default those of the configuration.
    known : sequence of float
        Those of them that were searched for earlier.
    notes : sequence of str
        What was noticed before; it is recorded with how the search went.

    Attributes
    ----------
    algorithm : str
        What ``auto`` has become.
    kind : type of Search
    limits : Limits
        Everything found so far, for each limit of suppression.
    stop : Stop
        When the search for the first limit ends.
    courses : dict of float to Course
        How the search went for each limit that is done.
    compiling : float
        Seconds that compiling or loading the kernels took, before the search.
    """

    def __init__(
        self,
        config: Config,
        instance: Instance,
        threads: int = 1,
        etas: Sequence[float] = (),
        known: Sequence[float] = (),
        notes: Sequence[str] = (),
    ) -> None:
        problem = make_problem(config, instance, threads)
        _check_proof(config, problem)
        self.config = config
        self.algorithm = algorithm_for(config, instance)
        room = room_of(config.search, self.algorithm)
        self.limits = Limits(problem, etas or etas_of(config), self.algorithm, room)
        self.kind = self.limits.kind
        self.stop: Stop = self.kind.stop_rule(config.search, self.limits.problems[0])
        self.known = tuple(known)
        self.notes = (*notes, *self._unused_settings())
        self.courses: dict[float, Course] = {}
        self.compiling = 0.0
        self._phase = 0
        self._saved: State | None = None

    def _unused_settings(self) -> list[str]:
        """Say which settings the chosen search has no use for."""
        if not (unused := self.config.search.unused(self.algorithm)):
            return []
        names, owner = " and ".join(unused), foreign_settings(self.algorithm)[unused[0]]
        return [f"search: {names} is for {owner}; {self.algorithm} has no use for it"]

    @property
    def phases(self) -> tuple[float, ...]:
        """Limits to search for, in this order."""
        return tuple(eta for eta in self.limits.etas if eta not in self.known)

    @property
    def evaluations(self) -> int:
        """Different genomes that were evaluated, earlier ones included; or targets reached for."""
        if self.kind.of_genomes:
            return self.limits.evaluations
        return sum(course["search"]["evaluations"] for course in self.courses.values())

    # -- running -----------------------------------------------------------------------------------

    def run(
        self,
        watch: Watch = Watch(),
        earlier: Callable[[], Mapping[float, FrontProof]] = dict,
    ) -> Found:
        """Search for each limit in turn; make the fronts, with all bounds that come unasked.

        `earlier` gives the proofs that there are of fronts of earlier runs.

        Raises
        ------
        InfeasibleError
            If nothing that was found meets the constraints.
        """
        started = time.monotonic()
        self.kind.warm_up(self.limits.problems[0])  # which a limit in seconds should not count
        self.compiling = time.monotonic() - started
        for number in range(self._phase, len(self.phases)):
            outcome = self._search(number, watch)
            if outcome.reason == "interrupted":
                return Found(outcome)
            course = self._course(outcome, time.monotonic() - started)
            self.courses[self.phases[number]] = course
            # With every genome evaluated for one limit, they are for all the others.
            if outcome.reason == "exhausted" and self.kind.of_genomes:
                self.courses.update(dict.fromkeys(self.phases[number:], course))
                break
        return self._settled(outcome, watch, earlier)

    def _search(self, number: int, watch: Watch) -> Outcome:
        """Search for one of the limits, saving everything now and then."""
        eta = self.phases[number]
        further = (number > 0 or self.known) and self.kind.is_random
        several = len(self.limits.etas) > 1
        saved, self._saved = self._saved, None

        def show(progress: Progress) -> None:
            if watch.on_generation is not None:
                watch.on_generation(replace(progress, eta=eta) if several else progress)

        def save(state: State) -> None:
            if watch.save is not None:
                watch.save(state | self._state(number))

        return run_search(
            self.limits.search_for(self.limits.etas.index(eta), self.config.search),
            self.stop.part(_FURTHER) if further else self.stop,
            on_generation=show,
            save=None if watch.save is None else save,
            interrupted=watch.interrupted,
            state=saved,
        )

    def _course(self, outcome: Outcome, seconds: float) -> Course:
        return {
            "search": {
                "algorithm": self.algorithm,
                "generations": outcome.generation,
                "evaluations": outcome.evaluations,
                "polished": outcome.polished,
                "hypervolume": outcome.hypervolume,
                "convergence": None if (c := outcome.convergence) is None else c.to_dict(),
                "stopped": outcome.reason,
                "why": outcome.why,
            },
            "times": {
                # Of the search alone; the process, up to here, also compiled.
                "search": round(outcome.seconds, 3),
                "compiling": round(self.compiling, 3),
                "process": round(seconds, 3),
                "finished": datetime.now(UTC).isoformat(timespec="seconds"),
                "threads": self.limits.problems[0].threads,
            },
            "notes": list(self.notes),
        }

    # -- fronts and their proofs -------------------------------------------------------------------

    def fronts(self, watch: Watch) -> dict[float, Front]:
        """Make all fronts before any is written: one may lack a solution within its constraints."""
        cap, fronts = self.config.search.cap, {}
        for place, eta in enumerate(self.limits.etas):
            what = "measuring" if len(self.limits.etas) == 1 else f"measuring eta {eta}"
            fronts[eta] = self.limits.front(place, cap, on_part(watch.on_step, what))
        return fronts

    def _settled(
        self, outcome: Outcome, watch: Watch, earlier: Callable[[], Mapping[float, FrontProof]]
    ) -> Found:
        """The fronts with all bounds that come unasked, and their proofs.

        An enumeration needs no proofs. Otherwise there are those of earlier runs, and one of the
        front without suppression where exactness is the default.
        """
        fronts = self.fronts(watch)
        if not self.kind.of_genomes:
            return Found(outcome, fronts)
        if outcome.reason == "exhausted":
            for (eta, front), archive in zip(fronts.items(), self.limits.archives, strict=True):
                if self.kind.keeps_all and not archive.thinned:
                    fronts[eta] = replace(front, proven=bounds_of_all(front))
            return Found(outcome, fronts)
        proofs = dict(earlier())
        eta = min(fronts)
        is_wanted = eta not in proofs and self.config.search.prove is None
        if is_wanted and self._is_exact_wanted(fronts[eta]):
            proving = on_part(watch.on_step, "proving")
            proof = prove_within_budget(fronts[eta], watch.interrupted, proving)
            if proof is None:
                return Found(replace(outcome, reason="interrupted"))
            proofs[eta] = proof
            fronts = self._with_better(fronts, proof, watch)
        for eta, proof in proofs.items():
            fronts[eta] = replace(fronts[eta], proven=proof.bounds(fronts[eta]))
        return Found(outcome, fronts, proofs)

    def _is_exact_wanted(self, front: Front) -> bool:
        """Whether a front is one that a search without limits of its own makes exact."""
        if self.stop.stalled is None or front.instance is None or why_unprovable(front) is not None:
            return False
        return front.suppression.most_rows(front.instance.cells.rows) == 0

    def _with_better(
        self, fronts: dict[float, Front], proof: FrontProof, watch: Watch
    ) -> dict[float, Front]:
        """The fronts once all limits have learned what a proof has found to be better."""
        if not proof.better:
            return fronts
        self.limits.learn(self.limits.problems[0].layout.pack(proof.better_genomes()))
        return self.fronts(watch)

    def prove(self, found: Found, seconds: float, watch: Watch) -> dict[float, Front]:
        """Prove the front of the one limit for so many seconds, in memory."""
        ((eta, front),) = found.fronts.items()
        proof = FrontProof(front)
        proof.table.warm_up()
        end = time.monotonic() + seconds
        for _ in proof.advances():
            if time.monotonic() >= end or (watch.interrupted is not None and watch.interrupted()):
                break
        front = self._with_better({eta: front}, proof, watch)[eta]
        return {eta: replace(front, proven=proof.bounds(front))}

    def exact_record(self, found: Found, fronts: Mapping[float, Front]) -> ProofRecord | None:
        """How much of the front without suppression is proven, where that was done unasked."""
        eta = min(fronts)
        if eta not in found.proofs or not self._is_exact_wanted(fronts[eta]):
            return None
        return ProofRecord.of(fronts[eta], found.proofs[eta].work)

    # -- what is saved -----------------------------------------------------------------------------

    def _state(self, number: int) -> State:
        """What the search for the limit that comes at `number` does not know itself."""
        done = json.dumps({str(eta): course for eta, course in self.courses.items()})
        return prefixed("limits.", self.limits.state()) | {
            "known": np.array(self.known, dtype=np.float64),
            "phase": np.array(number),
            "courses": np.frombuffer(done.encode(), dtype=np.uint8),
        }

    def restore(self, state: State) -> None:
        """Go on from a saved state, which must be of the same configuration and table."""
        self.limits.restore(part_of(state, "limits."))
        courses = json.loads(state["courses"].tobytes())
        self.courses = {float(eta): courses[eta] for eta in courses}
        self._phase, self._saved = int(state["phase"]), state
