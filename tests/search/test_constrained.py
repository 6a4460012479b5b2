"""Searching under constraints: nothing infeasible in a front, and a way to what is feasible."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moanon.data.domain import IntervalSpec
from moanon.engines import read_table
from moanon.errors import InfeasibleError, SearchError
from moanon.genome import Instance
from moanon.measures import MEASURES
from moanon.measures.evaluate import objective_matrix
from moanon.measures.suppression import Suppression
from moanon.search.algorithms import Stop
from moanon.search.archive import Archive, undominated
from moanon.search.archive_search import ArchiveSearch
from moanon.search.problem import INFEASIBLE, AnonymizationProblem, Points
from moanon.search.pymoo_search import PymooSearch
from moanon.search.running import run_search
from tests.search.people import ONE_BIT, exact_archive, people
from tests.strategies import few, populations, rich_instances

BOUNDS = {"k": 4, "l_entropy": 2.0, "t_closeness": 0.3, "loss": 0.7}


def constrained(
    objectives: tuple[str, ...] = ("t_closeness", "loss"),
    constraints: dict[str, float] | None = None,
    eta: float = 0.1,
    **settings: object,
) -> AnonymizationProblem:
    rule = Suppression("limit", eta, **settings)
    return AnonymizationProblem(people(), objectives, rule, constraints=constraints or BOUNDS)


def measures_of(problem: AnonymizationProblem, archive: Archive) -> dict[str, np.ndarray]:
    names = [*problem.objectives, "sl", *BOUNDS]
    scores = problem.evaluator.evaluate_at(
        archive.genomes, archive.thresholds, problem.suppression, measures=names
    )
    return {name: MEASURES[name].of(scores) for name in names}


def holds(found: dict[str, np.ndarray], bounds: dict[str, float]) -> bool:
    return all(
        (found[name] >= bound * (1 - 1e-9)).all()
        if MEASURES[name].direction == "max"
        else (found[name] <= bound * (1 + 1e-9)).all()
        for name, bound in bounds.items()
    )


# -- points ----------------------------------------------------------------------------------------


@given(st.data())
def test_every_point_is_feasible_or_the_nearest_of_its_genome(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=6))
    assume(instance.table.rows > 1)  # or no group can have two
    bounds = {"k": 2, "t_closeness": 0.4, "loss": 0.8, "sl": 0.15}
    chosen = {name: bounds[name] for name in data.draw(st.sets(st.sampled_from(sorted(bounds))))}
    by = data.draw(st.sampled_from(["k", "t_closeness"]))
    rule = Suppression("limit", 0.3, by=by)
    problem = AnonymizationProblem(instance, ["t_closeness", "loss"], rule, constraints=chosen)
    points = problem.points(genomes)
    feasible = points.thresholds[:, 0] != INFEASIBLE
    assert set(points.genome.tolist()) == set(range(len(genomes)))
    for genome in range(len(genomes)):
        mine = points.genome == genome
        assert feasible[mine].all() or mine.sum() == 1
    at = points.only(feasible)
    names = ["k", "t_closeness", "loss", "sl"]
    scores = problem.evaluator.evaluate_at(
        genomes[at.genome], at.thresholds, problem.suppression, measures=names
    )
    assert holds({name: MEASURES[name].of(scores) for name in names}, chosen)
    assert (scores.field("suppressed") <= 0.3 * instance.table.rows).all()


@few
@given(st.data())
def test_pairs_under_constraints_measure_as_they_say(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=4))
    rule = Suppression("kl-safety", data.draw(st.sampled_from([0.2, 0.5])))
    bounds = {"alpha": 0.7, "t_closeness": 0.6}
    names = ["k", "l", "suppressed", "loss"]
    problem = AnonymizationProblem(instance, names, rule, constraints=bounds)
    points = problem.points(genomes)
    at = points.only(points.thresholds[:, 0] != INFEASIBLE)
    again = problem.evaluator.evaluate_at(
        genomes[at.genome], at.thresholds, problem.suppression, measures=[*names, *bounds]
    )
    assert np.array_equal(at.values, objective_matrix(again, names))
    assert holds({name: MEASURES[name].of(again) for name in bounds}, bounds)


@pytest.mark.parametrize("objective", ["alpha", "entropy_loss", "k", "sensitive_share_mean"])
@pytest.mark.parametrize("diversity", ["distinct", "frequency"])
@pytest.mark.parametrize(("eta", "feasible"), [(0.0, 0), (0.5, 1)])
def test_genomes_without_a_feasible_pair_have_no_solution(objective, diversity, eta, feasible):
    # {1, 1}: p p and {2, 2}: p q. All together have alpha 3/4, {1, 1} has 1, {2, 2} has 1/2:
    # only without the two rows of {1, 1} does anything meet 1/2.
    table = read_table(
        pd.DataFrame({"a": [1, 1, 2, 2], "s": list("pppq")}), {"a": "quasi", "s": "sensitive"}
    )
    instance = Instance.build(table, {"a": IntervalSpec(1)})
    rule = Suppression("kl-safety", eta, diversity=diversity)
    problem = AnonymizationProblem(instance, [objective, "loss"], rule, constraints={"alpha": 0.5})
    points = problem.points(np.array([[0], [1]], dtype=np.uint8))
    assert (points.thresholds[:, 0] != INFEASIBLE).sum() == feasible
    assert sorted(points.genome.tolist()) == [0, 1]


def test_without_constraints_nothing_is_infeasible():
    problem = AnonymizationProblem(people(), ["t_closeness", "loss"], Suppression("limit", 0.1))
    genomes = problem.layout.sample(30, np.random.default_rng(0))
    assert not problem.is_constrained
    assert (problem.points(genomes).thresholds[:, 0] != INFEASIBLE).all()


def test_a_constraint_of_pymoo_is_how_far_a_genome_is_from_feasible():
    problem = constrained(constraints={"k": 8})
    genomes = problem.layout.sample(200, np.random.default_rng(0))
    values, missed, _ = problem.measured(genomes)
    excess = problem.evaluator.evaluate(genomes, problem.suppression).excess
    assert 0 < (excess > 0).sum() < len(genomes)
    assert (missed[:, 0] == excess).all()
    assert np.isfinite(values).all()


def test_an_infinite_delta_is_infeasible():
    problem = AnonymizationProblem(
        people(), ["delta", "loss"], Suppression("limit", 0.1, by="delta")
    )
    genomes = np.concatenate([problem.layout.sample(50, np.random.default_rng(0))])
    points = problem.points(genomes)
    assert np.isfinite(points.values).all()
    assert (points.thresholds[:, 0] == INFEASIBLE).any()
    ends = np.zeros((1, problem.layout.bits), dtype=np.uint8)
    assert problem.points(ends).values.tolist() == [[0, 1]]


# -- the archive -----------------------------------------------------------------------------------


def test_the_archive_keeps_the_nearest_until_something_is_feasible():
    archive = Archive.empty(2, ONE_BIT, 100)
    genomes = np.array([[0], [1], [1]], dtype=np.uint8)

    def add(values: list[list[float]], thresholds: list[list[int]]) -> int:
        places = np.arange(len(values))
        return archive.add(Points(np.array(values), places, np.array(thresholds)), genomes)

    assert archive.is_feasible  # nothing is known of an empty one
    assert add([[1.0, 1.0], [2.0, 2.0]], [[INFEASIBLE, 30], [INFEASIBLE, 10]]) == 0
    assert not archive.is_feasible
    assert archive.thresholds.tolist() == [[INFEASIBLE, 10], [INFEASIBLE, 30]]
    assert add([[9.0, 9.0], [0.0, 0.0]], [[5, 0], [INFEASIBLE, 1]]) == 1
    assert archive.is_feasible
    assert archive.values.tolist() == [[9, 9]]
    # from here on infeasible ones are not even looked at
    assert add([[0.0, 0.0]], [[INFEASIBLE, 1]]) == 0
    assert archive.values.tolist() == [[9, 9]]


# -- searches --------------------------------------------------------------------------------------


def test_the_exact_front_holds_what_meets_the_constraints():
    problem = constrained()
    archive = exact_archive(problem)
    assert archive.is_feasible
    found = measures_of(problem, archive)
    assert holds(found, BOUNDS)
    assert found["sl"].max() <= 0.1
    # and all of it: every feasible step of every genome is dominated by the front, or on it
    genomes = np.stack(list(problem.layout.enumerate()))
    points = problem.points(genomes)
    feasible = points.values[points.thresholds[:, 0] != INFEASIBLE]
    best = feasible[undominated(feasible)]
    assert sorted(best.tolist()) == sorted(archive.values.tolist())


@pytest.mark.parametrize("name", ["archive", "nsga2"])
def test_every_search_finds_feasible_solutions_only(name):
    problem = constrained(("t_closeness", "loss"), {"k": 10, "l_distinct": 3, "loss": 0.8})
    search = (
        ArchiveSearch(problem, 30, 1)
        if name == "archive"
        else PymooSearch(problem, population=30, moves=True)
    )
    outcome = run_search(search, Stop(generations=12))
    assert outcome.archive.is_feasible
    found = measures_of(problem, outcome.archive)
    assert holds({**found, "l_distinct": np.array([3])}, {"k": 10, "loss": 0.8})
    assert outcome.hypervolume is not None
    assert outcome.hypervolume > 0


def test_violations_lead_to_the_feasible_part_of_the_space():
    # nothing in the first generations is feasible; only a few of 5,120 genomes are
    problem = constrained(("t_closeness", "loss"), {"k": 5, "loss": 0.33}, eta=0.0)
    feasible = len(exact_archive(problem))
    assert 0 < feasible < 20
    search = ArchiveSearch(problem, 20, 3)
    search.step()
    assert not search.archive.is_feasible
    nearest = [int(search.archive.thresholds[0, 1])]
    while not search.archive.is_feasible and search.generation < 60:
        search.step()
        nearest.append(int(search.archive.thresholds[0, 1]))
    assert search.archive.is_feasible
    assert all(later <= earlier for earlier, later in pairwise(nearest[:-1]))


def test_a_search_without_a_feasible_solution_says_what_is_missing():
    problem = constrained(("t_closeness", "loss"), {"k": 100, "loss": 0.2}, eta=0.0)
    outcome = run_search(ArchiveSearch(problem, 20, 1), Stop(generations=5))
    assert not outcome.archive.is_feasible
    assert outcome.hypervolume == 0
    lacking = problem.wanting(outcome.archive.genomes, outcome.archive.thresholds)
    assert "at most 0.2" in lacking or "rows (at most 0)" in lacking


def test_an_infeasible_search_is_resumed_where_it_was():
    problem = constrained(("t_closeness", "loss"), {"k": 5, "loss": 0.33}, eta=0.0)
    straight = ArchiveSearch(problem, 20, 3)
    straight.step()
    again = ArchiveSearch(problem, 20, 9)
    again.restore({name: array.copy() for name, array in straight.state().items()})
    assert not again.archive.is_feasible
    for search in (straight, again):
        search.step()
    assert np.array_equal(straight.archive.genomes, again.archive.genomes)
    assert np.array_equal(straight.archive.thresholds, again.archive.thresholds)


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraints", "error", "message"),
    [
        ({"l_distinct": 5}, InfeasibleError, "l_distinct 5: it is at most 4, because column 'ill'"),
        ({"k": 121}, InfeasibleError, "k 121: it is at most 120, because the table has so many"),
        ({"cm": 3}, SearchError, "constraint 'cm' needs a class column"),
    ],
)
def test_a_bound_that_nothing_can_meet_is_refused(constraints, error, message):
    with pytest.raises(error, match=message):
        constrained(constraints=constraints)
