"""How far apart the values of a sensitive column are.

t-closeness compares the values in a group with those in the whole table, and needs to know what it
costs to turn one value into another (Li, Li and Venkatasubramanian, *t-Closeness*, ICDE 2007, §5).
A column that says nothing about its values has the *equal* distance: 1 between any two. One with an
order, or numbers in steps, has the *ordered* distance: the number of places between two values over
the largest possible one. One with a hierarchy has the distance of the *tree*: the height of the
lowest node that holds both, over the height of the root.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from moanon.data.cells import SensitiveCounts
from moanon.data.domain import MISSING, Domain, TreeDomain
from moanon.kernels.histograms import EQUAL, ORDERED, TREE, HistogramColumn

__all__ = ["Distance", "distance_of", "histogram_column", "place_values"]

Ints = npt.NDArray[np.int64]
Distance = Literal["equal", "ordered", "tree"]

_NO_LEVELS = np.zeros((0, 0), dtype=np.int64)


def distance_of(domain: Domain | None) -> Distance:
    """Name the ground distance that a sensitive column's domain stands for."""
    if domain is None:
        return "equal"
    return "tree" if isinstance(domain, TreeDomain) else "ordered"


def histogram_column(
    counts: SensitiveCounts, domain: Domain | None
) -> tuple[HistogramColumn, Ints]:
    """Lay a column out for kernels, its values as far apart as its domain says.

    Returns what `place_values` does.
    """
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
    """Lay a column out for kernels.

    Parameters
    ----------
    counts : SensitiveCounts
    distance : int
        `EQUAL`, `ORDERED` or `TREE`.
    places : array (labels,)
        Place of each label.
    size : int
        Number of places.
    levels : array (height, places), optional
        Of a tree; see `HistogramColumn`.

    Returns
    -------
    column : HistogramColumn
    number : array (labels,)
        The number that each label has there: labels in the order of their places.
    """
    labels = len(counts.labels)
    total = np.zeros(labels, dtype=np.int64)
    np.add.at(total, counts.values, counts.counts)
    order = np.argsort(places, kind="stable")
    number = np.empty(labels, dtype=np.int64)
    number[order] = np.arange(labels)
    return HistogramColumn(total[order], distance, places[order], size, levels), number
