"""A table of 5,000,000 rows through Spark: checked, searched, and released as files and as a table.

The rows have few distinct values, so that their Parquet file is small. Spark runs on this machine
with two threads and its default memory. Each command is a process of its own; printed are its time
and the largest memory of the Python process, beside which Java has its own.

    .venv/bin/python experiments/cluster.py
    .venv/bin/python experiments/cluster.py --rows 1e6 --notes 1e6     # nearly all rows differ

Nothing of the table is left. Needs Java and ``pip install 'moanon[spark]'``.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONFIG = """
name: cluster
data:
  source: "pyspark://?spark.master=local[2]"
  query: "SELECT * FROM parquet.`{path}`"
columns:
  age: {{role: quasi, kind: interval, granularity: 10, range: [0, 99]}}
  sex: {{role: quasi, kind: ordered, order: [v0, v1, v2]}}
  work: {{role: quasi, kind: ordered, order: [w0, w1, w2, w3, w4]}}
  ill: {{role: sensitive}}
  note: {{role: insensitive}}
problem: {{preset: k-suppression, eta: 0.1}}
search: {{evaluations: 500}}
output: {{dir: results}}
"""
COMMANDS = (
    ("check", "config.yaml"),
    ("run", "config.yaml", "--quiet"),
    ("export", "results", "3", "--out", "release.parquet/"),
    ("export", "results", "3", "--out", "release.csv"),
    ("export", "results", "3", "--to-table", "released"),
)


def make_table(path: Path, rows: int, notes: int) -> None:
    """Write a table whose last column has so many values."""
    import duckdb

    query = (
        f"SELECT 10 + i // 50000 % 80 AS age, 'v' || i // 1000 % 3 AS sex, "
        f"'w' || i // 7000 % 5 AS work, 'ill' || i // 100 % 7 AS ill, "
        f"'n' || i * {notes} // {rows} AS note FROM range({rows}) AS t(i)"
    )
    with duckdb.connect() as database:
        database.execute(f"COPY ({query}) TO '{path}' (FORMAT PARQUET)")


def do_command(arguments: list[str]) -> int:
    """Run a command in this process, and print what it took."""
    from moanon.cli import main

    began = time.monotonic()
    code = main(arguments)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{' '.join(arguments)}: exit {code}, {time.monotonic() - began:.0f} s "
        f"({used.ru_utime + used.ru_stime:.1f} s of it in Python), {used.ru_maxrss / 1024:.0f} MB",
        flush=True,
    )
    return code


def main() -> int:
    """Make the table and run all commands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=5 * 10**6)
    parser.add_argument("--notes", type=lambda text: int(float(text)), default=50)
    parser.add_argument("--command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.command:
        return do_command(given.command)
    with tempfile.TemporaryDirectory(prefix="moanon-cluster-") as name:
        folder = Path(name)
        make_table(folder / "rows.parquet", given.rows, given.notes)
        size = (folder / "rows.parquet").stat().st_size
        print(f"{given.rows:,} rows in a file of {size / 1e6:.1f} MB")
        (folder / "config.yaml").write_text(CONFIG.format(path=folder / "rows.parquet"))
        for arguments in COMMANDS:
            command = [sys.executable, str(Path(__file__).resolve()), "--command", *arguments]
            if subprocess.run(command, cwd=folder, check=False).returncode:
                return 1
            beside = sorted(each.name for each in folder.iterdir())
            print(f"  files: {', '.join(beside)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
