"""Texts that look the same are one value wherever the rows are: same cells, same release."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from moanon.config import Config
from moanon.genome import Instance
from moanon.release import Release

COLUMNS = {
    "age": ["\xa039", "41\u200b", "55", "58 "],
    "sex": ["f", "F ", "m", "M\xad"],
    "city": ["Oslo", "OSLO", "Rome", "rome ", "Ｒome"],
    "ill": ["HIV", "HIV ", "hiv", "H\u200bIV", "flu", "Flu", "N/A", "n/a "],
    "note": ["=1+1", "\uff1d1+1", "Ok", "ok ", "\xa0", "a,b", "N/A"],
}
CONFIG = {
    "columns": {
        "id": {"role": "identifying"},
        "age": {"role": "quasi", "kind": "interval", "granularity": 10, "range": [0, 99]},
        "sex": {"role": "quasi", "kind": "ordered", "order": ["F", "m"]},
        "city": {
            "role": "quasi",
            "kind": "tree",
            "hierarchy": {"group": {"North": ["Oslo"], "South": ["Rome"]}},
        },
        "ill": {"role": "sensitive"},
        "note": {"role": "insensitive"},
    },
}


def people(rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    drawn = {
        name: [texts[i] for i in rng.integers(len(texts), size=rows)]
        for name, texts in COLUMNS.items()
    }
    return pd.DataFrame({"id": [f"{number:03}" for number in range(rows)], **drawn})


def written(folder: Path) -> dict[str, dict[str, str]]:
    """The same rows in several places, as configurations name them."""
    frame = people()
    frame.to_csv(folder / "t.csv", index=False)
    duckdb.from_df(frame).write_parquet(str(folder / "t.parquet"))
    with closing(sqlite3.connect(folder / "t.db")) as database:
        frame.to_sql("people", database, index=False)
    return {
        "csv": {"source": str(folder / "t.csv")},
        "csv by DuckDB": {"source": str(folder / "t.csv"), "memory": "100MB"},
        "parquet": {"source": str(folder / "t.parquet")},
        "parquet by DuckDB": {"source": str(folder / "t.parquet"), "memory": "100MB"},
        "database": {"source": f"sqlite://{folder / 't.db'}", "table": "people"},
    }


def instance_of(data: dict[str, Any]) -> Instance:
    common = {"missing": "category", "missing_tokens": ["", "N/A"], "normalize": True}
    return Config.from_dict({"data": {**common, **data}, **CONFIG}).instance()


def released(instance: Instance, path: Path, *, safe: bool) -> tuple[list[str], int]:
    """The rows of a release in some order, and the cells of it that a spreadsheet would run."""
    genome = np.ones(instance.layout.bits, dtype=np.uint8)
    certificate = Release.of(instance, genome).write(path, spreadsheet_safe=safe)
    return sorted(path.read_text().splitlines()), certificate.formula_cells


def places(folder: Path) -> dict[str, Instance]:
    pytest.importorskip("ibis", reason="ibis is not installed: pip install 'moanon[engines]'")
    return {place: instance_of(data) for place, data in written(folder).items()}


def test_a_table_has_the_same_values_and_cells_wherever_it_is(tmp_path: Path) -> None:
    found = places(tmp_path)
    for name, values in {
        "age": ("39", "41", "55", "58"),
        "sex": ("F", "m"),
        "city": ("Oslo", "Rome"),
        "ill": ("flu", "hiv"),
        "note": ("=1+1", "a,b", "ok"),
    }.items():
        profiles = [instance.table.columns[name] for instance in found.values()]
        assert {profile.values for profile in profiles} == {values}
        assert len({(*profile.counts.tolist(), profile.missing) for profile in profiles}) == 1
    cells = [instance.cells for instance in found.values()]
    assert len({(each.codes.tobytes(), each.counts.tobytes()) for each in cells}) == 1
    assert len({each.sensitive[0].counts.tobytes() for each in cells}) == 1


@pytest.mark.parametrize("safe", [False, True])
def test_a_release_shows_the_same_wherever_the_rows_are(tmp_path: Path, safe: bool) -> None:
    shown = {
        place: released(instance, tmp_path / f"{place}.csv", safe=safe)
        for place, instance in places(tmp_path).items()
    }
    lines, formulas = shown["csv"]
    assert formulas > 0
    ill = {line.split(",")[3] for line in lines} - {"ill"}
    assert ill == {"flu", "hiv", "(missing)"}
    assert all(each == (lines, formulas) for each in shown.values())


def test_typed_files_hold_nothing_of_other_spellings(tmp_path: Path) -> None:
    for place, instance in places(tmp_path).items():
        path = tmp_path / f"{place}.parquet"
        genome = np.ones(instance.layout.bits, dtype=np.uint8)
        Release.of(instance, genome).write(path)
        found = duckdb.sql(f"SELECT DISTINCT ill, note FROM '{path}'").fetchall()
        assert {ill for ill, _ in found} == {"flu", "hiv", "(missing)"}
        assert {note for _, note in found} == {"=1+1", "a,b", "ok", None}


def test_a_new_table_of_the_database_has_them_too(tmp_path: Path) -> None:
    instance = places(tmp_path)["database"]
    genome = np.ones(instance.layout.bits, dtype=np.uint8)
    Release.of(instance, genome).write_table("released")
    with closing(sqlite3.connect(tmp_path / "t.db")) as database:
        found = database.execute("SELECT DISTINCT ill, note FROM released").fetchall()
    assert {note for _, note in found} == {"=1+1", "a,b", "ok", None}
    assert {ill for ill, _ in found} == {"flu", "hiv", "(missing)"}
