"""Figures: what they show of a front, in which units, and that they can be read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation, Text

from moanon.errors import ConfigError
from moanon.front import Front
from moanon.front.landmarks import TradeOff, find_landmarks
from moanon.measures.suppression import Suppression
from moanon.output.fronts import steep_parts
from moanon.output.groups import typical_solutions
from moanon.output.plots import (
    plot_diversity,
    plot_etas,
    plot_filtered,
    plot_front,
    plot_group_sizes,
    plot_limits,
    plot_magnified,
    plot_pairs,
    plot_preferences,
    write_plots,
)
from moanon.output.safety import revealing_limits, usual_limit
from moanon.output.style import new_axes, plain, problem_words, root_figure
from tests.output.drawn import found_front, made_front

Point = tuple[float, float]


def markers(ax: Axes, marker: str) -> set[Point]:
    """Where a kind of mark stands."""
    lines = [line for line in ax.get_lines() if line.get_marker() == marker]
    return {
        (float(x), float(y))
        for line in lines
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)  # type: ignore[arg-type]
    }


def words(place: Axes | Figure) -> list[str]:
    return [text.get_text() for text in place.findobj(Text) if text.get_text()]  # type: ignore[attr-defined]


def notes(ax: Axes) -> list[Annotation]:
    """Words beside points."""
    return [text for text in ax.texts if isinstance(text, Annotation) and text.get_text()]


# -- a front -------------------------------------------------------------------------------------


@pytest.fixture
def front() -> Front:
    # The fourth is dominated by the third in k and loss.
    return made_front(k=[1, 20, 26, 25, 600], loss=[0.0, 0.5, 0.503, 0.55, 0.9])


def test_a_front_is_drawn_in_percent(front: Front) -> None:
    ax = plot_front(front)
    drawn = {(1, 0), (20, 50), (26, 50.3), (25, 55), (600, 90)}
    assert {(x, round(y, 9)) for x, y in markers(ax, "o")} == drawn
    assert ax.get_ylabel() == "loss (%)"
    assert ax.get_xlabel() == "k (rows in the smallest group)"


def test_the_stair_leaves_out_what_is_dominated(front: Front) -> None:
    ax = plot_front(front)
    (stair,) = [line for line in ax.get_lines() if len(line.get_xdata()) == 7]  # type: ignore[arg-type]
    # Two corners for each of the four solutions but the last.
    assert np.asarray(stair.get_xdata()).tolist() == [1, 1, 20, 20, 26, 26, 600]
    assert np.round(np.asarray(stair.get_ydata()), 9).tolist() == [0, 50, 50, 50.3, 50.3, 90, 90]


def test_flat_stretches_are_told_in_a_few_words(front: Front) -> None:
    assert "20 to 26\nfor 0.3 %" in words(plot_front(front))


def test_knees_are_marked_and_told() -> None:
    k = np.arange(100, 201)
    loss = np.where(k <= 150, 0.001 * (k - 100), 0.05 + 0.019 * (k - 150))
    ax = plot_front(made_front(k=k, loss=loss))
    assert markers(ax, "D") == {(150, 5)}
    assert "k 150\n5.0 %" in words(ax)


def test_a_limit_shows_the_best_within(front: Front) -> None:
    ax = plot_front(front, max_cost=0.51)
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


# -- whose axes ----------------------------------------------------------------------------------

ON_AXES: dict[str, Callable[[Front, Axes | None], Axes]] = {
    "front": plot_front,
    "diversity": lambda front, ax: plot_diversity(front, 0.5, ax),
    "etas": lambda front, ax: plot_etas({"1 %": front}, ax),
    "groups": lambda front, ax: plot_group_sizes(front, 1, ax),
}
ON_FIGURES: dict[str, Callable[[Front, Figure | None], Figure]] = {
    "magnified": plot_magnified,
    "pairs": plot_pairs,
    "filtered": lambda front, figure: plot_filtered(front, figure, limits={"sl": 0.9}),
    "limits": lambda front, figure: plot_limits(front, (0.3, 0.5), figure),
    "preferences": lambda front, figure: plot_preferences({"k": front}, 0.5, figure),
}


@pytest.fixture(scope="module")
def real() -> Front:
    return found_front("kl-safety")


@pytest.mark.parametrize("name", ON_AXES)
def test_figures_are_drawn_on_the_axes_they_are_given(name: str, real: Front) -> None:
    ax = new_axes(5, 3)
    assert ON_AXES[name](real, ax) is ax
    assert ax.has_data()


@pytest.mark.parametrize("name", ON_FIGURES)
def test_figures_of_many_parts_are_drawn_on_the_figure_they_are_given(name: str) -> None:
    objectives = ("weighted_k", "gl", "sl")
    front = made_front(objectives, k=range(1, 60), l=[*range(59, 0, -1)])
    figure = Figure((7, 5))
    assert ON_FIGURES[name](front, figure) is figure
    assert any(ax.has_data() for ax in figure.axes)


# -- words that can be read ----------------------------------------------------------------------


def overlaps(ax: Axes) -> list[tuple[str, str]]:
    """Words beside points that run into each other."""
    return [
        (one.get_text(), other.get_text())
        for one, other in combinations(notes(ax), 2)
        if one.get_window_extent().overlaps(other.get_window_extent())
    ]


# Without shrinking: an example is slow to draw, and as easily read large.
@settings(max_examples=8, phases=[Phase.explicit, Phase.generate])
@given(st.integers(0, 2**32 - 1), st.integers(3, 300), st.sampled_from([(3.4, 2.7), (7.0, 3.9)]))
def test_no_words_run_into_each_other(seed: int, number: int, size: Point) -> None:
    rng = np.random.default_rng(seed)
    k = np.unique(np.exp(rng.uniform(0, 10, number)).astype(int))
    front = made_front(k=k, loss=np.sort(rng.random(len(k)) ** 2))
    ax = plot_front(front, size=size, max_cost=0.3)
    assert notes(ax)
    assert overlaps(ax) == []
    frame = ax.get_window_extent()
    for note in notes(ax):
        box = note.get_window_extent()
        assert frame.x0 <= box.x0 <= box.x1 <= frame.x1
        assert frame.y0 <= box.y0 <= box.y1 <= frame.y1


def test_words_run_into_no_legend() -> None:
    ax = plot_front(found_front("k-suppression"))
    legend = ax.get_legend()
    assert legend is not None
    place = legend.get_window_extent()
    assert not any(place.overlaps(note.get_window_extent()) for note in notes(ax))


NASTY = '<script>alert("$x_1^2$ \\frac{1}{0}")</script>'


@pytest.mark.parametrize("name", ON_AXES)
def test_what_comes_from_data_is_no_formula(name: str, real: Front) -> None:
    figure = root_figure(ON_AXES[name](real, None))
    texts = [text for text in figure.findobj(Text) if "$" in text.get_text()]  # type: ignore[attr-defined]
    assert texts == []
    ax = plot_front(real, words=(NASTY,))
    assert ax.get_title(loc="left") == NASTY
    assert not any(text.get_parse_math() for text in ax.findobj(Text) if "$" in text.get_text())  # type: ignore[attr-defined]


def test_a_title_takes_the_lines_it_needs(real: Front) -> None:
    said = ("a front of mine", "at most 10 % of rows suppressed", "loss at most 30 %")
    told = plot_front(real, words=said).get_title(loc="left")
    assert told == "a front of mine  ·  at most 10 % of rows suppressed\nloss at most 30 %"


def test_a_title_longer_than_a_line_is_cut(real: Front) -> None:
    ax = plot_front(real, words=("long" * 40,))
    (title,) = [text for text in ax.findobj(Text) if text.get_text().startswith("long")]  # type: ignore[attr-defined]
    assert title.get_text().endswith("…")
    # It fills the line, 3.4 - 0.6 inches, but for a letter; and ends within the figure.
    box = title.get_window_extent()
    assert 270 <= box.width <= 280
    assert box.x1 <= 340


def test_signs_without_a_shape_become_boxes() -> None:
    assert plain("ℓ ≥ 2\x1b[31m\n数") == "ℓ ≥ 2□[31m□□"


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (Suppression("none"), "no row suppressed"),
        (Suppression("weighted-k"), "groups below weighted-k suppressed"),
        (Suppression("limit", 0.1), "at most 10 % of rows suppressed"),
        (Suppression("kl-safety", 0.015), "at most 1.5 % of rows suppressed"),
    ],
)
def test_what_a_rule_allows_in_words(rule: Suppression, told: str) -> None:
    assert problem_words(made_front(rule=rule, k=[1])) == told


# -- group sizes ---------------------------------------------------------------------------------


def test_group_sizes_add_up_to_all_rows(real: Front) -> None:
    solution = int(np.flatnonzero(real.measures["suppressed"] > 0)[0]) + 1
    ax = plot_group_sizes(real, solution)
    (curve,) = ax.get_lines()
    x, y = (np.asarray(values) for values in (curve.get_xdata(), curve.get_ydata()))
    row = solution - 1
    # It starts with the suppressed rows, and rises first at the smallest kept group.
    assert y[0] == pytest.approx(100 * real.measures["suppressed"][row] / 120)
    assert x[np.flatnonzero(np.diff(y) > 0)[0]] == real.measures["k"][row]
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


def test_typical_solutions_are_affordable_knees(real: Front) -> None:
    front = found_front("k-suppression")
    knees = {knee.id: knee for knee in find_landmarks(front).knees}
    affordable = [knee for knee in knees.values() if knee.rise <= 2 / 3]
    assert affordable
    assert typical_solutions(front, len(affordable)) == [knee.id for knee in affordable]


def test_without_knees_typical_solutions_are_spread_evenly() -> None:
    k = np.arange(100, 201)
    front = made_front(k=k, loss=(k - 100) / 100)
    # At a quarter and three quarters of the way.
    assert typical_solutions(front, 2) == [26, 76]


# -- magnified -----------------------------------------------------------------------------------


def test_each_part_is_the_steepest_of_the_one_before() -> None:
    k = np.arange(1, 1002)
    tradeoff = TradeOff.of(made_front(k=k, loss=np.log(k) / np.log(1001)))
    parts = steep_parts(tradeoff, 4)
    # Of a logarithm the beginning is the steepest, a tenth of it each time: 1..1001, 1..101, 1..11.
    assert [(part.privacies[0], part.privacies[-1]) for part in parts] == [
        (1, 1001),
        (1, 101),
        (1, 11),
    ]
    assert not any(part.logarithmic for part in parts)


def test_there_is_an_axis_for_each_part_and_an_arrow_between() -> None:
    k = np.arange(1, 1002)
    figure = plot_magnified(made_front(k=k, loss=np.log(k) / np.log(1001)))
    assert len(figure.axes) == 3
    assert len(figure.artists) == 2
    assert {ax.get_xscale() for ax in figure.axes} == {"linear"}


def test_few_solutions_are_not_magnified() -> None:
    assert len(plot_magnified(made_front(k=[1, 2, 500], loss=[0.1, 0.5, 0.6])).axes) == 1


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
    ax = plot_diversity(safe, 0.2)
    points = np.asarray(ax.collections[0].get_offsets())
    assert {tuple(point) for point in points.tolist()} == {(5, 2), (20, 4), (8, 3)}
    assert "(20, 4)" in words(ax)


def test_what_the_rule_aims_at_can_be_drawn_too(safe: Front) -> None:
    ax = plot_diversity(safe, 0.2, measures=("d1", "d2"))
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


def test_preferences_share_their_axes(safe: Front) -> None:
    figure = plot_preferences({"k preferred": safe, "ℓ preferred": safe}, 0.2)
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


# -- several limits ------------------------------------------------------------------------------


def test_fronts_of_several_limits_are_told_apart() -> None:
    fronts = {
        "0 %": made_front(k=[1, 50], loss=[0.1, 0.8]),
        "10 %": made_front(k=[1, 90], loss=[0.1, 0.7]),
    }
    ax = plot_etas(fronts)
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["0 %", "10 %"]
    assert legend.get_title().get_text() == "rows that may be suppressed"
    handles = [handle for handle in legend.legend_handles if isinstance(handle, Line2D)]
    assert len({(handle.get_marker(), str(handle.get_color())) for handle in handles}) == 2


def test_a_comparison_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"takes at least one front\. Got none"):
        plot_etas({})
