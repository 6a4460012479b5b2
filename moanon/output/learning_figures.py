"""Figures of what can be learned: scores against k and loss, and which losses tell.

Neither pyplot nor global settings are touched: a figure belongs to whoever asked for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from moanon.learning.study import StudyOutcome
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
    scale_axis,
    title,
    write,
)

if TYPE_CHECKING:
    import pandas as pd

_MARKS = ("o", "s", "^", "D", "v", "P", "X")
#: What scores are called.
WORDS = {"auroc": "AUROC", "balanced_accuracy": "balanced accuracy", "log_loss": "log loss"}
#: Longer names are cut in front: their ends tell folders apart.
_MOST_SIGNS = 36


def plot_scores(outcome: StudyOutcome, score: str) -> Figure:
    """Draw a score against k and against loss: a line of the figure for each model.

    Points are means over repeats and bars reach from the least to the largest of them. The dashed
    line is the table as it is, with the range of its repeats behind it; the dotted one, where it is
    not far below, is a guess that knows no features.
    """
    table = outcome.scores
    models = list(outcome.study.models)
    figure = new_figure(PAGE, 0.9 + 1.9 * len(models))
    axes = figure.subplots(len(models), 2, squeeze=False, sharey="row")
    for pair, model in zip(axes, models, strict=True):
        of_model = table[table["model"] == model]
        for ax, measure in zip(pair, ("k", "loss"), strict=True):
            dress(ax)
            _draw_original(ax, of_model, score)
            _draw_points(ax, of_model, score, measure)
        guess = _draw_guess(pair, of_model, score)
        title(pair[0], [model, guess], columns=2)
        write(pair[0].set_ylabel(WORDS[score]), LABEL)
    for column, measure in zip(axes.T, ("k", "loss"), strict=True):
        for ax in column:
            _scale(ax, measure, table[measure])
    for ax in axes[:-1].flat:
        ax.set_xlabel("")
    handles, labels = axes[0][0].get_legend_handles_labels()
    legend = figure.legend(
        handles, labels, loc="outside upper left", ncols=2, frameon=False, fontsize=SMALL
    )
    for text in legend.get_texts():
        write(text)
    return figure


def plot_telling(metrics: pd.DataFrame, score: str = "auroc") -> Figure:
    """Draw Spearman's correlation of every loss with the drop of a score, with its interval."""
    table = metrics[(metrics["score"] == score) & metrics["spearman"].notna()]
    order = table.groupby("measure")["spearman"].mean().sort_values(kind="stable").index.tolist()
    models = list(dict.fromkeys(metrics["model"]))
    figure = new_figure(PAGE, 1.2 + 0.24 * max(len(order), 3))
    ax = figure.add_subplot()
    dress(ax)
    ax.grid(visible=True, axis="x", color="#E3E3E3", linewidth=0.5)
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
    words = f"Spearman's correlation with the drop of {WORDS[score]}, over releases"
    write(ax.set_xlabel(words), LABEL)
    return figure


def source_of(release: str) -> str:
    """What a release belongs to: its results folder, or itself."""
    folder, mark, number = release.rpartition("#")
    return folder if mark and number.isdigit() else release


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


def _draw_points(ax: Axes, table: pd.DataFrame, score: str, measure: str) -> None:
    for number, (source, rows) in enumerate(
        table.groupby(table["release"].map(source_of), sort=False)
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
            label=_short(str(source)),
        )


def _scale(ax: Axes, measure: str, values: pd.Series[float]) -> None:
    known = values.dropna().to_numpy(dtype=np.float64)
    if len(known):
        scale_axis(ax, "x", measure, known * (100 if measure == "loss" else 1))


def _short(text: str) -> str:
    shown = plain(text)
    return shown if len(shown) <= _MOST_SIGNS else f"…{shown[-_MOST_SIGNS + 1 :]}"
