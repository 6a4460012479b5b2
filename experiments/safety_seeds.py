"""Problem 4 of the multi-objective paper from five initial populations: its figures 10 and 11.

D (Dewri et al.) reports one run. Its pairs (k, l) and which of its two definitions of l they stand
for should not hang on a seed, so this runs both readings and both preferences with five seeds, and
compares what the paper's rule aims at with every pair that D reports:

    python experiments/safety_seeds.py            some ten minutes
    python experiments/safety_seeds.py --quick    two seeds, a few generations
    python experiments/safety_seeds.py --reading frequency --seed 3    others stay as they are

writes to ``results/safety_seeds``

- ``pairs.csv``: for every run the largest k for each l, within each loss that D limits;
- ``published.csv``: every pair that D reports, and what each seed has instead;
- ``figure10.png``, ``figure11.png``: the largest k for each l, from ``pairs.csv``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import moanon
from moanon import Config, Front
from moanon.output.figure_files import write_figures
from moanon.output.figure_style import (
    COLOURS,
    INK,
    LABEL,
    PAGE,
    SMALL,
    dress,
    limit_text,
    new_figure,
    title,
    write,
)

REPOSITORY = Path(__file__).parents[1]
CONFIGS = REPOSITORY / "configs" / "adult"
#: How a group's diversity is counted, and what that adds to the names of configurations.
READINGS = {"distinct": "", "frequency": "-frequency"}
WORDS = {"distinct": "ℓ counts values", "frequency": "ℓ by the most frequent value"}
SEEDS = range(1, 6)
#: What D reports of runs that prefer l: k, l and the loss they are within. Figure 11 names (17, 5)
#: without saying in which of its two plots; it is read as what (20, 5) then betters.
PUBLISHED = ((15, 7, 0.3), (20, 4, 0.2), (17, 5, 0.2), (20, 5, 0.21), (22, 3, 0.21), (18, 6, 0.21))
LOSSES = (0.2, 0.21, 0.3)
QUICK = {"population": 40, "generations": 4}
MARKS = ("o", "s", "^", "D", "v")
TICKS = (5, 10, 20, 50, 100, 200, 500, 1000)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, compare, draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="does everything work?")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "results" / "safety_seeds")
    parser.add_argument("--reading", choices=READINGS, action="append", help="default: both")
    parser.add_argument("--seed", type=int, choices=SEEDS, action="append", help="default: all")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    seeds = options.seed or (SEEDS[:2] if options.quick else SEEDS)
    pairs = pd.DataFrame(list(all_pairs(options.reading or READINGS, seeds, quick=options.quick)))
    if (path := options.out / "pairs.csv").exists():
        pairs = together(pd.read_csv(path), pairs)
    for name, table in (("pairs", pairs), ("published", beside_published(pairs))):
        table.to_csv(options.out / f"{name}.csv", index=False, lineterminator="\n")
    figures = {
        "figure10": partial(draw, pairs, [("k", 0.3), ("l", 0.3)]),
        "figure11": partial(draw, pairs, [("l", 0.2), ("l", 0.21)]),
    }
    write_figures(figures, options.out, ["png"])


def all_pairs(
    readings: Iterable[str], seeds: Iterable[int], *, quick: bool
) -> Iterator[dict[str, Any]]:
    """Run some of it; for each run, loss and l the largest k that the rule aims at."""
    for reading, preferred, seed in product(readings, "kl", seeds):
        front = run(f"problem4-{preferred}{READINGS[reading]}", seed, quick=quick)
        print(f"{reading}, {preferred} preferred, seed {seed}: {len(front)}", flush=True)
        about = {"reading": reading, "preferred": preferred, "seed": seed}
        for loss in LOSSES:
            for ell, k in largest(front, loss):
                yield {**about, "loss": loss, "l": ell, "k": k}


def together(earlier: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """New runs, and those of an earlier table that were not made again."""
    about = ["reading", "preferred", "seed"]
    again = earlier.set_index(about).index.isin(new.set_index(about).index)
    return pd.concat([earlier[~again], new]).sort_values([*about, "loss", "l"], ignore_index=True)


def run(name: str, seed: int, *, quick: bool) -> Front:
    """The front of a configuration, from one initial population."""
    given = Config.load(CONFIGS / f"{name}.yaml").model_dump(mode="json", exclude_none=True)
    given["search"] |= {"seed": seed, **(QUICK if quick else {})}
    return moanon.optimize(Config.from_dict(given), progress=False)


def largest(front: Front, max_loss: float) -> Iterator[tuple[int, int]]:
    """The largest k that is aimed at together with at least each l, within a loss."""
    within = front.measures["loss"] <= max_loss
    k, ell = front.measures["d1"][within], front.measures["d2"][within]
    for least in range(1, int(ell.max(initial=0)) + 1):
        yield least, int(k[ell >= least].max())


def beside_published(pairs: pd.DataFrame) -> pd.DataFrame:
    """Every pair that D reports, and k of each seed under the same limits; then the largest l."""
    rows = []
    for (reading, preferred), runs in pairs.groupby(["reading", "preferred"], sort=False):
        about = {"reading": reading, "preferred": preferred}
        for k, ell, loss in PUBLISHED:
            row = {**about, "what": f"k with l >= {ell}", "loss": loss, "published": k}
            found = runs[(runs.loss == loss) & (runs.l == ell)]
            rows.append(row | _by_seed(found, "k", runs))
        (k, ell, loss) = PUBLISHED[0]
        for least, words in ((1, "largest l"), (k, f"largest l with k >= {k}")):
            found = runs[(runs.loss == loss) & (runs.k >= least)]
            row = {**about, "what": words, "loss": loss, "published": ell}
            rows.append(row | _by_seed(found, "l", runs))
    return pd.DataFrame(rows)


def _by_seed(found: pd.DataFrame, column: str, runs: pd.DataFrame) -> dict[str, int]:
    """The largest value of each seed; 0 where it has none."""
    most = found.groupby("seed")[column].max()
    return {f"seed {seed}": int(most.get(seed, 0)) for seed in runs.seed.unique()}


def draw(pairs: pd.DataFrame, columns: Sequence[tuple[str, float]]) -> Figure:
    """The largest k for each l of every seed, a row for each reading; crosses are D's."""
    figure = new_figure(PAGE, 5.2)
    drawn = pd.DataFrame(columns, columns=["preferred", "loss"])
    most = pairs.merge(drawn)["k"].max()
    plots = figure.subplots(len(READINGS), len(columns), sharey=True, squeeze=False)
    for (row, reading), (column, (preferred, loss)) in product(
        enumerate(READINGS), enumerate(columns)
    ):
        ax = plots[row][column]
        dress(ax)
        called = f"{'ℓ' if preferred == 'l' else 'k'} preferred"
        title(ax, (WORDS[reading], called, limit_text("loss", loss)), columns=len(columns))
        chosen = (pairs.reading == reading) & (pairs.preferred == preferred) & (pairs.loss == loss)
        for number, (seed, found) in enumerate(pairs[chosen].groupby("seed")):
            look = {"marker": MARKS[number], "color": COLOURS[number], "markersize": 3.5}
            ax.plot(found.l, found.k, label=f"seed {seed}", linewidth=0.8, **look)
        reported = [(ell, k) for k, ell, limit in PUBLISHED if (preferred, loss) == ("l", limit)]
        look = {"color": INK, "markersize": 6, "markeredgewidth": 1.5, "zorder": 6}
        ax.plot(*np.reshape(reported, (-1, 2)).T, "x", label="reported by D", **look)
        ax.set_yscale("log")
        ax.set_yticks(TICKS, [f"{each:,}" for each in TICKS])
        ax.set_yticks([], minor=True)
        ax.set_ylim(5, 1.4 * most)
        ax.set_xticks(range(1, 15))
        ax.set_xlim(0.5, 14.5)
        if row == len(READINGS) - 1:
            write(ax.set_xlabel("ℓ that the rule aims at, at least"), LABEL)
        if not column:
            write(ax.set_ylabel("largest k that it aims at"), LABEL)
    handles, labels = plots[0][0].get_legend_handles_labels()
    look = {"ncols": len(labels), "frameon": False, "fontsize": SMALL}
    figure.legend(handles, labels, loc="outside upper center", **look)
    return figure


if __name__ == "__main__":
    main()
