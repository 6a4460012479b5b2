"""Which groups stay under constraints and a suppression rule, and all that is then measured.

Groups that fail a constraint are suppressed first. If they hold more rows than may be suppressed,
the genome is *infeasible*: no threshold helps. Otherwise the rule continues with the other groups
and what is left of the limit. The rule may go by the size of groups (D's eq. 7) or by the *rank* of
one of their privacy models: its value where that is a whole number, else a class of narrow width,
so that a genome has tens of thresholds instead of thousands.

Results are rows of integers (`FIELDS`, then the costs asked for) and of goodness (of the models
asked for), one for each genome, and one for each step of its staircase where that is wanted. Behind
the costs stand two integers for each tally asked for, that of the kept and of the suppressed rows.

A *staircase* is what one genome offers within the limit: a row for every threshold that some group
attains. (A threshold between two of them keeps the same groups as the higher one.)
"""

from __future__ import annotations

from math import floor, inf, nan
from typing import NamedTuple

import numpy as np

from moanon.arrays import Bools, Floats, Ints, UInts
from moanon.kernels.costs import GroupBuffers, add_tallies, measure_tallies
from moanon.kernels.histograms import Lists, Plan, sort_by
from moanon.kernels.jit import as_kernel, inlined, inner, int64
from moanon.kernels.models import MODELS, measure_models
from moanon.kernels.thresholds import (
    ABOVE_MEAN,
    CLASSES,
    GIVEN,
    KEEP_ALL,
    WITHIN_LIMIT,
    list_kept,
    list_worst,
    rank_threshold,
    size_threshold,
    thresholds,
)

#: Columns of the integer results of one genome; costs and tallies follow.
FIELDS = (
    "groups",  # all groups
    "squares",  # sum of size² over all groups: n times weighted-k
    "loss_all",  # integer loss of all rows
    "d1",  # size threshold the rule arrived at
    "d2",  # threshold of rank
    "suppressed",  # rows
    "kept_groups",
    "kept_squares",
    "kept_loss",
    "k",  # smallest kept group
    "largest",  # largest kept group
    "failing",  # rows in groups that fail a constraint
    "mistakes",  # kept rows that are not of their group's majority class
    "ranked",  # sum of size · rank over all groups, where the rule goes by a rank
)
_GROUPS, _SQUARES, _LOSS, _D1, _D2, _SUPPRESSED = range(6)
_KEPT, _KEPT_SQUARES, _KEPT_LOSS, _K, _LARGEST, _FAILING, _MISTAKES = range(6, 13)
_RANKED, _COST = 13, 14
#: `GroupRule.by` of a rule that goes by the size of groups.
BY_SIZE = -1

_NONE = np.zeros(0, dtype=np.int64)


class GroupRule(NamedTuple):
    """What is suppressed, and what is measured; by default, sizes and losses."""

    suppression: int  # as in `moanon.kernels.thresholds`
    limit: int  # rows that may be suppressed
    by: int = BY_SIZE  # the model that the rule goes by …
    shift: float = 0.0  # … by ranks: ``floor((goodness + shift) * per_unit)``, at least 1
    per_unit: float = 1.0
    least: int = 1  # groups smaller than this fail …
    bounds: Floats = np.full(len(MODELS), -inf)  # … and those with less goodness …
    bounded: Ints = _NONE  # … of these models
    need: Bools = np.zeros(len(MODELS), dtype=np.bool_)  # models to measure, with those above
    wanted: Ints = _NONE  # the same as a list, in the order of the results
    wanted_costs: Ints = _NONE
    wanted_tallies: Ints = _NONE.reshape(0, 2)  # of a tally and the sensitive column it is of
    above: int = 1  # the constant of recursive diversity is this quotient
    below: int = 1
    with_values: bool = False  # sensitive values are needed: for models, tallies or mistakes
    with_steps: bool = False  # staircases are wanted …
    pairs: bool = False  # … over pairs of size and rank


class Results(NamedTuple):
    """Where results go; those of many genomes have one more axis before the others."""

    fields: Ints  # (fields,): in the order of `FIELDS`, then costs, then tallies
    goodness: Floats  # (models,): of the worst kept group; infinite where nothing is kept
    steps: Ints  # (steps, fields): the same for each step of the staircase
    step_goodness: Floats  # (steps, models)


@inner
def _begin(groups: int, squares: int, loss: int, out: Ints) -> None:
    """Begin a row of results with all groups."""
    for field in range(len(out)):
        out[field] = 0
    out[_GROUPS], out[_SQUARES], out[_LOSS] = groups, squares, loss


@inner
def _copy(row: Ints | Floats, out: Ints | Floats) -> None:
    """Copy a row of results; a slice would say the same, but takes numba longer to compile."""
    for field in range(len(row)):
        out[field] = row[field]


# -- by sizes alone --------------------------------------------------------------------------------


@inner
def _is_simple(rule: GroupRule) -> bool:
    """Whether nothing counts but sizes and losses."""
    more = len(rule.wanted_costs) + len(rule.wanted_tallies)
    return not rule.with_values and more == 0 and rule.least <= 1


@inner
def sizes_suffice(rule: GroupRule) -> bool:
    """Whether `measure_sizes` gives what `measure_groups` would."""
    in_time = rule.suppression == WITHIN_LIMIT and (rule.limit < CLASSES or not rule.with_steps)
    return _is_simple(rule) and (in_time or rule.suppression == KEEP_ALL)


@inner
def _measure_large(
    limit: int, sizes: UInts, losses: Ints, groups: int, class_rows: Ints, out: Ints
) -> None:
    """Measure what stays within any limit, the threshold first."""
    least = size_threshold(sizes, None, int64(0), int64(0), groups, limit, class_rows)
    rows, squares, loss_all, largest = int64(0), int64(0), int64(0), int64(0)
    kept, kept_rows, kept_squares, kept_loss = int64(0), int64(0), int64(0), int64(0)
    smallest = int64(2**62)
    for group in range(groups):
        size = int64(sizes[group])
        loss = size * losses[group]
        rows += size
        squares += size * size
        loss_all += loss
        if size >= least:
            kept += 1
            kept_rows += size
            kept_squares += size * size
            kept_loss += loss
            smallest = min(smallest, size)
            largest = max(largest, size)
    _begin(groups, squares, loss_all, out)
    out[_D1], out[_SUPPRESSED], out[_KEPT] = least, rows - kept_rows, kept
    out[_KEPT_SQUARES], out[_KEPT_LOSS] = kept_squares, kept_loss
    out[_K], out[_LARGEST] = smallest if kept else int64(0), largest


@inner
def measure_sizes(
    rule: GroupRule,
    sizes: UInts,
    losses: Ints,
    groups: int,
    class_rows: Ints,
    class_loss: Ints,
    results: Results,
) -> int:
    """Do what `measure_groups` does where only sizes and losses count, in one pass over the groups.

    For the rule WITHIN_LIMIT. Below a limit of 4,096 rows a class is one size: what is suppressed
    is added up from the classes, and what is kept is the rest. Beyond, the threshold is found
    first, and there are no steps. KEEP_ALL is a limit of no rows.
    """
    limit, with_steps, out = rule.limit, rule.with_steps, results.fields
    if rule.suppression == KEEP_ALL:
        limit, with_steps = int64(0), False
    if limit >= CLASSES:
        _measure_large(limit, sizes, losses, groups, class_rows, out)
        return int64(0)
    squares, loss_all = int64(0), int64(0)
    largest, last = int64(0), int64(0)
    larger = int64(2**62)  # smallest size beyond the limit
    for group in range(groups):
        size = int64(sizes[group])
        loss = size * losses[group]
        squares += size * size
        loss_all += loss
        largest = max(largest, size)
        if size <= limit:
            class_rows[size] += size
            class_loss[size] += loss
            last = max(last, size)
        else:
            larger = min(larger, size)
    _begin(groups, squares, loss_all, out)
    out[_LARGEST] = largest
    gone_rows, gone_squares, gone_loss, gone = int64(0), int64(0), int64(0), int64(0)
    steps = int64(0)
    found = False
    place = int64(0)
    while not found:
        place += 1
        size, rows = larger, limit + 1  # behind the classes, what is beyond the limit
        if place <= last:
            size, rows = place, class_rows[place]
        if rows == 0:
            continue
        found = gone_rows + rows > limit
        out[_D1] = out[_K] = size
        out[_SUPPRESSED] = gone_rows
        out[_KEPT] = groups - gone
        out[_KEPT_SQUARES] = squares - gone_squares
        out[_KEPT_LOSS] = loss_all - gone_loss
        if with_steps:
            _copy(out, results.steps[steps])
            steps += 1
        if not found:
            gone_rows += rows
            gone_squares += rows * size
            gone_loss += class_loss[place]
            gone += rows // size
    for place in range(1, last + 1):
        class_rows[place] = 0
        class_loss[place] = 0
    if rule.suppression == KEEP_ALL:
        out[_D1] = 1
    return steps


# -- everything ------------------------------------------------------------------------------------


@inner
def _measure_each(
    rule: GroupRule,
    groups: int,
    sizes: UInts,
    losses: Ints,
    plan: Plan | None,
    lists: Lists | None,
    buffers: GroupBuffers,
) -> bool:
    """Take the models and tallies of every group; return whether rows have class labels."""
    labelled = False
    if plan is not None and lists is not None and rule.with_values:
        need, above, below, of_groups = rule.need, rule.above, rule.below, sizes[:groups]
        measure_models(need, above, below, of_groups, plan, lists, buffers.models, buffers.mistakes)
        labelled = plan.label >= 0
    if len(rule.wanted_tallies):
        measure_tallies(rule.wanted_tallies, groups, sizes, losses, plan, lists, buffers)
        if plan is not None:
            for value in range(len(plan.total)):
                buffers.left[value] = plan.total[value]
    return labelled


@inner
def _list_eligible(
    rule: GroupRule,
    sizes: UInts,
    losses: Ints,
    groups: int,
    ranks: UInts | None,
    buffers: GroupBuffers,
) -> tuple[int, int]:
    """List the groups that meet the constraints, with their ranks.

    Returns how many there are, and the sum of size times rank over all groups.
    """
    models, most = buffers.models, len(buffers.by_rank) - 1
    number, ranked = int64(0), int64(0)
    for group in range(groups):
        meets = sizes[group] >= rule.least
        if ranks is not None:
            for model in rule.bounded:
                meets = meets and models[model, group] >= rule.bounds[model]
            rank = 1
            if rule.by != BY_SIZE and models[rule.by, group] > -inf:
                place = floor((models[rule.by, group] + rule.shift) * rule.per_unit)
                rank = min(max(place, 1), most)
            ranks[number] = rank
            ranked += int64(sizes[group]) * int64(rank)
        buffers.group[number] = group
        buffers.sizes[number] = sizes[group]
        buffers.losses[number] = losses[group]
        number += int64(meets)
    return number, ranked


@inlined
def _keep(
    rule: GroupRule,
    members: UInts,
    group: UInts,
    sizes: UInts,
    losses: Ints,
    root: int,
    labelled: bool,
    buffers: GroupBuffers,
    out: Ints,
    out_goodness: Floats,
) -> None:
    """Let more groups stay: those listed in `members`, by their places among all eligible."""
    rows, squares, loss = int64(0), int64(0), int64(0)
    smallest, largest = int64(2**62), out[_LARGEST]
    for i in members:
        size = int64(sizes[i])
        rows += size
        squares += size * size
        loss += size * losses[i]
        smallest = min(smallest, size)
        largest = max(largest, size)
    out[_SUPPRESSED] -= rows
    out[_KEPT] += len(members)
    out[_KEPT_SQUARES] += squares
    out[_KEPT_LOSS] += loss
    out[_LARGEST] = largest
    if len(members):
        out[_K] = smallest if out[_K] == 0 else min(out[_K], smallest)
    if labelled:
        for i in members:
            out[_MISTAKES] += buffers.mistakes[group[i]]
    for at in range(len(rule.wanted_costs)):
        total, cost = int64(0), rule.wanted_costs[at]
        for i in members:
            total += int64(sizes[i]) * buffers.costs[cost, root + group[i]]
        out[_COST + at] += total
    for at in range(len(rule.wanted)):
        worst, model = out_goodness[at], rule.wanted[at]
        for i in members:
            worst = min(worst, buffers.models[model, group[i]])
        out_goodness[at] = worst


@inner
def _pair_steps(
    rule: GroupRule,
    sizes: UInts,
    losses: Ints,
    ranks: UInts | None,
    number: int,
    limit: int,
    buffers: GroupBuffers,
    out: Results,
) -> int:
    """Staircase in two dimensions: all (k, l) that a genome can be made safe for within `limit`.

    A step stands for suppressing every group smaller than k or ranking lower than l. Listed are the
    pairs that the kept groups attain exactly; any other pair of thresholds within the limit keeps
    the same groups as one of these. Of two listed pairs, the one with both thresholds at least as
    high keeps fewer rows: in (k, l, suppressed) none dominates another.

    Of a step are measured ``d1`` and ``k``, ``d2``, ``suppressed`` and ``kept_loss``, and the
    goodness of the model that the rule goes by; ``groups``, ``squares``, ``loss_all`` and
    ``failing`` are the genome's. Other fields are 0, other goodness is not a number.

    Returns the number of steps written.
    """
    if ranks is None:
        return int64(0)
    row = out.fields
    highest, loss_all = int64(0), int64(0)
    for i in range(number):
        rank = int64(ranks[i])
        buffers.tallest[rank] = max(buffers.tallest[rank], int64(sizes[i]))
        highest = max(highest, rank)
        loss_all += int64(sizes[i]) * losses[i]
    top = size_threshold(sizes, ranks, int64(0), highest, number, limit, buffers.class_rows)
    small = int64(0)  # groups that some threshold within the limit can suppress, or stop at
    for i in range(number):
        if sizes[i] <= top:
            buffers.picked[small] = i
            buffers.keys[small] = sizes[i]
            small += 1
    sort_by(buffers.keys, buffers.picked, small)
    steps = int64(0)
    for least in range(highest + 1):
        tallest = buffers.tallest[least]
        if tallest == 0:
            continue
        suppressed, lost = int64(0), int64(0)
        for i in range(number):
            if ranks[i] < least:
                suppressed += sizes[i]
                lost += sizes[i] * losses[i]
        if suppressed > limit:
            break
        before = int64(-1)
        for at in range(small):
            i, size = buffers.picked[at], buffers.keys[at]
            if ranks[i] < least:
                continue
            if size > tallest or suppressed > limit:
                break
            if size != before:
                step = out.steps[steps]
                _begin(row[_GROUPS], row[_SQUARES], row[_LOSS], step)
                step[_D1], step[_D2], step[_K], step[_FAILING] = size, least, size, row[_FAILING]
                step[_SUPPRESSED] = row[_FAILING] + suppressed
                step[_KEPT_LOSS] = loss_all - lost
                for model in range(len(rule.wanted)):
                    by = rule.wanted[model] == rule.by
                    out.step_goodness[steps, model] = float(least) if by else nan
                steps += 1
                before = size
            suppressed += size
            lost += size * losses[i]
    for rank in range(highest + 1):
        buffers.tallest[rank] = 0
    return steps


@inner
def _thresholds(
    rule: GroupRule,
    sizes: UInts,
    ranks: UInts | None,
    number: int,
    rows: int,
    squares: int,
    ranked: int,
    left: int,
    given: Ints,
    buffers: GroupBuffers,
) -> tuple[int, int]:
    """Thresholds (size, rank) that the rule arrives at; those that keep all where it cannot."""
    if rule.suppression == GIVEN:
        return int64(given[0]), int64(given[1])
    if left < 0:
        return int64(1), int64(0)
    if rule.suppression == ABOVE_MEAN and rule.by != BY_SIZE:
        return int64(1), (ranked + rows - 1) // rows
    if ranks is not None and rule.suppression == WITHIN_LIMIT and rule.by != BY_SIZE:
        nothing, everything = int64(0), int64(2**62)
        rank = rank_threshold(sizes, ranks, nothing, everything, number, left, buffers.by_rank)
        return int64(1), rank
    class_rows, by_rank = buffers.class_rows, buffers.by_rank
    return thresholds(
        rule.suppression, sizes, ranks, number, rows, squares, left, class_rows, by_rank
    )


@inner
def _keys(by: int, sizes: UInts, ranks: UInts | None) -> UInts:
    """What the rule goes by."""
    if ranks is None or by == BY_SIZE:
        return sizes
    return ranks


@inner
def measure_groups(
    rule: GroupRule,
    groups: int,
    sizes: UInts,
    losses: Ints,
    root: int,
    plan: Plan | None,
    lists: Lists | None,
    given: Ints,
    listed: bool,
    buffers: GroupBuffers,
    out: Results,
) -> int:
    """Fill one row of integer results and one of goodness; return the number of steps written.

    Steps are written by descending threshold, from what the rule arrives at on; where nothing
    counts but sizes and losses, by ascending threshold. (The course of a search depends on it.)

    Of an infeasible genome (``failing > limit``) the row says what is left when all groups that
    fail are suppressed regardless; it has no steps.

    Costs of the groups begin at `root` in ``buffers.costs``; plan and lists are None without
    sensitive values; `given` are the thresholds of the rule `GIVEN`. Where `listed`, the kept
    groups stand at the first places of ``buffers.order`` afterwards, and there are no steps.
    """
    simple, labelled, order = _is_simple(rule), False, buffers.order
    if rule.with_values or len(rule.wanted_tallies):
        labelled = _measure_each(rule, groups, sizes, losses, plan, lists, buffers)
    squares, loss_all = int64(0), int64(0)
    for group in range(groups):
        size = int64(sizes[group])
        squares += size * size
        loss_all += size * losses[group]
    number, ranked = int64(groups), int64(0)
    group_of, ranks = buffers.everyone, buffers.no_ranks
    if rule.least > 1 or len(rule.bounded) or rule.by != BY_SIZE:
        ranks = buffers.ranks
        number, ranked = _list_eligible(rule, sizes, losses, groups, ranks, buffers)
        group_of, sizes, losses = buffers.group, buffers.sizes, buffers.losses
    rows = int64(buffers.rows)
    failing = rows
    for i in range(number):
        failing -= sizes[i]
    left = rule.limit - failing
    d1, d2 = _thresholds(rule, sizes, ranks, number, rows, squares, ranked, left, given, buffers)
    row, goodness = out.fields, out.goodness
    _begin(groups, squares, loss_all, row)
    row[_D1], row[_D2], row[_SUPPRESSED], row[_FAILING] = d1, d2, rows, failing
    row[_RANKED] = ranked
    for model in range(len(goodness)):
        goodness[model] = inf
    keys, field = _keys(rule.by, sizes, ranks), _D1 if rule.by == BY_SIZE else _D2
    begin, end = int64(0), list_kept(rule.suppression, sizes, ranks, number, d1, d2, order)
    steps, place, few = int64(0), int64(0), int64(0)
    while True:
        # Taking groups back one threshold after the other keeps all sums and worst groups up to
        # date. What the rule keeps comes first, which is the highest threshold.
        members = order[begin:end]
        _keep(rule, members, group_of, sizes, losses, root, labelled, buffers, row, goodness)
        if len(rule.wanted_tallies):
            tallies = row[_COST + len(rule.wanted_costs) :]
            gone = row[_SUPPRESSED]
            add_tallies(rule.wanted_tallies, members, group_of, plan, lists, buffers, gone, tallies)
        if steps == 0:
            if listed:
                for i in range(end):
                    order[i] = group_of[order[i]]
            if listed or not rule.with_steps or left < 0:
                return int64(0)
            if rule.pairs:
                return _pair_steps(rule, sizes, losses, ranks, number, left, buffers, out)
            few = list_worst(
                keys, number, row[field], buffers.class_rows, buffers.picked, buffers.keys, order
            )
            end = int64(0)
            if simple:  # steps ascend: the first one is the last
                for at in range(few):
                    new = at == 0 or keys[order[at]] != keys[order[at - 1]]
                    place += int64(new)
            _copy(row, out.steps[place])
            _copy(goodness, out.step_goodness[place])
        steps += 1
        if end == few:
            return steps
        place += -1 if simple else 1
        _copy(row, out.steps[place])
        _copy(goodness, out.step_goodness[place])
        row, goodness = out.steps[place], out.step_goodness[place]
        begin, row[field] = end, keys[order[end]]
        while end < few and keys[order[end]] == row[field]:
            end += 1


#: `measure_groups` for Python to call.
measure_groups_alone = as_kernel(measure_groups)
