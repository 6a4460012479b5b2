"""NSGA-II: the search of the paper, as pymoo's goes, with nothing evaluated twice."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pymoo.algorithms.moo.nsga2 import NSGA2, binary_tournament
from pymoo.core.mating import Mating
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.sampling import Sampling
from pymoo.core.termination import NoTermination
from pymoo.operators.survival.rank_and_crowding import RankAndCrowding, classes
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

from moanon.arrays import State
from moanon.data.domain import DomainSpec, OrderedSpec, TreeSpec
from moanon.engines import read_table
from moanon.errors import SearchError
from moanon.genome import Instance
from moanon.measures.suppression import PRESETS, Suppression, find_preset
from moanon.search import problem as problem_module
from moanon.search.archive import undominated
from moanon.search.archive_search import ExhaustiveSearch
from moanon.search.nsga2 import NSGA2Search, crowded_tournament, rank_and_crowding
from moanon.search.operators import ATTEMPTS, Unseen
from moanon.search.problem import SearchProblem
from tests.search.people import PLACES, people, problem_of
from tests.strategies import instances


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


def walk(search: NSGA2Search, steps: int) -> NSGA2Search:
    for _ in range(steps):
        search.step()
    return search


def stored(state: State) -> State:
    """What comes back from a file: other arrays of the same content."""
    return {name: array.copy() for name, array in state.items()}


def evaluated(search: NSGA2Search) -> np.ndarray:
    """Every genome that a search has evaluated; those of small tables are in its state."""
    return search.problem.layout.unpack(search.state()["seen"])


def front(values: np.ndarray) -> list[list[float]]:
    return sorted(values.tolist())


# -- steps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["zero-suppression", "any-suppression", "kl-safety"])
def test_every_generation_evaluates_as_many_new_valid_genomes(preset):
    search = NSGA2Search(problem_of(preset, eta=0.1), population=20)
    assert [search.step() for _ in range(6)] == [20] * 6
    assert (search.generation, search.evaluations, search.exhausted) == (6, 120, False)
    asked = evaluated(search)
    assert len(np.unique(asked, axis=0)) == 120
    assert search.problem.layout.is_valid(asked).all()
    assert len(search.kept) == 20


@pytest.mark.parametrize("moves", [False, True])
def test_the_archive_holds_every_undominated_solution_that_was_evaluated(moves):
    search = walk(NSGA2Search(p2(), population=20, moves=moves), 8)
    asked = evaluated(search)
    points = search.problem.points(asked)
    best = undominated(points.values)
    assert front(search.archive.values) == front(points.values[best])
    assert len(points.values) > len(asked)  # staircases have several steps


def plain(**settings: object) -> NSGA2Search:
    rule = find_preset("k-suppression").with_settings(eta=0.1)
    problem = SearchProblem(people(), rule.objectives, rule.suppression, steps=False, **settings)
    return NSGA2Search(problem, population=20, front_of="population")


def test_a_front_of_the_population_holds_its_undominated_solutions_and_nothing_else():
    search = walk(plain(), 8)
    values = search.problem.values(search.kept)
    assert front(search.archive.values) == front(values[undominated(values)])
    everything = walk(NSGA2Search(p2(), population=20), 8)
    assert (search.kept == everything.kept).all()  # the search itself goes the same way
    k, _ = -search.archive.values.T
    # D's rule spends all it may: at each solution's threshold, the next class would be too much.
    assert (search.archive.thresholds[:, 0] == k).all()


def test_a_front_of_the_population_meets_constraints():
    search = walk(plain(constraints={"k": 5}), 8)
    assert search.archive.is_feasible
    assert (-search.archive.values[:, 0] >= 5).all()


def test_a_front_of_the_population_is_restored():
    one = walk(plain(), 3)
    other = plain()
    other.restore(stored(one.state()))
    assert front(walk(one, 4).archive.values) == front(walk(other, 4).archive.values)


def test_a_front_of_the_population_has_no_steps():
    with pytest.raises(SearchError, match=r"^a front of the last population is of a problem with"):
        NSGA2Search(p2(), front_of="population")


def test_a_generation_is_one_evaluation():
    problem = p2()
    sizes: list[int] = []
    evaluate = problem.evaluator.evaluate

    def counted(genomes, *args, **keywords):
        sizes.append(len(genomes))
        return evaluate(genomes, *args, **keywords)

    problem.evaluator.evaluate = counted
    walk(NSGA2Search(problem, population=20), 4)
    assert sizes == [20] * 4


def test_selection_sees_the_objectives_of_the_rule():
    search = walk(NSGA2Search(p2(), population=20), 3)
    assert (search.state()["objectives"] == search.problem.values(search.kept)).all()


def test_a_generation_can_be_cut_short():
    search = NSGA2Search(p2(), population=20)
    assert [search.step(most) for most in (7, None, 3, 0, 50)] == [7, 20, 3, 0, 20]
    assert (search.generation, search.evaluations) == (5, 50)


def test_a_run_that_finds_nothing_better_goes_on():
    search = NSGA2Search(p2(), population=20)
    assert {search.step() for _ in range(120)} == {20}


def test_nsga2_improves_its_population():
    first = NSGA2Search(p2(), population=50)
    first.step()
    later = walk(NSGA2Search(p2(), population=50), 30)
    better = later.archive.values
    for worse in first.archive.values:
        assert (better <= worse).all(axis=1).any()
    assert front(better) != front(first.archive.values)


# -- small spaces ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("columns", "genomes"), [(1, 5), (2, 20), (3, 80)])
@pytest.mark.parametrize("preset", ["zero-suppression", "k-suppression", "any-suppression"])
def test_a_small_space_is_searched_to_its_end(columns, genomes, preset):
    problem = tiny(columns, preset)
    search = NSGA2Search(problem, population=12)
    while not search.exhausted:
        left = genomes - search.evaluations
        assert search.step() == min(12, left)
    assert search.evaluations == genomes
    exact = ExhaustiveSearch(problem)
    exact.step()
    assert front(search.archive.values) == front(exact.archive.values)
    assert search.step() == 0
    assert search.exhausted


def test_a_table_with_one_genome_is_searched():
    table = read_table(pd.DataFrame({"sex": ["f", "f"]}), {"sex": "quasi"})
    instance = Instance.build(table, {"sex": OrderedSpec(("f",))})
    search = NSGA2Search(problem_of("k-suppression", instance), population=10)
    assert search.step() == 1
    assert search.exhausted
    assert search.archive.values.tolist() == [[-2, 0]]


@given(
    instances(most_rows=30, sensitive=1),
    st.sampled_from([*PRESETS, "one objective"]),
    st.integers(2, 15),
)
def test_any_small_table_is_searched(instance, preset, population):
    if preset == "one objective":
        problem = one_objective(instance)
    else:
        problem = problem_of(preset, instance, eta=0.2)
    search = walk(NSGA2Search(problem, population), 4)
    assert search.evaluations == min(4 * population, instance.layout.count())
    again = NSGA2Search(problem, population)
    again.restore(search.state())
    assert (again.kept == search.kept).all()


def test_matings_that_bring_nothing_new_are_filled_up():
    search = NSGA2Search(tiny(1), population=4)  # a tree alone, which D's mutation never changes
    assert search.step(1) == 1
    assert search.step() == 4
    assert search.exhausted


# -- one seed --------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_run_also_in_the_same_process():
    one, same = (walk(NSGA2Search(p2(), 20, seed=4), 8) for _ in range(2))
    other = walk(NSGA2Search(p2(), 20, seed=5), 8)
    for name, array in one.state().items():
        assert np.array_equal(array, same.state()[name]), name
    assert not np.array_equal(one.state()["seen"], other.state()["seen"])


@pytest.mark.parametrize("moves", [False, True])
def test_a_restored_search_goes_on_as_if_nothing_had_happened(moves):
    def make() -> NSGA2Search:
        return NSGA2Search(p2(), 20, seed=2, moves=moves)

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
    search = NSGA2Search(p2(), population=20)
    for most in (20, 5, 0, 20, 1):
        search.step(most)
    resumed = NSGA2Search(p2(), population=20)
    resumed.restore(stored(search.state()))
    assert (resumed.generation, resumed.evaluations) == (5, 46)
    search.step()
    resumed.step()
    assert (search.kept == resumed.kept).all()


def test_restoring_evaluates_nothing():
    state = walk(NSGA2Search(p2(), population=20), 3).state()
    problem = p2()
    problem.evaluator = None
    search = NSGA2Search(problem, population=20)
    search.restore(state)
    assert search.evaluations == 60


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 3},
        {"crossover": 0.5},
        {"mutation": 0.5},
        {"moves": True},
        {"population": 19},
        {"problem": problem_of("any-suppression")},
        {"problem": tiny(2)},
    ],
)
def test_the_state_of_another_search_is_refused(other):
    state = walk(NSGA2Search(p2(), population=20), 3).state()
    search = NSGA2Search(**{"problem": p2(), "population": 20, **other})
    fresh = NSGA2Search(**{"problem": p2(), "population": 20, **other})
    with pytest.raises(SearchError, match="the saved state belongs to another search: another"):
        search.restore(state)
    assert search.generation == 0
    walk(search, 2)
    assert (search.kept == walk(fresh, 2).kept).all()  # a refusal leaves no trace


def test_the_state_of_another_algorithm_is_refused():
    exhaustive = ExhaustiveSearch(p2())
    with pytest.raises(SearchError, match="belongs to another search"):
        NSGA2Search(p2()).restore(exhaustive.state())


# -- guards ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_objective_that_is_no_number_stops_the_run_with_its_genome(monkeypatch, bad):
    search = NSGA2Search(problem_of("zero-suppression"), population=20)
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


def test_impossible_settings_are_refused():
    with pytest.raises(SearchError, match=r"population must be at least 2\. Got 1"):
        NSGA2Search(p2(), population=1)
    with pytest.raises(SearchError, match=r"crossover must be in \[0, 1\]\. Got 1\.5"):
        NSGA2Search(p2(), crossover=1.5)
    with pytest.raises(SearchError, match=r"mutation must be in \[0, 1\]\. Got -0\.1"):
        NSGA2Search(p2(), mutation=-0.1)


# -- beside pymoo ----------------------------------------------------------------------------------

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
    ours = crowded_tournament(values, crowding, pairs, ours_rng)
    assert (ours == theirs[:, 0]).all()
    assert ours_rng.random() == theirs_rng.random()


def survive(values, number, seed):
    """Survivors by pymoo and by ours: their rows, crowding, and the next draw."""
    problem, rows = Problem(n_var=1, n_obj=values.shape[1]), np.arange(len(values))
    their_rng, our_rng = (np.random.default_rng(seed) for _ in range(2))
    population = Population.new("X", rows[:, None])
    population.set("F", values)
    kept = RankAndCrowding().do(problem, population, n_survive=number, random_state=their_rng)
    theirs = (kept.get("X")[:, 0], kept.get("crowding"), their_rng.random())
    return theirs, (*rank_and_crowding(values, number, our_rng), our_rng.random())


@given(objectives, st.integers(1, 40), seeds)
def test_as_good_individuals_survive_as_in_pymoo(values, number, seed):
    (their_rows, theirs, their_draw), (rows, ours, our_draw) = survive(values, number, seed)
    assert len(np.unique(rows)) == len(rows) == min(number, len(values))
    assert (np.sort(theirs) == np.sort(ours)).all()
    assert their_draw == our_draw
    _, ranks = NonDominatedSorting().do(values, return_rank=True)
    assert (np.sort(ranks[their_rows]) == np.sort(ranks[rows])).all()


@pytest.mark.usefixtures("stable_sort")
@pytest.mark.parametrize("width", [1, 2, 3])
def test_the_same_individuals_survive_as_in_pymoo_in_the_same_order(width):
    rng = np.random.default_rng(width)
    for seed in range(50):
        values = rng.integers(0, 8, size=(60, width)).astype(float)
        theirs, ours = survive(values, 30, seed)
        assert all(np.array_equal(their, our) for their, our in zip(theirs, ours, strict=True))


class OurSampling(Sampling):
    """Our first population in pymoo."""

    def __init__(self, unseen: Unseen) -> None:
        super().__init__()
        self.unseen = unseen

    def _do(self, problem, n_samples, *args, random_state, **kwargs):
        none = np.zeros((0, self.unseen.layout.bits), dtype=np.uint8)
        return self.unseen.fill(none, n_samples, random_state)


class OurMating(Mating):
    """Our operators in pymoo, with its selection."""

    def __init__(self, selection, search: NSGA2Search, unseen: Unseen) -> None:
        super().__init__(selection, None, None)
        self.search, self.unseen = search, unseen

    def do(self, problem, pop, n_offsprings, random_state, **kwargs):
        genomes = pop.get("X")
        found = genomes[:0]
        for _ in range(ATTEMPTS):
            missing = n_offsprings - len(found)
            if missing <= 0:
                break
            parents = self.selection.do(
                problem, pop, -(-missing // 2), 2, to_pop=False, random_state=random_state, **kwargs
            )
            children = self.search.mate(genomes[parents.T], random_state)
            found = self.unseen.among(np.concatenate([found, children]))[:n_offsprings]
        return Population.new("X", self.unseen.fill(found, n_offsprings, random_state))


@pytest.mark.usefixtures("stable_sort")
@pytest.mark.parametrize("preset", ["zero-suppression", "k-suppression", "any-suppression"])
def test_a_run_goes_the_same_way_as_pymoos(preset):
    problem = problem_of(preset, eta=0.1)
    ours = walk(NSGA2Search(problem, population=30, seed=3), 25)
    unseen = Unseen(problem.layout)
    theirs = NSGA2(pop_size=30, sampling=OurSampling(unseen), eliminate_duplicates=False)
    theirs.mating = OurMating(theirs.mating.selection, ours, unseen)
    bare = Problem(n_var=problem.layout.bits, n_obj=len(problem.objectives))
    theirs.setup(bare, termination=NoTermination(), seed=3)
    for _ in range(25):
        asked = theirs.ask()
        genomes = asked.get("X").astype(np.uint8)
        asked.set("F", problem.values(genomes))
        theirs.tell(infills=asked)
        unseen.remove(genomes)
    assert (theirs.pop.get("X") == ours.kept).all()
    assert (theirs.pop.get("F") == ours.state()["objectives"]).all()
    assert unseen.removed == ours.evaluations
