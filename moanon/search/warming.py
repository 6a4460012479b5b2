"""Compiling before the clock starts.

Kernels are compiled when they are first called, which takes longer than many a search; later
processes load them from a cache in a moment. A search whose time is limited or told should not
count either.
"""

from __future__ import annotations

import time
from typing import Literal

import numpy as np

from moanon.search.problem import SearchProblem

__all__ = ["warm_up"]

_WAYS: tuple[Literal["flat", "rollup"], ...] = ("flat", "rollup")


def warm_up(problem: SearchProblem) -> float:
    """Have everything compiled or loaded that evaluates genomes of a problem.

    Two genomes are evaluated each way; nothing of them is kept, and the search goes as without.

    Returns
    -------
    float
        Seconds that it took.
    """
    started = time.monotonic()
    genomes = problem.layout.sample(2, np.random.default_rng(0))
    for way in _WAYS:
        problem.evaluator.evaluate(
            genomes,
            problem.suppression,
            measures=problem.names,
            steps=problem.has_steps,
            mode=way,
        )
    return time.monotonic() - started
