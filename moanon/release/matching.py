"""Reading any released file, ours or not, and finding its rows in the original.

The groups of a released file are made of its labels as they stand there. To say what a person of
the original lost or gained, her row must be found in the file:

- by a **key**: a column of both that has another value in every row;
- by **labels**: where every value of the original has but one label in the file, a row can only be
  in the group of its values' labels, whatever the order of the rows and wherever the suppressed
  ones are left out. This is the case for all global releases of moanon and for all full-domain
  ones. Labels of local recodings overlap; where each row still fits the labels of one group alone,
  and no group has more such rows than the file shows, that is settled, too;
- by **position**: row 17 of the file is row 17 of the original, and suppressed rows are rows of
  stars.

Where no key is named, labels that do not overlap come first, which takes no look at single rows: if
they settle it, the groups are those that positions would give. Labels that overlap come last.

Whatever the way, what the file says must fit the original: each label holds the value it stands
for, each group has as many rows as there are rows for it, and sensitive values are the same. A file
that does not fit is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, get_args

import numpy as np

from moanon.arrays import Bools, Ints, Values
from moanon.data.cell_reading import DEFAULT_ENCODING, FileForm
from moanon.data.column import Profile
from moanon.data.domain import MISSING, Domain
from moanon.data.hierarchy import SUPPRESSED
from moanon.data.rows import find_tuples, own_codes, row_keys
from moanon.data.table import Table
from moanon.engines.paired import CountedRows
from moanon.errors import ConfigError, DataError, EncodingError
from moanon.genome import Instance
from moanon.grouping import NO_GROUP, Grouping, MatchedBy
from moanon.release.labels import Block, BlockLabels, label_rules
from moanon.release.released_file import ReleasedFile

#: Which rows count as suppressed: those with a star in every cell of the file, or in every
#: quasi-identifier, as ARX leaves them.
StarredRows = Literal["all", "quasi"]


def read_released(
    path: str | os.PathLike[str],
    original: Instance | Table,
    *,
    key: str | None = None,
    stars: StarredRows = "all",
    delimiter: str | None = None,
    counted: bool = False,
) -> Grouping:
    """Read a released file and find its rows in the original.

    Parameters
    ----------
    path : path
        A CSV or Parquet file; text is UTF-8, or else in the encoding of the original.
    original : Instance or Table
        What the file was made of. Its quasi-identifiers make the groups. An instance says what
        their labels mean; of a table, labels are texts that are equal or not, and no more.
    key : str, optional
        A column of both by which rows are found; without one, by position or by labels.
    stars : {"all", "quasi"}
        Which rows count as suppressed: with a star in every cell, or in every quasi-identifier.
    delimiter : str, optional
        Of a CSV file; by default it is found.
    counted : bool
        Count what is alike instead of holding rows, where those of the original stay in its files.
        That is enough for measures, though not for questions about single rows.

    Raises
    ------
    DataError
        If the file cannot be read, has a label that stands for no block of its column, or does not
        fit the original.
    """
    if stars not in get_args(StarredRows):
        raise ConfigError(f"stars must be one of {', '.join(get_args(StarredRows))}. Got {stars!r}")
    table = original.table if isinstance(original, Instance) else original
    read = partial(ReleasedFile.open, path, table, key, stars, single=not counted)
    try:
        file = read(FileForm(delimiter))
    except EncodingError as error:
        if table.encoding == DEFAULT_ENCODING:
            raise EncodingError(error.fault, "save it as UTF-8") from None
        file = read(FileForm(delimiter, table.encoding))
    meaning = None
    if isinstance(original, Instance):
        instance, meaning = original, _Meaning.of(file, original)
    else:
        instance = Instance.without_meaning(original)
    found = _match(file, instance, meaning, key)
    kept = [*table.sensitive, *([] if instance.label is None else [instance.label.name])]
    return replace(
        found,
        name=file.name,
        notes=file.notes,
        absent=tuple(name for name in dict.fromkeys(kept) if name not in file.shown),
    )


# -- labels --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Meaning:
    """What labels and values are as numbers, where the domains are known, by quasi-identifier.

    Blocks (labels + 1, 2) are of labels that kept rows show; the last is that of a cell without a
    value, whose code is -1. Codes are base values of the original's values, missing cells last.
    """

    instance: Instance
    blocks: Mapping[str, Ints]
    codes: Mapping[str, Ints]

    @classmethod
    def of(cls, file: ReleasedFile, instance: Instance) -> _Meaning:
        domains, columns = instance.layout.domains, file.table.columns
        return cls(
            instance,
            {name: _blocks(file, i, domains[name]) for i, name in enumerate(file.quasi)},
            {name: domains[name].codes(columns[name]) for name in file.quasi},
        )

    def group_blocks(self, file: ReleasedFile) -> tuple[Ints, Ints]:
        """Where the blocks of each group begin and end, column by column."""
        columns = zip(file.quasi, file.group_labels, strict=True)
        blocks = np.stack([self.blocks[name][codes] for name, codes in columns])
        return blocks[:, :, 0], blocks[:, :, 1]


def _blocks(file: ReleasedFile, place: int, domain: Domain) -> Ints:
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


def _shown(column: Profile, code: int) -> str:
    """Name a label in a sentence."""
    return "a cell without a value" if code < 0 else f"the label {_label(column, code)}"


def _label(column: Profile, code: int) -> str:
    return "no value" if code < 0 else repr(column.values[code])


def _block(spellings: Iterable[str], rules: BlockLabels) -> Block | None:
    found = (rules.find(label) for label in dict.fromkeys(spellings))
    return next((block for block in found if block is not None), None)


# -- rows ----------------------------------------------------------------------------------------


def _match(
    file: ReleasedFile, instance: Instance, meaning: _Meaning | None, key: str | None
) -> Grouping:
    """Find the groups of the original's rows."""
    table = file.table
    if key is not None:
        pairs, group = file.by_key(key, _codes(file, instance, meaning))
        if reason := _misfit(file, pairs, group, meaning):
            raise DataError(f"{file.name} does not fit {file.original}: {reason}")
        return _of_pairs(file, instance, meaning, pairs, group, "key")
    clash = "" if meaning is None else _overlap(file, meaning)
    refused: DataError | None = None
    if meaning is not None and not clash:
        try:  # without a look at single rows, where that is enough
            return _of_cells(file, meaning, _group_by_labels(file, meaning))
        except DataError as error:
            refused = error
    reason = f"it has {file.rows:,} rows and {file.original} has {table.rows:,}"
    if file.rows == table.rows:
        pairs, group = file.by_position(_codes(file, instance, meaning))
        reason = _misfit(file, pairs, group, meaning)
        if not reason:
            return _of_pairs(file, instance, meaning, pairs, group, "position")
    if meaning is None:
        raise DataError(
            f"{file.name} cannot be matched row by row: {reason}; name a key column, or say what "
            "its labels mean with a configuration or hierarchies"
        )
    if refused is not None:
        raise refused
    cell_group = _group_by_boxes(file, meaning)
    if cell_group is None:
        raise DataError(
            f"{file.name} cannot be matched row by row: {reason}, and by labels it is open which "
            f"row is which ({clash}); name a key column (an insensitive one that the release "
            f"keeps, say), or show suppressed rows as {SUPPRESSED} in their places"
        )
    return _of_cells(file, meaning, cell_group)


def _codes(file: ReleasedFile, instance: Instance, meaning: _Meaning | None) -> dict[str, Ints]:
    """Codes of the original's values in all columns that pairs of rows are looked at for."""
    columns, codes = file.table.columns, {} if meaning is None else dict(meaning.codes)
    for column in instance.histogram_columns:
        codes[column.name] = own_codes(columns[column.name])
    if not codes:  # rows are there all the same
        codes[file.quasi[0]] = 0 * own_codes(columns[file.quasi[0]])
    return codes


def _of_pairs(
    file: ReleasedFile,
    instance: Instance,
    meaning: _Meaning | None,
    pairs: CountedRows,
    group: Ints,
    matched_by: MatchedBy,
) -> Grouping:
    """Groups of rows that were found one by one."""
    starts, stops = (None, None) if meaning is None else meaning.group_blocks(file)
    if file.files.single:
        row_group = np.full(file.table.rows, NO_GROUP, dtype=np.int64)
        row_group[pairs.places] = group
        return Grouping.of_rows(instance, row_group, starts, stops, matched_by=matched_by)
    if meaning is None:
        cell = np.zeros(len(pairs.rows), dtype=np.int64)
    else:
        cell = find_tuples(instance.cells.codes, [pairs.original[name] for name in file.quasi])
    values = {column.name: pairs.original[column.name] for column in instance.histogram_columns}
    found = Grouping.of_counts(instance, group, cell, pairs.rows, values, starts, stops)
    return replace(found, matched_by=matched_by)


def _of_cells(file: ReleasedFile, meaning: _Meaning, cell_group: Ints) -> Grouping:
    """Groups of whole cells."""
    blocks = meaning.group_blocks(file)
    found = Grouping.of_cells(meaning.instance, cell_group, file.sizes, *blocks)
    return replace(found, matched_by="labels")


def _misfit(file: ReleasedFile, pairs: CountedRows, group: Ints, meaning: _Meaning | None) -> str:
    """Say where a kept row contradicts the row of the original that it should be; else nothing."""
    unheld = "" if meaning is None else _unheld(file, pairs, group, meaning)
    return unheld or _changed(file, pairs, group)


def _unheld(file: ReleasedFile, pairs: CountedRows, group: Ints, meaning: _Meaning) -> str:
    """Say which label does not hold the value it stands for."""
    for name in file.quasi:
        codes, values = pairs.released[name], pairs.original[name]
        starts, stops = meaning.blocks[name][codes].T
        wrong = ((values < starts) | (values >= stops)) & (group >= 0)
        if wrong.any():
            at = _first(pairs, wrong)
            label = _shown(file.columns[name], codes[at])
            return (
                f"in row {pairs.first[at] + 1:,} {label} of column {name!r} does not hold the "
                "original's value"
            )
    return ""


def _changed(file: ReleasedFile, pairs: CountedRows, group: Ints) -> str:
    """Say where a sensitive value is another one."""
    for name in file.compared:
        same = _same_codes(file, name)[pairs.released[name]]
        wrong = (pairs.original[name] != same) & (group >= 0)
        if wrong.any():
            return (
                f"in row {pairs.first[_first(pairs, wrong)] + 1:,} the sensitive column {name!r} "
                "has another value than the original"
            )
    return ""


def _first(pairs: CountedRows, among: Bools) -> int:
    """Of some pairs the one that comes first in the file."""
    places = np.flatnonzero(among)
    return int(places[np.argmin(pairs.first[places])])


def _same_codes(file: ReleasedFile, name: str) -> Ints:
    """The original's code of each value of a sensitive column in the file; last, of a gap."""
    values = file.table.columns[name].values
    place = {value: i for i, value in enumerate(values)}
    missing, unknown = len(values), len(values) + 1

    def code(text: str) -> int:
        for spelling in file.spellings(text):
            if spelling in place:
                return place[spelling]
        return missing if text == MISSING or text == "" else unknown

    return np.array([*map(code, file.columns[name].values), missing], dtype=np.int64)


def _overlap(file: ReleasedFile, meaning: _Meaning) -> str:
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


def _group_by_labels(file: ReleasedFile, meaning: _Meaning) -> Ints:
    """Group of each cell of the original, where each value has at most one label."""
    cells = meaning.instance.cells
    hidden = np.zeros(len(cells), dtype=bool)
    codes, spans = [], []
    for i, name in enumerate(file.quasi):
        blocks, values = meaning.blocks[name], cells.codes[i]
        nothing = len(blocks)
        shown = file.group_labels[i] % nothing  # the code -1 becomes the last one
        label_of = np.full(max(int(values.max()) + 1, int(blocks.max())), nothing, dtype=np.int64)
        for code in np.unique(shown).tolist():
            label_of[slice(*blocks[code])] = code
        hidden |= label_of[values] == nothing
        codes.append(np.concatenate([shown, label_of[values]]))
        spans.append(nothing + 1)
    groups = len(file.sizes)
    keys = row_keys(codes, spans)  # of the groups, then of the cells
    order = np.argsort(keys[:groups])
    at = np.searchsorted(keys[:groups], keys[groups:], sorter=order)
    found = order[np.minimum(at, groups - 1)]
    found[(keys[found] != keys[groups:]) | hidden] = NO_GROUP
    _refuse_other_groups(file, meaning.instance, found)
    return found


def _group_by_boxes(file: ReleasedFile, meaning: _Meaning) -> Ints | None:
    """Group of each cell of the original where labels overlap; None where that is not settled.

    It is where no cell fits the labels of two groups, and no group is fitted by more rows than it
    has: some of them would be suppressed, and nobody knows which.
    """
    cells = meaning.instance.cells
    starts, stops = meaning.group_blocks(file)
    found = np.full(len(cells), NO_GROUP, dtype=np.int64)
    for group in range(len(file.sizes)):
        inside = np.arange(len(cells))
        for column in range(len(cells.codes)):
            here = cells.codes[column, inside]
            inside = inside[(here >= starts[column, group]) & (here < stops[column, group])]
        if (found[inside] != NO_GROUP).any():
            return None
        found[inside] = group
    if (_rows_of_groups(file, meaning.instance, found) > file.sizes).any():
        return None
    _refuse_other_groups(file, meaning.instance, found)
    return found


def _rows_of_groups(file: ReleasedFile, instance: Instance, cell_group: Ints) -> Ints:
    """Rows of the original in each group."""
    counts = np.zeros(len(file.sizes), dtype=np.int64)
    held = cell_group >= 0
    np.add.at(counts, cell_group[held], instance.cells.counts[held])
    return counts


def _refuse_other_groups(file: ReleasedFile, instance: Instance, cell_group: Ints) -> None:
    """Refuse a file whose groups hold other rows than the original has for their labels."""
    counts = _rows_of_groups(file, instance, cell_group)
    wrong = np.flatnonzero(counts != file.sizes)
    if len(wrong):
        labels = [
            _label(file.columns[name], code)
            for name, code in zip(file.quasi, file.group_labels[:, wrong[0]], strict=True)
        ]
        size = int(file.sizes[wrong[0]])
        raise DataError(
            f"{file.name} does not fit {file.original}: it has {size:,} "
            f"row{'' if size == 1 else 's'} with the labels {', '.join(labels)}, and "
            f"the original {counts[wrong[0]]:,} for them"
        )
    for column in instance.cells.sensitive:
        if column.name not in file.columns:
            continue
        span = len(file.table.columns[column.name].values) + 2
        owner, code, rows = file.value_counts[column.name]
        here = _add_up(owner * span + _same_codes(file, column.name)[code], rows)
        owner = np.repeat(cell_group, np.diff(column.starts))
        held = owner >= 0
        there = _add_up(owner[held] * span + column.values[held], column.counts[held])
        if not all(map(np.array_equal, here, there)):
            raise DataError(
                f"{file.name} does not fit {file.original}: in some group the sensitive "
                f"column {column.name!r} has other values than the original"
            )


def _add_up(keys: Ints, rows: Values) -> tuple[Ints, Ints]:
    """Different keys in order, and the rows of each."""
    different, place = np.unique(keys, return_inverse=True)
    total = np.zeros(len(different), dtype=np.int64)
    np.add.at(total, place.reshape(-1), rows)
    return different, total
