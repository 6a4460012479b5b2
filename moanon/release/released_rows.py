"""What the rows of a release show, for whichever store holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from moanon.arrays import Bools, Ints, Outlined, Values
from moanon.data.cells import SensitiveCounts
from moanon.data.column import Column
from moanon.data.domain import MISSING
from moanon.data.file_form import defuse, is_formula
from moanon.data.hierarchy import SUPPRESSED
from moanon.data.rows import Labelling, RowStore, Shuffle, own_codes
from moanon.data.table import Role
from moanon.errors import OutputError
from moanon.grouping import Grouping

#: What the groups of rows are called where they are a column of their own; no table has this name.
_GROUP = ""


@dataclass(frozen=True, eq=False, repr=False)
class ShownRows(Outlined):
    """The rows of the groups that are kept.

    Attributes
    ----------
    store : RowStore
        All rows.
    codes : mapping of str to array
        Codes of values of some columns, as of `RowStore`.
    tuples : array (columns, tuples)
        The tuples of codes whose rows are shown.
    group : array (tuples,)
        The group of each.
    """

    store: RowStore
    codes: Mapping[str, Values]
    tuples: Values
    group: Ints

    @classmethod
    def of(cls, grouping: Grouping) -> ShownRows:
        """Find out what says which rows are kept.

        Under a genome the blocks of values say it all; otherwise their base values, and the tuples
        are cells. Where rows of one cell are in several groups, only the rows themselves do.
        """
        table, instance = grouping.table, grouping.instance
        groups = np.flatnonzero(grouping.kept)
        if grouping.cell_group is None:
            names = tuple(str(number) for number in range(len(grouping)))
            column = Column(_GROUP, grouping.row_group.astype(np.int32), names, None)
            store = table.store.held(list(table.roles)).beside(column)
            return cls(store, {_GROUP: own_codes(column)}, groups[None, :], groups)
        codes: dict[str, Values] = {
            name: domain.codes(table.columns[name])
            for name, domain in instance.layout.domains.items()
        }
        if grouping.genome is not None and grouping.starts is not None:
            tuples = []
            decoded = instance.layout.decode(grouping.genome)
            for (name, blocks), starts in zip(decoded.items(), grouping.starts, strict=True):
                widths = [stop - start for start, stop in blocks]
                block_of = np.repeat(np.arange(len(blocks), dtype=np.int32), widths)
                codes[name] = block_of[codes[name]]
                tuples.append(block_of[starts[groups]])
            return cls(table.store, codes, np.stack(tuples), groups)
        shown = np.flatnonzero(np.append(grouping.kept, False)[grouping.cell_group])
        cells = instance.cells.codes[:, shown]
        return cls(table.store, codes, cells, grouping.cell_group[shown])

    def count(self, marked: Mapping[str, Values], groups: Bools | None = None) -> int:
        """Count the shown rows, perhaps of some groups, that hold a marked value in some columns.

        As codes are, values are marked one by one, missing cells last.
        """
        codes: dict[str, Values] = dict(self.codes)
        for name, marks in marked.items():
            codes[name] = np.asarray(codes.get(name, 0)) * 2 + marks.astype(np.int64)
        tuples, counts = self.store.count(codes)
        parts = dict(zip(codes, tuples, strict=True))
        is_held = np.logical_and.reduce([parts[name] % 2 == 1 for name in marked])
        own = [parts[name] // (1 + (name in marked)) for name in self.codes]
        known = self.tuples if groups is None else self.tuples[:, groups[self.group]]
        shown = set(map(tuple, known.T.tolist()))
        held = zip(np.stack(own)[:, is_held].T.tolist(), counts[is_held].tolist(), strict=True)
        return sum(rows for cell, rows in held if tuple(cell) in shown)


def generalized(
    rows: ShownRows, grouping: Grouping, *, stars: bool, shuffle: Shuffle | None, safe: bool
) -> Labelling:
    """Rows as their groups show them.

    Parameters
    ----------
    rows : ShownRows
    grouping : Grouping
    stars, safe
        As of `moanon.release.Release.write`.
    shuffle : Shuffle or None
        None leaves rows in the order of the source.
    """
    table, labels = grouping.table, {}
    for name in grouping.instance.layout.columns:
        texts, number = grouping.shown_blocks(name)
        labels[name] = texts, number[rows.group]
    header = [name for name, role in table.roles.items() if role is not Role.IDENTIFYING]
    counts = grouping.instance.cells.sensitive
    return Labelling(
        rows.codes,
        rows.tuples,
        labels,
        {name: defuse(name) if safe else name for name in header},
        dict.fromkeys(table.sensitive, MISSING),
        frozenset(each.name for each in counts if _shows_gap(grouping, each)),
        stars,
        shuffle,
        defuse if safe else None,
    )


def _shows_gap(grouping: Grouping, column: SensitiveCounts) -> bool:
    """Whether a released row misses a value of a sensitive column."""
    if MISSING not in column.labels or not grouping.table.columns[column.name].missing:
        return False
    group, value, _ = grouping.values_of(column)
    gaps = group[value == column.labels.index(MISSING)]
    return bool(_is_kept(grouping)[gaps].any())


def _is_kept(grouping: Grouping) -> Bools:
    """Whether each group is kept; one more, the last, for what is in no group."""
    return np.append(grouping.kept, False)


def formula_cells(grouping: Grouping, labelling: Labelling) -> int:
    """Labels, sensitive values and names that a spreadsheet would run."""
    found = sum(map(is_formula, labelling.columns))
    for name in grouping.instance.layout.columns:
        texts, number = grouping.shown_blocks(name)
        runs = np.array([is_formula(label) for label in texts], dtype=bool)
        if runs.any():
            found += int(grouping.sizes[grouping.kept & runs[number]].sum())
    for column in grouping.instance.cells.sensitive:
        native = grouping.table.columns[column.name].native
        typed = native is not None and native.dtype.kind != "O"
        runs = np.array([is_formula(label) for label in column.labels], dtype=bool)
        if not runs.any() or (typed and column.name not in labelling.with_gaps):  # run by nobody
            continue
        group, value, rows = grouping.values_of(column)
        found += int(rows[_is_kept(grouping)[group] & runs[value]].sum())
    return found


def refuse_doubtful_stars(rows: ShownRows, grouping: Grouping) -> None:
    """Refuse stars that could mean two things: a value of the table, or a suppressed row."""
    table = grouping.table
    for name in table.sensitive:
        if SUPPRESSED in table.columns[name].values:
            raise OutputError(
                f"column {name!r}: the sensitive value {SUPPRESSED!r} would look like a "
                "suppressed one; leave suppressed rows absent, or rename the value"
            )
    starred = grouping.kept.copy()
    for name in grouping.instance.layout.columns:
        texts, number = grouping.shown_blocks(name)
        starred &= np.array([label == SUPPRESSED for label in texts], dtype=bool)[number]
    if table.sensitive or not starred.any():
        return
    marked = {
        name: np.array([*(v == SUPPRESSED for v in table.columns[name].values), False])
        for name in table.insensitive
    }
    found = rows.count(marked, starred) if marked else int(grouping.sizes[starred].sum())
    if found:
        raise OutputError(
            f"{found} released rows show {SUPPRESSED!r} in every cell, as suppressed "
            "ones would; leave suppressed rows absent"
        )
