"""One solution of a front, on its own rows or on others; and anonymizations of any origin.

An `Anonymization` is one way to publish a table: a solution, or a released file that was read.

A solution promises more than its k: what it attains in every measure of groups that was searched
for, and the constraints of its run. Taken with another k, or put on rows that came later, it keeps
those promises, or is refused. Whatever is released is measured by the same loops as in the search,
so that a bound means the same in both.

What the values of a quasi-identifier are was decided when the search ran: a range may come from its
data, and so does the place for missing values. New rows (`fit_rows`) are read against exactly those
domains, since otherwise the same label would mean something else in two files. A value without a
place there is *outside*: such rows are refused, or suppressed on request. So it is with a sensitive
value that is not among those whose distances were declared: nobody could say how close a group with
it is to the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isclose, isfinite
from sys import float_info
from typing import Any, Literal, get_args

import numpy as np

from moanon.arrays import Bools, Outlined
from moanon.data.column import Profile
from moanon.data.domain import Domain
from moanon.data.table import Role, Table
from moanon.errors import ConfigError, DataError, OutputError, got
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures import find_measure
from moanon.measures.evaluate import measure_grouping, score_grouping, suppress_groups
from moanon.measures.measure import LEAST_TOLERANCE, TOLERANCE, is_number
from moanon.measures.suppression import Suppression, check_recursive_c, row_limit
from moanon.recoding import Recodings
from moanon.release.applied import Release, check_k

#: What becomes of rows with a value outside the domains.
Outside = Literal["refuse", "suppress"]
#: What becomes of groups that fall short of what a solution promises.
Small = Literal["suppress", "keep"]


@dataclass(frozen=True, eq=False, repr=False)
class ChosenSolution(Outlined):
    """A solution and what it promises; its rule is the `suppression` of the front."""

    number: int  # on the front
    recodings: Recodings
    rule: Suppression
    objectives: tuple[str, ...]
    bounds: Mapping[str, float]
    measures: Mapping[str, float]  # all that the front says about it
    # a loss that no generalization with as large a k goes below, if proven
    least: float | None = None

    def release(self, instance: Instance, recursive_c: float | None = None) -> Release:
        """Apply it to the table it was found on; the file must measure as the front says."""
        c = self._c(recursive_c)
        stated = tuple(
            (self.rule.own_name(name), value)
            for name, value in self.measures.items()
            if name != "l_recursive" or c == self.rule.recursive_c
        )
        return Release(
            self.grouping(instance), c, stated=stated, least=self.least, promises=self._promises()
        )

    def release_with(
        self,
        instance: Instance,
        k: int,
        max_suppression: float | None = None,
        recursive_c: float | None = None,
    ) -> Release:
        """Apply it to its own table with another k; see `moanon.front.Front.release`."""
        wanted = self._wanted(check_k(k))
        self._refuse_other_meanings(instance)
        limit = self._limit(max_suppression, instance.table.rows)
        groups = self.recodings.all_groups(self.number - 1, instance)
        grouping = wanted.keep_within(groups, limit, name=f"solution {self.number}")
        # Of all that the front says, this holds for any k; not all fronts know it.
        stated = tuple(item for item in self.measures.items() if item[0] == "weighted_k")
        promises = self._promises(k)
        release = Release(grouping, self._c(recursive_c), stated=stated, promises=promises)
        name = f"solution {self.number} with k = {k:,}"
        _check_bounds(release, self.rule, self.bounds, name=name)
        return release

    def apply(
        self,
        instance: Instance,
        table: Table,
        *,
        outside: Outside,
        small: Small,
        k: int | None,
        recursive_c: float | None,
    ) -> Release:
        """Apply its generalization to new rows; see `moanon.front.Front.apply`."""
        if not isinstance(table, Table):
            raise DataError(
                "new rows must be a Table, as moanon.read_table makes it. Got "
                f"{type(table).__name__}"
            )
        if small not in ("suppress", "keep"):
            raise ConfigError(f"small groups are 'suppress' or 'keep'. Got {small!r}")
        if k is not None and small == "keep":
            raise ConfigError("small groups are kept, or suppressed below another k. Got both")
        if instance.table.rows:  # else its domains are those that were stored with the front
            self._refuse_other_meanings(instance)
        bounds = self.bounds
        if small == "suppress":
            wanted = self._wanted(int(self.measures["k"]) if k is None else check_k(k))
        else:
            wanted = _Wanted(1, others=replace(self.rule, constraints=()))
            bounds = {**self._demands, **bounds}
        fitted, is_outside = fit_rows(instance, table, outside)
        groups = self.recodings.groups_of_new(self.number - 1, fitted)
        _check_boxes(groups, table, outside)
        kept = wanted.is_met(groups)
        if not kept.any():
            raise OutputError(
                f"no row of {table.source} would be released: none of its {len(groups):,} groups "
                f"has {wanted}; choose a smaller k, or keep small groups"
            )
        promises = self._promises(k) if small == "suppress" else self._promises()
        release = Release(groups.keep(kept), self._c(recursive_c), is_outside, promises=promises)
        name = f"solution {self.number} on {table.source}"
        _check_bounds(release, self.rule, bounds, name=name)
        return release

    @property
    def promised(self) -> Suppression:
        """The rule whose constraints are all that it promises of every group, its k included."""
        return self._wanted(int(self.measures["k"])).rule

    def grouping(self, instance: Instance) -> Grouping:
        """Its groups on the table it was found on, with those marked that it suppresses."""
        return self.recodings.grouping(self.number - 1, instance)

    def _wanted(self, k: int) -> _Wanted:
        """What groups must have to be released with another k, or on other rows.

        Besides the constraints on groups, what the solution attained in every other objective that
        each group has a value of, and in what its groups were suppressed by.
        """
        names = {name for name in self.objectives if find_measure(name).group}
        attained = {
            name: self.measures[name] for name in sorted({*names, self.rule.by} - {"k", "l"})
        }
        # Where it is infinite, nothing was attained.
        promised = [(name, value) for name, value in attained.items() if isfinite(value)]
        constraints = (*self.rule.constraints, *promised)
        return _Wanted(k, self._diversity, replace(self.rule, constraints=constraints))

    def _refuse_other_meanings(self, instance: Instance) -> None:
        """Refuse a table on which the solution is not what the front says.

        Its rows are the same, but a hierarchy of sensitive values may have been edited since; then
        distances would be promised by another tree than was searched with.
        """
        measures = [
            measure
            for measure in map(find_measure, self.measures)
            if measure.group and measure.certified and measure.why_not(instance) is None
        ]
        scores = score_grouping(self.grouping(instance), measures, self.rule)
        for measure in measures:
            stated, found = self.measures[measure.name], measure.of(scores)[0].item()
            if not isclose(stated, found, rel_tol=TOLERANCE, abs_tol=LEAST_TOLERANCE):
                raise DataError(
                    f"{measure.name} of solution {self.number} is {stated:.9g} on the front and "
                    f"{found:.9g} with the table as it is declared now; a hierarchy or an order "
                    "must have changed since the run, so run it again"
                )

    @property
    def _diversity(self) -> int:
        """The ℓ that it promises; 0 where that was not among what was searched for."""
        wants = self.rule.kind == "kl-safety" or "l" in (self.rule.by, *self.objectives)
        return int(self.measures["l"]) if wants else 0

    @property
    def _demands(self) -> dict[str, float]:
        """Bounds on measures of groups, without those that only keep out what cannot be ranked."""
        return {name: bound for name, bound in self.rule.constraints if bound < float_info.max}

    def _promises(self, k: int | None = None) -> tuple[tuple[str, float], ...]:
        """Bounds that somebody asked for and that a release meets: those of the run, and another k.

        What the solution attained beyond them is not among them: it depends on suppressed rows.
        """
        asked = {**self._demands, **self.bounds}
        if k is not None:
            asked["k"] = max(k, asked.get("k", k))
        return tuple((self.rule.own_name(name), bound) for name, bound in asked.items())

    def _limit(self, max_suppression: float | None, rows: int) -> int:
        """Most rows that a release with another k may suppress."""
        if max_suppression is not None:
            if not (is_number(max_suppression) and 0 <= max_suppression < 1):
                raise ConfigError(f"max_suppression must be in [0, 1). Got {got(max_suppression)}")
            return row_limit(max_suppression, rows)
        return rows - 1 if self.rule.kind == "weighted-k" else row_limit(self.rule.eta, rows)

    def _c(self, given: float | None) -> float:
        if given is None:
            return self.rule.recursive_c
        check_recursive_c(given)
        return given


@dataclass(frozen=True, eq=False, repr=False)
class Anonymization(Outlined):
    """One way to publish a table: a solution, or what was read of a released file."""

    name: str  # what it is called in results: ``RESULTS#17``, or the file
    source: str  # the results folder, or the file
    instance: Instance
    read: Grouping | None = None
    solution: ChosenSolution | None = None
    # a classical algorithm, its k, its settings
    made_by: tuple[str, int, Mapping[str, Any]] | None = None
    columns: frozenset[str] | None = None  # that it shows; None for all that releases show
    fingerprint: str = ""  # differs from that of another anonymization of that name

    @cached_property
    def grouping(self) -> Grouping:
        """The whole table as it is released."""
        if self.read is not None:
            return self.read
        assert self.solution is not None
        return self.solution.grouping(self.instance).named(self.name)

    @property
    def measures(self) -> Mapping[str, float]:
        """Measures of the whole table as it is released, k and losses among them."""
        if self.solution is not None:
            return self.solution.measures
        return measure_grouping(replace(self.grouping.released(), instance=self.instance))


def _check_boxes(groups: Grouping, table: Table, outside: Outside) -> None:
    """Refuse rows that are in none of a solution's boxes, unless they are to be suppressed."""
    nowhere = groups.rows - int(groups.sizes.sum())
    if nowhere and outside == "refuse":
        rows_lie = "row lies" if nowhere == 1 else "rows lie"
        raise DataError(
            f"{table.source}: {nowhere:,} {rows_lie} in none of the solution's boxes; choose "
            "another solution, or suppress such rows (outside='suppress')"
        )


# -- what groups must have -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Wanted:
    """Rows, diversity (0 where none is wanted), and constraints that every released group meets.

    The rule whose constraints hold whatever the k also says how diversity is counted.
    """

    k: int
    l: int = 0  # noqa: E741 (the name of the measure)
    others: Suppression = field(default_factory=Suppression)

    @property
    def rule(self) -> Suppression:
        """All of it as constraints of a rule."""
        return self._rule_with(("k", float(self.k)))

    def _rule_with(self, *more: tuple[str, float]) -> Suppression:
        diversity = [("l", float(self.l))] if self.l else []
        constraints = (*more, *self.others.constraints, *diversity)
        return replace(self.others, kind="limit", by="k", constraints=constraints)

    def is_fit(self, groups: Grouping) -> Bools:
        """Which groups have all that is wanted but the size."""
        rule = self._rule_with()
        if not rule.constraints:
            return np.ones(len(groups), dtype=bool)
        return suppress_groups(groups, rule).kept

    def is_met(self, groups: Grouping) -> Bools:
        """Which groups have everything."""
        return np.asarray((groups.sizes >= self.k) & self.is_fit(groups))

    def keep_within(self, groups: Grouping, limit: int, *, name: str) -> Grouping:
        """Keep the groups that have what is wanted, if suppressing the others stays within a limit.

        The error says how many rows would go, and the largest k that is possible.
        """
        grouping, rows = groups.keep(self.is_met(groups)), groups.rows
        lost = grouping.suppressed
        if lost <= limit:
            return grouping
        steps = np.sort(groups.sizes[self.is_fit(groups)])
        left_from = np.cumsum(steps[::-1])[::-1]  # rows that a threshold at each step keeps
        within = steps[rows - left_from <= limit]
        largest = f"its largest k within that is {within[-1]:,}" if len(within) else "no k does"
        raise ConfigError(
            f"{self} would suppress {lost:,} of {rows:,} rows ({lost / rows:.1%}) of {name}, and "
            f"at most {limit:,} ({limit / rows:.1%}) may be; {largest} (or allow more to be "
            "suppressed)"
        )

    def __str__(self) -> str:
        wanted = {"k": float(self.k), "l": float(self.l)}
        # A constraint on the same measure counts where it wants more.
        for name, bound in self.others.constraints:
            if name in wanted:
                wanted[name] = max(wanted[name], bound)
        wishes = [f"{name} = {bound:,.12g}" for name, bound in wanted.items() if bound]
        for name, bound in self.others.constraints:
            # The largest number only keeps out what has none.
            if name not in wanted and abs(bound) < float_info.max:
                side = ">=" if find_measure(name).higher_is_better else "<="
                wishes.append(f"{name} {side} {bound:.6g}")
        return " and ".join(wishes)


# -- what the whole release must have --------------------------------------------------------------


def _check_bounds(
    release: Release, rule: Suppression, bounds: Mapping[str, float], *, name: str
) -> None:
    """Refuse a release that breaks a bound on any measure; a front's rule says how ℓ is counted.

    A threshold of a suppression rule is bounded by what the release attains.
    """
    if not bounds:
        return
    attained = {bounded: find_measure(bounded).attained or (bounded, 0) for bounded in bounds}
    measures = {taken: find_measure(taken) for taken, _ in attained.values()}
    for measure in measures.values():
        if release.rows_outside and measure.tallies and not measure.of_kept:
            raise OutputError(
                f"{name} leaves {release.rows_outside} rows outside the domains, and whether it "
                f"meets the constraint {measure.name} is not known then; leave these rows out of "
                "the table"
            )
    scores = score_grouping(release.grouping, measures.values(), rule)
    scores = replace(scores, rows_outside=release.rows_outside)
    broken = []
    for bounded, (taken, more) in attained.items():
        bound, measure = bounds[bounded], find_measure(bounded)
        value = measures[taken].of(scores)[0].item() + more
        if not measure.meets(value, bound):
            broken.append(f"{bounded} is {_shown(value, bound)} ({measure.bound_text(bound)})")
    if broken:
        raise OutputError(
            f"{name} does not meet the constraints of the run: {' and '.join(broken)}"
        )


def _shown(value: float, bound: float) -> str:
    """Write a value shortly, with all its digits where it would seem to meet the bound."""
    short = f"{value:.6g}"
    is_clear = float(short) != bound and (float(short) > bound) == (value > bound)
    return short if is_clear else repr(value)


# -- rows that came later --------------------------------------------------------------------------


def fit_rows(instance: Instance, table: Table, outside: Outside = "refuse") -> tuple[Instance, int]:
    """Read new rows against the domains of another table.

    The columns must have the same roles; identifying ones may be absent. Returned are the rows that
    fit, their columns in the order of `instance`, and how many were left out.
    """
    if outside not in get_args(Outside):
        raise ConfigError(f"rows outside are 'refuse' or 'suppress'. Got {outside!r}")
    _check_roles(instance.table, table)
    domains = {**instance.layout.domains, **instance.distances}
    values = {name: _outside(domain, table.columns[name]) for name, domain in domains.items()}
    fitting, rows = table.without(values), table.rows
    if fitting.rows < rows:
        if outside == "refuse":
            raise _refusal(domains, table)
        if not fitting.rows:
            raise OutputError(
                f"no row of {table.source} would be released: each holds a value outside the "
                "domains of the generalization"
            )
    fitting = _in_order_of(instance.table, fitting)
    return instance.over(fitting), rows - fitting.rows


def _check_roles(first: Table, table: Table) -> None:
    """Refuse other columns: a sensitive one that is absent would count as diverse enough.

    Identifying ones are not released, so it does not matter whether they are there.
    """
    for name in sorted({*first.roles, *table.roles}):
        here, there = table.roles.get(name, "absent"), first.roles.get(name, "absent")
        if here != there and {here, there} != {"absent", Role.IDENTIFYING}:
            raise DataError(
                f"{table.source} must have the columns of the run in their roles: {name!r} is "
                f"{there} there and {here} here"
            )


def _outside(domain: Domain, column: Profile) -> Bools:
    """Values of a column that a domain has no place for, and last whether it has none for gaps."""
    return np.append(domain.find(column.values) < 0, not domain.has_missing)


def _refusal(domains: Mapping[str, Domain], table: Table) -> DataError:
    """Say which values of the first column with such are outside."""
    for name, domain in domains.items():
        try:
            domain.codes(table.columns[name])
        except DataError as error:
            return DataError(
                f"{table.source}: {error}; correct them, or suppress such rows (outside='suppress')"
            )
    raise AssertionError("a row was outside, and no column says why")


def _in_order_of(first: Table, table: Table) -> Table:
    """Let two releases have their columns in one order, and neither replace the other's source."""
    names = sorted(table.roles, key=[*first.roles, *table.roles].index)
    return replace(
        table,
        roles={name: table.roles[name] for name in names},
        files=(*table.files, *first.files),
        unlisted=table.unlisted or first.unlisted,
    )
