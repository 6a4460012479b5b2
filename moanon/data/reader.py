"""What the readers of CSV and Parquet share.

A reader takes one file after the other. All must have the header of the first; of the wanted
columns only the distinct values stay in memory, with one code per row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moanon.data.column import Column, chosen_positions, refuse_bad_names
from moanon.errors import DataError

__all__ = ["BLOCK_ROWS", "Factorizer", "FileReader", "unreadable"]

#: Rows handled at a time. Small enough for their texts to stay in the processor's cache, which
#: halves the time of a block of 20,000.
BLOCK_ROWS = 500


class Factorizer:
    """Collect the cells of one column block by block; only distinct values stay alive."""

    def __init__(self) -> None:
        self._codes: list[NDArray[np.int32]] = []
        # A value not seen before gets the next code at its first lookup.
        self._seen: defaultdict[Any, int] = defaultdict()
        self._seen.default_factory = self._seen.__len__

    def add(self, cells: Sequence[Any]) -> None:
        codes = map(self._seen.__getitem__, cells)
        self._codes.append(np.fromiter(codes, dtype=np.int32, count=len(cells)))

    def result(self) -> tuple[list[Any], NDArray[np.int32]]:
        """Give the distinct values in order of appearance, and the codes; None is -1."""
        codes = np.concatenate(self._codes) if self._codes else np.zeros(0, dtype=np.int32)
        values = list(self._seen)
        if None in self._seen:
            null = self._seen[None]
            del values[null]
            codes = np.where(codes == null, -1, codes - (codes > null)).astype(np.int32)
        return values, codes


class FileReader(ABC):
    """What CSV and Parquet share: one header for all files, and a factorizer per wanted column."""

    def __init__(self, columns: Sequence[str] | None) -> None:
        self.rows = 0
        self.header: tuple[str, ...] = ()
        self.wanted: dict[int, Factorizer] = {}
        self._columns = columns
        self._first: Path | None = None

    @abstractmethod
    def read(self, file: Path) -> None:
        """Add the rows of one more file."""

    @abstractmethod
    def column(self, position: int) -> Column:
        """Give one wanted column of all files read."""

    def _add(self, rows: Sequence[Sequence[Any]], positions: Iterable[int]) -> None:
        if not rows:  # a block of blank lines
            return
        self.rows += len(rows)
        cells = list(zip(*rows, strict=True))
        for position, factorizer in zip(positions, self.wanted.values(), strict=True):
            factorizer.add(cells[position])

    def _check_header(self, file: Path, header: tuple[str, ...]) -> None:
        refuse_bad_names(str(file), header)
        if self._first is None:
            self._first, self.header = file, header
            chosen = chosen_positions(str(file), header, self._columns)
            self.wanted = {position: Factorizer() for position in chosen}
        elif header != self.header:
            raise DataError(
                f"{file} has the columns {', '.join(header)}, but {self._first} has "
                f"{', '.join(self.header)}: files read together must have the same columns in "
                "the same order"
            )


def unreadable(file: Path | str, error: Exception) -> DataError:
    """Say that a file cannot be read, with the first line of the reason."""
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
    return DataError(f"{file} cannot be read: {reason.removesuffix('.')}")
