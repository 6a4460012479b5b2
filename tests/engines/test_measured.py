"""Released files beside originals that stay in their files: measured as rows in memory are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moanon.cli import main
from moanon.data.domain import IntervalSpec, OrderedSpec
from moanon.data.table import Table
from moanon.engines import read_table
from moanon.engines import read_table as open_table
from moanon.errors import DataError, MoanonError
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures.evaluate import measure_grouping
from moanon.release import Release, read_released

ROLES = {
    "age": "quasi",
    "sex": "quasi",
    "ill": "sensitive",
    "ward": "sensitive",
    "note": "insensitive",
}
SPECS = {"age": IntervalSpec(5, (0, 39)), "sex": OrderedSpec(("f", "m"))}


def write_people(path: Path, seed: int, rows: int) -> Path:
    rng = np.random.default_rng(seed)
    lines = ["age,sex,ill,ward,note"]
    for number in range(rows):
        age = "" if rng.random() < 0.05 else str(rng.integers(40))
        ill = ("flu", "gout", "=ache", "")[rng.choice(4, p=[0.5, 0.3, 0.15, 0.05])]
        lines.append(f"{age},{'fm'[rng.integers(2)]},{ill},{rng.integers(3)},n{number % 7}")
    path.write_text("\n".join(lines) + "\n")
    return path


def originals(path: Path, missing: Any = "category") -> tuple[Instance, Instance]:
    tables = (
        open_table(path, ROLES, missing=missing, memory="100MB"),
        read_table(path, ROLES, missing=missing),
    )
    here, there = (Instance.build(table, SPECS) for table in tables)
    return here, there


def same(path: Path, here: Instance | Table, there: Instance | Table, **options: Any) -> Grouping:
    """Measure a file both ways."""
    counted = read_released(path, here, counted=True, **options)
    rows = read_released(path, there, **options)
    assert measure_grouping(counted) == measure_grouping(rows)
    assert (counted.rows, counted.suppressed) == (rows.rows, rows.suppressed)
    assert (counted.notes, counted.absent) == (rows.notes, rows.absent)
    assert counted.matched_by == rows.matched_by
    assert counted.sizes.tolist() == rows.sizes.tolist()
    assert counted.members.of != "rows"  # none was held
    return counted


@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_any_release(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("people")
    path = write_people(folder / "people.csv", data.draw(st.integers(0, 999)), 120)
    here, there = originals(path, data.draw(st.sampled_from(["category", "drop"])))
    genome = data.draw(
        st.lists(st.integers(0, 1), min_size=there.layout.bits, max_size=there.layout.bits)
    )
    release = Release.of(there, genome)
    threshold = data.draw(st.integers(1, int(release.grouping.sizes.max())))
    ending = data.draw(st.sampled_from(["csv", "parquet"]))
    Release.of(there, genome, k=threshold).write(
        released := folder / f"released.{ending}",
        suppressed=data.draw(st.sampled_from(["absent", "star"])),
        **data.draw(st.sampled_from([{"keep_order": True}, {"shuffle": 1}])),
        spreadsheet_safe=data.draw(st.booleans()),
    )
    same(released, here, there, stars=data.draw(st.sampled_from(["all", "quasi"])))


def test_rows_of_one_cell_in_different_groups(tmp_path: Path) -> None:
    path = write_people(tmp_path / "people.csv", 5, 200)
    here, there = originals(path)
    header, *lines = path.read_text().splitlines()
    rng = np.random.default_rng(3)
    shown = [header]
    for line in lines:
        age, _, *rest = line.split(",")
        wide = (
            "*"
            if age == "" or rng.random() < 0.5
            else f"[{int(age) // 20 * 20}-{int(age) // 20 * 20 + 19}]"
        )
        cells = [wide, "*", rest[0] or "(missing)", *rest[1:]]
        shown.append(",".join(cells if rng.random() < 0.9 else ["*"] * 5))
    (tmp_path / "released.csv").write_text("\n".join(shown) + "\n")
    found = same(tmp_path / "released.csv", here, there)
    assert found.matched_by == "position"
    assert found.suppressed > 0
    with pytest.raises(DataError, match="this question is one about single rows"):
        found.row_group  # noqa: B018
    # What labels mean is not known: groups are counted all the same.
    same(tmp_path / "released.csv", here.table, there.table)
    same(tmp_path / "released.csv", here, there, stars="quasi")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (3, "[20-39],f,flu,0,n2"),  # a label that does not hold
        (5, "*,*,gout,9,n4"),  # a value that nobody has
        (0, "age,sex,ill,ward,other"),  # a column that nobody knows
        (7, "[0-2],*,flu,0,n6"),  # a label that stands for nothing
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_the_same_words(
    tmp_path: Path, line: int, shown: str
) -> None:
    path = write_people(tmp_path / "people.csv", 8, 60)
    here, there = originals(path)
    Release.of(there, np.zeros(there.layout.bits, dtype=int)).write(tmp_path / "r.csv")
    lines = (tmp_path / "r.csv").read_text().splitlines()
    lines[line] = shown
    (tmp_path / "r.csv").write_text("\n".join(lines) + "\n")
    told = []
    for original, counted in ((here, True), (there, False)):
        try:
            found = read_released(tmp_path / "r.csv", original, counted=counted)
            told.append(str(found.notes))
        except MoanonError as error:
            told.append(str(error))
    assert told[0] == told[1]


def test_the_command_counts_large_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_people(tmp_path / "people.csv", 4, 150)
    _, there = originals(path)
    Release.of(there, np.ones(there.layout.bits, dtype=int)).write(tmp_path / "r.csv")
    commands = [
        ["measure", "people.csv", "r.csv", "--quasi", "age,sex", "--sensitive", "ill", "--json"],
        ["diagnose", "people.csv", "--k", "2", "--json", "--quiet"],
        [
            "diagnose",
            "people.csv",
            "--subset",
            "age,note",
            "--k",
            "3",
            "--list-rows",
            "rows.csv",
            "--force",
            "--quiet",
        ],
    ]
    for command in commands:
        told = []
        for cells in (2_000_000, 0):
            monkeypatch.setattr("moanon.engines.opening._FEW_CELLS", cells)
            main(command)
            listed = tmp_path / "rows.csv"
            told.append(capsys.readouterr().out + (listed.read_text() if listed.exists() else ""))
        assert told[0] == told[1]
