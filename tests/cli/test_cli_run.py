"""The command ``moanon run``: what it prints, how it ends, and that it can be interrupted."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from moanon.arrays import State
from moanon.cli import main
from moanon.search.checkpoint import Checkpoints
from tests.checkout import environment
from tests.cli.commands import Captured, terminal
from tests.search.people import AGE_AND_SIZE, config_text


@pytest.fixture
def config(people: Path) -> str:
    Path("people.yaml").write_text(config_text(AGE_AND_SIZE))
    return "people.yaml"


def start(*arguments: str, folder: Path, **streams: object) -> subprocess.Popen[str]:
    """Run the command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "moanon", "run", *arguments],
        cwd=folder,
        env=environment(TERM="xterm"),
        text=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},  # type: ignore[call-overload]
    )


def wait_for(path: Path, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.02)


# -- what it says --------------------------------------------------------------------------------


def test_a_run_ends_with_the_numbers_that_matter(config: str, capsys: Captured) -> None:
    assert main(["run", config]) == 0
    out = capsys.readouterr().out
    # The first run of all on a machine also tells how long compiling took.
    lines = (line for line in out.splitlines() if not line.startswith(" Compiling took "))
    first, converged, solutions, k, loss, last = lines
    pattern = (
        r" people: 104 evaluations \(4 to polish the front\) in .+ by archive; stopped because "
        "5 generations were reached"
    )
    assert re.fullmatch(pattern, first)
    assert re.match(r" The last tenth of the evaluations gained .+% of hypervolume: ", converged)
    assert re.fullmatch(r" solutions +\d+", solutions)
    assert re.fullmatch(r" k +[\d,]+ to 120", k)
    assert re.fullmatch(r" loss +0\.0% to 100\.0%", loss)
    assert last == " Wrote results/people: front.csv, solutions.json, config.yaml, run.json"


def test_quiet_is_quiet(config: str, capsys: Captured) -> None:
    assert main(["run", config, "--quiet"]) == 0
    assert main(["run", config, "--quiet", "--resume"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["run", config, "--quiet"]) == 2
    assert "holds results already" in capsys.readouterr().err


_FINE = """
name: fine
data: {source: fine.csv}
columns: {a: {role: quasi, kind: interval}, b: {role: quasi, kind: interval}}
problem: {eta: 0.1}
search: {algorithm: nsga2, population: 20, generations: 5, moves: false}
output: {plots: false, report: false}
"""


def test_the_papers_search_says_when_fine_domains_leave_it_without_groups(
    people: Path, capsys: Captured
) -> None:
    # 200 rows, two columns of 300 numbers each: half of all boundaries leave everybody alone.
    rows = [f"{i * 7 % 300},{i * 11 % 300}" for i in range(200)]
    Path("fine.csv").write_text("\n".join(["a,b", "0,0", "299,299", *rows]))
    Path("fine.yaml").write_text(_FINE)
    assert main(["run", "fine.yaml"]) == 0
    captured = capsys.readouterr()
    assert re.search(r"\n k +1 to 1\n", captured.out)
    assert "note: nsga2 has found a single solution, with k = 1: its first genomes" in captured.err
    assert "what helps is the default search" in captured.err
    assert main(["run", "fine.yaml", "--repeat", "2", "--out", "twice"]) == 0
    assert "note: nsga2 has found" in capsys.readouterr().err
    assert main(["run", "fine.yaml", "--force", "--set", "search.moves=true"]) == 0
    captured = capsys.readouterr()
    assert re.search(r"\n k +1 to 202\n", captured.out)
    assert "nsga2 has found" not in captured.err


def test_a_thinned_front_says_so(config: str, capsys: Captured) -> None:
    assert main(["run", config, "--set", "problem.preset=zero-suppression",
                 "--set", "search.cap=4"]) == 0  # fmt: skip
    assert re.search(r"\n solutions +\d+, thinned evenly from \d+\n", capsys.readouterr().out)


def test_options_change_the_configuration(config: str, capsys: Captured) -> None:
    options = ["--eta", "0.1", "--seed", "4", "--set", "search.generations=2", "--out", "here"]
    assert main(["run", config, *options, "--threads", "1"]) == 0
    record = json.loads(Path("here/run.json").read_text())
    assert record["seed"] == 4
    assert record["problem"]["suppression"]["eta"] == 0.1
    assert record["search"]["generations"] == 2
    assert record["times"]["threads"] == 1


def test_several_etas_and_configurations_run_in_turn(config: str, capsys: Captured) -> None:
    Path("more.yaml").write_text(config_text(AGE_AND_SIZE))
    options = ["--eta", "0", "--eta", "0.2", "--out", "all"]
    assert main(["run", config, "more.yaml", *options]) == 0
    found = sorted(str(path.parent) for path in Path("all").glob("**/front.csv"))
    assert found == [f"all/{name}/eta-{eta}" for name in ("more", "people") for eta in (0.0, 0.2)]
    shown = capsys.readouterr().out
    assert shown.count(" Wrote ") == 2
    assert len(re.findall(r"least loss with +η 0\.0 +η 0\.2", shown)) == 2


def test_a_finished_run_says_so(config: str, capsys: Captured) -> None:
    assert main(["run", config]) == 0
    whole = capsys.readouterr().out.splitlines()
    assert main(["run", config, "--resume"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [" results/people is finished already", *whole[2:-1]]


def test_seeds_are_repeated_and_united(config: str, capsys: Captured) -> None:
    command = ["run", config, "--repeat", "2", "--out", "two", "--set", "output.plots=true"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == " people: 2 seeds, least loss with at least each k"
    assert any(
        line.split() == ["best", "seed", "median", "worst", "seed", "union"] for line in lines
    )
    assert lines[-1].startswith(" Wrote two: the union of two/seed-")
    assert Path("two/plots/seeds.png").exists()
    assert main(["ask", "two", "--min-k", "2"]) == 0
    assert main(command) == 2
    assert "two holds results already" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0


def test_limits_may_be_in_percent(config: str) -> None:
    assert main(["run", config, "--eta", "5%", "--eta", "0.1", "--quiet"]) == 0
    assert sorted(path.name for path in Path("results/people").glob("eta-*")) == [
        *("eta-0.05", "eta-0.1"),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--eta", "2"], "eta must be in [0, 1). Got 2.0 (--eta: problem.eta)"),
        (["--eta", "0.1", "--eta", "2"], "eta must be in [0, 1). Got 2.0 (--eta: problem.eta)"),
        (["--seed", "-1"], "seed must be >= 0. Got -1 (--seed: search.seed)"),
        (["--eta", "0", "--set", "search.seed=-1"], "seed must be >= 0. Got -1 (--set: search."),
    ],
)
def test_a_wrong_value_is_that_of_its_option(
    config: str, options: list[str], message: str, capsys: Captured
) -> None:
    assert main(["run", config, *options]) == 2
    assert capsys.readouterr().err.startswith(f"moanon: {message}")


def test_a_column_that_tells_nothing_is_noted(config: str, capsys: Captured) -> None:
    assert main(["run", config, "--set", "columns.age.granularity=1e30"]) == 0
    note = (
        "all values of age have the same base value, so they look the same in every release; "
        "try a smaller granularity or another range"
    )
    assert f"note: {note}\n" in capsys.readouterr().err
    assert json.loads(Path("results/people/run.json").read_text())["notes"] == [note]


def test_notes_go_to_stderr(config: str, capsys: Captured) -> None:
    assert main(["run", config, "--resume"]) == 0
    assert capsys.readouterr().err.startswith(
        "note: results/people holds no checkpoint; starting from the beginning\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'CONFIG...' (see moanon run --help)"),
        (["none.yaml"], "config file none.yaml does not exist"),
        (["people.yaml", "--eta", "few"], "a limit is a number such as 0.05 or 5%. Got 'few'"),
        (["people.yaml", "--eta", "100%"], "eta must be in [0, 1). Got 1.0"),
        (["people.yaml", "--eta", "1"], "eta must be in [0, 1). Got 1.0 (--eta: problem.eta)"),
        (["people.yaml", "--seed", "-1"], "seed must be >= 0. Got -1 (--seed: search.seed)"),
        (["people.yaml", "--threads", "0"], "Invalid value for '--threads': "),
        (["people.yaml", "--threads", "20000"], "of at least 1 and at most 1,024. Got 20000"),
        (["people.yaml", "--resume", "--force"], "give --resume or --force. Got both"),
        (["people.yaml", "people.yaml"], "would both write to results/people"),
        (
            [
                "people.yaml",
                "--set",
                "search.stall=3",
                "--set",
                "problem.objectives=[k, gl, sl, d]",
            ],
            "stall cannot be a limit: the hypervolume is taken of at most 3 objectives. Got 4",
        ),
    ],
)
def test_bad_input_is_one_sentence(
    config: str, capsys: Captured, arguments: list[str], message: str
) -> None:
    assert main(["run", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_table_on_which_nothing_meets_the_constraints_has_no_solution(
    config: str, capsys: Captured
) -> None:
    Path("people.csv").write_text("a,s\n1,p\n1,p\n2,p\n2,q\n")
    Path(config).write_text(
        "data: {source: people.csv}\n"
        "columns: {a: {role: quasi, kind: interval}, s: {role: sensitive}}\n"
        "problem:\n"
        "  {preset: kl-safety, objectives: [alpha, loss], constraints: {alpha: {max: 0.5}}}\n"
    )
    assert main(["run", config, "--quiet"]) == 1
    assert capsys.readouterr().err == (
        "moanon: no solution that was evaluated meets the constraints: the nearest one would have "
        "to suppress 2 rows (at most 0)\n"
    )


# -- being interrupted ---------------------------------------------------------------------------


def test_a_process_that_is_terminated_says_how_to_go_on(config: str, tmp_path: Path) -> None:
    endless = ["--set", "search.algorithm=nsga2", "--set", "search.generations=100000"]
    process = start(config, "--out", "my results", *endless, folder=tmp_path)
    wait_for(tmp_path / "my results" / "checkpoint.npz")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (143, "")
    told, command = err.splitlines()[-2:]
    pattern = r"Interrupted after generation (\d+) \([\d,]+ evaluations\); saved in my results\."
    assert re.fullmatch(pattern, told)
    again = ["run", config, *endless, "--out", "my results", "--resume"]
    assert command == f"To continue: moanon {shlex.join(again)}"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_the_command_to_go_on_goes_on(
    config: str,
    number: signal.Signals,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    save, times = Checkpoints.save, iter([number])

    def save_and_end(checkpoints: Checkpoints, state: State) -> None:
        save(checkpoints, state)
        for each in times:  # after the first one
            signal.raise_signal(each)

    monkeypatch.setattr(Checkpoints, "save", save_and_end)
    assert main(["run", config, "--out", "a", "--seed", "3"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    told, command = err.splitlines()[-2:]
    assert told == "Interrupted after generation 2 (40 evaluations); saved in a."
    assert command == f"To continue: moanon run {config} --seed 3 --out a --resume"
    assert main(shlex.split(command.removeprefix("To continue: moanon "))) == 0
    assert "stopped because 5 generations were reached" in capsys.readouterr().out
    assert main(["run", config, "--seed", "3", "--out", "b"]) == 0
    assert Path("a/front.csv").read_bytes() == Path("b/front.csv").read_bytes()


def test_on_a_terminal_there_is_a_bar(
    config: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    with terminal(monkeypatch, "stderr") as shown:
        assert main(["run", config]) == 0
    assert " solutions " in capsys.readouterr().out
    assert "\x1b[" in shown.text
    assert re.search(r"people .*gen 1 · front \d+ · hv 0\.\d+ · .+ left", shown.text)


# -- missing values ------------------------------------------------------------------------------


@pytest.fixture
def gaps(people: Path) -> str:
    """A configuration that says nothing about gaps, of which there are three in two rows."""
    header, first, second, *rest = Path("people.csv").read_text().splitlines()
    others = first.split(",")[2:]
    assert header.startswith("age,size")
    first, second = ",".join(["", "", *others]), "," + second.partition(",")[2]
    Path("people.csv").write_text("\n".join([header, first, second, *rest]) + "\n")
    Path("people.yaml").write_text(config_text())
    return "people.yaml"


def test_nobody_is_left_out_in_silence(gaps: str, capsys: Captured) -> None:
    assert main(["run", gaps]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(
        "people.csv misses values in 'age' (2 rows) and 'size' (1 row); complete the data, or say "
        "what becomes of such rows with missing: drop (they are left out), category (missing is a "
        "value of its own) or error (they are refused, as now)\n"
    )


def test_dropped_rows_are_told_before_anything_else(gaps: str, capsys: Captured) -> None:
    told = "note: 2 of 120 rows were dropped for missing values\n"
    assert main(["run", gaps, "--set", "data.missing=drop", "--out", "out"]) == 0
    assert capsys.readouterr().err.startswith(told)
    assert json.loads(Path("out/run.json").read_text())["data"]["rows_dropped"] == 2
    for words in (["--max-loss", "50%"], [], ["--min-k", "2", "--json"]):
        assert main(["ask", "out", *words]) == 0
        assert capsys.readouterr().err == told
    assert main(["export", "out", "1", "--out", "r.csv"]) == 0
    assert "  dropped             2 rows for missing values" in capsys.readouterr().out
    assert main(["measure", "people.csv", "r.csv", "--config", "out/config.yaml"]) == 0
    assert capsys.readouterr().err.startswith(told)
    assert main(["compare", "out#1", "out#2"]) == 0
    assert capsys.readouterr().err.startswith(told)


def test_kept_gaps_are_nothing_to_tell(gaps: str, capsys: Captured) -> None:
    assert main(["run", gaps, "--set", "data.missing=category", "--out", "out"]) == 0
    assert main(["ask", "out", "--max-loss", "50%"]) == 0
    assert "dropped" not in "".join(capsys.readouterr())
