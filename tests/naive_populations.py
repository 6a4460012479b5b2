"""The slow twin of large populations, utility loss and COUNT queries: row by row, in fractions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from itertools import product

from moanon.data.domain import Domain, IntervalDomain, TreeDomain
from moanon.genome import Instance
from moanon.grouping import Grouping
from tests import naive

#: For some columns, by number, the base values that a population has there.
Predicate = tuple[tuple[int, tuple[int, ...]], ...]
Weights = Mapping[Hashable, Fraction]


def node_sets(domain: Domain, widths: tuple[int, ...] | None) -> set[tuple[int, ...]]:
    """All nodes of a column, as sets of base values."""
    found = {(value,) for value in range(domain.size)}
    known = list(range(domain.size - domain.has_missing))  # what ranges are made of
    if isinstance(domain, TreeDomain):
        tree = domain.hierarchy
        found |= {tuple(range(a, b)) for a, b in zip(tree.starts, tree.stops, strict=True)}
    else:
        first = 0
        if isinstance(domain, IntervalDomain):
            known = known[1:-1] if domain.steps.clamped else known
            first = domain.steps.first
            if widths is None:
                widths = tuple(2**i for i in range(1, 20) if 2**i < len(known))
        for width in widths or ():
            numbers = {value: (first + i) // width for i, value in enumerate(known)}
            for number in set(numbers.values()):
                found.add(tuple(v for v in known if numbers[v] == number))
    return found - {tuple(range(domain.size))}


def populations(
    instance: Instance, min_support: Fraction, widths: Mapping[str, tuple[int, ...]]
) -> dict[Predicate, list[int]]:
    """Every conjunction of at most one node per column with enough rows, and those rows."""
    rows = naive.base_rows(instance)
    choices = [
        [None, *sorted(node_sets(domain, widths.get(name)))]
        for name, domain in instance.layout.domains.items()
    ]
    found = {}
    for chosen in product(*choices):
        predicate = tuple((column, node) for column, node in enumerate(chosen) if node is not None)
        if not predicate:
            continue
        members = [i for i, row in enumerate(rows) if all(row[c] in node for c, node in predicate)]
        if len(members) >= min_support * len(rows):
            found[predicate] = members
    return found


def told(
    grouping: Grouping, column: str, predicate: Predicate, *, bucketized: bool
) -> dict[Hashable, Fraction]:
    """Rows of a population by sensitive value, as a release tells them."""
    values, rows = (
        naive.sensitive_rows(grouping.instance, column),
        naive.base_rows(grouping.instance),
    )
    found: dict[Hashable, Fraction] = {}
    for group, members in enumerate(naive.members(grouping)):
        if not grouping.kept[group]:
            continue
        if bucketized:
            inside = sum(all(rows[i][c] in node for c, node in predicate) for i in members)
            share = Fraction(inside, len(members))
        else:
            share = Fraction(1)
            for c, node in predicate:
                start, stop = int(grouping.starts[c, group]), int(grouping.stops[c, group])
                share *= Fraction(sum(start <= v < stop for v in node), stop - start)
        for i in members:
            found[values[i]] = found.get(values[i], Fraction(0)) + share
    return found


def divergence(p: Weights, r: Weights) -> float:
    """Jensen-Shannon divergence of two distributions, given as weights."""
    of_p, of_r = sum(p.values()), sum(r.values())
    total = []
    for value in {*p, *r}:
        one, other = Fraction(p.get(value, 0)) / of_p, Fraction(r.get(value, 0)) / of_r
        for share in (one, other):
            if share:
                total.append(float(share) * math.log(2 * share / (one + other)) / 2)
    return math.fsum(total)


def utility_loss(
    grouping: Grouping,
    column: str,
    found: Mapping[Predicate, list[int]],
    *,
    bucketized: bool = False,
) -> float:
    values = naive.sensitive_rows(grouping.instance, column)
    everybody = told(grouping, column, (), bucketized=bucketized)
    losses = []
    for predicate, members in found.items():
        truth = Counter(values[i] for i in members)
        estimate = told(grouping, column, predicate, bucketized=bucketized)
        if not sum(estimate.values()):
            estimate = everybody
        losses.append(divergence({s: Fraction(n) for s, n in truth.items()}, estimate))
    return math.fsum(losses) / len(losses)


def counted(
    grouping: Grouping,
    column: str,
    predicate: Predicate,
    wanted: Iterable[Hashable],
    *,
    bucketized: bool,
) -> Fraction:
    """What a release answers to a COUNT query."""
    found = told(grouping, column, predicate, bucketized=bucketized)
    return sum((found.get(value, Fraction(0)) for value in wanted), Fraction(0))
