"""Models and their scores."""

from __future__ import annotations

import numpy as np
import pytest

from moanon.errors import ConfigError
from moanon.learning import models
from moanon.learning.features import HIDDEN
from moanon.learning.models import MODELS, check_installed, find_model, guess, learn, score


def test_scores_of_a_small_case() -> None:
    # Class 0: one of two recognized; class 1: both. Accuracy (1/2 + 2/2) / 2.
    truth = np.array([0, 0, 1, 1])
    ill = np.array([0.2, 0.6, 0.6, 0.9])
    found = score(truth, np.column_stack([1 - ill, ill]))
    assert found["balanced_accuracy"] == 0.75
    # Pairs (0, 1): .2 < .6, .2 < .9, .6 = .6 counts half, .6 < .9.
    assert found["auroc"] == 3.5 / 4
    assert found["log_loss"] == pytest.approx(-np.log([0.8, 0.4, 0.6, 0.9]).mean())


def test_of_several_classes_each_is_told_from_the_rest() -> None:
    truth = np.array([0, 1, 2])
    sure = np.eye(3)
    assert score(truth, sure)["auroc"] == 1
    # Class 0 is told from the rest, 1 and 2 are exchanged: (1 + 0.25 + 0.25) / 3 by ranks.
    swapped = np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.1, 0.8, 0.1]])
    found = score(truth, swapped)
    assert found["balanced_accuracy"] == pytest.approx(1 / 3)
    assert found["auroc"] == pytest.approx((1 + 0.25 + 0.25) / 3)


def test_a_class_that_test_rows_lack_does_not_count() -> None:
    found = score(np.array([0, 1]), np.array([[0.1, 0.2, 0.7], [0.1, 0.8, 0.1]]))
    assert found["balanced_accuracy"] == 0.5
    assert np.isfinite(found["log_loss"])


def test_without_test_rows_nothing_can_be_said() -> None:
    assert np.isnan(list(score(np.zeros(0, dtype=np.int64), np.zeros((0, 2))).values())).all()


def test_of_one_class_alone_there_is_no_area() -> None:
    found = score(np.array([1, 1]), np.array([[0.5, 0.5], [0.1, 0.9]]))
    assert np.isnan(found["auroc"])
    assert found["balanced_accuracy"] == 0.5  # the first row is taken for class 0


def test_a_guess_is_the_shares_of_classes() -> None:
    assert guess(3, np.array([0, 0, 2, 2]), 2).tolist() == [[0.5, 0, 0.5]] * 2
    assert guess(2, np.zeros(0, dtype=np.int64), 1).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("model", MODELS)
def test_a_release_that_hides_everything_teaches_a_guess(model: str) -> None:
    truth = np.array([0, 0, 0, 1] * 20)
    # A range and two depths of a tree, all hidden; raw rows show a value, and one depth or both.
    released = np.tile([20.0, 59.0, HIDDEN, HIDDEN], (80, 1))
    raw = np.array([[22, 22, 1, 2], [40, 40, 3, HIDDEN], [58, 58, 1, 4]])
    is_category = np.array([False, False, True, True])
    found = learn(model, 1, is_category, (released, truth), raw, 2)
    assert np.ptp(found, axis=0) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_takes_gaps_and_categories_and_tells_what_it_was_taught(model: str) -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 300)
    number = np.where(rng.random(300) < 0.1, np.nan, truth + rng.normal(0, 0.3, 300))
    features = np.column_stack([number, rng.integers(-1, 4, 300), np.full(300, np.nan)])
    is_category = np.array([False, True, False])
    training = features[:200], truth[:200]
    answer = learn(model, 3, is_category, training, features[200:], 2)
    assert score(truth[200:], answer)["auroc"] > 0.9
    assert answer.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("model", MODELS)
def test_a_model_answers_the_same_again(model: str) -> None:
    rng = np.random.default_rng(2)
    features, truth = rng.normal(size=(120, 3)), rng.integers(0, 2, 120)
    answers = [
        learn(model, 5, np.zeros(3, dtype=bool), (features, truth), features, 2) for _ in "ab"
    ]
    assert np.array_equal(*answers)


def test_unknown_categories_are_no_error() -> None:
    truth = np.array([0, 1] * 10)
    answer = learn(
        "logistic", 1, np.array([True]), (truth[:, None] * 1.0, truth), np.array([[7.0]]), 2
    )
    assert answer[0] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("training", [[], [1, 1, 1]])
def test_training_rows_of_one_class_teach_a_guess(training: list[int]) -> None:
    truth = np.array(training, dtype=np.int64)
    answer = learn(
        "boosting", 1, np.array([False]), (np.ones((len(truth), 1)), truth), np.ones((2, 1)), 2
    )
    assert answer.tolist() == ([[0, 1]] * 2 if training else [[0.5, 0.5]] * 2)


def test_a_class_that_training_rows_lack_has_no_probability() -> None:
    truth = np.array([0, 2] * 10)
    answer = learn(
        "logistic", 1, np.array([False]), (truth[:, None] * 1.0, truth), np.ones((1, 1)), 3
    )
    assert answer[0, 1] == 0


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="no model called 'boost'; did you mean 'boosting'"):
        find_model("boost")


def test_without_scikit_learn_the_command_to_install_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"scikit-learn.*pip install 'moanon\[learning\]'"):
        check_installed()
