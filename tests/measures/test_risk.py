"""An attacker's chances: against the slow oracle, and by hand."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.domain import OrderedSpec
from moanon.engines import read_table
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures import MEASURES
from moanon.measures.evaluate import Evaluator, measure_grouping
from moanon.measures.suppression import Suppression
from tests import naive, naive_measures
from tests.strategies import few, instances, populations

NAMES = ["risk_mean", "risk_max", "risk_share"]


@pytest.mark.parametrize("eta", [0.0, 0.3])
@few
@given(data=st.data())
def test_every_risk_agrees_with_the_oracle(eta, data):
    instance = data.draw(instances())
    genomes = data.draw(populations(instance, most=3))
    scores = Evaluator(instance).evaluate(genomes, Suppression("limit", eta), measures=NAMES)
    for i, genome in enumerate(genomes):
        shown = naive.generalized_rows(instance, instance.layout.text(genome))
        groups = naive.groups_of(shown).values()
        d, _ = naive.within_limit([(len(rows), 0, 0) for rows in groups], eta)
        expected = naive_measures.risks([rows for rows in groups if len(rows) > d])
        assert {name: MEASURES[name].of(scores)[i] for name in NAMES} == expected


def test_risks_by_hand() -> None:
    # groups of 6, 3 and 1 rows: 3 / 10, 1 / 1, and (3 + 1) / 10 in groups of fewer than 5
    table = read_table(pd.DataFrame({"size": list("SSSSSSMMML")}), {"size": "quasi"})
    instance = Instance.build(table, {"size": OrderedSpec(("S", "M", "L"))})
    grouping = Grouping.of_genome(instance, [1, 1])
    found = measure_grouping(grouping)
    assert [found[name] for name in NAMES] == [0.3, 1.0, 0.4]
    # without the single row: 2 / 9, 1 / 3, 3 / 9
    found = measure_grouping(grouping.keep(grouping.sizes > 1))
    assert [found[name] for name in NAMES] == [2 / 9, 1 / 3, 3 / 9]
