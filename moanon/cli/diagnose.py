"""``moanon diagnose``: how exposed a table is, before anything is generalized."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from moanon.cli.application import NO, app
from moanon.cli.diagnosis_reading import Examined, examine
from moanon.cli.showing import on_one_line

if TYPE_CHECKING:
    from moanon.atomic import Beside
    from moanon.data.hierarchy import Hierarchy
    from moanon.diagnosis import Answer, Diagnosis, Form, Model, Progress

__all__: list[str] = []

#: Seconds between two refreshes of the bar, and between two lines where there is no terminal.
_REFRESH, _LINE_EVERY = 0.1, 5.0


@app.command(
    epilog="Example: moanon diagnose adult --columns age,race,sex,native-country --k 5 --delta 0.01"
)
def diagnose(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A CSV or Parquet file, a folder, a quoted glob, a configuration (YAML), or the "
            "name of an embedded table.",
            show_default=False,
        ),
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,…",
            help="The columns that others may know; may be repeated. Default: all that are not "
            "sensitive, or the quasi-identifiers of a configuration.",
            show_default=False,
        ),
    ] = None,
    subset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,…",
            help="Ask about this set of columns; left out, all sets are looked at.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("--k", metavar="K", help="Rows in the smallest group.", show_default=False),
    ] = None,
    ell: Annotated[
        float | None,
        typer.Option(
            "--l", metavar="L", help="Instead of k: diversity of a group.", show_default=False
        ),
    ] = None,
    t: Annotated[
        float | None,
        typer.Option(
            "--t", metavar="T", help="Instead of k: distance from the table.", show_default=False
        ),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="D",
            help="Largest share of rows that may be suppressed, or the word ask: how many must be?",
            show_default=False,
        ),
    ] = None,
    at_least: Annotated[
        bool, typer.Option("--at-least", help="K, L or T is a least level (default of k and l).")
    ] = False,
    at_most: Annotated[
        bool, typer.Option("--at-most", help="K, L or T is a largest level (default of t).")
    ] = False,
    question: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Name one of the twelve questions; what is given must fit.",
            show_default=False,
        ),
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,…",
            help="Columns whose values must not be learnt, for l and t.",
            show_default=False,
        ),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Of l: distinct (default), frequency, entropy, recursive. Of t: equal (default), "
            "ordered, tree, js. Without a level: asks for it.",
            show_default=False,
        ),
    ] = None,
    c: Annotated[
        float | None,
        typer.Option("--c", metavar="C", help="Of recursive; default 3.", show_default=False),
    ] = None,
    hierarchy: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Of tree: a YAML or ARX CSV file, or a name such as adult/occupation.",
            show_default=False,
        ),
    ] = None,
    max_size: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Look at sets of at most N columns only.", show_default=False
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(help="What separates the fields of a CSV file.", show_default=False),
    ] = None,
    list_rows: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --subset: write the numbers of the rows that are in the way (CSV).",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw the answer: .png, .svg or .pdf.", show_default=False
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the files of --list-rows and --plot.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON, with all sets.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all sets, however many there are.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
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

    A missing value counts as a value of its own; no row is dropped. Exit code 1 means that the
    answer is no.
    """  # noqa: D301 (the backspace keeps the lines of the table apart)
    model, level = _model(k, ell, t, rule, c, hierarchy)
    named = _names("--subset", subset)
    _check_files(list_rows, plot, named)
    examined = examine(
        file,
        _names("--columns", columns),
        _names("--sensitive", sensitive) or (),
        named or (),
        delimiter,
    )
    targets = [path for path in (list_rows, plot) if path is not None]
    with _beside(targets, examined.files, force=force) as beside:
        with _progress(quiet=quiet) as progress:
            answer = examined.diagnosis.ask(
                subset=named,
                level=level,
                delta=_share(delta),
                form=_form(at_least=at_least, at_most=at_most),
                model=model,
                question=question,
                largest=max_size,
                progress=progress,
            )
        lines = []
        if beside is not None:
            if list_rows is not None:
                lines.append(_list_rows(examined.diagnosis, answer, beside[list_rows], list_rows))
            if plot is not None:
                lines.append(_plot(answer, beside[plot], plot))
            beside.move()
    if as_json:
        typer.echo(_json_text(examined, answer))
    else:
        from moanon.cli.diagnosis_showing import show_answer

        show_answer(examined.diagnosis, answer, examined.notes, everything=everything)
    for line in lines:
        typer.echo(f" {on_one_line(line)}", err=as_json)
    if not answer.yes:
        raise typer.Exit(NO)


# -- what was asked --------------------------------------------------------------------------------


def _names(option: str, given: Sequence[str] | None) -> tuple[str, ...] | None:
    """Split lists of names at commas; a name with a comma goes in double quotes."""
    if given is None:
        return None
    from moanon.errors import QuestionError

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
) -> tuple[Model, float | None]:
    """Find out what is asked about, and the level if there is one."""
    from moanon.data.column import did_you_mean
    from moanon.diagnosis import RULES, Measure, Model
    from moanon.errors import QuestionError

    levels: dict[Measure, float | None] = {"k": k, "l": ell, "t": t}
    given = [name for name, level in levels.items() if level is not None]
    if len(given) > 1:
        raise QuestionError(
            f"one of k, l and t can be asked about at a time. Got {' and '.join(given)}"
        )
    if rule is not None and rule not in RULES:
        known = ", ".join(RULES)
        raise QuestionError(f"rule must be one of {known}. Got {rule!r}{did_you_mean(rule, RULES)}")
    owner = RULES[rule][0] if rule else None
    measure = given[0] if given else owner or "k"
    if owner is not None and owner != measure:
        raise QuestionError(
            f"the rule {rule} is one of {owner}, and the question is about {measure}"
        )
    if rule is None:
        rule = {"k": "", "l": "distinct", "t": "equal"}[measure]
    if c is not None and rule != "recursive":
        raise QuestionError("--c goes with --rule recursive only")
    if (hierarchy is not None) != (rule == "tree"):
        raise QuestionError("--rule tree and --hierarchy go together")
    tree = None if hierarchy is None else _hierarchy(hierarchy)
    return Model(measure, rule, 3.0 if c is None else c, tree), levels[measure]


def _hierarchy(name: str) -> Hierarchy:
    from moanon import datasets
    from moanon.data.hierarchy import Hierarchy

    embedded = name in datasets.hierarchy_names()
    return Hierarchy.read(datasets.hierarchy_path(name) if embedded else name)


def _share(delta: str | None) -> float | Literal["ask"] | None:
    from moanon.errors import QuestionError

    if delta is None or delta == "ask":
        return "ask" if delta else None
    try:
        return float(delta)
    except ValueError:
        raise QuestionError(
            f"delta must be a share in [0, 1), or the word ask. Got {delta!r}"
        ) from None


def _form(*, at_least: bool, at_most: bool) -> Form | None:
    from moanon.errors import QuestionError

    if at_least and at_most:
        raise QuestionError("--at-least and --at-most contradict each other")
    return "at least" if at_least else "at most" if at_most else None


# -- files -----------------------------------------------------------------------------------------


def _check_files(list_rows: Path | None, plot: Path | None, subset: tuple[str, ...] | None) -> None:
    """Refuse what could not be written, before anything is read."""
    from moanon.errors import OutputError, QuestionError

    if list_rows is not None and subset is None:
        raise QuestionError("--list-rows needs --subset: rows are in the way on one set of columns")
    if plot is not None:
        endings = (".png", ".svg", ".pdf")
        if plot.suffix.lower() not in endings:
            raise OutputError(f"--plot writes {', '.join(endings)}. Got {plot}")
        if list_rows == plot:
            raise OutputError(f"--list-rows and --plot name the same file, {plot}")


@contextmanager
def _beside(
    targets: Sequence[Path], inputs: Sequence[Path], *, force: bool
) -> Iterator[Beside | None]:
    """Claim the files to be written, before a long search; None where there are none."""
    from moanon.atomic import Beside
    from moanon.errors import OutputError

    for target in targets:
        if target.resolve() in inputs:
            raise OutputError(f"{target} is what was read; it is not replaced")
    if not targets:
        yield None
        return
    with Beside(*targets, force=force) as beside:
        yield beside


def _list_rows(diagnosis: Diagnosis, answer: Answer, place: Path, name: Path) -> str:
    """Write the numbers of the rows that must go, with their levels but none of their values."""
    from moanon.diagnosis import SubsetAnswer
    from moanon.errors import QuestionError

    assert isinstance(answer, SubsetAnswer)
    asked = answer.asked
    if asked.level is None and asked.delta is None:
        raise QuestionError("--list-rows needs a level to be reached, or --delta")
    if not asked.is_protective:
        raise QuestionError(
            f"--list-rows lists what must go to be safer; it has no place with {asked.form}"
        )
    assert asked.subset is not None
    wanted = answer.level if asked.level is None else asked.level
    rows = diagnosis.rows_in_the_way(asked.subset, wanted, asked.model)
    levels = diagnosis.row_levels(asked.subset, asked.model)[rows]
    with place.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(
            ["row", "group_size" if asked.model.measure == "k" else asked.model.measure]
        )
        writer.writerows(zip((rows + 1).tolist(), levels.tolist(), strict=True))
    return f"Wrote {name}: {len(rows):,} row numbers; 1 is the first row of the table"


def _plot(answer: Answer, place: Path, name: Path) -> str:
    from moanon.output.diagnosis_figures import draw_answer

    draw_answer(answer, place, name.suffix.lower().removeprefix("."))
    return f"Wrote {name}"


def _json_text(examined: Examined, answer: Answer) -> str:
    diagnosis, asked = examined.diagnosis, answer.asked
    effort = answer.effort
    found: dict[str, Any] = {
        **asked.to_dict(),
        "answer": answer.to_dict(),
        "effort": {"sets": effort.sets, "grouped": effort.grouped, "avoided": effort.avoided},
        "source": diagnosis.source,
        "missing": dict(diagnosis.missing),
        "notes": list(examined.notes),
    }
    if asked.subset is not None:
        found["risk"] = diagnosis.risk(asked.subset).to_dict()
        found["profile"] = diagnosis.profile(asked.subset, c=asked.model.c)
        found["additions"] = [
            {
                "column": step.column,
                "before": step.before,
                "after": step.after,
                "alone": None if step.alone is None else list(step.alone),
            }
            for step in diagnosis.additions(
                asked.subset, delta=asked.delta or 0.0, model=asked.model
            )
        ]
    return json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)


# -- progress --------------------------------------------------------------------------------------


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Progress | None]:
    """Show how many sets are settled: a bar in a terminal, a line every few seconds elsewhere."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        due = time.monotonic() + _LINE_EVERY

        def line(settled: int, sets: int) -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + _LINE_EVERY
                typer.echo(f"{settled:,} of {sets:,} sets of columns settled", err=True)

        yield line


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("sets of columns"),
        BarColumn(),
        TextColumn("{task.fields[shown]}"),
        TimeRemainingColumn(),
    )
    # Refreshed by hand: a thread that does it would compete with the search.
    screen = Console(file=sys.stderr)
    with Bars(*columns, console=screen, auto_refresh=False, transient=True) as bars:
        task = bars.add_task("", total=None, shown="")
        due = 0.0

        def show(settled: int, sets: int) -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + _REFRESH
                bars.update(task, total=sets, completed=settled, shown=f"{settled:,} of {sets:,}")
                bars.refresh()

        yield show
