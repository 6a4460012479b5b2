"""Rows of a cluster: Spark on this machine, measured and released as the same rows of a file."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from moanon.data.domain import IntervalSpec, OrderedSpec
from moanon.data.table import Table
from moanon.engines import open_source, read_table
from moanon.engines.addresses import TableName
from moanon.engines.replacing import _InSpark
from moanon.errors import OutputError
from moanon.genome import Instance
from moanon.release import Release
from tests.engines.test_databases import COLUMNS, called, people, run, write_csv

pytest.importorskip("ibis", reason="ibis is not installed: pip install 'moanon[spark]'")
pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'moanon[spark]'")
if shutil.which("java") is None:
    if os.environ.get("CI"):
        raise RuntimeError("Java is not installed")
    pytest.skip("Java is not installed", allow_module_level=True)

ROLES = {
    "id": "identifying",
    "age": "quasi",
    "sex": "quasi",
    "ill": "sensitive",
    "note": "insensitive",
    "pay": "insensitive",
}
pytestmark = [
    pytest.mark.service,
    pytest.mark.filterwarnings("error::FutureWarning", "ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def source(folder: Path) -> dict[str, Any]:
    """Where Spark finds the rows."""
    import duckdb

    with duckdb.connect() as database:
        database.execute(
            "CREATE TABLE t(id INTEGER, age INTEGER, sex VARCHAR, ill VARCHAR, note VARCHAR, "
            "pay DOUBLE)"
        )
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", people())
        database.execute(f"COPY t TO '{folder}/people.parquet' (FORMAT PARQUET)")
    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        # A server that ends with the test: what Java compiles thoroughly is hardly run again.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    address = f"pyspark://?{urlencode(settings)}"
    query = f"SELECT * FROM parquet.`{folder}/people.parquet`"
    (folder / "working").mkdir()
    with chdir(folder / "working"):  # where Spark, which is started here, would put its tables
        open_source(address, query="SELECT 1 AS one")
    return {"source": address, "query": query, "order_by": ["id"], "missing": "category"}


@pytest.fixture(scope="module")
def tables(
    source: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Table, Table]]:
    """The same rows from Spark and from a file."""
    given = dict(source)
    csv = write_csv(tmp_path_factory.mktemp("file") / "people.csv")
    here = read_table(given.pop("source"), ROLES, **given)
    yield here, read_table(csv, ROLES, missing="category")
    here.store.database.connection.disconnect()  # type: ignore[attr-defined]


def releases(tables: tuple[Table, Table]) -> list[Release]:
    specs = {"age": IntervalSpec(10, (0, 99)), "sex": OrderedSpec(("f", "m"))}
    instances = [Instance.build(table, specs) for table in tables]
    genome = np.resize([1, 0, 0], instances[0].layout.bits)
    assert instances[0].cells.codes.tolist() == instances[1].cells.codes.tolist()
    assert instances[0].cells.counts.tolist() == instances[1].cells.counts.tolist()
    return [Release.of(instance, genome, k=8) for instance in instances]


def test_a_cluster_is_released_as_a_file_byte_for_byte_and_as_a_table(
    tmp_path: Path, folder: Path, tables: tuple[Table, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moanon.engines.databases._SPARK_ROWS", 60)  # so that there are parts
    here, there = releases(tables)
    certificates = [
        release.write(tmp_path / f"{name}.csv", shuffle=4)
        for name, release in (("here", here), ("there", there))
    ]
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()
    assert certificates[0].values == certificates[1].values
    assert 0 < certificates[0].suppressed < 200
    parts = here.write(f"{tmp_path}/parts.parquet/")
    assert parts.values == certificates[0].values
    assert list((folder / "working").iterdir()) == []  # until a table is asked for
    written = here.write_table("released_people")
    assert [each.name for each in (folder / "working").iterdir()] == ["spark-warehouse"]
    assert written.values == certificates[0].values
    names = here.instance.table.store.database.connection.list_tables()  # type: ignore[attr-defined]
    assert "released_people" in names
    (rows,) = here.instance.table.store.database.connection.raw_sql(  # type: ignore[attr-defined]
        "SELECT count(*) FROM released_people"
    ).collect()
    assert rows[0] == written.rows


def test_a_table_of_a_cluster_is_replaced_unless_it_is_read(
    source: dict[str, Any], tables: tuple[Table, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = tables[0].store.database.connection._session  # type: ignore[attr-defined]

    def count(name: str) -> int:
        return int(session.sql(f"SELECT count(*) FROM {name}").collect()[0][0])

    def release_of(**given: str) -> Release:
        table = read_table(source["source"], {"sex": "quasi"}, **given)
        return Release.of(Instance.build(table, {"sex": OrderedSpec(("f", "m"))}), [1])

    session.sql(f"CREATE TABLE own USING parquet AS {source['query']}")
    session.sql("CREATE TABLE earlier USING parquet AS SELECT 7 AS old")
    session.sql("CREATE VIEW seen AS SELECT * FROM own")
    release = release_of(table="own")
    for name in ("own", "OWN", "default.own"):
        with pytest.raises(OutputError, match="is the table that is read"):
            release.write_table(name, force=True)
    for other in (release_of(query="SELECT * FROM own"), release_of(table="seen")):
        with pytest.raises(OutputError, match="is not known, so that it is not replaced"):
            other.write_table("own", force=True)
    with pytest.raises(OutputError, match="there is a table 'Earlier' already"):
        release.write_table("Earlier")

    renaming = _InSpark.rename

    def failing(self: _InSpark, place: TableName, to: TableName) -> None:
        if place.name.startswith("moanon_") and to.name == "earlier" and count(str(place)) > 1:
            raise RuntimeError("the new table gets no name")
        renaming(self, place, to)

    with monkeypatch.context() as patch:
        patch.setattr(_InSpark, "rename", failing)
        with pytest.raises(OutputError, match="the new table gets no name"):
            release.write_table("earlier", force=True)
    assert (count("own"), count("earlier")) == (400, 1)
    release.write_table("earlier", force=True)
    assert (count("own"), count("earlier")) == (400, 400)
    names = [table.name for table in session.catalog.listTables() if not table.isTemporary]
    assert not [name for name in names if name.startswith("moanon_")]


@pytest.mark.slow
def test_a_cluster_is_checked_searched_and_released_by_the_commands(
    tmp_path: Path, source: dict[str, Any], tables: tuple[Table, Table]
) -> None:
    write_csv(tmp_path / "people.csv")
    data = {"cluster": source, "file": {"source": "people.csv", "missing": "category"}}
    for name, section in data.items():
        settings = COLUMNS.replace("results", f"results-{name}")
        text = f"name: {name}\ndata: {json.dumps(section)}{settings}"
        (tmp_path / f"{name}.yaml").write_text(text)
    assert run(tmp_path, "check", "cluster.yaml") == run(tmp_path, "check", "file.yaml")
    for name in data:
        run(tmp_path, "run", f"{name}.yaml", "--quiet")
        run(tmp_path, "export", f"results-{name}", "3", "--out", f"{name}.csv", "--keep-order")
    for file in ("results-{}/front.csv", "results-{}/solutions.json", "{}.csv"):
        one, other = ((tmp_path / file.format(name)).read_bytes() for name in data)
        assert one == other, file
    run(tmp_path, "export", "results-cluster", "3", "--to-table", "released_by_command")
    written, read = (
        json.loads((tmp_path / f"{name}.certificate.json").read_text())
        for name in ("released_by_command", "file.csv")
    )
    for key in ("rows", "suppressed", "k", "groups", "privacy", "l", "closeness", "loss"):
        assert written[key] == read[key], key
    code, told = called(
        tmp_path, "export", "results-cluster", "3", "--to-table", "released_by_command"
    )
    assert code == 2
    assert "exists already" in told or "there is a table" in told
