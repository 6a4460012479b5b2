"""Labels say as text how many base values they stand for."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon import Hierarchy, Instance, IntervalSpec, OrderedSpec, TreeSpec, read_table
from moanon.data.domain import DomainSpec, OrderedDomain
from moanon.release.labels import label_rules
from tests.data.columns import column_of
from tests.release.tables import instances


@given(instances(), st.integers(0, 2**32 - 1))
def test_labels_are_read_back_as_the_blocks_they_came_from(instance: Instance, seed: int) -> None:
    layout = instance.layout
    rng = np.random.default_rng(seed)
    for genome in (*layout.sample(3, rng), [1] * layout.bits, [0] * layout.bits):
        for name, blocks in layout.decode(genome).items():
            rules = label_rules(layout.domains[name])
            assert rules.size == layout.domains[name].size
            for start, stop in blocks:
                label = layout.domains[name].label(start, stop)
                assert rules.find(label) == (start, stop)
                assert rules.count(label) == stop - start


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        (IntervalSpec(granularity=10, range=(0, 29)), "[0-35]"),
        (IntervalSpec(granularity=10, range=(0, 29)), "[20-10]"),
        (IntervalSpec(granularity=10, range=(0, 29)), "[0-10-20]"),
        (IntervalSpec(granularity=10, range=(0, 29)), "young"),
        (IntervalSpec(granularity=10, range=(0, 29)), "<10"),
        (IntervalSpec(granularity=10, range=(0, 30), outside="clamp"), "<5"),
        (IntervalSpec(granularity=10, range=(0, 30), outside="clamp"), ">=40"),
        (IntervalSpec(granularity=10, range=(0, 30), outside="clamp"), ">10"),
        (IntervalSpec(granularity=10, range=(0, 29)), "[20-29] or (missing)"),
        (IntervalSpec(granularity=10, range=(0, 29)), ""),
        (IntervalSpec(granularity=0.5, range=(0, 9)), "[0-1.2)"),
        (IntervalSpec(granularity="year", range=("2000-01-01", "2003-12-31")), "[2000-2001]"),
        (OrderedSpec(("1", "2", "3")), "3..1"),
        (OrderedSpec(("1", "2", "3")), "1..4"),
        (TreeSpec(Hierarchy.from_nested("Any", ["1", "2"])), "Any"),
        (TreeSpec(Hierarchy.from_nested("Any", ["1", "2"])), "3"),
    ],
)
def test_labels_of_no_block_have_no_size(spec: DomainSpec, label: str) -> None:
    value = "2001-05-05" if "year" in repr(spec) else "1"
    column = read_table(pd.DataFrame({"q": [value]}), {"q": "quasi"}).columns["q"]
    assert label_rules(spec.build(column)).count(label) is None
    assert label_rules(spec.build(column)).find(label) is None


def test_a_label_with_two_readings_has_no_size() -> None:
    # "a...b" is both "a" to ".b" and "a." to "b".
    assert label_rules(OrderedDomain(("a", ".b", "a.", "b", "c"))).count("a...b") == 2
    assert label_rules(OrderedDomain(("a", "a.", "c", ".b", "b"))).count("a...b") == 4
    assert label_rules(OrderedDomain(("a", "a.", ".b", "c", "b"))).count("a...b") is None
    # Two blocks of one size: so many values, but nobody knows which.
    assert label_rules(OrderedDomain(("a", ".b", "a.", "b", "c"))).find("a...b") is None


def test_other_programs_may_use_every_name_of_a_tree() -> None:
    # South is all there is in Africa, so that a release of ours says South; ARX says Africa.
    tree = Hierarchy.from_arx("South;Africa;World\nJapan;Asia;World\nChina;Asia;World\n")
    column = read_table(pd.DataFrame({"q": ["Japan"]}), {"q": "quasi"}).columns["q"]
    domain = TreeSpec(tree).build(column)
    ours, theirs = label_rules(domain), label_rules(domain, every_name=True)
    for label, block in (("South", (0, 1)), ("Asia", (1, 3)), ("*", (0, 3))):
        assert ours.find(label) == theirs.find(label) == block
    assert (ours.find("Africa"), ours.find("World")) == (None, None)
    assert (theirs.find("Africa"), theirs.find("World")) == ((0, 1), (0, 3))


clamped_ranges = st.tuples(st.integers(-40, 40), st.integers(0, 30)).map(
    lambda pair: (pair[0], sum(pair))
)


@given(clamped_ranges, st.integers(1, 9), st.integers(-50, 50), st.booleans())
def test_labels_of_clamped_ends_are_read_back(
    ends: tuple[int, int], width: int, origin: int, missing: bool
) -> None:
    cells = ["3", None] if missing else ["3"]
    spec = IntervalSpec(width, ends, origin, outside="clamp")
    domain = spec.build(column_of(cells))
    rules = label_rules(domain)
    assert rules.size == domain.size
    for start in range(domain.size):
        for stop in range(start + 1, domain.size + 1):
            assert rules.find(domain.label(start, stop)) == (start, stop)


@given(st.decimals(0, 5, places=1), st.sampled_from([0.5, 0.7, 1]))
def test_labels_of_clamped_decimals_are_read_back(high: Decimal, width: float) -> None:
    spec = IntervalSpec(width, (0, float(high)), type="decimal", outside="clamp")
    domain = spec.build(column_of(["-1.5", "2.25", "99"]))
    rules = label_rules(domain)
    for start in range(domain.size):
        for stop in range(start + 1, domain.size + 1):
            assert rules.find(domain.label(start, stop)) == (start, stop)
