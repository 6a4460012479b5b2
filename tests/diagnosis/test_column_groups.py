"""Levels of groups against their definitions, where there is more to them than in a small table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.diagnosis import Diagnosis, PrivacyModel
from moanon.measures import MEASURES
from moanon.measures.evaluate import Evaluator
from moanon.measures.suppression import Suppression
from tests import naive
from tests.diagnosis.oracle import Row
from tests.diagnosis.tables import examined, oracle_of
from tests.strategies import hierarchies, instances


@st.composite
def small_tables(draw: st.DrawFn, values: list[str]) -> list[Row]:
    """Rows of two columns and a sensitive one; a group of q has up to three cells."""
    row = st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from(values))
    number = draw(st.sampled_from([1, 2, 3, 7, 20, 40]))
    rows = draw(st.lists(row, min_size=number, max_size=number))
    return [dict(zip(("q", "r", "s"), each, strict=True)) for each in rows]


def assert_curves_are_the_oracles(rows: list[Row], model: PrivacyModel) -> None:
    """For every set of columns, the levels of groups and the rows below each are the oracle's."""
    oracle = oracle_of(model, rows, ["q", "r"], ["s"])
    diagnosis = examined(rows, ["q", "r"], ["s"])
    for chosen in oracle.sets:
        expected = sorted(oracle.curve(chosen).items(), reverse=True)
        found = diagnosis.curve(chosen, model).to_frame()
        assert found["t"].tolist() == [float(level) for level, _ in expected]
        assert found["suppressed"].tolist() == [below for _, below in expected]


@given(small_tables([str(value) for value in range(0, 1200, 3)]))
def test_values_on_a_long_line(rows):
    assert_curves_are_the_oracles(rows, PrivacyModel("t", "ordered"))


@given(hierarchies(most_leaves=12).flatmap(lambda t: st.tuples(st.just(t), small_tables(t.leaves))))
def test_values_in_any_tree(drawn):
    tree, rows = drawn
    assert_curves_are_the_oracles(rows, PrivacyModel("t", "tree", hierarchy=tree))


@given(st.data())
def test_a_set_of_columns_is_a_genome_whatever_is_measured(data):
    # ones in its columns, zeros elsewhere: a search measures the same groups, by the same loops
    instance = data.draw(instances(sensitive=data.draw(st.integers(1, 2))))
    names = list(instance.layout.domains)
    subset = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    genome = np.zeros((1, instance.layout.bits), dtype=np.uint8)
    for name, _, place in instance.layout.slices():
        genome[0, place] = name in subset
    rules = {f"l_{rule}": rule for rule in ("distinct", "frequency", "entropy", "recursive")}
    rules |= {"t_equal": "equal", "t_js": "js"}
    scores = Evaluator(instance).evaluate(genome, Suppression("none"), measures=list(rules))
    frame = pd.DataFrame(naive.base_rows(instance), columns=names).astype(str)
    for name in instance.table.sensitive:
        column = instance.table.column(name)
        frame[name] = np.array(column.values)[column.codes]
    diagnosis = Diagnosis.read(frame, names, instance.table.sensitive)
    for name, rule in rules.items():
        found = diagnosis.curve(subset, PrivacyModel(name[0], rule)).level
        assert found == pytest.approx(MEASURES[name].of(scores)[0], abs=1e-12), name
