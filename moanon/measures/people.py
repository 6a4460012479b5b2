"""How well off people are one by one: indices of property vectors (C §3, §5.1) as measures.

A property vector has one number for every row of the *original* (C def. 1). Suppressed rows are in
it: as C §3 has it they are there "in an overly generalized form", one more group of theirs, all of
whose cells are lost (see `moanon.compare.vectors`, which `moanon compare` uses). A *unary index*
says one number about the vector: the value of the row that is worst off, the mean over the rows, or
the ``rank``, the Euclidean distance from a vector in which every row is as well off as can be. They
look at everybody, where most models of `moanon.measures.privacy` look at the worst group: two
tables of equal k can differ much in them (C §1).

Properties: *size*, the rows N of a row's group; *utility*, its quasi-identifiers q minus what it
lost of them; *sensitive_count*, the c rows of its group with its own sensitive value;
*sensitive_share*, c / N; *diversity*, the different values in its group. Counts and shares are
better when lower. With several sensitive columns, an index is that of the worst one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from moanon.arrays import Ints, Values
from moanon.measures.measure import between, counts, measure, privacy_measure, sensitive_measure

if TYPE_CHECKING:
    from moanon.genome import Instance
    from moanon.measures.scores import Scores


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
