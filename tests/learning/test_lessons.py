"""Lessons: nothing of held-out rows reaches what is learned from; what is taught is released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from moanon.front import Front
from moanon.genome import Instance
from moanon.learning import lessons
from moanon.learning.lessons import Target, anew, in_proportion, raw_lesson, released_lesson
from moanon.learning.models import learn
from moanon.learning.study import Key, Record
from moanon.measures.suppression import Suppression
from moanon.recoding import GlobalRecodings
from moanon.release.solution import Anonymization
from tests.learning.patients import (
    PLACES,
    ROLES,
    SIZES,
    front_found,
    instance_of,
    mondrian,
    patients_frame,
    stored,
    studied,
)

SHARE = 0.25


def _target(frame: pd.DataFrame) -> Target:
    return Target.of(instance_of(frame).table, "ill", SHARE)


def _of_kind(kind: str, frame: pd.DataFrame) -> Anonymization:
    instance = instance_of(frame)
    if kind == "baseline":
        return mondrian(instance, 5)
    return stored(instance, 5, 0.1, local=kind == "local")


def _raw(each: Anonymization, target: Target, held_out: np.ndarray) -> tuple[np.ndarray, int]:
    training = each.instance.over(each.instance.table.only(~held_out))
    lesson = raw_lesson(each, target, held_out, training)
    return lesson.training[0], int(lesson.measures["k"])


@pytest.mark.parametrize("kind", ["global", "local", "baseline"])
def test_held_out_rows_take_no_part_in_the_anonymization(kind: str) -> None:
    frame = patients_frame()
    target = _target(frame)
    held_out = target.held_out(SHARE, 1, 0)
    others = frame.copy()
    rng = np.random.default_rng(0)
    number = int(held_out.sum())
    others.loc[held_out, "age"] = rng.integers(20, 60, number)
    others.loc[held_out, "size"] = rng.choice(SIZES, number)
    others.loc[held_out, "place"] = rng.choice(PLACES.leaves, number)
    # The stored solution is the same; of the other table only training rows are looked at.
    each = _of_kind(kind, frame)
    taught, k = _raw(each, target, held_out)
    instance = instance_of(others)
    training = instance.over(instance.table.only(~held_out))
    again = anew(each, training)
    assert again is not None
    same = anew(each, each.instance.over(each.instance.table.only(~held_out)))
    assert same is not None
    assert (again.row_group == same.row_group).all()
    assert (again.kept == same.kept).all()
    assert len(taught) == same.kept_rows
    assert k >= 2


@pytest.mark.parametrize("kind", ["local", "baseline"])
def test_training_rows_are_released_with_a_k_in_proportion(kind: str) -> None:
    frame = patients_frame()
    target = _target(frame)
    taught, k = _raw(_of_kind(kind, frame), target, target.held_out(SHARE, 1, 0))
    assert k >= 4  # 5 of 400 rows are 3.75 of 300
    # Rows alike in all quasi-identifiers are at least k, counted afresh from the features.
    quasi = np.delete(taught, -1, axis=1)
    assert np.unique(quasi, axis=0, return_counts=True)[1].min() == k


def _global(instance: Instance, genome: str, size: int) -> Anonymization:
    """A solution with some blocks, and groups suppressed that are smaller than a size."""
    rule = Suppression("limit", 0.5)
    bits = np.array([[int(bit) for bit in genome]], dtype=np.uint8)
    recodings = GlobalRecodings(bits, np.array([[size, 0]]), rule)
    front = Front.of_recodings(instance, rule, ("k", "loss"), recodings)
    return Anonymization("global", "global", instance, solution=front.chosen(1))


def _sized(*sizes: int) -> Instance:
    """People of some ages, so many of each."""
    ages = np.repeat(20 + 5 * np.arange(len(sizes)), sizes)
    ill = np.where(np.arange(len(ages)) % 2, "yes", "no")
    frame = pd.DataFrame({"age": ages, "size": "S", "place": "Oslo", "dose": 1, "ill": ill})
    return instance_of(frame)


@pytest.mark.parametrize(
    ("k", "dropped", "kept"),
    [
        # Sizes 100, 20, 10, 4 of 134 rows; of each every fourth row is held out: 75, 15, 7, 3.
        (4, 0, [75, 15, 7, 3]),  # nothing was suppressed of all rows, and nothing is here
        (10, 4, [75, 15, 7]),  # 4 / 134 is 3 %, as 3 / 100 is
        (100, 34, [75]),
    ],
)
def test_a_global_solution_suppresses_the_share_that_it_did(
    k: int, dropped: int, kept: list[int]
) -> None:
    instance = _sized(100, 20, 10, 4)
    genome = "1" * instance.layout.bits
    solution = _global(instance, genome, k)
    assert solution.measures["suppressed"] == dropped
    held_out = np.arange(134) % 4 == 1
    made = anew(solution, instance.over(instance.table.only(~held_out)))
    assert made is not None
    assert sorted(made.sizes[made.kept].tolist(), reverse=True) == kept


def test_a_row_that_is_alone_is_not_released_though_nothing_was_suppressed() -> None:
    instance = _sized(30, 2)
    solution = _global(instance, "1" * instance.layout.bits, 2)
    made = anew(solution, instance.over(instance.table.only(np.arange(32) != 31)))
    assert made is not None
    assert made.sizes[made.kept].tolist() == [30]


def test_k_of_a_part_of_the_rows() -> None:
    assert in_proportion(100, 9, 10) == 90
    assert in_proportion(7, 9, 10) == 7  # 6.3, rounded up
    assert in_proportion(2, 1, 10) == 2  # nobody is left alone
    assert in_proportion(1, 9, 10) == 1


def test_twins_that_are_held_out_do_not_count() -> None:
    frame = patients_frame(100).assign(dose=np.arange(100))
    twice = pd.concat([frame, frame], ignore_index=True)
    held_out = np.arange(200) >= 100
    release = mondrian(instance_of(twice), 2)
    training = release.instance.over(release.instance.table.only(~held_out))
    made = anew(release, training)
    assert made is not None
    # All rows are two of each; among the first hundred, pairs must be made of others.
    assert np.bincount(made.row_group).min() >= 2
    alone = mondrian(instance_of(frame), 2).grouping
    assert sorted(made.sizes.tolist()) == sorted(alone.sizes.tolist())


@pytest.mark.parametrize("model", ["logistic", "forest", "boosting"])
def test_other_held_out_rows_change_nothing_of_what_is_learned(model: str) -> None:
    """Half of the held-out rows get other values, new ones among them; the answers are the same."""
    frame = patients_frame(200).assign(job=["cook", "nurse"] * 100)
    roles = {**ROLES, "job": "insensitive"}
    target = _target(frame)
    held_out = target.held_out(SHARE, 1, 0)
    frame = frame.assign(dose=frame["dose"].astype(str))
    others = frame.copy()
    changed = np.flatnonzero(held_out)[::2]
    others.loc[changed, ["age", "size", "place", "dose", "job"]] = [20, "L", "Bari", "1e9", "actor"]
    others.loc[changed[0], "dose"] = "unknown"
    answers = []
    for table in (frame, others):
        instance = instance_of(table, roles)
        each = mondrian(instance_of(frame, roles), 4)
        training = instance.over(instance.table.only(~held_out))
        lesson = raw_lesson(replace(each, instance=instance), target, held_out, training)
        same = ~np.isin(np.flatnonzero(held_out), changed)
        settings = model, 1, lesson.is_category, lesson.training
        answers.append(learn(*settings, lesson.test[0][same], 2))
    assert np.array_equal(*answers)


def test_suppressed_rows_are_absent() -> None:
    instance = instance_of(patients_frame())
    front = front_found(instance, 0.2)
    number = int(front.measures["suppressed"].argmax()) + 1
    solution = Anonymization("global", "global", instance, solution=front.chosen(number))
    grouping = solution.grouping
    assert grouping.suppressed > 0
    target = Target.of(instance.table, "ill", SHARE)
    lesson = released_lesson(solution, target, target.held_out(SHARE, 1, 0))
    assert len(lesson.training[1]) + len(lesson.test[1]) == grouping.kept_rows


def test_what_cannot_be_released_teaches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lessons, "anew", lambda each, instance: None)
    records = studied(stored(instance_of(patients_frame()), 5, 0.0))
    assert records[0, "global", ""]["train_rows"] == 0
    assert records[0, "global", ""]["measures"] == {"suppressed": 300}
    accuracy, area, loss = records[0, "global", "logistic"]["scores"]
    assert (accuracy, area) == (0.5, 0.5)
    assert loss == pytest.approx(np.log(2))


# -- leakage ---------------------------------------------------------------------------------------


def _mean_area(records: Mapping[Key, Record], name: str) -> float:
    areas = [r["scores"][1] for key, r in records.items() if key[1] == name and key[2]]
    return float(np.mean(areas))


def _parity(frame: pd.DataFrame, rows: np.ndarray, seed: int) -> pd.DataFrame:
    """Let age and dose be even for the healthy and odd for the ill, in some rows; random in others.

    What a model makes of noise goes up and down as often as this does, so it cannot seem to know.
    """
    rng, number = np.random.default_rng(seed), len(frame)
    is_ill = (frame["ill"] == "yes").to_numpy()
    told = frame.assign(size="S", place="Oslo")
    for column, least in (("age", 20), ("dose", 0)):
        values = rng.integers(least, least + 20, number)
        told[column] = np.where(rows, values - values % 2 + is_ill, values)
    return told


def _area(frame: pd.DataFrame, protocol: str, seed: int) -> float:
    release = mondrian(instance_of(frame), 2)
    settings = {"repeats": 1, "protocol": protocol, "models": ("boosting",), "seed": seed}
    return _mean_area(studied(release, **settings), release.name)


@pytest.mark.parametrize("protocol", ["raw", "released"])
def test_a_target_that_only_held_out_rows_know_is_guessed(protocol: str) -> None:
    frame, areas = patients_frame(800), []
    for seed in range(6):
        held_out = _target(frame).held_out(SHARE, seed, 0)
        areas.append(_area(_parity(frame, held_out, seed), protocol, seed))
    assert np.mean(areas) == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize("protocol", ["raw", "released"])
def test_a_target_that_all_rows_know_is_learned(protocol: str) -> None:
    frame = patients_frame(800)
    assert _area(_parity(frame, np.ones(800, dtype=bool), 0), protocol, 0) > 0.95


@pytest.mark.parametrize("protocol", ["raw", "released"])
def test_a_random_target_is_guessed(protocol: str) -> None:
    frame = patients_frame(800)
    frame["ill"] = np.random.default_rng(9).choice(["yes", "no"], 800)
    solution = stored(instance_of(frame), 5, 0.1)
    models = ("logistic", "boosting")
    records = studied(solution, repeats=2, protocol=protocol, models=models)
    # The area of 200 rows has a standard deviation of .04, the mean of two repeats less.
    assert _mean_area(records, "global") == pytest.approx(0.5, abs=0.08)
    assert _mean_area(records, "") == pytest.approx(0.5, abs=0.08)
