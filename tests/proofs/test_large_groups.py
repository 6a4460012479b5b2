"""Optima of large k at the end of a long search, against all genomes."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest

from moanon.arrays import Floats
from moanon.proofs import cut_table, proof
from moanon.proofs.cut_table import ProofTable, can_settle
from moanon.proofs.proof import settle_large
from moanon.search import archive_search
from moanon.search.archive_search import ArchiveSearch
from tests.search.people import exact_archive, people, problem_of


def least(values: Floats, k: int) -> float:
    """Least loss of points (-k, loss) for a k."""
    return float(values[-values[:, 0] >= k, 1].min())


@pytest.mark.parametrize("eta", [0.0, 0.1])
def test_a_poor_but_long_search_ends_with_the_optima_of_its_steps(eta, monkeypatch):
    monkeypatch.setattr(archive_search, "LONG", 10)
    problem = problem_of("k-suppression", eta=eta)
    search = ArchiveSearch(problem, 5, seed=3, budget=10)
    search.step()
    ks = np.sort(-search.archive.values[:, 0]).astype(int)
    search.finish()
    exact = exact_archive(problem).values
    for start in (np.concatenate(([0], ks[:-1])) + 1).tolist():
        assert least(search.archive.values, start) == least(exact, start)


def test_a_short_search_is_left_as_it_is(monkeypatch):
    settled = Mock(return_value=[])
    monkeypatch.setattr(archive_search, "settle_large", settled)
    search = ArchiveSearch(problem_of("k-suppression", eta=0.1), 5, seed=3, budget=99_999)
    search.step()
    search.finish()
    assert not settled.called


def test_proofs_that_take_too_long_end_it(monkeypatch):
    # Of four steps the first is proven; the next two are not, with one bound each.
    monkeypatch.setattr(proof, "_FOR_ONE", 1)
    instance = people(sensitive=False)
    proven = []
    whole = np.zeros(instance.layout.bits, dtype=np.uint8)

    def steps():
        for start in (120, 3, 2, 1):
            proven.append(start)
            yield start, 120, whole

    settle_large(instance, 12, steps())
    assert proven == [120, 3, 2]


def test_what_is_found_is_better_and_within_the_limit():
    instance = people(sensitive=False)
    whole = np.zeros(instance.layout.bits, dtype=np.uint8)
    table = ProofTable.of(instance)
    (found,) = settle_large(instance, 12, [(10, 120, whole)])
    loss, before = table.loss(found, 10, 12), table.loss(whole, 120, 12)
    assert loss is not None
    assert before is not None
    assert loss < before


def test_tables_of_wide_columns_are_left_alone(monkeypatch):
    monkeypatch.setattr(cut_table, "_MOST_VALUES", 7)
    assert not can_settle(people())


def test_nothing_is_laid_out_for_proofs_of_tables_of_wide_columns(monkeypatch):
    """Of 30,000 values there are more pairs of edges than memory holds."""
    monkeypatch.setattr(archive_search, "LONG", 0)
    monkeypatch.setattr(cut_table, "_MOST_VALUES", 7)
    laid_out = Mock()
    monkeypatch.setattr(ProofTable, "of", laid_out)
    ArchiveSearch.warm_up(problem_of("k-suppression", eta=0.1))
    laid_out.assert_not_called()
