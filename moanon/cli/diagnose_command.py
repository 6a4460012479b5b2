"""``moanon diagnose``: how exposed a table is, before anything is generalized."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from moanon.cli.application import NO, app
from moanon.cli.options import CsvDelimiterOption, argument, flag, given, number_in
from moanon.cli.printing import on_one_line, print_json
from moanon.errors import OutputError, QuestionError

if TYPE_CHECKING:
    from moanon.diagnosis import Diagnosis, DiagnosisAnswer, Form, PrivacyModel, SetsProgress

#: Seconds between two refreshes of the bar, and between two lines where there is no terminal.
_REFRESH, _LINE_EVERY = 0.1, 5.0


_File = Annotated[
    str,
    argument(
        "FILE",
        "A CSV or Parquet file, a folder, a quoted glob, a configuration (YAML), or the name of an "
        "embedded table.",
    ),
]
_Columns = Annotated[
    list[str] | None,
    given(
        "A,B,…",
        "The columns that others may know; may be repeated. Default: all that are not sensitive, "
        "or the quasi-identifiers of a configuration.",
    ),
]
_Subset = Annotated[
    list[str] | None,
    given("A,B,…", "Ask about this set of columns; left out, all sets are looked at."),
]
_K = Annotated[int | None, given("K", "Rows in the smallest group.", "--k")]
_L = Annotated[float | None, given("L", "Instead of k: diversity of a group.", "--l")]
_T = Annotated[float | None, given("T", "Instead of k: distance from the table.", "--t")]
_Delta = Annotated[
    str | None,
    given("D", "Largest share of rows that may be suppressed, or the word ask: how many must be?"),
]
_AtLeast = Annotated[bool, flag("--at-least", "K, L or T is a least level (default of k and l).")]
_AtMost = Annotated[bool, flag("--at-most", "K, L or T is a largest level (default of t).")]
_Question = Annotated[
    int | None, given("N", "Name one of the twelve questions; what is given must fit.")
]
_Sensitive = Annotated[
    list[str] | None, given("A,B,…", "Columns whose values must not be learnt, for l and t.")
]
_Rule = Annotated[
    str | None,
    given(
        "RULE",
        "Of l: distinct (default), frequency, entropy, recursive. Of t: equal (default), ordered, "
        "tree, js. Without a level: asks for it.",
    ),
]
_C = Annotated[float | None, given("C", "Of recursive; default 3.", "--c")]
_Tree = Annotated[
    str | None,
    given("FILE", "Of tree: a YAML or ARX CSV file, or a name such as adult/occupation."),
]
_MaxSize = Annotated[int | None, given("N", "Look at sets of at most N columns only.")]
_ListRows = Annotated[
    Path | None,
    given("FILE", "With --subset: write the numbers of the rows that the answer counts (CSV)."),
]
_Plot = Annotated[Path | None, given("FILE", "Draw the answer: .png, .svg or .pdf.")]
_Force = Annotated[bool, flag("--force", "Replace the files of --list-rows and --plot.")]
_Json = Annotated[bool, flag("--json", "Answer in JSON, with all sets.")]
_All = Annotated[bool, flag("--all", "Show all sets, however many there are.")]
_Quiet = Annotated[bool, flag("--quiet", "No progress on stderr.")]


@app.command(
    epilog="Example: moanon diagnose adult --columns age,race,sex,native-country --k 5 --delta 0.01"
)
def diagnose(
    file: _File,
    columns: _Columns = None,
    subset: _Subset = None,
    k: _K = None,
    ell: _L = None,
    t: _T = None,
    delta: _Delta = None,
    at_least: _AtLeast = False,
    at_most: _AtMost = False,
    question: _Question = None,
    sensitive: _Sensitive = None,
    rule: _Rule = None,
    c: _C = None,
    hierarchy: _Tree = None,
    max_size: _MaxSize = None,
    delimiter: CsvDelimiterOption = None,
    list_rows: _ListRows = None,
    plot: _Plot = None,
    force: _Force = False,
    as_json: _Json = False,
    everything: _All = False,
    quiet: _Quiet = False,
) -> None:
    """Ask how exposed a table is, before anything is generalized.

    What is given and what is left out selects one of twelve questions:

    \b
                          nothing          at most          the share
                          suppressed       --delta D        --delta ask
    --k K and --subset S  1 yes or no?     5 yes or no?     9 which delta?
    --subset S            2 which k?       6 which k?      11 k and delta
    --k K                 3 which sets?    7 which sets?   10 delta of each set
    neither               4 k of each set  8 k of each set 12 both of each set

    Without any of these it begins with what matters: how many rows are alone, and by which columns.
    A missing value counts as a value of its own; no row is dropped. Exit code 1 means that the
    answer is no.
    """  # noqa: D301 (the backspace keeps the lines of the table apart)
    from moanon.diagnosis import Diagnosis, look_over, usual_size

    model, level = _model(k, ell, t, rule, c, hierarchy)
    named = _names("--subset", subset)
    _check_files(list_rows, plot, named)
    diagnosis = Diagnosis.read(
        file,
        _names("--columns", columns),
        _names("--sensitive", sensitive) or (),
        also=named or (),
        delimiter=delimiter,
    )
    lines = []
    # Where nothing is said, what matters comes first, and sets are not too many to go through.
    given = (columns, subset, level, delta, question)
    bare = all(each is None for each in given) and model.measure == "k"
    overview = look_over(diagnosis) if bare else None
    if bare and max_size is None:
        max_size = usual_size(len(diagnosis.columns))
    inputs = (*diagnosis.files, *([] if hierarchy is None else [Path(hierarchy)]))
    with _staged((list_rows, plot), inputs, force=force) as staged:
        with _progress(quiet=quiet) as progress:
            answer = diagnosis.ask(
                subset=named,
                level=level,
                delta=_share(delta),
                form=_form(at_least=at_least, at_most=at_most),
                model=model,
                question=question,
                largest=max_size,
                progress=progress,
            )
        if list_rows is not None:
            lines.append(_list_rows(diagnosis, answer, staged[list_rows], list_rows))
        if plot is not None:
            from moanon.output.diagnosis_figures import draw_answer

            draw_answer(overview or answer, staged[plot], plot.suffix.lower().removeprefix("."))
            lines.append(f"Wrote {plot}")
    if as_json:
        told = diagnosis.describe(answer)
        print_json(told if overview is None else {"overview": overview.to_dict(), **told})
    else:
        from moanon.cli.diagnosis_tables import show_answer

        show_answer(diagnosis, answer, everything=everything, overview=overview)
    for line in lines:
        typer.echo(f" {on_one_line(line)}", err=as_json)
    if not answer.yes:
        raise typer.Exit(NO)


# -- what was asked --------------------------------------------------------------------------------


def _names(option: str, given: Sequence[str] | None) -> tuple[str, ...] | None:
    """Split lists of names at commas; a name with a comma goes in double quotes."""
    if given is None:
        return None
    names = [name for row in csv.reader(given, skipinitialspace=True) for name in row]
    if not names or not all(names):
        raise QuestionError(f"{option} holds an empty name. Got {', '.join(given)!r}")
    return tuple(names)


def _model(
    k: int | None,
    ell: float | None,
    t: float | None,
    rule: str | None,
    c: float | None,
    hierarchy: str | None,
) -> tuple[PrivacyModel, float | None]:
    """Find out what is asked about, and the level if there is one."""
    from moanon import datasets
    from moanon.data.hierarchy import Hierarchy
    from moanon.diagnosis import Letter, PrivacyModel, choose_rule

    levels: dict[Letter, float | None] = {"k": k, "l": ell, "t": t}
    given = [name for name, level in levels.items() if level is not None]
    if len(given) > 1:
        raise QuestionError(
            f"one of k, l and t can be asked about at a time. Got {' and '.join(given)}"
        )
    letter, rule = choose_rule(given[0] if given else None, rule)
    if c is not None and rule != "recursive":
        raise QuestionError("--c goes with --rule recursive only")
    if (hierarchy is not None) != (rule == "tree"):
        raise QuestionError("--rule tree and --hierarchy go together")
    tree = None
    if hierarchy is not None:
        embedded = hierarchy in datasets.hierarchy_names()
        tree = Hierarchy.read(datasets.hierarchy_path(hierarchy) if embedded else hierarchy)
    return PrivacyModel(letter, rule, PrivacyModel.c if c is None else c, tree), levels[letter]


def _share(delta: str | None) -> float | Literal["ask"] | None:
    if delta is None or delta == "ask":
        return "ask" if delta else None
    share = number_in(delta)
    if share is None:
        raise QuestionError(f"delta must be a share in [0, 1), or the word ask. Got {delta!r}")
    return share


def _form(*, at_least: bool, at_most: bool) -> Form | None:
    if at_least and at_most:
        raise QuestionError("--at-least and --at-most contradict each other")
    return "at least" if at_least else "at most" if at_most else None


# -- files -----------------------------------------------------------------------------------------


def _check_files(list_rows: Path | None, plot: Path | None, subset: tuple[str, ...] | None) -> None:
    """Refuse what could not be written, before anything is read."""
    if list_rows is not None and subset is None:
        raise QuestionError("--list-rows needs --subset: rows are in the way on one set of columns")
    if plot is not None:
        endings = (".png", ".svg", ".pdf")
        if plot.suffix.lower() not in endings:
            raise OutputError(f"--plot writes {', '.join(endings)}. Got {plot}")
        if list_rows == plot:
            raise OutputError(f"--list-rows and --plot name the same file, {plot}")


@contextmanager
def _staged(
    wanted: Sequence[Path | None], inputs: Sequence[Path], *, force: bool
) -> Iterator[dict[Path, Path]]:
    """Claim the files to be written, before a long search, and say where to write each."""
    targets = [target for target in wanted if target is not None]
    if not targets:
        yield {}
        return
    from moanon.atomic import StagedFiles

    with StagedFiles(*targets, force=force, spared=inputs) as staged:
        yield {target: staged[target] for target in targets}
        staged.move()


def _list_rows(diagnosis: Diagnosis, answer: DiagnosisAnswer, place: Path, name: Path) -> str:
    """Write the numbers of the rows that the answer counts, with their levels but no values."""
    from moanon.diagnosis import SubsetAnswer

    asked = answer.asked
    assert isinstance(answer, SubsetAnswer)
    assert asked.subset is not None
    if asked.level is None and asked.delta is None:
        raise QuestionError("--list-rows needs a level to be reached, or --delta")
    if asked.asks_delta and not asked.is_protective:
        form = asked.form.replace(" ", "-")
        raise QuestionError(
            f"--list-rows lists rows that go; with --{form} and --delta ask the answer is how many "
            "can, whichever they are"
        )
    rows = diagnosis.rows_in_the_way(asked.subset, answer.listed_level, asked.model)
    levels = diagnosis.row_levels(asked.subset, asked.model)[rows]
    with place.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        measure = asked.model.measure
        writer.writerow(["row", "group_size" if measure == "k" else measure])
        writer.writerows(zip((rows + 1).tolist(), levels.tolist(), strict=True))
    return f"Wrote {name}: {len(rows):,} row numbers; 1 is the first row of the table"


# -- progress --------------------------------------------------------------------------------------


@contextmanager
def _progress(*, quiet: bool) -> Iterator[SetsProgress | None]:
    """Show how many sets are settled: a bar in a terminal, a line every few seconds elsewhere."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar() as show:
            yield _at_most_every(_REFRESH, show)
    else:

        def show_line(settled: int, sets: int) -> None:
            typer.echo(f"{settled:,} of {sets:,} sets of columns settled", err=True)

        yield _at_most_every(_LINE_EVERY, show_line)


def _at_most_every(seconds: float, show: SetsProgress) -> SetsProgress:
    due = time.monotonic() + seconds

    def shown(settled: int, sets: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + seconds
            show(settled, sets)

    return shown


@contextmanager
def _bar() -> Iterator[SetsProgress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    text, shown = TextColumn("sets of columns"), TextColumn("{task.fields[shown]}")
    columns = (text, BarColumn(), shown, TimeRemainingColumn())
    # Refreshed by hand: a thread that does it would compete with the search.
    screen = Console(file=sys.stderr)
    with Progress(*columns, console=screen, auto_refresh=False, transient=True) as bars:
        task = bars.add_task("", total=None, shown="")

        def show(settled: int, sets: int) -> None:
            bars.update(task, total=sets, completed=settled, shown=f"{settled:,} of {sets:,}")
            bars.refresh()

        yield show
