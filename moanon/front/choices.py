"""What questions are asked of: solutions, one of them, and limits; and how values are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bools, Floats, Outlined, Values
from moanon.errors import ConfigError, got
from moanon.measures import Measure, find_measure
from moanon.measures.loss import BOUND, optimality
from moanon.measures.measure import LARGEST, is_number
from moanon.measures.suppression import Suppression
from moanon.wording import Grid, as_html

#: Percentage points by which a limit on a share is moved, one after the other.
SLIGHTLY_SHARE = (0.01, 0.02)
#: Part by which another limit is moved, ...
SLIGHTLY = 0.1
#: ... and the least by which one on a distance is, whose range is about 1.
_SLIGHTLY_FAR = 0.01
#: Shares are compared up to this: a limit plus a percentage point has rounding in it.
ROUNDING = 1e-12
#: Most decimals that two different numbers are written with.
_MOST_DIGITS = 9
#: Objectives that the whole loss stands in for: gl alone gets less by suppressing rows.
_LOSSES = {"loss", "gl", "sl"}


# -- values ----------------------------------------------------------------------------------------


def attained_privacy(objectives: Iterable[str]) -> tuple[str, ...]:
    """Name what is attained of the objectives that are privacy: ``k`` for ``d1``, ``l`` for ``d2``.

    Where there is none, ``k``.

    >>> attained_privacy(["d1", "d2", "loss"]), attained_privacy(["t_closeness", "loss"])
    (('k', 'l'), ('t_closeness',))
    """
    measures = [measure for measure in map(find_measure, objectives) if measure.privacy]
    wanted = (measure.attained[0] if measure.attained else measure.name for measure in measures)
    return tuple(dict.fromkeys(wanted)) or ("k",)


def searched_cost(objectives: Iterable[str]) -> str:
    """Name what privacy is paid with: the first objective that is no privacy.

    ``loss`` where any kind of it was minimized, as D §7 does in its plots, and where there is none.

    >>> searched_cost(["k", "entropy_loss"]), searched_cost(["weighted_k", "gl", "sl"])
    ('entropy_loss', 'loss')
    """
    paid = [name for name in objectives if not find_measure(name).privacy]
    return "loss" if not paid or _LOSSES & {*paid} else paid[0]


def called(name: str) -> str:
    """Name of a measure in a sentence: everybody's word for the share of suppressed rows."""
    return "suppression" if name == "sl" else name


def _usual_digits(name: str, value: float) -> int:
    """Decimals with which solutions are written: most of a closeness is within 0 and 1."""
    measure = find_measure(name)
    return 1 if measure.is_share or "rows" in measure.unit or abs(value) >= 1000 else 3


def shown(name: str, value: float, digits: int | None = None) -> str:
    """Write a value of a measure.

    >>> shown("loss", 0.2484), shown("k", 1204), shown("weighted_k", 3.52)
    ('24.8%', '1,204', '3.5')
    >>> shown("t_closeness", 0.3214), shown("delta", float("inf"))
    ('0.321', 'inf')
    """
    digits = _usual_digits(name, value) if digits is None else digits
    if find_measure(name).is_share:
        return f"{value:.{digits}%}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.{digits}f}"


def as_given(name: str, bound: float) -> str:
    """Write a limit with the digits it was given with.

    >>> as_given("loss", 0.25), as_given("sl", 0.005), as_given("k", 10)
    ('25%', '0.5%', '10')
    """
    return f"{100 * bound:.10g}%" if find_measure(name).is_share else f"{bound:,.10g}"


def distinct_texts(name: str, here: float, there: float) -> tuple[str, str]:
    """Write two values with as many digits as it takes to see whether they differ.

    >>> distinct_texts("loss", 0.2604, 0.2601)
    ('26.04%', '26.01%')
    """
    pair = shown(name, here), shown(name, there)
    usual = max(_usual_digits(name, here), _usual_digits(name, there))
    for digits in range(usual + 1, _MOST_DIGITS):
        if here == there or pair[0] != pair[1]:
            break
        pair = shown(name, here, digits), shown(name, there, digits)
    return pair


# -- limits and solutions --------------------------------------------------------------------------


@dataclass(frozen=True)
class Limit:
    """A bound on a measure.

    Attributes
    ----------
    measure : str
        Its registered name.
    side : {"at most", "at least"}
    bound : float
        Itself allowed.
    """

    measure: str
    side: Literal["at most", "at least"]
    bound: float

    def __post_init__(self) -> None:
        """Refuse bounds that cannot be meant."""
        share = self.about.is_share
        if not (is_number(self.bound) and self.bound >= 0):
            raise ConfigError(
                f"a limit on {self.measure} must be a number from 0 to "
                f"{1 if share else LARGEST:g}. Got {got(self.bound)}"
            )
        if share and self.bound > 1:
            raise ConfigError(
                f"a limit on {self.measure} is a share in [0, 1], such as 0.25 for 25%. "
                f"Got {self.bound:g}"
            )

    @property
    def about(self) -> Measure:
        """The measure itself."""
        return find_measure(self.measure)

    def allows(self, values: npt.ArrayLike) -> Bools:
        """Tell for each value whether it is within the limit."""
        slack = self.about.slack(self.bound)
        given = np.asarray(values)
        if self.side == "at most":
            return np.asarray(given <= self.bound + slack)
        return np.asarray(given >= self.bound - slack)

    @property
    def of_privacy(self) -> bool:
        """Whether it is on a measure of privacy."""
        return self.about.privacy

    @property
    def demands(self) -> bool:
        """Whether it shuts out what is worse; a limit on the other side shuts out the better."""
        return (self.side == "at least") == self.about.higher_is_better

    @property
    def _least_step(self) -> float:
        """The least by which the limit is moved: a whole one of what is counted, else little."""
        if self.about.range.whole or self.about.unit == "rows":
            return 1.0
        return _SLIGHTLY_FAR if self.about.unit in ("distance", "nats") else 0.0

    def relaxed(self) -> tuple[Limit, ...]:
        """Move the limit slightly, and for a share then slightly more."""
        if self.about.is_share:
            steps = [points + ROUNDING for points in SLIGHTLY_SHARE]
        else:
            steps = [max(self._least_step, SLIGHTLY * self.bound)]
        sign = 1 if self.side == "at most" else -1
        most = 1 if self.about.is_share else LARGEST
        bounds = [min(most, max(0.0, self.bound + sign * step)) for step in steps]
        return tuple(replace(self, bound=bound) for bound in bounds)

    def excess(self, values: Values) -> Floats:
        """How far values are beyond the limit; relatively, where they are not shares."""
        beyond = values - self.bound if self.side == "at most" else self.bound - values
        scale = 1.0 if self.about.is_share else max(self._least_step, self.bound) or 1.0
        return np.maximum(0.0, beyond / scale)

    def __str__(self) -> str:
        return f"{called(self.measure)} {self.side} {as_given(self.measure, self.bound)}"


@dataclass(frozen=True)
class Choice:
    """One solution: its number in the front, all its measures, and what is proven of its loss.

    Attributes
    ----------
    id : int
    measures : mapping of str to number
    bound : float or None
        A loss that no generalization with as large a k goes below, where one was proven.
    """

    id: int
    measures: Mapping[str, float]
    bound: float | None = None

    @property
    def optimality(self) -> str:
        """How far it can be above the optimum; empty where nothing is known."""
        return "" if self.bound is None else optimality(self.measures["loss"], self.bound)

    def describe(self, names: Iterable[str]) -> str:
        """Write some of its measures: ``k 14, loss 24.8%``."""
        return ", ".join(f"{called(name)} {shown(name, self.measures[name])}" for name in names)

    def to_dict(self) -> dict[str, Any]:
        """Return its number and measures as plain values; what JSON has no number for as texts."""
        plain = {n: v if math.isfinite(v) else str(v) for n, v in self.measures.items()}
        proven = {} if self.bound is None else {BOUND: self.bound, "optimality": self.optimality}
        return {"id": self.id, "measures": plain, **proven}


@dataclass(frozen=True, eq=False, repr=False)
class Solutions(Outlined):
    """The solutions of a front, as far as questions need to know them.

    Attributes
    ----------
    measures : mapping of str to array (solutions,)
        Every measure, the first solution being number 1.
    objectives : tuple of str
        What was optimized.
    suppression : Suppression
        Under which rule.
    proven : array (solutions,) or None
        As of `moanon.front.Front`.
    """

    measures: Mapping[str, Values]
    objectives: tuple[str, ...]
    suppression: Suppression
    proven: Floats | None = None

    def __len__(self) -> int:
        return len(next(iter(self.measures.values())))

    def column(self, name: str) -> Values:
        """Values of a measure, or a sentence on why there are none."""
        if name in self.measures:
            return self.measures[name]
        lacks = find_measure(name).requires == "sensitive"
        why = "its table has no sensitive column" if lacks else "it was found before there was one"
        raise ConfigError(f"this front has no measure {name!r}: {why}")

    @property
    def privacy(self) -> tuple[str, ...]:
        """The measures that privacy means here, the more wanted first."""
        attained = attained_privacy(self.objectives)
        if self.suppression.kind == "kl-safety" and {*attained} <= {"k", "l"}:
            return ("l", "k") if self.suppression.prefer == "l" else ("k", "l")
        return attained

    @property
    def cost(self) -> str:
        """The measure that privacy is paid with here."""
        return searched_cost(self.objectives)

    def searched_for(self, name: str) -> bool:
        """Whether a measure was optimized; a constraint on it alone is none of that."""
        searched = set(self.objectives)
        if self.suppression.kind == "kl-safety":
            searched |= {"k", "l"}
        same = f"l_{self.suppression.diversity}"  # by another name
        return name in searched or (name in ("l", same) and not searched.isdisjoint({"l", same}))

    def order(self, goal: Sequence[str]) -> tuple[str, ...]:
        """What decides among solutions, the first measures first: a goal, then what breaks ties."""
        ties = (*self.privacy, self.cost, "loss", "k", "l", "weighted_k", "suppressed")
        return (*goal, *(n for n in dict.fromkeys(ties) if n in self.measures and n not in goal))

    def choice(self, row: int) -> Choice:
        """Describe one solution."""
        bound = None if self.proven is None else float(self.proven[row])
        values = {name: each[row].item() for name, each in self.measures.items()}
        return Choice(row + 1, values, bound)

    def best(self, within: Bools, goal: Sequence[str]) -> Choice | None:
        """Choose among some solutions; None if there are none."""
        rows = np.flatnonzero(within)
        if not len(rows):
            return None
        keys = [find_measure(name).turned(self.column(name)[rows]) for name in self.order(goal)]
        return self.choice(int(rows[np.lexsort(keys[::-1])[0]]))

    def undominated(self, within: Bools, names: Sequence[str]) -> list[Choice]:
        """List those that no other beats in all the named measures; of equals the cheapest."""
        keys = [find_measure(name).turned(self.column(name)) for name in (*names, self.cost)]
        sides = np.stack(keys[:-1], axis=1)
        kept: list[int] = []
        # The best in the first measure first: whoever is beaten is so by one before.
        for row in np.lexsort(keys[::-1]).tolist():
            if within[row] and not (sides[kept] <= sides[row]).all(axis=1).any():
                kept.append(row)
        return [self.choice(row) for row in kept]


# -- a front at a glance ---------------------------------------------------------------------------

#: Most solutions that a table shows.
_MOST_ROWS = 12


def front_sentence(solutions: Solutions) -> str:
    """Say how many solutions there are, and from where to where their objectives go."""
    number = len(solutions)
    if not number:
        return "no solutions"
    ranges = []
    for name in solutions.objectives:
        column = solutions.measures[name]
        least, most = shown(name, column.min()), shown(name, column.max())
        ranges.append(f"{name} {least}" if least == most else f"{name} {least} to {most}")
    return f"{number:,} solution{'' if number == 1 else 's'}: {', '.join(ranges)}"


def front_facts(solutions: Solutions, found: int = 0) -> dict[str, str]:
    """How many solutions there are, of how many found, and from where to where they go."""
    thinned = f", thinned evenly from {found:,}" if found > len(solutions) else ""
    facts = {"solutions": f"{len(solutions):,}{thinned}"}
    for name in dict.fromkeys((*solutions.objectives, "k", "loss")):
        column = solutions.measures[name]
        least, most = float(column.min()), float(column.max())
        digits = 0 if least == int(least) and most == int(most) else 3 if most <= 1 else 1
        style = ".1%" if find_measure(name).is_share else f",.{digits}f"
        facts[name] = f"{least:{style}} to {most:{style}}"
    return facts


def front_html(solutions: Solutions) -> str:
    """Write a front as HTML: its sentence, and solutions evenly spread over it."""
    every = dict.fromkeys((*solutions.objectives, "k", "loss", "entropy_loss", "suppressed"))
    names = [name for name in every if name in solutions.measures]
    number = len(solutions)
    chosen = np.unique(np.linspace(0, max(number - 1, 0), min(number, _MOST_ROWS)).round())
    rows = [
        (str(row + 1), *(shown(name, float(solutions.measures[name][row])) for name in names))
        for row in chosen.astype(int).tolist()
    ]
    more = [f"{number - len(rows):,} more between them"] if number > len(rows) else []
    return as_html([f"Front of {front_sentence(solutions)}", Grid(("id", *names), rows), *more])
