"""Questions: what is made best within which limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from moanon.errors import ConfigError
from moanon.measures.registry import find_measure
from moanon.questions.solutions import Limit, Solutions, Truths

__all__ = ["Question"]


@dataclass(frozen=True)
class Question:
    """Limits, and what to make best within them.

    Attributes
    ----------
    limits : tuple of Limit
    prefer : tuple of str
        Measures to make best, the most wanted first; empty for what `moanon.questions` says.
    """

    limits: tuple[Limit, ...] = ()
    prefer: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        max_loss: float | None = None,
        max_suppression: float | None = None,
        min_k: float | None = None,
        min_l: float | None = None,
        at_most: Mapping[str, float] | None = None,
        at_least: Mapping[str, float] | None = None,
        prefer: str | Sequence[str] = (),
    ) -> Question:
        """Put a question together; parameters as for `moanon.front.Front.ask`."""
        most = [("loss", max_loss), ("sl", max_suppression), *(at_most or {}).items()]
        least = [("k", min_k), ("l", min_l), *(at_least or {}).items()]
        limits = (
            *(Limit(name, "at most", bound) for name, bound in most if bound is not None),
            *(Limit(name, "at least", bound) for name, bound in least if bound is not None),
        )
        wanted = (prefer,) if isinstance(prefer, str) else tuple(dict.fromkeys(prefer))
        for name in wanted:
            find_measure(name)
        return cls(limits, wanted)

    @property
    def limits_loss(self) -> bool:
        """Whether the question says how much loss is tolerable.

        Few suppressed rows alone bound no loss: everything can still be generalized away.
        """
        return any(
            limit.demands and not limit.of_privacy and limit.measure not in ("sl", "suppressed")
            for limit in self.limits
        )

    @property
    def limits_privacy(self) -> bool:
        """Whether the question says how much privacy is needed."""
        return any(limit.demands and limit.of_privacy for limit in self.limits)

    @property
    def is_open(self) -> bool:
        """Whether nothing says what to make best."""
        return not (self.prefer or self.limits_loss or self.limits_privacy)

    def goal(self, solutions: Solutions) -> tuple[str, ...]:
        """The measures to make best, the most wanted first.

        Raises
        ------
        ConfigError
            If nothing says what to make best.
        """
        if self.is_open:
            raise ConfigError(
                "a question needs a limit on loss (max_loss), on privacy (min_k, min_l) or on "
                "another measure (at_most, at_least), or what to prefer"
            )
        return self.prefer or (solutions.privacy if self.limits_loss else ("loss",))

    def within(self, solutions: Solutions, *, but: Limit | None = None) -> Truths:
        """Which solutions are within all limits, or all but one."""
        inside = np.ones(len(solutions), dtype=bool)
        for limit in self.limits:
            if limit is not but:
                inside &= limit.allows(solutions.column(limit.measure))
        return inside
