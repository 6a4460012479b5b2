"""The command ``moanon frontier``, and ``export --bucketize``."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from moanon.cli import main
from tests.cli.commands import Captured, done, refused
from tests.search.people import config_text


@pytest.fixture
def results(people: Path) -> str:
    """Mondrian at two k, on a table with a sensitive column."""
    Path("people.yaml").write_text(config_text(problem="{preset: k-suppression}"))
    command = ["baseline", "mondrian", "people.yaml", "--k", "2", "--k", "10", "--quiet"]
    assert main([*command, "--out", "mondrian"]) == 0
    return "mondrian"


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_all_solutions_and_their_twins_are_placed(results: str, capsys: Captured) -> None:
    lines = done(capsys, "frontier", results, "--bucketize", "--queries", 50, "--out", "plane")
    found = rows("plane/frontier.csv")
    assert [(row["source"], row["id"], row["method"]) for row in found] == [
        (results, number, method)
        for number in ("1", "2")
        for method in ("generalized", "bucketized")
    ]
    for row in found:
        assert 0 <= float(row["p_loss"]) <= 0.6932
        assert float(row["u_loss"]) >= 0
        assert float(row["query_error"]) >= 0
    assert any(row["efficient"] == "True" for row in found)
    assert any("k does not protect against presence disclosure" in line for line in lines)
    assert lines[-1] == " Wrote plane: frontier.csv, frontier.png, frontier.html"
    page = Path("plane/frontier.html").read_text(encoding="utf-8")
    assert "k does not protect against presence disclosure" in page
    assert Path("plane/frontier.png").read_bytes().startswith(b"\x89PNG")


def test_single_solutions_are_placed(results: str, capsys: Captured) -> None:
    assert main(["frontier", f"{results}#2", f"{results}#1", "--out", "plane"]) == 0
    rows = Path("plane/frontier.csv").read_text().splitlines()[1:]
    assert [row.split(",")[:2] for row in rows] == [[results, "1"], [results, "2"]]
    assert main(["frontier", f"{results}#1", f"{results}#1", "--out", "twice"]) == 2
    assert f"{results}#1 is named twice" in capsys.readouterr().err
    assert main(["frontier", f"{results}#99999", "--out", "none"]) == 2
    assert "99999" in capsys.readouterr().err


def test_the_same_seed_gives_the_same_table(results: str, capsys: Captured) -> None:
    for out in ("one", "other"):
        done(capsys, "frontier", results, "--queries", 20, "--seed", 7, "--out", out)
    assert Path("one/frontier.csv").read_bytes() == Path("other/frontier.csv").read_bytes()


def test_a_released_file_lies_where_its_solution_lies(results: str, capsys: Captured) -> None:
    done(capsys, "export", results, 1, "--out", "release.csv")
    done(
        capsys,
        *("frontier", results, "release.csv", "--original", "people.csv"),
        *("--queries", 20, "--out", "plane"),
    )
    found = rows("plane/frontier.csv")
    numbers = ("k", "groups", "suppressed", "p_loss", "u_loss", "query_error")
    assert [found[-1]["source"], found[-1]["id"]] == ["release.csv", ""]
    for name in numbers:
        assert float(found[-1][name]) == pytest.approx(float(found[0][name]), rel=1e-12)


def test_released_files_alone_need_to_be_explained(results: str, capsys: Captured) -> None:
    done(capsys, "export", results, 1, "--out", "release.csv")
    explained = ("--original", "people.csv", "--config", "people.yaml", "--out", "plane")
    done(capsys, "frontier", "release.csv", *explained, "--queries", 0)
    assert [row["query_error"] for row in rows("plane/frontier.csv")] == [""]
    error = refused(capsys, "frontier", "release.csv", "--out", "p")
    assert "a released file is measured against its original" in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--min-support", "0"), "min_support must be in (0, 1]. Got 0.0"),
        (("--min-support", "1.5"), "min_support must be in (0, 1]. Got 1.5"),
        (("--max-populations", "1"), "more than 1 populations have a share of 0.05"),
        (("--dimensions", "9"), "the quasi-identifiers of the table. Got 9"),
        (("--selectivity", "2"), "selectivity must be in (0, 1]. Got 2.0"),
        (("--sensitive", "nobody"), "nobody"),
        (("--ancestors", "age"), "--ancestors must be COLUMN=5,10,20. Got 'age'"),
        (("--ancestors", "nobody=2"), "Got 'nobody'"),
        (("--seed", "-1"), "seed must be a whole number, at least 0. Got -1"),
    ],
)
def test_bad_input_is_refused(
    results: str, capsys: Captured, words: tuple[str, ...], message: str
) -> None:
    assert message in refused(capsys, "frontier", results, *words, "--out", "plane")


def test_a_table_without_a_sensitive_column_is_refused(people: Path, capsys: Captured) -> None:
    text = config_text(problem="{preset: k-suppression}").replace(
        "role: sensitive", "role: insensitive"
    )
    Path("people.yaml").write_text(text)
    done(capsys, "baseline", "mondrian", "people.yaml", "--k", "2", "--quiet", "--out", "mondrian")
    error = refused(capsys, "frontier", "mondrian", "--out", "plane")
    assert "the table has none; declare one, or name one with --sensitive" in error
    assert not Path("plane").exists()


def test_a_folder_without_results_is_refused(people: Path, capsys: Captured) -> None:
    Path("empty").mkdir()
    assert "empty holds no results" in refused(capsys, "frontier", "empty")
    assert "there is no results folder or released file gone" in refused(capsys, "frontier", "gone")


def test_what_is_there_is_replaced_only_with_force(results: str, capsys: Captured) -> None:
    done(capsys, "frontier", results, "--queries", 0, "--out", "plane")
    error = refused(capsys, "frontier", results, "--queries", 0, "--out", "plane")
    assert "exists already; it is replaced only with --force" in error
    done(capsys, "frontier", results, "--queries", 0, "--out", "plane", "--force")


def test_a_solution_is_exported_as_buckets(results: str, capsys: Captured) -> None:
    lines = done(capsys, "export", results, 2, "--bucketize", "--out", "r.csv")
    assert any("k does not protect against presence disclosure" in line for line in lines)
    (record,) = Path(results, "releases").iterdir()
    placed = "frontier", results, "--queries", 0, "--out", "plane"
    done(capsys, *placed)
    p_loss = float(rows("plane/frontier.csv")[1]["p_loss"])
    (models,) = json.loads(record.read_text())["columns"].values()
    assert models["t_js"] == pytest.approx(p_loss, rel=1e-9)
    assert "--bucketize writes released rows only, into files" in refused(
        capsys, "export", results, 2, "--bucketize", "--spreadsheet-safe", "--out", "s.csv"
    )


def test_privacy_loss_and_utility_loss_are_objectives(people: Path, capsys: Captured) -> None:
    problem = "{preset: zero-suppression, objectives: [p_loss, u_loss], min_support: 0.1}"
    Path("people.yaml").write_text(config_text(problem=problem))
    done(capsys, "run", "people.yaml", "--out", "run", "--quiet", "--set", "output.plots=false")
    found = rows("run/front.csv")
    assert {"t_js", "u_loss"} <= set(found[0])
    done(capsys, "frontier", "run", "--queries", 0, "--out", "plane")
    placed = rows("plane/frontier.csv")
    assert all(row["efficient"] == "True" for row in placed)
    for row, place in zip(found, placed, strict=True):
        assert float(row["t_js"]) == float(place["p_loss"])
        assert float(row["u_loss"]) == float(place["u_loss"])
