"""Excel files (.xlsx), one sheet of each.

A sheet has types cell by cell and none for a column, so its columns are texts as those of a CSV
file are. The text of a cell depends on that cell alone: 39, ``NA`` and TRUE are ``39``, ``NA`` and
``True``, whatever stands above and below them. Rows without any value are skipped.

No file can take more time or memory than its size warrants. A workbook is a zip archive of XML. A
few kilobytes of it can unpack to gigabytes, an entity can stand for others that stand for others,
and what the archive says about its parts, or a sheet about its rows, need not be so. Here parts are
unpacked in pieces and counted, document types (and with them entities) are refused, and rows are
those that are written, whatever a sheet claims to have.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np

from moanon.data.cell_reading import CellReading, FileForm
from moanon.data.column import Column, did_you_mean, sorted_column, typed_column
from moanon.data.file_form import READ_ERRORS, unreadable
from moanon.data.readers import BLOCK_ROWS, FileReader
from moanon.errors import DataError

#: Bytes that a part may unpack to. One that is parsed as a whole (styles, names of sheets) takes
#: many times as much memory, texts that cells share take several times as much; of a sheet, which
#: is read row by row, 1,048,576 rows of 60 cells do fit.
MOST_WHOLE, MOST_HELD, MOST_STREAMED = 32 << 20, 256 << 20, 4 << 30
#: A larger part may not unpack to more than so many times what it has in the archive.
SMALL_PART, MOST_TIMES = 16 << 20, 250
#: What a sheet of Excel can have.
MOST_ROWS, MOST_COLUMNS = 1 << 20, 1 << 14
_PIECE = 1 << 16
#: What openpyxl and the parsers below it raise for a file that is broken.
_BROKEN = (
    *(*READ_ERRORS, BadZipFile, RuntimeError, ArithmeticError),
    *(LookupError, AttributeError, ValueError, TypeError, SyntaxError),
)
#: A cell: what it is, so that 1, 1.0 and TRUE stay apart, and its value.
_Cell = tuple[str, Any]
#: The number of a row, and its values up to the last one.
_Row = tuple[int, list[Any]]


def read_sheets(
    files: Sequence[Path], columns: Sequence[str] | None, form: FileForm, reading: CellReading
) -> tuple[dict[str, Column], tuple[str, ...]]:
    """Read a sheet of each file as one table; given with the names of all columns."""
    reader = _SheetReader(columns, form)
    for file in files:
        reader.read(file)
    found = [reading.read(reader.column(position)) for position in reader.wanted]
    return {column.name: column for column in found}, reader.header


class _SheetReader(FileReader):
    """Sheets of the same name in one file after the other."""

    def __init__(self, columns: Sequence[str] | None, form: FileForm) -> None:
        super().__init__(columns)
        self._form = form

    def column(self, position: int) -> Column:
        """Give one wanted column of all files read."""
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
        column = typed_column(str(self.first), name, values, np.arange(len(values), dtype=np.int32))
        return [column.values[code] for code in column.codes]

    def read(self, file: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles, which are not read
            with _Workbook(file) as book:
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
            self.add_rows(whole)


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


# -- workbooks -------------------------------------------------------------------------------------


class _Workbook:
    """A workbook whose sheets are read row by row, unless it unpacks to more than it should."""

    def __init__(self, file: Path) -> None:
        try:
            import openpyxl.reader.excel as excel  # here, because it is an extra, and slow to load
        except ImportError:
            raise DataError(
                f"{file} is an Excel file, and openpyxl, which reads them, is not installed: "
                "pip install 'moanon[excel]'"
            ) from None
        from openpyxl.styles.stylesheet import apply_stylesheet

        self._file = file
        try:
            reader: Any = excel.ExcelReader(file, read_only=True, data_only=True, keep_links=False)
            reader.archive.close()
            reader.archive = self._archive = _BoundedArchive(file)
            reader.read_manifest()
            reader.read_strings()
            reader.read_workbook()
            apply_stylesheet(self._archive, reader.wb)  # which numbers are dates
            self._sheets: dict[str, str] = {
                sheet.name: found.target
                for sheet, found in reader.parser.find_sheets()
                if found.target in reader.valid_files and "chartsheet" not in found.Type
            }
        except _BROKEN as error:
            raise unreadable(file, error) from None
        self._book, self._texts = reader.wb, reader.shared_strings
        self._archive.most = MOST_STREAMED

    def __enter__(self) -> _Workbook:
        return self

    def __exit__(self, *reason: object) -> None:
        self._archive.close()

    @property
    def sheets(self) -> list[str]:
        """Names of the sheets that have rows; charts have none."""
        return list(self._sheets)

    def rows(self, sheet: str) -> Iterator[tuple[int, list[Any]]]:
        """Give the rows that are written, with their numbers, each up to its last value."""
        last = 0
        try:
            for number, cells in self._written(sheet):
                place = f"{self._file}, row {number} of the sheet {sheet!r}"
                if number > MOST_ROWS:
                    raise DataError(f"{place} is behind the last that a sheet can have")
                if number <= last:
                    raise DataError(f"{place} is written behind row {last}: which one is meant?")
                last = number
                yield number, _values(place, cells)
        except _BROKEN as error:
            raise unreadable(self._file, error) from None

    def _written(self, sheet: str) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        """Parse a sheet as openpyxl does, whose own loop goes by the size that a sheet claims."""
        from openpyxl.worksheet._reader import WorkSheetParser

        book = self._book
        with self._archive.open(self._sheets[sheet]) as source:
            parser = WorkSheetParser(
                source,
                self._texts,
                data_only=True,
                epoch=book.epoch,
                date_formats=book._date_formats,
                timedelta_formats=book._timedelta_formats,
            )
            yield from parser.parse()


def _values(place: str, cells: Iterable[dict[str, Any]]) -> list[Any]:
    row: list[Any] = []
    for cell in cells:
        column, value = cell["column"], cell["value"]
        if value is None:
            continue
        if column > MOST_COLUMNS:
            raise DataError(f"{place} has a cell behind the last column that a sheet can have")
        row.extend([None] * (column - len(row)))
        if row[column - 1] is not None:
            raise DataError(f"{place} has two values in column {column}: which one is meant?")
        row[column - 1] = value
    return row


# -- parts of an archive ---------------------------------------------------------------------------


class _BoundedArchive(ZipFile):
    """An archive whose parts are unpacked in pieces and counted, and have no document types.

    Of a part that is opened `most` bytes may be read; what the archive says of its size is not
    believed.
    """

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self.most = MOST_HELD

    def open(self, name: str | ZipInfo, *_: Any, **__: Any) -> IO[bytes]:
        return self._opened(name, self.most)

    def read(self, name: str | ZipInfo, *_: Any) -> bytes:
        with self._opened(name, MOST_WHOLE) as part:
            return part.read()

    def _opened(self, name: str | ZipInfo, most: int) -> IO[bytes]:
        part = name if isinstance(name, ZipInfo) else self.getinfo(name)
        said = max(part.file_size, 1)
        if said > MOST_STREAMED or (
            said > SMALL_PART and said > MOST_TIMES * max(part.compress_size, 1)
        ):
            raise self._too_large(part.filename)
        with super().open(part) as packed:
            if _has_document_type(packed):
                raise DataError(
                    f"{self.filename} cannot be read: its part {part.filename} declares a document "
                    "type, which no workbook needs; save it anew"
                )
        counted = _Counted(super().open(part), most, self._too_large(part.filename))
        return io.BufferedReader(counted, _PIECE)

    def _too_large(self, part: str) -> DataError:
        return DataError(
            f"{self.filename} cannot be read: its part {part} unpacks to more than a workbook "
            "should hold; save the sheet as CSV"
        )


class _Counted(io.RawIOBase):
    """A part, unpacked piece by piece up to a limit."""

    def __init__(self, packed: IO[bytes], most: int, error: DataError) -> None:
        self._packed, self._left, self._error = packed, most, error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # In pieces: asked for all at once, it would be unpacked before its size is looked at.
        piece = self._packed.read(min(len(buffer), _PIECE))
        self._left -= len(piece)
        if self._left < 0:
            raise self._error
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._packed.close()
        super().close()


class _DecidedError(Exception):
    """Enough of a part was parsed."""


def _has_document_type(part: IO[bytes]) -> bool:
    """Whether XML declares a document type, in whatever encoding; it would stand before the root.

    What cannot be parsed is left to whoever reads it.
    """
    found = False

    def decide(is_type: bool) -> None:
        nonlocal found
        found = is_type
        raise _DecidedError  # before anything that was declared is put to use

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = lambda *_: decide(is_type=True)
    parser.StartElementHandler = lambda *_: decide(is_type=False)
    with suppress(_DecidedError, expat.ExpatError):
        while piece := part.read(_PIECE):
            parser.Parse(piece, False)
    return found
