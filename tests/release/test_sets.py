"""Sets of neighbouring nodes as labels: written, read back, and true wherever they are read."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moanon.compare import compare
from moanon.config import Config
from moanon.data.domain import IntervalSpec, TreeDomain, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.errors import ConfigError, DataError
from moanon.front import Front
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures.evaluate import measure_grouping
from moanon.measures.suppression import Suppression
from moanon.release import Release
from moanon.release.labels import label_rules
from moanon.release.matching import read_released
from moanon.search.local import LocalSearch
from moanon.search.problem import AnonymizationProblem
from tests import naive
from tests.data.columns import column_of
from tests.search.people import PLACES, people_frame
from tests.strategies import boxes, rich_instances


def tree_of(*leaves: str, sets: bool = True) -> TreeDomain:
    """A tree of pairs of leaves."""
    pairs = {f"pair {i}": list(leaves[i : i + 2]) for i in range(0, len(leaves), 2)}
    return TreeSpec(Hierarchy.from_nested("Any", pairs), sets=sets).build(column_of([leaves[0]]))


def test_a_set_names_the_largest_nodes_that_it_is_made_of() -> None:
    domain = tree_of(*"abcdef")
    assert domain.label(0, 2) == "pair 0"
    assert domain.label(0, 4) == "{pair 0, pair 2}"
    assert domain.label(1, 5) == "{b, pair 2, e}"
    assert domain.label(1, 2) == "b"
    assert domain.label(0, 6) == "*"


@given(
    st.lists(
        st.text(st.sampled_from('ab,{}" ;\n*='), min_size=1, max_size=4).filter(
            lambda name: name != "*" and not name.startswith("{")
        ),
        min_size=2,
        max_size=7,
        unique=True,
    )
)
def test_sets_of_any_names_are_read_back(leaves: list[str]) -> None:
    domain = tree_of(*leaves)
    rules = label_rules(domain)
    blocks = list(combinations(range(domain.size + 1), 2))
    labels = [domain.label(start, stop) for start, stop in blocks]
    assert len({*labels}) == len(labels)
    assert [rules.find(label) for label in labels] == blocks


@pytest.mark.parametrize(
    "label",
    ["{b, a}", "{a}", "{a, c}", "{a, b", "a, b", "{a,b}", "{a, , b}", "{a, x}", "{}", "{{a, b}}",
     '{"a, b}', "{a, b, b}", "{a, Any}"],
)  # fmt: skip
def test_what_is_no_set_of_neighbours_stands_for_nothing(label: str) -> None:
    assert label_rules(tree_of(*"abcd")).find(label) is None


def test_sets_are_read_only_where_they_can_be() -> None:
    domain = tree_of(*"abcd", sets=False)
    assert label_rules(domain).find("{b, c}") is None
    assert label_rules(domain, every_name=True).find("{b, c}") == (1, 3)


def test_a_node_that_reads_as_a_set_is_refused() -> None:
    with pytest.raises(DataError, match=r"node called '\{a, b\}', which reads as a set of values"):
        tree_of("{a, b}", "c")


# -- releases --------------------------------------------------------------------------------------


FRAME = people_frame()[["age", "place", "ill"]].assign(id=range(120))
ROLES = {"age": "quasi", "place": "quasi", "ill": "sensitive", "id": "insensitive"}


def local_front(*, sets: bool) -> Front:
    specs = {"age": IntervalSpec(1, (20, 27)), "place": TreeSpec(PLACES, sets=sets)}
    instance = Instance.build(read_table(FRAME, ROLES), specs)
    search = LocalSearch(AnonymizationProblem(instance, ("k", "loss"), Suppression("limit", 0.1)))
    while not search.exhausted:
        search.step()
    return search.front(1000)


@pytest.fixture(scope="module")
def front() -> Front:
    """People whose places are shown as sets."""
    return local_front(sets=True)


def test_sets_lose_less_than_nodes(front: Front) -> None:
    nodes = local_front(sets=False)
    for k in (5, 10, 20):
        less, more = (
            each.measures["loss"][each.measures["k"] >= k].min() for each in (front, nodes)
        )
        assert less < more


def test_every_release_with_sets_measures_as_the_front_says(front: Front, tmp_path: Path) -> None:
    seen = set()
    for number in front.ids.tolist():
        path = tmp_path / f"{number}.csv"
        certificate = front.release(number).write(path)
        assert certificate.k == front.measures["k"][number - 1]
        found = measure_grouping(read_released(path, front.instance, key="id"))
        for name in ("k", "loss", "entropy_loss", "prec", "suppressed", "groups"):
            assert found[name] == pytest.approx(front.measures[name][number - 1], abs=1e-12), name
        seen |= {*pd.read_csv(path)["place"]}
    assert any(label.startswith("{") for label in seen)


def test_fronts_with_sets_come_back_from_their_folder(front: Front, tmp_path: Path) -> None:
    front.save(tmp_path)
    again = Front.load(tmp_path, front.instance)
    assert again.labels == front.labels
    assert any(label.startswith("{") for blocks in again.labels for label in blocks["place"])


def test_new_rows_are_shown_as_sets(front: Front) -> None:
    table = read_table(FRAME.iloc[::-1], ROLES)
    number = int(front.ids[front.measures["k"] >= 5][0])
    released = front.apply(number, table, outside="suppress", k=2)
    assert any(label.startswith("{") for label in released.grouping.labels["place"])


def test_releases_with_sets_are_compared(front: Front) -> None:
    # A loses less than B, which is everybody in one group
    small, large = front.grouping(2).named("small"), front.grouping(len(front)).named("large")
    verdicts = compare([small, large], ["utility"], comparators=["cov"]).verdicts
    assert [verdict.better for verdict in verdicts] == ["A"]


@given(st.data())
@settings(max_examples=15)
def test_sets_written_to_a_file_are_found_there(tmp_path_factory, data) -> None:
    instance = data.draw(rich_instances())
    grouping = Grouping.of_boxes(instance, *data.draw(boxes(instance, suppress=False)))
    path = tmp_path_factory.mktemp("sets") / "released.csv"
    Release(grouping).write(path, keep_order=True)
    again = read_released(path, instance)
    assert sorted(naive.members(again)) == sorted(naive.members(grouping))
    here, there = measure_grouping(grouping), measure_grouping(again)
    for name in there:
        assert there[name] == pytest.approx(here[name], rel=1e-12, nan_ok=True), name


# -- configurations --------------------------------------------------------------------------------


def configured(recoding: str = "local", **column: str | None) -> Config:
    tree = {"role": "quasi", "kind": "tree", "hierarchy": "adult/workclass", "labels": "sets"}
    return Config.from_dict(
        {
            "data": {"source": "people.csv", "missing": "drop"},
            "columns": {"place": tree | column},
            "problem": {"recoding": recoding},
        }
    )


def test_a_configuration_asks_for_sets() -> None:
    spec = configured().specs()["place"]
    assert isinstance(spec, TreeSpec)
    assert spec.sets
    assert not configured(labels="nodes").specs()["place"].sets


def test_sets_are_refused_in_global_recodings() -> None:
    with pytest.raises(
        ConfigError, match=r"sets are for local recodings.* \(columns\.place\.labels"
    ):
        configured("global")


def test_labels_are_for_trees() -> None:
    with pytest.raises(ConfigError, match=r"labels is for kind tree only\. Got kind interval"):
        configured(kind="interval", hierarchy=None)
