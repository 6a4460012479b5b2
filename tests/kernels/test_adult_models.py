"""All models and costs on Adult: the same bits however they are evaluated, and the oracle's."""

from __future__ import annotations

import numpy as np
import pytest

from moanon.measures import MEASURES, applicable
from moanon.measures.evaluate import Evaluator, group_rule
from moanon.measures.suppression import Suppression
from tests import naive, naive_measures
from tests.golden.make_adult_measures import genomes


@pytest.mark.parametrize("by", ["k", "l_entropy", "t_closeness", "delta"])
def test_ways_and_threads_give_the_same_bits(adult, by):
    rule = Suppression("limit", 0.1, by=by, constraints=(("l_distinct", 2),))
    rows = adult.table.rows
    demand = group_rule(rule, rows, applicable(adult), len(adult.cells.sensitive), steps=True)
    one, two = adult.kernel, adult.make_kernel(2)
    population = genomes(adult)
    expected = one.evaluate(population, demand, "flat")
    for found in (one.evaluate(population, demand, "rollup"), two.evaluate(population, demand)):
        for name, array in vars(found).items():
            assert np.array_equal(array, vars(expected)[name]), name
    assert (expected.field("suppressed") <= rows).all()
    assert len(expected.steps) > len(population)


def test_a_coarse_generalization_measures_as_the_oracle_says(adult):
    population = genomes(adult)
    scores = Evaluator(adult).evaluate(population, Suppression("none"), measures=["groups"])
    number = MEASURES["groups"].of(scores)
    chosen = population[np.flatnonzero((number > 8) & (number < 30))[0]]
    names = [measure.name for measure in applicable(adult)]
    scores = Evaluator(adult).evaluate(chosen, Suppression("limit", 0.05), measures=names)
    text = adult.layout.text(chosen)
    groups = list(naive.groups_of(naive.generalized_rows(adult, text)).values())
    d, _ = naive.within_limit([(len(rows), 0, 0) for rows in groups], 0.05)
    kept = [rows for rows in groups if len(rows) > d]
    assert len(kept) < len(groups)
    models = [naive_measures.group_models(adult, rows) for rows in kept]
    expected = naive_measures.loss_measures(adult, text, kept)
    for name in models[0]:
        pick = min if MEASURES[name].direction == "max" else max
        expected[name] = pick(group[name] for group in models)
    checked = [name for name in expected if name in names]
    assert len(checked) > 15
    for name in checked:
        found = MEASURES[name].of(scores)[0]
        assert found == pytest.approx(expected[name], rel=1e-11), name
