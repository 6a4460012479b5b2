"""What kernels must know of a table beside its cells: what is lost, and how far values are apart.

A cell in a block of its column costs something, by the loss metrics of M §3. There are five costs,
each a sum over the cells of a row (see `moanon.kernels.costs.COSTS`):

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
  recoding, so it is added up once, over the table (``Prices.least``).

A cell of a suppressed row counts as fully generalized; it costs its whole share even where a column
has a single base value, as in D's suppression loss (eq. 5). Costs are integers over a unit, so that
their sums are exact; rounding is off by at most half a unit for each cell, less than 1e-12 of a row
up to a million rows.

t-closeness compares the values in a group with those in the whole table, and needs to know what it
costs to turn one value into another (Li, Li and Venkatasubramanian, *t-Closeness*, ICDE 2007, §5).
A column that says nothing about its values has the *equal* distance: 1 between any two. One with an
order, or numbers in steps, has the *ordered* distance: the number of places between two values over
the largest possible one. One with a hierarchy has the distance of the *tree*: the height of the
lowest node that holds both, over the height of the root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log
from typing import Literal

import numpy as np

from moanon.arrays import Floats, Ints
from moanon.data.cells import Cells, SensitiveCounts
from moanon.data.domain import MISSING, Domain, IntervalDomain, TreeDomain
from moanon.errors import ConfigError
from moanon.kernels.costs import COSTS, Prices, log_rows
from moanon.kernels.histograms import EQUAL, ORDERED, TREE, HistogramColumn, count_logs, log_unit
from moanon.kernels.join import block_keys, starts_of

Distance = Literal["equal", "ordered", "tree"]

#: Sums over a table stay below this.
_MOST = 2**61
_NO_LEVELS = np.zeros((0, 0), dtype=np.int64)


def price_cells(
    domains: Mapping[str, Domain], cells: Cells, weights: Mapping[str, float]
) -> Prices:
    """Price the blocks of all quasi-identifiers; a column without a weight has 1."""
    rows, columns = cells.rows, list(domains.values())
    shares = column_shares(domains, weights)
    unit = _MOST // rows
    keys, values = zip(*(block_keys(domain.spans) for domain in columns), strict=True)
    by_key = [
        np.rint(share * unit * np.stack([_loss(domain, each), _certainty(domain, each)]))
        for domain, share, each in zip(columns, shares, values, strict=True)
    ]
    levels = _levels(columns, unit)
    counts = [
        np.bincount(code, weights=cells.counts, minlength=domain.size).astype(np.int64)
        for code, domain in zip(cells.codes, columns, strict=True)
    ]
    logs_in = log_unit(rows)
    most_nats = sum(log(max(domain.size, 2)) for domain in columns)
    rows_in = float(_MOST // ceil(rows * len(columns) * log(max(rows, 2))))
    prices = Prices(
        offset=np.concatenate(
            ([0], np.cumsum([domain.size - 1 for domain in columns[:-1]]))
        ).astype(np.int64),
        start=starts_of(keys)[:-1],
        keys=np.concatenate(keys),
        by_key_start=starts_of(values)[:-1],
        by_key=np.concatenate(by_key, axis=1).astype(np.int64),
        level_start=levels[0],
        level_stop=levels[1],
        level=levels[2],
        below=_running(counts),
        logs=_running([count_logs(c, logs_in) for c in counts]),
        log_unit=logs_in,
        entropy_unit=float(_MOST // max(1, int(np.ceil(rows * most_nats)))),
        rows_unit=rows_in,
        full=np.zeros(len(COSTS), dtype=np.int64),
        least=np.zeros(len(COSTS), dtype=np.int64),
    )
    trees = sum(isinstance(domain, TreeDomain) for domain in columns)
    prices.full[:2] = np.rint(shares * unit).astype(np.int64).sum()
    prices.full[2] = trees * (unit // trees) if trees else 0
    prices.full[3] = sum(_entropy_cost(c, logs_in, prices.entropy_unit) for c in counts)
    prices.full[4] = len(columns) * int(log_rows(np.array([rows]), rows_in)[0])
    prices.least[4] = sum(int((c * log_rows(c, rows_in)).sum()) for c in counts)
    return prices


def column_shares(domains: Mapping[str, Domain], weights: Mapping[str, float]) -> Floats:
    """Weights of all columns over their sum; refuses what is none."""
    for name, weight in weights.items():
        if name not in domains:
            raise ConfigError(f"column {name!r} has a weight but is not a quasi-identifier")
        if not (weight >= 0 and np.isfinite(weight)):
            raise ConfigError(f"the weight of column {name!r} must be at least 0. Got {weight}")
    given = np.array([weights.get(name, 1.0) for name in domains], dtype=np.float64)
    if not given.max() > 0:
        raise ConfigError("the weights of the quasi-identifiers must not all be 0")
    given = np.ldexp(given, -np.frexp(given.max())[1])  # the sum of huge ones would be infinite
    return np.asarray(given / given.sum())


def _loss(domain: Domain, values: Ints) -> Floats:
    return np.maximum(values - 1, 0) / max(1, domain.values - 1)


def _certainty(domain: Domain, values: Ints) -> Floats:
    if isinstance(domain, IntervalDomain):
        return _loss(domain, values)
    return np.where(values > 1, values / domain.values, 0.0)


def _levels(columns: Sequence[Domain], unit: int) -> tuple[Ints, Ints, Ints]:
    """Tree nodes by the place where they begin: where they end, and what they cost."""
    trees = sum(isinstance(domain, TreeDomain) for domain in columns)
    starts, stops, costs = [0], [], []
    for domain in columns:
        at_place: list[list[tuple[int, int]]] = [[] for _ in range(domain.size + 1)]
        if isinstance(domain, TreeDomain):
            tree = domain.hierarchy
            height = max(1, int(tree.heights[0]))
            for first, stop, level in zip(tree.starts, tree.stops, tree.heights, strict=True):
                at_place[first].append((stop, int(level) * (unit // trees) // height))
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


# -- distances of sensitive values -----------------------------------------------------------------


def distance_of(domain: Domain | None) -> Distance:
    """Name the ground distance that a sensitive column's domain stands for."""
    if domain is None:
        return "equal"
    return "tree" if isinstance(domain, TreeDomain) else "ordered"


def histogram_column(
    counts: SensitiveCounts, domain: Domain | None
) -> tuple[HistogramColumn, Ints]:
    """Do as `place_values`, with values as far apart as their domain says."""
    if domain is None:
        labels = len(counts.labels)
        return place_values(counts, EQUAL, np.arange(labels), labels)
    places = domain.find(counts.labels)
    if domain.has_missing and MISSING in counts.labels:
        places[counts.labels.index(MISSING)] = domain.size - 1
    if not isinstance(domain, TreeDomain):
        return place_values(counts, ORDERED, places, domain.size)
    return place_values(counts, TREE, places, domain.size, domain.hierarchy.node_starts[:-1])


def place_values(
    counts: SensitiveCounts, distance: int, places: Ints, size: int, levels: Ints = _NO_LEVELS
) -> tuple[HistogramColumn, Ints]:
    """Lay a column out for kernels, given the distance and the place of each label among `size`.

    Also returns the number that each label has there: labels in the order of their places.
    """
    labels = len(counts.labels)
    total = np.zeros(labels, dtype=np.int64)
    np.add.at(total, counts.values, counts.counts)
    order = np.argsort(places, kind="stable")
    number = np.empty(labels, dtype=np.int64)
    number[order] = np.arange(labels)
    return HistogramColumn(total[order], distance, places[order], size, levels), number
