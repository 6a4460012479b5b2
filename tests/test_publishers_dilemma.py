"""The experiment on the multi-objective paper: how it looks for points, and a short run."""

from __future__ import annotations

import csv
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from moanon.errors import ConfigError
from moanon.front.landmarks import TradeOff
from tests.checkout import REPOSITORY, load_experiment
from tests.output.drawn import made_front
from tests.search.people import found_front


@pytest.fixture(scope="module")
def dilemma() -> ModuleType:
    return load_experiment("publishers_dilemma")


def test_the_best_solution_under_limits(dilemma: ModuleType) -> None:
    front = made_front(
        ("d1", "d2", "loss"),
        k=[5, 20, 8, 25],
        l=[2, 4, 3, 3],
        d1=[6, 21, 30, 26],
        d2=[9, 9, 9, 9],
        loss=[0.1, 0.2, 0.15, 0.3],
    )
    point = dilemma.Point("", "", "k", 20, "", {"loss": 0.2}, {"l": 3})
    assert point.best(front) == 1  # (20, 4)
    assert dilemma.reached(point, front) == "20"
    assert dilemma.reached(point, front, dilemma.AIMS) == "30"  # of d1, where d2 >= 3
    assert dilemma.reached(dilemma.Point("", "", "k", 20, "", {"loss": 0.05}), front) == "none"
    assert dilemma.pairs(front, 0.2) == "(20, 4)"
    assert dilemma.pairs(front, 0.3) == "(20, 4), (25, 3)"


def test_the_committed_table_has_every_published_point(dilemma: ModuleType) -> None:
    folder = REPOSITORY / "results" / "publishers_dilemma"
    with (folder / "published.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["published"]) for row in rows] == [p.published for p in dilemma.POINTS]
    assert all(row["own_search_attains"] and row["why"] for row in rows)
    safe = [(row["l"], row["limits"], row["published"]) for row in rows if row["l"]]
    for reading in ("distinct", "frequency"):  # (17, 5) of figure 11 among them
        assert (reading, "loss <= 0.2; l >= 5", "17") in safe


def test_the_committed_initial_populations_are_as_many_of_each_variant(dilemma: ModuleType) -> None:
    path = REPOSITORY / "results" / "publishers_dilemma" / "initial_populations.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for crossed, made_of in dilemma.VARIANTS:
        seeds = [
            int(row["seed"])
            for row in rows
            if (row["tree_crossover"], row["front_of"]) == (crossed, made_of)
        ]
        assert seeds == list(dilemma.SEEDS)


def test_figure_6_has_an_inset_for_each_of_two_solutions(dilemma: ModuleType) -> None:
    front = found_front("zero-suppression")
    ax = dilemma.plot_with_insets(front, [1, len(front)])
    assert len(ax.child_axes) == 2


def test_committed_pictures_are_small() -> None:
    pictures = list((REPOSITORY / "results" / "publishers_dilemma").glob("*.png"))
    assert {f"figure{number}.png" for number in range(6, 12)} <= {path.name for path in pictures}
    assert max(path.stat().st_size for path in pictures) < 150_000


@pytest.mark.slow
def test_a_short_run_writes_everything(dilemma: ModuleType, tmp_path: Path) -> None:
    out = tmp_path / "dilemma"
    dilemma.main(["--quick", "--out", str(out)])
    committed = REPOSITORY / "results" / "publishers_dilemma"
    assert sorted(p.name for p in out.iterdir()) == sorted(p.name for p in committed.iterdir())
    assert (out / "answers.md").read_text().count("\n1. ") == 1
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "dilemma-runs").rglob("*.csv")}
    # 10 problems, 4 of them our way, too; 3 limits and their table, a narrow one, 2 × 4 seeds
    assert len(before) == 27
    dilemma.main(["--quick", "--out", str(out)])  # nothing is run twice
    assert {path: path.stat().st_mtime_ns for path in before} == before


# -- polynomials through fronts ------------------------------------------------------------------


def tradeoff(k: list[int], loss: list[float]) -> TradeOff:
    return TradeOff.of(made_front(("k", "loss"), k=k, loss=loss))


def test_a_front_on_a_polynomial_of_the_logarithm_is_found_again(dilemma: ModuleType) -> None:
    k = np.array([1, 2, 5, 20, 100, 1000])
    loss = 0.05 + 0.02 * np.log(k) + 0.01 * np.log(k) ** 2
    curve = dilemma.FittedCurve.of(tradeoff(k.tolist(), loss.tolist()), 2)
    assert curve.logarithmic
    assert curve.coefficients == pytest.approx((0.05, 0.02, 0.01))
    assert curve.explained == pytest.approx(1)
    assert curve.worst == pytest.approx(0, abs=1e-12)
    assert curve.at([5, 20]) == pytest.approx(loss[2:4])


def test_small_ranges_are_taken_as_they_are(dilemma: ModuleType) -> None:
    # 0.1, 0.2, 0.4 at 2, 3, 4: slope (0.4 - 0.1) / 2 = 0.15, mean 0.7 / 3 at 3
    curve = dilemma.FittedCurve.of(tradeoff([2, 3, 4], [0.1, 0.2, 0.4]), 1)
    assert not curve.logarithmic
    assert curve.coefficients == pytest.approx((0.7 / 3 - 0.45, 0.15))
    assert curve.worst == pytest.approx(0.1 / 3)  # 0.2 beside 0.7 / 3
    # variance of the costs 0.14/3, of what is left (1/60)² · 2 + (1/30)²
    assert curve.explained == pytest.approx(1 - (2 / 3600 + 1 / 900) / (0.14 / 3))


def test_there_must_be_more_solutions_than_coefficients(dilemma: ModuleType) -> None:
    with pytest.raises(ConfigError, match=r"^a polynomial needs .* Got degree 2 for 3 solutions$"):
        dilemma.FittedCurve.of(tradeoff([2, 3, 4], [0.1, 0.2, 0.4]), 2)
