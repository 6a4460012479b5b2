"""Points of genomes: what a staircase can tell, and what it cannot."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.errors import SearchError
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures import MEASURES
from moanon.measures.evaluate import objective_matrix
from moanon.measures.suppression import Suppression
from moanon.search.problem import AnonymizationProblem
from tests import naive_measures
from tests.strategies import few, instances, populations, rich_instances

#: Measures that a rule can go by.
MODELS = [m.name for m in MEASURES.values() if m.group and m.name != "l"]


@given(st.data())
def test_each_genomes_own_values_are_among_its_points(data):
    instance = data.draw(instances(sensitive=1))
    genomes = data.draw(populations(instance))
    kind = data.draw(st.sampled_from(["limit", "kl-safety"]))
    problem = AnonymizationProblem(instance, ["k", "loss"], Suppression(kind, 0.2))
    assert problem.has_steps
    values, _, points = problem.measured(genomes)
    for i, own in enumerate(values):
        found = points.values[points.genome == i]
        assert (np.abs(found - own).max(axis=1) < 1e-12).any()


@few
@given(st.data())
def test_every_measure_is_taken_at_every_step(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=4))
    by = data.draw(st.sampled_from(MODELS))
    others = ("k", "l", "d", "d1", "d2", "weighted_l", "u_loss")  # not told by steps
    finite = (name for name, measure in MEASURES.items() if not measure.range.has_infinity)
    names = ["k", "l", *(name for name in finite if name not in others)]
    problem = AnonymizationProblem(instance, names, Suppression("limit", 0.3, by=by))
    points = problem.points(genomes)
    again = problem.evaluator.evaluate_at(
        genomes[points.genome], points.thresholds, problem.suppression, measures=names
    )
    assert np.array_equal(points.values, objective_matrix(again, names))  # to the last bit


@given(st.data())
def test_a_staircase_goes_down_class_by_class(data):
    instance = data.draw(rich_instances())
    (genome, *_) = data.draw(populations(instance, most=2))
    by = data.draw(st.sampled_from(MODELS))
    eta = data.draw(st.sampled_from([0.0, 0.2, 0.5]))
    problem = AnonymizationProblem(instance, ["suppressed"], Suppression("limit", eta, by=by))
    points = problem.points(genome[None])
    groups = Grouping.of_genome(instance, genome)
    sizes = groups.sizes.tolist()
    rows = [np.flatnonzero(groups.row_group == g).tolist() for g in range(len(sizes))]
    classes = [class_of(by, naive_measures.group_models(instance, each), instance) for each in rows]
    limit = int(Fraction(str(eta)) * sum(sizes))

    def below(threshold: int) -> int:
        return sum(size for size, mine in zip(sizes, classes, strict=True) if mine < threshold)

    # every class whose worse ones fit into the limit is a step, from nothing suppressed on
    expected = [mine for mine in sorted(set(classes), reverse=True) if below(mine) <= limit]
    found = points.thresholds[:, 0 if by == "k" else 1]
    order = np.argsort(-found)
    assert found[order].tolist() == expected
    assert points.values[order, 0].tolist() == [below(mine) for mine in expected]


def class_of(by: str, models: dict[str, float], instance: Instance) -> int:
    """What the rule takes a group for: its size, or the class of its value."""
    if by == "k":
        return int(models["k"])
    way, value = MEASURES[by].group, models[by]
    shift, per_unit = way.classes(instance.table.rows)
    if math.isinf(value):
        return 1
    goodness = math.log(value) if by == "l_entropy" else value
    goodness = goodness if MEASURES[by].direction == "max" else -goodness
    # Sums of logarithms differ in their last digits; on the edge of a class that would show.
    rounded = round((goodness + shift) * per_unit, 9)
    rough = by in ("l_entropy", "t_js", "delta")
    return max(1, math.floor(rounded if rough else (goodness + shift) * per_unit))


@given(st.data())
def test_an_objective_on_a_column_that_is_not_there_is_refused(data):
    instance = data.draw(instances(sensitive=0))
    with pytest.raises(SearchError, match="objective 'l' needs a sensitive column"):
        AnonymizationProblem(instance, ["l", "loss"], Suppression("limit", 0.2))
