from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moanon.data.domain import DomainSpec, OrderedSpec, TreeSpec
from moanon.data.table import read_table
from moanon.errors import SearchError
from moanon.genome import Instance
from moanon.measures.suppression import PRESETS, Suppression
from moanon.search import problem as problem_module
from moanon.search.archive import undominated
from moanon.search.evolution import ALGORITHMS, Evolution, _directions
from moanon.search.exhaustive import Exhaustive
from moanon.search.problem import SearchProblem
from moanon.search.state import State
from tests.search.people import PLACES, people, problem_of
from tests.strategies import instances

#: These compile for seconds when they are first used.
COMPILING = ("age-moea", "age-moea2")
EVERY_ALGORITHM = [
    pytest.param(name, marks=pytest.mark.slow) if name in COMPILING else name for name in ALGORITHMS
]


def p2() -> SearchProblem:
    return problem_of("k-suppression", eta=0.1)


def tiny(columns: int, preset: str = "k-suppression") -> SearchProblem:
    """A table of 40 rows with 5, 20 or 80 valid genomes."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"place": rng.choice(PLACES.leaves, 40)})
    specs: dict[str, DomainSpec] = {"place": TreeSpec(PLACES)}
    for i in range(1, columns):
        frame[f"size{i}"] = rng.choice(["S", "M", "L"], 40)
        specs[f"size{i}"] = OrderedSpec(("S", "M", "L"))
    table = read_table(frame, dict.fromkeys(specs, "quasi"))
    return problem_of(preset, Instance.build(table, specs), eta=0.1)


def one_objective(instance: Instance) -> SearchProblem:
    return SearchProblem(instance, ["loss"], Suppression("limit", 0.2))


def walk(search: Evolution, steps: int) -> Evolution:
    for _ in range(steps):
        search.step()
    return search


def stored(state: State) -> State:
    """What comes back from a file: other arrays of the same content."""
    return {name: array.copy() for name, array in state.items()}


def front(values: np.ndarray) -> list[list[float]]:
    return sorted(values.tolist())


# -- steps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", EVERY_ALGORITHM)
@pytest.mark.parametrize("preset", ["zero-suppression", "any-suppression", "kl-safety"])
def test_every_generation_evaluates_as_many_new_valid_genomes(algorithm, preset):
    search = Evolution(problem_of(preset, eta=0.1), algorithm, population=20)
    assert [search.step() for _ in range(6)] == [20] * 6
    assert (search.generation, search.evaluations, search.exhausted) == (6, 120, False)
    asked = np.unpackbits(search.state()["asked"], axis=1, count=search.problem.layout.bits)
    assert len(np.unique(asked, axis=0)) == 120
    assert search.problem.layout.is_valid(asked).all()
    assert len(search.kept) == 20


@pytest.mark.parametrize("moves", [False, True])
def test_the_archive_holds_every_undominated_solution_that_was_evaluated(moves):
    search = walk(Evolution(p2(), population=20, moves=moves), 8)
    asked = np.unpackbits(search.state()["asked"], axis=1, count=search.problem.layout.bits)
    points = search.problem.points(asked)
    best = undominated(points.values)
    assert front(search.archive.values) == front(points.values[best])
    assert len(points.values) > len(asked)  # staircases have several steps


def test_a_generation_is_one_evaluation():
    problem = p2()
    sizes: list[int] = []
    evaluate = problem.evaluator.evaluate

    def counted(genomes, *args, **keywords):
        sizes.append(len(genomes))
        return evaluate(genomes, *args, **keywords)

    problem.evaluator.evaluate = counted
    walk(Evolution(problem, population=20), 4)
    assert sizes == [20] * 4


def test_selection_sees_the_objectives_of_the_rule():
    search = walk(Evolution(p2(), population=20), 3)
    state = search.state()
    asked = np.unpackbits(state["asked"], axis=1, count=search.problem.layout.bits)
    assert (state["answers"] == search.problem.values(asked)).all()


@pytest.mark.parametrize("algorithm", EVERY_ALGORITHM)
def test_a_generation_can_be_cut_short(algorithm):
    search = Evolution(p2(), algorithm, population=20)
    assert [search.step(most) for most in (7, None, 3, 0, 50)] == [7, 20, 3, 0, 20]
    assert (search.generation, search.evaluations) == (5, 50)


def test_pymoo_does_not_end_a_run_that_finds_nothing_better():
    search = Evolution(p2(), "spea2", population=20)
    assert {search.step() for _ in range(120)} == {20}
    assert search._line.algorithm.has_next()  # pymoo's own criteria would have been met


def test_nsga2_improves_its_population():
    first = Evolution(p2(), population=50)
    first.step()
    later = walk(Evolution(p2(), population=50), 30)
    better = later.archive.values
    for worse in first.archive.values:
        assert (better <= worse).all(axis=1).any()
    assert front(better) != front(first.archive.values)


# -- small spaces ----------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", EVERY_ALGORITHM)
@pytest.mark.parametrize(("columns", "genomes"), [(1, 5), (2, 20), (3, 80)])
@pytest.mark.parametrize("preset", ["zero-suppression", "k-suppression", "any-suppression"])
def test_a_small_space_is_searched_to_its_end(algorithm, columns, genomes, preset):
    problem = tiny(columns, preset)
    search = Evolution(problem, algorithm, population=12)
    while not search.exhausted:
        left = genomes - search.evaluations
        assert search.step() == min(12, left)
    assert search.evaluations == genomes
    exact = Exhaustive(problem)
    exact.step()
    assert front(search.archive.values) == front(exact.archive.values)
    assert search.step() == 0
    assert search.exhausted


def test_a_table_with_one_genome_is_searched():
    table = read_table(pd.DataFrame({"sex": ["f", "f"]}), {"sex": "quasi"})
    instance = Instance.build(table, {"sex": OrderedSpec(("f",))})
    search = Evolution(problem_of("k-suppression", instance), population=10)
    assert search.step() == 1
    assert search.exhausted
    assert search.archive.values.tolist() == [[-2, 0]]


@given(
    instances(most_rows=30, sensitive=1),
    st.sampled_from([name for name in ALGORITHMS if name not in COMPILING]),
    st.sampled_from([*PRESETS, "one objective"]),
    st.integers(2, 15),
)
def test_any_small_table_is_searched_by_any_algorithm(instance, algorithm, preset, population):
    if preset == "one objective":
        assume(algorithm != "sms-emoa")
        problem = one_objective(instance)
    else:
        problem = problem_of(preset, instance, eta=0.2)
    search = walk(Evolution(problem, algorithm, population), 4)
    assert search.evaluations == min(4 * population, instance.layout.count())
    again = Evolution(problem, algorithm, population)
    again.restore(search.state())
    assert (again.kept == search.kept).all()


# -- one seed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", EVERY_ALGORITHM)
def test_the_same_seed_gives_the_same_run_also_in_the_same_process(algorithm):
    one, same = (walk(Evolution(p2(), algorithm, 20, seed=4), 8) for _ in range(2))
    other = walk(Evolution(p2(), algorithm, 20, seed=5), 8)
    for name, array in one.state().items():
        assert np.array_equal(array, same.state()[name]), name
    assert not np.array_equal(one.state()["asked"], other.state()["asked"])


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("algorithm", EVERY_ALGORITHM)
def test_a_restored_search_goes_on_as_if_nothing_had_happened(algorithm, moves):
    def make() -> Evolution:
        return Evolution(p2(), algorithm, 20, seed=2, moves=moves)

    straight = walk(make(), 12)
    for before in (0, 1, 5):
        resumed = make()
        resumed.restore(stored(walk(make(), before).state()))
        assert resumed.generation == before
        walk(resumed, 12 - before)
        assert (resumed.kept == straight.kept).all()
        assert (resumed.archive.values == straight.archive.values).all()
        assert (resumed.archive.genomes == straight.archive.genomes).all()
        assert (resumed.archive.thresholds == straight.archive.thresholds).all()
        for name, array in straight.state().items():  # the generator's state among them
            assert np.array_equal(array, resumed.state()[name]), name


def test_a_search_cut_short_is_restored_too():
    search = Evolution(p2(), population=20)
    for most in (20, 5, 0, 20, 1):
        search.step(most)
    resumed = Evolution(p2(), population=20)
    resumed.restore(stored(search.state()))
    assert (resumed.generation, resumed.evaluations) == (5, 46)
    search.step()
    resumed.step()
    assert (search.kept == resumed.kept).all()


def test_restoring_evaluates_nothing():
    state = walk(Evolution(p2(), population=20), 3).state()
    problem = p2()
    problem.evaluator = None
    search = Evolution(problem, population=20)
    search.restore(state)
    assert search.evaluations == 60


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 3},
        {"algorithm": "nsga3"},
        {"crossover": 0.5},
        {"mutation": 0.5},
        {"moves": True},
        {"population": 19},
        {"problem": problem_of("any-suppression")},
        {"problem": tiny(2)},
    ],
)
def test_the_state_of_another_search_is_refused(other):
    state = walk(Evolution(p2(), population=20), 3).state()
    search = Evolution(**{"problem": p2(), "population": 20, **other})
    fresh = Evolution(**{"problem": p2(), "population": 20, **other})
    with pytest.raises(SearchError, match="the saved state belongs to another search: algorithm"):
        search.restore(state)
    assert search.generation == 0
    walk(search, 2)
    assert (search.kept == walk(fresh, 2).kept).all()  # a refusal leaves no trace


@pytest.mark.parametrize("name", ["asked", "answers", "generator"])
def test_a_changed_state_is_refused(name):
    state = stored(walk(Evolution(p2(), population=20), 3).state())
    state[name] = state[name][::-1]
    with pytest.raises(SearchError, match="does not breed the genomes that were saved"):
        Evolution(p2(), population=20).restore(state)


def test_the_state_of_another_algorithm_is_refused():
    exhaustive = Exhaustive(p2())
    with pytest.raises(SearchError, match="belongs to another search"):
        Evolution(p2()).restore(exhaustive.state())


# -- guards ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_objective_that_is_no_number_stops_the_run_with_its_genome(monkeypatch, bad):
    search = Evolution(problem_of("zero-suppression"), population=20)
    search.step()
    true_matrix = problem_module.objective_matrix

    def spoiled(scores, names):
        values = true_matrix(scores, names)
        values[7, 1] = bad
        return values

    monkeypatch.setattr(problem_module, "objective_matrix", spoiled)
    with pytest.raises(SearchError, match=rf"objective 'gl' is {bad} for the genome [01]+; the "):
        search.step()
    assert search.evaluations == 20


@pytest.mark.parametrize("algorithm", ["nsga2", "nsga3", "spea2"])
def test_warnings_are_left_as_they_were(algorithm):
    before = list(warnings.filters)
    walk(Evolution(p2(), algorithm, population=20), 3)
    assert warnings.filters == before


def test_an_unknown_algorithm_is_refused():
    with pytest.raises(SearchError, match=r"no algorithm called 'nsga4'\. Known: nsga2, nsga3, "):
        Evolution(p2(), "nsga4")


def test_impossible_settings_are_refused():
    with pytest.raises(SearchError, match=r"population must be at least 2\. Got 1"):
        Evolution(p2(), population=1)
    with pytest.raises(SearchError, match=r"crossover must be in \[0, 1\]\. Got 1\.5"):
        Evolution(p2(), crossover=1.5)
    with pytest.raises(SearchError, match=r"mutation must be in \[0, 1\]\. Got -0\.1"):
        Evolution(p2(), mutation=-0.1)


def test_hypervolume_needs_two_objectives():
    with pytest.raises(SearchError, match=r"'sms-emoa' needs at least 2 objectives\. Got 1"):
        Evolution(one_objective(people()), "sms-emoa")


@pytest.mark.parametrize(
    ("objectives", "population", "number"),
    # p parts of three axes: (p + 1)(p + 2) / 2 directions; 19 parts give 210, 18 give 190.
    [(1, 200, 1), (2, 200, 200), (3, 200, 190), (3, 2, 1), (4, 20, 20), (2, 2, 2)],
)
def test_there_are_no_more_directions_than_individuals(objectives, population, number):
    directions = _directions(objectives, population)
    assert directions.shape == (number, objectives)
    assert directions.sum(axis=1) == pytest.approx(np.ones(number))
