"""Experiments: a configuration becomes a results folder.

`plan` reads configurations and lists the runs they ask for. `Experiment.prepare` looks at the
folder, reads the data and finds where to go on; `Experiment.run` searches and writes, all at once,

- ``front.csv``: one row per solution, ``id``, the objectives, every other measure;
- ``solutions.json``: the genome, thresholds and blocks of each;
- ``config.yaml``: the configuration with all defaults stated; it can be run again;
- ``run.json``: versions, seed, digests, counts, times, and why the search stopped.

While it runs, the folder holds its checkpoints, from the first generation on until the results are
complete. So whatever moment a run is killed at, the folder tells whether it is finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from moanon import __version__
from moanon.config import Config
from moanon.data.domain import TreeDomain
from moanon.errors import ConfigError, InfeasibleError, OutputError
from moanon.front import Front
from moanon.genome import Instance
from moanon.measures.presets import find_preset, suppress_by
from moanon.search.archive import thin
from moanon.search.checkpoint import NAMES, Checkpoints, Identity
from moanon.search.problem import SearchProblem
from moanon.search.run import (
    Outcome,
    ProblemSearch,
    Progress,
    Stop,
    choose_algorithm,
    make_search,
    run_search,
    stop_of,
)
from moanon.search.state import State

__all__ = ["Experiment", "Result", "load_front", "make_problem", "plan"]

#: What a finished run leaves.
RESULTS = ("front.csv", "solutions.json", "config.yaml", "run.json")
#: What a write that was killed leaves (`moanon.atomic`).
_LEFTOVER = re.compile(r"\.moanon-[0-9a-f]{16}")


def plan(
    paths: Sequence[str | Path],
    sets: Sequence[str] = (),
    *,
    etas: Sequence[float] = (),
    seed: int | None = None,
    out: str | Path | None = None,
) -> list[Config]:
    """Read configurations and list the runs they ask for, each with one η and its own folder.

    Parameters
    ----------
    paths : sequence of str or Path
        The files.
    sets : sequence of str
        Overrides ``key.path=value`` for all of them.
    etas, seed, out
        Instead of ``problem.eta``, ``search.seed`` and ``output.dir``. Results of several
        configurations go to ``out/NAME``; those of several η to ``eta-E`` in the folder.

    Raises
    ------
    ConfigError
        If a configuration is wrong, or two runs would write to one folder.
    """
    changes = [*sets]
    if etas:
        given = str(etas[0]) if len(etas) == 1 else str(list(etas))
        changes.append(f"problem.eta={given}")
    if seed is not None:
        changes.append(f"search.seed={seed}")
    runs: list[Config] = []
    owners: dict[Path, str] = {}
    for path in paths:
        config = Config.load(path, changes)
        if out is not None:
            config = _with(config, Path(out) / config.name if len(paths) > 1 else Path(out))
        for each in _for_each_eta(config):
            folder = Path(each.output.dir).absolute()
            if folder in owners:
                raise ConfigError(
                    f"{owners[folder]} and {path} would both write to {each.output.dir}; give "
                    "each its own output.dir"
                )
            owners[folder] = str(path)
            runs.append(each)
    return runs


def _for_each_eta(config: Config) -> list[Config]:
    etas, folder = config.problem.eta, Path(config.output.dir)
    if not isinstance(etas, tuple):
        return [config]
    return [
        _with(config, folder / f"eta-{eta}").model_copy(
            update={"problem": config.problem.model_copy(update={"eta": eta})}
        )
        for eta in etas
    ]


def _with(config: Config, folder: Path) -> Config:
    """The configuration with its results at another place."""
    output = config.output.model_copy(update={"dir": str(folder)})
    return config.model_copy(update={"output": output})


def make_problem(config: Config, instance: Instance, threads: int = 1) -> SearchProblem:
    """Build what a configuration (of one η) optimizes."""
    section = config.problem
    chosen = {
        key: getattr(section, key)
        for key in ("eta", "safety", "prefer", "diversity", "recursive_c")
        if getattr(section, key) is not None
    }
    preset = find_preset(section.preset).with_settings(**chosen)
    objectives = section.objectives or preset.objectives
    suppression = preset.suppression
    if suppression.kind == "limit":
        by = section.suppress_by or suppress_by(objectives)
        suppression = replace(suppression, by=by)
    return SearchProblem(instance, objectives, suppression, threads, config.bounds)


def load_front(folder: str | Path) -> Front:
    """Read the front of a results folder together with its table, as its configuration says.

    Raises
    ------
    MoanonError
        If a file is missing or was changed, or the data are not what they were.
    """
    folder = Path(folder)
    return Front.load(folder, Config.load(folder / "config.yaml").instance())


@dataclass(frozen=True)
class Result:
    """What came of an experiment.

    Attributes
    ----------
    folder : Path
    outcome : Outcome
        How the search ended.
    front : Front or None
        What was written; None where the run was interrupted.
    """

    folder: Path
    outcome: Outcome
    front: Front | None


@dataclass(frozen=True)
class Experiment:
    """A configuration that is ready to run.

    Attributes
    ----------
    config : Config
    folder : Path
        Where results go.
    search : ProblemSearch
        Before its first generation.
    algorithm : str
        What ``auto`` has become.
    stop : Stop
        When to end.
    checkpoints : Checkpoints
    state : State or None
        Where to go on.
    finished : bool
        Whether the folder holds the results already, and there is nothing to do.
    replace : bool
        Whether results in the folder may be replaced.
    notes : tuple of str
        What was noticed on the way and should be told.
    threads : int
    """

    config: Config
    folder: Path
    search: ProblemSearch
    algorithm: str
    stop: Stop
    checkpoints: Checkpoints
    state: State | None
    finished: bool
    replace: bool
    notes: tuple[str, ...]
    threads: int

    @classmethod
    def prepare(
        cls, config: Config, *, resume: bool = False, force: bool = False, threads: int = 1
    ) -> Experiment:
        """Look at the folder, read the data, and find where to go on.

        Parameters
        ----------
        config : Config
            With one η.
        resume : bool
            Go on from the folder's checkpoint, if there is one.
        force : bool
            Replace whatever run the folder holds.
        threads : int
            Results do not depend on it.

        Raises
        ------
        OutputError
            If the folder holds another run.
        SearchError
            If its checkpoints cannot be used.
        MoanonError
            If the configuration does not fit its data.
        """
        folder = Path(config.output.dir)
        _check_folder(folder, resume=resume, force=force)
        instance = config.instance()
        search = make_search(make_problem(config, instance, threads), config.search)
        algorithm = choose_algorithm(instance.layout.count(), config.search)
        identity = _identity(config, instance)
        checkpoints = Checkpoints(folder, identity)
        state, finished, notes = None, False, []
        if resume and checkpoints.exist:
            loaded = checkpoints.load()
            if loaded is not None:
                state = loaded.state
                notes += [loaded.note] if loaded.note else []
        elif resume:
            finished = _is_finished(folder, identity)
            if not finished:
                notes.append(f"{folder} holds no checkpoint; starting from the beginning")
        return cls(
            config=config,
            folder=folder,
            search=search,
            algorithm=algorithm,
            stop=stop_of(config.search, algorithm),
            checkpoints=checkpoints,
            state=state,
            finished=finished,
            replace=resume or force,
            notes=tuple(notes),
            threads=threads,
        )

    def run(
        self,
        on_generation: Callable[[Progress], None] | None = None,
        interrupted: Callable[[], bool] | None = None,
    ) -> Result:
        """Search, and write the results.

        Parameters
        ----------
        on_generation, interrupted
            As for `moanon.search.run.run_search`.
        """
        started = time.monotonic()
        _make_folder(self.folder)
        if self.state is None:
            self.checkpoints.remove()  # of a run that is replaced
        outcome = run_search(
            self.search,
            self.stop,
            on_generation=on_generation,
            checkpoint=self.checkpoints,
            interrupted=interrupted,
            state=self.state,
        )
        if outcome.reason == "interrupted":
            return Result(self.folder, outcome, None)
        front = self._front(outcome)
        front.save(
            self.folder,
            record=self._record(outcome, time.monotonic() - started),
            texts={"config.yaml": self.config.to_yaml()},
            force=self.replace,
        )
        self.checkpoints.remove()
        return Result(self.folder, outcome, front)

    def load_front(self) -> Front:
        """Read what a finished run has written."""
        return Front.load(self.folder, self.search.problem.instance)

    def _front(self, outcome: Outcome) -> Front:
        problem, archive = self.search.problem, outcome.archive
        if not archive.is_feasible:
            raise InfeasibleError(
                f"no solution meets the constraints after {outcome.evaluations:,} evaluations: the "
                f"nearest one {problem.wanting(archive.genomes, archive.thresholds)}"
            )
        chosen = thin(archive.values, self.config.search.cap)
        return Front.of(
            problem.evaluator,
            problem.suppression,
            problem.objectives,
            archive.genomes[chosen],
            archive.thresholds[chosen],
            values=archive.values[chosen],
            found=len(archive),
        )

    def _record(self, outcome: Outcome, seconds: float) -> dict[str, Any]:
        """What ``run.json`` tells about the run."""
        instance = self.search.problem.instance
        table, identity = instance.table, self.checkpoints.identity
        return {
            "name": self.config.name,
            "moanon": __version__,
            "seed": identity.seed,
            "versions": identity.versions
            | {"python": platform.python_version(), "numba": version("numba")},
            "config": {"digest": self.config.digest, "search": identity.config},
            "data": {
                "source": table.source,
                "digest": table.digest,
                "rows_in": table.rows_in,
                "rows_dropped": table.rows_dropped,
                "rows": table.rows,
                "cells": len(instance.cells),
            },
            "search": {
                "algorithm": self.algorithm,
                "generations": outcome.generation,
                "evaluations": outcome.evaluations,
                "hypervolume": outcome.hypervolume,
                "stopped": outcome.reason,
                "why": outcome.why,
            },
            "cap": self.config.search.cap,
            "times": {
                "search": round(outcome.seconds, 3),
                "process": round(seconds, 3),
                "finished": datetime.now(UTC).isoformat(timespec="seconds"),
                "threads": self.threads,
            },
            "notes": list(self.notes),
        }


# -- which run a folder holds --------------------------------------------------------------------


def _identity(config: Config, instance: Instance) -> Identity:
    """What the course of a search depends on; neither its name nor where results go."""
    chosen = config.model_dump(mode="json", exclude_none=True, exclude={"name", "output"})
    # A hierarchy is a file of its own: the same configuration may find another one there.
    trees = {}
    for name, domain in (*instance.layout.domains.items(), *instance.distances.items()):
        if isinstance(domain, TreeDomain):
            tree = domain.hierarchy
            trees[name] = [tree.names, tree.starts, tree.stops, tree.levels]
    text = json.dumps([chosen, trees], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Identity(digest, instance.table.digest, config.search.seed)


def _check_folder(folder: Path, *, resume: bool, force: bool) -> None:
    """Refuse a folder that holds a run nobody said anything about."""
    if resume and force:
        raise OutputError("a run is resumed or replaced: give --resume or --force. Got both")
    if os.path.lexists(folder) and not folder.is_dir():
        raise OutputError(f"{folder} is a file; results go into a folder")
    if resume or force:
        return
    for name in NAMES:
        if os.path.lexists(folder / name):
            raise OutputError(
                f"{folder} holds an unfinished run; go on with --resume, start anew with --force, "
                "or name another folder with --out"
            )
    for name in RESULTS:
        if os.path.lexists(folder / name):
            raise OutputError(
                f"{folder} holds results already ({name}); replace them with --force, or name "
                "another folder with --out"
            )


def _is_finished(folder: Path, identity: Identity) -> bool:
    """Whether a folder without checkpoints holds the results of this very run."""
    if not any(os.path.lexists(folder / name) for name in RESULTS):
        return False
    try:
        record = json.loads((folder / "run.json").read_bytes())
        header = {
            "versions": record["versions"],
            "data": record["data"]["digest"],
            "seed": record["seed"],
            "config": record["config"]["search"],
        }
        difference = identity.difference(header)
    except (OSError, ValueError, KeyError, TypeError):
        difference = "its run.json cannot be read"
    if difference is not None:
        raise OutputError(
            f"{folder} holds the results of another run ({difference}); replace them with --force, "
            "or name another folder with --out"
        )
    return True


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            if _LEFTOVER.fullmatch(path.name):
                path.unlink()
    except OSError as error:
        raise OutputError(
            f"the folder {folder} cannot be made: {error.strerror or error}"
        ) from error
