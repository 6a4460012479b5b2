"""The command ``moanon ask``: what it answers, in words and in JSON, and how it ends."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moanon.cli import main
from moanon.front import Front
from moanon.measures.suppression import Suppression
from moanon.recoding import GlobalRecodings
from tests.cli.commands import Captured

#: k, loss, suppressed share: D §7.5's second answer and some around it.
ROWS = [(2, 0.05, 0.0), (10, 0.2, 0.05), (14, 0.249, 0.1), (16, 0.26, 0.1), (36, 0.269, 0.1)]


def save(
    folder: Path, rows: list[tuple[float, ...]], eta: float = 0.1, *, config: bool = True
) -> None:
    """Write a front with these numbers; nobody asks for its genomes."""
    k, loss, sl = (np.array(column) for column in zip(*rows, strict=True))
    measures = {
        "k": k.astype(np.int64),
        "loss": loss,
        "gl": loss - sl,
        "sl": sl,
        "suppressed": np.round(1000 * sl).astype(np.int64),
        "weighted_k": 2.5 * k,
    }
    genomes, thresholds = np.zeros((len(rows), 1), dtype=np.uint8), np.zeros((len(rows), 2), int)
    blocks = ({"age": ("*",)},) * len(rows)
    rule = Suppression("limit", eta)
    front = Front(
        ("k", "loss"), rule, GlobalRecodings(genomes, thresholds, rule), measures, blocks, len(rows)
    )
    folder.mkdir(parents=True)
    front.save(folder, texts={"config.yaml": "name: people\n"} if config else None)


@pytest.fixture(autouse=True)
def results(folder: Path) -> None:
    save(Path("people"), ROWS)


def asked(capsys: Captured, *options: str, results: str = "people") -> list[str]:
    assert main(["ask", results, *options]) == 0
    return capsys.readouterr().out.splitlines()


def as_json(capsys: Captured, *options: str, results: str = "people", code: int = 0) -> Any:
    assert main(["ask", results, "--json", *options]) == code
    return json.loads(capsys.readouterr().out)


# -- in words ------------------------------------------------------------------------------------


def test_the_answer_names_the_solution_its_numbers_and_what_is_near(capsys: Captured) -> None:
    assert asked(capsys, "--max-loss", "25%") == [
        " Solution 3 of people: k 14, loss 24.9%",
        "  k                   14",
        "  weighted_k          35",
        "  loss                24.9% (generalization 14.9%, suppression 10.0%)",
        "  suppressed          100 rows (10.0%)",
        " A limit moved slightly",
        "  loss 26.0% instead of 25%: k 16 instead of 14 (solution 4)",
        "  loss 26.9% instead of 25%: k 36 instead of 14 (solution 5)",
        " Next: moanon export people 3 --out release.csv",
    ]


def test_no_export_is_promised_that_would_be_refused(capsys: Captured) -> None:
    save(Path("by hand"), ROWS, config=False)
    assert asked(capsys, "--max-loss", "25%", results="by hand")[-1] == (
        ' Next: front.release(3).write("release.csv") in Python, where the front was saved from; '
        "moanon export needs a config.yaml, which only moanon run writes"
    )
    assert main(["export", "by hand", "3", "--out", "release.csv"]) == 2
    assert "config.yaml" in capsys.readouterr().err
    assert as_json(capsys, "--max-loss", "25%", results="by hand")["export"] is None


def test_least_loss_for_a_needed_privacy(capsys: Captured) -> None:
    lines = asked(capsys, "--min-k", "15")
    assert lines[0] == " Solution 4 of people: loss 26.0%"
    assert lines[5:7] == [
        " A limit moved slightly",
        "  k 14 instead of 15: loss 24.9% instead of 26.0% (solution 3)",
    ]
    assert lines[7:9] == [
        " For slightly more",
        "  loss 26.9% instead of 26.0%: k 36 instead of 16 (solution 5)",
    ]


@pytest.mark.parametrize(
    ("options", "solution"),
    [
        (["--max-loss", "0.25"], 3),
        (["--max-loss", "20 %"], 2),
        (["--max-loss", "24.9%"], 3),  # itself allowed, to the last digit
        (["--max-loss", "24.89999%"], 2),
        (["--max-loss", "30%", "--max-suppression", "5%"], 2),
        (["--max-loss", "30%", "--max-suppression", "0"], 1),
        (["--max-loss", "30%", "--prefer", "loss"], 1),
        (["--max-loss", "30%", "--prefer", "sl", "--prefer", "k"], 1),
        (["--at-most", "gl=15%"], 3),
        (["--at-least", "weighted_k=30"], 3),
        (["--at-most", "suppressed=50", "--min-k", "3"], 2),
    ],
)
def test_limits_and_preferences(capsys: Captured, options: list[str], solution: int) -> None:
    assert asked(capsys, *options)[0].startswith(f" Solution {solution} of people: ")


def test_a_note_says_that_another_run_would_answer_better(capsys: Captured) -> None:
    *_, note, last = asked(capsys, "--max-loss", "30%", "--max-suppression", "2%")
    assert note == (
        " note: this run was made for a suppression of up to 10%, which its solutions mostly "
        "spend; a run with --eta 0.02 finds better ones within 2%"
    )
    assert last.startswith(" Next: ")


def test_the_next_command_can_be_pasted(capsys: Captured) -> None:
    save(Path("my $results"), ROWS)
    last = asked(capsys, "--min-k", "2", results="my $results")[-1]
    words = ["Next:", "moanon", "export", "my $results", "1", "--out", "release.csv"]
    assert shlex.split(last) == words


def test_without_limits_it_shows_what_each_loss_buys(capsys: Captured) -> None:
    lines = [" ".join(line.split()) for line in asked(capsys)]
    assert lines[0] == "people: the most privacy that each loss buys"
    assert lines[2] == "loss up to solution k loss suppression"
    assert lines[4:8] == [
        "5% 1 2 5.0% 0.0%",
        "20% 2 10 20.0% 5.0%",
        "25% 3 14 24.9% 10.0%",
        "30% 5 36 26.9% 10.0%",
    ]


# -- when nothing qualifies ----------------------------------------------------------------------


def test_no_is_1_with_what_it_would_take(capsys: Captured) -> None:
    assert main(["ask", "people", "--max-loss", "22%", "--min-k", "12"]) == 1
    assert capsys.readouterr() == (
        " No solution has loss at most 22% and k at least 12.\n"
        " What it would take\n"
        "  loss 24.9% instead of 22% would do: k 14, suppression 10.0% (solution 3)\n"
        "  k 10 instead of 12 would do: loss 20.0%, suppression 5.0% (solution 2)\n",
        "",
    )


def test_no_rung_of_a_ladder_is_1(capsys: Captured) -> None:
    save(Path("all"), [(5, 0.3, 0.1)])
    assert main(["ask", "all", "--max-suppression", "5%"]) == 1
    assert capsys.readouterr().out == " No solution has suppression at most 5%.\n"


# -- for programs --------------------------------------------------------------------------------


def test_the_same_in_json(capsys: Captured) -> None:
    found = as_json(capsys, "--max-loss", "25%")
    assert found["results"] == "people"
    assert found["limits"] == [{"measure": "loss", "at_most": 0.25}]
    assert found["goal"] == ["k"]
    assert (found["solution"]["id"], found["solution"]["measures"]["k"]) == (3, 14)
    assert [(near["kind"], near["id"]) for near in found["near"]] == [
        ("relaxed", 4),
        ("relaxed", 5),
    ]
    assert found["export"] == "moanon export people 3 --out release.csv"


def test_no_in_json(capsys: Captured) -> None:
    found = as_json(capsys, "--max-loss", "1%", code=1)
    assert (found["solution"], found["export"]) == (None, None)
    assert [near["kind"] for near in found["near"]] == ["nearest"]


def test_a_ladder_in_json(capsys: Captured) -> None:
    rungs = as_json(capsys)["ladder"]
    assert [(rung["max_loss"], rung["id"]) for rung in rungs] == [
        (0.05, 1),
        (0.2, 2),
        (0.25, 3),
        (0.3, 5),
    ]


# -- several limits on suppression ---------------------------------------------------------------


@pytest.fixture
def several() -> str:
    save(Path("all/eta-0.05"), [(2, 0.1, 0.05), (9, 0.24, 0.05)], eta=0.05)
    save(Path("all/eta-0.1"), [(3, 0.1, 0.1), (14, 0.249, 0.1)], eta=0.1)
    save(Path("all/eta-0.2"), [(4, 0.3, 0.2)], eta=0.2)
    return "all"


def test_several_runs_are_compared_and_the_best_is_told(several: str, capsys: Captured) -> None:
    options = ["--max-loss", "25%"]
    lines = [" ".join(line.split()) for line in asked(capsys, *options, results=several)]
    assert "eta-0.05 2 9 24.0% 5.0%" in lines
    assert "eta-0.1 2 14 24.9% 10.0% best" in lines
    assert "eta-0.2 none" in lines
    assert "Solution 2 of all/eta-0.1: k 14, loss 24.9%" in lines
    assert lines[-1] == "Next: moanon export all/eta-0.1 2 --out release.csv"


def test_a_limit_on_suppression_chooses_among_runs(several: str, capsys: Captured) -> None:
    options = ["--max-loss", "25%", "--max-suppression", "5%"]
    found = as_json(capsys, *options, results=several)
    assert found["best"] == "all/eta-0.05"
    assert [each["results"] for each in found["answers"]] == [
        "all/eta-0.05",
        "all/eta-0.1",
        "all/eta-0.2",
    ]


def test_no_of_several_runs(several: str, capsys: Captured) -> None:
    assert main(["ask", several, "--max-loss", "5%"]) == 1
    out = capsys.readouterr().out
    assert out.count(" What it would take\n") == 3
    assert as_json(capsys, "--max-loss", "5%", results=several, code=1)["best"] is None


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--max-loss", "25"],
            "'--max-loss': a share is from 0 to 1, or from 0% to 100%. Got '25'",
        ),
        (["--max-loss", "a lot"], "a share is from 0 to 1, or from 0% to 100%. Got 'a lot'"),
        (["--max-suppression", "nan"], "a share is from 0 to 1, or from 0% to 100%. Got 'nan'"),
        (["--max-suppression", "-1%"], "Got '-1%'"),
        (["--min-k", "0"], "Invalid value for '--min-k'"),
        (["--min-l", "2"], "this front has no measure 'l': its table has no sensitive column"),
        (["--at-most", "gl"], "--at-most takes MEASURE=X, such as gl=30%. Got 'gl'"),
        (["--at-least", "=3"], "--at-least takes MEASURE=X, such as gl=30%. Got '=3'"),
        (["--at-most", "gl=30"], "gl is a share in [0, 1], such as 0.25 for 25%. Got 30"),
        (["--at-most", "lost=1"], "there is no measure called 'lost'; did you mean 'loss'?"),
        (["--prefer", "privacy"], "there is no measure called 'privacy'"),
    ],
)
def test_bad_input_is_one_sentence(capsys: Captured, options: list[str], message: str) -> None:
    assert main(["ask", "people", *options]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert (out, err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            ["rm", "-r", "people"],
            "people does not exist; name a folder that moanon run has written",
        ),
        (["rm", "people/run.json"], "not complete (run.json is missing)"),
        (["touch", "people/checkpoint.npz"], "people holds an unfinished run"),
        (
            ["sed", "-i", 's/"format": 2/"format": 1/', "people/run.json"],
            "in format 1, and this is",
        ),
        (["sed", "-i", "s/0.1.0/0.7.0/", "people/run.json"], "was written by moanon 0.7.0, and"),
        (["sed", "-i", "s/14/15/", "people/front.csv"], "people/front.csv is not the file that"),
    ],
)
def test_a_folder_that_cannot_be_used_is_one_sentence(
    capsys: Captured, spoil: list[str], message: str
) -> None:
    subprocess.run(spoil, check=True)
    assert main(["ask", "people", "--min-k", "2"]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert (out, err.count("\n")) == ("", 1)


# -- privacy that is better when lower -----------------------------------------------------------


@pytest.fixture
def deltas(folder: Path) -> None:
    """A front that searched for δ, which is infinite where a group lacks a sensitive value."""
    delta, loss = np.array([np.inf, 1.5, 0.25]), np.array([0.1, 0.3, 0.6])
    zeros = np.zeros(3)
    measures = {"delta": delta, "loss": loss, "gl": loss, "sl": zeros}
    measures |= {"suppressed": np.zeros(3, int)}
    measures |= {"k": np.array([2, 5, 9]), "weighted_k": np.array([2.0, 5.0, 9.0])}
    genomes, thresholds = np.zeros((3, 1), dtype=np.uint8), np.zeros((3, 2), int)
    blocks = ({"age": ("*",)},) * 3
    rule = Suppression("limit", 0.1)
    front = Front(
        ("delta", "loss"), rule, GlobalRecodings(genomes, thresholds, rule), measures, blocks, 3
    )
    (folder / "deltas").mkdir()
    front.save(folder / "deltas")


@pytest.mark.usefixtures("deltas")
def test_an_infinite_measure_is_a_text_in_json(capsys: Captured) -> None:
    assert main(["ask", "deltas", "--json", "--max-loss", "10%"]) == 0

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found["solution"]["measures"]["delta"] == "inf"


@pytest.mark.usefixtures("deltas")
def test_a_ladder_goes_by_what_was_searched_and_says_how_to_ask_for_it(capsys: Captured) -> None:
    lines = asked(capsys, results="deltas")
    assert [line.split()[:3] for line in lines if "%" in line] == [
        ["10%", "1", "inf"],
        ["30%", "2", "1.500"],
        ["60%", "3", "0.250"],
    ]
    assert lines[-1].endswith("--min-k, --at-most delta=X.")


@pytest.mark.usefixtures("deltas")
def test_a_needed_closeness_gets_the_least_loss(capsys: Captured) -> None:
    lines = asked(capsys, "--at-most", "delta=1.5", results="deltas")
    assert lines[:2] == [" Solution 2 of deltas: loss 30.0%", "  delta               1.500"]


# -- what anybody would rather take ----------------------------------------------------------------

ENDS = [(1, 0.0, 0.0), (10, 0.134, 0.038), (9000, 0.886, 0.03), (9999, 1.0, 0.0)]


def test_an_extreme_solution_is_not_the_headline(capsys: Captured) -> None:
    save(Path("ends"), ENDS)
    lines = asked(capsys, "--min-k", "5", "--max-suppression", "3%", results="ends")
    assert lines[2] == " Solution 2 of ends: loss 13.4%, suppression 3.8% instead of 3%"
    assert lines[-1] == (
        " Next: moanon run ends/config.yaml --eta 0.03 (adds that limit), then ask again"
    )


def test_a_limit_that_leaves_little_is_told_beside_none(capsys: Captured) -> None:
    save(Path("ends"), [*ENDS, (50, 0.3, 0.1), (80, 0.4, 0.1)])
    text = "\n".join(asked(capsys, "--max-suppression", "1%", results="ends"))
    assert "With suppression at most 1% ends has little to choose from:" in text
    assert "a run with --eta 0.01 finds better ones within 1%" in " ".join(text.split())
    assert "Without that limit:" in text


def test_columns_are_shown_without_rows_where_the_table_cannot_be_had(capsys: Captured) -> None:
    save(Path("bare"), ROWS, config=False)
    assert main(["ask", "bare", "--min-k", "5", "--show"]) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith("note: the rows of each label are not shown: it was saved from")
    assert any(line.split() == ["age", "1", "*"] for line in shown.out.splitlines())
