"""Rules make trees from the values of a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.cell_reading import Notation
from moanon.data.domain import IntervalSpec, TreeDomain, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.data.rules import checked_rule, rule_of
from moanon.errors import ConfigError, DataError
from tests.data.columns import column_of
from tests.refusals import refusal_of

PLAIN = IntervalSpec()


def domain_of(
    written: Mapping[str, Any], cells: Iterable[str | None], interval: IntervalSpec = PLAIN
) -> TreeDomain:
    return TreeSpec(rule_of(written, interval)).build(column_of(cells))


def levels(tree: Hierarchy) -> list[tuple[str, ...]]:
    """What the file of ARX would show: the labels of each level, each once."""
    return [tuple(labels) for labels in tree.level_labels]


# -- codes ---------------------------------------------------------------------------------------


def test_codes_of_one_length_lose_one_character_after_the_other() -> None:
    tree = domain_of({"mask": "right"}, ["130", "131", "140", "200"]).hierarchy
    assert levels(tree) == [
        ("130", "131", "140", "200"),
        ("13*", "14*", "20*"),
        ("1**", "2**"),
        ("*",),
    ]


def test_codes_of_several_lengths_are_prefixes_of_one_another() -> None:
    tree = domain_of({"mask": "right"}, ["E11", "E11.9", "E12"]).hierarchy
    assert levels(tree) == [
        ("E11", "E11.9", "E12"),
        ("E11", "E11.*", "E12"),
        ("E11*", "E12"),
        ("E1*",),
        ("E*",),
        ("*",),
    ]


def test_codes_are_masked_from_the_left_on_request() -> None:
    tree = domain_of({"mask": "left"}, ["01", "11", "12"]).hierarchy
    assert set(levels(tree)[1]) == {"*1", "*2"}


@given(st.lists(st.text("ab1", min_size=1, max_size=5), min_size=1, max_size=12, unique=True))
def test_a_mask_holds_exactly_the_codes_that_begin_so(codes: list[str]) -> None:
    domain = domain_of({"mask": "right"}, codes)
    tree = domain.hierarchy
    assert sorted(tree.leaves) == sorted(codes)
    for name, above, start, stop in zip(
        tree.names, tree.above, tree.starts, tree.stops, strict=True
    ):
        for label in (*above, name):
            if label.endswith("*"):
                head = label.rstrip("*")
                held = {code for code in codes if code.startswith(head)}
                assert set(tree.leaves[start:stop]) == held


def test_empty_codes_are_refused() -> None:
    message = refusal_of(DataError, domain_of, {"mask": "right"}, ["", "12"])
    assert message == (
        "column 'x': an empty code cannot be masked; declare '' among missing_tokens, or correct it"
    )


def test_a_code_that_reads_like_a_mask_is_refused() -> None:
    message = refusal_of(ConfigError, domain_of, {"mask": "right"}, ["12", "13", "1*"])
    assert "'1*' names two different sets of values" in message


# -- steps ---------------------------------------------------------------------------------------


def test_intervals_nest_in_wider_ones() -> None:
    domain = domain_of({"intervals": [5, 10, 20]}, ["3", "12", "39"])
    assert levels(domain.hierarchy)[1:] == [
        ("[0-9]", "[10-19]", "[20-29]", "[30-39]"),
        ("[0-19]", "[20-39]"),
        ("*",),
    ]
    assert domain.find(["3", "12", "39", "40", "x"]).tolist() == [0, 2, 7, -1, -1]


def test_steps_are_laid_where_the_widest_meet() -> None:
    # 50 is no multiple of 20; between 17 and 90 it is enough that both meet at 50.
    domain = domain_of({"intervals": [5, 10, 20, 50]}, ["17", "90"])
    assert levels(domain.hierarchy)[2] == (
        *("[15-29]", "[30-49]", "[50-69]", "[70-89]", "[90-94]"),
    )
    assert levels(domain.hierarchy)[3] == ("[15-49]", "[50-94]")


@pytest.mark.parametrize("cells", [["17", "120"], ["0", "200"]])
def test_intervals_that_do_not_nest_are_refused(cells: list[str]) -> None:
    message = refusal_of(DataError, domain_of, {"intervals": [5, 10, 20, 50]}, cells)
    assert message == (
        "column 'x': intervals must nest, and a step of 20 from 90 lies across 100, where steps of "
        "50 meet; leave out 20 or 50, or take 60 instead of 50"
    )


def test_dates_nest_in_the_calendar() -> None:
    cells = ["2019-11-30", "2020-01-31", "2020-04-01"]
    tree = domain_of({"dates": ["month", "quarter", "year"]}, cells).hierarchy
    assert levels(tree)[1] == (
        *("[2019-11-01..2019-12-31]", "[2020-01-01..2020-03-31]"),
        "[2020-04-01..2020-04-30]",
    )
    assert levels(tree)[2] == ("[2019-11-01..2019-12-31]", "[2020-01-01..2020-04-30]")


@given(st.lists(st.dates(date(1899, 11, 1), date(1901, 2, 28)), min_size=1, max_size=6))
def test_every_day_is_in_its_month_year_and_decade(days: list[date]) -> None:
    domain = domain_of({"dates": ["day", "month", "year", "decade"]}, [d.isoformat() for d in days])
    tree = domain.hierarchy
    parts = {"month": lambda d: (d.year, d.month), "year": lambda d: d.year}
    starts = {depth: dict(zip(*cut, strict=True)) for depth, cut in enumerate(_cuts(tree))}
    for one in days:
        for other in days:
            leaves = domain.find([one.isoformat(), other.isoformat()]).tolist()
            for depth, part in enumerate(parts.values(), 1):
                together = starts[depth][leaves[0]] == starts[depth][leaves[1]]
                assert together == (part(one) == part(other))


def _cuts(tree: Hierarchy) -> Iterable[tuple[range, list[int]]]:
    for cut in tree.levels:
        node_of = [n for n in cut for _ in range(tree.starts[n], tree.stops[n])]
        yield range(len(tree.leaves)), node_of


def test_a_range_notation_and_clamped_ends_hold_for_steps_in_trees() -> None:
    interval = IntervalSpec(range=(20, 60), outside="clamp", notation=Notation(unit="€"))
    domain = domain_of({"intervals": [10, 20]}, ["17 €", "35 €", "99 €", None], interval)
    assert domain.hierarchy.leaves == (
        *("<20", "[20-29]", "[30-39]", "[40-49]", "[50-59]", ">=60", "(missing)"),
    )
    assert levels(domain.hierarchy)[1] == ("<20", "[20-39]", "[40-59]", ">=60", "(missing)")
    assert domain.find(["17 €", "35 €", "99 €"]).tolist() == [0, 2, 5]


def test_trees_for_files_have_the_values_as_leaves() -> None:
    column = column_of(["1,5", "7,25", "12"])
    rule = rule_of({"intervals": [5, 10]}, IntervalSpec(notation=Notation(",")))
    tree = rule.make_with_values(column)
    assert set(tree.leaves) == {"1,5", "7,25", "12"}
    assert "[0-10)" in tree.all_names
    assert Hierarchy.from_arx(tree.to_arx()).leaves == tree.leaves


# -- categories ----------------------------------------------------------------------------------


def test_groups_are_taken_as_written_and_others_go_to_the_rest() -> None:
    rule = {"group": {"North": ["Oslo"], "South": {"Italy": ["Rome", "Bari"]}}, "rest": "Other"}
    tree = domain_of(rule, ["Oslo", "Rome", "Lima", "Quito"]).hierarchy
    assert tree.leaves == ("Oslo", "Rome", "Bari", "Lima", "Quito")
    assert {"Italy", "Other"} <= tree.all_names
    message = refusal_of(DataError, domain_of, {"group": {"North": ["Oslo"]}}, ["Oslo", "Lima"])
    assert message.startswith("column 'x': no group names the value 'Lima'; put each into a group")


def test_the_rarest_values_are_merged_first() -> None:
    # 10 rows: of 4 levels the first merges up to 2.5 rows, then 5, then 7.5
    cells = ["a"] * 5 + ["b"] * 2 + ["c", "d", "e"]
    tree = domain_of({"frequency": 4}, cells).hierarchy
    assert tree.leaves == ("a", "b", "e", "d", "c")
    assert levels(tree) == [
        ("a", "b", "e", "d", "c"),
        ("a", "b", "e", "2 rarest values"),
        ("a", "4 rarest values"),
        ("*",),
    ]


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=40), st.integers(1, 6))
def test_no_rarer_value_stands_alone_where_a_commoner_one_is_merged(
    cells: list[str], number: int
) -> None:
    tree = domain_of({"frequency": number}, cells).hierarchy
    counts = Counter(cells)
    assert sorted(tree.leaves) == sorted(counts)
    for cut in tree.levels[:-1]:
        sizes = [tree.stops[n] - tree.starts[n] for n in cut]
        alone = [tree.names[n] for n, size in zip(cut, sizes, strict=True) if size == 1]
        merged = set(counts) - set(alone)
        assert all(counts[a] >= counts[m] for a in alone for m in merged)


# -- as they are written -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "checked"),
    [
        ({"mask": "left"}, {"mask": "left"}),
        ({"intervals": ["5", "10", "2.5e1"]}, {"intervals": [5, 10, 25]}),
        ({"frequency": "4"}, {"frequency": 4}),
        ({"group": {"N": ["01"]}, "rest": "O"}, {"group": {"N": ["01"]}, "rest": "O"}),
    ],
)
def test_rules_are_taken_as_yaml_writes_them(
    written: Mapping[str, Any], checked: Mapping[str, Any]
) -> None:
    assert checked_rule(written) == checked
    assert checked_rule(checked) == checked


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({}, "must be a rule such as {mask: right}, "),
        ({"mask": "right", "rest": "x"}, "Got the keys mask, rest"),
        ({"mask": "right", "frequency": 3}, "Got the keys mask, frequency"),
        ({"mask": "up"}, "must be masked from the right or the left, {mask: right}. Got 'up'"),
        ({"dates": ["day", "eon"]}, "among day, week, month, quarter, year, decade. Got 'eon'"),
        ({"dates": ["year", "month"]}, "from narrow to wide. Got month after year"),
        ({"dates": ["week", "month"]}, "units that nest, and a week can lie across a month"),
        ({"dates": "day"}, "must list units of dates"),
        ({"intervals": [10, 5]}, "Got 5 after 10"),
        ({"intervals": [0]}, "must list widths > 0 from narrow to wide, e.g. [5, 10, 50]. Got 0"),
        ({"intervals": ["x"]}, "Got 'x'"),
        ({"group": {}}, "must name groups and list their values"),
        ({"group": {"N": []}}, "Got [] for 'N'"),
        ({"group": {"N": [1]}}, "all as texts. Got 1"),
        ({"group": {"N": ["a"]}, "rest": ""}, "must name a group as rest. Got ''"),
        ({"frequency": 0}, "must have a number of levels, {frequency: 4}. Got 0"),
        ({"frequency": True}, "Got True"),
    ],
)
def test_what_is_no_rule_is_refused(written: Mapping[str, Any], message: str) -> None:
    assert message in refusal_of(DataError, checked_rule, written)
