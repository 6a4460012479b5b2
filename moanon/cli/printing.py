"""How answers look: tables, numbers and names that may hold anything."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column

    from moanon.front import Front


#: Parameters that sentences of the library write as in a call, and their options. A value in
#: quotes is one that somebody gave, and stays.
_OPTIONS = dict.fromkeys(("columns", "config", "data", "delimiter", "eta", "force", "key"))
_OPTIONS |= dict.fromkeys(("original", "out", "outside", "protocol", "quasi", "resume"))
_OPTIONS |= dict.fromkeys(("seed", "sensitive", "solutions", "stars"))
_OPTIONS |= {"hierarchies": "hierarchy", "sets": "set"}
_IN_A_CALL = re.compile(rf"(?<![\w.'\"])({'|'.join(_OPTIONS)})=(True|…|'\w+'|[\d.]*\d)")
#: Longer lines of text are hard to follow.
_READABLE = 100


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


def show_grid(
    headers: Iterable[str | Column],
    rows: Iterable[Sequence[str]],
    right: Container[int] = (),
    **looks: Any,
) -> None:
    """Print a table; the columns at the places `right` hold numbers, `looks` go for all of them.

    A header may also be a whole column of rich, which says itself how it looks.
    """
    from rich import box
    from rich.table import Column, Table

    columns = (
        header
        if isinstance(header, Column)
        else Column(header, justify="right" if place in right else "left", **looks)
        for place, header in enumerate(headers)
    )
    grid = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        grid.add_row(*row)
    _console().print(grid)


def show_markdown(text: str) -> None:
    """Lay out Markdown in a terminal; in a pipe, print it as it is."""
    if not sys.stdout.isatty():
        typer.echo(text, nl=False)
        return
    from rich.markdown import Markdown

    console = _console()
    console.print(Markdown(text), width=min(console.width, _READABLE))


def print_json(told: object) -> None:
    """Print what programs read."""
    import json

    typer.echo(json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False))


def show_facts(facts: Mapping[str, str]) -> None:
    """Print names and what is to be said about them, one below the other."""
    for fact, value in facts.items():
        typer.echo(f" {fact:<21}{value}")


def show_front(front: Front) -> None:
    """Show how many solutions there are, and from where to where they go."""
    from moanon.measures import find_measure

    thinned = f", thinned evenly from {front.found:,}" if front.found > len(front) else ""
    facts = {"solutions": f"{len(front):,}{thinned}"}
    for name in dict.fromkeys((*front.objectives, "k", "loss")):
        column, unit = front.measures[name], find_measure(name).unit
        facts[name] = _range(float(column.min()), float(column.max()), unit)
    show_facts(facts)


def _range(least: float, most: float, unit: str) -> str:
    if unit.startswith("share"):
        return f"{least:.1%} to {most:.1%}"
    digits = 0 if least == int(least) and most == int(most) else 3 if most <= 1 else 1
    return f"{least:,.{digits}f} to {most:,.{digits}f}"


def counted(number: int, what: str) -> str:
    """Write a count of something: 1 row, 2,000 rows."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def large(number: int) -> str:
    """Write a count so that it can be read: 8,192 or 2.3 x 10^21."""
    import math

    if number < 1_000_000:
        return f"{number:,}"
    exponent = math.floor(math.log10(number))
    digits = f"{10 ** (math.log10(number) - exponent):.1f}"
    return f"1.0 x 10^{exponent + 1}" if digits == "10.0" else f"{digits} x 10^{exponent}"


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


def note(text: str) -> None:
    """Say on stderr what the user should know besides the answer."""
    typer.echo(f"note: {as_options(on_one_line(text))}", err=True)
