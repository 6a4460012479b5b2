"""The benchmark: it runs, times what it is told to, and writes what it has shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.checkout import load_experiment
from tests.cli.commands import Captured

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return load_experiment("bench")


def written(path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return found


def test_timings_are_shown_and_written(bench: ModuleType, capsys: Captured) -> None:
    bench.main(["--quick", "--out", "b.json"])
    lines = [re.sub(" {2,}", "  ", line.strip()) for line in capsys.readouterr().out.splitlines()]
    assert "adult, random: 30,162 rows, 13,334 cells, 5 genomes" in lines
    assert "adult, converged: 30,162 rows, 13,334 cells, 5 genomes" in lines
    assert lines.count("way  threads  CPU µs  clock µs  to flat") == 2
    number = r"[\d,]+\.\d"
    assert re.fullmatch(rf"flat  1  {number}  {number}  ×1\.00", lines[3])
    assert re.search(rf"\npandas groupby  1  {number}  {number}  ×[\d.,]+\n", "\n".join(lines))
    assert lines[-1] == "Wrote b.json"
    found = written("b.json")
    assert set(found) == {"machine", "timings"}
    assert {"python", "numba"} <= set(found["machine"])
    first, *others = found["timings"]
    assert {"case", "way", "threads", "micros", "wall_micros", "ratio"} <= set(first)
    assert (first["case"], first["way"], first["ratio"]) == ("adult, random", "flat", 1)
    assert {"rollup", "pandas groupby", "numpy unique, cells"} <= {t["way"] for t in others}


@pytest.fixture
def timed(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the cases that a benchmark would time, which takes no time here."""
    names: list[str] = []

    def case(name: str) -> Any:
        ones = np.ones(1, dtype=np.int64)
        return bench.Case(name, ones.astype(np.uint16), ones, ones, np.zeros((1, 0)), others=False)

    def measure(case: Any, repeat: int) -> Iterator[Any]:
        names.append(case.name)
        yield bench.Timing(case.name, 1, 1, 1, "flat", 1, 1.0, 1.0, 228.4)

    monkeypatch.setattr(bench, "measure", measure)
    monkeypatch.setattr(bench, "adult_cases", lambda: [case("adult 1"), case("adult 2")])
    monkeypatch.setattr(bench, "lattice_case", lambda folder: case(f"lattice of {folder}"))
    monkeypatch.setattr(bench, "synthetic_cases", lambda: iter([case("synthetic")]))
    monkeypatch.setattr(bench, "column_cases", lambda numbers: iter([case("columns")]))
    monkeypatch.setattr(bench, "model_cases", lambda: [case("models")])
    return names


def test_all_cases_are_timed_unless_told(bench: ModuleType, timed: list[str]) -> None:
    bench.main([])
    assert timed == ["adult 1", "adult 2", "lattice of None", "synthetic", "columns", "models"]
    assert [timing["case"] for timing in written("bench.json")["timings"]] == timed


def test_chosen_cases_are_timed_once(bench: ModuleType, timed: list[str]) -> None:
    bench.main(["--case", "synthetic", "--case", "adult", "--case", "adult"])
    assert timed == ["adult 1", "adult 2", "synthetic"]


def test_models_are_timed_beside_the_plain_evaluation(bench: ModuleType) -> None:
    case = bench.model_cases(rounds=1, population=4)[1]
    timings = list(bench.measure(case, threads=(1,), repeat=1))
    assert [t.way for t in timings[:4]] == [
        "flat",
        "rollup",
        "entropy l, flat",
        "entropy l, rollup",
    ]
    assert {"t-closeness, flat", "all of them, rollup"} <= {t.way for t in timings}
    assert timings[0].ratio == 1
    assert all(t.micros > 0 for t in timings)


def test_hierarchies_are_found_beside_the_checkout_or_where_it_is_told(
    bench: ModuleType, folder: Path, timed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "shared" / "arx").mkdir(parents=True)
    (folder / "checkout").mkdir()
    monkeypatch.chdir(folder / "checkout")
    bench.main(["--case", "lattice"])
    bench.main(["--case", "lattice", "--hierarchies", "mine", "--force"])
    assert timed == ["lattice of ../shared/arx", "lattice of mine"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--case", "x"], "invalid choice: 'x' (choose from "),
        (["--quick", "--case", "lattice"], "--quick times adult alone"),
        (["--out", "no/b.json"], "no/b.json cannot be written: the folder no"),
        (["--out", "taken.json"], "taken.json exists already"),
        (
            ["--case", "lattice", "--hierarchies", "no"],
            "hierarchy file no/adult_hierarchy_sex.csv does not exist",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_is_timed(
    bench: ModuleType, capsys: Captured, arguments: list[str], message: str
) -> None:
    Path("taken.json").write_text("old")
    with pytest.raises(SystemExit) as ended:
        bench.main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
    assert Path("taken.json").read_text() == "old"


def test_an_interrupted_run_shows_what_it_has_and_leaves_no_file(
    bench: ModuleType,
    folder: Path,
    timed: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    taken = bench.measure

    def interrupted(case: Any, repeat: int) -> Iterator[Any]:
        yield from taken(case, repeat=repeat)
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bench.main([])
    assert "×228.40\n" in capsys.readouterr().out
    assert list(folder.iterdir()) == []


def test_tables_of_some_columns_are_made_alone(bench: ModuleType) -> None:
    assert [case.name for case in bench.column_cases([8])] == ["8 columns"]
