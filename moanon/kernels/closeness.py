"""How close the sensitive values of groups are to those of the whole table.

Each loop looks at one column of all groups in `Lists` and lowers what `out` holds for a group to
minus its distance. Terms are integers until the last division, logarithms of ratios apart.
"""

from __future__ import annotations

from math import floor, inf, log

import numpy as np
import numpy.typing as npt

from moanon.kernels.jit import compiled, int64
from moanon.kernels.plan import EQUAL, ORDERED, Lists, Plan

__all__ = ["divergences", "equal_distances", "largest_ratios", "own_distances"]

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]

#: Divergences are added up in units of 2^-52.
_JS_UNIT = 2.0**52
#: Shorter gaps between the values of a group are added up one by one.
_SHORT_GAP = np.uint32(8)


@compiled
def equal_distances(
    column: int, groups: int, sizes: Words, plan: Plan, lists: Lists, out: Floats
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


@compiled
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


@compiled
def _ordered_distances(
    column: int,
    starts: Words,
    value: Words,
    rows: Words,
    sizes: Words,
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


@compiled
def _tree_distances(
    column: int,
    starts: Words,
    value: Words,
    rows: Words,
    sizes: Words,
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


@compiled
def divergences(
    column: int, groups: int, sizes: Words, plan: Plan, lists: Lists, out: Floats
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


@compiled
def largest_ratios(
    column: int, groups: int, sizes: Words, plan: Plan, lists: Lists, out: Floats
) -> None:
    """``max |ln(p / q)|`` over the column's values; infinite where one is absent."""
    columns, table, total = len(plan.first) - 1, plan.rows, plan.total
    starts, value, rows = lists.starts, lists.value, lists.rows
    for group in range(groups):
        size = int64(sizes[group])
        ratio = 1.0
        known = plan.first[column + 1] - plan.first[column]
        for at in range(starts[group * columns + column], starts[group * columns + column + 1]):
            if rows[at] == 0:
                break
            p, q = float(int64(rows[at]) * table), float(total[value[at]] * size)
            ratio = max(ratio, p / q, q / p)
            known -= 1
        if known > 0:
            out[group] = -inf
            continue
        out[group] = min(out[group], -log(ratio))


@compiled
def own_distances(
    column: int, groups: int, sizes: Words, plan: Plan, lists: Lists, out: Floats
) -> None:
    """Earth mover's distance by the column's own ground distance."""
    kind = plan.distance[column]
    columns, table = len(plan.first) - 1, plan.rows
    if kind == EQUAL:
        equal_distances(column, groups, sizes, plan, lists, out)
    elif kind == ORDERED:
        _ordered_distances(
            column,
            lists.starts,
            lists.value,
            lists.rows,
            sizes,
            groups,
            columns,
            plan.place,
            plan.size[column],
            plan.below[plan.domain[column] :],
            plan.below_sum[plan.domain[column] :],
            table,
            out,
        )
    else:
        _tree_distances(
            column,
            lists.starts,
            lists.value,
            lists.rows,
            sizes,
            groups,
            columns,
            plan.place,
            plan.size[column],
            plan.node[plan.tree[column] :],
            plan.node_rows[plan.tree[column] :],
            plan.height[column],
            table,
            out,
        )
