"""Local fronts: every group has a box of its own, for all values of k in one run.

A *target* is what every group must have: a size, the constraints of the problem, and a level of
every other objective that groups have a value of. Targets are taken in runs of neighbouring sizes.
First the largest of every run is solved from the whole table down, looking ahead at every split
(`moanon.kernels.splitting`); then cells move between groups (`moanon.kernels.moving`), and what has
become large enough is split again, until that gains little. When all these are known, every run
begins with the best of them whose groups are large enough, and goes on to smaller sizes: each
target with the groups of the one before, which are split on.

No way to split is best everywhere: one looks farther ahead, another trims less or not at all. The
table is split in several of them, and the best is gone on with; where groups are few and each of
them counts, all are. (After the split it is mostly clear which one will be best in the end.)

Where utility loss is an objective, the table is also split by that at first (`UtilitySplits`). The
groups of global recodings are taken in and moved, too (`find_global_groups`): all of a small table,
and of others where groups are few, as these leave little that boxes of their own can gain.

Runs do not depend on each other, so they can be worked on by several threads, in any order. The
seed does not matter.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf

import numpy as np

from moanon.arrays import Codes, Floats, Ints
from moanon.data.domain import TreeDomain
from moanon.data.hierarchy import Hierarchy
from moanon.errors import ImpossibleError, InfeasibleError, SearchError
from moanon.front import Front
from moanon.genome import Instance
from moanon.grouping import NO_GROUP, Grouping
from moanon.kernels.boxes import BoxColumns, cover_groups, make_box_columns
from moanon.kernels.group_check import GroupCheck, make_group_check
from moanon.kernels.moving import MoveBuffers, make_move_buffers, move_cells
from moanon.kernels.node_splits import SplitBuffers, make_split_buffers
from moanon.kernels.splitting import split_cells
from moanon.measures import find_measure
from moanon.measures.demand import group_rule
from moanon.measures.measuring import meet_constraints, score_grouping
from moanon.measures.scores import objective_matrix
from moanon.measures.solutions import OnPart
from moanon.measures.suppression import Suppression
from moanon.recoding import LocalRecodings
from moanon.sealing import seal, unseal
from moanon.search.archive import thin
from moanon.search.checkpoint import State, part_of, prefixed
from moanon.search.global_groups import find_global_groups
from moanon.search.problem import SearchProblem
from moanon.search.running import warm_up
from moanon.search.targets import (
    FEW_GROUPS,
    Effort,
    asked,
    find_targets,
    meets_constraints,
    spread,
    whole_table,
)
from moanon.search.utility_splits import UtilitySplits

#: Targets, and the groups to begin with.
_Task = tuple[Sequence[Suppression], Ints | None]
#: Ways to split: what suppressing a row costs, in losses of the row; how far to look ahead, where
#: 1 is not at all, the greedy way. What is trimmed first uses the limit up, so it may pay to make
#: rows dearer at first, or so dear that nothing is trimmed until the second round.
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
#: Tables of up to so many cells are searched without suppression, too, whatever the limit, and
#: begin with all that a search for global recodings finds.
_SMALL_TABLE = 2_000
#: Groups that there is room for, where each target is also solved from the whole table down.
_HANDFUL = 4
#: The share of the loss that a sweep of moving must gain, or a round of splitting and moving.
_GAIN = 0.006


class LocalSearch:
    """Searches for the local front of a problem; keeps to `moanon.search.algorithms.Search`."""

    #: Why it stops when it is through.
    complete = "every target was reached for"

    def __init__(self, problem: SearchProblem) -> None:
        self.problem = problem
        self.generation = 0
        self.evaluations = 0
        limit = problem.suppression.most_rows(problem.instance.cells.rows)
        named = {*problem.objectives, *(measure.name for measure in problem.bounds)}
        if limit and "weighted_k" in named:
            raise SearchError(
                "weighted_k also counts groups that are suppressed, and rows that a local recoding "
                "suppresses have none; take eta 0, or another measure"
            )
        self.archive = LocalArchive(len(problem.objectives))
        self._runs = self._find_runs()
        self._workplaces: list[_Workplace] = []
        self._starts: list[tuple[int, bytes]] = []  # what the first target of each run came to
        self._by_utility = None
        if "u_loss" in problem.objectives and Effort(len(problem.instance.cells)).is_whole:
            self._by_utility = UtilitySplits(problem.instance)

    def _find_runs(self) -> list[list[Suppression]]:
        """Runs of targets; of small tables also those where nothing is suppressed.

        Splits that may trim find something else, which need not be better.
        """
        runs: list[list[Suppression]] = []
        for each in self._problems():
            with suppress(ImpossibleError) if runs else nullcontext():
                runs += find_targets(each.instance, each.suppression, each.objectives)
        return spread(runs)

    def _problems(self) -> list[SearchProblem]:
        """The problem, and of a small table that without suppression."""
        wide = self.problem.suppression.eta > 0 and _is_small(self.problem)
        return [self.problem, *([self.problem.with_eta(0.0)] if wide else [])]

    @property
    def space(self) -> int:
        """How many targets there are, the first ones of runs counted twice."""
        return len(self._runs) + sum(map(len, self._runs))

    @property
    def exhausted(self) -> bool:
        """Whether every target was reached for."""
        return self.generation == 2 * len(self._runs)

    def refresh(self) -> bool:
        """There is no other way."""
        return False

    def finish(self) -> int:
        """Nothing is left to be done."""
        return 0

    def step(self, most: int | None = None) -> int:
        """Work on the next runs, one for each thread; return how many targets were reached for."""
        threads, number = self.problem.threads, len(self._runs)
        while len(self._workplaces) < threads:
            self._workplaces.append(_Workplace.of(self.problem.instance))
        begin = self.generation
        if begin == 0 and self._workplaces[0].effort.is_whole:
            self._take_global_groups()
        if begin < number:
            tasks: list[_Task] = [([run[0]], None) for run in self._runs[begin : begin + threads]]
        else:
            runs = self._runs[begin - number : begin - number + threads]
            tasks = [(run, self._best_start(run[0])) for run in runs]
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(_solve, self._workplaces, *zip(*tasks, strict=True)))
        reached = sum(map(len, found))
        for groups, (targets, _) in zip(found, tasks, strict=True):
            if begin < number:
                self._starts.append((self._workplaces[0].loss(groups[0]), _pack(groups[0])))
                groups += self._solve_by_utility(targets)
            for group in groups:
                self._take(group)
        self.generation += len(tasks)
        self.evaluations += reached
        return reached

    def _take_global_groups(self) -> None:
        """Take in groups of global recodings, as they are and after a round of moving."""
        counts = self._workplaces[0].counts
        for problem in self._problems():
            for group in find_global_groups(problem):
                size = np.bincount(group[group >= 0], counts[group >= 0]).min()
                if not _is_small(problem) and counts.sum() >= FEW_GROUPS * size:
                    continue
                target = _with_size(problem.suppression, size)
                for each in (group, *_solve(self._workplaces[0], [target], group)):
                    self._take(each)

    def _solve_by_utility(self, targets: Sequence[Suppression]) -> list[Ints]:
        """Split the whole table by utility loss as far as groups are few, and on by loss."""
        if self._by_utility is None:
            return []
        few = self._by_utility.split(targets[0])
        return [few, *_solve(self._workplaces[0], targets, few)]

    def _best_start(self, target: Suppression) -> Ints:
        """Of all first targets that ask at least as much, the groups that lose least."""
        size, levels = asked(target)[0], asked(target)[1:]
        fit = [
            found
            for (first, *_), found in zip(self._runs, self._starts, strict=True)
            if asked(first)[0] >= size and first.eta <= target.eta and asked(first)[1:] == levels
        ]
        return _unpack(min(fit, key=lambda found: found[0])[1])

    def _take(self, group: Ints) -> None:
        """Measure a solution, and keep it if it meets the bounds on groups and the whole table.

        Where not even all rows are a group and some may be suppressed, it need not.
        """
        grouping = _grouping(self._workplaces[0], group)
        if not meets_constraints(grouping, self.problem.suppression):
            return
        bounds = self.problem.bounds
        measures = [*self.problem.measures, *bounds]
        scores = score_grouping(grouping, measures, self.problem.suppression)
        if all(measure.meets(measure.of(scores), bound)[0] for measure, bound in bounds.items()):
            self.archive.add(_pack(group), objective_matrix(scores, self.problem.objectives)[0])

    def front(self, cap: int, on_part: OnPart | None = None) -> Front:
        """Make the front of what was found: at most `cap` solutions.

        Raises
        ------
        InfeasibleError
            If nothing meets the constraints.
        """
        if not self.archive.is_feasible:
            raise InfeasibleError("no local recoding that was found meets the constraints")
        place = self._workplaces[0] if self._workplaces else _Workplace.of(self.problem.instance)
        chosen = thin(self.archive.values, cap)
        recodings = LocalRecodings.of_groupings(
            _grouping(place, _unpack(self.archive.groups[i])) for i in chosen.tolist()
        )
        return Front.of_recodings(
            self.problem.instance,
            self.problem.suppression,
            self.problem.objectives,
            recodings,
            found=len(self.archive.groups),
            bounds={measure.name: bound for measure, bound in self.problem.bounds.items()},
            on_part=on_part,
        )

    # -- what is saved ---------------------------------------------------------------------------

    def state(self) -> State:
        """Everything the next step depends on."""
        return {
            **prefixed("groups.", self._sealed(self.archive.groups)),
            "values": self.archive.values,
            **prefixed("starts.", self._sealed([group for _, group in self._starts])),
            "losses": np.array([loss for loss, _ in self._starts], dtype=np.int64),
            "done": np.array([self.generation, self.evaluations]),
        }

    def restore(self, state: State) -> None:
        """Go on from a saved state."""
        self.archive = LocalArchive(len(self.problem.objectives))
        groups = self._unsealed(part_of(state, "groups."))
        for group, values in zip(groups, state["values"], strict=True):
            self.archive.add(group, values)
        starts = self._unsealed(part_of(state, "starts."))
        self._starts = list(zip(state["losses"].tolist(), starts, strict=True))
        self.generation, self.evaluations = state["done"].tolist()

    def _sealed(self, packed: Sequence[bytes]) -> State:
        """Groups of cells as two arrays; a file of them would tell the table."""
        text = seal(self.problem.instance.key, b"".join(packed), b"checkpoint")
        lengths = np.array([len(each) for each in packed], dtype=np.int64)
        return {"bytes": np.frombuffer(text, dtype=np.uint8), "lengths": lengths}

    def _unsealed(self, state: State) -> list[bytes]:
        """Groups of cells from what `_sealed` made of them."""
        try:
            text = unseal(self.problem.instance.key, state["bytes"].tobytes(), b"checkpoint")
        except ValueError:
            raise SearchError(
                "the checkpoint is of an earlier version, or of other cells; start anew with "
                "--force"
            ) from None
        ends = np.cumsum(state["lengths"]).tolist()
        return [text[start:end] for start, end in pairwise([0, *ends])]


class LocalLimits:
    """Problems that differ in η alone, as `moanon.search.archive.SharedLimits`.

    Each is searched for itself; what was found within a narrower limit counts within a wider one,
    too. Fronts that an earlier run has found for some of them are given.
    """

    def __init__(
        self, problem: SearchProblem, etas: Sequence[float], known: Mapping[float, Front]
    ) -> None:
        self.etas = tuple(sorted(etas, reverse=True))
        self.problems = tuple(problem.with_eta(eta) for eta in self.etas)
        self._known = known
        self._searches: dict[int, LocalSearch] = {}

    @property
    def evaluations(self) -> int:
        """Targets reached for so far."""
        return sum(search.evaluations for search in self._searches.values())

    def search_for(self, place: int, settings: object) -> LocalSearch:
        """Build the search for the limit at `place`."""
        self._searches[place] = LocalSearch(self.problems[place])
        return self._searches[place]

    def front(self, place: int, cap: int, on_part: OnPart | None = None) -> Front:
        """The front of what was found for the limit at `place`."""
        if self.etas[place] in self._known:
            return self._known[self.etas[place]]
        search = self._searches[place]
        for narrower, eta in enumerate(self.etas):  # the widest first
            if eta < self.etas[place] and eta in self._known:
                search.archive.add_front(self._known[eta], search.problem.instance)
            elif eta < self.etas[place]:
                search.archive.add_all(self._searches[narrower].archive)
        return search.front(cap, on_part)

    def state(self) -> State:
        """What was found so far, as arrays."""
        found: State = {"places": np.array([*self._searches], dtype=np.int64)}
        for place, search in self._searches.items():
            found |= prefixed(f"{place}.", search.state())
        return found

    def restore(self, state: State) -> None:
        """Go on from a saved state; it must be of the same limits."""
        for place in state["places"].tolist():
            self.search_for(place, None).restore(part_of(state, f"{place}."))


def solve_target(instance: Instance, target: Suppression) -> Grouping:
    """Solve one target alone: groups that meet its constraints, within its limit of suppression.

    Raises
    ------
    InfeasibleError
        If even all rows together are no group, and what is found by suppressing some is none.
    """
    whole_table(instance, target)
    place = _Workplace.of(instance)
    (group,) = _solve(place, [target], None)
    grouping = _grouping(place, group)
    if not meets_constraints(grouping, target):
        raise InfeasibleError("no local recoding that was found meets the constraints")
    return grouping


def warm_up_local(problem: SearchProblem) -> float:
    """Have the kernels compiled or loaded, as `moanon.search.running.warm_up` for genomes."""
    started = time.monotonic()
    target = _with_size(problem.suppression, problem.instance.cells.rows)
    _solve(_Workplace.of(problem.instance), [target], None)  # of all rows, which is nothing to do
    if Effort(len(problem.instance.cells)).is_whole:
        warm_up(problem, "archive")
    return time.monotonic() - started


def _is_small(problem: SearchProblem) -> bool:
    return len(problem.instance.cells) <= _SMALL_TABLE


def _with_size(suppression: Suppression, size: float) -> Suppression:
    """The target of a size, and of nothing else beyond the constraints."""
    return replace(suppression, constraints=(("k", size), *suppression.constraints))


class LocalArchive:
    """Undominated solutions: packed groups of cells, and objectives of which less is better."""

    def __init__(self, objectives: int) -> None:
        self.values: Floats = np.zeros((0, objectives))
        self.groups: list[bytes] = []

    @property
    def is_feasible(self) -> bool:
        """Whether there is a solution."""
        return bool(self.groups)

    def add(self, group: bytes, values: Floats) -> None:
        """Take a solution in, unless another is as good; those go that are worse than it."""
        if (self.values <= values).all(axis=1).any():
            return
        stays = np.flatnonzero(~(self.values >= values).all(axis=1))
        self.groups = [self.groups[i] for i in stays.tolist()]
        self.groups.append(group)
        self.values = np.concatenate([self.values[stays], values[None]])

    def add_all(self, other: LocalArchive) -> None:
        """Take the solutions of another one in."""
        for group, values in zip(other.groups, other.values, strict=True):
            self.add(group, values)

    def add_front(self, front: Front, instance: Instance) -> None:
        """Take the solutions of a front of the same table and objectives in."""
        assert isinstance(front.recodings, LocalRecodings)
        signs = [-1.0 if find_measure(name).higher_is_better else 1.0 for name in front.objectives]
        values = np.stack([front.measures[name] for name in front.objectives], axis=1) * signs
        for row, each in enumerate(values):
            self.add(_pack(front.recodings.cell_group(row, instance)), each)


def _pack(group: Ints) -> bytes:
    """The group of each cell in little memory: there are hundreds of solutions."""
    return zlib.compress(group.astype("<i4").tobytes(), 1)


def _unpack(packed: bytes) -> Ints:
    return np.frombuffer(zlib.decompress(packed), dtype="<i4").astype(np.int64)


# -- solving ---------------------------------------------------------------------------------------


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
class _Workplace:
    """The table as kernels take it, and what one thread needs.

    Columns with few values come first: they are the dearest to give up.
    """

    instance: Instance
    columns: BoxColumns
    order: Ints
    codes: Codes
    counts: Ints
    splitting: SplitBuffers
    ahead: SplitBuffers
    moving: MoveBuffers

    @classmethod
    def of(cls, instance: Instance) -> _Workplace:
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
            make_split_buffers(len(instance.cells), sizes),
            make_split_buffers(len(instance.cells), sizes),
            make_move_buffers(codes),
        )

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


def _solve(place: _Workplace, targets: Sequence[Suppression], start: Ints | None) -> list[Ints]:
    """Solve targets of falling size; the first from the whole table down, unless it is begun."""
    found = []
    for target in targets:
        wanted = _Wanted.of(place.instance, target)
        start = _solve_afresh(place, wanted) if start is None else _solve_on(place, wanted, start)
        found.append(start)
    return found


def _solve_on(place: _Workplace, wanted: _Wanted, start: Ints) -> Ints:
    """Split the groups of a larger size.

    Where there is room for a few groups only, one of that size may have left no room for two of
    this one, rows having been suppressed for it: the whole table is tried, too.
    """
    found = [_split(place, wanted, start, _FAR)]
    if place.counts.sum() < _HANDFUL * wanted.least:
        found.append(_split(place, wanted, place.whole_table(), _NEAR))
    return min((_improve(place, wanted, group, 1) for group in found), key=place.loss)


def _revived(place: _Workplace, wanted: _Wanted, group: Ints) -> Ints:
    """Put all suppressed cells into a group, where they may be one: it may fall into better ones.

    At worst it loses what they lose now, and with smaller groups they may find company.
    """
    cells = np.flatnonzero(group < 0)
    rows = place.counts[cells].sum(keepdims=True)
    one = np.zeros(len(cells), dtype=np.int64)
    if rows < wanted.least or not meet_constraints(place.instance, cells, one, rows, wanted.target):
        return group.copy()
    return np.where(group < 0, group.max() + 1, group)


def _solve_afresh(place: _Workplace, wanted: _Wanted) -> Ints:
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


def _split(place: _Workplace, wanted: _Wanted, group: Ints, way: tuple[float, int]) -> Ints:
    """Split groups in one way; what was suppressed is looked at once more."""
    group = _revived(place, wanted, group)
    place.split(wanted, group, *way)
    return group


def _improve(place: _Workplace, wanted: _Wanted, group: Ints, rounds: int) -> Ints:
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
    place = _Workplace.of(instance)
    for size in sizes:
        group = place.whole_table()
        place.split(_Wanted.of(instance, _with_size(suppression, size)), group, *_GREEDY)
        yield _grouping(place, group)


def _grouping(place: _Workplace, group: Ints) -> Grouping:
    """The same groups for everything that comes after; boxes alike are one."""
    starts, stops = place.boxes(group)
    return Grouping.of_boxes(place.instance, np.where(group < 0, NO_GROUP, group), starts, stops)
