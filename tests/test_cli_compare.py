"""The command ``moanon compare``: what it prints, draws and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moanon import Config, Release
from moanon.cli import main
from moanon.experiment import load_front
from tests.search.people import people_frame

CONFIG = """\
data: {source: people.csv}
columns:
  age: {role: quasi, kind: interval, range: [20, 27]}
  size: {role: quasi, kind: ordered, order: [S, M, L, XL]}
search: {algorithm: exhaustive}
output: {dir: found}
"""
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 120 people, a results folder, and two releases of it."""
    place = tmp_path_factory.mktemp("compare")
    people_frame().to_csv(place / "people.csv", index=False)
    (place / "people.yaml").write_text(CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main(["run", "people.yaml", "--eta", "0.1", "--quiet"]) == 0
        front = load_front("found")
        front.release(5).write("five.csv")
        front.release(8).write("eight.csv", suppressed="star")
        front.release(8).write("eight.parquet", shuffle=3)
    return place


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def told(capsys: Captured, *arguments: str) -> dict:
    assert main(["compare", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


# -- what it says --------------------------------------------------------------------------------


def test_solutions_are_compared_by_everything(capsys: Captured) -> None:
    assert main(["compare", "found#5", "found#8"]) == 0
    out = capsys.readouterr().out
    front = load_front("found")
    for letter, number in (("A", 5), ("B", 8)):
        k, suppressed = (front.measures[name][number - 1] for name in ("k", "suppressed"))
        assert f" {letter}  found#{number}: k {k} in " in out
        assert f" groups, {suppressed} of 120 rows suppressed\n" in out
    for comparator in ("dominance", "min", "mean", "rank", "cov", "spr", "hv", "wtd", "lex"):
        assert f" {comparator} " in out
    assert "A over B" in out
    assert "rows better off by" in out


def test_files_and_solutions_are_the_same_thing(capsys: Captured) -> None:
    found = told(capsys, "five.csv", "eight.csv", "--config", "people.yaml")
    solutions = told(capsys, "found#5", "found#8")
    assert found["verdicts"] == solutions["verdicts"]
    assert found["individuals"] == solutions["individuals"]
    assert found["anonymized"]["A"]["matched_by"] == "labels"
    assert found["anonymized"]["B"]["matched_by"] == "position"
    # A file beside a solution is read as the solution's configuration says.
    mixed = told(capsys, "found#5", "eight.parquet")
    assert mixed["verdicts"] == solutions["verdicts"]
    original = told(capsys, "five.csv", "found#8", "--original", "people.csv")
    assert original["verdicts"] == solutions["verdicts"]


def test_without_a_configuration_groups_are_counted(capsys: Captured) -> None:
    found = told(capsys, "eight.csv", "eight.csv", "--original", "people.csv")
    assert {each["property"] for each in found["verdicts"]} == {"size", "all"}
    assert {each["better"] for each in found["verdicts"]} == {None}


def test_preferences_are_told(capsys: Captured) -> None:
    options = ["--weights", "size=0.9,utility=0.1", "--order", "utility,size", "--epsilon", "0.2,0",
               "--goal", "1,0.5", "--ideal", "size=20", "--index", "utility=mean"]  # fmt: skip
    found = told(capsys, "found#5", "found#8", *options)
    assert found["preferences"] == {
        "index": {"size": "cov", "utility": "mean"},
        "weights": {"size": 0.9, "utility": 0.1},
        "order": ["utility", "size"],
        "epsilon": {"utility": 0.2, "size": 0.0},
        "goals": {"size": 1.0, "utility": 0.5},
        "ideals": {"size": 20.0},
    }
    assert "goal" in {each["comparator"] for each in found["verdicts"]}


def test_properties_and_comparators_can_be_chosen(capsys: Captured) -> None:
    found = told(capsys, "found#5", "found#8", "--properties", "utility,diversity",
                 "--sensitive", "size", "--comparators", "cov,spr")  # fmt: skip
    assert [(each["property"], each["comparator"]) for each in found["verdicts"]] == [
        ("utility", "cov"),
        ("utility", "spr"),
        ("diversity", "cov"),
        ("diversity", "spr"),
    ]


def test_a_sensitive_column_need_not_be_declared(capsys: Captured, tmp_path: Path) -> None:
    frame = people_frame()
    frame.assign(ill=["flu", "gout"] * 60).to_csv(tmp_path / "more.csv", index=False)
    found = told(capsys, "found#5", "found#8", "--original", str(tmp_path / "more.csv"),
                 "--sensitive", "ill", "--comparators", "cov")  # fmt: skip
    assert [each["property"] for each in found["verdicts"]] == [
        "size",
        "sensitive_share",
        "utility",
    ]


def test_three_make_three_pairs(capsys: Captured) -> None:
    assert main(["compare", "found#5", "found#8", "found#3", "--comparators", "hv"]) == 0
    out, err = capsys.readouterr()
    assert [pair in out for pair in ("A over B", "A over C", "B over C")] == [True] * 3
    assert "note: hv of utility says nothing about A and C: each has a row of 0" in err


def test_a_solution_compared_with_itself_is_no_better(capsys: Captured) -> None:
    found = told(capsys, "found#5", "found#5")
    assert {each["better"] for each in found["verdicts"]} == {None}
    assert [each["equal"] for each in found["individuals"]] == [120, 120]


# -- what it draws -------------------------------------------------------------------------------


def test_a_plot_is_written_once(capsys: Captured, tmp_path: Path) -> None:
    file = tmp_path / "both.png"
    assert main(["compare", "found#5", "found#8", "--plot", str(file)]) == 0
    assert capsys.readouterr().out.endswith(f" Wrote {file}\n")
    assert file.read_bytes().startswith(b"\x89PNG")
    assert main(["compare", "found#5", "found#8", "--plot", str(file)]) == 2
    assert "exists already" in capsys.readouterr().err
    options = ["--plot", str(file), "--force", "--properties", "size"]
    assert main(["compare", "found#5", "found#8", *options]) == 0


# -- what it refuses -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["found#5"], "compared are two or more anonymizations. Got found#5 alone"),
        (["found#5", "found#999"], "solutions of this front are 1 to "),
        (["found#5", "lost#8"], "there is no results folder lost"),
        (
            ["five.csv", "eight.csv"],
            "a released file is measured against its original: give -",
        ),
        (
            ["five.csv", "eight.csv", "--original", "people.csv"],
            "five.csv cannot be matched row by row: it has ",
        ),
        (["found#5", "found#8", "--weights", "0.5,0.6"], "weights must sum to 1. Got 0.5 + 0.6 = "),
        (["found#5", "found#8", "--weights", "1"], "weights must be one for each of 2 properties."),
        (["found#5", "found#8", "--weights", "size=a"], "--weights must hold numbers. Got 'a'"),
        (["found#5", "found#8", "--weights", "size=1,k=0"], "weights names 'k', which is not comp"),
        (["found#5", "found#8", "--properties", "sice"], "there is no property called 'sice'; did"),
        (["found#5", "found#8", "--properties", "diversity"], "the property diversity needs a sen"),
        (["found#5", "found#8", "--comparators", "coff"], "there is no comparator called 'coff'"),
        (["found#5", "found#8", "--comparators", "goal"], "the comparator goal needs goals, and"),
        (["found#5", "found#8", "--index", "cof"], "there is no index called 'cof'; did you mean"),
        (["found#5", "found#8", "--index", "size=cov,hv"], "--index must be PROPERTY=VALUE throug"),
        (["found#5", "found#8", "--goal", "size=1,size=2"], "--goal names 'size' twice"),
        (["found#5", "found#8", "--epsilon", "-1,0"], "an epsilon must be a number of at least 0."),
        (["found#5", "found#8", "--ideal", "3"], "--ideal must be PROPERTY=NUMBER. Got '3'"),
        (["found#5", "found#8", "--order", "size"], "order must name every property. Got nothing"),
        (["found#5", "found#8", "--plot", "a.gif"], "a plot is a .png, .svg or .pdf file. Got 'a."),
        (["found#5", "found#8", "--sensitive", "sice"], "{here}/people.csv has no column 'sice'"),
        (["found#5", "found#8", "--config", "people.yaml", "--quasi", "age"], "--quasi says what"),
    ],
)
def test_bad_input_is_one_sentence(capsys: Captured, arguments: list[str], message: str) -> None:
    assert main(["compare", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("moanon: " + message.replace("{here}", str(Path.cwd())))
    assert err.count("\n") == 1


def test_another_original_is_refused(capsys: Captured, tmp_path: Path) -> None:
    frame = people_frame()
    other = tmp_path / "other.csv"
    frame.assign(age=frame["age"].to_numpy()[::-1]).to_csv(other, index=False)
    assert main(["compare", "found#5", "found#8", "--original", str(other)]) == 2
    assert "found#5 is not of the rows of " in capsys.readouterr().err
    frame[:100].to_csv(other, index=False)
    assert main(["compare", "found#5", "found#8", "--original", str(other)]) == 2
    assert "has 100 rows and found#5 is of 120" in capsys.readouterr().err


def test_a_label_that_no_domain_explains_is_refused(capsys: Captured, tmp_path: Path) -> None:
    instance = Config.load("people.yaml").instance()
    Release.of(instance, [1] * instance.layout.bits).write(tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text().replace("\n20,", "\n19,", 1)
    (tmp_path / "a.csv").write_text(text)
    assert main(["compare", "found#5", str(tmp_path / "a.csv")]) == 2
    assert "column 'age': the label '19' stands for no block of its" in capsys.readouterr().err
