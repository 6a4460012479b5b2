"""From the texts of cells to values: which mean that there is none, and which are the same.

Applied to the distinct values of a column, wherever its rows are, so that a table reads the same in
memory, in DuckDB and in a database.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from moanon.data.column import Column, holds_texts, sorted_column, without_tokens
from moanon.data.file_form import FileForm
from moanon.errors import DataError


@dataclass(frozen=True, eq=False)
class CellReading:
    """How the cells of a source become values; made by `of`.

    Attributes
    ----------
    tokens : frozenset of str
        Texts that mean "no value".
    normalize : bool
        Whether texts that look the same are one value. What that is called depends on the text
        alone and never on the rows that have it, or a release would tell something of rows that
        are not in it: the spelling that was declared for the column, or else `folded`.
    spellings : mapping of str to (mapping or None)
        Declared spellings by what `folded` makes of them, column by column; None for columns of
        numbers and dates, whose texts stay as they are but for what is invisible around them.
    """

    tokens: frozenset[str]
    normalize: bool
    spellings: Mapping[str, Mapping[str, str] | None]

    @classmethod
    def of(cls, tokens: Sequence[str], form: FileForm) -> CellReading:
        """Check what is said of a source.

        Raises
        ------
        DataError
            If tokens are no texts, or declared spellings look the same.
        """
        declared = form.spellings if form.normalize else {}
        spellings = {name: _by_look(name, texts) for name, texts in declared.items()}
        return cls(checked_tokens(tokens), form.normalize, spellings)

    def read(self, column: Column) -> Column:
        """Read the values of a column."""
        if not (self.normalize and holds_texts(column)):
            return without_tokens(column, self.tokens)
        spell, gone = self._spelling(column.name), set(map(folded, self.tokens))
        texts = [None if folded(text) in gone else spell(text) for text in column.values]
        if texts == list(column.values):
            return column
        united = sorted_column(column.name, texts, None, column.codes)
        if column.native is None:
            return united
        native = np.array(united.values, dtype=object)
        return Column(united.name, united.codes, united.values, native, column.sql_type)

    def _spelling(self, name: str) -> Callable[[str], str]:
        known = self.spellings.get(name, {})
        if known is None:
            return bare

        def spelled(text: str) -> str:
            look = folded(text)
            return known.get(look, look)

        return spelled


def _by_look(name: str, texts: Sequence[str] | None) -> Mapping[str, str] | None:
    """The declared spellings of a column by what they look like."""
    if texts is None:
        return None
    found: dict[str, str] = {}
    for text in texts:
        other = found.setdefault(folded(text), text)
        if other != text:
            raise DataError(
                f"column {name!r}: {other!r} and {text!r} are declared as two values and differ "
                f"only in {DIFFERENCES}, which normalize makes one; leave one of them out"
            )
    return found


def checked_tokens(tokens: Sequence[str]) -> frozenset[str]:
    """Refuse what could never match: cells are compared as texts, and -9 is none."""
    if isinstance(tokens, str):
        raise DataError(f"missing_tokens must be a list of texts. Got the text {tokens!r}")
    if not isinstance(tokens, Iterable):
        raise DataError(f"missing_tokens must be a list of texts. Got {tokens!r}")
    known = list(tokens)
    for token in known:
        if not isinstance(token, str):
            raise DataError(
                f"missing_tokens must be texts, as they stand in the table. Got {token!r}; "
                f"write {str(token)!r}"
            )
    return frozenset(known)


# -- texts that look the same ----------------------------------------------------------------------


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
