"""What questions go by: limits, one solution, the near misses beside it; how values are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bools, Floats, Values
from moanon.errors import ConfigError, got
from moanon.measures import Measure, find_measure
from moanon.measures.loss import BOUND, optimality
from moanon.measures.measure import LARGEST, is_number
from moanon.wording import Grid, as_html, counted

if TYPE_CHECKING:
    from moanon.front.asking import Question
    from moanon.front.front import Front

#: Percentage points by which a limit on a share is moved, one after the other.
_SLIGHTLY_SHARE = (0.01, 0.02)
#: Part by which another limit is moved, ...
_SLIGHTLY = 0.1
#: ... and the least by which one on a distance is, whose range is about 1.
_SLIGHTLY_FAR = 0.01
#: Shares are compared up to this: a limit plus a percentage point has rounding in it.
_ROUNDING = 1e-12
#: Most decimals that two different numbers are written with.
_MOST_DIGITS = 9


# -- values ----------------------------------------------------------------------------------------


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


# -- limits, and one solution ----------------------------------------------------------------------


@dataclass(frozen=True)
class Limit:
    """A bound on a measure, by its registered name; the bound itself is allowed."""

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
        """Whether each value is within the limit."""
        slack = self.about.slack(self.bound)
        given = np.asarray(values)
        if self.side == "at most":
            return np.asarray(given <= self.bound + slack)
        return np.asarray(given >= self.bound - slack)

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
            steps = [points + _ROUNDING for points in _SLIGHTLY_SHARE]
        else:
            steps = [max(self._least_step, _SLIGHTLY * self.bound)]
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

    No generalization with as large a k goes below `bound`, where one was proven.
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


# -- near misses -----------------------------------------------------------------------------------

#: From where a difference is worth a word: of a share, and of any other measure relatively.
_NOTICEABLE_SHARE = 0.01
_NOTICEABLE = 0.1
#: Loss that counts as none.
_FREE = 0.001
#: What an answer must waste, as a share and as a part of its own cost, to be called extreme.
_MUCH_SHARE, _MUCH = 0.1, 0.4
#: Most balances that are listed.
_MOST_BALANCES = 8


@dataclass(frozen=True)
class Nearby:
    """A solution beside the answer.

    Its kind is one of ``miss``: what anybody would rather take, although it is beyond a limit;
    ``relaxed``: a limit moved slightly; ``more``: slightly more than the least cost; ``free``:
    practically the same cost; ``less``: slightly less privacy than the most; ``balance``: another
    balance between the sides of privacy, within the limits; ``revealed``: the same, slightly beyond
    the loss limit; ``nearest``: what it would take, where nothing is within the limits.
    """

    kind: Literal["miss", "relaxed", "more", "free", "less", "balance", "revealed", "nearest"]
    choice: Choice
    sentence: str


def find_near(question: Question, front: Front, answer: Choice) -> Iterator[Nearby]:
    """Find what is worth knowing beside an answer; each solution once."""
    seen = {answer.id}
    for near in (
        *_missed(question, front, answer),
        *_relaxed(question, front, answer),
        *_turned_around(question, front, answer),
        *_balances(question, front),
    ):
        if near.choice.id not in seen:
            seen.add(near.choice.id)
            yield near


def find_nearest(question: Question, front: Front) -> Iterator[Nearby]:
    """Find what it would take where nothing is within the limits.

    For each limit that alone is in the way, the solution that exceeds it least; if there is no such
    limit, the solution whose worst excess is least (shares in points, other limits relatively).
    """
    goal = question.goal(front)
    names = tuple(dict.fromkeys((*front.privacy, "k", front.cost, "loss", "sl")))
    found: list[tuple[Choice | None, list[Limit]]] = []
    for limit in question.limits:
        values, others = front.column(limit.measure), question.within(front, but=limit)
        if others.any():
            closest = values[others].min() if limit.side == "at most" else values[others].max()
            found.append((front.best(others & (values == closest), goal), [limit]))
    if not found and len(front):
        excess = [each.excess(front.column(each.measure)) for each in question.limits]
        worst = np.max(excess, axis=0)
        found.append((front.best(worst <= worst.min(), goal), list(question.limits)))
    for choice, limits in found:
        if choice is not None:
            missed = [each for each in limits if not each.allows(choice.measures[each.measure])]
            rest = [name for name in names if name not in [each.measure for each in missed]]
            prices = " and ".join(_beyond(limit, choice) for limit in missed)
            also = f": {choice.describe(rest)}" if rest else ""
            yield Nearby("nearest", choice, f"{prices} would do{also}")


def _missed(question: Question, front: Front, answer: Choice) -> Iterator[Nearby]:
    """What anybody would rather take than an extreme answer: slightly beyond a suppression limit.

    A run for one limit of suppression mostly spends it. Under a narrower one its front has little
    but the ends, where nothing is left of the table or nobody is protected; those meet the limit,
    and nobody wants them. Between what is saved and what is beyond the limit, a point of one counts
    as a point of the other.
    """
    cost, goal = front.cost, question.goal(front)
    for limit in question.limits:
        if limit.measure not in ("sl", "suppressed") or limit.side != "at most":
            continue
        others, excess = question.within(front, but=limit), front.column("sl")
        excess = np.maximum(excess - answer.measures["sl"], 0.0)
        if goal == (cost,) and find_measure(cost).is_share:
            paid = front.column(cost) + excess
            found = front.best(others & (paid <= paid[others].min()), goal)
            saved = 0.0 if found is None else answer.measures[cost] - found.measures[cost]
            wanted = saved >= _MUCH_SHARE and saved >= _MUCH * answer.measures[cost]
        else:
            found = front.best(others, goal)
            wanted = find_measure(goal[0]).privacy and _protects_nobody(
                goal[0], answer.measures[goal[0]]
            )
        if found is not None and found.id != answer.id and wanted:
            sentence = f"{_beyond(limit, found)}: {_changes(goal, found, answer)}"
            yield Nearby("miss", found, sentence)


def _protects_nobody(name: str, value: float) -> bool:
    """Whether a privacy is the worst there can be: k 1, or the largest distance."""
    measure = find_measure(name)
    end = measure.range.low if measure.higher_is_better else measure.range.high
    return not isinstance(end, str) and bool(measure.turned(value) >= measure.turned(end))


def _relaxed(question: Question, front: Front, answer: Choice) -> Iterator[Nearby]:
    """What moving one limit slightly would buy."""
    goal = question.goal(front)
    for limit in question.limits:
        values, others = front.column(limit.measure), question.within(front, but=limit)
        before = answer
        for moved in limit.relaxed():
            found = front.best(others & moved.allows(values), goal)
            if found is not None and _is_noticeable(goal, found, before):
                before = found
                sentence = f"{_beyond(limit, found)}: {_changes(goal, found, answer)}"
                yield Nearby("relaxed", found, sentence)


def _turned_around(question: Question, front: Front, answer: Choice) -> Iterator[Nearby]:
    """What slightly more loss than the least would buy, or slightly less than the most save."""
    goal, privacy = question.goal(front), front.privacy
    within, cost = question.within(front), (front.cost,)
    if goal[0] == front.cost:
        yield from _costlier(front, answer, within)
    elif set(goal) <= set(privacy):
        for name in goal:
            within = within & _slightly_less(name, answer).allows(front.column(name))
        found = front.best(within, cost)
        if found is not None and _is_noticeable(cost, found, answer):
            saved = _changes(cost, found, answer)
            yield Nearby("less", found, f"{_changes(goal, found, answer)}: {saved}")


def _slightly_less(name: str, answer: Choice) -> Limit:
    """The limit that lets through a tenth less of a privacy, which may be a tenth more of it."""
    value = answer.measures[name]
    if find_measure(name).higher_is_better:
        return Limit(name, "at least", (1 - _SLIGHTLY) * value)
    most = (1 + _SLIGHTLY) * value  # infinite for the δ of a group that lacks a sensitive value
    return Limit(name, "at most", min(most, 1.0 if find_measure(name).is_share else LARGEST))


def _costlier(front: Front, answer: Choice, within: Bools) -> Iterator[Nearby]:
    """What practically no more of the cost, and slightly more, would buy in privacy."""
    cost, privacy, before = front.cost, front.privacy, answer
    rise = find_measure(cost).turned(front.column(cost) - answer.measures[cost])
    whole = 1.0 if find_measure(cost).is_share else abs(answer.measures[cost])
    steps = _SLIGHTLY_SHARE if find_measure(cost).is_share else (_SLIGHTLY,)
    for more in (_FREE, *steps):
        found = front.best(within & (rise <= more * whole + _ROUNDING), privacy)
        if found is None or not _is_noticeable(privacy, found, before):
            continue
        before, gains = found, _changes(privacy, found, answer)
        price = _changes((cost,), found, answer)
        if more == _FREE:
            same = f" ({price})" if price else ""
            yield Nearby("free", found, f"{gains} at practically the same{same}")
        else:
            yield Nearby("more", found, f"{price}: {gains}")


def _balances(question: Question, front: Front) -> Iterator[Nearby]:
    """Other balances between the sides of privacy, within the limits and slightly beyond."""
    privacy, stated = front.privacy, (*front.privacy, front.cost)
    if len(privacy) < 2 or not question.limits_loss:
        return
    inside = front.undominated(question.within(front), privacy)
    for choice in inside[: _MOST_BALANCES + 1]:  # the answer itself may be among them
        yield Nearby("balance", choice, choice.describe(stated))
    known = {choice.id for choice in inside}
    for limit in question.limits:
        if limit.measure in ("loss", front.cost) and limit.side == "at most":
            beyond = question.within(front, but=limit)
            beyond &= limit.relaxed()[0].allows(front.column(limit.measure))
            new = [c for c in front.undominated(beyond, privacy) if c.id not in known]
            for choice in new[:_MOST_BALANCES]:
                yield Nearby("revealed", choice, choice.describe(stated))


def _is_noticeable(goal: Sequence[str], found: Choice, before: Choice) -> bool:
    """Whether a solution is better, and in at least one measure by enough to be named."""
    differences = [
        (n, find_measure(n).turned(before.measures[n] - found.measures[n])) for n in goal
    ]
    if next((gain for _, gain in differences if gain), 0) <= 0:
        return False
    return any(
        gain > 0
        and gain + _ROUNDING
        >= (
            _NOTICEABLE_SHARE
            if find_measure(name).is_share
            else _NOTICEABLE * before.measures[name]
        )
        for name, gain in differences
    )


def _changes(names: Sequence[str], found: Choice, answer: Choice) -> str:
    """What is different between two solutions: ``k 16 instead of 14``."""
    pairs = [(name, found.measures[name], answer.measures[name]) for name in names]
    return ", ".join(
        f"{called(name)} {' instead of '.join(distinct_texts(name, here, there))}"
        for name, here, there in pairs
        if here != there
    )


def _beyond(limit: Limit, found: Choice) -> str:
    """What a solution takes of a limit: ``loss 26.0% instead of 25%``."""
    name, bound = limit.measure, limit.bound
    value, _ = distinct_texts(name, found.measures[name], bound)
    return f"{called(name)} {value} instead of {as_given(name, bound)}"


# -- a front at a glance ---------------------------------------------------------------------------

#: Most solutions that a table shows.
_MOST_ROWS = 12


def front_sentence(front: Front) -> str:
    """Say how many solutions there are, and from where to where their objectives go."""
    number = len(front)
    if not number:
        return "no solutions"
    ranges = []
    for name in front.objectives:
        column = front.measures[name]
        least, most = shown(name, column.min()), shown(name, column.max())
        ranges.append(f"{name} {least}" if least == most else f"{name} {least} to {most}")
    return f"{counted(number, 'solution')}: {', '.join(ranges)}"


def front_facts(front: Front) -> dict[str, str]:
    """How many solutions there are, of how many found, and from where to where they go."""
    thinned = f", thinned evenly from {front.found:,}" if front.found > len(front) else ""
    facts = {"solutions": f"{len(front):,}{thinned}"}
    for name in dict.fromkeys((*front.objectives, "k", "loss")):
        column = front.measures[name]
        least, most = float(column.min()), float(column.max())
        digits = 0 if least == int(least) and most == int(most) else 3 if most <= 1 else 1
        style = ".1%" if find_measure(name).is_share else f",.{digits}f"
        facts[name] = f"{least:{style}} to {most:{style}}"
    return facts


def front_html(front: Front) -> str:
    """Write a front as HTML: its sentence, and solutions evenly spread over it."""
    every = dict.fromkeys((*front.objectives, "k", "loss", "entropy_loss", "suppressed"))
    names = [name for name in every if name in front.measures]
    number = len(front)
    chosen = np.unique(np.linspace(0, max(number - 1, 0), min(number, _MOST_ROWS)).round())
    rows = [
        (str(row + 1), *(shown(name, float(front.measures[name][row])) for name in names))
        for row in chosen.astype(int).tolist()
    ]
    more = [f"{number - len(rows):,} more between them"] if number > len(rows) else []
    return as_html([f"Front of {front_sentence(front)}", Grid(("id", *names), rows), *more])
