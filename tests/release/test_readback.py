"""The independent reader: it finds what is in a file, and refuses what is no release."""

from __future__ import annotations

import ast
import csv
import dataclasses
import importlib.util
import math
import re
import threading
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from moanon.data.domain import OrderedDomain
from moanon.data.readers import long_fields
from moanon.errors import CertificateError
from moanon.release.labels import label_rules
from moanon.release.readback import Reading, measure_file
from moanon.release.reader_privacy import SensitiveFacts

FACTS = SensitiveFacts({"a": 3, "b": 1})


def reading(**changes: object) -> Reading:
    rules = label_rules(OrderedDomain(("1", "2")))
    told = Reading("csv", ("q", "s"), {"q": rules}, {"s": FACTS}, table_rows=4)
    return dataclasses.replace(told, **changes)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "its columns are  instead of q, s"),
        ("q,t\n1,a\n", "its columns are q, t instead of q, s"),
        ("q,s\n", "it has no rows"),
        ("q,s\n1,a\n\n1,b\n", "the row that ends in line 3 has 0 cells instead of 2"),
        ("q,s\n1,a,\n", "the row that ends in line 2 has 3 cells instead of 2"),
        ('q,s\n1, "a"\n', "column 's': the table has no value ' \"a\"'"),
        ("\ufeffq,s\n1,a\n", "its columns are \ufeffq, s instead of q, s"),
        ("q,s\n1\n", "the row that ends in line 2 has 1 cells instead of 2"),
        ("q,s\n1,a\n3,a\n", "column 'q': the label '3' stands for no block"),
        ('q,s\n1,"a\n', "it is not a readable CSV file"),
        ("q,s\n1,\udcff\n", "it is not a readable CSV file"),
        ("q,s\n1,a\n1,c\n", "column 's': the table has no value 'c'"),
    ],
)
def test_files_that_are_no_release_are_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "other.csv"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(CertificateError, match=re.escape(complaint)):
        measure_file(path, reading())


def test_files_that_are_no_parquet_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    path.write_text("q,s\n1,a\n")
    with pytest.raises(CertificateError, match="it is not a readable Parquet file"):
        measure_file(path, reading(format="parquet"))


def test_parts_of_other_types_are_refused(tmp_path: Path) -> None:
    """As numbers, '1' and '01' would be the same, and k 3 instead of 1."""
    folder = tmp_path / "parts.parquet"
    folder.mkdir()
    for number, labels in enumerate(("1, 1", "'1', '01'")):
        query = f"SELECT unnest([{labels}]) AS q, 'a' AS s"
        duckdb.sql(f"COPY ({query}) TO '{folder}/part-{number}.parquet'")
    with pytest.raises(
        CertificateError,
        match=r"column 'q' holds VARCHAR in part-1.parquet and INTEGER in part-0.parquet",
    ):
        measure_file(folder, reading(format="parquet"))


def test_reader_counts_what_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "release.csv"
    path.write_text("q,s\n1,a\n*,*\n1,b\n2,a\n")
    values, public, _ = measure_file(path, reading(stars=True))
    # Beside 3/4 and 1/4 of the table, 1/4 of {a, b} must move, and of {a}, where b is missing.
    # JS of {a}, the larger one: ½ (ln(8/7) + ¾ ln(6/7) + ¼ ln 2)
    js = (math.log(8 / 7) + 3 / 4 * math.log(6 / 7) + 1 / 4 * math.log(2)) / 2
    assert values == {
        ("rows", ""): 3,
        ("suppressed", ""): 1,
        ("groups", ""): 2,
        ("k", ""): 1,
        ("weighted_k_kept", ""): Fraction(4 + 1, 3),
        ("gl", ""): 0,
        ("sl", ""): 0.25,
        ("loss", ""): 0.25,
        ("l_distinct", "s"): 1,
        ("l_frequency", "s"): 1,
        ("l_entropy", "s"): 1.0,
        ("l_recursive", "s"): 1,
        ("p_sensitive", "s"): 1,
        ("alpha", "s"): 1.0,
        ("t_closeness", "s"): 0.25,
        ("t_equal", "s"): 0.25,
        ("t_js", "s"): pytest.approx(js),
        ("delta", "s"): math.inf,
        ("delta_present", "s"): pytest.approx(math.log(2)),  # of b in {a, b}
        ("beta", "s"): 1.0,  # of b in {a, b}: 1/2 beside 1/4
        ("beta_enhanced", "s"): math.inf,  # of a in {a}: 1/3, more than -ln(3/4) = 0.28…
    }
    # Beside 2/3 and 1/3 of the file, 1/6 of {a, b} must move and 1/3 of {a}.
    # JS of {a}: ½ (ln(6/5) + ⅔ ln(4/5) + ⅓ ln 2)
    js = (math.log(6 / 5) + 2 / 3 * math.log(4 / 5) + 1 / 3 * math.log(2)) / 2
    assert public == {
        **values,
        ("t_closeness", "s"): 1 / 3,
        ("t_equal", "s"): 1 / 3,
        ("t_js", "s"): pytest.approx(js),
        ("delta_present", "s"): pytest.approx(math.log(3 / 2)),  # of b in {a, b}, or a in {a}
        ("beta", "s"): 0.5,  # of either
    }


def test_losses_in_domains_of_the_table_are_measured_and_not_published(tmp_path: Path) -> None:
    path = tmp_path / "release.csv"
    path.write_text("q,s\n1,a\n1,b\n")
    values, public, _ = measure_file(path, reading(declared=False))
    assert values.keys() - public.keys() == {("gl", ""), ("loss", "")}
    assert ("sl", "") in public


@pytest.mark.parametrize("stars", [False, True])
def test_files_of_any_size_and_format_measure_alike(tmp_path: Path, stars: bool) -> None:
    rows = [("1", "a"), ("1", "b"), ("2", "a"), ("1", "a"), *([("*", "*")] if stars else [])]
    plain, columns = tmp_path / "release.csv", tmp_path / "release.parquet"
    plain.write_text("".join(f"{q},{s}\n" for q, s in [("q", "s"), *rows]))
    duckdb.sql(f"FROM read_csv('{plain}', all_varchar = true)").write_parquet(str(columns))
    told = reading(stars=stars, table_rows=len(rows))
    found = measure_file(plain, told)
    assert measure_file(columns, dataclasses.replace(told, format="parquet")) == found
    # DuckDB would read these differently, or not at all: they are parsed strictly and fed to it.
    plain.write_text(plain.read_text().replace("\n1,b\n", '\r\n"1",b\n'))
    assert measure_file(plain, told) == found


def test_reader_shares_no_code_with_the_writer() -> None:
    for module in (
        "labels",
        "reader_privacy",
        "readback",
        "certificate",
    ):
        source = importlib.util.find_spec(f"moanon.release.{module}")
        assert source is not None
        assert source.origin is not None
        nodes = ast.walk(ast.parse(Path(source.origin).read_text(encoding="utf-8")))
        imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        writer = {f"moanon.release{each}" for each in ("", ".applied", ".solution")}
        assert not imported & {*writer, "moanon.genome", "moanon.grouping", "moanon.recoding"}
        assert not any(str(name).startswith("moanon.kernels") for name in imported)
        # a table of a database is counted there, over another connection
        engines = {name for name in imported if str(name).startswith("moanon.engines")}
        assert not engines or module == "certificate"
        # which end of a measure is better and how exact it is, but nothing that measures
        facts = {"moanon.measures", "moanon.measures.measure"} if module == "certificate" else {}
        measures = {name for name in imported if str(name).startswith("moanon.measures")}
        assert measures <= {*facts}


def test_the_limit_on_cells_stays_lifted_while_another_reader_ends(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("q,s\n1,a\n")
    before = csv.field_size_limit()
    reader = threading.Thread(target=measure_file, args=(path, reading()))
    with long_fields():
        reader.start()
        reader.join(0.05)
        assert csv.field_size_limit() == 2**31 - 1
        assert reader.is_alive()  # it waits for its turn
    reader.join()
    assert csv.field_size_limit() == before
