"""``learning.html``: what can still be learned, on one page that works offline."""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from moanon import __version__
from moanon.learning.models import SCORES
from moanon.learning.study import StudyOutcome
from moanon.output.html_page import as_text, fill, page_html, part
from moanon.output.learning_figures import WORDS

if TYPE_CHECKING:
    import pandas as pd

_PROTOCOLS = {
    "raw": "Rows were held out first, and only the others were anonymized, so that this stands for "
    "the release of all rows: global solutions with the same blocks and about the same share of "
    "rows suppressed; local ones by the same search and baselines by the same algorithm, with k in "
    "proportion to the rows that are left. Models learned from that and were tested with the "
    "held-out rows as they are. Told of each release are k, loss and suppressed rows when it is "
    "made of all rows; learning_releases.csv has every measure of what was learned from.",
    "released": "The whole table was anonymized and then split. Models were tested with released "
    "rows, which took part in the anonymization.",
}


def learning_html(
    outcome: StudyOutcome,
    metrics: pd.DataFrame,
    notes: Iterable[str],
    images: Mapping[str, bytes],
) -> str:
    """Return the page.

    Parameters
    ----------
    outcome : StudyOutcome
    metrics : frame
        As `moanon.learning.study.which_tell` makes it.
    notes : iterable of str
        What should be said besides.
    images : mapping of str to bytes
        Figures (PNG) by the names of their files, in their order.
    """
    scores, balanced, telling = (_figure(name, content) for name, content in images.items())
    content = [
        *_paragraphs(outcome, notes),
        "<h2>Scores</h2>",
        scores,
        *_score_tables(outcome),
        balanced,
        "<h2>Which loss tells?</h2>",
        "<p>Correlation of every loss, turned so that more is worse, with what is lost of a score; "
        "1 means that it tells, 0 that it does not. Intervals hold 95 % of draws of releases with "
        "replacement; of fewer than ten releases they say little, and where all agree, so does "
        "every draw.</p>",
        telling,
        *_telling_tables(metrics),
    ]
    title = f"Predicting {outcome.study.target.name}"
    places = {"title": as_text(title), "version": __version__, "content": "\n".join(content)}
    style = part("page.css") + part("learning.css")
    return page_html(title, fill("learning.html", places), style)


def _paragraphs(outcome: StudyOutcome, notes: Iterable[str]) -> Iterator[str]:
    study = outcome.study
    classes = ", ".join(study.target.classes)
    yield f"<p>{_PROTOCOLS[study.protocol]}</p>"
    yield (
        f"<p>{_count(len(study.anonymizations), 'release')}, {', '.join(study.models)}; "
        f"{_count(study.repeats, 'repeat')}, {study.test_share:.0%} of the rows held out, seed "
        f"{study.seed}. Classes: {as_text(classes)}.</p>"
    )
    items = [f"<li>{as_text(note)}</li>" for note in notes]
    if items:
        yield f"<ul>{''.join(items)}</ul>"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


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
            ["original", "", "", "", *(_number(first[f"original_{s}"]) for s in SCORES)],
            ["a guess", "", "", "", *(_number(first[f"constant_{s}"]) for s in SCORES)],
        ]
        for release, mean in means.iterrows():
            stated = [f"{mean['k']:,.0f}", f"{mean['loss']:.1%}", f"{mean['suppressed']:,.0f}"]
            stated = [text.replace("nan", "-") for text in stated]
            rows.append([str(release), *stated, *(_number(mean[s]) for s in SCORES)])
        headers = [model, "k", "loss", "suppressed", *(WORDS[s] for s in SCORES)]
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
        yield _grid([f"{model}, {WORDS['auroc']}", "Spearman", "Pearson"], cells)


def _interval(row: pd.Series[float], kind: str) -> str:
    return f"{row[kind]:.2f} ({row[f'{kind}_low']:.2f} to {row[f'{kind}_high']:.2f})"


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.4f}"


def _grid(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{as_text(text)}</th>" for text in headers)
    body = "".join(
        f"<tr>{''.join(f'<td>{as_text(text)}</td>' for text in row)}</tr>" for row in rows
    )
    return f'<div class="numbers"><table><thead><tr>{head}</tr></thead>{body}</table></div>'
