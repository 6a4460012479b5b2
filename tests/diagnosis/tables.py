"""Tables that the tests of the diagnosis centre share."""

from __future__ import annotations

import pandas as pd
from hypothesis import strategies as st

from moanon.data.hierarchy import Hierarchy
from moanon.diagnosis import Diagnosis, PrivacyModel
from tests.diagnosis.oracle import Oracle, Row, level_of
from tests.strategies import cells

#: Z Figure 2: 12 rows, columns V W X Y Z.
FIGURE_2 = """
1 A 1 a *
1 A 1 a *
2 A 1 b *
2 B 1 b +
2 B 1 a +
3 B 1 a +
3 A 2 b *
3 A 2 b *
3 A 2 a *
3 B 2 a +
3 B 2 b +
3 B 2 b +
"""

#: The values that a sensitive column of the random tables can have, as a tree.
TREE = Hierarchy.from_nested("Any", {"low": ["1", "2"], "high": {"3": None, "more": ["4", "5"]}})

MODELS = (
    PrivacyModel(),
    PrivacyModel("l", "distinct"),
    PrivacyModel("l", "frequency"),
    PrivacyModel("l", "entropy"),
    PrivacyModel("l", "recursive", c=2.5),
    PrivacyModel("l", "recursive", c=0.5),
    PrivacyModel("t", "equal"),
    PrivacyModel("t", "ordered"),
    PrivacyModel("t", "tree", hierarchy=TREE),
    PrivacyModel("t", "js"),
)


def figure_2() -> pd.DataFrame:
    lines = FIGURE_2.split("\n")[1:-1]
    return pd.DataFrame([line.split() for line in lines], columns=list("VWXYZ"))


@st.composite
def tables(
    draw: st.DrawFn, sensitive: int = 0, most_columns: int = 5, gaps: bool = True
) -> tuple[list[Row], list[str], list[str]]:
    """Rows, columns and sensitive columns; few values, so that groups of every size occur."""
    number = draw(st.sampled_from([1, 2, 3, 5, 8, 12, 20]))
    columns: dict[str, list[str | None]] = {}
    for i in range(draw(st.integers(1, most_columns))):
        values: list[str | None] = [f"v{v}" for v in range(draw(st.integers(1, 4)))]
        if gaps and draw(st.booleans()):
            values.append(None)
        columns[f"q{i}"] = draw(cells(values, number))
    names = [f"s{i}" for i in range(sensitive)]
    for name in names:
        values = [str(v) for v in range(1, draw(st.integers(1, 5)) + 1)]
        columns[name] = draw(cells(values, number))
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    return rows, [name for name in columns if name not in names], names


def examined(rows: list[Row], columns: list[str], sensitive: list[str]) -> Diagnosis:
    return Diagnosis.read(pd.DataFrame(rows, dtype=object), columns, sensitive)


def oracle_of(
    model: PrivacyModel, rows: list[Row], columns: list[str], sensitive: list[str]
) -> Oracle:
    level = level_of(model.measure, model.rule, sensitive, model.c, model.hierarchy)
    return Oracle(rows, columns, level, model.sign)
