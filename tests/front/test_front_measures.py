"""Fronts over any measures: what they say is what a released file shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from moanon.data.domain import OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.errors import DataError
from moanon.front import Front
from moanon.genome import Instance
from moanon.measures import MEASURES
from moanon.measures.suppression import Suppression
from moanon.search.algorithms import Stop
from moanon.search.archive_search import ArchiveSearch
from moanon.search.problem import AnonymizationProblem
from moanon.search.running import run_search
from tests import naive, naive_measures
from tests.search.people import people, people_frame
from tests.strategies import Fixed

ILLS = Hierarchy.from_nested("ill", {"short": ["flu", "cold"], "long": ["gout"], "none": None})


def rich_people() -> Instance:
    """People with two sensitive columns, a class, and weights."""
    frame = people_frame()
    rng = np.random.default_rng(5)
    frame["pay"] = rng.choice(["low", "middle", "high"], len(frame))
    frame["smokes"] = rng.choice(["yes", "no"], len(frame))
    plain = people()
    roles = dict.fromkeys(plain.layout.columns, "quasi")
    roles |= {"ill": "sensitive", "pay": "sensitive", "smokes": "insensitive"}
    table = read_table(frame, roles)
    fixed = {name: Fixed(domain) for name, domain in plain.layout.domains.items()}
    return Instance.build(
        table,
        fixed,
        distances={"ill": TreeSpec(ILLS), "pay": OrderedSpec(("low", "middle", "high"))},
        weights={"age": 2.0, "place": 0.5},
        label="smokes",
    )


def searched(problem: AnonymizationProblem, generations: int, population: int = 60) -> Front:
    archive = run_search(
        ArchiveSearch(problem, population, 1), Stop(generations=generations)
    ).archive
    assert archive.is_feasible
    return Front.of(
        problem.evaluator,
        problem.suppression,
        problem.objectives,
        archive.genomes,
        archive.thresholds,
        values=archive.values,
    )


def shown_groups(file: pd.DataFrame, quasi: Sequence[str]) -> list[list[int]]:
    """Rows of a released file that look alike; rows of stars are suppressed."""
    released = file[(file != "*").any(axis=1)]
    return [list(rows) for rows in released.groupby(list(quasi)).groups.values()]


def check_solution(front: Front, solution: int, folder: Path) -> None:
    """Write a solution, read the file, and compare every measure with the oracle's."""
    instance = front.instance
    assert instance is not None
    path = folder / f"{solution}.csv"
    certificate = front.release(solution).write(path, suppressed="star", keep_order=True)
    file = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert len(file) == instance.table.rows
    kept = shown_groups(file, instance.layout.columns)
    row = front.to_frame().loc[solution - 1]
    for name in instance.table.sensitive:
        original = naive.sensitive_rows(instance, name)
        for rows in kept:
            assert [file[name][i] for i in rows] == [original[i] for i in rows]
    c = Fraction(str(front.suppression.recursive_c))
    models = [naive_measures.group_models(instance, rows, c) for rows in kept]
    expected = naive_measures.loss_measures(instance, front.recoding(solution)["genome"], kept)
    for name in models[0]:
        pick = min if MEASURES[name].direction == "max" else max
        expected[name] = pick(group[name] for group in models)
    shown = naive.generalized_rows(instance, front.recoding(solution)["genome"])
    expected |= naive_measures.individual_measures(instance, shown, kept)
    expected["groups"] = len(kept)
    expected["suppressed"] = instance.table.rows - sum(map(len, kept))
    assert front.measures.keys() >= set(front.objectives)
    for name, value in expected.items():
        if name in front.measures:
            assert row[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name
    assert (certificate.k, certificate.suppressed) == (row["k"], row["suppressed"])
    columns = [certificate.privacy_of(name) for name in certificate.sensitive]
    assert min(found["l_entropy"] for found in columns) == pytest.approx(row["l_entropy"])
    assert min(found["l_recursive"] for found in columns) == row["l_recursive"]


PROBLEMS = [
    (("t_closeness", "loss"), {"by": "t_closeness"}, {}),
    (("k", "l_entropy", "t_closeness", "loss"), {}, {"k": 3}),
    (("delta", "ncp"), {"by": "delta"}, {}),
    (("alpha", "cm", "loss_weighted"), {"by": "alpha", "recursive_c": 2.0}, {"l_recursive": 2}),
    (("size_rank", "sensitive_share_mean", "utility_rank"), {}, {"size_mean": 5}),
    (("t_js", "conditional_entropy"), {"by": "t_js"}, {"prec": 0.1, "dm": 9_000}),
]


@pytest.mark.parametrize(("objectives", "rule", "bounds"), PROBLEMS, ids=lambda part: str(part))
def test_a_released_file_shows_what_the_front_says(objectives, rule, bounds, tmp_path):
    suppression = Suppression("limit", 0.15, **rule)
    problem = AnonymizationProblem(rich_people(), objectives, suppression, constraints=bounds)
    front = searched(problem, generations=6)
    assert list(front.to_frame())[1 : len(objectives) + 1] == list(objectives)
    for solution in np.unique(np.linspace(1, len(front), 4).astype(int)).tolist():
        check_solution(front, solution, tmp_path)


def test_a_front_with_an_infinite_measure_is_written_and_read(tmp_path):
    problem = AnonymizationProblem(people(), ("k", "loss"), Suppression("limit", 0.1))
    front = searched(problem, generations=3)
    assert np.isinf(front.measures["delta"]).any()
    front.save(tmp_path)
    again = Front.load(tmp_path, front.instance)
    assert again.to_frame().equals(front.to_frame())


def test_another_tree_of_sensitive_values_is_noticed():
    problem = AnonymizationProblem(
        rich_people(), ("t_closeness", "loss"), Suppression("limit", 0.15, by="t_closeness")
    )
    front = searched(problem, generations=3)
    chosen = int(front.ids[len(front) // 2])
    front.release(chosen, k=1, max_suppression=0.9)
    instance = front.instance
    assert instance is not None
    flat = Hierarchy.from_nested("ill", ["flu", "cold", "gout", "none"])
    fixed = {name: Fixed(domain) for name, domain in instance.layout.domains.items()}
    other = Instance.build(instance.table, fixed, distances={"ill": TreeSpec(flat)})
    edited = replace(front, instance=other)
    with pytest.raises(DataError, match=r"^t_closeness of solution \d+ is .* on the front and "):
        edited.release(chosen, k=1, max_suppression=0.9)
    with pytest.raises(DataError, match="a hierarchy or an order must have changed"):
        edited.apply(chosen, instance.table)


# -- Adult -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_front_of_t_closeness_and_loss_on_adult(adult, tmp_path):
    problem = AnonymizationProblem(
        adult, ("t_closeness", "loss"), Suppression("limit", 0.1, by="t_closeness")
    )
    front = searched(problem, generations=8, population=100)
    rows = front.to_frame()
    assert len(rows) > 30
    # one group has the whole table's occupations and loses everything
    assert (rows["t_closeness"].iloc[0], rows["loss"].iloc[0]) == (0, 1)
    assert rows["loss"].is_monotonic_decreasing
    assert (rows["suppressed"] <= 3016).all()
    assert (rows["t_closeness"] == rows["t_equal"]).all()  # occupation declares no distance
    few = rows[rows["groups"] <= 12]
    check_solution(front, int(few["id"].iloc[-1]), tmp_path)


@pytest.mark.slow
def test_the_front_of_four_objectives_on_adult(adult, tmp_path):
    problem = AnonymizationProblem(
        adult,
        ("k", "l_entropy", "t_closeness", "loss"),
        Suppression("limit", 0.1),
        constraints={"k": 5, "l_entropy": 3},
    )
    front = searched(problem, generations=8, population=100)
    rows = front.to_frame()
    assert len(rows) > 100
    assert rows["k"].min() >= 5
    assert rows["l_entropy"].min() >= 3 * (1 - 1e-9)
    assert (rows["suppressed"] <= 3016).all()
    few = rows[rows["groups"] <= 12]
    check_solution(front, int(few["id"].iloc[0]), tmp_path)
    assert front.release(int(rows["id"].iloc[-1])).promised["k", ""] == rows["k"].iloc[-1]
