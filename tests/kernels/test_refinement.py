"""Cells that nothing to come can tell apart become one entry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moanon.kernels import refinement


# 64 cells to a word: the last of one and the first of the next are where counting could slip.
@example([True] * 63, 1)
@example([True] * 64, 2)
@example([True] * 65, 1)
@example([True] * 129, 3)
@example([True] + [False] * 63 + [True] + [False] * 64, 1)
@given(st.lists(st.booleans(), min_size=2, max_size=200), st.integers(1, 4))
def test_runs_are_merged(drawn: list[bool], groups: int) -> None:
    begins = np.array([True, *drawn[1:]])
    cells = len(begins)
    counts = np.arange(1, cells + 1, dtype=np.uint32)
    codes = (np.arange(cells) % groups).astype(np.uint16)
    none, keys = np.zeros(0, dtype=np.uint32), cells + 1
    partitions = refinement.make_partitions(counts, none, 3, keys)
    scratch = refinement.make_scratch(cells, groups, int(counts.sum()), keys)
    # By one column into groups, which stay apart though their cells are of the same runs.
    refinement.split(partitions, 0, codes, np.zeros((0, 2), dtype=np.uint64), none, scratch)
    same = np.zeros(cells, dtype=np.uint16)
    refinement.split(partitions, 1, same, refinement.make_runs(begins), none, scratch)
    run = np.cumsum(begins)
    expected, settled = [], []
    for value in range(groups):
        mine = [int(counts[(codes == value) & (run == each)].sum()) for each in np.unique(run)]
        mine = [rows for rows in mine if rows]
        if np.count_nonzero(codes == value) > 1:
            (expected if len(mine) > 1 else settled).append(mine)
        elif mine:
            settled.append(mine)
    entries = int(partitions.entries[2])
    assert partitions.weight[2, :entries].tolist() == [rows for mine in expected for rows in mine]
    found = partitions.settled_rows[2, : int(partitions.settled[2]), 1]
    assert found.sum() == sum(map(sum, settled))


def test_a_run_of_all_cells_is_one_entry() -> None:
    runs = refinement.make_runs(np.array([True] + [False] * 99))
    assert runs.tolist() == [[0, 1], [1, 0]]  # 64 cells, then 36, before which one run began


@pytest.mark.parametrize("cells", [1, 64, 65, 640])
def test_a_word_knows_the_runs_before_it(cells: int) -> None:
    runs = refinement.make_runs(np.ones(cells, dtype=bool))
    assert runs[:, 0].tolist() == [*range(0, cells, 64)]
