"""Compare anonymizations person by person: the source's example, then two solutions for Adult.

The source is Dewri, Ray, Ray and Whitley, "On the Comparison of Microdata Disclosure Control
Algorithms" (EDBT 2009). First its Tables 1-3 are made again, every number of its sections 1-5 is
worked out and set beside the published one, and its figures are drawn from these tables: 1 as it
is, 2 to 4, which are sketches there, with the rows of users 3 and 8 of its section 2 as axes. For
the comparators that need wishes, these are: every row in a group of 5 and nothing lost (``goal``,
given as property vectors), and differences in rank of at most 7 overlooked. Then a search over
Adult, without suppression and with k, loss and weighted-k as objectives, gives a front in which
many solutions share a k; of the pairs with the same k and about the same loss, the one is compared
over which the people in the table would disagree most. The source's theorem 1 says why there are so
many comparators: whether one property vector dominates another cannot be decided from fewer unary
indices (such as k, or a mean) than the table has rows. It takes about a minute::

    python experiments/comparing_anonymizations.py

Files are written to ``results/comparing_anonymizations``; the same version gives the same bytes.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Arc, Rectangle
from matplotlib.ticker import MaxNLocator

from moanon import Config, Hierarchy, Instance, OrderedSpec, TreeSpec, read_table
from moanon.compare import Comparison, Preferences, PropertyVector, compare, property_vectors
from moanon.compare.indices import (
    compare_products,
    coverage,
    mean,
    minimum,
    solely_dominated,
    spread,
)
from moanon.compare.preferences import weighted_sum
from moanon.experiment import Experiment
from moanon.front import Front
from moanon.grouping import Grouping
from moanon.output.figure_files import Drawing, save_one, write_figures
from moanon.output.figure_style import COLOURS, COLUMN, INK, LABEL, SMALL, dress, new_axes
from moanon.output.figure_style import write as write_text
from moanon.output.studies import plot_comparison

OUT = Path(__file__).parents[1] / "results" / "comparing_anonymizations"

# -- the source's example ------------------------------------------------------------------------

#: Table 1: zip code, age, marital status.
PEOPLE = [
    ("13053", "28", "CF-Spouse"),
    ("13268", "41", "Separated"),
    ("13268", "39", "Never Married"),
    ("13053", "26", "CF-Spouse"),
    ("13253", "50", "Divorced"),
    ("13253", "55", "Spouse Absent"),
    ("13250", "49", "Divorced"),
    ("13052", "31", "Spouse Present"),
    ("13269", "42", "Separated"),
    ("13250", "47", "Separated"),
]
ZIP = """
13***:
  130**: {1305*: [13052, 13053]}
  132**: {1325*: [13250, 13253], 1326*: [13268, 13269]}
"""
MARITAL = """
Any:
  Married: [CF-Spouse, Spouse Present]
  Not Married: [Divorced, Never Married, Separated, Spouse Absent]
"""
#: Tables 2 and 3: for each, where neighbouring zip codes, ages and statuses are kept apart.
TABLES = {
    "T3a": ("01010", "001001000", "01000"),  # ages 26-31, 39-42, 47-55
    "T3b": ("01000", "001000000", "01000"),  # ages 26-31, 39-55
    "T4": ("00000", "000100000", "00000"),  # ages 26-39, 41-55
}


def source_tables() -> dict[str, Grouping]:
    """Tables 2 and 3 of the source, as releases of Table 1.

    The source generalizes the marital status and also protects its real values; here these are two
    columns.
    """
    frame = pd.DataFrame(PEOPLE, columns=["zip", "age", "marital"])
    frame["real status"] = frame["marital"]
    roles = {"zip": "quasi", "age": "quasi", "marital": "quasi", "real status": "sensitive"}
    people = Instance.build(
        read_table(frame, roles),
        {
            "zip": TreeSpec(Hierarchy.from_yaml(ZIP)),
            "age": OrderedSpec(tuple(sorted(frame["age"]))),
            "marital": TreeSpec(Hierarchy.from_yaml(MARITAL)),
        },
    )
    genomes = {name: people.layout.parse("".join(bits)) for name, bits in TABLES.items()}
    return {
        name: Grouping.of_genome(people, genome).named(name) for name, genome in genomes.items()
    }


def published_utility(table: Grouping) -> np.ndarray:
    """Utility as the source's numbers have it: the sum over columns of 1 - (block / values).

    The source names Iyengar's metric, (block - 1) / (values - 1), which moanon uses; but its two
    vectors come out, to all digits, with the values that occur in Table 1 and without the ones.
    """
    widths = table.stops - table.starts
    return (1 - widths / table.instance.layout.sizes[:, None]).sum(axis=0)[table.row_group]


def source_vectors(tables: dict[str, Grouping]) -> dict[str, dict[str, np.ndarray]]:
    """Every property vector of the three tables, by property and table."""
    names = ("size", "sensitive_count", "utility")
    found: dict[str, dict[str, np.ndarray]] = {name: {} for name in (*names, "published utility")}
    for table, anonymized in tables.items():
        vectors: dict[str, PropertyVector] = property_vectors(anonymized, names)
        for name, vector in vectors.items():
            found[name][table] = vector.values
        found["published utility"][table] = published_utility(anonymized)
    return found


def source_numbers(vectors: dict[str, dict[str, np.ndarray]]) -> Iterator[tuple[str, ...]]:
    """Where each number stands in the source, what it is, as published, and as found here."""
    size, count = vectors["size"], vectors["sensitive_count"]
    s, t, four = size["T3a"], size["T3b"], size["T4"]
    yield "1", "k of T3a and of T3b", "3 3", shown(minimum(s), minimum(t))
    yield "1", "tuples safer in T3b", "2 3 5 6 7 9 10", shown(*np.flatnonzero(t > s) + 1)
    yield "1", "one over their chance of a breach there", "7", shown(*np.unique(t[t > s]))
    yield "2", "sizes of T4 (Figure 1)", "4 6 4 4 6 6 6 4 6 6", shown(*four)
    yield "2", "sizes for user 8 in T3b and T4", "3 4", shown(t[7], four[7])
    yield "2", "sizes for user 3 in T3b and T4", "7 4", shown(t[2], four[2])
    yield "3", "sizes of T3a", "3 3 3 3 4 4 4 3 3 4", shown(*s)
    yield "3", "sizes of T3b", "3 7 7 3 7 7 7 3 7 7", shown(*t)
    yield "3", "sensitive counts of T3a", "2 2 1 2 2 1 2 1 2 1", shown(*count["T3a"])
    yield "3", "P_k-anon of T3a", "3", shown(minimum(s))
    yield "3", "P_s-avg of T3a", "3.4", shown(mean(s))
    yield "3", "P_l-div of T3a", "1", shown(minimum(count["T3a"]))
    yield "3", "P_binary of T3a and T3b", "0 7", shown((s > t).sum(), (t > s).sum())
    yield "5.2", "P_cov of T4 and T3a: the first is larger", "yes", leads(coverage, four, s)
    yield "5.2", "P_cov of T3b and T4: the first is larger", "yes", leads(coverage, t, four)
    one, two = np.array([2, 2, 3, 4, 5]), np.array([3, 2, 4, 2, 3])
    yield "5.3", "P_cov of five tuples", "0.6 0.6", shown(*ways(coverage, one, two))
    yield "5.3", "P_spr of five tuples: 2 + 2 and 1 + 1", "4 2", shown(*ways(spread, one, two))
    rest = [3, 3, 3, 4, 4, 4, 4]
    three, less = np.array([3] * 3 + [5] * 5 + rest), np.array([2, 2] + [6] * 6 + rest)
    yield "5.3", "P_spr of fifteen tuples", "2 8", shown(*ways(spread, three, less))
    yield (
        "5.3",
        "P_cov of fifteen tuples: the second is larger",
        "yes",
        leads(coverage, less, three),
    )
    first, second = np.array([3.0] * 3 + [5.0] * 5), np.full(8, 4.0)
    volumes = ways(solely_dominated, first, second)
    yield (
        "5.4",
        "P_hv of eight tuples: the first is larger",
        "yes",
        yes(compare_products(first, second)),
    )
    yield "5.4", "P_hv of eight tuples", "", shown(*(volume.value for volume in volumes))
    u, v = vectors["published utility"]["T3a"], vectors["published utility"]["T3b"]
    yield "5.5", "utilities of T3a", "2.03 1.7 1.7 2.03 1.6 1.6 1.6 2.03 1.7 1.6", shown(*u)
    # The source prints nine utilities for its ten tuples: one of the .97 is missing.
    yield "5.5", "utilities of T3b", "2.03 0.97 0.97 2.03 0.97 0.97 2.03 0.97 0.97", shown(*v)
    yield "5.5", "P_cov of sizes", "0.3 1", shown(*ways(coverage, s, t))
    yield "5.5", "P_cov of utilities", "1 0.3", shown(*ways(coverage, u, v))
    sums = weighted_sum([ways(coverage, s, t), ways(coverage, u, v)], [0.5, 0.5])
    yield "5.5", "P_WTD with equal weights: equally good", "yes", yes(sums[0] == sums[1])
    yield "5.5", "P_WTD with equal weights", "", shown(*sums)


def ways(index: Callable[..., Any], a: np.ndarray, b: np.ndarray) -> tuple[Any, Any]:
    """An index both ways round."""
    return index(a, b), index(b, a)


def leads(index: Callable[..., float], a: np.ndarray, b: np.ndarray) -> str:
    """Whether the first vector leads the second by an index."""
    forward, backward = ways(index, a, b)
    return yes(forward > backward)


def yes(answer: bool | int) -> str:
    """Write an answer."""
    return "yes" if answer > 0 else "no"


def shown(*numbers: float) -> str:
    """Write numbers with the two digits that the source gives."""
    return " ".join(f"{number:.2f}".rstrip("0").rstrip(".") for number in numbers)


def write_source(out: Path) -> None:
    """Write the example's vectors, its numbers beside the published ones, and its comparison."""
    tables = source_tables()
    vectors = source_vectors(tables)
    columns = {f"{name} {table}": v for name, by in vectors.items() for table, v in by.items()}
    frame = pd.DataFrame({"tuple": range(1, len(PEOPLE) + 1), **columns})
    write(frame.round(6), out / "source_vectors.csv")
    numbers = pd.DataFrame(
        source_numbers(vectors), columns=["section", "number", "published", "found"]
    )
    agree = numbers["published"] == numbers["found"]
    numbers["agrees"] = np.where(numbers["published"] == "", "", np.where(agree, "yes", "no"))
    write(numbers, out / "source_numbers.csv")
    stated = numbers["published"] != ""
    print(f"{(agree & stated).sum()} of {stated.sum()} published numbers agree")
    comparison = compare(list(tables.values()), ["size", "sensitive_share", "utility"])
    write_comparison(comparison, out, "source")
    write(wished(tables), out / "source_wishes.csv")
    write_figures(source_figures(vectors["size"]), out, ["png"])


def wished(tables: dict[str, Grouping]) -> pd.DataFrame:
    """What ``goal`` says where goals are property vectors, and ``rank`` with a tolerance."""
    rows = len(PEOPLE)
    goals = {"size": np.full(rows, 5.0), "utility": np.full(rows, 3.0)}
    found = []
    for index in ("min", "mean"):
        wishes = Preferences(index=index, goal_vectors=goals)
        pairs = compare(
            list(tables.values()), [*goals], comparators=["goal"], preferences=wishes
        ).to_frame()
        found.append(pairs.assign(wish=f"goal: {index} of size 5, of utility 3"))
    for epsilon in (0.0, 7.0):
        wishes = Preferences(rank_epsilon=[epsilon])
        pairs = compare(
            list(tables.values()), ["size"], comparators=["rank"], preferences=wishes
        ).to_frame()
        found.append(pairs.assign(wish=f"rank: differences of {epsilon:g} overlooked"))
    names = dict(zip("ABC", tables, strict=True))
    wishes_met = pd.concat(found).replace(names)
    return wishes_met[["wish", "property", "first", "second", "forward", "backward", "better"]]


def source_figures(sizes: dict[str, np.ndarray]) -> dict[str, Drawing]:
    """Figures 1 to 4 of the source, from its tables and its vectors of section 5.3."""
    three, eight = 2, 7  # the users that the source asks about
    points = {name: (float(size[three]), float(size[eight])) for name, size in sizes.items()}
    axes = ("size of the group of user 3", "size of the group of user 8")
    most = float(len(PEOPLE))
    one, other = (2, 2, 3, 4, 5), (3, 2, 4, 2, 3)
    return {
        "source_figure1": partial(plot_rows, sizes, "size of the row's group"),
        "source_figure2": partial(plot_ranks, points, (most, most), axes),
        "source_figure3": partial(plot_leads, {"D1": one, "D2": other}),
        "source_figure4": partial(
            plot_volumes, {name: points[name] for name in ("T3b", "T4")}, axes
        ),
    }


# -- the source's figures: small vectors, where each row has its own place or is one of two axes --

MARKS = ("o", "s", "^", "D", "v", "P")
#: How far the points of a row stand beside each other, so that equal ones are both seen.
BESIDE = 0.12
AREA: dict[str, Any] = {"alpha": 0.3, "linewidth": 0}


def plot_rows(vectors: Mapping[str, npt.ArrayLike], what: str) -> Axes:
    """Draw what each row has in each of some anonymizations (C Fig. 1)."""
    ax = new_axes(COLUMN, 2.4)
    for i, (name, values) in enumerate(vectors.items()):
        places = np.arange(1, len(np.asarray(values)) + 1)
        ax.plot(places, np.asarray(values), label=name, linewidth=0.9, markersize=4, **look_of(i))
    ax.set_ylim(0, 1.1 * max(float(np.max(values)) for values in vectors.values()))
    dress_axes(ax, "row", what)
    ax.set_xlim(0.5, len(places) + 0.5)
    add_legend(ax)
    return ax


def plot_ranks(
    points: Mapping[str, tuple[float, float]], ideal: tuple[float, float], rows: tuple[str, str]
) -> Axes:
    """Draw vectors of two rows and how far each is from the ideal (C Fig. 2).

    All points of an arc have the same rank; the nearest to the ideal wins.
    """
    ax = new_axes(COLUMN, 3.2)
    for i, (name, point) in enumerate(points.items()):
        far = float(np.hypot(*(np.array(ideal) - point)))
        look = look_of(i)
        quarter: dict[str, Any] = {"theta1": 180, "theta2": 270, "edgecolor": look["color"]}
        ax.add_patch(Arc(ideal, 2 * far, 2 * far, linestyle="--", **quarter))
        ax.plot(*point, linestyle="none", label=f"{name}: rank {far:.1f}", **look)
    ax.plot(*ideal, marker="*", color=INK, markersize=9, linestyle="none", label="ideal")
    ax.set_xlim(0, 1.05 * ideal[0])
    ax.set_ylim(0, 1.05 * ideal[1])
    ax.set_aspect("equal")
    dress_axes(ax, *rows)
    add_legend(ax)
    return ax


def plot_leads(pair: Mapping[str, npt.ArrayLike]) -> Axes:
    """Draw two vectors row by row, with the leads that ``spr`` adds up (C Fig. 3)."""
    (first, one), (second, other) = ((name, np.asarray(v, float)) for name, v in pair.items())
    ax = new_axes(COLUMN, 2.6)
    for i, (name, a, b) in enumerate(((first, one, other), (second, other, one))):
        label = f"{name}: cov {coverage(a, b):g}, spr {spread(a, b):g}"
        look, places = look_of(i), np.arange(1.0, len(a) + 1)
        lead = np.maximum(a - b, 0)
        ax.bar(places, lead, bottom=a - lead, width=0.7, color=look["color"], **AREA)
        beside = places + (BESIDE if i else -BESIDE)
        ax.plot(beside, a, label=label, markersize=5, linestyle="none", **look)
        for place in np.flatnonzero(lead):
            middle = float(a[place] - lead[place] / 2)
            say(ax, f"+{lead[place]:g}", (float(places[place]), middle))
    ax.set_ylim(0, 1.1 * float(max(one.max(), other.max())))
    dress_axes(ax, "row", "what the row has")
    add_legend(ax)
    return ax


def plot_volumes(pair: Mapping[str, tuple[float, float]], rows: tuple[str, str]) -> Axes:
    """Draw what each of two vectors of two rows dominates alone, and both do (C Fig. 4)."""
    (first, one), (second, other) = pair.items()
    ax = new_axes(COLUMN, 3.0)
    for i, (name, point, against) in enumerate(((first, one, other), (second, other, one))):
        alone = solely_dominated(np.array(point, float), np.array(against, float)).value
        look = look_of(i)
        ax.add_patch(Rectangle((0, 0), *point, facecolor=look["color"], **AREA))
        label = f"{name}: {alone:g} dominated by it alone"
        ax.plot(*point, label=label, linestyle="none", **look)
    common = np.minimum(one, other)
    say(ax, f"by both: {common.prod():g}", (float(common[0]) / 2, float(common[1]) / 2))
    most = np.maximum(one, other)
    ax.set_xlim(0, 1.15 * most[0])
    ax.set_ylim(0, 1.5 * most[1])  # room for the legend
    dress_axes(ax, *rows)
    add_legend(ax)
    return ax


def look_of(number: int) -> dict[str, Any]:
    """Colour and mark of an anonymization."""
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKS[number % len(MARKS)]}


def say(ax: Axes, text: str, place: tuple[float, float]) -> None:
    """Write a few words around a place."""
    ax.annotate(text, place, ha="center", va="center", fontsize=SMALL, color=INK)


def add_legend(ax: Axes) -> None:
    """Say which mark is which anonymization."""
    for text in ax.legend(frameon=False, fontsize=SMALL, loc="best").get_texts():
        write_text(text)


def dress_axes(ax: Axes, across: str, up: str) -> None:
    """Count in whole numbers, and say what the axes show."""
    dress(ax)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    write_text(ax.set_xlabel(across), LABEL)
    write_text(ax.set_ylabel(up), LABEL)


# -- two solutions for Adult ---------------------------------------------------------------------

#: As the multi-objective paper has it, with occupation as the sensitive column. No row is
#: suppressed, so k is the k of all rows; weighted-k as a third objective lets many share one.
ADULT = {
    "name": "adult-equal-k",
    "data": {"source": "adult"},
    "columns": {
        "age": {"role": "quasi", "kind": "interval", "granularity": 5, "range": [15, 94]},
        "workclass": {"role": "quasi", "kind": "tree", "hierarchy": "adult/workclass"},
        "education": {"role": "quasi", "kind": "ordered", "order": "adult/education"},
        "marital-status": {"role": "quasi", "kind": "tree", "hierarchy": "adult/marital-status"},
        "occupation": {"role": "sensitive"},
        "race": {"role": "quasi", "kind": "ordered", "order": "adult/race"},
        "sex": {"role": "quasi", "kind": "ordered", "order": "adult/sex"},
        "native-country": {"role": "quasi", "kind": "tree", "hierarchy": "adult/native-country"},
        "salary-class": {"role": "quasi", "kind": "ordered", "order": "adult/salary-class"},
    },
    "problem": {
        "preset": "k-suppression",
        "eta": 0.0,
        "objectives": ["k", "loss", "weighted_k"],
    },
    "search": {"algorithm": "archive", "population": 200, "generations": 60, "seed": 1},
}
#: Pairs are looked for among solutions of at least this k …
LEAST_K = 10
#: … whose losses differ by at most this share of all cells.
LIKE_LOSS = 0.005


def search_adult(threads: int) -> Front:
    """Search Adult for undominated solutions."""
    with TemporaryDirectory() as folder:
        config = Config.from_dict({**ADULT, "output": {"dir": str(Path(folder) / "run")}})
        result = Experiment.prepare(config, threads=threads).run(lambda progress: None)
    if result.front is None:
        raise SystemExit("the search was interrupted")
    return result.front


def most_disputed(front: Front) -> tuple[int, int]:
    """Solutions of one k and like loss over which most people disagree.

    How many disagree: the smaller of the numbers of people in larger groups in the one and in the
    other.
    """
    k, loss, ids = front.measures["k"], front.measures["loss"], front.ids
    wanted = ids[(k >= LEAST_K) & (loss < 1)]
    sizes = {int(i): property_vectors(front.grouping(int(i)), ["size"])["size"] for i in wanted}
    best, pair = 0, (0, 0)
    for a, b in combinations(sizes, 2):
        if k[a - 1] == k[b - 1] and abs(loss[a - 1] - loss[b - 1]) <= LIKE_LOSS:
            here, there = sizes[a].values, sizes[b].values
            disputed = min(int((here > there).sum()), int((here < there).sum()))
            if disputed > best:
                best, pair = disputed, (a, b)
    if not best:
        raise SystemExit("the front has no two solutions of one k and like loss that differ")
    return pair


def write_adult(out: Path, threads: int) -> None:
    """Search, choose a pair, and write what it does to whom."""
    front = search_adult(threads)
    pair = most_disputed(front)
    comparison = compare(
        [front.grouping(i).named(f"solution {i}") for i in pair],
        ["size", "sensitive_share", "diversity", "utility"],
    )
    frame = front.to_frame().set_index("id").loc[list(pair), ["k", "loss", "weighted_k", "groups"]]
    labels = pd.DataFrame([front.labels[i - 1] for i in pair], index=frame.index)
    solutions = frame.join(labels.map(" | ".join))
    write(solutions.T.rename_axis("measure or column").reset_index(), out / "adult_solutions.csv")
    write_comparison(comparison, out, "adult")
    k, loss = frame["k"].iloc[0], frame["loss"]
    print(f"{len(front):,} solutions for Adult; compared are {pair[0]} and {pair[1]}, both with")
    print(f"k = {k} and with losses of {loss.iloc[0]:.1%} and {loss.iloc[1]:.1%}")


# -- files ---------------------------------------------------------------------------------------


def write_comparison(comparison: Comparison, out: Path, name: str) -> None:
    """Write who wins by which comparator, how many people gain, and the figure."""
    names = {letter: each.name for letter, each in comparison.anonymized.items()}
    verdicts = comparison.to_frame().replace(names)
    for side in ("forward", "backward"):  # numbers and words in one column
        verdicts[side] = [f"{v:.10g}" if isinstance(v, float) else v for v in verdicts[side]]
    write(verdicts, out / f"{name}_verdicts.csv")
    headcounts = pd.DataFrame(map(vars, comparison.headcounts)).replace(names)
    write(headcounts, out / f"{name}_individuals.csv")
    save_one(lambda: plot_comparison(comparison), out / f"{name}_vectors.png", force=True)


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a small table."""
    frame.to_csv(path, index=False, float_format="%.10g", lineterminator="\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Do both parts."""
    parser = argparse.ArgumentParser(description="Compare anonymizations person by person.")
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write to")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--source-only", action="store_true", help="without Adult")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    write_source(given.out)
    if not given.source_only:
        write_adult(given.out, given.threads)


if __name__ == "__main__":
    main()
