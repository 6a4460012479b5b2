"""Large subpopulations of a table: whom a release should still say something about (L §4.2).

A *subpopulation* is a conjunction of at most one *node* per quasi-identifier, such as "age [20-39]
and sex Female"; it is *large* where at least a share ``min_support`` of the rows meet it. All of
them are found, once per table, from its cells. Nodes are

- every base value;
- of a tree: its inner nodes;
- of an interval column: ranges of steps, 2, 4, 8, ... steps wide as long as they are shorter than
  the domain; or as wide as `SubpopulationSpec.ancestors` says (with steps of a year, ``(5, 10, 20,
  40)`` is L's age). Ranges begin at multiples of their width from the column's origin, so that ten
  years are ``[20-29]``; at the ends of the domain they are cut off;
- of an ordered column: ranges as wide as `SubpopulationSpec.ancestors` says, counted from its first
  value. Without a word, none: the order of races says nothing about people.

The whole domain is no node, since it leaves nobody out; equal sets of base values are one; missing
values are a base value, and in no range, as the clamped ends of an interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from moanon.arrays import Floats, Ints, Outlined
from moanon.data.cells import Cells, SensitiveCounts
from moanon.data.domain import Domain, IntervalDomain, TreeDomain
from moanon.errors import ConfigError, got

if TYPE_CHECKING:
    from moanon.kernels.large_populations import BoxParts

#: A share of the rows that makes a subpopulation large, where nobody says it (L §5.1).
MIN_SUPPORT = 0.05
#: More subpopulations than this are refused, unless somebody asks for them.
MOST_POPULATIONS = 100_000
#: Numbers kept for all subpopulations together; more would not fit into memory.
_MOST_NUMBERS = 200_000_000


@dataclass(frozen=True)
class SubpopulationSpec:
    """Which subpopulations of a table count."""

    min_support: float = MIN_SUPPORT  # least share of the rows, in (0, 1]
    #: For interval and ordered columns the widths of ranges, in base values.
    ancestors: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    most: int = MOST_POPULATIONS  # more subpopulations are refused

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        share = self.min_support
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            raise ConfigError(f"min_support must be in (0, 1]. Got {got(share)}")
        if isinstance(self.most, bool) or not isinstance(self.most, int) or self.most < 1:
            raise ConfigError(
                f"the most populations must be a whole number, at least 1. Got {got(self.most)}"
            )
        for column, widths in self.ancestors.items():
            for width in widths:
                if isinstance(width, bool) or not isinstance(width, int) or width < 2:
                    raise ConfigError(
                        f"ancestors of column {column!r} must be widths of at least 2 base values. "
                        f"Got {got(width)}"
                    )

    def least_rows(self, rows: int) -> int:
        """Rows that a subpopulation of a table of `rows` must have; exact on the digits as written.

        >>> SubpopulationSpec(0.05).least_rows(45222), SubpopulationSpec(0.1).least_rows(30)
        (2262, 3)
        """
        return max(1, ceil(Fraction(repr(float(self.min_support))) * rows))


@dataclass(frozen=True, eq=False)
class ShownParts:
    """A table as a release shows it: parts, each spread evenly over the base values of its box."""

    starts: Ints  # boxes (columns, parts): base values ``start .. stop - 1``
    stops: Ints
    weight: Floats  # how much of the sensitive values of its owner each part brings
    owner: Ints
    #: The sensitive values of owners, compressed: starts, values, rows. Owner ``i`` has ``rows[j]``
    #: of value ``values[j]``, ``j`` in ``starts[i] .. starts[i+1] - 1``.
    histograms: tuple[Ints, Ints, Floats]
    number: int  # of sensitive values
    cell: Ints | None = None  # the cell that each part is of, where boxes are single cells

    @classmethod
    def of_cells(cls, cells: Cells, counts: SensitiveCounts) -> ShownParts:
        """The table as it is: every cell shows its own values."""
        codes, each = cells.codes.astype(np.int64), np.arange(len(cells))
        values, rows = counts.values.astype(np.int64), counts.counts.astype(np.float64)
        own = counts.starts, values, rows
        return cls(codes, codes + 1, np.ones(len(cells)), each, own, len(counts.labels), each)

    def total(self) -> Floats:
        """Rows of all owners by sensitive value."""
        _, values, rows = self.histograms
        return np.bincount(values, weights=rows, minlength=self.number).astype(np.float64)

    def arrays(self) -> BoxParts:
        """The same as kernels take it."""
        from moanon.kernels.large_populations import BoxParts  # a rule is known without it

        starts, stops = (np.ascontiguousarray(ends) for ends in (self.starts, self.stops))
        return BoxParts(starts, stops, self.weight, self.owner, *self.histograms)


def count_histograms(
    owner: Ints, value: Ints, rows: Ints, owners: int, number: int
) -> tuple[Ints, Ints, Floats]:
    """Add up rows of owners for `ShownParts`; what has no owner (below 0) is left out."""
    has = owner >= 0
    keys, place = np.unique(owner[has] * number + value[has], return_inverse=True)
    total = np.bincount(place.reshape(-1), weights=rows[has], minlength=len(keys))
    starts = np.searchsorted(keys, np.arange(owners + 1) * number)
    return starts.astype(np.int64), keys % number, total.astype(np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class Subpopulations(Outlined):
    """All large subpopulations of a table, in the order of `moanon.kernels.large_populations`.

    Examples
    --------
    >>> import pandas as pd
    >>> from moanon.data.domain import OrderedDomain
    >>> from moanon.engines import read_table
    >>> frame = pd.DataFrame({"sex": list("mfmm"), "ill": list("abab")})
    >>> table = read_table(frame, {"sex": "quasi", "ill": "sensitive"})
    >>> domains = {"sex": OrderedDomain(("f", "m"))}
    >>> found = Subpopulations.find(domains, Cells.build(table, domains), SubpopulationSpec(0.5))
    >>> list(found.predicates()), found.truth["ill"].tolist()
    ([{'sex': 'm'}], [[2.0, 1.0]])
    """

    domains: Mapping[str, Domain]  # the quasi-identifiers
    rule: SubpopulationSpec
    #: What subpopulations are made of (3, nodes): column, first base value, the one after the last.
    nodes: Ints
    last_node: Ints  # of each subpopulation
    depth: Ints  # its number of nodes less 1
    rows: Ints
    #: For each sensitive column how many rows (subpopulations, values) have each of its values.
    truth: Mapping[str, Floats]

    @classmethod
    def find(
        cls, domains: Mapping[str, Domain], cells: Cells, rule: SubpopulationSpec
    ) -> Subpopulations:
        """Find all large subpopulations: at least one, and no more than the rule allows."""
        from moanon.kernels.large_populations import find_populations  # as above

        least = rule.least_rows(cells.rows)
        nodes = np.array(list(_nodes(domains, cells, rule, least)), dtype=np.int64).reshape(-1, 3)
        by_field = np.ascontiguousarray(nodes.T)
        widest = max(domain.size for domain in domains.values())
        values = max(1, sum(len(counts.labels) for counts in cells.sensitive))
        most = min(rule.most, _MOST_NUMBERS // values)  # before their numbers are kept
        last, depth, rows = find_populations(
            cells.codes, cells.counts, widest, by_field, least, most
        )
        _check_number(len(last), values, rule)
        found = cls(domains, rule, by_field, last, depth, rows, {})
        truth = {
            counts.name: found.estimate(ShownParts.of_cells(cells, counts))
            for counts in cells.sensitive
        }
        return replace(found, truth=truth)

    def __len__(self) -> int:
        return len(self.last_node)

    def estimate(self, parts: ShownParts) -> Floats:
        """Rows (subpopulations, values) of each by sensitive value, as parts show them."""
        from moanon.kernels.large_populations import estimate_populations  # as above

        out = np.zeros((len(self), parts.number))
        estimate_populations(self.nodes, self.last_node, self.depth, parts.arrays(), out)
        return out

    def predicates(self) -> Iterator[dict[str, str]]:
        """For each subpopulation, the label of the block that it names in each of its columns."""
        names = list(self.domains)
        above: list[tuple[str, str]] = []
        for node, depth in zip(self.last_node.tolist(), self.depth.tolist(), strict=True):
            column, start, stop = self.nodes[:, node].tolist()
            name = names[column]
            label = self.domains[name].label(start, stop)
            above = [*above[:depth], (name, label)]
            yield dict(above)


def _check_number(number: int, values: int, rule: SubpopulationSpec) -> None:
    """Refuse subpopulations that nobody could work with."""
    if number == 0:
        raise ConfigError(
            f"no population has a share of {rule.min_support:g} of the rows; take a smaller "
            "min_support"
        )
    if number > rule.most:
        raise ConfigError(
            f"more than {rule.most:,} populations have a share of {rule.min_support:g} of the "
            "rows; take a larger min_support, or allow more of them (max_populations)"
        )
    if number * values > _MOST_NUMBERS:
        raise ConfigError(
            f"{number:,} populations or more have a share of {rule.min_support:g} of the rows, and "
            f"with {values:,} sensitive values that is more than memory is for; take a larger "
            "min_support"
        )


def _nodes(
    domains: Mapping[str, Domain], cells: Cells, rule: SubpopulationSpec, least: int
) -> Iterator[tuple[int, int, int]]:
    """Nodes that enough rows are in: column, start and stop, column by column."""
    for name in rule.ancestors:
        if name not in domains or isinstance(domains[name], TreeDomain):
            raise ConfigError(
                f"ancestors are of interval and ordered quasi-identifiers. Got {name!r}"
            )
    for column, (name, domain) in enumerate(domains.items()):
        blocks = {(value, value + 1) for value in range(domain.size)}
        blocks |= set(_ancestors(domain, rule.ancestors.get(name)))
        blocks.discard((0, domain.size))
        rows = np.bincount(cells.codes[column], weights=cells.counts, minlength=domain.size)
        below = np.concatenate(([0], np.cumsum(rows.astype(np.int64))))
        for start, stop in sorted(blocks):
            if below[stop] - below[start] >= least:
                yield column, start, stop


def _ancestors(domain: Domain, widths: tuple[int, ...] | None) -> Iterator[tuple[int, int]]:
    """Blocks of a column that hold several base values, the whole domain perhaps among them."""
    if isinstance(domain, TreeDomain):
        yield from zip(domain.hierarchy.starts, domain.hierarchy.stops, strict=True)
        return
    low, high = 0, domain.size - domain.has_missing  # base values that ranges are made of
    first = 0  # of them, in the count that widths go by
    if isinstance(domain, IntervalDomain):
        first = domain.steps.first
        if domain.steps.clamped:
            low, high = low + 1, high - 1  # what is below or above has no width
        widths = tuple(_doubled(high - low)) if widths is None else widths
    for width in widths or ():
        for place in range(first // width, (first + high - low - 1) // width + 1):
            start, stop = place * width - first, (place + 1) * width - first
            yield low + max(start, 0), min(low + stop, high)


def _doubled(values: int) -> Iterator[int]:
    width = 2
    while width < values:
        yield width
        width *= 2
