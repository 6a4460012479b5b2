"""Loss metrics: compiled costs against the slow oracle, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.domain import IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.measures import MEASURES, applicable
from moanon.measures.evaluate import Evaluator
from moanon.measures.suppression import Suppression
from tests import naive, naive_measures
from tests.measures.tables import measured
from tests.strategies import Fixed, few, populations, rich_instances

NAMES = [
    "gl_weighted",
    "loss_weighted",
    "ncp",
    "prec",
    "absdist",
    "reldist",
    "conditional_entropy",
    "entropy_loss",
    "c_avg",
    "dm",
    "cm",
]
EXACT = ["absdist", "dm", "cm"]


@pytest.mark.parametrize("eta", [0.0, 0.3])
@few
@given(data=st.data())
def test_every_loss_agrees_with_the_oracle(eta, data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=3))
    rule = Suppression("limit", eta)
    scores = Evaluator(instance).evaluate(genomes, rule, measures=NAMES)
    for i, genome in enumerate(genomes):
        text = instance.layout.text(genome)
        groups = naive.groups_of(naive.generalized_rows(instance, text)).values()
        d, _ = naive.within_limit([(len(rows), 0, 0) for rows in groups], eta)
        kept = [rows for rows in groups if len(rows) > d]
        expected = naive_measures.loss_measures(instance, text, kept)
        for name in NAMES:
            found = MEASURES[name].of(scores)[i]
            if name in EXACT:
                assert found == expected[name], name
            else:
                assert found == pytest.approx(expected[name], rel=1e-9, abs=1e-9), name


@given(st.data())
def test_equal_weights_are_no_weights(data):
    instance = data.draw(rich_instances())
    equal = Instance.build(
        instance.table,
        {name: Fixed(domain) for name, domain in instance.layout.domains.items()},
        weights=dict.fromkeys(instance.layout.domains, 2.5),
    )
    genomes = data.draw(populations(equal, most=3))
    names = ["gl", "gl_weighted", "loss", "loss_weighted"]
    scores = Evaluator(equal).evaluate(genomes, Suppression("limit", 0.2), measures=names)
    gl, gl_weighted, loss, loss_weighted = (MEASURES[name].of(scores) for name in names)
    np.testing.assert_allclose(gl, gl_weighted, atol=1e-12)
    np.testing.assert_allclose(loss, loss_weighted, atol=1e-12)


# -- by hand ---------------------------------------------------------------------------------------

#: M's figure 2: Single alone under Never married, three under Once married.
STATUS = Hierarchy.from_arx(
    "Single;Never married;*\nMarried;Once married;*\nDivorced;Once married;*\n"
    "Widow;Once married;*\n"
)


def weighted_people(**more: object) -> Instance:
    """Four rows: an interval of 5 steps, an order of 3, M's tree of 4 leaves (height 2)."""
    frame = pd.DataFrame(
        {
            "age": [20, 21, 22, 24],
            "size": ["S", "S", "M", "L"],
            "status": ["Single", "Married", "Married", "Widow"],
            "class": ["y", "y", "n", "n"],
        }
    )
    roles = dict.fromkeys(["age", "size", "status"], "quasi") | {"class": "insensitive"}
    specs = {
        "age": IntervalSpec(1, (20, 24)),
        "size": OrderedSpec(("S", "M", "L")),
        "status": TreeSpec(STATUS),
    }
    return Instance.build(read_table(frame, roles), specs, label="class", **more)


# bits: 4 of age, 2 of size, 3 of status
FINE, COARSE = "111111111", "000000000"
#: age 20-22 | 23-24, size S..M | L, status Single | Once married
MIDDLE = "001001100"


def test_certainty_penalty_of_each_kind():
    # age: 3 rows (3-1)/(5-1), 1 row (2-1)/4 → 1.75; size: 3 rows 2/3, L alone 0 → 2;
    # status: Single 0, 3 rows 3/4 → 2.25; 6 of 4 * 3
    assert measured(weighted_people(), "ncp", MIDDLE) == pytest.approx(6 / 12)
    assert measured(weighted_people(), "ncp", FINE) == 0
    assert measured(weighted_people(), "ncp", COARSE) == 1


def test_certainty_penalty_with_weights():
    # weights 2, 1, 1: (2 * 1.75 + 2 + 2.25) / (4 * 4)
    assert measured(weighted_people(weights={"age": 2.0}), "ncp", MIDDLE) == pytest.approx(
        7.75 / 16
    )


def test_loss_with_weights():
    # age 1.75 as above; size: 3 rows (2-1)/(3-1) → 1.5; status: 3 rows (3-1)/(4-1) → 2
    weighted = weighted_people(weights={"age": 2.0, "size": 0.0})
    assert measured(weighted, "gl_weighted", MIDDLE) == pytest.approx((2 * 1.75 + 2) / (4 * 3))
    assert measured(weighted, "gl_weighted", COARSE) == 1
    assert measured(weighted, "loss_weighted", COARSE) == 1


def test_weights_count_by_their_shares_however_large_they_are():
    small = weighted_people(weights=dict.fromkeys(("age", "size", "status"), 1.0) | {"age": 0.5})
    huge = weighted_people(weights=dict.fromkeys(("age", "size", "status"), 1e308) | {"age": 5e307})
    assert measured(huge, "gl_weighted", MIDDLE) == measured(small, "gl_weighted", MIDDLE)


def test_precision_counts_levels_of_trees():
    # height 2: Single stays at level 0, three rows climb 1 of 2 → 1 - 1.5/4
    assert measured(weighted_people(), "prec", MIDDLE) == pytest.approx(1 - 1.5 / 4)
    assert measured(weighted_people(), "prec", FINE) == 1
    assert measured(weighted_people(), "prec", COARSE) == 0


def test_absolute_and_relative_distance_are_the_levels_of_the_cut():
    # Once married is of level 1 of 2; the other columns have no levels
    assert measured(weighted_people(), "absdist", MIDDLE) == 1
    assert measured(weighted_people(), "reldist", MIDDLE) == 0.5
    assert measured(weighted_people(), "absdist", COARSE) == 2
    assert measured(weighted_people(), "reldist", COARSE) == 1
    assert measured(weighted_people(), "absdist", FINE) == 0
    assert measured(weighted_people(), "reldist", FINE) == 0


def test_conditional_entropy_is_what_must_be_told_to_restore_the_cells():
    # age 20, 21, 22 are equally frequent: ln 3 for three rows; 24 is the only one in its block.
    # size: S, S, M → ln 3 - (2/3) ln 2 for three rows. status: Married twice, Widow once: the same
    mixed = math.log(3) - 2 / 3 * math.log(2)
    expected = 3 * math.log(3) + 3 * mixed + 3 * mixed
    assert measured(weighted_people(), "conditional_entropy", MIDDLE) == pytest.approx(
        expected, rel=1e-12
    )
    assert measured(weighted_people(), "conditional_entropy", FINE) == 0
    # age: ln 4 each; size: 2, 1, 1 of 4 → 1.5 ln 2 each; status: 1, 2, 1 → the same
    expected = 4 * math.log(4) + 8 * 1.5 * math.log(2)
    assert measured(weighted_people(), "conditional_entropy", COARSE) == pytest.approx(
        expected, rel=1e-12
    )


def test_entropy_loss_counts_the_rows_that_share_a_block():
    # All suppressed: 4 rows times log2 of 4 / 1 in age, 4 / 2 or 4 / 1 in size and status → per row
    # 2 in age; 1, 1, 2, 2 in size (S twice, M, L); 1, 1, 2, 2 in status (Married twice) → 8 + 6 + 6
    # MIDDLE: three ages together, each of one row: 3 log2 3. S, S, M together: log2 of 3 / 2 twice
    # and of 3 / 1; Married, Married, Widow the same
    mixed = 2 * math.log2(3 / 2) + math.log2(3)
    found = measured(weighted_people(), "entropy_loss", MIDDLE)
    assert found == pytest.approx((3 * math.log2(3) + 2 * mixed) / 20, rel=1e-12)
    assert measured(weighted_people(), "entropy_loss", FINE) == 0
    assert measured(weighted_people(), "entropy_loss", COARSE) == 1


def test_entropy_loss_of_a_suppressed_row_is_what_its_own_values_told():
    # both single rows go, as below; a kept one is of ages 21 or 22
    base = naive.base_rows(weighted_people())
    shown = naive.generalized_rows(weighted_people(), MIDDLE)
    kept = [rows for rows in naive.groups_of(shown).values() if len(rows) > 1]
    found = measured(weighted_people(), "entropy_loss", MIDDLE, kind="limit", eta=0.5)
    assert len(kept) == 1
    assert found == pytest.approx(naive_measures.entropy_loss(base, shown, kept), rel=1e-12)


def test_entropy_loss_does_not_count_values_that_no_row_has():
    # a tail of empty values is free: a a b b | c d e has lost nothing of a and b apart
    table = read_table(pd.DataFrame({"q": list("aabb")}), {"q": "quasi"})
    instance = Instance.build(table, {"q": OrderedSpec(tuple("abcde"))})
    assert measured(instance, "entropy_loss", "1000") == 0
    assert measured(instance, "loss", "1000") == pytest.approx(2 * 3 / 4 / 4)
    assert measured(instance, "entropy_loss", "0111") == 1


def test_a_table_of_constants_has_no_entropy_to_lose():
    table = read_table(pd.DataFrame({"p": ["x"] * 3, "q": ["a"] * 3}), {"p": "quasi", "q": "quasi"})
    domains = {"p": OrderedSpec(("x",)), "q": OrderedSpec(("a", "b"))}
    instance = Instance.build(table, domains)
    assert measured(instance, "entropy_loss", "0") == 0
    assert measured(instance, "entropy_loss", "1") == 0


def sized(*sizes: int) -> Instance:
    """Groups of these sizes under the genome of ones; classes alternate."""
    frame = {"q": [str(i) for i, size in enumerate(sizes) for _ in range(size)]}
    frame["class"] = ["ab"[i % 2] for i in range(sum(sizes))]
    table = read_table(pd.DataFrame(frame), {"q": "quasi", "class": "sensitive"})
    spec = OrderedSpec(tuple(str(i) for i in range(len(sizes))))
    return Instance.build(table, {"q": spec}, label="class")


def test_discernibility_is_the_sum_of_squares():
    # sizes 3, 2, 1 → 9 + 4 + 1
    assert measured(sized(3, 2, 1), "dm", "11") == 14
    # 1 of 6 rows may go: 9 + 4, and 6 for the row that is gone
    assert measured(sized(3, 2, 1), "dm", "11", kind="limit", eta=0.2) == 19


def test_average_class_size_over_k():
    # 6 rows in 3 groups → 2, over the smallest of 1; without that: 5 rows in 2 groups, over 2
    assert measured(sized(3, 2, 1), "c_avg", "11") == 2
    assert measured(sized(3, 2, 1), "c_avg", "11", kind="limit", eta=0.2) == 1.25
    assert measured(sized(2, 2, 2), "c_avg", "11") == 1


def test_classes_that_are_not_the_majority_are_mistakes():
    # classes a b a | b a | b: one of three, one of two (a tie has one majority), none → 2
    assert measured(sized(3, 2, 1), "cm", "11") == 2
    # the last row is suppressed: 2 and 1 more
    assert measured(sized(3, 2, 1), "cm", "11", kind="limit", eta=0.2) == 3
    # all in one group: a b a b a b → 3
    assert measured(sized(3, 2, 1), "cm", "00") == 3


def test_a_suppressed_row_counts_as_fully_generalized():
    # of 4 rows one may go. Under MIDDLE: {20, 21: S, S} …, sizes 1 (Single), 2, 1 → no whole class
    # of groups fits; with η = 1/2 both single rows go, and two rows with Once married stay
    found = {
        name: measured(weighted_people(), name, MIDDLE, kind="limit", eta=0.5)
        for name in ("ncp", "prec")
    }
    # ages 21, 22: 2/4 each; sizes 2/3 each; status 3/4 each; two rows in full: 3 each
    assert found["ncp"] == pytest.approx((2 * (2 / 4 + 2 / 3 + 3 / 4) + 6) / 12)
    assert found["prec"] == pytest.approx(1 - (2 * 0.5 + 2) / 4)
    entropy = measured(weighted_people(), "conditional_entropy", MIDDLE, kind="limit", eta=0.5)
    mixed = math.log(3) - 2 / 3 * math.log(2)
    lost = math.log(4) + 2 * 1.5 * math.log(2)
    assert entropy == pytest.approx(2 * (math.log(3) + 2 * mixed) + 2 * lost, rel=1e-12)


# -- the papers' two anonymizations ----------------------------------------------------------------


def paper_table_with_its_tree() -> Instance:
    """D's Table 1 with the tree that its generalizations show."""
    tree = Hierarchy.from_nested(
        "Any",
        {
            "Not Married": ["Never Married", "Divorced", "Widowed"],
            "Married": ["Civ-Spouse", "AF-Spouse"],
        },
    )
    frame = pd.DataFrame(
        {
            "age": [15, 17, 20, 26, 28, 30, 30],
            "status": ["Never Married"] * 2
            + ["Civ-Spouse", "AF-Spouse", "AF-Spouse", "Civ-Spouse", "AF-Spouse"],
        }
    )
    table = read_table(frame, {"age": "quasi", "status": "quasi"})
    return Instance.build(table, {"age": IntervalSpec(10, (10, 39)), "status": TreeSpec(tree)})


T1, T2 = "100010", "110010"


def test_all_losses_of_the_papers_two_anonymizations():
    instance = paper_table_with_its_tree()
    # T1: groups of 2 and 5; T2: of 2, 3, 2
    assert measured(instance, "dm", T1) == 4 + 25
    assert measured(instance, "dm", T2) == 4 + 9 + 4
    assert measured(instance, "c_avg", T1) == 7 / 2 / 2
    assert measured(instance, "c_avg", T2) == pytest.approx(7 / 3 / 2)
    # status climbs 1 of 2 in every row, in both
    assert [measured(instance, "prec", t) for t in (T1, T2)] == [0.5, 0.5]
    assert [measured(instance, "absdist", t) for t in (T1, T2)] == [1, 1]
    # status: 2 rows 3/5, 5 rows 2/5 → 3.2; age in T1: 5 rows 1/2 → 2.5, in T2 nothing
    assert measured(instance, "ncp", T1) == pytest.approx((3.2 + 2.5) / 14)
    assert measured(instance, "ncp", T2) == pytest.approx(3.2 / 14)


def test_all_privacy_of_the_papers_two_anonymizations():
    # marital status sensitive: {N, N}, {C, A, A, C, A} in T1; {N, N}, {C, A, A}, {C, A} in T2
    frame = pd.DataFrame(
        {
            "age": [15, 17, 20, 26, 28, 30, 30],
            "status": ["N", "N", "C", "A", "A", "C", "A"],
        }
    )
    table = read_table(frame, {"age": "quasi", "status": "sensitive"})
    instance = Instance.build(table, {"age": IntervalSpec(10, (10, 39))})
    for genome in ("10", "11"):
        # the group {1, 2} reveals its status: it is 1 - 2/7 away from the table
        assert measured(instance, "l_entropy", genome) == 1
        assert measured(instance, "alpha", genome) == 1
        assert measured(instance, "t_closeness", genome) == 1 - 2 / 7
        assert measured(instance, "delta", genome) == math.inf
    # with it suppressed: {C, A, A, C, A} has l = exp(H(2/5, 3/5)), {C, A} in T2 has alpha 2/3
    gone = {"kind": "limit", "eta": 0.3}
    entropy = -(0.4 * math.log(0.4) + 0.6 * math.log(0.6))
    assert measured(instance, "l_entropy", "10", **gone) == pytest.approx(math.exp(entropy))
    assert measured(instance, "alpha", "10", **gone) == 0.6


# -- which measures apply --------------------------------------------------------------------------


def test_a_measure_that_the_table_has_nothing_for_is_refused():
    frame = pd.DataFrame({"q": list("aab")})
    instance = Instance.build(read_table(frame, {"q": "quasi"}), {"q": OrderedSpec(("a", "b"))})
    genome = np.ones((1, 1), dtype=np.uint8)
    wanting = {
        "prec": "needs a quasi-identifier with a tree",
        "cm": "needs a class column",
        "gl_weighted": "needs the weight of a quasi-identifier",
        "t_closeness": "needs a sensitive column",
    }
    for name, reason in wanting.items():
        assert MEASURES[name] not in applicable(instance)
        with pytest.raises(ConfigError, match=f"{name} {reason}, and"):
            Evaluator(instance).evaluate(genome, Suppression("none"), measures=[name])


def test_a_class_column_must_be_released_as_it_is():
    frame = pd.DataFrame({"q": list("aab"), "r": list("xyz")})
    table = read_table(frame, {"q": "quasi", "r": "quasi"})
    specs = {"q": OrderedSpec(("a", "b")), "r": OrderedSpec(("x", "y", "z"))}
    with pytest.raises(ConfigError, match=r"sensitive or insensitive\. Got quasi for 'r'"):
        Instance.build(table, specs, label="r")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"q": -1.0}, r"the weight of column 'q' must be at least 0\. Got -1\.0"),
        ({"q": 0.0}, "must not all be 0"),
        ({"x": 1.0}, "column 'x' has a weight but is not a quasi-identifier"),
    ],
)
def test_weights_that_mean_nothing_are_refused(weights, message):
    frame = pd.DataFrame({"q": list("aab")})
    with pytest.raises(ConfigError, match=message):
        Instance.build(
            read_table(frame, {"q": "quasi"}), {"q": OrderedSpec(("a", "b"))}, weights=weights
        )
