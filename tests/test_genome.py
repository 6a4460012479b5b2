"""Genomes: bits and generalizations are two ways to write the same thing."""

from __future__ import annotations

import doctest
from functools import partial
from itertools import combinations, pairwise, product
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import moanon.data.cells
import moanon.data.domain
import moanon.data.hierarchy
import moanon.data.steps
import moanon.genome
from moanon.data.domain import Domain, DomainSpec, OrderedDomain, OrderedSpec, TreeDomain
from moanon.data.hierarchy import Hierarchy
from moanon.data.table import Table
from moanon.engines import read_table
from moanon.errors import DataError, GenomeError
from moanon.genome import Instance, Layout
from tests.refusals import refusal_of
from tests.strategies import hierarchies, instances

WORK = Hierarchy.from_nested("Any", {"Public": ["Local", "State"], "Private": None})


def order(size: int) -> OrderedDomain:
    return OrderedDomain(tuple(f"v{i}" for i in range(size)))


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """One to three columns with at most 10 bits together."""
    domains: dict[str, Domain] = {}
    bits = 10
    for i in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            domains[f"c{i}"] = order(draw(st.integers(1, min(4, bits + 1))))
        else:
            domains[f"c{i}"] = TreeDomain(draw(hierarchies(most_leaves=min(5, bits + 1))))
        bits -= domains[f"c{i}"].size - 1
    return Layout(domains)


def small() -> Layout:
    """Bits 0-1: size. Bits 2-3: work. No bit: one. Bit 4: sex."""
    return Layout(
        {
            "size": order(3),
            "work": TreeDomain(WORK),
            "one": order(1),
            "sex": OrderedDomain(("f", "m")),
        }
    )


refusal = partial(refusal_of, GenomeError)


# -- where the bits lie --------------------------------------------------------------------------


def test_each_column_has_a_bit_less_than_values() -> None:
    layout = small()
    assert layout.columns == ("size", "work", "one", "sex")
    assert layout.sizes.tolist() == [3, 3, 1, 2]
    assert layout.offsets.tolist() == [0, 2, 4, 4, 5]
    assert layout.bits == 5
    assert [(name, place) for name, _, place in layout.slices()] == [
        ("size", slice(0, 2)),
        ("work", slice(2, 4)),
        ("one", slice(4, 4)),
        ("sex", slice(4, 5)),
    ]


def test_labels_are_those_of_the_blocks() -> None:
    assert small().labels([1, 0, 0, 1, 0]) == {
        "size": ("v0", "v1..v2"),
        "work": ("Public", "Private"),
        "one": ("v0",),
        "sex": ("*",),
    }


def test_all_ones_is_the_base_table_and_all_zeros_suppresses_every_cell() -> None:
    layout = small()
    assert layout.labels([1] * 5)["work"] == ("Local", "State", "Private")
    assert layout.labels([0] * 5) == {"size": ("*",), "work": ("*",), "one": ("v0",), "sex": ("*",)}


def test_a_table_may_have_no_bits() -> None:
    layout = Layout({"a": order(1), "b": order(1)})
    assert layout.bits == 0
    assert layout.parse("").shape == (0,)
    assert layout.decode([]) == {"a": ((0, 1),), "b": ((0, 1),)}
    assert [genome.tolist() for genome in layout.enumerate()] == [[]]
    assert layout.full_domain().shape == (1, 0)
    assert layout.check(np.zeros((3, 0))).shape == (3, 0)


# -- laws ----------------------------------------------------------------------------------------


@given(layouts())
def test_a_genome_is_valid_exactly_when_every_block_is_allowed(layout: Layout) -> None:
    everything = np.array(list(product((0, 1), repeat=layout.bits)), dtype=np.uint8)
    everything = everything.reshape(2**layout.bits, layout.bits)
    for genome, valid in zip(everything, layout.is_valid(everything), strict=True):
        expected = True
        for _, domain, place in layout.slices():
            if isinstance(domain, TreeDomain):
                edges = [0, *(np.flatnonzero(genome[place]) + 1).tolist(), domain.size]
                nodes = set(zip(domain.hierarchy.starts, domain.hierarchy.stops, strict=True))
                expected &= set(pairwise(edges)) <= nodes
        assert valid == expected


@given(layouts())
def test_every_genome_is_listed_once_counted_and_coded_both_ways(layout: Layout) -> None:
    genomes = list(layout.enumerate())
    texts = {layout.text(genome) for genome in genomes}
    assert len(texts) == len(genomes) == layout.count()
    for genome in genomes:
        assert (layout.encode(layout.decode(genome)) == genome).all()
        assert (layout.parse(layout.text(genome)) == genome).all()


@given(layouts(), st.data())
def test_a_generalization_is_its_genome_decoded(layout: Layout, data: st.DataObject) -> None:
    chosen = {}
    for name, domain in layout.domains.items():
        if isinstance(domain, TreeDomain):
            cuts = list(domain.hierarchy.cuts())
            cut = cuts[data.draw(st.integers(0, len(cuts) - 1))]
            tree = domain.hierarchy
            chosen[name] = tuple((tree.starts[node], tree.stops[node]) for node in cut)
        else:
            inner = data.draw(st.sets(st.integers(1, domain.size - 1))) if domain.size > 1 else ()
            edges = [0, *sorted(inner), domain.size]
            chosen[name] = tuple(pairwise(edges))
    assert layout.decode(layout.encode(chosen)) == chosen


@given(layouts())
def test_the_number_of_genomes_is_that_of_the_valid_bit_strings(layout: Layout) -> None:
    everything = np.array(list(product((0, 1), repeat=layout.bits)), dtype=np.uint8)
    assert layout.is_valid(everything.reshape(2**layout.bits, layout.bits)).sum() == layout.count()


@given(instances(), st.integers(0, 2**32 - 1))
def test_samples_are_valid(instance: Instance, seed: int) -> None:
    sample = instance.layout.sample(10, np.random.default_rng(seed))
    assert sample.shape == (10, instance.layout.bits)
    assert (instance.layout.check(sample) == sample).all()


@given(instances(), st.integers(0, 2**32 - 1))
def test_union_and_intersection_of_genomes_are_valid(instance: Instance, seed: int) -> None:
    sample = instance.layout.sample(6, np.random.default_rng(seed))
    pairs = list(combinations(sample, 2))
    assert instance.layout.is_valid(np.array([one | two for one, two in pairs])).all()
    assert instance.layout.is_valid(np.array([one & two for one, two in pairs])).all()


@given(instances(), st.integers(0, 2**32 - 1))
def test_packed_genomes_come_back_and_sort_as_they_do(instance: Instance, seed: int) -> None:
    layout = instance.layout
    genomes = layout.sample(20, np.random.default_rng(seed))
    packed = layout.pack(genomes)
    assert packed.shape == (20, layout.packed_bytes)
    assert np.array_equal(layout.unpack(packed), genomes)
    by_bits = sorted(range(20), key=lambda row: genomes[row].tobytes())
    assert by_bits == sorted(range(20), key=lambda row: packed[row].tobytes())


def test_of_a_tree_one_bit_of_each_inner_node_is_packed() -> None:
    tree = Hierarchy.from_yaml("Any: {North: [a, b, c], South: [d, e]}")
    layout = Layout({"place": TreeDomain(tree), "size": OrderedDomain(("S", "M", "L"))})
    # boundaries a|b and b|c are North's, c|d is Any's, d|e is South's; then two of size
    assert layout.decided_by.tolist() == [0, 0, 2, 3, 4, 5]
    assert layout.free.tolist() == [0, 2, 3, 4, 5]
    assert layout.pack(layout.parse("001001")[None]).tolist() == [[0b01001000]]


@given(layouts())
def test_full_domain_genomes_take_a_level_of_each_column(layout: Layout) -> None:
    genomes = layout.full_domain()
    assert layout.is_valid(genomes).all()
    assert len({layout.text(genome) for genome in genomes}) == len(genomes)
    assert genomes[0].all()
    assert not genomes[-1].any()
    for _, domain, place in layout.slices():
        levels = {bits.tobytes() for bits in domain.full_domain()}
        assert {genome[place].tobytes() for genome in genomes} == levels


def test_full_domain_genomes_of_a_small_table() -> None:
    layout = Layout({"size": order(3), "work": TreeDomain(WORK)})
    # size: all apart or all one. work: leaves, Public and Private, Any.
    assert [layout.text(genome) for genome in layout.full_domain()] == [
        "1111",
        "1101",
        "1100",
        "0011",
        "0001",
        "0000",
    ]


# -- large spaces --------------------------------------------------------------------------------


def test_genomes_are_counted_exactly() -> None:
    assert Layout({f"c{i}": order(100) for i in range(10)}).count() == 2**990
    assert Layout({"a": order(65_536), "b": order(2)}).count() == 2**65_536


def test_spaces_too_large_to_list_are_refused() -> None:
    # 2 ** 70,000 has more digits than Python writes.
    layout = Layout({"a": order(60_001), "b": order(10_001)})
    message = refusal(layout.enumerate)
    assert message == "the table has more than 10000000 valid genomes; too many to list"
    message = refusal(small().enumerate, 23)
    assert message == "the table has more than 23 valid genomes; too many to list"
    assert (
        sum(1 for _ in small().enumerate(limit=4 * 3 * 2)) == small().count() == 24
    )  # size, work, sex


def test_lattices_too_large_to_list_are_refused() -> None:
    layout = Layout({f"c{i}": order(2) for i in range(4)})
    assert len(layout.full_domain(limit=16)) == 16
    message = refusal(layout.full_domain, 15)
    assert message == "the table has more than 15 full-domain genomes; too many to list"


def test_listing_a_large_column_begins_at_once() -> None:
    layout = Layout({"a": order(24), "b": order(2)})
    first = next(iter(layout.enumerate(limit=2**24)))
    assert layout.text(first) == "0" * 24


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("genome", "message"),
    [
        ([1, 0], "a genome of this table has 5 bits. Got 2"),
        ([[[1, 0]]], "a genome of this table has 5 bits. Got an array of shape (1, 1, 2)"),
        ([[0] * 5, [0] * 4], "every genome of this table has 5 bits"),
        ([0, 0, 0, 0, 2], "a genome holds zeros and ones only"),
        ([0, 0, 0, 0, -1], "a genome holds zeros and ones only"),
        ([0, 0, 0, 0, 0.5], "a genome holds zeros and ones only"),
        ([0, 0, 0, 0, float("nan")], "a genome holds zeros and ones only"),
        (["0", "0", "0", "0", "0"], "a genome holds zeros and ones only"),
        (
            [1, 1, 1, 0, 1],
            "genome 11101 is not valid: in column 'work' the block from 'State' to 'Private' is "
            "not a node of the hierarchy",
        ),
        (
            [[0] * 5, [0, 0, 1, 0, 0]],
            "genome 00100 is not valid: in column 'work' the block from 'State' to 'Private' is "
            "not a node of the hierarchy",
        ),
    ],
)
def test_what_is_no_genome_is_refused(genome: object, message: str) -> None:
    assert refusal(small().check, genome) == message


def test_validity_of_genomes_of_another_length_is_not_guessed() -> None:
    too_long = np.zeros((2, 6), dtype=np.uint8)
    assert refusal(small().is_valid, too_long) == "a genome of this table has 5 bits. Got 6"


def test_a_genome_with_something_else_than_bits_is_not_valid() -> None:
    genomes = np.ones((2, 5), dtype=np.uint8)
    genomes[1, 0] = 2
    assert small().is_valid(genomes).tolist() == [True, False]


def test_long_genomes_are_cut_off_in_messages() -> None:
    layout = Layout({"work": TreeDomain(WORK), "long": order(1000)})
    message = refusal(layout.check, [1, 0] + [0] * 999)
    assert message.startswith(f"genome 10{'0' * 58}… is not valid: in column 'work'")


def test_genomes_may_be_given_as_any_numbers_or_truth_values() -> None:
    for genome in ([1.0, 0.0, 0.0, 0.0, 1.0], np.array([True, False, False, False, True])):
        assert small().check(genome).tolist() == [[1, 0, 0, 0, 1]]
        assert small().check(genome).dtype == np.uint8


@pytest.mark.parametrize("text", ["1010x", "1010 ", "2", "１0100"])
def test_texts_of_other_signs_are_no_genomes(text: str) -> None:
    assert refusal(small().parse, text) == f"a genome is written in 0 and 1. Got {text!r}"


def test_texts_of_another_length_are_no_genomes() -> None:
    assert refusal(small().parse, "1010") == "a genome of this table has 5 bits. Got 4"


def test_genomes_are_decoded_one_at_a_time() -> None:
    assert refusal(small().decode, [[0] * 5] * 2) == "one genome is decoded at a time. Got 2"


WHOLE = {"size": ((0, 3),), "work": ((0, 3),), "one": ((0, 1),), "sex": ((0, 2),)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"size": ((0, 1), (2, 3))},
            "column 'size': blocks must follow each other from 0 to 3. Got (2, 3) after 1",
        ),
        (
            {"size": ((1, 3),)},
            "column 'size': blocks must follow each other from 0 to 3. Got (1, 3) after 0",
        ),
        (
            {"size": ((0, 3), (3, 3))},
            "column 'size': blocks must follow each other from 0 to 3. Got (3, 3) after 3",
        ),
        (
            {"size": ((0, 1.5), (1.5, 3))},
            "column 'size': blocks must follow each other from 0 to 3. Got (0, 1.5) after 0",
        ),
        ({"size": ((0, 2),)}, "column 'size': blocks end at 2 instead of 3"),
        ({"size": ((0, 4),)}, "column 'size': blocks end at 4 instead of 3"),
        ({"size": ()}, "column 'size': blocks end at 0 instead of 3"),
        (
            {"work": ((0, 1), (1, 3))},
            "genome 00100 is not valid: in column 'work' the block from 'State' to 'Private' is "
            "not a node of the hierarchy",
        ),
        (
            {"a": ((0, 1),)},
            "a generalization names the columns size, work, one, sex. Got size, work, one, sex, a",
        ),
    ],
)
def test_blocks_that_do_not_fit_are_refused(change: dict[str, object], message: str) -> None:
    assert refusal(small().encode, {**WHOLE, **change}) == message


# -- instances -----------------------------------------------------------------------------------


def test_roles_are_not_gone_through_for_each_column(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    with_role = Table._with
    monkeypatch.setattr(Table, "_with", lambda *given: asked.append(given) or with_role(*given))
    often = []
    for columns in (2, 20):
        names = [f"c{i}" for i in range(columns)]
        table = read_table(pd.DataFrame({n: ["a"] for n in names}), dict.fromkeys(names, "quasi"))
        asked.clear()
        Instance.build(table, dict.fromkeys(names, OrderedSpec(("a", "b"))))
        often.append(len(asked))
    assert often[0] == often[1]


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        (
            {"a": OrderedSpec(("1",))},
            "column 'b' is a quasi-identifier and needs a domain: interval, ordered or tree",
        ),
        (
            dict.fromkeys("abc", OrderedSpec(("1",))),
            "column 'c' has a domain but is not a quasi-identifier",
        ),
    ],
)
def test_every_quasi_identifier_and_nothing_else_has_a_domain(
    specs: dict[str, DomainSpec], message: str
) -> None:
    frame = pd.DataFrame({"a": ["1"], "b": ["1"], "c": ["1"]})
    table = read_table(frame, {"a": "quasi", "b": "quasi", "c": "sensitive"})
    with pytest.raises(DataError) as caught:
        Instance.build(table, specs)
    assert str(caught.value) == message


def test_bits_stand_in_the_order_of_the_table_not_of_the_specs() -> None:
    frame = pd.DataFrame({"b": ["1"], "a": ["x"]})
    table = read_table(frame, {"a": "quasi", "b": "quasi"})
    specs = {"a": OrderedSpec(("x", "y")), "b": OrderedSpec(("1", "2", "3"))}
    assert Instance.build(table, specs).layout.columns == ("b", "a")


@pytest.mark.parametrize(
    "module",
    [
        moanon.data.cells,
        moanon.data.domain,
        moanon.data.hierarchy,
        moanon.data.steps,
        moanon.genome,
    ],
)
def test_examples_in_docstrings_hold(module: ModuleType) -> None:
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0
