"""Arguments and options that several commands take, and how their values are read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.cli.application import argument, flag, given

if TYPE_CHECKING:
    from moanon.data.cell_reading import FormKeys
    from moanon.experiment.anonymizations import KnownColumns


ConfigArgument = Annotated[Path, argument("CONFIG", "A configuration (YAML).")]
IdArgument = Annotated[int, argument("ID", "A solution of its front.csv.")]
ResultsArgument = Annotated[Path, argument("RESULTS", "A folder that moanon run has written.")]
CsvDelimiterOption = Annotated[str | None, given(None, "What separates the fields of a CSV file.")]
DataOption = Annotated[
    Path | None, given("FILE", "Where the table of the run is now, if it has moved.")
]
JsonOption = Annotated[bool, flag("--json", "Print JSON.")]
QuietOption = Annotated[bool, flag("--quiet", "Print nothing but errors.")]
SetOption = Annotated[
    list[str] | None,
    given(
        "KEY=VALUE",
        "Replace a value of the configuration, e.g. problem.eta=0.2; may be repeated.",
        "--set",
    ),
]
ThreadsOption = Annotated[int | None, given("N", "Default: one for each processor.", min=1)]


@dataclass(frozen=True)
class FormOptions:
    """How a table's file is written; what is not given is found out."""

    delimiter: CsvDelimiterOption = None
    encoding: Annotated[
        str | None, given(None, "Encoding of a CSV file, such as latin-1. Default: detected.")
    ] = None
    sheet: Annotated[str | None, given(None, "Sheet of an Excel file. Default: its only one.")] = (
        None
    )
    header: Annotated[
        bool | None,
        flag(
            "--header/--no-header", "Whether the first line names the columns. Default: detected."
        ),
    ] = None

    def keys(self, named: str | None = None) -> FormKeys:
        """The same as the library takes it; `named` are names that no line has."""
        form: FormKeys = {"delimiter": self.delimiter, "sheet": self.sheet}
        if self.encoding is not None:
            form["encoding"] = self.encoding
        if named is not None and self.header is not None:
            raise typer.BadParameter(
                "--names stands for a line of names; give no --header beside it"
            )
        if self.header is not None:
            form["header"] = self.header
        if named is not None:
            form["header"] = tuple(names([named]))
        return form


# -- what is known about the columns of an original ------------------------------------------------


_Stars = StrEnum("_Stars", {"ALL": "all", "QUASI": "quasi"})
OriginalOption = Annotated[
    str | None,
    given(
        "FILE",
        "What released files were made of: a file, or an embedded table. Solutions bring their "
        "own.",
    ),
]
SensitiveOption = Annotated[
    list[str] | None,
    given(
        "COLUMNS",
        "The sensitive columns, separated by commas. Default: those of the configuration.",
    ),
]


@dataclass(frozen=True)
class ColumnOptions:
    """What is known about the columns of an original, and of files released from it."""

    config: Annotated[
        Path | None,
        given("CONFIG", "A configuration (YAML) that says what the columns and their labels are."),
    ] = None
    hierarchies: Annotated[
        list[str] | None,
        given(
            "COLUMN=FILE",
            "Without a configuration: the hierarchy of a quasi-identifier, as ARX writes it (.csv) "
            "or as YAML; may be repeated.",
            "--hierarchy",
        ),
    ] = None
    quasi: Annotated[
        list[str] | None,
        given(
            "COLUMNS",
            "Without a configuration: the quasi-identifiers, separated by commas. Default: those "
            "with a hierarchy, else every column that the files share.",
        ),
    ] = None
    key: Annotated[
        str | None,
        given(
            "COLUMN",
            "A column by which released rows are found in the original. Default: found by what "
            "their labels can hold, or by position.",
        ),
    ] = None
    stars: Annotated[
        _Stars,
        typer.Option(
            help="Rows count as suppressed that show * in all cells, or in all quasi-identifiers, "
            "as ARX leaves them.",
        ),
    ] = _Stars.ALL
    delimiter: Annotated[
        str | None,
        given(
            None,
            "What separates the fields of released CSV files, and of the original unless a "
            "configuration says it. Default: seen in the header.",
        ),
    ] = None

    def known(self, sensitive: list[str] | None = None) -> KnownColumns:
        """The same as the library takes it, with the sensitive columns."""
        from moanon.experiment.anonymizations import KnownColumns

        return KnownColumns(
            self.config,
            self.hierarchies or (),
            names(self.quasi),
            None if sensitive is None else names(sensitive),
            self.key,
            self.delimiter,
        )


# -- values ----------------------------------------------------------------------------------------


def names(texts: Iterable[str] | None) -> list[str]:
    """Take apart options that list names separated by commas."""
    return [name.strip() for text in texts or () for name in text.split(",") if name.strip()]


def share(text: str) -> float:
    """Read a share: 0.25 or 25%."""
    value = number_in(text)
    if value is None or not 0 <= value <= 1:
        raise typer.BadParameter(f"a share is from 0 to 1, or from 0% to 100%. Got {text!r}")
    return value


def limit(text: str) -> float:
    """Read a number that may be in percent; what it may be is for the configuration to say."""
    value = number_in(text)
    if value is None:
        raise typer.BadParameter(f"a limit is a number such as 0.05 or 5%. Got {text!r}")
    return value


def named_number(text: str, option: str) -> tuple[str, float]:
    """Read MEASURE=X, where X may be in percent."""
    name, _, number = text.partition("=")
    value = number_in(number)
    if not name or value is None:
        raise typer.BadParameter(f"{option} takes MEASURE=X, such as gl=30%. Got {text!r}")
    return name, value


def number_in(text: str) -> float | None:
    """Read a number, exactly as it is written: 12.3% is 0.123."""
    digits, percent = text.strip(), text.strip().endswith("%")
    try:
        value = Decimal(digits.removesuffix("%").strip())
    except InvalidOperation:
        return None
    if not value.is_finite():
        return None
    return float(value / 100 if percent else value)
