"""How well off people are one by one: property vectors, and their indices as measures (C §3, §5.1).

A *property vector* has one number for every row of the *original* (C def. 1). Suppressed rows are
in it: as C §3 has it, they "still exist in the anonymized data set in an overly generalized form".
They make one group of their own, all of whose cells are lost; released rows are not helped by them.
A *unary index* is one number of the vector: the value of the row that is worst off, the mean over
the rows, or the ``rank``, the Euclidean distance from a vector in which every row is as well off as
can be. They look at everybody, where most models of `moanon.measures.privacy` look at the worst
group: two tables of equal k can differ much in them (C §1).

Properties (`PROPERTIES`): *size*, the rows N of a row's group; *utility*, its quasi-identifiers q
minus what it lost of them; *sensitive_count*, the c rows of its group with its own sensitive value;
*sensitive_share*, c / N; *diversity*, the different values in its group. Counts and shares are
better when lower. `property_vectors` gives the vectors of one grouping, row by row, for
`moanon.compare`; the measures below are the indices of many groupings at once, from tallies of
their groups. With several sensitive columns, a measure is that of the worst one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from moanon.arrays import Floats, Ints, Outlined, Values
from moanon.errors import ConfigError, unknown_name
from moanon.measures.measure import between, counts, measure, privacy_measure, sensitive_measure

if TYPE_CHECKING:
    from moanon.genome import Instance
    from moanon.grouping import Grouping
    from moanon.measures.evaluate import Scores

#: Stands between a property of a sensitive column and that column's name.
_OF = ":"


# -- property vectors ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class PropertyVector(Outlined):
    """How well off each row of the original is.

    Rows that share a group mostly share a number, too. So a vector is kept as its *entries* and
    which entry each row has; a unary index needs the entries alone.
    """

    name: str  # the property, with its column where it is one of several sensitive columns
    entries: Floats  # as measured: a number for each group, or for each sensitive value in it
    row_entry: Values  # (rows,): of each row of the original; of any width, as rows may be many
    direction: Literal["max", "min"]  # which end is better
    ideal: float  # the best that a row could have, as measured …
    worst: float  # … and the worst

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

    A column is the empty text for a property that needs no sensitive one.
    """

    name: str  # such as ``size`` or ``diversity:COLUMN``
    meaning: str  # one line; says which end is better
    citation: str
    of: Callable[[Grouping, str, str], PropertyVector]  # by column and the name that it gets
    #: What must be known: nothing beyond the labels, what they mean, or a sensitive column.
    needs: Literal["nothing", "meaning", "sensitive"] = "nothing"


def _of_groups(
    anonymized: Grouping, name: str, of_group: Ints | Floats, of_suppressed: float, ideal: float
) -> PropertyVector:
    """Vector of a property that all rows of a group share, as suppressed rows do."""
    entries, place = of_group.astype(np.float64), anonymized.row_group.astype(np.int32)
    if anonymized.suppressed:
        entries = np.append(entries, of_suppressed)
        place[~anonymized.is_kept] = len(of_group)
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


#: Every property of rows, by name.
PROPERTIES = {
    each.name: each
    for each in (
        Property("size", "rows in the row's group; more is better", "C §3", _size),
        Property(
            "utility",
            "quasi-identifiers minus what the row lost of them; more is better",
            "C §5.5, with the loss of D eq. 3",
            _utility,
            "meaning",
        ),
        Property(
            "sensitive_count",
            "rows of the group with the row's own sensitive value; fewer is better",
            "C §3",
            _sensitive_count,
            "sensitive",
        ),
        Property(
            "sensitive_share",
            "share of the group with the row's own sensitive value, the chance of guessing it; "
            "less is better",
            "C §3 counts; D §4.2 bounds the share",
            _sensitive_share,
            "sensitive",
        ),
        Property(
            "diversity",
            "different sensitive values in the row's group; more is better",
            "D §4.2",
            _diversity,
            "sensitive",
        ),
    )
}


def property_vectors(
    anonymized: Grouping,
    names: Sequence[str] | None = None,
    *,
    sensitive: Sequence[str] | None = None,
) -> dict[str, PropertyVector]:
    """Property vectors of an anonymized table, by name.

    `names` are properties, such as ``size`` or ``sensitive_share``; for one sensitive column of
    several, ``sensitive_share:occupation``, and without it for each of them. By default ``size``,
    and what else can be known of ``sensitive_share`` and ``utility``. The `sensitive` columns are
    those of the table, unless others are given. Refused is what is not known or named twice, and
    what needs something that is not there.
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


# -- indices of all rows, as measures --------------------------------------------------------------


def _distance(scores: Scores, tally: str, unit: float) -> Values:
    """Square root of a sum over all rows, which is in units; the worst column's."""
    return np.asarray(np.sqrt(_sums(scores, tally).max(axis=1) / unit))


def _sums(scores: Scores, tally: str) -> Ints:
    """Sums over all rows, one for each sensitive column (entries, columns)."""
    kept, suppressed = scores.tally(tally)
    return np.asarray(kept + suppressed)


def _known_values(instance: Instance) -> Values:
    """Different values of each sensitive column in the whole table."""
    plan = instance.plan
    return np.diff(plan.first)[: plan.sensitive]


def _largest_distance(instance: Instance, ideal: float) -> float:
    return float(np.sqrt(instance.cells.rows)) * ideal


@privacy_measure(
    "max",
    counts(1, "n"),
    "rows",
    "size of the smallest group, the suppressed rows being one",
    "C §3: P_k-anon",
)
def size_min(scores: Scores) -> Values:
    """``min N`` over all rows (C §3); `k`, or the number of suppressed rows if that is less."""
    k, gone = scores.field("k"), scores.field("suppressed")
    return np.where((gone > 0) & ((gone < k) | (k == 0)), gone, k)


@privacy_measure(
    "max",
    between(1, "n"),
    "rows",
    "mean size of the group a row sits in, over all rows, the suppressed ones being one group",
    "C §3: P_s-avg",
    precision="quotient",
)
def size_mean(scores: Scores) -> Values:
    """``Σ N² / n`` (C §3), suppressed rows as one group; `weighted_k` is taken before."""
    gone = scores.field("suppressed")
    return (scores.field("kept_squares") + gone * gone) / scores.rows


@privacy_measure(
    "min",
    between(0, "n √n", without="high"),
    "distance in rows",
    "distance of all rows' group sizes from n, where every row would hide among all",
    "C §5.1: P_rank",
    tallies=("size_gap",),
    most=lambda instance: _largest_distance(instance, float(instance.cells.rows)),
)
def size_rank(scores: Scores) -> Values:
    """``√ Σ (n - N)²`` over all rows (C §5.1, with the ideal of its §5.1: everybody in one group).

    Suppressed rows make one group.
    """
    return _distance(scores, "size_gap", scores.square_unit)


@measure(
    "max",
    between(0, "q"),
    "cells",
    "what is left of the row that lost most; 0 where a row is suppressed",
    "C §3 and §5.5, with the loss of D eq. 3",
    tallies=("loss_most",),
    most=lambda instance: float(len(instance.layout.columns)),
    reads_labels=True,
)
def utility_min(scores: Scores) -> Values:
    """``q - max row loss`` (C §5.5; D eq. 3); 0 where a row is suppressed."""
    kept, _ = scores.tally("loss_most")
    left = (scores.columns * scores.scale - kept[:, 0]) / scores.scale
    return np.where(scores.field("suppressed") > 0, 0.0, left)


@measure(
    "max",
    between(0, "q"),
    "cells",
    "what is left of a row's quasi-identifiers, mean over all rows; nothing of a suppressed one",
    "C §3 and §5.5, with the loss of D eq. 3",
    most=lambda instance: float(len(instance.layout.columns)),
    reads_labels=True,
)
def utility_mean(scores: Scores) -> Values:
    """``q (1 - loss)``: the mean of q minus the row loss (C §5.5; D eq. 3)."""
    full = scores.columns * scores.scale
    kept_rows = scores.rows - scores.field("suppressed")
    return np.asarray((kept_rows * full - scores.field("kept_loss")) / (scores.scale * scores.rows))


@measure(
    "min",
    between(0, "q √n"),
    "distance in cells",
    "distance of all rows' utilities from q, where nothing would be lost",
    "C §5.1 and §5.5, with the loss of D eq. 3",
    tallies=("loss_gap",),
    most=lambda instance: _largest_distance(instance, len(instance.layout.columns)),
    reads_labels=True,
)
def utility_rank(scores: Scores) -> Values:
    """``√ Σ (row loss)²`` over all rows, q for a suppressed one (C §5.1).

    Of two releases with the same loss it prefers the one that spreads it evenly.
    """
    return _distance(scores, "loss_gap", scores.tally_unit) * scores.columns


@sensitive_measure(
    "min",
    counts(1, "n"),
    "rows",
    "most rows that share a group and a sensitive value; suppressed rows are one group",
    "C §3",
    tallies=("same_most",),
)
def sensitive_count_max(scores: Scores) -> Values:
    """``max c`` over all rows (C §3)."""
    return np.asarray(np.maximum(*scores.tally("same_most")).max(axis=1))


@sensitive_measure(
    "min",
    between(1, "n"),
    "rows",
    "rows that share a row's group and sensitive value, mean over all rows",
    "C §3",
    tallies=("same",),
    precision="quotient",
)
def sensitive_count_mean(scores: Scores) -> Values:
    """``Σ c / n`` over all rows (C §3); suppressed rows make one group."""
    return np.asarray(_sums(scores, "same").max(axis=1) / scores.rows)


@sensitive_measure(
    "min",
    between(0, "n √n", without="high"),
    "distance in rows",
    "distance of all rows' counts of their own sensitive value from 1",
    "C §5.1",
    tallies=("same_gap",),
    most=lambda instance: _largest_distance(instance, float(instance.cells.rows)),
)
def sensitive_count_rank(scores: Scores) -> Values:
    """``√ Σ (c - 1)²`` over all rows (C §5.1); suppressed rows make one group."""
    return _distance(scores, "same_gap", scores.square_unit)


@sensitive_measure(
    "min",
    between(0, 1, without="low"),
    "share",
    "largest chance of guessing a row's sensitive value from its group, suppressed rows being one",
    "C §3 counts; D §4.2 bounds the share",
    models=("alpha",),
    tallies=("same_most",),
    precision="exact",
)
def sensitive_share_max(scores: Scores) -> Values:
    """``max c / N`` over all rows; `alpha`, or more where suppressed rows are more alike."""
    gone = scores.field("suppressed")
    among_suppressed = scores.tally("same_most")[1].max(axis=1) / np.maximum(1, gone)
    return np.asarray(np.maximum(-scores.goodness("alpha"), among_suppressed))


@sensitive_measure(
    "min",
    between(0, 1, without="low"),
    "share",
    "chance of guessing a row's sensitive value from its group, mean over all rows",
    "C §3 counts; D §4.2 bounds the share",
    tallies=("share",),
)
def sensitive_share_mean(scores: Scores) -> Values:
    """``Σ c / N / n`` over all rows; suppressed rows make one group."""
    one = scores.tally_unit * scores.rows
    return np.asarray(_sums(scores, "share").max(axis=1) / one)


@sensitive_measure(
    "min",
    between(0, "√n", without="low"),
    "distance in shares",
    "distance of all rows' chances of being guessed from 0",
    "C §5.1",
    tallies=("share_gap",),
    most=lambda instance: _largest_distance(instance, 1.0),
)
def sensitive_share_rank(scores: Scores) -> Values:
    """``√ Σ (c / N)²`` over all rows (C §5.1); suppressed rows make one group."""
    return _distance(scores, "share_gap", scores.tally_unit)


@sensitive_measure(
    "max",
    counts(1, "values"),
    "values",
    "least number of sensitive values in a group, suppressed rows being one",
    "C §3 with D §4.2",
    tallies=("lacking_most",),
)
def diversity_min(scores: Scores) -> Values:
    """Least number of different values over all rows; `l_distinct`, or that of suppressed rows."""
    lacking = np.maximum(*scores.tally("lacking_most"))
    return np.asarray((_known_values(scores.instance) - lacking).min(axis=1))


@sensitive_measure(
    "max",
    between(1, "values"),
    "values",
    "different sensitive values in a row's group, mean over all rows",
    "C §3 with D §4.2",
    tallies=("values",),
    precision="quotient",
)
def diversity_mean(scores: Scores) -> Values:
    """Mean number of different values in a row's group; suppressed rows make one group."""
    return np.asarray(_sums(scores, "values").min(axis=1) / scores.rows)


@sensitive_measure(
    "min",
    between(0, "values √n", without="high"),
    "distance in values",
    "distance of all rows' diversities from the number of values in the table",
    "C §5.1 with D §4.2",
    tallies=("values_gap",),
    most=lambda instance: _largest_distance(instance, float(_known_values(instance).max())),
)
def diversity_rank(scores: Scores) -> Values:
    """``√ Σ (values of the table - values of the group)²`` over all rows (C §5.1).

    Suppressed rows make one group.
    """
    return _distance(scores, "values_gap", 1.0)
