"""Does it matter how NSGA-II is set? The multi-objective paper says no; this tries.

D (Dewri et al., §7) says that the parameters of NSGA-II have no significant effect on the quality
of its solutions. On problems 1 and 2 of Adult, five seeds each, one parameter at a time is set to
another value than the configurations have, which ship the paper's; evaluations stay the same:

    python experiments/search_parameters.py            some five minutes of CPU time
    python experiments/search_parameters.py --quick    two seeds, few evaluations
    python experiments/search_parameters.py --problem problem1 --seed 3    the others stay

writes to ``results/search_claims``

- ``parameters.csv``: the area under each front (as in ``search_quality.csv``) and what it has
  within the loss of D's questions;
- ``parameters_summary.csv``: the mean and the range over seeds, and whether the range lies apart
  from that of the paper's settings.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from search_quality import area

import moanon
from moanon import Config, Front

REPOSITORY = Path(__file__).parents[1]
#: Problems, with what protects and the loss of D's questions about them.
PROBLEMS = {"problem1": ("weighted_k", 0.22), "problem2": ("k", 0.25)}
#: Other values of each parameter; those of the paper are in the configurations.
PARAMETERS: dict[str, tuple[float, ...]] = {
    "population": (100, 400),
    "crossover": (0.5, 1.0),
    "mutation": (0.01, 0.3),
}
EVALUATIONS = 50_000
SEEDS = range(1, 6)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, and write tables."""
    options = read_options(arguments, __doc__, "two seeds, few evaluations")
    write_tables(options.out, "parameters", pd.DataFrame(list(runs(options))), summary)


def read_options(
    arguments: Sequence[str] | None, about: str | None, quick: str
) -> argparse.Namespace:
    """Problems, seeds and a folder of an experiment about a claim."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--problem", choices=PROBLEMS, action="append", help="default: both")
    parser.add_argument("--seed", type=int, choices=SEEDS, action="append", help="default: all")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "results" / "search_claims")
    options = parser.parse_args(arguments)
    options.problem = options.problem or [*PROBLEMS]
    options.seed = options.seed or (SEEDS[:2] if options.quick else SEEDS)
    return options


def write_tables(
    folder: Path, name: str, found: pd.DataFrame, sum_up: Callable[[pd.DataFrame], pd.DataFrame]
) -> pd.DataFrame:
    """Write rows and their summary, with those of earlier problems and seeds not run again."""
    folder.mkdir(parents=True, exist_ok=True)
    path, keys = folder / f"{name}.csv", ["problem", "seed"]
    if path.exists():
        earlier = pd.read_csv(path)
        again = earlier.set_index(keys).index.isin(found.set_index(keys).index)
        found = pd.concat([earlier[~again], found], ignore_index=True)
    for title, table in ((name, found), (f"{name}_summary", sum_up(found))):
        table.to_csv(folder / f"{title}.csv", index=False, lineterminator="\n")
    return found


def runs(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Run what is asked for, and describe each front."""
    evaluations = 2_000 if options.quick else EVALUATIONS
    for problem in options.problem:
        for (parameter, value), seed in product(list(settings(problem)), options.seed):
            front = search(problem, {parameter: value}, seed, evaluations)
            row = {"problem": problem, "parameter": parameter, "value": value, "seed": seed}
            row |= described(front, problem)
            print(*row.values(), sep=", ", flush=True)
            yield row


def settings(problem: str) -> Iterator[tuple[str, float]]:
    """Parameters and the values they get: the paper's first, then the others."""
    shipped = Config.load(REPOSITORY / "configs" / "adult" / f"{problem}.yaml").search
    yield "population", shipped.population
    for parameter, values in PARAMETERS.items():
        yield from product([parameter], values)


def search(problem: str, changed: Mapping[str, float], seed: int, evaluations: int) -> Front:
    """The front that the paper's search finds, with some settings changed."""
    path = REPOSITORY / "configs" / "adult" / f"{problem}.yaml"
    given = Config.load(path).model_dump(mode="json", exclude_none=True)
    del given["search"]["generations"]
    given["search"] |= {**changed, "seed": seed, "evaluations": evaluations}
    return moanon.optimize(Config.from_dict(given), progress=False)


def described(front: Front, problem: str) -> dict[str, float]:
    """The area under a front, and the most privacy within the loss of D's question."""
    privacy, limit = PROBLEMS[problem]
    within = front.measures[privacy][front.measures["loss"] <= limit]
    reached = float(within.max()) if len(within) else float("nan")
    return {
        "area": round(area(front.measures[privacy].astype(float), front.measures["loss"]), 4),
        "reached": round(reached, 1),
    }


def summary(found: pd.DataFrame) -> pd.DataFrame:
    """Mean and range of each setting over seeds, and whether the range misses the paper's."""
    rows = []
    for problem, of_problem in found.groupby("problem", sort=False):
        groups = of_problem.groupby(["parameter", "value"], sort=False)
        usual = next(iter(groups))[1]  # the paper's settings come first
        for (parameter, value), runs in groups:
            row = {"problem": problem, "parameter": parameter, "value": value}
            for name in ("area", "reached"):
                values = runs[name]
                row[name] = round(values.mean(), 3)
                row[f"{name}_least"], row[f"{name}_largest"] = values.min(), values.max()
                apart = values.min() > usual[name].max() or values.max() < usual[name].min()
                row[f"{name}_apart"] = apart
            rows.append(row)
    return pd.DataFrame(rows)


if __name__ == "__main__":
    main()
