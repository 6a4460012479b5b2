"""From a configuration to a results folder, whatever happens on the way."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moanon import __version__
from moanon.config import Config
from moanon.errors import ConfigError, DataError, InfeasibleError, OutputError, SearchError
from moanon.experiment import Experiment, Result, load_front, make_problem, plan
from moanon.search.algorithms import STALL_FROM, Stop
from moanon.search.checkpoint import Checkpoints
from moanon.search.problem import AnonymizationProblem
from tests.checkout import REPOSITORY
from tests.search.people import PLACES, people_frame


def prepared(config: Path, *sets: str, out: str | None = None, **options: Any) -> Experiment:
    (only,) = plan([config], sets, out=out)
    return Experiment.prepare(only, **options)


def run(config: Path, *sets: str, out: str | None = None, **options: Any) -> Result:
    return prepared(config, *sets, out=out, **options).run()


def interrupted(
    config: Path, *sets: str, out: str, generations: int = 1, **options: Any
) -> Experiment:
    """Run until some generations are done."""
    asked = iter(range(1, 1000))
    ready = prepared(config, *sets, out=out, **options)
    result = ready.run(interrupted=lambda: next(asked) >= generations)
    assert result.outcome.reason == "interrupted"
    assert result.front is None
    return ready


FILES = ["config.yaml", "domains.json", "front.csv", "run.json", "solutions.json"]


def written(folder: str) -> list[str]:
    """What is in a folder, but for the head start of later runs."""
    return sorted(path.name for path in Path(folder).iterdir())


def results(folder: str) -> list[bytes]:
    return [(Path(folder) / name).read_bytes() for name in ("front.csv", "solutions.json")]


def record(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(folder) / "run.json").read_text())
    return found


# -- what is written -----------------------------------------------------------------------------


def test_a_run_leaves_four_files(config: Path) -> None:
    result = run(config)
    assert str(result.folder) == "results/people"
    assert written("results/people") == [
        "config.yaml",
        "domains.json",
        "front.csv",
        "run.json",
        "solutions.json",
    ]
    header, *rows = (result.folder / "front.csv").read_text().splitlines()
    assert header.startswith("id,k,loss,")
    assert result.front is not None
    assert len(rows) == len(result.front) > 3


def test_the_record_tells_what_ran_and_why_it_stopped(config: Path) -> None:
    run(config, "search.seed=9", threads=2)
    told = record("results/people")
    assert (told["name"], told["moanon"], told["seed"]) == ("people", __version__, 9)
    assert {"moanon", "numpy", "pymoo", "moocore", "numba", "python"} <= set(told["versions"])
    assert (told["data"]["rows"], told["data"]["rows_dropped"]) == (120, 0)
    assert told["data"]["digest"] == Config.load(config).read_table().digest
    assert told["config"]["digest"] == Config.load(config, ["search.seed=9"]).digest
    search = told["search"]
    assert (search["algorithm"], search["generations"], search["evaluations"]) == (
        "archive",
        5,
        100,
    )
    assert (search["stopped"], search["why"]) == ("generations", "5 generations were reached")
    assert 0 < search["hypervolume"] < 1
    assert told["times"]["threads"] == 2
    assert told["front"]["found"] == told["front"]["solutions"]
    assert told["problem"]["objectives"] == ["k", "loss"]


def test_the_written_configuration_can_be_run_again(config: Path) -> None:
    run(config, "problem.eta=0.05", out="a")
    run(Path("a/config.yaml"), out="b")
    assert results("a") == results("b")
    assert record("b")["name"] == "people"


def test_a_small_space_is_enumerated_unless_told_otherwise(config: Path) -> None:
    exact = run(config, "search.algorithm=auto", "search.generations=300", out="a")
    assert (exact.outcome.reason, exact.outcome.evaluations) == ("exhausted", 5_120)
    assert record("a")["search"]["algorithm"] == "exhaustive"


def test_a_front_is_thinned_to_the_cap_and_says_so(config: Path) -> None:
    sets = ("problem={preset: zero-suppression}", "search.generations=40", "search.population=50")
    whole = run(config, *sets, out="a").front
    capped = run(config, *sets, "search.cap=90", out="b").front
    assert whole is not None
    assert capped is not None
    assert len(whole) == whole.found > 100
    assert (len(capped), capped.found) == (90, whole.found)
    assert record("b")["front"] == {"solutions": 90, "found": whole.found}
    assert record("b")["cap"] == 90


def test_settings_that_an_algorithm_has_no_use_for_are_told(config: Path) -> None:
    ready = prepared(config, "search.mutation=0.3", out="a")
    assert ready.notes == ("search: mutation is for nsga2; archive has no use for it",)


def test_a_front_of_a_folder_can_be_released(config: Path) -> None:
    run(config, out="a")
    front = load_front("a")
    certificate = front.release(2).write("release.csv")
    assert certificate.k == front.measures["k"][1]
    assert certificate.loss == pytest.approx(front.measures["loss"][1])


def test_a_front_whose_data_have_changed_is_refused(config: Path) -> None:
    run(config, out="a")
    people_frame(seed=1).to_csv("people.csv", index=False)
    with pytest.raises(DataError, match=r"the front in a belongs to other data than .*people\.csv"):
        load_front("a")


@pytest.mark.parametrize("algorithm", ["archive", "exhaustive", "nsga2"])
@pytest.mark.parametrize(
    "problem",
    [
        "{preset: zero-suppression}",
        "{preset: k-suppression, eta: 0.1}",
        "{preset: any-suppression}",
        "{preset: kl-safety, eta: 0.1, safety: ordered, objectives: [d1, d2, gl]}",
    ],
)
def test_the_number_of_threads_changes_nothing(config: Path, algorithm: str, problem: str) -> None:
    sets = (f"search.algorithm={algorithm}", f"problem={problem}")
    for threads in (1, 2):
        run(config, *sets, out=str(threads), threads=threads)
    assert results("1") == results("2")


def test_another_seed_is_another_run(config: Path) -> None:
    run(config, out="a")
    run(config, "search.seed=2", out="b")
    assert results("a") != results("b")


# -- interruptions -------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["archive", "exhaustive", "nsga2"])
def test_an_interrupted_run_ends_like_any_other(config: Path, algorithm: str) -> None:
    sets = (f"search.algorithm={algorithm}",)
    run(config, *sets, out="whole")
    for generations in range(1, 5):
        out = f"after-{generations}"
        interrupted(config, *sets, out=out, generations=generations)
        assert written(out)[0] == "checkpoint.npz"
        assert "front.csv" not in written(out)
        result = run(config, *sets, out=out, resume=True)
        assert result.outcome.generation == 5
        assert results(out) == results("whole")
        assert written(out) == written("whole")


def test_threads_may_change_in_between(config: Path) -> None:
    run(config, out="a", threads=2)
    interrupted(config, out="b", generations=2, threads=1)
    run(config, out="b", resume=True, threads=2)
    assert results("a") == results("b")


def test_results_may_be_moved_and_resumed_there(config: Path) -> None:
    run(config, out="a")
    interrupted(config, out="b")
    Path("b").rename("c")
    run(config, out="c", resume=True)
    assert results("a") == results("c")


def test_resuming_where_nothing_is_starts_from_the_beginning_and_says_so(config: Path) -> None:
    ready = prepared(config, out="a", resume=True)
    assert ready.notes == ("a holds no checkpoint; starting from the beginning",)
    ready.run()
    assert record("a")["notes"] == list(ready.notes)


def test_resuming_a_finished_run_does_nothing(config: Path) -> None:
    front = run(config, out="a").front
    ready = prepared(config, out="a", resume=True)
    assert ready.finished
    assert front is not None
    assert ready.known_runs[0.1].front.to_frame().equals(front.to_frame())


def test_a_long_search_that_is_resumed_ends_in_the_same_bytes(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its islands are saved, too, and gone to again."""
    monkeypatch.setattr("moanon.search.archive_search.LONG", 10)
    search = "search={algorithm: archive, population: 10, generations: 24}"
    run(config, search, out="a")
    interrupted(config, search, out="b", generations=6)
    run(config, search, out="b", resume=True)
    assert Path("a/front.csv").read_bytes() == Path("b/front.csv").read_bytes()
    assert Path("a/solutions.json").read_bytes() == Path("b/solutions.json").read_bytes()


@pytest.mark.parametrize("missing", ["courses", "known"])
def test_a_checkpoint_that_lacks_something_is_refused(config: Path, missing: str) -> None:
    """As one of an earlier version may."""
    checkpoints = interrupted(config, out="a").checkpoints
    loaded = checkpoints.load()
    assert loaded is not None
    checkpoints.save({name: array for name, array in loaded[0].items() if name != missing})
    told = "a holds a checkpoint that this version does not understand; start anew with force=True"
    with pytest.raises(SearchError, match=told):
        run(config, out="a", resume=True)


def test_a_run_killed_between_its_results_and_the_end_is_resumed(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(config, out="a")

    def killed(checkpoints: Checkpoints) -> None:
        if (checkpoints.newest.parent / "run.json").exists():
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            run(config, out="b")
    assert "checkpoint.npz" in written("b")
    assert run(config, out="b", resume=True).front is not None
    assert results("a") == results("b")
    assert written("a") == written("b")


def test_what_a_killed_write_left_is_removed(config: Path) -> None:
    interrupted(config, out="a")
    left = Path("a/.moanon-0123456789abcdef")
    mine = Path("a/.moanon-notes")
    left.write_text("half")
    mine.write_text("mine")
    run(config, out="a", resume=True)
    assert not left.exists()
    assert mine.exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("search.seed=2", "it has the seed 1, and this run has 2"),
        ("search.generations=6", "it belongs to another configuration"),
        ("problem.eta=0.2", "it belongs to another configuration"),
        ("columns.age.range=[19, 27]", "it belongs to another configuration"),
    ],
)
def test_a_checkpoint_of_another_configuration_is_refused(
    config: Path, change: str, reason: str
) -> None:
    interrupted(config, out="a", generations=1)
    with pytest.raises(SearchError, match=rf"a/checkpoint\.npz cannot be used: {reason}"):
        prepared(config, change, out="a", resume=True)


def other_data() -> None:
    people_frame(seed=1).to_csv("people.csv", index=False)


def other_tree() -> None:
    Path("place.yaml").write_text(PLACES.to_yaml().replace("Rome, Bari", "Bari, Rome"))


def other_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moanon.search.checkpoint.__version__", "9.9")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (other_data, "it belongs to other data"),
        (other_tree, "it belongs to another configuration"),
        (other_version, f"it was written with moanon {__version__}, and this is 9.9"),
    ],
)
def test_a_checkpoint_of_another_world_is_refused(
    config: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[..., None], reason: str
) -> None:
    interrupted(config, out="a")
    if change is other_version:
        change(monkeypatch)
    else:
        change()
    with pytest.raises(SearchError, match=reason):
        prepared(config, out="a", resume=True)


def test_a_damaged_checkpoint_gives_way_to_the_one_before(config: Path) -> None:
    run(config, out="a")
    interrupted(config, out="b", generations=3)
    assert written("b") == ["checkpoint.npz", "checkpoint.previous.npz"]
    Path("b/checkpoint.npz").write_bytes(Path("b/checkpoint.npz").read_bytes()[:-9])
    ready = prepared(config, out="b", resume=True)
    assert ready.notes == (
        "b/checkpoint.npz cannot be used: it is damaged (its checksum does not fit); going on from "
        "checkpoint.previous.npz",
    )
    ready.run()
    assert results("a") == results("b")


def test_with_both_damaged_nothing_runs(config: Path) -> None:
    interrupted(config, out="b", generations=3)
    for name in written("b"):
        Path("b", name).write_text("damaged")
    with pytest.raises(SearchError, match=r"checkpoint\.npz .*; b/checkpoint\.previous\.npz .*"):
        prepared(config, out="b", resume=True)
    run(config, out="b", force=True)
    assert written("b") == [
        "config.yaml",
        "domains.json",
        "front.csv",
        "run.json",
        "solutions.json",
    ]


# -- folders -------------------------------------------------------------------------------------


def test_results_are_not_replaced_unless_told(config: Path) -> None:
    run(config, out="a")
    before = results("a")
    with pytest.raises(OutputError, match=r"a holds results already \(front\.csv\); replace them"):
        run(config, out="a")
    with pytest.raises(OutputError, match=r"a holds the results of another run .*; replace them"):
        run(config, "search.seed=2", out="a")
    assert results("a") == before
    run(config, "search.seed=2", out="a", force=True)
    assert results("a") != before


def test_an_unfinished_run_is_not_replaced_unless_told(config: Path) -> None:
    interrupted(config, out="a")
    with pytest.raises(
        OutputError, match="a holds an unfinished run; continue with resume=True, start"
    ):
        run(config, out="a")
    assert run(config, out="a", force=True).outcome.generation == 5


def test_results_of_another_run_are_not_resumed(config: Path) -> None:
    run(config, out="a")
    with pytest.raises(OutputError, match=r"a holds the results of another run \(it has the seed"):
        run(config, "search.seed=2", out="a", resume=True)
    Path("a/run.json").write_text("{}")
    with pytest.raises(OutputError, match=r"another run \(its run\.json cannot be read\)"):
        run(config, out="a", resume=True)


def test_results_stay_until_a_forced_run_is_complete(config: Path) -> None:
    run(config, out="a")
    before = results("a")
    interrupted(config, "search.seed=2", out="a", force=True)
    assert results("a") == before
    run(config, "search.seed=2", out="a", resume=True)
    assert results("a") != before


def test_other_files_in_the_folder_are_left_alone(config: Path) -> None:
    Path("a").mkdir()
    Path("a/mine.txt").write_text("mine")
    run(config, out="a")
    assert Path("a/mine.txt").read_text() == "mine"


def test_places_that_cannot_be_are_refused(config: Path) -> None:
    Path("file").write_text("")
    with pytest.raises(OutputError, match="file is a file; results go into a folder"):
        run(config, out="file")
    with pytest.raises(OutputError, match="the folder file/a cannot be made: Not a directory"):
        run(config, out="file/a")
    with pytest.raises(OutputError, match=r"give resume=True or force=True\. Got both"):
        run(config, resume=True, force=True)


# -- plans ---------------------------------------------------------------------------------------


def test_a_limit_of_the_command_line_replaces_that_of_the_configuration(config: Path) -> None:
    (several,) = plan([config], etas=[0.05, 0.2])
    assert several.problem.eta == (0.05, 0.2)
    (one,) = plan([config], etas=[0.05], seed=8)
    assert (one.problem.eta, one.search.seed, one.output.dir) == (0.05, 8, "results/people")


def test_several_configurations_share_a_folder_by_name(config: Path) -> None:
    Path("others.yaml").write_bytes(config.read_bytes())
    both = plan([config, "others.yaml"], out="runs")
    assert [each.output.dir for each in both] == ["runs/people", "runs/others"]


def test_two_runs_in_one_folder_are_refused(config: Path) -> None:
    with pytest.raises(ConfigError, match=r"people\.yaml and people\.yaml would both write to"):
        plan([config, config])


# -- the configurations of the paper -------------------------------------------------------------

PAPER = {
    "problem1": ("none", ("weighted_k", "gl"), 200),
    "problem2": ("limit", ("k", "gl"), 200),
    "problem3": ("weighted-k", ("weighted_k", "gl", "sl"), 500),
    "problem4-k": ("kl-safety", ("d1", "d2", "gl"), 500),
    "problem4-l": ("kl-safety", ("d1", "d2", "gl"), 500),
    "problem4-k-frequency": ("kl-safety", ("d1", "d2", "gl"), 500),
    "problem4-l-frequency": ("kl-safety", ("d1", "d2", "gl"), 500),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_configurations_state_its_settings(name: str) -> None:
    config = Config.load(REPOSITORY / "configs" / "adult" / f"{name}.yaml")
    kind, objectives, population = PAPER[name]
    problem = make_problem(config, config.instance())
    assert (problem.suppression.kind, problem.objectives) == (kind, objectives)
    assert problem.suppression.eta == (0.1 if kind in ("limit", "kl-safety") else 0)
    if kind == "kl-safety":
        rule, (_, prefer, *diversity) = problem.suppression, name.split("-")
        reading = diversity or ["distinct"]
        assert [rule.safety, rule.prefer, rule.diversity] == ["ordered", prefer, *reading]
        assert problem.instance.table.sensitive == ("occupation",)
    search = config.search
    assert (search.algorithm, search.population, search.generations) == ("nsga2", population, 250)
    assert (search.crossover, search.mutation, search.moves) == (0.9, 0.1, False)
    assert (search.tree_crossover, search.front_of) == ("ends", "archive")
    sizes = {name: domain.size for name, domain in problem.layout.domains.items()}
    assert (sizes["age"], sizes["education"], sizes["native-country"]) == (16, 16, 41)
    assert len(sizes) == (8 if kind == "kl-safety" else 9)
    assert config.output.dir == f"results/adult-{name}"


def test_every_configuration_can_be_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = sorted((REPOSITORY / "configs").glob("**/*.yaml"))
    assert len(paths) >= 6
    for path in paths:
        (config,) = plan([path])
        stop = Experiment.prepare(config).runner.stop
        if config.problem.recoding == "local":  # which ends by itself
            assert stop == Stop()
        else:
            assert stop == Stop(generations=250) or stop.stalled == STALL_FROM


# -- constraints ---------------------------------------------------------------------------------


CONSTRAINED = "problem.constraints={k: {min: 4}, t_closeness: {max: 0.4}, loss: {max: 0.9}}"


def test_constraints_hold_in_every_row_of_a_front(config: Path) -> None:
    result = run(config, CONSTRAINED, "problem.objectives=[t_closeness, l_entropy, loss]")
    assert result.front is not None
    rows = result.front.to_frame()
    assert list(rows)[1:4] == ["t_closeness", "l_entropy", "loss"]
    assert rows["k"].min() >= 4
    assert rows["t_closeness"].max() <= 0.4
    assert rows["loss"].max() <= 0.9
    assert rows["sl"].max() <= 0.1


def test_a_front_under_constraints_is_loaded_and_released_as_it_was(config: Path) -> None:
    result = run(config, CONSTRAINED, "problem.suppress_by=t_closeness")
    again = load_front("results/people")
    assert result.front is not None
    assert again.suppression == result.front.suppression
    assert again.suppression.constraints == (("k", 4.0), ("t_closeness", 0.4))
    last = len(again)
    kept = again.release(last).to_frame()
    assert len(kept) == 120 - again.measures["suppressed"][last - 1]


IMPOSSIBLE = "problem.constraints={k: {min: 100}, loss: {max: 0.1}}"


def test_a_run_without_a_feasible_solution_says_so_now_and_later(config: Path) -> None:
    with pytest.raises(InfeasibleError, match="no solution that was evaluated meets the con"):
        run(config, IMPOSSIBLE, out="a")
    assert written("a") == ["checkpoint.npz", "no-solution.txt"]
    assert Path("a/no-solution.txt").read_text().startswith("no solution that was evaluated")
    ended = r"a holds a run that ended without a feasible solution \(no-solution\.txt says why\); "
    with pytest.raises(OutputError, match=ended + "start anew with force=True, or name another"):
        prepared(config, IMPOSSIBLE, out="a")
    with pytest.raises(DataError, match=ended + "run it again with force=True"):
        load_front("a")
    with pytest.raises(InfeasibleError):  # the same answer, from where it ended
        run(config, IMPOSSIBLE, out="a", resume=True)


def test_a_feasible_run_leaves_nothing_of_the_one_before_it(config: Path) -> None:
    with pytest.raises(InfeasibleError):
        run(config, IMPOSSIBLE, out="a")
    run(config, out="a", force=True)
    assert written("a") == [
        "config.yaml",
        "domains.json",
        "front.csv",
        "run.json",
        "solutions.json",
    ]


def test_a_run_that_was_killed_after_one_without_a_solution_is_unfinished(config: Path) -> None:
    with pytest.raises(InfeasibleError):
        run(config, IMPOSSIBLE, out="a")
    interrupted(config, out="a", force=True)
    with pytest.raises(OutputError, match="a holds an unfinished run; continue with resume=True"):
        prepared(config, out="a")


# -- the clock -----------------------------------------------------------------------------------


def test_compiling_is_told_but_not_counted(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(problem: AnonymizationProblem) -> None:
        time.sleep(0.2)

    monkeypatch.setattr("moanon.search.running.Search.warm_up", slow)
    result = run(config, out="a")
    assert result.compiling >= 0.2
    times = record("a")["times"]
    assert times["compiling"] == round(result.compiling, 3)
    assert times["search"] + 0.2 <= times["process"] + 0.002  # each is rounded


def test_another_tree_of_a_sensitive_column_is_another_run(config: Path) -> None:
    Path("ill.yaml").write_text("Any:\n  Bad: [flu, gout]\n  Good: [cold, none]\n")
    distance = "columns.ill={role: sensitive, kind: tree, hierarchy: ill.yaml}"
    interrupted(config, distance, out="x")
    prepared(config, distance, out="x", resume=True)
    Path("ill.yaml").write_text("Any:\n  Bad: [flu, cold]\n  Good: [gout, none]\n")
    with pytest.raises(SearchError, match="other configuration"):
        prepared(config, distance, out="x", resume=True)


@pytest.mark.parametrize("name", ["front.csv", "eta-0.1/front.csv", "comparison.csv"])
def test_results_never_replace_what_they_are_made_from(config: Path, name: str) -> None:
    Path("out/eta-0.1").mkdir(parents=True)
    data = Path("people.csv").rename(Path("out") / name)
    before = data.read_bytes()
    message = rf"{name} is read by this run and would be replaced by its results; name another"
    with pytest.raises(OutputError, match=message):
        run(config, f"data.source={data}", out="out", force=True)
    assert data.read_bytes() == before
