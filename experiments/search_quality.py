"""Fronts that each algorithm finds with the same number of evaluations, side by side.

On Adult, with the columns, trees and steps of ``configs/adult``: for each algorithm and seed the
area under the front, in (ln weighted-k, 1 - GL) without suppression (P1) and in (ln k, 1 - loss)
with at most a tenth of the rows suppressed (P2), up to the number of rows; what the front reaches
under a few limits of loss; and CPU time, which includes no compilation. Every algorithm counts with
all undominated solutions that it has evaluated, steps of staircases included.

    python experiments/search_quality.py
    python experiments/search_quality.py --algorithm nsga2    one; the others stay as they are

makes ``results/search_quality.csv`` in a few minutes. With ARX's hierarchies of Adult
(``--arx DIR``, default ``../shared/arx`` where that exists) it also makes
``results/search_quality_arx.csv``: the least loss at five values of k and three limits of
suppression, beside the optimal full-domain losses that a known tool finds with the same
hierarchies.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import moanon
from moanon import Config

REPOSITORY = Path(__file__).parents[1]


def shipped() -> dict[str, Any]:
    """The search of the paper's configurations, without its seed and its end."""
    search = Config.load(REPOSITORY / "configs/adult/problem1.yaml").search
    return search.model_dump(mode="json", exclude_none=True, exclude={"seed", "generations"})


#: Settings of each algorithm; the paper's are those that its configurations ship. They also
#: exchange trees that have no boundary in common, of which the paper says nothing.
ALGORITHMS: dict[str, dict[str, Any]] = {
    "archive (default)": {"algorithm": "archive"},
    "nsga2 (the paper's settings)": shipped(),
    "nsga2 (common boundaries only)": shipped() | {"tree_crossover": "common"},
    **{name: {"algorithm": name} for name in ("nsga2", "nsga3", "unsga3", "smsemoa")},
    **{name: {"algorithm": name} for name in ("agemoea", "moead")},
}
#: Problems: preset, privacy and cost, and limits of cost to look at.
PROBLEMS: dict[str, tuple[dict[str, Any], str, str, tuple[float, ...]]] = {
    "P1": ({"preset": "zero-suppression"}, "weighted_k", "gl", (0.20, 0.22, 0.25, 0.40)),
    "P2": ({"preset": "k-suppression", "eta": 0.1}, "k", "loss", (0.25, 0.26, 0.30, 0.40)),
}
#: Optimal losses of full-domain generalization for each limit of suppression, at these k.
KS = (2, 5, 10, 20, 50)
FULL_DOMAIN = {
    0.0: (0.5900, 0.6608, 0.6608, 0.7029, 0.7150),
    0.01: (0.3030, 0.4035, 0.4741, 0.5150, 0.5929),
    0.1: (0.1604, 0.2283, 0.2807, 0.3322, 0.3966),
}
ARX_COLUMNS = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write the tables."""
    options = _options(arguments)
    chosen = {name: ALGORITHMS[name] for name in options.algorithm or ALGORITHMS}
    path = options.out / "search_quality.csv"
    others = pd.read_csv(path) if options.algorithm and path.exists() else None
    _write(path, _adult(chosen, options.seeds, options.evaluations), others)
    if options.algorithm:
        return
    if options.arx.is_dir():
        table = _arx(options.arx, options.seeds, options.evaluations)
        _write(options.out / "search_quality_arx.csv", table)
    else:
        print(f"{options.arx} is not there: no comparison with full-domain generalization")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="seeds 1 to this one")
    parser.add_argument("--evaluations", type=int, default=50_000)
    parser.add_argument("--algorithm", action="append", choices=[*ALGORITHMS])
    parser.add_argument("--arx", type=Path, default=REPOSITORY / "../shared/arx")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "results")
    return parser.parse_args(arguments)


def _write(path: Path, rows: Iterator[dict[str, Any]], others: pd.DataFrame | None = None) -> None:
    """Write rows, and beside them those that were there of other algorithms."""
    found = []
    for row in rows:
        found.append(row)
        print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    table = pd.DataFrame(found)
    if others is not None:
        kept = others[~others["algorithm"].isin(table["algorithm"])]
        names = list(ALGORITHMS)
        table = pd.concat([kept, table])[others.columns].sort_values(
            ["problem", "algorithm", "seed"],
            key=lambda values: values.map(names.index) if values.name == "algorithm" else values,
        )
    table.to_csv(path, index=False, lineterminator="\n")


def area(privacy: np.ndarray, cost: np.ndarray) -> float:
    """Area under a front in (ln privacy, 1 - cost), from privacy 1 on.

    At each privacy counts the least cost of a solution with at least as much.

    >>> float(area(np.array([1.0, np.e]), np.array([0.0, 0.25])))
    0.75
    """
    order = np.argsort(privacy)
    logs = np.log(privacy[order])
    best = np.minimum.accumulate(cost[order][::-1])[::-1]
    return float((np.diff(logs, prepend=0.0) * (1 - best)).sum())


def _adult(
    algorithms: Mapping[str, Mapping[str, Any]], seeds: int, evaluations: int
) -> Iterator[dict[str, Any]]:
    base = Config.load(REPOSITORY / "configs/adult/problem1.yaml").model_dump(
        mode="json", exclude_none=True
    )
    for name, (problem, privacy, cost, limits) in PROBLEMS.items():
        for label, settings in algorithms.items():
            for seed in range(1, seeds + 1):
                search = {**settings, "seed": seed, "evaluations": evaluations, "cap": 100_000}
                front, seconds = _run({**base, "problem": problem, "search": search})
                x, y = front.measures[privacy].astype(float), front.measures[cost]
                yield {
                    "problem": name,
                    "algorithm": label,
                    "seed": seed,
                    "area": round(area(x, y), 4),
                    **{f"at loss {limit:.0%}": round(x[y <= limit].max(), 1) for limit in limits},
                    "solutions": len(front),
                    "cpu_seconds": round(seconds, 1),
                }


def _arx(folder: Path, seeds: int, evaluations: int) -> Iterator[dict[str, Any]]:
    columns: dict[str, Any] = {
        "age": {"role": "quasi", "kind": "interval", "granularity": 1, "range": [1, 100]}
    }
    for name in ARX_COLUMNS:
        path = folder.resolve() / f"adult_hierarchy_{name}.csv"
        columns[name] = {"role": "quasi", "kind": "tree", "hierarchy": str(path)}
    for seed in range(1, seeds + 1):
        for eta, losses in FULL_DOMAIN.items():
            front, seconds = _run(
                {
                    "data": {"source": "adult", "missing": "drop"},
                    "columns": columns,
                    "problem": {"preset": "k-suppression", "eta": eta},
                    "search": {"algorithm": "archive", "seed": seed, "evaluations": evaluations},
                }
            )
            ks, loss = front.measures["k"], front.measures["loss"]
            for k, full_domain in zip(KS, losses, strict=True):
                found = float(loss[ks >= k].min())
                yield {
                    "seed": seed,
                    "eta": eta,
                    "k": k,
                    "loss": round(found, 4),
                    "full_domain": full_domain,
                    "below": round(1 - found / full_domain, 4),
                    "cpu_seconds": round(seconds, 1),
                }


def _run(given: Mapping[str, Any]) -> tuple[moanon.Front, float]:
    config = Config.from_dict(given)
    moanon.optimize(  # once for the compiler and for loading
        Config.from_dict({**given, "search": {**given["search"], "evaluations": 400}}),
        progress=False,
    )
    started = time.process_time()
    front = moanon.optimize(config, progress=False)
    return front, time.process_time() - started


if __name__ == "__main__":
    main()
