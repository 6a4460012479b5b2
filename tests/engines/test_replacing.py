"""A released table takes its name only where no row of the source can be lost by it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from moanon.data.domain import OrderedSpec
from moanon.engines import databases, read_table
from moanon.engines.replacing import _Catalogue
from moanon.errors import CertificateError, MoanonError, OutputError
from moanon.genome import Instance
from moanon.release import Certificate, Release
from moanon.release.bucketized import BucketizedRelease
from tests.engines.servers import Server
from tests.engines.test_databases import _known_password, called, run, server  # noqa: F401

pytest.importorskip("ibis", reason="ibis is not installed: pip install 'moanon[engines]'")
psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
duckdb = pytest.importorskip("duckdb")

#: 60 people of two groups.
PEOPLE = [("fm"[i % 2], ("flu", "gout", "ache")[i % 3]) for i in range(60)]
LONG = "l" * 63  # no name is longer in PostgreSQL
CONFIG = """
columns:
  sex: {role: quasi, kind: ordered, order: [f, m]}
  ill: {role: sensitive}
problem: {preset: zero-suppression}
search: {evaluations: 4}
output: {dir: results, plots: false, report: false}
"""


@dataclass(frozen=True)
class Place:
    """A database: where it is, and how it is asked without moanon."""

    url: str
    connect: Callable[[], Any]
    catalogue: str

    def run(self, *statements: str) -> None:
        with closing(self.connect()) as connection:
            for statement in statements:
                connection.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(self.connect()) as connection:
            return sorted(connection.execute(query).fetchall())

    def fill(self, name: str) -> None:
        values = ", ".join(f"('{sex}', '{ill}')" for sex, ill in PEOPLE)
        self.run(f"CREATE TABLE {name}(sex text, ill text)", f"INSERT INTO {name} VALUES {values}")

    def tables(self) -> list[str]:
        return [name for (name,) in self.rows(self.catalogue)]

    def leftovers(self) -> list[str]:
        return [name for name in self.tables() if name.startswith("moanon_")]


@pytest.fixture
def lite(tmp_path: Path) -> Place:
    path = tmp_path / "people.db"
    place = Place(
        f"sqlite://{path}",
        lambda: sqlite3.connect(path, isolation_level=None),
        "SELECT name FROM sqlite_master WHERE type = 'table'",
    )
    place.fill("t")
    return place


@pytest.fixture
def duck(tmp_path: Path) -> Place:
    path = tmp_path / "people.duckdb"
    catalogue = "SELECT table_name FROM duckdb_tables()"
    place = Place(f"duckdb://{path}", lambda: duckdb.connect(path), catalogue)
    place.fill("t")
    return place


@pytest.fixture
def postgres(server: Server) -> Place:  # noqa: F811
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS attacked WITH (FORCE)")
        connection.execute("CREATE DATABASE attacked")
    url = server.url(database="attacked")
    place = Place(
        url,
        lambda: psycopg.connect(url, autocommit=True),
        "SELECT tablename FROM pg_tables WHERE schemaname NOT LIKE 'pg_temp%'",
    )
    place.fill("t")
    return place


@pytest.fixture(params=["lite", "duck", pytest.param("postgres", marks=pytest.mark.service)])
def place(request: pytest.FixtureRequest) -> Place:
    """Any of them, with a table t that is read, and r, which is an earlier release."""
    found: Place = request.getfixturevalue(request.param)
    found.run("CREATE TABLE r(old integer)", "INSERT INTO r VALUES (7)")
    return found


def release_of(place: Place, **source: Any) -> Release:
    """All rows of a source, in two groups."""
    table = read_table(place.url, {"sex": "quasi", "ill": "sensitive"}, **source)
    return Release.of(Instance.build(table, {"sex": OrderedSpec(("f", "m"))}), [1])


# -- forty spellings of the source's name ---------------------------------------------------------

#: Names that could mean the table t, whatever the database.
SPELLINGS = [
    "t", "T", '"t"', "'t'", "`t`", "[t]", " t", "t ", "\tt", "t\n", "t;", "t--", "t/**/",
    "./t", "t.", ".t", "..t", "t\0", "\uff54", "t\u200b", "main.t", "MAIN.T", "main.T", "public.t",
    "PUBLIC.T", "Public.t", 'public."t"', '"public".t', "people.t", "people.main.t",
    "attacked.public.t", "temp.t", "pg_temp.t",
]  # fmt: skip


def attack(place: Place, attacks: list[tuple[str, str]]) -> None:
    """Have a release of each source replace each target; no row that is read may change."""
    releases = {}
    for source, target in attacks:
        key = "query" if source.startswith("SELECT") else "table"
        if source not in releases:
            releases[source] = release_of(place, **{key: source})
        read = source if key == "query" else f"SELECT * FROM {source}"
        before = place.rows(read)
        assert before == sorted(PEOPLE)
        with suppress(MoanonError):
            releases[source].write_table(target, force=True)
        assert place.rows(read) == before, (source, target)
        assert place.rows("SELECT * FROM t") == sorted(PEOPLE), (source, target)
        assert place.leftovers() == []


def test_forty_spellings_of_the_source_in_sqlite(lite: Place) -> None:
    lite.run(
        "CREATE VIEW v AS SELECT * FROM t",
        "CREATE VIEW w AS SELECT sex, ill FROM (SELECT * FROM V)",
        "CREATE VIRTUAL TABLE f USING fts5(sex, ill)",
        "INSERT INTO f SELECT * FROM t",
    )
    more = [
        ("v", "t"), ("w", "T"), ("w", "v"), ("main.t", "t"), ("T", "main.t"), ("f", "f_content"),
        ("SELECT * FROM t", "t"), ("SELECT * FROM w", "main.T"),
    ]  # fmt: skip
    attacks = [("t", spelling) for spelling in SPELLINGS] + more
    assert len(attacks) >= 40
    attack(lite, attacks)


def test_forty_spellings_of_the_source_in_postgresql(postgres: Place) -> None:
    postgres.fill(LONG)
    postgres.run(
        "CREATE VIEW v AS SELECT * FROM t",
        "CREATE MATERIALIZED VIEW m AS SELECT * FROM v",
        "CREATE TABLE parted(sex text, ill text) PARTITION BY LIST (sex)",
        "CREATE TABLE part PARTITION OF parted FOR VALUES IN ('f', 'm')",
        "INSERT INTO parted SELECT * FROM t",
        "CREATE TABLE parent(sex text, ill text)",
        "CREATE TABLE child() INHERITS (parent)",
        "INSERT INTO child SELECT * FROM t",
        "CREATE TABLE hidden AS SELECT * FROM t",
        "CREATE FUNCTION secret() RETURNS SETOF hidden LANGUAGE sql AS 'SELECT * FROM hidden'",
        "CREATE VIEW by_function AS SELECT * FROM secret()",
    )
    more = [("public.t", "t"), ("t", "public.t"), ("v", "t"), ("v", "public.t"), ("m", "t"),
            ("parted", "part"), ("part", "parted"), ("parent", "child"), ("child", "parent"),
            ("by_function", "hidden"), (LONG, LONG), (LONG, f"{LONG}l"),
            ("SELECT * FROM t", "t"), ("SELECT * FROM v", "public.t"),
            ("SELECT * FROM secret()", "hidden")]  # fmt: skip
    attacks = [("t", spelling) for spelling in SPELLINGS] + more
    assert len(attacks) >= 40
    attack(postgres, attacks)


def test_spellings_of_the_source_in_duckdb(duck: Place) -> None:
    duck.run("CREATE VIEW v AS SELECT * FROM t")
    more = [("v", "t"), ("main.t", "T"), ("people.main.t", "t"), ("people.t", "t"),
            ("SELECT * FROM t", "t")]  # fmt: skip
    attack(duck, [("t", spelling) for spelling in SPELLINGS] + more)


def test_a_table_that_would_hide_the_source_is_refused(postgres: Place) -> None:
    postgres.run("CREATE SCHEMA owner")  # which is looked into before public
    with pytest.raises(OutputError, match="'t' is the table that is read"):
        release_of(postgres, table="public.t").write_table("t")


# -- what is replaced -----------------------------------------------------------------------------


def test_an_earlier_release_is_replaced_if_somebody_says_so(place: Place) -> None:
    release = release_of(place, table="t")
    with pytest.raises(
        OutputError, match=r"there is a table 'r' already \(force=True replaces it\)"
    ):
        release.write_table("r")
    assert place.rows("SELECT * FROM r") == [(7,)]
    release.write_table("r", force=True)
    assert place.rows("SELECT * FROM r") == sorted(PEOPLE)
    release.write_table("new", force=True)
    assert place.rows("SELECT * FROM new") == sorted(PEOPLE)
    assert place.leftovers() == []


def test_a_view_on_an_earlier_release_does_not_lose_anything(place: Place) -> None:
    place.run("CREATE VIEW v AS SELECT * FROM r")
    release = release_of(place, table="t")
    if place.url.startswith("postgres"):
        with pytest.raises(OutputError, match="other objects depend on it"):
            release.write_table("r", force=True)
        assert place.rows("SELECT * FROM v") == [(7,)]
    else:
        release.write_table("r", force=True)
        assert place.rows("SELECT * FROM r") == sorted(PEOPLE)
    assert place.rows("SELECT * FROM t") == sorted(PEOPLE)
    assert place.leftovers() == []


def test_a_view_that_nothing_is_behind_does_not_matter(lite: Place) -> None:
    lite.run("CREATE TABLE x(a)", "CREATE VIEW broken AS SELECT * FROM x", "DROP TABLE x")
    release_of(lite, table="t").write_table("r")
    assert lite.rows("SELECT * FROM r") == sorted(PEOPLE)


@pytest.fixture(params=["lite", "duck"])
def unlisted(request: pytest.FixtureRequest) -> Place:
    """A database that does not say what a view or a query reads."""
    found: Place = request.getfixturevalue(request.param)
    return found


def test_a_query_replaces_nothing_where_its_tables_are_not_known(unlisted: Place) -> None:
    unlisted.run("CREATE TABLE r(old integer)")
    release = release_of(unlisted, query="SELECT * FROM t")
    with pytest.raises(OutputError, match="give the new table a name that no other has"):
        release.write_table("r", force=True)
    release.write_table("new")
    assert unlisted.rows("SELECT * FROM new") == sorted(PEOPLE)


def test_a_query_replaces_a_table_that_it_does_not_read(postgres: Place) -> None:
    postgres.run("CREATE TABLE r(old integer)")
    release_of(postgres, query="SELECT * FROM t").write_table("r", force=True)
    assert postgres.rows("SELECT * FROM r") == sorted(PEOPLE)


@pytest.mark.parametrize(
    "join",
    [
        "NATURAL JOIN consent",
        "JOIN consent USING (sex)",
        "LEFT JOIN consent USING (sex)",  # which a planner may leave out
        "CROSS JOIN (SELECT count(*) AS n FROM consent) AS counted",
    ],
)
@pytest.mark.parametrize("is_view", [False, True])
def test_a_table_of_which_no_column_is_shown_is_not_replaced(
    place: Place, join: str, is_view: bool
) -> None:
    place.run("CREATE TABLE consent(sex text PRIMARY KEY)", "INSERT INTO consent VALUES ('f')")
    place.run("INSERT INTO consent VALUES ('m')")
    query = f"SELECT t.sex, t.ill FROM t {join}"
    if is_view:
        place.run(f"CREATE VIEW study AS {query}")
    release = release_of(place, **({"table": "study"} if is_view else {"query": query}))
    with pytest.raises(OutputError, match=r"'consent' is the table that is read|not replaced"):
        release.write_table("consent", force=True)
    assert place.rows("SELECT * FROM consent") == [("f",), ("m",)]
    assert place.leftovers() == []


def test_a_view_is_not_replaced(place: Place) -> None:
    place.run("CREATE VIEW v AS SELECT * FROM r")
    with pytest.raises(OutputError, match="'v' exists and is not a plain table"):
        release_of(place, table="t").write_table("v", force=True)
    assert place.rows("SELECT * FROM v") == [(7,)]


def test_a_table_of_another_schema(postgres: Place, duck: Place) -> None:
    for each in (postgres, duck):
        each.run("CREATE SCHEMA out", "CREATE TABLE out.t(old integer)")
        release_of(each, table="t").write_table("out.t", force=True)
        assert each.rows("SELECT * FROM out.t") == sorted(PEOPLE)
        assert each.rows("SELECT * FROM t") == sorted(PEOPLE)
        with pytest.raises(OutputError, match=r"takes no table 'nowhere\.r': .*nowhere"):
            release_of(each, table="t").write_table("nowhere.r")
        assert each.leftovers() == []


def test_a_name_that_would_be_cut_is_refused(postgres: Place) -> None:
    with pytest.raises(OutputError, match="is too long; it would be cut to 'lll"):
        release_of(postgres, table="t").write_table(f"{LONG}l")


@pytest.mark.parametrize("schema", ["pg_temp", "pg_temp_3", "pg_catalog", "information_schema"])
def test_a_schema_of_the_database_itself_is_refused(postgres: Place, schema: str) -> None:
    told = f"^the schema '{schema}' is PostgreSQL's own; name one that lasts$"
    with pytest.raises(OutputError, match=told) as caught:
        release_of(postgres, table="t").write_table(f"{schema}.x")
    assert "moanon_" not in str(caught.value)


def test_a_database_of_which_too_little_is_known_replaces_nothing(
    lite: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moanon.engines.databases.catalogue_of", _Catalogue)
    lite.run("CREATE TABLE r(old integer)")
    release = release_of(lite, table="t")
    with pytest.raises(OutputError, match=r"reads 'R' is not known, so that it is not replaced"):
        release.write_table("R", force=True)
    with pytest.raises(OutputError, match="here a table is named without one"):
        release.write_table("main.r")
    release.write_table("new")
    assert lite.rows("SELECT * FROM new") == sorted(PEOPLE)


# -- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["sqlite", "duckdb"])
@pytest.mark.parametrize("link", ["none", "hard", "symbolic"])
def test_a_database_is_not_replaced_by_a_file(tmp_path: Path, backend: str, link: str) -> None:
    path, connect = tmp_path / "people.csv", {"sqlite": sqlite3.connect, "duckdb": duckdb.connect}
    with closing(connect[backend](path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'f' AS sex, 'flu' AS ill")
        connection.commit()
    target = path if link == "none" else tmp_path / "other.csv"
    if link == "hard":
        target.hardlink_to(path)
    elif link == "symbolic":
        target.symlink_to(path)
    content = path.read_bytes()
    release = release_of(Place(f"{backend}://{path}", lambda: None, ""), table="t")
    with pytest.raises(OutputError, match="it was read for what would take its place"):
        release.write(target, force=True)
    with pytest.raises(OutputError, match="it was read for what would take its place"):
        BucketizedRelease(release).write(target, force=True)
    assert path.read_bytes() == content


@pytest.mark.parametrize("is_view", [False, True])
def test_no_file_is_replaced_where_a_query_may_read_it(
    tmp_path: Path, duck: Place, is_view: bool
) -> None:
    file, query = tmp_path / "people.csv", f"SELECT * FROM '{tmp_path}/*.csv'"
    file.write_text("sex,ill\n" + "".join(f"{sex},{ill}\n" for sex, ill in PEOPLE))
    duck.run(f"CREATE VIEW study AS {query}")
    release = release_of(duck, **({"table": "study"} if is_view else {"query": query}))
    before = file.read_bytes()
    told = r"people\.csv is not replaced: which files duckdb://.* reads is not known; name a file"
    with pytest.raises(OutputError, match=told):
        release.write(file, force=True)
    with pytest.raises(OutputError, match=told):
        BucketizedRelease(release).write(file, force=True)
    assert file.read_bytes() == before
    release.write(tmp_path / "new.parquet", force=True)


def test_a_table_of_duckdb_reads_no_file_besides(tmp_path: Path, duck: Place) -> None:
    release = release_of(duck, table="t")
    release.write(tmp_path / "r.csv")
    release.write(tmp_path / "r.csv", force=True)


# -- what fails -----------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt(), CertificateError("it shows k = 1")])
def test_nothing_is_left_where_the_table_is_not_certified(
    place: Place, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*given: Any) -> Any:
        assert place.leftovers() != []
        raise error

    monkeypatch.setattr(databases, "count_cells", failing)
    with pytest.raises(type(error)):
        release_of(place, table="t").write_table("r", force=True)
    assert place.leftovers() == []
    assert place.rows("SELECT * FROM r") == [(7,)]


def test_a_table_whose_certificate_cannot_be_kept_gets_no_name(place: Place) -> None:
    def full(certificate: Certificate) -> None:
        raise OutputError(f"the disk is full, and {certificate.rows} rows are certified nowhere")

    with pytest.raises(OutputError, match="and 60 rows are certified nowhere"):
        release_of(place, table="t").write_table("r", force=True, keep=full)
    assert place.leftovers() == []
    assert place.rows("SELECT * FROM r") == [(7,)]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("is_done", [False, True])
def test_nothing_is_lost_where_the_swap_fails(
    place: Place, error: type[BaseException], is_done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    renaming = _Catalogue.rename

    def failing(self: _Catalogue, *given: Any) -> None:
        if is_done:
            renaming(self, *given)
        raise error("no more")

    monkeypatch.setattr(_Catalogue, "rename", failing)
    with pytest.raises((error, OutputError)):
        release_of(place, table="t").write_table("r", force=True)
    assert place.leftovers() == []
    assert place.rows("SELECT * FROM r") == [(7,)]
    assert place.rows("SELECT * FROM t") == sorted(PEOPLE)


def test_nothing_is_left_where_writing_is_interrupted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = release_of(place, table="t")
    connection = release.instance.table.store.database.connection  # type: ignore[attr-defined]
    creating = type(connection).create_table

    def interrupted(self: Any, *given: Any, **named: Any) -> None:
        creating(self, *given, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(connection), "create_table", interrupted)
    with pytest.raises(KeyboardInterrupt):
        release.write_table("new")
    assert place.leftovers() == []


def test_a_lost_connection_does_not_leave_a_table(
    postgres: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting = databases.count_cells

    def cutting(*given: Any) -> Any:
        counted = counting(*given)
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
        postgres.rows(f"{query} pg_backend_pid() AND datname = current_database()")
        return counted

    monkeypatch.setattr(databases, "count_cells", cutting)
    with pytest.raises(OutputError, match="takes no table 'new'"):
        release_of(postgres, table="t").write_table("new")
    assert postgres.leftovers() == []
    assert "new" not in postgres.tables()


@pytest.mark.parametrize("name", ["t", "T", "main.t"])
def test_the_command_says_in_one_sentence_that_the_source_is_not_replaced(
    lite: Place, tmp_path: Path, name: str
) -> None:
    data = f"name: t\ndata: {{source: '{lite.url}', table: t}}{CONFIG}"
    (tmp_path / "t.yaml").write_text(data)
    run(tmp_path, "run", "t.yaml", "--quiet")
    code, told = called(tmp_path, "export", "results", "1", "--to-table", name, "--force")
    assert code == 2
    assert f"{name!r} is the table that is read" in told
    assert len(told.strip().splitlines()) == 1
    assert lite.rows("SELECT * FROM t") == sorted(PEOPLE)
    assert not list(tmp_path.glob("*.certificate.json"))
