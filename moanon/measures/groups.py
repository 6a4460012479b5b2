"""Groups: the cells of a table merged under one genome.

The station for *one* generalization that is looked at closely (a release, a report, a test). The
search scores whole populations through `moanon.measures.evaluate` and never builds these objects;
both stand on the same kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from moanon.genome import Instance

__all__ = ["Groups"]


@dataclass(frozen=True)
class Groups:
    """Rows that share their generalized quasi-identifiers, under one genome.

    Attributes
    ----------
    instance : Instance
        The table.
    genome : array of uint8
        A valid genome of it.
    cell_group : array (cells,) of int32
        The group of each cell.
    sizes : array (groups,) of int64
        Rows in each group.
    row_loss : array (groups,) of float64
        Loss of each row of the group, summed over its quasi-identifiers (D eq. 3).
    """

    instance: Instance
    genome: npt.NDArray[np.uint8]
    cell_group: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int64]
    row_loss: npt.NDArray[np.float64]

    @classmethod
    def of(cls, instance: Instance, genome: npt.ArrayLike) -> Groups:
        """Merge the cells of `instance` under `genome` (refused if it is not valid)."""
        (bits,) = instance.layout.check(genome)
        kernel = instance.kernel
        cell_group, sizes, losses = kernel.group_cells(bits)
        row_loss = losses / kernel.losses.scale
        return cls(instance, bits, cell_group.astype(np.int32), sizes, row_loss)

    @cached_property
    def histograms(self) -> dict[str, npt.NDArray[np.int64]]:
        """For each sensitive column a matrix (groups, values) of row counts."""
        found = {}
        for column in self.instance.cells.sensitive:
            table = np.zeros((len(self.sizes), len(column.labels)), dtype=np.int64)
            groups = np.repeat(self.cell_group, np.diff(column.starts))
            np.add.at(table, (groups, column.values), column.counts)
            found[column.name] = table
        return found

    @property
    def row_group(self) -> npt.NDArray[np.int32]:
        """The group of each row of the table."""
        return self.cell_group[self.instance.cells.row_cell]
