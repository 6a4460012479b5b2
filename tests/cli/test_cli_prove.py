"""The command ``moanon prove``: what it writes, that it goes on, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

import moanon.experiment.proving as proving
from moanon.cli import main
from moanon.experiment import load_front
from moanon.front import Front
from moanon.proofs.front_proof import FrontProof
from tests.cli.commands import Captured
from tests.search.people import config_text


def run(folder: str = "out", eta: float = 0.1, **more: str) -> Path:
    """Search for the front of people, for a very short time."""
    more = {"problem": f"{{preset: k-suppression, eta: {eta}}}"} | more
    Path("c.yaml").write_text("name: c\n" + config_text(generations=1, **more))
    assert main(["run", "c.yaml", "--out", folder, "--quiet"]) == 0
    return Path(folder)


def column(folder: Path, name: str) -> list[float]:
    header, *rows = (line.split(",") for line in (folder / "front.csv").read_text().splitlines())
    return [float(row[header.index(name)]) for row in rows]


def test_a_poor_front_becomes_the_exact_one(people: Path, capsys: Captured) -> None:
    folder = run()
    before = len(Front.load(folder))
    assert main(["prove", "out"]) == 0
    out = capsys.readouterr().out
    assert "better solutions are in the front now; solutions are numbered anew" in out
    assert set(column(folder, "gap")) == {0.0}
    assert column(folder, "bound") == column(folder, "loss")
    assert len(Front.load(folder)) > before
    record = json.loads((folder / "run.json").read_bytes())
    assert record["proof"]["optimal"] == record["proof"]["steps"] == len(Front.load(folder))
    # An enumeration of all 5,120 genomes finds no other front.
    Path("e.yaml").write_text(
        Path("c.yaml")
        .read_text()
        .replace("algorithm: archive", "algorithm: exhaustive")
        .replace(", generations: 1", "")
    )
    assert main(["run", "e.yaml", "--out", "all", "--quiet"]) == 0
    assert column(Path("all"), "k") == column(folder, "k")
    assert column(Path("all"), "loss") == column(folder, "loss")


def test_answers_and_records_say_that_a_solution_is_optimal(people: Path, capsys: Captured) -> None:
    run()
    assert main(["prove", "out", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["ask", "out", "--min-k", "5"]) == 0
    assert "proven optimal for k at least 5" in capsys.readouterr().out
    assert main(["ask", "out", "--min-k", "5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["solution"]
    assert told["optimality"] == "proven optimal"
    assert main(["export", "out", str(told["id"]), "--out", "r.csv"]) == 0
    (place,) = Path("out/releases").iterdir()
    record = json.loads(place.read_bytes())
    assert record["optimality"] == "proven optimal"
    assert record["least_loss"] == told["bound"] == record["measures"]["loss"]
    assert "optimal" not in Path("r.csv.certificate.json").read_text()


def test_a_limited_proof_says_how_far_it_is_and_goes_on_later(
    people: Path, capsys: Captured
) -> None:
    folder = run()
    assert main(["prove", "out", "--k", "5", "--seconds", "0"]) == 0
    assert "nothing is known" in capsys.readouterr().out
    assert max(column(folder, "gap")) > 0
    work = json.loads((folder / "run.json").read_bytes())["proof"]["bounds"]
    assert main(["prove", "out", "--k", "5"]) == 0
    assert "proven optimal" in capsys.readouterr().out
    assert json.loads((folder / "run.json").read_bytes())["proof"]["bounds"] > work
    front = load_front(folder)
    straight = FrontProof(front, [5])
    while not straight.is_done:
        straight.advance()
    assert max(front.proven[front.measures["k"] >= 5]) == max(
        straight.bounds(front)[front.measures["k"] >= 5]
    )


def test_a_signal_ends_it_after_what_was_proven_is_written(
    people: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run()
    advance = FrontProof.advance

    def interrupted_advance(proof: FrontProof) -> None:
        advance(proof)
        if len(proof.proofs) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(FrontProof, "advance", interrupted_advance)
        assert main(["prove", "out"]) == 130
    assert "Interrupted; what was proven is in out" in capsys.readouterr().err
    assert (folder / "proof.npz").exists()
    assert len(Front.load(folder)) > 0
    assert main(["prove", "out"]) == 0
    assert set(column(folder, "gap")) == {0.0}


def test_damaged_proofs_are_begun_anew(people: Path, capsys: Captured) -> None:
    folder = run()
    assert main(["prove", "out", "--seconds", "0"]) == 0
    (folder / "proof.npz").write_bytes(b"nothing of the kind")
    assert main(["prove", "out"]) == 0
    told = capsys.readouterr()
    assert "damaged (its checksum does not fit); proving from the beginning" in told.out + told.err
    assert set(column(folder, "gap")) == {0.0}


def test_several_limits_are_proven_in_turn(people: Path, capsys: Captured) -> None:
    run(problem="{preset: k-suppression, eta: [0, 0.2]}")
    assert main(["prove", "out"]) == 0
    for eta in ("0.0", "0.2"):
        assert set(column(Path("out") / f"eta-{eta}", "gap")) == {0.0}
    assert Path("out/comparison.csv").exists()


def test_a_run_that_is_to_prove_does_so_in_the_end(people: Path) -> None:
    folder = run(search="{algorithm: archive, population: 20, generations: 1, prove: 60}")
    assert set(column(folder, "gap")) == {0.0}


def test_a_run_that_is_to_prove_says_how_far_it_came(people: Path, capsys: Captured) -> None:
    Path("c.yaml").write_text("name: c\n" + config_text(search="{generations: 1, prove: 0.001}"))
    assert main(["run", "c.yaml", "--out", "out"]) == 0
    told = r"\d+ of \d+ solutions are proven optimal; moanon prove goes further"
    assert re.search(told, capsys.readouterr().out)


def test_a_table_without_any_bit_can_be_proven(tmp_path: Path, capsys: Captured) -> None:
    table, config = tmp_path / "t.csv", tmp_path / "c.yaml"
    table.write_text("sex\nf\nf\nf\n")
    config.write_text(
        "data: {source: t.csv}\ncolumns: {sex: {role: quasi, kind: ordered, order: [f]}}\n"
        "problem: {preset: k-suppression, eta: 0.0}\noutput: {plots: false, report: false}\n"
    )
    folder = str(tmp_path / "out")
    assert main(["run", str(config), "--out", folder, "--quiet"]) == 0
    assert main(["prove", folder]) == 0
    assert "1 of 1 solutions proven optimal" in capsys.readouterr().out


def test_seeds_that_were_proven_are_united_with_their_bounds(people: Path) -> None:
    search = "{algorithm: archive, population: 20, generations: 1, prove: 60}"
    Path("c.yaml").write_text(
        config_text(problem="{preset: k-suppression, eta: 0.1}", search=search, name="c")
    )
    assert main(["run", "c.yaml", "--out", "all", "--repeat", "2", "--quiet"]) == 0
    assert column(Path("all"), "bound") == column(Path("all"), "loss")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"problem": "{preset: zero-suppression}"}, "Got the objectives weighted_k, gl"),
        ({"problem": "{objectives: [t_closeness, loss]}"}, "t_closeness is none of them"),
        ({"problem": "{constraints: {l: {min: 2}}}"}, "Got constraints on l"),
    ],
)
def test_what_cannot_be_proven_is_refused_with_the_reason(
    people: Path, capsys: Captured, more: dict[str, str], reason: str
) -> None:
    folder = run(**more)
    before = (folder / "front.csv").read_bytes()
    capsys.readouterr()
    assert main(["prove", "out"]) == 2
    assert reason in capsys.readouterr().err
    assert (folder / "front.csv").read_bytes() == before


def test_a_run_that_cannot_be_proven_is_refused_before_it_begins(
    people: Path, capsys: Captured
) -> None:
    Path("c.yaml").write_text(
        config_text(problem="{preset: zero-suppression}", search="{prove: 3}")
    )
    assert main(["run", "c.yaml", "--out", "out"]) == 2
    assert "Got the objectives weighted_k, gl (search.prove)" in capsys.readouterr().err
    assert not Path("out/front.csv").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--k", "121"], "k must be a whole number from 1 to 120, the rows. Got 121"),
        (["--gap", "-1"], "a share is from 0 to 1"),
        (["--k", "0"], "Invalid value for '--k'"),
    ],
)
def test_impossible_options_are_refused(
    people: Path, capsys: Captured, options: list[str], reason: str
) -> None:
    run()
    assert main(["prove", "out", *options]) == 2
    assert reason in capsys.readouterr().err


def test_a_killed_proof_leaves_the_front_as_it_was(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run()
    before = (folder / "front.csv").read_bytes()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(proving, "_write", killed)
    assert main(["prove", "out"]) == 130
    assert (folder / "front.csv").read_bytes() == before
    assert len(Front.load(folder)) > 0
