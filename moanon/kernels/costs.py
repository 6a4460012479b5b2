"""What generalized cells cost, by other measures than D's loss, row by row of the groups.

Every cost here is a sum over the cells of a row, and the cost of a cell follows from its column and
its block. So a group's row cost is built as its loss is: blocks at the columns, sums at the pairs,
on a form that `moanon.kernels.forms.coarsen` has made. Costs are integers, multiples of one over
a scale of their own: their sums do not depend on an order.
"""

from __future__ import annotations

from math import floor, log
from typing import NamedTuple

import numpy as np

from moanon.arrays import Ints
from moanon.kernels.forms import add_up_parts
from moanon.kernels.histograms import count_log, count_logs
from moanon.kernels.jit import inner, int64
from moanon.kernels.join import Forms, Shape

#: Costs of a row.
COSTS = (
    "weighted",  # D's loss, columns weighted
    "certainty",  # normalized certainty penalty, columns weighted
    "height",  # levels climbed in trees, as shares of their heights
    "entropy",  # conditional entropy in nats
    "block_rows",  # logarithm of the rows of the table that have a value of the block
)
_BY_KEY = 2  # so many of them follow from the number of a block's values alone
_HEIGHT, _BLOCK_ROWS = COSTS.index("height"), COSTS.index("block_rows")
_ENTROPY = COSTS.index("entropy")


class Prices(NamedTuple):
    """What the blocks of each column cost; the same for all genomes of a table.

    Attributes
    ----------
    offset : array (columns,)
        First genome bit of each column.
    start : array (columns,)
        Where each column begins in the arrays below; a column of m base values has m + 1 places.
    keys : array (places,)
        Keys of the edges of base values (`join.block_keys`).
    by_key_start, by_key : arrays (columns,), (2, all keys)
        ``by_key[cost, by_key_start[column] + key]`` is the cost of a block of that key.
    level_start, level_stop, level : arrays
        Tree nodes that begin at each place (compressed rows): where they end, and their cost.
    below, logs : arrays (places,)
        Rows of the table before each base value, and the sum of their ``n ln n`` in log units.
    log_unit : float
    entropy_unit, rows_unit : float
        Integer cost of one nat, of conditional entropies and of logarithms of rows.
    full : array (costs,)
        Integer cost of a suppressed row: every cell fully generalized.
    least : array (costs,)
        Integer cost of the whole table as it is, no cell generalized.
    """

    offset: Ints
    start: Ints
    keys: Ints
    by_key_start: Ints
    by_key: Ints
    level_start: Ints
    level_stop: Ints
    level: Ints
    below: Ints
    logs: Ints
    log_unit: float
    entropy_unit: float
    rows_unit: float
    full: Ints
    least: Ints


def no_prices() -> Prices:
    """Prices of a table that no cost is asked of."""
    nothing = np.zeros(0, dtype=np.int64)
    flat = np.zeros((_BY_KEY, 0), dtype=np.int64)
    return Prices(
        offset=nothing,
        start=nothing,
        keys=nothing,
        by_key_start=nothing,
        by_key=flat,
        level_start=nothing,
        level_stop=nothing,
        level=nothing,
        below=nothing,
        logs=nothing,
        log_unit=1.0,
        entropy_unit=1.0,
        rows_unit=1.0,
        full=nothing,
        least=nothing,
    )


@inner
def _cell_cost(cost: int, column: int, start: int, stop: int, prices: Prices) -> int:
    """Cost of a cell in the block of base values ``start .. stop - 1`` of a column."""
    first = prices.start[column]
    if cost < _BY_KEY:
        key = prices.keys[first + stop] - prices.keys[first + start]
        return int64(prices.by_key[cost, prices.by_key_start[column] + key])
    if cost == _HEIGHT:
        for node in range(prices.level_start[first + start], prices.level_start[first + start + 1]):
            if prices.level_stop[node] == stop:
                return int64(prices.level[node])
        return int64(0)  # a column without a tree
    rows = prices.below[first + stop] - prices.below[first + start]
    if rows == 0:
        return int64(0)
    if cost == _BLOCK_ROWS:
        return int64(floor(log(rows) * prices.rows_unit + 0.5))
    if stop - start == 1:
        return int64(0)
    inside = prices.logs[first + stop] - prices.logs[first + start]
    nats = (count_log(rows, prices.log_unit) - inside) / (prices.log_unit * rows)
    return int64(floor(nats * prices.entropy_unit + 0.5))


@inner
def measure_costs(
    shape: Shape, forms: Forms, level: int, wanted: Ints, prices: Prices, out: Ints
) -> None:
    """Fill ``out[cost, place]`` for all entries of a form; the root's entries are the groups."""
    for cost in wanted:
        for column in range(shape.columns):
            here = shape.place[column]
            for block in range(forms.entries[level, column]):
                out[cost, here + block] = 0
                if column < len(prices.offset):  # else the one beside a single column
                    stop = forms.boundary[level, here + block] - prices.offset[column] + 1
                    start = 0
                    if block > 0:
                        start = forms.boundary[level, here + block - 1] - prices.offset[column] + 1
                    out[cost, here + block] = _cell_cost(cost, column, start, stop, prices)
        for i in range(len(shape.left)):
            here = shape.place[shape.columns + i]
            left = shape.place[shape.left[i]]
            right = shape.place[shape.right[i]]
            starts = forms.row_starts[level, shape.row_place[i] :]
            rights = forms.right_of[level, here:]
            for group in range(forms.entries[level, shape.left[i]]):
                for pair in range(starts[group], starts[group + 1]):
                    out[cost, here + pair] = (
                        out[cost, left + group] + out[cost, right + rights[pair]]
                    )
        if len(shape.parts):
            add_up_parts(shape, forms.members[level], forms.entries[level, -1], out[cost])


def block_costs(
    starts: Ints, stops: Ints, node_starts: Ints, node_stops: Ints, prices: Prices
) -> Ints:
    """Row costs (costs, groups) of groups of any origin, whose blocks are (columns, groups).

    The nodes are those that hold the blocks of tree columns.
    """
    costs = np.zeros((len(COSTS), starts.shape[1]), dtype=np.int64)
    for column, first in enumerate(prices.start):
        start, stop = first + starts[column], first + stops[column]
        keys = prices.keys[stop] - prices.keys[start]
        costs[:_BY_KEY] += prices.by_key[:, prices.by_key_start[column] + keys]
        nodes, which = np.unique(
            np.stack([first + node_starts[column], node_stops[column]]), axis=1, return_inverse=True
        )
        heights = [_height(start, stop, prices) for start, stop in nodes.T.tolist()]
        costs[_HEIGHT] += np.array(heights, dtype=np.int64)[which.reshape(-1)]
        rows = prices.below[stop] - prices.below[start]
        inside = prices.logs[stop] - prices.logs[start]
        single = (stop - start == 1) | (rows == 0)
        nats = (count_logs(rows, prices.log_unit) - inside) / (
            prices.log_unit * np.maximum(rows, 1)
        )
        entropy = np.floor(nats * prices.entropy_unit + 0.5).astype(np.int64)
        costs[_ENTROPY] += np.where(single, 0, entropy)
        costs[_BLOCK_ROWS] += log_rows(rows, prices.rows_unit)
    return costs


def log_rows(rows: Ints, unit: float) -> Ints:
    """Logarithms of numbers of rows in units, 0 for none; as `_cell_cost` has them."""
    different, which = np.unique(rows, return_inverse=True)
    logs = np.array([log(count) if count else 0.0 for count in different.tolist()])
    return np.floor(logs * unit + 0.5).astype(np.int64)[which.reshape(rows.shape)]


def _height(start: int, stop: int, prices: Prices) -> int:
    """Cost of the tree node that begins at a place and ends before `stop`; 0 without a tree."""
    for node in range(prices.level_start[start], prices.level_start[start + 1]):
        if prices.level_stop[node] == stop:
            return int(prices.level[node])
    return 0
