"""The command ``moanon compare``: what it prints, draws and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moanon import Config, Release
from moanon.cli import main
from moanon.experiment import load_front
from moanon.measures.column_effects import column_effects
from tests.cli.commands import Captured
from tests.search.people import AGE_AND_SIZE, config_text, people_frame, write_people

CONFIG = config_text(
    AGE_AND_SIZE,
    search="{algorithm: exhaustive}",
    output="{dir: found, plots: false, report: false}",
)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 120 people, a results folder, and two releases of it."""
    place = tmp_path_factory.mktemp("compare")
    write_people(place)
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
def here(compared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(compared)


def told(capsys: Captured, *arguments: str) -> dict:
    assert main(["compare", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


# -- what it says --------------------------------------------------------------------------------


def test_solutions_are_compared_by_everything(capsys: Captured) -> None:
    assert main(["compare", "found#5", "found#8", "--all"]) == 0
    out = capsys.readouterr().out
    front = load_front("found")
    for letter, number in (("A", 5), ("B", 8)):
        k, suppressed = (front.measures[name][number - 1] for name in ("k", "suppressed"))
        assert f" {letter}  found#{number}: k {k} in " in out
        assert f" groups, {suppressed} of 120 rows suppressed\n" in out
    for comparator in ("dominance", "min", "mean", "rank", "cov", "spr", "hv", "wtd", "lex"):
        assert f" {comparator} " in out
    assert "\n A against B: neither is better throughout; " in out
    assert "\n size: rows in the row's group; more is better\n" in out
    assert out.endswith(
        " wtd adds up 0.5 × cov of size, 0.5 × cov of utility\n"
        " lex goes by cov of size, cov of utility, in this order\n"
    )


def test_who_is_better_off_is_told_first(capsys: Captured) -> None:
    assert main(["compare", "found#5", "found#8", "--properties", "size", "--all"]) == 0
    out = capsys.readouterr().out
    (count,) = told(capsys, "found#5", "found#8", "--properties", "size")["individuals"]
    (line,) = (line for line in out.splitlines() if line.startswith(" size: a larger"))
    numbers = (count["better_in_first"], count["better_in_second"], count["equal"])
    assert line.removeprefix(" size: a larger group").split() == [
        *(part for number in numbers for part in (str(number), f"({number / 120:.1%})")),
    ]
    assert out.index(line) < out.index("comparator")


def test_rank_overlooks_what_it_is_told(capsys: Captured) -> None:
    options = ["found#5", "found#8", "--properties", "size", "--comparators", "rank"]
    (plain,) = told(capsys, *options)["verdicts"]
    (tolerant,) = told(capsys, *options, "--rank-epsilon", "1e6")["verdicts"]
    assert (plain["better"] is None, tolerant["better"]) == (False, None)
    assert main(["compare", *options, "--rank-epsilon", "1e6"]) == 0
    assert " rank overlooks a difference of 1e+06 of size" in capsys.readouterr().out


def test_lex_names_the_property_that_decides(capsys: Captured) -> None:
    arguments = ["compare", "found#5", "found#8", "--comparators", "lex", "--epsilon", "size=1"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    (line,) = (line for line in out.splitlines() if line.startswith(" lex  "))
    # Any lead in size is overlooked, so utility decides.
    assert line.split()[:4] == ["lex", "first", "property", "ahead"]
    assert sorted(line.split()[4:6]) == ["-", "utility"]
    assert " lex goes by cov of size (overlooks 1), cov of utility (overlooks 0), in " in out


def test_all_of_it_fits_a_terminal(capsys: Captured) -> None:
    arguments = ["found#5", "found#8", "--sensitive", "size", "--goal", "1,1,1,1,1"]
    named = "size,utility,sensitive_share,sensitive_count,diversity"
    assert main(["compare", *arguments, "--properties", named, "--all"]) == 0
    out = capsys.readouterr().out
    tables = [line for line in out.splitlines() if "  " in line.strip() or "──" in line]
    assert max(len(line.rstrip()) for line in tables) <= 80


def test_files_and_solutions_are_the_same_thing(capsys: Captured) -> None:
    found = told(capsys, "five.csv", "eight.csv", "--config", "people.yaml")
    solutions = told(capsys, "found#5", "found#8")
    assert found["verdicts"] == solutions["verdicts"]
    assert found["individuals"] == solutions["individuals"]
    assert found["anonymized"]["A"]["matched_by"] == "labels"
    assert found["anonymized"]["B"]["matched_by"] == "labels"
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
        "rank_epsilon": {"size": 0.0, "utility": 0.0},
    }
    assert "goal" in {each["comparator"] for each in found["verdicts"]}


def test_goals_are_read_from_a_file_of_vectors(capsys: Captured) -> None:
    Path("goals.csv").write_text("size\n" + "40\n" * 120)
    options = ["found#5", "found#8", "--properties", "size", "--index", "mean"]
    found = told(capsys, *options, "--goal-vectors", "goals.csv")
    assert found["preferences"]["goals"] == {"size": 40.0}
    assert found["verdicts"] == told(capsys, *options, "--goal", "40")["verdicts"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("size\n1\n", "the goal vector of size must hold 120 numbers, one for each row. Got 1"),
        ("size\n1\nmany\n", "must hold numbers. Got 'many' in row 2 of column 'size'"),
        ("size,x\n1,\n", "must hold numbers. Got nothing in row 1 of column 'x'"),
        ("sise\n1\n", "goal vectors names 'sise', which is not compared (did you mean 'size'?)"),
    ],
)
def test_bad_files_of_vectors_are_refused(capsys: Captured, text: str, error: str) -> None:
    Path("goals.csv").write_text(text)
    given = ["--properties", "size", "--index", "mean", "--goal-vectors", "goals.csv"]
    assert main(["compare", "found#5", "found#8", *given]) == 2
    assert error in capsys.readouterr().err


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
    assert [f" {pair}: " in out for pair in ("A against B", "A against C", "B against C")] == [
        True
    ] * 3
    assert "note: hv of utility says nothing about A and C: each has a row of 0" in err


def test_a_solution_compared_with_itself_is_no_better(capsys: Captured) -> None:
    found = told(capsys, "found#5", "found#5")
    assert {each["better"] for each in found["verdicts"]} == {None}
    assert [each["equal"] for each in found["individuals"]] == [120, 120]


def test_without_all_it_fits_one_screen_and_names_what_differs(capsys: Captured) -> None:
    assert main(["compare", "found#5", "found#8"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert len(lines) <= 24
    assert err == ""
    assert lines[-1] == " --all shows every index by which they were compared"
    front = load_front("found")
    sides = [{e.name: e for e in column_effects(front.grouping(i))} for i in (5, 8)]
    for line in lines:
        name, *words = line.split() or [""]
        if name in sides[0] and words[0] == "A":
            assert words[1] == str(sides[0][name].shown)
            assert words[words.index("B") + 1] == str(sides[1][name].shown)
    assert any(line.split()[:2] == ["age", "A"] for line in lines)


def test_what_no_row_loses_by_is_better(capsys: Captured) -> None:
    """Of a release and the same with everything merged, compared by group size alone."""
    last = len(load_front("found"))
    assert main(["compare", "found#1", f"found#{last}", "--properties", "size"]) == 0
    out = capsys.readouterr().out
    assert " A against B: B is better; no row is worse off in it in any respect" in out


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
        (["found#5"], "name two or more anonymizations to compare. Got found#5 alone"),
        (["found#5", "found#999"], "found has no solution 999; its solutions are 1 to 21 (moanon "),
        (["found#0", "found#5"], "found has no solution 0; its solutions are 1 to 21 (moanon ask "),
        (
            ["found", "found#5"],
            "found is a results folder; name a solution of it, such as found#1 ",
        ),
        (["found#5", "found#x"], "a solution of found is named by its number, such as found#1 ("),
        (["found#5", "found#"], "a solution of found is named by its number, such as found#1 (mo"),
        (["found#5", "found#1.5"], "a solution of found is named by its number, such as found#1 "),
        (["found#5", "found#" + "9" * 5_000], "a solution of found is named by its number, such "),
        (["found#5", "#5"], "named are released files and solutions of results folders (RESUL"),
        (["found#5", ""], "named are released files and solutions of results folders (RESULTS"),
        (["found#5", "foundd#5"], "there is no results folder foundd (did you mean 'found'?)"),
        (["found#5", "five.csv", "--original", "found"], "found is a results folder, and an origi"),
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
        (["found#5", "found#8", "--properties", "size,size"], "properties name 'size' twice"),
        (["found#5", "found#8", "--comparators", "cov,cov"], "comparators name 'cov' twice"),
        (["found#5", "found#8", "--properties", "diversity"], "the property diversity needs a sen"),
        (["found#5", "found#8", "--comparators", "coff"], "there is no comparator called 'coff'"),
        (["found#5", "found#8", "--comparators", "goal"], "the comparator goal needs goals, and"),
        (["found#5", "found#8", "--index", "cof"], "there is no index called 'cof'; did you mean"),
        (["found#5", "found#8", "--index", "size=cov,hv"], "--index must be PROPERTY=VALUE throug"),
        (["found#5", "found#8", "--goal", "size=1,size=2"], "--goal names 'size' twice"),
        (["found#5", "found#8", "--epsilon", "-1,0"], "an epsilon must be a number of at least 0."),
        (["found#5", "found#8", "--ideal", "3"], "--ideal must be PROPERTY=NUMBER. Got '3'"),
        (
            ["found#5", "found#8", "--goal", "1e200,1"],
            "a goal must be a number from -1e+100 to 1e+",
        ),
        (["found#5", "found#8", "--ideal", "size=1e308"], "the ideal of size must be a number fro"),
        (["found#5", "found#8", "--order", ""], "order must name every property. Got nothing for "),
        (["found#5", "found#8", "--epsilon", ""], "epsilon must be one for each of 2 properties. "),
        (["found#5", "found#8", "--key", "age"], "--key finds the rows of released files, and no"),
        (["found#5", "found#8", "--quasi", "age"], "--quasi states what the configuration stat"),
        (["found#5", "found#8", "--hierarchy", "age=a.csv"], "--hierarchy states what the config"),
        (["found#5", "found#8", "--order", "size"], "order must name every property. Got nothing"),
        (
            ["found#5", "found#8", "--comparators", "rank", "--weights", "1,0"],
            "weights is for wtd only, and compared is by rank",
        ),
        (
            ["found#5", "found#8", "--comparators", "cov", "--epsilon", "1,0"],
            "epsilon is for lex only, and compared is by cov",
        ),
        (["found#5", "found#8", "--plot", "a.gif"], "a plot is a .png, .svg or .pdf file. Got 'a."),
        (["found#5", "found#8", "--sensitive", "sice"], "{here}/people.csv has no column 'sice'"),
        (["found#5", "found#8", "--config", "people.yaml", "--quasi", "age"], "--quasi states"),
    ],
)
def test_bad_input_is_one_sentence(capsys: Captured, arguments: list[str], message: str) -> None:
    assert main(["compare", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("moanon: " + message.replace("{here}", str(Path.cwd())))
    assert err.count("\n") == 1


def test_results_of_several_limits_are_named_by_one(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = ["--eta", "0", "--eta", "0.1", "--out", str(tmp_path / "both"), "--quiet"]
    assert main(["run", "people.yaml", *limits]) == 0
    capsys.readouterr()
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "both", "both/eta-0.1#1"]) == 2
    assert capsys.readouterr().err == (
        "moanon: both is a results folder; name a solution of one of its limits, such as "
        "both/eta-0.1#1 (moanon ask both shows them)\n"
    )


def test_a_table_that_has_moved_is_found_where_the_original_is(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    people_frame().to_csv("people.csv", index=False)
    Path("people.yaml").write_text(CONFIG)
    assert main(["run", "people.yaml", "--quiet"]) == 0
    before = told(capsys, "found#1", "found#2")
    Path("people.csv").rename("moved.csv")
    assert main(["compare", "found#1", "found#2"]) == 2
    err = capsys.readouterr().err
    assert "people.csv does not exist" in err
    assert err.endswith("; if it has moved, say where with --original\n")
    after = told(capsys, "found#1", "found#2", "--original", "moved.csv")
    assert after["verdicts"] == before["verdicts"]
    people_frame()[::-1].to_csv("moved.csv", index=False)
    assert main(["compare", "found#1", "found#2", "--original", "moved.csv"]) == 2
    assert "the front in found belongs to other data than " in capsys.readouterr().err


def test_solutions_keep_the_domains_they_were_found_in(capsys: Captured, tmp_path: Path) -> None:
    coarse = CONFIG.replace("range: [20, 27]", "range: [20, 27], granularity: 4")
    coarse = coarse.replace("people.csv", str(Path("people.csv").absolute()))
    (tmp_path / "coarse.yaml").write_text(coarse)
    other = str(tmp_path / "coarse")
    assert main(["run", str(tmp_path / "coarse.yaml"), "--out", other, "--quiet"]) == 0
    capsys.readouterr()
    for pair in ((f"{other}#1", "found#1"), ("found#1", f"{other}#1")):
        found = told(capsys, *pair)
        assert {each["property"] for each in found["verdicts"]} == {"size", "all"}
        (note,) = (note for note in found["notes"] if note.startswith("utility is left out: "))
        assert note.endswith("(column 'age')")
        assert main(["compare", *pair, "--properties", "utility"]) == 2
        assert capsys.readouterr().err.startswith("moanon: utility cannot be compared: ")


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
