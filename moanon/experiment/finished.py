"""Finished runs: a results folder is read once, and what is in hand is passed on.

`open_run` reads a folder with its table, `read_run` with the table where it can still be had,
`open_generalization` without any rows, for new ones. `save_run` writes one. All give a
`FinishedRun`, and whatever is asked later is answered from it. `draw_plots` and `write_page` make
the figures and the page of a folder, `write_eta_table` lays several limits beside each other.

``domains.json`` holds what is known of the columns of a table without its rows: their names in
order, and the domains of the quasi-identifiers. Values that make up a tree are named only if a
solution shows them; of the others there are digests. Where a sensitive column has a tree or an
order that says how far its values are apart, nothing is stored: new rows could not be judged
without it, and it names values that nobody may have released. The original is then read again.
"""

from __future__ import annotations

import csv
import glob
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from moanon import datasets
from moanon.arrays import Outlined
from moanon.atomic import StagedFiles, checked_path
from moanon.config import Config
from moanon.data.cells import Cells, SensitiveCounts
from moanon.data.column import Column
from moanon.data.domain import NOT_SHOWN, TreeDomain, domain_from
from moanon.data.strict_yaml import dump_nodes
from moanon.data.table import Table, files_behind, is_address, kept, new_key
from moanon.engines.duck import HeldRows
from moanon.errors import DataError, MoanonError, OutputError
from moanon.front import Front
from moanon.front.asking import largest_ks, least_losses
from moanon.front.landmarks import find_landmarks
from moanon.front.results import (
    DOMAINS,
    RECORD,
    check_complete,
    check_data,
    check_roles,
    has_config,
    holds,
    parts_of,
    read_listed,
    read_object,
    read_record,
)
from moanon.genome import Instance, Layout
from moanon.measures.evaluate import OnPart
from moanon.progress import OnStep
from moanon.progress import on_part as parts_of_step
from moanon.search.algorithms import Convergence
from moanon.search.checkpoint import NAMES

if TYPE_CHECKING:  # nothing of it is needed to read a folder
    from moanon.release import Certificate, Release
    from moanon.release.bucketized import BucketCertificate

#: The configuration of a run, with all defaults stated.
CONFIG = "config.yaml"
#: How the name of the folder for one limit of several begins.
_LIMIT = "eta-"
#: The table above the folders of several limits.
ETA_TABLE = "comparison.csv"
#: How the name of a page ends: a configuration or a table has no such name.
_PAGES = (".html", ".htm")
#: Most knees that a page points at.
_MOST_MARKS = 5
#: Folder of the records of releases.
_RELEASES = "releases"


def changed(config: Config, section: str, **values: Any) -> Config:
    """The configuration with other values in one of its sections."""
    there = getattr(config, section).model_copy(update=values)
    return config.model_copy(update={section: there})


def with_eta(config: Config, eta: float | tuple[float, ...]) -> Config:
    """The configuration with other limits of suppression, if it is of a kind that has any."""
    return config if config.problem.eta is None else changed(config, "problem", eta=eta)


@dataclass(frozen=True, eq=False, repr=False)
class FinishedRun(Outlined):
    """What a results folder holds."""

    folder: Path
    record: Mapping[str, Any]  # the content of ``run.json``
    front: Front
    text: str = ""  # of ``config.yaml``; empty for a front that was saved from Python
    config: Config | None = None  # the same, read; None where there is none, or it cannot be read
    without_table: str = ""  # why the front has no table; sizes of groups cannot be shown then

    @property
    def name(self) -> str:
        """What the run is called."""
        return str(self.record.get("name", self.folder.name))

    @property
    def eta(self) -> float:
        """The limit that the folder is named after (``eta-0.05``); infinite for other names."""
        return _eta(self.folder)

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """Files that the run consists of or was made from, and which nothing must replace."""
        found = parts_of(self.folder)
        if self.front.instance is not None:
            found += self.front.instance.table.files
        if self.config is not None:
            found += (Path(self.config.data.source), *self.config.hierarchy_files)
        return found

    def read_rows(self, data: str | Path) -> Table:
        """Read other data the way the table of the run was read.

        Identifying columns are left out: they are not released, and the data need not have them.
        """
        assert self.config is not None  # runs are opened for new rows with it
        columns = {n: c for n, c in self.config.columns.items() if c.role != "identifying"}
        own = changed(self.config, "data", source=str(data))
        return own.model_copy(update={"columns": columns}).read_table()

    def record_release(
        self, release: Release, certificate: Certificate | BucketCertificate
    ) -> Path:
        """Write down in the folder what a certificate does not say of a release (`Release.record`).

        The folder is as secret as the table.
        """
        record = release.record(certificate, self.record.get("config", {}).get("digest"))
        name = certificate.output_digest[:16]
        places = (self.folder / _RELEASES / f"{name}-{number}.json" for number in count(1))
        place = next(path for path in places if not path.exists())  # bytes may be the same
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


# -- reading ---------------------------------------------------------------------------------------


def load_front(folder: str | Path, data: str | Path | None = None) -> Front:
    """Read the front of a results folder together with its table; as `open_run`."""
    return open_run(folder, data).front


def open_run(
    folder: str | Path,
    data: str | Path | None = None,
    *,
    fallback: str | Path | None = None,
    option: str = "data",
    record: Mapping[str, Any] | None = None,
) -> FinishedRun:
    """Read a results folder together with its table, as its configuration says.

    Parameters
    ----------
    data : path, optional
        Where the table is now, if it has moved; it must be the same.
    fallback : path, optional
        The same, for a table that need not have moved.
    option : str
        The parameter that states it.
    record : mapping, optional
        Its ``run.json``, where that has been read already.

    Raises
    ------
    MoanonError
        If there are no results, or not whole ones; if the data or hierarchies are gone or are not
        what they were.
    """
    run = _configured(_opened(Path(folder), record))
    return _with_table(run, data, fallback, option)


def run_over(folder: Path, record: Mapping[str, Any], instance: Instance) -> FinishedRun:
    """Read a results folder whose ``run.json`` and whose table have been read already."""
    return _over(_configured(_opened(folder, record)), instance)


def read_run(folder: Path, record: Mapping[str, Any] | None = None) -> FinishedRun:
    """Read a results folder; without its table where that cannot be had any more.

    `record` is its ``run.json``, where that has been read already.
    """
    run = _opened(folder, record)
    if not has_config(run.record):
        why = "it was saved from Python, without a config.yaml that says where its table is"
        return replace(run, without_table=why)
    try:
        run = _configured(run)
        return _with_table(run)
    except MoanonError as error:
        return replace(run, without_table=str(error))


def open_generalization(folder: str | Path, solution: int) -> FinishedRun:
    """Read a results folder for one of its solutions on new rows, with the domains stored there.

    The table of the run is not read: it may be gone. Results without stored domains need it.
    """
    run = _configured(_opened(Path(folder)))
    instance = _stored_instance(run)
    if instance is None:
        return _with_table(run, option="data")
    return replace(run, front=run.front.over(instance, run.folder, run.record, [solution]))


def _opened(folder: Path, record: Mapping[str, Any] | None = None) -> FinishedRun:
    """Read the files of a folder, each once; not its table."""
    record = read_record(folder) if record is None else record
    text = read_listed(folder, record, CONFIG).decode() if has_config(record) else ""
    return FinishedRun(folder, record, Front.of_record(folder, record), text)


def _configured(run: FinishedRun) -> FinishedRun:
    """Read what the configuration of a run says."""
    content = run.text.encode() or read_listed(run.folder, run.record, CONFIG)
    config = Config.load(run.folder / CONFIG, content=content)
    check_roles(run.folder, run.record, config.roles)
    return replace(run, config=config)


def _with_table(
    run: FinishedRun,
    data: str | Path | None = None,
    fallback: str | Path | None = None,
    option: str = "",
) -> FinishedRun:
    """Read the table of a run whose configuration is known; see `open_run`."""
    config, folder = run.config, run.folder
    assert config is not None
    gone = _is_gone(config)
    source = fallback if data is None and gone else data
    if source is not None:
        config = changed(config, "data", source=str(source))
    try:
        specs = config.specs()  # a hierarchy that is gone is noticed before a large table is read
        table = config.read_table()
    except MoanonError as error:
        moved = option and gone and source is None and isinstance(error, DataError)
        hint = f"; if it has moved, say where with {option}=…" if moved else ""
        raise type(error)(f"the table of {folder} cannot be read: {error}{hint}") from None
    # First, since other data may also be at odds with the domains, which would explain less.
    check_data(folder, run.record, table)
    return _over(run, config.instance_of(table, specs))


def _over(run: FinishedRun, instance: Instance) -> FinishedRun:
    """Give the front of a run its table.

    The same data can be read with a hierarchy that was edited since. Where configuration and trees
    are those of the run, labels are too; else those of all solutions are compared.
    """
    assert run.config is not None
    stated = run.record.get("config", {}).get("search")
    unchanged = stated == search_digest(run.config, instance)
    front = run.front.over(instance, run.folder, run.record, () if unchanged else None)
    return replace(run, front=front)


def search_digest(config: Config, instance: Instance) -> str:
    """SHA-256 of what the course of a search depends on beside the rows, the seed and η."""
    chosen = config.model_dump(mode="json", exclude_none=True, exclude={"name", "output"})
    chosen["problem"].pop("eta", None)
    chosen["search"].pop("prove", None)  # which comes after it
    # A hierarchy is a file of its own: the same configuration may find another one there.
    trees = {}
    for name, domain in (*instance.layout.domains.items(), *instance.distances.items()):
        if isinstance(domain, TreeDomain):
            tree = domain.hierarchy
            trees[name] = [tree.names, tree.starts, tree.stops, tree.levels]
    text = json.dumps([chosen, trees], sort_keys=True)
    return sha256(text.encode()).hexdigest()


def _is_gone(config: Config) -> bool:
    """Whether the table is neither embedded nor where the configuration says."""
    source = config.data.source
    if is_address(source):
        return False
    if source in datasets.names() or os.path.exists(source):  # noqa: PTH110 (pathlib raises for some)
        return False
    return not glob.glob(source, recursive=True)  # noqa: PTH207 (absolute globs)


def find_runs(results: Path) -> tuple[list[Path], list[Path]]:
    """Look for runs in a folder, in those in it, and in those in them: finished, unfinished.

    The finished ones are in order of name and limit. A DataError if there is none; if a folder
    cannot be looked into, or that of a limit holds results in part.
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


def _eta(folder: Path) -> float:
    start, mark, limit = folder.name.partition(_LIMIT)
    try:
        return float(limit) if mark and not start else math.inf
    except ValueError:
        return math.inf


# -- writing ---------------------------------------------------------------------------------------


def save_run(
    folder: Path,
    front: Front,
    config: Config,
    record: Mapping[str, Any],
    *,
    text: str | None = None,
    force: bool,
) -> FinishedRun:
    """Write a front into a folder, with its configuration and the domains of its columns.

    `record` is what ``run.json`` states beside what the front itself does, `text` the configuration
    as it stands in the folder already. With `force`, files that exist are replaced.
    """
    text = config.to_yaml() if text is None else text
    texts = {CONFIG: text, **_domains_texts(front)}
    written = front.save(folder, record=record, texts=texts, force=force)
    return FinishedRun(folder, written, front, text, config)


def _domains_texts(front: Front) -> dict[str, str]:
    """``domains.json`` by its name; nothing where it would have to name sensitive values."""
    instance = front.instance
    assert instance is not None
    if instance.distances:
        return {}
    shown: dict[str, set[tuple[int, int]]] = {name: set() for name in instance.layout.domains}
    for blocks, labels in zip(front.recodings.blocks(instance), front.labels, strict=True):
        for name, named in labels.items():
            pairs = zip(blocks[name], named, strict=True)
            shown[name].update(block for block, label in pairs if label != NOT_SHOWN)
    digest = instance.table.digest
    salt = kept(digest, new_key(digest))
    quasi = {
        name: domain.record(sorted(shown[name]), f"{salt} {name}")
        for name, domain in instance.layout.domains.items()
    }
    stored = {"columns": list(instance.table.roles), "quasi": quasi}
    return {DOMAINS: json.dumps(stored, ensure_ascii=False) + "\n"}


def _stored_instance(run: FinishedRun) -> Instance | None:
    """The table of a run without any row; None for results that do not have its domains."""
    folder, record, config = run.folder, run.record, run.config
    assert config is not None
    if DOMAINS not in record.get("files", {}):
        return None
    stored = read_object(folder / DOMAINS, read_listed(folder, record, DOMAINS))
    try:
        names = [str(name) for name in stored["columns"]]
        domains = {name: domain_from(each) for name, each in stored["quasi"].items()}
    except (AttributeError, KeyError, TypeError, DataError) as error:
        raise DataError(f"{folder / DOMAINS} holds no domains of columns: {error}") from None
    roles = config.roles
    if sorted(names) != sorted(roles) or any(roles.get(name) != "quasi" for name in domains):
        raise DataError(f"{folder / DOMAINS} is of other columns than config.yaml; run it again")
    data: dict[str, Any] = record.get("data", {})
    source = config.data.source
    nobody = np.zeros(0, dtype=np.int32)
    table = Table(
        source=data.get("source", source),
        digest=data.get("digest", ""),
        roles={name: roles[name] for name in names},
        store=HeldRows({name: Column(name, nobody, (), None) for name in names}),
        rows_in=0,
        rows_dropped=0,
        undeclared=(),
        files=() if source in datasets.names() else files_behind(source),
        # The database is not asked again, and what is read there may be a view.
        unlisted=source.startswith(("duckdb://", "pyspark://", "spark://", "file://")),
    )
    nothing = np.zeros(0, dtype=np.int64)
    label = config.problem.class_column
    return Instance(
        table,
        Layout(domains),
        Cells(tuple(domains), np.zeros((len(domains), 0), dtype=np.uint16), nothing, ()),
        {},
        config.weights,
        None if label is None else SensitiveCounts(label, (), nothing, nobody, nothing),
    )


# -- figures and pages of a folder -----------------------------------------------------------------


def draw_plots(
    runs: Sequence[FinishedRun],
    results: Path,
    out: Path | None = None,
    formats: Sequence[str] = ("png", "svg"),
    on_step: OnStep | None = None,
) -> list[list[Path]]:
    """Draw the figures of each run in the folder `results`, and compare those of several limits.

    They go to ``plots`` in each folder, or to `out`. Returned are the files, folder by folder.
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
                on_part=parts_of_step(on_step, what),
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

    It is ``report.html`` in `results`, which is replaced, or `path`, which is if `force` is set.
    `on_part` is called with how many solutions are on the page.
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
    from moanon.output.page import Tab, write_report  # here, as it is needed for nothing else

    check_page(path)
    tabs = [
        Tab(
            title,
            run.front,
            run.record,
            str(run.folder),
            config=_without_orders(run.text),
            marks=_marks(run.front),
            without_table=run.without_table,
            exportable=has_config(run.record),
        )
        for title, run in runs
    ]
    spared = [file for _, run in runs for file in run.files]
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
                kept = [
                    (key, value)
                    for key, value in column.value
                    if key.value not in ("order", "hierarchy") or isinstance(value, yaml.ScalarNode)
                ]
                found |= len(kept) < len(column.value)
                column.value = kept
    return dump_nodes(root) if found and root is not None else config


def _values(node: yaml.Node | None, key: str) -> list[yaml.Node]:
    """What a mapping has under a key."""
    entries = node.value if isinstance(node, yaml.MappingNode) else []
    return [value for name, value in entries if name.value == key]


def _marks(front: Front) -> dict[int, str]:
    """The most remarkable knees of a front."""
    knees = find_landmarks(front).foremost_knees()
    return {knee.last: "knee" for knee in knees[:_MOST_MARKS]}


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
