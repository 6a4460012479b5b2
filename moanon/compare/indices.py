"""Quality indices of property vectors (C §3, §5.1-5.4), by name.

A *unary* index says one number about one vector; the anonymization with the better number wins. A
*binary* one says how far one vector is ahead of another; the two numbers of a pair, one for each
way round, decide. Vectors are turned beforehand so that higher is better.

The numbers of a vector are rounded, as shares of groups are: the mean of 1, 1, 5/7 and that of
6/7, 1, 6/7 differ in their last digit. So what is no larger than rounding could make it does not
decide (`_ROUNDING`); whole numbers are not rounded and far enough apart.

A unary index also takes how many rows share each number, so that it can be worked out from groups
(one number and one size for each) without a vector as long as the table; see `Index.of`.

C's hypervolume multiplies one number for each person in the table. No float holds such a product,
so volumes are kept as logarithms (`LogVolume`). A logarithm is rounded, though, and two different
vectors can have the same product: (4, 4) and (2, 8). So where two sums of logarithms are closer
than their rounding could explain, the products themselves are compared, as whole numbers of any
length (`compare_products`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from moanon.arrays import Floats, Ints
from moanon.errors import ConfigError, unknown_name


@dataclass(frozen=True)
class LogVolume:
    """A volume that may be far too large or too small for a float.

    `log` is its natural logarithm, minus infinity for a volume of 0. `value` is the volume itself,
    correctly rounded, for vectors of at most a thousand numbers; otherwise as exact as `log` is,
    and infinite or 0 beyond the range of floats.
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


Numbers = npt.ArrayLike
#: How one vector stands to another: at least as good everywhere, and better somewhere (strong) or
#: nowhere (weak); or not at least as good everywhere (none).
Dominance = Literal["strong", "weak", "none"]
IndexValue = float | LogVolume
#: An index of the first vector against the second and the other way round, or of each if it is
#: unary; and who wins: 1 if the first does, -1 if the second does, 0 if neither.
IndexPair = tuple[IndexValue, IndexValue, int]

#: The numbers of a vector are rounded by less than this share of their scale; generous.
_ROUNDING = 2.0**-50
#: Rounding of one logarithm and of the product with its count, as a share; generous.
_LOG_ROUNDING = 2.0**-49
#: Vectors up to this length have their volumes worked out exactly, where a float can hold them.
_SHORT = 1_000
#: Natural logarithms of numbers that a float holds lie between this and its negative.
_FLOAT_LOG = 700.0


def _pair(a: Numbers, b: Numbers) -> tuple[Floats, Floats]:
    one, other = _vector(a), _vector(b)
    if len(one) != len(other):
        raise ConfigError(
            f"property vectors of one table have the same length. Got {len(one)} and {len(other)}"
        )
    return one, other


def _vector(values: Numbers) -> Floats:
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
        raise ConfigError("a property vector holds one finite number for each row, and some rows")
    return vector


# -- unary ---------------------------------------------------------------------------------------


def minimum(values: Numbers, rows: Numbers | None = None, ideal: float = math.nan) -> float:
    """Value of the row that is worst off; of group sizes it is k (C §3, ``P_k-anon``)."""
    return float(_vector(values).min())


def mean(values: Numbers, rows: Numbers | None = None, ideal: float = math.nan) -> float:
    """Mean over the rows; of group sizes, without suppression, it is weighted-k (C §3)."""
    vector, weights = _weighted(values, rows)
    return math.fsum(vector * weights) / math.fsum(weights)


def rank(values: Numbers, rows: Numbers | None = None, ideal: float = math.nan) -> float:
    """Distance ``||D - D_max||`` to a vector in which every row has `ideal` (C §5.1)."""
    vector, weights = _weighted(values, rows)
    return math.sqrt(math.fsum(weights * (vector - ideal) ** 2))


def _weighted(values: Numbers, rows: Numbers | None) -> tuple[Floats, Floats]:
    if rows is None:
        vector = _vector(values)
        return vector, np.ones(len(vector))
    return _pair(values, rows)


# -- binary --------------------------------------------------------------------------------------


def coverage(a: Numbers, b: Numbers) -> float:
    """Share of rows that are at least as well off in `a` as in `b` (C §5.2)."""
    one, other = _pair(a, b)
    return int(np.count_nonzero(one >= other)) / len(one)


def spread(a: Numbers, b: Numbers) -> float:
    """Sum of how far rows are better off in `a`, over the rows where they are (C §5.3)."""
    one, other = _pair(a, b)
    return math.fsum(np.maximum(one - other, 0.0))


def dominance(a: Numbers, b: Numbers) -> Dominance:
    """How `a` stands to `b`, row by row (C Table 4)."""
    one, other = _pair(a, b)
    if (one < other).any():
        return "none"
    return "strong" if (one > other).any() else "weak"


# -- volumes ------------------------------------------------------------------------------------


def solely_dominated(one: Numbers, other: Numbers) -> LogVolume:
    r"""Volume that `a` dominates and `b` does not: :math:`\prod a - \prod \min(a, b)` (C §5.4)."""
    a, b = _pair(one, other)
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

    Numbers that are no whole ones may be off by `error`. Products that are no farther apart than
    that explains are equal: 2/3 times 3 is 2.
    """
    _refuse_negative(a, b)
    empty = bool((a == 0).any()), bool((b == 0).any())
    if any(empty):
        return int(empty[1]) - int(empty[0])
    values, counts = _without_common(a, b)
    logs = np.log(values) * counts
    difference = math.fsum(logs)
    rounding = math.fsum(np.abs(logs)) * _LOG_ROUNDING
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


# -- by name -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Index:
    """A unary or a binary index.

    `of` a unary index is ``(values, rows=None, ideal=nan) -> float``: `values` of rows, or of
    groups with their numbers of `rows`; `ideal` is what every row would have at best, which only
    ``rank`` looks at. Of a binary one it is ``(a, b) -> float or LogVolume``. `errors` says how
    many times the error of a number the index may be off, for so many rows.
    """

    name: str
    meaning: str
    citation: str
    of: Callable[..., IndexValue]
    errors: Callable[[int], float]
    better: Literal["max", "min"] = "max"
    is_unary: bool = False

    def pair(self, a: Numbers, b: Numbers, ideal: float, scale: float = 0.0) -> IndexPair:
        """Apply the index both ways round; `scale` is what the numbers were rounded at."""
        one, other = _pair(a, b)
        if self.is_unary:
            forward, backward = self.of(one, ideal=ideal), self.of(other, ideal=ideal)
        else:
            forward, backward = self.of(one, other), self.of(other, one)
        scale = max(scale, float(np.abs(one).max()), float(np.abs(other).max()))
        if isinstance(forward, LogVolume) or isinstance(backward, LogVolume):
            return forward, backward, compare_products(one, other, _ROUNDING * scale)
        sign = _sign(forward - backward, self.errors(len(one)) * scale)
        return forward, backward, sign if self.better == "max" else -sign

    def shares(self, pair: IndexPair) -> tuple[float, float]:
        """Both numbers between 0 and 1, the higher the better: as shares of their sum.

        Shares of rows are taken as they are.
        """
        forward, backward, _ = pair
        if isinstance(forward, LogVolume) or isinstance(backward, LogVolume):
            assert isinstance(forward, LogVolume)
            assert isinstance(backward, LogVolume)
            return _volume_shares(forward, backward)
        if self.name == "cov":
            return forward, backward
        return _shares(forward, backward) if self.better == "max" else _shares(backward, forward)


def _never(rows: int) -> float:
    """Say that an index counts, and is not off at all."""
    return 0.0


def _once(rows: int) -> float:
    """Say that an index is off by no more than each number is."""
    return 1.0


#: Every index, by name.
INDICES = {
    index.name: index
    for index in (
        Index("min", "value of the row that is worst off", "C §3", minimum, _once, is_unary=True),
        Index("mean", "mean over the rows", "C §3", mean, _once, is_unary=True),
        Index("rank", "distance to the ideal vector", "C §5.1", rank, math.sqrt, "min", True),
        Index("cov", "share of rows at least as well off", "C §5.2", coverage, _never),
        Index("spr", "sum of how far rows are better off", "C §5.3", spread, float),
        Index("hv", "volume of vectors that it alone dominates", "C §5.4", solely_dominated, _once),
    )
}


def find_index(name: str) -> Index:
    """Return the index of that name, or say which one was probably meant."""
    if name not in INDICES:
        raise unknown_name("index", name, INDICES)
    return INDICES[name]


def _sign(number: float, error: float) -> int:
    """Sign of a difference of numbers that are rounded at `error`; 0 where that explains it."""
    bound = _ROUNDING * error
    return (number > bound) - (number < -bound)


def _shares(one: float, other: float) -> tuple[float, float]:
    total = one + other
    return (one / total, other / total) if total else (0.5, 0.5)


def _volume_shares(one: LogVolume, other: LogVolume) -> tuple[float, float]:
    """Shares of two volumes whose sum no float can hold."""
    if one.sign == other.sign == 0:
        return 0.5, 0.5
    difference = other.log - one.log
    share = 0.0 if difference > 700 else 1 / (1 + math.exp(difference))
    return share, 1 - share
