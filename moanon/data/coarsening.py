"""What a domain takes away from a column before anything is searched.

Losses are reckoned from base values. Where those are coarser than the values that were read (steps
of several years, clamped ends), that is lost already, and a loss of 0 % does not show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from moanon.arrays import Ints
from moanon.data.column import Profile
from moanon.data.domain import Domain


@dataclass(frozen=True)
class Coarsening:
    """How many values a column has, how many base values stand for them, and what that costs.

    Attributes
    ----------
    values, base_values : int
        Distinct values in the table, missing ones being one of them, and base values they have.
    entropy_lost : float
        Share of the entropy of the values that their base values do not have.
    """

    values: int
    base_values: int
    entropy_lost: float

    @property
    def is_any(self) -> bool:
        """Whether different values have the same base value."""
        return self.base_values < self.values

    def __str__(self) -> str:
        if not self.is_any:
            return "nothing"
        return (
            f"{self.values:,} → {self.base_values:,} values, {self.entropy_lost:.1%} of the entropy"
        )


def merged_before(column: Profile, domain: Domain) -> Coarsening:
    """Count what the base values of a column merge.

    Examples
    --------
    >>> from moanon.data.column import Column
    >>> from moanon.data.domain import IntervalSpec
    >>> ages = Column("age", np.array([0, 1, 2, 3], dtype=np.int32), ("20", "21", "22", "35"), None)
    >>> print(merged_before(ages, IntervalSpec(granularity=2).build(ages)))
    4 → 3 values, 25.0% of the entropy
    """
    codes, counts = domain.codes(column), np.append(column.counts, column.missing)
    base = np.bincount(codes, weights=counts).astype(np.int64)
    before, after = _entropy(counts), _entropy(base)
    return Coarsening(
        int(np.count_nonzero(counts)),
        int(np.count_nonzero(base)),
        max(0.0, 1 - after / before) if before else 0.0,
    )


def note_on_merged(columns: Mapping[str, Profile], domains: Mapping[str, Domain]) -> list[str]:
    """Say which columns have different values that are one base value all, if any."""
    merged = {name: merged_before(columns[name], domain) for name, domain in domains.items()}
    names = [name for name, found in merged.items() if found.is_any and found.base_values == 1]
    if not names:
        return []
    return [
        f"all values of {', '.join(names)} have the same base value, so they look the same in "
        "every release; try a smaller granularity or another range"
    ]


def _entropy(counts: Ints) -> float:
    """Entropy in bits of values that occur so often."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
