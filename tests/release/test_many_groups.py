"""The worst of many groups, found by floats, is the worst of all."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.errors import CertificateError
from moanon.release.labels import NamedLabels, OrderLabels
from moanon.release.many_groups import Histograms, WorstGroups
from moanon.release.reader_privacy import SensitiveFacts, worst_privacy

VALUES = list("abcdef")
#: Two levels below the root: leaves, and pairs of them.
LEVELS = ((0, 1, 2, 3, 4, 5), (0, 2, 4))


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[dict[str, int]], SensitiveFacts]:
    """Groups of a table, and what is known of it; some rows of it are in no group."""
    counts = st.dictionaries(st.sampled_from(VALUES), st.integers(1, 9), min_size=1)
    groups = draw(st.lists(counts, min_size=1, max_size=20))
    rows = dict.fromkeys(VALUES, 0)
    for group in [*groups, draw(counts)]:
        for value, count in group.items():
            rows[value] += count
    rows = {value: count for value, count in rows.items() if count}
    places = {value: place for place, value in enumerate(VALUES)}
    ground = draw(
        st.sampled_from(
            [
                None,
                OrderLabels(places, 6),
                NamedLabels({v: (p, p + 1) for v, p in places.items()}, 6),
            ]
        )
    )
    levels = LEVELS if isinstance(ground, NamedLabels) else ()
    return groups, SensitiveFacts(rows, ground, levels, declared=draw(st.booleans()))


def histograms(groups: list[dict[str, int]], texts: list[str]) -> Histograms:
    entries = [sorted((texts.index(v), n) for v, n in group.items()) for group in groups]
    starts = np.cumsum([0, *map(len, entries[:-1])])
    values, counts = np.array([pair for group in entries for pair in group]).T
    return Histograms(starts, values, counts)


@given(tables(), st.integers(1, 20), st.sampled_from([Fraction(3), Fraction(1, 2), Fraction(7, 5)]))
def test_nothing_worse_is_overlooked(
    drawn: tuple[list[dict[str, int]], SensitiveFacts], turn: int, c: Fraction
) -> None:
    groups, facts = drawn
    texts = sorted({value for group in groups for value in group}, reverse=True)
    released = dict.fromkeys(texts, 0)
    for group in groups:
        for value, count in group.items():
            released[value] += count
    besides = [facts, facts.among(released)]
    worst = WorstGroups(texts, besides, c)
    for start in range(0, len(groups), turn):
        worst.add(histograms(groups[start : start + turn], texts))
    assert worst.values() == worst_privacy(groups, besides, c)


def test_a_value_that_the_table_does_not_have_is_told() -> None:
    with pytest.raises(CertificateError, match="the table has no value 'x'"):
        WorstGroups(["a", "x"], [SensitiveFacts({"a": 3})], Fraction(3))


@given(tables())
def test_floats_tell_each_group_as_whole_numbers_do(
    drawn: tuple[list[dict[str, int]], SensitiveFacts],
) -> None:
    groups, facts = drawn
    texts = sorted({value for group in groups for value in group})
    badness = WorstGroups(texts, [facts], Fraction(3))._badness(histograms(groups, texts))
    found = {name.removesuffix(" 0"): values for name, values in badness.items()}
    found.setdefault("closeness", found["equal"])
    for place, group in enumerate(groups):
        (alone,) = worst_privacy([group], [facts], Fraction(3))
        told = {name: float(values[place]) for name, values in found.items()}
        expected = {
            "distinct": -alone["l_distinct"],
            "frequency": -alone["l_frequency"],
            "entropy": -math.log(alone["l_entropy"]),
            "recursive": -alone["l_recursive"],
            "alpha": alone["alpha"],
            "equal": alone["t_equal"],
            "closeness": alone["t_closeness"],
            "divergence": 2 * alone["t_js"],
            "present": alone["delta_present"],
            "delta": alone["delta"],
        }
        assert told == pytest.approx(expected, abs=1e-12)
