"""Putting similar genomes side by side: runs of neighbours have a coarse common refinement."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from moanon.kernels.jit import compiled

__all__ = ["bit_weights", "chain", "fineness_order"]

Bits = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def bit_weights(codes: npt.NDArray[np.uint16], counts: Ints, sizes: Ints) -> Floats:
    """How much each bit matters: the share of rows on the lighter side of its boundary.

    A boundary in the middle of the data splits many groups, one at its edge few. A small constant
    keeps bits without data from being free.
    """
    weights = [np.zeros(0)]
    for code, size in zip(codes, sizes, strict=True):
        below = np.cumsum(np.bincount(code, weights=counts, minlength=int(size)))
        share = below[:-1] / below[-1]
        weights.append(np.minimum(share, 1 - share) + 0.02)
    return np.concatenate(weights)


def fineness_order(genomes: Bits, weights: Floats) -> Ints:
    """Order genomes by how fine they are, coarsest last: runs of neighbours are roughly alike."""
    return np.argsort(-(genomes @ weights), kind="stable")


@compiled
def chain(genomes: Bits, weights: Floats, order: Ints, begin: int, end: int) -> None:
    """Within ``order[begin:end]``, let every genome be followed by the nearest one left.

    On a converged population of Adult, eight neighbours in this order have about as coarse an OR as
    eight neighbours on the front itself, at the cost of two or three microseconds per genome.
    """
    bits = genomes.shape[1]
    for at in range(begin, end - 1):
        here = genomes[order[at]]
        best = at + 1
        least = np.inf
        for candidate in range(at + 1, end):
            distance = 0.0
            other = genomes[order[candidate]]
            for bit in range(bits):
                if here[bit] != other[bit]:
                    distance += weights[bit]
            if distance < least:
                least = distance
                best = candidate
        order[at + 1], order[best] = order[best], order[at + 1]
