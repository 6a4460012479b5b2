"""No temporary file holds a column that points to a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from moanon.cli import main
from moanon.engines import open_source, read_table
from moanon.engines.files import RowsInFiles
from moanon.errors import DataError
from tests.release.tables import one_database

#: A blank line, so that the strict reader writes the file again.
PEOPLE = "name,age,note,ill\n\n" + "".join(
    f"Zq{i}name,{20 + i % 5},Zq{i}note,i{i % 3}\n" for i in range(40)
)
ROLES = {"name": "identifying", "age": "quasi", "ill": "sensitive"}
CONFIG = """
data: {source: people.csv, memory: 100MB}
columns:
  name: {role: identifying}
  age: {role: quasi, kind: interval, granularity: 1, range: [20, 24]}
  ill: {role: sensitive}
problem: {preset: k-suppression, eta: 0.1}
"""


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("people.yaml").write_text(CONFIG)
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


def copied(store: object) -> str:
    assert isinstance(store, RowsInFiles)
    (copy,) = store.session.folder.glob("rewritten_*.csv")
    return copy.read_text().splitlines()[0]


def test_identifying_and_undeclared_columns_are_not_copied(people: Path) -> None:
    table = read_table(people, ROLES, memory="100MB")
    assert copied(table.store) == '"age","ill"'
    assert (table.identifying, table.undeclared) == (("name",), ("note",))
    assert table.rows == 40


def test_a_column_that_is_asked_about_is_copied(people: Path) -> None:
    table = read_table(people, ROLES, memory="100MB", needed=["name"])
    assert copied(table.store) == '"name","age","ill"'
    assert table.column("name").values[:2] == ("Zq0name", "Zq10name")


def test_a_column_that_was_not_copied_cannot_be_asked_about(people: Path) -> None:
    table = read_table(people, ROLES, memory="100MB")
    with pytest.raises(DataError, match="no copy is made of the identifying column 'name'; read"):
        table.column("name")


def test_an_identifying_column_that_is_not_there_is_told(people: Path) -> None:
    with pytest.raises(DataError, match="has no column 'nick'"):
        read_table(people, {**ROLES, "nick": "identifying"}, memory="100MB")


def test_rows_in_memory_leave_identifying_columns_behind(people: Path) -> None:
    table = read_table(people, ROLES, memory="100MB")
    ages = table.column("age").codes
    some = table.only(ages == ages[0])
    assert (some.rows, list(some.columns)) == (8, ["age", "ill"])


def test_of_rows_that_differ_only_what_is_counted_is_staged(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moanon.engines.relations._SAMPLE", 3)
    roles = {**ROLES, "note": "insensitive"}
    store = read_table(people, roles, memory="100MB").store
    assert isinstance(store, RowsInFiles)
    (staged,) = store.session.folder.glob("staged_*.parquet")
    assert list(open_source(staged).store.columns) == ["c0", "c2"]  # of those copied: age, ill


@pytest.mark.parametrize("known", [["--config", "people.yaml"], ["--quasi", "age"]])
def test_a_released_file_is_measured_by_an_identifying_key(
    people: Path, known: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [line.split(",") for line in PEOPLE.split("\n")[2:-1]]
    released = [f"{name},{age},{ill}" for name, age, _, ill in reversed(rows)]
    Path("released.csv").write_text("\n".join(["name,age,ill", *released]) + "\n")
    command = ["measure", str(people), "released.csv", *known, "--sensitive", "ill"]
    with one_database():
        assert main([*command, "--key", "name"]) == 0
    assert "key" in capsys.readouterr().out
