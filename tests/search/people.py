"""A small table of people, and how its runs are set up, for the tests of searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from moanon.config import SearchSection
from moanon.data.domain import DomainSpec, IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.data.table import read_table
from moanon.front import Front
from moanon.genome import Instance
from moanon.measures.suppression import find_preset
from moanon.search.archive import front_of
from moanon.search.archive_search import ExhaustiveSearch
from moanon.search.checkpoint import State
from moanon.search.problem import SearchProblem

PLACES = Hierarchy.from_nested(
    "Anywhere", {"North": ["Oslo", "Bergen"], "South": ["Rome", "Bari", "Pisa"]}
)
SIZES = ("S", "M", "L", "XL")
ILLS = ("flu", "gout", "cold", "none")


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


def problem_of(preset: str, instance: Instance | None = None, **settings: Any) -> SearchProblem:
    """One of the four problems on the table; `settings` go to its suppression."""
    chosen = find_preset(preset).with_settings(**settings)
    return SearchProblem(instance or people(), chosen.objectives, chosen.suppression)


def settings_of(**keys: Any) -> SearchSection:
    """A search section; small unless told."""
    return SearchSection(**{"population": 20, "generations": 6, **keys})


class Memory:
    """Keeps every state it is given."""

    def __init__(self) -> None:
        self.states: list[State] = []

    def save(self, state: State) -> None:
        self.states.append({name: array.copy() for name, array in state.items()})


def first_front(problem: SearchProblem, genomes: int = 600) -> Front:
    """The front of the first few hundred genomes."""
    search = ExhaustiveSearch(problem, population=genomes)
    search.step()
    return front_of(problem, search.archive, cap=100_000)
