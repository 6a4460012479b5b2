"""The curve of a set of columns: how many rows stand in the way of each level.

Everything one can ask about one set follows from it. With k it says how many rows sit in groups of
each size; giving up all groups smaller than k leaves exactly k, and one over the size of a row's
group is its risk of being recognized (the prosecutor's risk).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from moanon.arrays import Floats, Ints, Outlined
from moanon.diagnosis.privacy_model import PrivacyModel

if TYPE_CHECKING:
    import pandas as pd

#: Whole numbers for k and most rules of ℓ, others for the rest.
Levels = Ints | Floats
#: Groups smaller than this are commonly held to be too small to publish.
_SMALL = 5


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Outlined):
    """Rows at each level that occurs among the groups of a set of columns.

    Attributes
    ----------
    model : PrivacyModel
        What a level is.
    strengths : array
        The different levels, from the least safe to the safest, turned so that higher is safer: k
        and ℓ as they are, t with a minus sign.
    rows : array
        Rows in groups of each.

    Examples
    --------
    Groups of 1, 1, 2 and 6 rows: two rows are in the way of k = 2, four in the way of k = 6.

    >>> from moanon.diagnosis.privacy_model import ANONYMITY
    >>> curve = Curve(ANONYMITY, np.array([1, 2, 6]), np.array([2, 2, 6]))
    >>> curve.within(0), curve.within(1), curve.within(2), curve.within(9)
    ((1, 0), (1, 0), (2, 2), (6, 4))
    >>> curve.cost(2), curve.cost(3), curve.cost(7)
    (2, 4, None)
    >>> curve.slack(1), curve.slack(0)
    (1, None)
    """

    model: PrivacyModel
    strengths: Levels
    rows: Ints

    @cached_property
    def _running(self) -> Ints:
        return np.cumsum(self.rows)

    @property
    def table_rows(self) -> int:
        """Rows of the table."""
        return int(self._running[-1])

    @property
    def level(self) -> float:
        """Level of the table as it is, nothing suppressed."""
        return self._level(0)

    def _level(self, at: int) -> float:
        level = self.strengths[at].item() * self.model.sign
        return int(level) if self.model.is_whole else abs(level)  # abs: no minus before a zero

    def within(self, limit: int) -> tuple[float, int]:
        """Best level when at most `limit` rows are suppressed, and the rows that takes.

        Whole groups, least safe first, while their total stays within the limit (Z lemma 2; for k
        the rule of D eq. 7). Z's algorithm 4 tests the total after adding and overshoots.
        """
        at = int(np.searchsorted(self._running, limit, side="right"))
        return self._level(at), int(self._running[at - 1]) if at else 0

    def cost(self, level: float) -> int | None:
        """Fewest rows to suppress for a level; None where nothing would be left."""
        below = int(np.searchsorted(self.strengths, self._strength(level), side="left"))
        if below == len(self.strengths):
            return None
        return int(self._running[below - 1]) if below else 0

    def slack(self, level: float) -> int | None:
        """Most rows that can be suppressed with the table no safer than a level; None if it is."""
        up_to = int(np.searchsorted(self.strengths, self._strength(level), side="right"))
        return int(self._running[up_to - 1]) - 1 if up_to else None

    def reaches(self, level: float, limit: int) -> bool:
        """Whether the table is at least as safe as a level, at most `limit` rows suppressed."""
        cost = self.cost(level)
        return cost is not None and cost <= limit

    def exceeds(self, level: float, limit: int) -> bool:
        """Whether it is safer than a level, at most `limit` rows suppressed."""
        slack = self.slack(level)
        return slack is None or slack < limit

    def _strength(self, level: float) -> float:
        # Levels beyond all rows are the same to every table, and fit into a machine word.
        return min(level, self.table_rows + 1) * self.model.sign

    def to_frame(self) -> pd.DataFrame:
        """One row per level that can be reached: rows to suppress, δ, rows left."""
        import pandas as pd

        suppressed = self._running - self.rows
        levels = [self._level(at) for at in range(len(self.strengths))]
        return pd.DataFrame(
            {
                self.model.measure: levels,
                "suppressed": suppressed,
                "delta": suppressed / self.table_rows,
                "rows_left": self.table_rows - suppressed,
            }
        )


@dataclass(frozen=True)
class ReidentificationRisk:
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

    >>> from moanon.diagnosis.privacy_model import ANONYMITY
    >>> ReidentificationRisk.of(Curve(ANONYMITY, np.array([1, 2, 6]), np.array([2, 2, 6])))
    ReidentificationRisk(rows=10, unique=2, small=4, mean=0.4, highest=1.0)
    """

    rows: int
    unique: int
    small: int
    mean: float
    highest: float

    @classmethod
    def of(cls, curve: Curve) -> ReidentificationRisk:
        """Read the risk off the curve of k."""
        sizes, rows = curve.strengths.astype(np.int64), curve.rows
        total = int(rows.sum())
        groups = int((rows // sizes).sum())
        return cls(
            rows=total,
            unique=int(rows[sizes == 1].sum()),
            small=int(rows[sizes < _SMALL].sum()),
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
