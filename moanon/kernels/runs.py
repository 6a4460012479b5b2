"""One run of genomes on one thread: group, then measure, one genome after the other.

Two ways lead through a genome. The *plain* one knows sizes and losses only, and is all that D's
first three problems need. The other adds up the sensitive values of the groups and the costs of
their cells, whatever is asked for, and looks at each group's models.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.kernels.costs import Prices, measure_costs
from moanon.kernels.grouping import Forms, Workspace, coarsen, merge_values
from moanon.kernels.jit import compiled, truth
from moanon.kernels.join import Shape
from moanon.kernels.keeping import Alive, ModelRule, keep_groups
from moanon.kernels.models import count_rows, list_sparse, measure_models
from moanon.kernels.plan import Lists, Plan
from moanon.kernels.scoring import (
    EXACT_LIMIT,
    WITHIN_LIMIT,
    Scratch,
    measure_groups,
    measure_within_limit,
    size_steps,
)
from moanon.kernels.tallies import TallyDesk, measure_tallies

__all__ = ["ModelDesk", "Rule", "evaluate_models", "evaluate_plain"]

Bits = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Rule(NamedTuple):
    """What is suppressed, by the size of groups alone."""

    suppression: int
    limit: int
    with_steps: bool = False


class ModelDesk(NamedTuple):
    """What one thread needs to measure models and costs."""

    lists: Lists
    alive: Alive
    models: Floats  # (models, groups): goodness
    costs: Ints  # (costs, places)
    mistakes: Ints  # (groups,)
    tallies: TallyDesk


@compiled
def _group(
    shape: Shape,
    forms: Forms,
    spans: Ints,
    genomes: Bits,
    order: Ints,
    begin: int,
    end: int,
    at: int,
    with_values: bool,
    work: Workspace,
) -> None:
    """Make the last form that of ``genomes[order[at]]``; the run is ``order[begin:end]``.

    Rolls up through one form for each of `spans`: where a span begins, its form is made for the OR
    of all its genomes.
    """
    levels = len(spans)
    fresh = at == begin
    anew = truth(True)  # a literal True would make numba compile `coarsen` twice
    for level in range(levels):
        if (at - begin) % spans[level] == 0:
            finest = np.zeros(genomes.shape[1], dtype=np.uint8)
            for other in range(at, min(at + spans[level], end)):
                finest |= genomes[order[other]]
            coarsen(shape, forms, level, level + 1, finest, finest, anew, with_values, work)
            if with_values:
                merge_values(shape, forms, level, level + 1, work)
            fresh = True
    genome = genomes[order[at]]
    previous = genomes[order[max(at - 1, begin)]]
    changed = coarsen(shape, forms, levels, levels + 1, genome, previous, fresh, with_values, work)
    if with_values and changed:
        merge_values(shape, forms, levels, levels + 1, work)


@compiled
def evaluate_plain(
    shape: Shape,
    forms: Forms,
    rows: int,
    rule: Rule,
    spans: Ints,
    work: Workspace,
    scratch: Scratch,
    genomes: Bits,
    order: Ints,
    begin: int,
    end: int,
    given: Ints,
    out: Ints,
    out_steps: Ints,
    out_number: Ints,
) -> None:
    """Evaluate ``genomes[order[begin:end]]`` by sizes and losses."""
    level = len(spans) + 1
    losses = work.loss[shape.place[-2] :]
    sizes = forms.counts[level]
    for at in range(begin, end):
        _group(shape, forms, spans, genomes, order, begin, end, at, truth(False), work)
        groups = forms.entries[level, -1]
        which = order[at]
        if rule.suppression == WITHIN_LIMIT and rule.limit < EXACT_LIMIT:
            measure_within_limit(sizes, losses, groups, rule.limit, scratch, out[which])
        else:
            measure_groups(
                rule.suppression,
                sizes,
                losses,
                scratch.no_ell,
                groups,
                rows,
                rule.limit,
                given[which],
                scratch,
                out[which],
            )
        if rule.with_steps:
            top, loss_all = out[which, 3], out[which, 2]
            out_number[which] = size_steps(
                sizes, losses, groups, top, loss_all, scratch, out_steps[which]
            )


@compiled
def _list_values(forms: Forms, level: int, plan: Plan, lists: Lists) -> Lists:
    """List the sensitive values of a form's groups, and count its rows."""
    groups = forms.entries[level, -1]
    sizes = forms.counts[level]
    if forms.histograms.shape[1]:
        count_rows(forms.histograms[level], groups, plan.first, sizes)
        histograms = forms.histograms[level]
        return Lists(lists.starts, lists.value, histograms, lists.sorted, lists.complete)
    values, rows = forms.values[level], forms.value_counts[level]
    list_sparse(forms.value_starts[level], values, rows, groups, plan.first, lists.starts, sizes)
    return Lists(lists.starts, values, rows, lists.sorted, lists.complete)


@compiled
def evaluate_models(
    shape: Shape,
    forms: Forms,
    rule: ModelRule,
    plan: Plan,
    prices: Prices,
    spans: Ints,
    work: Workspace,
    scratch: Scratch,
    desk: ModelDesk,
    genomes: Bits,
    order: Ints,
    begin: int,
    end: int,
    given: Ints,
    out: Ints,
    out_goodness: Floats,
    out_steps: Ints,
    out_step_goodness: Floats,
    out_number: Ints,
) -> None:
    """Evaluate ``genomes[order[begin:end]]`` with all that `rule` needs."""
    level = len(spans) + 1
    root = shape.place[-2]
    for at in range(begin, end):
        _group(shape, forms, spans, genomes, order, begin, end, at, rule.with_values, work)
        groups, sizes, losses = forms.entries[level, -1], forms.counts[level], work.loss[root:]
        lists = desk.lists
        if rule.with_values:
            lists = _list_values(forms, level, plan, desk.lists)
            measure_models(
                groups,
                sizes,
                rule.need,
                rule.above,
                rule.below,
                plan,
                lists,
                desk.models,
                desk.mistakes,
            )
        if len(rule.wanted_costs):
            measure_costs(shape, forms, level, rule.need_costs, prices, desk.costs)
        if len(rule.wanted_tallies):
            measure_tallies(rule.wanted_tallies, groups, sizes, losses, plan, lists, desk.tallies)
            for value in range(len(plan.total)):
                desk.tallies.left[value] = plan.total[value]
        which = order[at]
        out_number[which] = keep_groups(
            rule,
            sizes,
            losses,
            desk.models,
            desk.costs[:, root:],
            desk.mistakes,
            groups,
            plan,
            lists,
            desk.tallies,
            given[which],
            scratch,
            desk.alive,
            out[which],
            out_goodness[which],
            out_steps[which],
            out_step_goodness[which],
        )
