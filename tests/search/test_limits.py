"""Several limits searched together: one evaluation serves all of them, and none gets worse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.measures.suppression import PRESETS
from moanon.search.archive import undominated
from moanon.search.archive_search import ArchiveSearch, ExhaustiveSearch
from moanon.search.limits import Limits
from moanon.search.nsga2 import NSGA2Search
from moanon.search.problem import SearchProblem
from tests import naive
from tests.search.people import people, problem_under
from tests.strategies import instances

ETAS = (0.02, 0.3, 0.1)
RULES = {
    "limit": PRESETS["k-suppression"],
    "pairs": PRESETS["kl-safety"],
    "no staircase": PRESETS["kl-safety"].with_settings(safety="ordered"),
}


@pytest.fixture(scope="module")
def small_instance():
    return people()


def sample(instance, number, seed):
    """Packed genomes, as earlier runs hand them on."""
    return instance.layout.pack(instance.layout.sample(number, np.random.default_rng(seed)))


def front(archive):
    archive.sort()
    return archive.values


@given(instances(), st.sampled_from(["limit", "pairs", "no staircase"]), st.integers(0, 9))
def test_every_limit_learns_what_its_own_evaluation_would_say(instance, rule, seed):
    if rule != "limit" and not instance.cells.sensitive:
        return
    problem = problem_under(instance, RULES[rule])
    shared = Limits(problem, ETAS, "archive", 8_000)
    genomes = instance.layout.sample(20, np.random.default_rng(seed))
    shared.learn(instance.layout.pack(genomes))
    for eta, archive in zip(shared.etas, shared.archives, strict=True):
        own = problem.with_eta(eta).points(genomes).values
        expected = own[undominated(own)]
        assert np.array_equal(front(archive), expected[np.lexsort(expected.T[::-1])])


@given(instances(), st.integers(0, 9))
def test_values_under_a_narrower_limit_are_those_of_its_rule(instance, seed):
    problem = problem_under(instance, RULES["limit"])
    shared = Limits(problem, ETAS, "archive", 8_000)
    genomes = instance.layout.sample(20, np.random.default_rng(seed))
    for eta, member in zip(shared.etas, shared.problems, strict=True):
        assert np.array_equal(member.both(genomes)[0], problem.with_eta(eta).values(genomes))


@given(instances())
def test_a_larger_limit_is_never_worse(instance):
    shared = Limits(problem_under(instance, RULES["limit"]), ETAS, "archive", 8_000)
    shared.learn(sample(instance, 50, seed=1))
    wide, middle, narrow = (archive.values for archive in shared.archives)
    assert naive.is_covered(narrow, middle)
    assert naive.is_covered(middle, wide)


def test_limits_are_in_order_whatever_the_order_given(small_instance):
    assert Limits(problem_under(small_instance, RULES["limit"]), ETAS, "archive", 100).etas == (
        0.3,
        0.1,
        0.02,
    )


def test_a_front_is_never_worse_after_a_search_for_another_limit(small_instance):
    shared = Limits(problem_under(small_instance, RULES["limit"]), (0.1, 0.02), "archive", 8_000)
    first = ArchiveSearch(shared.problems[0], 50, 1)
    first.inherit(shared.archives[0], shared.evaluated)
    for _ in range(5):
        first.step()
    before = first.archive.values.copy()
    second = ArchiveSearch(shared.problems[1], 50, 1)
    second.inherit(shared.archives[1], shared.evaluated)
    for _ in range(5):
        second.step()
    assert naive.is_covered(before, shared.archives[0].values)


def test_a_second_search_evaluates_nothing_again(small_instance):
    shared = Limits(problem_under(small_instance, RULES["limit"]), (0.1, 0.02), "archive", 8_000)
    shared.learn(sample(small_instance, 40, seed=3))
    known = {genome.tobytes() for genome in shared.evaluated}
    search = ArchiveSearch(shared.problems[1], 50, 1)
    search.inherit(shared.archives[1], shared.evaluated)
    assert search.evaluations == 0
    assert search.step() == search.evaluations == len(shared.evaluated) - len(known)


@pytest.mark.parametrize("place", [0, 1])
def test_a_search_alone_goes_the_same_way_as_the_first_of_several(small_instance, place):
    problem = problem_under(small_instance, RULES["limit"])
    alone = ArchiveSearch(problem.with_eta((0.1, 0.02)[place]), 50, 1)
    shared = Limits(problem, (0.1, 0.02), "archive", 8_000)
    among = ArchiveSearch(shared.problems[place], 50, 1)
    among.inherit(shared.archives[place], shared.evaluated)
    for _ in range(5):
        alone.step()
        among.step()
    assert np.array_equal(front(alone.archive), front(among.archive))


def test_a_pymoo_algorithm_starts_from_what_was_found(small_instance):
    shared = Limits(problem_under(small_instance, RULES["limit"]), (0.1, 0.02), "archive", 8_000)
    shared.learn(sample(small_instance, 300, seed=3))
    before = shared.archives[1].values.copy()
    search = NSGA2Search(shared.problems[1], population=20, seed=1)
    search.inherit(shared.archives[1], shared.evaluated)
    search.step()
    best = before[:, 1].min()  # the least loss is among the solutions that it started from
    assert search.problem.values(search.kept)[:, 1].min() <= best
    assert naive.is_covered(before, search.archive.values)


def test_an_inherited_start_is_restored(small_instance):
    def begin():
        shared = Limits(
            problem_under(small_instance, RULES["limit"]), (0.1, 0.02), "archive", 8_000
        )
        shared.learn(sample(small_instance, 300, seed=3))
        search = NSGA2Search(shared.problems[1], population=20, seed=1)
        search.inherit(shared.archives[1], shared.evaluated)
        return search

    straight, saved = begin(), begin()
    for _ in range(3):
        straight.step()
        saved.step()
    again = NSGA2Search(
        problem_under(small_instance, RULES["limit"]).with_eta(0.02), population=20, seed=1
    )
    again.restore(saved.state())
    straight.step()
    again.step()
    assert np.array_equal(front(straight.archive), front(again.archive))


def test_shared_limits_are_restored_whole(small_instance):
    problem = problem_under(small_instance, RULES["limit"])
    shared = Limits(problem, ETAS, "archive", 8_000)
    shared.learn(sample(small_instance, 60, seed=3))
    again = Limits(problem, ETAS, "archive", 8_000)
    again.restore(shared.state())
    assert np.array_equal(again.evaluated, shared.evaluated)
    for one, other in zip(again.archives, shared.archives, strict=True):
        assert np.array_equal(front(one), front(other))


def test_an_enumeration_fills_every_archive(small_instance):
    problem = problem_under(small_instance, RULES["limit"])
    shared = Limits(problem, (0.1, 0.02), "archive", 100_000)
    search = ExhaustiveSearch(shared.problems[0])
    search.inherit(shared.archives[0], shared.evaluated)
    while not search.exhausted:
        search.step()
    alone = ExhaustiveSearch(problem.with_eta(0.02))
    while not alone.exhausted:
        alone.step()
    assert np.array_equal(front(shared.archives[1]), front(alone.archive))


@given(instances(), st.sampled_from(["loss", "size_mean", "dm"]), st.integers(0, 9))
def test_an_algorithm_sees_each_genome_under_its_own_rule(instance, other, seed):
    problem = SearchProblem(instance, ("k", other), PRESETS["k-suppression"].suppression)
    genomes = instance.layout.sample(10, np.random.default_rng(seed))
    for member in Limits(problem, ETAS, "archive", 8_000).problems:
        seen, _ = member.both(genomes)
        assert np.array_equal(seen, member.values(genomes))
