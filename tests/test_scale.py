"""The experiment on large tables: what it makes, and what it makes of it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import duckdb
import pytest

from tests.checkout import load_experiment


@pytest.fixture(scope="module")
def scale() -> ModuleType:
    return load_experiment("scale")


def test_tables_that_repeat_rows_have_the_same_cells(scale: ModuleType, tmp_path: Path) -> None:
    for rows in (100, 700):
        scale.make_table(tmp_path / f"{rows}.parquet", rows, 3, 20, 100)
    few, many = (
        duckdb.sql(f"SELECT q0, q1, q2, count(*) FROM '{tmp_path}/{rows}.parquet' GROUP BY ALL")
        for rows in (100, 700)
    )
    assert {(*cell, 7 * rows) for *cell, rows in few.fetchall()} == set(many.fetchall())


def test_more_rows_are_estimated_along_a_line(scale: ModuleType) -> None:
    lines = [
        {"format": "csv", "task": "cells", "columns": 8, "rows": rows, "cpu_seconds": seconds}
        for rows, seconds in ((10**5, 9), (10**6, 1), (10**7, 10))
    ]
    found = scale.estimate(lines)
    # 9 s for 9 million rows: a microsecond each
    assert [line["microseconds_per_row"] for line in found] == [1, 1]
    assert [line["cpu_hours"] for line in found] == [round(1000 / 3600, 2), round(10000 / 3600, 2)]


def test_every_part_has_a_case(scale: ModuleType) -> None:
    parts = [part for part in scale.PARTS if part != "search"]
    assert all(list(scale.cases(part, 10**8)) for part in parts)
