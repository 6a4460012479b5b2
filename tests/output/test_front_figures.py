"""Figures of privacy against a cost: what they show of a front, in which units."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.lines import Line2D

from moanon.errors import ConfigError
from moanon.front import Front
from moanon.front.landmarks import TradeOff
from moanon.output.figure_style import COLOURS
from moanon.output.front_figures import magnified_parts, plot_front, plot_magnified
from moanon.output.objective_figures import plot_fronts
from tests.output.drawn import made_front, markers, words

# -- a front -------------------------------------------------------------------------------------


@pytest.fixture
def five_solutions() -> Front:
    # The fourth is dominated by the third in k and loss.
    return made_front(k=[1, 20, 26, 25, 600], loss=[0.0, 0.5, 0.503, 0.55, 0.9])


def test_a_front_is_drawn_in_percent(five_solutions: Front) -> None:
    ax = plot_front(five_solutions)
    drawn = {(1, 0), (20, 50), (26, 50.3), (25, 55), (600, 90)}
    assert {(x, round(y, 9)) for x, y in markers(ax, "o")} == drawn
    assert ax.get_ylabel() == "loss (%)"
    assert ax.get_xlabel() == "k (rows in the smallest group)"


def test_the_stair_leaves_out_what_is_dominated(five_solutions: Front) -> None:
    ax = plot_front(five_solutions)
    (stair,) = [line for line in ax.get_lines() if len(line.get_xdata()) == 7]  # type: ignore[arg-type]
    # Two corners for each of the four solutions but the last.
    assert np.asarray(stair.get_xdata()).tolist() == [1, 1, 20, 20, 26, 26, 600]
    assert np.round(np.asarray(stair.get_ydata()), 9).tolist() == [0, 50, 50, 50.3, 50.3, 90, 90]


def test_the_band_is_where_the_optimum_is_proven_to_lie() -> None:
    front = made_front(k=[1, 20, 26], loss=[0.0, 0.5, 0.6])
    ax = plot_front(replace(front, proven=np.array([0.0, 0.5, 0.45])))
    assert "the optimum is in here: proven" in words(ax)
    (band,) = ax.collections[:1]
    corners = {(x, round(y, 9)) for x, y in band.get_paths()[0].vertices.tolist()}
    # from k 20, where the optimum is known, on: between 45 % and 60 %, as far as 26
    assert {(20, 45), (20, 60), (26, 45), (26, 60)} <= corners
    assert max(y for _, y in corners) == 60


def test_a_front_that_is_proven_needs_no_band() -> None:
    front = made_front(k=[1, 20, 26], loss=[0.0, 0.5, 0.6])
    ax = plot_front(replace(front, proven=front.measures["loss"]))
    assert "every solution is proven optimal" in words(ax)
    assert "the optimum is in here: proven" not in words(ax)


def test_flat_stretches_are_told_in_a_few_words(five_solutions: Front) -> None:
    assert "20 to 26\nfor 0.3 %" in words(plot_front(five_solutions))


def test_knees_are_marked_and_told() -> None:
    k = np.arange(100, 201)
    loss = np.where(k <= 150, 0.001 * (k - 100), 0.05 + 0.019 * (k - 150))
    ax = plot_front(made_front(k=k, loss=loss))
    assert markers(ax, "D") == {(150, 5)}
    assert "k 150\n5.0 %" in words(ax)


def test_a_limit_shows_the_best_within(five_solutions: Front) -> None:
    ax = plot_front(five_solutions, max_cost=0.51)
    assert {(x, round(y, 9)) for x, y in markers(ax, "s")} == {(26, 50.3)}
    assert "k 26\nwithin 51 %" in words(ax)


def test_a_limit_below_everything_marks_nothing() -> None:
    assert markers(plot_front(made_front(k=[2], loss=[0.4]), max_cost=0.1), "s") == set()


def test_few_solutions_are_all_named() -> None:
    told = words(plot_front(made_front(k=[2, 50], loss=[0.1, 0.4])))
    assert {"k 2\n10.0 %", "k 50\n40.0 %"} <= {*told}


def test_k_has_a_logarithmic_axis_where_it_spans_decades() -> None:
    assert plot_front(made_front(k=[1, 10], loss=[0.01, 0.9])).get_xscale() == "log"
    assert plot_front(made_front(k=[2, 19], loss=[0.01, 0.9])).get_xscale() == "linear"


def test_loss_never_has_one() -> None:
    assert plot_front(made_front(k=[1, 10], loss=[0.001, 0.9])).get_yscale() == "linear"


def test_large_numbers_on_axes_are_short() -> None:
    ax = plot_front(made_front(k=[1, 10**9], loss=[0.1, 0.9]))
    assert [ax.xaxis.get_major_formatter()(value, None) for value in (1, 1e4, 1e8)] == [
        "1",
        "10,000",
        "100 M",
    ]


def test_other_measures_can_be_chosen() -> None:
    ax = plot_front(made_front(k=[1, 2]), privacy="weighted_k", cost="gl")
    assert ax.get_ylabel() == "generalization loss (%)"
    assert ax.get_xlabel().startswith("weighted-k")


# -- magnified -----------------------------------------------------------------------------------


def ends(parts: list[TradeOff]) -> list[tuple[float, float]]:
    return [(float(part.privacies[0]), float(part.privacies[-1])) for part in parts]


def test_of_k_the_parts_are_those_that_publishers_choose_among() -> None:
    k = np.arange(1, 1002)
    parts = magnified_parts(TradeOff.of(made_front(k=k, loss=np.log(k) / np.log(1001))), 4)
    assert ends(parts) == [(1, 1001), (2, 500), (2, 50)]
    assert not any(part.logarithmic for part in parts)


def test_a_range_without_solutions_is_no_part() -> None:
    k = np.arange(600, 2000)
    assert ends(magnified_parts(TradeOff.of(made_front(k=k, loss=k / 2000)), 4)) == [(600, 1999)]


def test_of_another_privacy_each_part_is_the_steepest_of_the_one_before() -> None:
    size = np.arange(1, 1002)
    loss = np.log(size) / np.log(1001)
    front = made_front(k=size, weighted_k=size, loss=loss)
    parts = magnified_parts(TradeOff.of(front, "weighted_k"), 4)
    # Of a logarithm the beginning is the steepest, a tenth of it each time: 1..1001, 1..101, 1..11.
    assert ends(parts) == [(1, 1001), (1, 101), (1, 11)]


def test_numbers_below_magnified_parts_do_not_touch() -> None:
    k = np.unique(np.geomspace(1, 1_350_000, 400).round())
    figure = plot_magnified(made_front(k=k, loss=np.log(k) / np.log(k[-1])))
    figure.draw_without_rendering()
    assert len(figure.axes) == 3
    for ax in figure.axes:
        low, high = ax.get_xlim()
        seen = [t for t in ax.get_xticklabels() if low <= t.get_position()[0] <= high]
        boxes = [text.get_window_extent() for text in seen if text.get_text()]
        assert len(boxes) >= 2
        assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_what_people_lose_is_drawn_beside_the_loss() -> None:
    front = made_front(k=[2, 5, 9], loss=[0.1, 0.2, 0.4], entropy_loss=[0.3, 0.35, 0.8])
    ax = plot_front(front)
    dotted = [line for line in ax.get_lines() if line.get_linestyle() not in ("-", "None")]
    assert [line.get_ydata().tolist() for line in dotted] == [[30, 35, 80]]  # type: ignore[union-attr]
    assert "entropy loss of the same" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_there_is_an_axis_for_each_part_and_an_arrow_between() -> None:
    k = np.arange(1, 1002)
    figure = plot_magnified(made_front(k=k, loss=np.log(k) / np.log(1001)))
    assert len(figure.axes) == 3
    assert len(figure.artists) == 2
    assert {ax.get_xscale() for ax in figure.axes} == {"linear"}


def test_few_solutions_are_not_magnified() -> None:
    assert len(plot_magnified(made_front(k=[1, 2, 500], loss=[0.1, 0.5, 0.6])).axes) == 1


# -- privacy that is better when lower -----------------------------------------------------------


@pytest.fixture
def close() -> Front:
    """Solution 3 is the only knee: 0.3 of t cost 5 points up to it, and the last 0.2 the rest."""
    t = [0.5, 0.35, 0.2, 0.1, 0.0]
    return made_front(("t_closeness", "loss"), t_closeness=t, loss=[0.1, 0.125, 0.15, 0.575, 1.0])


def test_a_front_shows_the_privacy_that_was_searched(close: Front) -> None:
    ax = plot_front(close)
    assert ax.get_xlabel() == "t closeness: lower is more private"
    assert {(x, round(y, 9)) for x, y in markers(ax, "D")} == {(0.2, 15)}
    assert "t closeness 0.2\n15.0 %" in words(ax)


def test_the_best_within_a_limit_is_the_closest(close: Front) -> None:
    ax = plot_front(close, max_cost=0.3)
    assert {(x, round(y, 9)) for x, y in markers(ax, "s")} == {(0.2, 15)}


def test_an_infinite_privacy_has_no_place_in_a_figure() -> None:
    front = made_front(("delta", "loss"), delta=[np.inf, 2.0, 0.5], loss=[0.0, 0.3, 0.6])
    drawn = {(x, round(y, 9)) for x, y in markers(plot_front(front), "o")}
    assert drawn == {(2, 30), (0.5, 60)}


# -- several limits ------------------------------------------------------------------------------


def test_fronts_of_several_limits_are_told_apart() -> None:
    fronts = {
        "0 %": made_front(k=[1, 50], loss=[0.1, 0.8]),
        "10 %": made_front(k=[1, 90], loss=[0.1, 0.7]),
    }
    ax = plot_fronts(fronts)
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["0 %", "10 %"]
    assert legend.get_title().get_text() == "rows that may be suppressed"
    handles = [handle for handle in legend.legend_handles if isinstance(handle, Line2D)]
    assert len({(handle.get_marker(), str(handle.get_color())) for handle in handles}) == 2


def test_fronts_of_no_order_have_colours_that_differ() -> None:
    fronts = {f"front {i}": made_front(k=[1, 50 + i], loss=[0.1, 0.8]) for i in range(8)}
    legend = plot_fronts(fronts, heading="", ordered=False).get_legend()
    assert legend is not None
    handles = [handle for handle in legend.legend_handles if isinstance(handle, Line2D)]
    looks = [(handle.get_marker(), handle.get_color()) for handle in handles]
    assert len(set(looks)) == 8
    assert len({colour for _, colour in looks}) == len(COLOURS)


def test_a_solution_that_another_of_its_front_beats_is_hollow() -> None:
    ax = plot_fronts({"baseline": made_front(k=[2, 5, 4], loss=[0.1, 0.3, 0.6])}, ordered=False)
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
    assert [line.get_xydata().tolist() for line in hollow] == [[[4, 60]]]


def test_a_comparison_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"takes at least one front\. Got none"):
        plot_fronts({})
