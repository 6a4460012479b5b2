"""Sealed texts: whoever has the table reads them, and nobody else does.

Which box a cell of a table is in must be kept for every solution of a front, as boxes may overlap.
Beside the boxes that is too much to leave readable: the boxes of one cell in all solutions have
little in common but the cell itself. So these numbers are sealed with a key that follows from the
cells of the table. Every solution is sealed by itself, and equal cells look different in each.

A sealed text is a tag and what it hides (a synthetic initialization vector, Rogaway and Shrimpton
2006). The tag is the HMAC of all that is sealed; the text is hidden by the output of SHAKE-256 for
key and tag. The same text gives the same bytes every time, and one that was changed, or is of
another table, does not fit its tag. Lengths stay as they are, so numbers are packed in a way that
makes them the same whatever the numbers are, and nearly the same however many.

Whoever guesses all cells with their rows can test a key; a slow function makes that expensive.
"""

from __future__ import annotations

import hashlib
import hmac
from functools import lru_cache

import numpy as np

from moanon.arrays import Ints, Values

_TAG = 16
#: Fewer numbers take as much room as so many.
_ROOM = 1024
#: What trying a key costs: some 8 MB and hundredths of a second (scrypt).
_EFFORT = {"n": 2**13, "r": 8, "p": 1, "dklen": 32}


def table_key(digest: str, codes: Values, counts: Ints) -> bytes:
    """The key that only the cells of a table give.

    It follows from the base values (below 2^16) and the rows of all cells, and from the digest of
    the table, which is no secret.
    """
    content = hashlib.sha256(np.array(codes.shape, dtype="<i8").tobytes())
    content.update(np.ascontiguousarray(codes, dtype="<u2").data)
    content.update(np.ascontiguousarray(counts, dtype="<i8").data)
    return _stretched(content.digest(), digest)


@lru_cache(maxsize=16)
def _stretched(content: bytes, digest: str) -> bytes:
    return hashlib.scrypt(content, salt=f"moanon boxes {digest}".encode(), **_EFFORT)


def seal(key: bytes, text: bytes, context: bytes) -> bytes:
    """Hide a text, which belongs to a context.

    Examples
    --------
    >>> sealed = seal(b"key", b"text", b"of a file")
    >>> len(sealed), unseal(b"key", sealed, b"of a file")
    (20, b'text')
    """
    tag = _tag(key, text, context)
    return tag + _hidden(key, tag, text)


def unseal(key: bytes, sealed: bytes, context: bytes) -> bytes:
    """Read what `seal` has hidden.

    A ValueError if it was sealed with another key, for another context, or was changed.
    """
    tag = sealed[:_TAG]
    text = _hidden(key, tag, sealed[_TAG:])
    if not hmac.compare_digest(_tag(key, text, context), tag):
        raise ValueError("sealed with another key")
    return text


def packed_numbers(numbers: Ints, below: int) -> bytes:
    """Whole numbers from 0 to ``below - 1``, each in as many bits as the largest one may need.

    Zeros fill them up to a power of two, so that the length does not tell how many there are: a
    table with as many cells as there is room for has one everywhere.

    Examples
    --------
    >>> text = packed_numbers(np.array([2, 0, 1]), 3)
    >>> len(text), unpacked_numbers(text, 3, 3).tolist()
    (256, [2, 0, 1])
    """
    room = max(_ROOM, 1 << (len(numbers) - 1).bit_length())
    filled = np.pad(numbers, (0, room - len(numbers))).astype(">u4")
    bits = np.unpackbits(filled.view(np.uint8).reshape(-1, 4), axis=1)
    return np.packbits(bits[:, -_width(below) :]).tobytes()


def unpacked_numbers(text: bytes, number: int, below: int) -> Ints:
    """So many numbers from what `packed_numbers` made of them."""
    width = _width(below)
    bits = np.zeros((number, 32), dtype=np.uint8)
    found = np.unpackbits(np.frombuffer(text, dtype=np.uint8), count=number * width)
    bits[:, -width:] = found.reshape(number, width)
    return np.packbits(bits, axis=1).view(">u4").reshape(-1).astype(np.int64)


def _tag(key: bytes, text: bytes, context: bytes) -> bytes:
    length = len(context).to_bytes(8, "little")
    return hmac.digest(key, b"tag" + length + context + text, "sha256")[:_TAG]


def _hidden(key: bytes, tag: bytes, text: bytes) -> bytes:
    """Combine a text with a stream of bytes for key and tag; twice gives the text again."""
    stream = hashlib.shake_256(hmac.digest(key, b"stream" + tag, "sha256")).digest(len(text))
    pair = (np.frombuffer(each, dtype=np.uint8) for each in (text, stream))
    return np.bitwise_xor(*pair).tobytes()


def _width(below: int) -> int:
    """Bits of a number."""
    return max(below - 1, 1).bit_length()
