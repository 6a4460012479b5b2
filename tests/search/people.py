"""A small table of people, its configurations, and how searches on it are set up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from moanon.arrays import State
from moanon.config import SearchSection
from moanon.data.domain import DomainSpec, IntervalSpec, OrderedDomain, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.front import Front
from moanon.genome import Instance, Layout
from moanon.measures.suppression import Preset, find_preset
from moanon.search.archive import Archive, front_of
from moanon.search.archive_search import ExhaustiveSearch
from moanon.search.problem import AnonymizationProblem

PLACES = Hierarchy.from_nested(
    "Anywhere", {"North": ["Oslo", "Bergen"], "South": ["Rome", "Bari", "Pisa"]}
)
SIZES = ("S", "M", "L", "XL")
#: Genomes of one bit, for archives whose points come from nowhere.
ONE_BIT = Layout({"size": OrderedDomain(("S", "L"))})
ILLS = ("flu", "gout", "cold", "none")
#: The four problems, and what they need to be told.
PROBLEMS: dict[str, dict[str, Any]] = {
    "zero-suppression": {},
    "k-suppression": {"eta": 0.1},
    "any-suppression": {},
    "kl-safety": {"eta": 0.2},
}
#: A tree of the ills, for configurations that measure how far they are apart.
ILL_TREE = "Any:\n  Bad: [flu, gout]\n  Good: [cold, none]\n"
#: The columns of the table in a configuration that lies beside ``place.yaml``.
COLUMNS = {
    "age": "{role: quasi, kind: interval, range: [20, 27]}",
    "size": "{role: quasi, kind: ordered, order: [S, M, L, XL]}",
    "place": "{role: quasi, kind: tree, hierarchy: place.yaml}",
    "ill": "{role: sensitive}",
}
AGE_AND_SIZE = {name: COLUMNS[name] for name in ("age", "size")}


def people_frame(rows: int = 120, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 28, rows),
            "size": rng.choice(SIZES, rows, p=[0.4, 0.3, 0.2, 0.1]),
            "place": rng.choice(PLACES.leaves, rows),
            "ill": rng.choice(ILLS, rows, p=[0.5, 0.2, 0.2, 0.1]),
        }
    )


def people(rows: int = 120, seed: int = 0, *, sensitive: bool = True) -> Instance:
    """120 people; their table has 2^7 * 2^3 * 5 = 5,120 valid genomes."""
    frame = people_frame(rows, seed)
    specs: dict[str, DomainSpec] = {
        "age": IntervalSpec(1, (20, 27)),
        "size": OrderedSpec(SIZES),
        "place": TreeSpec(PLACES),
    }
    roles = dict.fromkeys(specs, "quasi") | ({"ill": "sensitive"} if sensitive else {})
    return Instance.build(read_table(frame, roles), specs)


def write_people(folder: Path) -> None:
    """Put the table into a folder, as ``people.csv``, and the tree of its places beside it."""
    people_frame().to_csv(folder / "people.csv", index=False)
    (folder / "place.yaml").write_text(PLACES.to_yaml())


def config_text(columns: Mapping[str, str] = COLUMNS, generations: int = 5, **more: str) -> str:
    """A configuration for ``people.csv``: a short search, and no pictures unless told."""
    sections = {
        "data": "{source: people.csv}",
        "columns": "".join(f"\n  {name}: {what}" for name, what in columns.items()),
        "search": f"{{algorithm: archive, population: 20, generations: {generations}}}",
        "output": "{plots: false, report: false}",
    }
    return "".join(f"{name}: {what}\n" for name, what in (sections | more).items())


def problem_of(
    preset: str, instance: Instance | None = None, **settings: Any
) -> AnonymizationProblem:
    """One of the four problems on the table; `settings` go to its suppression."""
    return problem_under(instance or people(), find_preset(preset).with_settings(**settings))


def problem_under(instance: Instance, preset: Preset) -> AnonymizationProblem:
    return AnonymizationProblem(instance, preset.objectives, preset.suppression)


def settings_of(**keys: Any) -> SearchSection:
    """A search section; small unless told."""
    return SearchSection(**{"population": 20, "generations": 6, **keys})


class Memory:
    """Keeps every state it is given."""

    def __init__(self) -> None:
        self.states: list[State] = []

    def save(self, state: State) -> None:
        self.states.append({name: array.copy() for name, array in state.items()})


def exact_archive(problem: AnonymizationProblem) -> Archive:
    """The front of all genomes, in order."""
    search = ExhaustiveSearch(problem)
    while not search.exhausted:
        search.step()
    search.archive.sort()
    return search.archive


def first_front(problem: AnonymizationProblem, genomes: int = 600) -> Front:
    """The front of the first few hundred genomes."""
    search = ExhaustiveSearch(problem, population=genomes)
    search.step()
    return front_of(problem, search.archive, cap=100_000)


def found_front(preset: str = "k-suppression", **settings: Any) -> Front:
    """The first front of one of the four problems on the table."""
    return first_front(problem_of(preset, **(PROBLEMS[preset] | settings)))
