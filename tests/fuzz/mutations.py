"""Spoiling what is right: bytes, documents, tables of texts, arrays and command lines.

Everything takes the random numbers it is to use, so that a number is all it takes to repeat a case.
"""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np

#: Texts that have broken readers of all sorts.
TEXTS = (
    "", " ", "\t", "\n", "\r\n", "\0", "\x1b[31m", "\x7f", "\ufeff", "\u2028", "\ud800", "\udcff",
    "é", "e\u0301", "ß", "İ", "名前", "\u202eabc", "👩‍👩‍👧", "*", "?", "#", "%", "%s", "{}", "{0}",
    "[1-2]", "[1-", "1..2", "..", ".", "-", "--", "-1", "+1", "0", "00", "1", "1.0", "1e3", "1e999",
    "-1e999", "0x10", "1_000", "1,000", "١٢", "nan", "NaN", "inf", "-inf", "None", "null", "NULL",
    "NA", "true", "False", "yes", "~", "=1+1", "'", '"', '""', "`", "\\", "\\n", "a,b", "a;b",
    "a=b", "=", "a=", "=b", "$HOME", "../x", "/", "//", "a/b", "2001-02-29", "2001-02-28",
    "0000-00-00", "9999-12-31", "10000-01-01", "2001-01-01T00:00:00Z", "x" * 300, "9" * 400,
    "999999999999999999999", "1/3", "25%", "%25", "100.1%", "<script>", "&amp;", "!!python/none",
    "&a", "*a", "<<", "age", "size", "town", "ill", "k", "loss", "l_entropy", "t_closeness",
)  # fmt: skip
#: Numbers at the ends of what is represented.
NUMBERS: tuple[float, ...] = (
    0, -0.0, 1, -1, 2, 3, 7, 0.1, 0.5, 1.5, 99, 255, 256, 65_535, 65_536, 2**31 - 1, 2**31, 2**32,
    2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, -(10**30), 10**400, 1e-300, 5e-324, 1e308,
    math.inf, -math.inf, math.nan,
)  # fmt: skip
_MARKS = b"\0\n\r\t ,;:\"'#&*!|>{}[]()-=+\\/%@`~<\xff\xfe\xc3\xef\xbb\xbf0129aZ"


def hostile_value(rng: Random, depth: int = 2) -> Any:
    """Anything that a document can hold, with a liking for the awkward."""
    kind = rng.randrange(9 if depth else 6)
    if kind < 2:
        return rng.choice(TEXTS)
    if kind < 4:
        return rng.choice(NUMBERS)
    if kind == 4:
        return rng.choice([None, True, False])
    if kind == 5:
        return "".join(chr(rng.randrange(0xD800)) for _ in range(rng.randrange(12)))
    inside = [hostile_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 6:
        return inside
    return {str(hostile_value(rng, 0)) if rng.random() < 0.9 else 7: value for value in inside}


def spoil_bytes(rng: Random, content: bytes) -> bytes:
    """Flip, cut, repeat, insert or move a few stretches."""
    spoilt = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        start = rng.randrange(len(spoilt) + 1)
        length = min(rng.choice([1, 1, 2, 4, 16, 200]), len(spoilt) - start)
        what = rng.randrange(6)
        if what == 0 and length:
            spoilt[start] ^= 1 << rng.randrange(8)
        elif what == 1:
            del spoilt[start : start + length]
        elif what == 2:
            del spoilt[start:]
        elif what == 3:
            spoilt[start:start] = spoilt[start : start + length] * rng.choice([1, 2, 50])
        elif what == 4:
            spoilt[start:start] = rng.choice(TEXTS).encode(errors="surrogatepass")
        else:
            marks = bytes(rng.choice(_MARKS) for _ in range(rng.randrange(1, 5)))
            spoilt[start : start + length] = marks
    return bytes(spoilt)


def spoil_document(rng: Random, document: Any) -> Any:
    """Replace, remove, double or rename something at a random place of nested lists and dicts."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        document = _spoil_once(rng, document)
    return document


def _spoil_once(rng: Random, here: Any) -> Any:
    if not isinstance(here, dict | list) or not here or rng.random() < 0.15:
        return _near(rng, here)
    if isinstance(here, list):
        at, what = rng.randrange(len(here)), rng.randrange(6)
        if what == 0:
            return here[:at] + here[at + 1 :]
        if what == 1:
            return [*here[:at], here[at], *here[at:]]
        if what == 2:
            return rng.sample(here, len(here))
        return [*here[:at], _spoil_once(rng, here[at]), *here[at + 1 :]]
    at, what = rng.choice(list(here)), rng.randrange(8)
    if what == 0:
        return {key: value for key, value in here.items() if key != at}
    if what == 1:
        name = str(hostile_value(rng, 0))
        return {name if key == at else key: value for key, value in here.items()}
    if what == 2:
        return {**here, str(hostile_value(rng, 0)): here[at]}
    if what == 3:
        return {**here, at: here[rng.choice(list(here))]}
    return {**here, at: _spoil_once(rng, here[at])}


def _near(rng: Random, value: Any) -> Any:
    """Another value, often one that is almost the right one."""
    if rng.random() < 0.4:
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, int | float):
            return rng.choice([value + 1, value - 1, -value, value * 1000, value // 7, str(value)])
        if isinstance(value, str) and value:
            spoilt = spoil_bytes(rng, value.encode(errors="surrogatepass"))
            return spoilt.decode(errors="replace")
        return [value]
    return hostile_value(rng)


def spoil_table(rng: Random, rows: list[list[str]]) -> list[list[str]]:
    """Replace, remove, add or double cells, rows and columns; the first row is the header."""
    rows = [list(row) for row in rows]
    for _ in range(rng.choice([1, 1, 2, 5])):
        row, what = rng.choice(rows) if rows else [], rng.randrange(12)
        if what == 0 and len(rows) > 1:
            rows.remove(row)
        elif what == 1:
            rows.insert(rng.randrange(len(rows) + 1), list(row))
        elif what == 2 and row:
            row.pop(rng.randrange(len(row)))
        elif what == 3:
            row.append(rng.choice(TEXTS))
        elif what == 4 and rows and rows[0]:
            place = rng.randrange(len(rows[0]))
            for each in rows[rng.randrange(2) :]:  # with its name or under it
                each[place : place + 1] = [rng.choice(TEXTS)]
        elif what == 5:
            rows = rows[: rng.choice([0, 1, 2, len(rows)])]
        elif what < 9 and row:
            row[rng.randrange(len(row))] = rng.choice(TEXTS)
        elif row and len(rows) > 1:  # a value that is right, elsewhere
            place, other = rng.randrange(len(row)), rng.choice(rows[1:])
            row[place : place + 1] = other[place : place + 1]
    return rows


def spoil_arrays(rng: Random, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Change numbers, types, shapes and names of arrays; some are gone."""
    spoilt = dict(arrays)
    for _ in range(rng.choice([1, 1, 2, 3])):
        name = rng.choice(sorted(arrays))
        array, what = np.array(spoilt.get(name, arrays[name])), rng.randrange(8)
        if what == 0:
            spoilt.pop(name, None)
            continue
        if what == 1:
            array = array[..., : max(0, array.shape[-1] - 1)] if array.ndim else array.reshape(1)
        elif what == 2:
            array = array.reshape(-1)
        elif what == 3:
            with np.errstate(invalid="ignore"):
                array = array.astype(rng.choice(["f8", "i8", "u1", "?", "U5", "i4"]))
        elif what == 4:
            array = np.concatenate([array, array]) if array.ndim else np.array([7, 7])
        elif what == 5:
            array = np.zeros(rng.choice([(), (0,), (1,), (2, 0), (3, 3)]), dtype=array.dtype)
        elif array.size and array.dtype.kind in "iufb":
            flat = array.reshape(-1)
            ends = [0, 1] if array.dtype.kind == "b" else _ends(array.dtype)
            flat[rng.randrange(flat.size)] = rng.choice(ends)
        spoilt[name] = array
    return spoilt


def _ends(dtype: np.dtype[Any]) -> list[float]:
    """Numbers at the ends of a type."""
    if dtype.kind == "f":
        return [math.nan, math.inf, -math.inf, 0.0, -1.0, 1e308]
    about = np.iinfo(dtype)
    return [int(about.min), int(about.max), 0, 1, 2]
