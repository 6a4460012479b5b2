"""``moanon hierarchy`` writes trees that configurations read; ``apply`` needs no original."""

from __future__ import annotations

from pathlib import Path

import pytest

from moanon.cli import main
from moanon.data.hierarchy import Hierarchy

ROWS = [
    "10115;01.02.1950;1.200,50;Ulm",
    "10117;17.05.1961;900,00;Bonn",
    "20095;03.12.1988;2.000,00;Ulm",
]


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("plz;geb;miete;ort\n" + "\n".join(ROWS * 4) + "\n", encoding="latin-1")


@pytest.mark.parametrize(
    ("words", "leaf", "label"),
    [
        ("plz --mask right", "10115", "101**"),
        ("plz", "10115", "1011*"),
        ("geb --dates month,year --format %d.%m.%Y", "01.02.1950", "[1950-02-01..1950-02-28]"),
        ("miete --intervals 500,1000 --decimal , --thousands .", "1.200,50", "[1000-2000)"),
        ("ort --group West=Bonn --rest Rest", "Ulm", "Rest"),
        ("ort --frequency 2", "Ulm", "*"),
    ],
)
@pytest.mark.parametrize("out", ["h.yaml", "h.csv"])
def test_rules_become_files(words: str, leaf: str, label: str, out: str) -> None:
    assert main(["hierarchy", "t.csv", *words.split(), "--out", out]) == 0
    tree = Hierarchy.read(out)
    assert leaf in tree.leaves
    assert label in tree.all_names


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("plz --mask up", "the rule must be masked from the right or the left"),
        ("plz --intervals 5,7", "column 'plz': intervals must nest"),
        ("geb --dates month --format %Y/%m", "the format '%Y/%m' fits none of its 3 values"),
        ("plz --mask right --frequency 3", "Got the keys mask, frequency"),
        ("ort", "no rule suggests itself for the column 'ort'"),
        ("plz --mask right --decimal ,", "a notation is for dates and intervals only"),
        ("nix --mask right", "t.csv has no column 'nix'"),
        ("ort --group West", "--group takes NAME=VALUE,VALUE. Got 'West'"),
        ("plz --mask right --sheet s", "a sheet is named for .xlsx files only"),
    ],
)
def test_what_cannot_be_made_is_said_in_a_sentence(
    words: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hierarchy", "t.csv", *words.split(), "--out", "h.yaml"]) == 2
    assert sentence in capsys.readouterr().err
    assert not Path("h.yaml").exists()


def test_rules_go_all_the_way_and_new_rows_need_no_original(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("t.yaml").write_text(
        """
data: {source: t.csv, encoding: latin-1, decimal: ",", thousands: "."}
columns:
  plz: {role: quasi, kind: tree, hierarchy: {mask: right}, weight: 2}
  geb: {role: quasi, kind: tree, format: "%d.%m.%Y", hierarchy: {dates: [year, decade]}}
  miete: {role: quasi, kind: interval, granularity: 500, range: [1000, 1500], outside: clamp}
  ort: {role: quasi, kind: tree, hierarchy: {frequency: 2}}
output: {plots: false, report: false}
""",
        encoding="utf-8",
    )
    assert main(["check", "t.yaml"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "columns have weights (plz 2), so the preset minimizes the weighted loss" in told
    assert main(["run", "t.yaml", "--quiet"]) == 0
    assert main(["export", "results/t", "1", "--out", "r.csv", "--shuffle", "1"]) == 0
    Path("t.csv").rename("new.csv")
    assert main(["apply", "results/t", "1", "new.csv", "--out", "n.csv", "--shuffle", "1"]) == 0
    assert Path("n.csv").read_bytes() == Path("r.csv").read_bytes()


def test_a_hierarchy_never_takes_the_place_of_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("place\nOslo\nRome\n")
    (tmp_path / "link.csv").symlink_to(table)
    for out in ("t.csv", "link.csv"):
        assert (
            main(["hierarchy", "t.csv", "place", "--mask", "right", "--out", out, "--force"]) == 2
        )
        assert capsys.readouterr().err == f"moanon: {out} is the table itself; name another file\n"
    assert table.read_text() == "place\nOslo\nRome\n"


def test_groups_must_name_every_value_or_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("place\nOslo\nRome\nBari\n")
    command = ["hierarchy", "t.csv", "place", "--group", "N=Oslo", "--out", "h.yaml"]
    assert main(command) == 2
    assert capsys.readouterr().err == (
        "moanon: column 'place': no group names the value 'Bari' and 1 more; put each into a "
        "group, or say what the rest is called (rest)\n"
    )
    assert main([*command, "--rest", "S"]) == 0
