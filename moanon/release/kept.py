"""Which groups a solution keeps: by its own thresholds, or by another k on its staircase.

A genome is a whole staircase of solutions, one for every threshold below which groups are given up;
the front has those steps that no other solution beats. A publisher may want another one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from sys import float_info

import numpy as np
import numpy.typing as npt

from moanon.errors import ConfigError
from moanon.measures.groups import Groups
from moanon.measures.kept import kept_groups
from moanon.measures.registry import find_measure
from moanon.measures.suppression import Suppression

__all__ = ["Wanted", "check_k", "kept_above"]

Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Wanted:
    """What every released group must have.

    Attributes
    ----------
    k : int
        Rows.
    l : int
        Diversity; 0 where none is wanted.
    others : Suppression
        A rule whose constraints hold whatever the k. It also says how diversity is counted.
    """

    k: int
    l: int = 0  # noqa: E741 (the name of the measure)
    others: Suppression = field(default_factory=Suppression)

    @property
    def rule(self) -> Suppression:
        """All of it but the size, as constraints of a rule that gives up the smallest groups."""
        constraints = (*self.others.constraints, *([("l", float(self.l))] if self.l else []))
        return replace(self.others, kind="limit", by="k", constraints=constraints)

    def is_fit(self, groups: Groups) -> Truths:
        """Which groups have all that is wanted but the size."""
        if not self.rule.constraints:
            return np.ones(len(groups.sizes), dtype=bool)
        return kept_groups(groups, np.array([1, 0]), self.rule)

    def is_met(self, groups: Groups) -> Truths:
        """Which groups have everything."""
        return np.asarray((groups.sizes >= self.k) & self.is_fit(groups))

    def __str__(self) -> str:
        wishes = [f"k = {self.k:,}", *([f"l = {self.l:,}"] if self.l else [])]
        for name, bound in self.others.constraints:
            if abs(bound) < float_info.max:  # or it only keeps out what has no number
                side = ">=" if find_measure(name).direction == "max" else "<="
                wishes.append(f"{name} {side} {bound:.6g}")
        return " and ".join(wishes)


def kept_above(groups: Groups, wanted: Wanted, limit: int, *, name: str) -> Truths:
    """Which groups have what is wanted, if giving up the others stays within a limit.

    Parameters
    ----------
    groups : Groups
    wanted : Wanted
    limit : int
        Most rows that may be suppressed.
    name : str
        What the error calls the generalization.

    Raises
    ------
    ConfigError
        If more rows would be suppressed: says how many, and the largest k that is possible.
    """
    rows = int(groups.sizes.sum())
    kept = wanted.is_met(groups)
    lost = rows - int(groups.sizes[kept].sum())
    if lost <= limit:
        return kept
    steps = np.sort(groups.sizes[wanted.is_fit(groups)])
    left_from = np.cumsum(steps[::-1])[::-1]  # rows that a threshold at each step keeps
    within = steps[rows - left_from <= limit]
    largest = f"its largest k within that is {within[-1]:,}" if len(within) else "no k does"
    raise ConfigError(
        f"{wanted} would suppress {lost:,} of {rows:,} rows ({lost / rows:.1%}) of {name}, and at "
        f"most {limit:,} ({limit / rows:.1%}) may be; {largest} (or allow more to be suppressed)"
    )


def check_k(k: int) -> int:
    """Refuse what cannot be the size of a group."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ConfigError(f"k must be a whole number of at least 1. Got {k!r}")
    return int(k)
