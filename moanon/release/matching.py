"""Reading any released file, ours or not, and finding its rows in the original.

The groups of a released file are made of its labels as they stand there. To say what a person of
the original lost or gained, her row must be found in the file:

- by a **key**: a column of both that has another value in every row;
- by **position**: row 17 of the file is row 17 of the original, and suppressed rows are rows of
  stars;
- by **labels**: where every value of the original has but one label in the file, a row can only be
  in the group of its values' labels, whatever the order of the rows and wherever the suppressed
  ones are left out. This is the case for all global releases of moanon and for all full-domain
  ones. Labels of local recodings overlap; where each row still fits the labels of one group alone,
  and no group has more such rows than the file shows, that is settled, too.

Whatever the way, what the file says must fit the original: each label holds the value it stands
for, each group has as many rows as there are rows for it, and sensitive values are the same. A file
that does not fit is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, get_args

import numpy as np

from moanon.arrays import Bools, Ints
from moanon.data.column import Column, absent_column
from moanon.data.domain import MISSING, Domain
from moanon.data.formulas import is_formula
from moanon.data.hierarchy import SUPPRESSED
from moanon.data.rows import row_keys
from moanon.data.source import read_source
from moanon.data.table import Table
from moanon.errors import ConfigError, DataError
from moanon.genome import Instance
from moanon.grouping import NO_GROUP, Grouping, MatchedBy
from moanon.release.labels import Block, BlockLabels, label_rules
from moanon.release.reading import undefuse

#: Which rows count as suppressed: those with a star in every cell of the file, or in every
#: quasi-identifier, as ARX leaves them.
StarredRows = Literal["all", "quasi"]
#: More columns are not listed in a note.
_MOST_NAMES = 5


def read_released(
    path: str | os.PathLike[str],
    original: Instance | Table,
    *,
    key: str | None = None,
    stars: StarredRows = "all",
    delimiter: str | None = None,
) -> Grouping:
    """Read a released file and find its rows in the original.

    Parameters
    ----------
    path : path
        A CSV or Parquet file.
    original : Instance or Table
        What the file was made of. Its quasi-identifiers make the groups. An instance says what
        their labels mean; of a table, labels are texts that can be told apart and no more.
    key : str, optional
        A column of both by which rows are found; without one, by position or by labels.
    stars : {"all", "quasi"}
        Which rows count as suppressed: with a star in every cell, or in every quasi-identifier.
    delimiter : str, optional
        Of a CSV file; by default it is found.

    Raises
    ------
    DataError
        If the file cannot be read, has a label that stands for no block of its column, or does not
        fit the original.
    """
    if stars not in get_args(StarredRows):
        raise ConfigError(f"stars must be one of {', '.join(get_args(StarredRows))}. Got {stars!r}")
    table = original.table if isinstance(original, Instance) else original
    file = _File.read(path, table, key, stars, delimiter)
    meaning = None
    if isinstance(original, Instance):
        meaning = _Meaning.of(file, original.layout.domains)
    row_group, matched_by = _match(file, meaning)
    starts, stops = (None, None) if meaning is None else meaning.group_blocks(file)
    instance = original
    if isinstance(instance, Table):
        instance = Instance.without_meaning(instance)
    kept = [*table.sensitive, *([] if instance.label is None else [instance.label.name])]
    return Grouping.of_rows(
        instance,
        row_group,
        starts,
        stops,
        name=file.name,
        matched_by=matched_by,
        notes=file.notes,
        absent=tuple(name for name in dict.fromkeys(kept) if name not in file.columns),
    )


@dataclass(frozen=True, eq=False)
class _File:
    """The rows of a released file, and their groups; columns have the names of the original."""

    name: str
    table: Table  # the original
    columns: Mapping[str, Column]
    rows: int
    kept: Ints  # rows that are no rows of stars, in order
    group: Ints  # of each kept row
    group_labels: Ints  # (columns, groups): code of each quasi-identifier's label
    sizes: Ints
    key: str | None
    notes: tuple[str, ...]
    safe: bool  # no cell would be run by a spreadsheet: apostrophes may see to that

    def spellings(self, text: str) -> tuple[str, str]:
        """What a cell may stand for, the likelier first: itself, or what it was made safe from."""
        return (undefuse(text), text) if self.safe else (text, undefuse(text))

    @property
    def quasi(self) -> tuple[str, ...]:
        return self.table.quasi

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        table: Table,
        key: str | None,
        stars: StarredRows,
        delimiter: str | None,
    ) -> _File:
        # No token means "missing": an empty text is a label like any other.
        source = read_source(path, missing_tokens=(), delimiter=delimiter)
        columns = as_shown = {column.name: column for column in source.columns}
        safe = not any(map(is_formula, (*as_shown, *chain(*(c.values for c in source.columns)))))
        if safe:
            columns = {undefuse(name): column for name, column in as_shown.items()}
        if len(columns) < len(as_shown) or any(name not in columns for name in table.quasi):
            columns = as_shown
        for name in (*table.quasi, *(() if key is None else (key,))):
            if name not in columns:
                raise absent_column(source.name, name, columns)
        quasi = [columns[name] for name in table.quasi]
        everything = _starred(source.columns)
        labels_only = _starred(quasi)
        starred = everything if stars == "all" else labels_only
        notes = _open_columns(source.name, columns, table)
        if starred.all():  # then stars are the labels of a table in which all is generalized away
            starred = np.zeros(source.rows, dtype=bool)
        elif stars == "all" and (more := int(np.count_nonzero(labels_only & ~everything))):
            notes.append(
                f"{source.name}: rows that show {SUPPRESSED} in every quasi-identifier, but not in "
                f"all cells ({more:,}), are measured as a group; if they are suppressed, say "
                "--stars quasi"
            )
        kept = np.flatnonzero(~starred)
        # The code -1 is a cell without a value (Parquet only): one more label.
        codes = [column.codes[kept].astype(np.int64) + 1 for column in quasi]
        keys = row_keys(codes, [len(column.values) + 1 for column in quasi])
        _, first, group, sizes = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        labels = np.stack([code[first] - 1 for code in codes])
        return cls(
            source.name,
            table,
            columns,
            source.rows,
            kept,
            group.astype(np.int64),
            labels,
            sizes.astype(np.int64),
            key,
            tuple(notes),
            safe,
        )


def _open_columns(file: str, columns: Mapping[str, Column], table: Table) -> list[str]:
    """Note columns that tell rows apart and that nobody has said to be harmless."""
    harmless = {*table.quasi, *table.sensitive, *table.insensitive}
    found = [
        name
        for name, column in columns.items()
        if name not in harmless and len(column.values) + bool(column.missing) > 1
    ]
    if not found:
        return []
    shown = ", ".join(found[:_MOST_NAMES])
    more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    return [
        f"{file}: not counted as quasi-identifiers: {shown}{more}; whoever knows such values can "
        "tell apart more rows than k says"
    ]


def _starred(columns: Sequence[Column]) -> Bools:
    """Rows with a star in each of some columns."""
    found = np.ones(len(columns[0].codes), dtype=bool)
    for column in columns:
        star = column.values.index(SUPPRESSED) if SUPPRESSED in column.values else -2
        found &= column.codes == star
    return found


# -- labels --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Meaning:
    """What labels and values are as numbers, where the domains are known, by quasi-identifier.

    Blocks (labels + 1, 2) are of labels that kept rows show; the last is that of a cell without a
    value, whose code is -1. Values are base values, one for each row of the original.
    """

    blocks: Mapping[str, Ints]
    values: Mapping[str, Ints]

    @classmethod
    def of(cls, file: _File, domains: Mapping[str, Domain]) -> _Meaning:
        column = file.table.column
        return cls(
            {name: _blocks(file, i, domains[name]) for i, name in enumerate(file.quasi)},
            {name: domains[name].encode(column(name)).astype(np.int64) for name in file.quasi},
        )

    def group_blocks(self, file: _File) -> tuple[Ints, Ints]:
        """Where the blocks of each group begin and end, column by column."""
        columns = zip(file.quasi, file.group_labels, strict=True)
        blocks = np.stack([self.blocks[name][codes] for name, codes in columns])
        return blocks[:, :, 0], blocks[:, :, 1]


def _blocks(file: _File, place: int, domain: Domain) -> Ints:
    """Block behind each label of a column that kept rows show; (0, 0) for the others."""
    name = file.quasi[place]
    column, rules = file.columns[name], label_rules(domain, every_name=True)
    blocks = np.zeros((len(column.values) + 1, 2), dtype=np.int64)  # the code -1 is the last one
    for code in np.unique(file.group_labels[place]).tolist():
        label = None if code < 0 else column.values[code]
        block = None if label is None else _block(file.spellings(label), rules)
        if block is None and not label and domain.has_missing:
            # Other programs leave a gap where there was one; ours has a label and is a base value.
            block = domain.size - 1, domain.size
        if block is None and label == SUPPRESSED:  # for any value, also of a single one
            block = 0, domain.size
        if block is None:
            raise DataError(
                f"{file.name}, column {name!r}: {_shown(column, code)} stands for no block of its "
                f"{domain.kind} domain ({domain.describe()}), or for more than one"
            )
        blocks[code] = block
    return blocks


def _shown(column: Column, code: int) -> str:
    """Name a label in a sentence."""
    return "a cell without a value" if code < 0 else f"the label {_label(column, code)}"


def _label(column: Column, code: int) -> str:
    return "no value" if code < 0 else repr(column.values[code])


def _block(spellings: Iterable[str], rules: BlockLabels) -> Block | None:
    found = (rules.find(label) for label in dict.fromkeys(spellings))
    return next((block for block in found if block is not None), None)


# -- rows ----------------------------------------------------------------------------------------


def _match(file: _File, meaning: _Meaning | None) -> tuple[Ints, MatchedBy]:
    """Find the group of each row of the original, and say how it was found."""
    table = file.table
    if file.key is not None:
        rows = _rows_by_key(file, file.key)
        if reason := _misfit(file, rows, meaning):
            raise DataError(f"{file.name} does not fit {_original(table)}: {reason}")
        return _spread(file, rows), "key"
    reason = f"it has {file.rows:,} rows and {_original(table)} has {table.rows:,}"
    if file.rows == table.rows:
        reason = _misfit(file, file.kept, meaning)
        if not reason:
            return _spread(file, file.kept), "position"
    if meaning is None:
        raise DataError(
            f"{file.name} cannot be matched row by row: {reason}; name a key column, or say what "
            "its labels mean with a configuration or hierarchies"
        )
    clash = _overlap(file, meaning)
    if not clash:
        return _group_by_labels(file, meaning), "labels"
    row_group = _group_by_boxes(file, meaning)
    if row_group is None:
        raise DataError(
            f"{file.name} cannot be matched row by row: {reason}, and by labels it is open which "
            f"row is which ({clash}); name a key column (an insensitive one that the release "
            f"keeps, say), or show suppressed rows as {SUPPRESSED} in their places"
        )
    return row_group, "labels"


def _spread(file: _File, rows: Ints) -> Ints:
    """Group of each row of the original, where kept row ``i`` of the file is row ``rows[i]``."""
    row_group = np.full(file.table.rows, NO_GROUP, dtype=np.int64)
    row_group[rows] = file.group
    return row_group


def _rows_by_key(file: _File, key: str) -> Ints:
    """Row of the original that each kept row of the file has the key of."""
    original, released = file.table.column(key), file.columns[key]
    for where, codes in (
        (_original(file.table), original.codes),
        (file.name, released.codes[file.kept]),
    ):
        if (codes < 0).any():
            raise DataError(f"{where}: the key column {key!r} has a row without a value")
        if len(np.unique(codes)) < len(codes):
            raise DataError(
                f"{where}: the key column {key!r} must have another value in every row. Got one "
                f"value in {np.bincount(codes).max():,} rows"
            )
    row_of = np.empty(len(original.values), dtype=np.int64)
    row_of[original.codes] = np.arange(file.table.rows)
    place = {value: i for i, value in enumerate(original.values)}
    found = np.empty(len(file.kept), dtype=np.int64)
    for i, code in enumerate(released.codes[file.kept].tolist()):
        likely, other = file.spellings(released.values[code])
        known = place.get(likely, place.get(other))
        if known is None:
            raise DataError(
                f"{file.name} does not fit {_original(file.table)}: no row there has the key "
                f"({key!r}) of row {file.kept[i] + 1:,}"
            )
        found[i] = row_of[known]
    return found


def _misfit(file: _File, rows: Ints, meaning: _Meaning | None) -> str:
    """Say where a kept row contradicts the row of the original that it should be; else nothing."""
    unheld = "" if meaning is None else _unheld(file, rows, meaning)
    return unheld or _changed(file, rows)


def _unheld(file: _File, rows: Ints, meaning: _Meaning) -> str:
    """Say which label does not hold the value it stands for."""
    for name in file.quasi:
        codes = file.columns[name].codes[file.kept]
        starts, stops = meaning.blocks[name][codes].T
        values = meaning.values[name][rows]
        wrong = np.flatnonzero((values < starts) | (values >= stops))
        if len(wrong):
            label = _shown(file.columns[name], codes[wrong[0]])
            return (
                f"in row {file.kept[wrong[0]] + 1:,} {label} of column {name!r} does not hold the "
                "original's value"
            )
    return ""


def _changed(file: _File, rows: Ints) -> str:
    """Say where a sensitive value is another one."""
    for name in _compared(file):
        original, released = _same_codes(file, name)
        wrong = np.flatnonzero(original[rows] != released[file.kept])
        if len(wrong):
            return (
                f"in row {file.kept[wrong[0]] + 1:,} the sensitive column {name!r} has another "
                "value than the original"
            )
    return ""


def _compared(file: _File) -> list[str]:
    """Sensitive columns that both have."""
    return [name for name in file.table.sensitive if name in file.columns]


def _same_codes(file: _File, name: str) -> tuple[Ints, Ints]:
    """Codes of a sensitive column in the original and in the file, the same for the same value."""
    original, released = file.table.column(name), file.columns[name]
    place = {value: i for i, value in enumerate(original.values)}
    unknown = len(place) + 1

    def code(text: str) -> int:
        for spelling in file.spellings(text):
            if spelling in place:
                return place[spelling]
        return -1 if text == MISSING or text == "" else unknown

    codes = np.array([*map(code, released.values), -1], dtype=np.int64)
    return original.codes.astype(np.int64), codes[released.codes]


def _overlap(file: _File, meaning: _Meaning) -> str:
    """Name two labels of one column that could hold the same value, if there are any."""
    for i, name in enumerate(file.quasi):
        codes, blocks = np.unique(file.group_labels[i]), meaning.blocks[name]
        order = codes[np.argsort(blocks[codes, 0], kind="stable")]
        starts, stops = blocks[order].T
        clash = np.flatnonzero(starts[1:] < stops[:-1])
        if len(clash):
            one, other = (_label(file.columns[name], order[at]) for at in (clash[0], clash[0] + 1))
            return f"column {name!r} shows both {one} and {other}"
    return ""


def _group_by_labels(file: _File, meaning: _Meaning) -> Ints:
    """Group of each row of the original, where each value has at most one label."""
    hidden = np.zeros(file.table.rows, dtype=bool)
    codes, spans = [], []
    for i, name in enumerate(file.quasi):
        blocks, values = meaning.blocks[name], meaning.values[name]
        nothing = len(blocks)
        shown = file.group_labels[i] % nothing  # the code -1 becomes the last one
        label_of = np.full(max(int(values.max()) + 1, int(blocks.max())), nothing, dtype=np.int64)
        for code in np.unique(shown).tolist():
            label_of[slice(*blocks[code])] = code
        hidden |= label_of[values] == nothing
        codes.append(np.concatenate([shown, label_of[values]]))
        spans.append(nothing + 1)
    groups = len(file.sizes)
    keys = row_keys(codes, spans)  # of the groups, then of the rows
    order = np.argsort(keys[:groups])
    at = np.searchsorted(keys[:groups], keys[groups:], sorter=order)
    found = order[np.minimum(at, groups - 1)]
    found[(keys[found] != keys[groups:]) | hidden] = NO_GROUP
    _refuse_other_groups(file, found)
    return found


def _group_by_boxes(file: _File, meaning: _Meaning) -> Ints | None:
    """Group of each row of the original where labels overlap; None where that is not settled.

    It is where no row fits the labels of two groups, and no group is fitted by more rows than it
    has: some of them would be suppressed, and nobody knows which.
    """
    values = np.stack([meaning.values[name] for name in file.quasi])
    tuples, which = np.unique(values, axis=1, return_inverse=True)
    starts, stops = meaning.group_blocks(file)
    found = np.full(tuples.shape[1], NO_GROUP, dtype=np.int64)
    for group in range(len(file.sizes)):
        inside = np.arange(tuples.shape[1])
        for column in range(len(tuples)):
            here = tuples[column, inside]
            inside = inside[(here >= starts[column, group]) & (here < stops[column, group])]
        if (found[inside] != NO_GROUP).any():
            return None
        found[inside] = group
    row_group = found[which.reshape(-1)]
    counts = np.bincount(row_group[row_group >= 0], minlength=len(file.sizes))
    if (counts > file.sizes).any():
        return None
    _refuse_other_groups(file, row_group)
    return row_group


def _refuse_other_groups(file: _File, row_group: Ints) -> None:
    """Refuse a file whose groups hold other rows than the original has for their labels."""
    counts = np.bincount(row_group[row_group >= 0], minlength=len(file.sizes))
    wrong = np.flatnonzero(counts != file.sizes)
    if len(wrong):
        labels = [
            _label(file.columns[name], code)
            for name, code in zip(file.quasi, file.group_labels[:, wrong[0]], strict=True)
        ]
        size = int(file.sizes[wrong[0]])
        raise DataError(
            f"{file.name} does not fit {_original(file.table)}: it has {size:,} "
            f"row{'' if size == 1 else 's'} with the labels {', '.join(labels)}, and "
            f"the original {counts[wrong[0]]:,} for them"
        )
    for name in _compared(file):
        original, released = _same_codes(file, name)
        span = len(file.table.columns[name].values) + 3
        here = file.group * span + released[file.kept] + 1
        kept = row_group >= 0
        there = row_group[kept] * span + original[kept] + 1
        if not np.array_equal(np.sort(here), np.sort(there)):
            raise DataError(
                f"{file.name} does not fit {_original(file.table)}: in some group the sensitive "
                f"column {name!r} has other values than the original"
            )


def _original(table: Table) -> str:
    """Call the original by what was read, and say what became of its incomplete rows."""
    if not table.rows_dropped:
        return table.source
    return f"{table.source} (without {table.rows_dropped:,} incomplete rows)"
