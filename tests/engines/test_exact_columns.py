"""Values of a database are compared by what is stored, whatever it takes for equal itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from moanon.data.domain import OrderedSpec
from moanon.engines import databases, read_table
from moanon.errors import DataError
from moanon.genome import Instance
from moanon.release import Release
from tests.engines.servers import PASSWORD, Server, find_programs, running_server

pytest.importorskip("ibis", reason="ibis is not installed: pip install 'moanon[engines]'")
psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")

#: The first row is the one that is suppressed.
GROUPS = ["b", *"aaaa", *"cccc"]
ILL = ["HIV", "flu", "gout", "HIV "]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    programs = find_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    with pytest.MonkeyPatch.context() as patch, running_server(programs) as server:
        patch.setenv("PGPASSWORD", PASSWORD)
        yield server


def in_sqlite(folder: Path, values: Sequence[Any], kind: str) -> str:
    path = folder / f"{len([*folder.iterdir()])}.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE t(g text, v {kind})")
        connection.executemany("INSERT INTO t VALUES (?, ?)", zip(GROUPS, values, strict=True))
        connection.commit()
    return f"sqlite://{path}"


def in_duckdb(folder: Path, values: Sequence[Any], kind: str) -> str:
    path = folder / f"{len([*folder.iterdir()])}.duckdb"  # an earlier one may still be open
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t(g text, v {kind})")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?)", list(zip(GROUPS, values, strict=True))
        )
    return f"duckdb://{path}"


def in_postgres(server: Server, values: Sequence[Any], kind: str) -> str:
    with psycopg.connect(server.url()) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE COLLATION IF NOT EXISTS loose "
            "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        cursor.execute("CREATE EXTENSION IF NOT EXISTS citext")
        cursor.execute(f"DROP TABLE IF EXISTS t; CREATE TABLE t(g text, v {kind})")
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", list(zip(GROUPS, values, strict=True)))
    return server.url()


def released(url: str, role: str) -> Release:
    """A release of which row b is suppressed."""
    table = read_table(url, {"g": "quasi", "v": role}, table="t", missing="category")
    return Release.of(Instance.build(table, {"g": OrderedSpec(("a", "c", "b"))}), [1, 1], k=2)


def shown(url: str, role: str, folder: Path, **options: Any) -> list[str]:
    """Lines of a release as a file, in the order of what they show."""
    released(url, role).write(folder / "r.csv", force=True, keep_order=True, **options)
    return (folder / "r.csv").read_text().splitlines()


def table_rows(url: str, role: str) -> list[tuple[Any, ...]]:
    """Rows of a release as a table, in the order of the table."""
    released(url, role).write_table("rel", force=True)
    if url.startswith("postgres"):
        with psycopg.connect(url) as connection:
            return list(connection.execute("SELECT * FROM rel").fetchall())
    if url.startswith("duckdb"):
        with duckdb.connect(url.removeprefix("duckdb://")) as duck:
            return list(duck.execute("SELECT * FROM rel").fetchall())
    with closing(sqlite3.connect(url.removeprefix("sqlite://"))) as lite:
        return list(lite.execute("SELECT * FROM rel").fetchall())


KINDS = [
    ("sqlite", "text collate nocase"),
    ("sqlite", "text collate rtrim"),
    ("duckdb", "text collate nocase"),
    pytest.param(("postgres", "text collate loose"), marks=pytest.mark.service),
    pytest.param(("postgres", "citext"), marks=pytest.mark.service),
]


@pytest.fixture(params=KINDS, ids=" ".join)
def spelled(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """What puts rows into a database that takes HIV and other spellings of it for equal."""
    name, kind = request.param
    if name == "postgres":
        server = request.getfixturevalue("server")
        return lambda first: in_postgres(server, [first, *ILL * 2], kind)
    put = {"sqlite": in_sqlite, "duckdb": in_duckdb}[name]
    return lambda first: put(tmp_path, [first, *ILL * 2], kind)


@pytest.fixture(autouse=True)
def _known_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
@pytest.mark.parametrize("safe", [False, True])
def test_a_file_shows_the_spellings_of_its_own_rows(
    spelled: Any, tmp_path: Path, role: str, safe: bool
) -> None:
    for first in ("hiv", "HIV  ", "Flu"):
        lines = shown(spelled(first), role, tmp_path, spreadsheet_safe=safe)
        assert lines == ["g,v", *(f"{g},{v}" for g in "ac" for v in sorted(ILL))]


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_a_table_shows_the_spellings_of_its_own_rows(
    spelled: Any, tmp_path: Path, role: str
) -> None:
    for first in ("hiv", "HIV  "):
        rows = table_rows(spelled(first), role)
        assert sorted(rows) == [(g, v) for g in "ac" for v in sorted(ILL)]


def test_another_database_that_unites_texts_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As SQLite would be if nothing were known of it."""
    build = databases._ExactColumns.__init__

    def unknown(self: Any, database: Any, rows: Any) -> None:
        build(self, database, rows)
        self._backend = "another"

    monkeypatch.setattr(databases._ExactColumns, "__init__", unknown)
    for kind in ("text collate nocase", "text collate rtrim"):
        url = in_sqlite(tmp_path, ["hiv", *ILL * 2], kind)
        with pytest.raises(DataError, match="column 'v' has a collation that takes texts for the"):
            released(url, "sensitive")
    assert released(in_sqlite(tmp_path, ["hiv", *ILL * 2], "text"), "sensitive")


# -- what SQLite stores --------------------------------------------------------------------------

BIG = 2**60 + 1
STORED = [
    ("timestamp", ["2020-01-01 10:00:00", "2020-01-02", None, "2020-01-03T00:00:00.5"],
     ["2020-01-01T10:00:00", "2020-01-02", "", "2020-01-03T00:00:00.5"]),
    ("date", ["2020-01-01", "2020-01-02", None, "1066-10-14"], None),
    ("time", ["10:00:00", "11:30:00.5", None, "00:00:00"], None),
    ("numeric", [1, 2.5, None, 3], None),
    ("decimal(10, 2)", [1, 2.5, None, -0.25], None),
    ("integer", [BIG, BIG + 1, None, -BIG], None),
    ("real", [0.1 + 0.2, 1e300, None, -5.0],
     ["0.30000000000000004", "1e+300", "", "-5"]),
    ("", [None, 7, None, 8], None),
    ("boolean", [1, 0, None, 1], ["True", "False", "", "True"]),
]  # fmt: skip


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
@pytest.mark.parametrize(("kind", "stored", "texts"), STORED, ids=[kind for kind, *_ in STORED])
def test_no_value_of_sqlite_becomes_a_missing_one(
    tmp_path: Path, role: str, kind: str, stored: list[Any], texts: list[str] | None
) -> None:
    lines = shown(in_sqlite(tmp_path, [None, *stored * 2], kind), role, tmp_path)
    gap = "(missing)" if role == "sensitive" else ""
    texts = ["" if value is None else str(value) for value in stored] if texts is None else texts
    expected = [f"{g},{text or gap}" for g in "ac" for text in texts]
    assert sorted(lines) == sorted(["g,v", *expected])


UNFIT = [
    ("timestamp", 1577836800, "is declared timestamp.* and holds '1577836800'"),
    ("timestamp", "2020-01-01 10:00:00.123456789", "holds '2020-01-01 10:00:00.123456789'"),
    ("date", "2020-01-01 10:00", "is declared date and holds '2020-01-01 10:00', which is none"),
    ("numeric", "ten", "is declared decimal and holds 'ten', which is none"),
    ("integer", 2.5, "is declared int64 and holds '2.5', which is none"),
    ("integer", "ten", "is declared int64 and holds 'ten', which is none"),
    ("real", "ten", "is declared float64 and holds 'ten', which is none"),
    ("boolean", 2, "is declared boolean and holds '2', which is none"),
]


@pytest.mark.parametrize(("kind", "value", "told"), UNFIT)
@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_what_a_column_of_sqlite_is_not_declared_as_is_refused(
    tmp_path: Path, kind: str, value: Any, told: str, role: str
) -> None:
    url = in_sqlite(tmp_path, [None] * 8 + [value], kind)
    with pytest.raises(DataError, match=f"column 'v' {told}" if "is decl" in told else told):
        shown(url, role, tmp_path)


# -- order ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["sqlite", "duckdb", pytest.param("postgres", marks=pytest.mark.service)]
)
def test_rows_of_a_table_do_not_stand_as_in_the_source(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """One of 20! orders is that of the source."""
    monkeypatch.setattr("tests.engines.test_exact_columns.GROUPS", ["a"] * 20)
    values = list(range(20))
    if name == "postgres":
        url = in_postgres(request.getfixturevalue("server"), values, "integer")
    else:
        url = {"sqlite": in_sqlite, "duckdb": in_duckdb}[name](tmp_path, values, "integer")
    orders = [[value for _, value in table_rows(url, "insensitive")] for _ in range(2)]
    assert sorted(orders[0]) == sorted(orders[1]) == values
    assert orders[0] != orders[1]
    assert values not in orders
