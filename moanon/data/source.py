"""Reading a file or a frame into columns of text.

Whatever the source, a column comes out the same way: the distinct texts that occur in it, sorted,
and one code per row. Text stays text: ``NA``, ``nan`` or ``01234`` are values like any other,
because a reader that guesses types invents missing values and merges people that differ.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from moanon.arrays import Outlined
from moanon.atomic import checked_path
from moanon.data.cell_reading import CellReading
from moanon.data.column import (
    Column,
    chosen_positions,
    did_you_mean,
    one_kind,
    plain_value,
    refuse_bad_names,
    typed_column,
)
from moanon.data.decoding import READ_ERRORS, guess_encoding, unreadable
from moanon.data.file_form import FileForm, FormKeys, header_of, likely_blanks, split_at_blanks
from moanon.data.readers import first_rows, read_files
from moanon.data.rows import RowsInMemory
from moanon.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

TEXT_ENDINGS = (".csv.gz", ".csv.zst", ".csv", ".tsv", ".txt", ".data")
#: Files that say themselves what their values are.
_TYPED_ENDINGS = (".parquet", ".xlsx")
_FOLDER_ENDINGS = (".csv", ".csv.gz", ".csv.zst", ".parquet")
TABLE_ENDINGS = (*TEXT_ENDINGS, *_TYPED_ENDINGS)
_FILES_READ = "read are .csv, .tsv, .txt, .data, .csv.gz, .csv.zst, .parquet and .xlsx"
#: Rows that tell how a file is written.
_LOOKED_AT = 1_000


@dataclass(frozen=True, eq=False, repr=False)
class Source(Outlined):
    """What was read.

    Attributes
    ----------
    name : str
        Path, glob, ``DataFrame`` or the name the caller gave.
    columns : tuple of Column
        The columns read, in file order.
    rows : int
        Rows in the source.
    digest : str
        SHA-256 in hex. One file: of its bytes. Several: of the lines ``<sha256>  <relative name>``
        in reading order. A frame: of the names, texts and missing marks of the columns read,
        whatever its index, its memory layout and the missing tokens.
    unread : tuple of str
        Columns of the source that were not asked for, in file order.
    files : tuple of Path
        The files that were read, absolute and with links followed, so that nobody replaces them by
        mistake, from whatever folder; none for a frame.
    """

    name: str
    columns: tuple[Column, ...]
    rows: int
    digest: str
    unread: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    @property
    def store(self) -> RowsInMemory:
        """The rows."""
        return RowsInMemory({column.name: column for column in self.columns})


def read_source(
    source: str | os.PathLike[str] | pd.DataFrame,
    *,
    missing_tokens: Sequence[str] = ("",),
    name: str | None = None,
    columns: Sequence[str] | None = None,
    **form: Unpack[FormKeys],
) -> Source:
    """Read a CSV, Parquet or Excel file, a folder or glob of them, or a DataFrame.

    Parameters
    ----------
    source
        A path, a folder, a glob or a frame. Several files are read in sorted order and must have
        the same columns.
    missing_tokens
        Texts that mean "no value", beside the nulls of typed sources. By default only the empty
        text. In a float column a token matches both ways to write a whole number, -9 and -9.0.
    name
        What to call the source; by default its path.
    columns
        The columns to read; by default all.
    **form
        How files are written and texts are read: attributes of
        :class:`moanon.data.file_form.FileForm`.

    Raises
    ------
    DataError
        If the source cannot be read exactly as it stands.
    """
    file_form = FileForm(**form)
    reading = CellReading.of(missing_tokens, file_form)
    if not isinstance(source, (str, os.PathLike)):
        return _read_frame(source, name or "DataFrame", reading, columns)
    path = os.fspath(source)
    try:
        files = find_files(path)
        resolved = tuple(file.resolve() for file in files)
        digest = digest_files(files)
    except OSError as error:
        raise unreadable(path, error) from None
    plain, rows, unread = read_files(files, columns, file_form)
    if not rows:
        raise DataError(f"{path} has no rows")
    read = tuple(map(reading.settle, plain))
    return Source(name or path, read, rows, digest, unread, resolved)


def files_behind(source: str | os.PathLike[str]) -> tuple[Path, ...]:
    """The files of a source, absolute and with links followed; none where it is gone."""
    try:
        return tuple(file.resolve() for file in find_files(os.fspath(source)))
    except (DataError, OSError):
        return ()


def likely_form(source: str | os.PathLike[str], **given: Unpack[FormKeys]) -> FormKeys:
    """Find out how the first file of a source is written, as far as it is not given."""
    try:
        first = find_files(os.fspath(source))[0]
        if first.suffix.lower() in _TYPED_ENDINGS:
            return given
        found = given.copy()
        found.setdefault("encoding", guess_encoding(first))
        rows = first_rows(first, FileForm(**found), _LOOKED_AT)
        if found.get("delimiter") is None and split_at_blanks(rows):
            found["delimiter"] = " "
            rows = first_rows(first, FileForm(**found), _LOOKED_AT)
        elif rows and likely_blanks(rows):
            found.setdefault("trim", True)
            rows = first_rows(first, FileForm(**found), _LOOKED_AT)
        if rows:
            found["header"] = header_of(rows, given.get("header"))
    except READ_ERRORS as error:
        raise unreadable(os.fspath(source), error) from None
    return found


# -- files ---------------------------------------------------------------------------------------


def find_files(source: str) -> tuple[Path, ...]:
    """Find the files behind a path, a folder or a glob: at least one, all of one kind, sorted."""
    is_glob = glob.has_magic(source) and not os.path.lexists(source)
    path = Path(source) if is_glob else checked_path(source, DataError)
    if is_glob:
        files = [p for p in map(Path, glob.glob(source, recursive=True)) if not p.is_dir()]  # noqa: PTH207 (absolute globs)
        if not files:
            raise DataError(f"no file matches {source}")
    elif path.is_dir():
        files = _files_in(path)
    elif path.exists():
        files = [path]
    else:
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        hint = did_you_mean(path.name, sorted(p.name for p in beside))
        raise DataError(f"{source} does not exist{hint}")
    files.sort(key=lambda p: p.as_posix())
    for file in files:
        checked_path(file, DataError)
        if not file.name.lower().endswith(TABLE_ENDINGS):
            raise DataError(f"{file} has an ending that is not read: {_FILES_READ}")
    kinds = {s if (s := file.suffix.lower()) in _TYPED_ENDINGS else "" for file in files}
    if len(kinds) > 1:
        typed = " and ".join(sorted(kinds - {""}))
        others = " with text files" if "" in kinds else ""
        raise DataError(f"{source} mixes {typed}{others}: give one kind")
    return tuple(files)


def _files_in(folder: Path) -> list[Path]:
    """List the tables of a folder; refused if others in it or below it would be left out."""
    shown = [p for p in folder.iterdir() if not p.name.startswith(".")]
    files = [p for p in shown if not p.is_dir() and p.name.lower().endswith(_FOLDER_ENDINGS)]
    for path in sorted(set(shown) - set(files)):
        if path.is_dir() and (table := next(_tables_below(path), None)):
            below = table.relative_to(folder).as_posix()
            raise DataError(
                f"the folder {folder} holds a table in a sub-folder, {below}, which would be left "
                f"out: {_what_works(folder, table)}"
            )
        if path.name.lower().endswith(TABLE_ENDINGS) and not path.is_dir():
            raise DataError(
                f"the folder {folder} holds {path.name}, which would be left out, as only .csv, "
                f".csv.gz, .csv.zst and .parquet files are read from a folder: "
                f"{_what_works(folder, path)}"
            )
    if not files:
        raise DataError(f"the folder {folder} holds no .csv and no .parquet file")
    return files


def _tables_below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and name.lower().endswith(TABLE_ENDINGS):
                yield Path(place, name)


def _what_works(folder: Path, table: Path) -> str:
    """Say how to read a table that a folder alone would leave out."""
    if any("=" in part for part in table.relative_to(folder).parts[:-1]):
        return (
            "a value in the name of a folder is not read, so write the table to one file with a "
            "column for it"
        )
    ending = next(e for e in TABLE_ENDINGS if table.name.lower().endswith(e))
    deeper = "" if table.parent == folder else "**/"
    return (
        f"name the files to read with a glob, such as {glob.escape(str(folder))}/{deeper}*{ending},"
        " or move it elsewhere"
    )


def digest_files(files: Sequence[Path]) -> str:
    """Give the digest of files that are read together; see `Source`."""
    digests = []
    for file in files:
        with file.open("rb") as stream:
            digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
    if len(files) == 1:
        return digests[0]
    root = os.path.commonpath([file.absolute().parent for file in files])
    names = (file.absolute().relative_to(root).as_posix() for file in files)
    lines = "".join(f"{digest}  {name}\n" for digest, name in zip(digests, names, strict=True))
    return hashlib.sha256(os.fsencode(lines)).hexdigest()


# -- frames --------------------------------------------------------------------------------------


def _read_frame(
    frame: pd.DataFrame, name: str, reading: CellReading, columns: Sequence[str] | None
) -> Source:
    import pandas as pd  # here, because a file must not wait for pandas

    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"source must be a path or a DataFrame. Got {type(frame).__name__}")
    header = tuple(frame.columns)
    for label in header:
        if not isinstance(label, str):
            raise DataError(f"{name}: column labels must be text. Got {label!r}")
    refuse_bad_names(name, header)
    chosen = chosen_positions(name, header, columns)
    if not len(frame):
        raise DataError(f"{name} has no rows")
    plain = []
    for position in chosen:
        series = frame.iloc[:, position]
        if series.dtype == np.longdouble and series.dtype != np.float64:
            one_kind(name, header[position], [np.longdouble])  # before factorize shortens it
        if series.dtype == object:
            # Before factorize takes 1, 1.0 and True for the same value.
            one_kind(name, header[position], map(type, series[series.notna()]))
        codes, distinct = pd.factorize(series, use_na_sentinel=True)
        # tolist() widens single floats, and lengthens their shortest text.
        values = list(a) if (a := np.asarray(distinct)).dtype.kind == "f" else distinct.tolist()
        if series.dtype == object or np.asarray(distinct).dtype == object:
            values = [plain_value(value) for value in values]
        plain.append(typed_column(name, header[position], values, codes.astype(np.int32)))
    digest = hashlib.sha256()
    for column in plain:
        digest.update(json.dumps([column.name, column.values]).encode())
        digest.update(column.codes.astype("<i4").tobytes())
    read = tuple(map(reading.settle, plain))
    read_at = set(chosen)
    unread = tuple(n for i, n in enumerate(header) if i not in read_at)
    return Source(name, read, len(frame), digest.hexdigest(), unread)
