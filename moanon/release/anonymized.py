"""An anonymized table seen from the rows of its original.

Whatever made it, a release or another program's file, two things matter about each person in the
original: which group of the anonymized table the row sits in, and how much the row has lost. This
is the station from which property vectors and measures of any released table are taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.data.column import Column
from moanon.data.table import Table
from moanon.genome import Instance
from moanon.kernels.join import LossScale
from moanon.release.applied import Release

__all__ = ["SUPPRESSED_ROW", "Anonymized", "IntegerLosses", "MatchedBy"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: How rows of an anonymized table were found in the original.
MatchedBy = Literal["genome", "key", "labels", "position"]
#: Stands for a group where a row has none, because it is suppressed.
SUPPRESSED_ROW = -1


class IntegerLosses(NamedTuple):
    """Losses of rows as integers: `scale` is the loss of a cell that shows nothing."""

    of_group: Ints
    scale: int


@dataclass(frozen=True, eq=False)
class Anonymized:
    """Groups of an anonymized table, row by row of its original.

    Attributes
    ----------
    name : str
        What it is called.
    original : Instance or Table
        What it was made of. An instance knows what the labels of its quasi-identifiers mean; of a
        table, labels are texts that can be told apart and no more.
    row_group : array (rows of the original,)
        The group of each row; `SUPPRESSED_ROW` where it is not released.
    sizes : array (groups,)
        Released rows in each group.
    blocks : array (groups, columns, 2) or None
        Base values ``start .. stop - 1`` behind the labels of each group, where they mean anything.
    matched_by : {"genome", "key", "labels", "position"}
        How rows were found.
    notes : tuple of str
        What was noticed on the way and should be told.
    absent : tuple of str
        Sensitive and class columns of the original that the anonymized table does not have.
    """

    name: str
    original: Instance | Table
    row_group: Ints
    sizes: Ints
    blocks: Ints | None
    matched_by: MatchedBy
    notes: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    @classmethod
    def of_release(cls, release: Release, name: str) -> Anonymized:
        """Look at a release that need not have been written."""
        instance, groups = release.instance, release.groups
        number = np.full(len(groups.sizes), SUPPRESSED_ROW, dtype=np.int64)
        number[~release.suppressed] = np.arange(np.count_nonzero(~release.suppressed))
        first_cell = np.unique(groups.cell_group, return_index=True)[1][~release.suppressed]
        blocks = []
        for codes, edges in zip(
            instance.cells.codes, instance.layout.decode(groups.genome).values(), strict=True
        ):
            ends = np.array(edges, dtype=np.int64)
            blocks.append(np.repeat(ends, ends[:, 1] - ends[:, 0], axis=0)[codes[first_cell]])
        return cls(
            name,
            instance,
            number[groups.row_group],
            groups.sizes[~release.suppressed],
            np.stack(blocks, axis=1),
            "genome",
        )

    @property
    def instance(self) -> Instance | None:
        """The original, where it is known what labels mean."""
        return self.original if isinstance(self.original, Instance) else None

    @property
    def table(self) -> Table:
        """Rows of the original."""
        return self.original.table if isinstance(self.original, Instance) else self.original

    @property
    def quasi(self) -> tuple[str, ...]:
        """The columns whose labels make the groups."""
        return self.table.quasi

    @property
    def rows(self) -> int:
        """Rows of the original."""
        return self.table.rows

    @property
    def is_suppressed(self) -> npt.NDArray[np.bool_]:
        """For each row of the original whether it is not released."""
        return np.asarray(self.row_group == SUPPRESSED_ROW)

    @cached_property
    def suppressed(self) -> int:
        """Number of rows that are not released."""
        return int(np.count_nonzero(self.is_suppressed))

    @property
    def k(self) -> int:
        """Rows in the smallest group that is released."""
        return int(self.sizes.min())

    @cached_property
    def integer_losses(self) -> IntegerLosses | None:
        """Loss of each row of a group as an integer; None where labels mean nothing.

        Equal losses stay equal, whatever columns they come from.
        """
        if self.blocks is None or self.instance is None:
            return None
        scale = LossScale.build(self.instance.layout.sizes.tolist(), self.rows)
        widths = self.blocks[:, :, 1] - self.blocks[:, :, 0]
        return IntegerLosses(scale.table[scale.start[:-1] + widths].sum(axis=1), scale.scale)

    @cached_property
    def group_loss(self) -> Floats | None:
        """Loss of each row of a group, summed over its columns (D eq. 3).

        None where labels mean nothing.
        """
        losses = self.integer_losses
        return None if losses is None else np.asarray(losses.of_group / losses.scale)

    def column(self, name: str) -> Column:
        """Give a column of the original; an unknown name is refused with the nearest one."""
        return self.table.column(name)
