"""Boxes: the smallest block of every column that covers a group, and what it loses.

A box is kept as the *lowest and highest value* of its rows in each column. In a column with an
order the block between the two is what the group shows. In a tree it is the lowest node that holds
both: leaves stand in pre-order, so that node holds everything between them, too.

What a block loses is looked up where a column has few values, and in longer ones by the key of the
block. In a long tree it is the larger one of two numbers: runs of 1, 2, 4, … leaves are listed with
the loss of their lowest node; two of them cover the block and overlap, so the node of one holds
that of the other, and all leaves between.

`GroupCheck` is what a group must have besides its rows: bounds on its sensitive values. It is for
whoever makes groups inside kernels, and must know before they are groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from moanon.arrays import Bools, Codes, Floats, Ints, UInts
from moanon.kernels.histograms import Lists, Plan, Sensitive, list_histograms
from moanon.kernels.jit import compiled, inner, int64
from moanon.kernels.models import MODELS, measure_models
from moanon.kernels.selection import GroupRule

#: Up to so many values the losses of all blocks of a column are listed.
_FEW = 256
#: How the losses of a column are found: listed by lowest and highest value, by the key of a block,
#: or from runs of leaves.
_LISTED, _KEYED, _RUNS = 0, 1, 2


class BoxColumns(NamedTuple):
    """What blocks lose, column by column; a row that is suppressed loses `full`.

    All that `block_loss` reads is one array: it is called for every cell and column, and a tuple of
    many arrays would be copied each time.
    """

    sizes: Ints  # (columns,): base values
    blocks: Ints  # see `_lay_out`
    is_tree: Bools  # (columns,)
    leaf: Ints  # node of each leaf …
    leaf_first: Ints  # (columns,): … from here on
    start: Ints  # of all nodes: first leaf …
    stop: Ints  # … and the one after the last
    parent: Ints  # -1: root
    full: int


def make_box_columns(
    blocks: Sequence[tuple[Ints, Ints]],
    trees: Sequence[tuple[Ints, Ints, Ints] | None],
    full: int,
) -> BoxColumns:
    """Lay columns out for the kernels.

    `blocks` are the keys and losses of each column, as `join.LossScale.of_column` has them; `trees`
    the starts, stops and parents of the nodes of its hierarchy in pre-order, or None; `full` is the
    loss of a row that is suppressed.
    """
    sizes = np.array([len(edges) - 1 for edges, _ in blocks], dtype=np.int64)
    leaf, start, stop, parent = [], [], [], []
    leaf_first = np.zeros(len(sizes), dtype=np.int64)
    nodes = leaves = 0
    for column, tree in enumerate(trees):
        if tree is None:
            continue
        starts, stops, parents = tree
        leaf_first[column] = leaves
        lowest = np.zeros(sizes[column], dtype=np.int64)
        single = np.flatnonzero(stops - starts == 1)
        lowest[starts[single]] = nodes + single
        leaf.append(lowest)
        start.append(starts)
        stop.append(stops)
        parent.append(np.where(parents < 0, -1, parents + nodes))
        nodes += len(starts)
        leaves += len(lowest)
    empty = [np.zeros(0, dtype=np.int64)]
    return BoxColumns(
        sizes,
        _lay_out(blocks, trees),
        np.array([tree is not None for tree in trees]),
        np.concatenate(empty + leaf).astype(np.int64),
        leaf_first,
        np.concatenate(empty + start).astype(np.int64),
        np.concatenate(empty + stop).astype(np.int64),
        np.concatenate(empty + parent).astype(np.int64),
        full,
    )


def _lay_out(
    blocks: Sequence[tuple[Ints, Ints]], trees: Sequence[tuple[Ints, Ints, Ints] | None]
) -> Ints:
    """Put all losses into one array.

    It begins with four numbers for each column: how its losses are found, its size, where they
    begin, and where something else begins that is needed.
    """
    heads, parts, place = [], [], 4 * len(blocks)
    for (keys, losses), tree in zip(blocks, trees, strict=True):
        size = len(keys) - 1
        if tree is not None:
            runs = _losses_of_runs(keys, losses, *tree)
        if size <= _FEW:
            low, high = np.triu_indices(size)
            table = np.zeros((size, size), dtype=np.int64)
            if tree is not None:
                level = np.log2(high - low + 1).astype(np.int64)  # exact: both are small
                table[low, high] = np.maximum(runs[level, low], runs[level, high + 1 - 2**level])
            else:
                table[low, high] = losses[keys[high + 1] - keys[low]]
            heads += [_LISTED, size, place, 0]
            parts.append(table.ravel())
        elif tree is not None:
            heads += [_RUNS, size, place, 0]
            parts.append(runs.ravel())
        else:
            heads += [_KEYED, size, place, place + len(keys)]
            parts.append(np.concatenate([keys, losses]))
        place += len(parts[-1])
    return np.concatenate([np.array(heads, dtype=np.int64), *parts]).astype(np.int64)


def _losses_of_runs(keys: Ints, losses: Ints, starts: Ints, stops: Ints, parents: Ints) -> Ints:
    """Losses of the lowest nodes that hold 1, 2, 4, … leaves from each leaf on: a row for each."""
    size = len(keys) - 1
    by_node = losses[keys[stops] - keys[starts]]
    neighbours = np.zeros(size, dtype=np.int64)  # of each leaf and the next one
    single = np.zeros(size, dtype=np.int64)
    for node in range(len(starts)):  # parents before their children, which take their part over
        neighbours[starts[node] : stops[node] - 1] = by_node[node]
        single[starts[node] : stops[node]] = by_node[node]
    runs = [single]
    width = 1
    while 2 * width <= size:
        held = np.zeros(size, dtype=np.int64)
        last = size - 2 * width + 1
        held[:last] = np.maximum(runs[-1][:last], runs[-1][width : width + last])
        held[:last] = np.maximum(held[:last], neighbours[width - 1 : width - 1 + last])
        runs.append(held)
        width *= 2
    return np.stack(runs)


@inner
def lowest_node(columns: BoxColumns, column: int, low: int, high: int) -> int:
    """Lowest node of a tree that holds two leaves, ``low <= high``."""
    node = int64(columns.leaf[columns.leaf_first[column] + low])
    while columns.stop[node] <= high:
        node = int64(columns.parent[node])
    return node


@inner
def block_loss(blocks: Ints, column: int, low: int, high: int) -> int:
    """Loss of the smallest block that holds two values, ``low <= high``."""
    way, size, first = blocks[4 * column], blocks[4 * column + 1], blocks[4 * column + 2]
    if way == _LISTED:
        return int64(blocks[first + low * size + high])
    if way == _KEYED:
        key = blocks[first + high + 1] - blocks[first + low]
        return int64(blocks[blocks[4 * column + 3] + key])
    width = int64(1)
    while 2 * width <= high - low + 1:
        width *= 2
        first += size
    return max(int64(blocks[first + low]), int64(blocks[first + high + 1 - width]))


@inner
def box_loss(blocks: Ints, lows: Ints | Codes, highs: Ints | Codes) -> int:
    """Loss of a row in a box."""
    loss = int64(0)
    for column in range(len(lows)):
        loss += block_loss(blocks, column, int64(lows[column]), int64(highs[column]))
    return loss


@compiled
def cover_groups(columns: BoxColumns, codes: Codes, group: Ints, starts: Ints, stops: Ints) -> None:
    """Find the blocks of every group's box; each must have a cell.

    `group` is that of each cell, negative where it is suppressed; the results `starts` and `stops`
    are arrays (columns, groups).
    """
    for column in range(len(starts)):
        for at in range(starts.shape[1]):
            starts[column, at], stops[column, at] = columns.sizes[column], 0
        for cell in range(len(group)):
            if group[cell] >= 0:
                at, value = group[cell], int64(codes[column, cell])
                starts[column, at] = min(starts[column, at], value)
                stops[column, at] = max(stops[column, at], value + 1)
        if columns.is_tree[column]:
            for at in range(starts.shape[1]):
                node = lowest_node(columns, column, starts[column, at], stops[column, at] - 1)
                starts[column, at], stops[column, at] = columns.start[node], columns.stop[node]


# -- what else a group must have -------------------------------------------------------------------


class GroupCheck(NamedTuple):
    """What a group must have besides its size, and scratch to find out whether it has.

    Kernels take None where the size is all: they are then compiled in half the time.
    """

    rule: GroupRule
    plan: Plan
    values: Sensitive
    histogram: Lists  # of one group
    size: UInts  # (1,)
    goodness: Floats  # (models, 1)
    mistakes: Ints  # (1,)


def make_group_check(rule: GroupRule, plan: Plan, values: Sensitive) -> GroupCheck | None:
    """Ask of every group what a rule asks: bounds on models."""
    if not len(rule.bounded):
        return None
    rows = np.zeros(max(1, int(plan.first[-1])), dtype=np.uint32)
    return GroupCheck(
        rule,
        plan,
        values,
        list_histograms(plan, 1)._replace(rows=rows),
        np.zeros(1, dtype=np.uint32),
        np.zeros((len(MODELS), 1)),
        np.zeros(1, dtype=np.int64),
    )


@inner
def meets_bounds(check: GroupCheck | None, rows: int, cells: Ints, number: int) -> bool:
    """Whether so many cells, with so many rows, have the sensitive values of a group."""
    if check is None:
        return True
    counts = check.histogram.rows
    for value in range(len(counts)):
        counts[value] = 0
    for i in range(number):
        for at in range(check.values.starts[cells[i]], check.values.starts[cells[i] + 1]):
            counts[check.values.values[at]] += np.uint32(check.values.counts[at])
    check.size[0] = rows
    need, above, below = check.rule.need, check.rule.above, check.rule.below
    plan, histogram, goodness = check.plan, check.histogram, check.goodness
    measure_models(need, above, below, check.size, plan, histogram, goodness, check.mistakes)
    meets = True
    for model in check.rule.bounded:
        meets = meets and check.goodness[model, 0] >= check.rule.bounds[model]
    return meets


@compiled
def parts_may_be_groups(
    check: GroupCheck | None, least: int, counts: Ints, cells: Ints, part: Ints, parts: int
) -> bool:
    """Whether all parts of some cells have enough rows, and the sensitive values of a group.

    `counts` are of all cells of the table; `part` is the part that each of the `cells` is in, below
    0 if in none.
    """
    chosen = np.empty(len(cells), dtype=np.int64)
    for which in range(parts):
        rows, number = int64(0), int64(0)
        for i in range(len(cells)):
            if part[i] == which:
                chosen[number] = cells[i]
                number += 1
                rows += counts[cells[i]]
        if rows < least or not meets_bounds(check, rows, chosen, number):
            return False
    return True
