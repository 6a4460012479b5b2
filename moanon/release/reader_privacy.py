"""Privacy models of released groups, in plain Python; for the reader.

What a group gives away is worked out here from the counts of its sensitive values alone, by other
means than the compiled loops of a search: whole numbers of any size, and one division at the end.

Two kinds of models:

- Diversity and α look at a group by itself.
- t-closeness and δ compare it with many rows: with the *whole table*, suppressed rows included, as
  a search does, and with the *released rows*. A released file does not show suppressed rows, so
  the reader is given how often each value occurs in the table, and how far apart values are
  (`SensitiveFacts`). Only the comparison with the released rows may be published.

Formulas and citations: `moanon.measures.privacy`.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Literal

from moanon.arrays import Outlined
from moanon.errors import CertificateError
from moanon.release.labels import BlockLabels, IntervalLabels, NamedLabels, OrderLabels

# Written here again on purpose: a promise about a released file, not about its writer.
_MISSING = "(missing)"

GroundDistance = Literal["equal", "ordered", "tree"]
#: How often each value occurs in a group.
Counts = Mapping[str, int]


@dataclass(frozen=True, repr=False)
class SensitiveFacts(Outlined):
    """What groups are compared with in a sensitive column.

    Attributes
    ----------
    rows : mapping of str to int
        Rows with each value that occurs: those of the whole table, suppressed rows included, or
        those that were released.
    ground : BlockLabels or None
        Where the values stand, if they are not all equally far apart.
    levels : tuple of tuple of int
        Of a tree, for each level below the root, from the leaves on: the first places of its nodes.
    declared : bool
        Whether `ground` follows from what was declared, whatever the rows hold.
    own_range : bool
        Whether places are counted from the first to the last value of `rows` instead of over all of
        `ground`.
    unused : int
        Places at the end of `ground` that do not count: that of missing values, if none is there.
    has_distance : bool
        Whether t-closeness by the ground distance is worked out.
    """

    rows: Mapping[str, int]
    ground: BlockLabels | None = None
    levels: tuple[tuple[int, ...], ...] = ()
    declared: bool = True
    own_range: bool = False
    unused: int = 0
    has_distance: bool = True

    def among(self, released: Mapping[str, int]) -> SensitiveFacts:
        """The same column where groups are compared with the released rows.

        What depends on other rows is left out: an order that the table gave its ends is cut to the
        values that are shown, the place of missing values is there if one is released; by a tree
        that was made from the table nothing is measured.
        """
        if self.declared:
            has_place = (
                isinstance(self.ground, OrderLabels | IntervalLabels) and self.ground.missing
            )
            unused = int(has_place and _MISSING not in released)
            return replace(self, rows=released, unused=unused)
        is_tree = self.distance == "tree"
        return replace(self, rows=released, own_range=not is_tree, has_distance=not is_tree)

    @property
    def distance(self) -> GroundDistance:
        """Name of the ground distance."""
        if self.ground is None:
            return "equal"
        return "tree" if isinstance(self.ground, NamedLabels) else "ordered"

    @property
    def scale(self) -> Literal["declared", "shown", "none"]:
        """What the distance is measured along where groups are compared with released rows."""
        among = self.among({})
        return "shown" if among.own_range else "declared" if among.has_distance else "none"

    @cached_property
    def table_rows(self) -> int:
        """All these rows."""
        return sum(self.rows.values())

    @property
    def span(self) -> int:
        """How many of the shortest ways the longest one is; 0 where there is but one place."""
        if self.ground is None:
            return 1
        if self.own_range:
            return max(self.places.values(), default=0)
        if self.distance == "tree":
            return len(self.levels)
        return self.ground.size - 1 - self.unused

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each value stands."""
        places = {value: self._place(value) for value in self.rows}
        if not self.own_range:
            return places
        present = [place for value, place in places.items() if value != _MISSING]
        first, last = min(present, default=0), max(present, default=-1)
        # Missing values stand behind all others.
        return {
            value: (last + 1 if value == _MISSING else place) - first
            for value, place in places.items()
        }

    def _place(self, value: str) -> int:
        ground, place = self.ground, None
        if isinstance(ground, OrderLabels):
            place = ground.places.get(value)
        elif isinstance(ground, NamedLabels) and ground.steps is not None and value != _MISSING:
            place = _step(value, ground.steps)
        elif isinstance(ground, NamedLabels):
            place = ground.blocks.get(value, (None, None))[0]
        elif isinstance(ground, IntervalLabels):
            place = _step(value, ground)
        if place is None:
            raise CertificateError(
                f"a value of the table has no place in its {self.distance} domain"
            )
        return place

    @cached_property
    def below(self) -> list[int]:
        """Of an order: rows at each place or before it."""
        at_place = [0] * (self.span + 1)
        for value, rows in self.rows.items():
            at_place[self.places[value]] += rows
        return list(accumulate(at_place))

    @cached_property
    def below_sums(self) -> list[int]:
        """Sums of `below` over earlier places."""
        return list(accumulate(self.below, initial=0))

    @cached_property
    def paths(self) -> Mapping[str, tuple[int, ...]]:
        """Of a tree: the node above each value on each level, by its number there."""
        return {
            value: tuple(bisect_right(starts, place) for starts in self.levels)
            for value, place in self.places.items()
        }

    @cached_property
    def node_rows(self) -> Mapping[tuple[int, int], int]:
        """Of a tree: rows in each node, by its level and number."""
        return _by_node(self.rows, self.paths)


def _step(value: str, ground: IntervalLabels) -> int | None:
    """Step of a number or date as it stands in the table; it may be written in any usual way."""
    if ground.missing and value == _MISSING:
        return ground.size - 1
    notation = ground.notation
    read = notation.plain_dates if ground.type == "date" else notation.plain_numbers
    value = next(iter(read([value]))) or ""
    try:
        if ground.type == "date":
            day = datetime.date.fromisoformat(value[:10])
            place = Fraction(12 * day.year + day.month - 1 if ground.months else day.toordinal())
        else:
            place = Fraction(value)
    except ValueError:
        return None
    step = math.floor((place - ground.origin) / ground.width) - ground.first
    if ground.ends is not None:  # below them, in a step between them, or from the upper one on
        low, high = ground.ends
        return 0 if place < low else ground.steps + 1 if place >= high else step + 1
    # The end of a declared range belongs to the last step.
    return min(step, ground.steps - 1) if 0 <= step <= ground.steps else None


# -- groups by themselves --------------------------------------------------------------------------


def worst_privacy(
    groups: Collection[Counts], besides: Sequence[SensitiveFacts], c: Fraction
) -> list[dict[str, float]]:
    """Every model of a sensitive column, by its name in a front, in the worst group.

    Parameters
    ----------
    groups : collection of mapping of str to int
        How often each value occurs in each group.
    besides : sequence of SensitiveFacts
        What groups are compared with; the answer has an entry for each.
    c : Fraction
        The constant of recursive (c,ℓ)-diversity.

    Raises
    ------
    CertificateError
        If a group has a value that is not among those it is compared with, or one that has no
        place in its domain.
    """
    # Small groups have few different histograms between them.
    alone = [_alone(n, c) for n in {tuple(sorted(g.values(), reverse=True)) for g in groups}]
    worst = {name: min(each[name] for each in alone) for name in alone[0] if name != "alpha"}
    worst["alpha"] = max(each["alpha"] for each in alone)
    different = [dict(counts) for counts in {tuple(sorted(counts.items())) for counts in groups}]
    found = []
    for facts in besides:
        beside = [_beside(counts, facts) for counts in different]
        found.append(worst | {name: max(each[name] for each in beside) for name in beside[0]})
    return found


def _alone(counts: tuple[int, ...], c: Fraction) -> dict[str, float]:
    """What one group whose values occur so often, most frequent first, has by itself.

    Distinct values, which are also the p of p-sensitive k-anonymity; rows over those of the most
    frequent value, rounded down (D def. 4); exp of the entropy; the largest ℓ for which
    ``r1 < c * (r_ℓ + … + r_m)``, 0 where not even ℓ = 1 holds; the largest share.
    """
    size = sum(counts)
    entropy = -math.fsum(count / size * math.log(count / size) for count in counts)
    tail, recursive = size, 0
    for count in counts:  # ℓ = 1 leaves out no value, ℓ = 2 the most frequent one, ...
        if counts[0] * c.denominator >= c.numerator * tail:
            break
        recursive += 1
        tail -= count
    return {
        "l_distinct": len(counts),
        "l_frequency": size // counts[0],
        "l_entropy": math.exp(entropy),
        "l_recursive": recursive,
        "p_sensitive": len(counts),
        "alpha": counts[0] / size,
    }


# -- groups beside the whole table, or the released rows -------------------------------------------


def _beside(counts: Counts, facts: SensitiveFacts) -> dict[str, float]:
    """How far one group is from all rows that it is compared with."""
    if not counts.keys() <= facts.rows.keys():
        stranger = min(counts.keys() - facts.rows.keys())
        raise CertificateError(f"the table has no value {stranger!r}")
    own = {"equal": _equal, "ordered": _ordered, "tree": _tree}[facts.distance]
    distance = {"t_closeness": own(counts, facts)} if facts.has_distance else {}
    return {
        **distance,
        "t_equal": _equal(counts, facts),
        "t_js": _divergence(counts, facts),
        "delta": _delta(counts, facts),
        "delta_present": _largest_ratio(counts, facts),
    }


# Shares p of the group and q of the table are compared as p·N·n and q·N·n, which are whole: N rows
# in the group, n in the table.


def _equal(counts: Counts, facts: SensitiveFacts) -> float:
    """``Σ max(0, p - q)``: what must be moved, all ways being equally long."""
    size, table = sum(counts.values()), facts.table_rows
    moved = sum(max(0, rows * table - facts.rows[value] * size) for value, rows in counts.items())
    return moved / (size * table)


def _ordered(counts: Counts, facts: SensitiveFacts) -> float:
    """``Σ_i |Σ_{j <= i} (p_j - q_j)| / (m - 1)``.

    Between two places of the group its running share stays and that of the table only grows, so
    the difference changes its sign once, and the sums on both sides are looked up.
    """
    if not facts.span:
        return 0.0
    size, table, last = sum(counts.values()), facts.table_rows, facts.span
    at_place: defaultdict[int, int] = defaultdict(int)
    for value, rows in counts.items():
        at_place[facts.places[value]] += rows
    stops = sorted(place for place in at_place if place < last)
    moved = seen = 0
    for here, there in zip([0, *stops], [*stops, last], strict=True):
        seen += at_place.pop(here, 0)
        level = seen * table
        turn = bisect_right(facts.below, level // size, here, there)
        before = facts.below_sums[turn] - facts.below_sums[here]
        behind = facts.below_sums[there] - facts.below_sums[turn]
        moved += level * (turn - here) - size * before + size * behind - level * (there - turn)
    return moved / (size * table * last)


def _tree(counts: Counts, facts: SensitiveFacts) -> float:
    """Sum over the levels below the root of what leaves their nodes, each level being 1 / H."""
    if not facts.span:
        return 0.0
    size, table = sum(counts.values()), facts.table_rows
    moved = sum(
        max(0, rows * table - facts.node_rows[node] * size)
        for node, rows in _by_node(counts, facts.paths).items()
    )
    return moved / (size * table * facts.span)


def _by_node(counts: Counts, paths: Mapping[str, tuple[int, ...]]) -> dict[tuple[int, int], int]:
    found: defaultdict[tuple[int, int], int] = defaultdict(int)
    for value, rows in counts.items():
        for node in enumerate(paths[value]):
            found[node] += rows
    return found


def _divergence(counts: Counts, facts: SensitiveFacts) -> float:
    """``½ [KL(Q, M) + KL(P, M)]`` with M the mean of P and Q."""
    size, table = sum(counts.values()), facts.table_rows
    terms, absent = [], table
    for value, rows in counts.items():
        p, q = rows * table, facts.rows[value] * size
        terms.append(rows / size * math.log(2 * p / (p + q)))
        terms.append(facts.rows[value] / table * math.log(2 * q / (p + q)))
        absent -= facts.rows[value]
    return max(0.0, math.fsum([*terms, absent / table * math.log(2)]) / 2)


def _delta(counts: Counts, facts: SensitiveFacts) -> float:
    """``max |ln(p / q)|`` over the values of the table."""
    return math.inf if len(counts) < len(facts.rows) else _largest_ratio(counts, facts)


def _largest_ratio(counts: Counts, facts: SensitiveFacts) -> float:
    """``max |ln(p / q)|`` over the values of the group."""
    size, table = sum(counts.values()), facts.table_rows
    pairs = [(rows * table, facts.rows[value] * size) for value, rows in counts.items()]
    return math.log(max(max(p / q, q / p) for p, q in pairs))
