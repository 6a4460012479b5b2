"""What a local front costs: Adult, and tables of up to a million cells like it.

The larger tables are made of Adult's rows: each column of a row is, one time in four, that of
another row, until there are so many different ones. Everything is in the domains of
``configs/quickstart.yaml``; k and loss are the objectives.

    python experiments/local_scaling.py                       an hour on one core
    python experiments/local_scaling.py --cells 10000         a first look

writes ``results/local_scaling.csv``: CPU seconds of one greedy pass and of the whole front, sizes
of the front, and what it loses; a row is written as soon as it is known.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from moanon import Config, Instance
from moanon.data.domain import IntervalDomain
from moanon.data.table import Role, read_table
from moanon.measures.suppression import Suppression
from moanon.search.local import LocalSearch, split_greedily, warm_up_local
from moanon.search.problem import SearchProblem
from moanon.search.running import Stop, run_search

REPOSITORY = Path(__file__).parents[1]
CELLS = (10**4, 10**5, 10**6)
ETAS = (0.0, 0.1)
KS = (5, 20, 100, 1000)
#: How often a cell is that of another row.
NOISE = 0.25


def main(arguments: Sequence[str] | None = None) -> None:
    """Time everything and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--cells", type=int, action="append", help=f"0 is Adult itself; default: {(0, *CELLS)}"
    )
    parser.add_argument("--eta", type=float, action="append", help=f"default: {ETAS}")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "results" / "local_scaling.csv")
    options = parser.parse_args(arguments)
    config = Config.load(REPOSITORY / "configs" / "quickstart.yaml")
    found = []
    for cells in options.cells or (0, *CELLS):
        instance = like_adult(config, cells) if cells else config.instance()
        for eta in options.eta or ETAS:
            found.append(timed(instance, "made" if cells else "adult", eta))
            print(found[-1], flush=True)
            pd.DataFrame(found).to_csv(options.out, index=False, lineterminator="\n")


def like_adult(config: Config, cells: int) -> Instance:
    """Make a table with so many different rows in the domains of Adult."""
    adult = config.instance()
    base = np.repeat(adult.cells.codes, adult.cells.counts, axis=1)
    rng, made = np.random.default_rng(1), base[:, :0]
    while True:
        rows = base[:, rng.integers(0, base.shape[1], cells)]
        for column, values in zip(rows, base, strict=True):
            swapped = rng.random(cells) < NOISE
            column[swapped] = rng.choice(values, int(swapped.sum()))
        made = np.concatenate([made, rows], axis=1)
        first = np.sort(pd.DataFrame(made.T).drop_duplicates().index.to_numpy())
        if len(first) >= cells:
            break
    made = made[:, : first[cells - 1] + 1]
    frame = {}
    for (name, domain), codes in zip(adult.layout.domains.items(), made, strict=True):
        values = [str(domain.label(i, i + 1)) for i in range(domain.size)]
        if isinstance(domain, IntervalDomain):  # the first number of each step
            values = [value.strip("[").partition("-")[0] for value in values]
        frame[name] = np.array(values, dtype=object)[codes]
    return config.instance_of(read_table(pd.DataFrame(frame), dict.fromkeys(frame, Role.QUASI)))


def timed(instance: Instance, table: str, eta: float) -> dict[str, Any]:
    """CPU seconds of the front and of greedy passes alone."""
    rule = Suppression("limit", eta)
    problem = SearchProblem(instance, ("k", "loss"), rule)
    warm_up_local(problem)
    search = LocalSearch(problem)
    started = time.process_time()
    run_search(search, Stop())
    spent = time.process_time() - started
    sizes, losses = -search.archive.values[:, 0], search.archive.values[:, 1]
    started = time.process_time()
    greedy = {}
    for size, grouping in zip(KS, split_greedily(instance, rule, KS), strict=True):
        lost = int((grouping.integer_losses * grouping.sizes).sum()) / instance.losses.scale
        rows, columns = instance.cells.rows, len(instance.layout.columns)
        greedy[size] = (lost / columns + grouping.suppressed) / rows
    passes = (time.process_time() - started) / len(KS)
    return {
        "table": table,
        "cells": len(instance.cells),
        "rows": instance.cells.rows,
        "eta": eta,
        "targets": search.evaluations,
        "solutions": len(sizes),
        "front_seconds": round(spent, 1),
        "microseconds_per_cell": round(1e6 * spent / len(instance.cells)),
        "greedy_pass_seconds": round(passes, 3),
        **{f"greedy_k{k}": round(greedy[k], 4) for k in KS},
        **{f"loss_k{k}": round(float(losses[sizes >= k].min()), 4) for k in KS},
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


if __name__ == "__main__":
    main()
