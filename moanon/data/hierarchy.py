"""Hierarchy trees: read from YAML or ARX files, checked, and written back in both forms.

A hierarchy names the leaves of a column's domain and the groups they may be merged into. Its leaves
stand in pre-order, so that every node covers a run of neighbours, and a generalization of the
column is a *cut*: a set of nodes that covers each leaf once.

Cuts have a simple form as bits. The boundary between two neighbouring leaves *belongs* to the lowest
node that holds both. A node is *expanded* when its children are kept apart; in a cut, all boundaries
that belong to one node carry the same bit, and a node can be expanded only if its parent is. Hence
cuts and "downward closed" sets of expanded nodes are the same thing, and the union (bitwise OR) or
intersection (bitwise AND) of two cuts is a cut again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import yaml

from moanon.errors import HierarchyError

__all__ = ["MAX_FILE_BYTES", "SUPPRESSED", "Hierarchy"]

#: What a fully generalized cell shows; no leaf or inner node may be called so.
SUPPRESSED = "*"
#: Larger hierarchy files are refused: nobody reads a tree of that size, a typo in a path finds one.
MAX_FILE_BYTES = 32 * 1024 * 1024

#: How YAML writes "nothing here": the node is a leaf.
_NOTHING = {"", "null", "~"}

Bits = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int64]


@dataclass
class _Raw:
    """A node as written in a file, before it is checked."""

    name: str
    children: list[_Raw] = field(default_factory=list)


@dataclass(frozen=True)
class Hierarchy:
    """A tree over the values of one column.

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
        file states them as its columns; for YAML trees level ``i`` cuts at depth ``height - i``.

    Notes
    -----
    A chain of nodes with one child each covers the same leaves and is kept as one node, called by
    the lowest name in the chain.
    """

    names: tuple[str, ...]
    starts: tuple[int, ...]
    stops: tuple[int, ...]
    parents: tuple[int, ...]
    levels: tuple[tuple[int, ...], ...]

    # -- reading ---------------------------------------------------------------------------------

    @classmethod
    def read(cls, path: str | Path) -> Hierarchy:
        """Read a hierarchy file: ``.yaml``/``.yml`` is a nested mapping, ``.csv`` an ARX file."""
        path = Path(path)
        if not path.is_file():
            raise HierarchyError(f"hierarchy file {path} does not exist or is not a file")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise HierarchyError(
                f"hierarchy file {path} has {path.stat().st_size} bytes; at most "
                f"{MAX_FILE_BYTES} are read"
            )
        suffix = path.suffix.lower()
        if suffix not in {".yaml", ".yml", ".csv"}:
            raise HierarchyError(
                f"hierarchy file {path} must end in .yaml, .yml or .csv (ARX). Got {suffix!r}"
            )
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise HierarchyError(f"hierarchy file {path} is not UTF-8: {error.reason}") from None
        except OSError as error:
            raise HierarchyError(f"hierarchy file {path} cannot be read: {error}") from None
        if suffix == ".csv":
            return cls.from_arx(text, where=str(path))
        return cls.from_yaml(text, where=str(path))

    @classmethod
    def from_yaml(cls, text: str, where: str = "hierarchy") -> Hierarchy:
        """Build a tree from a nested YAML mapping.

        A mapping names nodes, a list or an empty value ends in leaves. All scalars are taken as
        text, so that ``No`` or ``01`` are leaves called ``No`` and ``01``. Anchors and aliases are
        refused: through them a tree could contain itself.
        """
        try:
            for token in yaml.scan(text):
                if isinstance(token, yaml.AnchorToken | yaml.AliasToken):
                    line = token.start_mark.line + 1
                    raise HierarchyError(
                        f"{where}, line {line}: anchors and aliases are not allowed in a hierarchy "
                        "(a tree must not contain itself)"
                    )
            document = yaml.compose(text, Loader=yaml.BaseLoader)
        except yaml.YAMLError as error:
            raise HierarchyError(f"{where} is not valid YAML: {_one_line(error)}") from None
        except RecursionError:
            raise HierarchyError(f"{where} is nested too deeply for a hierarchy") from None
        if not isinstance(document, yaml.MappingNode) or len(document.value) != 1:
            raise HierarchyError(
                f"{where} must be a mapping with exactly one root, e.g. 'Any: [a, b]'"
            )
        try:
            return cls._from_raw(_raw_mapping(document, where)[0], where)
        except RecursionError:
            raise HierarchyError(f"{where} is nested too deeply for a hierarchy") from None

    @classmethod
    def from_arx(cls, text: str, where: str = "hierarchy") -> Hierarchy:
        """Build a tree from ARX's form: one leaf per row, its ancestors as columns, ``;`` or ``,``.

        The same label may repeat along a row (ARX pads shallow leaves so). The last column must be
        one common root, and a label must have one parent only.
        """
        rows = _arx_rows(text, where)
        if len(rows[0]) == 1:  # leaves only: everything or nothing
            rows = [[*row, SUPPRESSED] for row in rows]
        depth = len(rows[0])
        tops = sorted({row[-1] for row in rows})
        if len(tops) > 1:
            raise HierarchyError(
                f"{where}: the last column must hold one root for all leaves. Got "
                f"{', '.join(map(repr, tops[:3]))}"
            )
        root = _Raw(rows[0][-1])
        nodes: dict[tuple[int, str], tuple[_Raw, str]] = {}
        for number, row in enumerate(rows, start=1):
            if len(set(_without_repeats(row))) < len(_without_repeats(row)):
                raise HierarchyError(
                    f"{where}, line {number}: a label comes back above itself ({';'.join(row)}), "
                    "so the hierarchy has a cycle"
                )
            parent = root
            for level in range(depth - 2, -1, -1):
                known = nodes.get((level, row[level]))
                if level == 0 and known:
                    raise HierarchyError(f"{where}, line {number}: leaf {row[0]!r} appears twice")
                if known and known[1] != row[level + 1]:
                    raise HierarchyError(
                        f"{where}, line {number}: {row[level]!r} lies under {row[level + 1]!r} "
                        f"here and under {known[1]!r} above; a node has one parent"
                    )
                if known:
                    parent = known[0]
                    continue
                child = _Raw(row[level])
                parent.children.append(child)
                nodes[level, row[level]] = (child, row[level + 1])
                parent = child
        tree = cls._from_raw(root, where)
        # ARX's levels are its columns, which need not be the depths of the collapsed tree.
        index = tree.leaf_index
        by_leaf = sorted(rows, key=lambda row: index[row[0]])
        levels = tuple(tree._cut_of([row[level] for row in by_leaf]) for level in range(depth))
        return cls(tree.names, tree.starts, tree.stops, tree.parents, levels)

    @classmethod
    def from_nested(
        cls, root: str, children: Mapping[str, object] | Sequence[object], where: str = "hierarchy"
    ) -> Hierarchy:
        """Build a tree from Python mappings and lists, as YAML would give them."""
        return cls._from_raw(_Raw(root, _raw_children(children, where)), where)

    @classmethod
    def _from_raw(cls, root: _Raw, where: str) -> Hierarchy:
        root = _collapse(root)
        names: list[str] = []
        starts: list[int] = []
        stops: list[int] = []
        parents: list[int] = []
        depths: list[int] = []
        leaves = 0

        def walk(node: _Raw, parent: int, depth: int) -> None:
            nonlocal leaves
            here = len(names)
            names.append(node.name)
            starts.append(leaves)
            stops.append(leaves)
            parents.append(parent)
            depths.append(depth)
            if not node.children:
                leaves += 1
            for child in node.children:
                walk(child, here, depth + 1)
            stops[here] = leaves

        walk(root, -1, 0)
        _check_names(names, starts, stops, where)
        height = max(depths)
        levels = tuple(_cut_at_depth(depths, height - i) for i in range(height + 1))
        return cls(tuple(names), tuple(starts), tuple(stops), tuple(parents), levels)

    # -- looking ---------------------------------------------------------------------------------

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

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of each node, left to right."""
        below: list[list[int]] = [[] for _ in self.names]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                below[parent].append(node)
        return tuple(map(tuple, below))

    @cached_property
    def inner(self) -> Indices:
        """Node index of every inner node, in pre-order; a genome expands or collapses these."""
        return np.array([i for i, below in enumerate(self.children) if below], dtype=np.int64)

    @cached_property
    def owner(self) -> Indices:
        """For each boundary between leaves ``i`` and ``i + 1``: rank in `inner` of its owner."""
        rank = {int(node): i for i, node in enumerate(self.inner)}
        owner = np.full(max(len(self.leaves) - 1, 0), -1, dtype=np.int64)
        for node in self.inner:
            for child in self.children[node][:-1]:
                owner[self.stops[child] - 1] = rank[int(node)]
        return owner

    @cached_property
    def inner_parent(self) -> Indices:
        """For each inner node the rank in `inner` of its parent; -1 for the root."""
        rank = {int(node): i for i, node in enumerate(self.inner)}
        return np.array([rank.get(self.parents[node], -1) for node in self.inner], dtype=np.int64)

    @cached_property
    def first_boundary(self) -> Indices:
        """For each inner node one boundary that it owns."""
        first = np.zeros(len(self.inner), dtype=np.int64)
        first[self.owner[::-1]] = np.arange(len(self.owner))[::-1]
        return first

    def is_cut(self, bits: Bits) -> npt.NDArray[np.bool_]:
        """Tell for each row of `bits` whether it is a cut of this tree."""
        if not len(self.owner):
            return np.ones(len(bits), dtype=bool)
        expanded = bits[:, self.first_boundary]
        even = (bits == expanded[:, self.owner]).all(axis=1)
        below = self.inner_parent >= 0
        closed = (expanded[:, below] <= expanded[:, self.inner_parent[below]]).all(axis=1)
        answer: npt.NDArray[np.bool_] = even & closed
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
        """Yield every cut as the tuple of its nodes, coarsest first at each node."""
        return self._cuts_below(0)

    def _cuts_below(self, node: int) -> Iterator[tuple[int, ...]]:
        yield (node,)
        if self.children[node]:
            yield from self._joined(self.children[node])

    def _joined(self, nodes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if not nodes:
            yield ()
            return
        for head in self._cuts_below(nodes[0]):
            for tail in self._joined(nodes[1:]):
                yield head + tail

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
        return tuple(self.node_of[pair] for pair in zip(edges, edges[1:], strict=False))

    def with_leaf(self, name: str) -> Hierarchy:
        """Return this tree with one more leaf directly under the root, last in pre-order."""
        if name in self.names:
            raise HierarchyError(f"a hierarchy has a node called {name!r} already")
        size = len(self.leaves)
        if not self.children[0]:  # a tree of one leaf gets a root above it
            names = (SUPPRESSED, self.names[0], name)
            return Hierarchy(names, (0, 0, 1), (2, 1, 2), (-1, 0, 0), ((1, 2), (0,)))
        extra = len(self.names)
        return Hierarchy(
            (*self.names, name),
            (*self.starts, size),
            (size + 1, *self.stops[1:], size + 1),
            (*self.parents, 0),
            tuple(cut if cut == (0,) else (*cut, extra) for cut in self.levels),
        )

    # -- writing ---------------------------------------------------------------------------------

    def to_yaml(self) -> str:
        """Write the tree as a nested YAML mapping that `from_yaml` reads back."""

        def nested(node: int) -> object:
            below = self.children[node]
            if all(not self.children[child] for child in below):
                return [self.names[child] for child in below] or None
            return {self.names[child]: nested(child) for child in below}

        document = {self.names[0]: nested(0)}
        return yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=100)

    def to_arx(self, delimiter: str = ";") -> str:
        """Write the tree in ARX's form: a row for each leaf, a column for each level."""
        columns = [
            [self.names[node] for node in cut for _ in range(self.starts[node], self.stops[node])]
            for cut in self.levels
        ]
        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
        writer.writerows(zip(*columns, strict=True))
        return out.getvalue()


def _raw_mapping(node: yaml.MappingNode, where: str) -> list[_Raw]:
    """Turn a YAML mapping into nodes; duplicate keys are refused, not merged."""
    found: list[_Raw] = []
    seen: set[str] = set()
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise HierarchyError(f"{where}, line {line}: a node's name must be text")
        if key.value in seen:
            raise HierarchyError(f"{where}, line {line}: node {key.value!r} appears twice")
        seen.add(key.value)
        found.append(_Raw(key.value, _raw_value(value, where)))
    return found


def _raw_value(node: yaml.Node, where: str) -> list[_Raw]:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        return _raw_mapping(node, where)
    if isinstance(node, yaml.SequenceNode):
        below: list[_Raw] = []
        for item in node.value:
            if isinstance(item, yaml.ScalarNode):
                below.append(_Raw(item.value))
            elif isinstance(item, yaml.MappingNode):
                below.extend(_raw_mapping(item, where))
            else:
                raise HierarchyError(f"{where}, line {line}: a list of leaves holds a list")
        return below
    if isinstance(node, yaml.ScalarNode) and node.style is None and node.value in _NOTHING:
        return []
    raise HierarchyError(
        f"{where}, line {line}: below a node there must be a mapping, a list or nothing. "
        f"Got {node.value!r}"
    )


def _raw_children(children: Mapping[str, object] | Sequence[object], where: str) -> list[_Raw]:
    below: list[_Raw] = []
    items = children.items() if isinstance(children, Mapping) else ((c, None) for c in children)
    for name, value in items:
        if isinstance(name, Mapping):
            below.extend(_raw_children(name, where))
        elif not isinstance(name, str):
            raise HierarchyError(f"{where}: a node's name must be text. Got {name!r}")
        elif value is None:
            below.append(_Raw(name))
        elif isinstance(value, Mapping) or (
            isinstance(value, Sequence) and not isinstance(value, str)
        ):
            below.append(_Raw(name, _raw_children(value, where)))
        else:
            raise HierarchyError(f"{where}: below {name!r} must be a mapping, a list or nothing")
    return below


def _arx_rows(text: str, where: str) -> list[list[str]]:
    """Split an ARX file into rows of equal length."""
    first = text.split("\n", 1)[0]
    delimiter = ";" if ";" in first else ","
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)]
    except csv.Error as error:
        raise HierarchyError(f"{where} is not a valid CSV file: {error}") from None
    while rows and not any(rows[-1]):
        rows.pop()
    if not rows:
        raise HierarchyError(f"{where} is empty; a hierarchy needs at least one leaf")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise HierarchyError(
                f"{where}, line {number}: a ragged hierarchy: {len(row)} levels here, "
                f"{len(rows[0])} in line 1"
            )
    return rows


def _without_repeats(row: Sequence[str]) -> list[str]:
    return [label for i, label in enumerate(row) if i == 0 or label != row[i - 1]]


def _collapse(node: _Raw) -> _Raw:
    """Replace chains of only children by their lowest node."""
    while len(node.children) == 1:
        node = node.children[0]
    return _Raw(node.name, [_collapse(child) for child in node.children])


def _check_names(
    names: Sequence[str], starts: Sequence[int], stops: Sequence[int], where: str
) -> None:
    """Refuse names that would make a released label ambiguous."""
    seen: dict[str, int] = {}
    for node, name in enumerate(names):
        if name == "":
            raise HierarchyError(f"{where}: a node has an empty name")
        if name == SUPPRESSED and node:
            raise HierarchyError(
                f"{where}: only the root may be called {SUPPRESSED!r}; it stands for any value"
            )
        if name in seen:
            other = seen[name]
            both_leaves = all(stops[i] - starts[i] == 1 for i in (node, other))
            if both_leaves:
                raise HierarchyError(f"{where}: leaf {name!r} appears twice")
            raise HierarchyError(
                f"{where}: {name!r} names two different sets of values; a released label must "
                "name one, so rename one of them"
            )
        seen[name] = node


def _cut_at_depth(depths: Sequence[int], depth: int) -> tuple[int, ...]:
    """Nodes at `depth`, and leaves that lie higher."""
    inner = {i for i in range(len(depths) - 1) if depths[i + 1] > depths[i]}
    return tuple(
        i for i in range(len(depths)) if depths[i] == depth or (depths[i] < depth and i not in inner)
    )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
