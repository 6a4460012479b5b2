"""Counting the cells of large released files, by DuckDB out of core; for the reader.

The distinct tuples of a file's labels and sensitive values may be as many as its rows. They stay in
a temporary table that DuckDB keeps on the disk where memory ends, and come from there some groups
at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from moanon.ending import ScratchFolder, interrupt_with_us
from moanon.errors import CertificateError
from moanon.release.reader_privacy import GroupCounts, SensitiveFacts, worse, worst_privacy
from moanon.release.reading import Counted, Reading, Spelled

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Written here again on purpose: a promise about a released file, not about its writer.
_STAR = "*"
#: What DuckDB may hold before it spills.
_MEMORY = "200MB"
#: So many tuples come back at a time.
_TUPLES = 1 << 19
#: Keys of tuples stay below this.
_KEY_LIMIT = 2**62


@contextmanager
def count_csv(parts: Sequence[Path], reading: Reading) -> Iterator[Counted]:
    """Count the cells of CSV files whose headers were looked at."""
    names = [f"c{i}" for i in range(len(reading.header))]
    columns = ", ".join(f"{name}: 'VARCHAR'" for name in names)
    table = (
        f"read_csv({_places(parts)}, auto_detect = false, header = true, delim = ',', "
        f"quote = '\"', escape = '\"', strict_mode = true, columns = {{{columns}}}, "
        f"force_not_null = {names})"
    )
    with _database("CSV") as database:
        yield CellsInDatabase(database, table, reading, {}, by_column=False)


@contextmanager
def count_parquet(parts: Sequence[Path], reading: Reading) -> Iterator[Counted]:
    """Count the cells of Parquet files."""
    # Columns go by position, since DuckDB takes names that differ in case for the same.
    names = ", ".join(f"c{i}" for i in range(len(reading.header)))
    table = f"read_parquet({_places(parts)}, hive_partitioning = false) AS t({names})"
    with _database("Parquet") as database:
        types = _types(database, parts[0])
        for part in parts:
            schema = database.execute(f"SELECT name FROM parquet_schema({_places([part])})")
            reading.check_header([name for (name,) in schema.fetchall()[1:]])
            # DuckDB would make them the first one's, by which different cells become the same.
            if (own := _types(database, part)) != types:
                place = next(i for i, kind in enumerate(types) if own[i] != kind)
                raise CertificateError(
                    f"column {reading.header[place]!r} holds {own[place]} in {part.name} and "
                    f"{types[place]} in {parts[0].name}; all parts must have the same types"
                )
        spelled = _spellings(database, table, reading)
        yield CellsInDatabase(database, table, reading, spelled, by_column=True)


@contextmanager
def _database(kind: str) -> Iterator[DuckDBPyConnection]:
    """A database that spills to a folder of its own, and what goes wrong with it as a sentence."""
    import duckdb  # here, because a small CSV must not wait for it

    with ScratchFolder() as scratch:
        config: dict[str, str | bool | int | float | list[str]] = {
            "temp_directory": str(scratch.path / "spilled"),
            "memory_limit": _MEMORY,
            "preserve_insertion_order": False,
        }
        try:
            with duckdb.connect(":memory:", config=config) as database:
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


def _places(parts: Sequence[Path]) -> str:
    """Paths in SQL, where they are globs: brackets make their special characters plain."""
    plain = [re.sub(r"([*?[])", r"[\1]", str(part.absolute())) for part in parts]
    return "[" + ", ".join("'" + path.replace("'", "''") + "'" for path in plain) + "]"


def _types(database: DuckDBPyConnection, part: Path) -> list[str]:
    """Types of the columns of a Parquet file, as DuckDB calls them."""
    described = database.execute(f"DESCRIBE FROM read_parquet({_places([part])})").fetchall()
    return [row[1] for row in described]


def _spellings(database: DuckDBPyConnection, table: str, reading: Reading) -> Spelled:
    """Find how the types of a file spell the table's values: floats may have 39.0 for 39."""
    types = [row[1] for row in database.execute(f"DESCRIBE FROM {table}").fetchall()]
    spelled = {}
    for name, facts in reading.sensitive.items():
        sql_type = types[reading.header.index(name)]
        if sql_type != "VARCHAR":
            # Values that are not in the file may not fit its type: 3.5 becomes 4 among whole
            # numbers. What is rounded has a longer text than what is not, which comes last.
            shown = database.execute(
                f"SELECT TRY_CAST(value AS {sql_type})::VARCHAR, value "
                "FROM (SELECT unnest(?::VARCHAR[]) AS value) ORDER BY length(value) DESC",
                [list(facts.rows)],
            )
            spelled[name] = dict(shown.fetchall())
    return spelled


class CellsInDatabase(Counted):
    """Tuples of cells that DuckDB has counted.

    Parameters
    ----------
    database : connection
    table : str
        SQL of the file, its columns named by their places.
    reading : Reading
    spelled : mapping
        As `Spelled`.
    by_column : bool
        Whether columns of the file can be read one by one. If not, it is read once, and its
        distinct tuples stand for it.
    """

    def __init__(
        self,
        database: DuckDBPyConnection,
        table: str,
        reading: Reading,
        spelled: Spelled,
        *,
        by_column: bool,
    ) -> None:
        self._database, self.spelled = database, spelled
        self._quasi = [f"m{i}" for i in range(len(reading.quasi))]
        names = [*reading.quasi, *reading.sensitive]
        self._columns = {name: f"m{i}" for i, name in enumerate(names)}
        self._codes: dict[str, dict[str | None, int]] = {}
        pairs = zip(self._columns.values(), reading.measured, strict=True)
        cells = ", ".join(f"c{place}::VARCHAR AS {column}" for column, place in pairs)
        self._tuples, self._rows = f"(SELECT {cells} FROM {table})", "count(*)"
        stars = " AND ".join(
            f"c{i}::VARCHAR IS NOT DISTINCT FROM '{_STAR}'" for i in range(len(reading.header))
        )
        if reading.stars or not by_column:  # all columns tell which rows are stars
            kept = f"NOT ({stars})" if reading.stars else "true"
            database.execute(
                f"CREATE TEMP TABLE counted AS SELECT {cells}, count(*) AS n FROM {table} "
                f"WHERE {kept} GROUP BY ALL"
            )
            self._tuples, self._rows = "counted", "sum(n)::BIGINT"
        self.cells = {name: self._count(column) for name, column in self._columns.items()}
        if reading.stars:
            (found,) = database.execute(f"SELECT count(*) FROM {table} WHERE {stars}").fetchall()
            self.starred = found[0]

    def _count(self, column: str) -> dict[str | None, int]:
        self._database.execute(
            f"CREATE TEMP TABLE {column}_rows AS "
            f"SELECT {column} AS cell, {self._rows} AS n FROM {self._tuples} GROUP BY 1"
        )
        found = self._database.execute(f"SELECT cell, n FROM {column}_rows ORDER BY 1").fetchall()
        self._codes[column] = {cell: code for code, (cell, _) in enumerate(found)}
        return dict(found)

    @cached_property
    def _keys(self) -> list[str]:
        """Name the keys of groups, after tuples were counted with numbers instead of texts.

        Numbers, because the texts of millions of tuples would take several times as much memory.
        """
        keys, span, columns = [""], 1, []
        for column in self._columns.values():
            cells = self._codes[column]
            self._database.execute(
                f"CREATE TEMP TYPE {column}_cells AS ENUM "
                f"(SELECT cell FROM {column}_rows WHERE cell IS NOT NULL ORDER BY 1)"
            )
            code = f"enum_code({column}::{column}_cells)"
            if column not in self._quasi:
                columns.append(f"{code} AS {column}")
                continue
            code = f"{code}::BIGINT"
            if span * len(cells) > _KEY_LIMIT:
                keys.append("")
                span = 1
            keys[-1] = f"({keys[-1]} * {len(cells)} + {code})" if keys[-1] else code
            span *= len(cells)
        columns += [f"{key} AS k{i}" for i, key in enumerate(keys)]
        self._database.execute(
            f"CREATE TEMP TABLE numbered AS SELECT {', '.join(columns)}, {self._rows} AS n "
            f"FROM {self._tuples} GROUP BY ALL"
        )
        self._database.execute("DROP TABLE IF EXISTS counted")
        return [f"k{i}" for i in range(len(keys))]

    def sizes(self) -> dict[int, int]:
        keys = ", ".join(self._keys)
        return dict(
            self._database.execute(
                "SELECT size, count(*) FROM (SELECT sum(n)::BIGINT AS size FROM numbered "
                f"GROUP BY {keys}) GROUP BY 1"
            ).fetchall()
        )

    def worst_privacy(
        self,
        name: str,
        texts: Mapping[str | None, str],
        besides: Sequence[SensitiveFacts],
        c: Fraction,
    ) -> list[dict[str, float]]:
        column = self._columns[name]
        said = [texts[cell] for cell in self._codes[column]]
        if len(set(said)) < len(said):
            raise CertificateError("two different cells stand for the same value")
        parts = (worst_privacy(part, besides, c) for part in self._counts(column, said))
        return reduce(lambda one, other: list(map(worse, one, other)), parts)

    def _counts(self, column: str, texts: list[str]) -> Iterator[GroupCounts]:
        """Groups with the rows of each value of a sensitive column, some at a time."""
        keys = ", ".join(self._keys)
        ((tuples,),) = self._database.execute("SELECT count(*) FROM numbered").fetchall()
        turns = -(-tuples // _TUPLES)
        for turn in range(turns):
            found = self._database.execute(
                f"SELECT {keys}, {column} AS value, sum(n)::BIGINT AS n FROM numbered "
                f"WHERE hash({keys}) % {turns} = {turn} GROUP BY ALL"
            ).fetchnumpy()
            if not len(found["n"]):
                continue
            by = [np.asarray(found[key]) for key in ("value", *reversed(self._keys))]
            order = np.lexsort(by)
            begins = np.zeros(len(order), dtype=bool)
            begins[0] = True
            for key in by[1:]:
                begins[1:] |= np.diff(key[order]) != 0
            yield GroupCounts(
                texts,
                np.flatnonzero(begins),
                np.asarray(found["value"], dtype=np.int64)[order],
                np.asarray(found["n"], dtype=np.int64)[order],
            )
