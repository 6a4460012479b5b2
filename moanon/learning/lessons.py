"""Lessons: what a model is trained on, and what it is then asked about.

Two protocols (the second is M's):

- ``raw``: rows are held out first; only the others are anonymized. A model is trained on the
  release and tested with the held-out rows as they are. This is what somebody can do who was given
  the release and meets new people.
- ``released``: the whole table is anonymized and then split; a model is tested with released rows.

Both hold out the same rows in the same repeat, so that scores can be compared pair by pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from moanon.arrays import Bools, Floats, Ints, Outlined
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.grouping import NO_GROUP, Grouping
from moanon.learning.anonymizations import Anonymization
from moanon.learning.features import FeatureSpace
from moanon.learning.target import Target
from moanon.measures import find_measure
from moanon.measures.evaluate import measure_grouping

ProtocolName = Literal["raw", "released"]


@dataclass(frozen=True, eq=False, repr=False)
class Lesson(Outlined):
    """Rows to learn from and rows to be asked about, as features and classes.

    Attributes
    ----------
    training, test : tuple of arrays
        Features (rows, columns) and classes (rows,).
    is_category : array (columns,) of bool
    measures : mapping of str to number
        Of what was anonymized, k and losses; empty for the table as it is, and little more where
        no row was left.
    """

    training: tuple[Floats, Ints]
    test: tuple[Floats, Ints]
    is_category: Bools
    measures: Mapping[str, float]


def check_protocol(name: str) -> None:
    """Refuse a name that no protocol has."""
    known = get_args(ProtocolName)
    if name not in known:
        raise ConfigError(f"protocol must be one of {', '.join(known)}. Got {name!r}")


def original_lesson(instance: Instance, target: Target, held_out: Bools) -> Lesson:
    """Learn from the table as it is."""
    space = FeatureSpace.of(instance, target.name, ~held_out)
    taught = (target.codes >= 0) & ~held_out
    return Lesson(
        (space.raw(taught), target.codes[taught]),
        (space.raw(held_out), target.codes[held_out]),
        space.is_category,
        {},
    )


def released_lesson(anonymization: Anonymization, target: Target, held_out: Bools) -> Lesson:
    """Anonymize the whole table and learn from a part of the release, as M does."""
    space = FeatureSpace.of(anonymization.instance, target.name, ~held_out, anonymization.columns)
    grouping = anonymization.whole().released()
    return Lesson(
        _shown(space, grouping, grouping.row_group, target, ~held_out),
        _shown(space, grouping, grouping.row_group, target, held_out),
        space.is_category,
        _measured(grouping, anonymization.instance),
    )


def raw_lesson(
    anonymization: Anonymization, target: Target, held_out: Bools, training: Instance
) -> Lesson:
    """Anonymize training rows alone, learn from them, and be asked about held-out rows.

    Parameters
    ----------
    anonymization : Anonymization
    target : Target
    held_out : array (rows,) of bool
    training : Instance
        The other rows, with the domains of the anonymization.
    """
    instance = anonymization.instance
    space = FeatureSpace.of(instance, target.name, ~held_out, anonymization.columns)
    test = space.raw(held_out), target.codes[held_out]
    made = anonymization.anew(training)
    if made is None:
        nothing = np.zeros((0, len(space.names))), np.zeros(0, dtype=np.int64)
        return Lesson(nothing, test, space.is_category, {"suppressed": training.cells.rows})
    grouping = made.released()
    row_group = np.full(len(held_out), NO_GROUP, dtype=np.int64)
    row_group[~held_out] = grouping.row_group
    return Lesson(
        _shown(space, grouping, row_group, target, ~held_out),
        test,
        space.is_category,
        _measured(made, training),
    )


def _shown(
    space: FeatureSpace, grouping: Grouping, row_group: Ints, target: Target, rows: Bools
) -> tuple[Floats, Ints]:
    """Features and classes of those of some rows that are released and have a class."""
    chosen = rows & (row_group >= 0) & (target.codes >= 0)
    return space.released(grouping, row_group, chosen), target.codes[chosen]


def _measured(grouping: Grouping, instance: Instance) -> Mapping[str, float]:
    """Its k and every loss, with the target as the class column."""
    found = measure_grouping(replace(grouping, instance=instance))
    return {n: value for n, value in found.items() if n == "k" or not find_measure(n).privacy}
