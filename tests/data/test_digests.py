"""Digests of counts: the same for the same rows in any order, and kept under a key."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.cells import Cells
from moanon.data.domain import OrderedDomain
from moanon.data.table import digest_of_columns, is_kept_as, kept, new_key, with_cells
from moanon.engines import read_table

COUNTED = digest_of_columns([("sex", ("f", "m"), np.array([1, 2]))])
ROWS = st.lists(st.tuples(st.sampled_from("fm"), st.sampled_from("abc")), min_size=1, max_size=6)


def digest(rows: list[tuple[str, str]]) -> str:
    frame = pd.DataFrame(rows, columns=["sex", "ill"])
    table = read_table(frame, {"sex": "quasi", "ill": "sensitive"})
    return with_cells(COUNTED, Cells.build(table, {"sex": OrderedDomain(("f", "m"))}))


@given(ROWS, ROWS)
def test_cells_have_the_same_digest_if_they_count_the_same_rows(
    one: list[tuple[str, str]], other: list[tuple[str, str]]
) -> None:
    assert (digest(one) == digest(other)) == (Counter(one) == Counter(other))


@given(ROWS.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))))
def test_the_order_of_rows_does_not_count(both: tuple[list[tuple[str, str]], ...]) -> None:
    assert digest(both[0]) == digest(both[1])


def test_a_digest_of_counts_is_kept_under_a_key() -> None:
    key = new_key(COUNTED)
    assert key is not None
    assert key != new_key(COUNTED)
    stated = kept(COUNTED, key)
    assert stated not in COUNTED
    assert is_kept_as(COUNTED, stated, key)
    assert not is_kept_as(COUNTED, stated, new_key(COUNTED))
    assert not is_kept_as(COUNTED, stated, None)
    assert not is_kept_as(with_cells(COUNTED, CELLS), stated, key)


def test_a_digest_of_counts_of_an_earlier_version_has_no_key() -> None:
    assert is_kept_as(COUNTED, COUNTED.removeprefix("counts:"), None)


def test_a_digest_of_bytes_is_kept_as_it_is() -> None:
    assert new_key("ab12") is None
    assert kept("ab12", None) == "ab12"
    assert with_cells("ab12", CELLS) == "ab12"
    assert is_kept_as("ab12", "ab12", None)
    assert not is_kept_as("ab12", "ab13", None)
    assert not is_kept_as("ab12", None, None)


CELLS = Cells(("sex",), np.zeros((1, 1), dtype=np.uint16), np.array([3]), ())
