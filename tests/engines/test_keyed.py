"""Released files whose rows are found by a key, in files that stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moanon.cli import main
from moanon.data.cell_reading import defuse
from moanon.data.domain import IntervalSpec, OrderedSpec
from moanon.engines import read_table
from moanon.engines import read_table as open_table
from moanon.engines.files import RowsInFiles
from moanon.errors import MoanonError
from moanon.genome import Instance
from moanon.grouping import Grouping
from moanon.measures.evaluate import measure_grouping
from moanon.release import read_released
from tests import naive_measures

ROLES = {"nr": "insensitive", "age": "quasi", "sex": "quasi", "ill": "sensitive"}
SPECS = {"age": IntervalSpec(5, (0, 39)), "sex": OrderedSpec(("f", "m"))}
#: Ways to write the key of row i, each with another one for each row.
KEYS = {
    "number": lambda i: str(i * 7),
    "zeros": lambda i: f"{i:03}",
    "blanks": lambda i: " " * (i % 3) + f"n {i // 3}" + " " * (i % 2),
    "formula": lambda i: "'" * (i % 3) + f"={i // 3}",
    "signs": lambda i: f'a,"{i}"',
}
STARRED = ["*"] * 4
Rows = list[list[str]]


@dataclass
class Made:
    """An original and a release of it, as texts, and what is known of the release."""

    original: Rows
    released: Rows
    blocks: list[tuple[tuple[int, int], tuple[int, int]]]
    kept: list[int]


def make(seed: int, rows: int, key: str, suppressed: str, gaps: bool = True) -> Made:
    """Recode rows locally, suppress some of them, and shuffle what is left."""
    rng = np.random.default_rng(seed)
    original, released, blocks, kept = [], [], [], []
    for i in range(rows):
        age = "" if gaps and rng.random() < 0.1 else str(rng.integers(40))
        sex, ill = "fm"[rng.integers(2)], ("flu", "gout", "=ache")[rng.integers(3)]
        original.append([KEYS[key](i), age, sex, ill])
        labels, shown = recoded(rng, age, sex, gaps and "")
        blocks.append(shown)
        cells = [KEYS[key](i), *labels, ill]
        if rng.random() < 0.2:
            cells = {"star": STARRED, "quasi": [cells[0], "*", "*", ill]}.get(suppressed, [])
        else:
            kept.append(i)
        released += [cells] if cells else []
    order = rng.permutation(len(released))
    return Made(original, [released[i] for i in order], blocks, kept)


def recoded(
    rng: np.random.Generator, age: str, sex: str, gap: object
) -> tuple[list[str], tuple[tuple[int, int], tuple[int, int]]]:
    """Labels that hold two values, never both of them stars, and their blocks."""
    size = 9 if gap == "" else 8
    if age == "":
        return ["(missing)", sex], ((8, 9), ("fm".index(sex), "fm".index(sex) + 1))
    width = int(rng.choice([2, 4, 8]))
    start = int(age) // 5 // width * width
    whole = width == 8 and gap == ""
    label = "*" if whole else f"[{start * 5}-{(start + width) * 5 - 1}]"
    ages = (0, size) if whole else (start, start + width)
    if whole or rng.random() < 0.5:
        return [label, sex], (ages, ("fm".index(sex), "fm".index(sex) + 1))
    return [label, "*"], (ages, (0, 2))


def write(path: Path, rows: Rows, names: Sequence[str] = tuple(ROLES)) -> Path:
    frame = pd.DataFrame(rows, columns=list(names), dtype=object)
    if path.suffix == ".parquet":
        duckdb.from_df(frame).write_parquet(str(path))
    else:
        frame.to_csv(path, index=False)
    return path


def originals(path: Path, **options: Any) -> tuple[Instance, Instance]:
    options = {"missing": "category", **options}
    tables = open_table(path, ROLES, memory="100MB", **options), read_table(path, ROLES, **options)
    here, there = (Instance.build(table, SPECS) for table in tables)
    assert isinstance(here.table.store, RowsInFiles)
    return here, there


def outcome(path: Path, original: Instance, *, counted: bool, **options: Any) -> Grouping | str:
    try:
        return read_released(path, original, key="nr", counted=counted, **options)
    except MoanonError as error:
        return str(error)


def same(path: Path, here: Instance, there: Instance, **options: Any) -> Grouping | str:
    """Read a file both ways; give what was found, or the sentence with which it was refused."""
    counted = outcome(path, here, counted=True, **options)
    rows = outcome(path, there, counted=False, **options)
    if isinstance(counted, str) or isinstance(rows, str):
        assert counted == rows
        return counted
    assert measure_grouping(counted) == measure_grouping(rows)
    assert (counted.rows, counted.suppressed) == (rows.rows, rows.suppressed)
    assert (counted.notes, counted.absent) == (rows.notes, rows.absent)
    assert (counted.matched_by, rows.matched_by) == ("key", "key")
    assert counted.sizes.tolist() == rows.sizes.tolist()
    assert counted.members.of == "counts"  # no row was held
    return counted


@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_any_recoding_is_measured_as_rows_in_memory_are(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("keyed")
    suppressed = data.draw(st.sampled_from(["absent", "star", "quasi"]))
    key = data.draw(st.sampled_from(sorted(KEYS)))
    made = make(data.draw(st.integers(0, 999)), data.draw(st.integers(8, 40)), key, suppressed)
    endings = st.sampled_from(["csv", "parquet"])
    here, there = originals(write(folder / f"people.{data.draw(endings)}", made.original))
    if data.draw(st.booleans()):
        made.released = [[*map(defuse, cells)] for cells in made.released]
    path = write(folder / f"released.{data.draw(endings)}", made.released)
    stars = "quasi" if suppressed == "quasi" else "all"
    found = same(path, here, there, stars=stars)
    gaps = any(cells[1] == "" for cells in made.original)
    if not gaps:  # then a star holds one base value less
        made.blocks = [((a, min(b, 8)), sex) for (a, b), sex in made.blocks]
    groups: dict[object, list[int]] = {}
    for row in made.kept:  # where blocks are the same, labels are
        groups.setdefault(made.blocks[row], []).append(row)
    expected = naive_measures.release_measures(
        there, made.blocks, [*groups.values()], [*groups.values()]
    )
    if isinstance(found, str) and not made.kept:
        return
    assert isinstance(found, Grouping), found
    told = measure_grouping(found)
    assert told == pytest.approx({name: expected[name] for name in told}, rel=1e-12, nan_ok=True)


#: What is spoilt: a side, a row, a cell, and what becomes of it: a text, or what another row has.
FAULTS: dict[str, tuple[str, int, int, str | int]] = {
    "key twice in the original": ("original", 3, 0, 5),
    "key twice in the file": ("released", 2, 0, 4),
    "no key in the original": ("original", 4, 0, ""),
    "no key in the file": ("released", 1, 0, ""),
    "unknown key": ("released", 6, 0, "nobody"),
    "another blank": ("released", 6, 0, "n  1"),
    "another value": ("released", 5, 3, "cold"),
    "another label": ("released", 5, 1, "[0-4]"),
    "a label of nothing": ("released", 5, 1, "old"),
}


@pytest.mark.parametrize(
    ("fault", "ending", "suppressed"),
    [
        *((fault, "csv", "star") for fault in list(FAULTS)[::2]),
        *((fault, "parquet", "absent") for fault in list(FAULTS)[1::2]),
    ],
)
def test_what_does_not_fit_is_refused_with_the_same_words(
    tmp_path: Path, fault: str, ending: str, suppressed: str
) -> None:
    made = make(11, 20, "blanks", suppressed)
    made.released.sort(key=lambda cells: cells == STARRED)
    side, row, cell, text = FAULTS[fault]
    rows: Rows = getattr(made, side)
    rows[row][cell] = rows[text][cell] if isinstance(text, int) else text
    here, there = originals(write(tmp_path / f"people.{ending}", made.original))
    found = same(write(tmp_path / f"released.{ending}", made.released), here, there)
    assert isinstance(found, str)


def test_keys_of_other_rows_are_refused_with_the_same_words(tmp_path: Path) -> None:
    made = make(11, 20, "number", "absent")
    for cells, other in zip(made.released, list(map(list, made.released))[::-1], strict=True):
        cells[0] = other[0]
    here, there = originals(write(tmp_path / "people.csv", made.original))
    found = same(write(tmp_path / "released.csv", made.released), here, there)
    assert isinstance(found, str)
    assert "does not hold the original's value" in found


def test_a_gap_in_the_key_of_a_typed_file_is_refused(tmp_path: Path) -> None:
    made = make(2, 12, "zeros", "absent")
    here, there = originals(write(tmp_path / "people.csv", made.original))
    rows: list[list[Any]] = [list(cells) for cells in made.released]
    rows[3][0] = None
    found = same(write(tmp_path / "r.parquet", rows), here, there)
    assert found == f"{tmp_path / 'r.parquet'}: the key column 'nr' has a row without a value"


def test_two_spellings_of_one_key_are_refused(tmp_path: Path) -> None:
    # ''=1 stands for '=1, and so does '=1 where the original has no =1.
    made = make(2, 4, "zeros", "absent", gaps=False)
    made.original[0][0] = "'=1"
    here, there = originals(write(tmp_path / "people.csv", made.original))
    rows = [["''=1", "*", "*", cells[3]] for cells in made.original[:1]] * 2
    rows[1] = ["'=1", *rows[1][1:]]
    found = same(write(tmp_path / "released.csv", rows), here, there)
    assert isinstance(found, str)
    assert found.endswith(
        "the row there that has the key ('nr') of row 2 is that of another row already"
    )


@pytest.mark.parametrize(
    ("of_original", "of_released"),
    [
        ("INTEGER", "BIGINT"),
        ("INTEGER", "VARCHAR"),
        ("VARCHAR", "SMALLINT"),
        ("DOUBLE", "INTEGER"),
        ("DECIMAL(9,0)", "DOUBLE"),
        ("UBIGINT", "VARCHAR"),
    ],
)
def test_keys_of_different_types_are_the_same_where_their_texts_are(
    tmp_path: Path, of_original: str, of_released: str
) -> None:
    made = make(5, 30, "number", "absent")
    for name, kind in (("original", of_original), ("released", of_released)):
        text = write(tmp_path / f"{name}.csv", getattr(made, name))
        duckdb.execute(
            f"COPY (SELECT nr::{kind} AS nr, age, sex, ill "
            f"FROM read_csv('{text}', all_varchar = true)) TO '{tmp_path / name}.parquet'"
        )
    here, there = originals(tmp_path / "original.parquet")
    found = same(tmp_path / "released.parquet", here, there)
    assert isinstance(found, Grouping), found
    assert found.kept_rows == len(made.kept)


@pytest.mark.parametrize("kind", ["BIGINT", "VARCHAR"])
def test_a_key_that_means_no_value_is_refused(tmp_path: Path, kind: str) -> None:
    made = make(5, 12, "number", "absent")
    for name in ("original", "released"):
        text = write(tmp_path / f"{name}.csv", getattr(made, name))
        duckdb.execute(
            f"COPY (SELECT nr::{kind} AS nr, age, sex, ill "
            f"FROM read_csv('{text}', all_varchar = true)) TO '{tmp_path / name}.parquet'"
        )
    here, there = originals(tmp_path / "original.parquet", missing_tokens=["", "14"])
    found = same(tmp_path / "released.parquet", here, there)
    assert isinstance(found, str)
    assert found.endswith("original.parquet: the key column 'nr' has a row without a value")


def test_rows_that_were_dropped_are_not_found(tmp_path: Path) -> None:
    made = make(8, 30, "number", "absent")
    complete = [cells for cells in made.released if cells[1] != "(missing)"]
    here, there = originals(write(tmp_path / "people.csv", made.original), missing="drop")
    found = same(write(tmp_path / "all.csv", made.released), here, there)
    assert isinstance(found, str)
    assert "incomplete rows)" in found or "stands for no block" in found
    for cells in complete:
        cells[1] = "[0-39]" if cells[1] == "*" else cells[1]
    rest = same(write(tmp_path / "complete.csv", complete), here, there)
    assert isinstance(rest, Grouping), rest
    assert rest.kept_rows == len(complete)


def test_the_command_looks_up_no_values_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made = make(9, 60, "number", "absent")
    write(tmp_path / "people.csv", made.original)
    write(tmp_path / "r.parquet", made.released)
    asked = []
    look_up = RowsInFiles.look_up

    def spied(store: RowsInFiles, name: str) -> Any:
        asked.append(name)
        return look_up(store, name)

    monkeypatch.setattr(RowsInFiles, "look_up", spied)
    told = []
    for cells in (2_000_000, 0):
        monkeypatch.setattr("moanon.engines.opening._FEW_CELLS", cells)
        asked.clear()
        command = ["measure", "people.csv", "r.parquet", "--key", "nr", "--sensitive", "ill"]
        assert main([*command, "--json"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert '"matched_by": "key"' in told[0]
    assert {*asked} == {"age", "sex", "ill"}
