"""Bounds on measures: what a solution must have to be one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from moanon.config.reading import nearest, refusal
from moanon.errors import InfeasibleError

if TYPE_CHECKING:
    from moanon.genome import Instance
    from moanon.measures.measure import Measure

__all__ = ["CONSTRAINTS_SCHEMA", "bounds_of", "check_constraints", "check_reach"]

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

#: How ranges of measures are written: ``[0, 1)``, or ``1..n`` for whole numbers.
_INTERVAL = re.compile(r"([\[(])(.+?), (.+)([\])])")
_WHOLE = re.compile(r"(.+?)\.\.(.+)")


def check_constraints(given: object) -> object:
    """Accept bounds such as ``{k: {min: 5}, t_closeness: {max: 0.2}}``.

    A measure that is better the higher it is has a least value, the others a largest one. A bound
    that no value could break or meet, whatever the table, is a mistake.
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
        if (limit := _Range.of(MEASURES[name]).beyond(value, better)) is not None:
            raise refusal(f"are wrong: {name} is {limit}. Got {_shown(bound)}")
    return {str(name): dict(bound) for name, bound in given.items()}


def check_reach(bounds: Mapping[str, float], instance: Instance) -> None:
    """Refuse bounds that no generalization of a table can meet.

    Raises
    ------
    InfeasibleError
        Names the first of them, and what the table allows.
    """
    from moanon.measures.registry import find_measure

    rows = instance.cells.rows
    sizes = {"n": rows, "n-1": rows - 1}
    if instance.cells.sensitive:
        sizes["values"] = min(len(column.labels) for column in instance.cells.sensitive)
    for name, bound in bounds.items():
        measure = find_measure(name)
        limit = _Range.of(measure, sizes).beyond(bound, measure.direction, only_unmet=True)
        if limit is not None:
            side = "at least" if measure.direction == "max" else "at most"
            raise InfeasibleError(
                f"no release of this table of {rows:,} rows can have {name} {side} {bound:g}: it "
                f"is {limit}"
            )


def bounds_of(constraints: Mapping[str, Mapping[str, float]] | None) -> dict[str, float]:
    """Bound of each measure, in its better direction."""
    return {name: float(*bound.values()) for name, bound in (constraints or {}).items()}


def _shown(bound: object) -> str:
    if isinstance(bound, Mapping):
        return "{" + ", ".join(f"{key}: {value}" for key, value in bound.items()) + "}"
    return repr(bound)


@dataclass(frozen=True)
class _Range:
    """Possible values of a measure, as its definition states them.

    Attributes
    ----------
    low, high : float
        Infinite where an end depends on the table and that is not known.
    low_text, high_text : str
        The ends as they are written.
    low_open, high_open : bool
        Whether an end is left out.
    """

    low: float
    high: float
    low_text: str
    high_text: str
    low_open: bool = False
    high_open: bool = False

    @classmethod
    def of(cls, measure: Measure, sizes: Mapping[str, int] | None = None) -> _Range:
        """Read the range of a measure; `sizes` are those of a table, by their letters."""
        if match := _INTERVAL.fullmatch(measure.range):
            left, low, high, right = match.groups()
        elif match := _WHOLE.fullmatch(measure.range):
            (low, high), left, right = match.groups(), "[", "]"
        else:
            return cls(-math.inf, math.inf, "", "")
        sizes = sizes or {}
        return cls(
            _number(low, sizes, -math.inf),
            _number(high, sizes, math.inf),
            f"{sizes.get(low, low)}",
            f"{sizes.get(high, high)}",
            left == "(",
            right == ")",
        )

    def beyond(self, bound: float, better: str, *, only_unmet: bool = False) -> str | None:
        """Say in words what a bound lies beyond; None where it can be met, and be missed.

        An end that is left out is one that a lenient bound may name.
        """
        unmet_low = better == "min" and self.low_open and bound == self.low
        if (bound < self.low and not (only_unmet and better == "max")) or unmet_low:
            return f"{'above' if self.low_open else 'at least'} {self.low_text}"
        unmet_high = better == "max" and self.high_open and bound == self.high
        if (bound > self.high and not (only_unmet and better == "min")) or unmet_high:
            return f"{'below' if self.high_open else 'at most'} {self.high_text}"
        return None


def _number(text: str, sizes: Mapping[str, int], otherwise: float) -> float:
    if text == "ln 2":
        return math.log(2)
    try:
        return float(sizes.get(text, text))
    except ValueError:
        return otherwise
