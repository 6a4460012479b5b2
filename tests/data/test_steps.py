"""Steps hold every value they should, say so in their labels, and never round."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.cell_reading import Notation
from moanon.data.steps import DATE_UNITS, DateUnit, Kind, Number, Scale, Steps
from moanon.errors import DataError
from tests.refusals import refusal_of


def steps_of(
    values: Sequence[str],
    granularity: Number | None = None,
    bounds: tuple[Number, Number] | None = None,
    origin: Number | None = None,
    declared: Kind | None = None,
) -> Steps:
    scale = Scale.choose(values, "x", declared, granularity, bounds or ())
    return Steps.build(scale, values, "x", granularity, bounds, origin)


def test_every_unit_of_dates_has_a_width() -> None:
    assert tuple(DATE_UNITS) == get_args(DateUnit)


def labels_of(steps: Steps) -> list[str]:
    return [steps.label(i, i + 1) for i in range(steps.count)]


def refusal(values: Sequence[str], *arguments: object, **options: object) -> str:
    return refusal_of(DataError, steps_of, values, *arguments, **options)


def holds(label: str, value: str, kind: Kind) -> bool:
    """Tell from its text alone whether a label stands for a value."""
    convert = {"integer": int, "decimal": Decimal, "date": datetime.date.fromisoformat}[kind]
    place = convert(value[:10] if kind == "date" else value)
    if not label.startswith("["):
        return bool(convert(label) == place)
    inside = label[1:-1]
    first, last = map(convert, inside.split(".." if ".." in inside else "-"))
    return bool(first <= place <= last) and (label.endswith("]") or place < last)


# -- laws ----------------------------------------------------------------------------------------

integers = st.lists(st.integers(-300, 300).map(str), min_size=1, max_size=8)
decimals = st.lists(st.decimals(-20, 20, places=2).map(str), min_size=1, max_size=8)
dates = st.lists(st.dates().map(datetime.date.isoformat), min_size=1, max_size=8)
units = st.sampled_from(sorted(DATE_UNITS))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Steps, list[str]]:
    """Steps of any type over some values, with or without a range and an origin."""
    kind = draw(st.sampled_from(["integer", "decimal", "date"]))
    granularity: Number
    if kind == "integer":
        values, width = draw(integers), draw(st.integers(1, 90))
        granularity, origin = width, draw(st.none() | st.integers(-9, 9))
    elif kind == "decimal":
        values = draw(decimals)
        granularity = draw(st.sampled_from(["0.1", "0.25", "1", "3", "0.07", "1e1"]))
        origin = draw(st.none() | st.sampled_from(["0.5", "-0.03", "2"]))
    else:
        values, granularity = draw(dates), draw(units | st.integers(1, 400))
        origin = draw(st.none() | st.dates().map(str))
    bounds = None
    if draw(st.booleans()):
        convert = {"integer": int, "decimal": Decimal, "date": str}[kind]
        ordered = sorted(values, key=convert)
        bounds = (ordered[0], ordered[-1])
    return steps_of(values, granularity, bounds, origin, kind), values


@given(cases())
def test_the_label_of_a_step_holds_its_values(case: tuple[Steps, list[str]]) -> None:
    steps, values = case
    found = steps.find(values)
    assert ((found >= 0) & (found < steps.count)).all()
    for value, step in zip(values, found.tolist(), strict=True):
        assert holds(steps.label(step, step + 1), value, steps.scale.type)
        assert holds(steps.label(max(0, step - 3), step + 1), value, steps.scale.type)


@given(cases())
def test_a_step_found_is_the_one_that_fractions_give(case: tuple[Steps, list[str]]) -> None:
    steps, values = case
    for value, step in zip(values, steps.find(values).tolist(), strict=True):
        place = steps.scale.position(value)
        assert place is not None
        expected = math.floor((place - steps.origin) / steps.width) - steps.first
        assert step == min(expected, steps.count - 1)


@given(cases(), st.data())
def test_the_label_of_a_step_holds_no_value_of_another(
    case: tuple[Steps, list[str]], data: st.DataObject
) -> None:
    steps, values = case
    other = data.draw(st.integers(0, steps.count - 1))
    for value, step in zip(values, steps.find(values).tolist(), strict=True):
        if step != other:
            assert not holds(steps.label(other, other + 1), value, steps.scale.type)


@given(cases())
def test_blocks_that_differ_are_called_differently(case: tuple[Steps, list[str]]) -> None:
    steps, _ = case
    ends = {*range(min(steps.count, 5)), *range(max(0, steps.count - 5), steps.count + 1)}
    labels = [steps.label(start, stop) for start, stop in combinations(sorted(ends), 2)]
    assert len(labels) == len(set(labels))


@given(st.fractions(max_denominator=1), st.integers(0, 40), st.integers(0, 40))
def test_decimals_are_written_with_all_their_digits(
    number: Fraction, twos: int, fives: int
) -> None:
    place = number / (2**twos * 5**fives)
    text = Scale("decimal").text(place)
    assert Fraction(text) == place
    assert not text.endswith(".")
    assert "." not in text or not text.endswith("0")


# -- integers ------------------------------------------------------------------------------------


def test_integers_lie_in_steps_from_multiples_of_the_width() -> None:
    steps = steps_of(["17", "23", "90"], 5)
    assert steps.count == 16
    assert labels_of(steps) == [f"[{low}-{low + 4}]" for low in range(15, 95, 5)]
    assert steps.find(["15", "19", "20", "94", "14", "95"]).tolist() == [0, 0, 1, 15, -1, -1]
    assert steps.describe() == "[15-19] … [90-94]"


def test_without_a_granularity_each_integer_is_a_step() -> None:
    assert labels_of(steps_of(["3", "1"])) == ["1", "2", "3"]


def test_steps_begin_at_the_range() -> None:
    steps = steps_of(["20"], 5, (17, 30))
    assert labels_of(steps) == ["[17-21]", "[22-26]", "[27-30]"]
    assert steps.find(["16", "17", "30", "31"]).tolist() == [-1, 0, 2, -1]


def test_a_range_clips_the_outer_labels() -> None:
    steps = steps_of(["20"], 5, (17, 30), origin=0)
    assert labels_of(steps) == ["[17-19]", "[20-24]", "[25-29]", "30"]
    assert steps.label(0, 4) == "[17-30]"


def test_an_origin_says_where_a_step_begins() -> None:
    assert labels_of(steps_of(["5", "12"], 5, origin=3)) == ["[3-7]", "[8-12]"]
    assert labels_of(steps_of(["5", "12"], 5, origin=103)) == ["[3-7]", "[8-12]"]


def test_negative_integers_are_set_apart_by_two_dots() -> None:
    steps = steps_of(["-7", "4"], 5)
    assert labels_of(steps) == ["[-10..-6]", "[-5..-1]", "[0..4]"]
    assert steps.label(0, 3) == "[-10..4]"
    assert steps.find(["-10", "-6", "-5", "-0", "+4"]).tolist() == [0, 0, 1, 2, 2]


def test_integers_may_be_longer_than_a_machine_word() -> None:
    steps = steps_of(["12345678901234567890123", "12345678901234567890125"])
    assert labels_of(steps)[1] == "12345678901234567890124"
    assert steps.find(["12345678901234567890125", "9" * 100]).tolist() == [2, -1]


def test_whole_numbers_of_a_configuration_may_be_written_as_floats() -> None:
    steps = steps_of(["7"], 5.0, (0.0, 10.0), 0.0)
    assert steps.scale == Scale("integer")
    assert labels_of(steps) == ["[0-4]", "[5-9]", "10"]


def test_one_value_is_one_step() -> None:
    steps = steps_of(["7"])
    assert (steps.count, steps.label(0, 1), steps.describe()) == (1, "7", "7")


# -- decimals ------------------------------------------------------------------------------------


def test_steps_of_decimals_are_half_open() -> None:
    steps = steps_of(["1.2", "2.5"], 0.5)
    assert labels_of(steps) == ["[1-1.5)", "[1.5-2)", "[2-2.5)", "[2.5-3)"]
    assert steps.find(["1.49999", "1.5", "3", "0.9"]).tolist() == [0, 1, -1, -1]


def test_a_declared_range_of_decimals_includes_its_end() -> None:
    steps = steps_of(["0.1"], 0.5, (0, 1))
    assert labels_of(steps) == ["[0-0.5)", "[0.5-1]"]
    assert steps.find(["0", "0.5", "1", "1.0", "1.01", "-0.01"]).tolist() == [0, 1, 1, 1, -1, -1]


def test_a_range_that_ends_inside_a_step_clips_it() -> None:
    steps = steps_of(["0.1"], 0.5, ("0.1", "0.7"), origin=0)
    assert labels_of(steps) == ["[0.1-0.5)", "[0.5-0.7]"]
    assert steps.find(["0.7", "0.71"]).tolist() == [1, -1]


def test_a_range_of_one_decimal_is_one_step() -> None:
    steps = steps_of(["1.5"], 0.5, (1.5, 1.5))
    assert labels_of(steps) == ["[1.5-1.5]"]
    assert steps.find(["1.5", "1.6"]).tolist() == [0, -1]


def test_decimals_are_compared_as_written() -> None:
    # In binary 0.3 is below 3 * 0.1, and 0.7 // 0.1 is 6.
    steps = steps_of(["0.0", "1.0"], 0.1)
    assert steps.find(["0.3", "0.7", "0.29999999999999999999"]).tolist() == [3, 7, 2]


def test_labels_of_long_decimals_keep_every_digit() -> None:
    long = "10000000000000000000000000000"
    steps = steps_of([f"{long}.15", f"{long}.35"], 0.1)
    assert labels_of(steps) == [
        f"[{long}.1-{long}.2)",
        f"[{long}.2-{long}.3)",
        f"[{long}.3-{long}.4)",
    ]
    longer = "123456789012345678901234567890"
    assert labels_of(steps_of([f"{longer}.1"], 0.1)) == [f"[{longer}.1-{longer}.2)"]


def test_decimals_may_have_an_exponent() -> None:
    steps = steps_of(["1e-7", "2.5E-7", ".5e-6"], "1e-7")
    assert labels_of(steps)[0] == "[0.0000001-0.0000002)"
    assert steps.find(["1e-7", "2.5E-7", ".5e-6", "1e999", "-1e-999"]).tolist() == [0, 1, 4, -1, -1]


def test_negative_decimals_are_set_apart_by_two_dots() -> None:
    assert labels_of(steps_of(["-0.5", "0.2"], 0.5)) == ["[-0.5..0)", "[0..0.5)"]


# -- dates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("granularity", "labels"),
    [
        (None, ["2020-02-28", "2020-02-29", "2020-03-01"]),
        ("day", ["2020-02-28", "2020-02-29", "2020-03-01"]),
        (2, ["[2020-02-28..2020-02-29]", "[2020-03-01..2020-03-02]"]),
        ("week", ["[2020-02-24..2020-03-01]"]),  # Monday to Sunday
        ("month", ["[2020-02-01..2020-02-29]", "[2020-03-01..2020-03-31]"]),
        ("quarter", ["[2020-01-01..2020-03-31]"]),
        ("year", ["[2020-01-01..2020-12-31]"]),
        ("decade", ["[2020-01-01..2029-12-31]"]),
    ],
)
def test_dates_lie_in_steps_of_days_or_months(granularity: Number, labels: list[str]) -> None:
    values = ["2020-02-28", "2020-03-01"]
    steps = steps_of(values, granularity)
    assert labels_of(steps) == labels
    assert steps.find(values).tolist() == [0, len(labels) - 1]


def test_a_time_of_day_is_dropped() -> None:
    steps = steps_of(["2020-01-01T23:59:59.5Z", "2020-01-02 00:00:00+02:00", "2020-01-02"])
    assert labels_of(steps) == ["2020-01-01", "2020-01-02"]


@pytest.mark.parametrize(
    "time",
    ["T10", " 10:00", "T1000", "T10:00:00,5", "T10:00Z", "T10:00-03:30", "T10:00:00.000000001+02"],
)
def test_a_day_with_a_time_is_a_date(time: str) -> None:
    assert Scale("date").position(f"2020-01-01{time}") == Scale("date").position("2020-01-01")


@pytest.mark.parametrize(
    "time",
    [
        "T",
        "T::::",
        " 99:99",
        "T+++",
        "TZ",
        "T1",
        "T10.5",
        "T10:60",
        "T10:00:60",
        "T10:0000",
        "T24:00",
        "T10:00+99:00",
        "T10:00ZZ",
        "T10:00-",
        "  10:00",
    ],
)
def test_a_day_with_what_is_no_time_is_no_date(time: str) -> None:
    assert Scale("date").misfits([f"2020-01-01{time}"]) == [f"2020-01-01{time}"]


@given(st.datetimes(timezones=st.none() | st.timezones()), st.sampled_from("T "))
def test_every_time_that_python_writes_is_a_date(moment: datetime.datetime, mark: str) -> None:
    assert Scale("date").position(moment.isoformat(mark)) == moment.date().toordinal()


def test_days_that_do_not_exist_are_no_dates() -> None:
    assert refusal(["2021-02-29"], "day") == (
        "column 'x': an interval column here holds dates (dates as YYYY-MM-DD). Got '2021-02-29'"
    )


def test_a_range_of_months_holds_whole_months() -> None:
    steps = steps_of(["2020-03-05"], "month", ("2020-02-15", "2020-03-10"))
    assert labels_of(steps) == ["[2020-02-01..2020-02-29]", "[2020-03-01..2020-03-31]"]
    assert steps.find(["2020-02-01", "2020-03-31", "2020-04-01"]).tolist() == [0, 1, -1]


def test_steps_of_months_begin_at_the_range_or_the_origin() -> None:
    bounds = ("2020-02-01", "2020-07-31")
    assert labels_of(steps_of(["2020-03-05"], "quarter", bounds)) == [
        "[2020-02-01..2020-04-30]",
        "[2020-05-01..2020-07-31]",
    ]
    assert labels_of(steps_of(["2020-03-05"], "quarter", bounds, "2020-01-01")) == [
        "[2020-02-01..2020-03-31]",
        "[2020-04-01..2020-06-30]",
        "[2020-07-01..2020-07-31]",
    ]


@pytest.mark.parametrize("unit", sorted(DATE_UNITS))
def test_labels_stay_inside_the_calendar(unit: str) -> None:
    first, last = "0001-01-01", "9999-12-31"
    low, high = steps_of([first], unit), steps_of([last], unit)
    assert holds(low.label(0, 1), first, "date")
    assert holds(high.label(0, 1), last, "date")


def test_labels_at_the_ends_of_the_calendar_are_clipped() -> None:
    assert labels_of(steps_of(["0001-01-01"], "decade")) == ["[0001-01-01..0009-12-31]"]
    assert labels_of(steps_of(["9999-12-31"], "week")) == ["[9999-12-27..9999-12-31]"]
    assert labels_of(steps_of(["0001-01-01"], 10, origin="0001-01-08")) == [
        "[0001-01-01..0001-01-07]"
    ]


# -- types ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "granularity", "bounds", "declared", "expected"),
    [
        (["1", "2"], None, (), None, Scale("integer")),
        (["1", "2.0"], None, (), None, Scale("decimal")),
        (["1", "2"], 0.5, (), None, Scale("decimal")),
        (["1", "2"], 1, (0.5, 9.5), None, Scale("decimal")),
        (["1", "2"], 1, (), "decimal", Scale("decimal")),
        (["2020-01-01"], None, (), None, Scale("date")),
        (["2020-01-01"], 30, (), None, Scale("date")),
        (["2020-01-01"], "week", (), None, Scale("date")),
        (["2020-01-01"], "year", (), None, Scale("date", months=True)),
    ],
)
def test_the_narrowest_type_that_fits_is_taken(
    values: list[str],
    granularity: Number | None,
    bounds: Sequence[Number],
    declared: Kind | None,
    expected: Scale,
) -> None:
    assert Scale.choose(values, "x", declared, granularity, bounds) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1.0", "integer"),
        (" 1", "integer"),
        ("1_000", "integer"),
        ("", "integer"),
        ("٣", "integer"),
        ("9" * 101, "integer"),
        ("1,5", "decimal"),
        ("nan", "decimal"),
        ("inf", "decimal"),
        (".", "decimal"),
        ("1e1000", "decimal"),
        ("1." + "0" * 101, "decimal"),
        ("2020-1-1", "date"),
        ("20200101", "date"),
        ("2020-01-01x", "date"),
        ("2020-13-01", "date"),
        ("0000-01-01", "date"),
    ],
)
def test_texts_of_another_type_have_no_place(text: str, kind: Kind) -> None:
    assert Scale(kind).position(text) is None
    assert Scale(kind).misfits([text]) == [text]


# -- refusals ------------------------------------------------------------------------------------

UNITS = "day, week, month, quarter, year, decade"
DATES_ONLY = f"a whole number of days > 0 or one of {UNITS}"


@pytest.mark.parametrize(
    ("values", "granularity", "declared", "message"),
    [
        (["1"], 0, None, "granularity must be a whole number > 0. Got 0"),
        (["1"], -5, None, "granularity must be a whole number > 0. Got -5"),
        (["1"], 0.5, "integer", "granularity must be a whole number > 0. Got 0.5"),
        (["1"], "month", "integer", "granularity must be a whole number > 0. Got month"),
        (["1.5"], 0, None, "granularity must be a number > 0. Got 0"),
        (["1.5"], -0.5, None, "granularity must be a number > 0. Got -0.5"),
        (["2020-01-01"], 0.5, None, f"granularity must be {DATES_ONLY}. Got 0.5"),
        (["2020-01-01"], 0, None, f"granularity must be {DATES_ONLY}. Got 0"),
        (
            ["1"],
            "Month",
            None,
            f"granularity must be a number > 0 or, for dates, one of {UNITS}. Got 'Month'",
        ),
        (
            ["1"],
            float("nan"),
            None,
            f"granularity must be a number > 0 or, for dates, one of {UNITS}. Got nan",
        ),
        (
            ["1.5"],
            None,
            None,
            "a column of decimals needs a granularity (the width of a step), e.g. granularity: 0.5",
        ),
        (["1"], 1, "number", "type must be one of integer, decimal, date. Got 'number'"),
        (
            ["1", "two"],
            1,
            None,
            "an interval column here holds integers or decimals or dates (dates as YYYY-MM-DD). "
            "Got 'two'",
        ),
        (
            ["1", "a", "b", "c", "d", "e"],
            1,
            "integer",
            "an interval column here holds integers (dates as YYYY-MM-DD). Got 'a', 'b', 'c' and 2 "
            "more",
        ),
        (
            ["2020-01-01", "5"],
            "month",
            None,
            "an interval column here holds dates (dates as YYYY-MM-DD). Got '5'",
        ),
        (
            ["5"],
            1,
            "date",
            "an interval column here holds dates (dates as YYYY-MM-DD). Got '5'",
        ),
        ([], 1, None, "no values to take an interval's range from"),
    ],
)
def test_steps_that_make_no_sense_are_refused(
    values: list[str], granularity: Number | None, declared: Kind | None, message: str
) -> None:
    assert refusal(values, granularity, declared=declared) == f"column 'x': {message}"


@pytest.mark.parametrize(
    ("values", "granularity", "bounds", "message"),
    [
        (["1"], 1, (9, 0), "range must go upwards. Got [9, 0]"),
        (
            ["2020-01-01"],
            "month",
            ("2020-01-20", "2020-01-10"),
            "range must go upwards. Got [2020-01-20, 2020-01-10]",
        ),
        (["1"], 1, (0, "x"), "each end of range must be a whole number. Got 'x'"),
        (["1.5"], 1, ("2020-01-01", 3), "each end of range must be a number. Got '2020-01-01'"),
        (["2020-01-01"], 1, (1, 2), "each end of range must be a date (YYYY-MM-DD). Got 1"),
        (["1"], 1, (0, float("inf")), "each end of range must be a whole number. Got inf"),
        (["1"], 1, (0, 1, 2), "range must hold two values. Got [0, 1, 2]"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(
    values: list[str], granularity: Number, bounds: tuple[Number, Number], message: str
) -> None:
    assert refusal(values, granularity, bounds) == f"column 'x': {message}"


@pytest.mark.parametrize(
    ("values", "origin", "message"),
    [
        (["1"], 0.5, "origin must be a whole number. Got 0.5"),
        (["1.5"], "a", "origin must be a number. Got 'a'"),
        (["2020-01-01"], 3, "origin must be a date (YYYY-MM-DD). Got 3"),
    ],
)
def test_origins_of_another_type_are_refused(
    values: list[str], origin: Number, message: str
) -> None:
    assert refusal(values, 1, origin=origin) == f"column 'x': {message}"


# -- clamped ends --------------------------------------------------------------------------------


def clamped(values: Sequence[str], width: Number, low: Number, high: Number) -> Steps:
    scale = Scale.choose(values, "x", None, width, (low, high))
    return Steps.build(scale, values, "x", width, (low, high), None, clamped=True)


def test_values_outside_a_clamped_range_have_base_values_of_their_own() -> None:
    steps = clamped(["17", "99"], 30, 20, 90)
    # 20-49, 50-79 and what is left of 80-109 below 90
    assert [steps.label(i, i + 1) for i in range(steps.size)] == [
        *("<20", "[20-49]", "[50-79]", "[80-89]", ">=90"),
    ]
    found = steps.find(["-5", "19", "20", "49", "50", "89", "90", "120", "old"])
    assert found.tolist() == [0, 0, 1, 1, 2, 3, 4, 4, -1]


def test_blocks_that_reach_a_clamped_end_are_open_there() -> None:
    steps = clamped(["17"], 10, 20, 50)
    assert [steps.label(0, 2), steps.label(2, 5), steps.label(1, 3)] == ["<30", ">=30", "[20-39]"]


def test_a_clamped_range_of_one_place_has_two_base_values() -> None:
    steps = clamped(["17"], 10, 20, 20)
    assert [steps.label(0, 1), steps.label(1, 2)] == ["<20", ">=20"]
    assert steps.find(["19", "20"]).tolist() == [0, 1]


def test_clamped_decimals_are_half_open_to_the_end() -> None:
    steps = clamped(["1.5"], 0.5, 0, 1)
    labels = [steps.label(i, i + 1) for i in range(steps.size)]
    assert labels == ["<0", "[0-0.5)", "[0.5-1)", ">=1"]
    assert steps.find(["-0.1", "0.99", "1", "1.0"]).tolist() == [0, 2, 3, 3]


def test_clamped_dates_are_compared_by_their_steps() -> None:
    steps = clamped(["1931-05-05"], "year", "1940-01-01", "1942-01-01")
    labels = [steps.label(i, i + 1) for i in range(steps.size)]
    assert labels == [
        *("<1940-01-01", "[1940-01-01..1940-12-31]", "[1941-01-01..1941-12-31]", ">=1942-01-01"),
    ]
    assert steps.find(["1939-12-31", "1940-01-01", "1942-01-01"]).tolist() == [0, 1, 3]


# -- other notations -----------------------------------------------------------------------------


def test_numbers_and_dates_are_read_in_the_notation_of_their_column() -> None:
    written = Notation(decimal=",", thousands=".")
    scale = Scale.choose(["1.234,5", "7"], "x", None, 500, (0, 2000), written)
    steps = Steps.build(scale, ["1.234,5", "7"], "x", 500, (0, 2000), None)
    assert steps.find(["1.234,5", "7", "1234.5", "12.34"]).tolist() == [2, 0, -1, -1]
    assert steps.label(2, 3) == "[1000-1500)"
    scale = Scale.choose(["31.1.1999"], "x", None, "year", (), Notation(format="%d.%m.%Y"))
    steps = Steps.build(scale, ["31.1.1999"], "x", "year", None, None)
    assert labels_of(steps) == ["[1999-01-01..1999-12-31]"]


@pytest.mark.parametrize(
    ("values", "notation", "message"),
    [
        (
            ["1.2.1999", "3.4.2001"],
            Notation(format="%Y/%m/%d"),
            "the format '%Y/%m/%d' fits none of its 2 values. Got '1.2.1999', '3.4.2001'",
        ),
        (
            ["1.2.1999", "n/a"],
            Notation(format="%d.%m.%Y"),
            "the format '%d.%m.%Y' fits only 1 of its 2 values. Got 'n/a'",
        ),
        (
            ["1.2."],
            Notation(format="%d.%m."),
            "format must say where the year stands (%Y), e.g. %d.%m.%Y. Got '%d.%m.'",
        ),
        (
            ["1,5"],
            Notation(decimal=",", thousands=","),
            "decimal and thousands must be two different signs. Got ',' and ','",
        ),
        (
            ["1,5"],
            Notation(decimal="x"),
            "decimal must be one sign that is no letter, digit, + or -. Got 'x'",
        ),
    ],
)
def test_notations_that_do_not_fit_are_refused(
    values: list[str], notation: Notation, message: str
) -> None:
    found = refusal_of(DataError, Scale.choose, values, "x", None, 1, (), notation)
    assert found == f"column 'x': {message}"


def test_a_refusal_names_the_notation_that_would_fit() -> None:
    assert refusal(["1.234,5", "7,25"]).endswith("they fit decimal: ',', thousands: '.'")
    assert refusal(["31.12.1999", "1.1.2000"]).endswith("they fit format: '%d.%m.%Y'")
