"""What the rows of a release show, for whichever store holds them.

A stored generalization can be applied to rows that it was not made from (`fit_rows`). What the
values of a quasi-identifier are was decided when the search ran: a range may come from its data,
and so does the place for missing values. New rows are read against exactly those domains, never
against domains of their own, since otherwise the same label would mean something else in two files.
A value without a place there is *outside*: such rows are refused, or suppressed on request. So it
is with a sensitive value that is not among those whose distances were declared: nobody could say
how close a group with it is to the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from moanon.arrays import Bools, Ints, Outlined, Values
from moanon.data.cells import SensitiveCounts
from moanon.data.column import Column, Profile
from moanon.data.domain import MISSING, Domain
from moanon.data.file_form import defuse, is_formula
from moanon.data.hierarchy import SUPPRESSED
from moanon.data.rows import Labelling, RowStore, Shuffle, own_codes
from moanon.data.table import Role, Table
from moanon.errors import ConfigError, DataError, OutputError
from moanon.genome import Instance
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
            shown = [name for name, role in table.roles.items() if role is not Role.IDENTIFYING]
            store = table.store.held(shown).beside(column)
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
        cells = np.flatnonzero(np.append(grouping.kept, False)[grouping.cell_group])
        return cls(table.store, codes, instance.cells.codes[:, cells], grouping.cell_group[cells])

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


# -- rows that came later --------------------------------------------------------------------------


#: What becomes of rows with a value outside the domains.
Outside = Literal["refuse", "suppress"]


def fit_rows(instance: Instance, table: Table, outside: Outside = "refuse") -> tuple[Instance, int]:
    """Read new rows against the domains of another table.

    The columns must have the same roles; identifying ones may be absent. Returned are the rows that
    fit, their columns in the order of `instance`, and how many were left out.
    """
    if outside not in get_args(Outside):
        raise ConfigError(f"rows outside are 'refuse' or 'suppress'. Got {outside!r}")
    _check_roles(instance.table, table)
    domains = {**instance.layout.domains, **instance.distances}
    values = {name: _outside(domain, table.columns[name]) for name, domain in domains.items()}
    fitting, rows = table.without(values), table.rows
    if fitting.rows < rows:
        if outside == "refuse":
            raise _refusal(domains, table)
        if not fitting.rows:
            raise OutputError(
                f"no row of {table.source} would be released: each holds a value outside the "
                "domains of the generalization"
            )
    fitting = _in_order_of(instance.table, fitting)
    return instance.over(fitting), rows - fitting.rows


def _check_roles(first: Table, table: Table) -> None:
    """Refuse other columns: a sensitive one that is absent would count as diverse enough.

    Identifying ones are not released, so it does not matter whether they are there.
    """
    for name in sorted({*first.roles, *table.roles}):
        here, there = table.roles.get(name, "absent"), first.roles.get(name, "absent")
        if here != there and {here, there} != {"absent", Role.IDENTIFYING}:
            raise DataError(
                f"{table.source} must have the columns of the run in their roles: {name!r} is "
                f"{there} there and {here} here"
            )


def _outside(domain: Domain, column: Profile) -> Bools:
    """Values of a column that a domain has no place for, and last whether it has none for gaps."""
    return np.append(domain.find(column.values) < 0, not domain.has_missing)


def _refusal(domains: Mapping[str, Domain], table: Table) -> DataError:
    """Say which values of the first column with such are outside."""
    for name, domain in domains.items():
        try:
            domain.codes(table.columns[name])
        except DataError as error:
            return DataError(
                f"{table.source}: {error}; correct them, or suppress such rows (outside='suppress')"
            )
    raise AssertionError("a row was outside, and no column says why")


def _in_order_of(first: Table, table: Table) -> Table:
    """Let two releases have their columns in one order, and neither replace the other's source."""
    names = sorted(table.roles, key=[*first.roles, *table.roles].index)
    return replace(
        table,
        roles={name: table.roles[name] for name in names},
        files=(*table.files, *first.files),
    )
