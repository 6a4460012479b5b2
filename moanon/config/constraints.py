"""Bounds on measures: what a solution must have to be one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from moanon.config.reading import nearest, refusal
from moanon.errors import ImpossibleError, got
from moanon.measures import MEASURES, find_measure
from moanon.measures.measure import LARGEST, is_number, table_sizes

if TYPE_CHECKING:
    from moanon.genome import Instance

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

    A measure that is better the higher it is has a least value, the others a largest one. A bound
    that no value could break or meet, whatever the table, is a mistake.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise refusal()
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
        if not is_number(value, math.inf) or value in (math.inf, -math.inf):
            raise refusal(f"are wrong: {wanted} {why}. Got {_shown(bound)}")
        limit = MEASURES[name].beyond(value)
        if limit is None and not is_number(value):
            limit = f"at most {LARGEST:g} in any table"
        if limit is not None:
            raise refusal(f"are wrong: {name} is {limit}. Got {_shown(bound)}")
    return {str(name): dict(bound) for name, bound in given.items()}


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


def bounds_of(constraints: Mapping[str, Mapping[str, float]] | None) -> dict[str, float]:
    """Bound of each measure, in its better direction."""
    return {name: float(*bound.values()) for name, bound in (constraints or {}).items()}


def _shown(bound: object) -> str:
    if isinstance(bound, Mapping):
        entries = (f"{key}: {_scalar(value)}" for key, value in bound.items())
        return "{" + ", ".join(entries) + "}"
    return got(bound)


def _scalar(value: object) -> str:
    """Write a value as YAML does, without quotes."""
    return got(value).strip("'") if isinstance(value, str) else got(value)
