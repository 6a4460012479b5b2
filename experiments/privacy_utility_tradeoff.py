"""Privacy loss against utility loss on Adult: figures 2a-3c of L (Li and Li), and our own fronts.

The table, its trees and the steps of age are those of ``configs/adult/tradeoff.yaml``: 45,222 rows,
six quasi-identifiers, occupation sensitive. Mondrian, as published, is run under the four privacy
models with the grids of L; δ in both readings: a value that a group lacks makes it infinite, or is
passed over. Which of several equally wide columns Mondrian cuts first is open in L, and with few
groups it decides: the spread over all orders is shown for k = 5000, also of ``mondrian-below``.

    python experiments/privacy_utility_tradeoff.py            some ten minutes
    python experiments/privacy_utility_tradeoff.py --quick    few grid points, orders and steps
    python experiments/privacy_utility_tradeoff.py --part queries    one part; the others stay

writes to ``results/privacy_utility_tradeoff``

- ``releases.csv``: every model, parameter and method: p_loss, u_loss, query_error, groups;
- ``ties.csv``: p_loss and u_loss of both Mondrians at k = 5000 for every order of ties;
- ``queries.csv``: query_error by selectivity and by dimension, in both readings of selectivity:
  the mean of ten times 1,000 queries, the least and the largest of them;
- ``fronts.csv``: our global and local fronts, ``dominance.csv``: for each release of Mondrian the
  least u_loss and the least query_error of ours that give away no more;
- ``orders.csv``: the models by u_loss (figure 2a) and by query_error (figure 3a), at some limits of
  privacy loss; ``claims.csv``: what L says of its figures, and what these tables say;
- ``timings.csv``: CPU seconds of mining, of the slowest release, and of a front of 200 with
  bucketized twins and 1,000 queries;
- ``figure2a.png`` … ``figure3c.png``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

import moanon
from moanon import Config, Grouping, Instance
from moanon.baselines import find_baseline
from moanon.frontier import CountQueries, Frontier, place_releases
from moanon.measures.loss import utility_losses
from moanon.output.figure_files import write_figures
from moanon.output.figure_style import COLOURS, GREY, LABEL, SMALL, dress, new_axes, write

REPOSITORY = Path(__file__).parents[1]
CONFIG = REPOSITORY / "configs" / "adult" / "tradeoff.yaml"
GRIDS: dict[str, tuple[float, ...]] = {
    "k": (10, 50, 100, 200, 500, 1000, 2000, 5000),
    "l": (3, 3.5, 4, 4.25, 4.5, 4.75, 5, 5.5),
    "t": (0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4),
    "delta": (1, 1.2, 1.4, 1.5, 1.7, 1.9, 2, 2.1),
    "delta_present": (1, 1.2, 1.4, 1.5, 1.7, 1.9, 2, 2.1),
}
WORDS = {
    "k": "k-anonymity",
    "l": "ℓ-diversity",
    "t": "t-closeness",
    "delta": "δ, missing values infinite",
    "delta_present": "δ, missing values passed over",
    "global": "our global front",
    "local": "our local front",
}
MARKS = dict(zip(WORDS, "osD^vPX", strict=True))
#: How much our fronts may cost: targets of local recodings, which are tried all over the range of
#: privacy loss one after another, and generalizations of the whole table.
EVALUATIONS = {"local": 20, "global": 2000}
#: Seeds that queries are drawn with, one after another.
DRAWS = 10
SELECTIVITIES, DIMENSIONS = (0.01, 0.03, 0.05, 0.1), (2, 3, 4, 5)
#: What is computed, each for itself; figures are drawn of all.
PARTS = ("releases", "ties", "queries", "fronts", "timings")
#: Of privacy loss, at which the models are put in order.
LIMITS = (0.1, 0.2, 0.3, 0.4, 0.5)
#: Columns of ``dominance.csv``, and what our fronts then do to a release.
DOMINATED = {
    "global_dominates": "global front betters by u_loss",
    "local_dominates": "local front betters by u_loss",
    "local_answers": "local front betters by query_error",
    "local_both": "local front betters by both with one solution",
    "local_first": "local front betters by both with the solution of least u_loss",
}
QUERY_ERROR = "mean relative error of COUNT queries"


def mondrian(
    instance: Instance,
    model: str,
    bound: float,
    ties: Sequence[str] = (),
    algorithm: str = "mondrian",
) -> Grouping:
    """Mondrian under one of the privacy models."""
    demand = {"l": ("alpha", 1 / bound), "t": ("t_js", bound)}.get(model, (model, bound))
    settings: dict[str, Any] = {} if model == "k" else {"demands": [demand]}
    least = int(bound) if model == "k" else 1
    found = find_baseline(algorithm).run(instance, least, ties=ties, **settings)
    return found.grouping(instance)


def releases(instance: Instance, grids: dict[str, tuple[float, ...]], seed: int) -> pd.DataFrame:
    """All releases of Mondrian, generalized and bucketized."""
    named = {
        f"{model}:{bound}": mondrian(instance, model, bound)
        for model, bounds in grids.items()
        for bound in bounds
    }
    found = place_releases(named, bucketize=True, queries=1000, seed=seed)
    print(
        f"{found.populations} populations; without any quasi-identifier u_loss {found.no_quasi:.4f}"
    )
    return split_names(found)


def split_names(found: Frontier) -> pd.DataFrame:
    """The releases of a frontier, with model and parameter in columns of their own."""
    table = found.to_frame().drop(columns="efficient")
    parts = table.pop("name").str.split(":", expand=True)
    table.insert(0, "model", parts[0])
    table.insert(1, "parameter", parts[1].astype(float))
    return table


def tie_orders(instance: Instance, number: int | None) -> pd.DataFrame:
    """Both Mondrians at k = 5000 for all orders of ties, or the first so many."""
    orders = list(permutations(instance.layout.columns))[:number]
    tables = []
    for algorithm in ("mondrian", "mondrian-below"):
        named = {
            ",".join(order): mondrian(instance, "k", 5000, order, algorithm) for order in orders
        }
        found = place_releases(named).to_frame()[["name", "p_loss", "u_loss", "groups"]]
        tables.append(found.assign(algorithm=algorithm))
    return pd.concat(tables, ignore_index=True)


def query_errors(instance: Instance, bounds: Sequence[float], draws: int) -> pd.DataFrame:
    """Errors of bucketized t-closeness by selectivity and by dimension, in both readings."""
    groupings = {bound: mondrian(instance, "t", bound) for bound in bounds}
    cases = [(selectivity, 4) for selectivity in SELECTIVITIES]
    cases += [(0.05, dimensions) for dimensions in DIMENSIONS if dimensions != 4]
    rows = []
    for reading, (selectivity, dimensions) in product(("whole", "column"), cases):
        key = {"reading": reading, "selectivity": selectivity, "dimensions": dimensions}
        for seed in range(1, draws + 1):
            asked = CountQueries.draw(
                instance,
                "occupation",
                dimensions=dimensions,
                selectivity=selectivity,
                reading=reading,
                seed=seed,
            )
            for bound, grouping in groupings.items():
                error = asked.error(grouping, bucketized=True)
                rows.append({**key, "t": bound, "query_error": error})
    by = ["reading", "selectivity", "dimensions", "t"]
    drawn = pd.DataFrame(rows).groupby(by, sort=False).query_error
    return drawn.agg(query_error="mean", least="min", largest="max").reset_index()


def own_fronts(instance: Instance, evaluations: dict[str, int], seed: int) -> pd.DataFrame:
    """Our fronts between privacy loss and utility loss, local and global."""
    tables = []
    for recoding, number in evaluations.items():
        tables.append(own_front(instance, recoding, number, seed))
    return pd.concat(tables, ignore_index=True)


def own_front(instance: Instance, recoding: str, evaluations: int, seed: int) -> pd.DataFrame:
    """One of them, generalized and bucketized."""
    config, started = Config.load(CONFIG), time.process_time()
    problem = config.problem.model_dump(exclude_none=True) | {"recoding": recoding}
    columns = {name: c.model_dump(exclude_none=True) for name, c in config.columns.items()}
    front = moanon.optimize(
        config.data.source,
        columns,
        problem=problem,
        search={"seed": seed, "evaluations": evaluations},
        progress=False,
    )
    print(f"{recoding} front: {len(front)} solutions, {time.process_time() - started:.0f} CPU s")
    started = time.process_time()
    named = {f"{recoding}:{number}": front.grouping(number) for number in front.ids.tolist()}
    found = split_names(place_releases(named, bucketize=True, queries=1000, seed=seed))
    print(f"  placed in {time.process_time() - started:.1f} CPU s")
    return found


def timings(instance: Instance) -> pd.DataFrame:
    """CPU seconds of mining, of one release and of a front, all on one thread, kernels loaded."""
    config = Config.load(CONFIG)
    columns = {name: c.model_dump(exclude_none=True) for name, c in config.columns.items()}
    problem = {"preset": "zero-suppression", "objectives": ["k", "loss"], "recoding": "local"}
    front = moanon.optimize(config.data.source, columns, problem=problem, progress=False)
    named = {str(number): front.grouping(number) for number in front.ids[:200].tolist()}
    settings: dict[str, Any] = {"bucketize": True, "queries": 1000, "ancestors": config.ancestors}
    place_releases(dict(list(named.items())[:1]), **settings)  # loads the kernels
    again = replace(instance, subpopulation_spec=instance.subpopulation_spec)
    rows = [("mining", 0, cpu_seconds(lambda: again.populations))]
    for method in ("generalized", "bucketized"):
        slowest = max(
            cpu_seconds(partial(utility_losses, each, bucketized=method == "bucketized"))
            for each in (replace(grouping, instance=instance) for grouping in named.values())
        )
        rows.append((f"u_loss, {method}, the slowest", 1, slowest))
    whole = cpu_seconds(partial(place_releases, named, **settings))
    rows.append(("front with twins and queries", len(named), whole))
    return pd.DataFrame(rows, columns=["what", "solutions", "cpu_seconds"]).round(3)


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time that something takes."""
    started = time.process_time()
    work()
    return time.process_time() - started


def dominance(table: pd.DataFrame, fronts: pd.DataFrame) -> pd.DataFrame:
    """For each release of Mondrian, the least that ours lose which give away no more.

    ``_dominates`` is by u_loss, ``_answers`` by query_error, ``_both`` asks for one solution that
    is no worse in either, and ``_first`` whether the one of least u_loss is.
    """
    rows = []
    for each in table[table.method == "generalized"].itertuples():
        row = {"model": each.model, "parameter": each.parameter, "p_loss": each.p_loss}
        row |= {"u_loss": each.u_loss, "query_error": each.query_error}
        for name in ("global", "local"):
            ours = fronts[(fronts.model == name) & (fronts.method == "generalized")]
            ours = ours[ours.p_loss <= each.p_loss]
            row |= {name: ours.u_loss.min(), f"{name}_query_error": ours.query_error.min()}
            row[f"{name}_dominates"] = row[name] <= each.u_loss
        row["local_answers"] = row["local_query_error"] <= each.query_error
        both = (ours.u_loss <= each.u_loss) & (ours.query_error <= each.query_error)
        row["local_both"] = bool(both.any())
        row["local_first"] = bool(both[ours.u_loss.idxmin()])
        rows.append(row)
    return pd.DataFrame(rows)


def orders(table: pd.DataFrame) -> pd.DataFrame:
    """The models from the least cost on, of releases within a limit of privacy loss."""
    rows = []
    generalized = table[table.method == "generalized"]
    for limit, cost in product(LIMITS, ("u_loss", "query_error")):
        within = generalized[generalized.p_loss <= limit]
        least = within.groupby("model", sort=False)[cost].min().sort_values()
        row = {"p_loss at most": limit, "cost": cost, "order": " < ".join(least.index)}
        rows.append(row | {model: least.get(model) for model in GRIDS})
    return pd.DataFrame(rows)


def claims(
    table: pd.DataFrame, ties: pd.DataFrame, errors: pd.DataFrame, compared: pd.DataFrame
) -> pd.DataFrame:
    """What L says of its figures, and what our tables say."""
    high = table[(table.method == "generalized") & (table.u_loss >= 0.04)]
    passed = [f"{each.model}:{each.parameter:g} {each.u_loss:.4f}" for each in high.itertuples()]
    wide = table.pivot(index=["model", "parameter"], columns="method", values="u_loss")
    worse = wide[wide.bucketized > wide.generalized].index
    rows = {
        "5.1: U_loss is below .04 everywhere; generalized, not at": ", ".join(passed),
        "Fig. 2b: buckets lose less than blocks; not at": ", ".join(f"{m}:{x:g}" for m, x in worse),
    }
    for name, losses in ties.groupby("algorithm", sort=False)[["p_loss", "u_loss"]]:
        (p, u), (most_p, most_u) = losses.min(), losses.max()
        spread = f"P {p:.3f} to {most_p:.3f}, U {u:.4f} to {most_u:.4f}"
        rows[f"5.1: k = 5000 has P .086 and U .0288; {name}, all orders of ties"] = spread
    fixed = {"selectivity": errors.dimensions == 4, "dimensions": errors.selectivity == 0.05}
    for figure, (key, chosen) in zip("bc", fixed.items(), strict=True):
        for reading, found in errors[chosen].groupby("reading", sort=False):
            means = found.groupby(key).query_error.mean()
            numbers = ", ".join(f"{value:g}: {100 * mean:.1f} %" for value, mean in means.items())
            rows[f"Fig. 3{figure}: the error falls with {key}; share of the {reading}"] = numbers
    for column, words in DOMINATED.items():
        number = f"{compared[column].sum()} of {len(compared)}"
        rows[f"releases of Mondrian that our {words}"] = number
    return pd.DataFrame(rows.items(), columns=["claim", "ours"])


# -- figures -------------------------------------------------------------------------------------


def _line(ax: Axes, points: pd.DataFrame, cost: str, name: str, place: int, **style: Any) -> None:
    points = points.sort_values("p_loss")
    colour = COLOURS[place % len(COLOURS)]
    style = {"color": colour, "markersize": 3.4, "linewidth": 1.0, "label": name} | style
    ax.plot(points.p_loss, points[cost], **style)


def _finish(ax: Axes, words: str, *, log: bool = False) -> Axes:
    if log:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
    else:
        ax.set_ylim(bottom=0)
    dress(ax)
    write(ax.set_xlabel("privacy loss (nats)"), LABEL)
    write(ax.set_ylabel(words), LABEL)
    ax.legend(frameon=False, fontsize=SMALL, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def models(table: pd.DataFrame, fronts: pd.DataFrame, ties: pd.DataFrame | None, cost: str) -> Axes:
    """Figures 2a and 3a: all models, generalized, and our fronts."""
    ax = new_axes(5.6, 3.9)
    both = pd.concat([table, fronts])
    both = both[both.method == "generalized"]
    for place, (name, words) in enumerate(WORDS.items()):
        points = both[both.model == name]
        if not len(points):
            continue
        own = name in ("global", "local")
        style: dict[str, Any] = {"marker": MARKS[name]}
        if own:
            style |= {"marker": "", "linewidth": 1.6, "linestyle": "-" if name == "local" else ":"}
            points = points[points.p_loss <= table.p_loss.max()]
        _line(ax, points, cost, words, place, **(style | ({"color": "#222222"} if own else {})))
    if ties is not None:
        low, high = ties[["p_loss", "u_loss"]].min(), ties[["p_loss", "u_loss"]].max()
        ax.fill_between(
            [low.p_loss, high.p_loss],
            low.u_loss,
            high.u_loss,
            color=GREY,
            alpha=0.18,
            linewidth=0,
            label="k = 5000, all orders of ties",
        )
    if cost == "query_error":
        return _finish(ax, QUERY_ERROR, log=True)
    return _finish(ax, "utility loss (nats)")


def methods(table: pd.DataFrame) -> Axes:
    """Figure 2b: generalization against bucketization."""
    ax = new_axes(5.0, 3.4)
    for place, name in enumerate(("l", "t")):
        for method, dash in (("generalized", "-"), ("bucketized", "--")):
            points = table[(table.model == name) & (table.method == method)]
            words = f"{WORDS[name]}, {method}"
            _line(ax, points, "u_loss", words, place, marker=MARKS[name], linestyle=dash)
    return _finish(ax, "utility loss (nats)")


def by_query(table: pd.DataFrame, errors: pd.DataFrame, key: str) -> Axes:
    """Figures 3b and 3c: errors of bucketized t-closeness by selectivity or dimension."""
    ax = new_axes(5.6, 3.9)
    p_loss = table[(table.model == "t") & (table.method == "bucketized")]
    p_loss = p_loss.set_index("parameter").p_loss
    fixed = {"selectivity": ("dimensions", 4), "dimensions": ("selectivity", 0.05)}[key]
    chosen = errors[errors[fixed[0]] == fixed[1]]
    chosen = chosen.assign(p_loss=chosen.t.map(p_loss)).sort_values("p_loss")
    words = {"selectivity": "selectivity {:g}", "dimensions": "{:g} quasi-identifiers"}[key]
    for place, (value, points) in enumerate(chosen.groupby(key)):
        of_whole = points[points.reading == "whole"]
        of_column = points[points.reading == "column"]
        _line(ax, of_whole, "query_error", words.format(value), place, marker=".")
        colour = COLOURS[place % len(COLOURS)]
        for each in (of_whole, of_column):
            shade = {"color": colour, "alpha": 0.15, "linewidth": 0}
            ax.fill_between(each.p_loss, each.least, each.largest, **shade)
        _line(ax, of_column, "query_error", "", place, marker=".", linestyle=":")
    ax.plot([], [], color=GREY, linestyle="-", linewidth=1.0, label="share of the whole space")
    ax.plot([], [], color=GREY, linestyle=":", linewidth=1.0, label="share of each column")
    return _finish(ax, QUERY_ERROR, log=True)


def compute(part: str, instance: Instance, quick: bool, seed: int) -> pd.DataFrame:
    """The table of one part."""
    grids = {name: bounds[::4] if quick else bounds for name, bounds in GRIDS.items()}
    if part == "releases":
        return releases(instance, grids, seed)
    if part == "ties":
        return tie_orders(instance, 5 if quick else None)
    if part == "queries":
        return query_errors(instance, grids["t"], 2 if quick else DRAWS)
    if part == "timings":
        return timings(instance)
    fewer = {name: number // 5 if quick else number for name, number in EVALUATIONS.items()}
    return own_fronts(instance, fewer, seed)


def draw_figures(out: Path) -> None:
    """Draw all figures from the tables that were written, and see what our fronts dominate."""
    names = ("releases", "ties", "queries", "fronts")
    table, ties, errors, fronts = (pd.read_csv(out / f"{name}.csv") for name in names)
    compared = dominance(table, fronts)
    save(compared, out / "dominance.csv")
    save(orders(table), out / "orders.csv")
    found = claims(table, ties, errors, compared)
    save(found, out / "claims.csv")
    print(*(f"{claim}: {ours}" for claim, ours in found.to_numpy()), sep="\n")
    figures = {
        "figure2a": partial(models, table, fronts, ties[ties.algorithm == "mondrian"], "u_loss"),
        "figure2b": partial(methods, table),
        "figure3a": partial(models, table, fronts, None, "query_error"),
        "figure3b": partial(by_query, table, errors, "selectivity"),
        "figure3c": partial(by_query, table, errors, "dimensions"),
    }
    write_figures(figures, out, formats=("png",))


def save(table: pd.DataFrame, path: Path) -> None:
    """Write a table."""
    table.to_csv(path, index=False, lineterminator="\n", float_format="%.6g")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all parts, or one, and write tables and figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="does everything work?")
    parser.add_argument("--part", choices=PARTS, help="this one alone, and figures of all")
    parser.add_argument("--seed", type=int, default=1)
    default = REPOSITORY / "results" / "privacy_utility_tradeoff"
    parser.add_argument("--out", type=Path, default=default)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    instance = Config.load(CONFIG).instance()
    for part in [options.part] if options.part else PARTS:
        table = compute(part, instance, options.quick, options.seed)
        save(table, options.out / f"{part}.csv")
    if options.part != "timings":
        draw_figures(options.out)


if __name__ == "__main__":
    main()
