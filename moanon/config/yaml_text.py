"""Strict YAML: what a configuration file says, with the line where it says it.

YAML lets one text mean many things: ``No`` is a truth value, ``012`` is ten, a key given twice
counts once, an alias pastes what stands elsewhere. Here a file has one meaning: every scalar keeps
its written text, a plain one is also a number, truth value or null by the few rules of
`Scalar.value`, and anchors, aliases, merge keys, tags, directives, repeated keys and further
documents are refused with their line.

`read` and `parse` give a tree of `Section`, `Items` and `Scalar`; `override` changes one value in
it. `dump` writes values so that they are read back unchanged, here and by other readers; `quote`,
`key_lines` and `list_lines` are its parts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from moanon.errors import ConfigError

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "Items",
    "Node",
    "Scalar",
    "Section",
    "dump",
    "key_lines",
    "list_lines",
    "override",
    "parse",
    "path_text",
    "quote",
    "read",
]

#: Larger files are refused: a path that names a data file by mistake would be read for minutes.
MAX_BYTES = 1_000_000
#: Deeper nesting is refused; a configuration has four levels.
MAX_DEPTH = 16

_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
#: A leading zero is more often part of a code than of a number.
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
#: Python refuses to turn longer digit strings into integers.
_MAX_DIGITS = 4000

#: A key longer than this is written in YAML's other form; readers stop looking for its colon.
_MAX_SIMPLE_KEY = 900
_LINE_WIDTH = 100

#: Texts that need no quotes, here and in a reader of any YAML version.
_PLAIN = re.compile(r"[A-Za-z]([A-Za-z0-9_.()/+-]| (?=[A-Za-z0-9(/+-]))*")
_BARE_KEY = re.compile(r"[\w-]+")
_YAML_WORDS = frozenset(["true", "false", "yes", "no", "on", "off", "y", "n", "null"])
_OVERRIDE = re.compile(r'((?:"[^"]+"|[^".=]+)(?:\.(?:"[^"]+"|[^".=]+))*)=(.*)', re.DOTALL)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True)
class Scalar:
    """A single value as written.

    Attributes
    ----------
    text : str
        The text, without quotes.
    plain : bool
        Whether it was written without quotes, so that it may be more than text.
    line : int or None
        Line in its file; None where it comes from elsewhere.
    """

    text: str
    plain: bool = True
    line: int | None = None

    @property
    def value(self) -> str | int | float | bool | None:
        """What a plain scalar stands for.

        ``true``/``false``, ``null``/``~``/nothing, decimal integers without leading zeros, and
        decimal fractions (also ``1e3``). Everything else, and whatever is quoted, is text.
        """
        if not self.plain:
            return self.text
        if self.text in _WORDS:
            return _WORDS[self.text]
        if _INTEGER.fullmatch(self.text) and len(self.text) < _MAX_DIGITS:
            return int(self.text)
        if _FLOAT.fullmatch(self.text) and not _LEADING_ZERO.match(self.text):
            number = float(self.text)
            return number if math.isfinite(number) else self.text
        return self.text

    @property
    def empty(self) -> bool:
        """Whether nothing at all is written."""
        return self.plain and not self.text

    def __str__(self) -> str:
        if self.empty:
            return "nothing"
        return self.text if self.plain else quote(self.text, always=True)


@dataclass(frozen=True)
class Items:
    """A list."""

    items: tuple[Node, ...]
    line: int | None = None

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.items[:5]))
        return f"[{shown}, …]" if len(self.items) > 5 else f"[{shown}]"


@dataclass(frozen=True)
class Section:
    """A mapping; `key_lines` tells where each key stands."""

    entries: dict[str, Node]
    line: int | None = None
    key_lines: dict[str, int | None] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"a mapping of {', '.join(self.entries)}" if self.entries else "an empty mapping"


Node = Scalar | Items | Section


def read(path: str | Path) -> Node:
    """Read a YAML file.

    Raises
    ------
    ConfigError
        If the file cannot be read, is larger than `MAX_BYTES`, is not UTF-8, or is not strict YAML.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:  # what is read is bounded, whatever the path leads to
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"config file {path} does not exist") from None
    except OSError as error:
        raise ConfigError(f"config file {path} cannot be read: {error.strerror}") from None
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"config file {path} has more than {MAX_BYTES} bytes; is it a data file?")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line}: not UTF-8; save the file as UTF-8") from None
    return parse(text, str(path))


def parse(text: str, where: str = "config", *, lines: bool = True) -> Node:
    """Read YAML from a text.

    Parameters
    ----------
    text : str
        One document.
    where : str
        What to call it in errors.
    lines : bool
        Whether nodes remember their line; not for a text that is no file.
    """
    try:
        events = list(_checked_events(text, where))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(
            f"{where}, line {line}: the character U+{ord(text[error.position]):04X} is not allowed "
            "in YAML; write it as an escape in double quotes"
        ) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{where}, line {line}: not valid YAML: {error.problem}") from None
    if not events:
        raise ConfigError(f"{where} is empty")
    return _Builder(where, events, lines).build()


def _checked_events(text: str, where: str) -> Iterator[yaml.Event]:
    """Yield the events of one document's content; refuse what makes YAML more than a tree."""
    documents = depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        at = f"{where}, line {_line_of(event)}"
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise ConfigError(f"{at}: a second document begins; a config is a single one")
            if event.version or event.tags:
                raise ConfigError(f"{at}: directives (%YAML, %TAG) are not allowed")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise ConfigError(f"{at}: anchors and aliases (& and *) are not allowed; write it out")
        if getattr(event, "tag", None) is not None:
            raise ConfigError(f"{at}: tags (!) are not allowed")
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise ConfigError(f"{at}: nested more than {MAX_DEPTH} levels deep")
        if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            depth -= 1
        if isinstance(event, yaml.NodeEvent | yaml.MappingEndEvent | yaml.SequenceEndEvent):
            yield event


def _line_of(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


class _Builder:
    """Turns events into nodes; the depth is bounded, so plain recursion is safe."""

    def __init__(self, where: str, events: list[yaml.Event], lines: bool) -> None:
        self._where = where
        self._events = iter(events)
        self._lines = lines

    def build(self) -> Node:
        return self._node(next(self._events), ())

    def _line(self, event: yaml.Event) -> int | None:
        return _line_of(event) if self._lines else None

    def _at(self, event: yaml.Event) -> str:
        return f"{self._where}, line {_line_of(event)}"

    def _node(self, event: yaml.Event, path: tuple[str, ...]) -> Node:
        line = self._line(event)
        if isinstance(event, yaml.ScalarEvent):
            return Scalar(event.value, event.style is None, line)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Node] = []
            while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
                items.append(self._node(event, path))
            return Items(tuple(items), line)
        entries: dict[str, Node] = {}
        lines: dict[str, int | None] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._key(event, path, lines)
            lines[key] = self._line(event)
            entries[key] = self._node(next(self._events), (*path, key))
        return Section(entries, line, lines)

    def _key(self, event: yaml.Event, path: tuple[str, ...], seen: dict[str, int | None]) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise ConfigError(f"{self._at(event)}: a key must be a text, not a list or a mapping")
        key = event.value
        if event.style is None and key == "<<":
            raise ConfigError(f"{self._at(event)}: merge keys (<<) are not allowed; write it out")
        if event.style is None and not key:
            raise ConfigError(f"{self._at(event)}: a key is empty")
        if key in seen:
            first = f" (first in line {seen[key]})" if seen[key] else ""
            name = path_text((*path, key))
            raise ConfigError(f"{self._at(event)}: key {name} appears twice{first}")
        return key


def override(tree: Section, setting: str) -> Section:
    """Return the tree with one value replaced or added.

    Parameters
    ----------
    tree : Section
        What the file says; it is left as it is.
    setting : str
        ``key.path=value``; the value is read as YAML. A key with dots stands in double quotes.

    Raises
    ------
    ConfigError
        If the setting is not of that form, or leads through something that is no section.

    Examples
    --------
    >>> print(override(parse("problem: {eta: 0.1}"), "problem.eta=0.2").entries["problem"].entries)
    {'eta': Scalar(text='0.2', plain=True, line=None)}
    """
    match = _OVERRIDE.fullmatch(setting)
    if not match:
        raise ConfigError(f"--set must be key.path=value, e.g. problem.eta=0.1. Got {setting!r}")
    path = [part.strip('"') for part in re.findall(r'"[^"]+"|[^".]+', match[1])]
    value = parse(match[2], f"--set {match[1]}", lines=False) if match[2].strip() else Scalar("")
    return _replaced(tree, path, value, 0)


def _replaced(node: Node, path: list[str], value: Node, depth: int) -> Section:
    if not isinstance(node, Section):
        raise ConfigError(
            f"--set {path_text(path)}: {path_text(path[:depth])} is a single value, not a section"
        )
    key = path[depth]
    lines = {**node.key_lines, key: None}
    if depth < len(path) - 1:
        value = _replaced(node.entries.get(key, Section({})), path, value, depth + 1)
        lines[key] = node.key_lines.get(key)
    return Section({**node.entries, key: value}, node.line, lines)


def path_text(path: Sequence[str]) -> str:
    """Write a key's path with dots; a part that has dots itself, or is odd, in quotes."""
    return ".".join(
        part if _BARE_KEY.fullmatch(part) else quote(part, always=True) for part in path
    )


# -- writing -------------------------------------------------------------------------------------


def dump(values: Mapping[str, object], indent: str = "") -> str:
    """Write nested mappings, lists of single values and single values.

    Examples
    --------
    >>> print(dump({"a": {"b": [1, "No"], "c": None}}), end="")
    a:
      b: [1, "No"]
      c: null
    """
    lines: list[str] = []
    for key, value in values.items():
        lines += key_lines(key, indent)
        if isinstance(value, Mapping):
            lines.append(dump(value, indent + "  ").rstrip("\n") if value else indent + "  {}")
        elif isinstance(value, list | tuple):
            lines += list_lines(f"{lines.pop()} [", [_single(item) for item in value])
        else:
            lines[-1] += f" {_single(value)}"
    return "\n".join(lines) + "\n"


def key_lines(key: str, indent: str) -> list[str]:
    """Write a key, up to its colon."""
    text = quote(key)
    if len(text) > _MAX_SIMPLE_KEY:
        return [f"{indent}? {text}", f"{indent}:"]
    return [f"{indent}{text}:"]


def list_lines(start: str, items: Sequence[str]) -> list[str]:
    """Write a list of written items in lines of at most 100 characters, where the items allow."""
    lines, indent = [start], " " * (len(start) - len(start.lstrip()) + 2)
    for i, item in enumerate(items):
        text = item + ("," if i < len(items) - 1 else "")
        if i and len(lines[-1]) + len(text) + 2 > _LINE_WIDTH:
            lines.append(indent + text)
        else:
            lines[-1] += f" {text}" if i else text
    lines[-1] += "]"
    return lines


def _single(value: object) -> str:
    if isinstance(value, str):
        return quote(value)
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    return repr(value)


def quote(text: str, *, always: bool = False) -> str:
    """Write a text as a one-line YAML scalar, in double quotes where it needs them.

    Quotes are also set where only other YAML readers would see a number or a truth value, so that
    the file says the same to all of them.

    Examples
    --------
    >>> quote("Some-college"), quote("No"), quote("01"), quote("a: b")
    ('Some-college', '"No"', '"01"', '"a: b"')
    """
    if not always and _PLAIN.fullmatch(text) and text.lower() not in _YAML_WORDS:
        return text
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\U{code:08x}"
