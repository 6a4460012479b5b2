"""From the whole table down: boxes are split as long as all parts may stay groups.

The greedy way takes the split with the largest gain and goes on with the parts. It is short-sighted
(a handful of foreigners left in every box makes the country of everybody unknown), so `split_cells`
looks ahead: each split is tried, its parts are split greedily down to a horizon, and the split with
the least loss *there* is taken. What is suppressed depends on all nodes together; a price makes
them independent of each other.

A *node* is a run of cells, ``order[begin:end]``, with the smallest box around them. Every column in
which its cells differ offers up to two splits: a column with an order the cut that lowers the
summed loss most; a tree, whose node falls into its children, the best child against the rest, and
all children apart that may be groups, with the others together. Parts that may not be groups, for
their size or their sensitive values, are *trimmed*, that is suppressed, where the limit allows and
the rest gains more than a `price` per row says.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from moanon.arrays import Codes, Floats, Ints
from moanon.kernels.boxes import (
    BoxColumns,
    GroupCheck,
    block_loss,
    box_loss,
    lowest_node,
    meets_bounds,
)
from moanon.kernels.histograms import sort_by
from moanon.kernels.jit import bool_, compiled, inlined, inner, int64

#: Stands for the part of a split that is suppressed.
_TRIMMED = -1


class SplitBuffers(NamedTuple):
    """What one thread needs to split nodes; a bucket is a value or a child of a tree node."""

    order: Ints  # (cells,): cells, node by node; in the same order …
    codes: Codes  # (columns, cells): … their values
    counts: Ints  # (cells,): … and rows
    side_of: Ints  # (cells,)
    spare: Ints  # (cells,)
    kept: Codes  # (cells,)
    stack: Ints  # (cells + 1, 2): nodes to be split
    lows: Ints  # (columns,): the node's box
    highs: Ints
    active: Ints  # columns in which its cells differ
    value_rows: Ints  # (values,)
    values: Ints  # (values,): those that occur, ascending
    bucket: Ints  # (values,): of each value
    rows: Ints  # (buckets + 1,): in all buckets before
    boxes: Ints  # (3, 2, columns, buckets + 1): of each bucket, those before it, those from it on
    rest: Ints  # (2, columns)
    side: Ints  # (buckets,)
    edges: Ints  # (buckets + 2,)
    gains: Floats  # (slots,): two for each column
    sides: Ints  # (slots, buckets)
    parts: Ints  # (slots,): parts that stay


def make_split_buffers(cells: int, sizes: Ints) -> SplitBuffers:
    """Allocate scratch for so many cells and columns of these sizes."""
    columns, values = len(sizes), int(sizes.max())
    most = min(values, cells) + 1
    whole = np.int64
    return SplitBuffers(
        np.zeros(cells, dtype=whole),
        np.zeros((columns, cells), dtype=np.uint16),
        np.zeros(cells, dtype=whole),
        np.zeros(cells, dtype=whole),
        np.zeros(cells, dtype=whole),
        np.zeros(cells, dtype=np.uint16),
        np.zeros((cells + 1, 2), dtype=whole),
        np.zeros(columns, dtype=whole),
        np.zeros(columns, dtype=whole),
        np.zeros(columns, dtype=whole),
        np.zeros(values, dtype=whole),
        np.zeros(values + 1, dtype=whole),  # one more: written before it is counted
        np.zeros(values, dtype=whole),
        np.zeros(most + 1, dtype=whole),
        np.zeros((3, 2, columns, most + 1), dtype=whole),
        np.zeros((2, columns), dtype=whole),
        np.zeros(most, dtype=whole),
        np.zeros(most + 2, dtype=whole),
        np.zeros(2 * columns),
        np.zeros((2 * columns, most), dtype=whole),
        np.zeros(2 * columns, dtype=whole),
    )


# -- its splits ------------------------------------------------------------------------------------


class _Terms(NamedTuple):
    """What a split must keep to."""

    columns: BoxColumns
    check: GroupCheck | None  # what a part must have besides enough rows
    price: float  # of a row that is trimmed


class _Choice(NamedTuple):
    """A node, and one of its columns that offers splits."""

    begin: int  # the node is ``order[begin:end]``
    end: int
    column: int
    number: int  # buckets of the column
    active: Ints  # columns in which losses are looked at …
    whole: float  # … and what the node loses there
    least: int  # rows that a group must have
    left: int  # rows that may be trimmed …
    price: float  # … and what each of them costs


@inlined
def _side_meets(
    check: GroupCheck | None, side: int, rows: int, choice: _Choice, buffers: SplitBuffers
) -> bool:
    """Do as `meets_bounds` for one side of a split; `spare` is free while a node is looked at."""
    if check is None:
        return True
    number, begin, end = int64(0), choice.begin, choice.end
    for i in range(begin, end):
        buffers.spare[begin + number] = buffers.order[i]
        number += int64(buffers.side[buffers.bucket[buffers.codes[choice.column, i]]] == side)
    return meets_bounds(check, rows, buffers.spare[begin:end], number)


@inlined
def _find_box(begin: int, end: int, buffers: SplitBuffers) -> tuple[int, int]:
    """Find the box of a node; return its rows, and the number of columns in which cells differ."""
    rows, number = _count_rows(begin, end, buffers), int64(0)
    for column in range(len(buffers.lows)):
        codes = buffers.codes[column, begin:end]
        low = high = codes[0]
        for value in codes:
            low = min(low, value)
            high = max(high, value)
        buffers.lows[column], buffers.highs[column] = low, high
        buffers.active[number] = column
        number += int64(low < high)
    return rows, number


@inlined
def _list_values(column: int, begin: int, end: int, buffers: SplitBuffers) -> int:
    """List the values that occur in a node, ascending, with their rows; return how many."""
    codes, rows, values = buffers.codes[column], buffers.value_rows, buffers.values
    low, high, number = buffers.lows[column], buffers.highs[column], int64(0)
    if high - low < 8 * (end - begin):
        for value in range(low, high + 1):
            rows[value] = 0
        for i in range(begin, end):
            rows[codes[i]] += buffers.counts[i]
        for value in range(low, high + 1):
            values[number] = value
            number += int64(rows[value] > 0)
        return number
    for i in range(begin, end):
        rows[codes[i]] = 0
    for i in range(begin, end):
        if rows[codes[i]] == 0:
            values[number] = codes[i]
            number += 1
        rows[codes[i]] += buffers.counts[i]
    sort_by(values, values, number)
    return number


@inlined
def _list_buckets(
    columns: BoxColumns, column: int, begin: int, end: int, buffers: SplitBuffers
) -> int:
    """Number the values of a column that occur in a node, or the children that they are in.

    Their rows are added up, and where each begins and ends in this column.
    """
    number = _list_values(column, begin, end, buffers)
    values, rows, tree = buffers.values, buffers.rows, columns.is_tree[column]
    lows, highs = buffers.boxes[0, 0, column], buffers.boxes[0, 1, column]
    bucket, parent, stop = int64(-1), int64(-1), int64(-1)
    if tree:
        parent = lowest_node(columns, column, buffers.lows[column], buffers.highs[column])
    rows[0] = 0
    for i in range(number):
        value = values[i]
        if value >= stop:
            bucket += 1
            stop = value + 1
            if tree:
                node = columns.leaf[columns.leaf_first[column] + value]
                while columns.parent[node] != parent:
                    node = columns.parent[node]
                stop = columns.stop[node]
            lows[bucket] = value
            rows[bucket + 1] = rows[bucket]
        highs[bucket] = value
        rows[bucket + 1] += buffers.value_rows[value]
        buffers.bucket[value] = bucket
    return bucket + 1


@inlined
def _fill_boxes(
    column: int, active: Ints, number: int, begin: int, end: int, buffers: SplitBuffers
) -> None:
    """Find the boxes of all buckets, of those before each, and of those from each on."""
    bucket_of, own = buffers.bucket, buffers.codes[column]
    for other in active:
        lows, highs = buffers.boxes[0, 0, other], buffers.boxes[0, 1, other]
        if other != column:
            codes = buffers.codes[other]
            for bucket in range(number):
                lows[bucket], highs[bucket] = 2**40, -1
            for i in range(begin, end):
                bucket, value = bucket_of[own[i]], int64(codes[i])
                lows[bucket] = min(lows[bucket], value)
                highs[bucket] = max(highs[bucket], value)
        before_low, before_high = buffers.boxes[1, 0, other], buffers.boxes[1, 1, other]
        after_low, after_high = buffers.boxes[2, 0, other], buffers.boxes[2, 1, other]
        before_low[0], before_high[0] = 2**40, -1
        after_low[number], after_high[number] = 2**40, -1
        for i in range(number):
            before_low[i + 1] = min(before_low[i], lows[i])
            before_high[i + 1] = max(before_high[i], highs[i])
            j = number - 1 - i
            after_low[j] = min(after_low[j + 1], lows[j])
            after_high[j] = max(after_high[j + 1], highs[j])


@inlined
def _loss(blocks: Ints, active: Ints, boxes: Ints, at: int) -> int:
    """Loss in some columns of one of many boxes."""
    loss = int64(0)
    for column in active:
        loss += block_loss(blocks, column, boxes[0, column, at], boxes[1, column, at])
    return loss


@inlined
def _keep_split(slot: int, gain: float, parts: int, number: int, buffers: SplitBuffers) -> None:
    """Remember the split that `side` describes."""
    buffers.gains[slot], buffers.parts[slot] = gain, parts
    for bucket in range(number):
        buffers.sides[slot, bucket] = buffers.side[bucket]


@inlined
def _rest_loss(blocks: Ints, active: Ints, at: int, boxes: Ints) -> int:
    """Loss in some columns of all buckets but one."""
    loss = int64(0)
    for column in active:
        low = min(boxes[1, 0, column, at], boxes[2, 0, column, at + 1])
        high = max(boxes[1, 1, column, at], boxes[2, 1, column, at + 1])
        loss += block_loss(blocks, column, low, high)
    return loss


@inlined
def _gain(
    whole: float,
    one: int,
    one_loss: int,
    one_stays: bool,
    other: int,
    other_loss: int,
    other_stays: bool,
    price: float,
) -> float:
    """What two parts of so many rows lose less than the whole node; a part that goes, its price."""
    gain = whole - one * (float(one_loss) if one_stays else price)
    return gain - other * (float(other_loss) if other_stays else price)


@inlined
def _try_halves(
    columns: BoxColumns, choice: _Choice, check: GroupCheck | None, buffers: SplitBuffers
) -> None:
    """Try two parts: in a tree each child against the rest, else what is before each value."""
    _, _, column, number, active, whole, least, left, price = choice
    slot, tree, boxes, rows = 2 * column, columns.is_tree[column], buffers.boxes, buffers.rows
    for at in range(0 if tree else 1, number):
        one = rows[at + 1] - rows[at] if tree else rows[at]
        other = rows[number] - one
        one_stays, other_stays = one >= least, other >= least
        if not (one_stays or other_stays):
            continue
        if not (one_stays and other_stays) and min(one, other) > left:
            continue
        if tree:
            one_loss = _loss(columns.blocks, active, boxes[0], at)
            other_loss = _rest_loss(columns.blocks, active, at, boxes)
        else:
            one_loss = _loss(columns.blocks, active, boxes[1], at)
            other_loss = _loss(columns.blocks, active, boxes[2], at)
        gain = _gain(whole, one, one_loss, one_stays, other, other_loss, other_stays, price)
        if gain <= buffers.gains[slot]:
            continue
        for bucket in range(number):
            first = bucket == at if tree else bucket < at
            buffers.side[bucket] = 0 if first else 1
        if check is not None:
            if one_stays:
                one_stays = _side_meets(check, int64(0), one, choice, buffers)
            if other_stays:
                other_stays = _side_meets(check, int64(1), other, choice, buffers)
            gone = (int64(0) if one_stays else one) + (int64(0) if other_stays else other)
            gain = _gain(whole, one, one_loss, one_stays, other, other_loss, other_stays, price)
            if gone == rows[number] or gone > left or gain <= buffers.gains[slot]:
                continue
        for bucket in range(number):
            if buffers.side[bucket] == 0 and not one_stays:
                buffers.side[bucket] = _TRIMMED
            elif buffers.side[bucket] == 1:
                buffers.side[bucket] = int64(one_stays) if other_stays else _TRIMMED
        _keep_split(slot, gain, int64(one_stays) + int64(other_stays), number, buffers)


@inlined
def _try_apart(
    columns: BoxColumns, choice: _Choice, check: GroupCheck | None, buffers: SplitBuffers
) -> None:
    """Try all children that may be groups apart, and the others together."""
    _, _, column, number, active, whole, least, left, price = choice
    if number < 3:  # two parts have been tried
        return
    gain, apart, together = whole, int64(0), buffers.rows[number]
    boxes, rest = buffers.boxes[0], buffers.rest
    for other in active:
        rest[0, other], rest[1, other] = 2**40, -1
    for bucket in range(number):  # or a bucket to come would be taken for a part of this one
        buffers.side[bucket] = number
    for bucket in range(number):
        buffers.side[bucket] = apart
        size = buffers.rows[bucket + 1] - buffers.rows[bucket]
        if size >= least and _side_meets(check, apart, size, choice, buffers):
            gain -= float(size) * _loss(columns.blocks, active, boxes, bucket)
            together -= size
            apart += 1
            continue
        buffers.side[bucket] = number  # until it is known how many stand apart
        for other in active:
            rest[0, other] = min(rest[0, other], boxes[0, other, bucket])
            rest[1, other] = max(rest[1, other], boxes[1, other, bucket])
    if apart == 0:
        return
    parts = apart
    if together > 0:
        stays = together >= least and _side_meets(check, number, together, choice, buffers)
        if stays:
            for other in active:
                loss = block_loss(columns.blocks, other, rest[0, other], rest[1, other])
                gain -= float(together) * loss
            parts += 1
        elif together > left:
            return
        else:
            gain -= together * price
        for bucket in range(number):
            if buffers.side[bucket] == number:
                buffers.side[bucket] = apart if stays else _TRIMMED
    if gain > buffers.gains[2 * column + 1]:
        _keep_split(2 * column + 1, gain, parts, number, buffers)


@inner
def _list_splits(
    terms: _Terms,
    begin: int,
    end: int,
    rows: int,
    loss: int,
    active: Ints,
    least: int,
    left: int,
    quick: bool,
    buffers: SplitBuffers,
) -> int:
    """Find the best splits of a node, slot by slot; return the slot with the largest gain, or -1.

    A quick look sees what a split gains in its own column only, as if the others stayed as wide.
    """
    columns, check, price = terms
    best = int64(-1)
    for slot in range(len(buffers.gains)):
        buffers.gains[slot] = 0.0
    for i in range(len(active)):
        column, seen, seen_loss, seen_price = active[i], active, loss, price
        number = _list_buckets(columns, column, begin, end, buffers)
        if quick:
            seen = active[i : i + 1]
            lowest, highest = buffers.lows[column], buffers.highs[column]
            seen_loss = block_loss(columns.blocks, column, lowest, highest)
            seen_price = price - (loss - seen_loss)
        _fill_boxes(column, seen, number, begin, end, buffers)
        whole = float(rows) * seen_loss
        choice = _Choice(begin, end, column, number, seen, whole, least, left, seen_price)
        _try_halves(columns, choice, check, buffers)
        if columns.is_tree[column]:
            _try_apart(columns, choice, check, buffers)
        for slot in range(2 * column, 2 * column + 2):
            if buffers.gains[slot] > 0 and (best < 0 or buffers.gains[slot] > buffers.gains[best]):
                best = slot
    return best


# -- its parts -------------------------------------------------------------------------------------


@inner
def _part_node(
    columns: BoxColumns, slot: int, active: Ints, begin: int, end: int, buffers: SplitBuffers
) -> None:
    """Sort the cells of a node by their side of a split; part i ends at ``edges[i + 1]``.

    What is trimmed stands behind the last part.
    """
    column, parts, edges = slot // 2, buffers.parts[slot], buffers.edges
    side_of, spare = buffers.side_of, buffers.spare
    _list_buckets(columns, column, begin, end, buffers)
    for side in range(parts + 2):
        edges[side] = 0
    for i in range(begin, end):
        side = buffers.sides[slot, buffers.bucket[buffers.codes[column, i]]]
        side_of[i] = parts if side < 0 else side
        edges[side_of[i] + 1] += 1
    edges[0] = begin
    for side in range(parts + 1):
        edges[side + 1] += edges[side]
    for i in range(begin, end):  # from here on the place that each cell goes to
        side = side_of[i]
        side_of[i] = edges[side]
        edges[side] += 1
    for side in range(parts + 1, 0, -1):  # each edge has moved to the next one
        edges[side] = edges[side - 1]
    edges[0] = begin
    _move(buffers.order, side_of, spare, begin, end)
    _move(buffers.counts, side_of, spare, begin, end)
    for other in active:  # the others are the same everywhere
        codes, kept = buffers.codes[other], buffers.kept
        for i in range(begin, end):
            kept[side_of[i]] = codes[i]
        for i in range(begin, end):
            codes[i] = kept[i]


@inlined
def _move(items: Ints, place: Ints, spare: Ints, begin: int, end: int) -> None:
    for i in range(begin, end):
        spare[place[i]] = items[i]
    for i in range(begin, end):
        items[i] = spare[i]


@inlined
def _count_rows(begin: int, end: int, buffers: SplitBuffers) -> int:
    """Rows of the cells ``order[begin:end]``."""
    rows = int64(0)
    for i in range(begin, end):
        rows += buffers.counts[i]
    return rows


@inlined
def _copy_cells(begin: int, end: int, buffers: SplitBuffers, to: SplitBuffers) -> None:
    """Copy the cells ``order[begin:end]`` to the same place of other buffers."""
    for i in range(begin, end):
        to.order[i], to.counts[i] = buffers.order[i], buffers.counts[i]
    for column in range(len(buffers.codes)):
        for i in range(begin, end):
            to.codes[column, i] = buffers.codes[column, i]


# -- node by node ----------------------------------------------------------------------------------


@inner
def _split_greedily(
    terms: _Terms, begin: int, end: int, least: int, left: int, most: float, buffers: SplitBuffers
) -> float:
    """Split the cells ``order[begin:end]`` to the end; return the loss, or infinity beyond `most`.

    A row that is trimmed loses the price.
    """
    columns, _, price = terms
    total, stack, height = 0.0, buffers.stack, int64(1)
    stack[0, 0], stack[0, 1] = begin, end
    while height > 0:
        height -= 1
        first, last = stack[height, 0], stack[height, 1]
        rows, number = _find_box(first, last, buffers)
        loss, slot = box_loss(columns.blocks, buffers.lows, buffers.highs), int64(-1)
        if loss > 0 and rows >= 2 * least:
            active = buffers.active[:number]
            slot = _list_splits(
                terms, first, last, rows, loss, active, least, left, bool_(True), buffers
            )
        if slot < 0:
            total += float(rows) * loss
            if total > most:
                return inf
            continue
        _part_node(columns, slot, buffers.active[:number], first, last, buffers)
        parts = buffers.parts[slot]
        trimmed = _count_rows(buffers.edges[parts], last, buffers)
        left -= trimmed
        total += trimmed * price
        for part in range(parts):
            stack[height, 0], stack[height, 1] = buffers.edges[part], buffers.edges[part + 1]
            height += 1
    return total


@inner
def _look_ahead(
    terms: _Terms,
    begin: int,
    end: int,
    number: int,
    coarse: int,
    left: int,
    tries: int,
    buffers: SplitBuffers,
    ahead: SplitBuffers,
) -> int:
    """Try the splits of largest gain, down to groups of `coarse` rows; return the best slot."""
    best, best_total = int64(-1), inf
    for _ in range(tries):
        slot, gain = int64(-1), 0.0
        for other in range(len(buffers.gains)):
            if buffers.gains[other] > gain:
                slot, gain = other, buffers.gains[other]
        if slot < 0:
            break
        buffers.gains[slot] = 0.0
        _part_node(terms.columns, slot, buffers.active[:number], begin, end, buffers)
        parts = buffers.parts[slot]
        trimmed = _count_rows(buffers.edges[parts], end, buffers)
        total = trimmed * terms.price
        _copy_cells(begin, end, buffers, ahead)
        for part in range(parts):
            first, last, most = buffers.edges[part], buffers.edges[part + 1], best_total - total
            total += _split_greedily(terms, first, last, coarse, left - trimmed, most, ahead)
            if total >= best_total:
                break
        if total < best_total:
            best, best_total = slot, total
    return best


@inner
def _begin(codes: Codes, counts: Ints, starts: int, group: Ints, buffers: SplitBuffers) -> int:
    """Sort cells by the groups to begin with, which are put on the stack; return their number.

    The last group is on top of the stack: it is split first.
    """
    place, stack = buffers.side_of, buffers.stack
    for at in range(starts):
        stack[at, 1] = 0
    for cell in range(len(counts)):
        if group[cell] >= 0:
            stack[group[cell], 1] += 1
    end = int64(0)
    for at in range(starts):
        stack[at, 0] = end
        end += stack[at, 1]
        stack[at, 1] = stack[at, 0]
    for cell in range(len(counts)):
        if group[cell] >= 0:
            i = stack[group[cell], 1]
            stack[group[cell], 1] += 1
            buffers.order[i], buffers.counts[i] = cell, counts[cell]
            place[cell] = i
    for column in range(len(codes)):
        for cell in range(len(counts)):
            if group[cell] >= 0:
                buffers.codes[column, place[cell]] = codes[column, cell]
    return starts


@compiled
def split_cells(
    columns: BoxColumns,
    codes: Codes,
    counts: Ints,
    least: int,
    limit: int,
    check: GroupCheck | None,
    price: float,
    tries: int,
    horizon: int,
    starts: int,
    buffers: SplitBuffers,
    ahead: SplitBuffers,
    group: Ints,
) -> tuple[int, int]:
    """Split groups; return the number of groups, and the rows that are suppressed.

    A group must have `least` rows, and what else `check` says; `limit` rows may be suppressed, and
    each costs the `price`. Of a node, so many splits are followed as `tries` says (1: the greedy
    way) until groups have the rows of the node over the `horizon`, if not to the end. `group` is
    the group of each cell, -1 where it is suppressed: at first one of so many `starts`, each of
    which may be a group, at the end that of the result. There are two buffers, because looking
    ahead must not disturb what is looked at.
    """
    terms, stack = _Terms(columns, check, price), buffers.stack
    groups, suppressed = int64(0), int64(0)
    height = _begin(codes, counts, starts, group, buffers)
    for cell in range(len(counts)):
        suppressed += counts[cell] if group[cell] < 0 else 0
    while height > 0:
        height -= 1
        begin, end = stack[height, 0], stack[height, 1]
        rows, number = _find_box(begin, end, buffers)
        loss, slot = box_loss(columns.blocks, buffers.lows, buffers.highs), int64(-1)
        left = limit - suppressed
        # Trimming takes a row at least; its price must be less than all that the node can gain.
        can_trim = left > 0 and rows > least and float(rows) * loss > price
        if loss > 0 and (rows >= 2 * least or can_trim):
            active = buffers.active[:number]
            slot = _list_splits(
                terms, begin, end, rows, loss, active, least, left, bool_(False), buffers
            )
        if slot >= 0 and tries > 1 and rows >= 2 * least:
            coarse = max(least, rows // horizon)
            slot = _look_ahead(terms, begin, end, number, coarse, left, tries, buffers, ahead)
        if slot < 0:
            for i in range(begin, end):
                group[buffers.order[i]] = groups
            groups += 1
            continue
        _part_node(columns, slot, buffers.active[:number], begin, end, buffers)
        parts = buffers.parts[slot]
        suppressed += _count_rows(buffers.edges[parts], end, buffers)
        for i in range(buffers.edges[parts], end):
            group[buffers.order[i]] = -1
        for part in range(parts):
            stack[height, 0], stack[height, 1] = buffers.edges[part], buffers.edges[part + 1]
            height += 1
    return groups, suppressed
