"""Figures as files: whole or not at all, and the same bytes whenever the same figure is written.

`write_plots` chooses the figures that suit a front's objectives and rule, and `write_eta_plots`
those of several limits η; `write_figures` takes any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Final

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from moanon.atomic import StagedFiles
from moanon.errors import ConfigError, OutputError
from moanon.front import Front
from moanon.front.front import attained_privacy
from moanon.front.landmarks import TradeOff
from moanon.measures.evaluate import OnPart
from moanon.output.figure_style import lay_out, percent_text, pin_labels, problem_words, root_figure
from moanon.output.front_figures import (
    magnified_parts,
    plot_convergence,
    plot_front,
    plot_group_sizes,
    plot_magnified,
    typical_solutions,
)
from moanon.output.objective_figures import (
    costs_of,
    plot_diversity,
    plot_filtered,
    plot_fronts,
    plot_limits,
    plot_pairs,
    revealing_limits,
    usual_limit,
)
from moanon.search.algorithms import Convergence

#: What draws a figure, whole or by its axes.
Drawing = Callable[[], Axes | Figure]

#: What figures of a front are written as.
_FORMATS = ("png", "svg")
#: What is left out of files: who wrote them, and when. Pictures of few colours get no smaller by
#: more than a little effort.
_OPTIONS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 160, "metadata": {"Software": None}, "pil_kwargs": {"compress_level": 3}},
    "svg": {"dpi": 200, "metadata": {"Date": None, "Creator": None}},
    "pdf": {"dpi": 200, "metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
}
_SALT: Final = "svg.hashsalt"
_LOCK = Lock()

#: The loss from which a little more is looked at (D Fig. 11).
_FIRST_LIMIT = 0.2


# -- which figures -------------------------------------------------------------------------------


def write_plots(
    front: Front,
    folder: str | Path,
    name: str = "",
    *,
    formats: Sequence[str] = _FORMATS,
    convergence: Convergence | None = None,
    on_part: OnPart | None = None,
) -> list[Path]:
    """Draw the figures that suit a front, and write them to a folder.

    Always ``front``: the privacy that was searched for against loss, with knees and flat stretches.
    Then, by what the front is of,

    - one privacy objective and one cost: ``magnified``, where publishers choose (D Fig. 7); without
      any suppression, ``front`` has insets of group sizes (D Fig. 6), else ``groups`` shows them;
    - three objectives or more: ``pairs`` (D Fig. 8);
    - several costs: ``filtered``, what is left under a limit of one of them (D Fig. 9);
    - k and ℓ: ``diversity``, the two within a loss (D Fig. 10), and ``limits``, what a little more
      loss reveals (D Fig. 11);
    - a search whose course is known: ``convergence``.

    Without its table, group sizes are left out. `name` is what to call the front above its figures;
    the rest is as for `write_figures`.
    """
    words = (name, problem_words(front))
    figures = _figures_of(front, words)
    if convergence is not None:
        figures["convergence"] = partial(plot_convergence, convergence, words=words)
    return write_figures(figures, folder, formats, on_part)


def write_eta_plots(
    fronts: Mapping[float, Front],
    folder: str | Path,
    name: str = "",
    *,
    formats: Sequence[str] = _FORMATS,
) -> list[Path]:
    """Draw fronts of several limits η in one plot, and write the figures to a folder.

    ``etas`` shows the first privacy objective; there is an ``etas-NAME`` for each further one.
    Refused if there is no front, or they differ in their measures.
    """
    ordered = {percent_text(eta): fronts[eta] for eta in sorted(fronts)}
    figures: dict[str, Drawing] = {}
    names = attained_privacy(next(iter(ordered.values())).objectives) if ordered else ("k",)
    for i, privacy in enumerate(names):
        draw = partial(plot_fronts, ordered, privacy=privacy, words=(name,))
        figures["etas" if i == 0 else f"etas-{privacy}"] = draw
    return write_figures(figures, folder, formats)


def _figures_of(front: Front, words: Sequence[str]) -> dict[str, Drawing]:
    """Choose the figures that suit a front."""
    objectives = len(front.objectives)
    sizes = front.instance is not None
    bare = front.suppression.kind == "none" and objectives <= 2
    insets = typical_solutions(front, 2) if bare and sizes else []
    figures: dict[str, Drawing] = {"front": partial(plot_front, front, insets=insets, words=words)}
    if objectives <= 2 and len(magnified_parts(TradeOff.of(front), 2)) > 1:
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


def _safety_figures(front: Front, words: Sequence[str]) -> dict[str, Drawing]:
    limit = usual_limit(front)
    figures: dict[str, Drawing] = {"diversity": partial(plot_diversity, front, limit, words=words)}
    start = min(_FIRST_LIMIT, limit)
    if not (front.measures["loss"] <= start).any():
        start = limit
    if (limits := revealing_limits(front, start)) is not None:
        figures["limits"] = partial(plot_limits, front, limits, words=words)
    return figures


# -- files ---------------------------------------------------------------------------------------


def write_figures(
    figures: Mapping[str, Drawing],
    folder: str | Path,
    formats: Sequence[str] = _FORMATS,
    on_part: OnPart | None = None,
) -> list[Path]:
    """Draw figures and write them, all together; older ones of the same names are replaced.

    `figures` has, for each file name (without its ending), what draws the figure and returns it or
    its axes. The folder is made if it does not exist; `formats` are ``png`` and ``svg``. `on_part`
    is called with the number of figures drawn so far, and of all. Returns the files; if one cannot
    be written, none is.
    """
    for chosen in formats or ("",):
        if chosen not in _FORMATS:
            raise ConfigError(f"a format must be one of {', '.join(_FORMATS)}. Got {chosen!r}")
    folder = Path(folder)
    endings = tuple(dict.fromkeys(formats))
    paths = [folder / f"{name}.{ending}" for name in figures for ending in endings]
    if not paths:
        return []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"the folder {folder} cannot be made: {error.strerror}") from error
    with StagedFiles(*paths, force=True) as staged:
        for number, (name, draw) in enumerate(figures.items(), 1):
            if on_part is not None:
                on_part(number, len(figures))
            figure = _drawn(draw)
            for ending in endings:
                save_figure(figure, staged[folder / f"{name}.{ending}"], ending)
        staged.move()
    return paths


def save_one(
    draw: Drawing, path: Path, *, force: bool = False, spared: Iterable[Path] = ()
) -> None:
    """Draw a figure into a file whose ending says its format; files to spare are not replaced."""
    ending = plot_ending(path)
    with StagedFiles(path, force=force, spared=spared) as staged:
        save_figure(_drawn(draw), staged[path], ending[1:])
        staged.move()


def plot_ending(path: Path) -> str:
    """Give the ending of a file for a plot; refused where it is none of those that are drawn."""
    endings = [f".{ending}" for ending in _OPTIONS]
    if path.suffix.lower() not in endings:
        raise OutputError(
            f"a plot is a {', '.join(endings[:-1])} or {endings[-1]} file. Got {path.name!r}"
        )
    return path.suffix.lower()


def _drawn(draw: Drawing) -> Figure:
    drawn = draw()
    figure = drawn if isinstance(drawn, Figure) else root_figure(drawn)
    lay_out(figure)
    pin_labels(figure)
    return figure


def save_figure(figure: Figure, path: Path, ending: str) -> None:
    """Write a figure as ``png``, ``svg`` or ``pdf``, whatever the file is called."""
    if ending != "svg":
        figure.savefig(path, format=ending, **_OPTIONS[ending])
        return
    # The one thing about a file that only a global setting decides: names of its parts, which are
    # random otherwise.
    with _LOCK:
        before = matplotlib.rcParams[_SALT]
        matplotlib.rcParams[_SALT] = "moanon"
        try:
            figure.savefig(path, format=ending, **_OPTIONS[ending])
        finally:
            matplotlib.rcParams[_SALT] = before
