"""Every number moanon reports, by name.

A measure knows its direction (what is better), range, unit and source, and how to be read off the
scores of a population. Any of them can be an objective, a constraint or a column of a result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from moanon.errors import ConfigError
from moanon.measures.evaluate import Scores

__all__ = ["MEASURES", "Measure", "find_measure", "objective_matrix", "register"]

Values = npt.NDArray[Any]


@dataclass(frozen=True)
class Measure:
    """A named number of a generalized table.

    Attributes
    ----------
    name : str
        As in configurations and results.
    direction : {"max", "min"}
        Which end is better.
    range : str
        Possible values, in words or as an interval.
    unit : str
    meaning : str
        One line for tables and reports; says what suppression does to it.
    citation : str
        Source and equation.
    of : callable
        Reads the measure off `Scores`, one value per genome.
    needs_sensitive : bool
        Whether the table must have a sensitive column.
    """

    name: str
    direction: Literal["max", "min"]
    range: str
    unit: str
    meaning: str
    citation: str
    of: Callable[[Scores], Values]
    needs_sensitive: bool = False


MEASURES: dict[str, Measure] = {}


def register(measure: Measure) -> Measure:
    """Add a measure to the registry; a name is given once."""
    if measure.name in MEASURES:
        raise ValueError(f"a measure called {measure.name!r} is registered already")
    MEASURES[measure.name] = measure
    return measure


def find_measure(name: str) -> Measure:
    """Return the measure of that name, or say which one was probably meant."""
    if name in MEASURES:
        return MEASURES[name]
    near = get_close_matches(name, MEASURES, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise ConfigError(f"there is no measure called {name!r}{hint} Known: {', '.join(MEASURES)}")


def objective_matrix(scores: Scores, names: Sequence[str]) -> npt.NDArray[np.float64]:
    """Values of the named measures, one row per genome, turned so that smaller is better."""
    columns = []
    for name in names:
        measure = find_measure(name)
        values = measure.of(scores).astype(np.float64)
        columns.append(-values if measure.direction == "max" else values)
    return np.stack(columns, axis=1) if columns else np.zeros((len(scores), 0))


def _kept_rows(scores: Scores) -> npt.NDArray[np.int64]:
    return scores.rows - scores.field("suppressed")


register(
    Measure(
        "weighted_k",
        "max",
        "[1, n]",
        "rows",
        "mean size of the group a row sits in, over all rows, before any suppression",
        "D eq. 6: sum of size² / n",
        lambda scores: scores.field("squares") / scores.rows,
    )
)
register(
    Measure(
        "weighted_k_kept",
        "max",
        "[1, n]",
        "rows",
        "mean size of the group a row sits in, over the kept rows alone",
        "D eq. 6 on the released rows",
        lambda scores: scores.field("kept_squares") / np.maximum(1, _kept_rows(scores)),
    )
)
register(
    Measure(
        "k",
        "max",
        "1..n",
        "rows",
        "size of the smallest kept group",
        "D def. 3; under a limit it equals d + 1 of eq. 7",
        lambda scores: scores.field("k"),
    )
)
register(
    Measure(
        "d",
        "max",
        "0..n-1",
        "rows",
        "groups up to this size are given up; one less than the smallest kept size",
        "D eq. 7",
        lambda scores: scores.field("d1") - 1,
    )
)
register(
    Measure(
        "d1",
        "max",
        "1..n",
        "rows",
        "size threshold the suppression rule arrived at; what is attained is k",
        "D eq. 8-9",
        lambda scores: scores.field("d1"),
    )
)
register(
    Measure(
        "d2",
        "max",
        "0..values",
        "values",
        "diversity threshold the suppression rule arrived at; what is attained is l",
        "D eq. 8-9",
        lambda scores: scores.field("d2"),
        needs_sensitive=True,
    )
)
register(
    Measure(
        "l",
        "max",
        "1..values",
        "values",
        "least diversity of a kept group, by the configured rule, over the sensitive columns",
        "D §4.2",
        lambda scores: scores.diversity(scores.suppression.diversity),
        needs_sensitive=True,
    )
)
register(
    Measure(
        "l_distinct",
        "max",
        "1..values",
        "values",
        "least number of distinct sensitive values in a kept group",
        "D §4.3; Machanavajjhala et al.",
        lambda scores: scores.diversity("distinct"),
        needs_sensitive=True,
    )
)
register(
    Measure(
        "l_frequency",
        "max",
        "1..values",
        "values",
        "least floor(size / count of the most frequent sensitive value) of a kept group",
        "D def. 4, eq. 1",
        lambda scores: scores.diversity("frequency"),
        needs_sensitive=True,
    )
)
register(
    Measure(
        "gl",
        "min",
        "[0, 1]",
        "share of n·q",
        "generalization loss of the kept rows; suppressing rows lowers it",
        "D eq. 3-4",
        lambda scores: scores.share(scores.field("kept_loss")),
    )
)
register(
    Measure(
        "sl",
        "min",
        "[0, 1)",
        "share of n·q",
        "suppression loss: every cell of a suppressed row counts as lost",
        "D eq. 5",
        lambda scores: scores.field("suppressed") / scores.rows,
    )
)
register(
    Measure(
        "loss",
        "min",
        "[0, 1]",
        "share of n·q",
        "generalization and suppression loss together",
        "D §7: GL + SL",
        lambda scores: scores.total_share(scores.field("kept_loss"), scores.field("suppressed")),
    )
)
register(
    Measure(
        "suppressed",
        "min",
        "0..n-1",
        "rows",
        "rows left out of the release",
        "D §5.2",
        lambda scores: scores.field("suppressed"),
    )
)
register(
    Measure(
        "groups",
        "max",
        "1..n",
        "groups",
        "number of kept groups",
        "D §4.1",
        lambda scores: scores.field("kept_groups"),
    )
)
register(
    Measure(
        "average_class_size",
        "min",
        "[1, n]",
        "rows",
        "kept rows per kept group",
        "LeFevre et al.; C_avg of M before its division by k",
        lambda scores: _kept_rows(scores) / np.maximum(1, scores.field("kept_groups")),
    )
)
