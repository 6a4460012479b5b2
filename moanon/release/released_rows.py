"""The rows of a release on their way into a file, from wherever they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np

from moanon.arrays import Ints, Values
from moanon.atomic import part_name
from moanon.data.domain import MISSING
from moanon.data.file_form import defuse, is_formula
from moanon.data.hierarchy import SUPPRESSED
from moanon.data.rows import Labelling, RowOrder, Shuffle
from moanon.data.table import Role
from moanon.engines.elsewhere import RowsElsewhere
from moanon.errors import OutputError
from moanon.grouping import Grouping
from moanon.release import formats
from moanon.release.formats import ReleasedColumn
from moanon.release.readback import Format


class ReleasedRows(ABC):
    """What is written.

    Attributes
    ----------
    header : tuple of str
        The released columns, by their names in the table.
    """

    header: tuple[str, ...]

    @abstractmethod
    def write(self, path: Path, form: Format) -> tuple[int, RowOrder]:
        """Write the rows; says how many cells a spreadsheet would run, and how rows stand."""


class RowsHere(ReleasedRows):
    """Rows in memory, column by column."""

    def __init__(self, columns: list[ReleasedColumn], safe: bool, shuffle: Shuffle | None) -> None:
        self._columns, self._safe, self._shuffle = columns, safe, shuffle
        self.header = tuple(column.name for column in columns)

    def write(self, path: Path, form: Format) -> tuple[int, RowOrder]:
        columns = self._columns
        written = formats.spreadsheet_safe(columns) if self._safe else columns
        if self._shuffle is not None:
            written = formats.shuffled(written, self._shuffle.seed)
        write = formats.write_csv if form == "csv" else formats.write_parquet
        if path.is_dir():
            for number, part in enumerate(formats.in_parts(written)):
                write(path / part_name(number, f".{form}"), part)
        else:
            write(path, written)
        return formats.formula_cells(columns), "source" if self._shuffle is None else "shuffled"


class LabelledElsewhere(ReleasedRows):
    """Rows that an engine labels and writes; nothing of them is held here.

    Parameters
    ----------
    store : RowsElsewhere
    grouping : Grouping
        Groups of cells, some of them kept.
    stars, safe
        As of `Release.write`.
    shuffle : Shuffle or None
        None leaves rows in the order of the source.
    """

    def __init__(
        self,
        store: RowsElsewhere,
        grouping: Grouping,
        *,
        stars: bool,
        shuffle: Shuffle | None,
        safe: bool,
    ) -> None:
        self._store, self._grouping = store, grouping
        roles = grouping.table.roles
        self.header = tuple(n for n, role in roles.items() if role is not Role.IDENTIFYING)
        codes, tuples, group = _shown_tuples(grouping)
        labels = {}
        for name in grouping.instance.layout.columns:
            texts, number = grouping.shown_blocks(name)
            labels[name] = texts, number[group]
        self.labelling = Labelling(
            codes,
            tuples,
            labels,
            {name: defuse(name) if safe else name for name in self.header},
            dict.fromkeys(grouping.table.sensitive, MISSING),
            self._shown_gaps(),
            stars,
            shuffle,
            defuse if safe else None,
        )
        if stars:
            self._refuse_doubtful_stars()

    def write(self, path: Path, form: Format) -> tuple[int, RowOrder]:
        if form == "parquet":
            formats.refuse_names_alike(list(self.labelling.columns.values()))
        spell = formats.spell if form == "csv" else None
        others, order = self._store.write(self.labelling, path, spell)
        return others + self.formula_cells(), order

    def formula_cells(self) -> int:
        """Labels, sensitive values and names that a spreadsheet would run."""
        grouping, kept = self._grouping, self._grouping.kept
        found = sum(map(is_formula, self.header))
        for name in grouping.instance.layout.columns:
            texts, number = grouping.shown_blocks(name)
            runs = np.array([is_formula(label) for label in texts], dtype=bool)
            if runs.any():
                found += int(grouping.sizes[kept & runs[number]].sum())
        assert grouping.cell_group is not None
        is_shown = np.append(kept, False)[grouping.cell_group]  # the last: cells without a group
        for column in grouping.instance.cells.sensitive:
            profile = grouping.table.columns[column.name]
            typed = profile.native is not None and profile.native.dtype.kind != "O"
            if typed and column.name not in self.labelling.with_gaps:  # run by nobody
                continue
            runs = np.array([is_formula(label) for label in column.labels], dtype=bool)
            shown = np.repeat(is_shown, np.diff(column.starts))
            found += int(column.counts[shown & runs[column.values]].sum())
        return found

    def _shown_gaps(self) -> frozenset[str]:
        """Sensitive columns of which a released row has a missing cell."""
        grouping = self._grouping
        assert grouping.cell_group is not None
        is_shown = np.append(grouping.kept, False)[grouping.cell_group]
        found = set()
        for column in grouping.instance.cells.sensitive:
            if grouping.table.columns[column.name].missing:
                shown = np.repeat(is_shown, np.diff(column.starts))
                if MISSING in {column.labels[value] for value in np.unique(column.values[shown])}:
                    found.add(column.name)
        return frozenset(found)

    def _refuse_doubtful_stars(self) -> None:
        """Refuse stars that could mean two things: a value of the table, or a suppressed row."""
        grouping = self._grouping
        for name in grouping.table.sensitive:
            if SUPPRESSED in grouping.table.columns[name].values:
                raise OutputError(
                    f"column {name!r}: the sensitive value {SUPPRESSED!r} would look like a "
                    "suppressed one; leave suppressed rows absent, or rename the value"
                )
        same = grouping.kept.copy()
        for name in grouping.instance.layout.columns:
            texts, number = grouping.shown_blocks(name)
            same &= np.array([label == SUPPRESSED for label in texts], dtype=bool)[number]
        rows = int(grouping.sizes[same].sum())
        if rows and not grouping.table.sensitive:
            rows = self._starred_rows(rows)
            if rows:
                raise OutputError(
                    f"{rows} released rows show {SUPPRESSED!r} in every cell, as suppressed "
                    "ones would; leave suppressed rows absent"
                )

    def _starred_rows(self, rows: int) -> int:
        """Of the rows whose labels are all stars, how many show stars alone."""
        columns = self._grouping.table.columns
        others = {
            name: np.array([*(v == SUPPRESSED for v in columns[name].values), False], dtype=int)
            for name in self._grouping.table.insensitive
        }
        if not others:
            return rows
        if not all(flags.any() for flags in others.values()):
            return 0
        # Where all labels are stars there is but one group: every column has one block.
        tuples, counts = self._store.count(others)
        return int(counts[tuples.all(axis=0)].sum())


def _shown_tuples(grouping: Grouping) -> tuple[dict[str, Values], Values, Ints]:
    """Codes of values, the tuples of codes whose rows are released, and the group of each.

    Under a genome a value's block says it all; otherwise its base value, and the tuples are cells.
    """
    instance = grouping.instance
    columns, domains = grouping.table.columns, instance.layout.domains
    codes: dict[str, Values] = {
        name: domain.codes(columns[name]) for name, domain in domains.items()
    }
    groups = np.flatnonzero(grouping.kept)
    if grouping.genome is not None and grouping.starts is not None:
        tuples = []
        decoded = instance.layout.decode(grouping.genome)
        for (name, blocks), starts in zip(decoded.items(), grouping.starts, strict=True):
            widths = [stop - start for start, stop in blocks]
            block_of = np.repeat(np.arange(len(blocks), dtype=np.int32), widths)
            codes[name] = block_of[codes[name]]
            tuples.append(block_of[starts[groups]])
        return codes, np.stack(tuples), groups
    assert grouping.cell_group is not None
    is_shown = np.append(grouping.kept, False)[grouping.cell_group]
    shown = np.flatnonzero(is_shown)
    return codes, instance.cells.codes[:, shown], grouping.cell_group[shown]
