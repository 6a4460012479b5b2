"""Releases: one generalization applied to the rows, written, and measured again.

A release is written by one half of this package and measured by the other; the halves meet in the
file alone, so that a mistake in the writer cannot hide behind itself.

- ``applied``: `Release`, a genome and the groups that are suppressed (`SuppressedRows` says how
  they are shown). It writes the file; ``promised`` says what that must measure as.
- ``formats``: how released columns become CSV or Parquet.
- ``readback``: the independent reader, which finds out what a file itself shows (`Measurement`).
- ``labels``, ``models``: for the reader. What the labels in a file say, worked out from their text,
  and what groups give away (`Diversity` and `Closeness` of each sensitive column).
- ``certificate``: `Certificate`, what the reader found, compared with what was promised and, for
  a solution of a front, with what the front says.

A solution of a front is more than a genome: it promises what was searched for.

- ``chosen``: a solution on its own rows, with another k, or on rows that came later.
- ``kept``: which groups it would keep then; ``bounds``: whether the constraints of its run hold.
- ``transfer``: reads new rows against the domains of the table that a generalization was found on.

Whoever made a released table, it can be looked at from the rows of its original:

- ``anonymized``: `Anonymized`, the group of each row and what it lost.
- ``matching``: `read_released` reads a file, ours or not, and finds its rows in the original.
- ``measured``: `measure_anonymized` measures it by everything that is registered.

Two limits to know before publishing:

- Rows keep the order of the source. If that is sorted by something telling, a line number tells it
  too, and two releases of one table can be joined line by line, which undoes both. Where that
  matters, shuffle: ``Release.write(..., shuffle=secrets.randbits(128))``, another seed each time.
- The certificate states the SHA-256 of the source. Whoever knows all of a small table but one row
  can try what that row may hold until the digest fits, and so confirm a guess. Where that matters,
  do not publish the certificate, or take ``digests.input`` out of the published copy.
"""

from __future__ import annotations

from moanon.release.anonymized import Anonymized
from moanon.release.applied import RECURSIVE_C, Release, SuppressedRows
from moanon.release.certificate import Certificate
from moanon.release.matching import read_released
from moanon.release.measured import measure_anonymized
from moanon.release.models import Closeness, Diversity
from moanon.release.readback import Measurement
from moanon.release.transfer import Outside

__all__ = [
    "RECURSIVE_C",
    "Anonymized",
    "Certificate",
    "Closeness",
    "Diversity",
    "Measurement",
    "Outside",
    "Release",
    "SuppressedRows",
    "measure_anonymized",
    "read_released",
]
