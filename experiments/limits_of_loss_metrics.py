"""What releases still teach, and whether losses tell: the study of M (Marchand) and more.

The paper's question on its own data, Default of Credit Card Clients with five quasi-identifiers as
integers, and then the same of our fronts and of Adult (salary class):

    python experiments/limits_of_loss_metrics.py            some ten minutes of CPU time
    python experiments/limits_of_loss_metrics.py --quick    one repeat of little: does all work?
    python experiments/limits_of_loss_metrics.py --part figures    figures alone, from the tables

writes to ``results/limits_of_loss_metrics``

- ``figure2.png``, ``figure4.png``, ``figure5.png``, ``figure6.png``: M's small examples, drawn from
  what our trees, lattices and algorithms make of them;
- ``credit_mondrian.csv``: M's protocol (``released``) and ours (``raw``) for Mondrian, k = 2 … 10;
  ``credit_mondrian_releases.csv``: the measures of these releases; ``figure8.png`` (measures by k),
  ``figure9.png`` (scores by k), ``figure10.png`` (scores against measures);
- ``fronts.csv``, ``fronts_releases.csv``, ``fronts.png``: at equal k, Mondrian, our local and our
  global recodings of least loss, and global ones of least ``entropy_loss`` and ``cm`` instead;
- ``objectives.csv``: by how much the last two teach better than the front of loss at the same k;
- ``credit_mondrian_metrics.csv``, ``fronts_metrics.csv``: correlations of every loss with the drop.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from moanon import (
    Config,
    Front,
    Hierarchy,
    Instance,
    IntervalSpec,
    OrderedSpec,
    TreeSpec,
    datasets,
    read_table,
)
from moanon.baselines import find_baseline
from moanon.baselines.full_domain import Lattice
from moanon.config import SearchSection
from moanon.learning import Study
from moanon.learning.anonymizations import Anonymization, BaselineRelease, StoredSolution
from moanon.learning.outcome import Outcome
from moanon.learning.study import Key, Record
from moanon.learning.target import Target
from moanon.learning.telling import which_tell
from moanon.measures.suppression import Suppression
from moanon.output.figure_files import write_figures
from moanon.output.figure_style import (
    BLUE,
    COLOURS,
    GREY,
    INK,
    LABEL,
    PAGE,
    SMALL,
    VERMILION,
    dress,
    new_figure,
    scale_numbers,
    title,
)
from moanon.output.figure_style import write as write_text
from moanon.recoding import LocalRecodings
from moanon.search.algorithms import make_search
from moanon.search.archive import front_of
from moanon.search.local import solve_target
from moanon.search.problem import SearchProblem
from moanon.search.running import Stop, run_search

REPOSITORY = Path(__file__).parents[1]
CREDIT = ("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE")
PROTOCOLS = ("released", "raw")
#: M's k, and those at which fronts are compared.
KS, FRONT_KS = tuple(range(2, 11)), (5, 50)
ETA, SHARE, SEED = 0.1, 0.1, 1
#: Of the searches for global fronts.
EVALUATIONS = 10_000
#: What M draws of its releases (its H, NCP, DM, CM and the number of classes).
MEASURES = ("conditional_entropy", "ncp", "dm", "cm", "groups")
MARKS = ("o", "s", "^", "D", "v")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write tables and figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one repeat, few k, one model")
    parts = ("all", "mondrian", "fronts", "figures")
    parser.add_argument("--part", choices=parts, default="all", help="figures: from the tables")
    parser.add_argument("--table", choices=TABLES, action="append", help="of fronts; default: all")
    parser.add_argument("--threads", type=int, default=2)
    out = REPOSITORY / "results" / "limits_of_loss_metrics"
    parser.add_argument("--out", type=Path, default=out)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    settings: dict[str, Any] = {"repeats": 1 if options.quick else 3, "threads": options.threads}
    if options.part in ("all", "mondrian"):
        ks, models = (KS[::8], ("logistic",)) if options.quick else (KS, ("logistic", "boosting"))
        found = studied({"credit": list(mondrians(credit(), ks))}, **settings, models=models)
        write_tables(found, options.out, "credit_mondrian")
    if options.part in ("all", "fronts"):
        ks, effort = (FRONT_KS[:1], 500) if options.quick else (FRONT_KS, EVALUATIONS)
        tables = {name: TABLES[name]() for name in options.table or TABLES}
        several = {name: list(at_equal_k(each, ks, effort)) for name, each in tables.items()}
        found = studied(several, **settings, models=("boosting",), protocols=("raw",))
        write_tables(found, options.out, "fronts")
        write_table(better_than_loss(found["scores"]), options.out / "objectives.csv")
    draw_all(options.out)


def draw_all(folder: Path) -> None:
    """Draw all figures, those of studies from their tables."""
    figures: dict[str, Callable[[], Figure]] = {
        "figure2": draw_trees,
        "figure4": draw_lattices,
        "figure5": draw_incognito,
        "figure6": draw_mondrian,
    }
    if (path := folder / "credit_mondrian.csv").exists():
        scores = pd.read_csv(path)
        releases = pd.read_csv(folder / "credit_mondrian_releases.csv")
        figures["figure8"] = partial(draw_measures, releases)
        figures["figure9"] = partial(draw_scores, scores)
        figures["figure10"] = partial(draw_against, scores, releases)
    if (path := folder / "fronts.csv").exists():
        figures["fronts"] = partial(draw_fronts, pd.read_csv(path))
    write_figures(figures, folder, ["png"])


# -- tables and releases ---------------------------------------------------------------------------


def credit() -> Instance:
    """Credit default with M's quasi-identifiers; steps of 80 tell all limits apart."""
    frame = datasets.load("credit")
    roles = dict.fromkeys(frame.columns, "sensitive") | dict.fromkeys(CREDIT, "quasi")
    specs = {name: IntervalSpec(80 if name == "LIMIT_BAL" else 1) for name in CREDIT}
    return Instance.build(read_table(frame, roles), specs, label="target")


def adult() -> Instance:
    """Adult as in the quickstart, but for the salary class, which is the target."""
    config = Config.load(REPOSITORY / "configs" / "quickstart.yaml")
    specs = {name: spec for name, spec in config.specs().items() if name != "salary-class"}
    roles = dict.fromkeys(specs, "quasi") | {"salary-class": "sensitive"}
    table = read_table(datasets.load("adult"), roles)
    return Instance.build(table, specs, label="salary-class")


#: Tables whose fronts are compared.
TABLES: dict[str, Callable[[], Instance]] = {"credit": credit, "adult": adult}


def mondrians(instance: Instance, ks: Sequence[int]) -> Iterator[BaselineRelease]:
    """Strict Mondrian, once for each k."""
    run = find_baseline("mondrian").run
    recodings = LocalRecodings.of_groupings(run(instance, k).grouping(instance) for k in ks)
    front = Front.of_recodings(instance, Suppression("limit"), ("k", "loss"), recodings)
    for number, k in enumerate(ks, 1):
        name = f"mondrian k>={k}"
        yield BaselineRelease(name, instance, front, number, "mondrian", k)


def at_equal_k(instance: Instance, ks: Sequence[int], effort: int) -> Iterator[Anonymization]:
    """Releases of all kinds with at least each k, a tenth suppressed at most where rows can be."""
    yield from mondrians(instance, ks)
    rules = [Suppression("limit", ETA, constraints=(("k", k),)) for k in ks]
    boxes = LocalRecodings.of_groupings(solve_target(instance, rule) for rule in rules)
    local = Front.of_recodings(instance, Suppression("limit", ETA), ("k", "loss"), boxes)
    yield from best("local", local, "loss", instance, ks)
    for cost in ("loss", "entropy_loss", "cm"):
        problem = SearchProblem(instance, ("k", cost), Suppression("limit", ETA))
        search = make_search(problem, SearchSection())
        run_search(search, Stop(evaluations=effort))
        front = front_of(problem, search.archive, 5_000)
        yield from best(f"global {cost}", front, cost, instance, ks)


def best(
    name: str, front: Front, cost: str, instance: Instance, ks: Sequence[int]
) -> Iterator[StoredSolution]:
    """The solution of least cost with at least each k."""
    for k in ks:
        fit = np.flatnonzero(front.measures["k"] >= k)
        number = int(fit[np.argmin(front.measures[cost][fit])]) + 1
        yield StoredSolution(f"{name} k>={k}", instance, front, number)


# -- studies ---------------------------------------------------------------------------------------


def studied(
    releases: Mapping[str, Sequence[Anonymization]],
    *,
    models: Sequence[str],
    repeats: int,
    threads: int,
    protocols: Sequence[str] = PROTOCOLS,
) -> dict[str, pd.DataFrame]:
    """Learn from releases of some tables: scores, releases and metrics."""
    parts: dict[str, list[pd.DataFrame]] = {"scores": [], "releases": [], "metrics": []}
    for (table, several), protocol in product(releases.items(), protocols):
        label = several[0].instance.label
        assert label is not None
        target = Target.of(several[0].instance.table, label.name, SHARE)
        study = Study(several, target, models, protocol, repeats, SHARE, SEED)
        records: dict[Key, Record] = {}
        started = time.process_time()
        study.run(records.__setitem__, threads=threads)
        print(
            f"{table}, {protocol}: {len(several)} releases, {', '.join(models)}, {repeats} repeats:"
            f" {time.process_time() - started:.0f} CPU s",
            flush=True,
        )
        outcome = Outcome(study, records)
        found = (outcome.scores, outcome.releases, which_tell(outcome))
        for several_parts, frame in zip(parts.values(), found, strict=True):
            several_parts.append(frame.assign(table=table, protocol=protocol))
    return {name: _about_first(pd.concat(found)) for name, found in parts.items()}


def _about_first(table: pd.DataFrame) -> pd.DataFrame:
    about = ["table", "protocol"]
    return table[[*about, *(column for column in table if column not in about)]]


def better_than_loss(scores: pd.DataFrame) -> pd.DataFrame:
    """What fronts of other costs teach beyond the front of loss at the same k, pair by pair."""
    told = scores[scores["release"].str.startswith("global ")].copy()
    told[["cost", "asked_k"]] = told["release"].str.extract(r"global (\S+) k>=(\d+)")
    keys = ["table", "protocol", "model", "asked_k", "repeat"]
    wide = told.pivot_table(index=keys, columns="cost", values=["auroc", "balanced_accuracy"])
    rows = []
    for group, pairs in wide.groupby(level=keys[:-1], sort=False):
        row = dict(zip(keys[:-1], group, strict=True))
        for cost in ("entropy_loss", "cm"):
            for score in ("auroc", "balanced_accuracy"):
                gain = pairs[score][cost] - pairs[score]["loss"]
                row[f"{cost}_{score}"] = gain.mean()
                row[f"{cost}_{score}_least"], row[f"{cost}_{score}_most"] = gain.min(), gain.max()
        rows.append(row)
    found = pd.DataFrame(rows)
    order = found["asked_k"].astype(int)
    return found.assign(asked_k=order).sort_values(keys[:-1], kind="stable")


def write_tables(found: Mapping[str, pd.DataFrame], folder: Path, name: str) -> None:
    """Write the tables of some studies."""
    write_table(found["scores"], folder / f"{name}.csv")
    write_table(found["releases"], folder / f"{name}_releases.csv")
    write_table(found["metrics"], folder / f"{name}_metrics.csv")


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table, numbers to six digits."""
    table.to_csv(path, index=False, lineterminator="\n", float_format="%.6g")


# -- M's small examples ----------------------------------------------------------------------------


def draw_trees() -> Figure:
    """M Fig. 2: the domains of a marital status, and which value goes where."""
    tree = Hierarchy.from_nested(
        "Not released",
        {"Never married": ["Single"], "Once married": ["Married", "Divorced", "Widow"]},
    )
    figure = new_figure(PAGE, 2.4)
    left, right = figure.subplots(1, 2)
    for ax, words in ((left, "domains, level by level"), (right, "values")):
        ax.set_axis_off()
        title(ax, [words], columns=2)
    middles = {leaf: float(place) for place, leaf in enumerate(tree.leaves)}
    below: list[tuple[float, str]] = []
    for level, (nodes, labels) in enumerate(zip(tree.levels, tree.level_labels, strict=True)):
        _say(left, 0, level, "{" + ", ".join(labels) + "}")
        if level:
            left.annotate("", (0, level - 0.15), (0, level - 0.85), arrowprops={"arrowstyle": "->"})
        places = []
        for node, label in zip(nodes, labels, strict=True):
            leaves = tree.leaves[tree.starts[node] : tree.stops[node]]
            place = float(np.mean([middles[leaf] for leaf in leaves]))
            _say(right, place, level, label)
            for child, named in below:
                if named in (*leaves, *_names_within(tree, node)):
                    right.plot([child, place], [level - 0.85, level - 0.15], color=GREY, lw=0.8)
            places.append((place, label))
        below = places
    left.set_xlim(-1, 1)
    for ax in (left, right):
        ax.set_ylim(-0.4, len(tree.levels) - 0.6)
    right.set_xlim(-0.6, len(tree.leaves) - 0.4)
    return figure


def _names_within(tree: Hierarchy, node: int) -> Iterator[str]:
    """All names of what a node holds."""
    for other, (start, stop) in enumerate(zip(tree.starts, tree.stops, strict=True)):
        if tree.starts[node] <= start and stop <= tree.stops[node]:
            yield from (tree.names[other], *tree.above[other])


def draw_lattices() -> Figure:
    """M Fig. 4: the lattice of a birthdate of three levels and a gender of two."""
    figure = new_figure(PAGE, 2.6)
    for ax, named in zip(figure.subplots(1, 2), (True, False), strict=True):
        words = "generalizations" if named else "as vectors"
        _draw_lattice(ax, (3, 2), words, letters=("B", "G") if named else None)
    return figure


def draw_incognito() -> Figure:
    """M Fig. 5: which nodes Incognito counts, set of columns by set of columns."""
    births, zips = ("1960", "1961", "1964"), ("53715", "53715", "53710", "53703", "53703", "53706")
    frame = pd.DataFrame({"birth": np.repeat(births, 2), "gender": ["f", "m"] * 3, "zip": zips})
    cities = {"5371*": ["53715", "53710"], "5370*": ["53703", "53706"]}
    specs = {
        "birth": TreeSpec(Hierarchy.from_nested("any", list(births))),
        "gender": TreeSpec(Hierarchy.from_nested("all", ["f", "m"])),
        "zip": TreeSpec(Hierarchy.from_nested("537**", cities)),
    }
    instance = Instance.build(read_table(frame, dict.fromkeys(specs, "quasi")), specs)
    shape = tuple(len(domain.full_domain()) for domain in instance.layout.domains.values())
    counted = _counted_nodes(instance, 2)
    figure = new_figure(PAGE, 6.6)
    grid = figure.add_gridspec(3, 3)
    for size in (1, 2, 3):
        for place, chosen in enumerate(combinations(range(3), size)):
            ax = figure.add_subplot(grid[size - 1, place if size < 3 else slice(0, 3)])
            part = tuple(shape[column] for column in chosen)
            colours = {}
            for node in product(*map(range, part)):
                whole = [level - 1 for level in shape]
                for column, level in zip(chosen, node, strict=True):
                    whole[column] = level
                is_enough = counted.get(tuple(whole))
                colours[node] = GREY if is_enough is None else VERMILION if is_enough else INK
            names = [tuple(specs)[column] for column in chosen]
            _draw_lattice(ax, part, ", ".join(names), colours=colours)
    told = {VERMILION: "counted: enough", INK: "counted: not", GREY: "inferred"}
    for colour, words in told.items():
        figure.axes[0].plot([], [], "o", color=colour, label=words)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=SMALL)
    return figure


def _counted_nodes(instance: Instance, k: int) -> dict[tuple[int, ...], bool]:
    """Nodes whose groups Incognito counts, and whether they are enough."""
    counted: dict[tuple[int, ...], bool] = {}
    check: Callable[[Lattice, Any], Any] = Lattice.check

    def noted(lattice: Lattice, nodes: Any) -> Any:
        found = check(lattice, nodes)
        counted.update(zip(map(tuple, nodes.tolist()), found.enough.tolist(), strict=True))
        return found

    try:
        Lattice.check = noted  # type: ignore[method-assign]
        find_baseline("incognito").run(instance, k)
    finally:
        Lattice.check = check  # type: ignore[method-assign]
    return counted


def draw_mondrian() -> Figure:
    """M Fig. 6: six people by age and marital status, and the groups of Mondrian with k = 2."""
    order = ("Widow", "Single", "Divorced", "Married")
    ages = (24, 25, 27, 27, 29, 31)
    states = ("Widow", "Married", "Single", "Divorced", "Widow", "Married")
    frame = pd.DataFrame({"age": ages, "status": states})
    table = read_table(frame, {"age": "quasi", "status": "quasi"})
    instance = Instance.build(table, {"age": IntervalSpec(), "status": OrderedSpec(order)})
    groups = find_baseline("mondrian").run(instance, 2, ties=["age"]).grouping(instance)
    assert groups.starts is not None
    assert groups.stops is not None
    figure = new_figure(PAGE, 2.6)
    for number, ax in enumerate(figure.subplots(1, 2, sharey=True)):
        dress(ax)
        ax.plot(frame["age"], [order.index(status) for status in frame["status"]], "o", color=BLUE)
        ax.set_yticks(range(len(order)), order)
        write_text(ax.set_xlabel("age"), LABEL)
        title(ax, ["the groups" if number else "the people"], columns=2)
        boxes = zip(groups.starts.T, groups.stops.T, strict=True) if number else ()
        for (age, status), (end, top) in boxes:
            corner, size = (
                (ages[0] + age - 0.35, status - 0.35),
                (end - age - 0.3, top - status - 0.3),
            )
            ax.add_patch(Rectangle(corner, *size, fill=False, color=VERMILION))
        ax.set(xlim=(ages[0] - 0.7, ages[-1] + 0.7), ylim=(-0.7, len(order) - 0.3))
    return figure


def _draw_lattice(
    ax: Axes,
    shape: tuple[int, ...],
    words: str,
    *,
    letters: tuple[str, ...] | None = None,
    colours: Mapping[tuple[int, ...], str] | None = None,
) -> None:
    ax.set_axis_off()
    title(ax, [words], columns=3 if colours else 2)
    nodes = list(product(*map(range, shape)))
    rows: dict[int, list[tuple[int, ...]]] = {}
    for node in nodes:
        rows.setdefault(sum(node), []).append(node)
    places = {
        node: (i - (len(row) - 1) / 2, height)
        for height, row in rows.items()
        for i, node in enumerate(row)
    }
    for one, other in product(nodes, nodes):
        if sum(other) - sum(one) == 1 and all(a <= b for a, b in zip(one, other, strict=True)):
            (x, y), (u, v) = places[one], places[other]
            ax.plot([x, u], [y + 0.18, v - 0.18], color=GREY, linewidth=0.7)
    for node, (x, y) in places.items():
        if letters:
            text = ", ".join(f"{a}{level}" for a, level in zip(letters, node, strict=True))
        else:
            text = f"({', '.join(map(str, node))})"
        _say(ax, x, y, text, (colours or {}).get(node, INK))
    widest = max(map(len, rows.values()))
    ax.set_xlim(-widest / 2, widest / 2)
    ax.set_ylim(-0.4, len(rows) - 0.6)


def _say(ax: Axes, x: float, y: float, text: str, colour: str = INK) -> None:
    write_text(ax.text(x, y, text, ha="center", va="center"), SMALL, colour)


# -- M's results -----------------------------------------------------------------------------------


def _asked(table: pd.DataFrame) -> pd.Series:
    return table["release"].str.extract(r"k>=(\d+)")[0].astype(int)


def draw_measures(table: pd.DataFrame) -> Figure:
    """M Fig. 8: measures of the releases by k."""
    table = table[(table["protocol"] == "released") & (table["repeat"] == 1)]
    figure = new_figure(PAGE, 3.6)
    axes = figure.subplots(2, 3).flat
    for ax, name in zip(axes, MEASURES, strict=False):
        dress(ax)
        ax.plot(_asked(table), table[name], marker="o", markersize=3, color=BLUE)
        title(ax, [name.replace("_", " ")], columns=3)
        write_text(ax.set_xlabel("k"), LABEL)
        ax.set_ylim(bottom=0)
    ax = figure.axes[-1]
    dress(ax)
    sizes = table["average_class_size"] / _asked(table)
    ax.plot(_asked(table), sizes, marker="o", markersize=3, color=BLUE)
    ax.set_ylim(bottom=0)
    title(ax, ["mean class size over k"], columns=3)
    write_text(ax.set_xlabel("k"), LABEL)
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
            write_text(ax.set_xlabel("k of Mondrian"), LABEL)
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


def draw_against(scores: pd.DataFrame, releases: pd.DataFrame) -> Figure:
    """M Fig. 10: scores of the boosting model (or the only one) against measures."""
    model = scores["model"].iloc[-1] if "boosting" not in set(scores["model"]) else "boosting"
    scores = scores[(scores["protocol"] == "released") & (scores["model"] == model)]
    means = scores.groupby("release", sort=False)[["auroc", "balanced_accuracy"]].mean()
    releases = releases[releases["protocol"] == "released"].groupby("release", sort=False)
    figure = new_figure(PAGE, 2.3)
    for ax, name in zip(figure.subplots(1, 4, sharey=True), MEASURES[:4], strict=True):
        dress(ax)
        for number, score in enumerate(means):
            ax.plot(
                releases[name].first().reindex(means.index),
                means[score],
                MARKS[number],
                markersize=3.5,
                color=COLOURS[number],
                label=str(score).replace("_", " "),
            )
        title(ax, [name.replace("_", " ")], columns=4)
        ax.set_ylim(0.5, 0.9)
    figure.axes[0].legend(fontsize=SMALL, frameon=False, loc="upper left")
    return figure


def draw_fronts(scores: pd.DataFrame) -> Figure:
    """AUROC of all kinds of releases against k and against loss, for each table."""
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
        title(pair[0], [name, "boosting, protocol raw"], columns=2)
        write_text(pair[0].set_ylabel("AUROC"), LABEL)
    write_text(axes[-1][0].set_xlabel("k"), LABEL)
    write_text(axes[-1][1].set_xlabel("loss of the training release (%)"), LABEL)
    handles, labels = axes[0][0].get_legend_handles_labels()
    looks = {"ncols": 6, "frameon": False, "fontsize": SMALL}
    figure.legend(handles, labels, loc="outside upper center", **looks)
    return figure


if __name__ == "__main__":
    main()
