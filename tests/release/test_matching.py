"""Released files of any origin, read and found again in their original row by row."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moanon import Hierarchy, Instance, OrderedSpec, Release, TreeSpec, read_table
from moanon.errors import ConfigError, DataError, OutputError
from moanon.grouping import Grouping
from moanon.release import read_released
from tests.release.tables import one_database, releases
from tests.strategies import few

PEOPLE = pd.DataFrame(
    {
        "number": ["1", "2", "3", "4", "5", "6"],
        "age": ["21", "24", "24", "36", "37", "58"],
        "sex": ["f", "m", "m", "f", "f", "m"],
        "ill": ["flu", "gout", "flu", "ill", "flu", "gout"],
    }
)
#: ARX's form: 20s and 30s, then below 40; the fifties stand alone under their own names.
AGES = "21;20s;<40;*\n24;20s;<40;*\n36;30s;<40;*\n37;30s;<40;*\n58;50s;50+;*\n"
SEXES = "f;any\nm;any\n"


def arx_people() -> Instance:
    roles = {"age": "quasi", "sex": "quasi", "ill": "sensitive", "number": "identifying"}
    table = read_table(PEOPLE, roles)
    specs = {
        "age": TreeSpec(Hierarchy.from_arx(AGES)),
        "sex": TreeSpec(Hierarchy.from_arx(SEXES)),
    }
    return Instance.build(table, specs)


def released(folder: Path, text: str, **options: object) -> Grouping:
    """Read a file against PEOPLE; first its header, then its rows, separated by blanks."""
    lines = [line.split() for line in text.strip().splitlines()]
    path = folder / "out.csv"
    path.write_text("".join(",".join(line) + "\n" for line in lines))
    blind = options.pop("blind", False)
    return read_released(path, arx_people().table if blind else arx_people(), **options)


def sizes(found: Grouping) -> list[int]:
    """Rows in the group of each row of the original; 0 for suppressed ones."""
    return [0 if group < 0 else int(found.sizes[group]) for group in found.row_group]


def losses(found: Grouping) -> list[float]:
    assert found.has_meaning
    return [1.0 if group < 0 else float(found.row_loss[group]) for group in found.row_group]


# -- our own files -------------------------------------------------------------------------------


@few
@given(
    releases(),
    st.sampled_from([".csv", ".parquet"]),
    st.sampled_from(["absent", "star"]),
    st.sampled_from([None, 1]),
)
def test_a_release_is_found_again_row_by_row(
    made: tuple[Release, int], ending: str, suppressed: str, shuffle: int | None
) -> None:
    release, _ = made
    expected = release.grouping.released()
    with TemporaryDirectory() as folder, one_database():
        path = Path(folder) / f"release{ending}"
        try:
            release.write(path, suppressed=suppressed, shuffle=shuffle, keep_order=shuffle is None)
        except OutputError:  # a star would mean two things, or names differ in case only
            assume(False)
        found = read_released(path, release.instance)
    assert sizes(found) == sizes(expected)
    assert losses(found) == losses(expected)
    promised = release.promised
    assert (found.k, found.suppressed) == (promised["k", ""], promised["suppressed", ""])


@pytest.mark.parametrize("safe", [False, True])
def test_labels_of_a_release_are_read_whatever_a_spreadsheet_would_do(
    tmp_path: Path, safe: bool
) -> None:
    frame = pd.DataFrame({"=op": ["=1", "'=1", "-x", "=1"], "s": ["a", "b", "-c", "a"]})
    table = read_table(frame, {"=op": "quasi", "s": "sensitive"})
    made = Instance.build(table, {"=op": OrderedSpec(("=1", "'=1", "-x"))})
    release = Release.of(made, [1, 1])
    for name in ("a.csv", "a.parquet"):
        release.write(tmp_path / name, spreadsheet_safe=safe)
        found = read_released(tmp_path / name, made)
        assert (sizes(found), found.matched_by) == ([2, 1, 1, 2], "labels")


# -- files of other programs ---------------------------------------------------------------------


def with_gaps() -> Instance:
    """PEOPLE without the ages of the second and of the last one; a gap is a base value."""
    roles = {"age": "quasi", "sex": "quasi"}
    frame = PEOPLE.assign(age=["21", None, "24", "36", "37", None])
    table = read_table(frame, roles, missing="category")
    specs = {
        "age": TreeSpec(Hierarchy.from_arx(AGES)),
        "sex": TreeSpec(Hierarchy.from_arx(SEXES)),
    }
    return Instance.build(table, specs)


@pytest.mark.parametrize("gap", ["", "(missing)"])
def test_a_gap_may_stay_a_gap(tmp_path: Path, gap: str) -> None:
    rows = ["20s,f", f"{gap},any", "20s,any", "30s,f", "30s,f", f"{gap},any"]
    (tmp_path / "a.csv").write_text("\n".join(["age,sex", *rows]) + "\n")
    found = read_released(tmp_path / "a.csv", with_gaps())
    assert (found.matched_by, sizes(found)) == ("position", [1, 2, 1, 2, 2, 2])
    # Six base values with the gap: 20s and 30s hold 2 of them, 1/5; the gap holds itself.
    assert losses(found) == pytest.approx([0.2, 1, 1.2, 0.2, 0.2, 1])


@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 4], [1, 5]])
def test_a_gap_of_a_typed_file_is_a_label_like_others(tmp_path: Path, rows: list[int]) -> None:
    ages = ["20s", None, "20s", "30s", "30s", None]
    frame = pd.DataFrame({"age": ages, "sex": list("fmmffm")}).iloc[rows]
    path = str(tmp_path / "a.parquet")
    duckdb.from_df(frame).write_parquet(path)
    found = read_released(path, with_gaps())
    expected = [1, 2, 1, 2, 2, 2]
    assert sizes(found) == [expected[row] if row in rows else 0 for row in range(6)]


def test_a_gap_that_was_none_is_refused(tmp_path: Path) -> None:
    message = r"column 'age': the label '' stands for no block of its tree domain"
    (tmp_path / "a.csv").write_text("age,sex\n,f\n" + "20s,f\n" * 5)
    with pytest.raises(DataError, match=message):
        read_released(tmp_path / "a.csv", arx_people())
    message = r"it has 1 row with the labels '', 'f', and the original 0 for them$"
    with pytest.raises(DataError, match=message):
        read_released(tmp_path / "a.csv", with_gaps())


def test_a_star_stands_for_the_only_value_too(tmp_path: Path) -> None:
    table = read_table(PEOPLE.assign(land="here"), {"land": "quasi", "sex": "quasi"})
    specs = {"land": OrderedSpec(("here",)), "sex": OrderedSpec(("f", "m"))}
    (tmp_path / "a.csv").write_text("land,sex\n" + "".join(f"*,{sex}\n" for sex in "fmmffm"))
    found = read_released(tmp_path / "a.csv", Instance.build(table, specs))
    assert (sizes(found), losses(found)) == ([3] * 6, [0] * 6)


def test_columns_that_nobody_spoke_of_are_noted(tmp_path: Path) -> None:
    text = "number age sex zip land ill\n" + "".join(
        f"{row} * {sex} 130{row} here {ill}\n"
        for row, (sex, ill) in enumerate(zip(PEOPLE["sex"], PEOPLE["ill"], strict=True), 1)
    )
    found = released(tmp_path, text)
    assert found.notes == (  # not land, which is the same for all, and not ill, which is sensitive
        f"{tmp_path / 'out.csv'}: not counted as quasi-identifiers: number, zip; whoever knows "
        "such values can tell apart more rows than k says",
    )
    assert released(tmp_path, text, key="number").k == found.k == 3


def test_groups_are_made_of_labels_and_losses_of_their_blocks(tmp_path: Path) -> None:
    found = released(
        tmp_path,
        """
        age sex ill
        20s *   flu
        20s *   gout
        20s *   flu
        30s f   ill
        30s f   flu
        50+ any gout
        """,
    )
    assert found.matched_by == "position"
    assert sizes(found) == [3, 3, 3, 2, 2, 1]
    # Ages: 20s and 30s hold 2 of 5, 1/4; 50+ holds one. Any sex, whatever it is called, is 1.
    assert losses(found) == [1.25, 1.25, 1.25, 0.25, 0.25, 1.0]


def test_labels_that_differ_make_groups_even_where_they_mean_the_same(tmp_path: Path) -> None:
    text = "age sex\n<40 *\n<40 any\n<40 *\n<40 any\n<40 any\n50+ any"
    found = released(tmp_path, text)
    assert sizes(found) == [2, 3, 2, 3, 3, 1]
    assert losses(found) == [1.75] * 5 + [1]  # 3/4 of the ages, any sex


def test_without_domains_labels_are_texts(tmp_path: Path) -> None:
    text = "age sex\nyoung f\nyoung m\nyoung m\nold f\nold f\nold m"
    found = released(tmp_path, text, blind=True)
    assert sizes(found) == [1, 2, 2, 2, 2, 1]
    assert not found.has_meaning
    assert (found.starts, found.stops) == (None, None)


def test_suppressed_rows_may_be_left_out_where_labels_tell_which(tmp_path: Path) -> None:
    text = "ill sex age\ngout m 20s\nflu m 20s\nill f 30s\nflu f 30s"
    found = released(tmp_path, text)
    assert found.matched_by == "labels"
    assert sizes(found) == [0, 2, 2, 2, 2, 0]
    assert found.suppressed == 2


def test_rows_of_stars_are_suppressed(tmp_path: Path) -> None:
    text = "age sex ill\n* * *\n20s m gout\n20s m flu\n30s f ill\n30s f flu\n* * *"
    found = released(tmp_path, text)
    assert (found.matched_by, sizes(found)) == ("labels", [0, 2, 2, 2, 2, 0])
    assert found.notes == ()


def test_stars_in_all_quasi_identifiers_are_a_group_unless_told_otherwise(tmp_path: Path) -> None:
    text = "age sex ill\n* * flu\n20s m gout\n20s m flu\n30s f ill\n30s f flu\n* * gout"
    found = released(tmp_path, text)
    assert (found.k, sizes(found)) == (2, [2] * 6)
    (note,) = found.notes
    assert note.endswith(
        "out.csv: rows that show * in every quasi-identifier, but not in all cells (2), are "
        "measured as a group; if they are suppressed, say stars='quasi'"
    )
    found = released(tmp_path, text, stars="quasi")
    assert (found.suppressed, sizes(found)) == (2, [0, 2, 2, 2, 2, 0])


def test_where_all_is_generalized_away_stars_are_labels(tmp_path: Path) -> None:
    found = released(tmp_path, "age sex\n" + "* *\n" * 6)
    assert (found.k, found.suppressed) == (6, 0)


def test_a_key_finds_rows_in_any_order(tmp_path: Path) -> None:
    # Labels that overlap: by themselves they would not tell which row of the 20s is which.
    text = "number age sex\n3 <40 m\n2 20s m\n6 50s m\n1 <40 f"
    found = released(tmp_path, text, key="number")
    assert found.matched_by == "key"
    assert sizes(found) == [1, 1, 1, 0, 0, 1]
    assert losses(found) == [0.75, 0.25, 0.75, 1, 1, 0]


def test_labels_that_overlap_settle_rows_that_fit_one_group_alone(tmp_path: Path) -> None:
    # <40 and 20s overlap, but not for one sex; the man of the fifties is left out
    found = released(
        tmp_path, "age sex ill\n20s m flu\n<40 f flu\n<40 f ill\n20s m gout\n<40 f flu"
    )
    assert found.matched_by == "labels"
    assert sizes(found) == [3, 2, 2, 3, 3, 0]


def test_a_group_that_more_rows_fit_is_not_settled_by_labels(tmp_path: Path) -> None:
    # three women fit <40 f, and one of them is suppressed
    text = "age sex ill\n20s m flu\n<40 f flu\n<40 f ill\n20s m gout"
    with pytest.raises(DataError, match=r"it is open which row is which .* name a key column"):
        released(tmp_path, text)


# -- what does not fit ---------------------------------------------------------------------------

ALL = "age sex ill\n21 f flu\n24 m gout\n24 m flu\n36 f ill\n37 f flu\n"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("age\n20s", {}, r"out\.csv has no column 'sex'"),
        (ALL + "50s m gout", {"key": "nr"}, r"out\.csv has no column 'nr'"),
        (
            ALL + "teens m gout",
            {},
            r"out\.csv, column 'age': the label 'teens' stands for no block of its tree domain "
            r"\(the 5 leaves of '\*'\), or for more than one$",
        ),
        (
            ALL + "20s m gout",
            {},
            r"out\.csv cannot be matched row by row: in row 6 the label '20s' of column 'age' does "
            r"not hold the original's value, and by labels it is open which row is which \(column "
            r"'age' shows both '20s' and '21'\); name a key column",
        ),
        (
            "age sex ill\n20s m flu\n20s m flu",
            {},
            r"out\.csv does not fit DataFrame: in some group the sensitive column 'ill' has other "
            r"values than the original$",
        ),
        (
            "age sex ill\n20s m flu",
            {},
            r"does not fit DataFrame: it has 1 row with the labels '20s', 'm', and the original 2 "
            r"for them$",
        ),
        (
            ALL + "50s m flu\n50s m flu",
            {"blind": True},
            r"out\.csv cannot be matched row by row: it has 7 rows and DataFrame has 6; name a key "
            r"column, or say what its labels mean with a configuration or hierarchies$",
        ),
        (
            ALL + "50s m flu",
            {"blind": True},
            r"matched row by row: in row 6 the sensitive column 'ill' has another value than",
        ),
        (
            "number age sex\n1 20s f\n1 20s f",
            {"key": "number"},
            r"the key column 'number' must have another value in every row\. Got one value in 2 ro",
        ),
        (
            "number age sex\n1 20s f\n9 20s f",
            {"key": "number"},
            r"does not fit DataFrame: no row there has the key \('number'\) of row 2$",
        ),
        (
            "number age sex\n1 30s f",
            {"key": "number"},
            r"does not fit DataFrame: in row 1 the label '30s' of column 'age' does not hold",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, text: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        released(tmp_path, text, **options)


@pytest.mark.parametrize(("row", "label"), [(4, "20s"), (3, "30s"), (6, "30s"), (5, "50s")])
def test_a_label_that_misses_its_value_by_one_is_refused(
    tmp_path: Path, row: int, label: str
) -> None:
    # In the order of the domain, 21 24 | 36 37 | 58, each value stands right beside the block.
    ages = ["20s", "20s", "20s", "30s", "30s", "50s"]
    shown = PEOPLE.assign(age=ages)
    released(tmp_path, shown.to_string(index=False), key="number")
    shown.loc[row - 1, "age"] = label
    message = (
        rf"in row {row} the label '{label}' of column 'age' does not hold the original's value"
    )
    with pytest.raises(DataError, match=message):
        released(tmp_path, shown.to_string(index=False), key="number")


def test_a_cell_without_a_label_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age,sex\n" + "20s,any\n" * 5 + ",any\n")
    with pytest.raises(DataError, match=r"column 'age': the label '' stands for no block"):
        read_released(path, arx_people())
    rows = ", ".join(["('20s', 'any')"] * 5 + ["(NULL, 'any')"])
    path = tmp_path / "a.parquet"
    duckdb.sql(f"COPY (SELECT * FROM (VALUES {rows}) AS t(age, sex)) TO '{path}'")
    with pytest.raises(DataError, match=r"'age': a cell without a value stands for no block"):
        read_released(path, arx_people())
    assert sizes(read_released(path, arx_people().table)) == [5, 5, 5, 5, 5, 1]


def test_incomplete_rows_of_the_original_are_named(tmp_path: Path) -> None:
    frame = PEOPLE.assign(age=["21", "24", "24", "36", "37", None])
    table = read_table(frame, {"age": "quasi"}, missing="drop")
    path = tmp_path / "a.csv"
    path.write_text("age\n" + "x\n" * 6)
    with pytest.raises(DataError, match=r"has 6 rows and DataFrame \(without 1 incomplete rows\)"):
        read_released(path, table)


def test_other_words_about_stars_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^stars must be one of all, quasi\. Got 'some'$"):
        released(tmp_path, ALL, stars="some")


def test_the_file_of_another_table_is_refused(tmp_path: Path) -> None:
    other = PEOPLE.assign(age=PEOPLE["age"].to_numpy()[::-1])
    made = Instance.build(
        read_table(other, {"age": "quasi", "sex": "quasi"}),
        {"age": TreeSpec(Hierarchy.from_arx(AGES)), "sex": TreeSpec(Hierarchy.from_arx(SEXES))},
    )
    Release.of(made, np.ones(made.layout.bits, dtype=int)).write(tmp_path / "a.csv")
    with pytest.raises(DataError, match=r"does not fit DataFrame: it has 1 row with the labels"):
        read_released(tmp_path / "a.csv", arx_people())
