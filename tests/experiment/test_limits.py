"""Runs for several limits of suppression: one folder each, as if it were the only one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moanon.errors import OutputError, SearchError
from moanon.experiment import Experiment, Result, plan
from moanon.front import Front
from moanon.front.asking import largest_ks, least_losses
from tests.search.people import config_text

ALGORITHMS = ["archive", "nsga2", "exhaustive"]


@pytest.fixture(autouse=True)
def eight_generations(config: Path) -> None:
    config.write_text(config_text(generations=8, problem="{preset: k-suppression, eta: 0.1}"))


def prepared(*etas: float, out: str, sets: tuple[str, ...] = (), **options: Any) -> Experiment:
    (only,) = plan(["people.yaml"], sets, etas=etas, out=out)
    return Experiment.prepare(only, **options)


def run(*etas: float, out: str, sets: tuple[str, ...] = (), **options: Any) -> Result:
    return prepared(*etas, out=out, sets=sets, **options).run()


def written(folder: str) -> list[str]:
    paths = sorted(Path(folder).rglob("*"))
    return [str(path.relative_to(folder)) for path in paths if path.is_file()]


def tables(folder: str) -> dict[str, bytes]:
    found = sorted(Path(folder).rglob("front.csv"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def points(front: Front) -> np.ndarray:
    return np.stack([-front.measures["k"], front.measures["loss"]], axis=1)


def test_each_limit_has_a_folder_and_a_comparison_stands_above() -> None:
    run(0.2, 0.05, out="a")
    files = ["config.yaml", "domains.json", "front.csv", "run.json", "solutions.json"]
    folders = [f"eta-{eta}/{name}" for eta in (0.05, 0.2) for name in files]
    assert written("a") == ["comparison.csv", "config.yaml", *folders]


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "local"])
def test_each_limit_has_the_front_that_it_has_alone(algorithm: str) -> None:
    recoding = "local" if algorithm == "local" else "global"
    sets = (f"search.algorithm={algorithm}", f"problem.recoding={recoding}")
    etas = (0.2, 0.05, 0.0)
    assert tuple(run(*etas, out="all", sets=sets).fronts) == etas
    for eta in etas:
        run(eta, out=f"{eta}", sets=sets)
        for name in ("front.csv", "solutions.json"):
            alone = Path(f"{eta}/{name}").read_bytes()
            assert Path(f"all/eta-{eta}/{name}").read_bytes() == alone


def test_each_limit_gets_the_whole_effort() -> None:
    result = run(0.0, 0.05, 0.2, out="a", sets=("search.algorithm=nsga2",))
    courses = [
        json.loads(Path(f"a/eta-{eta}/run.json").read_text())["search"]["generations"]
        for eta in (0.2, 0.05, 0.0)
    ]
    assert courses == [8, 8, 8]
    assert result.evaluations == 3 * 8 * 20


def test_a_limit_is_added_to_results_that_are_there() -> None:
    before = run(0.2, out="a").fronts[0.2]
    table = Path("a/front.csv").read_bytes()
    ready = prepared(0.05, out="a")
    assert ready.notes == ("a has results for eta 0.2, which stay as they are; adding 0.05",)
    fronts = ready.run().fronts
    assert list(fronts) == [0.2, 0.05]
    assert fronts[0.2].to_frame().equals(before.to_frame())
    assert "front.csv" not in written("a")
    assert Path("a/eta-0.2/front.csv").read_bytes() == table


@pytest.mark.parametrize(("added", "drawn"), [(0.2, "false"), (0.01, "true")])
def test_adding_a_limit_changes_no_byte_of_another(added: float, drawn: str) -> None:
    sets = ("output.plots=false", f"output.report={drawn}")
    run(0.05, 0.1, out="a", sets=sets)
    before = {name: Path("a", name).read_bytes() for name in written("a") if "eta-" in name}
    assert ("eta-0.1/report.html" in before) == (drawn == "true")
    run(added, out="a", sets=sets)
    assert {name: Path("a", name).read_bytes() for name in before} == before


def test_limits_may_be_added_again_and_again() -> None:
    run(0.1, out="a")
    run(0.05, out="a")
    assert list(run(0.2, 0.05, out="a").fronts) == [0.2, 0.1, 0.05]
    assert [eta.name for eta in sorted(Path("a").glob("eta-*"))] == [
        "eta-0.05",
        "eta-0.1",
        "eta-0.2",
    ]


def test_limits_that_are_all_there_are_refused() -> None:
    run(0.05, 0.2, out="a")
    before = tables("a")
    with pytest.raises(OutputError, match=r"a holds results already \(config\.yaml\); replace"):
        prepared(0.2, out="a")
    assert tables("a") == before


def test_a_limit_is_not_added_to_another_search() -> None:
    run(0.2, out="a")
    with pytest.raises(
        OutputError, match=r"a holds the results of another run \(it has the seed 1"
    ):
        prepared(0.05, out="a", sets=("search.seed=2",))


def test_force_leaves_nothing_of_the_run_before() -> None:
    run(0.05, 0.1, out="a")
    Path("a/mine.txt").write_text("mine")
    Path("a/eta-0.1/mine.txt").write_text("mine")
    run(0.2, 0.3, out="a", force=True)
    left = {path.parent.name for path in Path("a").rglob("front.csv")}
    assert left == {"eta-0.2", "eta-0.3"}
    assert not Path("a/eta-0.05").exists()
    assert [path.name for path in Path("a/eta-0.1").iterdir()] == ["mine.txt"]
    run(0.1, out="a", force=True)
    assert written("a") == [
        "config.yaml",
        "domains.json",
        "eta-0.1/mine.txt",
        "front.csv",
        "mine.txt",
        "run.json",
        "solutions.json",
    ]


def test_a_replacement_that_was_interrupted_can_be_resumed() -> None:
    run(0.2, out="a")
    run(0.05, 0.1, out="b")
    asked = iter([True])
    prepared(0.2, out="b", force=True).run(interrupted=lambda: next(asked))
    run(0.2, out="b", resume=True)
    assert tables("a") == tables("b")


def test_pictures_of_earlier_results_do_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    run(0.2, out="a", sets=("output.plots=true",))
    Path("a/plots/mine.png").write_bytes(b"mine")
    assert "plots/front.png" in written("a")
    run(0.05, out="a", sets=("output.plots=true",))
    found = sorted(path.name for path in Path("a/plots").iterdir())
    assert found == ["etas.png", "etas.svg", "mine.png"]


def test_pictures_that_are_missing_are_drawn_when_a_finished_run_is_resumed() -> None:
    run(0.2, out="a")
    ready = prepared(0.2, out="a", sets=("output.plots=true",), resume=True)
    assert ready.finished
    assert not ready.is_shown
    ready.show(ready.known_runs)
    assert ready.is_shown


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("generations", [1, 3, 8, 9])
def test_an_interrupted_run_ends_like_any_other(algorithm: str, generations: int) -> None:
    sets: tuple[str, ...] = (f"search.algorithm={algorithm}",)
    if algorithm == "exhaustive":
        sets += ("search.generations=100", "search.population=400")
    run(0.05, 0.2, 0.0, out="a", sets=sets)
    asked = iter(range(1, 1000))
    ready = prepared(0.05, 0.2, 0.0, out="b", sets=sets)
    result = ready.run(interrupted=lambda: next(asked) >= generations)
    assert result.outcome.reason == "interrupted"
    run(0.05, 0.2, 0.0, out="b", sets=sets, resume=True)
    assert tables("a") == tables("b")
    assert written("a") == written("b")


def test_an_interrupted_addition_can_be_resumed() -> None:
    for out in "ab":
        run(0.2, out=out)
    run(0.05, out="a")
    asked = iter([True])
    prepared(0.05, out="b").run(interrupted=lambda: next(asked))
    run(0.05, out="b", resume=True)
    assert tables("a") == tables("b")


def test_an_addition_without_what_it_started_from_is_refused() -> None:
    run(0.2, out="a")
    asked = iter([True])
    prepared(0.05, out="a").run(interrupted=lambda: next(asked))
    for name in ("front.csv", "solutions.json", "config.yaml", "run.json"):
        Path("a", name).unlink()
    with pytest.raises(SearchError, match=r"a holds no results for eta 0\.2 any more, to which"):
        prepared(0.05, out="a", resume=True)


def test_a_run_for_several_limits_that_is_finished_is_not_run_again() -> None:
    fronts = run(0.05, 0.2, out="a").fronts
    ready = prepared(0.05, 0.2, out="a", resume=True)
    assert ready.finished
    assert {eta: len(run.front) for eta, run in ready.known_runs.items()} == {
        eta: len(front) for eta, front in fronts.items()
    }


def test_a_comparison_answers_for_each_limit_or_not_at_all() -> None:
    fronts = run(0.0, 0.2, out="a").fronts
    etas = (0.0, 0.2)
    assert tuple(sorted(fronts)) == etas
    for k, losses in least_losses(fronts).items():
        for eta, loss in zip(etas, losses, strict=True):
            of = fronts[eta].to_frame()
            assert loss == of.loss[of.k >= k].min()
    for share, ks in largest_ks(fronts).items():
        for eta, k in zip(etas, ks, strict=True):
            of = fronts[eta].to_frame()
            within = of.k[of.loss <= share]
            assert k == (None if within.empty else within.max())


def test_the_table_of_a_comparison_has_a_row_for_each_question() -> None:
    run(0.0, 0.2, out="a")
    header, first, *_ = Path("a/comparison.csv").read_text().splitlines()
    assert header == "question,limit,eta 0.0,eta 0.2"
    assert first.startswith("least loss with k at least,2,0.")
