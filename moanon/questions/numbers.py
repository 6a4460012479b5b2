"""Which measures are shares or privacy, and how their values are written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moanon.measures.registry import find_measure

__all__ = [
    "ROUNDING",
    "as_given",
    "attained_privacy",
    "called",
    "is_privacy",
    "is_share",
    "is_whole",
    "shown",
    "told_apart",
    "turned",
]

#: Shares are compared up to this: a limit plus a percentage point has rounding in it.
ROUNDING = 1e-12
#: What a suppression rule aims at, and what is attained; only the latter protects anybody.
_ATTAINED = {"d": "k", "d1": "k", "d2": "l"}
#: Most decimals that two different numbers are told apart with.
_MOST_DIGITS = 9


def is_share(name: str) -> bool:
    """Whether a measure is shown in percent."""
    return find_measure(name).unit.startswith("share")


def is_privacy(name: str) -> bool:
    """Whether a measure stands for privacy; otherwise it stands for loss."""
    return find_measure(name).is_privacy


def is_whole(name: str) -> bool:
    """Whether a measure counts: its values are whole numbers."""
    return ".." in find_measure(name).range


def attained_privacy(objectives: Iterable[str]) -> tuple[str, ...]:
    """Name what is attained of the objectives that are privacy: ``k`` for ``d1``, ``l`` for ``d2``.

    Where there is none, ``k``.

    >>> attained_privacy(["d1", "d2", "loss"]), attained_privacy(["t_closeness", "loss"])
    (('k', 'l'), ('t_closeness',))
    """
    wanted = (_ATTAINED.get(name, name) for name in objectives if is_privacy(name))
    return tuple(dict.fromkeys(wanted)) or ("k",)


def called(name: str) -> str:
    """Name of a measure in a sentence: everybody's word for the share of suppressed rows."""
    return "suppression" if name == "sl" else name


def turned(name: str, values: Any) -> Any:
    """Values of a measure such that smaller is better."""
    return -values if find_measure(name).direction == "max" else values


def _usual_digits(name: str, value: float) -> int:
    """Decimals with which solutions are told apart: most of a closeness is within 0 and 1."""
    of_sizes = "rows" in find_measure(name).unit
    return 1 if is_share(name) or of_sizes or abs(value) >= 1000 else 3


def shown(name: str, value: float, digits: int | None = None) -> str:
    """Write a value of a measure.

    >>> shown("loss", 0.2484), shown("k", 1204), shown("weighted_k", 3.52)
    ('24.8%', '1,204', '3.5')
    >>> shown("t_closeness", 0.3214), shown("delta", float("inf"))
    ('0.321', 'inf')
    """
    digits = _usual_digits(name, value) if digits is None else digits
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
    usual = max(_usual_digits(name, here), _usual_digits(name, there))
    for digits in range(usual + 1, _MOST_DIGITS):
        if here == there or pair[0] != pair[1]:
            break
        pair = shown(name, here, digits), shown(name, there, digits)
    return pair
