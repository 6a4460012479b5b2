"""The command ``moanon report``: which folders it shows, where it writes, what it refuses."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from moanon.cli import main
from moanon.front import Front
from tests.cli.commands import Captured, done, refused
from tests.search.people import AGE_AND_SIZE, config_text, people_frame


@pytest.fixture
def config(people: Path) -> str:
    Path("people.yaml").write_text(config_text(AGE_AND_SIZE, generations=3))
    return "people.yaml"


@pytest.fixture
def results(config: str) -> Path:
    assert main(["run", config, "--out", "results", "--quiet"]) == 0
    return Path("results")


@pytest.fixture
def several(config: str) -> Path:
    etas = ["--eta", "0.1", "--eta", "0.05", "--eta", "0.3"]
    assert main(["run", config, "--out", "results", "--quiet", *etas]) == 0
    return Path("results")


def told_by(page: Path) -> list[dict[str, Any]]:
    """The tabs of a page."""
    text = page.read_text(encoding="utf-8")
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    tabs: list[dict[str, Any]] = json.loads(found)["tabs"]
    return tabs


def test_a_report_goes_into_the_results_folder(results: Path, capsys: Captured) -> None:
    assert main(["report", "results"]) == 0
    out = capsys.readouterr().out
    assert re.fullmatch(r"Wrote results/report\.html \(\d\.\d MB\); open it in a browser\n", out)
    (tab,) = told_by(results / "report.html")
    assert tab["title"] == "people"
    assert tab["command"] == "moanon export results"
    here = f"{Path.cwd()}/"
    assert tab["config"] == (results / "config.yaml").read_text().replace(here, "")
    page = (results / "report.html").read_text(encoding="utf-8")
    assert here not in page
    assert json.loads((results / "run.json").read_text())["data"]["digest"] not in page
    assert len(tab["sizes"]) == len((results / "front.csv").read_text().splitlines()) - 1


@pytest.mark.parametrize("name", ["people.yaml", "people.csv", "results/front.csv", "page"])
def test_a_page_replaces_no_file_of_another_kind(
    results: Path, capsys: Captured, name: str
) -> None:
    before = Path(name).read_bytes() if Path(name).exists() else b""
    assert main(["report", "results", "--out", name, "--force"]) == 2
    wanted = f"a report is a .html or .htm file. Got {Path(name).name!r}"
    assert capsys.readouterr().err == f"moanon: {wanted}\n"
    assert Path(name).read_bytes() == before if before else not Path(name).exists()


def test_a_page_replaces_no_input_of_its_run_by_another_name(
    results: Path, capsys: Captured
) -> None:
    Path("page.html").hardlink_to("people.csv")
    assert main(["report", "results", "--out", "page.html", "--force"]) == 2
    assert "page.html is not replaced: it was read for" in capsys.readouterr().err


def test_its_own_report_is_replaced_but_no_other_file(results: Path, capsys: Captured) -> None:
    for _ in range(2):
        assert main(["report", "results"]) == 0
    Path("mine.html").write_text("mine")
    assert main(["report", "results", "--out", "mine.html"]) == 2
    assert "mine.html exists already" in capsys.readouterr().err
    assert Path("mine.html").read_text() == "mine"
    assert main(["report", "results", "--out", "mine.html", "--force"]) == 0
    assert told_by(Path("mine.html"))[0]["title"] == "people"


def test_several_eta_are_tabs_in_their_order(several: Path) -> None:
    assert main(["report", "results"]) == 0
    tabs = told_by(several / "report.html")
    assert [tab["title"] for tab in tabs] == ["η = 5 %", "η = 10 %", "η = 30 %"]
    assert tabs[0]["command"] == "moanon export results/eta-0.05"


def test_several_runs_are_tabs_named_after_their_folders(config: str) -> None:
    for name in ("a", "b", "b/eta-0.5"):
        assert main(["run", config, "--out", f"results/{name}", "--quiet"]) == 0
    assert main(["report", "results", "--out", "all.html"]) == 0
    assert [tab["title"] for tab in told_by(Path("all.html"))] == ["a", "b", "b, η = 50 %"]


def test_an_unfinished_run_is_left_out_and_told(several: Path, capsys: Captured) -> None:
    for name in ("run.json", "front.csv", "solutions.json", "config.yaml"):
        (several / "eta-0.1" / name).unlink()
    (several / "eta-0.1" / "checkpoint.npz").write_bytes(b"")
    assert main(["report", "results"]) == 0
    note = "note: results/eta-0.1 holds an unfinished run, which is left out\n"
    assert capsys.readouterr().err == note
    titles = [tab["title"] for tab in told_by(several / "report.html")]
    assert titles == ["η = 5 %", "η = 30 %"]
    (several / "eta-0.1" / "no-solution.txt").write_text("why\n")
    assert main(["report", "results"]) == 0
    what = "a run that ended without a feasible solution (no-solution.txt says why)"
    note = f"note: results/eta-0.1 holds {what}, which is left out\n"
    assert capsys.readouterr().err == note


@pytest.mark.parametrize("command", ["report", "plot", "ask"])
def test_a_limit_that_is_damaged_is_refused_and_told(
    several: Path, command: str, capsys: Captured
) -> None:
    record = several / "eta-0.1" / "run.json"
    text = record.read_text()
    record.unlink()
    assert main([command, "results"]) == 2
    message = "results/eta-0.1 holds results that are not complete (run.json is missing)"
    assert capsys.readouterr().err == f"moanon: {message}; run it again with --force\n"
    record.symlink_to("run.json")  # to itself: nobody can read it
    assert main([command, "results"]) == 2
    message = "results/eta-0.1 cannot be read: Too many levels of symbolic links"
    assert capsys.readouterr().err == f"moanon: {message}\n"
    record.unlink()
    record.write_text(json.dumps({**json.loads(text), "data": []}))
    assert main([command, "results"]) == 2
    message = "results/eta-0.1/run.json is damaged: data must be an object. Got []"
    assert capsys.readouterr().err == f"moanon: {message}\n"
    assert not (several / "report.html").exists()


@pytest.mark.parametrize("change", ["gone", "other"])
def test_without_its_data_a_front_is_shown_without_group_sizes(
    results: Path, change: str, capsys: Captured
) -> None:
    if change == "gone":
        Path("people.csv").unlink()
    else:
        people_frame(seed=1).to_csv("people.csv", index=False)
    assert main(["report", "results"]) == 0
    why = {"gone": "people.csv", "other": "belongs to other data than"}[change]
    err = capsys.readouterr().err
    assert re.fullmatch(rf"note: group sizes are left out of the report: .*{why}.*\n", err)
    (tab,) = told_by(results / "report.html")
    assert tab["sizes"] is None
    assert why in tab["without"]
    assert str(Path.cwd()) not in (results / "report.html").read_text(encoding="utf-8")


def test_a_front_saved_from_python_has_no_export_command(results: Path, capsys: Captured) -> None:
    Path("saved").mkdir()
    Front.load(results).save("saved")
    assert main(["report", "saved"]) == 0
    assert capsys.readouterr().err == (
        "note: group sizes are left out of the report: it was saved from Python, without a "
        "config.yaml that says where its table is\n"
    )
    (tab,) = told_by(Path("saved/report.html"))
    assert tab["command"] is None


def test_a_changed_front_is_refused(results: Path, capsys: Captured) -> None:
    with (results / "front.csv").open("a") as file:
        file.write("99,1000,0.0\n")
    assert main(["report", "results"]) == 2
    assert "front.csv is not the file that" in capsys.readouterr().err
    assert not (results / "report.html").exists()


def test_what_holds_no_results_is_refused(config: str, capsys: Captured) -> None:
    Path("empty").mkdir()
    Path("half").mkdir()
    Path("half/checkpoint.npz").write_bytes(b"")
    for name, message in {
        "nowhere": "nowhere is not a folder; name one that moanon run has written",
        "empty": "empty holds no results: neither it nor a folder in it has a run.json",
        "half": "half holds an unfinished run; finish it with moanon run and --resume, or run it "
        "again with --force",
    }.items():
        assert main(["report", name]) == 2
        assert capsys.readouterr().err == f"moanon: {message}\n"


# -- several results -----------------------------------------------------------------------------


@pytest.fixture
def mondrian(config: str) -> Path:
    """A baseline on the same table."""
    assert main(["baseline", "mondrian", config, "--out", "mondrian", "--quiet"]) == 0
    return Path("mondrian")


def test_several_results_are_laid_over_one_another(
    several: Path, mondrian: Path, capsys: Captured
) -> None:
    lines = done(capsys, "report", "results", "mondrian", "--out", "all.html")
    assert lines[0].startswith("Wrote all.html ")
    assert [tab["title"] for tab in told_by(Path("all.html"))] == [
        "people, η = 5 %",
        "people, η = 10 %",
        "people, η = 30 %",
        "people-mondrian",
    ]
    comparisons = '"comparisons":[{"members":[0,1,2,3],"axes":{"x":"k","y":"loss"},"note":""}]'
    assert comparisons in Path("all.html").read_text(encoding="utf-8")


def test_a_page_of_several_results_needs_a_name(
    results: Path, mondrian: Path, capsys: Captured
) -> None:
    told = refused(capsys, "report", "results", "mondrian")
    assert told == "moanon: several results make one page; name its file with --out FILE\n"
    told = refused(capsys, "report", "results", "mondrian", "--out", "all.txt")
    assert told == "moanon: a report is a .html or .htm file. Got 'all.txt'\n"


def test_a_page_does_not_hold_the_order_of_a_sensitive_column(people: Path) -> None:
    ill = "{role: sensitive, kind: ordered, order: [flu, gout, cold, none, canary]}"
    Path("people.yaml").write_text(config_text({**AGE_AND_SIZE, "ill": ill}, generations=3))
    assert main(["run", "people.yaml", "--out", "results", "--quiet"]) == 0
    assert main(["report", "results"]) == 0
    shutil.copytree("results", "again")
    assert main(["report", "results", "again", "--out", "all.html"]) == 0
    written = Path("results/config.yaml").read_text()
    line = "    order: [flu, gout, cold, none, canary]\n"
    assert written.count(line) == 1
    (tab,) = told_by(Path("results/report.html"))
    assert tab["config"] == written.replace(line, "").replace(f"{Path.cwd()}/", "")
    for page in ("results/report.html", "all.html"):
        assert "canary" not in Path(page).read_text(encoding="utf-8")
