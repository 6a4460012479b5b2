"""From a configuration file to the values that models check, and from their complaints back to it.

`read` gives what a file and its overrides say, line by line; `plain_values` turns that into plain
values, which the checks of single values refuse (`refusal`) or resolve; `first_error` turns a
model's complaints into one sentence with the file and the key.
"""

from __future__ import annotations

import difflib
import glob
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from moanon import datasets
from moanon.atomic import checked_path
from moanon.data import strict_yaml
from moanon.data.cell_reading import checked_encoding
from moanon.data.rules import checked_rule
from moanon.data.strict_yaml import YamlNode, path_text
from moanon.data.table import is_address
from moanon.engines.addresses import refuse_password
from moanon.errors import ConfigError, DataError, got
from moanon.measures import MEASURES
from moanon.measures.measure import LARGEST, SYNONYMS, is_number

#: Larger files are refused: a path that names a data file by mistake would be read for minutes.
MAX_BYTES = 1_000_000
#: Deeper nesting is refused; a configuration has four levels.
MAX_DEPTH = 16
#: How files of hierarchies end.
TREE_FILES = (".yaml", ".yml", ".csv")

_REFUSALS = {
    "document": "a second document begins; a config is a single one",
    "directive": "directives (%YAML, %TAG) are not allowed",
    "alias": "anchors and aliases (& and *) are not allowed; write it out",
    "tag": "tags (!) are not allowed",
    "key": "a key must be a text, not a list or a mapping",
    "merge": "merge keys (<<) are not allowed; write it out",
    "empty": "a key is empty",
    "twice": "key {path} appears twice{first}",
    "deep": f"nested more than {MAX_DEPTH} levels deep",
}
_OVERRIDE = re.compile(r'((?:"[^"]+"|[^".=]+)(?:\.(?:"[^"]+"|[^".=]+))*)=(.*)', re.DOTALL)
_MAX_SHOWN = 80
#: What types of JSON are called.
_TYPES = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
}
_OUT_OF_BOUNDS = {"greater_than", "greater_than_equal", "less_than", "less_than_equal"}

KeyPath = tuple[str, ...]
#: The model of each section; that of the whole under the empty name.
Models = Mapping[str, type[BaseModel]]

#: What errors call a value that does not come from the file, but from a parameter.
OVERRIDE = "sets=…"


# -- what a file says ----------------------------------------------------------------------------


def read(
    path: Path,
    sets: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> YamlNode:
    """Read a configuration file, a mapping, and override some of its values.

    `options` are overrides with names of their own, which errors state. `content` is what the file
    holds, where it has been read already.
    """
    raw = _bytes_of(path) if content is None else content
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"config file {path} has more than {MAX_BYTES} bytes; is it a data file?")
    try:
        tree = parse(raw.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line}: not UTF-8; save the file as UTF-8") from None
    if not isinstance(tree.content, dict):
        raise ConfigError(f"{path} must be a mapping with the keys data and columns. Got {tree}")
    for setting in sets:
        changed = override(tree, setting)
        _refuse_new_column(tree, changed, setting)
        tree = changed
    for option, setting in (options or {}).items():
        tree = override(tree, setting, option)
    _refuse_empty(tree, str(path))
    return tree


def _bytes_of(path: Path) -> bytes:
    checked_path(path, ConfigError, special=True)
    try:
        with path.open("rb") as stream:  # what is read is bounded, whatever the path leads to
            return stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"config file {path} does not exist") from None
    except OSError as error:
        raise ConfigError(f"config file {path} cannot be read: {error.strerror}") from None


def parse(text: str, where: str = "config", *, lines: bool = True) -> YamlNode:
    """Read a text as a configuration file is read; without `lines` where it is no file."""
    try:
        tree = strict_yaml.parse(text, where, ConfigError, _REFUSALS, MAX_DEPTH, lines=lines)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(
            f"{where}, line {line}: the character U+{ord(text[error.position]):04X} is not allowed "
            "in YAML; write it as an escape in double quotes"
        ) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{where}, line {line}: not valid YAML: {error.problem}") from None
    if tree is None:
        raise ConfigError(f"{where} is empty")
    return tree


def override(tree: YamlNode, setting: str, option: str = OVERRIDE) -> YamlNode:
    """Return a tree with one value replaced or added, as ``key.path=value`` says.

    The value is read as YAML. A key with dots stands in double quotes. `option` is what a complaint
    about the value names.

    Examples
    --------
    >>> override(parse("problem: {eta: 0.1}"), "problem.eta=0.2").content["problem"].content["eta"]
    YamlNode(content='0.2', line=None, key_line=None, plain=True, option='sets=…')
    """
    match = _OVERRIDE.fullmatch(setting)
    if not match:
        raise ConfigError(
            f"{OVERRIDE} must be key.path=value, e.g. problem.eta=0.1. Got {setting!r}"
        )
    path = [part.strip('"') for part in re.findall(r'"[^"]+"|[^".]+', match[1])]
    value = (
        parse(match[2], f"{option} {match[1]}", lines=False) if match[2].strip() else YamlNode("")
    )
    return _replaced(tree, path, replace(value, option=option), 0)


def _replaced(node: YamlNode, path: Sequence[str], value: YamlNode, depth: int) -> YamlNode:
    if depth == len(path):
        return value
    if not isinstance(node.content, dict):
        raise ConfigError(
            f"{value.option} {path_text(path)}: {path_text(path[:depth])} is a single value, not a "
            "section"
        )
    below = node.content.get(path[depth], YamlNode({}))
    return replace(
        node, content={**node.content, path[depth]: _replaced(below, path, value, depth + 1)}
    )


def _refuse_new_column(before: YamlNode, after: YamlNode, setting: str) -> None:
    """Refuse an override of a key of a column that the file does not declare."""
    old, new = (_entries(tree).get("columns") for tree in (before, after))
    if old is not None and isinstance(old.content, dict):
        for name in _entries(new).keys() - old.content.keys():
            key = path_text(("columns", name))
            known = [path_text(("columns", declared)) for declared in old.content]
            raise ConfigError(f"{OVERRIDE} {setting}: unknown key {key}{nearest(key, known)}")


def _refuse_empty(node: YamlNode, where: str, path: KeyPath = ()) -> None:
    """Refuse a key without a value, which is a line left unfinished more often than a null."""
    if node.empty:
        at = f"{where}, line {node.line}" if node.line else OVERRIDE
        raise ConfigError(f"{at}: {path_text(path)} has no value; an empty text is written ''")
    for key, below in _entries(node).items():
        _refuse_empty(below, where, (*path, key))
    for item in node.content if isinstance(node.content, tuple) else ():
        _refuse_empty(item, where, path)


def _entries(node: YamlNode | None) -> dict[str, YamlNode]:
    """Entries of a mapping; none of anything else."""
    return node.content if node is not None and isinstance(node.content, dict) else {}


# -- values for the models -------------------------------------------------------------------------


def plain_values(node: YamlNode, models: Models, path: KeyPath = ()) -> Any:
    """Return what a node stands for: its written text where the key wants one, else its value."""
    if isinstance(node.content, dict):
        return {k: plain_values(below, models, (*path, k)) for k, below in node.content.items()}
    if isinstance(node.content, tuple):
        return [plain_values(item, models, (*path, "*")) for item in node.content]
    types = _types_wanted(models, path)
    # `No` and `01` are no truth value and no number where a text is wanted and neither of those.
    if str not in types or int in types or float in types:
        return node.value
    if bool in types and path[-1] != "*" and isinstance(node.value, bool):
        return node.value
    # In a list even `null` is a text; a single key is set back to its default by it.
    return None if path[-1] != "*" and node.value is None else node.content


def _types_wanted(models: Models, path: KeyPath) -> set[Any]:
    """All types that the value of a key may have or hold."""
    model, depth = models.get(_section(path)), _key_depth(path)
    if model is None or len(path) < depth or path[depth - 1] not in model.model_fields:
        return set()
    return set(_types(model.model_fields[path[depth - 1]].annotation))


def _types(annotation: Any) -> Iterator[Any]:
    yield annotation
    for inner in get_args(annotation):
        yield from _types(inner)


def _section(path: Sequence[str]) -> str:
    return path[0] if len(path) > 1 else ""


def _key_depth(path: Sequence[str | int]) -> int:
    """Number of parts in the path of a key: what lies deeper is inside its value."""
    section = path[0] if path else ""
    return 1 if section == "name" else 3 if section == "columns" else 2


# -- checks of single values -----------------------------------------------------------------------


def find_source(source: str, info: ValidationInfo) -> str:
    """Keep the name of an embedded table and addresses; make a path or glob absolute."""
    if is_address(source):
        try:
            refuse_password(source)
        except DataError as error:
            raise refusal(f"must not hold a password: {error}") from None
        return source
    return source if source in datasets.names() else _absolute(source, info)


def check_encoding(name: str) -> str:
    """Accept the name of an encoding."""
    try:
        checked_encoding(name)
    except DataError:
        raise refusal() from None
    return name


def check_folder(folder: str) -> str:
    """Accept what a folder can be called."""
    try:
        checked_path(folder, ConfigError)
    except ConfigError as error:
        raise refusal(f"must be the path of a folder, and {error}") from None
    return folder


def find_hierarchy(name: str | dict[str, Any], info: ValidationInfo) -> str | dict[str, Any]:
    """Check a rule; keep the name of an embedded hierarchy; make a path absolute."""
    if isinstance(name, dict):
        try:
            return checked_rule(name)
        except DataError as error:
            raise refusal(str(error)) from None
    if name in datasets.hierarchy_names():
        return name
    if not name.lower().endswith(TREE_FILES):
        raise refusal(choices=datasets.hierarchy_names())
    return _absolute(name, info)


def _absolute(path: str, info: ValidationInfo) -> str:
    base = (info.context or {}).get("base", Path.cwd())
    plain: str = os.path.normpath(base / path)
    if glob.has_magic(path) and not os.path.lexists(plain):
        # The folder's own brackets are no pattern.
        return os.path.normpath(os.path.join(glob.escape(str(base)), path))  # noqa: PTH118
    return plain


def find_order(order: object) -> object:
    """Replace the name of an embedded order by its values."""
    if not isinstance(order, str):
        return order
    if order not in datasets.order_names():
        raise refusal(choices=datasets.order_names())
    return tuple(datasets.order(order))


def check_distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Accept a list that names nothing twice."""
    for value, times in Counter(values).items():
        if times > 1:
            raise refusal(f"names {value} twice")
    return values


def check_date(text: str) -> str:
    """Accept a day of the calendar."""
    try:
        date.fromisoformat(text)
    except ValueError:
        raise refusal() from None
    return text


def check_range(ends: tuple[Any, Any]) -> tuple[Any, Any]:
    """Accept two numbers or two dates, the lower one first."""
    low, high = ends
    if isinstance(low, str) != isinstance(high, str) or low > high:
        raise refusal()
    return ends


def check_objectives(names: tuple[str, ...]) -> tuple[str, ...]:
    """Accept measures, each once."""
    chosen = tuple(SYNONYMS.get(name, name) for name in names)
    for name in chosen:
        if name not in MEASURES:
            known = ", ".join(MEASURES)
            raise refusal(f"must be among {known}. Got {name}{nearest(name, MEASURES)}")
    return check_distinct(chosen)


def check_suppress_by(name: str) -> str:
    """Accept a measure that every group has a value of."""
    known = [measure.name for measure in MEASURES.values() if measure.group]
    if name not in known:
        raise refusal(f"must be among {', '.join(known)}. Got {name}{nearest(name, known)}")
    return name


def check_constraints(given: object) -> object:
    """Accept bounds such as ``{k: {min: 5}, t_closeness: {max: 0.2}}``.

    A measure that is better the higher it is has a least value, the others a largest one. A bound
    that no value could break or meet, whatever the table, is a mistake.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise refusal()
    for synonym, known in SYNONYMS.items():
        if synonym in given and known in given:
            raise refusal(f"name {synonym} and {known}, which are the same")
    given = {SYNONYMS.get(name, name): bound for name, bound in given.items()}
    for name, bound in given.items():
        if name not in MEASURES:
            near = nearest(str(name), MEASURES) or f". Known: {', '.join(MEASURES)}"
            raise refusal(f"names {name}, which is no measure{near}")
        better = MEASURES[name].direction
        side = "min" if better == "max" else "max"
        wanted = f"the bound of {name} must be {{{side}: a number}}, because"
        why = "more is better" if better == "max" else "less is better"
        if not isinstance(bound, Mapping) or set(bound) != {side}:
            raise refusal(f"are wrong: {wanted} {why}. Got {_bound_text(bound)}")
        value = bound[side]
        if not is_number(value, math.inf) or value in (math.inf, -math.inf):
            raise refusal(f"are wrong: {wanted} {why}. Got {_bound_text(bound)}")
        limit = MEASURES[name].beyond(value)
        if limit is None and not is_number(value):
            limit = f"at most {LARGEST:g} in any table"
        if limit is not None:
            raise refusal(f"are wrong: {name} is {limit}. Got {_bound_text(bound)}")
    return {str(name): dict(bound) for name, bound in given.items()}


def _bound_text(bound: object) -> str:
    if isinstance(bound, Mapping):
        entries = (f"{key}: {_scalar(value)}" for key, value in bound.items())
        return "{" + ", ".join(entries) + "}"
    return got(bound)


def _scalar(value: object) -> str:
    """Write a value as YAML does, without quotes."""
    return got(value).strip("'") if isinstance(value, str) else got(value)


# -- complaints ----------------------------------------------------------------------------------


def refusal(sentence: str = "", key: str = "", choices: Sequence[str] = ()) -> PydanticCustomError:
    """Refuse a value: as not what its key wants, or with a sentence of its own about `key`.

    Of `choices` the one is named that was probably meant.
    """
    context = {"sentence": sentence, "key": key, "choices": choices}
    return PydanticCustomError("moanon", "{sentence}", context)


def nearest(text: str, known: Iterable[str]) -> str:
    """End a sentence with the known name that looks most like `text`, if one does."""
    near = difflib.get_close_matches(text, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


def first_error(
    error: ValidationError, models: Models, tree: YamlNode | None, where: str
) -> ConfigError:
    """Put the first complaint, in the order of the file, into a sentence.

    Where there was no file, the tree is None and its name, `where`, is empty.
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
    models: Models
    tree: YamlNode | None
    where: str

    @property
    def _context(self) -> dict[str, Any]:
        return self.details.get("ctx", {}) if self.details["type"] == "moanon" else {}

    @property
    def _inside(self) -> tuple[int | str, ...]:
        """Where in the key's value the fault lies."""
        return self.details["loc"][_key_depth(self.details["loc"]) :]

    @property
    def path(self) -> KeyPath:
        """The key in question."""
        loc = self.details["loc"]
        path = tuple(map(str, loc[: _key_depth(loc)]))
        key = self._context.get("key")
        return (*path, *key.split(".")) if key else path

    @property
    def precision(self) -> tuple[bool, bool]:
        """Which of a union's complaints says most: about an item, about a bound."""
        is_item = any(isinstance(part, int) for part in self._inside)
        return is_item, self.details["type"] in {*_OUT_OF_BOUNDS, "moanon"}

    def _locate(self) -> tuple[YamlNode | None, int | None]:
        """Find the value and its line; of an absent key, the line of what should hold it."""
        node, line = self.tree, self.tree.line if self.tree else None
        for part in self.path:
            node = _entries(node).get(part)
            if node is None:
                return None, line
            line = node.key_line
        return node, line

    @property
    def rank(self) -> float:
        """Place in the file; what comes from elsewhere comes last."""
        line = self._locate()[1]
        return float("inf") if line is None else line

    def sentence(self) -> str:
        key, (node, line) = path_text(self.path), self._locate()
        where = (
            (node.option if node else "") or OVERRIDE if self.tree and line is None else self.where
        )
        if self.details["type"] == "extra_forbidden":
            at = f"{where}, line {line}: " if line else f"{where}: " if where else ""
            return f"{at}unknown key {key}{self._nearest_key()}"
        if self.details["type"] == "missing" and not self._inside:
            at = f"{where}: " if where else ""
            return f"{at}key {key} is missing; it must be {self._wanted()[0]}"
        return f"{self._value_sentence()} ({where + ': ' if where else ''}{key})"

    def _value_sentence(self) -> str:
        name = self.path[-1] if self.path else "a configuration"
        if sentence := self._context.get("sentence"):
            return sentence if self._context["key"] else f"{name} {sentence}"
        words, bounds, choices = self._wanted()
        out_of_bounds = bounds and self.details["type"] in _OUT_OF_BOUNDS
        wanted = bounds if out_of_bounds else f"{words} {bounds}".strip()
        shown = self._shown()
        return f"{name} must be {wanted}. Got {shown}{nearest(shown, choices)}"

    def _shown(self) -> str:
        node = self._locate()[0]
        for part in self._inside:
            if node and isinstance(node.content, tuple) and isinstance(part, int):
                node = node.content[part] if part < len(node.content) else node
        text = got(self.details["input"]) if node is None else str(node)
        return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"

    def _wanted(self) -> tuple[str, str, Sequence[str]]:
        """What the key wants: in words, its bounds, its choices; a section wants a mapping."""
        model = self.models[_section(self.path)]
        if len(self.path) != _key_depth(self.path) or self.path[-1] not in model.model_fields:
            return "a mapping of keys to values", "", ()
        for word in model.model_fields[self.path[-1]].metadata:
            if isinstance(word, str):
                return word, "", self._context.get("choices", ())
        schema = model.model_json_schema()["properties"][self.path[-1]]
        options = [s for s in schema.get("anyOf", [schema]) if s.get("type") != "null"]
        words = " or ".join(map(_in_words, options))
        return words, _bounds(options[0]), options[0].get("enum", ())

    def _nearest_key(self) -> str:
        """Name the key that was probably meant: a similar one here, or the same one elsewhere."""
        *parents, key = self.path
        here = list(self.models[_section(self.path)].model_fields)
        near = difflib.get_close_matches(key, here, n=1, cutoff=0.6)
        if near:
            return f"; did you mean {path_text((*parents, near[0]))}?"
        for name, model in self.models.items():
            if key in model.model_fields and name not in {"", "columns", *parents}:
                return f"; did you mean {name}.{key}?"
        return f"; known here are {', '.join(here)}"


def _in_words(schema: Mapping[str, Any]) -> str:
    """Say what a JSON schema wants."""
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if schema["type"] == "array":
        return f"a list of {_in_words(schema['items']).removeprefix('a ')}s"
    return _TYPES.get(schema.get("type", ""), "something else")


def _bounds(schema: Mapping[str, Any]) -> str:
    """Say between what the numbers of a JSON schema lie."""
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    high, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    if high is None and below is None:
        return f">= {low}" if low is not None else f"> {above}" if above is not None else ""
    left = f"[{low}" if low is not None else f"({above}"
    return f"in {left}, {high}]" if high is not None else f"in {left}, {below})"
