"""What a solution promises beyond k: kept when it is loaded, exported, applied and measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import moanon
from moanon.cli import main
from moanon.experiment import load_front
from moanon.measures import find_measure
from moanon.measures.evaluate import measure_grouping
from moanon.release import read_released
from tests.search.people import AGE_AND_SIZE, ILL_TREE, config_text, people_frame

DISTANCES = {
    "equal": "{role: sensitive}",
    "ordered": "{role: sensitive, kind: ordered, order: [flu, gout, cold, none]}",
    "tree": "{role: sensitive, kind: tree, hierarchy: ill.yaml}",
}
WEIGHTED_SIZE = "{role: quasi, kind: ordered, order: [S, M, L, XL], weight: 2}"
SEARCH = "{algorithm: archive, population: 40, generations: 5}"


@pytest.fixture(autouse=True)
def tree_of_ills(people: Path) -> None:
    Path("ill.yaml").write_text(ILL_TREE)


def run(problem: str, distance: str = "equal") -> Path:
    columns = AGE_AND_SIZE | {"size": WEIGHTED_SIZE, "ill": DISTANCES[distance]}
    Path("people.yaml").write_text(config_text(columns, search=SEARCH, problem=problem))
    assert main(["run", "people.yaml", "--quiet", "--out", "results"]) == 0
    return Path("results")


@pytest.mark.parametrize("distance", DISTANCES)
def test_what_was_found_by_a_distance_is_exported_by_it(distance: str) -> None:
    folder = run("{preset: zero-suppression, constraints: {t_closeness: {max: 0.3}}}", distance)
    front = load_front(folder)
    for solution in front.ids.tolist()[:: max(1, len(front) // 4)]:
        path = Path(f"release-{solution}.csv")
        front.release(solution).write(path)
        assert front.instance is not None
        again = measure_grouping(read_released(path, front.instance))
        for name in ("t_closeness", "suppressed", "loss", "gl_weighted", "ncp"):
            assert again[name] == pytest.approx(front.measures[name][solution - 1], rel=1e-9)


def test_a_frame_is_searched_by_the_same_distances_as_its_file() -> None:
    columns: dict[str, Any] = {
        "age": {"role": "quasi", "kind": "interval", "range": [20, 27], "weight": 2},
        "ill": {"role": "sensitive", "kind": "tree", "hierarchy": "ill.yaml"},
    }
    given = {"problem": {"objectives": ["t_closeness", "gl_weighted"]}, "progress": False}
    of_file = moanon.optimize("people.csv", columns, **given)
    of_frame = moanon.optimize(pd.read_csv("people.csv"), columns, **given)
    assert of_file.to_frame().equals(of_frame.to_frame())


@pytest.mark.parametrize("name", ["delta", "t_closeness", "l_entropy"])
def test_more_rows_of_the_same_kind_keep_what_was_attained(name: str) -> None:
    folder = run(f"{{preset: k-suppression, eta: 0.3, objectives: [{name}, loss]}}", "tree")
    pd.concat([people_frame()] * 12).to_csv("more.csv", index=False)
    front = load_front(folder)
    worse = -1 if find_measure(name).direction == "max" else 1
    for solution in front.ids.tolist()[:: max(1, len(front) // 4)]:
        out = f"applied-{solution}.csv"
        options = ["--out", out, "--k", "1", "--force"]
        assert main(["apply", str(folder), str(solution), "more.csv", *options]) == 0
        given = ["measure", "more.csv", out, "--config", "people.yaml", "--json"]
        assert main(given) == 0
        promised = float(front.measures[name][solution - 1])
        applied = _measured("more.csv", out)[name]
        assert worse * applied <= worse * promised + 1e-9


def _measured(original: str, released: str) -> dict[str, float]:
    from moanon.config import Config

    config = Config.load("people.yaml")
    data = config.data.model_copy(update={"source": str(Path(original).absolute())})
    instance = config.model_copy(update={"data": data}).instance()
    return measure_grouping(read_released(released, instance))


def test_a_file_is_measured_by_the_configured_rule(capsys: pytest.CaptureFixture[str]) -> None:
    folder = run("{preset: k-suppression, eta: 0.1, diversity: frequency, recursive_c: 1.2}")
    front = load_front(folder)
    front.release(len(front)).write("release.csv")
    capsys.readouterr()
    given = ["measure", "people.csv", "release.csv", "--config", "people.yaml", "--json"]
    assert main(given) == 0
    measures = json.loads(capsys.readouterr().out)["measures"]
    for name in ("l", "l_recursive"):
        assert measures[name] == front.measures[name][-1]
