"""``moanon prove``: how far a front is from the optimum, with a proof."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.cli.application import app
from moanon.cli.options import QuietOption, ResultsArgument, given, share
from moanon.cli.printing import note, on_one_line, show_grid

if TYPE_CHECKING:
    from moanon.experiment.proving import ProofProgress, Proven

#: Seconds unless told.
_SECONDS = 60.0
#: Seconds between two lines about how far it is.
_LINE_EVERY = 5.0
#: Most solutions that are shown.
_MOST_ROWS = 24


@app.command(epilog="Example: moanon prove results/quickstart --k 5 --k 50 --seconds 120")
def prove(
    results: ResultsArgument,
    ks: Annotated[
        list[int] | None,
        given("K", "Prove for this k; may be repeated. Default: the whole front.", "--k", min=1),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(metavar="S", help="Stop after so much time; a later call continues.", min=0.0),
    ] = _SECONDS,
    gap: Annotated[
        float | None,
        given(
            "X",
            "Leave solutions alone that are proven to be at most so much above the optimum, such "
            "as 1% or 0.01. Default 0: until they are proven to be optimal.",
            parser=share,
        ),
    ] = None,
    data: Annotated[
        Path | None, given("FILE", "Where the table is now, if it has moved; the same table.")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Prove how far a front is from the best there is.

    For fronts of k and loss with groups suppressed by size: bounds the loss of all valid
    generalizations for each k from below. Better solutions that it comes across join the front,
    whose numbers then change; front.csv gets the columns bound and gap. It can be called again and
    continues where it stopped, also after Ctrl-C. The same amount of work gives the same bounds.
    """
    from moanon.experiment.proving import prove_results
    from moanon.progress import Interruption

    with Interruption() as interrupted:
        proven = prove_results(
            results,
            data,
            ks=ks or (),
            seconds=seconds,
            gap=gap or 0.0,
            on_progress=None if quiet else _Lines(),
            interrupted=interrupted,
        )
    if not quiet:
        for each in proven:
            _show(each, ks or [])
    if interrupted():
        typer.echo(
            f"Interrupted; what was proven is in {on_one_line(str(results))}. Call it again to go "
            "on.",
            err=True,
        )
        raise typer.Exit(128 + interrupted.signal)


class _Lines:
    """A line on stderr every few seconds."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _LINE_EVERY

    def __call__(self, progress: ProofProgress) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _LINE_EVERY
        at = "" if progress.k is None else f", k {progress.k:,}"
        sys.stderr.write(
            f"proving: {progress.work:,} bounds{at}, {progress.optimal:,} of {progress.steps:,} "
            "solutions proven optimal\n"
        )
        sys.stderr.flush()


def _show(proven: Proven, ks: list[int]) -> None:
    """Show what is proven of some solutions, and what has changed."""
    from moanon.front import shown

    for text in proven.notes:
        note(text)
    front, folder = proven.front, on_one_line(str(proven.folder))
    solutions = front.solutions
    choices = [solutions.choice(row) for row in range(len(front))]
    if ks:
        wanted = {min((c.id for c in choices if c.measures["k"] >= k), default=0) for k in ks}
        told = [choice for choice in choices if choice.id in wanted]
    else:
        every = max(1, -(-len(choices) // _MOST_ROWS))
        told = choices[::every]
    rows = [
        (
            str(choice.id),
            shown("k", choice.measures["k"]),
            f"{choice.measures['loss']:.5f}",
            "-" if choice.bound is None else f"{choice.bound:.5f}",
            choice.optimality or "nothing is known",
        )
        for choice in told
    ]
    show_grid(("solution", "k", "loss", "bound", ""), rows, right=range(4))
    optimal = sum(choice.optimality == "proven optimal" for choice in choices)
    typer.echo(
        f" {folder}: {optimal:,} of {len(choices):,} solutions proven optimal; "
        f"{proven.work:,} bounds computed, {proven.seconds:.0f} s this time"
    )
    changed = _changes(proven)
    if changed:
        typer.echo(f" {changed}")


def _changes(proven: Proven) -> str:
    """Say which solutions are new, and that numbers have changed."""
    points = [
        {*zip(front.measures["k"].tolist(), front.measures["loss"].tolist(), strict=True)}
        for front in (proven.before, proven.front)
    ]
    new = len(points[1] - points[0])
    if not new:
        return ""
    kept = "solution is" if new == 1 else "solutions are"
    return (
        f"{new:,} better {kept} in the front now; solutions are numbered anew, in the order of "
        "their objectives"
    )
