"""What every group of a baseline's release must meet, as a rule of suppression."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from moanon.errors import ConfigError, ImpossibleError
from moanon.genome import Instance
from moanon.measures.evaluate import meet_constraints
from moanon.measures.measure import find_measure
from moanon.measures.suppression import RECURSIVE_C, Suppression

#: Bounds on measures that every group has a value of, in their better direction.
Demands = Iterable[tuple[str, float]]


def make_requirement(
    instance: Instance,
    k: int,
    eta: float = 0.0,
    demands: Demands = (),
    recursive_c: float = RECURSIVE_C,
) -> Suppression:
    """Return the rule: groups smaller than `k` or below a demand go, at most a share `eta` of rows.

    Raises
    ------
    ConfigError
        If `k` is not a whole number from 1 to the rows of the table, or a demand is none.
    ImpossibleError
        If even the whole table as one group fails.
    """
    rows = instance.cells.rows
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ConfigError(f"k must be a whole number, at least 1. Got {k!r}")
    if k > rows:
        raise ConfigError(f"k must be at most {rows}, the rows of the table. Got {k}")
    rule = Suppression("limit", eta, constraints=(("k", int(k)), *demands), recursive_c=recursive_c)
    if rule.needs_sensitive and not instance.cells.sensitive:
        raise ConfigError(
            "a demand on sensitive values needs a sensitive column, and there is none"
        )
    everyone = np.arange(len(instance.cells)), np.zeros(len(instance.cells), dtype=np.int64)
    for name, bound in rule.constraints:
        alone = Suppression("limit", constraints=((name, bound),), recursive_c=recursive_c)
        if not meet_constraints(instance, *everyone, np.array([rows]), alone)[0]:
            side = "at least" if find_measure(name).direction == "max" else "at most"
            raise ImpossibleError(
                f"no group can meet the demand {name} {side} {bound:g}: the whole table as one "
                "group does not"
            )
    return rule
