"""How cost grows with rows, columns and cells: cells and releases of files, beside DuckDB's own.

Tables are generated from the numbers of their rows, so that they are the same everywhere. Each task
runs in a process of its own, which tells its processor time and its largest memory. Beside moanon's
way stands what DuckDB does at least: a bare GROUP BY of the same columns, and a COPY of them.

    .venv/bin/python experiments/scale.py                     # up to 10^6 rows
    .venv/bin/python experiments/scale.py --most 1e8          # needs 30 GB of disk and half an hour

Writes results/scale.csv and results/scale.png.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

RESULTS = Path(__file__).resolve().parent.parent / "results"
MEMORY = "500MB"
SIZES = (2, 3, 4, 5, 6, 8, 10, 12)
TASKS = ("group", "cells", "copy", "certified")
FIELDS = ("rows", "columns", "cells", "format", "task", "cpu_seconds", "peak_mb", "ratio")


def cases(most: int) -> Iterator[tuple[int, int, int, str]]:
    """Rows, columns, cells (at most) and format."""
    rows = 10**5
    while rows <= most:
        for form in ("parquet", "csv"):
            yield rows, 8, 10**4, form
        rows *= 10
    middle = min(most, 10**6)
    for columns in (16, 40):
        yield middle, columns, 10**4, "parquet"
    for cells in (10**5, 3 * 10**6):
        yield min(most, 10**7), 12, cells, "parquet"


def make_table(path: Path, rows: int, columns: int, cells: int) -> None:
    """Write a table of so many rows; a cell is the more frequent the smaller its number."""
    import duckdb

    chosen = [
        f"'v' || (hash(cell, {j}) % {SIZES[j % len(SIZES)]})::VARCHAR AS q{j}"
        for j in range(columns)
    ]
    number = f"floor({cells} * pow((hash(i) % 1000003) / 1000003.0, 2))::BIGINT"
    query = (
        f"SELECT {', '.join(chosen)}, 'ill' || (hash(i, 'ill') % 20)::VARCHAR AS ill, "
        f"(hash(i, 'note') % 100000)::VARCHAR AS note "
        f"FROM (SELECT i, {number} AS cell FROM range({rows}) AS t(i))"
    )
    form = "PARQUET" if path.suffix == ".parquet" else "CSV, HEADER"
    with duckdb.connect(config={"memory_limit": MEMORY}) as database:
        database.execute(f"COPY ({query}) TO '{path}' (FORMAT {form})")


# -- tasks, each in a process of its own -----------------------------------------------------------


def do_task(task: str, path: Path, columns: int, folder: Path) -> dict[str, float]:
    """Run a task; tells what it took, without starting Python and importing."""
    import duckdb

    from moanon import Instance, OrderedSpec, Release, read_table

    quasi = [f"q{j}" for j in range(columns)]
    cells = 0
    before = _seconds()
    if task in ("group", "copy"):
        reader = f"read_csv('{path}', all_varchar = true)" if path.suffix == ".csv" else f"'{path}'"
        settings = {"memory_limit": MEMORY, "temp_directory": str(folder)}
        with duckdb.connect(config=settings) as database:
            named = ", ".join([*quasi, "ill"])
            if task == "group":
                found = database.execute(f"SELECT {named}, count(*) FROM {reader} GROUP BY ALL")
                cells = len(found.fetchnumpy()["ill"])
            else:
                out = folder / f"copy{path.suffix}"
                database.execute(f"COPY (SELECT {named}, note FROM {reader}) TO '{out}'")
        return {"cpu_seconds": _seconds() - before, "peak_mb": _peak(), "cells": cells}
    roles = {**dict.fromkeys(quasi, "quasi"), "ill": "sensitive", "note": "insensitive"}
    table = read_table(path, roles, memory=MEMORY)
    orders = {name: sorted(table.columns[name].values, key=lambda v: int(v[1:])) for name in quasi}
    specs = {name: OrderedSpec(tuple(order)) for name, order in orders.items()}
    instance = Instance.build(table, specs)
    if task != "cells":
        genome = [1 if bit % 3 else 0 for bit in range(instance.layout.bits)]
        release = Release.of(instance, genome, k=5)
        release.promised  # noqa: B018 (known before anything is written, as it is in a run)
        before = _seconds()
        release.write(folder / f"release{path.suffix}")
    return {
        "cpu_seconds": _seconds() - before,
        "peak_mb": _peak(),
        "cells": len(instance.cells),
    }


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# -- all of it -------------------------------------------------------------------------------------


def measure(most: int, folder: Path) -> list[dict[str, object]]:
    """Run every task of every case."""
    found: list[dict[str, object]] = []
    for rows, columns, cells, form in cases(most):
        path = folder / f"table.{form}"
        make_table(path, rows, columns, cells)
        bare: dict[str, float] = {}
        for task in TASKS:
            command = [sys.executable, __file__, "--task", task, str(path), str(columns)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            told = json.loads(done.stdout)
            bare[task] = told["cpu_seconds"]
            beside = bare["group" if task in ("group", "cells") else "copy"]
            line: dict[str, object] = {
                "rows": rows,
                "columns": columns,
                "cells": told["cells"] if task == "cells" else cells,
                "format": form,
                "task": task,
                "cpu_seconds": round(told["cpu_seconds"], 2),
                "peak_mb": round(told["peak_mb"]),
                "ratio": round(told["cpu_seconds"] / beside, 2),
            }
            found.append(line)
            print(line, flush=True)
        path.unlink()
    return found


def draw(lines: list[dict[str, object]], path: Path) -> None:
    """Draw processor time and memory over the number of rows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    looks = {"group": "C7", "cells": "C0", "copy": "C8", "certified": "C1"}
    names = {
        "group": "DuckDB, GROUP BY",
        "cells": "moanon, cells",
        "copy": "DuckDB, COPY",
        "certified": "moanon, certified release",
    }
    for task, color in looks.items():
        for form, style in (("parquet", "-"), ("csv", ":")):
            chosen = [
                line
                for line in lines
                if (line["task"], line["format"], line["columns"]) == (task, form, 8)
            ]
            points = {int(str(line["rows"])): line for line in reversed(chosen)}
            rows = sorted(points)
            for ax, key in zip(axes, ("cpu_seconds", "peak_mb"), strict=True):
                values = [float(str(points[number][key])) for number in rows]
                label = f"{names[task]} ({form})"
                ax.plot(rows, values, style, color=color, marker="o", markersize=3, label=label)
    axes[0].set(xscale="log", yscale="log", xlabel="rows", ylabel="processor seconds")
    axes[1].set(xscale="log", xlabel="rows", ylabel="largest memory (MB)", ylim=(0, 1024))
    axes[0].legend(fontsize=7, frameon=False)
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure, write and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=lambda text: int(float(text)), default=10**6, help="rows")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--task", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="moanon-scale-") as name:
        if given.task is not None:
            task, path, columns = given.task
            print(json.dumps(do_task(task, Path(path), int(columns), Path(name))))
            return
        lines = measure(given.most, Path(name))
    with (given.out / "scale.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    draw(lines, given.out / "scale.png")


if __name__ == "__main__":
    main()
