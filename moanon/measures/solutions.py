"""Every measure of many solutions, with word of how far that is: of large tables it takes minutes.

Solutions that are genomes go through the population kernel some at a time, those that are groupings
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from moanon.arrays import Bits, Ints, Values
from moanon.grouping import Grouping
from moanon.measures.evaluate import Evaluator
from moanon.measures.measure import find_measure
from moanon.measures.measuring import measure_grouping
from moanon.measures.suppression import Suppression

#: Told how many of how many are done.
OnPart = Callable[[int, int], None]

#: Genomes at a time: enough to share work among them, few enough to hear of it.
_AT_A_TIME = 64


def measure_genomes(
    evaluator: Evaluator,
    genomes: Bits,
    thresholds: Ints,
    suppression: Suppression,
    names: Sequence[str],
    on_part: OnPart | None = None,
) -> dict[str, Values]:
    """Take measures of genomes with thresholds; parameters as of `Evaluator.evaluate_at`."""
    parts: list[list[Values]] = []
    for start in range(0, max(1, len(genomes)), _AT_A_TIME):
        chosen = slice(start, start + _AT_A_TIME)
        scores = evaluator.evaluate_at(
            genomes[chosen], thresholds[chosen], suppression, measures=names
        )
        parts.append([find_measure(name).of(scores) for name in names])
        if on_part is not None:
            on_part(min(start + _AT_A_TIME, len(genomes)), len(genomes))
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return dict(zip(names, columns, strict=True))


def measure_groupings(
    groupings: Iterable[Grouping],
    number: int,
    suppression: Suppression,
    on_part: OnPart | None = None,
) -> list[dict[str, int | float]]:
    """Take every measure of so many groupings; see `measure_grouping`."""
    found = []
    for grouping in groupings:
        found.append(measure_grouping(grouping, suppression))
        if on_part is not None:
            on_part(len(found), number)
    return found
