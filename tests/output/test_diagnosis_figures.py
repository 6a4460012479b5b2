"""Pictures of answers: what is in them, and that each question has one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from moanon.diagnosis import QUESTIONS, Diagnosis, PrivacyModel
from moanon.output.diagnosis_figures import (
    IMPLIED,
    SAFE,
    UNSAFE,
    draw_answer,
    plot_border_sets,
    plot_curve,
    plot_curves_by_size,
    plot_heat_map,
    plot_lattice,
)
from tests.diagnosis.tables import figure_2

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def example() -> Diagnosis:
    return Diagnosis.read(figure_2())


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_a_curve_is_a_staircase_up_to_all_rows(example):
    # V: sizes 2, 3, 7 of 12 rows; k rises to 3 at 2/12 and to 7 at 5/12
    ax = plot_curve(example.curve(["V"]))
    (line,) = ax.lines
    assert line.get_xdata().tolist() == pytest.approx([0, 2 / 12, 5 / 12, 1])
    assert line.get_ydata().tolist() == [2, 3, 7, 7]
    assert line.get_drawstyle() == "steps-post"


def test_several_curves_have_a_legend(example):
    ax = plot_curve({"one": example.curve(["V"]), "two": example.curve(["W"])})
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]


def test_small_k_is_shown_on_a_plain_axis_and_large_k_on_a_logarithmic_one(example):
    assert plot_curve(example.curve(["V"])).get_yscale() == "linear"
    wide = Diagnosis.read(pd.DataFrame({"a": ["x"] * 100 + ["y"] * 3}))
    assert plot_curve(wide.curve(["a"])).get_yscale() == "log"


def test_the_lattice_has_a_dot_for_each_set_in_the_colour_of_its_side(example):
    ax = plot_lattice(example.ask(level=3))
    dots = {
        to_hex(c.get_facecolor()[0]).upper(): c.get_offsets()
        for c in ax.collections
        if isinstance(c, PathCollection)
    }
    # 4 single columns, 5 pairs, 2 triples are safe; V and XY are the smallest unsafe sets
    assert {colour: len(points) for colour, points in dots.items()} == {
        SAFE: 11, UNSAFE: 2, IMPLIED: 18,
    }  # fmt: skip
    assert (dots[SAFE][:, 0] < 0).all()  # left of the border
    assert (dots[UNSAFE][:, 0] > 0).all()
    assert "W X Z" in texts(ax)


def test_many_columns_are_bars():
    rows = np.random.default_rng(3).integers(0, 2, size=(300, 11)).astype(str)
    diagnosis = Diagnosis.read(pd.DataFrame(rows).rename(columns=str))
    answer = diagnosis.ask(level=5, largest=4)
    shown = texts(plot_lattice(answer))
    safe, unsafe = answer.sizes[4]
    assert f"{safe:,} of {safe + unsafe:,} safe" in shown
    assert len(shown) == 4


def test_where_sets_within_safe_ones_need_not_be_safe_there_are_bars():
    frame = pd.DataFrame({"q": list("aaaaaaaa"), "r": list("xxxxyyyy"), "s": list("11111123")})
    answer = Diagnosis.read(frame, ["q", "r"], ["s"]).ask(
        level=2, model=PrivacyModel("l", "frequency"), delta=0.5
    )
    ax = plot_lattice(answer)
    # {r} and {q, r} are safe, {q} is not
    assert texts(ax) == ["1 of 2 safe", "1 of 1 safe"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["safe", "unsafe"]


def test_the_sets_of_the_border_one_by_one(example):
    ax = plot_border_sets(example.ask(level=3))
    shown = texts(ax)
    assert "2 largest safe sets" in shown
    assert "2 smallest unsafe sets" in shown
    assert shown.count("3") == 2  # k of the safe sets
    assert shown.count("2") == 2  # and of the others
    assert [label.get_text() for label in ax.get_yticklabels()] == list("VWXYZ")


def test_the_heat_map_has_single_columns_on_its_diagonal(example):
    ax = plot_heat_map(example.ask())
    values = ax.images[0].get_array()
    assert np.diag(values).tolist() == [2, 6, 6, 6, 6]
    assert values[1, 2] == values[2, 1] == 3  # W and X
    assert len(texts(ax)) == 25


def test_the_heat_map_of_costs_shows_shares_and_what_is_impossible(example):
    ax = plot_heat_map(example.ask(level=7, delta="ask"))
    assert "42%" in texts(ax)  # V: 5 of 12 rows must go
    assert "none" in texts(ax)  # no pair reaches 7
    assert "for k at least 7" in ax.get_title(loc="left")


def test_curves_by_size_have_one_line_each(example):
    ax = plot_curves_by_size(example.ask(delta="ask"))
    assert len(ax.lines) == 5
    assert texts(ax) == list("12345")


def test_functions_draw_where_they_are_told(example):
    ax = Figure().add_subplot()
    assert plot_heat_map(example.ask(), ax) is ax


@pytest.mark.parametrize(
    ("number", "model"),
    [
        *((number, PrivacyModel()) for number in QUESTIONS),
        *((number, PrivacyModel("l", "entropy")) for number in (1, 4, 10)),
        *((number, PrivacyModel("t", "equal")) for number in (3, 8, 11, 12)),
    ],
)
def test_every_question_has_a_picture(number, model, tmp_path: Path):
    has_level, has_subset, suppressing = QUESTIONS[number]
    # Names that a formula, a font or a terminal would stumble over.
    frame = figure_2().rename(columns={"V": "$v$ " * 20, "W": "日本", "X": "a\nb"})
    diagnosis = Diagnosis.read(frame, sensitive=["Z"])
    answer = diagnosis.ask(
        model=model,
        level=(0.4 if model.measure == "t" else 2) if has_level else None,
        subset=["日本", "a\nb"] if has_subset else None,
        delta={"none": None, "given": 0.2, "asked": "ask"}[suppressing],
    )
    draw_answer(answer, tmp_path / "picture", "png")
    assert (tmp_path / "picture").read_bytes().startswith(PNG)


@pytest.mark.parametrize("number", [1, 3, 4, 12])
def test_one_row_of_one_column(number, tmp_path: Path):
    has_level, has_subset, _ = QUESTIONS[number]
    answer = Diagnosis.read(pd.DataFrame({"a": ["x"]})).ask(
        level=2 if has_level else None,
        subset=["a"] if has_subset else None,
        delta="ask" if number == 12 else None,
    )
    draw_answer(answer, tmp_path / "picture.svg", "svg")
    assert "<svg" in (tmp_path / "picture.svg").read_text()
