"""What a report's page is told: sizes of groups, how a run was made, no folder and no digest."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.front import Front
from moanon.grouping import Grouping
from moanon.measures.suppression import Suppression
from moanon.output.page import (
    MAX_STEPS,
    Tab,
    facts_of,
    page_data,
    rule_in_words,
    size_steps,
)
from moanon.recoding import LocalRecodings
from tests.output.fronts import RECORD

# -- group sizes ---------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=400))
def test_steps_are_exact_points_of_the_cumulative_curve(sizes: list[int]) -> None:
    steps = size_steps(np.array(sizes))
    at, rows = np.cumsum(steps[::2]).tolist(), np.cumsum(steps[1::2]).tolist()
    assert at[-1] == max(sizes)
    assert rows == [sum(size for size in sizes if size <= mark) for mark in at]
    if len(set(sizes)) <= MAX_STEPS:
        assert at == sorted(set(sizes))
    assert len(at) <= MAX_STEPS


def test_thinned_steps_never_cross_a_doubling() -> None:
    steps = size_steps(np.arange(1, 2**12))
    # sizes 2^j .. 2^(j+1)-1, each once: 2^j * (3 * 2^j - 1) / 2 rows
    marks = np.cumsum(steps[::2])
    for j in range(12):
        inside = (marks >= 2**j) & (marks < 2 ** (j + 1))
        assert np.array(steps[1::2])[inside].sum() == 2**j * (3 * 2**j - 1) // 2


def test_sizes_are_those_of_the_groups_that_are_kept(front: Front) -> None:
    for solution, sizes in zip((3, 1), front.kept_sizes((3, 1)), strict=True):
        row = solution - 1
        assert sizes.min() == front.measures["k"][row]
        assert len(sizes) == front.measures["groups"][row]
        assert sizes.sum() == 120 - front.measures["suppressed"][row]


def test_a_front_on_two_pages_is_grouped_once(front: Front, monkeypatch):
    """The fronts of several limits are on a page together, and on one each."""
    own = replace(front)  # which no other test has put on a page
    tab = Tab("one", own, RECORD, "results")
    asked: list[int] = []
    groupings = type(own.recodings).groupings

    def counted(recodings, instance):
        asked.append(len(recodings))
        return groupings(recodings, instance)

    monkeypatch.setattr(type(own.recodings), "groupings", counted)
    told: list[tuple[int, int]] = []
    first = page_data([tab])
    again = page_data([tab, replace(tab, title="two")], on_part=lambda *done: told.append(done))
    assert asked == [len(own)]
    assert again["tabs"][0] == first["tabs"][0]
    assert told == [(len(own), 2 * len(own)), (2 * len(own), 2 * len(own))]


def rows_before(front: Front) -> list[list[int]]:
    """The rows of each base value, as a page of the front knows them."""
    (tab,) = page_data([Tab("one", front, RECORD, "results")])["tabs"]
    before: list[list[int]] = tab["before"]
    return before


def test_values_of_fewer_rows_than_any_group_are_told_as_none(front: Front) -> None:
    least = 12
    measures = {**front.measures, "k": np.full(len(front), least)}
    told = np.concatenate(rows_before(replace(front, measures=measures)))
    rows = np.concatenate(
        rows_before(replace(front, measures={**measures, "k": measures["k"] * 0}))
    )
    assert 0 < np.count_nonzero(rows[rows < least]) < np.count_nonzero(rows)
    assert told.tolist() == np.where(rows < least, 0, rows).tolist()


def test_the_rows_of_each_value_are_not_told_of_boxes(front: Front) -> None:
    assert front.instance is not None
    whole = front.grouping(1).released()
    boxes = Grouping.of_boxes(front.instance, whole.cell_group, whole.starts, whole.stops)
    local = LocalRecodings.of_groupings([boxes])
    found = Front.of_recodings(front.instance, Suppression("none"), ("k", "loss"), local)
    assert rows_before(found) == [[]] * len(front.instance.layout.columns)


# -- in words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Suppression("none"), "No row is suppressed."),
        (Suppression("limit"), "plain k-anonymity"),
        (
            Suppression("limit", 0.1),
            r"smaller than its k; .* at most 10 % of the rows \(12 of 120\)",
        ),
        (
            Suppression("limit", 0.1, by="t_closeness"),
            "groups with a higher t_closeness than its own; together",
        ),
        (Suppression("limit", 0.1, by="l_entropy"), "with a lower l_entropy than its own;"),
        (
            Suppression("limit", 0.1, constraints=(("k", 5), ("t_closeness", 0.2))),
            r"\(η = 0\.1\)\. Groups with k below 5 or t_closeness above 0\.2 are suppressed before "
            r"all others, and count towards that\.$",
        ),
        (
            Suppression("limit", constraints=(("l_entropy", 3),)),
            r"^No row may be suppressed \(η = 0\)\. Every group has l_entropy at least 3\.$",
        ),
        (
            Suppression("none", constraints=(("k", 5), ("alpha", 0.5))),
            r"^No row is suppressed\. Every group has k at least 5 and alpha at most 0\.5\.$",
        ),
        (
            Suppression("weighted-k", constraints=(("k", 5),)),
            r"that costs\. Groups with k below 5 are suppressed before all others\.$",
        ),
        (Suppression("weighted-k"), "smaller than weighted k is suppressed, however many"),
        (
            Suppression("kl-safety", 0.25),
            r"fewer than d2 distinct .* 25 % .* \(30 of 120\).* k comes",
        ),
        (Suppression("kl-safety", 0.2, prefer="l"), "diversity comes first"),
        (Suppression("kl-safety", 0.2, "ordered"), "ordered by diversity, then by size"),
        (Suppression("kl-safety", 0.2, "ordered", "l"), "ordered by size, then by diversity"),
    ],
)
def test_the_suppression_rule_is_told_in_words(rule: Suppression, words: str) -> None:
    assert re.search(words, rule_in_words(rule, 120))


def test_a_rule_for_a_table_of_unknown_size_names_no_rows() -> None:
    assert "10 % of the rows (η = 0.1)" in rule_in_words(Suppression("limit", 0.1), None)


def test_how_the_run_was_made_is_told(front: Front) -> None:
    facts = dict(facts_of(replace(front, found=999), RECORD))
    assert facts["Rows"] == "120; 3 more had missing values and were dropped"
    assert facts["Evaluations"] == "1,200 in 6 generations"
    assert "ab12" not in facts.values()  # the digest of the data
    assert facts["Solutions"] == f"{len(front)}, thinned evenly from 999"
    assert facts["Seconds of search"] == "1.25 on 2 threads"
    assert facts["Finished"] == "2026-01-02 03:04:05 UTC"
    assert facts["Versions"] == "moanon 0.1.0, numpy 2.0"
    assert "Notes" not in facts
    assert "Constraints" not in facts


def test_the_page_says_how_far_solutions_can_be_from_the_optimum(front: Front) -> None:
    bounds = front.measures["loss"] / 1.0125
    bounds[0], bounds[1] = front.measures["loss"][0], 0.0
    (tab,) = page_data([Tab("proven", replace(front, proven=bounds), RECORD, "x")])["tabs"]
    assert tab["optimality"][:2] == ["proven optimal", ""]
    assert set(tab["optimality"][2:]) == {"at most 1.3% above the optimum"}
    (tab,) = page_data([Tab("not proven", front, RECORD, "x")])["tabs"]
    assert set(tab["optimality"]) == {""}


def test_constraints_are_told_of_groups_and_of_the_whole(front: Front) -> None:
    rule = Suppression("limit", 0.1, constraints=(("k", 5), ("l_entropy", 3)))
    bound = replace(front, suppression=rule, bounds={"loss": 0.5, "groups": 10})
    told = "k at least 5; l_entropy at least 3; loss at most 0.5; groups at least 10"
    assert dict(facts_of(bound, RECORD))["Constraints"] == told


def test_the_page_knows_the_privacy_that_was_searched_and_its_direction(front: Front) -> None:
    rank = front.measures["k"].max() - front.measures["k"].astype(float)
    measures = {**front.measures, "size_rank": rank}
    searched = replace(front, objectives=("size_rank", "loss"), measures=measures)
    told = page_data([Tab("rank", searched, RECORD, "x", marks={5: "knee", 2: "knee"})])
    assert told["tabs"][0]["privacy"] == "size_rank"
    assert told["tabs"][0]["first"] == 5
    assert told["measures"]["size_rank"]["privacy"]
    assert told["measures"]["size_rank"]["better"] == "min"
    assert not told["measures"]["loss"]["privacy"]
    aimed = replace(front, objectives=("d1", "loss"))
    assert page_data([Tab("aimed", aimed, RECORD, "x")])["tabs"][0]["privacy"] == "k"


@pytest.mark.parametrize("record", [{}, {"data": [], "search": None, "times": 3, "notes": "x"}])
def test_what_a_record_does_not_tell_is_left_out(front: Front, record: dict[str, Any]) -> None:
    assert facts_of(front, record) == [("Objectives", "k, loss"), ("Solutions", str(len(front)))]


# -- a page is shown around ----------------------------------------------------------------------


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("home", ["/home/anna/my study/", "C:/Users/anna/", "/"])
def test_files_are_named_without_their_folders(front: Front, home: str, quote: str) -> None:
    config = (
        f"data:\n  source: {quote}{home}people.csv{quote}\n"
        f"columns:\n  city:\n    hierarchy: {quote}{home}trees/city.yaml{quote}\n"
        "  source: {role: insensitive}\n  workclass: {hierarchy: adult/workclass}\n"
        f"output:\n  dir: {quote}{home}results/people{quote}\n"
    )
    record = {**RECORD, "data": {**RECORD["data"], "source": f"{home}people.csv"}}
    why = f"the table of results cannot be read: {home}trees/city.yaml: no such file"
    (told,) = page_data([Tab("people", front, record, "results", config, {}, why)])["tabs"]
    assert told["config"] == config.replace(f"{home}trees/", "").replace(
        f"{home}results/", ""
    ).replace(f"{quote}{home}people", f"{quote}people")
    assert told["without"] == "the table of results cannot be read: city.yaml: no such file"
    if home.startswith("/"):  # what is an absolute path is up to the machine
        assert dict(told["facts"])["Data"] == "people.csv"
        assert home == "/" or home not in json.dumps(told)


def test_names_that_are_relative_stay(front: Front) -> None:
    config = "data:\n  source: study/people.csv\noutput:\n  dir: results/people\n"
    tab = Tab("people", front, RECORD, "study/results", config, {}, "study/people.csv is gone")
    (told,) = page_data([tab])["tabs"]
    assert told["config"] == config
    assert told["without"] == "study/people.csv is gone"


def test_the_results_folder_is_named_as_it_was_given(front: Front, tmp_path: Path) -> None:
    tab = Tab("people", front, RECORD, str(tmp_path), "", {}, f"{tmp_path} is damaged")
    (told,) = page_data([tab])["tabs"]
    assert told["command"] == f"moanon export {tmp_path}"
    assert told["without"] == f"{tmp_path.name} is damaged"
