"""Labels of a front as anybody may read them.

A rule that makes a tree from the values of a column names its nodes after these. A block of such a
tree whose rows a solution all suppresses would tell a value that its release does not contain, so
results say of it that it is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from moanon.data.domain import NOT_SHOWN
from moanon.genome import Instance
from moanon.measures.column_effects import column_effects, columns_before
from moanon.recoding import Blocks, GlobalRecodings, Recodings


def told_as(labels: Sequence[str], told: Sequence[str]) -> bool:
    """Whether labels are those that were told, as far as they were."""
    return len(labels) == len(told) and all(
        text in (label, NOT_SHOWN) for label, text in zip(labels, told, strict=True)
    )


def told_blocks(recodings: Recodings, instance: Instance) -> tuple[Blocks, ...]:
    """For each solution, what released cells can show, column by column, in order.

    Blocks that no released row has are called ``(not shown)`` where their labels would tell values
    of suppressed rows; others have their labels, because whoever described the table chose these.
    """
    blocks = recodings.blocks(instance)
    domains = instance.layout.domains
    if not isinstance(recodings, GlobalRecodings) or not any(
        domain.tells(0, 1) for domain in domains.values()
    ):
        return blocks  # boxes are those of released groups
    before = columns_before(instance)
    told = []
    for labels, grouping in zip(blocks, recodings.groupings(instance), strict=True):
        shown = dict(labels)
        for effect in column_effects(grouping, before):
            if effect.rows.all() or not effect.domain.tells(0, 1):
                continue
            ends = zip(effect.rows, effect.starts.tolist(), effect.stops.tolist(), strict=True)
            shown[effect.name] = tuple(
                NOT_SHOWN if not rows and effect.domain.tells(start, stop) else label
                for label, (rows, start, stop) in zip(labels[effect.name], ends, strict=True)
            )
        told.append(shown)
    return tuple(told)
