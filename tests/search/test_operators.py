"""How genomes are made: valid ones of valid ones, and never the same twice."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.core.population import Population

from moanon.data.domain import OrderedDomain, TreeDomain
from moanon.data.hierarchy import Hierarchy
from moanon.errors import SearchError
from moanon.genome import Layout
from moanon.search.operators import (
    BitDuplicates,
    LunacekCrossover,
    Moves,
    Unseen,
    ValidMutation,
    ValidSampling,
    keys_of,
    loaded_keys,
    new_among,
    saved_keys,
)
from tests.strategies import instances

seeds = st.integers(0, 2**32 - 1)

TREE = TreeDomain(Hierarchy.from_yaml("Any: {A: [a, b], C: [c, d], E: [e, f]}"))
FINEST = [1, 1, 1, 1, 1]
NODES = [0, 1, 0, 1, 0]  # A, C and E closed


def ordered(bits: int) -> OrderedDomain:
    return OrderedDomain(tuple(f"v{i}" for i in range(bits + 1)))


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def draw_parents(data: st.DataObject) -> tuple[Layout, np.ndarray]:
    """A layout and pairs of valid parents, the extremes among them."""
    layout = data.draw(instances()).layout
    rng = generator(data.draw(seeds))
    finest, coarsest = np.ones(layout.bits, np.uint8), np.zeros(layout.bits, np.uint8)
    pool = np.concatenate([layout.sample(20, rng), [finest, coarsest]])
    return layout, pool[rng.integers(len(pool), size=(2, data.draw(st.integers(1, 30))))]


class Space:
    """What operators of pymoo look at of a problem."""

    def __init__(self, layout: Layout) -> None:
        self.layout, self.n_var, self.moves = layout, layout.bits, Moves(layout)


def cross(
    layout: Layout, parents: np.ndarray, seed: int = 1, rate: float = 1.0, points: Any = "common"
) -> np.ndarray:
    """Cross pairs of parents (2, matings, bits) as pymoo does."""
    if not layout.bits:  # of which pymoo can make no population
        return parents
    matings = [Population.new("X", pair.astype(bool)) for pair in parents.swapaxes(0, 1)]
    crossover = LunacekCrossover(rate, points)
    children = crossover(Space(layout), matings, random_state=generator(seed), to_numpy=True)
    return children.reshape(parents.shape).astype(np.uint8)


def mutate(layout: Layout, genomes: np.ndarray, seed: int, rate: float, *, moves: bool) -> Any:
    population = Population.new("X", genomes.astype(bool))
    mutation = ValidMutation(rate, moves=moves)
    mutated = mutation(Space(layout), population, random_state=generator(seed), to_numpy=True)
    return mutated.astype(np.uint8).reshape(genomes.shape)


def blocks(bits: np.ndarray) -> set[tuple[int, int]]:
    edges = [0, *(np.flatnonzero(bits) + 1).tolist(), len(bits) + 1]
    return set(pairwise(edges))


def nothing(layout: Layout) -> np.ndarray:
    return np.zeros((0, layout.bits), dtype=np.uint8)


# -- sampling --------------------------------------------------------------------------------------


@given(st.data(), st.sampled_from([0.0, 0.25, 1.0]))
def test_samples_are_valid_and_distinct_and_as_many_as_there_are(data, coarse):
    layout = data.draw(instances()).layout
    number = data.draw(st.integers(1, 60))
    sample = ValidSampling(coarse)(
        Space(layout), number, random_state=generator(data.draw(seeds)), to_numpy=True
    )
    genomes = sample.reshape(len(sample), layout.bits).astype(np.uint8)
    assert layout.is_valid(genomes).all()
    assert len(np.unique(genomes, axis=0)) == len(genomes) == min(number, layout.count())


def test_samples_follow_from_the_generator():
    layout = Layout({"size": ordered(9), "kind": TREE})
    one, same, other = (Unseen(layout).fill(nothing(layout), 30, generator(s)) for s in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


# -- crossover -------------------------------------------------------------------------------------


@given(st.data())
def test_children_of_valid_parents_are_valid(data):
    layout, parents = draw_parents(data)
    children = cross(layout, parents, data.draw(seeds))
    assert children.shape == parents.shape
    assert children.dtype == parents.dtype
    assert layout.is_valid(children[0]).all()
    assert layout.is_valid(children[1]).all()


@given(st.data())
def test_two_children_hold_the_bits_of_their_parents_place_by_place(data):
    layout, parents = draw_parents(data)
    children = cross(layout, parents, data.draw(seeds))
    assert (np.sort(children, axis=0) == np.sort(parents, axis=0)).all()


@given(st.data())
def test_each_column_is_exchanged_behind_one_point(data):
    layout, parents = draw_parents(data)
    children = cross(layout, parents, data.draw(seeds))
    for _, domain, place in layout.slices():
        for (one, other), (child, sibling) in zip(
            parents[:, :, place].swapaxes(0, 1), children[:, :, place].swapaxes(0, 1), strict=True
        ):
            points = [
                point
                for point in range(len(one) + 1)
                if (child == [*one[:point], *other[point:]]).all()
                and (sibling == [*other[:point], *one[point:]]).all()
            ]
            assert points
            if isinstance(domain, TreeDomain):  # behind a 1 of both, or nowhere
                assert any(p == len(one) or (p and one[p - 1] & other[p - 1]) for p in points)


@given(st.data())
def test_each_block_of_a_childs_tree_column_is_a_block_of_a_parent(data):
    layout, parents = draw_parents(data)
    children = cross(layout, parents, data.draw(seeds))
    for _, domain, place in layout.slices():
        if isinstance(domain, TreeDomain):
            for mating in range(parents.shape[1]):
                one, other = (blocks(parent[mating, place]) for parent in parents)
                for child in children:
                    assert blocks(child[mating, place]) <= one | other


def test_each_common_boundary_of_a_tree_is_as_likely_a_point():
    parents = np.repeat(np.array([[FINEST], [NODES]], np.uint8), 4_000, axis=1)
    first = cross(Layout({"kind": TREE}), parents)[0]
    # 11111 and 01010 share boundaries 1 and 3: the first child is 11|010 or 1111|0.
    early = (first == [1, 1, 0, 1, 0]).all(axis=1)
    late = (first == [1, 1, 1, 1, 0]).all(axis=1)
    assert (early | late).all()
    assert early.mean() == pytest.approx(0.5, abs=0.04)


def test_a_tree_column_without_a_common_boundary_is_passed_on_whole():
    layout = Layout({"before": ordered(3), "kind": TREE, "behind": ordered(3)})
    closed = [0] * layout.bits
    parents = np.repeat(np.array([[[1] * layout.bits], [closed]], np.uint8), 200, axis=1)
    children = cross(layout, parents)
    assert (children[:, :, 3:8] == parents[:, :, 3:8]).all()
    assert (children != parents).any()


@given(st.data())
def test_with_ends_children_stay_valid_and_hold_their_parents_bits(data):
    layout, parents = draw_parents(data)
    children = cross(layout, parents, data.draw(seeds), points="ends")
    assert all(layout.is_valid(each).all() for each in children)
    assert (np.sort(children, axis=0) == np.sort(parents, axis=0)).all()


def test_with_ends_each_common_boundary_and_each_end_is_as_likely_a_point():
    parents = np.repeat(np.array([[FINEST], [NODES]], np.uint8), 4_000, axis=1)
    first = cross(Layout({"kind": TREE}), parents, points="ends")[0]
    # 11111 and 01010: exchanged whole, behind boundary 1, behind boundary 3, or not at all.
    for child in ([0, 1, 0, 1, 0], [1, 1, 0, 1, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]):
        assert (first == child).all(axis=1).mean() == pytest.approx(0.25, abs=0.04)


def test_with_ends_a_tree_column_without_a_common_boundary_is_exchanged_or_not():
    parents = np.repeat(np.array([[FINEST], [[0] * 5]], np.uint8), 4_000, axis=1)
    first = cross(Layout({"kind": TREE}), parents, points="ends")[0]
    assert (first == first[:, :1]).all()
    assert first[:, 0].mean() == pytest.approx(0.5, abs=0.04)


def test_the_rate_of_crossover_is_that_of_matings():
    layout = Layout({"sex": ordered(1), "race": ordered(1)})
    parents = np.repeat(np.array([[[0, 0]], [[1, 1]]], np.uint8), 2_000, axis=1)
    changed = cross(layout, parents, rate=0.9)[0] != parents[0]
    # Each column has two points, one of which exchanges it: 9/10 · 1/2, and for both 9/10 · 1/4.
    assert changed.mean(axis=0) == pytest.approx([0.45, 0.45], abs=0.03)
    assert changed.all(axis=1).mean() == pytest.approx(0.225, abs=0.03)
    assert (cross(layout, parents, rate=0.0) == parents).all()


# -- mutation --------------------------------------------------------------------------------------


@given(st.data(), st.floats(0, 1))
def test_flips_keep_genomes_valid_and_trees_as_they_are(data, rate):
    layout, parents = draw_parents(data)
    genomes, before = parents[0], parents[0].copy()
    mutated = mutate(layout, genomes, data.draw(seeds), rate, moves=False)
    assert (genomes == before).all()
    assert layout.is_valid(mutated).all()
    for _, domain, place in layout.slices():
        if isinstance(domain, TreeDomain):
            assert (mutated[:, place] == genomes[:, place]).all()


def test_the_rate_of_mutation_flips_each_free_bit_with_that_chance():
    layout = Layout({"kind": TREE, "size": ordered(10)})
    genomes = layout.sample(4_000, generator())
    mutated = mutate(layout, genomes, 1, 0.1, moves=False)
    flipped = (mutated != genomes).mean(axis=0)
    assert (flipped[:5] == 0).all()
    assert flipped[5:] == pytest.approx(np.full(10, 0.1), abs=0.04)


@given(st.data(), st.floats(0, 1))
def test_moves_keep_genomes_valid(data, rate):
    layout, parents = draw_parents(data)
    mutated = mutate(layout, parents[0], data.draw(seeds), rate, moves=True)
    assert layout.is_valid(mutated).all()


def test_moves_reach_trees_and_make_at_least_one_change():
    layout = Layout({"kind": TREE, "size": ordered(10)})
    genomes = layout.sample(500, generator())
    mutated = mutate(layout, genomes, 1, 1e-9, moves=True)
    assert (mutated != genomes).any(axis=1).all()
    assert (mutated[:, :5] != genomes[:, :5]).any()


def test_no_mutation_is_none():
    layout = Layout({"kind": TREE, "size": ordered(10)})
    genomes = layout.sample(50, generator())
    mutated = mutate(layout, genomes, 1, 0.0, moves=True)
    assert np.array_equal(mutated, genomes)


@given(st.data())
def test_duplicates_are_found_bit_by_bit(data):
    _, parents = draw_parents(data)
    one, other = (Population.new("X", each.astype(bool)) for each in parents)
    kept = BitDuplicates().do(one, other)
    known = {row.tobytes() for row in parents[1]}
    distinct = {row.tobytes() for row in parents[0]} - known
    assert sorted(each.X.astype(np.uint8).tobytes() for each in kept) == sorted(distinct)


@given(st.data())
def test_what_was_seen_is_a_duplicate(data):
    layout, parents = draw_parents(data)
    unseen = Unseen(layout)
    unseen.remove(parents[1])
    found = Population.new("X", parents[0].astype(bool))
    kept = BitDuplicates(unseen).do(found)
    assert [each.X.astype(np.uint8).tolist() for each in kept] == unseen.among(parents[0]).tolist()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: LunacekCrossover(points="anywhere"), "points must be common or ends. Got anyw"),
        (lambda: LunacekCrossover(n_offsprings=3), "n_offsprings must be 1 or 2. Got 3"),
        (lambda: ValidSampling(2), "coarse must be in [0, 1]. Got 2"),
    ],
)
def test_operators_refuse_what_they_cannot_be(make, said):
    with pytest.raises(SearchError) as refused:
        make()
    assert said in str(refused.value)


# -- what is new -----------------------------------------------------------------------------------


@given(st.data())
def test_genomes_are_known_once(data):
    layout, parents = draw_parents(data)
    keys = keys_of(layout.pack(parents[0]))
    different = np.unique(parents[0], axis=0)
    assert len(set(keys)) == len(new_among(keys, set())) == len(different)
    assert len(new_among(keys, set(keys))) == 0
    assert loaded_keys(saved_keys(set(keys))) == set(keys)


@given(st.data())
def test_unseen_genomes_are_found_until_there_are_none(data):
    layout = data.draw(instances().filter(lambda instance: instance.layout.count() <= 300)).layout
    rng = generator(data.draw(seeds))
    number = data.draw(st.integers(1, 40))
    unseen = Unseen(layout)
    seen: set[bytes] = set()
    none = nothing(layout)
    while unseen.left:
        found = unseen.fill(none, number, rng)
        assert len(found) == min(number, unseen.left)
        kept = found[: rng.integers(1, len(found) + 1)]  # a search may stop within a generation
        keys = {genome.tobytes() for genome in kept}
        assert len(keys) == len(kept)
        assert not keys & seen
        seen |= keys
        unseen.remove(kept)
    assert len(seen) == unseen.removed == layout.count()
    assert len(unseen.fill(none, number, rng)) == 0


@given(st.data())
def test_what_was_seen_is_restored(data):
    layout, parents = draw_parents(data)
    unseen, again = Unseen(layout), Unseen(layout)
    unseen.remove(parents[0])
    again.restore(unseen.state().copy())
    assert (again.left, again.removed) == (unseen.left, unseen.removed)
    assert (again.state() == unseen.state()).all()
    assert len(again.among(parents[0])) == 0


# -- moves -----------------------------------------------------------------------------------------


@given(st.data())
def test_a_step_keeps_genomes_valid_and_changes_one_column(data):
    layout = data.draw(instances()).layout
    genomes = data.draw(populations_of(layout))
    moved, rng = genomes.copy(), np.random.default_rng(data.draw(st.integers(0, 99)))
    Moves(layout).step(moved, np.arange(len(genomes)), rng)
    assert layout.is_valid(moved).all()
    changed = np.array([(genomes[:, s] != moved[:, s]).any(axis=1) for _, _, s in layout.slices()])
    assert (changed.sum(axis=0) == (1 if layout.bits else 0)).all()


@given(st.data())
def test_an_exchange_takes_whole_columns(data):
    layout = data.draw(instances()).layout
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    one, other = layout.sample(20, rng), layout.sample(20, rng)
    mixed = one.copy()
    Moves(layout).exchange(mixed, np.arange(20), other, 0.5, rng)
    assert layout.is_valid(mixed).all()
    for _, _, place in layout.slices():
        from_one = (mixed[:, place] == one[:, place]).all(axis=1)
        from_other = (mixed[:, place] == other[:, place]).all(axis=1)
        assert (from_one | from_other).all()


@st.composite
def populations_of(draw: st.DrawFn, layout) -> np.ndarray:
    return layout.sample(draw(st.integers(1, 30)), np.random.default_rng(draw(st.integers(0, 99))))
