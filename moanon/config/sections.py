"""The sections of a configuration: every key, its type, its bounds and its default.

What a key wants is stated once, by its type; `moanon.config.reading` puts it into words where
something else was given. Where the type does not say it all, a text among its annotations does.
The text below a key describes it, here and in the JSON schema. What depends on several keys is
checked when each of them is right by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    WithJsonSchema,
    model_validator,
)

from moanon import datasets
from moanon.config.reading import (
    TREE_FILES,
    check_constraints,
    check_date,
    check_distinct,
    check_encoding,
    check_folder,
    check_objectives,
    check_range,
    check_suppress_by,
    find_hierarchy,
    find_order,
    find_source,
    refusal,
)
from moanon.data.cell_reading import FormKeys, Notation
from moanon.data.domain import DomainSpec, IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.data.populations import MIN_SUPPORT
from moanon.data.rules import rule_of, takes_steps
from moanon.data.steps import DATE_UNITS, DateUnit, Kind
from moanon.data.table import MissingPolicy, is_address
from moanon.engines.opening import MEMORY
from moanon.measures.suppression import MOST_RECURSIVE_C
from moanon.search.algorithms import (
    ALGORITHMS,
    AUTO,
    AUTO_EXHAUSTIVE,
    DEFAULT_EVALUATIONS,
    MOST_EVALUATIONS,
    PER_BIT,
    STALL_FROM,
    STALLED,
    Recoding,
    foreign_settings,
)

#: No unknown keys, no conversions, no changes.
STRICT = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

#: Which keys describe which kind of domain.
_KIND_KEYS = {
    "interval": (
        *("granularity", "range", "outside", "origin", "type"),
        *("format", "decimal", "thousands", "unit"),
    ),
    "ordered": ("order",),
    "tree": ("hierarchy", "labels"),
}
#: Those that a rule for steps takes, too.
_STEP_KEYS = set(_KIND_KEYS["interval"]) - {"granularity"}
_WITH_ETA = ("k-suppression", "kl-safety")


T = TypeVar("T")
#: More would take more years, or more memory, than anybody has.
Count = Annotated[int, Field(ge=1, le=10**15)]
Probability = Annotated[float, Field(ge=0, le=1)]
Eta = Annotated[float, Field(ge=0, lt=1)]
#: A sign within numbers; between thousands there may be none.
Sign = Annotated[str, Field(pattern="^[^0-9A-Za-z+-]?$")]
Date = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), AfterValidator(check_date)]
Place = int | float | Date
Several = Annotated[
    tuple[T, ...], Strict(False), Field(min_length=1), AfterValidator(check_distinct)
]
#: What can be the name of a folder.
Name = Annotated[
    str, Field(pattern=r"^\w[\w.-]{0,99}$"), "a name of letters, digits, '.', '_' and '-'"
]
#: The registered algorithms, and what chooses among them.
_ALGORITHMS = (AUTO, *ALGORITHMS)
if TYPE_CHECKING:
    _Algorithm = str
else:
    _Algorithm = Literal[_ALGORITHMS]
#: Lists of texts: in YAML their items may look like numbers.
_TEXT_LIST: dict[str, Any] = {
    "type": "array",
    "items": {"type": ["string", "number", "boolean", "null"]},
}
#: What editors know; the measures' names are left to `check_constraints`.
_CONSTRAINTS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "properties": {"min": {"type": "number"}, "max": {"type": "number"}},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    },
}
#: A file or an embedded hierarchy, or a rule.
_RULE_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {
                "mask": {"enum": ["right", "left"]},
                "dates": {"type": "array", "items": {"enum": list(DATE_UNITS)}},
                "intervals": {"type": "array", "items": {"type": "number"}},
                "group": {"type": "object"},
                "rest": {"type": "string"},
                "frequency": {"type": "integer"},
            },
            "additionalProperties": False,
        },
        {"type": "null"},
    ],
    "default": None,
}


# -- sections ------------------------------------------------------------------------------------


class DataSection(BaseModel):
    """What to read, and what to do where values are missing."""

    model_config = STRICT

    source: Annotated[
        str,
        Field(min_length=1),
        AfterValidator(find_source),
        f"an embedded table ({', '.join(datasets.names())}), a file, a folder, a glob or the "
        "address of a database",
    ]
    """An embedded table (adult, adult-full, credit) or a CSV or Parquet file, folder or glob,
    relative to this file. An embedded name wins; ./adult is the file. Or the address of a database,
    such as postgres://reader@host/people, a password in it as ${NAME}."""
    missing: MissingPolicy = "error"
    """Rows with a missing value: drop them (they are counted), keep missing as a category of its
    own, or stop with an error (the default)."""
    missing_tokens: Annotated[
        tuple[str, ...], Strict(False), WithJsonSchema(_TEXT_LIST), 'a list of texts, e.g. ["", NA]'
    ] = ("",)
    """Texts that mean 'no value'."""
    delimiter: Annotated[
        Annotated[str, Field(pattern='^[^"\r\n]$')] | None,
        'one character, no quote and no line end, e.g. ";"',
    ] = None
    """What separates the fields of a CSV file. Default: found by itself."""
    encoding: Annotated[
        Annotated[str, AfterValidator(check_encoding)] | None,
        "the name of an encoding, e.g. utf-8, latin-1 or cp1252",
    ] = None
    """How a CSV file writes characters as bytes. Default: utf-8."""
    sheet: Annotated[str | None, "the name of a sheet"] = None
    """Of an Excel file. Default: its only sheet."""
    header: Annotated[
        bool | Literal["numbered"] | Several[str] | None,
        "true or false, numbered, or a list of names",
    ] = None
    """Whether the first line of a CSV or Excel file names the columns (true, the default). If not
    (false) they are called c1, c2, …, or as a list here says. numbered: it does, but a name that
    was there before gets a number (age, age.2), and a column without one is called by its place."""
    trim: bool | None = None
    """Whether blanks around the cells of a CSV file are no part of them. Default: they are."""
    normalize: bool | None = None
    """Whether texts, in any column and of any source, are one value if they differ only in white
    space, invisible characters, Unicode form (NFKC) or case. It is read, and released, as the
    order or hierarchy of its column spells it; where there is none, in lower case (casefolded),
    with one blank between words. Default: they are different values, and check and run name
    the columns that have such."""
    decimal: Annotated[Sign | None, 'one sign, e.g. ","'] = None
    """What stands before the fraction of numbers in texts. Default: a point."""
    thousands: Annotated[Sign | None, 'one sign, e.g. "."'] = None
    """What stands between groups of three digits in texts. Default: nothing."""
    memory: Annotated[
        Annotated[str, Field(pattern=MEMORY.pattern)] | None, "an amount such as 500MB or 2GB"
    ] = None
    """How much memory the engine that reads files may use. Default: 500MB."""
    table: Annotated[str | None, "the name of a table"] = None
    """Of a database: the table that is read, with its schema if need be."""
    query: Annotated[str | None, "a query in SQL"] = None
    """Of a database, instead of a table: the query whose rows are read."""
    order_by: Annotated[Several[str] | None, "a list of columns"] = None
    """Of a database: columns that give released rows their order. Default: what they show."""

    @property
    def form(self) -> FormKeys:
        """How files are written, as far as it is said here."""
        keys = ("delimiter", "sheet", "encoding", "header", "trim", "normalize")
        given = {key: value for key in keys if (value := getattr(self, key)) is not None}
        return cast(FormKeys, given)

    @model_validator(mode="after")
    def _check_database(self) -> DataSection:
        """A database has a table or a query, and nothing else has."""
        given = [key for key in ("table", "query", "order_by") if getattr(self, key) is not None]
        if not is_address(self.source):
            if given:
                raise refusal(f"{given[0]} is for databases, and the source is none", given[0])
        elif len({"table", "query"} & set(given)) != 1:
            raise refusal("a database needs a table or a query: one of them", "table")
        return self


class ColumnSection(BaseModel):
    """What a column is: its role and, for a quasi-identifier, its domain."""

    model_config = STRICT

    role: Literal["identifying", "quasi", "sensitive", "insensitive"]
    """identifying: dropped on release. quasi: generalized. sensitive: kept, to be protected.
    insensitive: kept. A column that is not declared is dropped."""
    kind: Literal["interval", "ordered", "tree"] | None = None
    """Of a quasi column: numbers or dates, categories in order, or a tree. Of a sensitive column,
    where t-closeness should know how far apart its values are: numbers and categories by their
    places, in a tree by its heights. Default: all equally far."""
    granularity: Annotated[
        Annotated[int, Field(gt=0)] | Annotated[float, Field(gt=0)] | DateUnit | None,
        f"a number > 0 or, for dates, one of {', '.join(DATE_UNITS)}",
    ] = None
    """Width of a step of an interval column. Default 1; decimals need one."""
    range: Annotated[
        Annotated[tuple[Place, Place], Strict(False), AfterValidator(check_range)] | None,
        "two numbers or two dates (YYYY-MM-DD), the lower one first",
    ] = None
    """First and last value of an interval column. Default: from the data."""
    outside: Literal["clamp"] | None = None
    """What happens to values outside the range: clamp shows them as <first and >=last. Default:
    they are an error."""
    origin: Annotated[Place | None, "a number or a date (YYYY-MM-DD)"] = None
    """Where a step begins. Default: at the range's first value, else 0."""
    type: Kind | None = None
    """Of an interval column. Default: the narrowest that fits all values."""
    format: Annotated[
        Annotated[str, Field(pattern="%")] | None, 'a format of dates, e.g. "%d.%m.%Y"'
    ] = None
    """How the dates of an interval column are written, in the letters of strptime: %d day, %m
    month, %Y year, %b Jan, %H:%M time. Default: 2020-01-31. What is released is written so."""
    decimal: Annotated[Sign | None, 'one sign, e.g. ","'] = None
    """As data.decimal, for this column."""
    thousands: Annotated[Sign | None, 'one sign, e.g. "."'] = None
    """As data.thousands, for this column; an empty text is none."""
    unit: Annotated[Annotated[str, Field(min_length=1)] | None, "a text, e.g. € or kg"] = None
    """What may stand before or after the numbers of an interval column."""
    order: Annotated[
        Several[str] | None,
        BeforeValidator(find_order),
        WithJsonSchema({"anyOf": [_TEXT_LIST, {"type": "string"}]}),
        f"a list of texts or an embedded order ({', '.join(datasets.order_names())})",
    ] = None
    """Of an ordered column: all its values, lowest first, or adult/education."""
    hierarchy: Annotated[
        Annotated[str | dict[str, Any], AfterValidator(find_hierarchy)] | None,
        WithJsonSchema(_RULE_SCHEMA),
        f"an embedded hierarchy ({', '.join(datasets.hierarchy_names())}), a "
        f"{', '.join(TREE_FILES)} file, or a rule such as {{mask: right}}",
    ] = None
    """Of a tree column: an embedded hierarchy such as adult/workclass, a YAML or ARX CSV file,
    relative to this file, or a rule that makes one from the values: {mask: right} for codes,
    {dates: [month, year]}, {intervals: [5, 10, 50]}, {group: {North: [a, b]}, rest: Other},
    {frequency: 4} to merge rare values first."""
    labels: Literal["nodes", "sets"] | None = None
    """Of a tree column in a local recoding, what a group may show: one node of the tree, or a set
    of neighbouring ones such as {Married, Widowed}, which loses less. Default: nodes."""
    weight: Annotated[float, Field(ge=0)] | None = None
    """Of a quasi column: what it counts in weighted losses (gl_weighted, loss_weighted, ncp).
    Default 1. If any column has one, presets minimize weighted losses."""
    ancestors: Annotated[
        Annotated[tuple[Annotated[int, Field(ge=2)], ...], Strict(False)] | None,
        "a list of widths of at least 2 steps or values, e.g. [5, 10, 20]",
    ] = None
    """Of an interval or ordered quasi column: widths of the ranges, in steps or values, that u_loss
    and moanon frontier know besides single ones. Default: 2, 4, 8, ... steps of an interval, none
    of an order."""

    @model_validator(mode="after")
    def _check_keys(self) -> ColumnSection:
        """Each role and kind has its own keys."""
        described = ("kind", *(key for keys in _KIND_KEYS.values() for key in keys))
        given = [key for key in described if getattr(self, key) is not None]
        if given and self.role not in ("quasi", "sensitive"):
            only = f"{given[0]} is for quasi and sensitive columns only. Got role {self.role}"
            raise refusal(only, given[0])
        if self.weight is not None and self.role != "quasi":
            raise refusal(f"weight is for quasi columns only. Got role {self.role}", "weight")
        if self.ancestors is not None and (self.role != "quasi" or self.kind == "tree"):
            raise refusal("ancestors are of interval and ordered quasi columns only", "ancestors")
        of_steps = isinstance(self.hierarchy, dict) and takes_steps(self.hierarchy)
        if self.labels is not None and self.role != "quasi":
            raise refusal(f"labels are for quasi columns only. Got role {self.role}", "labels")
        for owner, keys in _KIND_KEYS.items():
            for key in keys:
                if of_steps and key in _STEP_KEYS:
                    continue
                if key in given and self.kind not in (None, owner):
                    raise refusal(f"{key} is for kind {owner} only. Got kind {self.kind}", key)
        if self.kind is None:
            if not given and self.role != "quasi":
                return self
            wanted = f"a {self.role} column is interval, ordered or tree"
            raise refusal(f"kind is missing; {wanted}", "kind")
        if self.outside is not None and self.range is None:
            raise refusal("outside needs a range, e.g. range: [20, 90]", "outside")
        if self.kind == "ordered" and self.order is None:
            raise refusal("order is missing; an ordered column lists its values", "order")
        if self.kind == "tree" and self.hierarchy is None:
            raise refusal("hierarchy is missing; a tree column names its tree", "hierarchy")
        return self

    def spec(self, data: DataSection | None = None) -> DomainSpec:
        """Declare the domain of this column, which has a kind; reads the hierarchy.

        The section of the data says how numbers are written where the column does not.
        """
        if self.order is not None:
            return OrderedSpec(self.order)
        if self.hierarchy is None:
            return self._interval(data)
        if isinstance(self.hierarchy, dict):
            rule = rule_of(self.hierarchy, self._interval(data))
            return TreeSpec(rule, sets=self.labels == "sets")
        embedded = self.hierarchy in datasets.hierarchy_names()
        path = datasets.hierarchy_path(self.hierarchy) if embedded else Path(self.hierarchy)
        return TreeSpec(Hierarchy.read(path), sets=self.labels == "sets")

    def _interval(self, data: DataSection | None) -> IntervalSpec:
        notation = Notation(
            _first(self.decimal, data.decimal if data else None, "."),
            _first(self.thousands, data.thousands if data else None, ""),
            self.unit or "",
            self.format,
        )
        return IntervalSpec(
            self.granularity, self.range, self.origin, self.type, self.outside, notation
        )


def _first(*given: str | None) -> str:
    """The first of some texts that is given."""
    return next(text for text in given if text is not None)


#: Keys of a problem that are for some presets alone.
_OWNERS = {
    "prefer": ("kl-safety",),
    "safety": ("kl-safety",),
    "suppress_by": ("k-suppression", "any-suppression"),
}


class ProblemSection(BaseModel):
    """What to optimize: one of D's four problems, perhaps with other objectives."""

    model_config = STRICT

    preset: Literal["zero-suppression", "k-suppression", "any-suppression", "kl-safety"] = (
        "k-suppression"
    )
    """Which rows may be suppressed, and the objectives unless given."""
    eta: Eta | Several[Eta] | None = None
    """Largest share of rows that may be suppressed (k-suppression, kl-safety). Default 0. A list:
    one run for each."""
    recoding: Recoding = "global"
    """global: one generalization of each column for the whole table. local: every group has blocks
    of its own, which loses less at the same k, but the labels of a column overlap."""
    objectives: Annotated[
        Annotated[Several[str], AfterValidator(check_objectives)] | None,
        "a list of measures, e.g. [k, gl]",
    ] = None
    """Measures to optimize instead of the preset's."""
    constraints: Annotated[
        dict[str, dict[str, float]] | None,
        BeforeValidator(check_constraints),
        WithJsonSchema(_CONSTRAINTS_SCHEMA),
        "bounds of measures, e.g. {k: {min: 5}, t_closeness: {max: 0.2}}",
    ] = None
    """What a solution must have, e.g. {k: {min: 5}, t_closeness: {max: 0.2}}. Groups that fail a
    privacy model are suppressed within eta; if they hold more rows than that, the generalization is
    no solution."""
    suppress_by: Annotated[
        Annotated[str, AfterValidator(check_suppress_by)] | None,
        "a measure that every group has a value of, e.g. t_closeness",
    ] = None
    """Of k-suppression: by which measure groups are suppressed, the worst first. Default: the first
    objective that every group has a value of, else k. Of any-suppression, k (default) or l: groups
    smaller, or less diverse, than the mean over rows are suppressed."""
    class_column: Annotated[str | None, "the name of a column"] = None
    """Column of class labels, for the measure cm. Sensitive or insensitive."""
    recursive_c: Annotated[float, Field(gt=0, le=MOST_RECURSIVE_C)] = 3.0
    """The constant c of recursive (c,l)-diversity."""
    min_support: Annotated[float, Field(gt=0, le=1)] | None = None
    """For the measure u_loss: least share of the rows that makes a subpopulation large. Default:
    0.05 where u_loss is an objective or has a bound; otherwise it is not measured."""
    prefer: Literal["k", "l"] | None = None
    """Of kl-safety: which property counts first. Default k."""
    safety: Literal["ordered", "strict"] | None = None
    """Of kl-safety: suppress groups in order (as the paper does), or every group below either
    threshold. Default strict."""
    diversity: Literal["distinct", "frequency"] = "distinct"
    """How l is counted: distinct values, or size / largest count."""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, given: Any) -> Any:
        """Give the preset's own keys their defaults; the others stay unset."""
        if not isinstance(given, Mapping):
            return given
        stated = {key: value for key, value in given.items() if value is not None}
        preset = stated.get("preset", "k-suppression")
        defaults: dict[str, Any] = {"eta": 0.0} if preset in _WITH_ETA else {}
        if preset == "kl-safety":
            defaults |= {"prefer": "k", "safety": "strict"}
        named = [stated.get("objectives") or (), stated.get("constraints") or ()]
        if any(isinstance(names, Iterable) and "u_loss" in names for names in named):
            defaults["min_support"] = MIN_SUPPORT
        return {**defaults, **stated}

    @model_validator(mode="after")
    def _check_preset(self) -> ProblemSection:
        if self.eta is not None and self.preset not in _WITH_ETA:
            presets = " and ".join(_WITH_ETA)
            raise refusal(f"eta is for the presets {presets} only. Got preset {self.preset}", "eta")
        for key, owners in _OWNERS.items():
            if getattr(self, key) is not None and self.preset not in owners:
                named = f"preset{'s' if len(owners) > 1 else ''} {' and '.join(owners)}"
                raise refusal(f"{key} is for the {named} only. Got {self.preset}", key)
        if self.preset == "any-suppression" and self.suppress_by not in (None, "k", "l"):
            raise refusal(
                "suppress_by must be k or l for the preset any-suppression. "
                f"Got {self.suppress_by}",
                "suppress_by",
            )
        if self.has_boxes:
            if self.preset == "any-suppression":
                raise refusal(
                    "local recodings need a limit of suppression: take the preset k-suppression. "
                    "Got any-suppression",
                    "preset",
                )
            if self.suppress_by is not None:
                raise refusal("suppress_by is for the recoding global only. Got local", "recoding")
        return self

    @property
    def has_boxes(self) -> bool:
        """Whether every group has a box of its own: the recoding is local."""
        return self.recoding == "local"


class SearchSection(BaseModel):
    """How to search, and when to stop: at the first of the given limits."""

    model_config = STRICT

    algorithm: Annotated[
        _Algorithm,
        Field(
            description=f"auto: every genome of a small space (at most {AUTO_EXHAUSTIVE:,}), else "
            f"archive. {'. '.join(f'{name}: {each.about}' for name, each in ALGORITHMS.items())}."
        ),
    ] = AUTO
    population: Annotated[int, Field(ge=2, le=1_000_000)] = 200
    """Genomes measured in each generation."""
    generations: Count | None = None
    """Stop after this many."""
    evaluations: Annotated[
        Count | None,
        Field(
            description="Stop after this many genomes have been measured. Where no limit is given, "
            "archive continues until the second half of its evaluations has gained less than "
            f"{STALLED:.2%} of hypervolume, for {STALL_FROM:,} evaluations at least and "
            f"{PER_BIT:,} for each bit of a genome at most (no less than {DEFAULT_EVALUATIONS:,}, "
            f"no more than {MOST_EVALUATIONS:,}); others for {DEFAULT_EVALUATIONS:,}."
        ),
    ] = None
    seconds: Annotated[float, Field(gt=0)] | None = None
    """Stop after this time; such a run cannot be repeated exactly."""
    stall: Count | None = None
    """Stop when the hypervolume has not grown for this many generations."""
    seed: Annotated[int, Field(ge=0)] = 1
    """The same seed gives the same result."""
    crossover: Probability = 0.9
    """Of nsga2 and the other algorithms of pymoo: chance of crossing two parents."""
    mutation: Probability = 0.1
    """Of the same: with moves, the chance of each column of a child to be moved, but at
    least one is; without, the chance of each bit outside trees. 0 is none."""
    moves: bool = True
    """Of the same: whether mutation also moves the cuts of trees and shifts boundaries.
    The paper flips single bits of the other columns only."""
    tree_crossover: Literal["common", "ends"] = "common"
    """Of the same: where tree columns of two parents are crossed. common: at boundaries that both
    have, as in the paper, and nowhere if there are none. ends: also at the ends of the column, so
    that it is exchanged whole."""
    front_of: Literal["archive", "population"] = "archive"
    """Of the same: what the front is made of. archive: everything that was evaluated, at every
    threshold. population: the last population, one solution of each genome, as in the paper."""
    partitions: Count | None = None
    """Of nsga3, unsga3 and moead: into how many parts reference directions divide each objective.
    Default: as many as give no more directions than the population."""
    prove: Annotated[float, Field(gt=0)] | None = None
    """Seconds to spend afterwards on a proof of how far the front is from the optimum, as moanon
    prove does. For the objectives k and loss with groups suppressed by size. Default: none."""
    cap: Annotated[int, Field(ge=1, le=1_000_000)] = 2_000
    """Most solutions of the result; a larger front is thinned evenly, keeping its ends, its knees
    and the best solution at every whole percent of loss, even if these alone are more."""

    def unused(self, algorithm: str) -> tuple[str, ...]:
        """Settings that were changed and that `algorithm` does not know."""
        fields = type(self).model_fields
        return tuple(
            name
            for name in foreign_settings(algorithm)
            if getattr(self, name) != fields[name].default
        )


class OutputSection(BaseModel):
    """Where results go."""

    model_config = STRICT

    dir: Annotated[
        str, "the path of a folder", Field(min_length=1), AfterValidator(check_folder)
    ] = "results"
    """Relative to where the command runs. Default results/NAME."""
    plots: bool = True
    """Whether to draw figures into plots/."""
    report: bool = True
    """Whether to write report.html."""
