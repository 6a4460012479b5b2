"""Near misses: solutions beside an answer that the question shut out for little."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from moanon.arrays import Bools
from moanon.front.choices import (
    ROUNDING,
    SLIGHTLY,
    SLIGHTLY_SHARE,
    Choice,
    Limit,
    Solutions,
    as_given,
    called,
    distinct_texts,
)
from moanon.measures import find_measure
from moanon.measures.measure import LARGEST

if TYPE_CHECKING:
    from moanon.front.asking import Question

#: From where a difference is worth telling: of a share, and of any other measure relatively.
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

    Attributes
    ----------
    kind : str
        ``miss``: what anybody would rather take, although it is beyond a limit. ``relaxed``: a
        limit moved slightly. ``more``: slightly more than the least cost. ``free``: practically
        the same cost. ``less``: slightly less privacy than the most. ``balance``: another balance
        between the sides of privacy, within the limits; ``revealed``: the same, slightly beyond
        the loss limit. ``nearest``: what it would take, where nothing is within the limits.
    choice : Choice
        The solution.
    sentence : str
        What is to be known about it.
    """

    kind: Literal["miss", "relaxed", "more", "free", "less", "balance", "revealed", "nearest"]
    choice: Choice
    sentence: str


def find_near(question: Question, solutions: Solutions, answer: Choice) -> Iterator[Nearby]:
    """Find what is worth knowing beside an answer; each solution once."""
    seen = {answer.id}
    for near in (
        *_missed(question, solutions, answer),
        *_relaxed(question, solutions, answer),
        *_turned_around(question, solutions, answer),
        *_balances(question, solutions),
    ):
        if near.choice.id not in seen:
            seen.add(near.choice.id)
            yield near


def find_nearest(question: Question, solutions: Solutions) -> Iterator[Nearby]:
    """Find what it would take where nothing is within the limits.

    For each limit that alone is in the way, the solution that exceeds it least; if there is no such
    limit, the solution whose worst excess is least (shares in points, other limits relatively).
    """
    goal = question.goal(solutions)
    names = tuple(dict.fromkeys((*solutions.privacy, "k", solutions.cost, "loss", "sl")))
    found: list[tuple[Choice | None, list[Limit]]] = []
    for limit in question.limits:
        values, others = solutions.column(limit.measure), question.within(solutions, but=limit)
        if others.any():
            closest = values[others].min() if limit.side == "at most" else values[others].max()
            found.append((solutions.best(others & (values == closest), goal), [limit]))
    if not found and len(solutions):
        excess = [each.excess(solutions.column(each.measure)) for each in question.limits]
        worst = np.max(excess, axis=0)
        found.append((solutions.best(worst <= worst.min(), goal), list(question.limits)))
    for choice, limits in found:
        if choice is not None:
            missed = [each for each in limits if not each.allows(choice.measures[each.measure])]
            rest = [name for name in names if name not in [each.measure for each in missed]]
            prices = " and ".join(_beyond(limit, choice) for limit in missed)
            also = f": {choice.describe(rest)}" if rest else ""
            yield Nearby("nearest", choice, f"{prices} would do{also}")


def _missed(question: Question, solutions: Solutions, answer: Choice) -> Iterator[Nearby]:
    """What anybody would rather take than an extreme answer: slightly beyond a suppression limit.

    A run for one limit of suppression mostly spends it. Under a narrower one its front has little
    but the ends, where nothing is left of the table or nobody is protected; those meet the limit,
    and nobody wants them. Between what is saved and what is beyond the limit, a point of one counts
    as a point of the other.
    """
    cost, goal = solutions.cost, question.goal(solutions)
    for limit in question.limits:
        if limit.measure not in ("sl", "suppressed") or limit.side != "at most":
            continue
        others, excess = question.within(solutions, but=limit), solutions.column("sl")
        excess = np.maximum(excess - answer.measures["sl"], 0.0)
        if goal == (cost,) and find_measure(cost).is_share:
            paid = solutions.column(cost) + excess
            found = solutions.best(others & (paid <= paid[others].min()), goal)
            saved = 0.0 if found is None else answer.measures[cost] - found.measures[cost]
            wanted = saved >= _MUCH_SHARE and saved >= _MUCH * answer.measures[cost]
        else:
            found = solutions.best(others, goal)
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


def _relaxed(question: Question, solutions: Solutions, answer: Choice) -> Iterator[Nearby]:
    """What moving one limit slightly would buy."""
    goal = question.goal(solutions)
    for limit in question.limits:
        values, others = solutions.column(limit.measure), question.within(solutions, but=limit)
        before = answer
        for moved in limit.relaxed():
            found = solutions.best(others & moved.allows(values), goal)
            if found is not None and _is_noticeable(goal, found, before):
                before = found
                sentence = f"{_beyond(limit, found)}: {_changes(goal, found, answer)}"
                yield Nearby("relaxed", found, sentence)


def _turned_around(question: Question, solutions: Solutions, answer: Choice) -> Iterator[Nearby]:
    """What slightly more loss than the least would buy, or slightly less than the most save."""
    goal, privacy = question.goal(solutions), solutions.privacy
    within, cost = question.within(solutions), (solutions.cost,)
    if goal[0] == solutions.cost:
        yield from _costlier(solutions, answer, within)
    elif set(goal) <= set(privacy):
        for name in goal:
            within = within & _slightly_less(name, answer).allows(solutions.column(name))
        found = solutions.best(within, cost)
        if found is not None and _is_noticeable(cost, found, answer):
            saved = _changes(cost, found, answer)
            yield Nearby("less", found, f"{_changes(goal, found, answer)}: {saved}")


def _slightly_less(name: str, answer: Choice) -> Limit:
    """The limit that lets through a tenth less of a privacy, which may be a tenth more of it."""
    value = answer.measures[name]
    if find_measure(name).higher_is_better:
        return Limit(name, "at least", (1 - SLIGHTLY) * value)
    most = (1 + SLIGHTLY) * value  # infinite for the δ of a group that lacks a sensitive value
    return Limit(name, "at most", min(most, 1.0 if find_measure(name).is_share else LARGEST))


def _costlier(solutions: Solutions, answer: Choice, within: Bools) -> Iterator[Nearby]:
    """What practically no more of the cost, and slightly more, would buy in privacy."""
    cost, privacy, before = solutions.cost, solutions.privacy, answer
    rise = find_measure(cost).turned(solutions.column(cost) - answer.measures[cost])
    whole = 1.0 if find_measure(cost).is_share else abs(answer.measures[cost])
    steps = SLIGHTLY_SHARE if find_measure(cost).is_share else (SLIGHTLY,)
    for more in (_FREE, *steps):
        found = solutions.best(within & (rise <= more * whole + ROUNDING), privacy)
        if found is None or not _is_noticeable(privacy, found, before):
            continue
        before, gains = found, _changes(privacy, found, answer)
        price = _changes((cost,), found, answer)
        if more == _FREE:
            same = f" ({price})" if price else ""
            yield Nearby("free", found, f"{gains} at practically the same{same}")
        else:
            yield Nearby("more", found, f"{price}: {gains}")


def _balances(question: Question, solutions: Solutions) -> Iterator[Nearby]:
    """Other balances between the sides of privacy, within the limits and slightly beyond."""
    privacy, stated = solutions.privacy, (*solutions.privacy, solutions.cost)
    if len(privacy) < 2 or not question.limits_loss:
        return
    inside = solutions.undominated(question.within(solutions), privacy)
    for choice in inside[: _MOST_BALANCES + 1]:  # the answer itself may be among them
        yield Nearby("balance", choice, choice.describe(stated))
    known = {choice.id for choice in inside}
    for limit in question.limits:
        if limit.measure in ("loss", solutions.cost) and limit.side == "at most":
            beyond = question.within(solutions, but=limit)
            beyond &= limit.relaxed()[0].allows(solutions.column(limit.measure))
            new = [c for c in solutions.undominated(beyond, privacy) if c.id not in known]
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
        and gain + ROUNDING
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
