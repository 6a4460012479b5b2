"""Pictures of the diagnosis centre's answers.

Functions take an ``ax`` (or make a figure of their own) and return it, so that they can be
combined; `draw_answer` chooses the picture that goes with a question and writes it to a file.
Colours differ for everybody (Okabe and Ito); what they mean is also shown by a shape or in words.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from moanon.arrays import Floats
from moanon.diagnosis import BorderAnswer, CurvesAnswer, Overview, SetsAnswer, SubsetAnswer, listed
from moanon.output.figure_files import save_figure
from moanon.output.figure_style import COLOURS, new_axes, new_figure, plain

if TYPE_CHECKING:
    from moanon.diagnosis import Curve, DiagnosisAnswer, PrivacyModel, RatedSet

SAFE, UNSAFE, IMPLIED = *COLOURS[:2], "#B8B8B8"
_LINES = (*COLOURS, "#000000")
#: Sets of each side of a border that are drawn one by one.
_SETS = 30
#: Columns up to which each set of columns is a dot of its own, and up to which dots have names.
_DOTTED, _NAMED = 10, 5
#: Columns up to which a heat map carries its numbers.
_NUMBERED = 14
_SMALL = 8
#: Width and height in inches of a figure with one part.
_SIZE = (6.4, 4.2)
#: Columns and pairs of an overview.
_RISKIEST = 8


def draw_answer(answer: DiagnosisAnswer | Overview, path: Path, ending: str) -> None:
    """Draw the picture of a question into a file, as ``png``, ``svg`` or ``pdf``.

    One set: its curve. A border: the lattice and the sets of the border. Every set: a heat map of
    all pairs. Every curve: what each level costs, by the number of columns. An overview: who is
    alone, by which columns.
    """
    if isinstance(answer, Overview):
        figure = new_figure(*_SIZE)
        plot_overview(answer, figure.add_subplot())
    elif isinstance(answer, BorderAnswer):
        figure = _draw_border(answer)
    elif isinstance(answer, SubsetAnswer | CurvesAnswer):
        figure = new_figure(*_SIZE)
        ax = figure.add_subplot()
        if isinstance(answer, SubsetAnswer):
            _mark_question(answer, plot_curve(answer.curve, ax))
        else:
            plot_curves_by_size(answer, ax)
    else:
        number = len(answer.asked.columns)
        side = float(np.clip(2.4 + 0.62 * number, 4.5, 16))
        figure = new_figure(side + 1, side)
        plot_heat_map(answer, figure.add_subplot())
    save_figure(figure, path, ending)


def _tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color="#E6E6E6", linewidth=0.6)
    ax.set_axisbelow(True)


def _note(
    ax: Axes, text: str, at: tuple[float, float], shift: tuple[float, float], **look: Any
) -> None:
    """Write small words beside a point, shifted by so many points of print."""
    ax.annotate(text, at, shift, textcoords="offset points", **({"fontsize": _SMALL} | look))


def _short(name: str, longest: int = 28) -> str:
    """Make a name fit for a label; a dollar sign would start a formula."""
    cut = name if len(name) <= longest else f"{name[: longest - 1]}…"
    return plain(cut).replace("$", r"\$")


def _joined(names: Sequence[str], longest: int = 70) -> str:
    return _short(listed(names), longest)


# -- one set ---------------------------------------------------------------------------------------


def plot_curve(curves: Curve | Mapping[str, Curve], ax: Axes | None = None) -> Axes:
    """Best level, as a staircase, against the share of rows that may be suppressed."""
    ax = ax or new_axes(*_SIZE)
    named = curves if isinstance(curves, Mapping) else {"": curves}
    for (name, curve), colour in zip(named.items(), _cycle(len(named)), strict=True):
        frame = curve.to_frame()
        share = [*frame["delta"], 1.0]
        levels = frame[curve.model.measure].tolist()
        ax.step(
            share,
            [*levels, levels[-1]],
            where="post",
            color=colour,
            linewidth=1.6,
            label=_short(name, 70),
        )
    model = next(iter(named.values())).model
    ax.set_xlabel("share of rows that may be suppressed, δ")
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_xlim(0, 1)
    ax.set_ylabel(f"best {model.symbol}")
    if model.measure == "k":
        _k_axis(ax, max(curve.strengths[-1].item() for curve in named.values()))
    _tidy(ax)
    if isinstance(curves, Mapping):
        ax.legend(frameon=False, fontsize=_SMALL)
    return ax


def _cycle(number: int) -> list[str]:
    return [_LINES[i % len(_LINES)] for i in range(number)]


def _k_axis(ax: Axes, highest: float) -> None:
    """Show k on a logarithmic axis where it spans decades."""
    if highest >= 20:
        ax.set_yscale("log")
        ax.set_ylim(0.9, highest * 1.3)
        ax.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    else:
        ax.set_ylim(0, highest * 1.1)
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def _mark_question(answer: SubsetAnswer, ax: Axes) -> None:
    """Show what was given, and what was found for it."""
    asked, model = answer.asked, answer.asked.model
    where = _joined(asked.subset or (), 60)
    ax.set_title(f"Question {asked.number}: {where}", fontsize=10, loc="left")
    if asked.level is not None:
        ax.axhline(asked.level, color="#555555", linewidth=0.9, linestyle=(0, (4, 3)))
        low, high = ax.get_ylim()
        ax.set_ylim(low, max(high, asked.level * 1.3))
        text = f"{model.symbol} {asked.form} {asked.level:,g}"
        _note(ax, text, (1, asked.level), (-3, 3), ha="right", color="#555555")
    if asked.asks_delta:
        point = (
            None
            if answer.suppressed is None or asked.level is None
            else (answer.suppressed / asked.rows, answer.curve.within(answer.suppressed)[0])
        )
    else:
        if asked.delta:
            ax.axvline(asked.delta, color="#555555", linewidth=0.9, linestyle=(0, (4, 3)))
        point = (asked.delta or 0.0, answer.level)
    if point is not None:
        colour = SAFE if answer.yes else UNSAFE
        ax.plot(*point, marker="o" if answer.yes else "X", color=colour, markersize=8, zorder=5)
        side = "right" if point[0] > 0.7 else "left"
        text = f"δ = {point[0]:.4g}, {model.symbol} = {model.show(point[1])}"
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.9, "pad": 1}
        look = {"fontsize": 9, "ha": side, "color": colour, "bbox": box, "zorder": 6}
        _note(ax, text, point, (-9 if side == "right" else 9, 8), **look)


# -- the border ------------------------------------------------------------------------------------


def _draw_border(answer: BorderAnswer) -> Figure:
    columns = answer.asked.columns
    shown = min(len(answer.safe), _SETS) + min(len(answer.unsafe), _SETS)
    width = float(np.clip(4 + 0.22 * shown, 7.5, 17))
    lower = 1.1 + 0.27 * len(columns)
    upper = 1.4 + 0.38 * min(answer.asked.largest, 12)
    figure = new_figure(width, upper + lower + 0.8)
    above, below = figure.subplots(2, 1, height_ratios=[upper, lower])
    plot_lattice(answer, above)
    plot_border_sets(answer, below)
    words = answer.asked.words()
    figure.suptitle(
        _wrapped(f"Question {answer.asked.number}: {words}", int(width * 13)),
        fontsize=10,
        x=0.01,
        ha="left",
    )
    return figure


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(_short(text, 1000), width))


def plot_lattice(answer: BorderAnswer, ax: Axes | None = None) -> Axes:
    """All sets of columns by their size, safe ones left and unsafe ones right of the border.

    Each set is a dot where there are at most ten columns; else the sets of a size are a bar. Unsafe
    sets that were never grouped, because a subset is unsafe already, are grey.
    """
    ax = ax or new_axes(*_SIZE)
    columns = answer.asked.columns
    if answer.is_monotone and len(columns) <= _DOTTED:
        _dots(answer, ax)
    else:
        _bars(answer, ax)
    ax.set_ylabel("columns in the set")
    ax.set_yticks(range(1, answer.asked.largest + 1, 1 + answer.asked.largest // 20))
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.set_ylim(0.4, answer.asked.largest + 0.6)
    handles = [
        Line2D([], [], marker="o", linestyle="", color=SAFE, label="safe"),
        Line2D([], [], marker="X", linestyle="", color=UNSAFE, label="unsafe, no subset is"),
        Line2D([], [], marker="X", linestyle="", color=IMPLIED, label="unsafe, as a subset is"),
    ]
    if not answer.is_monotone:
        handles = [handles[0], Line2D([], [], marker="X", ls="", color=UNSAFE, label="unsafe")]
    ax.legend(handles=handles, frameon=False, fontsize=_SMALL, loc="upper right")
    return ax


def _dots(answer: BorderAnswer, ax: Axes) -> None:
    columns = answer.asked.columns
    tops = [frozenset(each.columns) for each in answer.safe]
    bottoms = {frozenset(each.columns) for each in answer.unsafe}
    place: dict[frozenset[str], tuple[float, int]] = {}
    colour: dict[frozenset[str], str] = {}
    for size in range(1, answer.asked.largest + 1):
        sets = [frozenset(chosen) for chosen in combinations(columns, size)]
        for each in sets:
            safe = any(each <= top for top in tops)
            colour[each] = SAFE if safe else UNSAFE if each in bottoms else IMPLIED
        order = {SAFE: 0, UNSAFE: 1, IMPLIED: 2}
        sets.sort(key=lambda each: order[colour[each]])
        safe_ones = sum(colour[each] == SAFE for each in sets)
        # The border is the line x = 0 at every size.
        for at, each in enumerate(sets):
            place[each] = at - safe_ones + 0.5, size
    if len(columns) <= _NAMED:
        for each, (x, y) in place.items():
            for name in sorted(each):  # in any order, pixels would differ from run to run
                if each - {name} in place:
                    other = place[each - {name}]
                    ax.plot([x, other[0]], [y, other[1]], color="#DDDDDD", lw=0.7, zorder=1)
    area = 60 if len(columns) <= _NAMED else 18
    for kind, marker in ((SAFE, "o"), (UNSAFE, "X"), (IMPLIED, "X")):
        points = np.array([place[each] for each in place if colour[each] == kind]).reshape(-1, 2)
        ax.scatter(points[:, 0], points[:, 1], color=kind, marker=marker, s=area, zorder=2, lw=0)
    ax.axvline(0, color="#333333", linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    ax.set_xticks([])
    if len(columns) <= _NAMED:
        for each, (x, y) in place.items():
            name = _short(" ".join(c for c in columns if c in each), 22)
            _note(ax, name, (x, y), (0, -11), fontsize=7, ha="center")


def _bars(answer: BorderAnswer, ax: Axes) -> None:
    """Share of safe sets for each size, with the numbers of sets written on it."""
    for size, (safe, unsafe) in answer.sizes.items():
        share = safe / (safe + unsafe)
        ax.barh(size, share, color=SAFE, height=0.7)
        ax.barh(size, 1 - share, left=share, height=0.7, color=UNSAFE)
        _note(ax, f"{safe:,} of {safe + unsafe:,} safe", (1, size), (4, 0), va="center", fontsize=7)
    ax.set_xlim(0, 1.45)
    ax.set_xticks([0, 0.5, 1], ["0%", "50%", "100%"])


def plot_border_sets(answer: BorderAnswer, ax: Axes | None = None) -> Axes:
    """The sets of the border, one per vertical line; a mark for each of its columns.

    The level that a set has stands above it. At most thirty of each side are drawn.
    """
    ax = ax or new_axes(*_SIZE)
    columns, model = answer.asked.columns, answer.asked.model
    row = {name: len(columns) - 1 - at for at, name in enumerate(columns)}
    sides: list[tuple[str, Sequence[RatedSet], str, str]] = [
        ("largest safe sets", answer.safe, SAFE, "o"),
        ("smallest unsafe sets", answer.unsafe, UNSAFE, "X"),
    ]
    at = 0.0
    for title, sets, colour, marker in sides:
        start = at
        for each in sets[:_SETS]:
            rows = sorted(row[name] for name in each.columns)
            ax.plot([at, at], [rows[0], rows[-1]], color=colour, linewidth=1.2, alpha=0.5)
            ax.plot([at] * len(rows), rows, marker, color=colour, markersize=6, lw=0)
            level = model.show(each.level)
            look = {"fontsize": 7, "ha": "center", "va": "bottom", "color": colour}
            turned = 90 if len(level) > 2 else 0
            _note(ax, level, (at, len(columns) - 0.4), (0, 0), rotation=turned, **look)
            at += 1
        if sets:
            more = f", {_SETS} of them" if len(sets) > _SETS else ""
            text = f"{len(sets):,} {title if len(sets) != 1 else title[:-1]}{more}"
            look = {"ha": "center", "va": "top", "color": colour, "annotation_clip": False}
            _note(ax, text, ((start + at - 1) / 2, -0.75), (0, 0), **look)
            at += 1.2
    ax.set_yticks(list(row.values()), [_short(name) for name in row], fontsize=_SMALL)
    ax.set_xticks([])
    ax.set_xlim(-0.8, max(at, 8))
    ax.set_ylim(-0.9, len(columns) + 0.9)
    ax.hlines(list(row.values()), -0.8, max(at, 8), color="#EEEEEE", linewidth=0.8, zorder=0)
    look = {"ha": "right", "va": "bottom", "annotation_clip": False}
    _note(ax, model.symbol, (-0.8, len(columns) - 0.4), (-6, 0), **look)
    ax.spines[["top", "right", "bottom", "left"]].set_visible(False)
    ax.tick_params(left=False)
    return ax


# -- an overview -----------------------------------------------------------------------------------


def plot_overview(overview: Overview, ax: Axes | None = None) -> Axes:
    """Draw which share of the rows is alone, or among fewer than five, by which columns."""
    ax = ax or new_axes(*_SIZE)
    sets = [overview.whole, *overview.pairs[:_RISKIEST], *overview.columns[:_RISKIEST]]
    every = len(overview.columns)
    names = [f"all {every} columns", *(_short(" and ".join(each.columns), 44) for each in sets[1:])]
    places = range(len(sets))
    for label, colour, rows in (
        ("in groups below 5", "#A9C7DC", [each.small for each in sets]),
        ("alone", "#D55E00", [each.unique for each in sets]),
    ):
        shares = [100 * number / overview.whole.rows for number in rows]
        ax.barh(places, shares, color=colour, label=label, height=0.75)
    ax.set_yticks(places, names, fontsize=_SMALL, parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(0, 100)
    ax.set_xlabel("rows (%)")
    ax.legend(fontsize=_SMALL, loc="lower right", frameon=False)
    ax.set_title("Rows that stand out, by what is known", fontsize=10, loc="left")
    _tidy(ax)
    return ax


# -- all sets --------------------------------------------------------------------------------------


def plot_heat_map(answer: SetsAnswer, ax: Axes | None = None) -> Axes:
    """Heat map of all pairs of columns; single columns on the diagonal.

    Shows the level of each pair (questions 4 and 8), or the share of rows that it costs to reach
    one (question 10). Yellow is safe in all of them.
    """
    ax = ax or new_axes(*_SIZE)
    asked, model = answer.asked, answer.asked.model
    columns = asked.columns
    place = {name: at for at, name in enumerate(columns)}
    values: Floats = np.full((len(columns), len(columns)), np.nan)
    for chosen, level, suppressed in answer.records():
        if len(chosen) > 2:
            break
        share = np.nan if suppressed is None else suppressed / asked.rows
        value = share if level is None else level
        one, other = place[chosen[0]], place[chosen[-1]]
        values[one, other] = values[other, one] = value
    costs = answer.levels is None
    shown = np.ma.masked_invalid(values)
    norm = _norm(shown, from_zero=costs or model.sign < 0)
    lower_is_safer = model.sign < 0 if not costs else asked.is_protective
    colours = colormaps["viridis_r" if lower_is_safer else "viridis"].with_extremes(bad="#DDDDDD")
    image = ax.imshow(shown, norm=norm, cmap=colours)
    ticks = [_short(name, 20) for name in columns]
    ax.set_xticks(range(len(columns)), ticks, rotation=45, ha="right", fontsize=_SMALL)
    ax.set_yticks(range(len(columns)), ticks, fontsize=_SMALL)
    if len(columns) <= _NUMBERED:
        for (one, other), value in np.ndenumerate(values):
            _write_number(ax, one, other, value, image, None if costs else model)
    label = "δ" if costs else model.symbol
    bar = ax.figure.colorbar(image, ax=ax, label=label, shrink=0.8)
    bar.ax.minorticks_off()
    bar.ax.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{100 * value:.4g}%" if costs else f"{value:,.6g}")
    )
    title = f"{label} of each column (diagonal) and of each pair"
    if asked.delta:
        title += f",\nat most {asked.delta:.4g} of the rows suppressed"
    if costs and asked.level is not None:
        title += f",\nfor {model.symbol} {asked.form} {asked.level:,g}"
    ax.set_title(title, fontsize=10, loc="left")
    return ax


def _norm(values: np.ma.MaskedArray[Any, Any], *, from_zero: bool) -> Normalize:
    """Colours by value, or by its logarithm where values span decades."""
    highest = 0.0 if values.mask.all() else float(values.max())
    if from_zero:
        return Normalize(0, max(highest, 1e-3))
    return LogNorm(1, highest) if highest >= 20 else Normalize(1, max(highest, 2.0))


def _write_number(
    ax: Axes, one: int, other: int, value: float, image: Any, model: PrivacyModel | None
) -> None:
    """Write a level of a model, or a share of rows, into its field."""
    if np.isnan(value):
        text, colour = "none", "black"
    else:
        is_large = value >= 10_000
        text = _percent(value) if model is None else model.show(value)
        text = f"{value / 1000:,.0f}k" if is_large else text
        red, green, blue, _ = image.cmap(image.norm(value))
        colour = "black" if 0.3 * red + 0.6 * green + 0.1 * blue > 0.5 else "white"
    ax.text(other, one, text, ha="center", va="center", fontsize=7, color=colour)


def _percent(share: float) -> str:
    """Write a share so that something is never nothing."""
    if 0 < share < 0.0001:
        return "<0.01%"
    return f"{100 * share:.{2 if share < 0.1 else 0}f}%" if share else "0"


def plot_curves_by_size(answer: CurvesAnswer, ax: Axes | None = None) -> Axes:
    """What each level costs in suppressed rows: the median over all sets of each size."""
    ax = ax or new_axes(*_SIZE)
    model, rows = answer.asked.model, answer.asked.rows
    ends = [abs(s) for curve in answer.curves for s in curve.strengths[[0, -1]].tolist()]
    low, high = min(ends), max(ends)
    if model.measure == "k":
        levels = np.unique(np.geomspace(1, max(high, 2), 60).astype(np.int64)).astype(np.float64)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    else:
        levels = np.linspace(low, high, 60)
    sizes = np.bitwise_count(answer.masks)
    colours = colormaps["viridis"]
    largest = int(sizes.max())
    for size in range(1, largest + 1):
        costs = [
            [rows if (cost := curve.cost(float(level))) is None else cost for level in levels]
            for curve, chosen in zip(answer.curves, sizes, strict=True)
            if chosen == size
        ]
        middle = np.median(np.array(costs, dtype=np.float64) / rows, axis=0)
        colour = colours(0.9 * (size - 1) / max(1, largest - 1))
        ax.plot(levels, middle, color=colour, linewidth=1.6)
        # Named where the line is half way up, so that names do not meet.
        at = int(np.argmax(middle >= 0.5)) if middle.max() >= 0.5 else len(levels) - 1
        end = levels[at], middle[at]
        _note(ax, str(size), end, (4, -2), color=colour, fontweight="bold")
    ax.set_xlabel(f"{model.symbol} {model.protective}")
    ax.set_ylabel("share of rows to suppress, δ")
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_ylim(-0.02, 1.02)
    title = "Median over all sets of columns of the same size (number at the line)"
    ax.set_title(title, fontsize=10, loc="left")
    _tidy(ax)
    return ax
