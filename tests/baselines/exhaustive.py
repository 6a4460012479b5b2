"""Every full-domain generalization of a small table, counted row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

from moanon.genome import Instance
from tests.naive import generalized_rows, groups_of, row_loss, spans_of

#: Whether the rows (by number) of a group may be released.
Fine = Callable[[list[int]], bool]


def all_nodes(
    instance: Instance, limit: int, fine: Fine
) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Levels and loss of each node at which no more than `limit` rows are in groups that fail."""
    levels = [domain.full_domain() for domain in instance.layout.domains.values()]
    spans = spans_of(instance)
    for node in product(*(range(len(each)) for each in levels)):
        bits = [b for column, level in enumerate(node) for b in levels[column][level].tolist()]
        rows = generalized_rows(instance, "".join(map(str, bits)))
        loss, suppressed = Fraction(0), 0
        for shown, members in groups_of(rows).items():
            if fine(members):
                loss += len(members) * row_loss(shown, spans)  # type: ignore[arg-type]
            else:
                suppressed += len(members)
        if suppressed <= limit:
            yield node, (loss + suppressed * len(spans)) / (len(rows) * len(spans))
