"""Splits by utility loss: groups that meet what is asked, and tell more of large populations."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moanon.data.domain import OrderedSpec
from moanon.data.populations import SubpopulationSpec
from moanon.engines import read_table
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.kernels.boxes import parts_may_be_groups
from moanon.measures.evaluate import measure_grouping
from moanon.measures.loss import utility_losses
from moanon.measures.suppression import Suppression
from moanon.search.box_solving import Workplace, find_targets, grouping_of, solve_target
from moanon.search.utility_splits import split_by_utility
from tests.strategies import instances


def as_boxes(instance: Instance, group: np.ndarray) -> Grouping:
    """Groups of cells with the smallest boxes around them."""
    return grouping_of(Workplace.of(instance), group)


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_groups_meet_what_is_asked_and_lose_no_more_than_one(data: st.DataObject) -> None:
    instance = data.draw(instances(most_rows=30, sensitive=data.draw(st.integers(1, 2))))
    instance = replace(instance, subpopulation_spec=SubpopulationSpec(0.2))
    try:
        assert len(instance.populations)
    except ConfigError:  # none is large
        return
    bounds = (("k", data.draw(st.integers(1, 5))), ("t_js", data.draw(st.sampled_from([0.1, 0.5]))))
    if instance.cells.rows < bounds[0][1]:
        return
    group = split_by_utility(instance, Suppression("none", constraints=bounds))
    found = as_boxes(instance, group)
    assert (group >= 0).all()
    measured = measure_grouping(found)
    assert measured["k"] >= bounds[0][1]
    assert measured["t_js"] <= bounds[1][1]
    whole = as_boxes(instance, np.zeros_like(group))
    worst = max(utility_losses(whole).values())
    assert max(utility_losses(found).values()) <= worst + 1e-12


def test_the_split_is_the_one_that_populations_gain_by() -> None:
    # Who is ill is told by town alone; by what cells lose, the five sizes would be cut first.
    frame = pd.DataFrame(
        {
            "size": [str(i % 5) for i in range(40)],
            "town": ["a", "b"] * 20,
            "ill": ["x", "y"] * 20,
        }
    )
    table = read_table(frame, {"size": "quasi", "town": "quasi", "ill": "sensitive"})
    specs = {"size": OrderedSpec(tuple("01234")), "town": OrderedSpec(("a", "b"))}
    instance = Instance.build(table, specs, subpopulation_spec=SubpopulationSpec(0.2))
    target = Suppression("none", constraints=(("k", 20),))
    by_utility = as_boxes(instance, split_by_utility(instance, target))
    assert utility_losses(by_utility)["ill"] == pytest.approx(0, abs=1e-12)
    assert utility_losses(solve_target(instance, target))["ill"] >= 0


def test_parts_without_rows_are_no_groups() -> None:
    counts, cells = np.array([3, 1, 2]), np.array([0, 2])
    assert parts_may_be_groups(None, 2, counts, cells, np.array([0, 1]), 2)
    assert not parts_may_be_groups(None, 3, counts, cells, np.array([0, 1]), 2)
    assert not parts_may_be_groups(None, 1, counts, cells, np.array([0, 0]), 2)
    assert parts_may_be_groups(None, 5, counts, cells, np.array([0, 0]), 1)


def test_levels_of_privacy_loss_end_where_it_does() -> None:
    frame = pd.DataFrame({"town": list("ab") * 10, "ill": list("xxyy") * 5})
    table = read_table(frame, {"town": "quasi", "ill": "sensitive"})
    instance = Instance.build(table, {"town": OrderedSpec(("a", "b"))})
    runs = find_targets(instance, Suppression("none"), ["t_js", "loss"])
    levels = sorted(dict(run[0].constraints)["t_js"] for run in runs)
    assert levels[0] == 0
    assert levels[-1] < log(2)
    assert len([level for level in levels if level > log(2) / 2]) > 5
