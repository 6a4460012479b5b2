"""Stores of rows: what all have in common whose rows an engine holds.

An engine answers two things: which distinct values a column holds (`RowsElsewhere.look_up`), and
how many rows share a tuple of codes that are given value by value (`RowsElsewhere.tally`). Texts,
missing values, profiles and what rows are left out follow from that here, by the rules that rows in
memory have.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from moanon.arrays import Bools, Ints, Values
from moanon.data.column import Column, ColumnProfile, sorted_column
from moanon.data.rows import RowStore
from moanon.engines.duck import HeldRows

if TYPE_CHECKING:
    from typing import Self


def codes_of(column: Column) -> Ints:
    """Of distinct values the place of the text of each number and, last, -1 for nothing at all."""
    return np.append(column.codes, -1).astype(np.int64)


class RowsElsewhere(RowStore):
    """Rows that an engine holds.

    Two kinds of rows are left out: those that are not part of the table because they miss a value,
    and those that a generalization has no place for, which a release may show as stars.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._known: dict[str, tuple[Column, Ints]] = {}
        self._incomplete: dict[str, Bools] = {}
        self._outside: dict[str, Bools] = {}
        self._columns = _Profiles(self)

    # -- what an engine does ---------------------------------------------------------------------

    @abstractmethod
    def look_up(self, name: str) -> tuple[Column, Ints]:
        """Find the distinct values of a column in all its rows, numbered as the engine has them.

        Given are their texts, as a column whose codes say for each number which text it has (-1:
        none), and the rows of each number and, last, of those that hold nothing at all.
        """

    @abstractmethod
    def tally(
        self, codes: Mapping[str, Ints], left_out: Mapping[str, Bools]
    ) -> tuple[Values, Ints]:
        """Count rows by the codes of their values; see `RowStore.count`.

        Both are by the numbers of `look_up`, nothing being last.
        """

    # -- what follows ----------------------------------------------------------------------------

    @property
    def columns(self) -> Mapping[str, ColumnProfile]:
        return self._columns

    @cached_property
    def rows(self) -> int:
        if not self._left_out:
            return self.count_all()
        name = next(iter(self._left_out))
        codes = {name: np.zeros(len(self.distinct(name)[1]), dtype=np.int64)}
        return int(self.tally(codes, self._left_out)[1].sum())

    def count_all(self) -> int:
        """Count all rows, those that are left out among them."""
        return int(self.distinct(self._names[0])[1].sum())

    def distinct(self, name: str) -> tuple[Column, Ints]:
        """The distinct values of a column in all rows; see `look_up`, which is asked once."""
        if name not in self._known:
            self._known[name] = self.look_up(name)
        return self._known[name]

    def count(self, codes: Mapping[str, Ints]) -> tuple[Values, Ints]:
        by_number = {name: code[self.value_of(name)] for name, code in codes.items()}
        return self.tally(by_number, self._left_out)

    def chosen(self, names: Collection[str]) -> Self:
        other = self._with()
        other._names = tuple(name for name in self._names if name in names)
        return other

    def complete(self, names: Sequence[str]) -> Self:
        gaps = {name: codes_of(self.distinct(name)[0]) < 0 for name in names}
        return self._with(incomplete={**self._incomplete, **gaps})

    def without(self, values: Mapping[str, Bools]) -> Self:
        marked = {name: each[self.value_of(name)] for name, each in values.items() if each.any()}
        return self._with(outside={**self._outside, **marked})

    def held(self, names: Collection[str]) -> HeldRows:
        everyone, needed = self._with(outside={}), {*names, *self._outside}
        rows = HeldRows({name: everyone.column(name) for name in self._names if name in needed})
        marks = {}
        for name, marked in self._outside.items():
            marks[name] = np.zeros(len(everyone.columns[name].values) + 1, dtype=bool)
            np.logical_or.at(marks[name], everyone.value_of(name), marked)
        return (rows.without(marks) if marks else rows).chosen(names)

    def numbered(self, name: str) -> tuple[ColumnProfile, Ints]:
        """The profile of a column, and for each number the place of its value there; -1: none."""
        return self._columns.numbered(name)

    def value_of(self, name: str) -> Ints:
        """For each number the place of its value in the profile; -1 for none."""
        return self.numbered(name)[1]

    @property
    def _left_out(self) -> dict[str, Bools]:
        both = dict(self._incomplete)
        for name, marked in self._outside.items():
            both[name] = both[name] | marked if name in both else marked
        return both

    def _with(
        self,
        incomplete: dict[str, Bools] | None = None,
        outside: dict[str, Bools] | None = None,
    ) -> Self:
        other = copy(self)
        other.__dict__.pop("rows", None)
        other._incomplete = self._incomplete if incomplete is None else incomplete
        other._outside = self._outside if outside is None else outside
        other._columns = _Profiles(other)
        return other

    def profile(self, name: str) -> tuple[ColumnProfile, Ints]:
        """Describe a column in the rows that are not left out; see `value_of` for the second."""
        column, counts = self.distinct(name)
        if self._left_out:
            numbers = np.arange(len(counts))
            tuples, found = self.tally({name: numbers}, self._left_out)
            counts = np.zeros(len(counts), dtype=np.int64)
            counts[tuples[0]] = found
        codes = codes_of(column)
        used = set(np.unique(codes[counts > 0]).tolist())
        texts = [value if i in used else None for i, value in enumerate(column.values)]
        left = sorted_column(name, texts, column.native, codes.astype(np.int32))
        value_of = left.codes.astype(np.int64)
        rows = np.zeros(len(left.values) + 1, dtype=np.int64)
        np.add.at(rows, value_of, counts)  # -1, the last, for what is missing
        profile = ColumnProfile(name, left.values, left.native, rows[:-1], int(rows[-1]))
        return profile, value_of


class _Profiles(Mapping[str, ColumnProfile]):
    """Profiles of columns, each made when it is first asked for."""

    def __init__(self, store: RowsElsewhere) -> None:
        self._store = store
        self._made: dict[str, tuple[ColumnProfile, Ints]] = {}

    def numbered(self, name: str) -> tuple[ColumnProfile, Ints]:
        if name not in self._made:
            if name not in self._store._names:
                raise KeyError(name)
            self._made[name] = self._store.profile(name)
        return self._made[name]

    def __getitem__(self, name: str) -> ColumnProfile:
        return self.numbered(name)[0]

    def __contains__(self, name: object) -> bool:
        return name in self._store._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._store._names)

    def __len__(self) -> int:
        return len(self._store._names)
