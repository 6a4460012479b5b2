"""Releases: one generalization applied to the rows, written, and measured again.

A release is written by one half of this package and measured by the other; the halves meet in the
file alone, so that a mistake in the writer cannot hide behind itself.

- ``applied``: `Release`, a grouping applied to the rows (`SuppressedRows` says how suppressed ones
  are shown). It says what it must measure as, and writes the file.
- ``readback``: the independent reader, which finds out what a file itself shows, given no more than
  `Reading` says. DuckDB counts the cells, whatever the size of the file. ``labels`` works out what
  the labels in a file say from their text, ``reader_privacy`` what groups give away.
- ``certificate``: `Certificate`, what the reader found, as far as it may be published; compared
  with what was promised and, for a solution of a front, with what the front says.

A solution of a front is more than a grouping: it promises what was searched for.

- ``solution``: a solution on its own rows, with another k, or on rows that came later; the
  constraints of its run hold for each.

Whoever made a released file, ``matching`` (`read_released`) finds its rows in the original and
gives their grouping, which everything that is registered can be measured of.

What is published is the file and its certificate, perhaps with a summary. None of them says more
than the file does: numbers that depend on suppressed rows are for the publisher alone
(`Release.record`), rows are shuffled unless somebody asks for their order, and no digest of the
original goes out, by which a guess of it could be tested.
"""

from __future__ import annotations

from moanon.release.applied import Release, SuppressedRows
from moanon.release.certificate import Certificate
from moanon.release.matching import read_released
from moanon.release.solution import Outside

__all__ = ["Certificate", "Outside", "Release", "SuppressedRows", "read_released"]
