"""Reading: what stands in the source is what comes out, or one sentence says why not."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import hashlib
import os
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moanon.data import source as module
from moanon.data.source import Column, Source, did_you_mean, read_source
from moanon.errors import DataError

Cells = list[tuple[str | None, ...]]


def texts(column: Column) -> list[str | None]:
    return [None if code < 0 else column.values[code] for code in column.codes]


def rows(source: Source) -> Cells:
    return list(zip(*map(texts, source.columns), strict=True))


def names(source: Source) -> list[str]:
    return [column.name for column in source.columns]


def write(folder: Path, data: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def refusal(source: Any, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        read_source(source, **options)
    return str(caught.value)


def one(values: Any, **options: Any) -> Column:
    """The column that comes of one column of a frame."""
    return read_source(pd.DataFrame({"x": values}), **options).columns[0]


# --- CSV: what is read ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("a,b\n1,2\n3,4\n", [("1", "2"), ("3", "4")]),
        ("a,b\n1,2\n3,4", [("1", "2"), ("3", "4")]),  # no final line end
        ("a,b\r\n1,2\r\n3,4\r\n", [("1", "2"), ("3", "4")]),
        ("a,b\n1,2\r\n3,4\n", [("1", "2"), ("3", "4")]),  # mixed line ends
        ("\ufeffa,b\n1,2\n", [("1", "2")]),  # byte order mark
        ('\ufeff"a",b\n1,2\n', [("1", "2")]),
        ('a,b\n"x""y",""""\n', [('x"y', '"')]),
        ('a,b\n"1,2",3\n', [("1,2", "3")]),
        ('a,b\n"1\n2","3\r\n4"\n', [("1\n2", "3\r\n4")]),
        ('a,b\n1,"2\r3"\n', [("1", "2\r3")]),
        ('a,b\n5" pipe,x"y"z\n', [('5" pipe', 'x"y"z')]),  # quotes inside an unquoted field
        ('a,b\n "1",2\n', [(' "1"', "2")]),  # a blank before it: not an opening quote
        ("a,b\n 1,2 \n", [(" 1", "2 ")]),  # nothing is trimmed
        ("a,b\n#1,2\n", [("#1", "2")]),  # no comments
        ("a,b\n1\\,2\n", [("1\\", "2")]),  # a backslash is a character
        ("a,b\n1\u2028x,2\x85y\n", [("1\u2028x", "2\x85y")]),  # not line ends
        ("a,b\n1,2\n\n3,4\n\n", [("1", "2"), ("3", "4")]),  # blank lines
        ('a,b\n,""\n', [(None, None)]),
        ("a,b\n1,2\r\r\n", [("1", "2")]),
    ],
)
def test_csv_cells(tmp_path: Path, data: str, expected: Cells) -> None:
    assert rows(read_source(write(tmp_path, data))) == expected


def test_text_stays_text(tmp_path: Path) -> None:
    values = ["NA", "None", "nan", "NULL", "01234", "1e5", " x", "True", "1.0", "-"]
    path = write(tmp_path, "a,b\n" + "".join(f"{value},x\n" for value in values))
    assert texts(read_source(path).columns[0]) == values


def test_declared_tokens_are_missing_and_only_they(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n?,1\nNA,2\n,3\n")
    assert texts(read_source(path, missing_tokens=["?", "NA"]).columns[0]) == [None, None, ""]


def test_no_token_leaves_the_empty_text_a_value(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n,1\n")
    assert texts(read_source(path, missing_tokens=()).columns[0]) == [""]


def test_tokens_must_be_a_list(tmp_path: Path) -> None:
    path = write(tmp_path, "a\n1\n")
    assert refusal(path, missing_tokens="NA") == (
        "missing_tokens must be a list of texts. Got the text 'NA'."
    )


def test_a_blank_line_is_a_cell_where_there_is_one_column(tmp_path: Path) -> None:
    path = write(tmp_path, 'a\n1\n\n""\n \n3\n')
    assert rows(read_source(path)) == [("1",), (None,), (None,), (" ",), ("3",)]


def test_values_are_sorted_and_every_one_occurs(tmp_path: Path) -> None:
    column = read_source(write(tmp_path, "a,b\nz,1\n,2\na,3\nz,4\n")).columns[0]
    assert column.values == ("a", "z")
    assert column.codes.tolist() == [1, -1, 0, 1]
    assert column.codes.dtype == np.int32
    assert column.missing == 1
    assert column.native is None


def test_fields_longer_than_the_parsers_limit(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    long = "é" * (before + 1)
    path = write(tmp_path, f'a,b\n{long},"{long},"\n')
    assert rows(read_source(path)) == [(long, long + ",")]
    assert csv.field_size_limit() == before


def test_rows_keep_their_order_over_many_blocks(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 64)
    monkeypatch.setattr(module, "_BLOCK_ROWS", 7)
    expected = [(str(i), "é\n" * (i % 3)) for i in range(1, 200)]
    data = "n,t\n" + "".join(f'{n},"{t}"\n' for n, t in expected)
    read = read_source(write(tmp_path, data), missing_tokens=())
    assert rows(read) == expected
    assert read.rows == 199


def test_gzip(tmp_path: Path) -> None:
    packed = gzip.compress(b"a,b\n1,2\n")
    read = read_source(write(tmp_path, packed, "t.csv.gz"))
    assert rows(read) == [("1", "2")]
    assert read.digest == hashlib.sha256(packed).hexdigest()


def test_broken_gzip(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(b"a,b\n1,2\n" * 99)[:-12], "t.csv.gz")
    assert refusal(path).startswith(f"{path} cannot be read: ")


# --- CSV: delimiters and headers -----------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_found_in_the_header(tmp_path: Path, delimiter: str) -> None:
    other = ";" if delimiter == "," else ","
    data = f'a{delimiter}"b{other}{other}{other}"{delimiter}c{other}d\n1{delimiter}2{delimiter}3\n'
    read = read_source(write(tmp_path, data))
    assert names(read) == ["a", f"b{other}{other}{other}", f"c{other}d"]
    assert rows(read) == [("1", "2", "3")]


def test_an_undecided_header_asks_for_the_delimiter(tmp_path: Path) -> None:
    path = write(tmp_path, "a;b,c\n1;2,3\n")
    assert refusal(path) == f"{path}: its header can be split at ',' or ';'; name the delimiter."
    assert names(read_source(path, delimiter=",")) == ["a;b", "c"]


@pytest.mark.parametrize(("name", "expected"), [("t.csv", None), ("t.tsv", "a,b")])
def test_one_column_falls_back_on_the_ending(
    tmp_path: Path, name: str, expected: str | None
) -> None:
    path = write(tmp_path, "x\na,b\n", name)
    if expected:
        assert rows(read_source(path)) == [(expected,)]
    else:
        assert refusal(path) == (
            f"{path}, line 2 has 2 fields where the header has 1 (delimiter ',')."
        )


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n"])
def test_delimiter_must_be_one_character(tmp_path: Path, delimiter: str) -> None:
    assert refusal(write(tmp_path, "a\n1\n"), delimiter=delimiter) == (
        f"delimiter must be one character, no quote and no line end. Got {delimiter!r}."
    )


def test_the_first_line_is_the_header_whatever_it_looks_like(tmp_path: Path) -> None:
    read = read_source(write(tmp_path, "1,2\n3,4\n"))
    assert names(read) == ["1", "2"]
    assert rows(read) == [("3", "4")]


def test_names_are_literal(tmp_path: Path) -> None:
    expected = ["Age", "age", " age", 'say "x"', "select", "größe", "two\nlines", "c0", "it's"]
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([expected, [str(i) for i in range(9)]])
    read = read_source(path)
    assert names(read) == expected
    assert rows(read) == [tuple("012345678")]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("a,b,a\n1,2,3\n", "{} has two columns named 'a'."),
        ("a,,c\n1,2,3\n", "{}: column 2 has an empty name."),
        ("a,b,\n1,2,3\n", "{}: column 3 has an empty name."),
        ("\na,b\n1,2\n", "{}: line 1 is blank; it must name the columns."),
        ("", "{} is empty: it has no rows."),
        ("\ufeff", "{} is empty: it has no rows."),
        ("a,b\n", "{} has no rows."),
        ("a,b", "{} has no rows."),
        ("a,b\n\n\n", "{} has no rows."),
    ],
)
def test_headers_that_are_refused(tmp_path: Path, data: str, sentence: str) -> None:
    path = write(tmp_path, data)
    assert refusal(path) == sentence.format(path)


# --- CSV: what is refused ------------------------------------------------------------------------

RETURN = "a carriage return stands outside quotes; lines must end with LF or CRLF."
DOUBLED = "text follows a closing quote; a quote inside a quoted field must be doubled."


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("a,b\n1\n3,4\n", ", line 2 has 1 field where the header has 2 (delimiter ',')."),
        ("a,b\n1,2\n3", ", line 3 has 1 field where the header has 2 (delimiter ',')."),
        ("a,b\n1,2,3\n", ", line 2 has 3 fields where the header has 2 (delimiter ',')."),
        ("a,b\n1,2,\n", ", line 2 has 3 fields where the header has 2 (delimiter ',')."),
        ("a,b\n1,2\n \n", ", line 3 has 1 field where the header has 2 (delimiter ',')."),
        # Lines of the file, not rows: a quoted field and a blank line lie before.
        ('a,b\n"1\n\n1",2\n\n3\n', ", line 6 has 1 field where the header has 2 (delimiter ',')."),
        ('a,b\n1,2\n"3,4\n5,6\n', ", line 3: a quoted field is never closed."),
        ('a,b\n1,2\n"3"x,4\n', f", line 3: {DOUBLED}"),
        ('a,b\n1,2\n"3" ,4\n', f", line 3: {DOUBLED}"),
        ("a,b\n1,2\rx\n3,4\n", f", line 2: {RETURN}"),
        ("a,b\r1,2\r3,4\r", f", line 1: {RETURN}"),
        ('"a,b\n1,2\n', ", line 1: a quoted field is never closed."),
    ],
)
def test_lines_that_do_not_fit(tmp_path: Path, data: str, sentence: str) -> None:
    path = write(tmp_path, data)
    assert refusal(path) == f"{path}{sentence}"


def test_a_line_far_down_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n" + "1,2\n" * 5000 + "1\n" + "1,2\n" * 5000)
    assert f"{path}, line 5002 has 1 field" in refusal(path)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"a,b\n\xe9,2\n", "byte 0xE9 at offset 4"),
        (b"a,b\nxy,\xe2\x82", "byte 0xE2 at offset 7"),  # cut in the middle of a character
        (b"a,b\n\xed\xa0\x80,2\n", "byte 0xED at offset 4"),  # half a character
        ("a,b\n1,2\n".encode("utf-16"), "byte 0xFF at offset 0"),
    ],
)
def test_other_encodings(tmp_path: Path, data: bytes, what: str) -> None:
    path = write(tmp_path, data)
    assert refusal(path) == f"{path} is not UTF-8 ({what}): save it as UTF-8."


def test_offsets_count_from_the_start_of_the_file(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 8)
    path = write(tmp_path, b"a,b\n" + b"1,2\n" * 9 + b"\xff,2\n")
    assert "(byte 0xFF at offset 40)" in refusal(path)


def test_nul_bytes(tmp_path: Path) -> None:
    path = write(tmp_path, b"a,b\n1\x00,2\n")
    assert refusal(path) == f"{path} is not text: NUL byte at offset 5."


# --- Files, folders, globs -----------------------------------------------------------------------


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n", "adult.csv")
    path = tmp_path / "adlut.csv"
    assert refusal(path) == f"{path} does not exist (did you mean 'adult.csv'?)."
    nowhere = tmp_path / "no" / "x.csv"
    assert refusal(nowhere) == f"{nowhere} does not exist."


def test_a_glob_without_match(tmp_path: Path) -> None:
    assert refusal(f"{tmp_path}/*.csv") == f"No file matches {tmp_path}/*.csv."


def test_an_ending_that_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path, "a\n1\n", "t.xlsx")
    assert refusal(path) == (
        f"{path} has an ending that is not read: read are .csv, .tsv, .txt, .csv.gz and .parquet."
    )


def test_a_source_that_is_neither_path_nor_frame() -> None:
    assert refusal([1, 2]) == "source must be a path or a DataFrame. Got list."


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = write(tmp_path, "a\n1\n")
    path.chmod(0)
    assert refusal(path) == f"{path} cannot be read: Permission denied."


def test_an_error_while_reading_names_the_file(tmp_path: Path, monkeypatch: Any) -> None:
    path = write(tmp_path, "a\n1\n")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(hashlib, "file_digest", fail)
    assert refusal(path) == f"{path} cannot be read: Input/output error."


def test_a_folder_is_read_in_sorted_order(tmp_path: Path) -> None:
    write(tmp_path, "a,b\n2,y\n", "p2.csv")
    write(tmp_path, "a;b\n1;x\n", "p1.CSV")
    write(tmp_path, gzip.compress(b"a,b\n3,z\n"), "p3.csv.gz")
    write(tmp_path, "nonsense", ".hidden.csv")
    write(tmp_path, "nonsense", "notes.txt")
    (tmp_path / "p0.csv").mkdir()
    read = read_source(tmp_path)
    assert rows(read) == [("1", "x"), ("2", "y"), ("3", "z")]
    assert read.name == str(tmp_path)
    assert read.rows == 3


def test_a_glob_is_read_in_sorted_order(tmp_path: Path) -> None:
    for name in ("b", "c", "a"):
        write(tmp_path, f"x\n{name}\n", f"{name}.csv")
    write(tmp_path, "other\n1\n", "z.txt")
    read = read_source(f"{tmp_path}/*.csv")
    assert rows(read) == [("a",), ("b",), ("c",)]
    assert read.name == f"{tmp_path}/*.csv"


def test_a_part_with_only_a_header_is_fine(tmp_path: Path) -> None:
    write(tmp_path, "a\n", "1.csv")
    write(tmp_path, "a\nx\n", "2.csv")
    assert rows(read_source(tmp_path)) == [("x",)]


@pytest.mark.parametrize("header", ["b,a", "a,B", "a,b,c"])
def test_parts_with_other_columns(tmp_path: Path, header: str) -> None:
    first = write(tmp_path, "a,b\n1,2\n", "1.csv")
    second = write(tmp_path, f"{header}\n1,2\n", "2.csv")
    assert refusal(tmp_path) == (
        f"{second} has the columns {header.replace(',', ', ')}, but {first} has a, b: files read "
        "together must have the same columns in the same order."
    )


def test_a_folder_of_two_kinds(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n")
    write(tmp_path, "", "t.parquet")
    assert refusal(tmp_path) == f"{tmp_path} mixes .parquet with text files: give one kind."


def test_a_folder_of_nothing(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n", "notes.txt")
    assert refusal(tmp_path) == f"The folder {tmp_path} holds no .csv and no .parquet file."


AWKWARD = ["a[1]", "a*", "a?", "it's", "{x,y}", "year=2020", "ü ñ", "**", "[!x]", "a;b"]


@pytest.mark.parametrize("stem", AWKWARD)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_awkward_file_names(tmp_path: Path, stem: str, ending: str) -> None:
    for other in ("a1", "ab", "abc", "x"):
        table = pl.DataFrame({"wrong": [other]})
        getattr(table, f"write_{ending[1:]}")(tmp_path / f"{other}{ending}")
    folder = tmp_path / "k=v"
    folder.mkdir()
    for place in (tmp_path, folder):
        path = place / f"{stem}{ending}"
        getattr(pl.DataFrame({"a": ["right"]}), f"write_{ending[1:]}")(path)
        read = read_source(path)
        assert names(read) == ["a"]
        assert rows(read) == [("right",)]


# --- Digest, name, choice of columns -------------------------------------------------------------


def test_digest_of_one_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    read = read_source(write(tmp_path, "a\r\n1\r\n"))
    assert read.digest == hashlib.sha256(b"a\r\n1\r\n").hexdigest()


def test_digest_of_several_files_knows_names_and_bytes(tmp_path: Path) -> None:
    def digest(folder: str, parts: dict[str, str]) -> str:
        (tmp_path / folder).mkdir()
        for name, data in parts.items():
            write(tmp_path / folder, data, name)
        return read_source(tmp_path / folder).digest

    base = digest("a", {"1.csv": "x\n1\n", "2.csv": "x\n2\n"})
    lines = "".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n"
        for name, data in (("1.csv", b"x\n1\n"), ("2.csv", b"x\n2\n"))
    )
    assert base == hashlib.sha256(lines.encode()).hexdigest()
    assert digest("b", {"1.csv": "x\n1\n", "2.csv": "x\n2\n"}) == base
    assert digest("c", {"1.csv": "x\n2\n", "2.csv": "x\n1\n"}) != base
    assert digest("d", {"1.csv": "x\n1\n", "3.csv": "x\n2\n"}) != base


def test_name(tmp_path: Path) -> None:
    path = write(tmp_path, "a\n1\n")
    assert read_source(path).name == str(path)
    assert read_source(path, name="adult").name == "adult"
    assert read_source(pd.DataFrame({"a": ["1"]})).name == "DataFrame"
    assert read_source(pd.DataFrame({"a": ["1"]}), name="adult").name == "adult"


def test_chosen_columns_come_in_file_order(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["1"], "b": ["2"], "c": ["3"], "d": ["4"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    pl.DataFrame(frame.to_dict("list")).write_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.csv", tmp_path / "t.parquet"):
        read = read_source(source, columns=["d", "b"])
        assert names(read) == ["b", "d"]
        assert rows(read) == [("2", "4")]
        assert read.unread == ("a", "c")
        assert read_source(source).unread == ()


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    path = write(tmp_path, "age,sex\n1,2\n")
    assert refusal(path, columns=["aeg"]) == f"{path} has no column 'aeg' (did you mean 'age'?)."
    assert refusal(path, columns=["Zürich"]) == f"{path} has no column 'Zürich'."


def test_nearest_name() -> None:
    assert did_you_mean("quazi", ["quasi", "sensitive"]) == " (did you mean 'quasi'?)"
    assert did_you_mean("x", ["quasi"]) == ""


# --- Frames --------------------------------------------------------------------------------------

SINGLE = np.array([0.1, 2.5], dtype=np.float32)
BERLIN = pd.to_datetime(["2020-07-01 00:00", "2020-01-01 12:30"]).tz_localize("Europe/Berlin")
TYPED = [
    ([12, -3], ["12", "-3"]),
    (pd.array([1, None], dtype="Int64"), ["1", None]),
    ([2**70, 1], [str(2**70), "1"]),
    ([1.0, None, -0.0], ["1", None, "0"]),  # integers with a gap
    ([1.5, 2.0], ["1.5", "2.0"]),
    ([0.1 + 0.2, 1e22], ["0.30000000000000004", "1e+22"]),
    ([float("inf"), 1.0], ["inf", "1.0"]),
    (SINGLE, ["0.1", "2.5"]),
    (pd.array([0.1, None], dtype="Float32"), ["0.1", None]),
    ([True, False], ["True", "False"]),
    (pd.array([True, None], dtype="boolean"), ["True", None]),
    ([dt.date(2020, 2, 29), None], ["2020-02-29", None]),
    (pd.Series([pd.Timestamp("2020-01-01"), pd.NaT]), ["2020-01-01", None]),
    (
        pd.to_datetime(["2020-01-01 00:00", "2020-01-01 05:00"]),
        ["2020-01-01", "2020-01-01T05:00:00"],
    ),
    ([pd.Timestamp("2020-01-01 00:00:00.000000001")], ["2020-01-01T00:00:00.000000001"]),
    ([dt.datetime(2020, 1, 1, 5, 0, 0, 1200)], ["2020-01-01T05:00:00.0012"]),
    (BERLIN, ["2020-06-30T22:00:00+00:00", "2020-01-01T11:30:00+00:00"]),
    ([dt.time(1, 2), dt.time(1, 2, 3, 500000)], ["01:02:00", "01:02:03.5"]),
    ([Decimal("12.50"), Decimal("1E+3"), None], ["12.50", "1000", None]),
    ([UUID(int=1)], ["00000000-0000-0000-0000-000000000001"]),
    (["NA", "None", "nan", "01", ""], ["NA", "None", "nan", "01", None]),
    (pd.array(["a", None], dtype="string"), ["a", None]),
    (pd.Categorical(["b", None], categories=["z", "b"]), ["b", None]),
    (pd.Categorical([3, 1], categories=[3, 2, 1]), ["3", "1"]),
    (pd.Series([None, np.nan, pd.NaT, pd.NA, "x"], dtype=object), [None] * 4 + ["x"]),
    (pd.Series([None, None], dtype=object), [None, None]),
]


@pytest.mark.parametrize(("values", "expected"), TYPED)
def test_canonical_text(values: Any, expected: list[str | None]) -> None:
    column = one(values)
    assert texts(column) == expected
    assert set(column.values) == {text for text in expected if text is not None}
    assert column.native is not None
    assert len(column.native) == len(column.values)


@pytest.mark.parametrize(
    ("values", "native"),
    [
        ([10, 9, 10], np.array([10, 9])),  # sorted by text: "10" before "9"
        ([2.5, 1.0], np.array([1.0, 2.5])),
        (SINGLE, SINGLE),
        ([True, False], np.array([False, True])),
        (
            pd.to_datetime(["2020-01-02", "2020-01-01"]),
            np.array(["2020-01-01", "2020-01-02"], "M8"),
        ),
        (["b", "a"], np.array(["a", "b"], dtype=object)),
        ([2**70, 1], np.array([1, 2**70], dtype=object)),
    ],
)
def test_native_values_stand_beside_their_texts(values: Any, native: Any) -> None:
    found = one(values).native
    assert found is not None
    assert found.dtype.kind == native.dtype.kind
    assert found.tolist() == native.astype(found.dtype).tolist()


@pytest.mark.parametrize(
    ("values", "types"),
    [
        ([1, "1"], "int and str"),
        ([1, 1.0], "float and int"),
        ([True, 1], "bool and int"),
        ([1.5, Decimal("1.5")], "Decimal and float"),
        ([dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)], "date and datetime"),
    ],
)
def test_mixed_types(values: Any, types: str) -> None:
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    assert refusal(frame) == (
        f"DataFrame: column 'x' mixes {types} values; one column holds one type."
    )


def test_times_with_and_without_zone() -> None:
    moments = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]
    frame = pd.DataFrame({"x": pd.Series(moments, dtype=object)})
    assert "column 'x' mixes times with and without a time zone" in refusal(frame)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([[1], [2]], "list"),
        ([b"a"], "bytes"),
        ([1 + 2j], "complex"),
        ([dt.timedelta(1)], "Timedelta"),
    ],
)
def test_strange_types(values: Any, kind: str) -> None:
    assert refusal(pd.DataFrame({"x": values})) == (
        f"DataFrame: column 'x' holds {kind} values; read are text, numbers, booleans, dates and "
        "times."
    )


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_text_that_no_file_can_hold(text: str) -> None:
    frame = pd.DataFrame({"x": pd.Series([text], dtype=object)})
    assert refusal(frame) == f"DataFrame: column 'x' holds {text!a}, which no file can hold."


def test_tokens_match_canonical_text() -> None:
    assert texts(one([-9, 1], missing_tokens=["-9"])) == [None, "1"]
    assert texts(one([True, False], missing_tokens=["True"])) == [None, "False"]


@pytest.mark.parametrize("token", ["-9", "-9.0"])
def test_a_whole_float_matches_both_ways_to_write_it(token: str) -> None:
    assert texts(one([-9.0, 1.5], missing_tokens=[token])) == [None, "1.5"]
    assert texts(one([-9.0, 1.0], missing_tokens=[token])) == [None, "1"]


def test_floats_are_whole_if_all_but_the_missing_are() -> None:
    assert texts(one([0.5, 1.0, 2.0], missing_tokens=["0.5"])) == [None, "1", "2"]


def test_equal_values_have_one_text() -> None:
    assert one([-0.0, 0.0, 0.5]).values == ("0.0", "0.5")
    zones = [dt.datetime(2020, 1, 1, h, tzinfo=dt.timezone(dt.timedelta(hours=h))) for h in (0, 2)]
    assert one(pd.Series(zones, dtype=object)).values == ("2020-01-01T00:00:00+00:00",)
    assert len(one([Decimal("1.0"), Decimal("1.00")]).values) == 1


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "DataFrame has two columns named 'a'."),
        (pd.DataFrame([[1, 2]]), "DataFrame: column labels must be text. Got 0."),
        (pd.DataFrame({"": [1]}), "DataFrame: column 1 has an empty name."),
        (pd.DataFrame({"a": []}), "DataFrame has no rows."),
    ],
)
def test_frames_that_are_refused(frame: pd.DataFrame, sentence: str) -> None:
    assert refusal(frame) == sentence


def test_the_index_and_the_layout_of_a_frame_do_not_matter() -> None:
    frame = pd.DataFrame({"a": ["x", None, "y"], "b": [3, 1, 2]})
    digest = read_source(frame).digest
    shuffled = frame.copy()
    shuffled.index = pd.Index([7, 7, 1])
    strided = pd.concat([frame, frame]).sort_index(kind="stable").iloc[::2]
    for same in (shuffled, strided, frame.astype({"a": "category", "b": "float64"})):
        read = read_source(same)
        assert rows(read) == [("x", "3"), (None, "1"), ("y", "2")]
        assert read.digest == digest


@pytest.mark.parametrize(
    "other",
    [
        {"a": ["x", None, "y"], "c": ["3", "1", "2"]},  # a name
        {"a": ["x", None, "z"], "b": ["3", "1", "2"]},  # a value
        {"a": ["x", "y", None], "b": ["3", "1", "2"]},  # an order
        {"a": ["x", "", "y"], "b": ["3", "1", "2"]},  # a gap
        {"b": ["3", "1", "2"], "a": ["x", None, "y"]},  # an order of columns
    ],
)
def test_the_content_of_a_frame_does_matter(other: dict[str, list[str | None]]) -> None:
    frame = pd.DataFrame({"a": ["x", None, "y"], "b": ["3", "1", "2"]})
    assert read_source(pd.DataFrame(other)).digest != read_source(frame).digest


def test_tokens_do_not_change_a_digest() -> None:
    frame = pd.DataFrame({"a": ["x", "?", ""], "b": [-9.0, 1.0, 2.5]})
    digests = {read_source(frame, missing_tokens=t).digest for t in ((), ("",), ("?", "-9", "2.5"))}
    assert len(digests) == 1


# --- Parquet -------------------------------------------------------------------------------------


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
    column = read_source(path).columns[0]
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
    read, frame = read_source(tmp_path / "t.parquet"), read_source(pd.DataFrame(content))
    assert rows(read) == rows(frame)
    assert [c.values for c in read.columns] == [c.values for c in frame.columns]


def test_parquet_names_are_literal(tmp_path: Path) -> None:
    expected = ["Age", "age", "age_1", 'say "x"', "select", "größe", "it's", "c0"]
    # A nested column, so that names inside it are not taken for columns.
    table = pl.DataFrame({"nested": [{"Age": [1]}], **{name: [name] for name in expected}})
    table.write_parquet(tmp_path / "t.parquet")
    read = read_source(tmp_path / "t.parquet", columns=expected)
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
    read = read_source(path)
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
        "times."
    )
    assert rows(read_source(path, columns=["a"])) == [("1",)]


def test_parquet_infinite_dates(tmp_path: Path) -> None:
    path = copy_to_parquet(tmp_path / "t.parquet", "SELECT 'infinity'::TIMESTAMP AS x")
    assert refusal(path).startswith(f"{path}: column 'x' cannot be read: ")


def test_parquet_without_rows(tmp_path: Path) -> None:
    path = copy_to_parquet(tmp_path / "t.parquet", "SELECT 1 AS a WHERE false")
    assert refusal(path) == f"{path} has no rows."


@pytest.mark.parametrize("data", ["", "this is no parquet file at all"])
def test_parquet_that_is_none(tmp_path: Path, data: str) -> None:
    path = write(tmp_path, data, "t.parquet")
    assert refusal(path).startswith(f"{path} cannot be read: ")


def test_parquet_names_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"": [1]}).write_parquet(path)
    assert refusal(path) == f"{path}: column 1 has an empty name."


def test_parquet_parts(tmp_path: Path) -> None:
    copy_to_parquet(tmp_path / "b.parquet", "SELECT 2::BIGINT AS a, 'x' AS b")
    copy_to_parquet(tmp_path / "a.parquet", "SELECT 1::TINYINT AS a, NULL::VARCHAR AS b")
    assert rows(read_source(tmp_path)) == [("1", None), ("2", "x")]


def test_parquet_parts_with_other_columns(tmp_path: Path) -> None:
    first = copy_to_parquet(tmp_path / "a.parquet", "SELECT 1 AS a")
    second = copy_to_parquet(tmp_path / "b.parquet", "SELECT 1 AS b")
    assert refusal(tmp_path).startswith(f"{second} has the columns b, but {first} has a: ")


@pytest.mark.parametrize(("other", "sql_type"), [("'1'", "VARCHAR"), ("1.0::DOUBLE", "DOUBLE")])
def test_parquet_parts_of_other_types(tmp_path: Path, other: str, sql_type: str) -> None:
    first = copy_to_parquet(tmp_path / "a.parquet", "SELECT 1 AS a")
    second = copy_to_parquet(tmp_path / "b.parquet", f"SELECT {other} AS a")
    assert refusal(tmp_path) == (
        f"Column 'a' is INTEGER in {first} and {sql_type} in {second}; one column holds one type."
    )


def test_a_part_without_any_value_has_any_type(tmp_path: Path) -> None:
    pl.DataFrame({"a": pl.Series([None], dtype=pl.Null)}).write_parquet(tmp_path / "a.parquet")
    copy_to_parquet(tmp_path / "b.parquet", "SELECT 'x' AS a")
    assert rows(read_source(tmp_path)) == [(None,), ("x",)]


# --- Laws ----------------------------------------------------------------------------------------

SPECIAL = ["", "NA", "nan", "NULL", '"', '""', ",", ";", "\t", "|", "\n", "\r", "\r\n", " x ", "#"]
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
CELL = st.one_of(st.sampled_from(SPECIAL), ANY_TEXT)
NAME = ANY_TEXT.filter(lambda name: name and not name.startswith("\ufeff"))


@st.composite
def text_tables(draw: st.DrawFn, cell: st.SearchStrategy[Any] = CELL) -> tuple[list[str], Any]:
    header = draw(st.lists(NAME, min_size=1, max_size=4, unique=True))
    row = st.tuples(*[cell] * len(header))
    return header, draw(st.lists(row, min_size=1, max_size=8))


@given(
    table=text_tables(),
    delimiter=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig"]),
    block=st.sampled_from([1, 5, 1 << 20]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_written_csv_is_read_back(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table: tuple[list[str], list[tuple[str, ...]]],
    delimiter: str,
    quoting: Any,
    encoding: str,
    block: int,
) -> None:
    header, expected = table
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding=encoding) as stream:
        writer = csv.writer(stream, delimiter=delimiter, quoting=quoting)
        writer.writerows([header, *expected])
    monkeypatch.setattr(module, "_BLOCK_BYTES", block)
    monkeypatch.setattr(module, "_BLOCK_ROWS", 3)
    read = read_source(path, delimiter=delimiter, missing_tokens=())
    assert names(read) == header
    assert rows(read) == expected
    for column in read.columns:
        assert column.values == tuple(sorted({str(text) for text in texts(column)}))


@given(table=text_tables(st.none() | CELL))
def test_a_frame_of_text_is_read_as_it_is(table: tuple[list[str], Cells]) -> None:
    header, expected = table
    for dtype in ("object", "str", "category"):
        frame = pd.DataFrame(expected, columns=header, dtype="object").astype(dtype)
        read = read_source(frame, missing_tokens=())
        assert names(read) == header
        assert rows(read) == expected


@given(expected=st.lists(st.tuples(st.none() | CELL, st.none() | CELL), min_size=1, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_written_parquet_is_read_back(tmp_path: Path, expected: Cells) -> None:
    path = tmp_path / "t.parquet"
    with duckdb.connect(":memory:") as database:
        database.execute("CREATE TABLE t (a VARCHAR, b VARCHAR)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [list(row) for row in expected])
        database.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    assert rows(read_source(path, missing_tokens=())) == expected


@given(
    st.one_of(
        st.lists(st.integers(), min_size=1),
        st.lists(st.floats(allow_nan=False), min_size=1),
        st.lists(st.floats(allow_nan=False, width=32).map(np.float32), min_size=1),
        st.lists(st.decimals(allow_nan=False, allow_infinity=False), min_size=1),
        st.lists(st.dates(), min_size=1),
        st.lists(st.datetimes(), min_size=1),
        st.lists(st.datetimes(timezones=st.just(dt.UTC)), min_size=1),
        st.lists(st.times(), min_size=1),
        st.lists(st.booleans(), min_size=1),
    )
)
def test_different_values_never_share_a_text(values: Sequence[Any]) -> None:
    column = one(pd.Series(values, dtype=object))
    by_text = dict(zip(texts(column), values, strict=True))
    assert len(column.values) == len(set(values))
    assert all(by_text[text] == value for text, value in zip(texts(column), values, strict=True))
