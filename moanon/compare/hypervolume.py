"""Products of tens of thousands of numbers, in logarithms, and which of two is larger, exactly.

C's hypervolume index multiplies one number for each person in the table. No float holds such a
product, so volumes are kept as logarithms. A logarithm is rounded, though, and two different
vectors can have the same product: (4, 4) and (2, 8). So where two sums of logarithms are closer
than their rounding could explain, the products themselves are compared, as whole numbers of any
length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from moanon.arrays import Floats, Ints
from moanon.errors import ConfigError

#: Rounding of one logarithm and of the product with its count, as a share; generous.
_ROUNDING = 2.0**-49
#: Vectors up to this length have their volumes worked out exactly, where a float can hold them.
_SHORT = 1_000
#: Natural logarithms of numbers that a float holds lie between this and its negative.
_FLOAT_LOG = 700.0


@dataclass(frozen=True)
class LogVolume:
    """A volume that may be far too large or too small for a float.

    Attributes
    ----------
    log : float
        Natural logarithm; minus infinity for a volume of 0.
    value : float
        The volume itself, correctly rounded, for vectors of at most a thousand numbers; otherwise
        as exact as `log` is, and infinite or 0 beyond the range of floats.
    """

    log: float
    value: float

    @property
    def sign(self) -> int:
        """0 for an empty volume, else 1."""
        return 0 if self.log == -math.inf else 1

    @property
    def log10(self) -> float:
        """Logarithm to the base 10."""
        return self.log / math.log(10)


def solely_dominated(a: Floats, b: Floats) -> LogVolume:
    r"""Volume that `a` dominates and `b` does not: :math:`\prod a - \prod \min(a, b)` (C §5.4).

    Parameters
    ----------
    a, b : arrays of the same length
        Property vectors, higher is better, no number below 0.
    """
    _refuse_negative(a, b)
    if (a == 0).any() or not (a > b).any():
        return LogVolume(-math.inf, 0.0)
    whole = math.fsum(np.log(a))
    # log(1 - Π min / Π a), from how far a is ahead where it is: no difference of large numbers.
    log = whole + math.log(-math.expm1(-_lead(a[a > b], b[a > b])))
    if len(a) <= _SHORT and abs(log) < _FLOAT_LOG:
        return LogVolume(log, _exact_difference(a, np.minimum(a, b)))
    return LogVolume(log, math.exp(log) if log < _FLOAT_LOG else math.inf)


def _lead(more: Floats, less: Floats) -> float:
    """Sum of the logarithms of ``more / less``, exact for numbers that are close to each other."""
    if (less == 0).any():
        return math.inf
    far = more > 2 * less  # there the quotient might overflow, and the difference loses nothing
    apart = np.log(more[far]) - np.log(less[far])
    near = np.log1p((more[~far] - less[~far]) / less[~far])
    return math.fsum(apart) + math.fsum(near)


def compare_products(a: Floats, b: Floats, error: float = 0.0) -> int:
    r"""Sign of :math:`\prod a - \prod b`, exactly, for numbers of at least 0.

    Which of two vectors wins by hypervolume follows from it: what both dominate is subtracted from
    both products (C §5.4: "otherwise not required during a comparison").

    Parameters
    ----------
    a, b : arrays
    error : float
        How far numbers that are no whole ones may be off. Products that are no farther apart than
        that explains are equal: 2/3 times 3 is 2.
    """
    _refuse_negative(a, b)
    empty = bool((a == 0).any()), bool((b == 0).any())
    if any(empty):
        return int(empty[1]) - int(empty[0])
    values, counts = _without_common(a, b)
    logs = np.log(values) * counts
    difference = math.fsum(logs)
    rounding = math.fsum(np.abs(logs)) * _ROUNDING
    if error and (values != np.floor(values)).any():
        explained = math.fsum(np.abs(counts) / values) * error + rounding
        if abs(difference) <= explained:
            return 0
    if abs(difference) > rounding:
        return 1 if difference > 0 else -1
    return _exact_sign(values, counts)


def _refuse_negative(a: Floats, b: Floats) -> None:
    if (a < 0).any() or (b < 0).any():
        raise ConfigError("hv needs numbers of at least 0. Got a negative one")


def _without_common(a: Floats, b: Floats) -> tuple[Floats, Ints]:
    """Numbers that occur more often in one than in the other, and how much more often in `a`."""
    values, place = np.unique(np.concatenate([a, b]), return_inverse=True)
    counts = np.bincount(place[: len(a)], minlength=len(values))
    counts = counts - np.bincount(place[len(a) :], minlength=len(values))
    return values[counts != 0], counts[counts != 0].astype(np.int64)


def _exact_sign(values: Floats, counts: Ints) -> int:
    """Sign of the product of ``value ** count`` minus 1, in whole numbers."""
    above, below, exponent = [1], [1], 0
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        numerator, denominator = value.as_integer_ratio()
        exponent -= count * (denominator.bit_length() - 1)  # a float's denominator is a power of 2
        (above if count > 0 else below).append(numerator ** abs(count))
    left, right = _product(above), _product(below)
    left, right = (left << exponent, right) if exponent >= 0 else (left, right << -exponent)
    return (left > right) - (left < right)


def _product(factors: list[int]) -> int:
    """Multiply neighbours, then their products, and so on: long numbers meet as late as can be."""
    while len(factors) > 1:
        pairs = [x * y for x, y in zip(factors[::2], factors[1::2], strict=False)]
        factors = pairs + factors[len(pairs) * 2 :]
    return factors[0]


def _exact_difference(a: Floats, common: Floats) -> float:
    """Return the product of `a` minus the product of `common`, rounded once."""
    products: list[tuple[int, int]] = []
    for vector in (a, common):
        ratios = [value.as_integer_ratio() for value in vector.tolist()]
        shift = sum(denominator.bit_length() - 1 for _, denominator in ratios)
        products.append((_product([numerator for numerator, _ in ratios]), shift))
    (left, left_shift), (right, right_shift) = products
    shift = max(left_shift, right_shift)
    difference = (left << (shift - left_shift)) - (right << (shift - right_shift))
    return float(Fraction(difference, 1 << shift))
