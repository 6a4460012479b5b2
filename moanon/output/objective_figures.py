"""Figures of three objectives and more, and of several fronts over each other.

Every pair of them, what is left under a limit, and k with ℓ: what can be had of both within a loss,
and what a little more reveals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from moanon.arrays import Bools, Floats
from moanon.errors import ConfigError
from moanon.front import Front
from moanon.front.front import attained_privacy
from moanon.front.landmarks import TradeOff, find_landmarks, spell
from moanon.measures import find_measure
from moanon.output import figure_style as style
from moanon.output.front_figures import draw_tradeoff

_DOT: dict[str, Any] = {"marker": "o", "linestyle": "none", "markeredgewidth": 0}
_BEST = _DOT | {"color": style.BLUE, "markersize": 2.4, "zorder": 3}
_DOMINATED = _DOT | {"color": style.PALE, "markersize": 1.8, "zorder": 2}

#: How many solutions of a filtered view are encircled.
_RINGS = 3

#: What protects. D's figures show what its rule aims at, ``("d1", "d2")``.
_ATTAINED = ("k", "l")
#: Losses above this are nobody's wish (D Fig. 10), unless there is nothing below.
_USUAL = 0.3
_OLD = _DOT | {"color": style.BLUE, "markersize": 3.6, "zorder": 3}
_NEW = _OLD | {"marker": "D", "color": style.VERMILION, "zorder": 4}


# -- pairs -----------------------------------------------------------------------------------------


def plot_pairs(front: Front, figure: Figure | None = None, *, words: Sequence[str] = ()) -> Figure:
    """Draw every pair of at least two objectives (D Fig. 8).

    A solution that is dominated in a pair is pale there: another objective made it part of the
    front. Drawn on an empty `figure`, or a new one as wide as a page, below `words`.
    """
    names = front.objectives
    number = len(names) - 1
    if number < 1:
        raise ConfigError(f"a figure of pairs takes at least two objectives. Got {len(names)}")
    own = figure is None
    if figure is None:
        figure = style.new_figure(style.PAGE, 0.9 + min(6.0, 2.0 * number))
    grid = figure.add_gridspec(number, number)
    for row, column in ((i, j) for i in range(number) for j in range(i + 1)):
        ax = figure.add_subplot(grid[row, column])
        _draw_pair(ax, front, names[column], names[row + 1], short=number > 2)
        # What the axes of a row or column share is said once, at the edge.
        if column > 0:
            ax.set_ylabel("")
        if row < number - 1:
            ax.set_xlabel("")
    style.title(figure, words, columns=min(number, 2))
    if number > 1:  # the upper right is empty
        _explain_pairs(figure)
    if own:
        style.lay_out(figure)
    return figure


def _draw_pair(ax: Axes, front: Front, across: str, up: str, *, short: bool) -> None:
    x, y = (style.shown(name, front.measures[name]) for name in (across, up))
    best = np.isin(front.ids, TradeOff.of(front, across, up).ids)
    style.dress(ax)
    style.scale_axis(ax, "x", across, x, short=short)
    style.scale_axis(ax, "y", up, y, short=short)
    for chosen, look in ((~best, _DOMINATED), (best, _BEST)):
        ax.plot(x[chosen], y[chosen], rasterized=len(x) >= style.RASTER, **look)


def _explain_pairs(figure: Figure) -> None:
    entries = [
        Line2D([], [], label="undominated in the two measures", **_BEST),
        Line2D([], [], label="undominated with the others in view", **_DOMINATED),
    ]
    legend = figure.legend(handles=entries, loc="upper right", frameon=False, markerscale=1.8)
    for text in legend.get_texts():
        style.write(text)


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
    def within(self) -> Bools:
        return np.asarray(self.front.measures[self.limited] <= self.limit)

    def values(self, name: str) -> Floats:
        return style.shown(name, self.front.measures[name][self.within])


def plot_filtered(
    front: Front,
    figure: Figure | None = None,
    *,
    limits: Mapping[str, float] | None = None,
    words: Sequence[str] = (),
) -> Figure:
    """Draw what is left of a front under a limit, for each of several limits (D Fig. 9).

    A view shows privacy against another cost; the limited one is the colour. Encircled are the
    solution of least loss and the foremost knees of privacy against loss: the best balances.

    The front must have at least two objectives to be minimized that are no privacy; `limits` are
    the most that some of them may be, one view for each. By default, for the last two of them, a
    round number within which at least a quarter of the solutions lies.
    """
    costs = costs_of(front)
    if len(costs) < 2:
        raise ConfigError(
            f"a filtered view takes two objectives to minimize that are no privacy. "
            f"Got {len(costs)}"
        )
    if limits is None:
        limits = {name: style.round_limit(name, front.measures[name]) for name in costs[:-3:-1]}
    views = []
    for name, limit in limits.items():
        if name not in costs:
            raise ConfigError(f"a limit must be of {' or '.join(costs)}. Got {name!r}")
        views.append(_View(front, name, limit, next(cost for cost in costs if cost != name)))
    own = figure is None
    if figure is None:
        figure = style.new_figure(style.PAGE, 2.7)
    axes = [figure.add_subplot(1, len(views), i + 1) for i in range(len(views))]
    for i, (ax, view) in enumerate(zip(axes, views, strict=True)):
        _draw_view(ax, view)
        said = (*(words if i == 0 else ()), style.limit_text(view.limited, view.limit))
        style.title(ax, said, columns=len(views))
    if own:
        style.lay_out(figure)
    for ax, view in zip(axes, views, strict=True):
        _encircle(ax, view)
    return figure


def _draw_view(ax: Axes, view: _View) -> None:
    privacy = attained_privacy(view.front.objectives)[0]
    x, y, colors = (view.values(name) for name in (privacy, view.other, view.limited))
    style.dress(ax)
    if not len(x):
        style.write(ax.text(0.5, 0.5, "no solution", transform=ax.transAxes, ha="center"))
        x, y = np.ones(1), np.zeros(1)
    style.scale_axis(ax, "x", privacy, x)
    style.scale_axis(ax, "y", view.other, y)
    if not len(colors):
        return
    order = np.argsort(-colors)  # the lowest on top
    points = ax.scatter(
        x[order],
        y[order],
        c=colors[order],
        cmap=style.SEQUENCE,
        s=7,
        linewidths=0,
        zorder=3,
        rasterized=len(x) >= style.RASTER,
    )
    style.add_colorbar([ax], points, view.limited)


def _encircle(ax: Axes, view: _View) -> None:
    """Mark where the whole loss is least, and the foremost knees of privacy against it."""
    landmarks = find_landmarks(TradeOff.of(view.front, among=view.within))
    privacy = landmarks.tradeoff.privacy
    # The loss is the sum of these two; other costs cannot be added.
    joint = " + " if {view.other, view.limited} == {"gl", "sl"} else ", "
    knees = [knee.last for knee in landmarks.foremost_knees()]
    chosen = [*landmarks.tradeoff.ids[:1].tolist(), *knees]
    labels = []
    for row in [number - 1 for number in dict.fromkeys(chosen)][:_RINGS]:
        values = {name: float(column[row]) for name, column in view.front.measures.items()}
        x, y = (float(style.shown(name, values[name])) for name in (privacy, view.other))
        ax.plot([x], [y], **style.RING)
        costs = (f"{style.short_name(n)} {spell(n, values[n])}" for n in (view.other, view.limited))
        text = f"{style.short_name(privacy)} {spell(privacy, values[privacy])}\n{joint.join(costs)}"
        labels.append(style.Label(text, x, y, style.DARK_VERMILION))
    dots = np.stack([view.values(name) for name in (privacy, view.other)], axis=1)
    style.place_labels(ax, labels, points=dots)


# -- k and l ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Choices:
    """The solutions of a front within a loss, as points of k and ℓ."""

    front: Front
    max_loss: float
    measures: tuple[str, str]

    def __post_init__(self) -> None:
        for name in self.measures:
            if name not in self.front.measures:
                raise ConfigError(
                    f"this front has no measure {name!r}; a figure of k and l takes a front of a "
                    "table with a sensitive column"
                )

    @property
    def within(self) -> Bools:
        return np.asarray(self.front.measures["loss"] <= self.max_loss)

    @property
    def best(self) -> Bools:
        """Which solutions are undominated in the two measures, within the loss."""
        ids = TradeOff.of(self.front, *self.measures, among=self.within).ids
        return np.asarray(np.isin(self.front.ids, ids))

    def points(self, chosen: Bools) -> Floats:
        """Both measures of chosen solutions."""
        columns = [style.shown(name, self.front.measures[name][chosen]) for name in self.measures]
        return np.stack(columns, axis=1)


def plot_diversity(
    fronts: Front | Mapping[str, Front],
    max_loss: float,
    figure: Figure | None = None,
    *,
    measures: tuple[str, str] = _ATTAINED,
    words: Sequence[str] = (),
) -> Figure:
    """Draw ℓ against k for all solutions within a loss (D Fig. 10).

    The best choices, undominated in k and ℓ, are joined by a line and labelled (k, ℓ). Several
    fronts stand side by side under their names. `measures` stand for k and ℓ, by default what is
    attained. D draws its aims, ``("d1", "d2")``; where a preset allows exceptions, less is
    attained.
    """
    named = fronts if isinstance(fronts, Mapping) else {"": fronts}
    sides = [_Choices(front, max_loss, measures) for front in named.values()]
    own = figure is None
    if figure is None:
        figure = style.new_figure(style.PAGE if len(sides) > 1 else style.COLUMN, 2.7)
    axes = _side_by_side(figure, sides)
    for i, (ax, name, choices) in enumerate(zip(axes, named, sides, strict=True)):
        _draw_choices(ax, choices, dots=False)
        said = (*(words if i == 0 else ()), name, style.limit_text("loss", max_loss))
        style.title(ax, said, columns=len(sides))
    _color_by_loss(axes, sides)
    if own:
        style.lay_out(figure)
    for ax, choices in zip(axes, sides, strict=True):
        _label_best(ax, choices, choices.best, style.INK)
    return figure


def plot_limits(
    front: Front,
    limits: tuple[float, float],
    figure: Figure | None = None,
    *,
    measures: tuple[str, str] = _ATTAINED,
    words: Sequence[str] = (),
) -> Figure:
    """Draw ℓ against k within two losses, and mark what the larger one reveals (D Fig. 11).

    `limits` are the smaller loss and the larger one, as shares; the other parameters are those of
    `plot_diversity`.
    """
    if not limits[0] < limits[1]:
        raise ConfigError(f"the second limit must be larger than the first. Got {limits}")
    before, after = sides = [_Choices(front, limit, measures) for limit in limits]
    new = after.within & ~before.within
    own = figure is None
    if figure is None:
        figure = style.new_figure(style.PAGE, 2.7)
    axes = _side_by_side(figure, sides)
    for i, (ax, choices) in enumerate(zip(axes, sides, strict=True)):
        _draw_choices(ax, choices)
        said = (*(words if i == 0 else ()), style.limit_text("loss", choices.max_loss))
        style.title(ax, said, columns=2)
    axes[1].plot(*after.points(new).T, **_NEW)
    axes[1].plot(*after.points(after.best & new).T, **style.RING)
    if own:
        style.lay_out(figure)
    _label_best(axes[0], before, before.best, style.INK)
    entry = Line2D([], [], label=f"new within {style.percent_text(limits[1])}", **_NEW)
    taken = style.add_legend(axes[1], [entry], points=after.points(after.within))
    _label_best(axes[1], after, after.best & new, style.DARK_VERMILION, boxes=taken)
    return figure


def _side_by_side(figure: Figure, sides: Sequence[_Choices]) -> list[Axes]:
    """Axes with one scale for all, so that heights and places can be compared."""
    first = figure.add_subplot(1, len(sides), 1)
    axes = [first] + [
        figure.add_subplot(1, len(sides), i + 1, sharex=first, sharey=first)
        for i in range(1, len(sides))
    ]
    for ax in axes:
        _scale(ax, sides)
    for ax in axes[1:]:
        ax.set_ylabel("")
    return axes


def _scale(ax: Axes, sides: Sequence[_Choices]) -> None:
    points = np.concatenate([choices.points(choices.within) for choices in sides])
    if not len(points):
        points = np.ones((1, 2))
    style.dress(ax)
    ax.margins(0.12)  # for words
    across, up = sides[0].measures
    style.scale_axis(ax, "x", across, points[:, 0])
    style.scale_axis(ax, "y", up, points[:, 1], log=False)


def _draw_choices(ax: Axes, choices: _Choices, *, dots: bool = True) -> None:
    if not choices.within.any():
        style.write(ax.text(0.5, 0.5, "no solution", transform=ax.transAxes, ha="center"))
        return
    if dots:
        ax.plot(*choices.points(choices.within).T, **_OLD)
    ax.plot(*_frontier(choices).T, color=style.INK, linewidth=0.7, zorder=2)


def _color_by_loss(axes: Sequence[Axes], sides: Sequence[_Choices]) -> None:
    """Draw the points in the colours of their loss, the same in all axes."""
    found = [
        style.shown("loss", choices.front.measures["loss"][choices.within]) for choices in sides
    ]
    losses = np.concatenate(found)
    if not len(losses):
        return
    norm = Normalize(losses.min(), losses.max())
    for ax, choices, own in zip(axes, sides, found, strict=True):
        order = np.argsort(-own)  # the cheapest on top
        x, y = choices.points(choices.within)[order].T
        look: dict[str, Any] = {"c": own[order], "cmap": style.SEQUENCE, "norm": norm}
        ax.scatter(x, y, s=12, linewidths=0, zorder=4, **look)
    style.add_colorbar(axes, ScalarMappable(norm, style.SEQUENCE), "loss")


def _frontier(choices: _Choices) -> Floats:
    """Corners of the line above which there is nothing."""
    points = choices.points(choices.best)
    x, y = points[np.argsort(points[:, 0])].T
    return np.stack([np.repeat(x, 2)[:-1], np.repeat(y, 2)[1:]], axis=1)


def _label_best(
    ax: Axes, choices: _Choices, chosen: Bools, color: str, boxes: Sequence[Bbox] = ()
) -> None:
    points = choices.points(chosen)
    points = points[np.argsort(-points.prod(axis=1))]  # the most balanced first
    labels = []
    for k, ell in points.tolist():
        names = choices.measures
        text = f"({spell(names[0], k)}, {spell(names[1], ell)})"
        labels.append(style.Label(text, k, ell, color, side="right"))
    dots = choices.points(choices.within)
    style.place_labels(ax, labels, lines=[_frontier(choices)], points=dots, boxes=boxes)


def usual_limit(front: Front) -> float:
    """Return a loss to look within: 30 %, or where little is within it, what holds a quarter."""
    losses = front.measures["loss"]
    return _USUAL if np.mean(losses <= _USUAL) >= 0.1 else style.round_limit("loss", losses)


def revealing_limits(
    front: Front, start: float, *, measures: tuple[str, str] = _ATTAINED
) -> tuple[float, float] | None:
    """Find the next whole percent of loss beyond `start` that reveals a better choice.

    Returns `start` and that loss; None where more loss brings nothing.
    """
    for percent in range(int(100 * start) + 1, 101):
        after = _Choices(front, percent / 100, measures)
        if (after.best & (front.measures["loss"] > start)).any():
            return start, percent / 100
    return None


# -- several fronts --------------------------------------------------------------------------------

#: Marks at some of the points, so that curves also differ without their colours.
_MARKS = ("o", "s", "^", "D", "v", "P")
#: All points of a curve that has no more than this many, else some of them: ...
_ALL_MARKED = 15
#: ... along the way from the least privacy to the most.
_PLACES = np.linspace(0, 1, 9)


def plot_fronts(
    fronts: Mapping[str, Front],
    ax: Axes | None = None,
    *,
    privacy: str | None = None,
    cost: str | None = None,
    heading: str = "rows that may be suppressed",
    ordered: bool = True,
    size: tuple[float, float] = (style.COLUMN, 2.7),
    words: Sequence[str] = (),
) -> Axes:
    """Draw several fronts in one plot: of several limits η, or of several ways to anonymize.

    Solutions of two objectives that another one of the same front dominates are hollow: a baseline
    has some, a search has none. The first front says which measures are drawn; `heading` is what
    their names are. Where they are `ordered` by some limit, their colours show it. The other
    parameters are those of `plot_front`.
    """
    if not fronts:
        raise ConfigError("a comparison takes at least one front. Got none")
    own = ax is None
    if ax is None:
        ax = style.new_axes(*size)
    first = TradeOff.of(next(iter(fronts.values())), privacy, cost)
    tradeoffs = [TradeOff.of(front, first.privacy, first.cost) for front in fronts.values()]
    style.dress(ax)
    for which, name in (("x", first.privacy), ("y", first.cost)):
        columns = [t.privacies if which == "x" else t.costs for t in tradeoffs]
        style.scale_axis(ax, which, name, style.shown(name, np.concatenate(columns)))  # type: ignore[arg-type]
    style.title(ax, words)
    curves, entries = [], []
    for i, (label, tradeoff) in enumerate(zip(fronts, tradeoffs, strict=True)):
        again, place = divmod(i, len(style.COLOURS))
        look: dict[str, Any] = {
            "color": style.SEQUENCE(0.25 + 0.75 * i / max(1, len(fronts) - 1))
            if ordered
            else style.COLOURS[place],
            "marker": _MARKS[(i + again) % len(_MARKS)],  # a colour comes back with another mark
            "markersize": 3.2,
            "markeredgewidth": 0,
            "linewidth": 0.9,
        }
        curves.append(draw_tradeoff(ax, tradeoff, color=look["color"], dots=False))
        _mark_beaten(ax, fronts[label], tradeoff, look)
        x, y = curves[-1][::2].T
        marked = np.arange(len(tradeoff))
        if len(tradeoff) > _ALL_MARKED:
            marked = np.unique(np.abs(tradeoff.gains[:, None] - _PLACES).argmin(axis=0))
        ax.plot(x[marked], y[marked], zorder=4, **(look | {"linestyle": "none"}))
        entries.append(Line2D([], [], label=style.plain(label), **look))
    if own:
        style.lay_out(style.root_figure(ax))
    style.add_legend(ax, entries, heading=heading, lines=curves)
    return ax


def _mark_beaten(ax: Axes, front: Front, tradeoff: TradeOff, look: Mapping[str, Any]) -> None:
    """Mark solutions that are not on the stair, where no third objective keeps them."""
    beaten = ~np.isin(front.ids, tradeoff.ids)
    if len(front.objectives) > 2 or not beaten.any():
        return
    names = tradeoff.privacy, tradeoff.cost
    x, y = (style.shown(name, front.measures[name])[beaten] for name in names)
    hollow = {"linestyle": "none", "markerfacecolor": "none", "markeredgewidth": 0.6}
    ax.plot(x, y, zorder=3, **{**look, **hollow, "markeredgecolor": look["color"]})
