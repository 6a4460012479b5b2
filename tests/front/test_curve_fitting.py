"""Polynomials through fronts."""

from __future__ import annotations

import numpy as np
import pytest

from moanon.errors import ConfigError
from moanon.front.curve_fitting import FittedCurve
from moanon.front.landmarks import TradeOff
from tests.output.drawn import made_front


def tradeoff(k: list[int], loss: list[float]) -> TradeOff:
    return TradeOff.of(made_front(("k", "loss"), k=k, loss=loss))


def test_a_front_on_a_polynomial_of_the_logarithm_is_found_again() -> None:
    k = np.array([1, 2, 5, 20, 100, 1000])
    loss = 0.05 + 0.02 * np.log(k) + 0.01 * np.log(k) ** 2
    curve = FittedCurve.of(tradeoff(k.tolist(), loss.tolist()), 2)
    assert curve.logarithmic
    assert curve.coefficients == pytest.approx((0.05, 0.02, 0.01))
    assert curve.explained == pytest.approx(1)
    assert curve.worst == pytest.approx(0, abs=1e-12)
    assert curve.at([5, 20]) == pytest.approx(loss[2:4])


def test_small_ranges_are_taken_as_they_are() -> None:
    # 0.1, 0.2, 0.4 at 2, 3, 4: slope (0.4 - 0.1) / 2 = 0.15, mean 0.7 / 3 at 3
    curve = FittedCurve.of(tradeoff([2, 3, 4], [0.1, 0.2, 0.4]), 1)
    assert not curve.logarithmic
    assert curve.coefficients == pytest.approx((0.7 / 3 - 0.45, 0.15))
    assert curve.worst == pytest.approx(0.1 / 3)  # 0.2 beside 0.7 / 3
    # variance of the costs 0.14/3, of what is left (1/60)² · 2 + (1/30)²
    assert curve.explained == pytest.approx(1 - (2 / 3600 + 1 / 900) / (0.14 / 3))


def test_there_must_be_more_solutions_than_coefficients() -> None:
    with pytest.raises(ConfigError, match=r"^a polynomial needs .* Got degree 2 for 3 solutions$"):
        FittedCurve.of(tradeoff([2, 3, 4], [0.1, 0.2, 0.4]), 2)
