"""Privacy models as the reader works them out: hand-computed, and against the slow oracle."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon import Hierarchy, IntervalSpec, OrderedSpec, Release, TreeSpec, read_table
from moanon.data.domain import DomainSpec
from moanon.data.rules import rule_of
from moanon.errors import CertificateError
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures import MEASURES
from moanon.release.labels import label_rules
from moanon.release.reader_privacy import (
    GroupCounts,
    SensitiveFacts,
    sensitive_facts,
    worse,
    worst_privacy,
)
from tests import naive_measures
from tests.strategies import rich_instances

# Nine people whose salaries are 3k to 11k: Table 3 of Li, Li and Venkatasubramanian (ICDE 2007).
SALARIES = [f"{k}000" for k in range(3, 12)]
ILLS = Hierarchy.from_nested(
    "ill",
    {
        "lung": ["cancer", "flu", "pneumonia", "bronchitis"],
        "stomach": ["ulcer", "gastritis", "stomach cancer"],
    },
)


def facts_of(values: list[str], spec: DomainSpec | None = None) -> SensitiveFacts:
    """What the reader would be told about a column of these values."""
    frame = pd.DataFrame({"q": ["x"] * len(values), "s": values})
    column = read_table(frame, {"q": "quasi", "s": "sensitive"}).columns["s"]
    return sensitive_facts(column, None if spec is None else spec.build(column))


def worst(facts: SensitiveFacts, *groups: list[str]) -> dict[str, float]:
    (found,) = worst_privacy(counted(*map(Counter, groups)), [facts], Fraction(3))
    return found


def counted(*groups: dict[str, int]) -> GroupCounts:
    return GroupCounts.of({(i, v): n for i, group in enumerate(groups) for v, n in group.items()})


# -- hand-computed -------------------------------------------------------------------------------


def test_salaries_of_the_source_by_their_order() -> None:
    facts = facts_of(SALARIES, OrderedSpec(tuple(SALARIES)))
    # Li et al. §5.1: {3k, 4k, 5k} is 0.375 from the table, {6k, 8k, 11k} 0.167.
    assert worst(facts, ["3000", "4000", "5000"])["t_closeness"] == 0.375
    assert worst(facts, ["6000", "8000", "11000"])["t_closeness"] == 1 / 6
    # The worst group counts.
    assert worst(facts, ["6000", "8000", "11000"], SALARIES[:3])["t_closeness"] == 0.375
    assert facts.distance == "ordered"


def test_salaries_of_the_source_as_numbers_in_steps() -> None:
    facts = facts_of(SALARIES, IntervalSpec(granularity=1000, range=(3000, 11999)))
    assert worst(facts, SALARIES[:3])["t_closeness"] == 0.375


def test_a_tree_costs_the_height_that_is_climbed() -> None:
    # Two leaves under A, two under B. The group has a1 alone: 1/4 goes to a2 over height 1 of 2,
    # 1/2 to B over height 2 of 2: 1/4 · 1/2 + 1/2 · 1.
    tree = TreeSpec(Hierarchy.from_nested("Any", {"A": ["a1", "a2"], "B": ["b1", "b2"]}))
    facts = facts_of(["a1", "a2", "b1", "b2"], tree)
    found = worst(facts, ["a1"])
    assert (facts.distance, found["t_closeness"], found["t_equal"]) == ("tree", 0.625, 0.75)


def test_a_tree_counts_its_absent_leaves() -> None:
    # One of seven illnesses occurs: nothing moves. Two in one branch: 1/2 moves over 1 of 2.
    assert worst(facts_of(["flu"], TreeSpec(ILLS)), ["flu"])["t_closeness"] == 0
    facts = facts_of(["flu", "cancer"], TreeSpec(ILLS))
    assert worst(facts, ["flu"])["t_closeness"] == 0.25
    facts = facts_of(["flu", "ulcer"], TreeSpec(ILLS))
    assert worst(facts, ["flu"])["t_closeness"] == 0.5


def test_divergence_and_ratio() -> None:
    facts = facts_of(["a", "a", "a", "b"])
    # p = (1/2, 1/2), q = (3/4, 1/4): ratios 2/3 and 2.
    found = worst(facts, ["a", "b"])
    assert found["delta"] == pytest.approx(math.log(2), rel=1e-15)
    # m = (5/8, 3/8): ½ [½ ln(4/5) + ½ ln(4/3) + ¾ ln(6/5) + ¼ ln(2/3)]
    js = (math.log(4 / 5) + math.log(4 / 3)) / 4 + 3 / 8 * math.log(6 / 5) + math.log(2 / 3) / 8
    assert found["t_js"] == pytest.approx(js, rel=1e-14)
    assert worst(facts, ["a"])["delta"] == math.inf
    # (1/2 - 1/4) / (1/4), below -ln(1/4) = 1.38…; of {a} it is 1/3, above -ln(3/4) = 0.28…
    assert (found["beta"], found["beta_enhanced"]) == (1, 1)
    assert worst(facts, ["a"])["beta"] == pytest.approx(1 / 3, rel=1e-15)
    assert worst(facts, ["a"])["beta_enhanced"] == math.inf
    alike = worst(facts, ["a", "a", "a", "b"])
    assert facts.distance == "equal"
    assert {alike[name] for name in naive_measures.BESIDE} == {0} == {alike["t_closeness"]}


def test_the_largest_share_of_any_group() -> None:
    assert worst(facts_of(list("aaabbbb")), list("aabb"), list("abb"))["alpha"] == 2 / 3


def test_diversity_of_the_worst_group_by_each_rule() -> None:
    # a a b c: 3 values, floor(4 / 2) = 2, 2 < 3 (1 + 1), 2 < 3 · 1; a b b: 2, floor(3 / 2) = 1,
    # 2 < 3 · 1
    found = worst(facts_of(list("aaabbbc")), list("aabc"), list("abb"))
    names = ("l_distinct", "p_sensitive", "l_frequency", "l_recursive")
    assert [found[name] for name in names] == [2, 2, 1, 2]
    # 1/3 ln 3 + 2/3 ln(3/2), where the other has 1/2 ln 2 + 1/2 ln 4
    entropy = math.log(3) / 3 + 2 / 3 * math.log(3 / 2)
    assert found["l_entropy"] == pytest.approx(math.exp(entropy), rel=1e-14)


def test_whole_numbers_beyond_floats_are_not_rounded_on_the_way() -> None:
    # 3 · 10^9 rows; moved / (N n) = 1/3 of a share, whatever is lost in N n = 9 · 10^18.
    rows = 10**9
    facts = SensitiveFacts({"a": rows, "b": rows, "c": rows})
    groups = {"a": rows, "b": rows, "c": rows}
    assert worst_privacy(counted(groups), [facts], Fraction(3))[0]["t_equal"] == 0
    assert (
        worst_privacy(counted({"a": rows, "b": rows}), [facts], Fraction(3))[0]["t_equal"] == 1 / 3
    )


# -- among the released rows ----------------------------------------------------------------------


def test_a_group_is_compared_with_each_of_what_is_given() -> None:
    table = facts_of(["a", "a", "b", "c"])
    found = worst_privacy(
        counted(Counter("ab")), [table, table.among({"a": 1, "b": 1})], Fraction(3)
    )
    assert [each["t_equal"] for each in found] == [1 / 4, 0]
    assert [each["delta"] for each in found] == [math.inf, 0]
    assert found[0].keys() == found[1].keys()


@pytest.mark.parametrize(
    ("spec", "scale", "t"),
    [
        # {1} beside 1 and 3 of {1, 3, 9}: half of it goes 2 places
        (OrderedSpec(tuple("123456789")), "declared", 1 / 2 * 2 / 8),
        (IntervalSpec(range=(1, 9)), "declared", 1 / 2 * 2 / 8),
        (IntervalSpec(), "shown", 1 / 2),
        (IntervalSpec(1, (1, 9), outside="clamp"), "shown", 1 / 2),
        (
            TreeSpec(Hierarchy.from_nested("Any", {"low": ["1", "3"], "high": ["9"]})),
            "declared",
            1 / 4,
        ),
        (TreeSpec(rule_of({"intervals": [5]}, IntervalSpec())), "none", None),
        (None, "declared", 1 / 2),
    ],
)
def test_what_a_distance_is_measured_along_follows_from_what_was_declared(
    spec: DomainSpec | None, scale: str, t: float | None
) -> None:
    facts = facts_of(["1", "3", "9"], spec)
    assert facts.scale == scale
    found = worst(facts.among({"1": 1, "3": 1}), ["1"], ["3"])
    assert found.get("t_closeness") == t
    assert "t_closeness" in worst(facts, ["1"])


# -- places --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "place"),
    [("3", 0), ("+4.0", 1), ("05", 2), ("5.5e0", 2), ("6", 2), ("(missing)", 3), ("2.9", None),
     ("6.1", 2), ("7", None), ("x", None)],
)  # fmt: skip
def test_numbers_stand_in_their_steps_however_they_are_written(
    value: str, place: int | None
) -> None:
    # Steps 3-4, 4-5, 5-6, the end of a declared range in the last; 6.1 is for the domain to refuse.
    frame = pd.DataFrame({"q": ["3.5", None]})
    column = read_table(frame, {"q": "quasi"}, missing="category").columns["q"]
    ground = label_rules(IntervalSpec(granularity=1, range=(3, 6)).build(column))
    facts = SensitiveFacts({value: 1}, ground)
    if place is None:
        with pytest.raises(CertificateError, match="has no place in its ordered domain"):
            worst(facts, [value])
    else:
        assert facts.places == {value: place}


def test_dates_stand_in_their_months() -> None:
    facts = facts_of(
        ["2020-01-31", "2020-03-01 12:00", "2020-02-29"],
        IntervalSpec(granularity="month", range=("2020-01-01", "2020-04-30")),
    )
    assert facts.places == {"2020-01-31": 0, "2020-02-29": 1, "2020-03-01 12:00": 2}
    # {January} beside a third each: 2/3 to February, 1/3 on to March, of 3 ways: (2/3 + 1/3) / 3
    assert worst(facts, ["2020-01-31"])["t_closeness"] == 1 / 3


def test_a_value_that_the_table_has_not_is_refused() -> None:
    with pytest.raises(CertificateError, match="the table has no value 'c'"):
        worst(facts_of(["a", "b"]), ["a", "c"])


# -- laws ----------------------------------------------------------------------------------------


@given(rich_instances(), st.integers(0, 2**32 - 1))
def test_both_sides_find_what_the_oracle_finds(instance: Instance, seed: int) -> None:
    """The reader's arithmetic and the writer's kernels, each against the definitions."""
    genome = instance.layout.sample(1, np.random.default_rng(seed))[0]
    groups = Grouping.of_genome(instance, genome)
    members = [np.flatnonzero(groups.row_group == g).tolist() for g in range(len(groups.sizes))]
    kept = groups.sizes >= np.median(groups.sizes)
    promised = Release(groups.keep(kept)).promised
    for name in instance.table.sensitive:
        values = naive_measures.naive.sensitive_rows(instance, name)
        released = [rows for rows, stays in zip(members, kept, strict=True) if stays]
        shown = [[values[i] for i in rows] for rows in released]
        facts = sensitive_facts(instance.table.columns[name], instance.distances.get(name))
        expected = naive_measures.column_models(shown, values)
        expected["t_closeness"] = float(
            max(naive_measures.emd(instance, name, rows) for rows in released)
        )
        written = {model: value for (model, column), value in promised.items() if column == name}
        for found in (worst(facts, *shown), written):
            assert found.keys() == expected.keys()
            for model, value in expected.items():
                if MEASURES[model].precision == "logarithm":
                    assert found[model] == pytest.approx(value, rel=1e-9, abs=1e-12)
                else:
                    assert found[model] == value  # to the last bit


@pytest.mark.parametrize("name", [*naive_measures.ALONE, *naive_measures.BESIDE])
def test_the_worse_of_two_lots_is_that_of_the_register(name: str) -> None:
    worst = min if MEASURES[name].higher_is_better else max
    assert worse({name: 1.0}, {name: 2.0}) == {name: worst(1.0, 2.0)}
