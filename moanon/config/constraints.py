"""Bounds on measures: what a solution must have to be one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from moanon.config.rules import nearest, refusal

__all__ = ["CONSTRAINTS_SCHEMA", "bounds_of", "check_constraints"]

#: What editors are told; the measures' names are left to `check_constraints`.
CONSTRAINTS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "properties": {"min": {"type": "number"}, "max": {"type": "number"}},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    },
}


def check_constraints(given: object) -> object:
    """Accept bounds such as ``{k: {min: 5}, t_closeness: {max: 0.2}}``.

    A measure that is better the higher it is has a least value, the others a largest one.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise refusal()
    from moanon.measures.registry import MEASURES  # here, because it waits for the compiler

    for name, bound in given.items():
        if name not in MEASURES:
            near = nearest(str(name), MEASURES) or f". Known: {', '.join(MEASURES)}"
            raise refusal(f"names {name}, which is no measure{near}")
        better = MEASURES[name].direction
        side = "min" if better == "max" else "max"
        wanted = f"the bound of {name} must be {{{side}: a number}}, because"
        why = "more is better" if better == "max" else "less is better"
        if not isinstance(bound, Mapping) or set(bound) != {side}:
            raise refusal(f"are wrong: {wanted} {why}. Got {_shown(bound)}")
        value = bound[side]
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise refusal(f"are wrong: {wanted} {why}. Got {_shown(bound)}")
        if name == "l_entropy" and value <= 0:
            raise refusal(f"are wrong: l_entropy is at least 1. Got {_shown(bound)}")
    return {str(name): dict(bound) for name, bound in given.items()}


def bounds_of(constraints: Mapping[str, Mapping[str, float]] | None) -> dict[str, float]:
    """Bound of each measure, in its better direction."""
    return {name: float(*bound.values()) for name, bound in (constraints or {}).items()}


def _shown(bound: object) -> str:
    if isinstance(bound, Mapping):
        return "{" + ", ".join(f"{key}: {value}" for key, value in bound.items()) + "}"
    return repr(bound)
