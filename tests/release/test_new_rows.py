"""A stored generalization on new rows: read against its own domains, and certified."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon import Hierarchy, Instance, IntervalSpec, OrderedSpec, Table, TreeSpec, read_table
from moanon.data.domain import DomainSpec
from moanon.errors import DataError, OutputError
from moanon.release.solution import fit_rows
from tests.release.tables import apply_to, instances
from tests.strategies import few

ROLES = {"age": "quasi", "size": "quasi", "place": "quasi", "ill": "sensitive"}
SPECS: dict[str, DomainSpec] = {
    "age": IntervalSpec(granularity=5),  # its range comes from the data
    "size": OrderedSpec(("S", "M", "L")),
    "place": TreeSpec(Hierarchy.from_nested("Anywhere", {"N": ["Oslo"], "S": ["Rome", "Bari"]})),
}


def new_table(
    ages: list[object],
    sizes: str | None = None,
    places: list[object] | None = None,
    *,
    missing: str = "category",
    **more: list[object],
) -> Table:
    columns = {
        "age": ages,
        "size": list(sizes or "S" * len(ages)),
        "place": places or ["Oslo"] * len(ages),
        "ill": ["flu"] * len(ages),
        **more,
    }
    return read_table(pd.DataFrame(columns, dtype=object), ROLES, missing=missing)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def first() -> Instance:
    """Ages 20 to 39 in four steps; a genome has 3 + 2 + 2 bits."""
    return Instance.build(new_table([20, 24, 31, 39], "SSML"), SPECS)


# -- which domains count -------------------------------------------------------------------------


def test_labels_are_those_of_the_run_not_of_the_new_rows(first: Instance) -> None:
    release = apply_to(new_table([33, 34]), first, [1, 1, 1, 0, 0, 0, 0])
    assert release.to_frame()["age"].tolist() == ["[30-34]", "[30-34]"]
    alone = Instance.build(new_table([33, 34]), SPECS)
    assert alone.layout.domains["age"].size == 1  # which would have shown nothing of the ages


def test_loss_is_counted_in_the_domains_of_the_run(first: Instance) -> None:
    release = apply_to(new_table([20, 29]), first, [0, 1, 0, 1, 1, 1, 1])
    # [20-29] of four steps: (2 - 1) / (4 - 1) in one of three columns
    assert release.promised["gl", ""] == pytest.approx(1 / 9)


def test_columns_stand_in_the_order_of_the_run(first: Instance) -> None:
    frame = pd.DataFrame({"ill": ["flu"], "place": ["Rome"], "size": ["M"], "age": [20]})
    release = apply_to(read_table(frame, ROLES), first, [1, 1, 1, 1, 1, 1, 1])
    assert list(release.to_frame()) == ["age", "size", "place", "ill"]
    assert release.to_frame().iloc[0].tolist() == ["[20-24]", "M", "Rome", "flu"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (new_table([25, 40, 41, 19]), r"column 'age': 3 rows hold values outside its interval "),
        (new_table(["x", "25"]), r"column 'age': 1 row holds a value outside its interval .*: 'x'"),
        (new_table([25, 26], "SX"), r"column 'size': 1 row holds a value outside .*: 'X'"),
        (new_table([25], places=["Nice"]), r"column 'place': 1 row holds a value .*: 'Nice'"),
        (new_table([25, None]), r"column 'age': 1 row has no value, and its interval domain was"),
    ],
)
def test_values_outside_the_domains_are_refused(
    first: Instance, table: Table, message: str
) -> None:
    with pytest.raises(DataError, match=rf"^DataFrame: {message}.*; correct them, or suppress"):
        fit_rows(first, table)


def test_a_missing_value_has_a_place_where_the_run_had_one(first: Instance) -> None:
    gaps = Instance.build(new_table([20, None]), {**SPECS})
    fitted, outside = fit_rows(gaps, new_table([None, 20]))
    assert fitted.cells.codes[0].tolist() == [0, 1]
    assert outside == 0


def test_rows_outside_are_suppressed_on_request(first: Instance) -> None:
    table = new_table([25, 99, 26, None], "SSXS")
    fitted, outside = fit_rows(first, table, "suppress")
    assert outside == 3
    assert fitted.table.rows == 1
    assert fitted.table.columns["size"].values == ("S",)  # nothing of the others is left


def test_new_rows_that_all_lie_outside_are_refused(first: Instance) -> None:
    with pytest.raises(OutputError, match=r"no row of DataFrame .* each holds a value outside"):
        fit_rows(first, new_table([99, 98]), "suppress")


def test_other_roles_are_refused(first: Instance) -> None:
    frame = pd.DataFrame({"age": [20], "size": ["S"], "place": ["Rome"]})
    quasi = dict.fromkeys(frame, "quasi")
    message = "in their roles: 'ill' is sensitive there and absent here"
    with pytest.raises(DataError, match=message):
        fit_rows(first, read_table(frame, quasi))
    with pytest.raises(DataError, match="'age' is quasi there and insensitive here"):
        fit_rows(first, replace(first.table, roles=first.table.roles | {"age": "insensitive"}))


def test_identifying_columns_may_be_absent_but_not_released() -> None:
    frame = pd.DataFrame({"name": ["Ann"], "size": ["S"]})
    specs = {"size": SPECS["size"]}
    named = read_table(frame, {"name": "identifying", "size": "quasi"})
    unnamed = read_table(frame, {"size": "quasi"})
    for first, new in ((named, unnamed), (unnamed, named), (named, named)):
        release = apply_to(new, Instance.build(first, specs), [0, 0])
        assert list(release.to_frame()) == ["size"]
    open_ = read_table(frame, {"name": "insensitive", "size": "quasi"})
    with pytest.raises(DataError, match="'name' is identifying there and insensitive here"):
        fit_rows(Instance.build(named, specs), open_)


# -- what is released ----------------------------------------------------------------------------


def test_the_certificate_counts_rows_outside_as_suppressed(first: Instance, tmp_path: Path) -> None:
    table = new_table([25, 26, 99, 31], missing="drop")
    release = apply_to(table, first, [1, 1, 1, 0, 0, 0, 0], k=2, outside="suppress")
    certificate = release.write(tmp_path / "new.csv")
    assert (certificate.rows_in, certificate.rows_dropped) == (4, 0)
    assert (certificate.rows, certificate.suppressed, certificate.k) == (2, 2, 2)
    assert certificate.sl == 0.5
    # two of four rows with two of three columns gone: (2 * 2) / (4 * 3)
    assert release.promised["gl", ""] == pytest.approx(4 / 12)
    assert certificate.loss is None  # the range of the ages was taken from the rows of the run


def test_dropped_and_suppressed_rows_add_up(first: Instance, tmp_path: Path) -> None:
    table = new_table([25, 26, None, 99, 31], missing="drop")
    release = apply_to(table, first, [1, 1, 1, 0, 0, 0, 0], k=2, outside="suppress")
    found = release.write(tmp_path / "new.csv")
    assert (found.rows_in, found.rows_dropped) == (5, 1)
    assert (found.suppressed, found.rows) == (2, 2)


def test_stars_stand_where_the_rows_stood(first: Instance, tmp_path: Path) -> None:
    table = new_table([99, 25, 31, 98, 26])
    release = apply_to(table, first, [1, 1, 1, 1, 1, 1, 1], k=2, outside="suppress")
    frame = release.to_frame("star")
    assert frame["age"].tolist() == ["*", "[25-29]", "*", "*", "[25-29]"]
    assert release.write(tmp_path / "new.csv", suppressed="star").suppressed == 3


@pytest.mark.parametrize(
    ("k", "least_l", "message"),
    [
        (3, 0, "none of its 2 groups has k = 3; choose a smaller k, or keep small groups"),
        (1, 2, "none of its 2 groups has k = 1 and l = 2; choose"),
    ],
)
def test_new_rows_of_which_none_would_be_left_are_refused(
    first: Instance, k: int, least_l: int, message: str
) -> None:
    with pytest.raises(OutputError, match=message):
        apply_to(new_table([20, 31]), first, [1, 1, 1, 0, 0, 0, 0], k=k, least_l=least_l)


def test_neither_source_is_replaced(tmp_path: Path) -> None:
    paths = [tmp_path / "first.csv", tmp_path / "new.csv"]
    for path in paths:
        path.write_text("age,size,place,ill\n20,S,Oslo,flu\n31,M,Rome,flu\n")
    first = Instance.build(read_table(paths[0], ROLES), SPECS)
    release = apply_to(read_table(paths[1], ROLES), first, [0] * first.layout.bits)
    for path in paths:
        with pytest.raises(OutputError, match="is not replaced: it was read for"):
            release.write(path, force=True)


# -- laws ----------------------------------------------------------------------------------------


@few
@given(instances(), st.data())
def test_rows_of_the_table_itself_are_released_alike(
    instance: Instance, data: st.DataObject
) -> None:
    """Some rows of a table, taken for new ones, show what they show in a release of the whole."""
    rows = data.draw(
        st.lists(st.booleans(), min_size=instance.table.rows, max_size=instance.table.rows)
    )
    rows[data.draw(st.integers(0, len(rows) - 1))] = True
    genome = instance.layout.sample(1, np.random.default_rng(data.draw(st.integers(0, 99))))[0]
    some = instance.table.only(np.array(rows))
    release = apply_to(some, instance, genome)
    whole = apply_to(instance.table, instance, genome)
    names = list(instance.table.quasi)
    shown = release.to_frame()[names].to_numpy().tolist()
    assert shown == whole.to_frame()[names].to_numpy()[np.array(rows)].tolist()
    with TemporaryDirectory() as folder:
        certificate = release.write(Path(folder) / "new.csv")
    assert certificate.rows == sum(rows)


def test_new_rows_need_no_gap_where_the_run_had_one() -> None:
    roles = {"age": "quasi", "pay": "sensitive"}
    gaps = pd.DataFrame({"age": [1, 1, 2, 2], "pay": ["10", "20", None, "10"]})
    spec = {"age": IntervalSpec(1, (1, 2))}
    distances = {"pay": OrderedSpec(("10", "20"))}
    table = read_table(gaps, roles, missing="category")
    ran = Instance.build(table, spec, distances=distances)
    new = pd.DataFrame({"age": [1, 1, 2, 2], "pay": ["10", "20", "20", "10"]})
    release = apply_to(read_table(new, roles, missing="category"), ran, [1], k=2)
    # three places: 10, 20 and the gap; every group has what the table has
    assert release.promised["t_closeness", "pay"] == 0
