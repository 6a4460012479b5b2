"""Which groups of one generalization a solution keeps.

The search settles this in its kernels, for whole populations; a release asks the same loops about
its own groups, so both see the same numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from moanon.kernels.thresholds import GIVEN
from moanon.measures.grouped import Grouped
from moanon.measures.groups import Groups
from moanon.measures.suppression import Suppression

__all__ = ["kept_groups"]


def kept_groups(
    groups: Groups, thresholds: npt.NDArray[np.int64], suppression: Suppression
) -> npt.NDArray[np.bool_]:
    """Tell which groups stay by a solution's thresholds and the constraints of its rule.

    Parameters
    ----------
    groups : Groups
        Under the solution's genome.
    thresholds : array (2,)
        Smallest size and smallest diversity, or class of what the rule goes by.
    suppression : Suppression
        The rule that they come from. Ordered safety keeps other groups than its thresholds say, and
        always arrives at the same ones: there the rule itself is applied.
    """
    rule = suppression.group_rule(groups.instance.cells.rows)
    if not (suppression.kind == "kl-safety" and suppression.safety == "ordered"):
        rule = rule._replace(suppression=GIVEN)
    size, diversity = thresholds.tolist()
    return Grouped.of_genome(groups).keep(rule, (size, diversity)).groups
