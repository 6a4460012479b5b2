"""Splitting groups column by column gives what grouping by all of them at once gives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from moanon.diagnosis import Diagnosis, PrivacyModel
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
