"""The target: the column that models are to predict, and the rows that are held out for testing."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from moanon.arrays import Bools, Ints, Outlined
from moanon.data.table import Role, Table
from moanon.errors import ConfigError, DataError, got
from moanon.measures.measure import is_number

#: A column with more values than this is no list of classes.
MOST_CLASSES = 50
#: Stands for the class of a row that has none that can be learned.
NO_CLASS = -1


@dataclass(frozen=True, eq=False, repr=False)
class Target(Outlined):
    """The classes of a table's rows.

    Attributes
    ----------
    name : str
    classes : tuple of str
        In the order of their texts.
    codes : array (rows,)
        The class of each row, or `NO_CLASS`.
    notes : tuple of str
        Which rows have none, in words.
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
        check_share(test_share)
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


def check_share(test_share: float) -> None:
    """Refuse a share of rows that cannot be held out."""
    if not (is_number(test_share) and 0 < test_share < 1):
        raise ConfigError(f"test-share must be above 0 and below 1. Got {got(test_share)}")


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
