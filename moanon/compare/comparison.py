"""Which of several anonymizations of one table is better, for whom, and by which comparator.

A pair is compared in every property by dominance and by each index of ``indices``, and in all
properties together by dominance and by the comparators of ``preferences``. There is no best answer
among them; C's point is that a single number hides who pays for it. `Comparison` therefore also
counts, property by property, how many people are better off in which.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from string import ascii_uppercase

import numpy as np

from moanon.arrays import Floats
from moanon.compare.indices import (
    INDICES,
    Dominance,
    Index,
    IndexPair,
    IndexValue,
    LogVolume,
    dominance,
    find_index,
    mean,
    rank,
)
from moanon.compare.preferences import (
    OF_SETS,
    Preferences,
    Weighing,
    goal_distance,
    is_ahead,
    lexicographic,
    weighted_sum,
)
from moanon.compare.verdicts import ALL, Comparison, Headcount, Value, Verdict
from moanon.data.column import did_you_mean
from moanon.data.domain import Domain
from moanon.data.table import Table
from moanon.errors import ConfigError, DataError
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures.people import PropertyVector, find_property, property_vectors

#: Every comparator, by name.
COMPARATORS = ("dominance", *INDICES, *OF_SETS)


# -- comparing -----------------------------------------------------------------------------------


def compare(
    anonymized: Sequence[Grouping],
    properties: Sequence[str] | None = None,
    *,
    sensitive: Sequence[str] | None = None,
    comparators: Sequence[str] | None = None,
    preferences: Preferences | None = None,
) -> Comparison:
    """Compare anonymizations of one table, pair by pair.

    Parameters
    ----------
    anonymized : sequence of Grouping
        Two or more, of the same rows.
    properties, sensitive
        As for :func:`moanon.measures.people.property_vectors`.
    comparators : sequence of str, optional
        By default all of `COMPARATORS`; ``goal`` needs goals.
    preferences : Preferences, optional
        For several properties at once.

    Raises
    ------
    ConfigError
        If something asked for is not known, or preferences do not fit the properties.
    DataError
        If the anonymizations are not of the same rows.
    """
    wanted = _checked_comparators(comparators)
    if not 2 <= len(anonymized) <= len(ascii_uppercase):
        raise ConfigError(
            f"compared are 2 to {len(ascii_uppercase)} anonymizations. Got {len(anonymized)}"
        )
    for each in anonymized[1:]:
        refuse_other_rows(anonymized[0].table, each)
    anonymized = [each.released() for each in anonymized]
    letters = ascii_uppercase[: len(anonymized)]
    named = dict(zip(letters, anonymized, strict=True))
    columns = anonymized[0].table.sensitive if sensitive is None else sensitive
    notes = []
    if properties is None:
        properties = ["size", *(["sensitive_share"] if columns else [])]
        if reason := _why_no_utility(anonymized):
            notes.append(f"utility is left out: {reason}")
        else:
            properties.append("utility")
    elif any(find_property(name).needs == "meaning" for name in properties):
        _refuse_other_base_values(anonymized)
    vectors = {
        letter: property_vectors(each, properties, sensitive=columns)
        for letter, each in named.items()
    }
    wishes = preferences or Preferences()
    resolved = wishes.resolve(tuple(vectors["A"]), wanted)
    if wishes.goal_vectors is not None:
        resolved = replace(
            resolved, goals=dict(_goals(wishes.goal_vectors, vectors["A"], resolved))
        )
    if comparators is not None and "goal" in wanted and resolved.goals is None:
        raise ConfigError("the comparator goal needs goals, and none are given")
    verdicts: list[Verdict] = []
    headcounts: list[Headcount] = []
    for first, second in combinations(letters, 2):
        pair = _Pair(first, second, vectors[first], vectors[second], resolved)
        verdicts += pair.verdicts(wanted)
        headcounts += pair.headcounts()
    notes += _notes(named, headcounts)
    return Comparison(
        named,
        vectors,
        tuple(verdicts),
        tuple(headcounts),
        resolved,
        tuple(notes),
        tuple(_index_notes(named, vectors, verdicts)),
    )


def _goals(
    goals: Mapping[str, Floats],
    vectors: Mapping[str, PropertyVector],
    resolved: Weighing,
) -> Iterator[tuple[str, float]]:
    """The index of each goal vector, which has the direction and ends of the others (C §5.7)."""
    for name, vector in vectors.items():
        values = np.asarray(goals[name], dtype=np.float64)
        if values.shape != (len(vector),) or not np.isfinite(values).all():
            raise ConfigError(
                f"the goal vector of {name} must hold {len(vector):,} numbers, one for each row. "
                f"Got {values.size:,}"
            )
        wanted = replace(vector, entries=values, row_entry=np.arange(len(vector)))
        yield name, _unary(wanted, resolved.index[name], resolved.ideals.get(name, vector.ideal))


def _unary(vector: PropertyVector, index: str, ideal: float) -> float:
    """A unary index of one vector as measured, whichever end of it is better."""
    if index == "mean":
        return mean(vector.entries, vector.rows)
    if index == "min":
        worst = np.min if vector.direction == "max" else np.max
        return float(worst(vector.entries))
    turned = float(vector.turned(np.array(ideal)))
    return rank(vector.turned(vector.entries), vector.rows, turned)


def _checked_comparators(names: Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return COMPARATORS
    if not names:
        raise ConfigError("a comparison needs at least one comparator. Got none")
    for name in names:
        if name not in COMPARATORS:
            raise ConfigError(
                f"there is no comparator called {name!r}{did_you_mean(name, COMPARATORS)}. "
                f"Known: {', '.join(COMPARATORS)}"
            )
        if list(names).count(name) > 1:
            raise ConfigError(f"comparators name {name!r} twice")
    return tuple(name for name in COMPARATORS if name in names)


def refuse_other_rows(table: Table, other: Grouping) -> None:
    """Refuse an anonymization whose vectors would not be about the rows of a table."""
    if other.rows != table.rows:
        raise DataError(
            f"{table.source} has {table.rows:,} rows and {other.name} is of {other.rows:,}; "
            "compared are anonymizations of the same rows"
        )
    if set(other.quasi) != set(table.quasi):
        raise DataError(
            f"{other.name} has the quasi-identifiers {', '.join(other.quasi)} instead of "
            f"{', '.join(table.quasi)}; compared are anonymizations of the same columns"
        )
    for name in table.quasi:
        here, there = table.column(name), other.table.column(name)
        if here.values != there.values or not np.array_equal(here.codes, there.codes):
            raise DataError(
                f"{other.name} is not of the rows of {table.source}: column {name!r} has other "
                "values there"
            )


def _why_no_utility(anonymized: Sequence[Grouping]) -> str:
    """Say why losses cannot be compared; nothing where they can."""
    for each in anonymized:
        if not each.has_meaning:
            return f"what labels mean is not known of {each.name}"
    for other in anonymized[1:]:
        if column := other_base_values(anonymized[0].instance, other.instance):
            return (
                f"{other.name} counts losses in other base values than {anonymized[0].name} "
                f"(column {column!r})"
            )
    return ""


def _refuse_other_base_values(anonymized: Sequence[Grouping]) -> None:
    if all(each.has_meaning for each in anonymized) and (reason := _why_no_utility(anonymized)):
        raise ConfigError(
            f"utility cannot be compared: {reason}; leave it out, or compare anonymizations of the "
            "same domains"
        )


def other_base_values(one: Instance, other: Instance) -> str:
    """Name a column whose base values differ, if there is one.

    A loss counts base values (D eq. 3): a decade is nothing lost where decades are the base values,
    and much where years are. Their order, and what may be merged, does not matter.
    """
    there = other.layout.domains
    for name, domain in one.layout.domains.items():
        if domain != there[name] and _base_values(domain) != _base_values(there[name]):
            return name
    return ""


def _base_values(domain: Domain) -> frozenset[str]:
    return frozenset(domain.label(place, place + 1) for place in range(domain.size))


# -- one pair --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two anonymizations and how their properties are weighed."""

    first: str
    second: str
    one: Mapping[str, PropertyVector]
    other: Mapping[str, PropertyVector]
    preferences: Weighing
    _held: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)

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
            if comparator in OF_SETS and (comparator != "goal" or self.preferences.goals):
                yield self._weighed(comparator)

    def headcounts(self) -> Iterator[Headcount]:
        for name in self.one:
            a, b = self._rows(name)
            ahead, behind = int(np.count_nonzero(a > b)), int(np.count_nonzero(a < b))
            yield Headcount(name, self.first, self.second, ahead, behind, len(a) - ahead - behind)

    # -- one property ----------------------------------------------------------------------------

    def _rows(self, name: str) -> tuple[Floats, Floats]:
        """Both vectors row by row; those of one property are held at a time: rows may be many."""
        if name not in self._held:
            self._held.clear()
            self._held[name] = self.one[name].oriented, self.other[name].oriented
        return self._held[name]

    def _stand(self, name: str) -> tuple[Dominance, Dominance]:
        a, b = self._rows(name)
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
        return index.pair(*self._rows(name), turned, scale)

    def _indexed(self, name: str, comparator: str) -> Verdict:
        pair = self._pair(name, find_index(comparator))
        shown = self._measured(name, comparator, pair)
        is_overlooked = comparator == "rank" and self._overlooks(name, *pair[:2])
        return self._verdict(name, comparator, *shown, 0 if is_overlooked else pair[2])

    def _overlooks(self, name: str, forward: IndexValue, backward: IndexValue) -> bool:
        """Whether two ranks differ by no more than may be overlooked (C §5.1)."""
        epsilon = self.preferences.rank_epsilon[name]
        if not epsilon or isinstance(forward, LogVolume) or isinstance(backward, LogVolume):
            return False
        return not is_ahead(max(forward, backward), min(forward, backward), epsilon)

    def _measured(
        self, name: str, comparator: str, pair: IndexPair
    ) -> tuple[IndexValue, IndexValue]:
        """Say values as they were measured, before they were turned; anything else as it is."""
        if comparator not in ("min", "mean"):
            return pair[:2]
        one, other = self.one[name], self.other[name]
        return _unary(one, comparator, one.ideal), _unary(other, comparator, other.ideal)

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
        forward, backward, better = pair
        if not self.preferences.epsilon[name]:
            return float(better > 0), float(better < 0)
        if isinstance(forward, LogVolume) or isinstance(backward, LogVolume):
            return self._index(name).shares(pair)
        sign = -1 if self._index(name).name == "rank" else 1
        return sign * forward, sign * backward

    def _verdict(
        self, name: str, comparator: str, forward: Value, backward: Value, sign: int
    ) -> Verdict:
        better = {1: self.first, -1: self.second}.get(sign)
        return Verdict(name, comparator, self.first, self.second, forward, backward, better)


# -- what to know beside the numbers -------------------------------------------------------------


def _notes(named: Mapping[str, Grouping], headcounts: Sequence[Headcount]) -> Iterator[str]:
    if dropped := next(iter(named.values())).table.dropped:
        yield dropped
    for each in named.values():
        yield from each.notes
    for first, second in combinations(named, 2):
        counts = [each for each in headcounts if (each.first, each.second) == (first, second)]
        if all(each.equal == named[first].rows for each in counts):
            yield f"by what is compared, every row is as well off in {first} as in {second}"


def _index_notes(
    named: Mapping[str, Grouping],
    vectors: Mapping[str, Mapping[str, PropertyVector]],
    verdicts: Sequence[Verdict],
) -> Iterator[str]:
    if any(each.suppressed for each in named.values()):
        yield (
            "suppressed rows count as one group that lost everything, so the worst-off row may be "
            "one of them and not of the group that k is about"
        )
    empty: dict[str, list[str]] = {}
    for verdict in verdicts:
        pair = [vectors[letter] for letter in (verdict.first, verdict.second)]
        if verdict.comparator == "hv" and all(
            (each[verdict.property].turned(each[verdict.property].entries) == 0).any()
            for each in pair
        ):
            empty.setdefault(verdict.property, []).append(f"{verdict.first} and {verdict.second}")
    for name, pairs in empty.items():
        yield (
            f"hv of {name} says nothing about {', '.join(pairs)}: each has a row of 0, which makes "
            "its volume 0"
        )
