"""Releases on the plane of privacy loss and utility loss, and the efficient ones among them.

Random COUNT queries (`CountQueries`, L §5.2) show how wrong a release answers. A query asks for the
rows that have one of some values in each of `dimensions` quasi-identifiers, and one of some
sensitive values. Of an interval or an order it names neighbouring base values, of a tree any
leaves. What *selectivity* means is open in L, so there are two readings:

- ``whole``: the share of all combinations that a query names. With d quasi-identifiers and the
  sensitive column, each names a share of ``selectivity ** (1 / (d + 1))`` of its values. Errors
  then fall with the selectivity and with d, as in L's figures.
- ``column``: the share of its values that each column names, as L's text says. The more columns,
  the fewer rows are then asked for, so that errors rise with d.

At least one value is named, and a query that no row of the table answers is drawn again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import floor
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from moanon.arrays import Bools, Floats, Ints, Outlined
from moanon.data.domain import Domain, TreeDomain
from moanon.data.populations import MIN_SUPPORT, MOST_POPULATIONS, ShownParts, SubpopulationSpec
from moanon.errors import ConfigError, DataError, got
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.kernels.large_populations import count_matches, estimate_counts, match_cells
from moanon.measures import find_measure
from moanon.measures.evaluate import score_grouping
from moanon.measures.loss import shown_parts, utility_losses
from moanon.wording import Grid, Part, Worded, counted

if TYPE_CHECKING:
    import pandas as pd

#: Losses that agree in so many digits behind the point are the same.
_DIGITS = 12
#: Efficient releases that are shown; all are in the frame.
_SHOWN = 12
#: How a grouping is published: blocks in the place of quasi-identifiers, or these as they are and
#: the sensitive values of each group permuted.
Method = Literal["generalized", "bucketized"]
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


@dataclass(frozen=True)
class PlacedRelease:
    """Where a release lies.

    `k` counts the rows of its smallest group or bucket. A bucket protects nobody from being found
    to be in the table: quasi-identifiers are published as they are. Losses are in nats, as in the
    package's docstring; `query_error` is the mean relative error of COUNT queries, None where none
    were asked. A release is `efficient` if no other has less of both losses, or as much of one and
    less of the other.
    """

    name: str
    method: Method
    k: int
    groups: int
    suppressed: int
    p_loss: float
    u_loss: float
    query_error: float | None
    efficient: bool = False


@dataclass(frozen=True, repr=False)
class Frontier(Worded, Outlined):
    """Releases of one table on one plane.

    `releases` are in the order they were given, the bucketized twin of each behind it. There are so
    many large `populations` by the `rule`. `no_quasi` is the utility loss without any
    quasi-identifier: more can hardly be lost.
    """

    sensitive: str
    releases: tuple[PlacedRelease, ...]
    populations: int
    rule: SubpopulationSpec
    no_quasi: float

    def __len__(self) -> int:
        return len(self.releases)

    @property
    def efficient(self) -> tuple[PlacedRelease, ...]:
        """The undominated ones, by falling privacy loss."""
        found = [release for release in self.releases if release.efficient]
        return tuple(sorted(found, key=lambda release: (-release.p_loss, release.u_loss)))

    def to_frame(self) -> pd.DataFrame:
        """One row for each release."""
        import pandas as pd

        return pd.DataFrame([asdict(release) for release in self.releases])

    def parts(self, *, everything: bool = False) -> Iterator[Part]:
        """Say how many releases are efficient, and show some of them, the most private first."""
        yield (
            f"{counted(len(self), 'release')} by {self.sensitive}, "
            f"{counted(self.populations, 'population')} of at least {self.rule.min_support:.6g} of "
            f"the rows; without any quasi-identifier utility loss is {self.no_quasi:.4f}"
        )
        efficient = sorted(self.efficient, key=lambda release: release.p_loss)
        step = 1 if everything else max(1, -(-len(efficient) // _SHOWN))
        shown = efficient[::step]
        some = ":" if step == 1 else f", of which {len(shown)} are shown:"
        yield f"{counted(len(efficient), 'release')} efficient{some}"
        rows = []
        for each in shown:
            error = "-" if each.query_error is None else f"{each.query_error:.1%}"
            losses = (f"{each.p_loss:.4f}", f"{each.u_loss:.5f}")
            rows.append((each.name, each.method, *losses, error, f"{each.groups:,}"))
        headers = ("release", "published", "p_loss", "u_loss", "query_error", "groups")
        yield Grid(headers, rows, right=range(2, 6))
        if any(release.method == "bucketized" for release in self.releases):
            yield (
                "note: buckets show quasi-identifiers as they are: k does not protect against "
                "presence disclosure there"
            )


def place_releases(
    groupings: Iterable[Grouping] | Mapping[str, Grouping],
    *,
    sensitive: str | None = None,
    min_support: float | None = None,
    ancestors: Mapping[str, Sequence[int]] | None = None,
    most: int = MOST_POPULATIONS,
    bucketize: bool = False,
    queries: int = 0,
    dimensions: int | None = None,
    selectivity: float = SELECTIVITY,
    reading: Reading = "whole",
    seed: int = 1,
) -> Frontier:
    """Place anonymizations of one table on the plane of privacy loss and utility loss.

    Parameters
    ----------
    groupings : iterable of Grouping, or mapping of str to Grouping
        Of the same rows and base values; each is called by its key, or by its own name.
    sensitive : str, optional
        The sensitive column. Default: the only one.
    min_support : float, optional
        Least share of rows of a population. Default: as the table says, else 0.05.
    ancestors : mapping of str to sequence of int, optional
        Widths of ranges of interval and ordered columns; see `moanon.data.populations`. Default:
        as the table says.
    most : int
        More populations are refused.
    bucketize : bool
        Also place each release with its groups as buckets.
    queries : int
        How many random COUNT queries to ask; 0 for none.
    dimensions : int, optional
        Quasi-identifiers that each looks at. Default: 4, as far as there are any.
    selectivity, reading, seed
        Of these; see `CountQueries.draw`.

    Raises
    ------
    ConfigError
        If there is no grouping or no sensitive column, or a number means nothing.
    DataError
        If groupings are of different tables, or it is not known what their labels mean.
    """
    named = _named(groupings)
    first = next(iter(named.values())).instance
    column = find_sensitive(first, sensitive)
    rule = _rule(first, min_support, ancestors, most)
    instance = _only(first, column, rule)
    populations, columns = instance.populations, instance.layout.columns
    asked = None
    if queries:
        asked = CountQueries.draw(
            instance,
            column,
            queries,
            dimensions=min(DIMENSIONS, len(columns)) if dimensions is None else dimensions,
            selectivity=selectivity,
            reading=reading,
            seed=seed,
        )
    methods: tuple[Method, ...] = ("generalized", "bucketized") if bucketize else ("generalized",)
    placed = []
    for name, grouping in named.items():
        _refuse_stranger(first, grouping, column)
        here = replace(grouping, instance=instance)
        placed += [_place(here, name, column, method, asked) for method in methods]
    # Sums over the same groups in another order differ in their last digits.
    points = np.array([[each.p_loss, each.u_loss] for each in placed]).round(_DIGITS)
    efficient = undominated(points)
    return Frontier(
        column,
        tuple(replace(each, efficient=bool(e)) for each, e in zip(placed, efficient, strict=True)),
        len(populations),
        rule,
        max(utility_losses(_one_group(instance)).values()),
    )


def undominated(points: Floats) -> Bools:
    """Of points (points, 2) of which less is better, those that no other one beats.

    >>> undominated(np.array([[0.0, 2.0], [1.0, 1.0], [1.0, 2.0], [1.0, 1.0]])).tolist()
    [True, True, False, True]
    """
    # By the first, then by the second: whatever beats a point stands before it.
    different, which = np.unique(points, axis=0, return_inverse=True)
    least = np.minimum.accumulate(different[:, 1])
    beats_all_before = np.append(True, different[1:, 1] < least[:-1])
    return np.asarray(beats_all_before[which.reshape(-1)])


def find_sensitive(instance: Instance, wanted: str | None) -> str:
    """The sensitive column that is meant."""
    names = instance.table.sensitive
    if wanted is not None:
        if wanted not in names:
            known = f"; sensitive are {', '.join(names)}" if names else ""
            raise ConfigError(f"column {wanted!r} is not a sensitive column of the table{known}")
        return wanted
    if not names:
        raise ConfigError(
            "the frontier is about a sensitive column, and the table has none; declare one, or "
            "name one with sensitive=…"
        )
    if len(names) > 1:
        raise ConfigError(
            f"the frontier is about one sensitive column; choose one of {', '.join(names)}"
        )
    return names[0]


def _named(groupings: Iterable[Grouping] | Mapping[str, Grouping]) -> dict[str, Grouping]:
    if isinstance(groupings, Mapping):
        named = dict(groupings)
    else:
        listed = list(groupings)
        named = {each.name or str(number): each for number, each in enumerate(listed, 1)}
        if len(named) < len(listed):
            raise ConfigError("several groupings have the same name; give a mapping of names")
    if not named:
        raise ConfigError("a frontier needs at least one release. Got none")
    return named


def _rule(
    instance: Instance,
    min_support: float | None,
    ancestors: Mapping[str, Sequence[int]] | None,
    most: int,
) -> SubpopulationSpec:
    known = instance.subpopulation_spec or SubpopulationSpec(MIN_SUPPORT)
    widths = known.ancestors
    if ancestors is not None:
        widths = {**widths, **{name: tuple(each) for name, each in ancestors.items()}}
    return SubpopulationSpec(
        known.min_support if min_support is None else min_support, widths, most
    )


def _only(instance: Instance, column: str, rule: SubpopulationSpec) -> Instance:
    """The table with one sensitive column, and populations."""
    others = [name for name in instance.table.sensitive if name != column]
    return replace(instance.without(others), subpopulation_spec=rule)


def _refuse_stranger(first: Instance, grouping: Grouping, column: str) -> None:
    """Refuse what cannot be compared."""
    there = grouping.instance
    if there.table.digest != first.table.digest or there.cells.rows != first.cells.rows:
        raise DataError(f"{grouping.name or 'a grouping'} is not of the same table as the others")
    if list(there.layout.domains.items()) != list(first.layout.domains.items()):
        raise DataError(
            f"{grouping.name or 'a grouping'} has other quasi-identifiers or base values than the "
            "others, and so other populations; declare the columns alike"
        )
    if not grouping.has_meaning:
        raise DataError(
            f"{grouping.name or 'a grouping'} has labels of which nobody says what they mean; "
            "give a configuration"
        )
    if column in grouping.absent:
        raise DataError(f"{grouping.name or 'a grouping'} does not show the column {column!r}")


def _place(
    grouping: Grouping, name: str, column: str, method: Method, asked: CountQueries | None
) -> PlacedRelease:
    bucketized, groups = method == "bucketized", int(np.count_nonzero(grouping.kept))
    divergence, p_loss = find_measure("t_js"), 0.0
    if groups:  # who releases nothing gives nothing away
        p_loss = float(divergence.of(score_grouping(grouping, [divergence]))[0])
    return PlacedRelease(
        name,
        method,
        grouping.k,
        groups,
        grouping.suppressed,
        p_loss,
        utility_losses(grouping, bucketized=bucketized)[column],
        None if asked is None else asked.error(grouping, bucketized=bucketized),
    )


def _one_group(instance: Instance) -> Grouping:
    """All rows as one group, which shows nothing."""
    sizes = instance.layout.sizes[:, None]
    nobody = np.zeros(len(instance.cells), dtype=np.int64)
    return Grouping.of_boxes(instance, nobody, np.zeros_like(sizes), sizes)


# -- COUNT queries ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CountQueries:
    """Queries on one table, and their true answers.

    Attributes
    ----------
    instance, sensitive
        The table and its sensitive column.
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
        rng = np.random.default_rng(seed)
        share = selectivity ** (1 / (dimensions + 1)) if reading == "whole" else selectivity
        found: list[CountQueries] = []
        left = number
        for _ in range(_TRIES):
            tried = cls._try(instance, sensitive, max(left, 100), dimensions, share, rng)
            answered = np.flatnonzero(tried.answers > 0)[:left]
            found.append(cls(instance, sensitive, *(each[answered] for each in tried._arrays)))
            left -= len(answered)
            if not left:
                joined = map(np.concatenate, zip(*(each._arrays for each in found), strict=True))
                return cls(instance, sensitive, *joined)
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
        share: float,
        rng: np.random.Generator,
    ) -> CountQueries:
        domains = list(instance.layout.domains.values())
        widest = max(domain.size for domain in domains)
        counts = instance.cells.sensitive[instance.table.sensitive.index(sensitive)]
        values = len(counts.labels)
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
        answers = drawn._estimate(ShownParts.of_cells(instance.cells, counts))
        return replace(drawn, answers=answers)

    @property
    def _arrays(self) -> tuple[Any, ...]:
        return self.columns, self.below, self.wanted, self.answers

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
