"""What kernels are asked for, and what they answer before it gets its names.

`Demand` says what to measure of groups, `group_rule` which of them to keep; `Scores` holds what was
measured of a population of genomes, or of one grouping, and measures are read off it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, inf
from sys import float_info

import numpy as np

from moanon.arrays import Floats, Ints, Outlined
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.kernels import thresholds
from moanon.kernels.costs import COSTS, OF_COLUMNS, TALLIES, square_unit, tally_unit
from moanon.kernels.models import MODELS
from moanon.kernels.population import RawScores
from moanon.kernels.selection import BY_SIZE, FIELDS, GroupRule
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
        Of `moanon.kernels.models.MODELS`.
    costs : tuple of str
        Of `moanon.kernels.costs.COSTS`.
    tallies : tuple of (str, int)
        Of `moanon.kernels.costs.TALLIES`, each with the number of a sensitive column.
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


# -- what was measured -----------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Scores(Outlined):
    """Results of a population, one entry per genome and in its order.

    Losses are sums of integers until the last division, exact wherever the domains have a common
    denominator that fits; see `moanon.kernels.join.LossScale`.

    Attributes
    ----------
    instance : Instance
        The table.
    suppression : Suppression
        The rule they were measured under.
    scale : int
        Integer loss of a fully generalized cell.
    raw : RawScores
        What the kernels gave.
    measured : Demand
        What is in `raw`, and in which order.
    levels : callable
        Gives the level of each tree column (entries, tree columns).
    groupings : callable
        Gives the groupings of some entries, by their numbers and thresholds, one after another; for
        measures that read groups.
    entry : array (entries,) or None
        The number of each entry in `groupings`; None where they are in order.
    rows_outside : int
        Rows that no kernel has seen, because they hold a value outside the domains; they count as
        suppressed rows of the table.
    """

    instance: Instance
    suppression: Suppression
    scale: int
    raw: RawScores
    measured: Demand
    levels: Callable[[], Ints]
    groupings: Callable[[Ints, Ints], Iterable[Grouping]]
    entry: Ints | None = None
    rows_outside: int = 0

    def __len__(self) -> int:
        return len(self.raw.fields)

    @property
    def rows(self) -> int:
        """Rows n of the table."""
        return self.instance.cells.rows + self.rows_outside

    @property
    def kept_rows(self) -> Ints:
        """Rows that are released; at least 1, for divisions."""
        return np.maximum(1, self.rows - self.field("suppressed"))

    @property
    def columns(self) -> int:
        """Quasi-identifiers q of the table."""
        return len(self.instance.layout.columns)

    @property
    def square_unit(self) -> float:
        """Integer that stands for 1 in tallies of squared numbers of rows."""
        return float(square_unit(self.rows))

    @property
    def tally_unit(self) -> float:
        """Integer that stands for 1 in tallies of shares."""
        return tally_unit(self.rows)

    def field(self, name: str) -> Ints:
        """Integer result by its name in `moanon.kernels.selection.FIELDS`."""
        found = self.raw.field(name)
        return found + self.rows_outside if name == "suppressed" else found

    def goodness(self, model: str) -> Floats:
        """The worst kept group by a privacy model; see `moanon.kernels.models.MODELS`."""
        if not self.instance.cells.sensitive:
            raise ConfigError("diversity needs a sensitive column, and the table has none")
        if model not in self.measured.models:
            raise ValueError(f"{model} was not asked for: name the measure when evaluating")
        return self.raw.goodness[:, self.measured.models.index(model)]

    def cost(self, name: str) -> Ints:
        """Integer cost of the kept rows; see `moanon.kernels.costs.COSTS`."""
        if name not in self.measured.costs:
            raise ValueError(f"cost {name} was not asked for: name the measure when evaluating")
        return self.raw.fields[:, len(FIELDS) + self.measured.costs.index(name)]

    def cost_with_suppressed(self, name: str) -> Ints:
        """The same, and every suppressed row counts as fully generalized."""
        return self.cost(name) + self.field("suppressed") * self._full_cost(name)

    def cost_share(self, name: str, total: Ints) -> Floats:
        """Integer cost beyond that of the table as it is, as a share of what could be lost."""
        least = int(self.instance.prices.least[COSTS.index(name)])
        return (total - least) / float(max(1, self.rows * self._full_cost(name) - least))

    def _full_cost(self, name: str) -> int:
        return int(self.instance.prices.full[COSTS.index(name)])

    def tally(self, name: str) -> tuple[Ints, Ints]:
        """Tally of the kept rows and of the suppressed ones; see `moanon.kernels.costs.TALLIES`.

        Arrays (entries, columns): one column for each sensitive one, or just one where the tally is
        not one of sensitive values.
        """
        places = [at for at, (tally, _) in enumerate(self.measured.tallies) if tally == name]
        if not places:
            raise ValueError(f"tally {name} was not asked for: name the measure when evaluating")
        first = len(FIELDS) + len(self.measured.costs) + 2 * np.array(places)
        return self.raw.fields[:, first], self.raw.fields[:, first + 1]

    def mistakes(self) -> Ints:
        """Kept rows outside their group's majority class."""
        if self.instance.label is None:
            raise ConfigError("a class column is needed, and the table has none")
        if not self.measured.labels:
            raise ValueError("classes were not asked for: name the measure when evaluating")
        return self.field("mistakes")

    def diversity(self, rule: str) -> Ints:
        """Least diversity of kept groups by a rule that counts; 0 where nothing is kept."""
        least = self.goodness(rule)
        return np.where(np.isfinite(least), least, 0).astype(np.int64)

    def total_share(self, losses: Ints, suppressed: Ints) -> Floats:
        """GL + SL as a fraction of ``n * q``, added up before the division: ties stay ties."""
        return self.share(losses + suppressed * (self.columns * self.scale))

    def share(self, losses: Ints) -> Floats:
        """Integer losses as a fraction of ``n * q``."""
        return losses / float(self.scale * self.rows * self.columns)

    def each_grouping(self) -> Iterable[Grouping]:
        """The grouping of each entry, with the groups suppressed that are below its thresholds."""
        entry = np.arange(len(self)) if self.entry is None else self.entry
        return self.groupings(entry, np.stack([self.field("d1"), self.field("d2")], axis=1))

    # -- what meets the constraints ----------------------------------------------------------------

    @property
    def excess(self) -> Floats:
        """Share of rows by which groups that fail constraints exceed what may be suppressed.

        0 for feasible genomes; at least one row where nothing would be left.
        """
        if not self.suppression.constraints:
            return np.zeros(len(self))
        limit = self.suppression.most_rows(self.rows)
        over = np.maximum(0, self.field("failing") - limit)
        over = np.where(self.field("k") == 0, np.maximum(over, 1), over)
        return over / self.rows

    # -- staircases --------------------------------------------------------------------------------

    @property
    def step_genome(self) -> Ints:
        """The genome of each step of the staircases."""
        return np.repeat(np.arange(len(self)), np.diff(self.raw.step_starts))

    def steps(self) -> Scores:
        """Scores of all steps of all staircases, as if each were a genome of its own.

        D's rule always spends the whole limit. For a wanted k, giving up only the groups smaller
        than k loses less; so a genome is a whole curve, and a solution is a genome *and* a
        threshold. Staircases over pairs of size and diversity have no more than measures that are
        `on_pairs`.
        """
        genome = self.step_genome
        return replace(
            self, raw=self.raw.of_steps(), levels=lambda: self.levels()[genome], entry=genome
        )


def objective_matrix(scores: Scores, names: Sequence[str]) -> Floats:
    """Values of the named measures, one row per entry, turned so that smaller is better."""
    measures = [find_measure(name) for name in names]
    columns = [each.turned(each.of(scores).astype(np.float64)) for each in measures]
    return np.stack(columns, axis=1) if columns else np.zeros((len(scores), 0))
