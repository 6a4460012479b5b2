"""The experiment: the source's numbers, and the committed results."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.checkout import REPOSITORY, load_experiment


@pytest.fixture(scope="module")
def experiment() -> ModuleType:
    return load_experiment("comparing_anonymizations")


def test_every_number_of_the_source_is_found_again(experiment: ModuleType) -> None:
    vectors = experiment.source_vectors(experiment.source_tables())
    numbers = list(experiment.source_numbers(vectors))
    stated = [number for number in numbers if number[2]]
    assert len(stated) == 25
    others = [number for number in stated if number[2] != number[3]]
    assert [number[1] for number in others] == ["utilities of T3b"]
    (_, _, printed, utilities) = others[0]  # one of the .97 is not printed
    assert sorted([*printed.split(), "0.97"]) == sorted(utilities.split())
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
