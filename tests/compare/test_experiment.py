"""The experiment: the source's numbers, and the committed results."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def experiment() -> ModuleType:
    path = REPOSITORY / "experiments" / "comparing_anonymizations.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_number_of_the_source_is_found_again(experiment: ModuleType) -> None:
    vectors = experiment.source_vectors(experiment.source_tables())
    numbers = list(experiment.source_numbers(vectors))
    stated = [number for number in numbers if number[2]]
    assert len(stated) == 25
    assert [number for number in stated if number[2] != number[3]] == []
    found = {(section, what): value for section, what, _, value in numbers}
    assert found["5.4", "P_hv of eight tuples"] == "56727 37888"
    assert found["5.5", "P_WTD with equal weights"] == "0.65 0.65"


@pytest.mark.slow
def test_the_committed_results_are_what_it_writes(experiment: ModuleType, tmp_path: Path) -> None:
    experiment.main(["--out", str(tmp_path), "--threads", "1"])
    committed = REPOSITORY / "results" / "comparing_anonymizations"
    tables = sorted(path.name for path in committed.glob("*.csv"))
    assert tables == sorted(path.name for path in tmp_path.glob("*.csv"))
    for name in tables:
        assert (tmp_path / name).read_text() == (committed / name).read_text()
