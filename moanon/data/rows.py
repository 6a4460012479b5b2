"""Where the rows of a table are, and what is asked of them.

Everything that follows a table asks three things of its rows: what each column holds (a profile),
how many rows share a tuple of codes, and, for some questions only, the rows themselves. `RowStore`
says so; `RowsInMemory` answers it with one code per row and column. Rows that stay in files or in a
database answer it where they are: see `moanon.engines`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bools, Ints, Outlined, Values
from moanon.data.column import Column, Profile, sorted_column

if TYPE_CHECKING:
    from typing import Self

#: How released rows stand: as in the source, in an order that nobody can guess, in that of what is
#: released where the source has none, or, in a table of a database, in no order.
RowOrder = Literal["source", "shuffled", "sorted", "unordered"]
#: Keys stay below this, so that one more column can be multiplied in without overflow.
_KEY_LIMIT = 2**62


class RowStore(ABC):
    """The rows of a table, wherever they are.

    Codes are given value by value: for each value of a column's profile one, and one more, the
    last, for its missing cells.
    """

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, Profile]:
        """Profile of each column, in the order of the source."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """Number of rows."""

    @abstractmethod
    def count(self, codes: Mapping[str, Ints]) -> tuple[Values, Ints]:
        """Count the rows that share a tuple of codes.

        Returned are the tuples that occur, in lexicographic order, as an array (columns, tuples)
        of whole numbers, and the rows of each.
        """

    @abstractmethod
    def column(self, name: str) -> Column:
        """Give a column with its rows, for questions that nothing less answers."""

    @abstractmethod
    def find(self, codes: Mapping[str, Ints], tuples: Values) -> tuple[Ints, Ints]:
        """Find the rows whose tuple of codes is one of some (columns, tuples), in their order.

        Returned are the places of such rows, ascending, and for each which tuple it has.
        """

    @abstractmethod
    def chosen(self, names: Collection[str]) -> Self:
        """The same rows with some of their columns."""

    @abstractmethod
    def complete(self, names: Sequence[str]) -> Self:
        """The rows that have a value in all these columns, as if the others had not been read."""

    @abstractmethod
    def holding(self, values: Mapping[str, Bools]) -> Bools | int:
        """Rows that hold one of some values: which, or where rows are elsewhere, how many.

        As codes are, values are marked one by one, missing cells last.
        """

    @abstractmethod
    def without(self, values: Mapping[str, Bools]) -> Self:
        """The rows that hold none of some values."""


@dataclass(frozen=True)
class Shuffle:
    """How released rows are shuffled.

    Attributes
    ----------
    seed : int or None
        With a seed, rows are sorted by digests of it and of what they show, so that the same rows
        have the same order wherever they come from (`moanon.release.formats.shuffled`). None takes
        the system's randomness, and no order comes again.
    """

    seed: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Labelling(Outlined):
    """How rows are shown, for rows that are elsewhere.

    Attributes
    ----------
    codes : mapping of str to array
        Of each quasi-identifier the code of each value and, last, of its missing cells.
    tuples : array (quasi-identifiers, tuples)
        The tuples of codes whose rows are shown.
    labels : mapping of str to (texts, array (tuples,))
        For each quasi-identifier its labels, and which of them each tuple has.
    columns : mapping of str to str
        The released columns in order, and what they are called in the release.
    gaps : mapping of str to str
        Columns of which a missing cell shows something, and what; in others it stays missing.
    with_gaps : set of str
        Those of them of which a row that is shown has a missing cell.
    stars : bool
        Whether rows that are not shown are there all the same, every cell a star.
    shuffle : Shuffle or None
        None leaves rows in the order of the source.
    rewrite : function or None
        What to make of a text before it is shown.
    """

    codes: Mapping[str, Ints]
    tuples: Values
    labels: Mapping[str, tuple[Sequence[str], npt.NDArray[np.int32]]]
    columns: Mapping[str, str]
    gaps: Mapping[str, str]
    with_gaps: Collection[str] = ()
    stars: bool = False
    shuffle: Shuffle | None = None
    rewrite: Callable[[str], str] | None = None


class RowsInMemory(RowStore):
    """Rows as codes; the columns have them."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = columns

    @property
    def columns(self) -> Mapping[str, Column]:
        return self._columns

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())).codes)

    def count(self, codes: Mapping[str, Ints]) -> tuple[Values, Ints]:
        coded = [code[self.columns[name].codes] for name, code in codes.items()]
        sizes = [int(code.max()) + 1 for code in codes.values()]
        _, first, counts = np.unique(row_keys(coded, sizes), return_index=True, return_counts=True)
        return np.stack([code[first] for code in coded]), counts.astype(np.int64)

    def column(self, name: str) -> Column:
        return self.columns[name]

    def find(self, codes: Mapping[str, Ints], tuples: Values) -> tuple[Ints, Ints]:
        if not tuples.shape[1]:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        coded = [code[self.columns[name].codes] for name, code in codes.items()]
        place = np.minimum(find_tuples(tuples, coded), tuples.shape[1] - 1)
        same = np.ones(len(place), dtype=bool)
        for known, code in zip(tuples, coded, strict=True):
            same &= known[place] == code
        rows = np.flatnonzero(same)
        return rows, place[rows]

    def chosen(self, names: Collection[str]) -> RowsInMemory:
        return RowsInMemory({name: c for name, c in self.columns.items() if name in names})

    def complete(self, names: Sequence[str]) -> RowsInMemory:
        gaps = {
            name: np.append(np.zeros(len(self.columns[name].values), dtype=bool), True)
            for name in names
        }
        return self.without(gaps)

    def holding(self, values: Mapping[str, Bools]) -> Bools:
        found = np.zeros(self.rows, dtype=bool)
        for name, marked in values.items():
            found |= marked[self.columns[name].codes]
        return found

    def without(self, values: Mapping[str, Bools]) -> RowsInMemory:
        return self.only(~self.holding(values))

    def only(self, rows: Bools) -> RowsInMemory:
        """Some of the rows."""
        if rows.all():
            return self
        return RowsInMemory({name: _select(c, rows) for name, c in self.columns.items()})


def _select(column: Column, rows: Bools) -> Column:
    """Keep some rows of a column, and only the values that still occur in them.

    A value known only from rows that were left out would otherwise widen an interval or show up as
    an empty category.
    """
    codes = column.codes[rows]
    used = set(np.unique(codes).tolist())
    texts = [value if code in used else None for code, value in enumerate(column.values)]
    return sorted_column(column.name, texts, column.native, codes, column.sql_type)


def own_codes(column: Profile) -> Ints:
    """Codes that tell all values of a column apart, a missing one being a value of its own."""
    return np.arange(len(column.values) + 1)


def row_keys(coded: Iterable[npt.NDArray[np.integer[Any]]], sizes: Sequence[int]) -> Ints:
    """Give each row a number that orders and tells apart rows as the tuples of their codes do.

    Mixed-radix keys are re-ranked before they would exceed 62 bits: their range is then at most the
    number of rows. Ranks keep the order, so the result is lexicographic all the same.
    """
    columns = iter(coded)
    key = next(columns).astype(np.int64)
    span = sizes[0]
    for code, size in zip(columns, sizes[1:], strict=True):
        if span * size > _KEY_LIMIT:
            seen, key = np.unique(key, return_inverse=True)
            span = len(seen)
        key = key * size + code
        span *= size
    return key


def find_tuples(tuples: npt.NDArray[Any], coded: Sequence[npt.NDArray[Any]]) -> Ints:
    """Give for each row the place of its codes among tuples (columns, tuples) in their order."""
    pairs = list(zip(tuples, coded, strict=True))
    sizes = [int(max(known.max(), code.max())) + 1 for known, code in pairs]
    # Of all at once, since keys may be ranks among them.
    keys = row_keys([np.append(known, code) for known, code in pairs], sizes)
    number = tuples.shape[1]
    return np.searchsorted(keys[:number], keys[number:])
