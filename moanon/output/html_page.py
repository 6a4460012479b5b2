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
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from moanon import __version__

_PLACE = re.compile(r"@([a-z]+)@")


def page_html(
    title: str,
    body: str,
    style: str,
    *,
    scheme: str = "light dark",
    body_class: str = "",
    script: str | None = None,
) -> str:
    """Return a page.

    Parameters
    ----------
    title : str
        Any text.
    body, style : str
        HTML and CSS.
    scheme : str
        Color schemes that the style knows.
    body_class : str
    script : str, optional
        The program that stands in the body and may run; none else may.
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


def program_page(
    title: str, kind: str, data: Any, *, scripts: Sequence[str], numbers: str, explanation: str
) -> str:
    """Return a page that a program draws.

    Parameters
    ----------
    title, kind : str
        What is shown, and what kind of thing that is; any text.
    data : JSON value
        What the program shows.
    scripts : sequence of str
        Parts that are one program in this order.
    numbers : str
        Where the same numbers are, for who has no JavaScript; any text.
    explanation : str
        The part that stands at the end.
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
