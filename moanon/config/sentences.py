"""What is wrong with a configuration, in one sentence with the file and the key.

`plain` turns a tree of YAML nodes into the values that the models check; `first_error` turns the
models' complaints into an error that a publisher can act on.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from moanon.config.rules import Rule, nearest
from moanon.config.sections import TEXT_KEYS
from moanon.config.yaml_text import Items, Node, Scalar, Section, path_text
from moanon.errors import ConfigError

__all__ = ["first_error", "plain", "refuse_empty"]

KeyPath = tuple[str, ...]
_MAX_SHOWN = 80
_OUT_OF_BOUNDS = {"greater_than", "greater_than_equal", "less_than", "less_than_equal"}


def refuse_empty(node: Node, where: str, path: KeyPath = ()) -> None:
    """Refuse a key without a value, which is a line left unfinished more often than a null."""
    if isinstance(node, Scalar):
        if node.empty:
            at = f"{where}, line {node.line}" if node.line else "--set"
            raise ConfigError(f"{at}: {path_text(path)} has no value; an empty text is written ''")
    elif isinstance(node, Items):
        for item in node.items:
            refuse_empty(item, where, path)
    else:
        for key, below in node.entries.items():
            refuse_empty(below, where, (*path, key))


def plain(node: Node, path: KeyPath = ()) -> Any:
    """Return what a node stands for: its written text where the key wants one, else its value."""
    if isinstance(node, Section):
        return {key: plain(below, (*path, key)) for key, below in node.entries.items()}
    if isinstance(node, Items):
        return [plain(item, (*path, "*")) for item in node.items]
    if not _wants_text(path):
        return node.value
    # In a list even `null` is a text; a single key is set back to its default by it.
    return None if path[-1] != "*" and node.value is None else node.text


def _wants_text(path: KeyPath) -> bool:
    return path in TEXT_KEYS or (
        len(path) > 2 and path[0] == "columns" and ("columns", "*", *path[2:]) in TEXT_KEYS
    )


def first_error(
    error: ValidationError,
    models: dict[str, type[BaseModel]],
    tree: Section | None,
    where: str,
) -> ConfigError:
    """Put the first complaint, in the order of the file, into a sentence.

    Parameters
    ----------
    error : ValidationError
        What pydantic found.
    models : dict of str to type of BaseModel
        The model of each section; the whole under the empty name.
    tree : Section, optional
        What the file says; None where there was no file.
    where : str
        Name of the file; may be empty.
    """
    complaints: dict[KeyPath, _Complaint] = {}
    for details in error.errors(include_url=False):
        complaint = _Complaint(details, models, tree, where)
        known = complaints.setdefault(complaint.path, complaint)
        if complaint.precision > known.precision:  # a union complains once for each member
            complaints[complaint.path] = complaint
    first, *others = sorted(complaints.values(), key=lambda complaint: complaint.rank)
    more = f" (and {len(others)} more error{'s' * (len(others) > 1)})" if others else ""
    return ConfigError(first.sentence() + more)


@dataclass(frozen=True)
class _Complaint:
    """One thing that pydantic found wrong."""

    details: ErrorDetails
    models: dict[str, type[BaseModel]]
    tree: Section | None
    where: str

    @property
    def _context(self) -> dict[str, Any]:
        return self.details.get("ctx", {}) if self.details["type"] == "moanon" else {}

    @property
    def _key_depth(self) -> int:
        """Number of parts in the path of a key: what lies deeper is inside its value."""
        section = self.details["loc"][0] if self.details["loc"] else ""
        return 1 if section == "name" else 3 if section == "columns" else 2

    @property
    def path(self) -> KeyPath:
        """The key in question."""
        path = tuple(map(str, self.details["loc"][: self._key_depth]))
        key = self._context.get("key")
        return (*path, *key.split(".")) if key else path

    @property
    def precision(self) -> tuple[bool, bool]:
        """Which of a union's complaints says most: about an item, about a bound."""
        inside = any(isinstance(part, int) for part in self.details["loc"][self._key_depth :])
        return inside, self.details["type"] in {*_OUT_OF_BOUNDS, "moanon"}

    def _locate(self) -> tuple[Node | None, int | None]:
        """Find the value and its line; of an absent key, the line of what should hold it."""
        node: Node | None = self.tree
        line = self.tree.line if self.tree else None
        for part in self.path:
            if not isinstance(node, Section) or part not in node.entries:
                return None, line
            line, node = node.key_lines.get(part), node.entries[part]
        return node, line

    @property
    def rank(self) -> float:
        """Place in the file; what comes from elsewhere comes last."""
        line = self._locate()[1]
        return float("inf") if line is None else line

    def sentence(self) -> str:
        key, (_, line) = path_text(self.path), self._locate()
        where = "--set" if self.tree and line is None else self.where
        if self.details["type"] == "extra_forbidden":
            at = f"{where}, line {line}: " if line else f"{where}: " if where else ""
            return f"{at}unknown key {key}{self._nearest_key()}"
        if self.details["type"] == "missing" and len(self.details["loc"]) <= self._key_depth:
            at = f"{where}: " if where else ""
            return f"{at}key {key} is missing; it must be {self._rule().wanted}"
        return f"{self._value_sentence()} ({where + ': ' if where else ''}{key})"

    def _value_sentence(self) -> str:
        name = self.path[-1] if self.path else "a configuration"
        context, rule = self._context, self._rule()
        if context.get("sentence"):
            about = "" if context.get("key") else f"{name} "
            return f"{about}{context['sentence']}"
        wanted = f"{rule.wanted} {rule.bounds}".strip()
        if self.details["type"] in _OUT_OF_BOUNDS and rule.bounds:
            wanted = rule.bounds
        shown = self._shown()
        return f"{name} must be {wanted}. Got {shown}{nearest(shown, rule.choices)}"

    def _shown(self) -> str:
        node = self._locate()[0]
        for part in self.details["loc"][self._key_depth :]:
            if isinstance(node, Items) and isinstance(part, int) and part < len(node.items):
                node = node.items[part]
        text = repr(self.details["input"]) if node is None else str(node)
        return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"

    def _section(self) -> type[BaseModel]:
        """The model that holds the last part of the path."""
        return self.models[self.path[0] if len(self.path) > 1 else ""]

    def _rule(self) -> Rule:
        """What the key wants; a whole section wants to be a mapping."""
        field = self._section().model_fields.get(self.path[-1] if self.path else "")
        is_key = len(self.path) == self._key_depth
        rules = [rule for rule in field.metadata if isinstance(rule, Rule)] if field else []
        return rules[0] if rules and is_key else Rule("a mapping of keys to values")

    def _nearest_key(self) -> str:
        """Name the key that was probably meant: a similar one here, or the same one elsewhere."""
        *parents, key = self.path
        here = list(self._section().model_fields)
        near = difflib.get_close_matches(key, here, n=1, cutoff=0.6)
        if near:
            return f"; did you mean {path_text((*parents, near[0]))}?"
        for name, model in self.models.items():
            if key in model.model_fields and name not in {"", "columns", *parents}:
                return f"; did you mean {name}.{key}?"
        return f"; known here are {', '.join(here)}"
