"""Studies of several releases of one table: their figures and pages.

- `plot_comparison`: property vectors, and who gains by which release;
- `plot_frontier`, `frontier_html`: privacy loss against utility loss, with the efficient frontier
  (L Fig. 2);
- `plot_scores`, `plot_telling`, `learning_html`: what models still learn, and which losses predict
  that.
"""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter, SymmetricalLogLocator

from moanon import __version__
from moanon.arrays import Floats
from moanon.output import figure_style as style
from moanon.output.page import as_text, export_command, fill, page_html, part, program_page
from moanon.release.bucketized import PRESENCE
from moanon.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from moanon.compare import Comparison, Headcount
    from moanon.frontier import Frontier
    from moanon.learning.study import StudyOutcome


def _cut_in_front(text: str, most: int) -> str:
    """Shorten a long name; files of one folder differ at their ends."""
    signs = style.plain(text)
    return signs if len(signs) <= most else f"…{signs[1 - most :]}"


def _explain_above(figure: Figure, ax: Axes, columns: int) -> None:
    """Say above a figure what the marks of one of its panels mean."""
    legend = figure.legend(
        *ax.get_legend_handles_labels(),
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        fontsize=style.SMALL,
    )
    for text in legend.get_texts():
        style.write(text)


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
    figure = style.new_figure(style.PAGE, 0.5 + 2.1 * len(properties))
    axes = figure.subplots(len(properties), 2, squeeze=False)
    for (left, right), name in zip(axes, properties, strict=True):
        _draw_sorted(left, comparison, name)
        _draw_differences(right, comparison, name)
    for ax, words in zip(axes[0], ("each sorted by itself", "row by row"), strict=True):
        style.write(ax.set_title(words, loc="left"), style.SMALL, style.GREY)
    xwords = ("rows, the worst off first", "rows, those who lose most first")
    for ax, words in zip(axes[-1], xwords, strict=True):
        style.write(ax.set_xlabel(words), style.LABEL)
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
            ax.fill_between(
                shares, np.maximum(values, 0), step="post", color=style.COLOURS[1], **_AREA
            )
            ax.fill_between(
                shares, np.minimum(values, 0), step="post", color=style.COLOURS[0], **_AREA
            )
            ax.plot(shares, values, color=style.INK, linewidth=0.8, drawstyle="steps-post")
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
    ax.axhline(0, color=style.GREY, linewidth=0.6)
    _dress_vector(
        ax, f"gain over {first}" if len(others) > 1 else f"gain from {first} to {others[0]}"
    )
    if len(others) == 1:
        (count,) = (each for each in comparison.headcounts if each.property == name)
        _write_counts(ax, count)


def _write_counts(ax: Axes, count: Headcount) -> None:
    """Say in the two empty corners how many rows are better off where."""
    for letter, number, place, colour in (
        (count.second, count.better_in_second, (0.03, 0.95), style.COLOURS[1]),
        (count.first, count.better_in_first, (0.97, 0.05), style.COLOURS[0]),
    ):
        ax.annotate(
            f"{number:,} rows better off in {letter}",
            place,
            xycoords="axes fraction",
            ha="left" if place[0] < 0.5 else "right",
            va="top" if place[1] > 0.5 else "bottom",
            fontsize=style.SMALL,
            color=colour,
        )


def _draw_vector(ax: Axes, shares: Floats, values: Floats, number: int, label: str = "") -> None:
    again, place = divmod(number, len(style.COLOURS))
    ax.plot(
        shares,
        values,
        color=style.COLOURS[place],
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
    style.dress(ax)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    ax.yaxis.set_major_formatter(FuncFormatter(_signed))
    style.write(ax.set_ylabel(words), style.LABEL)


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
    figure = style.new_figure(style.PAGE, 3.4)
    axes = figure.subplots(1, 2 if asked else 1, squeeze=False)[0]
    _draw_releases(axes[0], frontier, series, "u_loss", "utility loss (nats)")
    axes[0].axhline(frontier.no_quasi, color=style.GREY, linewidth=0.7, linestyle=(0, (4, 3)))
    words = axes[0].annotate(
        "without any quasi-identifier", (1, frontier.no_quasi), xycoords=("axes fraction", "data")
    )
    words.set(ha="right", va="bottom", in_layout=False)
    style.write(words, style.SMALL, style.GREY)
    least = sorted((release.p_loss, release.u_loss) for release in frontier.efficient)
    axes[0].step(*zip(*least, strict=True), where="post", color=style.INK, linewidth=0.9, zorder=1)
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
        colour = style.COLOURS[place % len(style.COLOURS)]
        ax.plot(
            *zip(*points, strict=True),
            marker=_SHAPES[place],
            linestyle="none",
            markersize=3.6,
            markeredgewidth=0.8,
            markeredgecolor=colour,
            markerfacecolor=colour if method == "generalized" else "white",
            label=style.plain(name if method == "generalized" else f"{name}, bucketized"),
        )
    style.dress(ax)
    costs = [getattr(release, cost) for release in frontier.releases]
    costs = [each for each in costs if each is not None]
    if cost == "query_error" and max(costs) > _MANY_TIMES * max(_LEAST_ERROR, min(costs)):
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
    else:
        most = max(*costs, frontier.no_quasi) if cost == "u_loss" else max(costs)
        ax.set_ylim(0, 1.1 * most or 1.0)
    ax.set_xlim(0, 1.04 * max(release.p_loss for release in frontier.releases) or 1.0)
    style.write(ax.set_xlabel(_PRIVACY), style.LABEL)
    style.write(ax.set_ylabel(words), style.LABEL)


def frontier_html(
    frontier: Frontier, sources: Mapping[str, tuple[str, int | None]], series: Sequence[str]
) -> str:
    """Return the page of a frontier.

    `sources` has for each release its results folder and the number of its solution, or its file
    and None; `series` what each release belongs to.
    """
    return program_page(
        f"Privacy and utility of {frontier.sensitive}",
        "Privacy loss of individuals against utility loss for large subpopulations",
        _frontier_data(frontier, sources, series),
        scripts=("elements.js", "theme.js", "frontier.js"),
        numbers="frontier.csv beside it",
        explanation="frontier_explained.html",
    )


def _frontier_data(
    frontier: Frontier, sources: Mapping[str, tuple[str, int | None]], series: Sequence[str]
) -> dict[str, Any]:
    releases = []
    for release, of in zip(frontier.releases, series, strict=True):
        source, number = sources[release.name]
        command = None if number is None else export_command(source)
        releases.append({**asdict(release), "command": command, "id": number, "series": of})
    return {
        "sensitive": frontier.sensitive,
        "populations": frontier.populations,
        "min_support": frontier.rule.min_support,
        "no_quasi": frontier.no_quasi,
        "presence": PRESENCE,
        "releases": releases,
    }


# -- learning --------------------------------------------------------------------------------------

#: What scores are called.
SCORE_WORDS = {"balanced_accuracy": "balanced accuracy", "auroc": "AUROC", "log_loss": "log loss"}
_PROTOCOLS = {
    "raw": "Rows were held out first, and only the others were anonymized, so that this stands for "
    "the release of all rows: global solutions with the same blocks and about the same share of "
    "rows suppressed; local ones by the same search and baselines by the same algorithm, with k in "
    "proportion to the rows that are left. Models learned from that and were tested with the "
    "held-out rows as they are. The k, loss and suppressed rows of each release are those of all "
    "rows; learning_releases.csv has every measure of what was learned from.",
    "released": "The whole table was anonymized and then split. Models were tested with released "
    "rows, which took part in the anonymization.",
}
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
    figure = style.new_figure(style.PAGE, 0.9 + 1.9 * len(models))
    axes = figure.subplots(len(models), 2, squeeze=False, sharey="row")
    for pair, model in zip(axes, models, strict=True):
        of_model = table[table["model"] == model]
        for ax, measure in zip(pair, ("k", "loss"), strict=True):
            style.dress(ax)
            _draw_original(ax, of_model, score)
            _draw_points(ax, of_model, score, measure, sources)
        guess = _draw_guess(pair, of_model, score)
        style.title(pair[0], [model, guess], columns=2)
        style.write(pair[0].set_ylabel(SCORE_WORDS[score]), style.LABEL)
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
    figure = style.new_figure(style.PAGE, 1.2 + 0.24 * max(len(order), 3))
    ax = figure.add_subplot()
    style.dress(ax)
    ax.grid(visible=True, axis="x", color=style.FAINT, linewidth=0.5)
    for number, model in enumerate(models):
        rows = table[table["model"] == model].set_index("measure").reindex(order)
        places = np.arange(len(order)) + 0.22 * (number - (len(models) - 1) / 2)
        colour = style.COLOURS[number % len(style.COLOURS)]
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
    ax.axvline(0, color=style.GREY, linewidth=0.6)
    ax.set_xlim(-1.05, 1.05)
    ax.set_yticks(range(len(order)), order)
    if not order:
        style.write(
            ax.text(0, 0, "too few releases, or all alike", ha="center"), style.LABEL, style.GREY
        )
    else:
        ax.legend(
            fontsize=style.SMALL, frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=3
        )
    words = f"Spearman's correlation with the drop of {SCORE_WORDS[score]}, over releases"
    style.write(ax.set_xlabel(words), style.LABEL)
    return figure


def _draw_original(ax: Axes, table: pd.DataFrame, score: str) -> None:
    """Show where the table as it is stands."""
    repeats = table.groupby("repeat")[f"original_{score}"].first().dropna()
    if len(repeats):
        ax.axhspan(repeats.min(), repeats.max(), color=style.GREY, alpha=0.12, linewidth=0)
        dashed = (0, (5, 2))
        ax.axhline(
            repeats.mean(), color=style.INK, linewidth=0.9, linestyle=dashed, label="original"
        )


def _draw_guess(axes: Sequence[Axes], table: pd.DataFrame, score: str) -> str:
    """Say where a guess stands; show it where that is not far from everything else."""
    guess = float(table[f"constant_{score}"].mean())
    low, high = axes[0].get_ylim()
    if low - (high - low) / 2 <= guess <= high + (high - low) / 2:
        for ax in axes:
            ax.axhline(guess, color=style.GREY, linewidth=0.9, linestyle=(0, (1, 1.5)))
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
            color=style.COLOURS[number % len(style.COLOURS)],
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
        style.scale_axis(ax, "x", measure, known * (100 if measure == "loss" else 1))


def learning_html(
    outcome: StudyOutcome,
    metrics: pd.DataFrame,
    notes: Iterable[str],
    images: Mapping[str, bytes],
) -> str:
    """Return the page of a study: what can still be learned.

    `metrics` is made by `moanon.learning.study.which_tell`; `images` are figures (PNG) by their
    file names, in their order.
    """
    scores, balanced, correlations = (_figure(name, content) for name, content in images.items())
    content = [
        *_paragraphs(outcome, notes),
        "<h2>Scores</h2>",
        scores,
        *_score_tables(outcome),
        balanced,
        "<h2>Which loss predicts it?</h2>",
        "<p>Correlation of every loss, turned so that more is worse, with the drop of a score; 1 "
        "means that the loss predicts the drop, 0 that it does not. Intervals are 95 % bootstrap "
        "intervals over releases; with fewer than ten releases they say little, and where all "
        "releases agree, so does every draw.</p>",
        correlations,
        *_telling_tables(metrics),
    ]
    heading = f"Predicting {outcome.study.target.name}"
    places = {"title": as_text(heading), "version": __version__, "content": "\n".join(content)}
    sheet = part("page.css") + part("learning.css")
    return page_html(heading, fill("learning.html", places), sheet)


def _paragraphs(outcome: StudyOutcome, notes: Iterable[str]) -> Iterator[str]:
    study = outcome.study
    classes = ", ".join(study.target.classes)
    yield f"<p>{_PROTOCOLS[study.protocol]}</p>"
    yield (
        f"<p>{counted(len(study.anonymizations), 'release')}, {', '.join(study.models)}; "
        f"{counted(study.repeats, 'repeat')}, {study.test_share:.0%} of the rows held out, seed "
        f"{study.seed}. Classes: {as_text(classes)}.</p>"
    )
    items = [f"<li>{as_text(note)}</li>" for note in notes]
    if items:
        yield f"<ul>{''.join(items)}</ul>"


def _figure(name: str, content: bytes) -> str:
    data = b64encode(content).decode()
    words = html.escape(name.removesuffix(".png").replace("_", " "))
    return f'<figure><img alt="{words}" src="data:image/png;base64,{data}"></figure>'


def _score_tables(outcome: StudyOutcome) -> Iterator[str]:
    table = outcome.scores
    for model in outcome.study.models:
        of_model = table[table["model"] == model]
        means = of_model.groupby("release", sort=False).mean(numeric_only=True)
        first = of_model.groupby("repeat").first().mean(numeric_only=True)
        rows = [
            ["original", "", "", "", *(_score(first[f"original_{s}"]) for s in SCORE_WORDS)],
            ["a guess", "", "", "", *(_score(first[f"constant_{s}"]) for s in SCORE_WORDS)],
        ]
        for release, mean in means.iterrows():
            stated = [f"{mean['k']:,.0f}", f"{mean['loss']:.1%}", f"{mean['suppressed']:,.0f}"]
            stated = [text.replace("nan", "-") for text in stated]
            rows.append([str(release), *stated, *(_score(mean[s]) for s in SCORE_WORDS)])
        headers = [model, "k", "loss", "suppressed", *(SCORE_WORDS[s] for s in SCORE_WORDS)]
        yield _grid(headers, rows)


def _telling_tables(metrics: pd.DataFrame) -> Iterator[str]:
    table = metrics[metrics["score"] == "auroc"]
    for model, rows in table.groupby("model", sort=False):
        kept = rows[rows["spearman"].notna()].sort_values(
            "spearman", ascending=False, kind="stable"
        )
        if kept.empty:
            continue
        cells = [
            [str(row["measure"]), *(_interval(row, kind) for kind in ("spearman", "pearson"))]
            for _, row in kept.iterrows()
        ]
        yield _grid([f"{model}, {SCORE_WORDS['auroc']}", "Spearman", "Pearson"], cells)


def _interval(row: pd.Series[float], kind: str) -> str:
    return f"{row[kind]:.2f} ({row[f'{kind}_low']:.2f} to {row[f'{kind}_high']:.2f})"


def _score(value: float) -> str:
    return "-" if value != value else f"{value:.4f}"


def _grid(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{as_text(text)}</th>" for text in headers)
    body = "".join(
        f"<tr>{''.join(f'<td>{as_text(text)}</td>' for text in row)}</tr>" for row in rows
    )
    return f'<div class="numbers"><table><thead><tr>{head}</tr></thead>{body}</table></div>'
