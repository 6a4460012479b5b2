"""Privacy models of groups: what the sensitive values of one group give away.

Groups come as *lists*: for each group and column values, ascending, with the rows that have each
(compressed rows). All values that occur must be there; others may, with no rows. (That they ascend
matters for distances by an order or a tree alone.) From these every model of L §2.2 and D §4.2
follows, one short loop each (those that compare a group with the whole table are in ``closeness``);
a group with several sensitive columns is as good as its worst one.

Models are kept as *goodness*: turned so that more is better, the worst of several is the least and
a bound is always a lower one (``MODELS`` says what each number is). Whatever is a quotient of
integers is computed as one: correctly rounded, so that comparing it with a bound is exact as long
as both terms are below 2^53. Logarithms are added up as integers (multiples of ``1 / unit``, as
fine as the size of the group allows): a sum does not depend on the order in which cells were
merged.

Loops take arrays and numbers only: handing a structure of arrays to a function costs more than
measuring a group.
"""

from __future__ import annotations

from math import frexp, inf

import numpy as np

from moanon.arrays import Bools, Floats, Ints, UInts
from moanon.kernels.closeness import (
    divergences,
    equal_distances,
    largest_gains,
    largest_ratios,
    own_distances,
)
from moanon.kernels.histograms import Lists, Plan, count_log, sort_by
from moanon.kernels.jit import as_kernel, inner, int64

#: Models of a group, and what their goodness is.
MODELS = (
    "distinct",  # number of values
    "frequency",  # floor(size / count of the most frequent value)
    "entropy",  # entropy in nats, the logarithm of entropy ℓ
    "recursive",  # largest ℓ of recursive (c,ℓ)-diversity
    "alpha",  # minus the share of the most frequent value
    "closeness",  # minus the earth mover's distance to the table, by each column's own distance
    "equal",  # minus the same with all values equally far apart
    "js",  # minus the Jensen-Shannon divergence from the table, in nats
    "delta",  # minus the largest |ln(share in the group / share in the table)|
    "delta_present",  # minus the same over the values that the group has
    "beta",  # minus the largest (share in the group - share in the table) / share in the table
    "beta_enhanced",  # the same; infinite where that is more than -ln(share in the table)
)
_DISTINCT, _FREQUENCY, _ENTROPY, _RECURSIVE, _ALPHA = range(5)
_CLOSENESS, _EQUAL, _JS, _DELTA, _DELTA_PRESENT, _BETA, _BETA_ENHANCED = range(5, 12)


@inner
def _count_values(
    starts: UInts,
    rows: UInts,
    sizes: UInts,
    groups: int,
    columns: int,
    begin: int,
    end: int,
    distinct: Floats,
    frequency: Floats,
    alpha: Floats,
) -> None:
    """Distinct values, and what follows from the most frequent one."""
    for group in range(groups):
        least = int64(2**62)
        top = int64(0)
        for column in range(begin, end):
            values = int64(0)
            for at in range(starts[group * columns + column], starts[group * columns + column + 1]):
                values += int64(rows[at] > 0)
                top = max(top, int64(rows[at]))
            least = min(least, values)
        size = int64(sizes[group])
        distinct[group] = least
        frequency[group] = size // top
        alpha[group] = -top / size


@inner
def _entropies(
    starts: UInts,
    rows: UInts,
    sizes: UInts,
    groups: int,
    columns: int,
    begin: int,
    end: int,
    logs: Ints,
    units: Floats,
    out: Floats,
) -> None:
    """``(N ln N - Σ c ln c) / N``; exactly 0 for a single value."""
    for group in range(groups):
        size = sizes[group]
        bits = frexp(size)[1]
        unit, table = units[bits], np.uint64(1) << np.uint64(bits)
        known = 2 * int64(table) <= len(logs)  # whether there is a table for it
        most = int64(-1)  # of Σ c ln c; so the least entropy
        for column in range(begin, end):
            total = int64(0)
            for at in range(starts[group * columns + column], starts[group * columns + column + 1]):
                if known:
                    total += logs[table | rows[at]]
                elif rows[at] > 0:
                    total += count_log(rows[at], unit)
            most = max(most, total)
        whole = logs[table | size] if known else count_log(size, unit)
        out[group] = (whole - most) / (unit * size)


@inner
def _recursions(
    starts: UInts,
    rows: UInts,
    groups: int,
    columns: int,
    begin: int,
    end: int,
    above: int,
    below: int,
    counts: Ints,
    out: Floats,
) -> None:
    """Largest ℓ with ``r1 < c (r_ℓ + … + r_m)`` for ``c = above / below``; 0 if there is none.

    Tails shrink as ℓ grows, so the first tail that is heavy enough, from the rarest value on, is
    that of the largest ℓ.
    """
    for group in range(groups):
        least = int64(2**62)
        for column in range(begin, end):
            number = int64(0)
            for at in range(starts[group * columns + column], starts[group * columns + column + 1]):
                counts[number] = rows[at]
                number += int64(rows[at] > 0)
            sort_by(counts, counts, number)  # nothing goes along
            top = counts[number - 1]
            tail = int64(0)
            ell = int64(0)
            for i in range(number):
                tail += counts[i]
                if top * below < above * tail:
                    ell = number - i
                    break
            least = min(least, ell)
        out[group] = least


@inner
def _mistakes(
    column: int, starts: UInts, rows: UInts, sizes: UInts, groups: int, columns: int, out: Ints
) -> None:
    """Rows of each group that are not of its majority class."""
    for group in range(groups):
        top = int64(0)
        for at in range(starts[group * columns + column], starts[group * columns + column + 1]):
            top = max(top, int64(rows[at]))
        out[group] = int64(sizes[group]) - top


@inner
def measure_models(
    begin: int,
    end: int,
    groups: int,
    sizes: UInts,
    need: Bools,
    above: int,
    below: int,
    plan: Plan,
    lists: Lists,
    models: Floats,
    mistakes: Ints,
) -> None:
    """Measure the groups in `lists`.

    Parameters
    ----------
    begin, end : int
        The sensitive columns to look at; a group is as good as its worst one.
    groups : int
    sizes : array (groups,)
    need : array (models,)
        Which models to measure.
    above, below : int
        The constant of recursive diversity is their quotient.
    plan, lists
        See there.
    models : array (models, groups)
        Result: goodness.
    mistakes : array (groups,)
        Result: rows that are not of the group's majority class.
    """
    columns, starts, rows = len(plan.first) - 1, lists.starts, lists.rows
    if need[_DISTINCT] or need[_FREQUENCY] or need[_ALPHA]:
        distinct, frequency, alpha = models[_DISTINCT], models[_FREQUENCY], models[_ALPHA]
        _count_values(starts, rows, sizes, groups, columns, begin, end, distinct, frequency, alpha)
    if need[_ENTROPY]:
        out, logs, units = models[_ENTROPY], plan.logs, plan.units
        _entropies(starts, rows, sizes, groups, columns, begin, end, logs, units, out)
    if need[_RECURSIVE]:
        out, counts = models[_RECURSIVE], lists.sorted
        _recursions(starts, rows, groups, columns, begin, end, above, below, counts, out)
    for model in range(_CLOSENESS, len(MODELS)):
        if need[model]:
            models[model, :groups] = inf
    for column in range(begin, end):
        if need[_CLOSENESS]:
            own_distances(column, groups, sizes, plan, lists, models[_CLOSENESS])
        if need[_EQUAL]:
            equal_distances(column, groups, sizes, plan, lists, models[_EQUAL])
        if need[_JS]:
            divergences(column, groups, sizes, plan, lists, models[_JS])
        if need[_DELTA]:
            largest_ratios(column, groups, sizes, plan, lists, True, models[_DELTA])
        if need[_DELTA_PRESENT]:
            largest_ratios(column, groups, sizes, plan, lists, False, models[_DELTA_PRESENT])
        if need[_BETA]:
            largest_gains(column, groups, sizes, plan, lists, False, models[_BETA])
        if need[_BETA_ENHANCED]:
            largest_gains(column, groups, sizes, plan, lists, True, models[_BETA_ENHANCED])
    if plan.label >= 0:
        _mistakes(plan.label, starts, rows, sizes, groups, columns, mistakes)


#: `measure_models` for Python to call.
measure_models_alone = as_kernel(measure_models)
