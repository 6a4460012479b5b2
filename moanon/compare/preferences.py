"""Comparators for several properties at once (C §5.5-5.7): by weights, by order, by goals.

Each takes an index of every property both ways round and returns one number for each way round.
What a publisher wants (`Preferences`) is resolved for the properties at hand first (`Weighing`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from moanon.arrays import Floats
from moanon.compare.indices import INDICES, find_index
from moanon.data.column import did_you_mean
from moanon.engines import open_source
from moanon.errors import ConfigError, DataError

Pairs = Sequence[tuple[float, float]]
#: By the names of properties, or one after the other.
Numbers = Mapping[str, float] | Sequence[float]

#: Comparators for sets of properties.
OF_SETS = ("wtd", "lex", "goal")
#: Indices are sums and quotients of floats; what differs by less than this share does not differ.
_ROUNDING = 1e-12
#: Goals and ideals lie within; the sum of squared distances over any table is then a float.
_FARTHEST = 1e100


def is_ahead(one: float, other: float, by: float = 0.0) -> bool:
    """Whether `one` is larger than `other` by more than `by`, and not by rounding alone."""
    return one - other - by > _ROUNDING * max(1.0, abs(one), abs(other))


def check_weights(weights: Sequence[float]) -> None:
    """Refuse weights outside [0, 1], and such that do not sum to 1 (a billionth apart: thirds)."""
    for weight in weights:
        if not 0 <= weight <= 1:
            raise ConfigError(f"weights must be in [0, 1]. Got {weight:g}")
    if abs((total := math.fsum(weights)) - 1) > 1e-9:
        shown = " + ".join(f"{weight:g}" for weight in weights)
        raise ConfigError(f"weights must sum to 1. Got {shown} = {total:g}")


def weighted_sum(pairs: Pairs, weights: Sequence[float]) -> tuple[float, float]:
    r"""Weighted sums of normalized indices, :math:`\sum w_i P_i`; the higher wins (C §5.5)."""
    _one_for_each("weights", weights, len(pairs))
    check_weights(weights)
    return _both(lambda i, value: weights[i] * value, pairs)


def lexicographic(pairs: Pairs, epsilons: Sequence[float]) -> tuple[int | None, int | None]:
    """Place of the first property in which one way round is ahead by more than ε (C §5.6).

    Indices turned so that higher is better, the more wanted properties first. Places count from 1,
    None stands for nowhere; the lower place wins.
    """
    _one_for_each("epsilons", epsilons, len(pairs))
    for epsilon in epsilons:
        _check_epsilon(epsilon)
    places: list[int | None] = []
    for side in (0, 1):
        ahead = (
            place
            for place, (pair, epsilon) in enumerate(zip(pairs, epsilons, strict=True), 1)
            if is_ahead(pair[side], pair[1 - side], epsilon)
        )
        places.append(next(ahead, None))
    return places[0], places[1]


def goal_distance(pairs: Pairs, goals: Sequence[float]) -> tuple[float, float]:
    r"""Squared distances of indices from their goals, :math:`\sum (P_i - g_i)^2` (C §5.7).

    The lower wins.
    """
    _one_for_each("goals", goals, len(pairs))
    for goal in goals:
        _check_reachable("a goal", goal)
    return _both(lambda i, value: (value - goals[i]) ** 2, pairs)


def _check_epsilon(epsilon: float) -> None:
    if not 0 <= epsilon < math.inf:
        raise ConfigError(f"an epsilon must be a number of at least 0. Got {epsilon:g}")


def _check_reachable(what: str, number: float) -> None:
    """Refuse what is no number, and what is so far away that its squared distance is none."""
    if not abs(number) <= _FARTHEST:
        raise ConfigError(
            f"{what} must be a number from {-_FARTHEST:g} to {_FARTHEST:g}. Got {number:g}"
        )


def _both(term: Callable[[int, float], float], pairs: Pairs) -> tuple[float, float]:
    """Add up a term of each property, for each way round."""
    forward, backward = (
        math.fsum(term(i, pair[side]) for i, pair in enumerate(pairs)) for side in (0, 1)
    )
    return forward, backward


def _one_for_each(what: str, given: Sequence[float], properties: int) -> None:
    if len(given) != properties:
        number = f"{properties} propert{'y' if properties == 1 else 'ies'}"
        raise ConfigError(f"{what} must be one for each of {number}. Got {len(given)}")


# -- what is wanted ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Weighing:
    """What counts for the properties of one comparison; as `Preferences`, nothing left open."""

    index: Mapping[str, str]
    weights: Mapping[str, float]
    order: tuple[str, ...]
    epsilon: Mapping[str, float]
    goals: Mapping[str, float] | None
    ideals: Mapping[str, float]
    rank_epsilon: Mapping[str, float]


@dataclass(frozen=True)
class Preferences:
    """What counts, and how much, when several properties are compared at once.

    Attributes
    ----------
    index : str or mapping of str to str
        The index that ``wtd``, ``lex`` and ``goal`` go by, for all properties or for each.
    weights : mapping of str to float, or sequence of float, or None
        Weight of each property, summing to 1; by name, or one after the other. By default all
        weigh the same.
    order : sequence of str, or None
        Properties for ``lex``, the most wanted first. By default as they were asked for.
    epsilon : mapping of str to float, or sequence of float, or None
        Largest difference of an index that ``lex`` overlooks (C §5.6), by name or in the order of
        ``lex``; 0 where none is given.
    goals : mapping of str to float, or sequence of float, or None
        What the index of each property should be; without them there is no ``goal``.
    ideals : mapping of str to float
        What every row would have at best, for ``rank``. By default the best there can be.
    rank_epsilon : mapping of str to float, or sequence of float, or None
        Largest difference of ranks that ``rank`` overlooks (C §5.1); 0 where none is given.
    goal_vectors : mapping of str to array (rows,), or None
        Instead of `goals`: what every row should have of each property, as measured. The goal is
        the index of that vector, which must be unary (C §5.7).
    """

    index: str | Mapping[str, str] = "cov"
    weights: Numbers | None = None
    order: Sequence[str] | None = None
    epsilon: Numbers | None = None
    goals: Numbers | None = None
    ideals: Mapping[str, float] = field(default_factory=dict)
    rank_epsilon: Numbers | None = None
    goal_vectors: Mapping[str, Floats] | None = None

    def resolve(
        self, properties: Sequence[str], comparators: Sequence[str] = ("rank", *OF_SETS)
    ) -> Weighing:
        """Fill in what is left open for these properties; what does not fit them is refused.

        So is what none of the comparators has a use for.
        """
        index = self._index(properties)
        self._refuse_useless(index, comparators)
        order = tuple(properties if self.order is None else self.order)
        _refuse_gaps("order", order, properties)
        if len(set(order)) < len(order):
            raise ConfigError(f"order must name each property once. Got {', '.join(order)}")
        weights = dict.fromkeys(properties, 1 / len(properties))
        if self.weights is not None:
            weights = _named("weights", self.weights, properties)
            _refuse_gaps("weights", weights, properties)
            check_weights(list(weights.values()))
        goals = None if self.goals is None else _named("goal", self.goals, properties)
        if goals is not None:
            _refuse_gaps("goal", goals, properties)
            for goal in goals.values():
                _check_reachable("a goal", goal)
        if self.goal_vectors is not None:
            self._check_goal_vectors(index)
        epsilon = _tolerances("epsilon", self.epsilon, order)
        rank_epsilon = _tolerances("rank_epsilon", self.rank_epsilon, properties)
        _refuse_others("ideal", self.ideals, properties)
        for name, ideal in self.ideals.items():
            _check_reachable(f"the ideal of {name}", ideal)
        return Weighing(index, weights, order, epsilon, goals, self.ideals, rank_epsilon)

    def _refuse_useless(self, index: Mapping[str, str], comparators: Sequence[str]) -> None:
        """Refuse a wish that would change nothing: it was meant for something."""
        ranks = OF_SETS if "rank" in index.values() else ()
        users = {
            "index": (self.index != "cov", OF_SETS),
            "weights": (self.weights is not None, ("wtd",)),
            "order": (self.order is not None, ("lex",)),
            "epsilon": (self.epsilon is not None, ("lex",)),
            "rank_epsilon": (self.rank_epsilon is not None, ("rank",)),
            "goal": (self.goals is not None or self.goal_vectors is not None, ("goal",)),
            "ideal": (bool(self.ideals), ("rank", *ranks)),
        }
        for what, (is_given, users_of) in users.items():
            if is_given and not set(users_of) & set(comparators):
                raise ConfigError(
                    f"{what} is for {', '.join(users_of)} only, and compared is by "
                    f"{', '.join(comparators)}"
                )

    def _check_goal_vectors(self, index: Mapping[str, str]) -> None:
        assert self.goal_vectors is not None
        if self.goals is not None:
            raise ConfigError("goals are numbers or property vectors. Got both")
        _refuse_gaps("goal vectors", self.goal_vectors, tuple(index))
        for name, chosen in index.items():
            if not find_index(chosen).is_unary:
                unary = ", ".join(each.name for each in INDICES.values() if each.is_unary)
                raise ConfigError(
                    f"a goal vector needs an index of one vector alone ({unary}). "
                    f"Got {chosen} for {name}"
                )

    def _index(self, properties: Sequence[str]) -> dict[str, str]:
        if isinstance(self.index, str):
            index = dict.fromkeys(properties, self.index)
        else:
            _refuse_others("index", self.index, properties)
            index = dict.fromkeys(properties, "cov") | dict(self.index)
        for name in index.values():
            find_index(name)
        return index


def _tolerances(what: str, given: Numbers | None, properties: Sequence[str]) -> dict[str, float]:
    """What may be overlooked of each property; nothing where nothing is said."""
    named = {} if given is None else _named(what, given, properties)
    for overlooked in named.values():
        _check_epsilon(overlooked)
    return dict.fromkeys(properties, 0.0) | named


def _named(what: str, given: Numbers, properties: Sequence[str]) -> dict[str, float]:
    """Give numbers that stand one after the other the names of the properties."""
    if isinstance(given, Mapping):
        _refuse_others(what, given, properties)
        return dict(given)
    _one_for_each(what, given, len(properties))
    return dict(zip(properties, given, strict=True))


def _refuse_others(what: str, given: Iterable[str], properties: Sequence[str]) -> None:
    for name in given:
        if name not in properties:
            raise ConfigError(
                f"{what} names {name!r}, which is not compared{did_you_mean(name, properties)}; "
                f"compared are {', '.join(properties)}"
            )


def _refuse_gaps(what: str, given: Iterable[str], properties: Sequence[str]) -> None:
    _refuse_others(what, given, properties)
    for name in properties:
        if name not in given:
            raise ConfigError(f"{what} must name every property. Got nothing for {name!r}")


def read_vectors(path: str | os.PathLike[str]) -> dict[str, Floats]:
    """Read goal vectors that somebody wrote: a column of numbers for each property.

    Raises
    ------
    DataError
        If the file cannot be read, or a cell is no number.
    """
    read = open_source(path)
    found = {}
    for column in read.store.held(list(read.store.columns)).columns.values():
        numbers = np.full(len(column.values) + 1, np.nan)  # the last: a missing value
        for place, text in enumerate(column.values):
            with suppress(ValueError):
                numbers[place] = float(text)
        found[column.name] = numbers[column.codes]
        if (bad := np.flatnonzero(~np.isfinite(found[column.name]))).size:
            code = column.codes[bad[0]]
            shown = "nothing" if code < 0 else repr(column.values[code])
            raise DataError(
                f"{read.name} must hold numbers. Got {shown} in row {bad[0] + 1:,} of column "
                f"{column.name!r}"
            )
    return found
