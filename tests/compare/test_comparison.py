"""Whole comparisons: every comparator, both ways, and who is better off."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon import Hierarchy, Instance, IntervalSpec, OrderedSpec, Release, TreeSpec, read_table
from moanon.compare import (
    COMPARATORS,
    Comparison,
    LogVolume,
    Preferences,
    PropertyVector,
    Verdict,
    compare,
    property_vectors,
)
from moanon.compare.comparison import _Pair
from moanon.errors import ConfigError, DataError
from moanon.grouping import Grouping
from tests.compare.source import anonymized, without_meaning
from tests.strategies import instances


def verdict(comparison: Comparison, prop: str, comparator: str, first: str = "A") -> Verdict:
    (found,) = (
        each
        for each in comparison.verdicts
        if (each.property, each.comparator, each.first) == (prop, comparator, first)
    )
    return found


@pytest.fixture(scope="module")
def source() -> Comparison:
    return compare([anonymized("T3a"), anonymized("T3b")], ["size", "utility"])


# -- the source ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prop", "comparator", "forward", "backward", "better"),
    [
        ("size", "dominance", "none", "strong", "B"),
        ("size", "min", 3, 3, None),
        ("size", "mean", 3.4, 5.8, "B"),  # (3·3 + 7·7) / 10
        ("size", "cov", 0.3, 1, "B"),
        ("size", "spr", 0, 24, "B"),  # 2, 3, 9 gain 4 each; 5, 6, 7, 10 gain 3 each
        ("utility", "dominance", "strong", "none", "A"),
        ("utility", "cov", 1, 0.3, "A"),
        ("all", "dominance", "none", "none", None),
        ("all", "wtd", 0.65, 0.65, None),  # "equally good" (C §5.5)
        ("all", "lex", 2, 1, "B"),
    ],
)
def test_two_tables_of_the_source(
    source: Comparison,
    prop: str,
    comparator: str,
    forward: float | str,
    backward: float | str,
    better: str | None,
) -> None:
    found = verdict(source, prop, comparator)
    assert found.forward == (pytest.approx(forward) if isinstance(forward, float) else forward)
    assert found.backward == (pytest.approx(backward) if isinstance(backward, float) else backward)
    assert found.better == better


def test_rank_and_volume_of_the_source(source: Comparison) -> None:
    # Ideal: ten rows in one group. 6 rows of 3 and 4 of 4; 3 rows of 3 and 7 of 7.
    rank = verdict(source, "size", "rank")
    assert rank.forward == pytest.approx(math.sqrt(6 * 49 + 4 * 36))
    assert rank.backward == pytest.approx(math.sqrt(3 * 49 + 7 * 9))
    volume = verdict(source, "size", "hv")
    assert isinstance(volume.backward, LogVolume)
    assert volume.backward.value == 3**3 * 7**7 - 3**6 * 4**4
    assert (volume.forward, volume.better) == (LogVolume(-math.inf, 0.0), "B")


def test_who_is_better_off(source: Comparison) -> None:
    (size, utility) = source.headcounts
    assert (size.better_in_first, size.better_in_second, size.equal) == (0, 7, 3)
    assert (utility.better_in_first, utility.better_in_second, utility.equal) == (7, 0, 3)


# -- preferences ---------------------------------------------------------------------------------


def test_preferences_decide_between_properties() -> None:
    pair = [anonymized("T3a"), anonymized("T3b")]
    wishes = Preferences(
        weights={"size": 0.2, "utility": 0.8},
        order=["utility", "size"],
        epsilon=[0.8, 0.0],
        goals={"size": 1, "utility": 1},
    )
    found = compare(pair, ["size", "utility"], preferences=wishes)
    weighted = verdict(found, "all", "wtd")
    assert weighted.forward == pytest.approx(0.2 * 0.3 + 0.8 * 1)
    assert weighted.better == "A"
    lex = verdict(found, "all", "lex")  # 0.7 in utility is overlooked
    assert (lex.forward, lex.backward, lex.better) == (None, 2, "B")
    goal = verdict(found, "all", "goal")  # 0.7² either way
    assert goal.forward == pytest.approx(0.49)
    assert goal.better is None


@pytest.mark.parametrize(
    ("epsilon", "better"), [(0.0, "B"), (6.43, "B"), (6.44, None), (100.0, None)]
)
def test_ranks_that_differ_by_no_more_than_epsilon_are_equally_good(
    epsilon: float, better: str | None
) -> None:
    # √438 - √210 = 6.437, as worked out above
    pair, wishes = [anonymized("T3a"), anonymized("T3b")], Preferences(rank_epsilon=[epsilon])
    for both in (pair, pair[::-1]):
        found = compare(both, ["size"], preferences=wishes)
        letters = {"B": "B"} if both is pair else {"B": "A"}
        assert verdict(found, "size", "rank").better == letters.get(better or "")
        assert verdict(found, "size", "cov").better == letters["B"]  # of which nothing is said


def test_an_epsilon_itself_is_overlooked() -> None:
    pair = [anonymized("T3a"), anonymized("T3b")]
    found = compare(pair, ["size"], comparators=["rank"])
    rank = verdict(found, "size", "rank")
    assert isinstance(rank.forward, float)
    assert isinstance(rank.backward, float)
    wishes = Preferences(rank_epsilon=[rank.forward - rank.backward])
    found = compare(pair, ["size"], comparators=["rank"], preferences=wishes)
    assert verdict(found, "size", "rank").better is None


def test_goals_can_be_vectors_whose_index_is_the_goal() -> None:
    # Every row in a group of 5: mean 5, worst 5. Means of T3a and T3b 3.4 and 5.8, so
    # (3.4 - 5)² = 2.56 and (5.8 - 5)² = 0.64; least 3 in both, 4 away from 5.
    pair = [anonymized("T3a"), anonymized("T3b")]
    fives = {"size": np.full(10, 5.0)}
    for index, forward, backward in (("mean", 2.56, 0.64), ("min", 4.0, 4.0)):
        wishes = Preferences(index=index, goal_vectors=fives)
        goal = verdict(compare(pair, ["size"], preferences=wishes), "all", "goal")
        assert (goal.forward, goal.backward) == pytest.approx((forward, backward))
    # A goal that is T3b itself is reached by T3b, by every unary index.
    theirs = property_vectors(pair[1], ["size", "sensitive_count"])
    vectors = {name: vector.values for name, vector in theirs.items()}
    for index in ("min", "mean", "rank"):
        wishes = Preferences(index=index, goal_vectors=vectors)
        goal = verdict(compare(pair, list(vectors), preferences=wishes), "all", "goal")
        assert goal.backward == pytest.approx(0)
        assert goal.better == ("B" if goal.forward else None)


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"index": "cov"}, r"^a goal vector needs an index of one vector .*\. Got cov for size$"),
        ({"index": "mean", "goals": [1]}, r"^goals are numbers or property vectors\. Got both$"),
        ({"index": "mean", "goal_vectors": {}}, r"^goal vectors must name every property\. Got "),
        (
            {"index": "mean", "goal_vectors": {"size": np.ones(3)}},
            r"^the goal vector of size must hold 10 numbers, one for each row\. Got 3$",
        ),
    ],
)
def test_goal_vectors_that_do_not_fit_are_refused(wishes: dict, message: str) -> None:
    given = Preferences(**{"goal_vectors": {"size": np.ones(10)}, **wishes})
    with pytest.raises(ConfigError, match=message):
        compare([anonymized("T3a"), anonymized("T3b")], ["size"], preferences=given)


def test_preferences_go_by_the_index_they_are_told() -> None:
    pair = [anonymized("T3a"), anonymized("T3b")]
    wishes = Preferences(index="mean", goals=[5, 1], weights=[1.0, 0.0])
    found = compare(pair, ["size", "utility"], preferences=wishes)
    assert verdict(found, "all", "wtd").forward == pytest.approx(3.4 / (3.4 + 5.8))
    mean = verdict(found, "utility", "mean")
    expected = (3.4 - 5) ** 2 + (mean.forward - 1) ** 2
    assert verdict(found, "all", "goal").forward == pytest.approx(expected)
    wishes = Preferences(index={"size": "rank", "utility": "hv"}, order=["size", "utility"])
    found = compare(pair, ["size", "utility"], preferences=wishes)
    assert verdict(found, "all", "lex").better == "B"  # a smaller rank is ahead


def test_the_ideal_of_rank_can_be_moved() -> None:
    pair = [anonymized("T3a"), anonymized("T3b")]
    found = compare(pair, ["size"], preferences=Preferences(ideals={"size": 3}))
    rank = verdict(found, "size", "rank")
    assert (rank.forward, rank.backward) == (2, pytest.approx(math.sqrt(7 * 16)))
    assert rank.better == "A"


def test_where_lower_is_better_the_lower_wins() -> None:
    found = compare([anonymized("T3a"), anonymized("T4")], ["sensitive_count"])
    # T4: {1,3,4,8} has two CF-Spouse; {2,5,6,7,9,10} three Separated and two Divorced.
    worst = verdict(found, "sensitive_count", "min")
    mean = verdict(found, "sensitive_count", "mean")
    assert (worst.forward, worst.backward, worst.better) == (2, 3, "A")
    assert (mean.forward, mean.backward, mean.better) == (1.6, 2, "A")
    # Rows 2, 9 and 10 go from 2, 2, 1 to 3, row 3 from 1 to 1.
    cov = verdict(found, "sensitive_count", "cov")
    assert (cov.forward, cov.backward) == (1, 0.7)


# -- three and more ------------------------------------------------------------------------------


def test_every_pair_is_compared() -> None:
    found = compare([anonymized(name) for name in ("T3a", "T3b", "T4")], ["size"])
    pairs = {(each.first, each.second) for each in found.verdicts}
    assert pairs == set(combinations("ABC", 2))
    # "T4 is cov-better than T3a, and T3b is cov-better than T4" (C §5.2)
    better = {
        (each.first, each.second): each.better
        for each in found.verdicts
        if each.comparator == "cov"
    }
    assert better == {("A", "B"): "B", ("A", "C"): "C", ("B", "C"): "B"}


@given(instances(), st.integers(0, 2**32 - 1))
def test_the_order_of_a_pair_does_not_matter(people: Instance, seed: int) -> None:
    genomes = people.layout.sample(2, np.random.default_rng(seed))
    a, b = (Release.of(people, genome).grouping.named("x") for genome in genomes)
    there, back = compare([a, b]), compare([b, a])
    other = {"A": "B", "B": "A", None: None}
    for one, two in zip(there.verdicts, back.verdicts, strict=True):
        assert (one.forward, one.backward) == (two.backward, two.forward)
        assert one.better == other[two.better]


# -- results -------------------------------------------------------------------------------------


def test_a_comparison_becomes_a_frame_and_json(source: Comparison) -> None:
    frame = source.to_frame()
    assert len(frame) == len(source.verdicts) == 2 * 7 + 3
    row = frame[(frame["property"] == "size") & (frame["comparator"] == "hv")].iloc[0]
    assert row["backward"] == pytest.approx(math.log10(3**3 * 7**7 - 3**6 * 4**4))
    told = json.loads(json.dumps(source.to_dict(), allow_nan=False))
    assert told["anonymized"]["A"]["k"] == 3
    assert told["individuals"][0]["better_in_second"] == 7
    (volume,) = (
        each["forward"]
        for each in told["verdicts"]
        if (each["property"], each["comparator"]) == ("size", "hv")
    )
    assert volume == {"sign": 0, "log10": None, "value": 0}


def test_json_says_what_its_numbers_mean(source: Comparison) -> None:
    told = source.to_dict()
    assert (told["original"], told["rows"]) == ("DataFrame", 10)
    assert told["properties"]["size"] == {
        "meaning": "rows in the row's group; more is better",
        "better": "higher",
        "best": 10.0,
        "worst": 0.0,
    }
    assert told["notes"] == list(source.notes) == []


def test_a_volume_that_no_float_holds_is_no_number_in_json() -> None:
    # Halves of 2,000 groups of two: 2^-2000 either way, where the other has a share of 1.
    frame = pd.DataFrame({"row": list(map(str, range(2_000))) * 2, "ill": ["a", "b"] * 2_000})
    table = read_table(frame, {"row": "quasi", "ill": "sensitive"})
    made = Instance.build(table, {"row": OrderedSpec(tuple(map(str, range(2_000))))})
    pair = [Release.of(made, [bit] * made.layout.bits).grouping.named(str(bit)) for bit in (0, 1)]
    found = compare(pair, ["sensitive_share"], comparators=["hv"]).to_dict()["verdicts"][0]
    # In one group half of the rows share a value, so its volume is 2^-4000; alone, all do: 0.
    assert found["forward"] == {
        "sign": 1,
        "log10": pytest.approx(-4_000 * math.log10(2)),
        "value": None,
    }
    assert (found["backward"]["sign"], found["backward"]["value"]) == (0, 0)


def test_what_a_reader_should_know_is_noted() -> None:
    pair = [anonymized("T3a"), anonymized("T3a")]
    assert compare(pair, ["size"]).notes == (
        "by what is compared, every row is as well off in A as in B",
    )
    found = compare([without_meaning(pair[0]), anonymized("T4")])
    assert found.properties == ("size", "sensitive_share")
    assert found.notes == ("utility is left out: what labels mean is not known of T3a",)


def test_comparators_can_be_chosen() -> None:
    found = compare([anonymized("T3a"), anonymized("T4")], ["size"], comparators=["hv", "cov"])
    assert [each.comparator for each in found.verdicts] == ["cov", "hv"]
    assert set(COMPARATORS) >= {"dominance", "wtd", "lex", "goal"}


# -- refusals ------------------------------------------------------------------------------------


def test_what_cannot_be_compared_is_refused() -> None:
    pair = [anonymized("T3a"), anonymized("T4")]
    with pytest.raises(ConfigError, match=r"^there is no comparator called 'coff'"):
        compare(pair, comparators=["coff"])
    with pytest.raises(ConfigError, match=r"^a comparison needs at least one comparator\. Got no"):
        compare(pair, comparators=[])
    with pytest.raises(ConfigError, match=r"^comparators name 'cov' twice$"):
        compare(pair, comparators=["cov", "hv", "cov"])
    with pytest.raises(ConfigError, match=r"^the comparator goal needs goals, and none are given$"):
        compare(pair, comparators=["goal"])
    with pytest.raises(ConfigError, match=r"^compared are 2 to 26 anonymizations\. Got 1$"):
        compare(pair[:1])


def shirts(sizes: str, **more: list[str]) -> Grouping:
    frame = pd.DataFrame({"size": list(sizes), **more})
    table = read_table(frame, dict.fromkeys(frame, "quasi"))
    made = Instance.build(table, {name: OrderedSpec(("S", "M", "L")) for name in frame})
    return Release.of(made, [1] * made.layout.bits).grouping.named(sizes)


def ages(granularity: int) -> Grouping:
    frame = pd.DataFrame({"age": ["20", "25", "34", "47"]})
    table = read_table(frame, {"age": "quasi"})
    spec = IntervalSpec(granularity, range=(20, 49))
    made = Instance.build(table, {"age": spec})
    release = Release.of(made, [1] * made.layout.bits)
    return release.grouping.named(f"steps of {granularity}")


def test_losses_are_compared_only_where_they_count_the_same() -> None:
    # In steps of ten nothing is lost to a decade, in steps of one all but 9 of 29.
    pair = [ages(10), ages(1)]
    found = compare(pair)
    assert found.properties == ("size",)
    assert found.notes == (
        "utility is left out: steps of 1 counts losses in other base values than steps of 10 "
        "(column 'age')",
    )
    message = r"^utility cannot be compared: steps of 1 counts losses in other base values than ste"
    with pytest.raises(ConfigError, match=message):
        compare(pair, ["size", "utility"])
    assert compare([ages(10), ages(10)]).properties == ("size", "utility")


def test_another_order_of_the_same_base_values_loses_the_same() -> None:
    table = read_table(pd.DataFrame({"size": list("SMLL")}), {"size": "quasi"})
    tree = Hierarchy.from_nested("any", {"large": ["L", "M"], "small": ["S"]})
    pair = []
    for spec in (OrderedSpec(("S", "M", "L")), TreeSpec(tree)):
        made = Instance.build(table, {"size": spec})
        pair.append(Release.of(made, [0, 1]).grouping.named(spec.kind))
    # S..M and L keep 1/2 1/2 1 1 of the rows' sizes; L..M and S keep 1 1/2 1/2 1/2.
    (count,) = compare(pair, ["utility"]).headcounts
    assert (count.better_in_first, count.better_in_second, count.equal) == (2, 1, 1)


def test_lex_sees_a_lead_that_no_float_shows() -> None:
    far, rows = 1e13, np.arange(2)
    vectors = [
        {"size": PropertyVector("size", np.array(sizes), rows, "max", far, 0.0)}
        for sizes in ([far, far], [far + 1, far - 1])  # far² and far² - 1
    ]
    settled = Preferences(index="hv").resolve(["size"])
    found = {v.comparator: v for v in _Pair("A", "B", *vectors, settled).verdicts(COMPARATORS)}
    assert found["wtd"].better is None
    assert (found["hv"].better, found["lex"].better) == ("A", "A")
    assert (found["lex"].forward, found["lex"].backward) == (1, None)


def test_only_anonymizations_of_the_same_rows_and_columns_are_compared() -> None:
    with pytest.raises(DataError, match=r"^DataFrame has 3 rows and SM is of 2; compared are anon"):
        compare([shirts("SML"), shirts("SM")])
    with pytest.raises(DataError, match=r"^SMM is not of the rows of DataFrame: column 'size' has"):
        compare([shirts("SML"), shirts("SMM")])
    with pytest.raises(DataError, match=r"^LLL has the quasi-identifiers size, more instead of"):
        compare([shirts("LLL"), shirts("LLL", more=["S", "S", "S"])])
