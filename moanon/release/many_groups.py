"""Which of many released groups are the worst, by floats; for the reader.

A release may have millions of groups, of which a handful gives each privacy model its value. Floats
tell which these can be; what is certified is then worked out for them alone, in whole numbers
(``reader_privacy``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from moanon.arrays import Floats, Ints, Outlined, Values
from moanon.errors import CertificateError
from moanon.release.reader_privacy import SensitiveFacts, worst_privacy

#: Groups so near to the worst, as a share of its value, are worked out, too. Rounding is far less.
_NEAR = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Histograms(Outlined):
    """Rows of each value in each of some groups.

    Attributes
    ----------
    starts : array (groups,)
        Where each group begins.
    values : array (entries,)
        Numbers of values, ascending in each group.
    counts : array (entries,)
        Rows of each.
    """

    starts: Ints
    values: Ints
    counts: Ints

    def sums(self, of: Values) -> Values:
        """Add up the entries of each group."""
        return np.add.reduceat(of, self.starts)

    def spread(self, of: Values) -> Values:
        """Give each entry what its group has."""
        return np.repeat(of, self.lengths)

    @property
    def lengths(self) -> Ints:
        """Values of each group."""
        return np.diff(np.append(self.starts, len(self.values)))


class WorstGroups:
    """Finds groups that may be the worst under some privacy model.

    Parameters
    ----------
    texts : list of str
        Of each numbered value.
    besides : sequence of SensitiveFacts
        What groups are compared with.
    c : Fraction
        The constant of recursive (c,ℓ)-diversity.
    """

    def __init__(self, texts: list[str], besides: Sequence[SensitiveFacts], c: Fraction) -> None:
        for facts in besides:
            if strangers := set(texts) - facts.rows.keys():
                raise CertificateError(f"the table has no value {min(strangers)!r}")
        self._texts, self._besides, self._c = texts, besides, c
        self._found: dict[tuple[str, float], dict[str, int]] = {}
        self._worst: dict[str, float] = {}

    def values(self) -> list[dict[str, float]]:
        """Every model in the worst of all groups, beside each of what they are compared with."""
        chosen = {tuple(sorted(group.items())) for group in self._found.values()}
        return worst_privacy([dict(group) for group in chosen], self._besides, self._c)

    def add(self, groups: Histograms) -> None:
        """Look at some more groups."""
        for name, badness in self._badness(groups).items():
            worst = self._worst[name] = max(self._worst.get(name, -np.inf), float(badness.max()))
            least = worst - _NEAR * abs(worst) if np.isfinite(worst) else worst
            near, first = np.unique(badness, return_index=True)
            for value, group in zip(near[near >= least], first[near >= least], strict=True):
                self._found[name, float(value)] = self._histogram(groups, int(group))
            for key in [k for k in self._found if k[0] == name and k[1] < least]:
                del self._found[key]

    def _histogram(self, groups: Histograms, group: int) -> dict[str, int]:
        start = int(groups.starts[group])
        stop = start + int(groups.lengths[group])
        values, counts = groups.values[start:stop].tolist(), groups.counts[start:stop].tolist()
        return {self._texts[value]: count for value, count in zip(values, counts, strict=True)}

    def _badness(self, groups: Histograms) -> dict[str, Floats]:
        """Every model of each group as a float; the larger, the worse."""
        size = groups.sums(groups.counts)
        largest = np.maximum.reduceat(groups.counts, groups.starts)
        share = groups.counts / groups.spread(size)
        found = {
            "distinct": -groups.lengths,
            "frequency": -(size // largest),
            "entropy": groups.sums(share * np.log(share)),
            "recursive": -self._recursive(groups, size, largest),
            "alpha": largest / size,
        }
        for number, facts in enumerate(self._besides):
            beside = self._badness_beside(groups, size, share, facts)
            found |= {f"{name} {number}": values for name, values in beside.items()}
        return {name: np.asarray(each, dtype=np.float64) for name, each in found.items()}

    def _badness_beside(
        self, groups: Histograms, size: Ints, share: Floats, facts: SensitiveFacts
    ) -> dict[str, Floats]:
        rows = np.array([facts.rows[text] for text in self._texts], dtype=np.int64)
        expected = rows[groups.values] / facts.table_rows
        ratio = np.maximum.reduceat(np.abs(np.log(share / expected)), groups.starts)
        mean = (share + expected) / 2
        absent = 1 - groups.sums(expected)
        divergence = groups.sums(
            share * np.log(share / mean) + expected * np.log(expected / mean)
        ) + absent * np.log(2)
        found = {
            "equal": groups.sums(np.maximum(share - expected, 0)),
            "divergence": divergence,
            "present": ratio,
            "delta": np.where(groups.lengths < len(facts.rows), np.inf, ratio),
        }
        if facts.has_distance and facts.distance == "ordered":
            found["closeness"] = self._ordered(groups, size, facts)
        elif facts.has_distance and facts.distance == "tree":
            found["closeness"] = self._tree(groups, size, facts)
        return found

    def _recursive(self, groups: Histograms, size: Ints, largest: Ints) -> Ints:
        """How many values can be left out, the most frequent ones first."""
        number = groups.spread(np.arange(len(size)))
        falling = groups.counts[np.lexsort([-groups.counts, number])]
        before = np.cumsum(falling) - falling
        tail = groups.spread(size) - (before - groups.spread(before[groups.starts]))
        ends = groups.spread(largest) * self._c.denominator >= self._c.numerator * tail
        place = np.arange(len(falling)) - groups.spread(groups.starts)
        return np.minimum.reduceat(
            np.where(ends, place, groups.spread(groups.lengths)), groups.starts
        )

    def _by_place(self, groups: Histograms, facts: SensitiveFacts) -> tuple[Ints, Ints, Ints]:
        """Entries in the order of their places in the domain: group, place and rows of each."""
        places = np.array([facts.places[text] for text in self._texts])[groups.values]
        number = groups.spread(np.arange(len(groups.starts)))
        order = np.lexsort([places, number])
        return number[order], places[order], groups.counts[order]

    def _ordered(self, groups: Histograms, size: Ints, facts: SensitiveFacts) -> Floats:
        """As `moanon.release.reader_privacy` does it, between each place and the next one."""
        if not (last := facts.span):
            return np.zeros(len(size))
        number, places, counts = self._by_place(groups, facts)
        below = np.array(facts.below) / facts.table_rows
        sums = np.concatenate([[0.0], np.cumsum(below)])
        seen = np.cumsum(counts)
        seen = seen - groups.spread((seen - counts)[groups.starts])
        here = np.minimum(places, last)
        there = np.append(here[1:], last)
        there[np.append(groups.starts[1:], len(here)) - 1] = last
        level = seen / size[number]
        turn = np.clip(np.searchsorted(below, level, side="right"), here, there)
        moved = level * (2 * turn - here - there) - (sums[turn] - sums[here])
        moved += sums[there] - sums[turn]
        return np.asarray((groups.sums(moved) + sums[here[groups.starts]]) / last)

    def _tree(self, groups: Histograms, size: Ints, facts: SensitiveFacts) -> Floats:
        """Sum over the levels of what leaves their nodes."""
        if not facts.span:
            return np.zeros(len(size))
        number, places, counts = self._by_place(groups, facts)
        table = sorted((place, facts.rows[text]) for text, place in facts.places.items())
        stands, rows = np.array(table, dtype=np.int64).T
        moved = np.zeros(len(size))
        for starts in facts.levels:
            node = np.searchsorted(starts, places, side="right")
            in_node = np.bincount(np.searchsorted(starts, stands, side="right"), weights=rows)
            begins = np.append(True, (np.diff(number) != 0) | (np.diff(node) != 0))
            first = np.flatnonzero(begins)
            own = np.add.reduceat(counts, first) / size[number[first]]
            more = np.maximum(own - in_node[node[first]] / facts.table_rows, 0)
            moved += np.bincount(number[first], weights=more, minlength=len(size))
        return moved / facts.span
