"""Results to look at: the figures of a results folder, and the page on which it can be explored."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moanon.errors import DataError, MoanonError, OutputError
from moanon.experiment.loading import load_front
from moanon.front import Front
from moanon.landmarks import find_landmarks
from moanon.results import (
    RECORD,
    check_complete,
    has_config,
    holds,
    is_part,
    read_listed,
    read_record,
)
from moanon.search.checkpoint import NAMES

__all__ = ["FinishedRun", "Found", "draw_plots", "find_runs", "read_run", "run_of", "write_page"]

#: Names of folders for one limit of several.
_LIMIT = re.compile("eta-")
#: Most knees that a page points at.
_MOST_MARKS = 5


@dataclass(frozen=True)
class FinishedRun:
    """What a results folder holds.

    Attributes
    ----------
    folder : Path
    front : Front
    record : mapping
        The content of ``run.json``.
    config : str
        The text of ``config.yaml``; empty for a front that was saved from Python.
    without_table : str
        Where the front has no table: why not. Sizes of groups cannot be shown then.
    """

    folder: Path
    front: Front
    record: Mapping[str, Any]
    config: str
    without_table: str = ""

    @property
    def name(self) -> str:
        """What the run is called."""
        return str(self.record.get("name", self.folder.name))

    @property
    def eta(self) -> float:
        """The limit that the folder is named after (``eta-0.05``); infinite for other names."""
        return _eta(self.folder)


@dataclass(frozen=True)
class Found:
    """Folders with runs below a place: finished ones in order of name and limit, and others."""

    finished: tuple[Path, ...]
    unfinished: tuple[Path, ...]


def find_runs(results: Path) -> Found:
    """Look for runs in a folder, in those in it, and in those in them.

    Raises
    ------
    DataError
        If there is no finished one; if a folder cannot be looked into, or that of a limit holds
        results in part.
    """
    if not results.is_dir():
        raise DataError(f"{results} is not a folder; name one that moanon run has written")
    places = [results, *results.glob("*/"), *results.glob("*/*/")]
    finished = [folder for folder in places if holds(folder, RECORD)]
    begun = tuple(
        folder
        for folder in places
        if folder not in finished and any(holds(folder, name) for name in NAMES)
    )
    for folder in places:
        if _LIMIT.match(folder.name):  # others may be anybody's
            check_complete(folder)
    if not finished and begun:
        read_record(begun[0])  # which says what it is instead
    if not finished:
        raise DataError(f"{results} holds no results: neither it nor a folder in it has a {RECORD}")
    order = sorted(finished, key=lambda folder: (folder.parent, _eta(folder), folder))
    return Found(tuple(order), begun)


def read_run(folder: Path) -> FinishedRun:
    """Read a results folder; without its table where that cannot be had any more.

    Raises
    ------
    DataError
        If the folder itself is at fault.
    """
    record = read_record(folder)
    if not has_config(record):
        why = "it was saved from Python, without a config.yaml that says where its table is"
        return FinishedRun(folder, Front.load(folder), record, "", why)
    why = ""
    try:
        front = load_front(folder, advise=False)
    except MoanonError as error:
        front = Front.load(folder)  # which fails too, unless only the table was at fault
        why = str(error)
    config = read_listed(folder, record, "config.yaml").decode()
    return FinishedRun(folder, front, record, config, why)


def run_of(folder: Path, front: Front) -> FinishedRun:
    """Take a run that has just been written, whose front is at hand."""
    record = read_record(folder)
    return FinishedRun(folder, front, record, read_listed(folder, record, "config.yaml").decode())


def draw_plots(
    runs: Sequence[FinishedRun],
    results: Path,
    out: Path | None = None,
    formats: Sequence[str] = ("png", "svg"),
) -> list[list[Path]]:
    """Draw the figures of each run, and compare those of several limits.

    Parameters
    ----------
    runs : sequence of FinishedRun
    results : Path
        The folder they are in.
    out : Path, optional
        Where figures go, instead of ``plots`` in each folder.
    formats : sequence of {"png", "svg"}

    Returns
    -------
    list of list of Path
        The files, folder by folder.
    """
    from moanon.output.figure_files import write_eta_plots, write_plots  # here: matplotlib is slow

    written = []
    limits: dict[Path, dict[float, FinishedRun]] = {}
    for run in runs:
        below = run.folder.relative_to(results)
        place = run.folder / "plots" if out is None else out / below
        written.append(write_plots(run.front, place, run.name, formats=formats))
        if not math.isinf(run.eta) and run.folder != results:
            limits.setdefault(run.folder.parent, {})[run.eta] = run
    for parent, several in limits.items():
        if len(several) < 2:
            continue
        place = parent / "plots" if out is None else out / parent.relative_to(results)
        fronts = {eta: run.front for eta, run in several.items()}
        name = next(iter(several.values())).name
        written.append(write_eta_plots(fronts, place, name, formats=formats))
    return written


def write_page(
    runs: Sequence[FinishedRun], results: Path, path: Path | None = None, *, force: bool = False
) -> Path:
    """Write the page on which fronts can be explored: a tab for each run.

    Parameters
    ----------
    runs, results
        As for `draw_plots`.
    path : Path, optional
        Where to write, instead of ``report.html`` in `results`, which is replaced.
    force : bool
        Whether `path` may be replaced.
    """
    from moanon.output.page import Tab, write_report

    tabs = [
        Tab(
            _title(run, results),
            run.front,
            run.record,
            str(run.folder),
            config=run.config,
            marks=_marks(run.front),
            without_table=run.without_table,
            exportable=has_config(run.record),
        )
        for run in runs
    ]
    place = results / "report.html" if path is None else path
    if any(_is_read(run, place) for run in runs):
        raise OutputError(
            f"{place} is not replaced: a run or its results are read from it; name another file"
        )
    write_report(tabs, place, force=force or path is None)
    return place


def _is_read(run: FinishedRun, path: Path) -> bool:
    """Whether a path is a file of the run, or the table it was made from."""
    source = Path(str(run.record.get("data", {}).get("source", "")))
    return is_part(run.folder, path) or (
        path.is_file() and source.is_file() and path.samefile(source)
    )


def _marks(front: Front) -> dict[int, str]:
    """The most remarkable knees of a front."""
    knees = sorted(find_landmarks(front).knees, key=lambda knee: -knee.worth)
    return {knee.id: "knee" for knee in knees[:_MOST_MARKS]}


def _eta(folder: Path) -> float:
    try:
        return float(folder.name.removeprefix("eta-")) if _LIMIT.match(folder.name) else math.inf
    except ValueError:
        return math.inf


def _title(run: FinishedRun, results: Path) -> str:
    if run.folder == results:
        return run.name
    place = run.folder.relative_to(results)
    if math.isinf(run.eta):
        return place.as_posix()
    eta = f"η = {run.eta * 100:g} %"
    return eta if len(place.parts) == 1 else f"{place.parts[0]}, {eta}"
