"""Search a table whose ZIP column has 30,000 values: processor time and peak memory.

Genomes of such a table have 30,289 bits, most of which say nothing new: the 9,619 inner nodes of
the tree settle them. The table has 100,000 rows and hardly any two that agree in all columns.

    python experiments/many_values.py                      2,000 evaluations
    python experiments/many_values.py --evaluations 50000  as many as a run has by default
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import pandas as pd

from moanon import Hierarchy, Instance, IntervalSpec, OrderedSpec, TreeSpec, read_table
from moanon.measures.suppression import Suppression
from moanon.search.algorithms import Stop
from moanon.search.archive import front_of
from moanon.search.archive_search import ArchiveSearch
from moanon.search.problem import AnonymizationProblem
from moanon.search.running import run_search

ROWS, VALUES, SEED = 100_000, 30_000, 7


def zip_table() -> Instance:
    """Make the table: ZIP codes with a tree by their digits, age, income, sex and a status."""
    rng = np.random.default_rng(SEED)
    codes = [f"{code:05d}" for code in np.sort(rng.choice(10**5, size=VALUES, replace=False))]
    tree: dict[str, dict[str, dict[str, dict[str, list[str]]]]] = {}
    for code in codes:
        first, second, third, fourth = (f"{code[:n]}{'*' * (5 - n)}" for n in range(1, 5))
        regions = tree.setdefault(first, {}).setdefault(second, {})
        regions.setdefault(third, {}).setdefault(fourth, []).append(code)
    people = rng.pareto(1.2, size=VALUES) + 0.2
    frame = pd.DataFrame(
        {
            "zip": rng.choice(codes, size=ROWS, p=people / people.sum()),
            "age": rng.integers(0, 100, size=ROWS),
            "income": np.minimum(rng.gamma(3, 15, size=ROWS), 180).astype(int),
            "sex": rng.choice(["f", "m"], size=ROWS),
            "status": rng.choice(list("abcdefg"), size=ROWS),
        }
    )
    specs = {
        "zip": TreeSpec(Hierarchy.from_nested("*", tree)),
        "age": IntervalSpec(1, (0, 99)),
        "income": IntervalSpec(1, (0, 184)),
        "sex": OrderedSpec(("f", "m")),
        "status": OrderedSpec(tuple("abcdefg")),
    }
    return Instance.build(read_table(frame, dict.fromkeys(specs, "quasi")), specs)


def main() -> None:
    """Search, and say what it took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--evaluations", type=int, default=2_000)
    evaluations = parser.parse_args().evaluations
    instance = zip_table()
    print(f"{len(instance.cells):,} cells, genomes of {instance.layout.bits:,} bits")
    problem = AnonymizationProblem(instance, ("k", "loss"), Suppression("limit", 0.1))
    ArchiveSearch.warm_up(problem)
    search = ArchiveSearch(problem, population=200, seed=1)
    started = time.process_time()
    run_search(search, Stop(evaluations=evaluations))
    searched = time.process_time()
    front = front_of(problem, search.archive, cap=500)
    print(f"{evaluations:,} evaluations: {searched - started:.2f} CPU s")
    print(f"front of {len(front):,} solutions: {time.process_time() - searched:.2f} CPU s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:,.0f} MB")


if __name__ == "__main__":
    main()
