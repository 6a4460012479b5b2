"""What to optimize: objectives, constraints, and what may be suppressed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    Strict,
    WithJsonSchema,
    model_validator,
)

from moanon.config.constraints import CONSTRAINTS_SCHEMA, check_constraints
from moanon.config.rules import Rule, nearest, one_of, refusal
from moanon.config.sections import StrictModel, check_distinct

__all__ = ["ProblemSection"]

_WITH_ETA = ("k-suppression", "kl-safety")
_Eta = Annotated[float, Field(ge=0, lt=1)]


def _check_objectives(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    check_distinct(names)
    if names:
        from moanon.measures import MEASURES  # here, because it waits for the compiler

        for name in names:
            if name not in MEASURES:
                known = ", ".join(MEASURES)
                raise refusal(f"must be among {known}. Got {name}{nearest(name, MEASURES)}")
    return names


def _check_suppress_by(name: str | None) -> str | None:
    if name is not None:
        from moanon.measures import MEASURES

        known = [measure.name for measure in MEASURES.values() if measure.group]
        if name not in known:
            raise refusal(f"must be among {', '.join(known)}. Got {name}{nearest(name, known)}")
    return name


def _check_etas(eta: float | tuple[float, ...] | None) -> float | tuple[float, ...] | None:
    if isinstance(eta, tuple):
        check_distinct(eta)
    return eta


class ProblemSection(StrictModel):
    """What to optimize: one of D's four problems, perhaps with other objectives."""

    preset: Annotated[
        Literal["zero-suppression", "k-suppression", "any-suppression", "kl-safety"],
        one_of("zero-suppression", "k-suppression", "any-suppression", "kl-safety"),
        Field(description="Which rows may be suppressed, and the objectives unless given."),
    ] = "k-suppression"
    eta: Annotated[
        _Eta | Annotated[tuple[_Eta, ...], Strict(False)] | None,
        AfterValidator(_check_etas),
        Rule("a number or a list of numbers", "in [0, 1)"),
        Field(
            description="Largest share of rows that may be suppressed (k-suppression, kl-safety). "
            "Default 0. A list: one run for each."
        ),
    ] = None
    objectives: Annotated[
        Annotated[tuple[str, ...], Strict(False)] | None,
        AfterValidator(_check_objectives),
        Rule("a list of measures, e.g. [k, gl]"),
        Field(description="Measures to optimize instead of the preset's."),
    ] = None
    constraints: Annotated[
        dict[str, dict[str, float]] | None,
        BeforeValidator(check_constraints),
        WithJsonSchema(CONSTRAINTS_SCHEMA),
        Rule("bounds of measures, e.g. {k: {min: 5}, t_closeness: {max: 0.2}}"),
        Field(
            description="What a solution must have, e.g. {k: {min: 5}, t_closeness: {max: 0.2}}. "
            "Groups that fail a privacy model are suppressed within eta; if they hold more rows "
            "than that, the generalization is no solution."
        ),
    ] = None
    suppress_by: Annotated[
        str | None,
        AfterValidator(_check_suppress_by),
        Rule("a measure that every group has a value of, e.g. t_closeness"),
        Field(
            description="Of k-suppression: by which measure groups are suppressed, the worst "
            "first. Default: the first objective that every group has a value of, else k."
        ),
    ] = None
    class_column: Annotated[
        str | None,
        Rule("the name of a column"),
        Field(description="Column of class labels, for the measure cm. Sensitive or insensitive."),
    ] = None
    recursive_c: Annotated[
        float,
        Rule("a number", "> 0"),
        Field(gt=0, description="The constant c of recursive (c,l)-diversity."),
    ] = 3.0
    prefer: Annotated[
        Literal["k", "l"] | None,
        one_of("k", "l"),
        Field(description="Of kl-safety: which property counts first. Default k."),
    ] = None
    safety: Annotated[
        Literal["ordered", "strict"] | None,
        one_of("ordered", "strict"),
        Field(
            description="Of kl-safety: suppress classes in order (the paper's rule), or every "
            "group below either bound. Default strict."
        ),
    ] = None
    diversity: Annotated[
        Literal["distinct", "frequency"],
        one_of("distinct", "frequency"),
        Field(description="How l is counted: distinct values, or size / largest count."),
    ] = "distinct"

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, given: Any) -> Any:
        """Give the preset's own keys their defaults; the others stay unset."""
        if not isinstance(given, Mapping):
            return given
        preset = given.get("preset", "k-suppression")
        defaults: dict[str, Any] = {"eta": 0.0} if preset in _WITH_ETA else {}
        if preset == "kl-safety":
            defaults |= {"prefer": "k", "safety": "strict"}
        return {**defaults, **{key: value for key, value in given.items() if value is not None}}

    @model_validator(mode="after")
    def _check_preset(self) -> ProblemSection:
        if self.eta is not None and self.preset not in _WITH_ETA:
            presets = " and ".join(_WITH_ETA)
            raise refusal(f"eta is for the presets {presets} only. Got preset {self.preset}", "eta")
        for key, preset in (
            ("prefer", "kl-safety"),
            ("safety", "kl-safety"),
            ("suppress_by", "k-suppression"),
        ):
            if getattr(self, key) is not None and self.preset != preset:
                raise refusal(f"{key} is for the preset {preset} only. Got {self.preset}", key)
        return self
