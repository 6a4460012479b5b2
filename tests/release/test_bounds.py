"""Bounds on the whole table: what a release must meet, rows outside the domains included."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from moanon.release.bounds import check_bounds
from moanon.release.kept import Wanted
from moanon.release.transfer import release_rows

from moanon import Hierarchy, Instance, IntervalSpec, OrderedSpec, TreeSpec, read_table
from moanon.errors import OutputError
from moanon.measures import MEASURES
from moanon.measures.suppression import Suppression
from tests import naive, naive_measures

PLACES = Hierarchy.from_nested("Anywhere", {"N": ["Oslo", "Bergen"], "S": ["Rome", "Bari"]})
ROLES = {"age": "quasi", "size": "quasi", "place": "quasi", "ill": "sensitive", "i": "insensitive"}
GENOME = [0, 1, 0, *(1, 0), *(0, 1, 0)]  # ages in halves, S apart from M and L, countries


def people(ages: str, sizes: str, places: str, ills: str, classes: str) -> pd.DataFrame:
    names = {"O": "Oslo", "E": "Bergen", "R": "Rome", "A": "Bari", "X": "Nice"}
    return pd.DataFrame(
        {
            "age": [20 + 10 * int(age) for age in ages],
            "size": list(sizes),
            "place": [names[place] for place in places],
            "ill": list(ills),
            "i": list(classes),
        }
    )


FIRST = people("00112233", "SSSMLLLL", "OEOERRAA", "abababab", "xxyyxxyy")
#                 outside: an age of 90, Nice, a size of T
NEW = people("0011223379002", "SSSMLLLLSSTSS", "OEOERRAAOOXOO", "abababababbab", "xxyyxxyyxyxyx")


@pytest.fixture(scope="module")
def first() -> Instance:
    return Instance.build(
        read_table(FIRST, ROLES),
        {
            "age": IntervalSpec(10, (20, 59)),
            "size": OrderedSpec(("S", "M", "L")),
            "place": TreeSpec(PLACES),
        },
        weights={"age": 2.0, "place": 0.5},
        label="i",
    )


def told(error: object) -> dict[str, float]:
    """What a refusal says about each measure."""
    return {
        name: float(value) for name, value in re.findall(r"(\w+) is ([\d.e+-]+) \(", str(error))
    }


def test_rows_outside_count_as_suppressed_rows_of_the_table(first: Instance) -> None:
    release = release_rows(first, GENOME, read_table(NEW, ROLES), Wanted(2), "suppress")
    fitted, out = release.instance, release.rows - release.instance.table.rows
    assert out == 3
    groups = naive.groups_of(naive.generalized_rows(fitted, release.genome)).values()
    kept = [rows for rows in groups if len(rows) >= 2]
    here = naive_measures.loss_measures(fitted, release.genome, kept)
    n = fitted.table.rows
    gone = n - sum(map(len, kept))
    assert gone > 0  # or less would be shown
    base = list(zip(*naive.base_rows(fitted), strict=True))
    sizes = [domain.size for domain in fitted.layout.domains.values()]
    unknown = sum(
        naive_measures.block_entropy(column, 0, size)
        for column, size in zip(base, sizes, strict=True)
    )

    def share(name: str) -> float:
        """A share of all rows, where those outside have lost everything."""
        return (here[name] * n + out) / (n + out)

    expected = {
        "loss": release.promised.loss,
        "sl": (gone + out) / (n + out),
        "gl_weighted": here["gl_weighted"] * n / (n + out),
        "loss_weighted": share("loss_weighted"),
        "ncp": share("ncp"),
        "prec": 1 - ((1 - here["prec"]) * n + out) / (n + out),
        "conditional_entropy": here["conditional_entropy"] + out * unknown,
        "dm": sum(len(rows) ** 2 for rows in kept) + (n + out) * (gone + out),
        "cm": here["cm"] + out,
        "size_min": min(gone + out, *map(len, kept)),
        "size_mean": (sum(len(rows) ** 2 for rows in kept) + (gone + out) ** 2) / (n + out),
        "utility_mean": 3 * (1 - release.promised.loss),
        "suppressed": gone + out,
        "groups": len(kept),
        "c_avg": here["c_avg"],
        "absdist": here["absdist"],
        "reldist": here["reldist"],
    }
    impossible = {n: 1e9 if MEASURES[n].direction == "max" else -1.0 for n in expected}
    with pytest.raises(OutputError) as refused:
        check_bounds(release, Wanted(2).rule, 2, impossible, name="it")
    assert told(refused.value) == pytest.approx(expected, rel=1e-5)


def test_rows_outside_leave_sums_over_people_unknown(first: Instance) -> None:
    release = release_rows(first, GENOME, read_table(NEW, ROLES), Wanted(2), "suppress")
    message = (
        r"^it leaves 3 rows outside the domains, and whether it meets the constraint size_rank"
    )
    with pytest.raises(OutputError, match=message):
        check_bounds(release, Wanted(2).rule, 2, {"size_rank": 1e9}, name="it")


def test_a_release_that_meets_its_bounds_passes(first: Instance) -> None:
    release = release_rows(first, GENOME, read_table(FIRST, ROLES), Wanted(1))
    check_bounds(release, Wanted(1).rule, 1, {"loss": release.promised.loss, "k": 1}, name="it")
    check_bounds(release, Wanted(1).rule, 1, {}, name="it")


def test_every_broken_bound_is_told(first: Instance) -> None:
    release = release_rows(first, [0] * 8, read_table(FIRST, ROLES), Wanted(1))
    bounds = {"loss": 0.9, "groups": 2.0, "k": 3.0, "dm": 63.5}
    message = (
        r"^solution 4 does not meet the constraints of the run: loss is 1 \(at most 0\.9\) and "
        r"groups is 1 \(at least 2\) and dm is 64 \(at most 63\.5\)$"
    )
    with pytest.raises(OutputError, match=message):
        check_bounds(release, Wanted(1).rule, 1, bounds, name="solution 4")


def test_a_value_that_would_look_like_its_bound_has_all_its_digits(first: Instance) -> None:
    countries = [1, 1, 1, *(1, 1), *(0, 1, 0)]
    release = release_rows(first, countries, read_table(FIRST, ROLES), Wanted(1))
    # 1/3 in one of three columns
    with pytest.raises(OutputError, match=r"loss is 0\.1111111111\d* \(at most 0\.1111111\)"):
        check_bounds(release, Wanted(1).rule, 1, {"loss": 0.1111111}, name="it")
    with pytest.raises(OutputError, match=r"loss is 0\.111111 \(at most 0\.1\)"):
        check_bounds(release, Wanted(1).rule, 1, {"loss": 0.1}, name="it")


@pytest.mark.parametrize(("name", "attained"), [("d", 7), ("d1", 8), ("d2", 2)])
def test_thresholds_of_a_rule_are_held_against_what_is_attained(
    first: Instance, name: str, attained: int
) -> None:
    release = release_rows(first, [0] * 8, read_table(FIRST, ROLES), Wanted(1))
    check_bounds(release, Wanted(1).rule, 1, {name: attained}, name="it")
    with pytest.raises(OutputError, match=rf"{name} is {attained} \(at least {attained + 1}\)"):
        check_bounds(release, Wanted(1).rule, 1, {name: attained + 1}, name="it")


def test_logarithms_may_fall_short_by_a_rounding(first: Instance) -> None:
    release = release_rows(first, [0] * 8, read_table(FIRST, ROLES), Wanted(1))
    rule = Wanted(1, others=Suppression()).rule
    check_bounds(release, rule, 1, {"l_entropy": 2 * (1 + 1e-12)}, name="it")
    with pytest.raises(OutputError, match=r"l_entropy is 2 \(at least 2\.000001\)"):
        check_bounds(release, rule, 1, {"l_entropy": 2.000001}, name="it")
