"""CSV: what stands in a file is what comes out, or one sentence names the line."""

from __future__ import annotations

import csv
import gzip
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moanon.data import file_form, readers
from moanon.engines import open_source
from tests.data.reading import Cells, columns, names, refusal, rows, text_tables, texts, write

# -- what is read ---------------------------------------------------------------------------------


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
    assert rows(open_source(write(tmp_path, data))) == expected


def test_text_stays_text(tmp_path: Path) -> None:
    values = ["NA", "None", "nan", "NULL", "01234", "1e5", " x", "True", "1.0", "-"]
    path = write(tmp_path, "a,b\n" + "".join(f"{value},x\n" for value in values))
    assert texts(columns(open_source(path))[0]) == values


def test_declared_tokens_are_missing_and_only_they(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n?,1\nNA,2\n,3\n")
    assert texts(columns(open_source(path, missing_tokens=["?", "NA"]))[0]) == [None, None, ""]


def test_no_token_leaves_the_empty_text_a_value(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n,1\n")
    assert texts(columns(open_source(path, missing_tokens=()))[0]) == [""]


def test_a_blank_line_is_a_cell_where_there_is_one_column(tmp_path: Path) -> None:
    path = write(tmp_path, 'a\n1\n\n""\n \n3\n')
    assert rows(open_source(path)) == [("1",), (None,), (None,), (" ",), ("3",)]


def test_values_are_sorted_and_every_one_occurs(tmp_path: Path) -> None:
    column = columns(open_source(write(tmp_path, "a,b\nz,1\n,2\na,3\nz,4\n")))[0]
    assert column.values == ("a", "z")
    assert column.codes.tolist() == [1, -1, 0, 1]
    assert column.codes.dtype == np.int32
    assert column.missing == 1
    assert column.native is None


def test_fields_longer_than_the_parsers_limit(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    long = "é" * (before + 1)
    path = write(tmp_path, f'a,b\n{long},"{long},"\n')
    assert rows(open_source(path)) == [(long, long + ",")]
    assert csv.field_size_limit() == before


def test_rows_keep_their_order_over_many_blocks(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(file_form, "BLOCK_BYTES", 64)
    monkeypatch.setattr(readers, "BLOCK_ROWS", 7)
    expected = [(str(i), "é\n" * (i % 3)) for i in range(1, 200)]
    data = "n,t\n" + "".join(f'{n},"{t}"\n' for n, t in expected)
    read = open_source(write(tmp_path, data), missing_tokens=())
    assert rows(read) == expected
    assert read.rows == 199


def test_gzip(tmp_path: Path) -> None:
    packed = gzip.compress(b"a,b\n1,2\n")
    read = open_source(write(tmp_path, packed, "t.csv.gz"))
    assert rows(read) == [("1", "2")]
    assert read.digest == hashlib.sha256(packed).hexdigest()


def test_broken_gzip(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(b"a,b\n1,2\n" * 99)[:-12], "t.csv.gz")
    assert refusal(path).startswith(f"{path} cannot be read: ")


# -- delimiters and headers -----------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_found_in_the_header(tmp_path: Path, delimiter: str) -> None:
    other = ";" if delimiter == "," else ","
    data = f'a{delimiter}"b{other}{other}{other}"{delimiter}c{other}d\n1{delimiter}2{delimiter}3\n'
    read = open_source(write(tmp_path, data))
    assert names(read) == ["a", f"b{other}{other}{other}", f"c{other}d"]
    assert rows(read) == [("1", "2", "3")]


def test_an_undecided_header_asks_for_the_delimiter(tmp_path: Path) -> None:
    path = write(tmp_path, "a;b,c\n1;2,3\n")
    assert refusal(path) == f"{path}: its header can be split at ',' or ';'; name the delimiter"
    assert names(open_source(path, delimiter=",")) == ["a;b", "c"]


@pytest.mark.parametrize(("name", "expected"), [("t.csv", None), ("t.tsv", "a,b")])
def test_one_column_falls_back_on_the_ending(
    tmp_path: Path, name: str, expected: str | None
) -> None:
    path = write(tmp_path, "x\na,b\n", name)
    if expected:
        assert rows(open_source(path)) == [(expected,)]
    else:
        assert refusal(path) == (
            f"{path}, line 2 has 2 fields where the header has 1 (delimiter ',')"
        )


def test_the_first_line_is_the_header_whatever_it_looks_like(tmp_path: Path) -> None:
    read = open_source(write(tmp_path, "1,2\n3,4\n"))
    assert names(read) == ["1", "2"]
    assert rows(read) == [("3", "4")]


def test_names_are_literal(tmp_path: Path) -> None:
    expected = ["Age", "age", " age", 'say "x"', "select", "größe", "two\nlines", "c0", "it's"]
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([expected, [str(i) for i in range(9)]])
    read = open_source(path)
    assert names(read) == expected
    assert rows(read) == [tuple("012345678")]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            "a,b,a\n1,2,3\n",
            "{} has two columns named 'a'; data: {{header: numbered}} gives each a "
            "name of its own (age, age.2)",
        ),
        (
            "a,,c\n1,2,3\n",
            "{}: column 2 has an empty name; data: {{header: numbered}} gives each a "
            "name of its own (age, age.2)",
        ),
        ("\na,b\n1,2\n", "{}: line 1 is blank; it must name the columns"),
        ("", "{} is empty: it has no rows"),
        ("\ufeff", "{} is empty: it has no rows"),
        ("a,b\n", "{} has no rows"),
        ("a,b", "{} has no rows"),
        ("a,b\n\n\n", "{} has no rows"),
    ],
)
def test_headers_that_are_refused(tmp_path: Path, data: str, sentence: str) -> None:
    path = write(tmp_path, data)
    assert refusal(path) == sentence.format(path)


# -- what is refused ------------------------------------------------------------------------------


RETURN = "a carriage return stands outside quotes; lines must end with LF or CRLF"
DOUBLED = "text follows a closing quote; a quote inside a quoted field must be doubled"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("a,b\n1\n3,4\n", ", line 2 has 1 field where the header has 2 (delimiter ',')"),
        ("a,b\n1,2\n3", ", line 3 has 1 field where the header has 2 (delimiter ',')"),
        ("a,b\n1,2,3\n", ", line 2 has 3 fields where the header has 2 (delimiter ',')"),
        ("a,b\n1,2,\n", ", line 2 has 3 fields where the header has 2 (delimiter ',')"),
        ("a,b\n1,2\n \n", ", line 3 has 1 field where the header has 2 (delimiter ',')"),
        # Lines of the file, not rows: a quoted field and a blank line lie before.
        ('a,b\n"1\n\n1",2\n\n3\n', ", line 6 has 1 field where the header has 2 (delimiter ',')"),
        ('a,b\n1,2\n"3,4\n5,6\n', ", line 3: a quoted field is never closed"),
        ('a,b\n1,2\n"3"x,4\n', f", line 3: {DOUBLED}"),
        ('a,b\n1,2\n"3" ,4\n', f", line 3: {DOUBLED}"),
        ("a,b\n1,2\rx\n3,4\n", f", line 2: {RETURN}"),
        ("a,b\r1,2\r3,4\r", f", line 1: {RETURN}"),
        ('"a,b\n1,2\n', ", line 1: a quoted field is never closed"),
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
    advice = "save it as UTF-8, or name its encoding (data: encoding: latin-1)"
    assert refusal(path) == f"{path} is not UTF-8 ({what}): {advice}"


def test_offsets_count_from_the_start_of_the_file(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(file_form, "BLOCK_BYTES", 8)
    path = write(tmp_path, b"a,b\n" + b"1,2\n" * 9 + b"\xff,2\n")
    assert "(byte 0xFF at offset 40)" in refusal(path)


def test_nul_bytes(tmp_path: Path) -> None:
    path = write(tmp_path, b"a,b\n1\x00,2\n")
    assert refusal(path) == f"{path} is not text: NUL byte at offset 5"


# -- laws -----------------------------------------------------------------------------------------


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
    monkeypatch.setattr(file_form, "BLOCK_BYTES", block)
    monkeypatch.setattr(readers, "BLOCK_ROWS", 3)
    read = open_source(path, delimiter=delimiter, missing_tokens=())
    assert names(read) == header
    assert rows(read) == expected
    for column in read.columns:
        assert column.values == tuple(sorted({str(text) for text in texts(column)}))
