"""A solution on other rows: the bounds it must meet there, rows outside the domains included."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest

from moanon import Hierarchy, Instance, IntervalSpec, OrderedSpec, TreeSpec, read_table
from moanon.errors import DataError, OutputError
from moanon.measures import MEASURES
from moanon.measures.suppression import Suppression
from moanon.recoding import GlobalRecodings
from moanon.release.solution import ChosenSolution
from tests import naive, naive_measures
from tests.release.tables import apply_to, genome_of

PLACES = Hierarchy.from_nested("Anywhere", {"N": ["Oslo", "Bergen"], "S": ["Rome", "Bari"]})
ROLES = {"age": "quasi", "size": "quasi", "place": "quasi", "ill": "sensitive", "i": "insensitive"}
GENOME = [0, 1, 0, *(1, 0), *(0, 1, 0)]  # ages in halves, S apart from M and L, countries


def lettered(ages: str, sizes: str, places: str, ills: str, classes: str) -> pd.DataFrame:
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


FIRST = lettered("00112233", "SSSMLLLL", "OEOERRAA", "abababab", "xxyyxxyy")
#                 outside: an age of 90, Nice, a size of T
NEW = lettered("0011223379002", "SSSMLLLLSSTSS", "OEOERRAAOOXOO", "abababababbab", "xxyyxxyyxyxyx")


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
    release = apply_to(read_table(NEW, ROLES), first, GENOME, k=2, outside="suppress")
    fitted, out = release.instance, release.rows_outside
    assert out == release.rows - fitted.table.rows == 3
    genome = genome_of(release)
    groups = naive.groups_of(naive.generalized_rows(fitted, genome)).values()
    kept = [rows for rows in groups if len(rows) >= 2]
    here = naive_measures.loss_measures(fitted, genome, kept)
    loss = release.promised["loss", ""]
    n = fitted.table.rows
    gone = n - sum(map(len, kept))
    assert gone > 0  # or less would be shown
    base = list(zip(*naive.base_rows(fitted), strict=True))
    sizes = [domain.size for domain in fitted.layout.domains.values()]
    unknown = sum(
        naive_measures.block_entropy(column, 0, size)
        for column, size in zip(base, sizes, strict=True)
    )
    # a row outside loses as one that is alone with its values
    unique = len(base) * math.log2(n)
    entropy = math.fsum(math.log2(n / column.count(v)) for column in base for v in column)

    def share(name: str) -> float:
        """A share of all rows, where those outside have lost everything."""
        return (here[name] * n + out) / (n + out)

    expected = {
        "loss": loss,
        "sl": (gone + out) / (n + out),
        "gl_weighted": here["gl_weighted"] * n / (n + out),
        "loss_weighted": share("loss_weighted"),
        "ncp": share("ncp"),
        "prec": 1 - ((1 - here["prec"]) * n + out) / (n + out),
        "conditional_entropy": here["conditional_entropy"] + out * unknown,
        "entropy_loss": (here["entropy_loss"] * entropy + out * unique) / (entropy + out * unique),
        "dm": sum(len(rows) ** 2 for rows in kept) + (n + out) * (gone + out),
        "cm": here["cm"] + out,
        "size_min": min(gone + out, *map(len, kept)),
        "size_mean": (sum(len(rows) ** 2 for rows in kept) + (gone + out) ** 2) / (n + out),
        "utility_mean": 3 * (1 - loss),
        "suppressed": gone + out,
        "groups": len(kept),
        "c_avg": here["c_avg"],
        "absdist": here["absdist"],
        "reldist": here["reldist"],
    }
    impossible = {n: 1e9 if MEASURES[n].direction == "max" else -1.0 for n in expected}
    with pytest.raises(OutputError) as refused:
        apply_to(read_table(NEW, ROLES), first, GENOME, k=2, outside="suppress", bounds=impossible)
    assert told(refused.value) == pytest.approx(expected, rel=1e-5)


def test_rows_outside_leave_sums_over_people_unknown(first: Instance) -> None:
    message = (
        r"^solution 1 on DataFrame leaves 3 rows outside the domains, and whether it meets the "
        r"constraint size_rank is not known then"
    )
    bounds = {"size_rank": 1e9}
    with pytest.raises(OutputError, match=message):
        apply_to(read_table(NEW, ROLES), first, GENOME, k=2, outside="suppress", bounds=bounds)


def test_a_release_that_meets_its_bounds_passes(first: Instance) -> None:
    loss = float(apply_to(read_table(FIRST, ROLES), first, GENOME).promised["loss", ""])
    release = apply_to(read_table(FIRST, ROLES), first, GENOME, bounds={"loss": loss, "k": 1})
    assert release.promised["loss", ""] == loss


def test_every_broken_bound_is_told(first: Instance) -> None:
    bounds = {"loss": 0.9, "groups": 2.0, "k": 3.0, "dm": 63.5}
    message = (
        r"^solution 1 on DataFrame does not meet the constraints of the run: loss is 1 \(at most "
        r"0\.9\) and groups is 1 \(at least 2\) and dm is 64 \(at most 63\.5\)$"
    )
    with pytest.raises(OutputError, match=message):
        apply_to(read_table(FIRST, ROLES), first, [0] * 8, bounds=bounds)


def test_a_value_that_would_look_like_its_bound_has_all_its_digits(first: Instance) -> None:
    countries = [1, 1, 1, *(1, 1), *(0, 1, 0)]
    # 1/3 in one of three columns
    with pytest.raises(OutputError, match=r"loss is 0\.1111111111\d* \(at most 0\.1111111\)"):
        apply_to(read_table(FIRST, ROLES), first, countries, bounds={"loss": 0.1111111})
    with pytest.raises(OutputError, match=r"loss is 0\.111111 \(at most 0\.1\)"):
        apply_to(read_table(FIRST, ROLES), first, countries, bounds={"loss": 0.1})


@pytest.mark.parametrize(("name", "attained"), [("d", 7), ("d1", 8), ("d2", 2)])
def test_thresholds_of_a_rule_are_held_against_what_is_attained(
    first: Instance, name: str, attained: int
) -> None:
    apply_to(read_table(FIRST, ROLES), first, [0] * 8, bounds={name: attained})
    with pytest.raises(OutputError, match=rf"{name} is {attained} \(at least {attained + 1}\)"):
        apply_to(read_table(FIRST, ROLES), first, [0] * 8, bounds={name: attained + 1})


def test_logarithms_may_fall_short_by_a_rounding(first: Instance) -> None:
    apply_to(read_table(FIRST, ROLES), first, [0] * 8, bounds={"l_entropy": 2 * (1 + 1e-12)})
    with pytest.raises(OutputError, match=r"l_entropy is 2 \(at least 2\.000001\)"):
        apply_to(read_table(FIRST, ROLES), first, [0] * 8, bounds={"l_entropy": 2.000001})


@pytest.mark.parametrize(
    ("k", "bound", "told"), [(1_000_000, 2, "k = 1,000,000"), (16, 20, "k = 20")]
)
def test_a_constraint_on_k_is_not_told_beside_another_k(
    first: Instance, k: int, bound: int, told: str
) -> None:
    rule = Suppression(constraints=(("k", bound), ("l_distinct", 2)))
    genomes, thresholds = np.array([GENOME], dtype=np.uint8), np.array([[1, 0]])
    chosen = ChosenSolution(
        number=1,
        recodings=GlobalRecodings(genomes, thresholds, rule),
        rule=rule,
        objectives=(),
        bounds={},
        measures={},
    )
    with pytest.raises(OutputError, match=f"groups has {told} and l_distinct >= 2; choose"):
        chosen.apply(
            first, read_table(FIRST, ROLES), outside="refuse", small="suppress", k=k,
            recursive_c=None,
        )  # fmt: skip


def test_new_rows_are_a_table(first: Instance) -> None:
    with pytest.raises(DataError, match=r"new rows must be a Table, .* Got DataFrame"):
        apply_to(FIRST, first, GENOME)
