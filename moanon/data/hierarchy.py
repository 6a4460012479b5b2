"""Hierarchy trees: checked, cut, and written back as YAML or ARX files.

A hierarchy names the leaves of a column's domain and the groups they may be merged into. Its leaves
stand in pre-order, so that every node covers a run of neighbours, and a generalization of the
column is a *cut*: a set of nodes that covers each leaf once.

Cuts have a simple form as bits. The boundary between two neighbouring leaves *belongs* to the
lowest node that holds both. A node is *expanded* when its children are kept apart; in a cut, all
boundaries that belong to one node carry the same bit, and a node can be expanded only if its parent
is. Hence cuts and "downward closed" sets of expanded nodes are the same thing, and the union
(bitwise OR) or intersection (bitwise AND) of two cuts is a cut again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from moanon.arrays import Bits, Bools, Ints, Outlined
from moanon.atomic import checked_path
from moanon.data import treefile
from moanon.data.strict_yaml import YamlNode, parse
from moanon.data.treefile import MAX_LEVELS, RawNode
from moanon.errors import ConfigError

#: What a fully generalized cell shows; no leaf or inner node may be called so.
SUPPRESSED = "*"
#: Larger hierarchy files are refused: such a path more likely names a table by mistake.
MAX_FILE_BYTES = 32 * 1024 * 1024
#: Base values are coded in 16 bits.
MAX_LEAVES = 65_536
#: How YAML writes "nothing here": the node is a leaf.
_NOTHING = {"", "null", "~"}
#: What is said of YAML that is no tree.
_REFUSALS = {
    "document": "a second YAML document begins; a file is one tree",
    "alias": "anchors and aliases are not allowed in a hierarchy (a tree must not contain itself)",
    "key": "a node's name must be text",
    "twice": "node {name} appears twice",
    "deep": f"the tree is deeper than {MAX_LEVELS} levels",
}


@dataclass(frozen=True, repr=False)
class Hierarchy(Outlined):
    r"""A tree over the values of one column.

    Parameters
    ----------
    names : tuple of str
        Node names in pre-order; the root is first.
    starts, stops : tuple of int
        Each node covers the leaves ``starts[i] .. stops[i] - 1``.
    parents : tuple of int
        Index of each node's parent; -1 for the root.
    levels : tuple of tuple of int
        The full-domain generalizations: for each level the nodes of its cut, finest first. An ARX
        file states them as its columns; for YAML trees level ``i`` cuts at depth ``height - i``,
        the depths being those of the file.
    above : tuple of tuple of str
        Names of the nodes that each node stands for besides its own, the highest first.
    level_labels : tuple of tuple of str
        What the file calls each node of `levels` at that level.

    Notes
    -----
    A node is a set of leaves. A chain of nodes with one child each covers the same leaves, so it is
    kept as one node. A released block is called by the lowest name in the chain: ``South`` where
    the file reads ``South;Africa;*`` and Africa holds nothing else. The names above it are kept in
    `above` and `level_labels`, so that a tree is written back as it was read. They must be as
    unambiguous as all others.

    Examples
    --------
    >>> tree = Hierarchy.from_arx("Chad;Africa;*\nPeru;America;*\nCuba;America;*\n")
    >>> tree.names
    ('*', 'Chad', 'America', 'Peru', 'Cuba')
    >>> tree.above[1], tree.level_labels[1]
    (('Africa',), ('Africa', 'America'))
    """

    names: tuple[str, ...]
    starts: tuple[int, ...]
    stops: tuple[int, ...]
    parents: tuple[int, ...]
    levels: tuple[tuple[int, ...], ...]
    above: tuple[tuple[str, ...], ...]
    level_labels: tuple[tuple[str, ...], ...]

    # -- reading ---------------------------------------------------------------------------------

    @classmethod
    def read(cls, path: str | Path) -> Hierarchy:
        """Read a hierarchy file: ``.yaml``/``.yml`` is a nested mapping, ``.csv`` an ARX file."""
        path = checked_path(path, ConfigError)
        if not path.is_file():
            raise ConfigError(f"hierarchy file {path} does not exist or is not a file")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError(
                f"hierarchy file {path} has {path.stat().st_size} bytes; at most "
                f"{MAX_FILE_BYTES} are read"
            )
        suffix = path.suffix.lower()
        if suffix not in {".yaml", ".yml", ".csv"}:
            raise ConfigError(
                f"hierarchy file {path} must end in .yaml, .yml or .csv (ARX). Got {suffix!r}"
            )
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigError(f"hierarchy file {path} is not UTF-8: {error.reason}") from None
        except OSError as error:
            raise ConfigError(f"hierarchy file {path} cannot be read: {error}") from None
        if suffix == ".csv":
            return cls.from_arx(text, where=str(path))
        return cls.from_yaml(text, where=str(path))

    @classmethod
    def from_yaml(cls, text: str, where: str = "hierarchy") -> Hierarchy:
        """Build a tree from a nested YAML mapping.

        A mapping names nodes, a list or an empty value ends in leaves. All scalars are taken as
        text, so that ``No`` or ``01`` are leaves called ``No`` and ``01``.

        Examples
        --------
        >>> tree = Hierarchy.from_yaml("Any: {Public: [Local, State], Private: }")
        >>> tree.leaves
        ('Local', 'State', 'Private')
        >>> [[tree.names[node] for node in cut] for cut in tree.cuts()]
        [['Any'], ['Public', 'Private'], ['Local', 'State', 'Private']]
        """
        return cls._from_raw(_yaml_root(text, where), where)

    @classmethod
    def from_arx(cls, text: str, where: str = "hierarchy") -> Hierarchy:
        """Build a tree from ARX's form: one leaf per row, its ancestors as columns, ``;`` or ``,``.

        The same label may repeat along a row (ARX pads shallow leaves so). The last column must be
        one common root, and a label must have one parent only.
        """
        return cls.from_levels(treefile.arx_rows(text, where), where)

    @classmethod
    def from_levels(cls, rows: Sequence[Sequence[str]], where: str = "hierarchy") -> Hierarchy:
        """Build a tree from what each leaf is called at each level, itself first, the root last."""
        if len(rows) == len(rows[0]) == 1:
            return cls._from_raw((rows[0][0], []), where)
        if len(rows[0]) == 1:  # leaves only: everything or nothing
            rows = [[*row, SUPPRESSED] for row in rows]
        tree = cls._from_raw(treefile.arx_root(rows, where), where)
        # ARX's levels are its columns, which need not be the depths: it may pad in any place.
        index = tree.leaf_index
        columns = list(zip(*sorted(rows, key=lambda row: index[row[0]]), strict=True))
        levels = tuple(map(tree._cut_of, columns))
        labels = tuple(
            tuple(column[tree.starts[node]] for node in cut)
            for column, cut in zip(columns, levels, strict=True)
        )
        return replace(tree, levels=levels, level_labels=labels)

    @classmethod
    def from_nested(
        cls, root: str, children: Mapping[str, object] | Sequence[object], where: str = "hierarchy"
    ) -> Hierarchy:
        """Build a tree from Python mappings and lists, as YAML would give them."""
        return cls._from_raw(treefile.nested_root(root, children, where), where)

    @classmethod
    def _from_raw(cls, root: RawNode, where: str) -> Hierarchy:
        chains: list[tuple[str, ...]] = []
        parents: list[int] = []
        starts: list[int] = []
        stops: list[int] = []
        leaves = 0
        to_do = [(root, -1)]
        while to_do:
            (name, below), parent = to_do.pop()
            chain = [name]
            while len(below) == 1:
                name, below = below[0]
                if name != chain[-1]:  # a repeated name is padding
                    chain.append(name)
            here = len(chains)
            chains.append(tuple(chain))
            parents.append(parent)
            starts.append(leaves)
            leaves += not below
            stops.append(leaves)
            to_do += [(child, here) for child in reversed(below)]
        if leaves > MAX_LEAVES:
            raise ConfigError(
                f"{where}: the tree has {leaves} leaves; at most {MAX_LEAVES} are possible"
            )
        for here in range(len(chains) - 1, 0, -1):  # a node ends where its last child ends
            stops[parents[here]] = max(stops[parents[here]], stops[here])
        _check_names(chains, starts, stops, where)
        levels, labels = _levels_by_depth(chains, parents)
        names = tuple(chain[-1] for chain in chains)
        above = tuple(chain[:-1] for chain in chains)
        return cls(names, tuple(starts), tuple(stops), tuple(parents), levels, above, labels)

    # -- looking ---------------------------------------------------------------------------------

    @cached_property
    def all_names(self) -> frozenset[str]:
        """Every name in the tree, those of collapsed nodes included."""
        return frozenset(self.names).union(*self.above)

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """Leaf names in pre-order: the column's ordered domain."""
        return tuple(
            name for name, below in zip(self.names, self.children, strict=True) if not below
        )

    @cached_property
    def leaf_index(self) -> dict[str, int]:
        """Position of each leaf in pre-order."""
        return {leaf: i for i, leaf in enumerate(self.leaves)}

    @cached_property
    def node_of(self) -> dict[tuple[int, int], int]:
        """Node that covers exactly the leaves ``start .. stop - 1``."""
        return {key: i for i, key in enumerate(zip(self.starts, self.stops, strict=True))}

    def covering(self, start: int, stop: int) -> Iterator[int]:
        """Nodes that make up the leaves ``start .. stop - 1``, each as large as possible."""
        while start < stop:
            end = next(end for end in range(stop, start, -1) if (start, end) in self.node_of)
            yield self.node_of[start, end]
            start = end

    def lowest(self, start: int, stop: int) -> int:
        """Lowest node that holds the leaves ``start .. stop - 1``."""
        node = 0
        while True:
            for child in self.children[node]:
                if self.starts[child] <= start and stop <= self.stops[child]:
                    node = child
                    break
            else:
                return node

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of each node, left to right."""
        below: list[list[int]] = [[] for _ in self.names]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                below[parent].append(node)
        return tuple(map(tuple, below))

    @cached_property
    def heights(self) -> Ints:
        """For each node the first of the distinct levels that has it; 0 for every leaf.

        So many steps up the levels a leaf must go to be generalized to the node, and the root's
        height is that of the tree. Where leaves lie at different depths this is not the number of
        edges: a leaf waits until its level is reached.
        """
        heights = np.zeros(len(self.names), dtype=np.int64)
        for height, cut in reversed(list(enumerate(dict.fromkeys(self.levels)))):
            heights[list(cut)] = height
        return heights

    @property
    def node_starts(self) -> Ints:
        """For each distinct level (rows, finest first) the first leaf of each leaf's node."""
        levels = []
        for cut in dict.fromkeys(self.levels):
            starts = [self.starts[node] for node in cut]
            widths = [self.stops[node] - self.starts[node] for node in cut]
            levels.append(np.repeat(starts, widths))
        return np.array(levels, dtype=np.int64)

    @cached_property
    def inner(self) -> Ints:
        """Node index of every inner node, in pre-order; a genome expands or collapses these."""
        return np.array([i for i, below in enumerate(self.children) if below], dtype=np.int64)

    @cached_property
    def owner(self) -> Ints:
        """For each boundary between leaves ``i`` and ``i + 1``: rank in `inner` of its owner."""
        rank = {int(node): i for i, node in enumerate(self.inner)}
        owner = np.full(max(len(self.leaves) - 1, 0), -1, dtype=np.int64)
        for node in self.inner:
            for child in self.children[node][:-1]:
                owner[self.stops[child] - 1] = rank[int(node)]
        return owner

    @cached_property
    def inner_parent(self) -> Ints:
        """For each inner node the rank in `inner` of its parent; -1 for the root."""
        rank = {int(node): i for i, node in enumerate(self.inner)}
        return np.array([rank.get(self.parents[node], -1) for node in self.inner], dtype=np.int64)

    @cached_property
    def first_boundary(self) -> Ints:
        """For each inner node one boundary that it owns."""
        first = np.zeros(len(self.inner), dtype=np.int64)
        first[self.owner[::-1]] = np.arange(len(self.owner))[::-1]
        return first

    def is_cut(self, bits: Bits) -> Bools:
        """Return for each row of `bits` whether it is a cut of this tree."""
        if not len(self.owner):
            return np.ones(len(bits), dtype=bool)
        expanded = bits[:, self.first_boundary]
        even = (bits == expanded[:, self.owner]).all(axis=1)
        below = self.inner_parent >= 0
        closed = (expanded[:, below] <= expanded[:, self.inner_parent[below]]).all(axis=1)
        answer: Bools = even & closed
        return answer

    def bits_of(self, expanded: Bits) -> Bits:
        """Turn flags of expanded inner nodes (rows in the order of `inner`) into boundary bits."""
        bits: Bits = expanded[:, self.owner].astype(np.uint8)
        return bits

    def count_cuts(self) -> int:
        """Count all cuts: one for the node itself plus the product over its children."""
        counts = [1] * len(self.names)
        for node in reversed(range(len(self.names))):
            product = 1
            for child in self.children[node]:
                product *= counts[child]
            counts[node] = 1 + product if self.children[node] else 1
        return counts[0]

    def cuts(self) -> Iterator[tuple[int, ...]]:
        """Yield every cut as the tuple of its nodes, coarsest first at each node.

        The next cut expands the last node that can be, and collapses all that lies behind it: what
        is left there are the right siblings of the node and of its ancestors.
        """
        cut = [0]
        while True:
            yield tuple(cut)
            while cut and not self.children[cut[-1]]:
                cut.pop()
            if not cut:
                return
            node = cut.pop()
            cut += self.children[node]
            while node:
                siblings = self.children[self.parents[node]]
                cut += siblings[siblings.index(node) + 1 :]
                node = self.parents[node]

    def sample(self, number: int, rng: np.random.Generator) -> Bits:
        """Draw cuts as D §6.4 does, one row of boundary bits each.

        From the root down, each node decides by a fair coin whether its subtrees stay
        distinguishable; below a node that does not, nothing is decided.
        """
        expanded = rng.integers(0, 2, size=(number, len(self.inner)), dtype=np.uint8)
        for node, parent in enumerate(self.inner_parent):
            if parent >= 0:  # pre-order: the parent is decided before its children
                expanded[:, node] &= expanded[:, parent]
        return self.bits_of(expanded)

    def cut_bits(self, cut: Sequence[int]) -> Bits:
        """Boundary bits of a cut given as its nodes."""
        bits = np.zeros(max(len(self.leaves) - 1, 0), dtype=np.uint8)
        for node in cut:
            if self.stops[node] < len(self.leaves):
                bits[self.stops[node] - 1] = 1
        return bits

    def _cut_of(self, labels: Sequence[str]) -> tuple[int, ...]:
        """Nodes of the cut in which leaf ``i`` carries ``labels[i]``."""
        edges = [0, *(i for i in range(1, len(labels)) if labels[i] != labels[i - 1]), len(labels)]
        return tuple(self.node_of[pair] for pair in pairwise(edges))

    def with_leaf(self, name: str) -> Hierarchy:
        """Return this tree with one more leaf directly under the root, last in pre-order.

        Where the root stands for a chain, or is a leaf, all that was there becomes a node beside
        the new leaf.
        """
        if name in self.all_names:
            raise ConfigError(f"a hierarchy has a node called {name!r} already")
        rows, shown, root = self.level_rows(), self.level_labels, (self.above[0] or self.names)[:1]
        if not self.above[0] and not self.children[0]:
            root = (SUPPRESSED,)
            rows, shown = [(*row, SUPPRESSED) for row in rows], (*shown, root)
        rows.append(tuple(root[0] if labels == root else name for labels in shown))
        return Hierarchy.from_levels(rows)

    # -- writing ---------------------------------------------------------------------------------

    def to_yaml(self) -> str:
        """Write the tree as a nested YAML mapping that `from_yaml` reads back, every name kept.

        The levels of an ARX file are not: a mapping does not say at which level a leaf is padded.
        """
        names: list[str] = []
        children: list[list[int]] = []
        lowest: list[int] = []  # for each node, where the lowest name of its chain is written
        for name, above, parent in zip(self.names, self.above, self.parents, strict=True):
            over = lowest[parent] if parent >= 0 else -1
            for label in (*above, name):
                if over >= 0:
                    children[over].append(len(names))
                over = len(names)
                names.append(label)
                children.append([])
            lowest.append(over)
        return treefile.yaml_text(names, children)

    def to_arx(self, delimiter: str = ";") -> str:
        """Write the tree in ARX's form: a row for each leaf, a column for each level.

        `from_arx` reads the same tree back; a file that was read comes back with its own labels,
        the rows in the order of the leaves.
        """
        return treefile.arx_text(self.level_rows(), delimiter)

    def record(self, unnamed: Collection[int]) -> dict[str, Any]:
        """The tree as JSON can hold it, some nodes without their names; see `of_record`."""
        names = list(self.names)
        for node in unnamed:
            names[node] = f"(not shown: {node})" if node else SUPPRESSED
        parts = ("starts", "stops", "parents", "levels")
        return {"names": names, **{part: getattr(self, part) for part in parts}}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Hierarchy:
        """Read what `record` gave; names of collapsed nodes and of levels were not stored."""
        parts = {**record, "levels": map(tuple, record["levels"])}
        tree = {part: tuple(stored) for part, stored in parts.items()}
        return cls(**tree, above=((),) * len(tree["names"]), level_labels=())

    def level_rows(self) -> list[tuple[str, ...]]:
        """What each leaf is called at each level, itself first, the root last."""
        columns = [
            [
                label
                for node, label in zip(cut, labels, strict=True)
                for _ in range(self.starts[node], self.stops[node])
            ]
            for cut, labels in zip(self.levels, self.level_labels, strict=True)
        ]
        return list(zip(*columns, strict=True))


def _yaml_root(text: str, where: str) -> RawNode:
    """Read a nested mapping; all scalars are text, so that ``No`` or ``01`` are called that."""
    try:
        tree = parse(text, where, ConfigError, _REFUSALS, MAX_LEVELS)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"{where} is not valid YAML: {reason}") from None
    if tree is None:
        raise ConfigError(f"{where} is empty; a hierarchy needs at least one leaf")
    if not isinstance(tree.content, dict) or len(tree.content) != 1:
        raise ConfigError(f"{where} must be a mapping with exactly one root, e.g. 'Any: [a, b]'")
    roots: list[RawNode] = []
    to_do = [(roots, tree)]
    while to_do:
        nodes, written = to_do.pop()
        for name, below in _named_nodes(written, where):
            nodes.append((name, []))
            if below is not None:
                to_do.append((nodes[-1][1], below))
    return roots[0]


def _named_nodes(written: YamlNode, where: str) -> Iterator[tuple[str, YamlNode | None]]:
    """Yield the nodes of a mapping or a list, each with what is written below it."""
    if isinstance(written.content, dict):
        yield from written.content.items()
    elif isinstance(written.content, str):
        if not written.plain or written.content not in _NOTHING:
            raise ConfigError(
                f"{where}, line {written.line}: below a node there must be a mapping, a list or "
                f"nothing. Got {written.content!r}"
            )
    else:
        for item in written.content:
            if isinstance(item.content, str):
                yield item.content, None
            elif isinstance(item.content, dict):  # its nodes are items of the list
                yield from item.content.items()
            else:
                raise ConfigError(f"{where}, line {item.line}: a list of leaves holds a list")


def _check_names(
    chains: Sequence[tuple[str, ...]], starts: Sequence[int], stops: Sequence[int], where: str
) -> None:
    """Refuse names that cannot be released, or would make a released label ambiguous.

    Names that a collapsed node does not carry count, too: whoever has the file would look for them.
    """
    seen: dict[str, tuple[int, bool]] = {}
    for node, chain in enumerate(chains):
        for place, name in enumerate(chain):
            is_leaf = place == len(chain) - 1 and stops[node] - starts[node] == 1
            if name == "":
                raise ConfigError(f"{where}: a node has an empty name")
            if "\0" in name:
                raise ConfigError(
                    f"{where}: a node's name must not hold a NUL character. Got {name!r}"
                )
            if name == SUPPRESSED and (node or place or is_leaf):
                raise ConfigError(
                    f"{where}: only a root with leaves below may be called {SUPPRESSED!r}; it "
                    "stands for any value"
                )
            if name in seen:
                raise _named_twice(name, seen[name], (node, is_leaf), where)
            seen[name] = node, is_leaf


def _named_twice(
    name: str, first: tuple[int, bool], second: tuple[int, bool], where: str
) -> ConfigError:
    """Say what two places of one name have to do with each other; each is a node, and if a leaf."""
    if first[0] == second[0]:
        return ConfigError(
            f"{where}: {name!r} comes back below itself, so the hierarchy has a cycle"
        )
    if first[1] and second[1]:
        return ConfigError(f"{where}: leaf {name!r} appears twice")
    return ConfigError(
        f"{where}: {name!r} names two different sets of values; a released label must name one, so "
        "rename one of them"
    )


def _levels_by_depth(
    chains: Sequence[tuple[str, ...]], parents: Sequence[int]
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[str, ...], ...]]:
    """Cuts at each depth, deepest first, and their labels: nodes there, and leaves that lie higher.

    A chain reaches over as many depths as it has names.
    """
    tops: list[int] = []
    for parent in parents:
        tops.append(tops[parent] + len(chains[parent]) if parent >= 0 else 0)
    inner = set(parents)
    height = max(top + len(chain) for top, chain in zip(tops, chains, strict=True))
    levels: list[tuple[int, ...]] = []
    labels: list[tuple[str, ...]] = []
    for depth in range(height - 1, -1, -1):
        cut = tuple(
            node
            for node, (top, chain) in enumerate(zip(tops, chains, strict=True))
            if top <= depth and (depth < top + len(chain) or node not in inner)
        )
        levels.append(cut)
        labels.append(
            tuple(chains[node][min(depth - tops[node], len(chains[node]) - 1)] for node in cut)
        )
    return tuple(levels), tuple(labels)
