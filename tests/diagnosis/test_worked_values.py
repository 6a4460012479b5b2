"""Values that the paper prints or that can be worked out by hand."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given

from moanon import datasets
from moanon.data.hierarchy import Hierarchy
from moanon.diagnosis import (
    AddedColumn,
    BorderAnswer,
    Diagnosis,
    PrivacyModel,
    RatedSet,
    ReidentificationRisk,
    SetsAnswer,
)
from tests.diagnosis.oracle import groups
from tests.diagnosis.tables import figure_2, tables

#: Z Figure 3: every k that algorithm 2 computes.
FIGURE_3 = {
    "V": 2, "W": 6, "X": 6, "Y": 6, "Z": 6,
    "WX": 3, "WY": 3, "WZ": 6, "XY": 2, "XZ": 3, "YZ": 3,
    "WXZ": 3, "WYZ": 3,
}  # fmt: skip


def diagnosis_of(**columns: str) -> Diagnosis:
    """One letter per row and column; columns called s… are sensitive."""
    frame = pd.DataFrame({name: list(values) for name, values in columns.items()})
    hidden = [name for name in columns if name.startswith("s")]
    return Diagnosis.read(frame, sensitive=hidden)


class TestFigure3:
    def test_the_largest_sets_with_thirteen_groupings_of_thirty_one(self):
        answer = Diagnosis.read(figure_2()).ask(level=3)
        assert isinstance(answer, BorderAnswer)
        assert answer.safe == (RatedSet(tuple("WXZ"), 3, 0), RatedSet(tuple("WYZ"), 3, 0))
        assert (answer.effort.grouped, answer.effort.avoided, answer.effort.sets) == (13, 18, 31)

    def test_the_smallest_sets_that_break_it(self):
        answer = Diagnosis.read(figure_2()).ask(level=3)
        assert isinstance(answer, BorderAnswer)
        assert answer.unsafe == (RatedSet(("V",), 2, 0), RatedSet(("X", "Y"), 2, 0))
        assert answer.threats() == (
            ("V", 1, 1), ("X", 2, 1), ("Y", 2, 1), ("W", 0, 0), ("Z", 0, 0),
        )  # fmt: skip

    def test_at_most_two_asks_for_the_smallest_sets(self):
        answer = Diagnosis.read(figure_2()).ask(level=2, form="at most")
        assert isinstance(answer, BorderAnswer)
        assert [each.columns for each in answer.found] == [("V",), ("X", "Y")]

    @pytest.mark.parametrize(("columns", "k"), FIGURE_3.items())
    def test_every_k(self, columns, k):
        diagnosis = Diagnosis.read(figure_2())
        assert diagnosis.ask(subset=list(columns)).level == k
        every = diagnosis.ask()
        assert isinstance(every, SetsAnswer)
        assert {"".join(c): level for c, level, _ in every.records()}[columns] == k


class TestSuppression:
    # groups on q: a a a | b b | c | d, so sizes 3, 2, 1, 1 of 7 rows
    table = staticmethod(lambda: diagnosis_of(q="aaabbcd"))

    @pytest.mark.parametrize(
        ("delta", "k", "suppressed"),
        [
            (0.0, 1, 0),
            (0.28, 1, 0),  # 0.28 * 7 = 1.96: one row may go, two are in groups of one
            (2 / 7, 2, 2),  # exactly two
            (0.57, 2, 2),  # 3.99: three may go, four would have to
            (4 / 7, 3, 4),
            (0.99, 3, 4),  # six may go, but the last group cannot
        ],
    )
    def test_whole_groups_go_while_they_fit(self, delta, k, suppressed):
        answer = self.table().ask(subset=["q"], delta=delta)
        assert (answer.level, answer.suppressed) == (k, suppressed)

    @pytest.mark.parametrize(("k", "rows"), [(1, 0), (2, 2), (3, 4), (4, None), (10**30, None)])
    def test_what_a_level_costs(self, k, rows):
        answer = self.table().ask(subset=["q"], level=k, delta="ask")
        assert (answer.suppressed, answer.yes) == (rows, rows is not None)

    @pytest.mark.parametrize(
        ("k", "rows"),
        [
            (1, 1),  # one of the two single rows may go, and k is still 1
            (2, 3),
            (3, 6),  # whatever goes, k is at most 3
            (5, 6),
        ],
    )
    def test_how_many_rows_can_go_without_exceeding_a_level(self, k, rows):
        answer = self.table().ask(subset=["q"], level=k, form="at most", delta="ask")
        assert answer.suppressed == rows

    def test_no_row_can_keep_a_safe_table_unsafe(self):
        answer = diagnosis_of(q="aaabbb").ask(subset=["q"], level=2, form="at most", delta="ask")
        assert (answer.suppressed, answer.yes) == (None, False)

    @given(tables(most_columns=2))
    def test_no_other_choice_of_rows_does_better(self, table):
        # Z lemma 2, by trying all ways to leave out rows of small tables
        rows, columns, _ = table
        rows = rows[:7]
        diagnosis = Diagnosis.read(pd.DataFrame(rows, dtype=object), columns)
        for limit in range(len(rows)):
            best = 0
            for kept in range(1, 1 << len(rows)):
                if len(rows) - kept.bit_count() <= limit:
                    left = [row for i, row in enumerate(rows) if kept >> i & 1]
                    best = max(best, min(map(len, groups(left, frozenset(columns)))))
            assert diagnosis.curve(columns).within(limit)[0] == best


class TestModels:
    # group a holds 1 1 2 3, group b holds 2 2; the table 1 1 2 2 2 3
    table = staticmethod(lambda: diagnosis_of(q="aaaabb", s="112322"))

    @pytest.mark.parametrize(
        ("model", "level"),
        [
            (PrivacyModel("l", "distinct"), 1),
            (PrivacyModel("l", "frequency"), 1),  # 2 of 2
            (PrivacyModel("l", "entropy"), 1.0),
            (PrivacyModel("l", "recursive"), 1),
            # b: |1 - 1/2| + |0 - 1/3| + |0 - 1/6|, halved = 1/2; a: (1/6 + 1/4 + 1/12)/2 = 1/4
            (PrivacyModel("t", "equal"), 0.5),
            # b: running sums of p - q: -1/3, 1/6 → (1/3 + 1/6)/2 = 1/4; a: 1/6, -1/12 → 1/8
            (PrivacyModel("t", "ordered"), 0.25),
        ],
    )
    def test_the_worst_group_counts(self, model, level):
        assert self.table().ask(subset=["q"], model=model).level == level

    @pytest.mark.parametrize(
        ("model", "level"),
        [
            (PrivacyModel("l", "distinct"), 3),
            (PrivacyModel("l", "frequency"), 2),  # floor(4 / 2)
            (PrivacyModel("l", "entropy"), 2**1.5),  # shares 1/2, 1/4, 1/4: entropy 1.5 ln 2
            (PrivacyModel("l", "recursive"), 3),  # counts 2, 1, 1: 2 < 3·(1 + 1), and 2 < 3·1
            (PrivacyModel("t", "equal"), 0.25),
        ],
    )
    def test_of_the_other_group_once_the_worst_is_suppressed(self, model, level):
        found = self.table().ask(subset=["q"], model=model, delta=1 / 3).level
        assert found == pytest.approx(level, abs=1e-12)

    def test_recursive_diversity_adds_up_the_rare_values(self):
        # counts 4, 2, 1: 4 < c·7, 4 < c·3, 4 < c·1
        table = diagnosis_of(q="aaaaaaa", s="1111223")
        for c, level in ((0.5, 0), (0.6, 1), (1.3, 1), (1.4, 2), (4, 2), (4.1, 3)):
            assert table.ask(subset=["q"], model=PrivacyModel("l", "recursive", c=c)).level == level

    def test_two_values_of_equal_share_have_an_entropy_diversity_of_exactly_two(self):
        table = diagnosis_of(q="aaaaaa", s="121212")
        model = PrivacyModel("l", "entropy")
        assert table.ask(subset=["q"], model=model).level == 2
        assert table.ask(subset=["q"], model=model, level=2).yes

    def test_a_share_that_is_written_is_reached_exactly(self):
        # 1 has 3/5 of group a and 1/2 of the table: t = 1/10, which a written 0.1 must allow
        table = diagnosis_of(q="aaaaabbbbb", s="1112222211")
        assert table.ask(subset=["q"], model=PrivacyModel("t", "equal")).level == 0.1
        assert table.ask(subset=["q"], model=PrivacyModel("t", "equal"), level=0.1).yes
        assert not table.ask(subset=["q"], model=PrivacyModel("t", "equal"), level=0.0999999).yes

    def test_a_tree_makes_near_values_cheap(self):
        tree = Hierarchy.from_nested("Any", {"low": ["1", "2"], "high": ["3", "4"]})
        model = PrivacyModel("t", "tree", hierarchy=tree)
        # q: 1 against 2, within low: half of the rows move one level of two → 1/2 · 1/2
        assert diagnosis_of(q="ab", s="12").ask(subset=["q"], model=model).level == 0.25
        # 1 against 3: half of the rows move over the root → 1/2 · 1
        assert diagnosis_of(q="ab", s="13").ask(subset=["q"], model=model).level == 0.5

    def test_jensen_shannon_of_what_the_table_never_shows_together(self):
        # p = (1, 0), q = (1/2, 1/2): (ln 4/3 + 1/2 ln 2/3 + 1/2 ln 2) / 2
        expected = (math.log(4 / 3) + math.log(2 / 3) / 2 + math.log(2) / 2) / 2
        found = diagnosis_of(q="ab", s="12").ask(subset=["q"], model=PrivacyModel("t", "js")).level
        assert found == pytest.approx(expected, abs=1e-12)

    def test_the_worst_sensitive_column_counts(self):
        table = diagnosis_of(q="aaaa", s="1234", s2="1112")
        assert table.ask(subset=["q"], model=PrivacyModel("l", "distinct")).level == 2

    def test_numbers_are_ordered_as_numbers(self):
        # as texts 10 would stand between 1 and 2; in the line 1 2 10 it is the far end
        texts = Diagnosis.read(
            pd.DataFrame({"q": list("aabbc"), "s": ["1", "2", "10", "2", "1.0"]}), ["q"], ["s"]
        )
        # c: all at place 0 of 3; the table has 2/5 at each of 0, 1 and 1/5 at 2, since 1.0 is 1:
        # running sums 3/5, 1/5 → (3/5 + 1/5) / 2
        assert texts.ask(subset=["q"], model=PrivacyModel("t", "ordered")).level == pytest.approx(
            0.4
        )

    def test_adding_a_column_can_help_once_rows_may_go(self):
        # On {q}: the group has 6 of 8 equal, so frequency-1, and nothing else to keep.
        # On {q, r}: x holds 1 1 1 1 (bad), y holds 1 1 2 3: suppressing x leaves frequency 2.
        table = diagnosis_of(q="aaaaaaaa", r="xxxxyyyy", s="11111123")
        model = PrivacyModel("l", "frequency")
        coarse = table.ask(subset=["q"], model=model, delta=0.5).level
        fine = table.ask(subset=["q", "r"], model=model, delta=0.5).level
        assert (coarse, fine) == (1, 2)
        answer = table.ask(level=2, model=model, delta=0.5)
        assert isinstance(answer, BorderAnswer)
        assert not answer.is_monotone
        assert answer.effort.avoided == 0
        assert [each.columns for each in answer.safe] == [("q", "r")]
        assert [each.columns for each in answer.unsafe] == [("q",)]


class TestRisk:
    def test_shares_and_mean(self):
        # sizes 6, 2, 1, 1: 4 groups of 10 rows; 4 rows in groups below 5
        assert diagnosis_of(q="aaaaaabbcd").risk(["q"]) == ReidentificationRisk(
            columns=("q",), rows=10, unique=2, small=4, mean=0.4, highest=1.0
        )

    def test_each_row_has_the_size_of_its_group(self):
        assert diagnosis_of(q="abaac").row_levels(["q"]).tolist() == [3, 1, 3, 3, 1]

    def test_rows_in_the_way_are_counted_from_nought(self):
        assert diagnosis_of(q="abaac").rows_in_the_way(["q"], 2)[0].tolist() == [1, 4]
        assert diagnosis_of(q="abaac").rows_in_the_way(["q"], 10**40)[0].tolist() == [0, 1, 2, 3, 4]

    def test_rows_of_other_models(self):
        table = diagnosis_of(q="aabb", s="1211")
        distinct, equal = PrivacyModel("l", "distinct"), PrivacyModel("t", "equal")
        assert table.row_levels(["q"], distinct).tolist() == [2, 2, 1, 1]
        assert table.rows_in_the_way(["q"], 2, distinct)[0].tolist() == [2, 3]
        # the table has 1 in 3/4 of its rows, a in 1/2, b in all
        assert table.row_levels(["q"], equal).tolist() == [0.25] * 4
        assert table.rows_in_the_way(["q"], 0.2, equal)[0].tolist() == [0, 1, 2, 3]

    def test_what_adding_a_column_does(self):
        table = diagnosis_of(q="aaaabbbb", r="xxyyxxyy", u="12345678")
        assert table.additions(["q"]) == (
            AddedColumn("u", ("q",), 4, 1, (0, 8)),
            AddedColumn("r", ("q",), 4, 2, (0, 0)),
        )

    def test_the_worst_that_each_column_does(self):
        answer = diagnosis_of(q="aaaabbbb", r="xxyyxxyy", u="12345678").ask()
        assert isinstance(answer, SetsAnswer)
        assert answer.worst_additions() == (
            AddedColumn("u", ("q",), 4, 1),
            AddedColumn("q", ("r",), 4, 2),
            AddedColumn("r", ("q",), 4, 2),
        )

    def test_all_rules_of_one_set(self):
        profile = diagnosis_of(q="aaaabb", s="112322").profile(["q"])
        assert list(profile) == [
            "k", "l_distinct", "l_frequency", "l_entropy", "l_recursive", "t_equal", "t_ordered",
            "t_js",
        ]  # fmt: skip
        assert (profile["k"], profile["t_equal"]) == (2, 0.5)
        words = diagnosis_of(q="aab", s="uvv").profile(["q"])
        assert "t_ordered" not in words


def test_adult_takes_as_many_groupings_as_in_the_paper():
    # Z: 23 sets for k = 2, 9 for k = 50, on its own excerpt; these rows give the same
    columns = [name for name in datasets.load("adult").columns if name != "salary-class"]
    adult = Diagnosis.read(datasets.load("adult"), columns)
    assert adult.ask(level=2).effort.grouped == 23
    assert adult.ask(level=50).effort.grouped == 9
    assert adult.ask(subset=["race", "sex"]).level == 87
    assert adult.additions(["race", "sex"])[0].after == 1
