"""Releases: which rows and cells they show, what they refuse, files that are whole or absent."""

from __future__ import annotations

import errno
import json
import os
import resource
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moanon import Hierarchy, Instance, IntervalSpec, OrderedSpec, Release, TreeSpec, read_table
from moanon.engines.duck import DuckSession, HeldRows
from moanon.errors import CertificateError, ConfigError, GenomeError, OutputError
from moanon.grouping import Grouping
from moanon.release import applied
from tests.release.tables import SIZES, one_database, releases, shirts, values_of
from tests.strategies import few


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- which rows and cells -------------------------------------------------------------------------


def test_rows_of_small_groups_are_absent_and_the_others_keep_their_order() -> None:
    release = Release.of(shirts(s=["a", "b", "c", "d", "e"]), [1, 1], k=2)
    assert np.flatnonzero(release.grouping.is_kept).tolist() == [0, 1, 2, 4]
    frame = release.to_frame()
    assert frame.to_dict("list") == {"size": ["S", "S", "M", "M"], "s": ["a", "b", "c", "e"]}
    assert isinstance(frame.index, pd.RangeIndex)
    assert frame.index.tolist() == [0, 1, 2, 3]


def test_suppressed_rows_show_stars_on_request() -> None:
    instance = shirts(s=["a", "b", "c", "d", "e"], i=[1, 2, 3, 4, 5])
    frame = Release.of(instance, [1, 1], k=2).to_frame(suppressed="star")
    assert frame["size"].tolist() == ["S", "S", "M", "*", "M"]
    assert frame["s"].tolist() == ["a", "b", "c", "*", "e"]
    assert frame["i"].tolist() == ["1", "2", "3", "*", "5"]


def test_chosen_groups_are_suppressed() -> None:
    instance = shirts()
    sizes = Grouping.of_genome(instance, [1, 0]).sizes
    release = Release.of(instance, [1, 0], suppressed=sizes == 2)
    assert release.to_frame()["size"].tolist() == ["M..L"] * 3


def test_columns_stand_in_file_order_without_identifying_and_undeclared_ones() -> None:
    frame = pd.DataFrame(
        {"name": ["x"], "i": ["i"], "q2": ["S"], "other": ["o"], "s": ["s"], "q1": ["M"]}
    )
    roles = {
        "q1": "quasi",
        "s": "sensitive",
        "q2": "quasi",
        "i": "insensitive",
        "name": "identifying",
    }
    instance = Instance.build(read_table(frame, roles), {"q1": SIZES, "q2": SIZES})
    assert Release.of(instance, [1] * 4).to_frame().to_dict("list") == {
        "i": ["i"],
        "q2": ["S"],
        "s": ["s"],
        "q1": ["M"],
    }


def test_missing_cells_are_a_value_except_in_insensitive_columns(tmp_path: Path) -> None:
    frame = pd.DataFrame({"q": ["S", None], "s": [None, 7], "i": [None, 3]}, dtype=object)
    table = read_table(
        frame, {"q": "quasi", "s": "sensitive", "i": "insensitive"}, missing="category"
    )
    release = Release.of(Instance.build(table, {"q": SIZES}), [1, 1, 1])
    shown = release.to_frame()
    assert shown["q"].tolist() == ["S", "(missing)"]
    assert shown["s"].tolist() == ["(missing)", "7"]
    assert shown["i"].isna().tolist() == [True, False]
    release.write(tmp_path / "r.csv", keep_order=True)
    assert (tmp_path / "r.csv").read_text() == "q,s,i\nS,(missing),\n(missing),7,3\n"
    release.write(tmp_path / "r.parquet", keep_order=True)
    assert values_of(tmp_path / "r.parquet") == [("S", "(missing)", None), ("(missing)", "7", 3)]


NATIVE = {
    "i_int": [1, 2, 3, 4, 5],
    "i_gap": pd.array([1, None, 3, 4, 5], dtype="Int64"),
    "i_bool": [True, False, True, True, False],
    "i_float": [0.1, float("nan"), 1e300, -0.5, 2.0],
    "i_single": np.array([0.1, 0.2, 0.3, 0.4, 0.5], dtype=np.float32),
    "i_date": [date(2020, 1, day) for day in range(1, 6)],
    "i_time": pd.to_datetime([f"2020-01-01T10:00:0{i}" for i in range(5)]),
    "i_zoned": pd.to_datetime([f"2020-01-01T10:00:0{i}+02:00" for i in range(5)], utc=True),
    "i_money": [Decimal("1.10"), Decimal("2.00"), Decimal("3"), Decimal("4"), Decimal("5")],
    "s_int": [10, 20, 30, 40, 50],
}


def test_typed_columns_keep_their_types_in_a_frame() -> None:
    frame = Release.of(shirts(**NATIVE), [1, 1], k=2).to_frame()
    kinds = {name: dtype.kind for name, dtype in frame.dtypes.items()}
    assert kinds == {
        "size": "O",
        "i_int": "i",
        "i_gap": "i",
        "i_bool": "b",
        "i_float": "f",
        "i_single": "f",
        "i_date": "M",
        "i_time": "M",
        "i_zoned": "M",
        "i_money": "O",
        "s_int": "i",
    }
    assert frame["i_gap"].tolist() == [1, pd.NA, 3, 5]
    assert frame["i_single"].dtype == np.float32
    assert frame["i_zoned"][0] == pd.Timestamp("2020-01-01T08:00:00Z")
    assert frame["i_money"][0] == Decimal("1.10")


def test_typed_columns_keep_their_types_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    Release.of(shirts(**NATIVE), [1, 1], k=2).write(path, keep_order=True)
    types = duckdb.sql(f"DESCRIBE SELECT * FROM read_parquet('{path}')").fetchall()
    assert {name: kind for name, kind, *_ in types} == {
        "size": "VARCHAR",
        "i_int": "BIGINT",
        "i_gap": "BIGINT",
        "i_bool": "BOOLEAN",
        "i_float": "DOUBLE",
        "i_single": "FLOAT",
        "i_date": "DATE",
        "i_time": "TIMESTAMP",
        "i_zoned": "TIMESTAMP WITH TIME ZONE",
        "i_money": "VARCHAR",
        "s_int": "BIGINT",
    }
    columns = "i_gap, i_float, i_date, i_time, i_money, s_int"
    second, last = duckdb.sql(f"SELECT {columns} FROM read_parquet('{path}')").fetchall()[1::2]
    assert second == (None, None, date(2020, 1, 2), datetime(2020, 1, 1, 10, 0, 1), "2", 20)
    assert last == (5, 2.0, date(2020, 1, 5), datetime(2020, 1, 1, 10, 0, 4), "5", 50)


def test_parquet_of_rows_of_stars_is_text(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    release = Release.of(shirts(i=[1, 2, 3, 4, 5]), [1, 1], k=2)
    release.write(path, suppressed="star", keep_order=True)
    assert values_of(path) == [("S", "1"), ("S", "2"), ("M", "3"), ("*", "*"), ("M", "5")]


def test_the_all_ones_genome_releases_the_base_table() -> None:
    tree = Hierarchy.from_nested("Any", {"low": ["a", "b"], "high": ["c"]})
    frame = pd.DataFrame(
        {
            "ordered": ["S", "L", "M"],
            "tree": ["c", "a", "b"],
            "whole": ["-3", "7", "0"],
            "step": ["12", "27", "12"],
            "decimal": ["0.3", "0.25", "1"],
            "day": ["2020-02-29", "2020-03-01", "2020-02-28"],
            "month": ["2020-02-29", "2020-03-01", "2020-04-15"],
        }
    )
    instance = Instance.build(
        read_table(frame, dict.fromkeys(frame, "quasi")),
        {
            "ordered": SIZES,
            "tree": TreeSpec(tree),
            "whole": IntervalSpec(),
            "step": IntervalSpec(granularity=5),
            "decimal": IntervalSpec(granularity=0.1),
            "day": IntervalSpec(),
            "month": IntervalSpec(granularity="month"),
        },
    )
    shown = Release.of(instance, [1] * instance.layout.bits).to_frame()
    for name in ("ordered", "tree", "whole", "day"):
        assert shown[name].tolist() == frame[name].tolist()
    assert shown["step"].tolist() == ["[10-14]", "[25-29]", "[10-14]"]
    assert shown["decimal"].tolist() == ["[0.3-0.4)", "[0.2-0.3)", "[1-1.1)"]
    assert shown["month"].tolist() == [
        "[2020-02-01..2020-02-29]",
        "[2020-03-01..2020-03-31]",
        "[2020-04-01..2020-04-30]",
    ]


def test_the_all_zeros_genome_shows_stars() -> None:
    assert Release.of(shirts(), [0, 0]).to_frame()["size"].tolist() == ["*"] * 5


# -- what is refused ------------------------------------------------------------------------------


def test_a_release_without_rows_is_refused() -> None:
    with pytest.raises(OutputError, match=r"no row of DataFrame would be released: .* k = 6"):
        Release.of(shirts(), [0, 0], k=6)


@pytest.mark.parametrize("k", [0, -1, "2", 2.5, 2.0, True])
def test_k_is_a_whole_number(k: Any) -> None:
    with pytest.raises(ConfigError, match=rf"k must be a whole number of at least 1 .* Got {k!r}"):
        Release.of(shirts(), [0, 0], k=k)


def test_k_may_be_an_integer_of_numpy() -> None:
    release = Release.of(shirts(), [1, 1], k=np.int64(2))  # type: ignore[arg-type]
    assert release.grouping.kept_rows == 4


@pytest.mark.parametrize("genomes", [[[0, 0], [1, 1]], np.zeros((0, 2), dtype=int)])
def test_several_genomes_are_refused(genomes: Any) -> None:
    with pytest.raises(GenomeError, match=f"a release takes one genome. Got {len(genomes)}"):
        Release.of(shirts(), genomes)


# -- order of rows --------------------------------------------------------------------------------


@pytest.mark.parametrize("suppressed", ["absent", "star"])
@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_rows_are_shuffled_as_a_whole(tmp_path: Path, name: str, suppressed: Any) -> None:
    release = Release.of(shirts(s=["a", "b", "c", "d", "e"]), [1, 1], k=2)
    in_order = [tuple(row) for row in release.to_frame(suppressed).to_numpy()]
    found = {}
    for seed in (None, *range(9)):
        path = tmp_path / f"{seed}-{name}"
        keep = seed is None
        certificate = release.write(path, suppressed=suppressed, shuffle=seed, keep_order=keep)
        assert certificate.row_order == ("source" if keep else "shuffled")
        if name == "r.csv":
            found[seed] = [tuple(row) for row in pd.read_csv(path).to_numpy()]
        else:
            found[seed] = values_of(path)
    assert found[None] == in_order
    assert all(sorted(rows) == sorted(in_order) for rows in found.values())
    assert any(rows != in_order for rows in found.values())


def test_rows_are_shuffled_by_a_seed_that_nobody_knows_unless_told(tmp_path: Path) -> None:
    release = Release.of(shirts(i=[1, 2, 3, 4, 5]), [0, 0])
    texts = set()
    for number in range(9):
        certificate = release.write(tmp_path / f"{number}.csv")
        assert certificate.row_order == "shuffled"
        texts.add((tmp_path / f"{number}.csv").read_text())
    assert len(texts) > 1  # all nine alike: once in 120 ** 8


@few
@given(releases(), st.data(), st.sampled_from(["absent", "star"]), st.booleans())
def test_the_order_of_a_seed_says_nothing_about_that_of_the_source(
    made: tuple[Release, int], data: st.DataObject, suppressed: Any, safe: bool
) -> None:
    release, k = made
    assume(suppressed == "absent" or not (release.to_frame() == "*").all(axis=1).any())
    table = release.instance.table
    order = np.array(data.draw(st.permutations(range(table.rows))))
    columns = {
        name: replace(table.store.column(name), codes=table.store.column(name).codes[order])
        for name in table.columns
    }
    turned = release.instance.over(replace(table, store=HeldRows(columns)))
    assert release.grouping.genome is not None
    other = Release.of(turned, release.grouping.genome, k=k, recursive_c=release.recursive_c)
    options = {"suppressed": suppressed, "spreadsheet_safe": safe, "shuffle": 3}
    with TemporaryDirectory() as folder, one_database():
        paths = [Path(folder) / name for name in ("one.csv", "two.csv")]
        for each, path in zip((release, other), paths, strict=True):
            each.write(path, **options)
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_seed_and_the_order_of_the_source_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"keep the order of the source\. Got both"):
        Release.of(shirts(), [0, 0]).write(tmp_path / "r.csv", shuffle=1, keep_order=True)
    assert names_in(tmp_path) == []


def test_the_same_seed_shuffles_alike(tmp_path: Path) -> None:
    release = Release.of(shirts(s=["a", "b", "c", "d", "e"]), [1, 1])
    digests = {
        release.write(tmp_path / f"{i}.csv", shuffle=2**127 + 5).output_digest for i in range(3)
    }
    assert len(digests) == 1


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_a_seed_is_a_whole_number(tmp_path: Path, seed: Any) -> None:
    with pytest.raises(ConfigError, match=f"shuffle must be a whole number .* Got {seed!r}"):
        Release.of(shirts(), [0, 0]).write(tmp_path / "r.csv", shuffle=seed)
    assert names_in(tmp_path) == []


def test_k_and_chosen_groups_together_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"k or a set of suppressed groups\. Got both"):
        Release.of(shirts(), [0, 0], k=1, suppressed=np.array([False]))


@pytest.mark.parametrize("suppressed", [np.array([True, False]), np.array([0])])
def test_suppressed_must_fit_the_groups(suppressed: np.ndarray) -> None:
    with pytest.raises(ConfigError, match="one truth value for each of the 1 groups"):
        Release.of(shirts(), [0, 0], suppressed=suppressed)


@pytest.mark.parametrize("c", [0, -1, float("nan"), float("inf"), True, "3", None, 10**400])
def test_the_constant_of_recursive_diversity_is_positive(c: float) -> None:
    with pytest.raises(ConfigError, match=r"recursive_c must be a number > 0 and <= 1000\. Got"):
        Release.of(shirts(), [0, 0], recursive_c=c)


def test_an_invalid_genome_is_refused() -> None:
    with pytest.raises(GenomeError, match=r"has 2 bits\. Got 3"):
        Release.of(shirts(), [0, 0, 0])


def test_stars_are_refused_beside_a_sensitive_star() -> None:
    release = Release.of(shirts(s=["a", "*", "c", "d", "e"]), [1, 1], k=2)
    with pytest.raises(OutputError, match=r"column 's': the sensitive value '\*' would look like"):
        release.to_frame(suppressed="star")
    assert release.to_frame()["s"].tolist() == ["a", "*", "c", "e"]


def test_stars_are_refused_where_released_rows_are_all_stars() -> None:
    release = Release.of(shirts(i=["*", "b", "c", "*", "e"]), [0, 0])
    with pytest.raises(OutputError, match=r"2 released rows show '\*' in every cell"):
        release.to_frame(suppressed="star")


def test_another_way_to_show_suppressed_rows_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'absent' or 'star'\. Got 'blank'"):
        Release.of(shirts(), [0, 0]).to_frame(suppressed="blank")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["r.xlsx", "r", "r.csv.gz"])
def test_other_endings_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match=rf"ends in /\. Got '{name}'"):
        Release.of(shirts(), [0, 0]).write(tmp_path / name)
    assert names_in(tmp_path) == []


def test_names_that_differ_in_case_only_are_refused_for_parquet(tmp_path: Path) -> None:
    release = Release.of(shirts(Size=["a"] * 5), [0, 0])
    with pytest.raises(OutputError, match=r"columns 'size' and 'Size' differ in case only"):
        release.write(tmp_path / "r.parquet")
    release.write(tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text().startswith("size,Size\n")


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_labels_that_no_file_can_hold_are_refused(tmp_path: Path, name: str) -> None:
    table = read_table(pd.DataFrame({"q": ["S", "M"]}), {"q": "quasi"})
    instance = Instance.build(table, {"q": OrderedSpec(("S", "M", "half \ud800"))})
    with pytest.raises(OutputError, match=rf"{name} cannot be written: .*surrogate"):
        Release.of(instance, [1, 0]).write(tmp_path / name)
    assert names_in(tmp_path) == []


def test_the_source_itself_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("size\nS\nM\n")
    instance = Instance.build(read_table(path, {"size": "quasi"}), {"size": SIZES})
    with pytest.raises(OutputError, match=r"table\.csv is not replaced: it was read for"):
        Release.of(instance, [0, 0]).write(path, force=True)
    assert path.read_text() == "size\nS\nM\n"


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two parts in the folder one is in."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in ("a.csv", "b.csv"):
        (folder / name).write_text("size\nS\nM\n")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize("source", ["parts", "parts/*.csv", "parts/../parts"])
@pytest.mark.parametrize("target", ["a.csv", "b.csv"])
def test_no_part_of_the_source_is_replaced(
    parts: Path, monkeypatch: pytest.MonkeyPatch, source: str, target: str
) -> None:
    instance = Instance.build(read_table(source, {"size": "quasi"}), {"size": SIZES})
    monkeypatch.chdir(parts)  # relative names mean other files from here
    with pytest.raises(OutputError, match=rf"{target} is not replaced: it was read for"):
        Release.of(instance, [0, 0]).write(target, force=True)
    assert (parts / target).read_text() == "size\nS\nM\n"
    assert names_in(parts) == ["a.csv", "b.csv"]


@pytest.mark.parametrize("read_through_link", [True, False])
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_the_source_is_not_replaced_through_a_link(
    parts: Path, link: Callable[[Path, Path], None], read_through_link: bool
) -> None:
    link(parts / "a.csv", parts / "link.csv")
    source, target = "link.csv", "a.csv"
    if not read_through_link:
        source, target = target, source
    instance = Instance.build(read_table(parts / source, {"size": "quasi"}), {"size": SIZES})
    with pytest.raises(OutputError, match=rf"{target} is not replaced: it was read for"):
        Release.of(instance, [0, 0]).write(parts / target, force=True)
    assert (parts / target).read_text() == "size\nS\nM\n"


def test_a_frame_that_is_called_like_a_file_does_not_forbid_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shirts().table.files == ()
    Release.of(shirts(), [0, 0]).write("DataFrame.csv")
    Release.of(shirts(), [0, 0]).write("DataFrame.csv", force=True)


# -- CSV cells ------------------------------------------------------------------------------------


def test_no_output_holds_a_trace_of_what_is_not_released(tmp_path: Path) -> None:
    places = ["name", "identifying", "undeclared", "category", "dropped", "attrs", "index"]
    places += ["suppressed quasi", "suppressed sensitive", "suppressed insensitive", "released"]
    canary = {place: f"canary{secrets.token_hex(12)}" for place in places}
    tree = Hierarchy.from_nested("Any", {"known": ["S", "M"], canary["suppressed quasi"]: None})
    frame = pd.DataFrame(
        {
            canary["name"]: [canary["identifying"]] * 5,
            "other": [canary["undeclared"]] * 5,
            "q": ["S", "M", "M", canary["suppressed quasi"], None],
            "s": ["a", "b", "c", canary["suppressed sensitive"], canary["dropped"]],
            "i": pd.Categorical(
                ["x", "y", canary["released"], canary["suppressed insensitive"], canary["dropped"]],
            ).add_categories([canary["category"]]),
        },
        index=[canary["index"]] * 5,
    )
    frame.attrs["note"] = canary["attrs"]
    roles = {canary["name"]: "identifying", "q": "quasi", "s": "sensitive", "i": "insensitive"}
    table = read_table(frame, roles, missing="drop")
    assert table.rows_dropped == 1
    release = Release.of(Instance.build(table, {"q": TreeSpec(tree)}), [0, 1], k=2)
    for suppressed in ("absent", "star"):
        for ending in ("csv", "parquet"):
            release.write(tmp_path / f"{suppressed}.{ending}", suppressed=suppressed)
    forbidden = {name: text.encode() for name, text in canary.items() if name != "released"}
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        if path.suffix == ".parquet":
            queries = ("SELECT * FROM read_parquet", "FROM parquet_metadata", "FROM parquet_schema")
            for query in (*queries, "FROM parquet_kv_metadata", "FROM parquet_file_metadata"):
                content += repr(duckdb.sql(f"{query}('{path}')").fetchall()).encode()
        assert path.suffix == ".json" or canary["released"].encode() in content
        assert [name for name, text in forbidden.items() if text in content] == []
    shown = release.to_frame()
    assert shown.attrs == {}
    assert all(text not in repr(shown.to_dict()) for text in map(bytes.decode, forbidden.values()))


def test_a_certificate_holds_no_value_of_the_table(tmp_path: Path) -> None:
    release = Release.of(shirts(s=["secret"] * 5), [1, 1])
    release.write(tmp_path / "r.csv")
    text = (tmp_path / "r.csv.certificate.json").read_text()
    assert "secret" not in text
    assert set(json.loads(text)["l"]) == {"s"}


# -- whole or not at all --------------------------------------------------------------------------


def test_a_release_comes_with_its_certificate_and_nothing_else(tmp_path: Path) -> None:
    Release.of(shirts(), [0, 0]).write(tmp_path / "r.csv")
    assert names_in(tmp_path) == ["r.csv", "r.csv.certificate.json"]


def test_files_are_as_open_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        for name in ("r.csv", "r.parquet"):
            Release.of(shirts(), [0, 0]).write(tmp_path / name)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o640}


@pytest.mark.parametrize("existing", ["r.csv", "r.csv.certificate.json"])
def test_existing_files_are_replaced_only_with_force(tmp_path: Path, existing: str) -> None:
    release = Release.of(shirts(), [0, 0])
    (tmp_path / existing).write_text("old")
    with pytest.raises(OutputError, match=rf"{existing} exists already; it is replaced only with"):
        release.write(tmp_path / "r.csv")
    assert names_in(tmp_path) == [existing]
    assert (tmp_path / existing).read_text() == "old"
    release.write(tmp_path / "r.csv", force=True)
    assert names_in(tmp_path) == ["r.csv", "r.csv.certificate.json"]
    assert (tmp_path / "r.csv").read_text() == "size\n*\n*\n*\n*\n*\n"


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "r.csv").mkdir()
    with pytest.raises(OutputError, match=r"r\.csv is a folder"):
        Release.of(shirts(), [0, 0]).write(tmp_path / "r.csv", force=True)


def test_an_absent_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"r\.csv cannot be written: the folder .*gone does not"):
        Release.of(shirts(), [0, 0]).write(tmp_path / "gone" / "r.csv")


@pytest.mark.parametrize("length", [240, 300])
def test_a_name_that_is_too_long_is_refused(tmp_path: Path, length: int) -> None:
    with pytest.raises(OutputError, match=r"cannot be used: a name in it is longer"):
        Release.of(shirts(), [0, 0]).write(tmp_path / ("r" * length + ".csv"))
    assert names_in(tmp_path) == []


def test_paths_may_hold_what_a_database_would_take_for_a_pattern(tmp_path: Path) -> None:
    folder = tmp_path / "it's [a] *?" / "size=S"
    folder.mkdir(parents=True)
    assert Release.of(shirts(), [0, 0]).write(folder / "r.parquet").rows == 5


@pytest.fixture(params=["new", "old"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A place for a release that fails: afterwards it is as it was before."""
    path = tmp_path / "r.csv"
    before = {}
    if request.param == "old":
        before = {"r.csv": "old release", "r.csv.certificate.json": "old certificate"}
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    yield path
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == before


def tamper(monkeypatch: pytest.MonkeyPatch, original: str, changed: str) -> None:
    """Have files changed behind the writer's back."""
    write = DuckSession.write

    def tampering(session: DuckSession, sql: str, path: Path) -> None:
        write(session, sql, path)
        text = path.read_text()
        assert original in text
        path.write_text(text.replace(original, changed))

    monkeypatch.setattr(DuckSession, "write", tampering)


def test_a_file_that_measures_otherwise_is_not_left(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tamper(monkeypatch, "L", "M")
    with pytest.raises(
        CertificateError,
        match=r"r\.csv does not measure as promised: groups is 2 in the file, 3 was promised",
    ):
        Release.of(shirts(), [1, 1]).write(target, force=True)


@pytest.mark.parametrize(
    ("original", "changed", "complaint"),
    [
        ("M,c\n", "", "rows is 4 in the file, 5 was promised"),
        ("S,a\n", "M,a\n", "k is 1 in the file, 2 was promised"),
        ("M", "*", r"gl is 0\.6 in the file, 0\.0 was promised"),
        ("M,c\n", "M,e\n", "l_distinct of column 's' is 1 in the file, 2 was promised"),
        ("M", "XXL", "column 'size': the label 'XXL' stands for no block"),
        ("size,s", "s,size", "its columns are s, size instead of size, s"),
    ],
)
def test_the_first_quantity_that_differs_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    original: str,
    changed: str,
    complaint: str,
) -> None:
    frame = pd.DataFrame({"size": ["S", "S", "M", "M", "M"], "s": ["a", "b", "c", "e", "e"]})
    table = read_table(frame, {"size": "quasi", "s": "sensitive"})
    release = Release.of(Instance.build(table, {"size": SIZES}), [1, 1])
    tamper(monkeypatch, original, changed)
    with pytest.raises(CertificateError, match=complaint):
        release.write(tmp_path / "r.csv")
    assert names_in(tmp_path) == []


def test_a_full_disk_leaves_nothing(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"r\.csv cannot be written: No space left on device"):
        Release.of(shirts(), [0, 0]).write(target, force=True)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_write_that_breaks_off_leaves_nothing(tmp_path: Path, ending: str) -> None:
    release = Release.of(shirts(i=[secrets.token_hex(9000) for _ in range(5)]), [1, 1])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OutputError, match=rf"r\.{ending} cannot be written: .*File too large"):
            release.write(tmp_path / f"r.{ending}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert names_in(tmp_path) == []


def test_an_interruption_leaves_nothing(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(applied, "certify", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Release.of(shirts(), [0, 0]).write(target, force=True)


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
@pytest.mark.parametrize("links", [True, False])
def test_if_one_file_cannot_be_moved_neither_is(
    target: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, links: bool
) -> None:
    move = Path.replace

    def failing(self: Path, other: Path) -> Path:
        if other.name == "r.csv.certificate.json" and "size" not in self.read_text()[:4]:
            monkeypatch.undo()
            raise error
        return move(self, other)

    def no_links(*args: object, **options: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(Path, "replace", failing)
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    with pytest.raises((OutputError, KeyboardInterrupt)):
        Release.of(shirts(), [0, 0]).write(target, force=True)
