"""Questions to fronts that are small enough to answer by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.errors import ConfigError
from moanon.front import Answer, Front, Limit, Question, answer, best_of, ladder
from moanon.front.asking import largest_ks, least_losses
from moanon.measures import MEASURES
from moanon.measures.suppression import Suppression
from tests.output.drawn import front_of, made_front


def front(
    *rows: tuple[float, ...],
    names: tuple[str, ...] = ("k", "loss"),
    rule: Suppression | None = None,
    objectives: tuple[str, ...] | None = None,
) -> Front:
    """Solutions with these measures; what is not given is suppression 0, and gl = loss."""
    columns = {name: np.array([row[i] for row in rows]) for i, name in enumerate(names)}
    columns.setdefault("k", np.ones(len(rows), dtype=np.int64))
    columns.setdefault("sl", np.zeros(len(rows)))
    columns.setdefault("gl", columns["loss"] - columns["sl"])
    columns["suppressed"] = (100 * columns["sl"]).astype(np.int64)
    return front_of(columns, objectives or names, rule or Suppression("limit", 0.1))


def ask(solutions: Front, **limits: Any) -> Answer:
    return answer(Question.of(**limits), solutions)


def near(answer: Answer, kind: str) -> dict[int, str]:
    return {each.choice.id: each.sentence for each in answer.near if each.kind == kind}


def chosen(answer: Answer) -> int:
    assert answer.choice is not None
    return answer.choice.id


#: D §7.5's second answer, and a step between: 14 at 24.9 %, 16 at 26.0 %, 36 at 26.9 %.
STEEP = front((2, 0.05), (10, 0.20), (14, 0.249), (15, 0.255), (16, 0.26), (36, 0.269), (99, 0.9))


# -- what is chosen ------------------------------------------------------------------------------


def test_a_tolerable_loss_gets_the_most_privacy() -> None:
    found = ask(STEEP, max_loss=0.25)
    assert (found.goal, chosen(found)) == (("k",), 3)
    assert found.choice is not None
    assert found.choice.measures["k"] == 14


def test_a_limit_itself_is_allowed() -> None:
    assert chosen(ask(STEEP, max_loss=0.26)) == 5
    assert chosen(ask(STEEP, min_k=36)) == 6


def test_a_needed_privacy_gets_the_least_loss() -> None:
    found = ask(STEEP, min_k=11)
    assert (found.goal, chosen(found)) == (("loss",), 3)


def test_with_both_limits_the_rest_goes_into_privacy() -> None:
    assert chosen(ask(STEEP, min_k=3, max_loss=0.25)) == 3


def test_few_suppressed_rows_alone_bound_no_loss() -> None:
    # Otherwise the answer to "k at least 10, suppressing nothing" were k 99 at 90 %.
    assert chosen(ask(STEEP, min_k=10, max_suppression=0)) == 2


def test_what_is_preferred_is_made_best() -> None:
    assert chosen(ask(STEEP, max_loss=0.3, prefer="loss")) == 1
    assert chosen(ask(STEEP, min_k=10, prefer="k")) == 7


def test_suppressed_rows_can_be_limited() -> None:
    solutions = front((5, 0.2, 0.1), (4, 0.2, 0.05), (3, 0.2, 0.0), names=("k", "loss", "sl"))
    assert chosen(ask(solutions, max_loss=0.2, max_suppression=0.05)) == 2


def test_any_measure_can_be_limited() -> None:
    solutions = front((5, 0.2, 0.1), (4, 0.2, 0.05), names=("k", "loss", "sl"))
    assert chosen(ask(solutions, at_most={"gl": 0.1})) == 1  # gl = 0.1 and 0.15
    assert chosen(ask(solutions, at_most={"suppressed": 5}, at_least={"k": 2})) == 2


def test_equals_are_told_apart_by_loss_and_then_by_the_number() -> None:
    solutions = front((5, 0.2), (5, 0.1), (5, 0.1))
    assert chosen(ask(solutions, max_loss=0.5)) == 2


@pytest.mark.parametrize(
    ("rule", "objectives", "privacy"),
    [
        (Suppression("none"), ("weighted_k", "gl"), ("weighted_k",)),
        (Suppression("limit", 0.1), ("k", "gl"), ("k",)),
        (Suppression("weighted-k"), ("weighted_k", "gl", "sl"), ("weighted_k",)),
        (Suppression("kl-safety", 0.1, prefer="k"), ("d1", "d2", "loss"), ("k", "l")),
        (Suppression("kl-safety", 0.1, prefer="l"), ("d1", "d2", "loss"), ("l", "k")),
        (Suppression("limit"), ("loss", "groups"), ("k",)),
        (Suppression("limit"), ("l_frequency", "k", "gl"), ("l_frequency", "k")),
    ],
)
def test_what_privacy_means_depends_on_the_problem(
    rule: Suppression, objectives: tuple[str, ...], privacy: tuple[str, ...]
) -> None:
    assert front_of({}, objectives, rule).privacy == privacy


def test_safety_is_what_is_attained_not_the_thresholds() -> None:
    rule = Suppression("kl-safety", 0.1, safety="ordered", prefer="l")
    names = ("d1", "d2", "k", "l", "loss")
    solutions = front((20, 9, 20, 1, 0.2), (10, 4, 10, 3, 0.2), names=names, rule=rule)
    assert chosen(ask(solutions, max_loss=0.2)) == 2
    assert chosen(ask(solutions, max_loss=0.2, prefer=["d2", "d1"])) == 1


# -- what is near --------------------------------------------------------------------------------


def test_a_slightly_larger_loss_limit_that_buys_much_is_told() -> None:
    # Up to 26 %: 15 and 16; 16 is more than a tenth above 14. Up to 27 %: 36.
    assert near(ask(STEEP, max_loss=0.25), "relaxed") == {
        5: "loss 26.0% instead of 25%: k 16 instead of 14",
        6: "loss 26.9% instead of 25%: k 36 instead of 14",
    }


def test_a_gain_that_is_hardly_noticeable_is_not_told() -> None:
    # 109 is less than a tenth above 100, and so is 119 above 109; but 119 is not above 100.
    solutions = front((100, 0.2), (109, 0.205), (119, 0.215))
    assert near(ask(solutions, max_loss=0.2), "relaxed") == {
        3: "loss 21.5% instead of 20%: k 119 instead of 100"
    }
    assert near(ask(front((100, 0.2), (109, 0.205)), max_loss=0.2), "relaxed") == {}


def test_what_lies_farther_than_slightly_is_not_told() -> None:
    assert near(ask(front((2, 0.2), (50, 0.2201)), max_loss=0.2), "relaxed") == {}
    assert near(ask(front((2, 0.2), (50, 0.22)), max_loss=0.2), "relaxed") == {
        2: "loss 22.0% instead of 20%: k 50 instead of 2"
    }


def test_a_loss_that_rounds_to_the_limit_shows_more_digits() -> None:
    found = near(ask(front((2, 0.2), (4, 0.2504)), max_loss=0.25), "relaxed")
    assert found == {2: "loss 25.04% instead of 25%: k 4 instead of 2"}


def test_more_suppressed_rows_can_buy_something_too() -> None:
    solutions = front((5, 0.2, 0.05), (9, 0.2, 0.06), names=("k", "loss", "sl"))
    assert near(ask(solutions, max_loss=0.3, max_suppression=0.05), "relaxed") == {
        2: "suppression 6.0% instead of 5%: k 9 instead of 5"
    }


def test_a_slightly_lower_k_that_saves_much_is_told() -> None:
    solutions = front((8, 0.1), (9, 0.2), (10, 0.25))
    # A tenth of 10 is 1: k 9 saves 5 points; k 8 is too far.
    assert near(ask(solutions, min_k=10), "relaxed") == {
        2: "k 9 instead of 10: loss 20.0% instead of 25.0%"
    }


def test_most_privacy_is_turned_around() -> None:
    # D §7.2: on a steep part, a slightly lower k (19 >= 0.9 * 20) is the rational choice.
    solutions = front((17, 0.1), (19, 0.15), (20, 0.25))
    assert near(ask(solutions, max_loss=0.25), "less") == {
        2: "k 19 instead of 20: loss 15.0% instead of 25.0%"
    }


def test_least_loss_is_turned_around() -> None:
    solutions = front((10, 0.2), (12, 0.2005), (15, 0.21), (18, 0.22), (40, 0.23))
    found = ask(solutions, min_k=10)
    assert near(found, "free") == {
        2: "k 12 instead of 10 at practically the same (loss 20.1% instead of 20.0%)"
    }
    assert near(found, "more") == {
        3: "loss 21.0% instead of 20.0%: k 15 instead of 10",
        4: "loss 22.0% instead of 20.0%: k 18 instead of 10",
    }


def test_of_the_same_loss_the_more_private_is_chosen_at_once() -> None:
    assert chosen(ask(front((10, 0.2), (12, 0.2)), min_k=10)) == 2


def test_free_stays_within_the_other_limits() -> None:
    solutions = front((10, 0.2, 0.0), (20, 0.2001, 0.3), names=("k", "loss", "sl"))
    assert near(ask(solutions, min_k=10, max_suppression=0), "free") == {}


def balanced() -> Front:
    """D Fig. 11: within 20 % (20,4) and (5,6), within 21 % also (20,5), (22,3) and (18,6)."""
    rows = [(20, 4, 0.19), (5, 6, 0.2), (4, 5, 0.2), (20, 5, 0.205), (22, 3, 0.209), (18, 6, 0.21)]
    rule = Suppression("kl-safety", 0.1, prefer="k")
    return front(*rows, names=("k", "l", "loss"), rule=rule, objectives=("d1", "d2", "loss"))


def test_other_balances_are_listed() -> None:
    found = ask(balanced(), max_loss=0.2)
    assert chosen(found) == 1
    assert near(found, "balance") == {2: "k 5, l 6, loss 20.0%"}  # (4,5) is beaten by (5,6)


def test_balances_that_a_slightly_larger_loss_reveals_are_listed() -> None:
    found = ask(balanced(), max_loss=0.2)
    # The one that is preferred is told as such; k 22 is a tenth above 20, and l pays for it.
    assert near(found, "relaxed") == {
        5: "loss 20.9% instead of 20%: k 22 instead of 20, l 3 instead of 4"
    }
    assert near(found, "revealed") == {4: "k 20, l 5, loss 20.5%", 6: "k 18, l 6, loss 21.0%"}


def test_without_a_loss_limit_there_is_nothing_to_balance() -> None:
    assert near(ask(balanced(), min_k=5), "balance") == {}


def test_each_solution_is_told_once() -> None:
    for limits in ({"max_loss": 0.2}, {"max_loss": 0.25, "max_suppression": 0}, {"min_k": 4}):
        found = [each.choice.id for each in ask(balanced(), **limits).near]
        assert len(found) == len(set(found))


# -- when nothing qualifies ----------------------------------------------------------------------


def test_each_limit_that_alone_is_in_the_way_says_what_it_would_take() -> None:
    found = ask(STEEP, max_loss=0.22, min_k=12)
    assert found.choice is None
    assert near(found, "nearest") == {
        3: "loss 24.9% instead of 22% would do: k 14, suppression 0.0%",
        2: "k 10 instead of 12 would do: loss 20.0%, suppression 0.0%",
    }


def test_where_no_single_limit_is_in_the_way_the_closest_is_told() -> None:
    solutions = front((2, 0.5, 0.1), (8, 0.5, 0.1), names=("k", "loss", "sl"))
    # 30 points of loss too much, 10 of suppression; k 8 misses 10 by a fifth, k 2 by four fifths
    found = ask(solutions, max_loss=0.2, max_suppression=0, min_k=10)
    assert near(found, "nearest") == {
        2: "loss 50.0% instead of 20% and suppression 10.0% instead of 0% and k 8 instead of 10 "
        "would do"
    }


# -- several fronts, open questions --------------------------------------------------------------


def test_the_best_of_several_answers() -> None:
    fronts = [front((3, 0.2)), front((9, 0.24)), front((9, 0.2)), front((50, 0.9))]
    assert best_of([ask(each, max_loss=0.25) for each in fronts]) == 2
    assert best_of([ask(each, min_k=9) for each in fronts]) == 2
    assert best_of([ask(each, max_loss=0.1) for each in fronts]) is None


def test_the_first_of_equally_good_answers_is_best() -> None:
    assert best_of([ask(front((3, 0.2)), max_loss=0.3) for _ in range(2)]) == 0


def test_an_open_question_gets_a_ladder() -> None:
    rungs = ladder(Question.of(), STEEP)
    # 5 %: 2, 20 %: 10, 25 %: 14, 30 %: 36, 90 %: 99
    assert [(limit.bound, each.id) for limit, each in rungs] == [
        (0.05, 1),
        (0.2, 2),
        (0.25, 3),
        (0.3, 6),
        (0.9, 7),
    ]
    with pytest.raises(ConfigError, match=r"a limit on loss \(max_loss\), on privacy \(min_k"):
        ask(STEEP, max_suppression=0.1)


def test_a_ladder_keeps_to_the_limits() -> None:
    solutions = front((5, 0.2, 0.1), (4, 0.2, 0.05), names=("k", "loss", "sl"))
    ((_, only),) = ladder(Question.of(max_suppression=0.05), solutions)
    assert only.id == 2


# -- notes and forms -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "limit", "note"),
    [
        (
            Suppression("limit", 0.1),
            0.2,
            "at most 10% of the rows; a run with eta=0.2 could spend",
        ),
        (Suppression("limit", 0.1), 0.02, "a run with eta=0.02 finds better ones within 2%"),
        (Suppression("none"), 0.1, "suppresses no row at all; the preset k-suppression would"),
    ],
)
def test_a_question_beside_the_runs_limit_is_noted(
    rule: Suppression, limit: float, note: str
) -> None:
    (only,) = ask(front((5, 0.2), rule=rule), max_loss=0.5, max_suppression=limit).notes
    assert note in only


def test_a_question_at_the_runs_limit_is_not_noted() -> None:
    assert ask(STEEP, max_loss=0.5, max_suppression=0.1).notes == ()
    free = front((5, 0.2), rule=Suppression("weighted-k"))
    assert ask(free, max_loss=0.5, max_suppression=0.1).notes == ()


def test_rows_that_stand_alone_are_noted() -> None:
    solutions = front((1, 900.0, 0.1), (3, 800.0, 0.1), names=("k", "weighted_k", "loss"))
    mean = front_of(solutions.measures, ("weighted_k", "loss"), Suppression("none"))
    (note,) = ask(mean, max_loss=0.5).notes
    assert note.startswith("k is 1: some rows of this solution are alone in their group")
    (other,) = ask(mean, max_loss=0.5, min_k=2).notes
    assert other.startswith("this run did not search for k")


BY_CHANCE = (
    "this run did not search for l: its solutions have it by chance; a run with the preset "
    "kl-safety, or with l among its objectives or constraints, finds better ones"
)


@pytest.mark.parametrize("question", [{"min_l": 2}, {"at_least": {"l": 2}}, {"prefer": "l"}])
def test_privacy_that_was_not_searched_for_is_noted(question: dict[str, Any]) -> None:
    solutions = front((2, 3, 0.1), (4, 1, 0.2), names=("k", "l", "loss"), objectives=("k", "loss"))
    assert ask(solutions, **question).notes == (BY_CHANCE,)
    assert ask(solutions, **{**question, "min_l": 9}).notes == (BY_CHANCE,)  # where nothing has it
    assert ask(solutions, min_k=2).notes == ()


@pytest.mark.parametrize(
    ("objectives", "rule"),
    [
        (("k", "l", "loss"), Suppression("limit", 0.1)),
        (("l_distinct", "loss"), Suppression("limit", 0.1)),
        (("d1", "d2", "loss"), Suppression("kl-safety", 0.1)),
        (("k", "loss"), Suppression("limit", 0.1, constraints=(("l", 2.0),))),
    ],
)
def test_privacy_that_was_searched_for_or_ensured_is_not(
    objectives: tuple[str, ...], rule: Suppression
) -> None:
    columns = {name: np.array([3, 4]) for name in ("k", "l", "d1", "d2", "l_distinct")}
    columns |= {"loss": np.array([0.1, 0.2]), "gl": np.array([0.1, 0.2]), "sl": np.zeros(2)}
    solutions = front_of(columns | {"suppressed": np.zeros(2)}, objectives, rule)
    assert ask(solutions, min_l=2).notes == ()


def test_more_privacy_than_was_ensured_is_noted() -> None:
    rule = Suppression("limit", 0.1, constraints=(("l", 2.0),))
    solutions = front((2, 3, 0.1), names=("k", "l", "loss"), objectives=("k", "loss"), rule=rule)
    assert ask(solutions, min_l=3).notes == (BY_CHANCE,)


def test_another_rule_of_diversity_is_named_as_it_is() -> None:
    names = ("k", "l_entropy", "loss")
    solutions = front((2, 1.5, 0.1), names=names, objectives=("k", "loss"))
    (note,) = ask(solutions, at_least={"l_entropy": 1.2}).notes
    assert note.endswith(
        "a run with l_entropy among its objectives or constraints finds better ones"
    )


def test_an_answer_as_a_frame_has_the_answer_first() -> None:
    frame = ask(STEEP, max_loss=0.25).to_frame()
    assert frame["kind"].tolist() == ["answer", "relaxed", "relaxed"]
    assert frame["id"].tolist() == [3, 5, 6]
    assert frame["k"].tolist() == [14, 16, 36]
    assert ask(STEEP, max_loss=0.01).to_frame()["kind"].tolist() == ["nearest"]


def test_an_answer_reads_as_a_text() -> None:
    solutions = front((5, 3, 0.25, 0.1), names=("k", "l", "loss", "sl"), objectives=("k", "loss"))
    assert str(ask(solutions, max_loss=0.3, max_suppression=0.2)) == (
        "Solution 1: k 5, loss 25.0%\n"
        " k                   5\n"
        " l                   3\n"
        " loss                25.0% (generalization 15.0%, suppression 10.0%)\n"
        " suppressed          10 rows (10.0%)\n"
        "note: this run suppresses at most 10% of the rows; a run with eta=0.2 could spend 20%"
    )
    assert str(ask(solutions, min_k=6, prefer="k")) == (
        "No solution has k at least 6.\n"
        "What it would take\n"
        " k 5 instead of 6 would do: loss 25.0%, suppression 10.0% (solution 1)"
    )


def test_an_answer_as_a_dict() -> None:
    found = ask(STEEP, max_loss=0.25, min_k=2).to_dict()
    assert found["limits"] == [
        {"measure": "loss", "at_most": 0.25},
        {"measure": "k", "at_least": 2},
    ]
    assert found["solution"]["id"] == 3
    assert found["solution"]["measures"]["loss"] == 0.249
    assert ask(STEEP, max_loss=0.01).to_dict()["solution"] is None


def test_of_two_limits_on_one_side_the_tighter_one_is_told_alone() -> None:
    both = {"min_k": 3, "at_least": {"k": 5}, "max_loss": 0.01, "at_most": {"loss": 0.3}}
    lines = str(ask(STEEP, **both)).splitlines()
    assert lines[0] == "No solution has loss at most 1% and k at least 5."


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_loss": 25}, r"loss is a share in \[0, 1\], such as 0\.25 for 25%\. Got 25"),
        ({"max_loss": -0.1}, r"a limit on loss must be a number from 0 to 1\. Got -0\.1"),
        ({"min_k": float("nan")}, r"a limit on k must be a number from 0 to 1e\+18\. Got nan"),
        ({"min_k": "10"}, "Got '10'"),
        ({"min_k": True}, "Got True"),
        ({"min_k": 10**400}, r"from 0 to 1e\+18\. Got 10{79}…$"),
        ({"min_k": 10**5000}, r"Got a number of thousands of digits$"),
        ({"min_k": np.complex128(2)}, "a limit on k must be a number"),
        ({"min_l": [2]}, r"a limit on l must be a number from 0 to 1e\+18\. Got \[2\]"),
        ({"at_most": 5}, r"^at_most must be a mapping of measures to limits, .* Got 5$"),
        ({"at_least": ["k"]}, r"^at_least must be a mapping of .* Got \['k'\]$"),
        ({"at_least": {3: 1}}, "there is no measure called 3"),
        ({"at_least": {"k": None}, "min_l": "2"}, "Got '2'"),
        ({"prefer": 3}, r"^prefer must name measures, such as 'k'\. Got 3$"),
        ({"prefer": [["k"]]}, r"^prefer must name measures, such as 'k'\. Got \[\['k'\]\]$"),
        ({"min_l": 2}, "this front has no measure 'l': its table has no sensitive column"),
        ({"at_most": {"lost": 0.1}}, "there is no measure called 'lost'; did you mean 'loss'"),
        ({"prefer": "privacy"}, "there is no measure called 'privacy'"),
        ({"max_loss": 0.5, "prefer": "l"}, "this front has no measure 'l'"),
        ({}, "a question needs a limit on loss"),
    ],
)
def test_what_cannot_be_asked_is_refused(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ask(STEEP, **limits)


# -- laws ----------------------------------------------------------------------------------------

rows = st.tuples(st.integers(1, 40), st.integers(0, 100).map(lambda i: i / 100))
fronts = st.lists(rows, min_size=1, max_size=15).map(lambda drawn: front(*drawn))
shares = st.integers(0, 100).map(lambda i: i / 100)


@given(fronts, shares)
def test_no_solution_within_the_limits_is_better(solutions: Front, most: float) -> None:
    k, loss = solutions.measures["k"], solutions.measures["loss"]
    found = ask(solutions, max_loss=most)
    if found.choice is None:
        assert (loss > most).all()
    else:
        assert found.choice.measures["k"] == k[loss <= most].max()
        assert found.choice.measures["loss"] <= most


@given(fronts, st.integers(1, 45))
def test_no_solution_with_the_privacy_loses_less(solutions: Front, least: int) -> None:
    k, loss = solutions.measures["k"], solutions.measures["loss"]
    found = ask(solutions, min_k=least)
    if found.choice is None:
        assert (k < least).all()
    else:
        assert found.choice.measures["loss"] == loss[k >= least].min()


@given(fronts, shares)
def test_near_misses_are_beyond_the_limit_and_better(solutions: Front, most: float) -> None:
    found = ask(solutions, max_loss=most)
    for each in found.near:
        if each.kind == "relaxed":
            assert found.choice is not None
            assert most < each.choice.measures["loss"] <= most + 0.02 + 1e-9
            assert each.choice.measures["k"] >= 1.1 * found.choice.measures["k"] - 1e-9
        elif each.kind == "nearest":
            assert each.choice.measures["loss"] > most
        else:
            assert each.kind == "less"
            assert each.choice.measures["loss"] <= most


@given(fronts, shares)
def test_a_limit_moved_slightly_allows_all_it_did(solutions: Front, bound: float) -> None:
    loss = solutions.measures["loss"]
    for side in ("at most", "at least"):
        limit = Limit("loss", side, bound)  # type: ignore[arg-type]
        for moved in limit.relaxed():
            assert (moved.allows(loss) | ~limit.allows(loss)).all()


# -- privacy that is better when lower -----------------------------------------------------------

#: t falls as loss rises: 0.6 at 10 %, 0.33 at 28 %, 0.3 at 30 %, 0.2 at 45 %, 0 at 100 %.
CLOSE = front(
    (0.6, 0.1),
    (0.33, 0.28),
    (0.3, 0.3),
    (0.2, 0.45),
    (0.0, 1.0),
    names=("t_closeness", "loss"),
)


def test_the_measures_that_stand_for_privacy() -> None:
    of_sizes = {"weighted_k", "weighted_k_kept", "k", "d", "d1"}
    of_sizes |= {"size_min", "size_mean", "size_rank", "risk_mean", "risk_max", "risk_share"}
    for name, measure in MEASURES.items():
        assert measure.privacy == (measure.requires == "sensitive" or name in of_sizes), name
    costs = ("loss", "prec", "utility_mean", "groups", "dm", "average_class_size", "suppressed")
    assert not any(MEASURES[name].privacy for name in costs)


def test_a_needed_closeness_gets_the_least_loss() -> None:
    found = ask(CLOSE, at_most={"t_closeness": 0.25})
    assert (found.goal, chosen(found)) == (("loss",), 4)
    assert " t_closeness         0.200" in list(found.parts())


def test_a_tolerable_loss_gets_the_greatest_closeness() -> None:
    found = ask(CLOSE, max_loss=0.4)
    assert (found.goal, chosen(found)) == (("t_closeness",), 3)


def test_a_needed_utility_is_a_tolerable_loss() -> None:
    # The most k with a utility of 5 or a precision of 80 %; not the least loss, at k 1.
    names = ("k", "loss", "utility_mean", "prec")
    rows = ((1, 0.0, 7.0, 1.0), (8, 0.2, 5.0, 0.8), (9, 0.4, 4.0, 0.6))
    solutions = front(*rows, names=names, objectives=("k", "loss"))
    for limit in ({"utility_mean": 5}, {"prec": 0.8}):
        assert chosen(ask(solutions, at_least=limit)) == 2


def test_a_limit_that_shuts_out_the_better_side_demands_nothing() -> None:
    assert Question.of(at_most={"k": 10}, at_least={"loss": 0.2}).is_open
    assert Question.of(at_least={"t_closeness": 0.1}).is_open


def test_slightly_less_privacy_is_a_slightly_larger_distance() -> None:
    # A tenth more than 0.3 is 0.33, which saves 2 points; 0.6 would be no slight change.
    assert near(ask(CLOSE, max_loss=0.4), "less") == {
        2: "t_closeness 0.330 instead of 0.300: loss 28.0% instead of 30.0%"
    }


def test_slightly_less_of_an_infinite_privacy_is_no_error() -> None:
    solutions = front((np.inf, 0.1), (2.0, 0.5), names=("delta", "loss"))
    assert chosen(ask(solutions, max_loss=0.2)) == 1


@pytest.mark.parametrize(
    ("limit", "bounds"),
    [
        (Limit("t_closeness", "at most", 0.3), [0.33]),
        (Limit("t_closeness", "at most", 0.02), [0.03]),
        (Limit("l_entropy", "at least", 3), [2.7]),
        (Limit("size_rank", "at most", 1000), [1100]),
        (Limit("k", "at least", 5), [4]),
        (Limit("weighted_k", "at least", 5), [4]),
        (Limit("alpha", "at most", 0.4), [0.41, 0.42]),
    ],
)
def test_a_limit_is_moved_by_what_is_slight_for_its_measure(
    limit: Limit, bounds: list[float]
) -> None:
    assert [moved.bound for moved in limit.relaxed()] == pytest.approx(bounds)


def test_what_it_would_take_is_told_relatively() -> None:
    # t 0.3 is 50 % beyond 0.2, k 4 is 20 % short of 5; in plain numbers 0.1 were less than 1.
    solutions = front((0.3, 5, 0.5), (0.2, 4, 0.5), names=("t_closeness", "k", "loss"))
    excess = [
        Limit("t_closeness", "at most", 0.2).excess(solutions.column("t_closeness")),
        Limit("k", "at least", 5).excess(solutions.column("k")),
    ]
    assert np.allclose(excess, [[0.5, 0], [0, 0.2]])
    assert Limit("t_closeness", "at most", 0).excess(np.array([0.1])) > 0


@pytest.mark.parametrize(
    ("limit", "just_within"),
    [
        (Limit("l_entropy", "at least", 3), 2.9999999999999996),
        (Limit("t_js", "at most", 0.1), 0.1 + 1e-11),
        (Limit("delta", "at most", 2), 2 + 1e-10),
    ],
)
def test_limits_allow_the_rounding_in_logarithms(limit: Limit, just_within: float) -> None:
    assert limit.allows(just_within)
    sign = 1 if limit.side == "at most" else -1
    assert not limit.allows(limit.bound + sign * 1e-7)


def test_other_limits_allow_no_rounding() -> None:
    assert not Limit("k", "at least", 3).allows(3 - 1e-12)
    assert not Limit("t_closeness", "at most", 0.1).allows(0.1 + 1e-12)


def test_other_privacy_under_the_rule_of_k_and_l_is_what_was_searched() -> None:
    rule = Suppression("kl-safety", 0.1, prefer="l")
    names = ("k", "l", "t_closeness", "loss")
    row = (2, 2, 0.3, 0.5)
    assert front(row, names=names, rule=rule, objectives=("d1", "d2", "loss")).privacy == ("l", "k")
    searched = front(row, names=names, rule=rule, objectives=("t_closeness", "loss"))
    assert searched.privacy == ("t_closeness",)


def test_what_a_rule_aims_at_stands_for_what_is_attained() -> None:
    assert front((2, 0.5), objectives=("d", "loss")).privacy == ("k",)


def test_plain_values_have_no_infinity() -> None:
    solutions = front((np.inf, 0.1), names=("delta", "loss"))
    assert solutions.choice(0).to_dict()["measures"]["delta"] == "inf"


# -- what privacy is paid with ---------------------------------------------------------------------


def by_another_cost() -> Front:
    """A run for another cost, the least of which is not the least loss."""
    return front(
        (5, 0.30, 0.10),
        (5, 0.25, 0.20),
        (9, 0.35, 0.105),
        names=("k", "loss", "ncp"),
        objectives=("k", "ncp"),
    )


def test_a_run_is_asked_for_the_cost_that_it_minimized() -> None:
    found = ask(by_another_cost(), min_k=2)
    assert (found.goal, found.cost, chosen(found)) == (("ncp",), "ncp", 1)
    first, *facts = found.parts()
    assert first == "Solution 1: ncp 10.0%, loss 30.0%"
    assert f" {'ncp':<20}10.0%" in facts
    assert near(found, "more") == {3: "ncp 10.5% instead of 10.0%: k 9 instead of 5"}


def test_its_ladder_goes_by_that_cost() -> None:
    rungs = ladder(Question(), by_another_cost())
    assert [(limit.measure, limit.bound, choice.id) for limit, choice in rungs] == [
        ("ncp", 0.1, 1),
        ("ncp", 0.15, 3),
    ]


def test_a_cost_that_is_no_share_has_a_ladder_of_round_numbers() -> None:
    costs = front((2, 0.1, 300), (5, 0.2, 1500), names=("k", "loss", "dm"), objectives=("k", "dm"))
    rungs = ladder(Question(), costs)
    assert [(limit.bound, choice.id) for limit, choice in rungs] == [(500, 1), (2000, 2)]
    found = ask(costs, min_k=2)
    assert (found.goal, chosen(found)) == (("dm",), 1)


def test_gl_and_sl_are_asked_for_as_loss() -> None:
    both = front((5, 0.3), (9, 0.5), objectives=("k", "gl", "sl"))
    assert ask(both, min_k=2).goal == ("loss",)


# -- what anybody would rather take ----------------------------------------------------------------

#: Of a limit of 10 %, within 3 % only the ends.
SPENDING = front(
    (1, 0.0, 0.0),
    (10, 0.134, 0.038),
    (12, 0.125, 0.099),
    (9000, 0.886, 0.03),
    (9999, 1.0, 0.0),
    names=("k", "loss", "sl"),
    objectives=("k", "loss"),
)


def test_an_extreme_answer_is_not_the_headline() -> None:
    found = ask(SPENDING, min_k=5, max_suppression=0.03)
    assert chosen(found) == 4
    assert found.miss is not None
    assert found.headline == found.miss.choice
    assert found.miss.choice.id == 2  # 13.4 % and 0.8 beyond, not 12.5 % and 6.9 beyond
    lines = list(found.parts())
    assert "extremes alone: loss 88.6%, k 9,000" in lines[0]
    assert lines[2] == "Solution 2: loss 13.4%, suppression 3.8% instead of 3%"


def test_nor_is_one_that_protects_nobody() -> None:
    found = ask(SPENDING, max_loss=0.2, max_suppression=0.03)
    assert chosen(found) == 1
    assert found.headline is not None
    assert found.headline.measures["k"] == 12
    assert not any("k is 1" in note for note in found.notes)


def test_programs_get_the_solution_within_the_limits() -> None:
    told = ask(SPENDING, min_k=5, max_suppression=0.03).to_dict()
    assert told["solution"]["id"] == 4
    assert (told["near"][0]["kind"], told["near"][0]["id"]) == ("miss", 2)


def test_a_good_answer_stays_the_headline() -> None:
    found = ask(SPENDING, min_k=5, max_suppression=0.04)
    assert (found.miss, chosen(found)) == (None, 2)


# -- several limits ------------------------------------------------------------------------------


def test_a_bound_itself_counts_where_limits_are_compared() -> None:
    wide, narrow = made_front(k=[2, 5, 10], loss=[0.1, 0.2, 0.3]), made_front(k=[5], loss=[0.1])
    fronts = {0.1: wide, 0.0: narrow}  # shown from the smallest limit on
    assert least_losses(fronts)[5] == (0.1, 0.2)
    assert least_losses(fronts)[10] == (None, 0.3)
    assert largest_ks(fronts)[0.1] == (5, 2)
    assert largest_ks(fronts)[0.2] == (5, 5)
