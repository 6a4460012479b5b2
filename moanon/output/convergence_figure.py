"""How the hypervolume of a search grew, and what its last tenth still gained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from moanon.output.figure_labels import Label, place_labels
from moanon.output.figure_style import (
    BLUE,
    COLUMN,
    DARK_VERMILION,
    LABEL,
    PALE_GREY,
    dress,
    new_axes,
    root_figure,
    scale_numbers,
    settle,
    title,
    write,
)
from moanon.search.convergence import Convergence


def plot_convergence(
    convergence: Convergence,
    ax: Axes | None = None,
    *,
    size: tuple[float, float] = (COLUMN, 2.2),
    words: Sequence[str] = (),
) -> Axes:
    """Draw the hypervolume after each number of evaluations, with the last tenth of them shaded.

    Parameters
    ----------
    convergence : Convergence
    ax : Axes, optional
        Where to draw. Default: a new figure as wide as a column.
    size : (float, float)
        Width and height of a new figure, in inches.
    words : sequence of str
        What to say above.
    """
    own = ax is None
    if ax is None:
        ax = new_axes(*size)
    x = np.array(convergence.evaluations, dtype=np.float64)
    y = np.array(convergence.hypervolumes)
    dress(ax)
    for which, values in (("x", x), ("y", y)):
        scale_numbers(ax, which, values, log=False)  # type: ignore[arg-type]
    write(ax.set_xlabel("evaluations"), LABEL)
    write(ax.set_ylabel("hypervolume"), LABEL)
    title(ax, words)
    ax.axvspan(0.9 * x[-1], x[-1], color=PALE_GREY, alpha=0.6, linewidth=0, zorder=0)
    ax.plot(x, y, color=BLUE, linewidth=1.2, zorder=3)
    if own:
        settle(root_figure(ax))
    told = f"last tenth: {convergence.gained}"
    corner = Label(told, float(0.9 * x[-1]), float(y[-1]), DARK_VERMILION, side="below")
    place_labels(ax, [corner], lines=[np.stack([x, y], axis=1)])
    return ax
