"""Which groups a solution keeps: by its own thresholds, or by another k on its staircase.

A genome is a whole staircase of solutions, one for every threshold below which groups are given up;
the front has those steps that no other solution beats. A publisher may want another one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from moanon.errors import ConfigError
from moanon.measures.groups import Groups
from moanon.measures.kept import kept_groups
from moanon.measures.suppression import Suppression

__all__ = ["Wanted", "check_k", "group_diversity", "kept_above"]

Ints = npt.NDArray[np.int64]
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
    rule : {"distinct", "frequency"}
        How diversity is counted.
    others : Suppression or None
        A rule whose constraints hold whatever the k.
    """

    k: int
    l: int = 0  # noqa: E741 (the name of the measure)
    rule: str = "distinct"
    others: Suppression | None = None

    def is_fit(self, groups: Groups) -> Truths:
        """Which groups have all that is wanted but the size."""
        fit = np.ones(len(groups.sizes), dtype=bool)
        if self.l:
            fit &= group_diversity(groups, self.rule) >= self.l
        if self.others is not None:
            fit &= kept_groups(groups, np.array([1, 0]), self.others)
        return fit

    def is_met(self, groups: Groups) -> Truths:
        """Which groups have everything."""
        return np.asarray((groups.sizes >= self.k) & self.is_fit(groups))

    def __str__(self) -> str:
        return f"k = {self.k:,}" + (f" and l = {self.l:,}" if self.l else "")


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
        f"most {limit:,} ({limit / rows:.1%}) may be; {largest} (allow more with max_suppression)"
    )


def check_k(k: int) -> int:
    """Refuse what cannot be the size of a group."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ConfigError(f"k must be a whole number of at least 1. Got {k!r}")
    return int(k)


def group_diversity(groups: Groups, rule: str) -> Ints:
    """Diversity of each group: the least over the sensitive columns."""
    number = len(groups.sizes)
    least = np.full(number, np.iinfo(np.int64).max)
    for column in groups.instance.cells.sensitive:
        group = np.repeat(groups.cell_group, np.diff(column.starts)).astype(np.int64)
        # Only pairs of group and value that occur: a matrix of all of them may not fit.
        pairs, entry = np.unique(group * len(column.labels) + column.values, return_inverse=True)
        rows = np.bincount(entry, weights=column.counts).astype(np.int64)
        owner = pairs // len(column.labels)
        if rule == "distinct":
            found = np.bincount(owner, minlength=number)
        else:
            top = np.zeros(number, dtype=np.int64)
            np.maximum.at(top, owner, rows)
            found = groups.sizes // top
        least = np.minimum(least, found)
    return least
