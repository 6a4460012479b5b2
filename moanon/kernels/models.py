"""Privacy models of groups: what the sensitive values of one group give away.

Groups come as *lists*: for each group and column values, ascending, with the rows that have each
(compressed rows). All values that occur must be there; others may, with no rows. (That they ascend
matters for distances by an order or a tree alone.) From these every model of L §2.2 and D §4.2
follows, one short loop each; a group with several sensitive columns is as good as its worst one.

Models are kept as *goodness*: turned so that more is better, the worst of several is the least and
a bound is always a lower one (``MODELS`` says what each number is). Whatever is a quotient of
integers is computed as one: correctly rounded, so that comparing it with a bound is exact as long
as both terms are below 2^53. Logarithms are added up as integers (multiples of ``1 / unit``, as
fine as the size of the group allows): a sum does not depend on the order in which cells were
merged.

Each loop goes over all groups: handing a structure of arrays to a function for every single group
would cost more than measuring it.
"""

from __future__ import annotations

from math import floor, frexp, inf, log, log1p

import numpy as np

from moanon.arrays import Bools, Floats, Ints, UInts
from moanon.kernels.histograms import EQUAL, ORDERED, Lists, Plan, count_log, sort_by
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
#: Divergences are added up in units of 2^-52.
_JS_UNIT = 2.0**52
#: Shorter gaps between the values of a group are added up one by one.
_SHORT_GAP = np.uint32(8)


# -- the values of a group alone -------------------------------------------------------------------


@inner
def _count_values(sizes: UInts, plan: Plan, lists: Lists, models: Floats) -> None:
    """Distinct values, and what follows from the most frequent one."""
    columns, starts, rows = len(plan.first) - 1, lists.starts, lists.rows
    distinct, frequency, alpha = models[_DISTINCT], models[_FREQUENCY], models[_ALPHA]
    for group in range(len(sizes)):
        least = int64(2**62)
        top = int64(0)
        for column in range(plan.sensitive):
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
def _entropies(sizes: UInts, plan: Plan, lists: Lists, out: Floats) -> None:
    """``(N ln N - Σ c ln c) / N``; exactly 0 for a single value."""
    columns, starts, rows = len(plan.first) - 1, lists.starts, lists.rows
    logs, units = plan.logs, plan.units
    for group in range(len(sizes)):
        size = sizes[group]
        bits = frexp(size)[1]
        unit, table = units[bits], np.uint64(1) << np.uint64(bits)
        known = 2 * int64(table) <= len(logs)  # whether there is a table for it
        most = int64(-1)  # of Σ c ln c; so the least entropy
        for column in range(plan.sensitive):
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
    sizes: UInts, above: int, below: int, plan: Plan, lists: Lists, out: Floats
) -> None:
    """Largest ℓ with ``r1 < c (r_ℓ + … + r_m)`` for ``c = above / below``; 0 if there is none.

    Tails shrink as ℓ grows, so the first tail that is heavy enough, from the rarest value on, is
    that of the largest ℓ.
    """
    columns, starts, rows, counts = len(plan.first) - 1, lists.starts, lists.rows, lists.sorted
    for group in range(len(sizes)):
        least = int64(2**62)
        for column in range(plan.sensitive):
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
def _mistakes(sizes: UInts, plan: Plan, lists: Lists, out: Ints) -> None:
    """Rows of each group that are not of its majority class."""
    columns, starts, rows, column = len(plan.first) - 1, lists.starts, lists.rows, plan.label
    for group in range(len(sizes)):
        top = int64(0)
        for at in range(starts[group * columns + column], starts[group * columns + column + 1]):
            top = max(top, int64(rows[at]))
        out[group] = int64(sizes[group]) - top


# -- compared with the whole table -----------------------------------------------------------------

# Each loop looks at one column of all groups and lowers what `out` holds for a group to minus its
# distance. Terms are integers until the last division, logarithms of ratios apart.


@inner
def _equal_distances(column: int, sizes: UInts, plan: Plan, lists: Lists, out: Floats) -> None:
    """``Σ max(0, p - q)``: what must be moved, and every move is as long as any other."""
    columns, table, total = len(plan.first) - 1, plan.rows, plan.total
    starts, value, rows = lists.starts, lists.value, lists.rows
    for group in range(len(sizes)):
        size = int64(sizes[group])
        moved = int64(0)
        for at in range(starts[group * columns + column], starts[group * columns + column + 1]):
            moved += max(int64(0), int64(rows[at]) * table - total[value[at]] * size)
        out[group] = min(out[group], -(moved / (float(size) * table)))


@inner
def _gap(first: int, last: int, here: int, size: int, below: Ints, below_sum: Floats) -> float:
    """Sum of ``|here - below[i + 1] * size|`` over places ``first <= i < last``, a long way.

    The rows below only grow, so the difference changes its sign once.
    """
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if below[middle + 1] * size < here:
            low = middle + 1
        else:
            high = middle
    total = float(here) * (low - first) - size * (below_sum[low + 1] - below_sum[first + 1])
    total += size * (below_sum[last + 1] - below_sum[low + 1]) - float(here) * (last - low)
    return float(total)


@inner
def _ordered_distances(column: int, sizes: UInts, plan: Plan, lists: Lists, out: Floats) -> None:
    """``Σ_i |Σ_{j <= i} (p_j - q_j)| / (m - 1)``: moving by one place costs 1 / (m - 1)."""
    columns, table, place, places = len(plan.first) - 1, plan.rows, plan.place, plan.size[column]
    starts, value, rows = lists.starts, lists.value, lists.rows
    below = plan.below[plan.domain[column] :]
    below_sum = plan.below_sum[plan.domain[column] :]
    last = np.uint32(places - 1)
    for group in range(len(sizes)):
        size = int64(sizes[group])
        moved = 0.0  # whole numbers below 2^53 are added up exactly
        seen = int64(0)
        here = np.uint32(0)
        end = starts[group * columns + column + 1]
        for at in range(starts[group * columns + column], end + np.uint32(1)):
            there = np.uint32(place[value[at]]) if at < end else last
            if there > here + _SHORT_GAP:
                moved += _gap(int64(here), int64(there), seen, size, below, below_sum)
            else:
                for i in range(here, there):
                    moved += float(abs(seen - below[i + np.uint32(1)] * size))
            if at < end:
                seen += int64(rows[at]) * table
            here = there
        far = moved / (float(size) * table * (places - 1)) if places > 1 else 0.0
        out[group] = min(out[group], -far)


@inner
def _tree_distances(column: int, sizes: UInts, plan: Plan, lists: Lists, out: Floats) -> None:
    """``Σ height(N) / H · min(pos(N), neg(N))`` over the nodes of a tree, summed level by level.

    What goes from one leaf to another over height h leaves its node on each of the h levels below,
    and each of them is passed at the cost of 1 / H. What leaves the nodes of a level is what they
    have too much: ``EMD = Σ_{level < H} Σ_{node of it} max(0, p_node - q_node) / H``. Nodes without
    rows of the group have nothing too much.
    """
    columns, table, place, places = len(plan.first) - 1, plan.rows, plan.place, plan.size[column]
    starts, value, rows = lists.starts, lists.value, lists.rows
    node, node_rows = plan.node[plan.tree[column] :], plan.node_rows[plan.tree[column] :]
    height = plan.height[column]
    for group in range(len(sizes)):
        size = int64(sizes[group])
        moved = 0.0  # whole numbers below 2^53 are added up exactly
        begin, end = starts[group * columns + column], starts[group * columns + column + 1]
        for level in range(height):
            leaving = int64(0)
            here = int64(-1)
            inside = int64(0)  # of the group in the node, and …
            outside = int64(0)  # … of the table, both as shares of rows of both
            for at in range(begin, end):
                there = np.uint32(level * places) + np.uint32(place[value[at]])
                if node[there] != here:
                    leaving += max(int64(0), inside - outside)
                    here = node[there]
                    inside = int64(0)
                    outside = node_rows[there] * size
                inside += int64(rows[at]) * table
            moved += float(leaving + max(int64(0), inside - outside))
        far = moved / (float(size) * table * height) if height > 0 else 0.0
        out[group] = min(out[group], -far)


@inner
def _ordered_histograms(column: int, sizes: UInts, plan: Plan, lists: Lists, out: Floats) -> None:
    """Do as `_ordered_distances` where every place has one value, and all values are listed."""
    columns, table, places = len(plan.first) - 1, plan.rows, plan.size[column]
    starts, rows, below = lists.starts, lists.rows, plan.below[plan.domain[column] :]
    for group in range(len(sizes)):
        size = int64(sizes[group])
        begin = starts[group * columns + column]
        moved = int64(0)
        seen = int64(0)
        for i in range(np.uint32(places - 1)):
            seen += int64(rows[begin + i])
            moved += abs(seen * table - below[i + np.uint32(1)] * size)
        far = moved / (float(size) * table * (places - 1)) if places > 1 else 0.0
        out[group] = min(out[group], -far)


@inner
def _tree_histograms(column: int, sizes: UInts, plan: Plan, lists: Lists, out: Floats) -> None:
    """Do as `_tree_distances` where every place has one value, and all values are listed.

    Nodes that are on several levels are looked at once; what one above leaves has too much is the
    difference of two sums over all places before.
    """
    columns, table, places = len(plan.first) - 1, plan.rows, plan.size[column]
    starts, rows, extras = lists.starts, lists.rows, lists.sorted
    total, leaf_levels = plan.total[plan.first[column] :], plan.leaf_levels[plan.first[column] :]
    nodes, height = plan.nodes[plan.inner[column] : plan.inner[column + 1]], plan.height[column]
    for group in range(len(sizes)):
        size = int64(sizes[group])
        begin = starts[group * columns + column]
        moved = int64(0)
        before = int64(0)
        for i in range(np.uint32(places)):
            extra = int64(rows[begin + i]) * table - total[i] * size
            moved += leaf_levels[i] * max(int64(0), extra)
            extras[i] = before
            before += extra
        extras[places] = before
        for node in range(np.uint32(len(nodes))):
            extra = extras[nodes[node, 1]] - extras[nodes[node, 0]]
            moved += int64(nodes[node, 2]) * max(int64(0), extra)
        far = moved / (float(size) * table * height) if height > 0 else 0.0
        out[group] = min(out[group], -far)


@inner
def _divergences(column: int, sizes: UInts, plan: Plan, lists: Lists, out: Floats) -> None:
    """``½ [KL(Q, M) + KL(P, M)]``, M the mean of P and Q; a value absent here gives ½ q ln 2."""
    columns, table, total = len(plan.first) - 1, plan.rows, plan.total
    starts, value, rows = lists.starts, lists.value, lists.rows
    for group in range(len(sizes)):
        size = int64(sizes[group])
        found = int64(0)
        present = int64(0)
        for at in range(starts[group * columns + column], starts[group * columns + column + 1]):
            if rows[at] == 0:
                continue
            there = total[value[at]]
            p, q = float(int64(rows[at]) * table), float(there * size)
            term = rows[at] / size * log(2 * p / (p + q)) + there / table * log(2 * q / (p + q))
            found += int64(floor(term / 2 * _JS_UNIT + 0.5))
            present += there
        absent = (table - present) / table * log(2.0) / 2
        out[group] = min(out[group], -max(0.0, found / _JS_UNIT + absent))


@inner
def _largest_ratios(
    column: int,
    sizes: UInts,
    plan: Plan,
    lists: Lists,
    of_all: bool,
    out: Floats,
) -> None:
    """``max |ln(p / q)|`` over the column's values, infinite where one is absent; or of the others.

    `of_all` says whether absent values count.
    """
    columns, table, total = len(plan.first) - 1, plan.rows, plan.total
    starts, value, rows = lists.starts, lists.value, lists.rows
    for group in range(len(sizes)):
        size = int64(sizes[group])
        ratio = 1.0
        known = plan.first[column + 1] - plan.first[column]
        for at in range(starts[group * columns + column], starts[group * columns + column + 1]):
            if rows[at] == 0:
                continue
            p, q = float(int64(rows[at]) * table), float(total[value[at]] * size)
            ratio = max(ratio, p / q, q / p)
            known -= 1
        if known > 0 and of_all:
            out[group] = -inf
            continue
        out[group] = min(out[group], -log(ratio))


@inner
def _largest_gains(
    column: int,
    sizes: UInts,
    plan: Plan,
    lists: Lists,
    enhanced: bool,
    out: Floats,
) -> None:
    """``max (p - q) / q`` over the column's values; 0 where shares are those of the table.

    Where `enhanced`, it is infinite if a gain is more than ``-ln q``.
    """
    columns, table, total = len(plan.first) - 1, plan.rows, plan.total
    starts, value, rows = lists.starts, lists.value, lists.rows
    for group in range(len(sizes)):
        size = int64(sizes[group])
        largest = 0.0
        for at in range(starts[group * columns + column], starts[group * columns + column + 1]):
            there = total[value[at]]
            gain = (int64(rows[at]) * table - there * size) / (there * size)
            if enhanced and gain > log1p((table - there) / there):
                gain = inf
            largest = max(largest, gain)
        out[group] = min(out[group], -largest)


@inner
def _own_distances(column: int, sizes: UInts, plan: Plan, lists: Lists, out: Floats) -> None:
    """Earth mover's distance by the column's own ground distance."""
    direct = plan.whole[column] and lists.complete
    if plan.distance[column] == EQUAL:
        _equal_distances(column, sizes, plan, lists, out)
    elif plan.distance[column] == ORDERED and direct:
        _ordered_histograms(column, sizes, plan, lists, out)
    elif plan.distance[column] == ORDERED:
        _ordered_distances(column, sizes, plan, lists, out)
    elif direct:
        _tree_histograms(column, sizes, plan, lists, out)
    else:
        _tree_distances(column, sizes, plan, lists, out)


# -- all of them -----------------------------------------------------------------------------------


@inner
def measure_models(
    need: Bools,
    above: int,
    below: int,
    sizes: UInts,
    plan: Plan,
    lists: Lists,
    models: Floats,
    mistakes: Ints,
) -> None:
    """Measure the groups in `lists` by the models that are needed.

    A group is as good as the worst of its sensitive columns; the constant of recursive diversity is
    ``above / below``. Results are `models` (models, groups), and `mistakes`, the rows of each group
    that are not of its majority class.
    """
    if need[_DISTINCT] or need[_FREQUENCY] or need[_ALPHA]:
        _count_values(sizes, plan, lists, models)
    if need[_ENTROPY]:
        _entropies(sizes, plan, lists, models[_ENTROPY])
    if need[_RECURSIVE]:
        _recursions(sizes, above, below, plan, lists, models[_RECURSIVE])
    for model in range(_CLOSENESS, len(MODELS)):
        if need[model]:
            models[model, : len(sizes)] = inf
    for column in range(plan.sensitive):
        if need[_CLOSENESS]:
            _own_distances(column, sizes, plan, lists, models[_CLOSENESS])
        if need[_EQUAL]:
            _equal_distances(column, sizes, plan, lists, models[_EQUAL])
        if need[_JS]:
            _divergences(column, sizes, plan, lists, models[_JS])
        if need[_DELTA]:
            _largest_ratios(column, sizes, plan, lists, True, models[_DELTA])
        if need[_DELTA_PRESENT]:
            _largest_ratios(column, sizes, plan, lists, False, models[_DELTA_PRESENT])
        if need[_BETA]:
            _largest_gains(column, sizes, plan, lists, False, models[_BETA])
        if need[_BETA_ENHANCED]:
            _largest_gains(column, sizes, plan, lists, True, models[_BETA_ENHANCED])
    if plan.label >= 0:
        _mistakes(sizes, plan, lists, mistakes)


#: `measure_models` for Python to call.
measure_models_alone = as_kernel(measure_models)
