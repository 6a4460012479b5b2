"""Groups of cells that reach a target: split from the whole table down, then moved between groups.

What every group must have is a target: a size, and whatever else is demanded. The whole table is
split, looking ahead at every split (`moanon.kernels.splitting`); then cells move between groups
(`moanon.kernels.moving`), and what has become large enough is split again, until that gains little.

No way to split is best everywhere: one looks farther ahead, another trims less or not at all. The
table is split in several of them, and the best is improved; where groups are few and each of them
counts, all are. (After the split it is mostly clear which one will be best in the end.)

What is reached for are sizes of groups and levels of other objectives, in runs (`find_targets`).

**Effort.** What a single target costs grows with the number of cells, so a large table gets fewer
targets, fewer of which are solved afresh, and a narrower look at each (`Effort`). Tables of up to
20,000 cells get all there is; with c times as many cells the steps between sizes grow with
``c ** (3/4)`` and the runs between fresh starts with ``c ** (1/2)``, a cell is offered to
``1 / c ** 2`` of the groups and less often, and one way of splitting is tried instead of several.
The effort follows from the number of cells alone, never from a clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from math import ceil, inf, isfinite, sqrt

import numpy as np

from moanon.arrays import Codes, Ints
from moanon.data.domain import TreeDomain
from moanon.data.hierarchy import Hierarchy
from moanon.errors import ImpossibleError, InfeasibleError
from moanon.genome import Instance
from moanon.grouping import NO_GROUP, Grouping
from moanon.kernels.boxes import (
    BoxColumns,
    GroupCheck,
    cover_groups,
    make_box_columns,
    make_group_check,
)
from moanon.kernels.moving import MoveBuffers, make_move_buffers, move_cells
from moanon.kernels.splitting import SplitBuffers, make_split_buffers, split_cells
from moanon.measures import find_measure
from moanon.measures.evaluate import group_rule, meet_constraints, score_grouping, suppress_groups
from moanon.measures.suppression import Suppression

# -- what is reached for ---------------------------------------------------------------------------

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


class Effort:
    """How much is spent on a table of so many cells."""

    def __init__(self, cells: int) -> None:
        share = min(1.0, _ALL_CELLS / cells)  # of the whole effort, that each cell gets
        self.is_whole = share == 1.0  # whether nothing is spared
        self.growth = 1.0 + (_GROWTH - 1.0) / float(share**0.75)  # from one size to the next
        self.small = ceil(_SMALL * float(share**0.75))  # sizes up to this are all targets
        self.rounds = 2 if self.is_whole else 1  # of moving and splitting after a fresh start
        self.sweeps = max(
            _LEAST_SWEEPS, round(_SWEEPS * sqrt(share))
        )  # how often cells are offered
        self.tries = max(_LEAST_TRIES, round(_TRIES * sqrt(share)))  # splits of a node, followed
        self.window = max(
            _LEAST_WINDOW, int(_WINDOW * share**2)
        )  # groups on either side of its own
        self.run = round(_RUN / sqrt(share))  # targets in a run …
        self.short_run = round(_SHORT_RUN / sqrt(share))  # … and where groups are few
        self.span = float(_SPAN ** (1 / sqrt(share)))  # its smallest size as a share of its largest
        self.shortest_run = self.run // _RUN  # before a size that people ask for begins another


def whole_table(instance: Instance, suppression: Suppression) -> Grouping:
    """All rows as one group; impossible if that fails constraints and nothing may be suppressed."""
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
        is_due = length >= (effort.short_run if size * FEW_GROUPS > rows else effort.run)
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


# -- how it is reached ----------------------------------------------------------------------------

#: Ways to split: what suppressing a row costs, in losses of the row; how far to look ahead, where
#: 1 is not at all, the greedy way. What is trimmed first uses the limit up, so it may pay to give
#: rows a higher price at first, or one so high that nothing is trimmed until the second round.
_FAR, _MIDDLE, _NEAR, _GREEDY, _DEAR = (1.0, 128), (1.0, 32), (1.0, 8), (1.0, 1), (1.4, 32)
_UNTRIMMED, _UNTRIMMED_NEAR = (1e6, 32), (1e6, 8)
#: Ways that the whole table is split in, each where there is room for so many groups (from, below:
#: fewer than its horizon are seen to the end by a farther look, too); and whether that is where
#: rows may be suppressed, or may not.
_TRIED: tuple[tuple[tuple[float, int], float, float, tuple[bool, ...]], ...] = (
    (_FAR, 0, inf, (True, False)),
    (_UNTRIMMED, 0, 1000, (True,)),
    (_MIDDLE, FEW_GROUPS, 100, (True, False)),
    (_GREEDY, 0, FEW_GROUPS, (True, False)),
    (_DEAR, 0, FEW_GROUPS, (True,)),
    (_UNTRIMMED_NEAR, 8, FEW_GROUPS, (True,)),
    (_NEAR, 8, FEW_GROUPS, (False,)),
)
#: Groups that there is room for, where each target is also solved from the whole table down.
_HANDFUL = 4
#: The share of the loss that a sweep of moving must gain, or a round of splitting and moving.
_GAIN = 0.006


def with_size(suppression: Suppression, size: float) -> Suppression:
    """The target of a size, and of nothing else beyond the constraints."""
    return replace(suppression, constraints=(("k", size), *suppression.constraints))


@dataclass(frozen=True, eq=False)
class _Wanted:
    """What every group must have: rows, and other things; and how many may be suppressed."""

    target: Suppression
    least: int
    limit: int
    check: GroupCheck | None

    @classmethod
    def of(cls, instance: Instance, target: Suppression) -> _Wanted:
        rule = group_rule(target, instance.cells.rows)
        check = make_group_check(rule, instance.plan, instance.listed_values)
        return cls(target, rule.least, rule.limit, check)


@dataclass(frozen=True, eq=False)
class Workplace:
    """The table as kernels take it, and what one thread needs.

    Columns with few values come first: a cut in them is worth most.
    """

    instance: Instance
    columns: BoxColumns
    order: Ints
    codes: Codes
    counts: Ints

    @classmethod
    def of(cls, instance: Instance) -> Workplace:
        order = np.argsort(instance.layout.sizes, kind="stable")
        sizes, losses = instance.layout.sizes[order], instance.losses
        blocks, nodes = [], []
        for column in order.tolist():
            blocks.append(losses.of_column(column))
            domain = instance.layout.domains[instance.layout.columns[column]]
            # Sets of neighbouring leaves are cut like any order.
            nodes.append(
                _nodes(domain.hierarchy)
                if isinstance(domain, TreeDomain) and not domain.sets
                else None
            )
        codes = np.ascontiguousarray(instance.cells.codes[order])
        return cls(
            instance,
            make_box_columns(blocks, nodes, losses.scale * len(sizes)),
            order,
            codes,
            instance.cells.counts.astype(np.int64),
        )

    @cached_property
    def splitting(self) -> SplitBuffers:
        """Room for the splits that are made."""
        return make_split_buffers(len(self.counts), self.instance.layout.sizes[self.order])

    @cached_property
    def ahead(self) -> SplitBuffers:
        """Room for those that are looked at ahead."""
        return make_split_buffers(len(self.counts), self.instance.layout.sizes[self.order])

    @cached_property
    def moving(self) -> MoveBuffers:
        """Room for moves."""
        return make_move_buffers(self.codes)

    @property
    def effort(self) -> Effort:
        """How much is spent on the table."""
        return Effort(len(self.counts))

    def whole_table(self) -> Ints:
        """All cells in one group."""
        return np.zeros(len(self.counts), dtype=np.int64)

    def split(self, wanted: _Wanted, group: Ints, price: float, horizon: int) -> None:
        """Split the groups that there are."""
        split_cells(
            self.columns,
            self.codes,
            self.counts,
            wanted.least,
            wanted.limit,
            wanted.check,
            price * self.columns.full,
            self.effort.tries if horizon > 1 else 1,
            horizon,
            int(group.max()) + 1,
            self.splitting,
            self.ahead,
            group,
        )

    def move(self, wanted: _Wanted, group: Ints) -> None:
        """Let cells move between groups."""
        move_cells(
            self.columns,
            self.counts,
            wanted.least,
            wanted.limit,
            wanted.check,
            int(group.max()) + 1,
            self.effort.sweeps,
            _GAIN,
            self.effort.window,
            self.moving,
            group,
        )

    def boxes(self, group: Ints) -> tuple[Ints, Ints]:
        """Starts and stops of the boxes around all groups, columns in the order of the table."""
        shape = len(self.codes), int(group.max()) + 1
        starts, stops = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        cover_groups(self.columns, self.codes, group, starts, stops)
        back = np.argsort(self.order)
        return starts[back], stops[back]

    def loss(self, group: Ints) -> int:
        """Summed loss, that of suppressed rows included."""
        starts, stops = self.boxes(group)
        losses = self.instance.losses
        each = np.zeros(starts.shape[1], dtype=np.int64)
        for column, ends in enumerate(zip(starts, stops, strict=True)):
            each += losses.of_blocks(column, *ends)
        lost = np.append(each, self.columns.full)[group]  # the last one: suppressed
        return int((lost * self.counts).sum())


def _nodes(tree: Hierarchy) -> tuple[Ints, Ints, Ints]:
    return np.array(tree.starts), np.array(tree.stops), np.array(tree.parents)


def solve(place: Workplace, targets: Sequence[Suppression], start: Ints | None) -> list[Ints]:
    """Solve targets of falling size; the first from the whole table down, or from `start`."""
    found = []
    for target in targets:
        wanted = _Wanted.of(place.instance, target)
        start = _solve_afresh(place, wanted) if start is None else _solve_on(place, wanted, start)
        found.append(start)
    return found


def _solve_on(place: Workplace, wanted: _Wanted, start: Ints) -> Ints:
    """Split the groups of a larger size.

    Where there is room for a few groups only, one of that size may have left no room for two of
    this one, rows having been suppressed for it: the whole table is tried, too.
    """
    found = [_split(place, wanted, start, _FAR)]
    if place.counts.sum() < _HANDFUL * wanted.least:
        found.append(_split(place, wanted, place.whole_table(), _NEAR))
    return min((_improve(place, wanted, group, 1) for group in found), key=place.loss)


def _revived(place: Workplace, wanted: _Wanted, group: Ints) -> Ints:
    """Put all suppressed cells into a group, where they may be one: it may fall into better ones.

    At worst it loses what they lose now, and with smaller groups they may find company.
    """
    cells = np.flatnonzero(group < 0)
    rows = place.counts[cells].sum(keepdims=True)
    one = np.zeros(len(cells), dtype=np.int64)
    if rows < wanted.least or not meet_constraints(place.instance, cells, one, rows, wanted.target):
        return group.copy()
    return np.where(group < 0, group.max() + 1, group)


def _solve_afresh(place: Workplace, wanted: _Wanted) -> Ints:
    """Split the whole table in several ways; improve the best, or all where groups are few.

    Large tables are split in one way, which looks less far.
    """
    room, may_trim = place.counts.sum() / wanted.least, wanted.limit > 0
    ways = [_NEAR]
    if place.effort.is_whole:
        ways = [way for way, low, high, trim in _TRIED if low <= room < high and may_trim in trim]
    found = [_split(place, wanted, place.whole_table(), way) for way in ways]
    if room >= FEW_GROUPS:
        found = [min(found, key=place.loss)]
    rounds = place.effort.rounds
    return min((_improve(place, wanted, group, rounds) for group in found), key=place.loss)


def _split(place: Workplace, wanted: _Wanted, group: Ints, way: tuple[float, int]) -> Ints:
    """Split groups in one way; what was suppressed is looked at once more."""
    group = _revived(place, wanted, group)
    place.split(wanted, group, *way)
    return group


def _improve(place: Workplace, wanted: _Wanted, group: Ints, rounds: int) -> Ints:
    """Move cells; then split groups and move cells again, as long as that helps."""
    place.move(wanted, group)
    least = place.loss(group)
    for _ in range(1, rounds):
        group = _split(place, wanted, group, _FAR)  # what is left of the limit may be spent
        place.move(wanted, group)
        before, least = least, place.loss(group)
        if before - least <= _GAIN * least:
            break
    return group


def split_greedily(
    instance: Instance, suppression: Suppression, sizes: Iterable[int]
) -> Iterator[Grouping]:
    """Split the whole table by the largest gain alone for each size of groups, to compare with."""
    place = Workplace.of(instance)
    for size in sizes:
        group = place.whole_table()
        place.split(_Wanted.of(instance, with_size(suppression, size)), group, *_GREEDY)
        yield grouping_of(place, group)


def grouping_of(place: Workplace, group: Ints) -> Grouping:
    """The same groups for everything that comes after; boxes alike are one."""
    starts, stops = place.boxes(group)
    return Grouping.of_boxes(place.instance, np.where(group < 0, NO_GROUP, group), starts, stops)


def solve_target(instance: Instance, target: Suppression) -> Grouping:
    """Solve one target alone: groups that meet its constraints, within its limit of suppression."""
    whole_table(instance, target)
    place = Workplace.of(instance)
    (group,) = solve(place, [target], None)
    grouping = grouping_of(place, group)
    if not meets_constraints(grouping, target):
        raise InfeasibleError("no local recoding that was found meets the constraints")
    return grouping
