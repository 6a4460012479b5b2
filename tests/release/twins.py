"""Pairs of tables that no published file may tell apart.

Twins have the same released rows. They differ in names, in sensitive and insensitive values of
suppressed rows, and in the quasi-identifiers of suppressed rows as far as domains stay the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from moanon import Hierarchy, Instance, IntervalSpec, OrderedSpec, Release, TreeSpec, read_table
from moanon.baselines import find_baseline
from moanon.data.domain import DomainSpec
from moanon.data.rules import rule_of
from moanon.engines.databases import RowsInDatabase
from moanon.grouping import Grouping
from moanon.output.summary import summary_html
from moanon.release.bucketized import BucketizedRelease
from tests.release.tables import apply_to

TOWNS = Hierarchy.from_nested("any", {"north": ["a", "b"], "south": {"x": ["c", "d"], "y": ["e"]}})
ILLS = ("flu", "gout", "hiv", "=ache", 'a "b", c', "ulcer", "só")
GUESSED = (*ILLS, "new", " late")
ROLES = {
    "name": "identifying",
    "age": "quasi",
    "town": "quasi",
    "ill": "sensitive",
    "pay": "sensitive",
    "note": "insensitive",
    "seen": "insensitive",
}
#: Where rows can be besides frames and Parquet files, without a type for each column. Under a limit
#: of memory the rows of a text file stay there.
TEXTS = ("csv", "csv out of core", "xlsx", "sqlite")
PLACES = ("frame", "parquet", *TEXTS)


@dataclass(frozen=True)
class Kind:
    """A kind of column.

    Attributes
    ----------
    values, others : tuple
        What rows hold, and what suppressed rows of the second table may hold besides. The first of
        `others` comes early, so that it is the first row's where that is suppressed.
    stored : pyarrow.DataType
        Type in files and databases that have a schema.
    dtype : object
        Type in frames; None leaves it to pandas, which goes by the values.
    """

    values: tuple[Any, ...]
    others: tuple[Any, ...]
    stored: pa.DataType
    dtype: Any = None


EAST = timezone(timedelta(hours=2))
DAY = datetime(2020, 1, 1)
#: Kinds of the column "more", by seed. Some have no value in released rows; they are insensitive.
KINDS = {
    "whole": Kind((1, 2, 3), (None, 3.5, 7.0), pa.float64()),
    "objects": Kind((1, 2, 3), (None, 2**63, -(2**70)), pa.decimal128(38, 0), object),
    "truth": Kind((True, False), (None, True), pa.bool_(), object),
    "decimal": Kind(
        (Decimal(100), Decimal("2.5")),
        (Decimal("100.000"), Decimal("1E+2"), Decimal("2.50"), None),
        pa.decimal128(12, 4),
        object,
    ),
    "zoned time": Kind(
        (time(1, tzinfo=UTC), time(2, tzinfo=UTC)), (time(3, tzinfo=EAST), None), pa.string()
    ),
    "unsigned": Kind((1, 2), (2**63 + 1, 0), pa.uint64(), "uint64"),
    "nanoseconds": Kind(
        (pd.Timestamp(DAY), pd.Timestamp(DAY + timedelta(hours=1))),
        (pd.Timestamp(DAY) + pd.Timedelta(1, "ns"), pd.NaT),
        pa.timestamp("ns"),
        "M8[ns]",
    ),
    "no number": Kind((None,), (5,), pa.int64(), "Int64"),
    "no fraction": Kind((None,), (-np.inf, 0.5), pa.float64(), "float64"),
    "no date": Kind((None,), (DAY.date(),), pa.date32(), object),
    "no time": Kind((pd.NaT,), (pd.Timestamp(DAY),), pa.timestamp("us"), "M8[us]"),
    "no instant": Kind(
        (pd.NaT,), (pd.Timestamp(DAY, tz="UTC"),), pa.timestamp("us", "UTC"), "M8[us, UTC]"
    ),
    "no truth": Kind((None,), (True,), pa.bool_(), "boolean"),
}


@dataclass(frozen=True)
class Twins:
    """Two tables, and what is done to both.

    Attributes
    ----------
    tables : pair of DataFrame
    specs, distances : mapping of str to DomainSpec
        Of quasi-identifiers, and of sensitive columns that have an order or a tree.
    recoding : {"genome", "boxes"}
    suppressed : array (rows,) of bool
        The rows that no release of them shows.
    k : int or None
        Smallest group that is kept, where groups are suppressed by size alone.
    seed : int
        What else is drawn.
    missing : {"category", "error"}
    kind : str
        One of `KINDS`.
    """

    tables: tuple[pd.DataFrame, pd.DataFrame]
    specs: Mapping[str, DomainSpec]
    distances: Mapping[str, DomainSpec]
    recoding: str
    suppressed: np.ndarray
    k: int | None
    seed: int
    missing: str
    kind: str

    @cached_property
    def original(self) -> Instance:
        """The first table, from its frame."""
        return self.instance(self.tables[0])

    def instance(self, frame: pd.DataFrame, **source: Any) -> Instance:
        """A table with its domains."""
        can_be_sensitive = self.seed % 2 and not self.kind.startswith("no ")
        roles = {**ROLES, "more": "sensitive" if can_be_sensitive else "insensitive"}
        table = read_table(source.pop("source", frame), roles, missing=self.missing, **source)
        return Instance.build(table, self.specs, distances=self.distances)

    def release(self, instance: Instance) -> Release:
        """Apply the same recoding: what it keeps are the cells of rows that are not suppressed."""
        first = self.original
        kept = {tuple(c) for c in first.cells.codes[:, first.row_cell[~self.suppressed]].T.tolist()}
        grouping = _grouping(first, self.recoding, self.seed)
        box_of: dict[tuple[int, ...], int] = {}
        assert grouping.cell_group is not None
        for cell, group in zip(first.cells.codes.T.tolist(), grouping.cell_group, strict=True):
            if tuple(cell) in kept:
                box_of[tuple(cell)] = int(group)
        found = [box_of.get(tuple(cell), -1) for cell in instance.cells.codes.T.tolist()]
        if self.recoding == "genome":
            mine = Grouping.of_genome(instance, grouping.genome)
            assert mine.cell_group is not None
            keeps = np.zeros(len(mine), dtype=bool)
            keeps[mine.cell_group[np.array(found) >= 0]] = True
            return self._promising(Release(mine.keep(keeps)))
        used = sorted(set(found) - {-1})
        place = {box: number for number, box in enumerate(used)} | {-1: -1}
        boxes = np.array([place[box] for box in found])
        starts, stops = grouping.starts[:, used], grouping.stops[:, used]
        return self._promising(Release(Grouping.of_boxes(instance, boxes, starts, stops)))

    @staticmethod
    def _promising(release: Release) -> Release:
        return replace(release, promises=(("k", 1.0), ("t_equal", 1.0)))


def draw_twins(seed: int) -> Twins:
    """Draw a pair of tables with at least one row that is suppressed and one that is not."""
    kind = list(KINDS)[seed % len(KINDS)]
    while True:
        rng = np.random.default_rng(seed)
        found = _draw(rng, seed, kind)
        if found is not None:
            return found
        seed += 2**32


def _draw(rng: np.random.Generator, seed: int, kind: str) -> Twins | None:
    rows = int(rng.integers(6, 40))
    frame = pd.DataFrame(
        {
            "name": [f"n{i}" for i in range(rows)],
            "age": _ages(rng, rows),
            "town": [TOWNS.leaves[i] for i in rng.integers(0, 5, rows)],
            "ill": [ILLS[i] for i in rng.integers(0, int(rng.integers(1, 5)), rows)],
            "pay": _pays(rng, rows),
            "note": _notes(rng, rows),
            "seen": _days(rng, rows),
        }
    )
    missing = str(rng.choice(["category", "error"]))
    if kind.startswith("no "):
        missing = "category"
    values = KINDS[kind].values
    frame["more"] = _column(kind, [values[i] for i in rng.integers(0, len(values), rows)])
    if missing == "category":
        for name in ("town", "ill", "note"):
            frame.loc[rng.random(rows) < 0.1, name] = None
    specs, distances = _specs(rng), _distances(rng)
    recoding = str(rng.choice(["genome", "boxes"]))
    nothing = np.zeros(rows, dtype=bool)
    twins = Twins((frame, frame), specs, distances, recoding, nothing, None, seed, missing, kind)
    grouping = _grouping(twins.original, recoding, seed)
    k = int(rng.integers(1, grouping.sizes.max() + 1))
    keeps, by_size = grouping.sizes >= k, rng.random() < 0.5
    if not by_size:
        keeps &= rng.random(len(keeps)) < 0.8
    suppressed = ~np.append(keeps, False)[grouping.row_group]
    if suppressed.all() or not suppressed.any():
        return None
    twins = replace(twins, suppressed=suppressed, k=k if by_size else None)
    other = _changed(rng, frame, suppressed, missing, kind)
    moved = _moved(rng, other, suppressed)
    if not by_size and _can_move(twins, twins.instance(moved)):
        other = moved
    return replace(twins, tables=(frame, other))


def _ages(rng: np.random.Generator, rows: int) -> list[int]:
    return rng.integers(0, int(rng.integers(2, 40)), rows).tolist()


def _pays(rng: np.random.Generator, rows: int) -> list[Any]:
    """Whole numbers, or floats of which only some are whole."""
    whole = rng.integers(0, 9, rows)
    return whole.tolist() if rng.random() < 0.5 else (whole / int(rng.integers(1, 3))).tolist()


def _notes(rng: np.random.Generator, rows: int) -> list[Any]:
    texts = ["", "plain", "a,b", 'say "x"', "=1", "two\nlines", "x" * 50]
    return [texts[i] for i in rng.integers(0, len(texts), rows)]


def _days(rng: np.random.Generator, rows: int) -> list[Any]:
    return [
        pd.Timestamp("2020-01-01") + pd.Timedelta(days=int(d)) for d in rng.integers(0, 9, rows)
    ]


def _specs(rng: np.random.Generator) -> dict[str, DomainSpec]:
    ages = [
        IntervalSpec(granularity=3),
        IntervalSpec(granularity=5, range=(0, 60)),
        IntervalSpec(granularity=4, range=(5, 25), outside="clamp"),
    ]
    towns: list[DomainSpec] = [
        TreeSpec(TOWNS, sets=bool(rng.integers(2))),
        OrderedSpec(tuple(TOWNS.leaves)),
        TreeSpec(rule_of({"mask": "right"}, IntervalSpec())),
    ]
    return {"age": ages[rng.integers(3)], "town": towns[rng.integers(3)]}


def _distances(rng: np.random.Generator) -> dict[str, DomainSpec]:
    pays: list[DomainSpec | None] = [
        None,
        IntervalSpec(granularity=0.5, type="decimal"),
        IntervalSpec(granularity=0.5, range=(0, 99), type="decimal"),
    ]
    ills: list[DomainSpec | None] = [
        None,
        OrderedSpec(GUESSED),
        TreeSpec(Hierarchy.from_nested("all", {"one": list(ILLS), "two": ["new", " late"]})),
    ]
    drawn = {"pay": pays[rng.integers(3)], "ill": ills[rng.integers(3)]}
    return {name: spec for name, spec in drawn.items() if spec is not None}


def _grouping(instance: Instance, recoding: str, seed: int) -> Grouping:
    """A random generalization, or boxes of Mondrian."""
    rng = np.random.default_rng(seed)
    if recoding == "genome":
        return Grouping.of_genome(instance, instance.layout.sample(1, rng)[0])
    k = int(rng.integers(1, max(2, instance.table.rows // 3)))
    return find_baseline("mondrian").run(instance, k).grouping(instance)


def _column(kind: str, values: list[Any]) -> pd.Series[Any]:
    return pd.Series(values, dtype=KINDS[kind].dtype)


def _changed(
    rng: np.random.Generator, frame: pd.DataFrame, suppressed: np.ndarray, missing: str, kind: str
) -> pd.DataFrame:
    """Other names, and other values in suppressed rows, also such as nobody else has."""
    other = frame.copy()
    other["name"] = [f"other {i}" for i in rng.permutation(len(frame))]
    rows = np.flatnonzero(suppressed)
    values = {
        "ill": [*GUESSED],
        "pay": [0, 1, 2, 8, 40] if frame["pay"].dtype.kind == "i" else [0.5, 1.0, 7.25, 40.125],
        "note": ["unheard of", "", "0", "ö" * 99, "\t"],
        "seen": [pd.Timestamp("1999-12-31"), pd.Timestamp("2020-01-02 10:30")],
    }
    if missing == "category":
        values["ill"].append(None)
        values["note"].append(None)
    for name, choice in values.items():
        for row in rows[rng.random(len(rows)) < 0.7]:
            other.at[row, name] = choice[rng.integers(len(choice))]
    new = [v for v in KINDS[kind].others if missing == "category" or not pd.isna(v)]
    more = frame["more"].tolist()
    for number, row in enumerate(rows):
        more[row] = new[number % len(new)]
    other["more"] = _column(kind, more)
    return other


def _moved(rng: np.random.Generator, frame: pd.DataFrame, suppressed: np.ndarray) -> pd.DataFrame:
    """Give suppressed rows the quasi-identifiers of other suppressed rows."""
    other, rows = frame.copy(), np.flatnonzero(suppressed)
    for name in ("age", "town"):
        other.loc[rows, name] = frame.loc[rng.choice(rows, len(rows)), name].to_numpy()
    return other


def _can_move(twins: Twins, other: Instance) -> bool:
    """Whether domains are the same, and no suppressed row of the second came into a kept group."""
    if twins.original.layout.domains != other.layout.domains:
        return False
    return bool((twins.release(other).grouping.is_kept == ~twins.suppressed).all())


# -- public files ----------------------------------------------------------------------------------


def placed(twins: Twins, frame: pd.DataFrame, place: str, folder: Path) -> Instance:
    """A table as it is read from one of `PLACES`."""
    folder.mkdir(exist_ok=True)
    if place == "frame":
        return twins.instance(frame)
    if place.startswith("csv"):
        core = {"memory": "200MB"} if place.endswith("out of core") else {}
        path = folder / "table.csv"
        texts(frame).to_csv(path, index=False)
        return twins.instance(frame, source=path, name="table", **core)
    if place == "parquet":
        path = folder / "table.parquet"
        parquet.write_table(_with_schema(twins, frame), path)
        return twins.instance(frame, source=path, name="table")
    if place == "xlsx":
        path = folder / "table.xlsx"
        _write_sheet(frame, path)
        return twins.instance(frame, source=path, name="table")
    path = folder / "table.db"
    with closing(sqlite3.connect(path)) as database:
        given = texts(frame).assign(pay=frame["pay"])
        if KINDS[twins.kind].dtype in ("Int64", "float64"):  # SQLite has columns of numbers
            given = given.assign(more=frame["more"])
        given.to_sql("people", database, index=False, if_exists="replace")
    return twins.instance(frame, source=f"sqlite://{path}", table="people")


def texts(frame: pd.DataFrame) -> pd.DataFrame:
    """A table for files and databases without its types, every cell written by itself.

    pandas writes all dates of a column otherwise where one of them has a time of day.
    """

    def written(value: Any) -> str | None:
        whole = isinstance(value, float) and value.is_integer()
        return None if pd.isna(value) else str(int(value) if whole else value)

    more = pd.Series([written(value) for value in frame["more"]], dtype=object)
    return frame.assign(seen=frame["seen"].map(str), pay=frame["pay"].map(str), more=more)


def _with_schema(twins: Twins, frame: pd.DataFrame) -> pa.Table:
    """A table whose column "more" has the type of its kind, whatever it holds."""
    stored = KINDS[twins.kind].stored
    held = texts(frame) if pa.types.is_string(stored) else frame
    values = [None if pd.isna(value) else value for value in held["more"]]
    if pa.types.is_decimal(stored):
        values = [None if value is None else Decimal(value) for value in values]
    table = pa.Table.from_pandas(frame.drop(columns="more"), preserve_index=False)
    return table.append_column("more", pa.array(values, stored))


def _write_sheet(frame: pd.DataFrame, path: Path) -> None:
    """Write a sheet; what no cell can hold becomes a text, and no text a formula."""
    held = (bool, int, float, str, date, datetime)
    book = openpyxl.Workbook()
    book.active.append(list(frame.columns))
    for number, row in enumerate(frame.astype(object).itertuples(index=False), start=2):
        for place, value in enumerate(row, start=1):
            if pd.isna(value):
                continue
            is_held = isinstance(value, held) and not getattr(value, "tzinfo", None)
            is_held = is_held and value not in (np.inf, -np.inf)
            cell = book.active.cell(number, place, value if is_held else str(value))
            cell.data_type = "s" if isinstance(cell.value, str) else cell.data_type
    book.save(path)


def public_files(twins: Twins, instance: Instance, folder: Path) -> dict[str, bytes]:
    """Everything that is published of a table, written in every way that its place allows."""
    folder.mkdir(exist_ok=True)
    release = twins.release(instance)
    seed = twins.seed
    is_in_database = isinstance(instance.table.store, RowsInDatabase)
    stars = bool(seed % 3 == 0) and not is_in_database
    order: dict[str, Any] = {"shuffle": seed} if seed % 2 else {"keep_order": True}
    written = release.write(
        folder / f"r.{'parquet' if seed % 5 == 0 else 'csv'}",
        suppressed="star" if stars else "absent",
        spreadsheet_safe=bool(seed % 7 == 0),
        **order,
    )
    release.write(folder / "types.parquet", **order)
    (folder / "summary.html").write_text(summary_html(release, written, "solution 1 of people"))
    if is_in_database:
        (folder / "t.json").write_text(release.write_table("released").to_json())
    else:
        BucketizedRelease(release).write(folder / "b.csv", **order)
    # A sensitive value that the domains of the first table have no place for would be refused.
    declared = all(d.is_declared for d in twins.original.distances.values())
    can_be_applied = declared and (twins.missing == "error" or not twins.distances)
    if twins.k is not None and twins.recoding == "genome" and can_be_applied:
        applied = apply_to(instance.table, twins.original, release.grouping.genome, k=twins.k)
        applied.write(folder / "a.csv", **order)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def differences(seed: int, place: str) -> list[str]:
    """Public files of two twins that are not the same."""
    twins, found = draw_twins(seed), []
    with TemporaryDirectory() as folder:
        for number, frame in enumerate(twins.tables):
            here = Path(folder) / str(number)
            instance = placed(twins, frame, place, here)
            found.append(public_files(twins, instance, here / "public"))
    first, second = found
    assert first.keys() == second.keys()
    return [name for name, content in first.items() if content != second[name]]


def guesses(seed: int, folder: Path) -> int:
    """How many values of a suppressed row its public files leave, of those an attacker tries."""
    twins = draw_twins(seed)
    row = int(np.flatnonzero(twins.suppressed)[0])
    truth = public_files(twins, twins.original, folder / "truth")
    left = 0
    for number, value in enumerate(GUESSED):
        guess = twins.tables[0].copy()
        guess.loc[row, "ill"] = value
        left += public_files(twins, twins.instance(guess), folder / str(number)) == truth
    return left
