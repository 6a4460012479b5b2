"""One solution of a front, on its own rows or on others.

A solution promises more than its k: what it attains in every measure of groups that was searched
for, and the constraints of its run. Taken with another k, or put on rows that came later, it keeps
those promises, or is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isclose, isfinite
from sys import float_info
from typing import Literal

import numpy as np
import numpy.typing as npt

from moanon.data.table import Table
from moanon.errors import ConfigError, DataError
from moanon.genome import Instance
from moanon.measures.evaluate import Evaluator
from moanon.measures.groups import Groups
from moanon.measures.groupwise import GROUP_WISE, TOLERANCE
from moanon.measures.kept import kept_groups
from moanon.measures.registry import find_measure
from moanon.measures.suppression import Suppression, row_limit
from moanon.release.applied import Release
from moanon.release.bounds import check_bounds
from moanon.release.kept import Wanted, check_k, kept_above
from moanon.release.transfer import Outside, release_rows

__all__ = ["ChosenSolution", "Small"]

#: What becomes of groups that fall short of what a solution promises.
Small = Literal["suppress", "keep"]


@dataclass(frozen=True, eq=False)
class ChosenSolution:
    """A solution and what it promises.

    Attributes
    ----------
    number : int
        Its number on the front.
    genome, thresholds : arrays
        As of the front.
    rule : Suppression
        The rule that the thresholds come from.
    objectives : tuple of str
        What was optimized.
    bounds : mapping of str to float
        Bounds on the whole table; those on groups are the rule's.
    measures : mapping of str to number
        All that the front says about it.
    """

    number: int
    genome: npt.NDArray[np.uint8]
    thresholds: npt.NDArray[np.int64]
    rule: Suppression
    objectives: tuple[str, ...]
    bounds: Mapping[str, float]
    measures: Mapping[str, float]

    def release(self, instance: Instance, recursive_c: float | None = None) -> Release:
        """Apply it to the table it was found on; the file must measure as the front says."""
        groups = Groups.of(instance, self.genome)
        kept = kept_groups(groups, self.thresholds, self.rule)
        c = self._c(recursive_c)
        release = Release.of(instance, self.genome, suppressed=~kept, recursive_c=c)
        own = {"l": f"l_{self.rule.diversity}"}  # by names that mean the same on any front
        stated = tuple(
            (own.get(name, name), value)
            for name, value in self.measures.items()
            if name != "l_recursive" or c == self.rule.recursive_c
        )
        return replace(release, stated=stated)

    def release_with(
        self,
        instance: Instance,
        k: int,
        max_suppression: float | None = None,
        recursive_c: float | None = None,
    ) -> Release:
        """Apply it to the table it was found on with another k; see `moanon.front.Front.release`.

        Raises
        ------
        ConfigError
            If that would suppress more rows than is allowed.
        OutputError
            If a bound on the whole table is not met.
        """
        wanted = self.wanted(check_k(k))
        self._refuse_other_meanings(instance)
        groups = Groups.of(instance, self.genome)
        limit = self._limit(max_suppression, instance.table.rows)
        kept = kept_above(groups, wanted, limit, name=f"solution {self.number}")
        c = self._c(recursive_c)
        release = Release.of(instance, self.genome, suppressed=~kept, recursive_c=c)
        name = f"solution {self.number} with k = {k:,}"
        check_bounds(release, wanted.rule, wanted.k, self.bounds, name=name)
        # Of all that the front says, this holds for any k.
        return replace(release, stated=(("weighted_k", self.measures["weighted_k"]),))

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
        if small not in ("suppress", "keep"):
            raise ConfigError(f"small groups are 'suppress' or 'keep'. Got {small!r}")
        if k is not None and small == "keep":
            raise ConfigError("small groups are kept, or suppressed below another k. Got both")
        self._refuse_other_meanings(instance)
        bounds = self.bounds
        if small == "suppress":
            wanted = self.wanted(int(self.measures["k"]) if k is None else check_k(k))
        else:
            wanted = Wanted(1, others=replace(self.rule, constraints=()))
            bounds = {**self._demands, **bounds}
        release = release_rows(
            instance, self.genome, table, wanted, outside, recursive_c=self._c(recursive_c)
        )
        name = f"solution {self.number} on {table.source}"
        check_bounds(release, wanted.rule, wanted.k, bounds, name=name)
        return release

    def wanted(self, k: int) -> Wanted:
        """What groups must have to be released with another k, or on other rows.

        Besides the constraints on groups, what the solution attained in every other objective that
        each group has a value of, and in what its groups were given up by.
        """
        names = {name for name in self.objectives if find_measure(name).group_wise}
        attained = {
            name: self.measures[name] for name in sorted({*names, self.rule.by} - {"k", "l"})
        }
        # Where it is infinite, nothing was attained.
        promised = [(name, value) for name, value in attained.items() if isfinite(value)]
        constraints = (*self.rule.constraints, *promised)
        return Wanted(k, self._diversity, replace(self.rule, constraints=constraints))

    def _refuse_other_meanings(self, instance: Instance) -> None:
        """Refuse a table on which the solution is not what the front says.

        Its rows are the same, but a hierarchy of sensitive values may have been edited since; then
        distances would be promised by another tree than was searched with.
        """
        names = [
            name
            for name in self.measures
            if name in GROUP_WISE and find_measure(name).why_not(instance) is None
        ]
        scores = Evaluator(instance).evaluate_at(
            self.genome, self.thresholds, self.rule, measures=names
        )
        for name in names:
            stated, found = self.measures[name], find_measure(name).of(scores)[0].item()
            if not isclose(stated, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
                raise DataError(
                    f"{name} of solution {self.number} is {stated:.9g} on the front and "
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

    def _limit(self, max_suppression: float | None, rows: int) -> int:
        """Most rows that a release with another k may suppress."""
        if max_suppression is not None:
            if not 0 <= max_suppression < 1:
                raise ConfigError(f"max_suppression must be in [0, 1). Got {max_suppression}")
            return row_limit(max_suppression, rows)
        return rows - 1 if self.rule.kind == "weighted-k" else row_limit(self.rule.eta, rows)

    def _c(self, given: float | None) -> float:
        return self.rule.recursive_c if given is None else given
