"""``moanon learn``: what can still be learned from releases, and which loss tells."""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.cli.application import app
from moanon.cli.options import (
    STARS_IN_ALL,
    ConfigOption,
    DelimiterOption,
    HierarchyOption,
    KeyOption,
    OriginalOption,
    QuasiOption,
    QuietOption,
    StarsOption,
    argument,
    flag,
    given,
    names,
)
from moanon.cli.printing import note, on_one_line, show_grid

if TYPE_CHECKING:
    from moanon.experiment.learning_run import LearningRun
    from moanon.learning.study import StudyOutcome


class _Protocol(StrEnum):
    RAW = "raw"
    RELEASED = "released"


_RAW = _Protocol.RAW


@app.command(
    epilog="Example: moanon learn results/patients results/patients-mondrian#3 --target diagnosis"
)
def learn(
    releases: Annotated[
        list[str],
        argument(
            "RESULTS[#ID]...",
            "Results folders of runs and baselines, solutions of them (RESULTS#17), or released "
            "files.",
        ),
    ],
    target: Annotated[
        str, typer.Option(metavar="COLUMN", help="What is to be predicted.", show_default=False)
    ],
    models: Annotated[
        str, typer.Option(metavar="NAMES", help="Some of logistic, forest, boosting; by commas.")
    ] = "logistic,forest,boosting",
    protocol: Annotated[
        _Protocol,
        typer.Option(
            help="Test with raw rows that took no part in the anonymization, or with released ones."
        ),
    ] = _RAW,
    repeats: Annotated[int, typer.Option(min=1, help="Other rows are held out in each.")] = 5,
    test_share: Annotated[float, typer.Option(help="Share of rows that are held out.")] = 0.1,
    solutions: Annotated[
        int, typer.Option(min=1, help="Of a folder without #ID, most solutions.")
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, help="For splits and models.")] = 1,
    out: Annotated[
        Path | None,
        given("DIR", "Where results go. Default: results/ and the name of the first, -learning."),
    ] = None,
    resume: Annotated[
        bool,
        flag("--resume", "Continue a study that was interrupted, or add to one that is finished."),
    ] = False,
    force: Annotated[bool, flag("--force", "Replace the study that the folder holds.")] = False,
    threads: Annotated[int | None, given("N", "Default: one for each processor.", min=1)] = None,
    original: OriginalOption = None,
    config: ConfigOption = None,
    hierarchies: HierarchyOption = None,
    quasi: QuasiOption = None,
    key: KeyOption = None,
    stars: StarsOption = STARS_IN_ALL,
    delimiter: DelimiterOption = None,
    quiet: QuietOption = False,
) -> None:
    """Train models on releases and on the table as it is, and see what is lost.

    With --protocol raw, rows are held out first and only the others are anonymized: global
    solutions with the same blocks and about the same share of rows suppressed; local ones by the
    same search and baselines by the same algorithm, with k in proportion to the rows that are left.
    Models are tested with the held-out rows as they are. With --protocol released the whole release
    is split. Then every loss is correlated with the drop of each score. The same seed gives the
    same numbers.
    """
    from moanon.learning.models import check_installed

    check_installed()  # before anything is read
    from moanon.experiment.anonymizations import KnownColumns
    from moanon.experiment.learning_run import LearningRun, read_anonymizations
    from moanon.learning import Study

    known = KnownColumns(config, hierarchies or (), names(quasi), None, key, delimiter)
    examined, wanted, files, notes = read_anonymizations(
        releases,
        target,
        test_share=test_share,
        can_make_anew=protocol is _RAW,
        solutions=solutions,
        original=original,
        known=known,
        stars=stars.value,
    )
    study = Study(
        examined,
        wanted,
        names([models]),
        protocol.value,
        repeats,
        test_share,
        seed,
    )
    called = Path(examined[0].source).resolve().stem or "learning"
    folder = out or Path("results") / f"{called}-learning"
    run = LearningRun.prepare(study, folder, files=files, notes=notes, resume=resume, force=force)
    if not quiet:
        for text in notes:
            note(text)
    outcome = _run(run, threads or os.cpu_count() or 1, quiet=quiet)
    if not quiet:
        _show(outcome)
        typer.echo(f" Wrote {on_one_line(str(folder))}: learning.html (open it in a browser)")


def _run(run: LearningRun, threads: int, *, quiet: bool) -> StudyOutcome:
    """Run a study and show its progress; leave where it is interrupted."""
    from moanon.progress import Interruption, on_part, show_progress

    with Interruption() as interrupted, show_progress("learn", quiet=quiet) as show:
        told = on_part(None if show is None else show.step, "models")
        outcome = run.run(told, threads=threads, stop=interrupted)
    if outcome is None:
        typer.echo(
            f"Interrupted; what is known is saved in {on_one_line(str(run.folder))}. To go on, "
            "repeat the command with --resume.",
            err=True,
        )
        raise typer.Exit(128 + interrupted.signal)
    return outcome


def _show(outcome: StudyOutcome) -> None:
    """Show the mean AUROC of every release and model, beside the original's."""
    study, table = outcome.study, outcome.scores
    rows = []
    first = table[table["release"] == table["release"].iloc[0]]
    for name, score in (("original", "original_auroc"), ("a guess", "constant_auroc")):
        rows.append([name, "", "", *_cells(first, study.models, score)])
    for release, of_release in table.groupby("release", sort=False):
        measures = of_release[["k", "loss"]].mean()
        told = "-" if measures.isna().any() else f"{measures['k']:,.0f}"
        lost = "-" if measures.isna().any() else f"{measures['loss']:.1%}"
        rows.append([str(release), told, lost, *_cells(of_release, study.models, "auroc")])
    typer.echo(f" AUROC for {on_one_line(study.target.name)}, mean (least to largest repeat)")
    headers = ["release", "k", "loss", *study.models]
    show_grid(headers, [[on_one_line(cell) for cell in row] for row in rows], right=range(1, 9))


def _cells(table: object, models: Iterable[str], score: str) -> list[str]:
    cells = []
    for model in models:
        values = table[table["model"] == model][score]  # type: ignore[index]
        if values.isna().all():
            cells.append("-")
        else:
            cells.append(f"{values.mean():.3f} ({values.min():.3f} to {values.max():.3f})")
    return cells
