"""Published files say nothing that depends on suppressed rows or on names.

The law of change: two tables that differ in nothing else give the same bytes, whatever the
recoding, the place of the rows and the kind of file.
"""

from __future__ import annotations

from contextlib import chdir, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon import Hierarchy, Instance, IntervalSpec, OrderedSpec, Release, TreeSpec, read_table
from moanon.cli import main
from moanon.experiment import load_front
from tests.release.tables import one_database
from tests.release.twins import GUESSED, KINDS, TEXTS, differences, guesses
from tests.strategies import few

CONFIG = """
name: people
data: {{source: people.csv, missing: category{core}}}
columns:
  name: {{role: identifying}}
  age: {{role: quasi, kind: interval, granularity: 10}}
  town: {{role: quasi, kind: ordered, order: [a, b, c]}}
  ill: {{role: sensitive}}
  note: {{role: insensitive}}
problem: {{preset: k-suppression, eta: 0.4, recoding: {recoding}}}
search: {{evaluations: 200, seed: 1}}
output: {{dir: results, plots: false, report: false}}
"""


#: Frames and files with types hold each kind of value in a way of its own; to others all are texts.
PLACED = [(place, kind) for kind in KINDS for place in ("frame", "parquet")]
PLACED += [*zip(TEXTS, KINDS, strict=False)]


@pytest.mark.parametrize("place", ["frame", "csv"])
@few
@given(seed=st.integers(0, 2**32 - 1))
def test_twins_have_the_same_public_files(place: str, seed: int) -> None:
    with one_database():
        assert differences(seed, place) == []


@pytest.mark.parametrize(("place", "kind"), PLACED)
def test_twins_have_the_same_public_files_whatever_values_are(place: str, kind: str) -> None:
    """Types and spellings of released cells are their own, too."""
    with nullcontext() if place == "sqlite" else one_database():
        assert differences(list(KINDS).index(kind), place) == []


def people(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "name": [f"n{i}" for i in range(60)],
        "age": rng.integers(18, 80, 60),
        "town": rng.choice(["a", "b", "c"], 60),
        "ill": rng.choice(["flu", "gout", "hiv"], 60),
        "note": rng.choice(["x", "y", 'a "quoted", note'], 60),
    }
    return pd.DataFrame(columns)


def published(folder: Path, frame: pd.DataFrame, config: str, solution: int | None) -> int:
    """Run a table and export a solution in all ways, the first with suppressed rows by default."""
    folder.mkdir()
    frame.to_csv(folder / "people.csv", index=False)
    (folder / "people.yaml").write_text(config)
    with chdir(folder):
        assert main(["run", "people.yaml", "--quiet"]) == 0
        if solution is None:
            suppressed = load_front("results").measures["suppressed"]
            solution = int(np.flatnonzero(suppressed)[0]) + 1
        Path("public").mkdir()
        export = ["export", "results", str(solution), "--shuffle", "5"]
        assert main([*export, "--out", "public/r.csv", "--summary"]) == 0
        assert main([*export, "--out", "public/r.parquet"]) == 0
        assert main([*export, "--out", "public/b.csv", "--bucketize"]) == 0
    return solution


@pytest.mark.parametrize(("recoding", "core"), [("global", ", memory: 200MB"), ("local", "")])
def test_commands_publish_the_same_of_tables_that_differ_in_suppressed_rows(
    tmp_path: Path, recoding: str, core: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = CONFIG.format(recoding=recoding, core=core)
    frame = people(3)
    solution = published(tmp_path / "one", frame, config, None)
    release = load_front(tmp_path / "one" / "results").release(solution)
    suppressed = ~release.grouping.is_kept
    other = frame.assign(name=[f"other {i}" for i in range(len(frame))])
    other.loc[suppressed, "ill"] = "never seen"
    other.loc[suppressed, "note"] = "elsewhere"
    published(tmp_path / "two", other, config, solution)
    capsys.readouterr()

    for path in sorted((tmp_path / "one" / "public").iterdir()):
        assert path.read_bytes() == (tmp_path / "two" / "public" / path.name).read_bytes(), (
            path.name
        )


CHAIN = Hierarchy.from_nested("any", {"one": ["a", "b", "c"]})


@pytest.mark.parametrize(
    ("values", "suppressed", "distance"),
    [
        # fractions make the end of the range belong to the step before it
        (["0", "3", "4", "10"], ("3", "3.5"), IntervalSpec(granularity=2, range=(0, 10))),
        # a leaf for missing values makes the only node below the root a level
        (["a", "b", "b", "c"], ("c", None), TreeSpec(CHAIN)),
        (["a", "b", "b", "c"], ("c", None), OrderedSpec(("a", "b", "c", "d"))),
    ],
)
def test_distances_do_not_follow_a_suppressed_row(
    tmp_path: Path, values: list[str], suppressed: tuple[Any, Any], distance: Any
) -> None:
    found = []
    for number, value in enumerate(suppressed):
        frame = pd.DataFrame({"size": list("SSMML"), "s": [*values, value]})
        table = read_table(frame, {"size": "quasi", "s": "sensitive"}, missing="category")
        sizes = OrderedSpec(("S", "M", "L"))
        instance = Instance.build(table, {"size": sizes}, distances={"s": distance})
        path = tmp_path / str(number) / "r.csv"
        path.parent.mkdir()
        Release.of(instance, [1, 1], k=2).write(path, shuffle=1)
        found.append(path.with_name("r.csv.certificate.json").read_bytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(2))
def test_every_value_of_a_suppressed_row_stays_possible(tmp_path: Path, seed: int) -> None:
    """An attacker who has all published files tries each value that the row may have."""
    with one_database():
        assert guesses(seed, tmp_path) == len(GUESSED)
