from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.baselines.lattice import datafly, datafly_k
from moanon.data.domain import TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.measures.suppression import row_limit
from tests.baselines.exhaustive import all_nodes
from tests.baselines.worked_example import customers
from tests.strategies import instances


def test_the_customers_are_generalized_until_two_rows_are_left() -> None:
    # Gender has 3 values, age 2. As they are: F 29, F 24 and N 24 are alone, 3 rows of at most 2.
    # Gender on level 1: F 29 alone. So one row is suppressed, and two nodes were counted.
    instance = customers()
    found = datafly_k(instance, 2)
    assert (found.levels, found.checked) == ((1, 0), 2)
    assert found.grouping(instance).suppressed == 1


def test_without_suppression_the_customers_reach_table_2() -> None:
    # Gender 3 values: level 1. Now both have 2 values: gender stands first, level 2. Then age.
    found = datafly(customers(), 2)
    assert (found.levels, found.checked) == ((2, 1), 4)


def test_the_column_with_the_most_values_goes_first() -> None:
    tree = Hierarchy.from_yaml("Any: {ab: [a, b], cd: [c, d]}")
    frame = pd.DataFrame({"x": list("abab"), "y": list("abcd")})
    table = read_table(frame, dict.fromkeys(frame, "quasi"))
    instance = Instance.build(table, dict.fromkeys(frame, TreeSpec(tree)))
    # x has 2 values that occur, y 4. On level 1 of y: (a, ab), (b, ab), (a, cd), (b, cd), one row
    # each. Now both have 2, x stands first: (ab, ab) and (ab, cd), two rows each.
    assert datafly(instance, 2).levels == (1, 1)


@given(st.data())
def test_the_result_keeps_within_its_limit(data: st.DataObject) -> None:
    instance = data.draw(instances())
    rows = instance.cells.rows
    k = data.draw(st.integers(1, min(8, rows)))
    eta = data.draw(st.sampled_from([None, 0.0, 0.2]))
    found = datafly_k(instance, k) if eta is None else datafly(instance, k, eta)
    limit = min(k, rows - 1) if eta is None else row_limit(eta, rows)
    grouping = found.grouping(instance)
    assert grouping.k >= k
    assert grouping.suppressed <= limit
    enough = dict(all_nodes(instance, limit, lambda group: len(group) >= k))
    assert found.levels in enough
    assert found.checked == 1 + sum(found.levels)  # each step counts groups once


def test_k_rows_at_most_are_suppressed_however_many_there_are() -> None:
    # 20 pairs and 3 single rows: k = 3 may suppress 3 rows, and 43 would have to go.
    values = [f"v{i:02}" for i in range(23)]
    tree = Hierarchy.from_nested("Any", values)
    table = read_table(pd.DataFrame({"x": values + values[:20]}), {"x": "quasi"})
    instance = Instance.build(table, {"x": TreeSpec(tree)})
    assert datafly_k(instance, 3).levels == (1,)
    assert datafly_k(instance, 2).levels == (1,)  # 3 single rows, 2 may go
    lucky = Instance.build(
        read_table(pd.DataFrame({"x": values[:22] + values[:20]}), {"x": "quasi"}),
        {"x": TreeSpec(tree)},
    )
    assert datafly_k(lucky, 2).levels == (0,)
    assert datafly_k(lucky, 2).grouping(lucky).suppressed == 2


@pytest.mark.parametrize("k", [0, 1.5, np.float64(2)])
def test_k_must_be_a_whole_number(k: float) -> None:
    with pytest.raises(ConfigError, match="k must be a whole number, at least 1"):
        datafly(customers(), k)  # type: ignore[arg-type]
