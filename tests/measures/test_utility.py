"""Large populations and utility loss, against the slow twin and by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moanon.config import Config
from moanon.data.domain import IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.data.populations import SubpopulationSpec
from moanon.engines import read_table
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures import find_measure
from moanon.measures.evaluate import Evaluator, measure_grouping
from moanon.measures.loss import utility_losses
from moanon.measures.suppression import Suppression
from tests import naive_populations
from tests.strategies import boxes, instances, populations

SUPPORTS = (0.05, 0.1, 0.3, 0.5, 1.0)


@st.composite
def ruled_instances(draw: st.DrawFn) -> Instance:
    """A small table with a sensitive column, and a rule of populations that it has."""
    instance = draw(instances(most_rows=30, sensitive=1))
    names = [n for n, domain in instance.layout.domains.items() if domain.kind != "tree"]
    widths = st.sets(st.integers(2, 5), max_size=2).map(sorted).map(tuple)
    ancestors = {name: draw(widths) for name in names if draw(st.booleans())}
    rule = SubpopulationSpec(draw(st.sampled_from(SUPPORTS)), ancestors)
    return replace(instance, subpopulation_spec=rule)


def expected(instance: Instance) -> dict[naive_populations.Predicate, list[int]]:
    rule = instance.subpopulation_spec
    assert rule is not None
    return naive_populations.populations(
        instance, Fraction(str(rule.min_support)), dict(rule.ancestors)
    )


@settings(max_examples=25, deadline=None)
@given(ruled_instances())
def test_populations_are_those_of_the_definition(instance: Instance) -> None:
    wanted = expected(instance)
    if not wanted:
        with pytest.raises(ConfigError, match="no population has a share of"):
            _ = instance.populations
        return
    found = instance.populations
    domains = list(instance.layout.domains)
    shown = sorted(tuple(sorted(each.items())) for each in found.predicates())
    labels = [
        tuple(
            sorted(
                (domains[c], instance.layout.domains[domains[c]].label(node[0], node[-1] + 1))
                for c, node in predicate
            )
        )
        for predicate in wanted
    ]
    assert shown == sorted(labels)
    assert sorted(found.rows.tolist()) == sorted(map(len, wanted.values()))
    assert found.truth["s0"].sum(axis=1).tolist() == found.rows.tolist()


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_utility_loss_of_boxes_is_that_of_the_definition(data: st.DataObject) -> None:
    instance = data.draw(ruled_instances())
    wanted = expected(instance)
    if not wanted:
        return
    grouping = Grouping.of_boxes(instance, *data.draw(boxes(instance)))
    for bucketized in (False, True):
        (found,) = utility_losses(grouping, bucketized=bucketized).values()
        slow = naive_populations.utility_loss(grouping, "s0", wanted, bucketized=bucketized)
        assert found == pytest.approx(slow, rel=1e-9, abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_utility_loss_of_rows_is_that_of_the_definition(data: st.DataObject) -> None:
    instance = data.draw(ruled_instances())
    wanted = expected(instance)
    if not wanted:
        return
    rows = instance.cells.rows
    given_groups = np.array(data.draw(st.lists(st.integers(-1, 3), min_size=rows, max_size=rows)))
    given_groups[0] = 0
    _, numbered = np.unique(given_groups[given_groups >= 0], return_inverse=True)
    groups = np.full(rows, -1)
    groups[given_groups >= 0] = numbered
    everything = np.repeat(instance.layout.sizes[:, None], groups.max() + 1, axis=1)
    grouping = Grouping.of_rows(instance, groups, np.zeros_like(everything), everything)
    for bucketized in (False, True):
        (found,) = utility_losses(grouping, bucketized=bucketized).values()
        slow = naive_populations.utility_loss(grouping, "s0", wanted, bucketized=bucketized)
        assert found == pytest.approx(slow, rel=1e-9, abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_a_search_sees_what_is_measured_of_a_release(data: st.DataObject) -> None:
    instance = data.draw(ruled_instances())
    if not expected(instance):
        return
    genomes = data.draw(populations(instance, most=4))
    for rule in (Suppression("none"), Suppression("limit", 0.2), Suppression("weighted-k")):
        scores = Evaluator(instance).evaluate(genomes, rule, measures=["u_loss"])
        found = find_measure("u_loss").of(scores)
        thresholds = np.stack([scores.field("d1"), scores.field("d2")], axis=1)
        at = Evaluator(instance).evaluate_at(genomes, thresholds, rule, measures=["u_loss"])
        assert find_measure("u_loss").of(at).tolist() == found.tolist()
        for each, grouping in zip(found, scores.each_grouping(), strict=True):
            if grouping.kept.any():
                assert measure_grouping(grouping)["u_loss"] == each


@settings(max_examples=20, deadline=None)
@given(ruled_instances())
def test_what_is_not_generalized_loses_nothing(instance: Instance) -> None:
    if not expected(instance):
        return
    grouping = Grouping.of_genome(instance, np.ones(instance.layout.bits, dtype=np.uint8))
    assert utility_losses(grouping)["s0"] == pytest.approx(0, abs=1e-12)


# -- by hand ---------------------------------------------------------------------------------------


def two_sexes(**rule: object) -> Instance:
    frame = pd.DataFrame({"sex": list("ffmm"), "ill": list("aabb")})
    table = read_table(frame, {"sex": "quasi", "ill": "sensitive"})
    specs = {"sex": OrderedSpec(("f", "m"))}
    return Instance.build(table, specs, subpopulation_spec=SubpopulationSpec(**rule))  # type: ignore[arg-type]


def test_one_group_tells_of_everybody_the_same() -> None:
    # Two populations, f with (1, 0) and m with (0, 1), both told as (1/2, 1/2); M = (3/4, 1/4):
    # JS = 1/2 [ln 4/3 + 1/2 ln 2/3 + 1/2 ln 2]
    wanted = (math.log(4 / 3) + math.log(2 / 3) / 2 + math.log(2) / 2) / 2
    grouping = Grouping.of_genome(two_sexes(), [0])
    assert len(grouping.instance.populations) == 2
    assert utility_losses(grouping) == {"ill": pytest.approx(wanted, rel=1e-14)}


def test_buckets_of_all_tell_no_more() -> None:
    grouping = Grouping.of_genome(two_sexes(), [0])
    assert utility_losses(grouping, bucketized=True) == utility_losses(grouping)


def test_a_population_without_a_row_is_told_as_all_released_ones() -> None:
    # f is suppressed: m is told as it is, f as m: JS((1, 0), (0, 1)) = ln 2, and 0.
    grouping = Grouping.of_genome(two_sexes(), [1]).keep(np.array([False, True]))
    for bucketized in (False, True):
        found = utility_losses(grouping, bucketized=bucketized)["ill"]
        assert found == pytest.approx(math.log(2) / 2, rel=1e-14)


def test_ranges_of_numbers_begin_at_multiples_of_their_width() -> None:
    frame = pd.DataFrame({"age": range(17, 33), "ill": ["a"] * 16})
    table = read_table(frame, {"age": "quasi", "ill": "sensitive"})
    rule = SubpopulationSpec(0.3, {"age": (10, 20)})
    instance = Instance.build(table, {"age": IntervalSpec(1)}, subpopulation_spec=rule)
    # [20-29] has 10 of 16 rows, [17-19] 3 and [30-32] 3; twenty years make [17-19] and [20-32].
    assert [each["age"] for each in instance.populations.predicates()] == ["[20-29]", "[20-32]"]


def test_clamped_ends_are_in_no_range() -> None:
    frame = pd.DataFrame({"age": [18, 20, 29, 30, 45, 59, 60, 71], "ill": ["a"] * 8})
    table = read_table(frame, {"age": "quasi", "ill": "sensitive"})
    rule = SubpopulationSpec(0.01, {"age": (2, 4)})
    spec = IntervalSpec(5, range=(20, 60), outside="clamp")
    instance = Instance.build(table, {"age": spec}, subpopulation_spec=rule)
    shown = [each["age"] for each in instance.populations.predicates()]
    ranges = ["[20-29]", "[30-39]", "[40-49]", "[50-59]", "[20-39]", "[40-59]"]
    steps = ["<20", "[20-24]", "[25-29]", "[30-34]", "[45-49]", "[55-59]", ">=60"]
    assert sorted(shown) == sorted(ranges + steps)


def test_numbers_have_doubled_steps_and_orders_no_ranges() -> None:
    frame = pd.DataFrame({"age": [0, 1, 2, 3], "size": list("SMLX"), "ill": list("aaaa")})
    roles = {"age": "quasi", "size": "quasi", "ill": "sensitive"}
    specs = {"age": IntervalSpec(1), "size": OrderedSpec(tuple("SMLX"))}
    instance = Instance.build(
        read_table(frame, roles), specs, subpopulation_spec=SubpopulationSpec(0.5)
    )
    assert list(instance.populations.predicates()) == [{"age": "[0-1]"}, {"age": "[2-3]"}]


def test_the_whole_domain_and_a_chain_of_nodes_are_no_populations_of_their_own() -> None:
    frame = pd.DataFrame({"town": list("AABC"), "ill": list("aaaa")})
    table = read_table(frame, {"town": "quasi", "ill": "sensitive"})
    tree = TreeSpec(Hierarchy.from_yaml("Any: {North: {Far: [A]}, South: [B, C]}"))
    instance = Instance.build(table, {"town": tree}, subpopulation_spec=SubpopulationSpec(0.25))
    shown = [each["town"] for each in instance.populations.predicates()]
    assert sorted(shown) == ["A", "B", "C", "South"]


def test_support_is_compared_exactly() -> None:
    # 0.1 of 30 rows are 3 rows, whatever 0.1 * 30 is.
    assert SubpopulationSpec(0.1).least_rows(30) == 3
    assert SubpopulationSpec(0.05).least_rows(45_222) == 2_262


@pytest.mark.parametrize("share", [0, -0.1, 1.01, math.nan, True, "0.1"])
def test_a_support_that_is_no_share_is_refused(share: object) -> None:
    with pytest.raises(ConfigError, match=r"min_support must be in \(0, 1\]\. Got"):
        SubpopulationSpec(share)  # type: ignore[arg-type]


def test_more_populations_than_allowed_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"more than 1 populations have a share of 0\.05"):
        _ = two_sexes(most=1).populations


def test_more_populations_than_memory_holds_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moanon.data.populations._MOST_NUMBERS", 2)
    with pytest.raises(ConfigError, match=r"2 populations or more .* with 2 sensitive values that"):
        _ = two_sexes(most=10**12).populations


def test_ancestors_of_trees_and_strangers_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"ancestors are of interval and ordered .* Got .town."):
        _ = two_sexes(ancestors={"town": (2,)}).populations


# -- Adult as L has it -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adult() -> Instance:
    trees = ("workclass", "education", "marital-status")
    columns: dict[str, object] = {
        "age": {"role": "quasi", "kind": "interval", "ancestors": [5, 10, 20, 40]},
        **{c: {"role": "quasi", "kind": "tree", "hierarchy": f"adult/{c}"} for c in trees},
        "race": {"role": "quasi", "kind": "ordered", "order": "adult/race"},
        "sex": {"role": "quasi", "kind": "ordered", "order": "adult/sex"},
        "occupation": {"role": "sensitive"},
    }
    problem = {"preset": "zero-suppression", "objectives": ["p_loss", "u_loss"]}
    given = {"name": "l", "data": {"source": "adult-full"}, "columns": columns, "problem": problem}
    return Config.from_dict(given).instance()


def test_adult_without_any_quasi_identifier(adult: Instance) -> None:
    nothing = Grouping.of_genome(adult, np.zeros(adult.layout.bits, dtype=np.uint8))
    assert len(adult.populations) == 1_565
    assert utility_losses(nothing)["occupation"] == pytest.approx(0.0513, abs=5e-5)


def test_a_revealed_occupation_costs_what_is_published(adult: Instance) -> None:
    values = adult.table.column("occupation")
    for occupation, loss in (("Armed-Forces", 0.692), ("Craft-repair", 0.488)):
        place = values.values.index(occupation)
        rows = np.where(values.codes == place, 0, 1)
        grouping = Grouping.of_rows(adult, rows, None, None).keep(np.array([True, False]))
        assert measure_grouping(grouping)["t_js"] == pytest.approx(loss, abs=5e-4)


def test_the_occupations_of_adult_are_those_of_the_paper(adult: Instance) -> None:
    paper = (
        *(0.0314, 0.1331, 0.1063, 0.1196, 0.1323, 0.1329, 0.0452),
        *(0.0657, 0.1225, 0.0327, 0.0512, 0.0052, 0.0216, 0.0003),
    )
    shares = adult.plan.total[: len(paper)] / adult.cells.rows
    assert sorted(shares.tolist()) == pytest.approx(sorted(paper), abs=1e-4)
