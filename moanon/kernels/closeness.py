"""How close the sensitive values of groups are to those of the whole table.

Each loop looks at one column of all groups in `Lists` and lowers what `out` holds for a group to
minus its distance. Terms are integers until the last division, logarithms of ratios apart.
"""

from __future__ import annotations

from math import floor, inf, log, log1p

import numpy as np

from moanon.arrays import Floats, Ints, UInts
from moanon.kernels.histograms import EQUAL, ORDERED, Lists, Plan
from moanon.kernels.jit import inner, int64

#: Divergences are added up in units of 2^-52.
_JS_UNIT = 2.0**52
#: Shorter gaps between the values of a group are added up one by one.
_SHORT_GAP = np.uint32(8)


@inner
def equal_distances(
    column: int, groups: int, sizes: UInts, plan: Plan, lists: Lists, out: Floats
) -> None:
    """``Σ max(0, p - q)``: what must be moved, and every move is as long as any other."""
    columns, table, total = len(plan.first) - 1, plan.rows, plan.total
    starts, value, rows = lists.starts, lists.value, lists.rows
    for group in range(groups):
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
def _ordered_distances(
    column: int,
    starts: UInts,
    value: UInts,
    rows: UInts,
    sizes: UInts,
    groups: int,
    columns: int,
    place: Ints,
    places: int,
    below: Ints,
    below_sum: Floats,
    table: int,
    out: Floats,
) -> None:
    """``Σ_i |Σ_{j <= i} (p_j - q_j)| / (m - 1)``: moving by one place costs 1 / (m - 1)."""
    last = np.uint32(places - 1)
    for group in range(groups):
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
def _tree_distances(
    column: int,
    starts: UInts,
    value: UInts,
    rows: UInts,
    sizes: UInts,
    groups: int,
    columns: int,
    place: Ints,
    places: int,
    node: Ints,
    node_rows: Ints,
    height: int,
    table: int,
    out: Floats,
) -> None:
    """``Σ height(N) / H · min(pos(N), neg(N))`` over the nodes of a tree, summed level by level.

    What goes from one leaf to another over height h leaves its node on each of the h levels below,
    and each of them is passed at the cost of 1 / H. What leaves the nodes of a level is what they
    have too much: ``EMD = Σ_{level < H} Σ_{node of it} max(0, p_node - q_node) / H``. Nodes without
    rows of the group have nothing too much.
    """
    for group in range(groups):
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
def _ordered_histograms(
    column: int,
    starts: UInts,
    rows: UInts,
    sizes: UInts,
    groups: int,
    columns: int,
    places: int,
    below: Ints,
    table: int,
    out: Floats,
) -> None:
    """Do as `_ordered_distances` where every place has one value, and all values are listed."""
    for group in range(groups):
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
def _tree_histograms(
    column: int,
    starts: UInts,
    rows: UInts,
    sizes: UInts,
    groups: int,
    columns: int,
    places: int,
    total: Ints,
    leaf_levels: Ints,
    nodes: UInts,
    height: int,
    table: int,
    extras: Ints,
    out: Floats,
) -> None:
    """Do as `_tree_distances` where every place has one value, and all values are listed.

    Nodes that are on several levels are looked at once; what one above leaves has too much is the
    difference of two sums over all places before.
    """
    for group in range(groups):
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
def divergences(
    column: int, groups: int, sizes: UInts, plan: Plan, lists: Lists, out: Floats
) -> None:
    """``½ [KL(Q, M) + KL(P, M)]``, M the mean of P and Q; a value absent here gives ½ q ln 2."""
    columns, table, total = len(plan.first) - 1, plan.rows, plan.total
    starts, value, rows = lists.starts, lists.value, lists.rows
    for group in range(groups):
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
def largest_ratios(
    column: int,
    groups: int,
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
    for group in range(groups):
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
def largest_gains(
    column: int,
    groups: int,
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
    for group in range(groups):
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
def own_distances(
    column: int, groups: int, sizes: UInts, plan: Plan, lists: Lists, out: Floats
) -> None:
    """Earth mover's distance by the column's own ground distance."""
    kind = plan.distance[column]
    columns, table = len(plan.first) - 1, plan.rows
    starts, rows = lists.starts, lists.rows
    first, places = plan.first[column], plan.size[column]
    direct = plan.whole[column] and lists.complete
    if kind == EQUAL:
        equal_distances(column, groups, sizes, plan, lists, out)
    elif kind == ORDERED and direct:
        below = plan.below[plan.domain[column] :]
        _ordered_histograms(column, starts, rows, sizes, groups, columns, places, below, table, out)
    elif kind == ORDERED:
        _ordered_distances(
            column,
            starts,
            lists.value,
            rows,
            sizes,
            groups,
            columns,
            plan.place,
            places,
            plan.below[plan.domain[column] :],
            plan.below_sum[plan.domain[column] :],
            table,
            out,
        )
    elif direct:
        _tree_histograms(
            column,
            starts,
            rows,
            sizes,
            groups,
            columns,
            places,
            plan.total[first:],
            plan.leaf_levels[first:],
            plan.nodes[plan.inner[column] : plan.inner[column + 1]],
            plan.height[column],
            table,
            lists.sorted,
            out,
        )
    else:
        _tree_distances(
            column,
            starts,
            lists.value,
            rows,
            sizes,
            groups,
            columns,
            plan.place,
            places,
            plan.node[plan.tree[column] :],
            plan.node_rows[plan.tree[column] :],
            plan.height[column],
            table,
            out,
        )
