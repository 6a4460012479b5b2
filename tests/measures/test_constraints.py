"""Constraints on groups: who fails is suppressed, and what cannot be suppressed is infeasible."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.domain import OrderedSpec
from moanon.engines import read_table
from moanon.errors import ConfigError
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures import MEASURES
from moanon.measures.evaluate import Evaluator, suppress_groups
from moanon.measures.suppression import Suppression
from tests import naive_measures
from tests.measures.tables import table_of
from tests.strategies import few, populations, rich_instances

#: A bound on every measure that groups have a value of, which some meet and some do not.
BOUNDS = [
    *(
        (each.name, 2 if each.direction == "max" else 1.0)
        for each in MEASURES.values()
        if each.group
    ),
    *[("k", 3), ("alpha", 0.5), ("t_closeness", 0.25), ("t_equal", 0.4), ("t_js", 0.1)],
]


def meets(models: dict[str, float], name: str, bound: float) -> bool:
    """Whether a group meets a bound, by the oracle."""
    value = models["l_distinct" if name == "l" else name]
    if MEASURES[name].direction == "max":
        return value >= bound * (1 - 1e-9)
    return value <= bound * (1 + 1e-9)


def rows_of(groups: Grouping) -> list[list[int]]:
    return [np.flatnonzero(groups.row_group == g).tolist() for g in range(len(groups.sizes))]


@few
@given(st.data())
def test_groups_that_fail_are_suppressed_within_the_limit(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=3))
    bounds = tuple(data.draw(st.lists(st.sampled_from(BOUNDS), min_size=1, max_size=3)))
    eta = data.draw(st.sampled_from([0.0, 0.2, 0.5, 0.9]))
    rule = Suppression("limit", eta, constraints=bounds)
    names = ["k", "suppressed", "loss"]
    scores = Evaluator(instance).evaluate(genomes, rule, measures=names)
    limit = int(Fraction(str(eta)) * instance.table.rows)
    for i, genome in enumerate(genomes):
        groups = Grouping.of_genome(instance, genome)
        alive = [
            rows
            for rows in rows_of(groups)
            if all(meets(naive_measures.group_models(instance, rows), *bound) for bound in bounds)
        ]
        failing = instance.table.rows - sum(map(len, alive))
        assert scores.field("failing")[i] == failing
        assert (scores.excess[i] > 0) == (failing > limit)
        if failing > limit:
            continue
        # D's rule goes on with the others: the largest d within what is left
        left, d = limit - failing, 0
        while sum(len(rows) for rows in alive if len(rows) <= d + 1) <= left:
            d += 1
        assert MEASURES["k"].of(scores)[i] == d + 1
        gone = failing + sum(len(rows) for rows in alive if len(rows) <= d)
        assert MEASURES["suppressed"].of(scores)[i] == gone


@given(st.data())
def test_a_release_keeps_the_groups_that_were_measured(data):
    instance = data.draw(rich_instances())
    genomes = data.draw(populations(instance, most=3))
    kind = data.draw(st.sampled_from(["none", "limit", "weighted-k", "kl-safety"]))
    by = data.draw(st.sampled_from(["k", "t_closeness", "l_entropy"])) if kind == "limit" else "k"
    bounds = tuple(data.draw(st.lists(st.sampled_from(BOUNDS), max_size=2)))
    safety = data.draw(st.sampled_from(["ordered", "strict"]))
    rule = Suppression(kind, 0.3, safety, by=by, constraints=bounds)
    scores = Evaluator(instance).evaluate(genomes, rule)
    for i, genome in enumerate(genomes):
        if scores.excess[i] > 0:
            continue
        groups = Grouping.of_genome(instance, genome)
        thresholds = np.array([scores.field("d1")[i], scores.field("d2")[i]])
        kept = suppress_groups(groups, rule, thresholds).kept
        sizes = groups.sizes[kept]
        assert len(sizes) == scores.field("kept_groups")[i]
        assert sizes.min() == scores.field("k")[i]
        assert instance.table.rows - sizes.sum() == scores.field("suppressed")[i]
        lost = (groups.row_loss[kept] * sizes).sum()
        assert lost == pytest.approx(scores.field("kept_loss")[i] / scores.scale, abs=1e-9)


# -- by hand ---------------------------------------------------------------------------------------


def outcome(instance: Instance, rule: Suppression) -> tuple[float, dict[str, float]]:
    """Excess and measures of the finest grouping."""
    genome = np.ones((1, instance.layout.bits), dtype=np.uint8)
    names = ["k", "suppressed", "l_entropy", "t_closeness"]
    scores = Evaluator(instance).evaluate(genome, rule, measures=names)
    return scores.excess[0], {name: MEASURES[name].of(scores)[0].item() for name in names}


def test_three_equally_frequent_values_meet_an_entropy_l_of_three():
    # exp(ln 3) is 3 give or take a rounding
    instance = table_of(["abc", "aabbcc", "aaab"])
    rule = Suppression("limit", 0.4, constraints=(("l_entropy", 3.0),))
    excess, measures = outcome(instance, rule)
    assert excess == 0
    assert measures["suppressed"] == 4
    assert measures["l_entropy"] == pytest.approx(3)


def test_what_is_left_of_the_limit_goes_to_the_smallest_groups():
    # 13 rows, 5 may go. {a, a} fails l >= 2; then 3 are left: {a, b} fits, {a, b, c, d} does not
    instance = table_of(["aa", "ab", "abcd", "abcde"])
    rule = Suppression("limit", 0.4, constraints=(("l_distinct", 2),))
    assert outcome(instance, rule)[1]["suppressed"] == 4
    assert outcome(instance, rule)[1]["k"] == 4


def test_more_failing_rows_than_may_go_are_infeasible():
    # {a, a, a} of 5 rows fails; one row may go → 2 too many
    instance = table_of(["aaa", "ab"])
    rule = Suppression("limit", 0.2, constraints=(("l_distinct", 2),))
    assert outcome(instance, rule)[0] == 2 / 5
    # exactly as many as may go is feasible
    rule = Suppression("limit", 0.6, constraints=(("l_distinct", 2),))
    assert outcome(instance, rule)[0] == 0


def test_without_suppression_every_group_must_meet_a_constraint():
    assert outcome(table_of(["ab", "abc"]), Suppression("none", constraints=(("k", 2),)))[0] == 0
    assert outcome(table_of(["a", "abc"]), Suppression("none", constraints=(("k", 2),)))[0] == 1 / 4


def test_any_suppression_suppresses_all_that_fails():
    # weighted-k = (9 + 4) / 5 = 2.6: {a, a, a} would stay, but fails; nothing is left
    rule = Suppression("weighted-k", constraints=(("l_distinct", 2),))
    assert outcome(table_of(["aaa", "ab"]), rule)[0] > 0
    # (9 + 9 + 1) / 7 = 2.7: {a, b, c} stays
    assert outcome(table_of(["aaa", "abc", "a"]), rule)[1]["suppressed"] == 4


def test_constraints_of_all_kinds_hold_together():
    # {a, b} is 1/8 from a 5/8 b 3/8; {a, a, a} 3/8; {a, b, b} 5/8 - 1/3 = 7/24
    instance = table_of(["ab", "aaa", "abb"])
    bounds = (("t_closeness", 0.3), ("k", 3), ("l_distinct", 2))
    excess, measures = outcome(instance, Suppression("limit", 0.65, constraints=bounds))
    assert excess == 0
    assert measures["suppressed"] == 5
    assert measures["t_closeness"] == 7 / 24


def test_a_bound_that_is_met_exactly_is_met():
    # {a, a, a} is 3/8 away
    instance = table_of(["ab", "aaa", "abb"])
    at = Suppression("none", constraints=(("t_closeness", 0.375),))
    assert outcome(instance, at)[0] == 0
    below = Suppression("none", constraints=(("t_closeness", 0.3749999999),))
    assert outcome(instance, below)[0] == 3 / 8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": "loss"}, "by must be one of k, l, l_distinct, .* Got 'loss'"),
        (
            {"by": "l", "kind": "none"},
            "by is for the rule limit, and may be l for weighted-k. Got l for none",
        ),
        ({"constraints": (("gl", 1),)}, "a constraint of groups must be one of k, l, .* Got 'gl'"),
        ({"constraints": (("k", float("nan")),)}, "constraint k must be a number. Got nan"),
        ({"constraints": (("l_entropy", 0),)}, "l_entropy must be above 0. Got 0.0"),
        ({"recursive_c": 0}, "recursive_c must be a number > 0 and <= 1000. Got 0"),
    ],
)
def test_a_rule_that_means_nothing_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        Suppression(**settings)


def test_constraints_may_come_from_a_file():
    assert Suppression(constraints=[["k", 5]]).constraints == (("k", 5.0),)
    assert Suppression(constraints=[["k", 5]]) == Suppression(constraints=(("k", 5.0),))


def test_a_rule_that_looks_at_values_needs_some():
    frame = pd.DataFrame({"q": list("aab")})
    instance = Instance.build(read_table(frame, {"q": "quasi"}), {"q": OrderedSpec(("a", "b"))})
    genome = np.ones((1, 1), dtype=np.uint8)
    for rule in (Suppression(by="alpha"), Suppression(constraints=(("t_js", 0.1),))):
        with pytest.raises(ConfigError, match="the suppression rule needs a sensitive column"):
            Evaluator(instance).evaluate(genome, rule)
    # k does not
    scores = Evaluator(instance).evaluate(genome, Suppression(constraints=(("k", 2),)))
    assert scores.excess.tolist() == [1 / 3]
