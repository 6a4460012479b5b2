"""Texts that look the same are read as one value where that is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.cell_reading import folded
from moanon.errors import DataError
from tests.data.reading import columns, one, open_source, refusal, texts, write
from tests.refusals import refusal_of

HIV = ["HIV", "HIV ", "hiv", "H\N{ZERO WIDTH SPACE}IV", "HIV\N{NO-BREAK SPACE}"]


def test_values_that_look_the_same_are_different_unless_they_are_normalized() -> None:
    assert len(one(HIV).values) == 5
    assert texts(one(HIV, normalize=True)) == ["hiv"] * 5


def test_declared_spellings_are_what_values_are_called() -> None:
    spelled = {"x": ["HIV", "influenza A"]}
    column = one([*HIV, "Influenza  a", "gout"], normalize=True, spellings=spelled)
    assert column.values == ("HIV", "gout", "influenza A")


def test_spellings_say_nothing_where_texts_stay() -> None:
    assert len(one(HIV, spellings={"x": ["HIV", "hiv"]}).values) == 5


def test_declared_values_that_look_the_same_are_refused() -> None:
    spelled = {"x": ["HIV", "flu", "hiv "]}
    said = refusal_of(DataError, one, HIV, normalize=True, spellings=spelled)
    assert said == (
        "column 'x': 'HIV' and 'hiv ' are declared as two values and differ only in white space, "
        "invisible characters, Unicode form or case, which normalize makes one; leave one of them "
        "out"
    )


def test_figures_keep_their_letters_and_the_blanks_within() -> None:
    column = one(["\xa01\xa0000 KG", "10²", "5\ufeff"], normalize=True, spellings={"x": None})
    assert texts(column) == ["1\xa0000 KG", "10²", "5"]


def test_blanks_and_spellings_of_tokens_are_missing() -> None:
    cells = ["\xa0", "", "N/A", "n/a ", "x"]
    assert texts(one(cells, normalize=True, missing_tokens=["", "N/A"])) == [None] * 4 + ["x"]
    assert texts(one(cells, normalize=True, missing_tokens=[])) == ["", "", "n/a", "n/a", "x"]
    numbers = {"spellings": {"x": None}, "missing_tokens": ["", "N/A"]}
    assert texts(one([*cells[:4], "5 "], normalize=True, **numbers)) == [None] * 4 + ["5"]


@pytest.mark.parametrize(
    "values", [[True, False], [1.5, 2.0], [1, 2], [pd.Timestamp("2020-01-31")]]
)
def test_values_that_are_no_texts_stay_what_they_are(values: list[Any]) -> None:
    plain, normal = one(values), one(values, normalize=True)
    assert normal.values == plain.values
    assert str(normal.native) == str(plain.native)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_a_value_depends_on_its_text_alone(cells: list[str]) -> None:
    """Never on what else there is, or a release would tell of rows that are not in it."""
    column = one(["", *cells], normalize=True, missing_tokens=[])
    assert texts(column)[1:] == [folded(cell) for cell in cells]


def test_files_of_every_kind_read_the_same(tmp_path: Path) -> None:
    lines = [["ill"], *([text] for text in HIV)]
    sheet = openpyxl.Workbook()
    for line in lines:
        sheet.worksheets[0].append(line)
    sheet.save(tmp_path / "t.xlsx")
    frame = pd.DataFrame(lines[1:], columns=["ill"])
    place = str(tmp_path / "t.parquet")
    duckdb.from_df(frame).write_parquet(place)
    write(tmp_path, "\n".join(line[0] for line in lines))
    for name in ("t.csv", "t.xlsx", "t.parquet"):
        (column,) = columns(open_source(tmp_path / name, normalize=True))
        assert texts(column) == ["hiv"] * 5
        assert column.native is None or column.native.tolist() == ["hiv"]  # no trace of the others


def test_names_of_columns_stay(tmp_path: Path) -> None:
    path = write(tmp_path, "Ill ,B\nX,Y\n")
    assert [c.name for c in open_source(path, normalize=True).columns] == ["Ill ", "B"]
    assert "has no column 'ill'" in refusal(path, columns=["ill"], normalize=True)
