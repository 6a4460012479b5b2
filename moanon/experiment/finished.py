"""Finished runs: read again with their table, shown in figures and on a page, beside each other."""

from __future__ import annotations

import csv
import glob
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from moanon import datasets
from moanon.arrays import Outlined
from moanon.atomic import StagedFiles, checked_path
from moanon.config import Config
from moanon.data.strict_yaml import dump_nodes
from moanon.data.table import Table
from moanon.engines.addresses import is_address
from moanon.errors import DataError, MoanonError, OutputError
from moanon.experiment.planning import changed
from moanon.experiment.stored import stored_instance
from moanon.front import Front
from moanon.front.asking import largest_ks, least_losses
from moanon.front.landmarks import find_landmarks
from moanon.front.results import (
    RECORD,
    check_complete,
    check_data,
    check_roles,
    has_config,
    holds,
    parts_of,
    read_listed,
    read_record,
)
from moanon.measures.evaluate import OnPart
from moanon.progress import OnStep
from moanon.progress import on_part as told_parts
from moanon.search.checkpoint import NAMES
from moanon.search.convergence import Convergence

if TYPE_CHECKING:  # nothing of it is needed to read a folder
    from moanon.release import Certificate, Release
    from moanon.release.bucketized import BucketCertificate

#: The table above the folders of several limits.
ETA_TABLE = "comparison.csv"
#: How the name of the folder for one limit of several begins.
_LIMIT = "eta-"
#: How the name of a page ends: a configuration or a table has no such name.
_PAGES = (".html", ".htm")
#: Folder of the records of releases.
_RELEASES = "releases"
#: Most knees that a page points at.
_MOST_MARKS = 5


# -- fronts with their tables --------------------------------------------------------------------


def load_front(
    folder: str | Path,
    data: str | Path | None = None,
    *,
    fallback: str | Path | None = None,
    advise: bool = True,
    option: str = "data",
) -> Front:
    """Read the front of a results folder together with its table, as its configuration says.

    Parameters
    ----------
    folder : path
    data : path, optional
        Where the table is now, if it has moved; it must be the same.
    fallback : path, optional
        The same, for a table that need not have moved.
    advise : bool
        Whether to say how to state where the table is now.
    option : str
        The parameter that states it.

    Raises
    ------
    MoanonError
        If there are no results, or not whole ones; if the data or hierarchies are gone or are not
        what they were.
    """
    config = _config_of(folder, data)
    if data is None and fallback is not None and _is_gone(config):
        config = _config_of(folder, fallback)
    try:
        config.specs()  # a hierarchy that is gone is told before a large table is read
        table = config.read_table()
    except MoanonError as error:
        asked = isinstance(error, DataError) and data is None and fallback is None
        moved = asked and advise and _is_gone(config)
        hint = f"; if it has moved, say where with {option}=…" if moved else ""
        raise type(error)(f"the table of {folder} cannot be read: {error}{hint}") from None
    # First, since other data may also be at odds with the domains, which would explain less.
    check_data(folder, read_record(folder), table)
    return Front.load(folder, config.instance_of(table))


def load_generalization(folder: str | Path) -> Front:
    """Read the front of a results folder for other rows, with the domains that were stored there.

    The table of the run is not read: it may be gone. Results without stored domains need it.
    """
    config = _config_of(folder, None)
    instance = stored_instance(Path(folder), config)
    return load_front(folder) if instance is None else Front.load(folder, instance)


def _is_gone(config: Config) -> bool:
    """Whether the table is neither embedded nor where the configuration says."""
    source = config.data.source
    if is_address(source):
        return False
    if source in datasets.names() or os.path.exists(source):  # noqa: PTH110 (pathlib raises for some)
        return False
    return not glob.glob(source, recursive=True)  # noqa: PTH207 (absolute globs)


def read_rows(folder: str | Path, data: str | Path) -> Table:
    """Read other data the way the table of a results folder was read.

    Identifying columns are left out: they are not released, and the data need not have them.

    Raises
    ------
    MoanonError
        As for `load_front`; if the data lack a column, or cannot be read.
    """
    config = _config_of(folder, data)
    columns = {name: c for name, c in config.columns.items() if c.role != "identifying"}
    return config.model_copy(update={"columns": columns}).read_table()


def _config_of(folder: str | Path, data: str | Path | None) -> Config:
    """Read the configuration of a finished run, for its own data or for others."""
    folder = Path(folder)
    record = read_record(folder)
    read_listed(folder, record, "config.yaml")
    config = Config.load(folder / "config.yaml")
    check_roles(folder, record, config.roles)
    return config if data is None else changed(config, "data", source=str(data))


def files_of(folder: str | Path, front: Front) -> tuple[Path, ...]:
    """Files that a finished run consists of or was made from, and which nothing must replace."""
    found = parts_of(folder)
    if front.instance is not None:
        found += front.instance.table.files
    record = read_record(folder)
    if has_config(record):
        config = _config_of(folder, None)
        found += (Path(config.data.source), *config.hierarchy_files)
    return found


def record_release(
    folder: str | Path, release: Release, certificate: Certificate | BucketCertificate
) -> Path:
    """Write down in a results folder what a certificate does not say of a release.

    The folder is as secret as the table: the record has exact measures of all rows, and digests
    that tie the release to its original (`Release.record`).
    """
    digest = read_record(folder).get("config", {}).get("digest")
    record = release.record(certificate, digest)
    name = certificate.output_digest[:16]
    places = (Path(folder) / _RELEASES / f"{name}-{number}.json" for number in count(1))
    place = next(path for path in places if not path.exists())  # releases may have the same bytes
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        place.parent.mkdir(exist_ok=True)
        with StagedFiles(place, force=True) as staged:
            staged[place].write_text(text, encoding="utf-8", newline="\n")
            staged.move()
    except (OSError, OutputError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise OutputError(
            f"the release was written, but not its record in {place.parent}: {reason}"
        ) from None
    return place


# -- figures and pages ---------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class FinishedRun(Outlined):
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


def find_runs(results: Path) -> tuple[list[Path], list[Path]]:
    """Look for runs in a folder, in those in it, and in those in them.

    Returns
    -------
    finished : list of Path
        In order of name and limit.
    unfinished : list of Path

    Raises
    ------
    DataError
        If there is no finished one; if a folder cannot be looked into, or that of a limit holds
        results in part.
    """
    if not checked_path(results, DataError).is_dir():
        raise DataError(f"{results} is not a folder; name one that moanon run has written")
    places = [results, *results.glob("*/"), *results.glob("*/*/")]
    finished = [folder for folder in places if holds(folder, RECORD)]
    others = [folder for folder in places if folder not in finished]
    begun = [folder for folder in others if any(holds(folder, name) for name in NAMES)]
    for folder in places:
        if folder.name.startswith(_LIMIT):  # others may be anybody's
            check_complete(folder)
    if not finished and begun:
        read_record(begun[0])  # which says what it is instead
    if not finished:
        raise DataError(f"{results} holds no results: neither it nor a folder in it has a {RECORD}")
    return sorted(finished, key=lambda folder: (folder.parent, _eta(folder), folder)), begun


def read_run(folder: Path) -> FinishedRun:
    """Read a results folder; without its table where that cannot be had any more.

    Raises
    ------
    DataError
        If the folder itself is at fault.
    """
    if not has_config(read_record(folder)):
        why = "it was saved from Python, without a config.yaml that says where its table is"
        return run_of(folder, Front.load(folder), why)
    try:
        return run_of(folder, load_front(folder, advise=False))
    except MoanonError as error:  # loading fails again, unless only the table was at fault
        return run_of(folder, Front.load(folder), str(error))


def run_of(folder: Path, front: Front, without_table: str = "") -> FinishedRun:
    """Take a run whose front is at hand."""
    record = read_record(folder)
    config = read_listed(folder, record, "config.yaml").decode() if has_config(record) else ""
    return FinishedRun(folder, front, record, config, without_table)


def draw_plots(
    runs: Sequence[FinishedRun],
    results: Path,
    out: Path | None = None,
    formats: Sequence[str] = ("png", "svg"),
    on_step: OnStep | None = None,
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
    on_step : callable, optional
        Told which figure is drawn.

    Returns
    -------
    list of list of Path
        The files, folder by folder.
    """
    from moanon.output.figure_files import write_eta_plots, write_plots  # here: matplotlib is slow

    written = []
    limits: dict[Path, dict[float, FinishedRun]] = {}
    for run in runs:
        place = run.folder / "plots" if out is None else out / run.folder.relative_to(results)
        what = "figures" if len(runs) == 1 else f"figures of {run.folder.name}"
        written.append(
            write_plots(
                run.front,
                place,
                run.name,
                formats=formats,
                convergence=Convergence.of_record(run.record),
                on_part=told_parts(on_step, what),
            )
        )
        if not math.isinf(run.eta) and run.folder != results:
            limits.setdefault(run.folder.parent, {})[run.eta] = run
    for parent, several in limits.items():
        if len(several) > 1:
            place = parent / "plots" if out is None else out / parent.relative_to(results)
            fronts = {eta: run.front for eta, run in several.items()}
            name = next(iter(several.values())).name
            written.append(write_eta_plots(fronts, place, name, formats=formats))
    return written


def write_page(
    runs: Sequence[FinishedRun],
    results: Path,
    path: Path | None = None,
    *,
    force: bool = False,
    on_part: OnPart | None = None,
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
    on_part : callable, optional
        Told how many solutions are on the page.
    """
    place = results / "report.html" if path is None else path
    titles = [_title(run, results) for run in runs]
    several, replaced = [*zip(titles, runs, strict=True)], force or path is None
    write_tabs(several, place, force=replaced, on_part=on_part)
    return place


def write_tabs(
    runs: Sequence[tuple[str, FinishedRun]],
    path: Path,
    *,
    force: bool,
    axes: tuple[str, str] | None = None,
    on_part: OnPart | None = None,
) -> None:
    """Write a page with a tab for each run and its title; the rest as for `report_html`."""
    from moanon.output.page import write_report  # here, as it is not needed for anything else
    from moanon.output.page_data import Tab

    check_page(path)
    tabs = [
        Tab(
            title,
            run.front,
            run.record,
            str(run.folder),
            config=_without_orders(run.config),
            marks=_marks(run.front),
            without_table=run.without_table,
            exportable=has_config(run.record),
        )
        for title, run in runs
    ]
    spared = [file for _, run in runs for file in files_of(run.folder, run.front)]
    write_report(tabs, path, force=force, spared=spared, axes=axes, on_part=on_part)


def check_page(path: Path) -> None:
    """Refuse a name that no page has."""
    if path.suffix.lower() not in _PAGES:
        raise OutputError(f"a report is a {' or '.join(_PAGES)} file. Got {path.name!r}")


def _without_orders(config: str) -> str:
    """A configuration without the orders and trees of sensitive columns, for a page to show.

    They name values that nobody may have released. Files that hold them are named.
    """
    found = False
    root = yaml.compose(config, yaml.SafeLoader)
    for columns in _values(root, "columns"):
        for _, column in columns.value:
            if any(role.value == "sensitive" for role in _values(column, "role")):
                kept = [(key, value) for key, value in column.value if not _is_order(key, value)]
                found |= len(kept) < len(column.value)
                column.value = kept
    return dump_nodes(root) if found and root is not None else config


def _values(node: yaml.Node | None, key: str) -> list[yaml.Node]:
    """What a mapping has under a key."""
    entries = node.value if isinstance(node, yaml.MappingNode) else []
    return [value for name, value in entries if name.value == key]


def _is_order(key: yaml.Node, value: yaml.Node) -> bool:
    return key.value in ("order", "hierarchy") and not isinstance(value, yaml.ScalarNode)


def _marks(front: Front) -> dict[int, str]:
    """The most remarkable knees of a front."""
    knees = sorted(find_landmarks(front).knees, key=lambda knee: -knee.worth)
    return {knee.id: "knee" for knee in knees[:_MOST_MARKS]}


def _eta(folder: Path) -> float:
    start, mark, limit = folder.name.partition(_LIMIT)
    try:
        return float(limit) if mark and not start else math.inf
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


# -- several limits beside each other ------------------------------------------------------------


def write_eta_table(folder: Path, fronts: Mapping[float, Front], texts: Mapping[str, str]) -> None:
    """Write ``comparison.csv`` and other texts into the folder above those of the limits."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["question", "limit", *(f"eta {eta}" for eta in sorted(fronts))])
    questions = {
        "least loss with k at least": least_losses(fronts),
        "largest k with loss at most": largest_ks(fronts),
    }
    for question, answers in questions.items():
        for bound, values in answers.items():
            cells = ("" if value is None else repr(value) for value in values)
            writer.writerow([question, bound, *cells])
    written = {folder / ETA_TABLE: table.getvalue()}
    written |= {folder / name: text for name, text in texts.items()}
    with StagedFiles(*written, force=True) as staged:
        for path, text in written.items():
            staged[path].write_text(text, encoding="utf-8", newline="\n")
        staged.move()
