"""What the last tenth of a search gained, and what to make of it."""

from __future__ import annotations

from typing import Any

import pytest

from moanon.search.algorithms import Convergence


def curve(*points: tuple[int, float], **known: bool) -> Convergence:
    found = Convergence.of(points, **known)
    assert found is not None
    return found


def test_the_last_tenth_is_read_off_between_two_points() -> None:
    # At 90 of 100 evaluations, halfway from 0.4 to 0.5: 0.45, of 0.5 a tenth is missing.
    assert curve((10, 0.2), (80, 0.4), (100, 0.5)).last_tenth == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (0.5, "gained less than 0.01% of hypervolume: as good as converged"),
        (0.5002, "gained 0.04% of hypervolume: as good as converged"),
        (0.502, "gained 0.40% of hypervolume: a longer search finds a little more"),
        (0.6, "gained 16.67% of hypervolume: not converged"),
    ],
)
def test_it_says_what_to_make_of_that(last: float, words: str) -> None:
    assert words in curve((90, 0.5), (100, last)).sentence


def test_where_everything_was_evaluated_there_is_nothing_to_gain() -> None:
    assert "nothing more can be found" in curve((1, 0.1), (2, 0.9), complete=True).sentence


def test_where_every_target_was_reached_for_there_may_be_more() -> None:
    sentence = curve((1, 0.1), (2, 0.9), complete=True, targets=True).sentence
    assert sentence == "every size of groups was searched for; better groups may exist"


def test_one_point_is_no_curve() -> None:
    assert Convergence.of([(5, 0.1), (5, 0.2)]) is None


def test_many_points_are_thinned_and_keep_their_ends() -> None:
    found = curve(*((i, i / 1000) for i in range(1, 1001)))
    assert len(found.evaluations) == 60
    assert (found.evaluations[0], found.evaluations[-1]) == (1, 1000)
    assert found.last_tenth == pytest.approx(0.1)


def test_a_record_gives_back_what_was_written() -> None:
    written = curve((10, 0.25), (20, 0.5), complete=True, targets=True)
    assert Convergence.of_record({"search": {"convergence": written.to_dict()}}) == written


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"search": None},
        {"search": {"convergence": None}},
        {"search": {"convergence": {"evaluations": [1, 2]}}},
        {"search": {"convergence": {"evaluations": ["1"], "hypervolume": [None]}}},
    ],
)
def test_a_record_without_a_curve_tells_of_none(record: dict[str, Any]) -> None:
    assert Convergence.of_record(record) is None
