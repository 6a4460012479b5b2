"""What all figures have in common: whose axes they are drawn on, and that they can be read."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

from moanon.front import Front
from moanon.measures.suppression import Suppression
from moanon.output.figure_style import (
    lay_out,
    new_axes,
    pin_labels,
    plain,
    problem_words,
    root_figure,
    scale_numbers,
)
from moanon.output.front_figures import plot_front, plot_group_sizes, plot_magnified
from moanon.output.objective_figures import (
    plot_diversity,
    plot_filtered,
    plot_fronts,
    plot_limits,
    plot_pairs,
)
from tests.output.drawn import Point, made_front
from tests.search.people import found_front

# -- labels ---------------------------------------------------------------------------------------


def test_pinned_labels_stand_where_they_would_be_put():
    figure = plot_magnified(found_front())
    lay_out(figure)
    labels = [axis.label for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
    figure.draw_without_rendering()
    before = [label.get_window_extent().bounds for label in labels]
    pin_labels(figure)
    figure.draw_without_rendering()
    for label, bounds in zip(labels, before, strict=True):
        assert label.get_window_extent().bounds == pytest.approx(bounds, abs=1e-6)


@pytest.mark.parametrize(
    ("which", "largest", "small"),
    [
        # 1, 2, 5, 10, … have their numbers
        ("x", 60, [3, 4, 6, 7, 8, 9, 30, 40]),
        # powers of ten alone
        ("y", 600, [*range(2, 10), *range(20, 100, 10), *range(200, 600, 100)]),
    ],
)
def test_a_logarithmic_axis_has_a_small_tick_for_each_step_without_a_number(which, largest, small):
    ax = new_axes()
    scale_numbers(ax, which, np.array([1.0, largest]))
    getattr(ax, f"set_{which}lim")(0.95, largest - 1)
    root_figure(ax).draw_without_rendering()
    (marks,) = ax.lines
    assert getattr(marks, f"get_{which}data")().tolist() == pytest.approx(small)
    named = getattr(ax, f"{which}axis").get_majorticklocs()
    assert not set(np.round(named)) & set(small)


# -- whose axes ----------------------------------------------------------------------------------

ON_AXES: dict[str, Callable[[Front, Axes | None], Axes]] = {
    "front": plot_front,
    "etas": lambda front, ax: plot_fronts({"1 %": front}, ax),
    "groups": lambda front, ax: plot_group_sizes(front, 1, ax),
}
ON_FIGURES: dict[str, Callable[[Front, Figure | None], Figure]] = {
    "magnified": plot_magnified,
    "pairs": plot_pairs,
    "filtered": lambda front, figure: plot_filtered(front, figure, limits={"sl": 0.9}),
    "limits": lambda front, figure: plot_limits(front, (0.3, 0.5), figure),
    "diversity": lambda front, figure: plot_diversity(front, 0.5, figure),
}


@pytest.mark.parametrize("name", ON_AXES)
def test_figures_are_drawn_on_the_axes_they_are_given(name: str, kl_front: Front) -> None:
    ax = new_axes(5, 3)
    assert ON_AXES[name](kl_front, ax) is ax
    assert ax.has_data()


@pytest.mark.parametrize("name", ON_FIGURES)
def test_figures_of_many_parts_are_drawn_on_the_figure_they_are_given(name: str) -> None:
    objectives = ("weighted_k", "gl", "sl")
    front = made_front(objectives, k=range(1, 60), l=[*range(59, 0, -1)])
    figure = Figure((7, 5))
    assert ON_FIGURES[name](front, figure) is figure
    assert any(ax.has_data() for ax in figure.axes)


def notes(ax: Axes) -> list[Annotation]:
    """Words beside points."""
    return [text for text in ax.texts if isinstance(text, Annotation) and text.get_text()]


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
def test_what_comes_from_data_is_no_formula(name: str, kl_front: Front) -> None:
    figure = root_figure(ON_AXES[name](kl_front, None))
    texts = [text for text in figure.findobj(Text) if "$" in text.get_text()]  # type: ignore[attr-defined]
    assert texts == []
    ax = plot_front(kl_front, words=(NASTY,))
    assert ax.get_title(loc="left") == NASTY
    assert not any(text.get_parse_math() for text in ax.findobj(Text) if "$" in text.get_text())  # type: ignore[attr-defined]


def test_a_title_takes_the_lines_it_needs(kl_front: Front) -> None:
    said = ("a front of mine", "at most 10 % of rows suppressed", "loss at most 30 %")
    told = plot_front(kl_front, words=said).get_title(loc="left")
    assert told == "a front of mine  ·  at most 10 % of rows suppressed\nloss at most 30 %"


def test_a_title_longer_than_a_line_is_cut(kl_front: Front) -> None:
    ax = plot_front(kl_front, words=("long" * 40,))
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
