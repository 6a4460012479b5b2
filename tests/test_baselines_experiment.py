"""The experiment on the classical algorithms: the committed tables, and a short run."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from moanon.baselines import BASELINES

REPOSITORY = Path(__file__).parents[1]
COMMITTED = REPOSITORY / "results" / "baselines"


@pytest.fixture(scope="module")
def experiment() -> ModuleType:
    path = REPOSITORY / "experiments" / "baselines.py"
    spec = importlib.util.spec_from_file_location("baselines_experiment", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_tables_have_every_algorithm(experiment: ModuleType) -> None:
    for name in ("adult", "credit"):
        table = pd.read_csv(COMMITTED / f"{name}.csv")
        assert set(table["algorithm"]) >= set(BASELINES)
        assert set(table["asked_k"]) == set(experiment.KS)
        assert (table["k"] >= table["asked_k"]).all()


def test_the_three_lattice_algorithms_agree_in_the_committed_tables() -> None:
    for name in ("adult", "credit"):
        table = pd.read_csv(COMMITTED / f"{name}.csv")
        found = [
            table[table["algorithm"] == algorithm][["eta", "asked_k", "loss", "groups"]].to_numpy()
            for algorithm in ("incognito", "ola", "flash")
        ]
        assert (found[0] == found[1]).all()
        assert (found[0] == found[2]).all()


def test_the_committed_losses_are_found_again(experiment: ModuleType) -> None:
    table = pd.read_csv(COMMITTED / "credit.csv")
    table = table[table["eta"].fillna(0) == 0].set_index(["algorithm", "asked_k"])
    instance = experiment.credit()
    for name, baseline in BASELINES.items():
        found = experiment.described(
            baseline.run(instance, 20, **_unsuppressed(name)).grouping(instance), 20
        )
        committed = table.loc[(name, 20)]
        assert (found["loss"], found["groups"]) == (committed["loss"], committed["groups"])


def _unsuppressed(name: str) -> dict[str, float]:
    return {"eta": 0.0} if "eta" in BASELINES[name].takes else {}


@pytest.mark.slow
def test_a_short_run_writes_everything(experiment: ModuleType, tmp_path: Path) -> None:
    experiment.main(["--k", "500", "--out", str(tmp_path)])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "adult.csv",
        "credit.csv",
        "loss.png",
        "mondrian_ties.csv",
    ]
