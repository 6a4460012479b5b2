"""``moanon diagnose``: how exposed a table is, before anything is generalized."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from moanon.cli.application import (
    NO,
    app,
    argument,
    flag,
    given,
    grouped,
    on_one_line,
    print_json,
    show,
)
from moanon.cli.options import CsvDelimiterOption, number_in
from moanon.errors import ConfigError, OutputError

if TYPE_CHECKING:
    from moanon.diagnosis import Diagnosis, DiagnosisAnswer, Form, PrivacyModel


@dataclass(frozen=True)
class _Asked:
    """What is asked; what is left out is asked for."""

    subset: Annotated[
        list[str] | None,
        given("A,B,…", "Ask about this set of columns; left out, all sets are looked at."),
    ] = None
    k: Annotated[int | None, given("K", "Rows in the smallest group.", "--k")] = None
    ell: Annotated[float | None, given("L", "Instead of k: diversity of a group.", "--l")] = None
    t: Annotated[float | None, given("T", "Instead of k: distance from the table.", "--t")] = None
    delta: Annotated[
        str | None,
        given(
            "D", "Largest share of rows that may be suppressed, or the word ask: how many must be?"
        ),
    ] = None
    at_least: Annotated[
        bool, flag("--at-least", "K, L or T is a least level (default of k and l).")
    ] = False
    at_most: Annotated[bool, flag("--at-most", "K, L or T is a largest level (default of t).")] = (
        False
    )
    question: Annotated[
        int | None, given("N", "Name one of the twelve questions; what is given must fit.")
    ] = None
    rule: Annotated[
        str | None,
        given(
            "RULE",
            "Of l: distinct (default), frequency, entropy, recursive. Of t: equal (default), "
            "ordered, tree, js. Without a level: asks for it.",
        ),
    ] = None
    c: Annotated[float | None, given("C", "Of recursive; default 3.", "--c")] = None
    hierarchy: Annotated[
        str | None,
        given("FILE", "Of tree: a YAML or ARX CSV file, or a name such as adult/occupation."),
    ] = None
    max_size: Annotated[int | None, given("N", "Look at sets of at most N columns only.")] = None

    def model(self) -> tuple[PrivacyModel, float | None]:
        """What is asked about, and the level if there is one."""
        from moanon import datasets
        from moanon.data.hierarchy import Hierarchy
        from moanon.diagnosis import Letter, PrivacyModel, choose_rule

        levels: dict[Letter, float | None] = {"k": self.k, "l": self.ell, "t": self.t}
        named = [name for name, level in levels.items() if level is not None]
        if len(named) > 1:
            raise ConfigError(
                f"one of k, l and t can be asked about at a time. Got {' and '.join(named)}"
            )
        letter, rule = choose_rule(named[0] if named else None, self.rule)
        if self.c is not None and rule != "recursive":
            raise ConfigError("--c goes with --rule recursive only")
        if (self.hierarchy is not None) != (rule == "tree"):
            raise ConfigError("--rule tree and --hierarchy go together")
        tree = None
        if self.hierarchy is not None:
            embedded = self.hierarchy in datasets.hierarchy_names()
            file = datasets.hierarchy_path(self.hierarchy) if embedded else self.hierarchy
            tree = Hierarchy.read(file)
        constant = PrivacyModel.c if self.c is None else self.c
        return PrivacyModel(letter, rule, constant, tree), levels[letter]

    def share(self) -> float | Literal["ask"] | None:
        """The share that may be suppressed, or that it is asked for."""
        if self.delta is None or self.delta == "ask":
            return "ask" if self.delta else None
        share = number_in(self.delta)
        if share is None:
            raise ConfigError(
                f"delta must be a share in [0, 1), or the word ask. Got {self.delta!r}"
            )
        return share

    def form(self) -> Form | None:
        """How the level is meant."""
        if self.at_least and self.at_most:
            raise ConfigError("--at-least and --at-most contradict each other")
        return "at least" if self.at_least else "at most" if self.at_most else None


@dataclass(frozen=True)
class _Files:
    """What is written besides."""

    list_rows: Annotated[
        Path | None,
        given("FILE", "With --subset: write the numbers of the rows that the answer counts (CSV)."),
    ] = None
    plot: Annotated[Path | None, given("FILE", "Draw the answer: .png, .svg or .pdf.")] = None
    force: Annotated[bool, flag("--force", "Replace the files of --list-rows and --plot.")] = False

    def check(self, subset: tuple[str, ...] | None) -> None:
        """Refuse what could not be written, before anything is read."""
        if self.list_rows is not None and subset is None:
            raise ConfigError(
                "--list-rows needs --subset: rows are in the way on one set of columns"
            )
        if self.plot is None:
            return
        endings = (".png", ".svg", ".pdf")
        if self.plot.suffix.lower() not in endings:
            raise OutputError(f"--plot writes {', '.join(endings)}. Got {self.plot}")
        if self.list_rows == self.plot:
            raise OutputError(f"--list-rows and --plot name the same file, {self.plot}")

    @contextmanager
    def staged(self, inputs: Sequence[Path]) -> Iterator[dict[Path, Path]]:
        """Claim the files to be written, before a long search, and say where to write each."""
        targets = [target for target in (self.list_rows, self.plot) if target is not None]
        if not targets:
            yield {}
            return
        from moanon.atomic import StagedFiles

        with StagedFiles(*targets, force=self.force, spared=inputs) as staged:
            yield {target: staged[target] for target in targets}
            staged.move()


@app.command(
    epilog="Example: moanon diagnose adult --columns age,race,sex,native-country --k 5 --delta 0.01"
)
@grouped
def diagnose(
    file: Annotated[
        str,
        argument(
            "FILE",
            "A CSV or Parquet file, a folder, a quoted glob, a configuration (YAML), or the name "
            "of an embedded table.",
        ),
    ],
    columns: Annotated[
        list[str] | None,
        given(
            "A,B,…",
            "The columns that others may know; may be repeated. Default: all that are not "
            "sensitive, or the quasi-identifiers of a configuration.",
        ),
    ] = None,
    sensitive: Annotated[
        list[str] | None, given("A,B,…", "Columns whose values must not be learnt, for l and t.")
    ] = None,
    delimiter: CsvDelimiterOption = None,
    *,
    asked: _Asked,
    files: _Files,
    as_json: Annotated[bool, flag("--json", "Answer in JSON, with all sets.")] = False,
    everything: Annotated[bool, flag("--all", "Show all sets, however many there are.")] = False,
    quiet: Annotated[bool, flag("--quiet", "No progress on stderr.")] = False,
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
    from moanon.diagnosis import Diagnosis, Findings, look_over, usual_size
    from moanon.progress import on_part, show_progress

    model, level = asked.model()
    subset = _names("--subset", asked.subset)
    files.check(subset)
    diagnosis = Diagnosis.read(
        file,
        _names("--columns", columns),
        _names("--sensitive", sensitive) or (),
        also=subset or (),
        delimiter=delimiter,
    )
    # Where nothing is said, what matters comes first, and sets are not too many to go through.
    named = (columns, subset, level, asked.delta, asked.question)
    bare = all(each is None for each in named) and model.measure == "k"
    overview, largest = look_over(diagnosis) if bare else None, asked.max_size
    if bare and largest is None:
        largest = usual_size(len(diagnosis.columns))
    inputs = (*diagnosis.files, *([] if asked.hierarchy is None else [Path(asked.hierarchy)]))
    lines = []
    with files.staged(inputs) as staged:
        with show_progress("diagnose", quiet=quiet) as display:
            answer = diagnosis.ask(
                subset=subset,
                level=level,
                delta=asked.share(),
                form=asked.form(),
                model=model,
                question=asked.question,
                largest=largest,
                progress=on_part(None if display is None else display.step, "sets of columns"),
            )
        if (target := files.list_rows) is not None:
            lines.append(_list_rows(diagnosis, answer, staged[target], target))
        if (target := files.plot) is not None:
            from moanon.output.diagnosis_figures import draw_answer

            draw_answer(overview or answer, staged[target], target.suffix.lower().removeprefix("."))
            lines.append(f"Wrote {target}")
    findings = Findings(diagnosis, answer, overview)
    if as_json:
        print_json(findings.to_dict())
    else:
        show(findings, everything=everything)
    for line in lines:
        typer.echo(f" {on_one_line(line)}", err=as_json)
    if not answer.yes:
        raise typer.Exit(NO)


def _names(option: str, texts: Sequence[str] | None) -> tuple[str, ...] | None:
    """Split lists of names at commas; a name with a comma goes in double quotes."""
    if texts is None:
        return None
    names = [name for row in csv.reader(texts, skipinitialspace=True) for name in row]
    if not names or not all(names):
        raise ConfigError(f"{option} holds an empty name. Got {', '.join(texts)!r}")
    return tuple(names)


def _list_rows(diagnosis: Diagnosis, answer: DiagnosisAnswer, place: Path, name: Path) -> str:
    """Write the numbers of the rows that the answer counts, with their levels but no values."""
    from moanon.diagnosis import SubsetAnswer

    asked = answer.asked
    assert isinstance(answer, SubsetAnswer)
    assert asked.subset is not None
    if asked.level is None and asked.delta is None:
        raise ConfigError("--list-rows needs a level to be reached, or --delta")
    if asked.asks_delta and not asked.is_protective:
        form = asked.form.replace(" ", "-")
        raise ConfigError(
            f"--list-rows lists rows that go; with --{form} and --delta ask the answer is how many "
            "can, whichever they are"
        )
    rows, levels = diagnosis.rows_in_the_way(asked.subset, answer.listed_level, asked.model)
    with place.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        measure = asked.model.measure
        writer.writerow(["row", "group_size" if measure == "k" else measure])
        writer.writerows(zip((rows + 1).tolist(), levels.tolist(), strict=True))
    return f"Wrote {name}: {len(rows):,} row numbers; 1 is the first row of the table"
