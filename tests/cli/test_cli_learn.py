"""The command ``moanon learn``."""

from __future__ import annotations

import json
import shutil
from contextlib import chdir
from pathlib import Path

import pandas as pd
import pytest

from moanon.cli import main
from tests.cli.commands import Captured, refused
from tests.search.people import COLUMNS, config_text, write_people

QUICK = ("--models", "logistic", "--repeats", 2, "--test-share", 0.25, "--threads", 1)
TABLES = ("learning.csv", "learning_releases.csv", "learning_metrics.csv")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, a baseline and a study of the baseline in a folder, and a copy of it beside it."""
    folder = tmp_path_factory.mktemp("learned")
    with chdir(folder):
        write_people(folder)
        Path("people.yaml").write_text(config_text(problem="{preset: k-suppression, eta: 0.1}"))
        assert main(["run", "people.yaml", "--out", "run", "--quiet"]) == 0
        words = ["--k", "2", "--k", "5", "--out", "mondrian", "--quiet"]
        assert main(["baseline", "mondrian", "people.yaml", *words]) == 0
        assert _learn("mondrian", "--target", "ill", "--out", "study") == 0
    shutil.copytree(folder, folder.with_name("learned copy"))
    return folder


@pytest.fixture
def run(made: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The folder as it was made; it stays where it is, as results name their table by its path."""
    shutil.rmtree(made)
    shutil.copytree(made.with_name("learned copy"), made)
    monkeypatch.chdir(made)
    return "run"


@pytest.fixture
def mondrian(run: str) -> str:
    return "mondrian"


@pytest.fixture
def study(run: str) -> str:
    """The study of the baseline."""
    return "study"


def _learn(*words: object) -> int:
    return main([str(word) for word in ("learn", *words, *QUICK, "--quiet")])


def _bytes(folder: str) -> list[bytes]:
    return [Path(folder, name).read_bytes() for name in TABLES]


def test_a_study_of_a_run_and_a_baseline(mondrian: str, capsys: Captured) -> None:
    words = ("run#2", mondrian, "--target", "ill", "--out", "out")
    capsys.readouterr()
    assert main([str(word) for word in ("learn", *words, *QUICK)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == " AUROC for ill, mean (least to largest repeat)"
    assert [line.split()[0] for line in lines if "#" in line] == [
        "run#2",
        "mondrian#1",
        "mondrian#2",
    ]
    assert lines[-1] == " Wrote out: learning.html (open it in a browser)"
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "learning.csv",
        "learning.html",
        "learning.json",
        "learning.png",
        "learning_balanced_accuracy.png",
        "learning_metrics.csv",
        "learning_metrics.png",
        "learning_releases.csv",
    ]
    scores = pd.read_csv("out/learning.csv")
    assert len(scores) == 3 * 2
    assert scores["auroc"].between(0, 1).all()
    assert {"original_auroc", "constant_log_loss", "balanced_accuracy"} <= set(scores.columns)
    page = Path("out/learning.html").read_text()
    assert "held out first" in page
    assert "http" not in page.replace("http-equiv", "")


def test_solutions_of_a_folder_are_spread_over_its_front(run: str) -> None:
    assert _learn(run, "--target", "ill", "--solutions", 3, "--out", "out") == 0
    k = pd.read_csv("out/learning.csv").groupby("release")["k"].first()
    assert len(k) == 3
    assert k.max() >= 10 * k.min()


def test_a_study_that_was_interrupted_is_resumed_to_the_same_bytes(
    mondrian: str, study: str
) -> None:
    words = (mondrian, "--target", "ill")
    record = json.loads(Path(study, "learning.json").read_text())
    lines = [json.dumps(record["about"]), *map(json.dumps, record["records"][:5])]
    Path("part").mkdir()
    # As a killed run leaves it, in the middle of a line.
    Path("part/learning.unfinished.jsonl").write_text("\n".join(lines) + '\n[1, "mondri')
    assert _learn(*words, "--out", "part", "--resume") == 0
    assert _bytes("part") == _bytes(study)
    assert not Path("part/learning.unfinished.jsonl").exists()


def test_a_finished_study_can_be_extended(mondrian: str) -> None:
    assert _learn(f"{mondrian}#1", "--target", "ill", "--out", "out") == 0
    first = pd.read_csv("out/learning.csv")
    assert _learn(mondrian, "--target", "ill", "--out", "out", "--resume") == 0
    more = pd.read_csv("out/learning.csv")
    assert len(more) == 2 * len(first)
    again = more[more["release"] == "mondrian#1"].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, first)


def test_a_released_file_under_the_protocol_of_the_paper(run: str, capsys: Captured) -> None:
    assert main(["export", run, "2", "--out", "released.csv"]) == 0
    capsys.readouterr()
    told = ("--original", "people.csv", "--config", "people.yaml", "--target", "ill")
    assert _learn("released.csv", *told, "--protocol", "released", "--out", "file") == 0
    assert _learn(f"{run}#2", "--target", "ill", "--protocol", "released", "--out", "own") == 0
    scores = ["train_rows", "test_rows", "auroc", "log_loss"]
    file, own = (pd.read_csv(f"{name}/learning.csv")[scores] for name in ("file", "own"))
    pd.testing.assert_frame_equal(file, own)
    error = refused(capsys, "learn", "released.csv", *told)
    assert "was made of all rows, held-out ones included" in error
    assert "--protocol released" in error


# -- refusals --------------------------------------------------------------------------------------


def test_a_target_that_cannot_be_learned_is_refused(run: str, capsys: Captured) -> None:
    assert "is a quasi-identifier" in refused(capsys, "learn", run, "--target", "size")
    assert "has no column 'il'" in refused(capsys, "learn", run, "--target", "il")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--models", "boost"), "no model called 'boost'; did you mean 'boosting'"),
        (("--models", ","), "needs at least one model"),
        (("--test-share", "1"), "test-share must be above 0 and below 1"),
        (("--test-share", "0"), "test-share must be above 0 and below 1. Got 0"),
        (("--protocol", "both"), "'raw', 'released'"),
        (("--solutions", "0"), "--solutions"),
        (("--resume", "--force"), "give --resume or --force"),
    ],
)
def test_impossible_options_are_refused(
    run: str, capsys: Captured, words: tuple[str, ...], told: str
) -> None:
    assert told in refused(capsys, "learn", run, "--target", "ill", *words)


def test_what_is_not_there_is_refused(run: str, capsys: Captured) -> None:
    assert "no results folder runs" in refused(capsys, "learn", "runs#1", "--target", "ill")
    assert "1 to" in refused(capsys, "learn", "run#9999", "--target", "ill")
    for name in ("none.csv", "."):
        told = f"{name} is neither a results folder nor a released file"
        assert told in refused(capsys, "learn", name, "--target", "ill")


def test_a_solution_that_is_named_twice_is_refused(run: str, capsys: Captured) -> None:
    assert main(["learn", f"{run}#1", f"{run}#1", "--target", "ill"]) == 2
    assert capsys.readouterr().err == f"moanon: {run}#1 is named twice\n"


def test_another_table_is_refused(run: str, capsys: Captured) -> None:
    frame = pd.read_csv("people.csv")
    frame.iloc[::-1].to_csv("others.csv", index=False)
    text = Path("people.yaml").read_text().replace("people.csv", "others.csv")
    Path("others.yaml").write_text(text)
    assert main(["run", "others.yaml", "--out", "others", "--quiet"]) == 0
    error = refused(capsys, "learn", run, "others", "--target", "ill")
    assert "learned from are releases of one table" in error


def test_a_folder_that_holds_a_study_is_left_alone(
    mondrian: str, study: str, capsys: Captured
) -> None:
    words = (mondrian, "--target", "ill", "--out", study)
    assert "holds a study already (learning.csv)" in refused(capsys, "learn", *words, *QUICK)
    other = refused(capsys, "learn", *words, *QUICK, "--seed", 5, "--resume")
    assert "holds another study (seed was 1 and is 5)" in other
    assert _learn(*words, "--force") == 0


def test_results_that_have_changed_are_not_mixed_with_older_ones(
    study: str, capsys: Captured
) -> None:
    words = ("mondrian#2", "--target", "ill", "--out", study)
    again = ["--k", "3", "--k", "9", "--out", "mondrian", "--quiet", "--force"]
    assert main(["baseline", "mondrian", "people.yaml", *again]) == 0
    assert "is not what it was" in refused(capsys, "learn", *words, *QUICK, "--resume")


def test_a_table_that_has_changed_is_not_learned_from(
    mondrian: str, study: str, capsys: Captured
) -> None:
    words = (mondrian, "--target", "ill", "--out", study)
    before = Path(study, "learning.csv").read_bytes()
    frame = pd.read_csv("people.csv")
    frame.iloc[::-1].to_csv("people.csv", index=False)
    assert "people.csv" in refused(capsys, "learn", *words, *QUICK, "--resume")
    assert Path(study, "learning.csv").read_bytes() == before


def test_a_target_with_one_value_is_refused(people: Path, capsys: Captured) -> None:
    pd.read_csv("people.csv").assign(ill="no").to_csv("people.csv", index=False)
    Path("people.yaml").write_text(config_text(problem="{preset: zero-suppression}"))
    assert main(["baseline", "mondrian", "people.yaml", "--k", "3", "--out", "m", "--quiet"]) == 0
    error = refused(capsys, "learn", "m", "--target", "ill")
    assert "the target 'ill' has one value, 'no'; there is nothing to tell apart" in error


def test_a_damaged_record_is_refused(mondrian: str, capsys: Captured) -> None:
    words = (mondrian, "--target", "ill", "--out", "out")
    Path("out").mkdir()
    Path("out/learning.unfinished.jsonl").write_text("[]\n")
    assert "cannot be read any more" in refused(capsys, "learn", *words, *QUICK, "--resume")
    assert "holds an unfinished study" in refused(capsys, "learn", *words, *QUICK)


def test_without_scikit_learn_nothing_is_read(
    run: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moanon.learning.models.find_spec", lambda name: None)
    error = refused(capsys, "learn", run, "--target", "ill")
    assert error.endswith("which is not installed: pip install 'moanon[learning]'\n")


def test_a_class_column_that_is_insensitive_and_has_gaps(people: Path, capsys: Captured) -> None:
    frame = pd.read_csv("people.csv")
    frame.loc[:9, "ill"] = None
    frame.to_csv("people.csv", index=False)
    columns = COLUMNS | {"ill": "{role: insensitive}"}
    Path("people.yaml").write_text(config_text(columns, problem="{preset: zero-suppression}"))
    assert main(["baseline", "mondrian", "people.yaml", "--k", "3", "--out", "m", "--quiet"]) == 0
    assert main(["learn", "m", "--target", "ill", "--out", "out", *map(str, QUICK)]) == 0
    assert "10 rows have no value of 'ill'" in capsys.readouterr().err
