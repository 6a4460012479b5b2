"""From a source to a table: which files a path means, rows without roles, and rows with them.

Whatever the source, a column has the same form: the distinct texts that occur in it, sorted, and
one code per row. Text stays text: ``NA``, ``nan`` or ``01234`` are values like any other, because a
reader that guesses types invents missing values and merges people that differ.

In a `Table` columns have roles, and what becomes of missing values is decided. Only declared
columns go on from here. What nobody declared is named, so that a publisher can see it, and is never
released.

Digests, by which a table is known again, are here, too. That of files is the SHA-256 of their
bytes, and is kept as it is. The rows of a database have no bytes to compare: their digest is one of
counts, of the values of each column, and of the cells with their sensitive values. Counts can be
guessed, and whoever sees such a digest could test a guess. So it is kept only as an HMAC under a
random key, which stays in the results folder.
"""

from __future__ import annotations

import glob
import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack, get_args
from urllib.parse import urlparse

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bools, Ints, Outlined
from moanon.atomic import checked_path
from moanon.data.cell_reading import DEFAULT_ENCODING, CellReading, FileForm, FormKeys
from moanon.data.column import (
    Column,
    Profile,
    absent_column,
    chosen_positions,
    did_you_mean,
    one_kind,
    plain_value,
    refuse_bad_names,
    typed_column,
)
from moanon.data.file_form import (
    READ_ERRORS,
    guess_encoding,
    header_of,
    likely_blanks,
    split_at_blanks,
    unreadable,
)
from moanon.data.readers import first_rows
from moanon.data.rows import RowStore
from moanon.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from moanon.data.cells import Cells

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
    """Rows without roles."""

    name: str  # path, glob, ``DataFrame`` or the name the caller gave
    store: RowStore
    #: SHA-256 in hex. One file: of its bytes. Several: of the lines ``<sha256>  <relative name>``
    #: in reading order. A frame: of the names, texts and missing marks of the columns read,
    #: whatever its index, memory layout and missing tokens. A database: of counts, see the module.
    digest: str
    unread: tuple[str, ...] = ()  # columns that were not asked for, in file order
    #: The files that were read, absolute and with links followed, so that nobody replaces them by
    #: mistake, from whatever folder. Of a database its own file.
    files: tuple[Path, ...] = ()
    unlisted: bool = False  # whether it may read further files, as a query of DuckDB can

    @property
    def rows(self) -> int:
        """Rows in the source."""
        return self.store.rows

    @property
    def columns(self) -> tuple[Profile, ...]:
        """Profiles of the columns read, in file order."""
        return tuple(self.store.columns.values())


def is_address(source: str) -> bool:
    """Whether a source is the address of a database rather than a path."""
    return re.match(r"^[a-z][a-z0-9+]*://", source) is not None


def database_file(url: str) -> Path | None:
    """The file that the address of a database names; None where it names another place."""
    parts = urlparse(url)  # as ibis takes it apart
    path = Path(parts.netloc, parts.path[bool(parts.netloc) :])
    in_memory = str(path) in (".", ":memory:")
    is_service = str(path).startswith(("md:", "motherduck:"))
    is_file = parts.scheme in ("sqlite", "duckdb", "file") and not in_memory and not is_service
    return path if is_file else None


def files_behind(source: str | os.PathLike[str]) -> tuple[Path, ...]:
    """The files of a source, absolute and with links followed; none where it is gone."""
    if is_address(os.fspath(source)):
        file = database_file(os.path.expandvars(source))
        return () if file is None else (file.resolve(),)
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


def read_frame(
    frame: pd.DataFrame, name: str, reading: CellReading, columns: Sequence[str] | None
) -> tuple[dict[str, Column], str, tuple[str, ...]]:
    """Read columns of a frame; returned with its digest and the names of all other columns."""
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
    read = {column.name: reading.read(column) for column in plain}
    unread = tuple(label for label in header if label not in read)
    return read, digest.hexdigest(), unread


# -- digests, and how they are kept ----------------------------------------------------------------


#: What digests of counts begin with.
_COUNTS = "counts:"


def digest_of_columns(columns: Sequence[tuple[str, Sequence[str], Ints]]) -> str:
    """Give the digest of the names of columns, their values, and the rows of each value."""
    found = hashlib.sha256()
    for name, values, counts in columns:
        found.update(json.dumps([name, values, counts.tolist()]).encode())
    return f"{_COUNTS}{found.hexdigest()}"


def with_cells(digest: str, cells: Cells) -> str:
    """Add to a digest of counts those of cells, and of the sensitive values in each."""
    if not is_of_counts(digest):
        return digest
    found = hashlib.sha256(digest.encode())
    arrays: list[npt.NDArray[np.integer]] = [cells.codes, cells.counts]
    for column in cells.sensitive:
        found.update(json.dumps([column.name, column.labels]).encode())
        arrays += [column.starts, column.values, column.counts]
    for array in arrays:
        found.update(f"{array.dtype.name} {array.shape}".encode())
        # As it lies there: there may be as many cells as rows.
        found.update(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data)
    return f"{_COUNTS}{found.hexdigest()}"


def is_of_counts(digest: str) -> bool:
    """Whether a digest, as it is in memory, is one of counts."""
    return digest.startswith(_COUNTS)


def new_key(digest: str) -> str | None:
    """Draw a key under which a digest is kept; None for one that needs none."""
    return secrets.token_hex(32) if is_of_counts(digest) else None


def kept(digest: str, key: str | None) -> str:
    """Give a digest as it is kept."""
    if key is None:
        return digest
    return hmac.new(key.encode(), digest.encode(), "sha256").hexdigest()


def is_kept_as(digest: str, stated: object, key: object) -> bool:
    """Whether a digest is the one that somebody kept, under a key or without one."""
    if isinstance(key, str) and is_of_counts(digest):
        return stated == kept(digest, key)
    # Results of earlier versions have those of counts without a key.
    return isinstance(stated, str) and digest in (stated, f"{_COUNTS}{stated}")


# -- tables ----------------------------------------------------------------------------------------

#: What becomes of rows that miss a quasi-identifying or sensitive value.
MissingPolicy = Literal["drop", "category", "error"]


class Role(StrEnum):
    """What a column is to the people in the table."""

    IDENTIFYING = "identifying"
    QUASI = "quasi"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


#: A missing value counts in these: it would decide who shares a group with whom, or what a group
#: reveals.
_COUNTED = (Role.QUASI, Role.SENSITIVE)


@dataclass(frozen=True, eq=False, repr=False)
class Table(Outlined):
    """Declared columns, ready to be generalized."""

    source: str  # what was read
    digest: str  # its SHA-256; of a database that of counts, see the module
    roles: Mapping[str, Role]  # the declared columns, in file order
    store: RowStore  # where its rows are
    rows_in: int  # rows that were read: those here and those that were dropped
    rows_dropped: int  # for a missing value
    undeclared: tuple[str, ...]  # columns of the source without a role, which are never released
    files: tuple[Path, ...] = ()  # that were read, absolute; a release must not replace them
    unlisted: bool = False  # whether further ones may have been; then it must not replace any
    encoding: str = DEFAULT_ENCODING  # of files that are text

    @property
    def columns(self) -> Mapping[str, Profile]:
        """Profiles of the declared columns.

        Under the policies ``drop`` and ``error`` the quasi-identifying and sensitive ones have no
        missing value; under ``category`` the column's domain gives it a base value of its own.
        """
        return self.store.columns

    @property
    def rows(self) -> int:
        """Rows here."""
        return self.store.rows

    def column(self, name: str) -> Column:
        """Give a declared column with its rows; see `known`."""
        return self.store.column(self.known(name))

    def checked(self, name: str) -> Profile:
        """Give the profile of a declared column; see `known`."""
        return self.columns[self.known(name)]

    def known(self, name: str) -> str:
        """Take the name of a declared column; an unknown one is refused with the nearest."""
        if name not in self.columns:
            raise absent_column(f"the table from {self.source}", name, self.columns)
        return name

    @property
    def identifying(self) -> tuple[str, ...]:
        """Columns that point to one person; dropped on release."""
        return self._with(Role.IDENTIFYING)

    @property
    def quasi(self) -> tuple[str, ...]:
        """Quasi-identifiers, in file order; generalized on release."""
        return self._with(Role.QUASI)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Columns whose values must not be learnt about a person; kept on release."""
        return self._with(Role.SENSITIVE)

    @property
    def insensitive(self) -> tuple[str, ...]:
        """Columns that matter to nobody; kept on release."""
        return self._with(Role.INSENSITIVE)

    def only(self, rows: Bools) -> Table:
        """Give the table with some of its rows, as if the others had not been read.

        Identifying columns stay behind.
        """
        shown = [name for name, role in self.roles.items() if role is not Role.IDENTIFYING]
        return self._over(self.store.held(shown).only(rows))

    def without(self, values: Mapping[str, Bools]) -> Table:
        """Give the table without the rows that hold one of some values; see `RowStore`."""
        return self._over(self.store.without(values))

    def _over(self, store: RowStore) -> Table:
        return replace(self, store=store, rows_in=self.rows_in - self.rows + store.rows)

    @property
    def dropped(self) -> str:
        """Say how many rows were dropped; nothing where none was."""
        return dropped_note(self.rows_dropped, self.rows_in)

    def _with(self, role: Role) -> tuple[str, ...]:
        return tuple(name for name, given in self.roles.items() if given is role)


def dropped_note(dropped: int, rows_in: int) -> str:
    """Say how many of the rows that were read were dropped; nothing where none was."""
    were = "was" if dropped == 1 else "were"
    return f"{dropped:,} of {_rows(rows_in)} {were} dropped for missing values" if dropped else ""


def give_roles(
    source: Source, roles: Mapping[str, Role | str], missing: MissingPolicy = "error"
) -> Table:
    """Give columns their roles and decide about missing values.

    See :func:`moanon.engines.read_table`. After rows are dropped, a column's values are again
    exactly those that occur: a value known only from dropped rows would otherwise widen an interval
    or show up as an empty category.
    """
    given = check_roles(roles)
    check_policy(missing)
    present = source.store.columns
    for name in given:
        if name not in present:
            raise absent_column(source.name, name, [*present, *source.unread])
    store = source.store.chosen(list(given))
    ordered = {name: given[name] for name in store.columns}
    counted = [store.columns[name] for name, role in ordered.items() if role in _COUNTED]
    for column in counted:
        if not column.values:
            raise DataError(
                f"{source.name}: the {given[column.name]} column {column.name!r} has no value in "
                f"any of its {_rows(store.rows)}"
            )
    complete = store
    if missing != "category" and any(column.missing for column in counted):
        complete = _complete_rows(store, counted, missing, source.name)
    return Table(
        source=source.name,
        digest=source.digest,
        roles=ordered,
        store=complete,
        rows_in=store.rows,
        rows_dropped=store.rows - complete.rows,
        undeclared=(*(name for name in present if name not in given), *source.unread),
        files=source.files,
        unlisted=source.unlisted,
    )


def check_roles(roles: Mapping[str, Role | str]) -> dict[str, Role]:
    """Take roles by their names; refused where one is none, or no column is quasi."""
    known = [role.value for role in Role]
    if not isinstance(roles, Mapping):
        raise DataError(
            "roles must be a mapping of column names to roles, such as {'age': 'quasi'}. "
            f"Got {type(roles).__name__}"
        )
    for name, role in roles.items():
        if role not in known:
            raise DataError(
                f"the role of column {name!r} must be one of {', '.join(known)}. "
                f"Got {role!r}{did_you_mean(str(role), known)}"
            )
    given = {name: Role(role) for name, role in roles.items()}
    if Role.QUASI not in given.values():
        raise DataError("there is no quasi-identifier: give at least one column the role quasi")
    return given


def check_policy(missing: str) -> None:
    """Refuse what is no policy for missing values."""
    known = get_args(MissingPolicy)
    if missing not in known:
        raise DataError(
            f"missing must be one of {', '.join(known)}. "
            f"Got {missing!r}{did_you_mean(str(missing), known)}"
        )


def _complete_rows(
    store: RowStore, counted: Sequence[Profile], missing: MissingPolicy, source: str
) -> RowStore:
    """Leave out the rows that miss a value, or refuse them."""
    gaps = _listed(f"{c.name!r} ({_rows(c.missing)})" for c in counted if c.missing)
    if missing == "error":
        raise DataError(
            f"{source} misses values in {gaps}; complete the data, or say what becomes of "
            "such rows with missing: drop (they are left out), category (missing is a value of its "
            "own) or error (they are refused, as now)"
        )
    complete = store.complete([column.name for column in counted if column.missing])
    if not complete.rows:
        raise DataError(
            f"{source} has no row left: all {_rows(store.rows)} were dropped for missing "
            f"values in {gaps}"
        )
    return complete


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _listed(parts: Iterable[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
