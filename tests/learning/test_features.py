"""Features: raw and released rows in the same columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.column import Column
from moanon.data.domain import IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.learning.features import HIDDEN, FeatureSpace

PLACES = Hierarchy.from_nested("Anywhere", {"North": ["Oslo", "Bergen"], "South": ["Rome"]})


def _space(
    frame: pd.DataFrame, specs: dict[str, object], missing: str = "category", **roles: str
) -> FeatureSpace:
    given_roles = dict.fromkeys(specs, "quasi") | roles
    table = read_table(frame, given_roles, missing=missing)  # type: ignore[arg-type]
    everybody = np.ones(len(frame), dtype=bool)
    return FeatureSpace.of(Instance.build(table, specs), "ill", everybody)  # type: ignore[arg-type]


def _everybody(space: FeatureSpace) -> np.ndarray:
    return np.ones(space.instance.table.rows, dtype=bool)


def _released(space: FeatureSpace, genome: str) -> list[list[float]]:
    instance = space.instance
    grouping = Grouping.of_genome(instance, instance.layout.parse(genome))
    return space.released(grouping, grouping.row_group, _everybody(space)).tolist()


def test_a_number_is_its_least_and_its_largest_value() -> None:
    space = _space(pd.DataFrame({"age": [22, 37]}), {"age": IntervalSpec(10, (20, 45))})
    assert space.names == ("age (least)", "age (largest)")
    assert space.raw(_everybody(space)).tolist() == [[22, 22], [37, 37]]
    # Steps [20-29], [30-39], [40-45]: the last two merged, and then all.
    assert _released(space, "10") == [[20, 29], [30, 45]]
    assert _released(space, "00") == [[20, 45], [20, 45]]


def test_a_decimal_reaches_to_where_the_next_step_begins() -> None:
    space = _space(pd.DataFrame({"bmi": ["1.7", "2.2"]}), {"bmi": IntervalSpec(0.5, (1, 3))})
    assert space.raw(_everybody(space)).tolist() == [[1.7, 1.7], [2.2, 2.2]]
    assert _released(space, "111") == [[1.5, 2.0], [2.0, 2.5]]


def test_a_date_is_a_number_of_days() -> None:
    space = _space(pd.DataFrame({"day": ["2024-01-01", "2024-01-09"]}), {"day": IntervalSpec(7)})
    raw = space.raw(_everybody(space))
    assert raw[1, 0] - raw[0, 0] == 8
    released = np.array(_released(space, "1"))
    assert (released[:, 1] - released[:, 0] == 6).all()
    assert ((released[:, 0] <= raw[:, 0]) & (raw[:, 0] <= released[:, 1])).all()


def test_an_ordered_value_is_its_first_and_its_last_place() -> None:
    space = _space(pd.DataFrame({"size": ["S", "L", "M"]}), {"size": OrderedSpec(("S", "M", "L"))})
    assert space.names == ("size (first)", "size (last)")
    assert space.raw(_everybody(space)).tolist() == [[0, 0], [2, 2], [1, 1]]
    assert _released(space, "10") == [[0, 0], [1, 2], [1, 2]]


def test_a_node_is_its_ancestors() -> None:
    space = _space(pd.DataFrame({"place": ["Oslo", "Rome"]}), {"place": TreeSpec(PLACES)})
    # In pre-order: Anywhere 0, North 1, Oslo 2, Bergen 3, Rome 4 (South holds it alone).
    assert PLACES.names == ("Anywhere", "North", "Oslo", "Bergen", "Rome")
    assert space.names == ("place (depth 1)", "place (depth 2)")
    assert space.is_category.all()
    assert space.raw(_everybody(space)).tolist() == [[1, 2], [4, HIDDEN]]
    assert _released(space, "01") == [[1, HIDDEN], [4, HIDDEN]]
    assert _released(space, "00") == [[HIDDEN, HIDDEN], [HIDDEN, HIDDEN]]


def test_a_missing_value_has_no_place_and_says_so() -> None:
    frame = pd.DataFrame({"age": ["22", None, "37"], "place": ["Oslo", None, "Rome"]})
    space = _space(frame, {"age": IntervalSpec(10, (20, 39)), "place": TreeSpec(PLACES)})
    assert space.names[:3] == ("age (least)", "age (largest)", "age (may be missing)")
    raw = space.raw(_everybody(space))
    assert raw[0, :3].tolist() == [22, 22, 0]
    assert np.isnan(raw[1, :2]).all()
    assert raw[1, 2] == 1
    tree = space.instance.layout.trees["place"]
    assert tree.names[int(raw[1, 3])] == "(missing)"
    # Ages [30-39] and missing merged, places apart.
    merged = np.array(_released(space, "10" + "111"))
    assert merged[0, :3].tolist() == [20, 29, 0]
    assert merged[1, :3].tolist() == merged[2, :3].tolist() == [30, 39, 1]


def test_other_columns_are_numbers_or_categories_and_the_target_is_none() -> None:
    frame = pd.DataFrame(
        {
            "sex": ["f", "m", "f"],
            "pay": ["10", None, "2.5"],
            "job": ["cook", "cook", None],
            "code": ["1", "inf", "2"],
            "id": ["a", "b", "c"],
            "ill": ["y", "n", "y"],
        }
    )
    roles = {"pay": "insensitive", "job": "sensitive", "code": "insensitive", "id": "identifying"}
    space = _space(frame, {"sex": OrderedSpec(("f", "m"))}, **roles, ill="sensitive")
    assert space.names[2:] == ("pay", "job", "code")
    assert space.is_category[2:].tolist() == [False, True, True]
    raw = space.raw(_everybody(space))[:, 2:]
    assert raw[0, 0] == 10
    assert np.isnan(raw[1, 0])
    assert raw[:, 1].tolist() == [0, 0, -1]


def test_columns_that_a_file_lacks_are_left_out() -> None:
    frame = pd.DataFrame({"sex": ["f", "m"], "pay": ["1", "2"], "ill": ["y", "n"]})
    table = read_table(frame, {"sex": "quasi", "pay": "insensitive", "ill": "sensitive"})
    instance = Instance.build(table, {"sex": OrderedSpec(("f", "m"))})
    everybody = np.ones(2, dtype=bool)
    assert FeatureSpace.of(instance, "ill", everybody, {"sex", "ill"}).others == ()


def test_rows_that_are_not_learned_from_do_not_settle_what_is_a_number() -> None:
    frame = pd.DataFrame({"sex": ["f", "m", "f"], "pay": ["1", "2", "lots"], "ill": list("yny")})
    table = read_table(frame, {"sex": "quasi", "pay": "insensitive", "ill": "sensitive"})
    instance = Instance.build(table, {"sex": OrderedSpec(("f", "m"))})
    taught = np.array([True, True, False])
    space = FeatureSpace.of(instance, "ill", taught)
    assert not space.is_category[-1]
    assert space.raw(taught)[:, -1].tolist() == [1, 2]
    assert np.isnan(space.raw(~taught)[0, -1])
    assert FeatureSpace.of(instance, "ill", ~taught).is_category[-1]


def test_boxes_show_intervals_orders_nodes_and_sets_of_leaves() -> None:
    tree = Hierarchy.from_nested(
        "Anywhere", {"North": ["Oslo", "Bergen", "Narvik"], "South": ["Rome", "Bari"]}
    )
    frame = pd.DataFrame(
        {
            "age": [21, 34, 38, 45],
            "size": ["S", "M", "L", "L"],
            "place": ["Oslo", "Bergen", "Narvik", "Bari"],
        }
    )
    specs = {
        "age": IntervalSpec(10, (20, 49)),
        "size": OrderedSpec(("S", "M", "L")),
        "place": TreeSpec(tree, sets=True),
    }
    space = _space(frame, specs)
    # Boxes [20-29] S {Oslo, Bergen}; [20-39] S..M {Oslo, Bergen}; [30-49] * {Narvik, Rome}; Bari.
    starts = np.array([[0, 0, 1, 2], [0, 0, 0, 2], [0, 0, 2, 4]])
    stops = np.array([[1, 2, 3, 3], [1, 2, 3, 3], [2, 2, 4, 5]])
    cells = space.instance.cells
    assert len(cells.counts) == 4
    box = np.array([0, 1, 2, 3])  # cells come in the order of their values, as these rows do
    grouping = Grouping.of_boxes(space.instance, box, starts, stops)
    # In pre-order: Anywhere 0, North 1, Oslo 2, Bergen 3, Narvik 4, South 5, Rome 6, Bari 7.
    assert tree.names.index("Bari") == 7
    shown = space.released(grouping, grouping.row_group, _everybody(space)).tolist()
    assert shown == [
        [20, 29, 0, 0, 1, HIDDEN],  # {Oslo, Bergen}: both are in the North
        [20, 39, 0, 1, 1, HIDDEN],
        [30, 49, 0, 2, HIDDEN, HIDDEN],  # {Narvik, Rome}: nothing below Anywhere holds both
        [40, 49, 2, 2, 5, 7],
    ]
    assert space.raw(_everybody(space))[2].tolist() == [38, 38, 2, 2, 1, 4]


def test_months_are_numbers_of_months() -> None:
    frame = pd.DataFrame({"day": ["2024-01-31", "2024-03-01", "2025-01-15"]})
    space = _space(frame, {"day": IntervalSpec("month")})
    raw = space.raw(_everybody(space))[:, 0]
    assert (raw - raw[0]).tolist() == [0, 2, 12]
    released = np.array(_released(space, "0" * space.instance.layout.bits))
    assert (released - raw[0]).tolist() == [[0, 12]] * 3


@given(st.data())
def test_a_released_row_holds_its_raw_row(data: st.DataObject) -> None:
    """Ends of a block lie around the raw value; ancestors that are shown are those of the leaf."""
    rows = data.draw(st.integers(1, 6))
    frame = pd.DataFrame(
        {
            "age": data.draw(st.lists(st.integers(20, 39), min_size=rows, max_size=rows)),
            "size": data.draw(st.lists(st.sampled_from("SML"), min_size=rows, max_size=rows)),
            "place": data.draw(
                st.lists(st.sampled_from(PLACES.leaves), min_size=rows, max_size=rows)
            ),
        }
    )
    specs = {
        "age": IntervalSpec(3, (20, 39)),
        "size": OrderedSpec(("S", "M", "L")),
        "place": TreeSpec(PLACES),
    }
    space = _space(frame, specs)
    seed = data.draw(st.integers(0, 2**16))
    (genome,) = space.instance.layout.sample(1, np.random.default_rng(seed))
    grouping = Grouping.of_genome(space.instance, genome)
    raw = space.raw(_everybody(space))
    shown = space.released(grouping, grouping.row_group, _everybody(space))
    assert (shown[:, [0, 2]] <= raw[:, [0, 2]]).all()
    assert (raw[:, [1, 3]] <= shown[:, [1, 3]]).all()
    known = shown[:, 4:] != HIDDEN
    assert (shown[:, 4:][known] == raw[:, 4:][known]).all()


def test_the_finest_ordered_and_tree_labels_are_raw_values() -> None:
    frame = pd.DataFrame({"size": ["S", "L"], "place": ["Oslo", "Rome"]})
    specs = {"size": OrderedSpec(("S", "M", "L")), "place": TreeSpec(PLACES)}
    space = _space(frame, specs)
    assert _released(space, "1111") == space.raw(_everybody(space)).tolist()


@pytest.mark.parametrize("value", ["1e300", "-1e300"])
def test_numbers_that_models_cannot_hold_are_cut_off(value: str) -> None:
    frame = pd.DataFrame({"sex": ["f"], "pay": [value]})
    space = _space(frame, {"sex": OrderedSpec(("f", "m"))}, pay="insensitive")
    assert abs(space.raw(_everybody(space))[0, 2]) == 1e15
    column = space.instance.table.columns["pay"]
    assert isinstance(column, Column)


def test_clamped_ends_reach_as_far_as_the_table_in_whole_steps() -> None:
    spec = IntervalSpec(10, (20, 40), outside="clamp")
    space = _space(pd.DataFrame({"age": [7, 25, 39, 40, 99]}), {"age": spec})
    # Base values <20, [20-29], [30-39], >=40.
    assert _released(space, "111") == [[0, 19], [20, 29], [30, 39], [40, 99], [40, 99]]
    assert _released(space, "001")[0] == [0, 39]
    assert space.raw(_everybody(space))[:, 0].tolist() == [7, 25, 39, 40, 99]


def test_a_clamped_range_may_end_within_a_step() -> None:
    spec = IntervalSpec(10, (20, 45), outside="clamp")
    space = _space(pd.DataFrame({"age": [25, 41, 47, 52]}), {"age": spec})
    # Base values <20, [20-29], [30-39], [40-44], >=45; steps are counted on from 50.
    assert _released(space, "1111") == [[20, 29], [40, 44], [45, 59], [45, 59]]
    assert space.raw(_everybody(space))[:, 0].tolist() == [25, 41, 47, 52]
