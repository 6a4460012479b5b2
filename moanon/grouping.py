"""Groupings: which rows share a released tuple, what that tuple shows, whether it is released.

Whatever anonymizes a table, this is what comes of it, and what everything after it takes: measures,
suppression, releases, certificates, comparisons, figures. A grouping is made

- from a **genome** (`Grouping.of_genome`): one generalization of each column for the whole table;
- from **boxes** (`Grouping.of_boxes`): every group has blocks of its own, which may overlap those
  of others, as in local recodings;
- from the **rows** of a released file (`Grouping.of_rows`), where even rows of one cell may have
  been put into different groups.

A row without a group is suppressed, and so are the rows of groups that are not `kept`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from moanon.arrays import Bits, Bools, Floats, Ints, Outlined, Values
from moanon.data.cells import SensitiveCounts
from moanon.data.rows import row_keys
from moanon.data.table import Table
from moanon.errors import DataError, GenomeError
from moanon.genome import Instance, Layout

#: Stands for the group of a cell or row that has none.
NO_GROUP = -1
#: Fewer genomes than this are merged without sharing anything.
_SHARING = 8
#: How the rows of an anonymized table were found in the original.
MatchedBy = Literal["genome", "boxes", "key", "labels", "position"]


@dataclass(frozen=True, eq=False, repr=False)
class _Members(Outlined):
    """The group of each entry, or `NO_GROUP`; and what entries are.

    They are the cells of the table, each with all its rows; its single rows, where rows of one cell
    are in different groups; or rows that are alike, counted elsewhere. Only these know the rest.
    """

    group: Ints
    of: Literal["cells", "rows", "counts"]
    cell: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    rows: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    values: Mapping[str, Values] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Grouping(Outlined):
    """Groups of a table's rows, each with a block of base values in every quasi-identifier.

    Attributes
    ----------
    members
        Which rows of which cell are in which group.
    sizes : array (groups,)
        Rows of each group.
    kept : array (groups,) of bool
        Which groups are released.
    starts, stops : arrays (columns, groups), or None
        What a group shows in each quasi-identifier, in the order of ``instance.layout``: base
        values ``start .. stop - 1``, whole numbers of any width, as there may be as many groups as
        rows. None where nobody knows what labels mean.
    genome : array of uint8, or None
        The genome that it was made from.
    matched_by : str
        How rows were found.
    notes : tuple of str
        What was noticed on the way and should be reported.
    absent : tuple of str
        Sensitive and class columns of the table that are not released.

    Examples
    --------
    >>> import pandas as pd
    >>> from moanon.data.domain import OrderedSpec
    >>> from moanon.engines import read_table
    >>> table = read_table(pd.DataFrame({"size": list("SSMLL")}), {"size": "quasi"})
    >>> instance = Instance.build(table, {"size": OrderedSpec(("S", "M", "L"))})
    >>> grouping = Grouping.of_genome(instance, [0, 1])
    >>> grouping.sizes.tolist(), grouping.labels["size"].tolist()
    ([3, 2], ['S..M', 'L'])
    """

    instance: Instance
    members: _Members
    sizes: Ints
    kept: Bools
    starts: Values | None
    stops: Values | None
    genome: Bits | None = None
    name: str = ""
    matched_by: MatchedBy = "genome"
    notes: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    # -- making ------------------------------------------------------------------------------------

    @classmethod
    def of_genome(cls, instance: Instance, genome: npt.ArrayLike) -> Grouping:
        """Merge the cells of a table under one valid genome; all groups are kept.

        Groups are numbered by their first cell.
        """
        matrix = instance.layout.check(genome)
        if len(matrix) != 1:
            raise GenomeError(f"a grouping takes one genome. Got {len(matrix)}")
        return next(cls.of_genomes(instance, matrix))

    @classmethod
    def of_genomes(cls, instance: Instance, genomes: npt.ArrayLike) -> Iterator[Grouping]:
        """Merge the cells under each of many genomes as `of_genome` does, one after the other.

        The groups of a genome follow from those of any finer one, so neighbours share the groups of
        their bitwise OR: the more alike they are, as on a front, the less is left to do for each.
        """
        matrix, cells = instance.layout.check(genomes), instance.cells
        every = _merge_each(matrix, _Merged(instance.layout, cells.codes, cells.counts))
        for bits, (blocks, merged) in zip(matrix, every, strict=True):
            assert merged.cell_group is not None
            shown = merged.shown(blocks)
            grouping = cls.of_cells(instance, merged.cell_group, merged.sizes, *shown)
            yield replace(grouping, genome=bits)

    @classmethod
    def of_boxes(
        cls,
        instance: Instance,
        cell_group: npt.ArrayLike,
        starts: npt.ArrayLike,
        stops: npt.ArrayLike,
    ) -> Grouping:
        """Put each cell into a box, or into none (`NO_GROUP`); all groups are kept.

        Boxes may overlap: which one a cell is in is said, not found. Boxes with the same blocks are
        one group, because their rows show the same.

        Raises
        ------
        DataError
            If the arrays do not fit the table or each other, a cell is not in its box, a block of a
            tree column is not one of its nodes, or no row is left.
        """
        group = _whole(cell_group, "groups")
        first, last = _whole(starts, "blocks"), _whole(stops, "blocks")
        _check(instance, group, len(instance.cells), "cells", first, last)
        _check_boxes(instance, group, first, last)
        ends = (instance.layout.sizes + 1).tolist()  # a stop may be behind the last value
        keys = row_keys([*first, *last], [*ends, *ends])
        _, box, merged = np.unique(keys, return_index=True, return_inverse=True)
        group = np.where(group >= 0, merged.reshape(-1)[group], NO_GROUP)
        first, last = first[:, box], last[:, box]
        sizes = np.zeros(len(box), dtype=np.int64)
        np.add.at(sizes, group[group >= 0], instance.cells.counts[group >= 0])
        return replace(cls.of_cells(instance, group, sizes, first, last), matched_by="boxes")

    @classmethod
    def of_rows(
        cls,
        instance: Instance,
        row_group: npt.ArrayLike,
        starts: npt.ArrayLike | None,
        stops: npt.ArrayLike | None,
        *,
        name: str = "",
        matched_by: MatchedBy = "position",
        notes: tuple[str, ...] = (),
        absent: tuple[str, ...] = (),
    ) -> Grouping:
        """Take any partition of the rows of an original table; all groups are kept.

        Groups are numbered from 0 on, a suppressed row has `NO_GROUP`; the same base value may be
        shown in different ways. Shares of sensitive values "in the table" are the original's.

        Raises
        ------
        DataError
            If the arrays do not fit the table or each other, or no row is left.
        """
        group = _whole(row_group, "groups")
        if (starts is None) != (stops is None):
            raise DataError("blocks have starts and stops, or nobody knows either. Got one of them")
        first = None if starts is None else _whole(starts, "blocks")
        last = None if stops is None else _whole(stops, "blocks")
        _check(instance, group, instance.cells.rows, "rows", first, last)
        sizes = np.bincount(group[group >= 0])
        return cls(
            instance,
            _Members(group, "rows"),
            sizes,
            np.ones(len(sizes), dtype=bool),
            first,
            last,
            name=name,
            matched_by=matched_by,
            notes=notes,
            absent=absent,
        )

    @classmethod
    def of_counts(
        cls,
        instance: Instance,
        group: Ints,
        cell: Ints,
        rows: Ints,
        values: Mapping[str, Values],
        starts: Ints | None,
        stops: Ints | None,
    ) -> Grouping:
        """As `of_rows`, of rows that are elsewhere; nothing is checked.

        Rows that are alike in all that is measured are counted together (`rows`). Of each sensitive
        and class column, `values` are the labels they have, as `SensitiveCounts` numbers them.
        """
        held = group >= 0
        sizes = np.zeros(int(group.max()) + 1, dtype=np.int64)
        np.add.at(sizes, group[held], rows[held])
        members = _Members(group, "counts", cell, rows, values)
        return cls(instance, members, sizes, np.ones(len(sizes), dtype=bool), starts, stops)

    @classmethod
    def of_cells(
        cls, instance: Instance, cell_group: Ints, sizes: Ints, starts: Values, stops: Values
    ) -> Grouping:
        """Take groups of whole cells, whose sizes are known; nothing is checked."""
        kept = np.ones(len(sizes), dtype=bool)
        return cls(instance, _Members(cell_group, "cells"), sizes, kept, starts, stops)

    def named(self, name: str) -> Grouping:
        """The same grouping under a name."""
        return replace(self, name=name)

    def keep(self, kept: Bools) -> Grouping:
        """The same groups, of which only some are released; numbers could be taken for places."""
        chosen = np.asarray(kept)
        if chosen.dtype != np.bool_ or chosen.shape != self.sizes.shape:
            raise DataError(
                f"kept must hold one truth value for each of the {len(self)} groups. Got "
                f"{chosen.dtype} of shape {chosen.shape}"
            )
        return replace(self, kept=chosen)

    def released(self) -> Grouping:
        """The groups that are kept, numbered anew; rows of the others have none."""
        if self.kept.all():
            return self
        number = np.full(len(self.sizes) + 1, NO_GROUP, dtype=np.int64)  # the last: no group
        number[:-1][self.kept] = np.arange(np.count_nonzero(self.kept))
        return replace(
            self,
            members=replace(self.members, group=number[self.members.group]),
            sizes=self.sizes[self.kept],
            kept=self.kept[self.kept],
            starts=None if self.starts is None else self.starts[:, self.kept],
            stops=None if self.stops is None else self.stops[:, self.kept],
        )

    # -- looking -----------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return (
            f"Grouping({len(self.sizes):,} groups of {self.rows:,} rows, "
            f"{self.suppressed:,} suppressed)"
        )

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def table(self) -> Table:
        """The rows of the original."""
        return self.instance.table

    @property
    def quasi(self) -> tuple[str, ...]:
        """The columns whose labels make the groups."""
        return self.table.quasi

    @property
    def rows(self) -> int:
        """Rows of the original."""
        return self.instance.cells.rows

    @property
    def kept_rows(self) -> int:
        """Rows that are released."""
        return int(self.sizes[self.kept].sum())

    @property
    def suppressed(self) -> int:
        """Rows that are not released."""
        return self.rows - self.kept_rows

    @property
    def k(self) -> int:
        """Rows in the smallest group that is released; 0 where none is."""
        return int(self.sizes[self.kept].min()) if self.kept.any() else 0

    @property
    def is_complete(self) -> bool:
        """Whether every row has a group; else nobody knows how suppressed rows were grouped."""
        return bool((self.members.group >= 0).all())

    @property
    def has_meaning(self) -> bool:
        """Whether it is known what labels stand for."""
        return self.starts is not None

    @property
    def cell_group(self) -> Ints | None:
        """The group of each cell, or `NO_GROUP`; None where rows of one cell are in several."""
        return self.members.group if self.members.of == "cells" else None

    @cached_property
    def row_group(self) -> Ints:
        """The group of each row, or `NO_GROUP`; asked for only where rows themselves are."""
        if self.members.of == "counts":
            raise DataError(
                f"the rows of {self.table.source} were counted where they are, and this question "
                "is one about single rows"
            )
        if self.members.of == "rows":
            return self.members.group
        return self.members.group[self.instance.row_cell]

    def members_held(self) -> tuple[Ints, Ints, Ints]:
        """Groups with their cells and how many rows of each: a cell may be in several groups."""
        group, cell, rows = self.members.group, self.members.cell, self.members.rows
        if self.members.of == "cells":
            cell, rows = np.arange(len(group)), self.instance.cells.counts
        elif self.members.of == "rows":
            cell, rows = self.instance.row_cell.astype(np.int64), np.ones(len(group), np.int64)
        held = group >= 0
        return group[held], cell[held], rows[held]

    def values_of(self, counts: SensitiveCounts) -> tuple[Values, Values, Values]:
        """Groups with the labels of a column, as it numbers them, and how many rows have each.

        In any order, and the same pair perhaps more than once.
        """
        group = self.members.group
        if self.members.of == "counts":
            return group, self.members.values[counts.name], self.members.rows
        if self.members.of == "cells":
            owner = np.repeat(group.astype(np.int32), np.diff(counts.starts))
            return owner, counts.values, counts.counts
        codes = self.table.column(counts.name).codes
        value = np.where(codes < 0, len(counts.labels) - 1, codes)  # the last: missing
        return group, value, np.ones(len(value), dtype=np.int64)

    @cached_property
    def is_kept(self) -> Bools:
        """For each row of the original whether it is released."""
        kept = np.append(self.kept, False)  # the last one is for rows without a group
        return np.asarray(kept[self.row_group])

    @cached_property
    def integer_losses(self) -> Ints:
        """Loss of each row of a group, in units of ``instance.losses.scale`` (D eq. 3).

        Equal losses stay equal, whatever columns they come from. All 0 where labels mean nothing.
        """
        losses = np.zeros(len(self), dtype=np.int64)
        if self.starts is not None and self.stops is not None:
            scale = self.instance.losses
            for column, (starts, stops) in enumerate(zip(self.starts, self.stops, strict=True)):
                losses += scale.of_blocks(column, starts, stops)
        return losses

    @property
    def row_loss(self) -> Floats:
        """Loss of each row of a group, summed over its quasi-identifiers (D eq. 3)."""
        return np.asarray(self.integer_losses / self.instance.losses.scale)

    def shown_blocks(self, name: str) -> tuple[list[str], npt.NDArray[np.int32]]:
        """Labels of a quasi-identifier that groups show, and which of them each group has."""
        assert self.starts is not None  # a file whose labels mean nothing has its own
        assert self.stops is not None
        place, domain = self.instance.layout.columns.index(name), self.instance.layout.domains[name]
        span = int(self.stops[place].max()) + 1
        keys, number = np.unique(
            self.starts[place].astype(np.int64) * span + self.stops[place], return_inverse=True
        )
        texts = [domain.label(*divmod(key, span)) for key in keys.tolist()]
        return texts, number.reshape(-1).astype(np.int32)

    @cached_property
    def labels(self) -> Mapping[str, npt.NDArray[np.object_]]:
        """For each quasi-identifier what its groups show."""
        found = {}
        for name in self.instance.layout.columns:
            texts, number = self.shown_blocks(name)
            found[name] = np.array(texts, dtype=object)[number]
        return found


class _GenomeBlocks(NamedTuple):
    """Blocks of a genome, by base value; those of all columns stand in a row."""

    of_value: Values  # number of its block within the column
    starts: Values  # first base value of its block
    stops: Values  # base value behind its block
    number: list[int]  # blocks of each column

    @classmethod
    def of(cls, layout: Layout, genome: Bits) -> _GenomeBlocks:
        """Begin a block with each column and behind each boundary."""
        begins = np.ones(layout.value_places[-1], dtype=bool)
        begins[layout.behind_bits] = genome
        block = np.cumsum(begins) - 1  # those of all columns numbered through
        edges = np.append(np.flatnonzero(begins), len(begins))
        place = np.repeat(layout.value_places[:-1], layout.sizes)
        first = block[layout.value_places[:-1]]
        return cls(
            (block - np.repeat(first, layout.sizes)).astype(np.uint16),
            (edges[block] - place).astype(np.int32),
            (edges[block + 1] - place).astype(np.int32),
            np.diff(first, append=len(edges) - 1).tolist(),
        )


@dataclass(frozen=True, eq=False, repr=False)
class _Merged(Outlined):
    """Cells of a table that were merged under a genome, and can be under any coarser one.

    Groups are numbered by their first cell, whose base values are `codes` (columns, groups).
    `cell_group` is None where each cell is a group.
    """

    layout: Layout
    codes: Values
    sizes: Ints
    cell_group: Ints | None = None

    def under(self, blocks: _GenomeBlocks) -> _Merged:
        """Merge further, where these groups have all the boundaries of the blocks."""
        cut = [column for column, number in enumerate(blocks.number) if number > 1] or [0]
        keys = row_keys(
            [blocks.of_value[self._values(column)][self.codes[column]] for column in cut],
            [blocks.number[column] for column in cut],
        )
        group, found = pd.factorize(keys)  # by their first cell
        del keys  # of as many groups as cells, it is as large as all else
        sizes = np.zeros(len(found), dtype=np.int64)
        np.add.at(sizes, group, self.sizes)
        member = np.flatnonzero(np.diff(np.maximum.accumulate(group), prepend=-1))
        of_cell = group if self.cell_group is None else group[self.cell_group]
        return _Merged(self.layout, self.codes[:, member], sizes, of_cell)

    def shown(self, blocks: _GenomeBlocks) -> tuple[Values, Values]:
        """Where the blocks of the groups begin and end in each column."""
        # As narrow as blocks allow, since there may be as many groups as rows; signed and with
        # room to spare, so that nothing wraps around where two of them are added or subtracted.
        width = np.min_scalar_type(-2 * int(self.layout.sizes.max()) - 1)
        starts, stops = np.empty((2, *self.codes.shape), dtype=width)
        for column, codes in enumerate(self.codes):
            values = self._values(column)
            starts[column], stops[column] = (
                blocks.starts[values][codes],
                blocks.stops[values][codes],
            )
        return starts, stops

    def _values(self, column: int) -> slice:
        """Where the base values of a column stand."""
        return slice(*self.layout.value_places[column : column + 2].tolist())


def _merge_each(genomes: Bits, finer: _Merged) -> Iterator[tuple[_GenomeBlocks, _Merged]]:
    """Merge groups under each of some genomes, by way of the OR of ever fewer of them.

    An OR that merges little is left out, so that what is held at a time takes at most twice the
    memory of the cells.
    """
    if len(genomes) == 1:
        blocks = _GenomeBlocks.of(finer.layout, genomes[0])
        yield blocks, finer.under(blocks)
        return
    if len(genomes) > _SHARING:
        shared = finer.under(_GenomeBlocks.of(finer.layout, np.bitwise_or.reduce(genomes)))
        if 2 * len(shared.sizes) <= len(finer.sizes):
            finer = shared
    half = len(genomes) // 2
    yield from _merge_each(genomes[:half], finer)
    yield from _merge_each(genomes[half:], finer)


def _whole(given: npt.ArrayLike, what: str) -> Ints:
    """Take whole numbers; anything else would be cut off in silence."""
    try:
        array = np.asarray(given)
    except ValueError:  # rows of different lengths
        array = np.zeros(0)
    if array.dtype.kind not in "iu":
        raise DataError(f"{what} must be arrays of whole numbers. Got {array.dtype}")
    return array.astype(np.int64)


def _check(
    instance: Instance,
    group: Ints,
    number: int,
    what: str,
    starts: Ints | None,
    stops: Ints | None,
) -> None:
    """Refuse groups that do not fit a table, or blocks that do not fit its domains."""
    if group.shape != (number,):
        raise DataError(
            f"every one of the {number} {what} must have a group, or {NO_GROUP}. Got an array of "
            f"shape {group.shape}"
        )
    groups = int(group.max()) + 1
    if groups == 0:
        raise DataError("no row is left: all are suppressed")
    if len(np.unique(group[group >= 0])) != groups or group.min() < NO_GROUP:
        raise DataError(f"groups must be numbered from 0 to {groups - 1}, each with a row")
    if starts is None or stops is None:
        return
    sizes = instance.layout.sizes[:, None]
    if starts.shape != (len(sizes), groups) or stops.shape != starts.shape:
        raise DataError(
            f"blocks must be given for {len(sizes)} columns and {groups} groups. Got arrays of "
            f"shape {starts.shape} and {stops.shape}"
        )
    if not ((starts >= 0) & (starts < stops) & (stops <= sizes)).all():
        raise DataError("a block must hold base values of its column's domain, at least one")


def _check_boxes(instance: Instance, box: Ints, starts: Ints, stops: Ints) -> None:
    """Refuse boxes that do not hold their cells, or that no label can be written for."""
    held = np.flatnonzero(box >= 0)
    box_of = box[held]
    for name, codes, low, high in zip(
        instance.layout.columns, instance.cells.codes, starts, stops, strict=True
    ):
        values = codes[held]
        outside = (values < low[box_of]) | (values >= high[box_of])
        if outside.any():
            cell = held[outside.argmax()]
            raise DataError(f"cell {cell} does not lie in its box {box[cell]} in column {name!r}")
    for name, tree in instance.layout.trees.items():
        column, domain = instance.layout.columns.index(name), instance.layout.domains[name]
        span = domain.size + 1
        for key in np.unique(starts[column] * span + stops[column]).tolist():
            start, stop = divmod(key, span)
            if not domain.allows(start, stop):
                raise DataError(
                    f"in column {name!r} the block from {tree.leaves[start]!r} to "
                    f"{tree.leaves[stop - 1]!r} is not a node of the hierarchy"
                )
