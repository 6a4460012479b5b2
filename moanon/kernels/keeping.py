"""Which groups stay under constraints and a suppression rule, and all that is then measured.

Groups that fail a constraint are given up first. If they hold more rows than may be suppressed, the
genome is *infeasible*: no threshold helps. Otherwise the rule goes on with the other groups and
what is left of the limit. The rule may go by the size of groups (D's eq. 7) or by the *rank* of one
of their privacy models: its value where that is a whole number, else a class of narrow width, so
that a genome has tens of thresholds instead of thousands.

Results are rows of integers (`MEASURED`, then the costs asked for) and of goodness (of the models
asked for), one for each genome, and one for each step of its staircase where that is wanted. Behind
the costs stand two integers for each tally asked for, that of the kept and of the suppressed rows.
"""

from __future__ import annotations

from math import floor, inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.kernels.jit import compiled, int64
from moanon.kernels.plan import Lists, Plan
from moanon.kernels.scoring import (
    EXACT_LIMIT,
    FIELDS,
    GIVEN,
    WITHIN_LIMIT,
    Scratch,
    ell_threshold,
    is_kept,
    safety_steps,
    sort_by,
    thresholds,
)
from moanon.kernels.tallies import TallyDesk, add_tallies

__all__ = [
    "BY_SIZE",
    "MEASURED",
    "MOST_RANKS",
    "Alive",
    "ModelRule",
    "keep_groups",
    "make_alive",
    "result_width",
]

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

#: Columns of the integer results: those of `FIELDS`, and more. Costs of the kept rows follow.
MEASURED = (
    *FIELDS,
    "failing",  # rows in groups that fail a constraint
    "mistakes",  # kept rows that are not of their group's majority class
)
_D1, _D2, _SUPPRESSED, _KEPT, _SQUARES, _LOSS, _K, _LARGEST, _FAILING, _MISTAKES, _COST = range(
    FIELDS.index("d1"), FIELDS.index("d1") + 11
)
#: `ModelRule.by` of a rule that goes by the size of groups.
BY_SIZE = -1
#: Ranks of a model whose values are no whole numbers are below this.
MOST_RANKS = 1024


class ModelRule(NamedTuple):
    """What is suppressed, and what is measured.

    Attributes
    ----------
    suppression : int
        As in `moanon.kernels.scoring`.
    limit : int
        Rows that may be suppressed.
    by : int
        Model that the rule goes by, or `BY_SIZE`.
    shift, per_unit : float
        The rank of a group is ``floor((goodness + shift) * per_unit)``, at least 1.
    least : int
        Groups smaller than this fail.
    bounds : array (models,)
        So do groups with less goodness …
    bounded : array
        … of these models.
    need, need_costs : arrays of bool
        Which models and costs are measured; those with bounds, and that of `by`, must be.
    wanted, wanted_costs : arrays
        The same as lists, in the order of the results.
    wanted_tallies : array (tallies, 2)
        Pairs of a tally and a sensitive column, which counts for those of a column only.
    above, below : int
        The constant of recursive diversity is their quotient.
    with_values : bool
        Whether histograms are needed: for any model, tallies of a column, or mistakes.
    with_steps : bool
        Whether staircases are wanted …
    pairs : bool
        … over pairs of size and rank.
    """

    suppression: int
    limit: int
    by: int
    shift: float
    per_unit: float
    least: int
    bounds: Floats
    bounded: Ints
    need: Truths
    need_costs: Truths
    wanted: Ints
    wanted_costs: Ints
    wanted_tallies: Ints
    above: int
    below: int
    with_values: bool
    with_steps: bool
    pairs: bool


class Alive(NamedTuple):
    """Groups that meet the constraints, and scratch for putting them in order."""

    group: Words
    sizes: Words
    losses: Ints
    rank: Words
    order: Words


def result_width(rule: ModelRule) -> int:
    """Columns of the integer results."""
    return len(MEASURED) + len(rule.wanted_costs) + 2 * len(rule.wanted_tallies)


def make_alive(cells: int) -> Alive:
    """Allocate room for at most `cells` groups."""
    return Alive(
        np.zeros(cells, dtype=np.uint32),
        np.zeros(cells, dtype=np.uint32),
        np.zeros(cells, dtype=np.int64),
        np.zeros(cells, dtype=np.uint32),
        np.zeros(cells, dtype=np.uint32),
    )


@compiled
def _select(
    rule: ModelRule,
    sizes: Words,
    losses: Ints,
    models: Floats,
    groups: int,
    most: int,
    alive: Alive,
) -> int:
    """List the groups that meet the constraints, with their ranks; return how many there are."""
    number = int64(0)
    for group in range(groups):
        meets = sizes[group] >= rule.least
        for model in rule.bounded:
            meets = meets and models[model, group] >= rule.bounds[model]
        rank = 1
        if rule.by != BY_SIZE and models[rule.by, group] > -inf:
            place = floor((models[rule.by, group] + rule.shift) * rule.per_unit)
            rank = min(max(place, 1), most)
        alive.group[number] = group
        alive.sizes[number] = sizes[group]
        alive.losses[number] = losses[group]
        alive.rank[number] = rank
        number += int64(meets)
    return number


@compiled
def _take(
    members: Words,
    alive_group: Words,
    sizes: Words,
    losses: Ints,
    wanted: Ints,
    models: Floats,
    wanted_costs: Ints,
    costs: Ints,
    mistakes: Ints,
    out: Ints,
    out_goodness: Floats,
) -> None:
    """Let more groups stay: those listed in `members`, by their places among all alive."""
    rows, squares, loss, wrong = int64(0), int64(0), int64(0), int64(0)
    smallest, largest = int64(2**62), out[_LARGEST]
    for i in members:
        size = int64(sizes[i])
        rows += size
        squares += size * size
        loss += size * losses[i]
        wrong += mistakes[alive_group[i]]
        smallest = min(smallest, size)
        largest = max(largest, size)
    out[_SUPPRESSED] -= rows
    out[_KEPT] += len(members)
    out[_SQUARES] += squares
    out[_LOSS] += loss
    out[_MISTAKES] += wrong
    out[_LARGEST] = largest
    if len(members):
        out[_K] = smallest if out[_K] == 0 else min(out[_K], smallest)
    for at in range(len(wanted_costs)):
        total = int64(0)
        for i in members:
            total += int64(sizes[i]) * costs[wanted_costs[at], alive_group[i]]
        out[_COST + at] += total
    for at in range(len(wanted)):
        worst = out_goodness[at]
        for i in members:
            worst = min(worst, models[wanted[at], alive_group[i]])
        out_goodness[at] = worst


@compiled
def _order(keys: Words, number: int, top: int, scratch: Scratch, out: Words) -> int:
    """List the groups whose key is below `top`, by descending key; return how many."""
    few = int64(0)
    for i in range(number):
        scratch.picked[few] = i
        scratch.keys[few] = -int64(keys[i])
        few += int64(keys[i] < top)
    if top > EXACT_LIMIT:
        sort_by(scratch.keys, scratch.picked, few)
        out[:few] = scratch.picked[:few]
        return few
    for i in range(few):
        scratch.rows[top + scratch.keys[i]] += 1
    before = int64(0)
    for place in range(top):
        here = scratch.rows[place]
        scratch.rows[place] = before
        before += here
    for i in range(few):
        place = top + scratch.keys[i]
        out[scratch.rows[place]] = scratch.picked[i]
        scratch.rows[place] += 1
    scratch.rows[:top] = 0
    return few


@compiled
def _tally_place(rule: ModelRule) -> int:
    """Where tallies begin in a row of integer results."""
    return _COST + len(rule.wanted_costs)


@compiled
def _steps(
    rule: ModelRule,
    alive: Alive,
    number: int,
    models: Floats,
    costs: Ints,
    mistakes: Ints,
    plan: Plan,
    lists: Lists,
    tallies: TallyDesk,
    scratch: Scratch,
    out: Ints,
    out_goodness: Floats,
) -> int:
    """Staircase from the highest threshold, which is measured in ``out[0]``, to the lowest.

    Taking groups back one threshold after the other keeps all sums and worst groups up to date.
    Steps are written in descending order of their thresholds; returns their number.
    """
    by_size = rule.by == BY_SIZE
    field = _D1 if by_size else _D2
    keys = alive.sizes if by_size else alive.rank
    few = _order(keys, number, out[0, field], scratch, alive.order)
    step = 0
    begin = int64(0)
    while begin < few:
        key = keys[alive.order[begin]]
        end = begin
        while end < few and keys[alive.order[end]] == key:
            end += 1
        out[step + 1] = out[step]
        out_goodness[step + 1] = out_goodness[step]
        step += 1
        out[step, field] = key
        _take(
            alive.order[begin:end],
            alive.group,
            alive.sizes,
            alive.losses,
            rule.wanted,
            models,
            rule.wanted_costs,
            costs,
            mistakes,
            out[step],
            out_goodness[step],
        )
        if len(rule.wanted_tallies):
            add_tallies(
                rule.wanted_tallies,
                alive.order[begin:end],
                alive.group,
                plan,
                lists,
                tallies,
                out[step, _SUPPRESSED],
                out[step, _tally_place(rule) :],
            )
        begin = end
    return step + 1


@compiled
def _pairs(alive: Alive, number: int, failing: int, left: int, scratch: Scratch, out: Ints) -> int:
    """Staircase over pairs of size and rank; groups that fail are suppressed at every step."""
    loss = int64(0)
    for i in range(number):
        loss += int64(alive.sizes[i]) * alive.losses[i]
    steps = safety_steps(alive.sizes, alive.losses, alive.rank, number, left, loss, scratch, out)
    for step in range(steps):
        out[step, 2] += failing
    return steps


@compiled
def _thresholds(
    rule: ModelRule,
    alive: Alive,
    number: int,
    rows: int,
    squares: int,
    left: int,
    given: Ints,
    scratch: Scratch,
) -> tuple[int, int]:
    """Thresholds (size, rank) that the rule arrives at; those that keep all where it cannot."""
    if rule.suppression == GIVEN:
        return int64(given[0]), int64(given[1])
    if left < 0:
        return int64(1), int64(0)
    if rule.suppression == WITHIN_LIMIT and rule.by != BY_SIZE:
        nothing, everything = int64(0), int64(2**62)
        rank = ell_threshold(alive.sizes, alive.rank, nothing, everything, number, left, scratch)
        return int64(1), int64(rank)
    return thresholds(
        rule.suppression, alive.sizes, alive.rank, number, rows, squares, left, scratch
    )


@compiled
def keep_groups(
    rule: ModelRule,
    sizes: Words,
    losses: Ints,
    models: Floats,
    costs: Ints,
    mistakes: Ints,
    groups: int,
    plan: Plan,
    lists: Lists,
    tallies: TallyDesk,
    given: Ints,
    scratch: Scratch,
    alive: Alive,
    out: Ints,
    out_goodness: Floats,
    out_steps: Ints,
    out_step_goodness: Floats,
) -> int:
    """Fill one row of integer results and one of goodness; return the number of steps written.

    Of an infeasible genome (``failing > limit``) the row says what is left when all groups that
    fail are given up regardless; it has no steps. ``tallies.left`` must hold all rows of the table.
    """
    rows = plan.rows
    squares = int64(0)
    loss_all = int64(0)
    for group in range(groups):
        size = int64(sizes[group])
        squares += size * size
        loss_all += size * losses[group]
    number = _select(rule, sizes, losses, models, groups, len(scratch.by_ell) - 1, alive)
    failing = int64(rows)
    for i in range(number):
        failing -= alive.sizes[i]
    left = rule.limit - failing
    d1, d2 = _thresholds(rule, alive, number, rows, squares, left, given, scratch)
    out[:] = 0
    out[0], out[1], out[2], out[_D1], out[_D2] = groups, squares, loss_all, d1, d2
    out[_SUPPRESSED] = rows
    out[_FAILING] = failing
    out_goodness[:] = inf
    kept = int64(0)
    for i in range(number):
        alive.order[kept] = i
        size, rank = int64(alive.sizes[i]), int64(alive.rank[i])
        kept += int64(is_kept(rule.suppression, size, rank, d1, d2))
    _take(
        alive.order[:kept],
        alive.group,
        alive.sizes,
        alive.losses,
        rule.wanted,
        models,
        rule.wanted_costs,
        costs,
        mistakes,
        out,
        out_goodness,
    )
    if len(rule.wanted_tallies):
        add_tallies(
            rule.wanted_tallies,
            alive.order[:kept],
            alive.group,
            plan,
            lists,
            tallies,
            out[_SUPPRESSED],
            out[_tally_place(rule) :],
        )
    if not rule.with_steps or left < 0:
        return 0
    if rule.pairs:
        return _pairs(alive, number, failing, left, scratch, out_steps)
    out_steps[0] = out
    out_step_goodness[0] = out_goodness
    return _steps(
        rule,
        alive,
        number,
        models,
        costs,
        mistakes,
        plan,
        lists,
        tallies,
        scratch,
        out_steps,
        out_step_goodness,
    )
