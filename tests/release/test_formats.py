"""Writing cells: what a file shows can be read back, and no spreadsheet runs it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon import Instance, IntervalSpec, Release, read_table
from moanon.release.formats import ReleasedColumn, defuse, write_csv
from moanon.release.readback import undefuse
from tests.release.tables import shirts, values_of


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


FORMULAS = st.text(alphabet="'=+-@\t\r\n＝1.e a", max_size=6)


@given(FORMULAS)
def test_defusing_can_be_undone(text: str) -> None:
    assert undefuse(defuse(text)) == text


@given(FORMULAS)
def test_no_defused_cell_is_run(text: str) -> None:
    shown = defuse(text)
    if shown and shown[0] in "=+-@\t\r\n＝":
        assert isinstance(float(shown), float)  # a plain number is all that may begin so


@given(st.lists(st.none() | st.text() | FORMULAS, min_size=1), st.booleans())
def test_csv_cells_are_read_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str | None], raw: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    column = ReleasedColumn("=a", np.array(texts, dtype=object), np.arange(len(texts)))
    write_csv(path, [column, column], raw_cells=raw)
    with path.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream, strict=True)
    assert header == (["=a"] * 2 if raw else ["'=a"] * 2)
    found = [cell if raw else undefuse(cell) for _, cell in rows]
    assert found == ["" if text is None else text for text in texts]


def test_csv_is_quoted_where_it_must_be(tmp_path: Path) -> None:
    cells = ["a,b", 'say "hi"', "two\nlines", " blank ", "é"]
    release = Release.of(shirts(s=cells), [1, 1])
    release.write(tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_bytes().decode() == (
        'size,s\nS,"a,b"\nS,"say ""hi"""\nM,"two\nlines"\nL, blank \nM,é\n'
    )


def test_formula_cells_and_names_are_defused_in_csv_alone(tmp_path: Path) -> None:
    release = Release.of(shirts(**{"=s": ["=1", "-2", "'=1", "@x", "ok"]}), [1, 1])
    release.write(tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text() == "size,'=s\nS,'=1\nS,-2\nM,''=1\nL,'@x\nM,ok\n"
    release.write(tmp_path / "raw.csv", raw_cells=True)
    assert (tmp_path / "raw.csv").read_text() == "size,=s\nS,=1\nS,-2\nM,'=1\nL,@x\nM,ok\n"
    release.write(tmp_path / "r.parquet")
    assert [cell for _, cell in values_of(tmp_path / "r.parquet")] == [
        "=1", "-2", "'=1", "@x", "ok",
    ]  # fmt: skip


def test_labels_that_look_like_formulas_are_defused_and_certified(tmp_path: Path) -> None:
    frame = pd.DataFrame({"q": ["-5", "-4", None]}, dtype=object)
    table = read_table(frame, {"q": "quasi"}, missing="category")
    release = Release.of(Instance.build(table, {"q": IntervalSpec()}), [1, 0])
    certificate = release.write(tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text() == "q\n-5\n'-4..(missing)\n'-4..(missing)\n"
    assert certificate.gl == pytest.approx(1 / 3)  # two rows of 1/2, of three cells
