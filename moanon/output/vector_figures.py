"""What comparators of property vectors look at, drawn from the vectors themselves (C Fig. 1-4).

Small vectors only: each row has its own place, or is one of two axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.patches import Arc, Rectangle
from matplotlib.ticker import MaxNLocator

from moanon.compare.hypervolume import solely_dominated
from moanon.compare.indices import coverage, spread
from moanon.output.figure_style import (
    COLOURS,
    COLUMN,
    INK,
    LABEL,
    SMALL,
    dress,
    new_axes,
    write,
)

_MARKS = ("o", "s", "^", "D", "v", "P")
#: Of the two vectors of a pair.
_PAIR = COLOURS[:2]
#: How far the points of a row stand beside each other, so that equal ones are both seen.
_BESIDE = 0.12
_AREA: dict[str, Any] = {"alpha": 0.3, "linewidth": 0}


def plot_rows(vectors: Mapping[str, npt.ArrayLike], what: str) -> Axes:
    """Draw what each row has in each of some anonymizations (C Fig. 1)."""
    ax = new_axes(COLUMN, 2.4)
    for i, (name, values) in enumerate(vectors.items()):
        places = np.arange(1, len(np.asarray(values)) + 1)
        look = {"color": COLOURS[i % len(COLOURS)], "marker": _MARKS[i % len(_MARKS)]}
        ax.plot(places, np.asarray(values), label=name, linewidth=0.9, markersize=4, **look)
    ax.set_ylim(0, 1.1 * max(float(np.max(values)) for values in vectors.values()))
    _dress(ax, "row", what)
    ax.set_xlim(0.5, len(places) + 0.5)
    _legend(ax)
    return ax


def plot_ranks(
    points: Mapping[str, tuple[float, float]], ideal: tuple[float, float], rows: tuple[str, str]
) -> Axes:
    """Draw vectors of two rows and how far each is from the ideal (C Fig. 2).

    All points of an arc have the same rank; the nearest to the ideal wins.
    """
    ax = new_axes(COLUMN, 3.2)
    for i, (name, point) in enumerate(points.items()):
        far = float(np.hypot(*(np.array(ideal) - point)))
        look = {"color": COLOURS[i % len(COLOURS)], "marker": _MARKS[i % len(_MARKS)]}
        arc = {"theta1": 180, "theta2": 270, "edgecolor": look["color"], "linestyle": "--"}
        ax.add_patch(Arc(ideal, 2 * far, 2 * far, **arc))
        ax.plot(*point, linestyle="none", label=f"{name}: rank {far:.1f}", **look)
    ax.plot(*ideal, marker="*", color=INK, markersize=9, linestyle="none", label="ideal")
    ax.set_xlim(0, 1.05 * ideal[0])
    ax.set_ylim(0, 1.05 * ideal[1])
    ax.set_aspect("equal")
    _dress(ax, *rows)
    _legend(ax)
    return ax


def plot_leads(pair: Mapping[str, npt.ArrayLike]) -> Axes:
    """Draw two vectors row by row, with the leads that ``spr`` adds up (C Fig. 3).

    Raises
    ------
    ConfigError
        If the vectors are not of the same rows.
    """
    (first, one), (second, other) = ((name, np.asarray(v, float)) for name, v in pair.items())
    ax = new_axes(COLUMN, 2.6)
    for name, a, b, colour, mark, beside in (
        (first, one, other, _PAIR[0], _MARKS[0], -_BESIDE),
        (second, other, one, _PAIR[1], _MARKS[1], _BESIDE),
    ):
        told = f"{name}: cov {coverage(a, b):g}, spr {spread(a, b):g}"
        places = np.arange(1, len(a) + 1)
        lead = np.maximum(a - b, 0)
        ax.bar(places, lead, bottom=a - lead, width=0.7, color=colour, **_AREA)
        look = {"marker": mark, "color": colour, "markersize": 5, "linestyle": "none"}
        ax.plot(places + beside, a, label=told, **look)
        for place, height, size in zip(places, a, lead, strict=True):
            if size:
                _say(ax, f"+{size:g}", (place, height - size / 2))
    ax.set_ylim(0, 1.1 * float(max(one.max(), other.max())))
    _dress(ax, "row", "what the row has")
    _legend(ax)
    return ax


def plot_volumes(pair: Mapping[str, tuple[float, float]], rows: tuple[str, str]) -> Axes:
    """Draw what each of two vectors of two rows dominates alone, and both do (C Fig. 4)."""
    (first, one), (second, other) = pair.items()
    ax = new_axes(COLUMN, 3.0)
    for name, point, against, colour, mark in (
        (first, one, other, _PAIR[0], _MARKS[0]),
        (second, other, one, _PAIR[1], _MARKS[1]),
    ):
        alone = solely_dominated(np.array(point, float), np.array(against, float)).value
        ax.add_patch(Rectangle((0, 0), *point, facecolor=colour, **_AREA))
        look = {"marker": mark, "color": colour, "linestyle": "none"}
        ax.plot(*point, label=f"{name}: {alone:g} dominated by it alone", **look)
    common = np.minimum(one, other)
    _say(ax, f"by both: {common.prod():g}", (common[0] / 2, common[1] / 2))
    most = np.maximum(one, other)
    ax.set_xlim(0, 1.15 * most[0])
    ax.set_ylim(0, 1.5 * most[1])  # room for the legend
    _dress(ax, *rows)
    _legend(ax)
    return ax


def _say(ax: Axes, text: str, place: tuple[float, float]) -> None:
    ax.annotate(text, place, ha="center", va="center", fontsize=SMALL, color=INK)


def _legend(ax: Axes) -> None:
    for text in ax.legend(frameon=False, fontsize=SMALL, loc="best").get_texts():
        write(text)


def _dress(ax: Axes, across: str, up: str) -> None:
    dress(ax)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    write(ax.set_xlabel(across), LABEL)
    write(ax.set_ylabel(up), LABEL)
