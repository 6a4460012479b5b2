"""Figures as files: whole or not at all, and the same bytes whenever the same figure is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from moanon.atomic import Beside
from moanon.errors import ConfigError, OutputError
from moanon.output.style import root_figure

__all__ = ["FORMATS", "Drawing", "write_figures"]

#: What draws a figure, whole or by its axes.
Drawing = Callable[[], Axes | Figure]

#: What is left out of files: who wrote them, and when.
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 160, "metadata": {"Software": None}},
    "svg": {"dpi": 200, "metadata": {"Date": None, "Creator": None}},
}
_SALT: Final = "svg.hashsalt"
_LOCK = Lock()


def write_figures(
    figures: Mapping[str, Drawing], folder: str | Path, formats: Sequence[str] = ("png", "svg")
) -> list[Path]:
    """Draw figures and write them, all together; older ones of the same names are replaced.

    Parameters
    ----------
    figures : mapping of str to callable
        For each file name (without its ending), what draws the figure and returns it or its axes.
    folder : path
        Made if it does not exist.
    formats : sequence of {"png", "svg"}

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    ConfigError
        If a format is unknown, or there is none.
    OutputError
        If a file cannot be written; then none is.
    """
    for chosen in formats or ("",):
        if chosen not in FORMATS:
            raise ConfigError(f"a format must be one of {', '.join(FORMATS)}. Got {chosen!r}")
    folder = Path(folder)
    endings = tuple(dict.fromkeys(formats))
    paths = [folder / f"{name}.{ending}" for name in figures for ending in endings]
    if not paths:
        return []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"the folder {folder} cannot be made: {error.strerror}") from error
    with Beside(*paths, force=True) as beside:
        for name, draw in figures.items():
            drawn = draw()
            figure = drawn if isinstance(drawn, Figure) else root_figure(drawn)
            for ending in endings:
                _save(figure, beside[folder / f"{name}.{ending}"], ending)
        beside.move()
    return paths


def _save(figure: Figure, path: Path, ending: str) -> None:
    if ending != "svg":
        figure.savefig(path, format=ending, **FORMATS[ending])
        return
    # The one thing about a file that only a global setting decides: names of its parts, which are
    # random otherwise.
    with _LOCK:
        before = matplotlib.rcParams[_SALT]
        matplotlib.rcParams[_SALT] = "moanon"
        try:
            figure.savefig(path, format=ending, **FORMATS[ending])
        finally:
            matplotlib.rcParams[_SALT] = before
