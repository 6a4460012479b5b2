"""Results folders and released files on the plane of privacy loss and utility loss.

`find_frontier` reads whatever is named, `write_frontier` writes what was found: ``frontier.csv``,
``frontier.png`` and ``frontier.html``.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from moanon.arrays import Outlined
from moanon.atomic import StagedFiles, checked_path
from moanon.config import Config
from moanon.data.populations import SubpopulationSpec
from moanon.errors import ConfigError, OutputError
from moanon.experiment.finished import files_of, find_runs, load_front
from moanon.experiment.folder import make_folder
from moanon.experiment.originals import (
    KnownColumns,
    read_original,
    refuse_twice,
    solution_of,
    with_sensitive,
)
from moanon.front import Front
from moanon.frontier import Frontier, PlacedRelease, place_releases
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.release import read_released
from moanon.release.matching import StarredRows

#: What a frontier is written as, in its folder.
TABLE, FIGURE, PAGE = "frontier.csv", "frontier.png", "frontier.html"


@dataclass(frozen=True, repr=False)
class NamedFrontier(Outlined):
    """A frontier, and where its releases come from.

    Attributes
    ----------
    frontier : Frontier
    sources : mapping of str to tuple of (str, int or None)
        For the name of each release the results folder and the number of its solution there, or
        the released file.
    unfinished : tuple of Path
        Folders that were left out.
    files : tuple of Path
        Files that must not be replaced.
    """

    frontier: Frontier
    sources: Mapping[str, tuple[str, int | None]]
    unfinished: tuple[Path, ...]
    files: tuple[Path, ...]


def find_frontier(
    given: Sequence[str],
    known: KnownColumns,
    *,
    original: str | None = None,
    stars: StarredRows = "all",
    **settings: Any,
) -> NamedFrontier:
    """Place solutions of results folders, and released files, on one plane.

    Parameters
    ----------
    given : sequence of str
        Results folders, solutions of them (``RESULTS#17``), and released files.
    known : KnownColumns
        What the columns of the original are, where no folder says it; its sensitive column is the
        one that the frontier is about.
    original : str, optional
        The original of released files; folders bring their own.
    stars : {"all", "quasi"}
        As for `moanon.release.read_released`.
    **settings
        As for `moanon.frontier.place_releases`.

    Raises
    ------
    MoanonError
        If something cannot be read, or is not of the same table.
    """
    if known.sensitive is not None and len(known.sensitive) != 1:
        raise ConfigError(
            f"the frontier is about one sensitive column. Got {', '.join(known.sensitive)}"
        )
    refuse_twice(given)
    folders = [text for text in given if os.path.isdir(text)]  # noqa: PTH112 (takes any text)
    others = {text: solution_of(text) for text in given if text not in folders}
    files = [text for text, place in others.items() if place is None]
    for text in files:
        if not checked_path(text, ConfigError).exists():
            raise ConfigError(f"there is no results folder or released file {text}")
    fronts, unfinished = _fronts(folders, original)
    chosen = {folder: set(front.ids.tolist()) for folder, front in fronts.items()}
    for folder, number in filter(None, others.values()):
        if folder not in fronts:
            fronts[folder] = load_front(folder, fallback=original, option="original")
        fronts[folder].row(number)  # refused where there is none
        chosen.setdefault(folder, set()).add(number)
    groupings: dict[str, Grouping] = {}
    sources: dict[str, tuple[str, int | None]] = {}
    for folder, front in fronts.items():
        instance = _instance(front, known)
        for number in sorted(chosen[folder]):
            name = f"{folder}#{number}"
            groupings[name] = replace(front.grouping(number), instance=instance).named(name)
            sources[name] = str(folder), number
    if files:
        config = Config.load(next(iter(fronts)) / "config.yaml") if fronts else None
        origin, _ = read_original(original, known, files, config)
        declared = Config.load(known.config) if known.config is not None else config
        for text in files:
            found = read_released(
                text, origin, key=known.key, stars=stars, delimiter=known.delimiter
            )
            groupings[text] = replace(found, instance=_ruled(found.instance, declared))
            sources[text] = text, None
    frontier = place_releases(
        groupings, sensitive=known.sensitive[0] if known.sensitive else None, **settings
    )
    protected = [file for folder, front in fronts.items() for file in files_of(folder, front)]
    protected += [Path(text) for text in files]
    if original is not None:
        protected.append(Path(original))
    return NamedFrontier(frontier, sources, tuple(unfinished), tuple(protected))


def _fronts(folders: Sequence[str], original: str | None) -> tuple[dict[Path, Front], list[Path]]:
    """All fronts in some folders, each with its table."""
    found: dict[Path, Front] = {}
    unfinished: list[Path] = []
    for text in folders:
        finished, begun = find_runs(Path(text))
        unfinished += begun
        for folder in finished:
            found[folder] = load_front(folder, fallback=original, option="original")
    return found, unfinished


def _instance(front: Front, known: KnownColumns) -> Instance:
    """The table of a front, with the sensitive column that is meant."""
    assert front.instance is not None  # fronts are loaded with their tables
    if known.sensitive is None or known.sensitive[0] in front.instance.table.sensitive:
        return front.instance
    return with_sensitive(front.instance, known.sensitive)


def _ruled(instance: Instance, config: Config | None) -> Instance:
    """A table with the ranges that its configuration declares."""
    if config is None or instance.subpopulation_spec is not None:
        return instance
    return replace(instance, subpopulation_spec=SubpopulationSpec(ancestors=config.ancestors))


def write_frontier(found: NamedFrontier, folder: Path, *, force: bool = False) -> list[Path]:
    """Write the table, the figure and the page of a frontier; all of them or none.

    Raises
    ------
    OutputError
        If one of them exists and `force` is not set, or cannot be written.
    """
    from moanon.output.figure_files import save_figure  # here: matplotlib is slow
    from moanon.output.page import frontier_html
    from moanon.output.release_figures import plot_frontier

    place = checked_path(folder, OutputError)
    if place.exists() and not place.is_dir():
        raise OutputError(f"{folder} is a file; a frontier goes into a folder")
    make_folder(place)
    paths = [place / name for name in (TABLE, FIGURE, PAGE)]
    with StagedFiles(*paths, force=force, spared=found.files) as staged:
        staged[paths[0]].write_text(_table(found), encoding="utf-8", newline="\n")
        save_figure(plot_frontier(found.frontier, _series(found)), staged[paths[1]], "png")
        page = frontier_html(found.frontier, found.sources, _series(found))
        staged[paths[2]].write_text(page, encoding="utf-8", newline="\n")
        staged.move()
    return paths


def _series(found: NamedFrontier) -> tuple[str, ...]:
    """What the points of each release are called together: their folder, or released files."""
    folders = [source for source, number in found.sources.values() if number is not None]
    names = {folder: Path(folder).name or folder for folder in dict.fromkeys(folders)}
    if len(set(names.values())) < len(names):
        names = {folder: folder for folder in names}
    return tuple(
        names.get(found.sources[release.name][0], "released files")
        for release in found.frontier.releases
    )


def _table(found: NamedFrontier) -> str:
    """One line for each release, in all digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    measured = [field.name for field in fields(PlacedRelease) if field.name != "name"]
    writer.writerow(["source", "id", *measured])
    for release in found.frontier.releases:
        source, number = found.sources[release.name]
        values = asdict(release)
        cells = ["" if values[name] is None else values[name] for name in measured]
        writer.writerow([source, "" if number is None else number, *cells])
    return text.getvalue()
