"""Fronts of several limits η beside each other: what each buys, and why a wider one may look worse.

Whatever meets a narrow limit meets every wider one, so a wider limit can never cost more. That it
seems to is the search's doing: the wider one was searched with less effort, or by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from moanon.arrays import Floats, Ints
from moanon.front.front import Front

#: What is asked of every front: the least loss at each k, and the best k within each loss.
_KS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_LOSSES = tuple(percent / 100 for percent in (5, 10, 15, 20, 25, 30, 35, 40, 50, 60))
#: Losses that differ by less are the same: one more digit than anybody is shown.
_SAME = 5e-5


#: Under each bound, the answer of each limit, the narrowest first; None where there is none.
Answers = dict[float, tuple[float | None, ...]]


def least_losses(fronts: Mapping[float, Front]) -> Answers:
    """The least loss with at least each k, for each limit; a k that no front has is left out."""
    columns = _k_and_loss(fronts)
    return {
        bound: tuple(min(loss[k >= bound].tolist(), default=None) for k, loss in columns)
        for bound in _KS
        if any((k >= bound).any() for k, _ in columns)
    }


def largest_ks(fronts: Mapping[float, Front]) -> Answers:
    """The largest k within each loss, likewise."""
    columns = _k_and_loss(fronts)
    return {
        bound: tuple(max(k[loss <= bound].tolist(), default=None) for k, loss in columns)
        for bound in _LOSSES
        if any((loss <= bound).any() for _, loss in columns)
    }


def _k_and_loss(fronts: Mapping[float, Front]) -> list[tuple[Ints, Floats]]:
    measures = [fronts[eta].measures for eta in sorted(fronts)]
    return [(each["k"].astype(np.int64), each["loss"]) for each in measures]


def why_worse(fronts: Mapping[float, Front], evaluations: Mapping[float, int]) -> str:
    """Say why a wider limit loses more at some k than a narrower one; nothing where none does.

    Parameters
    ----------
    fronts : mapping of float to Front
        By their limits.
    evaluations : mapping of float to int
        How many each search took, as far as that is known.
    """
    found: dict[tuple[float, float], list[float]] = {}
    etas = sorted(fronts)
    for bound, losses in least_losses(fronts).items():
        for (narrow, less), (wide, more) in pairwise(zip(etas, losses, strict=True)):
            if less is not None and (more is None or more > less + _SAME):
                found.setdefault((narrow, wide), []).append(bound)
    sentences = []
    for (narrow, wide), bounds in found.items():
        ks = ", ".join(f"{bound:,.0f}" for bound in bounds)
        few, many = evaluations.get(wide, 0), evaluations.get(narrow, 0)
        why = "each limit is searched by itself"
        if 0 < few < many:
            why = f"it was searched with {few:,} evaluations instead of {many:,}"
        sentences.append(
            f"η {wide} shows a larger loss than η {narrow} at k {ks}: {why}; what was found for "
            f"η {narrow} is allowed under η {wide}, too"
        )
    return "; ".join(sentences)
