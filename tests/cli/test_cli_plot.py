"""The command ``moanon plot``: what it draws, where, and what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moanon.cli import main
from tests.cli.commands import Captured, done, refused
from tests.search.people import AGE_AND_SIZE, config_text, people_frame


@pytest.fixture
def results(people: Path) -> Path:
    """A folder with one finished run, and its data beside it."""
    Path("people.yaml").write_text(
        config_text(AGE_AND_SIZE, problem="{preset: k-suppression, eta: 0.1}")
    )
    assert main(["run", "people.yaml", "--out", "results", "--quiet"]) == 0
    return Path("results")


#: What is in a folder before anything is drawn.
RESULTS_OF_A_SEARCH = (
    "config.yaml",
    "domains.json",
    "front.csv",
    "run.json",
    "solutions.json",
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_figures_go_to_the_results(results: Path, capsys: Captured) -> None:
    assert main(["plot", "results"]) == 0
    stems = ("front", "magnified", "groups", "convergence")
    files = [f"{stem}.{ending}" for stem in stems for ending in ("png", "svg")]
    assert names(results / "plots") == sorted(files)
    assert capsys.readouterr().out == f" Wrote results/plots: {', '.join(files)}\n"


def test_other_place_and_format(results: Path, capsys: Captured) -> None:
    assert main(["plot", "results", "--out", "figures", "--format", "svg", "--quiet"]) == 0
    assert names(Path("figures")) == ["convergence.svg", "front.svg", "groups.svg", "magnified.svg"]
    assert not (results / "plots").exists()
    assert capsys.readouterr().out == ""


def test_several_limits_are_compared(results: Path) -> None:
    run = ["run", "people.yaml", "--eta", "0", "--eta", "0.1", "--out", "several", "--quiet"]
    assert main(run) == 0
    assert main(["plot", "several", "--format", "png"]) == 0
    assert names(Path("several/plots")) == ["etas.png"]
    for folder in ("eta-0.0", "eta-0.1"):
        assert "front.png" in names(Path("several") / folder / "plots")


def test_several_limits_elsewhere(results: Path) -> None:
    run = ["run", "people.yaml", "--eta", "0", "--eta", "0.1", "--out", "several", "--quiet"]
    assert main(run) == 0
    assert main(["plot", "several", "--format", "png", "--out", "figures"]) == 0
    assert names(Path("figures")) == ["eta-0.0", "eta-0.1", "etas.png"]


def test_without_the_data_group_sizes_are_left_out(results: Path, capsys: Captured) -> None:
    Path("people.csv").unlink()
    assert main(["plot", "results", "--format", "png"]) == 0
    assert names(results / "plots") == ["convergence.png", "front.png", "magnified.png"]
    told = capsys.readouterr().err
    assert told.startswith("note: group sizes are left out, because ")
    assert "people.csv" in told


def test_with_other_data_too(results: Path, capsys: Captured) -> None:
    people_frame(seed=1).to_csv("people.csv", index=False)
    assert main(["plot", "results", "--format", "png"]) == 0
    assert names(results / "plots") == ["convergence.png", "front.png", "magnified.png"]
    assert "belongs to other data" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ("nowhere", "nowhere is not a folder; name one that moanon run has written"),
        ("empty", "empty holds no results: neither it nor a folder in it has a run.json"),
    ],
)
def test_a_folder_without_results_is_refused(
    named: str, reason: str, results: Path, capsys: Captured
) -> None:
    Path("empty").mkdir()
    assert main(["plot", named]) == 2
    assert capsys.readouterr().err == f"moanon: {reason}\n"


def test_a_changed_front_is_refused(results: Path, capsys: Captured) -> None:
    with (results / "front.csv").open("a") as file:
        file.write("9,9,9\n")
    assert main(["plot", "results"]) == 2
    assert "front.csv is not the file that results/run.json belongs to" in capsys.readouterr().err
    assert not (results / "plots").exists()


def test_an_incomplete_folder_is_refused(results: Path, capsys: Captured) -> None:
    (results / "solutions.json").unlink()
    assert main(["plot", "results"]) == 2
    assert "solutions.json cannot be read" in capsys.readouterr().err


def test_an_unknown_format_is_refused(results: Path, capsys: Captured) -> None:
    assert main(["plot", "results", "--format", "pdf"]) == 2
    told = "moanon: a format must be one of png, svg. Got 'pdf'\n"
    assert capsys.readouterr().err == told


def test_a_place_that_is_a_file_is_refused(results: Path, capsys: Captured) -> None:
    (results / "plots").write_text("mine")
    assert main(["plot", "results"]) == 2
    assert "results/plots cannot be made: File exists" in capsys.readouterr().err
    assert (results / "plots").read_text() == "mine"


def test_results_themselves_stay_as_they_are(results: Path) -> None:
    before = {path: path.read_bytes() for path in results.iterdir()}
    assert main(["plot", "results", "--format", "png", "--quiet"]) == 0
    assert {path: path.read_bytes() for path in before} == before
    assert json.loads((results / "run.json").read_text())["name"] == "people"


# -- several results -----------------------------------------------------------------------------


@pytest.fixture
def mondrian(results: Path) -> Path:
    """A baseline on the same table."""
    assert main(["baseline", "mondrian", "people.yaml", "--out", "mondrian", "--quiet"]) == 0
    return Path("mondrian")


def test_several_results_make_one_figure(mondrian: Path, capsys: Captured) -> None:
    assert done(capsys, "plot", "results", "mondrian", "--out", "both.svg") == [" Wrote both.svg"]
    assert names(Path("results")) == sorted([*RESULTS_OF_A_SEARCH])
    assert "<svg" in Path("both.svg").read_text()


def test_a_figure_is_replaced_with_force_only(mondrian: Path, capsys: Captured) -> None:
    Path("both.png").write_text("mine")
    told = refused(capsys, "plot", "results", "mondrian", "--out", "both.png")
    assert told == "moanon: both.png exists already; it is replaced only with --force\n"
    done(capsys, "plot", "results", "mondrian", "--out", "both.png", "--force")
    assert Path("both.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "several results make one figure; name its file with --out FILE"),
        (["--out", "both"], "a plot is a .png, .svg or .pdf file. Got 'both'"),
        (["--out", "a.svg", "--format", "svg"], "the ending of FILE says the format"),
    ],
)
def test_one_figure_goes_to_one_file(
    options: list[str], reason: str, mondrian: Path, capsys: Captured
) -> None:
    assert reason in refused(capsys, "plot", "results", "mondrian", *options)


def test_a_figure_replaces_no_file_of_the_results(mondrian: Path, capsys: Captured) -> None:
    Path("both.png").hardlink_to("people.csv")
    told = refused(capsys, "plot", "results", "mondrian", "--out", "both.png", "--force")
    assert "both.png is not replaced: it was read for" in told
