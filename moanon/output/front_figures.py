"""Figures of one front: one privacy measure against one cost.

A front with its landmarks, its steep parts magnified, the group sizes of some solutions, and how
the hypervolume of a search grew.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.transforms import Bbox

from moanon.arrays import Floats
from moanon.front import Front
from moanon.front.landmarks import Landmarks, TradeOff, find_landmarks, spell
from moanon.measures import find_measure
from moanon.output import figure_style as style

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

#: How landmarks look.
_KNEE: dict[str, Any] = {
    "marker": "D",
    "color": style.VERMILION,
    "markersize": 4.2,
    "markeredgecolor": "white",
    "markeredgewidth": 0.6,
    "linestyle": "none",
}
_FLAT: dict[str, Any] = {
    "color": style.GREEN,
    "linewidth": 4.5,
    "alpha": 0.35,
    "solid_capstyle": "round",
}
#: Counts people where the loss counts declared values, and how it is drawn beside it.
_PEOPLE = "entropy_loss"
_DOTTED: dict[str, Any] = {"color": style.GREY, "linewidth": 0.9, "linestyle": (0, (1, 1.5))}


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
        ax = style.new_axes(*(size or (style.COLUMN, 3.2 if insets else 2.7)))
    landmarks = find_landmarks(front, privacy, cost)
    tradeoff = landmarks.tradeoff
    x, y = (style.shown(name, front.measures[name]) for name in (tradeoff.privacy, tradeoff.cost))
    placed = np.isfinite(x) & np.isfinite(y)  # a δ can be infinite
    x, y = x[placed], y[placed]
    style.dress(ax)
    style.scale_axis(ax, "x", tradeoff.privacy, x)
    style.scale_axis(ax, "y", tradeoff.cost, y)
    style.title(ax, words)
    look: dict[str, Any] = {"markersize": 2.4, "markeredgewidth": 0, "zorder": 1}
    ax.plot(x, y, "o", color=style.PALE_GREY, rasterized=len(x) >= style.RASTER, **look)
    band = _draw_band(ax, front, tradeoff)
    corners = draw_tradeoff(ax, tradeoff)
    people = _draw_people(ax, front, tradeoff)
    if own:
        style.lay_out(style.root_figure(ax))
    lines, width = [corners, *people], _width(ax)
    labels: list[style.Label] = []
    if max_cost is not None:
        line, labels = _draw_limit(ax, tradeoff, max_cost)
        lines.append(line)
    if len(tradeoff) <= _FEW:
        labels += _name_solutions(tradeoff)
    labels += _mark_knees(ax, landmarks, round(1.5 * width))
    labels += _mark_flats(ax, landmarks, round(width))
    taken, leads = _add_insets(ax, front, tradeoff, insets, lines)
    lines += leads
    dots = np.stack([x, y], axis=1)
    explained = [*_explained(landmarks, people=bool(people)), *band]
    taken += style.add_legend(ax, explained, lines=lines, points=dots, boxes=taken)
    style.place_labels(ax, labels, lines=lines, boxes=taken)
    return ax


def _draw_band(ax: Axes, front: Front, tradeoff: TradeOff) -> list[Line2D]:
    """Draw where the optimum lies: between what was found and what is proven; none without gaps."""
    if front.proven is None or (tradeoff.privacy, tradeoff.cost) != ("k", "loss"):
        return []
    order = np.argsort(front.measures["k"], kind="stable")
    k = front.measures["k"][order]
    loss, least = (style.shown("loss", v[order]) for v in (front.measures["loss"], front.proven))
    if np.array_equal(loss, least):
        return [Line2D([], [], linestyle="none", label="every solution is proven optimal")]
    # For a k between two solutions counts the next one, as in the stair.
    ax.fill_between(
        k, least, loss, step="pre", color=style.PALE_GREY, alpha=0.6, linewidth=0, zorder=0
    )
    look: dict[str, Any] = {"color": style.PALE_GREY, "alpha": 0.6, "linewidth": 5}
    return [Line2D([], [], label="the optimum is in here: proven", **look)]


def _draw_people(ax: Axes, front: Front, tradeoff: TradeOff) -> list[Floats]:
    """Draw what the same solutions lose of what they say about people, beside another loss."""
    losses = front.measures.get(_PEOPLE)
    if losses is None or tradeoff.cost == _PEOPLE or not find_measure(tradeoff.cost).is_share:
        return []
    x = style.shown(tradeoff.privacy, tradeoff.privacies)
    y = style.shown(_PEOPLE, losses[tradeoff.ids - 1])
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
        figure = style.new_figure(style.PAGE, 2.4 * rows)
    # Clockwise, so that each part is beside the one it is taken from.
    places = [(0, 0), (0, 1), (1, 1), (1, 0)] if rows > 1 else [(0, i) for i in range(columns)]
    places = places[: len(parts)]
    grid = figure.add_gridspec(rows, columns, wspace=0.12, hspace=0.12)
    axes = [figure.add_subplot(grid[place]) for place in places]
    for ax, place, part in zip(axes, places, parts, strict=True):
        style.dress(ax)
        most = _room_for_ticks(part.privacies, style.PAGE / columns)
        style.scale_axis(
            ax, "x", part.privacy, style.shown(part.privacy, part.privacies), log=False, most=most
        )
        style.scale_axis(ax, "y", part.cost, style.shown(part.cost, part.costs), log=False)
        draw_tradeoff(ax, part)
        # What all axes share is said at the edges.
        if place[0] < rows - 1:
            ax.set_xlabel("")
        if place[1] > 0:
            ax.set_ylabel("")
    style.title(axes[0], words, columns=columns)
    if own:
        style.lay_out(figure)
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
        frame = Rectangle(
            low, *(high - low), fill=False, edgecolor=style.INK, linewidth=0.8, zorder=5
        )
        ax.add_patch(frame)
        taken.append(frame.get_window_extent())
    labels: list[style.Label] = []
    if following is None or part.privacy != "k" or len(part.publishable) == len(part):
        labels = _mark_flats(ax, find_landmarks(part), round(1.5 * _width(ax)))
    style.place_labels(ax, labels, lines=[_stair(part)], boxes=taken)


def _point_to(ax: Axes, after: Axes, part: TradeOff) -> None:
    """Lead from a part in its whole to where it is magnified."""
    arrow = FancyArrowPatch(
        *map(tuple, _clear_way(ax, after, part)),
        transform=style.root_figure(ax).transFigure,
        arrowstyle="-|>",
        mutation_scale=8,
        color=style.GREY,
        linewidth=0.8,
        shrinkA=0,
        shrinkB=0,
        zorder=7,
    )
    style.root_figure(ax).add_artist(arrow)


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
    clear = (way for way in ways if not any(style.crosses(box, way) for box in numbers))
    return style.root_figure(ax).transFigure.inverted().transform(next(clear, ways[0]))


# -- group sizes -----------------------------------------------------------------------------------

#: Lines of several solutions differ in this, too.
_SIZE_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
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
    the more others each row hides among. `solutions` are numbers of a front that has its table; by
    default `ax` is a new figure as wide as a column; `words` are written above.
    """
    chosen = [solutions] if isinstance(solutions, int) else list(solutions)
    own = ax is None
    if ax is None:
        ax = style.new_axes(style.COLUMN, 2.4)
    tradeoff = TradeOff.of(front)
    curves, entries = [], []
    for i, solution in enumerate(chosen):
        look: dict[str, Any] = {
            "color": style.SEQUENCE(0.35 + 0.65 * i / max(1, len(chosen) - 1)),
            "linestyle": _SIZE_DASHES[i % len(_SIZE_DASHES)],
            "linewidth": 1.2,
        }
        curves.append(_draw_group_sizes(ax, front, solution, **look))
        values = (
            f"{style.short_name(name)} {spell(name, float(front.measures[name][solution - 1]))}"
            for name in (tradeoff.privacy, tradeoff.cost)
        )
        entries.append(Line2D([], [], label=", ".join(values), **look))
    style.dress(ax)
    style.scale_numbers(ax, "x", np.concatenate(curves)[:, 0])
    style.write(ax.set_xlabel("group size i"), style.LABEL)
    suppressed = any(front.measures["suppressed"][solution - 1] for solution in chosen)
    where = "suppressed or in\n" if suppressed else "in "
    style.write(ax.set_ylabel(f"rows {where}groups up to i (%)"), style.LABEL)
    style.title(ax, words)
    if own:
        style.lay_out(style.root_figure(ax))
    style.add_legend(ax, entries, lines=curves)
    return ax


def _draw_group_sizes(ax: Axes, front: Front, solution: int, **look: Any) -> Floats:
    """Draw the running total of one solution; return its corners."""
    sizes, shares = _running_total(front, solution)
    corners = np.stack([np.repeat(sizes, 2)[1:], np.repeat(shares, 2)[:-1]], axis=1)
    ax.plot(*corners.T, zorder=3, **look)
    ax.set_ylim(-3, 103)
    return corners


def _add_insets(
    ax: Axes, front: Front, tradeoff: TradeOff, solutions: Sequence[int], lines: Sequence[Floats]
) -> tuple[list[Bbox], list[Floats]]:
    """Draw group sizes of solutions in small, where there is room beside a trade-off.

    Returns the places they take, in pixels, and the lines from them to their solutions.
    """
    taken: list[Bbox] = []
    leads: list[Floats] = []
    # From above to below, so that the lines to the solutions do not cross.
    costs = front.measures[tradeoff.cost]
    for solution in sorted(solutions, key=lambda number: -costs[number - 1]):
        room = style.find_room(ax, *_INSET, lines=lines, boxes=taken)
        if room is None:
            continue
        taken.append(room.transformed(ax.transAxes))
        inner = _draw_inset(ax, room, front, solution)
        names = (tradeoff.privacy, tradeoff.cost)
        point = [float(style.shown(name, front.measures[name][solution - 1])) for name in names]
        leads.append(_lead(ax, inner, point))
    return taken, leads


def _draw_inset(ax: Axes, room: Bbox, front: Front, solution: int) -> Bbox:
    """Draw group sizes within a place, its numbers and words included; return the inner frame."""
    left, low, right, top = _SURROUND
    scale = np.array([room.width, room.height]) / _INSET
    corners = room.min + scale * (left, low), room.max - scale * (right, top)
    inner = Bbox(np.stack(corners))
    small = ax.inset_axes(inner.bounds, zorder=5)
    drawn = _draw_group_sizes(small, front, solution, color=style.BLUE, linewidth=1)
    style.dress(small)
    style.scale_numbers(small, "x", drawn[:, 0])
    small.set_yticks([0, 50, 100])
    small.tick_params(labelsize=_TINY, pad=1.5)
    style.write(label := small.set_xlabel("group size", labelpad=0.5), _TINY)
    for text in (label, *small.get_yticklabels()):  # lines of the large plot end beside them
        text.set_bbox({"color": "white", "pad": 0})
    style.write(small.set_title("% of rows up to it", loc="left", pad=2), _TINY, style.GREY)
    return inner


def _lead(ax: Axes, inner: Bbox, point: Sequence[float]) -> Floats:
    """Draw a line from an inset to its solution; return its ends."""
    ax.plot(
        *point, "o", markerfacecolor="none", markeredgecolor=style.INK, markersize=6.5, zorder=6
    )
    end = ax.transAxes.inverted().transform(ax.transData.transform(point))
    start = np.clip(end, inner.min, inner.max)
    look = {"arrowstyle": "-", "color": style.INK, "linewidth": 0.6, "shrinkA": 2, "shrinkB": 3}
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
    tradeoff = landmarks.tradeoff
    knees = [knee.last for knee in landmarks.foremost_knees() if knee.rise <= _AFFORDABLE]
    if len(knees) >= number:
        return sorted(knees[:number], key=tradeoff.ids.tolist().index)
    wanted = (np.arange(number) + 0.5) / number
    nearest = np.abs(tradeoff.gains[:, None] - wanted).argmin(axis=0)
    return list(dict.fromkeys(tradeoff.ids[nearest].tolist()))


# -- how the search came to it ---------------------------------------------------------------------


def plot_convergence(convergence: Convergence, *, words: Sequence[str] = ()) -> Axes:
    """Draw the hypervolume after each number of evaluations, with the last tenth of them shaded."""
    ax = style.new_axes(style.COLUMN, 2.2)
    x = np.array(convergence.evaluations, dtype=np.float64)
    y = np.array(convergence.hypervolumes)
    style.dress(ax)
    for which, values in (("x", x), ("y", y)):
        style.scale_numbers(ax, which, values, log=False)  # type: ignore[arg-type]
    style.write(ax.set_xlabel("evaluations"), style.LABEL)
    style.write(ax.set_ylabel("hypervolume"), style.LABEL)
    style.title(ax, words)
    ax.axvspan(0.9 * x[-1], x[-1], color=style.PALE_GREY, alpha=0.6, linewidth=0, zorder=0)
    ax.plot(x, y, color=style.BLUE, linewidth=1.2, zorder=3)
    style.lay_out(style.root_figure(ax))
    text = f"last tenth: {convergence.gained}"
    corner = style.Label(text, float(0.9 * x[-1]), float(y[-1]), style.DARK_VERMILION, side="below")
    style.place_labels(ax, [corner], lines=[np.stack([x, y], axis=1)])
    return ax


# -- what they are made of -------------------------------------------------------------------------


def _width(ax: Axes) -> float:
    """Width of the place to draw on, in inches."""
    return float(ax.get_window_extent().width) / style.root_figure(ax).dpi


def _stair(tradeoff: TradeOff) -> Floats:
    """Corners of the curve: whoever wants a little more than a solution has pays for the next."""
    x, y = (
        style.shown(tradeoff.privacy, tradeoff.privacies),
        style.shown(tradeoff.cost, tradeoff.costs),
    )
    return np.stack([np.repeat(x, 2)[:-1], np.repeat(y, 2)[1:]], axis=1)


def draw_tradeoff(
    ax: Axes, tradeoff: TradeOff, *, color: str = style.BLUE, dots: bool = True
) -> Floats:
    """Draw the solutions on their stair; return its corners."""
    corners = _stair(tradeoff)
    many = len(tradeoff) >= style.RASTER
    ax.plot(*corners.T, color=color, linewidth=0.8, alpha=0.7, zorder=3, rasterized=many)
    if dots:
        size = 1.7 if len(tradeoff) > 250 else 2.6
        x, y = corners[::2].T
        look: dict[str, Any] = {"markersize": size, "markeredgewidth": 0, "rasterized": many}
        ax.plot(x, y, "o", color=color, zorder=4, **look)
    return corners


def _mark_knees(ax: Axes, landmarks: Landmarks, most: int) -> list[style.Label]:
    """Mark the sharpest knees; return what to write beside them, the sharpest first."""
    privacy, cost = landmarks.tradeoff.privacy, landmarks.tradeoff.cost
    labels = []
    for knee in landmarks.foremost_knees()[:most]:
        x, y = float(style.shown(privacy, knee.privacy_to)), float(style.shown(cost, knee.cost_to))
        ax.plot([x], [y], zorder=5, **_KNEE)
        text = _both(landmarks.tradeoff, knee.privacy_to, knee.cost_to)
        labels.append(style.Label(text, x, y, style.DARK_VERMILION))
    return labels


def _name_solutions(tradeoff: TradeOff) -> list[style.Label]:
    """Return what to write beside all solutions."""
    both = zip(tradeoff.privacies.tolist(), tradeoff.costs.tolist(), strict=True)
    places = _stair(tradeoff)[::2].tolist()
    return [style.Label(_both(tradeoff, *of), *at) for of, at in zip(both, places, strict=True)]


def _both(tradeoff: TradeOff, privacy: float, cost: float) -> str:
    words = f"{style.short_name(tradeoff.privacy)} {spell(tradeoff.privacy, privacy)}"
    return f"{words}\n{spell(tradeoff.cost, cost)}"


def _mark_flats(ax: Axes, landmarks: Landmarks, most: int) -> list[style.Label]:
    """Mark all flat stretches; return what to write beside the most remarkable ones."""
    tradeoff = landmarks.tradeoff
    privacy, cost = tradeoff.privacy, tradeoff.cost
    corners = _stair(tradeoff)
    places = {number: place for place, number in enumerate(tradeoff.ids.tolist())}
    labels = []
    for flat in sorted(landmarks.flats, key=lambda flat: -flat.worth):
        start, stop = places[flat.first], places[flat.last]
        ax.plot(*corners[2 * start : 2 * stop + 1].T, zorder=2, **_FLAT)
        ends = style.shown(privacy, [flat.privacy_from, flat.privacy_to])
        middle = np.sqrt(ends.prod()) if ax.get_xscale() == "log" else ends.mean()
        height = float(style.shown(cost, np.interp(middle, ends, [flat.cost_to, flat.cost_to])))
        ends_text = (spell(privacy, end) for end in (flat.privacy_from, flat.privacy_to))
        text = f"{' to '.join(ends_text)}\nfor {landmarks.price(flat)}"
        labels.append(style.Label(text, float(middle), height, style.DARK_GREEN, side="below"))
    return labels[:most]


def _draw_limit(ax: Axes, tradeoff: TradeOff, limit: float) -> tuple[Floats, list[style.Label]]:
    """Draw a limit of the cost, and mark the best solution within it; return line and words."""
    level = float(style.shown(tradeoff.cost, limit))
    ax.axhline(level, color=style.INK, linewidth=0.7, linestyle=(0, (4, 3)), zorder=2)
    line = np.array([[end, level] for end in ax.get_xlim()])
    within = np.flatnonzero(tradeoff.costs <= limit)
    if not len(within):
        return line, []
    best = within[-1]
    x, y = _stair(tradeoff)[2 * best]
    ax.plot([x], [y], "s", color=style.INK, markersize=4, zorder=6)
    words = (
        f"{style.short_name(tradeoff.privacy)} {spell(tradeoff.privacy, tradeoff.privacies[best])}"
    )
    text = f"{words}\nwithin {style.percent_text(limit)}"
    return line, [style.Label(text, float(x), float(y), style.INK, side="below")]
