"""``moanon bench``: what an evaluation costs on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.cli.application import app
from moanon.cli.showing import console, on_one_line, times

if TYPE_CHECKING:
    from moanon.bench import Case, Timing

__all__: list[str] = []

#: ARX's hierarchies of Adult, where a copy lies beside the checkout.
_ARX = Path("../shared/arx")


class BenchCase(StrEnum):
    """What can be timed."""

    ADULT = "adult"
    LATTICE = "lattice"
    SYNTHETIC = "synthetic"
    MODELS = "models"


@app.command(epilog="Example: moanon bench --case adult --case lattice --out bench.json")
def bench(
    cases: Annotated[
        list[BenchCase] | None,
        typer.Option(
            "--case",
            metavar=f"[{'|'.join(BenchCase)}]",
            help="What to time; may be repeated. Default: all.",
            show_default=False,
        ),
    ] = None,
    hierarchies: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="ARX's hierarchies of Adult, for the lattice. Default: ../shared/arx if it is "
            "there, else levels of the package's own.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the timings.")] = Path(
        "bench.json"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace FILE.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few genomes of adult alone: does it run?")
    ] = False,
) -> None:
    """Time an evaluation on this machine, against other ways to do the same.

    Shows each timing as it is taken, and writes all of them with the machine's particulars as
    JSON. A full run takes some minutes, and the machine should have nothing else to do.
    """
    import json

    from moanon.atomic import Beside
    from moanon.bench import as_record, machine

    if quick and set(cases or ()) - {BenchCase.ADULT}:
        raise typer.BadParameter("--quick times adult alone", param_hint="--case")
    # Before all else, because a run is long and FILE may be taken.
    with Beside(out, force=force) as beside:
        timings = []
        for case in _quick_cases() if quick else _bench_cases(cases or BenchCase, hierarchies):
            timings += _show_timings(case, repeat=1 if quick else 5)
        found = {"machine": machine(), "timings": [as_record(timing) for timing in timings]}
        text = json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)
        beside[out].write_text(f"{text}\n", encoding="utf-8")
        beside.move()
    typer.echo(" CPU and clock are per evaluation; to flat: CPU against flat on one thread.")
    typer.echo(f" Wrote {on_one_line(str(out))}")


def _bench_cases(kinds: Iterable[BenchCase], hierarchies: Path | None) -> Iterator[Case]:
    from moanon.bench import adult_cases, lattice_case, model_cases, synthetic_cases

    wanted = set(kinds)
    if BenchCase.ADULT in wanted:
        yield from adult_cases()
    if BenchCase.LATTICE in wanted:
        yield lattice_case(hierarchies or (_ARX if _ARX.is_dir() else None))
    if BenchCase.SYNTHETIC in wanted:
        yield from synthetic_cases()
    if BenchCase.MODELS in wanted:
        yield from model_cases()


def _quick_cases() -> list[Case]:
    from moanon.bench import adult_cases

    return adult_cases(rounds=2, population=5)


def _show_timings(case: Case, repeat: int) -> list[Timing]:
    """Take the timings of a case, showing each as it comes."""
    from rich import box
    from rich.live import Live
    from rich.table import Table as Grid

    from moanon.bench import measure

    rows, cells, genomes = int(case.counts.sum()), len(case.counts), len(case.genomes)
    typer.echo(f" {case.name}: {rows:,} rows, {cells:,} cells, {genomes:,} genomes")
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    grid.add_column("way", min_width=20)  # the same in all cases, so that they can be compared
    for header, width in (("threads", 7), ("CPU µs", 9), ("clock µs", 9), ("to flat", 7)):
        grid.add_column(header, justify="right", min_width=width)
    shown: list[Timing] = []
    screen = console()
    try:
        # Refreshed by hand: a thread that does it would be timed along with what is timed.
        with Live(grid, console=screen, auto_refresh=False, transient=True) as live:
            for timing in measure(case, repeat=repeat):
                micros = (f"{timing.micros:,.1f}", f"{timing.wall_micros:,.1f}")
                grid.add_row(timing.way, str(timing.threads), *micros, times(timing.ratio))
                shown.append(timing)
                live.refresh()
    finally:  # for good, in a pipe too, and what there is of it after Ctrl-C
        screen.print(grid)
    return shown
