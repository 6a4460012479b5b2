"""The slow oracle: every measure in plain Python, straight from its definition.

Nothing here is fast, and nothing here is shared with the package beyond its tables and domains.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

from moanon.genome import Instance
from moanon.grouping import Grouping

# -- Releases: groups of rows, loss and diversity, straight from the definitions ------------------


def base_rows(instance: Instance) -> list[tuple[int, ...]]:
    """Base value of every quasi-identifier, row by row; the last one where a cell is missing."""
    columns = []
    for name, domain in instance.layout.domains.items():
        column = instance.table.column(name)
        cells = []
        for code in column.codes.tolist():
            found = domain.size - 1 if code < 0 else int(domain.find([column.values[code]])[0])
            assert found >= 0
            cells.append(found)
        columns.append(cells)
    return list(zip(*columns, strict=True))


def blocks_of(bits: str, size: int) -> list[tuple[int, int]]:
    """Cut base values 0 .. size - 1 at the ones of `bits`; for each value its (start, stop)."""
    cuts = [0, *(i + 1 for i, bit in enumerate(bits) if bit == "1"), size]
    return [(start, stop) for start, stop in pairwise(cuts) for _ in range(start, stop)]


def generalized_rows(instance: Instance, genome: str) -> list[tuple[tuple[int, int], ...]]:
    """Block of every quasi-identifier, row by row."""
    at, blocks = 0, []
    for domain in instance.layout.domains.values():
        blocks.append(blocks_of(genome[at : at + domain.size - 1], domain.size))
        at += domain.size - 1
    return [
        tuple(column[value] for column, value in zip(blocks, row, strict=True))
        for row in base_rows(instance)
    ]


def groups_of(rows: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    """Rows that are alike, by what they show."""
    groups: dict[Hashable, list[int]] = {}
    for number, row in enumerate(rows):
        groups.setdefault(row, []).append(number)
    return groups


def weighted_k(sizes: Iterable[int]) -> Fraction:
    """D eq. 6: the mean over rows of the size of the row's group."""
    sizes = list(sizes)
    return Fraction(sum(size * size for size in sizes), sum(sizes))


def spans_of(instance: Instance) -> list[list[int]]:
    """For each column the values that its base values stand for."""
    domains = instance.layout.domains.values()
    return [[domain.several.get(place, 1) for place in range(domain.size)] for domain in domains]


def row_loss(
    row: Sequence[tuple[int, int]], columns: Sequence[int] | Sequence[Sequence[int]]
) -> Fraction:
    """D eq. 3, summed over the quasi-identifiers of one row.

    A column is given by its number of base values, or by the values that each of them stands for.
    """
    lost = Fraction(0)
    for (start, stop), column in zip(row, columns, strict=True):
        values = [1] * column if isinstance(column, int) else column
        if sum(values) > 1:
            lost += Fraction(sum(values[start:stop]) - 1, sum(values) - 1)
    return lost


def distinct_l(values: Sequence[Hashable]) -> int:
    return len(set(values))


def frequency_l(values: Sequence[Hashable]) -> int:
    return len(values) // max(Counter(values).values())


def entropy_l(values: Sequence[Hashable]) -> float:
    shares = [count / len(values) for count in Counter(values).values()]
    return math.exp(-sum(share * math.log(share) for share in shares))


def recursive_l(values: Sequence[Hashable], c: Fraction) -> int:
    """Largest ℓ with r1 < c (r_ℓ + … + r_m); 0 if there is none."""
    r = sorted(Counter(values).values(), reverse=True)
    return max((i for i in range(1, len(r) + 1) if r[0] < c * sum(r[i - 1 :])), default=0)


def sensitive_rows(instance: Instance, name: str) -> list[str | None]:
    """Values of a sensitive column, row by row; None where missing."""
    column = instance.table.column(name)
    return [None if code < 0 else column.values[code] for code in column.codes.tolist()]


# -- The four problems (D §5) ----------------------------------------------------------------------
#
# A group is (size, row loss, diversity); a problem's answer is its thresholds and the kept groups.

Group = tuple[int, Fraction, int]


def groups_with_loss(instance: Instance, genome: str, diversity: str = "distinct") -> list[Group]:
    """Groups of a table under a genome; diversity 0 where nothing is sensitive."""
    rule = {"distinct": distinct_l, "frequency": frequency_l}[diversity]
    shown = generalized_rows(instance, genome)
    spans = spans_of(instance)
    sensitive = [sensitive_rows(instance, name) for name in instance.table.sensitive]
    return [
        (
            len(rows),
            row_loss(row, spans),
            min((rule([column[i] for i in rows]) for column in sensitive), default=0),
        )
        for row, rows in groups_of(shown).items()
    ]


def share_of(eta: float, groups: Sequence[Group]) -> Fraction:
    """η n, with η as the decimal number it was written as."""
    return Fraction(str(eta)) * sum(size for size, _, _ in groups)


def within_limit(groups: Sequence[Group], eta: float) -> tuple[int, list[Group]]:
    """P2, eq. 7: d, the largest with |E_1| + … + |E_d| <= η n, and the groups larger than d."""
    d = 0
    while sum(size for size, _, _ in groups if size <= d + 1) <= share_of(eta, groups):
        d += 1
    return d, [group for group in groups if group[0] > d]


def above_weighted_k(groups: Sequence[Group]) -> list[Group]:
    """P3: the groups that are not smaller than weighted-k."""
    least = weighted_k(size for size, _, _ in groups)
    return [group for group in groups if group[0] >= least]


def above_weighted_l(groups: Sequence[Group]) -> tuple[Fraction, list[Group]]:
    """P3 for ℓ: the mean over rows of their group's ℓ, and the groups that are not below it."""
    least = Fraction(sum(size * ell for size, _, ell in groups), sum(g[0] for g in groups))
    return least, [group for group in groups if group[2] >= least]


def ordered_safety(
    groups: Sequence[Group], eta: float, prefer: str
) -> tuple[int, int, list[Group]]:
    """P4, eq. 8-9: give up classes E_{i,j} in order until the running total exceeds η n."""

    def place(group: Group) -> tuple[int, int]:
        size, _, ell = group
        return (ell, size) if prefer == "k" else (size, ell)

    for here in sorted({place(group) for group in groups}):
        if sum(g[0] for g in groups if place(g) <= here) > share_of(eta, groups):
            d1, d2 = (here[1], here[0]) if prefer == "k" else here
            return d1, d2, [group for group in groups if place(group) >= here]
    raise AssertionError("η must be below 1")


def strict_safety(groups: Sequence[Group], eta: float, prefer: str) -> tuple[int, int, list[Group]]:
    """P4, strict: the best (d1, d2) such that giving up all that fails either stays within η n."""
    found = strict_pairs(groups, eta)
    key = (lambda p: (p[0], p[1])) if prefer == "k" else (lambda p: (p[1], p[0]))
    d1, d2 = max(found, key=key)
    return d1, d2, found[d1, d2]


def strict_pairs(groups: Sequence[Group], eta: float) -> dict[tuple[int, int], list[Group]]:
    """Every pair of thresholds that occurs and stays within η n, with the groups it keeps."""
    found = {}
    for d1 in {size for size, _, _ in groups}:
        for d2 in {ell for _, _, ell in groups}:
            kept = [group for group in groups if group[0] >= d1 and group[2] >= d2]
            lost = sum(size for size, _, _ in groups) - sum(size for size, _, _ in kept)
            if lost <= share_of(eta, groups):
                found[d1, d2] = kept
    return found


def attained(kept: Sequence[Group]) -> tuple[int, int]:
    """Smallest size and smallest diversity of what is kept."""
    return min(size for size, _, _ in kept), min(ell for _, _, ell in kept)


def losses(
    groups: Sequence[Group], kept: Sequence[Group], columns: int
) -> tuple[Fraction, Fraction]:
    """GL and SL as fractions of n q."""
    rows = sum(size for size, _, _ in groups)
    gl = sum((size * loss for size, loss, _ in kept), Fraction(0)) / (rows * columns)
    return gl, Fraction(rows - sum(size for size, _, _ in kept), rows)


# -- What was found -------------------------------------------------------------------------------


def members(grouping: Grouping) -> list[list[int]]:
    """Rows of each group."""
    found: list[list[int]] = [[] for _ in range(len(grouping))]
    for row, group in enumerate(grouping.row_group.tolist()):
        if group >= 0:
            found[group].append(row)
    return found


def is_covered(points: Iterable[Sequence[float]], others: Sequence[Sequence[float]]) -> bool:
    """Whether each point has one among the others that is nowhere larger."""
    return all(
        any(all(o <= p for o, p in zip(other, point, strict=True)) for other in others)
        for point in points
    )
