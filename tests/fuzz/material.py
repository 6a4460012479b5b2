"""A table with values of every kind that nobody could mistake, and all files that moanon makes.

The same folder serves those who spoil its files and those who look for its values where they must
not be.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from unittest.mock import patch

import duckdb
import yaml

from moanon.arrays import State
from moanon.config import Config
from moanon.data.hierarchy import Hierarchy
from moanon.experiment import Experiment, load_front, plan
from moanon.front import Front
from moanon.grouping import Grouping
from moanon.measures.suppression import Suppression
from moanon.recoding import LocalRecodings
from moanon.search.checkpoint import Checkpoints

#: Sizes of shirts, in order.
SIZES = ("S", "M", "L", "XL")
CONFIG = """\
name: people
data: {source: people.csv, missing: category, missing_tokens: ['', '?'], delimiter: ','}
columns:
  name: {role: identifying}
  age: {role: quasi, kind: interval, granularity: 10, range: [10, 89], weight: 2}
  income: {role: quasi, kind: interval, granularity: 25000, range: [0, 99999.99], type: decimal}
  joined: {role: quasi, kind: interval, granularity: year, range: ['2001-01-01', '2004-12-31']}
  size: {role: quasi, kind: ordered, order: [S, M, L, XL]}
  town: {role: quasi, kind: tree, hierarchy: town.yaml}
  ill: {role: sensitive, kind: tree, hierarchy: ill.csv}
  shoe: {role: insensitive}
problem:
  preset: k-suppression
  eta: 0.3
  objectives: [k, loss]
  constraints: {k: {min: 2}, loss: {max: 0.99}}
  class_column: shoe
  recursive_c: 3
  diversity: distinct
search: {algorithm: archive, population: 12, generations: 3, seed: 1, cap: 40}
output: {dir: people, plots: false, report: false}
"""


@dataclass(frozen=True)
class People:
    """The rows, by column, and the trees of towns and ills."""

    columns: Mapping[str, list[str]]
    towns: Hierarchy
    ills: Hierarchy

    @property
    def rows(self) -> list[list[str]]:
        """The header and the rows."""
        rows = zip(*self.columns.values(), strict=True)
        return [list(self.columns), *(list(row) for row in rows)]


def draw_people(rng: Random, rows: int = 60) -> People:
    """Draw a table: names, incomes, dates and notes of their own, and some towns and ills, too."""
    rare, common = [_word(rng) for _ in range(6)], [_word(rng) for _ in range(4)]
    towns = {f"region-{i}": [*rare[i::2], *common[i::2]] for i in range(2)}
    ills = {"light": [_word(rng) for _ in range(3)], "grave": [_word(rng) for _ in range(3)]}
    # Each rare town once, among the first rows; a rare ill goes with each.
    where = [*rare, *rng.choices(common, k=rows - len(rare))]
    usual = [*ills["light"][1:], *ills["grave"][1:]]
    what = [ills["light"][0], ills["grave"][0], *rng.choices(usual, k=rows - 2)]
    columns = {
        "name": [_word(rng) for _ in range(rows)],
        "age": [str(rng.randrange(20, 70)) for _ in range(rows)],
        "income": [f"{rng.randrange(10_000, 90_000)}.{rng.randrange(11, 99)}" for _ in range(rows)],
        "joined": [
            f"{rng.randrange(2001, 2005)}-{rng.randrange(2, 12):02}-{rng.randrange(2, 28):02}"
            for _ in range(rows)
        ],
        "size": rng.choices(SIZES, k=rows),
        "town": where,
        "ill": what,
        "shoe": rng.choices(["36", "40", "44"], k=rows),
        "memo": [_word(rng) for _ in range(rows)],
    }
    return People(
        columns, Hierarchy.from_nested("anywhere", towns), Hierarchy.from_nested("any", ills)
    )


def _word(rng: Random) -> str:
    """Fourteen letters that stand nowhere else."""
    return "".join(rng.choices("bcdfghjkmnpqrstvwxz", k=14))


def write_table(path: Path, people: People) -> None:
    """Write the table as CSV."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(people.rows)


def write_inputs(folder: Path, people: People, config: str) -> None:
    """Write the table in both formats, both hierarchies, and the configuration."""
    write_table(folder / "people.csv", people)
    duckdb.connect().sql(
        f"COPY (SELECT * FROM read_csv('{folder / 'people.csv'}', header = true)) "
        f"TO '{folder / 'people.parquet'}'"
    )
    (folder / "town.yaml").write_text(people.towns.to_yaml(), encoding="utf-8")
    with (folder / "ill.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=";", lineterminator="\n")
        for group, leaves in yaml.safe_load(people.ills.to_yaml())["any"].items():
            writer.writerows([leaf, group, "any"] for leaf in leaves)
    (folder / "people.yaml").write_text(config, encoding="utf-8")


def make_material(folder: Path, people: People, config: str = CONFIG) -> None:
    """Fill a folder with inputs and with what runs, fronts of boxes and exports leave behind.

    ``people`` is a finished run, ``boxes`` a front of boxes, ``begun`` a run with its checkpoints,
    ``released.csv`` and ``other.csv`` are two releases.
    """
    write_inputs(folder, people, config)
    (planned,) = plan([folder / "people.yaml"], out=str(folder / "people"))
    states = _run_aside(planned, folder / "begun")
    assert states, "a run saves its state at once"
    front = load_front(folder / "people")
    record = json.loads((folder / "people" / "run.json").read_text(encoding="utf-8"))
    texts = {"config.yaml": (folder / "people" / "config.yaml").read_text(encoding="utf-8")}
    (folder / "boxes").mkdir()
    boxes_of(front).save(folder / "boxes", record=record, texts=texts)
    front.release(1).write(folder / "released.csv")
    front.release(2).write(folder / "other.csv")


def _run_aside(config: Config, kept: Path) -> list[State]:
    """Run a configuration, and keep its checkpoints in a folder of its own as they are made."""
    states, save = [], Checkpoints.save

    def save_and_keep(self: Checkpoints, state: State) -> None:
        save(self, state)
        states.append(state)
        kept.mkdir(exist_ok=True)
        for path in (self.newest, self.previous):
            if path.exists():
                shutil.copy(path, kept)

    with patch.object(Checkpoints, "save", save_and_keep):
        Experiment.prepare(config).run()
    return states


def boxes_of(front: Front) -> Front:
    """A front of boxes: the groups of each solution, as boxes of their own."""
    assert front.instance is not None
    groupings = []
    for number in front.ids.tolist()[:4]:
        shown = front.grouping(number).released()
        groupings.append(
            Grouping.of_boxes(front.instance, shown.cell_group, shown.starts, shown.stops)
        )
    recodings = LocalRecodings.of_groupings(groupings)
    return Front.of_recodings(front.instance, Suppression("none"), ("k", "loss"), recodings)
