"""The figures of a front: which ones suit it, and their files.

Single figures are drawn by the functions named here; `write_plots` chooses those that suit a
front's objectives and rule, and `write_comparison` those of several limits η.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from moanon.front import Front
from moanon.front.choices import attained_privacy
from moanon.front.landmarks import TradeOff
from moanon.output.comparison import plot_etas
from moanon.output.files import Drawing, write_figures
from moanon.output.fronts import plot_front, plot_magnified, steep_parts
from moanon.output.groups import plot_group_sizes, typical_solutions
from moanon.output.safety import (
    plot_diversity,
    plot_limits,
    plot_preferences,
    revealing_limits,
    usual_limit,
)
from moanon.output.spaces import costs_of, plot_filtered, plot_pairs
from moanon.output.style import problem_words, told_share

__all__ = [
    "plot_diversity",
    "plot_etas",
    "plot_filtered",
    "plot_front",
    "plot_group_sizes",
    "plot_limits",
    "plot_magnified",
    "plot_pairs",
    "plot_preferences",
    "write_comparison",
    "write_plots",
]

#: What draws each figure, by the name of its file.
Figures = dict[str, Drawing]

#: The loss from which a little more is looked at (D Fig. 11).
_FIRST_LIMIT = 0.2


def write_plots(
    front: Front, folder: str | Path, name: str = "", *, formats: Sequence[str] = ("png", "svg")
) -> list[Path]:
    """Draw the figures that suit a front, and write them to a folder.

    Always ``front``: the privacy that was searched for against loss, with knees and flat stretches.
    Then, by what the front is of,

    - one privacy objective and one cost: ``magnified``, its steep parts (D Fig. 7); without any
      suppression, ``front`` has insets of group sizes (D Fig. 6), else ``groups`` shows them;
    - three objectives or more: ``pairs`` (D Fig. 8);
    - several costs: ``filtered``, what is left under a limit of one of them (D Fig. 9);
    - k and ℓ: ``diversity``, the two within a loss (D Fig. 10), and ``limits``, what a little more
      loss reveals (D Fig. 11).

    Parameters
    ----------
    front : Front
        With its table; without it, group sizes are left out.
    folder : path
        Made if it does not exist. Figures of the same names in it are replaced.
    name : str
        What to call the front above its figures.
    formats : sequence of {"png", "svg"}

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    ConfigError
        If a format is unknown.
    OutputError
        If a file cannot be written; then none is.
    """
    return write_figures(_figures_of(front, (name, problem_words(front))), folder, formats)


def write_comparison(
    fronts: Mapping[float, Front],
    folder: str | Path,
    name: str = "",
    *,
    formats: Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """Draw fronts of several limits η over each other, and write the figures to a folder.

    ``etas`` shows the first privacy objective; there is an ``etas-NAME`` for each further one.

    Parameters
    ----------
    fronts : mapping of float to Front
        The limits, and the front of each.
    folder, name, formats
        As for `write_plots`.

    Raises
    ------
    ConfigError, OutputError
        As for `write_plots`; also if there is no front, or they differ in their measures.
    """
    ordered = {told_share(eta): fronts[eta] for eta in sorted(fronts)}
    figures: Figures = {}
    names = attained_privacy(next(iter(ordered.values())).objectives) if ordered else ("k",)
    for i, privacy in enumerate(names):
        draw = partial(plot_etas, ordered, privacy=privacy, words=(name,))
        figures["etas" if i == 0 else f"etas-{privacy}"] = draw
    return write_figures(figures, folder, formats)


def _figures_of(front: Front, words: Sequence[str]) -> Figures:
    """Choose the figures that suit a front."""
    objectives = len(front.objectives)
    sizes = front.instance is not None
    bare = front.suppression.kind == "none" and objectives <= 2
    insets = typical_solutions(front, 2) if bare and sizes else []
    figures: Figures = {"front": partial(plot_front, front, insets=insets, words=words)}
    if objectives <= 2 and len(steep_parts(TradeOff.of(front), 2)) > 1:
        figures["magnified"] = partial(plot_magnified, front, words=words)
    if sizes and not bare:
        solutions = typical_solutions(front, 3)
        figures["groups"] = partial(plot_group_sizes, front, solutions, words=words)
    if objectives > 2:
        figures["pairs"] = partial(plot_pairs, front, words=words)
    if objectives > 2 and len(costs_of(front)) > 1:
        figures["filtered"] = partial(plot_filtered, front, words=words)
    if {"k", "l"} <= {*attained_privacy(front.objectives)}:
        figures |= _safety_figures(front, words)
    return figures


def _safety_figures(front: Front, words: Sequence[str]) -> Figures:
    limit = usual_limit(front)
    figures: Figures = {"diversity": partial(plot_diversity, front, limit, words=words)}
    start = min(_FIRST_LIMIT, limit)
    if not (front.measures["loss"] <= start).any():
        start = limit
    if (limits := revealing_limits(front, start)) is not None:
        figures["limits"] = partial(plot_limits, front, limits, words=words)
    return figures
