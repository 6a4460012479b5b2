"""What each comparator says about one pair of anonymizations.

A pair is compared in every property by dominance and by each index of ``indices``, and in all
properties together by dominance and by the comparators of ``preferences``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from moanon.compare.hypervolume import LogVolume
from moanon.compare.indices import (
    INDICES,
    Dominance,
    Index,
    IndexPair,
    dominance,
    find_index,
    mean,
)
from moanon.compare.preferences import (
    Settled,
    goal_distance,
    is_ahead,
    lexicographic,
    weighted_sum,
)
from moanon.compare.vectors import PropertyVector

__all__ = ["ALL", "COMPARATORS", "Headcount", "Pair", "Value", "Verdict"]

#: For sets of properties.
_OF_SETS = ("wtd", "lex", "goal")
#: Every comparator, by name.
COMPARATORS = ("dominance", *INDICES, *_OF_SETS)
#: What verdicts on all properties together are about.
ALL = "all"

Value = float | int | str | LogVolume | None


@dataclass(frozen=True)
class Verdict:
    """What one comparator says about one pair.

    Attributes
    ----------
    property : str
        Its name; ``all`` for all properties together.
    comparator : str
    first, second : str
        Letters of the pair.
    forward, backward
        The comparator's index of the first against the second, and the other way round; for a unary
        one, of each, as measured. For ``dominance`` one of strong, weak, none. For ``lex`` the
        place of the first property in which it is ahead, or None.
    better : str or None
        Letter of the one that wins; None if neither does.
    """

    property: str
    comparator: str
    first: str
    second: str
    forward: Value
    backward: Value
    better: str | None


@dataclass(frozen=True)
class Headcount:
    """How many people are better off in which of a pair, in one property."""

    property: str
    first: str
    second: str
    better_in_first: int
    better_in_second: int
    equal: int


@dataclass(frozen=True, eq=False)
class Pair:
    """Two anonymizations and how their properties are weighed."""

    first: str
    second: str
    one: Mapping[str, PropertyVector]
    other: Mapping[str, PropertyVector]
    preferences: Settled

    def verdicts(self, wanted: Sequence[str]) -> Iterator[Verdict]:
        for name in self.one:
            for comparator in wanted:
                if comparator == "dominance":
                    yield self._dominance(name, [self._stand(name)])
                elif comparator in INDICES:
                    yield self._indexed(name, comparator)
        if "dominance" in wanted:
            yield self._dominance(ALL, [self._stand(name) for name in self.one])
        for comparator in wanted:
            if comparator in _OF_SETS and (comparator != "goal" or self.preferences.goals):
                yield self._weighed(comparator)

    def headcounts(self) -> Iterator[Headcount]:
        for name, vector in self.one.items():
            a, b = vector.oriented, self.other[name].oriented
            ahead, behind = int(np.count_nonzero(a > b)), int(np.count_nonzero(a < b))
            yield Headcount(name, self.first, self.second, ahead, behind, len(a) - ahead - behind)

    # -- one property ----------------------------------------------------------------------------

    def _stand(self, name: str) -> tuple[Dominance, Dominance]:
        a, b = self.one[name].oriented, self.other[name].oriented
        return dominance(a, b), dominance(b, a)

    def _dominance(self, name: str, stands: Sequence[tuple[Dominance, Dominance]]) -> Verdict:
        """Dominance in each of some properties, and a strong one in some (C Table 4)."""
        both: list[Dominance] = []
        for side in (0, 1):
            found = {stand[side] for stand in stands}
            both.append("none" if "none" in found else "strong" if "strong" in found else "weak")
        sign = (both[0] == "strong") - (both[1] == "strong")
        return self._verdict(name, "dominance", both[0], both[1], sign)

    def _pair(self, name: str, index: Index) -> IndexPair:
        vector = self.one[name]
        ideal = self.preferences.ideals.get(name, vector.ideal)
        turned = float(vector.turned(np.array(ideal)))
        scale = max(abs(vector.ideal), abs(vector.worst))
        return index.pair(vector.oriented, self.other[name].oriented, turned, scale)

    def _indexed(self, name: str, comparator: str) -> Verdict:
        pair = self._pair(name, find_index(comparator))
        shown = self._measured(name, comparator, pair)
        return self._verdict(name, comparator, *shown, pair.better)

    def _measured(
        self, name: str, comparator: str, pair: IndexPair
    ) -> tuple[float | LogVolume, float | LogVolume]:
        """Say values as they were measured, before they were turned; anything else as it is."""
        if comparator not in ("min", "mean"):
            return pair.forward, pair.backward
        one, other = self.one[name], self.other[name]
        if comparator == "mean":
            return mean(one.entries, one.rows), mean(other.entries, other.rows)
        worst = np.min if one.direction == "max" else np.max
        return float(worst(one.entries)), float(worst(other.entries))

    # -- several properties ----------------------------------------------------------------------

    def _weighed(self, comparator: str) -> Verdict:
        wishes = self.preferences
        names = wishes.order if comparator == "lex" else tuple(self.one)
        pairs = {name: self._pair(name, self._index(name)) for name in names}
        if comparator == "wtd":
            shares = [self._index(name).shares(pair) for name, pair in pairs.items()]
            forward, backward = weighted_sum(shares, [wishes.weights[name] for name in names])
            sign = is_ahead(forward, backward) - is_ahead(backward, forward)
            return self._verdict(ALL, comparator, forward, backward, sign)
        if comparator == "lex":
            leads = [self._leads(name, pair) for name, pair in pairs.items()]
            places = lexicographic(leads, [wishes.epsilon[name] for name in names])
            ranks = [math.inf if place is None else place for place in places]
            sign = (ranks[0] < ranks[1]) - (ranks[0] > ranks[1])
            return self._verdict(ALL, comparator, *places, sign)
        assert wishes.goals is not None  # there is no goal without goals
        values = [self._plain(name, pair) for name, pair in pairs.items()]
        forward, backward = goal_distance(values, [wishes.goals[name] for name in names])
        sign = is_ahead(backward, forward) - is_ahead(forward, backward)
        return self._verdict(ALL, comparator, forward, backward, sign)

    def _index(self, name: str) -> Index:
        return find_index(self.preferences.index[name])

    def _plain(self, name: str, pair: IndexPair) -> tuple[float, float]:
        """Both values of an index as measured; of volumes, which no float holds, their shares."""
        index = self._index(name)
        forward, backward = self._measured(name, index.name, pair)
        if isinstance(forward, LogVolume) or isinstance(backward, LogVolume):
            return index.shares(pair)
        return forward, backward

    def _leads(self, name: str, pair: IndexPair) -> tuple[float, float]:
        """Both values of an index, turned so that higher is better.

        Where nothing is to be overlooked, who is ahead is what the index itself says: it is more
        exact than its values, which may be equal floats of different volumes.
        """
        if not self.preferences.epsilon[name]:
            return float(pair.better > 0), float(pair.better < 0)
        if isinstance(pair.forward, LogVolume) or isinstance(pair.backward, LogVolume):
            return self._index(name).shares(pair)
        sign = -1 if self._index(name).name == "rank" else 1
        return sign * pair.forward, sign * pair.backward

    def _verdict(
        self, name: str, comparator: str, forward: Value, backward: Value, sign: int
    ) -> Verdict:
        better = {1: self.first, -1: self.second}.get(sign)
        return Verdict(name, comparator, self.first, self.second, forward, backward, better)
