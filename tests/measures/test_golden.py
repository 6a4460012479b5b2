"""The kernels on Adult against a file that the slow oracle made."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from moanon.genome import Instance
from moanon.measures import MEASURES
from moanon.measures.evaluate import Evaluator
from moanon.measures.suppression import Suppression
from tests.golden.make_adult_measures import ETA, GOLDEN, RULES, genomes

GOLD = pd.read_csv(GOLDEN, dtype={"genome": str})


@pytest.fixture(scope="module")
def evaluator(adult: Instance) -> Evaluator:
    return Evaluator(adult)


def test_the_file_holds_two_hundred_genomes_under_every_rule(evaluator):
    texts = [evaluator.instance.layout.text(genome) for genome in genomes(evaluator.instance)]
    assert len(texts) == 200
    for rule in RULES:
        name = "/".join(filter(None, rule))
        assert GOLD.loc[GOLD.rule == name, "genome"].tolist() == texts


@pytest.mark.parametrize("mode", ["flat", "rollup"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: "-".join(filter(None, rule)))
def test_all_measures_agree_with_the_oracle(evaluator, rule, mode):
    kind, safety, prefer = rule
    suppression = Suppression(kind, ETA, safety or "strict", prefer or "k")
    scores = evaluator.evaluate(genomes(evaluator.instance), suppression, mode=mode)
    gold = GOLD[GOLD.rule == "/".join(filter(None, rule))]
    exact = ["k", "l_distinct", "l_frequency", "suppressed", "groups"]
    exact += ["d1", "d2"] if kind in ("limit", "kl-safety") else []
    for name in exact:
        assert np.array_equal(MEASURES[name].of(scores), gold[name]), name
    for name in ("weighted_k", "gl", "sl"):
        np.testing.assert_allclose(MEASURES[name].of(scores), gold[name], rtol=1e-12, atol=1e-12)
