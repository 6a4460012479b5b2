"""Sources: which files are read, in which order, by which name; and frames."""

from __future__ import annotations

import gzip
import hashlib
import os
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.table import did_you_mean
from moanon.engines import open_source
from tests.data.reading import CELL, Cells, names, refusal, rows, text_tables, write

# -- files, folders, globs ------------------------------------------------------------------------


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n", "adult.csv")
    path = tmp_path / "adlut.csv"
    assert refusal(path) == f"{path} does not exist (did you mean 'adult.csv'?)"
    nowhere = tmp_path / "no" / "x.csv"
    assert refusal(nowhere) == f"{nowhere} does not exist"


def test_a_glob_without_match(tmp_path: Path) -> None:
    assert refusal(f"{tmp_path}/*.csv") == f"no file matches {tmp_path}/*.csv"


def test_an_ending_that_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path, "a\n1\n", "t.xls")
    assert refusal(path) == (
        f"{path} has an ending that is not read: read are .csv, .tsv, .txt, .data, .csv.gz, "
        ".csv.zst, .parquet and .xlsx"
    )


def test_a_source_that_is_neither_path_nor_frame() -> None:
    assert refusal([1, 2]) == "source must be a path or a DataFrame. Got list"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = write(tmp_path, "a\n1\n")
    path.chmod(0)
    assert refusal(path) == f"{path} cannot be read: Permission denied"


def test_an_error_while_reading_names_the_file(tmp_path: Path, monkeypatch: Any) -> None:
    path = write(tmp_path, "a\n1\n")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(hashlib, "file_digest", fail)
    assert refusal(path) == f"{path} cannot be read: Input/output error"


def test_a_folder_is_read_in_sorted_order(tmp_path: Path) -> None:
    write(tmp_path, "a,b\n2,y\n", "p2.csv")
    write(tmp_path, "a;b\n1;x\n", "p1.CSV")
    write(tmp_path, gzip.compress(b"a,b\n3,z\n"), "p3.csv.gz")
    write(tmp_path, "nonsense", ".hidden.csv")
    write(tmp_path, "nonsense", "notes.md")
    (tmp_path / "p0.csv").mkdir()
    read = open_source(tmp_path)
    assert rows(read) == [("1", "x"), ("2", "y"), ("3", "z")]
    assert read.name == str(tmp_path)
    assert read.rows == 3


def test_a_glob_is_read_in_sorted_order(tmp_path: Path) -> None:
    for name in ("b", "c", "a"):
        write(tmp_path, f"x\n{name}\n", f"{name}.csv")
    write(tmp_path, "other\n1\n", "z.txt")
    read = open_source(f"{tmp_path}/*.csv")
    assert rows(read) == [("a",), ("b",), ("c",)]
    assert read.name == f"{tmp_path}/*.csv"


def test_a_part_with_only_a_header_is_fine(tmp_path: Path) -> None:
    write(tmp_path, "a\n", "1.csv")
    write(tmp_path, "a\nx\n", "2.csv")
    assert rows(open_source(tmp_path)) == [("x",)]


@pytest.mark.parametrize("header", ["b,a", "a,B", "a,b,c"])
def test_parts_with_other_columns(tmp_path: Path, header: str) -> None:
    first = write(tmp_path, "a,b\n1,2\n", "1.csv")
    second = write(tmp_path, f"{header}\n1,2\n", "2.csv")
    assert refusal(tmp_path) == (
        f"{second} has the columns {header.replace(',', ', ')}, but {first} has a, b: files read "
        "together must have the same columns in the same order"
    )


def test_a_folder_of_two_kinds(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n")
    write(tmp_path, "", "t.parquet")
    assert refusal(tmp_path) == f"{tmp_path} mixes .parquet with text files: give one kind"


def test_a_folder_of_nothing(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n", "notes.md")
    assert refusal(tmp_path) == f"the folder {tmp_path} holds no .csv and no .parquet file"


@pytest.mark.parametrize("name", ["b.tsv", "b.TXT"])
@pytest.mark.parametrize("beside", ["a.csv", "a.parquet", "a.md"])
def test_a_folder_leaves_no_table_out(tmp_path: Path, name: str, beside: str) -> None:
    write(tmp_path, "a\n1\n", beside)
    write(tmp_path, "a\n2\n", name)
    assert refusal(tmp_path) == (
        f"the folder {tmp_path} holds {name}, which would be left out, as only .csv, .csv.gz, "
        ".csv.zst and .parquet files are read from a folder: name the files to read with a glob, "
        f"such as {tmp_path}/*{name[1:].lower()}, or move it elsewhere"
    )


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".csv.gz", ".parquet"])
def test_a_folder_leaves_no_table_of_a_sub_folder_out(tmp_path: Path, ending: str) -> None:
    write(tmp_path, "a\n1\n", "a.csv")
    (tmp_path / "x" / "y").mkdir(parents=True)
    write(tmp_path / "x" / "y", "", f"b{ending}")
    assert refusal(tmp_path) == (
        f"the folder {tmp_path} holds a table in a sub-folder, x/y/b{ending}, which would be left "
        f"out: name the files to read with a glob, such as {tmp_path}/**/*{ending}, or move it "
        "elsewhere"
    )


def test_a_folder_whose_sub_folders_are_values_is_refused(tmp_path: Path) -> None:
    (tmp_path / "year=2020").mkdir()
    write(tmp_path / "year=2020", "", "b.parquet")
    assert refusal(tmp_path) == (
        f"the folder {tmp_path} holds a table in a sub-folder, year=2020/b.parquet, which would be "
        "left out: a value in the name of a folder is not read, so write the table to one file "
        "with a column for it"
    )


def test_what_is_hidden_or_no_table_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n", "a.csv")
    write(tmp_path, "", "README.md")
    write(tmp_path, "a\n2\n", ".b.tsv")
    for folder in (".hidden", "docs/.hidden", "docs/empty"):
        (tmp_path / folder).mkdir(parents=True)
    write(tmp_path / ".hidden", "a\n3\n", "c.csv")
    write(tmp_path / "docs" / ".hidden", "a\n4\n", "d.csv")
    write(tmp_path / "docs", "", "page.html")
    assert rows(open_source(tmp_path)) == [("1",)]


def test_the_files_that_were_read_are_known_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "real"
    real.mkdir()
    for name in ("a.csv", "b.csv"):
        write(real, "a\n1\n", name)
    (tmp_path / "link").symlink_to(real)
    monkeypatch.chdir(tmp_path)
    both = (real.resolve() / "a.csv", real.resolve() / "b.csv")
    assert open_source("link").files == both
    assert open_source("real/../real/*.csv").files == both
    assert open_source("link/b.csv").files == both[1:]
    assert open_source(pd.DataFrame({"a": ["1"]})).files == ()


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
        read = open_source(path)
        assert names(read) == ["a"]
        assert rows(read) == [("right",)]


# -- digest, name, choice of columns, tokens, delimiter -------------------------------------------


def test_digest_of_one_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    read = open_source(write(tmp_path, "a\r\n1\r\n"))
    assert read.digest == hashlib.sha256(b"a\r\n1\r\n").hexdigest()


def test_digest_of_several_files_knows_names_and_bytes(tmp_path: Path) -> None:
    def digest(folder: str, parts: dict[str, str]) -> str:
        (tmp_path / folder).mkdir()
        for name, data in parts.items():
            write(tmp_path / folder, data, name)
        return open_source(tmp_path / folder).digest

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
    assert open_source(path).name == str(path)
    assert open_source(path, name="adult").name == "adult"
    assert open_source(pd.DataFrame({"a": ["1"]})).name == "DataFrame"
    assert open_source(pd.DataFrame({"a": ["1"]}), name="adult").name == "adult"


def test_chosen_columns_come_in_file_order(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["1"], "b": ["2"], "c": ["3"], "d": ["4"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    pl.DataFrame(frame.to_dict("list")).write_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.csv", tmp_path / "t.parquet"):
        read = open_source(source, columns=["d", "b"])
        assert names(read) == ["b", "d"]
        assert rows(read) == [("2", "4")]
        assert read.unread == ("a", "c")
        assert open_source(source).unread == ()


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    path = write(tmp_path, "age,sex\n1,2\n")
    assert refusal(path, columns=["aeg"]) == f"{path} has no column 'aeg' (did you mean 'age'?)"
    assert refusal(path, columns=["Zürich"]) == f"{path} has no column 'Zürich'"


@pytest.mark.parametrize(("token", "text"), [(-9, "-9"), (None, "None"), (9.5, "9.5")])
def test_tokens_must_be_texts(token: Any, text: str) -> None:
    frame = pd.DataFrame({"a": [-9, 1]})
    assert refusal(frame, missing_tokens=["", token]) == (
        f"missing_tokens must be texts, as they stand in the table. Got {token}; write {text!r}"
    )


def test_tokens_must_be_several() -> None:
    frame = pd.DataFrame({"a": [-9, 1]})
    assert refusal(frame, missing_tokens=-9) == "missing_tokens must be a list of texts. Got -9"


@pytest.mark.parametrize(
    ("name", "sign"), [("a\0", "a NUL character"), ("\ufeffa", "a byte order mark")]
)
def test_a_name_with_a_sign_that_nobody_sees(name: str, sign: str) -> None:
    assert refusal(pd.DataFrame({"b": ["1"], name: ["1"]})) == (
        f"DataFrame: the name of column 2, {name!a}, holds {sign}, which nobody sees; take it out "
        "of the name"
    )


def test_a_name_that_no_file_can_hold() -> None:
    # Names as objects: where pyarrow is installed, pandas itself refuses them otherwise.
    names = pd.Index(["b", "a\ud800"], dtype=object)
    assert refusal(pd.DataFrame([["1", "1"]], columns=names)) == (
        "DataFrame: the name of column 2, 'a\\ud800', holds half a character, which no file can "
        "hold"
    )


def test_a_second_byte_order_mark_of_a_file_is_seen(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeff\ufeffa\n1\n")
    assert "holds a byte order mark" in refusal(path)


def test_nearest_name() -> None:
    assert did_you_mean("quazi", ["quasi", "sensitive"]) == " (did you mean 'quasi'?)"
    assert did_you_mean("x", ["quasi"]) == ""


def test_tokens_must_be_a_list(tmp_path: Path) -> None:
    path = write(tmp_path, "a\n1\n")
    assert refusal(path, missing_tokens="NA") == (
        "missing_tokens must be a list of texts. Got the text 'NA'"
    )


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n"])
def test_delimiter_must_be_one_character(tmp_path: Path, delimiter: str) -> None:
    assert refusal(write(tmp_path, "a\n1\n"), delimiter=delimiter) == (
        f"delimiter must be one character, no quote and no line end. Got {delimiter!r}"
    )


# -- frames ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "DataFrame has two columns named 'a'"),
        (pd.DataFrame([[1, 2]]), "DataFrame: column labels must be text. Got 0"),
        (pd.DataFrame({"": [1]}), "DataFrame: column 1 has an empty name"),
        (pd.DataFrame({"a": []}), "DataFrame has no rows"),
    ],
)
def test_frames_that_are_refused(frame: pd.DataFrame, sentence: str) -> None:
    assert refusal(frame) == sentence


def test_the_index_and_the_layout_of_a_frame_do_not_matter() -> None:
    frame = pd.DataFrame({"a": ["x", None, "y"], "b": [3, 1, 2]})
    digest = open_source(frame).digest
    shuffled = frame.copy()
    shuffled.index = pd.Index([7, 7, 1])
    strided = pd.concat([frame, frame]).sort_index(kind="stable").iloc[::2]
    for same in (shuffled, strided, frame.astype({"a": "category", "b": "float64"})):
        read = open_source(same)
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
    assert open_source(pd.DataFrame(other)).digest != open_source(frame).digest


def test_tokens_do_not_change_a_digest() -> None:
    frame = pd.DataFrame({"a": ["x", "?", ""], "b": [-9.0, 1.0, 2.5]})
    digests = {open_source(frame, missing_tokens=t).digest for t in ((), ("",), ("?", "-9", "2.5"))}
    assert len(digests) == 1


@given(table=text_tables(st.none() | CELL))
def test_a_frame_of_text_is_read_as_it_is(table: tuple[list[str], Cells]) -> None:
    header, expected = table
    for dtype in ("object", "str", "category"):
        frame = pd.DataFrame(expected, columns=header, dtype="object").astype(dtype)
        read = open_source(frame, missing_tokens=())
        assert names(read) == header
        assert rows(read) == expected
