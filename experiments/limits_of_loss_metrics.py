"""What releases still teach, and whether losses tell: the study of M (Marchand) and more.

The paper's question on its own data, Default of Credit Card Clients with five quasi-identifiers as
integers, and then the same of our fronts there and on Adult (salary class):

    python experiments/limits_of_loss_metrics.py            half an hour of CPU time
    python experiments/limits_of_loss_metrics.py --quick    one repeat of little: does all work?
    python experiments/limits_of_loss_metrics.py --part fronts --table adult --models boosting
    python experiments/limits_of_loss_metrics.py --part figures    figures alone, from the tables

A part, a table, a protocol or some models replace their own rows of the tables that are there. It
writes to ``results/limits_of_loss_metrics``

- ``mondrian.csv``: M's protocol (``released``) and ours (``raw``) for Mondrian as M has it, on
  credit default, k = 2 … 10; ``mondrian_releases.csv``: the measures of what was learned from;
  ``mondrian_measures.csv``: those of the original, of these releases and of ``mondrian-below``;
  ``figure8.png`` (measures by k), ``figure9.png`` (scores by k), ``figure10.png`` (scores against
  measures);
- ``fronts.csv``, ``fronts_releases.csv``, ``fronts_MODEL.png``: at equal k, ``mondrian-below`` (the
  Mondrian that loses less), our local and our global recodings of least loss, and global ones of
  least ``entropy_loss`` and ``cm`` instead;
- ``objectives.csv``, ``objectives_releases.csv``: the last three of searches with other seeds;
  ``objectives_gains.csv``, ``objectives.png``: by how much the last two costs teach better than the
  front of loss at the same k, seed and split;
- ``mondrian_metrics.csv``, ``fronts_metrics.csv``, ``objectives_metrics.csv``: correlations of
  every loss with the drop; ``metrics_TABLE.png``: those of fronts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from moanon import (
    Config,
    Front,
    Grouping,
    Instance,
    IntervalSpec,
    datasets,
    read_table,
)
from moanon.baselines import find_baseline
from moanon.config import SearchSection
from moanon.learning import Study
from moanon.learning.lessons import Target
from moanon.learning.study import Key, Record, StudyOutcome, which_tell
from moanon.measures.evaluate import measure_grouping
from moanon.measures.suppression import Suppression
from moanon.output.figure_files import write_figures
from moanon.output.figure_style import (
    COLOURS,
    GREY,
    INK,
    LABEL,
    PAGE,
    SMALL,
    dress,
    new_figure,
    scale_numbers,
    title,
)
from moanon.output.figure_style import write as write_text
from moanon.output.studies import plot_telling
from moanon.recoding import LocalRecodings
from moanon.release.solution import Anonymization
from moanon.search.algorithms import Stop, make_search
from moanon.search.archive import front_of
from moanon.search.box_solving import solve_target
from moanon.search.problem import AnonymizationProblem
from moanon.search.running import run_search

REPOSITORY = Path(__file__).parents[1]
CREDIT = ("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE")
PROTOCOLS = ("released", "raw")
MODELS = ("logistic", "forest", "boosting")
#: M's k, and those at which fronts are compared.
KS, FRONT_KS = tuple(range(2, 11)), (5, 20, 100, 500)
ETA, SHARE, SEED = 0.1, 0.1, 1
#: Of searches; the fronts are of the first.
SEARCH_SEEDS = (1, 2, 3)
#: What global searches go for besides k.
COSTS = ("loss", "entropy_loss", "cm")
#: Of the searches for global fronts.
EVALUATIONS = 10_000
#: What M draws of its releases (its H, NCP, DM, CM and the number of classes).
MEASURES = ("conditional_entropy", "ncp", "dm", "cm", "groups")
#: Mondrian as in M and LeFevre, and the variant that also cuts below a median.
MONDRIANS = {"mondrian": "as published", "mondrian-below": "also below the median"}
MARKS = ("o", "s", "^", "D", "v")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write tables and figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one repeat, few k, one model")
    parser.add_argument("--part", choices=("all", *PARTS, "figures"), default="all")
    parser.add_argument("--table", choices=TABLES, action="append", help="of fronts; default: all")
    parser.add_argument("--protocol", choices=PROTOCOLS, action="append", help="of Mondrian")
    parser.add_argument("--models", help="by commas; default: all, of objectives boosting")
    parser.add_argument("--threads", type=int, default=2)
    out = REPOSITORY / "results" / "limits_of_loss_metrics"
    parser.add_argument("--out", type=Path, default=out)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    for name, run in PARTS.items():
        if options.part in ("all", name):
            run(options)
    draw_all(options.out)


def run_mondrian(options: argparse.Namespace) -> None:
    """Mondrian on credit default, as M has it and tested with raw rows."""
    instance, ks = credit(80), KS[::8] if options.quick else KS
    write_table(measured(instance, ks), options.out / "mondrian_measures.csv")
    releases = {"credit": list(mondrians("mondrian", instance, ks))}
    write_tables(
        studied(releases, options, MODELS, options.protocol or PROTOCOLS), options, "mondrian"
    )


def run_fronts(options: argparse.Namespace) -> None:
    """All kinds of releases at equal k."""
    releases = {}
    for name, instance in chosen_tables(options):
        ks, _ = effort(options)
        several = [*mondrians("mondrian-below", instance, ks), *boxes(instance, ks)]
        for cost in COSTS:
            several += searched(instance, cost, SEARCH_SEEDS[0], options)
        releases[name] = several
    write_tables(studied(releases, options, MODELS, ("raw",)), options, "fronts")


def run_objectives(options: argparse.Namespace) -> None:
    """Global releases of least loss, entropy and CM, each of several searches."""
    releases: dict[str, list[Anonymization]] = {}
    for name, instance in chosen_tables(options):
        for seed, cost in product(SEARCH_SEEDS[1:], COSTS):
            releases.setdefault(name, []).extend(searched(instance, cost, seed, options))
    write_tables(studied(releases, options, MODELS[-1:], ("raw",)), options, "objectives")


def chosen_tables(options: argparse.Namespace) -> Iterator[tuple[str, Instance]]:
    """Tables whose fronts are asked for."""
    for name in options.table or TABLES:
        yield name, TABLES[name]()


def effort(options: argparse.Namespace) -> tuple[tuple[int, ...], int]:
    """Values of k at which fronts are compared, and evaluations of a search."""
    return (FRONT_KS[:1], 500) if options.quick else (FRONT_KS, EVALUATIONS)


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "mondrian": run_mondrian,
    "fronts": run_fronts,
    "objectives": run_objectives,
}


def draw_all(folder: Path) -> None:
    """Draw all figures, those of studies from their tables, and compare objectives."""
    figures: dict[str, Callable[[], Figure]] = {}
    if (path := folder / "mondrian.csv").exists():
        scores = pd.read_csv(path)
        measures = pd.read_csv(folder / "mondrian_measures.csv")
        figures["figure8"] = partial(draw_measures, measures)
        figures["figure9"] = partial(draw_scores, scores)
        figures["figure10"] = partial(draw_against, scores, measures)
    if (path := folder / "fronts.csv").exists():
        for model, of_model in pd.read_csv(path).groupby("model", sort=False):
            figures[f"fronts_{model}"] = partial(draw_fronts, of_model)
        metrics = pd.read_csv(folder / "fronts_metrics.csv")
        for table, of_table in metrics.groupby("table", sort=False):
            figures[f"metrics_{table}"] = partial(plot_telling, of_table)
    if (path := folder / "objectives.csv").exists():
        both = [pd.read_csv(folder / "fronts.csv"), pd.read_csv(path)]
        scores = pd.concat(both, ignore_index=True)
        gains = better_than_loss(scores[scores["model"] == MODELS[-1]])
        write_table(gains, folder / "objectives_gains.csv")
        figures["objectives"] = partial(draw_gains, gains)
    write_figures(figures, folder, ["png"])


# -- tables and releases ---------------------------------------------------------------------------


def credit(step: int) -> Instance:
    """Credit default with M's quasi-identifiers; steps of 80 tell all limits apart."""
    frame = datasets.load("credit")
    roles = dict.fromkeys(frame.columns, "insensitive") | dict.fromkeys(CREDIT, "quasi")
    specs = {name: IntervalSpec(step if name == "LIMIT_BAL" else 1) for name in CREDIT}
    return Instance.build(read_table(frame, roles), specs, label="target")


def adult() -> Instance:
    """Adult as in the quickstart, but for the salary class, which is the target."""
    config = Config.load(REPOSITORY / "configs" / "quickstart.yaml")
    specs = {name: spec for name, spec in config.specs().items() if name != "salary-class"}
    roles = dict.fromkeys(specs, "quasi") | {"salary-class": "sensitive"}
    table = read_table(datasets.load("adult"), roles)
    return Instance.build(table, specs, label="salary-class")


#: Tables whose fronts are compared. All limits of credit but two are multiples of 10,000, and a
#: genome of finer steps would have 12,000 bits.
TABLES: dict[str, Callable[[], Instance]] = {
    "credit": partial(credit, 10_000),
    "adult": adult,
}


def mondrians(algorithm: str, instance: Instance, ks: Sequence[int]) -> Iterator[Anonymization]:
    """One of `MONDRIANS`, once for each k."""
    run = find_baseline(algorithm).run
    recodings = LocalRecodings.of_groupings(run(instance, k).grouping(instance) for k in ks)
    front = Front.of_recodings(instance, Suppression("limit"), ("k", "loss"), recodings)
    for number, k in enumerate(ks, 1):
        made_by: tuple[str, int, dict[str, object]] = (algorithm, k, {})
        solution = front.chosen(number)
        name = f"{algorithm} k>={k}"
        yield Anonymization(name, algorithm, instance, solution=solution, made_by=made_by)


def measured(instance: Instance, ks: Sequence[int]) -> pd.DataFrame:
    """Measures of the table as it is, whose k is 1, and of the releases of both Mondrians."""
    original = Grouping.of_genome(instance, np.ones(instance.layout.bits, dtype=bool))
    groupings = [("original", 1, original)] + [
        (algorithm, k, find_baseline(algorithm).run(instance, k).grouping(instance))
        for algorithm, k in product(MONDRIANS, ks)
    ]
    rows = []
    for algorithm, k, grouping in groupings:
        found = {"groups": len(grouping), **measure_grouping(grouping)}
        about = {"algorithm": algorithm, "asked_k": k, "k": found["k"]}
        about["largest_group"] = int(grouping.sizes.max())
        rows.append(about | {name: found[name] for name in (*MEASURES, "c_avg")})
    return pd.DataFrame(rows)


def boxes(instance: Instance, ks: Sequence[int]) -> Iterator[Anonymization]:
    """Local recodings of least loss, once for each k."""
    rules = [Suppression("limit", ETA, constraints=(("k", k),)) for k in ks]
    recodings = LocalRecodings.of_groupings(solve_target(instance, rule) for rule in rules)
    front = Front.of_recodings(instance, Suppression("limit", ETA), ("k", "loss"), recodings)
    yield from best("local", front, "loss", instance, ks)


def searched(
    instance: Instance, cost: str, seed: int, options: argparse.Namespace
) -> Iterator[Anonymization]:
    """Global recodings of least cost that a search found, once for each k."""
    ks, evaluations = effort(options)
    problem = AnonymizationProblem(instance, ("k", cost), Suppression("limit", ETA))
    search = make_search(problem, SearchSection(seed=seed, evaluations=evaluations))
    run_search(search, Stop(evaluations=evaluations))
    front = front_of(problem, search.archive, 5_000)
    named = f"global {cost}" if seed == SEARCH_SEEDS[0] else f"global {cost} seed {seed}"
    yield from best(named, front, cost, instance, ks)


def best(
    name: str, front: Front, cost: str, instance: Instance, ks: Sequence[int]
) -> Iterator[Anonymization]:
    """The solution of least cost with at least each k."""
    for k in ks:
        fit = np.flatnonzero(front.measures["k"] >= k)
        number = int(fit[np.argmin(front.measures[cost][fit])]) + 1
        yield Anonymization(f"{name} k>={k}", name, instance, solution=front.chosen(number))


# -- studies ---------------------------------------------------------------------------------------


def studied(
    releases: Mapping[str, Sequence[Anonymization]],
    options: argparse.Namespace,
    models: Sequence[str],
    protocols: Sequence[str],
) -> dict[str, pd.DataFrame]:
    """Learn from releases of some tables: scores, releases and metrics."""
    parts: dict[str, list[pd.DataFrame]] = {"scores": [], "releases": [], "metrics": []}
    repeats = 1 if options.quick else 3
    if options.models:
        models = options.models.split(",")
    elif options.quick:
        models = models[:1]
    for (table, several), protocol in product(releases.items(), protocols):
        label = several[0].instance.label
        assert label is not None
        target = Target.of(several[0].instance.table, label.name, SHARE)
        study = Study(several, target, models, protocol, repeats, SHARE, SEED)
        records: dict[Key, Record] = {}
        started = time.process_time()
        study.run(records.__setitem__, threads=options.threads)
        print(
            f"{table}, {protocol}: {len(several)} releases, {', '.join(models)}, {repeats} repeats:"
            f" {time.process_time() - started:.0f} CPU s",
            flush=True,
        )
        outcome = StudyOutcome(study, records)
        found = (outcome.scores, outcome.releases, which_tell(outcome))
        for several_parts, frame in zip(parts.values(), found, strict=True):
            several_parts.append(frame.assign(table=table, protocol=protocol))
    return {name: _about_first(pd.concat(found)) for name, found in parts.items()}


def _about_first(table: pd.DataFrame) -> pd.DataFrame:
    about = ["table", "protocol"]
    return table[[*about, *(column for column in table if column not in about)]]


def better_than_loss(scores: pd.DataFrame) -> pd.DataFrame:
    """What fronts of other costs teach beyond the front of loss at the same k, pair by pair."""
    name = scores["release"].str.extract(r"^global (?P<cost>\w+)(?: seed (?P<seed>\d+))? k>=(\d+)$")
    scores = scores[name["cost"].notna()].assign(
        cost=name["cost"], search=name["seed"].fillna("1").astype(int), asked_k=_asked(scores)
    )
    keys = ["table", "protocol", "model", "asked_k", "search", "repeat"]
    wide = scores.pivot_table(index=keys, columns="cost", values=["auroc", "balanced_accuracy"])
    gains = [
        (wide[score][cost] - wide[score]["loss"]).rename(f"{cost}_{score}")
        for cost in COSTS[1:]
        for score in ("auroc", "balanced_accuracy")
    ]
    return pd.concat(gains, axis=1).reset_index()


def write_tables(found: Mapping[str, pd.DataFrame], options: argparse.Namespace, name: str) -> None:
    """Write the tables of some studies; rows of others, made before, are left as they are."""
    endings = {"scores": "", "releases": "_releases", "metrics": "_metrics"}
    for part, table in found.items():
        path = options.out / f"{name}{endings[part]}.csv"
        if path.exists():
            about = [key for key in ("table", "protocol", "model") if key in table]
            made = set(table[about].itertuples(index=False, name=None))
            earlier = pd.read_csv(path)
            is_other = [
                row not in made for row in earlier[about].itertuples(index=False, name=None)
            ]
            table = pd.concat([earlier[is_other], table]).sort_values(about, kind="stable")
        write_table(table, path)


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table, numbers to six digits."""
    table.to_csv(path, index=False, lineterminator="\n", float_format="%.6g")


# -- M's results -----------------------------------------------------------------------------------


def _asked(table: pd.DataFrame) -> pd.Series:
    return table["release"].str.extract(r"k>=(\d+)")[0].astype(int)


def _algorithm(table: pd.DataFrame) -> str:
    """Which of `MONDRIANS` the releases of a table are of."""
    (name,) = table["release"].str.partition(" k>=")[0].unique()
    return str(name)


def draw_measures(table: pd.DataFrame) -> Figure:
    """M Fig. 8: measures of the original, at k = 1, and of the releases."""
    figure = new_figure(PAGE, 3.9)
    words = {name: name.replace("_", " ") for name in MEASURES}
    words["c_avg"] = "mean class size over k"
    for ax, (name, heading) in zip(figure.subplots(2, 3).flat, words.items(), strict=True):
        dress(ax)
        for number, (algorithm, label) in enumerate(MONDRIANS.items()):
            rows = table[table["algorithm"].isin(["original", algorithm])]
            look = {"marker": MARKS[number], "markersize": 3, "color": COLOURS[number]}
            ax.plot(rows["asked_k"], rows[name], label=label, linewidth=1.2, **look)
        title(ax, [heading], columns=3)
        ax.set_xticks([1, *KS[2::2]], ["orig.", *map(str, KS[2::2])])
        scale_numbers(ax, "y", table[name].to_numpy(dtype=float), log=False, most=5)
        ax.set_ylim(0, 1.05 * table[name].max())
    for ax in figure.axes[3:]:
        write_text(ax.set_xlabel("k of Mondrian"), LABEL)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    looks = {"ncols": 2, "frameon": False, "fontsize": SMALL}
    figure.legend(handles, labels, loc="outside upper center", **looks)
    return figure


def draw_scores(table: pd.DataFrame) -> Figure:
    """M Fig. 9: scores by k; at 1, the table as it is. Bars are the range over repeats."""
    table = table.assign(asked_k=_asked(table))
    figure = new_figure(PAGE, 4.6)
    axes = figure.subplots(2, 2, sharex=True, sharey="row")
    scores = ("balanced_accuracy", "auroc")
    for (row, score), (column, protocol) in product(enumerate(scores), enumerate(PROTOCOLS)):
        ax = axes[row][column]
        dress(ax)
        title(ax, [score.replace("_", " "), f"protocol {protocol}"], columns=2)
        of_protocol = table[table["protocol"] == protocol]
        for number, (model, rows) in enumerate(of_protocol.groupby("model", sort=False)):
            original = rows.groupby("repeat")[f"original_{score}"].first()
            parts = [(1, original), *((k, each[score]) for k, each in rows.groupby("asked_k"))]
            _with_range(ax, parts, number, str(model))
        ax.set_xticks([1, *KS], ["orig.", *map(str, KS)])
        if row:
            write_text(ax.set_xlabel(f"k of {_algorithm(table)}"), LABEL)
    axes[0][1].legend(fontsize=SMALL, frameon=False, loc="center", ncols=2)
    return figure


def _with_range(
    ax: Axes, parts: Sequence[tuple[float, pd.Series]], number: int, label: str
) -> None:
    mean = np.array([values.mean() for _, values in parts])
    low = np.array([values.min() for _, values in parts])
    high = np.array([values.max() for _, values in parts])
    ax.errorbar(
        [place for place, _ in parts],
        mean,
        yerr=[mean - low, high - mean],
        color=COLOURS[number % len(COLOURS)],
        marker=MARKS[number % len(MARKS)],
        markersize=3.5,
        linewidth=1,
        elinewidth=0.7,
        capsize=1.5,
        label=label,
    )


def draw_against(scores: pd.DataFrame, measures: pd.DataFrame) -> Figure:
    """M Fig. 10: scores of the boosting model (or the only one) against measures.

    Hollow: the original.
    """
    model = scores["model"].iloc[-1] if "boosting" not in set(scores["model"]) else "boosting"
    scores = scores[(scores["protocol"] == "released") & (scores["model"] == model)]
    scores = scores.assign(asked_k=_asked(scores))
    names = ["balanced_accuracy", "auroc"]
    means = scores.groupby("asked_k")[names].mean()
    originals = scores.groupby("repeat")[[f"original_{name}" for name in names]].first().mean()
    shown = measures["algorithm"].isin(["original", _algorithm(scores)])
    by_k = measures[shown].set_index("asked_k")
    figure = new_figure(PAGE, 2.6)
    for ax, measure in zip(figure.subplots(1, 4, sharey=True), MEASURES[:4], strict=True):
        dress(ax)
        for number, score in enumerate(names):
            look = {"marker": MARKS[number], "markersize": 3.5, "linestyle": ""}
            look |= {"color": COLOURS[number], "label": score.replace("_", " ")}
            ax.plot(by_k[measure].reindex(means.index), means[score], **look)
            look |= {"fillstyle": "none", "label": "" if number else "original"}
            ax.plot(by_k[measure][[1]], [originals[f"original_{score}"]], **look)
        title(ax, [measure.replace("_", " ")], columns=4)
        ax.set_ylim(0.5, 0.9)
        scale_numbers(ax, "x", by_k[measure].to_numpy(dtype=float), log=False, most=3)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    looks = {"ncols": 3, "frameon": False, "fontsize": SMALL}
    figure.legend(handles, labels, loc="outside upper center", **looks)
    return figure


def draw_fronts(scores: pd.DataFrame) -> Figure:
    """AUROC of a model and all kinds of releases against k and against loss, for each table."""
    (model,) = scores["model"].unique()
    kinds = scores["release"].str.rpartition(" k>=")[0]
    table = scores.assign(asked_k=_asked(scores), kind=kinds)
    figure = new_figure(PAGE, 4.8)
    tables = list(dict.fromkeys(table["table"]))
    axes = figure.subplots(len(tables), 2, sharey="row", squeeze=False)
    for pair, name in zip(axes, tables, strict=True):
        rows = table[table["table"] == name]
        original = rows.groupby("repeat")["original_auroc"].first()
        for ax in pair:
            dress(ax)
            ax.axhspan(original.min(), original.max(), color=GREY, alpha=0.12, linewidth=0)
            looks = {"color": INK, "linewidth": 0.9, "linestyle": (0, (5, 2))}
            ax.axhline(original.mean(), label="original", **looks)
        for number, (kind, of_kind) in enumerate(rows.groupby("kind", sort=False)):
            releases = [(k, each) for k, each in of_kind.groupby("asked_k")]
            by_k = [(k * 1.06 ** (number - 2), each["auroc"]) for k, each in releases]
            by_loss = [(100 * each["loss"].mean(), each["auroc"]) for _, each in releases]
            _with_range(pair[0], by_k, number, str(kind))
            _with_range(pair[1], by_loss, number, str(kind))
        scale_numbers(pair[0], "x", rows["asked_k"].to_numpy(dtype=float), log=True)
        title(pair[0], [name, f"{model}, protocol raw"], columns=2)
        write_text(pair[0].set_ylabel("AUROC"), LABEL)
    write_text(axes[-1][0].set_xlabel("k"), LABEL)
    write_text(axes[-1][1].set_xlabel("loss of the release (%)"), LABEL)
    handles, labels = axes[0][0].get_legend_handles_labels()
    looks = {"ncols": 6, "frameon": False, "fontsize": SMALL}
    figure.legend(handles, labels, loc="outside upper center", **looks)
    return figure


def draw_gains(gains: pd.DataFrame) -> Figure:
    """What searches for other costs gain of AUROC over loss, by k: searches and their mean."""
    tables = list(dict.fromkeys(gains["table"]))
    figure = new_figure(PAGE, 2.6)
    axes = figure.subplots(1, len(tables), squeeze=False)[0]
    for ax, name in zip(axes, tables, strict=True):
        rows = gains[gains["table"] == name]
        dress(ax)
        ax.axhline(0, color=INK, linewidth=0.9, linestyle=(0, (5, 2)))
        for number, cost in enumerate(COSTS[1:]):
            parts = [
                (k * 1.06 ** (2 * number - 1), of_k[f"{cost}_auroc"])
                for k, of_k in rows.groupby("asked_k")
            ]
            _with_range(ax, parts, number, cost)
        scale_numbers(ax, "x", rows["asked_k"].to_numpy(dtype=float), log=True)
        title(ax, [name, "boosting, protocol raw"], columns=2)
        write_text(ax.set_xlabel("k"), LABEL)
    write_text(axes[0].set_ylabel("AUROC beyond a search for loss"), LABEL)
    axes[0].legend(fontsize=SMALL, frameon=False)
    return figure


if __name__ == "__main__":
    main()
