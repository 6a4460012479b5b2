"""Which table a name means, and how a new table takes that name.

A name has many spellings (``t``, ``public.t``, ``T``), and a view or a query may read a table that
it does not name. So texts are never compared: the database's own catalogue says what a name means.
A table is replaced only if the catalogue shows that the source does not read it. A plain table
reads itself alone; what views and queries read, only PostgreSQL knows. It is replaced in one
transaction with the new one where there are such; where there are none, the old one is moved aside
and comes back if anything fails.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from moanon.engines.addresses import Database, TableName, unused_name
from moanon.errors import OutputError


@dataclass(frozen=True)
class _Entry:
    """What a catalogue has under a name."""

    key: Hashable  # which no other has
    is_table: bool  # with rows of its own, rather than a view or whatever else


class _Catalogue:
    """What is known of any database that ibis connects to: names, and not what is read."""

    def __init__(self, database: Database, rows: Any) -> None:
        self.database, self.connection, self.rows = database, database.connection, rows

    # -- what a database knows -------------------------------------------------------------------

    def resolved(self, name: TableName) -> TableName:
        """Say where a table of this name would be written."""
        if name.schema is not None:
            raise OutputError(f"{str(name)!r} names a schema; here a table is named without one")
        return name

    def find(self, name: TableName) -> _Entry | None:
        """Look for what a name means."""
        known = {each.casefold() for each in self.connection.list_tables()}
        return _Entry(name, True) if name.name.casefold() in known else None

    def reads(self) -> frozenset[Hashable] | None:
        """Keys of all that the source reads, and of what cannot go without it; None: not known."""
        return None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Have all that is done in a block happen, or nothing."""
        yield

    # -- what follows ----------------------------------------------------------------------------

    def check(self, name: TableName, force: bool) -> bool:
        """Refuse a name that must not be taken; say whether a table has it that is to go.

        Refused is what the source reads, or may read; what is no table; and a table of which nobody
        said that it may be replaced.
        """
        there = self.find(self.resolved(name))
        meant = self.find(name)  # elsewhere on the path on which names are looked for
        if there is None and meant is None:
            return False
        reads = self.reads()
        if reads is not None and reads & {each.key for each in (there, meant) if each is not None}:
            raise OutputError(
                f"{str(name)!r} is the table that is read, or one that it is made of; name another "
                "one"
            )
        if there is None:
            return False
        if not there.is_table:
            raise OutputError(f"{str(name)!r} exists and is not a plain table; name another one")
        if not force:
            raise OutputError(f"there is a table {str(name)!r} already (force=True replaces it)")
        if reads is None:
            raise OutputError(
                f"whether {self.database.address} reads {str(name)!r} is not known, so that it is "
                "not replaced; give the new table a name that no other has"
            )
        return True

    def take(self, written: str, name: TableName, force: bool) -> None:
        """Give a table that was written its name, instead of the table that has it now."""
        place = self.resolved(name)
        with self.transaction():
            if force and self.find(place) is not None:
                self.lock(place)
            if self.check(name, force):
                self.drop(place)
            self.rename(replace(place, name=written), place)

    def lock(self, place: TableName) -> None:
        """Keep others from changing what a name means, until the transaction ends."""

    def drop(self, place: TableName) -> None:
        """Remove a table."""
        self.database.run(f"DROP TABLE {self.quoted(place)}")

    def rename(self, place: TableName, to: TableName) -> None:
        """Rename a table, which stays in its schema."""
        new = self.quoted(replace(to, schema=None))
        self.database.run(f"ALTER TABLE {self.quoted(place)} RENAME TO {new}")

    def quoted(self, place: TableName) -> str:
        """A name as the database's own SQL writes it."""
        from sqlglot import exp

        table = exp.table_(place.name, db=place.schema, quoted=True)
        return str(table.sql(dialect=self.connection.dialect))

    def clear(self, place: TableName) -> None:
        """Remove a table that may be there, whatever was being done when something failed."""
        self.database.run(f"DROP TABLE IF EXISTS {self.quoted(place)}")


class _InPostgres(_Catalogue):
    """PostgreSQL knows what views depend on, and the source is made one to ask that."""

    #: All that the view %s reads, through views, parts of partitioned tables and heirs; parents,
    #: too, since partitions go with them. The second column: whether something there can read what
    #: the catalogue does not list: tables elsewhere, functions of users, functions that take SQL.
    _READS = r"""
        WITH RECURSIVE read(oid) AS (
            SELECT %s::regclass::oid
            UNION
            SELECT next.oid FROM read CROSS JOIN LATERAL (
                SELECT d.refobjid FROM pg_rewrite r JOIN pg_depend d ON d.objid = r.oid
                WHERE r.ev_class = read.oid AND d.classid = 'pg_rewrite'::regclass
                    AND d.refclassid = 'pg_class'::regclass
                UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = read.oid
                UNION ALL SELECT inhparent FROM pg_inherits WHERE inhrelid = read.oid
            ) next(oid)
        )
        SELECT c.oid, c.relkind = 'f' OR EXISTS (
            SELECT FROM pg_rewrite r JOIN pg_depend d ON d.objid = r.oid
            WHERE r.ev_class = c.oid AND d.classid = 'pg_rewrite'::regclass
                AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
        ) OR (c.relkind IN ('v', 'm')
            AND pg_get_viewdef(c.oid) ~* '_to_xml|\mts_stat|\mts_rewrite')
        FROM read JOIN pg_class c ON c.oid = read.oid
    """

    def resolved(self, name: TableName) -> TableName:
        query = "SELECT coalesce(%s, current_schema()), %s::name::text"
        schema, kept = self._ask(query, name.schema, name.name)[0]
        if kept != name.name:
            raise OutputError(f"the name {str(name)!r} is too long; it would be cut to {kept!r}")
        if schema is None:
            raise OutputError(f"no schema is set to write {str(name)!r} to; name it as SCHEMA.NAME")
        if schema.startswith("pg_") or schema == "information_schema":
            raise OutputError(f"the schema {schema!r} is PostgreSQL's own; name one that lasts")
        return TableName(schema, name.name)

    def find(self, name: TableName) -> _Entry | None:
        found = self._ask(
            "SELECT oid, relkind IN ('r', 'p') FROM pg_class WHERE oid = "
            "to_regclass(concat_ws('.', quote_ident(%s), quote_ident(%s)))",
            name.schema,
            name.name,
        )
        return _Entry(*found[0]) if found else None

    def reads(self) -> frozenset[Hashable] | None:
        view = unused_name()
        with self.connection.con.transaction(force_rollback=True):
            self.database.run(
                f"CREATE TEMPORARY VIEW {view} AS {self.connection.compile(self.rows)}"
            )
            found = self._ask(self._READS, view)
        return None if any(hidden for _, hidden in found) else frozenset(oid for oid, _ in found)

    def _ask(self, query: str, *values: str | None) -> list[tuple[Any, ...]]:
        return list(self.connection.con.execute(query, values).fetchall())

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.connection.con.transaction():
            yield

    def lock(self, place: TableName) -> None:
        self.database.run(f"LOCK TABLE {self.quoted(place)} IN ACCESS EXCLUSIVE MODE")


class _WithKinds(_Catalogue):
    """A catalogue that says which names are of plain tables, and not what views and queries read.

    SQLite reports the tables of a statement to an authorizer, but not all of them: none of which
    only columns of a natural join are used.
    """

    def reads(self) -> frozenset[Hashable] | None:
        source = self.database.address.table
        found = None if source is None else self.find(TableName.of(source))
        return frozenset([found.key]) if found is not None and found.is_table else None


class _InSQLite(_WithKinds):
    """SQLite, where a virtual table and those that keep its rows are no plain ones."""

    def resolved(self, name: TableName) -> TableName:
        if (name.schema or "main").lower() != "main":
            raise OutputError(
                f"{str(name)!r} would not be in the file; SQLite's own schema is called main"
            )
        return TableName("main", name.name)

    def find(self, name: TableName) -> _Entry | None:
        query = (
            "SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND name = ? "
            "COLLATE NOCASE"
        )
        for stored, kind in self.connection.con.execute(query, [name.name]).fetchall():
            return _Entry(stored, kind == "table")
        return None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        connection = self.connection.con
        # Else a view that reads the old table, or nothing at all any more, forbids to rename.
        connection.execute("PRAGMA legacy_alter_table = ON")
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        finally:
            connection.execute("PRAGMA legacy_alter_table = OFF")

    def clear(self, place: TableName) -> None:
        self.connection.con.rollback()  # of what was interrupted
        super().clear(place)


class _InDuckDB(_WithKinds):
    """DuckDB, whose names may begin with the database."""

    def resolved(self, name: TableName) -> TableName:
        return TableName(name.schema or self._now("schema"), name.name)

    def find(self, name: TableName) -> _Entry | None:
        schema = (name.schema or self._now("schema")).lower()
        # The schema of a source may also be its database, or both.
        here = self._now("database").lower()
        for within, stored, is_table in self._named(name.name):
            if schema in (within.lower(), here, f"{here}.{within.lower()}"):
                return _Entry((within, stored), is_table)
        return None

    def _now(self, what: str) -> str:
        return str(self.connection.con.execute(f"SELECT current_{what}()").fetchone()[0])

    def _named(self, name: str) -> list[tuple[str, str, bool]]:
        query = (
            "SELECT schema_name, {0}_name, {1} FROM duckdb_{0}s() "
            "WHERE database_name = current_database() AND lower({0}_name) = lower(?)"
        )
        both = " UNION ALL ".join([query.format("table", "true"), query.format("view", "false")])
        return list(self.connection.con.execute(both, [name, name]).fetchall())

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.database.run("BEGIN")
        try:
            yield
            self.database.run("COMMIT")
        except BaseException:
            with suppress(Exception):  # a commit that failed has ended it
                self.database.run("ROLLBACK")
            raise

    def quoted(self, place: TableName) -> str:
        from sqlglot import exp

        if place.schema is None:
            return super().quoted(place)
        # With the database, whose name a schema can have as well.
        table = exp.table_(place.name, place.schema, self._now("database"), quoted=True)
        return str(table.sql(dialect="duckdb"))


class _InSpark(_WithKinds):
    """Spark has no transactions."""

    def resolved(self, name: TableName) -> TableName:
        return TableName(name.schema or self._catalog.currentDatabase(), name.name)

    @property
    def _catalog(self) -> Any:
        return self.connection._session.catalog

    def find(self, name: TableName) -> _Entry | None:
        text = self.quoted(name)
        if not self._catalog.tableExists(text):
            return None
        found = self._catalog.getTable(text)
        parts = (found.catalog, *(found.namespace or ()), found.name)
        # The files of other tables may be those of any.
        is_managed = found.tableType == "MANAGED"
        return _Entry(tuple(str(part).lower() for part in parts), is_managed)

    def take(self, written: str, name: TableName, force: bool) -> None:
        place = self.resolved(name)
        aside = replace(place, name=unused_name())
        is_replaced = self.check(name, force)
        if is_replaced:
            self.rename(place, aside)
        try:
            self.rename(replace(place, name=written), place)
        except BaseException:
            if is_replaced:
                self.rename(aside, place)
            raise
        if is_replaced:
            self.drop(aside)

    def rename(self, place: TableName, to: TableName) -> None:
        self.database.run(f"ALTER TABLE {self.quoted(place)} RENAME TO {self.quoted(to)}")


def catalogue_of(database: Database, rows: Any) -> _Catalogue:
    """The catalogue of a database, as far as it is known what to ask there."""
    known = {
        "postgres": _InPostgres,
        "sqlite": _InSQLite,
        "duckdb": _InDuckDB,
        "pyspark": _InSpark,
    }
    return known.get(database.connection.name, _Catalogue)(database, rows)
