"""``moanon frontier`` and ``learn``: what releases give away, and what they are still good for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.cli.application import app, argument, flag, given, grouped, note, on_one_line, show
from moanon.cli.options import ColumnOptions, OriginalOption, QuietOption, ThreadsOption, names
from moanon.errors import ConfigError

if TYPE_CHECKING:
    from moanon.experiment.learning_run import LearningRun
    from moanon.learning.study import StudyOutcome


# -- frontier --------------------------------------------------------------------------------------


_Reading = StrEnum("_Reading", {"WHOLE": "whole", "COLUMN": "column"})


@dataclass(frozen=True)
class _Plane:
    """Which populations count, and which queries are asked."""

    min_support: Annotated[
        float | None,
        given(
            "X",
            "Least share of the rows that makes a population large, in (0, 1]. Default: that of "
            "the configuration, else 0.05.",
        ),
    ] = None
    ancestors: Annotated[
        list[str] | None,
        given(
            "COLUMN=W,...",
            "Widths of the ranges of an interval or ordered column, in steps or values, that "
            "populations may name; may be repeated. Default: those of the configuration, else 2, "
            "4, 8, ... steps.",
            "--ancestors",
        ),
    ] = None
    max_populations: Annotated[
        int, typer.Option(metavar="N", help="More populations than this are refused.")
    ] = 100_000
    bucketize: Annotated[
        bool, flag("--bucketize", "Also place each release with its groups as buckets.")
    ] = False
    queries: Annotated[
        int, typer.Option(metavar="N", help="Random COUNT queries to ask; 0 for none.")
    ] = 1000
    dimensions: Annotated[
        int | None,
        given(
            "D", "Quasi-identifiers that each query looks at. Default: 4, as far as there are any."
        ),
    ] = None
    selectivity: Annotated[
        float, typer.Option(metavar="X", help="Share that a query asks for, in (0, 1].")
    ] = 0.05
    selectivity_of: Annotated[
        _Reading,
        typer.Option(help="Whether that is a share of the whole space, or of each column."),
    ] = _Reading.WHOLE
    seed: Annotated[int, typer.Option(metavar="N", help="Of the queries.")] = 1

    @property
    def widths(self) -> dict[str, tuple[int, ...]] | None:
        """The ancestors that are given as COLUMN=W,W,..."""
        found: dict[str, tuple[int, ...]] = {}
        for text in self.ancestors or ():
            column, mark, widths = text.rpartition("=")
            parts = [part.strip() for part in widths.split(",")]
            if not (column and mark) or not all(p.isascii() and p.isdigit() for p in parts):
                raise ConfigError(f"--ancestors must be COLUMN=5,10,20. Got {text!r}")
            if column in found:
                raise ConfigError(f"--ancestors names the column {column!r} twice")
            found[column] = tuple(map(int, parts))
        return found or None


@app.command(
    epilog="Example: moanon frontier results/local results/mondrian --bucketize --out results/plane"
)
@grouped
def frontier(
    releases: Annotated[
        list[str],
        argument(
            "RESULTS...",
            "Results folders, or solutions of them, such as results/local#14; with --original also "
            "released files.",
        ),
    ],
    plane: _Plane,
    columns: ColumnOptions,
    original: OriginalOption = None,
    sensitive: Annotated[
        str | None, given("COLUMN", "The sensitive column. Default: the only one there is.")
    ] = None,
    out: Annotated[
        Path | None,
        given("DIR", "Where the table, the figure and the page go. Default: results/frontier."),
    ] = None,
    force: Annotated[bool, flag("--force", "Replace what DIR holds of them.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Place releases by privacy loss and utility loss.

    Marks the efficient ones. Privacy loss (p_loss) is what can be learnt about the individual that
    is worst off, utility loss (u_loss) what the release no longer says about large populations,
    query_error how wrong it answers COUNT queries. All solutions of folders are placed, and with
    --bucketize their twins that publish quasi-identifiers as they are. Writes frontier.csv,
    frontier.png and frontier.html.
    """
    from moanon.experiment.showing import find_frontier, write_frontier
    from moanon.front.results import unfinished

    placed, found = find_frontier(
        releases,
        columns.known(None if sensitive is None else [sensitive]),
        original=original,
        stars=columns.stars.value,
        min_support=plane.min_support,
        ancestors=plane.widths,
        most=plane.max_populations,
        bucketize=plane.bucketize,
        queries=plane.queries,
        dimensions=plane.dimensions,
        selectivity=plane.selectivity,
        reading=plane.selectivity_of.value,
        seed=plane.seed,
    )
    place = Path("results/frontier") if out is None else out
    write_frontier(placed, found, place, force=force)
    if quiet:
        return
    for folder in found.unfinished:
        note(f"{folder} holds {unfinished(folder)}, which is left out")
    show(placed)
    show([f"Wrote {place}: frontier.csv, frontier.png, frontier.html"])


# -- learn -----------------------------------------------------------------------------------------


_Protocol = StrEnum("_Protocol", {"RAW": "raw", "RELEASED": "released"})


@dataclass(frozen=True)
class _StudyOptions:
    """How models are trained and tested."""

    models: Annotated[
        str, typer.Option(metavar="NAMES", help="Some of logistic, forest, boosting; by commas.")
    ] = "logistic,forest,boosting"
    protocol: Annotated[
        _Protocol,
        typer.Option(
            help="Test with raw rows that took no part in the anonymization, or with released ones."
        ),
    ] = _Protocol.RAW
    repeats: Annotated[int, typer.Option(min=1, help="Other rows are held out in each.")] = 5
    test_share: Annotated[float, typer.Option(help="Share of rows that are held out.")] = 0.1
    solutions: Annotated[
        int, typer.Option(min=1, help="Of a folder without #ID, most solutions.")
    ] = 10
    seed: Annotated[int, typer.Option(min=0, help="For splits and models.")] = 1


@app.command(
    epilog="Example: moanon learn results/patients results/patients-mondrian#3 --target diagnosis"
)
@grouped
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
    how: _StudyOptions,
    columns: ColumnOptions,
    original: OriginalOption = None,
    out: Annotated[
        Path | None,
        given("DIR", "Where results go. Default: results/ and the name of the first, -learning."),
    ] = None,
    resume: Annotated[
        bool,
        flag("--resume", "Continue a study that was interrupted, or add to one that is finished."),
    ] = False,
    force: Annotated[bool, flag("--force", "Replace the study that the folder holds.")] = False,
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Train models on releases, and see what is lost.

    They are trained on the table as it is, too. With --protocol raw, rows are held out first and
    only the others are anonymized: global solutions with the same blocks and about the same share
    of rows suppressed; local ones by the same search and baselines by the same algorithm, with k in
    proportion to the rows that are left. Models are tested with the held-out rows as they are. With
    --protocol released the whole release is split. Then every loss is correlated with the drop of
    each score. The same seed gives the same numbers.
    """
    from moanon.learning.models import check_installed

    check_installed()  # before anything is read
    from moanon.experiment.learning_run import LearningRun, read_anonymizations
    from moanon.learning import Study

    examined, learned, files, notes = read_anonymizations(
        releases,
        target,
        test_share=how.test_share,
        can_make_anew=how.protocol is _Protocol.RAW,
        solutions=how.solutions,
        original=original,
        known=columns.known(),
        stars=columns.stars.value,
    )
    study = Study(
        examined,
        learned,
        names([how.models]),
        how.protocol.value,
        how.repeats,
        how.test_share,
        how.seed,
    )
    called = Path(examined[0].source).resolve().stem or "learning"
    folder = out or Path("results") / f"{called}-learning"
    run = LearningRun.prepare(study, folder, files=files, notes=notes, resume=resume, force=force)
    if not quiet:
        for text in notes:
            note(text)
    outcome = _run(run, threads or os.cpu_count() or 1, quiet=quiet)
    if not quiet:
        show(outcome)
        show([f"Wrote {folder}: learning.html (open it in a browser)"])


def _run(run: LearningRun, threads: int, *, quiet: bool) -> StudyOutcome:
    """Run a study and show its progress; leave where it is interrupted."""
    from moanon.progress import Ending, on_part, show_progress

    with Ending(at_once=False) as interrupted, show_progress("learn", quiet=quiet) as progress:
        on_models = on_part(None if progress is None else progress.step, "models")
        outcome = run.run(on_models, threads=threads, stop=interrupted)
    if outcome is None:
        typer.echo(
            f"Interrupted; what is known is saved in {on_one_line(str(run.folder))}. To continue, "
            "repeat the command with --resume.",
            err=True,
        )
        raise typer.Exit(128 + interrupted.signal)
    return outcome
