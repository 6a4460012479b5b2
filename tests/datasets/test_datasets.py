"""The embedded tables are the published ones, and their hierarchies and orders fit them."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from moanon import datasets
from moanon.errors import DataError

NINE = [
    "age",
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
    "salary-class",
]


@pytest.fixture(scope="module")
def adult_frame() -> pd.DataFrame:
    return datasets.load("adult")


@pytest.fixture(scope="module")
def adult_full() -> pd.DataFrame:
    return datasets.load("adult-full")


@pytest.fixture(scope="module")
def credit() -> pd.DataFrame:
    return datasets.load("credit")


def digest(frame: pd.DataFrame) -> str:
    rows = frame.itertuples(index=False, name=None)
    return hashlib.sha256("".join(",".join(row) + "\n" for row in rows).encode()).hexdigest()


def leaves(tree: dict[str, Any]) -> list[str]:
    """Leaves of a YAML tree: a key with nothing below it, or an entry of a list."""
    found: list[str] = []
    for name, below in tree.items():
        if below is None:
            found.append(name)
        else:
            found += leaves(below) if isinstance(below, dict) else below
    return found


def test_names_are_the_three_tables() -> None:
    assert datasets.names() == ("adult", "adult-full", "credit")


def test_adult_has_the_published_complete_rows(adult_frame: pd.DataFrame) -> None:
    assert len(adult_frame) == 30_162
    assert digest(adult_frame) == "48cbbf0ff46b71fda2c9d01ff7d29189c6bac1c0e46f6ea69c9f6abf2ae4f0b0"


def test_adult_full_has_data_then_test(adult_full: pd.DataFrame) -> None:
    assert len(adult_full) == 45_222
    assert (
        digest(adult_full[NINE])
        == "522636d15281ca11045ec72c316dcd9ed9020d398803b5d6d4a9e1b29448c595"
    )


def test_credit_has_the_published_rows(credit: pd.DataFrame) -> None:
    assert credit.shape == (30_000, 24)
    assert digest(credit) == "6ac0b1949de30fda847c7c39a5ddf674af952fd782a45e3b4e2f0a9b23c384e6"


def test_adult_has_nine_columns_and_full_adds_split(
    adult_frame: pd.DataFrame, adult_full: pd.DataFrame
) -> None:
    assert list(adult_frame) == NINE
    assert list(adult_full) == [*NINE, "split"]


def test_split_marks_the_original_file(adult_full: pd.DataFrame) -> None:
    # 30,162 rows of adult.data, then 15,060 of adult.test, none in between
    assert list(adult_full["split"]) == ["data"] * 30_162 + ["test"] * 15_060


def test_credit_names_its_columns_and_has_no_running_number(credit: pd.DataFrame) -> None:
    assert list(credit)[:5] == ["LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"]
    assert list(credit)[-1] == "target"
    assert "ID" not in credit


@pytest.mark.parametrize("name", datasets.names())
def test_rows_are_numbered_from_zero(name: str) -> None:
    frame = datasets.load(name)
    assert list(frame.index) == list(range(len(frame)))


@pytest.mark.parametrize("name", datasets.names())
def test_every_value_is_text_and_none_is_missing(name: str) -> None:
    frame = datasets.load(name)
    assert all(type(value) is str and value for column in frame for value in frame[column])


def test_each_load_gives_a_frame_of_its_own() -> None:
    first = datasets.load("adult")
    first["age"] = "0"
    assert set(datasets.load("adult")["age"]) != {"0"}


@pytest.mark.parametrize("name", datasets.hierarchy_names())
def test_every_value_of_a_tree_column_is_a_leaf(name: str, adult_full: pd.DataFrame) -> None:
    tree = yaml.safe_load(datasets.hierarchy_path(name).read_text(encoding="utf-8"))
    assert set(adult_full[name.removeprefix("adult/")]) <= set(leaves(tree))


@pytest.mark.parametrize("name", datasets.order_names())
def test_every_value_of_an_ordered_column_is_in_its_order(
    name: str, adult_full: pd.DataFrame
) -> None:
    order = datasets.order(name)
    assert len(set(order)) == len(order)
    assert set(adult_full[name.removeprefix("adult/")]) <= set(order)


def test_trees_and_orders_cover_all_columns_but_age() -> None:
    described = [*datasets.hierarchy_names(), *datasets.order_names()]
    assert sorted(set(described)) == sorted(f"adult/{column}" for column in NINE if column != "age")


def test_order_is_given_lowest_first() -> None:
    assert datasets.order("adult/education")[0] == "Preschool"
    assert datasets.order("adult/education")[-1] == "Doctorate"
    assert datasets.order("adult/salary-class") == ["<=50K", ">50K"]


def test_hierarchies_and_orders_are_the_reference_files(shared: Path) -> None:
    for path in sorted((shared / "adult").glob("*.yaml")):
        ours = Path(datasets.__file__).parent / "adult" / path.name
        assert ours.read_bytes() == path.read_bytes()


def test_unknown_dataset_names_the_nearest_and_the_known() -> None:
    with pytest.raises(DataError) as refused:
        datasets.load("Adlt")
    assert str(refused.value) == (
        "the name of an embedded dataset must be one of adult, adult-full, credit. "
        "Got 'Adlt' (did you mean 'adult'?)"
    )


def test_unknown_dataset_far_from_all_names_only_the_known() -> None:
    with pytest.raises(DataError) as refused:
        datasets.load("zzz")
    assert str(refused.value) == (
        "the name of an embedded dataset must be one of adult, adult-full, credit. Got 'zzz'"
    )


def test_unknown_hierarchy_names_the_nearest() -> None:
    with pytest.raises(
        DataError, match=r"hierarchy must .*'adult/work' \(did you mean 'adult/workclass'"
    ):
        datasets.hierarchy_path("adult/work")


def test_hierarchy_path_does_not_leave_the_package() -> None:
    with pytest.raises(
        DataError, match=r"hierarchy must be one of .* Got 'adult/\.\./adult/orders'"
    ):
        datasets.hierarchy_path("adult/../adult/orders")


def test_orders_file_is_no_hierarchy() -> None:
    with pytest.raises(DataError, match=r"hierarchy must be one of .* Got 'adult/orders'"):
        datasets.hierarchy_path("adult/orders")


def test_unknown_order_names_the_nearest() -> None:
    with pytest.raises(
        DataError, match=r"order must .*'adult/eduction' \(did you mean 'adult/education'"
    ):
        datasets.order("adult/eduction")


def test_names_are_known_without_loading_pandas() -> None:
    # A fresh interpreter, because the tests themselves import pandas. The package's own __init__
    # is left out: it may import what it likes.
    code = (
        "import sys, types; "
        "sys.modules['moanon'] = package = types.ModuleType('moanon'); "
        f"package.__path__ = [{str(Path(datasets.__file__).parents[1])!r}]; "
        "from moanon import datasets; datasets.hierarchy_names(); datasets.order_names(); "
        "sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
