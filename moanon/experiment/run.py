"""Running an experiment: for one limit of suppression or for several that learn from each other."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from moanon import __version__
from moanon.config import Config
from moanon.errors import InfeasibleError, OutputError, SearchError
from moanon.experiment.comparison import COMPARISON, write_comparison_table
from moanon.experiment.folder import (
    RESULTS,
    check_folder,
    clear_pictures,
    clear_results,
    identity_of,
    make_folder,
    mark_without_solution,
    read_evaluated,
    results_of,
    with_limits,
    write_evaluated,
)
from moanon.experiment.lock import LOCK, FolderLock
from moanon.experiment.plan import etas_of, make_problem, with_eta, with_folder
from moanon.experiment.showing import draw_plots, run_of, write_page
from moanon.front import Front
from moanon.genome import Instance
from moanon.search.algorithms import choose_algorithm, foreign_settings, make_search, room_of
from moanon.search.archive import front_of
from moanon.search.checkpoint import Checkpoints, Identity, State
from moanon.search.running import Outcome, Progress, Stop, run_search, stop_of, warm_up
from moanon.search.shared_limits import SharedLimits

__all__ = ["Experiment", "Result"]

#: Share of the effort for a further limit, which starts from what was found for the others.
FURTHER = 0.25

#: What a checkpoint holds besides the search and what is shared.
_PARTS = {"known", "force", "phase", "courses"}

OnGeneration = Callable[[Progress], None]


@dataclass(frozen=True)
class Result:
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
    """

    folder: Path
    outcome: Outcome
    fronts: Mapping[float, Front]
    evaluations: int
    compiling: float

    @property
    def front(self) -> Front | None:
        """The front of the widest limit; None where the run was interrupted."""
        return next(iter(self.fronts.values()), None)


@dataclass(frozen=True)
class Experiment:
    """A configuration that is ready to run.

    Attributes
    ----------
    config : Config
    folder : Path
        Where results go; those of several limits, to ``eta-E`` in it.
    lock : FolderLock
        Keeps other runs away, from `prepare` to the end of `run`.
    instance : Instance
        The table.
    limits : SharedLimits
        Everything found so far, for each limit.
    phases : tuple of float
        Limits to search for, in this order.
    known : dict of float to Path
        Limits for which the folder has results, and where.
    algorithm : str
        What ``auto`` has become.
    stop : Stop
        When to end the search for the first limit.
    identity : Identity
        What is searched, whatever the limits.
    checkpoints : Checkpoints
    state : State or None
        Where to go on.
    finished : bool
        Whether the folder holds the results already, and there is nothing to do.
    replace : bool
        Whether results in the folder may be replaced.
    force : bool
        Whether everything else that the folder holds of earlier runs goes when this one is done.
    notes : tuple of str
        What was noticed on the way and should be told.
    threads : int
    courses : dict of float to dict
        How the search for a limit went, for those that are done.
    """

    config: Config
    folder: Path
    lock: FolderLock
    instance: Instance
    limits: SharedLimits
    phases: tuple[float, ...]
    known: Mapping[float, Path]
    algorithm: str
    stop: Stop
    identity: Identity
    checkpoints: Checkpoints
    state: State | None
    finished: bool
    replace: bool
    force: bool
    notes: tuple[str, ...]
    threads: int
    courses: dict[float, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def prepare(
        cls, config: Config, *, resume: bool = False, force: bool = False, threads: int = 1
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
        threads : int
            Results do not depend on it.

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
        folder = Path(config.output.dir)
        lock = FolderLock(folder)
        try:
            if folder.is_dir():  # else it is made, and locked, by the run
                lock.enter()
            return cls._prepare(config, lock, resume=resume, force=force, threads=threads)
        except BaseException:
            lock.leave()
            raise

    @classmethod
    def _prepare(
        cls, config: Config, lock: FolderLock, *, resume: bool, force: bool, threads: int
    ) -> Experiment:
        folder = lock.folder
        check_folder(folder, resume=resume, force=force)
        instance = config.instance()
        identity = identity_of(config, instance)
        checkpoints = Checkpoints(folder, with_limits(identity, etas_of(config)))
        loaded = checkpoints.load() if resume and checkpoints.exist else None
        state, notes = None, []
        if loaded is not None:
            state, note = loaded
            if not state.keys() >= _PARTS:
                raise SearchError(
                    f"{folder} holds a checkpoint that this version does not understand; start "
                    "anew with --force"
                )
            notes += [note] if note else []
            force = bool(state["force"])
            known = {} if force else results_of(folder, identity)
            known = {eta: known[eta] for eta in state["known"].tolist()}
        else:
            known = {} if force else results_of(folder, identity)
            if resume and not known:
                notes.append(f"{folder} holds no checkpoint; starting from the beginning")
        etas = tuple(sorted({*etas_of(config), *known}, reverse=True))
        phases = tuple(eta for eta in etas if eta not in known)
        if state is None and known and phases:
            had, more = (", ".join(map(str, sorted(some))) for some in (known, phases))
            notes.append(f"{folder} has results for eta {had}; adding {more}, starting from them")
        if not phases and not resume:
            raise _already(folder)
        problem = make_problem(config, instance, threads)
        algorithm = choose_algorithm(instance.layout.count(), config.search)
        unused = config.search.unused(algorithm)
        if unused:
            names, owner = " and ".join(unused), foreign_settings(algorithm)[unused[0]]
            notes.append(f"search: {names} is for {owner}; {algorithm} has no use for it")
        return cls(
            config=config,
            folder=folder,
            lock=lock,
            instance=instance,
            limits=SharedLimits(problem, etas, room_of(config.search, algorithm)),
            phases=phases,
            known=known,
            algorithm=algorithm,
            stop=stop_of(config.search, algorithm),
            identity=identity,
            checkpoints=checkpoints,
            state=state,
            finished=not phases,
            replace=resume or force,
            force=force,
            notes=tuple(notes),
            threads=threads,
        )

    @property
    def places(self) -> dict[float, Path]:
        """Where the results of each limit go, the widest first."""
        etas = self.limits.etas
        if len(etas) == 1:
            return {etas[0]: self.folder}
        return {eta: self.folder / f"eta-{eta}" for eta in etas}

    def load_fronts(self) -> dict[float, Front]:
        """Read what a finished run has written."""
        return {eta: Front.load(path, self.instance) for eta, path in sorted(self.known.items())}

    def run(
        self,
        on_generation: OnGeneration | None = None,
        interrupted: Callable[[], bool] | None = None,
    ) -> Result:
        """Search, and write the results.

        Parameters
        ----------
        on_generation, interrupted
            As for `moanon.search.run.run_search`.
        """
        try:
            self._enter()
            return self._run(on_generation, interrupted)
        except InfeasibleError as error:
            mark_without_solution(self.folder, str(error))
            raise
        finally:
            self.lock.leave()

    def _enter(self) -> None:
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

    def _run(
        self, on_generation: OnGeneration | None, interrupted: Callable[[], bool] | None
    ) -> Result:
        started = time.monotonic()
        compiling = warm_up(self.limits.problems[0])
        begin, state = self._begin()
        for number in range(begin, len(self.phases)):
            outcome = self._search(number, state, on_generation, interrupted)
            state = None
            if outcome.reason == "interrupted":
                return Result(self.folder, outcome, {}, len(self.limits.evaluated), compiling)
            course = self._course(outcome, compiling, time.monotonic() - started)
            self.courses[self.phases[number]] = course
            if outcome.reason == "exhausted":  # and so it is for all the others
                self.courses.update(dict.fromkeys(self.phases[number:], course))
                break
        fronts = self._write()
        self.checkpoints.remove()
        self.show(fronts)
        return Result(self.folder, outcome, fronts, len(self.limits.evaluated), compiling)

    # -- searching -------------------------------------------------------------------------------

    def _begin(self) -> tuple[int, State | None]:
        """Bring in what is there; return the phase to begin with and where to go on in it."""
        if self.state is not None:
            self.limits.restore(_part(self.state, "limits."))
            courses = json.loads(self.state["courses"].tobytes())
            self.courses.update({float(eta): course for eta, course in courses.items()})
            return int(self.state["phase"]), self.state
        self.checkpoints.remove()  # of a run that is replaced
        if self.known:
            base = read_evaluated(self.folder, dict(self.known), self.identity)
            self.limits.learn(base)
        return 0, None

    def _search(
        self,
        number: int,
        state: State | None,
        on_generation: OnGeneration | None,
        interrupted: Callable[[], bool] | None,
    ) -> Outcome:
        eta = self.phases[number]
        place = self.limits.etas.index(eta)
        search = make_search(self.limits.problems[place], self.config.search)
        if len(self.limits.archives[place]):
            search.inherit(self.limits.archives[place], self.limits.evaluated)
        else:
            self.limits.archives[place] = search.archive
        further = (number > 0 or self.known) and self.algorithm != "exhaustive"
        several = len(self.limits.etas) > 1

        def show(progress: Progress) -> None:
            if on_generation is not None:
                on_generation(replace(progress, eta=eta) if several else progress)

        return run_search(
            search,
            self.stop.part(FURTHER) if further else self.stop,
            on_generation=show,
            save=_PhaseKeeper(self, number).save,
            interrupted=interrupted,
            state=state,
        )

    # -- writing ---------------------------------------------------------------------------------

    def _write(self) -> dict[float, Front]:
        cap = self.config.search.cap
        found = zip(self.limits.etas, self.limits.problems, self.limits.archives, strict=True)
        # All of them before any is written: one may have no solution that meets the constraints.
        fronts = {eta: front_of(problem, archive, cap) for eta, problem, archive in found}
        for eta, place in self.places.items():
            make_folder(place)
            config = with_folder(with_eta(self.config, eta), place)
            fronts[eta].save(
                place,
                record=self._record(eta, config),
                texts={"config.yaml": config.to_yaml()},
                force=self.replace or bool(self.known),
            )
        if self.algorithm != "exhaustive":  # which needs no head start
            write_evaluated(self.folder, self.limits.evaluated, self.identity)
        if len(fronts) > 1:
            every = with_eta(self.config, tuple(sorted(fronts)))
            write_comparison_table(self.folder, fronts, {"config.yaml": every.to_yaml()})
        self._clear(keep={"config.yaml", COMPARISON} if len(fronts) > 1 else set(RESULTS))
        return fronts

    def _clear(self, keep: set[str]) -> None:
        """Remove what does not belong to these results: of a single limit, of a replaced run."""
        for name in {*RESULTS, COMPARISON} - keep:
            (self.folder / name).unlink(missing_ok=True)
        clear_pictures(self.folder)
        if self.force:
            for path in self.folder.glob("eta-*/"):
                if path not in self.places.values():
                    clear_results(path)

    def show(self, fronts: Mapping[float, Front]) -> None:
        """Draw figures and write pages; the results are complete without them."""
        wanted = self.config.output
        runs = [run_of(place, fronts[eta]) for eta, place in self.places.items()][::-1]
        if wanted.plots:
            draw_plots(runs, self.folder)
        if wanted.report:
            write_page(runs, self.folder)
            for run in runs:
                if run.folder != self.folder:
                    write_page([run], run.folder)

    @property
    def is_shown(self) -> bool:
        """Whether the figures and the page that are wanted are there."""
        wanted = self.config.output
        return ((self.folder / "report.html").exists() or not wanted.report) and (
            (self.folder / "plots").exists() or not wanted.plots
        )

    def _record(self, eta: float, config: Config) -> dict[str, Any]:
        """What ``run.json`` tells about the run."""
        table, identity = self.instance.table, self.identity
        record: dict[str, Any] = {
            "name": self.config.name,
            "moanon": __version__,
            "seed": identity.seed,
            "versions": identity.versions
            | {"python": platform.python_version(), "numba": version("numba")},
            "config": {"digest": config.digest, "search": identity.config},
            "data": {
                "source": table.source,
                "digest": table.digest,
                "rows_in": table.rows_in,
                "rows_dropped": table.rows_dropped,
                "rows": table.rows,
                "cells": len(self.instance.cells),
            },
            "cap": self.config.search.cap,
        }
        if eta in self.courses:
            record |= self.courses[eta]
        else:  # it was searched for earlier
            before = json.loads((self.known[eta] / "run.json").read_bytes())
            record |= {key: before[key] for key in ("search", "times", "notes")}
        if len(self.limits.etas) > 1:
            total = len(self.limits.evaluated)
            record["shared"] = {"etas": sorted(self.limits.etas), "evaluations": total}
        return record

    def _course(self, outcome: Outcome, compiling: float, seconds: float) -> dict[str, Any]:
        return {
            "search": {
                "algorithm": self.algorithm,
                "generations": outcome.generation,
                "evaluations": outcome.evaluations,
                "hypervolume": outcome.hypervolume,
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


def _already(folder: Path) -> OutputError:
    found = next((name for name in RESULTS if (folder / name).exists()), "eta-*")
    return OutputError(
        f"{folder} holds results already ({found}); replace them with --force, or name another "
        "folder with --out"
    )


# -- what is saved on the way --------------------------------------------------------------------


@dataclass(frozen=True)
class _PhaseKeeper:
    """Keeps the state of a search together with what is shared and what was done before."""

    experiment: Experiment
    number: int

    def save(self, state: State) -> None:
        experiment = self.experiment
        courses = json.dumps({str(eta): course for eta, course in experiment.courses.items()})
        shared = experiment.limits.state()
        experiment.checkpoints.save(
            state
            | {f"limits.{name}": array for name, array in shared.items()}
            | {
                "known": np.array([*experiment.known], dtype=np.float64),
                "force": np.array(experiment.force),
                "phase": np.array(self.number),
                "courses": np.frombuffer(courses.encode(), dtype=np.uint8),
            }
        )


def _part(state: State, prefix: str) -> State:
    return {
        name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)
    }
