"""Figures of three objectives and more: in pairs, under limits, k with l."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from moanon.errors import ConfigError
from moanon.front import Front
from moanon.measures.suppression import Suppression
from moanon.output.figure_files import write_plots
from moanon.output.objective_figures import (
    plot_diversity,
    plot_filtered,
    plot_limits,
    plot_pairs,
    revealing_limits,
    usual_limit,
)
from tests.output.drawn import made_front, markers, words

# -- three objectives and more -------------------------------------------------------------------


def test_there_is_an_axis_for_each_pair() -> None:
    figure = plot_pairs(made_front(("k", "l", "gl", "sl"), k=range(1, 20)))
    assert len(figure.axes) == 6
    labels = {ax.get_xlabel() for ax in figure.axes} | {ax.get_ylabel() for ax in figure.axes}
    assert labels == {"", "k", "ℓ", "GL (%)", "SL (%)"}


def test_pairs_take_two_objectives() -> None:
    with pytest.raises(ConfigError, match=r"takes at least two objectives\. Got 1"):
        plot_pairs(made_front(("loss",), k=[1]))


@pytest.fixture
def three() -> Front:
    return made_front(
        ("weighted_k", "gl", "sl"),
        Suppression("weighted-k"),
        weighted_k=[10.0, 20.0, 30.0, 40.0],
        gl=[0.1, 0.2, 0.3, 0.4],
        sl=[0.4, 0.25, 0.2, 0.1],
    )


def test_a_view_shows_what_is_within_its_limit(three: Front) -> None:
    figure = plot_filtered(three, limits={"sl": 0.2, "gl": 0.25})
    shown = [ax.collections[0].get_offsets() for ax in figure.axes[:2]]
    assert np.asarray(shown[0]).round(9).tolist() == [[30, 30], [40, 40]]  # gl, where sl <= 20 %
    assert np.asarray(shown[1]).round(9).tolist() == [[20, 25], [10, 40]]  # sl, where gl <= 25 %
    assert [ax.get_title(loc="left") for ax in figure.axes[:2]] == [
        "SL at most 20 %",
        "GL at most 25 %",
    ]


def test_a_view_of_nothing_says_so(three: Front) -> None:
    assert "no solution" in words(plot_filtered(three, limits={"sl": 0.01}))


def test_a_limit_is_of_a_cost(three: Front) -> None:
    with pytest.raises(ConfigError, match=r"a limit must be of gl or sl\. Got 'weighted_k'"):
        plot_filtered(three, limits={"weighted_k": 5})


def test_a_view_takes_two_costs() -> None:
    sentence = r"takes two objectives to minimize that are no privacy\. Got 1"
    with pytest.raises(ConfigError, match=sentence):
        plot_filtered(made_front(k=[1]))
    with pytest.raises(ConfigError, match=sentence):  # a closeness is no cost
        plot_filtered(made_front(("k", "t_closeness", "loss"), t_closeness=[0.5, 0.2]))


def test_costs_are_added_where_their_sum_is_the_loss(three: Front) -> None:
    text = words(plot_filtered(three, limits={"sl": 0.5}))
    assert "GL 10.0 % + SL 40.0 %" in " ".join(text)
    unlike = made_front(("k", "loss", "cm"), k=[1, 5, 9], loss=[0.1, 0.2, 0.4], cm=[50, 40, 30])
    text = words(plot_filtered(unlike, limits={"cm": 60}))
    assert "loss 10.0 %, cm 50" in " ".join(text)
    assert "+" not in " ".join(text)


def test_a_closeness_is_not_filtered_as_a_cost(tmp_path: Path) -> None:
    t = np.linspace(0.5, 0, 5)
    front = made_front(("k", "t_closeness", "loss"), t_closeness=t.tolist())
    written = {path.name for path in write_plots(front, tmp_path, formats=("png",))}
    assert written == {"front.png", "pairs.png"}


# -- k and l -------------------------------------------------------------------------------------


@pytest.fixture
def safe() -> Front:
    """What the rule aims at is more than what is attained."""
    return made_front(
        ("d1", "d2", "loss"),
        Suppression("kl-safety", 0.1, safety="ordered"),
        d1=[5, 20, 8, 25, 9],
        d2=[9, 9, 9, 9, 9],
        k=[5, 20, 8, 25, 9],
        l=[2, 4, 3, 3, 8],
        loss=[0.1, 0.2, 0.15, 0.205, 0.21],
    )


def test_k_and_l_are_those_attained(safe: Front) -> None:
    ax = plot_diversity(safe, 0.2).axes[0]
    points = np.asarray(ax.collections[0].get_offsets())
    assert {tuple(point) for point in points.tolist()} == {(5, 2), (20, 4), (8, 3)}
    assert "(20, 4)" in words(ax)


def test_what_the_rule_aims_at_can_be_drawn_too(safe: Front) -> None:
    ax = plot_diversity(safe, 0.2, measures=("d1", "d2")).axes[0]
    points = np.asarray(ax.collections[0].get_offsets())
    assert {tuple(point) for point in points.tolist()} == {(5, 9), (20, 9), (8, 9)}


def test_more_loss_reveals_new_choices(safe: Front) -> None:
    figure = plot_limits(safe, (0.2, 0.21))
    before, after = figure.axes
    assert markers(before, "D") == set()
    assert markers(after, "D") >= {(25, 3), (9, 8)}
    assert {"(25, 3)", "(9, 8)", "new within 21 %"} <= {*words(after)}
    assert "(20, 4)" not in words(after)  # it was there before


def test_limits_are_in_order(safe: Front) -> None:
    with pytest.raises(ConfigError, match="the second limit must be larger than the first"):
        plot_limits(safe, (0.2, 0.2))


def test_k_and_l_take_a_sensitive_column(safe: Front) -> None:
    bare = replace(safe, measures={name: safe.measures[name] for name in ("k", "loss")})
    with pytest.raises(ConfigError, match="no measure 'l'; a figure of k and l takes a front of a"):
        plot_diversity(bare, 0.5)


def test_several_fronts_share_their_axes(safe: Front) -> None:
    figure = plot_diversity({"k preferred": safe, "ℓ preferred": safe}, 0.2)
    left, right = figure.axes[:2]
    assert left.get_xlim() == right.get_xlim()
    assert left.get_title(loc="left") == "k preferred  ·  loss at most 20 %"


def test_nothing_within_a_loss_is_said(safe: Front) -> None:
    assert "no solution" in words(plot_diversity(safe, 0.01))


def test_the_usual_limit_leaves_something_to_see() -> None:
    assert usual_limit(made_front(k=range(1, 11), loss=np.linspace(0.1, 0.9, 10))) == 0.3
    # A quarter of the losses from 82 to 92 % is below 84.5 %: the next 5 %.
    assert usual_limit(made_front(k=range(1, 6), loss=np.linspace(0.82, 0.92, 5))) == 0.85


def test_the_next_percent_that_reveals_something(safe: Front) -> None:
    # At 16 to 19 % there is nothing new; at 20 % (20, 4) is.
    assert revealing_limits(safe, 0.15) == (0.15, 0.2)
    assert revealing_limits(safe, 0.5) is None
