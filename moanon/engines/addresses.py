"""Addresses of databases and clusters, what they must not hold, and connections to them."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from re import Match
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from moanon.data.table import database_file, files_behind
from moanon.errors import DataError, OutputError

#: Parameters of addresses that are secrets, by a part of their names.
_SECRET = re.compile("passw|passphrase|pwd|secret|token", re.IGNORECASE)
#: What the environment is asked for.
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
#: A name of a table or a schema that nobody can take for SQL or a path.
_PLAIN = re.compile(r"[\w$#@]([\w $#@-]*[\w$#@])?")

#: What a requirement of ibis begins with, and the backend that needs it.
_REQUIREMENT = re.compile(r"([\w.-]+).*\bextra == ['\"]([\w-]+)['\"]")
#: Backends for which everything comes with an extra of this package.
_OWN = {
    "duckdb": "engines",
    "postgres": "engines",
    "postgresql": "engines",
    "pyspark": "spark",
    "spark": "spark",
    "sqlite": "engines",
}


@dataclass(frozen=True)
class Address:
    """Where rows are: an address that ibis knows, and a table or a query there."""

    #: Such as ``postgres://reader@host/people``; ``${NAME}`` stands for an environment variable.
    url: str
    table: str | None = None  # may be named with its schema, as in ``clinic.patients``
    query: str | None = None
    order_by: tuple[str, ...] = ()  # columns that give rows an order; else what is released does

    def __str__(self) -> str:
        return f"{self.url} {self.table or '(query)'}"


@dataclass(frozen=True)
class TableName:
    """The name of a table, and of the schema it is in where that is said."""

    schema: str | None
    name: str

    def __str__(self) -> str:
        return self.name if self.schema is None else f"{self.schema}.{self.name}"

    @classmethod
    def of(cls, text: str) -> TableName:
        """Take a name as it is written in a configuration."""
        schema, _, name = text.rpartition(".")
        return cls(schema or None, name)

    @classmethod
    def of_new(cls, text: str) -> TableName:
        """Take the name of a table that is to be written; refused if it could mean two things."""
        parts = text.split(".")
        if len(parts) > 2 or not all(map(_PLAIN.fullmatch, parts)):
            raise OutputError(
                "a new table is named as NAME or SCHEMA.NAME, each of letters, digits and _, - or "
                f"blanks between them, without quotes. Got {text!r}"
            )
        return cls.of(text)


def refuse_password(url: str) -> None:
    """Refuse an address that holds a password itself, before the host or as a parameter."""
    try:
        parts = urlsplit(url)
        parameters = parse_qsl(parts.query, keep_blank_values=True)
        found = [value for name, value in parameters if _SECRET.search(name)]
        found.append(parts.password or "")
    except ValueError:
        raise DataError("the address of the database cannot be read") from None
    if any(secret and not _VARIABLE.fullmatch(secret) for secret in found):
        raise DataError(
            "the address of the database holds a password, which does not belong into a "
            "configuration; write ${NAME} in its place and set that environment variable"
        )


# -- connections ---------------------------------------------------------------------------------


def _connect(url: str) -> Any:
    """Connect by ibis; PostgreSQL by its own client, which knows services and password files.

    The address of a file which is not there raises FileNotFoundError: it would be made.
    """
    import ibis

    if url.startswith(("postgres://", "postgresql://")):
        import psycopg

        # Keepalives: a server that is gone is noticed while a query runs.
        connection = psycopg.connect(url, autocommit=True, connect_timeout=20)
        return ibis.postgres.from_connection(connection)
    if url.startswith(("spark://", "pyspark://")):
        return ibis.pyspark.connect(_spark_session(url))
    _refuse_absent_file(url)
    return ibis.connect(url)


def _refuse_absent_file(url: str) -> None:
    path, scheme = database_file(url), url.partition("://")[0]
    if path is not None and not path.exists():
        raise FileNotFoundError(
            f"there is no file {path}; one of this folder is written with two slashes "
            f"({scheme}://{path.name}), one with its whole path with three "
            f"({scheme}:///data/{path.name})"
        )


def _spark_session(url: str) -> Any:
    """A session of Spark: of a master, or with the settings that the address lists.

    Spark's own messages and bars do not reach the screen, and the folder of its tables
    (spark-warehouse) appears only once it holds one.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    settings = {"spark.app.name": "moanon", "spark.ui.showConsoleProgress": "false"}
    if url.startswith("spark://"):
        settings["spark.master"] = url.partition("?")[0]
    settings |= dict(parse_qsl(urlsplit(url).query))
    conf = SparkConf().setAll(list(settings.items()))
    warehouse = Path("spark-warehouse")
    is_new = not warehouse.exists()
    is_remote = "spark.remote" in settings or "SPARK_REMOTE" in os.environ
    if SparkContext._gateway is None and not is_remote:
        with tempfile.TemporaryFile() as log:  # what Java prints goes there, as long as it runs
            try:
                gateway = launch_gateway(conf, {"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
            except Exception as error:
                log.seek(0)
                said = log.read().decode(errors="replace").split("\n")
                reason = next((line for line in map(str.strip, said) if line), str(error))
                raise RuntimeError(f"Java does not start: {reason}") from None
        SparkContext(conf=conf, gateway=gateway)
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    if is_new:
        session.catalog.databaseExists("default")  # makes the folder
        with suppress(OSError):
            warehouse.rmdir()
    return session


def _missing_package(url: str, error: ImportError) -> str:
    """Say which package is not installed that an address needs, and how to install it."""
    backend = url.partition("://")[0]
    # Which driver is missing, ibis says only in the cause of its own error.
    cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
    name = cause.name or "ibis"
    if name == "ibis" or backend in _OWN:
        extra = _OWN.get(backend, "engines")
        return f"the package {name} is not installed (pip install 'moanon[{extra}]')"
    absent = [package for package in _needed_by(backend) if not _is_installed(package)] or [name]
    were = "package {} is" if len(absent) == 1 else "packages {} are"
    return (
        f"the {were.format(' and '.join(absent))} not installed "
        f"(pip install 'ibis-framework[{backend}]')"
    )


def _needed_by(backend: str) -> list[str]:
    """Packages that ibis lists for one of its backends."""
    from importlib import metadata

    listed = map(_REQUIREMENT.match, metadata.requires("ibis-framework") or [])
    return [found[1] for found in listed if found is not None and found[2] == backend]


def _is_installed(package: str) -> bool:
    from importlib import metadata

    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def unused_name() -> str:
    """A name that no table has, and nobody can guess."""
    return f"moanon_{secrets.token_hex(8)}"


class Database:
    """A connection, and what goes wrong with it in one sentence."""

    def __init__(self, address: Address) -> None:
        refuse_password(address.url)
        self.address = address
        self._secrets: list[str] = []
        with self.reporting("cannot be reached"):
            url = _VARIABLE.sub(self._variable, address.url)
            self.connection = _connect(url)
        self.files = files_behind(url)
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
            missing = _missing_package(self.address.url, error)
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
