"""``moanon hierarchy``: a tree for a column, made by a rule and written to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from moanon.cli.application import app
from moanon.cli.options import (
    CsvDelimiterOption,
    EncodingOption,
    HeaderOption,
    SheetOption,
    argument,
    file_form,
    flag,
    given,
    names,
)
from moanon.cli.printing import on_one_line


@app.command(epilog="Example: moanon hierarchy patients.csv zip --mask right --out zip.yaml")
def hierarchy(
    file: Annotated[str, argument("FILE", "A table, as for moanon init.")],
    column: Annotated[str, argument("COLUMN", "One of its columns.")],
    out: Annotated[Path, given("FILE", "A .yaml file, or a .csv file as ARX reads it.")],
    mask: Annotated[
        str | None, given("SIDE", "Hide characters of codes one by one, from the right or left.")
    ] = None,
    dates: Annotated[
        str | None, given("UNITS", "Put dates into wider units, e.g. month,quarter,year,decade.")
    ] = None,
    intervals: Annotated[
        str | None, given("WIDTHS", "Put numbers into wider steps, e.g. 5,10,50.")
    ] = None,
    group: Annotated[
        list[str] | None,
        given("NAME=VALUES", "Put values, separated by commas, into a group; may be repeated."),
    ] = None,
    rest: Annotated[str | None, given("NAME", "The group of values that none names.")] = None,
    frequency: Annotated[
        int | None, given("LEVELS", "Merge the rarest values first, in so many levels.")
    ] = None,
    date_format: Annotated[
        str | None, given("FORMAT", "How dates are written, e.g. %d.%m.%Y.", "--format")
    ] = None,
    decimal: Annotated[str | None, given("SIGN", "Sign before fractions.")] = None,
    thousands: Annotated[str | None, given("SIGN", "Sign between thousands.")] = None,
    unit: Annotated[str | None, given("TEXT", "What stands beside numbers, e.g. €.")] = None,
    missing_token: Annotated[
        list[str] | None, given("TEXT", "A text that means 'no value'; may be repeated.")
    ] = None,
    delimiter: CsvDelimiterOption = None,
    encoding: EncodingOption = None,
    sheet: SheetOption = None,
    header: HeaderOption = None,
    force: Annotated[bool, flag("--force", "Replace the file.")] = False,
) -> None:
    """Make a hierarchy for a column by a rule, and write it to a file.

    The leaves are the values as they stand in the table, so that the file can be edited and then
    named in a configuration, here or in ARX. Without a rule, the one is taken that moanon init
    would propose. A rule can also stand in a configuration, e.g. hierarchy: {mask: right}.
    """
    from moanon.config.starter import make_hierarchy, write_hierarchy

    rule: dict[str, Any] = {
        "mask": mask,
        "dates": names([dates]) if dates is not None else None,
        "intervals": names([intervals]) if intervals is not None else None,
        "group": _groups(group) if group else None,
        "rest": rest,
        "frequency": frequency,
    }
    made = make_hierarchy(
        file,
        column,
        {key: value for key, value in rule.items() if value is not None},
        form=file_form(delimiter, encoding, sheet, header),
        notation={
            "format": date_format,
            "decimal": decimal,
            "thousands": thousands,
            "unit": unit,
        },
        missing_tokens=("", *(missing_token or ())),
    )
    write_hierarchy(made, out, file, force=force)
    shown = on_one_line(str(out))
    levels = [len(cut) for cut in dict.fromkeys(made.levels)]
    typer.echo(
        f"Wrote {shown}: {' → '.join(f'{number:,}' for number in levels)} values at its levels. "
        f"Name it in a configuration: kind: tree, hierarchy: {shown}"
    )


def _groups(texts: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in texts:
        name, mark, values = text.partition("=")
        if not (name and mark and names([values])):
            raise typer.BadParameter(f"--group takes NAME=VALUE,VALUE. Got {text!r}")
        found.setdefault(name, []).extend(names([values]))
    return found
