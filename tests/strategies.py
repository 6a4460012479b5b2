"""Random tables for property tests: small, of every kind, with the awkward cases made likely."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st

from moanon.data.domain import (
    Domain,
    DomainSpec,
    IntervalSpec,
    OrderedSpec,
    TreeDomain,
    TreeSpec,
)
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.genome import Instance


def few(law: Callable[..., None]) -> Callable[..., None]:
    """Look at two fifths of the usual examples, where each writes files or searches."""
    return settings(max_examples=settings.default.max_examples * 2 // 5)(law)


@st.composite
def nested_trees(draw: st.DrawFn, most_leaves: int = 8) -> object:
    """A random nesting of lists, leaves numbered from the left."""
    leaves = draw(st.integers(1, most_leaves))

    def cut(names: list[str], depth: int) -> object:
        if len(names) == 1 or depth == 3:
            return names
        edges = sorted(draw(st.sets(st.integers(1, len(names) - 1), max_size=3)))
        parts = [names[a:b] for a, b in zip([0, *edges], [*edges, len(names)], strict=True)]
        nested = {}
        for i, part in enumerate(parts):
            if len(part) == 1:
                nested[part[0]] = None
            else:
                nested[f"{part[0]}-{part[-1]}/{depth}.{i}"] = cut(part, depth + 1)
        return nested

    return cut([f"v{i}" for i in range(leaves)], 0)


@st.composite
def hierarchies(draw: st.DrawFn, most_leaves: int = 8) -> Hierarchy:
    return Hierarchy.from_nested("Any", draw(nested_trees(most_leaves)))


def cells(values: Sequence[Any], rows: int) -> st.SearchStrategy[list[Any]]:
    """A value for each row.

    They are drawn together, as bytes: drawing them one by one takes longer than most tests do.
    """
    assert len(values) < 256
    drawn = st.binary(min_size=rows, max_size=rows)
    return drawn.map(lambda numbers: [values[number % len(values)] for number in numbers])


@st.composite
def columns(draw: st.DrawFn, rows: int) -> tuple[list[str], DomainSpec]:
    """Values of a quasi-identifier and its domain."""
    kind = draw(st.sampled_from(["interval", "ordered", "tree"]))
    spec: DomainSpec
    if kind == "interval":
        values = [str(i) for i in range(draw(st.integers(1, 9)))]
        spec = IntervalSpec(draw(st.integers(1, 3)), range=(0, len(values) - 1))
        if draw(st.booleans()):  # its ends stand for several values
            low = draw(st.integers(0, len(values) - 1))
            high = draw(st.integers(low, len(values) - 1))
            spec = replace(spec, range=(low, high), outside="clamp")
    elif kind == "ordered":
        values = [f"c{i}" for i in range(draw(st.integers(1, 5)))]
        spec = OrderedSpec(tuple(values))
    else:
        hierarchy = draw(hierarchies())
        values = list(hierarchy.leaves)
        spec = TreeSpec(hierarchy, sets=draw(st.booleans()))
    return draw(cells(values, rows)), spec


@st.composite
def instances(draw: st.DrawFn, most_rows: int = 40, sensitive: int | None = None) -> Instance:
    """A small table with one to four quasi-identifiers and up to two sensitive columns."""
    rows = draw(st.sampled_from([1, 2, 3, 7, 10, 20, 30, most_rows]))
    frame: dict[str, list[str]] = {}
    specs: dict[str, DomainSpec] = {}
    for i in range(draw(st.integers(1, 4))):
        frame[f"q{i}"], specs[f"q{i}"] = draw(columns(rows))
    roles = dict.fromkeys(frame, "quasi")
    for i in range(draw(st.integers(0, 2)) if sensitive is None else sensitive):
        values = [f"s{v}" for v in range(draw(st.integers(1, 4)))]
        frame[f"s{i}"] = draw(cells(values, rows))
        roles[f"s{i}"] = "sensitive"
    return Instance.build(read_table(pd.DataFrame(frame), roles), specs)


@st.composite
def rich_instances(draw: st.DrawFn, most_rows: int = 40) -> Instance:
    """A small table on which every measure can be taken.

    One or two sensitive columns of any distance, a class column that may be one of them, weights,
    and at least one tree.
    """
    rows = draw(st.sampled_from([1, 2, 3, 7, 10, 20, most_rows]))
    hierarchy = draw(hierarchies())
    frame: dict[str, list[str]] = {"tree": draw(cells(hierarchy.leaves, rows))}
    specs: dict[str, DomainSpec] = {"tree": TreeSpec(hierarchy, sets=draw(st.booleans()))}
    for i in range(draw(st.integers(0, 2))):
        frame[f"q{i}"], specs[f"q{i}"] = draw(columns(rows))
    roles = dict.fromkeys(frame, "quasi")
    distances: dict[str, DomainSpec] = {}
    for i in range(draw(st.integers(1, 2))):
        frame[f"s{i}"], spec = draw(columns(rows))
        roles[f"s{i}"] = "sensitive"
        if draw(st.booleans()):
            distances[f"s{i}"] = spec
    frame["class"] = draw(cells("abc", rows))
    roles["class"] = "insensitive"
    weights = {name: draw(st.sampled_from([0.5, 1.0, 3.0])) for name in specs}
    return Instance.build(
        read_table(pd.DataFrame(frame), roles),
        specs,
        distances=distances,
        weights=weights,
        label=draw(st.sampled_from(["class", "s0"])),
    )


class Fixed:
    """A domain that is there already, where one is to be declared."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain

    def build(self, column: object) -> Domain:
        return self.domain


@st.composite
def populations(draw: st.DrawFn, instance: Instance, most: int = 12) -> np.ndarray:
    """Valid genomes: samples, some of them doubled, with the extremes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    genomes = instance.layout.sample(draw(st.integers(1, most)), rng)
    bits = instance.layout.bits
    ends = np.array([[0] * bits, [1] * bits], dtype=np.uint8).reshape(2, bits)
    return np.concatenate([genomes, ends, genomes[:1]])


#: The box of each cell, and for each column and box its block, as `Grouping.of_boxes` takes them.
Boxes = tuple[np.ndarray, np.ndarray, np.ndarray]


@st.composite
def boxes(draw: st.DrawFn, instance: Instance, most: int = 5, suppress: bool = True) -> Boxes:
    """A box for each cell, wide enough for all its cells; boxes overlap, and some are alike."""
    number = len(instance.cells)
    given = draw(cells(range(-1 if suppress else 0, most), number))
    given[draw(st.integers(0, number - 1))] = 0  # a cell at least is kept
    used = sorted({box for box in given if box >= 0})
    cell_box = np.array([used.index(box) if box >= 0 else -1 for box in given])
    blocks = []
    for domain, codes in zip(instance.layout.domains.values(), instance.cells.codes, strict=True):
        inside = [codes[cell_box == box].astype(int) for box in range(len(used))]
        blocks.append([draw(_blocks(domain, each.min(), each.max() + 1)) for each in inside])
    starts, stops = np.moveaxis(np.array(blocks), 2, 0)
    return cell_box, starts, stops


def _blocks(domain: Domain, start: int, stop: int) -> st.SearchStrategy[tuple[int, int]]:
    """Blocks that a domain allows and that hold some base values."""
    if isinstance(domain, TreeDomain) and not domain.sets:
        nodes = zip(domain.hierarchy.starts, domain.hierarchy.stops, strict=True)
        return st.sampled_from([node for node in nodes if node[0] <= start and stop <= node[1]])
    return st.tuples(st.integers(0, int(start)), st.integers(int(stop), domain.size))
