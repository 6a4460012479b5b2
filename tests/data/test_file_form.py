"""Files without a line of names, or with names that are no names; blanks around cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from moanon.data.cell_reading import FileForm
from moanon.data.file_form import likely_header
from moanon.data.table import likely_form
from moanon.engines import open_source
from moanon.errors import DataError
from tests.data.reading import names, refusal, rows, write


def test_without_a_line_of_names_columns_are_called_by_their_places(tmp_path: Path) -> None:
    read = open_source(write(tmp_path, "39,f\n50,m\n"), header=False)
    assert names(read) == ["c1", "c2"]
    assert rows(read) == [("39", "f"), ("50", "m")]


def test_names_can_be_given_for_a_file_that_has_none(tmp_path: Path) -> None:
    read = open_source(write(tmp_path, "39,f\n50,m\n"), header=("age", "sex"), columns=["sex"])
    assert names(read) == ["sex"]
    assert rows(read) == [("f",), ("m",)]


def test_as_many_names_as_columns(tmp_path: Path) -> None:
    path = write(tmp_path, "39,f\n")
    assert refusal(path, header=("age",)) == f"{path} has 2 columns, but header names 1"
    assert refusal(path, header=("age", "age")).startswith(f"{path} has two columns named 'age'")


def test_a_repeated_name_gets_a_number_only_where_that_is_said(tmp_path: Path) -> None:
    path = write(tmp_path, "x,,x,x.2\n1,2,3,4\n")
    assert names(open_source(path, header="numbered")) == ["x", "c2", "x.3", "x.2"]
    assert refusal(path) == (
        f"{path}: column 2 has an empty name; data: {{header: numbered}} gives each a name of its "
        "own (age, age.2)"
    )


def test_a_numbered_name_is_never_given_twice() -> None:
    form = FileForm(header="numbered")
    given = form.names_of("t", ["c2", "", "a", "a", "a.2", "a", ""])
    assert given == ("c2", "c2.2", "a", "a.3", "a.2", "a.4", "c7")


def test_a_short_line_of_a_file_without_names(tmp_path: Path) -> None:
    path = write(tmp_path, "1,2\n3\n")
    assert refusal(path, header=False) == (
        f"{path}, line 2 has 1 field where the first line has 2 (delimiter ',')"
    )


def test_files_that_are_read_together_have_as_many_columns(tmp_path: Path) -> None:
    write(tmp_path, "1,2\n", "a.csv")
    write(tmp_path, "3,4\n", "b.csv")
    assert rows(open_source(tmp_path, header=False)) == [("1", "2"), ("3", "4")]
    write(tmp_path, "5\n", "c.csv")
    assert "files read together must have the same columns" in refusal(tmp_path, header=False)


def test_blanks_around_cells_are_no_part_of_them_where_that_is_said(tmp_path: Path) -> None:
    path = write(tmp_path, 'a, b\n1, "x, y"\n2, ?\n 2,\t?\n')
    read = open_source(path, trim=True, missing_tokens=["?"])
    assert names(read) == ["a", "b"]
    assert rows(read) == [("1", "x, y"), ("2", None), ("2", None)]


@pytest.mark.parametrize(
    ("lines", "header"),
    [
        (["age,sex", "39,f", "50,m"], True),
        (["39,f", "50,m", "28,f"], False),
        (["39,50", "28,17"], False),
        (["country,2019,2020", "Chad,1,2", "Mali,3,4"], True),  # years are names here
        (["a,b", "x,y", "z,x"], True),  # nothing but words, none of them found again
        (["x,y", "z,y"], False),
        (["", "1"], "numbered"),
        (["7"], True),  # nothing below
        (["id,age,age", "1,2,3"], "numbered"),
        ([",age", "1,2"], "numbered"),
        (["2020-01-31,f", "2020-02-01,f"], False),
    ],
)
def test_the_first_line_is_known_by_what_stands_below(lines: list[str], header: object) -> None:
    assert likely_header([line.split(",") for line in lines]) == header


def test_what_is_found_out_of_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, "39, f, x\n50, m, y\n28, f, x\n")
    assert likely_form(path) == {"encoding": "utf-8", "trim": True, "header": False}
    assert likely_form(path, header=True)["header"] is True
    assert likely_form(write(tmp_path, "a,a\n1,2\n"), header=True)["header"] == "numbered"


def test_parquet_names_its_columns_itself(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"header is for text files and sheets; .*t.parquet names"):
        FileForm(header=False).refuse_names(str(tmp_path / "t.parquet"))


def test_blanks_separate_cells_where_each_line_has_as_many(tmp_path: Path) -> None:
    cells = write(tmp_path, "A11 6 m\nA12 48 f\nA11 7 m\n", "cells.data")
    assert likely_form(cells) == {"encoding": "utf-8", "delimiter": " ", "header": False}
    names = write(tmp_path, "Anna Schmidt\nBert Olsen\n", "names.data")
    assert "delimiter" not in likely_form(names)
