"""A released file, ours or not, as its labels group it; see ``matching``.

Files are read into memory, or, beside an original that is not, counted where they are. Either way
the same is known of a file: its columns' texts, its groups, and how it stands to the original row
by row, where rows have their places in both.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain

import numpy as np

from moanon.arrays import Bools, Ints, Outlined, Values
from moanon.data.column import Column, Profile, absent_column
from moanon.data.file_form import FileForm, is_formula
from moanon.data.hierarchy import SUPPRESSED
from moanon.data.rows import row_keys
from moanon.data.table import Table
from moanon.engines import open_source
from moanon.engines.keyed import KeyedFiles, KeyUse
from moanon.engines.opening import open_beside
from moanon.engines.paired import CountedRows, PairedFiles
from moanon.errors import DataError
from moanon.release.readback import undefuse

#: More columns are not listed in a note.
_MOST_NAMES = 5
#: Where rows of stars are all there are: no row is suppressed.
_NO_STARS = "none"


@dataclass(frozen=True, eq=False, repr=False)
class RowPairs(Outlined):
    """Rows of a file, each beside the row of the original that it should be.

    Attributes
    ----------
    original : mapping of str to array
        Codes of the original's values.
    released : mapping of str to array
        Labels of quasi-identifiers and values of sensitive columns in the file, as places in their
        profiles; -1 is a cell without a value.
    group : array
        Group in the file; below 0 for suppressed rows.
    first : array
        Place of the row in the file, or of the first of several that are alike.
    rows : array
        How many they are.
    places : array
        Places in the original, where every row is looked at.
    """

    original: Mapping[str, Values]
    released: Mapping[str, Values]
    group: Ints
    first: Ints
    rows: Ints
    places: Ints


@dataclass(frozen=True, eq=False)
class ReleasedFile(ABC):
    """What is known of a released file; columns have the names of the original.

    Attributes
    ----------
    name : str
    table : Table
        The original.
    columns : mapping of str to Profile
        The file's columns that the original has.
    rows : int
        All its rows.
    group_labels : array (columns, groups)
        Place of each quasi-identifier's label in its profile; -1 is a cell without a value.
    sizes : array (groups,)
    notes : tuple of str
    safe : bool
        No cell would be run by a spreadsheet: apostrophes may see to that.
    """

    name: str
    table: Table
    columns: Mapping[str, Profile]
    rows: int
    group_labels: Ints
    sizes: Ints
    notes: tuple[str, ...]
    safe: bool

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return self.table.quasi

    @property
    @abstractmethod
    def header(self) -> Collection[str]:
        """All columns of the file."""

    @property
    def compared(self) -> list[str]:
        """Sensitive columns that both have."""
        return [name for name in self.table.sensitive if name in self.columns]

    def spellings(self, text: str) -> tuple[str, str]:
        """What a cell may stand for, the likelier first: itself, or what it was made safe from."""
        return (undefuse(text), text) if self.safe else (text, undefuse(text))

    @abstractmethod
    def value_counts(self, name: str) -> tuple[Ints, Values, Ints]:
        """Groups with the values of a sensitive column, as places, and the rows of each pair.

        In any order, and the same pair perhaps more than once.
        """

    @abstractmethod
    def by_position(self, codes: Mapping[str, Ints]) -> RowPairs:
        """Each row beside the one at its place in the original, which must have as many.

        Codes of the original's values are given value by value, missing cells last.
        """

    @abstractmethod
    def by_key(self, key: str, codes: Mapping[str, Ints]) -> RowPairs:
        """Each row that is not suppressed beside the one of the original that has its key.

        Raises
        ------
        DataError
            If the key does not tell rows apart, or the original has no row for one of the file.
        """

    @property
    def original(self) -> str:
        """What the original is called, and what became of its incomplete rows."""
        if not self.table.rows_dropped:
            return self.table.source
        return f"{self.table.source} (without {self.table.rows_dropped:,} incomplete rows)"

    def _refuse_key(self, key: str, uses: Iterable[KeyUse]) -> None:
        """Refuse a key column that leaves it open which row is which, on either side."""
        for where, (missing, most) in zip((self.original, self.name), uses, strict=True):
            if missing:
                raise DataError(f"{where}: the key column {key!r} has a row without a value")
            if most > 1:
                raise DataError(
                    f"{where}: the key column {key!r} must have another value in every row. Got "
                    f"one value in {most:,} rows"
                )

    def _unknown_key(self, key: str, place: int) -> DataError:
        """Say that the original has no row for one of the file."""
        return DataError(
            f"{self.name} does not fit {self.original}: no row there has the key ({key!r}) of "
            f"row {place + 1:,}"
        )

    def _taken_key(self, key: str, place: int) -> DataError:
        """Say that two rows of the file, which spell their keys differently, would be one."""
        return DataError(
            f"{self.name} does not fit {self.original}: the row there that has the key ({key!r}) "
            f"of row {place + 1:,} is that of another row already"
        )


@dataclass(frozen=True, eq=False)
class FileInMemory(ReleasedFile):
    """A file that was read row by row.

    Attributes
    ----------
    kept : array
        Rows that are not suppressed, in order.
    group : array
        Group of each of them.
    """

    columns: Mapping[str, Column]
    kept: Ints
    group: Ints

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        table: Table,
        more: Sequence[str],
        stars: str,
        form: FileForm,
    ) -> FileInMemory:
        """Read a file, which must have `more` columns; see `moanon.release.read_released`."""
        # No token means "missing": an empty text is a label like any other.
        source = open_source(
            path, missing_tokens=(), delimiter=form.delimiter, encoding=form.encoding
        )
        as_shown = source.store.held(list(source.store.columns)).columns
        safe = not any(map(is_formula, (*as_shown, *chain(*(c.values for c in source.columns)))))
        names = _own_names(source.name, list(as_shown), table, more, safe=safe)
        columns = {name: as_shown[shown] for name, shown in names.items()}
        quasi = [columns[name] for name in table.quasi]
        everything, labels_only = _starred(list(as_shown.values())), _starred(quasi)
        starred = everything if stars == "all" else labels_only
        varying = {n: len(c.values) + bool(c.missing) > 1 for n, c in columns.items()}
        notes = _open_columns(source.name, varying, table)
        if starred.all():  # then stars are the labels of a table in which all is generalized away
            starred = np.zeros(source.rows, dtype=bool)
        elif stars == "all":
            notes += _half_starred(source.name, int(np.count_nonzero(labels_only & ~everything)))
        kept = np.flatnonzero(~starred)
        labels, group, sizes = _group_labels(
            [column.codes[kept] for column in quasi],
            [len(column.values) for column in quasi],
            np.ones(len(kept), dtype=np.int64),
        )
        return cls(
            source.name,
            table,
            columns,
            source.rows,
            labels,
            sizes,
            tuple(notes),
            safe,
            kept,
            group,
        )

    @property
    def header(self) -> Collection[str]:
        return self.columns.keys()

    def value_counts(self, name: str) -> tuple[Ints, Values, Ints]:
        codes = self.columns[name].codes[self.kept]
        return self.group, codes, np.ones(len(codes), dtype=np.int64)

    def by_position(self, codes: Mapping[str, Ints]) -> RowPairs:
        return self._beside(self.kept, codes)

    def by_key(self, key: str, codes: Mapping[str, Ints]) -> RowPairs:
        original, released = self.table.column(key), self.columns[key]
        shown = released.codes[self.kept]
        self._refuse_key(key, (_key_use(each) for each in (original.codes, shown)))
        row_of = np.empty(len(original.values), dtype=np.int64)
        row_of[original.codes] = np.arange(self.table.rows)
        place = {value: i for i, value in enumerate(original.values)}
        found = np.empty(len(self.kept), dtype=np.int64)
        for i, code in enumerate(shown.tolist()):
            likely, other = self.spellings(released.values[code])
            known = place.get(likely, place.get(other))
            if known is None:
                raise self._unknown_key(key, int(self.kept[i]))
            found[i] = row_of[known]
        _, first = np.unique(found, return_index=True)
        if len(first) < len(found):
            late = np.delete(np.arange(len(found)), first)
            raise self._taken_key(key, int(self.kept[late[0]]))
        return self._beside(found, codes)

    def _beside(self, rows: Ints, codes: Mapping[str, Ints]) -> RowPairs:
        """Each kept row beside one of the original."""
        column = self.table.column
        released = (*self.quasi, *self.compared)
        return RowPairs(
            {name: code.astype(np.int32)[column(name).codes[rows]] for name, code in codes.items()},
            {name: self.columns[name].codes[self.kept] for name in released},
            self.group,
            self.kept,
            np.ones(len(rows), dtype=np.int64),
            rows,
        )


@dataclass(frozen=True, eq=False)
class FileElsewhere(ReleasedFile):
    """A file whose rows were counted by DuckDB, beside those of the original.

    Attributes
    ----------
    files : PairedFiles
    shown : mapping of str to str
        What the file calls the columns.
    stars : {"all", "quasi", "none"}
        Which rows are suppressed.
    counts : mapping of str to (groups, values, rows)
        As `value_counts` gives them.
    """

    files: PairedFiles
    shown: Mapping[str, str]
    stars: str
    counts: Mapping[str, tuple[Ints, Values, Ints]]

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        table: Table,
        more: Sequence[str],
        stars: str,
        form: FileForm,
    ) -> FileElsewhere | None:
        """Count a file whose original is read by DuckDB; None where it is to be read instead.

        It must have `more` columns.
        """
        released = open_beside(path, table.store, form)
        if released is None:
            return None
        name = os.fspath(path)
        files = PairedFiles(table.store, released, SUPPRESSED)  # type: ignore[arg-type]
        header = list(released.columns)
        safe = not any(map(is_formula, header)) and not any(map(files.runs, header))
        shown = _own_names(name, header, table, more, safe=safe)
        varying = {each: files.varies(column) for each, column in shown.items()}
        notes = _open_columns(name, varying, table)
        asked = [*table.quasi, *(each for each in table.sensitive if each in shown)]
        columns = {each: released.columns[shown[each]] for each in asked}
        sensitive = asked[len(table.quasi) :]
        counts: dict[str, tuple[Ints, Values, Ints]] = {}
        for more in [[each] for each in sensitive] or [[]]:
            measured = [*table.quasi, *more]
            counted = files.count_released([shown[each] for each in measured])
            codes = [counted.released[shown[each]] for each in measured]
            quasi = codes[: len(table.quasi)]
            profiles = [columns[each] for each in table.quasi]
            starred = {"all": counted.starred, "quasi": _are_stars(quasi, profiles)}
            rows = {which: int(counted.rows[found].sum()) for which, found in starred.items()}
            if rows.get(stars) == released.rows:
                stars = _NO_STARS
            kept = ~starred.get(stars, np.zeros(len(counted.rows), dtype=bool))
            labels, group, sizes = _group_labels(
                [code[kept] for code in quasi],
                [len(profile.values) for profile in profiles],
                counted.rows[kept],
            )
            counts |= dict.fromkeys(more, (group, codes[-1][kept], counted.rows[kept]))
        if stars == "all":
            notes += _half_starred(name, rows["quasi"] - rows["all"])
        return cls(
            name,
            table,
            columns,
            released.rows,
            labels,
            sizes,
            tuple(notes),
            safe,
            files,
            shown,
            stars,
            counts,
        )

    @property
    def header(self) -> Collection[str]:
        return self.shown.keys()

    def value_counts(self, name: str) -> tuple[Ints, Values, Ints]:
        return self.counts[name]

    def by_position(self, codes: Mapping[str, Ints]) -> RowPairs:
        counted = self.files.count_pairs(codes, self._looked_at)
        quasi = [counted.released[self.shown[name]] for name in self.quasi]
        starred = {
            "all": counted.starred,
            "quasi": _are_stars(quasi, [self.columns[name] for name in self.quasi]),
        }.get(self.stars, np.zeros(len(counted.rows), dtype=bool))
        return self._pairs(counted, starred)

    def by_key(self, key: str, codes: Mapping[str, Ints]) -> RowPairs:
        signs = {"all": [*self.shown.values()], "quasi": [self.shown[name] for name in self.quasi]}
        names = self.table.known(key), self.shown[key]
        keyed = KeyedFiles(self.files, names, codes, self._looked_at, signs.get(self.stars, ()))
        with closing(keyed):
            self._refuse_key(key, keyed.uses())
            taken = keyed.settle_spellings(undefused_first=self.safe)
            unknown = keyed.first_unknown()
            if unknown is not None:
                raise self._unknown_key(key, unknown)
            if taken is not None:
                raise self._taken_key(key, taken)
            counted = keyed.count_pairs()
        return self._pairs(counted, counted.starred)

    @property
    def _looked_at(self) -> list[str]:
        """What the file calls the columns that pairs of rows are looked at for."""
        return [self.shown[name] for name in (*self.quasi, *self.compared)]

    def _pairs(self, counted: CountedRows, starred: Bools) -> RowPairs:
        """Give pairs of rows that were counted their groups, and those of suppressed rows none."""
        released = {n: counted.released[self.shown[n]] for n in (*self.quasi, *self.compared)}
        quasi = [released[name] for name in self.quasi]
        spans = [len(self.columns[name].values) + 1 for name in self.quasi]
        known = len(self.sizes)
        # Of groups and rows at once, since keys may be ranks among them; groups are in order.
        both = zip(self.group_labels, quasi, strict=True)
        keys = row_keys(
            [np.append(labels, code).astype(np.int64) + 1 for labels, code in both], spans
        )
        group = np.searchsorted(keys[:known], keys[known:])
        group[starred] = -1
        nowhere = np.zeros(0, dtype=np.int64)
        return RowPairs(counted.original, released, group, counted.first, counted.rows, nowhere)


def _key_use(codes: Values) -> KeyUse:
    """How the rows of a key column, given by its codes, use it."""
    missing = int(np.count_nonzero(codes < 0))
    return KeyUse(missing, 0 if missing else int(np.bincount(codes).max(initial=0)))


def _own_names(
    file: str, header: Sequence[str], table: Table, more: Sequence[str], *, safe: bool
) -> dict[str, str]:
    """The original's names of a file's columns, and what the file calls them."""
    names = {name: name for name in header}
    if safe:
        undone = {undefuse(name): name for name in header}
        if len(undone) == len(names) and all(name in undone for name in table.quasi):
            names = undone
    for name in (*table.quasi, *more):
        if name not in names:
            raise absent_column(file, name, names)
    return names


def _group_labels(
    codes: Sequence[Values], values: Sequence[int], rows: Ints
) -> tuple[Ints, Ints, Ints]:
    """Labels of each group, in order; the group of each entry; rows of each group."""
    # The code -1 is a cell without a value (Parquet only): one more label.
    keys = row_keys((code + 1 for code in codes), [number + 1 for number in values])
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    group = group.reshape(-1).astype(np.int64)
    sizes = np.zeros(len(first), dtype=np.int64)
    np.add.at(sizes, group, rows)
    return np.stack([code[first].astype(np.int64) for code in codes]), group, sizes


def _open_columns(file: str, varying: Mapping[str, bool], table: Table) -> list[str]:
    """Note columns that tell rows apart and that nobody has said to be harmless."""
    harmless = {*table.quasi, *table.sensitive, *table.insensitive}
    found = [name for name, varies in varying.items() if varies and name not in harmless]
    if not found:
        return []
    shown = ", ".join(found[:_MOST_NAMES])
    more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    return [
        f"{file}: not counted as quasi-identifiers: {shown}{more}; whoever knows such values can "
        "tell apart more rows than k says"
    ]


def _half_starred(file: str, rows: int) -> list[str]:
    """Note rows that may be suppressed, and are not taken for it."""
    if not rows:
        return []
    return [
        f"{file}: rows that show {SUPPRESSED} in every quasi-identifier, but not in "
        f"all cells ({rows:,}), are measured as a group; if they are suppressed, say "
        "stars='quasi'"
    ]


def _starred(columns: Sequence[Column]) -> Bools:
    """Rows with a star in each of some columns."""
    return _are_stars([column.codes for column in columns], columns)


def _are_stars(codes: Sequence[Values], columns: Iterable[Profile]) -> Bools:
    """Entries with the code of a star in each of some columns."""
    found = np.ones(len(codes[0]), dtype=bool)
    for code, column in zip(codes, columns, strict=True):
        star = column.values.index(SUPPRESSED) if SUPPRESSED in column.values else -2
        found &= code == star
    return found
