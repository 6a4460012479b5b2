"""A database that changed since the run is noticed, and what is kept of it cannot be guessed."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest

from moanon.config import Config
from moanon.errors import ConfigError, SearchError
from moanon.experiment import Experiment, plan
from moanon.experiment.showing import read_plane
from tests.engines.test_databases import called, run

pytest.importorskip("ibis", reason="ibis is not installed: pip install 'moanon[engines]'")

CONFIG = """
name: people
data: {source: "sqlite://people.db", table: people}
columns:
  age: {role: quasi, kind: interval, granularity: 10, range: [0, 99]}
  sex: {role: quasi, kind: ordered, order: [f, m]}
  ill: {role: sensitive}
  note: {role: insensitive}
problem: {preset: k-suppression, eta: 0.1}
search: {evaluations: 300}
output: {dir: results, plots: false, report: false}
"""
ROWS = [(n, 10 * (n % 10) + n % 7, "fm"[n % 2], "abc"[n % 3], f"note {n}") for n in range(200)]


def change(*statements: str) -> None:
    connection = sqlite3.connect("people.db", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def write_rows(rows: list[tuple[Any, ...]]) -> None:
    connection = sqlite3.connect("people.db")
    with connection:
        connection.execute("DROP TABLE IF EXISTS people")
        connection.execute("CREATE TABLE people(id integer, age integer, sex text, ill text, note)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
    connection.close()


@pytest.fixture
def database(folder: Path) -> Path:
    """A folder with a database and what is to be done with it."""
    write_rows(ROWS)
    (folder / "people.yaml").write_text(CONFIG)
    return folder


@pytest.fixture
def ended(database: Path) -> Path:
    """The same, and the run has ended."""
    run(database, "run", "people.yaml", "--quiet")
    return database


#: The rows 0 and 1 are of different cells, have other values in every column, and swap one of them.
SWAP = "UPDATE people SET {0} = CASE id WHEN 0 THEN '{1}' ELSE '{2}' END WHERE id IN (0, 1)"


@pytest.mark.parametrize(
    "statement",
    [SWAP.format("ill", "b", "a"), SWAP.format("sex", "m", "f"), SWAP.format("age", 11, 0)],
)
def test_a_swap_that_leaves_all_counts_of_columns_is_noticed(ended: Path, statement: str) -> None:
    change(statement)
    code, told = called(ended, "export", "results", "2", "--out", "x.csv")
    assert code == 2
    assert "belongs to other data than sqlite://people.db people holds now" in told
    assert len(told.strip().splitlines()) == 1
    assert not list(ended.glob("x.csv*"))


def test_another_order_of_the_rows_is_no_change(ended: Path) -> None:
    run(ended, "export", "results", "2", "--out", "before.csv", "--shuffle", "1")
    write_rows(ROWS[::-1])
    run(ended, "export", "results", "2", "--out", "after.csv", "--shuffle", "1")
    assert (ended / "before.csv").read_bytes() == (ended / "after.csv").read_bytes()


def test_insensitive_columns_are_not_compared(ended: Path) -> None:
    change("UPDATE people SET note = 'other'")
    run(ended, "export", "results", "2", "--out", "x.csv")
    assert "note 1" not in (ended / "x.csv").read_text()


def plain_digests() -> list[bytes]:
    """The digests of the table without a key."""
    instance = Config.load("people.yaml").instance()
    both = instance.digest, instance.table.digest
    return [each.removeprefix("counts:").encode() for each in both]


def content_of(path: Path) -> bytes:
    """What a file holds, also where it is compressed."""
    if path.suffix != ".npz":
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return b"".join(map(archive.read, archive.namelist()))


@pytest.mark.parametrize("recoding", ["global", "local"])
def test_no_file_holds_a_digest_that_guesses_can_be_tested_by(
    database: Path, recoding: str
) -> None:
    text = CONFIG.replace("problem: {", f"problem: {{recoding: {recoding}, ")
    text = text.replace("report: false", "report: true")
    (database / "people.yaml").write_text(text)
    run(database, "run", "people.yaml", "--quiet")
    data = json.loads((database / "results" / "run.json").read_text())["data"]
    assert {len(data[name]) for name in ("key", "digest", "cells_digest")} == {64}
    files = [path for path in database.glob("results/**/*") if path.is_file()]
    written = {path.name: content_of(path) for path in files}
    digests = plain_digests()
    assert not [name for name in written for each in digests if each in written[name]]
    assert data["key"].encode() not in written["report.html"]
    run(database, "export", "results", "2", "--out", "x.csv")
    run(database, "run", "people.yaml", "--quiet", "--out", "again", "--set", "output.report=false")
    again = json.loads((database / "again" / "run.json").read_text())["data"]
    assert again["key"] != data["key"]
    assert again["digest"] != data["digest"]


def test_a_folder_of_an_earlier_version_is_compared_by_the_counts_of_columns(ended: Path) -> None:
    path = ended / "results" / "run.json"
    record = json.loads(path.read_text())
    for name in ("key", "cells_digest"):
        record["data"].pop(name)
    record["data"]["digest"] = plain_digests()[1].decode()
    path.write_text(json.dumps(record))
    run(ended, "export", "results", "2", "--out", "x.csv")
    change("UPDATE people SET ill = 'c' WHERE id = 0")
    code, told = called(ended, "export", "results", "2", "--out", "y.csv")
    assert code == 2
    assert "belongs to other data" in told


def test_a_run_is_not_resumed_on_other_cells(database: Path) -> None:
    (config,) = plan([database / "people.yaml"], out="results")
    Experiment.prepare(config).run(interrupted=lambda: True)
    checkpoint = content_of(database / "results" / "checkpoint.npz")
    digests = plain_digests()
    assert not [each for each in digests if each in checkpoint]
    change(SWAP.format("ill", "b", "a"))
    with pytest.raises(SearchError, match="it belongs to other data"):
        Experiment.prepare(config, resume=True)
    write_rows(ROWS)
    assert Experiment.prepare(config, resume=True).run().front is not None


def test_another_limit_is_added_to_results_of_the_same_rows(ended: Path) -> None:
    run(ended, "run", "people.yaml", "--quiet", "--eta", "0.2", "--eta", "0.1")
    change(SWAP.format("ill", "b", "a"))
    code, told = called(ended, "run", "people.yaml", "--quiet", "--eta", "0.3")
    assert code == 2
    assert "it belongs to other data" in told


def test_results_of_one_database_are_laid_over_one_another(ended: Path) -> None:
    run(ended, "run", "people.yaml", "--quiet", "--out", "second", "--seed", "2")
    places = [Path("results"), Path("second")]
    assert len(read_plane(places).runs) == 2
    write_rows(ROWS[1:])  # none of the two can be compared with it any more
    with pytest.raises(ConfigError, match="are of different tables"):
        read_plane(places)
    run(ended, "run", "people.yaml", "--quiet", "--out", "third")
    with pytest.raises(ConfigError, match="are of different tables"):
        read_plane([Path("results"), Path("third")])
