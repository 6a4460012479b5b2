"""Two ways to cross trees: mending finds the nearest valid cut, and a short run."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from moanon import Hierarchy
from tests.checkout import load_experiment


@pytest.fixture(scope="module")
def claims() -> ModuleType:
    return load_experiment("crossover_claims")


def is_cut(bits: tuple[bool, ...], tree: Hierarchy) -> bool:
    """Whether every block is exactly the leaves of a node."""
    edges = [0, *(place + 1 for place, bit in enumerate(bits) if bit), len(tree.leaves)]
    nodes = set(zip(tree.starts, tree.stops, strict=True))
    return all(block in nodes for block in pairwise(edges))


@pytest.mark.parametrize(
    "text",
    ["Any: [a, b, c]", "Any: {A: [a, b], C: [c, d, e], f: }", "Any: {A: {B: [a, b], c: }, d: }"],
)
def test_mended_bits_are_the_nearest_cut(claims: ModuleType, text: str) -> None:
    tree = Hierarchy.from_yaml(text)
    every = list(product([False, True], repeat=len(tree.leaves) - 1))
    cuts = np.array([bits for bits in every if is_cut(bits, tree)])
    mended = claims.mend(np.array(every), tree)
    for bits, found in zip(every, mended, strict=True):
        assert is_cut(tuple(found.tolist()), tree)
        assert (found != bits).sum() == (cuts != bits).sum(axis=1).min()


@pytest.mark.slow
def test_a_short_run_writes_everything(claims: ModuleType, tmp_path: Path) -> None:
    claims.main(["--quick", "--problem", "problem1", "--seed", "1", "--out", str(tmp_path)])
    assert {path.name for path in tmp_path.iterdir()} == {
        "convergence.csv",
        "convergence_summary.csv",
        "convergence.png",
    }
    table = pd.read_csv(tmp_path / "convergence.csv")
    assert (table.groupby("crossover")["area"].diff().dropna() >= 0).all()  # all solutions so far
