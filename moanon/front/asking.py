"""Questions and answers: what to make best within which limits, and the solution to take.

Fronts of several limits η are asked the same (`least_losses`, `largest_ks`). Whatever meets a
narrow limit meets every wider one, so a wider limit need never cost more. Where it seems to, either
the loss is no objective and suppressing pays, or it is chance: each limit is searched for by itself
(`why_worse`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from moanon.arrays import Bools, Floats, Ints
from moanon.errors import ConfigError, got
from moanon.front.choices import (
    Choice,
    Limit,
    Nearby,
    as_given,
    called,
    find_near,
    find_nearest,
    shown,
)
from moanon.measures import find_measure
from moanon.wording import Grid, Part, Worded, facts

if TYPE_CHECKING:
    import pandas as pd

    from moanon.front.front import Front

#: What stands above the solutions beside an answer, by their kind; a miss comes first.
_HEADINGS = {
    "relaxed": "A limit moved slightly",
    "free": "Practically for free",
    "more": "For slightly more",
    "less": "Slightly less privacy",
    "balance": "Other balances within the limits",
    "revealed": "Further balances for one more percent",
    "nearest": "What it would take",
}
#: Privacy that every answer states.
_ALWAYS_STATED = ("k", "l", "weighted_k")
#: Limits on a cost that `ladder` tries: in percent, or of other numbers so much of each decade.
_RUNGS = (*range(5, 50, 5), *range(50, 101, 10))
_OF_A_DECADE = (1, 2, 5)
#: A ladder with no more rungs than this says little, and stands beside that of no limit.
_FEW_RUNGS = 3
#: Of several limits η is asked: the least loss at each k, and the best k within each loss.
_KS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_LOSSES = tuple(percent / 100 for percent in (5, 10, 15, 20, 25, 30, 35, 40, 50, 60))
#: Losses that differ by less are the same: one more digit than anybody is shown.
_SAME = 5e-5

#: Under each bound, the answer of each limit, the narrowest first; None where there is none.
ByBound = dict[float, tuple[float | None, ...]]


@dataclass(frozen=True)
class Question:
    """Limits, and the measures to make best within them, the most wanted first.

    Where none is preferred, what `moanon.front` says is made best.
    """

    limits: tuple[Limit, ...] = ()
    prefer: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        max_loss: float | None = None,
        max_suppression: float | None = None,
        min_k: float | None = None,
        min_l: float | None = None,
        at_most: Mapping[str, float] | None = None,
        at_least: Mapping[str, float] | None = None,
        prefer: str | Sequence[str] = (),
    ) -> Question:
        """Put a question together; parameters as for `moanon.front.Front.ask`."""
        for name, limits in (("at_most", at_most), ("at_least", at_least)):
            if not isinstance(limits, (Mapping, NoneType)):
                raise ConfigError(
                    f"{name} must be a mapping of measures to limits, such as {{'gl': 0.3}}. "
                    f"Got {got(limits)}"
                )
        most = [("loss", max_loss), ("sl", max_suppression), *(at_most or {}).items()]
        least = [("k", min_k), ("l", min_l), *(at_least or {}).items()]
        given = [
            *(Limit(name, "at most", bound) for name, bound in most if bound is not None),
            *(Limit(name, "at least", bound) for name, bound in least if bound is not None),
        ]
        # Of two limits on one side of a measure the tighter one holds, and is stated alone.
        found: dict[tuple[str, str], Limit] = {}
        for limit in given:
            known = found.setdefault((limit.measure, limit.side), limit)
            if not limit.allows(known.bound):
                found[limit.measure, limit.side] = limit
        wanted = [prefer] if isinstance(prefer, str) else prefer
        for name in wanted if isinstance(wanted, Sequence) else [None]:
            if not isinstance(name, str):
                raise ConfigError(f"prefer must name measures, such as 'k'. Got {got(prefer)}")
            find_measure(name)
        return cls(tuple(found.values()), tuple(dict.fromkeys(wanted)))

    @property
    def limits_loss(self) -> bool:
        """Whether the question says how much loss is tolerable.

        Few suppressed rows alone bound no loss: everything can still be generalized away.
        """
        return any(
            limit.demands and not limit.about.privacy and limit.measure not in ("sl", "suppressed")
            for limit in self.limits
        )

    @property
    def limits_privacy(self) -> bool:
        """Whether the question says how much privacy is needed."""
        return any(limit.demands and limit.about.privacy for limit in self.limits)

    @property
    def is_open(self) -> bool:
        """Whether nothing says what to make best."""
        return not (self.prefer or self.limits_loss or self.limits_privacy)

    def goal(self, front: Front) -> tuple[str, ...]:
        """The measures to make best, the most wanted first; refused if nothing says so."""
        if self.is_open:
            raise ConfigError(
                "a question needs a limit on loss (max_loss), on privacy (min_k, min_l) or on "
                "another measure (at_most, at_least), or what to prefer"
            )
        return self.prefer or (front.privacy if self.limits_loss else (front.cost,))

    def within(self, front: Front, *, but: Limit | None = None) -> Bools:
        """Which solutions are within all limits, or all but one."""
        inside = np.ones(len(front), dtype=bool)
        for limit in self.limits:
            if limit is not but:
                inside &= limit.allows(front.column(limit.measure))
        return inside


@dataclass(frozen=True)
class Answer(Worded):
    """The solution that answers a question; none where nothing is within the limits.

    `goal` is what was made best, `order` the same and what broke ties, `cost` what privacy is paid
    with. `near` is what is close by; `notes` say what should be known about the question itself.
    """

    question: Question
    goal: tuple[str, ...]
    order: tuple[str, ...]
    cost: str
    choice: Choice | None
    near: tuple[Nearby, ...]
    notes: tuple[str, ...] = ()

    @property
    def miss(self) -> Nearby | None:
        """What anybody would rather take than the answer, beyond one of the limits."""
        return next((near for near in self.near if near.kind == "miss"), None)

    @property
    def headline(self) -> Choice | None:
        """The solution to look at first: the answer, or what anybody would rather take."""
        return self.miss.choice if self.miss is not None else self.choice

    def parts(self, *, everything: bool = False, where: str = "") -> Iterator[Part]:
        """Say the solution, its numbers, what is near, and the notes.

        `where` is what to say behind the solution's number.
        """
        first = self.headline
        if self.choice is None or first is None:
            yield f"No solution has {' and '.join(map(str, self.question.limits))}."
        else:
            names = dict.fromkeys((*self.goal, self.cost, "loss"))
            beyond = ""
            if self.miss is not None:
                extreme = self.choice.describe(dict.fromkeys((*self.order[:2], self.cost)))
                limits = " and ".join(map(str, self.question.limits))
                yield f"With {limits} this run has extremes alone: {extreme} is the best of them"
                yield f"(solution {self.choice.id}). What comes near:"
                beyond = f", {self.miss.sentence.split(':')[0]}"
            yield f"Solution {first.id}{where}: {first.describe(names)}{beyond}"
            yield from facts(dict(self._facts(first)), " ")
        for kind, heading in _HEADINGS.items():
            near = [each for each in self.near if each.kind == kind]
            if near:
                yield heading
            yield from (f" {each.sentence} (solution {each.choice.id})" for each in near)
        yield from (f"note: {note}" for note in self.notes)

    def _facts(self, choice: Choice) -> Iterator[tuple[str, str]]:
        """The few numbers that matter, the privacy first that is asked for or searched for."""
        texts = {name: shown(name, value) for name, value in choice.measures.items()}
        asked = (*self.order, *(limit.measure for limit in self.question.limits))
        rest = [name for name in asked if find_measure(name).privacy and name not in _ALWAYS_STATED]
        for name in dict.fromkeys((*rest, *_ALWAYS_STATED)):
            if name in texts:
                yield name, texts[name]
        parts = f"generalization {texts['gl']}, suppression {texts['sl']}"
        yield "loss", f"{texts['loss']} ({parts})"
        if choice.optimality:
            yield "", f"{choice.optimality} for k at least {texts['k']}"
        for name in dict.fromkeys(("entropy_loss", self.cost)):
            if name in texts and name != "loss":
                yield name, texts[name]
        yield "suppressed", f"{texts['suppressed']} rows ({texts['sl']})"

    def to_frame(self) -> pd.DataFrame:
        """Return one row for the answer and for each solution near it."""
        import pandas as pd  # here, because a question needs no frame

        rows: list[tuple[str, Choice, str]] = []
        if self.choice is not None:
            rows.append(("answer", self.choice, ""))
        rows += [(near.kind, near.choice, near.sentence) for near in self.near]
        return pd.DataFrame(
            [
                {"kind": kind, "id": choice.id, "sentence": sentence, **choice.measures}
                for kind, choice, sentence in rows
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as numbers, texts, lists and dicts only."""
        return {
            "limits": [
                {"measure": limit.measure, limit.side.replace(" ", "_"): limit.bound}
                for limit in self.question.limits
            ],
            "goal": list(self.goal),
            "solution": None if self.choice is None else self.choice.to_dict(),
            "near": [
                {"kind": near.kind, "sentence": near.sentence, **near.choice.to_dict()}
                for near in self.near
            ],
            "notes": list(self.notes),
        }


def answer(question: Question, front: Front) -> Answer:
    """Find the solution that answers a question, and what is near it."""
    goal = question.goal(front)
    choice = front.best(question.within(front), goal)
    if choice is None:
        near = tuple(find_nearest(question, front))
    else:
        near = tuple(find_near(question, front, choice))
    notes = (*notes_on_limits(question, front), *_by_chance(question, front))
    order = front.order(goal)
    found = Answer(question, goal, order, front.cost, choice, near, notes)
    return replace(found, notes=(*notes, *_warnings(found.headline)))


def notes_on_limits(question: Question, front: Front) -> Iterator[str]:
    """Say where another run would answer better.

    A front for one suppression limit holds what is best under it, and that mostly spends the whole
    limit; what is best under a smaller one is beaten there, and so is absent.
    """
    rule = front.suppression
    for limit in question.limits:
        if limit.measure != "sl" or rule.kind == "weighted-k" or limit.bound == rule.eta:
            continue
        if rule.kind == "none":
            yield "this run suppresses no row at all; the preset k-suppression would"
            continue
        made_for, asked = as_given("sl", rule.eta), as_given("sl", limit.bound)
        other = f"a run with eta={limit.bound:g}"
        if limit.bound > rule.eta:
            yield f"this run suppresses at most {made_for} of the rows; {other} could spend {asked}"
        else:
            yield (
                f"this run was made for a suppression of up to {made_for}, which its solutions "
                f"mostly spend; {other} finds better ones within {asked}"
            )


def _by_chance(question: Question, front: Front) -> Iterator[str]:
    """Say which privacy was asked for that nobody searched for.

    Such a front holds what is best in other respects: solutions with more of this one, at a price,
    were beaten and are absent.
    """
    ensured = dict(front.suppression.constraints)
    asked = [
        limit.measure
        for limit in question.limits
        if not (limit.measure in ensured and limit.allows(ensured[limit.measure]))
    ]
    for name in dict.fromkeys((*asked, *question.prefer)):
        if not find_measure(name).privacy or front.searched_for(name):
            continue
        preset = {"k": "the preset k-suppression", "l": "the preset kl-safety"}.get(name)
        other = f"{name} among its objectives or constraints"
        if preset:
            other = f"{preset}, or with {other},"
        yield (
            f"this run did not search for {name}: its solutions have it by chance; a run with "
            f"{other} finds better ones"
        )


def _warnings(choice: Choice | None) -> Iterator[str]:
    if choice is not None and choice.measures.get("k") == 1:
        yield (
            "k is 1: some rows of this solution are alone in their group, whatever the mean; ask "
            "for k at least 2 to rule that out"
        )


def best_of(answers: Sequence[Answer]) -> int | None:
    """Place of the best of several answers to one question.

    The first of equals; None if nothing qualifies in any of them.
    """
    found = [
        (tuple(find_measure(name).turned(each.choice.measures[name]) for name in each.order), place)
        for place, each in enumerate(answers)
        if each.choice is not None
    ]
    return min(found)[1] if found else None


def answers_grid(names: Sequence[str], answers: Sequence[Answer], best: int | None) -> Grid:
    """Show the answers of several fronts side by side, each by its name."""
    measures = list(dict.fromkeys((*answers[0].goal, "k", answers[0].cost, "loss", "sl")))
    rows = []
    for place, (name, each) in enumerate(zip(names, answers, strict=True)):
        cells = ["none"] + [""] * len(measures)
        if (choice := each.choice) is not None:
            cells = [f"{choice.id:,}", *(shown(m, choice.measures[m]) for m in measures)]
        rows.append((name, *cells, "best" if place == best else ""))
    headers = ("results", "solution", *map(called, measures), "")
    return Grid(headers, rows, right=range(1, len(headers) - 1))


def ladder(question: Question, front: Front) -> tuple[tuple[Limit, Choice], ...]:
    """Answer an open question: the most privacy under each of some limits on the cost.

    A limit that buys no more privacy than the one before it is left out.
    """
    within, rungs = question.within(front), {}
    for limit in _cost_limits(front):
        allowed = within & limit.allows(front.column(limit.measure))
        choice = front.best(allowed, front.privacy)
        if choice is not None and choice.id not in rungs:
            rungs[choice.id] = (limit, choice)
    return tuple(rungs.values())


def ladder_parts(name: str, question: Question, front: Front) -> Iterator[Part]:
    """Show what each cost buys; without the limits, too, where they leave little to choose from."""
    rungs, every = ladder(question, front), ladder(Question(), front)
    if len(rungs) <= max(_FEW_RUNGS, len(every) // 2) and len(rungs) < len(every):
        limits = " and ".join(map(str, question.limits))
        yield f"With {limits} {name} has little to choose from:"
        yield _ladder_grid(front, rungs)
        yield "Without that limit:"
        rungs = every
    else:
        yield f"{name}: the most privacy that each {called(front.cost)} buys"
    yield _ladder_grid(front, rungs)
    yield from (f"note: {note}" for note in notes_on_limits(question, front))


def _ladder_grid(front: Front, rungs: Sequence[tuple[Limit, Choice]]) -> Grid:
    every = (*front.privacy, "k", front.cost, "loss", "entropy_loss", "sl")
    names = [name for name in dict.fromkeys(every) if name in front.measures]
    side = "from" if any(limit.side == "at least" for limit, _ in rungs) else "up to"
    rows = []
    for limit, choice in rungs:
        values = (shown(name, choice.measures[name]) for name in names)
        rows.append((as_given(limit.measure, limit.bound), f"{choice.id:,}", *values))
    headers = (f"{called(front.cost)} {side}", "solution", *map(called, names))
    return Grid(headers, rows, right=range(len(headers)))


def _cost_limits(front: Front) -> list[Limit]:
    """Round limits on what privacy is paid with, from strict to lenient."""
    measure = find_measure(front.cost)
    if measure.is_share:
        bounds = [percent / 100 for percent in _RUNGS]
    else:
        values = front.column(measure.name)
        found = np.abs(values[np.isfinite(values) & (values != 0)])
        ends = np.log10([found.min(), found.max()]) if len(found) else np.zeros(2)
        decades = range(int(np.floor(ends[0])), int(np.ceil(ends[1])) + 1)
        bounds = [0.0, *(part * 10.0**power for power in decades for part in _OF_A_DECADE)]
    if measure.higher_is_better:  # of what is left, a strict limit wants much
        return [Limit(measure.name, "at least", bound) for bound in reversed((0.0, *bounds))]
    return [Limit(measure.name, "at most", bound) for bound in bounds]


# -- several limits η ----------------------------------------------------------------------------


def least_losses(fronts: Mapping[float, Front]) -> ByBound:
    """The least loss with at least each k, for each limit; a k that no front has is left out."""
    columns = _k_and_loss(fronts)
    return {
        bound: tuple(min(loss[k >= bound].tolist(), default=None) for k, loss in columns)
        for bound in _KS
        if any((k >= bound).any() for k, _ in columns)
    }


def largest_ks(fronts: Mapping[float, Front]) -> ByBound:
    """The largest k within each loss, likewise."""
    columns = _k_and_loss(fronts)
    return {
        bound: tuple(max(k[loss <= bound].tolist(), default=None) for k, loss in columns)
        for bound in _LOSSES
        if any((loss <= bound).any() for _, loss in columns)
    }


def _k_and_loss(fronts: Mapping[float, Front]) -> list[tuple[Ints, Floats]]:
    measures = [fronts[eta].measures for eta in sorted(fronts)]
    return [(each["k"].astype(np.int64), each["loss"]) for each in measures]


#: Losses that a suppressed row does not count in.
_OF_KEPT_ROWS = frozenset({"gl", "gl_weighted"})


def why_worse(fronts: Mapping[float, Front], evaluations: Mapping[float, int]) -> str:
    """Say why a wider limit loses more at some k than a narrower one; nothing where none does.

    `evaluations` are how many each search took, as far as that is known.
    """
    found: dict[tuple[float, float], list[float]] = {}
    etas = sorted(fronts)
    for bound, losses in least_losses(fronts).items():
        for (narrow, less), (wide, more) in pairwise(zip(etas, losses, strict=True)):
            if less is not None and (more is None or more > less + _SAME):
                found.setdefault((narrow, wide), []).append(bound)
    sentences = []
    for (narrow, wide), bounds in found.items():
        ks = ", ".join(f"{bound:,.0f}" for bound in bounds)
        few, many = evaluations.get(wide, 0), evaluations.get(narrow, 0)
        why = "each limit is searched by itself"
        if (cost := _rewarding(fronts[wide].objectives)) is not None:
            why = (
                f"the objective {cost} counts kept rows alone, so a search that may suppress more "
                "does so, and the loss counts suppressed rows in full; take the objective loss "
                f"instead of {cost}"
            )
        elif 0 < few < many:
            why = f"it was searched with {few:,} evaluations instead of {many:,}"
        sentences.append(
            f"η {wide} shows a larger loss than η {narrow} at k {ks}: {why}; what was found for "
            f"η {narrow} is allowed under η {wide}, too"
        )
    return "; ".join(sentences)


def _rewarding(objectives: Sequence[str]) -> str | None:
    """The objective that gets better by suppressing rows, where no other one holds against it."""
    costs = [name for name in objectives if not find_measure(name).privacy]
    return next(iter(costs), None) if costs and {*costs} <= _OF_KEPT_ROWS else None
