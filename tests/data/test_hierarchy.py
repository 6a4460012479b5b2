"""Trees are read or refused with a sentence; their cuts obey the laws that the search relies on."""

from __future__ import annotations

from functools import partial
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data import hierarchy as hierarchy_module
from moanon.data.hierarchy import MAX_LEAVES, Hierarchy
from moanon.data.treefile import MAX_LEVELS
from moanon.errors import ConfigError
from tests.refusals import refusal_of
from tests.strategies import hierarchies, nested_trees

WORK = "Any: {Self-employed: [Inc, Not-inc], Government: [Federal, Local, State], Private: }"


def work() -> Hierarchy:
    return Hierarchy.from_yaml(WORK)


def all_bits(width: int) -> np.ndarray:
    return np.array(list(product((0, 1), repeat=width)), dtype=np.uint8).reshape(2**width, width)


def leaf_sets(nested: object) -> tuple[tuple[str, ...], set[tuple[str, ...]]]:
    """Leaves of a nesting in order, and the leaves of each of its nodes; straight recursion."""
    leaves: tuple[str, ...] = ()
    sets: set[tuple[str, ...]] = set()
    items = nested.items() if isinstance(nested, dict) else [(name, None) for name in nested]
    for name, below in items:
        of_child, sets_below = ((name,), set()) if below is None else leaf_sets(below)
        sets |= {of_child} | sets_below
        leaves += of_child
    return leaves, sets | {leaves}


# -- looking -------------------------------------------------------------------------------------


def test_leaves_stand_in_pre_order() -> None:
    assert work().leaves == ("Inc", "Not-inc", "Federal", "Local", "State", "Private")


def test_nodes_cover_runs_of_leaves() -> None:
    tree = work()
    covered = {
        name: tree.leaves[start:stop]
        for name, start, stop in zip(tree.names, tree.starts, tree.stops, strict=True)
    }
    assert covered["Any"] == tree.leaves
    assert covered["Government"] == ("Federal", "Local", "State")
    assert covered["Private"] == ("Private",)


def test_boundaries_belong_to_the_lowest_node_that_holds_both_sides() -> None:
    tree = work()
    owners = [tree.names[tree.inner[owner]] for owner in tree.owner]
    assert owners == ["Self-employed", "Any", "Government", "Government", "Any"]
    assert [owners[boundary] for boundary in tree.first_boundary] == [
        tree.names[node] for node in tree.inner
    ]


def test_levels_of_a_yaml_tree_are_its_depths() -> None:
    tree = work()
    assert [[tree.names[node] for node in cut] for cut in tree.levels] == [
        ["Inc", "Not-inc", "Federal", "Local", "State", "Private"],
        ["Self-employed", "Government", "Private"],
        ["Any"],
    ]


def test_chains_of_only_children_are_called_by_their_lowest_name() -> None:
    tree = Hierarchy.from_yaml("Any: {All: {a: {A: {AA: }}, b: }}")
    assert tree.names == ("All", "AA", "b")
    assert tree.above == (("Any",), ("a", "A"), ())


def test_levels_of_a_yaml_tree_with_chains_are_the_depths_as_written() -> None:
    tree = Hierarchy.from_yaml("Any: {Europe: {DE: [Berlin]}, X: [a, b]}")
    assert tree.level_labels == (("Berlin", "a", "b"), ("DE", "a", "b"), ("Europe", "X"), ("Any",))
    assert [[tree.names[node] for node in cut] for cut in tree.levels] == [
        ["Berlin", "a", "b"],
        ["Berlin", "a", "b"],
        ["Berlin", "X"],
        ["Any"],
    ]


def test_all_names_count_those_of_collapsed_nodes() -> None:
    tree = Hierarchy.from_yaml("Any: {Europe: {DE: [Berlin]}, c: }")
    assert tree.all_names == {"Any", "Europe", "DE", "Berlin", "c"}


def test_a_tree_may_have_one_leaf() -> None:
    tree = Hierarchy.from_yaml("Any: [only]")
    assert tree.names == tree.leaves == ("only",)
    assert tree.count_cuts() == 1
    assert list(tree.cuts()) == [(0,)]
    assert tree.is_cut(np.zeros((3, 0), dtype=np.uint8)).all()


# -- cuts ----------------------------------------------------------------------------------------


@given(nested_trees(most_leaves=9))
def test_bits_are_a_cut_exactly_when_every_block_is_a_node(nested: object) -> None:
    tree = Hierarchy.from_nested("Any", nested)
    leaves, nodes = leaf_sets(nested)
    assert tree.leaves == leaves
    bits = all_bits(len(leaves) - 1)
    for row, valid in zip(bits.tolist(), tree.is_cut(bits), strict=True):
        edges = [0, *(i + 1 for i, bit in enumerate(row) if bit), len(leaves)]
        assert valid == all(leaves[a:b] in nodes for a, b in pairwise(edges))


@given(hierarchies(most_leaves=9))
def test_every_cut_is_listed_once_and_counted(tree: Hierarchy) -> None:
    cuts = list(tree.cuts())
    valid = int(tree.is_cut(all_bits(len(tree.leaves) - 1)).sum())
    assert len(cuts) == len(set(cuts)) == tree.count_cuts() == valid
    assert tree.is_cut(np.array([tree.cut_bits(cut) for cut in cuts])).all()


def test_the_coarsest_cut_is_listed_first_and_the_leaves_last() -> None:
    tree = work()
    cuts = [[tree.names[node] for node in cut] for cut in tree.cuts()]
    assert cuts[0] == ["Any"]
    assert cuts[1] == ["Self-employed", "Government", "Private"]
    assert tuple(cuts[-1]) == tree.leaves
    assert len(cuts) == 5  # 1 + 2 * 2 * 1


@given(hierarchies(), st.data())
def test_union_and_intersection_of_cuts_are_cuts(tree: Hierarchy, data: st.DataObject) -> None:
    cuts = np.array([tree.cut_bits(cut) for cut in tree.cuts()])
    one, two = (data.draw(st.integers(0, len(cuts) - 1)) for _ in range(2))
    assert tree.is_cut(np.array([cuts[one] | cuts[two], cuts[one] & cuts[two]])).all()


@given(hierarchies())
def test_flags_of_expanded_nodes_and_bits_of_cuts_say_the_same(tree: Hierarchy) -> None:
    bits = np.array([tree.cut_bits(cut) for cut in tree.cuts()])
    assert (tree.bits_of(bits[:, tree.first_boundary]) == bits).all()


@given(hierarchies())
def test_levels_are_cuts_that_only_grow_coarser(tree: Hierarchy) -> None:
    bits = np.array([tree.cut_bits(cut) for cut in tree.levels])
    assert tree.is_cut(bits).all()
    assert bits[0].all()
    assert not bits[-1].any()
    assert all((finer >= coarser).all() for finer, coarser in pairwise(bits))


def test_a_leaf_can_be_added_under_the_root() -> None:
    tree = work().with_leaf("(missing)")
    assert tree.leaves[-1] == "(missing)"
    assert [[tree.names[node] for node in cut] for cut in tree.levels[1:]] == [
        ["Self-employed", "Government", "Private", "(missing)"],
        ["Any"],
    ]


@given(hierarchies())
def test_a_tree_with_one_more_leaf_is_what_a_file_with_it_would_give(tree: Hierarchy) -> None:
    assert tree.with_leaf("extra") == Hierarchy.from_arx(tree.with_leaf("extra").to_arx())


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("only", "only;*\nextra;*\n"),
        ("only;Any", "only;Any\nextra;Any\n"),
        ("only;DE;DE;*", "only;DE;DE;*\nextra;extra;extra;*\n"),
        ("a;A;All;*\nb;A;All;*", "a;A;All;*\nb;A;All;*\nextra;extra;extra;*\n"),
        ("a;A;*\nb;b;*", "a;A;*\nb;b;*\nextra;extra;*\n"),
    ],
)
def test_a_leaf_is_added_beside_chains(text: str, written: str) -> None:
    tree = Hierarchy.from_arx(text).with_leaf("extra")
    assert tree.to_arx() == written
    assert tree == Hierarchy.from_arx(written)


def test_all_below_a_root_of_one_child_is_a_block_beside_an_added_leaf() -> None:
    tree = Hierarchy.from_yaml("World: {Earth: {North: [a, b], South: [c, d]}}").with_leaf("extra")
    assert tree.names == ("World", "Earth", "North", "a", "b", "South", "c", "d", "extra")
    assert [{tree.names[node] for node in cut} for cut in tree.cuts()][:2] == [
        {"World"},
        {"Earth", "extra"},
    ]


def test_an_added_leaf_must_not_have_a_collapsed_name() -> None:
    with pytest.raises(ConfigError, match="has a node called 'A' already"):
        Hierarchy.from_arx("a;A;*\nb;b;*").with_leaf("A")


def test_an_added_leaf_must_not_be_there() -> None:
    with pytest.raises(ConfigError, match="has a node called 'Government' already"):
        work().with_leaf("Government")


# -- reading and writing -------------------------------------------------------------------------


@st.composite
def strange_hierarchies(draw: st.DrawFn) -> Hierarchy:
    """A tree whose names try to break a file, with chains: quotes, line ends, YAML's marks."""
    awkward = st.sampled_from(
        ["No", "01", "~", "null", "a: b", "- a", "#", "a;b", 'a"', "\r", "\x85", "<<"]
    )
    text = st.text(min_size=1).filter(lambda name: name != "*" and "\0" not in name)
    names = iter(draw(st.lists(awkward | text, min_size=60, max_size=60, unique=True)))

    def renamed(nested: object) -> dict[str, object]:
        below = nested.values() if isinstance(nested, dict) else [None for _ in nested]
        return {next(names): renamed_below(value) for value in below}

    def renamed_below(value: object) -> object:
        below = None if value is None else renamed(value)
        if draw(st.integers(0, 4)) == 0:  # a chain above whatever is here
            return {next(names): below}
        return below

    return Hierarchy.from_nested(next(names), renamed(draw(nested_trees(most_leaves=6))))


@given(strange_hierarchies())
def test_yaml_is_read_back_as_written(tree: Hierarchy) -> None:
    assert Hierarchy.from_yaml(tree.to_yaml()) == tree


@given(strange_hierarchies(), st.sampled_from(";,"))
def test_arx_is_read_back_as_written(tree: Hierarchy, delimiter: str) -> None:
    assert Hierarchy.from_arx(tree.to_arx(delimiter)) == tree


@given(strange_hierarchies())
def test_yaml_keeps_all_that_an_arx_file_names(tree: Hierarchy) -> None:
    again = Hierarchy.from_yaml(Hierarchy.from_arx(tree.to_arx()).to_yaml())
    assert again == tree


@pytest.mark.parametrize(
    "text",
    [
        "South;Africa;*\na;A;*\nb;A;*\n",
        "10th;High School;Secondary education;*\n9th;High School;Secondary education;*\nx;x;x;*\n",
        "a;a;A;*\nb;B;B;*\n",
        "a;A;All;*\nb;A;All;*\n",
        "only;DE;DE;*\n",
    ],
)
def test_arx_files_with_chains_come_back_with_their_own_labels(text: str) -> None:
    assert Hierarchy.from_arx(text).to_arx() == text


def test_yaml_files_with_chains_come_back_with_all_names() -> None:
    tree = Hierarchy.from_yaml("Any: {Europe: {DE: [Berlin]}, X: [a, b]}")
    assert tree.to_yaml() == "Any:\n  Europe:\n    DE: [Berlin]\n  X: [a, b]\n"


def test_trees_that_differ_in_a_collapsed_name_differ() -> None:
    assert Hierarchy.from_arx("a;A;*\nb;b;*") != Hierarchy.from_arx("a;B;*\nb;b;*")


def test_names_that_yaml_could_misread_are_written_in_quotes() -> None:
    tree = Hierarchy.from_nested("Any", ["No", "01", "2020-01-01", "plain text"])
    assert tree.to_yaml() == 'Any: ["No", "01", "2020-01-01", plain text]\n'


def test_names_too_long_for_a_yaml_key_are_read_back() -> None:
    tree = Hierarchy.from_nested("Any", {"x" * 5000: ["a", "b"], "c": None})
    assert Hierarchy.from_yaml(tree.to_yaml()) == tree


def test_yaml_scalars_are_text() -> None:
    tree = Hierarchy.from_yaml("Any: [No, 01, ~, 1e3, 2020-01-01, 'x']")
    assert tree.leaves == ("No", "01", "~", "1e3", "2020-01-01", "x")


@pytest.mark.parametrize("nothing", ["", "~", "null", "[]", "{}"])
def test_a_node_with_nothing_below_is_a_leaf(nothing: str) -> None:
    assert Hierarchy.from_yaml(f"Any:\n  a: {nothing}\n  b:").leaves == ("a", "b")


def test_a_list_may_hold_nodes_with_leaves() -> None:
    tree = Hierarchy.from_yaml("Any: [a, {B: [b, c], D: [d, e]}, f]")
    assert tree == Hierarchy.from_nested("Any", ["a", {"B": ["b", "c"], "D": ["d", "e"]}, "f"])
    assert tree.leaves == tuple("abcdef")


def test_arx_pads_shallow_leaves_with_their_own_label() -> None:
    tree = Hierarchy.from_arx("a;A;*\nb;A;*\nc;c;*\n")
    assert tree.names == ("*", "A", "a", "b", "c")


def test_levels_of_an_arx_tree_are_its_columns() -> None:
    tree = Hierarchy.from_arx("a;A;AA;*\nb;A;AA;*\nc;c;c;*\n")
    assert [[tree.names[node] for node in cut] for cut in tree.levels] == [
        ["a", "b", "c"],
        ["A", "c"],
        ["A", "c"],
        ["*"],
    ]


def test_arx_leaves_need_not_stand_beside_their_siblings() -> None:
    tree = Hierarchy.from_arx("a;A;*\nb;B;*\nc;A;*\nd;B;*\n")
    assert tree.leaves == ("a", "c", "b", "d")
    assert [len(cut) for cut in tree.levels] == [4, 2, 1]


def test_arx_leaves_alone_can_be_told_apart_or_not() -> None:
    tree = Hierarchy.from_arx("a\nb\nc\n")
    assert tree.names == ("*", "a", "b", "c")
    assert tree.count_cuts() == 2


@pytest.mark.parametrize("text", ["a,A,*\nb,A,*\n", '"a;1",A,*\n"b;1",A,*\n', "a,A,*\r\nb,A,*\r\n"])
def test_arx_may_be_separated_by_commas(text: str) -> None:
    assert Hierarchy.from_arx(text).names[0] == "A"  # the star above has one child
    assert len(Hierarchy.from_arx(text).leaves) == 2


def test_line_ends_inside_a_name_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "tree.csv"
    path.write_bytes(b'"a\r\nb";*\r\nc;*\r\n')
    assert Hierarchy.read(path).leaves == ("a\r\nb", "c")


def test_files_are_told_apart_by_their_ending(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("\ufeffAny: [a, b]", encoding="utf-8")
    (tmp_path / "a.CSV").write_text("\ufeffa;Any\nb;Any\n", encoding="utf-8")
    assert Hierarchy.read(tmp_path / "a.yml") == Hierarchy.read(str(tmp_path / "a.CSV"))


@pytest.mark.parametrize(
    ("name", "leaves", "levels", "cuts"),
    [
        ("age", 100, 5, 11_881_377),  # 1 + (1 + (1 + 2 ** 2) ** 2) ** 5
        ("education", 16, 4, 37),  # 1 + (1 + 2 ** 3) * 2 * 2
        ("marital-status", 7, 3, 5),  # {2 leaves}, {5 leaves}: 1 + 2 * 2
        ("native-country", 41, 3, 17),  # 1 + 2 ** 4; one leaf alone in Africa
        ("occupation", 14, 3, 9),  # three groups: 1 + 2 ** 3
        ("race", 5, 2, 2),
        ("salary-class", 2, 2, 2),
        ("sex", 2, 2, 2),
        ("workclass", 8, 3, 9),  # likewise
    ],
)
def test_arx_files_of_adult_are_read(
    shared: Path, name: str, leaves: int, levels: int, cuts: int
) -> None:
    path = shared / "arx" / f"adult_hierarchy_{name}.csv"
    tree = Hierarchy.read(path)
    assert (len(tree.leaves), len(tree.levels)) == (leaves, levels)
    assert tree.names[0] == "*"
    assert tree.count_cuts() == cuts
    assert Hierarchy.from_arx(tree.to_arx()) == tree
    assert sorted(tree.to_arx().splitlines()) == sorted(path.read_text().splitlines())
    again = Hierarchy.from_yaml(tree.to_yaml())
    assert (again.names, again.above, again.parents) == (tree.names, tree.above, tree.parents)


@pytest.mark.parametrize(
    ("name", "leaves", "cuts"),
    [
        ("marital-status", 7, 10),  # 1 + (1 + 1 * 2) * (1 + 1 * 2)
        ("native-country", 41, 2602),  # 1 + (1 + 2 ** 4) * (1 + 2 ** 4) * (1 + 2 ** 3) * 1
        ("occupation", 14, 51),  # 1 + (1 + 2 * 2) * (1 + 2 * 2) * 2
        ("workclass", 7, 5),  # 1 + 2 * 2 * 1 * 1
    ],
)
def test_yaml_trees_of_adult_are_read(shared: Path, name: str, leaves: int, cuts: int) -> None:
    tree = Hierarchy.read(shared / "adult" / f"{name}.yaml")
    assert len(tree.leaves) == leaves
    assert tree.names[0] == "Any"
    assert tree.count_cuts() == cuts
    assert Hierarchy.from_yaml(tree.to_yaml()) == tree
    assert Hierarchy.from_arx(tree.to_arx()) == tree


# -- refusals ------------------------------------------------------------------------------------


refusal = partial(refusal_of, ConfigError)


ONE_ROOT = "t must be a mapping with exactly one root, e.g. 'Any: [a, b]'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t is empty; a hierarchy needs at least one leaf"),
        ("# nothing but a remark\n", "t is empty; a hierarchy needs at least one leaf"),
        ("a", ONE_ROOT),
        ("[a, b]", ONE_ROOT),
        ("{}", ONE_ROOT),
        ("A: [a]\nB: [b]\n", ONE_ROOT),
        (
            "Any:\n  a: &x [b]\n  c: *x\n",
            "t, line 2: anchors and aliases are not allowed in a hierarchy (a tree must not "
            "contain itself)",
        ),
        (
            "Any:\n  a: [b]\n  c: *x\n",
            "t, line 3: anchors and aliases are not allowed in a hierarchy (a tree must not "
            "contain itself)",
        ),
        (
            "Any: [&x a, b]",
            "t, line 1: anchors and aliases are not allowed in a hierarchy (a tree must not "
            "contain itself)",
        ),
        (
            "Any: [a]\n---\nAny: [b]\n",
            "t, line 2: a second YAML document begins; a file is one tree",
        ),
        ("Any:\n  x: [a]\n  x: [b]\n", "t, line 3: node 'x' appears twice"),
        (
            'Any:\n  [a, "\\ud800"]\n',
            "t, line 2: the escape of U+D800 is half a character, which no file can hold; write "
            "the whole character",
        ),
        ("Any: [a, [b, c]]", "t, line 1: a list of leaves holds a list"),
        ("Any:\n  ? [a, b]\n  : c\n", "t, line 2: a node's name must be text"),
        ("Any:\n  ? {a: b}\n  : c\n", "t, line 2: a node's name must be text"),
        (
            "Any:\n  a: b\n",
            "t, line 2: below a node there must be a mapping, a list or nothing. Got 'b'",
        ),
        (
            "Any:\n  a: ''\n",
            "t, line 2: below a node there must be a mapping, a list or nothing. Got ''",
        ),
        ("Any: [a, b, a]", "t: leaf 'a' appears twice"),
        ("Any: {x: [a, b], y: [b, c]}", "t: leaf 'b' appears twice"),
        (
            "Any: {x: [x, b], c: }",
            "t: 'x' names two different sets of values; a released label must name one, so rename "
            "one of them",
        ),
        (
            "Any: {x: [a, b], y: {x: [c, d], e: }}",
            "t: 'x' names two different sets of values; a released label must name one, so rename "
            "one of them",
        ),
        (
            "Any: ['*', b]",
            "t: only a root with leaves below may be called '*'; it stands for any value",
        ),
        (
            "Any: {'*': [a, b], c: }",
            "t: only a root with leaves below may be called '*'; it stands for any value",
        ),
        ("'*': ", "t: only a root with leaves below may be called '*'; it stands for any value"),
        (
            "Any: {x: [a], y: {x: [b]}}",
            "t: 'x' names two different sets of values; a released label must name one, so rename "
            "one of them",
        ),
        (
            "Any: {x: {y: [a]}, y: [b, c]}",
            "t: 'y' names two different sets of values; a released label must name one, so rename "
            "one of them",
        ),
        (
            "Any: {x: [a], b: , y: [x, c]}",
            "t: 'x' names two different sets of values; a released label must name one, so rename "
            "one of them",
        ),
        (
            "Any: {x: {y: {x: [a, b]}}, c: }",
            "t: 'x' comes back below itself, so the hierarchy has a cycle",
        ),
        (
            "Any: {'*': [a], b: }",
            "t: only a root with leaves below may be called '*'; it stands for any value",
        ),
        (
            "Any: {'*': [a, b]}",
            "t: only a root with leaves below may be called '*'; it stands for any value",
        ),
        (
            'Any: ["a\\0", b]',
            "t: a node's name must not hold a NUL character. Got 'a\\x00'",
        ),
        ("Any: {'': [a], b: }", "t: a node has an empty name"),
        ("Any: ['', b]", "t: a node has an empty name"),
        ("Any: {'': [a, b], c: }", "t: a node has an empty name"),
    ],
)
def test_yaml_that_is_no_tree_is_refused(text: str, message: str) -> None:
    assert refusal(Hierarchy.from_yaml, text, "t") == message


@pytest.mark.parametrize("text", ["Any: [a", "Any:\n\t- a", "Any: [\x07]"])
def test_broken_yaml_is_refused_in_one_line(text: str) -> None:
    message = refusal(Hierarchy.from_yaml, text, "t")
    assert message.startswith("t is not valid YAML: ")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t is empty; a hierarchy needs at least one leaf"),
        ("\n;;\n\n", "t is empty; a hierarchy needs at least one leaf"),
        ("a;A;*\nb;*\n", "t, line 2: a ragged hierarchy: 2 levels here, 3 in line 1"),
        ("a;A;*\n\nb;A;*\n", "t, line 2: a ragged hierarchy: 0 levels here, 3 in line 1"),
        ("a;X\nb;Y\n", "t: the last column must hold one root for all leaves. Got 'X', 'Y'"),
        (
            "a;A;a;*\nb;A;a;*\n",
            "t, line 1: a label comes back above itself (a;A;a;*), so the hierarchy has a cycle",
        ),
        (
            "b;A;B;A;*\n",
            "t, line 1: a label comes back above itself (A;B;A;*), so the hierarchy has a cycle",
        ),
        ("a;A;*\nb;B;*\na;B;*\n", "t, line 3: leaf 'a' appears twice"),
        (
            "a;A;X;*\nb;A;Y;*\n",
            "t, line 2: 'A' lies under 'Y' here and under 'X' above; a node has one parent",
        ),
        (
            "a;A;*\nb;b;*\nA;A;*\n",
            "t: 'A' names two different sets of values; a released label must name one, so rename "
            "one of them",
        ),
        (
            "a;A;X;*\nb;B;A;*\n",
            "t: 'A' names two different sets of values; a released label must name one, so rename "
            "one of them",
        ),
        (
            "a;A\0;*\nb;B;*\n",
            "t: a node's name must not hold a NUL character. Got 'A\\x00'",
        ),
        ("a;;*\nb;;*\nc;C;*\n", "t: a node has an empty name"),
        (
            "a;*;Any\nb;*;Any\nc;c;Any\n",
            "t: only a root with leaves below may be called '*'; it stands for any value",
        ),
        (
            "*;Any\nb;Any\n",
            "t: only a root with leaves below may be called '*'; it stands for any value",
        ),
        ("*\n", "t: only a root with leaves below may be called '*'; it stands for any value"),
        ("*;*\n", "t: only a root with leaves below may be called '*'; it stands for any value"),
        ('a;"A"x;*\n', "t is not a valid CSV file: ';' expected after '\"'"),
    ],
)
def test_arx_that_is_no_tree_is_refused(text: str, message: str) -> None:
    assert refusal(Hierarchy.from_arx, text, "t") == message


@pytest.mark.parametrize(
    ("below", "message"),
    [
        ([1], "t: a node's name must be text. Got 1"),
        ([["a"]], "t: a node's name must be text. Got ['a']"),
        ({"a": "b"}, "t: below 'a' must be a mapping, a list or nothing"),
        ({"a": 3}, "t: below 'a' must be a mapping, a list or nothing"),
    ],
)
def test_python_values_that_are_no_tree_are_refused(below: object, message: str) -> None:
    assert refusal(Hierarchy.from_nested, "Any", below, "t") == message


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tree.txt", b"", "must end in .yaml, .yml or .csv (ARX). Got '.txt'"),
        ("tree", b"", "must end in .yaml, .yml or .csv (ARX). Got ''"),
        ("tree.csv", b"\xff;*\n", "is not UTF-8: invalid start byte"),
    ],
)
def test_unreadable_files_are_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert refusal(Hierarchy.read, tmp_path / name) == f"hierarchy file {tmp_path / name} {message}"


def test_a_wrong_tree_is_named_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "tree.yaml"
    path.write_text("Any: [a, a]")
    assert refusal(Hierarchy.read, path) == f"{path}: leaf 'a' appears twice"


def test_absent_files_and_folders_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "no.yaml", tmp_path):
        expected = f"hierarchy file {path} does not exist or is not a file"
        assert refusal(Hierarchy.read, path) == expected


def test_oversized_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tree.yaml"
    path.write_text("Any: [a, b]")
    monkeypatch.setattr(hierarchy_module, "MAX_FILE_BYTES", 10)
    assert (
        refusal(Hierarchy.read, path) == f"hierarchy file {path} has 11 bytes; at most 10 are read"
    )


# -- large trees ---------------------------------------------------------------------------------


def caterpillar(levels: int) -> dict[str, object]:
    """What is below the root if each node has one leaf and one node below."""
    nested: dict[str, object] = {"leaf": None, "last": None}
    for i in range(levels - 2):
        nested = {f"leaf {i}": None, f"node {i}": nested}
    return nested


def test_trees_of_the_greatest_depth_are_read_cut_and_written() -> None:
    tree = Hierarchy.from_nested("Any", caterpillar(MAX_LEVELS))
    assert len(tree.levels) == MAX_LEVELS
    assert tree.count_cuts() == MAX_LEVELS == sum(1 for _ in tree.cuts())  # one cut per depth
    assert Hierarchy.from_yaml(tree.to_yaml()) == tree
    assert Hierarchy.from_arx(tree.to_arx()) == tree


def test_deeper_trees_are_refused() -> None:
    deeper = f"t: the tree is deeper than {MAX_LEVELS} levels"
    nested = caterpillar(MAX_LEVELS + 1)
    assert refusal(Hierarchy.from_nested, "Any", nested, "t") == deeper
    row = ";".join(f"n{i}" for i in range(1200))
    assert refusal(Hierarchy.from_arx, row, "t") == f"{deeper}. Got 1200"
    text = "".join(f"{' ' * i}n{i}:\n" for i in range(1200)) + " " * 1200 + "- a"
    line = f"t, line {MAX_LEVELS + 1}: the tree is deeper than {MAX_LEVELS} levels"
    assert refusal(Hierarchy.from_yaml, text, "t") == line


def test_a_nesting_that_contains_itself_is_refused() -> None:
    nested: dict[str, object] = {"a": None}
    nested["b"] = nested
    assert refusal(Hierarchy.from_nested, "Any", nested).endswith("levels")


def test_wide_trees_are_listed_without_recursion() -> None:
    tree = Hierarchy.from_nested("Any", {"a": None, "b": [str(i) for i in range(3000)]})
    assert [len(cut) for cut in tree.cuts()] == [1, 2, 3001]


def test_as_many_leaves_as_can_be_coded_are_read() -> None:
    rows = (f"leaf {i};group {i // 256};*\n" for i in range(MAX_LEAVES))
    tree = Hierarchy.from_arx("".join(rows))
    assert len(tree.leaves) == MAX_LEAVES
    assert tree.count_cuts() == 1 + 2**256


def test_more_leaves_than_can_be_coded_are_refused() -> None:
    leaves = [str(i) for i in range(MAX_LEAVES + 1)]
    assert (
        refusal(Hierarchy.from_nested, "Any", leaves, "t")
        == "t: the tree has 65537 leaves; at most 65536 are possible"
    )
