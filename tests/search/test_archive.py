"""The archive keeps what is undominated; thinning keeps what people look for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from moanon.search.archive import Archive, thin, undominated
from moanon.search.problem import Points
from tests.search.people import ONE_BIT

points = st.integers(2, 4).flatmap(
    lambda objectives: arrays(
        np.float64,
        st.tuples(st.integers(1, 30), st.just(objectives)),
        elements=st.integers(-4, 4).map(float),
    )
)


def dominates(one: np.ndarray, other: np.ndarray) -> bool:
    return bool((one <= other).all() and (one < other).any())


@given(points)
def test_undominated_is_what_nothing_dominates_and_each_value_once(values):
    kept = undominated(values)
    expected = {tuple(v) for v in values if not any(dominates(w, v) for w in values)}
    assert {tuple(v) for v in values[kept]} == expected
    assert kept.sum() == len(expected)


@given(points)
def test_of_equal_points_the_first_is_kept(values):
    kept = undominated(np.concatenate([values, values]))
    assert not kept[len(values) :].any()


@given(points, st.integers(1, 29))
def test_adding_in_parts_keeps_the_same_points_as_adding_at_once(values, cut):
    def archive_of(*parts: np.ndarray) -> Archive:
        archive = Archive.empty(values.shape[1], ONE_BIT, 1000)
        for part in parts:
            number = len(part)
            thresholds = np.zeros((number, 2), dtype=np.int64)
            genomes = np.zeros((number, 1), dtype=np.uint8)
            archive.add(Points(part, np.arange(number), thresholds), genomes)
        archive.sort()
        return archive

    whole, parts = archive_of(values), archive_of(values[:cut], values[cut:])
    assert np.array_equal(whole.values, parts.values)


def front(number: int) -> np.ndarray:
    """Privacy from 1 to 10,000 against a convex loss."""
    k = np.geomspace(1, 10_000, number)
    return np.stack([-k, np.log(k) ** 2 / np.log(10_000) ** 2], axis=1)


def test_thinning_keeps_the_ends():
    values = front(5000)
    kept = values[thin(values, 300)]
    assert len(kept) == 300
    assert kept.min(axis=0).tolist() == values.min(axis=0).tolist()


def test_thinning_keeps_the_best_under_each_whole_percent():
    values = front(5000)
    kept = values[thin(values, 300)]
    for percent in range(101):
        limit = percent / 100
        assert kept[kept[:, 1] <= limit, 0].min() == values[values[:, 1] <= limit, 0].min()


def test_thinning_keeps_a_knee():
    values = front(2000)
    values[1000, 1] -= 0.01  # better than its neighbours by far
    values = values[undominated(values)]
    knee = int(np.argmin(np.abs(values[:, 0] + np.geomspace(1, 10_000, 2000)[1000])))
    assert knee in thin(values, 200)


def test_thinning_leaves_no_wide_gap():
    values = front(5000)
    kept = np.log(-np.sort(values[thin(values, 300), 0]))
    assert np.diff(-kept).max() == pytest.approx(np.log(10_000) / 200, rel=0.6)


def test_a_small_front_is_left_alone():
    assert thin(front(50), 300).tolist() == list(range(50))


def test_thinning_keeps_what_people_look_for_even_beyond_the_cap():
    loss = np.linspace(0, 1, 1_001)
    values = np.stack([-np.linspace(1, 2, 1_001), loss], axis=1)
    kept = thin(values, 10)
    for percent in range(101):
        within = np.flatnonzero(loss <= percent / 100)
        assert within[values[within, 0].argmin()] in kept
    assert len(kept) < 130
