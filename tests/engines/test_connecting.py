"""Addresses that lead nowhere: nothing is made there, and what is missing is named."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest

from moanon.engines import read_table
from moanon.errors import DataError

pytest.importorskip("ibis", reason="ibis is not installed: pip install 'moanon[engines]'")


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb", "file"])
@pytest.mark.parametrize("path", ["people.db", "folder/people.db", ".people", "../people.db"])
def test_a_file_that_is_not_there_is_not_made(folder: Path, scheme: str, path: str) -> None:
    name = Path(path).name
    place = folder / "working"
    (place / "folder").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for address in (f"{scheme}://{path}", f"{scheme}://{place}/{path}"):
            with pytest.raises(DataError, match=rf"two slashes \({scheme}://{name}\)") as told:
                read_table(address, {"sex": "quasi"}, table="t")
            assert "\n" not in str(told.value)
    assert sorted(folder.rglob("*")) == [place, place / "folder"]


@pytest.mark.parametrize("path", ["people.db", "./people.db", "inner/people.db", "{0}/people.db"])
def test_relative_and_absolute_paths(folder: Path, path: str) -> None:
    (folder / "inner").mkdir()
    for file in ("people.db", "inner/people.db"):
        with sqlite3.connect(file) as connection:
            connection.execute("CREATE TABLE t(sex text)")
            connection.execute("INSERT INTO t VALUES ('f')")
        connection.close()
    assert read_table(f"sqlite://{path.format(folder)}", {"sex": "quasi"}, table="t").rows == 1


def test_a_database_that_ends_with_the_connection_holds_no_table() -> None:
    for address in ("sqlite://", "sqlite://:memory:", "duckdb://"):
        with pytest.raises(DataError, match="there is no table 't'"):
            read_table(address, {"sex": "quasi"}, table="t")


@pytest.mark.parametrize(
    ("address", "module", "told"),
    [
        ("mysql://reader@host/x", "MySQLdb", r"(mysqlclient|MySQLdb) .*'ibis-framework\[mysql\]'"),
        ("mssql://reader@host/x", "pyodbc", r"pyodbc .*'ibis-framework\[mssql\]'"),
        ("postgres://reader@host/x", "psycopg", r"psycopg .*'moanon\[engines\]'"),
        ("pyspark://", "pyspark", r"pyspark.* .*'moanon\[spark\]'"),
    ],
)
def test_a_driver_that_is_missing_is_named(
    address: str, module: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*sys.modules]:
        if name == module or name.startswith((f"{module}.", "ibis.backends.pyspark")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DataError, match=rf"the package {told}"):
        read_table(address, {"sex": "quasi"}, table="t")
