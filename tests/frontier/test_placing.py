"""Releases on the plane of privacy loss and utility loss, and COUNT queries, against the oracle."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moanon.data.domain import IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.data.populations import SubpopulationSpec
from moanon.engines import read_table
from moanon.errors import ConfigError, DataError
from moanon.frontier import CountQueries, place_releases
from moanon.frontier.placing import undominated
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures.evaluate import measure_grouping
from tests import naive, naive_populations
from tests.strategies import boxes, cells, instances


def instance_of(**columns: list[str]) -> Instance:
    roles = {name: "sensitive" if name.startswith("ill") else "quasi" for name in columns}
    table = read_table(pd.DataFrame(columns), roles)
    specs = {n: OrderedSpec(tuple(sorted(set(columns[n])))) for n in table.quasi}
    return Instance.build(table, specs)


def everything(instance: Instance) -> Grouping:
    return Grouping.of_genome(instance, np.zeros(instance.layout.bits, dtype=np.uint8))


@st.composite
def awkward_instances(draw: st.DrawFn) -> Instance:
    """A table with missing values everywhere, clamped ages, an uneven tree and two secrets."""
    rows = draw(st.sampled_from([1, 2, 5, 12, 25]))
    frame = {
        "age": draw(cells(["18", "20", "25", "31", "44", "59", "60", "75", None], rows)),
        "town": draw(cells(["A", "B", "C", None], rows)),
        "ill": draw(cells(["x", "y", "z", None], rows)),
        "ill2": draw(cells(["p", "q"], rows)),
    }
    for name, value in {"age": "31", "town": "A", "ill": "x"}.items():
        frame[name][0] = value  # a column without any value is refused
    roles = {"age": "quasi", "town": "quasi", "ill": "sensitive", "ill2": "sensitive"}
    table = read_table(pd.DataFrame(frame, dtype=object), roles, missing="category")
    tree = TreeSpec(Hierarchy.from_yaml("Any: {North: {Far: [A], Near: [B]}, C: }"))
    age = IntervalSpec(5, range=(20, 60), outside="clamp")
    return Instance.build(table, {"age": age, "town": tree})


SUPPORTS = (0.05, 0.2, 0.5, 1.0)
PEOPLE = {"sex": list("ffmmfm"), "town": list("ababab"), "ill": list("xxyyxy")}


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_queries_are_answered_as_the_definition_says(data: st.DataObject) -> None:
    instance = data.draw(instances(most_rows=30, sensitive=1))
    dimensions = data.draw(st.integers(1, len(instance.layout.columns)))
    reading = data.draw(st.sampled_from(["whole", "column"]))
    share = data.draw(st.sampled_from([0.3, 0.7, 1.0]))
    queries = CountQueries.draw(
        instance, "s0", 5, dimensions=dimensions, selectivity=share, reading=reading
    )
    grouping = Grouping.of_boxes(instance, *data.draw(boxes(instance)))
    labels = instance.cells.sensitive[0].labels
    untouched = Grouping.of_genome(instance, np.ones(instance.layout.bits, dtype=np.uint8))
    told = {bucketized: queries.estimate(grouping, bucketized=bucketized) for bucketized in (0, 1)}
    assert queries.error(untouched) == pytest.approx(0, abs=1e-12)
    for query in range(5):
        predicate = tuple(
            (int(column), tuple(np.flatnonzero(np.diff(below)).tolist()))
            for column, below in zip(queries.columns[query], queries.below[query], strict=True)
        )
        wanted = [labels[i] for i in np.flatnonzero(queries.wanted[query])]
        for bucketized, found in told.items():
            slow = naive_populations.counted(
                grouping, "s0", predicate, wanted, bucketized=bool(bucketized)
            )
            assert found[query] == pytest.approx(float(slow), rel=1e-9, abs=1e-12)
        true = naive_populations.counted(untouched, "s0", predicate, wanted, bucketized=True)
        assert queries.answers[query] == true >= 1


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_releases_lie_where_the_definitions_say(data: st.DataObject) -> None:
    instance = data.draw(awkward_instances())
    grouping = Grouping.of_boxes(instance, *data.draw(boxes(instance)))
    kept = data.draw(st.lists(st.booleans(), min_size=len(grouping), max_size=len(grouping)))
    grouping = grouping.keep(np.array(kept, dtype=bool))
    support, widths = data.draw(st.sampled_from(SUPPORTS)), {"age": (2, 3)}
    wanted = naive_populations.populations(instance, Fraction(str(support)), widths)
    chosen = {"sensitive": "ill", "min_support": support, "ancestors": widths}
    if not wanted:
        with pytest.raises(ConfigError, match="no population has a share of"):
            place_releases({"x": grouping}, **chosen)
        return
    found = place_releases({"x": grouping}, bucketize=True, **chosen)
    assert found.populations == len(wanted)
    values = naive.sensitive_rows(instance, "ill")
    for release in found.releases:
        if not grouping.kept.any():
            assert (release.p_loss, release.u_loss) == (0, pytest.approx(np.log(2)))
            continue
        bucketized = release.method == "bucketized"
        slow = naive_populations.utility_loss(grouping, "ill", wanted, bucketized=bucketized)
        assert release.u_loss == pytest.approx(slow, rel=1e-9, abs=1e-12)
        everybody = Counter(values)
        worst = max(
            naive_populations.divergence(Counter(values[i] for i in members), everybody)
            for members, stays in zip(naive.members(grouping), grouping.kept, strict=True)
            if stays
        )
        assert release.p_loss == pytest.approx(worst, rel=1e-9, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_undominated_points_are_those_that_no_other_beats(points: list[tuple[int, int]]) -> None:
    def beats(one: tuple[int, int], other: tuple[int, int]) -> bool:
        return one[0] <= other[0] and one[1] <= other[1] and one != other

    slow = [not any(beats(other, each) for other in points) for each in points]
    assert undominated(np.array(points, dtype=float)).tolist() == slow


def test_a_release_lies_where_its_measures_say() -> None:
    instance = instance_of(**PEOPLE)
    found = place_releases([everything(instance).named("all")], min_support=0.3, bucketize=True)
    ruled = replace(instance, subpopulation_spec=SubpopulationSpec(0.3))
    measured = measure_grouping(everything(ruled))
    for release in found.releases:
        assert (release.name, release.k, release.groups, release.suppressed) == ("all", 6, 1, 0)
        assert release.p_loss == measured["t_js"] == 0
        assert release.u_loss == pytest.approx(measured["u_loss"])
        assert release.query_error is None
        assert release.efficient
    assert [release.method for release in found.releases] == ["generalized", "bucketized"]
    assert found.no_quasi == pytest.approx(measured["u_loss"])
    assert found.to_frame().shape == (2, 9)


def test_who_releases_nothing_gives_nothing_away_and_tells_nothing() -> None:
    grouping = everything(instance_of(**PEOPLE)).keep(np.array([False]))
    for release in place_releases(
        {"none": grouping}, min_support=0.3, bucketize=True, queries=5, dimensions=1
    ).releases:
        assert (release.k, release.groups, release.suppressed) == (0, 0, 6)
        assert (release.p_loss, release.query_error) == (0, 1)
        assert release.u_loss == pytest.approx(np.log(2))


def test_the_same_release_is_as_efficient_with_its_groups_in_another_order() -> None:
    instance = instance_of(**PEOPLE)
    cells = np.arange(len(instance.cells))
    found = place_releases(
        {
            str(order): Grouping.of_boxes(
                instance,
                np.argsort(order),
                instance.cells.codes[:, order].astype(np.int64),
                instance.cells.codes[:, order].astype(np.int64) + 1,
            )
            for order in (cells, cells[::-1], np.roll(cells, 1))
        },
        min_support=0.1,
    )
    assert [release.efficient for release in found.releases] == [True] * 3


def test_buckets_tell_more_than_blocks() -> None:
    # By town f and m are as frequent: in one bucket of all nothing is known of either; with a
    # bucket for each sex all is, whatever town; blocks of all towns would do the same here.
    instance = instance_of(**PEOPLE)
    grouping = Grouping.of_genome(instance, [1, 0])
    (blocks, buckets) = place_releases({"x": grouping}, min_support=0.1, bucketize=True).releases
    assert buckets.u_loss == pytest.approx(0, abs=1e-12)
    assert blocks.p_loss == buckets.p_loss
    assert blocks.u_loss >= buckets.u_loss


def test_the_same_seed_asks_the_same() -> None:
    instance = instance_of(**PEOPLE)
    once, again, other = (
        CountQueries.draw(instance, "ill", 20, dimensions=1, seed=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(once.below, again.below)
    assert not np.array_equal(once.below, other.below)


def test_a_table_without_a_sensitive_column_is_refused() -> None:
    instance = instance_of(sex=list("fm"))
    with pytest.raises(ConfigError, match="is about a sensitive column, and the table has none"):
        place_releases([everything(instance)])


def test_one_of_several_sensitive_columns_must_be_chosen() -> None:
    grouping = everything(instance_of(sex=list("fm"), ill=list("xy"), ill2=list("yx")))
    with pytest.raises(ConfigError, match="choose one of ill, ill2"):
        place_releases([grouping])
    assert place_releases([grouping], sensitive="ill2", min_support=0.5).sensitive == "ill2"
    with pytest.raises(ConfigError, match=r"column 'sex' is not a sensitive column .* ill, ill2"):
        place_releases([grouping], sensitive="sex")


def test_other_tables_and_base_values_are_refused() -> None:
    one, other = instance_of(**PEOPLE), instance_of(**{**PEOPLE, "sex": list("fffmmm")})
    named = {"a": everything(one), "b": everything(other).named("b")}
    with pytest.raises(DataError, match="b is not of the same table as the others"):
        place_releases(named)
    longer = Instance.build(
        one.table, {"sex": OrderedSpec(("f", "m", "x")), "town": OrderedSpec(("a", "b"))}
    )
    with pytest.raises(DataError, match="has other quasi-identifiers or base values"):
        place_releases({"a": everything(one), "b": everything(longer)})


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"queries": -1}, r"queries must be a whole number from 1 to 100000\. Got -1"),
        ({"dimensions": 3}, r"from 1 to 2, the quasi-identifiers of the table\. Got 3"),
        ({"dimensions": 0}, r"dimensions must be a whole number from 1 to 2"),
        ({"selectivity": 0}, r"selectivity must be in \(0, 1\]\. Got 0"),
        ({"seed": -1}, r"seed must be a whole number, at least 0\. Got -1"),
        ({"reading": "rows"}, r"of the whole or of each column\. Got 'rows'"),
        ({"min_support": 0}, r"min_support must be in \(0, 1\]\. Got 0"),
        ({"most": 1}, r"more than 1 populations have a share of 0\.05"),
        ({"ancestors": {"sex": [1]}}, r"widths of at least 2 base values\. Got 1"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(settings_: dict, message: str) -> None:
    grouping = everything(instance_of(**PEOPLE))
    with pytest.raises(ConfigError, match=message):
        place_releases([grouping], **({"queries": 10} | settings_))


def test_supports_of_queries_are_shares_of_the_whole_or_of_columns() -> None:
    values = [f"{i:02}" for i in range(100)]
    instance = instance_of(q=values, ill=values)
    # One column and the sensitive one: a share of 0.25 names half of each, or a quarter of each.
    whole = CountQueries.draw(instance, "ill", 5, dimensions=1, selectivity=0.25)
    column = CountQueries.draw(instance, "ill", 5, dimensions=1, selectivity=0.25, reading="column")
    assert (whole.below[:, 0, -1] == 50).all()
    assert (whole.wanted.sum(axis=1) == 50).all()
    assert (column.below[:, 0, -1] == 25).all()
    assert Fraction(int(column.wanted[0].sum()), 100) == Fraction(1, 4)


def test_queries_name_the_share_they_say_on_average() -> None:
    # Two of five and one of two values would be named by rounding: a fifth of the space, not .24.
    rows = {"race": list("abcde") * 4, "sex": list("fm") * 10, "ill": list("xy") * 10}
    instance = instance_of(**rows)
    queries = CountQueries.draw(instance, "ill", 4000, dimensions=2, selectivity=0.12)
    named = [queries.below[:, place].max(axis=1) for place in range(2)]
    sizes = instance.layout.sizes[queries.columns]
    share = queries.wanted.mean(axis=1) * np.prod(np.stack(named, axis=1) / sizes, axis=1)
    assert share.mean() == pytest.approx(0.12, abs=0.02)


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_cells_of_queries_are_counted_as_boxes_are(data: st.DataObject) -> None:
    instance = data.draw(instances(most_rows=30, sensitive=1))
    grouping = Grouping.of_boxes(instance, *data.draw(boxes(instance)))
    queries = CountQueries.draw(instance, "s0", 20, dimensions=1, selectivity=0.6)
    listed = queries.estimate(grouping, bucketized=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("moanon.frontier.placing._MOST_MATCHES", 0)
        again = replace(queries)  # which has listed nothing yet
        assert again._matches is None
        assert again.estimate(grouping, bucketized=True) == pytest.approx(listed)
