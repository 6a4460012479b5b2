"""``report.html``: fronts on one page that works offline.

The page is one file. Its script is named in its Content-Security-Policy by its digest, so the
browser runs this one and nothing else, and the policy forbids every request. What comes from the
data (column names, labels, file names) reaches the page as JSON in which nothing can end the
element it stands in, and is shown as text only. The page's parts are in the folder ``page``.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from moanon import __version__
from moanon.atomic import StagedFiles
from moanon.errors import OutputError
from moanon.measures.solutions import OnPart
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
_PLACE = re.compile(r"@([a-z]+)@")


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
    joined = "\n".join(part(name) for name in _SCRIPTS)
    program = _as_script(f'"use strict";\n(() => {{\n{joined}\n}})();\n')
    parts = {
        "policy": _policy(program),
        "version": __version__,
        "title": as_text(page_title(tabs)),
        "style": part("page.css"),
        "data": _as_json(page_data(tabs, axes, on_part)),
        "script": program,
    }
    return fill("page.html", parts)


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


def fill(name: str, parts: Mapping[str, str]) -> str:
    """Put texts that are HTML already into the places of a page that are called ``@name@``."""
    return _PLACE.sub(lambda place: parts[place[1]], part(name))


def part(name: str) -> str:
    """Read a part of a page."""
    return (files("moanon.output") / "page" / name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Allow this script, inline styles and an empty icon; no request of any kind."""
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
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


def as_text(text: str) -> str:
    """Escape text for HTML; a file name may hold bytes that are no characters."""
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode()
