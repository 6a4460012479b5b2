"""Evaluating solutions: genomes of one table, many at once, and groupings of any origin.

An `Evaluator` scores genomes under a suppression rule in the kernels, which decide for each of them
which groups are kept. The other functions look at one `Grouping` with the same loops, so that a
number means the same in both. Last come measures of many solutions, with word of how far that is:
of large tables it takes minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bits, Bools, Ints, Values
from moanon.data.domain import TreeDomain
from moanon.errors import ConfigError
from moanon.genome import Instance, Layout
from moanon.grouping import Grouping
from moanon.kernels.costs import COSTS, block_costs
from moanon.kernels.histograms import Lists, make_lists
from moanon.kernels.population import Mode, PopulationKernel, RawScores, evaluate_groups
from moanon.kernels.selection import FIELDS, GroupRule, Results
from moanon.kernels.thresholds import GIVEN
from moanon.measures.measure import Measure, applicable, find_measure
from moanon.measures.scores import Demand, Scores, demand_of, group_rule
from moanon.measures.suppression import Suppression

#: Measured where nobody says what is wanted, if there is a sensitive column.
_USUAL = ("l_distinct", "l_frequency")
#: Keeps every group that meets the constraints of a rule.
_ALL = (1, 0)
#: So many pairs of group and value are sorted at a time.
_PAIRS = 1 << 19
#: Gets how many of how many are done.
OnPart = Callable[[int, int], None]
#: Genomes at a time: enough to share work among them, few enough to hear of it.
_AT_A_TIME = 64


class Evaluator:
    """Scores genomes of one table.

    Parameters
    ----------
    instance : Instance
    threads : int
        Threads to use; results do not depend on it.

    Examples
    --------
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
        """Score genomes under a suppression rule.

        Parameters
        ----------
        genomes : array (genomes, bits)
        suppression : Suppression
        measures : sequence of str, optional
            Names of the measures that will be read off; what they do not need is not computed.
            Default: those that follow from sizes, losses and counts of sensitive values.
        steps : bool
            Also keep each genome's staircase.
        mode : {"auto", "flat", "rollup"}
            How to evaluate; the results are the same.
        check : bool
            Refuse invalid genomes. A search whose operators are closed may leave it out.
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

        Parameters
        ----------
        genomes : array (genomes, bits)
        thresholds : array (genomes, 2)
            Smallest size and smallest diversity (or class of what the rule goes by) that are kept.
        suppression : Suppression
            The rule that the thresholds come from. It also says how diversity is counted, and which
            groups fail constraints. Ordered safety keeps other groups than its thresholds say, and
            always arrives at the same ones: there the rule itself is applied.
        measures : sequence of str, optional
            As for `evaluate`.
        """
        if suppression.is_ordered:
            return self.evaluate(genomes, suppression, measures=measures)
        matrix = self.instance.layout.check(genomes)
        given = np.ascontiguousarray(thresholds, dtype=np.int64).reshape(len(matrix), 2)
        rule = self._rule(suppression, measures, steps=False)._replace(suppression=GIVEN)
        raw = self.kernel.evaluate(matrix, rule, given=given)
        return self._scores(suppression, matrix, rule, raw)

    def kept_sizes(
        self, genomes: npt.ArrayLike, thresholds: npt.ArrayLike, suppression: Suppression
    ) -> list[Ints]:
        """Sizes of the groups that each of some solutions keeps; parameters as of `evaluate_at`."""
        matrix = self.instance.layout.check(genomes)
        rule = group_rule(suppression, self.kernel.rows)
        if not suppression.is_ordered:
            rule = rule._replace(suppression=GIVEN)
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
        demand = demand_of(wanted, self.instance)
        return group_rule(suppression, self.kernel.rows, demand, steps=steps)

    def _scores(
        self, suppression: Suppression, genomes: Bits, rule: GroupRule, raw: RawScores
    ) -> Scores:
        levels = partial(cut_levels, self.instance.layout, genomes)
        scale = self.kernel.losses.scale
        groupings = partial(_groupings, self.instance, suppression, genomes)
        return Scores(
            self.instance, suppression, scale, raw, Demand.met_by(rule), levels, groupings
        )


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

    Thresholds and their rule as for `moanon.measures.evaluate.Evaluator.evaluate_at`.
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
        rule = rule._replace(suppression=GIVEN)
    by_size = rule.suppression == GIVEN and not rule.with_values
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

    For whoever makes groups and must know before they are a `Grouping`.

    Parameters
    ----------
    instance : Instance
    cells, group : arrays
        Some cells of the table and the group of each; other cells are in none.
    sizes : array (groups,)
        Rows of each group.
    suppression : Suppression
        Only its constraints count.
    """
    rule = group_rule(suppression, instance.cells.rows)._replace(suppression=GIVEN)
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
        _list_values(instance, len(sizes), *pairs),
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
    demand = demand_of(measures, instance)
    kernel_rule = group_rule(everything, instance.cells.rows, demand)
    released = grouping.released()
    _, found = _evaluate(released, instance, kernel_rule, _ALL)
    if grouping.is_complete:  # over all groups, the suppressed ones included
        found.fields[FIELDS.index("squares")] = int((grouping.sizes**2).sum())
    no_steps = np.zeros((0, 0), dtype=np.int64)
    return Scores(
        instance,
        everything,
        instance.losses.scale,
        RawScores(
            found.fields[None],
            found.goodness[None],
            np.zeros(2, dtype=np.int64),
            no_steps,
            no_steps.astype(np.float64),
        ),
        Demand.met_by(kernel_rule),
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
        _list_values(instance, len(grouping), *_pairs(grouping, instance)),
        instance.plan,
        instance.losses.scale * len(instance.layout.columns),
        thresholds,
    )


def _list_values(
    instance: Instance, groups: int, owner: Values, value: Values, counts: Values
) -> Lists:
    """List the sensitive values and class labels of groups, ascending; see `_pairs`.

    There may be as many pairs as rows: some groups after the others, so that sorting them takes
    little beside them.
    """
    first = instance.plan.first
    columns, values = len(first) - 1, max(1, int(first[-1]))
    turns = -(-len(owner) // _PAIRS)
    lists, end = make_lists(instance.plan, groups, len(owner)), 0
    lengths = np.zeros(groups * columns, dtype=np.int64)
    for turn in range(turns):
        low, high = turn * groups // turns, (turn + 1) * groups // turns
        here = slice(None) if turns == 1 else np.flatnonzero((owner >= low) & (owner < high))
        keys, rows = _sum_pairs(values, owner[here], value[here], counts[here])
        group, each = np.divmod(keys, values)
        np.add.at(lengths, group * columns + np.searchsorted(first, each, side="right") - 1, 1)
        begin, end = end, end + len(rows)
        lists.value[begin:end], lists.rows[begin:end] = each, rows
    lists.starts[1:] = np.cumsum(lengths)
    return lists._replace(value=lists.value[:end], rows=lists.rows[:end])


def _sum_pairs(values: int, owner: Values, value: Values, counts: Values) -> tuple[Ints, Values]:
    """Add up the rows of pairs that occur more than once: keys of group and value, ascending."""
    if (without := owner < 0).any():
        owner, value, counts = owner[~without], value[~without], counts[~without]
    keys = owner.astype(np.int64) * values + value
    order = np.argsort(keys)
    keys = keys[order]
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    rows = np.add.reduceat(counts[order], begins) if len(begins) else counts[:0]
    return keys[begins], rows


def _pairs(grouping: Grouping, instance: Instance) -> tuple[Values, Values, Values]:
    """Group, value and number of rows of what occurs."""
    owners: list[Values] = []
    values: list[Values] = []
    counts: list[Values] = []
    for column in instance.histogram_columns:
        owner, value, rows = grouping.values_of(column)
        owners.append(owner)
        values.append(instance.value_numbers[column.name].astype(np.int32)[value])
        counts.append(rows)
    return _joined(owners), _joined(values), _joined(counts)


def _joined(parts: list[Values]) -> Values:
    """Put arrays behind one another; one is left as it is."""
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, dtype=np.int64), *parts])


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
    groupings: Iterable[Grouping],
    number: int,
    suppression: Suppression,
    on_part: OnPart | None = None,
) -> list[dict[str, int | float]]:
    """Take every measure of so many groupings; see `measure_grouping`."""
    found = []
    for grouping in groupings:
        found.append(measure_grouping(grouping, suppression))
        if on_part is not None:
            on_part(len(found), number)
    return found
