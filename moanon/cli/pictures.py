"""``moanon plot`` and ``report``: results as figures, and as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moanon.cli.application import app
from moanon.cli.options import QuietOption, argument, flag, given
from moanon.cli.printing import note, on_one_line


@app.command(epilog="Example: moanon plot results/quickstart --format svg --out figures")
def plot(
    results: Annotated[
        Path,
        argument(
            "RESULTS",
            "A folder that moanon run has written; or one with an eta-E folder for each of several "
            "limits, which are then also compared.",
        ),
    ],
    out: Annotated[Path | None, given("DIR", "Where figures go, instead of RESULTS/plots.")] = None,
    formats: Annotated[
        list[str] | None,
        given("FORMAT", "png or svg; may be repeated. Default: both.", "--format"),
    ] = None,
    quiet: QuietOption = False,
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


@app.command(epilog="Example: moanon report results/quickstart")
def report(
    results: Annotated[
        Path,
        argument("RESULTS", "A results folder, or a folder with several of them: one tab each."),
    ],
    out: Annotated[
        Path | None, given("FILE", "Where to write, instead of RESULTS/report.html.")
    ] = None,
    force: Annotated[bool, flag("--force", "Replace FILE if it exists.")] = False,
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
