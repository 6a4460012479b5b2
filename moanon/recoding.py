"""Recodings: how the solutions of a front turn a table into groups.

A front does not care how its solutions were made. `Recodings` is what it asks of them: the grouping
of a solution, the sizes of the groups that each keeps, and what is written to ``solutions.json``.
`GlobalRecodings` are those of genomes: one generalization of each column for the whole table, and
thresholds below which groups are suppressed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from moanon.arrays import Bits, Ints, Outlined
from moanon.measures.suppression import Suppression

if TYPE_CHECKING:  # a front can be read and asked without the compiler, which these wait for
    from moanon.genome import Generalization, Instance, Layout
    from moanon.grouping import Grouping

#: What released cells can show, column by column.
Blocks = Mapping[str, tuple[str, ...]]


class Recodings(Protocol):
    """How each of some solutions turns a table into groups."""

    def __len__(self) -> int: ...

    def take(self, rows: Ints) -> Recodings:
        """Some of them, in that order."""
        ...

    def all_groups(self, row: int, instance: Instance) -> Grouping:
        """All groups of a solution, before any of them is suppressed."""
        ...

    def grouping(self, row: int, instance: Instance) -> Grouping:
        """Its groups, with those suppressed that it gives up."""
        ...

    def kept_sizes(self, instance: Instance) -> list[Ints]:
        """Sizes of the groups that each solution keeps, from one pass over all of them."""
        ...

    def blocks(self, instance: Instance) -> tuple[Blocks, ...]:
        """What released cells of each solution can show.

        Raises
        ------
        GenomeError
            If a solution does not fit the domains of the table.
        """
        ...

    def generalization(self, row: int, instance: Instance) -> Generalization | None:
        """The blocks of each column, where they are the same for all rows."""
        ...

    def entry(self, row: int) -> dict[str, Any]:
        """A solution as numbers, texts, lists and dicts only; see `of_entries`."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class GlobalRecodings(Outlined):
    """Genomes, each with the thresholds that settle which groups it gives up.

    Attributes
    ----------
    genomes : array (solutions, bits)
    thresholds : array (solutions, 2)
        Smallest size and smallest diversity (or class of what the rule goes by) of the groups that
        are kept.
    suppression : Suppression
        The rule that the thresholds come from; constraints are its own.
    """

    genomes: Bits
    thresholds: Ints
    suppression: Suppression

    @classmethod
    def of_entries(
        cls, entries: Sequence[Mapping[str, Any]], suppression: Suppression
    ) -> GlobalRecodings:
        """Read them from what `entry` wrote.

        Raises
        ------
        KeyError, TypeError, ValueError
            If an entry is something else.
        """
        genomes = np.array([[int(bit) for bit in entry["genome"]] for entry in entries])
        thresholds = np.array(
            [[entry["thresholds"][key] for key in ("size", "diversity")] for entry in entries]
        )
        return cls(
            genomes.astype(np.uint8).reshape(len(entries), -1),
            thresholds.astype(np.int64).reshape(len(entries), 2),
            suppression,
        )

    def __len__(self) -> int:
        return len(self.genomes)

    def take(self, rows: Ints) -> GlobalRecodings:
        return GlobalRecodings(self.genomes[rows], self.thresholds[rows], self.suppression)

    def all_groups(self, row: int, instance: Instance) -> Grouping:
        from moanon.grouping import Grouping

        return Grouping.of_genome(instance, self.genomes[row])

    def grouping(self, row: int, instance: Instance) -> Grouping:
        from moanon.measures.measuring import suppress_groups

        return suppress_groups(
            self.all_groups(row, instance), self.suppression, self.thresholds[row]
        )

    def kept_sizes(self, instance: Instance) -> list[Ints]:
        from moanon.measures.evaluate import Evaluator

        return Evaluator(instance).kept_sizes(self.genomes, self.thresholds, self.suppression)

    def blocks(self, instance: Instance) -> tuple[Blocks, ...]:
        return _blocks(instance.layout, instance.layout.check(self.genomes))

    def generalization(self, row: int, instance: Instance) -> Generalization | None:
        return instance.layout.decode(self.genomes[row])

    def entry(self, row: int) -> dict[str, Any]:
        size, diversity = self.thresholds[row].tolist()
        genome = "".join("1" if bit else "0" for bit in self.genomes[row])
        return {"genome": genome, "thresholds": {"size": size, "diversity": diversity}}


def _blocks(layout: Layout, genomes: Bits) -> tuple[Blocks, ...]:
    """What released cells can show; each generalization of a column is spelled out once."""
    known: dict[tuple[str, bytes], tuple[str, ...]] = {}
    found = []
    for genome in genomes:
        blocks = {}
        for name, domain, place in layout.slices():
            bits = genome[place]
            key = name, bits.tobytes()
            if key not in known:
                edges = [0, *(np.flatnonzero(bits) + 1).tolist(), domain.size]
                known[key] = tuple(domain.label(start, stop) for start, stop in pairwise(edges))
            blocks[name] = known[key]
        found.append(blocks)
    return tuple(found)
