"""Figures that compare anonymizations of one table: property vectors, and who gains by which.

Neither pyplot nor global settings are touched: a figure belongs to whoever asked for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter, SymmetricalLogLocator

from moanon.arrays import Floats
from moanon.compare import Comparison, Headcount
from moanon.output.figure_files import save_one
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

#: Each colour also has a dash pattern of its own.
_DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (9, 3)))
_AREA: dict[str, Any] = {"alpha": 0.25, "linewidth": 0}
#: A vector is drawn at this many places at most: more cannot be told apart on paper.
_PLACES = 2_000
#: Longer names are cut in front: their ends tell files of one folder apart.
_MOST_SIGNS = 40
#: Where differences reach further than this many units, they are drawn on a logarithmic scale.
_FAR = 30.0

_WORDS = {
    "size": "rows in the row's group",
    "utility": "utility left to the row",
    "sensitive_count": "rows of the group with\nthe row's sensitive value",
    "sensitive_share": "share of the group with\nthe row's sensitive value",
    "diversity": "sensitive values\nin the row's group",
}


def plot_comparison(comparison: Comparison) -> Figure:
    """Draw the sorted property vectors and, beside them, the differences row by row.

    There is a line of the figure for each property. On the left the rows are sorted by how well off
    they are, each anonymization by itself. On the right each row is compared with itself: how much
    better off it is in the other anonymizations than in the first.
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
    handles, labels = axes[0][0].get_legend_handles_labels()
    legend = figure.legend(
        handles, labels, loc="outside upper left", ncols=2, frameon=False, fontsize=SMALL
    )
    for text in legend.get_texts():
        write(text)
    return figure


def save_comparison(comparison: Comparison, path: Path, *, force: bool = False) -> None:
    """Draw a comparison into a file.

    Raises
    ------
    OutputError
        If the file exists and `force` is not set, has another ending than ``.png``, ``.svg`` and
        ``.pdf``, or cannot be written.
    """
    save_one(lambda: plot_comparison(comparison), path, force=force)


# -- panels --------------------------------------------------------------------------------------


def _draw_sorted(ax: Axes, comparison: Comparison, name: str) -> None:
    for i, (letter, vectors) in enumerate(comparison.vectors.items()):
        vector = vectors[name]
        worst_first = np.sort(vector.values)[:: 1 if vector.direction == "max" else -1]
        shares, values = _thinned(worst_first)
        label = f"{letter}  {_short(comparison.anonymized[letter].name)}"
        _line(ax, shares, values, i, label)
    drawn = np.concatenate([vectors[name].values for vectors in comparison.vectors.values()])
    if drawn.min() >= 1 and drawn.max() >= 10 * drawn.min():
        ax.set_yscale("log")
        ax.yaxis.set_minor_formatter(NullFormatter())
    elif drawn.min() >= 0:
        ax.set_ylim(bottom=0)
    _dress(ax, _words(name))


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
            _line(ax, shares, values, i)
    far = max(float(np.abs(lead).max()) for lead in leads.values())
    if far > _FAR:
        ax.set_yscale("symlog", linthresh=1, linscale=0.8)
        locator = SymmetricalLogLocator(base=10, linthresh=1)
        locator.set_params(numticks=9)
        ax.yaxis.set_major_locator(locator)
    elif len(others) == 1:  # the corners are for the numbers of rows
        ax.set_ylim(-1.4 * far or -1, 1.4 * far or 1)
    ax.axhline(0, color=GREY, linewidth=0.6)
    _dress(ax, f"gain over {first}" if len(others) > 1 else f"gain from {first} to {others[0]}")
    if len(others) == 1:
        (count,) = (each for each in comparison.headcounts if each.property == name)
        _tell_counts(ax, count)


def _tell_counts(ax: Axes, count: Headcount) -> None:
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


def _line(ax: Axes, shares: Floats, values: Floats, number: int, label: str = "") -> None:
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


def _words(name: str) -> str:
    base, _, column = name.partition(":")
    words = _WORDS.get(base, base)
    return f"{words}\n({_short(column)})" if column else words


def _short(text: str) -> str:
    shown = plain(text)
    return shown if len(shown) <= _MOST_SIGNS else f"…{shown[-_MOST_SIGNS + 1 :]}"


def _dress(ax: Axes, words: str) -> None:
    dress(ax)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    ax.yaxis.set_major_formatter(FuncFormatter(_signed))
    write(ax.set_ylabel(words), LABEL)


def _signed(value: float, _: int | None) -> str:
    return f"{value:,.6g}".replace("-", "\N{MINUS SIGN}")
