"""Sums over rows: what cells cost by other measures than D's loss, and tallies over people.

Every *cost* is a sum over the cells of a row, and the cost of a cell follows from its column and
its block. So a group's row cost is built as its loss is: blocks at the columns, sums at the pairs,
on a form that `moanon.kernels.forms.coarsen` has made. The costs are loss metrics of M §3:

- ``weighted``: D eq. 3, ``(w - 1) / (m - 1)`` for a block of w of the m values, times the column's
  weight over the sum of all weights. A base value is one value; a clamped end is as many as it
  stands for.
- ``certainty``: the normalized certainty penalty of M eq. 5-6, weighted alike. Of a tree or an
  order ``w / m``, and 0 for a single value; of an interval ``(w - 1) / (m - 1)``, the range of the
  block over the range of the domain in steps.
- ``height``: M eq. 3, the level of the block's tree node over the height of the tree; an equal
  share for each tree column, nothing for the others.
- ``entropy``: M eq. 9-10, the entropy in nats of the block's base values as they occur in the whole
  table. Here and above, m counts the declared domain.
- ``block_rows``: the logarithm of the rows of the whole table that have a value of the block. A
  value of r rows in a block of R has lost ``ln R - ln r``; what is subtracted is the same for every
  recoding, so it is added up once, over the table (`Prices.least`).

A cell of a suppressed row counts as fully generalized; it costs its whole share even where a column
has a single base value, as in D's suppression loss (eq. 5). Costs are integers over a unit of their
own, so that sums are exact and do not depend on an order; rounding is off by at most half a unit
for each cell, less than 1e-12 of a row up to a million rows.

A property vector has a number for every row of the original (C §3), and rows that share a group, or
a group and a sensitive value, share the number. So its mean and its distance from an ideal vector
are sums over groups, its minimum is a worst case over them: *tallies*. Suppressed rows are in the
vector, too, as one more group whose cells are lost and whose sensitive values are those that no
kept group holds.

Sums over groups are integers. A number that is no whole one is between 0 and 1 for each row; its
sum over a group is rounded to units so small that the sum over all rows just fits. So a tally does
not depend on the order of groups, and is off by half a unit a group and the rounding of floats.
Squares of whole numbers are added up as they are, unless the table is so large that they might not
fit (`square_unit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log, log2
from typing import NamedTuple

import numpy as np

from moanon.arrays import Floats, Ints, UInts
from moanon.kernels.forms import add_up_parts
from moanon.kernels.histograms import Lists, Plan, count_log, count_logs, log_unit
from moanon.kernels.jit import inner, int64
from moanon.kernels.join import Forms, Shape, block_keys, starts_of
from moanon.kernels.models import MODELS
from moanon.kernels.thresholds import CLASSES

#: Costs of a row.
COSTS = ("weighted", "certainty", "height", "entropy", "block_rows")
_BY_KEY = 2  # so many of them follow from the number of a block's values alone
_HEIGHT, _ENTROPY, _BLOCK_ROWS = 2, 3, 4
#: Sums over a table stay below this.
_MOST = 2**61

#: What is added up over rows, or the largest of it. N is the size of a row's group, n that of the
#: table, c the rows of the group with the row's own sensitive value.
TALLIES = (
    "size_gap",  # (n - N)²
    "loss_gap",  # (row loss / loss of a suppressed row)²
    "loss_most",  # largest row loss
    "small",  # 1 where N is below `SMALL`
    # of each sensitive column
    "same",  # c
    "same_gap",  # (c - 1)²
    "same_most",  # largest c
    "share",  # c / N
    "share_gap",  # (c / N)²
    "values",  # different values in the group
    "values_gap",  # (number of the column's values that the group lacks)²
    "lacking_most",  # largest number of values that a group lacks
)
_SIZE_GAP, _LOSS_GAP, _LOSS_MOST, _SMALL = range(4)
_SAME, _SAME_GAP, _SAME_MOST, _SHARE, _SHARE_GAP = range(4, 9)
_VALUES, _VALUES_GAP, _LACKING_MOST = range(9, 12)
#: Groups of fewer rows are small; five is the least cell that statistical offices mostly publish.
SMALL = 5
#: Tallies from this one on are those of a sensitive column.
OF_COLUMNS = _SAME
#: Ranks of a model whose values are no whole numbers are below this.
MOST_RANKS = 1024


class Prices(NamedTuple):
    """What the blocks of each column cost; the same for all genomes of a table.

    A column of m base values has m + 1 places in the arrays of edges.
    """

    offset: Ints  # (columns,): first genome bit of each
    start: Ints  # (columns,): where each begins among the places
    keys: Ints  # (places,): those of the edges of base values (`join.block_keys`)
    by_key_start: Ints  # (columns,)
    by_key: Ints  # (2, all keys): cost of a block by its key, from that start on
    level_start: Ints  # (places + 1,): tree nodes that begin at each place (compressed rows)
    level_stop: Ints  # where they end …
    level: Ints  # … and what they cost
    below: Ints  # (places,): rows of the table before each base value …
    logs: Ints  # … and the sum of their ``n ln n`` in log units
    log_unit: float
    entropy_unit: float  # integer cost of one nat of conditional entropies …
    rows_unit: float  # … and of logarithms of rows
    full: Ints  # (costs,): of a suppressed row, every cell fully generalized
    least: Ints  # (costs,): of the whole table as it is, no cell generalized


def no_prices() -> Prices:
    """Prices of a table that no cost is asked of."""
    arrays = {field: np.zeros(0, dtype=np.int64) for field in Prices._fields}
    arrays["by_key"] = np.zeros((_BY_KEY, 0), dtype=np.int64)
    units = {"log_unit": 1.0, "entropy_unit": 1.0, "rows_unit": 1.0}
    return Prices(**arrays | units)  # type: ignore[arg-type]


def make_prices(
    spans: Sequence[Ints],
    counts: Sequence[Ints],
    shares: Sequence[float],
    is_interval: Sequence[bool],
    trees: Sequence[tuple[Ints, Ints, Ints] | None],
) -> Prices:
    """Price the blocks of all quasi-identifiers of a table.

    Of each column: values that its base values stand for, rows of the table that have them, weight
    over the sum of all weights, and of all nodes of its tree the first leaf, the one after the last
    and the height.
    """
    rows, sizes = int(counts[0].sum()), [len(each) for each in spans]
    unit = _MOST // rows
    keys, values = zip(*map(block_keys, spans), strict=True)
    by_key = [
        np.rint(share * unit * _shares_lost(int(each.sum()), interval, of_keys))
        for each, share, interval, of_keys in zip(spans, shares, is_interval, values, strict=True)
    ]
    tree_columns = sum(tree is not None for tree in trees)
    tree_unit = unit // tree_columns if tree_columns else 0
    level_start, level_stop, level = _levels(sizes, trees, tree_unit)
    logs_in = log_unit(rows)
    most_nats = sum(log(max(size, 2)) for size in sizes)
    entropy_in = float(_MOST // max(1, int(np.ceil(rows * most_nats))))
    rows_in = float(_MOST // ceil(rows * len(sizes) * log(max(rows, 2))))
    weighted = sum(int(np.rint(share * unit)) for share in shares)
    entropies = sum(_entropy_cost(each, logs_in, entropy_in) for each in counts)
    logs_of_all = len(sizes) * int(_log_rows(np.array([rows]), rows_in)[0])
    own_logs = sum(int((each * _log_rows(each, rows_in)).sum()) for each in counts)
    full = [weighted, weighted, tree_columns * tree_unit, entropies, logs_of_all]
    return Prices(
        offset=np.cumsum([0, *(size - 1 for size in sizes[:-1])]).astype(np.int64),
        start=starts_of(keys)[:-1],
        keys=np.concatenate(keys),
        by_key_start=starts_of(values)[:-1],
        by_key=np.concatenate(by_key, axis=1).astype(np.int64),
        level_start=level_start,
        level_stop=level_stop,
        level=level,
        below=_running(counts),
        logs=_running([count_logs(each, logs_in) for each in counts]),
        log_unit=logs_in,
        entropy_unit=entropy_in,
        rows_unit=rows_in,
        full=np.array(full, np.int64),
        least=np.array([0, 0, 0, 0, own_logs], np.int64),
    )


def _shares_lost(every: int, is_interval: bool, values: Ints) -> Floats:
    """Loss and certainty penalty (2, blocks) of cells in blocks of so many of `every` values."""
    loss = np.maximum(values - 1, 0) / max(1, every - 1)
    certainty = loss if is_interval else np.where(values > 1, values / every, 0.0)
    return np.stack([loss, certainty])


def _levels(
    sizes: Sequence[int], trees: Sequence[tuple[Ints, Ints, Ints] | None], unit: int
) -> tuple[Ints, Ints, Ints]:
    """Tree nodes by the place where they begin: where they end, and what they cost."""
    starts, stops, costs = [0], [], []
    for size, tree in zip(sizes, trees, strict=True):
        at_place: list[list[tuple[int, int]]] = [[] for _ in range(size + 1)]
        if tree is not None:
            height = max(1, int(tree[2][0]))
            for first, stop, level in zip(*(part.tolist() for part in tree), strict=True):
                at_place[first].append((stop, level * unit // height))
        for nodes in at_place:
            starts.append(starts[-1] + len(nodes))
            stops += [stop for stop, _ in nodes]
            costs += [cost for _, cost in nodes]
    return tuple(np.array(part, dtype=np.int64) for part in (starts, stops, costs))  # type: ignore[return-value]


def _running(parts: Sequence[Ints]) -> Ints:
    """Sums over the earlier base values of each column, one place more than it has."""
    sums = [np.concatenate(([0], np.cumsum(part))) for part in parts]
    return np.concatenate(sums).astype(np.int64)


def _entropy_cost(counts: Ints, logs_in: float, unit: float) -> int:
    """Integer cost of a cell that may be any value of its column."""
    rows = int(counts.sum())
    inside = int(count_logs(counts, logs_in).sum())
    whole = int(count_logs(np.array([rows]), logs_in)[0])
    return int((whole - inside) / (logs_in * rows) * unit + 0.5)


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
        costs[_BLOCK_ROWS] += _log_rows(rows, prices.rows_unit)
    return costs


def _log_rows(rows: Ints, unit: float) -> Ints:
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


# -- tallies ---------------------------------------------------------------------------------------


def tally_unit(rows: int) -> float:
    """Integer that stands for 1 in sums over so many rows."""
    return float(2.0 ** (61 - ceil(log2(max(rows, 2)))))


def square_unit(rows: int) -> float:
    """Integer that stands for 1 in sums of squared numbers of rows, over all rows of a table."""
    if float(rows) ** 3 < 2.0**62:
        return 1.0
    return float(2.0 ** floor(62 - 3 * log2(rows)))


class GroupBuffers(NamedTuple):
    """What one thread needs to measure groups; ranks are None without sensitive values.

    A group is *eligible* if it meets the constraints. Where there are none, all are. What is
    counted by class or rank is zero between calls.
    """

    models: Floats  # (models, groups): goodness
    mistakes: Ints  # (groups,)
    costs: Ints  # (costs, places)
    tallies: Ints  # (tallies, groups)
    left: UInts  # (values,): suppressed rows with each sensitive value
    rows: int  # of the table
    full_loss: int  # integer loss of a row of which nothing is left
    unit: float  # see `tally_unit`
    square_unit: float
    group: UInts  # eligible groups, and their …
    sizes: UInts
    losses: Ints
    ranks: UInts | None
    everyone: UInts  # all groups
    no_ranks: UInts | None  # of a rule that goes by size
    order: UInts  # eligible groups, those first that are kept
    class_rows: Ints  # rows per size class …
    class_loss: Ints  # … and their loss
    picked: Ints  # groups to be sorted …
    keys: Ints  # … and what they are sorted by
    by_rank: Ints  # rows per rank
    tallest: Ints  # largest group per rank


def make_group_buffers(
    groups: int, values: int, rows: int, full_loss: int, tallies: int = 0
) -> GroupBuffers:
    """Allocate room for at most so many groups, without costs, and so many sensitive values."""
    ranks = max(values, MOST_RANKS) + 2
    return GroupBuffers(
        models=np.zeros((len(MODELS), groups if values else 0)),
        mistakes=np.zeros(groups, dtype=np.int64),
        costs=np.zeros((0, 0), dtype=np.int64),
        tallies=np.zeros((tallies, groups), dtype=np.int64),
        left=np.zeros(values, dtype=np.uint32),
        rows=rows,
        full_loss=full_loss,
        unit=tally_unit(rows),
        square_unit=square_unit(rows),
        group=np.zeros(groups, dtype=np.uint32),
        sizes=np.zeros(groups, dtype=np.uint32),
        losses=np.zeros(groups, dtype=np.int64),
        ranks=np.zeros(groups, dtype=np.uint32) if values else None,
        everyone=np.arange(groups, dtype=np.uint32),
        no_ranks=np.ones(groups, dtype=np.uint32) if values else None,
        order=np.zeros(groups, dtype=np.uint32),
        class_rows=np.zeros(CLASSES, dtype=np.int64),
        class_loss=np.zeros(CLASSES, dtype=np.int64),
        picked=np.zeros(groups, dtype=np.int64),
        keys=np.zeros(groups, dtype=np.int64),
        by_rank=np.zeros(ranks, dtype=np.int64),
        tallest=np.zeros(ranks, dtype=np.int64),
    )


@inner
def _rounded(total: float, unit: float) -> int:
    return int64(floor(total * unit + 0.5))


@inner
def _square(times: int, number: int, unit: float) -> int:
    """Give ``times · number²`` in units of `square_unit`."""
    if unit == 1.0:
        return int64(times * number * number)
    return _rounded(float(times) * number * number, unit)


@inner
def _of_group(
    tally: int, size: int, loss: int, rows: int, full_loss: int, unit: float, squares: float
) -> int:
    """Tally over the rows of one group that follows from its size and loss."""
    if tally == _SIZE_GAP:
        return _square(size, rows - size, squares)
    if tally == _LOSS_GAP:
        return _rounded(size * (loss / full_loss) ** 2, unit)
    if tally == _SMALL:
        return int64(size) if size < SMALL else int64(0)
    return int64(loss)


@inner
def _of_values(
    tally: int,
    size: int,
    counts: UInts,
    begin: int,
    end: int,
    known: int,
    unit: float,
    squares: float,
) -> int:
    """Tally over the rows of one group that follows from its values, ``counts[begin:end]``."""
    lacking = known
    for at in range(begin, end):
        lacking -= int64(counts[at] > 0)
    if tally == _VALUES:
        return int64(size * (known - lacking))
    if tally == _VALUES_GAP:
        return int64(size * lacking * lacking)
    if tally == _LACKING_MOST:
        return int64(lacking)
    if tally in (_SAME, _SAME_GAP, _SAME_MOST):
        whole = int64(0)
        for at in range(begin, end):
            count = int64(counts[at])
            if tally == _SAME_MOST:
                whole = max(whole, count)
            elif tally == _SAME:
                whole += count * count
            elif count > 0:
                whole += _square(count, count - 1, squares)
        return whole
    total = 0.0  # values ascend: always added up in the same order
    for at in range(begin, end):
        count = int64(counts[at])
        share = count / size
        total += count * share if tally == _SHARE else count * share**2
    return _rounded(total, unit)


@inner
def measure_tallies(
    wanted: Ints,
    groups: int,
    sizes: UInts,
    losses: Ints,
    plan: Plan | None,
    lists: Lists | None,
    buffers: GroupBuffers,
) -> None:
    """Take the tallies of all groups; `wanted` holds pairs of tally and sensitive column."""
    rows, full_loss = buffers.rows, buffers.full_loss
    unit, squares = buffers.unit, buffers.square_unit
    for at in range(len(wanted)):
        tally, column = wanted[at, 0], wanted[at, 1]
        out = buffers.tallies[at]
        if tally < OF_COLUMNS:
            for group in range(groups):
                size, loss = int64(sizes[group]), losses[group]
                out[group] = _of_group(tally, size, loss, rows, full_loss, unit, squares)
        elif plan is not None and lists is not None:
            columns, known = len(plan.first) - 1, plan.first[column + 1] - plan.first[column]
            starts, counts = lists.starts, lists.rows
            for group in range(groups):
                size, first = int64(sizes[group]), group * columns + column
                begin, end = int64(starts[first]), int64(starts[first + 1])
                out[group] = _of_values(tally, size, counts, begin, end, known, unit, squares)


@inner
def add_tallies(
    wanted: Ints,
    members: UInts,
    groups: UInts,
    plan: Plan | None,
    lists: Lists | None,
    buffers: GroupBuffers,
    suppressed: int,
    out: Ints,
) -> None:
    """Let more groups stay: ``groups[i]`` for all `i` in `members`.

    Their values are taken out of ``buffers.left``, which must hold them. `out` has two places for
    each tally: that of the kept rows, which the groups are added to, and that of the `suppressed`
    ones, which is taken anew.
    """
    of_columns = False
    for at in range(len(wanted)):
        tally, total = wanted[at, 0], out[2 * at]
        most = tally in (_LOSS_MOST, _SAME_MOST, _LACKING_MOST)
        for i in members:
            here = buffers.tallies[at, groups[i]]
            total = max(total, here) if most else total + here
        out[2 * at] = total
        of_columns = of_columns or tally >= OF_COLUMNS
    if plan is not None and lists is not None and of_columns:
        columns = len(plan.first) - 1
        for i in members:
            group = int64(groups[i])
            for at in range(lists.starts[group * columns], lists.starts[(group + 1) * columns]):
                buffers.left[lists.value[at]] -= lists.rows[at]
    for at in range(len(wanted)):
        tally, column = wanted[at, 0], wanted[at, 1]
        out[2 * at + 1] = 0
        if suppressed > 0:
            rows, full_loss = buffers.rows, buffers.full_loss
            unit, squares = buffers.unit, buffers.square_unit
            if tally < OF_COLUMNS:
                out[2 * at + 1] = _of_group(
                    tally, suppressed, full_loss, rows, full_loss, unit, squares
                )
            elif plan is not None:
                begin, end = plan.first[column], plan.first[column + 1]
                out[2 * at + 1] = _of_values(
                    tally, suppressed, buffers.left, begin, end, end - begin, unit, squares
                )
