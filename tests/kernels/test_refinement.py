"""Cells that nothing to come can tell apart become one entry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moanon.kernels import refinement


def split_alike(begins: np.ndarray) -> refinement.Partitions:
    """Split cells of 1, 2, 3, … rows by a column that has one value."""
    cells = len(begins)
    counts = np.arange(1, cells + 1, dtype=np.uint32)
    none, keys = np.zeros(0, dtype=np.uint32), cells + 1
    partitions = refinement.make_partitions(counts, none, 2, keys)
    scratch = refinement.make_scratch(cells, 1, int(counts.sum()), keys)
    codes = np.zeros(cells, dtype=np.uint16)
    refinement.split(partitions, 0, codes, refinement.make_runs(begins), none, scratch)
    return partitions


# 64 cells to a word: the last of one and the first of the next are where counting could slip.
@example([2] * 32)
@example([64, 2])
@example([63, 2, 2])
@example([2] * 100)
@given(st.lists(st.integers(2, 70), min_size=2, max_size=20))
def test_the_cells_of_a_run_are_one_entry(lengths: list[int]) -> None:
    starts = np.cumsum([0, *lengths])
    begins = np.zeros(starts[-1], dtype=bool)
    begins[starts[:-1]] = True
    partitions = split_alike(begins)
    found = partitions.weight[1, : int(partitions.entries[1])].tolist()
    rows = np.arange(1, starts[-1] + 1)
    assert found == [int(each.sum()) for each in np.split(rows, starts[1:-1])]


def test_a_group_of_one_run_is_settled() -> None:
    partitions = split_alike(np.array([True] + [False] * 99))
    assert int(partitions.entries[1]) == 0
    assert partitions.settled_rows[1, 0].tolist() == [5050, 5050]  # 1 + 2 + … + 100


def test_where_hardly_any_cells_are_alike_they_are_left_apart() -> None:
    partitions = split_alike(np.array([True] * 9 + [False]))
    assert partitions.weight[1, : int(partitions.entries[1])].tolist() == [*range(1, 11)]


@pytest.mark.parametrize("cells", [1, 64, 65, 640])
def test_a_word_knows_the_runs_before_it(cells: int) -> None:
    runs = refinement.make_runs(np.ones(cells, dtype=bool))
    assert runs[:, 0].tolist() == [*range(0, cells, 64)]
