"""One plane: results of one table, made in any way, laid over one another.

Fronts of global and of local recodings, of several limits η and of baselines can be compared point
by point where they are of the same rows and columns, count losses in the same base values, and
share a privacy and a cost. `read_plane` makes sure of that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

from moanon.arrays import Outlined
from moanon.compare.comparison import other_base_values
from moanon.data.source import is_kept_as
from moanon.errors import ConfigError, DataError
from moanon.experiment.finished import (
    FinishedRun,
    check_page,
    files_of,
    find_runs,
    read_run,
    write_tabs,
)
from moanon.measures import find_measure


@dataclass(frozen=True, repr=False)
class Plane(Outlined):
    """Results that can be laid over one another.

    Attributes
    ----------
    runs : mapping of str to FinishedRun
        By the names that tell them apart, in the order they were given.
    privacy, cost : str
        The measures on the axes: k and loss where all were searched for them.
    unfinished : tuple of Path
        Folders that were left out.
    """

    runs: Mapping[str, FinishedRun]
    privacy: str
    cost: str
    unfinished: tuple[Path, ...] = ()


def read_plane(folders: Sequence[Path]) -> Plane:
    """Read results folders, each with one front or with several.

    Raises
    ------
    ConfigError
        If a folder is named twice, or two results cannot be compared.
    DataError
        If a folder holds no results.
    """
    places: list[Path] = []
    unfinished: list[Path] = []
    for folder in folders:
        finished, begun = find_runs(folder)
        places += finished
        unfinished += begun
    for place, times in Counter(place.resolve() for place in places).items():
        if times > 1:
            raise ConfigError(f"{place.name} is named twice; name each results folder once")
    runs = [read_run(place) for place in places]
    for other in runs[1:]:
        _refuse_other_table(runs[0], other)
    privacy, cost = _shared_axes(runs)
    named = dict(zip(_names(runs), runs, strict=True))
    return Plane(named, privacy, cost, tuple(unfinished))


def draw_plane(plane: Plane, path: Path, *, force: bool = False) -> None:
    """Draw all fronts into one file (.png, .svg, .pdf).

    Raises
    ------
    OutputError
        If the file has another ending, exists and `force` is not set, or cannot be written.
    """
    from moanon.output.figure_files import save_one  # here: matplotlib is slow
    from moanon.output.figure_style import PAGE
    from moanon.output.front_figures import plot_fronts

    fronts = {name: run.front for name, run in plane.runs.items()}
    draw = partial(
        plot_fronts,
        fronts,
        privacy=plane.privacy,
        cost=plane.cost,
        heading="",
        ordered=False,
        size=(PAGE, 4.2),
    )
    save_one(draw, path, force=force, spared=_files(plane))


def write_plane(plane: Plane, path: Path, *, force: bool = False) -> Path:
    """Write the page on which all fronts lie over one another, with a tab for each beside it."""
    check_page(path)
    write_tabs([*plane.runs.items()], path, force=force, axes=(plane.privacy, plane.cost))
    return path


def _files(plane: Plane) -> Iterable[Path]:
    return [file for run in plane.runs.values() for file in files_of(run.folder, run.front)]


# -- what can be compared --------------------------------------------------------------------------


def _refuse_other_table(one: FinishedRun, other: FinishedRun) -> None:
    """Refuse results whose numbers are not about the same rows, columns and base values."""
    here, there = (run.record.get("data", {}) for run in (one, other))
    for run, data in ((one, here), (other, there)):
        if "digest" not in data:
            raise DataError(
                f"{run.folder} does not say which table it is of, as results of moanon run and "
                "baseline do; laid over one another are results of one table"
            )
    if not _is_same_table(one, other):
        raise ConfigError(
            f"{one.folder} and {other.folder} are of different tables; laid over one another are "
            "results of one table"
        )
    columns = [sorted(run.front.blocks[0]) for run in (one, other)]
    if columns[0] != columns[1]:
        raise ConfigError(
            f"{other.folder} has the quasi-identifiers {', '.join(columns[1])} and {one.folder} "
            f"has {', '.join(columns[0])}; laid over one another are results of the same columns"
        )
    tables = one.front.instance, other.front.instance
    if tables[0] is None or tables[1] is None:  # and their rows are gone: no domains to look at
        return
    if column := other_base_values(tables[0], tables[1]):
        raise ConfigError(
            f"{other.folder} counts losses in other base values than {one.folder} (column "
            f"{column!r}), so that they cannot be compared; declare the column alike"
        )


def _is_same_table(one: FinishedRun, other: FinishedRun) -> bool:
    """Whether results state the same data; those of databases where one can be read."""
    here, there = (run.record["data"] for run in (one, other))
    if here.get("rows") != there.get("rows"):
        return False
    for run, stated in ((one, there), (other, here)):
        if run.front.instance is not None:  # which is what the run itself states
            digest = run.front.instance.table.digest
            return is_kept_as(digest, stated["digest"], stated.get("key"))
    return bool(here["digest"] == there["digest"])


def _shared_axes(runs: Sequence[FinishedRun]) -> tuple[str, str]:
    """The privacy and the cost that all were searched for, as attained; k and loss first."""
    objectives = [_attained(run) for run in runs]
    shared = [name for name in objectives[0] if all(name in each for each in objectives)]
    shared.sort(key=lambda name: name not in ("k", "loss"))
    privacies = [name for name in shared if find_measure(name).privacy]
    costs = [name for name in shared if not find_measure(name).privacy]
    if privacies and costs:
        return privacies[0], costs[0]
    odd = next(
        (i for i, each in enumerate(objectives) if len({*each} & {*objectives[0]}) < 2),
        len(runs) - 1,
    )
    listed = [f"{runs[i].folder} ({', '.join(objectives[i])})" for i in (0, odd)]
    raise ConfigError(
        f"{' and '.join(listed)} do not share two objectives, a privacy and a cost; there are no "
        "axes to lay them over one another"
    )


def _attained(run: FinishedRun) -> list[str]:
    measures = map(find_measure, run.front.objectives)
    return [each.attained[0] if each.attained else each.name for each in measures]


# -- what they are called --------------------------------------------------------------------------


def _names(runs: Sequence[FinishedRun]) -> list[str]:
    """Call runs by their own names and limits, or by their folders where those are the same."""
    names = [_called(run) for run in runs]
    if len(set(names)) == len(names):
        return names
    parts = [PurePath(run.folder.resolve()).parts for run in runs]
    for length in range(1, max(map(len, parts)) + 1):  # no more of the path than is needed
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(names):
            break
    return names


def _called(run: FinishedRun) -> str:
    eta = run.front.suppression.eta if math.isinf(run.eta) else run.eta
    is_limit = eta > 0 or not math.isinf(run.eta)  # of several, 0 is one, too
    return f"{run.name}, η = {eta * 100:g} %" if is_limit else run.name
