"""The one printer: lays out what the library answers, and notes and refusals beside it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from moanon.wording import Grid, Part, Worded

if TYPE_CHECKING:
    from rich.console import Console

#: Parameters that sentences of the library write as in a call, and their options. A value in
#: quotes is one that somebody gave, and stays.
_OPTIONS = dict.fromkeys(("columns", "config", "data", "delimiter", "eta", "force", "key"))
_OPTIONS |= dict.fromkeys(("original", "out", "outside", "protocol", "quasi", "resume"))
_OPTIONS |= dict.fromkeys(("seed", "sensitive", "solutions", "stars"))
_OPTIONS |= {"everything": "all", "hierarchies": "hierarchy"}
_OPTIONS |= {"largest": "max-size", "sets": "set"}
_IN_A_CALL = re.compile(rf"(?<![\w.'\"])({'|'.join(_OPTIONS)})=(True|…|'\w+'|[\d.]*\d)")
#: How a note begins, in answers of the library, too.
_NOTE = "note: "
#: Longer lines of text are hard to follow.
_READABLE = 100


def show(
    answer: Worded | Iterable[Part], *, everything: bool = False, notes_aside: bool = False
) -> None:
    """Print an answer: a line for each sentence, a table for each grid; notes aside on stderr."""
    parts = answer.parts(everything=everything) if isinstance(answer, Worded) else answer
    for part in parts:
        if isinstance(part, Grid):
            _show_grid(part)
        elif notes_aside and part.startswith(_NOTE):
            note(part.removeprefix(_NOTE))
        else:
            typer.echo(f" {as_options(on_one_line(part))}".rstrip())


def _show_grid(grid: Grid) -> None:
    from rich import box
    from rich.table import Column, Table

    columns = (
        Column(
            on_one_line(header),
            justify="right" if place in grid.right else "left",
            overflow="fold",  # what is cut off could not be read
        )
        for place, header in enumerate(grid.headers)
    )
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in grid.rows:
        table.add_row(*map(on_one_line, row))
    _console().print(table)


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


def show_markdown(text: str) -> None:
    """Lay out Markdown in a terminal; in a pipe, print it as it is."""
    if not sys.stdout.isatty():
        typer.echo(text, nl=False)
        return
    from rich.markdown import Markdown

    console = _console()
    console.print(Markdown(text), width=min(console.width, _READABLE))


def print_json(answer: object) -> None:
    """Print what programs read."""
    import json

    typer.echo(json.dumps(answer, indent=2, ensure_ascii=False, allow_nan=False))


def note(text: str) -> None:
    """Say on stderr what the user should know besides the answer."""
    typer.echo(f"{_NOTE}{as_options(on_one_line(text))}", err=True)


def on_one_line(text: str) -> str:
    """Escape what would break the line or steer the terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def as_options(text: str) -> str:
    """Write the parameters that a sentence of the library names as options of a command.

    >>> as_options("replace it with force=True, or name another (out=…); a run with eta=0.1")
    'replace it with --force, or name another (--out); a run with --eta 0.1'
    """

    def option(match: re.Match[str]) -> str:
        name, value = match.groups()
        shown = "" if value in ("True", "…") else f" {value.strip(chr(39))}"
        return f"--{_OPTIONS[name] or name}{shown}"

    return _IN_A_CALL.sub(option, text)
