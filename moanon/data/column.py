"""One column of a source: its distinct texts and one code per row.

Also what concerns columns by their names alone: which are asked for, and what to say where one is
absent.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moanon.errors import DataError

__all__ = [
    "Column",
    "absent_column",
    "chosen_positions",
    "did_you_mean",
    "refuse_bad_names",
    "sorted_column",
]


_SIGNS = {"\0": "a NUL character", "\ufeff": "a byte order mark"}
_UNSEEN = re.compile("[\0\ufeff]")


@dataclass(frozen=True, eq=False)
class Column:
    """One column, factorized.

    Attributes
    ----------
    name : str
        Name in the source, literally.
    codes : array (rows,) of int32
        Per row the index into `values`; -1 where the value is missing.
    values : tuple of str
        The distinct texts that occur, sorted. Every one of them is used by some row.
    native : array (values,) or None
        The same values in their own type where the source is typed; None for text sources.
    """

    name: str
    codes: NDArray[np.int32]
    values: tuple[str, ...]
    native: NDArray[Any] | None

    @property
    def missing(self) -> int:
        """Number of rows without a value."""
        return int(np.count_nonzero(self.codes < 0))


def sorted_column(
    name: str,
    texts: Sequence[str | None],
    native: NDArray[Any] | None,
    codes: NDArray[np.int32],
) -> Column:
    """Sort the texts that codes point to; None means missing, equal texts become one value."""
    present = {i: text for i, text in enumerate(texts) if text is not None}
    recode = np.full(len(texts) + 1, -1, dtype=np.int32)  # the code -1 points to the last
    values: list[str] = []
    first: list[int] = []
    for i in sorted(present, key=lambda i: present[i]):
        if not values or values[-1] != present[i]:
            values.append(present[i])
            first.append(i)
        recode[i] = len(first) - 1
    return Column(name, recode[codes], tuple(values), None if native is None else native[first])


# -- names ---------------------------------------------------------------------------------------


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Give the end of an error sentence: the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""


def absent_column(source: str, name: str, names: Iterable[str]) -> DataError:
    """Say that a source lacks a column that was asked for."""
    return DataError(f"{source} has no column {name!r}{did_you_mean(name, names)}")


def refuse_bad_names(source: str, names: Sequence[str]) -> None:
    """Refuse a header that does not name each column once."""
    for position, name in enumerate(names):
        if not name:
            raise DataError(f"{source}: column {position + 1} has an empty name")
        if sign := _UNSEEN.search(name):
            raise DataError(
                f"{source}: the name of column {position + 1}, {name!a}, holds "
                f"{_SIGNS[sign[0]]}, which nobody sees; take it out of the name"
            )
        if name in names[:position]:
            raise DataError(f"{source} has two columns named {name!r}")


def chosen_positions(
    source: str, header: Sequence[str], columns: Sequence[str] | None
) -> list[int]:
    """Positions of the wanted columns, in file order."""
    if columns is None:
        return list(range(len(header)))
    for name in columns:
        if name not in header:
            raise absent_column(source, name, header)
    return [position for position, name in enumerate(header) if name in set(columns)]
