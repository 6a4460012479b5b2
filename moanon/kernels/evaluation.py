"""From genomes to results on one thread, and the same for groups of any origin.

`evaluate` takes a run of genomes, one after the other: it merges the table's cells, adds up the
sensitive values of the groups and the costs of their cells where these are asked for, and has the
groups measured (`moanon.kernels.selection.measure_groups`). `evaluate_groups` begins there, with
groups that somebody else has made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moanon.arrays import Bits, Bools, Floats, Ints, Outlined, UInts
from moanon.kernels.costs import Prices, measure_costs
from moanon.kernels.forms import coarsen
from moanon.kernels.histograms import Lists, Plan, ValueForms, list_values, merge_values
from moanon.kernels.jit import compiled, inner
from moanon.kernels.join import Forms, Shape, Workspace
from moanon.kernels.selection import (
    FIELDS,
    GroupBuffers,
    GroupRule,
    make_group_buffers,
    measure_groups,
    measure_groups_alone,
    measure_sizes,
    result_width,
    sizes_suffice,
)
from moanon.kernels.tallies import make_tally_buffers


@inner
def _group(
    shape: Shape,
    forms: Forms,
    values: ValueForms | None,
    spans: Ints,
    genomes: Bits,
    order: Ints,
    begin: int,
    end: int,
    at: int,
    with_values: bool,
    with_costs: bool,
    work: Workspace,
) -> None:
    """Make the last form that of ``genomes[order[at]]``; the run is ``order[begin:end]``.

    Rolls up through one form for each of `spans`: where a span begins, its form is made for the OR
    of all its genomes.
    """
    levels = len(spans)
    fresh = at == begin
    for level in range(levels + 1):
        genome, previous, anew = genomes[order[at]], genomes[order[max(at - 1, begin)]], fresh
        if level < levels:
            if (at - begin) % spans[level]:
                continue
            for bit in range(len(work.union)):
                work.union[bit] = 0
            for other in range(at, min(at + spans[level], end)):
                for bit in range(len(work.union)):
                    work.union[bit] |= genomes[order[other], bit]
            genome, previous, anew, fresh = work.union, work.union, True, True
        changed = coarsen(
            shape,
            forms,
            level,
            level + 1,
            genome,
            previous,
            anew,
            with_values,
            with_costs or level < levels,
            work,
        )
        if values is not None and with_values and changed:
            merge_values(shape, forms, values, level, level + 1, work)


@compiled
def evaluate(
    shape: Shape,
    forms: Forms,
    values: ValueForms | None,
    rows: int,
    rule: GroupRule,
    plan: Plan | None,
    lists: Lists | None,
    totals: Ints,
    prices: Prices,
    spans: Ints,
    work: Workspace,
    buffers: GroupBuffers,
    genomes: Bits,
    order: Ints,
    edges: Ints,
    given: Ints,
    listed: bool,
    out: Ints,
    out_goodness: Floats,
    out_steps: Ints,
    out_step_goodness: Floats,
    out_number: Ints,
) -> None:
    """Evaluate runs of genomes with all that `rule` needs.

    Parameters
    ----------
    shape, forms, values, prices, work
        The table, its forms, and scratch.
    rows, rule, plan, lists, totals, given, listed, buffers, out, …
        As for `measure_groups`; the results have one more axis, that of genomes, and so have the
        thresholds. `lists` are those at the last level of the forms.
    spans : array (levels,)
        Genomes under one OR, level by level; none if cells are grouped anew for each genome.
    genomes : array (genomes, bits)
    order, edges : arrays
        Run ``i`` is made of the genomes ``order[edges[i] : edges[i + 1]]``.
    out_number : array (genomes,)
        Steps of each genome.
    """
    level, root = len(spans) + 1, shape.place[-2]
    sizes, losses = forms.counts[level], work.loss[root:]
    simple = sizes_suffice(rule) and not listed
    for run in range(len(edges) - 1):
        begin, end = edges[run], edges[run + 1]
        for at in range(begin, end):
            _group(
                shape,
                forms,
                values,
                spans,
                genomes,
                order,
                begin,
                end,
                at,
                rule.with_values,
                len(rule.wanted_costs) > 0,
                work,
            )
            groups, which = forms.entries[level, -1], order[at]
            if simple:
                out_number[which] = measure_sizes(
                    rule.suppression,
                    rule.limit,
                    rule.with_steps,
                    sizes,
                    losses,
                    groups,
                    buffers.scratch,
                    out[which],
                    out_steps[which],
                )
                continue
            if values is not None and plan is not None and lists is not None and rule.with_values:
                list_values(values, level, plan, lists, sizes, groups)
            if len(rule.wanted_costs):
                measure_costs(shape, forms, level, rule.wanted_costs, prices, buffers.costs)
            out_number[which] = measure_groups(
                rule,
                rows,
                groups,
                sizes,
                losses,
                root,
                totals,
                plan,
                lists,
                given[which],
                listed,
                buffers,
                out[which],
                out_goodness[which],
                out_steps[which],
                out_step_goodness[which],
            )


@dataclass(frozen=True, repr=False)
class Kept(Outlined):
    """What stays of some groups, measured.

    Attributes
    ----------
    groups : array (groups,) of bool
        Which ones stay.
    fields : array
        Integer results, as of one genome; see `moanon.kernels.population.RawScores`.
    goodness : array
        The worst kept group by each model that the rule needs.
    """

    groups: Bools
    fields: Ints
    goodness: Floats


def evaluate_groups(
    rule: GroupRule,
    sizes: UInts,
    losses: Ints,
    costs: Ints,
    lists: Lists,
    totals: Ints,
    plan: Plan,
    full_loss: int,
    thresholds: tuple[int, int] = (1, 0),
) -> Kept:
    """Apply a rule to groups of any origin and measure what it keeps.

    Parameters
    ----------
    rule : GroupRule
        Staircases are left out.
    sizes, losses : arrays (groups,)
        Rows of each group, and the integer loss of each of them.
    costs : array (costs, groups)
        Other integer costs of each of their rows.
    lists : Lists
        Their sensitive values and class labels …
    totals : array (values,)
        … and those of all rows of the table, suppressed ones included.
    plan : Plan
        What is known about these values.
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
    measure_groups_alone(
        rule._replace(with_steps=False),
        rows,
        groups,
        sizes,
        losses,
        0,
        totals,
        plan if values else None,
        lists if values else None,
        np.array(thresholds, dtype=np.int64),
        True,
        buffers,
        fields,
        goodness,
        np.zeros((0, len(fields)), dtype=np.int64),
        np.zeros((0, len(goodness))),
    )
    kept = np.zeros(groups, dtype=np.bool_)
    kept[buffers.order[: fields[FIELDS.index("kept_groups")]]] = True
    return Kept(kept, fields, goodness)
