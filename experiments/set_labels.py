"""What sets of neighbouring nodes gain over single nodes in local recodings of Adult.

The domains are those of ``configs/quickstart.yaml``, with ``labels: sets`` in its four tree columns
or without. Sets are runs of neighbours in the order of the tree. How much more sets of any values
could gain is stated for the groups that were found: what they would lose if each showed exactly the
values that its rows have in those columns.

    python experiments/set_labels.py           a minute

writes ``results/set_labels.csv``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from moanon import Config, Grouping, Instance
from moanon.front import Front
from moanon.measures.suppression import Suppression
from moanon.search.algorithms import Stop
from moanon.search.local import LocalSearch
from moanon.search.problem import AnonymizationProblem
from moanon.search.running import run_search

REPOSITORY = Path(__file__).parents[1]
KS = (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


def main(arguments: Sequence[str] | None = None) -> None:
    """Search for both fronts and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--eta", type=float, default=0.0)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "results" / "set_labels.csv")
    options = parser.parse_args(arguments)
    nodes, sets = (local_front(labels, options.eta) for labels in ("nodes", "sets"))
    found = []
    for k in KS:
        best = fitting(sets, k)
        found.append(
            {
                "k": k,
                "eta": options.eta,
                "loss_nodes": round(float(nodes.measures["loss"][fitting(nodes, k)]), 4),
                "loss_sets": round(float(sets.measures["loss"][best]), 4),
                "loss_any_sets": round(loss_of_any_sets(sets.grouping(best + 1)), 4),
            }
        )
        print(found[-1], flush=True)
    pd.DataFrame(found).to_csv(options.out, index=False, lineterminator="\n")


def local_front(labels: str, eta: float) -> Front:
    """The front of local recodings with single nodes or sets of them."""
    instance = quickstart(labels)
    search = LocalSearch(AnonymizationProblem(instance, ("k", "loss"), Suppression("limit", eta)))
    run_search(search, Stop())
    return search.front(5_000)


def quickstart(labels: str) -> Instance:
    """Adult, its trees shown by nodes or by sets."""
    path = REPOSITORY / "configs" / "quickstart.yaml"
    trees = [name for name, column in Config.load(path).columns.items() if column.kind == "tree"]
    given = ["problem.recoding=local", *(f"columns.{name}.labels={labels}" for name in trees)]
    return Config.load(path, given).instance()


def fitting(front: Front, k: int) -> int:
    """The solution that loses least of those with groups of at least k rows."""
    fit = np.flatnonzero(front.measures["k"] >= k)
    return int(fit[np.argmin(front.measures["loss"][fit])])


def loss_of_any_sets(grouping: Grouping) -> float:
    """Loss if tree columns showed exactly the values that the rows of each group have."""
    instance, group = grouping.instance, grouping.cell_group
    assert group is not None
    assert grouping.starts is not None
    assert grouping.stops is not None
    widths = grouping.stops - grouping.starts
    kept = group >= 0
    for column, name in enumerate(instance.layout.columns):
        if name in instance.layout.trees:
            pairs = np.unique(np.stack([group[kept], instance.cells.codes[column, kept]]), axis=1)
            widths[column] = np.bincount(pairs[0], minlength=len(grouping))
    sizes = instance.layout.sizes[:, None]
    lost = ((widths - 1) / np.maximum(1, sizes - 1)).sum(axis=0) * grouping.sizes
    columns = len(sizes)
    return float(lost.sum() + columns * grouping.suppressed) / (columns * grouping.rows)


if __name__ == "__main__":
    main()
