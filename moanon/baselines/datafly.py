"""Datafly: the column with the most values is generalized once more, until few rows are left over.

Sweeney (1997, 1998), as M Alg. 2 has it. Quick, and far from the best: the choice of a column looks
at nothing but the number of its values.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from moanon.baselines.full_domain import FullDomain, Lattice
from moanon.baselines.requirement import make_requirement
from moanon.genome import Instance
from moanon.measures.suppression import Suppression


def datafly(instance: Instance, k: int, eta: float = 0.0) -> FullDomain:
    """Generalize the column with the most different values until few enough rows fail `k`.

    Of several such columns the first is taken. Numbers and orders have two levels, the values as
    they are and none; trees have those of their hierarchy.

    Parameters
    ----------
    instance : Instance
    k : int
    eta : float
        Largest share of rows that may be suppressed.
    """
    return _generalize(instance, k, make_requirement(instance, k, eta))


def datafly_k(instance: Instance, k: int) -> FullDomain:
    """The same until at most `k` rows fail, as M Alg. 2 has it; of k rows in all, all but one."""
    rule, rows = make_requirement(instance, k), instance.cells.rows
    return _generalize(instance, k, replace(rule, eta=min(k, rows - 1) / rows))


def _generalize(instance: Instance, k: int, rule: Suppression) -> FullDomain:
    lattice = Lattice(instance, rule, "Datafly")
    columns = range(len(lattice.shape))
    levels = np.zeros(len(columns), dtype=np.int64)
    checked = 1
    while not lattice.check(levels[None]).enough[0]:
        column = max(
            (column for column in columns if levels[column] + 1 < lattice.shape[column]),
            key=lambda column: lattice.distinct_values(column, int(levels[column])),
        )
        levels[column] += 1
        checked += 1
    return lattice.result(levels.tolist(), k, checked)
