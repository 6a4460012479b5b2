"""Indices of property vectors as measures: against the slow oracle, `compare`, and by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.domain import OrderedSpec
from moanon.engines import read_table
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.kernels.costs import TALLIES
from moanon.measures import MEASURES, people
from moanon.measures.evaluate import Evaluator, measure_grouping
from moanon.measures.suppression import Suppression
from tests import naive, naive_measures
from tests.measures.tables import measured, table_of
from tests.strategies import few, populations, rich_instances

NAMES = [name for name, m in MEASURES.items() if m.of.__module__ == people.__name__]


def assert_indices_are_the_oracles(
    instance: Instance, shown: Sequence[object], kept: list, measured: dict[str, float]
) -> None:
    expected = naive_measures.individual_measures(instance, shown, kept)
    assert measured.keys() == expected.keys()
    for name, value in measured.items():
        assert value == pytest.approx(expected[name], rel=1e-9, abs=1e-6), name


@few
@given(st.data())
def test_every_index_agrees_with_the_oracle_under_a_limit(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=3))
    eta = data.draw(st.sampled_from([0.0, 0.2, 0.5]))
    scores = Evaluator(instance).evaluate(genomes, Suppression("limit", eta), measures=NAMES)
    for i, genome in enumerate(genomes):
        shown = naive.generalized_rows(instance, instance.layout.text(genome))
        least = scores.field("d1")[i]
        kept = [rows for rows in naive.groups_of(shown).values() if len(rows) >= least]
        assert_indices_are_the_oracles(
            instance, shown, kept, {name: MEASURES[name].of(scores)[i] for name in NAMES}
        )


@few
@given(st.data())
def test_every_index_agrees_with_the_oracle_at_every_step(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=2))
    rule = Suppression("limit", 0.5)
    scores = Evaluator(instance).evaluate(genomes, rule, measures=NAMES, steps=True)
    steps, genome_of = scores.steps(), scores.step_genome
    assert len(steps) >= len(genomes)
    for step, genome in enumerate(genome_of.tolist()):
        shown = naive.generalized_rows(instance, instance.layout.text(genomes[genome]))
        least = steps.field("k")[step]
        kept = [rows for rows in naive.groups_of(shown).values() if len(rows) >= least]
        assert_indices_are_the_oracles(
            instance, shown, kept, {name: MEASURES[name].of(steps)[step] for name in NAMES}
        )


# -- by hand ---------------------------------------------------------------------------------------


#: Groups of 3, 3 and 4 rows, as in C's T3a.
THREE = ("aab", "abb", "abcd")
#: The same with two loners, that eta 0.2 suppresses.
LONERS = ("a", "b", *THREE)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("size_min", 3),
        ("size_mean", 3.4),  # (9 + 9 + 16) / 10, C §3
        ("size_rank", math.sqrt(6 * 49 + 4 * 36)),
        ("utility_min", 1),
        ("utility_mean", 1),
        ("utility_rank", 0),
        ("sensitive_count_max", 2),
        ("sensitive_count_mean", 1.4),  # (2+2+1 + 1+2+2 + 1+1+1+1) / 10
        ("sensitive_count_rank", 2.0),  # four rows of 2
        ("sensitive_share_max", 2 / 3),
        ("sensitive_share_mean", (4 * 2 / 3 + 2 / 3 + 4 / 4) / 10),
        ("sensitive_share_rank", math.sqrt(4 * 4 / 9 + 2 / 9 + 4 / 16)),
        ("diversity_min", 2),
        ("diversity_mean", 2.8),  # (6 * 2 + 4 * 4) / 10
        ("diversity_rank", math.sqrt(6 * 4)),
    ],
)
def test_three_groups_by_hand(name, expected):
    assert measured(table_of(THREE), name) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("size_min", 2),  # the suppressed rows are a group of two
        ("size_mean", 38 / 12),
        ("size_rank", math.sqrt(6 * 81 + 4 * 64 + 2 * 100)),
        ("utility_min", 0),
        ("utility_mean", 10 / 12),
        ("utility_rank", math.sqrt(2)),
        ("sensitive_count_max", 2),
        ("sensitive_count_mean", 16 / 12),
        ("sensitive_count_rank", 2.0),
        ("sensitive_share_max", 2 / 3),
        ("sensitive_share_mean", (4 * 2 / 3 + 2 / 3 + 4 / 4 + 2 / 2) / 12),
        ("sensitive_share_rank", math.sqrt(4 * 4 / 9 + 2 / 9 + 4 / 16 + 2 / 4)),
        ("diversity_min", 2),
        ("diversity_mean", 32 / 12),
        ("diversity_rank", math.sqrt(8 * 4)),
    ],
)
def test_suppressed_rows_are_a_group_of_their_own(name, expected):
    assert measured(table_of(LONERS), name, kind="limit", eta=0.2) == pytest.approx(
        expected, rel=1e-12
    )


def test_suppressed_rows_that_are_alike_are_easily_guessed():
    # two loners with the same value: as a group they hold one value, whatever the kept groups have
    instance = table_of(["a", "a", *THREE])
    assert measured(instance, "sensitive_share_max", kind="limit", eta=0.2) == 1
    assert measured(instance, "alpha", kind="limit", eta=0.2) == pytest.approx(2 / 3)
    assert measured(instance, "diversity_min", kind="limit", eta=0.2) == 1


def test_the_worst_of_several_sensitive_columns_counts():
    instance = table_of(["ab", "ab"], t=["xx", "xy"])
    assert measured(instance, "sensitive_share_mean") == (1 + 1 + 0.5 + 0.5) / 4
    assert measured(instance, "diversity_mean") == 1.5
    # of x and y the first group lacks one value; of a and b no group lacks any
    assert measured(instance, "diversity_rank") == pytest.approx(math.sqrt(2))


def test_rows_of_one_cell_may_be_in_different_groups():
    # a a | a b: the first cell is a group, the second in parts, a and a suppressed b
    grouping = Grouping.of_rows(table_of(["aa", "ab"]), [0, 0, 1, -1], [[0, 1]], [[1, 2]])
    found = measure_grouping(grouping)
    assert found["sensitive_count_mean"] == (2 + 2 + 1 + 1) / 4
    assert found["diversity_mean"] == 1


def test_sums_over_a_million_rows_do_not_overflow():
    rows = 2_000_000
    frame = pd.DataFrame({"q": ["0"] + ["1"] * (rows - 1), "s": ["a"] * rows})
    table = read_table(frame, {"q": "quasi", "s": "sensitive"})
    instance = Instance.build(table, {"q": OrderedSpec(("0", "1"))})
    # one row is rows - 1 away from the ideal, all others one row
    exact = math.sqrt((rows - 1) ** 2 + (rows - 1))
    assert measured(instance, "size_rank") == pytest.approx(exact, rel=1e-12)
    exact = math.sqrt((rows - 1) * (rows - 2) ** 2)
    assert measured(instance, "sensitive_count_rank") == pytest.approx(exact, rel=1e-12)
    assert measured(instance, "sensitive_share_rank") == pytest.approx(math.sqrt(rows), rel=1e-12)


@pytest.mark.parametrize("rows", range(5, 40))
def test_distances_of_whole_numbers_are_exact(rows):
    # two pairs of equal values, all others different: 4 rows one away from the ideal
    values = ["a", "a", "b", "b", *(str(i) for i in range(rows - 4))]
    frame = pd.DataFrame({"q": ["0"] * rows, "s": values})
    table = read_table(frame, {"q": "quasi", "s": "sensitive"})
    instance = Instance.build(table, {"q": OrderedSpec(("0", "1"))})
    assert measured(instance, "sensitive_count_rank") == 2


def test_the_mean_utility_of_equal_rows_is_that_of_each():
    frame = pd.DataFrame({"q": [str(i % 2) for i in range(10)], "s": ["a"] * 10})
    table = read_table(frame, {"q": "quasi", "s": "sensitive"})
    spec = OrderedSpec(tuple(str(i) for i in range(11)))
    instance = Instance.build(table, {"q": spec})
    genome = np.array([[0, *[1] * 9]], dtype=np.uint8)  # the first two of eleven are one block
    names = ["utility_min", "utility_mean"]
    scores = Evaluator(instance).evaluate(genome, Suppression("none"), measures=names)
    assert [MEASURES[name].of(scores)[0] for name in names] == [0.9, 0.9]


def test_the_kernels_tallies_are_all_of_some_measure():
    assert {tally for each in MEASURES.values() for tally in each.tallies} == set(TALLIES)
