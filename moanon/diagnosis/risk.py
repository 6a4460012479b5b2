"""Risk of being recognized: one over the rows that share a group (the prosecutor's risk)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from moanon.diagnosis.curves import Curve

__all__ = ["Risk"]

#: Groups smaller than this are commonly held to be too small to publish.
SMALL = 5


@dataclass(frozen=True)
class Risk:
    """How easily people are recognized by a set of columns.

    Attributes
    ----------
    rows : int
        Rows of the table.
    unique : int
        Rows that are alone in their group: whoever knows the columns knows the person.
    small : int
        Rows in groups of less than five.
    mean : float
        Mean over rows of one over the size of the row's group; the share of people that would be
        recognized by guessing within each group.
    highest : float
        One over k.

    Examples
    --------
    Groups of 1, 1, 2 and 6 rows: 4 groups of 10 rows.

    >>> from moanon.diagnosis.models import ANONYMITY
    >>> Risk.of(Curve(ANONYMITY, np.array([1, 2, 6]), np.array([2, 2, 6])))
    Risk(rows=10, unique=2, small=4, mean=0.4, highest=1.0)
    """

    rows: int
    unique: int
    small: int
    mean: float
    highest: float

    @classmethod
    def of(cls, curve: Curve) -> Risk:
        """Read the risk off the curve of k."""
        sizes, rows = curve.strengths.astype(np.int64), curve.rows
        total = int(rows.sum())
        groups = int((rows // sizes).sum())
        return cls(
            rows=total,
            unique=int(rows[sizes == 1].sum()),
            small=int(rows[sizes < SMALL].sum()),
            mean=groups / total,
            highest=1 / int(sizes[0]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "unique_rows": self.unique,
            "unique_share": self.unique / self.rows,
            "rows_below_5": self.small,
            "share_below_5": self.small / self.rows,
            "mean_risk": self.mean,
            "highest_risk": self.highest,
        }
