"""What figures of a trade-off are made of: the curve, its landmarks, a limit, a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from moanon.front.landmarks import Landmarks, TradeOff, spell
from moanon.output.labels import Label, find_room
from moanon.output.style import (
    BLUE,
    DARK_GREEN,
    DARK_VERMILION,
    GREEN,
    GREY,
    INK,
    SMALL,
    VERMILION,
    plain,
    root_figure,
    short_name,
    shown,
    told_share,
    write,
)

__all__ = [
    "FLAT",
    "KNEE",
    "RASTER",
    "RING",
    "add_legend",
    "draw_limit",
    "draw_tradeoff",
    "mark_flats",
    "mark_knees",
    "name_solutions",
    "stair",
]

Floats = npt.NDArray[np.float64]

#: From this many points on, a vector format keeps them as a picture: small, and as sharp as dots.
RASTER = 800

#: How landmarks look.
KNEE: dict[str, Any] = {
    "marker": "D",
    "color": VERMILION,
    "markersize": 4.2,
    "markeredgecolor": "white",
    "markeredgewidth": 0.6,
    "linestyle": "none",
}
FLAT: dict[str, Any] = {
    "color": GREEN,
    "linewidth": 4.5,
    "alpha": 0.35,
    "solid_capstyle": "round",
}
#: How a solution that stands out among many is encircled.
RING: dict[str, Any] = {
    "marker": "o",
    "markersize": 8,
    "markerfacecolor": "none",
    "markeredgecolor": VERMILION,
    "markeredgewidth": 1.1,
    "linestyle": "none",
    "zorder": 5,
}


def stair(tradeoff: TradeOff) -> Floats:
    """Corners of the curve: whoever wants a little more than a solution has pays for the next."""
    x, y = shown(tradeoff.privacy, tradeoff.privacies), shown(tradeoff.cost, tradeoff.costs)
    return np.stack([np.repeat(x, 2)[:-1], np.repeat(y, 2)[1:]], axis=1)


def draw_tradeoff(ax: Axes, tradeoff: TradeOff, *, color: str = BLUE, dots: bool = True) -> Floats:
    """Draw the solutions on their stair; return its corners."""
    corners = stair(tradeoff)
    many = len(tradeoff) >= RASTER
    ax.plot(*corners.T, color=color, linewidth=0.8, alpha=0.7, zorder=3, rasterized=many)
    if dots:
        size = 1.7 if len(tradeoff) > 250 else 2.6
        x, y = corners[::2].T
        style: dict[str, Any] = {"markersize": size, "markeredgewidth": 0, "rasterized": many}
        ax.plot(x, y, "o", color=color, zorder=4, **style)
    return corners


def mark_knees(ax: Axes, landmarks: Landmarks, most: int) -> list[Label]:
    """Mark the sharpest knees; return what to write beside them, the sharpest first."""
    privacy, cost = landmarks.tradeoff.privacy, landmarks.tradeoff.cost
    labels = []
    for knee in sorted(landmarks.knees, key=lambda knee: -knee.worth)[:most]:
        x, y = float(shown(privacy, knee.privacy)), float(shown(cost, knee.cost))
        ax.plot([x], [y], zorder=5, **KNEE)
        text = _both(landmarks.tradeoff, knee.privacy, knee.cost)
        labels.append(Label(text, x, y, DARK_VERMILION))
    return labels


def name_solutions(tradeoff: TradeOff) -> list[Label]:
    """Return what to write beside all solutions."""
    both = zip(tradeoff.privacies.tolist(), tradeoff.costs.tolist(), strict=True)
    places = stair(tradeoff)[::2].tolist()
    return [Label(_both(tradeoff, *of), *at) for of, at in zip(both, places, strict=True)]


def _both(tradeoff: TradeOff, privacy: float, cost: float) -> str:
    words = f"{short_name(tradeoff.privacy)} {spell(tradeoff.privacy, privacy)}"
    return f"{words}\n{spell(tradeoff.cost, cost)}"


def mark_flats(ax: Axes, landmarks: Landmarks, most: int) -> list[Label]:
    """Mark all flat stretches; return what to write beside the most remarkable ones."""
    tradeoff = landmarks.tradeoff
    privacy, cost = tradeoff.privacy, tradeoff.cost
    corners = stair(tradeoff)
    places = {number: place for place, number in enumerate(tradeoff.ids.tolist())}
    labels = []
    for flat in sorted(landmarks.flats, key=lambda flat: -flat.worth):
        start, stop = places[flat.first], places[flat.last]
        ax.plot(*corners[2 * start : 2 * stop + 1].T, zorder=2, **FLAT)
        ends = shown(privacy, [flat.privacy_from, flat.privacy_to])
        middle = np.sqrt(ends.prod()) if ax.get_xscale() == "log" else ends.mean()
        height = float(shown(cost, np.interp(middle, ends, [flat.cost_to, flat.cost_to])))
        told = (spell(privacy, end) for end in (flat.privacy_from, flat.privacy_to))
        text = f"{' to '.join(told)}\nfor {flat.price}"
        labels.append(Label(text, float(middle), height, DARK_GREEN, side="below"))
    return labels[:most]


def draw_limit(ax: Axes, tradeoff: TradeOff, limit: float) -> tuple[Floats, list[Label]]:
    """Draw a limit of the cost, and mark the best solution within it; return line and words."""
    level = float(shown(tradeoff.cost, limit))
    ax.axhline(level, color=INK, linewidth=0.7, linestyle=(0, (4, 3)), zorder=2)
    line = np.array([[end, level] for end in ax.get_xlim()])
    within = np.flatnonzero(tradeoff.costs <= limit)
    if not len(within):
        return line, []
    best = within[-1]
    x, y = stair(tradeoff)[2 * best]
    ax.plot([x], [y], "s", color=INK, markersize=4, zorder=6)
    words = f"{short_name(tradeoff.privacy)} {spell(tradeoff.privacy, tradeoff.privacies[best])}"
    text = f"{words}\nwithin {told_share(limit)}"
    return line, [Label(text, float(x), float(y), INK, side="below")]


def add_legend(
    ax: Axes,
    entries: Sequence[Line2D],
    *,
    heading: str = "",
    lines: Sequence[Floats] = (),
    points: Floats | None = None,
    boxes: Sequence[Bbox] = (),
) -> list[Bbox]:
    """Explain what is drawn where there is most room; return the place it takes, in pixels.

    Points are covered only where there is no other room.
    """

    def make(loc: Any) -> Legend:
        legend = ax.legend(
            handles=entries,
            loc=loc,
            title=plain(heading) or None,
            facecolor="white",
            edgecolor="none",
            framealpha=0.85,
            fontsize=SMALL,
            handlelength=1.4,
            alignment="left",
            borderpad=0.5,
            labelspacing=0.35,
        )
        legend.set_zorder(6)
        for text in legend.get_texts():
            write(text, SMALL)
        write(legend.get_title(), SMALL, GREY)
        return legend

    if not entries:
        return []
    draft, dpi = make("upper left"), root_figure(ax).dpi
    extent = draft.get_window_extent()
    size = extent.width / dpi, extent.height / dpi
    room = None
    if points is not None:
        room = find_room(ax, *size, lines=lines, points=points, boxes=boxes)
    if room is None:
        room = find_room(ax, *size, lines=lines, boxes=boxes)
    if room is None:
        draft.remove()
        return []
    return [make((room.x0, room.y0)).get_window_extent()]
