"""Every number moanon reports, by name.

A measure knows its direction (what is better), range, unit and source, and how to be read off the
scores of a population. Any of them can be an objective, a constraint or a column of a result. Their
definitions stand in `moanon.measures.privacy` and `moanon.measures.loss`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from moanon.genome import Instance
from moanon.measures.measure import MEASURES, Measure, find_measure, register
from moanon.measures.scores import Scores

# isort: split
from moanon.measures import privacy  # registers itself: privacy comes first in every table

# isort: split
from moanon.measures import loss

__all__ = [
    "MEASURES",
    "Measure",
    "applicable",
    "find_measure",
    "loss",
    "objective_matrix",
    "privacy",
    "register",
]


def applicable(instance: Instance) -> list[Measure]:
    """All measures that can be taken of a table."""
    return [measure for measure in MEASURES.values() if measure.why_not(instance) is None]


def objective_matrix(scores: Scores, names: Sequence[str]) -> npt.NDArray[np.float64]:
    """Values of the named measures, one row per genome, turned so that smaller is better."""
    columns = []
    for name in names:
        measure = find_measure(name)
        values = measure.of(scores).astype(np.float64)
        columns.append(-values if measure.direction == "max" else values)
    return np.stack(columns, axis=1) if columns else np.zeros((len(scores), 0))
