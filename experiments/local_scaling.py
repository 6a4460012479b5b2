"""What a local front costs: Adult, and tables of up to a million cells like it.

The larger tables are made of Adult's rows: each column of a row is, one time in four, that of
another row, until there are so many different ones. Everything is in the domains of
``configs/quickstart.yaml``; k and loss are the objectives.

    python experiments/local_scaling.py                       some twenty minutes on one core
    python experiments/local_scaling.py --cells 10000         a first look

writes ``results/local_scaling.csv``: CPU seconds of the whole front, of the greedy way alone (from
the whole table down by the largest gain, once for each k, without looking ahead or moving cells;
150 values of k on Adult, four on the others), sizes of the front, and what both lose. A row is
written as soon as it is known, and takes the place of an older one of the same table and η.
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
from moanon.data.table import Role
from moanon.engines import read_table
from moanon.measures.suppression import Suppression
from moanon.search.algorithms import Stop
from moanon.search.box_solving import split_greedily
from moanon.search.local import LocalSearch
from moanon.search.problem import AnonymizationProblem
from moanon.search.running import run_search

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
    cells_asked = (0, *CELLS) if options.cells is None else options.cells
    for cells in cells_asked:
        instance = like_adult(config, cells) if cells else config.instance()
        for eta in options.eta or ETAS:
            row = timed(instance, "made" if cells else "adult", eta)
            print(row, flush=True)
            keep(row, options.out)


def keep(row: dict[str, Any], path: Path) -> None:
    """Put a row into the table, in the place of an older one."""
    found = pd.DataFrame([row])
    if path.exists():
        found = pd.concat([pd.read_csv(path), found]).drop_duplicates(["cells", "eta"], keep="last")
    found.sort_values(["table", "cells", "eta"]).to_csv(path, index=False, lineterminator="\n")


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


def spread_ks(rows: int) -> list[int]:
    """150 sizes of groups from 2 to half of the rows, among them those of the results.

    They are at growing distances, as far as they are different numbers.
    """
    number = 150
    others = sorted({*np.geomspace(2, rows / 2, 4 * number).astype(int).tolist()} - {*KS})
    chosen = np.linspace(0, len(others) - 1, number - len(KS)).astype(int)
    return sorted({*KS, *(others[i] for i in chosen)})


def timed(instance: Instance, table: str, eta: float) -> dict[str, Any]:
    """CPU seconds of the front and of greedy passes alone."""
    rule = Suppression("limit", eta)
    problem = AnonymizationProblem(instance, ("k", "loss"), rule)
    LocalSearch.warm_up(problem)
    search = LocalSearch(problem)
    started = time.process_time()
    run_search(search, Stop())
    spent = time.process_time() - started
    sizes, losses = -search.archive.values[:, 0], search.archive.values[:, 1]
    greedy_ks = KS if table == "made" else spread_ks(instance.cells.rows)
    started, greedy = time.process_time(), {}
    for size, grouping in zip(greedy_ks, split_greedily(instance, rule, greedy_ks), strict=True):
        lost = int((grouping.integer_losses * grouping.sizes).sum()) / instance.losses.scale
        rows, columns = instance.cells.rows, len(instance.layout.columns)
        greedy[size] = (lost / columns + grouping.suppressed) / rows
    greedy_spent = time.process_time() - started
    return {
        "table": table,
        "cells": len(instance.cells),
        "rows": instance.cells.rows,
        "eta": eta,
        "targets": search.evaluations,
        "solutions": len(sizes),
        "front_seconds": round(spent, 1),
        "microseconds_per_cell": round(1e6 * spent / len(instance.cells)),
        "greedy_targets": len(greedy_ks),
        "greedy_seconds": round(greedy_spent, 2),
        **{f"greedy_k{k}": round(greedy[k], 4) for k in KS},
        **{f"loss_k{k}": round(float(losses[sizes >= k].min()), 4) for k in KS},
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


if __name__ == "__main__":
    main()
