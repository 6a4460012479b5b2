"""The exact front: where every genome was evaluated, and as the last step where bounds are sharp.

Whoever has seen all genomes has the optimum for every k. Otherwise, without suppression, branch and
bound often settles a whole front in the time of the search before it. How much of it is done is a
number of bounds, not of seconds, so that the same run ends in the same front on every machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from moanon.arrays import Floats
from moanon.front import Front
from moanon.genome import Instance
from moanon.measures.solutions import OnPart
from moanon.search.archive import Archive, SharedLimits
from moanon.search.front_proof import FrontProof, why_unprovable
from moanon.search.provable import why_not
from moanon.search.running import Stop

#: Most bounds that are computed, and most cells that are gone through for them: some 20 seconds.
EXACT_BOUNDS, _MOST_CELLS = 40_000, 800_000_000
#: After this share of them, it goes on only if this share of the solutions is proven optimal.
_SO_FAR = 0.2
#: Sums of losses up to this are told apart when they are shares.
_TOLD_APART = 2**51
#: Searches that offer every threshold of every genome they evaluate to their archive.
_KEEPING = ("exhaustive", "archive")


def bounds_of_all(front: Front, archive: Archive, algorithm: str) -> Floats | None:
    """Bounds of a front that was found among all genomes: each solution is the best for its k.

    None where that would rest on rounded losses, where the algorithm forgets solutions or the
    archive had to leave some out on the way, and of fronts about which nothing is proven otherwise
    (`why_not`).
    """
    assert front.instance is not None
    if why_not(front.objectives, front.suppression, [*front.bounds]) is not None:
        return None
    if algorithm not in _KEEPING or archive.thinned or not _are_told_apart(front.instance):
        return None
    return np.asarray(front.measures["loss"], dtype=np.float64)


def _are_told_apart(instance: Instance) -> bool:
    """Whether different losses of a table are different shares, in the same order."""
    whole = instance.losses.scale * instance.cells.rows * len(instance.layout.columns)
    return instance.losses.exact and whole <= _TOLD_APART


def is_exact_wanted(front: Front, stop: Stop) -> bool:
    """Whether a front is one that a search without limits of its own makes exact."""
    if stop.stalled is None or front.instance is None or why_unprovable(front) is not None:
        return False
    return front.suppression.most_rows(front.instance.cells.rows) == 0


def prove_for(front: Front, seconds: float) -> FrontProof:
    """Prove a front for so many seconds on the clock, or until all of it is proven."""
    proof = FrontProof(front)
    proof.table.warm_up()
    end = time.monotonic() + seconds
    while not (proof.current is None and proof.is_done) and time.monotonic() < end:
        proof.advance()
    return proof


def prove_within_budget(
    front: Front,
    interrupted: Callable[[], bool] | None = None,
    on_part: OnPart | None = None,
) -> FrontProof | None:
    """Prove a front as far as the budget goes; None where somebody wants it to end before.

    `on_part` is told how many of how many bounds were computed.
    """
    assert front.instance is not None
    proof = FrontProof(front)
    proof.table.warm_up()
    most = min(EXACT_BOUNDS, _MOST_CELLS // max(len(front.instance.cells), 1))
    looked = False
    while not (proof.current is None and proof.is_done) and proof.work < most:
        proof.advance()
        if not looked and proof.work >= _SO_FAR * most:
            looked, told = True, proof.record()
            if told.optimal < _SO_FAR * told.steps:
                break
        if on_part is not None:
            on_part(min(proof.work, most), most)
        if interrupted is not None and interrupted():
            return None
    return proof


def take_in(limits: SharedLimits, proof: FrontProof) -> bool:
    """Tell all limits what a proof has found; False where that is nothing."""
    if not proof.better:
        return False
    genomes = np.unique(np.stack([*proof.better.values()]), axis=0)
    limits.learn(limits.problems[0].layout.pack(genomes))
    return True
