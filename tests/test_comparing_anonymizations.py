"""The experiment on comparing anonymizations: what its figures show."""

from __future__ import annotations

from types import ModuleType

import pytest
from matplotlib.patches import Arc, Rectangle

from tests.checkout import load_experiment

#: Group sizes of users 3 and 8 in two tables of C.
POINTS = {"T3b": (7.0, 3.0), "T4": (4.0, 4.0)}
AXES = ("user 3", "user 8")


@pytest.fixture(scope="module")
def comparing() -> ModuleType:
    return load_experiment("comparing_anonymizations")


def labels(ax: object) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]  # type: ignore[attr-defined]


def test_every_row_has_its_place(comparing: ModuleType) -> None:
    ax = comparing.plot_rows({"T3a": [3, 3, 4], "T4": [4, 6, 4]}, "size")
    assert [line.get_xydata().tolist() for line in ax.get_lines()] == [
        [[1, 3], [2, 3], [3, 4]],
        [[1, 4], [2, 6], [3, 4]],
    ]
    assert labels(ax) == ["T3a", "T4"]


def test_arcs_have_the_rank_as_radius(comparing: ModuleType) -> None:
    ax = comparing.plot_ranks(POINTS, (10, 10), AXES)
    arcs = [patch for patch in ax.patches if isinstance(patch, Arc)]
    # (10 - 7)² + (10 - 3)² = 58 and 6² + 6² = 72
    assert [arc.width / 2 for arc in arcs] == pytest.approx([58**0.5, 72**0.5])
    assert labels(ax) == ["T3b: rank 7.6", "T4: rank 8.5", "ideal"]


def test_leads_are_named_with_their_indices(comparing: ModuleType) -> None:
    ax = comparing.plot_leads({"D1": (2, 2, 3, 4, 5), "D2": (3, 2, 4, 2, 3)})
    assert labels(ax) == ["D1: cov 0.6, spr 4", "D2: cov 0.6, spr 2"]  # C §5.3
    leads = [text.get_text() for text in ax.texts]
    assert leads == ["+2", "+2", "+1", "+1"]


def test_volumes_are_those_that_each_dominates_alone(comparing: ModuleType) -> None:
    ax = comparing.plot_volumes(POINTS, AXES)
    # 7·3 - 4·3 = 9 and 4·4 - 12 = 4
    assert labels(ax) == ["T3b: 9 dominated by it alone", "T4: 4 dominated by it alone"]
    assert [text.get_text() for text in ax.texts] == ["by both: 12"]
    assert len([patch for patch in ax.patches if isinstance(patch, Rectangle)]) == 2
