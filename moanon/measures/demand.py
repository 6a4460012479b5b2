"""What kernels are to measure, by name."""

from __future__ import annotations

from dataclasses import dataclass

from moanon.kernels.costs import COSTS
from moanon.kernels.diversity import MODELS
from moanon.kernels.selection import GroupRule
from moanon.kernels.tallies import TALLIES

__all__ = ["NOTHING", "Demand"]


@dataclass(frozen=True)
class Demand:
    """What is measured of groups, besides sizes and losses.

    Attributes
    ----------
    models : tuple of str
        Of `moanon.kernels.diversity.MODELS`.
    costs : tuple of str
        Of `moanon.kernels.costs.COSTS`.
    tallies : tuple of (str, int)
        Of `moanon.kernels.tallies.TALLIES`, each with the number of a sensitive column.
    labels : bool
        Whether rows outside their group's majority class are counted.
    """

    models: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()
    tallies: tuple[tuple[str, int], ...] = ()
    labels: bool = False

    def __bool__(self) -> bool:
        return bool(self.models or self.costs or self.tallies or self.labels)

    @classmethod
    def met_by(cls, rule: GroupRule) -> Demand:
        """Name what a rule measures, in the order of its results."""
        return cls(
            tuple(MODELS[i] for i in rule.wanted),
            tuple(COSTS[i] for i in rule.wanted_costs),
            tuple((TALLIES[i], column) for i, column in rule.wanted_tallies.tolist()),
            rule.with_values,
        )


#: Sizes and losses alone.
NOTHING = Demand()
