"""``moanon report``: results as a page to look at."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moanon.cli.application import app
from moanon.cli.showing import on_one_line
from moanon.errors import DataError, MoanonError

if TYPE_CHECKING:
    from moanon.output.report import Tab

__all__: list[str] = []


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
    from moanon.output.report import write_report

    tabs = [_tab(folder, results) for folder in _folders(results)]
    path = out if out is not None else results / "report.html"
    write_report(tabs, path, force=force or out is None)
    size = path.stat().st_size / 1e6
    typer.echo(f"Wrote {on_one_line(str(path))} ({size:.1f} MB); open it in a browser")


def _folders(results: Path) -> list[Path]:
    """List the folders with a finished run: `results`, those in it, and those in them."""
    from moanon.search.checkpoint import NAMES

    if not results.is_dir():
        raise DataError(f"{results} is not a folder; name one that moanon run has written")
    found = [results, *results.glob("*/"), *results.glob("*/*/")]
    finished = [folder for folder in found if (folder / "run.json").is_file()]
    unfinished = [
        folder
        for folder in found
        if folder not in finished and any((folder / name).exists() for name in NAMES)
    ]
    if not finished and unfinished:
        raise DataError(f"{unfinished[0]} holds an unfinished run; go on with moanon run --resume")
    if not finished:
        raise DataError(f"{results} holds no results: neither it nor a folder in it has a run.json")
    for folder in unfinished:
        _note(f"{folder} holds an unfinished run, which is left out")
    return sorted(finished, key=lambda folder: (folder.parent, _eta(folder), folder))


def _eta(folder: Path) -> float:
    """Return the η that a folder is named after (``eta-0.05``); infinite for any other name."""
    _, mark, number = folder.name.partition("eta-")
    try:
        return float(number) if mark else math.inf
    except ValueError:
        return math.inf


def _tab(folder: Path, results: Path) -> Tab:
    """Read a results folder; without its table where that cannot be had any more."""
    from moanon.experiment import load_front
    from moanon.front import Front
    from moanon.output.report import Tab

    why = ""
    try:
        front = load_front(folder)
    except MoanonError as error:
        front = Front.load(folder)  # which fails too, unless only the table was at fault
        why = str(error)
        _note(f"group sizes are left out of the report: {why}")
    record = json.loads((folder / "run.json").read_bytes())
    config = folder / "config.yaml"
    text = config.read_text(encoding="utf-8", errors="replace") if config.is_file() else ""
    title = _title(folder, results, record)
    return Tab(title, front, record, str(folder), config=text, without_table=why)


def _title(folder: Path, results: Path, record: Mapping[str, Any]) -> str:
    if folder == results:
        return str(record.get("name", folder.name))
    place = folder.relative_to(results)
    if math.isinf(_eta(folder)):
        return place.as_posix()
    eta = f"η = {_eta(folder) * 100:g} %"
    return eta if len(place.parts) == 1 else f"{place.parts[0]}, {eta}"


def _note(text: str) -> None:
    typer.echo(f"note: {on_one_line(text)}", err=True)
