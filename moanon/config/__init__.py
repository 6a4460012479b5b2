"""Configurations: YAML → validated models → a table ready to be searched.

A configuration has six sections: `name`, `data` (what to read), `columns` (what the columns are),
`problem` (what to optimize), `search` (how, and how long) and `output` (where to). Nothing in it is
guessed: an unknown key is an error, and so is a value of another type than the key's. Each error is
one sentence with the file and the key; where several things are wrong, the first in the file is
stated and the others are counted.

Paths of data and hierarchies are relative to the configuration file and become absolute, so that
the resolved text (`Config.to_yaml`) can be run from anywhere. The output folder is relative to the
folder where the command runs. Names of embedded tables, hierarchies and orders win over files:
``adult`` is the embedded table, ``./adult`` a file.

- `Config`: the whole, with `Config.load`, `Config.from_dict`, `Config.read_table` and
  `Config.instance`.
- `DataSection`, `ColumnSection`, `ProblemSection`, `SearchSection`, `OutputSection` in
  ``sections``: its parts, with every key's type, bounds and default.
- `config_schema`: the same as a JSON schema, for editors.
- ``reading`` reads the file, checks single values, and says what is wrong.
- `write_starter` in ``starter``: a first configuration for a table that nobody has described yet,
  by what its columns seem to be (``guessing``); `make_hierarchy` there makes trees by a rule.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError, model_validator

from moanon import datasets
from moanon.config.reading import first_error, nearest, plain_values, read, refusal
from moanon.config.sections import (
    STRICT,
    ColumnSection,
    DataSection,
    Name,
    OutputSection,
    ProblemSection,
    SearchSection,
)
from moanon.data.cell_reading import FormKeys
from moanon.data.domain import DomainSpec
from moanon.data.populations import SubpopulationSpec
from moanon.data.rules import declared_texts
from moanon.data.strict_yaml import HALF, YamlNode, dump, path_text
from moanon.data.table import Role, Table
from moanon.engines import read_table
from moanon.errors import ConfigError, ImpossibleError, SearchError
from moanon.measures import MEASURES, find_measure
from moanon.measures.measure import table_sizes
from moanon.measures.suppression import find_preset
from moanon.search.algorithms import ALGORITHMS, AUTO, check_fit

if TYPE_CHECKING:
    from moanon.genome import Instance

__all__ = [
    "ColumnSection",
    "Config",
    "DataSection",
    "OutputSection",
    "ProblemSection",
    "SearchSection",
    "check_reach",
    "config_schema",
    "name_from",
]


#: What a measure or a preset wants of the columns.
_NEEDS = {
    "sensitive": "needs a column with the role sensitive",
    "tree": "needs a quasi column of the kind tree",
    "label": "needs class_column, the column of class labels",
    "weights": "needs a quasi column with a weight",
    "populations": "needs a column with the role sensitive",
}


class Config(BaseModel):
    """A whole configuration, checked and resolved.

    Examples
    --------
    >>> config = Config.from_dict(
    ...     {
    ...         "data": {"source": "adult"},
    ...         "columns": {"sex": {"role": "quasi", "kind": "ordered", "order": "adult/sex"}},
    ...     }
    ... )
    >>> config.columns["sex"].order, config.problem.preset, config.problem.eta
    (('Female', 'Male'), 'k-suppression', 0.0)
    """

    model_config = STRICT

    name: Name = "unnamed"
    """Names the results folder. Default: the name of this file."""
    data: DataSection
    """What to read."""
    columns: dict[str, ColumnSection]
    """Every column that matters, by its name."""
    problem: ProblemSection = ProblemSection(eta=0.0)
    """What to optimize."""
    search: SearchSection = SearchSection()
    """How, and how long."""
    output: OutputSection = OutputSection()
    """Where results go."""

    @model_validator(mode="after")
    def _check_roles(self) -> Config:
        roles = {column.role for column in self.columns.values()}
        if "quasi" not in roles:
            raise refusal("no column has the role quasi; there is nothing to generalize", "columns")
        self._check_class_column()
        if self.problem.preset == "kl-safety" and "sensitive" not in roles:
            raise refusal(f"the preset kl-safety {_NEEDS['sensitive']}", "problem.preset")
        self._check_measures()
        algorithm, recoding = self.search.algorithm, self.problem.recoding
        if algorithm != AUTO and ALGORITHMS[algorithm].recoding != recoding:
            raise refusal(
                f"the algorithm {algorithm} is for the other kind of recoding. Got "
                f"problem.recoding {recoding}; leave the algorithm to auto",
                "search.algorithm",
            )
        self._check_fit()
        for name, column in self.columns.items():
            if column.labels == "sets" and not self.problem.has_boxes:
                raise refusal(
                    "sets are for local recodings, where every group has labels of its own: say "
                    f"problem.recoding local. Got {recoding}",
                    f"columns.{name}.labels",
                )
        return self

    def _check_fit(self) -> None:
        """Refuse objectives, constraints and directions that the algorithm cannot take."""
        search, problem = self.search, self.problem
        if search.algorithm == AUTO:
            return
        number = len(problem.objectives or find_preset(problem.preset).objectives)
        given = search.population, search.partitions
        try:
            check_fit(search.algorithm, number, *given, constrained=bool(problem.constraints))
        except SearchError as error:
            raise refusal(str(error), "search.algorithm") from None

    def _check_class_column(self) -> None:
        name = self.problem.class_column
        if name is None:
            return
        if name not in self.columns:
            raise refusal(
                f"class_column names {name}, which is not declared{nearest(name, self.columns)}",
                "problem.class_column",
            )
        if (role := self.columns[name].role) not in ("sensitive", "insensitive"):
            raise refusal(
                "class_column must be released as it is: a sensitive or insensitive column. Got "
                f"{name}, which is {role}",
                "problem.class_column",
            )

    def _check_measures(self) -> None:
        """Refuse measures that the columns have nothing for."""
        problem = self.problem
        named = [("objective", "objectives", name) for name in problem.objectives or ()]
        named += [("constraint", "constraints", name) for name in problem.constraints or ()]
        if problem.suppress_by is not None:
            named.append(("measure", "suppress_by", problem.suppress_by))
        if not named:
            return
        columns = self.columns.values()
        has = {
            "": True,
            "sensitive": any(column.role == "sensitive" for column in columns),
            "tree": any(column.role == "quasi" and column.kind == "tree" for column in columns),
            "label": problem.class_column is not None,
            "weights": any(column.weight is not None for column in columns),
            "populations": any(column.role == "sensitive" for column in columns),
        }
        for what, key, name in named:
            need = MEASURES[name].requires
            if not has[need]:
                raise refusal(f"the {what} {name} {_NEEDS[need]}", f"problem.{key}")

    def __repr__(self) -> str:
        """One line, without the values that orders and ranges name."""
        return f"Config({self.name!r}, {self.data.source!r}, {len(self.columns)} columns)"

    __str__ = __repr__

    # -- reading ---------------------------------------------------------------------------------

    @classmethod
    def load(
        cls,
        path: str | Path,
        sets: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> Config:
        """Read a YAML file; what is unknown, impossible or contradictory is a ConfigError.

        `sets` are overrides ``key.path=value``, of which later ones win; `options` are further ones
        by the names that errors about them state. `content` is what the file holds, where it has
        been read already.
        """
        path = Path(path)
        tree = read(path, sets, options, content)
        given = plain_values(tree, _MODELS)
        given.setdefault("name", name_from(path))
        return cls._build(given, path.absolute().parent, tree, str(path))

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any], base_dir: str | Path = ".") -> Config:
        """Build a configuration from Python values; paths are relative to `base_dir`."""
        return cls._build(dict(mapping), Path(base_dir).absolute(), None, "")

    @classmethod
    def _build(cls, given: dict[str, Any], base: Path, tree: YamlNode | None, where: str) -> Config:
        output = given.setdefault("output", {})
        if isinstance(output, Mapping) and output.get("dir") is None:
            given["output"] = {**output, "dir": f"results/{given.get('name', 'unnamed')}"}
        try:
            config = cls.model_validate(given, context={"base": base})
        except ValidationError as error:
            raise first_error(error, _MODELS, tree, where) from None
        # As given, too: pydantic writes a key with half a character as another key.
        for path, text in chain(_texts(given), _texts(config._resolved())):
            if HALF.search(text):  # before a search whose results could not be written
                key = f"{where + ': ' if where else ''}{path_text(path)}"
                raise ConfigError(f"{text!a} holds half a character, as no file can ({key})")
        return config

    # -- writing ---------------------------------------------------------------------------------

    def to_yaml(self) -> str:
        """Write the resolved configuration: every default stated, every path absolute."""
        return dump(self._resolved())

    def _resolved(self) -> dict[str, Any]:
        resolved: dict[str, Any] = self.model_dump(mode="json", exclude_none=True)
        return resolved

    @property
    def digest(self) -> str:
        """SHA-256 of the resolved configuration; the order of its columns does not matter."""
        text = json.dumps(self._resolved(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    # -- using -----------------------------------------------------------------------------------

    @property
    def roles(self) -> dict[str, Role]:
        """Role of each declared column."""
        return {name: Role(column.role) for name, column in self.columns.items()}

    def specs(self) -> dict[str, DomainSpec]:
        """Declared domain of each quasi-identifier; reads the hierarchies."""
        return self._specs("quasi")

    def distances(self) -> dict[str, DomainSpec]:
        """Sensitive columns that say how far apart their values are; reads the hierarchies."""
        return self._specs("sensitive")

    def _specs(self, role: str) -> dict[str, DomainSpec]:
        described = {n: c for n, c in self.columns.items() if c.role == role and c.kind is not None}
        return {name: column.spec(self.data) for name, column in described.items()}

    @property
    def hierarchy_files(self) -> tuple[Path, ...]:
        """Files that hierarchies are read from; embedded ones have none."""
        named = [c.hierarchy for c in self.columns.values() if isinstance(c.hierarchy, str)]
        return tuple(Path(name) for name in named if name not in datasets.hierarchy_names())

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each quasi-identifier that has one."""
        return {name: c.weight for name, c in self.columns.items() if c.weight is not None}

    @property
    def bounds(self) -> dict[str, float]:
        """Bound of each measure that has one, in its better direction."""
        constraints = self.problem.constraints or {}
        return {name: float(*bound.values()) for name, bound in constraints.items()}

    def read_table(self, needed: Sequence[str] = ()) -> Table:
        """Read the declared columns and resolve their missing values.

        `needed` names identifying columns that are read all the same.
        """
        data = self.data
        return read_table(
            datasets.load(data.source) if data.source in datasets.names() else data.source,
            self.roles,
            missing=data.missing,
            missing_tokens=data.missing_tokens,
            name=data.source,
            memory=data.memory,
            table=data.table,
            query=data.query,
            order_by=data.order_by or (),
            needed=needed,
            **self.form,
        )

    @property
    def form(self) -> FormKeys:
        """How the source is written and its texts are read; reads hierarchies that spell them."""
        form = self.data.form
        if self.data.normalize:
            specs = {**self.specs(), **self.distances()}
            form["spellings"] = {name: declared_texts(spec) for name, spec in specs.items()}
        return form

    def instance(self, needed: Sequence[str] = ()) -> Instance:
        """Read the table, build the domains and count the cells; see `read_table`."""
        specs = self.specs()  # first, because a wrong hierarchy shows sooner than a large table
        return self.instance_of(self.read_table(needed), specs)

    def instance_of(self, table: Table, specs: Mapping[str, DomainSpec] | None = None) -> Instance:
        """Build the domains of a table that has been read, and count its cells.

        `specs` are those of `specs`, where the hierarchies have been read already.
        """
        from moanon.genome import Instance  # here, because it waits for the compiler

        least = self.problem.min_support
        return Instance.build(
            table,
            self.specs() if specs is None else specs,
            distances=self.distances(),
            weights=self.weights,
            label=self.problem.class_column,
            subpopulation_spec=None if least is None else SubpopulationSpec(least, self.ancestors),
        )

    @property
    def ancestors(self) -> dict[str, tuple[int, ...]]:
        """Widths of ranges of each quasi-identifier that has some."""
        return {name: c.ancestors for name, c in self.columns.items() if c.ancestors is not None}


def _texts(values: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every text in nested mappings and lists, keys included, with the key it stands at."""
    if isinstance(values, str):
        yield path, values
    elif isinstance(values, Mapping):
        for key, value in values.items():
            yield (*path, key), key
            yield from _texts(value, (*path, key))
    elif isinstance(values, Sequence):
        for value in values:
            yield from _texts(value, path)


_MODELS: dict[str, type[BaseModel]] = {
    "": Config,
    "data": DataSection,
    "columns": ColumnSection,
    "problem": ProblemSection,
    "search": SearchSection,
    "output": OutputSection,
}


def config_schema() -> dict[str, Any]:
    """JSON schema of a configuration file, for editors that complete and check YAML."""
    schema = Config.model_json_schema()
    for model in _MODELS.values():
        section = schema if model is Config else schema["$defs"][model.__name__]
        for key, description in _descriptions(model):
            section["properties"][key]["description"] = description
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _descriptions(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield each key of a model that has a text below it, with that text.

    pydantic can take descriptions from there as well, but would read the source at every import.
    """
    source = ast.parse(inspect.getsource(model)).body[0]
    assert isinstance(source, ast.ClassDef)
    for key, below in pairwise(source.body):
        if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield key.target.id, " ".join(text.split())


def check_reach(bounds: Mapping[str, float], instance: Instance) -> None:
    """Refuse bounds that no generalization of a table can meet."""
    sizes = table_sizes(instance)
    for name, bound in bounds.items():
        measure = find_measure(name)
        if (limit := measure.beyond(bound, sizes, only_unmet=True)) is not None:
            side = "at least" if measure.direction == "max" else "at most"
            raise ImpossibleError(
                f"no release of this table of {instance.cells.rows:,} rows can have {name} {side} "
                f"{bound:g}: it is {limit}"
            )


def name_from(path: Path) -> str:
    """Make a configuration's name from a file's."""
    name = re.sub(r"[^\w.-]+", "-", path.stem).strip(".-")[:100]
    return name or "unnamed"
