"""Privacy models of released groups; for the reader.

What groups give away is worked out here from the counts of their sensitive values alone, by other
means than the compiled loops of a search: whole numbers of any size, and one division at the end.
Millions of groups are looked at together, as arrays.

Two kinds of models:

- Diversity and α look at a group by itself.
- t-closeness, δ and β compare it with many rows: with the *whole table*, suppressed rows included,
  as a search does, and with the *released rows*. A released file does not show suppressed rows, so
  the reader is given how often each value occurs in the table, and how far apart values are
  (`SensitiveFacts`). Only the comparison with the released rows may be published.

Formulas and citations: `moanon.measures.privacy`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from moanon.arrays import Floats, Ints, Outlined, Values
from moanon.data.column import Profile
from moanon.data.domain import Domain, IntervalDomain, OrderedDomain, TreeDomain
from moanon.errors import CertificateError
from moanon.release.labels import BlockLabels, label_rules

# Written here again on purpose: a promise about a released file, not about its writer.
_MISSING = "(missing)"

GroundDistance = Literal["equal", "ordered", "tree"]
#: Beyond this, products of counts are whole numbers of Python, which have no end.
_LARGEST = 2**62
#: Quotients so near to the largest, as a share of it, are divided once more without rounding.
_NEAR = 1e-9


@dataclass(frozen=True, repr=False)
class SensitiveFacts(Outlined):
    """What groups are compared with in a sensitive column: the whole table, or released rows."""

    # with each value that occurs, suppressed rows included unless `is_released`
    rows: Mapping[str, int]
    ground: BlockLabels | None = None  # where values stand, if they are not all equally far apart
    levels: tuple[tuple[int, ...], ...] = ()  # of a tree, from the leaves on: first places of nodes
    declared: bool = True  # whether `ground` was declared, whatever the rows hold
    bare_levels: tuple[tuple[int, ...], ...] = ()  # of a tree, without the leaf of missing values
    last_place: int | None = None  # of an order with declared ends, of what is not missing
    is_released: bool = False  # what is not declared then follows from `rows`

    def among(self, released: Mapping[str, int]) -> SensitiveFacts:
        """The same column where groups are compared with the released rows.

        What depends on other rows is left out: an order whose ends nobody declared goes from the
        first to the last value that is shown, missing values have a place only if one is shown, and
        by a tree that was made from the table nothing is measured.
        """
        levels = self.levels if _MISSING in released else self.bare_levels
        return replace(self, rows=released, levels=levels, is_released=True)

    @property
    def has_distance(self) -> bool:
        """Whether t-closeness is worked out by the ground distance."""
        return self.declared or not self.is_released or self.distance != "tree"

    @property
    def distance(self) -> GroundDistance:
        """Name of the ground distance."""
        return "equal" if self.ground is None else self.ground.distance

    @property
    def scale(self) -> Literal["declared", "shown", "none"]:
        """What the distance is measured along where groups are compared with released rows."""
        if self.declared:
            return "declared"
        return "none" if self.distance == "tree" else "shown"

    @cached_property
    def table_rows(self) -> int:
        """All these rows."""
        return sum(self.rows.values())

    @property
    def span(self) -> int:
        """How many of the shortest ways the longest one is; 0 where there is but one place."""
        if self.ground is None:
            return 1
        if self.distance == "tree":
            return len(self.levels)
        if not self.is_released:
            return self.ground.size - 1
        return self._last_released + (_MISSING in self.rows)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each value stands."""
        places = {value: self._place(value) for value in self.rows}
        if not self.is_released or self.distance == "tree":
            return places
        first = 0 if self.declared else min(self._shown_places, default=0)
        behind = self._last_released + 1
        return {v: behind if v == _MISSING else place - first for v, place in places.items()}

    @cached_property
    def _shown_places(self) -> list[int]:
        return [self._place(value) for value in self.rows if value != _MISSING]

    @property
    def _last_released(self) -> int:
        """The last place of an order that is not that of missing values."""
        if not self.declared:
            shown = self._shown_places
            return max(shown) - min(shown) if shown else -1
        assert self.last_place is not None
        return self.last_place

    def _place(self, value: str) -> int:
        place = None
        if self.ground is not None:
            place = self.ground.place_of(value, merge_end=not self.is_released)
        if place is None:
            raise CertificateError(
                f"a value of the table has no place in its {self.distance} domain"
            )
        return place

    @property
    def whole(self) -> type:
        """Type of whole numbers that hold all products of counts and distances."""
        return int if self.table_rows**2 * max(1, self.span) < _LARGEST else object

    @cached_property
    def below(self) -> Values:
        """Of an order: rows at each place or before it."""
        at_place: Values = np.zeros(self.span + 1, dtype=self.whole)
        for value, rows in self.rows.items():
            at_place[self.places[value]] += rows
        return np.cumsum(at_place)

    def nodes(self, level: int) -> tuple[dict[str, int], Values]:
        """Of a tree: the node above each value on a level, by its number, and its rows."""
        starts = self.levels[level]
        node = {value: bisect_right(starts, place) for value, place in self.places.items()}
        rows: Values = np.zeros(len(starts) + 1, dtype=self.whole)
        for value, number in node.items():
            rows[number] += self.rows[value]
        return node, rows


def sensitive_facts(column: Profile, domain: Domain | None) -> SensitiveFacts:
    """Say in plain texts and numbers which values a sensitive column has, and where they stand."""
    rows = dict(zip(column.values, column.counts.tolist(), strict=True))
    if column.missing:
        rows[_MISSING] = column.missing
    if domain is None:
        return SensitiveFacts(rows)
    last = domain.size - 1 - domain.has_missing if isinstance(domain, OrderedDomain) else None
    if isinstance(domain, IntervalDomain) and domain.has_declared_ends:
        steps = domain.steps
        assert steps.high is not None
        last = math.floor((steps.high - steps.origin) / steps.width) - steps.first
    levels, bare = _levels(domain, with_missing=True), _levels(domain)
    return SensitiveFacts(rows, label_rules(domain), levels, domain.has_declared_ends, bare, last)


def _levels(domain: Domain, *, with_missing: bool = False) -> tuple[tuple[int, ...], ...]:
    """Levels of a tree below its root, from the leaves on: the first places of their nodes."""
    if not isinstance(domain, TreeDomain):
        return ()
    tree, dropped = domain.hierarchy, domain.has_missing and not with_missing
    cuts = [
        tuple(sorted(tree.starts[node] for node in cut))[: -1 if dropped else None]
        for cut in tree.levels
        if cut != (0,)
    ]
    # A level of one node is the root's, over which nothing passes.
    return tuple(cut for cut in dict.fromkeys(cuts) if not dropped or len(cut) > 1)


# -- groups ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class GroupCounts(Outlined):
    """How often each value of a sensitive column occurs in each of some groups.

    Entries are places of values in `texts`, ascending in each group, and the rows (`counts`) of
    each; `starts` says where each group begins.
    """

    texts: Sequence[str]
    starts: Ints
    values: Ints
    counts: Ints

    @classmethod
    def of(cls, entries: Mapping[tuple[int, str], int]) -> GroupCounts:
        """Take rows of pairs: the number of a group, and a value."""
        texts = sorted({text for _, text in entries})
        place = {text: number for number, text in enumerate(texts)}
        listed = sorted((group, place[text], rows) for (group, text), rows in entries.items())
        group, values, counts = (np.array(part, dtype=object) for part in zip(*listed, strict=True))
        starts = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
        return cls(texts, starts, values.astype(int), _narrow(counts))

    def sums(self, of: Values) -> Values:
        """Add up the entries of each group."""
        return np.add.reduceat(of, self.starts)

    def spread(self, of: Values) -> Values:
        """Give each entry what its group has."""
        return np.repeat(of, self.lengths)

    @cached_property
    def lengths(self) -> Ints:
        """Values of each group."""
        return np.diff(np.append(self.starts, len(self.values)))

    @cached_property
    def sizes(self) -> Values:
        """Rows of each group."""
        return self.sums(self.counts)

    @cached_property
    def numbers(self) -> Ints:
        """Number of the group of each entry."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)


def worst_privacy(
    groups: GroupCounts, besides: Sequence[SensitiveFacts], c: Fraction
) -> list[dict[str, float]]:
    """Every model of a sensitive column, by its name in a front, in the worst group.

    The answer has an entry for each of `besides`, which groups are compared with; `c` is the
    constant of recursive (c,ℓ)-diversity. A CertificateError if a group has a value that is not
    among those it is compared with, or one that has no place in its domain.
    """
    alone = _alone(groups, c)
    return [alone | _beside(groups, facts) for facts in besides]


def worse(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    """The worst of two lots of groups."""
    return {
        name: (min if name in _MORE_IS_BETTER else max)(value, other[name])
        for name, value in one.items()
    }


# -- groups by themselves --------------------------------------------------------------------------

_MORE_IS_BETTER = ("l_distinct", "l_frequency", "l_entropy", "l_recursive", "p_sensitive")


def _alone(groups: GroupCounts, c: Fraction) -> dict[str, float]:
    """What groups have by themselves.

    Distinct values, which are also the p of p-sensitive k-anonymity; rows over those of the most
    frequent value, rounded down (D def. 4); exp of the entropy; the largest ℓ for which
    ``r1 < c * (r_ℓ + … + r_m)``, 0 where not even ℓ = 1 holds; the largest share.
    """
    sizes, largest = groups.sizes, np.maximum.reduceat(groups.counts, groups.starts)
    share = _floats(groups.counts) / _floats(groups.spread(sizes))
    entropy = -groups.sums(share * np.log(share))
    distinct = int(groups.lengths.min())
    return {
        "l_distinct": distinct,
        "l_frequency": int((sizes // largest).min()),
        "l_entropy": math.exp(max(0.0, float(entropy.min()))),
        "l_recursive": int(_recursive(groups, largest, c).min()),
        "p_sensitive": distinct,
        "alpha": _largest(largest, sizes),
    }


def _recursive(groups: GroupCounts, largest: Values, c: Fraction) -> Ints:
    """How many values can be left out of each group, the most frequent ones first."""
    falling = groups.counts[np.lexsort([-_floats(groups.counts), groups.numbers])].astype(object)
    before = np.cumsum(falling) - falling
    tail = groups.spread(groups.sizes) - (before - groups.spread(before[groups.starts]))
    ends = groups.spread(largest).astype(object) * c.denominator >= tail * c.numerator
    place = np.arange(len(falling)) - groups.spread(groups.starts)
    left_out = np.where(ends.astype(bool), place, groups.spread(groups.lengths))
    return np.asarray(np.minimum.reduceat(left_out, groups.starts))


# -- groups beside the whole table, or the released rows -------------------------------------------


def _beside(groups: GroupCounts, facts: SensitiveFacts) -> dict[str, float]:
    """How far groups are from all rows that they are compared with.

    Shares p of a group and q of all rows are compared as p·N·n and q·N·n, which are whole: N rows
    in the group, n in all.
    """
    if strangers := set(groups.texts) - facts.rows.keys():
        raise CertificateError(f"the table has no value {min(strangers)!r}")
    known = [facts.rows[text] for text in groups.texts]
    rows: Values = np.array(known, dtype=facts.whole)[groups.values]
    counts: Values = groups.counts.astype(facts.whole)
    sizes: Values = groups.sizes.astype(facts.whole)
    ours, theirs = counts * facts.table_rows, rows * groups.spread(sizes)
    found = {}
    if facts.has_distance and facts.distance != "equal":
        moved = (_ordered if facts.distance == "ordered" else _tree)(groups, facts)
        found["t_closeness"] = _largest(moved, sizes * facts.table_rows * max(1, facts.span))
    # Σ max(0, p - q): what must be moved, all ways being equally long
    equal = _largest(groups.sums(np.maximum(ours - theirs, 0)), sizes * facts.table_rows)
    if facts.distance == "equal":
        found["t_closeness"] = equal
    ratio = _floats(ours) / _floats(theirs)
    present = math.log(max(float(ratio.max()), float((1 / ratio).max())))
    is_complete = int(groups.lengths.min()) == len(facts.rows)
    beta = _largest(ours - theirs, theirs)  # max (p - q) / q, of a value that is no rarer
    most = np.array([math.log1p((facts.table_rows - each) / each) for each in known])  # -ln q
    is_limited = (_floats(ours - theirs) / _floats(theirs) <= most[groups.values]).all()
    return found | {
        "t_equal": equal,
        "t_js": _divergence(groups, _floats(ours), _floats(theirs), facts),
        "delta": present if is_complete else math.inf,  # max |ln(p / q)| over all values
        "delta_present": present,  # over those of the group
        "beta": beta,
        "beta_enhanced": beta if is_limited else math.inf,
    }


def _divergence(groups: GroupCounts, ours: Floats, theirs: Floats, facts: SensitiveFacts) -> float:
    """``½ [KL(Q, M) + KL(P, M)]`` with M the mean of P and Q."""
    all_of_it = _floats(groups.spread(groups.sizes)) * facts.table_rows
    p, q = ours / all_of_it, theirs / all_of_it
    terms = p * np.log(2 * ours / (ours + theirs)) + q * np.log(2 * theirs / (ours + theirs))
    absent = 1 - groups.sums(q)
    return max(0.0, float((groups.sums(terms) + absent * math.log(2)).max()) / 2)


def _by_place(groups: GroupCounts, place: Mapping[str, int]) -> tuple[Ints, Ints, Values, Ints]:
    """Add up entries at the same place of a group.

    Returned are group, place and rows of each, and where those of each group begin.
    """
    places = np.array([place[text] for text in groups.texts])[groups.values]
    order = np.lexsort([places, groups.numbers])
    number, places = groups.numbers[order], places[order]
    first = np.flatnonzero(np.append(True, (np.diff(number) != 0) | (np.diff(places) != 0)))
    rows = np.add.reduceat(groups.counts[order], first)
    starts = np.flatnonzero(np.append(True, np.diff(number[first]) != 0))
    return number[first], places[first], rows, starts


def _ordered(groups: GroupCounts, facts: SensitiveFacts) -> Values:
    """``Σ_i |Σ_{j <= i} (p_j - q_j)|``, to be divided by ``m - 1``.

    Between two places of a group its running share stays and that of all rows only grows, so the
    difference changes its sign once, and the sums on both sides are looked up.
    """
    last, below = facts.span, facts.below
    if not last:
        return np.zeros(len(groups.starts), dtype=int)
    number, here, rows, starts = _by_place(groups, facts.places)
    size: Values = groups.sizes.astype(facts.whole)[number]
    rows = rows.astype(facts.whole)
    sums = np.concatenate([np.zeros(1, dtype=facts.whole), np.cumsum(below)])
    seen = np.cumsum(rows)
    seen = seen - np.repeat((seen - rows)[starts], np.diff(np.append(starts, len(seen))))
    there = np.append(here[1:], last)
    there[np.append(starts[1:], len(here)) - 1] = last
    level = seen * facts.table_rows
    turn = np.clip(np.searchsorted(below, level // size, side="right"), here, there)
    moved = level * (2 * turn - here - there)
    moved = moved + size * (sums[here] + sums[there] - 2 * sums[turn])
    before = size[starts] * sums[here[starts]]  # where the group has nothing yet
    return np.asarray(np.add.reduceat(moved, starts) + before)


def _tree(groups: GroupCounts, facts: SensitiveFacts) -> Values:
    """Sum over the levels below the root of what leaves their nodes, each level being 1 / H."""
    sizes: Values = groups.sizes.astype(facts.whole)
    moved: Values = np.zeros(len(sizes), dtype=facts.whole)
    for level in range(len(facts.levels)):
        node, in_node = facts.nodes(level)
        number, place, rows, starts = _by_place(groups, node)
        more = rows.astype(facts.whole) * facts.table_rows - in_node[place] * sizes[number]
        moved = moved + np.add.reduceat(np.maximum(more, 0), starts)
    return moved


# -- numbers ---------------------------------------------------------------------------------------


def _largest(above: Values, below: Values) -> float:
    """The largest of some quotients of whole numbers, correctly rounded."""
    rough = _floats(above) / _floats(below)
    near = np.flatnonzero(rough >= rough.max() * (1 - _NEAR))
    pairs = set(zip(above[near].tolist(), below[near].tolist(), strict=True))
    return float(max(one / other for one, other in pairs))


def _floats(numbers: Values) -> Floats:
    return np.asarray(numbers, dtype=np.float64)


def _narrow(counts: Values) -> Values:
    """Whole numbers of 64 bits, where they are enough."""
    return counts.astype(int) if sum(counts.tolist()) < _LARGEST else counts
