"""Originals and what was made of them: what is compared and measured.

`read_original` reads the table before it was anonymized, `read_anonymized` also what was made of
it: released files, ours or not, and solutions of results folders, each as a `Grouping` of the rows
of the original. What labels mean is known from a configuration or from hierarchies. Without either,
labels are texts that can be told apart: group sizes can be counted, losses cannot.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from moanon import datasets
from moanon.atomic import checked_path
from moanon.compare.comparison import refuse_other_rows
from moanon.config import ColumnSection, Config
from moanon.data.cells import Cells
from moanon.data.column import did_you_mean
from moanon.data.domain import TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.data.table import Role, Table, give_roles
from moanon.engines import Source, open_source
from moanon.engines.addresses import is_address
from moanon.errors import ConfigError, DataError, EncodingError
from moanon.experiment.finished import load_front
from moanon.experiment.planning import changed
from moanon.front import Front
from moanon.front.results import RECORD, find_fronts
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.release import read_released
from moanon.release.matching import StarredRows

_NUMBER = re.compile("[0-9]{1,18}")
#: What can be compared.
_COMPARED = "compared are released files and solutions of results folders (RESULTS#ID)"
#: A table before it was anonymized, and its columns that are to be protected.
_Original = tuple[Instance | Table, tuple[str, ...]]


@dataclass(frozen=True)
class KnownColumns:
    """What is said about the columns of an original.

    Attributes
    ----------
    config : Path or None
        A configuration that says what the columns and their labels are.
    hierarchies : sequence of str
        Without one: ``COLUMN=FILE`` for quasi-identifiers.
    quasi : sequence of str
        Without one: the quasi-identifiers. Default: those with a hierarchy, else every column that
        the original and all released files have.
    sensitive : sequence of str or None
        The sensitive columns. Default: those of the configuration.
    key : str or None
        A column by which released rows are found.
    delimiter : str or None
        Of CSV files.
    """

    config: Path | None = None
    hierarchies: Sequence[str] = ()
    quasi: Sequence[str] = ()
    sensitive: Sequence[str] | None = None
    key: str | None = None
    delimiter: str | None = None

    def __post_init__(self) -> None:
        """Refuse what can only be a slip: a column that is named twice, or not at all."""
        for option, given in (("quasi", self.quasi), ("sensitive", self.sensitive or ())):
            for name, times in Counter(given).items():
                if times > 1:
                    raise ConfigError(f"{option}=… names the column {name!r} twice")
        if self.key == "":
            raise ConfigError("key=… must name a column. Got an empty name")

    def refuse_domains(self) -> None:
        """Refuse domains beside a configuration, which states them already."""
        if self.hierarchies or self.quasi:
            option = "hierarchies" if self.hierarchies else "quasi"
            raise ConfigError(
                f"{option}=… states what the configuration states already; leave one out"
            )


def table_of(original: Instance | Table) -> Table:
    """The rows of an original."""
    return original.table if isinstance(original, Instance) else original


def solution_of(text: str) -> tuple[Path, int] | None:
    """Take ``RESULTS#17`` apart; None for a released file, which may be called so, too."""
    if not text:
        raise ConfigError(f"{_COMPARED}. Got an empty name")
    if os.path.exists(text):  # noqa: PTH110 (pathlib raises for a name that no file can have)
        if fronts := fronts_in(text):
            each = "it" if fronts == (Path(text),) else "one of its limits"
            raise ConfigError(
                f"{text} is a results folder; name a solution of {each}, such as {fronts[-1]}#1 "
                f"(moanon ask {text} shows them)"
            )
        return None
    folder, mark, number = text.rpartition("#")
    if mark and not folder:
        raise ConfigError(f"{_COMPARED}. Got {text!r}, which names no folder")
    if mark and _NUMBER.fullmatch(number):
        return Path(folder), int(number)
    if mark and fronts_in(folder):
        raise ConfigError(
            f"a solution of {folder} is named by its number, such as {folder}#1 (moanon ask "
            f"{folder} shows them). Got {number!r}"
        )
    return None


def refuse_twice(given: Sequence[str]) -> None:
    """Refuse a release that is named twice: nothing could be told of the second."""
    for text, times in Counter(given).items():
        if times > 1:
            raise ConfigError(f"{text} is named twice")


def _refuse_results(original: str | None, released: Sequence[str]) -> None:
    """Refuse results folders, and solutions of them, where tables are to be read."""
    read = [] if original is None or original in datasets.names() else [original]
    for text in (*read, *released):
        folder, mark, number = text.rpartition("#")
        if not mark or os.path.exists(text):  # noqa: PTH110 (as above)
            folder, number = text, ""
        if not (fronts := fronts_in(folder)):
            continue
        what = f"{text} is a {'solution' if number else 'results folder'}"
        if text == original:
            raise ConfigError(f"{what}, and an original is the table before it was anonymized")
        raise ConfigError(
            f"{what}, and measured are released files; write one with moanon export "
            f"{fronts[-1]} {number or 'ID'}"
        )


def fronts_in(text: str) -> tuple[Path, ...]:
    """Give the fronts in a results folder; none for a folder that is something else."""
    folder = Path(text)
    if not os.path.isdir(text):  # noqa: PTH112 (as above)
        return ()
    fronts = find_fronts(folder)
    marks = (RECORD, "solutions.json")  # a folder of tables may well hold a front.csv
    are_results = all(any((front / mark).is_file() for mark in marks) for front in fronts)
    return fronts if are_results else ()


def read_original(
    source: str | None, known: KnownColumns, released: Sequence[str], config: Config | None = None
) -> _Original:
    """Read the original of some released files, and say which columns are to be protected.

    The original is an instance where it is known what labels mean. Some of the columns that are to
    be protected may be generalized all the same.

    Parameters
    ----------
    source : str or None
        A file or an embedded table; with a configuration it takes the place of its own source.
    known : KnownColumns
        About the columns.
    released : sequence of str
        The files, for the columns they have.
    config : Config, optional
        Where `known` names none.
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
    """Take an original, with the columns for sensitive that the command line names."""
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


# -- what was made of it ---------------------------------------------------------------------------


def read_anonymized(
    given: Sequence[str],
    original: str | None,
    known: KnownColumns,
    stars: StarredRows = "all",
) -> tuple[list[Grouping], tuple[str, ...]]:
    """Read anonymizations of an original, and say which of its columns are to be protected.

    Parameters
    ----------
    given : sequence of str
        Released files, and solutions of results folders (``RESULTS#17``).
    original : str or None
        A file or an embedded table; solutions bring their own.
    known : KnownColumns
    stars : {"all", "quasi"}
        As for `moanon.release.read_released`.

    Raises
    ------
    MoanonError
        If something cannot be read, or is not of the original.
    """
    solutions = {text: place for text in given if (place := solution_of(text)) is not None}
    files = [text for text in given if text not in solutions]
    fronts = load_fronts([folder for folder, _ in solutions.values()], original)
    own = Config.load(next(iter(fronts)) / "config.yaml") if fronts else None
    undeclared = own is not None and not set(known.sensitive or ()) <= _readable(own)
    if files or original is not None or known.config is not None or undeclared or own is None:
        origin, sensitive = read_original(original, known, files, own)
    else:
        known.refuse_domains()
        instance = next(iter(fronts.values())).instance
        assert instance is not None  # fronts are loaded with their tables
        origin, sensitive = _of_instance(instance, known)
    if known.key is not None and not files:
        raise ConfigError("key=… finds the rows of released files, and none is given")
    found = []
    for text in given:
        if text in solutions:
            folder, number = solutions[text]
            found.append(_solution(fronts[folder], number, text, table_of(origin)))
        else:
            found.append(
                read_released(text, origin, key=known.key, stars=stars, delimiter=known.delimiter)
            )
    return found, sensitive


def _readable(config: Config) -> set[str]:
    """The columns that the table of a run can be asked about."""
    return {name for name, column in config.columns.items() if column.role != "identifying"}


def load_fronts(folders: Sequence[Path], original: str | None) -> dict[Path, Front]:
    """Load the fronts of results folders, each with its table."""
    for folder in folders:
        if not checked_path(folder, ConfigError).is_dir():
            beside = folder.parent.iterdir() if folder.parent.is_dir() else ()
            hint = did_you_mean(folder.name, sorted(path.name for path in beside if path.is_dir()))
            raise ConfigError(f"there is no results folder {folder}{hint}")
    return {
        folder: load_front(folder, fallback=original, option="original")
        for folder in dict.fromkeys(folders)
    }


def _solution(front: Front, number: int, text: str, table: Table) -> Grouping:
    """Look at a solution with the columns of the original, which may have more sensitive ones."""
    if not 1 <= number <= len(front):
        folder = text.rpartition("#")[0]
        raise ConfigError(
            f"{folder} has no solution {number}; its solutions are 1 to {len(front):,} (moanon ask "
            f"{folder} shows them)"
        )
    each = front.grouping(number).named(text)
    refuse_other_rows(table, each)
    # Its own domains: what its blocks are is not what blocks of the same numbers are elsewhere.
    return replace(each, instance=replace(each.instance, label=None).over(table))
