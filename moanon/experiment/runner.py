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
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from moanon.arrays import Outlined, State
from moanon.config import Config, check_reach
from moanon.data.cell_reading import alike_note, alike_values
from moanon.data.column import holds_texts
from moanon.data.domain import Domain, IntervalDomain, TreeDomain
from moanon.engines import read_table
from moanon.errors import ConfigError, got
from moanon.front import Front
from moanon.genome import Instance
from moanon.measures import find_measure
from moanon.measures.suppression import find_preset, suppress_by
from moanon.progress import OnGeneration, OnStep, Progress, on_part, show_progress
from moanon.proofs.cut_table import LOCAL, why_unprovable
from moanon.proofs.front_proof import FrontProof, bounds_of_all, prove_within_budget
from moanon.search.algorithms import (
    ALGORITHMS,
    Stop,
    choose_algorithm,
    foreign_settings,
    make_search,
    room_of,
)
from moanon.search.archive import Archive
from moanon.search.checkpoint import part_of, prefixed
from moanon.search.problem import AnonymizationProblem
from moanon.search.running import Outcome, Search, run_search

if TYPE_CHECKING:
    import pandas as pd

#: What takes the place of a loss in presets where columns have weights.
_WEIGHTED = {"loss": "loss_weighted", "gl": "gl_weighted"}
#: Machines have fewer processors than this.
_MOST_THREADS = 1024

#: How the search for a limit went: a part of ``run.json``.
Course = dict[str, Any]


#: Called with how far a search is; what it returns does not matter.
Callback = Callable[[Progress], object]


# -- what a configuration asks for -----------------------------------------------------------------


def etas_of(config: Config) -> tuple[float, ...]:
    """The limits of suppression that a configuration asks for; 0 where it has none."""
    eta = config.problem.eta
    return eta if isinstance(eta, tuple) else (eta or 0.0,)


def objectives_of(config: Config) -> tuple[str, ...]:
    """What a configuration optimizes: its own objectives, or the preset's.

    Where a column has a weight, somebody wants it to count: presets minimize weighted losses then.
    """
    section = config.problem
    if section.objectives:
        return section.objectives
    renamed = _WEIGHTED if config.weights else {}
    if section.preset == "any-suppression" and section.suppress_by == "l":
        renamed = {**renamed, "weighted_k": "weighted_l"}
    return tuple(renamed.get(name, name) for name in find_preset(section.preset).objectives)


def algorithm_for(config: Config, instance: Instance) -> str:
    """The algorithm that searches a table; what ``auto`` becomes on it."""
    space, cells = instance.layout.count(), len(instance.cells)
    return choose_algorithm(space, config.search, config.problem.recoding, cells=cells)


def read_problem(path: str | Path, threads: int = 1) -> AnonymizationProblem:
    """Read a configuration and its table, and build what it optimizes among genomes."""
    config = Config.load(path)
    if config.problem.has_boxes:
        raise ConfigError(
            f"a local recoding is not made of genomes, and pymoo searches among these; take the "
            f"recoding global. Got local ({path}: problem.recoding)"
        )
    return make_problem(config, config.instance(), threads)


def make_problem(config: Config, instance: Instance, threads: int = 1) -> AnonymizationProblem:
    """Build what a configuration optimizes, for the widest of its limits."""
    section = config.problem
    keys = ("safety", "prefer", "diversity", "recursive_c")
    chosen = {key: getattr(section, key) for key in keys if getattr(section, key) is not None}
    if section.eta is not None:
        chosen["eta"] = max(etas_of(config))
    preset = find_preset(section.preset).with_settings(**chosen)
    objectives = objectives_of(config)
    if section.has_boxes:  # where no rule has thresholds, there is what it would attain
        attained = [find_measure(name).attained or (name, 0) for name in objectives]
        objectives = tuple(dict.fromkeys(name for name, _ in attained))
    suppression = preset.suppression
    if suppression.kind == "limit":
        suppression = replace(suppression, by=section.suppress_by or suppress_by(objectives))
    elif section.suppress_by is not None:
        suppression = replace(suppression, by=section.suppress_by)
    kind = ALGORITHMS[algorithm_for(config, instance)].load()
    steps = kind.wants_steps(config.search)
    problem = AnonymizationProblem(
        instance, objectives, suppression, threads, config.bounds, steps=steps
    )
    check_reach(config.bounds, instance)
    return problem


def notes_on_table(config: Config, instance: Instance, *, examples: bool = False) -> list[str]:
    """Say which values are merged before the search, and which look the same and are not merged.

    With examples, which are values of the table, only where nobody else reads them.
    """
    columns, notes = instance.table.columns, _notes_on_alike(config, instance, examples=examples)
    united = [
        name
        for name, domain in instance.layout.domains.items()
        if len(set(domain.find(columns[name].values).tolist())) + (columns[name].missing > 0) == 1
        and len(columns[name].values) > 1
    ]
    if united:
        same = f"all values of {', '.join(united)} have the same base value, so they look the same"
        mend = "try a smaller granularity or another range"
        notes.insert(0, f"{same} in every release; {mend}")
    return notes


def _notes_on_alike(config: Config, instance: Instance, *, examples: bool) -> list[str]:
    """Say which columns have values that look the same and are different ones to the search.

    Of sensitive columns and of categories in quasi-identifiers.
    """
    mend = "" if config.data.normalize else "; data: {normalize: true} makes such values one"
    table, notes = instance.table, []
    for name in (*table.quasi, *table.sensitive):
        column = table.columns[name]
        if not holds_texts(column) or _has_steps(instance.layout.domains.get(name)):
            continue
        if note := alike_note(name, column.values):
            named = " ({})".format(", ".join(map(ascii, alike_values(column.values)[0][:3])))
            total = len(column.values)
            counted = f", while l and t count {total:,}" if name in table.sensitive else ""
            notes.append(f"{note}{counted}{named if examples else ''}{mend}")
    return notes


def _has_steps(domain: Domain | None) -> bool:
    """Whether the base values of a column are numbers or dates, whatever their texts."""
    return isinstance(domain, IntervalDomain) or (
        isinstance(domain, TreeDomain) and domain.steps is not None
    )


# -- running it ------------------------------------------------------------------------------------


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


@dataclass(frozen=True)
class Watch:
    """Who follows a run, and may end it."""

    on_generation: OnGeneration | None = None
    on_step: OnStep | None = None  # what is done after the search, and how far
    interrupted: Callable[[], bool] | None = None  # asked after each generation and bound
    # given the state now and then, and when it ends early
    save: Callable[[State], None] | None = None


@dataclass(frozen=True, repr=False)
class Found(Outlined):
    """What a run has found: how its last search ended, and the front of each limit, widest first.

    Some of the fronts have proofs. There are none of either where the run was interrupted.
    """

    outcome: Outcome
    fronts: Mapping[float, Front] = field(default_factory=dict)
    proofs: Mapping[float, FrontProof] = field(default_factory=dict)


class Runner:
    """Searches for what a configuration asks for.

    Parameters
    ----------
    threads : int
        Results do not depend on it.
    etas : sequence of float, optional
        Limits of suppression to search for, by default those of the configuration.
    notes : sequence of str
        What was noticed before; it is recorded with how the search went.

    Attributes
    ----------
    algorithm : str
        What ``auto`` has become; `kind` is its class.
    problem : AnonymizationProblem
        Under the widest limit of the configuration.
    etas : tuple of float
        Limits to search for in this order, the widest first.
    archives, courses : dict
        What was found for each limit whose search has begun; how the search went for those that are
        done.
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
        reason = LOCAL if config.problem.has_boxes else self.problem.why_unprovable
        if config.search.prove is not None and reason is not None:
            raise ConfigError(f"{reason} (search.prove)")
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


# -- without a folder ------------------------------------------------------------------------------


def optimize(
    data: str | os.PathLike[str] | pd.DataFrame | Config,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    problem: Mapping[str, Any] | None = None,
    search: Mapping[str, Any] | None = None,
    missing: str = "error",
    threads: int | None = None,
    progress: bool = True,
    callbacks: Iterable[Callback] = (),
    cancel: Callable[[], bool] | None = None,
) -> Front:
    """Search for the front between privacy and loss.

    The arguments say what the sections of a configuration file say, and are checked the same way.
    Nothing is written; see `Front.save`, or ``moanon run`` for results with checkpoints, figures
    and a report.

    Parameters
    ----------
    data : path, DataFrame or Config
        A CSV or Parquet file, the name of a data set of the package (``adult``), a frame, or a
        whole configuration, which makes the other sections unnecessary.
    columns : mapping of str to mapping
        What each column is: ``{"role": "quasi", "kind": "interval", "granularity": 5}``, …
    problem : mapping, optional
        ``{"preset": "k-suppression", "eta": 0.1}``, …; one limit of suppression.
    search : mapping, optional
        ``{"seed": 1, "generations": 250}``, …
    missing : {"drop", "category", "error"}
        What becomes of rows with missing values; a warning says how many were dropped.
    threads : int, optional
        Default: one for each processor. The front does not depend on it.
    progress : bool
        Whether to show on stderr how far the search is.
    callbacks : iterable of callables
        Each is called with a `Progress` after every generation (generation, evaluations, solutions,
        hypervolume, …), and now and then while the front is measured and proven (its `stage`).
    cancel : callable, optional
        Asked after every generation, and while the front is proven. Once it says True, the front
        found so far is returned, without a proof.

    Returns
    -------
    Front

    Raises
    ------
    MoanonError
        If an argument is wrong or does not fit the data.

    Examples
    --------
    >>> import moanon
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [23, 25, 31, 38, 44, 47], "sex": list("fmfmfm")})
    >>> front = moanon.optimize(
    ...     people,
    ...     {
    ...         "age": {"role": "quasi", "kind": "interval", "granularity": 10, "range": [20, 49]},
    ...         "sex": {"role": "quasi", "kind": "ordered", "order": ["f", "m"]},
    ...     },
    ...     progress=False,
    ... )
    >>> front
    Front(3 solutions: k 1 to 6, loss 0.0% to 100.0%)
    >>> front.ask(min_k=2).choice.id
    2
    >>> front.release(2).to_frame().values.tolist()[:2]
    [['*', 'f'], ['*', 'm']]
    """
    threads = checked_threads(threads)
    config, instance = _read(data, columns, problem, search, missing)
    if dropped := instance.table.dropped:
        warnings.warn(dropped, stacklevel=2)
    if isinstance(config.problem.eta, tuple):
        raise ConfigError(
            f"optimize takes one eta. Got {list(config.problem.eta)}; moanon run compares several"
        )
    runner = Runner(config, instance, threads)
    with show_progress(config.name, quiet=not progress) as display:
        on_step = None if display is None else display.step
        watch = _watch(display, on_step, tuple(callbacks), cancel)
        found = runner.run(watch)
        fronts = found.fronts or runner.fronts(watch)
        (front,) = fronts.values()
        seconds = config.search.prove
        if found.fronts and seconds is not None and front.proven is None:
            front = runner.prove(found, seconds, watch)
        return front


def _watch(
    show: OnGeneration | None,
    show_step: OnStep | None,
    callbacks: Sequence[Callback],
    cancel: Callable[[], bool] | None,
) -> Watch:
    """Show progress and call back, also in the steps after the search."""
    last: list[Progress] = []

    def on_generation(progress: Progress) -> None:
        last[:] = [progress]
        for call in (*([] if show is None else [show]), *callbacks):
            call(progress)

    def on_step(what: str, number: int, of: int) -> None:
        if show_step is not None:
            show_step(what, number, of)
        for call in callbacks if last else ():
            call(replace(last[0], stage=what, done=number / of if of else None))

    return Watch(on_generation, on_step, cancel)


def _read(
    data: str | os.PathLike[str] | pd.DataFrame | Config,
    columns: Mapping[str, Mapping[str, Any]] | None,
    problem: Mapping[str, Any] | None,
    search: Mapping[str, Any] | None,
    missing: str,
) -> tuple[Config, Instance]:
    if isinstance(data, Config):
        if columns is not None or problem is not None or search is not None:
            raise ConfigError(
                "a configuration says everything; give it alone, or data with columns, problem "
                "and search"
            )
        return data, data.instance()
    if not isinstance(columns, Mapping):
        got = "None" if columns is None else type(columns).__name__
        raise ConfigError(
            "columns must say what the columns of the data are, as a mapping of names to mappings. "
            f"Got {got}"
        )
    is_path = isinstance(data, (str, os.PathLike))
    source = str(data) if is_path else "a data frame"
    given: dict[str, Any] = {
        "name": Path(source).stem if is_path else "front",
        "data": {"source": source, "missing": missing},
        "columns": dict(columns),
    }
    given |= {"problem": problem} if problem is not None else {}
    given |= {"search": search} if search is not None else {}
    config = Config.from_dict(given)
    if is_path:
        return config, config.instance()
    table = read_table(data, config.roles, missing=config.data.missing)
    return config, config.instance_of(table)
