"""Domains code every value, name every block once, and refuse what would mislead a reader."""

from __future__ import annotations

import time
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.domain import (
    MAX_BASE_VALUES,
    MISSING,
    Domain,
    DomainSpec,
    IntervalDomain,
    IntervalSpec,
    OrderedDomain,
    OrderedSpec,
    TreeDomain,
    TreeSpec,
)
from moanon.data.hierarchy import Hierarchy
from moanon.errors import DataError
from tests.data.columns import column_of
from tests.refusals import refusal_of
from tests.strategies import columns, hierarchies

WORK = Hierarchy.from_nested("Any", {"Public": ["Local", "State"], "Private": None})


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    """A domain of any kind, with or without missing cells."""
    cells, spec = draw(columns(rows=6))
    return spec.build(column_of([*cells, None] if draw(st.booleans()) else cells))


def allowed_blocks(domain: Domain) -> list[tuple[int, int]]:
    """All blocks that the domain allows."""
    blocks = list(combinations(range(domain.size + 1), 2))
    if isinstance(domain, TreeDomain):
        return [block for block in blocks if block in domain.hierarchy.node_of]
    return blocks


def refusal(spec: DomainSpec, *cells: str | None) -> str:
    return refusal_of(DataError, spec.build, column_of(cells))


# -- laws of all kinds ---------------------------------------------------------------------------


@given(domains())
def test_blocks_that_differ_are_called_differently(domain: Domain) -> None:
    labels = [domain.label(start, stop) for start, stop in allowed_blocks(domain)]
    assert len(labels) == len(set(labels))


@given(domains())
def test_the_whole_domain_is_a_star_unless_it_is_one_value(domain: Domain) -> None:
    assert (domain.label(0, domain.size) == "*") == (domain.size > 1)


@given(columns(rows=8), st.booleans())
def test_the_missing_category_is_the_last_base_value(
    column: tuple[list[str], DomainSpec], missing: bool
) -> None:
    cells, spec = column
    without = spec.build(column_of(cells))
    domain = spec.build(column_of([*cells, None] if missing else cells))
    assert domain.has_missing == missing
    assert domain.size == without.size + missing
    if missing:
        assert domain.encode(column_of([*cells, None]))[-1] == domain.size - 1
        assert domain.label(domain.size - 1, domain.size) == MISSING
    assert (domain.encode(column_of(cells)) < without.size).all()


@given(columns(rows=8))
def test_codes_are_those_of_each_cell_alone(column: tuple[list[str], DomainSpec]) -> None:
    cells, spec = column
    domain = spec.build(column_of(cells))
    codes = domain.encode(column_of(cells))
    assert codes.dtype == np.uint16
    assert codes.tolist() == [int(domain.find([cell])[0]) for cell in cells]


@given(domains())
def test_every_generalization_is_listed_once_and_counted(domain: Domain) -> None:
    listed = [tuple(bits.tolist()) for bits in domain.enumerate()]
    width = domain.size - 1
    everything = list(product((0, 1), repeat=width))
    valid = domain.is_valid(np.array(everything, dtype=np.uint8).reshape(2**width, width))
    assert len(listed) == len(set(listed)) == domain.count()
    assert set(listed) == {bits for bits, ok in zip(everything, valid, strict=True) if ok}


@given(domains(), st.integers(0, 2**32 - 1))
def test_samples_are_valid(domain: Domain, seed: int) -> None:
    sample = domain.sample(20, np.random.default_rng(seed))
    assert sample.shape == (20, domain.size - 1)
    assert sample.dtype == np.uint8
    assert domain.is_valid(sample).all()


@given(domains())
def test_full_domain_generalizations_are_distinct_and_go_from_fine_to_coarse(
    domain: Domain,
) -> None:
    levels = domain.full_domain()
    assert len({tuple(bits.tolist()) for bits in levels}) == len(levels)
    assert levels[0].all()
    assert not levels[-1].any()
    assert domain.is_valid(np.stack(levels)).all()


@pytest.mark.parametrize(
    ("spec", "cell", "label"),
    [
        (IntervalSpec(10), "17", "[10-19]"),
        (IntervalSpec(), "17", "17"),
        (OrderedSpec(("a",)), "a", "a"),
        (TreeSpec(Hierarchy.from_nested("Any", ["a"])), "a", "a"),
    ],
)
def test_a_domain_may_have_one_value_and_no_bits(spec: DomainSpec, cell: str, label: str) -> None:
    domain = spec.build(column_of([cell, cell]))
    assert (domain.size, domain.count(), domain.label(0, 1)) == (1, 1, label)
    assert [bits.tolist() for bits in domain.enumerate()] == [[]]
    assert [bits.tolist() for bits in domain.full_domain()] == [[]]
    assert domain.sample(3, np.random.default_rng(0)).shape == (3, 0)
    assert domain.encode(column_of([cell, cell])).tolist() == [0, 0]


def test_samples_of_a_tree_expand_the_root_every_other_time() -> None:
    tree = TreeDomain(WORK)
    sample = tree.sample(4000, np.random.default_rng(1))
    # Boundary 1 is the root's: 1/2. Boundary 0 is Public's, open only if the root is: 1/4.
    assert sample[:, 1].mean() == pytest.approx(1 / 2, abs=0.03)
    assert sample[:, 0].mean() == pytest.approx(1 / 4, abs=0.03)


# -- labels --------------------------------------------------------------------------------------


def test_intervals_are_called_by_their_ends() -> None:
    domain = IntervalSpec(10).build(column_of(["80", "95", None]))
    assert domain.label(0, 1) == "[80-89]"
    assert domain.label(0, 2) == "[80-99]"
    assert domain.label(1, 3) == "[90-99] or (missing)"
    assert domain.label(2, 3) == "(missing)"
    assert domain.label(0, 3) == "*"


def test_single_values_beside_the_missing_category_are_called_by_both() -> None:
    domain = IntervalSpec().build(column_of(["1", "2", None]))
    assert domain.label(1, 3) == "2 or (missing)"


def test_ordered_blocks_are_called_by_first_and_last() -> None:
    domain = OrderedSpec(("S", "M", "L")).build(column_of(["M", None]))
    assert domain.label(0, 2) == "S..M"
    assert domain.label(1, 2) == "M"
    assert domain.label(2, 4) == "L or (missing)"


def test_tree_blocks_are_called_by_their_nodes() -> None:
    domain = TreeSpec(WORK).build(column_of(["Local", None]))
    assert domain.label(0, 2) == "Public"
    assert domain.label(2, 3) == "Private"
    assert domain.label(3, 4) == "(missing)"
    assert domain.label(0, 4) == "*"


def test_one_leaf_beside_missing_cells_can_be_told_apart_or_not() -> None:
    domain = TreeSpec(Hierarchy.from_nested("Any", ["a"])).build(column_of(["a", None]))
    assert [domain.label(0, 1), domain.label(1, 2), domain.label(0, 2)] == ["a", "(missing)", "*"]
    assert domain.count() == 2


def test_levels_of_a_tree_that_are_alike_count_once() -> None:
    tree = Hierarchy.from_arx("a;A;AA;*\nb;A;AA;*\nc;c;c;*\n")
    assert len(tree.levels) == 4
    assert [bits.tolist() for bits in TreeDomain(tree).full_domain()] == [[1, 1], [0, 1], [0, 0]]


# -- coding --------------------------------------------------------------------------------------


def test_values_outside_the_domain_are_refused_with_their_rows() -> None:
    domain = OrderedSpec(("S", "M")).build(column_of(["S"]))
    cells = ["S", "L", "L", "XL", "XS", "XXL", None]
    with pytest.raises(DataError) as caught:
        domain.encode(column_of(cells, "size"))
    assert str(caught.value) == (
        "column 'size': 5 rows hold values outside its ordered domain (S … M): 'L', 'XL', 'XS' "
        "and 1 more"
    )


@pytest.mark.parametrize(
    ("spec", "cells", "message"),
    [
        (
            IntervalSpec(5, range=(0, 9)),
            ["3", "12"],
            "1 row holds a value outside its interval domain ([0-4] … [5-9]): '12'",
        ),
        (
            IntervalSpec(10, range=(0, 9)),
            ["3", "12"],
            "1 row holds a value outside its interval domain ([0-9]): '12'",
        ),
        (
            OrderedSpec(("a", "b")),
            ["a", None, "A"],
            "1 row holds a value outside its ordered domain (a … b): 'A'",
        ),
        (OrderedSpec(("a",)), ["b"], "1 row holds a value outside its ordered domain (a): 'b'"),
        (
            TreeSpec(WORK),
            ["Local", None, "Public", "Public"],
            "2 rows hold values outside its tree domain (the 3 leaves of 'Any'): 'Public'",
        ),
        (
            TreeSpec(Hierarchy.from_nested("Any", ["a"])),
            ["b"],
            "1 row holds a value outside its tree domain (a): 'b'",
        ),
    ],
)
def test_what_the_domain_holds_is_said_when_a_value_is_refused(
    spec: DomainSpec, cells: list[str | None], message: str
) -> None:
    column = column_of(cells)
    with pytest.raises(DataError) as caught:
        spec.build(column).encode(column)
    assert str(caught.value) == f"column 'x': {message}"


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["a", None], "column 'x': 1 row has no value"),
        (["a", None, None], "column 'x': 2 rows have no value"),
    ],
)
def test_missing_cells_are_refused_by_a_domain_built_without(
    cells: list[str | None], message: str
) -> None:
    domain = OrderedSpec(("a",)).build(column_of(["a"]))
    with pytest.raises(DataError) as caught:
        domain.encode(column_of(cells))
    assert str(caught.value) == (
        f"{message}, and its ordered domain was built without one for missing cells"
    )


@pytest.mark.parametrize("spec", [OrderedSpec(("a", "b")), TreeSpec(WORK)])
def test_a_cell_that_reads_missing_is_not_a_missing_cell(spec: DomainSpec) -> None:
    cells = ["a" if isinstance(spec, OrderedSpec) else "Local", None]
    domain = spec.build(column_of(cells))
    assert domain.find([MISSING]).tolist() == [-1]


def test_codes_that_would_wrap_around_are_refused() -> None:
    values = tuple(str(i) for i in range(MAX_BASE_VALUES + 1))
    with pytest.raises(DataError, match="has 65537 base values; at most 65536 are possible"):
        OrderedDomain(values).encode(column_of(["0"]))


# -- refusals ------------------------------------------------------------------------------------

TOO_FINE = "at most 65536 are possible. Choose a larger granularity, or another role"


@pytest.mark.parametrize(
    ("spec", "cells", "message"),
    [
        (IntervalSpec(), ["0", "65536"], f"the domain has 65537 base values; {TOO_FINE}"),
        (IntervalSpec(), ["0", "65535", None], f"the domain has 65537 base values; {TOO_FINE}"),
        (
            IntervalSpec("1e-999"),
            ["0", "1e999"],
            f"the domain has more than 10^15 base values; {TOO_FINE}",
        ),
        (
            OrderedSpec(tuple(str(i) for i in range(65_537))),
            ["0"],
            f"the domain has 65537 base values; {TOO_FINE}",
        ),
        (OrderedSpec(()), ["a"], "order must name at least one value. Got none"),
        (OrderedSpec("mf"), ["m"], "order must be a list of texts. Got 'mf'"),  # type: ignore[arg-type]
        (OrderedSpec(""), ["m"], "order must be a list of texts. Got ''"),  # type: ignore[arg-type]
        (OrderedSpec(("a", "b", "a")), ["a"], "order names 'a' twice"),
        (
            OrderedSpec(("a", "b\0")),
            ["a"],
            "a value of the order must not hold a NUL character. Got 'b\\x00'",
        ),
        (OrderedSpec(("1", 2)), ["1"], "order must hold texts. Got 2"),  # type: ignore[arg-type]
        (OrderedSpec(("a", "*")), ["a"], "the value '*' is a reserved label; rename it"),
        (
            OrderedSpec(("a", "(missing)")),
            ["a", None],
            "the value '(missing)' is a reserved label; rename it",
        ),
        (
            TreeSpec(Hierarchy.from_nested("Any", ["a", "(missing)"])),
            ["a", None],
            "the hierarchy has a node called '(missing)', which missing cells would carry; "
            "rename it",
        ),
        (
            TreeSpec(Hierarchy.from_nested("Any", {"(missing)": ["a"], "c": None})),
            ["a", None],
            "the hierarchy has a node called '(missing)', which missing cells would carry; "
            "rename it",
        ),
        (
            TreeSpec(Hierarchy.from_nested("Any", {"(missing)": ["a", "b"], "c": None})),
            ["a", None],
            "the hierarchy has a node called '(missing)', which missing cells would carry; "
            "rename it",
        ),
        (
            TreeSpec(Hierarchy(("*",), (0,), (1,), (-1,), ((0,),), ((),), (("*",),))),
            ["*"],
            "the hierarchy has a leaf called '*', which fully generalized cells carry; rename it",
        ),
    ],
)
def test_domains_that_would_mislead_are_refused(
    spec: DomainSpec, cells: list[str | None], message: str
) -> None:
    assert refusal(spec, *cells) == f"column 'x': {message}"


def test_a_tree_with_as_many_leaves_as_codes_has_no_room_for_missing_cells() -> None:
    tree = Hierarchy.from_nested("Any", [str(i) for i in range(MAX_BASE_VALUES)])
    assert TreeSpec(tree).build(column_of(["7"])).size == MAX_BASE_VALUES
    assert "has 65537 base values" in refusal(TreeSpec(tree), "7", None)


def test_the_word_missing_is_a_value_where_no_cell_is_missing() -> None:
    ordered = OrderedSpec(("a", "(missing)")).build(column_of(["a", "(missing)"]))
    assert ordered.encode(column_of(["(missing)", "a"])).tolist() == [1, 0]
    tree = TreeSpec(Hierarchy.from_nested("Any", ["a", "(missing)"]))
    assert tree.build(column_of(["a"])).find(["(missing)"]).tolist() == [1]


# -- labels of orders ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (("a", "a..c", "b", "c"), "'a..c' could mean two things, the value or 'a' to 'c'"),
        (("a", "a..c", "c"), "'a..c' could mean two things, the value or 'a' to 'c'"),
        (("a", ".b", "a.", "b"), "'a...b' could mean two things, 'a' to '.b' or 'a.' to 'b'"),
        (
            ("a", "x", "a..b", "b..x"),
            "'a..b..x' could mean two things, 'a' to 'b..x' or 'a..b' to 'x'",
        ),
        (("", "a", "..a"), "'..a' could mean two things, the value or '' to 'a'"),
    ],
)
def test_orders_with_a_label_of_two_readings_are_refused(
    order: tuple[str, ...], message: str
) -> None:
    expected = f"column 'x': the label {message}; rename a value of the order"
    assert refusal(OrderedSpec(order), order[0]) == expected


def test_a_value_that_reads_like_a_block_with_missing_cells_is_refused() -> None:
    order = ("a", "b", "a or (missing)")
    assert OrderedSpec(order).build(column_of(["a"])).size == 3
    assert "'a or (missing)' is a reserved label" in refusal(OrderedSpec(order), "a", None)


@pytest.mark.parametrize(
    "order", [("0..4", "5..9", "10..14"), ("approx.", "b."), (".5", ".7"), ("a", "a.", "b.")]
)
def test_orders_with_harmless_dots_are_taken(order: tuple[str, ...]) -> None:
    assert OrderedSpec(order).build(column_of([order[0]])).order == order


dotted_orders = st.lists(st.text(".ab", max_size=5), min_size=1, max_size=7, unique=True)


@given(dotted_orders)
def test_an_order_whose_blocks_share_a_label_is_refused(order: list[str]) -> None:
    labels = [*order, *(f"{first}..{last}" for first, last in combinations(order, 2))]
    if len(set(labels)) < len(labels):
        assert "could mean two things" in refusal(OrderedSpec(tuple(order)), order[0])


@given(dotted_orders)
def test_an_order_is_taken_if_no_text_joins_its_values_in_two_ways(order: list[str]) -> None:
    texts = [*order, *(f"{first}..{last}" for first, last in product(order, repeat=2))]
    if len(set(texts)) == len(texts):
        domain = OrderedSpec(tuple(order)).build(column_of([order[0]]))
        assert domain.order == tuple(order)


def test_long_orders_are_checked_in_a_moment() -> None:
    order = tuple(f"{i}.." if i % 2 else f"..{i}." for i in range(MAX_BASE_VALUES))
    began = time.perf_counter()
    OrderedSpec(order).build(column_of([order[0]]))
    assert time.perf_counter() - began < 5  # all pairs would take minutes


# -- interval columns of many values -------------------------------------------------------------


def test_an_interval_domain_keeps_its_steps() -> None:
    domain = IntervalSpec(5).build(column_of(["17", "90"]))
    assert isinstance(domain, IntervalDomain)
    assert (domain.size, domain.describe()) == (16, "[15-19] … [90-94]")


@given(hierarchies())
def test_a_tree_domain_codes_its_leaves_in_pre_order(tree: Hierarchy) -> None:
    domain = TreeSpec(tree).build(column_of(tree.leaves))
    assert domain.find(tree.leaves).tolist() == list(range(domain.size))
