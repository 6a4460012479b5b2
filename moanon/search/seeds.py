"""Genomes worth trying first: everything in one block, nothing generalized, and whole levels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from moanon.genome import Layout

__all__ = ["SEED_SHARE", "first_genomes"]

#: Of a first population, this share are full-domain genomes.
SEED_SHARE = 0.25


def first_genomes(layout: Layout, number: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Return the two ends of the space and a sample of `number` full-domain genomes.

    A full-domain genome takes one whole level of every column. Genomes may repeat.
    """
    ends = np.repeat(np.array([[0], [1]], dtype=np.uint8), layout.bits, axis=1)
    parts = [np.zeros((number, 0), dtype=np.uint8)]
    for domain in layout.domains.values():
        levels = np.stack(domain.full_domain())
        parts.append(levels[rng.integers(len(levels), size=number)])
    return np.concatenate([ends, np.concatenate(parts, axis=1)])
