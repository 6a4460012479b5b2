"""Which losses tell: correlations with the drop, and their intervals."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from moanon.learning.telling import which_tell


def _outcome(drops: list[float], **measures: list[float]) -> Any:
    names = [f"r{i}" for i in range(len(drops))]
    releases = pd.DataFrame({"release": names, "repeat": 1, **measures})
    scores = {"balanced_accuracy": drops, "auroc": drops, "log_loss": drops}
    table = pd.DataFrame({"release": names, "model": "boosting", **scores})
    return SimpleNamespace(releases=releases, drops=table, study=SimpleNamespace(seed=1))


def _row(outcome: Any, measure: str) -> pd.Series:
    table = which_tell(outcome)
    return table[(table["measure"] == measure) & (table["score"] == "auroc")].iloc[0]


def test_a_loss_that_grows_with_the_drop_tells() -> None:
    row = _row(_outcome([0.1, 0.2, 0.4, 0.8], loss=[0.1, 0.2, 0.3, 0.4]), "loss")
    assert row["spearman"] == pytest.approx(1)
    assert row["spearman_low"] == pytest.approx(1)
    assert 0.9 < row["pearson"] < 1
    assert row["releases"] == 4


def test_a_precision_is_turned() -> None:
    row = _row(_outcome([0.1, 0.2, 0.4], prec=[0.9, 0.5, 0.1]), "prec")
    assert row["spearman"] == pytest.approx(1)


def test_privacy_is_no_loss() -> None:
    assert which_tell(_outcome([0.1, 0.2, 0.3], loss=[1, 2, 3], k=[2, 3, 4]))[
        "measure"
    ].unique().tolist() == ["loss"]


def test_a_measure_that_does_not_vary_has_no_correlation() -> None:
    row = _row(_outcome([0.1, 0.2, 0.4], sl=[0.0, 0.0, 0.0]), "sl")
    assert np.isnan(row["spearman"])
    assert np.isnan(row["pearson_high"])


def test_two_releases_say_nothing() -> None:
    assert np.isnan(_row(_outcome([0.1, 0.2], loss=[0.1, 0.2]), "loss")["spearman"])


def test_releases_without_a_measure_are_left_out() -> None:
    nothing = float("nan")
    row = _row(_outcome([0.1, 0.2, 0.4, 0.3], loss=[0.1, 0.2, 0.3, nothing]), "loss")
    assert row["releases"] == 3


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=3, max_size=12).filter(
        lambda pairs: all(len({pair[side] for pair in pairs}) > 1 for side in (0, 1))
    )
)
def test_correlations_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    losses, drops = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    row = _row(_outcome(drops, loss=losses), "loss")
    assert row["pearson"] == pytest.approx(pearsonr(losses, drops).statistic, abs=1e-9)
    assert row["spearman"] == pytest.approx(spearmanr(losses, drops).statistic, abs=1e-9)
    assert row["pearson_low"] <= row["pearson_high"]


def test_intervals_are_the_same_again() -> None:
    outcome = _outcome([0.3, 0.2, 0.4, 0.1], loss=[0.1, 0.2, 0.3, 0.4])
    pd.testing.assert_frame_equal(which_tell(outcome), which_tell(outcome))
