"""Figures of one privacy measure against one cost.

A front with its landmarks, its steep parts magnified, several fronts over each other, and how the
hypervolume of a search grew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.transforms import Bbox

from moanon.arrays import Floats
from moanon.errors import ConfigError
from moanon.front import Front
from moanon.front.landmarks import Landmarks, TradeOff, find_landmarks, spell
from moanon.measures import find_measure
from moanon.output.figure_style import (
    BLUE,
    COLOURS,
    COLUMN,
    DARK_GREEN,
    DARK_VERMILION,
    GREEN,
    GREY,
    INK,
    LABEL,
    PAGE,
    PALE_GREY,
    RASTER,
    SEQUENCE,
    VERMILION,
    Label,
    add_legend,
    crosses,
    dress,
    lay_out,
    new_axes,
    new_figure,
    percent_text,
    place_labels,
    plain,
    root_figure,
    scale_axis,
    scale_numbers,
    short_name,
    shown,
    title,
    write,
)
from moanon.output.release_figures import add_insets

if TYPE_CHECKING:
    from moanon.search.algorithms import Convergence

#: So few solutions are all named.
_FEW = 3
#: A magnified part is at most this share of what it is taken from, ...
_PART = 0.1
#: ... and holds at least so many solutions.
_FEWEST = 6
#: Inches that a sign of a number below axes takes, the space between two, and beside the axes.
_SIGN, _SPACE, _BESIDE = 0.06, 0.08, 0.45
#: The k that are magnified, from where to where.
_RANGES = ((2, 500), (2, 50))
#: Space between an arrow and the axes it points to, as a share of them.
_ARROW_GAP = 0.02
#: Marks at some of the points, so that curves also differ without their colours.
_MARKS = ("o", "s", "^", "D", "v", "P")
#: All points of a curve that has no more than this many, else some of them: ...
_ALL_MARKED = 15
#: ... along the way from the least privacy to the most.
_PLACES = np.linspace(0, 1, 9)

#: How landmarks look.
_KNEE: dict[str, Any] = {
    "marker": "D",
    "color": VERMILION,
    "markersize": 4.2,
    "markeredgecolor": "white",
    "markeredgewidth": 0.6,
    "linestyle": "none",
}
_FLAT: dict[str, Any] = {
    "color": GREEN,
    "linewidth": 4.5,
    "alpha": 0.35,
    "solid_capstyle": "round",
}
#: Counts people where the loss counts declared values, and how it is drawn beside it.
_PEOPLE = "entropy_loss"
_DOTTED: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "linestyle": (0, (1, 1.5))}


def plot_front(
    front: Front,
    ax: Axes | None = None,
    *,
    privacy: str | None = None,
    cost: str | None = None,
    max_cost: float | None = None,
    insets: Sequence[int] = (),
    size: tuple[float, float] | None = None,
    words: Sequence[str] = (),
) -> Axes:
    """Draw a front with its knees and flat stretches.

    Solutions that are dominated in these two measures are pale: another objective made them part of
    the front. Beside a loss a dotted line shows the ``entropy_loss`` of the same solutions.

    Parameters
    ----------
    front : Front
    ax : Axes, optional
        Where to draw. Default: a new figure as wide as a column.
    privacy, cost : str, optional
        As for `moanon.front.landmarks.TradeOff.of`.
    max_cost : float, optional
        A limit of a minimized cost to draw; the best solution within it is marked.
    insets : sequence of int
        Solutions whose group sizes are drawn in small (D Fig. 6), where there is room; the front
        must have its table.
    size : (float, float), optional
        Width and height of a new figure, in inches. The wider, the more landmarks are named.
    words : sequence of str
        What to write above.
    """
    own = ax is None
    if ax is None:
        ax = new_axes(*(size or (COLUMN, 3.2 if insets else 2.7)))
    landmarks = find_landmarks(front, privacy, cost)
    tradeoff = landmarks.tradeoff
    x, y = (shown(name, front.measures[name]) for name in (tradeoff.privacy, tradeoff.cost))
    placed = np.isfinite(x) & np.isfinite(y)  # a δ can be infinite
    x, y = x[placed], y[placed]
    dress(ax)
    scale_axis(ax, "x", tradeoff.privacy, x)
    scale_axis(ax, "y", tradeoff.cost, y)
    title(ax, words)
    style: dict[str, Any] = {"markersize": 2.4, "markeredgewidth": 0, "zorder": 1}
    ax.plot(x, y, "o", color=PALE_GREY, rasterized=len(x) >= RASTER, **style)
    band = _draw_band(ax, front, tradeoff)
    corners = draw_tradeoff(ax, tradeoff)
    people = _draw_people(ax, front, tradeoff)
    if own:
        lay_out(root_figure(ax))
    lines, width = [corners, *people], _width(ax)
    labels: list[Label] = []
    if max_cost is not None:
        line, labels = _draw_limit(ax, tradeoff, max_cost)
        lines.append(line)
    if len(tradeoff) <= _FEW:
        labels += _name_solutions(tradeoff)
    labels += _mark_knees(ax, landmarks, round(1.5 * width))
    labels += _mark_flats(ax, landmarks, round(width))
    taken, leads = add_insets(ax, front, tradeoff, insets, lines)
    lines += leads
    dots = np.stack([x, y], axis=1)
    explained = [*_explained(landmarks, people=bool(people)), *band]
    taken += add_legend(ax, explained, lines=lines, points=dots, boxes=taken)
    place_labels(ax, labels, lines=lines, boxes=taken)
    return ax


def _draw_band(ax: Axes, front: Front, tradeoff: TradeOff) -> list[Line2D]:
    """Draw where the optimum lies: between what was found and what is proven; none without gaps."""
    if front.proven is None or (tradeoff.privacy, tradeoff.cost) != ("k", "loss"):
        return []
    order = np.argsort(front.measures["k"], kind="stable")
    k = front.measures["k"][order]
    loss, least = (shown("loss", v[order]) for v in (front.measures["loss"], front.proven))
    if np.array_equal(loss, least):
        return [Line2D([], [], linestyle="none", label="every solution is proven optimal")]
    # For a k between two solutions counts the next one, as in the stair.
    ax.fill_between(k, least, loss, step="pre", color=PALE_GREY, alpha=0.6, linewidth=0, zorder=0)
    look: dict[str, Any] = {"color": PALE_GREY, "alpha": 0.6, "linewidth": 5}
    return [Line2D([], [], label="the optimum is in here: proven", **look)]


def _draw_people(ax: Axes, front: Front, tradeoff: TradeOff) -> list[Floats]:
    """Draw what the same solutions lose of what they say about people, beside another loss."""
    losses = front.measures.get(_PEOPLE)
    if losses is None or tradeoff.cost == _PEOPLE or not find_measure(tradeoff.cost).is_share:
        return []
    x = shown(tradeoff.privacy, tradeoff.privacies)
    y = shown(_PEOPLE, losses[tradeoff.ids - 1])
    ax.plot(x, y, zorder=2, **_DOTTED)
    return [np.stack([x, y], axis=1)]


def _explained(landmarks: Landmarks, *, people: bool) -> list[Line2D]:
    entries = []
    if people:
        entries.append(Line2D([], [], label="entropy loss of the same", **_DOTTED))
    if landmarks.knees:
        entries.append(Line2D([], [], label="knee: costs more from here", **_KNEE))
    if landmarks.flats:
        entries.append(Line2D([], [], label="flat: nearly free", **_FLAT))
    return entries


# -- steep parts -----------------------------------------------------------------------------------


def plot_magnified(
    front: Front,
    figure: Figure | None = None,
    *,
    privacy: str | None = None,
    cost: str | None = None,
    panels: int = 4,
    words: Sequence[str] = (),
) -> Figure:
    """Magnify the part of a front where publishers choose, and a part of that again (D Fig. 7).

    Axes are linear here: each part then looks like the whole, with flat stretches of its own. There
    are at most so many `panels`, fewer where there are not enough solutions to magnify; the other
    parameters are those of `plot_front`.
    """
    parts = magnified_parts(TradeOff.of(front, privacy, cost), panels)
    rows, columns = (1, len(parts)) if len(parts) < 4 else (2, 2)
    own = figure is None
    if figure is None:
        figure = new_figure(PAGE, 2.4 * rows)
    # Clockwise, so that each part is beside the one it is taken from.
    places = [(0, 0), (0, 1), (1, 1), (1, 0)] if rows > 1 else [(0, i) for i in range(columns)]
    places = places[: len(parts)]
    grid = figure.add_gridspec(rows, columns, wspace=0.12, hspace=0.12)
    axes = [figure.add_subplot(grid[place]) for place in places]
    for ax, place, part in zip(axes, places, parts, strict=True):
        dress(ax)
        most = _room_for_ticks(part.privacies, PAGE / columns)
        scale_axis(ax, "x", part.privacy, shown(part.privacy, part.privacies), log=False, most=most)
        scale_axis(ax, "y", part.cost, shown(part.cost, part.costs), log=False)
        draw_tradeoff(ax, part)
        # What all axes share is said at the edges.
        if place[0] < rows - 1:
            ax.set_xlabel("")
        if place[1] > 0:
            ax.set_ylabel("")
    title(axes[0], words, columns=columns)
    if own:
        lay_out(figure)
    for ax, part, following in zip(axes, parts, [*parts[1:], None], strict=True):
        _mark_part(ax, part, following)
    for ax, after, part in zip(axes, axes[1:], parts[1:], strict=False):
        _point_to(ax, after, part)
    return figure


def _room_for_ticks(values: Floats, width: float) -> int:
    """How many numbers stand below axes of so many inches without touching each other."""
    longest = len(f"{float(np.max(values)):,.0f}") if len(values) else 1
    return max(2, int((width - _BESIDE) / (_SIGN * longest + _SPACE)))


def magnified_parts(tradeoff: TradeOff, most: int) -> list[TradeOff]:
    """The whole, then ever smaller parts of it, all on linear scales.

    Of k: where publishers choose, up to some hundreds and up to fifty. Of other privacies: the
    steepest part, the steepest part of that, and so on.
    """
    parts = [tradeoff.part(0, len(tradeoff), logarithmic=False)]
    if tradeoff.privacy == "k":
        for least, largest in _RANGES:
            ends = np.searchsorted(tradeoff.privacies, [least, largest + 1])
            start, stop = ends.tolist()
            if _FEWEST <= stop - start < len(parts[-1]):
                parts.append(tradeoff.part(start, stop, logarithmic=False))
        return parts[:most]
    while len(parts) < most:
        gains, rises = parts[-1].gains, parts[-1].rises
        starts = np.arange(len(gains))
        stops = np.searchsorted(gains, gains + _PART, side="right")
        heights = np.where(stops - starts >= _FEWEST, rises[stops - 1] - rises, 0)
        if heights.max(initial=0) <= 0:
            break
        start = int(heights.argmax())
        parts.append(parts[-1].part(start, int(stops[start]), logarithmic=False))
    return parts


def _mark_part(ax: Axes, part: TradeOff, following: TradeOff | None) -> None:
    """Mark the flat stretches of a part, and what is magnified next."""
    taken = []
    if following is not None:
        corners = _stair(following)
        low, high = corners.min(axis=0), corners.max(axis=0)
        frame = Rectangle(low, *(high - low), fill=False, edgecolor=INK, linewidth=0.8, zorder=5)
        ax.add_patch(frame)
        taken.append(frame.get_window_extent())
    labels: list[Label] = []
    if following is None or part.privacy != "k" or len(part.publishable) == len(part):
        labels = _mark_flats(ax, find_landmarks(part), round(1.5 * _width(ax)))
    place_labels(ax, labels, lines=[_stair(part)], boxes=taken)


def _point_to(ax: Axes, after: Axes, part: TradeOff) -> None:
    """Lead from a part in its whole to where it is magnified."""
    arrow = FancyArrowPatch(
        *map(tuple, _clear_way(ax, after, part)),
        transform=root_figure(ax).transFigure,
        arrowstyle="-|>",
        mutation_scale=8,
        color=GREY,
        linewidth=0.8,
        shrinkA=0,
        shrinkB=0,
        zorder=7,
    )
    root_figure(ax).add_artist(arrow)


def _clear_way(ax: Axes, after: Axes, part: TradeOff) -> Floats:
    """Ends of an arrow that runs over no number or word of the axes, in shares of the figure."""
    corners = ax.transData.transform(_stair(part))
    here, there = Bbox([corners.min(axis=0), corners.max(axis=0)]), after.get_window_extent()
    numbers = [
        label.get_window_extent()
        for label in (*ax.get_xticklabels(), *ax.get_yticklabels(), *ax.texts)
        if label.get_text()
    ]
    edge = after.get_tightbbox() if there.x0 > here.x1 else None
    ways = []
    for share, goal in product((0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8), repeat=2):
        start = [here.x1, here.y0 + share * here.height]
        end = [there.x0 + goal * there.width, there.y0 + goal * there.height]
        if edge is not None:
            end[0] = edge.x0
        elif there.x1 < here.x0:
            start[0], end[0] = here.x0, there.x1 + _ARROW_GAP * there.width
        else:
            end[1] = there.y1 + _ARROW_GAP * there.height
        ways.append(np.array([start, end]))
    clear = (way for way in ways if not any(crosses(box, way) for box in numbers))
    return root_figure(ax).transFigure.inverted().transform(next(clear, ways[0]))


# -- several fronts --------------------------------------------------------------------------------


def plot_fronts(
    fronts: Mapping[str, Front],
    ax: Axes | None = None,
    *,
    privacy: str | None = None,
    cost: str | None = None,
    heading: str = "rows that may be suppressed",
    ordered: bool = True,
    size: tuple[float, float] = (COLUMN, 2.7),
    words: Sequence[str] = (),
) -> Axes:
    """Draw several fronts in one plot: of several limits η, or of several ways to anonymize.

    Solutions of two objectives that another one of the same front dominates are hollow: a baseline
    has some, a search has none.

    Parameters
    ----------
    fronts : mapping of str to Front
        What each is called, and the front; the first one says which measures are drawn.
    ax, privacy, cost, size, words
        As for `plot_front`.
    heading : str
        What the names of the fronts are.
    ordered : bool
        Whether they are in the order of some limit, which their colours then show.

    Raises
    ------
    ConfigError
        If there is no front, or one of them lacks a measure.
    """
    if not fronts:
        raise ConfigError("a comparison takes at least one front. Got none")
    own = ax is None
    if ax is None:
        ax = new_axes(*size)
    first = TradeOff.of(next(iter(fronts.values())), privacy, cost)
    tradeoffs = [TradeOff.of(front, first.privacy, first.cost) for front in fronts.values()]
    dress(ax)
    for which, name in (("x", first.privacy), ("y", first.cost)):
        columns = [t.privacies if which == "x" else t.costs for t in tradeoffs]
        scale_axis(ax, which, name, shown(name, np.concatenate(columns)))  # type: ignore[arg-type]
    title(ax, words)
    curves, entries = [], []
    for i, (label, tradeoff) in enumerate(zip(fronts, tradeoffs, strict=True)):
        again, place = divmod(i, len(COLOURS))
        look: dict[str, Any] = {
            "color": SEQUENCE(0.25 + 0.75 * i / max(1, len(fronts) - 1))
            if ordered
            else COLOURS[place],
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
        entries.append(Line2D([], [], label=plain(label), **look))
    if own:
        lay_out(root_figure(ax))
    add_legend(ax, entries, heading=heading, lines=curves)
    return ax


def _mark_beaten(ax: Axes, front: Front, tradeoff: TradeOff, look: Mapping[str, Any]) -> None:
    """Mark solutions that are not on the stair, where no third objective keeps them."""
    beaten = ~np.isin(front.ids, tradeoff.ids)
    if len(front.objectives) > 2 or not beaten.any():
        return
    names = tradeoff.privacy, tradeoff.cost
    x, y = (shown(name, front.measures[name])[beaten] for name in names)
    hollow = {"linestyle": "none", "markerfacecolor": "none", "markeredgewidth": 0.6}
    ax.plot(x, y, zorder=3, **{**look, **hollow, "markeredgecolor": look["color"]})


# -- how the search came to it ---------------------------------------------------------------------


def plot_convergence(convergence: Convergence, *, words: Sequence[str] = ()) -> Axes:
    """Draw the hypervolume after each number of evaluations, with the last tenth of them shaded."""
    ax = new_axes(COLUMN, 2.2)
    x = np.array(convergence.evaluations, dtype=np.float64)
    y = np.array(convergence.hypervolumes)
    dress(ax)
    for which, values in (("x", x), ("y", y)):
        scale_numbers(ax, which, values, log=False)  # type: ignore[arg-type]
    write(ax.set_xlabel("evaluations"), LABEL)
    write(ax.set_ylabel("hypervolume"), LABEL)
    title(ax, words)
    ax.axvspan(0.9 * x[-1], x[-1], color=PALE_GREY, alpha=0.6, linewidth=0, zorder=0)
    ax.plot(x, y, color=BLUE, linewidth=1.2, zorder=3)
    lay_out(root_figure(ax))
    text = f"last tenth: {convergence.gained}"
    corner = Label(text, float(0.9 * x[-1]), float(y[-1]), DARK_VERMILION, side="below")
    place_labels(ax, [corner], lines=[np.stack([x, y], axis=1)])
    return ax


# -- what they are made of -------------------------------------------------------------------------


def _width(ax: Axes) -> float:
    """Width of the place to draw on, in inches."""
    return float(ax.get_window_extent().width) / root_figure(ax).dpi


def _stair(tradeoff: TradeOff) -> Floats:
    """Corners of the curve: whoever wants a little more than a solution has pays for the next."""
    x, y = shown(tradeoff.privacy, tradeoff.privacies), shown(tradeoff.cost, tradeoff.costs)
    return np.stack([np.repeat(x, 2)[:-1], np.repeat(y, 2)[1:]], axis=1)


def draw_tradeoff(ax: Axes, tradeoff: TradeOff, *, color: str = BLUE, dots: bool = True) -> Floats:
    """Draw the solutions on their stair; return its corners."""
    corners = _stair(tradeoff)
    many = len(tradeoff) >= RASTER
    ax.plot(*corners.T, color=color, linewidth=0.8, alpha=0.7, zorder=3, rasterized=many)
    if dots:
        size = 1.7 if len(tradeoff) > 250 else 2.6
        x, y = corners[::2].T
        style: dict[str, Any] = {"markersize": size, "markeredgewidth": 0, "rasterized": many}
        ax.plot(x, y, "o", color=color, zorder=4, **style)
    return corners


def _mark_knees(ax: Axes, landmarks: Landmarks, most: int) -> list[Label]:
    """Mark the sharpest knees; return what to write beside them, the sharpest first."""
    privacy, cost = landmarks.tradeoff.privacy, landmarks.tradeoff.cost
    labels = []
    for knee in sorted(landmarks.knees, key=lambda knee: -knee.worth)[:most]:
        x, y = float(shown(privacy, knee.privacy)), float(shown(cost, knee.cost))
        ax.plot([x], [y], zorder=5, **_KNEE)
        text = _both(landmarks.tradeoff, knee.privacy, knee.cost)
        labels.append(Label(text, x, y, DARK_VERMILION))
    return labels


def _name_solutions(tradeoff: TradeOff) -> list[Label]:
    """Return what to write beside all solutions."""
    both = zip(tradeoff.privacies.tolist(), tradeoff.costs.tolist(), strict=True)
    places = _stair(tradeoff)[::2].tolist()
    return [Label(_both(tradeoff, *of), *at) for of, at in zip(both, places, strict=True)]


def _both(tradeoff: TradeOff, privacy: float, cost: float) -> str:
    words = f"{short_name(tradeoff.privacy)} {spell(tradeoff.privacy, privacy)}"
    return f"{words}\n{spell(tradeoff.cost, cost)}"


def _mark_flats(ax: Axes, landmarks: Landmarks, most: int) -> list[Label]:
    """Mark all flat stretches; return what to write beside the most remarkable ones."""
    tradeoff = landmarks.tradeoff
    privacy, cost = tradeoff.privacy, tradeoff.cost
    corners = _stair(tradeoff)
    places = {number: place for place, number in enumerate(tradeoff.ids.tolist())}
    labels = []
    for flat in sorted(landmarks.flats, key=lambda flat: -flat.worth):
        start, stop = places[flat.first], places[flat.last]
        ax.plot(*corners[2 * start : 2 * stop + 1].T, zorder=2, **_FLAT)
        ends = shown(privacy, [flat.privacy_from, flat.privacy_to])
        middle = np.sqrt(ends.prod()) if ax.get_xscale() == "log" else ends.mean()
        height = float(shown(cost, np.interp(middle, ends, [flat.cost_to, flat.cost_to])))
        ends_text = (spell(privacy, end) for end in (flat.privacy_from, flat.privacy_to))
        text = f"{' to '.join(ends_text)}\nfor {flat.price}"
        labels.append(Label(text, float(middle), height, DARK_GREEN, side="below"))
    return labels[:most]


def _draw_limit(ax: Axes, tradeoff: TradeOff, limit: float) -> tuple[Floats, list[Label]]:
    """Draw a limit of the cost, and mark the best solution within it; return line and words."""
    level = float(shown(tradeoff.cost, limit))
    ax.axhline(level, color=INK, linewidth=0.7, linestyle=(0, (4, 3)), zorder=2)
    line = np.array([[end, level] for end in ax.get_xlim()])
    within = np.flatnonzero(tradeoff.costs <= limit)
    if not len(within):
        return line, []
    best = within[-1]
    x, y = _stair(tradeoff)[2 * best]
    ax.plot([x], [y], "s", color=INK, markersize=4, zorder=6)
    words = f"{short_name(tradeoff.privacy)} {spell(tradeoff.privacy, tradeoff.privacies[best])}"
    text = f"{words}\nwithin {percent_text(limit)}"
    return line, [Label(text, float(x), float(y), INK, side="below")]
