"""Cells count rows as plain Python does, whatever the number and size of the columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from moanon.arrays import Ints, Values
from moanon.data.cells import Cells, SensitiveCounts, count_values, raw_group_sizes
from moanon.data.domain import DomainSpec, IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.engines.duck import HeldRows
from moanon.errors import DataError
from moanon.genome import Instance
from tests.naive import base_rows
from tests.strategies import instances


def counted(column: SensitiveCounts, cell: int) -> dict[str, int]:
    """Rows of each sensitive value in one cell."""
    span = slice(column.starts[cell], column.starts[cell + 1])
    labels = [column.labels[value] for value in column.values[span]]
    return dict(zip(labels, column.counts[span].tolist(), strict=True))


def tuples_of(cells: Cells) -> list[tuple[int, ...]]:
    return [tuple(cell) for cell in cells.codes.T.tolist()]


@given(instances())
def test_counts_are_those_of_the_distinct_tuples(instance: Instance) -> None:
    cells = instance.cells
    assert dict(zip(tuples_of(cells), cells.counts.tolist(), strict=True)) == Counter(
        base_rows(instance)
    )
    assert cells.counts.sum() == cells.rows == instance.table.rows
    assert len(cells) == len(cells.counts)


@given(instances())
def test_cells_stand_in_lexicographic_order(instance: Instance) -> None:
    assert all(one < two for one, two in pairwise(tuples_of(instance.cells)))


@given(instances())
def test_each_row_knows_its_cell(instance: Instance) -> None:
    tuples = tuples_of(instance.cells)
    assert [tuples[cell] for cell in instance.row_cell] == base_rows(instance)


@given(instances(sensitive=2))
def test_sensitive_values_are_counted_in_every_cell(instance: Instance) -> None:
    table, cells = instance.table, instance.cells
    assert [column.name for column in cells.sensitive] == list(table.sensitive)
    for column in cells.sensitive:
        texts = [table.columns[column.name].values[i] for i in table.columns[column.name].codes]
        expected = Counter(zip(instance.row_cell.tolist(), texts, strict=True))
        found = {
            (cell, text): count
            for cell in range(len(cells))
            for text, count in counted(column, cell).items()
        }
        assert found == expected


@given(instances(sensitive=1))
def test_sensitive_values_ascend_in_every_cell(instance: Instance) -> None:
    (column,) = instance.cells.sensitive
    assert column.starts[0] == 0
    assert column.starts[-1] == len(column.values) == len(column.counts)
    for start, stop in pairwise(column.starts):
        assert (np.diff(column.values[start:stop]) > 0).all()


def test_missing_cells_are_a_value_of_their_own_in_every_kind() -> None:
    frame = pd.DataFrame(
        {
            "age": ["17", None, "17", None],
            "size": [None, "S", None, "S"],
            "work": ["a", None, "a", None],
            "illness": ["flu", "flu", None, None],
        }
    )
    roles = {"age": "quasi", "size": "quasi", "work": "quasi", "illness": "sensitive"}
    specs: dict[str, DomainSpec] = {
        "age": IntervalSpec(5),
        "size": OrderedSpec(("S", "M")),
        "work": TreeSpec(Hierarchy.from_nested("Any", ["a", "b"])),
    }
    cells = Instance.build(read_table(frame, roles, missing="category"), specs).cells
    assert tuples_of(cells) == [(0, 2, 0), (1, 0, 2)]
    assert cells.counts.tolist() == [2, 2]
    assert [counted(cells.sensitive[0], cell) for cell in (0, 1)] == [
        {"flu": 1, "(missing)": 1},
        {"flu": 1, "(missing)": 1},
    ]


def test_a_sensitive_value_called_missing_beside_missing_cells_is_refused() -> None:
    frame = pd.DataFrame({"q": ["1", "1"], "s": ["(missing)", None]})
    table = read_table(frame, {"q": "quasi", "s": "sensitive"}, missing="category")
    with pytest.raises(DataError) as caught:
        Instance.build(table, {"q": IntervalSpec()})
    assert str(caught.value) == (
        "column 's': the value '(missing)' occurs beside missing cells, which carry that label; "
        "rename it"
    )


def test_more_rows_than_can_be_counted_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moanon.data.cells._MOST_ROWS", 2)
    table = read_table(pd.DataFrame({"q": ["1", "2", "3"]}), {"q": "quasi"})
    with pytest.raises(DataError, match="DataFrame has 3 rows; tables of at most 2 rows are taken"):
        Instance.build(table, {"q": IntervalSpec()})


def test_counts_whose_sum_has_more_than_32_bits_stay_whole() -> None:
    class ManyRows(HeldRows):
        def count(self, codes: Mapping[str, Ints]) -> tuple[Values, Ints]:
            tuples, counts = super().count(codes)
            return tuples, counts * 2**30

    frame = pd.DataFrame({"sex": ["f", "f", "f", "m"], "ill": ["flu", "flu", "flu", "gout"]})
    columns = read_table(frame, {"sex": "quasi", "ill": "sensitive"}).store.columns
    codes = {"sex": np.array([0, 1, 2])}
    _, counts, listed = count_values(ManyRows(columns), codes, "ill")
    assert counts.tolist() == listed.counts.tolist() == [3 * 2**30, 2**30]
    _, counts, listed = count_values(HeldRows(columns), codes, "ill")
    assert counts.tolist() == listed.counts.tolist() == [3, 1]


def test_keys_longer_than_a_machine_word_are_ranked_again() -> None:
    # 12 columns of 60,000 values: 191 bits. Rows repeat, and differ early, late or throughout.
    rng = np.random.default_rng(7)
    rows = rng.integers(0, 60_000, size=(30, 12))
    rows = np.concatenate([rows, rows[::2], rows])
    rows[30, 0] += 1 if rows[30, 0] < 59_999 else -1
    rows[31, 11] += 1 if rows[31, 11] < 59_999 else -1
    frame = pd.DataFrame(rows.astype(str), columns=[f"q{i}" for i in range(12)])
    table = read_table(frame, dict.fromkeys(frame, "quasi"))
    instance = Instance.build(table, dict.fromkeys(frame, IntervalSpec(range=(0, 59_999))))
    cells = instance.cells
    expected = Counter(map(tuple, rows.tolist()))
    assert tuples_of(cells) == sorted(expected)
    assert cells.counts.tolist() == [expected[cell] for cell in sorted(expected)]
    assert np.array_equal(cells.codes[:, instance.row_cell].T, rows)


def test_columns_stand_in_the_order_of_the_domains() -> None:
    frame = pd.DataFrame({"a": ["1", "2"], "b": ["4", "3"]})
    table = read_table(frame, {"a": "quasi", "b": "quasi"})
    domains = {name: IntervalSpec().build(table.columns[name]) for name in ("b", "a")}
    cells = Cells.build(table, domains)
    assert cells.columns == ("b", "a")
    assert tuples_of(cells) == [(0, 1), (1, 0)]


@given(instances())
def test_raw_groups_are_those_of_plain_python(instance: Instance) -> None:
    table = instance.table
    rows = zip(*(table.columns[name].codes.tolist() for name in table.quasi), strict=True)
    assert sorted(raw_group_sizes(table)) == sorted(Counter(rows).values())


def test_raw_groups_of_columns_whose_product_is_beyond_64_bits() -> None:
    values = [str(i) for i in range(1000)]
    frame = pd.DataFrame({f"q{i}": [*values, "7"] for i in range(8)})  # 1000^8 > 2^64
    sizes = raw_group_sizes(read_table(frame, dict.fromkeys(frame, "quasi")))
    assert sorted(sizes) == [1] * 999 + [2]


def test_a_missing_value_is_a_raw_value_of_its_own() -> None:
    frame = pd.DataFrame({"q": ["a", None, None]})
    table = read_table(frame, {"q": "quasi"}, missing="category")
    assert sorted(raw_group_sizes(table)) == [1, 2]
