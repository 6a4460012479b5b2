"""What matters first about a table: counted by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from moanon.diagnosis import Diagnosis, look_over, usual_size
from moanon.output.diagnosis_figures import plot_overview

#: By name three of five rows are alone, by city one, by both all of them.
TABLE = pd.DataFrame({"sex": list("ffmmm"), "city": list("AABBC"), "name": list("vwxyy")})


def test_the_riskiest_come_first() -> None:
    found = look_over(Diagnosis.read(TABLE))
    assert [each.columns for each in found.columns] == [("name",), ("city",), ("sex",)]
    assert [(each.groups, each.k, each.unique) for each in found.columns] == [
        (4, 1, 3),
        (3, 1, 1),
        (2, 2, 0),
    ]
    assert found.pairs[0].columns == ("city", "name")
    assert found.pairs[0].unique == 5
    assert found.whole.unique == 5


def test_columns_that_are_enough_by_themselves_are_in_no_pair() -> None:
    found = look_over(Diagnosis.read(TABLE.assign(number=range(5))))
    assert found.sufficient == ("number",)
    assert [each.columns for each in found.pairs] == [
        *(("city", "name"), ("sex", "name"), ("sex", "city")),
    ]


def test_it_is_plain_values() -> None:
    told = look_over(Diagnosis.read(TABLE)).to_dict()
    assert told["all"]["unique_share"] == 1.0
    assert told["columns"][2] == {
        "columns": ["sex"],
        "values": 2,
        "k": 2,
        "unique_rows": 0,
        "unique_share": 0.0,
        "rows_below_5": 5,
        "share_below_5": 1.0,
        "mean_risk": 0.4,
        "highest_risk": 0.5,
    }


def test_its_figure_names_columns_and_pairs() -> None:
    ax = plot_overview(look_over(Diagnosis.read(TABLE)))
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == ["all 3 columns", "city and name", "sex and name", "sex and city",
                     "name", "city", "sex"]  # fmt: skip


@pytest.mark.parametrize(("columns", "size"), [(1, 1), (9, 9), (14, 14), (24, 4), (39, 3), (62, 2)])
def test_sets_are_not_too_many_to_go_through(columns: int, size: int) -> None:
    assert usual_size(columns) == size
