"""A bound that a solution meets exactly is met, whoever is asked: search, question, release."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.config import check_reach
from moanon.config.reading import check_constraints
from moanon.front import Front
from moanon.front.asking import Question
from moanon.genome import Instance
from moanon.measures import MEASURES
from moanon.measures.evaluate import Evaluator
from moanon.measures.suppression import Suppression
from moanon.search.problem import INFEASIBLE, AnonymizationProblem
from tests import naive, naive_measures
from tests.strategies import populations, rich_instances

OBJECTIVES = ("k", "loss")
#: Counted, or one correctly rounded quotient of what was counted.
EXACT = {name for name, m in MEASURES.items() if m.precision in ("exact", "quotient")}


@st.composite
def solutions(draw: st.DrawFn) -> Front:
    """A front of one solution: a genome with the thresholds of one of its steps."""
    instance = draw(rich_instances())
    genome = draw(populations(instance, most=1))[:1]
    rule = Suppression("limit", draw(st.sampled_from([0.0, 0.3, 0.7])))
    points = AnonymizationProblem(instance, OBJECTIVES, rule).points(genome)
    step = draw(st.integers(0, len(points.genome) - 1))
    return Front.of(
        Evaluator(instance), rule, OBJECTIVES, genome, points.thresholds[step : step + 1]
    )


def exact_values(front: Front) -> dict[str, float]:
    """What a solution has by the oracle, which adds fractions and rounds once."""
    instance = front.instance
    assert instance is not None
    genome = instance.layout.text(front.recodings.genomes[0])
    shown = naive.generalized_rows(instance, genome)
    groups = list(naive.groups_of(shown).values())
    kept = [rows for rows in groups if len(rows) >= front.measures["k"][0]]
    found = naive_measures.release_measures(instance, shown, groups, kept)
    return found | naive_measures.loss_measures(instance, genome, kept)


def check_everywhere(front: Front, bounds: dict[str, float]) -> None:
    """Have bounds checked by everything that checks bounds."""
    instance, sides = front.instance, {}
    assert isinstance(instance, Instance)
    for name, bound in bounds.items():
        sides[name] = {"min" if MEASURES[name].higher_is_better else "max": bound}
    check_constraints(sides)
    check_reach(bounds, instance)

    problem = AnonymizationProblem(instance, OBJECTIVES, front.suppression, constraints=bounds)
    points = problem.points(front.recodings.genomes)
    here = np.array([[-front.measures["k"][0], front.measures["loss"][0]]])
    found = points.values[points.thresholds[:, 0] != INFEASIBLE]
    assert (found == here).all(axis=1).any(), problem.wanting(
        front.recodings.genomes, points.thresholds
    )

    for name, bound in bounds.items():
        side = "at_least" if MEASURES[name].higher_is_better else "at_most"
        asked = Question.of(**{side: {name: bound}})
        assert asked.within(front).all(), name

    bounded = replace(front, bounds=bounds)
    k = int(front.measures["k"][0])
    assert bounded.release(1, k=k).grouping.suppressed == front.measures["suppressed"][0]
    bounded.apply(1, instance.table)


def finite(values: dict[str, float]) -> dict[str, float]:
    """Without what a rule aims at, and what no bound can be."""
    return {
        name: float(value)
        for name, value in values.items()
        if math.isfinite(value) and not MEASURES[name].of_rule
    }


@given(solutions())
def test_what_front_csv_says_is_a_bound_that_is_met(front: Front) -> None:
    written = {name: float(repr(column.tolist()[0])) for name, column in front.measures.items()}
    check_everywhere(front, finite(written))


@given(solutions())
def test_what_a_solution_exactly_has_is_a_bound_that_is_met(front: Front) -> None:
    check_everywhere(front, finite(exact_values(front)))


@given(solutions())
def test_values_that_need_no_tolerance_are_correctly_rounded(front: Front) -> None:
    exact = exact_values(front)
    for name in EXACT & set(exact):
        assert front.measures[name][0] == exact[name], name


@pytest.mark.parametrize("name", sorted(EXACT))
def test_what_is_counted_has_no_tolerance(name: str) -> None:
    measure = MEASURES[name]
    worse = -1 if measure.higher_is_better else 1
    bound = 3.0 if measure.range.high != 1 else 0.25
    assert measure.meets(np.array([bound]), bound).all()
    assert not measure.meets(np.nextafter([bound], worse * np.inf), bound).any()


def test_the_tolerance_is_a_billionth() -> None:
    ncp, prec = MEASURES["ncp"], MEASURES["prec"]
    assert ncp.meets(np.array([0.3 * (1 + 9e-10)]), 0.3).all()
    assert not ncp.meets(np.array([0.3 * (1 + 2e-9)]), 0.3).any()
    assert prec.meets(np.array([0.3 * (1 - 9e-10)]), 0.3).all()
    assert not prec.meets(np.array([0.3 * (1 - 2e-9)]), 0.3).any()


def test_a_bound_of_0_is_met_up_to_the_rounding_of_sums() -> None:
    ncp = MEASURES["ncp"]
    assert ncp.meets(np.array([1e-11]), 0.0).all()
    assert not ncp.meets(np.array([1e-9]), 0.0).any()
