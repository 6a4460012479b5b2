"""Incognito, OLA, Flash and MinGen: the best full-domain generalization, each by its own way there.

The first three find out for every node of the lattice whether it is enough (see ``full_domain``).
They count the groups of as few nodes as they can: what is found of one holds for all nodes above or
below it. They differ in which nodes they look at first. The best node is then the same.

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
from collections.abc import Callable, Sequence
from itertools import combinations
from math import lcm, prod

import numpy as np

from moanon.arrays import Bools, Ints
from moanon.baselines.full_domain import FullDomain, Lattice
from moanon.baselines.requirement import Demands, make_requirement
from moanon.data.domain import TreeDomain
from moanon.genome import MAX_ENUMERATED, Instance
from moanon.measures.suppression import RECURSIVE_C

Node = tuple[int, ...]

#: MinGen refuses larger lattices: at some 50 µs a node this is about a minute.
MOST_NODES = 1_000_000
#: Nodes that it counts together.
_BATCH = 4096

_UNKNOWN, _ENOUGH, _TOO_LITTLE = 0, 1, -1
_MOST = np.iinfo(np.int64).max


def incognito(
    instance: Instance,
    k: int,
    eta: float = 0.0,
    *,
    demands: Demands = (),
    recursive_c: float = RECURSIVE_C,
) -> FullDomain:
    """Least loss by Incognito (LeFevre, DeWitt and Ramakrishnan, SIGMOD 2005; M §4.2).

    Sets of columns are gone through from the smallest on, each from its finest nodes upwards. A
    node that is not enough on some columns is not enough on more (subset property); one that is
    says so of all above it. The other columns stand at their top, so that a node on some columns is
    a node of the whole lattice, and one with a column at its top is known from the smaller set.
    Nodes of one height are counted together, from the groups of a common refinement (roll-up).

    Parameters
    ----------
    instance : Instance
    k : int
    eta : float
        Largest share of rows that may be suppressed.
    demands : iterable of (str, float)
        As for `moanon.baselines.mondrian.mondrian`; where rows may be suppressed, on k and on the
        number of sensitive values only.
    recursive_c : float
        The constant of recursive (c,ℓ)-diversity.
    """
    return _search(instance, k, eta, demands, recursive_c, "Incognito", _subset_by_subset)


def ola(
    instance: Instance,
    k: int,
    eta: float = 0.0,
    *,
    demands: Demands = (),
    recursive_c: float = RECURSIVE_C,
) -> FullDomain:
    """Least loss by Optimal Lattice Anonymization (El Emam et al., JAMIA 2009; M §4.2).

    The nodes halfway between the bottom and the top of the lattice are looked at; below one that is
    enough, and above one that is not, the same is done with the sublattice between. Parameters as
    of `incognito`.
    """
    return _search(instance, k, eta, demands, recursive_c, "OLA", _half_by_half)


def flash(
    instance: Instance,
    k: int,
    eta: float = 0.0,
    *,
    demands: Demands = (),
    recursive_c: float = RECURSIVE_C,
) -> FullDomain:
    """Least loss by Flash (Kohlmayer et al., PASSAT 2012; M §4.2).

    From each unknown node, lowest first, a path of unknown nodes is followed greedily upwards, and
    its first node that is enough is found by halving. Paths then start above the nodes that were
    not enough. Of several nodes the first by height, mean share of the levels climbed and values
    lost is taken. Parameters as of `incognito`.
    """
    return _search(instance, k, eta, demands, recursive_c, "Flash", _path_by_path)


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
        found = self.lattice.check(np.array(nodes))
        self.checked += len(nodes)
        for node, enough, loss in zip(nodes, found.enough, found.losses.tolist(), strict=True):
            below = tuple(slice(0, level + 1) for level in node)
            if not enough:
                self.state[below] = _TOO_LITTLE
                continue
            self.state[tuple(slice(level, None) for level in node)] = _ENOUGH
            self.losses[node] = loss
            losses = self.lattice.generalization_losses
            penalty = loss - losses[node]
            self.bounds[below] = np.maximum(self.bounds[below], losses[below] + penalty)
        return found.enough

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


def _search(
    instance: Instance,
    k: int,
    eta: float,
    demands: Demands,
    recursive_c: float,
    name: str,
    way: Callable[[_Tags], None],
) -> FullDomain:
    """Tag all nodes by some way through the lattice, and take the best."""
    rule = make_requirement(instance, k, eta, demands, recursive_c)
    lattice = Lattice(instance, rule, name, MAX_ENUMERATED)
    tags = _Tags(lattice)
    way(tags)
    best = tags.best()
    return lattice.result(best, k, tags.checked)


# -- Incognito -------------------------------------------------------------------------------------


def _subset_by_subset(tags: _Tags) -> None:
    for number in range(1, len(tags.top) + 1):
        for columns in combinations(range(len(tags.top)), number):
            bottom = np.array([0 if i in columns else top for i, top in enumerate(tags.top)])
            inside = tags.state[tuple(slice(level, None) for level in bottom)]
            heights = np.indices(inside.shape).sum(axis=0)
            for height in range(int(heights.max()) + 1):
                unknown = np.argwhere((heights == height) & (inside == _UNKNOWN)) + bottom
                if len(unknown):
                    tags.check([tuple(node) for node in unknown.tolist()])


# -- OLA -------------------------------------------------------------------------------------------


def _half_by_half(tags: _Tags) -> None:
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


# -- Flash -----------------------------------------------------------------------------------------


def _path_by_path(tags: _Tags) -> None:
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
