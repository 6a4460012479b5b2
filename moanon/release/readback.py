"""An independent reader of released files, which finds out what a file itself shows.

Nothing here is shared with the code that writes a release. DuckDB counts the file as it stands, out
of core and whatever its size: how often each tuple of labels and sensitive values occurs. A CSV
file that DuckDB would read otherwise than a strict parser is parsed by that one and fed into
DuckDB. Labels are taken apart as texts (``labels``), and what groups give away follows from whole
numbers (``reader_privacy``). The reader knows plain facts only (`Reading`): the columns' roles,
what a label of each column may say, how many rows the table had and with which sensitive values. A
mistake in the writer can therefore not hide behind itself.

Everything is measured twice where that makes a difference (`Measured`): beside the whole table, to
be compared with what was promised, and by the file alone, to be published.
"""

from __future__ import annotations

import atexit
import csv
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, reduce
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from moanon.arrays import Outlined
from moanon.atomic import ScratchFolder
from moanon.data.cell_reading import FileForm, alike_note
from moanon.data.readers import long_fields, look_at
from moanon.errors import CertificateError
from moanon.progress import interrupt_with_us
from moanon.release.labels import BlockLabels
from moanon.release.reader_privacy import GroupCounts, SensitiveFacts, worse, worst_privacy

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Written here again on purpose: these are promises about a released file, not about its writer.
_STAR = "*"
#: An apostrophe in front of a cell that a spreadsheet would run as a formula.
_DEFUSED = re.compile("'+[=+\\-@\t\r\n＝＋－＠]")
#: Floats hold every whole number up to here.
_WHOLE = 2**53
#: What DuckDB may hold before it spills.
_MEMORY = "200MB"
#: So many tuples come back at a time, and so many rows are fed at a time.
_TUPLES = 1 << 19
_FED = 1 << 15
#: Keys of tuples stay below this.
_KEY_LIMIT = 2**62
#: Numbers of the whole file that depend on how many base values its columns have.
_OF_DOMAINS = (("gl", ""), ("loss", ""))

Format = Literal["csv", "parquet", "table"]
#: What a released file measures as: numbers by the names they have in a front, each with the
#: sensitive column that it is of, or an empty name where it is of the whole file. ``rows`` are
#: those released.
NamedValues = dict[tuple[str, str], int | float | Fraction]
#: What a file was measured to be: all that was promised, with groups compared with the whole table;
#: what follows from the file, from declared domains and from the number of rows of the table, with
#: groups compared with the released rows; and notes on released values that look alike.
Measured = tuple[NamedValues, NamedValues, tuple[str, ...]]
#: How many rows have each tuple of measured cells: the quasi-identifiers, then the sensitive ones.
Tally = Mapping[tuple[str | None, ...], int]


@dataclass(frozen=True, repr=False)
class Reading(Outlined):
    """What the reader knows about a released file; nothing of what was promised."""

    format: Format
    header: tuple[str, ...]  # all its columns in order
    quasi: Mapping[str, BlockLabels]  # what their labels may say
    sensitive: Mapping[str, SensitiveFacts]  # which values the whole table has there
    table_rows: int  # before any suppression
    stars: bool = False  # whether suppressed rows are present, every cell a star
    defused: bool = False  # whether cells that a spreadsheet would run carry an apostrophe
    c: float = 3  # of recursive (c,ℓ)-diversity
    # whether all base values were declared, so that no loss depends on rows not released
    declared: bool = True

    @property
    def measured(self) -> tuple[str, ...]:
        """The columns that are measured: quasi-identifiers, then sensitive ones."""
        return (*self.quasi, *self.sensitive)

    @property
    def has_exact_quotients(self) -> bool:
        """Whether compiled loops, which divide floats, find the same quotients to the last bit."""
        spans = [facts.span for facts in self.sensitive.values()]
        return self.table_rows**2 * max([1, *spans]) < _WHOLE

    def text(self, cell: str) -> str:
        """Give what a cell of text stands for."""
        return undefuse(cell) if self.defused else cell


def measure_file(path: Path, reading: Reading) -> Measured:
    """Measure a released file, or a folder of parts, from what is in it.

    A CertificateError if it cannot be read as a release: other columns, no rows, a label that
    stands for no block of its column, a sensitive value that the table does not have.
    """
    parts = parts_of(path)
    with _database("Parquet" if reading.format == "parquet" else "CSV") as database:
        if reading.format == "parquet":
            return _measure(_of_parquet(database, parts, reading), reading)
        _tally_csv(database, parts, reading)
        return _measure(_Cells(database, reading), reading)


def measure_tally(tally: Tally, reading: Reading) -> Measured:
    """Measure a released table whose tuples were counted where it is; see `measure_file`."""
    with _database("table") as database:
        columns = [f"m{i} VARCHAR" for i in range(len(reading.measured))]
        database.execute(f"CREATE TEMP TABLE counted ({', '.join(columns)}, n BIGINT)")
        if tally:
            _feed(database, "counted", [*zip(*tally, strict=True), list(tally.values())])
        return _measure(_Cells(database, reading), reading)


def _measure(counted: _Cells, reading: Reading) -> Measured:
    rows = sum(counted.rows[next(iter(reading.quasi))].values())
    if not rows:
        raise CertificateError("it has no rows")
    suppressed = counted.starred if reading.stars else reading.table_rows - rows
    gl = _lost(counted, reading) / (reading.table_rows * len(reading.quasi))
    sl = Fraction(suppressed, reading.table_rows)
    sizes = counted.sizes()
    squares = sum(size * size * groups for size, groups in sizes.items())
    found: NamedValues = {
        ("rows", ""): rows,
        ("suppressed", ""): suppressed,
        ("groups", ""): sum(sizes.values()),
        ("k", ""): min(sizes),
        ("weighted_k_kept", ""): Fraction(squares, rows),
        ("gl", ""): float(gl),
        ("sl", ""): float(sl),
        ("loss", ""): float(gl + sl),
    }
    public = {
        measure: value
        for measure, value in found.items()
        if reading.declared or measure not in _OF_DOMAINS
    }
    notes: list[str] = []
    for name, facts in reading.sensitive.items():
        try:
            released = counted.released(name)
            table, file = counted.worst_privacy(
                name, (facts, facts.among(released)), Fraction(str(reading.c))
            )
        except CertificateError as error:
            raise CertificateError(f"column {name!r}: {error}") from None
        found |= {(measure, name): value for measure, value in table.items()}
        public |= {(measure, name): value for measure, value in file.items()}
        if note := alike_note(name, sorted(released)):
            notes.append(note)
    return found, public, tuple(notes)


def _lost(counted: _Cells, reading: Reading) -> Fraction:
    """Sum the losses of all released cells (D eq. 3), exactly."""
    total = Fraction(0)
    for name, labels in reading.quasi.items():
        for cell, count in counted.rows[name].items():
            label = None if cell is None else reading.text(cell)
            values = None if label is None else labels.count(label)
            if values is None:
                raise CertificateError(
                    f"column {name!r}: the label {label!r} stands for no block of its values, or "
                    "for more than one"
                )
            if (most := labels.values_in(0, labels.size)) > 1:
                total += Fraction((values - 1) * count, most - 1)
    return total


# -- counting ------------------------------------------------------------------------------------


class _Cells:
    """The measured cells of a release, counted by DuckDB.

    There may be as many different tuples as rows. They stay in a temporary table, which DuckDB
    keeps on the disk where memory ends, and come from there some groups at a time.

    Parameters
    ----------
    tuples : str
        SQL of the measured cells of all rows (m0, m1, …); by default the table ``counted``, which
        has the rows of each tuple (n).
    spelled : mapping
        For sensitive columns that the file holds in another type than text: what cells stand for.

    Attributes
    ----------
    rows : mapping of str to mapping
        For each measured column the rows of each of its cells, as they stand in the file.
    starred : int
        Suppressed rows that are there as stars.
    """

    def __init__(
        self,
        database: DuckDBPyConnection,
        reading: Reading,
        tuples: str = "",
        spelled: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._database, self._reading, self._spelled = database, reading, spelled or {}
        self._tuples, self._number = tuples or "counted", "count(*)" if tuples else "sum(n)::BIGINT"
        self._columns = {name: f"m{i}" for i, name in enumerate(reading.measured)}
        self.starred = 0
        if reading.stars:
            database.execute("SELECT coalesce(sum(n), 0)::BIGINT FROM counted WHERE starred")
            ((self.starred,),) = database.fetchall()
            database.execute("DELETE FROM counted WHERE starred")
        self.rows = {name: self._count(column) for name, column in self._columns.items()}

    def _count(self, column: str) -> dict[str | None, int]:
        self._database.execute(
            f"CREATE TEMP TABLE {column}_rows AS "
            f"SELECT {column} AS cell, {self._number} AS n FROM {self._tuples} GROUP BY 1"
        )
        found = self._database.execute(f"SELECT cell, n FROM {column}_rows ORDER BY 1")
        return dict(found.fetchall())

    def released(self, name: str) -> dict[str, int]:
        """Give the values that a sensitive column shows, in the order of its cells, with rows."""
        found: dict[str, int] = {}
        for cell, rows in self.rows[name].items():
            if cell is None:
                raise CertificateError("a sensitive cell has no value")
            spelled = self._spelled.get(name)
            text = self._reading.text(cell) if spelled is None else spelled.get(cell, cell)
            if text in found:
                raise CertificateError("two different cells stand for the same value")
            found[text] = rows
        return found

    @cached_property
    def _keys(self) -> list[str]:
        """Name the keys of groups, after tuples were counted with numbers instead of texts.

        Numbers, because the texts of millions of tuples would take several times as much memory.
        """
        keys, span, columns = [""], 1, []
        for name, column in self._columns.items():
            self._database.execute(
                f"CREATE TEMP TYPE {column}_cells AS ENUM "
                f"(SELECT cell FROM {column}_rows WHERE cell IS NOT NULL ORDER BY 1)"
            )
            code = f"enum_code({column}::{column}_cells)"
            if name in self._reading.sensitive:
                columns.append(f"{code} AS {column}")
                continue
            code, cells = f"{code}::BIGINT", len(self.rows[name])
            if span * cells > _KEY_LIMIT:
                keys.append("")
                span = 1
            keys[-1] = f"({keys[-1]} * {cells} + {code})" if keys[-1] else code
            span *= cells
        columns += [f"{key} AS k{i}" for i, key in enumerate(keys)]
        self._database.execute(
            f"CREATE TEMP TABLE numbered AS SELECT {', '.join(columns)}, {self._number} AS n "
            f"FROM {self._tuples} GROUP BY ALL"
        )
        self._database.execute("DROP TABLE IF EXISTS counted")
        return [f"k{i}" for i in range(len(keys))]

    def sizes(self) -> dict[int, int]:
        """For each number of rows how many groups have so many."""
        sizes = f"SELECT sum(n)::BIGINT AS size FROM numbered GROUP BY {', '.join(self._keys)}"
        found = self._database.execute(f"SELECT size, count(*) FROM ({sizes}) GROUP BY 1")
        return dict(found.fetchall())

    def worst_privacy(
        self, name: str, besides: Sequence[SensitiveFacts], c: Fraction
    ) -> list[dict[str, float]]:
        """Every privacy model of a sensitive column at its worst, for each of `besides`."""
        parts = (worst_privacy(part, besides, c) for part in self._groups(name))
        return reduce(lambda one, other: list(map(worse, one, other)), parts)

    def _groups(self, name: str) -> Iterator[GroupCounts]:
        """Groups with the rows of each value of a sensitive column, some at a time."""
        keys, texts = ", ".join(self._keys), list(self.released(name))
        place = np.argsort(np.argsort(np.array(texts, dtype=object)))  # of each cell's text
        ((tuples,),) = self._database.execute("SELECT count(*) FROM numbered").fetchall()
        turns = -(-tuples // _TUPLES)
        for turn in range(turns):
            found = self._database.execute(
                f"SELECT {keys}, {self._columns[name]} AS value, sum(n)::BIGINT AS n "
                f"FROM numbered WHERE hash({keys}) % {turns} = {turn} GROUP BY ALL"
            ).fetchnumpy()
            if not len(found["n"]):
                continue
            values = place[np.asarray(found["value"], dtype=np.int64)]
            by = [values, *(np.asarray(found[key]) for key in reversed(self._keys))]
            order = np.lexsort(by)
            begins = np.zeros(len(order), dtype=bool)
            begins[0] = True
            for key in by[1:]:
                begins[1:] |= np.diff(key[order]) != 0
            rows = np.asarray(found["n"], dtype=np.int64)[order]
            yield GroupCounts(sorted(texts), np.flatnonzero(begins), values[order], rows)


# -- files ---------------------------------------------------------------------------------------


def parts_of(path: Path) -> tuple[Path, ...]:
    """The files of a release: itself, or the parts of a folder in the order of their names."""
    parts = tuple(sorted(path.iterdir())) if path.is_dir() else (path,)
    if not parts:
        raise CertificateError(f"{path} has no parts")
    return parts


def undefuse(cell: str) -> str:
    """Take away the apostrophe that kept a spreadsheet from running a cell."""
    return cell[1:] if _DEFUSED.match(cell) else cell


@contextmanager
def _database(kind: str) -> Iterator[DuckDBPyConnection]:
    """A connection with temporary tables of its own; what goes wrong with it is one sentence."""
    import duckdb

    # Made once: that takes as long as a small release does. No other process can use it.
    shared, _ = _shared(os.getpid(), tempfile.gettempdir())
    try:
        with shared.cursor() as database:
            interrupt_with_us(database)
            # In a shell DuckDB would draw one over whatever is shown there.
            database.execute("SET enable_progress_bar = false")
            yield database
    except duckdb.OutOfMemoryException:
        raise OSError(
            "measuring it takes more memory or temporary disk than there is; set TMPDIR to a "
            "larger disk"
        ) from None
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        if "No space left" in reason or '"errno":"28"' in reason:
            raise OSError(
                "the disk for temporary files is full; set TMPDIR to a larger one"
            ) from None
        raise CertificateError(f"it is not a readable {kind} file: {reason}") from None


@cache
def _shared(process: int, temporary: str) -> tuple[DuckDBPyConnection, ScratchFolder]:
    """The database of this process that files are read with, and the folder that it spills to."""
    import duckdb

    scratch = ScratchFolder()
    config: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": str(scratch.path / "spilled"),
        "memory_limit": _MEMORY,
        "preserve_insertion_order": False,
    }
    atexit.register(_shared.cache_clear)  # while there is still a DuckDB that can close it
    return duckdb.connect(":memory:", config=config), scratch


def _tally(database: DuckDBPyConnection, rows: str, reading: Reading) -> None:
    """Count the measured cells of all rows (c0, c1, …) into the table ``counted``."""
    selected = _measured_cells(reading)
    if reading.stars:  # all columns say which rows are stars
        stars = [
            f"c{i}::VARCHAR IS NOT DISTINCT FROM '{_STAR}'" for i in range(len(reading.header))
        ]
        selected += f", {' AND '.join(stars)} AS starred"
    database.execute(
        f"CREATE TEMP TABLE counted AS SELECT {selected}, count(*) AS n FROM {rows} GROUP BY ALL"
    )


def _measured_cells(reading: Reading) -> str:
    places = map(reading.header.index, reading.measured)
    return ", ".join(f"c{place}::VARCHAR AS m{i}" for i, place in enumerate(places))


def _tally_csv(database: DuckDBPyConnection, parts: Sequence[Path], reading: Reading) -> None:
    """Count the cells of CSV files, of which there is one strict reading, whatever their size."""
    import duckdb

    for part in parts:
        next(rows_of(part, reading.header, defused=reading.defused), None)  # refuses other columns
    plain = look_at(parts, FileForm(delimiter=","))
    if plain is not None:
        names = [f"c{i}" for i in range(len(reading.header))]
        columns = ", ".join(f"{name}: 'VARCHAR'" for name in names)
        try:
            _tally(
                database,
                f"read_csv({_places(parts)}, auto_detect = false, header = true, delim = ',', "
                f"quote = '\"', escape = '\"', strict_mode = true, columns = {{{columns}}}, "
                f"force_not_null = {names})",
                reading,
            )
            counted = database.execute("SELECT coalesce(sum(n), 0) FROM counted").fetchall()
            if counted[0][0] == plain[2]:
                return
            database.execute("DROP TABLE counted")
        except duckdb.InvalidInputException:
            pass  # a line that is longer than DuckDB takes
    columns = ", ".join(f"c{i} VARCHAR" for i in range(len(reading.header)))
    database.execute(f"CREATE TEMP TABLE fed ({columns})")
    for part in parts:
        rows = rows_of(part, reading.header, defused=reading.defused)
        while block := list(islice(rows, _FED)):
            _feed(database, "fed", zip(*block, strict=True))
    _tally(database, "fed", reading)
    database.execute("DROP TABLE fed")


def rows_of(path: Path, header: Sequence[str], *, defused: bool = False) -> Iterator[list[str]]:
    """Parse a CSV file of these columns strictly, row by row."""
    try:
        with long_fields(), path.open(encoding="utf-8", newline="") as stream:
            rows = csv.reader(stream, strict=True)
            _check_header(next(rows, []), header, defused)
            for row in rows:
                if len(row) != len(header):
                    raise CertificateError(
                        f"the row that ends in line {rows.line_num} has {len(row)} cells instead "
                        f"of {len(header)}"
                    )
                yield row
    except (csv.Error, UnicodeDecodeError) as error:
        raise CertificateError(f"it is not a readable CSV file: {error}") from None


def _check_header(found: Sequence[str], header: Sequence[str], defused: bool) -> None:
    found = [*map(undefuse, found)] if defused else found
    if [*found] != [*header]:
        raise CertificateError(f"its columns are {', '.join(found)} instead of {', '.join(header)}")


def _feed(database: DuckDBPyConnection, table: str, columns: Iterable[Sequence[object]]) -> None:
    """Add rows to a table, given column by column."""
    arrays = {f"a{i}": np.array(column, dtype=object) for i, column in enumerate(columns)}
    database.register("given", arrays)
    database.execute(f"INSERT INTO {table} SELECT * FROM given")
    database.unregister("given")


def _of_parquet(database: DuckDBPyConnection, parts: Sequence[Path], reading: Reading) -> _Cells:
    """Count the cells of Parquet files; columns are read one by one."""
    # Columns go by position, since DuckDB takes names that differ in case for the same.
    names = ", ".join(f"c{i}" for i in range(len(reading.header)))
    rows = f"read_parquet({_places(parts)}, hive_partitioning = false) AS t({names})"
    types = _types(database, parts[0])
    for part in parts:
        schema = database.execute(f"SELECT name FROM parquet_schema({_places([part])})")
        names_here = [name for (name,) in schema.fetchall()[1:]]
        _check_header(names_here, reading.header, reading.defused)
        # DuckDB would make them the first one's, by which different cells become the same.
        if (own := _types(database, part)) != types:
            place = next(i for i, kind in enumerate(types) if own[i] != kind)
            raise CertificateError(
                f"column {reading.header[place]!r} holds {own[place]} in {part.name} and "
                f"{types[place]} in {parts[0].name}; all parts must have the same types"
            )
    spelled = {
        name: _spellings(database, kind, facts)
        for name, facts in reading.sensitive.items()
        if (kind := types[reading.header.index(name)]) != "VARCHAR"
    }
    if reading.stars:
        _tally(database, rows, reading)
        return _Cells(database, reading, spelled=spelled)
    return _Cells(database, reading, f"(SELECT {_measured_cells(reading)} FROM {rows})", spelled)


def _places(parts: Sequence[Path]) -> str:
    """Paths in SQL, where they are globs: brackets make their special characters plain."""
    plain = [re.sub(r"([*?[])", r"[\1]", str(part.absolute())) for part in parts]
    return "[" + ", ".join("'" + path.replace("'", "''") + "'" for path in plain) + "]"


def _types(database: DuckDBPyConnection, part: Path) -> list[str]:
    """Types of the columns of a Parquet file, as DuckDB calls them."""
    described = database.execute(f"DESCRIBE FROM read_parquet({_places([part])})").fetchall()
    return [row[1] for row in described]


def _spellings(database: DuckDBPyConnection, kind: str, facts: SensitiveFacts) -> dict[str, str]:
    """Find how a type spells the table's values: floats may have 39.0 for 39."""
    # Values that are not in the file may not fit its type: 3.5 becomes 4 among whole numbers. What
    # is rounded has a longer text than what is not, which comes last.
    shown = database.execute(
        f"SELECT TRY_CAST(value AS {kind})::VARCHAR, value "
        "FROM (SELECT unnest(?::VARCHAR[]) AS value) ORDER BY length(value) DESC",
        [list(facts.rows)],
    )
    return dict(shown.fetchall())
