"""Reading tables, choosing questions, refusing what makes no sense."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon import read_table
from moanon.data.hierarchy import Hierarchy
from moanon.diagnosis import (
    QUESTIONS,
    BorderAnswer,
    CurvesAnswer,
    Diagnosis,
    Findings,
    PrivacyModel,
    SetsAnswer,
    SubsetAnswer,
    column_sets,
)
from moanon.diagnosis.questions import choose_rule, rule_measures
from moanon.engines import open_source
from moanon.errors import ConfigError, DataError, MoanonError
from moanon.grouping import Grouping
from moanon.kernels.selection import FIELDS, GroupRule
from moanon.kernels.thresholds import WITHIN_LIMIT
from tests import naive
from tests.diagnosis.tables import examined, figure_2, tables
from tests.strategies import instances

DISTINCT = PrivacyModel("l", "distinct")


@pytest.fixture
def people_with_gaps() -> Diagnosis:
    frame = pd.DataFrame(
        {
            "age": ["30", "30", "40", "40", None, None],
            "sex": ["f", "f", "f", "m", "m", "m"],
            "job": ["x", "y", "x", "y", "x", "y"],
        }
    )
    return Diagnosis.read(frame, ["age", "sex"], ["job"])


# -- reading ---------------------------------------------------------------------------------------


class TestReading:
    def test_a_missing_value_is_a_value_of_its_own(self, people_with_gaps):
        assert people_with_gaps.missing == {"age": 2}
        assert people_with_gaps.rows == 6
        assert people_with_gaps.ask(subset=["age"]).level == 2  # 30, 40 and missing, two rows each

    def test_a_missing_value_differs_from_any_text(self):
        frame = pd.DataFrame({"a": ["(missing)", None, "nan", "None"]})
        assert Diagnosis.read(frame).risk(["a"]).unique == 4

    def test_columns_are_all_that_are_not_sensitive(self):
        frame = figure_2()
        assert Diagnosis.read(frame).columns == tuple("VWXYZ")
        assert Diagnosis.read(frame, sensitive=["W"]).columns == tuple("VXYZ")

    def test_of_a_table_they_are_the_quasi_identifiers(self):
        roles = {"V": "quasi", "X": "quasi", "Z": "sensitive", "Y": "insensitive"}
        found = Diagnosis.of(read_table(figure_2(), roles))
        assert (found.columns, found.sensitive) == (("V", "X"), ("Z",))

    def test_files_and_frames_give_the_same(self, tmp_path: Path):
        frame = figure_2()
        frame.to_csv(tmp_path / "t.csv", index=False)
        place = str(tmp_path / "t.parquet")
        duckdb.sql(f"COPY (SELECT * FROM frame) TO '{place}' (FORMAT parquet)")
        expected = Diagnosis.read(frame).ask(level=3)
        for source in ("t.csv", "t.parquet"):
            assert Diagnosis.read(tmp_path / source).ask(level=3).safe == expected.safe

    def test_more_values_than_a_domain_could_have(self):
        # 16 bits number 65,536 base values; a diagnosis has no such limit
        number = 70_000
        frame = pd.DataFrame({"id": np.arange(number).astype(str), "a": ["x", "y"] * (number // 2)})
        diagnosis = Diagnosis.read(frame)
        assert diagnosis.ask(subset=["id"]).level == 1
        assert diagnosis.ask(subset=["a"]).level == number // 2

    def test_keys_beyond_a_machine_word(self):
        # 40 columns of 100 values: 100^40 combinations; each row twice but for the last two
        rng = np.random.default_rng(7)
        half = rng.integers(0, 100, size=(500, 40))
        codes = np.concatenate([half, half])
        codes[-1, -1] = (codes[-1, -1] + 1) % 100
        frame = pd.DataFrame(codes.astype(str)).rename(columns=str)
        assert Diagnosis.read(frame).risk(frame.columns).unique == 2

    @pytest.mark.parametrize(
        ("given_columns", "hidden", "sentence"),
        [
            (["V", "v"], (), "DataFrame has no column 'v' (did you mean"),
            (["V", "V"], (), "columns names 'V' twice"),
            (["V"], ["W", "W"], "sensitive names 'W' twice"),
            (["V", "W"], ["W"], "column 'W' is sensitive and cannot be one of the columns"),
            ([], (), "DataFrame has no column left to examine"),
        ],
    )
    def test_what_cannot_be_examined(self, given_columns, hidden, sentence):
        with pytest.raises(MoanonError) as error:
            Diagnosis.read(figure_2(), given_columns, hidden)
        assert sentence.split(" (did")[0] in str(error.value)

    def test_a_table_without_rows(self):
        with pytest.raises(DataError, match="DataFrame has no rows"):
            Diagnosis.read(figure_2().head(0))

    def test_too_many_rows(self, monkeypatch):
        monkeypatch.setattr("moanon.data.cells._MOST_ROWS", 11)
        with pytest.raises(DataError, match="DataFrame has 12 rows; tables of at most 11 rows"):
            Diagnosis.read(figure_2())

    def test_too_many_columns(self):
        frame = pd.DataFrame({f"c{i}": ["x"] for i in range(63)})
        with pytest.raises(ConfigError, match=r"at most 62 columns .* Got 63 of DataFrame"):
            Diagnosis.read(frame)

    def test_an_embedded_table_by_its_name(self):
        found = Diagnosis.read("adult", ["race", "sex"])
        assert (found.source, found.rows, found.files) == ("adult", 30_162, ())

    @pytest.fixture
    def config(self, tmp_path: Path) -> Path:
        """Of four rows, two miss a value of b or c."""
        (tmp_path / "t.csv").write_text("a,b,c,d\n1,x,p,1\n1,?,p,2\n2,x,?,3\n2,x,q,4\n")
        (tmp_path / "c.yaml").write_text(
            "data: {source: t.csv, missing: drop, missing_tokens: ['?']}\n"
            "columns:\n"
            "  a: {role: quasi, kind: interval}\n"
            "  b: {role: quasi, kind: ordered, order: [x]}\n"
            "  c: {role: sensitive}\n"
        )
        return tmp_path / "c.yaml"

    def test_the_table_of_a_configuration(self, config):
        found = Diagnosis.read(config)
        assert (found.columns, found.sensitive, found.rows) == (("a", "b"), ("c",), 4)
        assert found.missing == {"b": 1, "c": 1}
        assert found.files == ((config.parent / "t.csv").resolve(), config.resolve())
        gaps, drops = found.notes
        assert gaps.endswith("no row is dropped: b (1), c (1)")
        assert drops.startswith("the configuration drops 2 rows without a value in b, c")

    def test_rows_that_the_configuration_refuses_are_told(self, config):
        config.write_text(config.read_text().replace("missing: drop, ", ""))
        assert Diagnosis.read(config).notes[-1] == (
            "the configuration refuses 2 rows without a value in b, c (data.missing: error); here "
            "they are examined"
        )

    def test_what_is_named_wins_over_a_configuration(self, config):
        found = Diagnosis.read(config, ["a", "c"], ["d"])
        assert (found.columns, found.sensitive) == (("a", "c"), ("d",))
        assert found.notes[0].startswith(f"c is sensitive in {config}")
        with pytest.raises(ConfigError, match="column 'c' is sensitive in "):
            Diagnosis.read(config, ["a", "c"])

    def test_columns_that_must_be_there_too(self, config):
        with pytest.raises(DataError, match="has no column 'e'"):
            Diagnosis.read(config, also=["e"])

    def test_of_a_source_that_was_read_already(self):
        source = open_source(figure_2(), name="Figure 2")
        assert Diagnosis.of(source).source == "Figure 2"


# -- questions -------------------------------------------------------------------------------------


class TestQuestions:
    @pytest.mark.parametrize(
        ("number", "given", "kind", "words"),
        [
            (1, {"level": 2, "subset": ["V"]}, SubsetAnswer,
             "Is the table at least 2-anonymous on V?"),
            (2, {"subset": ["V"]}, SubsetAnswer, "For which k is the table k-anonymous on V?"),
            (3, {"level": 2}, BorderAnswer,
             "On which largest sets of columns is the table at least 2-anonymous?"),
            (4, {}, SetsAnswer, "For which k is the table k-anonymous on each set of columns?"),
            (5, {"level": 2, "subset": ["V"], "delta": 0.25}, SubsetAnswer,
             "Is the table at least 2-anonymous on V after suppressing at most 0.25 of its rows "
             "(3 of 12)?"),
            (6, {"subset": ["V"], "delta": 0.25}, SubsetAnswer,
             "For which k is the table k-anonymous on V after suppressing at most 0.25 of its rows "
             "(3 of 12)?"),
            (7, {"level": 2, "delta": 0.25, "form": "at most"}, BorderAnswer,
             "On which smallest sets of columns is the table at most 2-anonymous after suppressing "
             "at most 0.25 of its rows (3 of 12)?"),
            (8, {"delta": 0.25, "largest": 2}, SetsAnswer,
             "For which k is the table k-anonymous on each set of at most 2 of the 5 columns after "
             "suppressing at most 0.25 of its rows (3 of 12)?"),
            (9, {"level": 2, "subset": ["V"], "delta": "ask"}, SubsetAnswer,
             "How many rows must be suppressed to be at least 2-anonymous on V?"),
            (10, {"level": 2, "delta": "ask", "form": "at most"}, SetsAnswer,
             "How many rows can be suppressed and the table still be at most 2-anonymous on each "
             "set of columns?"),
            (11, {"subset": ["X", "V"], "delta": "ask"}, SubsetAnswer,
             "What does each k cost in suppressed rows on V, X?"),
            (12, {"delta": "ask"}, CurvesAnswer,
             "What does each k cost in suppressed rows on each set of columns?"),
        ],
    )  # fmt: skip
    def test_what_is_given_selects_one_of_twelve(self, number, given, kind, words):
        diagnosis = Diagnosis.read(figure_2())
        for named in (None, number):
            answer = diagnosis.ask(**given, question=named)
            assert isinstance(answer, kind)
            assert answer.asked.number == number
            assert answer.asked.words() == words

    def test_a_question_that_is_named_need_not_say_that_delta_is_asked_for(self):
        diagnosis = Diagnosis.read(figure_2())
        assert diagnosis.ask(question=9, level=2, subset=["V"]).asked.number == 9
        assert diagnosis.ask(question=12).asked.number == 12

    @pytest.mark.parametrize(
        ("model", "level", "form", "words"),
        [
            (DISTINCT, 2, None, "at least 2-diverse on V (ℓ of Z, rule distinct)?"),
            (PrivacyModel("l", "recursive", c=2), 2, "at most",
             "at most 2-diverse on V (ℓ of Z, rule recursive with c = 2)?"),
            (PrivacyModel("t", "equal"), 0.2, None, "0.2-close on V (t of Z, rule equal)?"),
            (PrivacyModel("t", "equal"), 0.2, "at least",
             "no closer than 0.2 on V (t of Z, rule equal)?"),
        ],
    )  # fmt: skip
    def test_other_models_in_words(self, model, level, form, words):
        diagnosis = Diagnosis.read(figure_2(), ["V"], ["Z"])
        answer = diagnosis.ask(subset=["V"], level=level, model=model, form=form)
        assert answer.asked.words() == f"Is the table {words}"

    def test_a_name_with_a_comma_is_quoted(self):
        diagnosis = Diagnosis.read(pd.DataFrame({"a, b": ["x"], "c": ["y"]}))
        answer = diagnosis.ask(subset=["a, b", "c"])
        assert answer.asked.words() == 'For which k is the table k-anonymous on "a, b", c?'

    @pytest.mark.parametrize(
        ("given", "sentence"),
        [
            ({"level": 0}, "k must be at least 1. Got 0"),
            ({"level": 1.5}, "k must be a whole number here. Got 1.5"),
            ({"level": float("nan")}, "k must be a number, at most 1e+100. Got nan"),
            ({"level": 10**101}, f"k must be a number, at most 1e+100. Got 1{'0' * 79}…"),
            ({"level": True}, "k must be a number, at most 1e+100. Got True"),
            ({"delta": 1}, "delta must be in [0, 1). Got 1"),
            ({"delta": -0.1}, "delta must be in [0, 1). Got -0.1"),
            ({"delta": float("nan")}, "delta must be in [0, 1). Got nan"),
            ({"subset": []}, "subset must name at least one column"),
            ({"subset": "V"}, "subset must be a list of columns. Got the text 'V'"),
            ({"subset": ["V", "V"]}, "subset names 'V' twice"),
            ({"subset": ["Z"]}, "column 'Z' is sensitive and cannot be in the subset"),
            ({"subset": ["VV"]}, "subset names 'VV', which is not among the columns examined of "
             "DataFrame (did you mean 'V'?)"),
            ({"form": "at most"}, "at most needs a level to go with: give k"),
            ({"form": "about", "level": 2}, "form must be 'at least' or 'at most'. Got 'about'"),
            ({"largest": 0}, "the largest size of sets must be at least 1. Got 0"),
            ({"largest": 2, "subset": ["V"]},
             "the largest size of sets has no place where the subset is given"),
            ({"question": 13}, "question must be one of 1 to 12. Got 13"),
            ({"question": 1, "subset": ["V"]}, "question 1 needs k"),
            ({"question": 2, "level": 3, "subset": ["V"]}, "question 2 asks for k; leave it out"),
            ({"question": 2}, "question 2 needs subset"),
            ({"question": 4, "subset": ["V"]}, "question 4 asks for subset; leave it out"),
            ({"question": 8}, "question 8 needs delta, the share that may be suppressed"),
            ({"question": 4, "delta": 0.1}, "question 4 suppresses nothing; leave delta out"),
            ({"question": 12, "delta": 0.1}, "question 12 asks for delta; leave it out"),
            ({"model": DISTINCT, "level": 2.5}, "l must be a whole number here. Got 2.5"),
            ({"model": DISTINCT, "level": 0.5}, "l must be at least 1. Got 0.5"),
            ({"model": PrivacyModel("t", "equal"), "level": 1.1}, "t must be in [0, 1]. Got 1.1"),
            ({"model": PrivacyModel("t", "ordered")},
             "the ordered distance needs numbers or dates (YYYY-MM-DD), and column 'Z' holds other "
             "texts; take the rule equal, or tree with a hierarchy"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_asked(self, given, sentence):
        diagnosis = Diagnosis.read(figure_2(), list("VWXY"), ["Z"])
        with pytest.raises(ConfigError) as error:
            diagnosis.ask(**given)
        assert str(error.value) == sentence

    def test_without_a_sensitive_column(self):
        with pytest.raises(ConfigError, match="ℓ needs a sensitive column: name one"):
            Diagnosis.read(figure_2()).ask(model=DISTINCT)

    def test_distances_that_have_no_place_for_a_missing_value(self):
        frame = pd.DataFrame({"q": ["a", "b"], "s": ["1", None]})
        tree = Hierarchy.from_nested("Any", ["1", "2"])
        for model in (PrivacyModel("t", "ordered"), PrivacyModel("t", "tree", hierarchy=tree)):
            with pytest.raises(ConfigError, match="has no place for the 1 missing values"):
                Diagnosis.read(frame, ["q"], ["s"]).ask(model=model)

    def test_a_value_that_the_hierarchy_lacks(self):
        tree = Hierarchy.from_nested("Any", ["1", "2"])
        diagnosis = Diagnosis.read(pd.DataFrame({"q": ["a"], "s": ["3"]}), ["q"], ["s"])
        with pytest.raises(ConfigError, match="has no leaf for the value '3' of column 's'"):
            diagnosis.ask(model=PrivacyModel("t", "tree", hierarchy=tree))

    @pytest.mark.parametrize(
        ("given", "sentence"),
        [
            (("k", "distinct"), "k has no rules. Got 'distinct'"),
            (("x", ""), "measure must be one of k, l, t. Got 'x'"),
            (
                ("l", "equal"),
                "the rule of l must be one of distinct, frequency, entropy, recursive",
            ),
            (("t", "tree"), "the rule tree, and no other, needs a hierarchy"),
            (("l", "recursive", 0.0), "c must be a number above 0 and up to 1000"),
            (("l", "recursive", float("inf")), "c must be a number above 0 and up to 1000"),
            (("l", "recursive", 1 / 3), "c must be a number above 0 and up to 1000"),
        ],
    )
    def test_models_that_mean_nothing(self, given, sentence):
        with pytest.raises(ConfigError) as error:
            PrivacyModel(*given)
        assert str(error.value).startswith(sentence)


class TestRules:
    def test_each_rule_is_a_registered_measure(self):
        names = {rule: measure.name for rule, measure in rule_measures().items()}
        assert list(names.items()) == [
            ("distinct", "l_distinct"), ("frequency", "l_frequency"), ("entropy", "l_entropy"),
            ("recursive", "l_recursive"), ("equal", "t_equal"), ("ordered", "t_closeness"),
            ("tree", "t_closeness"), ("js", "t_js"),
        ]  # fmt: skip

    def test_what_is_known_of_a_model_is_that_of_its_measure(self):
        whole = ["distinct", "frequency", "recursive"]
        assert (PrivacyModel().sign, PrivacyModel().is_whole) == (1, True)
        for rule in rule_measures():
            if rule != "tree":
                model = PrivacyModel(*choose_rule(None, rule))
                assert model.sign == (1 if model.measure == "l" else -1)
                assert model.is_whole == (rule in whole)

    def test_rules_that_do_not_fit(self):
        with pytest.raises(ConfigError, match=r"rule must be one of .*, js\. Got 'xs'"):
            choose_rule(None, "xs")
        with pytest.raises(ConfigError, match="js is one of t, and the question is about l"):
            choose_rule("l", "js")


# -- searching -------------------------------------------------------------------------------------


class TestSearching:
    def test_all_sets_of_many_columns_are_too_many(self):
        frame = pd.DataFrame({f"c{i}": ["x", "y"] for i in range(21)})
        with pytest.raises(ConfigError, match="21 columns have 2,097,151 sets"):
            Diagnosis.read(frame).ask()
        answer = Diagnosis.read(frame).ask(largest=2)
        assert len(answer) == 21 + 210

    def test_a_border_of_many_columns_is_found_all_the_same(self):
        # 40 columns; each row differs from the first in one column: any column makes someone alone
        frame = pd.DataFrame(np.eye(41, 40, dtype=int).astype(str)).rename(columns=str)
        answer = Diagnosis.read(frame).ask(level=2)
        assert isinstance(answer, BorderAnswer)
        assert (answer.effort.grouped, answer.effort.sets) == (40, 2**40 - 1)
        assert len(answer.unsafe) == 40

    def test_where_all_columns_together_are_safe_nothing_is_grouped(self):
        frame = pd.DataFrame({f"c{i}": ["x", "x", "y", "y"] for i in range(30)})
        answer = Diagnosis.read(frame).ask(level=2)
        assert isinstance(answer, BorderAnswer)
        assert answer.effort.grouped == 0
        assert answer.safe[0].columns == tuple(frame.columns)
        assert answer.unsafe == ()

    def test_a_search_without_end_is_refused(self, monkeypatch):
        monkeypatch.setattr(column_sets, "MAX_GROUPED", 100)
        rows = np.random.default_rng(1).integers(0, 2, size=(4000, 8)).astype(str)
        frame = pd.DataFrame(rows).rename(columns=str)
        with pytest.raises(ConfigError, match="more than 100 sets of the 8 columns would have"):
            Diagnosis.read(frame).ask(delta=0.5)

    @pytest.mark.parametrize("given_", [{"level": 3}, {"delta": 0.2}, {"delta": "ask"}])
    def test_progress_ends_with_all_sets(self, given_):
        seen: list[tuple[int, int]] = []
        Diagnosis.read(figure_2()).ask(**given_, progress=lambda *both: seen.append(both))
        assert seen[-1] == (31, 31)
        assert [settled for settled, _ in seen] == sorted(settled for settled, _ in seen)

    def test_progress_with_a_largest_size(self):
        seen: list[tuple[int, int]] = []
        diagnosis = Diagnosis.read(figure_2())
        diagnosis.ask(delta=0.2, largest=2, progress=lambda *both: seen.append(both))
        assert seen[-1] == (15, 15)

    @given(tables())
    def test_a_larger_set_is_never_safer(self, table):
        # Z lemma 1, with suppression too
        diagnosis = examined(*table)
        answer = diagnosis.ask(delta=0.3)
        level = {frozenset(columns): k for columns, k, _ in answer.records()}
        for small in level:
            for large in level:
                if small < large:
                    assert level[large] <= level[small]

    @given(tables(), st.randoms(use_true_random=False))
    def test_neither_rows_nor_columns_have_an_order(self, table, random):
        rows, columns, _ = table
        shuffled, mixed = rows[:], columns[:]
        random.shuffle(shuffled)
        random.shuffle(mixed)
        one = examined(rows, columns, []).ask(delta=0.2)
        other = examined(shuffled, mixed, []).ask(delta=0.2)
        assert {frozenset(c): k for c, k, _ in one.records()} == {
            frozenset(c): k for c, k, _ in other.records()
        }

    @given(st.data())
    def test_a_set_of_columns_is_a_genome(self, data):
        # ones in its columns, zeros elsewhere: the search's own kernel finds the same groups and k
        instance = data.draw(instances(sensitive=0))
        names = list(instance.layout.domains)
        frame = pd.DataFrame(naive.base_rows(instance), columns=names).astype(str)
        diagnosis = Diagnosis.read(frame)
        subset = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        genome = np.zeros(instance.layout.bits, dtype=np.uint8)
        for name, _, place in instance.layout.slices():
            genome[place] = name in subset
        sizes = Grouping.of_genome(instance, genome).sizes
        curve = diagnosis.curve(subset)
        expected = {int(size): int(size * (sizes == size).sum()) for size in np.unique(sizes)}
        assert dict(zip(curve.strengths.tolist(), curve.rows.tolist(), strict=True)) == expected
        for limit in (0, diagnosis.rows // 3, diagnosis.rows - 1):
            scores = instance.kernel.evaluate(genome[None], GroupRule(WITHIN_LIMIT, limit), "flat")
            fields = dict(zip(FIELDS, scores.fields[0].tolist(), strict=True))
            assert curve.within(limit) == (fields["k"], fields["suppressed"])


# -- answers ---------------------------------------------------------------------------------------


class TestAnswers:
    @pytest.mark.parametrize("model", [PrivacyModel(), DISTINCT, PrivacyModel("t", "equal")])
    @pytest.mark.parametrize("number", QUESTIONS)
    def test_every_answer_is_plain_values_and_a_frame(self, people_with_gaps, model, number):
        has_level, has_subset, suppressing = QUESTIONS[number]
        answer = people_with_gaps.ask(
            model=model,
            level=(0.5 if model.measure == "t" else 2) if has_level else None,
            subset=["age"] if has_subset else None,
            delta={"none": None, "given": 0.2, "asked": "ask"}[suppressing],
        )
        found = json.loads(json.dumps([answer.to_dict(), answer.asked.to_dict()], allow_nan=False))
        assert found[1]["question"] == number
        assert len(answer.to_frame()) >= 1

    @pytest.mark.parametrize("subset", [None, ["age"]])
    def test_an_answer_is_described_with_all_that_goes_with_it(self, people_with_gaps, subset):
        answer = people_with_gaps.ask(level=2, subset=subset)
        found = json.loads(
            json.dumps(Findings(people_with_gaps, answer).to_dict(), allow_nan=False)
        )
        assert found["answer"] == answer.to_dict()
        assert found["missing"] == {"age": 2}
        assert found["effort"]["sets"] == (3 if subset is None else 1)
        if subset is None:
            assert "risk" not in found
        else:
            assert found["risk"]["rows_below_5"] == 6
            # x and y once in each group: no value is repeated, and shares are those of the table
            assert found["profile"] == {
                "k": 2, "l_distinct": 2, "l_frequency": 2, "l_entropy": 2.0, "l_recursive": 2,
                "t_equal": 0.0, "t_js": 0.0,
            }  # fmt: skip
            # with sex: f f | f | m | m m
            after = {"column": "sex", "before": 2, "after": 1, "alone": [0, 2]}
            assert found["additions"] == [after]

    def test_the_frame_of_a_border(self):
        frame = Diagnosis.read(figure_2()).ask(level=3).to_frame()
        assert frame.columns.tolist() == ["side", "columns", "size", "k", "suppressed"]
        assert frame["side"].tolist() == ["safe", "safe", "unsafe", "unsafe"]

    def test_what_is_not_known_of_a_set_that_was_not_grouped(self):
        # k of all columns within two rows is 2, with both rows of c and d given up. {a} is no
        # better, so {a, b} is not grouped; what it would have to give up is not known.
        frame = pd.DataFrame({"a": list("xxyycd"), "b": list("ppqqrs")})
        answer = Diagnosis.read(frame).ask(delta=0.34)
        assert isinstance(answer, SetsAnswer)
        assert list(answer.records()) == [(("a",), 2, 2), (("b",), 2, 2), (("a", "b"), 2, None)]
        assert answer.to_frame()["suppressed"].isna().tolist() == [False, False, True]
        assert answer.to_dict()["sets"][2] == {
            "columns": ["a", "b"], "k": 2, "suppressed": None, "grouped": False,
        }  # fmt: skip

    def test_sets_beyond_the_limit_of_lists(self, monkeypatch):
        monkeypatch.setattr(column_sets, "MAX_LISTED", 30)
        with pytest.raises(ConfigError, match="5 columns have 31 sets, and at most 30"):
            Diagnosis.read(figure_2()).ask(delta="ask")
