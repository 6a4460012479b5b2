"""MinGen: of all full-domain generalizations that are k-anonymous, the one of greatest precision.

Sweeney (2002), as M Alg. 1 has it: every combination of levels (M eq. 12) is looked at.
"""

from __future__ import annotations

from math import lcm

import numpy as np

from moanon.arrays import Ints
from moanon.baselines.full_domain import FullDomain, Lattice
from moanon.baselines.requirement import Demands, make_requirement
from moanon.data.domain import TreeDomain
from moanon.genome import Instance
from moanon.measures.suppression import RECURSIVE_C

#: Larger lattices are refused: at some 50 µs a node this is about a minute.
MOST_NODES = 1_000_000
#: Nodes that are counted together.
_BATCH = 4096


def mingen(
    instance: Instance,
    k: int,
    *,
    demands: Demands = (),
    recursive_c: float = RECURSIVE_C,
) -> FullDomain:
    """Find the greatest precision by looking at everything; nothing is suppressed.

    Precision is M eq. 3. The measure `prec` counts columns with trees alone; here the others count
    as well, as hierarchies of one step, or they would be lost for nothing. Of several nodes
    that of least loss is preferred, and of these the first.

    Parameters
    ----------
    instance : Instance
    k : int
    demands, recursive_c
        As for `moanon.baselines.mondrian.mondrian`.

    Raises
    ------
    ConfigError
        If there are more than `MOST_NODES` combinations.
    """
    rule = make_requirement(instance, k, 0.0, demands, recursive_c)
    lattice = Lattice(instance, rule, "MinGen", MOST_NODES)
    nodes = np.indices(lattice.shape).reshape(len(lattice.shape), -1).T
    enough = np.concatenate(
        [lattice.check(nodes[at : at + _BATCH]).enough for at in range(0, len(nodes), _BATCH)]
    )
    climbed, losses = _steps_climbed(lattice).ravel(), lattice.generalization_losses.ravel()
    order = np.lexsort([losses[enough], climbed[enough]])
    return lattice.result(nodes[enough][order[0]].tolist(), k, len(nodes))


def _steps_climbed(lattice: Lattice) -> Ints:
    """Sum over rows and columns of ``h / |DGH|`` of M eq. 3 at each node, as integers.

    As of `prec`, a cell has climbed to the lowest level that has its node.
    """
    heights = [max(1, size - 1) for size in lattice.shape]
    unit = lcm(*heights)
    of_columns = []
    for column, domain in enumerate(lattice.instance.layout.domains.values()):
        rows = lattice.rows_of_values(column)
        steps = []
        for level in range(lattice.shape[column]):
            climbed = np.full(len(rows), level)
            if isinstance(domain, TreeDomain):
                tree = domain.hierarchy
                blocks = lattice.blocks(column, level).tolist()
                climbed = tree.heights[[tree.node_of[start, stop] for start, stop in blocks]]
            steps.append(int((rows * climbed).sum()) * (unit // heights[column]))
        of_columns.append(np.array(steps, dtype=np.int64))
    return lattice.sum_up(of_columns)
