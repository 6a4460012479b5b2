"""What becomes of each column: labels with their rows, and what is left, against the oracle."""

from __future__ import annotations

from math import log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.domain import OrderedSpec
from moanon.engines import read_table
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures.column_effects import column_effects
from moanon.measures.evaluate import measure_grouping, suppress_groups
from moanon.measures.suppression import Suppression
from tests import naive
from tests.strategies import populations, rich_instances


def sizes_table() -> Instance:
    table = read_table(pd.DataFrame({"size": list("SSMLL")}), {"size": "quasi"})
    return Instance.build(table, {"size": OrderedSpec(("S", "M", "L", "XL"))})


def test_labels_have_their_rows_and_empty_ones_none():
    (size,) = column_effects(Grouping.of_genome(sizes_table(), [0, 1, 1]))
    assert size.labels == ("S..M", "L", "XL")
    assert size.rows.tolist() == [3, 2, 0]
    assert (size.shown, size.is_kept) == (2, False)


def test_own_loss_and_entropy_by_hand():
    (size,) = column_effects(Grouping.of_genome(sizes_table(), [0, 1, 1]))
    # 3 of 5 rows in a block of 2 of 4 values: 3/5 · 1/3
    assert size.loss == pytest.approx(0.2)
    # untold 3 ln 3 + 2 ln 2, of which the table itself leaves 2 ln 2 + 1 ln 1 + 2 ln 2
    kept = (5 * log(5) - 3 * log(3) - 2 * log(2)) / (5 * log(5) - 4 * log(2))
    assert size.entropy_kept == pytest.approx(kept)


def test_a_suppressed_row_has_lost_everything():
    grouping = Grouping.of_genome(sizes_table(), [1, 1, 1])
    (size,) = column_effects(grouping.keep(grouping.sizes > 1))
    assert size.rows.tolist() == [2, 0, 2, 0]
    assert size.loss == pytest.approx(1 / 5)
    # only the row of M is gone: untold 4 ln 2 + ln 5
    assert size.entropy_kept == pytest.approx((4 * log(5) - 4 * log(2)) / (5 * log(5) - 4 * log(2)))


def test_a_column_of_one_value_had_nothing_to_lose():
    table = read_table(pd.DataFrame({"size": list("SSS")}), {"size": "quasi"})
    instance = Instance.build(table, {"size": OrderedSpec(("S", "M"))})
    (size,) = column_effects(Grouping.of_genome(instance, [0]))
    assert (size.loss, size.entropy_kept, size.shown) == (1.0, 1.0, 1)


def test_a_cut_in_an_empty_tail_keeps_nothing_of_people():
    (size,) = column_effects(Grouping.of_genome(sizes_table(), [0, 0, 1]))
    assert size.labels == ("S..L", "XL")
    assert size.loss == pytest.approx(2 / 3)
    assert size.entropy_kept == 0.0
    assert size.shown == 1


@given(data=st.data())
def test_rows_and_losses_agree_with_the_oracle(data):
    instance = data.draw(rich_instances())
    (genome,) = data.draw(populations(instance, most=1))[:1]
    grouping = suppress_groups(
        Grouping.of_genome(instance, genome), Suppression("limit", 0.9), (2, 0)
    )
    if not grouping.kept.any():
        return
    shown = naive.generalized_rows(instance, instance.layout.text(genome))
    groups = naive.groups_of(shown).values()
    kept = [row for rows in groups if len(rows) >= 2 for row in rows]
    effects = column_effects(grouping)
    for place, effect in enumerate(effects):
        blocks = list(zip(effect.starts.tolist(), effect.stops.tolist(), strict=True))
        expected = [sum(shown[row][place] == block for row in kept) for block in blocks]
        assert effect.rows.tolist() == expected
        assert 0 <= effect.entropy_kept <= 1
    measures = measure_grouping(grouping)
    assert np.mean([effect.loss for effect in effects]) == pytest.approx(measures["loss"])
    before = sum(effect.entropy for effect in effects)
    lost = sum(effect.entropy * (1 - effect.entropy_kept) for effect in effects)
    entropy_loss = lost / before if before > 0 else 0.0
    assert entropy_loss == pytest.approx(measures["entropy_loss"], abs=1e-9)


@given(data=st.data())
def test_boxes_tell_the_same_as_the_genome_they_are_made_of(data):
    instance = data.draw(rich_instances())
    (genome,) = data.draw(populations(instance, most=1))[:1]
    whole = Grouping.of_genome(instance, genome)
    boxes = Grouping.of_boxes(instance, whole.cell_group, whole.starts, whole.stops)
    for one, other in zip(column_effects(whole), column_effects(boxes), strict=True):
        told = {label: rows for label, rows in zip(one.labels, one.rows, strict=True) if rows}
        assert told == dict(zip(other.labels, other.rows, strict=True))
        assert (one.loss, one.entropy_kept) == pytest.approx((other.loss, other.entropy_kept))
