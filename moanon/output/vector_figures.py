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
#: How far the points of a row stand beside each other, so that equal ones are both seen.
_BESIDE = 0.12
_AREA: dict[str, Any] = {"alpha": 0.3, "linewidth": 0}


def plot_rows(vectors: Mapping[str, npt.ArrayLike], what: str) -> Axes:
    """Draw what each row has in each of some anonymizations (C Fig. 1)."""
    ax = new_axes(COLUMN, 2.4)
    for i, (name, values) in enumerate(vectors.items()):
        places = np.arange(1, len(np.asarray(values)) + 1)
        ax.plot(places, np.asarray(values), label=name, linewidth=0.9, markersize=4, **_look(i))
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
        look = _look(i)
        quarter: dict[str, Any] = {"theta1": 180, "theta2": 270, "edgecolor": look["color"]}
        ax.add_patch(Arc(ideal, 2 * far, 2 * far, linestyle="--", **quarter))
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
    for i, (name, a, b) in enumerate(((first, one, other), (second, other, one))):
        told = f"{name}: cov {coverage(a, b):g}, spr {spread(a, b):g}"
        look, places = _look(i), np.arange(1.0, len(a) + 1)
        lead = np.maximum(a - b, 0)
        ax.bar(places, lead, bottom=a - lead, width=0.7, color=look["color"], **_AREA)
        beside = places + (_BESIDE if i else -_BESIDE)
        ax.plot(beside, a, label=told, markersize=5, linestyle="none", **look)
        for place in np.flatnonzero(lead):
            middle = float(a[place] - lead[place] / 2)
            _say(ax, f"+{lead[place]:g}", (float(places[place]), middle))
    ax.set_ylim(0, 1.1 * float(max(one.max(), other.max())))
    _dress(ax, "row", "what the row has")
    _legend(ax)
    return ax


def plot_volumes(pair: Mapping[str, tuple[float, float]], rows: tuple[str, str]) -> Axes:
    """Draw what each of two vectors of two rows dominates alone, and both do (C Fig. 4)."""
    (first, one), (second, other) = pair.items()
    ax = new_axes(COLUMN, 3.0)
    for i, (name, point, against) in enumerate(((first, one, other), (second, other, one))):
        alone = solely_dominated(np.array(point, float), np.array(against, float)).value
        look = _look(i)
        ax.add_patch(Rectangle((0, 0), *point, facecolor=look["color"], **_AREA))
        label = f"{name}: {alone:g} dominated by it alone"
        ax.plot(*point, label=label, linestyle="none", **look)
    common = np.minimum(one, other)
    _say(ax, f"by both: {common.prod():g}", (float(common[0]) / 2, float(common[1]) / 2))
    most = np.maximum(one, other)
    ax.set_xlim(0, 1.15 * most[0])
    ax.set_ylim(0, 1.5 * most[1])  # room for the legend
    _dress(ax, *rows)
    _legend(ax)
    return ax


def _look(number: int) -> dict[str, Any]:
    """Colour and mark of an anonymization."""
    return {"color": COLOURS[number % len(COLOURS)], "marker": _MARKS[number % len(_MARKS)]}


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
