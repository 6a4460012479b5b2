"""A small table of patients, releases of it, and what is learned from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from moanon.baselines import find_baseline
from moanon.data.domain import IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.front import Front
from moanon.genome import Instance
from moanon.learning.lessons import Target
from moanon.learning.study import Key, Record, Study
from moanon.measures.suppression import Suppression
from moanon.recoding import LocalRecodings
from moanon.release.solution import Anonymization
from moanon.search.algorithms import Stop
from moanon.search.archive import front_of
from moanon.search.archive_search import ExhaustiveSearch
from moanon.search.local import LocalSearch
from moanon.search.problem import AnonymizationProblem
from moanon.search.running import run_search

PLACES = Hierarchy.from_nested("Anywhere", {"North": ["Oslo", "Bergen"], "South": ["Rome", "Bari"]})
SIZES = ("S", "M", "L")
SPECS = {
    "age": IntervalSpec(5, (20, 59)),
    "size": OrderedSpec(SIZES),
    "place": TreeSpec(PLACES),
}
ROLES = {
    "age": "quasi",
    "size": "quasi",
    "place": "quasi",
    "dose": "insensitive",
    "ill": "sensitive",
}


def patients_frame(rows: int = 400, seed: int = 3) -> pd.DataFrame:
    """People whose illness goes with their age, place and dose, more or less."""
    rng = np.random.default_rng(seed)
    age, place = rng.integers(20, 60, rows), rng.choice(PLACES.leaves, rows)
    dose = rng.normal(0, 1, rows).round(3)
    chance = 1 / (1 + np.exp(-(0.12 * (age - 40) + 1.5 * (place == "Oslo") + dose - 0.4)))
    ill = np.where(rng.random(rows) < chance, "yes", "no")
    size = rng.choice(SIZES, rows)
    return pd.DataFrame({"age": age, "size": size, "place": place, "dose": dose, "ill": ill})


def instance_of(frame: pd.DataFrame, roles: Mapping[str, str] | None = None) -> Instance:
    """Patients as a table, with their illness as the class column."""
    return Instance.build(read_table(frame, roles or ROLES), SPECS, label="ill")


def front_found(instance: Instance, eta: float, *, local: bool = False) -> Front:
    """All solutions between k and loss."""
    problem = AnonymizationProblem(instance, ("k", "loss"), Suppression("limit", eta))
    if local:
        found = LocalSearch(problem)
        run_search(found, Stop())
        return found.front(100)
    search = ExhaustiveSearch(problem)
    run_search(search, Stop())
    return front_of(problem, search.archive, 100)


def stored(instance: Instance, least_k: int, eta: float, *, local: bool = False) -> Anonymization:
    """The solution of the least loss with at least that k."""
    front = front_found(instance, eta, local=local)
    number = int(np.flatnonzero(front.measures["k"] >= least_k)[0]) + 1
    name = "local" if local else "global"
    return Anonymization(name, name, instance, solution=front.chosen(number))


def mondrian(instance: Instance, k: int) -> Anonymization:
    """Mondrian at one k."""
    grouping = find_baseline("mondrian").run(instance, k).grouping(instance)
    recodings = LocalRecodings.of_groupings([grouping])
    front = Front.of_recodings(instance, Suppression("limit"), ("k", "loss"), recodings)
    name = f"mondrian-{k}"
    made_by = "mondrian", k, dict[str, Any]()
    return Anonymization(name, name, instance, solution=front.chosen(1), made_by=made_by)


def studied(*anonymizations: Anonymization, threads: int = 1, **settings: Any) -> dict[Key, Record]:
    """Records of a study of some releases: logistic regression, a quarter held out."""
    chosen = {"models": ("logistic",), "test_share": 0.25, "repeats": 2} | settings
    table = anonymizations[0].instance.table
    target = Target.of(table, "ill", chosen["test_share"])
    records: dict[Key, Record] = {}
    assert Study(anonymizations, target, **chosen).run(records.__setitem__, threads=threads)
    return records
