from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.baselines import lattice as module
from moanon.baselines.lattice import mingen
from moanon.data.domain import TreeDomain, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.measures.evaluate import measure_grouping
from tests.baselines.exhaustive import all_nodes
from tests.baselines.worked_example import customers
from tests.naive import base_rows
from tests.strategies import instances


def slow_climb(instance: Instance, node: tuple[int, ...]) -> Fraction:
    """The sum of M eq. 3, ``Σ h / |DGH|``; a node counts from the lowest level it is on."""
    total = Fraction(0)
    domains = list(instance.layout.domains.values())
    for row in base_rows(instance):
        for value, level, domain in zip(row, node, domains, strict=True):
            if not isinstance(domain, TreeDomain):
                total += level
                continue
            cuts = list(dict.fromkeys(domain.hierarchy.levels))
            starts, stops = domain.hierarchy.starts, domain.hierarchy.stops
            shown = next(n for n in cuts[level] if starts[n] <= value < stops[n])
            first = next(i for i, cut in enumerate(cuts) if shown in cut)
            total += Fraction(first, max(1, len(cuts) - 1))
    return total


@given(st.data())
def test_it_finds_the_most_precise_of_all(data: st.DataObject) -> None:
    instance = data.draw(instances(most_rows=25))
    k = data.draw(st.integers(1, min(6, instance.cells.rows)))
    nodes = dict(all_nodes(instance, 0, lambda group: len(group) >= k))
    best = min(nodes, key=lambda node: (slow_climb(instance, node), nodes[node], node))
    found = mingen(instance, k)
    assert found.levels == best
    assert found.grouping(instance).k >= k


def test_the_customers_are_generalized_as_in_table_2() -> None:
    # Enough are (1, 1) and (2, 1). Climbed by the rows of (1, 1): F, F, N half of gender's tree,
    # M nothing (it is a node from the first level on), and all of them all of age.
    instance = customers()
    found = mingen(instance, 2)
    assert (found.levels, found.checked) == ((1, 1), 6)
    assert slow_climb(instance, (1, 1)) == Fraction(13, 2)  # Prec = 1 - 6.5 / 10


def test_it_agrees_with_the_measure_prec_on_trees() -> None:
    tree = Hierarchy.from_yaml("Any: {ab: [a, b], cd: [c, d]}")
    frame = pd.DataFrame({"x": list("aabbccdd"), "y": list("abcdabcd")})
    table = read_table(frame, dict.fromkeys(frame, "quasi"))
    instance = Instance.build(table, dict.fromkeys(frame, TreeSpec(tree)))
    found = mingen(instance, 2)
    prec = measure_grouping(found.grouping(instance))["prec"]
    assert prec == float(1 - slow_climb(instance, found.levels) / (8 * 2))
    # y on level 1: a ab, b cd, c ab, d cd, two rows each; half of one tree of two is climbed.
    # x on level 1 instead: every row is alone.
    assert (found.levels, prec) == ((0, 1), 0.75)


def test_a_table_that_is_k_anonymous_stays_as_it_is() -> None:
    assert mingen(customers(), 1).levels == (0, 0)


def test_a_space_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NODES", 5)
    with pytest.raises(
        ConfigError, match="the table has 6 full-domain generalizations; MinGen looks at most at 5"
    ):
        mingen(customers(), 2)
