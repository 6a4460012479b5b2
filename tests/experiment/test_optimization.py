"""A front in one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import moanon
from moanon.config import Config
from moanon.errors import ConfigError, DataError
from moanon.experiment import Experiment
from moanon.progress import Progress
from tests.search.people import people_frame

COLUMNS: dict[str, Any] = {
    "age": {"role": "quasi", "kind": "interval", "range": [20, 27]},
    "size": {"role": "quasi", "kind": "ordered", "order": ["S", "M", "L", "XL"]},
    "ill": {"role": "sensitive"},
}
SEARCH = {"algorithm": "archive", "population": 20, "generations": 5, "seed": 3}


def optimize(data: Any, **options: Any) -> moanon.Front:
    given = {"columns": COLUMNS, "search": SEARCH, "progress": False} | options
    return moanon.optimize(data, **given)


def test_a_frame_and_its_file_have_the_same_front(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    people_frame().to_csv(path, index=False)
    assert optimize(people_frame()).to_frame().equals(optimize(path).to_frame())


def test_a_configuration_says_everything(tmp_path: Path) -> None:
    people_frame().to_csv(tmp_path / "people.csv", index=False)
    given = {"data": {"source": "people.csv"}, "columns": COLUMNS, "search": SEARCH}
    config = Config.from_dict(given, tmp_path)
    front = moanon.optimize(config, progress=False)
    assert front.to_frame().equals(optimize(people_frame()).to_frame())


def test_the_number_of_threads_changes_nothing() -> None:
    one, two = (optimize(people_frame(), threads=threads) for threads in (1, 2))
    assert one.to_frame().equals(two.to_frame())


def test_the_problem_is_the_one_asked_for() -> None:
    front = optimize(people_frame(), problem={"preset": "zero-suppression"})
    assert front.objectives == ("weighted_k", "gl")
    assert (front.measures["suppressed"] == 0).all()


def test_a_front_can_be_released_saved_and_loaded(tmp_path: Path) -> None:
    front = optimize(people_frame())
    released = front.release(len(front)).to_frame()
    assert released.groupby(["age", "size"]).size().min() == front.measures["k"][-1]
    front.save(tmp_path)
    assert moanon.Front.load(tmp_path).to_frame().equals(front.to_frame())


def test_a_front_can_be_drawn() -> None:
    front = optimize(people_frame())
    axes = front.plot()
    assert front.plot(axes) is axes
    assert axes.get_xlabel().startswith("k")


def test_a_front_is_a_sentence() -> None:
    front = optimize(people_frame())
    assert repr(front).startswith(f"Front({len(front)} solutions: k 1 to 120, loss 0.0% to ")


def test_a_notebook_shows_the_ends_of_a_front() -> None:
    front = optimize(people_frame())
    shown = front._repr_html_()
    assert f"Front of {len(front)} solutions" in shown
    for row in ("<td>1</td>", f"<td>{len(front)}</td>"):
        assert row in shown


def test_progress_is_told_on_stderr(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr("moanon.progress._LINE_EVERY", 0.0)
    optimize(people_frame(), progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "front: generation 5, 100 evaluations" in captured.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": None}, r"columns must say what the columns of the data are, .* Got None"),
        ({"columns": ["age"]}, r"columns must say .* Got list"),
        ({"columns": {"age": "quasi"}}, "quasi"),
        ({"problem": "k-suppression"}, "k-suppression"),
        ({"threads": 0}, r"threads must be a whole number of at least 1 and at most 1,024\. Got 0"),
        ({"threads": 20_000}, r"at most 1,024\. Got 20000"),
        ({"threads": True}, r"threads must be a whole number .* Got True"),
        ({"problem": {"eta": [0, 0.1]}}, r"optimize takes one eta\. Got \[0\.0, 0\.1\]"),
        ({"problem": {"eta": 1.5}}, r"eta must be .*1\.5"),
        ({"search": {"algorithm": "magic"}}, "magic"),
        ({"missing": "ignore"}, "ignore"),
    ],
)
def test_a_wrong_argument_is_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        optimize(people_frame(), **options)


def test_a_configuration_with_more_is_refused() -> None:
    given = {"data": {"source": "adult"}, "columns": COLUMNS}
    with pytest.raises(ConfigError, match="a configuration says everything"):
        moanon.optimize(Config.from_dict(given), COLUMNS)


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(DataError, match="size"):
        optimize(pd.DataFrame({"age": [20, 21], "ill": ["flu", "gout"]}))


@pytest.mark.parametrize("bound", [{"ncp": {"max": 1}}, {"size_mean": {"min": 1}}])
def test_a_bound_that_nothing_breaks_changes_no_front_of_k_and_l(bound: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    ages, ills = (10 * rng.random(40) ** 2).astype(int), rng.choice(list("aaabbcd"), 40)
    people = pd.DataFrame({"age": ages, "ill": ills})
    columns = {
        "age": {"role": "quasi", "kind": "interval", "range": [0, 9]},
        "ill": {"role": "sensitive"},
    }
    task = {"preset": "kl-safety", "eta": 0.3, "objectives": ["k", "l", "loss"]}
    free = moanon.optimize(people, columns, problem=task, progress=False)
    bounded = moanon.optimize(
        people, columns, problem=task | {"constraints": bound}, progress=False
    )
    assert len(free) > 10
    assert bounded.to_frame().equals(free.to_frame())


def test_rows_with_gaps_are_an_error_or_dropped_aloud() -> None:
    frame = people_frame().astype(object)
    frame.loc[[3, 5, 7], "age"] = None
    with pytest.raises(DataError, match=r"misses values in 'age' \(3 rows\); complete the data, o"):
        optimize(frame)
    with pytest.warns(UserWarning, match=r"^3 of 120 rows were dropped for missing values$"):
        front = optimize(frame, missing="drop")
    assert front.instance is not None
    assert front.instance.table.rows == 117


# -- following and cancelling it -------------------------------------------------------------------


def test_callbacks_follow_every_generation_and_the_measuring_after_it() -> None:
    seen: list[Progress] = []
    front = optimize(people_frame(), callbacks=[seen.append])
    searching = [each for each in seen if each.stage == "searching"]
    assert [each.generation for each in searching] == [1, 2, 3, 4, 5]
    assert [each.evaluations for each in searching] == [20, 40, 60, 80, 100]
    assert all(each.hypervolume is not None for each in searching)
    last = seen[-1]
    assert (last.stage, last.done, last.evaluations) == ("measuring", 1.0, 100)
    assert front.to_frame().equals(optimize(people_frame()).to_frame())


def test_a_search_that_is_cancelled_gives_the_front_found_so_far() -> None:
    seen: list[Progress] = []
    front = optimize(people_frame(), callbacks=[seen.append], cancel=lambda: len(seen) >= 2)
    assert max(each.generation for each in seen) == 2
    assert front.found == next(each for each in seen if each.generation == 2).solutions


@pytest.mark.parametrize("recoding", ["global", "local"])
def test_a_run_and_a_call_have_the_same_front(
    recoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    people_frame().to_csv("people.csv", index=False)
    problem = {"preset": "k-suppression", "eta": 0.1, "recoding": recoding}
    given = {"data": {"source": "people.csv"}, "columns": COLUMNS, "problem": problem}
    given["output"] = {"dir": "a", "plots": False, "report": False}
    config = Config.from_dict(given, tmp_path)
    result = Experiment.prepare(config).run()
    front = moanon.optimize(config, progress=False)
    assert result.front is not None
    assert front.to_frame().equals(result.front.to_frame())
