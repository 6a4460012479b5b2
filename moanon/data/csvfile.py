"""CSV files, read strictly.

The standard library's parser is used in strict mode, block by block, so that memory follows the
distinct values and not the cells. DuckDB's parser is faster but cannot be made strict: it trims
blanks around quoted fields, drops the empty lines of one-column files and refuses mixed line ends.
"""

from __future__ import annotations

import csv
import gzip
import io
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import NoReturn

from moanon.data.column import Column, sorted_column
from moanon.data.reader import BLOCK_ROWS, FileReader, unreadable
from moanon.errors import DataError

__all__ = ["CsvReader", "long_fields"]

_DELIMITERS = ",;\t|"
_BLOCK_BYTES = 1 << 20
_FIELD_LIMIT = threading.Lock()


class CsvReader(FileReader):
    """Strict CSV: a line that does not fit is an error with its number, never mended.

    A quote opens a field only at its start; elsewhere it is a character. Lines end with LF,
    which carriage returns may precede; one elsewhere outside quotes is refused. A blank line is
    skipped, except in a file of one column, where it is an empty cell.
    """

    def __init__(self, columns: Sequence[str] | None, delimiter: str | None) -> None:
        super().__init__(columns)
        self._delimiter = delimiter

    def column(self, position: int) -> Column:
        texts, codes = self.wanted[position].result()
        return sorted_column(self.header[position], texts, None, codes)

    def read(self, file: Path) -> None:
        blocks = _text_blocks(file)
        if not (first := next(blocks, "")):
            raise DataError(f"{file} is empty: it has no rows")
        delimiter = self._delimiter or _detect_delimiter(file, first)
        with long_fields():
            rows = csv.reader(_lines(chain([first], blocks)), delimiter=delimiter, strict=True)
            try:
                if not (header := tuple(next(rows))):
                    raise DataError(f"{file}: line 1 is blank; it must name the columns")
                self._check_header(file, header)
                while block := list(islice(rows, BLOCK_ROWS)):
                    self._add(_even(block, len(header)), self.wanted)
            except (csv.Error, _RaggedError):
                _refuse_line(file, delimiter)


class _RaggedError(Exception):
    """Some row of a block has too few or too many fields."""


def _even(rows: list[list[str]], width: int) -> list[list[str]]:
    if set(map(len, rows)) == {width}:
        return rows
    rows = [row or [""] for row in rows] if width == 1 else [row for row in rows if row]
    if any(len(row) != width for row in rows):
        raise _RaggedError
    return rows


def _refuse_line(file: Path, delimiter: str) -> NoReturn:
    """Read again, row by row, to name the line on which the first unreadable row starts."""
    rows = csv.reader(_lines(_text_blocks(file)), delimiter=delimiter, strict=True)
    line, width = 1, 0
    try:
        for row in rows:
            width = width or len(row)
            if row and len(row) != width:
                raise DataError(
                    f"{file}, line {line} has {len(row)} field{'s' * (len(row) > 1)} where the "
                    f"header has {width} (delimiter {delimiter!r})"
                )
            line = rows.line_num + 1
    except csv.Error as error:
        reason = str(error)
        if "unexpected end" in reason:
            reason = "a quoted field is never closed"
        elif "expected after" in reason:
            reason = "text follows a closing quote; a quote inside a quoted field must be doubled"
        elif "new-line" in reason:
            reason = "a carriage return stands outside quotes; lines must end with LF or CRLF"
        raise DataError(f"{file}, line {line}: {reason}") from None
    raise DataError(f"{file} changed while it was read")


def _detect_delimiter(file: Path, text: str) -> str:
    """Find the delimiter that splits the header into most fields; a tie is refused."""
    widths = {}
    for delimiter in _DELIMITERS:
        try:
            widths[delimiter] = len(
                next(csv.reader(_lines([text]), delimiter=delimiter, strict=True))
            )
        except csv.Error:
            widths[delimiter] = 0
    most = max(widths.values())
    best = [delimiter for delimiter, width in widths.items() if width == most]
    if most < 2:
        return "\t" if file.name.lower().endswith(".tsv") else ","
    if len(best) > 1:
        raise DataError(
            f"{file}: its header can be split at {' or '.join(map(repr, best))}; name the delimiter"
        )
    return best[0]


def _lines(blocks: Iterable[str]) -> Iterator[str]:
    # newline="\n": a lone carriage return does not end a line, so the parser sees and refuses it.
    return chain.from_iterable(io.StringIO(block, newline="\n") for block in blocks)


def _text_blocks(file: Path) -> Iterator[str]:
    """Yield the decoded text in blocks of whole lines, without a byte order mark."""
    offset = 0
    try:
        with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                block += stream.readline()
                text = block.decode("utf-8")
                if (nul := block.find(b"\0")) >= 0:
                    raise DataError(f"{file} is not text: NUL byte at offset {offset + nul}")
                yield text if offset else text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
                offset += len(block)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{file} is not UTF-8 (byte 0x{error.object[error.start]:02X} at offset "
            f"{offset + error.start}): save it as UTF-8"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(file, error) from None


@contextmanager
def long_fields() -> Iterator[None]:
    """Lift the parser's limit on a field's length.

    It is one number for the whole process, hence one lock: of two that overlap, the one that ends
    first would bring the limit back for the other.
    """
    with _FIELD_LIMIT:
        before = csv.field_size_limit(2**31 - 1)
        try:
            yield
        finally:
            csv.field_size_limit(before)
