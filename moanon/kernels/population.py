"""Driving the kernels over a population of genomes: flat or rolled up, on one thread or several.

`evaluate_runs` takes genomes one after the other: it merges the table's cells, adds up the
sensitive values of the groups and the costs of their cells where these are asked for, and has the
groups measured (`moanon.kernels.selection.measure_groups`). `evaluate_groups` begins there, with
groups that somebody else has made.

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
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from threading import Lock
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bits, Bools, Floats, Ints, Outlined, UInts
from moanon.kernels.costs import (
    COSTS,
    MOST_RANKS,
    OF_COLUMNS,
    GroupBuffers,
    Prices,
    make_group_buffers,
    measure_costs,
    no_prices,
)
from moanon.kernels.forms import coarsen
from moanon.kernels.histograms import (
    Lists,
    Plan,
    Sensitive,
    ValueForms,
    list_histograms,
    list_values,
    lists_at,
    make_lists,
    make_value_forms,
    merge_values,
    no_values,
    plain_plan,
)
from moanon.kernels.jit import compiled, inner
from moanon.kernels.join import Forms, JoinTree, LossScale, Root, Shape, make_forms
from moanon.kernels.selection import (
    BY_SIZE,
    FIELDS,
    GroupRule,
    Results,
    measure_groups,
    measure_groups_alone,
    measure_sizes,
    sizes_suffice,
)

Mode = Literal["auto", "flat", "rollup"]
Number = TypeVar("Number", bound=np.generic)

#: Genomes under one OR, level by level.
SPANS = (36, 9)
#: Genomes handed to the kernels at a time; the choice between flat and roll-up is made per batch.
BATCH = 256
#: After this many batches the slower way is tried again.
RETRY = 64
#: Bits of a column by which genomes are compared, at most.
_MOST_COMPARED = 512
#: Room for the staircases of one batch.
_STEP_BYTES = 128 * 1024 * 1024


# -- a run of genomes on one thread ----------------------------------------------------------------


class _Table(NamedTuple):
    """A table as genomes are evaluated on it, with the working memory of one thread."""

    shape: Shape
    forms: Forms
    buffers: GroupBuffers
    prices: Prices


class _Task(NamedTuple):
    """Runs of genomes to be evaluated."""

    genomes: Bits  # (genomes, bits)
    order: Ints  # run i is made of the genomes ``order[edges[i] : edges[i + 1]]``
    edges: Ints
    given: Ints  # (genomes, 2): thresholds, for the rule `moanon.kernels.thresholds.GIVEN`
    spans: Ints  # genomes under one OR, level by level; none if each is grouped anew
    listed: bool  # as for `measure_groups`


@inner
def _group(
    table: _Table,
    values: ValueForms | None,
    rule: GroupRule,
    task: _Task,
    begin: int,
    end: int,
    at: int,
) -> None:
    """Make the last form that of ``genomes[order[at]]``; the run is ``order[begin:end]``.

    Rolls up through one form for each span: where a span begins, its form is made for the OR of all
    its genomes.
    """
    genomes, order, spans = task.genomes, task.order, task.spans
    shape, forms, levels, union = table.shape, table.forms, len(spans), table.forms.union
    fresh = at == begin
    for level in range(levels + 1):
        genome, previous, anew = genomes[order[at]], genomes[order[max(at - 1, begin)]], fresh
        if level < levels:
            if (at - begin) % spans[level]:
                continue
            for bit in range(len(union)):
                union[bit] = 0
            for other in range(at, min(at + spans[level], end)):
                for bit in range(len(union)):
                    union[bit] |= genomes[order[other], bit]
            genome, previous, anew, fresh = union, union, True, True
        numbered, whole = rule.with_values, len(rule.wanted_costs) > 0 or level < levels
        changed = coarsen(shape, forms, level, level + 1, genome, previous, anew, numbered, whole)
        if values is not None and rule.with_values and changed:
            merge_values(shape, forms, values, level, level + 1)


@compiled
def evaluate_runs(
    table: _Table,
    values: ValueForms | None,
    plan: Plan | None,
    lists: Lists | None,
    rule: GroupRule,
    task: _Task,
    out: Results,
    steps: Ints,
) -> None:
    """Evaluate runs of genomes with all that `rule` needs, and count the steps of each genome.

    Values, plan and lists are None without sensitive values: as arguments, so that nothing is
    compiled for them then. The lists are those at the last level of the forms.
    """
    shape, forms, buffers, prices = table
    level, root = len(task.spans) + 1, shape.place[-2]
    sizes, losses = forms.counts[level], forms.loss[root:]
    simple = sizes_suffice(rule) and not task.listed
    for run in range(len(task.edges) - 1):
        begin, end = task.edges[run], task.edges[run + 1]
        for at in range(begin, end):
            _group(table, values, rule, task, begin, end, at)
            groups, which = forms.entries[level, -1], task.order[at]
            of_genome = Results(
                out.fields[which],
                out.goodness[which],
                out.steps[which],
                out.step_goodness[which],
            )
            if simple:
                steps[which] = measure_sizes(
                    rule, sizes, losses, groups, buffers.class_rows, buffers.class_loss, of_genome
                )
                continue
            if values is not None and plan is not None and lists is not None and rule.with_values:
                list_values(values, level, plan, lists, sizes, groups)
            if len(rule.wanted_costs):
                measure_costs(shape, forms, level, rule.wanted_costs, prices, buffers.costs)
            given, listed = task.given[which], task.listed
            steps[which] = measure_groups(
                rule, groups, sizes, losses, root, plan, lists, given, listed, buffers, of_genome
            )


# -- many of them ----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class RawScores(Outlined):
    """Results of a population, as `moanon.kernels.selection.Results` has them.

    The staircase of genome ``i`` is ``steps[step_starts[i] : step_starts[i + 1]]``. Where steps go
    over pairs of size and rank, not everything is measured of them.
    """

    fields: Ints  # (genomes, fields)
    goodness: Floats  # (genomes, models)
    step_starts: Ints  # (genomes + 1,)
    steps: Ints  # (steps, fields)
    step_goodness: Floats  # (steps, models)

    def field(self, name: str) -> Ints:
        """One of `moanon.kernels.selection.FIELDS`, for all genomes."""
        return self.fields[:, FIELDS.index(name)]

    @classmethod
    def without_steps(cls, fields: Ints, goodness: Floats) -> RawScores:
        """Results without staircases."""
        none = np.zeros(len(fields) + 1, dtype=np.int64)
        return cls(fields, goodness, none, fields[:0], goodness[:0])

    def of_steps(self) -> RawScores:
        """The steps of all staircases, as if each were a genome of its own."""
        return RawScores.without_steps(self.steps, self.step_goodness)


@dataclass
class _Speed:
    """CPU seconds per evaluation of each way, as last seen."""

    flat: float | None = None
    rollup: float | None = None
    batches: int = 0
    loaded: bool = False  # whether the compiled code is

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

    Cells have base values ``codes[column, cell]``, of which a column has ``sizes[column]``, and
    `counts` rows. Where no `plan` says what is known about `sensitive` values, all are equally far
    apart; without `prices` no cost can be asked for. Results do not depend on `root`, how cells are
    stored (see `moanon.kernels.join`). `losses` are of all columns, and of one with a single value
    beside a single one; by default every base value stands for one value.

    Memory: each thread has four forms of the table and one workspace, `workspace_bytes` in all. It
    follows the size of the join tree (the cells, and the distinct tuples below them) and the
    domains' base values, and does not depend on the number of rows, genomes or groups. What
    sensitive values, costs and tallies need is added when they are first evaluated; it follows the
    (cell, sensitive value) pairs, or at most 64 MiB of histograms. Staircases of a batch take at
    most 128 MiB on top, or those of one genome where these are more: with staircases over (k, l)
    that is about ``100 * sqrt(2 * limit) * values`` bytes.

    A kernel serves one caller at a time; others wait.
    """

    def __init__(
        self,
        codes: npt.NDArray[np.uint16],
        counts: Ints,
        sizes: Ints,
        sensitive: Sensitive | None = None,
        threads: int = 1,
        plan: Plan | None = None,
        prices: Prices | None = None,
        root: Root = "auto",
        losses: LossScale | None = None,
    ) -> None:
        if threads < 1:
            raise ValueError(f"threads must be at least 1. Got {threads}")
        if len(counts) == 0 or (counts < 1).any() or (codes >= np.asarray(sizes)[:, None]).any():
            raise ValueError("cells must hold rows, and base values of their columns' domains")
        self.rows = int(counts.sum())
        if self.rows >= 2**31:
            raise ValueError(f"a table has at most {2**31 - 1} rows. Got {self.rows}")
        self.bits = int(np.sum(sizes - 1))
        self._compared, self._weights = _compared_bits(codes, counts, sizes)
        self._tree = JoinTree.build(codes, [int(size) for size in sizes], root)
        if losses is None:
            ones = [np.ones(int(size), dtype=np.int64) for size in self._tree.sizes]
            losses = LossScale.build(ones, self.rows)
        self.losses = losses
        self._offsets = np.concatenate(([0], np.cumsum(sizes - 1))).astype(np.int64)
        self._counts = counts
        self.sensitive = no_values(len(counts)) if sensitive is None else sensitive
        self.plan = plain_plan(self.sensitive, self.rows) if plan is None else plan
        self.prices = no_prices() if prices is None else prices
        # What each thread works on; values and their lists are made when they are first needed.
        self._threads: list[tuple[_Table, ValueForms | None, Lists | None]] = [
            (self._make_table(), None, None) for _ in range(threads)
        ]
        self._pool: ThreadPoolExecutor | None = None
        self._pool_process = 0
        self._lock = Lock()
        self._steps = np.zeros((0, 0, 0), dtype=np.int64)  # of a batch: fresh memory is slow
        self._step_goodness = np.zeros((0, 0, 0))
        #: Of rules that need sensitive values, and of those that do not.
        self.speeds = {True: _Speed(), False: _Speed()}

    def _make_table(self) -> _Table:
        values, cells = len(self.sensitive.column), len(self._counts)
        full_loss = self.losses.scale * len(self._offsets[:-1])
        return _Table(
            self._tree.shape,
            make_forms(
                self._tree, self.losses, self._offsets, self._counts, len(SPANS) + 2, values
            ),
            make_group_buffers(cells, values, self.rows, full_loss),
            self.prices,
        )

    def _prepare(self, rule: GroupRule) -> None:
        """Give every thread what a rule needs and no rule before it did."""
        costs, tallies = len(rule.wanted_costs), len(rule.wanted_tallies)
        for thread, (table, values, lists) in enumerate(self._threads):
            groups = table.buffers
            if len(self.sensitive.column) and values is None:
                values = make_value_forms(self._tree, self.sensitive, len(SPANS) + 2)
                lists = self._make_lists(values)
            if costs and not groups.costs.size:
                places = int(self._tree.shape.place[-1])
                groups = groups._replace(costs=np.zeros((len(COSTS), places), dtype=np.int64))
            if tallies > len(groups.tallies):
                room = np.zeros((tallies, len(self._counts)), dtype=np.int64)
                groups = groups._replace(tallies=room)
            self._threads[thread] = table._replace(buffers=groups), values, lists

    def _make_lists(self, values: ValueForms) -> Lists:
        cells = len(self._counts)
        if values.histograms.shape[1]:
            return list_histograms(self.plan, cells)
        return make_lists(self.plan, cells, 0)

    @property
    def workspace_bytes(self) -> int:
        """Bytes of all threads' working memory; it grows when more is asked for than before."""
        own = ((t.forms, t.buffers, values, lists) for t, values, lists in self._threads)
        return sum(map(_bytes, own))

    def evaluate(
        self,
        genomes: Bits,
        rule: GroupRule,
        mode: Mode = "auto",
        given: Ints | None = None,
    ) -> RawScores:
        """Score genomes (rows), which must be valid; results are in their order.

        `given` holds a pair of thresholds for each genome; only the rule `thresholds.GIVEN` uses
        it.
        """
        genomes, given = self._check(genomes, rule, given)
        number = len(genomes)
        width, models = _width(rule), len(rule.wanted)
        fields, goodness = np.zeros((number, width), dtype=np.int64), np.zeros((number, models))
        steps = np.zeros(number, dtype=np.int64)
        most = self._most_steps(rule)
        batch = max(1, min(BATCH, number, _STEP_BYTES // (8 * (width + models) * max(most, 1))))
        found = [np.zeros((0, width), dtype=np.int64)]
        found_goodness = [np.zeros((0, models))]
        for begin in range(0, number, batch):
            part = slice(begin, min(begin + batch, number))
            with self._lock:  # one caller at a time: the buffers are the kernel's own
                self._prepare(rule)
                if (
                    self._steps.shape != (batch, most, width)
                    or models != self._step_goodness.shape[2]
                ):
                    self._steps = np.empty((batch, most, width), dtype=np.int64)
                    self._step_goodness = np.empty((batch, most, models))
                out = Results(fields[part], goodness[part], self._steps, self._step_goodness)
                self._evaluate_batch(genomes[part], rule, mode, given[part], out, steps[part])
                if most:
                    found.append(_picked(out.steps, steps[part]))
                    found_goodness.append(_picked(out.step_goodness, steps[part]))
        starts = np.concatenate(([0], np.cumsum(steps))).astype(np.int64)
        return RawScores(fields, goodness, starts, _joined(found), _joined(found_goodness))

    def kept_sizes(
        self, genomes: Bits, rule: GroupRule, given: Ints | None = None
    ) -> tuple[Ints, Ints]:
        """Starts and sizes of the groups that each solution keeps; parameters as of `evaluate`.

        Those of genome ``i`` are ``sizes[starts[i] : starts[i + 1]]``, in no particular order.
        """
        rule = rule._replace(with_steps=False)
        genomes, given = self._check(genomes, rule, given)
        number, models, width = len(genomes), len(rule.wanted), _width(rule)
        flat, steps = np.zeros(0, dtype=np.int64), np.zeros(number, dtype=np.int64)
        fields, goodness = np.zeros((number, width), dtype=np.int64), np.zeros((number, models))
        no_steps = np.zeros((number, 0, width), dtype=np.int64), np.zeros((number, 0, models))
        out = Results(fields, goodness, *no_steps)
        found = [np.zeros(0, dtype=np.int64)]
        with self._lock:
            self._prepare(rule)
            for at in range(number):
                edges = np.array([at, at + 1])
                task = _Task(genomes, np.arange(number), edges, given, flat, True)
                self._run(0, rule, task, out, steps)
                table, *_ = self._threads[0]
                kept = table.buffers.order[: fields[at, FIELDS.index("kept_groups")]]
                found.append(table.forms.counts[1, kept].astype(np.int64))
        starts = np.cumsum([len(each) for each in found]).astype(np.int64)
        return starts, np.concatenate(found)

    def _check(self, genomes: Bits, rule: GroupRule, given: Ints | None) -> tuple[Bits, Ints]:
        """Refuse what the kernels, which check no bounds, would read past the end of an array for.

        Returns genomes and thresholds as kernels take them.
        """
        genomes = np.ascontiguousarray(genomes, dtype=np.uint8)
        number = len(genomes)
        if given is None:
            given = np.zeros((number, 2), dtype=np.int64)
        if genomes.shape != (number, self.bits) or given.shape != (number, 2):
            raise ValueError(
                f"genomes must be (n, {self.bits}) and thresholds (n, 2). Got {genomes.shape} and "
                f"{given.shape}"
            )
        if rule.with_values and not len(self.sensitive.column):
            raise ValueError("models are asked for, and there are no sensitive values")
        if len(rule.wanted_costs) and not len(self.prices.full):
            raise ValueError("costs are asked for, and there are no prices")
        tallies, columns = rule.wanted_tallies.T
        if (columns[tallies >= OF_COLUMNS] >= self.plan.sensitive).any():
            raise ValueError("tallies are asked for of a column that is not sensitive")
        return genomes, given

    def _most_steps(self, rule: GroupRule) -> int:
        """Most steps a staircase can have: sizes 1 + 2 + … + s within the limit, and one more."""
        if not rule.with_steps:
            return 0
        cells, values = len(self._counts), len(self.sensitive.column)
        sizes = min(cells, (isqrt(8 * rule.limit + 1) - 1) // 2 + 1)
        if rule.pairs:
            return sizes * (values + 1)
        return sizes if rule.by == BY_SIZE else min(cells, max(values, MOST_RANKS) + 2)

    def _evaluate_batch(
        self, genomes: Bits, rule: GroupRule, mode: Mode, given: Ints, out: Results, steps: Ints
    ) -> None:
        speed = self.speeds[rule.with_values]
        small = len(genomes) < 2 * SPANS[-1]
        way = mode if mode != "auto" else ("flat" if small else speed.choose())
        spent = time.thread_time()
        rolled = way == "rollup"
        compared = genomes
        if rolled:  # by how fine they are, coarsest last: runs of neighbours are roughly alike
            if len(self._compared) < self.bits:
                compared = genomes.take(self._compared, axis=1)
            order = np.argsort(-(compared @ self._weights), kind="stable")
            spans = np.array(SPANS, dtype=np.int64)
        else:
            order = np.arange(len(genomes))
            spans = np.zeros(0, dtype=np.int64)
        spent = time.thread_time() - spent
        runs = iter(_runs(len(genomes), len(self._threads)))

        def work_at(thread: int) -> float:
            started = time.thread_time()
            for edges in runs:  # a list's iterator hands each item to one thread only
                if rolled:
                    _chain(compared, self._weights, order, edges)
                task = _Task(genomes, order, edges, given, spans, False)
                self._run(thread, rule, task, out, steps)
            return time.thread_time() - started

        spent += sum(self._share_out(work_at))
        # The first batch of a process also loads compiled code; that says nothing about the way.
        if mode == "auto" and not small and speed.loaded:
            setattr(speed, way, spent / len(genomes))
        speed.loaded = True

    def _run(self, thread: int, rule: GroupRule, task: _Task, out: Results, steps: Ints) -> None:
        """Evaluate some runs on one thread."""
        table, values, lists = self._threads[thread]
        if values is None or lists is None:
            evaluate_runs(table, None, None, None, rule, task, out, steps)
        else:
            lists = lists_at(len(task.spans) + 1, values, lists)
            evaluate_runs(table, values, self.plan, lists, rule, task, out, steps)

    def _share_out(self, work_at: Callable[[int], float]) -> list[float]:
        """Let every thread work; come back when all are done, whatever happens."""
        threads = len(self._threads)
        if threads == 1:
            return [work_at(0)]
        if self._pool is None or self._pool_process != os.getpid():  # threads do not survive a fork
            self._pool = ThreadPoolExecutor(threads)
            self._pool_process = os.getpid()
        tasks = [self._pool.submit(work_at, thread) for thread in range(threads)]
        try:
            return [task.result() for task in tasks]
        finally:
            wait(tasks)  # after Ctrl-C, too: nobody may still write to the buffers


def _width(rule: GroupRule) -> int:
    """Columns of the integer results."""
    return len(FIELDS) + len(rule.wanted_costs) + 2 * len(rule.wanted_tallies)


def _bytes(part: object) -> int:
    """Bytes of all arrays in nested tuples."""
    if isinstance(part, tuple):
        return sum(map(_bytes, part))
    return part.nbytes if isinstance(part, np.ndarray) else 0


def _picked(steps: npt.NDArray[Number], number: Ints) -> npt.NDArray[Number]:
    """The first so many steps of each genome, one behind the other."""
    genomes, most, width = steps.shape
    first = np.arange(len(number)) * most - (np.cumsum(number) - number)
    places = np.repeat(first, number) + np.arange(int(number.sum()))
    return steps.reshape(genomes * most, width).take(places, axis=0)


def _joined(parts: list[npt.NDArray[Number]]) -> npt.NDArray[Number]:
    """All parts in one array; the first is empty, and often there is one more only."""
    return parts[1] if len(parts) == 2 else np.concatenate(parts)


def _runs(number: int, threads: int) -> list[Ints]:
    """Cut a batch into runs of at most one OR, as many for each thread, the finest first.

    Returns edges of runs: of all together for one thread, of each alone for threads that share.
    """
    pieces = threads * -(-number // (threads * SPANS[0]))
    edges = number * np.arange(pieces + 1) // pieces
    return [edges] if threads == 1 else [np.array(pair) for pair in pairwise(edges)]


def _compared_bits(codes: npt.NDArray[np.uint16], counts: Ints, sizes: Ints) -> tuple[Ints, Floats]:
    """Bits by which genomes are put in order, and how much each of them matters.

    A bit matters by the share of rows on the lighter side of its boundary: one in the middle of the
    data splits many groups, one at its edge few. A small constant keeps bits without data from
    being free. Of a column with many bits some, evenly spread, stand for all.
    """
    bits, weights = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    offset = 0
    for code, size in zip(codes, sizes.tolist(), strict=True):
        below = np.cumsum(np.bincount(code, weights=counts, minlength=size))
        share = below[:-1] / below[-1]
        step = max(1, -(-(size - 1) // _MOST_COMPARED))
        bits.append(offset + np.arange(size - 1)[step // 2 :: step])
        weights.append(step * (np.minimum(share, 1 - share) + 0.02)[step // 2 :: step])
        offset += size - 1
    return np.concatenate(bits), np.concatenate(weights)


@compiled
def _chain(genomes: Bits, weights: Floats, order: Ints, edges: Ints) -> None:
    """Within each run of `order`, let every genome be followed by the nearest one left.

    Runs of neighbours then have a coarse common refinement. On a converged population of Adult,
    eight neighbours in this order have about as coarse an OR as eight neighbours on the front
    itself, at the cost of two or three microseconds per genome.
    """
    bits = genomes.shape[1]
    for run in range(len(edges) - 1):
        for at in range(edges[run], edges[run + 1] - 1):
            here = genomes[order[at]]
            best = at + 1
            least = np.inf
            for candidate in range(at + 1, edges[run + 1]):
                distance = 0.0
                other = genomes[order[candidate]]
                for bit in range(bits):
                    if here[bit] != other[bit]:
                        distance += weights[bit]
                if distance < least:
                    least = distance
                    best = candidate
            order[at + 1], order[best] = order[best], order[at + 1]


# -- groups of any origin --------------------------------------------------------------------------


def evaluate_groups(
    rule: GroupRule,
    sizes: UInts,
    losses: Ints,
    costs: Ints,
    lists: Lists,
    plan: Plan,
    full_loss: int,
    thresholds: tuple[int, int] = (1, 0),
) -> tuple[Bools, Results]:
    """Apply a rule to groups of any origin; return which ones stay, and what is measured of them.

    Groups have `sizes`, and each of their rows `losses`, `costs` (costs, groups) and the sensitive
    values in `lists`; `plan` is of the whole table, suppressed rows included. `full_loss` is the
    integer loss of a row of which nothing is left, `thresholds` the smallest size and rank that
    the rule `moanon.kernels.thresholds.GIVEN` keeps. There are no staircases.
    """
    groups, values, rows = len(sizes), len(plan.total), plan.rows
    tallies = len(rule.wanted_tallies)
    buffers = make_group_buffers(groups, values, rows, full_loss, tallies)._replace(costs=costs)
    fields = np.zeros(_width(rule), dtype=np.int64)
    goodness = np.zeros(len(rule.wanted))
    steps = np.zeros((0, len(fields)), dtype=np.int64), np.zeros((0, len(goodness)))
    results = Results(fields, goodness, *steps)
    measure_groups_alone(
        rule._replace(with_steps=False),
        groups,
        sizes,
        losses,
        0,
        plan if values else None,
        lists if values else None,
        np.array(thresholds, dtype=np.int64),
        True,
        buffers,
        results,
    )
    kept = np.zeros(groups, dtype=np.bool_)
    kept[buffers.order[: fields[FIELDS.index("kept_groups")]]] = True
    return kept, results
