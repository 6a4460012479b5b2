"""Figures and page of what can be learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from moanon.learning.lessons import Target
from moanon.learning.study import Study, StudyOutcome, which_tell
from moanon.output.studies import learning_html, plot_scores, plot_telling
from tests.learning.patients import instance_of, mondrian, patients_frame, studied


@pytest.fixture(scope="module")
def outcome() -> StudyOutcome:
    instance = instance_of(patients_frame(200))
    releases = [
        replace(mondrian(instance, k), name=f"mondrian#{k}", source="mondrian") for k in (2, 5, 10)
    ]
    target = Target.of(instance.table, "ill", 0.25)
    study = Study(releases, target, ("logistic",), repeats=2, test_share=0.25)
    return StudyOutcome(study, studied(*releases))


def test_scores_are_drawn_against_k_and_loss(outcome: StudyOutcome) -> None:
    figure = plot_scores(outcome, "auroc")
    left, right = figure.axes
    assert (left.get_ylabel(), left.get_xlabel()) == ("AUROC", "k (rows in the smallest group)")
    assert right.get_xlabel() == "loss (%)"
    # Three means in one line, each with the range of its repeats.
    points = next(line for line in left.lines if line.get_marker() == "o")
    means = outcome.scores.groupby("release", sort=False)["auroc"].mean()
    assert np.asarray(points.get_ydata()).tolist() == pytest.approx(means.tolist())
    assert "a guess has 0.500" in left.get_title(loc="left")


def test_every_loss_that_varies_has_its_place(outcome: StudyOutcome) -> None:
    metrics = which_tell(outcome)
    (ax,) = plot_telling(metrics).axes
    told = [text.get_text() for text in ax.get_yticklabels()]
    assert "loss" in told
    assert "suppressed" not in told  # Mondrian suppresses nothing


def test_too_few_releases_are_no_error(outcome: StudyOutcome) -> None:
    few = StudyOutcome(
        replace(outcome.study, anonymizations=outcome.study.anonymizations[:2]), outcome.records
    )
    (ax,) = plot_telling(which_tell(few)).axes
    assert ax.texts[0].get_text() == "too few releases, or all alike"


def test_what_comes_from_data_is_text_on_the_page(outcome: StudyOutcome) -> None:
    target = replace(outcome.study.target, name="<b>ill</b>", classes=("<i>", "&"))
    odd = StudyOutcome(replace(outcome.study, target=target), outcome.records)
    images = dict.fromkeys(("a.png", "b.png", "c.png"), b"")
    page = learning_html(odd, which_tell(odd), ["a <note>"], images)
    assert "<b>" not in page
    assert "&lt;b&gt;ill&lt;/b&gt;" in page
    assert "a &lt;note&gt;" in page
    assert "<script" not in page
