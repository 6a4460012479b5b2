"""Excel files (.xlsx), one sheet of each; see ``workbooks`` for how they are opened.

A sheet has types cell by cell and none for a column, so its columns are texts as those of a CSV
file are. The text of a cell depends on that cell alone: 39, ``NA`` and TRUE are ``39``, ``NA`` and
``True``, whatever stands above and below them. Rows without any value are skipped.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from moanon.data.column import Column, did_you_mean, sorted_column, typed_column
from moanon.data.file_form import NUMBERED, FileForm
from moanon.data.readers import BLOCK_ROWS, FileReader
from moanon.data.workbooks import Workbook
from moanon.errors import DataError

#: A cell: what it is, so that 1, 1.0 and TRUE stay apart, and its value.
_Cell = tuple[str, Any]
#: The number of a row, and its values up to the last one.
_Row = tuple[int, list[Any]]


class SheetReader(FileReader):
    """Sheets of the same name in one file after the other."""

    mend = NUMBERED

    def __init__(self, columns: Sequence[str] | None, form: FileForm) -> None:
        super().__init__(columns)
        self._form = form

    def column(self, position: int) -> Column:
        name = self.header[position]
        cells, codes = self.wanted[position].result()
        texts = [""] * len(cells)
        for kind in {kind for kind, _ in cells}:
            places = [place for place, cell in enumerate(cells) if cell[0] == kind]
            values = [cells[place][1] for place in places]
            for place, text in zip(places, self._texts(name, values), strict=True):
                texts[place] = text
        return sorted_column(name, texts, None, codes)

    def _texts(self, name: str, values: Sequence[Any]) -> list[str]:
        """Write values of one kind as every typed source does."""
        column = typed_column(
            str(self._first), name, values, np.arange(len(values), dtype=np.int32)
        )
        return [column.values[code] for code in column.codes]

    def read(self, file: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles, which are not read
            with Workbook(file) as book:
                sheet = self._name(file, book.sheets)
                self._read_rows(file, sheet, book.rows(sheet))

    def _name(self, file: Path, names: Sequence[str]) -> str:
        """The sheet that was asked for, or the only one."""
        wanted = self._form.sheet
        if not names:
            raise DataError(f"{file} has no sheet with rows")
        listed = ", ".join(map(repr, names))
        if wanted is None and len(names) > 1:
            raise DataError(f"{file} has the sheets {listed}; name one of them (sheet: {names[0]})")
        if wanted is not None and wanted not in names:
            raise DataError(
                f"{file} has no sheet {wanted!r}{did_you_mean(wanted, names)}; it has {listed}"
            )
        return names[0] if wanted is None else wanted

    def _read_rows(self, file: Path, sheet: str, written: Iterator[_Row]) -> None:
        rows: Iterator[_Row] = ((number, row) for number, row in written if row)
        number, first = next(rows, (1, []))
        line = ["" if name is None else self._texts(sheet, [_cell(name)[1]])[0] for name in first]
        while line and not line[-1]:
            line.pop()
        if not line:
            raise DataError(f"{file}: the sheet {sheet!r} is empty")
        header = self._form.names_of(str(file), line)
        self.check_header(file, header)
        if not self._form.first_line_names:
            rows = chain([(number, first)], rows)
        while block := list(islice(rows, BLOCK_ROWS)):
            whole = []
            for number, row in block:
                if any(value is not None for value in row[len(header) :]):
                    raise DataError(
                        f"{file}, row {number} of the sheet {sheet!r} has more cells than "
                        f"the header, which has {len(header)}"
                    )
                cells = [None if value is None else _cell(value) for value in row[: len(header)]]
                whole.append([*cells, *[None] * (len(header) - len(cells))])
            self.add_rows(whole, self.wanted)


def _cell(value: Any) -> _Cell:
    known: dict[str, tuple[type, ...]] = {  # a truth value is a whole number to Python
        "truth": (bool,),
        "whole": (int,),
        "fraction": (float,),
        "date": (datetime, date),
        "time": (time,),
    }
    kind = next((kind for kind, types in known.items() if isinstance(value, types)), "text")
    return kind, str(value) if kind == "text" else value
