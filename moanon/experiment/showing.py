"""Results and released files laid over one another, and what that looks like.

- `read_plane`, `draw_plane`, `write_plane`: results of one table, made in any way. Fronts of global
  and of local recodings, of several limits η and of baselines can be compared point by point where
  they are of the same rows and columns, count losses in the same base values, and share a privacy
  and a cost. `read_plane` makes sure of that.
- `find_frontier`, `write_frontier`: anonymizations on the plane of privacy loss and utility loss
  (``frontier.csv``, ``frontier.png``, ``frontier.html``).
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from moanon.arrays import Outlined
from moanon.atomic import StagedFiles, checked_path
from moanon.compare.comparison import other_base_values
from moanon.config import Config
from moanon.data.populations import SubpopulationSpec
from moanon.data.table import is_kept_as
from moanon.errors import ConfigError, DataError, OutputError
from moanon.experiment.anonymizations import (
    KnownColumns,
    Resolved,
    refuse_twice,
    resolve,
    with_sensitive,
)
from moanon.experiment.finished import FinishedRun, check_page, find_runs, read_run, write_tabs
from moanon.experiment.folder import make_folder
from moanon.frontier import Frontier, PlacedRelease, place_releases
from moanon.genome import Instance
from moanon.measures import find_measure
from moanon.release.matching import StarredRows
from moanon.release.solution import Anonymization

#: What a frontier is written as, in its folder.
_FRONTIER = ("frontier.csv", "frontier.png", "frontier.html")
#: For the name of each release its folder and number there, or its file.
_Sources = Mapping[str, tuple[str, int | None]]


# -- one plane -------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class _Plane(Outlined):
    """Results that can be laid over one another, by distinct names in the order they were given.

    The measures on the axes are k and loss where all were searched for them. Unfinished folders
    were left out.
    """

    runs: Mapping[str, FinishedRun]
    privacy: str
    cost: str
    unfinished: tuple[Path, ...] = ()


def read_plane(folders: Sequence[Path]) -> _Plane:
    """Read results folders, each with one front or with several.

    Refused are folders named twice or without results, and results that cannot be compared.
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
    return _Plane(named, privacy, cost, tuple(unfinished))


def draw_plane(plane: _Plane, path: Path, *, force: bool = False) -> None:
    """Draw all fronts into one file (.png, .svg, .pdf)."""
    from moanon.output.figure_files import save_one  # here: matplotlib is slow
    from moanon.output.figure_style import PAGE
    from moanon.output.objective_figures import plot_fronts

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
    spared = [file for run in plane.runs.values() for file in run.files]
    save_one(draw, path, force=force, spared=spared)


def write_plane(plane: _Plane, path: Path, *, force: bool = False) -> Path:
    """Write the page on which all fronts lie over one another, with a tab for each beside it."""
    check_page(path)
    write_tabs([*plane.runs.items()], path, force=force, axes=(plane.privacy, plane.cost))
    return path


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
    columns = [sorted(run.front.labels[0]) for run in (one, other)]
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


# -- the privacy-utility frontier ------------------------------------------------------------------


def find_frontier(
    given: Sequence[str],
    known: KnownColumns,
    *,
    original: str | None = None,
    stars: StarredRows = "all",
    **settings: Any,
) -> tuple[Frontier, Resolved]:
    """Place all solutions of results folders, and released files, on one plane.

    The sensitive column of `known` is the one that the frontier is about. `settings` are those of
    `moanon.frontier.place_releases`, the rest as for `moanon.experiment.anonymizations.resolve`.
    """
    if known.sensitive is not None and len(known.sensitive) != 1:
        raise ConfigError(
            f"the frontier is about one sensitive column. Got {', '.join(known.sensitive)}"
        )
    refuse_twice(given)
    column = known.sensitive[0] if known.sensitive else None

    def prepare(instance: Instance, _: str) -> Instance:
        if column is None or column in instance.table.sensitive:
            return instance
        return with_sensitive(instance, [column])

    def check_files(files: Sequence[str]) -> None:
        for text in files:
            if not checked_path(text, ConfigError).exists():
                raise ConfigError(f"there is no results folder or released file {text}")

    found = resolve(
        given,
        known,
        original=original,
        stars=stars,
        of_folder=lambda run: run.front.ids.tolist(),
        prepare=prepare,
        check_files=check_files,
        within=True,
    )
    declared = next((run.config for run in found.runs.values()), None)
    if known.config is not None:
        declared = Config.load(known.config)
    groupings = {}
    for each in _by_folder(found.anonymizations):
        groupings[each.name] = each.grouping
        if each.solution is None:
            instance = _with_ranges(each.grouping.instance, declared)
            groupings[each.name] = replace(each.grouping, instance=instance)
    return place_releases(groupings, sensitive=column, **settings), found


def _by_folder(every: Sequence[Anonymization]) -> list[Anonymization]:
    """The solutions of each folder in their order, then released files."""
    folders = list(dict.fromkeys(each.source for each in every))

    def place(each: Anonymization) -> tuple[bool, int, int]:
        number = 0 if each.solution is None else each.solution.number
        return each.solution is None, folders.index(each.source), number

    return sorted(every, key=place)


def _with_ranges(instance: Instance, config: Config | None) -> Instance:
    """A table with the ranges that its configuration declares."""
    if config is None or instance.subpopulation_spec is not None:
        return instance
    return replace(instance, subpopulation_spec=SubpopulationSpec(ancestors=config.ancestors))


def write_frontier(
    frontier: Frontier, found: Resolved, folder: Path, *, force: bool = False
) -> list[Path]:
    """Write the table, the figure and the page of a frontier; all of them or none."""
    from moanon.output.figure_files import save_figure  # here: matplotlib is slow
    from moanon.output.studies import frontier_html, plot_frontier

    place = checked_path(folder, OutputError)
    if place.exists() and not place.is_dir():
        raise OutputError(f"{folder} is a file; a frontier goes into a folder")
    make_folder(place)
    sources = {
        each.name: (each.source, None if each.solution is None else each.solution.number)
        for each in found.anonymizations
    }
    series = _series(frontier, sources)
    paths = [place / name for name in _FRONTIER]
    with StagedFiles(*paths, force=force, spared=found.files) as staged:
        staged[paths[0]].write_text(_table(frontier, sources), encoding="utf-8", newline="\n")
        save_figure(plot_frontier(frontier, series), staged[paths[1]], "png")
        page = frontier_html(frontier, sources, series)
        staged[paths[2]].write_text(page, encoding="utf-8", newline="\n")
        staged.move()
    return paths


def _series(frontier: Frontier, sources: _Sources) -> tuple[str, ...]:
    """What the points of each release are called together: their folder, or released files."""
    folders = [source for source, number in sources.values() if number is not None]
    names = {folder: Path(folder).name or folder for folder in dict.fromkeys(folders)}
    if len(set(names.values())) < len(names):
        names = {folder: folder for folder in names}
    return tuple(
        names.get(sources[release.name][0], "released files") for release in frontier.releases
    )


def _table(frontier: Frontier, sources: _Sources) -> str:
    """One line for each release, in all digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    measured = [field.name for field in fields(PlacedRelease) if field.name != "name"]
    writer.writerow(["source", "id", *measured])
    for release in frontier.releases:
        source, number = sources[release.name]
        values = asdict(release)
        cells = ["" if values[name] is None else values[name] for name in measured]
        writer.writerow([source, "" if number is None else number, *cells])
    return text.getvalue()
