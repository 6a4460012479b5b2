"""Hierarchies as text: nested YAML mappings and ARX's tables, read into plain nodes and written.

Nothing here knows what a tree is for; `moanon.data.hierarchy` checks the nodes and cuts the tree.
Reading and writing are loops, not recursions, so that no file can exhaust the stack.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from moanon.errors import HierarchyError

__all__ = [
    "MAX_LEVELS",
    "RawNode",
    "arx_root",
    "arx_rows",
    "arx_text",
    "nested_root",
    "yaml_root",
    "yaml_text",
]

#: Deeper trees are refused: each level is a full-domain generalization of its own, so that a
#: mistake in a file would otherwise cost levels times leaves.
MAX_LEVELS = 256

#: How YAML writes "nothing here": the node is a leaf.
_NOTHING = {"", "null", "~"}

_TEXT_TAG = "tag:yaml.org,2002:str"
_QUOTED = re.compile('"[^"]*"')
_FIRST_ROW = re.compile('(?:"[^"]*"|[^"\\r\\n])*')


@dataclass(eq=False, repr=False)
class RawNode:
    """A node as written, before it is checked."""

    name: str
    children: list[RawNode] = field(default_factory=list)


# -- YAML ----------------------------------------------------------------------------------------


def yaml_root(text: str, where: str) -> RawNode:
    """Read a nested mapping; all scalars are text, so that ``No`` or ``01`` are called that.

    Anchors and aliases are refused: through them a tree could contain itself.
    """
    tree = _YamlTree(where)
    try:
        for event in yaml.parse(text, Loader=yaml.BaseLoader):
            tree.take(event)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise HierarchyError(f"{where} is not valid YAML: {reason}") from None
    return tree.root()


@dataclass(eq=False, repr=False)
class _Open:
    """A mapping or list that has begun: where its nodes go, and how deep they lie."""

    nodes: list[RawNode]
    level: int
    is_mapping: bool
    names: set[str] = field(default_factory=set)
    #: The key whose value comes next.
    key: RawNode | None = None


class _YamlTree:
    """Builds a tree from YAML's events, one after the other."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._documents = 0
        self._roots: list[RawNode] = []
        self._open: list[_Open] = []

    def take(self, event: yaml.Event) -> None:
        """Go on with the next event."""
        assert event.start_mark is not None  # only events made by hand lack one
        line = f"{self._where}, line {event.start_mark.line + 1}"
        if getattr(event, "anchor", None) is not None:  # an alias has one, too
            raise HierarchyError(
                f"{line}: anchors and aliases are not allowed in a hierarchy (a tree must not "
                "contain itself)"
            )
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise HierarchyError(f"{line}: a second YAML document begins; a file is one tree")
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._begin(isinstance(event, yaml.MappingStartEvent), line)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._open.pop()

    def root(self) -> RawNode:
        """Return the tree's root."""
        if not self._documents:
            raise HierarchyError(f"{self._where} is empty; a hierarchy needs at least one leaf")
        if len(self._roots) != 1:
            raise self._not_one_root()
        return self._roots[0]

    def _not_one_root(self) -> HierarchyError:
        return HierarchyError(
            f"{self._where} must be a mapping with exactly one root, e.g. 'Any: [a, b]'"
        )

    def _scalar(self, event: yaml.ScalarEvent, line: str) -> None:
        if not self._open:
            raise self._not_one_root()
        inside = self._open[-1]
        if not inside.is_mapping:
            inside.nodes.append(RawNode(event.value))
        elif inside.key is not None:
            if event.style is not None or event.value not in _NOTHING:
                raise HierarchyError(
                    f"{line}: below a node there must be a mapping, a list or nothing. "
                    f"Got {event.value!r}"
                )
            inside.key = None
        else:
            if event.value in inside.names:
                raise HierarchyError(f"{line}: node {event.value!r} appears twice")
            inside.names.add(event.value)
            inside.key = RawNode(event.value)
            inside.nodes.append(inside.key)

    def _begin(self, is_mapping: bool, line: str) -> None:
        if not self._open:
            if not is_mapping:
                raise self._not_one_root()
            self._open.append(_Open(self._roots, 1, is_mapping))
            return
        inside = self._open[-1]
        if not inside.is_mapping:
            if not is_mapping:
                raise HierarchyError(f"{line}: a list of leaves holds a list")
            # A mapping in a list: its nodes are items of that list.
            self._open.append(_Open(inside.nodes, inside.level, is_mapping))
            return
        if inside.key is None:
            raise HierarchyError(f"{line}: a node's name must be text")
        if inside.level == MAX_LEVELS:
            raise HierarchyError(f"{line}: the tree is deeper than {MAX_LEVELS} levels")
        self._open.append(_Open(inside.key.children, inside.level + 1, is_mapping))
        inside.key = None


def yaml_text(names: Sequence[str], children: Sequence[Sequence[int]]) -> str:
    """Write a tree whose root is node 0 as a nested mapping, leaves side by side as a list."""
    text: str = yaml.emit(
        _yaml_events(names, children), Dumper=yaml.SafeDumper, allow_unicode=True, width=100
    )
    return text


def _yaml_events(names: Sequence[str], children: Sequence[Sequence[int]]) -> Iterator[yaml.Event]:
    resolver = yaml.resolver.Resolver()

    def scalar(name: str) -> yaml.ScalarEvent:
        # Quoted where another reader of YAML would take it for a number, a date or a truth value.
        tag = resolver.resolve(yaml.ScalarNode, name, (True, False))  # type: ignore[no-untyped-call]
        # The emitter's other styles do not keep every line end.
        style = '"' if any(sign in name for sign in "\n\r\x85\u2028\u2029") else None
        return yaml.ScalarEvent(None, None, (tag == _TEXT_TAG, True), name, style=style)

    yield yaml.StreamStartEvent()
    yield yaml.DocumentStartEvent(explicit=False)
    yield yaml.MappingStartEvent(None, None, True, flow_style=False)
    to_do: list[int | yaml.Event] = [yaml.MappingEndEvent(), 0]
    while to_do:
        item = to_do.pop()
        if isinstance(item, yaml.Event):
            yield item
            continue
        yield scalar(names[item])
        below = children[item]
        if not below:
            yield yaml.ScalarEvent(None, None, (True, False), "")
        elif any(children[child] for child in below):
            yield yaml.MappingStartEvent(None, None, True, flow_style=False)
            to_do += [yaml.MappingEndEvent(), *reversed(below)]
        else:
            yield yaml.SequenceStartEvent(None, None, True, flow_style=True)
            yield from (scalar(names[child]) for child in below)
            yield yaml.SequenceEndEvent()
    yield yaml.DocumentEndEvent(explicit=False)
    yield yaml.StreamEndEvent()


# -- Python's mappings and lists -----------------------------------------------------------------


def nested_root(
    name: str, children: Mapping[str, object] | Sequence[object], where: str
) -> RawNode:
    """Build nodes from mappings and lists as YAML would give them."""
    return RawNode(name, _nested_children(children, where, 2))


def _nested_children(
    children: Mapping[str, object] | Sequence[object], where: str, level: int
) -> list[RawNode]:
    if level > MAX_LEVELS:  # also where a list contains itself
        raise HierarchyError(f"{where}: the tree is deeper than {MAX_LEVELS} levels")
    below: list[RawNode] = []
    items = children.items() if isinstance(children, Mapping) else ((c, None) for c in children)
    for name, value in items:
        if isinstance(name, Mapping):
            below.extend(_nested_children(name, where, level))
        elif not isinstance(name, str):
            raise HierarchyError(f"{where}: a node's name must be text. Got {name!r}")
        elif value is None:
            below.append(RawNode(name))
        elif isinstance(value, Mapping) or (
            isinstance(value, Sequence) and not isinstance(value, str)
        ):
            below.append(RawNode(name, _nested_children(value, where, level + 1)))
        else:
            raise HierarchyError(f"{where}: below {name!r} must be a mapping, a list or nothing")
    return below


# -- ARX -----------------------------------------------------------------------------------------


def arx_rows(text: str, where: str) -> list[list[str]]:
    """Split an ARX file into rows of equal length, one for each leaf."""
    try:
        # newline="": line ends inside a quoted name stay as they are, like those in the data.
        stream = io.StringIO(text, newline="")
        rows = list(csv.reader(stream, delimiter=_delimiter(text), strict=True))
    except csv.Error as error:
        raise HierarchyError(f"{where} is not a valid CSV file: {error}") from None
    while rows and not any(rows[-1]):
        rows.pop()
    if not rows:
        raise HierarchyError(f"{where} is empty; a hierarchy needs at least one leaf")
    depth = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != depth:
            raise HierarchyError(
                f"{where}, line {number}: a ragged hierarchy: {len(row)} levels here, {depth} in "
                "line 1"
            )
    if depth > MAX_LEVELS:
        raise HierarchyError(f"{where}: the tree is deeper than {MAX_LEVELS} levels. Got {depth}")
    return rows


def _delimiter(text: str) -> str:
    """Find what separates the first leaf from its ancestors: ARX's semicolon, or a comma."""
    first = _FIRST_ROW.match(text)
    bare = _QUOTED.sub("", first[0] if first else "")
    return "," if "," in bare and ";" not in bare else ";"


def arx_root(rows: Sequence[Sequence[str]], where: str) -> RawNode:
    """Join rows of labels, leaf first and root last, to a tree.

    The same label may repeat along a row (ARX pads shallow leaves so). The last label must be the
    same in all rows, and a label must have one parent only.
    """
    tops = sorted({row[-1] for row in rows})
    if len(tops) > 1:
        raise HierarchyError(
            f"{where}: the last column must hold one root for all leaves. Got "
            f"{', '.join(map(repr, tops[:3]))}"
        )
    root = RawNode(tops[0])
    known: _Known = {}
    parents: dict[tuple[str, ...], RawNode] = {}
    leaves: set[str] = set()
    for number, row in enumerate(rows, start=1):
        line = f"{where}, line {number}"
        leaf, above = row[0], tuple(row[1:])
        if above not in parents:
            parents[above] = _arx_parent(root, above, known, line)
        if leaf in above and leaf != above[0]:
            raise _cycle(row, line)
        if leaf in leaves:
            raise HierarchyError(f"{line}: leaf {leaf!r} appears twice")
        leaves.add(leaf)
        parents[above].children.append(RawNode(leaf))
    return root


#: Inner nodes by level and label, each with the label of its parent.
_Known = dict[tuple[int, str], tuple[RawNode, str]]


def _arx_parent(root: RawNode, above: tuple[str, ...], known: _Known, line: str) -> RawNode:
    """Find or make the nodes called `above`, lowest first; return the lowest."""
    different = [label for i, label in enumerate(above) if i == 0 or label != above[i - 1]]
    if len(set(different)) < len(different):
        raise _cycle(above, line)
    node = root
    for level in range(len(above) - 2, -1, -1):
        label, parent = above[level], above[level + 1]
        if (level, label) not in known:
            child = RawNode(label)
            node.children.append(child)
            known[level, label] = child, parent
        node, earlier = known[level, label]
        if earlier != parent:
            raise HierarchyError(
                f"{line}: {label!r} lies under {parent!r} here and under {earlier!r} above; a "
                "node has one parent"
            )
    return node


def _cycle(labels: Sequence[str], line: str) -> HierarchyError:
    return HierarchyError(
        f"{line}: a label comes back above itself ({';'.join(labels)}), so the hierarchy has a "
        "cycle"
    )


def arx_text(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    """Write rows of labels so that `arx_rows` reads them back.

    A label with either delimiter is quoted, so that the other one cannot be taken for it.
    """
    return "".join(delimiter.join(map(_quoted, row)) + "\n" for row in rows)


def _quoted(label: str) -> str:
    if not any(sign in label for sign in ';,"\r\n'):
        return label
    return '"' + label.replace('"', '""') + '"'
