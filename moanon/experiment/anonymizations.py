"""The resolver: whatever commands name becomes an `Anonymization` of a table.

Named are results folders (``RESULTS``), solutions of them (``RESULTS#17``), and released files,
ours or not, together with their original. `resolve` opens each folder once and gives one kind of
thing for all of them; nothing else takes such names apart. `measure_release` measures a file.

The original of released files is read by `read_original`. What their labels mean is known from a
configuration or from hierarchies. Without either, labels are mere texts: group sizes can be
counted, losses cannot.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moanon import datasets
from moanon.arrays import Outlined
from moanon.atomic import checked_path
from moanon.compare.comparison import refuse_other_rows
from moanon.config import ColumnSection, Config
from moanon.data.cells import Cells
from moanon.data.column import did_you_mean
from moanon.data.domain import TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.data.table import Role, Table, give_roles, is_address
from moanon.engines import Source, open_source
from moanon.errors import ConfigError, DataError, EncodingError
from moanon.experiment.finished import FinishedRun, changed, find_runs, open_run
from moanon.front.results import RECORD, find_fronts
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures import find_measure
from moanon.measures.evaluate import measure_grouping
from moanon.measures.suppression import Suppression
from moanon.release import read_released
from moanon.release.matching import StarredRows
from moanon.release.solution import Anonymization
from moanon.wording import Grid, Part, Worded, facts

if TYPE_CHECKING:
    import pandas as pd

_NUMBER = re.compile("[0-9]{1,18}")
#: What can be named.
_NAMED = "named are released files and solutions of results folders (RESULTS#ID)"
#: A table before it was anonymized, and its columns that are to be protected.
_Original = tuple[Instance | Table, tuple[str, ...]]


@dataclass(frozen=True)
class KnownColumns:
    """What is said about the columns of an original.

    Without a configuration, quasi-identifiers are by default those with a hierarchy, else every
    column that the original and all released files have.
    """

    config: Path | None = None  # says what the columns and their labels are
    hierarchies: Sequence[str] = ()  # without one: ``COLUMN=FILE`` for quasi-identifiers
    quasi: Sequence[str] = ()  # without one
    sensitive: Sequence[str] | None = None  # by default those of the configuration
    key: str | None = None  # a column by which released rows are found
    delimiter: str | None = None  # of CSV files

    def __post_init__(self) -> None:
        """Refuse what can only be a slip: a column that is named twice, or not at all."""
        for option, given in (("quasi", self.quasi), ("sensitive", self.sensitive or ())):
            for name, times in Counter(given).items():
                if times > 1:
                    raise ConfigError(f"{option}=… names the column {name!r} twice")
        if self.key == "":
            raise ConfigError("key=… must name a column. Got an empty name")

    def refuse_domains(self) -> None:
        """Refuse domains of columns beside a configuration, which declares them."""
        if self.hierarchies or self.quasi:
            option = "hierarchies" if self.hierarchies else "quasi"
            raise ConfigError(
                f"{option}=… states what the configuration states already; leave one out"
            )


# -- the resolver ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Resolved(Outlined):
    """Anonymizations in the order they were named, and what they come from."""

    anonymizations: tuple[Anonymization, ...]
    runs: Mapping[Path, FinishedRun]  # the results folders
    original: _Original | None = None  # of released files, where it was read
    unfinished: tuple[Path, ...] = ()  # folders that were left out

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that they were read from, and which nothing must replace."""
        found = [file for run in self.runs.values() for file in run.files]
        found += [Path(each.source) for each in self.anonymizations if each.solution is None]
        if self.original is not None:
            found += table_of(self.original[0]).files
        return tuple(dict.fromkeys(found))


def resolve(
    given: Sequence[str],
    known: KnownColumns = KnownColumns(),
    *,
    original: str | None = None,
    stars: StarredRows = "all",
    of_folder: Callable[[FinishedRun], Iterable[int]] | None = None,
    prepare: Callable[[Instance, str], Instance] = lambda instance, _: instance,
    check_files: Callable[[Sequence[str]], None] = lambda files: None,
    within: bool = False,
    read: bool = False,
) -> Resolved:
    """Open what is named: results folders, solutions of them (``RESULTS#17``), released files.

    Parameters
    ----------
    known : KnownColumns
        What the columns of the original of released files are, where no folder says it.
    original : str, optional
        A file or an embedded table; folders bring their own.
    stars : {"all", "quasi"}
        As for `moanon.release.read_released`.
    of_folder : callable, optional
        Chooses solutions of a folder that is named without a number; by default it is refused.
    prepare : callable, optional
        Given each table and whose it is, returns the table that is used instead.
    check_files : callable, optional
        Given the released files before anything is read; refuses them.
    within : bool
        Whether a folder also stands for the runs in folders in it.
    read : bool
        Whether to read the original even if no released file needs it.
    """
    places, unfinished = _places(given, within=within and of_folder is not None, bare=of_folder)
    files = [text for text, place in places if place is None]
    check_files(files)
    runs: dict[Path, FinishedRun] = {}
    for folder, _ in filter(None, (place for _, place in places)):
        if folder not in runs:
            _check_folder(folder)
            runs[folder] = _prepared(
                open_run(folder, fallback=original, option="original"), prepare
            )
    origin = None
    if files or read:
        own = next((run.config for run in runs.values()), None)
        origin = read_original(original, known, files, own)
        if isinstance(origin[0], Instance):
            origin = prepare(origin[0], files[0] if files else str(original)), origin[1]
    found: list[Anonymization] = []
    taken: set[tuple[Path, int]] = set()
    for text, place in places:
        if place is None:
            assert origin is not None
            grouping = read_released(
                text, origin[0], key=known.key, stars=stars, delimiter=known.delimiter
            )
            found.append(Anonymization(text, text, grouping.instance, grouping))
            continue
        folder, number = place
        numbers = [number] if number is not None else (of_folder or _refused)(runs[folder])
        for chosen in numbers:
            if of_folder is None or (folder, chosen) not in taken:  # beside its folder, perhaps
                found.append(anonymization_of(runs[folder], chosen))
            taken.add((folder, chosen))
    return Resolved(tuple(found), runs, origin, tuple(unfinished))


def anonymization_of(run: FinishedRun, number: int) -> Anonymization:
    """Take a solution of a results folder that was opened with its table."""
    front, folder = run.front, run.folder
    if not 1 <= number <= len(front):
        raise ConfigError(
            f"{folder} has no solution {number}; its solutions are 1 to {len(front):,} (moanon ask "
            f"{folder} shows them)"
        )
    assert front.instance is not None
    text = f"{sorted(run.record['files'].items())!r} {number}"
    return Anonymization(
        f"{folder}#{number}",
        str(folder),
        front.instance,
        solution=front.chosen(number),
        fingerprint=sha256(text.encode()).hexdigest(),
    )


#: A solution of a folder, all that are chosen of it, or a released file.
_Place = tuple[Path, int | None] | None


def _places(
    given: Sequence[str], *, within: bool, bare: object
) -> tuple[list[tuple[str, _Place]], list[Path]]:
    """Say of each name whether it is a file or of a folder; and which folders are unfinished."""
    found: list[tuple[str, _Place]] = []
    unfinished: list[Path] = []
    for text in given:
        if within and os.path.isdir(text):  # noqa: PTH112 (pathlib raises for a name no file can have)
            finished, begun = find_runs(Path(text))
            found += [(str(folder), (folder, None)) for folder in finished]
            unfinished += begun
        elif bare is not None and text and (fronts := fronts_in(text)):
            found += [(str(folder), (folder, None)) for folder in fronts]
        else:
            found.append((text, _solution_of(text)))
    return found, unfinished


def _solution_of(text: str) -> tuple[Path, int] | None:
    """Take ``RESULTS#17`` apart; None for a released file, which may be called so, too."""
    if not text:
        raise ConfigError(f"{_NAMED}. Got an empty name")
    if os.path.exists(text):  # noqa: PTH110 (as above)
        if fronts := fronts_in(text):
            each = "it" if fronts == (Path(text),) else "one of its limits"
            raise ConfigError(
                f"{text} is a results folder; name a solution of {each}, such as {fronts[-1]}#1 "
                f"(moanon ask {text} shows them)"
            )
        return None
    folder, number = _parted(text)
    if not folder:
        raise ConfigError(f"{_NAMED}. Got {text!r}, which names no folder")
    if number is not None and _NUMBER.fullmatch(number):
        return Path(folder), int(number)
    if number is not None and fronts_in(folder):
        raise ConfigError(
            f"a solution of {folder} is named by its number, such as {folder}#1 (moanon ask "
            f"{folder} shows them). Got {number!r}"
        )
    return None


def _parted(text: str) -> tuple[str, str | None]:
    """The folder and what stands behind its last ``#``; None where there is no such mark."""
    folder, mark, number = text.rpartition("#")
    return (folder, number) if mark else (text, None)


def refuse_twice(given: Sequence[str]) -> None:
    """Refuse a release that is named twice: the second would say nothing new."""
    for text, times in Counter(given).items():
        if times > 1:
            raise ConfigError(f"{text} is named twice")


def fronts_in(text: str) -> tuple[Path, ...]:
    """Give the fronts in a results folder; none for a folder that is something else."""
    if not os.path.isdir(text):  # noqa: PTH112 (as above)
        return ()
    fronts = find_fronts(Path(text))
    marks = (RECORD, "solutions.json")  # a folder of tables may well hold a front.csv
    are_results = all(any((front / mark).is_file() for mark in marks) for front in fronts)
    return fronts if are_results else ()


def _check_folder(folder: Path) -> None:
    if not checked_path(folder, ConfigError).is_dir():
        beside = folder.parent.iterdir() if folder.parent.is_dir() else ()
        hint = did_you_mean(folder.name, sorted(path.name for path in beside if path.is_dir()))
        raise ConfigError(f"there is no results folder {folder}{hint}")


def _prepared(run: FinishedRun, prepare: Callable[[Instance, str], Instance]) -> FinishedRun:
    assert run.front.instance is not None  # it was opened with its table
    instance = prepare(run.front.instance, str(run.folder))
    return replace(run, front=replace(run.front, instance=instance))


def _refused(run: FinishedRun) -> Iterable[int]:
    raise AssertionError(f"{run.folder} was named without a number, and is refused before")


# -- what is compared ------------------------------------------------------------------------------


def read_anonymized(
    given: Sequence[str],
    original: str | None,
    known: KnownColumns,
    stars: StarredRows = "all",
) -> tuple[list[Grouping], tuple[str, ...]]:
    """Read anonymizations to be compared, and say which columns of their original to protect."""
    named = original is not None or known.config is not None
    found = resolve(given, known, original=original, stars=stars, read=named)
    files = any(each.solution is None for each in found.anonymizations)
    if known.key is not None and not files:
        raise ConfigError("key=… finds the rows of released files, and none is given")
    origin = found.original
    if origin is None:
        run = next(iter(found.runs.values()))
        assert run.config is not None
        columns = run.config.columns.items()
        readable = {name for name, column in columns if column.role != "identifying"}
        if set(known.sensitive or ()) <= readable:
            known.refuse_domains()
            assert run.front.instance is not None
            origin = _of_instance(run.front.instance, known)
        else:
            origin = read_original(None, known, (), run.config)
    table = table_of(origin[0])
    return [_over(each, table) for each in found.anonymizations], origin[1]


def _over(each: Anonymization, table: Table) -> Grouping:
    """Look at an anonymization with the columns of the original, which may be more sensitive."""
    grouping = each.grouping
    if each.solution is None:
        return grouping
    refuse_other_rows(table, grouping)
    # Its own domains: what its blocks are is not what blocks of the same numbers are elsewhere.
    return replace(grouping, instance=replace(grouping.instance, label=None).over(table))


# -- the original of released files ----------------------------------------------------------------


def table_of(original: Instance | Table) -> Table:
    """The rows of an original."""
    return original.table if isinstance(original, Instance) else original


def _refuse_results(original: str | None, released: Sequence[str]) -> None:
    """Refuse results folders, and solutions of them, where tables are to be read."""
    read = [] if original is None or original in datasets.names() else [original]
    for text in (*read, *released):
        folder, number = (text, None) if os.path.exists(text) else _parted(text)  # noqa: PTH110
        if not (fronts := fronts_in(folder)):
            continue
        what = f"{text} is a {'solution' if number else 'results folder'}"
        if text == original:
            raise ConfigError(f"{what}, and an original is the table before it was anonymized")
        raise ConfigError(
            f"{what}, and measured are released files; write one with moanon export "
            f"{fronts[-1]} {number or 'ID'}"
        )


def read_original(
    source: str | None, known: KnownColumns, released: Sequence[str], config: Config | None = None
) -> _Original:
    """Read the original of some released files, and say which columns are to be protected.

    The original is an instance where it is known what labels mean. Some of the columns that are to
    be protected may be generalized all the same. `source` is a file or an embedded table; with a
    configuration it takes the place of its own source. `config` counts where `known` names none.
    """
    _refuse_results(source, released)
    if known.config is not None:
        config = Config.load(known.config)
    if config is not None:
        known.refuse_domains()
        return _configured(config, source, known)
    if source is None:
        raise ConfigError(
            "a released file is measured against its original: give original=…, and config=… "
            "or hierarchies=… for what its labels mean"
        )
    return _plain(source, known, released)


def _configured(config: Config, source: str | None, known: KnownColumns) -> _Original:
    if source is not None:
        is_place = source in datasets.names() or is_address(source)
        place = source if is_place else str(Path(source).absolute())
        config = changed(config, "data", source=place)
    # Insensitive, so that no row is dropped for a gap in them.
    extra = [*(known.sensitive or ()), *([known.key] if known.key else ())]
    added = {n: ColumnSection(role="insensitive") for n in extra if n not in config.columns}
    # A key may well be a number that points to a person, and rows cannot be found without it.
    instance = config.model_copy(update={"columns": {**config.columns, **added}}).instance(extra)
    return _of_instance(instance, known)


def _of_instance(instance: Instance, known: KnownColumns) -> _Original:
    """Take an original, with the columns for sensitive that are named."""
    if known.sensitive is None:
        return instance, instance.table.sensitive
    return with_sensitive(instance, known.sensitive), tuple(known.sensitive)


def with_sensitive(instance: Instance, columns: Sequence[str]) -> Instance:
    """The same table with other sensitive columns; quasi-identifiers stay what they are."""
    table = instance.table
    for name in columns:
        table.checked(name)  # refused where there is none
    # Only now, so that no row is dropped for a gap that the release was not made without.
    roles: dict[str, Role] = {}
    for name, role in table.roles.items():
        kept = Role.INSENSITIVE if role is Role.SENSITIVE else role
        named = name in columns and role is not Role.QUASI
        roles[name] = Role.SENSITIVE if named else kept
    table = replace(table, roles=roles)
    cells = Cells.build(table, instance.layout.domains)
    return replace(instance, table=table, cells=cells)


def _plain(source: str, known: KnownColumns, released: Sequence[str]) -> _Original:
    """Read an original without a configuration: nothing is dropped, a gap is a value."""
    hierarchies = _hierarchies(known.hierarchies)
    if source in datasets.names():
        read = open_source(datasets.load(source), name=source)
    else:
        read = open_source(source, _named(known, hierarchies), delimiter=known.delimiter)
    sensitive = tuple(known.sensitive or ())
    quasi = known.quasi or list(hierarchies) or _shared(read, known, sensitive, released)
    for name in quasi:
        if hierarchies and name not in hierarchies:
            raise ConfigError(f"column {name!r} is a quasi-identifier and has no hierarchy")
    for name in hierarchies:
        if name not in quasi:
            raise ConfigError(f"column {name!r} has a hierarchy and is not a quasi-identifier")
    roles = dict.fromkeys([known.key] if known.key else [], Role.INSENSITIVE)
    roles |= dict.fromkeys(sensitive, Role.SENSITIVE) | dict.fromkeys(quasi, Role.QUASI)
    table = give_roles(read, roles, "category")
    if not hierarchies:
        return table, sensitive
    specs = {name: TreeSpec(hierarchies[name]) for name in table.quasi}
    return Instance.build(table, specs), sensitive


def _named(known: KnownColumns, hierarchies: Mapping[str, Hierarchy]) -> list[str] | None:
    """The columns that are asked about; None where that is for the released files to say."""
    quasi = [*known.quasi, *hierarchies]
    more = [*(known.sensitive or ()), *([known.key] if known.key else [])]
    return list(dict.fromkeys([*quasi, *more])) if quasi else None


def _hierarchies(given: Sequence[str]) -> dict[str, Hierarchy]:
    found = {}
    for text in given:
        column, mark, file = text.partition("=")
        if not (column and mark and file):
            raise ConfigError(f"hierarchies=… must be COLUMN=FILE. Got {text!r}")
        if column in found:
            raise ConfigError(f"hierarchies=… names the column {column!r} twice")
        embedded = file in datasets.hierarchy_names()
        found[column] = Hierarchy.read(datasets.hierarchy_path(file) if embedded else Path(file))
    return found


def _shared(
    read: Source, known: KnownColumns, sensitive: Sequence[str], released: Sequence[str]
) -> list[str]:
    """Every column that the original and all released files have, but the sensitive and the key."""
    shared = list(read.store.columns)
    for path in released:
        try:
            there = open_source(path, missing_tokens=(), delimiter=known.delimiter).store.columns
        except EncodingError as error:
            raise EncodingError(error.fault, "save it as UTF-8") from None
        shared = [name for name in shared if name in there]
    quasi = [name for name in shared if name not in (*sensitive, known.key)]
    if not quasi:
        raise DataError(f"{read.name} and {', '.join(released)} share no quasi-identifier")
    return quasi


# -- a released file measured against its original -------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class _MeasuredRelease(Worded, Outlined):
    """Every measure of a released file, by registered name, and what could not be measured."""

    grouping: Grouping
    measures: Mapping[str, float]
    notes: tuple[str, ...]

    @property
    def sensitive(self) -> list[str]:
        """The sensitive columns that are measured."""
        found = self.grouping
        return [name for name in found.table.sensitive if name not in found.absent]

    def parts(self, *, everything: bool = False) -> Iterator[Part]:
        """Say how many rows are released, by which columns, and each measure."""
        found = self.grouping
        yield (
            f"{found.name}: {found.rows - found.suppressed:,} of {found.rows:,} rows released; "
            f"rows found by {found.matched_by}"
        )
        named = {"quasi-identifiers": found.quasi, "sensitive": self.sensitive}
        yield from facts({what: ", ".join(some) for what, some in named.items() if some})
        rows = []
        for name, value in self.measures.items():
            about = find_measure(name)
            better = "higher" if about.direction == "max" else "lower"
            rows.append((name, _number(value, about.unit), better, about.meaning))
        yield Grid(("measure", "value", "better", "what it says"), rows, right=(1,))
        yield from (f"note: {text}" for text in self.notes)

    def to_frame(self) -> pd.DataFrame:
        """One row per measure."""
        import pandas as pd

        return pd.DataFrame({"measure": [*self.measures], "value": [*self.measures.values()]})

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; JSON has no infinity, so what has no bound is a text."""
        found = self.grouping
        return {
            "released": found.name,
            "original": found.table.source,
            "rows": found.rows,
            "matched_by": found.matched_by,
            "quasi": list(found.quasi),
            "sensitive": self.sensitive,
            "measures": {n: v if math.isfinite(v) else str(v) for n, v in self.measures.items()},
            "notes": list(self.notes),
        }


def measure_release(
    original: str, released: str, known: KnownColumns, stars: StarredRows = "all"
) -> _MeasuredRelease:
    """Measure a released file against its original: every measure that the file allows.

    A sensitive column that `known` names and that was not released is measured by the original's
    values; others are left out.
    """
    origin, sensitive = read_original(original, known, [released])
    for name in sensitive:
        if name in table_of(origin).quasi:
            raise ConfigError(f"column {name!r} is a quasi-identifier; it cannot be sensitive, too")
    found = read_released(
        released, origin, key=known.key, stars=stars, delimiter=known.delimiter, counted=True
    )
    named = sensitive if known.sensitive is not None else ()
    notes = [*filter(None, [found.table.dropped]), *found.notes, *_left_out(found, named)]
    found = replace(found, absent=tuple(name for name in found.absent if name not in named))
    rule = Suppression()
    if known.config is not None:  # which says how l is counted
        problem = Config.load(known.config).problem
        rule = Suppression(diversity=problem.diversity, recursive_c=problem.recursive_c)
    return _MeasuredRelease(found, measure_grouping(found, rule), tuple(notes))


def _left_out(found: Grouping, named: Sequence[str]) -> Iterator[str]:
    """Say what is not measured, or not by what the file shows."""
    for name in found.absent:
        lacks = f"{found.name} has no column {name!r}"
        if name not in found.table.sensitive:
            yield f"{lacks}, so cm is not measured"
        elif name in named:
            yield f"{lacks}; diversity, closeness and the like go by the original's values"
        else:
            yield f"{lacks}, so diversity, closeness and the like are not measured for it"
    if not found.has_meaning:
        yield (
            "without config=… or hierarchies=… it is not known what labels mean, so losses are "
            "left out"
        )
    if not found.table.sensitive:
        yield "no column is sensitive, so all that is about sensitive values is left out"


def _number(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "no bound"
    if unit.startswith("share"):
        return f"{value:.2%}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
