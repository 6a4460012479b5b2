"""Sealed texts: read with the table, and by nothing less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.sealing import packed_numbers, seal, table_key, unpacked_numbers, unseal

KEY = b"k" * 32
CODES = np.array([[0, 0, 1], [0, 2, 1]], dtype=np.uint16)
COUNTS = np.array([3, 1, 2])


@given(st.binary(), st.binary())
def test_what_is_sealed_comes_back_with_its_key_and_context_alone(
    text: bytes, context: bytes
) -> None:
    sealed = seal(KEY, text, context)
    assert unseal(KEY, sealed, context) == text
    for key, others in ((b"other", context), (KEY, context + b".")):
        with pytest.raises(ValueError, match="another key"):
            unseal(key, sealed, others)


@given(st.integers(0, 30), st.integers(0, 7))
def test_a_sealed_text_that_was_changed_is_refused(place: int, bit: int) -> None:
    sealed = bytearray(seal(KEY, bytes(40), b""))
    sealed[place] ^= 1 << bit
    with pytest.raises(ValueError, match="another key"):
        unseal(KEY, bytes(sealed), b"")


def test_equal_texts_look_alike_only_where_everything_is_the_same() -> None:
    first, second = (seal(KEY, bytes(64), context) for context in (b"one", b"two"))
    assert first == seal(KEY, bytes(64), b"one")
    streams = (np.frombuffer(each[16:], dtype=np.uint8) for each in (first, second))
    assert np.bitwise_xor(*streams).any()  # one stream for both would tell where they differ


@given(st.data())
def test_numbers_come_back_and_their_length_does_not_tell_them(data: st.DataObject) -> None:
    below = data.draw(st.integers(1, 2**32))
    numbers = np.array(data.draw(st.lists(st.integers(0, below - 1))), dtype=np.int64)
    text = packed_numbers(numbers, below)
    assert unpacked_numbers(text, len(numbers), below).tolist() == numbers.tolist()
    assert len(text) == len(packed_numbers(np.zeros(1, dtype=np.int64), below))


@pytest.mark.parametrize(("number", "room"), [(0, 1024), (1024, 1024), (1025, 2048), (5000, 8192)])
def test_numbers_take_the_room_of_a_power_of_two(number: int, room: int) -> None:
    assert len(packed_numbers(np.arange(number), 2**16)) == 2 * room


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
