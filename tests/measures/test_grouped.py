"""Any grouping of a table's rows: as a genome's measures where it is one, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from moanon.measures.grouped import measure_grouping
from moanon.measures.groups import Groups
from moanon.measures.kept import kept_groups

from moanon.data.domain import IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.data.table import read_table
from moanon.errors import DataError
from moanon.genome import Instance
from moanon.measures import MEASURES, applicable
from moanon.measures.evaluate import Evaluator
from moanon.measures.suppression import Suppression
from tests.strategies import populations, rich_instances


def blocks_of(instance: Instance, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """Blocks that each group shows, column by column."""
    shown = instance.layout.decode(groups.genome)
    starts, stops = [], []
    cells = instance.cells
    first = [np.flatnonzero(groups.cell_group == g)[0] for g in range(len(groups.sizes))]
    for code, blocks in zip(cells.codes, shown.values(), strict=True):
        edges = np.array([start for start, _ in blocks])
        which = np.searchsorted(edges, code[first], side="right") - 1
        starts.append(edges[which])
        stops.append(np.array([stop for _, stop in blocks])[which])
    return np.array(starts), np.array(stops)


@given(st.data())
def test_a_genomes_groups_measure_as_the_genome(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=3))
    rule = Suppression("limit", data.draw(st.sampled_from([0.0, 0.3])))
    names = [m.name for m in applicable(instance) if not m.of_rule]
    scores = Evaluator(instance).evaluate(genomes, rule, measures=names)
    for i, genome in enumerate(genomes):
        groups = Groups.of(instance, genome)
        kept = kept_groups(groups, np.array([scores.field("d1")[i], 0]), rule)
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        starts, stops = blocks_of(instance, groups)
        found = measure_grouping(
            instance, number[groups.row_group], starts[:, kept], stops[:, kept]
        )
        expected = {name: MEASURES[name].of(scores)[i].item() for name in names}
        if not kept.all():
            del expected["weighted_k"]
            # blocks that only suppressed rows show, and blocks without rows, are not known
            for name in ("absdist", "reldist"):
                assert found.pop(name) <= expected.pop(name)
        elif found["absdist"] != expected["absdist"]:  # so are blocks without rows
            assert all(found.pop(name) < expected.pop(name) for name in ("absdist", "reldist"))
        assert found == expected  # to the last bit


PLACES = Hierarchy.from_nested("any", {"north": ["oslo", "bergen", "voss"], "south": ["rome"]})


def people() -> Instance:
    frame = pd.DataFrame(
        {
            "age": [20, 21, 22, 23],
            "place": ["oslo", "bergen", "voss", "rome"],
            "ill": ["flu", "gout", "flu", "flu"],
        }
    )
    table = read_table(frame, {"age": "quasi", "place": "quasi", "ill": "sensitive"})
    specs = {"age": IntervalSpec(1, (20, 24)), "place": TreeSpec(PLACES)}
    return Instance.build(table, specs)


def test_groups_that_no_genome_makes_are_measured():
    # rows 0, 1 show ages 20-21, rows 1-2 overlap in 21: {0, 1} as 20..21, {2, 3} as 21..24
    found = measure_grouping(people(), [0, 0, 1, 1], [[0, 1], [0, 0]], [[2, 5], [2, 4]])
    # age: 2 rows 1/4, 2 rows 3/4; place: oslo..bergen is half a node → (2-1)/3, and all → 1
    assert found["loss"] == pytest.approx((2 * (1 / 4 + 1 / 3) + 2 * (3 / 4 + 1)) / 8)
    # oslo..bergen counts as the whole north, level 1 of 2; any is level 2
    assert found["prec"] == pytest.approx(1 - (2 * 0.5 + 2 * 1) / 4)
    assert found["absdist"] == 2
    assert (found["k"], found["groups"], found["dm"]) == (2, 2, 8)
    # {flu, gout} against flu 3/4: 1/4
    assert found["t_closeness"] == 0.25
    assert found["l_distinct"] == 1
    assert found["weighted_k"] == 2


def test_suppressed_rows_are_in_no_group():
    found = measure_grouping(people(), [0, 0, -1, 0], [[0], [0]], [[5], [4]])
    assert (found["suppressed"], found["k"], found["dm"]) == (1, 3, 9 + 4)
    assert found["loss"] == 1
    assert "weighted_k" not in found
    assert found["weighted_k_kept"] == 3


def test_released_values_may_be_others_than_the_original_ones():
    # as in a bucketization: within a group, values are dealt out anew
    swapped = {"ill": np.array([1, 0, 0, 0])}
    blocks = [[0, 2], [0, 0]], [[2, 5], [4, 4]]
    found = measure_grouping(people(), [0, 1, 1, 0], *blocks, values=swapped)
    # gout was with row 1 and is now with row 0: {gout, flu}, {flu, flu}
    assert found["l_distinct"] == 1
    assert found["alpha"] == 1
    assert found["delta"] == math.inf


@pytest.mark.parametrize(
    ("row_group", "starts", "stops", "message"),
    [
        ([0, 0, 0], [[0]] * 2, [[1]] * 2, r"one of the 4 rows must have a group, or -1\. Got .*3"),
        ([-1] * 4, [[0]] * 2, [[1]] * 2, "no row is left"),
        ([0, 0, 2, 2], [[0] * 3] * 2, [[1] * 3] * 2, "numbered from 0 to 2, each with a row"),
        ([0, 0, -2, 0], [[0]] * 2, [[1]] * 2, "numbered from 0 to 0"),
        ([0, 0, 0, 0], [[0]], [[1]], "for 2 columns and 1 groups"),
        ([0, 0, 0, 0], [[0], [2]], [[1], [2]], "at least one"),
        ([0, 0, 0, 0], [[0], [0]], [[6], [1]], "base values of its column's domain"),
    ],
)
def test_a_grouping_that_does_not_fit_is_refused(row_group, starts, stops, message):
    with pytest.raises(DataError, match=message):
        measure_grouping(people(), row_group, starts, stops)


def test_released_values_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="column 'ill': each of the 4 rows must have one of its 2"):
        measure_grouping(
            people(), [0] * 4, [[0], [0]], [[5], [4]], values={"ill": np.array([0, 1, 2, 0])}
        )


def test_a_table_without_sensitive_columns_has_losses():
    frame = pd.DataFrame({"q": list("aab")})
    instance = Instance.build(read_table(frame, {"q": "quasi"}), {"q": OrderedSpec(("a", "b"))})
    found = measure_grouping(instance, [0, 0, 1], [[0, 1]], [[1, 2]])
    assert found["dm"] == 5
    assert "t_closeness" not in found
