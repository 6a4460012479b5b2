"""`optimize`: from a table to its front in one call."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moanon.config import Config
from moanon.engines import read_table
from moanon.errors import ConfigError
from moanon.experiment.runner import Runner, Watch, checked_threads
from moanon.front import Front
from moanon.genome import Instance
from moanon.progress import Display, show_progress
from moanon.search.running import Progress

if TYPE_CHECKING:
    import pandas as pd

#: Called with how far a search is; what it returns does not matter.
Callback = Callable[[Progress], object]


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
        watch = _watch(display, tuple(callbacks), cancel)
        found = runner.run(watch)
        fronts = found.fronts or runner.fronts(watch)
        (front,) = fronts.values()
        seconds = config.search.prove
        if found.fronts and seconds is not None and front.proven is None:
            front = runner.prove(found, seconds, watch)
        return front


def _watch(
    display: Display | None, callbacks: Sequence[Callback], cancel: Callable[[], bool] | None
) -> Watch:
    """Have the display and the callbacks called, with progress of the steps after it, too."""
    last: list[Progress] = []

    def on_generation(progress: Progress) -> None:
        last[:] = [progress]
        if display is not None:
            display(progress)
        for call in callbacks:
            call(progress)

    def on_step(what: str, number: int, of: int) -> None:
        if display is not None:
            display.step(what, number, of)
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
