"""``moanon diagnose``: questions in words, tables, JSON, files, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from moanon import Config, Release
from moanon.cli import main
from moanon.diagnosis import QUESTIONS
from tests.cli import commands
from tests.cli.commands import Captured
from tests.diagnosis.tables import figure_2

DONE, NO, BAD = 0, 1, 2


@pytest.fixture
def example(folder: Path) -> str:
    """Z Figure 2 as a file."""
    figure_2().to_csv("t.csv", index=False)
    return "t.csv"


def ask(capsys: Captured, *arguments: str, code: int = DONE) -> str:
    """Run a command that must end with a code; its answer with single spaces."""
    assert main(["diagnose", *arguments]) == code
    shown = capsys.readouterr()
    assert shown.err == ""
    return re.sub(" +", " ", shown.out)


def ask_json(capsys: Captured, *arguments: str, code: int = DONE) -> dict:
    assert main(["diagnose", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def refused(capsys: Captured, *arguments: str) -> str:
    return commands.refused(capsys, "diagnose", *arguments).removeprefix("moanon: ").rstrip("\n")


# -- questions -----------------------------------------------------------------------------------


class TestQuestions:
    def test_1_says_no_with_what_is_missing(self, example, capsys):
        out = ask(capsys, example, "--subset", "V", "--k", "3", code=NO)
        assert "t.csv: 12 rows, 9 distinct in 5 columns" in out
        assert "Question 1: Is the table at least 3-anonymous on V?\n No: k = 2\n" in out
        assert "2 rows (16.7%) would have to be suppressed" in out

    def test_1_says_yes(self, example, capsys):
        assert " Yes: k = 3\n" in ask(capsys, example, "--subset", "W,X", "--k", "3")

    def test_1_where_nothing_helps(self, example, capsys):
        out = ask(capsys, example, "--subset", "V", "--k", "99999999999999999999", code=NO)
        assert "No suppression short of all rows would do" in out

    def test_1_at_most(self, example, capsys):
        out = ask(capsys, example, "--subset", "V", "--k", "2", "--at-most")
        assert "Is the table at most 2-anonymous on V?\n Yes: k = 2" in out
        ask(capsys, example, "--subset", "V", "--k", "1", "--at-most", code=NO)

    def test_2_tells_the_risk_and_what_more_columns_do(self, example, capsys):
        # V: sizes 2, 3, 7, so 5 rows in groups below 5 and 3 groups of 12 rows
        out = ask(capsys, example, "--subset", "V")
        assert "Question 2: For which k is the table k-anonymous on V?\n k = 2\n" in out
        assert "alone in their group 0 rows (0.0%)" in out
        assert "in groups below 5 5 rows (41.7%)" in out
        assert "mean risk 0.2500" in out
        # W splits 1 1 | 2 2 2 | 3 … into sizes 2; 1, 2; 3, 4
        assert (
            "adding W to {V} takes k from 2 to 1 and the rows alone in their group from 0 to 1"
            in out
        )

    def test_3_shows_both_sides_of_the_border_and_the_effort(self, example, capsys):
        out = ask(capsys, example, "--k", "3")
        assert "Question 3: On which largest sets of columns is the table at least 3" in out
        assert "largest safe sets (2) size k" in out
        assert " W, X, Z 3 3 \n W, Y, Z 3 3 \n" in out
        assert "smallest unsafe sets (2) size k" in out
        assert " V 1 2 \n X, Y 2 2 \n" in out
        assert "31 sets of columns: 13 grouped, 18 avoided" in out

    def test_3_where_no_set_will_do_is_a_no(self, example, capsys):
        out = ask(capsys, example, "--k", "7", code=NO)
        assert "at least 7-anonymous?\n None\n" in out

    def test_3_at_most_starts_with_the_smallest_sets(self, example, capsys):
        out = ask(capsys, example, "--k", "2", "--at-most")
        assert out.index("smallest unsafe sets") < out.index("largest safe sets")
        assert "None: all sets are safer" in ask(capsys, example, "--columns", "W,Z", "--k", "5",
                                                 "--at-most", code=NO)  # fmt: skip

    def test_4_lists_sets_and_counts_those_that_would_crowd_them_out(self, folder, capsys):
        frame = pd.DataFrame({f"c{i}": list("xxxxyyyyabcdefgh") for i in range(5)})
        frame["safe"] = list("pq" * 8)
        frame.to_csv("t.csv", index=False)
        out = ask(capsys, "t.csv")
        assert " safe 1 8 \n" in out
        assert "The other 62 sets: k = 1, someone is alone (--all lists them)" in out
        assert "c0, c1, c2, c3, c4, safe 6 1" in ask(capsys, "t.csv", "--all")

    def test_4_begins_with_what_matters_whatever_the_size_of_sets(self, folder, capsys):
        (folder / "t.csv").write_bytes("né;né;nr\n1;x;1\n1;x;2\n2;y;3\n".encode("latin-1"))
        out = ask(capsys, "t.csv", "--max-size", "1")
        assert "note: the file was read with encoding: 'latin-1', header: 'numbered'" in out
        assert out.index("riskiest columns") < out.index("riskiest pairs") < out.index("Question 4")
        assert "Each enough to find nearly everybody, so in no pair: nr" in out
        assert "each set of at most 1 of the 3 columns?" in out

    def test_5_to_8_say_how_many_rows_may_go(self, example, capsys):
        out = ask(capsys, example, "--subset", "V", "--k", "3", "--delta", "0.17")
        assert "after suppressing at most 0.17 of its rows (2 of 12)?" in out
        assert " Yes: k = 3, with 2 rows (16.7%) suppressed" in out
        out = ask(capsys, example, "--subset", "V", "--delta", "0.42")
        assert "Question 6" in out
        assert " k = 7, with 5 rows (41.7%) suppressed" in out
        assert "Question 7" in ask(capsys, example, "--k", "3", "--delta", "0.17")
        assert "Question 8" in ask(capsys, example, "--delta", "0.17")

    def test_9_answers_with_a_delta_that_suffices(self, example, capsys):
        out = ask(capsys, example, "--subset", "V", "--k", "3", "--delta", "ask")
        assert " delta = 0.1667: 2 rows of 12 must be suppressed\n" in out
        ask(capsys, example, "--subset", "V", "--k", "3", "--delta", "0.1667")
        assert "No: nothing would be left" in ask(
            capsys, example, "--subset", "V", "--k", "8", "--delta", "ask", code=NO
        )

    def test_9_never_answers_with_all_rows(self, folder, capsys):
        # 19,999 of 20,001 rows are alone; as a share of four digits that would be 1
        rows = [f"v{i}" for i in range(19_999)] + ["w", "w"]
        pd.DataFrame({"a": rows}).to_csv("t.csv", index=False)
        out = ask(capsys, "t.csv", "--subset", "a", "--k", "2", "--delta", "ask")
        assert " delta = 0.99991: 19,999 rows of 20,001 must be suppressed\n" in out
        ask(capsys, "t.csv", "--subset", "a", "--k", "2", "--delta", "0.99991")

    def test_9_at_most_answers_with_a_delta_that_is_not_too_large(self, example, capsys):
        # V has 2, 3 and 7 rows: four of 12 can go without k exceeding 3; 4/12 is rounded down
        options = ("--subset", "V", "--k", "3", "--at-most")
        out = ask(capsys, example, *options, "--delta", "ask")
        assert " delta = 0.3333: 4 rows of 12 can be suppressed\n" in out
        ask(capsys, example, *options, "--delta", "0.3333")
        ask(capsys, example, *options, "--delta", "0.42", code=NO)

    def test_10_lists_what_each_set_costs(self, example, capsys):
        out = ask(capsys, example, "--columns", "V,W", "--k", "3", "--delta", "ask")
        assert "columns size rows to suppress delta" in out
        assert " V 1 2 0.1667 \n W 1 0 0.0000 \n" in out

    def test_10_where_no_set_can_be_is_a_no(self, example, capsys):
        # 12 rows: a group of 13 there will never be
        options = ("--columns", "V,W", "--k", "13", "--delta", "ask")
        out = ask(capsys, example, *options, code=NO)
        assert "None: no set of columns reaches that, whatever is suppressed" in out
        assert " V 1 not possible \n" in out
        assert ask_json(capsys, example, *options, code=NO)["answer"]["yes"] is False
        # V has a group of 7 rows, W two of 6: one set is enough for a yes
        mixed = ("--columns", "V,W", "--k", "7", "--delta", "ask")
        assert ask_json(capsys, example, *mixed)["answer"]["yes"] is True

    def test_10_at_most_where_all_sets_are_safer_is_a_no(self, example, capsys):
        options = ("--columns", "V", "--k", "1", "--at-most", "--delta", "ask")
        assert "None: all sets are safer than that" in ask(capsys, example, *options, code=NO)

    def test_what_more_columns_do_is_told_before_and_after_suppression(self, folder, capsys):
        # a: sizes 1, 5. With b: 1, 2, 3. One row may go: k from 5 to 2. Alone: 1, and 1 again.
        # With c: 1, 1, 4. One row is not enough: k 1, and 2 rows alone.
        frame = pd.DataFrame({"a": list("xyyyyy"), "b": list("pqqrrr"), "c": list("uuvvvv")})
        frame.to_csv("t.csv", index=False)
        out = ask(capsys, "t.csv", "--subset", "a", "--delta", "0.17")
        assert "k = 5, with 1 row (16.7%) suppressed" in out
        assert "adding b to {a} takes k after suppression from 5 to 2\n" in out
        assert (
            "adding c to {a} takes k after suppression from 5 to 1 and the rows alone in their "
            "group before it from 1 to 2\n"
        ) in out

    def test_11_reads_the_curve_at_round_levels(self, example, capsys):
        out = ask(capsys, example, "--subset", "V", "--delta", "ask")
        assert "k at least rows to suppress delta rows left" in out
        assert " 2 0 0.0000 12 \n 3 2 0.1667 10 \n 4 5 0.4167 7 \n" in out

    def test_12_shows_some_levels_of_each_set(self, example, capsys):
        out = ask(capsys, example, "--columns", "V,W", "--delta", "ask")
        assert "columns k ≥ 2 k ≥ 3 k ≥ 5" in out
        assert " V 0.0000 0.1667 0.4167 not possible" in out

    def test_a_question_can_be_named(self, example, capsys):
        assert "Question 9:" in ask(capsys, example, "--question", "9", "--subset", "V", "--k", "3")

    def test_sets_of_a_largest_size(self, example, capsys):
        out = ask(capsys, example, "--max-size", "2")
        assert "on each set of at most 2 of the 5 columns?" in out
        assert "15 sets of columns" in out


class TestOtherModels:
    @pytest.fixture
    def jobs(self, folder: Path) -> str:
        frame = pd.DataFrame({"q": list("aaaaaaaa"), "r": list("xxxxyyyy"), "s": list("11111123")})
        frame.to_csv("jobs.csv", index=False)
        return "jobs.csv"

    def test_diversity(self, jobs, capsys):
        out = ask(capsys, jobs, "--sensitive", "s", "--subset", "r", "--l", "2", code=NO)
        assert "at least 2-diverse on r (ℓ of s, rule distinct)?\n No: ℓ = 1" in out
        assert "ℓ (frequency) 1" in out
        assert "t (equal) 0.250" in out

    def test_the_constant_of_recursive_counts_everywhere(self, jobs, capsys):
        # y: counts 2, 1, 1. With c = 3: 2 < 3 · 1, so ℓ = 3; with c = 0.5: 2 < 0.5 · (2 + 1 + 1) is
        # false, so ℓ = 0. x: 4 ones, 4 < 3 · 4 and ℓ = 1; 4 < 0.5 · 4 is false, ℓ = 0.
        options = ("--sensitive", "s", "--subset", "r", "--rule", "recursive")
        assert "ℓ (recursive, c = 3) 1\n" in ask(capsys, jobs, *options)
        assert "ℓ (recursive, c = 0.5) 0\n" in ask(capsys, jobs, *options, "--c", "0.5")
        assert ask_json(capsys, jobs, *options, "--c", "0.5")["profile"]["l_recursive"] == 0

    def test_closeness_is_at_most_by_default(self, jobs, capsys):
        # x: 1 in all rows against 6/8 of the table
        ask(capsys, jobs, "--sensitive", "s", "--subset", "r", "--t", "0.25")
        ask(capsys, jobs, "--sensitive", "s", "--subset", "r", "--t", "0.2", code=NO)
        out = ask(capsys, jobs, "--sensitive", "s", "--subset", "r", "--t", "0.2", "--at-least")
        assert "no closer than 0.2" in out

    def test_a_rule_alone_asks_for_the_level(self, jobs, capsys):
        out = ask(capsys, jobs, "--sensitive", "s", "--subset", "r", "--rule", "ordered")
        assert "For which t is the table t-close on r (t of s, rule ordered)?" in out

    def test_what_suppression_does_to_the_order_of_sets_is_said(self, jobs, capsys):
        out = ask(
            capsys, jobs, "--sensitive", "s", "--l", "2", "--rule", "frequency", "--delta", "0.5"
        )
        assert (
            "3 sets of columns: 3 grouped, 0 avoided: with suppression, ℓ by the rule frequency "
            "can get better when a column is added" in out
        )
        assert "note: a set within a safe set need not be safe here" in out

    def test_a_tree(self, folder, jobs, capsys):
        (folder / "tree.yaml").write_text("Any: {few: ['1'], more: ['2', '3']}\n")
        out = ask(capsys, jobs, "--sensitive", "s", "--subset", "r", "--rule", "tree",
                  "--hierarchy", "tree.yaml")  # fmt: skip
        assert "rule tree)?\n t = 0.250" in out

    def test_the_tree_is_never_replaced(self, folder, jobs, capsys):
        (folder / "tree.yaml").write_text("Any: {few: ['1'], more: ['2', '3']}\n")
        told = refused(capsys, jobs, "--sensitive", "s", "--subset", "r", "--rule", "tree", "--t",
                       "0.2", "--hierarchy", "tree.yaml", "--list-rows", "tree.yaml",
                       "--force")  # fmt: skip
        assert told.startswith("tree.yaml is not replaced: it was read for")
        assert (folder / "tree.yaml").read_text().startswith("Any:")


# -- what can be examined --------------------------------------------------------------------------


class TestSources:
    def test_missing_values_are_told(self, folder, capsys):
        (folder / "t.csv").write_text("a,b\n,1\n,1\n2,\n")
        out = ask(capsys, "t.csv", "--subset", "a")
        assert (
            "note: missing values count as a value of their own, no row is dropped: a (2), b (1)"
            in out
        )
        assert "t.csv: 3 rows" in out

    def test_an_embedded_table(self, folder, capsys):
        out = ask(capsys, "adult", "--columns", "race,sex", "--subset", "race,sex")
        assert "adult: 30,162 rows" in out
        assert " k = 87\n" in out

    def test_parquet(self, folder, capsys):
        frame = figure_2()  # noqa: F841 (read by its name)
        duckdb.sql("COPY (SELECT * FROM frame) TO 't.parquet' (FORMAT parquet)")
        assert " W, X, Z 3 3 \n" in ask(capsys, "t.parquet", "--k", "3")

    def test_a_configuration_names_columns_and_drops_nothing(self, folder, capsys):
        (folder / "t.csv").write_text("a,b,c,d\n1,x,p,1\n1,?,p,2\n2,x,q,3\n2,x,q,4\n")
        (folder / "c.yaml").write_text(
            "data: {source: t.csv, missing: drop, missing_tokens: ['?']}\n"
            "columns:\n"
            "  a: {role: quasi, kind: interval}\n"
            "  b: {role: quasi, kind: ordered, order: [x]}\n"
            "  c: {role: sensitive}\n"
        )
        out = ask(capsys, "c.yaml")
        assert "t.csv: 4 rows, 3 distinct in 2 columns" in out
        assert "no row is dropped: b (1)" in out
        drops = "the configuration drops 1 row without a value in b before it anonymizes; here they"
        assert f"note: {drops} are examined" in out
        found = ask_json(capsys, "c.yaml", "--l", "2", code=NO)
        assert (found["columns"], found["sensitive"]) == (["a", "b"], ["c"])

    @pytest.fixture
    def gappy(self, folder: Path) -> str:
        """Rows 2 and 3 miss a value of b or c, which nobody need examine."""
        (folder / "t.csv").write_text("a,b,c,d\n1,x,p,1\n1,?,p,2\n2,x,?,3\n2,x,q,4\n")
        (folder / "c.yaml").write_text(
            "data: {source: t.csv, missing: drop, missing_tokens: ['?']}\n"
            "columns:\n"
            "  a: {role: quasi, kind: interval}\n"
            "  b: {role: quasi, kind: ordered, order: [x]}\n"
            "  c: {role: sensitive}\n"
        )
        return "c.yaml"

    def test_rows_that_a_configuration_drops_are_told_whatever_is_examined(self, gappy, capsys):
        out = ask(capsys, gappy, "--columns", "a")
        assert "t.csv: 4 rows, 2 distinct in 1 column\n" in out
        assert "the configuration drops 2 rows without a value in b, c before it anonymizes" in out
        Path("c.yaml").write_text(Path("c.yaml").read_text().replace("drop", "category"))
        assert "drops" not in ask(capsys, gappy, "--columns", "a")

    def test_a_sensitive_column_of_a_configuration_is_not_examined(self, gappy, capsys):
        assert refused(capsys, gappy, "--columns", "a,c") == (
            "column 'c' is sensitive in c.yaml and cannot be one of the columns that people are "
            "recognized by; leave it out of the columns, or say with --sensitive which one is"
        )
        assert "column 'c' is sensitive" in refused(capsys, gappy, "--subset", "a,c")

    def test_unless_another_one_is_called_so_and_then_it_is_told(self, gappy, capsys):
        out = ask(capsys, gappy, "--columns", "a,c", "--sensitive", "b")
        assert "note: c is sensitive in c.yaml; here it counts among what others may know\n" in out

    def test_a_release_is_a_table_like_any_other(self, folder, capsys):
        config = Config.from_dict(
            {
                "data": {"source": "adult"},
                "columns": {
                    "age": {"role": "quasi", "kind": "interval", "granularity": 10},
                    "sex": {"role": "quasi", "kind": "ordered", "order": "adult/sex"},
                },
            }
        )
        instance = config.instance()
        genome = instance.layout.parse("1" * instance.layout.bits)
        certificate = Release.of(instance, genome, k=20).write("release.csv")
        found = ask_json(capsys, "release.csv", "--subset", "age,sex")
        assert found["answer"]["k"] == certificate.k

    def test_names_with_commas_go_in_quotes(self, folder, capsys):
        (folder / "t.csv").write_text('"a,b",[red]c\n1,2\n1,3\n')
        out = ask(capsys, "t.csv", "--subset", '"a,b",[red]c')
        assert 'k-anonymous on "a,b", [red]c?' in out
        out = ask(capsys, "t.csv", "--subset", '"a,b"', "--subset", "[red]c")
        assert 'k-anonymous on "a,b", [red]c?' in out

    def test_control_characters_do_not_reach_the_terminal(self, folder, capsys):
        (folder / "t.csv").write_text('"a\x1b[31m",b\n1,2\n')
        out = ask(capsys, "t.csv")
        assert "\x1b" not in out
        assert "a\\x1b[31m" in out


# -- JSON and files --------------------------------------------------------------------------------


class TestJson:
    @pytest.mark.parametrize("number", QUESTIONS)
    def test_every_question(self, number, example, capsys):
        has_level, has_subset, suppressing = QUESTIONS[number]
        options = ["--k", "3"] * has_level + ["--subset", "V,W"] * has_subset
        options += {"none": [], "given": ["--delta", "0.5"], "asked": ["--delta", "ask"]}[
            suppressing
        ]
        found = ask_json(capsys, example, *options, code=NO if number == 1 else DONE)
        assert found["question"] == number
        assert found["asked"].endswith("?")
        assert found["rows"] == 12
        assert ("risk" in found) == has_subset

    def test_the_border(self, example, capsys):
        found = ask_json(capsys, example, "--k", "3")
        assert found["answer"]["safe"][0] == {"columns": list("WXZ"), "k": 3, "suppressed": 0}
        assert found["effort"] == {"sets": 31, "grouped": 13, "avoided": 18}

    def test_one_set(self, example, capsys):
        found = ask_json(capsys, example, "--subset", "V", "--k", "3", code=NO)
        assert found["answer"] == {"yes": False, "k": 2, "suppressed": 0, "needed": 2}
        assert found["risk"]["rows_below_5"] == 5
        assert found["additions"][0] == {"column": "W", "before": 2, "after": 1, "alone": [0, 1]}


class TestFiles:
    def test_row_numbers_of_what_must_go(self, example, folder, capsys):
        out = ask(capsys, example, "--subset", "V", "--k", "3", "--list-rows", "rows.csv", code=NO)
        assert "Wrote rows.csv: 2 row numbers; 1 is the first row of the table" in out
        # the two rows with V = 1 are the first two
        assert (folder / "rows.csv").read_text() == "row,group_size\n1,2\n2,2\n"

    def test_row_numbers_of_what_a_delta_suppresses(self, example, folder, capsys):
        ask(capsys, example, "--subset", "V", "--delta", "0.42", "--list-rows", "rows.csv")
        written = (folder / "rows.csv").read_text()
        assert written == "row,group_size\n1,2\n2,2\n3,3\n4,3\n5,3\n"

    @pytest.mark.parametrize(
        ("options", "told", "listed", "code"),
        [
            # V has groups of 2, 3 and 7 rows; 5 of 12 may go, which leaves k = 7.
            ("--k 2 --delta 0.42", "Yes: k = 2, with 0 rows (0.0%) suppressed", 0, DONE),
            ("--k 3 --delta 0.42", "Yes: k = 3, with 2 rows (16.7%) suppressed", 2, DONE),
            ("--k 4 --delta 0.42", "Yes: k = 7, with 5 rows (41.7%) suppressed", 5, DONE),
            ("--k 2 --delta 0.42 --at-most", "No: k = 7, with 5 rows (41.7%)", 5, NO),
            ("--k 3 --delta 0.2 --at-most", "Yes: k = 3, with 2 rows (16.7%)", 2, DONE),
            ("--delta 0.42", "k = 7, with 5 rows (41.7%) suppressed", 5, DONE),
            ("--k 3 --delta 0.1", "2 rows (16.7%) would have to be suppressed", 2, NO),
            ("--k 3 --delta ask", "delta = 0.1667: 2 rows of 12 must be suppressed", 2, DONE),
            ("--k 8 --delta ask", "No: nothing would be left", 12, NO),
            ("--k 2", "Yes: k = 2", 0, DONE),
        ],
    )
    def test_as_many_rows_are_listed_as_the_answer_counts(
        self, example, folder, capsys, options, told, listed, code
    ):
        given = [example, "--subset", "V", *options.split(), "--list-rows", "rows.csv"]
        out = ask(capsys, *given, code=code)
        assert told in out
        assert f"Wrote rows.csv: {listed} row numbers" in out
        assert len((folder / "rows.csv").read_text().splitlines()) == 1 + listed

    def test_row_numbers_hold_no_value_of_the_table(self, folder, capsys):
        (folder / "t.csv").write_text("name\nsecret\nother\n")
        ask(capsys, "t.csv", "--subset", "name", "--k", "2", "--list-rows", "r.csv", code=NO)
        assert (folder / "r.csv").read_text() == "row,group_size\n1,1\n2,1\n"

    @pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
    def test_a_picture(self, ending, example, folder, capsys):
        out = ask(capsys, example, "--k", "3", "--plot", f"p.{ending}")
        assert f"Wrote p.{ending}" in out
        assert (folder / f"p.{ending}").stat().st_size > 1000

    def test_with_json_what_was_written_is_said_elsewhere(self, example, folder, capsys):
        assert main(["diagnose", example, "--k", "3", "--plot", "p.svg", "--json"]) == DONE
        shown = capsys.readouterr()
        json.loads(shown.out)
        assert shown.err == " Wrote p.svg\n"

    def test_a_file_is_replaced_only_with_force(self, example, folder, capsys):
        (folder / "p.png").write_text("mine")
        assert "exists already" in refused(capsys, example, "--plot", "p.png")
        assert (folder / "p.png").read_text() == "mine"
        ask(capsys, example, "--plot", "p.png", "--force")
        assert (folder / "p.png").read_bytes() != b"mine"

    def test_the_table_itself_is_never_replaced(self, example, folder, capsys):
        before = (folder / example).read_bytes()
        options = ("--subset", "V", "--k", "3", "--list-rows", "./t.csv", "--force")
        sentence = "t.csv is not replaced: it was read for what would take its place; name another"
        assert refused(capsys, example, *options) == f"{sentence} file"
        assert (folder / example).read_bytes() == before

    def test_nothing_is_left_where_the_question_is_refused(self, example, folder, capsys):
        refused(capsys, example, "--k", "0", "--plot", "p.png")
        assert sorted(path.name for path in folder.iterdir()) == [example]


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--columns V,Q", "t.csv has no column 'Q'"),
        ("--subset V,Q", "subset names 'Q', which is not among the columns examined of t.csv"),
        ("--columns V,W --subset X", "subset names 'X', which is not among the columns examined"),
        ("--columns V,,W", "--columns holds an empty name. Got 'V,,W'"),
        ("--columns V,V", "columns names 'V' twice"),
        ("--k 0", "k must be at least 1. Got 0"),
        ("--k two", "Invalid value for '--k'"),
        ("--delta 1", "delta must be in [0, 1). Got 1.0"),
        ("--delta -1", "delta must be in [0, 1). Got -1.0"),
        ("--delta some", "delta must be a share in [0, 1), or the word ask. Got 'some'"),
        ("--subset V --sensitive V", "column 'V' is sensitive and cannot be in the subset"),
        ("--columns V,W --sensitive V", "column 'V' is sensitive and cannot be one of the columns"),
        ("--at-least --at-most --k 2", "--at-least and --at-most contradict each other"),
        ("--at-most", "at most needs a level to go with: give k"),
        ("--k 2 --t 0.5", "one of k, l and t can be asked about at a time. Got k and t"),
        ("--l 2", "ℓ needs a sensitive column"),
        ("--rule equl", "rule must be one of distinct, frequency, entropy, recursive, equal, "
         "ordered, tree, js. Got 'equl' (did you mean 'equal'?)"),
        ("--k 2 --rule equal", "the rule equal is one of t, and the question is about k"),
        ("--c 2", "--c goes with --rule recursive only"),
        ("--rule tree", "--rule tree and --hierarchy go together"),
        ("--hierarchy x.yaml", "--rule tree and --hierarchy go together"),
        ("--rule tree --hierarchy x.yaml", "hierarchy file x.yaml does not exist"),
        ("--question 13", "question must be one of 1 to 12. Got 13"),
        ("--question 1", "question 1 needs k"),
        ("--question 3 --k 2 --delta 0.1", "question 3 suppresses nothing; leave delta out"),
        ("--max-size 0", "the largest size of sets must be at least 1. Got 0"),
        ("--list-rows r.csv", "--list-rows needs --subset"),
        ("--list-rows r.csv --subset V", "--list-rows needs a level to be reached, or --delta"),
        ("--list-rows r.csv --subset V --k 2 --at-most --delta ask",
         "--list-rows lists rows that go; with --at-most and --delta ask the answer is how many"),
        ("--plot p.jpg", "--plot writes .png, .svg, .pdf. Got p.jpg"),
        ("--plot no/p.png", "no/p.png cannot be written: the folder no does not exist"),
        ("--plot p.png --list-rows p.png --subset V", "--list-rows and --plot name the same file"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(options, sentence, example, capsys):
    assert refused(capsys, example, *options.split()).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "t.csv is empty"),
        ("a,b\n", "t.csv has no rows"),
    ],
)
def test_files_that_hold_no_table(text, sentence, folder, capsys):
    (folder / "t.csv").write_text(text)
    assert refused(capsys, "t.csv").startswith(sentence)


def test_a_file_that_is_not_there(folder, capsys):
    assert refused(capsys, "nope.csv") == "nope.csv does not exist"


def test_without_a_question_it_begins_with_what_matters(folder, capsys):
    Path("few.csv").write_text("sex,city\nf,A\nf,A\nm,B\nm,C\n")
    assert main(["diagnose", "few.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == (
        " Whoever knows all 2 columns finds 2 rows (50.0%) alone, and 4 rows (100.0%) in groups "
        "below 5"
    )
    assert [line.split() for line in lines if line.startswith((" city  ", " sex  "))][:2] == [
        ["city", "3", "50.0%", "100.0%", "75.0%", "1"],
        ["sex", "2", "0.0%", "100.0%", "50.0%", "2"],
    ]
    assert any(line.startswith(" Question 4: ") for line in lines)
    assert main(["diagnose", "few.csv", "--columns", "sex,city"]) == 0
    assert "riskiest" not in capsys.readouterr().out


def test_help_lists_the_questions(capsys):
    assert main(["diagnose", "--help"]) == DONE
    out = capsys.readouterr().out
    assert re.search(r"\n +--k K +3 which sets\? +7 which sets\? +10 delta of each set\n", out)
    assert "Example" in out


def test_progress_is_a_line_every_few_seconds_where_there_is_no_terminal(
    example, capsys, monkeypatch
):
    monkeypatch.setattr("moanon.progress._LINE_EVERY", 0.0)
    assert main(["diagnose", example, "--delta", "0.1"]) == DONE
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "diagnose: sets of columns, 31 of 31"
    assert main(["diagnose", example, "--delta", "0.1", "--quiet"]) == DONE
    assert capsys.readouterr().err == ""


def test_rows_are_listed_where_no_diversity_is_left(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("sex,ill\nf,flu\nf,flu\nm,hiv\nm,hiv\nm,\n")
    listed = tmp_path / "rows.csv"
    given = ["diagnose", str(table), "--columns", "sex", "--subset", "sex", "--sensitive", "ill"]
    given += ["--rule", "recursive", "--c", "0.5", "--delta", "0.2", "--list-rows", str(listed)]
    assert main(given) == 0
    assert listed.read_text() == "row,l\n"
