"""Compiled moves against plain Python, which moves a text of bits at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from moanon.data.domain import TreeDomain
from moanon.data.hierarchy import Hierarchy
from moanon.kernels.cuts import keep_movable, move_boundaries, move_cuts
from moanon.search.operators import tree_nodes
from tests.strategies import hierarchies

seeds = st.integers(0, 2**32 - 1)


def moved_boundary(bits, at, forward, shift, far, lots):
    """One row of bits after its move; `lots` decide where it moves far."""
    bits = list(bits)
    if far:
        ones, zeros = ([i for i, bit in enumerate(bits) if bit == b] for b in (1, 0))
        away, to = max(ones, key=lots.__getitem__), max(zeros, key=lots.__getitem__)
        bits[away], bits[to] = 0, 1
        return bits
    beside = at + 1 if forward else at - 1
    if shift < 0.5 and 0 <= beside < len(bits) and bits[beside] != bits[at]:
        bits[at], bits[beside] = bits[beside], bits[at]
    else:
        bits[at] = 1 - bits[at]
    return bits


@given(st.integers(1, 12), st.integers(0, 3), st.integers(0, 9), seeds)
def test_boundaries_move_as_in_plain_python(places, start, number, seed):
    rng = np.random.default_rng(seed)
    genomes = rng.integers(2, size=(number + 2, start + places + 2), dtype=np.uint8)
    rows = rng.permutation(number + 2)[:number]
    at, forward = rng.integers(places, size=number), rng.integers(2, size=number)
    shifts, far = rng.random(number), rng.random(number) < 0.5
    column = slice(start, start + places)
    expected = genomes.copy()
    movable = [
        bool(f and 0 < sum(genomes[row, column]) < places) for f, row in zip(far, rows, strict=True)
    ]
    lots = rng.random((sum(movable), places))
    lot = iter(lots)
    for i, row in enumerate(rows):
        own = next(lot) if movable[i] else None
        expected[row, column] = moved_boundary(
            genomes[row, column], at[i], forward[i], shifts[i], movable[i], own
        )
    assert keep_movable(genomes, start, places, rows, far) == sum(movable)
    assert far.tolist() == movable
    move_boundaries(genomes, start, rows, at, forward, shifts, far, lots)
    assert np.array_equal(genomes, expected)


def moved_cut(tree: Hierarchy, bits, node: int):
    """The bits of a cut after one inner node, given by its rank, was collapsed or expanded."""
    expanded = {rank for rank, place in enumerate(tree.first_boundary) if bits[place]}

    def line(rank: int) -> set[int]:
        """The node itself and all above it."""
        return {rank} | (line(tree.inner_parent[rank]) if tree.inner_parent[rank] >= 0 else set())

    if node in expanded:
        expanded = {other for other in expanded if node not in line(other)}
    else:
        expanded |= line(node)
    flags = [[rank in expanded for rank in range(len(tree.inner))]]
    return tree.bits_of(np.array(flags, dtype=np.uint8))[0]


@given(hierarchies(most_leaves=12), st.integers(0, 3), st.integers(1, 9), seeds)
def test_cuts_move_as_in_plain_python(tree, start, number, seed):
    assume(len(tree.inner))
    rng = np.random.default_rng(seed)
    domain = TreeDomain(tree)
    column = slice(start, start + len(tree.leaves) - 1)
    genomes = rng.integers(2, size=(number + 2, column.stop + 2), dtype=np.uint8)
    genomes[:, column] = domain.sample(len(genomes), rng)
    rows = rng.permutation(number + 2)[:number]
    nodes = rng.integers(len(tree.inner), size=number)
    expected = genomes.copy()
    for row, node in zip(rows, nodes, strict=True):
        expected[row, column] = moved_cut(tree, genomes[row, column], int(node))
    move_cuts(genomes, start, rows, nodes, tree_nodes(tree))
    assert np.array_equal(genomes, expected)
