"""``moanon ask``: which solution to take, and what is worth knowing beside it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moanon.cli.application import DONE, NO, app, flag, given, note, on_one_line, print_json, show
from moanon.cli.options import ResultsArgument, named_number, share

if TYPE_CHECKING:
    from moanon.front import Answer, Choice, Front, Limit, Question

#: The ``run.json`` of each folder that is asked.
_Records = Mapping[Path, Mapping[str, Any]]


@app.command(epilog="Example: moanon ask results/quickstart --max-loss 25% --max-suppression 5%")
def ask(
    results: ResultsArgument,
    max_loss: Annotated[
        float | None,
        given("X", "Largest loss that is tolerable, such as 25% or 0.25.", parser=share),
    ] = None,
    max_suppression: Annotated[
        float | None,
        given("X", "Largest share of the rows that may be left out.", parser=share),
    ] = None,
    min_k: Annotated[int | None, given("K", "Rows in the smallest group.", min=1)] = None,
    min_l: Annotated[int | None, given("L", "Diversity of the least diverse group.", min=1)] = None,
    prefer: Annotated[
        list[str] | None,
        given(
            "MEASURE",
            "What to make best, such as k, l or loss; may be repeated, the most wanted first. By "
            "default privacy if loss is limited, loss if only privacy is.",
        ),
    ] = None,
    at_most: Annotated[
        list[str] | None,
        given(
            "MEASURE=X",
            "Limit on any column of front.csv, such as gl=30% or t_closeness=0.2; may be repeated.",
        ),
    ] = None,
    at_least: Annotated[
        list[str] | None,
        given("MEASURE=X", "The same from below, such as l_entropy=3."),
    ] = None,
    show: Annotated[
        bool,
        flag("--show", "Also show what the answer does to each column: its labels and their rows."),
    ] = False,
    as_json: Annotated[bool, flag("--json", "Answer in JSON.")] = False,
) -> None:
    """Ask which solution to take.

    Finds the most privacy for a tolerable loss, or the least loss for a needed privacy, and shows
    what lies close by: what a slightly larger loss would buy, and what costs nothing more. A run
    that minimized another cost than loss is asked for that one. Without any option it shows how
    much privacy each loss buys. Exits with 1 if no solution is within the limits, after showing
    what it would take. RESULTS may hold runs for several suppression limits (eta-...); they are
    compared.
    """
    from moanon.front import Front, Question, answer, best_of
    from moanon.front.results import find_fronts, read_record

    question = Question.of(
        max_loss=max_loss,
        max_suppression=max_suppression,
        min_k=min_k,
        min_l=min_l,
        at_most=dict(named_number(text, "--at-most") for text in at_most or ()),
        at_least=dict(named_number(text, "--at-least") for text in at_least or ()),
        prefer=prefer or (),
    )
    records = {folder: read_record(folder) for folder in find_fronts(results)}
    fronts = {folder: Front.of_record(folder, record) for folder, record in records.items()}
    if dropped := _dropped(records):
        note(dropped)
    if question.is_open:
        _show_ladders(fronts, question, as_json=as_json)
    answers = [answer(question, front) for front in fronts.values()]
    best = best_of(answers)
    if as_json:
        _show_json(records, answers, best)
    else:
        _show(records, answers, best, columns=show)
    raise typer.Exit(DONE if best is not None else NO)


def _dropped(records: _Records) -> str:
    """Say how many rows the run has dropped; the limits of one run have the same table."""
    from moanon.data.table import dropped_note

    data = next(iter(records.values())).get("data", {})
    dropped, rows_in = data.get("rows_dropped"), data.get("rows_in")
    known = isinstance(dropped, int) and isinstance(rows_in, int)  # not of a front from Python
    return dropped_note(dropped, rows_in) if known else ""


# -- for people ----------------------------------------------------------------------------------


def _show(records: _Records, answers: Sequence[Answer], best: int | None, *, columns: bool) -> None:
    """Show the best answer; where there is none, what each of them would take."""
    from moanon.front.asking import answers_grid

    folders = list(records)
    if len(folders) > 1:
        show([answers_grid([folder.name for folder in folders], answers, best)])
    for place in range(len(folders)) if best is None else [best]:
        if best is None and len(folders) > 1:
            show([str(folders[place])])
        show(answers[place].parts(where=f" of {folders[place]}"))
    if best is None or (choice := answers[best].headline) is None:
        return
    if columns:
        _show_columns(folders[best], records[folders[best]], choice)
    record, miss = records[folders[best]], answers[best].miss
    if miss is not None and (more := _another_limit(folders[best], record, answers[best])):
        typer.echo(f" Next: {more} (adds that limit), then ask again")
    else:
        in_python = (
            f'front.release({choice.id}).write("release.csv") in Python, where the front was saved '
            "from; moanon export needs a config.yaml, which only moanon run writes"
        )
        typer.echo(f" Next: {_export(folders[best], record, choice) or in_python}")


def _show_columns(folder: Path, record: Mapping[str, Any], choice: Choice) -> None:
    """Show what a solution does to each column; without rows where the table cannot be had."""
    from moanon.experiment.finished import read_run
    from moanon.measures.column_effects import column_effects, effects_grid, labels_grid

    run = read_run(folder, record)
    if run.front.instance is None:
        note(f"the rows of each label are not shown: {run.without_table}")
        show([labels_grid(run.front.labels[run.front.row(choice.id)])])
    else:
        show([effects_grid(column_effects(run.front.grouping(choice.id)))])


def _show_ladders(fronts: dict[Path, Front], question: Question, *, as_json: bool) -> None:
    """Show what each loss buys, since the question does not say how much is tolerable."""
    from moanon.front import ladder
    from moanon.front.asking import ladder_parts

    ladders = {path: ladder(question, front) for path, front in fronts.items()}
    code = DONE if any(ladders.values()) else NO
    if as_json:
        found: list[dict[str, object]] = []
        for path, rungs in ladders.items():
            steps = [{_key(limit): limit.bound, **choice.to_dict()} for limit, choice in rungs]
            found.append({"results": str(path), "ladder": steps})
        print_json(found if len(found) > 1 else found[0])
    elif code == NO:
        show([f"No solution has {' and '.join(map(str, question.limits))}."])
    else:
        for path, front in fronts.items():
            show(ladder_parts(str(path), question, front))
        show([f"Ask more closely with {', '.join(_ways_to_ask(fronts.values()))}."])
    raise typer.Exit(code)


def _key(limit: Limit) -> str:
    """What JSON calls a limit of the ladder: ``max_loss``."""
    return f"{'max' if limit.side == 'at most' else 'min'}_{limit.measure}"


def _ways_to_ask(fronts: Iterable[Front]) -> list[str]:
    """The options that suit what was searched for, each objective on its better side."""
    from moanon.measures import find_measure

    fronts = list(fronts)
    ways = ["--max-loss", "--max-suppression", "--min-k"]
    if any("l" in front.measures for front in fronts):
        ways.append("--min-l")
    for name in dict.fromkeys(name for front in fronts for name in front.objectives):
        measure = find_measure(name)
        if name not in ("k", "l", "loss", "sl") and not measure.of_rule:
            ways.append(f"--at-{'least' if measure.direction == 'max' else 'most'} {name}=X")
    return ways


# -- for programs --------------------------------------------------------------------------------


def _show_json(records: _Records, answers: Sequence[Answer], best: int | None) -> None:
    found, folders = [], list(records)
    for folder, answer in zip(folders, answers, strict=True):
        choice = answer.choice
        command = None if choice is None else _export(folder, records[folder], choice)
        found.append({"results": str(folder), **answer.to_dict(), "export": command})
    several = {"best": None if best is None else str(folders[best]), "answers": found}
    print_json(several if len(found) > 1 else found[0])


def _export(folder: Path, record: Mapping[str, Any], choice: Choice) -> str | None:
    """The command that makes the release; None where there is none."""
    from moanon.front.results import has_config

    if not has_config(record):
        return None
    return f"moanon export {on_one_line(shlex.quote(str(folder)))} {choice.id} --out release.csv"


def _another_limit(folder: Path, record: Mapping[str, Any], answer: Answer) -> str | None:
    """The command that searches within the suppression that was asked for; None without one."""
    from moanon.front.results import has_config

    asked = [limit for limit in answer.question.limits if limit.measure == "sl"]
    if not asked or not has_config(record):
        return None
    above = folder.parent if folder.name.startswith("eta-") else folder
    config = on_one_line(shlex.quote(str(above / "config.yaml")))
    return f"moanon run {config} --eta {asked[0].bound:g}"
