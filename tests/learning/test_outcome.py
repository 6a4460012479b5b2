"""Which losses tell: correlations with the drop, and their intervals."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, rankdata, spearmanr

from moanon.learning.study import which_tell
from tests.strategies import few


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


@few
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


def test_intervals_are_those_of_draws_with_replacement() -> None:
    """Against a plain loop with another generator; ends differ by what chance does."""
    rng = np.random.default_rng(7)
    losses = rng.normal(size=15).round(1)  # some are tied
    drops = losses + rng.normal(size=15)
    draws: dict[str, list[float]] = {"pearson": [], "spearman": []}
    for _ in range(2000):
        chosen = rng.integers(15, size=15)
        x, y = losses[chosen], drops[chosen]
        draws["pearson"].append(np.corrcoef(x, y)[0, 1])
        draws["spearman"].append(np.corrcoef(rankdata(x), rankdata(y))[0, 1])
    row = _row(_outcome(drops.tolist(), loss=losses.tolist()), "loss")
    for kind, values in draws.items():
        assert row[f"{kind}_low"] == pytest.approx(np.percentile(values, 2.5), abs=0.08)
        assert row[f"{kind}_high"] == pytest.approx(np.percentile(values, 97.5), abs=0.04)


def test_of_three_releases_anything_can_come_out() -> None:
    row = _row(_outcome([0.1, 0.3, 0.2], loss=[0.1, 0.2, 0.3]), "loss")
    assert row["spearman"] == pytest.approx(0.5)
    assert (row["spearman_low"], row["spearman_high"]) == (-1, 1)


@pytest.mark.parametrize(
    ("drops", "losses", "releases"),
    [
        ([0.1, 0.1, 0.1, 0.1], [1.0, 2.0, 3.0, 4.0], 4),  # nothing is lost more or less
        ([0.1, 0.2, 0.3, 0.4], [np.nan] * 4, 0),  # a measure that applies nowhere
        ([0.1, 0.2, np.nan, 0.4], [1.0, np.nan, 3.0, np.inf], 1),
    ],
)
def test_without_anything_to_compare_there_is_no_correlation(
    drops: list[float], losses: list[float], releases: int
) -> None:
    row = _row(_outcome(drops, loss=losses), "loss")
    assert row["releases"] == releases
    assert row.filter(regex="spearman|pearson").isna().all()


def test_ties_share_their_rank() -> None:
    row = _row(_outcome([0.1, 0.2, 0.3, 0.4], loss=[1.0, 1.0, 2.0, 2.0]), "loss")
    # Ranks 1.5 1.5 3.5 3.5 against 1 2 3 4: 4 / sqrt(4 * 5).
    assert row["spearman"] == pytest.approx(4 / np.sqrt(20))


def test_intervals_are_the_same_again() -> None:
    outcome = _outcome([0.3, 0.2, 0.4, 0.1], loss=[0.1, 0.2, 0.3, 0.4])
    pd.testing.assert_frame_equal(which_tell(outcome), which_tell(outcome))
