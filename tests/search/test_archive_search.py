"""The default search: exact on small spaces, never the same genome twice, and it can be resumed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.domain import DomainSpec, IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.errors import SearchError
from moanon.genome import Instance
from moanon.measures import MEASURES
from moanon.measures.suppression import PRESETS, Suppression
from moanon.search import archive_search
from moanon.search.archive import undominated
from moanon.search.archive_search import ArchiveSearch, ExhaustiveSearch
from moanon.search.problem import AnonymizationProblem
from tests.search.people import exact_archive, problem_under
from tests.strategies import few, instances

#: Half a dozen tables show what more of them show again.
SEEDS = [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 12))]
PROBLEMS = {
    "P1": PRESETS["zero-suppression"],
    "P2": PRESETS["k-suppression"].with_settings(eta=0.1),
    "P3": PRESETS["any-suppression"],
    "P4": PRESETS["kl-safety"].with_settings(eta=0.1),
}


def random_tree(rng: np.random.Generator, names: list[str], depth: int = 0) -> object:
    if len(names) <= 2 or depth == 2:
        return names
    number = int(rng.integers(1, min(3, len(names) - 1) + 1))
    cuts = sorted(rng.choice(np.arange(1, len(names)), size=number, replace=False).tolist())
    nested: dict[str, object] = {}
    for start, stop in zip([0, *cuts], [*cuts, len(names)], strict=True):
        part = names[start:stop]
        if len(part) == 1:
            nested[part[0]] = None
        else:
            nested[f"{part[0]}-{part[-1]} ({depth})"] = random_tree(rng, part, depth + 1)
    return nested


@cache
def random_instance(seed: int, least: int, most: int) -> Instance:
    """A table of mixed kinds with between `least` and `most` valid genomes."""
    rng = np.random.default_rng(seed)
    while True:
        rows = int(rng.integers(30, 300))
        frame: dict[str, list[str]] = {}
        specs: dict[str, DomainSpec] = {}
        for i in range(int(rng.integers(2, 6))):
            kind = rng.choice(["interval", "ordered", "tree"])
            values = [f"v{v}" for v in range(int(rng.integers(2, 10)))]
            if kind == "tree":
                specs[f"q{i}"] = TreeSpec(Hierarchy.from_nested("Any", random_tree(rng, values)))
            elif kind == "ordered":
                specs[f"q{i}"] = OrderedSpec(tuple(values))
            else:
                values = [str(v) for v in range(len(values))]
                specs[f"q{i}"] = IntervalSpec(1, (0, len(values) - 1))
            shares = rng.dirichlet(np.ones(len(values)))
            frame[f"q{i}"] = list(rng.choice(values, size=rows, p=shares))
        frame["s"] = list(rng.choice(list("abcde"), size=rows))
        roles = dict.fromkeys(specs, "quasi") | {"s": "sensitive"}
        instance = Instance.build(read_table(pd.DataFrame(frame), roles), specs)
        if least <= instance.layout.count() <= most:
            return instance


def bred_front(problem: AnonymizationProblem, evaluations: int, seed: int = 1) -> np.ndarray:
    search = ArchiveSearch(problem, 200, seed)
    while search.evaluations < evaluations and not search.exhausted:
        search.step(evaluations - search.evaluations)
    search.archive.sort()
    return search.archive.values


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["P1", "P2", "P4"])
def test_the_front_of_a_small_space_is_found_whole(name, seed):
    problem = problem_under(random_instance(seed, 1_000, 8_000), PROBLEMS[name])
    budget = problem.layout.count() * 3 // 4  # not enough to try everything
    assert np.array_equal(bred_front(problem, budget), exact_archive(problem).values)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 132))
@pytest.mark.parametrize("name", ["P1", "P2", "P4"])
def test_the_front_of_up_to_20000_genomes_is_found_within_10000(name, seed):
    problem = problem_under(random_instance(seed, 10_001, 20_000), PROBLEMS[name])
    assert np.array_equal(bred_front(problem, 10_000), exact_archive(problem).values)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_space_smaller_than_the_population_is_searched_whole(name):
    problem = problem_under(random_instance(5, 20, 150), PROBLEMS[name])
    search = ArchiveSearch(problem, 200, 1)
    while not search.exhausted:
        assert search.step() > 0
    assert search.evaluations == problem.layout.count()
    search.archive.sort()
    assert np.array_equal(search.archive.values, exact_archive(problem).values)


def test_no_genome_is_evaluated_twice(monkeypatch):
    problem = problem_under(random_instance(3, 2_000, 9_000), PROBLEMS["P2"])
    seen: list[bytes] = []
    measured = problem.measured
    monkeypatch.setattr(
        problem, "measured", lambda g: seen.extend(x.tobytes() for x in g) or measured(g)
    )
    bred_front(problem, 1_500)
    assert len(seen) == len(set(seen)) == 1_500


@few
@given(st.data())
def test_children_are_valid(data):
    instance = data.draw(instances())
    search = ArchiveSearch(
        problem_under(instance, PROBLEMS["P1"]), 20, data.draw(st.integers(0, 9))
    )
    for _ in range(4):
        search.step()
    assert instance.layout.is_valid(search.archive.genomes).all()


def test_islands_of_a_long_search_breed_apart_for_half_of_it(monkeypatch):
    monkeypatch.setattr(archive_search, "LONG", 2_000)
    problem = problem_under(random_instance(4, 5_000, 20_000), PROBLEMS["P2"])
    search = ArchiveSearch(problem, 100, 1, budget=2_000)
    while search.evaluations < 2_000:
        before = search.evaluations
        search.step()
        islands = int(search.state()["islands"])
        assert islands == (4 if before < 1_000 else 0)
        if islands:  # the whole archive holds the best of what they have found, and no more
            state = search.state()
            found = np.concatenate([state[f"island{i}.values"] for i in range(islands)])
            best = np.unique(found[undominated(found)], axis=0)
            assert np.array_equal(best, np.unique(search.archive.values, axis=0))


def test_islands_that_stall_are_united_and_bred_from_for_half_as_long_again(monkeypatch):
    monkeypatch.setattr(archive_search, "LONG", 2_000)
    problem = problem_under(random_instance(4, 5_000, 20_000), PROBLEMS["P2"])
    search = ArchiveSearch(problem, 100, 1, budget=2_000)
    search.step()
    search.step()
    assert search.refresh()
    united = search.evaluations
    assert int(search.state()["islands"]) == 0
    while search.evaluations < 1.5 * united:
        assert search.refresh()
        search.step()
    assert not search.refresh()


def test_a_search_without_islands_has_no_other_way():
    search = ArchiveSearch(problem_under(random_instance(4, 5_000, 20_000), PROBLEMS["P2"]), 100, 1)
    search.step()
    assert not search.refresh()


@pytest.mark.parametrize(("budget", "name"), [(1_999, "P2"), (2_000, "P1")])
def test_short_searches_and_those_of_other_objectives_have_no_islands(budget, name, monkeypatch):
    monkeypatch.setattr(archive_search, "LONG", 2_000)
    problem = problem_under(random_instance(4, 5_000, 20_000), PROBLEMS[name])
    assert int(ArchiveSearch(problem, 100, 1, budget=budget).state()["islands"]) == 0


def test_the_same_seed_gives_the_same_archive():
    problem = problem_under(random_instance(4, 5_000, 20_000), PROBLEMS["P3"])
    assert np.array_equal(bred_front(problem, 2_000, seed=7), bred_front(problem, 2_000, seed=7))


@pytest.mark.parametrize("budget", [0, 600, 1_200])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_restored_search_goes_on_as_if_nothing_had_happened(name, budget, monkeypatch):
    monkeypatch.setattr(archive_search, "LONG", 600)  # islands for half of the budget
    problem = problem_under(random_instance(6, 5_000, 20_000), PROBLEMS[name])
    straight = ArchiveSearch(problem, 100, 3, budget=budget)
    for _ in range(8):
        straight.step()
    half = ArchiveSearch(problem, 100, 3, budget=budget)
    for _ in range(4):
        half.step()
    resumed = ArchiveSearch(problem, 100, 3, budget=budget)
    resumed.restore({key: array.copy() for key, array in half.state().items()})
    for _ in range(4):
        resumed.step()
    for key, array in straight.state().items():
        assert np.array_equal(resumed.state()[key], array), key


def test_an_objective_that_is_not_a_number_stops_the_search(monkeypatch):
    broken = MEASURES["weighted_k"]
    problem = problem_under(random_instance(1, 100, 500), PROBLEMS["P1"])
    nan = type(broken)(**{**vars(broken), "of": lambda scores: np.full(len(scores), np.nan)})
    monkeypatch.setitem(MEASURES, "weighted_k", nan)
    with pytest.raises(SearchError, match=r"objective 'weighted_k' is nan for the genome [01]+"):
        ArchiveSearch(problem, 10, 1).step()


def test_an_exhaustive_search_of_a_large_space_is_refused():
    frame = pd.DataFrame({"q": [str(i) for i in range(40)]})
    table = read_table(frame, {"q": "quasi"})
    instance = Instance.build(table, {"q": IntervalSpec()})
    with pytest.raises(SearchError, match="at most 2000000 genomes; this table has 549755813888"):
        ExhaustiveSearch(AnonymizationProblem(instance, ["k", "loss"], Suppression("limit")))
