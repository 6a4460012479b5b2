"""``frontier.html``: releases on the plane of privacy loss and utility loss, to be explored.

The page is made as ``report.html`` is, see ``html_page``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from moanon.frontier import Frontier
from moanon.output.html_page import program_page
from moanon.output.page_data import export_command
from moanon.release.bucketized import PRESENCE

_SCRIPTS = ("elements.js", "theme.js", "frontier.js")


def frontier_html(
    frontier: Frontier, sources: Mapping[str, tuple[str, int | None]], series: Sequence[str]
) -> str:
    """Return the page of a frontier.

    Parameters
    ----------
    frontier : Frontier
    sources : mapping of str to (str, int or None)
        For each release its results folder and the number of its solution, or its file.
    series : sequence of str
        For each release what it belongs to.
    """
    return program_page(
        f"Privacy and utility of {frontier.sensitive}",
        "Privacy loss of individuals against utility loss for large populations",
        _page_data(frontier, sources, series),
        scripts=_SCRIPTS,
        numbers="frontier.csv beside it",
        explanation="frontier_explained.html",
    )


def _page_data(
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
