"""Figures that compare fronts: the same problem under several suppression limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from moanon.errors import ConfigError
from moanon.front import Front
from moanon.front.landmarks import TradeOff
from moanon.output.curves import add_legend, draw_tradeoff
from moanon.output.style import (
    COLUMN,
    SEQUENCE,
    dress,
    new_axes,
    plain,
    root_figure,
    scale_axis,
    settle,
    shown,
    title,
)

__all__ = ["plot_etas"]

#: Marks at some of the points, so that curves also differ without their colours.
_MARKS = ("o", "s", "^", "D", "v", "P")
#: Where: along the way from the least privacy to the most.
_PLACES = np.linspace(0, 1, 9)


def plot_etas(
    fronts: Mapping[str, Front],
    ax: Axes | None = None,
    *,
    privacy: str | None = None,
    cost: str | None = None,
    heading: str = "rows that may be suppressed",
    words: Sequence[str] = (),
) -> Axes:
    """Draw several fronts of one problem over each other, each of its own limit η.

    Parameters
    ----------
    fronts : mapping of str to Front
        What each is called, and the front, in the order of the limits.
    ax : Axes, optional
        Where to draw. Default: a new figure as wide as a column.
    privacy, cost : str, optional
        As for `moanon.front.landmarks.TradeOff.of`, by the first front.
    heading : str
        What the names of the fronts are.
    words : sequence of str
        What to say above.

    Raises
    ------
    ConfigError
        If there is no front, or one of them lacks a measure.
    """
    if not fronts:
        raise ConfigError("a comparison takes at least one front. Got none")
    own = ax is None
    if ax is None:
        ax = new_axes(COLUMN, 2.7)
    first = TradeOff.of(next(iter(fronts.values())), privacy, cost)
    tradeoffs = [TradeOff.of(front, first.privacy, first.cost) for front in fronts.values()]
    dress(ax)
    for which, name in (("x", first.privacy), ("y", first.cost)):
        columns = [t.privacies if which == "x" else t.costs for t in tradeoffs]
        scale_axis(ax, which, name, shown(name, np.concatenate(columns)))  # type: ignore[arg-type]
    title(ax, words)
    curves, entries = [], []
    for i, (label, tradeoff) in enumerate(zip(fronts, tradeoffs, strict=True)):
        look: dict[str, Any] = {
            "color": SEQUENCE(0.25 + 0.75 * i / max(1, len(fronts) - 1)),
            "marker": _MARKS[i % len(_MARKS)],
            "markersize": 3.2,
            "markeredgewidth": 0,
            "linewidth": 0.9,
        }
        curves.append(draw_tradeoff(ax, tradeoff, color=look["color"], dots=False))
        x, y = curves[-1][::2].T
        marked = np.unique(np.abs(tradeoff.gains[:, None] - _PLACES).argmin(axis=0))
        ax.plot(x[marked], y[marked], zorder=4, **(look | {"linestyle": "none"}))
        entries.append(Line2D([], [], label=plain(label), **look))
    if own:
        settle(root_figure(ax))
    add_legend(ax, entries, heading=heading, lines=curves)
    return ax
