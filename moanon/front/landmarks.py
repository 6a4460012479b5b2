"""Landmarks of a front: where privacy is nearly free, and where it begins to cost.

D §7.2 reads two things off a front. In *flat stretches* privacy grows a lot and the loss hardly:
whoever chose the near end can have the far end almost for nothing. At a *knee* such a stretch is
over: the privacy that comes next costs much more. Both belong to one privacy measure against one
cost, so a front is first looked at that way (`TradeOff`); `find_landmarks` does it all.

Features are looked for where publishers choose: nobody publishes k = 1, and hardly anybody asks for
a k of thousands, where little is left of the table (`TradeOff.publishable`). Over that part privacy
and cost both run from 0 to 1, privacy on a logarithmic scale where it spans a decade or more,
because from k = 5 to 10 is as much as from 50 to 100.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from moanon.arrays import Bools, Floats, Ints, Outlined, Values
from moanon.front.front import Front, attained_privacy, searched_cost
from moanon.measures import find_measure

if TYPE_CHECKING:
    import pandas as pd

#: A stretch is flat where cost rises at most this much as steeply as over the whole front, ...
_STEEPNESS = 1 / 3
#: ... worth a word from this much privacy on, ...
_LEAST_GAIN = 0.02
#: ... and nearly free only if the whole of it costs no more than this share.
_MOST_PRICE = 0.01
#: The k that publishers choose among, if a front has at least so many solutions there.
_PUBLISHED, _FEWEST = (2, 500), 8
#: How far a knee looks back and ahead.
_REACH = 1 / 20
#: How much more the way ahead of a knee must cost than the way behind it.
_LEAST_BEND = 0.02
#: Shares that read the same in percent with one digit.
_SAME = 0.0005


def spans_decades(values: Values) -> bool:
    """Whether numbers are best seen on a logarithmic scale: positive, tenfold or more."""
    return bool(len(values) and values.min() > 0 and values.max() >= 10 * values.min())


def spell(name: str, value: float) -> str:
    """Write a value of a measure: shares in percent, whole numbers whole, others with 3 digits.

    >>> spell("loss", 0.2476), spell("k", 30162), spell("weighted_k", 2528.4)
    ('24.8 %', '30,162', '2,528')
    """
    if find_measure(name).is_share:
        return f"{100 * value:.1f} %"
    whole = value == round(value) or abs(value) >= 100
    return f"{value:,.0f}" if whole else f"{value:.3g}"


# -- a front as a curve --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class TradeOff(Outlined):
    """A front as one privacy measure against one cost: the solutions undominated in these two.

    Attributes
    ----------
    privacy, cost : str
        Names of the measures.
    ids : array (solutions,)
        Numbers of the solutions in their front, from the least private to the most.
    privacies, costs : array (solutions,)
        Their values. Along the solutions privacy and cost both strictly rise (their numbers fall
        where a measure's direction is the other one).
    logarithmic : bool
        Whether equal ratios of privacy are equal gains, rather than equal differences.
    """

    privacy: str
    cost: str
    ids: Ints
    privacies: Values
    costs: Values
    logarithmic: bool

    @classmethod
    def of(
        cls,
        front: Front,
        privacy: str | None = None,
        cost: str | None = None,
        *,
        among: Bools | None = None,
    ) -> TradeOff:
        """Look at a front, or at some of its solutions, as a trade-off of two measures.

        By default these are the first objective that is privacy, as attained (``k`` where none is),
        and what `moanon.front.front.searched_cost` says of the objectives.
        """
        privacy = privacy or attained_privacy(front.objectives)[0]
        cost = cost or searched_cost(front.objectives)
        better = _signed(privacy, front.column(privacy).astype(np.float64))
        rise = -_signed(cost, front.column(cost).astype(np.float64))
        order = np.lexsort((-better, rise))  # the cheapest first, of equals the most private
        counted = np.isfinite(better) & np.isfinite(rise)
        order = order[(counted if among is None else counted & among)[order]]
        best_before = np.maximum.accumulate(np.concatenate(([-np.inf], better[order])))[:-1]
        chosen = order[better[order] > best_before]
        privacies, costs = front.measures[privacy][chosen], front.measures[cost][chosen]
        return cls(privacy, cost, front.ids[chosen], privacies, costs, spans_decades(privacies))

    def __len__(self) -> int:
        return len(self.ids)

    def part(self, start: int, stop: int, *, logarithmic: bool) -> TradeOff:
        """Return the solutions ``start`` to ``stop - 1``, as a trade-off of their own."""
        chosen = slice(start, stop)
        ids, privacies, costs = self.ids[chosen], self.privacies[chosen], self.costs[chosen]
        return TradeOff(self.privacy, self.cost, ids, privacies, costs, logarithmic)

    @property
    def publishable(self) -> TradeOff:
        """The part where publishers choose: some k from 2 to a few hundred; else the whole."""
        if self.privacy != "k":
            return self
        start, stop = np.searchsorted(self.privacies, [_PUBLISHED[0], _PUBLISHED[1] + 1]).tolist()
        if stop - start < _FEWEST:
            return self
        return self.part(start, stop, logarithmic=spans_decades(self.privacies[start:stop]))

    @property
    def gains(self) -> Floats:
        """How far each solution is on the way from the least privacy (0) to the most (1)."""
        values = np.log(self.privacies) if self.logarithmic else self.privacies
        return _unit(_signed(self.privacy, values))

    @property
    def rises(self) -> Floats:
        """How far each solution is on the way from the least cost (0) to the most (1)."""
        return _unit(-_signed(self.cost, self.costs))


def _signed(name: str, values: Values) -> Values:
    """Values turned so that larger is better."""
    return values if find_measure(name).higher_is_better else -values


def _unit(values: Values) -> Floats:
    span = values[-1] - values[0] if len(values) else 0.0
    return (values - values[0]) / span if span > 0 else np.zeros(len(values))


# -- landmarks -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Landmark:
    """A knee, up to which privacy is cheap, or a flat stretch; the ends of a knee are the same.

    Attributes
    ----------
    first, last : int
        Numbers of the solutions at its ends.
    privacy_from, privacy_to, cost_from, cost_to : float
    rise : float
        How far the cost of the last is on the way from the front's least (0) to its most (1).
    worth : float
        How remarkable it is, times the square of the share of cost that is not yet spent: nobody
        chooses among solutions that leave nothing of the data. For a knee, what the next twentieth
        of the way costs more than the last one did; for a stretch, the privacy it brings beyond
        what its cost would buy elsewhere at a third of the usual price.
    """

    first: int
    last: int
    privacy_from: float
    privacy_to: float
    cost_from: float
    cost_to: float
    rise: float
    worth: float


@dataclass(frozen=True)
class Landmarks:
    """What is remarkable about a trade-off, from the least privacy to the most."""

    tradeoff: TradeOff
    knees: tuple[_Landmark, ...]
    flats: tuple[_Landmark, ...]

    def foremost_knees(self) -> list[_Landmark]:
        """The knees, the most remarkable first."""
        return sorted(self.knees, key=lambda knee: -knee.worth)

    def price(self, flat: _Landmark) -> str:
        """The rise in cost along a stretch, such as ``0.3 %``."""
        rise = abs(flat.cost_to - flat.cost_from)
        if find_measure(self.tradeoff.cost).is_share and rise < _SAME:
            return "under 0.1 %"
        return spell(self.tradeoff.cost, rise)

    def sentence(self, flat: _Landmark) -> str:
        """What a stretch brings, such as ``k from 20 to 26 for 0.3 % loss``."""
        name, cost = self.tradeoff.privacy, self.tradeoff.cost
        near, far = spell(name, flat.privacy_from), spell(name, flat.privacy_to)
        return f"{name} from {near} to {far} for {self.price(flat)} {cost}"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per landmark."""
        import pandas as pd  # here, because plots need none

        kinds = {"knee": self.knees, "flat": self.flats}
        rows = [
            (kind, *(value for name, value in asdict(each).items() if name != "rise"))
            for kind, found in kinds.items()
            for each in found
        ]
        privacy, cost = self.tradeoff.privacy, self.tradeoff.cost
        ends = (f"{privacy}_from", f"{privacy}_to", f"{cost}_from", f"{cost}_to")
        return pd.DataFrame(rows, columns=["kind", "first", "last", *ends, "worth"])


def find_landmarks(
    front: Front | TradeOff, privacy: str | None = None, cost: str | None = None
) -> Landmarks:
    """Find the knees and flat stretches of a front, which is looked at as by `TradeOff.of`.

    Let privacy ``u`` and cost ``c`` run over [0, 1], in the part of a front where publishers choose
    (a trade-off is taken as it is given). A *knee* is a solution whose second difference
    ``c(u + h) - 2 c(u) + c(u - h)``, ``h = 1/20``, is at least 0.02 and the largest within ``h`` on
    either side; between solutions ``c`` is interpolated. So a bend is seen at the scale that a
    publisher chooses at, rather than at that of single solutions.

    *Flat stretches* are the maximal runs of steps for which the sum of ``du - 3 dC`` is largest
    (all maximal scoring subsequences: Ruzzo & Tompa, 1999), so cost rises there at most a third as
    steeply as over the whole front, and no run gets better by taking in its neighbours or leaving
    out its ends. Of one that costs more than a hundredth (of a cost that is a share) the best parts
    that do not are taken; those with less than a fiftieth of the way are left out.
    """
    tradeoff = front if isinstance(front, TradeOff) else TradeOff.of(front, privacy, cost)
    part = tradeoff if isinstance(front, TradeOff) else tradeoff.publishable
    return Landmarks(tradeoff, tuple(_knees(part)), tuple(_flats(part)))


def _landmark(tradeoff: TradeOff, start: int, stop: int, worth: float) -> _Landmark:
    """Describe what reaches from one place of a trade-off to another."""
    first, last = tradeoff.ids[[start, stop]].tolist()
    near, far = tradeoff.privacies[[start, stop]].astype(float).tolist()
    least, most = tradeoff.costs[[start, stop]].astype(float).tolist()
    rise = float(tradeoff.rises[stop])
    left = (1 - rise) ** 2
    return _Landmark(first, last, near, far, least, most, rise, float(worth * left))


def _knees(tradeoff: TradeOff) -> Iterable[_Landmark]:
    if len(tradeoff) < 3:
        return
    gains, rises = tradeoff.gains, tradeoff.rises
    low, high = gains - _REACH, gains + _REACH
    before, after = rises - np.interp(low, gains, rises), np.interp(high, gains, rises) - rises
    bends = np.where(low >= 0, after - before, 0)  # who starts here has come from nowhere
    bends[-1:] = 0
    starts, stops = np.searchsorted(gains, low), np.searchsorted(gains, high, side="right")
    for i in np.flatnonzero(bends >= _LEAST_BEND).tolist():
        if starts[i] + bends[starts[i] : stops[i]].argmax() == i:
            yield _landmark(tradeoff, i, i, bends[i])


def _flats(tradeoff: TradeOff) -> Iterable[_Landmark]:
    gains = tradeoff.gains
    scores = np.diff(gains) - np.diff(tradeoff.rises) / _STEEPNESS
    runs = _maximal_runs(scores.tolist())
    if find_measure(tradeoff.cost).is_share:
        parts = (_affordable(tradeoff.costs, scores, *run) for run in runs)
        runs = sorted(run for found in parts for run in found)
    for start, stop in runs:
        if gains[stop] - gains[start] >= _LEAST_GAIN:
            yield _landmark(tradeoff, start, stop, scores[start:stop].sum())


def _affordable(costs: Values, scores: Floats, start: int, stop: int) -> Iterable[tuple[int, int]]:
    """The parts of a run, between two solutions, that cost little enough; the best one first."""
    if abs(costs[stop] - costs[start]) <= _MOST_PRICE:
        yield start, stop
        return
    before = np.concatenate(([0.0], np.cumsum(scores)))
    places = np.arange(start, stop + 1)
    reach = [np.flatnonzero(np.abs(costs[places] - costs[i]) <= _MOST_PRICE)[-1] for i in places]
    worth = [before[places[far]] - before[i] for i, far in zip(places, reach, strict=True)]
    best = int(np.argmax(worth))
    if worth[best] <= 0:
        return
    first, last = int(places[best]), int(places[reach[best]])
    yield first, last
    for left, right in ((start, first), (last, stop)):
        if right > left:
            yield from _affordable(costs, scores, left, right)


def _maximal_runs(scores: list[float]) -> list[tuple[int, int]]:
    """All maximal scoring runs of steps, as the solutions at their ends (Ruzzo & Tompa, 1999)."""
    runs: list[tuple[int, int, float, float]] = []  # ends, and the sums of all scores up to them
    total = 0.0
    for step, score in enumerate(scores):
        before, total = total, total + score
        if score <= 0:
            continue
        run = (step, step + 1, before, total)
        while True:
            lower = next((i for i in reversed(range(len(runs))) if runs[i][2] < run[2]), None)
            if lower is None or runs[lower][3] >= run[3]:
                runs.append(run)
                break
            run = (runs[lower][0], run[1], runs[lower][2], run[3])
            del runs[lower:]
    return [(start, stop) for start, stop, _, _ in runs]
