"""Proofs against the oracle, which looks at every genome: never above the truth, equal at the end.

The oracle works in fractions on rows; proofs in integers on cells.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from moanon.data.domain import OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.genome import Instance
from moanon.kernels.cuts import FREE
from moanon.measures.suppression import row_limit
from moanon.proofs import cut_table
from moanon.proofs.cut_table import ProofTable
from moanon.proofs.proof import Proof, no_experience
from tests import naive
from tests.search.people import people
from tests.strategies import few, instances

ETAS = (0.0, 0.05, 0.1, 0.3, 0.6)


def staircase(instance: Instance, genome: np.ndarray, limit: int) -> dict[int, Fraction]:
    """Loss of a genome for every k that it can be released with."""
    text = instance.layout.text(genome)
    groups = naive.groups_with_loss(instance, text)
    rows = sum(size for size, _, _ in groups)
    found = {}
    for k in range(1, rows + 1):
        kept = [group for group in groups if group[0] >= k]
        if rows - sum(size for size, _, _ in kept) <= limit:
            found[k] = sum(naive.losses(groups, kept, len(instance.layout.columns)))
    return found


def optima(instance: Instance, limit: int) -> dict[int, Fraction]:
    """Least loss of all genomes for every k."""
    best: dict[int, Fraction] = {}
    for genome in instance.layout.enumerate():
        for k, loss in staircase(instance, genome, limit).items():
            best[k] = min(loss, best.get(k, loss))
    return best


def proof_for(table: ProofTable, k: int, limit: int) -> Proof:
    """A proof that begins with nothing but the whole table as one group."""
    return Proof(table, k, limit, table.whole, no_experience(table.bits))


@settings(max_examples=80)
@given(instances(most_rows=30, sensitive=0), st.sampled_from(ETAS), st.integers(1, 12))
def test_bounds_are_never_above_the_truth_and_equal_to_it_at_the_end(instance, eta, k):
    assume(instance.layout.count() <= 300 and k <= instance.cells.rows)
    limit = row_limit(eta, instance.cells.rows)
    truth = optima(instance, limit)[k]
    table = ProofTable.of(instance)
    proof = proof_for(table, k, limit)
    while not proof.is_closed:
        proof.advance()
        assert Fraction(proof.bound, table.whole) <= truth <= Fraction(proof.best, table.whole)
    assert Fraction(proof.best, table.whole) == truth


@few
@given(instances(most_rows=20, sensitive=0), st.sampled_from(ETAS), st.data())
def test_no_completion_of_a_partly_decided_genome_is_below_its_bound(instance, eta, data):
    assume(instance.layout.bits > 0 and instance.layout.count() <= 200)
    limit = row_limit(eta, instance.cells.rows)
    k = data.draw(st.integers(1, min(8, instance.cells.rows)))
    fine = data.draw(st.integers(0, 3 * instance.losses.scale))
    one = instance.layout.sample(1, np.random.default_rng(data.draw(st.integers(0, 99))))[0]
    free = data.draw(st.lists(st.booleans(), min_size=len(one), max_size=len(one)))
    state = np.where(free, FREE, one).astype(np.uint8)
    told = state.copy()
    table = ProofTable.of(instance)
    found = table.bound(state, k, limit, 2 * table.whole, fine)
    below = Fraction(0 if found is None else found.lower * table.unit, table.whole)
    for genome in instance.layout.enumerate():
        agrees = bool(((told == FREE) | (told == genome)).all())
        loss = staircase(instance, genome, limit).get(k) if agrees else None
        if loss is not None:
            assert found is not None
            assert below <= loss
            for bit in np.flatnonzero(told == FREE):
                least = (found.one if genome[bit] else found.zero)[bit]
                assert state[bit] in (FREE, genome[bit])
                assert state[bit] != FREE or Fraction(int(least), table.whole) <= loss


@given(instances(most_rows=30, sensitive=0), st.sampled_from(ETAS), st.data())
def test_polishing_finds_the_best_cut_of_every_column(instance, eta, data):
    assume(instance.layout.count() <= 300)
    limit = row_limit(eta, instance.cells.rows)
    k = data.draw(st.integers(1, min(8, instance.cells.rows)))
    table = ProofTable.of(instance)
    start = np.zeros(table.bits, dtype=np.uint8)  # one group: always within the limit
    genome, loss = table.polish(start, k, limit)
    assert loss is not None
    assert Fraction(loss, table.whole) == staircase(instance, genome, limit)[k]
    if limit:
        return  # with a limit the best cut may lie between two fines
    for _, domain, place in instance.layout.slices():
        for bits in domain.enumerate():
            other = genome.copy()
            other[place] = bits
            assert staircase(instance, other, limit).get(k, 2) >= Fraction(loss, table.whole)


@cache
def _hundred() -> Instance:
    return people(100, sensitive=False)


@pytest.mark.parametrize("k", [2, 5, 11])
def test_a_proof_that_is_saved_and_restored_goes_the_same_way(k):
    table = ProofTable.of(_hundred())
    straight = proof_for(table, k, 5)
    while not straight.is_closed:
        straight.advance()
    saved = proof_for(table, k, 5)
    for _ in range(3):
        saved.advance()
    resumed = proof_for(table, k, 5)
    resumed.experience = saved.experience.copy()
    resumed.restore({name: array.copy() for name, array in saved.state().items()})
    while not resumed.is_closed:
        resumed.advance()
    assert (resumed.best, resumed.work) == (straight.best, straight.work)
    assert resumed.genome is not None
    assert np.array_equal(resumed.genome, straight.genome)


def test_losses_too_large_to_be_added_up_are_bounded_in_larger_units(monkeypatch):
    # 100 rows, 3 columns; with sums below 2^10, a unit is a loss of about 25
    exact = ProofTable.of(_hundred())
    monkeypatch.setattr(cut_table, "_LARGEST_SUM", 2**10)
    rough = ProofTable.of(_hundred())
    assert rough.unit == -(-exact.whole // 2**10)
    truth, proof = proof_for(exact, 5, 5), proof_for(rough, 5, 5)
    while not truth.is_closed:
        truth.advance()
    while not proof.is_closed:
        proof.advance()
        assert proof.bound <= truth.best
    assert proof.best == truth.best


def awkward_people(seed: int) -> Instance:
    """40 rows, 3 columns with a prime number of neighbours, in trees of two halves."""
    rng = np.random.default_rng(seed)
    frame, specs = {}, {}
    for leaves in (84, 90, 98):
        names, half = [f"v{i}" for i in range(leaves)], int(rng.integers(2, leaves - 2))
        tree = Hierarchy.from_nested("Any", {"left": names[:half], "right": names[half:]})
        seen = np.concatenate([rng.integers(0, half, 4), rng.integers(half, leaves, 4)])
        frame[f"of {leaves}"] = [names[i] for i in rng.choice(seen, 40)]
        specs[f"of {leaves}"] = TreeSpec(tree)
    return Instance.build(read_table(pd.DataFrame(frame), dict.fromkeys(frame, "quasi")), specs)


@pytest.mark.parametrize("seed", range(8))
def test_no_bound_rests_on_losses_that_are_rounded_elsewhere(seed):
    # lcm(83, 89, 97) · 3 · 40 · 10^11 rows > 2^62: their losses have no common denominator
    few, times = awkward_people(seed), 10**11
    many = replace(few, cells=replace(few.cells, counts=few.cells.counts * times))
    assert not many.losses.exact
    k, limit = (3, 5, 8, 12)[seed % 4], (0, 2)[seed % 2]
    truth = optima(few, limit)[k]
    table = ProofTable.of(many)
    proof = proof_for(table, k * times, limit * times)
    while not proof.is_closed:
        proof.advance()
        assert Fraction(proof.bound, table.whole) <= truth <= Fraction(proof.best, table.whole)
    assert Fraction(proof.best, table.whole) == truth


def test_a_group_is_suppressed_or_kept_by_hand():
    # One column of 3 values with 1, 2 and 5 rows; losses 0, 1/2, 1 by width.
    frame = pd.DataFrame({"size": ["S"] + ["M"] * 2 + ["L"] * 5})
    instance = Instance.build(
        read_table(frame, {"size": "quasi"}), {"size": OrderedSpec(("S", "M", "L"))}
    )
    table = ProofTable.of(instance)
    # k 2, nothing suppressed: S..M | L costs (3 · 1/2 + 5 · 0) / 8
    # k 2, one row suppressed: S is given up, M | L are kept: 1 / 8
    for limit, loss in ((0, Fraction(3, 16)), (1, Fraction(1, 8))):
        proof = proof_for(table, 2, limit)
        while not proof.is_closed:
            proof.advance()
        assert Fraction(proof.best, table.whole) == loss
