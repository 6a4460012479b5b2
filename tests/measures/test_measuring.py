"""Any grouping of a table's rows: as a genome's measures where it is one, and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.domain import IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.errors import DataError
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures import MEASURES, applicable
from moanon.measures.evaluate import Evaluator, measure_grouping, meet_constraints, suppress_groups
from moanon.measures.suppression import Suppression
from moanon.release import Release
from tests.compare.source import without_meaning
from tests.strategies import boxes, few, instances, populations, rich_instances


@few
@given(st.data())
def test_a_genomes_groups_measure_as_the_genome(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=3))
    rule = Suppression("limit", data.draw(st.sampled_from([0.0, 0.3])))
    names = [m.name for m in applicable(instance) if not m.of_rule]
    scores = Evaluator(instance).evaluate(genomes, rule, measures=names)
    for i, genome in enumerate(genomes):
        groups = Grouping.of_genome(instance, genome)
        grouping = suppress_groups(groups, rule, [scores.field("d1")[i], 0])
        expected = {name: MEASURES[name].of(scores)[i].item() for name in names}
        assert measure_grouping(grouping, rule) == expected  # to the last bit
        # a file shows the rows of the kept groups, and what they show, and no more
        released = grouping.released()
        found = measure_grouping(
            Grouping.of_rows(instance, released.row_group, released.starts, released.stops), rule
        )
        if not grouping.kept.all():
            del expected["weighted_k"]
            # blocks that only suppressed rows show, and blocks without rows, are not known
            for name in ("absdist", "reldist"):
                assert found.pop(name) <= expected.pop(name)
        elif found["absdist"] != expected["absdist"]:  # so are blocks without rows
            assert all(found.pop(name) < expected.pop(name) for name in ("absdist", "reldist"))
        assert found == expected  # to the last bit


@few
@given(st.data())
def test_diversity_and_its_constant_are_those_of_the_rule(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=2))
    rule = Suppression(
        "none",
        diversity=data.draw(st.sampled_from(["distinct", "frequency"])),
        recursive_c=data.draw(st.sampled_from([0.5, 1.5, 3.0])),
    )
    names = ["l", "l_recursive"]
    scores = Evaluator(instance).evaluate(genomes, rule, measures=names)
    for i, genome in enumerate(genomes):
        found = measure_grouping(Grouping.of_genome(instance, genome), rule)
        assert {name: found[name] for name in names} == {
            name: MEASURES[name].of(scores)[i].item() for name in names
        }


PLACES = Hierarchy.from_nested("any", {"north": ["oslo", "bergen", "voss"], "south": ["rome"]})


def four_people() -> Instance:
    frame = pd.DataFrame(
        {
            "age": [20, 21, 22, 23],
            "place": ["oslo", "bergen", "voss", "rome"],
            "ill": ["flu", "gout", "flu", "flu"],
        }
    )
    table = read_table(frame, {"age": "quasi", "place": "quasi", "ill": "sensitive"})
    specs = {"age": IntervalSpec(1, (20, 24)), "place": TreeSpec(PLACES)}
    return Instance.build(table, specs)


def measured_groups(row_group: list[int], starts: list, stops: list) -> dict[str, float]:
    return measure_grouping(Grouping.of_rows(four_people(), row_group, starts, stops))


def test_groups_that_no_genome_makes_are_measured():
    # rows 0, 1 show ages 20-21, rows 1-2 overlap in 21: {0, 1} as 20..21, {2, 3} as 21..24
    found = measured_groups([0, 0, 1, 1], [[0, 1], [0, 0]], [[2, 5], [2, 4]])
    # age: 2 rows 1/4, 2 rows 3/4; place: oslo..bergen is half a node → (2-1)/3, and all → 1
    assert found["loss"] == pytest.approx((2 * (1 / 4 + 1 / 3) + 2 * (3 / 4 + 1)) / 8)
    # oslo..bergen counts as the whole north, level 1 of 2; any is level 2
    assert found["prec"] == pytest.approx(1 - (2 * 0.5 + 2 * 1) / 4)
    assert found["absdist"] == 2
    assert (found["k"], found["groups"], found["dm"]) == (2, 2, 8)
    # {flu, gout} against flu 3/4: 1/4
    assert found["t_closeness"] == 0.25
    assert found["l_distinct"] == 1
    assert found["weighted_k"] == 2


def test_suppressed_rows_are_in_no_group():
    found = measured_groups([0, 0, -1, 0], [[0], [0]], [[5], [4]])
    assert (found["suppressed"], found["k"], found["dm"]) == (1, 3, 9 + 4)
    assert found["loss"] == 1
    assert "weighted_k" not in found
    assert found["weighted_k_kept"] == 3


@pytest.mark.parametrize(
    ("row_group", "starts", "stops", "message"),
    [
        ([0, 0, 0], [[0]] * 2, [[1]] * 2, r"one of the 4 rows must have a group, or -1\. Got .*3"),
        ([-1] * 4, [[0]] * 2, [[1]] * 2, "no row is left"),
        ([0, 0, 2, 2], [[0] * 3] * 2, [[1] * 3] * 2, "numbered from 0 to 2, each with a row"),
        ([0, 0, -2, 0], [[0]] * 2, [[1]] * 2, "numbered from 0 to 0"),
        ([0, 0, 0, 0], [[0]], [[1]], "for 2 columns and 1 groups"),
        ([0, 0, 0, 0], [[0], [2]], [[1], [2]], "at least one"),
        ([0, 0, 0, 0], [[0], [0]], [[6], [1]], "base values of its column's domain"),
    ],
)
def test_a_grouping_that_does_not_fit_is_refused(row_group, starts, stops, message):
    with pytest.raises(DataError, match=message):
        measured_groups(row_group, starts, stops)


def test_a_table_without_sensitive_columns_has_losses():
    frame = pd.DataFrame({"q": list("aab")})
    instance = Instance.build(read_table(frame, {"q": "quasi"}), {"q": OrderedSpec(("a", "b"))})
    found = measure_grouping(Grouping.of_rows(instance, [0, 0, 1], [[0, 1]], [[1, 2]]))
    assert found["dm"] == 5
    assert "t_closeness" not in found


# -- what a released table shows -------------------------------------------------------------------


@given(instances(), st.integers(0, 2**32 - 1))
def test_a_table_without_suppression_measures_as_its_genome_does(instance, seed):
    genome = instance.layout.sample(1, np.random.default_rng(seed))
    found = measure_grouping(Release.of(instance, genome[0]).grouping)
    scores = Evaluator(instance).evaluate(genome, Suppression("none"), measures=list(found))
    assert found == {name: MEASURES[name].of(scores)[0] for name in found}
    left_out = {measure.name for measure in applicable(instance)} - set(found)
    # what a rule arrived at, and a table shows no rule
    assert left_out <= {"d", "d1", "d2", "weighted_l"}


def released_shirts(k: int) -> Grouping:
    """S S M M M, of which the S are suppressed for a k of 3."""
    frame = pd.DataFrame({"size": list("SSMMM"), "ill": list("aabba")})
    table = read_table(frame, {"size": "quasi", "ill": "sensitive"})
    instance = Instance.build(table, {"size": OrderedSpec(("S", "M", "L"))})
    return Release.of(instance, [1, 0], k=k).grouping


def test_what_suppressed_rows_hide_is_left_out():
    assert measure_grouping(released_shirts(1))["weighted_k"] == 13 / 5  # (2·2 + 3·3) / 5
    # who suppressed the rows knows how they were grouped; a file does not show it
    assert measure_grouping(released_shirts(3))["weighted_k"] == 13 / 5
    found = measure_grouping(released_shirts(3).released())
    assert "weighted_k" not in found
    # Three rows in M..L, a loss of 1/2 each; two rows lost: 1.5/5 + 2/5.
    assert (found["k"], found["gl"], found["sl"], found["loss"]) == (3, 0.3, 0.4, 0.7)


def test_without_domains_losses_are_left_out():
    found = measure_grouping(without_meaning(released_shirts(3)))
    assert (found["k"], found["sl"], found["l_distinct"]) == (3, 0.4, 2)
    assert not {"gl", "loss"} & set(found)
    assert not any(MEASURES[name].reads_labels for name in found)
    # all the others are the same
    whole = measure_grouping(released_shirts(3).released())
    assert found == {n: v for n, v in whole.items() if not MEASURES[n].reads_labels}


@pytest.mark.parametrize("known", [True, False])
def test_sensitive_values_that_are_not_there_are_left_out(known):
    seen = released_shirts(3).released()
    if not known:
        seen = without_meaning(seen)
    found = measure_grouping(replace(seen, absent=("ill",)))
    whole = measure_grouping(seen)
    assert found == {n: v for n, v in whole.items() if MEASURES[n].requires != "sensitive"}
    assert len(found) < len(whole)


@given(st.data())
def test_groups_of_some_cells_meet_constraints_as_those_of_a_grouping_do(
    data: st.DataObject,
) -> None:
    instance = data.draw(instances(sensitive=1))
    grouping = Grouping.of_boxes(instance, *data.draw(boxes(instance)))
    rule = Suppression("none", constraints=(("k", 2), ("l_distinct", 2), ("t_js", 0.3)))
    cells = np.flatnonzero(grouping.cell_group >= 0)
    met = meet_constraints(instance, cells, grouping.cell_group[cells], grouping.sizes, rule)
    assert met.tolist() == suppress_groups(grouping, rule).kept.tolist()
