"""Options of ``moanon compare`` and ``moanon measure``: what is said about the columns."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


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


def names(given: Iterable[str] | None) -> list[str]:
    """Take apart options that list names separated by commas."""
    return [name.strip() for text in given or () for name in text.split(",") if name.strip()]
