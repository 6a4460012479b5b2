"""The experiment that exports every solution: it finds no difference, and would find one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from moanon.experiment import Experiment, load_front, plan
from tests.checkout import load_experiment
from tests.search.people import config_text


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_experiment("certify_fronts")


@pytest.fixture
def results(people: Path) -> Path:
    Path("people.yaml").write_text(config_text(problem="{preset: k-suppression, eta: 0.1}"))
    (config,) = plan(["people.yaml"], out="people")
    Experiment.prepare(config).run()
    return Path("people")


def test_all_values_of_all_files_agree(script: ModuleType, results: Path) -> None:
    found = script.certify(results)
    # 21 measures of the certificate, l by its rule, and 8 counted by pandas
    assert found["values_compared"] == 30 * found["solutions"] > 0
    assert (found["mismatches"], found["first_mismatch"]) == (0, "")


def test_an_export_that_is_refused_counts(script: ModuleType, results: Path) -> None:
    front = load_front(results)
    column = front.measures["k"].copy()
    column[1] += 1
    record = json.loads((results / "run.json").read_text())
    texts = {"config.yaml": (results / "config.yaml").read_text()}
    wrong = replace(front, measures={**front.measures, "k": column})
    wrong.save(results, record=record, texts=texts, force=True)
    found = script.certify(results)
    assert found["mismatches"] == 1
    assert "solution 2: export: release.csv does not measure as the front says" in str(
        found["first_mismatch"]
    )


def test_a_number_that_only_pandas_sees_counts(
    script: ModuleType, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "_by_pandas", lambda path, certificate: {"k": certificate.k + 1})
    found = script.certify(results)
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
