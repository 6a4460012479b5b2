"""Top and bottom coding: a clamped end counts in losses as the values that it stands for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.domain import DomainSpec, IntervalSpec, TreeSpec
from moanon.data.rules import rule_of
from moanon.engines import read_table
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.kernels.join import block_keys
from moanon.measures import MEASURES
from moanon.measures.column_effects import column_effects
from moanon.measures.evaluate import Evaluator, measure_grouping
from moanon.measures.suppression import Suppression
from moanon.release import Release

AGES = [3, 17, 20, 24, 31, 44, 50, 62]
LOSSES = ["gl", "loss", "ncp", "loss_weighted"]


def people(spec: DomainSpec, ages: list[int] = AGES) -> Instance:
    frame = pd.DataFrame({"age": [*map(str, ages)], "sex": ["f", "m"] * (len(ages) // 2)})
    table = read_table(frame, {"age": "quasi", "sex": "insensitive"})
    return Instance.build(table, {"age": spec}, weights={"age": 2.0})


def clamped() -> Instance:
    """Ends of 4 and 3 steps of five years around six: 0-19 and 50-64."""
    return people(IntervalSpec(granularity=5, range=(20, 50), outside="clamp"))


def test_ends_stand_for_as_many_steps_as_the_table_reaches() -> None:
    domain = clamped().layout.domains["age"]
    assert [domain.label(i, i + 1) for i in (0, 1, 7)] == ["<20", "[20-24]", ">=50"]
    assert domain.spans.tolist() == [4, 1, 1, 1, 1, 1, 1, 3]
    assert domain.values == 13
    within = IntervalSpec(granularity=5, range=(0, 70), outside="clamp")
    assert people(within).layout.domains["age"].spans.tolist() == [1] * 16


def test_a_clamped_cell_loses_the_values_of_its_block() -> None:
    grouping = Grouping.of_genome(clamped(), [1] * 7)
    # 2 of 8 rows in a block of 4 and 2 in one of 3 of 13 values: (2·3 + 2·2) / (8·12)
    assert measure_grouping(grouping)["gl"] == pytest.approx(10 / 96)
    (age,) = column_effects(grouping)
    assert age.loss == pytest.approx(10 / 96)
    # <25 is 5 of 13 values for 4 rows: (4·4 + 2·2) / (8·12)
    assert measure_grouping(Grouping.of_genome(clamped(), [0] + [1] * 6))["gl"] == 20 / 96


@given(bits=st.lists(st.integers(0, 1), min_size=7, max_size=7))
def test_clamping_is_what_a_search_could_have_merged_itself(bits: list[int]) -> None:
    """Coarse ends lose as much whether they were clamped or chosen."""
    every = people(IntervalSpec(granularity=5, range=(0, 64)))
    genome = np.array([[0, 0, 0, *bits, 0, 0]], dtype=np.uint8)
    there = Evaluator(every).evaluate(genome, Suppression("none"), measures=LOSSES)
    here = Evaluator(clamped()).evaluate(genome[:, 3:10], Suppression("none"), measures=LOSSES)
    for name in LOSSES:
        found = MEASURES[name].of(here)[0]
        assert found == pytest.approx(MEASURES[name].of(there)[0], abs=1e-12), name


@pytest.mark.parametrize("bit", [0, 1])
def test_clamped_leaves_of_a_tree_count_alike(bit: int) -> None:
    rule = rule_of({"intervals": [5]}, IntervalSpec(range=(20, 50), outside="clamp"))
    found = measure_grouping(Grouping.of_genome(people(TreeSpec(rule)), [bit] * 7))
    whole = measure_grouping(Grouping.of_genome(clamped(), [bit] * 7))
    assert found["gl"] == whole["gl"]
    # of a tree, w of m values: 2 of 8 rows have 4 and 2 have 3 of 13
    assert found["ncp"] == pytest.approx((2 * 4 + 2 * 3) / (8 * 13) if bit else 1)


def test_a_record_counts_the_values_of_clamped_ends(tmp_path: Path) -> None:
    release = Release.of(clamped(), [1, 0, 0, 0, 0, 0, 1])
    certificate = release.write(tmp_path / "t.csv")
    # two ends of 2 rows, 4 and 3 values, and 4 rows in [20-49], 6 values
    lost = (2 * 3 + 2 * 2 + 4 * 5) / 96
    assert release.record(certificate)["measures"]["gl"] == pytest.approx(lost)
    assert certificate.loss is None  # how far the table reaches is not declared


def test_what_lies_far_away_takes_no_memory() -> None:
    keys, values = block_keys(np.array([10**9, 1, 1, 2**40, 1]))
    assert len(values) == 4 * 6
    assert values[keys[4] - keys[2]] == 2**40 + 1
    assert values[keys[5] - keys[0]] == 10**9 + 2**40 + 3
    far = people(IntervalSpec(range=(0, 50), outside="clamp"), [10**30, 7])
    loss = measure_grouping(Grouping.of_genome(far, [1] * 51))["gl"]
    assert loss == pytest.approx(0.5)
