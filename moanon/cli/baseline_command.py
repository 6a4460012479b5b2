"""``moanon baseline``: a classical algorithm on the plane of our fronts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.baselines import BASELINES
from moanon.cli.application import app
from moanon.cli.options import ConfigArgument, QuietOption, SetOption, argument, flag, given, limit
from moanon.cli.printing import note, on_one_line, show_grid

if TYPE_CHECKING:
    from moanon.experiment.baseline import BaselineFront


@app.command(
    epilog="Example: moanon baseline mondrian configs/quickstart.yaml --k 5 --k 50 "
    "--out results/mondrian"
)
def baseline(
    name: Annotated[
        str,
        argument("NAME", f"One of {', '.join(BASELINES)}."),
    ],
    config: ConfigArgument,
    ks: Annotated[
        list[int] | None,
        given(
            "K",
            "Smallest group; may be repeated: one release for each. Default: 2, 5, 10, ... 5000 "
            "as far as the table goes.",
            "--k",
        ),
    ] = None,
    eta: Annotated[
        float | None,
        given(
            "E",
            "Largest share of rows that may be suppressed, such as 5% or 0.05, instead of "
            "problem.eta; not for mondrian and mingen, which suppress none, nor for datafly-k, "
            "which suppresses up to k rows.",
            parser=limit,
        ),
    ] = None,
    sets: SetOption = None,
    out: Annotated[
        Path | None,
        given("DIR", "Where results go. Default: results/ and the names of CONFIG and NAME."),
    ] = None,
    force: Annotated[bool, flag("--force", "Replace the run that the folder holds.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Anonymize by a classical algorithm, once for each k, into a results folder.

    The configuration says what is anonymized; its constraints on groups hold for the algorithm,
    too. The folder is like that of any run: ask, export, apply, compare, plot and report take it,
    and moanon plot A B --out FILE lays it over the front of a search. All releases are kept, also
    those that another one beats.
    """
    from moanon.experiment.baseline import plan_baseline, run_baseline

    planned = plan_baseline(name, config, sets or (), eta=eta, out=out)
    found = run_baseline(name, planned, ks or (), force=force)
    if quiet:
        return
    for text in found.notes:
        note(text)
    _show(found)
    typer.echo(f" Wrote {on_one_line(planned.output.dir)}")


def _show(found: BaselineFront) -> None:
    """Show what each k came to, and what it took."""
    from moanon.front import shown

    told = ("k", "loss", "groups", "suppressed")
    has_lattice = any(each.checked is not None for each in found.asked)
    headers = ["asked for", "solution", *told, *(["nodes checked"] if has_lattice else []), "CPU s"]
    rows = []
    for each in found.asked:
        row = [f"k ≥ {each.k:,}", "-" if each.solution is None else str(each.solution)]
        for measure in told:
            if each.solution is None:
                row.append("-")
            else:
                row.append(shown(measure, found.front.measures[measure][each.solution - 1].item()))
        row += [f"{each.checked:,}"] if each.checked is not None else []
        rows.append([*row, f"{each.cpu_seconds:.3f}"])
    show_grid(headers, rows, right=range(1, len(headers)))
