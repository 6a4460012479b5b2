"""The plane of privacy loss and utility loss, with the efficient frontier (L Fig. 2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from moanon.frontier import Frontier
from moanon.output.figure_style import (
    COLOURS,
    GREY,
    INK,
    LABEL,
    PAGE,
    SMALL,
    dress,
    new_figure,
    plain,
    write,
)

#: Filled where blocks are published, open where buckets are; a shape for each series.
_SHAPES = "osD^vPX"
#: More series than this are not told apart.
_MOST_SERIES = len(_SHAPES)
#: Errors of queries that differ so much are drawn by powers of ten, as buckets answer far better;
#: smaller ones than this are drawn there.
_MANY_TIMES, _LEAST_ERROR = 30, 0.001
_PRIVACY = "privacy loss (nats): lower is more private"


def plot_frontier(frontier: Frontier, series: Sequence[str]) -> Figure:
    """Draw all releases, and a line through the efficient ones.

    Parameters
    ----------
    frontier : Frontier
    series : sequence of str
        For each release what it belongs to; drawn in one colour and shape.
    """
    asked = any(release.query_error is not None for release in frontier.releases)
    figure = new_figure(PAGE, 3.4)
    axes = figure.subplots(1, 2 if asked else 1, squeeze=False)[0]
    _draw(axes[0], frontier, series, "u_loss", "utility loss (nats)")
    axes[0].axhline(frontier.no_quasi, color=GREY, linewidth=0.7, linestyle=(0, (4, 3)))
    words = axes[0].annotate(
        "without any quasi-identifier", (1, frontier.no_quasi), xycoords=("axes fraction", "data")
    )
    words.set(ha="right", va="bottom", in_layout=False)
    write(words, SMALL, GREY)
    least = sorted((release.p_loss, release.u_loss) for release in frontier.efficient)
    axes[0].step(*zip(*least, strict=True), where="post", color=INK, linewidth=0.9, zorder=1)
    if asked:
        _draw(axes[1], frontier, series, "query_error", "mean relative error of COUNT queries")
    handles, labels = axes[0].get_legend_handles_labels()
    legend = figure.legend(
        handles, labels, loc="outside upper left", ncols=3, frameon=False, fontsize=SMALL
    )
    for text in legend.get_texts():
        write(text)
    return figure


def _draw(ax: Axes, frontier: Frontier, series: Sequence[str], cost: str, words: str) -> None:
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
        place = names.index(name) % _MOST_SERIES
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
