"""What is examined, and how it is made anew of training rows alone.

Under the protocol ``raw`` held-out rows must not take part in the anonymization, so a stored
solution cannot be taken as it is: it was made of all rows. `Anonymization.anew` makes it of others:

- a **global** solution (a genome): the same blocks; groups of the training rows that are smaller
  than the solution's k, or fall short of what it attains otherwise, are suppressed;
- a **local** solution (boxes): boxes are found anew, by the same search, for the k and whatever
  else the solution attains, within its limit of suppression;
- a **baseline**: the algorithm is run again for the k that it was asked for.

The domains are those of the run: declared by the publisher, they are part of the method. (Those of
an interval without a declared range span all rows that the run saw.) A released **file** tells
neither method nor settings and cannot be made anew.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from moanon.arrays import Outlined
from moanon.baselines import find_baseline
from moanon.errors import InfeasibleError
from moanon.front import Front
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures.measuring import suppress_groups
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

    def anew(self, instance: Instance) -> Grouping | None:
        rule = self.front.chosen(self.number).promised
        recodings = self.front.recodings
        if isinstance(recodings, GlobalRecodings):
            groups = recodings.all_groups(self.front.row(self.number), instance)
            return _if_any(suppress_groups(groups, rule))
        from moanon.search.local import solve_target  # compiles, and only boxes need it

        try:
            return solve_target(instance, rule)
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

    def anew(self, instance: Instance) -> Grouping | None:
        if self.k > instance.cells.rows:
            return None
        try:
            made = find_baseline(self.algorithm).run(instance, self.k, **self.settings)
        except InfeasibleError:
            return None
        return _if_any(made.grouping(instance))


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedFile(Outlined):
    """A file whose rows were found in the original."""

    name: str
    instance: Instance
    grouping: Grouping
    columns: frozenset[str]

    def whole(self) -> Grouping:
        return self.grouping

    def anew(self, instance: Instance) -> Grouping | None:
        raise AssertionError("a file tells no method; it is refused where one is needed")


def _if_any(grouping: Grouping) -> Grouping | None:
    return grouping if grouping.kept.any() else None
