"""Proofs of whole fronts: exact at the end, resumable, and refused where nothing can be proven."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moanon.errors import ConfigError
from moanon.measures.suppression import Suppression
from moanon.proofs.front_proof import FrontProof, check_provable
from moanon.recoding import LocalRecodings
from moanon.search.archive import front_of
from tests.search.people import (
    exact_archive,
    first_front,
    found_front,
    people,
    problem_of,
)
from tests.strategies import few, instances


def prove(proof: FrontProof, most: int = 10**9) -> FrontProof:
    """Advance until all gaps are closed, or so many times."""
    for _ in range(most):
        if proof.current is None and proof.is_done:
            break
        proof.advance()
    return proof


def shares(proof: FrontProof) -> dict[int, float]:
    return {k: loss / proof.table.whole for _, k, loss in proof.steps()}


@few
@given(instances(most_rows=30, sensitive=0), st.sampled_from([0.0, 0.1, 0.3]))
def test_a_poor_front_becomes_the_exact_one(instance, eta):
    assume(2 <= instance.layout.count() <= 300)
    problem = problem_of("k-suppression", instance, eta=eta)
    proof = prove(FrontProof(first_front(problem, genomes=1)))
    archive = exact_archive(problem)
    values = front_of(problem, archive, cap=10**6).measures
    exact = dict(zip(values["k"].tolist(), values["loss"].tolist(), strict=True))
    assert shares(proof) == pytest.approx(exact, abs=1e-12)


def test_bounds_are_the_losses_of_an_exact_front_to_the_last_digit():
    problem = problem_of("k-suppression", people(sensitive=False), eta=0.1)
    front = front_of(problem, exact_archive(problem), cap=10**6)
    proof = prove(FrontProof(front))
    assert proof.better == {}
    assert np.array_equal(proof.bounds(front), front.measures["loss"])


def test_bounds_are_below_the_losses_of_an_exact_front_on_the_way():
    problem = problem_of("k-suppression", people(sensitive=False), eta=0.1)
    front = front_of(problem, exact_archive(problem), cap=10**6)
    proof = FrontProof(front)
    for _ in range(30):
        prove(proof, 5)
        assert (proof.bounds(front) <= front.measures["loss"]).all()


def test_a_bound_holds_for_every_larger_k():
    problem = problem_of("k-suppression", people(sensitive=False), eta=0.1)
    front = front_of(problem, exact_archive(problem), cap=10**6)
    proof = prove(FrontProof(front, ks=[5]))
    assert [*proof.proofs] == [5]
    bounds = dict(zip(front.measures["k"].tolist(), proof.bounds(front).tolist(), strict=True))
    losses = zip(front.measures["k"].tolist(), front.measures["loss"].tolist(), strict=True)
    best = min(loss for k, loss in losses if k >= 5)
    beyond = [bound for k, bound in bounds.items() if k >= 5]
    assert max(beyond) == best
    assert min(beyond) == pytest.approx(best, abs=1e-15)  # rounded down where it is no loss
    assert all(bound == 0 for k, bound in bounds.items() if k < 5)


def test_saved_and_restored_proofs_go_the_same_way():
    front = found_front(eta=0.1)
    straight = prove(FrontProof(front))
    first = prove(FrontProof(front), 25)
    second = FrontProof(front)
    second.restore({name: array.copy() for name, array in first.state().items()})
    prove(second)
    assert second.work == straight.work
    assert second.known == straight.known
    assert shares(second) == shares(straight)


def test_a_gap_that_is_small_enough_is_left_alone():
    front = found_front(eta=0.1)
    exact, rough = prove(FrontProof(front)), prove(FrontProof(front, gap=0.2))
    assert rough.work < exact.work
    for _, k, loss in rough.steps():
        assert loss <= 1.2 * rough.bound(k)


@pytest.mark.parametrize(
    ("preset", "settings", "reason"),
    [
        ("zero-suppression", {}, r"objectives k and loss .* weighted_k, gl are none of them"),
        ("any-suppression", {}, "Got the objectives weighted_k, gl, sl"),
        ("kl-safety", {}, "Got the objectives d1, d2, loss"),
        ("k-suppression", {"by": "l_distinct"}, "Got suppression by l_distinct"),
        ("k-suppression", {"constraints": (("k", 2),)}, "Got constraints on k"),
    ],
)
def test_what_cannot_be_proven_is_refused_with_the_reason(preset, settings, reason):
    with pytest.raises(ConfigError, match=reason):
        check_provable(found_front(preset, **settings))


def test_boxes_are_refused():
    local = replace(found_front(), recodings=LocalRecodings((), (), ()))
    with pytest.raises(ConfigError, match=r"global recodings can be proven\. Got local ones"):
        check_provable(local)


def test_a_k_that_no_table_of_so_many_rows_has_is_refused():
    with pytest.raises(ConfigError, match=r"from 1 to 120, the rows\. Got 121"):
        FrontProof(found_front(), ks=[121])


def test_a_rule_without_suppression_can_be_proven():
    assert Suppression("none").most_rows(10) == 0
    front = found_front(eta=0.0)
    proof = prove(FrontProof(front))
    assert all(proof.bound(k) == loss for _, k, loss in proof.steps())
