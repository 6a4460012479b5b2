"""One number for a whole front: how much of the ideal it reaches.

Each objective is put on [0, 1], 0 being the best there could be on the table at hand: losses and
distances as they are (fractions), sizes of groups by their logarithm (from k = 2 to 4 is as much a
gain as from 200 to 400), diversities by the number of sensitive values, others by the largest value
that the table allows. The scales depend on the table alone and
never on what was found, so the numbers of two generations, or of two runs on one table, can be
compared. With ``[k, loss]`` it is the area under the front in (ln k, 1 - loss) over ln n.
"""

from __future__ import annotations

from collections.abc import Callable

import moocore
import numpy as np
import numpy.typing as npt

from moanon.genome import Instance
from moanon.measures import Measure
from moanon.search.problem import SearchProblem

__all__ = ["MOST_OBJECTIVES", "Hypervolume"]

Floats = npt.NDArray[np.float64]
Scale = Callable[[Floats], Floats]

#: With more objectives a hypervolume takes longer than the search itself.
MOST_OBJECTIVES = 3


class Hypervolume:
    """Hypervolume of fronts of one problem.

    Parameters
    ----------
    problem : SearchProblem

    Attributes
    ----------
    why_not : str or None
        Why there is no hypervolume for these objectives; None where there is one.
    """

    def __init__(self, problem: SearchProblem) -> None:
        self.why_not: str | None = None
        self._scales: list[Scale] = []
        if len(problem.measures) > MOST_OBJECTIVES:
            self.why_not = (
                f"the hypervolume is taken of at most {MOST_OBJECTIVES} objectives. "
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
