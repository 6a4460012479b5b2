"""Small moves of genomes: boundaries of ordered columns, cuts of trees.

What chance decides is drawn before and comes as arrays, so that a search draws the same numbers
whether it is compiled or not. Each genome changes in place, within the bits of one column that
begin at `start`; `rows` says which genomes move, each once.
"""

from __future__ import annotations

from typing import NamedTuple

from moanon.arrays import Bits, Bools, Floats, Ints
from moanon.kernels.jit import compiled


@compiled
def keep_movable(genomes: Bits, start: int, places: int, rows: Ints, far: Bools) -> int:
    """Leave `far` true where a row has a boundary that can go elsewhere; return how many there are.

    A column without boundaries has none to move, one with all of them has no place for it.
    """
    found = 0
    for i in range(len(rows)):
        if far[i]:
            first, other = genomes[rows[i], start], 1
            while other < places and genomes[rows[i], start + other] == first:
                other += 1
            far[i] = other < places
            if other < places:
                found += 1
    return found


@compiled
def move_boundaries(
    genomes: Bits,
    start: int,
    rows: Ints,
    at: Ints,
    forward: Ints,
    shifts: Floats,
    far: Bools,
    lots: Floats,
) -> None:
    """Move a boundary of each row far, shift it by one place, or flip the one at its place.

    Parameters
    ----------
    genomes : array (genomes, bits)
    start : int
    rows, at : arrays (moves,)
    forward : array (moves,)
        Whether a boundary is exchanged with the one after it (1) or before it (0).
    shifts : array (moves,)
        Below one half, it is, if there is one and it differs: else nothing would change.
    far : array (moves,)
        As `keep_movable` has left it.
    lots : array (far moves, places)
        Of the boundaries the one with the highest lot is cleared, of the other places that with the
        highest is set.
    """
    places, moved = lots.shape[1], 0
    for i in range(len(rows)):
        row = rows[i]
        if far[i]:
            to, away = -1, -1
            for place in range(places):
                lot = lots[moved, place]
                if genomes[row, start + place] == 0:
                    if to < 0 or lot > lots[moved, to]:
                        to = place
                elif away < 0 or lot > lots[moved, away]:
                    away = place
            genomes[row, start + away] = 0
            genomes[row, start + to] = 1
            moved += 1
            continue
        beside = at[i] + 2 * forward[i] - 1
        here = start + at[i]
        if (
            shifts[i] < 0.5
            and 0 <= beside < places
            and genomes[row, here] != genomes[row, start + beside]
        ):
            genomes[row, start + beside] ^= 1
        genomes[row, here] ^= 1


class TreeNodes(NamedTuple):
    """The inner nodes of a tree, those above before those below.

    Attributes
    ----------
    first, stop : arrays (nodes,)
        The boundaries within a node, which are its own and those of the nodes below it, begin and
        end here.
    parent : array (nodes,)
        -1 for the root.
    own_start : array (nodes + 1,)
        Where the boundaries of its own begin in `own`.
    own : array (boundaries,)
        By their nodes; the first one of a node tells whether it is expanded.
    """

    first: Ints
    stop: Ints
    parent: Ints
    own_start: Ints
    own: Ints


@compiled
def move_cuts(genomes: Bits, start: int, rows: Ints, nodes: Ints, tree: TreeNodes) -> None:
    """Collapse the node of each row with all below it, or expand it with all above it."""
    for i in range(len(rows)):
        row, node = rows[i], nodes[i]
        if genomes[row, start + tree.own[tree.own_start[node]]] == 1:
            for place in range(tree.first[node], tree.stop[node]):
                genomes[row, start + place] = 0
            continue
        while node >= 0 and genomes[row, start + tree.own[tree.own_start[node]]] == 0:
            for j in range(tree.own_start[node], tree.own_start[node + 1]):
                genomes[row, start + tree.own[j]] = 1
            node = tree.parent[node]
