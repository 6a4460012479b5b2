"""Loops over the values of groups, called as they are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moanon.kernels.histograms import EQUAL, HistogramColumn, Lists, make_plan
from moanon.kernels.models import MODELS, measure_models_alone


def entropy(counts: list[int], table: int) -> float:
    """Entropy of one group with so many rows of each value, in a table of so many rows."""
    values = np.arange(len(counts))
    column = HistogramColumn(np.array(counts, dtype=np.int64), EQUAL, values, len(values))
    lists = Lists(
        np.array([0, len(counts)], dtype=np.uint32),
        values.astype(np.uint32),
        np.array(counts, dtype=np.uint32),
        np.zeros(len(counts) + 1, dtype=np.int64),
        False,
    )
    models = np.zeros((len(MODELS), 1))
    measure_models_alone(
        np.array([name == "entropy" for name in MODELS]),
        3,
        1,
        np.array([sum(counts)], dtype=np.uint32),
        make_plan([column], 1, -1, table),
        lists,
        models,
        np.zeros(0, dtype=np.int64),
    )
    return models[MODELS.index("entropy"), 0].item()


@given(st.integers(1, 16), st.integers(1, 2**20), st.integers(0, 2**31))
def test_equal_shares_have_their_number_as_entropy_l_in_a_table_of_any_size(values, rows, others):
    # One part in 10^12 is what a diagnosis rounds to: an l of 2 must not become 1.999999999998
    # where the same two rows are two of a billion.
    found = entropy([rows] * values, values * rows + others)
    assert round(np.exp(found), 12) == values
    assert found == entropy([rows] * values, values * rows)


def test_a_value_without_rows_adds_nothing_to_an_entropy():
    # of 70,000 rows logarithms are computed, of two they are looked up
    for rows in (1, 35_000):
        assert entropy([rows, 0, rows], 2 * rows) == entropy([rows, rows], 2 * rows)
