"""``moanon plot`` and ``report``: results as figures, and as a page to look at."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.cli.application import app, argument, flag, given, note, on_one_line, show
from moanon.cli.options import QuietOption
from moanon.errors import ConfigError

if TYPE_CHECKING:
    from moanon.experiment.finished import FinishedRun


@app.command(
    epilog="Example: moanon plot results/quickstart --format svg --out figures; "
    "moanon plot results/quickstart results/quickstart-mondrian --out both.png"
)
def plot(
    results: Annotated[
        list[Path],
        argument(
            "RESULTS...",
            "A folder that moanon run or baseline has written; or one with an eta-E folder for "
            "each of several limits, which are then also compared. Several: one figure of all.",
        ),
    ],
    out: Annotated[
        Path | None,
        given(
            "DIR|FILE",
            "Where figures go, instead of RESULTS/plots; of several results, the file (.png, .svg, "
            ".pdf).",
        ),
    ] = None,
    formats: Annotated[
        list[str] | None,
        given("FORMAT", "png or svg; may be repeated. Default: both.", "--format"),
    ] = None,
    force: Annotated[bool, flag("--force", "Replace FILE if it exists.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Draw the figures that suit a front.

    The trade-off, its knees and flat stretches, and more: which ones depends on what was optimized.
    Older figures of the same names are replaced. Several results of one table are laid over one
    another, privacy against loss, in one figure.
    """
    if len(results) > 1:
        _plot_together(results, out, formats, force=force, quiet=quiet)
        return
    from moanon.experiment.finished import draw_plots, find_runs, read_run

    (folder,) = results
    finished, _ = find_runs(folder)
    runs = [read_run(folder) for folder in finished]
    for run in runs if not quiet else ():
        if run.without_table:
            note(f"group sizes are left out, because {run.without_table}")
    for paths in draw_plots(runs, folder, out, tuple(formats or ("png", "svg"))):
        if not quiet:
            names = ", ".join(path.name for path in paths)
            show([f"Wrote {paths[0].parent}: {names}"])


def _plot_together(
    results: list[Path], out: Path | None, formats: list[str] | None, *, force: bool, quiet: bool
) -> None:
    from moanon.experiment.showing import draw_plane, read_plane

    if out is None:
        raise ConfigError("several results make one figure; name its file with --out FILE")
    if formats:
        raise ConfigError("the ending of FILE says the format of one figure; leave out --format")
    draw_plane(read_plane(results), out, force=force)
    if not quiet:
        show([f"Wrote {out}"])


@app.command(
    epilog="Example: moanon report results/quickstart; "
    "moanon report results/quickstart results/quickstart-mondrian --out both.html"
)
def report(
    results: Annotated[
        list[Path],
        argument(
            "RESULTS...",
            "A results folder, or a folder with several of them: one tab each. Several: all of "
            "them, laid over one another.",
        ),
    ],
    out: Annotated[
        Path | None,
        given("FILE", "Where to write, instead of RESULTS/report.html; needed for several."),
    ] = None,
    force: Annotated[bool, flag("--force", "Replace FILE if it exists.")] = False,
) -> None:
    """Write a page on which a front can be explored.

    The page is one file that needs no network: the front as a plot, what each solution does to the
    columns, the sizes of its groups, how to export it, and how the run was made. A report in the
    results folder itself is replaced; a file named with --out only with --force. Of several
    results of one table it also compares what each of them costs for a k that is chosen there.
    """
    from moanon.experiment.finished import find_runs, read_run, write_page

    if len(results) > 1:
        _report_together(results, out, force=force)
        return
    finished, begun = find_runs(results[0])
    runs = [read_run(folder) for folder in finished]
    _note_gaps(begun, runs)
    _show_page(write_page(runs, results[0], out, force=force))


def _report_together(results: list[Path], out: Path | None, *, force: bool) -> None:
    from moanon.experiment.showing import read_plane, write_plane

    if out is None:
        raise ConfigError("several results make one page; name its file with --out FILE")
    plane = read_plane(results)
    _note_gaps(plane.unfinished, plane.runs.values())
    _show_page(write_plane(plane, out, force=force))


def _note_gaps(begun: Iterable[Path], runs: Iterable[FinishedRun]) -> None:
    """Say what a page lacks."""
    from moanon.front.results import unfinished

    for folder in begun:
        note(f"{folder} holds {unfinished(folder)}, which is left out")
    for run in runs:
        if run.without_table:
            note(f"group sizes are left out of the report: {run.without_table}")


def _show_page(path: Path) -> None:
    size = path.stat().st_size / 1e6
    typer.echo(f"Wrote {on_one_line(str(path))} ({size:.1f} MB); open it in a browser")
