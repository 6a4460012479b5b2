"""Driving the kernels over a population of genomes: flat or rolled up, on one thread or several.

*Flat* groups the table's cells for each genome, leaving alone the columns that did not change from
one genome to the next. *Roll-up* sorts similar genomes together and groups the cells once for the
bitwise OR of 36 neighbours, and that result once for the OR of 9 of them: the groups of a genome
follow from those of any finer one. Both give the same integers; which is faster depends on how
alike the genomes are, so it is measured while running.

Threads are ordinary Python threads over kernels that release the GIL: compiled code stays small and
starts fast, and nothing depends on which of numba's threading layers a machine happens to have.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import pairwise
from math import isqrt
from threading import Lock
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from moanon.kernels.clusters import bit_weights, chain, fineness_order
from moanon.kernels.costs import COSTS, Prices, no_prices
from moanon.kernels.grouping import (
    Forms,
    Sensitive,
    Workspace,
    coarsen,
    make_forms,
    make_workspace,
    with_values,
)
from moanon.kernels.join import JoinTree, LossScale
from moanon.kernels.keeping import BY_SIZE, MOST_RANKS, ModelRule, make_alive, result_width
from moanon.kernels.models import MODELS
from moanon.kernels.plan import (
    EQUAL,
    HistogramColumn,
    Lists,
    Plan,
    list_histograms,
    make_lists,
    make_plan,
)
from moanon.kernels.runs import ModelDesk, Rule, evaluate_models, evaluate_plain
from moanon.kernels.scoring import FIELDS, Scratch, make_scratch
from moanon.kernels.tallies import OF_COLUMNS, make_tally_desk

__all__ = ["Mode", "ModelRule", "PopulationKernel", "RawScores", "Rule"]

Bits = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mode = Literal["auto", "flat", "rollup"]
Number = TypeVar("Number", bound=np.generic)

#: Genomes under one OR, level by level.
SPANS = (36, 9)
#: Genomes handed to the kernels at a time; the choice between flat and roll-up is made per batch.
BATCH = 256
#: After this many batches the slower way is tried again.
RETRY = 64
#: Room for the staircases of one batch.
_STEP_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True)
class RawScores:
    """Results of a population.

    Attributes
    ----------
    fields : array (genomes, fields) of int64
        In the order of `keeping.MEASURED`, then the costs and tallies that were asked for; under a
        plain rule, of `scoring.FIELDS`.
    goodness : array (genomes, models)
        The worst kept group by each of the models that were asked for; infinite where nothing is
        kept. No columns under a plain rule.
    step_starts, steps, step_goodness : arrays
        Staircase of genome ``i``: ``steps[step_starts[i] : step_starts[i + 1]]``, and the goodness
        at each step. Columns of `steps` are those of `fields`, or (k, suppressed, kept_loss) under
        a plain rule, or (k, rank, suppressed, kept_loss) where they go over pairs.
    """

    fields: Ints
    goodness: Floats
    step_starts: Ints
    steps: Ints
    step_goodness: Floats


#: Genomes, their order, first and last of a run, thresholds.
_Task = tuple[Bits, Ints, int, int, Ints]


class _Results(NamedTuple):
    """Where the results of a batch go."""

    fields: Ints
    goodness: Floats
    number: Ints

    def at(self, part: slice) -> _Results:
        """The results of a part of the population."""
        return _Results(self.fields[part], self.goodness[part], self.number[part])


@dataclass
class _Room:
    """Where the staircases of a batch are written; kept, because fresh memory is slow."""

    steps: Ints = field(default_factory=lambda: np.zeros((0, 0, 0), dtype=np.int64))
    goodness: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))

    def of(self, steps: tuple[int, int, int], goodness: tuple[int, int, int]) -> _Room:
        """Make room of these shapes; what is in it means nothing."""
        if self.steps.shape != steps or self.goodness.shape != goodness:
            self.steps, self.goodness = np.empty(steps, dtype=np.int64), np.empty(goodness)
        return self

    def places(self, number: Ints) -> Ints:
        """Places of all steps, where there are so many of each genome."""
        first = np.arange(len(number)) * self.steps.shape[1] - (np.cumsum(number) - number)
        places: Ints = np.repeat(first, number) + np.arange(int(number.sum()))
        return places


class _Desk(NamedTuple):
    """All that one thread works on."""

    forms: Forms
    work: Workspace
    scratch: Scratch


@dataclass
class _Speed:
    """CPU seconds per evaluation of each way, as last seen."""

    flat: float | None = None
    rollup: float | None = None
    batches: int = 0

    def choose(self) -> Literal["flat", "rollup"]:
        """The way not yet measured, or the faster; now and then the slower, to see again."""
        self.batches += 1
        if self.flat is None:
            return "flat"
        if self.rollup is None:
            return "rollup"
        faster: Literal["flat", "rollup"] = "rollup" if self.rollup <= self.flat else "flat"
        if self.batches % RETRY == 0:
            return "flat" if faster == "rollup" else "rollup"
        return faster


class PopulationKernel:
    """The fitness kernel of one table.

    Parameters
    ----------
    codes : array (columns, cells) of uint16
        Base values of the cells.
    counts : array (cells,)
        Rows of each cell.
    sizes : array (columns,)
        Base values of each column.
    sensitive : Sensitive
        Sensitive values of the cells, and class labels if there are any.
    threads : int
        Number of threads.
    plan : Plan, optional
        What is known about those values. Default: all sensitive, equally far apart.
    prices : Prices, optional
        What cells cost; without them no cost can be asked for.

    Notes
    -----
    Memory: each thread has four forms of the table and one workspace, `workspace_bytes` in all. It
    follows the size of the join tree (the cells, and the distinct tuples below them) and the
    domains' base values, and does not depend on the number of rows, genomes or groups. What models
    and costs need is added when they are first asked for; it follows the (cell, sensitive value)
    pairs, or at most 64 MiB of histograms. Staircases of a batch take at most 128 MiB on top, or
    those of one genome where these are more: with staircases over (k, l) that is about
    ``32 * sqrt(2 * limit) * values`` bytes.

    A kernel serves one caller at a time; others wait.
    """

    def __init__(
        self,
        codes: npt.NDArray[np.uint16],
        counts: Ints,
        sizes: Ints,
        sensitive: Sensitive,
        threads: int = 1,
        plan: Plan | None = None,
        prices: Prices | None = None,
    ) -> None:
        if threads < 1:
            raise ValueError(f"threads must be at least 1. Got {threads}")
        if len(counts) == 0 or (counts < 1).any() or (codes >= np.asarray(sizes)[:, None]).any():
            raise ValueError("cells must hold rows, and base values of their columns' domains")
        self.rows = int(counts.sum())
        if self.rows >= 2**31:
            raise ValueError(f"a table has at most {2**31 - 1} rows. Got {self.rows}")
        self.bits = int(np.sum(sizes - 1))
        self._weights = bit_weights(codes, counts, sizes)
        self._tree = JoinTree.build(codes, [int(size) for size in sizes])
        self.losses = LossScale.build([int(size) for size in self._tree.sizes], self.rows)
        self._offsets = np.concatenate(([0], np.cumsum(sizes - 1))).astype(np.int64)
        self._counts = counts
        self.sensitive = sensitive
        self.plan = _plain_plan(sensitive, self.rows) if plan is None else plan
        self.prices = no_prices() if prices is None else prices
        self._desks = [self._make_desk() for _ in range(threads)]
        self._model_desks: list[ModelDesk] = []
        self._pool: ThreadPoolExecutor | None = None
        self._pool_process = 0
        self._lock = Lock()
        self._room = _Room()
        self._loaded: set[bool] = set()
        self.speed = _Speed()
        self.model_speed = _Speed()

    def _make_desk(self) -> _Desk:
        cells, values = len(self._counts), len(self.sensitive.column)
        return _Desk(
            make_forms(self._tree, self._offsets, self._counts, len(SPANS) + 2),
            make_workspace(self._tree, self.losses, values),
            make_scratch(cells, max(values, MOST_RANKS)),
        )

    def _furnish(self) -> None:
        """Give every desk what models and costs need."""
        cells, places = len(self._counts), int(self._tree.shape.place[-1])
        self._desks = [
            desk._replace(forms=with_values(desk.forms, self._tree, self.sensitive))
            for desk in self._desks
        ]
        self._model_desks = [
            ModelDesk(
                self._make_lists(),
                make_alive(cells),
                np.zeros((len(MODELS), cells)),
                np.zeros((len(COSTS), places if len(self.prices.full) else 0), dtype=np.int64),
                np.zeros(cells, dtype=np.int64),
                make_tally_desk(self.plan, cells, 0, 0),
            )
            for _ in self._desks
        ]

    def _make_lists(self) -> Lists:
        cells = len(self._counts)
        if self._desks[0].forms.histograms.shape[1]:
            return list_histograms(self.plan, cells)
        return make_lists(self.plan, cells, 0)

    def _furnish_tallies(self, tallies: int) -> None:
        """Give every desk room for so many tallies."""
        if tallies <= len(self._model_desks[0].tallies.of_groups):
            return
        cells, full_loss = len(self._counts), self.losses.scale * len(self._offsets[:-1])
        self._model_desks = [
            desk._replace(tallies=make_tally_desk(self.plan, cells, tallies, full_loss))
            for desk in self._model_desks
        ]

    @property
    def workspace_bytes(self) -> int:
        """Bytes of all threads' working memory; it grows once, when models are first asked for."""
        total = sum(array.nbytes for desk in self._desks for part in desk for array in part)
        for desk in self._model_desks:
            more = (desk.models, desk.costs, desk.mistakes, desk.tallies.of_groups)
            total += sum(array.nbytes for array in (*desk.lists[:4], *desk.alive, *more))
        return total

    def evaluate(
        self,
        genomes: Bits,
        rule: Rule | ModelRule,
        mode: Mode = "auto",
        given: Ints | None = None,
    ) -> RawScores:
        """Score genomes (rows), which must be valid; results are in their order.

        `given` holds a pair of thresholds for each genome; only the rule `scoring.GIVEN` uses it.
        """
        genomes = np.ascontiguousarray(genomes, dtype=np.uint8)
        number = len(genomes)
        if given is None:
            given = np.zeros((number, 2), dtype=np.int64)
        # Kernels do not check bounds: a wrong shape would read what happens to lie behind.
        if genomes.shape != (number, self.bits) or given.shape != (number, 2):
            raise ValueError(
                f"genomes must be (n, {self.bits}) and thresholds (n, 2). Got {genomes.shape} and "
                f"{given.shape}"
            )
        self._check(rule)
        fields, models, width = _widths(rule)
        out = _Results(
            np.zeros((number, fields), dtype=np.int64),
            np.zeros((number, models)),
            np.zeros(number, dtype=np.int64),
        )
        most, wide = self._most_steps(rule), models if width > 4 else 0
        batch = max(1, min(BATCH, number, _STEP_BYTES // (8 * (width + wide) * max(most, 1))))
        found = [np.zeros((0, width), dtype=np.int64)]
        found_goodness = [np.zeros((0, wide))]
        for begin in range(0, number, batch):
            part = slice(begin, min(begin + batch, number))
            with self._lock:  # one caller at a time: the desks are the kernel's own
                room = self._room.of((batch, most, width), (batch, most, wide))
                self._evaluate_batch(genomes[part], rule, mode, given[part], out.at(part), room)
                if most:
                    places = room.places(out.number[part])
                    found.append(room.steps.reshape(batch * most, width)[places])
                    found_goodness.append(room.goodness.reshape(batch * most, wide)[places])
        starts = np.concatenate(([0], np.cumsum(out.number))).astype(np.int64)
        return RawScores(out.fields, out.goodness, starts, _joined(found), _joined(found_goodness))

    def _check(self, rule: Rule | ModelRule) -> None:
        """Refuse what the kernels would read past the end of an array for."""
        if isinstance(rule, Rule):
            return
        if rule.with_values and not len(self.sensitive.column):
            raise ValueError("models are asked for, and there are no sensitive values")
        if len(rule.wanted_costs) and not len(self.prices.full):
            raise ValueError("costs are asked for, and there are no prices")
        tallies, columns = rule.wanted_tallies.T
        if (columns[tallies >= OF_COLUMNS] >= self.plan.sensitive).any():
            raise ValueError("tallies are asked for of a column that is not sensitive")

    def group_cells(self, genome: Bits) -> tuple[Ints, Ints, Ints]:
        """Group the cells under one genome.

        Returns
        -------
        cell_group, sizes, losses
            The group of each cell; rows and integer row loss of each group. Groups are numbered by
            their first cell.
        """
        with self._lock:
            return self._group_cells(np.ascontiguousarray(genome, dtype=np.uint8))

    def _group_cells(self, genome: Bits) -> tuple[Ints, Ints, Ints]:
        desk = self._desks[0]
        shape = self._tree.shape
        coarsen(shape, desk.forms, 0, 1, genome, genome, True, True, desk.work)
        root = int(shape.place[-2])
        groups = int(desk.forms.entries[1, -1])
        found = np.empty(len(self._counts), dtype=np.int64)
        found[self._tree.cell_of_entry] = desk.work.group_of[root : root + len(found)]
        _, first = np.unique(found, return_index=True)
        order = np.argsort(first)
        rank = np.empty(groups, dtype=np.int64)
        rank[order] = np.arange(groups)
        cell_group = rank[found]
        sizes = np.zeros(groups, dtype=np.int64)
        np.add.at(sizes, cell_group, self._counts)
        losses = desk.work.loss[root : root + groups].copy()
        return cell_group, sizes, losses[order]

    def _most_steps(self, rule: Rule | ModelRule) -> int:
        """Most steps a staircase can have: sizes 1 + 2 + … + s within the limit, and one more."""
        if not rule.with_steps:
            return 0
        cells, values = len(self._counts), len(self.sensitive.column)
        sizes = min(cells, (isqrt(8 * rule.limit + 1) - 1) // 2 + 1)
        if isinstance(rule, Rule) or (rule.by == BY_SIZE and not rule.pairs):
            return sizes
        return sizes * (values + 1) if rule.pairs else min(cells, max(values, MOST_RANKS) + 2)

    def _evaluate_batch(
        self,
        genomes: Bits,
        rule: Rule | ModelRule,
        mode: Mode,
        given: Ints,
        out: _Results,
        room: _Room,
    ) -> None:
        plain = isinstance(rule, Rule)
        speed = self.speed if plain else self.model_speed
        if isinstance(rule, ModelRule):
            if not self._model_desks:
                self._furnish()
            self._furnish_tallies(len(rule.wanted_tallies))
        small = len(genomes) < 2 * SPANS[-1]
        way = mode if mode != "auto" else ("flat" if small else speed.choose())
        spent = time.thread_time()
        rolled = way == "rollup"
        if rolled:
            order = fineness_order(genomes, self._weights)
            spans = np.array(SPANS, dtype=np.int64)
        else:
            order = np.arange(len(genomes))
            spans = np.zeros(0, dtype=np.int64)
        spent = time.thread_time() - spent
        runs = iter(_runs(len(genomes), len(self._desks)))

        def work_at(desk: int) -> float:
            started = time.thread_time()
            for begin, end in runs:  # a list's iterator hands each run to one thread only
                if rolled:
                    chain(genomes, self._weights, order, begin, end)
                task = (genomes, order, begin, end, given)
                if isinstance(rule, Rule):
                    self._run_plain(desk, rule, spans, task, out, room)
                else:
                    self._run_models(desk, rule, spans, task, out, room)
            return time.thread_time() - started

        spent += sum(self._share_out(work_at))
        # The first batch of a process also loads compiled code; that says nothing about the way.
        if mode == "auto" and not small and plain in self._loaded:
            setattr(speed, way, spent / len(genomes))
        self._loaded.add(plain)

    def _run_plain(
        self, desk: int, rule: Rule, spans: Ints, task: _Task, out: _Results, room: _Room
    ) -> None:
        forms, work, scratch = self._desks[desk]
        evaluate_plain(
            self._tree.shape,
            forms,
            self.rows,
            rule,
            spans,
            work,
            scratch,
            *task,
            out.fields,
            room.steps,
            out.number,
        )

    def _run_models(
        self, desk: int, rule: ModelRule, spans: Ints, task: _Task, out: _Results, room: _Room
    ) -> None:
        forms, work, scratch = self._desks[desk]
        evaluate_models(
            self._tree.shape,
            forms,
            rule,
            self.plan,
            self.prices,
            spans,
            work,
            scratch,
            self._model_desks[desk],
            *task,
            out.fields,
            out.goodness,
            room.steps,
            room.goodness,
            out.number,
        )

    def _share_out(self, work_at: Callable[[int], float]) -> list[float]:
        """Let a thread work at every desk; come back when all are done, whatever happens."""
        if len(self._desks) == 1:
            return [work_at(0)]
        if self._pool is None or self._pool_process != os.getpid():  # threads do not survive a fork
            self._pool = ThreadPoolExecutor(len(self._desks))
            self._pool_process = os.getpid()
        tasks = [self._pool.submit(work_at, desk) for desk in range(len(self._desks))]
        try:
            return [task.result() for task in tasks]
        finally:
            wait(tasks)  # after Ctrl-C, too: nobody may still write to a desk


def _joined(parts: list[npt.NDArray[Number]]) -> npt.NDArray[Number]:
    """All parts in one array; the first is empty, and often there is one more only."""
    return parts[1] if len(parts) == 2 else np.concatenate(parts)


def _plain_plan(sensitive: Sensitive, rows: int) -> Plan:
    """All columns sensitive, and their values equally far apart."""
    totals = np.bincount(
        sensitive.values, weights=sensitive.counts, minlength=len(sensitive.column)
    ).astype(np.int64)
    columns = []
    for column in range(int(sensitive.column.max(initial=-1)) + 1):
        total = totals[sensitive.column == column]
        columns.append(HistogramColumn(total, EQUAL, np.arange(len(total)), len(total)))
    return make_plan(columns, len(columns), -1, rows)


def _widths(rule: Rule | ModelRule) -> tuple[int, int, int]:
    """Columns of the integer results, of goodness, and of steps."""
    if isinstance(rule, Rule):
        return len(FIELDS), 0, 3
    fields = result_width(rule)
    return fields, len(rule.wanted), 4 if rule.pairs else fields


def _runs(number: int, threads: int) -> list[tuple[int, int]]:
    """Cut a batch into runs of at most one OR, as many for each thread, the finest first."""
    pieces = threads * -(-number // (threads * SPANS[0]))
    edges = [number * i // pieces for i in range(pieces + 1)]
    return [(begin, end) for begin, end in pairwise(edges) if end > begin]
