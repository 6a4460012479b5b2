"""Many rows in a small file: what ``check`` and ``export`` take, beside DuckDB's own GROUP BY.

Five million sorted rows of few values fit into a Parquet file of two megabytes. How large a file is
says nothing about its rows, and what is done with them must not depend on it.

    .venv/bin/python experiments/packed_rows.py
    .venv/bin/python experiments/packed_rows.py --rows 1e6 --turns 1

Writes results/packed_rows.csv: of each command the least processor time of some turns, with
starting Python, and its largest memory.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

RESULTS = Path(__file__).resolve().parent.parent / "results"
#: Values of the quasi-identifiers, and of the sensitive column.
SIZES, ILLS = (80, 6, 12, 2, 9), 20
CONFIG = """
name: packed
data: {{source: {source}}}
columns:
{columns}
  ill: {{role: sensitive}}
problem: {{preset: k-suppression, eta: 0.1}}
search: {{evaluations: 500, seed: 1}}
output: {{dir: {out}}}
"""
GROUP = """
import duckdb
named = "{named}"
grouped = f"SELECT {{named}}, count(*) AS n FROM '{path}' GROUP BY ALL"
print(duckdb.sql(f"SELECT count(*), sum(n) FROM ({{grouped}})").fetchall())
"""


def make_table(path: Path, rows: int) -> None:
    """Write a sorted table of few values: runs of them take next to no room."""
    import duckdb

    quasi = [f"(hash(cell, {j}) % {size})::INTEGER AS q{j}" for j, size in enumerate(SIZES)]
    cells = f"SELECT (i * 20000 // {rows}) AS cell, i FROM range({rows}) AS t(i)"
    query = f"SELECT {', '.join(quasi)}, 'ill' || (hash(i // 4) % {ILLS}) AS ill FROM ({cells})"
    with duckdb.connect(config={"memory_limit": "1GB"}) as database:
        database.execute(f"COPY ({query}) TO '{path}' (FORMAT PARQUET)")


def configure(folder: Path, source: Path) -> Path:
    """Write a configuration of the table."""
    columns = "\n".join(
        f"  q{j}: {{role: quasi, kind: interval, granularity: 1, range: [0, {size - 1}]}}"
        for j, size in enumerate(SIZES)
    )
    path = folder / "packed.yaml"
    path.write_text(CONFIG.format(source=source, columns=columns, out=folder / "results"))
    return path


def commands(folder: Path, source: Path, config: Path) -> Iterator[tuple[str, list[str]]]:
    """What is measured, in this order."""
    named = ", ".join([*(f"q{j}" for j in range(len(SIZES))), "ill"])
    moanon = [sys.executable, "-m", "moanon"]
    yield "group by", [sys.executable, "-c", GROUP.format(named=named, path=source)]
    yield "check", [*moanon, "check", str(config)]
    yield "run", [*moanon, "run", str(config), "--quiet", "--force"]
    export = ["export", str(folder / "results"), "2", "--force", "--out"]
    for ending in ("parquet", "csv"):
        yield f"export {ending}", [*moanon, *export, str(folder / f"release.{ending}")]


def measure(command: list[str]) -> tuple[float, float]:
    """Processor seconds and megabytes of a command."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # 1: the answer is no
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Measure all commands by turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=5e6)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS / "packed_rows.csv")
    given = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "packed.parquet"
        make_table(source, int(given.rows))
        size = source.stat().st_size
        config = configure(folder, source)
        for _ in range(given.turns):
            for task, command in commands(folder, source, config):
                found.setdefault(task, []).append(measure(command))
                print(f"{task}: {found[task][-1][0]:.2f} s, {found[task][-1][1]:.0f} MB")
    with given.out.open("w", newline="") as stream:
        lines = csv.writer(stream, lineterminator="\n")
        lines.writerow(["rows", "file_bytes", "task", "cpu_seconds", "peak_mb"])
        for task, each in found.items():
            least, peak = min(s for s, _ in each), max(mb for _, mb in each)
            lines.writerow([int(given.rows), size, task, round(least, 2), round(peak)])


if __name__ == "__main__":
    main()
