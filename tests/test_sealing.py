"""Sealed numbers: read with the table, and by nothing less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.sealing import seal, table_key, unseal

KEY = b"k" * 32
CODES = np.array([[0, 0, 1], [0, 2, 1]], dtype=np.uint16)
COUNTS = np.array([3, 1, 2])


@given(st.data())
def test_what_is_sealed_comes_back_and_only_with_its_key_and_context(data: st.DataObject) -> None:
    below = data.draw(st.integers(1, 2**32))
    numbers = np.array(data.draw(st.lists(st.integers(0, below - 1))), dtype=np.int64)
    sealed = seal(KEY, numbers, below, b"boxes")
    assert unseal(KEY, sealed, len(numbers), below, b"boxes").tolist() == numbers.tolist()
    for key, context in ((b"other", b"boxes"), (KEY, b"others")):
        with pytest.raises(ValueError, match="another key"):
            unseal(key, sealed, len(numbers), below, context)


@given(st.integers(0, 30), st.integers(0, 7))
def test_a_sealed_text_that_was_changed_is_refused(place: int, bit: int) -> None:
    sealed = bytearray(seal(KEY, np.arange(40), 40, b""))
    sealed[place] ^= 1 << bit
    with pytest.raises(ValueError, match="another key"):
        unseal(KEY, bytes(sealed), 40, 40, b"")


def test_the_length_tells_how_many_numbers_there_are_and_nothing_of_them() -> None:
    lengths = {
        len(seal(KEY, np.array(each), 9, b"")) for each in ([0] * 64, [8] * 64, [*range(8)] * 8)
    }
    assert lengths == {16 + 64 * 4 // 8}


def test_equal_numbers_look_alike_only_where_everything_is_the_same() -> None:
    first = seal(KEY, np.zeros(64, dtype=np.int64), 9, b"one")
    assert first == seal(KEY, np.zeros(64, dtype=np.int64), 9, b"one")
    second = seal(KEY, np.zeros(64, dtype=np.int64), 9, b"two")
    streams = (np.frombuffer(each[16:], dtype=np.uint8) for each in (first, second))
    assert np.bitwise_xor(*streams).any()  # one stream for both would tell where they differ


@pytest.mark.parametrize(
    "other",
    [
        ("digest", CODES, COUNTS[::-1]),
        ("digest", CODES[:, ::-1], COUNTS),
        ("digest", CODES[::-1], COUNTS),
        ("another", CODES, COUNTS),
    ],
)
def test_a_key_is_that_of_one_table(other: tuple[str, np.ndarray, np.ndarray]) -> None:
    key = table_key("digest", CODES, COUNTS)
    assert key == table_key("digest", CODES.copy(order="F"), COUNTS.astype(np.int32))
    assert key != table_key(*other)
