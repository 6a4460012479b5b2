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


def datafly(instance: Instance, k: int, eta: float | None = None) -> FullDomain:
    """Generalize the column with the most different values until at most so many rows fail `k`.

    Of several such columns the first is taken. Numbers and orders have two levels, the values as
    they are and none; trees have those of their hierarchy.

    Parameters
    ----------
    instance : Instance
    k : int
    eta : float, optional
        Largest share of rows that may be suppressed. By default `k` rows may be, as in the paper
        (of a table of k rows, all but one).
    """
    rows = instance.cells.rows
    rule = make_requirement(instance, k, 0.0 if eta is None else eta)
    if eta is None:
        rule = replace(rule, eta=min(k, rows - 1) / rows)
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
