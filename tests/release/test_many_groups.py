"""Groups that are looked at together give what each gives by itself, and what the oracle says."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.domain import OrderedDomain, TreeDomain
from moanon.data.hierarchy import Hierarchy
from moanon.errors import CertificateError
from moanon.release.labels import label_rules
from moanon.release.reader_privacy import GroupCounts, SensitiveFacts, worse, worst_privacy
from tests import naive_measures

VALUES = list("abcdef")
#: Two levels below the root: leaves, and pairs of them.
LEVELS = ((0, 1, 2, 3, 4, 5), (0, 2, 4))
TREE = TreeDomain(Hierarchy.from_yaml("Any: {A: [a, b], C: [c, d], E: [e, f]}"))
ORDER = OrderedDomain(tuple(VALUES))
CONSTANTS = st.sampled_from([Fraction(3), Fraction(1, 2), Fraction(7, 5), Fraction(10**19 + 1, 7)])


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[dict[str, int]], SensitiveFacts]:
    """Groups of a table, and what is known of it; some rows of it are in no group."""
    counts = st.dictionaries(st.sampled_from(VALUES), st.integers(1, 9), min_size=1)
    groups = draw(st.lists(counts, min_size=1, max_size=20))
    rows = dict.fromkeys(VALUES, 0)
    for group in [*groups, draw(counts)]:
        for value, count in group.items():
            rows[value] += count
    rows = {value: count for value, count in rows.items() if count}
    kind = draw(st.sampled_from(["equal", "ordered", "tree"]))
    ground = None if kind == "equal" else label_rules(ORDER if kind == "ordered" else TREE)
    levels, declared = LEVELS if kind == "tree" else (), draw(st.booleans())
    return groups, SensitiveFacts(rows, ground, levels, declared, last_place=len(VALUES) - 1)


def counted(groups: list[dict[str, int]]) -> GroupCounts:
    return GroupCounts.of(
        {(number, v): n for number, group in enumerate(groups) for v, n in group.items()}
    )


@given(tables(), st.integers(1, 20), CONSTANTS)
def test_groups_are_as_bad_in_parts_as_together(
    drawn: tuple[list[dict[str, int]], SensitiveFacts], turn: int, c: Fraction
) -> None:
    groups, facts = drawn
    released = {v: sum(group.get(v, 0) for group in groups) for v in VALUES}
    besides = [facts, facts.among({v: n for v, n in released.items() if n})]
    parts = [
        worst_privacy(counted(groups[start : start + turn]), besides, c)
        for start in range(0, len(groups), turn)
    ]
    together = reduce(lambda one, other: list(map(worse, one, other)), parts)
    assert together == worst_privacy(counted(groups), besides, c)


@given(tables(), st.sampled_from([1, 10**9]))
def test_whole_numbers_of_any_size_give_the_same(
    drawn: tuple[list[dict[str, int]], SensitiveFacts], factor: int
) -> None:
    """Shares do not change if all rows are there many times, beyond 64 bits for products."""
    groups, facts = drawn
    many = [{value: rows * factor for value, rows in group.items()} for group in groups]
    more = SensitiveFacts(
        {value: rows * factor for value, rows in facts.rows.items()}, facts.ground, facts.levels
    )
    plain = SensitiveFacts(facts.rows, facts.ground, facts.levels)
    (one,) = worst_privacy(counted(groups), [plain], Fraction(3))
    (other,) = worst_privacy(counted(many), [more], Fraction(3))
    quotients = ("alpha", "t_closeness", "t_equal", "beta", "beta_enhanced")
    for name in (*quotients, "l_distinct", "l_frequency", "l_recursive"):
        assert one[name] == other[name], name
    assert one["t_js"] == pytest.approx(other["t_js"], rel=1e-9, abs=1e-12)


@given(tables())
def test_distances_are_what_the_oracle_finds(
    drawn: tuple[list[dict[str, int]], SensitiveFacts],
) -> None:
    groups, facts = drawn
    table = [value for value, rows in facts.rows.items() for _ in range(rows)]
    (found,) = worst_privacy(counted(groups), [facts], Fraction(3))
    lists = [[v for v, n in group.items() for _ in range(n)] for group in groups]
    assert found["t_equal"] == max(float(naive_measures.emd_equal(g, table)) for g in lists)


def test_a_value_that_the_table_does_not_have_is_refused() -> None:
    with pytest.raises(CertificateError, match="the table has no value 'x'"):
        worst_privacy(counted([{"a": 1, "x": 1}]), [SensitiveFacts({"a": 3})], Fraction(3))
