"""Full-domain generalization: every column is shown at one level of its hierarchy.

The levels of all columns make a lattice, whose nodes are tuples of levels, 0 the finest. A node is
*enough* if the groups that fail what is demanded hold no more rows than may be suppressed. A node
above one that is enough is enough, too, and so is no node below one that is not: for k because
merged groups only grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np

from moanon.arrays import Bits, Bools, Ints
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures.evaluate import Evaluator
from moanon.measures.suppression import Suppression
from moanon.recoding import GlobalRecodings

#: Demands that a merged group meets as soon as one of its parts does.
_GROWING = frozenset({"k", "l", "l_distinct", "p_sensitive"})


@dataclass(frozen=True, eq=False)
class FullDomain:
    """The full-domain generalization that an algorithm arrived at.

    Attributes
    ----------
    levels : tuple of int
        Level of each quasi-identifier, 0 for the values as they are.
    recodings : GlobalRecodings
        Its genome and the size below which groups are suppressed; one solution.
    checked : int
        Nodes of the lattice whose groups were counted on the way.
    """

    levels: tuple[int, ...]
    recodings: GlobalRecodings
    checked: int

    def grouping(self, instance: Instance) -> Grouping:
        """The groups of the table's rows, with those suppressed that fail what is demanded."""
        return self.recodings.grouping(0, instance)


@dataclass(frozen=True)
class Checked:
    """What is known from counting the groups of some nodes.

    Attributes
    ----------
    enough : array (nodes,) of bool
        Whether the groups that fail hold no more rows than may be suppressed.
    losses : array (nodes,)
        Integer loss of all rows, suppressed ones in full; in units of ``instance.losses``.
    """

    enough: Bools
    losses: Ints


class Lattice:
    """The full-domain generalizations of a table under a rule.

    Parameters
    ----------
    instance : Instance
    rule : Suppression
        What groups must meet, and the share of rows that may be suppressed.
    algorithm : str
        Who asks; for messages.
    most : int, optional
        Larger lattices are refused.

    Raises
    ------
    ConfigError
        If there are too many nodes, or a node above one that is enough might not be.
    """

    def __init__(
        self, instance: Instance, rule: Suppression, algorithm: str, most: int | None = None
    ) -> None:
        self.instance = instance
        self.rule = rule
        self.levels = [domain.full_domain() for domain in instance.layout.domains.values()]
        self.shape = tuple(map(len, self.levels))
        if most is not None and prod(self.shape) > most:
            raise ConfigError(
                f"the table has {prod(self.shape)} full-domain generalizations; {algorithm} looks "
                f"at most at {most}"
            )
        self.limit = rule.most_rows(instance.cells.rows)
        unsteady = [name for name, _ in rule.constraints if name not in _GROWING]
        if self.limit and unsteady:
            raise ConfigError(
                f"where rows may be suppressed, {algorithm} takes demands on k and on the number "
                f"of sensitive values only; a group that meets {unsteady[0]} may fail it when "
                "merged with suppressed ones"
            )
        self._evaluator = Evaluator(instance)

    def genomes(self, nodes: Ints) -> Bits:
        """Genomes of some nodes (nodes, columns)."""
        parts = [np.stack(bits)[level] for bits, level in zip(self.levels, nodes.T, strict=True)]
        return np.concatenate(parts, axis=1)

    def check(self, nodes: Ints) -> Checked:
        """Count the groups of some nodes (nodes, columns)."""
        given = np.tile([1, 0], (len(nodes), 1))
        scores = self._evaluator.evaluate_at(self.genomes(nodes), given, self.rule, measures=())
        suppressed = scores.field("suppressed")
        full = self.instance.losses.scale * len(self.shape)
        return Checked(suppressed <= self.limit, scores.field("kept_loss") + suppressed * full)

    def blocks(self, column: int, level: int) -> Ints:
        """Block (start, stop) of each base value of a column at a level; (values, 2)."""
        bits = self.levels[column][level]
        edges = [0, *(np.flatnonzero(bits) + 1).tolist(), len(bits) + 1]
        ends = np.array(list(pairwise(edges)))
        return np.repeat(ends, ends[:, 1] - ends[:, 0], axis=0)

    def distinct_values(self, column: int, level: int) -> int:
        """Different values that a column shows at a level."""
        starts = self.blocks(column, level)[:, 0]
        return len(np.unique(starts[self.rows_of_values(column) > 0]))

    def rows_of_values(self, column: int) -> Ints:
        """Rows of the table with each base value of a column."""
        cells = self.instance.cells
        size = int(self.instance.layout.sizes[column])
        rows = np.zeros(size, dtype=np.int64)
        np.add.at(rows, cells.codes[column], cells.counts)
        return rows

    @cached_property
    def generalization_losses(self) -> Ints:
        """Integer loss of all rows at every node if none is suppressed; shaped as the lattice."""
        scale = self.instance.losses
        of_columns = []
        for column, levels in enumerate(self.levels):
            rows = self.rows_of_values(column)
            blocks = [self.blocks(column, level) for level in range(len(levels))]
            losses = [int((rows * scale.of_blocks(column, *each.T)).sum()) for each in blocks]
            of_columns.append(np.array(losses, dtype=np.int64))
        return self.sum_up(of_columns)

    def sum_up(self, of_columns: Sequence[Ints]) -> Ints:
        """Add what each column costs at each level; shaped as the lattice."""
        total = np.zeros(self.shape, dtype=np.int64)
        for column, costs in enumerate(of_columns):
            total += costs.reshape([-1 if i == column else 1 for i in range(len(self.shape))])
        return total

    def result(self, node: Sequence[int], k: int, checked: int) -> FullDomain:
        """A node as what an algorithm returns."""
        levels = tuple(int(level) for level in node)
        genomes = self.genomes(np.array([levels]))
        return FullDomain(levels, GlobalRecodings(genomes, np.array([[k, 0]]), self.rule), checked)
