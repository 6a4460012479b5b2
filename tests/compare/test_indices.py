"""Indices of property vectors: the worked values of the source, and the laws they obey."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.compare import INDICES, find_index
from moanon.compare.indices import coverage, dominance, mean, minimum, rank, spread
from moanon.errors import ConfigError
from moanon.measures import MEASURES, people
from moanon.measures.evaluate import Evaluator
from moanon.measures.people import PROPERTIES, property_vectors
from moanon.measures.suppression import Suppression
from moanon.release import Release
from tests.strategies import populations, rich_instances

S3A = [3, 3, 3, 3, 4, 4, 4, 3, 3, 4]
S3B = [3, 7, 7, 3, 7, 7, 7, 3, 7, 7]
S4 = [4, 6, 4, 4, 6, 6, 6, 4, 6, 6]
ONE, OTHER = [2, 2, 3, 4, 5], [3, 2, 4, 2, 3]

vectors = st.integers(1, 30).flatmap(
    lambda rows: st.tuples(
        *(st.lists(st.integers(0, 9), min_size=rows, max_size=rows) for _ in range(2))
    )
)


def test_the_worst_off_row_and_the_mean() -> None:
    assert minimum(S3A) == 3
    assert mean(S3A) == 3.4  # (3·3 + 3·3 + 4·4) / 10
    assert mean([1.5, 2.5]) == 2


def test_rank_is_the_distance_to_the_ideal() -> None:
    assert rank([1, 2], ideal=4) == pytest.approx(math.sqrt(9 + 4))
    assert rank(S3B, ideal=7) == pytest.approx(math.sqrt(3 * 16))
    assert rank([5, 5], ideal=5) == 0


def test_coverage_of_the_source() -> None:
    assert (coverage(S3A, S3B), coverage(S3B, S3A)) == (0.3, 1)
    assert (coverage(ONE, OTHER), coverage(OTHER, ONE)) == (3 / 5, 3 / 5)
    # "T4 is cov-better than T3a, and T3b is cov-better than T4"
    assert (coverage(S4, S3A), coverage(S3A, S4)) == (1, 0)
    assert (coverage(S3B, S4), coverage(S4, S3B)) == (0.7, 0.3)


def test_spread_of_the_source() -> None:
    # 2 + 2 where the first is ahead, 1 + 1 where the second is.
    assert (spread(ONE, OTHER), spread(OTHER, ONE)) == (4, 2)
    rest = [3, 3, 3, 4, 4, 4, 4]
    three, two = [3, 3, 3, 5, 5, 5, 5, 5, *rest], [2, 2, 6, 6, 6, 6, 6, 6, *rest]
    # Rows 1 and 2 lose 1 each; row 3 gains 3, rows 4 to 8 gain 1 each.
    assert (spread(three, two), spread(two, three)) == (2, 8)
    assert coverage(two, three) > coverage(three, two)  # "P_cov also points at the same"


@pytest.mark.parametrize(
    ("a", "b", "stands"),
    [
        (S3B, S3A, ("strong", "none")),
        (S3A, S3A, ("weak", "weak")),
        (S3B, S4, ("none", "none")),
    ],
)
def test_dominance(a: list[int], b: list[int], stands: tuple[str, str]) -> None:
    assert (dominance(a, b), dominance(b, a)) == stands


@given(vectors)
def test_dominance_and_the_indices_agree(pair: tuple[list[int], list[int]]) -> None:
    a, b = pair
    if dominance(a, b) == "strong":
        for name in ("mean", "cov", "spr", "rank"):
            assert find_index(name).pair(a, b, ideal=10)[2] == 1
        assert INDICES["min"].pair(a, b, ideal=10)[2] >= 0
    # C §5.3: spr is 0 exactly where the other one dominates.
    assert (spread(a, b) == 0) == (dominance(b, a) != "none")
    assert coverage(a, b) + coverage(b, a) >= 1


@given(vectors)
def test_the_two_ways_round_mirror_each_other(pair: tuple[list[int], list[int]]) -> None:
    a, b = pair
    for index in INDICES.values():
        there, back = index.pair(a, b, ideal=10), index.pair(b, a, ideal=10)
        assert there[:2] == back[1::-1]
        assert there[2] == -back[2]
        shares = index.shares(there)
        assert all(0 <= share <= 1 for share in shares)
        if index.name != "hv":  # whose winner is settled exactly, and may lead by less than a float
            assert np.sign(shares[0] - shares[1]) == there[2]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=1))
def test_unary_indices_of_groups_are_those_of_their_rows(groups: list[tuple[int, int]]) -> None:
    values, rows = zip(*groups, strict=True)
    every_row = np.repeat(values, rows)
    for index in (minimum, mean, rank):
        assert index(values, rows, ideal=9) == pytest.approx(index(every_row, ideal=9))


shares = st.tuples(st.integers(1, 9), st.integers(0, 8)).map(
    lambda pair: Fraction(min(pair), max(pair))
)


@given(st.lists(st.tuples(shares, shares), min_size=1, max_size=12), st.randoms())
def test_rounding_makes_no_winner(pairs: list[tuple[Fraction, Fraction]], chance: Random) -> None:
    """Shares of groups, turned, and decided as fractions would decide."""
    one = [a for a, _ in pairs]
    other = [b for _, b in pairs] if chance.random() < 0.3 else chance.sample(one, len(one))
    turned = [1 - np.array([float(share) for share in vector]) for vector in (one, other)]
    lead = sum(other) - sum(one)  # less is better
    # What one gains over the other in some rows, less what it loses in the rest, is the same sum.
    for name in ("mean", "spr"):
        found = find_index(name).pair(*turned, ideal=1, scale=1)
        assert found[2] == (lead > 0) - (lead < 0)
    squares = sum(share**2 for share in other) - sum(share**2 for share in one)
    found = find_index("rank").pair(*turned, ideal=1, scale=1)
    assert found[2] == (squares > 0) - (squares < 0)


def test_one_row_more_decides_among_many() -> None:
    many = np.full(30_162, 30_162.0)
    fewer = many.copy()
    fewer[0] -= 1
    for name in ("mean", "spr", "rank", "min", "cov", "hv"):
        assert find_index(name).pair(many, fewer, ideal=30_163, scale=30_162)[2] == 1
    # Squared distances to 30,163: 30,162 times 1; or 0, 4 and 30,160 times 1.
    apart = many.copy()
    apart[:2] += 1, -1
    assert find_index("mean").pair(many, apart, ideal=30_163)[2] == 0
    assert find_index("rank").pair(many, apart, ideal=30_163)[2] == 1


def test_hv_names_the_winner_of_a_tie_of_logarithms() -> None:
    hv = find_index("hv")
    assert hv.pair([4, 4], [2, 8], ideal=9)[2] == 0
    assert hv.pair([3, 3, 3, 5, 5, 5, 5, 5], [4] * 8, ideal=9)[2] == 1


def test_volumes_beyond_floats_have_shares() -> None:
    hv = find_index("hv")
    many = np.full(30_162, 20_000.0)
    more = many.copy()
    more[:2] += 1, -1  # 20001·19999 < 20000²
    shares = hv.shares(hv.pair(many, more, ideal=0))
    assert sum(shares) == 1
    assert shares[0] == pytest.approx(0.5, abs=1e-4)
    assert shares[0] > shares[1]
    assert hv.shares(hv.pair(many, many, ideal=0)) == (0.5, 0.5)
    assert hv.shares(hv.pair(many, many - 1, ideal=0)) == (1, 0)


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_vectors_of_different_length_are_refused(index: object) -> None:
    with pytest.raises(
        ConfigError, match=r"^property vectors of one table have the same length\. Got 2 and 3$"
    ):
        index.pair([1, 2], [1, 2, 3], ideal=3)


@pytest.mark.parametrize("bad", [[], [1, math.nan], [[1, 2]], [math.inf]])
def test_what_is_no_vector_is_refused(bad: list[float]) -> None:
    with pytest.raises(ConfigError, match=r"^a property vector holds one finite number"):
        mean(bad)


def test_an_unknown_index_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"^there is no index called 'meen'; did you mean 'mean'"):
        find_index("meen")


def test_volumes_that_only_rounding_tells_apart_are_equal():
    hv = find_index("hv")
    # 2/3 · 3 = 1 · 2; the float 2/3 is a little less than that
    assert hv.pair([2 / 3, 3], [1, 2], 3)[2] == 0
    # (1 - 1/7) (1 - 5/7) = (1 - 3/7)(1 - 4/7) = 12/49
    one, other = [1 - 1 / 7, 1 - 5 / 7], [1 - 3 / 7, 1 - 4 / 7]
    assert hv.pair(one, other, 1)[2] == 0
    assert hv.pair([0.5, 0.5], [0.25, 1 - 1e-9], 1)[2] == 1
    # whole numbers are compared to the last unit: (10⁹ - 1)(10⁹ + 1) = 10¹⁸ - 1
    assert hv.pair([1e9, 1e9], [1e9 - 1, 1e9 + 1], 1e9)[2] == 1


@given(st.data())
def test_measures_of_the_same_name_are_the_indices_of_property_vectors(data):
    names = [name for name, m in MEASURES.items() if m.of.__module__ == people.__name__]
    instance = data.draw(rich_instances())
    genome = data.draw(populations(instance, most=1))[:1]
    rule = Suppression("limit", data.draw(st.sampled_from([0.0, 0.3])))
    scores = Evaluator(instance).evaluate(genome, rule, measures=names)
    release = Release.of(instance, genome[0], k=int(scores.field("d1")[0]))
    vectors = property_vectors(release.grouping.named("a"), PROPERTIES)
    for name in names:
        prop, _, index = name.rpartition("_")
        of_columns = [v for full, v in vectors.items() if full.partition(":")[0] == prop]
        found = [
            INDICES["min" if index == "max" else index].of(
                v.turned(v.entries), v.rows, float(v.turned(np.array(v.ideal)))
            )
            for v in of_columns
        ]
        if index != "rank":  # as measured; turning twice brings it back
            found = [float(v.turned(np.array(n))) for v, n in zip(of_columns, found, strict=True)]
        assert found
        worst = min if MEASURES[name].direction == "max" else max
        expected = MEASURES[name].of(scores)[0]
        assert worst(found) == pytest.approx(expected, rel=1e-9, abs=1e-6), name
