"""Hierarchies as text: nested YAML mappings and ARX's tables, read into plain nodes and written.

Nothing here knows what a tree is for; `moanon.data.hierarchy` checks the nodes and cuts the tree.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

import yaml

from moanon.data.strict_yaml import dump_nodes
from moanon.errors import ConfigError

#: Deeper trees are refused: each level is a full-domain generalization of its own, so that a
#: mistake in a file would otherwise cost levels times leaves.
MAX_LEVELS = 256

_QUOTED = re.compile('"[^"]*"')
_FIRST_ROW = re.compile('(?:"[^"]*"|[^"\\r\\n])*')


#: A node as written, before it is checked: its name and its children.
RawNode = tuple[str, list["RawNode"]]


# -- YAML ----------------------------------------------------------------------------------------


def yaml_text(names: Sequence[str], children: Sequence[Sequence[int]]) -> str:
    """Write a tree whose nodes stand in pre-order as a nested mapping, leaves as a list."""
    below: dict[int, yaml.Node] = {}
    for node in reversed(range(len(names))):
        if not children[node]:
            below[node] = yaml.ScalarNode("tag:yaml.org,2002:null", "")
        elif any(children[child] for child in children[node]):
            pairs = [(_text_node(names[child]), below[child]) for child in children[node]]
            below[node] = yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=False)
        else:
            leaves = [_text_node(names[child]) for child in children[node]]
            below[node] = yaml.SequenceNode("tag:yaml.org,2002:seq", leaves, flow_style=True)
    root = [(_text_node(names[0]), below[0])]
    return dump_nodes(yaml.MappingNode("tag:yaml.org,2002:map", root, flow_style=False))


def _text_node(text: str) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", text)


# -- Python's mappings and lists -----------------------------------------------------------------


def nested_root(
    name: str, children: Mapping[str, object] | Sequence[object], where: str
) -> RawNode:
    """Build nodes from mappings and lists as YAML would give them."""
    return name, _nested_children(children, where, 2)


def _nested_children(
    children: Mapping[str, object] | Sequence[object], where: str, level: int
) -> list[RawNode]:
    if level > MAX_LEVELS:  # also where a list contains itself
        raise ConfigError(f"{where}: the tree is deeper than {MAX_LEVELS} levels")
    below: list[RawNode] = []
    items = children.items() if isinstance(children, Mapping) else ((c, None) for c in children)
    for name, value in items:
        if isinstance(name, Mapping):
            below.extend(_nested_children(name, where, level))
        elif not isinstance(name, str):
            raise ConfigError(f"{where}: a node's name must be text. Got {name!r}")
        elif value is None:
            below.append((name, []))
        elif isinstance(value, Mapping) or (
            isinstance(value, Sequence) and not isinstance(value, str)
        ):
            below.append((name, _nested_children(value, where, level + 1)))
        else:
            raise ConfigError(f"{where}: below {name!r} must be a mapping, a list or nothing")
    return below


# -- ARX -----------------------------------------------------------------------------------------


def arx_rows(text: str, where: str) -> list[list[str]]:
    """Split an ARX file into rows of equal length, one for each leaf."""
    try:
        # newline="": line ends inside a quoted name stay as they are, like those in the data.
        stream = io.StringIO(text, newline="")
        rows = list(csv.reader(stream, delimiter=_delimiter(text), strict=True))
    except csv.Error as error:
        raise ConfigError(f"{where} is not a valid CSV file: {error}") from None
    while rows and not any(rows[-1]):
        rows.pop()
    if not rows:
        raise ConfigError(f"{where} is empty; a hierarchy needs at least one leaf")
    depth = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != depth:
            raise ConfigError(
                f"{where}, line {number}: a ragged hierarchy: {len(row)} levels here, {depth} in "
                "line 1"
            )
    if depth > MAX_LEVELS:
        raise ConfigError(f"{where}: the tree is deeper than {MAX_LEVELS} levels. Got {depth}")
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
        raise ConfigError(
            f"{where}: the last column must hold one root for all leaves. Got "
            f"{', '.join(map(repr, tops[:3]))}"
        )
    root: RawNode = (tops[0], [])
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
            raise ConfigError(f"{line}: leaf {leaf!r} appears twice")
        leaves.add(leaf)
        parents[above][1].append((leaf, []))
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
            child: RawNode = (label, [])
            node[1].append(child)
            known[level, label] = child, parent
        node, earlier = known[level, label]
        if earlier != parent:
            raise ConfigError(
                f"{line}: {label!r} lies under {parent!r} here and under {earlier!r} above; a "
                "node has one parent"
            )
    return node


def _cycle(labels: Sequence[str], line: str) -> ConfigError:
    return ConfigError(
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
