"""Figures of comparisons: every vector is drawn, and says what it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from moanon.compare import Comparison, compare
from moanon.errors import OutputError
from moanon.output.figure_files import plot_ending, save_one
from moanon.output.studies import plot_comparison
from tests.compare.source import anonymized

PROPERTIES = ("size", "sensitive_share", "utility")


def compared(*names: str, properties: tuple[str, ...] = PROPERTIES) -> Comparison:
    return compare([anonymized(name) for name in names], properties)


def test_there_is_a_line_of_panels_for_each_property() -> None:
    axes = plot_comparison(compared("T3a", "T3b")).axes
    assert len(axes) == 2 * len(PROPERTIES)
    labels = [ax.get_ylabel() for ax in axes]
    assert labels[0::2] == [
        "rows in the row's group",
        "share of the group with\nthe row's sensitive value",
        "utility left to the row",
    ]
    assert set(labels[1::2]) == {"gain from A to B"}


def test_vectors_are_drawn_from_the_worst_off_to_the_best_off() -> None:
    size, _, share, *_ = plot_comparison(compared("T3a", "T3b")).axes
    first, second = (line.get_ydata() for line in size.lines)
    assert list(first) == [3] * 6 + [4] * 4 + [4]  # closed at the right
    assert list(second) == [3] * 3 + [7] * 7 + [7]
    assert (np.diff(share.lines[0].get_ydata()) <= 0).all()  # the largest share is worst off


def test_differences_are_drawn_row_by_row() -> None:
    axes = plot_comparison(compared("T3a", "T3b")).axes
    gain = axes[1].lines[0].get_ydata()
    assert list(gain) == [0] * 3 + [3] * 4 + [4] * 3 + [4]
    words = {text.get_text() for text in axes[1].texts}
    assert words == {"7 rows better off in B", "0 rows better off in A"}
    # Where lower is better, a lower share is a gain.
    assert axes[3].lines[0].get_ydata().max() > 0


def test_several_are_compared_with_the_first() -> None:
    axes = plot_comparison(compared("T3a", "T3b", "T4")).axes
    assert axes[1].get_ylabel() == "gain over A"
    assert len(axes[1].lines) == 3  # two gains, and the line of 0
    assert not axes[1].texts


def test_many_are_told_apart() -> None:
    names = ("T3a", "T3b", "T4") * 8
    (size, _) = plot_comparison(compared(*names, properties=("size",))).axes
    styles = {(line.get_color(), repr(line._dash_pattern)) for line in size.lines}
    assert len(styles) == len(names)


def test_the_numbers_of_rows_stand_beside_the_gains() -> None:
    _, gains = plot_comparison(compared("T3a", "T3b", properties=("size",))).axes
    low, high = gains.get_ylim()
    assert (low, high) == pytest.approx((-1.4 * 4, 1.4 * 4))  # the largest gain is 4


def test_names_are_no_formulas_and_are_cut_in_front() -> None:
    pair = compared("T3a", "T3b")
    pair.anonymized["A"].__dict__["name"] = "$x$\n" + "long" * 20 + "end.csv"
    figure = plot_comparison(pair)
    (legend,) = figure.legends
    text = legend.get_texts()[0]
    assert not text.get_parse_math()
    assert text.get_text().startswith("A  …")
    assert text.get_text().endswith("longend.csv")
    assert len(text.get_text()) == 43


def test_large_tables_are_drawn_at_some_places_only() -> None:
    pair = compared("T3a", "T3b")
    for vectors in pair.vectors.values():
        vector = vectors["size"]
        vector.__dict__["row_entry"] = np.tile(vector.row_entry, 3_000)
        for cached in ("rows", "values", "oriented"):
            vector.__dict__.pop(cached, None)
    line = plot_comparison(pair).axes[0].lines[0]
    assert len(line.get_xdata()) == 2_001
    assert (line.get_ydata().min(), line.get_ydata().max()) == (3, 4)


@pytest.mark.parametrize(
    ("ending", "first"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_the_same_comparison_gives_the_same_bytes(
    tmp_path: Path, ending: str, first: bytes
) -> None:
    pair = compared("T3a", "T4", properties=("size",))
    files = [tmp_path / f"{name}.{ending}" for name in ("a", "b")]
    for file in files:
        save_one(lambda: plot_comparison(pair), file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].read_bytes().startswith(first)
    with pytest.raises(OutputError, match="exists already"):
        save_one(lambda: plot_comparison(pair), files[0])


def test_other_endings_are_refused() -> None:
    assert plot_ending(Path("a.PNG")) == ".png"
    with pytest.raises(OutputError, match=r"^a plot is a \.png, \.svg or \.pdf file\. Got 'a"):
        plot_ending(Path("a.gif"))
