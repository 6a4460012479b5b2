"""The end of a long search: for large k, the optimum itself.

Where groups must be large, few cuts are left, and a search may sit in a valley of its own: between
it and something better lie several columns at once. Branch and bound settles such a k within some
hundred bounds. So a long search is gone through from its largest k downwards, until proofs get too
long. How much is done is a number of bounds, never of seconds.
"""

from __future__ import annotations

from collections.abc import Iterable

from moanon.arrays import Bits
from moanon.genome import Instance
from moanon.search.cut_table import ProofTable
from moanon.search.proof import Experience, Proof

#: Most bounds for one k and for all, and most cells that are gone through for them.
_FOR_ONE, _FOR_ALL, _MOST_CELLS = 1_500, 8_000, 160_000_000
#: Proofs that may remain open before it ends.
_MOST_OPEN = 2
#: Columns with more base values have too many pairs of edges.
_MOST_VALUES = 400


def can_settle(instance: Instance) -> bool:
    """Whether bounds of a table are quick enough."""
    return int(instance.layout.sizes.max()) <= _MOST_VALUES


def settle_large(
    instance: Instance, limit: int, steps: Iterable[tuple[int, int, Bits]]
) -> list[Bits]:
    """Find what is better than the solutions of the largest k.

    Parameters
    ----------
    instance : Instance
    limit : int
        Rows that may be suppressed.
    steps : iterable of (start, k, genome)
        Solutions of falling k, each the best that is known from the k `start` on.

    Returns
    -------
    list of arrays (bits,)
        Genomes, each better than all solutions for some k.
    """
    table = ProofTable.of(instance)
    experience = Experience.none(table.bits)
    left = min(_FOR_ALL, _MOST_CELLS // max(len(instance.cells), 1))
    least, still_open = table.whole, 0
    better: list[Bits] = []
    for start, k, genome in steps:
        loss = table.loss(genome, k, limit)
        least = least if loss is None else min(least, loss)
        proof = Proof(table, start, limit, least, experience)
        while not proof.is_closed and proof.work < min(_FOR_ONE, left):
            proof.advance()
        left -= proof.work
        still_open += not proof.is_closed
        if proof.genome is not None:
            better.append(proof.genome)
            least = proof.best
        if left <= 0 or still_open >= _MOST_OPEN:
            break
    return better
