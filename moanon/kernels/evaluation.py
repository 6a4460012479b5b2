"""From genomes to results on one thread, and the same for groups of any origin.

`evaluate` takes a run of genomes, one after the other: it merges the table's cells, adds up the
sensitive values of the groups and the costs of their cells where these are asked for, and has the
groups measured (`moanon.kernels.selection.measure_groups`). `evaluate_groups` begins there, with
groups that somebody else has made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from moanon.arrays import Bits, Bools, Ints, UInts
from moanon.kernels.costs import Prices, measure_costs
from moanon.kernels.forms import coarsen
from moanon.kernels.histograms import Lists, Plan, ValueForms, list_values, merge_values
from moanon.kernels.jit import compiled, inner
from moanon.kernels.join import Forms, Shape, Workspace
from moanon.kernels.selection import (
    FIELDS,
    GroupBuffers,
    GroupRule,
    Results,
    make_group_buffers,
    measure_groups,
    measure_groups_alone,
    measure_sizes,
    result_width,
    sizes_suffice,
)
from moanon.kernels.tallies import make_tally_buffers


class TableForms(NamedTuple):
    """A table as genomes are evaluated on it, with the working memory of one thread."""

    shape: Shape
    forms: Forms
    work: Workspace
    buffers: GroupBuffers
    prices: Prices


class Task(NamedTuple):
    """Runs of genomes to be evaluated."""

    genomes: Bits  # (genomes, bits)
    order: Ints  # run i is made of the genomes ``order[edges[i] : edges[i + 1]]``
    edges: Ints
    given: Ints  # (genomes, 2): thresholds, for the rule `moanon.kernels.thresholds.GIVEN`
    spans: Ints  # genomes under one OR, level by level; none if each is grouped anew
    listed: bool  # as for `measure_groups`


@inner
def _group(
    table: TableForms,
    values: ValueForms | None,
    rule: GroupRule,
    task: Task,
    begin: int,
    end: int,
    at: int,
) -> None:
    """Make the last form that of ``genomes[order[at]]``; the run is ``order[begin:end]``.

    Rolls up through one form for each span: where a span begins, its form is made for the OR of all
    its genomes.
    """
    genomes, order, spans, union = task.genomes, task.order, task.spans, table.work.union
    levels = len(spans)
    fresh = at == begin
    for level in range(levels + 1):
        genome, previous, anew = genomes[order[at]], genomes[order[max(at - 1, begin)]], fresh
        if level < levels:
            if (at - begin) % spans[level]:
                continue
            for bit in range(len(union)):
                union[bit] = 0
            for other in range(at, min(at + spans[level], end)):
                for bit in range(len(union)):
                    union[bit] |= genomes[order[other], bit]
            genome, previous, anew, fresh = union, union, True, True
        changed = coarsen(
            table.shape,
            table.forms,
            level,
            level + 1,
            genome,
            previous,
            anew,
            rule.with_values,
            len(rule.wanted_costs) > 0 or level < levels,
            table.work,
        )
        if values is not None and rule.with_values and changed:
            merge_values(table.shape, table.forms, values, level, level + 1, table.work)


@compiled
def evaluate(
    table: TableForms,
    values: ValueForms | None,
    plan: Plan | None,
    lists: Lists | None,
    rule: GroupRule,
    task: Task,
    out: Results,
    steps: Ints,
) -> None:
    """Evaluate runs of genomes with all that `rule` needs, and count the steps of each genome.

    Values, plan and lists are None without sensitive values: as arguments, so that nothing is
    compiled for them then. The lists are those at the last level of the forms.
    """
    shape, forms, work, buffers, prices = table
    level, root = len(task.spans) + 1, shape.place[-2]
    sizes, losses = forms.counts[level], work.loss[root:]
    simple = sizes_suffice(rule) and not task.listed
    for run in range(len(task.edges) - 1):
        begin, end = task.edges[run], task.edges[run + 1]
        for at in range(begin, end):
            _group(table, values, rule, task, begin, end, at)
            groups, which = forms.entries[level, -1], task.order[at]
            of_genome = Results(
                out.fields[which],
                out.goodness[which],
                out.steps[which],
                out.step_goodness[which],
            )
            if simple:
                steps[which] = measure_sizes(
                    rule, sizes, losses, groups, buffers.scratch, of_genome
                )
                continue
            if values is not None and plan is not None and lists is not None and rule.with_values:
                list_values(values, level, plan, lists, sizes, groups)
            if len(rule.wanted_costs):
                measure_costs(shape, forms, level, rule.wanted_costs, prices, buffers.costs)
            steps[which] = measure_groups(
                rule,
                groups,
                sizes,
                losses,
                root,
                plan,
                lists,
                task.given[which],
                task.listed,
                buffers,
                of_genome,
            )


def evaluate_groups(
    rule: GroupRule,
    sizes: UInts,
    losses: Ints,
    costs: Ints,
    lists: Lists,
    plan: Plan,
    full_loss: int,
    thresholds: tuple[int, int] = (1, 0),
) -> tuple[Bools, Results]:
    """Apply a rule to groups of any origin; return which ones stay, and what is measured of them.

    Parameters
    ----------
    rule : GroupRule
        Staircases are left out.
    sizes, losses : arrays (groups,)
        Rows of each group, and the integer loss of each of them.
    costs : array (costs, groups)
        Other integer costs of each of their rows.
    lists : Lists
        Their sensitive values and class labels.
    plan : Plan
        What is known about these values in the whole table, suppressed rows included.
    full_loss : int
        Integer loss of a row of which nothing is left.
    thresholds : tuple of int
        Smallest size and rank that are kept, for the rule `moanon.kernels.thresholds.GIVEN`.
    """
    groups, values, rows = len(sizes), len(plan.total), plan.rows
    tallies = make_tally_buffers(groups, len(rule.wanted_tallies), values, rows, full_loss)
    buffers = make_group_buffers(groups, values, tallies)._replace(costs=costs)
    fields = np.zeros(result_width(rule), dtype=np.int64)
    goodness = np.zeros(len(rule.wanted))
    steps = np.zeros((0, len(fields)), dtype=np.int64), np.zeros((0, len(goodness)))
    results = Results(fields, goodness, *steps)
    measure_groups_alone(
        rule._replace(with_steps=False),
        groups,
        sizes,
        losses,
        0,
        plan if values else None,
        lists if values else None,
        np.array(thresholds, dtype=np.int64),
        True,
        buffers,
        results,
    )
    kept = np.zeros(groups, dtype=np.bool_)
    kept[buffers.order[: fields[FIELDS.index("kept_groups")]]] = True
    return kept, results
