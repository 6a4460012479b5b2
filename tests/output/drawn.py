"""Fronts to draw, real ones of a small table and made-up ones, and what was drawn of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from moanon.arrays import Values
from moanon.front import Front
from moanon.measures.suppression import Suppression
from moanon.recoding import GlobalRecodings


def made_front(
    objectives: Sequence[str] = ("k", "loss"),
    rule: Suppression | None = None,
    **measures: Sequence[float],
) -> Front:
    """A front with these measures and nothing behind it."""
    columns = {name: np.asarray(values) for name, values in measures.items()}
    number = len(next(iter(columns.values())))
    for name in ("k", "l", "d1", "d2"):
        columns.setdefault(name, np.arange(1, number + 1))
    for name in ("loss", "gl"):
        columns.setdefault(name, np.linspace(0, 1, number))
    columns.setdefault("sl", np.linspace(0.2, 0.1, number))
    columns.setdefault("weighted_k", np.linspace(1, 1000, number))
    columns.setdefault("suppressed", np.zeros(number, dtype=np.int64))
    ordered = {name: columns[name] for name in objectives} | columns
    return front_of(ordered, tuple(objectives), rule or Suppression("limit", 0.1))


def front_of(
    columns: Mapping[str, Values], objectives: tuple[str, ...], rule: Suppression
) -> Front:
    """A front with these measures alone."""
    number = len(next(iter(columns.values()), ()))
    genomes, thresholds = np.zeros((number, 3), np.uint8), np.ones((number, 2), np.int64)
    recodings = GlobalRecodings(genomes, thresholds, rule)
    return Front(objectives, rule, recodings, columns, tuple({} for _ in range(number)), number)


Point = tuple[float, float]


def markers(ax: Axes, marker: str) -> set[Point]:
    """Where a kind of mark stands."""
    lines = [line for line in ax.get_lines() if line.get_marker() == marker]
    return {
        (float(x), float(y))
        for line in lines
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)  # type: ignore[arg-type]
    }


def words(place: Axes | Figure) -> list[str]:
    """Everything that is written."""
    return [text.get_text() for text in place.findobj(Text) if text.get_text()]  # type: ignore[attr-defined]
