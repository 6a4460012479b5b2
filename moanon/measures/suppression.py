"""Which groups are given up: the suppression rules of the four problems (D §5).

A rule looks at the sizes of a genome's groups (and at their diversity) and settles which rows are
left out of the release. Everything measured "after suppression" follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from moanon.errors import ConfigError
from moanon.kernels import scoring
from moanon.kernels.population import Rule

__all__ = ["Suppression", "row_limit"]

Kind = Literal["none", "limit", "weighted-k", "kl-safety"]

_SAFETY = {
    ("ordered", "k"): scoring.KL_ORDERED_K,
    ("ordered", "l"): scoring.KL_ORDERED_L,
    ("strict", "k"): scoring.KL_STRICT_K,
    ("strict", "l"): scoring.KL_STRICT_L,
}


_WORDS = {
    "kind": get_args(Kind),
    "safety": ("ordered", "strict"),
    "prefer": ("k", "l"),
    "diversity": ("distinct", "frequency"),
}


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
        ``none`` keeps every row (P1). ``limit`` gives up whole smallest groups while they hold at
        most a share `eta` of the rows (P2, D eq. 7). ``weighted-k`` gives up every group smaller
        than weighted-k (P3). ``kl-safety`` gives up groups that are small or little diverse within
        `eta` (P4).
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
    """

    kind: Kind = "limit"
    eta: float = 0.0
    safety: Literal["ordered", "strict"] = "strict"
    prefer: Literal["k", "l"] = "k"
    diversity: Literal["distinct", "frequency"] = "distinct"

    def __post_init__(self) -> None:
        """Refuse words that mean nothing, before they are taken for something else."""
        for name, known in _WORDS.items():
            value = getattr(self, name)
            if value not in known:
                raise ConfigError(f"{name} must be one of {', '.join(known)}. Got {value!r}")
        row_limit(self.eta, 1)

    def kernel_rule(self, rows: int, *, steps: bool) -> Rule:
        """Return the rule as the kernels take it, for a table of `rows` rows."""
        code = {
            "none": scoring.KEEP_ALL,
            "limit": scoring.WITHIN_LIMIT,
            "weighted-k": scoring.ABOVE_WEIGHTED_K,
            "kl-safety": _SAFETY[self.safety, self.prefer],
        }[self.kind]
        pairs = self.kind == "kl-safety"
        with_steps = steps and self.kind in ("limit", "kl-safety")
        limit = row_limit(self.eta, rows)
        return Rule(code, limit, self.diversity == "frequency", with_steps, pairs)
