"""The table: roles in file order, missing values settled by the policy and counted."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.table import MissingPolicy, Role, Table, give_roles
from moanon.engines import Source, open_source, read_table
from moanon.errors import DataError
from tests.data.reading import texts
from tests.refusals import refusal_of

ROLES = {"name": "identifying", "age": "quasi", "ill": "sensitive", "note": "insensitive"}
PEOPLE = pd.DataFrame(
    {
        "name": ["Ada", None, "Cyd", "Dan", "Eve"],
        "extra": ["1", "2", "3", "4", "5"],
        "age": [30.0, 41.0, np.nan, 30.0, np.nan],
        "note": ["x", None, "y", None, "z"],
        "ill": ["flu", "flu", "gout", None, None],
    }
)


refusal = partial(refusal_of, DataError)


# --- Roles ---------------------------------------------------------------------------------------


def test_roles_come_in_file_order() -> None:
    table = read_table(
        PEOPLE, {"ill": "sensitive", "age": "quasi", "name": Role.IDENTIFYING}, missing="drop"
    )
    assert list(table.roles.items()) == [
        ("name", Role.IDENTIFYING),
        ("age", Role.QUASI),
        ("ill", Role.SENSITIVE),
    ]
    assert list(table.columns) == ["name", "age", "ill"]


def test_columns_by_role() -> None:
    table = read_table(PEOPLE, {**ROLES, "extra": "quasi"}, missing="drop")
    assert table.identifying == ("name",)
    assert table.quasi == ("extra", "age")
    assert table.sensitive == ("ill",)
    assert table.insensitive == ("note",)


def test_undeclared_columns_are_named_and_left_out() -> None:
    table = read_table(PEOPLE, {"age": "quasi"}, missing="drop")
    assert table.undeclared == ("name", "extra", "note", "ill")
    assert list(table.columns) == ["age"]


def test_undeclared_columns_of_a_whole_source() -> None:
    read = open_source(PEOPLE, columns=["age", "ill", "note"])
    assert give_roles(read, {"age": "quasi"}, "drop").undeclared == ("note", "ill", "name", "extra")


def test_undeclared_columns_may_hold_anything() -> None:
    frame = pd.DataFrame({"a": ["x"], "odd": [[1, 2]]})
    assert read_table(frame, {"a": "quasi"}).undeclared == ("odd",)


def test_source_and_digest_are_handed_on(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1;?\n", encoding="utf-8")
    roles = {"a": "quasi", "b": "insensitive"}
    table = read_table(path, roles, missing_tokens=["?"], delimiter=";")
    assert (table.source, table.digest) == (str(path), open_source(path).digest)
    assert texts(table.column("b")) == [None]


def test_an_unknown_role() -> None:
    assert refusal(read_table, PEOPLE, {"age": "quazi"}) == (
        "the role of column 'age' must be one of identifying, quasi, sensitive, insensitive. "
        "Got 'quazi' (did you mean 'quasi'?)"
    )


@pytest.mark.parametrize("roles", [{}, {"age": "sensitive"}])
def test_no_quasi_identifier(roles: dict[str, str]) -> None:
    assert refusal(read_table, PEOPLE, roles) == (
        "there is no quasi-identifier: give at least one column the role quasi"
    )


def test_roles_are_checked_before_anything_is_read() -> None:
    assert "no quasi-identifier" in refusal(read_table, "no-such-file.csv", {})
    assert "missing must be" in refusal(
        read_table, "no-such-file.csv", {"a": "quasi"}, missing="ignore"
    )


def test_a_declared_column_that_is_not_there() -> None:
    sentence = "DataFrame has no column 'aeg' (did you mean 'age'?)"
    assert refusal(read_table, PEOPLE, {"aeg": "quasi"}) == sentence
    assert refusal(give_roles, open_source(PEOPLE), {"aeg": "quasi"}, "drop") == sentence


def test_a_column_that_was_never_declared() -> None:
    table = read_table(PEOPLE, {"age": "quasi"}, missing="drop")
    assert table.column("age") is table.columns["age"]
    assert refusal(table.column, "agee") == (
        "the table from DataFrame has no column 'agee' (did you mean 'age'?)"
    )


# --- Missing values ------------------------------------------------------------------------------


def test_drop_removes_rows_without_quasi_or_sensitive_value() -> None:
    table = read_table(PEOPLE, ROLES, missing="drop")  # 3 and 5 miss age, 4 and 5 ill
    assert texts(table.column("age")) == ["30", "41"]
    assert texts(table.column("ill")) == ["flu", "flu"]
    assert (table.rows, table.rows_in, table.rows_dropped) == (2, 5, 3)


def test_drop_leaves_gaps_in_other_columns() -> None:
    table = read_table(PEOPLE, ROLES, missing="drop")
    assert texts(table.column("name")) == ["Ada", None]
    assert texts(table.column("note")) == ["x", None]


def test_drop_leaves_no_ghosts_of_dropped_rows() -> None:
    table = read_table(PEOPLE, ROLES, missing="drop")
    assert table.column("ill").values == ("flu",)  # gout went with row 3
    assert table.column("note").values == ("x",)
    native = table.column("age").native
    assert native is not None
    assert native.tolist() == [30.0, 41.0]


def test_category_keeps_every_row_and_gap() -> None:
    table = read_table(PEOPLE, ROLES, missing="category")
    assert texts(table.column("age")) == ["30", "41", None, "30", None]
    assert texts(table.column("ill")) == ["flu", "flu", "gout", None, None]
    assert (table.rows, table.rows_in, table.rows_dropped) == (5, 5, 0)


def test_error_names_columns_and_rows() -> None:
    frame = PEOPLE.assign(ill=["flu", "flu", "gout", "", "flu"])
    sentence = (
        "DataFrame misses values in 'age' (2 rows) and 'ill' (1 row); complete the data, or say "
        "what becomes of such rows with missing: drop (they are left out), category (missing is a "
        "value of its own) or error (they are refused, as now)"
    )
    assert refusal(read_table, frame, ROLES, missing="error") == sentence
    assert refusal(read_table, frame, ROLES) == sentence  # nobody is left out in silence
    assert refusal(give_roles, open_source(frame), ROLES) == sentence


@pytest.mark.parametrize(
    ("dropped", "told"),
    [
        (0, ""),
        (1, "1 of 1,200 rows was dropped for missing values"),
        (1100, "1,100 of 1,200 rows were dropped for missing values"),
    ],
)
def test_dropped_rows_are_told(dropped: int, told: str) -> None:
    frame = pd.DataFrame({"a": [""] * dropped + ["1"] * (1200 - dropped)})
    assert read_table(frame, {"a": "quasi"}, missing="drop").dropped == told


def test_error_looks_at_quasi_and_sensitive_columns_only() -> None:
    roles = {"extra": "quasi", "name": "identifying", "note": "insensitive"}
    table = read_table(PEOPLE, roles, missing="error")
    assert (table.rows, table.rows_dropped) == (5, 0)
    assert texts(table.column("name")) == ["Ada", None, "Cyd", "Dan", "Eve"]


@pytest.mark.parametrize("missing", get_args(MissingPolicy))
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_a_column_without_any_value(missing: MissingPolicy, role: str) -> None:
    frame = pd.DataFrame({"a": ["1", "2"], "b": ["", ""]})
    assert refusal(read_table, frame, {"a": "quasi", "b": role}, missing=missing) == (
        f"DataFrame: the {role} column 'b' has no value in any of its 2 rows"
    )


def test_other_columns_may_be_empty() -> None:
    frame = pd.DataFrame({"a": ["1"], "b": [""], "c": [None]})
    table = read_table(frame, {"a": "quasi", "b": "identifying", "c": "insensitive"})
    assert table.column("b").values == table.column("c").values == ()


def test_nothing_left_after_dropping() -> None:
    frame = pd.DataFrame({"a": ["1", "", ""], "b": ["", "2", "3"]})
    assert refusal(read_table, frame, {"a": "quasi", "b": "sensitive"}, missing="drop") == (
        "DataFrame has no row left: all 3 rows were dropped for missing values in "
        "'a' (2 rows) and 'b' (1 row)"
    )


def test_an_unknown_policy() -> None:
    assert refusal(read_table, PEOPLE, ROLES, missing="dorp") == (
        "missing must be one of drop, category, error. Got 'dorp' (did you mean 'drop'?)"
    )


# --- Laws ----------------------------------------------------------------------------------------

CELL = st.sampled_from([None, "", "NA", "a", "b", "c"])
ROWS = st.lists(st.tuples(CELL, CELL, CELL, CELL), min_size=1, max_size=12)
ALL_ROLES = dict(zip("qsin", ["quasi", "sensitive", "insensitive", "identifying"], strict=True))


def settled(read: Source, missing: MissingPolicy) -> Table | None:
    """The table, or None where the source has to be refused."""
    try:
        return give_roles(read, ALL_ROLES, missing)
    except DataError:
        return None


@given(cells=ROWS, missing=st.sampled_from(get_args(MissingPolicy)))
def test_every_row_is_kept_or_counted(cells: list[Any], missing: MissingPolicy) -> None:
    read = open_source(pd.DataFrame(cells, columns=list("qsin"), dtype=object))
    complete = [row for row in cells if row[0] and row[1]]
    table = settled(read, missing)
    some = any(row[0] for row in cells) and any(row[1] for row in cells)
    possible = {"drop": bool(complete), "category": some, "error": complete == cells}[missing]
    assert (table is not None) == possible
    if table is None:
        return
    kept = complete if missing == "drop" else cells
    expected = [tuple(cell or None for cell in row) for row in kept]
    found = list(zip(*(texts(table.column(name)) for name in "qsin"), strict=True))
    assert found == expected
    assert table.rows == len(expected)
    assert table.rows_in == len(cells) == table.rows + table.rows_dropped


@given(cells=ROWS, missing=st.sampled_from(get_args(MissingPolicy)))
def test_values_are_exactly_those_that_occur(cells: list[Any], missing: MissingPolicy) -> None:
    read = open_source(pd.DataFrame(cells, columns=list("qsin"), dtype=object))
    table = settled(read, missing)
    for column in table.columns.values() if table else ():
        assert column.values == tuple(sorted({t for t in texts(column) if t is not None}))
        assert column.native is not None
        assert tuple(column.native) == column.values
        assert column.codes.dtype == np.int32


@pytest.mark.parametrize("roles", [["age"], [("age", "quasi")], "age", None])
def test_roles_must_be_a_mapping(roles: Any) -> None:
    kind = type(roles).__name__
    with pytest.raises(
        DataError, match=rf"roles must be a mapping of column names to roles, .* Got {kind}$"
    ):
        read_table(PEOPLE, roles)


def test_a_table_knows_the_files_it_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age\n1\n")
    assert read_table(path, {"age": "quasi"}).files == (path.resolve(),)
    assert read_table(PEOPLE, ROLES, missing="drop").files == ()
