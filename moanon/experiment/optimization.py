"""What a configuration optimizes, and `optimize`: from a table to its front in one call."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moanon.config import Config
from moanon.config.constraints import check_reach
from moanon.engines import read_table
from moanon.errors import ConfigError, got
from moanon.front import Front
from moanon.genome import Instance
from moanon.measures import find_measure
from moanon.measures.suppression import find_preset, suppress_by
from moanon.progress import show_progress
from moanon.search.algorithms import choose_algorithm, room_of
from moanon.search.archive import SharedLimits
from moanon.search.exact import (
    bounds_of_all,
    is_exact_wanted,
    prove_for,
    prove_within_budget,
    take_in,
)
from moanon.search.local import LocalLimits, warm_up_local
from moanon.search.problem import SearchProblem
from moanon.search.provable import LOCAL, why_not
from moanon.search.running import Stop, run_search, stop_of, warm_up

if TYPE_CHECKING:
    import pandas as pd


#: Machines have fewer processors than this.
_MOST_THREADS = 1024

#: What takes the place of a loss in presets where columns have weights.
_WEIGHTED = {"loss": "loss_weighted", "gl": "gl_weighted"}


def changed(config: Config, section: str, **values: Any) -> Config:
    """The configuration with other values in one of its sections."""
    there = getattr(config, section).model_copy(update=values)
    return config.model_copy(update={section: there})


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


def make_problem(config: Config, instance: Instance, threads: int = 1) -> SearchProblem:
    """Build what a configuration optimizes, for the widest of its limits."""
    section = config.problem
    keys = ("safety", "prefer", "diversity", "recursive_c")
    chosen = {key: getattr(section, key) for key in keys if getattr(section, key) is not None}
    if section.eta is not None:
        chosen["eta"] = max(etas_of(config))
    preset = find_preset(section.preset).with_settings(**chosen)
    objectives = objectives_of(config)
    if section.recoding == "local":  # where no rule has thresholds, there is what it would attain
        attained = [find_measure(name).attained or (name, 0) for name in objectives]
        objectives = tuple(dict.fromkeys(name for name, _ in attained))
    suppression = preset.suppression
    if suppression.kind == "limit":
        suppression = replace(suppression, by=section.suppress_by or suppress_by(objectives))
    elif section.suppress_by is not None:
        suppression = replace(suppression, by=section.suppress_by)
    search = config.search
    is_plain = search.algorithm == "nsga2" and search.front_of == "population"
    problem = SearchProblem(
        instance, objectives, suppression, threads, config.bounds, steps=not is_plain
    )
    check_reach(config.bounds, instance)
    return problem


def check_proof(config: Config, problem: SearchProblem) -> None:
    """Refuse to prove what cannot be proven, before anything is searched."""
    if config.search.prove is None:
        return
    names = [measure.name for measure in problem.bounds]
    reason = why_not(problem.objectives, problem.suppression, names)
    if config.problem.recoding == "local":
        reason = LOCAL
    if reason is not None:
        raise ConfigError(f"{reason} (search.prove)")


def algorithm_for(config: Config, instance: Instance) -> str:
    """What ``auto`` becomes on a table."""
    space, cells = instance.layout.count(), len(instance.cells)
    return choose_algorithm(space, config.search, config.problem.recoding, cells=cells)


def make_limits(
    config: Config,
    problem: SearchProblem,
    etas: Iterable[float],
    known: Mapping[float, Path],
) -> SharedLimits | LocalLimits:
    """Make what is searched: a problem for each limit of suppression.

    `known` are folders with results for some of them. Boxes are read from there; genomes are
    evaluated once more.
    """
    if config.problem.recoding == "local":
        fronts = {eta: Front.load(path, problem.instance) for eta, path in known.items()}
        return LocalLimits(problem, tuple(etas), fronts)
    algorithm = algorithm_for(config, problem.instance)
    return SharedLimits(problem, tuple(etas), room_of(config.search, algorithm))


def prepare_kernels(problem: SearchProblem, algorithm: str) -> float:
    """Have everything compiled or loaded that a search needs; return the seconds that it took."""
    return warm_up_local(problem) if algorithm == "local" else warm_up(problem, algorithm)


def optimize(
    data: str | os.PathLike[str] | pd.DataFrame | Config,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    problem: Mapping[str, Any] | None = None,
    search: Mapping[str, Any] | None = None,
    missing: str = "error",
    threads: int | None = None,
    progress: bool = True,
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
    task = make_problem(config, instance, threads)
    check_proof(config, task)
    limits = make_limits(config, task, etas_of(config), {})
    algorithm = algorithm_for(config, instance)
    prepare_kernels(task, algorithm)  # which a limit in seconds should not count
    stop = stop_of(config.search, algorithm, task)
    with show_progress(config.name, quiet=not progress) as show:
        outcome = run_search(limits.search_for(0, config.search), stop, on_generation=show)
        front = limits.front(0, config.search.cap)
        if not isinstance(limits, SharedLimits):
            return front
        if outcome.reason == "exhausted":
            front = replace(front, proven=bounds_of_all(front, limits.archives[0], algorithm))
        return front if front.proven is not None else _proven(front, limits, config, stop)


def _proven(front: Front, limits: SharedLimits, config: Config, stop: Stop) -> Front:
    """The front with bounds, where they are asked for or come unasked, and with what is better."""
    proof = None
    if config.search.prove is not None:
        proof = prove_for(front, config.search.prove)
    elif is_exact_wanted(front, stop):
        proof = prove_within_budget(front)
    if proof is None:
        return front
    front = limits.front(0, config.search.cap) if take_in(limits, proof) else front
    return replace(front, proven=proof.bounds(front))


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
