"""The slow twin of the diagnosis centre: every question straight from its definition.

Tables are lists of rows, a row is a mapping of columns to texts or None. Nothing is shared with the
package but the hierarchy of a tree distance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import combinations

from moanon.data.hierarchy import Hierarchy
from tests import naive

Row = dict[str, str | None]
Set = frozenset[str]
#: A group as its rows; a level as a number; "better" is told by the sign.
Level = Callable[[list[Row], list[Row]], float]


def groups(rows: Sequence[Row], columns: Set) -> list[list[Row]]:
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in sorted(columns)), []).append(row)
    return list(found.values())


def all_sets(columns: Sequence[str], largest: int | None = None) -> list[Set]:
    sizes = range(1, (largest or len(columns)) + 1)
    return [frozenset(chosen) for size in sizes for chosen in combinations(columns, size)]


# -- levels of a group ----------------------------------------------------------------------------


def size(group: list[Row], table: list[Row]) -> int:
    return len(group)


def shares(rows: list[Row], column: str) -> dict[str | None, Fraction]:
    counts = Counter(row[column] for row in rows)
    return {value: Fraction(count, len(rows)) for value, count in counts.items()}


def equal_distance(p: dict, q: dict) -> Fraction:
    """What must be carried anywhere: the surplus."""
    return sum((max(Fraction(0), p.get(v, 0) - q[v]) for v in q), Fraction(0))


def ordered_distance(p: dict, q: dict) -> Fraction:
    """Carry the leftmost surplus to the leftmost deficit, step by step."""
    places = sorted({Fraction(v) for v in q})
    have = [
        sum((p.get(v, Fraction(0)) for v in q if Fraction(v) == at), Fraction(0)) for at in places
    ]
    want = [sum((q[v] for v in q if Fraction(v) == at), Fraction(0)) for at in places]
    work = Fraction(0)
    i = j = 0
    while i < len(places) and j < len(places):
        moved = min(have[i], want[j])
        work += moved * abs(i - j)
        have[i] -= moved
        want[j] -= moved
        i, j = i + (have[i] == 0), j + (want[j] == 0 and have[min(i, len(places) - 1)] != 0)
        while j < len(places) and want[j] == 0:
            j += 1
    return work / max(1, len(places) - 1)


def tree_distance(p: dict, q: dict, tree: Hierarchy) -> Fraction:
    """Length of each edge times what passes over it; an edge spans half the rise in height."""

    def height(node: int) -> int:
        return int(tree.heights[node])

    work = Fraction(0)
    for node in range(1, len(tree.names)):
        inside = tree.leaves[tree.starts[node] : tree.stops[node]]
        passing = abs(
            sum((p.get(v, Fraction(0)) - q.get(v, Fraction(0)) for v in inside), Fraction(0))
        )
        work += passing * (height(tree.parents[node]) - height(node)) / 2
    return work / max(1, height(0))


def jensen_shannon(p: dict, q: dict) -> float:
    def term(a: float, b: float) -> float:
        return a * math.log(2 * a / (a + b)) if a else 0.0

    pairs = [(float(p.get(v, 0)), float(q[v])) for v in q]
    return math.fsum(term(a, b) + term(b, a) for a, b in pairs) / 2


def level_of(
    measure: str,
    rule: str = "",
    sensitive: Sequence[str] = (),
    c: float = 3.0,
    tree: Hierarchy | None = None,
) -> Level:
    """Level of a group: the worst over the sensitive columns."""
    if measure == "k":
        return size
    diversity = {
        "distinct": naive.distinct_l,
        "frequency": naive.frequency_l,
        "entropy": naive.entropy_l,
        "recursive": lambda values: naive.recursive_l(values, Fraction(str(c))),
    }
    distance = {
        "equal": equal_distance,
        "ordered": ordered_distance,
        "tree": lambda p, q: tree_distance(p, q, tree),
        "js": jensen_shannon,
    }
    if measure == "l":
        return lambda group, table: min(diversity[rule]([r[s] for r in group]) for s in sensitive)
    return lambda group, table: max(
        distance[rule](shares(group, s), shares(table, s)) for s in sensitive
    )


# -- the twelve questions -------------------------------------------------------------------------


class Oracle:
    """All that can be asked about a table, by brute force.

    `sign` is 1 where a higher level is better and -1 where a lower one is.
    """

    def __init__(self, rows: list[Row], columns: Sequence[str], level: Level, sign: int) -> None:
        self.rows, self.columns, self.level, self.sign = rows, list(columns), level, sign
        self.sets = all_sets(columns)
        self._known: dict[Set, list[tuple[float, int]]] = {}

    def rated(self, chosen: Set) -> list[tuple[float, int]]:
        """Level and rows of each group."""
        if chosen not in self._known:
            found = [
                (self.level(group, self.rows), len(group)) for group in groups(self.rows, chosen)
            ]
            # Logarithms are rounded as in the package, so that equal shares make equal levels.
            self._known[chosen] = [
                (round(level, 12) if isinstance(level, float) else level, rows)
                for level, rows in found
            ]
        return self._known[chosen]

    def within(self, chosen: Set, limit: int) -> float:
        """Best level when whole groups below it are given up and hold at most `limit` rows."""
        rated = self.rated(chosen)
        possible = [
            level
            for level, _ in rated
            if sum(rows for other, rows in rated if self.worse(other, level)) <= limit
        ]
        return max(possible, key=lambda level: level * self.sign)

    def worse(self, one: float, other: float) -> bool:
        return one * self.sign < other * self.sign

    def is_so(self, found: float, wanted: float, form: str) -> bool:
        return found >= wanted if form == "at least" else found <= wanted

    # 1 and 5
    def holds(self, chosen: Set, wanted: float, limit: int, form: str) -> bool:
        return self.is_so(self.within(chosen, limit), wanted, form)

    # 3 and 7
    def border(
        self, wanted: float, limit: int, form: str, largest: int
    ) -> tuple[set[Set], set[Set]]:
        """Sets for which it is so, none of them in (or around) another; and the others likewise."""
        protective = form == ("at least" if self.sign > 0 else "at most")
        sets = all_sets(self.columns, largest)
        safe = {s for s in sets if self.holds(s, wanted, limit, form) == protective}
        unsafe = set(sets) - safe
        return (
            {s for s in safe if not any(s < other for other in safe)},
            {s for s in unsafe if not any(other < s for other in unsafe)},
        )

    # 9 and 10
    def rows_to_suppress(self, chosen: Set, wanted: float, form: str) -> int | None:
        """Fewest rows that must go for a protective form; most that can for the other."""
        limits = [m for m in range(len(self.rows)) if self.holds(chosen, wanted, m, form)]
        protective = form == ("at least" if self.sign > 0 else "at most")
        return (min if protective else max)(limits, default=None)

    # 11 and 12
    def curve(self, chosen: Set) -> dict[float, int]:
        """For each level that occurs, the rows below it."""
        rated = self.rated(chosen)
        return {
            level: sum(rows for other, rows in rated if self.worse(other, level))
            for level, _ in rated
        }

    def apriori_calls(self, wanted: float, limit: int, form: str) -> int:
        """Sets that Z's algorithm 2 groups: those whose subsets with one column less are safe."""
        protective = form == ("at least" if self.sign > 0 else "at most")
        safe = {s for s in self.sets if self.holds(s, wanted, limit, form) == protective}
        return sum(all(s - {c} in safe or len(s) == 1 for c in s) for s in self.sets)
