"""Rows that stay in their files: the same table as the strict reader makes, and the same cells."""

from __future__ import annotations

import datetime
import errno
import importlib
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.cell_reading import FileForm, FormKeys
from moanon.data.cells import Cells, raw_group_sizes
from moanon.data.domain import IntervalSpec, OrderedSpec
from moanon.data.readers import look_at
from moanon.data.table import Table
from moanon.engines import open_source, read_table
from moanon.engines import read_table as open_table
from moanon.engines.duck import DuckSession, HeldRows
from moanon.engines.files import RowsInFiles
from moanon.errors import DataError
from tests.checkout import environment

MEMORY = "100MB"
ROLES = {"a": "quasi", "b": "sensitive"}

#: Files of which there is but one reading, and files that only the strict reader reads right.
PLAIN = {
    "quoted": b'a,b\n"x ""y""",2\n"p,q","l1\nl2"\n"""",""""""\n',
    "crlf": b"a,b\r\n1,2\r\n3,4\r\n",
    "byte order mark": b"\xef\xbb\xbfa,b\n1,2\n",
    "texts that look like numbers": b"a,b\n007,1e5\n 5,+3\n-0,NULL\nnull,NA\nnan,0x1F\n",
    "empty and quoted empty": b'a,b\n1,""\n"",x\n,y\n',
    "no end of line": b"a,b\n1,2\n3,4",
    "hash": b"a,b\n#1,2\n3,#4\n",
    "blanks": b"a,b\n  ,x \n\t,\xc2\xa0\n",
    "backslash": b'a,b\n\\,\\N\n"\\",1\n',
    "quoted crlf rows": b'a,b\r\n"1","2"\r\n"3",4\r\n',
    "names in case": b"a,b,A\n1,2,3\n",
    "semicolons": b"a;b\n1,5;2\n",
}
HOSTILE = {
    "quote inside": b'a,b\nx"y,2\n"z",3\n',
    "mixed line ends": b'a,b\r\n1,2\n3,4\r\n"q",5\n',
    "blank line": b"a,b\n1,2\n\n3,4\n",
    "return inside quotes": b'a,b\n"1\r\n2",2\n',
}
REFUSED = {
    "blank before quote": b'a,b\n1,"2" \n',
    "lone return": b"a,b\n1\r,2\n",
    "short row": b"a,b\n1,2\n3\n",
    "long row": b"a,b\n1,2\n3,4,5\n",
    "delimiter too many": b"a,b\n1,2\n3,4,\n5,6\n",
    "delimiter too many, always": b"a,b\n1,2,\n3,4,\n",
    "NUL": b"a,b\n1\x00,2\n",
    "not UTF-8": b"a,b\n\xff,2\n",
    "open quote": b'a,b\n"1,2\n',
    "text after a quote": b'a,b\n"1"x,2\n',
    "two columns of a name": b"a,b,a\n1,2,3\n",
    "no such column": b"a,c\n1,2\n",
    "no rows": b"a,b\n",
}


def written(folder: Path, content: bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def same(here: Table, there: Table) -> None:
    """Two tables of the same rows, wherever these are."""
    assert (here.source, here.digest, here.roles) == (there.source, there.digest, there.roles)
    assert (here.rows, here.rows_in, here.rows_dropped) == (
        there.rows,
        there.rows_in,
        there.rows_dropped,
    )
    assert (here.undeclared, here.files) == (there.undeclared, there.files)
    for name in there.columns:
        one, two = here.columns[name], there.columns[name]
        assert (one.name, one.values, one.missing) == (two.name, two.values, two.missing)
        assert one.counts.tolist() == two.counts.tolist()
        assert str(one.native) == str(two.native)
        rows = here.column(name)
        assert rows.codes.tolist() == there.column(name).codes.tolist()
    domains = {n: OrderedSpec(there.columns[n].values).build(there.columns[n]) for n in there.quasi}
    mine, theirs = Cells.build(here, domains), Cells.build(there, domains)
    assert mine.codes.tolist() == theirs.codes.tolist()
    assert mine.counts.tolist() == theirs.counts.tolist()
    for left, right in zip(mine.sensitive, theirs.sensitive, strict=True):
        assert (left.name, left.labels) == (right.name, right.labels)
        for part in ("starts", "values", "counts"):
            assert getattr(left, part).tolist() == getattr(right, part).tolist()
    assert sorted(raw_group_sizes(here)) == sorted(raw_group_sizes(there))


@pytest.mark.parametrize("content", PLAIN.values(), ids=PLAIN)
def test_plain_files_are_left_to_duckdb_and_read_alike(tmp_path: Path, content: bytes) -> None:
    path = written(tmp_path, content)
    table = open_table(path, ROLES, missing="category", memory=MEMORY)
    assert isinstance(table.store, RowsInFiles)
    same(table, read_table(path, ROLES, missing="category"))


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_other_files_are_written_again_by_the_strict_reader(tmp_path: Path, content: bytes) -> None:
    path = written(tmp_path, content)
    assert look_at([path], FileForm()) is None
    table = open_table(path, ROLES, missing="category", memory=MEMORY)
    assert isinstance(table.store, RowsInFiles)
    same(table, read_table(path, ROLES, missing="category"))


def test_another_encoding_and_compression_are_read_alike(tmp_path: Path) -> None:
    import zstandard

    content = "a,b,c\nä,é,1\n".encode("latin-1")
    for path in (
        written(tmp_path, content, "latin.csv"),
        written(tmp_path, zstandard.ZstdCompressor().compress(content), "latin.csv.zst"),
    ):
        given: dict[str, Any] = {"missing": "category", "encoding": "latin-1"}
        table = open_table(path, ROLES, memory=MEMORY, **given)
        assert isinstance(table.store, RowsInFiles)
        same(table, read_table(path, ROLES, **given))


def test_a_disk_that_is_full_while_a_file_is_written_again_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("moanon.data.readers._Rewriter._write", full)
    with pytest.raises(DataError, match="the disk for its temporary copy is full; set TMPDIR"):
        open_table(written(tmp_path, HOSTILE["blank line"]), ROLES, memory=MEMORY)


@pytest.mark.parametrize("content", REFUSED.values(), ids=REFUSED)
def test_what_the_strict_reader_refuses_is_refused_with_its_words(
    tmp_path: Path, content: bytes
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(DataError) as strict:
        read_table(path, ROLES, missing="category")
    with pytest.raises(DataError) as caught:
        open_table(path, ROLES, missing="category", memory=MEMORY)
    assert str(caught.value) == str(strict.value)


@given(st.binary(max_size=40).map(lambda noise: b"a,b\n1,2\n" + noise))
def test_a_file_is_plain_only_if_duckdb_reads_it_as_the_strict_reader(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = written(tmp_path_factory.mktemp("noise"), content)
    if look_at([path], FileForm()) is None:
        return
    strict = read_table(path, ROLES, missing="category")
    same(open_table(path, ROLES, missing="category", memory=MEMORY), strict)


#: What readers take in different ways.
SIGNS = [
    *(
        b"x",
        b'"',
        b",",
        b"\n",
        b"\r\n",
        b"\r",
        b" ",
        b"\t",
        b'""',
        b"\xc3\xa9",
        b"\xef\xbb\xbf",
        b"\0",
    ),
    *(b"1e5", b"007", b"+1", b"1.0", b"NULL", b"NaN", b"null", b"\\N", b"#", b";", b"x" * 3000),
    *(b'"a","b"\n', b"1,2\n", b'" 1",2 \r\n'),
]


@given(
    st.lists(st.lists(st.sampled_from(SIGNS)).map(b"".join), max_size=6).map(b"\n".join),
    st.sampled_from([b"a,b\n1,2\n", b"\xef\xbb\xbfa,b\r\n1,2\r\n", b'"a","b"\n"1","2"\n']),
)
def test_signs_that_matter_are_never_taken_otherwise(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, head: bytes
) -> None:
    path = written(tmp_path_factory.mktemp("signs"), head + noise)
    strict, table = (_read_or_told(read, path) for read in (read_table, open_there))
    if isinstance(strict, str) or isinstance(table, str):
        assert table == strict
    else:
        assert isinstance(table.store, RowsInFiles)
        same(table, strict)


def open_there(path: Path, roles: dict[str, str], **form: Any) -> Table:
    return open_table(path, roles, memory=MEMORY, **form)


def _read_or_told(read: Callable[..., Table], path: Path) -> Table | str:
    try:
        return read(path, ROLES, missing="category", delimiter=",")
    except DataError as error:
        return str(error)


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b"1,x\n2,y\n1,y\n", {"header": ("a", "b")}),
        (b"a,b,a\n1,x,1\n2,y,2\n", {"header": "numbered"}),
        (b" a, b\n1, x\n 2 ,\ty\n", {"trim": True}),
        (b"1, x\n1,x\n", {"header": ("a", "b"), "trim": True}),
    ],
)
def test_files_of_any_form_are_read_alike(tmp_path: Path, content: bytes, form: FormKeys) -> None:
    path = written(tmp_path, content)
    table = open_table(path, ROLES, memory=MEMORY, **form)
    assert isinstance(table.store, RowsInFiles)
    same(table, read_table(path, ROLES, **form))


def test_quotes_beside_blanks_are_left_to_the_strict_reader(tmp_path: Path) -> None:
    path = written(tmp_path, b'a,b\n1, "x, y"\n2,z \n')
    table = open_table(path, ROLES, memory=MEMORY, trim=True)
    same(table, read_table(path, ROLES, trim=True))


def test_most_conforming_files_are_plain(tmp_path: Path) -> None:
    # Else the test above would hold for a look that finds nothing plain.
    path = written(tmp_path, b"a,b\n" + b'"x, ""y""\nz",2\n' * 1000)
    assert look_at([path], FileForm()) == (("a", "b"), ",", 1000)


# -- Parquet -------------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
TYPED: dict[str, tuple[str, list[Any]]] = {
    "int": ("INTEGER", [3, None, -1, 3]),
    "unsigned": ("UBIGINT", [2**64 - 1, 0, None, 0]),
    "float": ("DOUBLE", [1.0, 0.0, -0.0, NAN]),
    "fractions": ("DOUBLE", [1.5, INF, None, 1e300]),
    "single": ("FLOAT", [0.1, 0.1, None, 2.5]),
    "bool": ("BOOLEAN", [True, False, None, True]),
    "decimal": ("DECIMAL(9,2)", [Decimal("1.50"), Decimal("-2"), None, Decimal("1.50")]),
    "text": ("VARCHAR", ["", "x", None, " x"]),
    "date": ("DATE", [datetime.date(2001, 2, 3), None, datetime.date(1, 1, 1)] * 1 + [None]),
    "time": ("TIMESTAMP", [datetime.datetime(2001, 2, 3, 4, 5, 6, 7), None] * 2),
    "zoned": (
        "TIMESTAMP WITH TIME ZONE",
        [datetime.datetime(2001, 2, 3, tzinfo=datetime.UTC), None] * 2,
    ),
    "uuid": ("UUID", ["12345678-1234-5678-1234-567812345678", None] * 2),
}


def parquet(path: Path, columns: dict[str, tuple[str, list[Any]]]) -> Path:
    with duckdb.connect() as database:
        declared = ", ".join(f'"{name}" {kind}' for name, (kind, _) in columns.items())
        database.execute(f"CREATE TABLE t({declared})")
        rows = list(zip(*(values for _, values in columns.values()), strict=True))
        database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(columns))})", rows)
        database.execute(f"COPY t TO '{path}' (FORMAT PARQUET)")
    return path


@pytest.mark.parametrize("tokens", [("",), ("", "3", "0", "0.1", "x")])
def test_every_type_has_the_texts_that_it_has_in_memory(
    tmp_path: Path, tokens: tuple[str, ...]
) -> None:
    path = parquet(tmp_path / "t.parquet", {**TYPED, "who": TYPED["int"], "s": TYPED["fractions"]})
    roles = {**dict.fromkeys(TYPED, "quasi"), "who": "identifying", "s": "sensitive"}
    here = open_table(path, roles, missing="category", missing_tokens=tokens, memory=MEMORY)
    assert isinstance(here.store, RowsInFiles)
    same(here, read_table(path, roles, missing="category", missing_tokens=tokens))


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_number_that_is_none_is_found_where_the_file_tells_the_greatest_number(
    tmp_path: Path, kind: str
) -> None:
    """Arrow leaves it out of the least and the greatest number, as the format wants it."""
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    columns = {name: np.array([1.5, NAN, 0, 2, 2, 3], dtype=kind) for name in ROLES}
    importlib.import_module("pyarrow.parquet").write_table(
        arrow.table(columns), tmp_path / "t.parquet"
    )
    here = open_table(tmp_path / "t.parquet", ROLES, missing="category", memory=MEMORY)
    assert isinstance(here.store, RowsInFiles)
    assert [column.missing for column in here.columns.values()] == [1, 1]
    same(here, read_table(tmp_path / "t.parquet", ROLES, missing="category"))


def test_rows_with_gaps_are_dropped_where_they_are(tmp_path: Path) -> None:
    chosen = {"a": TYPED["text"], "b": TYPED["int"], "kept": TYPED["float"], "who": TYPED["bool"]}
    path = parquet(tmp_path / "t.parquet", chosen)
    roles = {**ROLES, "kept": "insensitive", "who": "identifying"}
    here = open_table(path, roles, missing="drop", missing_tokens=["-1"], memory=MEMORY)
    same(here, read_table(path, roles, missing="drop", missing_tokens=["-1"]))
    assert (here.rows, here.rows_dropped) == (2, 2)


def test_a_type_that_is_not_read_is_refused_with_the_strict_readers_words(tmp_path: Path) -> None:
    path = parquet(tmp_path / "t.parquet", {"a": ("INTEGER[]", [[1]]), "b": ("INTEGER", [1])})
    with pytest.raises(DataError, match=r"column 'a' holds INTEGER\[\] values"):
        open_table(path, ROLES, memory=MEMORY)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_folders_and_globs_are_one_table(tmp_path: Path, ending: str) -> None:
    for number, rows in enumerate([["1", "2"], ["2", "3"], ["3", "3"]]):
        path = tmp_path / f"part [{number}].{ending}"
        if ending == "csv":
            path.write_text("b,a\n" + "".join(f"x{row},{row}\n" for row in rows))
        else:
            values = {"b": ("VARCHAR", [f"x{row}" for row in rows]), "a": ("VARCHAR", rows)}
            parquet(path, values)
    for source in (tmp_path, tmp_path / f"part*.{ending}"):
        table = open_table(source, ROLES, memory=MEMORY)
        assert isinstance(table.store, RowsInFiles)
        same(table, read_table(source, ROLES))


@pytest.mark.parametrize("kinds", [("INTEGER", "BIGINT"), ("UBIGINT", "TINYINT")])
def test_whole_numbers_may_have_different_types_in_files(
    tmp_path: Path, kinds: tuple[str, str]
) -> None:
    for number, kind in enumerate(kinds, 1):
        parquet(tmp_path / f"{number}.parquet", {"a": (kind, [number]), "b": ("VARCHAR", ["x"])})
    table = open_table(tmp_path, ROLES, memory=MEMORY)
    assert table.columns["a"].values == ("1", "2")
    assert table.column("a").codes.tolist() == [0, 1]


# -- both ----------------------------------------------------------------------------------------


def test_text_files_of_few_cells_are_held_unless_a_limit_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, b"a,b\n1,2\n3,4\n")
    assert isinstance(open_table(path, ROLES).store, HeldRows)
    assert isinstance(open_source(path, ["a"]).store, HeldRows)
    assert isinstance(open_source(path, ["a"], memory=MEMORY).store, RowsInFiles)
    monkeypatch.setattr("moanon.engines.opening._FEW_CELLS", 3)
    there = open_table(path, ROLES)
    assert isinstance(there.store, RowsInFiles)
    same(there, open_table(path, ROLES, memory=MEMORY))


def test_rows_that_nearly_all_differ_are_staged_as_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moanon.engines.relations._SAMPLE", 3)
    path = written(tmp_path, b"a,b,c\n" + b"".join(b"%d,%d,0\n" % (i, i % 3) for i in range(50)))
    table = open_table(path, {**ROLES, "c": "insensitive"}, memory=MEMORY)
    same(table, read_table(path, {**ROLES, "c": "insensitive"}))


def test_many_wide_columns_need_more_than_one_key(tmp_path: Path) -> None:
    # 7 columns of 1,000 values: 70 bits.
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 1000, size=(300, 7))
    text = "\n".join(",".join(map(str, row)) for row in [*rows, *rows[:50]])
    path = written(tmp_path, b"q0,q1,q2,q3,q4,q5,q6\n" + text.encode() + b"\n")
    roles = {f"q{i}": "quasi" for i in range(7)}
    same(open_table(path, roles, memory=MEMORY), read_table(path, roles))


def test_rows_without_some_values_are_counted_where_they_are(tmp_path: Path) -> None:
    path = written(tmp_path, b"a,b\n1,x\n2,y\n2,x\n3,x\n,x\n")
    here = open_table(path, ROLES, missing="category", memory=MEMORY)
    there = read_table(path, ROLES, missing="category")
    left_out = {"a": np.array([True, False, False, True]), "b": np.array([False, True, False])}
    assert here.without(left_out).rows == 2  # not 1, the missing one, and y
    same(here.without(left_out), there.without(left_out))


def test_amounts_of_memory_are_checked(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"memory must be an amount such as 500MB or 2GB\. Got 'lots'"
    ):
        open_table(written(tmp_path, b"a,b\n1,2\n"), ROLES, memory="lots")


def test_an_interval_takes_its_range_from_rows_that_were_not_dropped(tmp_path: Path) -> None:
    path = written(tmp_path, b"a,b\n1,x\n2,y\n99,\n")
    table = open_table(path, ROLES, missing="drop", memory=MEMORY)
    assert IntervalSpec().build(table.columns["a"]).size == 2


def test_a_disk_that_is_full_while_duckdb_spills_is_told() -> None:
    session = DuckSession("people.parquet", "21MB")
    session.execute("SET max_temp_directory_size = '1MB'")  # by default what the disk has left
    with pytest.raises(DataError) as caught:
        session.execute("CREATE TEMP TABLE t AS SELECT i, md5(i::TEXT) FROM range(2000000) r(i)")
    assert str(caught.value) == (
        "people.parquet cannot be read: the disk that DuckDB spills to is full; set TMPDIR to a "
        "larger one"
    )


def test_more_memory_than_duckdb_may_hold_is_told() -> None:
    session = DuckSession("people.parquet", "20MB")
    with pytest.raises(DataError, match="it needs more than the 20MB that it may hold; give more"):
        session.execute("SELECT list(md5(i::TEXT)) FROM range(2000000) r(i)")


def test_no_bar_of_duckdb_is_drawn_in_a_shell() -> None:
    """It draws one where Python was given no file to run."""
    asked = "DuckSession('t').value(\"SELECT current_setting('enable_progress_bar')\")"
    script = f"from moanon.engines.duck import DuckSession; print({asked})"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"
