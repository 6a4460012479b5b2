"""Opening a source: files, frames, sheets and databases become rows with a store.

Parquet and CSV files are read by DuckDB where they are. Frames, Excel sheets and text files of few
cells are in memory. The rows of databases and clusters stay there. Whoever asks a store cannot see
which it is, and gets the same answers, files and messages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from moanon.data.cell_reading import CellReading, FileForm, FormKeys, checked_encoding
from moanon.data.file_form import unreadable
from moanon.data.readers import read_few_cells
from moanon.data.rows import RowStore
from moanon.data.table import (
    MissingPolicy,
    Role,
    Source,
    Table,
    check_policy,
    check_roles,
    digest_files,
    find_files,
    give_roles,
    is_address,
    read_frame,
)
from moanon.engines.addresses import Address
from moanon.engines.duck import DuckSession, HeldRows
from moanon.engines.files import open_files
from moanon.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

#: Text files of at most so many cells are read strictly and held as codes: statements of DuckDB
#: would take thirty times as long for a small table, and a second of work is in vain for others.
_FEW_CELLS = 2_000_000
#: How an amount of memory is written.
MEMORY = re.compile("^[1-9][0-9]{0,8} ?([KMGT]i?B|[kmgt]b)$")


def read_table(
    source: str | os.PathLike[str] | pd.DataFrame,
    roles: Mapping[str, Role | str],
    *,
    missing: MissingPolicy = "error",
    missing_tokens: Sequence[str] = ("",),
    name: str | None = None,
    memory: str | None = None,
    table: str | None = None,
    query: str | None = None,
    order_by: Sequence[str] = (),
    needed: Sequence[str] = (),
    **form: Unpack[FormKeys],
) -> Table:
    """Open the declared columns of a source and decide about their missing values.

    Parameters
    ----------
    source, missing_tokens, name, memory, table, query, **form
        As for `open_source`.
    roles
        The role of each declared column.
    missing
        Rows that miss a quasi-identifying or sensitive value are dropped and counted (``drop``),
        kept with the gap as a value of its own (``category``) or refused (``error``): nobody is
        left out unless somebody says so. Gaps in other columns are left as they are.
    order_by
        Columns of a database that order its rows.
    needed : sequence of str
        Identifying columns that are asked about all the same, such as a key. No temporary file
        holds any other one.

    Raises
    ------
    DataError
        If the source cannot be read, lacks a declared column, or nothing is left to anonymize.
    """
    given = check_roles(roles)  # before a large file is read for nothing
    check_policy(missing)
    asked = [column for column, role in given.items() if role in (Role.QUASI, Role.SENSITIVE)]
    identifying = {column for column, role in given.items() if role is Role.IDENTIFYING}
    opened = _open(
        source,
        tuple(given),
        missing_tokens,
        name,
        FileForm(**form),
        asked=asked,
        memory=memory,
        address=_address(source, table, query, order_by),
        uncopied=identifying.difference(needed),
    )
    encoding = checked_encoding(FileForm(**form).encoding)
    return replace(give_roles(opened, given, missing), encoding=encoding)


def open_source(
    source: str | os.PathLike[str] | pd.DataFrame,
    columns: Sequence[str] | None = None,
    *,
    missing_tokens: Sequence[str] = ("",),
    name: str | None = None,
    memory: str | None = None,
    table: str | None = None,
    query: str | None = None,
    **form: Unpack[FormKeys],
) -> Source:
    """Open a CSV, Parquet or Excel file, a folder or glob of them, a frame or a database.

    Parameters
    ----------
    source
        A path, a folder, a glob, a frame or the address of a database. Several files are read in
        sorted order and must have the same columns.
    columns
        The columns to read; by default all.
    missing_tokens
        Texts that mean "no value", beside the nulls of typed sources. By default only the empty
        text. In a float column a token matches both ways to write a whole number, -9 and -9.0.
    name
        What to call the source; by default its path.
    memory : str, optional
        How much DuckDB may hold, such as ``2GB``; the rows of files then stay where they are,
        however few.
    table, query
        What is read of a database; see `moanon.engines.databases.Address`.
    **form
        How files are written and texts are read: attributes of
        :class:`moanon.data.cell_reading.FileForm`.

    Raises
    ------
    DataError
        If the source cannot be read exactly as it stands.
    """
    address = _address(source, table, query, ())
    return _open(
        source,
        columns,
        missing_tokens,
        name,
        FileForm(**form),
        asked=columns,
        memory=memory,
        address=address,
    )


def _open(
    source: str | os.PathLike[str] | pd.DataFrame,
    columns: Sequence[str] | None,
    missing_tokens: Sequence[str],
    name: str | None,
    form: FileForm,
    *,
    asked: Sequence[str] | None,
    memory: str | None,
    address: Address | None,
    uncopied: Collection[str] = (),
) -> Source:
    if memory is not None and not MEMORY.match(memory):
        raise DataError(f"memory must be an amount such as 500MB or 2GB. Got {memory!r}")
    reading = CellReading.of(missing_tokens, form)
    if address is not None:
        return _open_database(address, columns, asked, reading, memory)
    if not isinstance(source, (str, os.PathLike)):
        read, digest, unread = read_frame(source, name or "DataFrame", reading, columns)
        return Source(name or "DataFrame", HeldRows(read), digest, unread)
    path = os.fspath(source)
    try:
        files = find_files(path)
        resolved = tuple(file.resolve() for file in files)
        digest = digest_files(files)
    except OSError as error:
        raise unreadable(path, error) from None
    store: RowStore
    if files[0].suffix.lower() == ".xlsx":
        from moanon.data.spreadsheets import read_sheets  # here, because few tables are such

        sheets, header = read_sheets(files, columns, form, reading)
        store = HeldRows(sheets)
    elif form.sheet is not None:
        raise DataError(f"a sheet is named for .xlsx files only. Got {files[0]}")
    elif memory is None and (small := _read_small(files, columns, form, reading)) is not None:
        store, header = small
    else:
        session = DuckSession(name or path, memory)
        store, header = open_files(
            files, columns, asked, session=session, reading=reading, form=form, uncopied=uncopied
        )
    if not store.rows:
        raise DataError(f"{path} has no rows")
    unread = tuple(each for each in header if columns is not None and each not in set(columns))
    return Source(name or path, store, digest, unread, resolved)


def _read_small(
    files: Sequence[Path], columns: Sequence[str] | None, form: FileForm, reading: CellReading
) -> tuple[HeldRows, tuple[str, ...]] | None:
    """Read text files of few cells into memory; None for others."""
    is_text = files[0].suffix.lower() != ".parquet"
    read = read_few_cells(files, columns, form, _FEW_CELLS) if is_text else None
    if read is None:
        return None
    return HeldRows({column.name: reading.read(column) for column in read[0]}), read[1]


def _address(
    source: object, table: str | None, query: str | None, order_by: Sequence[str]
) -> Address | None:
    """The address of a database; None for other sources, for which nothing of it may be said."""
    if isinstance(source, str) and is_address(source):
        return Address(source, table, query, tuple(order_by))
    for key, value in (("table", table), ("query", query), ("order_by", order_by)):
        if value:
            raise DataError(f"{key} is for databases, and the source is none")
    return None


def _open_database(
    address: Address,
    columns: Sequence[str] | None,
    asked: Sequence[str] | None,
    reading: CellReading,
    memory: str | None,
) -> Source:
    if (address.table is None) == (address.query is None):
        raise DataError(f"{address.url} needs a table or a query: what is read there")
    from moanon.engines.databases import open_database  # here, because few tables are such

    rows, header = open_database(address, columns, reading=reading, memory=memory)
    digest = rows.digest(header if asked is None else asked)
    if not rows.rows:
        raise DataError(f"{address} has no rows")
    unread = tuple(name for name in header if columns is not None and name not in set(columns))
    return Source(str(address), rows, digest, unread, rows.database.files, rows.unlisted)
