"""CSV that only the strict reader reads right, written again so that DuckDB reads it alike.

Such a file may be larger than memory as well. The strict reader parses it block by block, at its
own pace, and every cell of the wanted columns goes in quotes into a temporary file: of that there
is but one reading. Columns that point to a person are not copied, since the file may outlive its
process.
"""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from moanon.data.file_form import FileForm
from moanon.data.readers import CsvReader
from moanon.engines.plain_csv import PlainCsv
from moanon.errors import DataError


def rewrite(
    files: Sequence[Path],
    names: Sequence[str] | None,
    form: FileForm,
    place: Path,
    uncopied: Collection[str] = (),
) -> tuple[PlainCsv, tuple[str, ...]]:
    """Write the wanted columns of text files into one plain file, but for some that must be there.

    Returned are what is known of that file, and the names of all columns there were.

    Raises
    ------
    DataError
        What the strict reader finds wrong, or if there is no room for the file.
    """
    try:
        with place.open("w", encoding="utf-8", newline="") as stream:
            reader = _Rewriter(names, form, stream, uncopied)
            for file in files:
                reader.read(file)
    except OSError as error:
        what = "is full" if error.errno == errno.ENOSPC else f"fails: {error.strerror}"
        raise DataError(
            f"{files[0]} cannot be read: the disk for its temporary copy {what}; set TMPDIR to "
            "another one"
        ) from None
    copied = tuple(reader.header[position] for position in reader.copied(reader.wanted))
    return PlainCsv(copied, ",", reader.rows), reader.header


class _Rewriter(CsvReader):
    """Passes rows on instead of keeping their values."""

    def __init__(
        self,
        names: Sequence[str] | None,
        form: FileForm,
        stream: IO[str],
        uncopied: Collection[str],
    ) -> None:
        super().__init__(names, form)
        self._stream, self._uncopied = stream, frozenset(uncopied)

    def copied(self, positions: Iterable[int]) -> list[int]:
        """Those of some columns that are written."""
        return [place for place in positions if self.header[place] not in self._uncopied]

    def add_rows(self, rows: Sequence[Sequence[Any]], positions: Iterable[int]) -> None:
        chosen = self.copied(positions)
        if not self.rows:
            self._write([self.header[position] for position in chosen])
        self.rows += len(rows)
        for row in rows:
            self._write([row[position] for position in chosen])

    def _write(self, cells: list[str]) -> None:
        self._stream.write('"' + '","'.join(cell.replace('"', '""') for cell in cells) + '"\n')
