"""What blocks lose, however the losses of a column are laid out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.hierarchy import Hierarchy
from moanon.kernels import boxes
from moanon.kernels.boxes import make_box_columns
from moanon.kernels.join import block_keys
from tests.strategies import hierarchies

block_loss = getattr(boxes.block_loss, "py_func", boxes.block_loss)


@pytest.fixture(params=[256, 0], ids=["listed", "too many to list"])
def _layout(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes, "_FEW", request.param)


@pytest.mark.usefixtures("_layout")
def test_a_block_loses_what_its_node_or_its_values_lose() -> None:
    tree = Hierarchy.from_nested("Any", {"AB": ["a", "b"], "CDE": ["c", "d", "e"]})
    nodes = np.array(tree.starts), np.array(tree.stops), np.array(tree.parents)
    widths = np.arange(-1, 5) * 10
    blocks = make_box_columns([(np.arange(6), widths)] * 2, [nodes, None], 100).blocks
    # a and b are AB, 2 of 5 values; b and c only meet in the root; c to e is a node
    in_tree = [block_loss(blocks, 0, *pair) for pair in ((0, 1), (1, 2), (2, 4), (0, 4))]
    assert in_tree == [10, 40, 20, 40]
    in_order = [block_loss(blocks, 1, *pair) for pair in ((0, 1), (1, 2), (2, 4), (0, 4))]
    assert in_order == [10, 10, 20, 40]


@pytest.mark.parametrize("few", [256, 0])
@given(tree=hierarchies(most_leaves=20), spans=st.lists(st.integers(1, 3), min_size=1, max_size=9))
def test_losses_are_those_of_the_lowest_node_and_of_all_values_between(
    few: int, tree: Hierarchy, spans: list[int]
) -> None:
    nodes = np.array(tree.starts), np.array(tree.stops), np.array(tree.parents)
    leaves = len(tree.leaves)
    keys, values = block_keys(np.array(spans))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boxes, "_FEW", few)
        by_leaves = np.arange(leaves + 1), np.arange(leaves + 1) ** 2
        blocks = make_box_columns([by_leaves, (keys, values)], [nodes, None], 1).blocks
    for low in range(leaves):
        for high in range(low, leaves):
            node = tree.lowest(low, high + 1)
            width = tree.stops[node] - tree.starts[node]
            assert block_loss(blocks, 0, low, high) == width**2
    for low in range(len(spans)):
        for high in range(low, len(spans)):
            assert block_loss(blocks, 1, low, high) == sum(spans[low : high + 1])
