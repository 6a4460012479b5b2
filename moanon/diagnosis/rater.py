"""What groups of rows reveal about their sensitive values: groups of cells in, strengths out.

The loops are those that measure groups everywhere else (`moanon.kernels.diversity`); here groups
are lists of cells, and one model is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.data.cells import SensitiveCounts, count_values
from moanon.data.column import Column
from moanon.data.distances import place_values
from moanon.data.hierarchy import Hierarchy
from moanon.data.steps import Scale
from moanon.diagnosis.models import RULES, Model
from moanon.errors import DataError, QuestionError
from moanon.kernels.diversity import MODELS, measure_models
from moanon.kernels.histograms import (
    EQUAL,
    ORDERED,
    TREE,
    HistogramColumn,
    Lists,
    Plan,
    make_lists,
    make_plan,
    merge_lists,
    sort_values,
)

__all__ = ["Rater"]

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]

_NO_MISTAKES = np.zeros(0, dtype=np.int64)  # there are no class labels


class _Listed(NamedTuple):
    """The values of one sensitive column in each cell (compressed rows), and what is known of them.

    Values are numbered by their places.
    """

    plan: Plan
    starts: Words
    values: Words
    counts: Words
    slot: Words  # scratch: per value
    lists: Lists  # of groups


class Rater:
    """The sensitive columns of a table under one model.

    Parameters
    ----------
    sensitive : sequence of Column
        The columns, row by row; a group is as strong as its worst one.
    row_cell : array (rows,)
        The cell of each row.
    cells : int
        Number of cells.
    model : Model
        Any but k-anonymity.
    """

    def __init__(
        self, sensitive: Sequence[Column], row_cell: Ints, cells: int, model: Model
    ) -> None:
        if not sensitive:
            raise QuestionError(
                f"{model.symbol} needs a sensitive column: name one, or ask about k"
            )
        self._model, self._c = model, model.c_fraction
        name = RULES[model.rule][1]
        self._need = np.array([each == name for each in MODELS])
        self._columns = [_list_values(column, row_cell, cells, model) for column in sensitive]
        self._goodness = np.zeros((len(MODELS), cells))

    def rate(self, cells: Words, group_of: Words, sizes: Words) -> Floats:
        """Strength of each group.

        Parameters
        ----------
        cells, group_of : arrays
            Cells, listed group by group, and the number of each one's group.
        sizes : array (groups,)
            Rows of each group.
        """
        groups = len(sizes)
        first = np.zeros(groups + 1, dtype=np.uint32)
        first[1:groups] = np.flatnonzero(group_of[1:] != group_of[:-1]) + 1
        first[groups] = len(cells)
        worst = np.full(groups, np.inf)
        for column in self._columns:
            lists = column.lists
            merge_lists(
                first,
                cells,
                groups,
                column.starts,
                column.values,
                column.counts,
                column.slot,
                lists.starts,
                lists.value,
                lists.rows,
            )
            if column.plan.distance[0] != EQUAL:
                sort_values(lists.starts, lists.value, lists.rows, groups)
            measure_models(
                0,
                1,
                groups,
                sizes,
                self._need,
                self._c.numerator,
                self._c.denominator,
                column.plan,
                lists,
                self._goodness,
                _NO_MISTAKES,
            )
            np.minimum(worst, self._goodness[self._need.argmax(), :groups], out=worst)
        return self._model.strengths(worst)


def _list_values(column: Column, row_cell: Ints, cells: int, model: Model) -> _Listed:
    counts = count_values(column, row_cell, cells)
    laid_out, number = _lay_out(column, counts, model)
    plan = make_plan([laid_out], 1, -1, len(row_cell))
    return _Listed(
        plan,
        counts.starts.astype(np.uint32),
        number[counts.values].astype(np.uint32),
        counts.counts.astype(np.uint32),
        np.zeros(len(number), dtype=np.uint32),
        make_lists(plan, cells, len(counts.values)),
    )


def _lay_out(column: Column, counts: SensitiveCounts, model: Model) -> tuple[HistogramColumn, Ints]:
    """Give the values of a column their places by the model's distance; see `place_values`."""
    if model.rule in ("ordered", "tree") and column.missing:
        raise QuestionError(
            f"the {model.rule} distance has no place for the {column.missing} missing values of "
            f"column {column.name!r}; complete them, or take the rule equal"
        )
    if model.rule == "ordered":
        places = _ranks(column)
        return place_values(counts, ORDERED, places, int(places.max()) + 1)
    if model.hierarchy is not None:
        tree = model.hierarchy
        return place_values(
            counts, TREE, _leaves(column, tree), len(tree.leaves), tree.node_starts[:-1]
        )
    labels = len(counts.labels)
    return place_values(counts, EQUAL, np.arange(labels), labels)


def _ranks(column: Column) -> Ints:
    """Rank the values of a column of numbers or dates; 1 and 1.0 share a place."""
    try:
        scale = Scale.choose(column.values, column.name, None, None, ())
    except DataError:
        raise QuestionError(
            f"the ordered distance needs numbers or dates (YYYY-MM-DD), and column {column.name!r} "
            "holds other texts; take the rule equal, or tree with a hierarchy"
        ) from None
    found = scale.places(column.values)
    ranks = {place: rank for rank, place in enumerate(sorted({p for p in found if p is not None}))}
    return np.array([ranks[place] for place in found if place is not None], dtype=np.int64)


def _leaves(column: Column, tree: Hierarchy) -> Ints:
    """Leaf of each value."""
    for value in column.values:
        if value not in tree.leaf_index:
            raise QuestionError(
                f"the hierarchy has no leaf for the value {value!r} of column {column.name!r}"
            )
    return np.array([tree.leaf_index[value] for value in column.values], dtype=np.int64)
