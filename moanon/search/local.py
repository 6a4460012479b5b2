"""Local fronts: every group has a box of its own, for all values of k in one run.

A *target* is what every group must have: a size, the constraints of the problem, and a level of
every other objective that groups have a value of. Targets are taken in runs of neighbouring sizes.
First the largest of every run is solved from the whole table down (``box_solving``). When all these
are known, every run begins with the best of them whose groups are large enough, and goes on to
smaller sizes: each target with the groups of the one before, which are split on.

Where utility loss is an objective, the table is also split by that at first (`split_by_utility`).
The groups of global recodings are taken in and moved, too (`find_global_groups`): all of a small
table, and of others where groups are few, as these leave little that boxes of their own can gain.

Runs do not depend on each other, so they can be worked on by several threads, in any order. The
seed does not matter.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from itertools import pairwise

import numpy as np

from moanon.arrays import Ints, State, Values
from moanon.errors import ImpossibleError, InfeasibleError, SearchError
from moanon.front import Front
from moanon.genome import Instance
from moanon.measures.evaluate import OnPart, objective_matrix, score_grouping
from moanon.measures.suppression import Suppression
from moanon.recoding import GlobalRecodings, LocalRecodings
from moanon.sealing import seal, unseal
from moanon.search.algorithms import SearchSettings, Stop
from moanon.search.archive import Archive, thin
from moanon.search.archive_search import ArchiveSearch, ExhaustiveSearch
from moanon.search.box_solving import (
    FEW_GROUPS,
    Effort,
    Workplace,
    asked,
    find_targets,
    grouping_of,
    meets_constraints,
    solve,
    spread,
    with_size,
)
from moanon.search.checkpoint import part_of, prefixed
from moanon.search.problem import AnonymizationProblem, Points
from moanon.search.running import Search
from moanon.search.utility_splits import split_by_utility

#: Targets, and the groups to begin with.
_Task = tuple[Sequence[Suppression], Ints | None]
#: Tables of up to so many cells are searched without suppression, too, whatever the limit, and
#: begin with all that a search for global recodings finds.
_SMALL_TABLE = 2_000
#: Genomes that are evaluated for that, in generations of so many; a smaller space is enumerated.
_GENOMES, _POPULATION = 10_000, 200
#: The search draws the same numbers every time.
_SEED = 0
#: One solution at a time: its row, and what it has in the place of a genome's thresholds.
_FIRST, _NO_THRESHOLDS = np.zeros(1, dtype=np.int64), np.zeros((1, 2), dtype=np.int64)


class LocalSearch(Search):
    """Searches for the local front of a problem."""

    complete = "every target was reached for"
    is_random = False
    of_genomes = False

    def __init__(self, problem: AnonymizationProblem, room: int = 1_000_000) -> None:
        self.problem = problem
        self.generation = 0
        self._reached = 0
        limit = problem.suppression.most_rows(problem.instance.cells.rows)
        named = {*problem.objectives, *(measure.name for measure in problem.table_bounds)}
        if limit and "weighted_k" in named:
            raise SearchError(
                "weighted_k also counts groups that are suppressed, and rows that a local recoding "
                "suppresses have none; take eta 0, or another measure"
            )
        self.archive = self.empty_archive(problem, room)
        self._packing = _CellGroups(problem.instance)
        self._runs = self._find_runs()
        self._workplaces: list[Workplace] = []
        self._starts: list[tuple[int, bytes]] = []  # what the first target of each run came to
        is_whole = Effort(len(problem.instance.cells)).is_whole
        self._by_utility = is_whole and "u_loss" in problem.objectives

    def _find_runs(self) -> list[list[Suppression]]:
        """Runs of targets; of small tables also those where nothing is suppressed.

        Splits that may trim find something else, which need not be better.
        """
        runs: list[list[Suppression]] = []
        for each in self._problems():
            with suppress(ImpossibleError) if runs else nullcontext():
                runs += find_targets(each.instance, each.suppression, each.objectives)
        return spread(runs)

    def _problems(self) -> list[AnonymizationProblem]:
        """The problem, and of a small table that without suppression."""
        wide = self.problem.suppression.eta > 0 and _is_small(self.problem)
        return [self.problem, *([self.problem.with_eta(0.0)] if wide else [])]

    @classmethod
    def stop_rule(cls, settings: SearchSettings, problem: AnonymizationProblem) -> Stop:
        """It ends by itself; limits other than seconds are about genomes."""
        return Stop(seconds=settings.seconds)

    @classmethod
    def warm_up(cls, problem: AnonymizationProblem) -> None:
        """Solve a target that is nothing to do: all rows in one group."""
        target = with_size(problem.suppression, problem.instance.cells.rows)
        solve(Workplace.of(problem.instance), [target], None)
        if Effort(len(problem.instance.cells)).is_whole:
            ArchiveSearch.warm_up(problem)

    @classmethod
    def empty_archive(cls, problem: AnonymizationProblem, room: int) -> Archive:
        return Archive.empty(len(problem.objectives), _CellGroups(problem.instance), room)

    @property
    def evaluations(self) -> int:
        """Targets reached for so far."""
        return self._reached

    @property
    def space(self) -> int:
        """How many targets there are, the first ones of runs counted twice."""
        return len(self._runs) + sum(map(len, self._runs))

    @property
    def exhausted(self) -> bool:
        """Whether every target was reached for."""
        return self.generation == 2 * len(self._runs)

    def step(self, most: int | None = None) -> int:
        """Work on the next runs, one for each thread; return how many targets were reached for."""
        threads, number = self.problem.threads, len(self._runs)
        while len(self._workplaces) < threads:
            self._workplaces.append(Workplace.of(self.problem.instance))
        begin = self.generation
        if begin == 0 and self._workplaces[0].effort.is_whole:
            self._take_global_groups()
        if begin < number:
            tasks: list[_Task] = [([run[0]], None) for run in self._runs[begin : begin + threads]]
        else:
            runs = self._runs[begin - number : begin - number + threads]
            tasks = [(run, self._best_start(run[0])) for run in runs]
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(solve, self._workplaces, *zip(*tasks, strict=True)))
        reached = sum(map(len, found))
        for groups, (targets, _) in zip(found, tasks, strict=True):
            if begin < number:
                self._starts.append((self._workplaces[0].loss(groups[0]), _pack(groups[0])))
                groups += self._solve_by_utility(targets)
            for group in groups:
                self._take(group)
        self.generation += len(tasks)
        self._reached += reached
        return reached

    def _take_global_groups(self) -> None:
        """Take in groups of global recodings, as they are and after a round of moving."""
        counts = self._workplaces[0].counts
        for problem in self._problems():
            for group in find_global_groups(problem):
                size = np.bincount(group[group >= 0], counts[group >= 0]).min()
                if not _is_small(problem) and counts.sum() >= FEW_GROUPS * size:
                    continue
                target = with_size(problem.suppression, size)
                for each in (group, *solve(self._workplaces[0], [target], group)):
                    self._take(each)

    def _solve_by_utility(self, targets: Sequence[Suppression]) -> list[Ints]:
        """Split the whole table by utility loss as far as groups are few, and on by loss."""
        if not self._by_utility:
            return []
        few = split_by_utility(self.problem.instance, targets[0])
        return [few, *solve(self._workplaces[0], targets, few)]

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
        grouping = grouping_of(self._workplaces[0], group)
        if not meets_constraints(grouping, self.problem.suppression):
            return
        bounds = self.problem.table_bounds
        measures = [*self.problem.measures, *bounds]
        scores = score_grouping(grouping, measures, self.problem.suppression)
        if all(measure.meets(measure.of(scores), bound)[0] for measure, bound in bounds.items()):
            values = objective_matrix(scores, self.problem.objectives)
            self.archive.add(Points(values, _FIRST, _NO_THRESHOLDS), group[None])

    @staticmethod
    def front_of(
        problem: AnonymizationProblem, archive: Archive, cap: int, on_part: OnPart | None = None
    ) -> Front:
        if not len(archive):
            raise InfeasibleError("no local recoding that was found meets the constraints")
        place = Workplace.of(problem.instance)
        recodings = LocalRecodings.of_groupings(
            grouping_of(place, _unpack(archive.packed[row]))
            for row in thin(archive.values, cap).tolist()
        )
        return Front.of_recodings(
            problem.instance,
            problem.suppression,
            problem.objectives,
            recodings,
            found=len(archive),
            bounds={measure.name: bound for measure, bound in problem.table_bounds.items()},
            on_part=on_part,
        )

    # -- what is saved ---------------------------------------------------------------------------

    def state(self) -> State:
        """Everything the next step depends on."""
        return self.archive.state() | {
            **prefixed("starts.", self._packing.saved([group for _, group in self._starts])),
            "losses": np.array([loss for loss, _ in self._starts], dtype=np.int64),
            "done": np.array([self.generation, self._reached]),
        }

    def restore(self, state: State) -> None:
        """Go on from a saved state."""
        self.archive.restore(state)
        starts = self._packing.loaded(part_of(state, "starts."))
        self._starts = list(zip(state["losses"].tolist(), starts.tolist(), strict=True))
        self.generation, self._reached = state["done"].tolist()


def _is_small(problem: AnonymizationProblem) -> bool:
    return len(problem.instance.cells) <= _SMALL_TABLE


# -- groups in little memory -----------------------------------------------------------------------


class _CellGroups:
    """Packs the group of each cell, of solutions one below the other; there are hundreds."""

    packed_bytes = None

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    def pack(self, groups: Sequence[Ints] | Ints) -> Values:
        """Bytes of each row."""
        packed = np.zeros(len(groups), dtype=object)
        packed[:] = [_pack(group) for group in groups]
        return packed

    def unpack(self, packed: Values) -> Ints:
        """The rows again."""
        return np.stack([_unpack(each) for each in packed])

    def saved(self, packed: Sequence[bytes] | Values) -> State:
        """Packed groups as two arrays, sealed: a file of them would give the table away."""
        text = seal(self._instance.key, b"".join(packed), b"checkpoint")
        lengths = np.array([len(each) for each in packed], dtype=np.int64)
        return {"bytes": np.frombuffer(text, dtype=np.uint8), "lengths": lengths}

    def loaded(self, state: State) -> Values:
        """Packed groups from what `saved` made of them with this table."""
        try:
            text = unseal(self._instance.key, state["bytes"].tobytes(), b"checkpoint")
        except ValueError:
            raise SearchError(
                "the checkpoint is of an earlier version, or of other cells; start anew with "
                "force=True"
            ) from None
        stops = np.cumsum(state["lengths"]).tolist()
        packed = np.zeros(len(stops), dtype=object)
        packed[:] = [text[start:stop] for start, stop in pairwise([0, *stops])]
        return packed


def _pack(group: Ints) -> bytes:
    return zlib.compress(group.astype("<i4").tobytes(), 1)


def _unpack(packed: bytes) -> Ints:
    return np.frombuffer(zlib.decompress(packed), dtype="<i4").astype(np.int64)


# -- groups of global recodings --------------------------------------------------------------------


def find_global_groups(problem: AnonymizationProblem) -> Iterator[Ints]:
    """Search among genomes; give the group of each cell in what is found, -1 where suppressed.

    Splitting from the whole table down can miss groups that one cut of every column makes at once.
    So the solutions of a short search among genomes are offered as well; with the smallest boxes
    around their groups they lose no more than they did. Where that search sees every genome, a
    local front is never worse than the global one.

    Nothing is given where each genome would have to be measured by itself, which takes too long.
    """
    if not problem.has_steps:
        return
    search: Search
    if problem.layout.count() <= _GENOMES:
        search = ExhaustiveSearch(problem, _POPULATION)
    else:
        search = ArchiveSearch(problem, _POPULATION, _SEED)
    while not search.exhausted and search.evaluations < _GENOMES and search.step():
        pass
    search.finish()
    archive = search.archive
    if not archive.is_feasible:
        return
    archive.sort()
    found = GlobalRecodings(archive.genomes, archive.thresholds, problem.suppression)
    for row in range(len(found)):
        group = found.grouping(row, problem.instance).released().cell_group
        assert group is not None  # a genome puts whole cells together
        yield group
