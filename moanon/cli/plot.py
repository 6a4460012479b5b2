"""``moanon plot``: the figures of a results folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moanon.cli.application import app
from moanon.cli.showing import note, on_one_line


@app.command(epilog="Example: moanon plot results/quickstart --format svg --out figures")
def plot(
    results: Annotated[
        Path,
        typer.Argument(
            metavar="RESULTS",
            help="A folder that moanon run has written; or one with an eta-E folder for each of "
            "several limits, which are then also compared.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where figures go, instead of RESULTS/plots.", show_default=False
        ),
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="png or svg; may be repeated. Default: both.",
            show_default=False,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Draw the figures that suit a front: the trade-off, its knees and flat stretches, and more.

    Which ones depends on what was optimized. Older figures of the same names are replaced.
    """
    from moanon.experiment.finished import draw_plots, find_runs, read_run

    finished, _ = find_runs(results)
    runs = [read_run(folder) for folder in finished]
    for run in runs if not quiet else ():
        if run.without_table:
            note(f"group sizes are left out, because {run.without_table}")
    for paths in draw_plots(runs, results, out, tuple(formats or ("png", "svg"))):
        if not quiet:
            names = ", ".join(path.name for path in paths)
            typer.echo(f" Wrote {on_one_line(str(paths[0].parent))}: {names}")
