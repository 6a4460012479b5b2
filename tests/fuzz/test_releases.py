"""Releases show what the oracle says; ``experiments/hostile_inputs.py`` makes many more."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.releases import Case, cases, mismatches


@settings(max_examples=40)
@given(cases())
def test_a_release_is_what_the_oracle_says(case: Case) -> None:
    assert mismatches(case) == []


@settings(max_examples=5)
@given(st.data())
def test_a_release_that_shows_something_else_is_found(data: st.DataObject) -> None:
    case = data.draw(cases().filter(lambda case: case.shown.count(None) < len(case.shown) - 1))
    first = next(row for row, blocks in enumerate(case.shown) if blocks is not None)
    shown = [None if row == first else blocks for row, blocks in enumerate(case.shown)]
    groups = [[row for row in rows if row != first] for rows in case.groups]
    wrong = replace(case, shown=shown, groups=[rows for rows in groups if rows])
    assert any("rows" in found for found in mismatches(wrong))
