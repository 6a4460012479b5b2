"""Starter configurations: careful guesses, and always one that passes the check."""

from __future__ import annotations

import csv
import gzip
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon import datasets
from moanon.config import Config, starter
from moanon.config.guessing import MAX_BASE, Guess, guess
from moanon.config.starter import write_starter
from moanon.data.column import Column
from moanon.errors import DataError, OutputError


def write_csv(file: Path, columns: Mapping[str, Sequence[object]]) -> Path:
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return file


def column(name: str, cells: Sequence[object]) -> Column:
    """Factorize cells; the empty text is missing."""
    texts = [str(cell) for cell in cells]
    values = sorted(set(texts) - {""})
    codes = [values.index(text) if text else -1 for text in texts]
    return Column(name, np.array(codes, dtype=np.int32), tuple(values), None)


def guessed(name: str, cells: Sequence[object]) -> tuple[str, object]:
    """The role of a column, and what else is said of it."""
    entry = guess(column(name, cells)).entry
    return entry.pop("role"), entry


def reason(name: str, cells: Sequence[object]) -> str:
    return guess(column(name, cells)).reason


def interval(granularity: object, ends: Sequence[object]) -> dict[str, object]:
    return {"kind": "interval", "granularity": granularity, "range": list(ends)}


def ordered(*order: str) -> dict[str, object]:
    return {"kind": "ordered", "order": list(order)}


# -- numbers and dates ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "granularity", "ends"),
    [
        (range(17, 91), 1, (17, 90)),
        (range(17, 118), 2, (16, 117)),  # 101 values: steps of 1 would be more than 100
        ([0, 1] * 20, 1, (0, 1)),
        ([7] * 20, 1, (7, 7)),
        ([-3, 4] * 9, 1, (-3, 4)),
        (range(-20_000, 900_000, 997), 10_000, (-20_000, 899_999)),
        (["0.1", "0.9"] * 9, 0.1, (0.1, 0.9)),  # no finer than the numbers are written
        (["0.1", "0.8", "0.9"] * 9, 0.1, (0.1, 1)),  # 0.9 is not merged with 0.8
        (["1.5", "99.25"] * 9, 1, (1, 100)),
        (["-0.5", "0.25"] * 9, 0.01, (-0.5, 0.25)),
        (["3.0"] * 9, 1, (3, 4)),
        (["1e30", "2.5"] * 9, 2 * 10**28, (0, 10**30)),
    ],
)
def test_numbers_get_few_round_steps(
    cells: Sequence[object], granularity: float, ends: tuple[float, float]
) -> None:
    assert guessed("x", [*cells, *cells]) == ("quasi", interval(granularity, ends))


@pytest.mark.parametrize(
    ("cells", "granularity", "ends"),
    [
        (["2024-01-01", "2024-02-10"], "day", ("2024-01-01", "2024-02-10")),
        (["2024-01-03", "2024-12-01"], "week", ("2024-01-01", "2024-12-01")),
        (["2018-05-03", "2024-12-24"], "month", ("2018-05-01", "2024-12-31")),
        (["2005-05-03", "2024-11-24"], "quarter", ("2005-04-01", "2024-12-31")),
        (["1925-05-03T12:00:00", "2024-11-24"], "year", ("1925-01-01", "2024-12-31")),
        (["1905-05-03", "2024-11-24"], "decade", ("1900-01-01", "2029-12-31")),
        (["0001-01-01", "9999-12-31"], "decade", ("0001-01-01", "9999-12-31")),
    ],
)
def test_dates_get_a_unit_of_the_calendar(
    cells: list[str], granularity: str, ends: tuple[str, str]
) -> None:
    assert guessed("x", cells) == ("quasi", interval(granularity, ends))


def test_numbers_with_leading_zeros_are_codes() -> None:
    assert guessed("zip", ["01", "10", "2"] * 4) == ("quasi", ordered("01", "2", "10"))


def test_a_number_for_each_row_is_identifying() -> None:
    assert guess(column("x", range(1000, 1020))) == Guess(
        {"role": "identifying"},
        "20 different values, one for each row like a number",
    )
    assert guessed("x", range(5 * 10**8, 6 * 10**8, 5 * 10**6))[0] == "identifying"
    assert guessed("x", range(0, 4000, 40))[0] == "quasi"


def test_numbers_beyond_all_measure_are_identifying() -> None:
    assert guess(column("x", ["1e-999", "2e-999"] * 3)) == Guess(
        {"role": "identifying"},
        "2 different values that cannot be generalized as they stand",
    )


# -- texts ---------------------------------------------------------------------------------------


def test_few_texts_are_ordered_with_numbers_as_numbers() -> None:
    cells = ["10th", "9th", "a", "B"] * 5
    assert guessed("x", cells) == ("quasi", ordered("9th", "10th", "a", "B"))
    assert reason("x", cells).startswith("4 different values, in the order of the alphabet: ")


@pytest.mark.parametrize(
    ("cells", "seen"),
    [
        ([f"v{i}" for i in range(20)], "20 different values, nearly one for each row"),
        (["x" * 100, "y"] * 10, "2 different values, texts rather than categories: look at them"),
        (["a b c d e f", "b c d e"] * 10, "2 different values, texts rather than"),
        ([""] * 10, "no value in any row"),
        (["*", "a"] * 10, "2 different values that cannot be generalized as they stand"),
        (
            ["(missing)", "a", "", "a", "(missing)"] * 2,
            "2 different values that cannot be generalized as they stand",
        ),
    ],
)
def test_other_texts_are_identifying(cells: list[str], seen: str) -> None:
    assert guessed("x", cells) == ("identifying", {})
    assert reason("x", cells).startswith(seen)


def test_too_many_texts_to_put_in_order_get_a_rule() -> None:
    codes = [f"v{i % (MAX_BASE + 1)}" for i in range(200)]
    assert guessed("x", codes) == ("quasi", {"kind": "tree", "hierarchy": {"mask": "right"}})
    assert reason("x", codes) == (
        "51 different values, codes: their last characters are hidden first; levels of the "
        "hierarchy: 10 such as v0"
    )
    towns = [f"{'ABCDE'[i % 5]} {'town' * (i % 11 + 1)}" for i in range(400)]
    assert guessed("x", towns) == ("quasi", {"kind": "tree", "hierarchy": {"frequency": 4}})
    assert "too many to put in order: rare ones are merged first" in reason("x", towns)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("id", "identifying"),
        ("PatientID", "identifying"),
        ("e_mail", "identifying"),
        ("name", "identifying"),
        ("First Name", "identifying"),
        ("country name", "quasi"),
        ("idle", "quasi"),
        ("Disease", "sensitive"),
        ("salary-class", "sensitive"),
        ("mainDiagnosis", "sensitive"),
        ("income_2024", "sensitive"),
        ("sex", "quasi"),
    ],
)
def test_the_name_counts(name: str, role: str) -> None:
    assert guessed(name, ["a", "b", "c"] * 5)[0] == role


def test_free_text_is_never_kept_for_its_name() -> None:
    assert guessed("diagnosis notes", [f"text {i}" for i in range(20)])[0] == "identifying"


# -- files ---------------------------------------------------------------------------------------


def test_writes_beside_the_file_and_counts_roles(tmp_path: Path) -> None:
    file = write_csv(
        tmp_path / "my.csv",
        {"id": range(8), "age": [30, 40] * 4, "disease": ["flu", "flu", "none", "none"] * 2},
    )
    path, roles = write_starter(file)
    assert path == tmp_path / "my.yaml"
    assert roles == {"identifying": 1, "quasi": 1, "sensitive": 1}
    assert {path.name for path in tmp_path.iterdir()} == {"my.csv", "my.yaml"}
    config = Config.load(path)
    assert config.name == "my"
    assert config.instance().cells.rows == 8


def test_the_text_counts_and_shows_no_identifying_value(tmp_path: Path) -> None:
    file = write_csv(
        tmp_path / "t.csv",
        {
            "name": [f"Ann{i}" for i in range(6)],
            "sex": ["f", "m", ""] * 2,
            "n": ["9", "NA", "8"] * 2,
        },
    )
    text = write_starter(file)[0].read_text(encoding="utf-8")
    assert "Ann" not in text
    assert "# A first configuration, guessed from 6 rows and 3 columns." in text
    assert "what t-closeness counts distances by" in " ".join(text.replace("\n#", "").split())
    assert "  # 6 different values; the name suggests an identifier\n  name:" in text
    assert "  # 2 different values; missing in 2 rows\n  sex:\n" in text
    assert "  # Values are missing in 2 columns that would be released" in text
    assert "  missing: category\n" in text
    assert '  missing_tokens: ["", NA]\n' in text
    assert "  # 2 different values, all integers; missing in 2 rows\n" in text


def test_without_gaps_the_policy_is_written_out_too(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "t.csv", {"name": ["a", "", ""], "sex": ["f", "m", "m"]})
    text = write_starter(file, tmp_path / "c.yaml")[0].read_text(encoding="utf-8")
    assert "  # No value is missing in a column that would be released; if one ever is, err" in text
    assert "  missing: error\n" in text


def test_a_token_that_is_a_word_like_others_is_no_gap(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "t.csv", {"x": ["none", "some", "none", "some"]})
    assert Config.load(write_starter(file)[0]).data.missing_tokens == ("",)


def test_never_overwrites(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "t.csv", {"sex": ["f", "m", "m", "f"]})
    (tmp_path / "t.yaml").write_text("mine")
    with pytest.raises(OutputError) as refused:
        write_starter(file)
    assert str(refused.value) == (
        f"{tmp_path / 't.yaml'} exists already and is left as it is; name another (out=…)"
    )
    assert (tmp_path / "t.yaml").read_text() == "mine"


def test_the_source_is_written_relative_to_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "configs").mkdir()
    file = write_csv(tmp_path / "data" / "t.csv", {"sex": ["f", "m", "m", "f"]})
    path, _ = write_starter(file, tmp_path / "configs" / "c.yaml")
    assert "  source: ../data/t.csv\n" in path.read_text().replace('"', "")


def test_a_folder_called_like_an_embedded_table_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("adult").mkdir()
    write_csv(Path("adult/t.csv"), {"sex": ["f", "m", "m", "f"]})
    path, _ = write_starter("adult")
    assert path == tmp_path / "adult.yaml"
    assert Config.load(path).read_table().rows == 4


def test_a_glob_needs_a_name_for_the_configuration(tmp_path: Path) -> None:
    write_csv(tmp_path / "t1.csv", {"sex": ["f", "m", "m", "f"]})
    with pytest.raises(OutputError, match=r"stands for several files; name the configuration"):
        write_starter(f"{tmp_path}/t*.csv")
    path, _ = write_starter(f"{tmp_path}/t*.csv", tmp_path / "c.yaml")
    assert Config.load(path).read_table().rows == 4


def test_a_delimiter_that_must_be_named_is_written(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b;c\n1,2;3\n1,2;3\n")
    path, _ = write_starter(file, delimiter=";")
    assert "  delimiter: ;\n" in path.read_text()
    assert Config.load(path).data.delimiter == ";"


def test_more_columns_than_a_configuration_can_describe_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starter, "MAX_BYTES", 1000)
    file = write_csv(tmp_path / "t.csv", {f"c{i}": [1, 2, 3] for i in range(10)})
    with pytest.raises(DataError, match=r"t\.csv has 10 columns, and .* at most 1,000 are read"):
        write_starter(file)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_a_table_without_a_quasi_identifier_is_refused(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "t.csv", {"id": range(9), "note": [f"n{i}" for i in range(9)]})
    with pytest.raises(DataError) as refused:
        write_starter(file)
    assert str(refused.value) == (
        f"{file}: no column could be generalized as it stands (those seen are identifiers, "
        "sensitive values or free text), so no configuration was written"
    )
    assert not (tmp_path / "t.yaml").exists()


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match=r"t\.csv is empty"):
        write_starter(tmp_path / "t.csv")


def test_a_compressed_file_that_ends_too_early_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b"%d,%d\n" % (i, i * i) for i in range(999)))
    (tmp_path / "t.csv.gz").write_bytes(whole[:-99])
    with pytest.raises(DataError, match=r"t\.csv\.gz cannot be read: Compressed file ended"):
        write_starter(tmp_path / "t.csv.gz")


def test_a_delimiter_that_was_not_found_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "t.data"
    file.write_text("".join(f"A{i}~{i}~m\n" for i in range(9)), encoding="utf-8")
    with pytest.raises(DataError, match=r"; is delimiter=… needed to tell its columns apart\?$"):
        write_starter(file)


@pytest.mark.parametrize("name", ["adult", "credit"])
def test_embedded_tables_get_a_configuration(tmp_path: Path, name: str) -> None:
    file = tmp_path / f"{name}.csv"
    datasets.load(name).head(500).to_csv(file, index=False)
    config = Config.load(write_starter(file)[0])
    assert config.instance().cells.rows == 500


# -- any table -----------------------------------------------------------------------------------

readable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
odd = st.sampled_from(
    ["", "*", "(missing)", "..", "a..b", "a", "b", "No", "null", "01", "1e3", "NA", "?"]
)
cells = st.one_of(
    readable,
    odd,
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(str),
    st.dates().map(str),
)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[str]]:
    rows = draw(st.integers(1, 12))
    names = draw(st.lists(readable.filter(bool), min_size=1, max_size=4, unique=True))
    table = {}
    for name in names:
        pool = draw(
            st.one_of(
                st.lists(cells, min_size=1, max_size=4),
                st.lists(st.integers().map(str), min_size=1, max_size=rows),
                st.lists(st.decimals(-1000, 1000, places=2).map(str), min_size=1, max_size=rows),
                st.lists(st.dates().map(str), min_size=1, max_size=rows),
            )
        )
        table[name] = [draw(st.sampled_from(pool)) for _ in range(rows)]
    return table


@given(tables())
def test_what_is_written_for_any_table_passes_the_check(table: dict[str, list[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = write_csv(Path(folder) / "t.csv", table)
        try:
            path, _ = write_starter(file, header=True)
        except DataError as refused:
            assert "no column could be generalized as it stands" in str(refused)  # noqa: PT017
            return
        config = Config.load(path)
        instance = config.instance()
        assert list(config.columns) == list(table)
        assert instance.table.rows == len(next(iter(table.values())))
        assert all(size <= max(MAX_BASE, 1000) + 1 for size in instance.layout.sizes)


def test_how_a_file_is_written_is_written_down(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("39, f, x\n50, m, y\n28, f, x\n" * 5)
    path, _ = write_starter(file)
    config = Config.load(path)
    assert (config.data.header, config.data.trim) == (False, True)
    assert list(config.columns) == ["c1", "c2", "c3"]
    assert config.columns["c2"].order == ("f", "m")
    named, _ = write_starter(file, tmp_path / "named.yaml", header=("age", "sex", "why"))
    assert Config.load(named).data.header == ("age", "sex", "why")
    assert Config.load(named).instance().table.rows == 15


def test_columns_can_be_chosen(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("age,sex,age\n" + "39,f,1\n50,m,2\n28,f,3\n" * 5)
    path, _ = write_starter(file, columns=["sex", "age.2"])
    config = Config.load(path)
    assert config.data.header == "numbered"
    assert list(config.columns) == ["sex", "age.2"]


def test_the_address_of_a_database_is_no_file_that_is_missing(tmp_path: Path) -> None:
    for url in ("sqlite:///nope.db", "postgres://reader:geheim123@host/people"):
        with pytest.raises(DataError, match="this is the address of a database") as caught:
            write_starter(url, tmp_path / "x.yaml")
        assert "geheim123" not in str(caught.value)
