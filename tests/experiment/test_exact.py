"""Without suppression and without a limit of its own, a run ends with the exact front."""

from __future__ import annotations

import json
import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import moanon
from moanon.cli import main
from moanon.errors import ConfigError
from moanon.experiment import Experiment, plan
from moanon.experiment.repeated import unite
from moanon.front import Front
from moanon.proofs import front_proof
from moanon.proofs.front_proof import FrontProof
from moanon.search import archive_search
from moanon.search.algorithms import Stop
from tests.cli.commands import Captured
from tests.search.people import config_text

DEFAULT = "{algorithm: archive, population: 20}"


@pytest.fixture(autouse=True)
def poor_search(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A default search that ends after 40 of the 5,120 genomes, and polishes nothing."""
    config.write_text(
        config_text(problem="{preset: k-suppression, eta: 0.0}", search=DEFAULT, name="people")
    )
    monkeypatch.setattr(archive_search, "default_limit", lambda bits: 40)
    monkeypatch.setattr("moanon.search.archive_search.ArchiveSearch.finish", lambda _: 0)


def column(folder: str, name: str) -> list[float]:
    header, *rows = (line.split(",") for line in Path(folder, "front.csv").read_text().splitlines())
    return [float(row[header.index(name)]) for row in rows]


def test_the_front_is_that_of_all_genomes_and_the_run_says_so(capsys: Captured) -> None:
    assert main(["run", "people.yaml", "--out", "a"]) == 0
    assert "The front without suppression is exact: proven with " in capsys.readouterr().out
    assert column("a", "bound") == column("a", "loss")
    every = ["--set", "search.algorithm=exhaustive", "--out", "all", "--quiet"]
    assert main(["run", "people.yaml", *every]) == 0
    assert (column("a", "k"), column("a", "loss")) == (column("all", "k"), column("all", "loss"))
    proof = json.loads(Path("a/run.json").read_bytes())["proof"]
    assert proof["optimal"] == proof["steps"] == len(column("a", "k"))


def test_a_budget_that_is_too_small_leaves_gaps_and_says_so(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_proof, "EXACT_BOUNDS", 30)
    assert main(["run", "people.yaml", "--out", "a"]) == 0
    told = r"\d+ of \d+ solutions are proven optimal with the \d+ bounds that a run computes"
    assert re.search(told, capsys.readouterr().out)
    assert max(column("a", "gap")) > 0


@pytest.mark.parametrize(
    "sets", ["problem.eta=0.1", "search.evaluations=40", "problem.constraints={l: {min: 2}}"]
)
def test_it_is_for_runs_without_suppression_limits_and_constraints(sets: str) -> None:
    assert main(["run", "people.yaml", "--set", sets, "--out", "a", "--quiet"]) == 0
    assert Front.load(Path("a")).proven is None


def test_of_several_limits_it_is_for_the_one_without_suppression() -> None:
    assert main(["run", "people.yaml", "--eta", "0", "--eta", "0.2", "--out", "a", "--quiet"]) == 0
    narrow, wide = (Front.load(Path("a", f"eta-{eta}")) for eta in (0.0, 0.2))
    assert narrow.proven is not None
    assert wide.proven is None


def test_a_proof_that_is_cancelled_leaves_the_front_without_bounds() -> None:
    stages: list[str] = []
    front = moanon.optimize(
        moanon.Config.load("people.yaml"),
        progress=False,
        callbacks=[lambda progress: stages.append(progress.stage)],
        cancel=lambda: "proving" in stages,
    )
    assert front.proven is None
    assert stages.count("proving") == 1


def test_an_interrupted_proof_ends_in_the_same_bytes_when_resumed() -> None:
    (straight,) = plan(["people.yaml"], out="straight")
    Experiment.prepare(straight).run()
    (cut,) = plan(["people.yaml"], out="cut")
    asked = iter(range(10**9))
    result = Experiment.prepare(cut).run(interrupted=lambda: next(asked) >= 10)
    assert result.outcome.reason == "interrupted"
    assert not Path("cut/front.csv").exists()
    Experiment.prepare(cut, resume=True).run()
    same = [Path(folder, "front.csv").read_bytes() for folder in ("straight", "cut")]
    assert same[0] == same[1]


def test_optimize_does_the_same() -> None:
    assert main(["run", "people.yaml", "--out", "a", "--quiet"]) == 0
    front = moanon.optimize(moanon.Config.load("people.yaml"), progress=False)
    assert front.proven is not None
    assert front.proven.tolist() == column("a", "bound")


# -- where every genome was evaluated -------------------------------------------------------------

EVERY = ("--set", "search.algorithm=exhaustive", "--quiet")


@pytest.mark.parametrize("eta", ["0.0", "0.2"])
def test_every_solution_of_an_enumeration_is_optimal(eta: str) -> None:
    assert main(["run", "people.yaml", *EVERY, "--eta", eta, "--out", "all"]) == 0
    assert column("all", "bound") == column("all", "loss")
    assert set(column("all", "gap")) == {0.0}
    steps = len(column("all", "k"))
    proof = json.loads(Path("all/run.json").read_bytes())["proof"]
    assert proof == {"bounds": 0, "steps": steps, "optimal": steps}


def test_a_proof_of_an_enumerated_front_finds_the_same_bounds() -> None:
    assert main(["run", "people.yaml", *EVERY, "--eta", "0.2", "--out", "all"]) == 0
    before = Path("all/front.csv").read_bytes()
    assert main(["prove", "all"]) == 0
    assert Path("all/front.csv").read_bytes() == before


def test_an_enumeration_for_several_limits_proves_them_all() -> None:
    limits = ["--eta", "0", "--eta", "0.2"]
    assert main(["run", "people.yaml", *EVERY, *limits, "--out", "all"]) == 0
    for eta in (0.0, 0.2):
        assert column(f"all/eta-{eta}", "bound") == column(f"all/eta-{eta}", "loss")


def test_of_other_objectives_an_enumeration_proves_nothing() -> None:
    given = [*EVERY, "--set", "problem={preset: any-suppression}"]
    assert main(["run", "people.yaml", *given, "--out", "all"]) == 0
    assert Front.load(Path("all")).proven is None


def test_optimize_tells_it_too() -> None:
    config = moanon.Config.load("people.yaml", ["search.algorithm=exhaustive"])
    front = moanon.optimize(config, progress=False)
    assert front.proven is not None
    assert front.proven.tolist() == front.measures["loss"].tolist()


def test_an_archive_that_left_solutions_out_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moanon.search.algorithms.room_of", lambda *_: 3)
    monkeypatch.setattr("moanon.experiment.runner.room_of", lambda *_: 3)
    assert main(["run", "people.yaml", *EVERY, "--out", "all"]) == 0
    assert Front.load(Path("all")).proven is None


@pytest.mark.parametrize(("algorithm", "is_proven"), [("archive", True), ("nsga2", False)])
def test_a_search_that_forgets_solutions_proves_nothing(algorithm: str, is_proven: bool) -> None:
    """Even if it has evaluated every genome."""
    search = f"search={{algorithm: {algorithm}, evaluations: 10000}}"
    front = moanon.optimize(moanon.Config.load("people.yaml", [search]), progress=False)
    assert (front.proven is not None) == is_proven


def test_losses_that_shares_do_not_tell_apart_are_proven_only_if_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(front_proof, "_LARGEST_SHARED", 100)
    assert main(["run", "people.yaml", *EVERY, "--out", "all"]) == 0
    assert Front.load(Path("all")).proven is None
    assert main(["run", "people.yaml", *EVERY, "--set", "search.prove=60", "--out", "a"]) == 0
    assert column("a", "bound") == column("a", "loss")


# -- what was proven stays -------------------------------------------------------------------------


def test_a_later_proof_goes_on_from_that_of_the_run(capsys: Captured) -> None:
    assert main(["run", "people.yaml", "--out", "a", "--quiet"]) == 0
    before = Path("a/front.csv").read_bytes()
    bounds = json.loads(Path("a/run.json").read_bytes())["proof"]["bounds"]
    assert main(["prove", "a"]) == 0
    assert f"; {bounds:,} bounds computed" in capsys.readouterr().out
    assert Path("a/front.csv").read_bytes() == before


def test_a_proof_of_one_k_takes_no_other_bound_away() -> None:
    assert main(["run", "people.yaml", "--out", "a", "--quiet"]) == 0
    bounds = column("a", "bound")
    Path("a/proof.npz").unlink()
    assert main(["prove", "a", "--k", "3"]) == 0
    assert column("a", "bound") == bounds


def test_bounds_stay_when_a_limit_is_added() -> None:
    assert main(["run", "people.yaml", "--out", "a", "--quiet"]) == 0
    bounds = column("a", "bound")
    assert main(["run", "people.yaml", "--eta", "0.2", "--out", "a", "--quiet"]) == 0
    assert column("a/eta-0.0", "bound") == bounds
    assert Path("a/eta-0.0/proof.npz").exists()
    assert not Path("a/proof.npz").exists()


def test_bounds_of_an_enumeration_stay_when_a_limit_is_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(["run", "people.yaml", *EVERY, "--out", "a"]) == 0
    bounds = column("a", "bound")
    monkeypatch.setattr("moanon.proofs.cut_table.MOST_VALUES", 1)
    rule = "moanon.search.archive_search.ExhaustiveSearch.stop_rule"
    monkeypatch.setattr(rule, lambda *_: Stop(evaluations=40))  # before it has seen all
    assert main(["run", "people.yaml", *EVERY, "--eta", "0.2", "--out", "a"]) == 0
    assert column("a/eta-0.0", "bound") == bounds
    assert Front.load(Path("a/eta-0.2")).proven is None


def test_a_bound_above_what_is_known_is_void() -> None:
    every = moanon.Config.load("people.yaml", ["search.algorithm=exhaustive"])
    truth = moanon.optimize(every, progress=False)
    poor = moanon.optimize(
        moanon.Config.load("people.yaml", ["search.evaluations=40"]), progress=False
    )
    claims = zip(poor.measures["k"], poor.measures["loss"], strict=True)
    assert any(truth.measures["loss"][truth.measures["k"] >= k].min() < loss for k, loss in claims)
    proof = FrontProof(replace(poor, proven=poor.measures["loss"]))
    while not (proof.current is None and proof.is_done):
        proof.advance()
    assert proof.bounds(truth).tolist() == truth.measures["loss"].tolist()


def test_an_interrupted_proof_that_was_asked_for_is_told(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(runs: Any, *_: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return runs

    monkeypatch.setattr("moanon.experiment.experiment.prove_limits", interrupted)
    assert main(["run", "people.yaml", "--set", "search.prove=60", "--out", "a"]) == 130
    told = "Interrupted while proving; the front is complete in a. To continue: moanon prove a"
    assert told in capsys.readouterr().err
    assert Path("a/front.csv").exists()


def test_optimize_proves_for_as_long_as_it_is_told() -> None:
    sets = ["search.evaluations=40", "search.prove=60", "problem.eta=0.1"]
    front = moanon.optimize(moanon.Config.load("people.yaml", sets), progress=False)
    assert front.proven is not None
    assert front.proven.tolist() == front.measures["loss"].tolist()


def test_optimize_refuses_to_prove_what_cannot_be_proven() -> None:
    config = moanon.Config.load(
        "people.yaml", ["search.prove=1", "problem={preset: any-suppression}"]
    )
    with pytest.raises(ConfigError, match=r"only fronts with the objectives k and loss can be"):
        moanon.optimize(config, progress=False)


def test_a_union_has_the_best_bound_of_any_seed_and_of_any_smaller_k() -> None:
    every = moanon.Config.load("people.yaml", ["search.algorithm=exhaustive"])
    truth = moanon.optimize(every, progress=False)
    assert truth.proven is not None
    half = replace(truth, proven=truth.proven * ([1, 0] * len(truth))[: len(truth)])
    bounds = unite([replace(truth, proven=None), half]).proven
    assert bounds is not None
    assert bounds[::2].tolist() == truth.proven[::2].tolist()
    assert bounds[1::2] == pytest.approx(truth.proven[: len(bounds) - 1 : 2])
    assert (bounds[1::2] <= truth.proven[: len(bounds) - 1 : 2]).all()
