"""Privacy models of groups: compiled loops against the slow oracle, and by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from moanon import datasets
from moanon.data.domain import IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.errors import ConfigError, DataError
from moanon.genome import Instance
from moanon.kernels import models as kernel_models
from moanon.measures import MEASURES
from moanon.measures.evaluate import Evaluator
from moanon.measures.suppression import Suppression
from tests import naive, naive_measures
from tests.measures.tables import measured, table_of
from tests.strategies import few, hierarchies, populations, rich_instances

NAMES = [m.name for m in MEASURES.values() if m.group and m.name != "l"]
EXACT = ["k", "l_distinct", "l_frequency", "l_recursive", "p_sensitive"]


# -- against the oracle ----------------------------------------------------------------------------


@few
@given(st.data())
def test_every_model_agrees_with_the_oracle(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=3))
    c = data.draw(st.sampled_from([0.5, 1.0, 1.5, 3.0]))
    rule = Suppression("none", recursive_c=c)
    scores = Evaluator(instance).evaluate(genomes, rule, measures=NAMES)
    for i, genome in enumerate(genomes):
        shown = naive.generalized_rows(instance, instance.layout.text(genome))
        groups = [
            naive_measures.group_models(instance, rows, Fraction(str(c)))
            for rows in naive.groups_of(shown).values()
        ]
        for name in NAMES:
            pick = min if MEASURES[name].direction == "max" else max
            expected = pick(group[name] for group in groups)
            found = MEASURES[name].of(scores)[i]
            if name in EXACT:
                assert found == expected, name
            else:
                assert found == pytest.approx(expected, rel=1e-11, abs=1e-12), name


def optimal_transport(p: list[Fraction], q: list[Fraction], ground: list[list[Fraction]]) -> float:
    """The earth mover's distance by its definition: a linear program."""
    size = len(p)
    from_each = np.kron(np.eye(size), np.ones(size))
    to_each = np.kron(np.ones(size), np.eye(size))
    cost = [float(ground[i][j]) for i, j in product(range(size), repeat=2)]
    answer = linprog(
        cost,
        A_eq=np.concatenate([from_each, to_each]),
        b_eq=[float(share) for share in (*p, *q)],
        method="highs",
    )
    return float(answer.fun)


@given(hierarchies(most_leaves=6), st.data())
def test_the_oracles_distances_are_optimal_transports(tree, data):
    size = len(tree.leaves)
    table = [*range(size), *data.draw(st.lists(st.integers(0, size - 1), max_size=6))]
    group = data.draw(st.lists(st.sampled_from(table), min_size=1, max_size=6))
    p, q = naive_measures.shares(group), naive_measures.shares(table)
    p, q = ([share.get(i, Fraction(0)) for i in range(size)] for share in (p, q))
    pairs = list(product(range(size), repeat=2))
    grounds = {
        "equal": {(i, j): Fraction(i != j) for i, j in pairs},
        "ordered": {(i, j): Fraction(abs(i - j), max(1, size - 1)) for i, j in pairs},
        "tree": {(i, j): naive_measures.tree_distance(tree, i, j) for i, j in pairs},
    }
    formulas = {
        "equal": naive_measures.emd_equal(group, table),
        "ordered": naive_measures.emd_ordered(group, table, size),
        "tree": naive_measures.emd_tree(group, table, tree),
    }
    for name, ground in grounds.items():
        matrix = [[ground[i, j] for j in range(size)] for i in range(size)]
        assert float(formulas[name]) == pytest.approx(optimal_transport(p, q, matrix), abs=1e-9)


@given(hierarchies())
def test_heights_are_the_first_levels_that_have_a_node(tree):
    for node, height in enumerate(tree.heights.tolist()):
        block = tree.starts[node], tree.stops[node]
        assert height == naive_measures.level_of(tree, block)
    assert (tree.heights[1:] < tree.heights[[p for p in tree.parents if p >= 0]]).all()


@given(st.lists(st.integers(0, 400), min_size=1, max_size=30), st.data())
def test_long_gaps_of_an_order_are_jumped_over_exactly(group, data):
    # 401 places, most of them empty: gaps are added up by a search instead of one by one
    rest = data.draw(st.lists(st.integers(0, 400), max_size=30))
    instance = table_of([list(map(str, group)), ["0", "400", *map(str, rest)]], IntervalSpec(1))
    table = [*group, 0, 400, *rest]
    expected = [
        naive_measures.emd_ordered(part, table, 401) for part in (group, table[len(group) :])
    ]
    assert measured(instance, "t_closeness") == pytest.approx(float(max(expected)), abs=1e-13)


# -- entropy l by hand -----------------------------------------------------------------------------


def test_entropy_l_of_equally_frequent_values_is_their_number():
    # three values, twice each: -3 (1/3) ln(1/3) = ln 3
    assert measured(table_of([list("aabbcc")]), "l_entropy") == pytest.approx(3, rel=1e-12)


def test_entropy_l_of_the_worst_group_counts():
    # {a, a, a, b}: H = (3/4) ln(4/3) + (1/4) ln 4 = 0.5623…, exp = 4 / 3^(3/4) = 1.7547…
    found = measured(table_of([list("aaab"), list("abcd")]), "l_entropy")
    assert found == pytest.approx(4 / 3**0.75, rel=1e-12)


def test_entropy_l_of_a_single_value_is_exactly_one():
    assert measured(table_of([["a"] * 7, list("ab")]), "l_entropy") == 1.0


# -- recursive (c,l) by hand -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("c", "expected"),
    [
        # counts 4, 2, 1, 1; tails from l = 1 on: 8, 4, 2, 1
        (3.0, 3),  # 4 < 3 * 2, but 4 >= 3 * 1
        (2.0, 2),  # 4 < 2 * 4, but 4 >= 2 * 2: the bound is strict
        (4.0, 3),  # 4 >= 4 * 1
        (4.5, 4),  # 4 < 4.5 * 1
        (0.5, 0),  # 4 >= 0.5 * 8
    ],
)
def test_recursive_l_takes_the_sum_of_the_tail(c, expected):
    instance = table_of([list("aaaabbcd")])
    assert measured(instance, "l_recursive", recursive_c=c) == expected


def test_recursive_l_is_that_of_the_worst_group():
    # {a, b} with c = 3: tails 2, 1 → 1 < 3 → 2; {a, a, a}: tails 3 → 3 < 9 → 1
    assert measured(table_of([list("ab"), list("aaa")]), "l_recursive") == 1


def test_c_is_compared_as_it_is_written():
    # 3 rows against 0.3 * 10 = 3: not smaller, although 0.1 + 0.2 > 0.3 in floats
    instance = table_of([list("aaabcdefgh")])
    assert measured(instance, "l_recursive", recursive_c=0.3) == 0
    assert measured(instance, "l_recursive", recursive_c=0.31) == 1


def test_a_c_with_more_digits_than_can_be_compared_is_refused():
    with pytest.raises(ConfigError, match=r"recursive_c has too many digits for a table of 2 rows"):
        measured(table_of([list("ab")]), "l_recursive", recursive_c=1e-19)


# -- (alpha, k) and p-sensitive by hand ------------------------------------------------------------


def test_alpha_is_the_largest_share_of_a_value_in_a_group():
    # 2/3 in {a, a, b}, 1/2 in {a, b, c, c}
    assert measured(table_of([list("aab"), list("abcc")]), "alpha") == 2 / 3


def test_alpha_of_a_group_with_one_value_is_one():
    assert measured(table_of([list("ab"), list("bb")]), "alpha") == 1.0


def test_p_is_the_least_number_of_values_over_groups_and_columns():
    # s has 2 and 3 values, t has 3 and 2
    instance = table_of([list("aab"), list("abc")], t=[list("xyz"), list("xxy")])
    assert measured(instance, "p_sensitive") == 2
    # t has one value in the first group
    instance = table_of([list("aab"), list("abc")], t=[list("xxx"), list("xyz")])
    assert measured(instance, "p_sensitive") == 1


# -- t-closeness by hand ---------------------------------------------------------------------------


def test_equal_distance_is_half_the_sum_of_differences():
    # table: a 3/6, b 2/6, c 1/6. {a, a, a}: (1/2 + 1/3 + 1/6) / 2 = 1/2; {b, b, c}: the same
    instance = table_of([list("aaa"), list("bbc")])
    assert measured(instance, "t_closeness") == 0.5
    assert measured(instance, "t_equal") == 0.5


def test_a_group_like_the_table_has_distance_zero():
    instance = table_of([list("aab"), list("aab")])
    assert [measured(instance, name) for name in ("t_closeness", "t_js", "delta")] == [0, 0, 0]


#: The salaries of Li et al., tables 3 and 5: 3k, 4k, 5k, 6k, 7k, 8k, 9k, 10k, 11k, once each.
SALARIES = tuple(f"{i}k" for i in range(3, 12))


def test_ordered_distance_is_that_of_the_papers_salaries():
    # Li et al. §5.1: {3k, 4k, 5k} is 0.375 from all nine salaries, {6k, 8k, 11k} 0.167
    near, far = ["6k", "8k", "11k"], ["3k", "4k", "5k"]
    rest = [salary for salary in SALARIES if salary not in near + far]
    instance = table_of([near, far, rest], OrderedSpec(SALARIES))
    assert measured(instance, "t_closeness") == 0.375
    # P - Q of {6, 8, 11}: -1/9 -1/9 -1/9 +2/9 -1/9 +2/9 -1/9 -1/9 +2/9; running: 1 2 3 1 2 0 1 2 0
    # ninths, 12/9 in all, over 8 → 1/6
    assert float(naive_measures.emd_ordered([3, 5, 8], range(9), 9)) == pytest.approx(1 / 6)
    # 4k and 5k away from 7k, 9k, 10k: the equal distance sees 2/3 in every group
    assert measured(instance, "t_equal") == pytest.approx(2 / 3)


def test_places_that_nobody_has_count_in_an_order():
    # a at 0 and b at 3 of 4 places, half each: {a} must move half of its mass by 3 of 3 places
    instance = table_of([["a"], ["b"]], OrderedSpec(("a", "x", "y", "b")))
    assert measured(instance, "t_closeness") == 0.5
    # neighbours of four: half of it by 1 of 3
    instance = table_of([["a"], ["b"]], OrderedSpec(("a", "b", "x", "y")))
    assert measured(instance, "t_closeness") == 0.5 / 3


def test_numbers_in_steps_have_the_ordered_distance():
    # steps of 10 from 0 to 39: 5 in the first, 38 in the last; 12 and 17 are both in the second
    instance = table_of([["5", "12"], ["17", "38"]], IntervalSpec(10, (0, 39)))
    # {5, 12}: p 1/2 1/2 0 0, q 1/4 1/2 0 1/4 → running 1/4 1/4 1/4, over 3 → 1/4
    assert measured(instance, "t_closeness") == 0.25


ILLS = Hierarchy.from_nested("ill", {"lungs": ["flu", "cough"], "stomach": ["ulcer", "gastritis"]})


def test_tree_distance_moves_within_a_node_first():
    # one each. {flu, cough}: 1/2 must leave the lungs, over height 2 of 2 → 1/2
    lungs, stomach = ["flu", "cough"], ["ulcer", "gastritis"]
    assert measured(table_of([lungs, stomach], TreeSpec(ILLS)), "t_closeness") == 0.5
    # {flu, ulcer}: 1/4 within each node, over height 1 of 2: 2 * 1/8 = 1/4
    mixed = [["flu", "ulcer"], ["cough", "gastritis"]]
    assert measured(table_of(mixed, TreeSpec(ILLS)), "t_closeness") == 0.25
    # all the same to the equal distance
    assert measured(table_of(mixed, TreeSpec(ILLS)), "t_equal") == 0.5


def test_several_columns_count_with_their_own_distance():
    # s: {a}, {b} equal → 1/2; t over four places, neighbours → 1/6. The worst counts.
    instance = table_of([["a"], ["b"]], OrderedSpec(("a", "b", "x", "y")), t=[["c"], ["d"]])
    assert measured(instance, "t_closeness") == 0.5
    instance = table_of([["a"], ["b"]], OrderedSpec(("a", "b", "x", "y")), t=[["c"], ["c"]])
    assert measured(instance, "t_closeness") == 0.5 / 3


def test_a_value_without_a_place_in_the_distance_is_refused():
    with pytest.raises(DataError, match=r"column 's': 1 row holds a value outside its ordered"):
        table_of([["a"], ["b"]], OrderedSpec(("a", "x")))


def test_a_missing_sensitive_value_has_the_last_place():
    frame = pd.DataFrame({"q": ["0", "1"], "s": ["a", None]})
    table = read_table(frame, {"q": "quasi", "s": "sensitive"}, missing="category")
    instance = Instance.build(
        table,
        {"q": OrderedSpec(("0", "1"))},
        distances={"s": OrderedSpec(("a", "b", "c"))},
    )
    # places a b c (missing): half of the mass moves by 3 of 3
    assert measured(instance, "t_closeness") == 0.5


# -- Jensen-Shannon and delta by hand --------------------------------------------------------------


def test_a_revealed_occupation_costs_what_the_source_says():
    # L §5.3 on 45,222 rows: 0.692 for Armed-Forces (14 rows), 0.488 for Craft-repair (6,020)
    occupations = datasets.load("adult-full")["occupation"].astype(str).tolist()
    for value, expected in (("Armed-Forces", 0.692), ("Craft-repair", 0.488)):
        groups = [[value], occupations.copy()]
        groups[1].remove(value)
        instance = table_of(groups)
        # the other group is almost the whole table
        assert measured(instance, "t_js") == pytest.approx(expected, abs=5e-4)


def test_divergence_of_one_value_of_two():
    # P = (1, 0), Q = (1/2, 1/2), M = (3/4, 1/4): ½ [½ ln(2/3) + ½ ln 2 + ln(4/3)]
    expected = (math.log(2 / 3) / 2 + math.log(2) / 2 + math.log(4 / 3)) / 2
    assert measured(table_of([["a"], ["b"]]), "t_js") == pytest.approx(expected, rel=1e-14)


def test_delta_is_the_largest_logarithm_of_a_ratio():
    # a: 2/3 in the first group, 1/3 in the second, 1/2 in the table → ln(4/3) and ln(3/2)
    instance = table_of([list("aab"), list("abb")])
    assert measured(instance, "delta") == pytest.approx(math.log(3 / 2), rel=1e-14)


def test_delta_is_infinite_where_a_value_is_missing():
    assert measured(table_of([list("aab"), list("ab"), list("a")]), "delta") == math.inf


# -- β-likeness by hand ----------------------------------------------------------------------------


def test_beta_is_the_largest_relative_gain():
    # table: a 1/2, b 3/8, c 1/8. {a, a, b, b}: b gains (1/2 - 3/8) / (3/8) = 1/3, a nothing;
    # {a, a, b, c}: c gains (1/4 - 1/8) / (1/8) = 1. What falls does not count, not even to 0.
    instance = table_of([list("aabb"), list("aabc")])
    assert measured(instance, "beta") == 1
    # 1/3 <= -ln(3/8) = 0.98…, 1 <= -ln(1/8) = 2.07…
    assert measured(instance, "beta_enhanced") == 1


def test_beta_is_a_quotient_to_the_last_bit():
    # a: 2/3 beside 3/5, (2/3 - 3/5) / (3/5) = 1/9 and b: 1/2 beside 2/5, 1/4; suppressed rows count
    instance = table_of([list("aab"), list("ab")])
    assert measured(instance, "beta") == 1 / 4
    assert measured(instance, "beta", kind="limit", eta=0.4) == 1 / 9


def test_a_gain_of_a_frequent_value_is_limited_by_its_logarithm():
    # a: 9/10 of the table. {a}: 1/9 > -ln(9/10) = 0.105…; no β will do
    instance = table_of([["a"], list("aaaaaaaab")])
    assert measured(instance, "beta") == 1 / 9
    assert measured(instance, "beta_enhanced") == math.inf
    # without it, b gains 1/9 and may gain -ln(1/10) = 2.3…
    found = [measured(instance, name, kind="limit", eta=0.1) for name in ("beta", "beta_enhanced")]
    assert found == [1 / 9, 1 / 9]


def test_nothing_gains_where_all_rows_are_alike():
    for groups in ([list("aab"), list("aab")], [["a"], ["a", "a"]]):
        instance = table_of(groups)
        assert [measured(instance, name) for name in ("beta", "beta_enhanced")] == [0, 0]


def test_a_row_of_its_own_value_gains_as_much_as_a_table_allows():
    # b: 1 beside 1/5, a gain of 4 = n - 1
    assert measured(table_of([["b"], list("aaaa")]), "beta") == 4


# -- what suppression does -------------------------------------------------------------------------


def test_suppression_leaves_the_shares_of_the_whole_table():
    # sizes 1 and 4 of 5 rows, one row may go: {a} goes; {a, b, b, b} against a 2/5, b 3/5 → 3/20
    instance = table_of([["a"], list("abbb")])
    found = measured(instance, "t_closeness", kind="limit", eta=0.2)
    assert found == pytest.approx(3 / 20, rel=1e-15)


def test_logarithms_of_large_counts_are_those_of_small_ones():
    # beyond 65,535 rows logarithms are not looked up; two values in equal parts have l = 2
    rows = 70_000
    frame = {"q": ["x"] * (2 * rows), "s": ["a"] * rows + ["b"] * rows}
    table = read_table(pd.DataFrame(frame), {"q": "quasi", "s": "sensitive"})
    instance = Instance.build(table, {"q": OrderedSpec(("x",))})
    assert measured(instance, "l_entropy") == pytest.approx(2, rel=1e-11)


def test_the_kernels_models_are_all_of_some_measure():
    scales = {m.name: m.group for m in MEASURES.values() if m.group}
    assert {scale.model for scale in scales.values()} == {"", *kernel_models.MODELS}
    assert [name for name, scale in scales.items() if not scale.model] == ["k"]
