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
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from threading import Lock
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from moanon.kernels.clusters import bit_weights, chain, fineness_order
from moanon.kernels.grouping import (
    Forms,
    Sensitive,
    Workspace,
    coarsen,
    make_forms,
    make_workspace,
)
from moanon.kernels.jit import compiled, int64, truth
from moanon.kernels.join import JoinTree, LossScale, Shape
from moanon.kernels.scoring import (
    EXACT_LIMIT,
    FIELDS,
    WITHIN_LIMIT,
    Scratch,
    is_kept,
    make_scratch,
    measure_groups,
    measure_within_limit,
    safety_steps,
    size_steps,
)

__all__ = ["Mode", "PopulationKernel", "RawScores", "Rule"]

Bits = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
Mode = Literal["auto", "flat", "rollup"]

#: Genomes under one OR, level by level.
SPANS = (36, 9)
#: Genomes handed to the kernels at a time; the choice between flat and roll-up is made per batch.
BATCH = 256
#: After this many batches the slower way is tried again.
RETRY = 64
#: Room for the staircases of one batch.
_STEP_BYTES = 128 * 1024 * 1024


class Diversity(NamedTuple):
    """Sensitive values of the groups at hand."""

    column: Ints  # column of each value
    distinct: Words  # (columns, groups)
    top: Words  # (columns, groups): rows of the most frequent value
    ell: Words  # (groups,): the smallest diversity over the columns, by the chosen rule


class Rule(NamedTuple):
    """What is suppressed, and how diversity is counted."""

    suppression: int
    limit: int
    by_frequency: bool
    with_steps: bool
    pairs: bool  # staircase over (k, l) instead of k


@compiled
def _measure_diversity(forms: Forms, level: int, by_frequency: bool, diversity: Diversity) -> None:
    """Count distinct values and the most frequent value of each group and sensitive column."""
    columns = len(diversity.distinct)
    for group in range(forms.entries[level, -1]):
        for column in range(columns):
            diversity.distinct[column, group] = 0
            diversity.top[column, group] = 0
        for at in range(forms.value_starts[level, group], forms.value_starts[level, group + 1]):
            column = diversity.column[forms.values[level, at]]
            rows = forms.value_counts[level, at]
            diversity.distinct[column, group] += np.uint32(1)
            if rows > diversity.top[column, group]:
                diversity.top[column, group] = rows
        least = np.uint32(0xFFFFFFFF)
        for column in range(columns):
            value = diversity.distinct[column, group]
            if by_frequency:
                value = np.uint32(forms.counts[level, group] // diversity.top[column, group])
            least = min(least, value)
        diversity.ell[group] = least


@compiled
def _kept_diversity(
    rule: Rule, sizes: Words, groups: int, d1: int, d2: int, diversity: Diversity, out: Ints
) -> None:
    """Smallest distinct and frequency diversity of each sensitive column over kept groups."""
    for column in range(len(diversity.distinct)):
        distinct = int64(2**62)
        frequency = int64(2**62)
        for group in range(groups):
            size = int64(sizes[group])
            ell = int64(diversity.ell[group])
            if is_kept(rule.suppression, size, ell, d1, d2):
                distinct = min(distinct, int64(diversity.distinct[column, group]))
                frequency = min(frequency, size // int64(diversity.top[column, group]))
        # Where nothing is kept there is no diversity either.
        out[column, 0] = distinct if distinct < 2**62 else 0
        out[column, 1] = frequency if frequency < 2**62 else 0


@compiled
def _score(
    shape: Shape,
    forms: Forms,
    level: int,
    rows: int,
    rule: Rule,
    work: Workspace,
    scratch: Scratch,
    diversity: Diversity,
    given: Ints,
    out: Ints,
    out_ell: Ints,
    out_steps: Ints,
) -> int:
    """Measure the groups at the root of a form; return the number of staircase steps."""
    groups = forms.entries[level, -1]
    sizes = forms.counts[level]
    losses = work.loss[shape.place[-2] :]
    if len(diversity.distinct):
        _measure_diversity(forms, level, rule.by_frequency, diversity)
    ell = diversity.ell
    if rule.suppression == WITHIN_LIMIT and rule.limit < EXACT_LIMIT:
        measure_within_limit(sizes, losses, groups, rule.limit, scratch, out)
    else:
        measure_groups(
            rule.suppression, sizes, losses, ell, groups, rows, rule.limit, given, scratch, out
        )
    if len(diversity.distinct):
        _kept_diversity(rule, sizes, groups, out[3], out[4], diversity, out_ell)
    if not rule.with_steps:
        return 0
    if rule.pairs:
        return safety_steps(sizes, losses, ell, groups, rule.limit, out[2], scratch, out_steps)
    return size_steps(sizes, losses, groups, out[3], out[2], scratch, out_steps)


@compiled
def evaluate_run(
    shape: Shape,
    forms: Forms,
    rows: int,
    rule: Rule,
    spans: Ints,
    work: Workspace,
    scratch: Scratch,
    diversity: Diversity,
    genomes: Bits,
    order: Ints,
    begin: int,
    end: int,
    given: Ints,
    out: Ints,
    out_ell: Ints,
    out_steps: Ints,
    out_number: Ints,
) -> None:
    """Evaluate ``genomes[order[begin:end]]``, rolling up through one form for each of `spans`."""
    with_values = len(diversity.distinct) > 0
    levels = len(spans)
    finest = np.zeros(genomes.shape[1], dtype=np.uint8)
    previous = finest
    anew = truth(True)  # a literal True would make numba compile `coarsen` twice
    for at in range(begin, end):
        fresh = at == begin
        for level in range(levels):
            if (at - begin) % spans[level] == 0:
                finest[:] = 0
                for other in range(at, min(at + spans[level], end)):
                    finest |= genomes[order[other]]
                coarsen(shape, forms, level, level + 1, finest, finest, anew, with_values, work)
                fresh = True
        which = order[at]
        genome = genomes[which]
        coarsen(shape, forms, levels, levels + 1, genome, previous, fresh, with_values, work)
        previous = genome
        out_number[which] = _score(
            shape,
            forms,
            levels + 1,
            rows,
            rule,
            work,
            scratch,
            diversity,
            given[which],
            out[which],
            out_ell[which],
            out_steps[which],
        )


@dataclass(frozen=True)
class RawScores:
    """Integer results of a population.

    Attributes
    ----------
    fields : array (genomes, len(FIELDS))
    ell : array (genomes, sensitive columns, 2)
        Smallest distinct and smallest frequency diversity over the kept groups.
    step_starts, steps : arrays
        Staircase of genome ``i``: ``steps[step_starts[i] : step_starts[i + 1]]``.
    """

    fields: Ints
    ell: Ints
    step_starts: Ints
    steps: Ints


class _Desk(NamedTuple):
    """All that one thread works on."""

    forms: Forms
    work: Workspace
    scratch: Scratch
    diversity: Diversity


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
        Sensitive values of the cells.
    threads : int
        Number of threads.

    Notes
    -----
    Memory: each thread has four forms of the table and one workspace, `workspace_bytes` in all. It
    follows the size of the join tree (the cells, and the distinct tuples below them), the domains'
    base values and the (cell, sensitive value) pairs, and does not depend on the number of rows,
    genomes or groups. Staircases of a batch take at most 128 MiB on top, or those of one genome
    where these are more: with staircases over (k, l) that is about
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
        self._sensitive = sensitive
        self._columns = int(sensitive.column.max()) + 1 if len(sensitive.column) else 0
        self._desks = [self._make_desk() for _ in range(threads)]
        self._pool: ThreadPoolExecutor | None = None
        self._pool_process = 0
        self._lock = Lock()
        self._loaded = False
        self.speed = _Speed()

    def _make_desk(self) -> _Desk:
        cells = len(self._counts)
        values = len(self._sensitive.column)
        return _Desk(
            make_forms(self._tree, self._offsets, self._counts, self._sensitive, len(SPANS) + 2),
            make_workspace(self._tree, self.losses, values),
            make_scratch(cells, values),
            Diversity(
                self._sensitive.column,
                np.zeros((self._columns, cells), dtype=np.uint32),
                np.zeros((self._columns, cells), dtype=np.uint32),
                np.zeros(cells, dtype=np.uint32),
            ),
        )

    @property
    def workspace_bytes(self) -> int:
        """Bytes of all threads' working memory; it does not grow while running."""
        return sum(array.nbytes for desk in self._desks for part in desk for array in part)

    def evaluate(
        self, genomes: Bits, rule: Rule, mode: Mode = "auto", given: Ints | None = None
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
        out = np.zeros((number, len(FIELDS)), dtype=np.int64)
        ell = np.zeros((number, self._columns, 2), dtype=np.int64)
        counts = np.zeros(number, dtype=np.int64)
        width = 4 if rule.pairs else 3
        most = self._most_steps(rule)
        batch = max(1, min(BATCH, number, _STEP_BYTES // (8 * width * max(most, 1))))
        room = np.zeros((batch, most, width), dtype=np.int64)
        found = [np.zeros((0, width), dtype=np.int64)]
        for begin in range(0, number, batch):
            part = slice(begin, min(begin + batch, number))
            with self._lock:  # one caller at a time: the desks are the kernel's own
                self._evaluate_batch(
                    genomes[part], rule, mode, given[part], out[part], ell[part], room, counts[part]
                )
            if most:
                found.extend(room[i, :steps].copy() for i, steps in enumerate(counts[part]))
        starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        return RawScores(out, ell, starts, np.concatenate(found))

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
        sizes = desk.forms.counts[1, :groups].astype(np.int64)
        losses = desk.work.loss[root : root + groups].copy()
        return rank[found], sizes[order], losses[order]

    def _most_steps(self, rule: Rule) -> int:
        """Most steps a staircase can have: sizes 1 + 2 + … + s within the limit, and one more."""
        if not rule.with_steps:
            return 0
        sizes = min(len(self._counts), (isqrt(8 * rule.limit + 1) - 1) // 2 + 1)
        return sizes * (len(self._sensitive.column) + 1 if rule.pairs else 1)

    def _evaluate_batch(
        self,
        genomes: Bits,
        rule: Rule,
        mode: Mode,
        given: Ints,
        out: Ints,
        ell: Ints,
        steps: Ints,
        number: Ints,
    ) -> None:
        small = len(genomes) < 2 * SPANS[-1]
        way = mode if mode != "auto" else ("flat" if small else self.speed.choose())
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

        def work_at(desk: _Desk) -> float:
            started = time.thread_time()
            for begin, end in runs:  # a list's iterator hands each run to one thread only
                if rolled:
                    chain(genomes, self._weights, order, begin, end)
                evaluate_run(
                    self._tree.shape,
                    desk.forms,
                    self.rows,
                    rule,
                    spans,
                    desk.work,
                    desk.scratch,
                    desk.diversity,
                    genomes,
                    order,
                    begin,
                    end,
                    given,
                    out,
                    ell,
                    steps,
                    number,
                )
            return time.thread_time() - started

        spent += sum(self._share_out(work_at))
        # The first batch of a process also loads compiled code; that says nothing about the way.
        if mode == "auto" and not small and self._loaded:
            setattr(self.speed, way, spent / len(genomes))
        self._loaded = True

    def _share_out(self, work_at: Callable[[_Desk], float]) -> list[float]:
        """Let a thread work at every desk; come back when all are done, whatever happens."""
        if len(self._desks) == 1:
            return [work_at(self._desks[0])]
        if self._pool is None or self._pool_process != os.getpid():  # threads do not survive a fork
            self._pool = ThreadPoolExecutor(len(self._desks))
            self._pool_process = os.getpid()
        tasks = [self._pool.submit(work_at, desk) for desk in self._desks]
        try:
            return [task.result() for task in tasks]
        finally:
            wait(tasks)  # after Ctrl-C, too: nobody may still write to a desk


def _runs(number: int, threads: int) -> list[tuple[int, int]]:
    """Cut a batch into runs of at most one OR, as many for each thread, the finest first."""
    pieces = threads * -(-number // (threads * SPANS[0]))
    edges = [number * i // pieces for i in range(pieces + 1)]
    return [(begin, end) for begin, end in pairwise(edges) if end > begin]
