"""What kernels are asked for: which groups to keep, and what to measure of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf
from sys import float_info

import numpy as np

from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.kernels import thresholds
from moanon.kernels.costs import COSTS
from moanon.kernels.diversity import MODELS
from moanon.kernels.selection import BY_SIZE, GroupRule
from moanon.kernels.tallies import OF_COLUMNS, TALLIES
from moanon.measures.measure import Measure, find_measure
from moanon.measures.suppression import Suppression

_SUPPRESSIONS = {
    "none": thresholds.KEEP_ALL,
    "limit": thresholds.WITHIN_LIMIT,
    "weighted-k": thresholds.ABOVE_MEAN,
}
_SAFETIES = {
    ("ordered", "k"): thresholds.KL_ORDERED_K,
    ("ordered", "l"): thresholds.KL_ORDERED_L,
    ("strict", "k"): thresholds.KL_STRICT_K,
    ("strict", "l"): thresholds.KL_STRICT_L,
}


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


def group_rule(
    suppression: Suppression, rows: int, demand: Demand = NOTHING, *, steps: bool = False
) -> GroupRule:
    """Return a suppression rule as the kernels take it, for a table of so many rows.

    `demand` is what to measure besides what the rule itself looks at, `steps` whether to follow the
    staircase.
    """
    by = suppression.goes_by
    needed = set(demand.models) | ({by.model} if by else set())
    bounds = np.full(len(MODELS), -inf)
    least = 1
    for name, bound in suppression.constraints:
        known = suppression.scale_of(name)
        if known is None:
            least = max(least, ceil(bound))
            continue
        needed.add(known.model)
        place = MODELS.index(known.model)
        least_good = known.goodness(find_measure(suppression.own_name(name)).worst(bound))
        # The largest number is a bound, too: it leaves out what is infinite.
        bounds[place] = max(bounds[place], least_good, -float_info.max)
    shift, per_unit = by.classes(rows) if by else (0.0, 1.0)
    need = np.array([model in needed for model in MODELS])
    kinds = [(TALLIES.index(name), column) for name, column in demand.tallies]
    of_columns = any(kind >= OF_COLUMNS for kind, _ in kinds)
    c = _exactly(suppression.recursive_c, rows)
    return GroupRule(
        suppression=(
            _SAFETIES[suppression.safety, suppression.prefer]
            if suppression.kind == "kl-safety"
            else _SUPPRESSIONS[suppression.kind]
        ),
        limit=suppression.most_rows(rows),
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
        with_steps=steps and suppression.kind in ("limit", "kl-safety"),
        pairs=suppression.kind == "kl-safety",
    )


def _exactly(constant: float, rows: int) -> Fraction:
    """The constant of recursive diversity, exactly as it is written."""
    c = Fraction(repr(float(constant)))
    if max(c.numerator, c.denominator) * rows >= 2**62:
        raise ConfigError(
            f"recursive_c has too many digits for a table of {rows} rows. Got {constant}"
        )
    return c
