"""Splitting groups column by column gives what grouping by all of them at once gives.

On the way, cells that nothing to come can tell apart become one entry.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moanon.diagnosis import Diagnosis, PrivacyModel
from moanon.kernels import refinement
from tests.checkout import REPOSITORY

ORACLES = ("tests/diagnosis/test_twelve_questions.py", "tests/diagnosis/test_column_groups.py")


def uneven_table(rows: int, values: tuple[int, ...], seed: int) -> pd.DataFrame:
    """Columns of so many values, most rows in the first few of them."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            f"c{i}": np.minimum(rng.geometric(min(0.6, 3 / m), rows), m).astype(str)
            for i, m in enumerate(values)
        }
    )


@pytest.mark.parametrize("values", [(2,) * 7, (3, 2, 9, 2, 40, 4), (1, 1, 5, 1, 30, 300)])
def test_every_set_of_a_larger_table(values):
    frame = uneven_table(1500, values, seed=len(values))
    answer = Diagnosis.read(frame).ask(delta="ask")
    assert len(answer) == 2 ** len(values) - 1
    for mask, curve in zip(answer.masks.tolist(), answer.curves, strict=True):
        rows = frame[list(answer.columns_of(mask))].itertuples(index=False, name=None)
        sizes = Counter(Counter(rows).values())
        assert curve.strengths.tolist() == sorted(sizes)
        assert curve.rows.tolist() == [size * sizes[size] for size in sorted(sizes)]


def test_a_set_is_the_same_on_whatever_way_it_is_reached():
    # From the empty set column by column, with any columns of higher bits skipped or not.
    frame = uneven_table(400, (2, 3, 4, 5), seed=1)
    table = Diagnosis.read(frame).table
    refiner = table.refine(PrivacyModel(), 4)
    refiner.add(0, 3, 4, last=False)
    skipped = refiner.add(1, 1, 3, last=False)  # bit 2 skipped: its cells are merged
    as_last = refiner.add(1, 1, 3, last=True)
    alone = table.refine(PrivacyModel(), 2).curve(0b1010)
    for other in (as_last, alone):
        assert skipped.strengths.tolist() == other.strengths.tolist()
        assert skipped.rows.tolist() == other.rows.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_the_oracle_tests_hold_without_the_compiler_and_with_bounds_checks(flag):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *ORACLES],
        cwd=REPOSITORY,
        env={**os.environ, flag: "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:]


# -- cells that are alike --------------------------------------------------------------------------


def split_alike(begins: np.ndarray) -> refinement.Partitions:
    """Split cells of 1, 2, 3, … rows by a column that has one value."""
    cells = len(begins)
    counts = np.arange(1, cells + 1, dtype=np.uint32)
    none, keys = np.zeros(0, dtype=np.uint32), cells + 1
    partitions = refinement.make_partitions(counts, none, 2, keys, 1, int(counts.sum()))
    codes = np.zeros(cells, dtype=np.uint16)
    refinement.split(partitions, 0, codes, refinement.make_runs(begins), none)
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
