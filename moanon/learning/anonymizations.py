"""What is examined, and how it is made anew of training rows alone.

Under the protocol ``raw`` held-out rows must not take part in the anonymization, so a stored
solution cannot be taken as it is: it was made of all rows. `Anonymization.anew` makes it of others,
such that it stands for the release that would be published: groups that have 50 rows of the table
have 45 of nine tenths of it, and asking for 50 again would drop them. So k is asked for in
proportion:

- a **global** solution (a genome): the same blocks; small groups are suppressed, up to the size
  with which the share of suppressed rows comes nearest to that in the release of all rows. Whatever
  else the solution attains is asked of the groups as it stands;
- a **local** solution (boxes): boxes are found anew, by the same search, for k in proportion and
  whatever else the solution attains, within its limit of suppression;
- a **baseline**: the algorithm is run again, for the k that it was asked for in proportion.

No k above 1 becomes 1. The domains are those of the run: declared by the publisher, they are part
of the method. (Those of an interval without a declared range span all rows that the run saw.) A
released **file** tells neither method nor settings and cannot be made anew.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Protocol

import numpy as np

from moanon.arrays import Outlined
from moanon.baselines import find_baseline
from moanon.errors import InfeasibleError
from moanon.front import Front
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures.evaluate import measure_grouping, suppress_groups
from moanon.measures.suppression import Suppression
from moanon.recoding import GlobalRecodings


class Anonymization(Protocol):
    """One way to publish a table."""

    @property
    def name(self) -> str:
        """What it is called in results."""
        ...

    @property
    def instance(self) -> Instance:
        """The table it is of, with the target as its class column."""
        ...

    @property
    def columns(self) -> Collection[str] | None:
        """Columns that it shows; None for all that releases of the table show."""
        ...

    def whole(self) -> Grouping:
        """The whole table as it is released."""
        ...

    def stated(self) -> Mapping[str, float]:
        """Measures of the whole table as it is released, k and losses among them."""
        ...

    def anew(self, instance: Instance) -> Grouping | None:
        """Other rows, released in the same way; None where none of them can be."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class StoredSolution(Outlined):
    """A solution of a front that a search has found, by its number."""

    name: str
    instance: Instance
    front: Front
    number: int
    columns: None = None

    def whole(self) -> Grouping:
        return self.front.recodings.grouping(self.front.row(self.number), self.instance)

    def stated(self) -> Mapping[str, float]:
        return _stated(self.front, self.number)

    def anew(self, instance: Instance) -> Grouping | None:
        rows, all_rows = instance.cells.rows, self.instance.cells.rows
        rule = self.front.chosen(self.number).promised
        recodings = self.front.recodings
        if isinstance(recodings, GlobalRecodings):
            groups = recodings.all_groups(self.front.row(self.number), instance)
            share = self.stated()["suppressed"] / all_rows
            return _if_any(_suppress_share(groups, rule, share))
        from moanon.search.box_solving import solve_target  # compiles, and only boxes need it

        demands = [
            (name, in_proportion(ceil(bound), rows, all_rows) if name == "k" else bound)
            for name, bound in rule.constraints
        ]
        try:
            return solve_target(instance, replace(rule, constraints=tuple(demands)))
        except InfeasibleError:
            return None


@dataclass(frozen=True, eq=False, repr=False)
class BaselineRelease(Outlined):
    """A release of a classical algorithm.

    Attributes
    ----------
    name, instance
        As of `Anonymization`.
    front : Front
        All its releases.
    number : int
        Which of them.
    algorithm : str
        As of `moanon.baselines`.
    k : int
        What it was asked for.
    settings : mapping of str to Any
        What else.
    """

    name: str
    instance: Instance
    front: Front
    number: int
    algorithm: str
    k: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    columns: None = None

    def whole(self) -> Grouping:
        return self.front.recodings.grouping(self.front.row(self.number), self.instance)

    def stated(self) -> Mapping[str, float]:
        return _stated(self.front, self.number)

    def anew(self, instance: Instance) -> Grouping | None:
        k = in_proportion(self.k, instance.cells.rows, self.instance.cells.rows)
        try:
            made = find_baseline(self.algorithm).run(instance, k, **self.settings)
        except InfeasibleError:
            return None
        return _if_any(made.grouping(instance))


@dataclass(frozen=True, eq=False, repr=False)
class MatchedFile(Outlined):
    """A file whose rows were found in the original."""

    name: str
    instance: Instance
    grouping: Grouping
    columns: frozenset[str]

    def whole(self) -> Grouping:
        return self.grouping

    def stated(self) -> Mapping[str, float]:
        return measure_grouping(replace(self.grouping.released(), instance=self.instance))

    def anew(self, instance: Instance) -> Grouping | None:
        raise AssertionError("a file tells no method; it is refused where one is needed")


def in_proportion(k: int, rows: int, all_rows: int) -> int:
    """The k of so many of all rows that corresponds to a k of all of them, rounded up.

    >>> in_proportion(50, 900, 1000), in_proportion(5, 900, 1000), in_proportion(2, 100, 1000)
    (45, 5, 2)
    """
    return max(-(-k * rows // all_rows), min(k, 2))


def _stated(front: Front, number: int) -> Mapping[str, float]:
    row = front.row(number)
    return {name: values[row].item() for name, values in front.measures.items()}


def _suppress_share(groups: Grouping, rule: Suppression, share: float) -> Grouping:
    """Suppress groups that fall short of a rule, and small ones up to about a share of the rows.

    Of the sizes from which on groups could be kept, up to the k of the rule, it is the one that
    comes nearest to the share; of two as near, the larger.
    """
    k = max(ceil(bound) for name, bound in rule.constraints if name == "k")
    others = tuple(bound for bound in rule.constraints if bound[0] != "k")
    fit = suppress_groups(groups, replace(rule, constraints=others)).kept
    sizes = np.where(fit, groups.sizes, 0)
    least = np.unique(np.clip(sizes[fit], min(k, 2), k))[::-1]
    left = np.array([sizes[sizes >= size].sum() for size in least])
    if not len(left):
        return groups.keep(fit)
    nearest = np.abs(groups.rows - left - share * groups.rows).argmin()
    return groups.keep(fit & (groups.sizes >= least[nearest]))


def _if_any(grouping: Grouping) -> Grouping | None:
    return grouping if grouping.kept.any() else None
