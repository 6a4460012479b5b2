"""``moanon init``, ``check``, ``hierarchy`` and ``schema``: a configuration that fits a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from moanon.cli.application import (
    app,
    argument,
    flag,
    given,
    grouped,
    on_one_line,
    print_json,
    show,
)
from moanon.cli.options import ConfigArgument, FormOptions, SetOption, names


@app.command(epilog="Example: moanon check configs/quickstart.yaml --set data.missing=category")
def check(
    config: ConfigArgument,
    sets: SetOption = None,
    measures: Annotated[
        bool,
        flag("--measures", "Also list the measures that can be objectives or constraints."),
    ] = False,
) -> None:
    """Check a configuration and its table.

    Reads the configuration, the data and the hierarchies, and shows what the columns are and how
    exposed the people in the table are: k is the number of rows in the smallest group that shares
    all quasi-identifiers. The raw table has the values as they were read; the base table has them
    rounded as the configuration says (granularity), which is the finest that a release can show:
    for each column it shows what that merges already, and the share of entropy that is lost.
    """
    from moanon.config import Config
    from moanon.experiment.checking import check_config

    checked = check_config(Config.load(config, sets or ()), examples=True)
    show(checked, everything=measures)


@app.command(epilog="Example: moanon init patients.csv --out configs/patients.yaml")
@grouped
def init(
    file: Annotated[
        str,
        argument("FILE", "A CSV, Parquet or Excel file, a folder or a quoted glob."),
    ],
    form: FormOptions,
    out: Annotated[
        Path | None,
        given(
            None,
            "Where to write; by default beside FILE, with its name and .yaml. Never replaced.",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        given("NAMES", "Columns that a release may have, separated by commas. Default: all."),
    ] = None,
    named: Annotated[
        str | None,
        given(
            "NAMES", "Names of all columns, separated by commas, where no line has them.", "--names"
        ),
    ] = None,
) -> None:
    """Write a first configuration for a table.

    Looks at every column, guesses its role and the domain of its values, and explains each guess
    in a comment. The result passes moanon check, but the roles are for you to decide.
    """
    from moanon.config.starter import write_starter

    path, roles = write_starter(file, out, names(columns) or None, **form.keys(named))
    guessed = ", ".join(f"{number} {role}" for role, number in sorted(roles.items()))
    shown = on_one_line(str(path))
    typer.echo(
        f"Wrote {shown} with guessed roles: {guessed}. Go through it, then: moanon check {shown}"
    )


@app.command(epilog="Example: moanon schema > moanon.schema.json")
def schema() -> None:
    """Print the JSON schema of configurations.

    An editor that knows it completes and checks the keys of a configuration.
    """
    from moanon.config import config_schema

    print_json(config_schema())


# -- hierarchy -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rule:
    """How values are put together; see ``hierarchy:`` in a configuration."""

    mask: Annotated[
        str | None, given("SIDE", "Hide characters of codes one by one, from the right or left.")
    ] = None
    dates: Annotated[
        str | None, given("UNITS", "Put dates into wider units, e.g. month,quarter,year,decade.")
    ] = None
    intervals: Annotated[
        str | None, given("WIDTHS", "Put numbers into wider steps, e.g. 5,10,50.")
    ] = None
    group: Annotated[
        list[str] | None,
        given("NAME=VALUES", "Put values, separated by commas, into a group; may be repeated."),
    ] = None
    rest: Annotated[str | None, given("NAME", "The group of values that none names.")] = None
    frequency: Annotated[
        int | None, given("LEVELS", "Merge the rarest values first, in so many levels.")
    ] = None

    def keys(self) -> dict[str, Any]:
        """The rule as the library takes it."""
        rule = {
            "mask": self.mask,
            "dates": None if self.dates is None else names([self.dates]),
            "intervals": None if self.intervals is None else names([self.intervals]),
            "group": _groups(self.group) if self.group else None,
            "rest": self.rest,
            "frequency": self.frequency,
        }
        return {key: value for key, value in rule.items() if value is not None}


@dataclass(frozen=True)
class _Notation:
    """How values are written."""

    date_format: Annotated[
        str | None, given("FORMAT", "How dates are written, e.g. %d.%m.%Y.", "--format")
    ] = None
    decimal: Annotated[str | None, given("SIGN", "Sign before fractions.")] = None
    thousands: Annotated[str | None, given("SIGN", "Sign between thousands.")] = None
    unit: Annotated[str | None, given("TEXT", "What stands beside numbers, e.g. €.")] = None
    missing_token: Annotated[
        list[str] | None, given("TEXT", "A text that means 'no value'; may be repeated.")
    ] = None

    def keys(self) -> dict[str, str | None]:
        """The signs as the library takes them."""
        return {
            "format": self.date_format,
            "decimal": self.decimal,
            "thousands": self.thousands,
            "unit": self.unit,
        }


@app.command(epilog="Example: moanon hierarchy patients.csv zip --mask right --out zip.yaml")
@grouped
def hierarchy(
    file: Annotated[str, argument("FILE", "A table, as for moanon init.")],
    column: Annotated[str, argument("COLUMN", "One of its columns.")],
    out: Annotated[Path, given("FILE", "A .yaml file, or a .csv file as ARX reads it.")],
    rule: _Rule,
    notation: _Notation,
    form: FormOptions,
    force: Annotated[bool, flag("--force", "Replace the file.")] = False,
) -> None:
    """Make a hierarchy for a column by a rule.

    Writes it to a file. The leaves are the values as they stand in the table, so that the file can
    be edited and then named in a configuration, here or in ARX. Without a rule, the one is taken
    that moanon init would propose. A rule can also stand in a configuration, e.g. hierarchy: {mask:
    right}.
    """
    from moanon.config.starter import make_hierarchy, write_hierarchy

    made = make_hierarchy(
        file,
        column,
        rule.keys(),
        form=form.keys(),
        notation=notation.keys(),
        missing_tokens=("", *(notation.missing_token or ())),
    )
    write_hierarchy(made, out, file, force=force)
    levels = [len(cut) for cut in dict.fromkeys(made.levels)]
    typer.echo(
        on_one_line(
            f"Wrote {out}: {' → '.join(f'{number:,}' for number in levels)} values at its levels. "
            f"Name it in a configuration: kind: tree, hierarchy: {out}"
        )
    )


def _groups(texts: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in texts:
        name, mark, values = text.partition("=")
        if not (name and mark and names([values])):
            raise typer.BadParameter(f"--group takes NAME=VALUE,VALUE. Got {text!r}")
        found.setdefault(name, []).extend(names([values]))
    return found
