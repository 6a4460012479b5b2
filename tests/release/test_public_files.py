"""Published files say nothing that depends on suppressed rows or on names.

The law of change: two tables that differ in nothing else give the same bytes, whatever the
recoding, the place of the rows and the kind of file.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.release.tables import one_database
from tests.release.twins import PLACES, draw_twins, placed, public_files


def differences(seed: int, place: str) -> list[str]:
    """Public files of two twins that are not the same."""
    twins = draw_twins(seed)
    with TemporaryDirectory() as folder:
        found = []
        for number, frame in enumerate(twins.tables):
            here = Path(folder) / str(number)
            instance = placed(twins, frame, place, here)
            found.append(public_files(twins, instance, here / "public"))
    first, second = found
    assert first.keys() == second.keys()
    return [name for name, content in first.items() if content != second[name]]


@pytest.mark.parametrize("place", PLACES[:2])
@given(seed=st.integers(0, 2**32 - 1))
def test_twins_in_memory_have_the_same_public_files(place: str, seed: int) -> None:
    with one_database():
        assert differences(seed, place) == []


@pytest.mark.parametrize("place", PLACES[2:])
@pytest.mark.parametrize("seed", range(6))
def test_twins_elsewhere_have_the_same_public_files(place: str, seed: int) -> None:
    assert differences(seed, place) == []
