"""What is proven of a front's losses: written, read again, and told without promising too much."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from moanon.front import Front
from moanon.measures.loss import gap_above, optimality


@pytest.fixture
def proven(front: Front) -> Front:
    """A front whose first two solutions are optimal, and nothing is known of the third."""
    bounds = 0.9 * front.measures["loss"]
    bounds[:2] = front.measures["loss"][:2]
    bounds[2] = 0.0
    return replace(front, proven=bounds)


def test_bounds_come_back_from_a_file_as_they_were(proven: Front, tmp_path: Path) -> None:
    proven.save(tmp_path)
    header, first, *_ = (tmp_path / "front.csv").read_text().splitlines()
    assert header.endswith(",bound,gap")
    assert first.endswith(",0.0")
    again = Front.load(tmp_path)
    assert again.proven is not None
    assert np.array_equal(again.proven, proven.proven)
    assert [*again.measures] == [*proven.measures]


def test_a_frame_tells_bounds_and_gaps(proven: Front) -> None:
    frame = proven.to_frame()
    assert frame["gap"][:3].tolist() == [0.0, 0.0, np.inf]
    assert frame["gap"][3] == pytest.approx(1 / 9)


def test_a_front_without_a_proof_has_no_such_columns(front: Front) -> None:
    assert not {"bound", "gap"} & {*front.to_frame().columns}
    assert front.choice(0).optimality == ""


def test_an_answer_says_how_far_its_solution_can_be_from_the_optimum(proven: Front) -> None:
    k = int(proven.measures["k"][3])
    told = str(proven.ask(min_k=k))
    assert f"at most 11.2% above the optimum for k at least {k}" in told


def test_gaps_are_rounded_up() -> None:
    assert optimality(0.2000001, 0.2) == "at most 0.1% above the optimum"
    assert optimality(0.2, 0.0) == ""
    assert gap_above(0.0, 0.0) == 0.0
