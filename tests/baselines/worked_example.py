"""M's Tables 1 to 4: five customers, with gender and age as quasi-identifiers."""

from __future__ import annotations

import pandas as pd

from moanon.data.domain import DomainSpec, IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.genome import Instance

GENDERS = Hierarchy.from_yaml("Any: {not M: [F, N], M: }")


def customers(*, ordered: bool = False, sensitive: bool = False) -> Instance:
    """M's Table 1; gender with the tree that Table 2 generalizes by, or as an order."""
    frame = pd.DataFrame(
        {
            "gender": list("FFMMN"),
            "age": [29, 24, 24, 24, 24],
            "balance": [250, 100, -50, 500, 250],
        }
    )
    gender: DomainSpec = OrderedSpec(("F", "M", "N")) if ordered else TreeSpec(GENDERS)
    roles = {"gender": "quasi", "age": "quasi", "balance": "insensitive"}
    if sensitive:
        roles["balance"] = "sensitive"
    specs = {"gender": gender, "age": IntervalSpec(5, range=(24, 33))}
    return Instance.build(read_table(frame, roles), specs)
