"""From the texts of cells to values: which mean that there is none, and which are the same.

Applied to the distinct values of a column, wherever its rows are, so that a table reads the same in
memory, in DuckDB and in a database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from moanon.data.alike import DIFFERENCES, bare, folded
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

    def settle(self, column: Column) -> Column:
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
