"""Parquet: every type that can be read, names as they are, rows in order."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moanon.engines import open_source
from moanon.errors import DataError
from tests.data.reading import CELL, Cells, columns, names, refusal, rows, texts, write


def copy_to_parquet(path: Path, select: str) -> Path:
    with duckdb.connect(":memory:") as database:
        database.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return path


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("12::TINYINT", "12"),
        ("12::UBIGINT", "12"),
        ("18446744073709551615::UBIGINT", "18446744073709551615"),
        ("2.0::DOUBLE", "2"),
        ("2.5::DOUBLE", "2.5"),
        ("0.1::FLOAT", "0.1"),
        ("'nan'::DOUBLE", None),
        ("true", "True"),
        ("12.50::DECIMAL(10,2)", "12.50"),
        ("DATE '2020-02-29'", "2020-02-29"),
        ("TIMESTAMP '2020-01-01 00:00:00'", "2020-01-01"),
        ("TIMESTAMP '2020-01-01 05:00:00.1200'", "2020-01-01T05:00:00.12"),
        ("TIMESTAMP_NS '2020-01-01 05:00:00.000000001'", "2020-01-01T05:00:00.000000001"),
        ("TIMESTAMPTZ '2020-01-01 00:00:00+02'", "2019-12-31T22:00:00+00:00"),
        ("TIME '01:02:03.5'", "01:02:03.5"),
        ("'x'::ENUM('x', 'y')", "x"),
        ("'00000000-0000-0000-0000-000000000001'::UUID", "00000000-0000-0000-0000-000000000001"),
        ("'NULL'", "NULL"),
        ("''", None),
        ("NULL::VARCHAR", None),
        ("NULL::DOUBLE", None),
    ],
)
def test_parquet_types(tmp_path: Path, literal: str, expected: str | None) -> None:
    path = copy_to_parquet(tmp_path / "t.parquet", f"SELECT {literal} AS x")
    column = columns(open_source(path))[0]
    assert texts(column) == [expected]
    assert column.native is not None


def test_parquet_reads_what_a_frame_holds(tmp_path: Path) -> None:
    content = {
        "i": [3, None, 1],
        "f": [0.1, 2.0, None],
        "s": ["b", "", "a"],
        "d": [dt.datetime(2020, 1, 1), None, dt.datetime(2020, 1, 1, 0, 0, 0, 1)],
    }
    pl.DataFrame(content).write_parquet(tmp_path / "t.parquet")
    read, frame = open_source(tmp_path / "t.parquet"), open_source(pd.DataFrame(content))
    assert rows(read) == rows(frame)
    assert [c.values for c in read.columns] == [c.values for c in frame.columns]


def test_parquet_names_are_literal(tmp_path: Path) -> None:
    expected = ["Age", "age", "age_1", 'say "x"', "select", "größe", "it's", "c0"]
    # A nested column, so that names inside it are not taken for columns.
    table = pl.DataFrame({"nested": [{"Age": [1]}], **{name: [name] for name in expected}})
    table.write_parquet(tmp_path / "t.parquet")
    read = open_source(tmp_path / "t.parquet", columns=expected)
    assert names(read) == expected
    assert rows(read) == [tuple(expected)]
    assert read.unread == ("nested",)


def test_parquet_rows_keep_their_order(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    with duckdb.connect(":memory:") as database:
        database.execute(
            f"COPY (SELECT i, i % 7 AS j FROM range(50000) r(i)) TO '{path}' "
            "(FORMAT parquet, ROW_GROUP_SIZE 2048)"
        )
    read = open_source(path)
    assert read.rows == 50000
    assert rows(read) == [(str(i), str(i % 7)) for i in range(50000)]


@pytest.mark.parametrize(
    ("literal", "sql_type"),
    [("'a'::BLOB", "BLOB"), ("[1, 2]", "INTEGER[]"), ("INTERVAL 1 DAY", "INTERVAL")],
)
def test_parquet_types_that_are_not_read(tmp_path: Path, literal: str, sql_type: str) -> None:
    path = copy_to_parquet(tmp_path / "t.parquet", f"SELECT 1 AS a, {literal} AS x")
    assert refusal(path) == (
        f"{path}: column 'x' holds {sql_type} values; read are text, numbers, booleans, dates and "
        "times"
    )
    assert rows(open_source(path, columns=["a"])) == [("1",)]


def test_parquet_infinite_dates(tmp_path: Path) -> None:
    path = copy_to_parquet(tmp_path / "t.parquet", "SELECT 'infinity'::TIMESTAMP AS x")
    with pytest.raises(DataError, match=r"t\.parquet: column 'x' cannot be read: "):
        rows(open_source(path))


def test_parquet_without_rows(tmp_path: Path) -> None:
    path = copy_to_parquet(tmp_path / "t.parquet", "SELECT 1 AS a WHERE false")
    assert refusal(path) == f"{path} has no rows"


@pytest.mark.parametrize("data", ["", "this is no parquet file at all"])
def test_parquet_that_is_none(tmp_path: Path, data: str) -> None:
    path = write(tmp_path, data, "t.parquet")
    assert refusal(path).startswith(f"{path} cannot be read: ")


def test_parquet_names_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"": [1]}).write_parquet(path)
    assert refusal(path) == f"{path}: column 1 has an empty name"


def test_parquet_parts(tmp_path: Path) -> None:
    copy_to_parquet(tmp_path / "b.parquet", "SELECT 2::BIGINT AS a, 'x' AS b")
    copy_to_parquet(tmp_path / "a.parquet", "SELECT 1::TINYINT AS a, NULL::VARCHAR AS b")
    assert rows(open_source(tmp_path)) == [("1", None), ("2", "x")]


def test_parquet_parts_with_other_columns(tmp_path: Path) -> None:
    first = copy_to_parquet(tmp_path / "a.parquet", "SELECT 1 AS a")
    second = copy_to_parquet(tmp_path / "b.parquet", "SELECT 1 AS b")
    assert refusal(tmp_path).startswith(f"{second} has the columns b, but {first} has a: ")


@pytest.mark.parametrize(("other", "sql_type"), [("'1'", "VARCHAR"), ("1.0::DOUBLE", "DOUBLE")])
def test_parquet_parts_of_other_types(tmp_path: Path, other: str, sql_type: str) -> None:
    first = copy_to_parquet(tmp_path / "a.parquet", "SELECT 1 AS a")
    second = copy_to_parquet(tmp_path / "b.parquet", f"SELECT {other} AS a")
    assert refusal(tmp_path) == (
        f"column 'a' is INTEGER in {first} and {sql_type} in {second}; one column holds one type"
    )


def test_a_part_without_any_value_has_any_type(tmp_path: Path) -> None:
    pl.DataFrame({"a": pl.Series([None], dtype=pl.Null)}).write_parquet(tmp_path / "a.parquet")
    copy_to_parquet(tmp_path / "b.parquet", "SELECT 'x' AS a")
    assert rows(open_source(tmp_path)) == [(None,), ("x",)]


@given(expected=st.lists(st.tuples(st.none() | CELL, st.none() | CELL), min_size=1, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
def test_written_parquet_is_read_back(tmp_path: Path, expected: Cells) -> None:
    path = tmp_path / "t.parquet"
    with duckdb.connect(":memory:") as database:
        database.execute("CREATE TABLE t (a VARCHAR, b VARCHAR)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [list(row) for row in expected])
        database.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    assert rows(open_source(path, missing_tokens=())) == expected
