"""Releases: one generalization applied to the rows, written, and measured again.

A release is written by one half of this package and measured by the other; the halves meet in the
file alone, so that a mistake in the writer cannot hide behind itself.

- ``applied``: `Release`, a grouping applied to the rows (`SuppressedRows` says how suppressed ones
  are shown). It says what it must measure as, and writes the file.
- ``formats``: how released columns become CSV or Parquet; which cells a spreadsheet would run.
- ``readback``: the independent reader, which finds out what a file itself shows, told no more than
  `Reading` says (``reading``). For it, ``labels`` works out what the labels in a file say from
  their text, ``reader_privacy`` what groups give away; of large files, ``counted_files`` counts the
  cells out of core and ``many_groups`` finds the groups that can be the worst.
- ``certificate``: `Certificate`, what the reader found, compared with what was promised and, for
  a solution of a front, with what the front says.

A solution of a front is more than a grouping: it promises what was searched for.

- ``solution``: a solution on its own rows, with another k, or on rows that came later; the
  constraints of its run hold for each.
- ``new_rows``: reads new rows against the domains of the table that a solution was found on.

Whoever made a released file, ``matching`` (`read_released`) finds its rows in the original and
gives their grouping, which everything that is registered can be measured of.

Two limits to know before publishing:

- Rows keep the order of the source. If that is sorted by something telling, a line number tells it
  too, and two releases of one table can be joined line by line, which undoes both. Where that
  matters, shuffle: ``Release.write(..., shuffle=secrets.randbits(128))``, another seed each time.
- The certificate states the SHA-256 of the source. Whoever knows all of a small table but one row
  can try what that row may hold until the digest fits, and so confirm a guess. Where that matters,
  do not publish the certificate, or take ``digests.input`` out of the published copy.
"""

from __future__ import annotations

from moanon.release.applied import Release, SuppressedRows
from moanon.release.certificate import Certificate
from moanon.release.matching import read_released
from moanon.release.new_rows import Outside

__all__ = ["Certificate", "Outside", "Release", "SuppressedRows", "read_released"]
