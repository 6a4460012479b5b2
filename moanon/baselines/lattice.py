"""Datafly, Incognito, OLA, Flash and MinGen: one level of its hierarchy for every column.

The levels of all columns make a lattice, whose nodes are tuples of levels, 0 the finest. A node is
*enough* if the groups that fail what is demanded hold no more rows than may be suppressed. A node
above one that is enough is enough, too, and so is no node below one that is not: for k because
merged groups only grow.

Datafly climbs until a node is enough. Incognito, OLA and Flash find out for every node whether it
is. They count the groups of as few nodes as they can: what is found of one holds for all nodes
above or below it. They differ in which nodes they look at first. The best node is then the same.

**The best node with suppression.** The loss of a node is what generalization costs all rows, G, and
what suppressed rows cost beyond that, the *penalty* P. G is known without counting groups, and
rises with every level. P falls: a row that is suppressed at a node is suppressed at all nodes below
it, where it would have cost less. So the loss may fall or rise from node to node, and the lowest
nodes that are enough need not be the best. But ``G + P`` of a node is at least its own G plus the P
of any node above it. Nodes that are enough are counted in the order of this bound, until it reaches
the best loss that was found.

MinGen (Sweeney 2002, as M Alg. 1 has it) looks at every combination of levels (M eq. 12), and takes
the one of greatest precision.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from math import lcm, prod
from typing import Literal

import numpy as np

from moanon.arrays import Bits, Bools, Ints
from moanon.baselines.requirement import Demands, make_requirement
from moanon.data.domain import TreeDomain
from moanon.errors import ConfigError
from moanon.genome import MAX_ENUMERATED, Instance
from moanon.grouping import Grouping
from moanon.measures.evaluate import Evaluator
from moanon.measures.suppression import RECURSIVE_C, Suppression
from moanon.recoding import GlobalRecodings

Node = tuple[int, ...]

#: MinGen refuses larger lattices: at some 50 µs a node this is about a minute.
MOST_NODES = 1_000_000
#: Nodes that it counts together.
_BATCH = 4096

_UNKNOWN, _ENOUGH, _TOO_LITTLE = 0, 1, -1
_MOST = np.iinfo(np.int64).max
#: Demands that a merged group meets as soon as one of its parts does.
_GROWING = frozenset({"k", "l", "l_distinct", "p_sensitive"})


@dataclass(frozen=True, eq=False)
class FullDomain:
    """The full-domain generalization that an algorithm arrived at."""

    levels: tuple[int, ...]  # of each quasi-identifier, 0 for the values as they are
    recodings: GlobalRecodings  # one solution: its genome, and what is suppressed
    checked: int  # nodes of the lattice whose groups were counted on the way

    def grouping(self, instance: Instance) -> Grouping:
        """The groups of the table's rows, with those suppressed that fail what is demanded."""
        return self.recodings.grouping(0, instance)


class Lattice:
    """The full-domain generalizations of a table under a rule, `most` of them at most.

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

    def check(self, nodes: Ints) -> tuple[Bools, Ints]:
        """Count the groups of some nodes (nodes, columns).

        Returns whether each node is enough, and the integer loss of all rows there, suppressed ones
        in full; in units of ``instance.losses``.
        """
        given = np.tile([1, 0], (len(nodes), 1))
        scores = self._evaluator.evaluate_at(self.genomes(nodes), given, self.rule, measures=())
        suppressed = scores.field("suppressed")
        full = self.instance.losses.scale * len(self.shape)
        return suppressed <= self.limit, scores.field("kept_loss") + suppressed * full

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


# -- Datafly ---------------------------------------------------------------------------------------


def datafly(instance: Instance, k: int, eta: float = 0.0) -> FullDomain:
    """Generalize the column with the most different values until few enough rows fail `k`.

    By Sweeney (1997, 1998), as M Alg. 2 has it. Quick, and far from the best: the choice of a
    column looks at nothing but the number of its values. Of several such columns the first is
    taken. Numbers and orders have two levels, the values as they are and none; trees have those of
    their hierarchy. At most a share `eta` of the rows is suppressed.
    """
    return _generalize(instance, k, make_requirement(instance, k, eta))


def datafly_k(instance: Instance, k: int) -> FullDomain:
    """The same until at most `k` rows fail, as M Alg. 2 has it; of k rows in all, all but one."""
    rule, rows = make_requirement(instance, k), instance.cells.rows
    return _generalize(instance, k, replace(rule, eta=min(k, rows - 1) / rows))


def _generalize(instance: Instance, k: int, rule: Suppression) -> FullDomain:
    lattice = Lattice(instance, rule, "Datafly")
    columns = range(len(lattice.shape))
    levels = np.zeros(len(columns), dtype=np.int64)
    checked = 1
    while not lattice.check(levels[None])[0][0]:
        column = max(
            (column for column in columns if levels[column] + 1 < lattice.shape[column]),
            key=lambda column: lattice.distinct_values(column, int(levels[column])),
        )
        levels[column] += 1
        checked += 1
    return lattice.result(levels.tolist(), k, checked)


# -- the best node ---------------------------------------------------------------------------------


def least_loss(
    instance: Instance,
    k: int,
    eta: float = 0.0,
    *,
    demands: Demands = (),
    recursive_c: float = RECURSIVE_C,
    way: Literal["Incognito", "OLA", "Flash"] = "Incognito",
) -> FullDomain:
    """Find the least loss (M §4.2): tag all nodes in one of three ways, and take the best.

    At most a share `eta` of the rows is suppressed. `demands` and `recursive_c` are as for
    `moanon.baselines.mondrian.mondrian`; where rows may be suppressed, demands are on k and on the
    number of sensitive values only.
    """
    rule = make_requirement(instance, k, eta, demands, recursive_c)
    lattice = Lattice(instance, rule, way, MAX_ENUMERATED)
    tags = _Tags(lattice)
    ways = {"Incognito": _subset_by_subset, "OLA": _half_by_half, "Flash": _path_by_path}
    ways[way](tags)
    return lattice.result(tags.best(), k, tags.checked)


class _Tags:
    """What is known of the nodes of a lattice."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self.checked = 0
        self.state = np.zeros(lattice.shape, dtype=np.int8)
        self.bounds = lattice.generalization_losses.copy()  # a loss is at least this …
        self.losses = np.full(lattice.shape, -1, dtype=np.int64)  # … or exactly this, if counted
        self.top = tuple(size - 1 for size in lattice.shape)
        self.state[self.top] = _ENOUGH  # else the demands would have been refused
        self.losses[self.top] = self.bounds[self.top]

    def is_unknown(self, node: Node) -> bool:
        """Whether it is not yet known if a node is enough."""
        return bool(self.state[node] == _UNKNOWN)

    def check(self, nodes: Sequence[Node]) -> Bools:
        """Count the groups of some nodes, none above another; tag what follows from it."""
        found, losses = self.lattice.check(np.array(nodes))
        self.checked += len(nodes)
        for node, enough, loss in zip(nodes, found, losses.tolist(), strict=True):
            below = tuple(slice(0, level + 1) for level in node)
            if not enough:
                self.state[below] = _TOO_LITTLE
                continue
            self.state[tuple(slice(level, None) for level in node)] = _ENOUGH
            self.losses[node] = loss
            least = self.lattice.generalization_losses
            penalty = loss - least[node]
            self.bounds[below] = np.maximum(self.bounds[below], least[below] + penalty)
        return found

    def is_enough(self, node: Node) -> bool:
        """Whether a node is enough; counts its groups only if that is not yet known."""
        if self.is_unknown(node):
            return bool(self.check([node])[0])
        return bool(self.state[node] == _ENOUGH)

    def best(self) -> Node:
        """Node of least loss, of several the first; the state of all nodes must be known."""
        enough = self.state == _ENOUGH
        while True:
            counted = enough & (self.losses >= 0)
            best = int(np.where(counted, self.losses, _MOST).argmin())
            left = np.where(enough & ~counted, self.bounds, _MOST).ravel()
            next_one = int(left.argmin())
            least = int(self.losses.ravel()[best])
            if (int(left[next_one]), next_one) >= (least, best):
                return self._node(best)
            self.check([self._node(next_one)])

    def _node(self, place: int) -> Node:
        return tuple(int(level) for level in np.unravel_index(place, self.state.shape))


def _subset_by_subset(tags: _Tags) -> None:
    """Tag all nodes by Incognito (LeFevre, DeWitt and Ramakrishnan, SIGMOD 2005).

    Sets of columns are gone through from the smallest on, each from its finest nodes upwards. A
    node that is not enough on some columns is not enough on more (subset property); one that is
    says so of all above it. The other columns stand at their top, so that a node on some columns is
    a node of the whole lattice, and one with a column at its top is known from the smaller set.
    Nodes of one height are counted together, from the groups of a common refinement (roll-up).
    """
    for number in range(1, len(tags.top) + 1):
        for columns in combinations(range(len(tags.top)), number):
            bottom = np.array([0 if i in columns else top for i, top in enumerate(tags.top)])
            inside = tags.state[tuple(slice(level, None) for level in bottom)]
            heights = np.indices(inside.shape).sum(axis=0)
            for height in range(int(heights.max()) + 1):
                unknown = np.argwhere((heights == height) & (inside == _UNKNOWN)) + bottom
                if len(unknown):
                    tags.check([tuple(node) for node in unknown.tolist()])


def _half_by_half(tags: _Tags) -> None:
    """Tag all nodes by Optimal Lattice Anonymization (El Emam et al., JAMIA 2009).

    The nodes halfway between the bottom and the top of the lattice are looked at; below one that is
    enough, and above one that is not, the same is done with the sublattice between.
    """
    _halve_lattice(tags, (0,) * len(tags.top), tags.top)


def _halve_lattice(tags: _Tags, bottom: Node, top: Node) -> None:
    """Tag all nodes between two; the top is known."""
    inside = tags.state[tuple(slice(a, b + 1) for a, b in zip(bottom, top, strict=True))]
    if (inside != _UNKNOWN).all():
        return
    height = sum(top) - sum(bottom)
    if height == 1:
        tags.is_enough(bottom)
        return
    heights = np.indices(inside.shape).sum(axis=0)
    for steps in np.argwhere(heights == height // 2).tolist():
        node = tuple(a + b for a, b in zip(bottom, steps, strict=True))
        if tags.is_enough(node):
            _halve_lattice(tags, bottom, node)
        else:
            _halve_lattice(tags, node, top)


def _path_by_path(tags: _Tags) -> None:
    """Tag all nodes by Flash (Kohlmayer et al., PASSAT 2012).

    From each unknown node, lowest first, a path of unknown nodes is followed greedily upwards, and
    its first node that is enough is found by halving. Paths then start above the nodes that were
    not enough. Of several nodes the first by height, mean share of the levels climbed and values
    lost is taken.
    """
    order = _visiting_order(tags.lattice)
    failed: list[tuple[int, Node]] = []  # a heap
    for place in np.argsort(order, axis=None):
        start = tuple(int(level) for level in np.unravel_index(place, order.shape))
        if not tags.is_unknown(start):
            continue
        _halve_path(tags, _path(tags, start, order), order, failed)
        while failed:
            _, node = heapq.heappop(failed)
            for above in _above(node, order):
                if tags.is_unknown(above):
                    _halve_path(tags, _path(tags, above, order), order, failed)


def _visiting_order(lattice: Lattice) -> Ints:
    """Rank of each node by height, mean share of the levels climbed, values lost, and levels."""
    levels = [np.arange(size) for size in lattice.shape]
    climbed = [level / max(1, len(level) - 1) for level in levels]
    lost = []
    for column, size in enumerate(lattice.shape):
        values = np.array([lattice.distinct_values(column, level) for level in range(size)])
        lost.append(1 - values / values[0])
    # The costs of columns are added in one order, so that equal sums are equal numbers.
    keys = [sum(np.ix_(*of_columns)) for of_columns in (lost, climbed, levels)]
    places = np.lexsort([np.arange(prod(lattice.shape)), *(np.ravel(key) for key in keys)])
    rank = np.empty(len(places), dtype=np.int64)
    rank[places] = np.arange(len(places))
    return rank.reshape(lattice.shape)


def _above(node: Node, order: Ints) -> list[Node]:
    """The nodes one step up, in the order of visiting."""
    found = [
        (*node[:column], level + 1, *node[column + 1 :])
        for column, level in enumerate(node)
        if level + 1 < order.shape[column]
    ]
    return sorted(found, key=lambda other: int(order[other]))


def _path(tags: _Tags, node: Node, order: Ints) -> list[Node]:
    """Unknown nodes from one on upwards, the first by the order of visiting at each step."""
    path = [node]
    while unknown := [above for above in _above(path[-1], order) if tags.is_unknown(above)]:
        path.append(unknown[0])
    return path


def _halve_path(tags: _Tags, path: list[Node], order: Ints, failed: list[tuple[int, Node]]) -> None:
    """Tag all nodes of a path; those that were counted and are not enough go onto the heap."""
    low, high = 0, len(path) - 1
    while low <= high:
        middle = (low + high) // 2
        if tags.is_enough(path[middle]):
            high = middle - 1
        else:
            heapq.heappush(failed, (int(order[path[middle]]), path[middle]))
            low = middle + 1


# -- MinGen ----------------------------------------------------------------------------------------


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
    that of least loss is preferred, and of these the first. `demands` and `recursive_c` are as for
    `moanon.baselines.mondrian.mondrian`.

    Raises
    ------
    ConfigError
        If there are more than `MOST_NODES` combinations.
    """
    rule = make_requirement(instance, k, 0.0, demands, recursive_c)
    lattice = Lattice(instance, rule, "MinGen", MOST_NODES)
    nodes = np.indices(lattice.shape).reshape(len(lattice.shape), -1).T
    enough = np.concatenate(
        [lattice.check(nodes[at : at + _BATCH])[0] for at in range(0, len(nodes), _BATCH)]
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
