"""Tables and releases that the tests of this folder share."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from moanon import (
    Certificate,
    Hierarchy,
    Instance,
    IntervalSpec,
    OrderedSpec,
    Release,
    Table,
    TreeSpec,
    read_table,
)
from moanon.grouping import Grouping
from moanon.measures.suppression import Suppression
from moanon.recoding import GlobalRecodings
from moanon.release import Outside
from moanon.release.solution import ChosenSolution

SIZES = OrderedSpec(("S", "M", "L"))
TEXTS = ("plain", "=1+1", "'=q", "-x", "a,b", 'say "hi"', "two\nlines", "é", " ", "'", "[1-2]")
LONG_AGO = date(1999, 12, 25)


def shirts(**columns: list[object]) -> Instance:
    """Five rows: two S, two M, one L; other columns are sensitive or by their name's prefix."""
    frame = pd.DataFrame({"size": ["S", "S", "M", "L", "M"], **columns})
    roles = {"size": "quasi"}
    for name in columns:
        roles[name] = {"i": "insensitive", "x": "identifying"}.get(name[0], "sensitive")
    return Instance.build(read_table(frame, roles, missing="category"), {"size": SIZES})


def values_of(path: Path) -> list[tuple[object, ...]]:
    """Rows of a Parquet file."""
    return duckdb.sql(f"SELECT * FROM read_parquet('{path}')").fetchall()


# -- random tables --------------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn) -> Hierarchy:
    """Ragged trees with names of every sort."""
    shape = draw(st.recursive(st.none(), lambda below: st.lists(below, min_size=1, max_size=4)))
    number = iter(range(10_000))

    def named(node: object) -> dict[str, object]:
        name = f"{TEXTS[next(number) % len(TEXTS)]}{next(number)}"
        if node is None:
            return {name: None}
        assert isinstance(node, list)
        below: dict[str, object] = {}
        for child in node:
            below |= named(child)
        return {name: below}

    ((root, below),) = named(shape).items()
    return Hierarchy.from_nested(root, below if isinstance(below, dict) else [])


def interval(values: st.SearchStrategy[str], specs: list[IntervalSpec]) -> st.SearchStrategy:
    return st.tuples(st.sampled_from(specs), st.just(values))


INTEGERS = interval(
    st.integers(-20, 20).map(str),
    [
        IntervalSpec(),
        IntervalSpec(granularity=7),
        IntervalSpec(granularity=6, range=(-20, 20)),
        IntervalSpec(granularity=10, range=(-21, 23), origin=4),
    ],
)
DECIMALS = interval(
    st.integers(-250, 250).map(lambda i: str(i / 100)),
    [
        IntervalSpec(granularity=0.5),
        IntervalSpec(granularity="0.3", origin=0.1),
        IntervalSpec(granularity=0.4, range=(-2.5, 2.5)),
    ],
)
DATES = interval(
    st.integers(0, 400).map(lambda i: (LONG_AGO + timedelta(days=i)).isoformat()),
    [
        IntervalSpec(granularity=unit)
        for unit in (30, "week", "month", "quarter", "year", "decade", "day")
    ]
    + [IntervalSpec(granularity="month", range=("1999-12-01", "2001-02-28"))],
)
ORDERED = st.permutations(TEXTS).flatmap(
    lambda order: st.integers(1, len(order)).map(
        lambda size: (OrderedSpec(tuple(order[:size])), st.sampled_from(order[:size]))
    )
)
TREES = trees().map(lambda tree: (TreeSpec(tree), st.sampled_from(tree.leaves)))
DOMAINS = st.one_of(INTEGERS, DECIMALS, DATES, ORDERED, TREES)


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """Tables with every role and kind of column, and gaps in all but the first row."""
    rows = draw(st.integers(1, 12))
    declared = draw(st.lists(DOMAINS, min_size=1, max_size=3))
    columns = {f"q{i}": (values, "quasi") for i, (_, values) in enumerate(declared)}
    for role, most in (("sensitive", 2), ("insensitive", 2), ("identifying", 1), ("", 1)):
        for i in range(draw(st.integers(0, most))):
            columns[f"={role}{i}"] = (st.sampled_from(TEXTS), role)
    missing = draw(st.sampled_from(["drop", "category", "error"]))
    gaps = st.none() if missing != "error" else st.nothing()
    frame = {}
    for name in draw(st.permutations(sorted(columns))):
        values = columns[name][0]
        others = draw(st.lists(st.one_of(values, gaps), min_size=rows - 1, max_size=rows - 1))
        frame[name] = [draw(values), *others]
    table = read_table(
        pd.DataFrame(frame, dtype=object),
        {name: role for name, (_, role) in columns.items() if role},
        missing=missing,
    )
    return Instance.build(table, {f"q{i}": spec for i, (spec, _) in enumerate(declared)})


@st.composite
def releases(draw: st.DrawFn) -> tuple[Release, int]:
    """Releases of random tables by random genomes, with the k below which groups are suppressed."""
    instance = draw(instances())
    seed = draw(st.integers(0, 2**32 - 1))
    genome = instance.layout.sample(1, np.random.default_rng(seed))[0]
    k = draw(st.integers(1, int(Grouping.of_genome(instance, genome).sizes.max())))
    c = draw(st.sampled_from([0.3, 1, 3]))
    return Release.of(instance, genome, k=k, recursive_c=c), k


def genome_of(release: Release) -> str:
    """The genome that a release was made by, as 0 and 1."""
    assert release.grouping.genome is not None
    return release.instance.layout.text(release.grouping.genome)


def apply_to(
    table: Table,
    instance: Instance,
    genome: Sequence[int] | np.ndarray,
    *,
    k: int = 1,
    least_l: int = 0,
    outside: Outside = "refuse",
    bounds: Mapping[str, float] | None = None,
) -> Release:
    """Put a genome on new rows: the only solution of a run that sought ℓ where one is given."""
    genomes, thresholds = np.array([genome], dtype=np.uint8), np.array([[1, 0]])
    chosen = ChosenSolution(
        number=1,
        recodings=GlobalRecodings(genomes, thresholds, Suppression()),
        rule=Suppression(),
        objectives=("l",) if least_l else (),
        bounds=bounds or {},
        measures={"l": least_l},
    )
    return chosen.apply(instance, table, outside=outside, small="suppress", k=k, recursive_c=None)


@contextmanager
def one_database() -> Iterator[None]:
    """Let all connections be to one empty database: to set one up takes longer than to use it."""
    database = _database()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb, "connect", lambda *_, **__: database.cursor())
        yield


@cache
def _database() -> duckdb.DuckDBPyConnection:
    atexit.register(_database.cache_clear)  # DuckDB complains of what is left when Python ends
    return duckdb.connect(":memory:", config={"temp_directory": ""})


def certify(release: Release, name: str = "release.csv", **options: object) -> Certificate:
    """Write a release to a folder of its own and return its certificate as found there."""
    with TemporaryDirectory() as folder, one_database():
        path = Path(folder) / name
        certificate = release.write(path, **options)
        assert Certificate.load(f"{path}.certificate.json") == certificate
        return certificate
