"""Compiling before the clock starts changes nothing that a search sees."""

from __future__ import annotations

import pytest

from moanon.search.limits import SharedLimits
from moanon.search.warming import warm_up
from tests.search.people import problem_of


@pytest.mark.parametrize("preset", ["zero-suppression", "k-suppression", "kl-safety"])
def test_nothing_is_kept_of_what_was_evaluated(preset: str) -> None:
    limits = SharedLimits(
        problem_of(preset, **({} if preset[0] == "z" else {"eta": 0.1})), (0.1,), 50
    )
    assert warm_up(limits.problems[0]) >= 0
    assert len(limits.evaluated) == 0
    assert [len(archive) for archive in limits.archives] == [0]


def test_the_way_of_evaluating_is_still_open() -> None:
    """Which way is faster is measured by the search's own batches, of its own size."""
    problem = problem_of("k-suppression", eta=0.1)
    warm_up(problem)
    speed = problem.evaluator.kernel.speeds[False]
    assert (speed.flat, speed.rollup, speed.batches) == (None, None, 0)
