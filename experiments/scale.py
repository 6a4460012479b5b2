"""How cost grows with rows, columns and cells: cells, releases and searches, beside DuckDB's own.

Tables are generated from the numbers of their rows, so that they are the same everywhere. Each task
runs in a process of its own, which reports its processor time and largest memory. Beside moanon's
way stands what DuckDB does at least: a bare GROUP BY of the same columns, and a COPY of them.

    .venv/bin/python experiments/scale.py                     # up to 10^6 rows
    .venv/bin/python experiments/scale.py --most 1e8          # needs 12 GB of disk and half an hour
    .venv/bin/python experiments/scale.py --most 1e8 --part search --part cells

Writes results/scale.csv, line by line as they come, and results/scale.png, and prints what 10^9 and
10^10 rows would need. Lines of parts that are not run again stay as they are.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moanon import Instance, Release

RESULTS = Path(__file__).resolve().parent.parent / "results"
MEMORY = "500MB"
SIZES = (2, 3, 4, 5, 6, 8, 10, 12)
#: What is measured of a table. "written" is the first part of "certified": the file without its
#: certificate.
PARTS = ("large", "search", "largest", "cells", "small", "columns")
#: Rows that tables for searches repeat, so that tables of any length have the same cells.
REPEATED = 10**5
#: How often few and many rows are searched by turns.
TURNS = 5
FIELDS = ("part", "rows", "columns", "cells", "format", "task", "cpu_seconds", "peak_mb", "ratio")


def cases(part: str, most: int) -> Iterator[tuple[int, int, int, str, tuple[str, ...]]]:
    """Rows, columns, cells (at most), format and tasks of a part."""
    plain = ("group", "cells", "copy", "certified")
    large = min(most, 10**7)
    if part == "large":
        for form in ("parquet", "csv"):
            yield large, 8, 10**4, form, plain
    elif part == "largest" and most > large:
        for form in ("parquet", "csv"):
            yield most, 8, 10**4, form, plain
    elif part == "cells":
        for cells in (3 * 10**5, 3 * 10**6):
            yield large, 12, cells, "parquet", plain
    elif part == "small":
        for rows in (10**5, 10**6):
            for form in ("parquet", "csv") if rows < large else ():
                yield rows, 8, 10**4, form, plain
    elif part == "columns":
        for columns in (16, 40):
            yield min(most, 10**6), columns, 10**4, "parquet", plain


def make_table(path: Path, rows: int, columns: int, cells: int, repeated: int = 0) -> None:
    """Write a table of so many rows; a cell is the more frequent the smaller its number.

    If asked for, only so many different rows, over and over again.
    """
    import duckdb

    chosen = [
        f"'v' || (hash(cell * 64 + {j}) % {SIZES[j % len(SIZES)]})::VARCHAR AS q{j}"
        for j in range(columns)
    ]
    number = f"floor({cells} * pow((hash(i) % 1000000007) / 1000000007.0, 2))::BIGINT"
    drawn = f"j % {repeated}" if repeated else "j"
    query = (
        f"SELECT {', '.join(chosen)}, 'ill' || (hash(i, 'ill') % 20)::VARCHAR AS ill, "
        f"(hash(i, 'note') % 100000)::VARCHAR AS note "
        f"FROM (SELECT i, {number} AS cell FROM (SELECT {drawn} AS i FROM range({rows}) AS t(j)))"
    )
    form = "PARQUET" if path.suffix == ".parquet" else "CSV, HEADER"
    with duckdb.connect(config={"memory_limit": MEMORY}) as database:
        database.execute(f"COPY ({query}) TO '{path}' (FORMAT {form})")


# -- tasks, each in a process of its own -----------------------------------------------------------


def do_task(task: str, path: Path, columns: int, folder: Path) -> dict[str, float]:
    """Run a task and return what it took, without starting Python and importing."""
    quasi = [f"q{j}" for j in range(columns)]
    if task in ("group", "copy"):
        return _do_bare(task, path, quasi, folder)
    from moanon import Instance, OrderedSpec, Release, read_table

    before = _seconds()
    roles = {**dict.fromkeys(quasi, "quasi"), "ill": "sensitive", "note": "insensitive"}
    table = read_table(path, roles, memory=MEMORY)
    orders = {name: sorted(table.columns[name].values, key=lambda v: int(v[1:])) for name in quasi}
    specs = {name: OrderedSpec(tuple(order)) for name, order in orders.items()}
    instance = Instance.build(table, specs)
    taken: dict[str, float] = {"cells": len(instance.cells)}
    if task == "certified":
        genome = [1 if bit % 3 else 0 for bit in range(instance.layout.bits)]
        release = Release.of(instance, genome, k=5)
        release.promised  # noqa: B018 (known before anything is written, as it is in a run)
        before = _seconds()
        taken["written"] = _time_writing(release, folder / f"release{path.suffix}") - before
    elif task == "search":
        return taken | _time_search(instance)
    return taken | {"cpu_seconds": _seconds() - before, "peak_mb": _peak()}


def _do_bare(task: str, path: Path, quasi: list[str], folder: Path) -> dict[str, float]:
    """What DuckDB does at least. Of a GROUP BY only the number of groups comes back."""
    import duckdb

    before = _seconds()
    reader = f"read_csv('{path}', all_varchar = true)" if path.suffix == ".csv" else f"'{path}'"
    settings = {"memory_limit": MEMORY, "temp_directory": str(folder)}
    named = ", ".join([*quasi, "ill"])
    with duckdb.connect(config=settings) as database:
        if task == "group":
            grouped = f"SELECT {named}, count(*) AS n FROM {reader} GROUP BY ALL"
            database.execute(f"SELECT count(*), sum(n) FROM ({grouped})").fetchall()
        else:
            out = folder / f"copy{path.suffix}"
            database.execute(f"COPY (SELECT {named}, note FROM {reader}) TO '{out}'")
    return {"cpu_seconds": _seconds() - before, "peak_mb": _peak(), "cells": 0}


def _time_writing(release: Release, path: Path) -> float:
    """Write a release with its certificate; gives the processor time at which the file stood."""
    from moanon.release import applied

    stood = []
    certify = applied.certify

    def noting(*given: Any, **named: Any) -> Any:
        stood.append(_seconds())
        return certify(*given, **named)

    applied.certify = noting
    release.write(path, keep_order=True)  # as the copy that it is compared with
    return stood[0]


def _time_search(instance: Instance) -> dict[str, float]:
    """Time 10,000 evaluations of the default search, without what is compiled or loaded."""
    from moanon.measures.suppression import Suppression
    from moanon.search.algorithms import Stop
    from moanon.search.archive_search import ArchiveSearch
    from moanon.search.problem import AnonymizationProblem
    from moanon.search.running import run_search

    problem = AnonymizationProblem(instance, ("k", "loss"), Suppression("limit", 0.1))
    ArchiveSearch.warm_up(problem)
    search = ArchiveSearch(problem, population=200, seed=1)
    before = _seconds()
    run_search(search, Stop(evaluations=10_000))
    return {"cpu_seconds": _seconds() - before, "peak_mb": _peak()}


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# -- all of it -------------------------------------------------------------------------------------


def run_task(task: str, path: Path, columns: int) -> dict[str, float]:
    """Run a task in a process of its own."""
    command = [sys.executable, __file__, "--task", task, str(path), str(columns)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def measure_search(most: int, folder: Path, note: Callable[[dict[str, object]], None]) -> None:
    """Search few rows and many that repeat them, by turns; of each the least time counts."""
    tables = {rows: folder / f"{rows}.parquet" for rows in (REPEATED, min(most, 10**7))}
    for rows, path in tables.items():
        make_table(path, rows, 8, 10**4, REPEATED)
    taken: dict[int, list[dict[str, float]]] = {rows: [] for rows in tables}
    for _ in range(TURNS):
        for rows, path in tables.items():
            taken[rows].append(run_task("search", path, 8))
    least = {rows: min(each["cpu_seconds"] for each in taken[rows]) for rows in tables}
    for rows, path in tables.items():
        note(
            {
                "part": "search",
                "rows": rows,
                "columns": 8,
                "cells": taken[rows][0]["cells"],
                "format": "parquet",
                "task": "search",
                "cpu_seconds": round(least[rows], 2),
                "peak_mb": round(max(each["peak_mb"] for each in taken[rows])),
                "ratio": round(least[rows] / least[REPEATED], 2),
            }
        )
        path.unlink()


def measure(part: str, most: int, folder: Path, note: Callable[[dict[str, object]], None]) -> None:
    """Run every task of every case of a part, and note each line as it comes."""
    if part == "search":
        measure_search(most, folder, note)
        return
    for rows, columns, cells, form, tasks in cases(part, most):
        path = folder / f"table.{form}"
        make_table(path, rows, columns, cells)
        bare: dict[str, float] = {}
        for task in tasks:
            taken = run_task(task, path, columns)
            bare[task] = taken["cpu_seconds"]
            beside = bare[{"cells": "group", "certified": "copy"}.get(task, task)]
            seconds = {task: taken["cpu_seconds"]}
            if "written" in taken:
                seconds = {"written": taken["written"], **seconds}
            for name, used in seconds.items():
                note(
                    {
                        "part": part,
                        "rows": rows,
                        "columns": columns,
                        "cells": taken["cells"] or cells,
                        "format": form,
                        "task": name,
                        "cpu_seconds": round(used, 2),
                        "peak_mb": round(taken["peak_mb"]),
                        "ratio": round(used / beside, 2),
                    }
                )
        path.unlink()


def read(path: Path) -> list[dict[str, object]]:
    """Lines of an earlier run."""
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return [dict(line) for line in csv.DictReader(stream)]


def write(lines: list[dict[str, object]], path: Path) -> None:
    """Write all lines, in the order of the parts."""
    ordered = sorted(lines, key=lambda line: PARTS.index(str(line["part"])))
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(ordered)


def estimate(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    """What more rows would need, along the line through the two largest tables of 8 columns."""
    found: list[dict[str, object]] = []
    for form in ("parquet", "csv"):
        for task in ("cells", "written", "certified"):
            seconds = {
                int(str(line["rows"])): float(str(line["cpu_seconds"]))
                for line in lines
                if (line["format"], line["task"], str(line["columns"])) == (form, task, "8")
            }
            if len(seconds) < 2:
                continue
            few, many = sorted(seconds)[-2:]
            slope = (seconds[many] - seconds[few]) / (many - few)
            for rows in (10**9, 10**10):
                hours = (seconds[many] + slope * (rows - many)) / 3600
                found.append(
                    {
                        "format": form,
                        "task": task,
                        "rows": rows,
                        "microseconds_per_row": round(1e6 * slope, 3),
                        "cpu_hours": round(hours, 2),
                    }
                )
    return found


def draw(lines: list[dict[str, object]], path: Path) -> None:
    """Draw processor time and memory over the number of rows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    looks = {"group": "C7", "cells": "C0", "copy": "C8", "written": "C2", "certified": "C1"}
    names = {
        "group": "DuckDB, GROUP BY",
        "cells": "moanon, cells",
        "copy": "DuckDB, COPY",
        "written": "moanon, release",
        "certified": "moanon, release and certificate",
    }
    for task, color in looks.items():
        for form, style in (("parquet", "-"), ("csv", ":")):
            chosen = [
                line
                for line in lines
                if (line["task"], line["format"], str(line["columns"])) == (task, form, "8")
            ]
            points = {int(str(line["rows"])): line for line in reversed(chosen)}
            rows = sorted(points)
            for ax, key in zip(axes, ("cpu_seconds", "peak_mb"), strict=True):
                values = [float(str(points[number][key])) for number in rows]
                label = f"{names[task]} ({form})"
                ax.plot(rows, values, style, color=color, marker="o", markersize=3, label=label)
    axes[0].set(xscale="log", yscale="log", xlabel="rows", ylabel="processor seconds")
    axes[1].set(xscale="log", xlabel="rows", ylabel="largest memory (MB)", ylim=(0, 1024))
    axes[1].legend(fontsize=7, frameon=False, loc="upper left", ncols=2)
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure, write and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=lambda text: int(float(text)), default=10**6, help="rows")
    parser.add_argument("--part", action="append", choices=PARTS, help="by default all")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--task", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="moanon-scale-") as name:
        if given.task is not None:
            task, path, columns = given.task
            print(json.dumps(do_task(task, Path(path), int(columns), Path(name))))
            return
        chosen = given.part or list(PARTS)
        lines = [line for line in read(given.out / "scale.csv") if line["part"] not in chosen]

        def note(line: dict[str, object]) -> None:
            print(line, flush=True)
            lines.append(line)
            write(lines, given.out / "scale.csv")

        for part in chosen:
            measure(part, given.most, Path(name), note)
    draw(lines, given.out / "scale.png")
    for line in estimate(lines):
        print(line)


if __name__ == "__main__":
    main()
