"""When a search stops, what is told on the way, and that an interruption leaves no trace."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from moanon.arrays import State
from moanon.errors import SearchError
from moanon.progress import Progress
from moanon.search import checkpoint, running
from moanon.search.algorithms import Stop, make_search
from moanon.search.archive import Archive
from moanon.search.archive_search import ArchiveSearch
from moanon.search.problem import AnonymizationProblem
from moanon.search.running import Hypervolume, Outcome, Search, run_search
from tests.search.people import ONE_BIT, Memory, people, problem_of, settings_of

EVERYTHING = 5_120  # valid genomes of the table of people


def after(generations: int) -> Callable[[], bool]:
    """Interrupts after so many generations."""
    asked = iter(range(1, 10_000))
    return lambda: next(asked) >= generations


def same(one: Archive, other: Archive) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("values", "genomes", "thresholds")
    )


# -- stopping ------------------------------------------------------------------------------------


def outcome_of(stop: Stop, algorithm: str = "archive", **options: Any) -> Outcome:
    search = make_search(problem_of("k-suppression"), settings_of(algorithm=algorithm))
    return run_search(search, stop, **options)


def test_it_stops_after_some_generations():
    outcome = outcome_of(Stop(generations=4))
    assert (outcome.reason, outcome.generation, outcome.evaluations) == ("generations", 4, 80)
    assert outcome.why == "4 generations were reached"


def test_it_stops_after_exactly_so_many_evaluations():
    outcome = outcome_of(Stop(evaluations=50))  # 20 + 20 + 10
    assert (outcome.reason, outcome.generation, outcome.evaluations) == ("evaluations", 3, 50)
    assert outcome.why == "50 evaluations were reached"


def test_time_ends_it_but_never_before_the_first_generation():
    outcome = outcome_of(Stop(seconds=1e-9))
    assert (outcome.reason, outcome.generation) == ("seconds", 1)
    assert len(outcome.archive) > 0


def test_seconds_count_over_all_resumptions():
    memory = Memory()
    outcome_of(Stop(generations=9), save=memory.save, interrupted=after(2))
    memory.states[-1]["run.seconds"] = np.array(99.0)
    outcome = outcome_of(Stop(seconds=99.0), state=memory.states[-1])
    assert (outcome.reason, outcome.generation) == ("seconds", 2)
    assert outcome.seconds >= 99


def test_the_first_limit_counts():
    assert outcome_of(Stop(generations=3, evaluations=41)).reason == "generations"
    assert outcome_of(Stop(generations=3, evaluations=40)).reason == "evaluations"


def test_it_ends_when_every_genome_was_evaluated():
    outcome = outcome_of(Stop(), "exhaustive")
    assert (outcome.reason, outcome.evaluations) == ("exhausted", EVERYTHING)
    assert outcome.why == "every valid genome was evaluated"


def test_fewer_genomes_than_the_population_are_all_evaluated():
    problem = problem_of("k-suppression")
    search = make_search(problem, settings_of(algorithm="archive", population=2 * EVERYTHING))
    outcome = run_search(search, Stop(generations=50))
    assert (outcome.reason, outcome.evaluations) == ("exhausted", EVERYTHING)


@dataclass
class Script(Search):
    """A search that finds what it is told to: one list of points for each generation."""

    problem: AnonymizationProblem
    found: list[list[tuple[float, float]]]
    generation: int = 0
    evaluations: int = 0
    exhausted: bool = False
    space: int = 10**9
    archive: Archive = field(default_factory=lambda: Archive.empty(2, ONE_BIT, 100))

    def step(self, most: int | None = None) -> int:
        points = self.found[self.generation] if self.generation < len(self.found) else []
        self.archive.values = np.array([*self.archive.values.tolist(), *points]).reshape(-1, 2)
        self.generation += 1
        self.evaluations += len(points)
        return len(points)

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        raise AssertionError


def test_a_stall_is_so_many_generations_without_gain():
    # k = 2 at loss 0.5; k = 4 is a gain; loss 0.6 is none, nor is a gain below a millionth
    search = Script(
        problem_of("k-suppression"),
        [[(-2, 0.5)], [(-4, 0.5)], [(-4, 0.6)], [(-4, 0.5 - 1e-8)], [(-3, 0.7)], [(-9, 0.1)]],
    )
    outcome = run_search(search, Stop(stall=3, generations=100))
    assert (outcome.reason, outcome.generation) == ("stall", 5)
    assert outcome.why == "the hypervolume did not grow for 3 generations"


def test_a_search_that_finds_nothing_new_is_ended_and_says_so():
    search = Script(problem_of("k-suppression"), [[(-2, 0.5)]])
    outcome = run_search(search, Stop(evaluations=1_000))
    assert (outcome.reason, outcome.generation) == ("idle", 101)
    assert outcome.why == "no new genome was found for 100 generations"


def test_a_stall_of_more_than_three_objectives_is_refused():
    problem = problem_of("k-suppression")
    many = AnonymizationProblem(problem.instance, ("k", "gl", "sl", "groups"), problem.suppression)
    with pytest.raises(SearchError, match=r"stall cannot be a limit: .* at most 3 .*\. Got 4"):
        run_search(ArchiveSearch(many, 20, 1), Stop(stall=3))
    outcome = run_search(ArchiveSearch(many, 20, 1), Stop(generations=2))
    assert outcome.hypervolume is None


def test_progress_is_told_after_each_generation():
    told: list[Progress] = []
    stop = Stop(generations=4, evaluations=800)
    outcome = outcome_of(stop, "nsga2", on_generation=told.append)  # which polishes nothing
    assert [each.generation for each in told] == [1, 2, 3, 4]
    assert [each.done for each in told] == [0.25, 0.5, 0.75, 1]
    assert told[-1].solutions == len(outcome.archive)
    assert told[-1].evaluations == 80
    assert told[0].hypervolume is not None


def test_an_enumeration_knows_how_far_it_is():
    told: list[Progress] = []
    outcome_of(Stop(), "exhaustive", on_generation=told.append)
    assert told[0].done == 20 / EVERYTHING
    assert told[-1].done == 1


def test_nobody_knows_when_a_large_space_will_stall(monkeypatch: pytest.MonkeyPatch):
    told: list[Progress] = []
    monkeypatch.setattr(running, "MOST_GENOMES", 1_000)
    outcome_of(Stop(stall=2), on_generation=told.append)
    assert told[0].done is None


def test_the_time_left_follows_from_the_share_done():
    assert Progress(5, 100, 30.0, 7, None, 0.25).seconds_left == 90
    assert Progress(5, 100, 30.0, 7, None, None).seconds_left is None


# -- the hypervolume -----------------------------------------------------------------------------


def test_the_hypervolume_is_the_area_in_ln_k_and_loss():
    # n = 120: k = 120 at loss 1 adds nothing; k = sqrt(120) at loss 0.4 → 1/2 * 0.6
    measured = Hypervolume(problem_of("k-suppression"))
    values = np.array([[-120.0, 1.0], [-np.sqrt(120), 0.4]])
    assert measured.of(values) == pytest.approx(0.3)
    assert measured.of(values[:0]) == 0


def test_diversities_count_by_the_number_of_values():
    # 4 illnesses: k = 120, l = 1 of 4, loss 0.2 → 1 * 1/4 * 0.8
    measured = Hypervolume(problem_of("kl-safety"))
    assert measured.of(np.array([[-120.0, -1.0, 0.2]])) == pytest.approx(0.2)


def test_counts_that_can_be_zero_are_measured_too():
    problem = problem_of("k-suppression")
    rows = AnonymizationProblem(problem.instance, ("k", "suppressed"), problem.suppression)
    # suppressed 10 → ln 11 / ln 121 = 1/2; k = 120 is the best there is
    assert Hypervolume(rows).of(np.array([[-120.0, 10.0]])) == pytest.approx(0.5)


# -- interruptions -------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["archive", "exhaustive", "nsga2"])
@pytest.mark.parametrize("preset", ["zero-suppression", "k-suppression", "kl-safety"])
def test_a_resumed_run_is_the_same_as_an_uninterrupted_one(algorithm: str, preset: str):
    problem, settings = problem_of(preset), settings_of(algorithm=algorithm, seed=3)
    stop = Stop(evaluations=110, stall=50)
    whole = run_search(make_search(problem, settings), stop)
    assert whole.generation == 6
    for generations in range(1, 6):
        memory = Memory()
        first = run_search(
            make_search(problem, settings), stop, save=memory.save, interrupted=after(generations)
        )
        assert (first.reason, first.generation) == ("interrupted", generations)
        rest = run_search(make_search(problem, settings), stop, state=memory.states[-1])
        assert same(whole.archive, rest.archive)
        assert (rest.generation, rest.evaluations) == (6, 110)


def test_a_run_interrupted_again_and_again_is_the_same_too():
    problem, settings = problem_of("any-suppression"), settings_of(algorithm="archive")
    stop = Stop(generations=12)
    whole = run_search(make_search(problem, settings), stop)
    memory = Memory()
    while True:
        state = memory.states[-1] if memory.states else None
        outcome = run_search(
            make_search(problem, settings),
            stop,
            save=memory.save,
            interrupted=lambda: True,
            state=state,
        )
        if outcome.reason != "interrupted":
            break
    assert same(whole.archive, outcome.archive)


def test_a_stall_is_remembered_over_an_interruption():
    memory, found = Memory(), [[(-2.0, 0.5)]] + [[(-2.0, 0.6)]] * 9
    problem = problem_of("k-suppression")
    run_search(Script(problem, found), Stop(stall=5), save=memory.save, interrupted=after(3))
    assert int(memory.states[-1]["run.best_at"]) == 1
    again = Script(problem, found, generation=3)
    again.archive.values = np.array([[-2.0, 0.5]])
    again.restore = lambda state: None  # type: ignore[method-assign]
    outcome = run_search(again, Stop(stall=5), state=memory.states[-1])
    assert (outcome.reason, outcome.generation) == ("stall", 6)


def test_a_limit_that_is_reached_wins_over_an_interruption():
    assert outcome_of(Stop(generations=3), interrupted=after(3)).reason == "generations"


def test_the_state_is_kept_early_and_then_every_few_seconds(monkeypatch: pytest.MonkeyPatch):
    memory = Memory()
    outcome_of(Stop(generations=5), save=memory.save)
    assert [int(state["search.generation"]) for state in memory.states] == [1]
    monkeypatch.setattr(checkpoint, "_PACE", 0.0)
    monkeypatch.setattr(checkpoint, "_SHARE", 1e9)
    outcome_of(Stop(generations=5), save=memory.save)
    assert [int(state["search.generation"]) for state in memory.states] == [1, 1, 2, 3, 4, 5]


def test_saving_takes_a_small_share_of_the_time(monkeypatch: pytest.MonkeyPatch):
    clock = iter(np.arange(0.0, 1e6, 1.0).tolist())  # every look at the clock takes a second
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    saving = checkpoint.PacedSaving(Memory().save)
    assert saving.is_due
    saving.save({})
    assert saving._next - next(clock) > 30  # at least a second was spent, so a share of 3 %


def test_people_have_as_many_genomes_as_the_tests_say():
    assert people().layout.count() == EVERYTHING


# -- compiling before the clock starts ----------------------------------------------------------


@pytest.mark.parametrize("preset", ["zero-suppression", "k-suppression", "kl-safety"])
def test_nothing_is_kept_of_what_was_evaluated(preset: str) -> None:
    problem = problem_of(preset, **({} if preset[0] == "z" else {"eta": 0.1}))
    search = ArchiveSearch(problem, population=50, seed=1)
    ArchiveSearch.warm_up(problem)
    assert (len(search.archive), search.evaluations) == (0, 0)


def test_the_way_of_evaluating_is_still_open() -> None:
    """Which way is faster is measured by the search's own batches, of its own size."""
    problem = problem_of("k-suppression", eta=0.1)
    ArchiveSearch.warm_up(problem)
    for speed in problem.evaluator.kernel.speeds.values():
        assert (speed.flat, speed.rollup, speed.batches) == (None, None, 0)


def test_the_default_search_stops_when_its_second_half_has_gained_nothing():
    problem = problem_of("k-suppression")
    # The hypervolume grows up to generation 6, and is taken after generations 1, 6, 11, 16, …
    script = Script(problem, [[(-1.0 - min(g, 5), 0.5)] for g in range(40)])
    outcome = run_search(script, Stop(generations=40, stalled=1))
    assert (outcome.reason, outcome.generation) == ("stalled", 16)
    assert outcome.why == (
        f"the front stalled after {outcome.evaluations} evaluations: their second half gained less "
        "than 0.05% of hypervolume"
    )


def test_the_default_search_goes_on_for_some_evaluations_at_least():
    problem = problem_of("k-suppression")
    script = Script(problem, [[(-3.0, 0.5)]] * 40)
    each = run_search(Script(problem, [[(-3.0, 0.5)]] * 40), Stop(generations=1)).evaluations
    assert run_search(script, Stop(generations=40, stalled=30 * each)).generation >= 30
