"""Figures of releases: their group sizes, and several of one table against each other.

- `plot_group_sizes`: how many rows hide among how many others (insets of D Fig. 6);
- `plot_comparison`: property vectors, and who gains by which release;
- `plot_frontier`: privacy loss against utility loss, with the efficient frontier (L Fig. 2);
- `plot_scores`, `plot_telling`: what models still learn, and which losses predict that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter, SymmetricalLogLocator
from matplotlib.transforms import Bbox

from moanon.arrays import Floats
from moanon.front import Front
from moanon.front.landmarks import TradeOff, find_landmarks, spell
from moanon.output.figure_style import (
    BLUE,
    COLOURS,
    COLUMN,
    FAINT,
    GREY,
    INK,
    LABEL,
    PAGE,
    SEQUENCE,
    SMALL,
    add_legend,
    dress,
    find_room,
    lay_out,
    new_axes,
    new_figure,
    plain,
    root_figure,
    scale_axis,
    scale_numbers,
    short_name,
    shown,
    title,
    write,
)
from moanon.output.page import SCORE_WORDS

if TYPE_CHECKING:
    import pandas as pd

    from moanon.compare import Comparison, Headcount
    from moanon.frontier import Frontier
    from moanon.learning.study import StudyOutcome


def _cut_in_front(text: str, most: int) -> str:
    """Shorten a long name; files of one folder differ at their ends."""
    signs = plain(text)
    return signs if len(signs) <= most else f"…{signs[1 - most :]}"


def _explain_above(figure: Figure, ax: Axes, columns: int) -> None:
    """Say above a figure what the marks of one of its panels mean."""
    legend = figure.legend(
        *ax.get_legend_handles_labels(),
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        fontsize=SMALL,
    )
    for text in legend.get_texts():
        write(text)


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
            "linestyle": _SIZE_DASHES[i % len(_SIZE_DASHES)],
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
        lay_out(root_figure(ax))
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

    Returns the places they take, in pixels, and the lines from them to their solutions.
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
    tradeoff = landmarks.tradeoff
    knees = [knee.last for knee in landmarks.foremost_knees() if knee.rise <= _AFFORDABLE]
    if len(knees) >= number:
        return sorted(knees[:number], key=tradeoff.ids.tolist().index)
    wanted = (np.arange(number) + 0.5) / number
    nearest = np.abs(tradeoff.gains[:, None] - wanted).argmin(axis=0)
    return list(dict.fromkeys(tradeoff.ids[nearest].tolist()))


# -- comparison ------------------------------------------------------------------------------------

#: Each colour also has a dash pattern of its own.
_DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (9, 3)))
_AREA: dict[str, Any] = {"alpha": 0.25, "linewidth": 0}
#: A vector is drawn at this many places at most: paper shows no more.
_PLACES = 2_000
#: Where differences reach further than this many units, they are drawn on a logarithmic scale.
_FAR = 30.0

#: What properties of a row are called.
_PROPERTY_WORDS = {
    "size": "rows in the row's group",
    "utility": "utility left to the row",
    "sensitive_count": "rows of the group with\nthe row's sensitive value",
    "sensitive_share": "share of the group with\nthe row's sensitive value",
    "diversity": "sensitive values\nin the row's group",
}


def plot_comparison(comparison: Comparison) -> Figure:
    """Draw the sorted property vectors and, beside them, the differences row by row.

    There is a line of the figure for each property. On the left the rows are sorted by how well off
    they are, in each anonymization separately. On the right each row is compared with itself: how
    much better off it is in the other anonymizations than in the first.
    """
    properties = comparison.properties
    figure = new_figure(PAGE, 0.5 + 2.1 * len(properties))
    axes = figure.subplots(len(properties), 2, squeeze=False)
    for (left, right), name in zip(axes, properties, strict=True):
        _draw_sorted(left, comparison, name)
        _draw_differences(right, comparison, name)
    for ax, words in zip(axes[0], ("each sorted by itself", "row by row"), strict=True):
        write(ax.set_title(words, loc="left"), SMALL, GREY)
    xwords = ("rows, the worst off first", "rows, those who lose most first")
    for ax, words in zip(axes[-1], xwords, strict=True):
        write(ax.set_xlabel(words), LABEL)
    figure.align_ylabels(axes)
    _explain_above(figure, axes[0][0], 2)
    return figure


def _draw_sorted(ax: Axes, comparison: Comparison, name: str) -> None:
    for i, (letter, vectors) in enumerate(comparison.vectors.items()):
        vector = vectors[name]
        worst_first = np.sort(vector.values)[:: 1 if vector.direction == "max" else -1]
        shares, values = _thinned(worst_first)
        label = f"{letter}  {_cut_in_front(comparison.anonymized[letter].name, 40)}"
        _draw_vector(ax, shares, values, i, label)
    drawn = np.concatenate([vectors[name].values for vectors in comparison.vectors.values()])
    if drawn.min() >= 1 and drawn.max() >= 10 * drawn.min():
        ax.set_yscale("log")
        ax.yaxis.set_minor_formatter(NullFormatter())
    elif drawn.min() >= 0:
        ax.set_ylim(bottom=0)
    _dress_vector(ax, _property_words(name))


def _draw_differences(ax: Axes, comparison: Comparison, name: str) -> None:
    first, *others = comparison.vectors
    base = comparison.vectors[first][name].oriented
    leads = {other: comparison.vectors[other][name].oriented - base for other in others}
    for i, lead in enumerate(leads.values(), 1):
        shares, values = _thinned(np.sort(lead))
        if len(others) == 1:  # the areas have the colours of where rows are better off
            ax.fill_between(shares, np.maximum(values, 0), step="post", color=COLOURS[1], **_AREA)
            ax.fill_between(shares, np.minimum(values, 0), step="post", color=COLOURS[0], **_AREA)
            ax.plot(shares, values, color=INK, linewidth=0.8, drawstyle="steps-post")
        else:
            _draw_vector(ax, shares, values, i)
    far = max(float(np.abs(lead).max()) for lead in leads.values())
    if far > _FAR:
        ax.set_yscale("symlog", linthresh=1, linscale=0.8)
        locator = SymmetricalLogLocator(base=10, linthresh=1)
        locator.set_params(numticks=9)
        ax.yaxis.set_major_locator(locator)
    elif len(others) == 1:  # the corners are for the numbers of rows
        ax.set_ylim(-1.4 * far or -1, 1.4 * far or 1)
    ax.axhline(0, color=GREY, linewidth=0.6)
    _dress_vector(
        ax, f"gain over {first}" if len(others) > 1 else f"gain from {first} to {others[0]}"
    )
    if len(others) == 1:
        (count,) = (each for each in comparison.headcounts if each.property == name)
        _write_counts(ax, count)


def _write_counts(ax: Axes, count: Headcount) -> None:
    """Say in the two empty corners how many rows are better off where."""
    for letter, number, place, colour in (
        (count.second, count.better_in_second, (0.03, 0.95), COLOURS[1]),
        (count.first, count.better_in_first, (0.97, 0.05), COLOURS[0]),
    ):
        ax.annotate(
            f"{number:,} rows better off in {letter}",
            place,
            xycoords="axes fraction",
            ha="left" if place[0] < 0.5 else "right",
            va="top" if place[1] > 0.5 else "bottom",
            fontsize=SMALL,
            color=colour,
        )


def _draw_vector(ax: Axes, shares: Floats, values: Floats, number: int, label: str = "") -> None:
    again, place = divmod(number, len(COLOURS))
    ax.plot(
        shares,
        values,
        color=COLOURS[place],
        linestyle=_DASHES[(place + again) % len(_DASHES)],  # a colour comes back with another dash
        linewidth=1.2,
        label=label,
        drawstyle="steps-post",
    )


def _thinned(ordered: Floats) -> tuple[Floats, Floats]:
    """Where steps begin, as shares of rows, and their heights; the last one is closed at 1.

    All rows of a small table, evenly chosen ones of a large table.
    """
    rows = len(ordered)
    places = np.unique(np.linspace(0, rows - 1, min(rows, _PLACES)).round().astype(np.int64))
    return np.append(places / rows, 1.0), np.append(ordered[places], ordered[-1])


def _property_words(name: str) -> str:
    base, _, column = name.partition(":")
    words = _PROPERTY_WORDS.get(base, base)
    return f"{words}\n({_cut_in_front(column, 40)})" if column else words


def _dress_vector(ax: Axes, words: str) -> None:
    dress(ax)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    ax.yaxis.set_major_formatter(FuncFormatter(_signed))
    write(ax.set_ylabel(words), LABEL)


def _signed(value: float, _: int | None) -> str:
    return f"{value:,.6g}".replace("-", "\N{MINUS SIGN}")


# -- frontier --------------------------------------------------------------------------------------

#: Filled where blocks are published, open where buckets are; a shape for each series.
_SHAPES = "osD^vPX"
#: Where errors of queries differ by this factor, the axis is logarithmic, as buckets answer far
#: better; smaller errors than the second are drawn there.
_MANY_TIMES, _LEAST_ERROR = 30, 0.001
_PRIVACY = "privacy loss (nats): lower is more private"


def plot_frontier(frontier: Frontier, series: Sequence[str]) -> Figure:
    """Draw all releases, and a line through the efficient ones.

    `series` says for each release what it belongs to; a series has one colour and shape.
    """
    asked = any(release.query_error is not None for release in frontier.releases)
    figure = new_figure(PAGE, 3.4)
    axes = figure.subplots(1, 2 if asked else 1, squeeze=False)[0]
    _draw_releases(axes[0], frontier, series, "u_loss", "utility loss (nats)")
    axes[0].axhline(frontier.no_quasi, color=GREY, linewidth=0.7, linestyle=(0, (4, 3)))
    words = axes[0].annotate(
        "without any quasi-identifier", (1, frontier.no_quasi), xycoords=("axes fraction", "data")
    )
    words.set(ha="right", va="bottom", in_layout=False)
    write(words, SMALL, GREY)
    least = sorted((release.p_loss, release.u_loss) for release in frontier.efficient)
    axes[0].step(*zip(*least, strict=True), where="post", color=INK, linewidth=0.9, zorder=1)
    if asked:
        _draw_releases(
            axes[1], frontier, series, "query_error", "mean relative error of COUNT queries"
        )
    _explain_above(figure, axes[0], 3)
    return figure


def _draw_releases(
    ax: Axes, frontier: Frontier, series: Sequence[str], cost: str, words: str
) -> None:
    names = list(dict.fromkeys(series))
    least = _LEAST_ERROR if cost == "query_error" else 0.0
    for name, method in product(names, ("generalized", "bucketized")):
        points = [
            (release.p_loss, max(getattr(release, cost), least))
            for release, of in zip(frontier.releases, series, strict=True)
            if of == name and release.method == method and getattr(release, cost) is not None
        ]
        if not points:
            continue
        place = names.index(name) % len(_SHAPES)
        colour = COLOURS[place % len(COLOURS)]
        ax.plot(
            *zip(*points, strict=True),
            marker=_SHAPES[place],
            linestyle="none",
            markersize=3.6,
            markeredgewidth=0.8,
            markeredgecolor=colour,
            markerfacecolor=colour if method == "generalized" else "white",
            label=plain(name if method == "generalized" else f"{name}, bucketized"),
        )
    dress(ax)
    costs = [getattr(release, cost) for release in frontier.releases]
    costs = [each for each in costs if each is not None]
    if cost == "query_error" and max(costs) > _MANY_TIMES * max(_LEAST_ERROR, min(costs)):
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
    else:
        most = max(*costs, frontier.no_quasi) if cost == "u_loss" else max(costs)
        ax.set_ylim(0, 1.1 * most or 1.0)
    ax.set_xlim(0, 1.04 * max(release.p_loss for release in frontier.releases) or 1.0)
    write(ax.set_xlabel(_PRIVACY), LABEL)
    write(ax.set_ylabel(words), LABEL)


# -- learning --------------------------------------------------------------------------------------

_MARKS = ("o", "s", "^", "D", "v", "P", "X")


def plot_scores(outcome: StudyOutcome, score: str) -> Figure:
    """Draw a score against k and against loss: a line of the figure for each model.

    Points are means over repeats and bars reach from the least to the largest of them. The dashed
    line is the table as it is, with the range of its repeats behind it; the dotted one, where it is
    not far below, is a guess that knows no features.
    """
    table = outcome.scores
    models = list(outcome.study.models)
    sources = {each.name: each.source for each in outcome.study.anonymizations}
    figure = new_figure(PAGE, 0.9 + 1.9 * len(models))
    axes = figure.subplots(len(models), 2, squeeze=False, sharey="row")
    for pair, model in zip(axes, models, strict=True):
        of_model = table[table["model"] == model]
        for ax, measure in zip(pair, ("k", "loss"), strict=True):
            dress(ax)
            _draw_original(ax, of_model, score)
            _draw_points(ax, of_model, score, measure, sources)
        guess = _draw_guess(pair, of_model, score)
        title(pair[0], [model, guess], columns=2)
        write(pair[0].set_ylabel(SCORE_WORDS[score]), LABEL)
    for column, measure in zip(axes.T, ("k", "loss"), strict=True):
        for ax in column:
            _scale_measure(ax, measure, table[measure])
    for ax in axes[:-1].flat:
        ax.set_xlabel("")
    _explain_above(figure, axes[0][0], 2)
    return figure


def plot_telling(metrics: pd.DataFrame, score: str = "auroc") -> Figure:
    """Draw Spearman's correlation of every loss with the drop of a score, with its interval."""
    table = metrics[(metrics["score"] == score) & metrics["spearman"].notna()]
    order = table.groupby("measure")["spearman"].mean().sort_values(kind="stable").index.tolist()
    models = list(dict.fromkeys(metrics["model"]))
    figure = new_figure(PAGE, 1.2 + 0.24 * max(len(order), 3))
    ax = figure.add_subplot()
    dress(ax)
    ax.grid(visible=True, axis="x", color=FAINT, linewidth=0.5)
    for number, model in enumerate(models):
        rows = table[table["model"] == model].set_index("measure").reindex(order)
        places = np.arange(len(order)) + 0.22 * (number - (len(models) - 1) / 2)
        colour = COLOURS[number % len(COLOURS)]
        ax.hlines(places, rows["spearman_low"], rows["spearman_high"], color=colour, linewidth=1)
        ax.plot(
            rows["spearman"],
            places,
            linestyle="none",
            marker=_MARKS[number % len(_MARKS)],
            markersize=4,
            color=colour,
            label=model,
        )
    ax.axvline(0, color=GREY, linewidth=0.6)
    ax.set_xlim(-1.05, 1.05)
    ax.set_yticks(range(len(order)), order)
    if not order:
        write(ax.text(0, 0, "too few releases, or all alike", ha="center"), LABEL, GREY)
    else:
        ax.legend(fontsize=SMALL, frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    words = f"Spearman's correlation with the drop of {SCORE_WORDS[score]}, over releases"
    write(ax.set_xlabel(words), LABEL)
    return figure


def _draw_original(ax: Axes, table: pd.DataFrame, score: str) -> None:
    """Show where the table as it is stands."""
    repeats = table.groupby("repeat")[f"original_{score}"].first().dropna()
    if len(repeats):
        ax.axhspan(repeats.min(), repeats.max(), color=GREY, alpha=0.12, linewidth=0)
        dashed = (0, (5, 2))
        ax.axhline(repeats.mean(), color=INK, linewidth=0.9, linestyle=dashed, label="original")


def _draw_guess(axes: Sequence[Axes], table: pd.DataFrame, score: str) -> str:
    """Say where a guess stands; show it where that is not far from everything else."""
    guess = float(table[f"constant_{score}"].mean())
    low, high = axes[0].get_ylim()
    if low - (high - low) / 2 <= guess <= high + (high - low) / 2:
        for ax in axes:
            ax.axhline(guess, color=GREY, linewidth=0.9, linestyle=(0, (1, 1.5)))
    return f"a guess has {guess:.3f}" if np.isfinite(guess) else ""


def _draw_points(
    ax: Axes, table: pd.DataFrame, score: str, measure: str, sources: Mapping[str, str]
) -> None:
    """Draw a line for each results folder or file that releases are of."""
    for number, (source, rows) in enumerate(
        table.groupby(table["release"].map(sources), sort=False)
    ):
        releases = rows.groupby("release", sort=False)
        points = releases[score].agg(["mean", "min", "max"])
        points["at"] = releases[measure].mean() * (100 if measure == "loss" else 1)
        points = points.dropna().sort_values("at", kind="stable")
        if points.empty:
            continue
        ax.errorbar(
            points["at"],
            points["mean"],
            yerr=[points["mean"] - points["min"], points["max"] - points["mean"]],
            color=COLOURS[number % len(COLOURS)],
            marker=_MARKS[number % len(_MARKS)],
            markersize=3.5,
            linewidth=1.1,
            elinewidth=0.8,
            capsize=1.5,
            label=_cut_in_front(str(source), 36),
        )


def _scale_measure(ax: Axes, measure: str, values: pd.Series[float]) -> None:
    known = values.dropna().to_numpy(dtype=np.float64)
    if len(known):
        scale_axis(ax, "x", measure, known * (100 if measure == "loss" else 1))
