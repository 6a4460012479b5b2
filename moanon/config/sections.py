"""The sections of a configuration: every key, its type, its rule and its default.

A key's rule is stated twice, once for pydantic to check and once in words (`Rule`) for the sentence
that tells what was wrong; both stand in the same place. What depends on several keys is checked
when each of them is right by itself.
"""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from moanon import datasets
from moanon.config.rules import Rule, nearest, one_of, refusal
from moanon.data.domain import DomainSpec, IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.data.steps import DATE_UNITS
from moanon.search.algorithms import (
    ALGORITHMS,
    AUTO,
    AUTO_EXHAUSTIVE,
    DEFAULT_EVALUATIONS,
    foreign_settings,
)

__all__ = [
    "TEXT_KEYS",
    "ColumnSection",
    "DataSection",
    "OutputSection",
    "Rule",
    "SearchSection",
    "StrictModel",
    "check_distinct",
    "check_name",
    "nearest",
    "refusal",
]

#: Keys whose values are texts, kept as written: `No` and `01` are no truth value and no number.
TEXT_KEYS = {
    ("name",),
    ("data", "source"),
    ("data", "delimiter"),
    ("data", "missing_tokens", "*"),
    ("columns", "*", "order"),
    ("columns", "*", "order", "*"),
    ("columns", "*", "hierarchy"),
    ("problem", "objectives", "*"),
    ("problem", "class_column"),
    ("output", "dir"),
}
#: Which keys describe which kind of domain.
_KIND_KEYS = {
    "interval": ("granularity", "range", "origin", "type"),
    "ordered": ("order",),
    "tree": ("hierarchy",),
}
_TREE_FILES = (".yaml", ".yml", ".csv")
_NAME = re.compile(r"\w[\w.-]{0,99}")
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


# -- single values -------------------------------------------------------------------------------


def check_name(name: str) -> str:
    """Accept what can be the name of a folder."""
    if not _NAME.fullmatch(name):
        raise refusal()
    return name


def _find_source(source: str, info: ValidationInfo) -> str:
    """Keep the name of an embedded table; make a path or glob absolute."""
    if not source:
        raise refusal()
    return source if source in datasets.names() else _absolute(source, info)


def _find_hierarchy(name: str, info: ValidationInfo) -> str:
    if name in datasets.hierarchy_names():
        return name
    if not name.lower().endswith(_TREE_FILES):
        raise refusal()
    return _absolute(name, info)


def _absolute(path: str, info: ValidationInfo) -> str:
    base = (info.context or {}).get("base", Path.cwd())
    plain: str = os.path.normpath(base / path)
    if glob.has_magic(path) and not os.path.lexists(plain):
        # The folder's own brackets are no pattern.
        return os.path.normpath(os.path.join(glob.escape(str(base)), path))  # noqa: PTH118
    return plain


def _find_order(order: object) -> object:
    if not isinstance(order, str):
        return order
    if order not in datasets.order_names():
        raise refusal()
    return tuple(datasets.order(order))


def check_distinct(values: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """Accept a list that is not empty and names nothing twice."""
    if values is None:
        return None
    if not values:
        raise refusal()
    for value, times in Counter(values).items():
        if times > 1:
            raise refusal(f"names {value} twice")
    return values


def _check_delimiter(delimiter: str | None) -> str | None:
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise refusal()
    return delimiter


def _check_granularity(width: int | float | str | None) -> int | float | str | None:
    if isinstance(width, str) and width not in DATE_UNITS:
        raise refusal()
    if isinstance(width, int | float) and width <= 0:
        raise refusal()
    return width


def _check_place(place: int | float | str) -> int | float | str:
    """Accept a number or a date."""
    if isinstance(place, str):
        if not _ISO_DATE.fullmatch(place):
            raise refusal()
        try:
            date.fromisoformat(place)
        except ValueError:
            raise refusal() from None
    return place


def _check_range(ends: tuple[Any, Any] | None) -> tuple[Any, Any] | None:
    if ends is not None:
        low, high = ends
        if isinstance(low, str) != isinstance(high, str) or low > high:
            raise refusal()
    return ends


#: The registered algorithms, and what chooses among them.
_ALGORITHMS = (AUTO, *ALGORITHMS)
if TYPE_CHECKING:
    _Algorithm = str
else:
    _Algorithm = Literal[_ALGORITHMS]
_Place = Annotated[int | float | str, AfterValidator(_check_place)]
#: Lists of texts: in YAML their items may look like numbers.
_TEXT_LIST: dict[str, Any] = {
    "type": "array",
    "items": {"type": ["string", "number", "boolean", "null"]},
}


# -- sections ------------------------------------------------------------------------------------


class StrictModel(BaseModel):
    """No unknown keys, no conversions, no changes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class DataSection(StrictModel):
    """What to read, and what to do where values are missing."""

    source: Annotated[
        str,
        AfterValidator(_find_source),
        Rule(f"an embedded table ({', '.join(datasets.names())}), a file, a folder or a glob"),
        Field(
            description="An embedded table (adult, adult-full, credit) or a CSV or Parquet file, "
            "folder or glob, relative to this file. An embedded name wins; ./adult is the file."
        ),
    ]
    missing: Annotated[
        Literal["drop", "category", "error"],
        one_of("drop", "category", "error"),
        Field(
            description="Rows with a missing value: drop them (they are counted), keep missing as "
            "a category of its own, or stop."
        ),
    ] = "drop"
    missing_tokens: Annotated[
        tuple[str, ...],
        Strict(False),
        WithJsonSchema(_TEXT_LIST),
        Rule('a list of texts, e.g. ["", NA]'),
        Field(description="Texts that mean 'no value'."),
    ] = ("",)
    delimiter: Annotated[
        str | None,
        AfterValidator(_check_delimiter),
        Rule('one character, no quote and no line end, e.g. ";"'),
        Field(description="What separates the fields of a CSV file. Default: found by itself."),
    ] = None


class ColumnSection(StrictModel):
    """What a column is: its role and, for a quasi-identifier, its domain."""

    role: Annotated[
        Literal["identifying", "quasi", "sensitive", "insensitive"],
        one_of("identifying", "quasi", "sensitive", "insensitive"),
        Field(
            description="identifying: dropped on release. quasi: generalized. sensitive: kept, to "
            "be protected. insensitive: kept. A column that is not declared is dropped."
        ),
    ]
    kind: Annotated[
        Literal["interval", "ordered", "tree"] | None,
        one_of("interval", "ordered", "tree"),
        Field(
            description="Of a quasi column: numbers or dates, categories in order, or a tree. Of a "
            "sensitive column, where t-closeness should know how far apart its values are: "
            "numbers and categories by their places, in a tree by its heights. Default: all "
            "equally far."
        ),
    ] = None
    granularity: Annotated[
        int | float | str | None,
        AfterValidator(_check_granularity),
        Rule(f"a number > 0 or, for dates, one of {', '.join(DATE_UNITS)}"),
        Field(description="Width of a step of an interval column. Default 1; decimals need one."),
    ] = None
    range: Annotated[
        Annotated[tuple[_Place, _Place], Strict(False)] | None,
        AfterValidator(_check_range),
        Rule("two numbers or two dates (YYYY-MM-DD), the lower one first"),
        Field(description="First and last value of an interval column. Default: from the data."),
    ] = None
    origin: Annotated[
        _Place | None,
        Rule("a number or a date (YYYY-MM-DD)"),
        Field(description="Where a step begins. Default: at the range's first value, else 0."),
    ] = None
    type: Annotated[
        Literal["integer", "decimal", "date"] | None,
        one_of("integer", "decimal", "date"),
        Field(description="Of an interval column. Default: the narrowest that fits all values."),
    ] = None
    order: Annotated[
        Annotated[tuple[str, ...], Strict(False)] | None,
        BeforeValidator(_find_order),
        AfterValidator(check_distinct),
        WithJsonSchema({"anyOf": [_TEXT_LIST, {"type": "string"}]}),
        Rule(
            f"a list of texts or an embedded order ({', '.join(datasets.order_names())})",
            choices=datasets.order_names(),
        ),
        Field(
            description="Of an ordered column: all its values, lowest first, or adult/education."
        ),
    ] = None
    hierarchy: Annotated[
        Annotated[str, AfterValidator(_find_hierarchy)] | None,
        Rule(
            f"an embedded hierarchy ({', '.join(datasets.hierarchy_names())}) or a "
            f"{', '.join(_TREE_FILES)} file",
            choices=datasets.hierarchy_names(),
        ),
        Field(
            description="Of a tree column: an embedded hierarchy such as adult/workclass, or a "
            "YAML or ARX CSV file, relative to this file."
        ),
    ] = None

    weight: Annotated[
        Annotated[float, Field(ge=0)] | None,
        Rule("a number", ">= 0"),
        Field(
            description="Of a quasi column: what it counts in weighted losses (gl_weighted, "
            "loss_weighted, ncp). Default 1."
        ),
    ] = None

    @model_validator(mode="after")
    def _check_keys(self) -> ColumnSection:
        """Each role and kind has its own keys."""
        described = ("kind", *(key for keys in _KIND_KEYS.values() for key in keys))
        given = [key for key in described if getattr(self, key) is not None]
        if given and self.role not in ("quasi", "sensitive"):
            raise refusal(
                f"{given[0]} is for quasi and sensitive columns only. Got role {self.role}",
                given[0],
            )
        if self.weight is not None and self.role != "quasi":
            raise refusal(f"weight is for quasi columns only. Got role {self.role}", "weight")
        for owner, keys in _KIND_KEYS.items():
            for key in keys:
                if key in given and self.kind not in (None, owner):
                    raise refusal(f"{key} is for kind {owner} only. Got kind {self.kind}", key)
        if self.kind is None:
            if not given and self.role != "quasi":
                return self
            raise refusal(
                f"kind is missing; a {self.role} column is interval, ordered or tree", "kind"
            )
        if self.kind == "ordered" and self.order is None:
            raise refusal("order is missing; an ordered column lists its values", "order")
        if self.kind == "tree" and self.hierarchy is None:
            raise refusal("hierarchy is missing; a tree column names its tree", "hierarchy")
        return self

    def spec(self) -> DomainSpec:
        """Declare the domain of this column, which has a kind; reads the hierarchy."""
        if self.order is not None:
            return OrderedSpec(self.order)
        if self.hierarchy is None:
            return IntervalSpec(self.granularity, self.range, self.origin, self.type)
        embedded = self.hierarchy in datasets.hierarchy_names()
        path = datasets.hierarchy_path(self.hierarchy) if embedded else Path(self.hierarchy)
        return TreeSpec(Hierarchy.read(path))


class SearchSection(StrictModel):
    """How to search, and when to stop: at the first of the given limits."""

    algorithm: Annotated[
        _Algorithm,
        one_of(*_ALGORITHMS),
        Field(
            description=f"auto: every genome of a small space (at most {AUTO_EXHAUSTIVE:,}), else "
            f"archive. {'. '.join(f'{name}: {each.about}' for name, each in ALGORITHMS.items())}."
        ),
    ] = AUTO
    population: Annotated[
        int,
        Rule("a whole number", ">= 2"),
        Field(ge=2, description="Genomes measured in each generation."),
    ] = 200
    generations: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Rule("a whole number", ">= 1"),
        Field(description="Stop after so many."),
    ] = None
    evaluations: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Rule("a whole number", ">= 1"),
        Field(
            description="Stop after so many genomes have been measured. Default "
            f"{DEFAULT_EVALUATIONS:,} where no limit is given, except for exhaustive."
        ),
    ] = None
    seconds: Annotated[
        Annotated[float, Field(gt=0)] | None,
        Rule("a number", "> 0"),
        Field(description="Stop after so much time; such a run cannot be repeated exactly."),
    ] = None
    stall: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Rule("a whole number", ">= 1"),
        Field(description="Stop when the hypervolume has not grown for so many generations."),
    ] = None
    seed: Annotated[
        int,
        Rule("a whole number", ">= 0"),
        Field(ge=0, description="The same seed gives the same result."),
    ] = 1
    crossover: Annotated[
        float,
        Rule("a number", "in [0, 1]"),
        Field(ge=0, le=1, description="Of nsga2: chance of crossing two parents."),
    ] = 0.9
    mutation: Annotated[
        float,
        Rule("a number", "in [0, 1]"),
        Field(
            ge=0,
            le=1,
            description="Of nsga2: with moves, the chance of each column of a child to be moved, "
            "but at least one is; without, the chance of each bit outside trees. 0 is none.",
        ),
    ] = 0.1
    moves: Annotated[
        bool,
        Rule("true or false"),
        Field(
            description="Of nsga2: whether mutation also moves the cuts of trees and shifts "
            "boundaries. The paper flips single bits of the other columns only."
        ),
    ] = True
    cap: Annotated[
        int,
        Rule("a whole number", ">= 1"),
        Field(
            ge=1,
            description="Most solutions of the result; a larger front is thinned evenly, keeping "
            "its ends, its knees and the best solution at every whole percent of loss, even if "
            "these alone are more.",
        ),
    ] = 2_000

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, given: Any) -> Any:
        """Without any limit, a search has the default budget; an enumeration ends by itself."""
        limits = ("generations", "evaluations", "seconds", "stall")
        if not isinstance(given, Mapping) or given.get("algorithm") == "exhaustive":
            return given
        if all(given.get(limit) is None for limit in limits):
            return {**given, "evaluations": DEFAULT_EVALUATIONS}
        return given

    def unused(self, algorithm: str) -> tuple[str, ...]:
        """Settings that were changed and that `algorithm` does not know."""
        fields = type(self).model_fields
        return tuple(
            name
            for name in foreign_settings(algorithm)
            if getattr(self, name) != fields[name].default
        )


class OutputSection(StrictModel):
    """Where results go."""

    dir: Annotated[
        str,
        Rule("the path of a folder"),
        Field(
            min_length=1, description="Relative to where the command runs. Default results/NAME."
        ),
    ] = "results"
    plots: Annotated[
        bool, Rule("true or false"), Field(description="Whether to draw figures into plots/.")
    ] = True
    report: Annotated[
        bool, Rule("true or false"), Field(description="Whether to write report.html.")
    ] = True
