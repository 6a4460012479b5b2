from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.operators.selection.rnd import RandomSelection
from pymoo.optimize import minimize

from moanon.data.domain import OrderedDomain, TreeDomain
from moanon.data.hierarchy import Hierarchy
from moanon.genome import Layout
from moanon.search.operators import (
    ColumnCrossover,
    FlipMutation,
    GenomeDuplicates,
    GenomeMating,
    GenomeProblem,
    GenomeSampling,
    MoveMutation,
    Unseen,
    genome_keys,
)
from tests.search.people import problem_of
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


def cross(layout: Layout, parents: np.ndarray, seed: int = 1, rate: float = 1.0) -> np.ndarray:
    return ColumnCrossover(layout, rate)._do(None, parents, random_state=generator(seed))


def blocks(bits: np.ndarray) -> set[tuple[int, int]]:
    edges = [0, *(np.flatnonzero(bits) + 1).tolist(), len(bits) + 1]
    return set(pairwise(edges))


# -- sampling --------------------------------------------------------------------------------------


@given(st.data())
def test_samples_are_valid_and_distinct_and_as_many_as_there_are(data):
    layout = data.draw(instances()).layout
    number = data.draw(st.integers(1, 60))
    rng = generator(data.draw(seeds))
    genomes = GenomeSampling(layout)._do(None, number, random_state=rng)
    assert layout.is_valid(genomes).all()
    assert len(np.unique(genomes, axis=0)) == len(genomes) == min(number, layout.count())


def test_samples_follow_from_the_random_state():
    layout = Layout({"size": ordered(9), "kind": TREE})
    sampling = GenomeSampling(layout)
    one, same, other = (sampling.do(None, 30, random_state=generator(s)) for s in (1, 1, 2))
    assert (one.get("X") == same.get("X")).all()
    assert (one.get("X") != other.get("X")).any()


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
    parents = np.repeat(np.array([[FINEST], [NODES]], np.uint8), 20_000, axis=1)
    first = cross(Layout({"kind": TREE}), parents)[0]
    # 11111 and 01010 share boundaries 1 and 3: the first child is 11|010 or 1111|0.
    early = (first == [1, 1, 0, 1, 0]).all(axis=1)
    late = (first == [1, 1, 1, 1, 0]).all(axis=1)
    assert (early | late).all()
    assert early.mean() == pytest.approx(0.5, abs=0.02)


def test_a_tree_column_without_a_common_boundary_is_passed_on_whole():
    layout = Layout({"before": ordered(3), "kind": TREE, "behind": ordered(3)})
    closed = [0] * layout.bits
    parents = np.repeat(np.array([[[1] * layout.bits], [closed]], np.uint8), 200, axis=1)
    children = cross(layout, parents)
    assert (children[:, :, 3:8] == parents[:, :, 3:8]).all()
    assert (children != parents).any()


def test_the_rate_of_crossover_is_that_of_matings():
    layout = Layout({"sex": ordered(1), "race": ordered(1)})
    parents = np.repeat(np.array([[[0, 0]], [[1, 1]]], np.uint8), 40_000, axis=1)
    changed = cross(layout, parents, rate=0.9)[0] != parents[0]
    # Each column has two points, one of which exchanges it: 9/10 · 1/2, and for both 9/10 · 1/4.
    assert changed.mean(axis=0) == pytest.approx([0.45, 0.45], abs=0.01)
    assert changed.all(axis=1).mean() == pytest.approx(0.225, abs=0.01)
    assert (cross(layout, parents, rate=0.0) == parents).all()


def test_pymoo_leaves_the_rate_of_crossover_as_it_is():
    layout = Layout({"sex": ordered(1)})
    couples = [Population.new("X", np.array([[0], [1]], np.uint8)) for _ in range(5_000)]
    crossover = ColumnCrossover(layout, 0.9)
    children = crossover.do(Problem(n_var=1), couples, random_state=generator())
    # Of the two children of a mating, pymoo puts all first ones first.
    assert children.get("X")[:5_000].mean() == pytest.approx(0.45, abs=0.03)


@given(st.data())
def test_truth_values_are_crossed_and_mutated_like_numbers(data):
    layout, parents = draw_parents(data)
    truths = parents.astype(bool)
    assert (cross(layout, truths) == cross(layout, parents)).all()
    for mutation in (FlipMutation(layout, 0.5), MoveMutation(layout, 0.5)):
        as_truths = mutation._do(None, truths[0], random_state=generator())
        assert as_truths.dtype == bool
        assert (as_truths == mutation._do(None, parents[0], random_state=generator())).all()


# -- mutation --------------------------------------------------------------------------------------


@given(st.data(), st.sampled_from(["bit", "genome"]), st.floats(0, 1))
def test_flips_keep_genomes_valid_and_trees_as_they_are(data, per, rate):
    layout, parents = draw_parents(data)
    genomes, before = parents[0], parents[0].copy()
    mutated = FlipMutation(layout, rate, per)._do(
        None, genomes, random_state=generator(data.draw(seeds))
    )
    assert (genomes == before).all()
    assert layout.is_valid(mutated).all()
    for _, domain, place in layout.slices():
        if isinstance(domain, TreeDomain):
            assert (mutated[:, place] == genomes[:, place]).all()


def test_a_rate_per_bit_flips_each_free_bit_with_that_chance():
    layout = Layout({"kind": TREE, "size": ordered(10)})
    genomes = layout.sample(4_000, generator())
    mutated = FlipMutation(layout, 0.1)._do(None, genomes, random_state=generator())
    flipped = (mutated != genomes).mean(axis=0)
    assert (flipped[:5] == 0).all()
    assert flipped[5:] == pytest.approx(np.full(10, 0.1), abs=0.02)


def test_a_rate_per_genome_flips_one_bit_of_that_share():
    layout = Layout({"kind": TREE, "size": ordered(10)})
    genomes = layout.sample(4_000, generator())
    mutated = FlipMutation(layout, 0.3, "genome")._do(None, genomes, random_state=generator())
    flips = (mutated != genomes).sum(axis=1)
    assert set(flips) == {0, 1}
    assert flips.mean() == pytest.approx(0.3, abs=0.03)


@given(st.data(), st.floats(0, 1))
def test_moves_keep_genomes_valid(data, rate):
    layout, parents = draw_parents(data)
    rng = generator(data.draw(seeds))
    mutated = MoveMutation(layout, rate)._do(None, parents[0], random_state=rng)
    assert layout.is_valid(mutated).all()


def test_moves_reach_trees_and_make_at_least_one_change():
    layout = Layout({"kind": TREE, "size": ordered(10)})
    genomes = layout.sample(500, generator())
    mutated = MoveMutation(layout, 1e-9)._do(None, genomes, random_state=generator())
    assert (mutated != genomes).any(axis=1).all()
    assert (mutated[:, :5] != genomes[:, :5]).any()


def test_no_mutation_is_none():
    layout = Layout({"kind": TREE, "size": ordered(10)})
    genomes = layout.sample(50, generator())
    mutated = MoveMutation(layout, 0.0)._do(None, genomes, random_state=generator())
    assert np.array_equal(mutated, genomes)


# -- what is new -----------------------------------------------------------------------------------


@given(st.data())
def test_keys_are_equal_for_equal_genomes_only(data):
    _, parents = draw_parents(data)
    keys = genome_keys(parents[0])
    equal = (parents[0][:, None] == parents[0][None]).all(axis=2)
    assert ((keys[:, None] == keys[None]) == equal).all()


@given(st.data())
def test_duplicates_are_dropped_but_for_the_first(data):
    _, (one, other) = draw_parents(data)
    population, others = Population.new("X", one), Population.new("X", other)
    left = GenomeDuplicates().do(population, others)
    taken = {genome.tobytes() for genome in other}
    expected = []
    for individual, genome in zip(population, one, strict=True):
        if genome.tobytes() not in taken:
            taken.add(genome.tobytes())
            expected.append(individual)
    assert list(left) == expected


@given(st.data())
def test_unseen_genomes_are_found_until_there_are_none(data):
    layout = data.draw(instances().filter(lambda instance: instance.layout.count() <= 300)).layout
    rng = generator(data.draw(seeds))
    number = data.draw(st.integers(1, 40))
    unseen = Unseen(layout)
    seen: set[bytes] = set()
    none = np.zeros((0, layout.bits), dtype=np.uint8)
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


def test_matings_that_bring_nothing_new_are_filled_up():
    layout = Layout({"kind": TREE})  # D's mutation never changes it
    unseen = Unseen(layout)
    parents = np.array([NODES], dtype=np.uint8)
    unseen.remove(parents)
    mating = GenomeMating(RandomSelection(), ColumnCrossover(layout), FlipMutation(layout), unseen)
    children = mating.do(None, Population.new("X", parents), 4, random_state=generator())
    genomes = children.get("X")
    assert isinstance(children, Population)
    assert len(np.unique(genomes, axis=0)) == 4
    assert not (genomes == NODES).all(axis=1).any()
    assert layout.is_valid(genomes).all()


# -- in pymoo --------------------------------------------------------------------------------------


def test_pymoo_minimizes_with_the_operators():
    problem = problem_of("k-suppression", eta=0.1)
    layout = problem.layout
    algorithm = NSGA2(
        pop_size=20,
        sampling=GenomeSampling(layout),
        crossover=ColumnCrossover(layout),
        mutation=FlipMutation(layout),
        eliminate_duplicates=GenomeDuplicates(),
    )
    result = minimize(GenomeProblem(problem), algorithm, ("n_gen", 5), seed=1)
    genomes = result.X.astype(np.uint8)
    assert layout.is_valid(genomes).all()
    assert (problem.values(genomes) == result.F).all()
