"""Where the rows of a table are, and what is asked of them.

Everything that follows a table asks a few things of its rows: what each column holds (a profile),
how many rows share a tuple of codes, which rows have a tuple, and that they be written with labels.
`RowStore` says so. Nobody who asks can see where the rows are: in memory, in files or in a database
(`moanon.engines`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bools, Ints, Outlined, Values
from moanon.data.column import TEXT, ZONED_TIME, Column, Profile, sorted_column, type_of_values
from moanon.data.hierarchy import SUPPRESSED
from moanon.errors import OutputError

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd

#: How released rows stand: as in the source, in an order that nobody can guess, in that of what is
#: released where the source has none, or, in a table of a database, in no order.
RowOrder = Literal["source", "shuffled", "sorted", "unordered"]
#: How released rows are shuffled: by the system's randomness, so that no order comes again, or by a
#: seed. Then rows are sorted by digests of it and of what they show, so that the same rows have the
#: same order wherever they come from (`moanon.engines.duck.shuffled`).
Shuffle = int | Literal["random"]
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
    def find(self, codes: Mapping[str, Ints], tuples: Values) -> tuple[Ints, Ints]:
        """Find the rows whose tuple of codes is one of some (columns, tuples), in their order.

        Returned are the places of such rows, ascending, and for each which tuple it has.
        """

    @abstractmethod
    def column(self, name: str) -> Column:
        """Give a column with its rows, for questions that nothing less answers."""

    @abstractmethod
    def chosen(self, names: Collection[str]) -> Self:
        """The same rows with some of their columns."""

    @abstractmethod
    def complete(self, names: Sequence[str]) -> Self:
        """The rows that have a value in all these columns, as if the others had not been read."""

    @abstractmethod
    def without(self, values: Mapping[str, Bools]) -> Self:
        """The rows that hold none of some values; a release may show the others as stars.

        As codes are, values are marked one by one, missing cells last.
        """

    @abstractmethod
    def held(self, names: Collection[str]) -> RowsInMemory:
        """The same rows in memory, with some of their columns."""

    @abstractmethod
    def write(
        self, labelling: Labelling, path: Path, spell: Callable[[str | None], str] | None
    ) -> tuple[int, RowOrder]:
        """Write the rows that are shown, with their labels.

        `path` is a file that nobody reads yet, or a folder, which gets parts. `spell` says how a
        cell of a CSV file is written; None stands for Parquet. Given are how many cells a
        spreadsheet would run, of columns without labels and without an entry in ``gaps``, and how
        rows stand.
        """

    def new_table(
        self, labelling: Labelling, name: str, force: bool
    ) -> AbstractContextManager[Any]:
        """Write the rows that are shown into a new table of the database that they are in."""
        raise OutputError("a release goes into a table where its rows come from a database")


@dataclass(frozen=True, eq=False, repr=False)
class Labelling(Outlined):
    """How rows are shown."""

    #: Of some columns the code of each value and, last, of its missing cells.
    codes: Mapping[str, Ints]
    #: The tuples of codes (columns, tuples) whose rows are shown.
    tuples: Values
    #: For each labelled column its labels, and which of them each tuple has.
    labels: Mapping[str, tuple[Sequence[str], npt.NDArray[np.int32]]]
    #: The released columns in order, and what the release calls them; one without labels shows its
    #: own values.
    columns: Mapping[str, str]
    #: Columns of which a missing cell shows something, and what; in others it stays missing.
    gaps: Mapping[str, str]
    #: Those of them of which a row that is shown has a missing cell.
    with_gaps: Collection[str] = ()
    #: Whether rows that are not shown are there all the same, every cell a star.
    stars: bool = False
    shuffle: Shuffle | None = None  # None leaves rows in the order of the source
    rewrite: Callable[[str], str] | None = None  # what to make of a text before it is shown

    @property
    def row_order(self) -> RowOrder:
        """How rows of a source that has an order stand."""
        return "source" if self.shuffle is None else "shuffled"


#: Type of a released column → its type in a frame, and its type there if it has gaps.
_FRAME_TYPES: dict[str, tuple[Any, Any]] = {
    "BIGINT": ("int64", "Int64"),
    "UBIGINT": ("uint64", "UInt64"),
    "BOOLEAN": ("bool", "boolean"),
    "DOUBLE": ("float64", "float64"),
    "FLOAT": ("float32", "float32"),
    "DATE": ("M8[s]", "M8[s]"),
    "TIMESTAMP": ("M8[us]", "M8[us]"),
    "TIMESTAMP_NS": ("M8[ns]", "M8[ns]"),
    ZONED_TIME: ("M8[us]", "M8[us]"),
}


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedColumn(Outlined):
    """One column of a release, with its rows."""

    name: str  # in the table
    texts: npt.NDArray[np.object_]  # what a cell may show; None where it shows nothing
    codes: npt.NDArray[np.integer[Any]]  # index into `texts` for each released row
    #: The first of `texts` in their own type, where the source was typed and all cells still are.
    native: Values | None = None
    sql_type: str = TEXT  # in Parquet

    def to_series(self) -> pd.Series[Any]:
        """A column of a frame: in its own type where there is one, otherwise texts and None."""
        import pandas as pd

        native = self.native
        if native is None:
            return pd.Series(self.texts[self.codes], dtype=object)
        if self.sql_type == TEXT:
            return pd.Series(np.array([*native, None], dtype=object)[self.codes], dtype=object)
        dtype, with_gaps = _FRAME_TYPES[self.sql_type]
        gap = {"f": np.nan, "M": "NaT"}.get(np.dtype(dtype).kind, 0)
        # Released values alone take the type: it need not hold others.
        values = np.append(native, np.array([gap], dtype=native.dtype))[self.codes].astype(dtype)
        series, gaps = pd.Series(values), self.codes == len(native)
        if dtype != with_gaps and gaps.any():
            return series.astype(with_gaps).mask(gaps)
        return series.dt.tz_localize("UTC") if self.sql_type == ZONED_TIME else series


class RowsInMemory(RowStore):
    """Rows as one code per row and column; an engine writes them.

    Where rows were left out that a release may show as stars, `outside` has for each of all rows
    whether it is such a one.
    """

    def __init__(self, columns: Mapping[str, Column], outside: Bools | None = None) -> None:
        self._columns, self._outside = columns, outside

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
        order = np.lexsort(tuples[::-1])
        ordered = tuples[:, order]
        place = np.minimum(find_tuples(ordered, coded), tuples.shape[1] - 1)
        same = np.ones(len(place), dtype=bool)
        for known, code in zip(ordered, coded, strict=True):
            same &= known[place] == code
        rows = np.flatnonzero(same)
        return rows, order[place[rows]]

    def chosen(self, names: Collection[str]) -> Self:
        columns = {name: c for name, c in self.columns.items() if name in names}
        return type(self)(columns, self._outside)

    def complete(self, names: Sequence[str]) -> Self:
        present = [self.columns[name].codes >= 0 for name in names]
        return self.only(np.logical_and.reduce(present))

    def without(self, values: Mapping[str, Bools]) -> Self:
        found = np.zeros(self.rows, dtype=bool)
        for name, marked in values.items():
            found |= marked[self.columns[name].codes]
        every = found if self._outside is None else self._outside.copy()
        if self._outside is not None:
            every[~self._outside] = found
        return type(self)(self.only(~found).columns, every)

    def held(self, names: Collection[str]) -> Self:
        return self.chosen(names)

    def only(self, rows: Bools) -> Self:
        """Some of the rows, as if the others had not been read."""
        if rows.all():
            return self
        return type(self)({name: _select(c, rows) for name, c in self.columns.items()})

    def beside(self, column: Column) -> Self:
        """The rows with one more column."""
        return type(self)({**self.columns, column.name: column}, self._outside)

    def released(self, labelling: Labelling) -> list[ReleasedColumn]:
        """The rows that are shown, column by column, in the order of the source."""
        rows, which = self.find(labelling.codes, labelling.tuples)
        columns = []
        for name in labelling.columns:
            if name in labelling.labels:
                texts, number = labelling.labels[name]
                shown = np.array(texts, dtype=object)
                columns.append(ReleasedColumn(name, shown, number[which]))
            else:
                columns.append(_own_values(self.columns[name], rows, labelling))
        if not labelling.stars:
            return columns
        place = np.arange(self.rows) if self._outside is None else np.flatnonzero(~self._outside)
        everyone = self.rows if self._outside is None else len(self._outside)
        return [_with_stars(column, place[rows], everyone) for column in columns]


def _own_values(column: Column, rows: Ints, labelling: Labelling) -> ReleasedColumn:
    """What rows show in a column without labels; in its own type unless a gap shows a text."""
    codes = column.codes[rows]
    texts = np.array([*column.values, labelling.gaps.get(column.name)], dtype=object)
    shown = np.where(codes < 0, len(column.values), codes)
    if column.native is None or column.name in labelling.with_gaps:
        return ReleasedColumn(column.name, texts, shown)
    kind = column.sql_type
    if kind is None:  # values of suppressed rows do not count: the type must not tell of them
        there = np.unique(codes[codes >= 0])
        kind = type_of_values(column.native[there], [column.values[code] for code in there])
    return ReleasedColumn(column.name, texts, shown, column.native, kind)


def _with_stars(column: ReleasedColumn, places: Ints, rows: int) -> ReleasedColumn:
    """All rows: those at some places as they are shown, the others as stars."""
    codes = np.full(rows, len(column.texts), dtype=np.int64)
    codes[places] = column.codes
    return ReleasedColumn(column.name, np.append(column.texts, SUPPRESSED), codes)


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
    """Give each row a number; numbers have the order of the tuples of codes, and differ as they do.

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
