"""Rows of a database: measured and released as the same rows of a CSV file are."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import chdir, closing, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from moanon.cli import main
from moanon.config import Config
from moanon.data.domain import IntervalSpec, OrderedSpec
from moanon.engines import databases, read_table
from moanon.errors import ConfigError, DataError, MoanonError
from moanon.experiment import runner
from moanon.genome import Instance
from moanon.release import Release
from tests.engines.servers import PASSWORD, Server, find_programs, running_server
from tests.release.twins import draw_twins, public_files, texts

pytest.importorskip("ibis", reason="ibis is not installed: pip install 'moanon[engines]'")
psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")

COLUMNS = """
columns:
  id: {role: identifying}
  age: {role: quasi, kind: interval, granularity: 10, range: [0, 99]}
  sex: {role: quasi, kind: ordered, order: [f, m]}
  ill: {role: sensitive}
  note: {role: insensitive}
  pay: {role: insensitive}
problem: {preset: k-suppression, eta: 0.1}
search: {evaluations: 300}
output: {dir: results, plots: false, report: false}
"""
NOTES = ["", "a,b", '"x"', "#1", "=1+1", "l1\nl2", "é"]


def people(rows: int = 400) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(11)
    return [
        (
            number,
            int(rng.integers(0, 100)) if rng.random() > 0.03 else None,
            "fm"[rng.integers(2)],
            ("flu", "gout", "=ache", None)[rng.choice(4, p=[0.5, 0.3, 0.15, 0.05])],
            NOTES[rng.integers(len(NOTES))],
            float(rng.integers(0, 50)) / 2,
        )
        for number in range(rows)
    ]


def write_csv(path: Path) -> Path:
    def cell(value: Any) -> str:
        text = "" if value is None else str(value).removesuffix(".0")  # as floats are written
        return '"' + text.replace('"', '""') + '"' if set(text) & set('",\n') else text

    rows = [("id", "age", "sex", "ill", "note", "pay"), *people()]
    path.write_text("\n".join(",".join(map(cell, row)) for row in rows) + "\n", newline="")
    return path


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    programs = find_programs()
    if programs is None:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL is not installed")
        pytest.skip("PostgreSQL is not installed")
    with pytest.MonkeyPatch.context() as patch, running_server(programs) as server:
        patch.setenv("PGPASSWORD", PASSWORD)
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE people(id integer, age integer, sex text, ill text, note text, "
                "pay double precision)"
            )
            with connection.cursor() as cursor:
                # The database keeps rows in no order that anybody knows.
                rows = sorted(people(), key=lambda row: row[0] * 7919 % 401)
                cursor.executemany("INSERT INTO people VALUES (%s, %s, %s, %s, %s, %s)", rows)
            connection.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
            connection.execute("GRANT SELECT ON people TO reader")
        yield server


@pytest.fixture(autouse=True)
def _known_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)


def tables(server: Server, csv: Path, **options: Any) -> tuple[Any, Any]:
    roles = {
        "id": "identifying",
        "age": "quasi",
        "sex": "quasi",
        "ill": "sensitive",
        "note": "insensitive",
        "pay": "insensitive",
    }
    given = {"missing": "category", **options}
    return (
        read_table(server.url(), roles, table="people", order_by=["id"], **given),
        read_table(csv, roles, **given),
    )


def config_files(folder: Path, server: Server) -> tuple[Path, Path]:
    write_csv(folder / "people.csv")
    data = {
        "database": f"{{source: '{server.url()}', table: people, order_by: [id], "
        "missing: category}",
        "file": "{source: people.csv, missing: category}",
    }
    for name, section in data.items():
        text = f"name: {name}\ndata: {section}{COLUMNS.replace('results', f'results-{name}')}"
        (folder / f"{name}.yaml").write_text(text)
    return folder / "database.yaml", folder / "file.yaml"


def run(folder: Path, *arguments: str) -> str:
    code, output = called(folder, *arguments)
    assert code == 0, output
    return output


def called(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and output of a command."""
    captured = io.StringIO()
    with chdir(folder), redirect_stdout(captured), redirect_stderr(captured):
        code = main(list(arguments))
    assert PASSWORD not in captured.getvalue()
    return code, captured.getvalue()


def test_a_database_is_checked_searched_and_released_as_a_file(
    tmp_path: Path, server: Server
) -> None:
    config_files(tmp_path, server)
    checks = [run(tmp_path, "check", f"{name}.yaml") for name in ("database", "file")]
    assert checks[0] == checks[1]
    for name in ("database", "file"):
        run(tmp_path, "run", f"{name}.yaml", "--quiet")
    fronts = [(tmp_path / f"results-{n}" / "front.csv").read_bytes() for n in ("database", "file")]
    assert fronts[0] == fronts[1]
    for order in (["--shuffle", "4"], ["--keep-order"]):
        for ending in ("csv", "parquet"):
            for name in ("database", "file"):
                out = ["--out", f"{name}.{ending}", "--force", *order]
                run(tmp_path, "export", f"results-{name}", "3", *out)
        assert (tmp_path / "database.csv").read_bytes() == (tmp_path / "file.csv").read_bytes()
        rows = [
            duckdb.sql(f"SELECT * EXCLUDE (pay) FROM '{tmp_path}/{name}.parquet'").fetchall()
            for name in ("database", "file")  # pay is a number in one and a text in the other
        ]
        assert rows[0] == rows[1]
    run(tmp_path, "export", "results-database", "3", "--to-table", "released")
    written, file = (
        json.loads((tmp_path / f"{name}.certificate.json").read_text())
        for name in ("released", "database.csv")
    )
    assert written["row_order"] == "unordered"
    for certificate in (written, file):
        for key in ("file", "row_order", "digests", "formula_cells"):
            certificate.pop(key)
    assert written == file
    with psycopg.connect(server.url()) as connection:
        rows = connection.execute("SELECT * FROM released").fetchall()
        names = {name for (name,) in connection.execute("SELECT tablename FROM pg_tables")}
    assert len(rows) == written["rows"]
    assert not [name for name in names if name.startswith("moanon_")]
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert PASSWORD.encode() not in everything
    originals = {"database": server.url(), "file": "people.csv"}
    measured = [
        json.loads(run(tmp_path, "measure", place, "file.csv", "--config", f"{n}.yaml", "--json"))
        for n, place in originals.items()
    ]
    assert measured[0]["measures"] == measured[1]["measures"]
    code, told = called(tmp_path, "export", "results-database", "3", "--to-table", "people")
    assert code == 2
    assert "is the table that is read" in told


@pytest.mark.parametrize("engine", [sqlite3, duckdb], ids=["sqlite", "duckdb"])
def test_another_database_that_ibis_connects_to(tmp_path: Path, engine: Any) -> None:
    with closing(engine.connect(tmp_path / "people.db")) as connection:
        connection.execute(
            "CREATE TABLE people(id integer, age integer, sex text, ill text, note text, pay real)"
        )
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", people()[::-1])
        connection.commit()
    roles = {"age": "quasi", "sex": "quasi", "ill": "sensitive", "note": "insensitive"}
    specs = {"age": _ages(), "sex": OrderedSpec(("f", "m"))}
    options = {"table": "people", "order_by": ["id"]}
    url = f"{engine.__name__.removesuffix('3')}://{tmp_path}/people.db"
    sources = {url: options, write_csv(tmp_path / "people.csv"): {}}
    written = []
    for source, more in sources.items():
        table = read_table(source, roles, missing="category", **more)
        release = Release.of(Instance.build(table, specs), [0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1], k=5)
        texts = []
        for order in ({"keep_order": True}, {"shuffle": 4}):
            release.write(tmp_path / "r.csv", force=True, **order)
            texts.append((tmp_path / "r.csv").read_bytes())
        written.append(texts)
    assert written[0] == written[1]


def test_rows_without_an_order_are_sorted_by_what_they_show(tmp_path: Path, server: Server) -> None:
    roles = {"age": "quasi", "ill": "sensitive"}
    table = read_table(
        server.url(), roles, query="SELECT age, ill FROM people WHERE age < 50 AND ill <> ''"
    )
    instance = Instance.build(table, {"age": _ages()})
    release = Release.of(instance, [0, 1, 0, 1, 0, 0, 0, 0, 0])
    certificate = release.write(tmp_path / "x.csv", keep_order=True)
    assert certificate.row_order == "sorted"
    header, *lines = (tmp_path / "x.csv").read_text().splitlines()
    assert header == "age,ill"
    assert lines == sorted(lines)


def _ages() -> Any:
    return IntervalSpec(10, (0, 99))


@pytest.mark.parametrize("missing", ["category", "drop"])
def test_profiles_and_cells_are_those_of_the_file(
    tmp_path: Path, server: Server, missing: str
) -> None:
    here, there = tables(server, write_csv(tmp_path / "people.csv"), missing=missing)
    for name in ("age", "sex", "ill"):
        one, two = here.columns[name], there.columns[name]
        assert (one.values, one.missing) == (two.values, two.missing)
        assert one.counts.tolist() == two.counts.tolist()
    assert (here.rows, here.rows_dropped) == (there.rows, there.rows_dropped)


# -- what can go wrong ---------------------------------------------------------------------------


def refusal(source: str, **options: Any) -> str:
    with pytest.raises(MoanonError) as caught:
        read_table(source, {"age": "quasi", "ill": "sensitive"}, **options)
    assert PASSWORD not in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_wrong_password(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "wrong")
    told = refusal(server.url(), table="people")
    assert "cannot be reached" in told
    assert "password authentication failed" in told


def test_a_password_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD")
    url = server.url().replace("owner@", "owner:${SECRET_WORD}@")
    assert "the environment variable SECRET_WORD of the address is not set" in refusal(
        url, table="people"
    )
    monkeypatch.setenv("SECRET_WORD", PASSWORD)
    table = read_table(url, {"sex": "quasi"}, table="people")
    assert table.rows == 400
    assert PASSWORD not in table.source


def test_a_password_in_the_address_is_refused_and_not_repeated(server: Server) -> None:
    url = server.url().replace("owner@", "owner:geheim123@")
    told = refusal(url, table="people")
    assert "holds a password" in told
    assert "geheim123" not in told
    data = {"source": url, "table": "people"}
    with pytest.raises(ConfigError) as caught:
        Config.from_dict({"data": data, "columns": {"age": {"role": "quasi", "kind": "interval"}}})
    assert "must not hold a password" in str(caught.value)
    assert "geheim123" not in str(caught.value)


@pytest.mark.parametrize("parameter", ["password", "sslpassword", "access_token"])
def test_a_password_among_the_parameters_is_refused_and_not_repeated(parameter: str) -> None:
    told = refusal(f"postgres://127.0.0.1:1/x?user=reader&{parameter}=geheim123", table="people")
    assert "holds a password" in told
    assert "geheim123" not in told


def test_a_service_file(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = tmp_path / "services"
    service.write_text(
        f"[clinic]\nhost=127.0.0.1\nport={server.port}\nuser=owner\ndbname=postgres\n"
        f"password={PASSWORD}\n"
    )
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv("PGSERVICEFILE", str(service))
    assert read_table("postgres://?service=clinic", {"sex": "quasi"}, table="people").rows == 400


def test_a_table_that_is_not_there(server: Server) -> None:
    assert "there is no table 'persons'" in refusal(server.url(), table="persons")


def test_a_column_that_is_not_there(server: Server) -> None:
    with pytest.raises(DataError, match=r"has no column 'agee' \(did you mean 'age'\?\)"):
        read_table(server.url(), {"agee": "quasi"}, table="people")


def test_a_missing_permission(server: Server) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS hidden(age integer, ill text)")
    told = refusal(server.url("reader"), table="hidden")
    assert "permission denied" in told


def test_a_table_that_may_not_be_written(server: Server) -> None:
    table = read_table(
        server.url("reader"),
        {"sex": "quasi", "ill": "sensitive"},
        table="people",
        missing="category",
    )
    from moanon.data.domain import OrderedSpec

    release = Release.of(Instance.build(table, {"sex": OrderedSpec(("f", "m"))}), [1])
    with pytest.raises(MoanonError, match="takes no table 'mine': permission denied"):
        release.write_table("mine")


def test_neither_a_table_nor_a_query(server: Server) -> None:
    assert "needs a table or a query" in refusal(server.url())


def test_a_table_of_a_file_is_refused(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "people.csv")
    with pytest.raises(DataError, match="table is for databases, and the source is none"):
        read_table(path, {"age": "quasi"}, table="people")


def test_a_server_that_is_gone_in_the_middle(tmp_path: Path, server: Server) -> None:
    here, _ = tables(server, write_csv(tmp_path / "people.csv"))
    instance = Instance.build(here, {"age": _ages(), "sex": OrderedSpec(("f", "m"))})
    release = Release.of(instance, np.zeros(instance.layout.bits, dtype=np.uint8))
    server.stop()
    try:
        with pytest.raises(MoanonError, match="cannot be read") as caught:
            release.write(tmp_path / "x.csv")
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "x.csv").exists()
        assert "cannot be reached" in refusal(server.url(), table="people")
    finally:
        server.restart()


@contextmanager
def killed_while(server: Server, statement: str) -> Iterator[None]:
    """Have rows of the view `braked` wait in statements like this one, and kill who waits there."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CREATE TABLE brake(pattern text)")
        connection.execute("INSERT INTO brake VALUES (%s)", [statement])
        connection.execute(
            "CREATE FUNCTION wait_at_brake() RETURNS boolean VOLATILE LANGUAGE plpgsql AS "
            "'BEGIN IF EXISTS (SELECT FROM brake WHERE current_query() ILIKE pattern OR EXISTS "
            "(SELECT FROM pg_cursors WHERE statement ILIKE pattern)) THEN PERFORM pg_sleep(60); "
            "END IF; RETURN true; END'"
        )
        connection.execute("CREATE VIEW braked AS SELECT * FROM people WHERE wait_at_brake()")

    def kill() -> None:
        query = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        with psycopg.connect(server.url(), autocommit=True) as connection:
            while not (waiting := connection.execute(query).fetchall()):
                time.sleep(0.02)
        os.kill(waiting[0][0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        yield
        killer.join(30)
        assert not killer.is_alive()
    finally:
        with connected_again(server) as connection:
            connection.execute("DROP VIEW braked; DROP FUNCTION wait_at_brake; DROP TABLE brake")


def connected_again(server: Server) -> Any:
    """Connect as soon as the server has recovered from the loss of one of its processes."""
    for _ in range(300):
        try:
            return psycopg.connect(server.url(), autocommit=True)
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise AssertionError("the server does not come back")


@pytest.mark.parametrize(
    ("statement", "command"),
    [
        ("%group by%", ["check", "braked.yaml"]),
        pytest.param(
            "%label0%",
            ["export", "results-file", "3", "--out", "x.csv"],
            marks=pytest.mark.slow,
        ),
        ('%"moanon_%label0%', ["export", "results-file", "3", "--to-table", "half"]),
    ],
    ids=["cells", "file", "table"],
)
def test_a_process_of_the_server_that_is_killed_in_the_middle(
    tmp_path: Path, server: Server, statement: str, command: list[str]
) -> None:
    config_files(tmp_path, server)
    config = (tmp_path / "database.yaml").read_text().replace("table: people", "table: braked")
    (tmp_path / "braked.yaml").write_text(config)
    with killed_while(server, statement):
        if command[0] == "export":
            run(tmp_path, "run", "braked.yaml", "--quiet", "--out", "results-file")
        code, told = called(tmp_path, *command)
    assert code == 2
    assert len(told.strip().splitlines()) == 1
    assert "server closed the connection" in told or "terminat" in told
    assert not list(tmp_path.glob("x.csv*"))
    assert not list(tmp_path.glob("half*"))
    with psycopg.connect(server.url()) as connection:
        names = {name for (name,) in connection.execute("SELECT tablename FROM pg_tables")}
    assert not [name for name in names if name == "half" or name.startswith("moanon_")]


def test_a_server_that_is_gone_during_a_search_is_missed_only_by_the_release(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_files(tmp_path, server)
    run(tmp_path, "run", "file.yaml", "--quiet")
    searching = runner.run_search

    def stopping(*given: Any, **named: Any) -> Any:
        server.stop()
        return searching(*given, **named)

    monkeypatch.setattr(runner, "run_search", stopping)
    try:
        run(tmp_path, "run", "database.yaml", "--quiet")  # cells are all that it needs
        code, told = called(tmp_path, "export", "results-database", "3", "--out", "x.csv")
    finally:
        server.restart()
    fronts = [(tmp_path / f"results-{n}" / "front.csv").read_bytes() for n in ("database", "file")]
    assert fronts[0] == fronts[1]
    assert code == 2
    assert "cannot be reached" in told
    assert len(told.strip().splitlines()) == 1
    assert not list(tmp_path.glob("x.csv*"))


def test_a_server_that_is_gone_before_a_table_is_measured(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_files(tmp_path, server)
    run(tmp_path, "run", "database.yaml", "--quiet")
    counting = databases.count_cells

    def stopping(*given: Any) -> Any:
        server.stop()
        return counting(*given)

    monkeypatch.setattr(databases, "count_cells", stopping)
    try:
        code, told = called(tmp_path, "export", "results-database", "3", "--to-table", "half")
    finally:
        server.restart()
    assert code == 2
    assert len(told.strip().splitlines()) == 1
    assert not list(tmp_path.glob("half*"))
    with psycopg.connect(server.url()) as connection:
        names = {name for (name,) in connection.execute("SELECT tablename FROM pg_tables")}
    assert "half" not in names
    (left,) = [name for name in names if name.startswith("moanon_")]
    assert f"the table public.{left} may be left: drop it" in told
    with psycopg.connect(server.url()) as connection:
        connection.execute(f"DROP TABLE {left}")


@pytest.mark.parametrize("seed", range(3))
def test_twins_in_a_database_have_the_same_public_files(
    server: Server, tmp_path: Path, seed: int
) -> None:
    twins, found = draw_twins(seed), []
    for number, frame in enumerate(twins.tables):
        name = f"twin_{seed}_{number}"
        rows = frame.astype(object).where(frame.notna(), None)
        rows = rows.assign(seen=frame["seen"].map(str), more=texts(frame)["more"])
        with psycopg.connect(server.url(), autocommit=True) as connection:
            kind = "integer" if frame["pay"].dtype.kind == "i" else "double precision"
            connection.execute(
                f"CREATE TABLE {name}(name text, age integer, town text, ill text, pay {kind}, "
                "note text, seen text, more text)"
            )
            with connection.cursor() as cursor:
                statement = f"INSERT INTO {name} VALUES ({', '.join(['%s'] * 8)})"
                cursor.executemany(statement, rows.values.tolist())
        instance = twins.instance(frame, source=server.url(), table=name)
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS released")
        found.append(public_files(twins, instance, tmp_path / str(number)))
    assert found[0] == found[1]
