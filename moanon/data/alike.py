"""Texts that look the same: ``HIV``, ``HIV`` with a blank behind it, ``hiv``, ``ＨＩＶ``.

To a program they are different values, and a group that shows three of them counts as diverse where
all its rows have one illness. `folded` is what such texts have in common.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

#: Characters that nobody sees: controls, format characters but those that leave a mark (Arabic
#: number signs), and what else Unicode ignores by default where text is shown (joiners, fillers,
#: variation selectors, tags).
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
#: Braille without dots: no white space to Unicode, but to whoever looks at it.
_BLANK = "\u2800"
_WHITE = re.compile(rf"[\s{_BLANK}]+")
#: What texts that look the same differ in.
DIFFERENCES = "white space, invisible characters, Unicode form or case"


def folded(text: str) -> str:
    """Give what a text has in common with all that look the same.

    White space is one blank between words, invisible characters are left out, characters have their
    compatible form (NFKC) and letters no case.

    Examples
    --------
    >>> folded("HIV\N{NO-BREAK SPACE}\N{ZERO WIDTH SPACE} ") == folded("hiv")
    True
    >>> folded("\N{ROMAN NUMERAL TWO}  b") == folded("Ii B")
    True
    """
    while (once := _folded_once(text)) != text:  # what is left out may let others combine
        text = once
    return text


def _folded_once(text: str) -> str:
    seen = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    return _WHITE.sub(" ", seen).strip(" ").casefold()


def bare(text: str) -> str:
    """Give a text without invisible characters and white space around it, for numbers and dates.

    All else stays: a superscript is no digit, and the notation knows what blanks between digits
    are.
    """
    return _UNSEEN.sub("", text).replace(_BLANK, " ").strip()


def alike_values(values: Iterable[str]) -> list[tuple[str, ...]]:
    """Give the groups of different values that look the same, in the order in which they come."""
    groups = defaultdict(list)
    for value in dict.fromkeys(values):
        groups[folded(value)].append(value)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def alike_note(column: str, values: Iterable[str]) -> str | None:
    """Say how many values of a column look like another one, without naming them; None if none.

    Examples
    --------
    >>> print(alike_note("ill", ["HIV", "HIV ", "hiv", "flu"]))
    column 'ill': 3 of its 4 values differ from another one only in white space, invisible \
characters, Unicode form or case: whoever looks at them sees 2 values
    """
    different = list(dict.fromkeys(values))
    groups = alike_values(different)
    if not groups:
        return None
    number = sum(map(len, groups))
    seen = len(different) - number + len(groups)
    return (
        f"column {column!r}: {number:,} of its {len(different):,} values differ from another one "
        f"only in {DIFFERENCES}: whoever looks at them sees {seen:,} value{'s' * (seen > 1)}"
    )
