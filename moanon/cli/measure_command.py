"""``moanon measure``: every measure of a released file, ours or not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.cli.application import app
from moanon.cli.options import (
    STARS_IN_ALL,
    ConfigOption,
    DelimiterOption,
    HierarchyOption,
    JsonOption,
    KeyOption,
    QuasiOption,
    SensitiveOption,
    StarsOption,
    argument,
    names,
)
from moanon.cli.printing import note, on_one_line, print_json, show_facts, show_grid
from moanon.errors import ConfigError

if TYPE_CHECKING:
    from moanon.grouping import Grouping


@app.command(
    epilog="Example: moanon measure patients.csv released.csv --config patients.yaml. Of a file "
    "from ARX: moanon measure in.csv out.csv --hierarchy age=age.csv --hierarchy zip=zip.csv "
    "--stars quasi --sensitive disease"
)
def measure(
    original: Annotated[
        str,
        argument(
            "ORIGINAL",
            "The table before: a CSV or Parquet file, an embedded table, or the address of the "
            "database of --config, where rows are found by labels alone.",
        ),
    ],
    released: Annotated[str, argument("RELEASED", "The table after: a CSV or Parquet file.")],
    config: ConfigOption = None,
    hierarchies: HierarchyOption = None,
    quasi: QuasiOption = None,
    sensitive: SensitiveOption = None,
    key: KeyOption = None,
    stars: StarsOption = STARS_IN_ALL,
    delimiter: DelimiterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure a released file against its original.

    Groups are made of the labels in the file; what was lost follows from what the labels can stand
    for. Suppressed rows may be left out or be rows of stars. What a file alone cannot show is left
    out: without a configuration or hierarchies, all that is about loss. A sensitive column that was
    not released is not measured, unless --sensitive names it: then by the original's values.
    """
    from moanon.experiment.anonymizations import KnownColumns, read_original, table_of
    from moanon.measures.evaluate import measure_grouping
    from moanon.measures.suppression import Suppression
    from moanon.release import read_released

    columns = names(quasi), None if sensitive is None else names(sensitive)
    known = KnownColumns(config, hierarchies or (), *columns, key, delimiter)
    origin, protected = read_original(original, known, [released])
    for name in protected:
        if name in table_of(origin).quasi:
            raise ConfigError(f"column {name!r} is a quasi-identifier; it cannot be sensitive, too")
    found = read_released(
        released, origin, key=key, stars=stars.value, delimiter=delimiter, counted=True
    )
    notes = [*filter(None, [found.table.dropped]), *found.notes]
    notes += _left_out(found, named=sensitive is not None)
    if sensitive is not None:
        found = replace(found, absent=tuple(n for n in found.absent if n not in protected))
    rule = Suppression()
    if config is not None:  # which says how l is counted
        from moanon.config import Config

        problem = Config.load(config).problem
        rule = Suppression(diversity=problem.diversity, recursive_c=problem.recursive_c)
    measures = measure_grouping(found, rule)
    if as_json:
        _show_json(found, measures, notes)
        return
    typer.echo(
        f" {on_one_line(released)}: {found.rows - found.suppressed:,} of {found.rows:,} rows "
        f"released; rows found by {found.matched_by}"
    )
    named = {"quasi-identifiers": found.quasi, "sensitive": _measured_sensitive(found)}
    show_facts({what: ", ".join(map(on_one_line, some)) for what, some in named.items() if some})
    _show_measures(measures)
    for each in notes:
        note(each)


def _show_json(found: Grouping, measures: Mapping[str, float], notes: Sequence[str]) -> None:
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
    print_json(told)


def _show_measures(measures: Mapping[str, float]) -> None:
    from moanon.measures import find_measure

    rows = []
    for name, value in measures.items():
        about = find_measure(name)
        better = "higher" if about.direction == "max" else "lower"
        rows.append((name, _written(value, about.unit), better, about.meaning))
    show_grid(("measure", "value", "better", "what it says"), rows, right=(1,), overflow="fold")


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
