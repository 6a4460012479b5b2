"""The experiment that exports every solution: it finds no difference, and would find one."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from moanon.experiment import Experiment, load_front, plan
from tests.cli.test_cli_export import CONFIG, TREE
from tests.search.people import people_frame

SCRIPT = Path(__file__).parents[1] / "experiments" / "certify_fronts.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("certify_fronts", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people_frame().to_csv("people.csv", index=False)
    Path("place.yaml").write_text(TREE)
    Path("people.yaml").write_text(CONFIG)
    (config,) = plan(["people.yaml"], out="people")
    Experiment.prepare(config).run()
    return Path("people")


def test_all_values_of_all_files_agree(script: ModuleType, folder: Path) -> None:
    found = script.certify(folder)
    # 21 measures of the certificate, l by its rule, and 8 counted by pandas
    assert found["values_compared"] == 30 * found["solutions"] > 0
    assert (found["mismatches"], found["first_mismatch"]) == (0, "")


def test_an_export_that_is_refused_counts(script: ModuleType, folder: Path) -> None:
    front = load_front(folder)
    column = front.measures["k"].copy()
    column[1] += 1
    record = json.loads((folder / "run.json").read_text())
    texts = {"config.yaml": (folder / "config.yaml").read_text()}
    wrong = replace(front, measures={**front.measures, "k": column})
    wrong.save(folder, record=record, texts=texts, force=True)
    found = script.certify(folder)
    assert found["mismatches"] == 1
    assert "solution 2: export: release.csv does not measure as the front says" in str(
        found["first_mismatch"]
    )


def test_a_number_that_only_pandas_sees_counts(
    script: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "_by_pandas", lambda path, certificate: {"k": certificate.k + 1})
    found = script.certify(folder)
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
