"""Fronts for several limits of suppression beside each other: what each limit buys."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from moanon.atomic import Beside
from moanon.front import Front

__all__ = ["COMPARISON", "Comparison", "compare_limits", "write_comparison_table"]

#: The table above the folders of several limits.
COMPARISON = "comparison.csv"
#: What is asked of every front: the least loss at each k, and the best k within each loss.
_KS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_LOSSES = tuple(percent / 100 for percent in (5, 10, 15, 20, 25, 30, 35, 40, 50, 60))


@dataclass(frozen=True)
class Comparison:
    """What fronts of the same search answer under different limits of suppression.

    Attributes
    ----------
    etas : tuple of float
        The limits, the narrowest first.
    least_loss : dict of int to tuple
        For each k: the least loss of a solution with at least that k, for each limit; None where
        there is no such solution.
    best_k : dict of float to tuple
        For each loss: the best k within it, likewise.
    """

    etas: tuple[float, ...]
    least_loss: Mapping[int, tuple[float | None, ...]]
    best_k: Mapping[float, tuple[int | None, ...]]

    def to_csv(self) -> str:
        """Write as a table: a question, its limit, and an answer for each η."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["question", "limit", *(f"eta {eta}" for eta in self.etas)])
        for k, losses in self.least_loss.items():
            writer.writerow(["least loss with k at least", k, *map(_cell, losses)])
        for loss, ks in self.best_k.items():
            writer.writerow(["largest k with loss at most", loss, *map(_cell, ks)])
        return text.getvalue()


def compare_limits(fronts: Mapping[float, Front]) -> Comparison:
    """Ask fronts of several limits the same questions; those that none can answer are left out."""
    etas = tuple(sorted(fronts))
    columns = [(fronts[eta].measures["k"], fronts[eta].measures["loss"]) for eta in etas]
    least_loss: dict[int, tuple[float | None, ...]] = {}
    for bound in _KS:
        losses = tuple(
            float(loss[k >= bound].min()) if (k >= bound).any() else None for k, loss in columns
        )
        if any(loss is not None for loss in losses):
            least_loss[bound] = losses
    best_k: dict[float, tuple[int | None, ...]] = {}
    for share in _LOSSES:
        ks = tuple(
            int(np.max(k[loss <= share])) if (loss <= share).any() else None for k, loss in columns
        )
        if any(k is not None for k in ks):
            best_k[share] = ks
    return Comparison(etas, least_loss, best_k)


def write_comparison_table(
    folder: Path, fronts: Mapping[float, Front], texts: Mapping[str, str]
) -> None:
    """Write ``comparison.csv`` and other texts into the folder above those of the limits."""
    written = {folder / COMPARISON: compare_limits(fronts).to_csv()}
    written |= {folder / name: text for name, text in texts.items()}
    with Beside(*written, force=True) as beside:
        for path, text in written.items():
            beside[path].write_text(text, encoding="utf-8", newline="\n")
        beside.move()


def _cell(value: float | None) -> str:
    return "" if value is None else repr(value)
