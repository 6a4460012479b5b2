"""How figures look: sizes, colours, words on axes, and labels and legends where there is room.

Everything is set on the artists themselves. Neither pyplot nor its global settings are touched, so
figures can be drawn from any thread, never open a window, and leave a notebook's style alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import cos, radians, sin
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.markers import TICKDOWN, TICKLEFT
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import Bbox

from moanon.arrays import Floats, Values
from moanon.front import Front
from moanon.front.landmarks import spans_decades
from moanon.measures import find_measure

Which = Literal["x", "y"]

#: Widths in inches: one column of a page, and the whole page.
COLUMN, PAGE = 3.4, 7.0
#: Sizes of letters, in points: what axes say, and what stands beside points.
LABEL, SMALL = 8.0, 7.0

#: Okabe & Ito: different for everybody, colour-blind or not. Each use also has its own shape.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
BLUE, VERMILION, GREEN = COLOURS[:3]
#: The same two, dark enough for letters on white.
DARK_VERMILION, DARK_GREEN = "#A64700", "#00664A"
INK, GREY, FAINT = "#222222", "#6E6E6E", "#E3E3E3"
#: Of what stands back: dominated solutions.
PALE, PALE_GREY = "#A9C7DC", "#CFCFCF"
#: From little to much: it gets darker, so it also reads in grey. Without the yellow that is too
#: bright on white.
SEQUENCE = ListedColormap(colormaps["cividis_r"](np.linspace(0.15, 1, 256)))
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
#: From this many points on, a vector format keeps them as a picture: small, and as sharp as dots.
RASTER = 800
#: Ticks are these, times a power of ten.
_STEPS = [1, 2, 2.5, 5, 10]

# -- what measures are called --------------------------------------------------------------------


def short_name(name: str) -> str:
    """Return what a measure is called beside a point."""
    return find_measure(name).short or plain(name.replace("_", " "))


def _long_name(name: str) -> str:
    measure = find_measure(name)
    words = _with_unit(measure.label or plain(name.replace("_", " ")), name)
    # Everybody takes more of a privacy for more privacy, unless it is said.
    turned = measure.privacy and measure.direction == "min"
    return f"{words}: lower is more private" if turned else words


def _with_unit(words: str, name: str) -> str:
    return f"{words} (%)" if find_measure(name).is_share else words


def shown(name: str, values: npt.ArrayLike) -> Floats:
    """Values of a measure as axes show them: shares in percent."""
    return np.asarray(values, dtype=np.float64) * (100 if find_measure(name).is_share else 1)


# -- figures and axes ----------------------------------------------------------------------------


def new_figure(width: float, height: float) -> Figure:
    """Make a figure that belongs to nobody else."""
    figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def new_axes(width: float = COLUMN, height: float = 2.6) -> Axes:
    """Make a figure with one place to draw on."""
    return new_figure(width, height).add_subplot()


def root_figure(ax: Axes) -> Figure:
    """Return the figure that axes are part of, however deep."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("these axes are part of no figure any more")
    return figure


def lay_out(figure: Figure) -> None:
    """Give all axes their final place, so that labels can be laid out by what is free."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)


def pin_labels(figure: Figure) -> None:
    """Fix the places of the axes' labels, for figures that become files.

    Otherwise every format looks for them again, which takes a third of its time.
    """
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if axis.label.get_text():
                axis.get_tightbbox()
                at = axis.label.get_transform().transform(axis.label.get_position())
                axis.set_label_coords(*ax.transAxes.inverted().transform(at))


def dress(ax: Axes) -> None:
    """Quiet frame, small letters, nothing on top of the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.spines[["left", "bottom"]].set_linewidth(0.6)
    ax.tick_params(which="both", labelsize=SMALL, color=GREY, labelcolor=INK, width=0.6)
    ax.tick_params(which="major", length=3)
    ax.tick_params(which="minor", length=1.5)
    ax.set_axisbelow(True)
    ax.grid(visible=True, axis="y", color=FAINT, linewidth=0.5)


def scale_axis(
    ax: Axes,
    which: Which,
    name: str,
    values: npt.ArrayLike,
    *,
    log: bool | None = None,
    short: bool = False,
    most: int | None = None,
) -> None:
    """Choose the scale of an axis for values of a measure, and name it.

    The scale is logarithmic where the values span a decade or more and are neither shares nor few.
    `short` means little room for words and numbers; `most` numbers fit on a linear scale.
    """
    if log is None and (find_measure(name).is_share or find_measure(name).unit == "values"):
        log = False  # few of them, and of each the difference counts
    numbers = np.asarray(values, dtype=np.float64)
    scale_numbers(ax, which, numbers, log=log, short=short, most=most)
    words = _with_unit(short_name(name), name) if short else _long_name(name)
    write(getattr(ax, f"set_{which}label")(words), LABEL)


def scale_numbers(
    ax: Axes,
    which: Which,
    values: Values,
    *,
    log: bool | None = None,
    short: bool = False,
    most: int | None = None,
) -> None:
    """Choose the scale of an axis for numbers; logarithmic where they span a decade or more."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    if len(values) and values.min() == values.max():
        axis.set_major_locator(FixedLocator([float(values[0])]))
    elif spans_decades(values) if log is None else log:
        (ax.set_xscale if which == "x" else ax.set_yscale)("log")
        decades = np.log10(values.max() / values.min())
        few = short or decades > 2.2
        named = (1,) if few else (1, 2, 5)
        axis.set_major_locator(LogLocator(subs=named))
        axis.set_minor_locator(NullLocator())
        ax.add_artist(_SmallTicks(ax, which, [i for i in range(1, 10) if i not in named]))
    else:
        whole = bool(np.equal(values, np.round(values)).all())
        number = most or (8 if whole else 6)
        axis.set_major_locator(MaxNLocator(number, steps=_STEPS, integer=whole))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _compact(value)))


class _SmallTicks(Line2D):
    """The ticks without a number of a logarithmic axis, as one line of marks.

    Ticks of matplotlib are five artists each, and take as long as the rest of the axis.
    """

    def __init__(self, ax: Axes, which: Which, times: Sequence[int]) -> None:
        axis, mark = (ax.xaxis, TICKDOWN) if which == "x" else (ax.yaxis, TICKLEFT)
        look: dict[str, Any] = {"marker": mark, "markersize": 1.5, "markeredgewidth": 0.6}
        super().__init__([], [], color=GREY, linestyle="none", zorder=0.5, clip_on=False, **look)
        self.set_transform(getattr(ax, f"get_{which}axis_transform")("tick1"))
        self.set_in_layout(False)
        self._axis, self._which = axis, which
        self._locator = LogLocator(subs=times)
        self._locator.set_axis(axis)

    def draw(self, renderer: RendererBase) -> None:
        low, high = sorted(self._axis.get_view_interval())
        places = np.asarray(self._locator())
        places = places[(places >= low) & (places <= high)]
        edge = np.zeros(len(places))
        self.set_data(*((places, edge) if self._which == "x" else (edge, places)))
        super().draw(renderer)


def _compact(value: float) -> str:
    return f"{tick(value / 1e6)} M" if abs(value) >= 1e6 else tick(value)


def add_colorbar(axes: Sequence[Axes], colors: ScalarMappable, name: str) -> None:
    """Say what colours mean, at the right of the axes they are used in."""
    bar = root_figure(axes[0]).colorbar(colors, ax=list(axes), pad=0.02, aspect=30)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _compact(value)))
    bar.ax.tick_params(labelsize=SMALL, length=2, width=0.6, color=GREY, labelcolor=INK)
    write(bar.ax.set_ylabel(_with_unit(short_name(name), name)), SMALL)


def round_limit(name: str, values: Values) -> float:
    """Return a round number at least a quarter of the values is within: of shares, 5 % or more."""
    quarter = float(np.quantile(values, 0.25))
    if find_measure(name).is_share:
        return float(np.ceil(20 * quarter) / 20)
    step = 10 ** np.floor(np.log10(quarter)) if quarter > 0 else 1.0
    return float(np.ceil(quarter / step) * step)


def limit_text(name: str, limit: float) -> str:
    """Write that a measure is limited."""
    level = percent_text(limit) if find_measure(name).is_share else tick(limit)
    return f"{short_name(name)} at most {level}"


def percent_text(share: float) -> str:
    """Write a share that somebody chose in percent, with as many digits as it has."""
    return f"{tick(round(100 * share, 6))} %"


def tick(value: float) -> str:
    """Write a number with as many digits as it has."""
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return text if text not in ("-0", "") else "0"


# -- words ---------------------------------------------------------------------------------------


def write(text: Text, size: float = SMALL, color: str = INK) -> Text:
    """Show a text as it is: what comes from data is no formula, whatever signs it holds."""
    text.set_parse_math(False)
    text.set_fontsize(size)
    text.set_color(color)
    return text


def title(place: Axes | Figure, words: Iterable[str], *, columns: int = 1) -> None:
    """Write in small letters above a place what it shows, on as many lines as it takes.

    Each of the words stays on one line and is cut if it is longer. `columns` is the number of axes
    beside each other in the figure.
    """
    if isinstance(place, Figure):
        figure, text = place, place.suptitle("", x=0.01, ha="left")
    else:
        figure, text = root_figure(place), place.set_title("", loc="left", pad=6, y=1.0)
    write(text, SMALL, GREY)
    # Axes do not reach the edges of their share of the figure.
    room = (figure.get_figwidth() / columns - 0.6) * figure.dpi

    def fits(line: str) -> bool:
        text.set_text(line)
        return text.get_window_extent().width <= room

    lines: list[str] = []
    for word in (plain(word) for word in words if word):
        if lines and fits(joined := f"{lines[-1]}  ·  {word}"):
            lines[-1] = joined
        else:
            lines.append(_cut(word, fits))
    text.set_text("\n".join(lines))


def _cut(word: str, fits: Callable[[str], bool]) -> str:
    """As much of a word as fits a line."""
    if fits(word):
        return word
    ends = range(len(word))
    return f"{word[: max(bisect_left(ends, True, key=lambda i: not fits(word[:i] + '…')) - 1, 0)]}…"


def plain(text: str) -> str:
    """One line of signs that the letters in use can show; any other sign becomes a box."""
    font = get_font(findfont(FontProperties()))
    return "".join(
        sign if sign.isprintable() and font.get_char_index(ord(sign)) else "\N{WHITE SQUARE}"
        for sign in text
    )


def problem_words(front: Front) -> str:
    """What a front's rule allows, in a few words."""
    rule = front.suppression
    if rule.kind == "none":
        return "no row suppressed"
    if rule.kind == "weighted-k":
        return f"groups below weighted-{'k' if rule.by == 'k' else 'ℓ'} suppressed"
    return f"at most {percent_text(rule.eta)} of rows suppressed"


# -- labels and legends where there is room --------------------------------------------------------

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


def place_labels(
    ax: Axes,
    labels: Sequence[Label],
    *,
    lines: Sequence[Floats] = (),
    points: Floats = _NOWHERE,
    boxes: Sequence[Bbox] = (),
) -> None:
    """Write labels where there is room for them, the first ones first.

    A label without a free place is left out: fewer words are better than words nobody can read. The
    axes are in their final place, with their final limits. `lines` are drawn, in the units of the
    axes: neither their points nor the way between are covered; `points` are the same without a way
    between; `boxes` are places that are taken, in pixels.
    """
    drawn = _trace(ax, lines, points)
    taken = list(boxes)
    for label in labels:
        place = _find_place(ax, label, drawn, taken)
        if place is not None:
            box, distance = place
            taken.append(box)
            _write_label(ax, label, box, led=distance >= _LED)


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

    `width` and `height` are in inches, `lines`, `points` and `boxes` as for `place_labels`. The
    place is given in shares of the axes; None where there is no room.
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


def _find_place(
    ax: Axes, label: Label, drawn: Floats, taken: Sequence[Bbox]
) -> tuple[Bbox, int] | None:
    """The nearest free box in pixels, and its distance; of equally near ones the first angle."""
    point = _pixels_per_point(ax)
    anchor = ax.transData.transform((label.x, label.y))
    width, height = _measure(ax, label)
    frame = ax.get_window_extent()
    for distance in _DISTANCES:
        for angle in _ANGLES[label.side]:
            box = _box_at(anchor, width, height, distance * point, angle)
            around = box.padded(2 * _MARGIN * point, _MARGIN * point)
            if _is_free(around, anchor, frame, drawn, taken):
                return box, distance
    return None


def _box_at(anchor: Floats, width: float, height: float, distance: float, angle: float) -> Bbox:
    """Words whose nearest corner or side is so far from their point."""
    right, up = cos(radians(angle)), sin(radians(angle))
    # Sideways words are centred on the point's height, words above or below on its side.
    left = anchor[0] + distance * right + width * (np.clip(1.6 * right, -1, 1) - 1) / 2
    low = anchor[1] + distance * up + height * (np.clip(1.6 * up, -1, 1) - 1) / 2
    return Bbox.from_bounds(left, low, width, height)


def _is_free(box: Bbox, anchor: Floats, frame: Bbox, drawn: Floats, taken: Sequence[Bbox]) -> bool:
    if box.x0 < frame.x0 or box.x1 > frame.x1 or box.y0 < frame.y0 or box.y1 > frame.y1:
        return False
    if _reaches(box, drawn) or any(box.overlaps(other) for other in taken):
        return False
    # Nor may the line to the point run through other words.
    way = np.stack([_edges(box, anchor), anchor])
    return not any(crosses(other, way) for other in taken)


def crosses(box: Bbox, way: Floats) -> bool:
    """Return whether a straight line from one point to another runs through a box."""
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


def _write_label(ax: Axes, label: Label, box: Bbox, *, led: bool) -> None:
    anchor = ax.transData.transform((label.x, label.y))
    # In points, which stay right when the figure is saved with more pixels.
    corner = (box.min - anchor) / _pixels_per_point(ax)
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
    if led:
        end = (_edges(box, anchor) - anchor) / _pixels_per_point(ax)
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
