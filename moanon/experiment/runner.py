"""The runner: from a configuration and its table to a front for each limit of suppression.

Each limit is searched for as if it were the only one, with the same seed. They share the table with
its counted cells and compiled layout, and nothing else: so the front of a limit depends on no other
limit, and one can be added later without touching what is there. The runner makes the fronts, and
proves of them what comes unasked. It knows neither files nor folders: `moanon.optimize` runs it in
memory, `Experiment` around a results folder, where what has to be saved goes to checkpoints. What
differs between algorithms is theirs (`moanon.search.running.Search`).
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
from moanon.search.algorithms import ALGORITHMS, Stop, foreign_settings, make_search, room_of
from moanon.search.archive import Archive
from moanon.search.problem import AnonymizationProblem
from moanon.search.running import OnGeneration, Outcome, Progress, Search, run_search

#: Machines have fewer processors than this.
_MOST_THREADS = 1024

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


def _check_proof(config: Config, problem: AnonymizationProblem) -> None:
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
        Limits of suppression to search for, by default those of the configuration.
    notes : sequence of str
        What was noticed before; it is recorded with how the search went.

    Attributes
    ----------
    algorithm : str
        What ``auto`` has become.
    kind : type of Search
    problem : AnonymizationProblem
        Under the widest limit of the configuration.
    etas : tuple of float
        Limits to search for in this order, the widest first.
    archives : dict of float to Archive
        What was found for each limit whose search has begun.
    stop : Stop
        When the search for a limit ends.
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
        etas: Sequence[float] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.problem = make_problem(config, instance, threads)
        _check_proof(config, self.problem)
        self.config = config
        self.algorithm = algorithm_for(config, instance)
        self.kind = ALGORITHMS[self.algorithm].load()
        self.etas = tuple(sorted(etas_of(config) if etas is None else etas, reverse=True))
        self.archives: dict[float, Archive] = {}
        self.stop: Stop = self.kind.stop_rule(config.search, self.problem)
        self.notes = (*notes, *self._unused_settings())
        self.courses: dict[float, Course] = {}
        self.compiling = 0.0
        self._saved: State | None = None

    def _unused_settings(self) -> list[str]:
        """Say which settings the chosen search has no use for."""
        if not (unused := self.config.search.unused(self.algorithm)):
            return []
        names, owner = " and ".join(unused), foreign_settings(self.algorithm)[unused[0]]
        return [f"search: {names} is for {owner}; {self.algorithm} has no use for it"]

    @property
    def evaluations(self) -> int:
        """Genomes evaluated, or targets reached for, of all limits together."""
        searches = [course["search"] for course in self.courses.values()]
        return sum(search["evaluations"] + search["polished"] for search in searches)

    # -- running -----------------------------------------------------------------------------------

    def run(self, watch: Watch = Watch()) -> Found:
        """Search for each limit in turn; make the fronts, with all bounds that come unasked.

        Raises
        ------
        InfeasibleError
            If nothing that was found meets the constraints.
        """
        started = time.monotonic()
        self.kind.warm_up(self.problem)  # which a limit in seconds should not count
        self.compiling = time.monotonic() - started
        for number in range(len(self.courses), len(self.etas)):
            outcome = self._search(number, watch)
            if outcome.reason == "interrupted":
                return Found(outcome)
            course = self._course(outcome, time.monotonic() - started)
            self.courses[self.etas[number]] = course
        return self._with_proofs(outcome, watch)

    def search_for(self, eta: float) -> Search:
        """Build the search for a limit; what it finds is in `archives`."""
        problem = self.problem.with_eta(eta)
        search = make_search(problem, self.config.search, self.algorithm)
        self.archives[eta] = search.archive
        return search

    def _search(self, number: int, watch: Watch) -> Outcome:
        """Search for one of the limits, saving everything now and then."""
        eta = self.etas[number]
        saved, self._saved = self._saved, None

        def show(progress: Progress) -> None:
            if watch.on_generation is not None:
                several = len(self.etas) > 1
                watch.on_generation(replace(progress, eta=eta) if several else progress)

        def save(state: State) -> None:
            if watch.save is not None:
                watch.save(state | self._state(number))

        return run_search(
            self.search_for(eta),
            self.stop,
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
                "threads": self.problem.threads,
            },
            "notes": list(self.notes),
        }

    # -- fronts and their proofs -------------------------------------------------------------------

    def fronts(self, watch: Watch) -> dict[float, Front]:
        """Make all fronts before any is written: one may lack a solution within its constraints."""
        return {eta: self._front(eta, watch) for eta in self.archives}

    def _front(self, eta: float, watch: Watch) -> Front:
        what = "measuring" if len(self.etas) == 1 else f"measuring eta {eta}"
        return self.kind.front_of(
            self.problem.with_eta(eta),
            self.archives[eta],
            self.config.search.cap,
            on_part(watch.on_step, what),
        )

    def _with_proofs(self, outcome: Outcome, watch: Watch) -> Found:
        """The fronts with all bounds that come unasked, and their proofs.

        An enumeration needs no proof. Otherwise there is one of a front without suppression, where
        exactness is the default.
        """
        fronts, proofs = self.fronts(watch), {}
        for eta, front in fronts.items():
            if not self.kind.of_genomes:
                continue
            if self.courses[eta]["search"]["stopped"] == "exhausted":
                if self.kind.keeps_all and not self.archives[eta].thinned:
                    fronts[eta] = replace(front, proven=bounds_of_all(front))
            elif self.config.search.prove is None and self._is_exact_wanted(front):
                proving = on_part(watch.on_step, "proving")
                proof = prove_within_budget(front, watch.interrupted, proving)
                if proof is None:
                    return Found(replace(outcome, reason="interrupted"))
                proofs[eta] = proof
                fronts[eta] = self._proven(eta, front, proof, watch)
        return Found(outcome, fronts, proofs)

    def _is_exact_wanted(self, front: Front) -> bool:
        """Whether a front is one that a search without limits of its own makes exact."""
        if self.stop.stalled is None or front.instance is None or why_unprovable(front) is not None:
            return False
        return front.suppression.most_rows(front.instance.cells.rows) == 0

    def _proven(self, eta: float, front: Front, proof: FrontProof, watch: Watch) -> Front:
        """The front of a limit with its bounds, and with what a proof has found to be better."""
        if proof.better:
            genomes = proof.better_genomes()
            self.archives[eta].add(self.problem.with_eta(eta).points(genomes), genomes)
            front = self._front(eta, watch)
        return replace(front, proven=proof.bounds(front))

    def prove(self, found: Found, seconds: float, watch: Watch) -> Front:
        """Prove the front of the one limit for so many seconds, in memory."""
        ((eta, front),) = found.fronts.items()
        proof = FrontProof(front)
        proof.table.warm_up()
        end = time.monotonic() + seconds
        for _ in proof.advances():
            if time.monotonic() >= end or (watch.interrupted is not None and watch.interrupted()):
                break
        return self._proven(eta, front, proof, watch)

    def exact_record(self, found: Found, fronts: Mapping[float, Front]) -> ProofRecord | None:
        """How much of the front without suppression is proven, where that was done unasked."""
        for eta, proof in found.proofs.items():
            return ProofRecord.of(fronts[eta], proof.work)
        return None

    # -- what is saved -----------------------------------------------------------------------------

    def _state(self, number: int) -> State:
        """What the search for the limit that comes at `number` does not know itself."""
        done = json.dumps({str(eta): course for eta, course in self.courses.items()})
        state: State = {"courses": np.frombuffer(done.encode(), dtype=np.uint8)}
        for place in range(number):
            state |= prefixed(f"done{place}.", self.archives[self.etas[place]].state())
        return state

    def restore(self, state: State) -> None:
        """Go on from a saved state, which must be of the same configuration and table."""
        courses = json.loads(state["courses"].tobytes())
        self.courses = {float(eta): courses[eta] for eta in courses}
        for place, eta in enumerate(self.courses):
            room = room_of(self.config.search, self.algorithm)
            self.archives[eta] = self.kind.empty_archive(self.problem, room)
            self.archives[eta].restore(part_of(state, f"done{place}."))
        self._saved = state
