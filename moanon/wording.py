"""Answers in words: sentences and small tables, laid out by whoever shows them.

A result of the library (`Worded`) gives its `parts`: sentences, and grids of short texts (`Grid`).
The command line prints them, a notebook shows them as HTML, and ``print`` as plain text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Grid:
    """A small table of texts; `right` are the places of columns that hold numbers."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Collection[int] = ()


Part = str | Grid


class Worded:
    """A result that can be read: `parts` are sentences and grids, in order."""

    def parts(self, *, everything: bool = False) -> Iterator[Part]:
        """Yield what there is to say; `everything` where a long list is not to be cut."""
        raise NotImplementedError

    def text(self, *, everything: bool = False) -> str:
        """Return the parts as plain text."""
        return as_text(self.parts(everything=everything))

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return as_html(self.parts())


def as_text(parts: Iterable[Part]) -> str:
    """Lay parts out as plain text.

    >>> print(as_text(["Two rows:", Grid(("name", "k"), [("a", "5"), ("b", "12")], right=[1])]))
    Two rows:
    name   k
    a      5
    b     12
    """
    return "\n".join(part if isinstance(part, str) else _plain(part) for part in parts)


def _plain(grid: Grid) -> str:
    lines = [grid.headers, *grid.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place in grid.right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def as_html(parts: Iterable[Part]) -> str:
    """Lay parts out as HTML."""
    return f"<div>{''.join(map(_html, parts))}</div>"


def _html(part: Part) -> str:
    if isinstance(part, str):
        return f"<p>{escape(part)}</p>"

    def line(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    body = "".join(line(row, "td") for row in part.rows)
    return f"<table><thead>{line(part.headers, 'th')}</thead><tbody>{body}</tbody></table>"


def counted(number: int, what: str) -> str:
    """Write a count of something: 1 row, 2,000 rows."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def facts(named: Mapping[str, str], indent: str = "") -> Iterator[str]:
    """Write names and what is to be said about them, one below the other."""
    for name, text in named.items():
        yield f"{indent + name:<21}{text}"
