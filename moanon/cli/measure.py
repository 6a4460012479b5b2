"""``moanon measure``: every measure of a released file, ours or not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.cli.application import app
from moanon.cli.originals import (
    ConfigOption,
    DelimiterOption,
    HierarchyOption,
    KeyOption,
    QuasiOption,
    SensitiveOption,
    Stars,
    StarsOption,
    names,
)
from moanon.cli.showing import console, note, on_one_line
from moanon.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from moanon.grouping import Grouping


@app.command(
    epilog="Example: moanon measure patients.csv released.csv --config patients.yaml. Of a file "
    "from ARX: moanon measure in.csv out.csv --hierarchy age=age.csv --hierarchy zip=zip.csv "
    "--stars quasi --sensitive disease"
)
def measure(
    original: Annotated[
        str,
        typer.Argument(
            metavar="ORIGINAL",
            help="The table before: a CSV or Parquet file, or an embedded table.",
            show_default=False,
        ),
    ],
    released: Annotated[
        str,
        typer.Argument(
            metavar="RELEASED",
            help="The table after: a CSV or Parquet file.",
            show_default=False,
        ),
    ],
    config: ConfigOption = None,
    hierarchies: HierarchyOption = None,
    quasi: QuasiOption = None,
    sensitive: SensitiveOption = None,
    key: KeyOption = None,
    stars: StarsOption = Stars.ALL,
    delimiter: DelimiterOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure a released file against its original.

    Groups are made of the labels in the file; what was lost follows from what the labels can stand
    for. Suppressed rows may be left out or be rows of stars. What a file alone cannot show is left
    out: without a configuration or hierarchies, all that is about loss. A sensitive column that was
    not released is not measured, unless --sensitive names it: then by the original's values.
    """
    from moanon.experiment.originals import KnownColumns, read_original
    from moanon.measures.measuring import measure_grouping
    from moanon.measures.suppression import Suppression
    from moanon.release import read_released

    known = KnownColumns(
        config,
        tuple(hierarchies or ()),
        names(quasi),
        None if sensitive is None else names(sensitive),
        key,
        delimiter,
    )
    origin = read_original(original, known, [released])
    for name in origin.sensitive:
        if name in origin.table.quasi:
            raise ConfigError(f"column {name!r} is a quasi-identifier; it cannot be sensitive, too")
    found = read_released(released, origin.of, key=key, stars=stars.value, delimiter=delimiter)
    notes = [*found.notes, *_left_out(found, named=sensitive is not None)]
    if sensitive is not None:
        found = replace(found, absent=tuple(n for n in found.absent if n not in origin.sensitive))
    rule = Suppression()
    if config is not None:  # which says how l is counted
        from moanon.config import Config

        problem = Config.load(config).problem
        rule = Suppression(diversity=problem.diversity, recursive_c=problem.recursive_c)
    measures = measure_grouping(found, rule)
    if as_json:
        _print_json(found, measures, notes)
        return
    how = f"; rows found by {found.matched_by}"
    typer.echo(
        f" {on_one_line(released)}: {found.rows - found.suppressed:,} of {found.rows:,} rows "
        f"released{how}"
    )
    typer.echo(f" {'quasi-identifiers':<21}{', '.join(map(on_one_line, found.quasi))}")
    if shown := _measured_sensitive(found):
        typer.echo(f" {'sensitive':<21}{', '.join(map(on_one_line, shown))}")
    console().print(_grid(measures))
    for each in notes:
        note(each)


def _print_json(found: Grouping, measures: Mapping[str, float], notes: Sequence[str]) -> None:
    import json

    told = {
        "released": found.name,
        "original": found.table.source,
        "rows": found.rows,
        "matched_by": found.matched_by,
        "quasi": list(found.quasi),
        "sensitive": _measured_sensitive(found),
        # JSON has no infinity: what cannot be bounded is a text.
        "measures": {n: v if math.isfinite(v) else str(v) for n, v in measures.items()},
        "notes": list(notes),
    }
    typer.echo(json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False))


def _grid(measures: Mapping[str, float]) -> Grid:
    from rich import box
    from rich.table import Table as Grid

    from moanon.measures import find_measure

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    grid.add_column("measure", overflow="fold")
    grid.add_column("value", justify="right", overflow="fold")
    grid.add_column("better", overflow="fold")
    grid.add_column("what it says", overflow="fold")
    for name, value in measures.items():
        about = find_measure(name)
        better = "higher" if about.direction == "max" else "lower"
        grid.add_row(name, _written(value, about.unit), better, about.meaning)
    return grid


def _written(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "no bound"
    if unit.startswith("share"):
        return f"{value:.2%}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"


def _measured_sensitive(found: Grouping) -> list[str]:
    return [name for name in found.table.sensitive if name not in found.absent]


def _left_out(found: Grouping, *, named: bool) -> list[str]:
    """Say what is not measured, or not by what the file shows; `named`: by --sensitive."""
    notes = []
    for name in found.absent:
        lacks = f"{found.name} has no column {name!r}"
        if name not in found.table.sensitive:
            notes.append(f"{lacks}, so cm is not measured")
        elif named:
            notes.append(f"{lacks}; diversity, closeness and the like go by the original's values")
        else:
            notes.append(f"{lacks}, so diversity, closeness and the like are not measured for it")
    if not found.has_meaning:
        notes.append(
            "without --config or --hierarchy it is not known what labels mean, so losses are left "
            "out"
        )
    if not found.table.sensitive:
        notes.append("no column is --sensitive, so all that is about sensitive values is left out")
    return notes
