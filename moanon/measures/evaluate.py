"""Evaluating solutions: genomes of one table, many at once, and groupings of any origin.

`group_rule` says in the terms of the kernels which groups to keep and what to measure of them. An
`Evaluator` has genomes scored under such a rule, which decides for each of them which groups are
kept; `Scores` holds the answer, and measures are read off it. The other functions look at one
`Grouping` with the same loops, so that a number means the same in both. Last come measures of many
solutions, with word of how far that is: of large tables it takes minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import ceil, inf
from sys import float_info

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bits, Bools, Floats, Ints, Outlined, Values
from moanon.data.domain import TreeDomain
from moanon.errors import ConfigError
from moanon.genome import Instance, Layout
from moanon.grouping import Grouping
from moanon.kernels import thresholds as rules
from moanon.kernels.costs import COSTS, OF_COLUMNS, TALLIES, block_costs, square_unit, tally_unit
from moanon.kernels.histograms import list_pairs
from moanon.kernels.models import MODELS
from moanon.kernels.population import Mode, PopulationKernel, RawScores, evaluate_groups
from moanon.kernels.selection import BY_SIZE, FIELDS, GroupRule, Results
from moanon.measures.measure import Measure, applicable, find_measure
from moanon.measures.suppression import Suppression

#: Measured where nobody says what is wanted, if there is a sensitive column.
_USUAL = ("l_distinct", "l_frequency")
#: Keeps every group that meets the constraints of a rule.
_ALL = (1, 0)
#: Gets how many of how many are done.
OnPart = Callable[[int, int], None]
#: Genomes at a time: enough to share work among them, few enough to hear of it.
_AT_A_TIME = 64
_SUPPRESSIONS = {
    "none": rules.KEEP_ALL,
    "limit": rules.WITHIN_LIMIT,
    "weighted-k": rules.ABOVE_MEAN,
}
_SAFETIES = {
    ("ordered", "k"): rules.KL_ORDERED_K,
    ("ordered", "l"): rules.KL_ORDERED_L,
    ("strict", "k"): rules.KL_STRICT_K,
    ("strict", "l"): rules.KL_STRICT_L,
}


# -- what is asked ---------------------------------------------------------------------------------


def group_rule(
    suppression: Suppression,
    rows: int,
    measures: Iterable[Measure] = (),
    sensitive: int = 0,
    *,
    steps: bool = False,
) -> GroupRule:
    """Return a suppression rule as the kernels take it, for a table of so many rows.

    Kernels measure what the rule itself looks at, and what these measures need of a table with so
    many sensitive columns; they follow the staircase where `steps` are wanted.
    """
    by, wanted = suppression.goes_by, list(measures)
    needed = {model for each in wanted for model in each.models} | ({by.model} if by else set())
    costs = {cost for each in wanted for cost in each.costs}
    tallies = {tally for each in wanted for tally in each.tallies}
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
    kinds = [
        (place, column)
        for place, tally in enumerate(TALLIES)
        if tally in tallies
        for column in range(sensitive if place >= OF_COLUMNS else 1)
    ]
    of_values = any(kind >= OF_COLUMNS for kind, _ in kinds)
    of_labels = any(each.requires == "label" for each in wanted)
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
        wanted_costs=np.flatnonzero([cost in costs for cost in COSTS]).astype(np.int64),
        wanted_tallies=np.array(kinds, dtype=np.int64).reshape(-1, 2),
        above=c.numerator,
        below=c.denominator,
        with_values=bool(need.any()) or of_values or of_labels,
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
    denominator that fits (`moanon.kernels.join.LossScale`). `levels` gives the level of each tree
    column (entries, tree columns); `groupings` those of some entries, by their numbers and
    thresholds, one after another, for measures that read groups.
    """

    instance: Instance
    suppression: Suppression  # the rule they were measured under
    raw: RawScores  # what the kernels gave …
    rule: GroupRule  # … when asked for this
    levels: Callable[[], Ints]
    groupings: Callable[[Ints, Ints], Iterable[Grouping]]
    entry: Ints | None = None  # number of each entry in `groupings`; None where they are in order
    #: Rows that no kernel has seen, because they hold a value outside the domains; they count as
    #: suppressed rows of the table.
    rows_outside: int = 0

    def __len__(self) -> int:
        return len(self.raw.fields)

    @property
    def scale(self) -> int:
        """Integer loss of a fully generalized cell."""
        return self.instance.losses.scale

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
        return square_unit(self.rows)

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
        place = _place(MODELS.index(model), self.rule.wanted, model)
        return self.raw.goodness[:, place]

    def cost(self, name: str) -> Ints:
        """Integer cost of the kept rows; see `moanon.kernels.costs.COSTS`."""
        place = _place(COSTS.index(name), self.rule.wanted_costs, f"cost {name}")
        return self.raw.fields[:, len(FIELDS) + place]

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
        tallies = self.rule.wanted_tallies[:, 0]
        _place(TALLIES.index(name), tallies, f"tally {name}")
        places = np.flatnonzero(tallies == TALLIES.index(name))
        first = len(FIELDS) + len(self.rule.wanted_costs) + 2 * places
        return self.raw.fields[:, first], self.raw.fields[:, first + 1]

    def mistakes(self) -> Ints:
        """Kept rows outside their group's majority class."""
        if self.instance.label is None:
            raise ConfigError("a class column is needed, and the table has none")
        if not self.rule.with_values:
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

    @property
    def step_genome(self) -> Ints:
        """The genome of each step of the staircases."""
        return np.repeat(np.arange(len(self)), np.diff(self.raw.step_starts))

    def steps(self) -> Scores:
        """Scores of all steps of all staircases, as if each were a genome of its own.

        D's rule always spends the whole limit. For a wanted k, suppressing only the groups smaller
        than k loses less; so a genome is a whole curve, and a solution is a genome *and* a
        threshold. Staircases over pairs of size and diversity have no more than measures that are
        `on_pairs`.
        """
        genome = self.step_genome
        return replace(
            self, raw=self.raw.of_steps(), levels=lambda: self.levels()[genome], entry=genome
        )


def _place(number: int, asked: Ints, what: str) -> int:
    """First place of a number among those that were asked for."""
    places = np.flatnonzero(asked == number)
    if not len(places):
        raise ValueError(f"{what} was not asked for: name the measure when evaluating")
    return int(places[0])


def objective_matrix(scores: Scores, names: Sequence[str]) -> Floats:
    """Values of the named measures, one row per entry, turned so that smaller is better."""
    measures = [find_measure(name) for name in names]
    columns = [each.turned(each.of(scores).astype(np.float64)) for each in measures]
    return np.stack(columns, axis=1) if columns else np.zeros((len(scores), 0))


# -- genomes ---------------------------------------------------------------------------------------


class Evaluator:
    """Scores genomes of one table.

    Results do not depend on the number of threads.

    >>> from moanon.engines import read_table
    >>> from moanon.data.domain import IntervalSpec, OrderedSpec
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, 21, 22, 30, 31, 45], "sex": list("ffmmff")})
    >>> table = read_table(frame, {"age": "quasi", "sex": "quasi"})
    >>> instance = Instance.build(table, {"age": IntervalSpec(10), "sex": OrderedSpec(("f", "m"))})
    >>> from moanon.measures import MEASURES
    >>> genomes = [[0, 0, 0], [0, 0, 1], [1, 1, 1]]
    >>> scores = Evaluator(instance).evaluate(genomes, Suppression("none"))
    >>> MEASURES["k"].of(scores)
    array([6, 2, 1])
    """

    def __init__(self, instance: Instance, threads: int = 1) -> None:
        self.instance = instance
        self.kernel: PopulationKernel = (
            instance.kernel if threads == 1 else instance.make_kernel(threads)
        )

    def evaluate(
        self,
        genomes: npt.ArrayLike,
        suppression: Suppression,
        *,
        measures: Sequence[str] | None = None,
        steps: bool = False,
        mode: Mode = "auto",
        check: bool = True,
    ) -> Scores:
        """Score genomes (genomes, bits) under a suppression rule.

        What the named `measures` do not need is not computed; by default it is what follows from
        sizes, losses and counts of sensitive values. With `steps` each genome's staircase is kept,
        too. Results do not depend on the `mode`. A search whose operators are closed may leave out
        the `check` for invalid genomes.
        """
        matrix = self.instance.layout.check(genomes) if check else np.asarray(genomes)
        rule = self._rule(suppression, measures, steps)
        return self._scores(suppression, matrix, rule, self.kernel.evaluate(matrix, rule, mode))

    def evaluate_at(
        self,
        genomes: npt.ArrayLike,
        thresholds: npt.ArrayLike,
        suppression: Suppression,
        *,
        measures: Sequence[str] | None = None,
    ) -> Scores:
        """Score solutions: genomes, each with the thresholds that decide what is suppressed.

        Thresholds (genomes, 2) are the smallest size and the smallest diversity (or class of what
        the rule goes by) that are kept. The rule that they come from also says how diversity is
        counted, and which groups fail constraints. Ordered safety keeps other groups than its
        thresholds say, and always arrives at the same ones: there the rule itself is applied.
        """
        if suppression.is_ordered:
            return self.evaluate(genomes, suppression, measures=measures)
        matrix = self.instance.layout.check(genomes)
        given = np.ascontiguousarray(thresholds, dtype=np.int64).reshape(len(matrix), 2)
        rule = self._rule(suppression, measures, steps=False)._replace(suppression=rules.GIVEN)
        raw = self.kernel.evaluate(matrix, rule, given=given)
        return self._scores(suppression, matrix, rule, raw)

    def kept_sizes(
        self, genomes: npt.ArrayLike, thresholds: npt.ArrayLike, suppression: Suppression
    ) -> list[Ints]:
        """Sizes of the groups that each of some solutions keeps; parameters as of `evaluate_at`."""
        matrix = self.instance.layout.check(genomes)
        rule = group_rule(suppression, self.kernel.rows)
        if not suppression.is_ordered:
            rule = rule._replace(suppression=rules.GIVEN)
        given = np.ascontiguousarray(thresholds, dtype=np.int64).reshape(len(matrix), 2)
        starts, sizes = self.kernel.kept_sizes(matrix, rule, given)
        return [sizes[start:stop] for start, stop in pairwise(starts.tolist())]

    def _rule(
        self, suppression: Suppression, measures: Sequence[str] | None, steps: bool
    ) -> GroupRule:
        """The rule with all that must be measured."""
        if suppression.needs_sensitive and not self.instance.cells.sensitive:
            what = "kl-safety" if suppression.kind == "kl-safety" else "the suppression rule"
            raise ConfigError(f"{what} needs a sensitive column, and the table has none")
        if measures is None:
            measures = _USUAL if self.instance.cells.sensitive else ()
        wanted = [find_measure(name) for name in measures]
        for measure in wanted:
            if (reason := measure.why_not(self.instance)) is not None:
                raise ConfigError(f"{measure.name} {reason}")
        sensitive = len(self.instance.cells.sensitive)
        return group_rule(suppression, self.kernel.rows, wanted, sensitive, steps=steps)

    def _scores(
        self, suppression: Suppression, genomes: Bits, rule: GroupRule, raw: RawScores
    ) -> Scores:
        levels = partial(cut_levels, self.instance.layout, genomes)
        groupings = partial(_groupings, self.instance, suppression, genomes)
        return Scores(self.instance, suppression, raw, rule, levels, groupings)


def _groupings(
    instance: Instance, suppression: Suppression, genomes: Bits, entry: Ints, thresholds: Ints
) -> Iterator[Grouping]:
    """The groupings of some genomes under a rule that has arrived at thresholds."""
    for genome, threshold in zip(genomes[entry], thresholds, strict=True):
        yield suppress_groups(Grouping.of_genome(instance, genome), suppression, threshold)


def cut_levels(layout: Layout, genomes: Bits) -> Ints:
    """Level of each tree column (genomes, tree columns): the lowest that is as general as its cut.

    A node that is not expanded stands at least at its own height.
    """
    found = [np.zeros((len(genomes), 0), dtype=np.int64)]
    for _, domain, place in layout.slices():
        if isinstance(domain, TreeDomain):
            tree = domain.hierarchy
            collapsed = 1 - genomes[:, place][:, tree.first_boundary].astype(np.int64)
            heights = tree.heights[tree.inner]
            found.append((collapsed * heights).max(axis=1, initial=0)[:, None])
    return np.concatenate(found, axis=1)


# -- one grouping ----------------------------------------------------------------------------------


def suppress_groups(
    grouping: Grouping, suppression: Suppression, thresholds: npt.ArrayLike = _ALL
) -> Grouping:
    """Keep the groups that thresholds and the constraints of a rule allow.

    Thresholds and their rule as for `Evaluator.evaluate_at`.
    """
    (kept,) = suppress_each([grouping], suppression, [thresholds], grouping.rows)
    return kept


def suppress_each(
    groupings: Iterable[Grouping],
    suppression: Suppression,
    thresholds: Iterable[npt.ArrayLike],
    rows: int,
) -> Iterator[Grouping]:
    """Do the same for groupings of one table of so many rows, each with its own thresholds."""
    rule = group_rule(suppression, rows)
    if not suppression.is_ordered:
        rule = rule._replace(suppression=rules.GIVEN)
    by_size = rule.suppression == rules.GIVEN and not rule.with_values
    for grouping, given in zip(groupings, thresholds, strict=True):
        size, diversity = np.asarray(given).tolist()
        if by_size and diversity <= 0:
            kept = grouping.sizes >= max(size, rule.least)
        else:
            kept, _ = _evaluate(grouping, grouping.instance, rule, (size, diversity))
        yield grouping.keep(kept)


def meet_constraints(
    instance: Instance, cells: Ints, group: Ints, sizes: Ints, suppression: Suppression
) -> Bools:
    """Tell for each of some groups whether it meets the constraints of a rule.

    For whoever makes groups and must know before they are a `Grouping`. `group` is that of each of
    some cells of the table, `sizes` are the rows of each group.
    """
    rule = group_rule(suppression, instance.cells.rows)._replace(suppression=rules.GIVEN)
    if not rule.with_values:
        return np.asarray(sizes >= rule.least)
    listed = instance.listed_values
    lengths = np.diff(listed.starts)[cells]
    ends = np.cumsum(lengths)
    places = np.arange(int(lengths.sum())) + np.repeat(
        listed.starts[cells] - ends + lengths, lengths
    )
    pairs = np.repeat(group, lengths), listed.values[places], listed.counts[places]
    kept, _ = evaluate_groups(
        rule,
        sizes.astype(np.uint32),
        np.zeros(len(sizes), dtype=np.int64),
        np.zeros((len(COSTS), len(sizes)), dtype=np.int64),
        list_pairs(instance.plan, len(sizes), *pairs),
        instance.plan,
        0,
    )
    return kept


def measure_grouping(
    grouping: Grouping, suppression: Suppression | None = None
) -> dict[str, int | float]:
    """Take every registered measure of a grouping that can be known.

    What a file does not show is left out, not guessed: which thresholds a rule arrived at (``d``,
    ``d1``, ``d2``); how suppressed rows were grouped before (``weighted_k``); what labels mean,
    where nobody says it; and sensitive columns that were not released, since what the original has
    there is not what the file gives away.

    A suppression rule says what ``l`` counts, and the constant of recursive diversity. Measures
    come in the order of the register.
    """
    instance = grouping.instance.without(grouping.absent)
    measures = [
        measure
        for measure in applicable(instance)
        if not measure.of_rule
        and (grouping.is_complete or measure.name != "weighted_k")
        and (grouping.has_meaning or not measure.reads_labels)
    ]
    scores = score_grouping(grouping, measures, suppression)
    return {measure.name: measure.of(scores)[0].item() for measure in measures}


def score_grouping(
    grouping: Grouping, measures: Iterable[Measure], suppression: Suppression | None = None
) -> Scores:
    """Evaluate a grouping so that some measures can be read off; one entry."""
    instance = grouping.instance.without(grouping.absent)
    rule = suppression or Suppression("none")
    everything = Suppression("none", diversity=rule.diversity, recursive_c=rule.recursive_c)
    sensitive = len(instance.cells.sensitive)
    kernel_rule = group_rule(everything, instance.cells.rows, measures, sensitive)
    released = grouping.released()
    _, found = _evaluate(released, instance, kernel_rule, _ALL)
    if grouping.is_complete:  # over all groups, the suppressed ones included
        found.fields[FIELDS.index("squares")] = int((grouping.sizes**2).sum())
    return Scores(
        instance,
        everything,
        RawScores.without_steps(found.fields[None], found.goodness[None]),
        kernel_rule,
        lambda: _levels(instance, released),
        lambda entry, thresholds: [released],
    )


def _levels(instance: Instance, grouping: Grouping) -> Ints:
    """Level of each tree column: of a genome that of its cut, of anything else the highest node."""
    if grouping.genome is not None:
        return cut_levels(instance.layout, grouping.genome[None])
    return np.asarray(_nodes(instance, grouping)[4].max(axis=1)[None])


def _evaluate(
    grouping: Grouping, instance: Instance, rule: GroupRule, thresholds: tuple[int, int]
) -> tuple[Bools, Results]:
    """Apply a rule to the groups and measure what it keeps."""
    costs = np.zeros((len(COSTS), len(grouping)), dtype=np.int64)
    if len(rule.wanted_costs):
        starts, stops, node_starts, node_stops, _ = _nodes(instance, grouping)
        costs = block_costs(starts, stops, node_starts, node_stops, instance.prices)
    return evaluate_groups(
        rule,
        grouping.sizes.astype(np.uint32),
        grouping.integer_losses,
        costs,
        list_pairs(instance.plan, len(grouping), *_pairs(grouping, instance)),
        instance.plan,
        instance.losses.scale * len(instance.layout.columns),
        thresholds,
    )


def _pairs(grouping: Grouping, instance: Instance) -> tuple[Values, ...]:
    """Group, value and number of rows of what occurs."""
    parts = []
    for column in instance.histogram_columns:
        owner, value, rows = grouping.values_of(column)
        parts.append((owner, instance.value_numbers[column.name].astype(np.int32)[value], rows))
    if len(parts) == 1:
        return parts[0]
    nothing = (np.zeros(0, dtype=np.int64),) * 3
    return tuple(np.concatenate(each) for each in zip(nothing, *parts, strict=True))


def _nodes(instance: Instance, grouping: Grouping) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Blocks; where they are of tree columns, the lowest nodes that hold them, and their levels.

    A genome's blocks are nodes themselves. A file from elsewhere may show half a node; it has lost
    at least as much as one that shows the whole.
    """
    assert grouping.starts is not None  # what labels mean is known
    assert grouping.stops is not None
    starts, stops = (each.astype(np.int64) for each in (grouping.starts, grouping.stops))
    node_starts, node_stops, levels = starts.copy(), stops.copy(), []
    trees = instance.layout.trees
    for column, name in enumerate(instance.layout.columns):
        if name not in trees:
            continue
        tree = trees[name]
        blocks = np.stack([starts[column], stops[column]], axis=1)
        different, which = np.unique(blocks, axis=0, return_inverse=True)
        nodes = np.array([tree.lowest(int(a), int(b)) for a, b in different])[which.reshape(-1)]
        node_starts[column] = np.array(tree.starts)[nodes]
        node_stops[column] = np.array(tree.stops)[nodes]
        levels.append(tree.heights[nodes])
    found = np.array(levels, dtype=np.int64).reshape(-1, len(grouping))
    return starts, stops, node_starts, node_stops, found


# -- many solutions --------------------------------------------------------------------------------


def measure_genomes(
    evaluator: Evaluator,
    genomes: Bits,
    thresholds: Ints,
    suppression: Suppression,
    names: Sequence[str],
    on_part: OnPart | None = None,
) -> dict[str, Values]:
    """Take measures of genomes with thresholds; parameters as of `Evaluator.evaluate_at`."""
    parts: list[list[Values]] = []
    for start in range(0, max(1, len(genomes)), _AT_A_TIME):
        chosen = slice(start, start + _AT_A_TIME)
        scores = evaluator.evaluate_at(
            genomes[chosen], thresholds[chosen], suppression, measures=names
        )
        parts.append([find_measure(name).of(scores) for name in names])
        if on_part is not None:
            on_part(min(start + _AT_A_TIME, len(genomes)), len(genomes))
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return dict(zip(names, columns, strict=True))


def measure_groupings(
    groupings: Iterable[Grouping], number: int, suppression: Suppression, on_part: OnPart | None
) -> list[dict[str, int | float]]:
    """Take every measure of so many groupings; see `measure_grouping`."""
    found = []
    for grouping in groupings:
        found.append(measure_grouping(grouping, suppression))
        if on_part is not None:
            on_part(len(found), number)
    return found
