"""Figures of three and more objectives: every pair of them, and what is left under a limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from moanon.errors import ConfigError
from moanon.front import Front
from moanon.front.choices import attained_privacy
from moanon.front.landmarks import TradeOff, find_landmarks, spell
from moanon.measures import find_measure
from moanon.output.curves import RASTER, RING
from moanon.output.labels import Label, place_labels
from moanon.output.style import (
    BLUE,
    DARK_VERMILION,
    PAGE,
    PALE,
    SEQUENCE,
    add_colorbar,
    dress,
    new_figure,
    round_limit,
    scale_axis,
    settle,
    short_name,
    shown,
    title,
    told_limit,
    write,
)

__all__ = ["costs_of", "plot_filtered", "plot_pairs"]

_DOT: dict[str, Any] = {"marker": "o", "linestyle": "none", "markeredgewidth": 0}
_BEST = _DOT | {"color": BLUE, "markersize": 2.4, "zorder": 3}
_DOMINATED = _DOT | {"color": PALE, "markersize": 1.8, "zorder": 2}

#: How many solutions of a filtered view are encircled.
_RINGS = 3


def plot_pairs(front: Front, figure: Figure | None = None, *, words: Sequence[str] = ()) -> Figure:
    """Draw every pair of objectives (D Fig. 8).

    A solution that is dominated in a pair is pale there: another objective made it part of the
    front.

    Parameters
    ----------
    front : Front
        With at least two objectives.
    figure : Figure, optional
        An empty one to draw on. Default: a new one as wide as a page.
    words : sequence of str
        What to say above.

    Raises
    ------
    ConfigError
        If the front has one objective alone.
    """
    names = front.objectives
    number = len(names) - 1
    if number < 1:
        raise ConfigError(f"a figure of pairs takes at least two objectives. Got {len(names)}")
    own = figure is None
    if figure is None:
        figure = new_figure(PAGE, 0.9 + min(6.0, 2.0 * number))
    grid = figure.add_gridspec(number, number)
    for row, column in ((i, j) for i in range(number) for j in range(i + 1)):
        ax = figure.add_subplot(grid[row, column])
        _draw_pair(ax, front, names[column], names[row + 1], short=number > 2)
        # What the axes of a row or column share is said once, at the edge.
        if column > 0:
            ax.set_ylabel("")
        if row < number - 1:
            ax.set_xlabel("")
    title(figure, words, columns=min(number, 2))
    if number > 1:  # the upper right is empty
        _explain_pairs(figure)
    if own:
        settle(figure)
    return figure


def _draw_pair(ax: Axes, front: Front, across: str, up: str, *, short: bool) -> None:
    x, y = (shown(name, front.measures[name]) for name in (across, up))
    best = np.isin(front.ids, TradeOff.of(front, across, up).ids)
    dress(ax)
    scale_axis(ax, "x", across, x, short=short)
    scale_axis(ax, "y", up, y, short=short)
    for chosen, look in ((~best, _DOMINATED), (best, _BEST)):
        ax.plot(x[chosen], y[chosen], rasterized=len(x) >= RASTER, **look)


def _explain_pairs(figure: Figure) -> None:
    entries = [
        Line2D([], [], label="undominated in the two measures", **_BEST),
        Line2D([], [], label="undominated with the others in view", **_DOMINATED),
    ]
    legend = figure.legend(handles=entries, loc="upper right", frameon=False, markerscale=1.8)
    for text in legend.get_texts():
        write(text)


# -- under a limit -------------------------------------------------------------------------------


def costs_of(front: Front) -> list[str]:
    """The objectives to be minimized that are no privacy: what a filtered view can limit."""
    return [
        name
        for name in front.objectives
        if find_measure(name).direction == "min" and not find_measure(name).privacy
    ]


@dataclass(frozen=True)
class _View:
    """What is left of a front when one cost is limited: privacy against another cost."""

    front: Front
    limited: str
    limit: float
    other: str

    @property
    def within(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.front.measures[self.limited] <= self.limit)

    def values(self, name: str) -> npt.NDArray[np.float64]:
        return shown(name, self.front.measures[name][self.within])


def plot_filtered(
    front: Front,
    figure: Figure | None = None,
    *,
    limits: Mapping[str, float] | None = None,
    words: Sequence[str] = (),
) -> Figure:
    """Draw what is left of a front under a limit, for each of several limits (D Fig. 9).

    A view shows privacy against another cost; the limited one is the colour. Encircled is where the
    whole loss is least, and where, for more privacy, it has its foremost knees: the best balance
    of the costs.

    Parameters
    ----------
    front : Front
        With at least two objectives to be minimized that are no privacy.
    figure : Figure, optional
        An empty one to draw on. Default: a new one as wide as a page.
    limits : mapping of str to float, optional
        The most that a minimized objective may be, one view for each. Default: for the last two of
        them, a round number within which at least a quarter of the solutions lies.
    words : sequence of str
        What to say above.

    Raises
    ------
    ConfigError
        If fewer than two costs are minimized, or a limit is of another measure.
    """
    costs = costs_of(front)
    if len(costs) < 2:
        raise ConfigError(
            f"a filtered view takes two objectives to minimize that are no privacy. "
            f"Got {len(costs)}"
        )
    if limits is None:
        limits = {name: round_limit(name, front.measures[name]) for name in costs[:-3:-1]}
    views = []
    for name, limit in limits.items():
        if name not in costs:
            raise ConfigError(f"a limit must be of {' or '.join(costs)}. Got {name!r}")
        views.append(_View(front, name, limit, next(cost for cost in costs if cost != name)))
    own = figure is None
    if figure is None:
        figure = new_figure(PAGE, 2.7)
    axes = [figure.add_subplot(1, len(views), i + 1) for i in range(len(views))]
    for i, (ax, view) in enumerate(zip(axes, views, strict=True)):
        _draw_view(ax, view)
        said = (*(words if i == 0 else ()), told_limit(view.limited, view.limit))
        title(ax, said, columns=len(views))
    if own:
        settle(figure)
    for ax, view in zip(axes, views, strict=True):
        _encircle(ax, view)
    return figure


def _draw_view(ax: Axes, view: _View) -> None:
    privacy = attained_privacy(view.front.objectives)[0]
    x, y, colors = (view.values(name) for name in (privacy, view.other, view.limited))
    dress(ax)
    if not len(x):
        write(ax.text(0.5, 0.5, "no solution", transform=ax.transAxes, ha="center"))
        x, y = np.ones(1), np.zeros(1)
    scale_axis(ax, "x", privacy, x)
    scale_axis(ax, "y", view.other, y)
    if not len(colors):
        return
    order = np.argsort(-colors)  # the lowest on top
    points = ax.scatter(
        x[order],
        y[order],
        c=colors[order],
        cmap=SEQUENCE,
        s=7,
        linewidths=0,
        zorder=3,
        rasterized=len(x) >= RASTER,
    )
    add_colorbar([ax], points, view.limited)


def _encircle(ax: Axes, view: _View) -> None:
    """Mark where the whole loss is least, and the foremost knees of privacy against it."""
    landmarks = find_landmarks(TradeOff.of(view.front, among=view.within))
    privacy = landmarks.tradeoff.privacy
    # The loss is the sum of these two; other costs cannot be added.
    joint = " + " if {view.other, view.limited} == {"gl", "sl"} else ", "
    foremost = sorted(landmarks.knees, key=lambda knee: -knee.worth)
    chosen = [*landmarks.tradeoff.ids[:1].tolist(), *(knee.id for knee in foremost)]
    labels = []
    for row in [number - 1 for number in dict.fromkeys(chosen)][:_RINGS]:
        values = {name: float(column[row]) for name, column in view.front.measures.items()}
        x, y = (float(shown(name, values[name])) for name in (privacy, view.other))
        ax.plot([x], [y], **RING)
        costs = (f"{short_name(n)} {spell(n, values[n])}" for n in (view.other, view.limited))
        text = f"{short_name(privacy)} {spell(privacy, values[privacy])}\n{joint.join(costs)}"
        labels.append(Label(text, x, y, DARK_VERMILION))
    dots = np.stack([view.values(name) for name in (privacy, view.other)], axis=1)
    place_labels(ax, labels, points=dots)
