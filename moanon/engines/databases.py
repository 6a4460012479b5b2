"""Rows of a database or a cluster, through ibis.

Whatever ibis connects to is asked the same way: the distinct values of a column with their counts,
and counts of tuples, after a join with small tables of codes. Rows come back only where a file of
them is asked for, labelled and without those that are suppressed.

A password is never part of a configuration: ``${NAME}`` in the address is taken from the
environment, or the database's own client knows it (PGPASSWORD, ``~/.pgpass``, a service file).
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from re import Match
from typing import Any
from urllib.parse import quote

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
from moanon.data.source import digest_of_columns
from moanon.engines.addresses import (
    VARIABLE,
    Address,
    TableName,
    connect,
    missing_package,
    refuse_password,
)
from moanon.engines.duck import DuckSession, copy_rows, in_quotes, is_formula_sql
from moanon.engines.exact_columns import ExactColumns
from moanon.engines.replacing import catalogue_of, unused_name
from moanon.engines.stores import DistinctValues, RowsElsewhere
from moanon.errors import CertificateError, DataError, MoanonError, OutputError

#: Digits of a second that a TIMESTAMP has.
_MICROSECONDS = 6
#: So many rows come from Spark at a time.
_SPARK_ROWS = 50_000


class Database:
    """A connection, and what goes wrong with it in one sentence."""

    def __init__(self, address: Address) -> None:
        refuse_password(address.url)
        self.address = address
        self._secrets: list[str] = []
        with self.reporting("cannot be reached"):
            self.connection = connect(VARIABLE.sub(self._variable, address.url))
        if self.connection.name == "postgres":
            weakref.finalize(self, self.connection.con.close)

    def _variable(self, match: Match[str]) -> str:
        value = os.environ.get(match[1])
        if value is None:
            raise DataError(f"the environment variable {match[1]} of the address is not set")
        quoted = quote(value, safe="")  # a password may hold blanks, @ and /
        self._secrets += [quoted, value]
        return quoted

    def rows(self) -> Any:
        """The table or query as an expression of ibis."""
        address = self.address
        with self.reporting("cannot be read"):
            if address.query is not None:
                return self._query(address.query)
            name = TableName.of(address.table or "")
            within = {} if name.schema is None else {"database": name.schema}
            return self.connection.table(name.name, **within)

    def _query(self, query: str) -> Any:
        """A query as a view that goes with the connection.

        The way of ibis to ask for the columns of a query fails with some versions of its own parts.
        """
        if self.connection.name not in ("postgres", "pyspark", "duckdb"):
            return self.connection.sql(query)
        view = unused_name()
        self.run(f"CREATE TEMPORARY VIEW {view} AS {query}")
        return self.connection.table(view)

    def run(self, statement: str) -> None:
        """Run a statement of which nothing comes back."""
        if self.connection.name == "postgres":  # ibis would end the transaction if it fails
            self.connection.con.execute(statement).close()
            return
        done = self.connection.raw_sql(statement)
        # DuckDB gives the connection itself, which is still needed.
        if hasattr(done, "close") and done is not getattr(self.connection, "con", None):
            done.close()

    @contextmanager
    def reporting(self, what: str, error_type: type[Exception] = DataError) -> Iterator[None]:
        """Report whatever the database refuses as one sentence, without anything secret."""
        try:
            with warnings.catch_warnings():
                # Of versions of pandas that its own functions do not know; none is used here.
                warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\.")
                yield
        except (DataError, OutputError):
            raise
        except ImportError as error:
            missing = missing_package(self.address.url, error)
            raise DataError(f"{self.address} {what}: {missing}") from None
        except Exception as error:
            raise error_type(f"{self.address} {what}: {self._reason(error)}") from None

    def _reason(self, error: Exception) -> str:
        if type(error).__name__ == "TableNotFound":
            return f"there is no table {self.address.table!r}"
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[0] if lines else type(error).__name__
        for secret in self._secrets:
            reason = reason.replace(secret, "***")
        return reason.removesuffix(".")


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
        self._exact = ExactColumns(database, rows)
        self._reading = reading
        self._memory = memory
        self._raw: dict[str, Any] = {}  # of each column the array of its distinct values

    def digest(self, names: Sequence[str]) -> str:
        """Give the digest of the values of some columns, with their counts."""
        columns = []
        for name in sorted(names):
            distinct = self.distinct(name)
            counts = np.zeros(len(distinct.column.values) + 1, dtype=np.int64)
            np.add.at(counts, distinct.codes, distinct.counts)
            columns.append((name, distinct.column.values, counts))
        return digest_of_columns(columns)

    def look_up(self, name: str) -> DistinctValues:
        import pyarrow as pa

        with self.database.reporting("cannot be read"):
            raw, counts = self._exact.distinct(name)
            present = raw.is_valid().to_numpy(zero_copy_only=False)
            self._raw[name] = raw.filter(pa.array(present))
            values = self._exact.values(name, self._raw[name])
        nothing = int(counts[~present].sum())
        numbers = np.arange(len(values), dtype=np.int32)
        typed = typed_column(str(self.database.address), name, values, numbers)
        return DistinctValues(
            self._reading.read(typed), np.append(counts[present], nothing).astype(int)
        )

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
            number = len(self.distinct(name).counts)
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
        kept: RowOrder = "shuffled" if labelling.shuffle else "source" if order else "sorted"
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
