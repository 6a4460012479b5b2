"""The experiment that exports every solution: it finds no difference, and would find one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from moanon.experiment import load_front
from tests.checkout import load_experiment


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_experiment("certify_fronts")


def test_all_values_of_all_files_agree(script: ModuleType, finished_here: Path) -> None:
    found = script.certify(finished_here)
    # 23 measures by the reader, l by its rule, and 8 counted by pandas
    assert found["values_compared"] == 32 * found["solutions"] > 0
    assert (found["mismatches"], found["first_mismatch"]) == (0, "")


def test_an_export_that_is_refused_counts(script: ModuleType, finished_here: Path) -> None:
    front = load_front(finished_here)
    column = front.measures["k"].copy()
    column[1] += 1
    record = json.loads((finished_here / "run.json").read_text())
    texts = {"config.yaml": (finished_here / "config.yaml").read_text()}
    wrong = replace(front, measures={**front.measures, "k": column})
    wrong.save(finished_here, record=record, texts=texts, force=True)
    found = script.certify(finished_here)
    assert found["mismatches"] == 1
    assert "solution 2: export: release.csv does not measure as the front says" in str(
        found["first_mismatch"]
    )


def test_a_number_that_only_pandas_sees_counts(
    script: ModuleType, finished_here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "_by_pandas", lambda path, certificate: {"k": certificate.k + 1})
    found = script.certify(finished_here)
    assert found["mismatches"] == found["solutions"]


@pytest.mark.slow
def test_every_configuration_is_certified(script: ModuleType, tmp_path: Path) -> None:
    """With short searches and few solutions of each; the experiment itself takes all."""
    out = tmp_path / "table.csv"
    sets = ["--set", "search.generations=3", "--set", "search.cap=12"]
    assert script.main(["--runs", str(tmp_path), "--out", str(out), *sets]) == 0
    table = pd.read_csv(out)
    assert len(table) >= 6
    assert (table["mismatches"] == 0).all()
    assert (table["solutions"] > 1).all()
