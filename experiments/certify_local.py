"""Export every solution of many local fronts, and work each file out again without moanon.

Random tables, with and without sets of nodes as labels, with each bound on sensitive values and
three limits of suppression. Every solution is exported; from the written file and the original
rows alone, plain Python then finds what each label stands for, whether every row is where its label
says, what the release loses, its k, and what every group gives away of the sensitive column. All of
that is compared with the front (whole numbers exactly, others to a relative 1e-9), and every group
is held against the bound.

    python experiments/certify_local.py                  some minutes
    python experiments/certify_local.py --rows 40        a first look

writes ``results/local_releases.csv`` and exits with 1 if a single value differs.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

import moanon
from moanon.front import Front

REPOSITORY = Path(__file__).parents[1]
ETAS = (0.0, 0.05, 0.2)
#: Bounds on every group: the measure, whether it is a least or a most, and the number.
BOUNDS: tuple[tuple[str, str, float] | None, ...] = (
    None,
    ("l_distinct", "min", 3),
    ("l_frequency", "min", 2),
    ("l_entropy", "min", 2.5),
    ("l_recursive", "min", 2),
    ("t_closeness", "max", 0.25),
    ("t_js", "max", 0.08),
    ("delta", "max", 1.6),
    ("delta_present", "max", 1.0),
    ("alpha", "max", 0.5),
)
#: The constant of recursive diversity, as moanon has it where nothing is said.
RECURSIVE_C = 3
_RELATIVE = 1e-9

SOUTH = {"Italy": ["Rome", "Bari"], "Spain": ["Madrid", "Cadiz", "Vigo"], "Malta": ["Mdina"]}
NORTH = {"Norway": ["Oslo", "Bergen", "Bodo"], "Iceland": ["Vik", "Hella"]}
PLACES = {"Earth": {"North": NORTH, "South": SOUTH, "East": ["Tokyo", "Seoul"]}}
HANDS, HEAD = ["baker", "smith", "tailor"], ["clerk", "teacher"]
WORK = {"Any": {"Hands": HANDS, "Head": HEAD, "Idle": ["none"]}}
SCHOOLING = ["none", "primary", "secondary", "college", "university"]
ILLNESSES = ["flu", "cold", "gout", "asthma", "cancer"]
AGES = range(20, 80)
STEP = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Certify all fronts, write the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tables", type=int, default=1, help="of each kind of front")
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "results" / "local_releases.csv")
    options = parser.parse_args(arguments)
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for labels in ("nodes", "sets"):
            for bound in BOUNDS:
                for eta in ETAS:
                    fronts = (
                        certify(folder, seed, options.rows, labels, bound, eta)
                        for seed in range(options.tables)
                    )
                    row = {"labels": labels, "bound": _told(bound), "eta": eta, **_summed(fronts)}
                    print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
                    found.append(row)
    table = pd.DataFrame(found)
    table.to_csv(options.out, index=False, lineterminator="\n")
    print(table[["releases", "groups", "values_compared", "mismatches"]].sum().to_string())
    return int(table["mismatches"].sum() > 0)


def _told(bound: tuple[str, str, float] | None) -> str:
    if bound is None:
        return ""
    name, side, number = bound
    return f"{name} {'>=' if side == 'min' else '<='} {number:g}"


def _summed(found: Iterator[dict[str, int]]) -> dict[str, int]:
    total = Counter[str]()
    for each in found:
        total.update(each)
    return {name: total[name] for name in ("releases", "groups", "values_compared", "mismatches")}


def certify(
    folder: Path,
    seed: int,
    rows: int,
    labels: str,
    bound: tuple[str, str, float] | None,
    eta: float,
) -> dict[str, int]:
    """Export all solutions of the front of one table; count what was compared and what differs."""
    original = people(seed, rows)
    front = local_front(folder, original, labels, bound, eta)
    shown = [Shown.of_steps(AGES, STEP), Shown.of_order(SCHOOLING)]
    shown += [Shown.of_tree(PLACES), Shown.of_tree(WORK)]
    counted = Counter[str](releases=len(front))
    for solution in front.ids.tolist():
        path = folder / "release.csv"
        front.release(solution).write(path, force=True)
        with path.open(newline="", encoding="utf-8") as file:
            released = list(csv.DictReader(file))
        measured, groups, misplaced = measure(original, released, shown, bound)
        said = {name: column[solution - 1].item() for name, column in front.measures.items()}
        wrong = [name for name, value in measured.items() if not _agree(value, said[name])]
        if measured["suppressed"] > eta * rows:
            wrong.append(f"more than {eta} suppressed")
        counted.update(groups=groups, values_compared=len(measured) + groups)
        counted.update(mismatches=len(wrong) + misplaced)
        if wrong or misplaced:
            print(f"table {seed}, solution {solution}: {wrong}, {misplaced} groups or rows wrong")
    return dict(counted)


# -- tables and fronts -----------------------------------------------------------------------------


def people(seed: int, rows: int) -> pd.DataFrame:
    """Rows whose illness depends on age and place, so that bounds on it are not met by chance."""
    rng = np.random.default_rng(seed)
    place, work = list(_leaves(PLACES)), list(_leaves(WORK))
    weights = np.linspace(3, 1, len(place))
    table = pd.DataFrame(
        {
            "row": np.arange(rows),
            "age": rng.choice(np.array(AGES), rows),
            "schooling": rng.choice(SCHOOLING, rows),
            "place": rng.choice(place, rows, p=weights / weights.sum()),
            "work": rng.choice(work, rows),
        }
    )
    likely = (table["age"] // 15 + table["place"].map(place.index)) % len(ILLNESSES)
    drawn = rng.choice(len(ILLNESSES), rows, p=[0.35, 0.25, 0.2, 0.15, 0.05])
    chosen = np.where(rng.random(rows) < 0.4, likely, drawn)
    return table.assign(illness=np.array(ILLNESSES)[chosen])


def local_front(
    folder: Path,
    table: pd.DataFrame,
    labels: str,
    bound: tuple[str, str, float] | None,
    eta: float,
) -> Front:
    """Search for k and loss."""
    trees = {}
    for name, tree in {"place": PLACES, "work": WORK}.items():
        path = folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(tree, sort_keys=False), encoding="utf-8")
        trees[name] = {"role": "quasi", "kind": "tree", "hierarchy": str(path), "labels": labels}
    columns: dict[str, dict[str, Any]] = {
        "row": {"role": "insensitive"},
        "age": {
            "role": "quasi",
            "kind": "interval",
            "granularity": STEP,
            "range": [AGES.start, AGES.stop - 1],
        },
        "schooling": {"role": "quasi", "kind": "ordered", "order": SCHOOLING},
        **trees,
        "illness": {"role": "sensitive"},
    }
    problem: dict[str, Any] = {"recoding": "local", "eta": eta, "objectives": ["k", "loss"]}
    if bound is not None:
        problem["constraints"] = {bound[0]: {bound[1]: bound[2]}}
    return moanon.optimize(table, columns, problem=problem, threads=1, progress=False)


# -- what a file shows -----------------------------------------------------------------------------


class Shown:
    """The base values of a column in their order, and what its labels stand for."""

    def __init__(self, values: Sequence[str], named: Mapping[str, tuple[int, int]]) -> None:
        self.values = list(values)
        self.named = named

    @classmethod
    def of_steps(cls, numbers: range, step: int) -> Shown:
        """Numbers in steps; labels such as ``[20-29]``."""
        starts = [*range(numbers.start, numbers.stop, step), numbers.stop]
        return cls(
            [str(start) for start in starts[:-1]],
            {
                f"[{a}-{b - 1}]": (i, j)
                for i, a in enumerate(starts)
                for j, b in enumerate(starts)
                if i < j
            },
        )

    @classmethod
    def of_order(cls, values: Sequence[str]) -> Shown:
        """Values in an order; labels such as ``first..last``."""
        spans = [(i, j) for i in range(len(values)) for j in range(i + 1, len(values))]
        return cls(values, {f"{values[i]}..{values[j]}": (i, j + 1) for i, j in spans})

    @classmethod
    def of_tree(cls, tree: Mapping[str, Any]) -> Shown:
        """Leaves of a tree; labels are names of nodes, alone or several in braces."""
        leaves, named = list(_leaves(tree)), {}
        for name, below in _nodes(tree):
            places = [leaves.index(leaf) for leaf in below]
            named[name] = min(places), max(places) + 1
        return cls(leaves, named)

    def block(self, label: str) -> tuple[int, int]:
        """First base value and the one after the last that a label stands for."""
        if label == "*":
            return 0, len(self.values)
        if label.startswith("{"):
            parts = [self.block(part) for part in label[1:-1].split(", ")]
            assert all(one[1] == next_[0] for one, next_ in pairwise(parts))
            return parts[0][0], parts[-1][1]
        if label in self.named:
            return self.named[label]
        place = self.values.index(label)
        return place, place + 1

    def place(self, value: object) -> int:
        """Base value of a value of the table."""
        if isinstance(value, str):
            return self.values.index(value)
        return sum(int(start) <= int(str(value)) for start in self.values) - 1


def _leaves(tree: Any) -> Iterator[str]:
    for each in tree:
        if isinstance(tree, Mapping):
            yield from _leaves(tree[each])
        else:
            yield each


def _nodes(tree: Any) -> Iterator[tuple[str, list[str]]]:
    if isinstance(tree, Mapping):
        for name, below in tree.items():
            yield name, list(_leaves(below))
            yield from _nodes(below)


def measure(
    original: pd.DataFrame,
    released: Sequence[Mapping[str, str]],
    shown: Sequence[Shown],
    bound: tuple[str, str, float] | None,
) -> tuple[dict[str, float], int, int]:
    """Measures of a released file; its groups; and how many cells and groups are wrong."""
    quasi = ["age", "schooling", "place", "work"]
    rows, table = original.set_index("row"), Counter(original["illness"])
    lost, wrong, groups = Fraction(0), 0, defaultdict(list)
    for row in released:
        there = rows.loc[int(row["row"])]
        wrong += there["illness"] != row["illness"]
        for name, column in zip(quasi, shown, strict=True):
            start, stop = column.block(row[name])
            wrong += not start <= column.place(there[name]) < stop
            lost += Fraction(stop - start - 1, len(column.values) - 1)
        groups[tuple(row[name] for name in quasi)].append(row["illness"])
    suppressed = len(original) - len(released)
    found: dict[str, float] = {
        "k": min(map(len, groups.values())),
        "groups": len(groups),
        "suppressed": suppressed,
        "loss": float((lost / len(quasi) + suppressed) / len(original)),
    }
    for name, (model, worst) in MODELS.items():
        each = [model(Counter(values), table) for values in groups.values()]
        found[name] = worst(each)
        if bound is not None and bound[0] == name:
            _, side, number = bound
            slack = _RELATIVE * number
            met = [v >= number - slack if side == "min" else v <= number + slack for v in each]
            wrong += met.count(False)
    return found, len(groups), int(wrong)


def _agree(found: float, said: float) -> bool:
    if float(found).is_integer() and float(said).is_integer():
        return found == said
    return math.isclose(found, said, rel_tol=_RELATIVE, abs_tol=1e-10)


# -- what a group gives away -----------------------------------------------------------------------

Rows = Counter[str]


def _recursive(rows: Rows, _: Rows) -> float:
    r = sorted(rows.values(), reverse=True)
    return max((i + 1 for i in range(len(r)) if r[0] < RECURSIVE_C * sum(r[i:])), default=0)


def _entropy(rows: Rows, _: Rows) -> float:
    n = rows.total()
    return math.exp(-sum(c / n * math.log(c / n) for c in rows.values()))


def _equal(rows: Rows, table: Rows) -> float:
    n, whole = rows.total(), table.total()
    return float(sum(abs(Fraction(rows[s], n) - Fraction(table[s], whole)) for s in table) / 2)


def _js(rows: Rows, table: Rows) -> float:
    n, whole, total = rows.total(), table.total(), 0.0
    for s in table:
        p, q = rows[s] / n, table[s] / whole
        total += q * math.log(2 * q / (p + q)) + (p * math.log(2 * p / (p + q)) if p else 0)
    return total / 2


def _delta_present(rows: Rows, table: Rows) -> float:
    n, whole = rows.total(), table.total()
    return max(abs(math.log(Fraction(rows[s], n) / Fraction(table[s], whole))) for s in rows)


def _delta(rows: Rows, table: Rows) -> float:
    return math.inf if len(rows) < len(table) else _delta_present(rows, table)


Model = Callable[[Rows, Rows], float]
#: Each model of a group with its sensitive values and those of the table, and which is the worst.
MODELS: dict[str, tuple[Model, Callable[[list[float]], float]]] = {
    "l_distinct": (lambda rows, _: len(rows), min),
    "l_frequency": (lambda rows, _: rows.total() // max(rows.values()), min),
    "l_entropy": (_entropy, min),
    "l_recursive": (_recursive, min),
    "alpha": (lambda rows, _: max(rows.values()) / rows.total(), max),
    "t_closeness": (_equal, max),
    "t_js": (_js, max),
    "delta": (_delta, max),
    "delta_present": (_delta_present, max),
}


if __name__ == "__main__":
    sys.exit(main())
