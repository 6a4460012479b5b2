"""Property vectors: the source's tables, suppressed rows, and the slow oracle."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon import Instance, OrderedSpec, Release, read_table
from moanon.compare import PROPERTIES, property_vectors
from moanon.compare.indices import mean, minimum, rank
from moanon.errors import ConfigError, DataError
from moanon.grouping import Grouping
from tests import naive
from tests.compare.source import anonymized, instance, without_meaning
from tests.strategies import instances


def values(name: str, prop: str) -> list[float]:
    (vector,) = property_vectors(anonymized(name), [prop]).values()
    return vector.values.tolist()


# -- the source ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("T3a", [3, 3, 3, 3, 4, 4, 4, 3, 3, 4]),
        ("T3b", [3, 7, 7, 3, 7, 7, 7, 3, 7, 7]),
        ("T4", [4, 6, 4, 4, 6, 6, 6, 4, 6, 6]),
    ],
)
def test_sizes_of_the_source(name: str, sizes: list[float]) -> None:
    assert values(name, "size") == sizes


def test_sensitive_counts_of_the_source() -> None:
    assert values("T3a", "sensitive_count") == [2, 2, 1, 2, 2, 1, 2, 1, 2, 1]


def test_shares_and_diversity_of_the_source() -> None:
    third, half = 1 / 3, 1 / 2
    # {1,4,8}: two CF-Spouse of three; {2,3,9}: two Separated of three; {5,6,7,10}: two Divorced.
    assert values("T3a", "sensitive_share") == pytest.approx(
        [2 * third, 2 * third, third, 2 * third, half, 1 / 4, half, third, 2 * third, 1 / 4]
    )
    assert values("T3a", "diversity") == [2, 2, 2, 2, 3, 3, 3, 2, 2, 3]


def test_utility_of_the_source() -> None:
    # Row 1 of T3a: zip 1305* holds 2 of 6, ages 3 of 10, Married 2 of 6: 3 - 1/5 - 2/9 - 1/5.
    assert values("T3a", "utility")[0] == pytest.approx(3 - 1 / 5 - 2 / 9 - 1 / 5)
    # Row 2 of T4: all zip codes, 6 of 10 ages, any status: 3 - 1 - 5/9 - 1.
    assert values("T4", "utility")[1] == pytest.approx(3 - 1 - 5 / 9 - 1)


# -- suppressed rows -----------------------------------------------------------------------------


def mostly_suppressed_shirts() -> Grouping:
    """S S M M M L L, of which the two S and the two L are suppressed."""
    ill = ["flu", "flu", "gout", "ill", "flu", "flu", "gout"]
    frame = pd.DataFrame({"size": list("SSMMMLL"), "ill": ill})
    table = read_table(frame, {"size": "quasi", "ill": "sensitive"})
    people = Instance.build(table, {"size": OrderedSpec(("S", "M", "L"))})
    return Release.of(people, [1, 1], k=3).grouping.named("shirts")


def test_suppressed_rows_are_one_group_that_lost_everything() -> None:
    people = mostly_suppressed_shirts()
    found = property_vectors(people, [*PROPERTIES])
    assert (people.k, people.suppressed) == (3, 4)
    assert found["size"].values.tolist() == [4, 4, 3, 3, 3, 4, 4]
    assert found["utility"].values.tolist() == [0, 0, 1, 1, 1, 0, 0]
    # ill: flu flu | gout ill flu | flu gout
    assert found["sensitive_count"].values.tolist() == [3, 3, 1, 1, 1, 3, 1]
    assert found["diversity"].values.tolist() == [2, 2, 3, 3, 3, 2, 2]


def test_vectors_are_turned_so_that_higher_is_better() -> None:
    vector = property_vectors(mostly_suppressed_shirts(), ["sensitive_count"])["sensitive_count"]
    assert vector.direction == "min"
    assert vector.oriented.tolist() == [4, 4, 6, 6, 6, 4, 6]  # 7 rows minus the count
    assert (vector.oriented >= 0).all()


# -- any table -----------------------------------------------------------------------------------


@given(instances(sensitive=1), st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_vectors_are_those_of_the_oracle(people: Instance, seed: int, k: int) -> None:
    genome = people.layout.sample(1, np.random.default_rng(seed))[0]
    shown = naive.generalized_rows(people, people.layout.text(genome))
    rows_of = naive.groups_of(shown)
    k = min(k, max(map(len, rows_of.values())))
    release = Release.of(people, genome, k=k)
    found = property_vectors(release.grouping.named("random"), [*PROPERTIES])
    gone = {row for rows in rows_of.values() if len(rows) < k for row in rows}
    status = naive.sensitive_rows(people, "s0")
    domains = naive.spans_of(people)
    for row, labels in enumerate(shown):
        members = sorted(gone) if row in gone else rows_of[labels]
        counts = Counter(status[member] for member in members)
        lost = len(domains) if row in gone else naive.row_loss(labels, domains)
        assert found["size"].values[row] == len(members)
        assert found["utility"].values[row] == pytest.approx(float(len(domains) - lost))
        assert found["sensitive_count"].values[row] == counts[status[row]]
        assert found["sensitive_share"].values[row] == counts[status[row]] / len(members)
        assert found["diversity"].values[row] == len(counts)


@given(instances(sensitive=1), st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_unary_indices_follow_from_the_entries_alone(people: Instance, seed: int, k: int) -> None:
    genome = people.layout.sample(1, np.random.default_rng(seed))[0]
    k = min(k, int(Grouping.of_genome(people, genome).sizes.max()))
    seen = Release.of(people, genome, k=k).grouping.named("random")
    for vector in property_vectors(seen, [*PROPERTIES]).values():
        assert vector.rows.sum() == len(vector) == people.table.rows
        assert (vector.rows > 0).all()
        for index in (minimum, mean, rank):
            of_groups = index(vector.entries, vector.rows, vector.ideal)
            assert of_groups == pytest.approx(index(vector.values, ideal=vector.ideal))


# -- asking --------------------------------------------------------------------------------------


def test_by_default_what_can_be_known_is_compared() -> None:
    assert list(property_vectors(anonymized("T3a"))) == [
        "size",
        "sensitive_share",
        "utility",
    ]
    assert list(property_vectors(anonymized("T3a"), sensitive=())) == ["size", "utility"]


def test_sensitive_columns_can_be_named() -> None:
    # The marital status is generalized, but its real values can be what is to be protected.
    found = property_vectors(anonymized("T3a"), ["sensitive_count"], sensitive=["marital"])
    assert found["sensitive_count"].values.tolist() == [2, 2, 1, 2, 2, 1, 2, 1, 2, 1]
    two = ["status", "marital"]
    found = property_vectors(anonymized("T3a"), ["diversity:marital"], sensitive=two)
    assert list(found) == ["diversity:marital"]
    found = property_vectors(anonymized("T3a"), ["diversity"], sensitive=two)
    assert list(found) == ["diversity:status", "diversity:marital"]


@pytest.mark.parametrize(
    ("names", "sensitive", "message"),
    [
        (["sice"], None, r"^there is no property called 'sice'; did you mean 'size'\? Known: size"),
        (["size:status"], None, r"^the property size is not one of a column\. Got 'size:status'$"),
        (["diversity:zip"], None, r"^the property 'diversity:zip' must name a sensitive column\."),
        (["diversity"], (), r"^the property diversity needs a sensitive column, and none is given"),
        ([], None, r"^a comparison needs at least one property\. Got none$"),
        (
            ["diversity:"],
            None,
            r"^the property 'diversity:' must name a sensitive column\. Known: ",
        ),
        (["size", "utility", "size"], None, r"^properties name 'size' twice$"),
        (
            ["diversity", "diversity:status"],
            None,
            r"^properties name 'diversity:status' twice: 'diversity' is the same$",
        ),
        (
            ["diversity:marital", "diversity"],
            ("status", "marital"),
            r"^properties name 'diversity' twice: 'diversity:marital' is the same$",
        ),
    ],
)
def test_what_cannot_be_known_is_refused(
    names: list[str], sensitive: tuple[str, ...] | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        property_vectors(anonymized("T3a"), names, sensitive=sensitive)


def test_an_unknown_sensitive_column_is_refused() -> None:
    with pytest.raises(DataError, match=r"has no column 'statsu' \(did you mean 'status'\?\)"):
        property_vectors(anonymized("T3a"), sensitive=["statsu"])


def test_utility_needs_domains() -> None:
    blind = without_meaning(anonymized("T3a"))
    assert list(property_vectors(blind, sensitive=())) == ["size"]
    with pytest.raises(ConfigError, match=r"^the property utility needs to know what labels mean"):
        property_vectors(blind, ["utility"])


def test_rows_of_a_release_lose_what_its_groups_lose() -> None:
    people = instance()
    release = Release.of(people, people.layout.parse("01010" + "001001000" + "01000"), k=4)
    genome, sizes = "01010" + "001001000" + "01000", people.layout.sizes.tolist()
    shown = naive.generalized_rows(people, genome)
    kept = np.flatnonzero(release.grouping.is_kept)
    expected = [float(naive.row_loss(shown[row], sizes)) for row in kept]
    assert 0 < len(expected) < people.table.rows
    for seen in (release.grouping, release.grouping.released()):
        assert seen.row_loss[seen.row_group[kept]].tolist() == pytest.approx(expected)
