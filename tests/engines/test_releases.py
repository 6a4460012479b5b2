"""Releases of rows that stay in their files: the bytes and certificates of rows in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from moanon.data.domain import DomainSpec, IntervalSpec, OrderedSpec
from moanon.data.table import digest_files
from moanon.engines import read_table
from moanon.engines import read_table as open_table
from moanon.engines.duck import DuckSession
from moanon.errors import OutputError
from moanon.genome import Instance
from moanon.grouping import NO_GROUP, Grouping
from moanon.release import Release

ROLES = {
    "id": "identifying",
    "age": "quasi",
    "note": "insensitive",
    "sex": "quasi",
    "ill": "sensitive",
    "pay": "insensitive",
}
SPECS: dict[str, DomainSpec] = {
    "age": IntervalSpec(10, (0, 99)),
    "sex": OrderedSpec(("f", "m", '"x, y"')),
}
NOTES = ["", "#x", "a,b", '"', "l1\nl2", "=1+1", "'=2", "-3", "-x", " é ", "NA", "*", "\\N"]
MIXED = (0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1)  # age: 10 steps and missing; sex: 3 and missing


def people(rows: int = 300) -> list[tuple[str, ...]]:
    rng = np.random.default_rng(5)
    found = []
    for number in range(rows):
        age = str(rng.integers(0, 100)) if rng.random() > 0.05 else "?"
        sex = ("f", "m", '"x, y"', "NA")[rng.choice(4, p=[0.4, 0.4, 0.15, 0.05])]
        ill = ("flu", "gout", "=ache", "?", "a;b")[rng.choice(5, p=[0.4, 0.3, 0.1, 0.1, 0.1])]
        note = NOTES[rng.integers(len(NOTES))]
        found.append((str(number), age, note, sex, ill, str(rng.integers(-9, 9) / 2)))
    return found


def write_csv(path: Path) -> Path:
    def cell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if set(text) & set('",\n') else text

    lines = [",".join(map(cell, row)) for row in [tuple(ROLES), *people()]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    return path


def write_parquet(path: Path) -> Path:
    with duckdb.connect() as database:
        database.execute(
            "CREATE TABLE t(id INTEGER, age BIGINT, note VARCHAR, sex VARCHAR, ill VARCHAR, "
            "pay DOUBLE)"
        )
        gap = {"?": None}
        rows = [tuple(gap.get(cell, cell) for cell in row) for row in people()]
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
        # Small groups of rows: an order that DuckDB does not keep would show.
        database.execute(f"COPY t TO '{path}' (FORMAT PARQUET, ROW_GROUP_SIZE 2048)")
    return path


def instances(path: Path, **options: Any) -> tuple[Instance, Instance]:
    given = {"missing": "category", "missing_tokens": ("?", "NA"), **options}
    there = Instance.build(read_table(path, ROLES, **given), SPECS)
    here = Instance.build(open_table(path, ROLES, memory="100MB", **given), SPECS)
    return here, there


def same_files(folder: Path, here: Release, there: Release, ending: str, **options: Any) -> None:
    """Two releases write the same bytes and certificates, in either order."""
    for order in ({"keep_order": True}, {"shuffle": 2**127 + 5}):
        _same_files(folder, here, there, ending, **order, **options)


def _same_files(folder: Path, here: Release, there: Release, ending: str, **options: Any) -> None:
    paths = [folder / f"{name}.{ending}" for name in ("here", "there")]
    for release, path in zip((here, there), paths, strict=True):
        release.write(path, force=True, **options)
    certificates = [
        json.loads(path.with_name(path.name + ".certificate.json").read_text()) for path in paths
    ]
    for certificate, path in zip(certificates, paths, strict=True):
        assert certificate.pop("file") == path.name
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert certificates[0] == certificates[1]


@pytest.fixture(params=["csv", "parquet"], scope="module")
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("people")
    write = write_csv if request.param == "csv" else write_parquet
    return instances(write(folder / f"people.{request.param}"))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("stars", ["absent", "star"])
def test_genomes(tmp_path: Path, both: tuple[Instance, Instance], ending: str, stars: str) -> None:
    here, there = (Release.of(instance, MIXED, k=4) for instance in both)
    assert 0 < there.grouping.suppressed < 100
    same_files(tmp_path, here, there, ending, suppressed=stars)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_spreadsheet_safe(tmp_path: Path, both: tuple[Instance, Instance], ending: str) -> None:
    here, there = (Release.of(instance, MIXED, k=2) for instance in both)
    same_files(tmp_path, here, there, ending, spreadsheet_safe=True)


def test_boxes(tmp_path: Path, both: tuple[Instance, Instance]) -> None:
    # Cells of even ages against odd ones: what a row shows is not said by its blocks.
    releases = []
    for instance in both:
        box = (instance.cells.codes[0] % 2).astype(np.int64)
        box[instance.cells.counts < 4] = NO_GROUP
        sizes = instance.layout.sizes[:, None]
        starts = np.array([[0, 1], [0, 0]])
        stops = np.concatenate([sizes, sizes], axis=1)
        releases.append(Release(Grouping.of_boxes(instance, box, starts, stops)))
    same_files(tmp_path, *releases, "csv")


@pytest.mark.parametrize("stars", ["absent", "star"])
def test_rows_of_one_cell_may_be_in_several_groups(
    tmp_path: Path, both: tuple[Instance, Instance], stars: str
) -> None:
    releases = []
    for instance in both:
        ages, sexes = instance.layout.sizes.tolist()
        sex = instance.cells.codes[1, instance.row_cell].astype(np.int64)
        group = np.where(np.arange(len(sex)) % 2, 0, 1 + sex)  # all together, or by sex
        starts = np.array([[0] * (sexes + 1), [0, *range(sexes)]])
        stops = np.array([[ages] * (sexes + 1), [sexes, *range(1, sexes + 1)]])
        grouping = Grouping.of_rows(instance, group, starts, stops)
        releases.append(Release(grouping.keep(grouping.sizes > 20)))
        assert 0 < releases[-1].grouping.suppressed < 50
    same_files(tmp_path, *releases, "csv", suppressed=stars)


def test_dropped_rows_stay_dropped(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "people.csv")
    here, there = instances(path, missing="drop")
    genome = np.ones(here.layout.bits, dtype=np.uint8)
    genome[1::2] = 0
    assert here.table.rows_dropped > 20
    same_files(tmp_path, Release.of(here, genome), Release.of(there, genome), "csv")
    starred = {"suppressed": "star"}
    same_files(
        tmp_path, Release.of(here, genome, k=5), Release.of(there, genome, k=5), "csv", **starred
    )


def test_shuffled_rows_are_the_same_rows(tmp_path: Path, both: tuple[Instance, Instance]) -> None:
    release = Release.of(both[0], MIXED, k=4)
    files = {seed: tmp_path / f"{seed}.csv" for seed in (1, 2)}
    certificates = [release.write(path, shuffle=seed) for seed, path in files.items()]
    release.write(tmp_path / "plain.csv", keep_order=True)
    texts = [path.read_text() for path in (*files.values(), tmp_path / "plain.csv")]
    assert len(set(texts)) == 3
    with duckdb.connect() as database:
        rows = [
            sorted(map(str, database.execute(f"FROM '{path}'").fetchall()))
            for path in (*files.values(), tmp_path / "plain.csv")
        ]
    assert rows[0] == rows[1] == rows[2]
    assert certificates[0].row_order == "shuffled"
    release.write(tmp_path / "again.csv", shuffle=1)
    assert (tmp_path / "again.csv").read_bytes() == files[1].read_bytes()
    digests = {release.write(tmp_path / f"unknown-{i}.csv").output_digest for i in range(3)}
    assert len(digests) == 3


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_order_of_a_seed_says_nothing_about_that_of_the_source(
    tmp_path: Path, ending: str
) -> None:
    path = write_csv(tmp_path / "people.csv")
    turned = tmp_path / "turned.csv"
    with duckdb.connect() as database:
        options = "header = true, all_varchar = true, nullstr = ['ω'], quote = '\"'"
        rows = f"SELECT * FROM read_csv('{path}', {options}) ORDER BY id::INTEGER DESC"
        database.execute(f"COPY ({rows}) TO '{turned}' (HEADER)")
    files = []
    for source in (path, turned):
        for number, instance in enumerate(instances(source)):
            files.append(tmp_path / f"{source.stem}-{number}.{ending}")
            Release.of(instance, MIXED, k=4).write(files[-1], shuffle=6)
    shown = [
        each.read_text() if ending == "csv" else duckdb.sql(_texts(each)).fetchall()
        for each in files
    ]
    assert shown[0] == shown[1] == shown[2] == shown[3]


def test_labels_that_do_not_fit_beside_a_join_keep_the_order(
    tmp_path: Path, both: tuple[Instance, Instance], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moanon.engines.files._LabelledRows.is_large", True)
    here, there = (Release.of(instance, MIXED, k=4) for instance in both)
    same_files(tmp_path, here, there, "csv")


def test_row_groups_do_not_follow_the_lengths_of_names(tmp_path: Path) -> None:
    roles = {"name": "identifying", "age": "quasi"}
    released = []
    for name in ("a", "a" * 400):
        path = tmp_path / f"{len(name)}.csv"
        path.write_text("name,age\n" + "".join(f"{name},{row % 90}\n" for row in range(140_000)))
        table = open_table(path, roles, memory="100MB")
        release = Release.of(Instance.build(table, {"age": IntervalSpec(10, (0, 99))}), [1] * 9)
        release.write(path.with_suffix(".parquet"), keep_order=True)
        released.append(path.with_suffix(".parquet").read_bytes())
    assert released[0] == released[1]


def test_names_that_differ_in_case_only(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,A,n\n1,x,1\n1,x,2\n")
    roles = {"a": "quasi", "A": "insensitive", "n": "insensitive"}
    releases = [
        Release.of(Instance.build(table, {"a": IntervalSpec()}), [])
        for table in (open_table(path, roles, memory="100MB"), read_table(path, roles))
    ]
    same_files(tmp_path, *releases, "csv")
    with pytest.raises(OutputError, match="columns 'a' and 'A' differ in case only"):
        releases[0].write(tmp_path / "x.parquet")
    assert not (tmp_path / "x.parquet").exists()


def test_stars_that_could_mean_two_things_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,n\n1,*\n2,*\n2,x\n")
    roles = {"a": "quasi", "n": "insensitive"}
    table = open_table(path, roles, memory="100MB")
    release = Release.of(Instance.build(table, {"a": IntervalSpec()}), [0])
    with pytest.raises(OutputError, match=r"2 released rows show '\*' in every cell"):
        release.write(tmp_path / "x.csv", suppressed="star")


def test_a_file_that_cannot_be_written_is_told_and_leaves_nothing(
    tmp_path: Path, both: tuple[Instance, Instance], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = DuckSession.write

    def full(session: DuckSession, sql: str, path: Path) -> None:
        write(session, sql, path)
        raise OSError("No space left on device")

    monkeypatch.setattr(DuckSession, "write", full)
    for instance in both:
        with pytest.raises(OutputError, match="cannot be written: No space left on device"):
            Release.of(instance, MIXED, k=4).write(tmp_path / "x.csv")
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("spoilt", ["[90-99],=1+1,f,flu,1.0\n", "[0-39],x,f,flu\n"])
def test_a_file_that_was_spoilt_is_not_certified(
    tmp_path: Path,
    both: tuple[Instance, Instance],
    monkeypatch: pytest.MonkeyPatch,
    spoilt: str,
) -> None:
    here, there = (Release.of(instance, MIXED, k=4) for instance in both)
    same_files(tmp_path, here, there, "csv", suppressed="star")
    write = DuckSession.write

    def spoil(session: DuckSession, sql: str, path: Path) -> None:
        write(session, sql, path)
        with path.open("a") as stream:
            stream.write(spoilt)

    monkeypatch.setattr(DuckSession, "write", spoil)
    with pytest.raises(Exception, match="does not measure as promised"):
        here.write(tmp_path / "x.csv")
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize("order", [{"keep_order": True}, {"shuffle": 8}])
@pytest.mark.parametrize("name", ["release", "release.parquet", "release.csv"])
def test_a_folder_of_parts_has_the_rows_of_a_file(
    tmp_path: Path,
    both: tuple[Instance, Instance],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    order: dict[str, Any],
) -> None:
    monkeypatch.setattr("moanon.engines.duck.PART_BYTES", 20_000)
    ending = "csv" if name.endswith(".csv") else "parquet"
    for number, instance in enumerate(both):
        release = Release.of(instance, MIXED, k=4)
        (tmp_path / str(number)).mkdir()
        folder = tmp_path / str(number) / name
        certificate = release.write(f"{folder}/", **order)
        whole = release.write(tmp_path / str(number) / f"whole.{ending}", **order)
        parts = sorted(folder.iterdir())
        assert [part.name for part in parts] == [f"part-{i:05}.{ending}" for i in range(len(parts))]
        rows = [row for part in parts for row in duckdb.sql(_texts(part)).fetchall()]
        assert rows == duckdb.sql(_texts(tmp_path / str(number) / f"whole.{ending}")).fetchall()
        assert certificate.values == whole.values
        assert certificate.file == name
        assert certificate.output_digest == digest_files(parts)
        assert {path.name for path in folder.parent.iterdir()} == {
            name,
            f"{name}.certificate.json",
            f"whole.{ending}",
            f"whole.{ending}.certificate.json",
        }


def _texts(path: Path) -> str:
    if path.suffix == ".parquet":
        return f"FROM '{path}'"
    return f"FROM read_csv('{path}', all_varchar = true, header = true)"


def test_parts_are_read_as_one_table(tmp_path: Path, both: tuple[Instance, Instance]) -> None:
    release = Release.of(both[0], MIXED, k=4)
    release.write(f"{tmp_path}/parts/")
    roles = {"age": "quasi", "sex": "quasi", "ill": "sensitive"}
    assert open_table(tmp_path / "parts", roles).rows == release.grouping.kept_rows


def test_a_folder_that_exists_is_replaced_only_if_it_holds_parts_alone(
    tmp_path: Path, both: tuple[Instance, Instance]
) -> None:
    release = Release.of(both[1], MIXED, k=4)
    release.write(f"{tmp_path}/parts/", shuffle=1)
    with pytest.raises(OutputError, match="parts exists already"):
        release.write(f"{tmp_path}/parts/", shuffle=1)
    before = (tmp_path / "parts.certificate.json").read_bytes()
    release.write(f"{tmp_path}/parts/", shuffle=1, force=True)
    assert (tmp_path / "parts.certificate.json").read_bytes() == before
    (tmp_path / "parts" / "letter.txt").write_text("dear")
    with pytest.raises(OutputError, match=r"it holds letter\.txt, which is no part of a release"):
        release.write(f"{tmp_path}/parts/", force=True)
    assert len(list(tmp_path.iterdir())) == 2


def test_parts_that_do_not_measure_as_promised_leave_nothing(
    tmp_path: Path, both: tuple[Instance, Instance], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = Release.of(both[0], MIXED, k=4)
    write = DuckSession.write

    def spoil(session: DuckSession, sql: str, path: Path) -> None:
        write(session, sql, path)
        (path / "part-00001.parquet").write_bytes((path / "part-00000.parquet").read_bytes())

    monkeypatch.setattr(DuckSession, "write", spoil)
    with pytest.raises(Exception, match="does not measure as promised"):
        release.write(f"{tmp_path}/parts/")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("{path}", "x.csv cannot be written: No space left on device"),
        (
            "{folder}/spilled/duckdb_temp_storage-0.tmp",
            "x.csv cannot be written: the disk that DuckDB spills to is full",
        ),
    ],
)
def test_the_disk_that_is_full_is_the_one_that_is_told(
    tmp_path: Path, both: tuple[Instance, Instance], where: str, told: str
) -> None:
    release = Release.of(both[0], MIXED, k=4)
    session = release.instance.table.store.session  # type: ignore[attr-defined]
    database = session.database

    class Full:
        def execute(self, sql: str, *given: Any) -> Any:
            if not sql.startswith("COPY"):
                return database.execute(sql, *given)
            target = sql.split(" TO '")[1].split("'")[0]
            path = where.format(path=target, folder=session.folder.parent)
            raise duckdb.IOException(f'IO Error: Could not write "{path}": No space left on device')

        def __getattr__(self, name: str) -> Any:
            return getattr(database, name)

    session.database = Full()
    try:
        with pytest.raises(OutputError, match=told):
            release.write(tmp_path / "x.csv")
    finally:
        session.database = database
    assert not list(tmp_path.iterdir())
