"""What a measure is, and the register of all of them.

Everything that is true of a measure stands at its definition (in ``privacy``, ``loss`` and
``people``): which end is better, which values are possible, how exact it is, what a table must
have for it, whether every group has a value of it, whether a certificate states it, and how figures
call it. Whoever wants to know asks the `Measure`; there are no lists of names beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import numpy as np

from moanon.arrays import Bools, Values
from moanon.errors import unknown_name

if TYPE_CHECKING:  # names of types only: what is true of a measure is known without a compiler
    from moanon.genome import Instance
    from moanon.measures.evaluate import Scores

Direction = Literal["max", "min"]
#: How exact the values of a measure are: whole numbers and correctly rounded quotients of whole
#: numbers are ``exact``; a ``quotient`` is so as long as both of its terms are below 2^53;
#: ``summed`` is a sum of rounded terms; a ``logarithm`` is one, or goes back to some.
Precision = Literal["exact", "quotient", "summed", "logarithm"]
Requirement = Literal["", "sensitive", "tree", "label", "weights", "populations"]

#: Sums of rounded terms and logarithms are off in their last digits: three equally frequent values
#: have an entropy ℓ of 3 give or take a rounding, and an ncp of 3/10 may come out just above 0.3. A
#: bound on such a measure is met by what falls short of it by no more than this share of it, ...
TOLERANCE = 1e-9
#: ... or by no more than this, which is what integer losses resolve on a very large table.
LEAST_TOLERANCE = 1e-10

#: No measure of a table goes beyond this; a bound that does is a slip.
LARGEST = 1e18

_WANTING: dict[Requirement, str] = {
    "sensitive": "needs a sensitive column, and the table has none",
    "tree": "needs a quasi-identifier with a tree, and the table has none",
    "label": "needs a class column, and the table has none",
    "weights": "needs the weight of a quasi-identifier, and none is given",
    "populations": "needs a sensitive column and min_support, the least share of rows of a "
    "population",
}


# -- possible values -------------------------------------------------------------------------------


def is_number(value: object, most: float = LARGEST) -> TypeGuard[float]:
    """Whether something is a number, and no farther from 0 than `most`.

    >>> is_number(3), is_number("3"), is_number(True), is_number(10**400), is_number(math.nan)
    (True, False, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    return bool(-most <= value <= most)


@dataclass(frozen=True)
class Range:
    """Possible values of a measure.

    An end is a number, or says in words what it depends on: ``n`` and ``n-1`` (rows of the table),
    ``values`` (of its poorest sensitive column) are known once there is a table.
    """

    low: float | str
    high: float | str
    whole: bool = False  # whether values are whole numbers
    low_open: bool = False  # whether an end is left out
    high_open: bool = False

    def __str__(self) -> str:
        if self.whole:
            return f"{self.low}..{self.high}"
        left, right = "(" if self.low_open else "[", ")" if self.high_open else "]"
        return f"{left}{self.low}, {self.high}{right}"

    @property
    def has_infinity(self) -> bool:
        """Whether infinity is a value."""
        return self.high == "inf" and not self.high_open

    def beyond(
        self,
        bound: float,
        better: Direction,
        sizes: Mapping[str, float] | None = None,
        *,
        only_unmet: bool = False,
        slack: float = 0.0,
    ) -> str | None:
        """Say in words what a bound lies beyond; None where it can be met, and be missed.

        An end that is left out is one that a lenient bound may name. Values beyond an end by no
        more than `slack` are there by their rounding.

        `sizes` are what is known of a table (see `table_sizes`). Bounds that every value meets are
        left alone where `only_unmet`.
        """
        known = {"ln 2": math.log(2), **(sizes or {})}
        low, high = _number(self.low, known, -math.inf), _number(self.high, known, math.inf)
        unmet_low = better == "min" and self.low_open and bound == low
        if (bound < low - slack and not (only_unmet and better == "max")) or unmet_low:
            return f"{'above' if self.low_open else 'at least'} {_end_text(self.low, sizes)}"
        unmet_high = better == "max" and self.high_open and bound == high
        if (bound > high + slack and not (only_unmet and better == "min")) or unmet_high:
            return f"{'below' if self.high_open else 'at most'} {_end_text(self.high, sizes)}"
        return None


def counts(low: float | str, high: float | str) -> Range:
    """Whole numbers from `low` to `high`."""
    return Range(low, high, whole=True)


def between(low: float, high: float | str, *, without: Literal["", "low", "high"] = "") -> Range:
    """Any numbers from `low` to `high`; an end may be left out."""
    return Range(low, high, low_open=without == "low", high_open=without == "high")


def table_sizes(instance: Instance) -> dict[str, float]:
    """What the ends of ranges are for a table, by the words they are stated in."""
    rows = instance.cells.rows
    sizes: dict[str, float] = {"n": rows, "n-1": rows - 1}
    if instance.cells.sensitive:
        sizes["values"] = min(len(column.labels) for column in instance.cells.sensitive)
    return sizes


def _number(end: float | str, known: Mapping[str, float], otherwise: float) -> float:
    return float(known.get(end, otherwise)) if isinstance(end, str) else float(end)


def _end_text(end: float | str, sizes: Mapping[str, float] | None) -> str:
    return f"{(sizes or {}).get(end, end) if isinstance(end, str) else end}"


# -- groups ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GroupScale:
    """How the kernels see a measure that every group has a value of.

    A release has the value of its worst group: these are the privacy models. A bound on one is a
    demand on every group, and a group that fails it is suppressed, as one smaller than k is. A
    suppression rule can also go by any of them instead of by size: groups are suppressed from the
    worst on. Sizes and diversities are whole numbers, and whole classes of equal groups go at once
    (D eq. 7). The others are no whole numbers, and groups of exactly equal value would be classes
    of one; so their ranges are cut into narrow classes, `width` wide, and those go at once. What a
    release attains is measured afterwards, not rounded to a class.
    """

    model: str  # in `moanon.kernels.models.MODELS`; empty for the size of groups
    goodness: Callable[[float], float] = float  # of a group that has a value; more is better
    width: float = 1.0  # of the classes that are suppressed together, in goodness
    #: Goodness at which classes begin, for a table of so many rows.
    lowest: Callable[[int], float] = lambda rows: 1.0

    def classes(self, rows: int) -> tuple[float, float]:
        """Shift and factor with which a goodness becomes the number of its class, from 1 on."""
        return self.width - self.lowest(rows), 1 / self.width


# -- measures --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """A named number of a generalized table."""

    name: str  # as in configurations and results
    direction: Direction  # which end is better
    range: Range  # possible values
    unit: str  # shares are shown in percent
    meaning: str  # one line for tables and reports; says what suppression does to it
    citation: str  # source and equation
    of: Callable[[Scores], Values]  # one value per entry; its docstring is the definition
    privacy: bool = False  # whether it stands for privacy, in its own direction, or for loss
    precision: Precision = "summed"
    requires: Requirement = ""  # what the table must have
    #: How kernels see it, where every group has a value of it and a release that of its worst one.
    group: GroupScale | None = None
    #: Where a certificate states it, read from the released file: ``whole`` for a number of the
    #: whole file; for a privacy model of a sensitive column the entry that it stands in. Empty
    #: where a certificate does not state it.
    certified: str = ""
    #: Whether it compares groups with the whole table, suppressed rows included. A certificate
    #: then states what comes of a comparison with the released rows instead.
    beside_table: bool = False
    reads_labels: bool = False  # whether it follows from what labels stand for
    #: Whether the blocks of every group must be looked at, one release at a time; kernels that
    #: score populations of genomes do not have it, nor do their staircases.
    reads_groups: bool = False
    #: Of a threshold that a suppression rule arrives at: the measure that says what is attained of
    #: it, and what to add to that. Only what is attained protects anybody.
    attained: tuple[str, int] | None = None
    of_kept: bool = False  # whether its tallies are of kept rows alone, or also of suppressed ones
    on_pairs: bool = False  # whether a staircase over pairs of size and diversity has it everywhere
    label: str = ""  # what figures call it on an axis …
    short: str = ""  # … and beside a point; by default its name
    #: What must be evaluated for it, of the names in `moanon.kernels.models` and
    #: `moanon.kernels.costs`. The model of `group` goes without saying.
    models: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()
    tallies: tuple[str, ...] = ()
    #: The largest value that a table allows, where the unit does not say it.
    most: Callable[[Instance], float] | None = None

    @property
    def is_share(self) -> bool:
        """Whether it is shown in percent."""
        return self.unit.startswith("share")

    @property
    def higher_is_better(self) -> bool:
        """Whether more of it is better."""
        return self.direction == "max"

    @property
    def of_rule(self) -> bool:
        """Whether it says what a suppression rule did, and nothing about the released table."""
        return self.attained is not None

    def turned(self, values: Any) -> Any:
        """Values such that smaller is better."""
        return -values if self.higher_is_better else values

    # -- bounds ------------------------------------------------------------------------------------

    def slack(self, bound: float) -> float:
        """By how much values may fall short of a bound and still meet it: by their rounding.

        Nothing of what is counted, and of correctly rounded quotients, which compare with a bound
        as written just as the exact ones do.
        """
        if self.precision in ("exact", "quotient"):
            return 0.0
        # A bound that somebody wrote may be a whole number that no float holds.
        return max(TOLERANCE * min(abs(bound), LARGEST), LEAST_TOLERANCE)

    def worst(self, bound: float) -> float:
        """The worst value that meets a bound in the better direction."""
        slack = self.slack(bound)
        return bound - slack if self.higher_is_better else bound + slack

    def meets(self, values: Values, bound: float) -> Bools:
        """Tell for each value whether it meets a bound in the better direction."""
        worst = self.worst(bound)
        return values >= worst if self.higher_is_better else values <= worst

    def beyond(
        self, bound: float, sizes: Mapping[str, float] | None = None, *, only_unmet: bool = False
    ) -> str | None:
        """Say in words what a bound lies beyond; see `Range.beyond`."""
        return self.range.beyond(
            bound, self.direction, sizes, only_unmet=only_unmet, slack=self.slack(bound)
        )

    def bound_text(self, bound: float) -> str:
        """Write a bound in the better direction: ``at least 5``."""
        return f"{'at least' if self.higher_is_better else 'at most'} {bound:.12g}"

    def why_not(self, instance: Instance) -> str | None:
        """Why the measure cannot be taken of a table, as the end of a sentence; None if it can."""
        has = {
            "": True,
            "sensitive": bool(instance.cells.sensitive),
            "tree": any(domain.kind == "tree" for domain in instance.layout.domains.values()),
            "label": instance.label is not None,
            "weights": bool(instance.weights),
            "populations": bool(instance.subpopulation_spec and instance.cells.sensitive),
        }
        return None if has[self.requires] else _WANTING[self.requires]


MEASURES: dict[str, Measure] = {}
#: Other names under which configurations may know a measure.
SYNONYMS = {"p_loss": "t_js"}


def measure(
    direction: Direction,
    range: Range,  # noqa: A002 - as the attribute
    unit: str,
    meaning: str,
    citation: str,
    **facts: Any,
) -> Callable[[Callable[[Scores], Values]], Callable[[Scores], Values]]:
    """Register the function below under its own name; arguments as the attributes of `Measure`."""

    def register(function: Callable[[Scores], Values]) -> Callable[[Scores], Values]:
        name = function.__name__
        if name in MEASURES:
            raise ValueError(f"a measure called {name!r} is registered already")
        if range.whole:
            facts.setdefault("precision", "exact")
        if (group := facts.get("group")) is not None and group.model:
            facts.setdefault("models", (group.model,))
        MEASURES[name] = Measure(name, direction, range, unit, meaning, citation, function, **facts)
        return function

    return register


#: Registers a measure of privacy, ...
privacy_measure = partial(measure, privacy=True)
#: ... and one that goes by what groups give away of sensitive values.
sensitive_measure = partial(privacy_measure, requires="sensitive")


def find_measure(name: str) -> Measure:
    """Return the measure of that name, or say which one was probably meant."""
    if name not in MEASURES:
        raise unknown_name("measure", name, MEASURES)
    return MEASURES[name]


def applicable(instance: Instance) -> list[Measure]:
    """All measures that can be taken of a table."""
    return [measure for measure in MEASURES.values() if measure.why_not(instance) is None]
