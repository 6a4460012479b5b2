"""Lessons: what a model is trained on, and what it is then asked about.

The *target* is the column that models predict. Two protocols (the second is M's):

- ``raw``: rows are held out first; only the others are anonymized. A model is trained on the
  release and tested with the held-out rows as they are. This is what somebody can do who was given
  the release and meets new people.
- ``released``: the whole table is anonymized and then split; a model is tested with released rows.

Both hold out the same rows in the same repeat, so that scores can be compared pair by pair.

Under ``raw``, a stored solution cannot be taken as it is: it was made of all rows. `anew` makes it
of others, such that it stands for the release that would be published: groups that have 50 rows of
the table have 45 of nine tenths of it, and asking for 50 again would drop them. So k is asked for
in proportion:

- a **global** solution (a genome): the same blocks; small groups are suppressed, up to the size
  with which the share of suppressed rows comes nearest to that in the release of all rows. Whatever
  else the solution attains is asked of the groups as it stands;
- a **local** solution (boxes): boxes are found anew, by the same search, for k in proportion and
  whatever else the solution attains, within its limit of suppression;
- a **baseline**: the algorithm is run again, for the k that it was asked for in proportion.

No k above 1 becomes 1. The domains are those of the run: declared by the publisher, they are part
of the method. (Those of an interval without a declared range span all rows that the run saw.) A
released **file** states neither method nor settings and cannot be made anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

import numpy as np

from moanon.arrays import Bools, Floats, Ints, Outlined
from moanon.baselines import find_baseline
from moanon.data.table import Role, Table
from moanon.errors import ConfigError, DataError, InfeasibleError, got
from moanon.genome import Instance
from moanon.grouping import NO_GROUP, Grouping
from moanon.learning.features import FeatureSpace
from moanon.measures import find_measure
from moanon.measures.evaluate import measure_grouping, suppress_groups
from moanon.measures.measure import is_number
from moanon.measures.suppression import Suppression
from moanon.recoding import GlobalRecodings
from moanon.release.solution import Anonymization

#: A column with more values than this is no list of classes.
MOST_CLASSES = 50
#: Stands for the class of a row that has none that can be learned.
NO_CLASS = -1


@dataclass(frozen=True, eq=False, repr=False)
class Target(Outlined):
    """The classes of a table's rows, in the order of their texts.

    `codes` are those of each row, or `NO_CLASS`; `notes` say in words which rows have none.
    """

    name: str
    classes: tuple[str, ...]
    codes: Ints
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: Table, name: str, test_share: float) -> Target:
        """Take a column of a table for the target.

        Rows without a value, and those of classes that are too rare to be both learned and tested,
        belong to no class: they are anonymized like all others, and neither taught nor tested.

        Raises
        ------
        ConfigError
            If the column is not released as it is, or the share is none.
        DataError
            If there is no such column, or fewer than two classes can be learned.
        """
        _check_role(table, name)
        if not (is_number(test_share) and 0 < test_share < 1):
            raise ConfigError(f"test-share must be above 0 and below 1. Got {got(test_share)}")
        column = table.column(name)
        codes = column.codes.astype(np.int64)
        rows = np.bincount(codes[codes >= 0], minlength=len(column.values))
        if len(column.values) > MOST_CLASSES:
            raise DataError(
                f"the target {name!r} has {len(column.values):,} values, and predicted are classes,"
                f" at most {MOST_CLASSES}; name a column with fewer, or group its values first"
            )
        least = ceil(1 / min(test_share, 1 - test_share))
        is_class = rows >= least
        if np.count_nonzero(is_class) < 2:
            raise DataError(_too_few(name, column.values, rows, least))
        notes = []
        if missing := int(np.count_nonzero(codes < 0)):
            notes.append(f"{_rows(missing)} no value of {name!r} and teach and test nothing")
        if rare := int(rows[~is_class].sum()):
            # They are not named: results show these notes, and a release may hide such values.
            notes.append(
                f"{_rows(rare)} a value of {name!r} that fewer than {least} rows have, and teach "
                "and test nothing"
            )
        number = np.where(is_class, np.cumsum(is_class) - 1, NO_CLASS)
        known = np.append(number, NO_CLASS)[codes]  # the last one: no value
        classes = tuple(np.array(column.values, dtype=object)[is_class].tolist())
        return cls(name, classes, known, tuple(notes))

    def held_out(self, test_share: float, seed: int, repeat: int) -> Bools:
        """Draw the rows that are held out in a repeat, of every class the same share."""
        from sklearn.model_selection import StratifiedShuffleSplit

        rows = np.flatnonzero(self.codes >= 0)
        splitter = StratifiedShuffleSplit(
            n_splits=1, test_size=test_share, random_state=derived_seed(seed, repeat)
        )
        _, chosen = next(splitter.split(rows, self.codes[rows]))
        mask = np.zeros(len(self.codes), dtype=bool)
        mask[rows[chosen]] = True
        return mask


def derived_seed(*numbers: int) -> int:
    """Make one seed of several numbers, such that neighbours have nothing to do with each other."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def _check_role(table: Table, name: str) -> None:
    if name in table.undeclared:
        raise ConfigError(
            f"the target {name!r} has no role in the configuration, so no release shows it; "
            "declare it as sensitive or insensitive and run again"
        )
    role = table.roles.get(name)
    if role is Role.IDENTIFYING:
        raise ConfigError(
            f"the target {name!r} is identifying, and such columns are never released; name "
            "another, or give it the role sensitive or insensitive and run again"
        )
    table.column(name)
    if role is Role.QUASI:
        raise ConfigError(
            f"the target {name!r} is a quasi-identifier: releases show it generalized, so that "
            "their rows have no class to learn; give it the role sensitive or insensitive and run "
            "again (it is then released as it is, and no longer counts for k)"
        )


def _too_few(name: str, values: tuple[str, ...], rows: Ints, least: int) -> str:
    if len(values) < 2:
        has = "no value" if not values else f"one value, {values[0]!r}"
        return f"the target {name!r} has {has}; there is nothing to tell apart"
    second = sorted(rows.tolist())[-2]
    return (
        f"the target {name!r} has fewer than two values that at least {least} rows have, as many "
        f"as it takes to learn from some and to hold some out (the second most frequent: {second})"
    )


def _rows(number: int) -> str:
    return f"{number:,} row{' has' if number == 1 else 's have'}"


# -- lessons ---------------------------------------------------------------------------------------

ProtocolName = Literal["raw", "released"]


@dataclass(frozen=True, eq=False, repr=False)
class Lesson(Outlined):
    """Rows to learn from and rows to be asked about: features (rows, columns) and classes (rows,).

    `measures` are k and losses of what was anonymized; none for the table as it is, and little more
    where no row was left.
    """

    training: tuple[Floats, Ints]
    test: tuple[Floats, Ints]
    is_category: Bools
    measures: Mapping[str, float]


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
    grouping = anonymization.grouping.released()
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

    `training` holds the other rows, with the domains of the anonymization.
    """
    instance = anonymization.instance
    space = FeatureSpace.of(instance, target.name, ~held_out, anonymization.columns)
    test = space.raw(held_out), target.codes[held_out]
    made = anew(anonymization, training)
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


# -- the same anonymization of other rows ----------------------------------------------------------


def anew(each: Anonymization, instance: Instance) -> Grouping | None:
    """Release other rows in the same way; None where none of them can be."""
    rows, all_rows = instance.cells.rows, each.instance.cells.rows
    solution = each.solution
    assert solution is not None  # a file, which states no method, is refused before
    try:
        if each.made_by is not None:
            algorithm, asked, settings = each.made_by
            k = in_proportion(asked, rows, all_rows)
            return _if_any(find_baseline(algorithm).run(instance, k, **settings).grouping(instance))
        rule = solution.promised
        if isinstance(solution.recodings, GlobalRecodings):
            groups = solution.recodings.all_groups(solution.number - 1, instance)
            share = solution.measures["suppressed"] / all_rows
            return _if_any(_suppress_share(groups, rule, share))
        from moanon.search.box_solving import solve_target  # compiles, and only boxes need it

        demands = [
            (name, in_proportion(ceil(bound), rows, all_rows) if name == "k" else bound)
            for name, bound in rule.constraints
        ]
        return solve_target(instance, replace(rule, constraints=tuple(demands)))
    except InfeasibleError:
        return None


def in_proportion(k: int, rows: int, all_rows: int) -> int:
    """The k of so many of all rows that corresponds to a k of all of them, rounded up.

    >>> in_proportion(50, 900, 1000), in_proportion(5, 900, 1000), in_proportion(2, 100, 1000)
    (45, 5, 2)
    """
    return max(-(-k * rows // all_rows), min(k, 2))


def _suppress_share(groups: Grouping, rule: Suppression, share: float) -> Grouping:
    """Suppress groups that fall short of a rule, and small ones up to about a share of the rows.

    Of the sizes from which on groups could be kept, up to the k of the rule, it is the one that
    comes nearest to the share; of two as near, the larger.
    """
    k = max(ceil(bound) for name, bound in rule.constraints if name == "k")
    others = tuple(bound for bound in rule.constraints if bound[0] != "k")
    fit = suppress_groups(groups, replace(rule, constraints=others)).kept
    sizes = np.where(fit, groups.sizes, 0)
    least = np.unique(np.clip(sizes[fit], min(k, 2), k))[::-1]
    left = np.array([sizes[sizes >= size].sum() for size in least])
    if not len(left):
        return groups.keep(fit)
    nearest = np.abs(groups.rows - left - share * groups.rows).argmin()
    return groups.keep(fit & (groups.sizes >= least[nearest]))


def _if_any(grouping: Grouping) -> Grouping | None:
    return grouping if grouping.kept.any() else None
