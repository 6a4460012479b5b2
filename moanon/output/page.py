"""``report.html``: fronts on one page that works offline (see ``html_page``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from moanon.atomic import StagedFiles
from moanon.errors import OutputError
from moanon.measures.solutions import OnPart
from moanon.output.html_page import program_page
from moanon.output.page_data import Tab, page_data, page_title

#: In this order they are one program.
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
        Told how many of all solutions are described.

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
