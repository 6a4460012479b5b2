"""Fronts: measured like the oracle, in order, written and read back, released as stated."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moanon.data.domain import DomainSpec, IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.errors import CertificateError, ConfigError, DataError, OutputError, SearchError
from moanon.front import Front
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures import MEASURES
from tests import naive
from tests.search.people import PLACES, SIZES, first_front, people, people_frame, problem_of

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
SPECS: dict[str, DomainSpec] = {
    "age": IntervalSpec(1, (20, 27)),
    "size": OrderedSpec(SIZES),
    "place": TreeSpec(PLACES),
}
NAMES = ["-".join([name, *map(str, settings.values())]) for name, settings in PROBLEMS]
of_every_problem = pytest.mark.parametrize(("preset", "settings"), PROBLEMS, ids=NAMES)


def kept_by(front: Front, row: int, groups: list[naive.Group]) -> list[naive.Group]:
    """What the oracle keeps of a solution's groups, by its thresholds."""
    rule, (size, ell) = front.suppression, front.recodings.thresholds[row].tolist()
    if rule.kind == "weighted-k":
        return naive.above_weighted_k(groups)
    if rule.kind == "kl-safety" and rule.safety == "ordered":
        return naive.ordered_safety(groups, rule.eta, rule.prefer)[2]
    return [group for group in groups if group[0] >= size and group[2] >= ell]


# -- measures ------------------------------------------------------------------------------------


@of_every_problem
def test_each_row_is_what_the_oracle_says(preset: str, settings: dict[str, Any]) -> None:
    problem = problem_of(preset, **settings)
    front = first_front(problem)
    rule = front.suppression.diversity
    for row, solution in enumerate(front.to_frame().to_dict("records")):
        genome = front.recoding(solution["id"])["genome"]
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
    # no weights, no class column, and nobody asked about large populations
    assert set(columns) == {"id", *MEASURES} - {"gl_weighted", "loss_weighted", "cm", "u_loss"}


def test_without_a_sensitive_column_there_is_no_diversity() -> None:
    front = first_front(problem_of("zero-suppression", people(sensitive=False)))
    absent = {name for name, measure in MEASURES.items() if measure.requires == "sensitive"}
    assert {"l", "l_distinct", "d2", "t_closeness", "delta"} <= absent
    others = {"gl_weighted", "loss_weighted", "cm", "u_loss"}
    assert set(MEASURES) - set(front.measures) == absent | others


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
    front = first_front(problem_of(preset, **settings))
    rows = front.to_frame()
    for solution in np.unique(np.linspace(1, len(front), 5).astype(int)).tolist():
        row = rows.loc[solution - 1]
        path = tmp_path / f"{solution}.csv"
        release = front.release(solution)
        certificate = release.write(path)
        record = replace(release, stated=()).record(certificate)  # not what the front says itself
        assert record["genome"] == front.recoding(solution)["genome"]
        assert (certificate.k, certificate.suppressed) == (row["k"], row["suppressed"])
        assert certificate.groups == row["groups"]
        assert certificate.privacy_of("ill")["l_distinct"] == row["l_distinct"]
        assert certificate.privacy_of("ill")["l_frequency"] == row["l_frequency"]
        for name in ("gl", "sl", "loss", "weighted_k"):
            assert record["measures"][name] == pytest.approx(row[name], rel=1e-12)


def test_a_number_that_no_solution_has_is_refused(front: Front) -> None:
    for number in (0, len(front) + 1):
        with pytest.raises(ConfigError, match=rf"front are 1 to {len(front)}\. Got {number}"):
            front.release(number)


@of_every_problem
def test_a_front_that_says_otherwise_leaves_no_file(
    preset: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    front = first_front(problem_of(preset, **settings))
    for name in ("k", "suppressed", "l", "loss", "weighted_k"):
        column = front.measures[name].copy()
        column[0] += 1
        wrong = replace(front, measures={**front.measures, name: column})
        with pytest.raises(CertificateError, match=r"as the front says: .* in the file and"):
            wrong.release(1).write(tmp_path / "release.csv")
        assert list(tmp_path.iterdir()) == []


# -- another threshold of a solution -------------------------------------------------------------


def steps_of(front: Front, solution: int) -> dict[int, int]:
    """Rows given up at every k of a solution's staircase, counted one by one."""
    assert front.instance is not None
    groups = naive.groups_with_loss(front.instance, front.recoding(solution)["genome"], "distinct")
    sizes = [size for size, _, _ in groups]
    return {k: sum(size for size in sizes if size < k) for k in sizes}


def test_another_k_gives_up_exactly_the_smaller_groups(front: Front, tmp_path: Path) -> None:
    for solution in front.ids.tolist():
        for k, lost in steps_of(front, solution).items():
            if lost <= 12:  # a tenth of 120 rows
                release = front.release(solution, k=k)
                found = release.promised["k", ""], release.promised["suppressed", ""]
                assert found == (k, lost)
    certificate = release.write(tmp_path / "release.csv")
    assert (certificate.k, certificate.suppressed) == (k, lost)


def test_a_k_between_two_steps_reaches_the_higher_one(front: Front) -> None:
    solution, low, high = next(
        (solution, low, high)
        for solution in front.ids.tolist()
        for low, high in pairwise(sorted(steps_of(front, solution)))
        if high > low + 1 and steps_of(front, solution)[high] <= 12
    )
    assert front.release(solution, k=low + 1).promised["k", ""] == high


def test_a_k_beyond_the_limit_is_refused_with_the_largest(front: Front) -> None:
    for solution in front.ids.tolist():
        steps = steps_of(front, solution)
        largest = max(k for k, lost in steps.items() if lost <= 12)
        message = rf"at most 12 \(10\.0%\) may be; its largest k within that is {largest} "
        with pytest.raises(ConfigError, match=message):
            front.release(solution, k=largest + 1)
        assert front.release(solution, k=largest).promised["k", ""] == largest


def test_a_larger_limit_allows_a_larger_k(front: Front) -> None:
    steps = steps_of(front, 2)
    k = next(k for k in sorted(steps) if 12 < steps[k] <= 60)
    assert front.release(2, k=k, max_suppression=0.5).promised["suppressed", ""] == steps[k]
    with pytest.raises(ConfigError, match=r"may be; its largest k within that is 1 "):
        front.release(2, k=k, max_suppression=0)


def test_a_front_without_suppression_has_no_other_k_unless_told() -> None:
    front = first_front(problem_of("zero-suppression"))
    k = front.measures["k"][0] + 1
    with pytest.raises(ConfigError, match=r"and at most 0 \(0\.0%\) may be; its largest k"):
        front.release(1, k=k)
    assert front.release(1, k=k, max_suppression=0.9).promised["k", ""] >= k


def test_any_suppression_takes_any_k() -> None:
    front = first_front(problem_of("any-suppression"))
    sizes = list(steps_of(front, 1))
    assert front.release(1, k=max(sizes)).promised["k", ""] == max(sizes)
    with pytest.raises(ConfigError, match=rf"its largest k within that is {max(sizes)} "):
        front.release(1, k=max(sizes) + 1)


@pytest.mark.parametrize("safety", ["ordered", "strict"])
def test_another_k_of_a_safe_solution_keeps_its_diversity(safety: str) -> None:
    front = first_front(problem_of("kl-safety", eta=0.2, safety=safety))
    for solution in front.ids.tolist():
        k, ell = (int(front.measures[name][solution - 1]) for name in ("k", "l"))
        for other in {1, max(1, k - 1), k}:
            found = front.release(solution, k=other).promised
            assert found["k", ""] >= other
            assert found["l_distinct", "ill"] >= ell


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, r"k must be a whole number of at least 1 and at most 1e\+18\. Got 0"),
        ({"k": 2.5}, r"k must be a whole number of at least 1 and at most 1e\+18\. Got 2\.5"),
        ({"k": True}, r"k must be a whole number"),
        ({"k": 10**400}, r"at least 1 and at most 1e\+18\. Got 10{79}…$"),
        ({"k": 2, "max_suppression": "1"}, r"max_suppression must be in \[0, 1\)\. Got '1'"),
        ({"k": 2, "max_suppression": False}, r"max_suppression must be in \[0, 1\)\. Got False"),
        ({"recursive_c": True}, r"recursive_c must be a number > 0 and <= 1000\. Got True"),
        ({"recursive_c": "3"}, r"recursive_c must be a number > 0 and <= 1000\. Got '3'"),
        ({"recursive_c": 10**400}, r"recursive_c must be a number > 0 and <= 1000\. Got 10{79}…$"),
        ({"k": 1, "recursive_c": 1001}, r"recursive_c must be a number > 0 and <= 1000\. Got 1001"),
        ({"k": 2, "max_suppression": 1}, r"max_suppression must be in \[0, 1\)\. Got 1"),
        ({"k": 2, "max_suppression": -0.1}, r"max_suppression must be in \[0, 1\)\. Got -0\.1"),
        ({"max_suppression": 0.1}, "max_suppression goes with another k"),
    ],
)
def test_thresholds_that_cannot_be_are_refused(
    front: Front, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        front.release(1, **options)


# -- new rows ------------------------------------------------------------------------------------


def new_rows(rows: int = 60, seed: int = 9, **changes: Any) -> Any:
    roles = dict.fromkeys(("age", "size", "place"), "quasi") | {"ill": "sensitive"}
    return read_table(people_frame(rows, seed).assign(**changes), roles)


def test_the_same_rows_are_released_as_they_were(front: Front) -> None:
    assert front.instance is not None
    for solution in (1, len(front) // 2, len(front)):
        again = front.apply(solution, front.instance.table)
        assert again.to_frame().equals(front.release(solution).to_frame())


def test_new_rows_keep_the_solutions_k(front: Front, tmp_path: Path) -> None:
    solution = next(i for i in front.ids.tolist() if front.measures["k"][i - 1] >= 4)
    k, table = int(front.measures["k"][solution - 1]), new_rows()
    release = front.apply(solution, table)
    # The oracle groups the new rows by hand under the same genome.
    assert front.instance is not None
    fitted = Instance.build(table, SPECS)
    genome = front.recoding(solution)["genome"]
    sizes = [size for size, _, _ in naive.groups_with_loss(fitted, genome, "distinct")]
    assert min(sizes) < k  # or this test would show nothing
    certificate = release.write(tmp_path / "new.csv")
    assert certificate.k == min(size for size in sizes if size >= k)
    assert certificate.suppressed == sum(size for size in sizes if size < k)


def test_small_groups_are_kept_on_request_and_certified_as_they_are(
    front: Front, tmp_path: Path
) -> None:
    release = front.apply(len(front) // 2, new_rows(), small="keep")
    certificate = release.write(tmp_path / "new.csv")
    genome = front.recodings.genomes[len(front) // 2 - 1]
    sizes = Grouping.of_genome(release.instance, genome).sizes
    assert (certificate.k, certificate.suppressed) == (sizes.min(), 0)


def test_another_k_can_be_promised_for_new_rows(front: Front) -> None:
    assert front.apply(2, new_rows(), k=5).promised["k", ""] >= 5


def test_a_safe_solution_keeps_its_diversity_on_new_rows() -> None:
    front = first_front(problem_of("kl-safety", eta=0.2))
    solution = next(i for i in front.ids.tolist() if front.measures["l"][i - 1] == 3)
    table = new_rows(ill="flu")  # one sensitive value: no group is diverse
    with pytest.raises(OutputError, match=r"groups has k = \d+ and l = 3; choose a smaller k"):
        front.apply(solution, table)
    assert front.apply(solution, new_rows(400)).promised["l_distinct", "ill"] >= 3


def test_where_diversity_was_not_searched_for_it_is_not_promised(front: Front) -> None:
    assert front.apply(2, new_rows(ill="flu")).promised["l_distinct", "ill"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"small": "drop"}, "small groups are 'suppress' or 'keep'. Got 'drop'"),
        ({"small": "keep", "k": 3}, "kept, or suppressed below another k. Got both"),
        ({"outside": "drop"}, "rows outside are 'refuse' or 'suppress'. Got 'drop'"),
        ({"k": 0}, r"k must be a whole number of at least 1 and at most 1e\+18\. Got 0"),
    ],
)
def test_words_that_mean_nothing_are_refused(
    front: Front, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        front.apply(1, new_rows(), **options)


def test_new_rows_need_the_table_of_the_front(front: Front) -> None:
    with pytest.raises(ConfigError, match="loaded without its table"):
        replace(front, instance=None).apply(1, new_rows())


# -- questions -----------------------------------------------------------------------------------


def test_a_front_answers_a_question(front: Front) -> None:
    frame = front.to_frame()
    answer = front.ask(max_loss=0.5)
    best = frame[frame["loss"] <= 0.5].sort_values("k").iloc[-1]
    assert answer.choice is not None
    assert answer.choice.id == best["id"]
    assert answer.choice.measures == best.drop("id").to_dict()
    assert front.ask(max_loss=0.5, min_k=10_000).choice is None


def test_a_front_without_its_table_answers_too(front: Front, tmp_path: Path) -> None:
    front.save(tmp_path)
    assert Front.load(tmp_path).ask(min_k=5) == front.ask(min_k=5)


# -- files ---------------------------------------------------------------------------------------


def test_a_front_comes_back_as_it_was(front: Front, tmp_path: Path) -> None:
    front.save(tmp_path)
    again = Front.load(tmp_path, front.instance)
    assert (again.objectives, again.suppression) == (front.objectives, front.suppression)
    assert again.to_frame().equals(front.to_frame())  # to the last bit
    assert np.array_equal(again.recodings.genomes, front.recodings.genomes)
    assert np.array_equal(again.recodings.thresholds, front.recodings.thresholds)
    assert again.labels == front.labels
    assert again.found == front.found
    last = len(front)
    assert again.release(last).to_frame().equals(front.release(last).to_frame())


def test_the_files_are_the_same_bytes_for_the_same_front(front: Front, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        again = first_front(problem_of("k-suppression", eta=0.1))
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
    front = first_front(problem_of("zero-suppression"))
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
    assert alone.recoding(1) == front.recoding(1)
    with pytest.raises(ConfigError, match="loaded without its table; a release needs the rows"):
        alone.release(1)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("front.csv", "id,k\n1,5\n", r"front\.csv is not the file that .*run\.json belongs to"),
        ("solutions.json", "{}", r"solutions\.json is not the file that"),
        ("run.json", "{", r"run\.json is not valid JSON"),
        ("run.json", "[]", r"run\.json must hold a JSON object\. Got list"),
        ("run.json", "{}", "was written by moanon an unknown version in format None, and this is"),
        (
            "run.json",
            '{"format": 2, "moanon": "0.1.0"}',
            "holds no front of moanon: KeyError\\('problem'\\)",
        ),
    ],
)
def test_a_changed_file_is_refused(
    front: Front, tmp_path: Path, name: str, content: str, message: str
) -> None:
    front.save(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        Front.load(tmp_path)


@pytest.mark.parametrize("name", ["front.csv", "solutions.json"])
def test_a_missing_file_is_told(front: Front, tmp_path: Path, name: str) -> None:
    front.save(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(DataError, match=rf"{name} cannot be read: No such file"):
        Front.load(tmp_path)


def test_a_front_is_not_put_on_other_data(front: Front, tmp_path: Path) -> None:
    assert front.instance is not None
    front.save(tmp_path, record={"data": {"digest": front.instance.table.digest}})
    Front.load(tmp_path, people())
    with pytest.raises(DataError, match="belongs to other data than DataFrame holds now"):
        Front.load(tmp_path, people(seed=1))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        # Rome and Oslo have changed places.
        (
            {"North": ["Rome", "Bergen"], "South": ["Oslo", "Bari", "Pisa"]},
            "does not fit the column 'place' as it is read now: solution 1 would show other labels",
        ),
        (
            {"North": ["Oslo", "Bergen", "Rome"], "South": ["Bari", "Pisa"]},
            "does not fit the columns as they are read now: genome .* is not valid",
        ),
        (
            {"North": ["Oslo", "Bergen"], "South": ["Rome", "Bari", "Pisa", "Turin"]},
            r"does not fit the columns as they are read now: a genome of this table has 15 bits\.",
        ),
    ],
)
def test_a_front_is_not_put_on_another_hierarchy(
    front: Front, tmp_path: Path, tree: dict[str, Any], message: str
) -> None:
    assert front.instance is not None
    front.save(tmp_path, record={"data": {"digest": front.instance.table.digest}})
    specs = SPECS | {"place": TreeSpec(Hierarchy.from_nested("Anywhere", tree))}
    with pytest.raises(DataError, match=message):
        Front.load(tmp_path, Instance.build(front.instance.table, specs))
