"""Writing cells: what a file shows can be read back; on request no spreadsheet runs it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon import Instance, IntervalSpec, OrderedSpec, Release, read_table
from moanon.data.cell_reading import defuse, is_formula
from moanon.release.readback import undefuse
from tests.release.tables import shirts
from tests.strategies import few


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+SUM(A1)", "'+SUM(A1)"),
        ("-x", "'-x"),
        ("@cmd", "'@cmd"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("＝1", "'＝1"),
        ("-3", "-3"),
        ("+1.5e3", "+1.5e3"),
        ("-.5", "-.5"),
        ("-3+1", "'-3+1"),
        ("-", "'-"),
        ("'=1", "''=1"),
        ("''-3", "'''-3"),
        ("'-3", "''-3"),
        ("'quoted'", "'quoted'"),
        ("a=1", "a=1"),
        ("", ""),
    ],
)
def test_formulas_are_defused(text: str, shown: str) -> None:
    assert defuse(text) == shown


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
FORMULAS = st.text(alphabet="'=+-@\t\r\n＝1.e a", max_size=6)


@given(FORMULAS)
def test_defusing_can_be_undone(text: str) -> None:
    assert undefuse(defuse(text)) == text


@given(FORMULAS)
def test_what_is_defused_is_no_formula(text: str) -> None:
    assert not is_formula(defuse(text))
    assert is_formula(text) <= (defuse(text) == "'" + text)


@given(FORMULAS)
def test_no_defused_cell_is_run(text: str) -> None:
    shown = defuse(text)
    if shown and shown[0] in "=+-@\t\r\n＝":
        assert isinstance(float(shown), float)  # a plain number is all that may begin so


@few
@given(st.lists(st.none() | TEXTS | FORMULAS, min_size=1), st.booleans())
def test_csv_cells_are_read_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str | None], safe: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    frame = pd.DataFrame({"q": ["a"] * len(texts), "=a": pd.Series(texts, dtype=object)})
    table = read_table(frame, {"q": "quasi", "=a": "insensitive"}, missing_tokens=())
    release = Release.of(Instance.build(table, {"q": OrderedSpec(("a", "b"))}), [1])
    release.write(path, spreadsheet_safe=safe, keep_order=True, force=True)
    with path.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream, strict=True)
    assert header == ["q", "'=a" if safe else "=a"]
    found = [undefuse(cell) if safe else cell for _, cell in rows]
    assert found == ["" if text is None else text for text in texts]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_in_memory_are_written_block_by_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    release = Release.of(shirts(s=[*"abcde"], i=[None, None, None, "x", None]), [1, 1])
    release.write(tmp_path / f"whole.{ending}", keep_order=True)
    monkeypatch.setattr("moanon.engines.duck._HELD_ROWS", 2)
    release.write(tmp_path / f"blocks.{ending}", keep_order=True)
    assert (tmp_path / f"blocks.{ending}").read_bytes() == (
        tmp_path / f"whole.{ending}"
    ).read_bytes()


def test_csv_is_quoted_where_it_must_be(tmp_path: Path) -> None:
    cells = ["a,b", 'say "hi"', "two\nlines", " blank ", "é"]
    release = Release.of(shirts(s=cells), [1, 1])
    release.write(tmp_path / "r.csv", keep_order=True)
    assert (tmp_path / "r.csv").read_bytes().decode() == (
        'size,s\nS,"a,b"\nS,"say ""hi"""\nM,"two\nlines"\nL, blank \nM,é\n'
    )


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("safe", [False, True])
def test_formula_cells_and_names_are_released_as_they_are_or_behind_an_apostrophe(
    tmp_path: Path, ending: str, safe: bool
) -> None:
    given, shown = ["=1", "-2", "'=1", "@x", "ok"], ["'=1", "-2", "''=1", "'@x", "ok"]
    path = tmp_path / f"r.{ending}"
    release = Release.of(shirts(**{"=s": given}), [1, 1])
    certificate = release.write(path, spreadsheet_safe=safe, keep_order=True)
    found = pd.read_csv(path, dtype=str) if ending == "csv" else duckdb.read_parquet(str(path)).df()
    assert list(found.columns) == (["size", "'=s"] if safe else ["size", "=s"])
    assert found.iloc[:, 1].tolist() == (shown if safe else given)
    # =s, =1 and @x: -2 is a number, and '=1 a text
    assert (certificate.formula_cells, certificate.spreadsheet_safe) == (3, safe)
    entries = json.loads(path.with_name(f"{path.name}.certificate.json").read_text())
    assert (entries["formula_cells"], entries["spreadsheet_safe"]) == (3, safe)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_numbers_and_dates_are_no_formulas(tmp_path: Path, ending: str) -> None:
    numbers = np.array([-1.5, -np.inf, 2.0, 3.0, -4.0])
    release = Release.of(shirts(s=numbers, i=np.array([-1, 2, -3, 4, 5])), [1, 1])
    certificate = release.write(tmp_path / f"r.{ending}", spreadsheet_safe=True)
    assert certificate.formula_cells == 0
    assert "'" not in (tmp_path / f"r.{ending}").read_bytes().decode(errors="replace")


def test_labels_that_look_like_formulas_are_defused_and_certified(tmp_path: Path) -> None:
    frame = pd.DataFrame({"q": ["-5", "-4", None]}, dtype=object)
    table = read_table(frame, {"q": "quasi"}, missing="category")
    release = Release.of(Instance.build(table, {"q": IntervalSpec()}), [1, 0])
    release.write(tmp_path / "r.csv", spreadsheet_safe=True, keep_order=True)
    assert (tmp_path / "r.csv").read_text() == "q\n-5\n'-4 or (missing)\n'-4 or (missing)\n"
    assert release.promised["gl", ""] == pytest.approx(1 / 3)  # two rows of 1/2, of three cells


@pytest.mark.parametrize("fraction", [0.5, 3.0])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_whole_floats_are_written_alike_whatever_suppressed_ones_are(
    tmp_path: Path, ending: str, fraction: float
) -> None:
    numbers = [39.0, -4.0, np.nan, fraction, 1e22]  # the fourth row is suppressed
    release = Release.of(shirts(s=numbers, i=numbers), [1, 1], k=2)
    release.write(tmp_path / f"r.{ending}", keep_order=True)
    if ending == "csv":
        text = (tmp_path / "r.csv").read_text()
        assert text == "size,s,i\nS,39,39\nS,-4,-4\nM,(missing),\nM,1e+22,1e+22\n"
        return
    found = duckdb.read_parquet(str(tmp_path / "r.parquet"))
    assert list(map(str, found.types)) == ["VARCHAR", "VARCHAR", "DOUBLE"]
    assert found.fetchall()[0] == ("S", "39", 39.0)


SCHEMA = {
    "BIGINT": "UTINYINT",
    "UBIGINT": "UBIGINT",
    "BOOLEAN": "BOOLEAN",
    "DOUBLE": "DOUBLE",
    "FLOAT": "FLOAT",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMP_NS": "TIMESTAMP_NS",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP WITH TIME ZONE",
    "VARCHAR": "DECIMAL(9, 2)",
}


@pytest.mark.parametrize("memory", [{}, {"memory": "200MB"}])
def test_columns_without_a_value_have_the_types_of_their_schema(
    tmp_path: Path, memory: dict[str, str]
) -> None:
    columns = ", ".join(f'NULL::{kind} AS "i {name}"' for name, kind in SCHEMA.items())
    source, path = tmp_path / "t.parquet", tmp_path / "r.parquet"
    duckdb.sql(f"COPY (SELECT 'a' AS q, {columns} FROM range(2)) TO '{source}'")
    roles = {"q": "quasi", **{f"i {name}": "insensitive" for name in SCHEMA}}
    table = read_table(source, roles, missing="category", **memory)
    Release.of(Instance.build(table, {"q": OrderedSpec(("a", "b"))}), [1]).write(path, shuffle=1)
    found = duckdb.read_parquet(str(path))
    assert list(map(str, found.types)) == ["VARCHAR", *SCHEMA]


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ([1.0, 2.0, 3.0, 3.5, 4.0], "BIGINT"),
        ([1.0, 2.0, 3.0, 4.0, 0.5], "DOUBLE"),
        ([1.0, 2.0, 3.0, 4.0, 2.0**53], "DOUBLE"),
        ([np.nan, np.nan, np.nan, 4.0, np.nan], "VARCHAR"),
        ([1, 2, 3, 2**64, 4], "BIGINT"),
        ([1, 2, 3, 4, 2**63], "VARCHAR"),
    ],
)
def test_columns_of_frames_have_the_types_of_released_values(
    tmp_path: Path, numbers: list[Any], kind: str
) -> None:
    release = Release.of(shirts(i=numbers), [1, 1], k=2)  # the fourth row is suppressed
    release.write(tmp_path / "r.parquet", keep_order=True)
    found = duckdb.read_parquet(str(tmp_path / "r.parquet"))
    assert str(found.types[1]) == kind
    frame = {"BIGINT": "int64", "DOUBLE": "float64", "VARCHAR": "object"}
    assert str(release.to_frame()["i"].dtype) == frame[kind]


def test_suppressed_values_that_a_type_would_round_are_not_taken_for_released_ones(
    tmp_path: Path,
) -> None:
    release = Release.of(shirts(s=[4.0, 2.0, 4.0, 3.5, 2.0]), [1, 1], k=2)
    release.write(tmp_path / "r.parquet", keep_order=True)  # refused unless it is as promised
    assert str(duckdb.read_parquet(str(tmp_path / "r.parquet")).types[1]) == "BIGINT"


@pytest.mark.parametrize("suppressed", ["NULL", "1"])
@pytest.mark.parametrize("memory", [{}, {"memory": "200MB"}])
def test_a_suppressed_gap_makes_no_released_number_a_formula(
    tmp_path: Path, memory: dict[str, str], suppressed: str
) -> None:
    source = tmp_path / "t.parquet"
    rows = f"('a', '-inf'::DOUBLE), ('a', 2), ('b', {suppressed})"
    duckdb.sql(f"COPY (SELECT * FROM (VALUES {rows}) AS t(q, s)) TO '{source}' (FORMAT PARQUET)")
    table = read_table(source, {"q": "quasi", "s": "sensitive"}, missing="category", **memory)
    release = Release.of(Instance.build(table, {"q": OrderedSpec(("a", "b"))}), [1], k=2)
    assert release.write(tmp_path / "r.csv").formula_cells == 0
