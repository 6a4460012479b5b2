"""An analytical form of a front: a polynomial through its solutions (D §7.5).

It describes one front of one table and says nothing about others, as D warns; nor does it promise
that a release on the curve exists. A front that is flat here and steep there is no polynomial, and
how far the curve is off (`FittedCurve.worst`) says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from moanon.arrays import Floats
from moanon.errors import ConfigError
from moanon.front.landmarks import TradeOff


@dataclass(frozen=True)
class FittedCurve:
    """A cost as a polynomial of privacy, or of its natural logarithm.

    Attributes
    ----------
    privacy, cost : str
        Names of the measures.
    logarithmic : bool
        Whether the variable is the logarithm of privacy.
    coefficients : tuple of float
        That of 1 first, then of the variable, its square, …
    explained : float
        Share of the variance of the costs that the curve explains (R²).
    worst : float
        How far it is off the cost of a solution at most.
    """

    privacy: str
    cost: str
    logarithmic: bool
    coefficients: tuple[float, ...]
    explained: float
    worst: float

    @classmethod
    def of(cls, tradeoff: TradeOff, degree: int) -> FittedCurve:
        """Fit a polynomial by least squares, every solution with the same weight.

        Raises
        ------
        ConfigError
            If the degree is below 0, or there are not more solutions than coefficients.
        """
        if not 0 <= degree < len(tradeoff) - 1:
            raise ConfigError(
                "a polynomial needs a degree of at least 0, and one solution more than it has "
                f"coefficients. Got degree {degree} for {len(tradeoff)} solutions"
            )
        x = _variable(tradeoff.privacies, logarithmic=tradeoff.logarithmic)
        costs = np.asarray(tradeoff.costs, dtype=np.float64)
        fitted = np.polynomial.Polynomial.fit(x, costs, degree)
        off = costs - fitted(x)
        variance = float(((costs - costs.mean()) ** 2).sum())
        return cls(
            tradeoff.privacy,
            tradeoff.cost,
            tradeoff.logarithmic,
            tuple(fitted.convert().coef.tolist()),
            1 - float((off**2).sum()) / variance,
            float(np.abs(off).max()),
        )

    def at(self, privacy: npt.ArrayLike) -> Floats:
        """The cost that the curve has for some privacy."""
        x = _variable(np.asarray(privacy), logarithmic=self.logarithmic)
        return np.asarray(np.polynomial.Polynomial(self.coefficients)(x))


def _variable(privacy: npt.ArrayLike, *, logarithmic: bool) -> Floats:
    values = np.asarray(privacy, dtype=np.float64)
    return np.log(values) if logarithmic else values
