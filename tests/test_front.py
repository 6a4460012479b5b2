"""Fronts: measured like the oracle, in order, written and read back, released as stated."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moanon.errors import ConfigError, DataError, OutputError, SearchError
from moanon.front import Front
from moanon.measures.registry import MEASURES
from moanon.search.exhaustive import Exhaustive
from moanon.search.problem import SearchProblem
from tests import naive
from tests.search.people import people, problem_of

PROBLEMS: list[tuple[str, dict[str, Any]]] = [
    ("zero-suppression", {}),
    ("k-suppression", {"eta": 0.1}),
    ("any-suppression", {}),
    *(
        ("kl-safety", {"eta": 0.2, "safety": safety, "prefer": prefer, "diversity": diversity})
        for safety in ("ordered", "strict")
        for prefer in ("k", "l")
        for diversity in ("distinct", "frequency")
    ),
]
NAMES = ["-".join([name, *map(str, settings.values())]) for name, settings in PROBLEMS]
of_every_problem = pytest.mark.parametrize(("preset", "settings"), PROBLEMS, ids=NAMES)


def front_of(problem: SearchProblem, batches: int = 3) -> Front:
    """The front of the first few hundred genomes."""
    search = Exhaustive(problem, batch=200)
    for _ in range(batches):
        search.step()
    archive = search.archive
    return Front.of(
        problem.evaluator,
        problem.suppression,
        problem.objectives,
        archive.genomes,
        archive.thresholds,
        values=archive.values,
    )


@pytest.fixture(scope="module")
def front() -> Front:
    return front_of(problem_of("k-suppression", eta=0.1))


def kept_by(front: Front, row: int, groups: list[naive.Group]) -> list[naive.Group]:
    """What the oracle keeps of a solution's groups, by its thresholds."""
    rule, (size, ell) = front.suppression, front.thresholds[row].tolist()
    if rule.kind == "weighted-k":
        return naive.above_weighted_k(groups)
    if rule.kind == "kl-safety" and rule.safety == "ordered":
        return naive.ordered_safety(groups, rule.eta, rule.prefer)[2]
    return [group for group in groups if group[0] >= size and group[2] >= ell]


# -- measures ------------------------------------------------------------------------------------


@of_every_problem
def test_each_row_is_what_the_oracle_says(preset: str, settings: dict[str, Any]) -> None:
    problem = problem_of(preset, **settings)
    front = front_of(problem)
    rule = front.suppression.diversity
    for row, solution in enumerate(front.to_frame().to_dict("records")):
        genome = front.genome(solution["id"])
        groups = naive.groups_with_loss(problem.instance, genome, rule)
        kept = kept_by(front, row, groups)
        gl, sl = naive.losses(groups, kept, 3)
        assert (solution["k"], solution["l"]) == naive.attained(kept)
        assert solution["gl"] == pytest.approx(float(gl), abs=1e-12)
        assert solution["sl"] == pytest.approx(float(sl), abs=1e-12)
        assert solution["loss"] == pytest.approx(float(gl + sl), abs=1e-12)
        assert solution["suppressed"] == sl * 120
        weighted = naive.weighted_k(size for size, _, _ in groups)
        assert solution["weighted_k"] == pytest.approx(float(weighted), rel=1e-15)
        assert sl * 120 <= front.suppression.eta * 120 or preset == "any-suppression"


def test_the_columns_are_the_objectives_and_then_every_measure_that_applies(front: Front) -> None:
    columns = list(front.to_frame())
    assert columns[:3] == ["id", "k", "loss"]
    # no weights, no class column
    assert set(columns) == {"id", *MEASURES} - {"gl_weighted", "loss_weighted", "cm"}


def test_without_a_sensitive_column_there_is_no_diversity() -> None:
    front = front_of(problem_of("zero-suppression", people(sensitive=False)))
    absent = {name for name, measure in MEASURES.items() if measure.requires == "sensitive"}
    assert {"l", "l_distinct", "d2", "t_closeness", "delta"} <= absent
    assert set(MEASURES) - set(front.measures) == absent | {"gl_weighted", "loss_weighted", "cm"}


def test_solutions_are_numbered_in_the_order_of_the_objectives(front: Front) -> None:
    frame = front.to_frame()
    assert frame["id"].tolist() == list(range(1, len(front) + 1))
    assert len(front) > 5
    assert frame["k"].is_monotonic_increasing
    assert frame["loss"].is_monotonic_increasing


def test_a_solution_that_does_not_measure_as_the_search_saw_it_is_refused() -> None:
    problem = problem_of("k-suppression")
    genomes = np.ones((1, problem.layout.bits), dtype=np.uint8)
    with pytest.raises(SearchError, match=r"measures 0\.0 in 'loss', and the search saw 0\.25"):
        Front.of(
            problem.evaluator,
            problem.suppression,
            problem.objectives,
            genomes,
            np.array([[1, 0]]),
            values=np.array([[-1.0, 0.25]]),
        )


# -- releases ------------------------------------------------------------------------------------


@of_every_problem
def test_the_certificate_of_a_release_equals_the_row(
    preset: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    front = front_of(problem_of(preset, **settings))
    rows = front.to_frame()
    for solution in np.unique(np.linspace(1, len(front), 5).astype(int)).tolist():
        row = rows.loc[solution - 1]
        path = tmp_path / f"{solution}.csv"
        certificate = front.release(solution).write(path)
        assert certificate.genome == front.genome(solution)
        assert (certificate.k, certificate.suppressed) == (row["k"], row["suppressed"])
        assert certificate.groups == row["groups"]
        assert certificate.l["ill"].distinct == row["l_distinct"]
        assert certificate.l["ill"].frequency == row["l_frequency"]
        for name in ("gl", "sl", "loss", "weighted_k"):
            assert float(getattr(certificate, name)) == pytest.approx(row[name], rel=1e-12)


def test_a_number_that_no_solution_has_is_refused(front: Front) -> None:
    for number in (0, len(front) + 1):
        with pytest.raises(ConfigError, match=rf"front are 1 to {len(front)}\. Got {number}"):
            front.release(number)


# -- files ---------------------------------------------------------------------------------------


def test_a_front_comes_back_as_it_was(front: Front, tmp_path: Path) -> None:
    front.save(tmp_path)
    again = Front.load(tmp_path, front.instance)
    assert (again.objectives, again.suppression) == (front.objectives, front.suppression)
    assert again.to_frame().equals(front.to_frame())  # to the last bit
    assert np.array_equal(again.genomes, front.genomes)
    assert np.array_equal(again.thresholds, front.thresholds)
    assert again.blocks == front.blocks
    assert again.found == front.found
    last = len(front)
    assert again.release(last).to_frame().equals(front.release(last).to_frame())


def test_the_files_are_the_same_bytes_for_the_same_front(front: Front, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        again = front_of(problem_of("k-suppression", eta=0.1))
        again.save(tmp_path / name, record={"times": name})
    for name in ("front.csv", "solutions.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_solutions_say_what_they_do_to_each_column(front: Front, tmp_path: Path) -> None:
    front.save(tmp_path)
    solutions = json.loads((tmp_path / "solutions.json").read_text())
    assert list(solutions) == [str(number) for number in front.ids]
    assert front.instance is not None
    for number, solution in solutions.items():
        genome = front.instance.layout.parse(solution["genome"])
        labels = {name: list(cells) for name, cells in front.instance.layout.labels(genome).items()}
        assert solution["columns"] == labels
        assert solution["thresholds"]["size"] == front.measures["k"][int(number) - 1]


def test_numbers_are_written_so_that_they_are_read_back_exactly(tmp_path: Path) -> None:
    front = front_of(problem_of("zero-suppression"))
    front.save(tmp_path)
    header, first = (tmp_path / "front.csv").read_text().splitlines()[:2]
    row = dict(zip(header.split(","), first.split(","), strict=True))
    assert row["id"] == "1"
    assert row["weighted_k"] == repr(float(front.measures["weighted_k"][0]))
    assert row["k"] == str(front.measures["k"][0])


def test_what_else_should_be_told_stands_in_the_record(front: Front, tmp_path: Path) -> None:
    capped = replace(front, found=9_999)
    capped.save(tmp_path, record={"seed": 4}, texts={"more.txt": "more"})
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["seed"] == 4
    assert record["front"] == {"solutions": len(front), "found": 9_999}
    assert (tmp_path / "more.txt").read_text() == "more"


def test_a_front_replaces_another_only_with_force(front: Front, tmp_path: Path) -> None:
    front.save(tmp_path)
    with pytest.raises(OutputError, match=r"front\.csv exists already"):
        front.save(tmp_path)
    front.save(tmp_path, force=True)


def test_a_front_without_its_table_can_be_looked_at_but_not_released(
    front: Front, tmp_path: Path
) -> None:
    front.save(tmp_path)
    alone = Front.load(tmp_path)
    assert len(alone.to_frame()) == len(front)
    assert alone.genome(1) == front.genome(1)
    with pytest.raises(ConfigError, match="loaded without its table; a release needs the rows"):
        alone.release(1)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("front.csv", "id,k\n1,5\n", r"front\.csv is not the file that .*run\.json belongs to"),
        ("solutions.json", "{}", r"solutions\.json is not the file that"),
        ("run.json", "{", r"run\.json is not valid JSON"),
        ("run.json", "[]", r"run\.json must hold a JSON object\. Got list"),
        ("run.json", "{}", "holds no front of moanon: KeyError\\('problem'\\)"),
    ],
)
def test_a_changed_file_is_refused(
    front: Front, tmp_path: Path, name: str, content: str, message: str
) -> None:
    front.save(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        Front.load(tmp_path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"run\.json cannot be read: No such file"):
        Front.load(tmp_path)


def test_a_front_is_not_put_on_other_data(front: Front, tmp_path: Path) -> None:
    assert front.instance is not None
    front.save(tmp_path, record={"data": {"digest": front.instance.table.digest}})
    Front.load(tmp_path, people())
    with pytest.raises(DataError, match="belongs to other data than DataFrame holds now"):
        Front.load(tmp_path, people(seed=1))
