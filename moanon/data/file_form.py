"""Finding out how text files are written, and decoding them.

A table names each of its columns once. A file need not: some have no line of names, some repeat a
name or leave one out. Nothing is made up in silence: such files are refused, unless their form says
how columns are to be called (`moanon.data.cell_reading.FileForm`); `likely_header` proposes it.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from moanon.data.cell_reading import DEFAULT_ENCODING, Header, checked_encoding
from moanon.errors import DataError, EncodingError

#: Bytes that are read at a time, and then the rest of their last line.
BLOCK_BYTES = 1 << 20
_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
_LINE_END = "\n"
_CONTROLS = re.compile(rb"[\x80-\x9f]")
_PACKED_BYTES = 1 << 17
#: What can go wrong where a file is read, compressed ones included.
READ_ERRORS = (OSError, EOFError, zlib.error)
#: What is no part of a cell where cells are trimmed.
BLANKS = " \t"
#: What helps where a line does not name each column once.
NUMBERED = "; data: {header: numbered} gives each a name of its own (age, age.2)"
#: So many of the cells that can must have blanks around them for these to be no part of any.
_MOSTLY = 0.9
#: A number or a date, in whatever notation.
_FIGURES = re.compile(r"[$€£+(-]?\s*[0-9][0-9.,:/' ()-]*\s*[%$€£]?")


def likely_header(rows: Sequence[Sequence[str]]) -> Header:
    """Tell from the first rows of a file whether the first one names the columns.

    It does where a word stands above nothing but figures. Else it does not if it has figures only,
    or a word that is found again below.

    Examples
    --------
    >>> likely_header([["age", "sex"], ["39", "f"], ["50", "m"]])
    True
    >>> likely_header([["39", "f"], ["50", "m"], ["28", "f"]])
    False
    >>> likely_header([["", "sex", "sex"], ["1", "f", "f"]])
    'numbered'
    """
    first, *others = rows
    below = [row for row in others if len(row) == len(first)]
    columns = [(name, set(values) - {""}) for name, *values in zip(first, *below, strict=True)]
    words = [(name, values) for name, values in columns if name and not _FIGURES.fullmatch(name)]
    above = any(values and all(map(_FIGURES.fullmatch, values)) for _, values in words)
    again = any(name in values for name, values in words)
    figures = not words and all(values for name, values in columns if name)
    return False if (again or (figures and any(first))) and not above else _as_named(first)


def header_of(rows: Sequence[Sequence[str]], given: Header | None) -> Header:
    """Tell as `likely_header` how columns are named, as far as it is not given."""
    if given is None:
        return likely_header(rows)
    return _as_named(rows[0]) if given is True else given


def _as_named(first: Sequence[str]) -> Header:
    return "numbered" if "" in first or len(set(first)) < len(first) else True


def likely_blanks(rows: Sequence[Sequence[str]]) -> bool:
    """Whether cells behind a delimiter mostly begin with a blank, which is hardly meant."""
    cells = [cell for row in rows for cell in row[1:] if cell]
    begin = sum(cell[0] in BLANKS for cell in cells)
    return bool(cells) and begin >= _MOSTLY * len(cells)


def split_at_blanks(rows: Sequence[Sequence[str]]) -> bool:
    """Whether blanks separate cells: each line is one cell with equally many, two at least."""
    if len(rows) < 2 or any(len(row) != 1 for row in rows):
        return False
    blanks = {row[0].count(" ") for row in rows}
    return len(blanks) == 1 and min(blanks) > 1


# -- from bytes to text ----------------------------------------------------------------------------


def unreadable(file: Path | str, error: Exception) -> DataError:
    """Say that a file cannot be read, with the first line of the reason."""
    reason = getattr(error, "strerror", None) or (str(error).splitlines() or [repr(error)])[0]
    return DataError(f"{file} cannot be read: {reason.removesuffix('.')}")


def guess_encoding(file: Path) -> str:
    """Tell UTF-8 and UTF-16, by its mark, from the encodings of one byte for each character."""
    decoder = codecs.getincrementaldecoder(DEFAULT_ENCODING)("strict")
    is_utf8, controls = True, False
    with _opened(file) as stream:
        block = stream.read(BLOCK_BYTES)
        if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        while is_utf8 or not controls:
            if is_utf8:
                try:
                    decoder.decode(block, final=not block)
                except UnicodeDecodeError:
                    is_utf8 = False
            # Latin-1 has nothing here that anybody writes; Windows has quotes and the euro.
            controls = controls or bool(_CONTROLS.search(block))
            if not block:
                break
            block = stream.read(BLOCK_BYTES)
    if is_utf8:
        return DEFAULT_ENCODING
    return "cp1252" if controls else "latin-1"


def text_blocks(file: Path, encoding: str = DEFAULT_ENCODING) -> Iterator[str]:
    """Yield the decoded text in blocks of whole lines, without a byte order mark."""
    common = checked_encoding(encoding)
    blocks = _utf8_blocks(file) if common == DEFAULT_ENCODING else _other_blocks(file, common)
    try:
        for number, text in enumerate(blocks):
            yield text if number else text.removeprefix(_BOM)
    except READ_ERRORS as error:
        raise unreadable(file, error) from None


def _utf8_blocks(file: Path) -> Iterator[str]:
    offset = 0
    with _opened(file) as stream:
        while block := stream.read(BLOCK_BYTES):
            block += stream.readline()
            try:
                text = block.decode(DEFAULT_ENCODING)
            except UnicodeDecodeError as error:
                at = f"byte 0x{block[error.start]:02X} at offset {offset + error.start}"
                raise EncodingError(
                    f"{file} is not UTF-8 ({at})",
                    "save it as UTF-8, or name its encoding (data: encoding: latin-1)",
                ) from None
            if (nul := block.find(b"\0")) >= 0:
                raise DataError(f"{file} is not text: NUL byte at offset {offset + nul}")
            yield text
            offset += len(block)


def _other_blocks(file: Path, encoding: str) -> Iterator[str]:
    """Do likewise in any encoding, in which a line need not end with a certain byte."""
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    left, offset = "", 0
    with _opened(file) as stream:
        while True:
            block = stream.read(BLOCK_BYTES)
            try:
                text = left + decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{file} is not in the encoding {encoding} (byte "
                    f"0x{error.object[error.start]:02X} near offset {offset + error.start})"
                ) from None
            except UnicodeError as error:  # of UTF-16 and UTF-32: a mark of the order of bytes
                raise DataError(f"{file} is not in the encoding {encoding}: {error}") from None
            if "\0" in text:
                raise DataError(f"{file} is not text in the encoding {encoding}: it holds a NUL")
            offset += len(block)
            whole, end, left = text.rpartition(_LINE_END)
            if whole or end:
                yield whole + end
            if not block:
                if left:
                    yield left
                return


@contextmanager
def _opened(file: Path) -> Iterator[IO[bytes]]:
    if file.suffix.lower() == ".gz":
        with gzip.open(file) as plain:
            yield cast(IO[bytes], plain)
    elif file.suffix.lower() == ".zst":
        with file.open("rb") as raw, io.BufferedReader(_ZstdStream(raw)) as unpacked:
            yield unpacked
    else:
        with file.open("rb") as stream:
            yield stream


class _ZstdStream(io.RawIOBase):
    """What a zstd file holds, one frame after the other; one that is cut off is an error."""

    def __init__(self, packed: IO[bytes]) -> None:
        import zstandard  # here, because few files are compressed so

        self._packed = packed
        self._error = zstandard.ZstdError
        self._frames = zstandard.ZstdDecompressor
        self._frame = self._frames().decompressobj()
        self._ready = b""
        self._inside = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            more = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._inside = self._frames().decompressobj(), False
            if not (more := more or self._packed.read(_PACKED_BYTES)):
                if self._inside:
                    raise EOFError("the compressed file ends too early")
                return 0
            self._inside = True
            try:
                self._ready = self._frame.decompress(more)
            except self._error as error:
                raise OSError(str(error)) from None
        number = min(len(buffer), len(self._ready))
        buffer[:number], self._ready = self._ready[:number], self._ready[number:]
        return number
