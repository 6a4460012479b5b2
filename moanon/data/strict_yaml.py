"""Strict YAML: what a file says, with the line where it says it, and one way to write it.

YAML lets one text mean many things: ``No`` is a truth value, ``012`` is ten, a key given twice
counts once, an alias pastes what stands elsewhere. Here a file has one meaning: every scalar keeps
its written text, a plain one is also a number, truth value or null by the few rules of
`YamlNode.value`, and anchors, aliases, repeated keys, further documents and texts that no file can
hold are refused with their line. Configurations and hierarchies are read so, each with its own
limits and in its own words.

`parse` gives a tree of `YamlNode`. `dump` writes values so that they are read back unchanged, here
and by other readers; `dump_nodes` does the same for a tree of PyYAML's nodes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from moanon.errors import MoanonError

_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
#: A leading zero is more often part of a code than of a number.
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
#: Python refuses to turn longer digit strings into integers.
_MAX_DIGITS = 4000
#: Half of a character, which Python's texts can hold and UTF-8 cannot.
HALF = re.compile("[\ud800-\udfff]")

_BARE_KEY = re.compile(r"[\w-]+")


@dataclass(frozen=True)
class YamlNode:
    """A value as written: a single one's text without quotes, a list, or a mapping."""

    content: str | tuple[YamlNode, ...] | dict[str, YamlNode]
    line: int | None = None  # in its file; None where it comes from elsewhere
    key_line: int | None = None  # of the key whose value it is
    plain: bool = True  # whether a text has no quotes, so that it may be more than text
    option: str = ""  # the override that it comes from

    @property
    def value(self) -> str | int | float | bool | None:
        """What a single value stands for.

        ``true``/``false``, ``null``/``~``/nothing, decimal integers without leading zeros, and
        decimal fractions (also ``1e3``). Everything else, and whatever is quoted, is text.
        """
        text = self.content
        assert isinstance(text, str)
        if not self.plain:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text) and len(text) < _MAX_DIGITS:
            return int(text)
        if _FLOAT.fullmatch(text) and not _LEADING_ZERO.match(text):
            number = float(text)
            return number if math.isfinite(number) else text
        return text

    @property
    def empty(self) -> bool:
        """Whether nothing at all is written."""
        return self.plain and self.content == ""

    def __str__(self) -> str:
        if self.empty:
            return "nothing"
        if isinstance(self.content, str):
            return self.content if self.plain else quoted(self.content)
        if isinstance(self.content, dict):
            keys = ", ".join(self.content)
            return f"a mapping of {keys}" if keys else "an empty mapping"
        shown = ", ".join(map(str, self.content[:5]))
        return f"[{shown}, …]" if len(self.content) > 5 else f"[{shown}]"


# -- reading -------------------------------------------------------------------------------------


def parse(
    text: str,
    where: str,
    error: type[MoanonError],
    refusals: Mapping[str, str],
    max_depth: int,
    *,
    lines: bool = True,
) -> YamlNode | None:
    """Read YAML from a text, which errors call `where`; None if it holds nothing.

    `refusals` has what is said of a second ``document``, an ``alias`` or anchor, a ``key`` that is
    no text, one that stands ``twice`` (`name`, `path` and `first` can be inserted) and a value that
    lies too ``deep``. The others are refused only if something is said of them: a ``directive``, a
    ``tag``, a ``merge`` key and an ``empty`` one. At most `max_depth` lists and mappings may lie
    inside one another; a mapping that is an item of a list lies as deep as the list. Nodes remember
    their `lines`, unless the text is no file. What is no YAML raises ``yaml.YAMLError``.
    """
    return _Builder(text, where, error, refusals, max_depth, lines).document()


@dataclass
class _Builder:
    """Turns events into nodes; the depth is bounded, so plain recursion is safe."""

    text: str
    where: str
    error: type[MoanonError]
    refusals: Mapping[str, str]
    max_depth: int
    lines: bool

    def document(self) -> YamlNode | None:
        root = None
        self._events = self._checked_events()
        for event in self._events:
            root = self._node(event, (), 1, None)
        return root

    def _checked_events(self) -> Iterator[yaml.Event]:
        """Yield the events of one document's content."""
        documents = 0
        for event in yaml.parse(self.text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                self._refuse("document", event, documents > 1)
                self._refuse("directive", event, bool(event.version or event.tags))
            self._refuse("alias", event, getattr(event, "anchor", None) is not None)
            self._refuse("tag", event, getattr(event, "tag", None) is not None)
            if isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
                yield event

    def _refuse(self, what: str, event: yaml.Event, applies: bool, **inserted: str) -> None:
        if applies and what in self.refusals:
            sentence = self.refusals[what].format(**inserted)
            raise self.error(f"{self.where}, line {_line_of(event)}: {sentence}")

    def _node(
        self, event: yaml.Event, path: tuple[str, ...], depth: int, key_line: int | None
    ) -> YamlNode:
        line = _line_of(event) if self.lines else None
        if isinstance(event, yaml.ScalarEvent):
            self._refuse_halves(event)
            return YamlNode(event.value, line, key_line, event.style is None)
        self._refuse("deep", event, depth > self.max_depth)
        if isinstance(event, yaml.SequenceStartEvent):
            items = []
            while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
                deeper = not isinstance(event, yaml.MappingStartEvent)
                items.append(self._node(event, path, depth + deeper, None))
            return YamlNode(tuple(items), line, key_line)
        entries: dict[str, YamlNode] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._key(event, path, entries)
            at = _line_of(event) if self.lines else None
            entries[key] = self._node(next(self._events), (*path, key), depth + 1, at)
        return YamlNode(entries, line, key_line)

    def _key(self, event: yaml.Event, path: tuple[str, ...], known: dict[str, YamlNode]) -> str:
        self._refuse("key", event, not isinstance(event, yaml.ScalarEvent))
        assert isinstance(event, yaml.ScalarEvent)
        self._refuse_halves(event)
        key: str = event.value
        self._refuse("merge", event, event.style is None and key == "<<")
        self._refuse("empty", event, event.style is None and not key)
        if key in known:
            line = known[key].key_line
            first = f" (first in line {line})" if line else ""
            names = {"name": repr(key), "path": path_text((*path, key)), "first": first}
            self._refuse("twice", event, True, **names)
        return key

    def _refuse_halves(self, event: yaml.ScalarEvent) -> None:
        """Refuse what an escape can write and UTF-8 cannot."""
        if half := HALF.search(event.value):
            raise self.error(
                f"{self.where}, line {_line_of(event)}: the escape of U+{ord(half[0]):04X} is half "
                "a character, which no file can hold; write the whole character"
            )


def _line_of(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


# -- writing -------------------------------------------------------------------------------------


class _Dumper(yaml.SafeDumper):
    """Mappings as blocks, lists in brackets, double quotes: they alone keep every line end."""

    def represent_sequence(self, tag: str, sequence: Any, flow_style: Any = None) -> Any:
        return super().represent_sequence(tag, sequence, flow_style=True)

    def choose_scalar_style(self) -> Any:
        style = super().choose_scalar_style()
        return '"' if style == "'" else style

    def ignore_aliases(self, data: Any) -> bool:
        return True


# A text that is read as a number here must be quoted, also where PyYAML's own reader takes 1e3 for
# text.
_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(f"{_FLOAT.pattern}$"), list("+-.0123456789")
)


def dump(values: Mapping[str, object]) -> str:
    """Write nested mappings, lists of single values and single values.

    Examples
    --------
    >>> print(dump({"a": {"b": [1, "No", "1e3", "1st"], "c": None}}), end="")
    a:
      b: [1, "No", "1e3", 1st]
      c: null
    """
    text: str = yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def dump_nodes(root: yaml.Node) -> str:
    """Write a tree of PyYAML's nodes."""
    text: str = yaml.serialize(root, Dumper=_Dumper, allow_unicode=True, width=100)
    return text


def quoted(text: str) -> str:
    """Write a text in double quotes, in one line."""
    line: str = yaml.dump(text, default_style='"', allow_unicode=True, width=math.inf)
    return line.rstrip("\n")


def path_text(path: Sequence[str]) -> str:
    """Write a key's path with dots; a part that has dots itself, or is odd, in quotes."""
    return ".".join(part if _BARE_KEY.fullmatch(part) else quoted(part) for part in path)
