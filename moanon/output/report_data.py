"""What the page of a report knows: fronts as small JSON.

Solutions share most of what they do to a column, so each generalization of a column is told once
and each label once; the sizes of a solution's groups are told as the steps of their cumulative
curve. Numbers that JSON has no word for are told as texts.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isinf, isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from moanon.front import Front
from moanon.front.choices import attained_privacy
from moanon.measures import MEASURES
from moanon.output.report_facts import facts_of, rule_in_words, section

__all__ = ["Tab", "page_data", "page_title", "size_steps"]

Ints = npt.NDArray[np.int64]

#: Shown beside the objectives; everything else is folded away until somebody asks.
KEY_MEASURES = ("k", "l", "loss", "gl", "sl", "suppressed", "groups")
#: A solution's labels in one column beyond these are counted, not listed.
MAX_LABELS = 100
#: A curve with more steps than this is told at so many sizes per doubling.
MAX_STEPS, PER_DOUBLING = 160, 8


@dataclass(frozen=True)
class Tab:
    """One front of a report.

    Attributes
    ----------
    title : str
        What the tab is called.
    front : Front
        With its table, group sizes are shown too.
    record : mapping
        How the run was made: the content of its ``run.json``.
    folder : str
        The results folder, as the export command should name it.
    config : str
        The text of its ``config.yaml``.
    marks : mapping of int to str
        Solutions worth pointing at, each with a word that says why. The page opens with the first.
    without_table : str
        Where the front has no table: why not.
    exportable : bool
        Whether ``moanon export`` finds what it needs in the folder.
    """

    title: str
    front: Front
    record: Mapping[str, Any]
    folder: str
    config: str = ""
    marks: Mapping[int, str] = field(default_factory=dict)
    without_table: str = ""
    exportable: bool = True


def page_title(tabs: Sequence[Tab]) -> str:
    """Name what all tabs have in common."""
    names = {str(tab.record.get("name", tab.title)) for tab in tabs}
    return names.pop() if len(names) == 1 else f"{len(tabs)} fronts"


def page_data(tabs: Sequence[Tab]) -> dict[str, Any]:
    """Return everything the page shows."""
    used = dict.fromkeys(name for tab in tabs for name in tab.front.measures)
    measures = {}
    for name in used:
        known = MEASURES.get(name)  # a front of another version may have measures unknown here
        measures[name] = {
            "unit": known.unit if known else "",
            "better": known.direction if known else "max",
            "privacy": known.privacy if known else False,
            "meaning": known.meaning if known else "",
            "source": known.citation if known else "",
        }
    return {
        "measures": measures,
        "tabs": [_tab_data(tab) for tab in tabs],
        "comparisons": _comparisons(tabs),
    }


def _comparisons(tabs: Sequence[Tab]) -> list[list[int]]:
    """Tabs that can be laid over each other: those with the same objectives."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for i, tab in enumerate(tabs):
        alike.setdefault(tab.front.objectives, []).append(i)
    return [members for members in alike.values() if len(members) > 1]


def _tab_data(tab: Tab) -> dict[str, Any]:
    front = tab.front
    columns, ways = _columns(front)
    return {
        "title": tab.title,
        "objectives": front.objectives,
        "privacy": attained_privacy(front.objectives)[0],
        "key": [name for name in KEY_MEASURES if name in front.measures],
        "found": front.found,
        "values": {name: _numbers(values) for name, values in front.measures.items()},
        "columns": columns,
        "ways": ways,
        "sizes": None if front.instance is None else [*map(size_steps, front.kept_sizes())],
        "without": tab.without_table or "this front was loaded without its table",
        "command": f"moanon export {_quoted(tab.folder)}" if tab.exportable else None,
        "first": next(iter(tab.marks), None),
        "marks": {str(solution): word for solution, word in tab.marks.items()},
        "rule": rule_in_words(front.suppression, _rows(tab)),
        "facts": facts_of(front, tab.record),
        "config": tab.config,
    }


def _rows(tab: Tab) -> int | None:
    """Rows of the table, if somebody knows."""
    if tab.front.instance is not None:
        return tab.front.instance.table.rows
    rows = section(tab.record, "data").get("rows")
    return rows if isinstance(rows, int) else None


def _quoted(folder: str) -> str:
    # A name that begins with a dash would be taken for an option.
    return shlex.quote(f"./{folder}" if folder.startswith("-") else folder)


def _numbers(values: npt.NDArray[Any]) -> list[int | float | str | None]:
    """Numbers to nine digits, more than anybody sees; JSON knows neither infinity nor NaN."""
    return [_number(value) for value in values.tolist()]


def _number(value: int | float) -> int | float | str | None:
    if isinstance(value, int):
        return value
    if isnan(value):
        return None
    if isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(f"{value:.9g}")


# -- generalizations -----------------------------------------------------------------------------


def _columns(front: Front) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """Each column with its labels and generalizations, and which of them each solution takes.

    A generalization is the number of its blocks, its first labels (as places in the list of
    labels) and, where the table is known, how many base values each of its blocks holds.
    """
    columns, chosen = [], []
    for name in front.blocks[0]:
        labels: dict[str, int] = {}
        ways: dict[tuple[str, ...], int] = {}
        told: list[list[Any]] = []
        picked = []
        for row, blocks in enumerate(front.blocks):
            shown = blocks[name]
            if shown not in ways:
                ways[shown] = len(told)
                places = [labels.setdefault(text, len(labels)) for text in shown[:MAX_LABELS]]
                told.append([len(shown), places, _widths(front, row, name)])
            picked.append(ways[shown])
        columns.append({"name": name, "labels": list(labels), "ways": told})
        chosen.append(picked)
    return columns, [list(each) for each in zip(*chosen, strict=True)]


def _widths(front: Front, row: int, name: str) -> list[int]:
    """Base values in each block of a column; none where unknown or too many to draw."""
    if front.instance is None:
        return []
    blocks = (front.recodings.generalization(row, front.instance) or {}).get(name, ())
    return [stop - start for start, stop in blocks] if len(blocks) <= MAX_LABELS else []


# -- sizes of groups -----------------------------------------------------------------------------


def size_steps(sizes: Ints) -> list[int]:
    """Steps of the cumulative number of rows by group size (the sum of |E_i|, D §5.1).

    Parameters
    ----------
    sizes : array
        Sizes of the groups.

    Returns
    -------
    list of int
        Alternately by how much the size grows, from 0, and how many rows join there. Where there
        are too many sizes, those between two marks of a grid with eight marks per doubling join at
        the largest of them: the curve is then told at fewer places, and is exact at each.

    Examples
    --------
    Two groups of 3 rows and one of 5:

    >>> size_steps(np.array([3, 5, 3]))
    [3, 6, 2, 5]
    """
    distinct, groups = np.unique(sizes, return_counts=True)
    rows = distinct * groups
    if len(distinct) > MAX_STEPS:
        mark = np.floor(PER_DOUBLING * np.log2(distinct)).astype(np.int64)
        first = np.flatnonzero(np.diff(mark, prepend=-1))
        last = np.append(first[1:], len(mark)) - 1
        distinct, rows = distinct[last], np.add.reduceat(rows, first)
    grows = np.diff(distinct, prepend=0)
    return [int(number) for number in np.stack([grows, rows], axis=1).ravel()]
