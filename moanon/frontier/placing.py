"""Releases on the plane of privacy loss and utility loss, and the efficient ones among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from moanon.arrays import Bools, Floats, Outlined
from moanon.data.populations import MIN_SUPPORT, MOST_POPULATIONS, SubpopulationSpec
from moanon.errors import ConfigError, DataError
from moanon.frontier.count_queries import DIMENSIONS, SELECTIVITY, CountQueries, Reading
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures import find_measure
from moanon.measures.evaluate import score_grouping
from moanon.measures.loss import utility_losses
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


@dataclass(frozen=True)
class PlacedRelease:
    """Where a release lies.

    Attributes
    ----------
    name : str
    method : {"generalized", "bucketized"}
    k : int
        Rows of its smallest group or bucket. A bucket protects nobody from being found to be in
        the table: quasi-identifiers are published as they are.
    groups, suppressed : int
    p_loss, u_loss : float
        As in the package's docstring, in nats.
    query_error : float or None
        Mean relative error of COUNT queries; None where none were asked.
    efficient : bool
        Whether no other release has less of both losses, or as much of one and less of the other.
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

    Attributes
    ----------
    sensitive : str
        The sensitive column.
    releases : tuple of PlacedRelease
        In the order they were given, the bucketized twin of each behind it.
    populations : int
        How many large populations there are.
    rule : SubpopulationSpec
        What makes them large.
    no_quasi : float
        Utility loss without any quasi-identifier: more can hardly be lost.
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
