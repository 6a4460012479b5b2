"""The four problems: compiled kernels against the slow oracle, and by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.domain import IntervalSpec, OrderedSpec
from moanon.engines import read_table
from moanon.errors import ConfigError, GenomeError
from moanon.genome import Instance
from moanon.measures import MEASURES, find_measure
from moanon.measures.evaluate import Evaluator, Scores, objective_matrix
from moanon.measures.suppression import Suppression, row_limit
from tests import naive
from tests.strategies import few, instances, populations

ETAS = [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.9, 0.99]


def values(scores: Scores, name: str) -> list[float]:
    return list(MEASURES[name].of(scores))


def staircase(scores: Scores, genome: int) -> dict[str, list[float]]:
    """Measures of the steps of one genome, by name; those with the smallest k first."""
    steps, own = scores.steps(), np.flatnonzero(scores.step_genome == genome)
    assert len(own)
    own = own[np.argsort(values_of(steps, "k")[own], kind="stable")]
    measured = {
        name: values_of(steps, name)[own] for name in ("k", "suppressed", "gl", "sl", "loss")
    }
    return {name: column.tolist() for name, column in measured.items()} | {
        "l": steps.field("d2")[own].tolist()
    }


def values_of(scores: Scores, name: str) -> np.ndarray:
    return np.asarray(MEASURES[name].of(scores))


def check_losses(scores: Scores, i: int, groups: list, kept: list) -> None:
    gl, sl = naive.losses(groups, kept, scores.columns)
    assert values(scores, "gl")[i] == pytest.approx(float(gl), abs=1e-12)
    assert values(scores, "sl")[i] == pytest.approx(float(sl), abs=1e-12)
    assert values(scores, "loss")[i] == pytest.approx(float(gl + sl), abs=1e-12)
    assert values(scores, "suppressed")[i] == sum(g[0] for g in groups) - sum(g[0] for g in kept)
    assert values(scores, "groups")[i] == len(kept)
    assert values(scores, "k")[i] == min(size for size, _, _ in kept)
    kept_rows = sum(size for size, _, _ in kept)
    assert values(scores, "average_class_size")[i] == pytest.approx(kept_rows / len(kept))
    assert values(scores, "weighted_k")[i] == pytest.approx(
        float(naive.weighted_k(size for size, _, _ in groups)), rel=1e-15
    )
    assert values(scores, "weighted_k_kept")[i] == pytest.approx(
        float(naive.weighted_k(size for size, _, _ in kept)), rel=1e-15
    )


def oracle(instance: Instance, genomes: np.ndarray, diversity: str = "distinct") -> list[list]:
    return [
        naive.groups_with_loss(instance, instance.layout.text(genome), diversity)
        for genome in genomes
    ]


@given(st.data())
def test_keeping_everything_agrees_with_the_oracle(data):
    instance = data.draw(instances())
    genomes = data.draw(populations(instance))
    scores = Evaluator(instance).evaluate(genomes, Suppression("none"))
    for i, groups in enumerate(oracle(instance, genomes)):
        check_losses(scores, i, groups, groups)


@few
@given(st.data())
def test_suppression_within_a_limit_agrees_with_the_oracle(data):
    instance = data.draw(instances())
    genomes = data.draw(populations(instance))
    eta = data.draw(st.sampled_from(ETAS))
    scores = Evaluator(instance).evaluate(genomes, Suppression("limit", eta))
    for i, groups in enumerate(oracle(instance, genomes)):
        d, kept = naive.within_limit(groups, eta)
        assert values(scores, "d")[i] == d
        assert values(scores, "k")[i] == d + 1
        check_losses(scores, i, groups, kept)


@given(st.data())
def test_suppression_below_weighted_k_agrees_with_the_oracle(data):
    instance = data.draw(instances())
    genomes = data.draw(populations(instance))
    scores = Evaluator(instance).evaluate(genomes, Suppression("weighted-k"))
    for i, groups in enumerate(oracle(instance, genomes)):
        check_losses(scores, i, groups, naive.above_weighted_k(groups))


@pytest.mark.parametrize("diversity", ["distinct", "frequency"])
@few
@given(data=st.data())
def test_suppression_below_the_mean_diversity_agrees_with_the_oracle(diversity, data):
    instance = data.draw(instances(sensitive=data.draw(st.integers(1, 2))))
    genomes = data.draw(populations(instance))
    rule = Suppression("weighted-k", by="l", diversity=diversity)
    scores = Evaluator(instance).evaluate(genomes, rule)
    for i, groups in enumerate(oracle(instance, genomes, diversity)):
        least, kept = naive.above_weighted_l(groups)
        assert values(scores, "weighted_l")[i] == float(least)
        assert values(scores, "l")[i] == min(ell for _, _, ell in kept) >= least
        check_losses(scores, i, groups, kept)


@pytest.mark.parametrize("safety", ["ordered", "strict"])
@pytest.mark.parametrize("prefer", ["k", "l"])
@few
@given(data=st.data())
def test_safety_agrees_with_the_oracle(safety, prefer, data):
    instance = data.draw(instances(sensitive=data.draw(st.integers(1, 2))))
    genomes = data.draw(populations(instance))
    eta = data.draw(st.sampled_from(ETAS))
    diversity = data.draw(st.sampled_from(["distinct", "frequency"]))
    scores = Evaluator(instance).evaluate(
        genomes, Suppression("kl-safety", eta, safety, prefer, diversity)
    )
    naive_rule = {"ordered": naive.ordered_safety, "strict": naive.strict_safety}[safety]
    for i, groups in enumerate(oracle(instance, genomes, diversity)):
        d1, d2, kept = naive_rule(groups, eta, prefer)
        assert (values(scores, "d1")[i], values(scores, "d2")[i]) == (d1, d2)
        assert (values(scores, "k")[i], values(scores, "l")[i]) == naive.attained(kept)
        check_losses(scores, i, groups, kept)


@given(st.data())
def test_both_diversities_are_measured_on_what_is_kept(data):
    instance = data.draw(instances(sensitive=2))
    genomes = data.draw(populations(instance))
    scores = Evaluator(instance).evaluate(genomes, Suppression("limit", 0.2))
    for name in ("distinct", "frequency"):
        for i, groups in enumerate(oracle(instance, genomes, name)):
            _, kept = naive.within_limit(groups, 0.2)
            assert values(scores, f"l_{name}")[i] == naive.attained(kept)[1]


@given(st.data())
def test_a_staircase_has_every_k_within_the_limit(data):
    instance = data.draw(instances())
    genomes = data.draw(populations(instance))
    eta = data.draw(st.sampled_from(ETAS))
    scores = Evaluator(instance).evaluate(genomes, Suppression("limit", eta), steps=True)
    for i, groups in enumerate(oracle(instance, genomes)):
        d, _ = naive.within_limit(groups, eta)
        stairs = staircase(scores, i)
        assert stairs["k"] == sorted({g[0] for g in groups if g[0] <= d + 1})
        for step, k in enumerate(stairs["k"]):
            kept = [group for group in groups if group[0] >= k]
            gl, sl = naive.losses(groups, kept, scores.columns)
            assert stairs["gl"][step] == pytest.approx(float(gl), abs=1e-12)
            assert stairs["sl"][step] == pytest.approx(float(sl), abs=1e-12)
            assert stairs["loss"][step] == pytest.approx(float(gl + sl), abs=1e-12)


@given(st.data())
def test_a_staircase_in_two_dimensions_has_every_attained_pair(data):
    instance = data.draw(instances(sensitive=1))
    genomes = data.draw(populations(instance))
    eta = data.draw(st.sampled_from(ETAS))
    diversity = data.draw(st.sampled_from(["distinct", "frequency"]))
    rule = Suppression("kl-safety", eta, diversity=diversity)
    scores = Evaluator(instance).evaluate(genomes, rule, steps=True)
    for i, groups in enumerate(oracle(instance, genomes, diversity)):
        pairs = {naive.attained(kept): kept for kept in naive.strict_pairs(groups, eta).values()}
        stairs = staircase(scores, i)
        found = list(zip(stairs["k"], stairs["l"], strict=True))
        assert sorted(found) == sorted(pairs)
        for step, pair in enumerate(found):
            gl, sl = naive.losses(groups, pairs[pair], scores.columns)
            assert stairs["loss"][step] == pytest.approx(float(gl + sl), abs=1e-12)


# -- by hand ---------------------------------------------------------------------------------------


def one_column(sizes: list[int], sensitive: list[list[str]] | None = None) -> Instance:
    """Groups of the given sizes under the all-ones genome: value i occurs sizes[i] times."""
    column = [str(i) for i, size in enumerate(sizes) for _ in range(size)]
    frame = {"q": column}
    roles = {"q": "quasi"}
    if sensitive is not None:
        frame["s"] = [value for group in sensitive for value in group]
        roles["s"] = "sensitive"
    spec = OrderedSpec(tuple(str(i) for i in range(len(sizes))))
    return Instance.build(read_table(pd.DataFrame(frame), roles), {"q": spec})


def ones(instance: Instance) -> np.ndarray:
    return np.ones((1, instance.layout.bits), dtype=np.uint8)


def paper_table_without_trees() -> Instance:
    """D's Table 1, without the trees: ages by tens, married or not."""
    frame = pd.DataFrame(
        {
            "age": [15, 17, 20, 26, 28, 30, 30],
            "status": ["N", "N", "M", "M", "M", "M", "M"],
        }
    )
    table = read_table(frame, {"age": "quasi", "status": "quasi"})
    return Instance.build(
        table, {"age": IntervalSpec(10, (10, 39)), "status": OrderedSpec(("N", "M"))}
    )


def test_weighted_k_of_the_papers_two_anonymizations():
    # T1: groups {1,2} and {3..7} → (4 + 25) / 7; T2: {1,2}, {3,4,5}, {6,7} → (4 + 9 + 4) / 7
    scores = Evaluator(paper_table_without_trees()).evaluate(
        [[1, 0, 1], [1, 1, 1]], Suppression("none")
    )
    assert values(scores, "weighted_k") == [29 / 7, 17 / 7]
    assert values(scores, "k") == [2, 2]


def test_generalization_loss_by_hand():
    # T1: ages 20-39 are a block of 2 of 3 steps → loss 1/2 in 5 rows; GL = 2.5 of 7 * 2 cells
    scores = Evaluator(paper_table_without_trees()).evaluate([[1, 0, 1]], Suppression("none"))
    assert values(scores, "gl") == [pytest.approx(2.5 / 14)]


def test_the_limit_is_reached_exactly():
    # 30 rows, η = 0.1 → 3 rows: sizes 1, 2, 5, 22 → E1 + E2 = 3 <= 3 → d = 4, k = 5
    instance = one_column([1, 2, 5, 22])
    scores = Evaluator(instance).evaluate(ones(instance), Suppression("limit", 0.1))
    assert values(scores, "k") == [5]
    assert values(scores, "suppressed") == [3]


def test_the_limit_is_missed_by_one_row():
    # 29 rows, η = 0.1 → 2 rows: sizes 1, 2, 5, 21 → E1 = 1 <= 2 < E1 + E2 = 3 → d = 1, k = 2
    instance = one_column([1, 2, 5, 21])
    scores = Evaluator(instance).evaluate(ones(instance), Suppression("limit", 0.1))
    assert values(scores, "k") == [2]
    assert values(scores, "suppressed") == [1]


def test_equal_groups_go_together_or_not_at_all():
    # sizes 2, 2, 6 of 10 rows, η = 0.3 → 3 rows: E2 holds 4 rows, so nothing goes
    instance = one_column([2, 2, 6])
    scores = Evaluator(instance).evaluate(ones(instance), Suppression("limit", 0.3))
    assert values(scores, "k") == [2]
    assert values(scores, "suppressed") == [0]


def test_groups_below_weighted_k_go():
    # sizes 1, 3, 6: weighted-k = (1 + 9 + 36) / 10 = 4.6 → 1 and 3 go; SL = 4/10; GL = 0
    instance = one_column([1, 3, 6])
    scores = Evaluator(instance).evaluate(ones(instance), Suppression("weighted-k"))
    assert values(scores, "weighted_k") == [4.6]
    assert values(scores, "k") == [6]
    assert values(scores, "sl") == [0.4]


def test_a_group_of_exactly_weighted_k_stays():
    # sizes 3, 3: weighted-k = 18 / 6 = 3, and 3 is not below 3
    instance = one_column([3, 3])
    scores = Evaluator(instance).evaluate(ones(instance), Suppression("weighted-k"))
    assert values(scores, "suppressed") == [0]


def test_weighted_l_is_also_of_the_limit_by_l():
    # sizes 1, 4, 5 with diversities 1, 1, 3: (1 + 4 + 15) / 10 = 2, and nothing is suppressed
    instance = safety_table()
    scores = Evaluator(instance).evaluate(ones(instance), Suppression("limit", by="l"))
    assert values(scores, "weighted_l") == [2]
    assert values(scores, "suppressed") == [0]
    by_size = Evaluator(instance).evaluate(ones(instance), Suppression("limit"))
    assert values(by_size, "weighted_l") == [0]


def test_groups_below_weighted_l_go():
    # sizes 1, 4, 5 with diversities 1, 1, 3: weighted-l = (1 + 4 + 15) / 10 = 2, so 5 rows go
    scores = Evaluator(safety_table()).evaluate(
        ones(safety_table()), Suppression("weighted-k", by="l")
    )
    assert values(scores, "weighted_l") == [2]
    assert values(scores, "l") == [3]
    assert values(scores, "suppressed") == [5]


def safety_table() -> Instance:
    """Sizes 1, 4, 5 with diversities 1, 1, 3."""
    return one_column([1, 4, 5], [["a"], ["a"] * 4, ["a", "b", "c", "c", "c"]])


def test_ordered_safety_leaves_a_group_below_d2_in():
    # sizes 2 (l 2), 3 (l 1), 5 (l 3), nothing may go, l preferred: classes by (k, l) begin with
    # E(2,2), which exceeds the limit at once → (d1, d2) = (2, 2), while the group of 3 has l = 1
    instance = one_column([2, 3, 5], [["a", "b"], ["a"] * 3, ["a", "b", "c", "c", "c"]])
    scores = Evaluator(instance).evaluate(
        ones(instance), Suppression("kl-safety", 0.0, "ordered", "l")
    )
    assert (values(scores, "d1"), values(scores, "d2")) == ([2], [2])
    assert (values(scores, "k"), values(scores, "l")) == ([2], [1])


def test_strict_safety_attains_what_it_states():
    instance = one_column([2, 3, 5], [["a", "b"], ["a"] * 3, ["a", "b", "c", "c", "c"]])
    scores = Evaluator(instance).evaluate(
        ones(instance), Suppression("kl-safety", 0.0, "strict", "l")
    )
    assert (values(scores, "d1"), values(scores, "d2")) == ([2], [1])
    assert (values(scores, "k"), values(scores, "l")) == ([2], [1])


def test_strict_safety_follows_the_preference():
    # 5 of 10 rows may go: sizes 1 and 4 → (5, 3). 4 rows may go: size 1 goes, 4 does not fit any
    # more → d1 = 4; the other group with l = 1 holds 4 rows, and only 3 are left → d2 = 1
    scores = Evaluator(safety_table()).evaluate(
        ones(safety_table()), Suppression("kl-safety", 0.5, "strict", "k")
    )
    assert (values(scores, "d1"), values(scores, "d2")) == ([5], [3])
    scores = Evaluator(safety_table()).evaluate(
        ones(safety_table()), Suppression("kl-safety", 0.4, "strict", "k")
    )
    assert (values(scores, "d1"), values(scores, "d2")) == ([4], [1])


def test_the_papers_group_of_two_has_one_marital_status():
    # D calls T1 2-diverse; its group {1, 2} holds "Never Married" twice
    frame = pd.DataFrame(
        {
            "age": [15, 17, 20, 26, 28, 30, 30],
            "status": ["N", "N", "C", "A", "A", "C", "A"],
        }
    )
    table = read_table(frame, {"age": "quasi", "status": "sensitive"})
    instance = Instance.build(table, {"age": IntervalSpec(10, (10, 39))})
    scores = Evaluator(instance).evaluate([[1, 0]], Suppression("none"))
    assert values(scores, "l_distinct") == [1]
    assert values(scores, "l_frequency") == [1]


def test_large_groups_beyond_the_exact_classes():
    # sizes 1500, 1501, 5000, 40000 (48001 rows), η n = 3000: 1500 fits, 3001 does not → k = 1501
    instance = one_column([1500, 1501, 5000, 40000])
    rule = Suppression("limit", 3000 / 48001)
    scores = Evaluator(instance).evaluate(ones(instance), rule, steps=True)
    assert values(scores, "k") == [1501]
    assert staircase(scores, 0)["k"] == [1500, 1501]
    assert staircase(scores, 0)["suppressed"] == [0, 1500]


@pytest.mark.parametrize(
    ("eta", "rows", "limit"),
    [(0.1, 30, 3), (0.1, 29, 2), (0.3, 10, 3), (0.29, 100, 29), (0.0, 5, 0), (1 - 1e-12, 3, 2)],
)
def test_the_limit_is_an_integer_free_of_float_noise(eta, rows, limit):
    assert row_limit(eta, rows) == limit


@given(st.integers(0, 10**6), st.integers(1, 10**7))
def test_the_limit_is_exact_for_decimal_shares(millionths, rows):
    eta = min(millionths, 999_999) / 10**6
    exact = Fraction(str(eta)) * rows
    assert row_limit(eta, rows) == min(int(exact), rows - 1)


def test_eta_of_one_is_refused():
    with pytest.raises(ConfigError, match=r"eta must be in \[0, 1\)\. Got 1\.0"):
        row_limit(1.0, 10)


def test_safety_without_a_sensitive_column_is_refused():
    instance = one_column([1, 2])
    with pytest.raises(ConfigError, match="kl-safety needs a sensitive column"):
        Evaluator(instance).evaluate(ones(instance), Suppression("kl-safety"))


def test_an_invalid_genome_is_refused():
    instance = one_column([1, 2])
    with pytest.raises(GenomeError, match=r"has 1 bits\. Got 3"):
        Evaluator(instance).evaluate([[1, 0, 1]], Suppression("none"))


def test_objectives_are_turned_so_that_smaller_is_better():
    scores = Evaluator(paper_table_without_trees()).evaluate([[1, 0, 1]], Suppression("none"))
    matrix = objective_matrix(scores, ["weighted_k", "gl"])
    assert matrix[0].tolist() == [-29 / 7, pytest.approx(2.5 / 14)]


def test_an_unknown_measure_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="called 'weighted-k'; did you mean 'weighted_k'"):
        find_measure("weighted-k")


def test_every_measure_is_documented():
    for measure in MEASURES.values():
        assert measure.meaning
        assert measure.citation
        assert measure.direction in ("max", "min")
