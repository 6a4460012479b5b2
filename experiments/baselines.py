"""The classical algorithms on Adult and on credit default: what each loses for every k.

Adult has the nine columns and the domains of ``configs/quickstart.yaml``; credit default has the
five quasi-identifiers of M (Marchand), taken as integers. Columns without a tree have two levels
for the full-domain algorithms, the values as they are and none. Mondrian and MinGen suppress
nothing, so they stand at η = 0 alone; ``datafly-k`` suppresses up to k rows and has no η.
``mondrian`` is as published, ``mondrian-below`` also cuts below a median that is the largest value
of its group.

    python experiments/baselines.py                 some ten minutes
    python experiments/baselines.py --k 50          one k: does everything work?
    python experiments/baselines.py --part credit   one of the tables, or the figure alone
    python experiments/baselines.py --part credit --algorithm flash    others stay as they are

writes to ``results/baselines``

- ``adult.csv``, ``credit.csv``: losses, groups and CPU time of every algorithm, k and η; the time
  of our own fronts is that of the whole front, all k together. ``count_error`` is the median
  relative error of 600 random COUNT queries over two to four columns that hold for at least 0.5 %
  of the rows, answered from the release as if the rows of a group were spread evenly over its box;
- ``mondrian_ties.csv``: how far the loss of both Mondrians on Adult depends on which columns are
  cut first where several have the same range, over all choices of the first two;
- ``loss.png``: loss and ``count_error`` against k, from these tables.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from moanon import Config, Grouping, Instance, IntervalSpec, datasets, read_table
from moanon.baselines import BASELINES
from moanon.config import SearchSection
from moanon.front import Front
from moanon.measures.evaluate import measure_grouping
from moanon.measures.suppression import Suppression
from moanon.output.figure_files import write_figures
from moanon.output.figure_style import (
    COLOURS,
    GREY,
    INK,
    PAGE,
    SMALL,
    dress,
    new_figure,
    scale_axis,
    title,
)
from moanon.search.algorithms import DEFAULT_EVALUATIONS, Stop, make_search
from moanon.search.archive import front_of
from moanon.search.local import LocalSearch
from moanon.search.problem import AnonymizationProblem
from moanon.search.running import run_search

REPOSITORY = Path(__file__).parents[1]
KS = (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
ETAS = (0.0, 0.01, 0.1)
MEASURES = ("k", "loss", "entropy_loss", "count_error", "dm", "c_avg", "suppressed")
#: Random queries, and the least share of rows that one is true of.
QUERIES, LEAST_SHARE = 600, 0.005
CREDIT = ("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE")


def _problem(instance: Instance, eta: float) -> AnonymizationProblem:
    return AnonymizationProblem(instance, ("k", "loss"), Suppression("limit", eta))


def global_front(instance: Instance, eta: float) -> Front:
    """The front of generalizations of the whole table, by the default search, cut short."""
    problem = _problem(instance, eta)
    search = make_search(problem, SearchSection(evaluations=DEFAULT_EVALUATIONS))
    run_search(search, Stop(evaluations=DEFAULT_EVALUATIONS))
    return front_of(problem, search.archive, 5_000)


def local_front(instance: Instance, eta: float) -> Front:
    """The front of local recodings."""
    search = LocalSearch(_problem(instance, eta))
    run_search(search, Stop())
    return search.front(5_000)


#: Our own fronts, for all k at once; they stand beside the baselines.
OWN: dict[str, Callable[[Instance, float], Front]] = {
    "global front": global_front,
    "local front": local_front,
}

#: What is drawn, and which algorithms it stands for: three of them find the same.
LINES = {
    "Mondrian": "mondrian",
    "Mondrian, also below": "mondrian-below",
    "Mondrian, relaxed": "mondrian-relaxed",
    "Incognito, OLA, Flash": "flash",
    "Datafly": "datafly",
    "MinGen": "mingen",
    **{name: name for name in OWN},
}
#: Measures that are drawn, one above the other.
DRAWN = {"loss": "loss (%)", "count_error": "median error of counts (%)"}
MARKS = ("o", "o", "s", "^", "D", "v", "P", "X")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write the tables and the figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--k", type=int, action="append", help=f"default: {KS}")
    parser.add_argument(
        "--part", choices=PARTS, action="append", help="default: all, one after the other"
    )
    parser.add_argument(
        "--algorithm", choices=(*BASELINES, *OWN), action="append", help="default: all"
    )
    parser.add_argument("--out", type=Path, default=REPOSITORY / "results" / "baselines")
    options = parser.parse_args(arguments)
    ks = tuple(options.k or KS)
    options.out.mkdir(parents=True, exist_ok=True)
    parts = options.part or PARTS
    for name, load in TABLES.items():
        if name in parts:
            path = options.out / f"{name}.csv"
            found = pd.DataFrame(list(compare(load(), ks, name, options.algorithm)))
            if options.algorithm:
                known = pd.read_csv(path)
                found = pd.concat([known[~known["algorithm"].isin(options.algorithm)], found])
            write(found, path)
    if "ties" in parts:
        write(pd.DataFrame(list(ties(adult(), ks))), options.out / "mondrian_ties.csv")
    if "figure" in parts:
        tables = {name: pd.read_csv(options.out / f"{name}.csv") for name in TABLES}
        write_figures({"loss": partial(draw, tables)}, options.out, ["png"])


def adult() -> Instance:
    """Adult as in the quickstart."""
    return Config.load(REPOSITORY / "configs" / "quickstart.yaml").instance()


def credit() -> Instance:
    """Credit default; all limits are multiples of 80, so steps of 80 tell all of them apart."""
    table = read_table(datasets.load("credit"), dict.fromkeys(CREDIT, "quasi"))
    steps = {name: IntervalSpec(80 if name == "LIMIT_BAL" else 1) for name in CREDIT}
    return Instance.build(table, steps)


#: The tables, and all that can be made alone.
TABLES = {"adult": adult, "credit": credit}
PARTS = (*TABLES, "ties", "figure")


def compare(
    instance: Instance, ks: Sequence[int], table: str, algorithms: Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """One row for each algorithm, or each of some, and each k and η."""
    queries = Queries(instance)
    for name, baseline in BASELINES.items():
        if algorithms and name not in algorithms:
            continue
        baseline.run(instance, ks[0])  # once for the compiler and for loading
        alone = 0.0 if baseline.suppresses == "no rows" else None
        for eta in ETAS if "eta" in baseline.takes else (alone,):
            given = {"eta": eta} if "eta" in baseline.takes else {}
            for k in ks:
                started = time.process_time()
                found = baseline.run(instance, k, **given)
                spent = time.process_time() - started
                row = {
                    "algorithm": name,
                    "eta": eta,
                    **described(found.grouping(instance), k, queries),
                }
                row["checked"] = getattr(found, "checked", None)
                yield reported(table, {**row, "cpu_seconds": round(spent, 3)})
    for name, own in OWN.items():
        for eta in ETAS if not algorithms or name in algorithms else ():
            started = time.process_time()
            front = own(instance, eta)
            spent = time.process_time() - started
            for k in ks:
                fit = np.flatnonzero(front.measures["k"] >= k)
                best = int(fit[np.argmin(front.measures["loss"][fit])]) + 1
                row = {"algorithm": name, "eta": eta, **described(front.grouping(best), k, queries)}
                yield reported(table, {**row, "checked": None, "cpu_seconds": round(spent, 3)})


class Queries:
    """Random COUNT queries: a range of base values in each of two to four columns."""

    def __init__(self, instance: Instance) -> None:
        rng = np.random.default_rng(1)
        codes, counts = instance.cells.codes.astype(np.int64), instance.cells.counts
        sizes = instance.layout.sizes
        self.lows, self.highs, self.true = [], [], []
        while len(self.true) < QUERIES:
            lows, highs = np.zeros_like(sizes), sizes.copy()
            number = min(int(rng.integers(2, 5)), len(sizes))
            for column in rng.choice(len(sizes), number, replace=False):
                lows[column], highs[column] = np.sort(rng.choice(sizes[column] + 1, 2, False))
            inside = ((codes >= lows[:, None]) & (codes < highs[:, None])).all(axis=0)
            rows = int(counts[inside].sum())
            if rows >= LEAST_SHARE * counts.sum():
                self.lows.append(lows)
                self.highs.append(highs)
                self.true.append(rows)

    def error(self, grouping: Grouping) -> float:
        """Median relative error, rows spread evenly over the boxes of their groups."""
        released = grouping.released()
        starts, stops = released.starts, released.stops
        assert starts is not None
        assert stops is not None
        errors = []
        for lows, highs, true in zip(self.lows, self.highs, self.true, strict=True):
            asked = np.flatnonzero((lows > 0) | (highs < grouping.instance.layout.sizes))
            both = np.minimum(stops[asked], highs[asked, None])
            both -= np.maximum(starts[asked], lows[asked, None])
            shares = np.maximum(both, 0) / (stops - starts)[asked]
            errors.append(abs(float((released.sizes * shares.prod(axis=0)).sum()) - true) / true)
        return float(np.median(errors))


def described(grouping: Grouping, k: int, queries: Queries | None = None) -> dict[str, Any]:
    """Measures of a release that was asked to have groups of at least `k` rows."""
    found = measure_grouping(grouping)
    assert found["k"] >= k
    if queries is not None:
        found["count_error"] = queries.error(grouping)
    shown = {name: found[name] for name in MEASURES if name in found}
    rounded = {n: round(v, 4) if isinstance(v, float) else v for n, v in shown.items()}
    return {"asked_k": k, **rounded, "groups": int(grouping.kept.sum())}


def reported(table: str, row: dict[str, Any]) -> dict[str, Any]:
    """Print a row as it comes."""
    print(table, *(f"{key} {value}" for key, value in row.items()), sep=", ", flush=True)
    return row


def ties(instance: Instance, ks: Sequence[int]) -> Iterator[dict[str, Any]]:
    """For each k the least, the median and the greatest loss over the choices of two columns."""
    orders = [(), *permutations(instance.layout.columns, 2)]
    for name, k in product(("mondrian", "mondrian-below"), ks):
        run = BASELINES[name].run
        found = [
            described(run(instance, k, ties=order).grouping(instance), k)["loss"]
            for order in orders
        ]
        yield reported(
            "ties",
            {
                "algorithm": name,
                "k": k,
                "orders": len(orders) - 1,
                "loss": found[0],  # in the order of the table
                "least": min(found[1:]),
                "median": round(float(np.median(found[1:])), 4),
                "greatest": max(found[1:]),
            },
        )


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a table."""
    table.astype({"checked": "Int64"} if "checked" in table else {}).to_csv(
        path, index=False, lineterminator="\n"
    )


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """Loss and error of counts against k; with a tenth suppressed where an algorithm can."""
    figure = new_figure(PAGE, 5.4)
    plots = list(figure.subplots(len(DRAWN), len(tables), sharex="col"))
    for row, (measure, words) in zip(plots, DRAWN.items(), strict=True):
        for ax, (name, table) in zip(row, tables.items(), strict=True):
            dress(ax)
            scale_axis(ax, "x", "k", table["asked_k"])
            ax.set_ylabel(words if ax is row[0] else "", size=ax.xaxis.label.get_size())
            if row is plots[0]:
                title(ax, [name, "η = 10 % where rows can be suppressed"], columns=len(tables))
            if row is not plots[-1]:
                ax.set_xlabel("")
            lines = zip(LINES.items(), (*COLOURS, GREY, INK), MARKS, strict=True)
            for (label, algorithm), colour, mark in lines:
                rows = table[table["algorithm"] == algorithm]
                rows = rows[rows["eta"] == rows["eta"].max()]
                ax.plot(
                    rows["asked_k"],
                    100 * rows[measure],
                    color=colour,
                    marker=mark,
                    markersize=3,
                    linewidth=1.8 if algorithm in OWN else 1.1,
                    label=label,
                )
            ax.set_ylim(0, max(100, ax.get_ylim()[1]))
    handles, labels = plots[0][0].get_legend_handles_labels()
    figure.legend(
        handles, labels, fontsize=SMALL, frameon=False, ncols=4, loc="outside upper center"
    )
    return figure


if __name__ == "__main__":
    main()
