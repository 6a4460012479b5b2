"""Random COUNT queries, and how wrong a release answers them (L §5.2).

A query asks for the rows that have one of some values in each of `dimensions` quasi-identifiers,
and one of some sensitive values. Of an interval or an order it names neighbouring base values, of a
tree any leaves. What *selectivity* means is open in L, so there are two readings:

- ``whole``: the share of all combinations that a query names. With d quasi-identifiers and the
  sensitive column, each names a share of ``selectivity ** (1 / (d + 1))`` of its values. Errors
  then fall with the selectivity and with d, as in L's figures.
- ``column``: the share of its values that each column names, as L's text says. The more columns,
  the fewer rows are then asked for, so that errors rise with d.

At least one value is named, and a query that no row of the table answers is drawn again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import floor
from typing import Literal, get_args

import numpy as np

from moanon.arrays import Bools, Floats, Ints
from moanon.data.domain import Domain, TreeDomain
from moanon.data.populations import ShownParts
from moanon.errors import ConfigError, got
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.kernels.large_populations import count_matches, estimate_counts, match_cells
from moanon.measures.loss import shown_parts

#: What a selectivity is a share of.
Reading = Literal["whole", "column"]
#: As in L §5.2.
QUERIES, DIMENSIONS, SELECTIVITY = 1000, 4, 0.05
#: More queries than this are a slip.
_MOST_QUERIES = 100_000
#: Cells of all queries together that are listed once; 8 bytes each.
_MOST_MATCHES = 25_000_000
#: Queries are drawn again so often before there are taken to be none.
_TRIES = 200


@dataclass(frozen=True, eq=False)
class CountQueries:
    """Queries on one table, and their true answers.

    Attributes
    ----------
    instance : Instance
    sensitive : str
        The sensitive column.
    columns : array (queries, dimensions)
        The quasi-identifiers that each looks at.
    below : array (queries, dimensions, base values + 1)
        How many of the first so many base values it names.
    wanted : array (queries, values)
        The sensitive values that it counts.
    answers : array (queries,)
        Rows of the table that it counts, at least one.
    """

    instance: Instance
    sensitive: str
    columns: Ints
    below: Ints
    wanted: Bools
    answers: Floats

    @classmethod
    def draw(
        cls,
        instance: Instance,
        sensitive: str,
        number: int = QUERIES,
        *,
        dimensions: int = DIMENSIONS,
        selectivity: float = SELECTIVITY,
        reading: Reading = "whole",
        seed: int = 1,
    ) -> CountQueries:
        """Draw queries at random; the same seed gives the same ones.

        Raises
        ------
        ConfigError
            If a number means nothing, there are fewer columns than dimensions, or hardly any query
            has an answer.
        """
        names = instance.table.sensitive
        if sensitive not in names:
            raise ConfigError(f"column {sensitive!r} is not sensitive; queries count its values")
        _check(instance, number, dimensions, selectivity, reading, seed)
        values = len(instance.cells.sensitive[names.index(sensitive)].labels)
        rng = np.random.default_rng(seed)
        share = selectivity ** (1 / (dimensions + 1)) if reading == "whole" else selectivity
        found: list[CountQueries] = []
        left = number
        for _ in range(_TRIES):
            tried = cls._try(instance, sensitive, max(left, 100), dimensions, values, share, rng)
            answered = np.flatnonzero(tried.answers > 0)[:left]
            found.append(tried._take(answered))
            left -= len(answered)
            if not left:
                return cls._join(found)
        raise ConfigError(
            f"hardly any query of {dimensions} columns with a selectivity of {selectivity:g} "
            "counts a row; take fewer columns or a larger selectivity"
        )

    @classmethod
    def _try(
        cls,
        instance: Instance,
        sensitive: str,
        number: int,
        dimensions: int,
        values: int,
        share: float,
        rng: np.random.Generator,
    ) -> CountQueries:
        domains = list(instance.layout.domains.values())
        widest = max(domain.size for domain in domains)
        columns = np.empty((number, dimensions), dtype=np.int64)
        below = np.zeros((number, dimensions, widest + 1), dtype=np.int64)
        wanted = np.zeros((number, values), dtype=bool)
        for query in range(number):
            columns[query] = rng.permutation(len(domains))[:dimensions]
            for i, column in enumerate(columns[query].tolist()):
                named = _draw_values(domains[column], share, rng)
                below[query, i, 1 : len(named) + 1] = np.cumsum(named)
            wanted[query, rng.permutation(values)[: _several(values, share, rng)]] = True
        drawn = cls(instance, sensitive, columns, below, wanted, np.zeros(number))
        counts = instance.cells.sensitive[instance.table.sensitive.index(sensitive)]
        answers = drawn._estimate(ShownParts.of_cells(instance.cells, counts))
        return cls(instance, sensitive, columns, below, wanted, answers)

    def _take(self, which: Ints) -> CountQueries:
        return CountQueries(
            self.instance,
            self.sensitive,
            self.columns[which],
            self.below[which],
            self.wanted[which],
            self.answers[which],
        )

    @staticmethod
    def _join(found: list[CountQueries]) -> CountQueries:
        first = found[0]
        return CountQueries(
            first.instance,
            first.sensitive,
            np.concatenate([each.columns for each in found]),
            np.concatenate([each.below for each in found]),
            np.concatenate([each.wanted for each in found]),
            np.concatenate([each.answers for each in found]),
        )

    def __len__(self) -> int:
        return len(self.answers)

    def estimate(self, grouping: Grouping, *, bucketized: bool = False) -> Floats:
        """What a release answers, as `moanon.measures.loss` reads it; suppressed rows lack."""
        released = grouping.released()
        if not len(released):
            return np.zeros(len(self))
        return self._estimate(shown_parts(released, self.sensitive, bucketized=bucketized))

    def error(self, grouping: Grouping, *, bucketized: bool = False) -> float:
        """Mean relative error of the answers of a release, ``|estimate - true| / true``."""
        estimates = self.estimate(grouping, bucketized=bucketized)
        return float(np.mean(np.abs(estimates - self.answers) / self.answers))

    def _estimate(self, parts: ShownParts) -> Floats:
        out = np.zeros(len(self))
        if parts.cell is None or self._matches is None:
            estimate_counts(self.columns, self.below, self.wanted, parts.arrays(), out)
            return out
        order = np.argsort(parts.cell, kind="stable")
        begins = np.searchsorted(parts.cell[order], np.arange(len(self.instance.cells) + 1))
        sorted_parts = parts.arrays()._replace(weight=parts.weight[order], owner=parts.owner[order])
        count_matches(*self._matches, self.wanted, begins, sorted_parts, out)
        return out

    @cached_property
    def _matches(self) -> tuple[Ints, Ints] | None:
        """The cells that each query is about, the same for all releases; None if too many."""
        starts, cells = match_cells(
            self.columns, self.below, self.instance.cells.codes, _MOST_MATCHES
        )
        return (starts, cells) if len(cells) else None


def _several(number: int, share: float, rng: np.random.Generator) -> int:
    """How many of some values make a share, at least one.

    Where that is no whole number, the one below or above, so that it is right on average: of two
    values every query would else name one, whatever the share.
    """
    wanted = number * share
    return max(1, floor(wanted) + int(rng.random() < wanted - floor(wanted)))


def _draw_values(domain: Domain, share: float, rng: np.random.Generator) -> Bools:
    """Name some base values of a column: neighbours, or any leaves of a tree."""
    named = np.zeros(domain.size, dtype=bool)
    several = _several(domain.size, share, rng)
    if isinstance(domain, TreeDomain):
        named[rng.permutation(domain.size)[:several]] = True
    else:
        start = int(rng.integers(0, domain.size - several + 1))
        named[start : start + several] = True
    return named


def _check(
    instance: Instance, number: int, dimensions: int, selectivity: float, reading: str, seed: int
) -> None:
    """Refuse numbers that mean nothing."""
    for name, value, most in (
        ("queries", number, _MOST_QUERIES),
        ("dimensions", dimensions, len(instance.layout.columns)),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            rule = f"{name} must be a whole number from 1 to {most}"
            why = ", the quasi-identifiers of the table" if name == "dimensions" else ""
            raise ConfigError(f"{rule}{why}. Got {got(value)}")
    if not isinstance(selectivity, int | float) or not 0 < selectivity <= 1:
        raise ConfigError(f"selectivity must be in (0, 1]. Got {got(selectivity)}")
    if reading not in get_args(Reading):
        raise ConfigError(f"a selectivity is of the whole or of each column. Got {got(reading)}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ConfigError(f"seed must be a whole number, at least 0. Got {got(seed)}")
