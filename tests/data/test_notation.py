"""Numbers and dates as files write them become plain ones, or nothing."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.cell_reading import PLAIN, Notation
from moanon.data.column import Column
from tests.data.columns import column_of

GERMAN = Notation(decimal=",", thousands=".")


@given(
    st.decimals(-(10**9), 10**9, places=2),
    st.sampled_from([",", "."]),
    st.sampled_from(["", "'", " "]),
    st.sampled_from(["", "€", "kg"]),
    st.booleans(),
)
def test_what_is_written_in_a_notation_is_read_back(
    number: Decimal, decimal: str, thousands: str, unit: str, before: bool
) -> None:
    written = f"{number:,.2f}".replace(",", "T").replace(".", decimal).replace("T", thousands)
    written = f"{unit}{written}" if before else f"{written} {unit}".rstrip()
    plain = Notation(decimal, thousands, unit).plain_number(written)
    assert plain is not None
    assert Decimal(plain) == number


@pytest.mark.parametrize("text", ["", "-", ",", "1.23", "12.34,5", "1.2345", "1,2,3", "a", "1 234"])
def test_what_is_no_number_in_a_notation_stays_none(text: str) -> None:
    assert GERMAN.plain_number(text) is None


def test_blanks_of_typesetters_stand_between_thousands() -> None:
    spaced = Notation(decimal=",", thousands=" ")
    assert [spaced.plain_number(text) for text in ("1 234,5", "1\u00a0234,5", "1\u202f234")] == [
        *("1234.5", "1234.5", "1234"),
    ]


def test_dates_lose_their_time_of_day() -> None:
    assert Notation(format="%d/%m/%Y %H:%M").plain_date("01/02/2020 23:59") == "2020-02-01"
    assert Notation(format="%d/%m/%Y").plain_date("32/02/2020") is None


def test_values_that_have_a_type_are_plain_already() -> None:
    typed = Column("x", np.zeros(1, dtype=np.int32), ("1.5",), np.array([1.5]))
    assert GERMAN.of(typed) == PLAIN
    assert GERMAN.of(column_of(["1,5"])) == GERMAN
