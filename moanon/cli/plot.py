"""``moanon plot``: the figures of a results folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.cli.application import app
from moanon.cli.showing import on_one_line
from moanon.errors import DataError, MoanonError

if TYPE_CHECKING:
    from moanon.front import Front

__all__: list[str] = []


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
    from moanon.output.plots import write_comparison, write_plots

    wanted = tuple(formats or ("png", "svg"))
    single, several = _runs(results)
    for folder in single:
        name, front = _load(folder, quiet=quiet)
        _tell(write_plots(front, out or folder / "plots", name, formats=wanted), quiet=quiet)
    fronts = {}
    for folder in several:
        name, front = _load(folder, quiet=quiet)
        fronts[front.suppression.eta] = front
        place = folder / "plots" if out is None else out / folder.name
        _tell(write_plots(front, place, name, formats=wanted), quiet=quiet)
    if fronts:
        written = write_comparison(fronts, out or results / "plots", name, formats=wanted)
        _tell(written, quiet=quiet)


def _runs(results: Path) -> tuple[list[Path], list[Path]]:
    """Folders of fronts: the one itself, and those of its limits."""
    single = [results] if (results / "run.json").exists() else []
    several = sorted(path.parent for path in results.glob("eta-*/run.json"))
    if not single and not several:
        raise DataError(
            f"{results} holds no results: neither a run.json nor a folder eta-E with one; give a "
            "folder that moanon run has written"
        )
    return single, several


def _load(folder: Path, *, quiet: bool) -> tuple[str, Front]:
    """Read a front and its name; without its table, if that cannot be had any more."""
    from moanon.config import Config
    from moanon.front import Front

    config = Config.load(folder / "config.yaml")
    try:
        return config.name, Front.load(folder, config.instance())
    except MoanonError as error:
        front = Front.load(folder)  # if the folder itself is at fault, this says so
        if not quiet:
            reason = on_one_line(str(error))
            typer.echo(f"note: group sizes are left out, because {reason}", err=True)
        return config.name, front


def _tell(paths: list[Path], *, quiet: bool) -> None:
    if not quiet:
        names = ", ".join(path.name for path in paths)
        typer.echo(f" Wrote {on_one_line(str(paths[0].parent))}: {names}")
