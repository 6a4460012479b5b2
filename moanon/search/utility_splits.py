"""Local recodings that are split by what large populations lose, not by what cells lose.

A box that loses few values may still say little of the populations that it cuts through. So where
`u_loss` is an objective, the whole table is also split in another way: each split that leaves
groups is judged by the utility loss of the whole release, and the best one is taken, until none
helps or groups are no longer few. (On Adult it is best to split on by loss from there; judging
hundreds of groups so takes longer, and is worse in the end.) What groups say of populations adds
up, so a split changes only what its parts say. A gain is found again when its split comes first,
since others may have been made before; until then it stands as it was.

A group is split at a value of a column with an order; in a tree, one child of its node against the
rest, or all children apart that may be groups, with the others together. Nothing is suppressed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from moanon.arrays import Floats, Ints
from moanon.data.domain import TreeDomain
from moanon.data.populations import ShownParts
from moanon.genome import Instance
from moanon.kernels.boxes import GroupCheck, make_group_check, parts_may_be_groups
from moanon.kernels.large_populations import population_divergences
from moanon.measures.evaluate import group_rule
from moanon.measures.suppression import Suppression
from moanon.search.box_solving import FEW_GROUPS

#: Cuts of a column that are tried; of longer ones, those that part the rows most evenly.
_MOST_CUTS = 100
#: A split that gains less (in nats) is within what sums of floats are off.
_LEAST_GAIN = 1e-12


@dataclass(frozen=True, eq=False)
class _Group:
    """Cells of a group, and its box."""

    cells: Ints
    starts: Ints  # (columns,)
    stops: Ints


@dataclass(frozen=True, eq=False)
class _Split:
    """A way to split a group: the part of each of its cells, and what they say in its place."""

    group: int
    part: Ints
    parts: int


def split_by_utility(instance: Instance, target: Suppression) -> Ints:
    """Split a table for a target so that large populations lose little; the group of each cell."""
    return _Splits(instance).split(target)


class _Splits:
    """Splits a table."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._codes = instance.cells.codes.astype(np.int64)
        self._counts = instance.cells.counts.astype(np.int64)
        self._domains = list(instance.layout.domains.values())

    def split(self, target: Suppression) -> Ints:
        rule = group_rule(target, self.instance.cells.rows)
        check = make_group_check(rule, self.instance.plan, self.instance.listed_values)
        state = _Estimates(self.instance)
        groups = [self._around(np.arange(len(self._counts)))]
        heap: list[tuple[float, int, int, _Split]] = []
        number, made = 0, 0
        alive = {0}
        for split in self._splits(0, groups[0], check, rule.least):
            gain = state.gain(*self._change(groups[0], split))
            heappush(heap, (-gain, (number := number + 1), made, split))
        while heap and len(alive) < FEW_GROUPS:
            negative, _, when, split = heappop(heap)
            if split.group not in alive or -negative <= _LEAST_GAIN:
                continue
            group = groups[split.group]
            change = self._change(group, split)
            if when < made:
                gain = state.gain(*change)
                heappush(heap, (-gain, (number := number + 1), made, split))
                continue
            state.apply(*change)
            made += 1
            alive.remove(split.group)
            for which in range(split.parts):
                groups.append(self._around(group.cells[split.part == which]))
                alive.add(len(groups) - 1)
                for further in self._splits(len(groups) - 1, groups[-1], check, rule.least):
                    gain = state.gain(*self._change(groups[-1], further))
                    heappush(heap, (-gain, (number := number + 1), made, further))
        found = np.zeros(len(self._counts), dtype=np.int64)
        for place, which in enumerate(sorted(alive)):
            found[groups[which].cells] = place
        return found

    def _around(self, cells: Ints) -> _Group:
        """Some cells, and the smallest box around them."""
        starts, stops = self._codes[:, cells].min(axis=1), self._codes[:, cells].max(axis=1) + 1
        for column, domain in enumerate(self._domains):
            if isinstance(domain, TreeDomain) and not domain.sets:
                node = domain.hierarchy.lowest(int(starts[column]), int(stops[column]))
                starts[column] = domain.hierarchy.starts[node]
                stops[column] = domain.hierarchy.stops[node]
        return _Group(cells, starts, stops)

    def _splits(
        self, place: int, group: _Group, check: GroupCheck | None, least: int
    ) -> Iterator[_Split]:
        """All splits of a group whose parts may be groups."""
        if self._counts[group.cells].sum() < 2 * least:
            return
        for column, domain in enumerate(self._domains):
            codes = self._codes[column, group.cells]
            if codes.min() == codes.max():
                continue
            if isinstance(domain, TreeDomain) and not domain.sets:
                node = domain.hierarchy.lowest(int(codes.min()), int(codes.max()) + 1)
                ends = [domain.hierarchy.stops[child] for child in domain.hierarchy.children[node]]
                child = np.searchsorted(ends, codes, side="right")
                ways = self._child_splits(group, child, check, least)
            else:
                ways = self._cuts(group, codes)
            for part, parts in ways:
                if parts_may_be_groups(check, least, self._counts, group.cells, part, parts):
                    yield _Split(place, part, parts)

    def _cuts(self, group: _Group, codes: Ints) -> Iterator[tuple[Ints, int]]:
        """Cut a column with an order before each value that occurs but the first."""
        rows = np.bincount(codes, weights=self._counts[group.cells])
        values = np.flatnonzero(rows)[1:]
        if len(values) > _MOST_CUTS:
            below = np.cumsum(rows)[values - 1]
            wanted = np.arange(1, _MOST_CUTS + 1) * rows.sum() / (_MOST_CUTS + 1)
            values = np.unique(values[np.minimum(np.searchsorted(below, wanted), len(values) - 1)])
        for value in values.tolist():
            yield (codes >= value).astype(np.int64), 2

    def _child_splits(
        self, group: _Group, child: Ints, check: GroupCheck | None, least: int
    ) -> Iterator[tuple[Ints, int]]:
        """Part the children of a node: each from the rest, and all that may be groups."""
        present = np.unique(child)
        alone = []
        for which in present.tolist():
            part = (child != which).astype(np.int64)
            if parts_may_be_groups(check, least, self._counts, group.cells, part, 1):
                alone.append(which)
                yield part, 2
        if len(alone) > 1 and len(present) > 2:
            number = np.full(int(present[-1]) + 1, len(alone))
            number[alone] = np.arange(len(alone))
            yield number[child], len(alone) + (len(alone) < len(present))

    def _change(self, group: _Group, split: _Split) -> tuple[Ints, Ints, Ints, Ints, int]:
        """Boxes of a group and of its parts, and the part of each of its cells."""
        parts = [self._around(group.cells[split.part == which]) for which in range(split.parts)]
        starts = np.stack([group.starts, *(part.starts for part in parts)], axis=1)
        stops = np.stack([group.stops, *(part.stops for part in parts)], axis=1)
        return starts, stops, group.cells, split.part, split.parts


class _Estimates:
    """What all groups together say of large populations, and how far that is from the truth."""

    def __init__(self, instance: Instance) -> None:
        self._instance, self._populations = instance, instance.populations
        sizes = instance.layout.sizes[:, None]
        nobody = np.zeros(1, dtype=np.int64)
        self._estimates: list[Floats] = []
        self._divergence: list[Floats] = []
        for counts in instance.cells.sensitive:
            all_rows = _dense(counts.total()[None].astype(np.float64))
            everything = np.zeros_like(sizes), sizes, np.ones(1), nobody, all_rows
            one = ShownParts(*everything, len(counts.labels))
            estimates = self._populations.estimate(one)
            self._estimates.append(estimates)
            self._divergence.append(
                self._measure(counts.name, estimates, np.arange(len(estimates)))
            )

    def gain(self, starts: Ints, stops: Ints, cells: Ints, part: Ints, parts: int) -> float:
        """How much less is lost if a group is replaced by its parts; its box comes first."""
        before, after = [], []
        changes = self._changes(starts, stops, cells, part, parts)
        for (rows, _, new), old in zip(changes, self._divergence, strict=True):
            before.append(float(old.sum()))
            after.append(before[-1] + float(new.sum() - old[rows].sum()))
        return (max(before) - max(after)) / len(self._populations)

    def apply(self, starts: Ints, stops: Ints, cells: Ints, part: Ints, parts: int) -> None:
        """Replace a group by its parts."""
        for place, change in enumerate(self._changes(starts, stops, cells, part, parts)):
            rows, estimates, divergence = change
            self._estimates[place][rows] = estimates
            self._divergence[place][rows] = divergence

    def _changes(
        self, starts: Ints, stops: Ints, cells: Ints, part: Ints, parts: int
    ) -> Iterator[tuple[Ints, Floats, Floats]]:
        """For each sensitive column the populations concerned, what is said then, and how wrong."""
        weight = np.ones(parts + 1)
        weight[0] = -1.0
        for place, counts in enumerate(self._instance.cells.sensitive):
            number = len(counts.labels)
            lengths = counts.starts[cells + 1] - counts.starts[cells]
            first = np.cumsum(lengths) - lengths
            entry = np.arange(lengths.sum()) + np.repeat(counts.starts[cells] - first, lengths)
            key = np.repeat(part + 1, lengths) * number + counts.values[entry]
            rows = np.bincount(key, counts.counts[entry], minlength=(parts + 1) * number)
            values = rows.reshape(parts + 1, number).astype(np.float64)
            values[0] = values.sum(axis=0)
            shown = ShownParts(starts, stops, weight, np.arange(parts + 1), _dense(values), number)
            change = self._populations.estimate(shown)
            concerned = np.flatnonzero(change.any(axis=1))
            estimates = np.maximum(self._estimates[place][concerned] + change[concerned], 0.0)
            yield concerned, estimates, self._measure(counts.name, estimates, concerned)

    def _measure(self, column: str, estimates: Floats, rows: Ints) -> Floats:
        truth, out = self._populations.truth[column], np.empty(len(rows))
        population_divergences(truth[rows], estimates, truth.sum(axis=0), out)
        return out


def _dense(rows: Floats) -> tuple[Ints, Ints, Floats]:
    """Histograms (owners, values) as `ShownParts` has them."""
    owners, number = rows.shape
    starts = np.arange(owners + 1) * number
    return starts, np.tile(np.arange(number), owners), rows.reshape(-1)
