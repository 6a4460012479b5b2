"""Figures 3 to 15 of "k-anonymity Diagnosis Centre" (Z), and what the search costs.

    python experiments/diagnosis_centre.py figures    # tables and pictures, about a minute
    python experiments/diagnosis_centre.py bench      # times, two to three minutes

Z works on an excerpt of 29,120 rows of Adult that it does not publish; here it is the 30,162
complete rows, with the same eight columns. So numbers differ from Z's, and only Figure 3, whose
table is printed in Z, can be compared one by one.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from moanon import datasets
from moanon.atomic import StagedFiles
from moanon.diagnosis import (
    BorderAnswer,
    CurvesAnswer,
    Diagnosis,
    DiagnosisAnswer,
    SetsAnswer,
    SubsetAnswer,
)
from moanon.output.diagnosis_figures import draw_answer, plot_curve
from moanon.output.figure_style import COLOURS

COLUMNS = (
    "age",
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
)
#: Z Figure 2.
EXAMPLE = pd.DataFrame(
    [
        *(["1", "A", "1", "a", "*"], ["1", "A", "1", "a", "*"], ["2", "A", "1", "b", "*"]),
        *(["2", "B", "1", "b", "+"], ["2", "B", "1", "a", "+"], ["3", "B", "1", "a", "+"]),
        *(["3", "A", "2", "b", "*"], ["3", "A", "2", "b", "*"], ["3", "A", "2", "a", "*"]),
        *(["3", "B", "2", "a", "+"], ["3", "B", "2", "b", "+"], ["3", "B", "2", "b", "+"]),
    ],
    columns=list("VWXYZ"),
)
SMALL_SET = ("age", "occupation", "sex")
QUESTION_9 = ("age", "workclass", "marital-status", "occupation", "sex", "native-country")
FIGURE_15 = ("age", "workclass", "marital-status", "occupation", "sex")


def joined(columns: tuple[str, ...]) -> str:
    """Write a set of columns into one cell."""
    return " + ".join(columns)


class Folder:
    """Where results go; each file appears whole."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path

    def table(self, name: str, frame: pd.DataFrame) -> None:
        """Write a table."""
        shown = frame.copy()
        if "columns" in shown:
            shown["columns"] = shown["columns"].map(joined)
        target = self.path / f"{name}.csv"
        with StagedFiles(target, force=True) as staged:
            shown.to_csv(staged[target], index=False, float_format="%.6g", lineterminator="\n")
            staged.move()
        print(f"wrote {target}")

    def picture(self, name: str, drawn: Figure | DiagnosisAnswer) -> None:
        """Write a picture, or that of an answer."""
        target = self.path / f"{name}.png"
        with StagedFiles(target, force=True) as staged:
            if isinstance(drawn, Figure):
                drawn.savefig(staged[target], format="png", dpi=110)
            else:
                draw_answer(drawn, staged[target], "png")
            staged.move()
        print(f"wrote {target}")


def cpu(task: Callable[[], object], repeat: int = 3) -> float:
    """Least CPU milliseconds of some repetitions."""
    spent = []
    for _ in range(repeat):
        start = time.process_time()
        task()
        spent.append(time.process_time() - start)
    return 1000 * min(spent)


# -- figures ---------------------------------------------------------------------------------------


def figure_3(folder: Folder) -> None:
    """The worked example: every set with its k, and which of them algorithm 2 groups."""
    example = Diagnosis.read(EXAMPLE)
    border = example.ask(level=3)
    assert isinstance(border, BorderAnswer)
    every = example.ask(delta="ask")
    assert isinstance(every, CurvesAnswer)
    tops = [set(each.columns) for each in border.safe]
    bottoms = [set(each.columns) for each in border.unsafe]
    rows = []
    for mask, curve in zip(every.masks.tolist(), every.curves, strict=True):
        columns = every.columns_of(mask)
        grouped = any(set(columns) <= top for top in tops) or set(columns) in bottoms
        rows.append((columns, len(columns), curve.level, grouped))
    frame = pd.DataFrame(rows, columns=["columns", "size", "k", "grouped"])
    assert frame["grouped"].sum() == border.effort.grouped
    folder.table("figure_03_example", frame)
    folder.picture("figure_03_example", border)
    found = ", ".join(joined(each.columns) for each in border.safe)
    print(f"  k = 3: {found}; {border.effort.grouped} of {border.effort.sets} sets grouped")


def figures_4_to_8(folder: Folder, adult: Diagnosis) -> None:
    """One table each for questions 4, 8, 10, 11 and 12."""
    for name, delta in (("figure_04_question_4", None), ("figure_05_question_8", 0.1)):
        answer = adult.ask(delta=delta)
        assert isinstance(answer, SetsAnswer)
        folder.table(name, answer.to_frame())
        folder.picture(f"{name}_pairs", answer)
    folder.table("figure_06_question_10", adult.ask(level=3, delta="ask").to_frame())
    eleventh = adult.ask(subset=SMALL_SET, delta="ask")
    folder.table("figure_07_question_11", eleventh.to_frame())
    twelfth = adult.ask(delta="ask")
    assert isinstance(twelfth, CurvesAnswer)
    steps = (1, 2, 3, 5, 10, 20, 50)
    rows = []
    for mask, curve in zip(twelfth.masks.tolist(), twelfth.curves, strict=True):
        costs = [curve.cost(k) for k in steps]
        shares = [1.0 if cost is None else cost / adult.rows for cost in costs]
        rows.append((twelfth.columns_of(mask), *shares))
    frame = pd.DataFrame(rows, columns=["columns", *(f"delta_k{k}" for k in steps)])
    folder.table("figure_08_question_12", frame)
    folder.picture("figure_08_question_12", twelfth)
    folder.picture("question_7_border", adult.ask(level=3, delta=0.1))


def figures_9_to_12(folder: Folder, adult: Diagnosis) -> None:
    """Sets grouped, and time, against k: question 3 and question 7."""
    rows = []
    for k in range(1, 51):
        row: list[float] = [k]
        for delta in (None, 0.1):
            answer = adult.ask(level=k, delta=delta)
            assert isinstance(answer, BorderAnswer)
            row += [
                answer.effort.grouped,
                cpu(partial(adult.ask, level=k, delta=delta)),
            ]
        rows.append(row)
    names = ["k", "grouped", "cpu_ms", "grouped_delta_0.1", "cpu_ms_delta_0.1"]
    frame = pd.DataFrame(rows, columns=names).astype({"k": int, "grouped": int, names[3]: int})
    folder.table("figures_09_to_12_calls_by_k", frame)
    both = {"no suppression (question 3)": names[1:3], "δ = 0.1 (question 7)": names[3:5]}
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    calls = {name: (frame["k"].tolist(), frame[c].tolist()) for name, (c, _) in both.items()}
    times = {name: (frame["k"].tolist(), frame[t].tolist()) for name, (_, t) in both.items()}
    plot_counts(calls, left, across="k", up="sets grouped", most=255)
    plot_counts(times, right, across="k", up="CPU milliseconds")
    folder.picture("figures_09_to_12_calls_by_k", figure)


def figures_13_and_14(folder: Folder, adult: Diagnosis) -> None:
    """Sets grouped, and time, against δ: k of all sets (questions 4 and 8)."""
    rows = []
    for delta in np.linspace(0, 0.9, 46).round(4).tolist():
        answer = adult.ask(delta=delta)
        rows.append((delta, answer.effort.grouped, cpu(partial(adult.ask, delta=delta))))
    frame = pd.DataFrame(rows, columns=["delta", "grouped", "cpu_ms"])
    folder.table("figures_13_14_calls_by_delta", frame)
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    x = frame["delta"].tolist()
    calls = {"": (x, frame["grouped"].tolist())}
    plot_counts(calls, left, across="δ", up="sets grouped", most=255)
    times = {"": (x, frame["cpu_ms"].tolist())}
    plot_counts(times, right, across="δ", up="CPU milliseconds")
    folder.picture("figures_13_14_calls_by_delta", figure)


def plot_counts(
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    ax: Axes,
    *,
    across: str,
    up: str,
    most: float | None = None,
) -> None:
    """Draw counts or times against a parameter; a dashed line where there can be no more.

    Parameters
    ----------
    lines : mapping of str to (x, y)
        One line each, by its name.
    ax : Axes
        Where to draw.
    across, up : str
        What the axes show.
    most : float, optional
        The number that a search without any pruning would need.
    """
    for (name, (x, y)), colour, marker in zip(lines.items(), COLOURS, "osD^vPX", strict=False):
        ax.plot(x, y, color=colour, marker=marker, markersize=3.5, linewidth=1.2, label=name)
    if most is not None:
        ax.axhline(most, color="#555555", linewidth=0.9, linestyle=(0, (4, 3)))
        ax.annotate(
            f"all {most:,g} sets", (1, most), (-4, 3), xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="right", fontsize=8, color="#555555",
        )  # fmt: skip
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    ax.set_ylim(0, None if most is None else 1.1 * most)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color="#E6E6E6", linewidth=0.6)
    ax.set_axisbelow(True)
    if len(lines) > 1:
        ax.legend(frameon=False, fontsize=8)


def figure_15(folder: Folder, adult: Diagnosis) -> None:
    """K of one set against δ."""
    answer = adult.ask(subset=FIGURE_15, delta="ask")
    assert isinstance(answer, SubsetAnswer)
    folder.table("figure_15_curve", answer.to_frame())
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    curves = {joined(FIGURE_15): answer.curve, joined(SMALL_SET): adult.curve(SMALL_SET)}
    plot_curve(curves, figure.add_subplot())
    folder.picture("figure_15_curve", figure)


def the_case(folder: Folder, adult: Diagnosis) -> None:
    """Z's §6, question by question, on these rows."""
    asked: list[dict[str, Any]] = [
        {"subset": SMALL_SET, "level": 3},
        {"subset": SMALL_SET},
        {"level": 3},
        {"subset": SMALL_SET, "level": 3, "delta": 0.1},
        {"subset": SMALL_SET, "delta": 0.01},
        {"subset": SMALL_SET, "delta": 0.02},
        {"level": 3, "delta": 0.1},
        {"subset": QUESTION_9, "level": 3, "delta": "ask"},
    ]
    rows = []
    for given in asked:
        answer = adult.ask(**given)
        if isinstance(answer, BorderAnswer):
            found = "; ".join(joined(each.columns) for each in answer.safe)
        else:
            found = ", ".join(f"{name} = {value}" for name, value in answer.to_dict().items())
        rows.append((answer.asked.number, answer.asked.words(), found))
    folder.table("case", pd.DataFrame(rows, columns=["question", "asked", "answer"]))


def figures(folder: Folder) -> None:
    """Make all tables and pictures."""
    adult = Diagnosis.read(datasets.load("adult"), COLUMNS)
    figure_3(folder)
    figures_4_to_8(folder, adult)
    figures_9_to_12(folder, adult)
    figures_13_and_14(folder, adult)
    figure_15(folder, adult)
    the_case(folder, adult)


# -- bench -----------------------------------------------------------------------------------------


def sixteen_columns(rows: int = 100_000) -> pd.DataFrame:
    """A table with columns of 2 to 72 values, unevenly spread as in real ones."""
    rng = np.random.default_rng(16)
    values = (2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 8, 10, 12, 20, 72)
    return pd.DataFrame(
        {
            f"c{i:02d}": np.minimum(rng.geometric(min(0.5, 3 / m), rows), m).astype(str)
            for i, m in enumerate(values)
        }
    )


def bench(folder: Folder) -> None:
    """Time all subsets of Adult's columns against one pandas groupby each, and 16 columns."""
    adult = Diagnosis.read(datasets.load("adult"), COLUMNS)
    codes = datasets.load("adult")[list(COLUMNS)].apply(lambda column: pd.factorize(column)[0])
    frames = {"codes": codes, "categories": codes.astype("category")}
    sets = [list(chosen) for size in range(1, 9) for chosen in combinations(COLUMNS, size)]

    def pandas_k(frame: pd.DataFrame) -> list[int]:
        return [
            int(frame.groupby(chosen, dropna=False, observed=True, sort=False).size().min())
            for chosen in sets
        ]

    answer = adult.ask(delta=0.1)  # compiles
    assert isinstance(answer, SetsAnswer)
    plain = adult.ask()
    assert isinstance(plain, SetsAnswer)
    assert plain.levels is not None
    assert plain.levels.tolist() == pandas_k(codes)  # the same k, set by set
    ours: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in frames}
    for _ in range(5):  # taken in turn, so that a busy machine is busy for both
        ours.append(cpu(partial(adult.ask, delta=0.1)))
        for name, frame in frames.items():
            theirs[name].append(cpu(partial(pandas_k, frame), repeat=1))
    mine, best = float(np.median(ours)), min(float(np.median(t)) for t in theirs.values())
    record: dict[str, object] = {
        "adult": {
            "sets": 255,
            "grouped": answer.effort.grouped,
            "cpu_ms": round(mine, 1),
            "pandas_cpu_ms": {name: round(float(np.median(t)), 1) for name, t in theirs.items()},
            "times_faster": round(best / mine, 1),
        }
    }
    print(
        f"255 sets of Adult, delta 0.1: {mine:.1f} ms CPU; pandas {best:.0f} ms; x{best / mine:.0f}"
    )
    wide = Diagnosis.read(sixteen_columns())
    for delta in (0.0, 0.1):
        start, clock = time.process_time(), time.perf_counter()
        found = wide.ask(delta=delta)
        spent, seconds = time.process_time() - start, time.perf_counter() - clock
        effort = found.effort
        print(
            f"16 columns, 100,000 rows, delta {delta}: {effort.grouped:,} of {effort.sets:,} sets "
            f"grouped in {spent:.1f} s CPU, {seconds:.1f} s"
        )
        record[f"sixteen_columns_delta_{delta}"] = {
            "sets": effort.sets,
            "grouped": effort.grouped,
            "cpu_s": round(spent, 1),
            "clock_s": round(seconds, 1),
        }
    target = folder.path / "bench.json"
    with StagedFiles(target, force=True) as staged:
        staged[target].write_text(f"{json.dumps(record, indent=2)}\n", encoding="utf-8")
        staged.move()


def main() -> None:
    """Make what is asked for."""
    parser = argparse.ArgumentParser(description="Figures and times of the diagnosis centre.")
    parser.add_argument("what", choices=["figures", "bench"])
    parser.add_argument("--out", type=Path, default=Path("results/diagnosis"))
    given = parser.parse_args()
    {"figures": figures, "bench": bench}[given.what](Folder(given.out))


if __name__ == "__main__":
    main()
