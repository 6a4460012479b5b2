"""NSGA-II, the search of the paper, and other algorithms of pymoo: nothing is evaluated twice."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.moo.sms import SMSEMOA
from pymoo.core.termination import NoTermination
from pymoo.optimize import minimize
from pymoo.problems.multi.zdt import ZDT1
from pymoo.util.archive import MultiObjectiveArchive

from moanon.arrays import State
from moanon.data.domain import DomainSpec, OrderedSpec, TreeSpec
from moanon.engines import read_table
from moanon.errors import ConfigError, MoanonError, SearchError
from moanon.genome import Instance
from moanon.measures.suppression import PRESETS, Suppression, find_preset
from moanon.search import problem as problem_module
from moanon.search.archive import undominated
from moanon.search.archive_search import ArchiveBreeding, ArchiveSearch, ExhaustiveSearch
from moanon.search.operators import (
    BitDuplicates,
    LunacekCrossover,
    Unseen,
    ValidMutation,
    ValidSampling,
)
from moanon.search.problem import AnonymizationProblem
from moanon.search.pymoo_search import PymooSearch, front_from_result
from tests.search.people import PLACES, config_text, people, problem_of, write_people
from tests.strategies import few, instances

#: Every algorithm of pymoo.
NAMES = ["nsga2", "nsga3", "unsga3", "smsemoa", "agemoea", "moead"]


def p2() -> AnonymizationProblem:
    return problem_of("k-suppression", eta=0.1)


def tiny(columns: int, preset: str = "k-suppression") -> AnonymizationProblem:
    """A table of 40 rows with 5, 20 or 80 valid genomes."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"place": rng.choice(PLACES.leaves, 40)})
    specs: dict[str, DomainSpec] = {"place": TreeSpec(PLACES)}
    for i in range(1, columns):
        frame[f"size{i}"] = rng.choice(["S", "M", "L"], 40)
        specs[f"size{i}"] = OrderedSpec(("S", "M", "L"))
    table = read_table(frame, dict.fromkeys(specs, "quasi"))
    return problem_of(preset, Instance.build(table, specs), eta=0.1)


def one_objective(instance: Instance) -> AnonymizationProblem:
    return AnonymizationProblem(instance, ["loss"], Suppression("limit", 0.2))


def walk(search: PymooSearch, steps: int) -> PymooSearch:
    for _ in range(steps):
        search.step()
    return search


def stored(state: State) -> State:
    """What comes back from a file: other arrays of the same content."""
    return {name: array.copy() for name, array in state.items()}


def evaluated(search: PymooSearch) -> np.ndarray:
    """Every genome that a search has evaluated; those of small tables are in its state."""
    return search.problem.layout.unpack(search.state()["told.genomes"])


def front(values: np.ndarray) -> list[list[float]]:
    return sorted(values.tolist())


# -- steps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["zero-suppression", "any-suppression", "kl-safety"])
def test_every_generation_evaluates_as_many_new_valid_genomes(preset):
    search = PymooSearch(problem_of(preset, eta=0.1), population=20)
    assert [search.step() for _ in range(6)] == [20] * 6
    assert (search.generation, search.evaluations, search.exhausted) == (6, 120, False)
    asked = evaluated(search)
    assert len(np.unique(asked, axis=0)) == 120
    assert search.problem.layout.is_valid(asked).all()
    assert len(search.kept) == 20


@pytest.mark.parametrize("moves", [False, True])
def test_the_archive_holds_every_undominated_solution_that_was_evaluated(moves):
    search = walk(PymooSearch(p2(), population=20, moves=moves), 8)
    asked = evaluated(search)
    points = search.problem.points(asked)
    best = undominated(points.values)
    assert front(search.archive.values) == front(points.values[best])
    assert len(points.values) > len(asked)  # staircases have several steps


def plain(**settings: object) -> PymooSearch:
    rule = find_preset("k-suppression").with_settings(eta=0.1)
    problem = AnonymizationProblem(
        people(), rule.objectives, rule.suppression, steps=False, **settings
    )
    return PymooSearch(problem, population=20, front_of="population")


def test_a_front_of_the_population_holds_its_undominated_solutions_and_nothing_else():
    search = walk(plain(), 8)
    values = search.problem.measured(search.kept)[0]
    assert front(search.archive.values) == front(values[undominated(values)])
    everything = walk(PymooSearch(p2(), population=20), 8)
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
        PymooSearch(p2(), front_of="population")


def test_a_generation_is_one_evaluation():
    problem = p2()
    sizes: list[int] = []
    evaluate = problem.evaluator.evaluate

    def counted(genomes, *args, **keywords):
        sizes.append(len(genomes))
        return evaluate(genomes, *args, **keywords)

    problem.evaluator.evaluate = counted
    walk(PymooSearch(problem, population=20), 4)
    assert sizes == [20] * 4


def test_selection_sees_the_objectives_of_the_rule():
    search = walk(PymooSearch(p2(), population=20), 3)
    assert (search.algorithm.pop.get("F") == search.problem.measured(search.kept)[0]).all()


def test_a_generation_can_be_cut_short():
    search = PymooSearch(p2(), population=20)
    assert [search.step(most) for most in (7, None, 3, 0, 50)] == [7, 20, 3, 0, 20]
    assert (search.generation, search.evaluations) == (5, 50)


def test_a_run_that_finds_nothing_better_goes_on():
    search = PymooSearch(p2(), population=20)
    assert {search.step() for _ in range(120)} == {20}


def test_nsga2_improves_its_population():
    first = PymooSearch(p2(), population=50)
    first.step()
    later = walk(PymooSearch(p2(), population=50), 30)
    better = later.archive.values
    for worse in first.archive.values:
        assert (better <= worse).all(axis=1).any()
    assert front(better) != front(first.archive.values)


# -- small spaces ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("columns", "genomes"), [(1, 5), (2, 20), (3, 80)])
@pytest.mark.parametrize("preset", ["zero-suppression", "k-suppression", "any-suppression"])
def test_a_small_space_is_searched_to_its_end(columns, genomes, preset):
    problem = tiny(columns, preset)
    search = PymooSearch(problem, population=12)
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
    search = PymooSearch(problem_of("k-suppression", instance), population=10)
    assert search.step() == 1
    assert search.exhausted
    assert search.archive.values.tolist() == [[-2, 0]]


@few
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
    search = walk(PymooSearch(problem, population=population), 4)
    assert search.evaluations == min(4 * population, instance.layout.count())
    again = PymooSearch(problem, population=population)
    again.restore(search.state())
    assert (again.kept == search.kept).all()


def test_matings_that_bring_nothing_new_are_filled_up():
    search = PymooSearch(tiny(1), population=4)  # a tree alone, which D's mutation never changes
    assert search.step(1) == 1
    assert search.step() == 4
    assert search.exhausted


# -- one seed --------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_run_also_in_the_same_process():
    one, same = (walk(PymooSearch(p2(), population=20, seed=4), 8) for _ in range(2))
    other = walk(PymooSearch(p2(), population=20, seed=5), 8)
    for name, array in one.state().items():
        assert np.array_equal(array, same.state()[name]), name
    assert not np.array_equal(one.state()["told.genomes"], other.state()["told.genomes"])


@pytest.mark.parametrize("moves", [False, True])
def test_a_restored_search_goes_on_as_if_nothing_had_happened(moves):
    def make() -> PymooSearch:
        return PymooSearch(p2(), population=20, seed=2, moves=moves)

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
    search = PymooSearch(p2(), population=20)
    for most in (20, 5, 0, 20, 1):
        search.step(most)
    resumed = PymooSearch(p2(), population=20)
    resumed.restore(stored(search.state()))
    assert (resumed.generation, resumed.evaluations) == (5, 46)
    search.step()
    resumed.step()
    assert (search.kept == resumed.kept).all()


def test_restoring_evaluates_nothing():
    state = walk(PymooSearch(p2(), population=20), 3).state()
    problem = p2()
    problem.evaluator = None
    search = PymooSearch(problem, population=20)
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
    state = walk(PymooSearch(p2(), population=20), 3).state()
    search = PymooSearch(**{"problem": p2(), "population": 20, **other})
    fresh = PymooSearch(**{"problem": p2(), "population": 20, **other})
    with pytest.raises(SearchError, match="the saved state belongs to another search: another"):
        search.restore(state)
    assert search.generation == 0
    walk(search, 2)
    assert (search.kept == walk(fresh, 2).kept).all()  # a refusal leaves no trace


def test_the_state_of_another_algorithm_is_refused():
    exhaustive = ExhaustiveSearch(p2())
    with pytest.raises(SearchError, match="belongs to another search"):
        PymooSearch(p2()).restore(exhaustive.state())


# -- guards ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_objective_that_is_no_number_stops_the_run_with_its_genome(monkeypatch, bad):
    search = PymooSearch(problem_of("zero-suppression"), population=20)
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
        PymooSearch(p2(), population=1)
    with pytest.raises(SearchError, match=r"prob must be in \[0, 1\]\. Got 1\.5"):
        PymooSearch(p2(), crossover=1.5)
    with pytest.raises(SearchError, match=r"rate must be in \[0, 1\]\. Got -0\.1"):
        PymooSearch(p2(), mutation=-0.1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"algorithm": "nsga3", "objectives": ["loss"]}, "nsga3 takes 2 to 10 objectives. Got 1"),
        (
            {"algorithm": "smsemoa", "objectives": ["k", "loss", "gl", "sl", "weighted_k"]},
            "smsemoa takes 2 to 4 objectives. Got 5",
        ),
        ({"algorithm": "moead", "constraints": {"k": 2}}, "moead takes no constraints"),
        (
            {"algorithm": "unsga3", "population": 2, "objectives": ["k", "gl", "sl"]},
            "unsga3 needs a population of at least 3 for 3 objectives. Got 2",
        ),
        (
            {"algorithm": "nsga3", "partitions": 20, "population": 20},
            "partitions 20 give 21 reference directions for 2 objectives, and the population is "
            "20; at most 19 fit",
        ),
    ],
)
def test_what_an_algorithm_cannot_take_is_refused(settings, said):
    settings = dict(settings)
    objectives = settings.pop("objectives", ["k", "loss"])
    bounds = settings.pop("constraints", None)
    rule = Suppression("limit", 0.1)
    problem = AnonymizationProblem(people(), objectives, rule, constraints=bounds)
    with pytest.raises(SearchError) as refused:
        PymooSearch(problem, **settings)
    assert said in str(refused.value)


# -- other algorithms ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_each_algorithm_evaluates_valid_genomes_once(name):
    search = PymooSearch(problem_of("kl-safety", eta=0.1), name, population=20, moves=True)
    counts = [search.step() for _ in range(6)]
    asked = evaluated(search)
    assert counts[0] == (15 if name == "moead" else 20)  # directions of three objectives: 15
    assert sum(counts) == search.evaluations == len(np.unique(asked, axis=0)) == len(asked)
    assert search.problem.layout.is_valid(asked).all()
    points = search.problem.points(asked).values
    assert front(search.archive.values) == front(points[undominated(points)])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("front_of", ["archive", "population"])
def test_each_algorithm_is_restored(name, front_of):
    rule = find_preset("k-suppression").with_settings(eta=0.1)

    def make() -> PymooSearch:
        problem = AnonymizationProblem(
            people(), rule.objectives, rule.suppression, steps=front_of == "archive"
        )
        return PymooSearch(problem, name, population=16, seed=2, moves=True, front_of=front_of)

    straight, resumed = walk(make(), 9), make()
    resumed.restore(stored(walk(make(), 4).state()))
    walk(resumed, 5)
    for key, array in straight.state().items():
        assert np.array_equal(array, resumed.state()[key]), key


@pytest.mark.parametrize("name", [name for name in NAMES if name != "moead"])
def test_each_algorithm_meets_constraints_and_draws_from_its_seed_alone(name):
    def make() -> PymooSearch:
        rule = Suppression("limit", 0.0)
        problem = AnonymizationProblem(people(), ("k", "loss"), rule, constraints={"l": 3})
        return walk(PymooSearch(problem, name, population=12, seed=5), 10)

    one, same = make(), make()
    assert np.array_equal(evaluated(one), evaluated(same))
    assert one.archive.is_feasible


@few
@given(
    instances(most_rows=30, sensitive=1),
    st.sampled_from(NAMES[1:]),
    st.sampled_from([*PRESETS]),
    st.integers(3, 12),
)
def test_any_small_table_is_searched_by_each_algorithm(instance, name, preset, population):
    problem = problem_of(preset, instance, eta=0.2)
    search = walk(PymooSearch(problem, name, population=population), 3)
    assert 0 < search.evaluations <= instance.layout.count()
    again = PymooSearch(problem, name, population=population)
    again.restore(search.state())
    assert np.array_equal(again.kept, search.kept)


def test_warnings_stay_as_they_were():
    walk(PymooSearch(p2(), "nsga3", population=20), 3)
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard", stacklevel=1)


@pytest.mark.parametrize("cut", [1, 7])
def test_moead_can_be_cut_short(cut):
    search = PymooSearch(p2(), "moead", population=20, moves=True)
    search.step()
    assert 0 <= search.step(cut) <= cut
    search.step()
    again = PymooSearch(p2(), "moead", population=20, moves=True)
    again.restore(stored(search.state()))
    assert np.array_equal(again.kept, search.kept)


# -- pymoo's own way -------------------------------------------------------------------------------


def operators() -> dict[str, object]:
    return {
        "sampling": ValidSampling(),
        "crossover": LunacekCrossover(),
        "mutation": ValidMutation(),
        "eliminate_duplicates": BitDuplicates(),
    }


@pytest.mark.parametrize("algorithm", [NSGA2, SMSEMOA])
def test_pymoo_minimizes_and_its_result_becomes_a_front(algorithm, tmp_path):
    problem = p2()
    result = minimize(problem, algorithm(pop_size=30, **operators()), ("n_gen", 12), seed=1)
    found = front_from_result(result)
    assert problem.layout.is_valid(result.X.astype(np.uint8)).all()
    exact = ExhaustiveSearch(problem)
    while not exact.exhausted:
        exact.step()
    for k, loss in result.F:
        assert (found.measures["loss"][found.measures["k"] >= -k] <= loss).any()
        assert (exact.archive.values <= (k, loss)).all(axis=1).any()  # nothing beats the optimum
    found.save(tmp_path)
    assert found.ask(min_k=2).choice is not None
    assert found.release(int(found.ids[-1])).to_frame().shape[0] > 0


def test_pymoo_minimizes_by_the_default_search_to_the_same_front():
    problem = p2()
    ours = ArchiveSearch(problem, 30, seed=3)
    for _ in range(15):
        ours.step()
    ours.finish()
    result = minimize(problem, ArchiveBreeding(pop_size=30), ("n_gen", 15), seed=3)
    ours.archive.sort()
    assert (result.F[np.lexsort(result.F.T[::-1])] == ours.archive.values).all()
    assert result.algorithm.evaluator.n_eval == 450
    assert (front_from_result(result).measures["loss"] == ours.front(2_000).measures["loss"]).all()


def test_the_default_search_ends_by_itself_where_nothing_is_left():
    problem = tiny(1)
    result = minimize(problem, ArchiveBreeding(pop_size=4), ("n_gen", 500), seed=1)
    assert result.algorithm.n_gen < 500
    assert result.algorithm.evaluator.n_eval == problem.layout.count()


def test_what_is_infeasible_is_no_result_of_the_default_search():
    rule = Suppression("limit", 0.0)
    bounds = {"loss": 0.0, "dm": 1e-9}  # the values as they are, and few small groups
    problem = AnonymizationProblem(people(), ("k", "loss"), rule, constraints=bounds)
    algorithm = ArchiveBreeding(pop_size=10)
    assert minimize(problem, algorithm, ("n_gen", 3), seed=1).X is None
    nearest = minimize(problem, algorithm, ("n_gen", 3), seed=1, return_least_infeasible=True)
    assert nearest.opt.get("CV").min() > 0


def test_the_default_search_is_for_this_problem_alone():
    with pytest.raises(SearchError, match=r"searches an AnonymizationProblem\. Got ZDT1"):
        minimize(ZDT1(), ArchiveBreeding(), ("n_gen", 1), seed=1)


def test_a_search_goes_the_same_way_as_pymoos_own_loop():
    """As asked and told by hand, with the same operators and what was seen eliminated."""
    problem = p2()
    ours = walk(PymooSearch(problem, population=30, seed=3), 15)
    unseen = Unseen(problem.layout)
    theirs = NSGA2(
        pop_size=30,
        sampling=ValidSampling(0.0),
        crossover=LunacekCrossover(0.9),
        mutation=ValidMutation(0.1, moves=False),
        eliminate_duplicates=BitDuplicates(unseen),
    )
    theirs.setup(problem, termination=NoTermination(), seed=3)
    for _ in range(15):
        asked = theirs.ask()
        theirs.evaluator.eval(problem, asked)
        unseen.remove(asked.get("X").astype(np.uint8))
        theirs.tell(infills=asked)
    assert (theirs.pop.get("X") == ours.kept).all()
    assert unseen.removed == ours.evaluations


def test_pymoos_archive_counts_too():
    algorithm = NSGA2(pop_size=20, archive=MultiObjectiveArchive(), **operators())
    result = minimize(p2(), algorithm, ("n_gen", 8), seed=1)
    least = front_from_result(result).measures["loss"].min()
    assert least <= result.archive.get("F")[:, 1].min()


def test_constraints_are_pymoos():
    rule = Suppression("limit", 0.0)
    problem = AnonymizationProblem(people(), ("k", "loss"), rule, constraints={"l": 3, "dm": 0.9})
    genomes = problem.layout.sample(30, np.random.default_rng(1))
    values, missed = problem.evaluate(genomes.astype(bool))
    assert values.shape == (30, 2)
    feasible = {row.tobytes() for row in genomes[(missed <= 0).all(axis=1)]}
    points = problem.points(genomes)
    kept = points.thresholds[:, 0] >= 0
    assert {row.tobytes() for row in genomes[points.genome[kept]]} == feasible


def test_a_genome_that_is_not_valid_is_refused():
    problem = tiny(1)
    split = np.zeros((1, problem.n_var), dtype=bool)
    split[0, 0] = True  # one leaf of a closed node
    with pytest.raises(MoanonError, match="place"):
        problem.evaluate(split)


def test_scales_keep_what_dominates_what():
    problem = p2()
    genomes = problem.layout.sample(60, np.random.default_rng(1)).astype(bool)
    plain, scaled = problem.evaluate(genomes), problem.scaled().evaluate(genomes)
    assert scaled.min() >= 0
    assert scaled.max() <= 1
    assert (undominated(plain) == undominated(scaled)).all()


@pytest.mark.parametrize("algorithm", [NSGA2(10, **operators()), ArchiveBreeding(10)])
def test_a_history_copies_no_table(algorithm):
    problem = p2()
    result = minimize(problem, algorithm, ("n_gen", 3), seed=1, save_history=True)
    assert all(each.problem is problem for each in result.history)


def test_the_result_of_another_problem_is_no_front():
    result = minimize(ZDT1(), NSGA2(pop_size=10), ("n_gen", 1), seed=1)
    with pytest.raises(SearchError, match=r"must be of an AnonymizationProblem\. Got ZDT1"):
        front_from_result(result)


def test_a_configuration_is_a_problem(folder: Path):
    write_people(folder)
    (folder / "a.yaml").write_text(config_text(problem="{eta: 0.1, objectives: [k, gl]}"))
    problem = AnonymizationProblem.from_config(folder / "a.yaml")
    assert (problem.objectives, problem.n_obj, problem.n_var) == (("k", "gl"), 2, 14)
    (folder / "b.yaml").write_text(config_text(problem="{recoding: local}", search="{}"))
    with pytest.raises(ConfigError, match="not made of genomes"):
        AnonymizationProblem.from_config(folder / "b.yaml")
