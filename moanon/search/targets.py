"""What a local search reaches for: sizes of groups and levels of other objectives, in runs.

**Effort.** What a single target costs grows with the number of cells, so a large table gets fewer
targets, fewer of which are solved afresh, and a narrower look at each (`Effort`). Tables of up to
20,000 cells get all there is; with c times as many cells the steps between sizes grow with
``c ** (3/4)`` and the runs between fresh starts with ``c ** (1/2)``, a cell is offered to
``1 / c ** 2`` of the groups and less often, and one way of splitting is tried instead of several.
The effort follows from the number of cells alone, never from a clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import ceil, isfinite, sqrt

import numpy as np

from moanon.errors import ImpossibleError
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures import find_measure
from moanon.measures.evaluate import score_grouping, suppress_groups
from moanon.measures.suppression import Suppression

#: Tables with more cells get less effort for each.
_ALL_CELLS = 20_000
#: Sizes up to this are all targets; larger ones grow by this factor.
_SMALL, _GROWTH = 30, 1.025
#: Targets in a run, and how far their sizes fall; see `_cut_runs`.
_RUN, _SHORT_RUN, _SPAN = 10, 5, 0.75
#: The factor where other objectives have levels, so many each, that go with every size; and how
#: many a single one has that goes with no size.
_FEW_GROWTH, _LEVELS, _LEVELS_ALONE = 1.5, 10, 40
#: A cell is offered to so many groups before and after its own, and so often.
_WINDOW, _LEAST_WINDOW = 2048, 32
_SWEEPS, _LEAST_SWEEPS = 6, 2
#: Splits of a node that are followed to the end; the first is all of them in most tables.
_TRIES, _LEAST_TRIES = 16, 8
#: With room for fewer groups each counts.
FEW_GROUPS = 30


@dataclass(frozen=True)
class Effort:
    """How much is spent on a table of so many cells.

    Attributes
    ----------
    cells : int
    """

    cells: int

    @property
    def share(self) -> float:
        """Share of the whole effort that each cell gets."""
        return min(1.0, _ALL_CELLS / self.cells)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is spared."""
        return self.share == 1.0

    @property
    def growth(self) -> float:
        """Factor from one size to the next."""
        return 1.0 + (_GROWTH - 1.0) / float(self.share**0.75)

    @property
    def small(self) -> int:
        """Sizes up to this are all targets."""
        return ceil(_SMALL * float(self.share**0.75))

    @property
    def rounds(self) -> int:
        """Rounds of moving and splitting after a fresh start."""
        return 2 if self.is_whole else 1

    @property
    def sweeps(self) -> int:
        """How often a cell is offered in a round."""
        return max(_LEAST_SWEEPS, round(_SWEEPS * sqrt(self.share)))

    @property
    def tries(self) -> int:
        """Splits of a node that are followed."""
        return max(_LEAST_TRIES, round(_TRIES * sqrt(self.share)))

    @property
    def window(self) -> int:
        """Groups before and after its own that a cell is offered to."""
        return max(_LEAST_WINDOW, int(_WINDOW * self.share**2))

    def run(self, few_groups: bool) -> int:
        """Targets in a run."""
        return round((_SHORT_RUN if few_groups else _RUN) / sqrt(self.share))

    @property
    def span(self) -> float:
        """The smallest size of a run, as a share of the largest."""
        return float(_SPAN ** (1 / sqrt(self.share)))

    @property
    def shortest_run(self) -> int:
        """Targets that a run has at least, before a size that people ask for begins another."""
        return self.run(False) // _RUN


def whole_table(instance: Instance, suppression: Suppression) -> Grouping:
    """All rows as one group.

    Raises
    ------
    ImpossibleError
        If even that does not meet the constraints, and nothing may be suppressed.
    """
    everything = Grouping.of_boxes(
        instance,
        np.zeros(len(instance.cells), dtype=np.int64),
        np.zeros((len(instance.layout.columns), 1), dtype=np.int64),
        instance.layout.sizes[:, None],
    )
    may_suppress = suppression.most_rows(instance.cells.rows) > 0
    if not (may_suppress or meets_constraints(everything, suppression)):
        wanted = " and ".join(
            f"{name} {find_measure(name).bound_text(bound)}"
            for name, bound in suppression.constraints
        )
        raise ImpossibleError(
            f"no group can meet the constraints: all rows together do not have {wanted}"
        )
    return everything


def meets_constraints(grouping: Grouping, suppression: Suppression) -> bool:
    """Whether every group meets the constraints of a rule."""
    return bool(suppress_groups(grouping, suppression).kept.all())


def find_targets(
    instance: Instance, suppression: Suppression, objectives: Sequence[str]
) -> list[list[Suppression]]:
    """Runs of targets, the largest size of a run first.

    Raises
    ------
    ImpossibleError
        If even all rows together are no group.
    """
    everything = whole_table(instance, suppression)
    others = [name for name in objectives if find_measure(name).group and name != "k"]
    number = _LEVELS_ALONE if len(others) == 1 and "k" not in objectives else _LEVELS
    levels = [_levels(everything, suppression, name, number) for name in others]
    rows, limit = instance.cells.rows, suppression.most_rows(instance.cells.rows)
    effort = Effort(len(instance.cells))
    least = max([1, *(ceil(bound) for name, bound in suppression.constraints if name == "k")])
    sizes = (
        [1]
        if others and "k" not in objectives
        else _few_sizes(rows, limit)
        if others
        else _sizes(rows, limit, effort)
    )
    sizes = sorted({max(size, least) for size in sizes}, reverse=True)
    begins = _cut_runs(sizes, rows, effort)
    return [
        [
            replace(suppression, constraints=(("k", size), *further, *suppression.constraints))
            for size in sizes[begin:end]
        ]
        for further in (tuple(zip(others, chosen, strict=True)) for chosen in product(*levels))
        for begin, end in pairwise(begins)
    ]


def _cut_runs(sizes: Sequence[int], rows: int, effort: Effort) -> list[int]:
    """Where runs of targets begin, and the end: short ones where much changes from one to the next.

    That is with few groups, and from one small size to the next. What people ask for begins a run,
    too, where runs are not long.
    """
    begins = [0]
    for place, size in enumerate(sizes):
        length = place - begins[-1]
        is_due = length >= effort.run(size * FEW_GROUPS > rows)
        is_far = 5 < size < effort.span * sizes[begins[-1]]
        if is_due or is_far or (_is_round(size) and length >= effort.shortest_run):
            begins.append(place)
    return [*begins, len(sizes)]


def _is_round(size: int) -> bool:
    """Whether it is 1, 2 or 5 with zeros, from 5 on."""
    return size >= 5 and str(size).rstrip("0") in ("1", "2", "5")


def asked(target: Suppression) -> tuple[float, ...]:
    """What a target asks of every group: its size, then levels of other measures."""
    return tuple(bound for _, bound in target.constraints)


def _sizes(rows: int, limit: int, effort: Effort) -> list[int]:
    """Sizes that groups are to have: all small ones, larger ones at growing distances."""
    small = range(1, min(effort.small, rows) + 1)
    round_sizes = (digit * 10**power for power in range(1, 19) for digit in (1, 2, 5))
    return [
        *small,
        *_growing(effort.small, effort.growth, rows / 2),
        *(size for size in round_sizes if size <= rows / 2),
        rows - limit,
        rows,
    ]


def _few_sizes(rows: int, limit: int) -> list[int]:
    """Sizes where each goes with levels of other objectives."""
    return [1, *_growing(1, _FEW_GROWTH, rows / 2), rows - limit, rows]


def _growing(size: float, growth: float, most: float) -> Iterator[int]:
    """Sizes after a first one, each so many times the one before, or one more."""
    while size * growth <= most:
        size = max(size * growth, size + 1)
        yield int(size)


def _levels(everything: Grouping, suppression: Suppression, name: str, number: int) -> list[float]:
    """So many levels of a measure of groups, from the best on, that of all rows together."""
    measure = find_measure(name)
    best = measure.of(score_grouping(everything, [measure], suppression))[0].item()
    if measure.range.whole:
        return [float(level) for level in range(int(best), 0, -1)][:number]
    worst = measure.range.low if measure.higher_is_better else measure.range.high
    if isinstance(worst, str) or not isfinite(worst):
        worst = best + 3.0  # as δ, whose range has no end
        if measure.most is not None:  # as t_js, which has one: ln 2
            worst = min(worst, measure.most(everything.instance))
    shares = (np.arange(number) / number) ** 2
    return [best + (worst - best) * share for share in shares.tolist()]


def spread(runs: list[list[Suppression]]) -> list[list[Suppression]]:
    """Put runs in an order in which early ones lie all over the range, should time run out."""
    bits = max(1, len(runs).bit_length())
    places = sorted(range(len(runs)), key=lambda place: f"{place:0{bits}b}"[::-1])
    return [runs[place] for place in places]
