"""How figures look: sizes, colours, words on axes.

Everything is set on the artists themselves. Neither pyplot nor its global settings are touched, so
figures can be drawn from any thread, never open a window, and leave a notebook's style alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
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
from matplotlib.lines import Line2D
from matplotlib.markers import TICKDOWN, TICKLEFT
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from moanon.arrays import Floats, Values
from moanon.front import Front
from moanon.front.landmarks import spans_decades
from moanon.measures import find_measure

Which = Literal["x", "y"]

#: Widths in inches: one column of a page, and the whole page.
COLUMN, PAGE = 3.4, 7.0
#: Sizes of letters, in points: what axes say, and what stands beside points.
LABEL, SMALL = 8.0, 7.0

#: Okabe & Ito: told apart whatever colours one sees. Each use also has a shape of its own.
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


def inches(ax: Axes) -> tuple[float, float]:
    """Width and height of the place to draw on."""
    extent, dpi = ax.get_window_extent(), root_figure(ax).dpi
    return extent.width / dpi, extent.height / dpi


def settle(figure: Figure) -> None:
    """Give all axes their final place, so that labels can be laid out by what is free."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)


def pin_labels(figure: Figure) -> None:
    """Keep what axes are called where it stands.

    Every format would look for its place again, which takes a third of its time. Whoever goes on
    drawing in a notebook wants just that, so this is for figures that become files.
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
    """Choose the scale of an axis for a measure, and say what it shows.

    Parameters
    ----------
    ax : Axes
    which : {"x", "y"}
    name : str
        The measure.
    values : array
        What will be drawn (in the units of the axis).
    log : bool, optional
        Default: where the values span a decade or more, and are neither shares nor few.
    short : bool
        Whether there is little room for words and numbers.
    most : int, optional
        Numbers that there is room for on a linear scale. Default: some eight.
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

    As ticks of matplotlib each would be five things to make, to place and to measure, which took
    as long as everything else on the axis.
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
    """Say in small letters what is drawn, on as many lines as it takes.

    Parameters
    ----------
    place : Axes or Figure
        What to write above.
    words : iterable of str
        Kept together each, unless longer than a line: then it is cut.
    columns : int
        How many axes stand beside each other in the figure.
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
