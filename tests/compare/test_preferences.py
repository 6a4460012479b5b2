"""Several properties at once: weights, an order, goals."""

from __future__ import annotations

import pytest

from moanon.compare import Preferences
from moanon.compare.preferences import goal_distance, lexicographic, weighted_sum
from moanon.errors import ConfigError

#: cov of sizes and of utilities of T3a against T3b, both ways round (C §5.5).
SOURCE = [(0.3, 1.0), (1.0, 0.3)]


def test_equal_weights_make_the_example_of_the_source_a_tie() -> None:
    assert weighted_sum(SOURCE, [0.5, 0.5]) == (0.65, 0.65)
    forward, backward = weighted_sum(SOURCE, [0.8, 0.2])
    assert forward == pytest.approx(0.44)  # 0.8·0.3 + 0.2·1
    assert backward == pytest.approx(0.86)


def test_thirds_sum_to_one() -> None:
    assert weighted_sum([(1, 0)] * 3, [1 / 3] * 3)[0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.6], r"^weights must sum to 1\. Got 0\.5 \+ 0\.6 = 1\.1$"),
        ([1.5, -0.5], r"^weights must be in \[0, 1\]\. Got 1\.5$"),
        ([0, 0], r"^weights must sum to 1\. Got 0 \+ 0 = 0$"),
        ([float("nan"), 1], r"^weights must be in \[0, 1\]\. Got nan$"),
        ([1], r"^weights must be one for each of 2 properties\. Got 1$"),
    ],
)
def test_other_weights_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        weighted_sum(SOURCE, weights)


@pytest.mark.parametrize(
    ("epsilons", "places"),
    [
        ([0, 0], (2, 1)),  # behind in sizes, ahead in utilities
        ([0.7, 0], (2, None)),  # 0.7 in sizes is overlooked
        ([0.7, 0.7], (None, None)),
        ([0.69, 0.7], (None, 1)),
    ],
)
def test_lex_names_the_first_property_that_is_ahead(
    epsilons: list[float], places: tuple[int | None, int | None]
) -> None:
    assert lexicographic(SOURCE, epsilons) == places


def test_an_epsilon_is_not_exceeded_by_rounding() -> None:
    assert 0.4 - 0.3 > 0.1
    assert lexicographic([(0.4, 0.3)], [0.1]) == (None, None)


@pytest.mark.parametrize("epsilon", [-0.1, float("nan"), float("inf")])
def test_epsilons_are_at_least_zero(epsilon: float) -> None:
    with pytest.raises(ConfigError, match=r"^an epsilon must be a number of at least 0\. Got"):
        lexicographic([(1, 0)], [epsilon])


def test_goals_are_missed_by_squares() -> None:
    # (0.3 - 1)² + (1 - 0.5)² = 0.74 and (1 - 1)² + (0.3 - 0.5)² = 0.04
    assert goal_distance(SOURCE, [1, 0.5]) == pytest.approx((0.74, 0.04))
    for far in (float("nan"), float("inf"), -1e200):
        with pytest.raises(ConfigError, match=r"^a goal must be a number from -1e\+100 to 1e\+100"):
            goal_distance(SOURCE, [1, far])
    with pytest.raises(ConfigError, match=r"^goals must be one for each of 2 properties\. Got 1$"):
        goal_distance(SOURCE, [1])


def test_what_is_left_open_is_filled_in() -> None:
    settled = Preferences(index={"utility": "mean"}, epsilon={"size": 0.1}).resolve(
        ["size", "utility"]
    )
    assert settled.index == {"size": "cov", "utility": "mean"}
    assert settled.weights == {"size": 0.5, "utility": 0.5}
    assert settled.order == ("size", "utility")
    assert settled.epsilon == {"size": 0.1, "utility": 0}
    assert settled.goals is None
    assert settled.rank_epsilon == {"size": 0, "utility": 0}


def test_rank_has_an_epsilon_of_its_own() -> None:
    settled = Preferences(epsilon=[2.0], rank_epsilon=[3.0]).resolve(["size"])
    assert (settled.epsilon, settled.rank_epsilon) == ({"size": 2.0}, {"size": 3.0})


@pytest.mark.parametrize(
    ("wishes", "comparators", "message"),
    [
        ({"weights": [1.0]}, ("rank", "lex"), "weights is for wtd only, and compared is by rank, "),
        ({"epsilon": [2.0]}, ("rank", "wtd"), "epsilon is for lex only, and compared is by rank"),
        (
            {"rank_epsilon": [2.0]},
            ("lex",),
            "rank_epsilon is for rank only, and compared is by lex",
        ),
        ({"order": ["size"]}, ("rank",), "order is for lex only, and compared is by rank"),
        ({"goals": [1.0]}, ("lex",), "goal is for goal only, and compared is by lex"),
        ({"ideals": {"size": 1}}, ("min", "wtd"), "ideal is for rank only, and compared is by min"),
        ({"index": "hv"}, ("rank",), "index is for wtd, lex, goal only, and compared is by rank"),
    ],
)
def test_what_no_comparator_has_a_use_for_is_refused(
    wishes: dict, comparators: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        Preferences(**wishes).resolve(["size"], comparators)


def test_an_ideal_is_of_use_where_rank_is_the_index() -> None:
    wishes = Preferences(index="rank", ideals={"size": 20})
    assert wishes.resolve(["size"], ("wtd",)).ideals == {"size": 20}


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"index": "cof"}, r"^there is no index called 'cof'; did you mean 'cov'\?"),
        ({"index": {"sice": "cov"}}, r"^index names 'sice', .* \(did you mean 'size'\?\)"),
        ({"weights": {"size": 1.0}}, r"^weights must name every property\. Got nothing for 'util"),
        ({"weights": {"size": 0.5, "utility": 0.6}}, r"^weights must sum to 1\."),
        ({"order": ["size"]}, r"^order must name every property\. Got nothing for 'utility'$"),
        ({"order": ["size", "size", "utility"]}, r"^order must name each property once\."),
        ({"goals": {"k": 1}}, r"^goal names 'k', which is not compared; compared are size, util"),
        ({"goals": {"size": 1, "utility": 1e101}}, r"^a goal must be a number from -1e\+100 to "),
        ({"epsilon": {"k": 1}}, r"^epsilon names 'k'"),
        ({"epsilon": {"size": -1}}, r"^an epsilon must be a number of at least 0\. Got -1$"),
        ({"rank_epsilon": {"size": -1}}, r"^an epsilon must be a number of at least 0\. Got -1$"),
        ({"epsilon": []}, r"^epsilon must be one for each of 2 properties\. Got 0$"),
        ({"order": []}, r"^order must name every property\. Got nothing for 'size'$"),
        ({"ideals": {"size": 1e308}}, r"^the ideal of size must be a number from -1e\+100 to 1e"),
        ({"ideals": {"k": 1}}, r"^ideal names 'k'"),
    ],
)
def test_preferences_that_do_not_fit_are_refused(wishes: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Preferences(**wishes).resolve(["size", "utility"])
