from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon import datasets
from moanon.baselines import find_baseline, lattice
from moanon.baselines.lattice import FullDomain, Lattice
from moanon.baselines.requirement import make_requirement
from moanon.data.domain import TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.measures.evaluate import measure_grouping
from moanon.measures.suppression import row_limit
from tests.baselines.exhaustive import all_nodes
from tests.baselines.worked_example import customers
from tests.naive import distinct_l, entropy_l, sensitive_rows
from tests.strategies import few, instances

ALGORITHMS = incognito, ola, flash = [
    find_baseline(name).run for name in ("incognito", "ola", "flash")
]
Algorithm = Callable[..., FullDomain]


def loss_of(instance: Instance, found: FullDomain) -> float:
    return float(measure_grouping(found.grouping(instance))["loss"])


# -- against all nodes -----------------------------------------------------------------------------


@few
@given(st.data())
def test_each_algorithm_finds_the_first_of_the_best_nodes(data: st.DataObject) -> None:
    instance = data.draw(instances())
    rows = instance.cells.rows
    k, eta = data.draw(st.integers(1, min(8, rows))), data.draw(st.sampled_from([0, 0.1, 0.3, 0.9]))
    nodes = list(all_nodes(instance, row_limit(eta, rows), lambda group: len(group) >= k))
    best, loss = min(nodes, key=lambda node: (node[1], node[0]))
    for algorithm in ALGORITHMS:
        found = algorithm(instance, k, eta)
        assert found.levels == best
        assert loss_of(instance, found) == pytest.approx(float(loss))


@few
@given(st.data())
def test_demands_on_sensitive_values_are_met_at_least_loss(data: st.DataObject) -> None:
    instance = data.draw(instances(sensitive=1))
    values = sensitive_rows(instance, "s0")
    name, rule = data.draw(st.sampled_from([("l_distinct", distinct_l), ("l_entropy", entropy_l)]))
    bound = data.draw(st.sampled_from([1.0, 2.0]))
    eta = data.draw(st.sampled_from([0, 0.3])) if name == "l_distinct" else 0

    def fine(group: list[int]) -> bool:
        return len(group) >= 2 and rule([values[i] for i in group]) >= bound - 1e-9

    if instance.cells.rows < 2 or not fine(list(range(len(values)))):
        return
    nodes = list(all_nodes(instance, row_limit(eta, len(values)), fine))
    best = min(nodes, key=lambda node: (node[1], node[0]))[0]
    for algorithm in ALGORITHMS:
        assert algorithm(instance, 2, eta, demands=[(name, bound)]).levels == best


@given(st.data())
def test_losses_without_suppression_are_known_without_counting(data: st.DataObject) -> None:
    instance = data.draw(instances())
    nodes = Lattice(instance, make_requirement(instance, 1), "a test")
    full = instance.losses.scale * len(instance.layout.columns) * instance.cells.rows
    for node, loss in all_nodes(instance, 0, lambda group: True):
        assert int(nodes.generalization_losses[node]) == loss * full


# -- worked by hand --------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_customers_are_generalized_as_in_table_2(algorithm: Algorithm) -> None:
    # gender: F M N | not M, M | Any; age: 24, 29 | *. Two rows at least only where age is * and
    # gender is on level 1 (3 and 2 rows) or 2. Level 1: 3 rows lose 1/2, and all 5 their age.
    instance = customers()
    found = algorithm(instance, 2)
    assert found.levels == (1, 1)
    grouping = found.grouping(instance)
    assert [grouping.labels["gender"][i] for i in grouping.row_group] == [
        "not M",
        "not M",
        "M",
        "M",
        "not M",
    ]
    assert set(grouping.labels["age"]) == {"*"}
    assert loss_of(instance, found) == (3 / 2 + 5) / 10


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_suppressed_row_can_be_worth_more_than_a_level(algorithm: Algorithm) -> None:
    # One of five rows may go. Level 1 of gender alone: F 29 goes (2 of 10), F 24 and N 24 lose 1/2
    # each; 3 of 10. Level 1 of age alone: N goes (2), four rows lose their age (4).
    instance = customers()
    found = algorithm(instance, 2, 0.2)
    assert found.levels == (1, 0)
    assert loss_of(instance, found) == 0.3
    assert found.grouping(instance).suppressed == 1


def test_the_lowest_nodes_that_are_enough_need_not_be_the_best() -> None:
    # a a a b c, two rows may go, k = 2. As they are: b and c go, 2 of 5. With b and c merged, none
    # does, and two rows lose 1/2: 1 of 5. The node above is the better one.
    tree = Hierarchy.from_yaml("Any: {a: , bc: [b, c]}")
    table = read_table(pd.DataFrame({"x": list("aaabc")}), {"x": "quasi"})
    instance = Instance.build(table, {"x": TreeSpec(tree)})
    for algorithm in ALGORITHMS:
        found = algorithm(instance, 2, 0.4)
        assert found.levels == (1,)
        assert loss_of(instance, found) == 0.2


def test_solutions_are_stored_with_their_rule() -> None:
    recodings = incognito(customers(), 2, 0.2).recodings
    # leaves F, N, M: F and N merged, M apart; ages apart
    assert recodings.entry(0) == {"genome": "011", "thresholds": {"size": 2, "diversity": 0}}
    assert recodings.suppression.eta == 0.2


# -- known optima ----------------------------------------------------------------------------------

KS = (2, 5, 10, 20, 50)
#: The optimal losses at these k, for each share of rows that may be suppressed.
OPTIMA = {
    0.0: (0.5900, 0.6608, 0.6608, 0.7029, 0.7150),
    0.01: (0.3030, 0.4035, 0.4741, 0.5150, 0.5929),
    0.1: (0.1604, 0.2283, 0.2807, 0.3322, 0.3966),
}
CASES = [
    pytest.param(eta, k, loss, marks=() if eta == 0 else pytest.mark.slow)
    for eta, losses in OPTIMA.items()
    for k, loss in zip(KS, losses, strict=True)
]


@pytest.fixture(scope="module")
def adult(shared: Path) -> Instance:
    """Adult with ARX's hierarchies: 6,480 full-domain generalizations."""
    columns = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex")
    specs = {
        name: TreeSpec(Hierarchy.read(shared / "arx" / f"adult_hierarchy_{name}.csv"))
        for name in (*columns, "native-country")
    }
    table = read_table(datasets.load("adult"), dict.fromkeys(specs, "quasi"))
    return Instance.build(table, specs)


@pytest.mark.parametrize(("eta", "k", "loss"), CASES)
def test_adult_reaches_the_known_optimum(adult: Instance, eta: float, k: int, loss: float) -> None:
    found = [algorithm(adult, k, eta) for algorithm in ALGORITHMS]
    assert len({each.levels for each in found}) == 1
    assert round(loss_of(adult, found[0]), 4) == loss
    assert all(each.checked < 6480 for each in found)


# -- what is refused -------------------------------------------------------------------------------


def test_a_demand_that_merging_can_break_is_refused_where_rows_may_go() -> None:
    with pytest.raises(ConfigError, match="a group that meets alpha may fail it when merged"):
        ola(customers(sensitive=True), 2, 0.2, demands=[("alpha", 0.6)])


def test_a_lattice_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lattice, "MAX_ENUMERATED", 5)
    with pytest.raises(
        ConfigError, match="the table has 6 full-domain generalizations; Flash looks at most at 5"
    ):
        flash(customers(), 2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_eta_must_be_a_share(algorithm: Algorithm) -> None:
    with pytest.raises(ConfigError, match=r"eta must be in \[0, 1\). Got 1"):
        algorithm(customers(), 2, 1.0)


def test_tags_say_of_every_node_what_counting_would() -> None:
    # All three ways end with the same knowledge: of 6 nodes, 2 are enough.
    instance = customers()
    for way in (lattice._subset_by_subset, lattice._half_by_half, lattice._path_by_path):
        tags = lattice._Tags(Lattice(instance, make_requirement(instance, 2), "a test"))
        way(tags)
        enough = [node for node in product(range(3), range(2)) if tags.state[node] == 1]
        assert enough == [(1, 1), (2, 1)]
        assert (tags.state != 0).all()
