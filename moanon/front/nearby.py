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
    told_apart,
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
#: Most balances that are listed.
_MOST_BALANCES = 8


@dataclass(frozen=True)
class Nearby:
    """A solution beside the answer.

    Attributes
    ----------
    kind : str
        ``relaxed``: a limit moved slightly. ``more``: slightly more loss than the least. ``free``:
        practically the same loss. ``less``: slightly less privacy than the most. ``balance``:
        another balance between the sides of privacy, within the limits; ``revealed``: the same,
        slightly beyond the loss limit. ``nearest``: what it would take, where nothing is within
        the limits.
    choice : Choice
        The solution.
    sentence : str
        What is to be known about it.
    """

    kind: Literal["relaxed", "more", "free", "less", "balance", "revealed", "nearest"]
    choice: Choice
    sentence: str


def find_near(question: Question, solutions: Solutions, answer: Choice) -> Iterator[Nearby]:
    """Find what is worth knowing beside an answer; each solution once."""
    told = {answer.id}
    for near in (
        *_relaxed(question, solutions, answer),
        *_turned_around(question, solutions, answer),
        *_balances(question, solutions),
    ):
        if near.choice.id not in told:
            told.add(near.choice.id)
            yield near


def find_nearest(question: Question, solutions: Solutions) -> Iterator[Nearby]:
    """Find what it would take where nothing is within the limits.

    For each limit that alone is in the way, the solution that exceeds it least; if there is no such
    limit, the solution whose worst excess is least (shares in points, other limits relatively).
    """
    goal = question.goal(solutions)
    names = tuple(dict.fromkeys((*solutions.privacy, "k", "loss", "sl")))
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
    within = question.within(solutions)
    if goal[0] == "loss":
        yield from _dearer(solutions, answer, within)
    elif set(goal) <= set(privacy):
        for name in goal:
            within = within & _slightly_less(name, answer).allows(solutions.column(name))
        found = solutions.best(within, ("loss",))
        if found is not None and _is_noticeable(("loss",), found, answer):
            saved = _changes(("loss",), found, answer)
            yield Nearby("less", found, f"{_changes(goal, found, answer)}: {saved}")


def _slightly_less(name: str, answer: Choice) -> Limit:
    """The limit that lets through a tenth less of a privacy, which may be a tenth more of it."""
    value = answer.measures[name]
    if find_measure(name).higher_is_better:
        return Limit(name, "at least", (1 - SLIGHTLY) * value)
    most = (1 + SLIGHTLY) * value  # infinite for the δ of a group that lacks a sensitive value
    return Limit(name, "at most", min(most, 1.0 if find_measure(name).is_share else LARGEST))


def _dearer(solutions: Solutions, answer: Choice, within: Bools) -> Iterator[Nearby]:
    """What practically no more loss, and slightly more, would buy in privacy."""
    loss, privacy, before = solutions.column("loss"), solutions.privacy, answer
    for more in (_FREE, *SLIGHTLY_SHARE):
        most = answer.measures["loss"] + more + ROUNDING
        found = solutions.best(within & (loss <= most), privacy)
        if found is None or not _is_noticeable(privacy, found, before):
            continue
        before, gains = found, _changes(privacy, found, answer)
        if more == _FREE:
            price = _changes(("loss",), found, answer)
            yield Nearby("free", found, f"{gains} at practically the same ({price})")
        else:
            yield Nearby("more", found, f"{_changes(('loss',), found, answer)}: {gains}")


def _balances(question: Question, solutions: Solutions) -> Iterator[Nearby]:
    """Other balances between the sides of privacy, within the limits and slightly beyond."""
    privacy = solutions.privacy
    if len(privacy) < 2 or not question.limits_loss:
        return
    inside = solutions.undominated(question.within(solutions), privacy)
    for choice in inside[: _MOST_BALANCES + 1]:  # the answer itself may be among them
        yield Nearby("balance", choice, choice.describe((*privacy, "loss")))
    known = {choice.id for choice in inside}
    for limit in question.limits:
        if limit.measure == "loss" and limit.side == "at most":
            beyond = question.within(solutions, but=limit)
            beyond &= limit.relaxed()[0].allows(solutions.column("loss"))
            new = [c for c in solutions.undominated(beyond, privacy) if c.id not in known]
            for choice in new[:_MOST_BALANCES]:
                yield Nearby("revealed", choice, choice.describe((*privacy, "loss")))


def _is_noticeable(goal: Sequence[str], found: Choice, before: Choice) -> bool:
    """Whether a solution is better, and in at least one measure by enough to be told."""
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
        f"{called(name)} {' instead of '.join(told_apart(name, here, there))}"
        for name, here, there in pairs
        if here != there
    )


def _beyond(limit: Limit, found: Choice) -> str:
    """What a solution takes of a limit: ``loss 26.0% instead of 25%``."""
    name, bound = limit.measure, limit.bound
    value, _ = told_apart(name, found.measures[name], bound)
    return f"{called(name)} {value} instead of {as_given(name, bound)}"
