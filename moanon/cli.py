"""The command ``moanon``: parse, call, print. Nothing else in the package prints or exits.

Each command is a small function that calls the library and shows the answer on stdout. Errors go to
stderr as one sentence. Exit codes: 0 done, 1 the answer is no, 2 bad input, 130 and 143
interrupted (by Ctrl-C, by SIGTERM).

Whatever is slow to import is imported inside the command that needs it, so that ``moanon --help``
answers at once.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from moanon import __version__
from moanon.errors import MoanonError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console
    from rich.table import Table as Grid

    from moanon.bench import Case, Timing
    from moanon.config import Config
    from moanon.experiment import Experiment
    from moanon.front import Front
    from moanon.genome import Instance

__all__ = ["app", "main"]

_DONE, _BAD_INPUT, _INTERRUPTED, _PIPE_CLOSED = 0, 2, 130, 141

app = typer.Typer(
    name="moanon",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: fast, and the same in a pipe
    context_settings={"help_option_names": ["-h", "--help"]},
)

#: What typer raises for a wrong command line. Older versions of typer have it from click, newer
#: ones bring their own; it is an ancestor of this one in both.
_UsageError: Any = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)

ConfigArgument = Annotated[
    Path, typer.Argument(metavar="CONFIG", help="A configuration (YAML).", show_default=False)
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Replace a value of the configuration, e.g. problem.eta=0.2; may be repeated.",
        show_default=False,
    ),
]

#: ARX's hierarchies of Adult, where a copy lies beside the checkout.
_ARX = Path("../shared/arx")


class BenchCase(StrEnum):
    """What can be timed."""

    ADULT = "adult"
    LATTICE = "lattice"
    SYNTHETIC = "synthetic"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    An unexpected exception is a defect and keeps its traceback.
    """
    # A stream that the shell closed is None, and a file opened later would take its place.
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a sign still gets the rest
            stream.reconfigure(errors="replace")
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    code = _answer(arguments)
    try:  # here, because at the end of the interpreter nobody could put it in a sentence
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
        return _PIPE_CLOSED
    except OSError as error:
        return _refuse_output(error)
    return code


def _answer(arguments: list[str]) -> int:
    try:
        code = app(arguments, prog_name="moanon", standalone_mode=False)
    except MoanonError as error:
        return _refuse(str(error))
    except _UsageError as error:
        command = error.ctx.command_path if getattr(error, "ctx", None) else "moanon"
        return _refuse(f"{error.format_message().rstrip('.')} (see {command} --help)")
    except (KeyboardInterrupt, typer.Abort):
        return _INTERRUPTED
    except (BrokenPipeError, SystemExit):  # rich and typer turn a closed pipe into an exit
        _silence(sys.stdout)
        return _PIPE_CLOSED
    except OSError as error:
        if error.filename is not None:  # about a file that somebody should have seen to
            raise
        return _refuse_output(error)
    return code if isinstance(code, int) else _DONE


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _refuse(sentence: str) -> int:
    try:
        typer.echo(f"moanon: {_on_one_line(sentence)}", err=True)
    except OSError:  # the exit code is all that is left to answer with
        _silence(sys.stderr)
    return _BAD_INPUT


def _refuse_output(error: OSError) -> int:
    """Say that what was to be shown cannot be: a full disk, a terminal that is gone."""
    _silence(sys.stdout)
    return _refuse(f"the output cannot be written: {error.strerror or error}")


def _silence(stream: Any) -> None:
    """Point a closed stream to nowhere, so that flushing it at exit says nothing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"moanon {__version__}")
        raise typer.Exit


@app.callback(epilog="Start with: moanon run configs/quickstart.yaml")
def _about(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Anonymize a table about people: the whole trade-off between privacy and loss."""


@app.command(epilog="Example: moanon check configs/quickstart.yaml --set data.missing=category")
def check(config: ConfigArgument, sets: SetOption = None) -> None:
    """Check a configuration and its table.

    Reads the configuration, the data and the hierarchies, and shows what the columns are and how
    exposed the people in the table are: k is the number of rows in the smallest group that shares
    all quasi-identifiers. The raw table has the values as they were read; the base table has them
    rounded as the configuration says (granularity), which is the finest that a release can show.
    """
    from moanon.config import Config

    checked = Config.load(config, sets or ())
    instance = checked.instance()
    _console().print(_columns_grid(instance))
    for fact, value in _facts(instance).items():
        typer.echo(f" {fact:<21}{value}")
    for note in _notes(checked):
        typer.echo(f" note: {note}")


@app.command(epilog="Example: moanon run configs/quickstart.yaml --seed 7 --out results/seven")
def run(
    configs: Annotated[
        list[Path],
        typer.Argument(metavar="CONFIG...", help="Configurations (YAML).", show_default=False),
    ],
    etas: Annotated[
        list[float] | None,
        typer.Option(
            "--eta",
            metavar="E",
            help="Largest share of rows that may be suppressed, instead of problem.eta; may be "
            "repeated: one run for each.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="Instead of search.seed.", show_default=False),
    ] = None,
    sets: SetOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where results go, instead of output.dir; with several configurations, in a "
            "folder of each one's name there.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a run was interrupted or killed.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the run that the folder holds.")
    ] = False,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Default: one for each processor.", show_default=False
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Search for the front between privacy and loss, and write it to a folder.

    The same configuration and seed give the same front, whatever the number of threads and however
    often the run was interrupted. Ctrl-C ends it after the current generation; --resume goes on.
    """
    from moanon.experiment import Experiment, plan

    for config in plan(configs, sets or (), etas=etas or (), seed=seed, out=out):
        experiment = Experiment.prepare(
            config, resume=resume, force=force, threads=threads or os.cpu_count() or 1
        )
        if not quiet:
            for note in experiment.notes:
                typer.echo(f"note: {_on_one_line(note)}", err=True)
        code = _run(experiment, quiet=quiet)
        if code != _DONE:
            again = [*configs, *_options("--eta", etas), *_options("--seed", [seed])]
            again += [*_options("--set", sets), *_options("--out", [out])]
            again += [*_options("--threads", [threads]), "--resume"]
            typer.echo(f"To go on: moanon run {shlex.join(map(str, again))}", err=True)
            raise typer.Exit(code)


def _options(name: str, values: Iterable[object] | None) -> Iterator[object]:
    """Write an option as on a command line, once for each value that was given."""
    for value in values or ():
        if value is not None:
            yield from (name, value)


def _run(experiment: Experiment, *, quiet: bool) -> int:
    """Run an experiment, show its progress and what came of it; return the exit code."""
    from moanon.interruption import Interruption
    from moanon.progress import duration, show_progress

    folder = _on_one_line(str(experiment.folder))
    if experiment.finished:
        if not quiet:
            typer.echo(f" {folder} is finished already")
            _show_front(experiment.load_front())
        return _DONE
    with Interruption() as interrupted, show_progress(experiment.config.name, quiet=quiet) as show:
        result = experiment.run(show, interrupted)
    outcome = result.outcome
    if result.front is None:
        typer.echo(
            f"Interrupted after generation {outcome.generation:,} "
            f"({outcome.evaluations:,} evaluations); saved in {folder}.",
            err=True,
        )
        return 128 + interrupted.signal
    if not quiet:
        typer.echo(
            f" {experiment.config.name}: {outcome.evaluations:,} evaluations in "
            f"{duration(outcome.seconds)} by {experiment.algorithm}; stopped because {outcome.why}"
        )
        _show_front(result.front)
        typer.echo(f" Wrote {folder}: front.csv, solutions.json, config.yaml, run.json")
    return _DONE


@app.command(epilog="Example: moanon init patients.csv --out configs/patients.yaml")
def init(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A CSV or Parquet file, a folder or a quoted glob."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write; by default beside FILE, with its name and .yaml. Never replaced.",
            show_default=False,
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(help="What separates the fields of a CSV file.", show_default=False),
    ] = None,
) -> None:
    """Write a first configuration for a table.

    Looks at every column, guesses its role and the domain of its values, and explains each guess
    in a comment. The result passes moanon check, but the roles are for you to decide.
    """
    from moanon.starter import write_starter

    starter = write_starter(file, out, delimiter)
    roles = ", ".join(f"{number} {role}" for role, number in sorted(starter.roles.items()))
    path = _on_one_line(str(starter.path))
    typer.echo(
        f"Wrote {path} with guessed roles: {roles}. Go through it, then: moanon check {path}"
    )


@app.command(epilog="Example: moanon schema > moanon.schema.json")
def schema() -> None:
    """Print the JSON schema of configurations.

    An editor that knows it completes and checks the keys of a configuration.
    """
    import json

    from moanon.config import config_schema

    typer.echo(json.dumps(config_schema(), indent=2, ensure_ascii=False))


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
    typer.echo(f" Wrote {_on_one_line(str(out))}")


def _bench_cases(kinds: Iterable[BenchCase], hierarchies: Path | None) -> Iterator[Case]:
    from moanon.bench import adult_cases, lattice_case, synthetic_cases

    wanted = set(kinds)
    if BenchCase.ADULT in wanted:
        yield from adult_cases()
    if BenchCase.LATTICE in wanted:
        yield lattice_case(hierarchies or (_ARX if _ARX.is_dir() else None))
    if BenchCase.SYNTHETIC in wanted:
        yield from synthetic_cases()


def _quick_cases() -> list[Case]:
    from moanon.bench import adult_cases

    return adult_cases(rounds=2, population=5)


# -- showing -------------------------------------------------------------------------------------


def _console() -> Console:
    """Console for stdout; in a pipe it is plain and as wide as need be, so that nothing is cut."""
    from rich.console import Console

    return Console(
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        width=None if sys.stdout.isatty() else 10_000,
        markup=False,  # a column may be called [red]
        emoji=False,
        highlight=False,
    )


def _columns_grid(instance: Instance) -> Grid:
    from rich import box
    from rich.table import Table as Grid

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in ("column", "role", "kind"):
        grid.add_column(header, overflow="fold")
    for header in ("base values", "bits", "distinct values"):
        grid.add_column(header, justify="right", overflow="fold")
    for name, role in instance.table.roles.items():
        column = instance.table.columns[name]
        distinct = f"{len(column.values):,}"
        if column.missing:
            distinct += f" and missing ({column.missing:,})"
        domain = instance.layout.domains.get(name)
        shape = (domain.kind, f"{domain.size:,}", f"{domain.size - 1:,}") if domain else ("",) * 3
        grid.add_row(_on_one_line(name), role.value, *shape, distinct)
    return grid


def _facts(instance: Instance) -> dict[str, str]:
    from moanon.data.cells import raw_group_sizes

    table, counts = instance.table, instance.cells.counts
    facts = {
        "rows": f"{table.rows_in:,} read, {table.rows_dropped:,} dropped for missing values",
        "distinct cells": f"{len(counts):,}",
        "valid genomes": f"{_large(instance.layout.count())} ({instance.layout.bits:,} bits)",
        "k of the raw table": f"{_exposure(raw_group_sizes(table))}, values as they were read",
        "k of the base table": f"{_exposure(counts)}, the finest a release can show",
    }
    if table.undeclared:
        names = ", ".join(map(_on_one_line, table.undeclared))
        facts["undeclared columns"] = f"{names} (dropped on release)"
    return facts


def _exposure(sizes: NDArray[np.int64]) -> str:
    """Tell the smallest group of a table, and how many rows are alone."""
    unique = int((sizes == 1).sum())
    return f"{sizes.min():,} (unique rows: {unique:,}, {unique / sizes.sum():.1%})"


def _notes(config: Config) -> Iterator[str]:
    """What a configuration leaves open that its author may not have meant to."""
    from_data = [
        _on_one_line(name)
        for name, column in config.columns.items()
        if column.kind == "interval" and column.range is None
    ]
    if from_data:
        yield (
            f"the range of {', '.join(from_data)} was taken from the data, so a released label can "
            "show the smallest or largest value even of a suppressed row; declare range: to avoid "
            "that"
        )


def _show_front(front: Front) -> None:
    """Show how many solutions there are, and from where to where they go."""
    from moanon.measures.registry import find_measure

    thinned = f", thinned evenly from {front.found:,}" if front.found > len(front) else ""
    typer.echo(f" {'solutions':<21}{len(front):,}{thinned}")
    for name in dict.fromkeys((*front.objectives, "k", "loss")):
        column, unit = front.measures[name], find_measure(name).unit
        typer.echo(f" {name:<21}{_range(float(column.min()), float(column.max()), unit)}")


def _range(least: float, most: float, unit: str) -> str:
    if unit.startswith("share"):
        return f"{least:.1%} to {most:.1%}"
    digits = 0 if least == int(least) and most == int(most) else 1
    return f"{least:,.{digits}f} to {most:,.{digits}f}"


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
    console, shown = _console(), []
    try:
        # Refreshed by hand: a thread that does it would be timed along with what is timed.
        with Live(grid, console=console, auto_refresh=False, transient=True) as live:
            for timing in measure(case, repeat=repeat):
                micros = (f"{timing.micros:,.1f}", f"{timing.wall_micros:,.1f}")
                grid.add_row(timing.way, str(timing.threads), *micros, _times(timing.ratio))
                shown.append(timing)
                live.refresh()
    finally:  # for good, in a pipe too, and what there is of it after Ctrl-C
        console.print(grid)
    return shown


def _times(ratio: float) -> str:
    """Write a ratio with about three digits: ×0.71, ×22.8, ×228."""
    return f"×{ratio:,.{0 if ratio >= 100 else 1 if ratio >= 10 else 2}f}"


def _large(number: int) -> str:
    """Write a count so that it can be read: 8,192 or 2.3 x 10^21."""
    import math

    if number < 1_000_000:
        return f"{number:,}"
    exponent = math.floor(math.log10(number))
    digits = f"{10 ** (math.log10(number) - exponent):.1f}"
    return f"1.0 x 10^{exponent + 1}" if digits == "10.0" else f"{digits} x 10^{exponent}"


def _on_one_line(text: str) -> str:
    """Escape what would break the line or steer the terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
