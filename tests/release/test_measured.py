"""Registered measures of tables that need not come from a genome."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon import Instance, OrderedSpec, Release, read_table
from moanon.measures import MEASURES, applicable
from moanon.measures.evaluate import Evaluator
from moanon.measures.suppression import Suppression
from moanon.release import Anonymized, measure_anonymized
from tests.release.tables import releases
from tests.strategies import instances


@given(instances(), st.integers(0, 2**32 - 1))
def test_a_table_without_suppression_measures_as_its_genome_does(
    people: Instance, seed: int
) -> None:
    genome = people.layout.sample(1, np.random.default_rng(seed))
    found = measure_anonymized(Anonymized.of_release(Release.of(people, genome[0]), "x"))
    scores = Evaluator(people).evaluate(genome, Suppression("none"), measures=list(found))
    assert found == {name: MEASURES[name].of(scores)[0] for name in found}
    left_out = {measure.name for measure in applicable(people)} - set(found)
    assert left_out <= {"d", "d1", "d2"}  # thresholds of a rule, and a table shows no rule


@given(releases())
def test_a_release_measures_as_promised(made: tuple[Release, int]) -> None:
    release, _ = made
    found = measure_anonymized(Anonymized.of_release(release, "x"))
    promised = release.promised
    for name in ("k", "suppressed", "groups", "gl", "sl", "loss"):
        assert found[name] == pytest.approx(getattr(promised, name), rel=1e-12, abs=1e-12)
    assert found["weighted_k_kept"] == pytest.approx(promised.squares / promised.rows)
    if promised.l:
        assert found["l_distinct"] == min(each.distinct for each in promised.l.values())
        assert found["l_frequency"] == min(each.frequency for each in promised.l.values())


def shirts(k: int) -> Anonymized:
    """S S M M M, of which the S are suppressed for a k of 3."""
    frame = pd.DataFrame({"size": list("SSMMM"), "ill": list("aabba")})
    table = read_table(frame, {"size": "quasi", "ill": "sensitive"})
    people = Instance.build(table, {"size": OrderedSpec(("S", "M", "L"))})
    return Anonymized.of_release(Release.of(people, [1, 0], k=k), "shirts")


def test_what_suppressed_rows_hide_is_left_out() -> None:
    assert measure_anonymized(shirts(1))["weighted_k"] == 13 / 5  # (2·2 + 3·3) / 5
    found = measure_anonymized(shirts(3))
    assert "weighted_k" not in found
    # Three rows in M..L, a loss of 1/2 each; two rows lost: 1.5/5 + 2/5.
    assert (found["k"], found["gl"], found["sl"], found["loss"]) == (3, 0.3, 0.4, 0.7)


def test_without_domains_losses_are_left_out() -> None:
    seen = shirts(3)
    blind = replace(seen, original=seen.table, blocks=None)
    found = measure_anonymized(blind)
    assert (found["k"], found["sl"], found["l_distinct"]) == (3, 0.4, 2)
    assert not {"gl", "loss"} & set(found)


@pytest.mark.parametrize("known", [True, False])
def test_sensitive_values_that_are_not_there_are_left_out(known: bool) -> None:
    seen = shirts(3)
    if not known:
        seen = replace(seen, original=seen.table, blocks=None)
    found = measure_anonymized(replace(seen, absent=("ill",)))
    whole = measure_anonymized(seen)
    assert found == {n: v for n, v in whole.items() if not MEASURES[n].needs_sensitive}
    assert len(found) < len(whole)
