from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pymoo.algorithms.moo.nsga2 import NSGA2, binary_tournament
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.termination import NoTermination
from pymoo.operators.survival.rank_and_crowding import RankAndCrowding, classes

from moanon.search.nsga2 import ArrayNSGA2, ArrayPopulation, ArraySurvival, crowded_tournament
from moanon.search.operators import (
    ColumnCrossover,
    FlipMutation,
    GenomeMating,
    GenomeProblem,
    GenomeSampling,
    Unseen,
)
from tests.search.people import problem_of

seeds = st.integers(0, 2**32 - 1)
#: Objectives with many ties.
objectives = st.integers(1, 3).flatmap(
    lambda width: st.integers(1, 40).flatmap(
        lambda number: arrays(np.float64, (number, width), elements=st.integers(0, 5).map(float))
    )
)


@pytest.fixture
def stable_sort(monkeypatch):
    """Let pymoo break ties by a stable sort, as ours; its own order depends on the processor."""

    def stable(A, random_state, order, method):
        shuffled = random_state.permutation(len(A))
        return shuffled[np.argsort(A[shuffled], kind="stable")][::-1]

    monkeypatch.setattr(classes, "randomized_argsort", stable)


class Algorithm:
    """What pymoo's tournament wants to know of its algorithm."""

    tournament_type = "comp_by_dom_and_crowding"

    def __init__(self, random_state: np.random.Generator) -> None:
        self.random_state = random_state


@given(objectives, seeds)
def test_tournaments_end_as_in_pymoo_with_the_same_draws(values, seed):
    rng = np.random.default_rng(seed)
    crowding = rng.choice([0.5, 1.0, np.inf], size=len(values))
    pairs = rng.integers(len(values), size=(60, 2))
    population = Population.new("F", values, "crowding", crowding, "rank", np.zeros(len(values)))
    theirs_rng, ours_rng = (np.random.default_rng(seed) for _ in range(2))
    theirs = binary_tournament(population, pairs, Algorithm(theirs_rng))
    ours = crowded_tournament(
        ArrayPopulation(F=values, crowding=crowding), pairs, random_state=ours_rng
    )
    assert (ours == theirs).all()
    assert ours_rng.random() == theirs_rng.random()


def survive(values, number, seed):
    """Survivors by pymoo and by ours: their rows, ranks, crowding, and the next draw."""
    problem, rows = Problem(n_var=1, n_obj=values.shape[1]), np.arange(len(values))[:, None]
    found = []
    for kind, survival in ((Population, RankAndCrowding()), (ArrayPopulation, ArraySurvival())):
        rng = np.random.default_rng(seed)
        population = kind.new("X", rows)
        population.set("F", values)
        kept = survival.do(problem, population, n_survive=number, random_state=rng)
        found.append([*kept.get("X", "F", "rank", "crowding"), rng.random()])
    return found


@given(objectives, st.integers(1, 40), seeds)
def test_as_good_individuals_survive_as_in_pymoo(values, number, seed):
    (_, _, *theirs, their_draw), (rows, _, *ours, our_draw) = survive(values, number, seed)
    assert len(np.unique(rows)) == len(rows) == min(number, len(values))
    for their, our in zip(theirs, ours, strict=True):
        assert (np.sort(their) == np.sort(our)).all()
    assert their_draw == our_draw


@pytest.mark.usefixtures("stable_sort")
@pytest.mark.parametrize("width", [1, 2, 3])
def test_the_same_individuals_survive_as_in_pymoo_in_the_same_order(width):
    rng = np.random.default_rng(width)
    for seed in range(50):
        values = rng.integers(0, 8, size=(60, width)).astype(float)
        theirs, ours = survive(values, 30, seed)
        assert all(np.array_equal(their, our) for their, our in zip(theirs, ours, strict=True))


@pytest.mark.usefixtures("stable_sort")
@pytest.mark.parametrize("preset", ["zero-suppression", "k-suppression", "any-suppression"])
def test_a_run_goes_the_same_way_as_pymoos(preset):
    problem = problem_of(preset, eta=0.1)
    layout = problem.layout
    populations = []
    for kind in (NSGA2, ArrayNSGA2):
        unseen = Unseen(layout)
        algorithm = kind(pop_size=30, sampling=GenomeSampling(layout))
        algorithm.mating = GenomeMating(
            algorithm.mating.selection, ColumnCrossover(layout), FlipMutation(layout), unseen
        )
        algorithm.setup(GenomeProblem(problem), termination=NoTermination(), seed=3)
        for _ in range(25):
            asked = algorithm.ask()
            genomes = asked.get("X")
            asked.set("F", problem.values(genomes))
            algorithm.tell(infills=asked)
            unseen.remove(genomes)
        populations.append((algorithm.pop.get("X"), len(algorithm.opt)))
    (theirs, their_best), (ours, our_best) = populations
    assert (theirs == ours).all()
    assert their_best == our_best
