"""Experiments: how a run comes to its results folder.

`Experiment.prepare` and `Experiment.run` tell the story; each of their steps stands below them.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from moanon import __version__
from moanon.arrays import Outlined
from moanon.config import Config
from moanon.data.coarsening import note_on_merged
from moanon.data.digests import kept, new_key
from moanon.errors import InfeasibleError, OutputError
from moanon.experiment.finished import ETA_TABLE, draw_plots, run_of, write_eta_table, write_page
from moanon.experiment.folder import (
    LOCK,
    PROOF,
    RESULTS,
    FolderLock,
    check_folder,
    clear_pictures,
    clear_results,
    identity_of,
    make_folder,
    mark_without_solution,
    read_evaluated,
    results_of,
    spare_inputs,
    with_limits,
    write_evaluated,
)
from moanon.experiment.optimization import (
    algorithm_for,
    changed,
    check_proof,
    checked_threads,
    etas_of,
    make_limits,
    make_problem,
    prepare_kernels,
)
from moanon.experiment.planning import with_eta
from moanon.experiment.preparation import (
    already,
    load_state,
    notes_on_alike,
    notes_on_folder,
    notes_on_settings,
    still_known,
)
from moanon.experiment.proving import earlier_proof, keep_proof, prove_limits
from moanon.experiment.stored import domains_texts
from moanon.front import Front
from moanon.front.results import DOMAINS
from moanon.genome import Instance
from moanon.paths import checked_path
from moanon.progress import OnStep, on_part
from moanon.recoding import BOXES
from moanon.search.archive import SharedLimits
from moanon.search.checkpoint import Checkpoints, Identity, State, part_of, prefixed
from moanon.search.exact import (
    bounds_of_all,
    is_exact_wanted,
    prove_within_budget,
    take_in,
)
from moanon.search.front_proof import FrontProof, ProofRecord
from moanon.search.local import LocalLimits
from moanon.search.running import (
    OnGeneration,
    Outcome,
    Progress,
    Stop,
    run_search,
    stop_of,
)

#: Share of the effort for a further limit, which starts from what was found for the others.
_FURTHER = 0.25

#: How the search for a limit went: a part of ``run.json``.
_Course = dict[str, Any]


# -- one run ---------------------------------------------------------------------------------------


def make_record(config: Config, instance: Instance, identity: Identity) -> dict[str, Any]:
    """What ``run.json`` tells about results of any kind: what they were made from, and by what."""
    table = instance.table
    key = new_key(table.digest)
    keyed = {} if key is None else {"key": key, "cells_digest": kept(instance.digest, key)}
    return {
        "name": config.name,
        "moanon": __version__,
        "versions": identity.versions
        | {"python": platform.python_version(), "numba": version("numba")},
        "config": {"digest": config.digest, "search": identity.config},
        "roles": config.roles,
        "data": {
            "source": table.source,
            "digest": kept(table.digest, key),
            **keyed,
            "rows_in": table.rows_in,
            "rows_dropped": table.rows_dropped,
            "rows": table.rows,
        },
    }


@dataclass(frozen=True, repr=False)
class Result(Outlined):
    """What came of an experiment.

    Attributes
    ----------
    folder : Path
    outcome : Outcome
        How the search ended; of several, the last one.
    fronts : dict of float to Front
        What was written for each limit, the widest first; empty where the run was interrupted.
    evaluations : int
        Different genomes that were evaluated, earlier ones in the folder included.
    compiling : float
        Seconds that compiling or loading the kernels took, before the search.
    proof : ProofRecord or None
        How much of the front without suppression was proven by the search itself.
    is_cut : bool
        Whether the proof that was asked for after the search was interrupted.
    """

    folder: Path
    outcome: Outcome
    fronts: Mapping[float, Front]
    evaluations: int
    compiling: float
    proof: ProofRecord | None = None
    is_cut: bool = False

    @property
    def front(self) -> Front | None:
        """The front of the widest limit; None where the run was interrupted."""
        return next(iter(self.fronts.values()), None)


@dataclass(frozen=True, repr=False)
class Experiment(Outlined):
    """A configuration that is ready to run; made by `prepare`.

    Attributes
    ----------
    config : Config
    lock : FolderLock
        Keeps other runs away from the folder, from `prepare` to the end of `run`.
    instance : Instance
        The table.
    limits : SharedLimits or LocalLimits
        Everything found so far, for each limit of suppression.
    known : dict of float to Path
        Limits for which the folder has results, and where.
    identity : Identity
        What is searched, whatever the limits.
    checkpoints : Checkpoints
    saved : State or None
        Where to go on.
    replace : bool
        Whether results in the folder may be replaced.
    force : bool
        Whether everything else that the folder holds of earlier runs goes when this one is done.
    notes : tuple of str
        What was noticed on the way and should be told.
    threads : int
    """

    config: Config
    lock: FolderLock
    instance: Instance
    limits: SharedLimits | LocalLimits
    known: Mapping[float, Path]
    identity: Identity
    checkpoints: Checkpoints
    saved: State | None
    replace: bool
    force: bool
    notes: tuple[str, ...]
    threads: int

    @classmethod
    def prepare(
        cls, config: Config, *, resume: bool = False, force: bool = False, threads: int | None = 1
    ) -> Experiment:
        """Look at the folder, read the data, and find where to go on.

        Parameters
        ----------
        config : Config
            With one limit of suppression or several.
        resume : bool
            Go on from the folder's checkpoint, if there is one.
        force : bool
            Replace whatever run the folder holds.
        threads : int or None
            None: one for each processor. Results do not depend on it.

        Raises
        ------
        OutputError
            If the folder is in use or holds another run; or, unless it is to be resumed, this one
            already.
        SearchError
            If its checkpoints cannot be used.
        MoanonError
            If the configuration does not fit its data.
        """
        threads = checked_threads(threads)
        folder = checked_path(config.output.dir, OutputError)
        lock = FolderLock(folder)
        try:
            if folder.is_dir():  # else it is made, and locked, by the run
                lock.enter()
            check_folder(folder, resume=resume, force=force)
            instance = config.instance()
            spare_inputs(folder, (*instance.table.files, *config.hierarchy_files))
            identity = identity_of(config, instance)
            checkpoints = Checkpoints(folder, with_limits(identity, etas_of(config)))
            saved, notes = load_state(checkpoints) if resume else (None, [])
            if saved is not None:
                force = bool(saved["force"])
            known = {} if force else results_of(folder, identity)
            if saved is not None:
                known = still_known(folder, known, saved["known"].tolist())
            etas = {*etas_of(config), *known}
            if etas == known.keys() and not resume:
                raise already(folder)
            problem = make_problem(config, instance, threads)
            check_proof(config, problem)
            algorithm = algorithm_for(config, instance)
            if saved is None:
                notes += notes_on_folder(folder, known, etas, resume=resume)
            notes += notes_on_settings(config, algorithm)
            notes += note_on_merged(instance.table.columns, instance.layout.domains)
            notes += notes_on_alike(config, instance)
            if dropped := instance.table.dropped:
                notes.insert(0, dropped)
            return cls(
                config=config,
                lock=lock,
                instance=instance,
                limits=make_limits(config, problem, etas, known),
                known=known,
                identity=identity,
                checkpoints=checkpoints,
                saved=saved,
                replace=resume or force or bool(known),
                force=force,
                notes=tuple(notes),
                threads=threads,
            )
        except BaseException:
            lock.leave()
            raise

    def run(
        self,
        on_generation: OnGeneration | None = None,
        interrupted: Callable[[], bool] | None = None,
        on_step: OnStep | None = None,
    ) -> Result:
        """Search for each limit in turn, write the results, and draw them.

        Parameters
        ----------
        on_generation, interrupted
            As for `moanon.search.running.run_search`.
        on_step : callable, optional
            Told what is done after the search, and how far that is.

        Raises
        ------
        InfeasibleError
            If nothing that was found meets the constraints.
        """
        started = time.monotonic()
        try:
            self._take_folder()
            compiling = prepare_kernels(self.limits.problems[0], self.algorithm)
            begin, courses = self._begin()
            for number in range(begin, len(self.phases)):
                outcome = self._search(number, courses, on_generation, interrupted)
                if outcome.reason == "interrupted":
                    return Result(self.folder, outcome, {}, self.limits.evaluations, compiling)
                course = self._course(outcome, compiling, time.monotonic() - started)
                courses[self.phases[number]] = course
                # With every genome evaluated for one limit, they are for all the others.
                if outcome.reason == "exhausted" and isinstance(self.limits, SharedLimits):
                    courses.update(dict.fromkeys(self.phases[number:], course))
                    break
            settled = self._settle(outcome, on_step, interrupted)
            if settled is None:
                outcome = replace(outcome, reason="interrupted")
                return Result(self.folder, outcome, {}, self.limits.evaluations, compiling)
            fronts, proofs = settled
            self._write(fronts, courses, proofs)
            self.checkpoints.remove()  # from here on the folder is finished
            seconds, is_cut = self.config.search.prove, False
            if seconds is not None and any(front.proven is None for front in fronts.values()):
                told = on_part(on_step, "proving")
                fronts = prove_limits(self.folder, self.places, fronts, seconds, interrupted, told)
                is_cut = interrupted is not None and interrupted()
            self.show(fronts, on_step)
            evaluations = self.limits.evaluations
            proof = self._told_proof(fronts, proofs)
            return Result(self.folder, outcome, fronts, evaluations, compiling, proof, is_cut)
        except InfeasibleError as error:
            mark_without_solution(self.folder, str(error))
            raise
        finally:
            self.lock.leave()

    # -- the steps of a run ----------------------------------------------------------------------

    def _take_folder(self) -> None:
        """Be alone in the folder; as it was, or new."""
        if not self.lock.entered:
            self.lock.enter()
            if any(path.name != LOCK for path in self.folder.iterdir()) and not self.force:
                raise OutputError(
                    f"{self.folder} was filled by somebody else since this run was prepared; look "
                    "at it, and run again"
                )
        make_folder(self.folder)
        mark_without_solution(self.folder, None)

    def _begin(self) -> tuple[int, dict[float, _Course]]:
        """Bring in what is there; return the phase to begin with, and how those before it went."""
        if self.saved is None:
            self.checkpoints.remove()  # of a run that is replaced
            if self.known and isinstance(self.limits, SharedLimits):
                self.limits.learn(
                    read_evaluated(self.folder, self.known, self.identity, self.instance.layout)
                )
            return 0, {}
        self.limits.restore(part_of(self.saved, "limits."))
        courses = json.loads(self.saved["courses"].tobytes())
        return int(self.saved["phase"]), {float(eta): courses[eta] for eta in courses}

    def _search(
        self,
        number: int,
        courses: Mapping[float, _Course],
        on_generation: OnGeneration | None,
        interrupted: Callable[[], bool] | None,
    ) -> Outcome:
        """Search for one of the limits, saving everything now and then."""
        eta = self.phases[number]
        place = self.limits.etas.index(eta)
        search = self.limits.search_for(place, self.config.search)
        further = (number > 0 or self.known) and self.algorithm not in ("exhaustive", "local")
        several = len(self.limits.etas) > 1
        resumed = self.saved is not None and number == int(self.saved["phase"])

        def show(progress: Progress) -> None:
            if on_generation is not None:
                on_generation(replace(progress, eta=eta) if several else progress)

        def save(state: State) -> None:
            done = json.dumps({str(eta): course for eta, course in courses.items()})
            self.checkpoints.save(
                state
                | prefixed("limits.", self.limits.state())
                | {
                    "known": np.array([*self.known], dtype=np.float64),
                    "force": np.array(self.force),
                    "phase": np.array(number),
                    "courses": np.frombuffer(done.encode(), dtype=np.uint8),
                }
            )

        return run_search(
            search,
            self.stop.part(_FURTHER) if further else self.stop,
            on_generation=show,
            save=save,
            interrupted=interrupted,
            state=self.saved if resumed else None,
        )

    def _course(self, outcome: Outcome, compiling: float, seconds: float) -> _Course:
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
                "compiling": round(compiling, 3),
                "process": round(seconds, 3),
                "finished": datetime.now(UTC).isoformat(timespec="seconds"),
                "threads": self.threads,
            },
            "notes": list(self.notes),
        }

    def _fronts(self, on_step: OnStep | None) -> dict[float, Front]:
        """Make all fronts before any is written: one may lack a solution within its constraints."""
        cap, fronts = self.config.search.cap, {}
        for place, eta in enumerate(self.limits.etas):
            what = "measuring" if len(self.limits.etas) == 1 else f"measuring eta {eta}"
            fronts[eta] = self.limits.front(place, cap, on_part(on_step, what))
        return fronts

    def _settle(
        self,
        outcome: Outcome,
        on_step: OnStep | None,
        interrupted: Callable[[], bool] | None,
    ) -> tuple[dict[float, Front], dict[float, FrontProof]] | None:
        """The fronts with all bounds that come unasked, and their proofs; None if interrupted.

        An enumeration needs no proofs. Otherwise there are those that the folder has already, and
        one of the front without suppression where exactness is the default; see ``exact``. What
        that finds to be better is told to all limits, and fronts are made anew.
        """
        fronts = self._fronts(on_step)
        if not isinstance(self.limits, SharedLimits):
            return fronts, {}
        if outcome.reason == "exhausted":
            for (eta, front), archive in zip(fronts.items(), self.limits.archives, strict=True):
                bounds = bounds_of_all(front, archive, self.algorithm)
                fronts[eta] = replace(front, proven=bounds)
            return fronts, {}
        before = {eta: earlier_proof(path, self.instance) for eta, path in self.known.items()}
        proofs = {eta: proof for eta, proof in before.items() if proof is not None}
        eta = min(fronts)
        is_wanted = eta not in proofs and self.config.search.prove is None
        if is_wanted and is_exact_wanted(fronts[eta], self.stop):
            proof = prove_within_budget(fronts[eta], interrupted, on_part(on_step, "proving"))
            if proof is None:
                return None
            if take_in(self.limits, proof):
                fronts = self._fronts(on_step)
            proofs[eta] = proof
        for eta, proof in proofs.items():
            fronts[eta] = replace(fronts[eta], proven=proof.bounds(fronts[eta]))
        return fronts, proofs

    def _told_proof(
        self, fronts: Mapping[float, Front], proofs: Mapping[float, FrontProof]
    ) -> ProofRecord | None:
        """How much of the front without suppression is proven, where that was done unasked."""
        eta = min(fronts)
        if eta not in proofs or not is_exact_wanted(fronts[eta], self.stop):
            return None
        return ProofRecord.of(fronts[eta], proofs[eta].work)

    def _write(
        self,
        fronts: Mapping[float, Front],
        courses: Mapping[float, _Course],
        proofs: Mapping[float, FrontProof],
    ) -> None:
        """Write the results of each limit, and clear away what does not belong to them."""
        for eta, place in self.places.items():
            make_folder(place)
            config = changed(with_eta(self.config, eta), "output", dir=str(place))
            record = self._record(eta, config, courses)
            if fronts[eta].proven is not None:
                bounds = proofs[eta].work if eta in proofs else 0
                record["proof"] = ProofRecord.of(fronts[eta], bounds).to_dict()
            fronts[eta].save(
                place,
                record=record,
                texts={"config.yaml": config.to_yaml(), **domains_texts(fronts[eta])},
                force=self.replace,
            )
            if eta in proofs:
                keep_proof(place, fronts[eta], proofs[eta])
            elif self.force:
                (place / PROOF).unlink(missing_ok=True)
        # An enumeration needs no head start.
        if self.algorithm != "exhaustive" and isinstance(self.limits, SharedLimits):
            write_evaluated(self.folder, self.limits.evaluated, self.identity)
        kept = set(RESULTS) - (set() if self.algorithm == "local" else {BOXES})
        kept -= {DOMAINS} if self.instance.distances else set()
        if len(fronts) > 1:
            kept = {"config.yaml", ETA_TABLE}
            every = with_eta(self.config, tuple(sorted(fronts)))
            write_eta_table(self.folder, fronts, {"config.yaml": every.to_yaml()})
        kept |= {PROOF} if self.folder in self.places.values() else set()
        for name in {*RESULTS, ETA_TABLE, PROOF} - kept:
            (self.folder / name).unlink(missing_ok=True)
        clear_pictures(self.folder)
        if self.force:
            for path in self.folder.glob("eta-*/"):
                if path not in self.places.values():
                    clear_results(path)

    def _record(
        self, eta: float, config: Config, courses: Mapping[float, _Course]
    ) -> dict[str, Any]:
        """What ``run.json`` tells about the run."""
        record = make_record(config, self.instance, self.identity)
        record |= {"seed": self.identity.seed, "cap": self.config.search.cap}
        if eta in courses:
            record |= courses[eta]
        else:  # it was searched for earlier
            before = json.loads((self.known[eta] / "run.json").read_bytes())
            record |= {key: before[key] for key in ("search", "times", "notes") if key in before}
        if len(self.limits.etas) > 1:
            total = self.limits.evaluations
            record["shared"] = {"etas": sorted(self.limits.etas), "evaluations": total}
        return record

    def show(self, fronts: Mapping[float, Front], on_step: OnStep | None = None) -> None:
        """Draw figures and write pages; the results are complete without them."""
        wanted = self.config.output
        runs = [run_of(place, fronts[eta]) for eta, place in self.places.items()][::-1]
        if wanted.plots:
            draw_plots(runs, self.folder, on_step=on_step)
        if wanted.report:
            write_page(runs, self.folder, on_part=on_part(on_step, "page"))
            for run in runs:
                if run.folder != self.folder:
                    what = f"page of {run.folder.name}"
                    write_page([run], run.folder, on_part=on_part(on_step, what))

    # -- what is known about it ------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """Where results go; those of several limits, to ``eta-E`` in it."""
        return self.lock.folder

    @property
    def places(self) -> dict[float, Path]:
        """Where the results of each limit go, the widest first."""
        etas = self.limits.etas
        if len(etas) == 1:
            return {etas[0]: self.folder}
        return {eta: self.folder / f"eta-{eta}" for eta in etas}

    @property
    def phases(self) -> tuple[float, ...]:
        """Limits to search for, in this order."""
        return tuple(eta for eta in self.limits.etas if eta not in self.known)

    @property
    def finished(self) -> bool:
        """Whether the folder holds the results already, and there is nothing to do."""
        return not self.phases

    @cached_property
    def algorithm(self) -> str:
        """What ``auto`` has become."""
        return algorithm_for(self.config, self.instance)

    @property
    def stop(self) -> Stop:
        """When to end the search for the first limit."""
        return stop_of(self.config.search, self.algorithm, self.limits.problems[0])

    def load_fronts(self) -> dict[float, Front]:
        """Read what a finished run has written."""
        return {eta: Front.load(path, self.instance) for eta, path in sorted(self.known.items())}

    @property
    def is_shown(self) -> bool:
        """Whether the figures and the page that are wanted are there."""
        output = self.config.output
        wanted = {"report.html": output.report, "plots": output.plots}
        return all((self.folder / name).exists() for name in wanted if wanted[name])
