"""Baselines as results: what is asked of an algorithm, and the folder that comes of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from moanon.baselines import BASELINES, find_baseline
from moanon.config import Config
from moanon.errors import ConfigError, InfeasibleError, OutputError
from moanon.experiment import Experiment, load_front, plan
from moanon.experiment.baseline import BaselineFront, baseline_front, plan_baseline, run_baseline
from moanon.measures.evaluate import measure_grouping
from tests.search.people import config_text


def made(name: str, ks: Sequence[int] = (), **problem: object) -> BaselineFront:
    """The front of a baseline under a problem."""
    text = json.dumps({"preset": "k-suppression", **problem})
    Path("people.yaml").write_text(config_text(problem=text))
    config = Config.load("people.yaml")
    return baseline_front(name, config, config.instance(), ks)


def write(name: str, config: Path, *, force: bool = False) -> Path:
    planned = plan_baseline(name, config, out="found")
    run_baseline(name, planned, [2, 5], force=force)
    return Path("found")


# -- the releases --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BASELINES)
def test_every_solution_measures_as_the_algorithms_release(name: str, people: Path) -> None:
    found = made(name, [2, 5, 20], eta=0.1)
    instance = found.front.instance
    assert instance is not None
    settings = {"eta": 0.1} if "eta" in BASELINES[name].takes else {}
    for each in found.asked:
        assert each.solution is not None
        release = find_baseline(name).run(instance, each.k, **settings).grouping(instance)
        stated = measure_grouping(release)
        row = each.solution - 1
        for measure in ("k", "loss", "suppressed", "groups", "l_distinct"):
            assert found.front.measures[measure][row] == stated[measure]
        grouping = found.front.grouping(each.solution)
        assert np.array_equal(
            np.sort(grouping.sizes[grouping.kept]), np.sort(release.sizes[release.kept])
        )


def test_without_ks_the_usual_ones_are_asked_for_as_far_as_the_table_goes(people: Path) -> None:
    assert [each.k for each in made("mondrian").asked] == [2, 5, 10, 20, 50, 100]


def test_releases_that_others_beat_are_kept(people: Path) -> None:
    # From 50 on the table of 120 people is one group.
    found = made("mondrian", [50, 100])
    assert found.front.measures["k"].tolist() == [120, 120]
    assert found.front.measures["loss"].tolist() == [1.0, 1.0]


def test_a_k_is_asked_for_once(people: Path) -> None:
    assert [each.k for each in made("mondrian", [5, 2, 5]).asked] == [2, 5]


def test_nodes_are_counted_where_there_is_a_lattice(people: Path) -> None:
    assert [each.checked for each in made("mondrian", [5]).asked] == [None]
    assert made("mingen", [5]).asked[0].checked == 2 * 2 * 3  # levels of age, size and place


def test_constraints_on_groups_are_demands(people: Path) -> None:
    free = made("mondrian", [2])
    diverse = made("mondrian", [2], constraints={"l_distinct": {"min": 3}})
    assert free.front.measures["l_distinct"][0] < 3
    assert diverse.front.measures["l_distinct"][0] >= 3
    assert diverse.front.suppression.constraints == (("l_distinct", 3.0),)


def test_the_l_of_a_constraint_is_counted_as_the_configuration_says(people: Path) -> None:
    found = made("mondrian", [2], constraints={"l": {"min": 2}}, diversity="frequency")
    assert found.front.measures["l"][0] >= 2
    assert found.front.measures["l_frequency"][0] >= 2


def test_a_release_that_breaks_a_constraint_on_the_table_is_left_out(people: Path) -> None:
    found = made("mondrian", [2, 100], constraints={"loss": {"max": 0.5}})
    assert [each.solution for each in found.asked] == [1, None]
    assert len(found.front) == 1
    assert found.front.bounds == {"loss": 0.5}
    assert "left out, because they break constraints: the releases for k 100" in found.notes


def test_a_constraint_on_k_is_where_the_usual_ks_begin(people: Path) -> None:
    found = made("mondrian", constraints={"k": {"min": 15}})
    assert [each.k for each in found.asked] == [20, 50, 100]


def test_thresholds_of_a_search_become_what_is_attained(people: Path) -> None:
    assert made("flash", [5], preset="kl-safety").front.objectives == ("k", "l", "loss")


def test_an_eta_that_is_not_used_is_told(people: Path) -> None:
    assert made("mondrian", [5], eta=0.1).notes == (
        "mondrian suppresses no rows; problem.eta is not used",
    )
    assert made("datafly-k", [5], eta=0.1).notes == (
        "datafly-k suppresses up to k rows; problem.eta is not used",
    )
    assert made("flash", [5], eta=0.1).notes == ()


def test_a_limit_of_k_rows_is_that_of_the_largest_k(people: Path) -> None:
    front = made("datafly-k", [2, 6]).front
    assert front.suppression.eta == 6 / 120
    assert (front.measures["suppressed"] <= [2, 6]).all()


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "ks", "problem", "reason"),
    [
        ("mondrian", [121], {}, "k must be at most 120, the rows of the table. Got 121"),
        ("mondrian", [0], {}, "k must be a whole number, at least 1. Got 0"),
        (
            "mondrian",
            [3],
            {"constraints": {"k": {"min": 5}}},
            r"k must be at least 5, as problem\.constraints says\. Got 3",
        ),
        (
            "datafly",
            [],
            {"constraints": {"l_distinct": {"min": 2}}},
            "datafly knows no demand on groups but k, and the configuration has one on l_distinct",
        ),
        (
            "flash",
            [],
            {"eta": 0.1, "constraints": {"t_closeness": {"max": 0.2}}},
            "where rows may be suppressed, Flash takes demands on k and on the number of",
        ),
        (
            "flash",
            [],
            {"eta": [0.0, 0.1]},
            r"a baseline takes one eta\. Got \[0\.0, 0\.1\] \(problem\.eta\)",
        ),
    ],
)
def test_what_an_algorithm_cannot_do_is_refused(
    name: str, ks: list[int], problem: dict[str, object], reason: str, people: Path
) -> None:
    with pytest.raises(ConfigError, match=reason):
        made(name, ks, **problem)


def test_a_space_that_is_too_large_for_mingen_is_refused(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moanon.baselines.lattice.MOST_NODES", 11)
    reason = "the table has 12 full-domain generalizations; MinGen looks at most at 11"
    with pytest.raises(ConfigError, match=reason):
        made("mingen")


def test_demands_that_no_group_meets_are_infeasible(people: Path) -> None:
    with pytest.raises(InfeasibleError, match=r"no group can meet the demand l_entropy at least 3"):
        made("mondrian", constraints={"l_entropy": {"min": 3.9}})


def test_no_release_within_the_constraints_is_infeasible(people: Path) -> None:
    reason = r"no release of mondrian meets the constraints: with k 50, loss is 1 \(at most 0\.5\)"
    with pytest.raises(InfeasibleError, match=reason):
        made("mondrian", [50], constraints={"loss": {"max": 0.5}})


def test_an_eta_for_a_baseline_that_suppresses_nothing_is_refused(config: Path) -> None:
    with pytest.raises(ConfigError, match=r"mingen suppresses no rows and takes no eta\. Got 0\.1"):
        plan_baseline("mingen", config, eta=0.1)
    with pytest.raises(ConfigError, match=r"datafly-k suppresses up to k rows and takes no eta\."):
        plan_baseline("datafly-k", config, eta=0.1)


# -- the folder ----------------------------------------------------------------------------------


def test_results_are_named_after_configuration_and_baseline(config: Path) -> None:
    planned = plan_baseline("ola", config, eta=0.05)
    assert (planned.name, planned.output.dir) == ("people-ola", "results/people-ola")
    assert planned.problem.eta == 0.05


@pytest.mark.parametrize("name", ["mondrian", "flash"])
def test_the_folder_can_be_read_and_released_from(name: str, config: Path) -> None:
    front = load_front(write(name, config))
    certificate = front.release(2).write("release.csv")
    assert certificate.k == front.measures["k"][1] >= 5


def test_the_record_tells_what_was_asked_for(config: Path) -> None:
    record = json.loads((write("flash", config) / "run.json").read_text())
    assert record["baseline"]["name"] == "flash"
    asked = record["baseline"]["asked"]
    assert [each["k"] for each in asked] == [2, 5]
    assert all(each["checked"] > 0 and each["cpu_seconds"] >= 0 for each in asked)
    assert record["roles"]["ill"] == "sensitive"
    assert record["data"]["rows"] == 120
    assert "seed" not in record


def test_a_mondrian_is_stored_as_one_without_suppression(config: Path) -> None:
    folder = write("mondrian", config)
    assert Config.load(folder / "config.yaml").problem.eta == 0.0
    assert load_front(folder).suppression.eta == 0.0


def test_results_are_replaced_with_force_only(config: Path) -> None:
    folder = write("mondrian", config)
    before = (folder / "run.json").read_bytes()
    with pytest.raises(OutputError, match=r"found holds results already \(front\.csv\); replace"):
        write("flash", config)
    assert (folder / "run.json").read_bytes() == before
    write("flash", config, force=True)
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.yaml",
        "domains.json",
        "front.csv",
        "run.json",
        "solutions.json",
    ]


def test_with_force_nothing_is_left_of_a_run_for_several_limits(config: Path) -> None:
    (planned,) = plan([config], etas=[0.0, 0.1], out="found")
    Experiment.prepare(planned).run()
    with pytest.raises(OutputError, match="found holds results already"):
        write("mondrian", config)
    names = sorted(path.name for path in write("mondrian", config, force=True).iterdir())
    assert names == [
        "boxes.npz",
        "config.yaml",
        "domains.json",
        "front.csv",
        "run.json",
        "solutions.json",
    ]


def test_a_search_does_not_go_on_from_a_baseline(config: Path) -> None:
    write("mondrian", config)
    (planned,) = plan([config], out="found")
    with pytest.raises(OutputError, match=r"another run \(of the baseline mondrian\); replace"):
        Experiment.prepare(planned)


def test_nothing_is_made_where_there_is_no_release(config: Path) -> None:
    sets = ["problem.constraints.loss.max=0.001"]
    planned = plan_baseline("mondrian", config, sets, out="found")
    with pytest.raises(InfeasibleError):
        run_baseline("mondrian", planned)
    assert not Path("found").exists()
