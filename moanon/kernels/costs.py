"""What generalized cells cost, by other measures than D's loss, row by row of the groups.

Every cost here is a sum over the cells of a row, and the cost of a cell follows from its column and
its block. So a group's row cost is built as its loss is: blocks at the columns, sums at the pairs,
on a form that `moanon.kernels.grouping.coarsen` has made. Costs are integers, multiples of one over
a scale of their own: their sums do not depend on an order.
"""

from __future__ import annotations

from math import floor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.kernels.grouping import Forms
from moanon.kernels.jit import compiled, int64
from moanon.kernels.join import Shape
from moanon.kernels.plan import count_log

__all__ = ["COSTS", "Prices", "cell_cost", "measure_costs", "no_prices", "price_blocks"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

#: Costs of a row.
COSTS = (
    "weighted",  # D's loss, columns weighted
    "certainty",  # normalized certainty penalty, columns weighted
    "height",  # levels climbed in trees, as shares of their heights
    "entropy",  # conditional entropy in nats
)
_BY_WIDTH = 2  # so many of them follow from a block's width alone
_HEIGHT = COSTS.index("height")


class Prices(NamedTuple):
    """What the blocks of each column cost; the same for all genomes of a table.

    Attributes
    ----------
    offset : array (columns,)
        First genome bit of each column.
    start : array (columns,)
        Where each column begins in the arrays below; a column of m base values has m + 1 places.
    width : array (2, places)
        ``width[cost, start + w]`` is the cost of a block of `w` base values.
    level_start, level_stop, level : arrays
        Tree nodes that begin at each place (compressed rows): where they end, and their cost.
    below, logs : arrays (places,)
        Rows of the table before each base value, and the sum of their ``n ln n`` in log units.
    log_unit : float
    entropy_unit : float
        Integer cost of one nat.
    full : array (costs,)
        Integer cost of a suppressed row: every cell fully generalized.
    """

    offset: Ints
    start: Ints
    width: Ints
    level_start: Ints
    level_stop: Ints
    level: Ints
    below: Ints
    logs: Ints
    log_unit: float
    entropy_unit: float
    full: Ints


def no_prices() -> Prices:
    """Prices of a table that no cost is asked of."""
    nothing = np.zeros(0, dtype=np.int64)
    flat = np.zeros((_BY_WIDTH, 0), dtype=np.int64)
    return Prices(
        nothing, nothing, flat, nothing, nothing, nothing, nothing, nothing, 1.0, 1.0, nothing
    )


@compiled
def cell_cost(cost: int, column: int, start: int, stop: int, prices: Prices) -> int:
    """Cost of a cell in the block of base values ``start .. stop - 1`` of a column."""
    first = prices.start[column]
    if cost < _BY_WIDTH:
        return int64(prices.width[cost, first + stop - start])
    if cost == _HEIGHT:
        for node in range(prices.level_start[first + start], prices.level_start[first + start + 1]):
            if prices.level_stop[node] == stop:
                return int64(prices.level[node])
        return int64(0)  # a column without a tree
    rows = prices.below[first + stop] - prices.below[first + start]
    if stop - start == 1 or rows == 0:
        return int64(0)
    inside = prices.logs[first + stop] - prices.logs[first + start]
    nats = (count_log(rows, prices.log_unit) - inside) / (prices.log_unit * rows)
    return int64(floor(nats * prices.entropy_unit + 0.5))


@compiled
def measure_costs(
    shape: Shape, forms: Forms, level: int, need: Truths, prices: Prices, out: Ints
) -> None:
    """Fill ``out[cost, place]`` for all entries of a form; the root's entries are the groups."""
    for cost in range(len(need)):
        if not need[cost]:
            continue
        for column in range(shape.columns):
            here = shape.place[column]
            for block in range(forms.entries[level, column]):
                out[cost, here + block] = 0
                if column < len(prices.offset):  # else the one beside a single column
                    stop = forms.boundary[level, here + block] - prices.offset[column] + 1
                    start = stop - forms.width[level, here + block]
                    out[cost, here + block] = cell_cost(cost, column, start, stop, prices)
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


@compiled
def price_blocks(
    starts: Ints, stops: Ints, node_starts: Ints, node_stops: Ints, prices: Prices, out: Ints
) -> None:
    """Fill ``out[cost, group]`` with the row costs of groups; blocks are (columns, groups).

    The nodes are those that hold the blocks of tree columns.
    """
    for cost in range(len(out)):
        for group in range(starts.shape[1]):
            total = int64(0)
            for column in range(len(starts)):
                start, stop = starts[column, group], stops[column, group]
                if cost == _HEIGHT:
                    start, stop = node_starts[column, group], node_stops[column, group]
                total += cell_cost(cost, column, start, stop, prices)
            out[cost, group] = total
