"""``moanon export`` and ``apply``: from a solution to certified files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moanon.atomic import StagedFiles
from moanon.cli.application import app, argument, flag, given, grouped, show
from moanon.cli.options import DataOption, IdArgument, ResultsArgument, share
from moanon.wording import counted, facts

if TYPE_CHECKING:
    from moanon.experiment.finished import FinishedRun
    from moanon.front import Front
    from moanon.release import Certificate, Release


_Shown = StrEnum("_Shown", {"ABSENT": "absent", "STARS": "stars"})
_WhenOutside = StrEnum("_WhenOutside", {"REFUSE": "refuse", "SUPPRESS": "suppress"})
_WhenSmall = StrEnum("_WhenSmall", {"SUPPRESS": "suppress", "KEEP": "keep"})
_PLACES = "A .csv or .parquet file; or a folder, whose name ends in /, which gets a file in parts."


@dataclass(frozen=True)
class _FileOptions:
    """How a release is written."""

    suppressed: Annotated[_Shown, typer.Option(help="How suppressed rows are shown.")] = (
        _Shown.ABSENT
    )
    shuffle: Annotated[
        int | None,
        given(
            "SEED",
            "Shuffle the rows by this seed, to get the same file again; by default the system's "
            "randomness shuffles them.",
            min=0,
        ),
    ] = None
    keep_order: Annotated[
        bool,
        flag(
            "--keep-order",
            "Leave the rows in the order of the source; a line number may then say who it is.",
        ),
    ] = False
    spreadsheet_safe: Annotated[
        bool,
        flag("--spreadsheet-safe", "Put an apostrophe before cells that a spreadsheet would run."),
    ] = False
    force: Annotated[bool, flag("--force", "Replace the file and its certificate.")] = False

    def __post_init__(self) -> None:
        if self.keep_order and self.shuffle is not None:
            raise typer.BadParameter("--shuffle and --keep-order exclude each other; leave one out")

    @property
    def orders_rows(self) -> bool:
        """Whether the order of the rows was given."""
        return self.keep_order or self.shuffle is not None

    @property
    def shapes_cells(self) -> bool:
        """Whether it was given how cells or suppressed rows look."""
        return self.spreadsheet_safe or self.suppressed is _Shown.STARS


@app.command(epilog="Example: moanon export results/quickstart 21 --out release.csv")
@grouped
def export(
    results: ResultsArgument,
    solution: IdArgument,
    files: _FileOptions,
    out: Annotated[str | None, given("FILE", _PLACES)] = None,
    to_table: Annotated[
        str | None,
        given(
            "NAME",
            "Instead of a file: a new table of the database that the rows are in. Its certificate "
            "is NAME.certificate.json.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        given(
            "K",
            "Suppress the groups smaller than K instead of those that the solution suppresses. "
            "What the run demanded of solutions still holds.",
            "--k",
            min=1,
        ),
    ] = None,
    max_suppression: Annotated[
        float | None,
        given(
            "X",
            "With --k: share of rows that may be suppressed, if other than the run's.",
            parser=share,
        ),
    ] = None,
    bucketize: Annotated[
        bool,
        flag(
            "--bucketize",
            "Publish quasi-identifiers as they are, and sensitive values per bucket only, in a "
            "second file; k then protects nobody from being found in the table.",
        ),
    ] = False,
    data: DataOption = None,
    summary: Annotated[
        bool,
        flag("--summary", "Also write FILE.summary.html, a page for whoever signs the release."),
    ] = False,
) -> None:
    """Write a solution's release and its certificate.

    The certificate is FILE.certificate.json. The file is read back and measured; unless it shows
    what front.csv says about the solution, nothing is left under its name. The table is read again
    where the run has read it, and must not have changed.
    """
    from moanon.experiment import open_run
    from moanon.measures.column_effects import column_effects, effects_grid

    if max_suppression is not None and k is None:
        raise typer.BadParameter("--max-suppression goes with --k; a solution has its own limit")
    if (out is None) == (to_table is None):
        raise typer.BadParameter("a release goes into a file (--out) or a table (--to-table)")
    run = open_run(results, data)
    front = run.front
    release = front.release(solution, k=k, max_suppression=max_suppression)
    if bucketize:
        if out is None or summary or files.shapes_cells:
            raise typer.BadParameter(
                "--bucketize writes released rows only, into files, and cells as they are; leave "
                "out --to-table, --summary, --spreadsheet-safe and --suppressed stars"
            )
        show(_write_buckets(release, run, Path(out), files))
        return
    if out is None:
        if summary or files.orders_rows or files.shapes_cells:
            raise typer.BadParameter(
                "--summary, --shuffle, --keep-order, --spreadsheet-safe and --suppressed are for "
                "files"
            )
        assert to_table is not None
        written = _write_table(release, run, to_table, files.force)
        show(_words(release, written, to_table, front, beside=None))
        return
    # The file of a summary is claimed before the release is written.
    place = Path(f"{Path(out)}.summary.html")
    claim: StagedFiles | nullcontext[None] = nullcontext()
    if summary:
        claim = StagedFiles(place, force=files.force, spared=run.files)
    with claim as staged:
        certificate = _write(release, run, out, files)
        if staged is not None:
            from moanon.output.summary import summary_html

            page = summary_html(release, certificate, f"solution {solution} of {results.name}")
            staged[place].write_text(page, encoding="utf-8", newline="\n")
            staged.move()
    show(_words(release, certificate, out, front, beside=None if k is None else solution))
    if k is None:
        agree = len(certificate.checked)
        show(facts({"checked": f"{agree} measures of the file, all as in front.csv"}, " "))
    show([effects_grid(column_effects(release.grouping))])
    if summary:
        show([f"Wrote {place}, a page for whoever signs it"])


@app.command(epilog="Example: moanon apply results/quickstart 21 new.csv --out new-release.csv")
@grouped
def apply(
    results: ResultsArgument,
    solution: IdArgument,
    rows: Annotated[
        str,
        argument(
            "NEWDATA",
            "A CSV or Parquet file, a folder or a quoted glob, with the run's columns.",
        ),
    ],
    out: Annotated[str, given("FILE", _PLACES)],
    files: _FileOptions,
    outside: Annotated[
        _WhenOutside,
        typer.Option(help="What becomes of rows with a value that the run had no place for."),
    ] = _WhenOutside.REFUSE,
    small: Annotated[
        _WhenSmall,
        typer.Option(help="What becomes of groups that have less than the solution promises."),
    ] = _WhenSmall.SUPPRESS,
    k: Annotated[
        int | None, given("K", "Promise this k instead of the solution's.", "--k", min=1)
    ] = None,
    data: DataOption = None,
) -> None:
    """Apply a solution to new rows, and certify that file.

    The new rows are read as the run's configuration says and generalized exactly as the run's own:
    its domains count, never those of the new file; its table itself is not read again. Groups that
    are too small in the new file, or give away too much, are suppressed, so that it keeps what the
    solution promises; if it does not meet the constraints of the run all the same, nothing is
    written. That holds for the file by itself: who appears in several releases may be found by
    joining them.
    """
    from moanon.experiment import open_run
    from moanon.experiment.finished import open_generalization

    run = open_generalization(results, solution) if data is None else open_run(results, data)
    front, table = run.front, run.read_rows(rows)
    release = front.apply(solution, table, outside=outside.value, small=small.value, k=k)
    certificate = _write(release, run, out, files)
    reasons = {
        "with values outside the run's domains": release.rows_outside,
        "in groups that have too little": certificate.suppressed - release.rows_outside,
    }
    why = ", ".join(f"{number:,} {reason}" for reason, number in reasons.items() if number)
    show(_words(release, certificate, out, front, beside=solution, why=why))
    rule = front.suppression
    if certificate.sl > rule.eta and rule.kind != "weighted-k" and k is None:
        most = f"{100 * rule.eta:.10g}%"
        show(
            [
                f"note: the run suppresses at most {most} of its rows, this file "
                f"{certificate.sl:.1%}; with a smaller --k it would be fewer"
            ]
        )


def _write(release: Release, run: FinishedRun, out: str, files: _FileOptions) -> Certificate:
    certificate = release.write(
        out,
        suppressed="star" if files.suppressed is _Shown.STARS else "absent",
        force=files.force,
        spreadsheet_safe=files.spreadsheet_safe,
        shuffle=files.shuffle,
        keep_order=files.keep_order,
        spared=run.files,
    )
    run.record_release(release, certificate)
    return certificate


def _write_buckets(
    release: Release, run: FinishedRun, out: Path, files: _FileOptions
) -> Iterator[str]:
    """Write a release as buckets, and say the few numbers that matter."""
    from moanon.release.bucketized import PRESENCE, BucketizedRelease

    certificate = BucketizedRelease(release).write(
        out,
        force=files.force,
        shuffle=files.shuffle,
        keep_order=files.keep_order,
        spared=run.files,
    )
    run.record_release(release, certificate)
    path, beside = (out.with_name(name) for name in certificate.files)
    yield f"Wrote {path} ({counted(certificate.rows, 'row')}), {beside} and"
    yield f" {path}.certificate.json"
    smallest = f"the smallest of {counted(certificate.smallest_bucket, 'row')}"
    texts = {"buckets": f"{certificate.buckets:,}, {smallest}"}
    for column, models in certificate.models.items():
        close = {name: release.promised[name, column] for name in ("t_closeness", "t_js")}
        parts = [f"l {models['l_distinct']} distinct, {models['l_frequency']} frequency"]
        parts += [f"{name} {float(value):.3f}" for name, value in close.items()]
        texts[column] = "; ".join(parts)
    texts["unique"] = f"{counted(certificate.unique_rows, 'row')} in quasi-identifiers"
    yield from facts(texts, " ")
    yield f"note: {PRESENCE}"


def _write_table(release: Release, run: FinishedRun, name: str, force: bool) -> Certificate:
    """Write a table, and its certificate beside where the command was called."""
    notice = Path(f"{name}.certificate.json")
    with StagedFiles(notice, force=force) as staged:

        def keep(certificate: Certificate) -> None:
            staged[notice].write_text(certificate.to_json(), encoding="utf-8", newline="\n")

        certificate = release.write_table(name, force=force, keep=keep)
        staged.move()
    run.record_release(release, certificate)
    return certificate


def _words(
    release: Release,
    certificate: Certificate,
    out: str,
    front: Front,
    *,
    beside: int | None,
    why: str = "",
) -> Iterator[str]:
    """Say the few numbers that matter; beside those of a solution where they may differ.

    They are for the publisher: closeness is that to the whole table, as on the front.
    """
    from moanon.front import shown

    path = Path(out)
    yield f"Wrote {path} ({counted(certificate.rows, 'row')}) and {path}.certificate.json"
    texts = {"k": f"{certificate.k:,}"}
    if certificate.sensitive:
        rule = front.suppression.diversity  # what the column l of the front goes by
        texts["l"] = ", ".join(
            f"{certificate.privacy_of(name)[f'l_{rule}']} {rule} ({name})"
            for name in certificate.sensitive
        )
    texts |= {name: _model(release, certificate, name) for name in _other_models(front)}
    gl, loss = (float(release.promised[name, ""]) for name in ("gl", "loss"))
    parts = f"generalization {gl:.1%}, suppression {certificate.sl:.1%}"
    texts["loss"] = f"{loss:.1%} ({parts})"
    if beside is not None:
        for name in texts.keys() & front.measures.keys():
            value = shown(name, front.measures[name][beside - 1], _digits(name))
            texts[name] += f"; solution {beside} has {value}"
    texts["suppressed"] = f"{counted(certificate.suppressed, 'row')} ({certificate.sl:.1%})"
    texts["suppressed"] += f": {why}" if why else ""
    if certificate.rows_dropped:
        texts["dropped"] = f"{counted(certificate.rows_dropped, 'row')} for missing values"
    yield from facts(texts, " ")
    yield from (f"note: {note}" for note in certificate.notes)
    if cells := certificate.formula_cells:
        safe = "--spreadsheet-safe puts an apostrophe before each"
        became = f"released as they are ({safe})"
        if certificate.spreadsheet_safe:
            became = "released with an apostrophe before each"
        yield f"note: cells that a spreadsheet would run: {cells:,}, {became}"


def _other_models(front: Front) -> list[str]:
    """Privacy models besides k and l that were searched for."""
    from moanon.measures import find_measure

    rule = front.suppression
    named = (*front.objectives, *(name for name, _ in rule.constraints), rule.by)
    others = [name for name in dict.fromkeys(named) if name not in ("k", "l")]
    return [name for name in others if find_measure(name).group]


def _model(release: Release, certificate: Certificate, name: str) -> str:
    """A privacy model of each sensitive column."""
    from moanon.front import shown

    parts = []
    for column in certificate.sensitive:
        value = shown(name, float(release.promised[name, column]), _digits(name))
        by = f" by the {certificate.distances[column]} distance" if name == "t_closeness" else ""
        parts.append(f"{value}{by} ({column})")
    return ", ".join(parts)


def _digits(name: str) -> int:
    """Decimals to show: distances are small."""
    from moanon.measures import find_measure

    return 1 if find_measure(name).is_share or name in ("k", "l") else 3
