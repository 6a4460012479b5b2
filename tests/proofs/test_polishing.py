"""Polishing against the oracle: the best cut of every column, and never anything worse."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moanon.genome import Instance
from moanon.measures.suppression import row_limit
from moanon.proofs import cut_table
from moanon.proofs.cut_table import Polisher
from moanon.search.archive_search import ArchiveSearch, polisher_for
from tests import naive
from tests.search.people import people, problem_of
from tests.strategies import instances


def loss_of(instance: Instance, genome: np.ndarray, k: int, limit: int) -> Fraction | None:
    """Loss without the groups of less than k rows; None where these have too many rows."""
    groups = naive.groups_with_loss(instance, instance.layout.text(genome))
    kept = [group for group in groups if group[0] >= k]
    if sum(size for size, _, _ in groups) - sum(size for size, _, _ in kept) > limit:
        return None
    return sum(naive.losses(groups, kept, len(instance.layout.columns)))


@given(instances(most_rows=30, sensitive=0), st.data())
def test_without_suppression_every_column_has_its_best_cut(instance, data):
    assume(instance.layout.count() <= 300)
    k = data.draw(st.integers(1, min(8, instance.cells.rows)))
    start = np.zeros(instance.layout.bits, dtype=np.uint8)  # one group: always within the limit
    genome = Polisher(instance).polish(start, k, 0)
    loss = loss_of(instance, genome, k, 0)
    assert loss is not None
    for _, domain, place in instance.layout.slices():
        for bits in domain.enumerate():
            other = genome.copy()
            other[place] = bits
            found = loss_of(instance, other, k, 0)
            assert found is None or found >= loss


@given(instances(most_rows=30, sensitive=0), st.sampled_from([0.05, 0.1, 0.3, 0.6]), st.data())
def test_with_suppression_nothing_becomes_worse(instance, eta, data):
    limit = row_limit(eta, instance.cells.rows)
    k = data.draw(st.integers(1, min(8, instance.cells.rows)))
    seed = data.draw(st.integers(0, 99))
    start = instance.layout.sample(1, np.random.default_rng(seed))[0]
    genome = Polisher(instance).polish(start, k, limit)
    assert instance.layout.is_valid(genome[None]).all()
    before, after = (loss_of(instance, each, k, limit) for each in (start, genome))
    if before is not None:
        assert after is not None
        assert after <= before


def test_a_best_cut_by_hand():
    # One column of 3 values with 1, 2 and 5 rows; losses 0, 1/2, 1 by width.
    import pandas as pd

    from moanon.data.domain import OrderedSpec
    from moanon.engines import read_table

    frame = pd.DataFrame({"size": ["S"] + ["M"] * 2 + ["L"] * 5})
    instance = Instance.build(
        read_table(frame, {"size": "quasi"}), {"size": OrderedSpec(("S", "M", "L"))}
    )
    start = np.zeros(2, dtype=np.uint8)
    # k 2, nothing suppressed: S..M | L costs (3 · 1/2) / 8; S may be given up for 1 / 8
    assert Polisher(instance).polish(start, 2, 0).tolist() == [0, 1]
    assert Polisher(instance).polish(start, 2, 1).tolist() == [1, 1]


def test_a_column_of_too_many_values_keeps_its_cut(monkeypatch):
    instance = people(sensitive=False)
    monkeypatch.setattr(cut_table, "_MOST_VALUES", 5)  # age has 8 values, the others less
    start = instance.layout.sample(1, np.random.default_rng(1))[0]
    genome = Polisher(instance).polish(start, 2, 60)
    (age, *_) = [place for _, _, place in instance.layout.slices()]
    assert np.array_equal(genome[age], start[age])
    assert not np.array_equal(genome, start)


@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        ("zero-suppression", {}),
        ("any-suppression", {}),
        ("kl-safety", {"eta": 0.1}),
        ("k-suppression", {"by": "l_distinct"}),
        ("k-suppression", {"constraints": (("k", 2),)}),
    ],
)
def test_what_sizes_and_losses_do_not_decide_is_not_polished(preset, settings):
    assert polisher_for(problem_of(preset, **settings)) is None


def test_a_search_polishes_now_and_then_and_at_its_end():
    problem = problem_of("k-suppression", eta=0.1)
    search = ArchiveSearch(problem, 2, seed=3)  # so small that chance finds little
    for _ in range(49):
        search.step()
    rough = search.archive.values.copy()
    search.step()
    assert search.evaluations == 100  # polished genomes are part of a generation
    assert search.state()["smooth"].shape[0] > 0
    before = len(rough)
    assert search.finish() > 0
    assert search.finish() == 0  # nothing is left to be polished
    # every solution of before is still there, or beaten
    for point in rough[:before]:
        assert (search.archive.values <= point).all(axis=1).any()


def test_of_a_large_table_few_solutions_are_polished_at_once(monkeypatch):
    search = ArchiveSearch(problem_of("k-suppression", eta=0.1), 20, seed=3)
    for _ in range(5):
        search.step()
    polished = []
    polish = Polisher.polish
    monkeypatch.setattr(
        Polisher, "polish", lambda *given: polished.append(given[2]) or polish(*given)
    )
    cells, columns = len(search.problem.instance.cells), len(search.problem.layout.columns)
    monkeypatch.setattr(cut_table, "_AT_ONCE", 3 * cells * columns**2)
    monkeypatch.setattr("moanon.search.archive_search._LAST_ROUNDS", 1)
    search.finish()
    assert len(polished) == 3
    assert max(polished) > min(polished)  # along the whole front
