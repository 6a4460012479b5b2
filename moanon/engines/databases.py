"""Rows of a database or a cluster, through ibis.

Whatever ibis connects to is asked the same way: the distinct values of a column with their counts,
and counts of tuples, after a join with small tables of codes. Rows come back only where a file of
them is asked for, labelled and without those that are suppressed.

A password is never part of a configuration: ``${NAME}`` in the address is taken from the
environment, or the database's own client knows it (PGPASSWORD, ``~/.pgpass``, a service file).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from moanon.arrays import Bools, Ints, Values
from moanon.data.cell_reading import CellReading
from moanon.data.column import (
    TEXT,
    ZONED_TIME,
    Column,
    absent_column,
    refuse_bad_names,
    typed_column,
)
from moanon.data.rows import Labelling, RowOrder
from moanon.data.table import digest_of_columns
from moanon.engines.addresses import Address, Database, TableName, unused_name
from moanon.engines.duck import DuckSession, copy_rows, in_quotes, is_formula_sql
from moanon.engines.replacing import catalogue_of
from moanon.engines.stores import RowsElsewhere, codes_of
from moanon.errors import CertificateError, DataError, MoanonError, OutputError

#: Digits of a second that a TIMESTAMP has.
_MICROSECONDS = 6
#: So many rows come from Spark at a time.
_SPARK_ROWS = 50_000


def open_database(
    address: Address, names: Sequence[str] | None, *, reading: CellReading, memory: str | None
) -> tuple[RowsInDatabase, tuple[str, ...]]:
    """Open columns of a table; given are also the names of all its columns."""
    database = Database(address)
    rows = database.rows()
    header = tuple(rows.columns)
    names = header if names is None else names
    refuse_bad_names(str(address), header)
    for name in (*names, *address.order_by):
        if name not in header:
            raise absent_column(str(address), name, header)
    ordered = [name for name in header if name in set(names)]
    return RowsInDatabase(database, rows, ordered, reading, memory), header


class RowsInDatabase(RowsElsewhere):
    """Rows that a database or a cluster has."""

    def __init__(
        self,
        database: Database,
        rows: Any,
        names: Sequence[str],
        reading: CellReading,
        memory: str | None,
    ) -> None:
        super().__init__(names)
        self.database = database
        self._rows = rows
        self._exact = _ExactColumns(database, rows)
        self._reading = reading
        self._memory = memory
        self._raw: dict[str, Any] = {}  # of each column the array of its distinct values

    @property
    def unlisted(self) -> bool:
        """Whether files may be read besides that of the database: by a view or by a query."""
        reads_files = self.database.connection.name in ("duckdb", "pyspark", "datafusion", "polars")
        return reads_files and catalogue_of(self.database, self._rows).reads() is None

    def digest(self, names: Sequence[str]) -> str:
        """Give the digest of the values of some columns, with their counts."""
        columns = []
        for name in sorted(names):
            column, rows = self.distinct(name)
            counts = np.zeros(len(column.values) + 1, dtype=np.int64)
            np.add.at(counts, codes_of(column), rows)
            columns.append((name, column.values, counts))
        return digest_of_columns(columns)

    def look_up(self, name: str) -> tuple[Column, Ints]:
        import pyarrow as pa

        with self.database.reporting("cannot be read"):
            raw, counts = self._exact.distinct(name)
            present = raw.is_valid().to_numpy(zero_copy_only=False)
            self._raw[name] = raw.filter(pa.array(present))
            values = self._exact.values(name, self._raw[name])
        nothing = int(counts[~present].sum())
        numbers = np.arange(len(values), dtype=np.int32)
        typed = typed_column(str(self.database.address), name, values, numbers)
        return self._reading.read(typed), np.append(counts[present], nothing).astype(int)

    def tally(
        self, codes: Mapping[str, Ints], left_out: Mapping[str, Bools]
    ) -> tuple[Values, Ints]:
        with self.database.reporting("cannot be read"):
            joined = self._joined(codes, left_out, {})
            keys = [f"code{i}" for i in range(len(codes))]
            found = joined.group_by(keys).aggregate(n=joined.count()).to_pyarrow()
        tuples = np.stack([found[key].to_numpy() for key in keys]).astype(np.int64)
        order = np.lexsort(tuples[::-1])
        return tuples[:, order], found["n"].to_numpy().astype(np.int64)[order]

    def find(self, codes: Mapping[str, Ints], tuples: Values) -> tuple[Ints, Ints]:
        raise self._single_rows()

    def column(self, name: str) -> Column:
        raise self._single_rows()

    def _single_rows(self) -> DataError:
        return DataError(
            f"{self.database.address} is a database, and this question is one about single rows, "
            "which stay there; write the table to a file and ask about that"
        )

    def _joined(
        self,
        codes: Mapping[str, Ints],
        left_out: Mapping[str, Bools],
        others: Mapping[str, Any],
    ) -> Any:
        """Rows that are not left out: a code of each column, and other columns."""
        import ibis
        import pyarrow as pa

        names = list(dict.fromkeys([*codes, *left_out]))
        kept = list(others)
        rows = self._rows.select(
            **{f"v{i}": self._exact[name] for i, name in enumerate(names)}, **others
        )
        for i, name in enumerate(names):
            number = len(self.distinct(name)[1])
            nothing = np.zeros(number, dtype=bool)
            given = {
                f"code{i}": codes.get(name, np.zeros(number, dtype=np.int64)),
                f"left{i}": left_out.get(name, nothing),
            }
            values = {key: pa.array(each[:-1]) for key, each in given.items()}
            table = ibis.memtable(pa.table({"w": self._raw[name], **values}))
            rows = rows.left_join(table, rows[f"v{i}"] == table.w)
            kept += given
            rows = rows.select(
                *(key for key in rows.columns if key in kept and key not in given),
                *(f"v{j}" for j in range(i + 1, len(names))),
                **{key: rows[key].fill_null(each[-1].item()) for key, each in given.items()},
            )
        rows = _plain(rows)
        for i, name in enumerate(names):
            if name in left_out:
                rows = rows.filter(~rows[f"left{i}"])
        return rows

    # -- releases --------------------------------------------------------------------------------

    def labelled(self, labelling: Labelling, others: Mapping[str, Any], typed: bool) -> Any:
        """The released rows as an expression: its columns c0, c1, … in order, and others.

        Columns that are neither quasi-identifying nor sensitive stay in their types if `typed`.
        """
        import ibis
        import pyarrow as pa

        if labelling.stars:
            raise OutputError("suppressed rows of a database are left out, not shown as stars")
        codes = {name: code[self.value_of(name)] for name, code in labelling.codes.items()}
        own = [name for name in labelling.columns if name not in labelling.labels]
        places = {name: f"own{i}" for i, name in enumerate(own)}
        values = {place: self._exact[name] for name, place in places.items()}
        rows = self._joined(codes, self._left_out, {**values, **others})
        # Not every database has numbers without a sign, which codes of cells are.
        keys = {f"key{i}": pa.array(part.astype(int)) for i, part in enumerate(labelling.tuples)}
        labels = {}
        for i, (texts, numbers) in enumerate(labelling.labels.values()):
            written = np.array([self._rewritten(labelling)(text) for text in texts], dtype=object)
            labels[f"label{i}"] = pa.array(written[numbers], pa.string())
        table = ibis.memtable(pa.table({**keys, **labels}))
        same = [(f"code{i}", f"key{i}") for i in range(len(codes))]
        rows = _plain(rows.inner_join(table, same))
        as_texts = [
            name
            for name in own
            if name in labelling.gaps
            or labelling.rewrite is not None
            or (self._reading.normalize and self._rows[name].type().is_string())
            or not (typed or self._rows[name].type().is_string())
        ]
        for name in as_texts:
            rows = self._with_texts(rows, name, places[name], labelling)
        shown: dict[str, Any] = {}
        for place, name in enumerate(labelling.columns):
            if name in labelling.labels:
                column = rows[f"label{list(labelling.labels).index(name)}"]
            elif name in as_texts:
                column = rows[f"text_{places[name]}"]
                if name in labelling.gaps:
                    column = column.fill_null(self._rewritten(labelling)(labelling.gaps[name]))
            else:
                column = rows[places[name]]
                if self._reading.tokens and column.type().is_string():
                    tokens = sorted(self._reading.tokens)
                    column = ibis.ifelse(column.isin(tokens), ibis.null("string"), column)
            shown[f"c{place}"] = column
        return rows.select(**shown, **{key: rows[key] for key in others})

    def _with_texts(self, rows: Any, name: str, own: str, labelling: Labelling) -> Any:
        """Bring to rows what each distinct value of a column looks like."""
        import ibis
        import pyarrow as pa

        profile, value_of = self.numbered(name)
        rewritten = self._rewritten(labelling)
        texts = [None if i < 0 else rewritten(profile.values[i]) for i in value_of[:-1].tolist()]
        table = ibis.memtable(
            pa.table({f"of_{own}": self._raw[name], f"text_{own}": pa.array(texts, pa.string())})
        )
        return _plain(rows.left_join(table, rows[own] == table[f"of_{own}"]))

    @staticmethod
    def _rewritten(labelling: Labelling) -> Callable[[str], str]:
        return labelling.rewrite or str

    def write(
        self, labelling: Labelling, path: Path, spell: Callable[[str | None], str] | None
    ) -> tuple[int, RowOrder]:
        order = {f"order{i}": self._rows[n] for i, n in enumerate(self.database.address.order_by)}
        session = DuckSession(str(self.database.address), self._memory)
        with self.database.reporting("cannot be read"):
            rows = self.labelled(labelling, order, typed=False)
            for number, (batch, query) in enumerate(self._batches(rows)):
                session.database.register("batch", batch)
                insert = "INSERT INTO fetched" if number else "CREATE TEMP TABLE fetched AS"
                session.execute(f"{insert} {query}").fetchall()
                session.database.unregister("batch")
        texts = [f"c{i}::VARCHAR" for i in range(len(labelling.columns))]
        cells = list(map(in_quotes, texts)) if spell else texts
        types = [self._sql_type(name, labelling) for name in labelling.columns]
        by = ", ".join([*order] or [f"c{i} NULLS FIRST" for i in range(len(texts))])
        copy = copy_rows("fetched", cells, types, labelling, path, spell, order_by=by)
        session.write(copy, path)
        kept = labelling.row_order if order or labelling.shuffle is not None else "sorted"
        texts = [
            f"c{i}"
            for i, name in enumerate(labelling.columns)
            if name not in labelling.labels
            and name not in labelling.gaps
            and self._rows[name].type().is_string()
        ]
        runs = [is_formula_sql(text) for text in texts]
        if labelling.rewrite is not None:  # an apostrophe stands before them
            runs = [
                f"starts_with({t}, chr(39)) AND {is_formula_sql(f'substr({t}, 2)')}" for t in texts
            ]
        counts = [f"SELECT count(*) FROM fetched WHERE {each}" for each in runs]
        found = sum(int(session.value(count)) for count in counts)
        return found, kept

    def _batches(self, rows: Any) -> Iterator[tuple[Any, str]]:
        """Fetch rows part by part, each with the SQL that makes rows of it (``batch``)."""
        connection = self.database.connection
        every = "SELECT * FROM batch"
        if connection.name == "pyspark":
            yield from self._spark_batches(rows)
        elif connection.name != "duckdb":
            yield from ((batch, every) for batch in rows.to_pyarrow_batches())
        else:  # not every version of ibis knows how the versions of DuckDB call that
            name = unused_name()
            connection.create_table(name, obj=rows, temp=True)
            try:
                found = connection.con.sql(f"SELECT * FROM temp.{name}")
                is_new = hasattr(found, "to_arrow_reader")
                reader = found.to_arrow_reader() if is_new else found.fetch_arrow_reader()
                yield from ((batch, every) for batch in reader)
            finally:
                self.database.run(f"DROP TABLE temp.{name}")

    def _spark_batches(self, rows: Any) -> Iterator[tuple[Any, str]]:
        """Fetch rows of Spark: those that show the same once, with their number.

        They come part by part, because Spark holds a part as a whole where it hands it out. Texts
        are compared by their bytes, since a column may have a collation.
        """
        import pyarrow as pa

        texts = [name for name in rows.columns if rows[name].type().is_string()]
        exact = rows.mutate(**{name: rows[name].cast("binary") for name in texts})
        counted = exact.group_by(list(exact.columns)).aggregate(n=exact.count())
        counted = counted.mutate(**{name: counted[name].cast("string") for name in texts})
        schema, view = counted.schema().to_pyarrow(), unused_name()
        names = ", ".join(rows.columns)
        shown = f"SELECT {names} FROM (SELECT *, unnest(range(n)) FROM batch)"
        connection = self.database.connection
        connection.create_view(view, counted)
        try:
            parts = -(-self.count_all() // _SPARK_ROWS)
            frame = connection.raw_sql(f"SELECT * FROM {view}").repartition(parts)
            found = frame.toLocalIterator()
            yield pa.Table.from_batches([], schema), shown  # where there is nothing else
            while block := list(islice(found, _SPARK_ROWS)):
                columns = zip(zip(*block, strict=True), schema, strict=True)
                arrays = [pa.array(cells, field.type) for cells, field in columns]
                yield pa.table(arrays, schema=schema), shown
        finally:
            self.database.run(f"DROP VIEW {view}")

    def _sql_type(self, name: str, labelling: Labelling) -> str:
        """Type of a column in a file, by its schema and by no row."""
        kind = self._rows[name].type()
        if name in labelling.labels or name in labelling.with_gaps:
            return TEXT
        if kind.is_timestamp() and kind.timezone is None:
            return "TIMESTAMP_NS" if (kind.scale or 0) > _MICROSECONDS else "TIMESTAMP"
        known = {
            "UBIGINT": kind.is_uint64(),
            "BIGINT": kind.is_integer(),
            "DOUBLE": kind.is_floating(),
            "BOOLEAN": kind.is_boolean(),
            "DATE": kind.is_date(),
            ZONED_TIME: kind.is_timestamp(),
        }
        return next((sql_type for sql_type, is_such in known.items() if is_such), TEXT)

    @contextmanager
    def new_table(self, labelling: Labelling, name: str, force: bool) -> Iterator[Address]:
        """Write the rows that are shown into a new table of the same database.

        It is written under a name that nobody can guess, and gets its own when the block ends; if
        something goes wrong there, nothing is left.
        """
        database, new = self.database, TableName.of_new(name)
        catalogue = catalogue_of(database, self._rows)

        def failing() -> AbstractContextManager[None]:
            return database.reporting(f"takes no table {name!r}", OutputError)

        with failing():
            catalogue.check(new, force)
            place = replace(catalogue.resolved(new), name=unused_name())
            rows = self.labelled(labelling, {}, typed=True)
            named = {shown: rows[f"c{i}"] for i, shown in enumerate(labelling.columns.values())}
            within = {} if place.schema is None else {"database": place.schema}
        try:
            with failing():
                shown = rows.select(**named).order_by(self._random())
                database.connection.create_table(place.name, obj=shown, **within)
            yield replace(database.address, table=str(place), query=None)
            with failing():
                catalogue.take(place.name, new, force)
        except BaseException as error:
            if not self._is_cleared(place) and isinstance(error, MoanonError):
                raise type(error)(f"{error}; the table {place} may be left: drop it") from None
            raise

    def _random(self) -> Any:
        """What sorts rows at random: where they stand must not show where they stood."""
        import ibis

        # Of the numbers that DuckDB draws some are equal, and such rows keep their order.
        return ibis.uuid() if self.database.connection.name == "duckdb" else ibis.random()

    def _is_cleared(self, place: TableName) -> bool:
        """Remove a table that was written in vain, over another connection if this one is lost."""
        for is_lost in (False, True):
            with suppress(Exception):
                database = Database(self.database.address) if is_lost else self.database
                catalogue_of(database, self._rows).clear(place)
                return True
        return False


def _plain(joined: Any) -> Any:
    """A join as a table of its own: ibis would go on with the join where it cannot."""
    return joined.select(*joined.columns).view()


def count_cells(
    address: Address, header: tuple[str, ...], measured: Sequence[str]
) -> dict[tuple[str | None, ...], int]:
    """Count the tuples of some columns of a released table, for the certificate's reader.

    Nothing that wrote the table is used: the connection is a new one.
    """
    database = Database(address)
    rows = database.rows()
    if tuple(rows.columns) != header:
        raise CertificateError(
            f"its columns are {', '.join(rows.columns)} instead of {', '.join(header)}"
        )
    with database.reporting("cannot be read back", CertificateError):
        cells = rows.select(**{f"m{i}": rows[name] for i, name in enumerate(measured)})
        found = cells.group_by(list(cells.columns)).aggregate(n=cells.count()).to_pyarrow()
    columns = [found[f"m{i}"].to_pylist() for i in range(len(measured))]
    return dict(zip(zip(*columns, strict=True), found["n"].to_pylist(), strict=True))


# -- columns, compared exactly ---------------------------------------------------------------------


#: Columns of a table of PostgreSQL whose texts are equal although they differ: by a collation
#: (before version 12 there was none such) or by their type.
_LOOSE = """
    SELECT a.attname FROM pg_attribute a
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_type base ON base.oid = t.typbasetype
    LEFT JOIN pg_collation c ON c.oid = a.attcollation
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped AND (
        NOT coalesce((to_jsonb(c) ->> 'collisdeterministic')::boolean, true)
        OR 'citext' IN (t.typname, base.typname)
    )
"""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?")
_INSTANT = re.compile(rf"{_DAY.pattern}([ T]{_TIME.pattern}(Z|[+-]\d\d:\d\d)?)?")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?", re.IGNORECASE)


class _ExactColumns:
    """Columns of a source, an expression of ibis, so that equal values are the same ones.

    A collation may take HIV and hiv for one value, or texts that differ in the blanks at their end.
    The spelling that such a group shows may be that of a row that is suppressed. So texts are
    compared by their bytes; a column of which that cannot be had is refused.

    SQLite keeps in a column whatever is put there, and dates, times and decimal numbers as texts or
    numbers of any form. They are compared as they are stored, and become what they are declared as
    only here. A value that the database would not find again is refused: it must not become a
    missing one.
    """

    def __init__(self, database: Database, rows: Any) -> None:
        self._database, self._rows = database, rows
        self._backend = database.connection.name

    def __getitem__(self, name: str) -> Any:
        """Give the column as it is to be grouped, joined and shown."""
        import ibis

        column = self._rows[name]
        kind = column.type()
        if self._backend == "sqlite":
            if kind.is_string():
                return column + ""  # an expression has no collation
            return column.cast("string") + "" if self._parser(name) else column
        if self._backend == "postgres" and name in self._loose:
            return _from_bytes_in_postgres(column.cast("string"))
        if self._backend == "duckdb" and kind.is_string():
            return _from_bytes_in_duckdb(column)
        if kind.is_floating():  # a number that is none is no value; SQLite has no such number
            return ibis.ifelse(column.isnan(), ibis.null(kind), column + 0.0)
        return column

    @cached_property
    def _loose(self) -> frozenset[str]:
        """Columns in PostgreSQL of which different texts can be equal."""
        connection = self._database.connection
        with connection.con.cursor() as cursor:
            cursor.execute(connection.compile(self._rows.limit(0)))
            table = cursor.pgresult.ftable(0)
            return frozenset(name for (name,) in cursor.execute(_LOOSE, [table]).fetchall())

    def _parser(self, name: str) -> Callable[[str], Any] | None:
        """What makes values of texts that SQLite holds; None if it is not asked for texts."""
        kind = self._rows[name].type()
        if kind.is_date():
            return _parser(_DAY, date.fromisoformat)
        if kind.is_timestamp():
            return _parser(_INSTANT, datetime.fromisoformat)
        if kind.is_time():
            return _parser(_TIME, time.fromisoformat)
        if kind.is_decimal():
            return _parser(_NUMBER, Decimal)
        # Null: where nothing is declared, and the first is missing.
        return str if kind.is_null() else None

    def distinct(self, name: str) -> tuple[Any, Ints]:
        """Give the distinct values of a column as the database has them, and rows of each."""
        rows = self._rows.select(v=self[name])
        grouped = rows.group_by("v").aggregate(n=rows.count())
        if self._backend == "sqlite":
            return self._stored(name, grouped)
        found = grouped.to_pyarrow()
        return found["v"].combine_chunks(), found["n"].to_numpy()

    def _stored(self, name: str, grouped: Any) -> tuple[Any, Ints]:
        """Ask SQLite itself: by ibis, a whole number beside a missing one becomes a float."""
        import pyarrow as pa

        connection, kind = self._database.connection, self[name].type()
        found = connection.con.execute(connection.compile(grouped)).fetchall()
        values = [value for value, _ in found]
        for fits, make in ((kind.is_integer(), _whole), (kind.is_boolean(), _truth),
                           (kind.is_floating(), _float)):  # fmt: skip
            if fits:
                values = [v if v is None else self._parsed(name, make, v) for v in values]
        return pa.array(values), np.array([count for _, count in found], dtype=np.int64)

    def values(self, name: str, raw: Any) -> list[Any]:
        """Give what the distinct values of a column are, of an array of what the database has.

        Refused if the database takes different ones for the same, or does not find them again.
        """
        texts: list[Any] = raw.to_pylist()
        kind = self._rows[name].type()
        if self._backend == "sqlite":
            parse = self._parser(name)
            return [self._parsed(name, parse, text) for text in texts] if parse else texts
        if kind.is_string():
            if self._backend not in ("postgres", "duckdb"):
                self._refuse_united(name, texts)
        elif not kind.is_integer():
            self._refuse_lost(name, raw)
        return texts

    def _parsed(self, name: str, parse: Callable[[Any], Any], stored: object) -> Any:
        try:
            return parse(stored)
        except ValueError:
            raise self._unfit(name, str(stored)) from None

    def _refuse_united(self, name: str, texts: list[str]) -> None:
        """Refuse a column in which a text equals the same one in other letters or with a blank."""
        text = next((text for text in texts if text.swapcase() != text), None)
        if text is None:
            return
        v = self[name]
        same = (v == text) & ((v == text.swapcase()) | (v == f"{text} "))
        if self._rows.filter(same).limit(1).count().to_pyarrow().as_py():
            raise DataError(
                f"{self._database.address}: column {name!r} has a collation that takes texts for "
                "the same which differ in case or in blanks at the end; name a query that gives it "
                "one by bytes"
            )

    def _refuse_lost(self, name: str, raw: Any) -> None:
        """Refuse a column that holds what equals none of the values that came of it."""
        import ibis
        import pyarrow as pa

        rows = self._rows.select(v=self[name])
        known = ibis.memtable(pa.table({"w": raw}))
        lost = rows.filter(rows.v.notnull()).anti_join(known, rows.v == known.w)
        found = lost.limit(1).select(text=lost.v.cast("string")).to_pyarrow()["text"].to_pylist()
        if found:
            raise self._unfit(name, found[0])

    def _unfit(self, name: str, text: str) -> DataError:
        return DataError(
            f"{self._database.address}: column {name!r} is declared {self._rows[name].type()} and "
            f"holds {text!r}, which is none; name a query that reads it as text, or mend the value"
        )


def _parser(form: re.Pattern[str], make: Callable[[str], Any]) -> Callable[[str], Any]:
    """Make values of texts of one form alone: Python's own functions take more, and cut some."""

    def parse(text: str) -> Any:
        if form.fullmatch(text) is None:
            raise ValueError(text)
        return make(text)

    return parse


def _whole(stored: object) -> int:
    if not isinstance(stored, int):
        raise ValueError(stored)
    return stored


def _truth(stored: object) -> bool:
    if stored not in (0, 1):
        raise ValueError(stored)
    return bool(stored)


def _float(stored: object) -> float:
    if not isinstance(stored, int | float) or float(stored) != stored:
        raise ValueError(stored)
    return float(stored)


def _from_bytes_in_duckdb(column: Any) -> Any:
    """A text without its collation, which goes with any other function."""
    from ibis import udf

    encode = udf.scalar.builtin(lambda text: text, name="encode", signature=(("string",), "binary"))
    decode = udf.scalar.builtin(
        lambda given: given, name="decode", signature=(("binary",), "string")
    )
    return decode(encode(column))


def _from_bytes_in_postgres(column: Any) -> Any:
    """A text in the collation of the database, where different texts differ."""
    from ibis import udf

    takes, name = ("string", "string"), "convert_to"
    encode = udf.scalar.builtin(lambda text, code: text, name=name, signature=(takes, "binary"))
    takes, name = ("binary", "string"), "convert_from"
    decode = udf.scalar.builtin(lambda given, code: given, name=name, signature=(takes, "string"))
    return decode(encode(column, "UTF8"), "UTF8")
