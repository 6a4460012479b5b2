"""``moanon init``, ``check`` and ``schema``: from a table to a configuration that fits it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from sys import float_info
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.cli.application import app
from moanon.cli.options import (
    ConfigArgument,
    CsvDelimiterOption,
    EncodingOption,
    HeaderOption,
    SetOption,
    SheetOption,
    argument,
    file_form,
    flag,
    given,
    names,
)
from moanon.cli.printing import large, on_one_line, print_json, show_facts, show_grid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from moanon.config import Config
    from moanon.genome import Instance
    from moanon.measures.measure import Measure
    from moanon.search.problem import SearchProblem

#: What the letters stand for that measures are cited with.
_SOURCES = (
    "D: Dewri et al., multi-objective optimization of anonymity and loss; L: Li and Li, the "
    "tradeoff between privacy and utility (2009); M: Marchand, limits of information loss metrics; "
    "C: Dewri et al., on the comparison of disclosure control algorithms."
)


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
    from moanon.experiment import make_problem
    from moanon.experiment.table_notes import notes_on_table

    checked = Config.load(config, sets or ())
    instance = checked.instance()
    problem, has_boxes = make_problem(checked, instance), checked.problem.has_boxes
    _show_columns(instance)
    show_facts(_facts(instance, has_boxes) | _task(problem, has_boxes))
    if measures:
        _show_measures(instance)
        typer.echo(f" {_SOURCES}")
    noted = notes_on_table(checked, instance, examples=True)
    for note in (*map(on_one_line, noted), *_notes(checked)):
        typer.echo(f" note: {note}")


@app.command(epilog="Example: moanon init patients.csv --out configs/patients.yaml")
def init(
    file: Annotated[
        str,
        argument("FILE", "A CSV, Parquet or Excel file, a folder or a quoted glob."),
    ],
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
    delimiter: CsvDelimiterOption = None,
    encoding: EncodingOption = None,
    sheet: SheetOption = None,
    header: HeaderOption = None,
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

    form = file_form(delimiter, encoding, sheet, header, named)
    path, roles = write_starter(file, out, names(columns) or None, **form)
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


def _show_columns(instance: Instance) -> None:
    from moanon.data.coarsening import merged_before

    rows = []
    for name, role in instance.table.roles.items():
        column = instance.table.columns[name]
        distinct = f"{len(column.values):,}"
        if column.missing:
            distinct += f" and missing ({column.missing:,})"
        domain = instance.layout.domains.get(name)
        shape = (domain.kind, f"{domain.size:,}", f"{domain.size - 1:,}") if domain else ("",) * 3
        if name in instance.table.sensitive:
            shape = (f"{instance.distance_of(name)} distance", "", "")
        merged = merged_before(column, domain) if domain else ""
        rows.append((on_one_line(name), role.value, *shape, distinct, str(merged)))
    headers = (
        *("column", "role", "kind", "base values", "bits", "distinct values"),
        "merged before the search",
    )
    show_grid(headers, rows, right=range(3, 6), overflow="fold")


def _facts(instance: Instance, has_boxes: bool) -> dict[str, str]:
    from moanon.data.cells import raw_group_sizes

    table, counts = instance.table, instance.cells.counts
    facts = {
        "rows": f"{table.rows_in:,} read, {table.rows_dropped:,} dropped for missing values",
        "distinct cells": f"{len(counts):,}",
        **_space(instance, has_boxes),
        "k of the raw table": f"{_exposure(raw_group_sizes(table))}, values as they were read",
        "k of the base table": f"{_exposure(counts)}, the finest a release can show",
    }
    if table.undeclared:
        names = ", ".join(map(on_one_line, table.undeclared))
        facts["undeclared columns"] = f"{names} (dropped on release)"
    return facts


def _space(instance: Instance, has_boxes: bool) -> dict[str, str]:
    """What is searched: genomes, or boxes that each group has for itself."""
    from moanon.data.domain import TreeDomain

    if not has_boxes:
        return {
            "valid genomes": f"{large(instance.layout.count())} ({instance.layout.bits:,} bits)"
        }
    blocks = 1
    for domain in instance.layout.domains.values():
        if isinstance(domain, TreeDomain) and not domain.sets:
            blocks *= len(domain.hierarchy.names)
        else:
            blocks *= domain.size * (domain.size + 1) // 2
    return {"possible boxes": large(blocks)}


def _task(problem: SearchProblem, has_boxes: bool) -> dict[str, str]:
    """What is optimized, under which bounds."""
    from moanon.measures import find_measure

    task = {
        "objectives": ", ".join(
            f"{measure.name} ({'most' if measure.direction == 'max' else 'least'})"
            for measure in problem.measures
        )
    }
    rule = problem.suppression
    if has_boxes:
        task["recoding"] = "local: every group has blocks of its own"
    elif rule.kind == "limit":
        task["suppressed"] = f"the worst groups by {rule.by}, within eta"
    elif rule.kind == "weighted-k":
        task["suppressed"] = f"groups below the mean {rule.by} over all rows"
    bounds = [(find_measure(name), bound) for name, bound in rule.constraints]
    bounds += problem.bounds.items()
    if bounds:
        task["constraints"] = ", ".join(_bound_in_words(*each) for each in bounds)
    return task


def _bound_in_words(measure: Measure, bound: float) -> str:
    if bound == float_info.max:  # nobody's wish: what is infinite could not be ranked
        return f"{measure.name} must be finite"
    return f"{measure.name} {'>=' if measure.direction == 'max' else '<='} {bound:g}"


def _show_measures(instance: Instance) -> None:
    """Every measure that can be taken of the table."""
    from moanon.measures import applicable

    rows = []
    for each in applicable(instance):
        better = "high" if each.direction == "max" else "low"
        rows.append((each.name, better, str(each.range), each.unit, each.meaning, each.citation))
    headers = ("measure", "better", "range", "unit", "meaning", "source")
    show_grid(headers, rows, overflow="fold")


def _exposure(sizes: NDArray[np.int64]) -> str:
    """Tell the smallest group of a table, and how many rows are alone."""
    unique = int((sizes == 1).sum())
    return f"{sizes.min():,} (unique rows: {unique:,}, {unique / sizes.sum():.1%})"


def _notes(config: Config) -> Iterator[str]:
    """What a configuration leaves open that its author may not have meant to."""
    if config.weights and not config.problem.objectives:
        weighted = ", ".join(f"{on_one_line(n)} {w:g}" for n, w in config.weights.items())
        yield (
            f"columns have weights ({weighted}), so the preset minimizes the weighted loss; name "
            "objectives: to choose another"
        )
    from_data = [
        on_one_line(name)
        for name, column in config.columns.items()
        if column.kind == "interval" and column.range is None
    ]
    if from_data:
        yield (
            f"the range of {', '.join(from_data)} was taken from the data, so a released label can "
            "show the smallest or largest value even of a suppressed row; declare range: to avoid "
            "that"
        )
