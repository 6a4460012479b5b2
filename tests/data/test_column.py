"""Typed values: different ones get different texts, equal ones the same."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.column import chosen_positions, refuse_bad_names
from tests.data.reading import one, refusal, texts

SINGLE = np.array([0.1, 2.5], dtype=np.float32)
BERLIN = pd.to_datetime(["2020-07-01 00:00", "2020-01-01 12:30"]).tz_localize("Europe/Berlin")
TYPED = [
    ([12, -3], ["12", "-3"]),
    (pd.array([1, None], dtype="Int64"), ["1", None]),
    ([2**70, 1], [str(2**70), "1"]),
    ([1.0, None, -0.0], ["1", None, "0"]),  # integers with a gap
    ([1.5, 2.0], ["1.5", "2"]),
    ([0.1 + 0.2, 1e22], ["0.30000000000000004", "1e+22"]),
    ([float("inf"), 1.0], ["inf", "1"]),
    (SINGLE, ["0.1", "2.5"]),
    (pd.array([0.1, None], dtype="Float32"), ["0.1", None]),
    ([True, False], ["True", "False"]),
    (pd.array([True, None], dtype="boolean"), ["True", None]),
    ([dt.date(2020, 2, 29), None], ["2020-02-29", None]),
    (pd.Series([pd.Timestamp("2020-01-01"), pd.NaT]), ["2020-01-01", None]),
    (
        pd.to_datetime(["2020-01-01 00:00", "2020-01-01 05:00"]),
        ["2020-01-01", "2020-01-01T05:00:00"],
    ),
    ([pd.Timestamp("2020-01-01 00:00:00.000000001")], ["2020-01-01T00:00:00.000000001"]),
    ([dt.datetime(2020, 1, 1, 5, 0, 0, 1200)], ["2020-01-01T05:00:00.0012"]),
    (BERLIN, ["2020-06-30T22:00:00+00:00", "2020-01-01T11:30:00+00:00"]),
    ([dt.time(1, 2), dt.time(1, 2, 3, 500000)], ["01:02:00", "01:02:03.5"]),
    ([Decimal("12.50"), Decimal("1E+3"), None], ["12.5", "1000", None]),
    ([UUID(int=1)], ["00000000-0000-0000-0000-000000000001"]),
    (["NA", "None", "nan", "01", ""], ["NA", "None", "nan", "01", None]),
    (pd.array(["a", None], dtype="string"), ["a", None]),
    (pd.Categorical(["b", None], categories=["z", "b"]), ["b", None]),
    (pd.Categorical([3, 1], categories=[3, 2, 1]), ["3", "1"]),
    (pd.Series([None, np.nan, pd.NaT, pd.NA, "x"], dtype=object), [None] * 4 + ["x"]),
    (pd.Series([None, None], dtype=object), [None, None]),
]


@pytest.mark.parametrize(("values", "expected"), TYPED)
def test_canonical_text(values: Any, expected: list[str | None]) -> None:
    column = one(values)
    assert texts(column) == expected
    assert set(column.values) == {text for text in expected if text is not None}
    assert column.native is not None
    assert len(column.native) == len(column.values)


EAST = dt.timezone(dt.timedelta(hours=2))
EQUAL = [
    ([Decimal("100.000"), Decimal("1E+2"), Decimal(100)], "100"),
    ([Decimal("-0.00"), Decimal(0)], "0"),
    ([Decimal("12345678901234567890123456789012.50")], "12345678901234567890123456789012.5"),
    ([dt.time(3, tzinfo=EAST), dt.time(1, tzinfo=dt.UTC)], "01:00:00+00:00"),
    ([dt.time(1, tzinfo=EAST), dt.time(23, tzinfo=dt.UTC)], "23:00:00+00:00"),
    ([np.float32(0.5), 0.5], "0.5"),
    ([np.datetime64("2020-01"), np.datetime64("2020-01-01T00:00")], "2020-01-01"),
]


@pytest.mark.parametrize(("values", "text"), EQUAL)
@pytest.mark.parametrize("turn", [1, -1])
def test_the_text_of_equal_objects_is_not_that_of_the_first(
    values: list[Any], text: str, turn: int
) -> None:
    column = one(pd.Series(values[::turn], dtype=object))
    assert texts(column) == [text] * len(values)
    assert column.native is not None
    assert len({str(value) for value in column.native}) == 1


def test_single_floats_among_objects_look_the_same_whatever_stands_beside_them() -> None:
    alone = one(pd.Series([np.float32(0.1)], dtype=object))
    assert texts(one(pd.Series([np.float32(0.1), 0.1], dtype=object)))[0] == alone.values[0]


@pytest.mark.parametrize(
    ("values", "native"),
    [
        ([10, 9, 10], np.array([10, 9])),  # sorted by text: "10" before "9"
        ([2.5, 1.0], np.array([1.0, 2.5])),
        (SINGLE, SINGLE),
        ([True, False], np.array([False, True])),
        (
            pd.to_datetime(["2020-01-02", "2020-01-01"]),
            np.array(["2020-01-01", "2020-01-02"], "M8"),
        ),
        (["b", "a"], np.array(["a", "b"], dtype=object)),
        ([2**70, 1], np.array([1, 2**70], dtype=object)),
    ],
)
def test_native_values_stand_beside_their_texts(values: Any, native: Any) -> None:
    found = one(values).native
    assert found is not None
    assert found.dtype.kind == native.dtype.kind
    assert found.tolist() == native.astype(found.dtype).tolist()


@pytest.mark.parametrize(
    ("values", "types"),
    [
        ([1, "1"], "int and str"),
        ([1, 1.0], "float and int"),
        ([True, 1], "bool and int"),
        ([1.5, Decimal("1.5")], "Decimal and float"),
        ([dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)], "date and datetime"),
    ],
)
def test_mixed_types(values: Any, types: str) -> None:
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    assert refusal(frame) == (
        f"DataFrame: column 'x' mixes {types} values; one column holds one type"
    )


def test_times_with_and_without_zone() -> None:
    moments = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]
    frame = pd.DataFrame({"x": pd.Series(moments, dtype=object)})
    assert "column 'x' mixes times with and without a time zone" in refusal(frame)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([[1], [2]], "list"),
        ([b"a"], "bytes"),
        ([1 + 2j], "complex"),
        ([dt.timedelta(1)], "Timedelta"),
    ],
)
def test_strange_types(values: Any, kind: str) -> None:
    assert refusal(pd.DataFrame({"x": values})) == (
        f"DataFrame: column 'x' holds {kind} values; read are text, numbers, booleans, dates and "
        "times"
    )


NANOSECOND = pd.Timestamp("2020-01-01 00:00:00.000000001")


@pytest.mark.parametrize("far", [dt.datetime(9999, 1, 1), dt.datetime(1600, 1, 1)])
def test_nanoseconds_beside_times_they_do_not_reach(far: dt.datetime) -> None:
    frame = pd.DataFrame({"x": pd.Series([NANOSECOND, far], dtype=object)})
    assert refusal(frame) == (
        "DataFrame: column 'x' holds times to the nanosecond beside times before 1678 or after "
        "2262, which do not fit together; round them to microseconds"
    )


def test_times_of_several_units_that_fit_together() -> None:
    near = pd.Series([NANOSECOND, dt.datetime(2200, 1, 1)], dtype=object)
    assert one(near).values == ("2020-01-01T00:00:00.000000001", "2200-01-01")
    coarse = pd.Series([NANOSECOND.floor("us"), dt.datetime(9999, 1, 1)], dtype=object)
    assert one(coarse).values == ("2020-01-01", "9999-01-01")


@pytest.mark.parametrize("dtype", [np.longdouble, object])
def test_floats_that_would_be_cut(dtype: Any) -> None:
    close = [np.longdouble(1), np.longdouble(1) + np.finfo(np.longdouble).eps]
    if np.finfo(np.longdouble).nmant == np.finfo(float).nmant:
        pytest.skip("a long double holds no more digits than a float on this machine")
    assert refusal(pd.DataFrame({"x": pd.Series(close, dtype=dtype)})) == (
        "DataFrame: column 'x' holds longdouble values, of which only the first 64 bits would be "
        "read; round them to float64"
    )


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_text_that_no_file_can_hold(text: str) -> None:
    frame = pd.DataFrame({"x": pd.Series([text], dtype=object)})
    assert refusal(frame) == f"DataFrame: column 'x' holds {text!a}, which no file can hold"


class _Watched(str):
    """A name that counts how often it is compared with another."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        _Watched.compared += 1
        return str.__eq__(self, other)


def test_a_header_is_checked_in_one_pass() -> None:
    names = [_Watched(f"column {i}") for i in range(300)]
    refuse_bad_names("t", names)
    assert chosen_positions("t", names, names) == list(range(300))
    # All pairs would be 44,850; hashes that meet in a set cost a few.
    assert _Watched.compared < 4 * len(names)


def test_tokens_match_canonical_text() -> None:
    assert texts(one([-9, 1], missing_tokens=["-9"])) == [None, "1"]
    assert texts(one([True, False], missing_tokens=["True"])) == [None, "False"]


@pytest.mark.parametrize("token", ["-9", "-9.0"])
def test_a_whole_float_matches_both_ways_to_write_it(token: str) -> None:
    assert texts(one([-9.0, 1.5], missing_tokens=[token])) == [None, "1.5"]
    assert texts(one([-9.0, 1.0], missing_tokens=[token])) == [None, "1"]


def test_floats_are_whole_if_all_but_the_missing_are() -> None:
    assert texts(one([0.5, 1.0, 2.0], missing_tokens=["0.5"])) == [None, "1", "2"]


def test_equal_values_have_one_text() -> None:
    assert one([-0.0, 0.0, 0.5]).values == ("0", "0.5")
    zones = [dt.datetime(2020, 1, 1, h, tzinfo=dt.timezone(dt.timedelta(hours=h))) for h in (0, 2)]
    assert one(pd.Series(zones, dtype=object)).values == ("2020-01-01T00:00:00+00:00",)
    assert len(one([Decimal("1.0"), Decimal("1.00")]).values) == 1


@given(
    st.one_of(
        st.lists(st.integers(), min_size=1),
        st.lists(st.floats(allow_nan=False), min_size=1),
        st.lists(st.floats(allow_nan=False, width=32).map(np.float32), min_size=1),
        st.lists(st.decimals(allow_nan=False, allow_infinity=False), min_size=1),
        st.lists(st.dates(), min_size=1),
        st.lists(st.datetimes(), min_size=1),
        st.lists(st.datetimes(timezones=st.just(dt.UTC)), min_size=1),
        st.lists(st.times(), min_size=1),
        st.lists(st.booleans(), min_size=1),
    )
)
def test_different_values_never_share_a_text(values: Sequence[Any]) -> None:
    column = one(pd.Series(values, dtype=object))
    by_text = dict(zip(texts(column), values, strict=True))
    assert len(column.values) == len(set(values))
    assert all(by_text[text] == value for text, value in zip(texts(column), values, strict=True))
