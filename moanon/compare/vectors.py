"""Property vectors: one number for each person in the original table (C §3, definition 1).

A property looks at an anonymized table and says for every row of the *original* how well off it is.
Suppressed rows are there, too: as C §3 has it, they "still exist in the anonymized data set in an
overly generalized form". They make one group of their own, all of whose cells are lost; so their
group size is the number of suppressed rows, their utility 0. Released rows are not helped by them:
a group that is released counts the rows that are released.

Rows that share a group mostly share a number, too. So a vector is kept as its *entries*, a number
and how many rows have it, and which entry each row has: what a unary index needs are the entries
alone, that is the groups.

Most properties are better when higher. Where lower is better (`sensitive_count`), a vector knows
it, and is turned (`PropertyVector.oriented`) before it is compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from moanon.arrays import Floats, Ints, Outlined, Values
from moanon.data.source import read_source
from moanon.errors import ConfigError, DataError, unknown_name
from moanon.grouping import NO_GROUP, Grouping

#: Stands between a property of a sensitive column and that column's name.
_OF = ":"


@dataclass(frozen=True, eq=False, repr=False)
class PropertyVector(Outlined):
    """How well off each row of the original is.

    Attributes
    ----------
    name : str
        The property, with its column where it is one of several sensitive columns.
    entries : array (entries,)
        As measured: a number for each group, or for each sensitive value in it.
    row_entry : array (rows,)
        The entry of each row of the original; whole numbers of any width, as rows may be many.
    direction : {"max", "min"}
        Which end is better.
    ideal : float
        The best that a row could have, as measured.
    worst : float
        The worst that a row could have, as measured.
    """

    name: str
    entries: Floats
    row_entry: Values
    direction: Literal["max", "min"]
    ideal: float
    worst: float

    def __len__(self) -> int:
        return len(self.row_entry)

    @cached_property
    def rows(self) -> Ints:
        """How many rows have each entry; at least one."""
        return np.bincount(self.row_entry, minlength=len(self.entries)).astype(np.int64)

    @property
    def values(self) -> Floats:
        """As measured, row by row."""
        return self.entries[self.row_entry]

    @property
    def oriented(self) -> Floats:
        """Higher is better and no number below 0: as measured, or how far from the worst."""
        return self.turned(self.entries)[self.row_entry]

    def turned(self, values: Floats) -> Floats:
        """Turn measured values so that higher is better."""
        return values if self.direction == "max" else np.asarray(self.worst - values)


@dataclass(frozen=True)
class Property:
    """A named property of rows.

    Attributes
    ----------
    name : str
        Such as ``size`` or ``diversity:COLUMN``.
    meaning : str
        One line; says which end is better.
    citation : str
    of : callable (Grouping, column, name) -> PropertyVector
        The column is empty for properties that need no sensitive one; the vector gets the name.
    needs : {"nothing", "meaning", "sensitive"}
        What must be known: nothing beyond the labels, what the labels mean, or a sensitive column.
    """

    name: str
    meaning: str
    citation: str
    of: Callable[[Grouping, str, str], PropertyVector]
    needs: Literal["nothing", "meaning", "sensitive"] = "nothing"


PROPERTIES: dict[str, Property] = {}


def register(prop: Property) -> Property:
    """Add a property; a name is given once."""
    if prop.name in PROPERTIES:
        raise ValueError(f"a property called {prop.name!r} is registered already")
    PROPERTIES[prop.name] = prop
    return prop


def property_vectors(
    anonymized: Grouping,
    names: Sequence[str] | None = None,
    *,
    sensitive: Sequence[str] | None = None,
) -> dict[str, PropertyVector]:
    """Property vectors of an anonymized table, by name.

    Parameters
    ----------
    anonymized : Grouping
    names : sequence of str, optional
        Properties, such as ``size`` or ``sensitive_share``; for one sensitive column of several,
        ``sensitive_share:occupation``, and without it for each of them. By default ``size``, and
        what else can be known of ``sensitive_share`` and ``utility``.
    sensitive : sequence of str, optional
        The sensitive columns. By default those of the table.

    Raises
    ------
    ConfigError
        If a property is not known or is named twice, or what it needs is not there.
    DataError
        If the original has no such column.
    """
    anonymized = anonymized.released()
    columns = tuple(dict.fromkeys(anonymized.table.sensitive if sensitive is None else sensitive))
    for column in columns:
        anonymized.table.checked(column)  # refused where there is none
    if names is None:
        names = ["size", *(["sensitive_share"] if columns else [])]
        names += ["utility"] if anonymized.has_meaning else []
    found: dict[str, PropertyVector] = {}
    asked: dict[tuple[str, str], str] = {}
    for name in names:
        prop = find_property(name)
        if prop.needs == "meaning" and not anonymized.has_meaning:
            raise ConfigError(
                f"the property {prop.name} needs to know what labels mean, and {anonymized.name} "
                "came without a configuration or hierarchies"
            )
        for column in _columns_of(prop, name, columns):
            if (before := asked.get((prop.name, column))) is not None:
                same = "" if before == name else f": {before!r} is the same"
                raise ConfigError(f"properties name {name!r} twice{same}")
            asked[prop.name, column] = name
            several = prop.needs == "sensitive" and len(columns) > 1
            shown = f"{prop.name}{_OF}{column}" if several else name
            found[shown] = prop.of(anonymized, column, shown)
    if not found:
        raise ConfigError("a comparison needs at least one property. Got none")
    return found


def read_vectors(path: str | os.PathLike[str]) -> dict[str, Floats]:
    """Read vectors that somebody wrote: a column of numbers for each property.

    Raises
    ------
    DataError
        If the file cannot be read, or a cell is no number.
    """
    read = read_source(path)
    found = {}
    for column in read.columns:
        numbers = np.full(len(column.values) + 1, np.nan)  # the last: a missing value
        for place, text in enumerate(column.values):
            with suppress(ValueError):
                numbers[place] = float(text)
        found[column.name] = numbers[column.codes]
        if (bad := np.flatnonzero(~np.isfinite(found[column.name]))).size:
            code = column.codes[bad[0]]
            shown = "nothing" if code < 0 else repr(column.values[code])
            raise DataError(
                f"{read.name} must hold numbers. Got {shown} in row {bad[0] + 1:,} of column "
                f"{column.name!r}"
            )
    return found


def _columns_of(prop: Property, name: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Columns that a property is asked of; one that is of no column has the empty name."""
    _, mark, column = name.partition(_OF)
    if prop.needs != "sensitive":
        if mark:
            raise ConfigError(f"the property {prop.name} is not one of a column. Got {name!r}")
        return ("",)
    if not columns:
        raise ConfigError(f"the property {prop.name} needs a sensitive column, and none is given")
    if mark and column not in columns:
        raise ConfigError(
            f"the property {name!r} must name a sensitive column. Known: {', '.join(columns)}"
        )
    return (column,) if mark else columns


def find_property(name: str) -> Property:
    """Return the property of that name, whatever column it is of; or say which one was meant."""
    name = name.partition(_OF)[0]
    if name not in PROPERTIES:
        raise unknown_name("property", name, PROPERTIES)
    return PROPERTIES[name]


# -- the properties ------------------------------------------------------------------------------


def _of_groups(
    anonymized: Grouping, name: str, of_group: Ints | Floats, of_suppressed: float, ideal: float
) -> PropertyVector:
    """Vector of a property that all rows of a group share, as suppressed rows do."""
    entries, place = of_group.astype(np.float64), anonymized.row_group.astype(np.int32)
    if anonymized.suppressed:
        entries = np.append(entries, of_suppressed)
        place[place == NO_GROUP] = len(of_group)
    return PropertyVector(name, entries, place, "max", ideal, 0.0)


def _size(anonymized: Grouping, column: str, name: str) -> PropertyVector:
    suppressed, rows = anonymized.suppressed, anonymized.rows
    return _of_groups(anonymized, name, anonymized.sizes, suppressed, float(rows))


def _utility(anonymized: Grouping, column: str, name: str) -> PropertyVector:
    columns = len(anonymized.quasi)
    return _of_groups(anonymized, name, columns - anonymized.row_loss, 0.0, float(columns))


def _pairs(anonymized: Grouping, column: str) -> tuple[Ints, Ints, Values]:
    """For each (group, sensitive value) that occurs its group and rows; for each row its pair.

    The suppressed rows are the last group.
    """
    codes = anonymized.table.column(column).codes
    span = int(codes.max()) + 2
    key = np.where(anonymized.is_kept, anonymized.row_group, len(anonymized))
    key *= span
    key += codes
    key += 1  # 0: a missing value
    pairs, place, rows = np.unique(key, return_inverse=True, return_counts=True)
    return pairs // span, rows.astype(np.int64), place.astype(np.int32)


def _sensitive_count(anonymized: Grouping, column: str, name: str) -> PropertyVector:
    _, rows, place = _pairs(anonymized, column)
    counts = rows.astype(np.float64)
    return PropertyVector(name, counts, place, "min", 1.0, float(anonymized.rows))


def _sensitive_share(anonymized: Grouping, column: str, name: str) -> PropertyVector:
    group, rows, place = _pairs(anonymized, column)
    sizes = np.append(anonymized.sizes, anonymized.suppressed)
    return PropertyVector(name, rows / sizes[group], place, "min", 0.0, 1.0)


def _diversity(anonymized: Grouping, column: str, name: str) -> PropertyVector:
    group, _, _ = _pairs(anonymized, column)
    values = np.bincount(group, minlength=len(anonymized.sizes))
    of_suppressed = values[-1] if anonymized.suppressed else 0
    known = len(np.unique(anonymized.table.column(column).codes))
    of_groups = values[: len(anonymized.sizes)]
    return _of_groups(anonymized, name, of_groups, float(of_suppressed), float(known))


register(Property("size", "rows in the row's group; more is better", "C §3", _size))
register(
    Property(
        "utility",
        "quasi-identifiers minus what the row lost of them; more is better",
        "C §5.5, with the loss of D eq. 3",
        _utility,
        "meaning",
    )
)
register(
    Property(
        "sensitive_count",
        "rows of the group with the row's own sensitive value; fewer is better",
        "C §3",
        _sensitive_count,
        "sensitive",
    )
)
register(
    Property(
        "sensitive_share",
        "share of the group with the row's own sensitive value, the chance of guessing it; less is "
        "better",
        "C §3 counts; D §4.2 bounds the share",
        _sensitive_share,
        "sensitive",
    )
)
register(
    Property(
        "diversity",
        "different sensitive values in the row's group; more is better",
        "D §4.2",
        _diversity,
        "sensitive",
    )
)
