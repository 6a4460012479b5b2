"""Boxes: the smallest block of every column that covers a group, and what it loses.

A box is kept as the *lowest and highest value* of its rows in each column. In a column with an
order the block between the two is what the group shows. In a tree it is the lowest node that holds
both: leaves stand in pre-order, so that node holds everything between them, too.

What a block loses is looked up where a column has few values; of longer columns it is looked up by
its key, or found by climbing the tree from the lowest leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from moanon.arrays import Bools, Codes, Ints
from moanon.kernels.jit import compiled, inner, int64
from moanon.kernels.join import starts_of

#: Up to so many values the losses of all blocks of a column are listed.
_FEW = 256


class BoxColumns(NamedTuple):
    """What blocks lose, column by column; a row that is suppressed loses `full`."""

    sizes: Ints  # (columns,): base values
    keys: Ints  # of the edges of base values (`join.block_keys`) …
    key_first: Ints  # (columns,): … from here on
    losses: Ints  # loss of a block by its key …
    loss_first: Ints  # (columns,): … from here on
    pairs: Ints  # loss of the block from a to b, at first + a · size + b
    pair_first: Ints  # (columns,): -1 where the column has too many values
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

    Parameters
    ----------
    blocks : sequence of (keys, losses)
        Of each column as `join.LossScale.of_column` has them.
    trees : sequence of (starts, stops, parents), or None
        Nodes of each column's hierarchy in pre-order; None where it has none.
    full : int
        Loss of a row that is suppressed.
    """
    keys, losses = zip(*blocks, strict=True)
    sizes = np.array([len(edges) - 1 for edges in keys], dtype=np.int64)
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
    columns = BoxColumns(
        sizes,
        np.concatenate(keys),
        starts_of(keys),
        np.concatenate(losses),
        starts_of(losses),
        np.zeros(0, dtype=np.int64),
        np.full(len(sizes), -1, dtype=np.int64),
        np.array([tree is not None for tree in trees]),
        np.concatenate(empty + leaf).astype(np.int64),
        leaf_first,
        np.concatenate(empty + start).astype(np.int64),
        np.concatenate(empty + stop).astype(np.int64),
        np.concatenate(empty + parent).astype(np.int64),
        full,
    )
    few = sizes <= _FEW
    squares = np.where(few, sizes**2, 0)
    first = np.where(few, np.cumsum(squares) - squares, -1).astype(np.int64)
    pairs = np.zeros(int(squares.sum()), dtype=np.int64)
    _list_pairs(columns, first, pairs)
    return columns._replace(pairs=pairs, pair_first=first)


@inner
def lowest_node(columns: BoxColumns, column: int, low: int, high: int) -> int:
    """Lowest node of a tree that holds two leaves, ``low <= high``."""
    node = int64(columns.leaf[columns.leaf_first[column] + low])
    while columns.stop[node] <= high:
        node = int64(columns.parent[node])
    return node


@inner
def block_loss(columns: BoxColumns, column: int, low: int, high: int) -> int:
    """Loss of the smallest block that holds two values, ``low <= high``."""
    first = columns.pair_first[column]
    if first >= 0:
        return int64(columns.pairs[first + low * columns.sizes[column] + high])
    stop = high + 1
    if columns.is_tree[column]:
        node = lowest_node(columns, column, low, high)
        low, stop = int64(columns.start[node]), int64(columns.stop[node])
    first = columns.key_first[column]
    key = columns.keys[first + stop] - columns.keys[first + low]
    return int64(columns.losses[columns.loss_first[column] + key])


@inner
def box_loss(columns: BoxColumns, lows: Ints | Codes, highs: Ints | Codes) -> int:
    """Loss of a row in a box."""
    loss = int64(0)
    for column in range(len(lows)):
        loss += block_loss(columns, column, int64(lows[column]), int64(highs[column]))
    return loss


@compiled
def _list_pairs(columns: BoxColumns, first: Ints, out: Ints) -> None:
    for column in range(len(first)):
        size = columns.sizes[column]
        for low in range(size if first[column] >= 0 else 0):
            for high in range(low, size):
                out[first[column] + low * size + high] = block_loss(columns, column, low, high)


@compiled
def cover_groups(columns: BoxColumns, codes: Codes, group: Ints, starts: Ints, stops: Ints) -> None:
    """Find the blocks of every group's box.

    Parameters
    ----------
    columns : BoxColumns
    codes : array (columns, cells)
    group : array (cells,)
        The group of each cell; negative where it is suppressed.
    starts, stops : arrays (columns, groups)
        Results; every group must have a cell.
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
