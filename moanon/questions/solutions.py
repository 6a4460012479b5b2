"""What questions are asked of: solutions, one of them, and limits on their measures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from moanon.errors import ConfigError
from moanon.measures.groupwise import TOLERANCE
from moanon.measures.registry import find_measure
from moanon.measures.suppression import Suppression
from moanon.questions.numbers import (
    ROUNDING,
    as_given,
    attained_privacy,
    called,
    is_privacy,
    is_share,
    is_whole,
    shown,
    turned,
)

__all__ = ["SLIGHTLY", "SLIGHTLY_SHARE", "Choice", "Limit", "Solutions", "Truths"]

Truths = npt.NDArray[np.bool_]

#: Percentage points by which a limit on a share is moved, one after the other.
SLIGHTLY_SHARE = (0.01, 0.02)
#: Part by which another limit is moved, ...
SLIGHTLY = 0.1
#: ... and the least by which one on a distance is, whose range is about 1.
_SLIGHTLY_FAR = 0.01
#: Measures made of logarithms; constraints on them allow for the rounding in it, and so do limits.
_ROUNDED = frozenset(("l_entropy", "t_js", "delta"))


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
        share = is_share(self.measure)
        if isinstance(self.bound, bool) or not isinstance(self.bound, (int, float, np.number)):
            raise ConfigError(f"a limit on {self.measure} must be a number. Got {self.bound!r}")
        if not math.isfinite(self.bound) or self.bound < 0:
            raise ConfigError(f"a limit on {self.measure} must be >= 0. Got {self.bound}")
        if share and self.bound > 1:
            raise ConfigError(
                f"a limit on {self.measure} is a share in [0, 1], such as 0.25 for 25%. "
                f"Got {self.bound:g}"
            )

    def allows(self, values: npt.ArrayLike) -> Truths:
        """Tell for each value whether it is within the limit."""
        slack = TOLERANCE * self.bound if self.measure in _ROUNDED else 0
        given = np.asarray(values)
        if self.side == "at most":
            return np.asarray(given <= self.bound + slack)
        return np.asarray(given >= self.bound - slack)

    @property
    def of_privacy(self) -> bool:
        """Whether it is on a measure of privacy."""
        return is_privacy(self.measure)

    @property
    def demands(self) -> bool:
        """Whether it shuts out what is worse; a limit on the other side shuts out the better."""
        return (self.side == "at least") == (find_measure(self.measure).direction == "max")

    @property
    def _least_step(self) -> float:
        """The least by which the limit is moved: a whole one of what is counted, else little."""
        unit = find_measure(self.measure).unit
        if is_whole(self.measure) or unit == "rows":
            return 1.0
        return _SLIGHTLY_FAR if unit in ("distance", "nats") else 0.0

    def relaxed(self) -> tuple[Limit, ...]:
        """Move the limit slightly, and for a share then slightly more."""
        if is_share(self.measure):
            steps = [points + ROUNDING for points in SLIGHTLY_SHARE]
        else:
            steps = [max(self._least_step, SLIGHTLY * self.bound)]
        sign, most = (
            (1 if self.side == "at most" else -1),
            (1 if is_share(self.measure) else np.inf),
        )
        bounds = [min(most, max(0.0, self.bound + sign * step)) for step in steps]
        return tuple(replace(self, bound=bound) for bound in bounds)

    def excess(self, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """How far values are beyond the limit; relatively, where they are not shares."""
        beyond = values - self.bound if self.side == "at most" else self.bound - values
        scale = 1.0 if is_share(self.measure) else max(self._least_step, self.bound) or 1.0
        return np.maximum(0.0, beyond / scale)

    def __str__(self) -> str:
        return f"{called(self.measure)} {self.side} {as_given(self.measure, self.bound)}"


@dataclass(frozen=True)
class Choice:
    """One solution: its number in the front, and all its measures."""

    id: int
    measures: Mapping[str, float]

    def describe(self, names: Iterable[str]) -> str:
        """Write some of its measures: ``k 14, loss 24.8%``."""
        return ", ".join(f"{called(name)} {shown(name, self.measures[name])}" for name in names)

    def to_dict(self) -> dict[str, Any]:
        """Return its number and measures as plain values; what JSON has no number for as texts."""
        plain = {n: v if math.isfinite(v) else str(v) for n, v in self.measures.items()}
        return {"id": self.id, "measures": plain}


@dataclass(frozen=True, eq=False)
class Solutions:
    """The solutions of a front, as far as questions need to know them.

    Attributes
    ----------
    measures : mapping of str to array (solutions,)
        Every measure, the first solution being number 1.
    objectives : tuple of str
        What was optimized.
    suppression : Suppression
        Under which rule.
    """

    measures: Mapping[str, npt.NDArray[Any]]
    objectives: tuple[str, ...]
    suppression: Suppression

    def __len__(self) -> int:
        return len(next(iter(self.measures.values())))

    def column(self, name: str) -> npt.NDArray[Any]:
        """Values of a measure, or a sentence on why there are none."""
        if name in self.measures:
            return self.measures[name]
        lacks = find_measure(name).needs_sensitive
        why = "its table has no sensitive column" if lacks else "it was found before there was one"
        raise ConfigError(f"this front has no measure {name!r}: {why}")

    @property
    def privacy(self) -> tuple[str, ...]:
        """The measures that privacy means here, the more wanted first."""
        attained = attained_privacy(self.objectives)
        if self.suppression.kind == "kl-safety" and {*attained} <= {"k", "l"}:
            return ("l", "k") if self.suppression.prefer == "l" else ("k", "l")
        return attained

    def searched_for(self, name: str) -> bool:
        """Whether a measure was optimized; a constraint on it alone is none of that."""
        searched = set(self.objectives)
        if self.suppression.kind == "kl-safety":
            searched |= {"k", "l"}
        same = f"l_{self.suppression.diversity}"  # by another name
        return name in searched or (name in ("l", same) and not searched.isdisjoint({"l", same}))

    def order(self, goal: Sequence[str]) -> tuple[str, ...]:
        """What decides among solutions, the first measures first: a goal, then what breaks ties."""
        ties = (*self.privacy, "loss", "k", "l", "weighted_k", "suppressed")
        return (*goal, *(n for n in dict.fromkeys(ties) if n in self.measures and n not in goal))

    def choice(self, row: int) -> Choice:
        """Describe one solution."""
        return Choice(row + 1, {name: each[row].item() for name, each in self.measures.items()})

    def best(self, within: Truths, goal: Sequence[str]) -> Choice | None:
        """Choose among some solutions; None if there are none."""
        rows = np.flatnonzero(within)
        if not len(rows):
            return None
        keys = [turned(name, self.column(name)[rows]) for name in self.order(goal)]
        return self.choice(int(rows[np.lexsort(keys[::-1])[0]]))

    def undominated(self, within: Truths, names: Sequence[str]) -> list[Choice]:
        """List those that no other beats in all the named measures; of equals the least loss."""
        keys = [turned(name, self.column(name)) for name in (*names, "loss")]
        sides = np.stack(keys[:-1], axis=1)
        kept: list[int] = []
        # The best in the first measure first: whoever is beaten is so by one before.
        for row in np.lexsort(keys[::-1]).tolist():
            if within[row] and not (sides[kept] <= sides[row]).all(axis=1).any():
                kept.append(row)
        return [self.choice(row) for row in kept]
