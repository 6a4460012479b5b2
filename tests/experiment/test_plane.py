"""One plane: which results can be laid over one another, and what they are called there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from moanon.errors import ConfigError, DataError
from moanon.experiment import Experiment, load_front, plan
from moanon.experiment.baseline import plan_baseline, run_baseline
from moanon.experiment.showing import read_plane
from tests.search.people import AGE_AND_SIZE, COLUMNS, config_text, people_frame


def search(out: str, columns: dict[str, str] = COLUMNS, **problem: Any) -> Path:
    """A short search under a problem."""
    text = json.dumps({"preset": "k-suppression", **problem})
    Path("people.yaml").write_text(config_text(columns, generations=2, problem=text))
    (config,) = plan(["people.yaml"], out=out)
    Experiment.prepare(config).run()
    return Path(out)


def baseline(name: str, out: str) -> Path:
    run_baseline(name, plan_baseline(name, "people.yaml", out=out), [2, 10])
    return Path(out)


def test_runs_are_called_by_their_names_and_limits(people: Path) -> None:
    searched = search("found", eta=[0.0, 0.1])
    Path("people.yaml").write_text(config_text(problem="{eta: 0.2}"))
    plane = read_plane([searched, baseline("mondrian", "m"), baseline("flash", "f")])
    assert list(plane.runs) == [
        "people, η = 0 %",
        "people, η = 10 %",
        "people-mondrian",
        "people-flash, η = 20 %",
    ]
    assert (plane.privacy, plane.cost) == ("k", "loss")


def test_runs_of_one_name_are_called_by_as_much_of_their_folders_as_it_takes(people: Path) -> None:
    assert list(read_plane([search("one"), search("two")]).runs) == ["one", "two"]
    assert list(read_plane([search("a/same"), search("b/same")]).runs) == ["a/same", "b/same"]


def test_thresholds_share_an_axis_with_what_is_attained(people: Path) -> None:
    safe = search("safe", preset="kl-safety", eta=0.2)  # d1, d2, loss
    assert read_plane([safe, baseline("mondrian", "m"), search("k")]).privacy == "k"


def test_other_axes_are_taken_where_all_share_them(people: Path) -> None:
    objectives = ["loss", "t_closeness"]
    plane = read_plane([search("a", objectives=objectives), baseline("mondrian", "m")])
    assert (plane.privacy, plane.cost) == ("t_closeness", "loss")


def test_results_without_two_objectives_in_common_are_refused(people: Path) -> None:
    folders = [search("a"), search("b", preset="zero-suppression")]
    reason = r"a \(k, loss\) and b \(weighted_k, gl\) do not share two objectives"
    with pytest.raises(ConfigError, match=reason):
        read_plane(folders)


def test_other_tables_are_refused(people: Path) -> None:
    one = search("one")
    people_frame(seed=1).to_csv("people.csv", index=False)
    with pytest.raises(ConfigError, match="one and two are of different tables; laid over"):
        read_plane([one, search("two")])


def test_other_columns_are_refused(people: Path) -> None:
    folders = [search("one"), search("two", AGE_AND_SIZE)]
    reason = "two has the quasi-identifiers age, size and one has age, place, size"
    with pytest.raises(ConfigError, match=reason):
        read_plane(folders)


def test_other_base_values_are_refused(people: Path) -> None:
    coarse = COLUMNS | {"age": "{role: quasi, kind: interval, granularity: 2, range: [20, 27]}"}
    reason = r"two counts losses in other base values than one \(column 'age'\)"
    with pytest.raises(ConfigError, match=reason):
        read_plane([search("one"), search("two", coarse)])


def test_a_front_that_does_not_say_its_table_is_refused(people: Path) -> None:
    one = search("one")
    Path("saved").mkdir()
    load_front(one).save("saved")
    with pytest.raises(DataError, match="saved does not say which table it is of"):
        read_plane([one, Path("saved")])


def test_a_folder_is_named_once(people: Path) -> None:
    one = search("one")
    with pytest.raises(ConfigError, match="one is named twice; name each results folder once"):
        read_plane([one, one])
