"""One grouping, of any origin: which of its groups a rule keeps, and every measure of it.

A search settles both in its kernels, for whole populations of genomes (``evaluate``). Here the same
loops look at the groups of one `Grouping`, so that a number means the same in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bools, Ints, Values
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.kernels.costs import COSTS, block_costs
from moanon.kernels.evaluation import Kept, evaluate_groups
from moanon.kernels.histograms import Lists, make_lists
from moanon.kernels.population import RawScores
from moanon.kernels.selection import FIELDS, GroupRule
from moanon.kernels.thresholds import GIVEN
from moanon.measures.demand import Demand, demand_of, group_rule
from moanon.measures.evaluate import cut_levels
from moanon.measures.measure import Measure, applicable
from moanon.measures.scores import Scores
from moanon.measures.suppression import Suppression

#: Keeps every group that meets the constraints of a rule.
_ALL = (1, 0)
#: So many pairs of group and value are sorted at a time.
_PAIRS = 1 << 19


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
            kept = _evaluate(grouping, grouping.instance, rule, (size, diversity)).groups
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
    return evaluate_groups(
        rule,
        sizes.astype(np.uint32),
        np.zeros(len(sizes), dtype=np.int64),
        np.zeros((len(COSTS), len(sizes)), dtype=np.int64),
        _list_values(instance, len(sizes), *pairs),
        instance.plan.total,
        instance.plan,
        0,
    ).groups


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
    found = _evaluate(released, instance, kernel_rule, _ALL)
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
) -> Kept:
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
        instance.plan.total,
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
