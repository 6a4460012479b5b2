"""Products of one number per person: the exact answer, whatever their number."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.compare.indices import LogVolume, compare_products, solely_dominated
from moanon.errors import ConfigError

NUMBERS = st.one_of(st.integers(0, 40).map(float), st.floats(0, 9, allow_subnormal=False))


@st.composite
def pairs(draw: st.DrawFn, most: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors of one length; the second often a permutation of the first, or nearly."""
    rows = draw(st.integers(1, most))
    a = draw(st.lists(NUMBERS, min_size=rows, max_size=rows))
    b = draw(st.one_of(st.permutations(a), st.lists(NUMBERS, min_size=rows, max_size=rows)))
    if draw(st.booleans()):
        b = [math.nextafter(b[0], math.inf), *b[1:]]
    return np.array(a), np.array(b)


def product(vector: np.ndarray) -> Fraction:
    return math.prod(map(Fraction, vector.tolist()), start=Fraction(1))


@given(pairs())
def test_products_are_compared_as_whole_numbers_would_be(
    vectors: tuple[np.ndarray, np.ndarray],
) -> None:
    a, b = vectors
    difference = product(a) - product(b)
    assert compare_products(a, b) == (difference > 0) - (difference < 0)
    assert compare_products(b, a) == -compare_products(a, b)


@given(pairs())
def test_a_volume_is_the_difference_of_two_products(
    vectors: tuple[np.ndarray, np.ndarray],
) -> None:
    a, b = vectors
    exact = product(a) - product(np.minimum(a, b))
    volume = solely_dominated(a, b)
    assert volume.sign == (exact > 0)
    if exact:
        log = math.log(exact.numerator) - math.log(exact.denominator)
        assert volume.log == pytest.approx(log, rel=1e-9, abs=1e-9)
        if abs(log) < 600:
            assert volume.value == float(exact)


def test_the_volumes_of_the_source() -> None:
    s, t = np.array([3.0] * 3 + [5.0] * 5), np.array([4.0] * 8)
    # 3³·5⁵ = 84375, 4⁸ = 65536, and both dominate 3³·4⁵ = 27648.
    assert solely_dominated(s, t).value == 56727
    assert solely_dominated(t, s).value == 37888
    assert compare_products(s, t) == 1


@pytest.mark.parametrize(
    ("a", "b", "sign"),
    [
        ([4, 4], [2, 8], 0),  # 16 = 16
        ([6, 6, 6], [4, 6, 9], 0),  # 216 = 216
        ([0, 9], [1, 1], -1),  # 0 < 1
        ([1, 1], [0, 9], 1),
        ([0, 9], [5, 0], 0),
        ([0.1, 0.3], [0.3, 0.1], 0),
    ],
)
def test_ties_and_zeros(a: list[float], b: list[float], sign: int) -> None:
    assert compare_products(np.array(a, float), np.array(b, float)) == sign


def test_a_product_of_zero_dominates_nothing() -> None:
    a, b = np.array([0.0, 9.0]), np.array([1.0, 1.0])
    assert solely_dominated(a, b) == LogVolume(-math.inf, 0.0)
    assert solely_dominated(b, a).value == 1  # 1·1 - 0


def test_as_many_rows_as_adult_neither_overflow_nor_underflow() -> None:
    rng = np.random.default_rng(7)
    large = rng.integers(5, 20_000, 30_162).astype(float)
    small = rng.uniform(0.01, 0.9, 30_162)
    for vector in (large, small):
        shuffled = rng.permutation(vector)
        assert compare_products(vector, shuffled) == 0
        assert compare_products(np.append(vector[1:], vector[0] * 1.01), vector) == 1
        # One row one unit in the last place ahead: the sums of logarithms are the same float.
        ahead = shuffled.copy()
        ahead[11] = math.nextafter(ahead[11], math.inf)
        assert compare_products(ahead, vector) == 1
        assert compare_products(vector, ahead) == -1
        volume = solely_dominated(vector, shuffled)
        assert volume.sign == 1
        assert math.isfinite(volume.log)
        assert volume.value in (0.0, math.inf)


def test_long_vectors_of_whole_numbers_are_decided_as_big_integers_decide() -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        a = rng.integers(2, 9, 30_162)
        # The same product by other factors: 2·6 = 3·4 wherever both occur.
        b = a.copy()
        twos, sixes = np.flatnonzero(a == 2), np.flatnonzero(a == 6)
        pairs = min(len(twos), len(sixes))
        b[twos[:pairs]], b[sixes[:pairs]] = 3, 4
        assert math.prod(a.tolist()) == math.prod(b.tolist())
        assert compare_products(a.astype(float), b.astype(float)) == 0
        b[np.flatnonzero(b == 7)[0]] = 8
        assert compare_products(a.astype(float), b.astype(float)) == -1


def test_negative_numbers_have_no_volume() -> None:
    with pytest.raises(ConfigError, match=r"^hv needs numbers of at least 0\. Got a negative one$"):
        compare_products(np.array([1.0]), np.array([-1.0]))
