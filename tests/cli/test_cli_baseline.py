"""The command ``moanon baseline``, and the commands that take its results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moanon.cli import main
from moanon.experiment import load_front
from moanon.measures.suppression import Suppression
from moanon.search.local import LocalSearch
from moanon.search.problem import AnonymizationProblem
from tests.cli.commands import Captured, done, refused
from tests.search.people import config_text


@pytest.fixture
def config(people: Path) -> str:
    Path("people.yaml").write_text(config_text(problem="{preset: k-suppression, eta: 0.1}"))
    return "people.yaml"


@pytest.fixture
def flash(config: str) -> str:
    assert main(["baseline", "flash", config, "--k", "2", "--k", "10", "--quiet"]) == 0
    return "results/people-flash"


@pytest.fixture
def mondrian(config: str) -> str:
    out = ["--out", "mondrian", "--quiet", "--set", "problem.eta=0"]
    assert main(["baseline", "mondrian", config, "--k", "2", "--k", "5", *out]) == 0
    return "mondrian"


def test_each_k_is_told_with_what_it_took(config: str, capsys: Captured) -> None:
    lines = done(capsys, "baseline", "ola", config, "--k", 2, "--k", 10)
    header = next(line for line in lines if "asked for" in line)
    assert header.split("  ")[0].strip() == "asked for"
    assert "nodes checked" in header
    assert "CPU s" in header
    assert [line.split()[:4] for line in lines if "≥" in line] == [
        ["k", "≥", "2", "1"],
        ["k", "≥", "10", "2"],
    ]
    assert lines[-1] == " Wrote results/people-ola"


def test_what_is_not_used_is_noted(config: str, capsys: Captured) -> None:
    assert main(["baseline", "mondrian", config, "--k", "5"]) == 0
    out, err = capsys.readouterr()
    assert "nodes checked" not in out
    assert err == "note: mondrian suppresses no rows; problem.eta is not used\n"


def test_pictures_and_a_page_are_made_as_for_a_run(config: str) -> None:
    pictures = ["--set", "output.plots=true", "--set", "output.report=true"]
    assert main(["baseline", "mondrian", config, "--quiet", *pictures]) == 0
    folder = Path("results/people-mondrian")
    assert (folder / "plots" / "front.png").exists()
    assert "mondrian (cuts the table after medians" in (folder / "report.html").read_text()


def test_its_results_answer_questions(mondrian: str, capsys: Captured) -> None:
    lines = done(capsys, "ask", mondrian, "--min-k", 3)
    assert lines[0].startswith(" Solution 2 of mondrian: loss ")


@pytest.mark.parametrize("kind", ["mondrian", "flash"])
def test_its_results_are_exported_with_a_certificate(
    kind: str, request: pytest.FixtureRequest, capsys: Captured
) -> None:
    folder = request.getfixturevalue(kind)
    told = done(capsys, "export", folder, 2, "--out", "r.csv")
    assert any("all as in front.csv" in line for line in told)
    certificate = json.loads(Path("r.csv.certificate.json").read_text())
    assert certificate["k"] >= 5


@pytest.mark.parametrize("kind", ["mondrian", "flash"])
def test_its_results_are_applied_to_rows(
    kind: str, request: pytest.FixtureRequest, capsys: Captured
) -> None:
    folder = request.getfixturevalue(kind)
    done(capsys, "export", folder, 2, "--out", "r.csv", "--shuffle", 1)
    done(capsys, "apply", folder, 2, "people.csv", "--out", "again.csv", "--shuffle", 1)
    assert Path("again.csv").read_bytes() == Path("r.csv").read_bytes()


def test_its_results_are_drawn_and_reported(mondrian: str, flash: str, capsys: Captured) -> None:
    for folder in (mondrian, flash):
        assert done(capsys, "plot", folder, "--format", "png")[0].startswith(f" Wrote {folder}")
        done(capsys, "report", folder)
        assert (Path(folder) / "report.html").exists()


def save_local_front(like: str, folder: str) -> None:
    """The front of local recodings, in a folder like that of a search on the same table."""
    instance = load_front(like).instance
    assert instance is not None
    search = LocalSearch(AnonymizationProblem(instance, ("k", "loss"), Suppression("limit", 0.1)))
    while not search.exhausted:
        search.step()
    record = json.loads(Path(like, "run.json").read_text()) | {"name": "local"}
    Path(folder).mkdir()
    texts = {"config.yaml": Path(like, "config.yaml").read_text()}
    search.front(2_000).save(folder, record=record, texts=texts)


def test_results_of_all_kinds_are_compared_and_drawn_together(
    config: str, mondrian: str, flash: str, capsys: Captured
) -> None:
    assert main(["run", config, "--out", "global", "--quiet"]) == 0
    save_local_front("global", "local")
    folders = ["global", "local", mondrian, flash]
    assert main(["compare", *(f"{folder}#2" for folder in folders), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    how = [each["matched_by"] for each in told["anonymized"].values()]
    assert how == ["genome", "boxes", "boxes", "genome"]
    assert {verdict["property"] for verdict in told["verdicts"]} >= {"size", "utility"}
    done(capsys, "plot", *folders, "--out", "all.png")
    done(capsys, "report", *folders, "--out", "all.html")
    page = Path("all.html").read_text(encoding="utf-8")
    for title in ("people, \\u03b7 = 10 %", "local, \\u03b7 = 10 %", "people-mondrian"):
        assert f'"title":"{title}"' in page


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["mondrain", "people.yaml"], "no baseline called 'mondrain'; did you mean 'mondrian'?"),
        (["mondrian", "people.yaml", "--k", "121"], "k must be at most 120, the rows of the"),
        (["mondrian", "people.yaml", "--eta", "0.1"], "mondrian suppresses no rows and takes no"),
        (["flash", "people.yaml", "--eta", "1.5"], "eta must be in [0, 1). Got 1.5"),
        (["flash", "nowhere.yaml"], "nowhere.yaml does not exist"),
        (["flash", "people.yaml", "--out", "people.csv"], "people.csv is a file; results go into"),
    ],
)
def test_bad_input_is_refused(
    arguments: list[str], reason: str, config: str, capsys: Captured
) -> None:
    assert reason in refused(capsys, "baseline", *arguments)


def test_results_are_not_overwritten(flash: str, config: str, capsys: Captured) -> None:
    reason = refused(capsys, "baseline", "flash", config)
    assert f"{flash} holds results already (front.csv); replace them with --force" in reason
    assert main(["baseline", "flash", config, "--k", "5", "--force", "--quiet"]) == 0
    assert len(json.loads(Path(flash, "run.json").read_text())["baseline"]["asked"]) == 1


def test_constraints_that_no_group_can_meet_are_bad_input(config: str, capsys: Captured) -> None:
    sets = ["--set", "problem.constraints.l_entropy.min=3.9"]
    assert main(["baseline", "mondrian", config, *sets]) == 2
    assert "no group can meet the demand l_entropy at least 3.9" in capsys.readouterr().err
    assert not Path("results").exists()


def test_help_has_an_example(capsys: Captured) -> None:
    lines = done(capsys, "baseline", "--help")
    assert any("Example: moanon baseline mondrian configs/quickstart.yaml" in x for x in lines)
