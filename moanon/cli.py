"""The command ``moanon``: parse, call, print. Nothing else in the package prints or exits.

Each command is a small function that calls the library and shows the answer on stdout. Errors go to
stderr as one sentence. Exit codes: 0 done, 1 the answer is no, 2 bad input, 130 interrupted.

Whatever is slow to import is imported inside the command that needs it, so that ``moanon --help``
answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moanon import __version__
from moanon.errors import MoanonError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

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


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    An unexpected exception is a defect and keeps its traceback.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a sign still gets the rest
            stream.reconfigure(errors="replace")
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    try:
        code = app(arguments, prog_name="moanon", standalone_mode=False)
        sys.stdout.flush()
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
    return code if isinstance(code, int) else _DONE


def _refuse(sentence: str) -> int:
    typer.echo(f"moanon: {_on_one_line(sentence)}", err=True)
    return _BAD_INPUT


def _silence(stream: Any) -> None:
    """Point a closed stream to nowhere, so that flushing it at exit says nothing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"moanon {__version__}")
        raise typer.Exit


@app.callback(epilog="Start with: moanon check configs/quickstart.yaml")
def _options(
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
    exposed the people in the table would be without anonymization.
    """
    from moanon.config import Config

    instance = Config.load(config, sets or ()).instance()
    _console().print(_columns_grid(instance))
    for fact, value in _facts(instance).items():
        typer.echo(f" {fact:<21}{value}")


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
    table, counts = instance.table, instance.cells.counts
    unique = int((counts == 1).sum())
    facts = {
        "rows": f"{table.rows_in:,} read, {table.rows_dropped:,} dropped for missing values",
        "distinct cells": f"{len(counts):,}",
        "valid genomes": f"{_large(instance.layout.count())} ({instance.layout.bits:,} bits)",
        "k of the base table": f"{counts.min():,}",
        "unique rows": f"{unique:,} ({unique / table.rows:.1%})",
    }
    if table.undeclared:
        names = ", ".join(map(_on_one_line, table.undeclared))
        facts["undeclared columns"] = f"{names} (dropped on release)"
    return facts


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
