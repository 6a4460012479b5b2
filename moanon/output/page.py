"""``report.html`` and ``frontier.html``: pages to explore, offline (see ``html_page``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moanon.atomic import StagedFiles
from moanon.errors import OutputError
from moanon.measures.evaluate import OnPart
from moanon.output.html_page import program_page
from moanon.output.page_data import Tab, export_command, page_data, page_title
from moanon.release.bucketized import PRESENCE

if TYPE_CHECKING:
    from moanon.frontier import Frontier

#: In this order they are one program: the page of fronts, ...
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


def report_html(
    tabs: Sequence[Tab], axes: tuple[str, str] | None = None, on_part: OnPart | None = None
) -> str:
    """Return a page that shows fronts, one tab for each.

    Parameters
    ----------
    tabs : sequence of Tab
        At least one, each with at least one solution.
    axes : (str, str), optional
        A privacy and a cost by which all of them are laid over each other, to begin with. Default:
        those with the same objectives are, on a tab behind theirs.
    on_part : callable, optional
        Called with how many of all solutions are described.

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
    return program_page(
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
    """Write the page of `report_html` to a file, but to none of those that are spared.

    Raises
    ------
    OutputError
        If there is nothing to show, the file is spared, or exists and `force` is not set, or it
        cannot be written.
    """
    page, path = report_html(tabs, axes, on_part), Path(path)
    with StagedFiles(path, force=force, spared=spared) as staged:
        staged[path].write_text(page, encoding="utf-8", newline="\n")
        staged.move()


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
