"""Digests by which a table is known again, and how they are kept.

That of files is the SHA-256 of their bytes, and is kept as it is. The rows of a database have no
bytes to compare: their digest is one of counts, of the values of each column, and of the cells with
their sensitive values. Counts can be guessed, and whoever sees such a digest could test a guess. So
it is kept only as an HMAC under a random key, which stays in the results folder.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from moanon.arrays import Ints

if TYPE_CHECKING:
    from moanon.data.cells import Cells

#: What digests of counts begin with.
_COUNTS = "counts:"


def digest_of_columns(columns: Sequence[tuple[str, Sequence[str], Ints]]) -> str:
    """Give the digest of the names of columns, their values, and the rows of each value."""
    found = hashlib.sha256()
    for name, values, counts in columns:
        found.update(json.dumps([name, values, counts.tolist()]).encode())
    return f"{_COUNTS}{found.hexdigest()}"


def with_cells(digest: str, cells: Cells) -> str:
    """Add to a digest of counts those of cells, and of the sensitive values in each."""
    if not is_of_counts(digest):
        return digest
    found = hashlib.sha256(digest.encode())
    arrays: list[npt.NDArray[np.integer]] = [cells.codes, cells.counts]
    for column in cells.sensitive:
        found.update(json.dumps([column.name, column.labels]).encode())
        arrays += [column.starts, column.values, column.counts]
    for array in arrays:
        found.update(f"{array.dtype.name} {array.shape}".encode())
        # As it lies there: there may be as many cells as rows.
        found.update(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data)
    return f"{_COUNTS}{found.hexdigest()}"


def is_of_counts(digest: str) -> bool:
    """Whether a digest, as it is in memory, is one of counts."""
    return digest.startswith(_COUNTS)


def new_key(digest: str) -> str | None:
    """Draw a key under which a digest is kept; None for one that needs none."""
    return secrets.token_hex(32) if is_of_counts(digest) else None


def kept(digest: str, key: str | None) -> str:
    """Give a digest as it is kept."""
    if key is None:
        return digest
    return hmac.new(key.encode(), digest.encode(), "sha256").hexdigest()


def is_kept_as(digest: str, stated: object, key: object) -> bool:
    """Whether a digest is the one that somebody kept, under a key or without one."""
    if isinstance(key, str) and is_of_counts(digest):
        return stated == kept(digest, key)
    # Results of earlier versions have those of counts without a key.
    return isinstance(stated, str) and digest in (stated, f"{_COUNTS}{stated}")
