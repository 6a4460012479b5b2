"""Which groups are given up: the suppression rules of the four problems (D §5), and constraints.

A rule looks at the sizes of a genome's groups (and at their diversity) and settles which rows are
left out of the release. Everything measured "after suppression" follows from it.

Constraints on measures that every group has a value of (`moanon.measures.groupwise`) come first:
groups that fail any of them are suppressed, whatever the rule. If they hold more rows than may be
suppressed (none under ``none``, a share η under ``limit`` and ``kl-safety``, any number under
``weighted-k``), or nothing is left, the genome is *infeasible* and no candidate. Otherwise the rule
goes on with the other groups and what is left of η.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, isfinite
from sys import float_info
from typing import Literal, get_args

import numpy as np

from moanon.errors import ConfigError
from moanon.kernels import thresholds
from moanon.kernels.costs import COSTS
from moanon.kernels.diversity import MODELS
from moanon.kernels.selection import BY_SIZE, GroupRule
from moanon.kernels.tallies import OF_COLUMNS, TALLIES
from moanon.measures.demand import NOTHING, Demand
from moanon.measures.groupwise import GROUP_WISE, GroupWise

__all__ = ["RECURSIVE_C", "Suppression", "row_limit"]

Kind = Literal["none", "limit", "weighted-k", "kl-safety"]

_SAFETY = {
    ("ordered", "k"): thresholds.KL_ORDERED_K,
    ("ordered", "l"): thresholds.KL_ORDERED_L,
    ("strict", "k"): thresholds.KL_STRICT_K,
    ("strict", "l"): thresholds.KL_STRICT_L,
}


_WORDS = {
    "kind": get_args(Kind),
    "safety": ("ordered", "strict"),
    "prefer": ("k", "l"),
    "diversity": ("distinct", "frequency"),
}
#: The constant of recursive (c,ℓ)-diversity, unless another is asked for.
RECURSIVE_C = 3.0


def row_limit(eta: float, rows: int) -> int:
    """Largest number of rows that is at most ``eta * rows``, and smaller than all.

    The product is taken exactly on the digits of `eta` as written: 0.1 of 30 rows is 3, although
    ``0.1 * 30`` as floats may fall short of it. A billionth is allowed for shares such as 1/3 that
    have no such digits.

    >>> row_limit(0.1, 30), row_limit(0.1, 29), row_limit(1 / 3, 30)
    (3, 2, 10)
    """
    if not 0 <= eta < 1:
        raise ConfigError(f"eta must be in [0, 1). Got {eta}")
    limit = int(Fraction(repr(float(eta))) * rows + Fraction(1, 10**9))
    return min(limit, rows - 1)


@dataclass(frozen=True)
class Suppression:
    """A suppression rule.

    Parameters
    ----------
    kind : {"none", "limit", "weighted-k", "kl-safety"}
        ``none`` keeps every row (P1). ``limit`` gives up whole classes of the worst groups while
        they hold at most a share `eta` of the rows (P2, D eq. 7). ``weighted-k`` gives up every
        group smaller than weighted-k (P3). ``kl-safety`` gives up groups that are small or little
        diverse within `eta` (P4).
    eta : float
        Largest share of rows that may be suppressed, in [0, 1).
    safety : {"ordered", "strict"}
        P4 only. ``ordered`` is D eq. 8-9: classes of (size, diversity) are sorted by the less
        wanted property, then by the other, and given up in that order. It leaves groups in that
        have the one property and lack the other, so (d1, d2) is not attained in general; ``strict``
        gives up every group with size < d1 *or* diversity < d2, with the best (d1, d2) that fits.
    prefer : {"k", "l"}
        P4 only: the more wanted property.
    diversity : {"distinct", "frequency"}
        How the diversity of a group is counted; with several sensitive columns, the least.
    by : str
        P2 only: which groups are the worst, by a measure that every group has a value of: ``k``
        (the smallest, as D has it) or one of `moanon.measures.groupwise.GROUP_WISE`.
    constraints : tuple of (str, float)
        Bounds on such measures, in their better direction: ``("k", 5)`` is at least 5,
        ``("t_closeness", 0.2)`` at most 0.2.
    recursive_c : float
        The constant of recursive (c,ℓ)-diversity.
    """

    kind: Kind = "limit"
    eta: float = 0.0
    safety: Literal["ordered", "strict"] = "strict"
    prefer: Literal["k", "l"] = "k"
    diversity: Literal["distinct", "frequency"] = "distinct"
    by: str = "k"
    constraints: tuple[tuple[str, float], ...] = ()
    recursive_c: float = RECURSIVE_C

    def __post_init__(self) -> None:
        """Refuse words that mean nothing, before they are taken for something else."""
        for name, known in _WORDS.items():
            value = getattr(self, name)
            if value not in known:
                raise ConfigError(f"{name} must be one of {', '.join(known)}. Got {value!r}")
        row_limit(self.eta, 1)
        if not (self.recursive_c > 0 and isfinite(self.recursive_c)):
            raise ConfigError(f"recursive_c must be a number > 0. Got {self.recursive_c}")
        self.group_wise(self.by, "by")
        if self.by != "k" and self.kind != "limit":
            raise ConfigError(f"by is for the rule limit only. Got {self.by} for {self.kind}")
        # From a file they come as lists.
        bounds = tuple((str(name), float(bound)) for name, bound in self.constraints)
        object.__setattr__(self, "constraints", bounds)
        for name, bound in bounds:
            self.group_wise(name, "a constraint of groups")
            if not isfinite(bound):
                raise ConfigError(f"the constraint {name} must be a number. Got {bound}")
            if name == "l_entropy" and bound <= 0:
                raise ConfigError(f"the constraint l_entropy must be above 0. Got {bound}")

    def group_wise(self, name: str, what: str = "a measure of groups") -> GroupWise | None:
        """How kernels see a measure of groups; None for ``k``, which is the size."""
        if name == "k":
            return None
        own = f"l_{self.diversity}" if name == "l" else name
        if own not in GROUP_WISE:
            known = ", ".join(("k", "l", *GROUP_WISE))
            raise ConfigError(f"{what} must be one of {known}. Got {name!r}")
        return GROUP_WISE[own]

    @property
    def needs_sensitive(self) -> bool:
        """Whether the rule looks at more than sizes."""
        names = (self.by if self.kind == "limit" else "k", *(name for name, _ in self.constraints))
        return self.kind == "kl-safety" or any(name != "k" for name in names)

    def most_rows(self, rows: int) -> int:
        """Rows of a table of `rows` that may be suppressed."""
        if self.kind == "none":
            return 0
        return rows if self.kind == "weighted-k" else row_limit(self.eta, rows)

    def group_rule(self, rows: int, demand: Demand = NOTHING, *, steps: bool = False) -> GroupRule:
        """Return the rule as the kernels take it.

        Parameters
        ----------
        rows : int
            Rows of the table.
        demand : Demand
            What to measure besides what the rule itself looks at.
        steps : bool
            Whether to follow the staircase.
        """
        by = self._goes_by
        needed = set(demand.models) | ({by.model} if by else set())
        bounds = np.full(len(MODELS), -inf)
        least = 1
        for name, bound in self.constraints:
            known = self.group_wise(name)
            if known is None:
                least = max(least, ceil(bound))
                continue
            needed.add(known.model)
            place = MODELS.index(known.model)
            # The largest number is a bound, too: it leaves out what is infinite.
            bounds[place] = max(bounds[place], known.goodness(bound), -float_info.max)
        shift, per_unit = by.classes(rows) if by else (0.0, 1.0)
        need = np.array([model in needed for model in MODELS])
        kinds = [(TALLIES.index(name), column) for name, column in demand.tallies]
        of_columns = any(kind >= OF_COLUMNS for kind, _ in kinds)
        c = self._c(rows)
        return GroupRule(
            suppression=self._code,
            limit=self.most_rows(rows),
            by=MODELS.index(by.model) if by else BY_SIZE,
            shift=shift,
            per_unit=per_unit,
            least=least,
            bounds=bounds,
            bounded=np.flatnonzero(bounds > -inf).astype(np.int64),
            need=need,
            wanted=np.flatnonzero(need).astype(np.int64),
            wanted_costs=np.flatnonzero([cost in demand.costs for cost in COSTS]).astype(np.int64),
            wanted_tallies=np.array(kinds, dtype=np.int64).reshape(-1, 2),
            above=c.numerator,
            below=c.denominator,
            with_values=bool(need.any()) or of_columns or demand.labels,
            with_steps=steps and self.kind in ("limit", "kl-safety"),
            pairs=self.kind == "kl-safety",
        )

    @property
    def _code(self) -> int:
        return {
            "none": thresholds.KEEP_ALL,
            "limit": thresholds.WITHIN_LIMIT,
            "weighted-k": thresholds.ABOVE_WEIGHTED_K,
            "kl-safety": _SAFETY[self.safety, self.prefer],
        }[self.kind]

    @property
    def _goes_by(self) -> GroupWise | None:
        """What the rule's classes are made of; None where that is the size alone."""
        if self.kind == "kl-safety":
            return self.group_wise("l")
        return self.group_wise(self.by) if self.kind == "limit" else None

    def _c(self, rows: int) -> Fraction:
        """The constant of recursive diversity, exactly as it is written."""
        c = Fraction(repr(float(self.recursive_c)))
        if max(c.numerator, c.denominator) * rows >= 2**62:
            raise ConfigError(
                f"recursive_c has too many digits for a table of {rows} rows. Got "
                f"{self.recursive_c}"
            )
        return c
