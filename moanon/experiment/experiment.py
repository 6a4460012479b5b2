"""Experiments: how a run comes to its results folder.

Read `Experiment.prepare` and `Experiment.run` first; each of their steps stands below them.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from moanon import __version__
from moanon.arrays import Outlined, State
from moanon.atomic import checked_path
from moanon.config import Config
from moanon.data.strict_yaml import HALF
from moanon.data.table import kept, new_key
from moanon.errors import ConfigError, InfeasibleError, OutputError, SearchError
from moanon.experiment.finished import (
    ETA_TABLE,
    FinishedRun,
    changed,
    draw_plots,
    run_over,
    save_run,
    with_eta,
    write_eta_table,
    write_page,
)
from moanon.experiment.folder import (
    LOCK,
    PROOF,
    RESULTS,
    FolderLock,
    Known,
    already,
    check_folder,
    clear_pictures,
    clear_results,
    identity_of,
    make_folder,
    mark_without_solution,
    notes_on_folder,
    results_of,
    spare_inputs,
    still_known,
    with_limits,
)
from moanon.experiment.proving import earlier_proof, keep_proof, prove_limits
from moanon.experiment.runner import Found, Runner, Watch, checked_threads, etas_of, notes_on_table
from moanon.front import Front
from moanon.front.results import DOMAINS
from moanon.genome import Instance
from moanon.progress import OnGeneration, OnStep, on_part
from moanon.proofs.front_proof import ProofRecord
from moanon.recoding import BOXES
from moanon.search.checkpoint import Checkpoints, Identity
from moanon.search.running import Outcome

#: What a checkpoint holds besides the search.
_PARTS = {"known", "force", "courses"}


# -- what configurations ask for -------------------------------------------------------------------


def plan(
    paths: Sequence[str | Path],
    sets: Sequence[str] = (),
    *,
    etas: Sequence[float] = (),
    seed: int | None = None,
    out: str | Path | None = None,
) -> list[Config]:
    """Read configurations, one for each run, each with a folder of its own.

    Parameters
    ----------
    sets : sequence of str
        Overrides ``key.path=value`` for all of them.
    etas, seed, out
        Instead of ``problem.eta``, ``search.seed`` and ``output.dir``. Results of several
        configurations go to ``out/NAME``.

    Raises
    ------
    ConfigError
        If a configuration is wrong, or two runs would write to one folder.
    """
    options = {}
    if etas:
        options["eta=…"] = f"problem.eta={etas[0] if len(etas) == 1 else list(etas)}"
    if seed is not None:
        options["seed=…"] = f"search.seed={seed}"
    runs: list[Config] = []
    owners: dict[Path, str] = {}
    for path in paths:
        config = Config.load(path, sets, options)
        if out is not None:
            if HALF.search(str(out)):
                raise ConfigError(
                    f"the folder {str(out)!a} has a name that is not UTF-8, and config.yaml in it "
                    "could not name it; name another"
                )
            folder = Path(out) / config.name if len(paths) > 1 else Path(out)
            config = changed(config, "output", dir=str(folder))
        place = Path(config.output.dir).absolute()
        if place in owners:
            raise ConfigError(
                f"{owners[place]} and {path} would both write to {config.output.dir}; give "
                "each its own output.dir"
            )
        owners[place] = str(path)
        runs.append(config)
    return runs


# -- one run ---------------------------------------------------------------------------------------


def make_record(config: Config, instance: Instance, identity: Identity) -> dict[str, Any]:
    """What ``run.json`` says about results of any kind: what they were made from, and by what."""
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
    """What came of an experiment."""

    folder: Path
    outcome: Outcome  # how the search ended; of several, the last one
    # for each limit, the widest first; empty where it was interrupted
    runs: Mapping[float, FinishedRun]
    evaluations: int  # of all limits together
    compiling: float  # seconds for compiling or loading the kernels, before the search
    proof: ProofRecord | None = None  # of the front without suppression, by the search itself
    is_cut: bool = False  # whether the proof that was asked for after the search was interrupted

    @property
    def fronts(self) -> dict[float, Front]:
        """The front of each limit."""
        return {eta: run.front for eta, run in self.runs.items()}

    @property
    def front(self) -> Front | None:
        """The front of the widest limit; None where the run was interrupted."""
        return next(iter(self.fronts.values()), None)


@dataclass(frozen=True, repr=False)
class Experiment(Outlined):
    """A configuration that is ready to run; made by `prepare`."""

    config: Config
    lock: FolderLock  # keeps other runs away from the folder, from `prepare` to the end of `run`
    runner: Runner  # searches, and holds everything found so far
    known: Known  # limits for which the folder has results, which are not searched for again
    identity: Identity  # what is searched, whatever the limits
    checkpoints: Checkpoints
    saved: State | None  # where to go on
    replace: bool  # whether results in the folder may be replaced
    force: bool  # whether all else that the folder holds of earlier runs goes

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
            saved, notes = _load_state(checkpoints) if resume else (None, [])
            if saved is not None:
                force = bool(saved["force"])
            known = {} if force else results_of(folder, identity)
            if saved is not None:
                known = still_known(folder, known, saved["known"].tolist())
            etas = {*etas_of(config)} - known.keys()
            if not etas and not resume:
                raise already(folder)
            if saved is None:
                notes += notes_on_folder(folder, known, etas, resume=resume)
            notes += notes_on_table(config, instance)
            if dropped := instance.table.dropped:
                notes.insert(0, dropped)
            return cls(
                config=config,
                lock=lock,
                runner=Runner(config, instance, threads, [*etas], notes),
                known=known,
                identity=identity,
                checkpoints=checkpoints,
                saved=saved,
                replace=resume or force or bool(known),
                force=force,
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

        Raises
        ------
        InfeasibleError
            If nothing that was found meets the constraints.
        """
        try:
            self._take_folder()
            self._begin()
            watch = Watch(on_generation, on_step, interrupted, self._save)
            found = self.runner.run(watch)
            if not found.fronts:
                return self._result(found, {})
            runs, is_cut = self._write(found), False
            self.checkpoints.remove()  # from here on the folder is finished
            seconds = self.config.search.prove
            new = {eta: runs[eta] for eta in found.fronts}
            if seconds is not None and any(run.front.proven is None for run in new.values()):
                runs |= prove_limits(new, seconds, interrupted, on_part(on_step, "proving"))
                if len(runs) > 1:
                    write_eta_table(self.folder, {eta: r.front for eta, r in runs.items()}, {})
                is_cut = interrupted is not None and interrupted()
            self.show(runs, on_step)
            return self._result(found, runs, is_cut)
        except InfeasibleError as error:
            mark_without_solution(self.folder, str(error))
            raise
        finally:
            self.lock.leave()

    def _result(
        self, found: Found, runs: Mapping[float, FinishedRun], is_cut: bool = False
    ) -> Result:
        fronts = {eta: run.front for eta, run in runs.items()}
        proof = None
        if fronts and found.proofs:  # of the front without suppression
            eta, proven = next(iter(found.proofs.items()))
            proof = ProofRecord.of(fronts[eta], proven.work)
        evaluations, compiling = self.runner.evaluations, self.runner.compiling
        return Result(self.folder, found.outcome, runs, evaluations, compiling, proof, is_cut)

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

    def _begin(self) -> None:
        """Go on where the run was interrupted, or clear away a checkpoint that is replaced."""
        if self.saved is None:
            self.checkpoints.remove()
            return
        try:
            self.runner.restore(self.saved)
        except KeyError:
            raise _foreign_checkpoint(self.folder) from None

    def _save(self, state: State) -> None:
        known = np.array([*self.known], dtype=np.float64)
        self.checkpoints.save(state | {"force": np.array(self.force), "known": known})

    def _write(self, found: Found) -> dict[float, FinishedRun]:
        """Write the results of each limit, and clear away what does not belong to them.

        What is there of earlier limits is left as it is; only a folder that was of one limit, and
        is of several now, hands its results down to a folder of their own.
        """
        proofs, runs = dict(found.proofs), {}
        for eta, place in self.places.items():
            if eta in self.known and place == self.known[eta][0]:
                runs[eta] = self.known_runs[eta]
                continue
            make_folder(place)
            front = found.fronts[eta] if eta in found.fronts else self.known_runs[eta].front
            if eta in self.known and (proof := earlier_proof(self.known_runs[eta])) is not None:
                proofs[eta] = proof
            config = changed(with_eta(self.config, eta), "output", dir=str(place))
            record = self._record(eta, config)
            if front.proven is not None:
                bounds = proofs[eta].work if eta in proofs else 0
                record["proof"] = ProofRecord.of(front, bounds).to_dict()
            runs[eta] = save_run(place, front, config, record, force=self.replace)
            if eta in proofs:
                keep_proof(runs[eta], proofs[eta])
            elif self.force:
                (place / PROOF).unlink(missing_ok=True)
        kept = set(RESULTS) - ({BOXES} if self.runner.kind.of_genomes else set())
        kept -= {DOMAINS} if self.instance.distances else set()
        if len(runs) > 1:
            kept = {"config.yaml", ETA_TABLE}
            every = with_eta(self.config, tuple(sorted(runs)))
            fronts = {eta: run.front for eta, run in runs.items()}
            write_eta_table(self.folder, fronts, {"config.yaml": every.to_yaml()})
        kept |= {PROOF} if self.folder in self.places.values() else set()
        for name in {*RESULTS, ETA_TABLE, PROOF} - kept:
            (self.folder / name).unlink(missing_ok=True)
        clear_pictures(self.folder)
        if self.force:
            for path in self.folder.glob("eta-*/"):
                if path not in self.places.values():
                    clear_results(path)
        return runs

    def _record(self, eta: float, config: Config) -> dict[str, Any]:
        """What ``run.json`` says about the run."""
        record = make_record(config, self.instance, self.identity)
        record |= {"seed": self.identity.seed, "cap": self.config.search.cap}
        if eta in self.runner.courses:
            record |= self.runner.courses[eta]
        else:  # it was searched for earlier
            _, before = self.known[eta]
            record |= {key: before[key] for key in ("search", "times", "notes") if key in before}
        return record

    def show(self, found: Mapping[float, FinishedRun], on_step: OnStep | None = None) -> None:
        """Draw figures and write pages; the results are complete without them."""
        wanted = self.config.output
        runs = [found[eta] for eta in self.places][::-1]
        if wanted.plots:
            draw_plots(runs, self.folder, on_step=on_step)
        if wanted.report:
            write_page(runs, self.folder, on_part=on_part(on_step, "page"))
            for run in runs:
                if run.folder not in (self.folder, *(path for path, _ in self.known.values())):
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
        etas = sorted({*self.runner.etas, *self.known}, reverse=True)
        if len(etas) == 1:
            return {etas[0]: self.folder}
        return {eta: self.folder / f"eta-{eta}" for eta in etas}

    @property
    def finished(self) -> bool:
        """Whether the folder holds the results already, and there is nothing to do."""
        return not self.runner.etas

    @property
    def instance(self) -> Instance:
        """The table."""
        return self.runner.problem.instance

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noticed on the way and the user should know."""
        return self.runner.notes

    @cached_property
    def known_runs(self) -> dict[float, FinishedRun]:
        """What the folder has results for already; all of it where it is finished."""
        return {
            eta: run_over(path, record, self.instance)
            for eta, (path, record) in sorted(self.known.items())
        }

    @property
    def is_shown(self) -> bool:
        """Whether the figures and the page that are wanted are there."""
        output = self.config.output
        wanted = {"report.html": output.report, "plots": output.plots}
        return all((self.folder / name).exists() for name in wanted if wanted[name])


def _load_state(checkpoints: Checkpoints) -> tuple[State | None, list[str]]:
    """Where to go on, and what is to be said about it."""
    loaded = checkpoints.load()
    if loaded is None:
        return None, []
    state, note = loaded
    if not state.keys() >= _PARTS:
        raise _foreign_checkpoint(checkpoints.newest.parent)
    return state, [note] if note else []


def _foreign_checkpoint(folder: Path) -> SearchError:
    return SearchError(
        f"{folder} holds a checkpoint that this version does not understand; start anew with "
        "force=True"
    )
