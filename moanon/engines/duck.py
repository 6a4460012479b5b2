"""DuckDB as moanon uses it: under a memory limit, spilling to a folder of its own.

A `DuckSession` has temporary tables and files of its own, which only its user can read and which go
with it. What DuckDB cannot do is said in one sentence.
"""

from __future__ import annotations

import atexit
import ctypes
import errno
import itertools
import os
import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from moanon.arrays import Ints, Values
from moanon.atomic import ScratchFolder, part_name
from moanon.data.cell_reading import FORMULA, NUMBER, is_formula
from moanon.data.column import TEXT
from moanon.data.rows import Labelling, ReleasedColumn, RowOrder, RowsInMemory
from moanon.errors import DataError
from moanon.progress import interrupt_with_us

if TYPE_CHECKING:
    import duckdb

#: What DuckDB may hold where nobody says it. Python and the compiled loops need some 300 MB beside.
DEFAULT_MEMORY = "500MB"
#: Bytes of a part, where a release is a folder of parts.
PART_BYTES = 128 << 20
#: Rows in memory that are handed to DuckDB at a time.
_HELD_ROWS = 1 << 18
#: What the C library of Linux calls the size from which on memory is the system's.
_MMAP_THRESHOLD = -3
#: Keys of tuples stay below this.
_KEY_LIMIT = 2**62
#: What sorts rows at random; the state behind it comes from the system.
RANDOM_KEY = "gen_random_uuid()"
_QUOTED = re.compile('[",\r\n]')
#: Whole numbers that hold codes.
_WIDTHS = (np.uint8, np.uint16, np.uint32, np.int64)


class _Database:
    """A DuckDB that all tables of this process share which may hold as much memory.

    To begin one takes longer than to count a small table. It spills to a folder of its own, which
    goes with the process. Whoever sets how many threads there are holds the `lock`: that is one
    number for all tables.
    """

    def __init__(self, memory: str) -> None:
        import duckdb

        _give_memory_back()
        self.scratch = ScratchFolder()
        config: dict[str, Any] = {
            "memory_limit": memory,
            "temp_directory": str(self.scratch.path / "spilled"),
        }
        self.connection = duckdb.connect(":memory:", config=config)
        # In a shell DuckDB would draw one over whatever is shown there.
        self.connection.execute("SET enable_progress_bar = false")
        # 0: columns of objects are texts. Otherwise DuckDB looks at some cells and guesses.
        self.connection.execute("SET pandas_analyze_sample = 0")
        found = self.connection.execute("SELECT current_setting('threads')").fetchall()
        self.threads = int(found[0][0])
        self.lock = threading.RLock()
        atexit.register(self.close)  # DuckDB complains of what is left when Python ends

    def close(self) -> None:
        """Close it, and remove what it has spilled."""
        self.connection.close()
        self.scratch.remove()


#: By the memory that they may hold.
_DATABASES: dict[str, _Database] = {}
_BEGINNING = threading.Lock()


def _database(memory: str) -> _Database:
    with _BEGINNING:
        if memory not in _DATABASES:
            _DATABASES[memory] = _Database(memory)
        return _DATABASES[memory]


class DuckSession:
    """A connection with temporary tables of its own, for one table, which messages call `source`.

    Before it spills, DuckDB may hold as much `memory` (``2GB``) for all tables together that are
    opened with as much.
    """

    def __init__(self, source: str, memory: str | None = None) -> None:
        self.source = source
        self._owner: DuckSession | None = None
        self.memory = memory or DEFAULT_MEMORY
        try:
            self._shared = _database(self.memory)
        except OSError as error:
            raise DataError(f"{source} cannot be read: {error}") from None
        self.database = self._shared.connection.cursor()
        self._names = itertools.count(1)
        interrupt_with_us(self.database)
        self._files = _Files(self._shared.scratch.path)
        self._end = weakref.finalize(self, _close, self.database, self._files)

    @property
    def folder(self) -> Path:
        """Where its temporary files lie; they go with the session."""
        return self._files.folder

    def beside(self, source: str) -> DuckSession:
        """The same database, for another table."""
        other = copy(self)
        other.source = source
        other._owner = self  # which closes it
        return other

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> duckdb.DuckDBPyConnection:
        """Run a statement; what goes wrong is one sentence about the table."""
        with self._reporting():
            return self.database.execute(sql, list(parameters))

    def fetch(self, sql: str) -> dict[str, Any]:
        """Run a query and give its columns as arrays."""
        with self._reporting():
            found = self.database.execute(sql).fetchnumpy()
        _trim()
        return found

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            raise self.failure(error) from None

    def give_back(self) -> None:
        """Have DuckDB's threads end and begin anew: each keeps for itself what it has freed.

        After a count of millions of tuples that is a hundred megabytes. Not within `in_order`.
        """
        with self._shared.lock:
            self.execute("SET threads = 1")
            self.execute(f"SET threads = {self._shared.threads}")

    def write(self, sql: str, path: Path) -> None:
        """Run a statement that writes a file, or the parts of a folder."""
        import duckdb

        try:
            self.database.execute(sql)
        except duckdb.Error as error:
            # Its own folder has a plain name, which is in the message if that disk is the full one.
            spilled = self._shared.scratch.path.name
            if _is_full(error) and spilled not in str(error):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
            reason = _reason(error, self.memory).replace(f' "{path.absolute()}"', "")
            raise OSError(reason) from None
        _trim()
        if path.is_dir():  # names in the order of their numbers
            for part in path.iterdir():
                number = int(part.stem.removeprefix("part-"))
                part.rename(path / part_name(number, part.suffix))

    def failure(self, error: Exception) -> DataError:
        """Say what went wrong as one sentence about the table."""
        return DataError(f"{self.source} cannot be read: {_reason(error, self.memory)}")

    def value(self, sql: str) -> Any:
        """Run a query of one value."""
        with self._reporting():
            return self.one(sql)

    def one(self, sql: str) -> Any:
        """Run a query of one value; errors are those of DuckDB."""
        # All of it: the rest would be in the way.
        ((found,),) = self.database.execute(sql).fetchall()
        return found

    def new_name(self, kind: str) -> str:
        """Give a name that no table has yet."""
        return f"{kind}_{next(self._names)}"

    def store(self, columns: Mapping[str, Values], table: str | None = None) -> str:
        """Put arrays into a new temporary table, or more of them into one; give its name."""
        name, view = table or self.new_name("given"), self.new_name("array")
        into = f"INSERT INTO {name}" if table else f"CREATE TEMP TABLE {name} AS"
        self.database.register(view, dict(columns))
        try:
            self.execute(f"{into} SELECT * FROM {view}")
        finally:
            self.database.unregister(view)
        return name

    def drop(self, tables: Sequence[str]) -> None:
        """Forget temporary tables."""
        for table in tables:
            self.execute(f"DROP TABLE IF EXISTS {table}")

    @contextmanager
    def in_order(self) -> Iterator[None]:
        """Rows go through joins in the order of their file: one thread, and no sides exchanged."""
        with self._shared.lock:
            self.execute("SET threads = 1")
            self.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
            try:
                yield
            finally:
                self.execute("RESET disabled_optimizers")
                self.execute(f"SET threads = {self._shared.threads}")


def _give_memory_back() -> None:
    """Have arrays of a megabyte and more go back to the system as soon as nobody needs them.

    Otherwise the C library of Linux learns from the first ones that were freed to keep up to 32 MB
    of each for itself: a third of all memory, where there are millions of cells.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 20)


def _trim() -> None:
    """Give back what DuckDB has freed in small pieces, before anything else is held beside it."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


class _Files:
    """A folder for the temporary files of a session, made when it is first asked for."""

    def __init__(self, above: Path) -> None:
        self._above, self._made = above, False

    @cached_property
    def folder(self) -> Path:
        self._made = True
        return Path(tempfile.mkdtemp(dir=self._above))

    def remove(self) -> None:
        if self._made:
            shutil.rmtree(self.folder, ignore_errors=True)


def _close(database: duckdb.DuckDBPyConnection, files: _Files) -> None:
    database.close()
    files.remove()


def _reason(error: Exception, memory: str) -> str:
    """Give the first sentence of DuckDB's error, without the names of its temporary files."""
    import duckdb

    message = str(error).splitlines()[0].strip()
    if isinstance(error, duckdb.OutOfMemoryException):
        if "max_temp_directory_size" in str(error):  # in the second line; nobody else sets it
            return "the disk that DuckDB spills to is full; set TMPDIR to a larger one"
        return f"it needs more than the {memory} that it may hold; give more with data.memory"
    if _is_full(error):
        return "the disk that DuckDB spills to is full; set TMPDIR to a larger one"
    return re.sub(r"^[A-Z][A-Za-z ]+ Error: ", "", message).removesuffix(".")


def _is_full(error: Exception) -> bool:
    """Whether a disk has no room left."""
    import duckdb

    signs = ("No space left", "ENOSPC", f'"errno":"{errno.ENOSPC}"')
    return isinstance(error, duckdb.IOException) and any(sign in str(error) for sign in signs)


def in_bytes(amount: str) -> float:
    """Read an amount of memory such as 500MB."""
    number, unit = re.fullmatch(r"([0-9]+) ?([A-Za-z]+)", amount).groups()  # type: ignore[union-attr]
    base = 1024 if "i" in unit else 1000
    return int(number) * float(base ** ("KMGT".index(unit[0].upper()) + 1))


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def spell(text: str | None) -> str:
    """Write a cell of a CSV file, in quotes where RFC 4180 asks for them.

    A missing cell is empty; an empty text is a pair of quotes.
    """
    if text is None:
        return ""
    if not text or _QUOTED.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def in_quotes(cell: str) -> str:
    """A text in SQL as a cell of a CSV file; see `spell`."""
    signs = " OR ".join(
        f"contains({cell}, {sign})" for sign in ("'\"'", "','", "chr(10)", "chr(13)")
    )
    doubled = f"'\"' || replace({cell}, '\"', '\"\"') || '\"'"
    return f"CASE WHEN {cell} = '' OR {signs} THEN {doubled} ELSE {cell} END"


def csv_line(cells: Sequence[str]) -> str:
    """A line of a CSV file in SQL, from cells that are spelled for one; NULL is an empty cell."""
    whole = ", ".join(f"coalesce({cell}, '')" for cell in cells)
    return f"concat_ws(',', {whole})"


def copy_rows(
    rows: str,
    cells: Sequence[str],
    types: Sequence[str],
    labelling: Labelling,
    path: Path,
    spell: Callable[[str | None], str] | None,
    *,
    joins: str = "",
    order_by: str = "",
    is_large: bool = False,
) -> str:
    """SQL that writes labelled rows into a file, in the order that was asked for.

    Rows come from `rows`, called ``r`` in `joins`, which have what else cells need, and which rows
    there are. `cells` are texts of the released columns in SQL, spelled for a line of CSV if there
    is a `spell`, and `types` theirs in Parquet. What sorts rows that are not shuffled and have no
    order of their own is `order_by`; where it `is_large`, rows may lose their order on the way
    through joins. The others are as for `moanon.data.rows.RowStore.write`.
    """
    names, shuffle = labelling.columns.values(), labelling.shuffle
    header, columns = ",".join(map(spell, names)) if spell else "", {}
    if spell is None:
        typed = zip(names, cells, types, strict=True)
        columns = {name: f"CAST({cell} AS {kind})" for name, cell, kind in typed}
    line = csv_line(cells if spell else [in_quotes(cell) for cell in cells])
    if isinstance(shuffle, int):
        query = shuffled(line, f"FROM {rows} AS r {joins}", shuffle, header, columns)
    else:
        if shuffle == "random":  # as they are, since labels would make them wide
            rows, order_by = f"(SELECT * FROM {rows} ORDER BY {RANDOM_KEY})", ""
        # Row groups of Parquet end where chunks do, and those of rows that were never sorted are as
        # long as suppressed rows and the bytes of the source make them.
        if is_large or (columns and shuffle is None and not order_by):
            rows, order_by = f"(SELECT *, row_number() OVER () AS place FROM {rows})", "place"
        shown = [f"{cell} AS {quoted(name)}" for name, cell in columns.items()]
        selected = ", ".join(shown or [f"{line} AS {quoted(header)}"])
        last = f"ORDER BY {order_by}" if order_by else ""
        query = f"SELECT {selected} FROM {rows} AS r {joins} {last}"
    if spell:
        return copy_lines(query, path)
    # DuckDB marks columns as REQUIRED where it knows that there is no gap, which depends on the way
    # that rows came and on rows that are suppressed. Whether this row is one, it cannot know.
    gaps = ", ".join(f"CAST(NULL AS {kind})" for kind in types)
    either = f"SELECT * FROM ({query}) UNION ALL SELECT {gaps} FROM range(1) WHERE random() < 0"
    return copy_columns(either, path)


def shuffled(line: str, rows: str, seed: int, header: str, columns: Mapping[str, str]) -> str:
    """SQL of rows in an order that depends on a seed and on what they show, and on nothing else.

    They are sorted by a digest of the seed and their line of a CSV file; lines that are the same
    are numbered. So the same rows have the same order wherever they come from, and neither a line
    number nor the seed says where a row stood in the source. Cells come from `rows`, everything
    from FROM on. Selected are `columns` by their names or, without any, lines under `header`.
    """
    cells = "".join(f"{cell} AS cell{i}, " for i, cell in enumerate(columns.values()))
    names = [f"cell{i} AS {quoted(name)}" for i, name in enumerate(columns)]
    selected = ", ".join(names) or f"line AS {quoted(header)}"
    counted = f"SELECT {cells}{line} AS line, count(*) AS n {rows} GROUP BY ALL"
    return (
        f"SELECT {selected} FROM (SELECT *, unnest(range(n)) AS number FROM ({counted})) "
        f"ORDER BY md5({literal(f'{seed}/')} || number || '/' || line)"
    )


def is_formula_sql(text: str) -> str:
    """Whether a spreadsheet would run a text, in SQL; see `moanon.data.cell_reading`."""
    return (
        f"(regexp_matches({text}, {literal('^' + FORMULA.pattern)}) AND NOT "
        f"regexp_full_match({text}, {literal(NUMBER.pattern)}))"
    )


def undefused_sql(text: str) -> str:
    """A text without the apostrophe that kept a spreadsheet from running it, in SQL."""
    pattern = "^'+" + FORMULA.pattern
    is_defused = f"regexp_matches({text}, {literal(pattern)})"
    return f"CASE WHEN {is_defused} THEN substr({text}, 2) ELSE {text} END"


def copy_lines(query: str, path: Path) -> str:
    """SQL that writes a query of one text into a file, each as a line of its own."""
    return (
        f"COPY ({query}) TO {literal(str(path.absolute()))} (FORMAT CSV, HEADER true, "
        f"QUOTE '', ESCAPE '', DELIMITER '\x01', NULL '', {_in_parts(path)})"
    )


def copy_columns(query: str, path: Path) -> str:
    """SQL that writes a query into a Parquet file."""
    place = literal(str(path.absolute()))
    return f"COPY ({query}) TO {place} (FORMAT PARQUET, {_in_parts(path)})"


def _in_parts(path: Path) -> str:
    """Options of COPY: a folder takes parts, a file is written at once."""
    if not path.is_dir():
        return "USE_TMP_FILE false"
    return f"FILE_SIZE_BYTES {PART_BYTES}, FILENAME_PATTERN 'part-{{i}}', OVERWRITE_OR_IGNORE true"


# -- rows in memory --------------------------------------------------------------------------------


class HeldRows(RowsInMemory):
    """Rows in memory, written by DuckDB.

    Frames, sheets and small text files are such, one code per row and column: counting a small
    table there takes a thirtieth of what statements of DuckDB take. Rows are labelled where they
    are, and then handed to DuckDB, which orders and writes them as it does all others.
    """

    def write(
        self, labelling: Labelling, path: Path, spell: Callable[[str | None], str] | None
    ) -> tuple[int, RowOrder]:
        columns = self.released(labelling)
        session = DuckSession("the table")
        texts = [_written(column, labelling, spell) for column in columns]
        names, table = [f"c{i}" for i in range(len(columns))], session.new_name("held")
        declared = ", ".join(f"{name} VARCHAR" for name in names)
        session.execute(f"CREATE TEMP TABLE {table} ({declared})")
        for start in range(0, len(columns[0].codes), _HELD_ROWS):
            codes = [column.codes[start : start + _HELD_ROWS] for column in columns]
            cells = zip(names, texts, codes, strict=True)
            session.store({name: shown[code] for name, shown, code in cells}, table)
        types = [column.sql_type for column in columns]
        session.write(copy_rows(table, names, types, labelling, path, spell), path)
        others = [c for c in columns if c.name not in {*labelling.labels, *labelling.gaps}]
        return sum(map(_formula_cells, others)), labelling.row_order


def _written(
    column: ReleasedColumn, labelling: Labelling, spell: Callable[[str | None], str] | None
) -> Values:
    """What cells may show, as it is written: once for each text, however many rows show it."""
    texts: Iterable[str | None] = column.texts
    if labelling.rewrite is not None and column.sql_type == TEXT:
        rewrite = labelling.rewrite
        texts = [None if text is None else rewrite(text) for text in texts]
    if spell is not None:
        texts = map(spell, texts)
    return np.array([*texts], dtype=object)


def _formula_cells(column: ReleasedColumn) -> int:
    """Cells that a spreadsheet would run; numbers, truth values and dates are run by nobody."""
    if column.sql_type != TEXT:
        return 0
    runs = np.array([is_formula(text) for text in column.texts], dtype=bool)
    return int(runs[column.codes].sum()) if runs.any() else 0


# -- tuples of codes as few numbers ----------------------------------------------------------------


class TupleKeys:
    """Tuples of codes as one number each, or as few as sizes (largest code + 1) allow."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._parts: list[list[int]] = [[]]
        self._sizes = list(sizes)
        span = 1
        for place, size in enumerate(sizes):
            if span * size > _KEY_LIMIT:
                self._parts.append([])
                span = 1
            self._parts[-1].append(place)
            span *= size

    @classmethod
    def of_codes(cls, codes: Mapping[str, Ints]) -> TupleKeys:
        """For codes of columns, as `moanon.data.rows.RowStore` takes them."""
        return cls([int(code.max(initial=0)) + 1 for code in codes.values()])

    def columns(self, codes: Sequence[str]) -> str:
        """SQL of all keys, called k0, k1, …, from the SQL of each code."""
        return ", ".join(f"{key} AS k{i}" for i, key in enumerate(self.expressions(codes)))

    def expressions(self, codes: Sequence[str]) -> list[str]:
        """SQL of each key from the SQL of each code."""
        found = []
        for part in self._parts:
            key = codes[part[0]]
            for place in part[1:]:
                key = f"({key} * {self._sizes[place]} + {codes[place]})"
            found.append(key)
        return found

    def of(self, tuples: Ints) -> list[Ints]:
        """Keys of tuples (columns, tuples)."""
        found = []
        for part in self._parts:
            key = tuples[part[0]].astype(np.int64)
            for place in part[1:]:
                key = key * self._sizes[place] + tuples[place]
            found.append(key)
        return found

    @property
    def parts(self) -> int:
        """How many numbers a tuple is."""
        return len(self._parts)

    def tuples(self, keys: list[Ints], order: Ints) -> Values:
        """Undo `of`, in an order.

        Keys are taken off the end of their list: there may be as many tuples as rows, and nobody
        needs a key once it was undone.
        """
        # As narrow as codes allow.
        narrow = next(kind for kind in _WIDTHS if max(self._sizes) - 1 <= np.iinfo(kind).max)
        tuples = np.empty((len(self._sizes), len(order)), dtype=narrow)
        for part in reversed(self._parts):
            key = keys.pop()[order]
            for place in reversed(part[1:]):
                np.remainder(key, self._sizes[place], out=tuples[place], casting="unsafe")
                key //= self._sizes[place]
            tuples[part[0]] = key
        return tuples


def key_order(keys: Sequence[Ints]) -> Ints:
    """The places of tuples in their order, by their keys."""
    return np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(list(keys)[::-1])
