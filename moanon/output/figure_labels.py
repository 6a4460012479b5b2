"""Words beside points, legends and small pictures in corners, none on top of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import cos, radians, sin
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

from moanon.arrays import Floats
from moanon.output.figure_style import GREY, INK, SMALL, plain, root_figure, write

Side = Literal["above", "below", "right"]

_NOWHERE: Floats = np.empty((0, 2))

#: Directions to try, in degrees from the right: the empty side of a rising curve first.
_ABOVE = (135, 112, 158, 90, 180)
_BELOW = (315, 292, 338, 270, 0)
_ANGLES: dict[Side, tuple[int, ...]] = {
    "above": (*_ABOVE, *_BELOW, 45, 225),
    "below": (*_BELOW, *_ABOVE, 225, 45),
    "right": (45, 22, 68, 0, 90, 338, 112, 270, 180, 225),
}
#: Distances to try, in points.
_DISTANCES = (5, 9, 14, 20, 28, 38, 50)
#: From this distance on, a line leads from the words to their point.
_LED = 9
#: Keeps lines of the grid from running into letters.
_HALO = withStroke(linewidth=2, foreground="white")
#: Free space around words, in points.
_MARGIN = 1.5
#: Free space around pictures, in inches: from this much on, more is no better.
_GAP = 0.15
#: Places to try for a picture, in each direction.
_TRIES = 21


@dataclass(frozen=True)
class Label:
    """Words, the point they belong to, how they look, and on which side of it they stand best."""

    text: str
    x: float
    y: float
    color: str = INK
    size: float = SMALL
    side: Side = "above"


@dataclass(frozen=True)
class _Place:
    """Where words could stand: their box in pixels, and how far they are from their point."""

    box: Bbox
    distance: float


def place_labels(
    ax: Axes,
    labels: Sequence[Label],
    *,
    lines: Sequence[Floats] = (),
    points: Floats = _NOWHERE,
    boxes: Sequence[Bbox] = (),
) -> list[Bbox]:
    """Write labels where there is room for them, the first ones first.

    A label that would cover another one, a box, or what is drawn, wherever it is put, is left out:
    fewer words are better than words nobody can read.

    Parameters
    ----------
    ax : Axes
        In its final place, with its final limits.
    labels : sequence of Label
    lines : sequence of array (points, 2)
        What is drawn, in the units of the axes: not to be covered, nor the way between its points.
    points : array (points, 2)
        The same, without a way between.
    boxes : sequence of Bbox
        Places that are taken, in pixels.

    Returns
    -------
    list of Bbox
        All places that are taken now.
    """
    drawn = _trace(ax, lines, points)
    taken = list(boxes)
    for label in labels:
        place = _find_place(ax, label, drawn, taken)
        if place is not None:
            taken.append(place.box)
            _write_label(ax, label, place)
    return taken


def find_room(
    ax: Axes,
    width: float,
    height: float,
    *,
    lines: Sequence[Floats] = (),
    points: Floats = _NOWHERE,
    boxes: Sequence[Bbox] = (),
) -> Bbox | None:
    """Find the place for a picture that is farthest from everything else.

    Parameters
    ----------
    ax : Axes
        In its final place, with its final limits.
    width, height : float
        Of the picture, in inches.
    lines, points, boxes
        As for `place_labels`.

    Returns
    -------
    Bbox or None
        In shares of the axes; None where there is no room.
    """
    frame = ax.get_window_extent().padded(-2 * _MARGIN * _pixels_per_point(ax))
    drawn = _trace(ax, lines, points)
    inch = root_figure(ax).dpi
    size, whole = np.array([width, height]) * inch, np.array([frame.width, frame.height])
    if (whole < size).any():
        return None
    best, most = None, 0.0
    upwards = np.linspace(1, 0, _TRIES)
    for right in upwards[::-1].tolist():
        # All places above each other at once: one by one takes much longer.
        corners = frame.min + (whole - size) * np.stack([np.full(_TRIES, right), upwards], axis=1)
        gaps = _gaps(corners, corners + size, drawn) / inch
        # Once there is space enough, the corners are tidier than the middle of nothing.
        middles = np.abs(corners + size / 2 - frame.min - whole / 2).sum(axis=1) / whole.sum()
        for corner, gap, middle in zip(corners, gaps.tolist(), middles.tolist(), strict=True):
            score = min(gap, _GAP) + middle
            if gap <= _GAP / 4 or score <= most + 1e-6:
                continue
            box = Bbox.from_bounds(*corner, *size)
            if not any(box.overlaps(other) for other in boxes):
                best, most = box, score
    return None if best is None else best.transformed(ax.transAxes.inverted())


def _gaps(low: Floats, high: Floats, drawn: Floats) -> Floats:
    """How far the nearest pixel of what is drawn is from each of some boxes, across or upwards."""
    outside = np.maximum(low[:, None] - drawn, drawn - high[:, None])
    gaps: Floats = np.maximum(outside, 0).max(axis=2).min(axis=1, initial=np.inf)
    return gaps


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


def _trace(ax: Axes, lines: Sequence[Floats], points: Floats) -> Floats:
    """Pixels of points, and along lines, a few apart."""
    traced = [ax.transData.transform(points)]
    for line in lines:
        ends = ax.transData.transform(line)
        if len(ends) < 2:
            traced.append(ends)
            continue
        lengths = np.abs(np.diff(ends, axis=0)).max(axis=1)
        way = np.concatenate(([0], np.cumsum(lengths)))
        steps = np.linspace(0, way[-1], 2 + int(way[-1] / 3))
        traced.append(np.stack([np.interp(steps, way, ends[:, i]) for i in (0, 1)], axis=1))
    return np.concatenate(traced)


def _find_place(ax: Axes, label: Label, drawn: Floats, taken: Sequence[Bbox]) -> _Place | None:
    """The nearest free place; of equally near ones the first direction."""
    point = _pixels_per_point(ax)
    anchor = ax.transData.transform((label.x, label.y))
    width, height = _measure(ax, label)
    frame = ax.get_window_extent()
    for distance in _DISTANCES:
        for angle in _ANGLES[label.side]:
            place = _place_at(anchor, width, height, distance * point, angle)
            around = place.box.padded(2 * _MARGIN * point, _MARGIN * point)
            if _is_free(around, anchor, frame, drawn, taken):
                return replace(place, distance=distance)
    return None


def _place_at(anchor: Floats, width: float, height: float, distance: float, angle: float) -> _Place:
    """Words whose nearest corner or side is so far from their point."""
    right, up = cos(radians(angle)), sin(radians(angle))
    # Sideways words are centred on the point's height, words above or below on its side.
    left = anchor[0] + distance * right + width * (np.clip(1.6 * right, -1, 1) - 1) / 2
    low = anchor[1] + distance * up + height * (np.clip(1.6 * up, -1, 1) - 1) / 2
    return _Place(Bbox.from_bounds(left, low, width, height), distance)


def _is_free(box: Bbox, anchor: Floats, frame: Bbox, drawn: Floats, taken: Sequence[Bbox]) -> bool:
    if box.x0 < frame.x0 or box.x1 > frame.x1 or box.y0 < frame.y0 or box.y1 > frame.y1:
        return False
    if _reaches(box, drawn) or any(box.overlaps(other) for other in taken):
        return False
    # Nor may the line to the point run through other words.
    way = np.stack([_edges(box, anchor), anchor])
    return not any(crosses(other, way) for other in taken)


def crosses(box: Bbox, way: Floats) -> bool:
    """Tell whether a straight line from one point to another runs through a box."""
    return _reaches(box, np.linspace(way[0], way[1], 60))


def _reaches(box: Bbox, points: Floats) -> bool:
    """Whether a point lies in a box."""
    return bool(((points > box.min) & (points < box.max)).all(axis=1).any())


def _edges(box: Bbox, points: Floats) -> Floats:
    """The place in a box that is nearest to each point."""
    return np.clip(points, box.min, box.max)


def _measure(ax: Axes, label: Label) -> tuple[float, float]:
    text = write(ax.text(0, 0, label.text, transform=None, linespacing=1.1), label.size)
    extent = text.get_window_extent()
    text.remove()
    return extent.width, extent.height


def _write_label(ax: Axes, label: Label, place: _Place) -> None:
    anchor = ax.transData.transform((label.x, label.y))
    # In points, which stay right when the figure is saved with more pixels.
    corner = (place.box.min - anchor) / _pixels_per_point(ax)
    note = ax.annotate(
        label.text,
        (label.x, label.y),
        (float(corner[0]), float(corner[1])),
        textcoords="offset points",
        ha="left",
        va="bottom",
        linespacing=1.1,
        zorder=6,
    )
    write(note, label.size, label.color).set_path_effects([_HALO])
    if place.distance >= _LED:
        end = (_edges(place.box, anchor) - anchor) / _pixels_per_point(ax)
        ax.annotate(
            "",
            (label.x, label.y),
            (float(end[0]), float(end[1])),
            textcoords="offset points",
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "shrinkA": 0},
            zorder=2,
        )


def _pixels_per_point(ax: Axes) -> float:
    return root_figure(ax).dpi / 72
