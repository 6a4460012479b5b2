"""Studies: the same numbers in any order, on any number of threads, and after any interruption."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from moanon.errors import ConfigError
from moanon.learning.lessons import Target
from moanon.learning.study import Key, Record, Study, StudyOutcome
from tests.learning.patients import instance_of, mondrian, patients_frame, studied


@pytest.fixture(scope="module")
def release() -> Any:
    return mondrian(instance_of(patients_frame(200)), 5)


def _study(*releases: Any, **settings: Any) -> Study:
    target = Target.of(releases[0].instance.table, "ill", 0.25)
    return Study(releases, target, **({"models": ("logistic",), "repeats": 2} | settings))


def test_every_release_model_and_repeat_has_a_record(release: Any) -> None:
    records = studied(release, models=("logistic", "boosting"))
    study = _study(release, models=("logistic", "boosting"))
    assert set(records) == set(study.keys)
    assert len(study.keys) == 2 * 2 * 3


def test_threads_do_not_matter(release: Any) -> None:
    models = ("logistic", "forest", "boosting")
    alone = studied(release, models=models, repeats=1)
    assert studied(release, models=models, repeats=1, threads=3) == alone


def test_a_study_goes_on_where_it_was_stopped(release: Any) -> None:
    whole = studied(release)
    study, records = _study(release, test_share=0.25), {}
    asked = iter([False, True])
    assert not study.run(records.__setitem__, stop=lambda: next(asked))
    assert 0 < len(records) < len(whole)
    before = dict(records)
    assert study.run(records.__setitem__, before)
    assert records == whole


def test_what_is_known_is_not_worked_out_again(release: Any) -> None:
    whole = studied(release)
    told: dict[Key, Record] = {}
    assert _study(release, test_share=0.25).run(told.__setitem__, whole)
    assert told == {}


def test_a_row_does_not_depend_on_what_else_is_asked_for(release: Any) -> None:
    alone = studied(release)
    other = mondrian(release.instance, 20)
    more = studied(other, release, models=("boosting", "logistic"), repeats=3)
    assert {key: more[key] for key in alone} == alone


def test_another_seed_gives_other_numbers(release: Any) -> None:
    assert studied(release, seed=2) != studied(release)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"models": ()}, "at least one model. Got none"),
        ({"models": ("logistic", "logistic")}, "the model logistic is named twice"),
        ({"protocol": "both"}, "protocol must be one of raw, released. Got 'both'"),
        ({"repeats": 0}, "repeats must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_impossible_settings_are_refused(
    release: Any, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        _study(release, **settings)


def test_tables_of_an_outcome(release: Any) -> None:
    study = _study(release, test_share=0.25)
    outcome = StudyOutcome(study, studied(release))
    scores = outcome.scores
    assert scores[["release", "model", "repeat"]].to_numpy().tolist() == [
        ["mondrian-5", "logistic", 1],
        ["mondrian-5", "logistic", 2],
    ]
    assert (scores["train_rows"] + scores["test_rows"] == 200).all()
    assert (scores["constant_auroc"] == 0.5).all()
    measured = outcome.releases
    assert (scores["k"] == 5).all()  # of the release of all rows
    assert (measured["k"] == 4).all()  # of three quarters of them: 3.75, rounded up
    assert {"loss", "cm", "dm", "ncp"} <= set(measured.columns)
    assert not {"risk_max", "size_mean"} & set(measured.columns)
    lost = (scores["original_auroc"] - scores["auroc"]).mean()
    assert outcome.drops["auroc"].item() == pytest.approx(lost)
    # Of a loss, more is worse.
    more = (scores["log_loss"] - scores["original_log_loss"]).mean()
    assert outcome.drops["log_loss"].item() == pytest.approx(more)
    assert isinstance(outcome.drops, pd.DataFrame)
