"""Pages that are one file each and work offline: ``report.html``, ``frontier.html`` and others.

A page's policy (Content-Security-Policy) forbids every request. Where it has a program, the policy
names that by its digest, so the browser runs this one and nothing else. What comes from the data
(column names, labels, file names) reaches a program as JSON in which nothing can end the element it
stands in, and is shown as text only. The pages' parts are in the folder ``page``.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moanon import __version__
from moanon.atomic import StagedFiles
from moanon.errors import OutputError
from moanon.measures.evaluate import OnPart
from moanon.output.page_data import Tab, export_command, page_data, page_title
from moanon.release.bucketized import PRESENCE
from moanon.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from moanon.frontier import Frontier
    from moanon.learning.study import StudyOutcome

#: Parts of a program, in their order: the page of fronts, ...
_SCRIPTS = (
    "elements.js",
    "theme.js",
    "front.js",
    "axis.js",
    "marker.js",
    "pointing.js",
    "chart.js",
    "plot.js",
    "sizes.js",
    "solution.js",
    "filters.js",
    "pair.js",
    "table.js",
    "compare.js",
    "main.js",
)
#: ... and that of releases on the plane of privacy loss and utility loss.
_FRONTIER_SCRIPTS = ("elements.js", "theme.js", "frontier.js")
#: What scores are called, here and in figures.
SCORE_WORDS = {"balanced_accuracy": "balanced accuracy", "auroc": "AUROC", "log_loss": "log loss"}
_PROTOCOLS = {
    "raw": "Rows were held out first, and only the others were anonymized, so that this stands for "
    "the release of all rows: global solutions with the same blocks and about the same share of "
    "rows suppressed; local ones by the same search and baselines by the same algorithm, with k in "
    "proportion to the rows that are left. Models learned from that and were tested with the "
    "held-out rows as they are. The k, loss and suppressed rows "
    "of each release are those of all rows; learning_releases.csv has every measure of what was "
    "learned from.",
    "released": "The whole table was anonymized and then split. Models were tested with released "
    "rows, which took part in the anonymization.",
}
_PLACE = re.compile(r"@([a-z]+)@")


# -- the pages -------------------------------------------------------------------------------------


def report_html(
    tabs: Sequence[Tab], axes: tuple[str, str] | None = None, on_part: OnPart | None = None
) -> str:
    """Return a page that shows fronts, one tab for each.

    Parameters
    ----------
    tabs : sequence of Tab
        At least one, each with at least one solution.
    axes : (str, str), optional
        A privacy and a cost: the page begins with all fronts in one plot of these. Default: fronts
        with the same objectives share a plot, on a tab after theirs.
    on_part : callable, optional
        Called with the number of solutions described so far, and of all.

    Raises
    ------
    OutputError
        If there is nothing to show.
    """
    if not tabs:
        raise OutputError("a report needs at least one front. Got none")
    for tab in tabs:
        if not len(tab.front):
            raise OutputError(f"the front {tab.title!r} has no solutions; there is nothing to show")
    return _program_page(
        page_title(tabs),
        "Privacy against loss",
        page_data(tabs, axes, on_part),
        scripts=_SCRIPTS,
        numbers="front.csv and solutions.json of the results folder",
        explanation="front_explained.html",
    )


def write_report(
    tabs: Sequence[Tab],
    path: str | Path,
    force: bool = False,
    spared: Iterable[Path] = (),
    axes: tuple[str, str] | None = None,
    on_part: OnPart | None = None,
) -> None:
    """Write the page of `report_html` to a file, which must not be one of those to spare.

    Raises
    ------
    OutputError
        If there is nothing to show, or the file cannot be written: it is one to spare, or exists
        and `force` is not set, or the system refuses it.
    """
    page, path = report_html(tabs, axes, on_part), Path(path)
    with StagedFiles(path, force=force, spared=spared) as staged:
        staged[path].write_text(page, encoding="utf-8", newline="\n")
        staged.move()


def frontier_html(
    frontier: Frontier, sources: Mapping[str, tuple[str, int | None]], series: Sequence[str]
) -> str:
    """Return the page of a frontier.

    `sources` has for each release its results folder and the number of its solution, or its file
    and None; `series` what each release belongs to.
    """
    return _program_page(
        f"Privacy and utility of {frontier.sensitive}",
        "Privacy loss of individuals against utility loss for large subpopulations",
        _frontier_data(frontier, sources, series),
        scripts=_FRONTIER_SCRIPTS,
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
    title = f"Predicting {outcome.study.target.name}"
    places = {"title": as_text(title), "version": __version__, "content": "\n".join(content)}
    style = part("page.css") + part("learning.css")
    return page_html(title, fill("learning.html", places), style)


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


# -- what pages share ------------------------------------------------------------------------------


def page_html(
    title: str,
    body: str,
    style: str,
    *,
    scheme: str = "light dark",
    body_class: str = "",
    script: str | None = None,
) -> str:
    """Return a page with a title (any text), a body (HTML) and a style (CSS).

    `scheme` names the colour schemes that the style knows. `script` is the program in the body that
    may run; none else may.
    """
    return fill(
        "shell.html",
        {
            "policy": _policy(script),
            "scheme": scheme,
            "version": __version__,
            "title": as_text(title),
            "style": style,
            "class": body_class,
            "body": body.rstrip("\n"),
        },
    )


def _program_page(
    title: str, kind: str, data: Any, *, scripts: Sequence[str], numbers: str, explanation: str
) -> str:
    """Return a page that a program draws from JSON data.

    `scripts` are the parts of the program in their order; `numbers` says where the same numbers
    are, for readers without JavaScript; `explanation` is the part at the end.
    """
    joined = "\n".join(part(name) for name in scripts)
    script = _as_script(f'"use strict";\n(() => {{\n{joined}\n}})();\n')
    body = fill(
        "program.html",
        {
            "kind": as_text(kind),
            "title": as_text(title),
            "numbers": as_text(numbers),
            "explanation": part(explanation).rstrip("\n"),
            "version": __version__,
            "data": _as_json(data),
            "script": script,
        },
    )
    return page_html(title, body, part("page.css"), script=script)


def fill(name: str, parts: Mapping[str, str]) -> str:
    """Put texts that are HTML already into the places of a part that are called ``@name@``."""
    return _PLACE.sub(lambda place: parts[place[1]], part(name))


def part(name: str) -> str:
    """Read a part of a page."""
    return (files("moanon.output") / "page" / name).read_text(encoding="utf-8")


def as_text(text: str) -> str:
    """Escape text for HTML; a file name may hold bytes that are no characters."""
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode()


def _policy(script: str | None) -> str:
    """Allow this script, inline styles and images; no request of any kind."""
    allowed = ""
    if script is not None:
        digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
        allowed = f"script-src 'sha256-{digest}'; "
    return (
        f"default-src 'none'; {allowed}style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _as_script(text: str) -> str:
    """Return a script as it can stand in a page, and as the browser takes its digest.

    A browser reads every line end as a line feed, and the end of the element wherever it sees one,
    even in a string.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"<(?=/script|!--)", r"\\x3c", text, flags=re.IGNORECASE)


def _as_json(value: Any) -> str:
    """Write JSON in which nothing is markup, and that has no sign beyond ASCII."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
