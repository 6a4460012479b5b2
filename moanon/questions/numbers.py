"""Which measures are shares or privacy, and how their values are written."""

from __future__ import annotations

from typing import Any

from moanon.measures.registry import find_measure

__all__ = [
    "ROUNDING",
    "as_given",
    "called",
    "is_privacy",
    "is_share",
    "shown",
    "told_apart",
    "turned",
]

#: Shares are compared up to this: a limit plus a percentage point has rounding in it.
ROUNDING = 1e-12
#: Most decimals that two different numbers are told apart with.
_MOST_DIGITS = 9


def is_share(name: str) -> bool:
    """Whether a measure is shown in percent."""
    return find_measure(name).unit.startswith("share")


def is_privacy(name: str) -> bool:
    """Whether a measure, as an objective, stands for privacy."""
    measure = find_measure(name)
    of_sizes = measure.direction == "max" and measure.unit == "rows"
    return measure.needs_sensitive or of_sizes or name == "size_rank"


def called(name: str) -> str:
    """Name of a measure in a sentence: everybody's word for the share of suppressed rows."""
    return "suppression" if name == "sl" else name


def turned(name: str, values: Any) -> Any:
    """Values of a measure such that smaller is better."""
    return -values if find_measure(name).direction == "max" else values


def shown(name: str, value: float, digits: int = 1) -> str:
    """Write a value of a measure.

    >>> shown("loss", 0.2484), shown("k", 1204), shown("weighted_k", 3.52)
    ('24.8%', '1,204', '3.5')
    """
    if is_share(name):
        return f"{value:.{digits}%}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.{digits}f}"


def as_given(name: str, bound: float) -> str:
    """Write a limit with the digits it was given with.

    >>> as_given("loss", 0.25), as_given("sl", 0.005), as_given("k", 10)
    ('25%', '0.5%', '10')
    """
    return f"{100 * bound:.10g}%" if is_share(name) else f"{bound:,.10g}"


def told_apart(name: str, here: float, there: float) -> tuple[str, str]:
    """Write two values with as many digits as it takes to see whether they differ.

    >>> told_apart("loss", 0.2604, 0.2601)
    ('26.04%', '26.01%')
    """
    pair = shown(name, here), shown(name, there)
    for digits in range(2, _MOST_DIGITS):
        if here == there or pair[0] != pair[1]:
            break
        pair = shown(name, here, digits), shown(name, there, digits)
    return pair
