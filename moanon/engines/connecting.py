"""Connections to databases and clusters by their addresses, and what is missing for one."""

from __future__ import annotations

import re
import warnings
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlparse, urlsplit

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


def connect(url: str) -> Any:
    """Connect by ibis; PostgreSQL by its own client, which knows services and password files.

    Raises
    ------
    FileNotFoundError
        If the address is that of a file which is not there: it would be made.
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
    parts = urlparse(url)  # as ibis takes it apart
    path = Path(parts.netloc, parts.path[bool(parts.netloc) :])
    in_memory = str(path) in (".", ":memory:")
    is_service = str(path).startswith(("md:", "motherduck:"))
    if parts.scheme not in ("sqlite", "duckdb", "file") or in_memory or is_service:
        return
    if not path.exists():
        raise FileNotFoundError(
            f"there is no file {path}; one of this folder is written with two slashes "
            f"({parts.scheme}://{path.name}), one with its whole path with three "
            f"({parts.scheme}:///data/{path.name})"
        )


def _spark_session(url: str) -> Any:
    """A session of Spark: of a master, or with the settings that the address lists."""
    with warnings.catch_warnings():
        # Of versions of pandas that its own functions do not know; none of them is used here.
        warnings.simplefilter("ignore", FutureWarning)
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.appName("moanon")
        if url.startswith("spark://"):
            builder = builder.master(url)
        for key, value in parse_qsl(urlsplit(url).query):
            builder = builder.config(key, value)
        return builder.getOrCreate()


def missing_package(url: str, error: ImportError) -> str:
    """Say which package is not installed that an address needs, and how to install it."""
    backend = url.partition("://")[0]
    # ibis tells the name of a driver that is missing only by what its own error comes from.
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
    listed = map(_REQUIREMENT.match, metadata.requires("ibis-framework") or [])
    return [found[1] for found in listed if found is not None and found[2] == backend]


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
