"""Cells that a spreadsheet would run as formulas, and how to keep it from doing so."""

from __future__ import annotations

import re

#: First characters (also in full width) that make a spreadsheet take a cell for a formula.
FORMULA = re.compile("[=+\\-@\t\r\n＝＋－＠]")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def is_formula(text: str | None) -> bool:
    """Whether a spreadsheet would run a cell; plain numbers such as -3 or +1.5e3 are just shown."""
    return text is not None and bool(FORMULA.match(text)) and not NUMBER.fullmatch(text)


def defuse(text: str) -> str:
    """Put an apostrophe before a cell that a spreadsheet would run as a formula.

    A cell that already begins with apostrophes and then such a character gets one more, so that no
    two cells become the same and a reader can undo it.

    Examples
    --------
    >>> [defuse(text) for text in ("=1+1", "-3", "'=1+1", "it's")]
    ["'=1+1", '-3', "''=1+1", "it's"]
    """
    bare = text.lstrip("'")
    if is_formula(bare) or (bare != text and FORMULA.match(bare)):
        return "'" + text
    return text
