"""The target: its classes, what is refused, and which rows are held out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from moanon.data.table import Table
from moanon.engines import read_table
from moanon.errors import ConfigError, DataError
from moanon.learning.lessons import NO_CLASS, Target


def _table(values: list[str | None], role: str = "insensitive") -> Table:
    frame = pd.DataFrame({"sex": ["f", "m"] * (len(values) // 2), "ill": values})
    return read_table(frame, {"sex": "quasi", "ill": role})


def test_classes_are_numbered_in_the_order_of_their_texts() -> None:
    target = Target.of(_table(["yes", "no", "yes", "no"]), "ill", 0.5)
    assert target.classes == ("no", "yes")
    assert target.codes.tolist() == [1, 0, 1, 0]
    assert target.notes == ()


def test_rows_without_a_class_teach_nothing_and_are_told() -> None:
    # With half held out a class needs two rows; "odd" has one, and one row has no value.
    target = Target.of(_table(["a", "a", "b", "b", "odd", None]), "ill", 0.5)
    assert target.classes == ("a", "b")
    assert target.codes.tolist() == [0, 0, 1, 1, NO_CLASS, NO_CLASS]
    assert "1 row has no value of 'ill'" in target.notes[0]
    assert target.notes[1] == (
        "1 row has a value of 'ill' that fewer than 2 rows have, and teach and test nothing"
    )


def test_every_class_is_held_out_in_its_share() -> None:
    target = Target.of(_table(["a"] * 80 + ["b"] * 20), "ill", 0.1)
    for repeat in range(3):
        held_out = target.held_out(0.1, 7, repeat)
        assert np.bincount(target.codes[held_out]).tolist() == [8, 2]


def test_a_repeat_holds_out_the_same_rows_again_and_another_one_others() -> None:
    target = Target.of(_table(["a", "b"] * 50), "ill", 0.2)
    first = target.held_out(0.2, 1, 0)
    assert (first == target.held_out(0.2, 1, 0)).all()
    assert (first != target.held_out(0.2, 1, 1)).any()
    assert (first != target.held_out(0.2, 2, 0)).any()


def test_rows_without_a_class_are_never_held_out() -> None:
    target = Target.of(_table(["a", "b"] * 20 + [None, None]), "ill", 0.25)
    assert not target.held_out(0.25, 1, 0)[-2:].any()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a"] * 4, "has one value, 'a'; there is nothing to tell apart"),
        (["a"] * 9 + ["b"], "the second most frequent: 1"),
        ([None] * 4, "has no value; there is nothing to tell apart"),
        ([str(i) for i in range(60)], "has 60 values, and predicted are classes, at most 50"),
    ],
)
def test_a_target_without_two_classes_is_refused(values: list[str | None], words: str) -> None:
    with pytest.raises(DataError, match=words):
        Target.of(_table(values), "ill", 0.5)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sex", "is a quasi-identifier: releases show it generalized.*no longer counts for k"),
        ("name", "is identifying, and such columns are never released"),
        ("note", "has no role in the configuration, so no release shows it"),
    ],
)
def test_a_column_that_is_not_released_as_it_is_is_refused(name: str, words: str) -> None:
    frame = pd.DataFrame({"sex": ["f", "m"], "name": ["A", "B"], "note": ["x", "y"]})
    table = read_table(frame, {"sex": "quasi", "name": "identifying"})
    if name == "note":
        table = Table(**{**vars(table), "undeclared": ("note",)})
    with pytest.raises(ConfigError, match=words):
        Target.of(table, name, 0.5)


def test_a_column_that_is_not_there_is_refused_with_the_nearest() -> None:
    with pytest.raises(DataError, match=r"has no column 'il' .did you mean 'ill'"):
        Target.of(_table(["a", "b"]), "il", 0.5)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_that_leaves_nothing_on_a_side_is_refused(share: float) -> None:
    with pytest.raises(ConfigError, match="test-share must be above 0 and below 1"):
        Target.of(_table(["a", "b"]), "ill", share)
