"""What an attacker gains who looks for a person in the release: chances of finding the right row.

An attacker who knows the quasi-identifiers of somebody finds the group, and guesses one of its N
rows: the chance to be right is 1 / N (the prosecutor's risk of statistical disclosure control).
Suppressed rows are not in the release and cannot be found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from moanon.arrays import Values
from moanon.measures.measure import between, privacy_measure

if TYPE_CHECKING:
    from moanon.measures.scores import Scores


@privacy_measure(
    "min",
    between(0, 1, without="low"),
    "share",
    "chance of finding a released row's person, mean over the released rows",
    "prosecutor risk, mean of 1 / N",
    precision="exact",
)
def risk_mean(scores: Scores) -> Values:
    """``groups / rows kept``: the mean of 1 / N over the kept rows, since a group sums to 1."""
    return scores.field("kept_groups") / scores.kept_rows


@privacy_measure(
    "min",
    between(0, 1, without="low"),
    "share",
    "chance of finding the person of a row in the smallest group",
    "prosecutor risk, largest 1 / N",
    precision="exact",
)
def risk_max(scores: Scores) -> Values:
    """``1 / k``; 1 where nothing is kept."""
    return 1 / np.maximum(1, scores.field("k"))


@privacy_measure(
    "min",
    between(0, 1),
    "share",
    "share of the released rows whose group has fewer than 5 rows",
    "records at risk, with the threshold 5",
    precision="exact",
    tallies=("small",),
    of_kept=True,
)
def risk_share(scores: Scores) -> Values:
    """Kept rows in groups smaller than 5, over all kept rows."""
    kept, _ = scores.tally("small")
    return kept[:, 0] / scores.kept_rows
