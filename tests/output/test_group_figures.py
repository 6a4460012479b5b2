"""Figures of group sizes: how the rows are spread, and of which solutions."""

from __future__ import annotations

import re

import numpy as np
import pytest

from moanon.errors import ConfigError
from moanon.front import Front
from moanon.front.landmarks import find_landmarks
from moanon.output.front_figures import plot_front, plot_group_sizes, typical_solutions
from tests.output.drawn import made_front, markers
from tests.search.people import found_front


def test_group_sizes_add_up_to_all_rows(kl_front: Front) -> None:
    solution = int(np.flatnonzero(kl_front.measures["suppressed"] > 0)[0]) + 1
    ax = plot_group_sizes(kl_front, solution)
    (curve,) = ax.get_lines()
    x, y = (np.asarray(values) for values in (curve.get_xdata(), curve.get_ydata()))
    row = solution - 1
    # It starts with the suppressed rows, and rises first at the smallest kept group.
    assert y[0] == pytest.approx(100 * kl_front.measures["suppressed"][row] / 120)
    assert x[np.flatnonzero(np.diff(y) > 0)[0]] == kl_front.measures["k"][row]
    assert y[-1] == pytest.approx(100)
    assert ax.get_ylabel() == "rows suppressed or in\ngroups up to i (%)"


def test_group_sizes_without_suppression() -> None:
    front = found_front("zero-suppression")
    ax = plot_group_sizes(front, [1, len(front)])
    assert ax.get_ylabel() == "rows in groups up to i (%)"
    told = [text.get_text() for text in ax.get_legend().get_texts()]  # type: ignore[union-attr]
    assert len(told) == 2
    assert all(re.fullmatch(r"weighted-k [\d.,]+, loss [\d.]+ %", text) for text in told)


def test_group_sizes_need_the_rows() -> None:
    with pytest.raises(ConfigError, match="a release needs the rows"):
        plot_group_sizes(made_front(k=[1]), 1)


def test_insets_show_the_chosen_solutions() -> None:
    front = found_front("zero-suppression")
    ax = plot_front(front, insets=[2, len(front) - 1])
    assert len(ax.child_axes) == 2
    rings = {
        (float(front.measures["weighted_k"][row]), float(100 * front.measures["loss"][row]))
        for row in (1, len(front) - 2)
    }
    assert rings <= markers(ax, "o")


def test_typical_solutions_are_affordable_knees(kl_front: Front) -> None:
    front = found_front("k-suppression")
    affordable = [knee.last for knee in find_landmarks(front).knees if knee.rise <= 2 / 3]
    assert affordable
    assert typical_solutions(front, len(affordable)) == affordable


def test_without_knees_typical_solutions_are_spread_evenly() -> None:
    k = np.arange(100, 201)
    front = made_front(k=k, loss=(k - 100) / 100)
    # At a quarter and three quarters of the way.
    assert typical_solutions(front, 2) == [26, 76]
