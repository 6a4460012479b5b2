"""A front at a glance: a sentence, and a table for notebooks."""

from __future__ import annotations

from html import escape

import numpy as np

from moanon.questions.numbers import shown
from moanon.questions.solutions import Solutions

__all__ = ["front_html", "front_sentence"]

#: Most solutions that a table shows.
_MOST_ROWS = 12


def front_sentence(solutions: Solutions) -> str:
    """Say how many solutions there are, and from where to where their objectives go."""
    number = len(next(iter(solutions.measures.values())))
    if not number:
        return "no solutions"
    ranges = []
    for name in solutions.objectives:
        column = solutions.measures[name]
        least, most = shown(name, column.min()), shown(name, column.max())
        ranges.append(f"{name} {least}" if least == most else f"{name} {least} to {most}")
    return f"{number:,} solution{'' if number == 1 else 's'}: {', '.join(ranges)}"


def front_html(solutions: Solutions) -> str:
    """Write a front as HTML: its sentence, and solutions evenly spread over it."""
    names = list(dict.fromkeys((*solutions.objectives, "k", "loss", "suppressed")))
    names = [name for name in names if name in solutions.measures]
    number = len(next(iter(solutions.measures.values())))
    rows = np.unique(np.linspace(0, max(number - 1, 0), min(number, _MOST_ROWS)).round())
    heads = "".join(f"<th>{escape(name)}</th>" for name in ("id", *names))
    body = ""
    for row in rows.astype(int).tolist():
        cells = (shown(name, float(solutions.measures[name][row])) for name in names)
        body += "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in (str(row + 1), *cells))
        body += "</tr>"
    left_out = number - len(rows)
    more = f"<p>{left_out:,} more between them</p>" if left_out else ""
    return (
        f"<div><p><b>Front</b> of {escape(front_sentence(solutions))}</p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{more}</div>"
    )
