"""A released file, ours or not, as its labels group it; see ``matching``.

DuckDB reads the file beside its original. Known of it are its columns' texts, its groups, and how
it stands to the original row by row, where rows are found by position or by a key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from moanon.arrays import Bools, Ints, Values
from moanon.data.cell_reading import FileForm, is_formula
from moanon.data.column import Profile, absent_column
from moanon.data.hierarchy import SUPPRESSED
from moanon.data.rows import row_keys
from moanon.data.table import Table
from moanon.engines.paired import CountedRows, PairedFiles
from moanon.errors import DataError
from moanon.release.readback import undefuse

#: More columns are not listed in a note.
_MOST_NAMES = 5
#: Where rows of stars are all there are: no row is suppressed.
_NO_STARS = "none"


@dataclass(frozen=True, eq=False)
class ReleasedFile:
    """What is known of a released file; columns have the names of the original."""

    name: str
    table: Table  # the original
    files: PairedFiles  # both, where DuckDB reads them
    shown: Mapping[str, str]  # all columns, and what the file calls them
    # the quasi-identifiers and the sensitive columns that the file has
    columns: Mapping[str, Profile]
    stars: str  # which rows are suppressed: "all", "quasi" or "none"
    group_labels: Ints  # (columns, groups), places in profiles; -1 is a cell without a value
    sizes: Ints
    # group, value, rows; a pair perhaps twice
    value_counts: Mapping[str, tuple[Ints, Values, Ints]]
    notes: tuple[str, ...]
    safe: bool  # no cell would be run by a spreadsheet: apostrophes may see to that

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        table: Table,
        key: str | None,
        stars: str,
        form: FileForm,
        *,
        single: bool,
    ) -> ReleasedFile:
        """Open a file beside its original, and count its groups.

        It must have the quasi-identifiers and the key, if there is one. Pairs of rows are looked at
        one by one (`single`), or counted.
        """
        files = PairedFiles(path, table.store, form, SUPPRESSED, single=single)
        name, released = os.fspath(path), files.released
        header = list(released.columns)
        safe = not any(map(is_formula, header)) and not any(map(files.runs, header))
        shown = _own_names(name, header, table, key, safe=safe)
        varying = {each: files.varies(column) for each, column in shown.items()}
        notes = _open_columns(name, varying, table)
        sensitive = [each for each in table.sensitive if each in shown]
        columns = {each: released.columns[shown[each]] for each in (*table.quasi, *sensitive)}
        profiles = [columns[each] for each in table.quasi]
        value_counts: dict[str, tuple[Ints, Values, Ints]] = {}
        for more in [[each] for each in sensitive] or [[]]:
            measured = [shown[each] for each in (*table.quasi, *more)]
            counted = files.count_released(measured)
            codes = [counted.released[each] for each in measured]
            quasi = codes[: len(profiles)]
            starred = {"all": counted.starred, "quasi": _are_stars(quasi, profiles)}
            rows = {which: int(counted.rows[found].sum()) for which, found in starred.items()}
            if rows.get(stars) == released.rows:  # stars are the labels of what was generalized
                stars = _NO_STARS
            kept = ~starred.get(stars, np.zeros(len(counted.rows), dtype=bool))
            labels, group, sizes = _group_labels(
                [code[kept] for code in quasi],
                [len(profile.values) for profile in profiles],
                counted.rows[kept],
            )
            value_counts |= dict.fromkeys(more, (group, codes[-1][kept], counted.rows[kept]))
        if stars == "all":
            notes += _half_starred(name, rows["quasi"] - rows["all"])
        return cls(
            name,
            table,
            files,
            shown,
            columns,
            stars,
            labels,
            sizes,
            value_counts,
            tuple(notes),
            safe,
        )

    @property
    def rows(self) -> int:
        """All rows of the file."""
        return self.files.released.rows

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return self.table.quasi

    @property
    def compared(self) -> list[str]:
        """Sensitive columns that both have."""
        return [name for name in self.table.sensitive if name in self.columns]

    @property
    def original(self) -> str:
        """What the original is called, and what became of its incomplete rows."""
        if not self.table.rows_dropped:
            return self.table.source
        return f"{self.table.source} (without {self.table.rows_dropped:,} incomplete rows)"

    def spellings(self, text: str) -> tuple[str, str]:
        """What a cell may stand for, the likelier first: itself, or what it was made safe from."""
        return (undefuse(text), text) if self.safe else (text, undefuse(text))

    # -- rows ------------------------------------------------------------------------------------

    def by_position(self, codes: Mapping[str, Ints]) -> tuple[CountedRows, Ints]:
        """Each row beside the one at its place in the original, which must have as many.

        Codes of the original's values are given value by value, missing cells last. Returned are
        pairs of rows, those of the file by the original's names, and the group of each; below 0 for
        suppressed rows.
        """
        counted = self.files.count_pairs(codes, self._looked_at)
        quasi = [counted.released[self.shown[name]] for name in self.quasi]
        starred = {
            "all": counted.starred,
            "quasi": _are_stars(quasi, [self.columns[name] for name in self.quasi]),
        }.get(self.stars, np.zeros(len(counted.rows), dtype=bool))
        return self._grouped(counted, starred)

    def by_key(self, key: str, codes: Mapping[str, Ints]) -> tuple[CountedRows, Ints]:
        """Each row that is not suppressed beside the one of the original that has its key.

        See `by_position`. A DataError if the key is not different in all rows, or the original has
        no row for one of the file.
        """
        signs = {"all": [*self.shown.values()], "quasi": [self.shown[name] for name in self.quasi]}
        names = self.table.known(key), self.shown[key]
        keyed = self.files.by_key(names, codes, self._looked_at, signs.get(self.stars, ()))
        with closing(keyed):
            self._refuse_key(key, keyed.uses())
            taken = keyed.resolve_spellings(undefused_first=self.safe)
            unknown = keyed.first_unknown()
            if unknown is not None:
                raise DataError(
                    f"{self.name} does not fit {self.original}: no row there has the key "
                    f"({key!r}) of row {unknown + 1:,}"
                )
            if taken is not None:
                raise DataError(
                    f"{self.name} does not fit {self.original}: the row there that has the key "
                    f"({key!r}) of row {taken + 1:,} is that of another row already"
                )
            counted = keyed.count_pairs()
        return self._grouped(counted, counted.starred)

    def _refuse_key(self, key: str, uses: Iterable[tuple[int, int]]) -> None:
        """Refuse a key column that leaves it open which row is which, on either side."""
        for where, (missing, most) in zip((self.original, self.name), uses, strict=True):
            if missing:
                raise DataError(f"{where}: the key column {key!r} has a row without a value")
            if most > 1:
                raise DataError(
                    f"{where}: the key column {key!r} must have another value in every row. Got "
                    f"one value in {most:,} rows"
                )

    @property
    def _looked_at(self) -> list[str]:
        """What the file calls the columns that pairs of rows are looked at for."""
        return [self.shown[name] for name in (*self.quasi, *self.compared)]

    def _grouped(self, counted: CountedRows, starred: Bools) -> tuple[CountedRows, Ints]:
        """Find the groups of pairs of rows that were counted; suppressed rows have none."""
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
        return replace(counted, released=released), group


def _own_names(
    file: str, header: Sequence[str], table: Table, key: str | None, *, safe: bool
) -> dict[str, str]:
    """The original's names of a file's columns, and what the file calls them."""
    names = {name: name for name in header}
    if safe:
        undone = {undefuse(name): name for name in header}
        if len(undone) == len(names) and all(name in undone for name in table.quasi):
            names = undone
    for name in (*table.quasi, *(() if key is None else (key,))):
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


def _are_stars(codes: Sequence[Values], columns: Iterable[Profile]) -> Bools:
    """Entries with the code of a star in each of some columns."""
    found = np.ones(len(codes[0]), dtype=bool)
    for code, column in zip(codes, columns, strict=True):
        star = column.values.index(SUPPRESSED) if SUPPRESSED in column.values else -2
        found &= code == star
    return found
