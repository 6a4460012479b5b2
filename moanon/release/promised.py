"""What a release must measure as, worked out on the writer's side.

The groups come from the kernels, and so do the distances from the whole table; the reader finds
both in the file by its own means (``readback``, ``models``).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from moanon.data.distances import distance_of
from moanon.data.domain import MISSING, Domain, TreeDomain
from moanon.data.table import Column
from moanon.kernels.diversity import column_models
from moanon.measures.grouped import Grouped
from moanon.measures.groups import Groups
from moanon.release.labels import label_rules
from moanon.release.models import Closeness, Diversity, SensitiveFacts
from moanon.release.readback import Measurement

__all__ = ["measure_kept", "sensitive_facts"]

Truths = npt.NDArray[np.bool_]


def measure_kept(groups: Groups, kept: Truths, rows: int, recursive_c: float) -> Measurement:
    """Measure a release of some groups.

    Parameters
    ----------
    groups : Groups
    kept : array (groups,) of bool
        Which ones are released; at least one.
    rows : int
        Rows that could be released: those in groups, and those outside the domains.
    recursive_c : float
        The constant of recursive (c,ℓ)-diversity.
    """
    instance = groups.instance
    sizes = groups.sizes[kept]
    released = int(sizes.sum())
    lost = float((groups.row_loss[kept] * sizes).sum())
    gl = lost / (rows * len(instance.table.quasi))
    sl = (rows - released) / rows
    names = instance.table.sensitive
    found = [_alone(groups, kept, i, Fraction(str(recursive_c))) for i in range(len(names))]
    grouped = Grouped.of_genome(groups) if names else None
    return Measurement(
        rows=released,
        suppressed=rows - released,
        groups=len(sizes),
        k=int(sizes.min()),
        squares=int((sizes**2).sum()),
        l={name: diversity for name, (diversity, _) in zip(names, found, strict=True)},
        alpha={name: alpha for name, (_, alpha) in zip(names, found, strict=True)},
        closeness={
            name: _beside_table(grouped, kept, i) for i, name in enumerate(names) if grouped
        },
        gl=gl,
        sl=sl,
        loss=gl + sl,
    )


def _alone(groups: Groups, kept: Truths, index: int, c: Fraction) -> tuple[Diversity, float]:
    """Diversity of a sensitive column in its worst released group, and its largest share.

    Works on the (group, value) pairs that occur: a matrix of all groups by all values would not
    fit for a column such as a salary.
    """
    column = groups.instance.cells.sensitive[index]
    group = np.repeat(groups.cell_group, np.diff(column.starts)).astype(np.int64)
    released = kept[group]
    keys, entry = np.unique(
        group[released] * len(column.labels) + column.values[released], return_inverse=True
    )
    counts = np.bincount(entry, weights=column.counts[released]).astype(np.int64)
    group = keys // len(column.labels)
    order = np.lexsort((-counts, group))
    counts, group = counts[order], group[order]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    lengths = np.diff(first, append=len(group))
    sizes = np.add.reduceat(counts, first)
    largest = np.repeat(counts[first], lengths)
    share = counts / np.repeat(sizes, lengths)
    before = np.cumsum(counts) - counts  # rows of earlier groups and of more frequent values
    tail = np.repeat(sizes, lengths) - (before - np.repeat(before[first], lengths))
    # Python's integers, since c may have many digits. Tails shrink, so what holds comes first.
    holds = largest.astype(object) * c.denominator < tail.astype(object) * c.numerator
    diversity = Diversity(
        distinct=int(lengths.min()),
        frequency=int((sizes // counts[first]).min()),
        entropy=float(np.exp(np.add.reduceat(-share * np.log(share), first).min())),
        recursive=int(np.add.reduceat(holds.astype(np.int64), first).min()),
    )
    return diversity, float(share.max())


def _beside_table(grouped: Grouped, kept: Truths, column: int) -> Closeness:
    """How far a sensitive column is from the whole table in its worst released group."""
    instance, names = grouped.instance, ("closeness", "equal", "js", "delta")
    found = column_models(names, column, grouped.sizes, instance.kernel.plan, grouped.lists)
    worst = {name: -float(goodness[kept].min()) for name, goodness in found.items()}
    return Closeness(
        distance_of(instance.distances.get(instance.table.sensitive[column])),
        t_closeness=worst["closeness"],
        t_equal=worst["equal"],
        t_js=worst["js"],
        delta=worst["delta"],
    )


def sensitive_facts(column: Column, domain: Domain | None) -> SensitiveFacts:
    """Say in plain texts and numbers which values a sensitive column has, and where they stand."""
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    rows = dict(zip(column.values, counts.tolist(), strict=True))
    if column.missing:
        rows[MISSING] = column.missing
    levels: tuple[tuple[int, ...], ...] = ()
    if isinstance(domain, TreeDomain):
        tree = domain.hierarchy
        cuts = list(dict.fromkeys(tree.levels))[:-1]  # nothing passes over the root
        levels = tuple(tuple(sorted(tree.starts[node] for node in cut)) for cut in cuts)
    return SensitiveFacts(rows, None if domain is None else label_rules(domain), levels)
