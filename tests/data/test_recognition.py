"""How a column writes its numbers and dates is found from its values."""

from __future__ import annotations

import pytest

from moanon.data.cell_reading import Notation, recognize


@pytest.mark.parametrize(
    ("values", "notation"),
    [
        (["1.234,50", "7,00"], Notation(",", ".")),
        (["12,5", "3,25"], Notation(",")),
        (["1,234.50", "3"], Notation(".", ",")),
        (["$1,234.50", "$3.00"], Notation(".", ",", "$")),
        (["1 234,50 €", "3 €"], Notation(",", " ", "€")),
        (["31.01.2020", "1.2.1999"], Notation(format="%d.%m.%Y")),
        (["12/31/1999", "1/2/2020"], Notation(format="%m/%d/%Y")),
        (["20200131", "19991201"], Notation(format="%Y%m%d")),
        (["3 Jan 2020", "13 Feb 2021"], Notation(format="%d %b %Y")),
        (["31.01.20 12:30"], Notation(format="%d.%m.%y %H:%M")),
    ],
)
def test_notations_are_recognized(values: list[str], notation: Notation) -> None:
    found = recognize(values)
    assert found is not None
    assert found[1] == [notation]


@pytest.mark.parametrize(
    "values",
    [
        [],
        ["5", "-7.5"],
        ["2020-01-31"],
        ["12345678", "20200131"],
        ["P001"],
        ["555-123-4567"],
        ["x"],
    ],
)
def test_plain_values_and_codes_are_left_alone(values: list[str]) -> None:
    assert recognize(values) is None


def test_a_second_reading_is_named() -> None:
    dates, numbers = recognize(["03/04/2020"]), recognize(["1,234"])
    assert dates is not None
    assert dates[1][1] == Notation(format="%m/%d/%Y")
    assert numbers is not None
    assert numbers[1] == [Notation(".", ","), Notation(",")]
