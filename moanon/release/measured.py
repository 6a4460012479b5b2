"""Every registered measure of an anonymized table, whoever made it.

The groups are measured by the same loops as those of a search (`measure_grouping`), so that
whatever is registered is measured here, too. A file does not show everything: how suppressed rows
were grouped before, which thresholds a rule arrived at, or, where nobody says it, what labels mean.
A measure that asks for such a thing is left out, not guessed. So it is with a sensitive column that
was not released: what the original has there is not what the file gives away.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from moanon.data.column import Column
from moanon.data.domain import OrderedSpec
from moanon.data.table import Role, Table
from moanon.genome import Instance
from moanon.measures.grouped import measure_grouping
from moanon.measures.registry import find_measure
from moanon.measures.suppression import RECURSIVE_C
from moanon.release.anonymized import Anonymized

__all__ = ["measure_anonymized"]

#: The one base value of a column that stands for all quasi-identifiers where labels mean nothing.
_ANY = "any"


def measure_anonymized(
    anonymized: Anonymized, *, diversity: str = "distinct", recursive_c: float = RECURSIVE_C
) -> dict[str, int | float]:
    """Measure an anonymized table by everything that is registered and can be known.

    Parameters
    ----------
    anonymized : Anonymized
    diversity, recursive_c
        As for `measure_grouping`.

    Returns
    -------
    dict of str to int or float
        By the measures' names, in the order of the registry.
    """
    if anonymized.instance is not None and anonymized.blocks is not None:
        starts, stops = np.moveaxis(anonymized.blocks, 2, 0).transpose(0, 2, 1)
        return measure_grouping(
            _released_part(anonymized.instance, anonymized.absent),
            anonymized.row_group,
            starts,
            stops,
            diversity=diversity,
            recursive_c=recursive_c,
        )
    shown = np.zeros((1, len(anonymized.sizes)), dtype=np.int64)
    blind = _without_meaning(anonymized.table, anonymized.absent)
    found = measure_grouping(
        blind,
        anonymized.row_group,
        shown,
        shown + 1,
        diversity=diversity,
        recursive_c=recursive_c,
    )
    return {name: value for name, value in found.items() if not _reads_labels(name)}


def _released_part(instance: Instance, absent: Collection[str]) -> Instance:
    """The table without sensitive values and classes that were not released."""
    if not absent:
        return instance
    table, cells, label = instance.table, instance.cells, instance.label
    roles = {n: Role.INSENSITIVE if n in absent else role for n, role in table.roles.items()}
    return replace(
        instance,
        table=replace(table, roles=roles),
        cells=replace(cells, sensitive=tuple(c for c in cells.sensitive if c.name not in absent)),
        label=None if label is None or label.name in absent else label,
    )


def _without_meaning(table: Table, absent: Collection[str]) -> Instance:
    """The table with one column that says nothing in the place of its quasi-identifiers."""
    nothing = Column(_ANY, np.zeros(table.rows, dtype=np.int32), (_ANY,), None)
    kept = {
        name: role
        for name, role in table.roles.items()
        if role is Role.SENSITIVE and name not in absent
    }
    columns = {_ANY: nothing, **{name: table.columns[name] for name in kept}}
    bare = replace(table, roles={_ANY: Role.QUASI, **kept}, columns=columns)
    return Instance.build(bare, {_ANY: OrderedSpec((_ANY,))})


def _reads_labels(name: str) -> bool:
    """Whether a measure follows from what labels stand for."""
    return name in ("gl", "loss") or name.startswith("utility_") or bool(find_measure(name).costs)
