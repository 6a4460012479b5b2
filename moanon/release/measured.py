"""Every registered measure of an anonymized table, whoever made it.

A search scores genomes; here the groups are given and may come from no genome at all. They are put
into the same `Scores` that measures are read off, so that whatever is registered is measured here,
too. A file does not show everything: how suppressed rows were grouped before, which thresholds a
rule arrived at, or, without domains, what labels mean. A measure that asks for such a thing is left
out, not guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from moanon.kernels.population import RawScores
from moanon.kernels.scoring import FIELDS
from moanon.measures.evaluate import Scores
from moanon.measures.registry import MEASURES
from moanon.measures.suppression import Suppression
from moanon.release.anonymized import Anonymized

__all__ = ["measure_anonymized"]

Ints = npt.NDArray[np.int64]


def measure_anonymized(anonymized: Anonymized) -> dict[str, float]:
    """Measure an anonymized table by everything that is registered and can be known.

    Returns
    -------
    dict of str to int or float
        By the measures' names, in the order of the registry.
    """
    sensitive = anonymized.table.sensitive
    scores = _scores(anonymized, sensitive)
    found: dict[str, float] = {}
    for name, measure in MEASURES.items():
        if measure.needs_sensitive and not sensitive:
            continue
        try:
            found[name] = measure.of(scores)[0].item()
        except _UnknownError:
            continue
    return found


class _UnknownError(Exception):
    """A measure asks for something that a released table does not show."""


@dataclass(frozen=True)
class _ShownScores(Scores):
    """Scores of one table, some of whose fields are not known."""

    unknown: frozenset[str]

    def field(self, name: str) -> Ints:
        if name in self.unknown:
            raise _UnknownError
        return super().field(name)


def _scores(anonymized: Anonymized, sensitive: Sequence[str]) -> Scores:
    sizes, squares = anonymized.sizes, int((anonymized.sizes**2).sum())
    unknown = {"d1", "d2"}
    if anonymized.suppressed:  # their groups before they were suppressed
        unknown |= {"groups", "squares", "loss_all"}
    losses = anonymized.integer_losses
    scale, lost = 1, 0
    if losses is None:
        unknown |= {"kept_loss", "loss_all"}
    else:
        scale, lost = losses.scale, int((sizes * losses.of_group).sum())
    shown = {
        "groups": len(sizes),
        "squares": squares,
        "loss_all": lost,
        "suppressed": anonymized.suppressed,
        "kept_groups": len(sizes),
        "kept_squares": squares,
        "kept_loss": lost,
        "k": anonymized.k,
        "largest": int(sizes.max()),
    }
    fields = np.array([[shown.get(name, 0) for name in FIELDS]], dtype=np.int64)
    ell = np.array([_diversity(anonymized, name) for name in sensitive], dtype=np.int64)
    nothing: npt.NDArray[Any] = np.zeros((0, 3), dtype=np.int64)
    raw = RawScores(fields, ell.reshape(1, len(sensitive), 2), np.zeros(2, np.int64), nothing)
    return _ShownScores(
        Suppression("none"),
        anonymized.rows,
        len(anonymized.quasi),
        scale,
        raw,
        frozenset(unknown),
    )


def _diversity(anonymized: Anonymized, column: str) -> tuple[int, int]:
    """Least distinct and least frequency diversity of a sensitive column over the groups."""
    group, rows = anonymized.value_counts(column)
    most = np.zeros(len(anonymized.sizes), dtype=np.int64)
    np.maximum.at(most, group, rows)
    return int(np.bincount(group).min()), int((anonymized.sizes // most).min())
