"""Points of genomes: what a staircase can tell, and what it cannot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.errors import SearchError
from moanon.measures.suppression import Suppression
from moanon.search.problem import SearchProblem
from tests.strategies import instances, populations


@given(st.data())
def test_each_genomes_own_values_are_among_its_points(data):
    instance = data.draw(instances(sensitive=1))
    genomes = data.draw(populations(instance))
    kind = data.draw(st.sampled_from(["limit", "kl-safety"]))
    problem = SearchProblem(instance, ["k", "loss"], Suppression(kind, 0.2))
    assert problem.has_steps
    values, points = problem.both(genomes)
    for i, own in enumerate(values):
        found = points.values[points.genome == i]
        assert (np.abs(found - own).max(axis=1) < 1e-12).any()


@given(st.data())
def test_diversity_under_a_limit_is_measured_genome_by_genome(data):
    instance = data.draw(instances(sensitive=1))
    genomes = data.draw(populations(instance))
    problem = SearchProblem(instance, ["k", "l", "loss"], Suppression("limit", 0.2))
    assert not problem.has_steps
    assert np.array_equal(problem.points(genomes).values, problem.values(genomes))


@given(st.data())
def test_an_objective_on_a_column_that_is_not_there_is_refused(data):
    instance = data.draw(instances(sensitive=0))
    with pytest.raises(SearchError, match="objective 'l' needs a sensitive column"):
        SearchProblem(instance, ["l", "loss"], Suppression("limit", 0.2))
