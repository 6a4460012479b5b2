"""Two ways to cross trees: Lunacek's, which keeps children valid, and Iyengar's, who mends them.

The multi-objective paper (D: Dewri et al., §7) believes that its crossover (Lunacek et al.)
converges much faster than that of Iyengar. Here pymoo's NSGA-II works on problems 1 and 2 of Adult
with the paper's settings and either crossover, five seeds each:

    python experiments/crossover_claims.py            some five minutes of CPU time
    python experiments/crossover_claims.py --quick    two seeds, ten generations
    python experiments/crossover_claims.py --problem problem1 --seed 3    the others stay

writes to ``results/search_claims``

- ``convergence.csv``, ``convergence.png``: the area under all solutions so far by generation, with
  trees crossed at common boundaries (Lunacek et al.), there or exchanged whole (as the
  configurations have it), and anywhere, with the children mended to the nearest valid
  generalization (Iyengar);
- ``convergence_summary.csv``: what each has after 25, 50, 100 and 250 generations, and when it is
  as good as the mended one in the end.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.crossover import Crossover
from search_parameters import read_options, write_tables
from search_quality import area

from moanon import Config, Hierarchy
from moanon.arrays import Bools, Ints
from moanon.output.figure_files import write_figures
from moanon.output.figure_style import COLOURS, LABEL, PAGE, SMALL, dress, new_figure, title
from moanon.output.figure_style import write as write_text
from moanon.search import AnonymizationProblem, LunacekCrossover, ValidMutation, ValidSampling
from moanon.search.operators import BitDuplicates

REPOSITORY = Path(__file__).parents[1]
#: As long as the paper's search; and after which generations its front is looked at.
GENERATIONS, LOOKS = 250, (25, 50, 100, 250)
#: Up to here every generation is written, then each of so many: enough for the figure.
EVERY, STEP = 10, 5
MENDED = "anywhere, mended"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, and write tables and the figure."""
    options = read_options(arguments, __doc__, "two seeds, ten generations")
    found = write_tables(options.out, "convergence", pd.DataFrame(runs(options)), summary)
    write_figures({"convergence": partial(draw, found)}, options.out, ["png"])


def runs(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The area after each generation, for each problem, seed and crossover."""
    rows = []
    for problem, seed in product(options.problem, options.seed):
        for name, make in CROSSOVERS.items():
            started = time.process_time()
            areas = grow(problem, make(), seed, 10 if options.quick else GENERATIONS)
            about = {"problem": problem, "crossover": name, "seed": seed}
            spent = f"{time.process_time() - started:.1f} CPU s"
            print(*about.values(), f"{areas[-1]:.4f}", spent, sep=", ", flush=True)
            rows += [
                {**about, "generation": generation, "area": round(value, 4)}
                for generation, value in enumerate(areas, 1)
                if generation <= EVERY or generation % STEP == 0
            ]
    return rows


def grow(problem: str, crossover: Crossover, seed: int, generations: int) -> list[float]:
    """The area under all solutions so far after each generation, with the paper's settings."""
    given = Config.load(REPOSITORY / "configs" / "adult" / f"{problem}.yaml").search
    algorithm = NSGA2(
        pop_size=given.population,
        sampling=ValidSampling(coarse=0),
        crossover=crossover,
        mutation=ValidMutation(given.mutation, moves=False),
        eliminate_duplicates=BitDuplicates(),
    )
    model = AnonymizationProblem.from_config(REPOSITORY / "configs" / "adult" / f"{problem}.yaml")
    algorithm.setup(model, termination=("n_gen", generations), seed=seed)
    privacy, cost, areas = np.zeros(0), np.zeros(0), []
    while algorithm.has_next():
        evaluated = algorithm.ask()
        algorithm.evaluator.eval(model, evaluated)
        algorithm.tell(infills=evaluated)
        values = evaluated.get("F")
        privacy = np.append(privacy, -values[:, 0])
        cost = np.append(cost, values[:, 1])
        areas.append(area(privacy, cost))
    return areas


class MendedCrossover(Crossover):  # type: ignore[misc]
    """Crosses every column anywhere, and mends trees: the fewest bits that make them valid flip."""

    def __init__(self, prob: float = 0.9) -> None:
        super().__init__(2, 2, prob=prob)

    def _do(
        self,
        problem: AnonymizationProblem,
        X: Bools,
        *args: Any,
        random_state: Any = None,
        **kwargs: Any,
    ) -> Bools:
        layout = problem.layout
        starts, widths = layout.offsets[:-1], np.diff(layout.offsets)
        column = np.repeat(np.arange(len(starts)), widths)
        points = random_state.integers(0, layout.sizes, size=(X.shape[1], len(starts)))
        exchanged = np.arange(layout.bits) - starts[column] >= points[:, column]
        children = np.where(exchanged, X[::-1], X)
        names = list(layout.domains)
        for name, tree in layout.trees.items():
            first = starts[names.index(name)]
            bits = children[..., first : first + len(tree.leaves) - 1]
            bits[...] = mend(bits.reshape(-1, bits.shape[-1]), tree).reshape(bits.shape)
        return children


def mend(bits: Bools, tree: Hierarchy) -> Bools:
    """The nearest valid cuts of a tree (rows, leaves - 1); of two as near, the finer.

    >>> tree = Hierarchy.from_yaml("Any: {A: [a, b], C: [c, d]}")
    >>> mend(np.array([[True, False, False], [True, False, True], [False, False, False]]), tree) * 1
    array([[1, 1, 0],
           [1, 1, 1],
           [0, 0, 0]])
    """
    whole: dict[int, Bools] = {}  # rows in which a node is better shown as a whole
    mended = bits.copy()

    def cost(node: int) -> Ints:
        start, stop = tree.starts[node], tree.stops[node]
        if not tree.children[node]:
            return np.zeros(len(bits), dtype=np.int64)
        apart = sum(cost(child) for child in tree.children[node])
        apart = apart + sum(~bits[:, tree.starts[child] - 1] for child in tree.children[node][1:])
        together = bits[:, start : stop - 1].sum(axis=1)
        whole[node] = together < apart
        return np.minimum(together, apart)

    def show(node: int, rows: Bools) -> None:
        if not tree.children[node]:
            return
        start, stop = tree.starts[node], tree.stops[node]
        mended[rows & whole[node], start : stop - 1] = False
        rows = rows & ~whole[node]
        for child in tree.children[node][1:]:
            mended[rows, tree.starts[child] - 1] = True
        for child in tree.children[node]:
            show(child, rows)

    cost(0)
    show(0, np.ones(len(bits), dtype=bool))
    return mended


#: Ways to cross trees.
CROSSOVERS: dict[str, Callable[[], Crossover]] = {
    "common boundaries": LunacekCrossover,
    "common, or whole": partial(LunacekCrossover, points="ends"),
    MENDED: MendedCrossover,
}


def summary(found: pd.DataFrame) -> pd.DataFrame:
    """Mean areas at some generations, and the first at which the end of the mended is reached."""
    means = found.groupby(["problem", "crossover", "generation"], sort=False)["area"].mean()
    rows = []
    for problem, crossover in means.index.droplevel("generation").unique():
        grown = means[problem, crossover]
        row = {"problem": problem, "crossover": crossover}
        row |= {f"after {each}": round(grown.get(each), 3) for each in LOOKS if each in grown}
        enough = grown[grown >= means[problem, MENDED].iloc[-1]].index
        rows.append(row | {"as good as mended": enough.min() if len(enough) else None})
    return pd.DataFrame(rows).astype({"as good as mended": "Int64"})


def draw(found: pd.DataFrame) -> Figure:
    """The area by generation, for each problem: the mean of all seeds and their range."""
    figure = new_figure(PAGE, 3.0)
    plots = figure.subplots(1, found["problem"].nunique(), squeeze=False)[0]
    for ax, (problem, runs) in zip(plots, found.groupby("problem", sort=False), strict=True):
        dress(ax)
        title(ax, [str(problem)], columns=len(plots))
        for number, (name, of_kind) in enumerate(runs.groupby("crossover", sort=False)):
            spread = of_kind.groupby("generation")["area"].agg(["mean", "min", "max"])
            look = {"color": COLOURS[number]}
            ax.plot(spread.index, spread["mean"], label=name, linewidth=1.3, **look)
            ax.fill_between(spread.index, spread["min"], spread["max"], alpha=0.15, lw=0, **look)
        write_text(ax.set_xlabel("generation"), LABEL)
    write_text(plots[0].set_ylabel("area under the front"), LABEL)
    handles, labels = plots[0].get_legend_handles_labels()
    look = {"ncols": 3, "frameon": False, "fontsize": SMALL}
    figure.legend(handles, labels, loc="outside upper center", **look)
    return figure


if __name__ == "__main__":
    main()
