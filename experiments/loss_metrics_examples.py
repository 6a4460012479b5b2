"""The small examples of M (Marchand), as our trees, lattices and algorithms make them.

    python experiments/loss_metrics_examples.py

writes ``figure2.png`` (a hierarchy), ``figure4.png`` (lattices), ``figure5.png`` (Incognito) and
``figure6.png`` (Mondrian) to ``results/limits_of_loss_metrics``, beside the figures of its results
that ``limits_of_loss_metrics.py`` makes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from moanon import Hierarchy, Instance, IntervalSpec, OrderedSpec, TreeSpec, read_table
from moanon.baselines import find_baseline
from moanon.baselines.lattice import Lattice
from moanon.output.figure_files import write_figures
from moanon.output.figure_style import (
    BLUE,
    GREY,
    INK,
    LABEL,
    PAGE,
    SMALL,
    VERMILION,
    dress,
    new_figure,
    title,
)
from moanon.output.figure_style import write as write_text


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    out = Path(__file__).parents[1] / "results" / "limits_of_loss_metrics"
    parser.add_argument("--out", type=Path, default=out)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Callable[[], Figure]] = {
        "figure2": draw_trees,
        "figure4": draw_lattices,
        "figure5": draw_incognito,
        "figure6": draw_mondrian,
    }
    write_figures(figures, options.out, ["png"])


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
    """M Fig. 5: what Incognito counts and infers, set of columns by set of columns."""
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
                colours[node] = _known_of(whole, counted)
            names = [tuple(specs)[column] for column in chosen]
            _draw_lattice(ax, part, ", ".join(names), colours=colours)
    meanings = {VERMILION: "k-anonymous", INK: "not, as counted", GREY: "not, as inferred"}
    for colour, words in meanings.items():
        figure.axes[0].plot([], [], "o", color=colour, label=words)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=SMALL)
    return figure


def _known_of(node: Sequence[int], counted: Mapping[tuple[int, ...], bool]) -> str:
    """The colour of a node: what is above a k-anonymous one is k-anonymous, too."""
    for other, is_enough in counted.items():
        if is_enough and all(a <= b for a, b in zip(other, node, strict=True)):
            return VERMILION
    return INK if tuple(node) in counted else GREY


def _counted_nodes(instance: Instance, k: int) -> dict[tuple[int, ...], bool]:
    """Nodes whose groups Incognito counts, and whether they are enough."""
    counted: dict[tuple[int, ...], bool] = {}
    check: Callable[[Lattice, Any], Any] = Lattice.check

    def noted(lattice: Lattice, nodes: Any) -> Any:
        found = check(lattice, nodes)
        counted.update(zip(map(tuple, nodes.tolist()), found[0].tolist(), strict=True))
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


if __name__ == "__main__":
    main()
