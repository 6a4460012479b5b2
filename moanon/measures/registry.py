"""Every number moanon reports, by name.

A measure knows its direction (what is better), range, unit and source, and how to be read off the
scores of a population. Any of them can be an objective, a constraint or a column of a result. Their
definitions stand in `moanon.measures.privacy`, `moanon.measures.loss` and, for indices of property
vectors, `moanon.measures.individual`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from moanon.genome import Instance
from moanon.kernels.tallies import OF_COLUMNS, TALLIES
from moanon.measures.demand import Demand
from moanon.measures.measure import MEASURES, Measure, find_measure, register
from moanon.measures.scores import Scores

# isort: split
from moanon.measures import privacy  # registers itself: privacy comes first in every table

# isort: split
from moanon.measures import loss

# isort: split
from moanon.measures import individual

__all__ = [
    "MEASURES",
    "Measure",
    "applicable",
    "demand_of",
    "find_measure",
    "individual",
    "loss",
    "objective_matrix",
    "privacy",
    "register",
]


def applicable(instance: Instance) -> list[Measure]:
    """All measures that can be taken of a table."""
    return [measure for measure in MEASURES.values() if measure.why_not(instance) is None]


def demand_of(measures: Iterable[Measure], instance: Instance) -> Demand:
    """What must be measured of a table's groups for these measures."""
    wanted = list(measures)
    sensitive = len(instance.cells.sensitive)
    tallies = {tally for measure in wanted for tally in measure.tallies}
    return Demand(
        tuple(sorted({model for measure in wanted for model in measure.models})),
        tuple(sorted({cost for measure in wanted for cost in measure.costs})),
        tuple(
            (tally, column)
            for place, tally in enumerate(TALLIES)
            if tally in tallies
            for column in range(sensitive if place >= OF_COLUMNS else 1)
        ),
        any(measure.requires == "label" for measure in wanted),
    )


def objective_matrix(scores: Scores, names: Sequence[str]) -> npt.NDArray[np.float64]:
    """Values of the named measures, one row per genome, turned so that smaller is better."""
    columns = []
    for name in names:
        measure = find_measure(name)
        values = measure.of(scores).astype(np.float64)
        columns.append(-values if measure.direction == "max" else values)
    return np.stack(columns, axis=1) if columns else np.zeros((len(scores), 0))
