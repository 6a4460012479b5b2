"""Until when a search goes on, and the number that says how good its front is.

A generation is `population` genomes whatever the algorithm, so ``generations: 250`` with
``population: 200`` is 50,000 evaluations. Nothing that decides about the next generation depends on
the clock, except a limit in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import moocore
import numpy as np

from moanon.arrays import Floats
from moanon.genome import Instance
from moanon.measures import Measure
from moanon.search.algorithms import SearchSettings
from moanon.search.problem import SearchProblem

#: With more objectives a hypervolume takes longer than the search itself.
_MOST_OBJECTIVES = 3


@dataclass(frozen=True)
class Stop:
    """When to stop: at the first of the limits that are set.

    Attributes
    ----------
    generations, evaluations : int, optional
        Limits that a repeated run reaches at the same point.
    seconds : float, optional
        Time on the clock, over all resumptions.
    stall : int, optional
        Generations in which the hypervolume has not grown by more than a millionth.
    stalled : int, optional
        From so many evaluations on, stop when the second half of all evaluations has gained less
        than `STALLED` of the hypervolume.
    """

    generations: int | None = None
    evaluations: int | None = None
    seconds: float | None = None
    stall: int | None = None
    stalled: int | None = None

    @classmethod
    def of(cls, settings: SearchSettings) -> Stop:
        """The limits that settings name."""
        return cls(settings.generations, settings.evaluations, settings.seconds, settings.stall)

    @property
    def is_set(self) -> bool:
        """Whether there is a limit at all."""
        return self != Stop()


# -- the hypervolume -----------------------------------------------------------------------------

#: How a column of points becomes another.
Scale = Callable[[Floats], Floats]


class Hypervolume:
    """One number for a whole front: how much of the ideal it reaches.

    Each objective is put on [0, 1], 0 being the best there could be on the table at hand: losses
    and distances as they are (fractions), sizes of groups by their logarithm (from k = 2 to 4 is as
    much a gain as from 200 to 400), diversities by the number of sensitive values, others by the
    largest value that the table allows. The scales depend on the table alone and never on what was
    found, so the numbers of two generations, or of two runs on one table, can be compared. With
    ``[k, loss]`` it is the area under the front in (ln k, 1 - loss) over ln n. Where objectives
    have none, `why_not` says why.
    """

    def __init__(self, problem: SearchProblem) -> None:
        self.why_not: str | None = None
        self._scales: list[Scale] = []
        if len(problem.measures) > _MOST_OBJECTIVES:
            self.why_not = (
                f"the hypervolume is taken of at most {_MOST_OBJECTIVES} objectives. "
                f"Got {len(problem.measures)}"
            )
            return
        for measure in problem.measures:
            scale = _scale(measure, problem.instance)
            if scale is None:
                self.why_not = f"the range of the objective {measure.name!r} is not known"
                return
            self._scales.append(scale)

    def of(self, values: Floats) -> float | None:
        """Hypervolume of points (rows; smaller is better), in [0, 1]; None where there is none."""
        if self.why_not is not None:
            return None
        if not len(values):
            return 0.0
        costs = [scale(values[:, i]) for i, scale in enumerate(self._scales)]
        places = np.clip(np.stack(costs, axis=1), 0.0, 1.0)
        return float(moocore.hypervolume(places, ref=np.ones(len(costs))))


def _scale(measure: Measure, instance: Instance) -> Scale | None:
    """How a column of points (negated where more is better) becomes a cost in [0, 1]."""
    found = _share(measure, instance)
    if found is None:
        return None
    if measure.direction == "max":
        return lambda points: 1.0 - found(-points)
    return found


def _share(measure: Measure, instance: Instance) -> Scale | None:
    rows = instance.cells.rows
    values = max((len(column.labels) for column in instance.cells.sensitive), default=1)
    if measure.unit.startswith("share") or measure.unit == "distance":
        return lambda numbers: numbers
    if measure.unit == "values":
        return lambda numbers: numbers / values
    if measure.unit in ("rows", "groups", "rows²"):
        add = 1 if measure.range.low == 0 else 0  # counts that can be 0 have no logarithm
        most = np.log(max(rows + add, 2)) * (2 if measure.unit == "rows²" else 1)
        return lambda numbers: np.log(numbers + add) / most
    if measure.most is not None:
        largest = measure.most(instance)
        return lambda numbers: numbers / largest
    return None
