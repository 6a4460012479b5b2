"""Large subpopulations: found among the cells of a table, and estimated from a release of it.

A *subpopulation* is a conjunction of at most one *node* per column: a run of base values, such as
one value, a node of a tree or a range of steps. All those of enough rows make a tree: one without
its last column is a larger one. They are listed as that tree is walked, depth first; so its last
node and its depth identify each, and whatever is summed over one needs only what is left of the one
above it.

Nodes are numbered through, column by column.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from moanon.arrays import Bools, Codes, Floats, Ints
from moanon.kernels.jit import compiled, inner, int64


class BoxParts(NamedTuple):
    """Parts of a table, each spread evenly over the base values of its box, as a release shows it.

    A part brings its weight times the values of its owner.
    """

    starts: Ints  # (columns, parts): their boxes are base values ``start .. stop - 1``
    stops: Ints
    weight: Floats  # (parts,)
    owner: Ints  # (parts,)
    value_starts: Ints  # (owners + 1,): where the values of each owner begin …
    values: Ints  # … in these: which they are …
    value_rows: Floats  # … and how often


@inner
def _count_nodes(
    codes: Codes,
    counts: Ints,
    cells: Ints,
    begin: int,
    nodes: Ints,
    rows_below: Ints,
    support: Ints,
) -> None:
    """Rows of some cells in each node, from node `begin` on, which is the first of its column."""
    node = begin
    while node < nodes.shape[1]:
        column = nodes[0, node]
        rows_below[:] = 0
        for cell in cells:
            rows_below[int64(codes[column, cell]) + 1] += counts[cell]
        for i in range(1, len(rows_below)):
            rows_below[i] += rows_below[i - 1]
        while node < nodes.shape[1] and nodes[0, node] == column:
            support[node] = rows_below[nodes[2, node]] - rows_below[nodes[1, node]]
            node += 1


@compiled
def find_populations(
    codes: Codes, counts: Ints, widest: int, nodes: Ints, least: int, most: int
) -> Ints:
    """List all subpopulations of at least `least` rows; of more than `most`, one more than that.

    Cells have base values ``codes[column, cell]`` and `counts` rows; the `widest` column has so
    many base values. Nodes (3, nodes) are a column, the first base value, and the one after the
    last, in the order of their columns. The result (3, subpopulations) is the last node of each,
    its depth (0 with a single node) and its rows.
    """
    columns, all_cells = codes.shape
    number_of_nodes = nodes.shape[1]
    first_node = np.zeros(columns + 1, dtype=np.int64)
    for column in nodes[0]:
        first_node[column + 1] += 1
    for column in range(columns):
        first_node[column + 1] += first_node[column]
    rows_below = np.zeros(widest + 1, dtype=np.int64)
    cells = np.empty((columns, all_cells), dtype=np.int64)  # of the subpopulation at each depth
    number = np.zeros(columns, dtype=np.int64)
    support = np.zeros((columns, number_of_nodes), dtype=np.int64)
    cursor = np.zeros(columns, dtype=np.int64)
    found = np.empty((3, 1024), dtype=np.int64)
    total, depth = int64(0), int64(0)
    for cell in range(all_cells):
        cells[0, cell] = cell
    number[0] = all_cells
    _count_nodes(codes, counts, cells[0], int64(0), nodes, rows_below, support[0])
    while depth >= 0 and total <= most:
        node = cursor[depth]
        if node == number_of_nodes:
            depth -= 1
            continue
        cursor[depth] += 1
        if support[depth, node] < least:
            continue
        if total == found.shape[1]:
            more = np.empty((3, 2 * total), dtype=np.int64)
            for i in range(3):
                for population in range(total):
                    more[i, population] = found[i, population]
            found = more
        found[0, total], found[1, total], found[2, total] = node, depth, support[depth, node]
        total += 1
        column = nodes[0, node]
        after = first_node[column + 1]
        if after == number_of_nodes:
            continue
        inside = int64(0)
        for cell in cells[depth, : number[depth]]:
            if nodes[1, node] <= codes[column, cell] < nodes[2, node]:
                cells[depth + 1, inside] = cell
                inside += 1
        depth += 1
        number[depth], cursor[depth] = inside, after
        here = cells[depth, :inside]
        _count_nodes(codes, counts, here, after, nodes, rows_below, support[depth])
    return found[:, :total].copy()


@compiled
def estimate_populations(
    nodes: Ints, last_node: Ints, depth: Ints, parts: BoxParts, out: Floats
) -> None:
    """Estimate how many rows of each subpopulation have each value.

    It gets of each part the share of its box that lies inside. Nodes, last nodes and depths are as
    of `find_populations`; the result is an array (subpopulations, values).
    """
    starts, stops, weight, owner, value_starts, values, value_rows = parts
    columns, all_parts = starts.shape
    owners = len(value_starts) - 1
    part = np.empty((columns + 1, all_parts), dtype=np.int64)
    left = np.empty((columns + 1, all_parts), dtype=np.float64)
    number = np.zeros(columns + 1, dtype=np.int64)
    share = np.zeros(owners, dtype=np.float64)
    touched = np.empty(owners, dtype=np.int64)
    for i in range(all_parts):
        part[0, i], left[0, i] = i, weight[i]
    number[0] = all_parts
    for population in range(len(last_node)):
        node, level = last_node[population], depth[population]
        column, low, high = nodes[0, node], nodes[1, node], nodes[2, node]
        inside = int64(0)
        seen = int64(0)
        for i in range(number[level]):
            which = part[level, i]
            start, stop = starts[column, which], stops[column, which]
            common = min(stop, high) - max(start, low)
            if common <= 0:
                continue
            here = left[level, i]
            if common < stop - start:
                here *= common / (stop - start)
            part[level + 1, inside] = which
            left[level + 1, inside] = here
            inside += 1
            mine = owner[which]
            if share[mine] == 0.0:
                touched[seen] = mine
                seen += 1
            share[mine] += here
        number[level + 1] = inside
        row = out[population]
        for i in range(seen):
            mine = touched[i]
            for at in range(value_starts[mine], value_starts[mine + 1]):
                row[values[at]] += share[mine] * value_rows[at]
            share[mine] = 0.0


@compiled
def population_divergences(truth: Floats, estimate: Floats, fallback: Floats, out: Floats) -> None:
    """Jensen-Shannon divergence of each estimated distribution from the true one, in nats.

    ``½ [KL(P, M) + KL(R, M)]``, M the mean of P and R. Where nothing is estimated, `fallback` is
    taken. Arrays (subpopulations, values) of rows, in any unit.
    """
    for population in range(len(truth)):
        row = estimate[population]
        of_truth = truth[population].sum()
        of_estimate = row.sum()
        if of_estimate <= 0.0:
            row = fallback
            of_estimate = row.sum()
        found = 0.0
        for value in range(truth.shape[1]):
            p = truth[population, value] / of_truth
            r = row[value] / of_estimate
            if p > 0.0:
                found += p * log(2 * p / (p + r))
            if r > 0.0:
                found += r * log(2 * r / (p + r))
        out[population] = max(0.0, found / 2)


@compiled
def estimate_counts(
    columns: Ints, below: Ints, wanted: Bools, parts: BoxParts, out: Floats
) -> None:
    """Estimate how many rows some queries count.

    A query names base values of some `columns` (queries, dimensions): ``below[query, i, v]`` of the
    first v ones; and `wanted` sensitive values (queries, values). It gets of each part the share of
    its box that it names.
    """
    starts, stops, weight, owner, value_starts, values, value_rows = parts
    for query in range(len(columns)):
        total = 0.0
        for part in range(len(weight)):
            here = weight[part]
            for i in range(columns.shape[1]):
                start, stop = starts[columns[query, i], part], stops[columns[query, i], part]
                named = below[query, i, stop] - below[query, i, start]
                if named == 0:
                    here = 0.0
                    break
                if named < stop - start:
                    here *= named / (stop - start)
            if here == 0.0:
                continue
            rows = 0.0
            for at in range(value_starts[owner[part]], value_starts[owner[part] + 1]):
                if wanted[query, values[at]]:
                    rows += value_rows[at]
            total += here * rows
        out[query] = total


@compiled
def match_cells(columns: Ints, below: Ints, codes: Codes, most: int) -> tuple[Ints, Ints]:
    """List the cells whose base values each query names: where those of each begin, and the cells.

    Queries are as of `estimate_counts`. If there are more than `most` cells in all, none are
    listed.
    """
    starts = np.zeros(len(columns) + 1, dtype=np.int64)
    found = np.empty(1024, dtype=np.int64)
    total = int64(0)
    for query in range(len(columns)):
        for cell in range(codes.shape[1]):
            named = True
            for i in range(columns.shape[1]):
                code = int64(codes[columns[query, i], cell])
                if below[query, i, code + 1] == below[query, i, code]:
                    named = False
                    break
            if not named:
                continue
            if total == most:
                return np.zeros(len(columns) + 1, dtype=np.int64), found[:0].copy()
            if total == len(found):
                more = np.empty(2 * total, dtype=np.int64)
                for i in range(total):
                    more[i] = found[i]
                found = more
            found[total] = cell
            total += 1
        starts[query + 1] = total
    return starts, found[:total].copy()


@compiled
def count_matches(
    match_starts: Ints,
    matches: Ints,
    wanted: Bools,
    part_starts: Ints,
    parts: BoxParts,
    out: Floats,
) -> None:
    """Estimate how many rows some queries count of parts that are single cells.

    As `estimate_counts`, which would look at every cell for every release. Matches are those of
    `match_cells`; the parts of each cell stand together and begin at `part_starts` (cells + 1,).
    """
    _, _, weight, owner, value_starts, values, value_rows = parts
    owners = len(value_starts) - 1
    asked = np.full(owners, -1, dtype=np.int64)  # the last query that wanted rows of an owner
    rows = np.zeros(owners, dtype=np.float64)
    for query in range(len(match_starts) - 1):
        total = 0.0
        for cell in matches[match_starts[query] : match_starts[query + 1]]:
            for part in range(part_starts[cell], part_starts[cell + 1]):
                mine = owner[part]
                if asked[mine] != query:
                    asked[mine] = query
                    rows[mine] = 0.0
                    for at in range(value_starts[mine], value_starts[mine + 1]):
                        if wanted[query, values[at]]:
                            rows[mine] += value_rows[at]
                total += weight[part] * rows[mine]
        out[query] = total
