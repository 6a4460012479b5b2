"""Excel files are read sheet by sheet, each cell by itself."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from tests.data.reading import names, open_source, refusal, rows, write


def book(folder: Path, *sheets: tuple[str, list[list[Any]]]) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.worksheets[0])
    for title, lines in sheets:
        sheet = made.create_sheet(title)
        for line in lines:
            sheet.append(line)
    made.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def test_cells_have_the_texts_of_their_values(tmp_path: Path) -> None:
    day = datetime.datetime(2020, 1, 31)
    path = book(
        tmp_path,
        ("people", [["age", "born", "paid", "ill"], [39, day, 1.5, True], [40, None, 2, False]]),
    )
    source = open_source(path)
    assert names(source) == ["age", "born", "paid", "ill"]
    assert rows(source) == [("39", "2020-01-31", "1.5", "True"), ("40", None, "2", "False")]


CELLS = [
    *(39, 1.5, 1e22, 2**60 + 1, True, "NA", "01", None),
    *(datetime.datetime(2020, 1, 31), datetime.datetime(2020, 1, 31, 10, 30)),
    *(datetime.time(1, 2), datetime.timedelta(hours=30)),
]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_text_of_a_cell_depends_on_that_cell_alone(tmp_path: Path, cell: Any) -> None:
    """A cell beside it may be one of a row that is not released."""
    line = [["x", *map(str, range(len(CELLS)))], ["a", *[cell] * len(CELLS)], ["b", *CELLS]]
    alone = rows(open_source(book(tmp_path, ("s", line[:2]))))[0][1]
    source = open_source(book(tmp_path, ("s", line)))
    assert rows(source)[0] == ("a", *[alone] * len(CELLS))
    assert all(column.native is None for column in source.columns)


def test_empty_rows_and_columns_behind_the_table_are_skipped(tmp_path: Path) -> None:
    path = book(tmp_path, ("s", [["a", "b", None], [None, None, None], ["1", None, None], ["2"]]))
    assert rows(open_source(path)) == [("1", None), ("2", None)]


def test_sheets_are_chosen_by_name(tmp_path: Path) -> None:
    path = book(tmp_path, ("people", [["a"], ["1"]]), ("places", [["a"], ["2"]]))
    assert rows(open_source(path, sheet="places")) == [("2",)]
    assert refusal(path) == (
        f"{path} has the sheets 'people', 'places'; name one of them (sheet: people)"
    )
    assert refusal(path, sheet="peple") == (
        f"{path} has no sheet 'peple' (did you mean 'people'?); it has 'people', 'places'"
    )


def test_a_sheet_without_names(tmp_path: Path) -> None:
    path = book(tmp_path, ("s", [[39, "f"], [50, "m"]]))
    source = open_source(path, header=False)
    assert names(source) == ["c1", "c2"]
    assert rows(source) == [("39", "f"), ("50", "m")]


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    broken = write(tmp_path, b"PK\x03\x04", "b.xlsx")
    assert refusal(broken).startswith(f"{broken} cannot be read: ")
    empty = book(tmp_path, ("s", []))
    assert refusal(empty) == f"{empty}: the sheet 's' is empty"
    wide = book(tmp_path, ("s", [["a"], ["1", "2"]]))
    assert refusal(wide) == (
        f"{wide}, row 2 of the sheet 's' has more cells than the header, which has 1"
    )
    text = write(tmp_path, "a\n1\n")
    assert refusal(text, sheet="s") == f"a sheet is named for .xlsx files only. Got {text}"


def test_without_openpyxl_the_extra_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    path = book(tmp_path, ("s", [["a"], ["1"]]))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert refusal(path).endswith("is not installed: pip install 'moanon[excel]'")
