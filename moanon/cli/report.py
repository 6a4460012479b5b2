"""``moanon report``: results as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moanon.cli.application import app
from moanon.cli.showing import note, on_one_line


@app.command(epilog="Example: moanon report results/quickstart")
def report(
    results: Annotated[
        Path,
        typer.Argument(
            metavar="RESULTS",
            help="A results folder, or a folder with several of them: one tab each.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to write, instead of RESULTS/report.html.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
) -> None:
    """Write a page on which a front can be explored.

    The page is one file that needs no network: the front as a plot, what each solution does to the
    columns, the sizes of its groups, how to export it, and how the run was made. A report in the
    results folder itself is replaced; a file named with --out only with --force.
    """
    from moanon.experiment.finished import find_runs, read_run, write_page
    from moanon.front.results import unfinished

    finished, begun = find_runs(results)
    for folder in begun:
        note(f"{folder} holds {unfinished(folder)}, which is left out")
    runs = [read_run(folder) for folder in finished]
    for run in runs:
        if run.without_table:
            note(f"group sizes are left out of the report: {run.without_table}")
    path = write_page(runs, results, out, force=force)
    size = path.stat().st_size / 1e6
    typer.echo(f"Wrote {on_one_line(str(path))} ({size:.1f} MB); open it in a browser")
