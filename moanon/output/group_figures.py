"""Figures of group sizes: how many rows hide among how many others (insets of D Fig. 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from moanon.arrays import Floats
from moanon.front import Front
from moanon.front.landmarks import TradeOff, find_landmarks, spell
from moanon.output.figure_labels import add_legend, find_room
from moanon.output.figure_style import (
    BLUE,
    COLUMN,
    GREY,
    INK,
    LABEL,
    SEQUENCE,
    dress,
    new_axes,
    root_figure,
    scale_numbers,
    settle,
    short_name,
    shown,
    title,
    write,
)

#: Lines of several solutions differ in this, too.
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))

#: Width and height of an inset in inches, and how much of it is around its frame: numbers, words.
_INSET, _SURROUND = (1.15, 0.95), (0.33, 0.27, 0.05, 0.14)
#: Knees beyond this share of the whole cost are nobody's choice.
_AFFORDABLE = 2 / 3
#: Letters of an inset, in points.
_TINY = 5.5


def plot_group_sizes(
    front: Front,
    solutions: int | Sequence[int],
    ax: Axes | None = None,
    *,
    words: Sequence[str] = (),
) -> Axes:
    """Draw how the rows of solutions are spread over group sizes.

    A curve is the running total of ``|E_i|``, the rows in groups of size i (D §5.1), in percent of
    all rows. It starts at the share of rows that are suppressed. The farther to the right it rises,
    the more others each row hides among.

    Parameters
    ----------
    front : Front
        With its table.
    solutions : int or sequence of int
        Numbers of the solutions.
    ax : Axes, optional
        Where to draw. Default: a new figure as wide as a column.
    words : sequence of str
        What to say above.

    Raises
    ------
    ConfigError
        If there is no such solution, or the front was loaded without its table.
    """
    chosen = [solutions] if isinstance(solutions, int) else list(solutions)
    own = ax is None
    if ax is None:
        ax = new_axes(COLUMN, 2.4)
    tradeoff = TradeOff.of(front)
    curves, entries = [], []
    for i, solution in enumerate(chosen):
        look: dict[str, Any] = {
            "color": SEQUENCE(0.35 + 0.65 * i / max(1, len(chosen) - 1)),
            "linestyle": _DASHES[i % len(_DASHES)],
            "linewidth": 1.2,
        }
        curves.append(draw_group_sizes(ax, front, solution, **look))
        values = (
            f"{short_name(name)} {spell(name, float(front.measures[name][solution - 1]))}"
            for name in (tradeoff.privacy, tradeoff.cost)
        )
        entries.append(Line2D([], [], label=", ".join(values), **look))
    dress(ax)
    scale_numbers(ax, "x", np.concatenate(curves)[:, 0])
    write(ax.set_xlabel("group size i"), LABEL)
    suppressed = any(front.measures["suppressed"][solution - 1] for solution in chosen)
    where = "suppressed or in\n" if suppressed else "in "
    write(ax.set_ylabel(f"rows {where}groups up to i (%)"), LABEL)
    title(ax, words)
    if own:
        settle(root_figure(ax))
    add_legend(ax, entries, lines=curves)
    return ax


def draw_group_sizes(ax: Axes, front: Front, solution: int, **look: Any) -> Floats:
    """Draw the running total of one solution; return its corners."""
    sizes, shares = _running_total(front, solution)
    corners = np.stack([np.repeat(sizes, 2)[1:], np.repeat(shares, 2)[:-1]], axis=1)
    ax.plot(*corners.T, zorder=3, **look)
    ax.set_ylim(-3, 103)
    return corners


def add_insets(
    ax: Axes, front: Front, tradeoff: TradeOff, solutions: Sequence[int], lines: Sequence[Floats]
) -> tuple[list[Bbox], list[Floats]]:
    """Draw group sizes of solutions in small, where there is room beside a trade-off.

    Returns
    -------
    list of Bbox
        The places they take, in pixels.
    list of array (2, 2)
        The lines from them to their solutions.
    """
    taken: list[Bbox] = []
    leads: list[Floats] = []
    # From above to below, so that the lines to the solutions do not cross.
    costs = front.measures[tradeoff.cost]
    for solution in sorted(solutions, key=lambda number: -costs[number - 1]):
        room = find_room(ax, *_INSET, lines=lines, boxes=taken)
        if room is None:
            continue
        taken.append(room.transformed(ax.transAxes))
        inner = _draw_inset(ax, room, front, solution)
        names = (tradeoff.privacy, tradeoff.cost)
        point = [float(shown(name, front.measures[name][solution - 1])) for name in names]
        leads.append(_lead(ax, inner, point))
    return taken, leads


def _draw_inset(ax: Axes, room: Bbox, front: Front, solution: int) -> Bbox:
    """Draw group sizes within a place, its numbers and words included; return the inner frame."""
    left, low, right, top = _SURROUND
    scale = np.array([room.width, room.height]) / _INSET
    corners = room.min + scale * (left, low), room.max - scale * (right, top)
    inner = Bbox(np.stack(corners))
    small = ax.inset_axes(inner.bounds, zorder=5)
    drawn = draw_group_sizes(small, front, solution, color=BLUE, linewidth=1)
    dress(small)
    scale_numbers(small, "x", drawn[:, 0])
    small.set_yticks([0, 50, 100])
    small.tick_params(labelsize=_TINY, pad=1.5)
    write(small.set_xlabel("group size", labelpad=0.5), _TINY)
    write(small.set_title("% of rows up to it", loc="left", pad=2), _TINY, GREY)
    return inner


def _lead(ax: Axes, inner: Bbox, point: Sequence[float]) -> Floats:
    """Draw a line from an inset to its solution; return its ends."""
    ax.plot(*point, "o", markerfacecolor="none", markeredgecolor=INK, markersize=6.5, zorder=6)
    end = ax.transAxes.inverted().transform(ax.transData.transform(point))
    start = np.clip(end, inner.min, inner.max)
    look = {"arrowstyle": "-", "color": INK, "linewidth": 0.6, "shrinkA": 2, "shrinkB": 3}
    share = "axes fraction"
    ax.annotate("", tuple(end), tuple(start), xycoords=share, textcoords=share, arrowprops=look)
    return ax.transData.inverted().transform(ax.transAxes.transform([start, end]))


def _running_total(front: Front, solution: int) -> tuple[Floats, Floats]:
    """Sizes of the kept groups, and the percentage of rows suppressed or in groups up to it."""
    (kept,) = front.kept_sizes([solution])
    total = kept.sum() + front.measures["suppressed"][solution - 1]
    distinct, counts = np.unique(kept, return_counts=True)
    shares = 100 * (total - kept.sum() + np.cumsum(distinct * counts)) / total
    # It comes from the left of the smallest group.
    start = 100 * (total - kept.sum()) / total
    return (
        np.concatenate(([min(1, distinct[0])], distinct)).astype(np.float64),
        np.concatenate(([start], shares)),
    )


def typical_solutions(front: Front, number: int) -> list[int]:
    """Numbers of solutions to look at closely: the foremost affordable knees, by their privacy.

    Where there are too few of them, solutions evenly spread over the way from the least privacy to
    the most.
    """
    landmarks = find_landmarks(front)
    affordable = [knee for knee in landmarks.knees if knee.rise <= _AFFORDABLE]
    knees = sorted(affordable, key=lambda knee: -knee.worth)[:number]
    if len(knees) == number:
        return sorted((knee.id for knee in knees), key=landmarks.tradeoff.ids.tolist().index)
    tradeoff = landmarks.tradeoff
    wanted = (np.arange(number) + 0.5) / number
    nearest = np.abs(tradeoff.gains[:, None] - wanted).argmin(axis=0)
    return list(dict.fromkeys(tradeoff.ids[nearest].tolist()))
