"""Where the rows of a table are left.

A frame is in memory already, and a small file is soon there. The rows of larger files stay where
they are, and so do those of any file for which a memory limit is given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from moanon.arrays import Outlined
from moanon.data.cell_reading import CellReading
from moanon.data.decoding import checked_encoding, unreadable
from moanon.data.file_form import FileForm, FormKeys
from moanon.data.rows import RowStore
from moanon.data.source import digest_files, find_files, read_source
from moanon.data.table import (
    MissingPolicy,
    Role,
    Table,
    check_policy,
    check_roles,
    settle_store,
)
from moanon.data.table import read_table as read_into_memory
from moanon.engines.addresses import Address, is_address
from moanon.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

#: Files of this many bytes together are not read into memory: the strict reader would take a minute
#: and a gigabyte for ten times as much.
LARGE = {"text": 64 << 20, "parquet": 8 << 20}
#: Endings of files that DuckDB reads; others have readers of their own.
_KNOWN = (".parquet", ".csv", ".tsv", ".txt", ".data", ".gz", ".zst")
#: How an amount of memory is written.
MEMORY = re.compile("^[1-9][0-9]{0,8} ?([KMGT]i?B|[kmgt]b)$")


@dataclass(frozen=True, eq=False, repr=False)
class OpenedSource(Outlined):
    """Rows without roles, wherever they are; the attributes are those of `Source`."""

    name: str
    store: RowStore
    digest: str
    unread: tuple[str, ...]
    files: tuple[Path, ...]

    @property
    def rows(self) -> int:
        """Rows in the source."""
        return self.store.rows


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
    """Open the declared columns of a source and settle their missing values.

    Parameters
    ----------
    source, roles, missing, missing_tokens, name, **form
        As for :func:`moanon.data.table.read_table`, which reads what fits into memory.
    memory : str, optional
        How much DuckDB may hold, such as ``2GB``; the rows of files then stay where they are,
        however few.
    table, query, order_by
        Where the source is the address of a database; see `moanon.engines.databases.Address`.
    needed : sequence of str
        Identifying columns that are asked about all the same, such as a key. No temporary file
        holds any other one.

    Raises
    ------
    DataError
        As `read_table` does.
    """
    given, file_form = check_roles(roles), FileForm(**form)
    check_policy(missing)
    if memory is not None and not MEMORY.match(memory):
        raise DataError(f"memory must be an amount such as 500MB or 2GB. Got {memory!r}")
    asked = [column for column, role in given.items() if role in (Role.QUASI, Role.SENSITIVE)]
    opened: OpenedSource | None
    if isinstance(source, str) and is_address(source):
        address = Address(source, table, query, tuple(order_by))
        reading = CellReading.of(missing_tokens, file_form)
        opened = _open_database(address, tuple(given), asked, reading, memory)
    else:
        _refuse_table(table, query, order_by)
        identifying = {column for column, role in given.items() if role is Role.IDENTIFYING}
        opened = _open(
            source,
            tuple(given),
            asked,
            missing_tokens,
            name,
            memory,
            file_form,
            uncopied=identifying.difference(needed),
        )
    if opened is None:
        read = read_into_memory(
            source, given, missing=missing, missing_tokens=missing_tokens, name=name, **form
        )
    else:
        read = settle_store(
            opened.store,
            given,
            missing,
            source=opened.name,
            digest=opened.digest,
            undeclared=opened.unread,
            files=opened.files,
        )
    return replace(read, encoding=checked_encoding(file_form.encoding))


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
) -> OpenedSource:
    """Open columns of a source, by default all, without roles; see `read_table`."""
    if isinstance(source, str) and is_address(source):
        reading = CellReading.of(missing_tokens, FileForm(**form))
        return _open_database(Address(source, table, query), columns, columns, reading, memory)
    opened = _open(source, columns, columns, missing_tokens, name, memory, FileForm(**form))
    if opened is not None:
        return opened
    read = read_source(source, columns=columns, missing_tokens=missing_tokens, name=name, **form)
    return OpenedSource(read.name, read.store, read.digest, read.unread, read.files)


def _open(
    source: str | os.PathLike[str] | pd.DataFrame,
    columns: Sequence[str] | None,
    asked: Sequence[str] | None,
    missing_tokens: Sequence[str],
    name: str | None,
    memory: str | None,
    form: FileForm,
    uncopied: Collection[str] = (),
) -> OpenedSource | None:
    """Open files without reading them into memory; None for what is read there."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = os.fspath(source)
    reading = CellReading.of(missing_tokens, form)
    try:
        files = find_files(path)
        is_known = files[0].suffix.lower() in _KNOWN and form.sheet is None
        if not is_known or (not memory and not _are_large(files)):
            return None
        digest = digest_files(files)
        resolved = tuple(file.resolve() for file in files)
    except OSError as error:
        raise unreadable(path, error) from None
    from moanon.engines.duck import DuckSession  # here, because small files need no DuckDB
    from moanon.engines.files import open_files

    session = DuckSession(name or path, memory)
    opened = open_files(
        files, columns, asked, session=session, reading=reading, form=form, uncopied=uncopied
    )
    if opened is None or not opened[0].rows:
        return None
    rows, header = opened
    unread = tuple(each for each in header if columns is not None and each not in set(columns))
    return OpenedSource(name or path, rows, digest, unread, resolved)


def open_beside(source: str | os.PathLike[str], store: RowStore, form: FileForm) -> RowStore | None:
    """Open all columns of files where those of another table are read, no text being missing.

    None where that table is not read by DuckDB, or these files cannot be.
    """
    from moanon.engines.files import RowsInFiles, open_files

    if not isinstance(store, RowsInFiles):
        return None
    path = os.fspath(source)
    try:
        files = find_files(path)
        if files[0].suffix.lower() not in _KNOWN:
            return None
        session = store.session.beside(path)
        reading = CellReading.of((), form)
        opened = open_files(files, None, None, session=session, reading=reading, form=form)
    except OSError as error:
        raise unreadable(path, error) from None
    return None if opened is None or not opened[0].rows else opened[0]


def _open_database(
    address: Address,
    columns: Sequence[str] | None,
    asked: Sequence[str] | None,
    reading: CellReading,
    memory: str | None,
) -> OpenedSource:
    if (address.table is None) == (address.query is None):
        raise DataError(f"{address.url} needs a table or a query: what is read there")
    from moanon.engines.databases import open_database  # here, because few tables are such

    rows, header = open_database(address, columns, reading=reading, memory=memory)
    digest = rows.digest(header if asked is None else asked)
    if not rows.rows:
        raise DataError(f"{address} has no rows")
    unread = tuple(name for name in header if columns is not None and name not in set(columns))
    return OpenedSource(str(address), rows, digest, unread, ())


def _refuse_table(table: str | None, query: str | None, order_by: Sequence[str]) -> None:
    given = [("table", table), ("query", query), ("order_by", order_by)]
    for key, value in given:
        if value:
            raise DataError(f"{key} is for databases, and the source is none")


def _are_large(files: Sequence[Path]) -> bool:
    kind = "parquet" if files[0].suffix.lower() == ".parquet" else "text"
    return sum(file.stat().st_size for file in files) >= LARGE[kind]
