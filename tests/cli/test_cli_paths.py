"""Names that no file can have: one sentence, in every command and for every option."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from moanon.cli import main
from tests.cli.commands import Captured, refused

CONFIG = """\
data: {source: people.csv}
columns:
  age: {role: quasi, kind: interval}
  size: {role: quasi, kind: ordered, order: [S, M, L, XL]}
  ill: {role: sensitive}
search: {algorithm: exhaustive}
output: {plots: false, report: false}
"""
_TREE = "columns.size={role: quasi, kind: tree, hierarchy: BAD.yaml}"

#: BAD stands for the name.
COMMANDS = [
    ["run", "BAD.yaml"],
    ["run", "people.yaml", "--out", "BAD"],
    ["run", "people.yaml", "--out", "BAD/below", "--resume"],
    ["run", "people.yaml", "--out", "BAD", "--force"],
    ["run", "people.yaml", "--eta", "0", "--eta", "0.1", "--out", "BAD"],
    ["run", "people.yaml", "--set", "output.dir=BAD"],
    ["run", "people.yaml", "--set", "data.source=BAD.csv"],
    ["run", "people.yaml", "--set", _TREE],
    ["check", "BAD.yaml"],
    ["check", "people.yaml", "--set", "output.dir=BAD"],
    ["check", "people.yaml", "--set", "data.source=BAD.csv"],
    ["check", "people.yaml", "--set", _TREE],
    ["init", "BAD.csv"],
    ["init", "BAD"],
    ["init", "people.csv", "--out", "BAD.yaml"],
    ["ask", "BAD", "--min-k", "2"],
    ["export", "BAD", "1", "--out", "r.csv"],
    ["export", "results", "1", "--out", "BAD.csv"],
    ["export", "results", "1", "--out", "BAD/r.csv", "--force"],
    ["export", "results", "1", "--out", "r.csv", "--data", "BAD.csv"],
    ["apply", "BAD", "1", "people.csv", "--out", "r.csv"],
    ["apply", "results", "1", "BAD.csv", "--out", "r.csv"],
    ["apply", "results", "1", "people.csv", "--out", "BAD.csv"],
    ["apply", "results", "1", "people.csv", "--out", "r.csv", "--data", "BAD.csv"],
    ["plot", "BAD"],
    ["plot", "results", "--out", "BAD", "--format", "png"],
    ["report", "BAD"],
    ["report", "results", "--out", "BAD.html", "--force"],
    ["diagnose", "BAD.csv"],
    ["diagnose", "BAD.yaml"],
    ["diagnose", "people.csv", "--subset", "age", "--k", "2", "--list-rows", "BAD.csv"],
    ["diagnose", "people.csv", "--subset", "age", "--k", "2", "--plot", "BAD/p.png"],
    ["diagnose", "people.csv", "--t", "0.2", "--rule", "tree", "--hierarchy", "BAD.yaml"],
    ["measure", "BAD.csv", "people.csv"],
    ["measure", "people.csv", "BAD.csv"],
    ["measure", "people.csv", "people.csv", "--config", "BAD.yaml"],
    ["measure", "people.csv", "people.csv", "--hierarchy", "size=BAD.yaml"],
    ["compare", "BAD#1", "results#1"],
    ["compare", "results#1", "BAD.csv"],
    ["compare", "results#1", "results#1", "--original", "BAD.csv"],
    ["compare", "results#1", "results#1", "--plot", "BAD.png"],
    ["compare", "people.csv", "people.csv", "--original", "people.csv", "--config", "BAD.yaml"],
]


@pytest.fixture
def results(people: Path) -> None:
    Path("people.yaml").write_text(CONFIG)
    assert main(["run", "people.yaml", "--out", "results", "--quiet"]) == 0


def test_a_name_that_is_too_long_is_refused_everywhere(results: None, capsys: Captured) -> None:
    for command in COMMANDS:
        words = [word.replace("BAD", "x" * 300) for word in command]
        said = refused(capsys, *words)
        assert re.search("longer than the system allows|File name too long", said), command


def test_a_nul_in_a_name_is_refused_everywhere(results: None, capsys: Captured) -> None:
    for command in COMMANDS:
        words = [word.replace("BAD", "x\0x") for word in command]
        said = refused(capsys, *words)
        assert re.search("cannot be the path|embedded null|U[+]0000 is not", said), command


def test_a_folder_of_results_that_is_not_utf8_is_refused_before_the_search(
    results: None, capsys: Captured
) -> None:
    assert refused(capsys, "run", "people.yaml", "--out", "caf\udce9") == (
        "moanon: the folder 'caf\\udce9' has a name that is not UTF-8, and config.yaml in it could "
        "not name it; name another\n"
    )


def test_a_folder_of_results_with_a_nul_is_refused_before_the_search(
    results: None, capsys: Captured
) -> None:
    said = refused(capsys, "check", "people.yaml", "--set", r'output.dir="x\0x"')
    assert said == (
        r"moanon: dir must be the path of a folder, and 'x\x00x' cannot be the path of a file "
        "(--set: output.dir)\n"
    )
