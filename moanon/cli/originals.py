"""What ``moanon compare`` and ``moanon measure`` read: an original and what was made of it.

What labels mean is known from a configuration or from hierarchies. Without either, labels are texts
that can be told apart: group sizes can be counted, losses cannot.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.errors import ConfigError, DataError

if TYPE_CHECKING:
    from moanon.config import Config
    from moanon.data.hierarchy import Hierarchy
    from moanon.data.source import Source
    from moanon.data.table import Table
    from moanon.genome import Instance

__all__ = [
    "ConfigOption",
    "DelimiterOption",
    "HierarchyOption",
    "KeyOption",
    "Original",
    "QuasiOption",
    "SensitiveOption",
    "Stars",
    "StarsOption",
    "WhatIsKnown",
    "names",
    "of_instance",
    "read_original",
    "solution",
]

_NUMBER = re.compile("[0-9]{1,18}")


#: What can be compared.
_COMPARED = "compared are released files and solutions of results folders (RESULTS#ID)"


class Stars(StrEnum):
    """Which rows of a released file count as suppressed."""

    ALL = "all"
    QUASI = "quasi"


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="CONFIG",
        help="A configuration (YAML) that says what the columns and their labels are.",
        show_default=False,
    ),
]
HierarchyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="COLUMN=FILE",
        help="Without a configuration: the hierarchy of a quasi-identifier, as ARX writes it "
        "(.csv) or as YAML; may be repeated.",
        show_default=False,
    ),
]
QuasiOption = Annotated[
    list[str] | None,
    typer.Option(
        "--quasi",
        metavar="COLUMNS",
        help="Without a configuration: the quasi-identifiers, separated by commas. Default: those "
        "with a hierarchy, else every column that the files share.",
        show_default=False,
    ),
]
SensitiveOption = Annotated[
    list[str] | None,
    typer.Option(
        "--sensitive",
        metavar="COLUMNS",
        help="The sensitive columns, separated by commas. Default: those of the configuration.",
        show_default=False,
    ),
]
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="COLUMN",
        help="A column by which released rows are found in the original. Default: found by "
        "position, or by what their labels can hold.",
        show_default=False,
    ),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        help="What separates the fields of released CSV files, and of the original unless a "
        "configuration says it. Default: seen in the header.",
        show_default=False,
    ),
]
StarsOption = Annotated[
    Stars,
    typer.Option(
        "--stars",
        help="Rows count as suppressed that show * in all cells, or in all quasi-identifiers, as "
        "ARX leaves them.",
    ),
]


@dataclass(frozen=True)
class WhatIsKnown:
    """What a command line says about the columns."""

    config: Path | None = None
    hierarchies: Sequence[str] = ()
    quasi: Sequence[str] = ()
    sensitive: Sequence[str] | None = None
    key: str | None = None
    delimiter: str | None = None

    def __post_init__(self) -> None:
        """Refuse what can only be a slip: a column that is named twice, or not at all."""
        for option, given in (("--quasi", self.quasi), ("--sensitive", self.sensitive or ())):
            for name, times in Counter(given).items():
                if times > 1:
                    raise ConfigError(f"{option} names the column {name!r} twice")
        if self.key == "":
            raise ConfigError("--key must name a column. Got an empty name")

    def refuse_domains(self) -> None:
        """Refuse to be told by options what a configuration says already."""
        if self.hierarchies or self.quasi:
            option = "--hierarchy" if self.hierarchies else "--quasi"
            raise ConfigError(f"{option} says what a configuration says already; give one of them")


@dataclass(frozen=True, eq=False)
class Original:
    """A table before it was anonymized.

    Attributes
    ----------
    of : Instance or Table
        An instance where it is known what labels mean.
    sensitive : tuple of str
        Columns that are to be protected; some may be generalized all the same.
    """

    of: Instance | Table
    sensitive: tuple[str, ...]

    @property
    def table(self) -> Table:
        """Its rows."""
        from moanon.genome import Instance

        return self.of.table if isinstance(self.of, Instance) else self.of


def names(given: Iterable[str] | None) -> list[str]:
    """Take apart options that list names separated by commas."""
    return [name.strip() for text in given or () for name in text.split(",") if name.strip()]


def solution(text: str) -> tuple[Path, int] | None:
    """Take ``RESULTS#17`` apart; None for a released file, which may be called so, too.

    Raises
    ------
    ConfigError
        If a results folder is named without a solution, a solution without a folder, or one by
        something else than its number.
    """
    if not text:
        raise ConfigError(f"{_COMPARED}. Got an empty name")
    if _exists(text):
        if fronts := _fronts_in(text):
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
    if mark and _fronts_in(folder):
        raise ConfigError(
            f"a solution of {folder} is named by its number, such as {folder}#1 (moanon ask "
            f"{folder} shows them). Got {number!r}"
        )
    return None


def _refuse_results(original: str | None, released: Sequence[str]) -> None:
    """Refuse results folders, and solutions of them, where tables are to be read."""
    from moanon import datasets

    read = [] if original is None or original in datasets.names() else [original]
    for text in (*read, *released):
        folder, mark, number = text.rpartition("#")
        if _exists(text) or not mark:
            folder, number = text, ""
        if not (fronts := _fronts_in(folder)):
            continue
        what = f"{text} is a {'solution' if number else 'results folder'}"
        if text == original:
            raise ConfigError(f"{what}, and an original is the table before it was anonymized")
        raise ConfigError(
            f"{what}, and measured are released files; write one with moanon export "
            f"{fronts[-1]} {number or 'ID'} --out FILE"
        )


def _exists(text: str) -> bool:
    """Whether there is such a file; a name that no file can have is none."""
    return os.path.exists(text)  # noqa: PTH110 (pathlib raises for such a name)


def _fronts_in(text: str) -> tuple[Path, ...]:
    """Give the fronts in a results folder; none for a folder that is something else."""
    from moanon.results import RECORD, find_fronts

    folder = Path(text)
    if not os.path.isdir(text):  # noqa: PTH112 (as above)
        return ()
    fronts = find_fronts(folder)
    marks = (RECORD, "solutions.json")  # a folder of tables may well hold a front.csv
    are_results = all(any((front / mark).is_file() for mark in marks) for front in fronts)
    return fronts if are_results else ()


def read_original(
    source: str | None, known: WhatIsKnown, released: Sequence[str], config: Config | None = None
) -> Original:
    """Read the original of some released files.

    Parameters
    ----------
    source : str or None
        A file or an embedded table; with a configuration it takes the place of its own source.
    known : WhatIsKnown
        About the columns.
    released : sequence of str
        The files, for the columns they have.
    config : Config, optional
        Where `known` names none.
    """
    from moanon.config import Config

    _refuse_results(source, released)
    if known.config is not None:
        config = Config.load(known.config)
    if config is not None:
        known.refuse_domains()
        return _configured(config, source, known)
    if source is None:
        raise ConfigError(
            "a released file is measured against its original: give --original FILE, and --config "
            "or --hierarchy for what its labels mean"
        )
    return _plain(source, known, released)


def _configured(config: Config, source: str | None, known: WhatIsKnown) -> Original:
    from moanon import datasets
    from moanon.config import ColumnSection

    if source is not None:
        place = source if source in datasets.names() else str(Path(source).absolute())
        data = config.data.model_copy(update={"source": place})
        config = config.model_copy(update={"data": data})
    # Insensitive, so that no row is dropped for a gap in them.
    extra = [*(known.sensitive or ()), *([known.key] if known.key else ())]
    added = {n: ColumnSection(role="insensitive") for n in extra if n not in config.columns}
    instance = config.model_copy(update={"columns": {**config.columns, **added}}).instance()
    return of_instance(instance, known)


def of_instance(instance: Instance, known: WhatIsKnown) -> Original:
    """Take an original, with the columns for sensitive that the command line names."""
    from moanon.data.cells import Cells
    from moanon.data.table import Role

    table = instance.table
    if known.sensitive is None:
        return Original(instance, table.sensitive)
    for name in known.sensitive:
        table.column(name)  # refused where there is none
    # Only now, so that no row is dropped for a gap that the release was not made without.
    roles: dict[str, Role] = {}
    for name, role in table.roles.items():
        kept = Role.INSENSITIVE if role is Role.SENSITIVE else role
        named = name in known.sensitive and role is not Role.QUASI
        roles[name] = Role.SENSITIVE if named else kept
    table = replace(table, roles=roles)
    cells = Cells.build(table, instance.layout.domains)
    return Original(replace(instance, table=table, cells=cells), tuple(known.sensitive))


def _plain(source: str, known: WhatIsKnown, released: Sequence[str]) -> Original:
    """Read an original without a configuration: nothing is dropped, a gap is a value."""
    from moanon.data.domain import TreeSpec
    from moanon.data.table import Role, settle
    from moanon.genome import Instance

    hierarchies = _hierarchies(known.hierarchies)
    read = _read(source, known.delimiter)
    sensitive = tuple(known.sensitive or ())
    quasi = known.quasi or list(hierarchies) or _shared(read, known, sensitive, released)
    for name in quasi:
        if hierarchies and name not in hierarchies:
            raise ConfigError(f"column {name!r} is a quasi-identifier and has no --hierarchy")
    for name in hierarchies:
        if name not in quasi:
            raise ConfigError(f"column {name!r} has a --hierarchy and is not among --quasi")
    roles = dict.fromkeys([known.key] if known.key else [], Role.INSENSITIVE)
    roles |= dict.fromkeys(sensitive, Role.SENSITIVE) | dict.fromkeys(quasi, Role.QUASI)
    table = settle(read, roles, "category")
    if not hierarchies:
        return Original(table, sensitive)
    specs = {name: TreeSpec(hierarchies[name]) for name in table.quasi}
    return Original(Instance.build(table, specs), sensitive)


def _hierarchies(given: Sequence[str]) -> dict[str, Hierarchy]:
    from moanon import datasets
    from moanon.data.hierarchy import Hierarchy

    found = {}
    for text in given:
        column, mark, file = text.partition("=")
        if not (column and mark and file):
            raise ConfigError(f"--hierarchy must be COLUMN=FILE. Got {text!r}")
        if column in found:
            raise ConfigError(f"--hierarchy names the column {column!r} twice")
        embedded = file in datasets.hierarchy_names()
        found[column] = Hierarchy.read(datasets.hierarchy_path(file) if embedded else Path(file))
    return found


def _read(source: str, delimiter: str | None) -> Source:
    from moanon import datasets
    from moanon.data.source import read_source

    if source in datasets.names():
        return read_source(datasets.load(source), name=source)
    return read_source(source, delimiter=delimiter)


def _shared(
    read: Source, known: WhatIsKnown, sensitive: Sequence[str], released: Sequence[str]
) -> list[str]:
    """Every column that the original and all released files have, but the sensitive and the key."""
    from moanon.data.source import read_source

    shared = [column.name for column in read.columns]
    for path in released:
        file = read_source(path, missing_tokens=(), delimiter=known.delimiter)
        there = {column.name for column in file.columns}
        shared = [name for name in shared if name in there]
    quasi = [name for name in shared if name not in (*sensitive, known.key)]
    if not quasi:
        raise DataError(f"{read.name} and {', '.join(released)} share no quasi-identifier")
    return quasi
