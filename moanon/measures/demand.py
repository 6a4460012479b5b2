"""What kernels are to measure, by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from moanon.genome import Instance
from moanon.kernels.costs import COSTS
from moanon.kernels.keeping import ModelRule
from moanon.kernels.models import MODELS
from moanon.kernels.runs import Rule
from moanon.kernels.tallies import OF_COLUMNS, TALLIES
from moanon.measures.measure import Measure

__all__ = ["NOTHING", "Demand", "demand_of"]


@dataclass(frozen=True)
class Demand:
    """What is measured of groups, besides sizes and losses.

    Attributes
    ----------
    models : tuple of str
        Of `moanon.kernels.models.MODELS`.
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
    def met_by(cls, rule: Rule | ModelRule) -> Demand:
        """Name what a rule measures, in the order of its results."""
        if isinstance(rule, Rule):
            return cls()
        return cls(
            tuple(MODELS[i] for i in rule.wanted),
            tuple(COSTS[i] for i in rule.wanted_costs),
            tuple((TALLIES[i], column) for i, column in rule.wanted_tallies.tolist()),
            rule.with_values,
        )


#: Sizes and losses alone.
NOTHING = Demand()


def demand_of(measures: Iterable[Measure], instance: Instance) -> Demand:
    """What must be measured of a table's groups for these measures."""
    wanted = list(measures)
    sensitive = len(instance.cells.sensitive)
    tallies = {tally for measure in wanted for tally in measure.tallies}
    return Demand(
        tuple(sorted({model for measure in wanted for model in measure.models})),
        tuple(sorted({cost for measure in wanted for cost in measure.costs})),
        tuple(
            (tally, column)
            for place, tally in enumerate(TALLIES)
            if tally in tallies
            for column in range(sensitive if place >= OF_COLUMNS else 1)
        ),
        any(measure.requires == "label" for measure in wanted),
    )
