"""Groups of one generalization, of any origin, measured by the same loops as a search.

`measure_grouping` takes any partition of a table's rows into groups, each with what it shows in the
quasi-identifiers: a genome's, or that of a file from elsewhere in which the same value may be shown
in different ways. It gives every registered measure. `Grouped` is the layout behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from moanon.arrays import Ints, UInts
from moanon.data.domain import TreeDomain
from moanon.errors import DataError
from moanon.genome import Instance
from moanon.kernels.costs import COSTS, block_costs
from moanon.kernels.evaluation import Kept, evaluate_groups
from moanon.kernels.histograms import Lists, make_lists
from moanon.kernels.population import RawScores
from moanon.kernels.selection import GroupRule
from moanon.measures.demand import Demand
from moanon.measures.groups import Groups
from moanon.measures.registry import applicable, demand_of
from moanon.measures.scores import Scores
from moanon.measures.suppression import RECURSIVE_C, Suppression

__all__ = ["Grouped", "measure_grouping"]


@dataclass(frozen=True)
class Grouped:
    """Groups laid out for the kernels.

    Attributes
    ----------
    instance : Instance
        The table.
    sizes : array (groups,)
        Rows of each group.
    losses : array (groups,)
        Integer loss of each of their rows.
    costs : array (costs, groups)
        Other integer costs of each of their rows.
    lists : Lists
        Their sensitive values and class labels …
    totals : array (values,)
        … and those of all rows of the table, suppressed ones included.
    """

    instance: Instance
    sizes: UInts
    losses: Ints
    costs: Ints
    lists: Lists
    totals: Ints

    @classmethod
    def of_genome(cls, groups: Groups) -> Grouped:
        """Lay out the groups of a genome, without costs."""
        kernel = groups.instance.kernel
        listed = kernel.sensitive
        owner = np.repeat(groups.cell_group, np.diff(listed.starts)).astype(np.int64)
        number = len(groups.sizes)
        return cls(
            groups.instance,
            groups.sizes.astype(np.uint32),
            np.zeros(number, dtype=np.int64),
            np.zeros((len(COSTS), number), dtype=np.int64),
            _lists(groups.instance, number, owner, listed.values, listed.counts),
            kernel.plan.total,
        )

    @classmethod
    def of_rows(
        cls,
        instance: Instance,
        row_group: Ints,
        starts: Ints,
        stops: Ints,
        values: Mapping[str, Ints] | None = None,
    ) -> Grouped:
        """Lay out any groups of the table's rows; parameters as of `measure_grouping`."""
        groups = starts.shape[1]
        kept = row_group >= 0
        sizes = np.bincount(row_group[kept], minlength=groups)
        kernel = instance.kernel
        losses = np.zeros(groups, dtype=np.int64)
        for column, width in enumerate(stops - starts):
            losses += kernel.losses.table[kernel.losses.start[column] + width]
        node_starts, node_stops, _ = _nodes(instance, starts, stops)
        costs = block_costs(starts, stops, node_starts, node_stops, kernel.prices)
        nothing = [np.zeros(0, dtype=np.int64)]
        listed = [
            number[_codes(instance, name, values or {})]
            for name, number in instance.value_numbers.items()
        ]
        owner = np.concatenate(nothing + [row_group[kept]] * len(listed))
        value = np.concatenate(nothing + [numbers[kept] for numbers in listed])
        lists = _lists(instance, groups, owner, value, np.ones(len(value), dtype=np.int64))
        totals = np.bincount(np.concatenate(nothing + listed), minlength=len(kernel.plan.total))
        return cls(instance, sizes.astype(np.uint32), losses, costs, lists, totals)

    def keep(self, rule: GroupRule, thresholds: tuple[int, int] = (1, 0)) -> Kept:
        """Apply a rule to the groups; `thresholds` are for the rule `thresholds.GIVEN`."""
        kernel = self.instance.kernel
        return evaluate_groups(
            rule,
            self.sizes,
            self.losses,
            self.costs,
            self.lists,
            self.totals,
            kernel.plan,
            kernel.losses.scale * len(self.instance.layout.columns),
            thresholds,
        )


def measure_grouping(
    instance: Instance,
    row_group: npt.ArrayLike,
    starts: npt.ArrayLike,
    stops: npt.ArrayLike,
    *,
    values: Mapping[str, Ints] | None = None,
    diversity: str = "distinct",
    recursive_c: float = RECURSIVE_C,
) -> dict[str, int | float]:
    """Take every registered measure of any grouping of a table's rows.

    Parameters
    ----------
    instance : Instance
        The original table. Shares of sensitive values "in the table" are its own.
    row_group : array (rows,)
        The group of each row, from 0 on; -1 for a suppressed row.
    starts, stops : arrays (columns, groups)
        What each group shows in each quasi-identifier, in the order of ``instance.layout``: base
        values ``start .. stop - 1``. They need not be a genome's: the same base value may be shown
        in different ways.
    values : mapping of str to array (rows,), optional
        Released codes of sensitive or class columns, where they are not the original ones: indices
        into the labels that the instance has for the column.
    diversity : {"distinct", "frequency"}
        What ``l`` counts.
    recursive_c : float
        The constant of recursive diversity.

    Returns
    -------
    dict
        Measures by name, those that apply to the table; without those that only a suppression rule
        has (``d``, ``d1``, ``d2``), and without ``weighted_k`` where rows are suppressed: nobody
        knows which groups they were in.

    Raises
    ------
    DataError
        If the arrays do not fit the table or each other, or no row is left.
    """
    group = np.asarray(row_group, dtype=np.int64)
    first, last = (np.asarray(edge, dtype=np.int64) for edge in (starts, stops))
    _check(instance, group, first, last)
    grouped = Grouped.of_rows(instance, group, first, last, values)
    measures = [m for m in applicable(instance) if not m.of_rule]
    rule = Suppression("none", diversity=diversity, recursive_c=recursive_c)  # type: ignore[arg-type]
    kernel_rule = rule.group_rule(instance.cells.rows, demand_of(measures, instance))
    kept = grouped.keep(kernel_rule)
    no_steps = np.zeros((0, 0), dtype=np.int64)
    scores = Scores(
        instance,
        rule,
        instance.kernel.losses.scale,
        RawScores(
            kept.fields[None],
            kept.goodness[None],
            np.zeros(2, dtype=np.int64),
            no_steps,
            no_steps.astype(np.float64),
        ),
        Demand.met_by(kernel_rule),
        lambda: _nodes(instance, first, last)[2].max(axis=1)[None],
    )
    complete = bool((group >= 0).all())
    return {m.name: m.of(scores)[0].item() for m in measures if complete or m.name != "weighted_k"}


def _check(instance: Instance, row_group: Ints, starts: Ints, stops: Ints) -> None:
    sizes = instance.layout.sizes[:, None]
    if row_group.shape != (instance.cells.rows,):
        raise DataError(
            f"every one of the {instance.cells.rows} rows must have a group, or -1. Got an array "
            f"of shape {row_group.shape}"
        )
    groups = int(row_group.max()) + 1
    if groups == 0:
        raise DataError("no row is left: all are suppressed")
    if len(np.unique(row_group[row_group >= 0])) != groups or row_group.min() < -1:
        raise DataError(f"groups must be numbered from 0 to {groups - 1}, each with a row")
    if starts.shape != (len(sizes), groups) or stops.shape != starts.shape:
        raise DataError(
            f"blocks must be given for {len(sizes)} columns and {groups} groups. Got arrays of "
            f"shape {starts.shape} and {stops.shape}"
        )
    if not ((starts >= 0) & (starts < stops) & (stops <= sizes)).all():
        raise DataError("a block must hold base values of its column's domain, at least one")


def _codes(instance: Instance, name: str, values: Mapping[str, Ints]) -> Ints:
    """Labels of a sensitive or class column, row by row, as indices; the last one for missing."""
    labels = len(instance.value_numbers[name])
    if name not in values:
        codes = instance.table.columns[name].codes.astype(np.int64)
        return np.where(codes < 0, labels - 1, codes)
    codes = np.asarray(values[name], dtype=np.int64)
    if codes.shape != (instance.cells.rows,) or codes.min() < 0 or codes.max() >= labels:
        raise DataError(
            f"column {name!r}: each of the {instance.cells.rows} rows must have one of its "
            f"{labels} values"
        )
    return codes


def _lists(instance: Instance, groups: int, owner: Ints, value: Ints, counts: Ints) -> Lists:
    """List the values of groups, ascending, from rows of (group, value, count)."""
    first = instance.kernel.plan.first
    columns, values = len(first) - 1, max(1, int(first[-1]))
    keys, entry = np.unique(owner * values + value, return_inverse=True)
    group, value = np.divmod(keys, values)
    segment = group * columns + np.searchsorted(first, value, side="right") - 1
    lists = make_lists(instance.kernel.plan, groups, len(keys))
    lists.starts[:] = np.searchsorted(segment, np.arange(groups * columns + 1))
    lists.value[: len(keys)] = value
    np.add.at(lists.rows, entry, counts.astype(np.uint32))
    return lists


def _nodes(instance: Instance, starts: Ints, stops: Ints) -> tuple[Ints, Ints, Ints]:
    """For blocks of tree columns, the lowest node that holds each, and its level (tree columns).

    A genome's blocks are nodes themselves. A file from elsewhere may show half a node; it has lost
    at least as much as one that shows the whole.
    """
    node_starts, node_stops, levels = starts.copy(), stops.copy(), []
    for column, domain in enumerate(instance.layout.domains.values()):
        if not isinstance(domain, TreeDomain):
            continue
        tree = domain.hierarchy
        blocks = np.stack([starts[column], stops[column]], axis=1)
        different, which = np.unique(blocks, axis=0, return_inverse=True)
        nodes = np.array([tree.lowest(int(a), int(b)) for a, b in different])[which.reshape(-1)]
        node_starts[column] = np.array(tree.starts)[nodes]
        node_stops[column] = np.array(tree.stops)[nodes]
        levels.append(tree.heights[nodes])
    return node_starts, node_stops, np.array(levels, dtype=np.int64).reshape(-1, starts.shape[1])
