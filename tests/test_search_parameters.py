"""Parameters of NSGA-II: how runs are summed up."""

from __future__ import annotations

from types import ModuleType

import pandas as pd
import pytest

from tests.checkout import load_experiment


@pytest.fixture(scope="module")
def parameters() -> ModuleType:
    return load_experiment("search_parameters")


def test_a_range_is_apart_where_it_does_not_meet_that_of_the_first_settings(
    parameters: ModuleType,
) -> None:
    rows = [
        ("population", 200, 1, 8.0, 10),
        ("population", 200, 2, 8.4, 14),
        ("crossover", 0.5, 1, 8.5, 12),
        ("crossover", 0.5, 2, 8.6, 20),
    ]
    found = pd.DataFrame(rows, columns=["parameter", "value", "seed", "area", "reached"])
    table = parameters.summary(found.assign(problem="problem1"))
    assert table["area_apart"].tolist() == [False, True]  # 8.0 to 8.4, 8.5 to 8.6
    assert table["reached_apart"].tolist() == [False, False]  # 10 to 14, 12 to 20
    assert table["area"].tolist() == [8.2, 8.55]


def test_the_papers_settings_come_first(parameters: ModuleType) -> None:
    first, *others = parameters.settings("problem1")
    assert first == ("population", 200)
    assert first not in others


@pytest.mark.slow
def test_a_short_run_writes_both_tables(parameters: ModuleType, tmp_path: object) -> None:
    parameters.main(["--quick", "--problem", "problem2", "--seed", "1", "--out", str(tmp_path)])
    table = pd.read_csv(f"{tmp_path}/parameters_summary.csv")
    assert len(table) == 7
