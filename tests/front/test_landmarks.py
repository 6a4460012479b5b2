"""Landmarks: the curve of two measures, its knees and flat stretches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.errors import ConfigError
from moanon.front.front import attained_privacy
from moanon.front.landmarks import (
    TradeOff,
    _maximal_runs,
    find_landmarks,
    spans_decades,
    spell,
)
from tests.output.drawn import made_front
from tests.search.people import found_front

# -- words and scales ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("loss", 0.2476, "24.8 %"),
        ("k", 30162, "30,162"),
        ("weighted_k", 2528.4, "2,528"),
        ("weighted_k", 4.1429, "4.14"),
        ("weighted_k", 4.0, "4"),
    ],
)
def test_values_are_spelled_with_the_digits_they_need(name: str, value: float, text: str) -> None:
    assert spell(name, value) == text


def test_a_decade_is_ten_times() -> None:
    assert spans_decades(np.array([1, 10]))
    assert not spans_decades(np.array([1, 9]))
    assert not spans_decades(np.array([0, 10]))
    assert not spans_decades(np.array([]))


# -- a front as a curve --------------------------------------------------------------------------


def test_a_curve_holds_what_is_undominated_in_its_two_measures() -> None:
    # 2 is dominated by 3 (more k, less loss); 5 by 4 (the same k for less).
    front = made_front(k=[1, 2, 3, 8, 8], loss=[0.0, 0.3, 0.2, 0.5, 0.6])
    tradeoff = TradeOff.of(front)
    assert tradeoff.ids.tolist() == [1, 3, 4]
    assert tradeoff.privacies.tolist() == [1, 3, 8]
    assert tradeoff.costs.tolist() == [0.0, 0.2, 0.5]
    assert not tradeoff.logarithmic


def test_a_curve_can_be_of_some_solutions_alone() -> None:
    front = made_front(k=[1, 2, 3, 8], loss=[0.0, 0.1, 0.2, 0.5])
    chosen = np.array([True, True, False, False])
    assert TradeOff.of(front, among=chosen).ids.tolist() == [1, 2]


def test_what_is_not_finite_is_no_part_of_a_curve() -> None:
    front = made_front(weighted_k=[1.0, np.inf, 3.0], loss=[0.0, 0.1, 0.2])
    assert TradeOff.of(front, "weighted_k").ids.tolist() == [1, 3]


def test_gains_and_rises_run_from_0_to_1() -> None:
    tradeoff = TradeOff.of(made_front(k=[1, 10, 100], loss=[0.2, 0.3, 0.7]))
    # log 10 / log 100 = 1/2; (0.3 - 0.2) / (0.7 - 0.2) = 0.2
    assert tradeoff.gains == pytest.approx([0, 0.5, 1])
    assert tradeoff.rises == pytest.approx([0, 0.2, 1])


def test_a_smaller_measure_can_be_the_better_one() -> None:
    # As privacy, fewer suppressed rows are better; as cost, fewer groups are worse.
    front = made_front(suppressed=[30, 20, 0], groups=[9, 5, 1])
    tradeoff = TradeOff.of(front, "suppressed", "groups")
    assert tradeoff.privacies.tolist() == [30, 20, 0]
    assert tradeoff.gains == pytest.approx([0, 1 / 3, 1])
    assert tradeoff.rises == pytest.approx([0, 0.5, 1])


@pytest.mark.parametrize(
    ("objectives", "privacy", "cost"),
    [
        (("k", "loss"), "k", "loss"),
        (("k", "gl"), "k", "loss"),  # gl alone rewards suppressing
        (("weighted_k", "gl", "sl"), "weighted_k", "loss"),
        (("d1", "d2", "loss"), "k", "loss"),  # what is attained, not what the rule aims at
        (("l", "suppressed"), "l", "suppressed"),
        (("loss",), "k", "loss"),
        (("t_closeness", "loss"), "t_closeness", "loss"),
        (("loss", "size_rank"), "size_rank", "loss"),
        (("t_closeness", "k", "prec"), "t_closeness", "prec"),
    ],
)
def test_which_two_measures_a_front_is_about(
    objectives: tuple[str, ...], privacy: str, cost: str
) -> None:
    others = {"t_closeness": [0.5, 0.2], "size_rank": [9.0, 4.0], "prec": [0.9, 0.5]}
    tradeoff = TradeOff.of(made_front(objectives, k=[1, 2], loss=[0.1, 0.2], **others))
    assert (tradeoff.privacy, tradeoff.cost) == (privacy, cost)


def test_attained_privacy_names_each_measure_once() -> None:
    assert attained_privacy(("d1", "k", "d2", "loss")) == ("k", "l")


def test_a_curve_of_a_falling_privacy_goes_from_the_least_private_to_the_most() -> None:
    # 3 is dominated by 2: farther from the table, for more.
    t, loss = [0.0, 0.2, 0.3, 0.6], [1.0, 0.4, 0.5, 0.1]
    front = made_front(("t_closeness", "loss"), t_closeness=t, loss=loss)
    tradeoff = TradeOff.of(front)
    assert tradeoff.ids.tolist() == [4, 2, 1]
    assert tradeoff.gains.tolist() == pytest.approx([0, 2 / 3, 1])  # 0.4 of 0.6
    assert tradeoff.rises.tolist() == pytest.approx([0, 1 / 3, 1])  # 0.3 of 0.9


def test_a_measure_the_front_has_not_is_refused() -> None:
    with pytest.raises(ConfigError, match="this front has no measure 'groups': it was found"):
        TradeOff.of(made_front(k=[1]), cost="groups")


@given(
    st.lists(
        st.tuples(st.integers(1, 30), st.integers(0, 20).map(lambda i: i / 20)),
        min_size=1,
        max_size=30,
    )
)
def test_every_solution_is_covered_by_the_curve(points: list[tuple[int, float]]) -> None:
    k, loss = map(np.array, zip(*points, strict=True))
    tradeoff = TradeOff.of(made_front(k=k, loss=loss))
    assert (np.diff(tradeoff.privacies) > 0).all()
    assert (np.diff(tradeoff.costs) > 0).all()
    for one_k, one_loss in points:
        assert ((tradeoff.privacies >= one_k) & (tradeoff.costs <= one_loss)).any()


# -- knees ---------------------------------------------------------------------------------------


def test_a_knee_is_where_privacy_becomes_dear() -> None:
    # On a linear scale of 101 values of k: loss 0.1 % for each step up to k = 150, then 1.9 %.
    k = np.arange(100, 201)
    loss = np.where(k <= 150, 0.001 * (k - 100), 0.05 + 0.019 * (k - 150))
    (knee,) = find_landmarks(made_front(k=k, loss=loss)).knees
    # A twentieth of the way is 5 steps: 5 * 0.1 % behind, 5 * 1.9 % ahead; the whole loss is 1.
    assert (knee.first, knee.last, knee.privacy_to) == (51, 51, 150)
    assert knee.rise == pytest.approx(0.05)
    assert knee.worth == pytest.approx(0.09 * 0.95**2)


def test_a_straight_line_has_no_landmarks() -> None:
    k = np.arange(100, 201)
    landmarks = find_landmarks(made_front(k=k, loss=(k - 100) / 100))
    assert landmarks.knees == ()
    assert landmarks.flats == ()


def test_the_ends_are_no_knees() -> None:
    # After k = 1 everything is dear; but nobody came to it from anywhere.
    assert find_landmarks(made_front(k=[1, 2, 3], loss=[0.0, 0.9, 1.0])).knees == ()


@pytest.mark.parametrize(
    ("k", "loss"),
    [([5], [0.3]), ([2, 9], [0.1, 0.4]), ([1, 1, 1], [0.1, 0.2, 0.3]), ([1, 2, 3], [0.3] * 3)],
    ids=["one", "two", "same-k", "same-loss"],
)
def test_too_little_to_see_anything(k: list[int], loss: list[float]) -> None:
    landmarks = find_landmarks(made_front(k=k, loss=loss))
    assert landmarks.knees == ()


# -- flat stretches ------------------------------------------------------------------------------


def test_a_flat_stretch_says_what_it_brings_for_what() -> None:
    front = made_front(k=[1, 20, 26, 60], loss=[0.0, 0.5, 0.503, 1.0])
    (flat,) = (landmarks := find_landmarks(front)).flats
    assert landmarks.sentence(flat) == "k from 20 to 26 for 0.3 % loss"
    assert (flat.first, flat.last, landmarks.price(flat)) == (2, 3, "0.3 %")
    # Privacy runs over log 60. The stretch has log(26/20)/log(60) = 0.0641 of it, for 0.003 of the
    # cost: 0.0641 - 3 * 0.003, times the square of the cost not yet spent, 0.497.
    assert flat.worth == pytest.approx((np.log(26 / 20) / np.log(60) - 0.009) * 0.497**2)


def test_a_price_is_never_nothing() -> None:
    front = made_front(k=[1, 20, 26, 60], loss=[0.0, 0.5, 0.5001, 1.0])
    (flat,) = (landmarks := find_landmarks(front)).flats
    assert landmarks.sentence(flat) == "k from 20 to 26 for under 0.1 % loss"


def test_a_step_of_little_privacy_is_no_stretch() -> None:
    # log(1001/1000) / log(10000) is a ten-thousandth of the way.
    front = made_front(k=[1, 1000, 1001, 10000], loss=[0.0, 0.5, 0.5001, 1.0])
    assert find_landmarks(front).flats == ()


def slow_runs(scores: list[float], start: int = 0) -> list[tuple[int, int]]:
    """The best run, then the same left and right of it: what Ruzzo & Tompa find in one pass."""
    sums = {
        (i, j): sum(scores[i:j]) for i in range(len(scores)) for j in range(i + 1, len(scores) + 1)
    }
    if not sums or max(sums.values()) <= 0:
        return []
    i, j = max(sums, key=sums.__getitem__)
    left, right = slow_runs(scores[:i], start), slow_runs(scores[j:], start + j)
    return [*left, (start + i, start + j), *right]


@given(st.integers(0, 2**32 - 1), st.integers(0, 25))
def test_maximal_runs_are_those_of_the_slow_way(seed: int, number: int) -> None:
    # Random numbers, so that no two runs have the same sum.
    scores = np.random.default_rng(seed).normal(-0.2, 1, number).tolist()
    assert _maximal_runs(scores) == slow_runs(scores)


def test_stretches_of_a_real_front_are_apart_and_as_flat_as_promised() -> None:
    tradeoff = TradeOff.of(found_front("k-suppression"))
    landmarks = find_landmarks(tradeoff)
    assert landmarks.flats
    last = 0
    for flat in landmarks.flats:
        start, stop = (tradeoff.ids.tolist().index(i) for i in (flat.first, flat.last))
        assert start >= last
        last = stop
        way = tradeoff.gains[stop] - tradeoff.gains[start]
        assert tradeoff.rises[stop] - tradeoff.rises[start] <= way / 3
        assert way >= 0.01


def test_landmarks_as_a_table() -> None:
    k = np.arange(100, 201)
    loss = np.where(k <= 150, 0.0002 * (k - 100), 0.01 + 0.019 * (k - 150))
    frame = find_landmarks(made_front(k=k, loss=loss)).to_frame()
    assert frame["kind"].tolist() == ["knee", "flat"]
    assert frame[["first", "last"]].to_numpy().tolist() == [[51, 51], [1, 51]]
    assert frame["k_to"].tolist() == [150, 150]


def test_landmarks_are_looked_for_where_publishers_choose() -> None:
    # A bend at k 100, and another, sharper one at 5,000 that nobody asks for.
    k = np.unique(np.geomspace(1, 30_000, 600).round())
    bend = np.maximum(0, np.log(k / 100))
    loss = 0.01 * np.log(k) + 0.05 * bend + 0.2 * np.maximum(0, np.log(k / 5000))
    landmarks = find_landmarks(made_front(k=k, loss=loss))
    assert [80 <= knee.privacy_to <= 120 for knee in landmarks.knees] == [True]
    assert all(2 <= flat.privacy_from < flat.privacy_to <= 500 for flat in landmarks.flats)


def test_a_front_without_small_k_is_looked_at_as_a_whole() -> None:
    k = np.arange(1000, 1101)
    tradeoff = TradeOff.of(made_front(k=k, loss=k / 2000))
    assert tradeoff.publishable is tradeoff


def test_nothing_dear_is_called_nearly_free() -> None:
    # The first half rises by 7.7 %, a fifth as steeply as the second.
    k = np.arange(100, 301)
    loss = np.where(k <= 200, 0.00077 * (k - 100), 0.077 + 0.004 * (k - 200))
    flats = find_landmarks(made_front(k=k, loss=loss)).flats
    assert flats
    assert all(flat.cost_to - flat.cost_from <= 0.01 for flat in flats)
    places = [flat.privacy_from for flat in flats]
    assert places == sorted(places)
