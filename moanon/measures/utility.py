"""What a release no longer tells of large populations: utility loss (L §4.2).

Privacy is about individuals, and is judged by the one who is worst off; utility is about what can
be learnt of many, and adds up. So L looks at all *large populations* (`moanon.data.populations`):
how far is what a release tells of their sensitive values from the truth?

What it tells is estimated as L does: every base value in the block of a group is equally likely,
and so is every sensitive value of the group to any of its rows. Where a release shows
quasi-identifiers as they are and permutes sensitive values in buckets (*bucketization*), it is
known who is in a population, and each row has the distribution of its bucket. Of a population that
has no row in the release, the distribution of all released rows is taken.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from moanon.arrays import Floats, Ints, Values
from moanon.measures.measure import between, measure

if TYPE_CHECKING:  # what is true of a measure is known without the compiler
    from moanon.data.populations import ShownParts
    from moanon.grouping import Grouping
    from moanon.measures.scores import Scores


@measure(
    "min",
    between(0, "ln 2"),
    "nats",
    "mean Jensen-Shannon divergence of what the release tells of large populations from the truth",
    "L §4.2 (U_loss); natural logarithm",
    most=lambda instance: log(2),
    precision="logarithm",
    requires="populations",
    reads_labels=True,
    reads_groups=True,
)
def u_loss(scores: Scores) -> Values:
    """``1/|Y| Σ_y JS(P_y, R_y)`` over all large populations y (L §4.2), of the worst column.

    P_y is the distribution of a sensitive column in y, R_y the one that the kept groups tell: the
    sum over groups of their sensitive values times, over the quasi-identifiers, the share of the
    group's block that lies in y. 0 where nothing was generalized.
    """
    return np.array([max(utility_losses(each).values()) for each in scores.each_grouping()])


def utility_losses(grouping: Grouping, *, bucketized: bool = False) -> dict[str, float]:
    """Utility loss of a grouping for each sensitive column.

    Parameters
    ----------
    grouping : Grouping
        Of a table whose `population_rule` says which populations count.
    bucketized : bool
        Whether quasi-identifiers are released as they are, and groups are buckets; otherwise
        groups show their blocks.
    """
    from moanon.kernels.large_populations import population_divergences

    found = {}
    populations, released = grouping.instance.populations, grouping.released()
    for column in grouping.instance.table.sensitive:
        truth = populations.truth[column]
        if not len(released):
            found[column] = log(2)
            continue
        parts = shown_parts(released, column, bucketized=bucketized)
        divergences = np.empty(len(populations))
        estimate = populations.estimate(parts)
        population_divergences(truth, estimate, parts.histograms.sum(), divergences)
        found[column] = float(divergences.mean())
    return found


def shown_parts(released: Grouping, column: str, *, bucketized: bool) -> ShownParts:
    """A release as parts in boxes; its groups own them, with their values of a sensitive column.

    Generalized, every group is a part, in its box; bucketized, every cell of a bucket, which brings
    its share of the bucket's values.
    """
    from moanon.data.populations import Histograms, ShownParts

    instance, groups = released.instance, len(released)
    place = instance.table.sensitive.index(column)
    counts = instance.cells.sensitive[place]
    owner, value, times = released.values_of(counts)
    histograms = Histograms.count(
        owner.astype(np.int64), value.astype(np.int64), times, groups, len(counts.labels)
    )
    if bucketized:
        group, cell, rows = _members(released)
        codes = instance.cells.codes[:, cell].astype(np.int64)
        return ShownParts(codes, codes + 1, rows / released.sizes[group], group, histograms, cell)
    assert released.starts is not None
    assert released.stops is not None
    everything = np.arange(groups)
    starts, stops = released.starts.astype(np.int64), released.stops.astype(np.int64)
    return ShownParts(starts, stops, np.ones(groups), everything, histograms)


def _members(released: Grouping) -> tuple[Ints, Ints, Floats]:
    """Group, cell and rows of all cells that are released, wholly or in part."""
    cells = len(released.instance.cells)
    group, cell, times = released.members()
    if released.cell_group is not None:
        return group, cell, times.astype(np.float64)
    pairs, place = np.unique(group * cells + cell, return_inverse=True)
    rows = np.zeros(len(pairs))
    np.add.at(rows, place, times)
    return pairs // cells, pairs % cells, rows
